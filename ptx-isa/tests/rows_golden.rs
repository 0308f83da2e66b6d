//! Replays the recorded instruction forms through the rows: matcher, meaning and micro-ops, on one lane.
//!
//! A small register machine reads a form's kernel line by line. It covers what needs registers alone; a form with
//! effects (memory, warp) or with an instruction that has no row yet is counted as skipped. Families that are complete
//! are asserted to be so.

use std::collections::{BTreeMap, HashMap};

use golden::{Form, Golden, split_module};
use ptx_isa::meaning::{Arg, Cx, ModuleInfo, Selection, Src, Uop, V};
use ptx_isa::types::{Kind, PtxVersion, Target, Ty, ptx};
use ptx_isa::{Match, Sem, table, uop};

/// An operand as written.
#[derive(Debug)]
enum Word<'a> {
    Reg(&'a str, Option<&'a str>),
    Imm(&'a str),
    Minus(Box<Word<'a>>),
    Not(Box<Word<'a>>),
    Both(Box<Word<'a>>, Box<Word<'a>>),
}

fn word(text: &str) -> Option<Word<'_>> {
    if let Some((d, p)) = text.split_once('|') {
        return Some(Word::Both(word(d)?.into(), word(p)?.into()));
    }
    Some(match text.as_bytes().first()? {
        b'!' => Word::Not(word(&text[1..])?.into()),
        b'-' if text[1..].starts_with('%') => Word::Minus(word(&text[1..])?.into()),
        b'%' => match text.split_once('.') {
            Some((name, part)) => Word::Reg(name, Some(part)),
            None => Word::Reg(text, None),
        },
        b'0'..=b'9' | b'-' => Word::Imm(text),
        _ => return None,
    })
}

/// The bits of an immediate in a slot of type `ty`.
fn immediate(text: &str, ty: Ty) -> Option<u64> {
    if let Some(bits) = text.strip_prefix("0f").or(text.strip_prefix("0d")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
    let digits = digits.trim_end_matches('U');
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse::<u64>().ok()?,
    };
    let value = if negative { value.wrapping_neg() } else { value };
    Some(if ty.bits() < 64 { value & ((1 << ty.bits()) - 1) } else { value })
}

/// One instruction, lowered.
struct Step {
    guard: Option<(usize, bool)>,
    uops: Vec<Uop>,
    temps: [u32; 3],
}

/// A line of a kernel.
enum Line {
    Load { reg: usize, slot: usize, ty: Ty },
    Store { reg: usize, slot: usize },
    Bool { reg: usize, from: usize },
    Step(Step),
}

struct Machine<'a> {
    names: HashMap<&'a str, usize>,
    types: Vec<Ty>,
    lines: Vec<Line>,
}

const CARRY: usize = 0;

