//! The notation of [`Row::syntax`](crate::Row), parsed once per process.
//!
//! ```text
//! mnemonic modifiers operands
//! ```
//! Modifiers: `.lit` is itself; `.var` is one of a set named `var` in the row's `sets` or in
//! [`COMMON`]; `{.x}` is optional.
//! Operands, separated by commas, `{, x}` optional:
//! - `d`, `a`: register (or, for a source, immediate) of the instruction's type: the set `type`,
//!   else the last modifier that names a type. Names that begin with `d` are destinations, and so
//!   are `p` and `q` in first place, which are predicates;
//! - `a:.u32` of that type; `a:var` of the type chosen for `.var`; `a:wide` of twice the width of
//!   the instruction's type; `a:pred` predicate; `a:any` any type;
//! - `a>`: registers wider than the type are allowed too (`ld`, `st`, `cvt`);
//! - `%a`: a source that is a register, no immediate;
//! - `{!}c:pred`: may be negated; `{-}a` may have a minus sign;
//! - `a{.part}`, `d.part`: may have, must have a selector: `part`, `halves`, `bytes`, `hmask` or
//!   `bmask`, see [`Selector`];
//! - `d{|p}` and `d|p`: a destination with a predicate (optional) after a bar; `p{|q}` likewise;
//! - `&a`: the name of a variable or function may stand for its address;
//! - `#k:.u32`: immediate only; `#k=4|8:.u32` one of these values, `#k=0..15:.u32` one from 0 to 15, `n=%16:.u32` a
//!   multiple of 16 where it is an immediate; `n=0..64&%8:.u32` both; `n=0..m:.u32` at most operand `m`, where both are
//!   immediates; `x=>0..1:.f32` a float above 0, up to 1; `f*2=0|2;0..1:.b16` a vector whose immediates are each of a
//!   list;
//! - `a*4`, `a*vec`, `a*?`: a vector of 4 elements, of as many as modifier `.vec` says (scalar
//!   without it), or of [`Row::counts`](crate::Row) many;
//! - `a*vec+`: as `a*vec`; where it is a scalar, ptxas takes the first element of a vector of two or four;
//! - `a*!`: as `a*?`, but a vector even when it has one element;
//! - `a*+`: a vector of at least as many elements as [`Row::counts`](crate::Row) says, of which the last ones are not
//!   used; a scalar stands for a vector of one; `a*!+`: as `a*+`, but a vector even for one element; `a*~`: as `a*!+`,
//!   and ptxas takes a scalar and passes over it;
//! - `[a]`: memory operand; `[a, b, c*?]`: compound memory operand, each part as above. Spaces among the modifiers
//!   belong to the memory operands in their order, compound ones included;
//! - `[a:.texref]`, `[a:.samplerref]`, `[a:.surfref]`: a variable of that kind, or a register that holds its handle,
//!   with `%a` no variable that only holds one; `[%a:.samplerref>]` is the texture in unified mode;
//! - `[~a]`: a memory operand from which the brackets may be left out, which ptxas takes;
//! - `[mbar]`: an mbarrier object, which lies in shared memory whatever spaces the modifiers name;
//! - `@label`, `@func`, `@table`, `@args`: label, function, list of targets, call arguments.

use crate::types::{Ty, TyClass};

/// Sets that every row may use without declaring them.
pub const COMMON: &[(&str, &str)] = &[
    ("rnd", ".rn .rz .rm .rp"),
    ("vec", ".v2 .v4"),
    ("scope", ".cta .cluster .gpu .sys"),
    ("cmpi", ".eq .ne .lt .le .gt .ge .lo .ls .hi .hs"),
    ("cmpf", ".eq .ne .lt .le .gt .ge .equ .neu .ltu .leu .gtu .geu .num .nan"),
    ("bool", ".and .or .xor"),
];

/// One modifier position of a notation.
#[derive(Debug)]
pub struct Elem {
    /// Name of the set, or the literal itself with its dot.
    pub name: &'static str,
    /// The legal tokens, with their dots.
    pub choices: Vec<&'static str>,
    /// Whether it may be left out.
    pub optional: bool,
}

