//! Random statements, each in a kernel of its own: forms of the table's rows with operands of every kind, and kept
//! statements with a change.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use ptx_isa::syntax::{Form, OperandSlot, Selector, SlotTy};
use ptx_isa::types::TyClass;
use ptx_isa::{Match, Ty, table};

use crate::rng::Rng;

/// Statements with ptxas's verdict, each with `@ target version` before it, as a test of the verifier reads them.
const KEPT: &str = include_str!("../../../ptx-parse/tests/data/statements.txt");
/// What stands around a statement.
const AROUND: &str = include_str!("../../../ptx-parse/tests/data/around.ptx");
/// Targets with a PTX version each.
const TARGETS: [(&str, &str); 15] = [
    ("sm_75", "7.0"),
    ("sm_80", "8.0"),
    ("sm_86", "7.8"),
    ("sm_89", "8.4"),
    ("sm_90", "8.6"),
    ("sm_90a", "9.0"),
    ("sm_90a", "9.4"),
    ("sm_100", "8.8"),
    ("sm_100a", "8.6"),
    ("sm_100a", "9.4"),
    ("sm_100f", "9.4"),
    ("sm_103a", "9.3"),
    ("sm_110a", "9.4"),
    ("sm_120a", "9.2"),
    ("sm_121", "9.4"),
];
/// The kernel's registers, by their bits.
const REGISTERS: [(u32, &str); 6] =
    [(1, "%p"), (8, "%b"), (16, "%h"), (32, "%r"), (64, "%rd"), (128, "%q")];
/// What stands where an operand was.
const OTHERS: [&str; 15] = [
    "_",
    "%r1",
    "%rd1",
    "{%r1, %r2}",
    "{%r1, %r2, %r3, %r4}",
    "[%rd1]",
    "[%r1]",
    "[sm]",
    "[g]",
    "%tid.x",
    "1",
    "0f3F800000",
    "!%p1",
    "-%r1",
    "%r1+4",
];
const INTEGERS: [&str; 16] =
    ["0", "1", "2", "3", "4", "8", "15", "16", "31", "32", "33", "64", "128", "255", "-1", "65536"];
const ADDRESSES: [&str; 11] =
    ["%rd1", "%rd2", "%rd1+16", "%rd3-8", "%r1", "%h1", "g", "g+4", "sm", "lo", "c"];

/// A statement and whom it is for.
struct Statement {
    text: String,
    target: &'static str,
    version: &'static str,
}

/// Writes `count` statements that nobody kept below `folder`: five of eight from rows, the others from kept ones.
///
/// # Errors
/// A file that cannot be written.
pub fn write(folder: &Path, count: usize, seed: u64) -> Result<()> {
    let kept = kept();
    let mut seen: HashSet<String> = kept.iter().map(|k| k.text.clone()).collect();
    let mut random = Random(Rng(seed));
    let mut made = 0;
    while made < count {
        let from_rows = made * 8 < count * 5;
        let statement = if from_rows { random.of_row() } else { random.mutated(&kept) };
        if !seen.insert(statement.text.clone()) {
            continue;
        }
        let below = folder.join(if from_rows { "rows" } else { "mutations" });
        std::fs::create_dir_all(&below).with_context(|| below.display().to_string())?;
        let path = below.join(format!("{made:05}.ptx"));
        std::fs::write(&path, around(&statement)).with_context(|| path.display().to_string())?;
        made += 1;
    }
    Ok(())
}

fn kept() -> Vec<Statement> {
    let (mut target, mut version) = ("", "");
    let mut all = Vec::new();
    for line in KEPT.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(' ') {
            Some(("@", rest)) => (target, version) = rest.split_once(' ').unwrap_or((rest, "")),
            Some((_, text)) => all.push(Statement { text: text.to_owned(), target, version }),
            None => {}
        }
    }
    all
}

fn around(statement: &Statement) -> String {
    let number = |text: &str| {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u32>().unwrap_or(0)
    };
    let wide = number(statement.version) >= 83 && number(statement.target) >= 70;
    let independent = statement.target.ends_with("independent");
    AROUND
        .replace("VERSION", statement.version)
        .replace("TARGET", statement.target)
        .replace("SAMPLER", if independent { ".global .samplerref smp;" } else { "" })
        .replace("WIDE", if wide { ".reg .b128 %q<4>;" } else { "" })
        .replace("STATEMENT", &statement.text)
}

