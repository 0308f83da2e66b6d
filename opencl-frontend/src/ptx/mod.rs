//! PTX text.

mod inst;
mod regs;

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use rustc_hash::FxHashMap;

use crate::diag::{Code, Diag};
use crate::ir::graph::Graph;
use crate::ir::{BinOp, Block, Edge, Func, Op, ParamKind, SlotData, Space, Term, Val};
use crate::options::Options;
use crate::sema::hir::Program;
use crate::sema::types::Space as Spaces;
use crate::symbol::Interner;
use regs::{CLASSES, Registers};

/// Where the source line of a location is: file index (from 1), line, column.
pub type Lines = Vec<Option<(u32, u32, u32)>>;

/// Version of PTX that knows the target.
fn version(sm: u32) -> &'static str {
    match sm {
        ..20 => "1.4",
        20..30 => "2.3",
        30..32 => "3.0",
        32 | 50 => "4.0",
        35 => "3.1",
        37 | 52 => "4.1",
        53 => "4.2",
        60..70 => "5.0",
        70 => "6.0",
        72 => "6.1",
        75 => "6.3",
        80 => "7.0",
        _ => "7.8",
    }
}

/// Writes a module.
pub fn write(
    program: &Program,
    names: &Interner,
    options: &Options,
    kernels: &[Func],
    files: &[String],
    lines: &[Lines],
    sources: &dyn Fn(u32, u32) -> Option<String>,
) -> Result<String, Diag> {
    let mut out = String::new();
    let sm = options.sm;
    let _ = writeln!(out, ".version {}\n.target sm_{sm}", version(sm));
    if sm >= 20 {
        let _ = writeln!(out, ".address_size 64");
    }
    if options.debug {
        for (i, file) in files.iter().enumerate() {
            let _ = writeln!(
                out,
                ".file {} \"{}\"",
                i + 1,
                file.replace('\\', "\\\\").replace('"', "\\\"")
            );
        }
    }
    let globals = global_names(program, names, kernels);
    let mut used = vec![false; program.globals.len()];
    for f in kernels {
        for block in &f.blocks {
            for &v in &block.insts {
                if let Op::GlobalAddr(g) = f.op(v) {
                    used[*g as usize] = true;
                }
            }
        }
    }
    for (g, global) in program.globals.iter().enumerate() {
        if !used[g] {
            continue;
        }
        let size = program.types.size(global.ty.id).unwrap_or(1).max(1);
        if let Some(bytes) = &global.bytes {
            let space = if global.ty.space == Spaces::Global { "global" } else { "const" };
            let _ = write!(out, "\n.{space} .align {} .b8 {}[{size}]", global.align, globals[g]);
            if bytes.iter().any(|b| *b != 0) {
                let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
                let _ = write!(out, " = {{{}}}", list.join(", "));
            }
            out.push_str(";\n");
        }
    }
    let prints = |f: &Func| {
        f.blocks.iter().flat_map(|b| &b.insts).any(|v| matches!(f.op(*v), Op::Printf(..)))
    };
    if kernels.iter().any(prints) {
        out.push_str(
            "\n.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);\n",
        );
    }
    for (k, f) in kernels.iter().enumerate() {
        let slots = slot_names(f, &globals);
        let mut writer = Writer::new(f, program, options, &globals, &slots, &lines[k], sources);
        writer.kernel()?;
        out.push('\n');
        out.push_str(&writer.out);
    }
    Ok(out)
}

/// Names of the variables: those of kernels carry the kernel's name.
fn global_names(program: &Program, names: &Interner, kernels: &[Func]) -> Vec<String> {
    let mut taken = Taken::default();
    taken.names.extend(kernels.iter().map(|k| k.name.clone()));
    program
        .globals
        .iter()
        .map(|g| {
            let base = match g.owner {
                Some(owner) => format!(
                    "{}_{}",
                    names.text(program.functions[owner.0 as usize].name),
                    names.text(g.name)
                ),
                None => names.text(g.name).to_string(),
            };
            taken.unique(base)
        })
        .collect()
}

/// Names of a kernel's private variables.
fn slot_names(f: &Func, globals: &[String]) -> Vec<String> {
    let mut insts = f.blocks.iter().flat_map(|b| &b.insts);
    if !insts.any(|v| matches!(f.op(*v), Op::SlotAddr(_))) {
        return Vec::new();
    }
    let mut taken = Taken::default();
    taken.names.extend(globals.iter().cloned());
    let mut name = |slot: &SlotData| taken.unique(format!("{}_{}", f.name, slot.name));
    f.slots.iter().map(&mut name).collect()
}