/// What an operand slot takes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// A register or, for sources, an immediate or special register.
    Value,
    /// An immediate only.
    Imm,
    /// A memory operand `[a+off]`.
    Addr,
    /// A branch label.
    Label,
    /// A function name or register that holds a function's address.
    Func,
    /// A `.branchtargets`, `.calltargets` or `.callprototype` label.
    Targets,
    /// Parenthesised call arguments.
    Args,
}

/// How many elements a slot has.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Count {
    /// A scalar.
    One,
    /// A vector of so many.
    Fixed(u8),
    /// As the modifier at this element position says; a scalar when it is absent.
    Elem(u8),
    /// As [`Row::counts`](crate::Row) says.
    Row,
    /// As [`Row::counts`](crate::Row) says, a vector even for one element.
    RowVector,
    /// At least as many as [`Row::counts`](crate::Row) says.
    RowLeast,
    /// At least as many as [`Row::counts`](crate::Row) says, a vector even for one element.
    RowVectorLeast,
    /// As before, or a scalar that counts for nothing.
    RowOrNothing,
}

/// The type of a slot.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SlotTy {
    /// This type.
    Fixed(Ty),
    /// The type chosen at this element position.
    Elem(u8),
    /// Twice the width of the type chosen at this element position.
    Wide(u8),
    /// No rule.
    Any,
}

/// What the selector after an operand of a video instruction chooses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Selector {
    /// `.b0` to `.b3`, `.h0`, `.h1`: a byte or half-word of the register.
    SubWord,
    /// `.hxy`: two of the four half-words of `a` (0, 1) and `b` (2, 3), the upper lane's first.
    Halves,
    /// `.bwxyz`: four of the eight bytes of `a` (0 to 3) and `b` (4 to 7), the top lane's first.
    Bytes,
    /// `.h0`, `.h1`, `.h10`: the half-words that are written.
    HalfMask,
    /// `.b0` to `.b3210`: the bytes that are written.
    ByteMask,
}

impl Selector {
    const NAMES: [(&'static str, Selector); 5] = [
        ("part", Selector::SubWord),
        ("halves", Selector::Halves),
        ("bytes", Selector::Bytes),
        ("hmask", Selector::HalfMask),
        ("bmask", Selector::ByteMask),
    ];

    /// The choice that `text` (without its dot) names, if it is one of this selector's.
    pub fn parse(self, text: &str) -> Option<Selection> {
        let (letter, lanes, choices) = match self {
            Selector::SubWord => {
                return Some(match text {
                    "b0" => Selection::B0,
                    "b1" => Selection::B1,
                    "b2" => Selection::B2,
                    "b3" => Selection::B3,
                    "h0" => Selection::H0,
                    "h1" => Selection::H1,
                    _ => return None,
                });
            }
            Selector::Halves => ('h', 2, 4),
            Selector::Bytes => ('b', 4, 8),
            Selector::HalfMask => ('h', 2, 2),
            Selector::ByteMask => ('b', 4, 4),
        };
        let digits: Option<Vec<u32>> =
            text.strip_prefix(letter)?.chars().map(|c| c.to_digit(choices)).collect();
        let digits = digits.filter(|d| !d.is_empty() && d.len() <= lanes)?;
        match self {
            Selector::HalfMask | Selector::ByteMask => digits
                .is_sorted_by(|a, b| a > b)
                .then(|| Selection::Mask(digits.iter().fold(0, |m, d| m | 1 << d))),
            _ => (digits.len() == lanes)
                .then(|| Selection::Lanes(digits.iter().fold(0, |l, d| l << 4 | *d as u16))),
        }
    }
}

/// The part of a register that a selector of a video instruction chooses.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub enum Selection {
    #[default]
    Whole,
    B0,
    B1,
    B2,
    B3,
    H0,
    H1,
    /// A source of a SIMD video instruction: which byte or half-word of (a, b) each lane takes,
    /// four bits a lane.
    Lanes(u16),
    /// The destination lanes of a SIMD video instruction, a bit each.
    Mask(u8),
}