impl<'a> Machine<'a> {
    /// Reads a kernel; says what it does not cover.
    fn new(kernel: &'a str, version: PtxVersion) -> Result<Machine<'a>, String> {
        let mut m = Machine { names: HashMap::new(), types: vec![Ty::Pred], lines: Vec::new() };
        let body = kernel.split_once("\n{").map_or("", |(_, b)| b);
        for line in body.lines().map(str::trim).filter(|l| !l.is_empty()) {
            if let Some(declared) = line.strip_prefix(".reg .") {
                let (ty, names) =
                    declared.trim_end_matches(';').split_once(' ').unwrap_or_default();
                let ty = Ty::parse(ty).ok_or_else(|| format!("registers of type {ty}"))?;
                for name in names.split(',') {
                    m.names.insert(name.trim(), m.types.len());
                    m.types.push(ty);
                }
            } else if !(line == "}" || line == "ret;") {
                m.line(line, version)?;
            }
        }
        Ok(m)
    }

    fn reg(&self, name: &str) -> Result<usize, String> {
        self.names.get(name).copied().ok_or_else(|| format!("register {name}"))
    }

    fn line(&mut self, line: &'a str, version: PtxVersion) -> Result<(), String> {
        let text = line.trim_end_matches(';');
        let (guard, text) = match text.strip_prefix('@') {
            Some(t) => {
                let (p, rest) = t.split_once(' ').unwrap_or_default();
                let (negated, p) = p.strip_prefix('!').map_or((false, p), |p| (true, p));
                (Some((self.reg(p)?, negated)), rest.trim())
            }
            None => (None, text),
        };
        let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
        let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
        // The frame around the instruction: row number, addresses, operands and results.
        if matches!(operands[0], "%ti" | "%ci" | "%gi" | "%in" | "%out") {
            return Ok(());
        }
        let slot = |address: &str, base: &str| -> Option<usize> {
            let offset = address.strip_prefix(base)?.strip_suffix(']')?;
            offset
                .strip_prefix('+')
                .unwrap_or("0")
                .parse::<usize>()
                .ok()
                .filter(|o| o % 8 == 0)
                .map(|o| o / 8)
        };
        if let (true, Some(s)) =
            (opcode.starts_with("ld.global."), operands.get(1).and_then(|a| slot(a, "[%in")))
        {
            let ty = opcode.rsplit('.').next().and_then(Ty::parse).ok_or(opcode)?;
            let reg = self.reg(operands[0])?;
            if ty.bits() != self.types[reg].bits() {
                return Err(format!("load that extends: {opcode}"));
            }
            self.lines.push(Line::Load { reg, slot: s, ty });
            return Ok(());
        }
        if let (true, Some(s)) = (opcode.starts_with("st.global."), slot(operands[0], "[%out")) {
            self.lines.push(Line::Store { reg: self.reg(operands[1])?, slot: s });
            return Ok(());
        }
        if opcode == "setp.ne.u32" && operands[1].starts_with("%p") && operands[2] == "0" {
            self.lines
                .push(Line::Bool { reg: self.reg(operands[0])?, from: self.reg(operands[1])? });
            return Ok(());
        }
        if opcode == "selp.b32" && operands[0].starts_with("%e") && operands[1..3] == ["1", "0"] {
            self.lines
                .push(Line::Bool { reg: self.reg(operands[0])?, from: self.reg(operands[3])? });
            return Ok(());
        }
        let words: Option<Vec<_>> = operands.iter().map(|o| word(o)).collect();
        let words = words.ok_or_else(|| format!("operands of {line}"))?;
        let found = table().find(opcode).map_err(|_| format!("no row: {opcode}"))?;
        let (chosen, args) = found
            .iter()
            .filter(|m| m.row.since <= version && m.row.until.is_none_or(|u| version <= u))
            .find_map(|m| Some((m, self.arguments(m, &words)?)))
            .ok_or_else(|| format!("no row takes the operands: {line}"))?;
        let Sem::Ops(meaning) = chosen.row.sem else {
            return Err(format!("no meaning: {opcode}"));
        };
        let module = ModuleInfo { target: Target::plain(90), version, address_bits: 64 };
        let mut uops = Vec::new();
        let carry = V { kind: Kind::P, src: Src::Reg(CARRY as u32) };
        let mut cx = Cx::new(chosen, module, &args, carry, &mut uops);
        meaning(&mut cx);
        let temps = cx.finish().map_err(|why| format!("{opcode}: {why}"))?;
        if uops.iter().any(|u| matches!(u, Uop::Effect { .. })) {
            return Err(format!("effect: {opcode}"));
        }
        self.lines.push(Line::Step(Step { guard, uops, temps }));
        Ok(())
    }

    /// The operands in the slots of `m`, if they fit.
    fn arguments(&self, m: &Match, words: &[Word]) -> Option<Vec<Arg>> {
        let mut words = words.iter().peekable();
        let mut args = Vec::new();
        for slot in &m.notation.slots {
            if slot.bracket.is_some() || m.slot_count(slot).is_some() {
                return None;
            }
            let Some(&w) = words.peek() else {
                if !slot.optional {
                    return None;
                }
                args.push(Arg::Absent);
                continue;
            };
            let ty = m.slot_ty(slot);
            let arg = match w {
                Word::Minus(w) if slot.minus => {
                    Arg::Minus(self.value(w, ty, slot.selector)?.into())
                }
                Word::Not(w) if slot.negatable => {
                    let Arg::Val { v, .. } = self.value(w, ty, None)? else { return None };
                    Arg::Not(v)
                }
                Word::Both(d, p) if slot.second.is_some() => {
                    Arg::Both(self.value(d, ty, None)?.into(), self.value(p, None, None)?.into())
                }
                w => {
                    if slot.second.is_some_and(|(_, optional)| !optional) {
                        return None;
                    }
                    self.value(w, ty, slot.selector)?
                }
            };
            args.push(arg);
            words.next();
        }
        words.peek().is_none().then_some(args)
    }

    fn value(
        &self,
        w: &Word,
        ty: Option<Ty>,
        selector: Option<(ptx_isa::syntax::Selector, bool)>,
    ) -> Option<Arg> {
        match *w {
            Word::Reg(name, part) => {
                let part = match (part, selector) {
                    (None, None | Some((_, true))) => Selection::Whole,
                    (Some(text), Some((s, _))) => s.parse(text)?,
                    _ => return None,
                };
                let reg = *self.names.get(name)?;
                let declared = self.types[reg];
                let v = V { kind: declared.kind(), src: Src::Reg(reg as u32) };
                Some(Arg::Val { v, ty: declared, part })
            }
            Word::Imm(text) => {
                let ty = ty?;
                let v = V { kind: ty.kind(), src: Src::Const(immediate(text, ty)?) };
                Some(Arg::Val { v, ty, part: Selection::Whole })
            }
            _ => None,
        }
    }

    /// Runs one row of operands; the result of every output slot.
    fn run(&self, operands: &[u64], outputs: &mut [u64]) {
        let mut regs = vec![0u64; self.types.len()];
        for line in &self.lines {
            match line {
                Line::Load { reg, slot, ty } => {
                    let cut = if ty.bits() < 64 { (1 << ty.bits()) - 1 } else { u64::MAX };
                    regs[*reg] = operands[*slot] & cut;
                }
                Line::Store { reg, slot } => outputs[*slot] = regs[*reg],
                Line::Bool { reg, from } => regs[*reg] = (regs[*from] != 0) as u64,
                Line::Step(step) => {
                    if step.guard.is_none_or(|(p, negated)| (regs[p] & 1 != 0) != negated) {
                        step.run(&mut regs);
                    }
                }
            }
        }
    }
}

impl Step {
    fn run(&self, regs: &mut [u64]) {
        let mut temps = self.temps.map(|n| vec![0u64; n as usize]);
        for u in &self.uops {
            let Uop::Pure { op, dst, args, k } = u else { unreachable!("effects were refused") };
            let mut bits = [0; 3];
            for (b, v) in bits.iter_mut().zip(args) {
                *b = match v.src {
                    Src::Reg(r) => regs[r as usize],
                    Src::Temp(t) => temps[v.kind as usize][t as usize],
                    Src::Const(c) => c,
                    other => panic!("{other:?} is no register"),
                };
            }
            let result = uop::eval(*op, bits, *k);
            match dst.src {
                Src::Reg(r) => regs[r as usize] = result,
                Src::Temp(t) => temps[dst.kind as usize][t as usize] = result,
                other => panic!("{other:?} is no destination"),
            }
        }
    }
}

/// Rows of `form` that differ, with the first one.
fn differing(machine: &Machine, form: &Form) -> (usize, String) {
    let (mut bad, mut first) = (0, String::new());
    let mut outputs = vec![0; form.info().outs.len()];
    for row in 0..form.rows() {
        machine.run(form.row(row), &mut outputs);
        for (i, kind) in form.info().outs.iter().enumerate() {
            let bits = 8 * golden::output_width(kind).unwrap_or(0);
            if bits == 0 {
                continue;
            }
            let computed = if bits < 64 { outputs[i] & ((1 << bits) - 1) } else { outputs[i] };
            let recorded = form.output(i, row);
            if computed != recorded {
                if bad == 0 {
                    first = format!("{:x?}: {computed:x}, recorded {recorded:x}", form.row(row));
                }
                bad += 1;
            }
        }
    }
    (bad, first)
}

#[test]
fn rows_reproduce_the_recorded_forms() {
    // Another set of operands and results can be replayed: GOLDEN_SET=folder.
    let set = std::env::var_os("GOLDEN_SET").zip(golden::shared_dir());
    let loaded = match &set {
        Some((set, shared)) => Some(
            Golden::load_set(&shared.join("isa-golden"), set.as_ref())
                .expect("the set named by GOLDEN_SET"),
        ),
        None => Golden::shared(),
    };
    let golden = loaded.expect("the repository holds recordings");
    let mut texts: HashMap<String, String> = HashMap::new();
    for form in golden.forms() {
        let module = &form.info().module;
        if !texts.contains_key(module) {
            texts.insert(module.clone(), golden.module_text(module).expect("module text"));
        }
    }
    let kernels: HashMap<(&str, &str), (&str, &str)> = texts
        .iter()
        .flat_map(|(module, text)| {
            let (header, entries) = split_module(text);
            entries
                .into_iter()
                .map(move |(name, kernel)| ((module.as_str(), name), (header, kernel)))
        })
        .collect();
    let mut tally: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut complete: BTreeMap<&str, usize> = BTreeMap::new();
    for form in golden.forms() {
        let (header, kernel) = kernels[&(form.info().module.as_str(), form.name())];
        let version = if header.contains(".version 9.0") { ptx(9, 0) } else { ptx(8, 0) };
        let counts = tally.entry(form.group()).or_default();
        match Machine::new(kernel, version) {
            Err(why) => {
                counts[2] += 1;
                *reasons.entry(why).or_default() += 1;
            }
            Ok(machine) => {
                let (bad, first) = differing(&machine, &form);
                counts[(bad > 0) as usize] += 1;
                if bad > 0 {
                    wrong.push(format!("{}: {bad} results, first {first}", form.name()));
                } else if matches!(form.group(), "video" | "video_simd")
                    || form.info().class == "approx"
                {
                    let family =
                        if form.info().class == "approx" { "approx" } else { form.group() };
                    *complete.entry(family).or_default() += 1;
                } else if form.inst().starts_with("dp") {
                    *complete.entry("dot").or_default() += 1;
                } else {
                    *complete.entry(form.group()).or_default() += 1;
                }
            }
        }
    }
    for (why, n) in &reasons {
        println!("skipped {n}: {why}");
    }
    println!("{:12} {:>7} {:>7} {:>8}", "group", "passed", "failed", "skipped");
    for (group, [passed, failed, skipped]) in &tally {
        println!("{group:12} {passed:7} {failed:7} {skipped:8}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let families = [
        ("video", 751),
        ("video_simd", 624),
        ("approx", 30),
        ("dot", 12),
        ("f32_arith", 143),
        ("f64_arith", 46),
        ("half", 144),
        ("setp", 365),
        ("set", 627),
        ("cvt_int", 207),
        ("cvt_i2f", 256),
        ("cvt_f2i", 336),
        ("cvt_f2f", 132),
        ("cvt_narrow", 50),
        ("cvt_pack", 8),
    ];
    for (family, least) in families {
        if set.is_none() {
            assert_eq!(complete.get(family), Some(&least), "forms of {family}");
        }
    }
}