/// Names that are given out.
#[derive(Default)]
struct Taken {
    names: HashSet<String>,
    /// The next number to try behind a name.
    numbers: HashMap<String, u32>,
}

impl Taken {
    /// A name like `base` that nothing else has.
    fn unique(&mut self, base: String) -> String {
        let mut name = base.clone();
        let n = self.numbers.entry(base.clone()).or_insert(1);
        while self.names.contains(&name) {
            name = format!("{base}_{n}");
            *n += 1;
        }
        self.names.insert(name.clone());
        name
    }
}

/// The label of a block.
struct Label(&'static str, Block);

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1.0)
    }
}

struct Writer<'w> {
    f: &'w Func,
    program: &'w Program,
    options: &'w Options,
    globals: &'w [String],
    lines: &'w Lines,
    sources: &'w dyn Fn(u32, u32) -> Option<String>,
    graph: Graph,
    registers: Registers,
    /// Values that live in a register.
    needs: Vec<bool>,
    slots: &'w [String],
    /// The parts that are taken of a vector that is loaded.
    extracts: FxHashMap<Val, Vec<(Val, u8)>>,
    out: String,
    body: String,
    last_line: Option<(u32, u32, u32)>,
    /// Moves of edges that are not fallen through, written after the last block.
    aside: Vec<(Block, &'w Edge)>,
}

impl<'w> Writer<'w> {
    fn new(
        f: &'w Func,
        program: &'w Program,
        options: &'w Options,
        globals: &'w [String],
        slots: &'w [String],
        lines: &'w Lines,
        sources: &'w dyn Fn(u32, u32) -> Option<String>,
    ) -> Self {
        let graph = Graph::new(f);
        let needs = needs_register(f, &graph);
        let registers = Registers::assign(f, &graph, &needs);
        let mut extracts: FxHashMap<Val, Vec<(Val, u8)>> = FxHashMap::default();
        for &b in &graph.order {
            for &v in &f.block(b).insts {
                if let Op::Extract(from, i) = *f.op(v) {
                    extracts.entry(from).or_default().push((v, i));
                }
            }
        }
        Writer {
            f,
            program,
            options,
            globals,
            lines,
            sources,
            graph,
            registers,
            needs,
            slots,
            extracts,
            out: String::new(),
            body: String::new(),
            last_line: None,
            aside: Vec::new(),
        }
    }