/// One operand of a notation.
#[derive(Debug)]
pub struct OperandSlot {
    /// Name in the notation.
    pub name: &'static str,
    /// Whether it is written.
    pub dest: bool,
    /// Whether it may be left out.
    pub optional: bool,
    /// What it takes.
    pub form: Form,
    /// Values that an immediate may have, separated by bars: numbers, ranges, `%n` for the multiples of `n`; empty: any.
    pub values: &'static str,
    /// How many elements.
    pub count: Count,
    /// Of a vector in place of a scalar the first element counts.
    pub first: bool,
    /// Of which type.
    pub ty: SlotTy,
    /// Whether wider registers are allowed.
    pub relaxed: bool,
    /// Whether `!` may stand before it.
    pub negatable: bool,
    /// Whether `-` may stand before it.
    pub minus: bool,
    /// Whether only registers go.
    pub register: bool,
    /// An address may stand without its brackets.
    pub bare: bool,
    /// Whether the name of a variable or function may stand for its address.
    pub names: bool,
    /// Selector after it, and whether that may be left out.
    pub selector: Option<(Selector, bool)>,
    /// Predicate destination after a bar: name, and whether it may be left out.
    pub second: Option<(&'static str, bool)>,
    /// Parts of one compound memory operand share a number.
    pub bracket: Option<u8>,
}

impl OperandSlot {
    /// Takes the marks before and behind an operand from its text.
    fn marks(&mut self, mut text: &'static str) -> &'static str {
        if let Some(r) = text.strip_prefix("{!}") {
            self.negatable = true;
            text = r;
        }
        if let Some(r) = text.strip_prefix("{-}") {
            self.minus = true;
            text = r;
        }
        if let Some(r) = text.strip_prefix('~') {
            self.bare = true;
            text = r;
        }
        if let Some(r) = text.strip_prefix('%') {
            self.register = true;
            text = r;
        }
        if let Some(r) = text.strip_prefix('&') {
            self.names = true;
            text = r;
        }
        if let Some(r) = text.strip_prefix('#') {
            self.form = Form::Imm;
            text = r;
        }
        if let Some(r) = text.strip_suffix('>') {
            self.relaxed = true;
            text = r;
        }
        text
    }

    /// Whether it names a texture, sampler or surface.
    pub fn is_object(&self) -> bool {
        matches!(self.ty, SlotTy::Fixed(ty) if ty.class() == TyClass::Opaque)
    }
}

/// Whether a list of [`OperandSlot::values`], not empty, has this value.
pub fn allows(values: &str, value: i64) -> bool {
    let holds = |range: &str| {
        if let Some(divisor) = range.strip_prefix('%') {
            return divisor.parse().is_ok_and(|n: i64| value % n == 0);
        }
        let (first, last) = range.split_once("..").unwrap_or((range, range));
        let end = |text: &str| text.parse::<i64>();
        matches!((end(first), end(last)), (Ok(first), Ok(last)) if (first..=last).contains(&value))
    };
    values.is_empty() || values.split('|').any(|all| all.split('&').all(holds))
}

/// The operand that a range of [`OperandSlot::values`] ends with (`0..n`).
pub fn bound(values: &str) -> Option<&str> {
    values.strip_prefix("0..").filter(|end| end.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether a float lies in the range that [`OperandSlot::values`] gives (`>0..1`), if it gives one.
pub fn allows_float(values: &str, value: f32) -> bool {
    let ends = values.strip_prefix('>').and_then(|range| range.split_once(".."));
    let Some((Ok(above), Ok(last))) = ends.map(|(a, b)| (a.parse::<f32>(), b.parse::<f32>()))
    else {
        return true;
    };
    value > above && value <= last
}

/// What the variables of a notation stand for: name and alternatives.
pub type Sets = &'static [(&'static str, &'static str)];

/// A row as far as its notation goes.
#[derive(Copy, Clone)]
struct Written {
    syntax: &'static str,
    sets: Sets,
}

/// A parsed [`Row::syntax`](crate::Row).
#[derive(Debug)]
pub struct Notation {
    /// First word of the opcode.
    pub mnemonic: &'static str,
    /// Modifier positions.
    pub elems: Vec<Elem>,
    /// Operand slots.
    pub slots: Vec<OperandSlot>,
}

impl Notation {
    /// Parses a row's notation with its sets.
    ///
    /// # Panics
    /// On notation that the module documentation does not allow; a test parses every row.
    pub fn parse(syntax: &'static str, sets: Sets) -> Notation {
        let row = Written { syntax, sets };
        let text = row.syntax;
        let (op, operands) = text.split_once(' ').unwrap_or((text, ""));
        let end = op.find(['.', '{']).unwrap_or(op.len());
        let mut elems = Vec::new();
        let mut rest = &op[end..];
        while !rest.is_empty() {
            let optional = rest.starts_with('{');
            let body = rest.strip_prefix('{').unwrap_or(rest);
            assert!(body.starts_with('.'), "modifier expected in `{text}`");
            let len = body[1..].find(['.', '{', '}']).map_or(body.len(), |i| i + 1);
            elems.push(elem(row, &body[..len], optional));
            rest = &body[len..];
            if optional {
                rest = rest
                    .strip_prefix('}')
                    .unwrap_or_else(|| panic!("one modifier per brace in `{text}`"));
            }
        }
        let mut notation = Notation { mnemonic: &op[..end], elems, slots: Vec::new() };
        notation.parse_operands(row, operands);
        notation
    }

    fn parse_operands(&mut self, row: Written, text: &'static str) {
        let mut rest = text.trim();
        let mut bracket = None;
        let mut brackets = 0u8;
        while !rest.is_empty() {
            let mut optional = false;
            rest = rest.trim_start_matches([',', ' ']);
            if let Some(r) = rest.strip_prefix("{,") {
                optional = true;
                rest = r.trim_start();
            }
            let mut opens = false;
            if let Some(r) = rest.strip_prefix('[') {
                bracket = Some(brackets);
                brackets += 1;
                opens = true;
                rest = r;
            }
            // `{!}`, `{|p}` belong to the operand; a brace with a comma ends it.
            let mut end = rest.len();
            let mut depth = 0;
            for (i, c) in rest.char_indices() {
                match c {
                    '{' if rest[i..].starts_with("{,") => {
                        end = i;
                        break;
                    }
                    '{' => depth += 1,
                    '}' if depth > 0 => depth -= 1,
                    ',' | '}' | ']' => {
                        end = i;
                        break;
                    }
                    _ => {}
                }
            }
            let first = self.slots.is_empty();
            let mut slot = self.operand(row, rest[..end].trim(), first);
            slot.optional |= optional;
            slot.bracket = bracket;
            rest = &rest[end..];
            if let Some(r) = rest.strip_prefix(']') {
                // A bracket around a single part is a plain memory operand, unless it is an object.
                if opens && !slot.is_object() {
                    slot.form = Form::Addr;
                    slot.bracket = None;
                    slot.dest = false;
                }
                bracket = None;
                rest = r;
            }
            self.slots.push(slot);
            if optional {
                rest = rest.trim_start();
                rest = rest
                    .strip_prefix('}')
                    .unwrap_or_else(|| panic!("`}}` expected in `{}`", row.syntax));
            }
            rest = rest.trim_start();
        }
    }

    fn operand(&self, row: Written, text: &'static str, first: bool) -> OperandSlot {
        let mut slot = OperandSlot {
            name: text,
            dest: false,
            optional: false,
            form: Form::Value,
            values: "",
            count: Count::One,
            first: false,
            ty: SlotTy::Any,
            relaxed: false,
            negatable: false,
            minus: false,
            register: false,
            bare: false,
            names: false,
            selector: None,
            second: None,
            bracket: None,
        };
        let mut text = text;
        if let Some(kind) = text.strip_prefix('@') {
            slot.name = kind;
            slot.form = match kind {
                "label" => Form::Label,
                "func" => Form::Func,
                "table" => Form::Targets,
                "args" => Form::Args,
                _ => panic!("unknown operand `@{kind}` in `{}`", row.syntax),
            };
            return slot;
        }
        text = slot.marks(text);
        let (head, ty) = match text.split_once(':') {
            Some((h, t)) => (h, Some(t)),
            None => (text, None),
        };
        let head = match head.split_once('=') {
            Some((h, values)) => {
                slot.values = values;
                h
            }
            None => head,
        };
        let (head, selector) = match head.split_once("{.") {
            Some((h, s)) => (h, Some((s.trim_end_matches('}'), true))),
            None => match head.split_once('.') {
                Some((h, s)) => (h, Some((s, false))),
                None => (head, None),
            },
        };
        slot.selector = selector.map(|(name, optional)| {
            let known = Selector::NAMES.iter().find(|(n, _)| *n == name);
            (
                known.unwrap_or_else(|| panic!("no selector `{name}` in `{}`", row.syntax)).1,
                optional,
            )
        });
        let (head, second) = match head.split_once("{|") {
            Some((h, p)) => (h, Some((p.trim_end_matches('}'), true))),
            None => match head.split_once('|') {
                Some((h, p)) => (h, Some((p, false))),
                None => (head, None),
            },
        };
        let (name, count) = match head.split_once('*') {
            Some((n, c)) => (n, Some(c)),
            None => (head, None),
        };
        slot.name = name;
        slot.second = second;
        slot.dest = name.starts_with('d') || first && matches!(name, "p" | "q");
        slot.first = count.is_some_and(|c| c.len() > 2 && c.ends_with('+'));
        slot.count = match count {
            None => Count::One,
            Some("?") => Count::Row,
            Some("!") => Count::RowVector,
            Some("+") => Count::RowLeast,
            Some("!+") => Count::RowVectorLeast,
            Some("~") => Count::RowOrNothing,
            Some(c) => match c.parse() {
                Ok(n) => Count::Fixed(n),
                Err(_) => Count::Elem(self.elem_index(row, c.trim_end_matches('+'))),
            },
        };
        slot.ty = match ty {
            Some("pred") => SlotTy::Fixed(Ty::Pred),
            Some("any") => SlotTy::Any,
            Some("wide") => SlotTy::Wide(self.default_type(row).expect("a type to widen")),
            Some(t) if t.starts_with('.') => SlotTy::Fixed(
                Ty::from_token(t).unwrap_or_else(|| panic!("no type `{t}` in `{}`", row.syntax)),
            ),
            Some(t) => SlotTy::Elem(self.elem_index(row, t)),
            None if slot.dest && matches!(name, "p" | "q") => SlotTy::Fixed(Ty::Pred),
            None => match self.default_type(row) {
                Some(i) => SlotTy::Elem(i),
                None => SlotTy::Any,
            },
        };
        slot
    }

    /// Position of the element named `name`.
    fn elem_index(&self, row: Written, name: &str) -> u8 {
        self.elems
            .iter()
            .position(|e| e.name == name)
            .unwrap_or_else(|| panic!("no modifier `{name}` in `{}`", row.syntax)) as u8
    }

    /// The element that gives operands without a type theirs.
    fn default_type(&self, _row: Written) -> Option<u8> {
        let by_name = self.elems.iter().position(|e| e.name == "type");
        let last = || {
            self.elems.iter().rposition(|e| e.choices.iter().all(|c| Ty::from_token(c).is_some()))
        };
        by_name.or_else(last).map(|i| i as u8)
    }
}

fn elem(row: Written, text: &'static str, optional: bool) -> Elem {
    let var = &text[1..];
    let set = row.sets.iter().chain(COMMON).find(|(n, _)| *n == var);
    match set {
        Some((name, choices)) => {
            Elem { name, choices: choices.split_ascii_whitespace().collect(), optional }
        }
        None => Elem { name: text, choices: vec![text], optional },
    }
}