/// The parts of operands or of a vector: commas inside brackets do not part them.
fn parts(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut all = vec![String::new()];
    for c in text.trim().trim_end_matches(';').chars() {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

struct Random(Rng);

impl Random {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0.pick(from)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.0.chance(percent)
    }

    fn register(&mut self, ty: Ty) -> String {
        let number = 1 + self.0.below(3);
        let float = ty.class() == TyClass::Float && self.chance(70);
        let name = match ty.bits() {
            32 if float => "%f",
            64 if float => "%fd",
            bits => REGISTERS.iter().find(|(width, _)| *width == bits).map_or("%r", |(_, n)| n),
        };
        format!("{name}{number}")
    }

    fn constant(&mut self, ty: Ty) -> String {
        let float = ty.class() == TyClass::Float && self.chance(80);
        match ty.bits() {
            32 if float => self.pick(&["0f3F800000", "1.0", "0f00000000", "-2.5"]).to_owned(),
            64 if float => self.pick(&["0d3FF0000000000000", "1.0"]).to_owned(),
            _ => self.pick(&INTEGERS).to_owned(),
        }
    }

    /// A constant that the slot lists, or one beside it.
    fn listed(&mut self, values: &str, ty: Ty) -> String {
        let first = values.split(';').next().unwrap_or(values);
        let all: Vec<&str> = first.split('|').collect();
        let one = self.pick(&all);
        if let Some(step) = one.strip_prefix('%').and_then(|n| n.parse::<i64>().ok()) {
            return (step * self.0.below(4) as i64).to_string();
        }
        let ends = one.split_once("..");
        let ends = ends.and_then(|(a, b)| Some((a.parse::<i64>().ok()?, b.parse::<i64>().ok()?)));
        match ends {
            Some((least, most)) => {
                self.pick(&[least, most, (least + most) / 2, most + 1]).to_string()
            }
            None if one.parse::<i64>().is_ok() => one.to_owned(),
            None => self.constant(ty),
        }
    }

    fn element(&mut self, slot: &OperandSlot, ty: Ty) -> String {
        if slot.form == Form::Imm || !slot.values.is_empty() && self.chance(60) {
            return self.listed(slot.values, ty);
        }
        if !slot.dest && !slot.register && self.chance(18) {
            return self.constant(ty);
        }
        let not = if slot.negatable && self.chance(30) { "!" } else { "" };
        not.to_owned() + &self.register(ty)
    }

    fn operand(&mut self, m: &Match, slot: &OperandSlot) -> String {
        let ty = match slot.ty {
            SlotTy::Any => self.pick(&[Ty::B32, Ty::B32, Ty::F32, Ty::B64]),
            _ => m.slot_ty(slot).unwrap_or(Ty::B32),
        };
        let text = match slot.form {
            Form::Addr => format!("[{}]", self.pick(&ADDRESSES)),
            Form::Label | Form::Func | Form::Targets | Form::Args => {
                self.pick(&["L1", "f", "tbl", "(%r1)"]).to_owned()
            }
            Form::Value if ty.class() == TyClass::Opaque => self.pick(&["%rd1", "%rd2"]).to_owned(),
            Form::Value | Form::Imm => match m.slot_count(slot) {
                Some(count) => {
                    let all: Vec<String> = (0..count).map(|_| self.element(slot, ty)).collect();
                    format!("{{{}}}", all.join(", "))
                }
                None => self.element(slot, ty),
            },
        };
        let selector = match slot.selector {
            Some((_, true)) if self.chance(50) => "",
            Some((Selector::SubWord, _)) => self.pick(&[".b0", ".b3", ".h1"]),
            Some((Selector::Halves, _)) => self.pick(&[".h10", ".h32"]),
            Some((Selector::Bytes, _)) => self.pick(&[".b3210", ".b7654"]),
            Some((Selector::HalfMask, _)) => self.pick(&[".h0", ".h10"]),
            Some((Selector::ByteMask, _)) => self.pick(&[".b0", ".b3210"]),
            None => "",
        };
        let second = match slot.second {
            Some((_, optional)) if !optional || self.chance(50) => "|%p1",
            _ => "",
        };
        text + selector + second
    }

    fn of_row(&mut self) -> Statement {
        let rows: Vec<_> = table().rows().collect();
        let (row, notation) = self.pick(&rows);
        let mut m = Match::new(row, notation, vec![None; notation.elems.len()].into());
        for (at, elem) in notation.elems.iter().enumerate() {
            if !elem.optional || self.chance(50) {
                m.choose(at, Some(self.pick(&elem.choices)));
            }
        }
        let mut operands: Vec<String> = Vec::new();
        let mut open = None;
        for slot in &notation.slots {
            if slot.optional && self.chance(50) {
                continue;
            }
            let text = self.operand(&m, slot);
            match operands.last_mut().filter(|_| slot.bracket.is_some() && slot.bracket == open) {
                Some(last) => {
                    last.pop();
                    let _ = write!(last, ", {text}]");
                }
                None if slot.bracket.is_some() => operands.push(format!("[{text}]")),
                None => operands.push(text),
            }
            open = slot.bracket;
        }
        let text = format!("{} {};", m.opcode(), operands.join(", "));
        let text = if self.chance(35) { self.change(&text) } else { text };
        let number = |text: &str| {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.parse::<u16>().unwrap_or(0)
        };
        let single = row.targets.split(' ').next().unwrap_or("").trim_end_matches(['a', 'f']);
        let fits = |target: &&(&'static str, &'static str)| {
            number(target.0) >= row.sm
                && (single.is_empty() || target.0.trim_end_matches(['a', 'f']) == single)
        };
        let fitting: Vec<_> = TARGETS.iter().filter(fits).copied().collect();
        let from = if fitting.is_empty() || self.chance(15) { &TARGETS[..] } else { &fitting };
        let (target, version) = self.pick(from);
        Statement { text, target, version }
    }

    fn mutated(&mut self, kept: &[Statement]) -> Statement {
        let one = &kept[self.0.below(kept.len())];
        let mut text = self.change(&one.text);
        if self.chance(30) {
            text = self.change(&text);
        }
        let (target, version) =
            if self.chance(15) { self.pick(&TARGETS) } else { (one.target, one.version) };
        Statement { text, target, version }
    }

    /// A statement with a modifier, an operand, a number or a register changed; the same one where that is not there.
    fn change(&mut self, text: &str) -> String {
        let (head, operands) = text.split_once(' ').unwrap_or((text, ""));
        let mut modifiers: Vec<&str> = head.split('.').collect();
        let mut list = parts(operands);
        let any: Vec<&str> = table()
            .rows()
            .flat_map(|(_, n)| &n.elems)
            .flat_map(|e| &e.choices)
            .map(|t| &t[1..])
            .collect();
        let other = self.pick(&any);
        let at = self.0.below(modifiers.len());
        let operand = self.0.below(list.len().max(1));
        match self.0.below(9) {
            0 if at > 0 => {
                modifiers.remove(at);
            }
            1 => modifiers.insert(at + 1, other),
            2 if at > 0 => modifiers[at] = other,
            3 if at > 1 => modifiers.swap(at - 1, at),
            4 if !list.is_empty() => {
                list.remove(operand);
            }
            5 => list.insert(operand.min(list.len()), self.pick(&OTHERS).to_owned()),
            6 if !list.is_empty() => list[operand] = self.pick(&OTHERS).to_owned(),
            7 if !list.is_empty() => {
                let names = ["%rd", "%r", "%h", "%fd", "%f", "%p"];
                let (from, to) = (self.pick(&names), self.pick(&names));
                list[operand] = list[operand].replacen(from, to, 1);
            }
            8 if list.get(operand).is_some_and(|o| o.parse::<i64>().is_ok()) => {
                list[operand] = self.pick(&INTEGERS).to_owned();
            }
            _ => return text.replacen("[%rd1]", &format!("[{}]", self.pick(&ADDRESSES)), 1),
        }
        let space = if list.is_empty() { "" } else { " " };
        format!("{}{space}{};", modifiers.join("."), list.join(", "))
    }
}