    fn kernel(&mut self) -> Result<(), Diag> {
        self.head();
        for i in 0..self.graph.order.len() {
            self.block(i)?;
        }
        for (from, edge) in std::mem::take(&mut self.aside) {
            let _ = writeln!(self.body, "{}:", Label("$M", from));
            self.moves(edge);
            self.line(format_args!("bra {};", Label("$L", edge.block)));
        }
        let mut declared = String::new();
        for (class, count) in CLASSES.iter().zip(self.registers.counts) {
            if count > 0 {
                let _ = writeln!(declared, "    .reg {:<6} {}<{}>;", class.1, class.0, count + 1);
            }
        }
        let (mut shared, mut local) = (String::new(), String::new());
        let mut seen = vec![false; self.program.globals.len() + self.f.slots.len()];
        for &b in &self.graph.order {
            for &v in &self.f.block(b).insts {
                match self.f.op(v) {
                    Op::GlobalAddr(g)
                        if self.program.globals[*g as usize].bytes.is_none()
                            && !std::mem::replace(&mut seen[*g as usize], true) =>
                    {
                        let global = &self.program.globals[*g as usize];
                        let size = self.program.types.size(global.ty.id).unwrap_or(1).max(1);
                        let name = &self.globals[*g as usize];
                        let _ = writeln!(
                            shared,
                            "    .shared .align {} .b8 {name}[{size}];",
                            global.align
                        );
                    }
                    Op::SlotAddr(s)
                        if !std::mem::replace(
                            &mut seen[self.program.globals.len() + s.0 as usize],
                            true,
                        ) =>
                    {
                        let slot = &self.f.slots[s.0 as usize];
                        let name = &self.slots[s.0 as usize];
                        let _ = writeln!(
                            local,
                            "    .local .align {} .b8 {name}[{}];",
                            slot.align, slot.size
                        );
                    }
                    _ => {}
                }
            }
        }
        self.out.push_str("{\n");
        self.out.push_str(&declared);
        self.out.push_str(&shared);
        self.out.push_str(&local);
        if !declared.is_empty() || !shared.is_empty() || !local.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&self.body);
        self.out.push_str("}\n");
        Ok(())
    }

    fn head(&mut self) {
        let visible = if self.options.sm >= 20 { ".visible " } else { "" };
        let params: Vec<String> = self
            .f
            .params
            .iter()
            .map(|p| match p.kind {
                ParamKind::Scalar(ty) => {
                    format!("    .param .{} {}", inst::memory_type(ty), p.name)
                }
                ParamKind::Pointer(space, align) => {
                    let space = match space {
                        Space::Shared => "shared",
                        // Buffers of constants are placed by the host, in global memory.
                        _ => "global",
                    };
                    if self.options.sm >= 20 {
                        format!("    .param .u64 .ptr .{space} .align {align} {}", p.name)
                    } else {
                        format!("    .param .u64 {}", p.name)
                    }
                }
                ParamKind::Bytes { size, align } => {
                    format!("    .param .align {align} .b8 {}[{size}]", p.name)
                }
            })
            .collect();
        let list = if params.is_empty() {
            "()".to_string()
        } else {
            format!("(\n{}\n)", params.join(",\n"))
        };
        let _ = writeln!(self.out, "{visible}.entry {}{list}", self.f.name);
        if let Some([x, y, z]) = self.f.required_size {
            let directive = if self.options.sm >= 20 { "reqntid" } else { "maxntid" };
            let _ = writeln!(self.out, ".{directive} {x}, {y}, {z}");
        }
    }

    fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "    {text}");
    }

    fn location(&mut self, v: Val) {
        if !self.options.debug {
            return;
        }
        let loc = self.f.values[v.0 as usize].loc;
        let Some(Some(place)) = self.lines.get(loc as usize).copied() else { return };
        if self.last_line == Some(place) {
            return;
        }
        let new_row = self.last_line.is_none_or(|l| (l.0, l.1) != (place.0, place.1));
        self.last_line = Some(place);
        if new_row && let Some(text) = (self.sources)(place.0, place.1) {
            self.line(format_args!("// {}: {}", place.1, text.trim()));
        }
        self.line(format_args!(".loc {} {} {}", place.0, place.1, place.2));
    }

    fn block(&mut self, index: usize) -> Result<(), Diag> {
        let b = self.graph.order[index];
        let next = self.graph.order.get(index + 1).copied();
        // A label where something jumps to; falling through needs none.
        let previous = index.checked_sub(1).map(|i| self.graph.order[i]);
        let jumped_to = self.graph.preds[b.0 as usize].iter().any(|p| {
            Some(*p) != previous
                || match &self.f.block(*p).term {
                    Term::Jump(_) => false,
                    Term::Branch(_, x, y) => !self.falls_through(x, y, b),
                    _ => true,
                }
        }) || self.aside.iter().any(|(_, e)| e.block == b);
        if jumped_to {
            let _ = writeln!(self.body, "{}:", Label("$L", b));
            self.last_line = None;
        }
        let f = self.f;
        for &v in &f.block(b).insts {
            self.instruction(v)?;
        }
        match &f.block(b).term {
            Term::Open => {}
            Term::Return => self.line(format_args!("ret;")),
            Term::Jump(edge) => self.go(edge, next),
            Term::Branch(c, yes, no) => {
                let c = self.registers.of(f, *c);
                let (move_yes, move_no) = (self.has_moves(yes), self.has_moves(no));
                match (move_yes, move_no) {
                    (false, false) if next == Some(yes.block) && yes.block != no.block => {
                        self.line(format_args!("@!{c} bra {};", Label("$L", no.block)));
                    }
                    (false, _) => {
                        self.line(format_args!("@{c} bra {};", Label("$L", yes.block)));
                        self.go(no, next);
                    }
                    (true, false) => {
                        self.line(format_args!("@!{c} bra {};", Label("$L", no.block)));
                        self.go(yes, next);
                    }
                    (true, true) => {
                        let (here, there, not) =
                            if next == Some(no.block) { (no, yes, "") } else { (yes, no, "!") };
                        self.line(format_args!("@{not}{c} bra {};", Label("$M", b)));
                        self.go(here, next);
                        self.aside.push((b, there));
                    }
                }
            }
        }
        Ok(())
    }

    /// An edge's moves, and the jump unless its block comes next.
    fn go(&mut self, edge: &Edge, next: Option<Block>) {
        self.moves(edge);
        if next != Some(edge.block) {
            self.line(format_args!("bra {};", Label("$L", edge.block)));
        }
    }

    /// True if the branch reaches `b`, which comes next, by falling through alone.
    fn falls_through(&self, yes: &Edge, no: &Edge, b: Block) -> bool {
        if yes.block == no.block {
            return false;
        }
        match (self.has_moves(yes), self.has_moves(no)) {
            (false, false) if yes.block == b => true,
            (false, _) => no.block == b,
            (true, false) => yes.block == b,
            (true, true) => no.block == b || yes.block == b,
        }
    }

    fn has_moves(&self, edge: &Edge) -> bool {
        self.pending(edge).next().is_some()
    }

    fn pending<'a>(&'a self, edge: &'a Edge) -> impl Iterator<Item = (Val, Val)> + 'a {
        let params = &self.f.block(edge.block).params;
        params.iter().copied().zip(edge.args.iter().copied()).filter(|(p, a)| {
            self.needs[p.0 as usize]
                && !matches!(self.f.op(*a), Op::Undef)
                && !(self.needs[a.0 as usize] && self.registers.same(self.f, *p, *a))
        })
    }

    /// The moves that give a block its arguments: all at once in meaning, in a safe order in fact.
    fn moves(&mut self, edge: &Edge) {
        let mut pending: Vec<(Val, Val)> = self.pending(edge).collect();
        while !pending.is_empty() {
            let blocked = |p: Val, list: &[(Val, Val)], me: &Self| {
                list.iter().any(|(q, a)| {
                    *q != p && me.needs[a.0 as usize] && me.registers.same(me.f, p, *a)
                })
            };
            if let Some(i) = (0..pending.len()).find(|&i| !blocked(pending[i].0, &pending, self)) {
                let (p, a) = pending.swap_remove(i);
                self.move_to(p, a);
                continue;
            }
            // A cycle: save one target, and read it from there.
            let (p, _) = pending[0];
            let ty = self.f.ty(p);
            let saved = self.registers.scratch(ty);
            let target = self.registers.of(self.f, p);
            self.line(format_args!("mov.{} {saved}, {target};", inst::move_type(ty)));
            let (cycle, rest): (Vec<_>, Vec<_>) = pending
                .into_iter()
                .partition(|(_, a)| self.needs[a.0 as usize] && self.registers.same(self.f, p, *a));
            pending = rest;
            while let Some(i) = (0..pending.len()).find(|&i| !blocked(pending[i].0, &pending, self))
            {
                let (p, a) = pending.swap_remove(i);
                self.move_to(p, a);
            }
            for (q, _) in cycle {
                let target = self.registers.of(self.f, q);
                self.line(format_args!("mov.{} {target}, {saved};", inst::move_type(ty)));
            }
        }
    }

    fn move_to(&mut self, p: Val, a: Val) {
        let ty = self.f.ty(p);
        let (to, from) = (self.registers.of(self.f, p), self.operand(a));
        if ty == crate::ir::Ty::Pred {
            match self.f.as_const(a) {
                Some(v) => {
                    let op = if v != 0 { "eq" } else { "ne" };
                    self.line(format_args!("setp.{op}.s32 {to}, 0, 0;"));
                }
                None => self.line(format_args!("mov.pred {to}, {from};")),
            }
            return;
        }
        self.line(format_args!("mov.{} {to}, {from};", inst::move_type(ty)));
    }

    /// The variable or parameter that a `__constant` address comes from decides where it points.
    fn constant_space(&self, address: Val) -> Result<&'static str, Diag> {
        let mut seen = vec![false; self.f.values.len()];
        let mut work = vec![address];
        let (mut variable, mut buffer) = (false, false);
        while let Some(v) = work.pop() {
            if std::mem::replace(&mut seen[v.0 as usize], true) {
                continue;
            }
            match self.f.op(v) {
                Op::GlobalAddr(_) => variable = true,
                Op::Bin(BinOp::Add | BinOp::Sub, a, b) => work.extend(self.pointer_side(*a, *b)),
                Op::Tern(_, _, _, c) => work.push(*c),
                Op::Select(_, a, b) => work.extend([*a, *b]),
                Op::BlockParam => {
                    for &b in &self.graph.order {
                        if let Some(i) = self.f.block(b).params.iter().position(|p| *p == v) {
                            for p in &self.graph.preds[b.0 as usize] {
                                for e in self.f.block(*p).term.edges() {
                                    if e.block == b {
                                        work.push(e.args[i]);
                                    }
                                }
                            }
                        }
                    }
                }
                Op::Const(_) | Op::Undef => {}
                _ => buffer = true,
            }
        }
        match (variable, buffer) {
            (true, false) => Ok("const"),
            (true, true) => Err(Diag::error(
                Code::Unsupported,
                format!(
                    "kernel `{}`: a __constant pointer that may point to a buffer or to a program-scope constant is not compiled yet",
                    self.f.name
                ),
            )),
            _ => Ok("global"),
        }
    }

    /// The operands of an addition that can carry the pointer.
    fn pointer_side(&self, a: Val, b: Val) -> Vec<Val> {
        let integer = |v: Val| {
            matches!(
                self.f.op(v),
                Op::Const(_)
                    | Op::Un(..)
                    | Op::Bin(
                        BinOp::Shl
                            | BinOp::Mul
                            | BinOp::SMulWide
                            | BinOp::UMulWide
                            | BinOp::LShr
                            | BinOp::AShr
                            | BinOp::And,
                        ..
                    )
            )
        };
        match (integer(a), integer(b)) {
            (true, false) => vec![b],
            (false, true) => vec![a],
            _ => {
                let carries = |v: &Val| self.reaches_pointer(*v, 0);
                let list: Vec<Val> = [a, b].into_iter().filter(carries).collect();
                if list.is_empty() { vec![a, b] } else { list }
            }
        }
    }

    fn reaches_pointer(&self, v: Val, depth: u32) -> bool {
        depth < 64
            && match self.f.op(v) {
                Op::GlobalAddr(_) => true,
                Op::Param(i) => matches!(self.f.params[*i as usize].kind, ParamKind::Pointer(..)),
                Op::Bin(BinOp::Add | BinOp::Sub, a, b) => {
                    self.reaches_pointer(*a, depth + 1) || self.reaches_pointer(*b, depth + 1)
                }
                Op::Select(_, a, b) => {
                    self.reaches_pointer(*a, depth + 1) || self.reaches_pointer(*b, depth + 1)
                }
                _ => false,
            }
    }
}

/// Values that need a register. Constants and addresses of variables that serve
/// only as addresses are written in place.
fn needs_register(f: &Func, graph: &Graph) -> Vec<bool> {
    let mut needs = vec![false; f.values.len()];
    let mut uses = vec![0u32; f.values.len()];
    let mut as_value = vec![false; f.values.len()];
    for &b in &graph.order {
        let block = f.block(b);
        for &p in &block.params {
            needs[p.0 as usize] = true;
        }
        for &v in &block.insts {
            let op = f.op(v);
            let address = match op {
                Op::Load(_, a)
                | Op::Store(_, a, _)
                | Op::LoadVec(_, a, _)
                | Op::StoreVec(_, a, _)
                | Op::Atomic(_, _, a, ..) => Some(*a),
                _ => None,
            };
            let mut first = true;
            op.for_each_operand(|o| {
                uses[o.0 as usize] += 1;
                if !(address == Some(o) && std::mem::take(&mut first)) {
                    as_value[o.0 as usize] = true;
                }
            });
        }
        for edge in block.term.edges() {
            for a in &edge.args {
                uses[a.0 as usize] += 1;
                as_value[a.0 as usize] = true;
            }
        }
        if let Term::Branch(c, ..) = block.term {
            uses[c.0 as usize] += 1;
            as_value[c.0 as usize] = true;
        }
    }
    for &b in &graph.order {
        for &v in &f.block(b).insts {
            needs[v.0 as usize] = match f.op(v) {
                Op::GlobalAddr(_) | Op::SlotAddr(_) => as_value[v.0 as usize],
                Op::ParamAddr(_) => false,
                Op::LoadVec(..) => false,
                Op::Atomic(..) => uses[v.0 as usize] > 0,
                _ => f.ty(v) != crate::ir::Ty::None,
            };
        }
    }
    needs
}
