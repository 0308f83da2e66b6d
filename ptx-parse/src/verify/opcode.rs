//! Opcode text to rows of the table: once per distinct text and process; against the module's
//! version and target: once per distinct text and module.

use super::Verifier;
use super::limits::{self, Rule};
use crate::ast::Instr;
use crate::diag::{Code, Diag};
use crate::span::Span;
use ptx_isa::row::{Constants, Row, Sink};
use ptx_isa::syntax::{Count, Form, Selector, SlotTy};
use ptx_isa::table::{NoMatch, table};
use ptx_isa::types::{PtxVersion, Suffix, Target, TyClass};
use ptx_isa::{Match, Operation, Space, Ty};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// A distinct opcode of the module.
pub(super) struct Opcode {
    /// Rows that it may mean; out of here while an instruction is resolved.
    pub known: Option<Known>,
    /// [`crate::module::Module::matches`] index of the first of them.
    pub first: u32,
    /// For each row why the module cannot use it (span set where it is used); empty if it can
    /// use all.
    pub problems: Vec<Option<Box<Diag>>>,
}

/// The rows that an opcode may mean, none if the table has none.
pub(super) type Known = Arc<[Candidate]>;

/// A row that an opcode may mean.
pub(super) struct Candidate {
    pub matched: Match,
    pub units: Box<[Unit]>,
    /// Units that must be given.
    pub required: usize,
    /// Units that may be given.
    pub most: usize,
    /// Whether no modifier names a space: memory operands are generic addresses.
    pub generic: bool,
    pub traits: Traits,
    /// A rule on the values of constants.
    pub rule: Option<Rule>,
}

/// Opcodes that the table knows, by text. They do not depend on the module, and a process that
/// loads many modules meets the same few hundred again and again.
static MEMO: LazyLock<RwLock<HashMap<Box<str>, Known>>> = LazyLock::new(Default::default);

/// More distinct texts than that are not kept.
const MEMO_LIMIT: usize = 1 << 14;

/// The rows that `text` may mean.
fn known(text: &str) -> Result<Known, NoMatch> {
    if let Some(known) = MEMO.read().unwrap_or_else(PoisonError::into_inner).get(text) {
        return Ok(known.clone());
    }
    let shorter = || table().find(&table().without_passed_over(text)?).ok();
    let found = table().find(text).or_else(|why| shorter().ok_or(why))?;
    let known: Known = found.into_iter().map(candidate).collect();
    let mut memo = MEMO.write().unwrap_or_else(PoisonError::into_inner);
    if memo.len() < MEMO_LIMIT {
        memo.insert(text.into(), known.clone());
    }
    Ok(known)
}

/// What a mnemonic allows beyond its slots.
#[derive(Copy, Clone, Debug)]
pub(super) struct Traits {
    /// Names of variables and functions as values, in every operand.
    pub addresses: bool,
    /// Special registers as sources.
    pub specials: bool,
    /// `_` as the destination.
    pub sink: bool,
}

/// One operand as written: a slot, or the slots of one compound memory operand.
pub(super) struct Unit {
    pub slots: Box<[Spec]>,
    pub optional: bool,
    pub bracket: bool,
}

/// A slot with the modifiers applied.
#[derive(Copy, Clone, Debug)]
pub(super) struct Spec {
    pub form: Form,
    pub dest: bool,
    pub optional: bool,
    pub count: Option<u32>,
    /// An element of a vector.
    pub element: bool,
    /// A vector of one element may stand for a scalar.
    pub one: bool,
    /// Longer vectors are allowed too.
    pub least: bool,
    /// Of a vector of two or four in place of a scalar the first element counts.
    pub first: bool,
    /// A scalar stands for a vector of one, where longer ones are allowed.
    pub lone: bool,
    /// A scalar counts for nothing.
    pub nothing: bool,
    /// An element of a vector whose elements may have any type.
    pub any: bool,
    /// The first address.
    pub leading: bool,
    /// Coordinates of which the first may be the number of a layer.
    pub coordinates: bool,
    /// A vector of `.b32` has a register without a type.
    pub mixed: bool,
    /// A register stands for the first element, the others are 0.
    pub scalar: bool,
    pub ty: Option<Ty>,
    pub relaxed: bool,
    pub negatable: bool,
    /// `-` may stand before it.
    pub minus: bool,
    /// Selector after it, and whether that may be left out.
    pub selector: Option<(Selector, bool)>,
    /// Other operands of the instruction take selectors.
    pub selectors: bool,
    /// Any vector whose elements fill so many bits (`mov`).
    pub fills: Option<u32>,
    /// A predicate may (`true`) or must (`false`) follow after a bar.
    pub second: Option<bool>,
    /// Only registers go.
    pub register: bool,
    /// An address may stand without its brackets.
    pub bare: bool,
    /// The name of a variable stands for its address.
    pub names: bool,
    /// The first target on which ptxas calls a function of its own with it, and the first on which it no longer does.
    pub called: (u16, u16),
    /// An integer whose type no modifier names: neither functions nor floats stand for it.
    pub plain: bool,
    /// For memory operands, the first parts of compound ones and variables: the state space that a modifier names.
    pub space: Option<Space>,
}

fn space_of(token: &str) -> Option<Space> {
    Some(match token {
        ".global" => Space::Global,
        ".shared" | ".shared::cta" => Space::Shared,
        ".shared::cluster" => Space::SharedCluster,
        ".local" => Space::Local,
        ".const" => Space::Const,
        ".param" | ".param::func" => Space::ParamFunc,
        ".param::entry" => Space::ParamEntry,
        _ => return None,
    })
}

impl Verifier<'_> {
    /// The index of an instruction's opcode, looked up on its first use.
    #[inline]
    pub(super) fn opcode(&mut self, instr: &Instr) -> usize {
        let known = self.opcode_of[instr.opcode.index()];
        if known > 0 { known as usize - 1 } else { self.new_opcode(instr) }
    }

    #[cold]
    fn new_opcode(&mut self, instr: &Instr) -> usize {
        let text = self.text(instr.opcode);
        let span = self.ast.opcode_span(instr);
        let known: Known = match known(text) {
            Ok(known) => known,
            Err(why) => match table().find_lenient(text) {
                Some(m) if self.lenient => Known::from([candidate(m)]),
                outside => {
                    self.no_match(text, span, &why);
                    if let (Some(m), Some(diag)) = (outside, self.diags.last_mut()) {
                        diag.note(format!("`{}` is no PTX; lenient mode runs it", m.row.syntax));
                    }
                    Known::from([])
                }
            },
        };
        let info = self.module.info;
        let problem = |m: &Match| {
            problem(m, text, info.version, info.target)
                .or_else(|| self.wide_access(m, text))
                .or_else(|| self.narrow_conversion(m, text))
        };
        let mut problems = Vec::new();
        for (i, c) in known.iter().enumerate() {
            if let Some(diag) = problem(&c.matched) {
                problems.resize_with(known.len(), || None);
                problems[i] = Some(diag);
            }
        }
        let first = self.module.matches.len() as u32;
        self.module.matches.extend(known.iter().map(|c| c.matched.clone()));
        self.opcodes.push(Opcode { known: Some(known), first, problems });
        self.opcode_of[instr.opcode.index()] = self.opcodes.len() as u32;
        self.opcodes.len() - 1
    }

    #[cold]
    fn no_match(&mut self, text: &str, span: Span, why: &NoMatch) {
        match why {
            NoMatch::Mnemonic(near) => {
                let name = text.split('.').next().unwrap_or(text);
                let span = Span::new(span.start, span.start + name.len() as u32);
                let diag =
                    self.error(Code::UnknownOpcode, span, format!("no instruction `{name}`"));
                let small = text.to_ascii_lowercase();
                if small != text && !matches!(table().find(&small), Err(NoMatch::Mnemonic(_))) {
                    diag.help(format!("write `{small}`: opcodes are in lower case"));
                } else if !near.is_empty() {
                    diag.help(format!("did you mean `{}`?", near.join("`, `")));
                }
            }
            NoMatch::Modifier { index, allowed } => {
                let mut parts = text.split('.');
                let name = parts.next().unwrap_or("");
                let start =
                    name.len() + parts.clone().take(*index).map(|p| p.len() + 1).sum::<usize>();
                let token = parts.nth(*index).unwrap_or("");
                let at = span.start + start as u32;
                let message = format!("`{name}` does not take `.{token}` here");
                let here = Span::new(at, at + 1 + token.len() as u32);
                // LLVM's names of integers do not say whether they are signed.
                let signed = token.strip_prefix('i').map(|bits| format!(".s{bits}"));
                let near =
                    signed.and_then(|s| allowed.iter().copied().find(|a| *a == s)).or_else(|| {
                        crate::diag::closest(&format!(".{token}"), allowed.iter().copied())
                    });
                let diag = self.error(Code::Modifier, here, message);
                if let Some(near) = near {
                    diag.help(format!("did you mean `{near}`?"));
                }
                if allowed.is_empty() {
                    diag.help(format!("`.{token}` belongs to the name: write `{name}.{token}` first, then the modifiers"));
                } else {
                    diag.help(format!("possible here: {}", allowed.join(" ")));
                }
            }
            NoMatch::Missing { what, allowed } => {
                let mut message = format!("`{text}` is incomplete");
                let part = match what.trim_start_matches('.') {
                    "" => None,
                    "rnd" => Some("rounding".to_owned()),
                    "cmpi" | "cmpf" | "cmp" => Some("comparison".to_owned()),
                    "part" => Some("half of the product".to_owned()),
                    "type" | "dtype" | "atype" => Some("type".to_owned()),
                    other => Some(format!("`{other}`")),
                };
                if let Some(part) = part {
                    message = format!("`{text}` lacks its {part}");
                }
                self.error(Code::Modifier, span, message)
                    .help(format!("add one of {}", allowed.join(" ")));
            }
        }
    }
}

/// A row with what the operands' check needs of it.
fn candidate(m: Match) -> Candidate {
    let mut units: Vec<(Option<u8>, Vec<Spec>)> = Vec::new();
    let spaces: Vec<Space> = m.picked.iter().flatten().filter_map(|t| space_of(t)).collect();
    // With fewer spaces than memory operands the last ones are unrelated to them.
    let mut named = spaces.iter().copied();
    for slot in &m.notation.slots {
        let continues = slot.bracket.is_some()
            && units.last().is_some_and(|(bracket, _)| *bracket == slot.bracket);
        let space = match slot.form {
            _ if continues => None,
            // Where no modifier names a space it is a generic address.
            Form::Addr if slot.name == "mbar" => {
                let shared = !spaces.is_empty() || !(m.row.named)(&m, Space::Global);
                shared.then_some(Space::SharedCluster)
            }
            Form::Addr => named.next(),
            // A number of the fabric is no memory.
            _ if slot.name == "id" => None,
            _ if slot.bracket.is_some() || slot.names => named.next(),
            _ => None,
        };
        let spec = Spec {
            form: slot.form,
            dest: slot.dest,
            optional: slot.optional,
            count: m.slot_count(slot),
            element: false,
            one: slot.count != Count::One,
            least: matches!(
                slot.count,
                Count::RowLeast | Count::RowVectorLeast | Count::RowOrNothing
            ),
            any: false,
            first: slot.first,
            leading: slot.form == Form::Addr
                && m.notation
                    .slots
                    .iter()
                    .find(|s| s.form == Form::Addr)
                    .is_some_and(|first| std::ptr::eq(first, slot)),
            lone: slot.count == Count::RowLeast,
            nothing: slot.count == Count::RowOrNothing,
            coordinates: slot.name == "c" && slot.ty == SlotTy::Any,
            mixed: matches!(m.row.constants, Constants::Vector | Constants::EachFrom(..)),
            scalar: (m.row.scalars)(&m, slot.name),
            ty: m.slot_ty(slot),
            relaxed: slot.relaxed,
            negatable: slot.negatable,
            minus: slot.minus,
            selector: slot.selector,
            selectors: m.notation.slots.iter().any(|s| s.selector.is_some()),
            fills: (m.row.op == Operation::Move
                && slot.count == Count::Row
                && m.row.counts.is_some_and(|f| f(&m, slot.name) == 0))
            .then(|| m.ty("type").map_or(0, Ty::bits)),
            second: slot.second.map(|(_, optional)| optional),
            space,
            register: slot.register,
            bare: slot.bare,
            names: slot.names,
            called: {
                let targets = (m.row.called)(&m, slot.name);
                (targets.start, targets.end)
            },
            plain: matches!(slot.ty, SlotTy::Fixed(ty)
                if !matches!(ty.class(), TyClass::Float | TyClass::Half | TyClass::Opaque)
                    && !ty.is_packed()),
        };
        match units.last_mut() {
            Some((_, specs)) if continues => specs.push(spec),
            _ => units.push((slot.bracket, vec![spec])),
        }
    }
    let units: Box<[Unit]> = units
        .into_iter()
        .map(|(bracket, slots)| Unit {
            optional: slots.iter().all(|s| s.optional),
            bracket: bracket.is_some(),
            slots: slots.into(),
        })
        .collect();
    let op = m.row.op;
    let traits = Traits {
        addresses: false,
        specials: op == Operation::Move
            || op == Operation::Convert && m.row.specials && m.types().all(|ty| ty.is_int()),
        sink: (m.row.sink)(&m) != Sink::Never,
    };
    let mut required = units.iter().filter(|u| !u.optional).count();
    let mut most = units.len();
    // The modifier announces a cache policy, which is the last operand.
    if m.notation.slots.last().is_some_and(|slot| slot.name == "policy" && slot.optional) {
        if m.has(".L2::cache_hint") {
            required += 1;
        } else {
            most -= 1;
        }
    }
    let rule = limits::rule(&m);
    Candidate { matched: m, units, required, most, generic: spaces.is_empty(), traits, rule }
}

/// Whether `target` is named in a list such as `sm_90a sm_100f`.
fn listed(target: Target, list: &str) -> bool {
    list.split_ascii_whitespace().any(|word| {
        let Some(number) = word.strip_prefix("sm_") else { return false };
        let digits = number.trim_end_matches(['a', 'f']);
        let Ok(sm) = digits.parse::<u16>() else { return false };
        match number.as_bytes().last() {
            Some(b'a') => target.sm == sm && target.suffix == Suffix::Arch,
            // A family feature serves later members of the family as well.
            Some(b'f') => {
                target.suffix >= Suffix::Family && target.sm / 10 == sm / 10 && target.sm >= sm
            }
            _ => target.sm >= sm,
        }
    })
}

/// Names the form that took the place of one that ended: the shortest of the same mnemonic that takes all its
/// modifiers.
fn now_written(m: &Match, version: PtxVersion, target: Target, diag: &mut Diag) {
    let tokens: Vec<&'static str> = m.picked.iter().flatten().copied().collect();
    let forms = table().rows().filter_map(|(row, notation)| {
        let usable = notation.mnemonic == m.notation.mnemonic
            && version >= row.since
            && target.sm >= row.sm
            && row.targets.is_empty()
            && row.until.is_none()
            && row.removed.is_none();
        let takes = |t: &&'static str| notation.elems.iter().any(|e| e.choices.contains(t));
        if !usable || !tokens.iter().all(takes) {
            return None;
        }
        let chosen = notation.elems.iter().filter_map(|e| {
            let given = e.choices.iter().find(|c| tokens.contains(c));
            given.or_else(|| e.choices.first().filter(|_| !e.optional)).copied()
        });
        let opcode = format!("{}{}", notation.mnemonic, chosen.collect::<String>());
        Some((opcode, row.syntax)).filter(|(opcode, _)| table().find(opcode).is_ok())
    });
    if let Some((opcode, syntax)) = forms.min_by_key(|(opcode, _)| opcode.len()) {
        diag.help(format!("write `{opcode}`, with the operands of `{syntax}`"));
    }
}

/// Why a module of this version and target cannot use a match.
fn problem(m: &Match, text: &str, version: PtxVersion, target: Target) -> Option<Box<Diag>> {
    let row: &Row = m.row;
    let fail = |code, message: String| Some(Box::new(Diag::error(code, Span::default(), message)));
    let floors = |what: &dyn Fn() -> String, since: PtxVersion, sm: u16, targets: &str| {
        let fits = version >= since && target.sm >= sm;
        if fits && (targets.is_empty() || listed(target, targets)) {
            return None;
        }
        let what = what();
        if version < since {
            let mut d = fail(Code::Version, format!("{what} needs `.version {since}` or later"))?;
            d.note(format!("the module says `.version {version}`"));
            return Some(d);
        }
        if target.sm < sm {
            let mut d = fail(Code::Target, format!("{what} needs `.target sm_{sm}` or later"))?;
            d.note(format!("the module says `.target {target}`"));
            return Some(d);
        }
        let mut d = fail(Code::Target, format!("{what} is for targets {targets}"))?;
        d.note(format!("the module says `.target {target}`"));
        Some(d)
    };
    if let Some(d) = floors(&|| format!("`{text}`"), row.since, row.sm, row.targets) {
        return Some(d);
    }
    if row.until.is_some_and(|until| version > until) {
        let until = row.until.unwrap_or_default();
        let mut d = fail(Code::Version, format!("this form of `{text}` ended with PTX {until}"))?;
        now_written(m, version, target, &mut d);
        return Some(d);
    }
    if row.removed.is_some_and(|(v, sm)| version >= v && target.sm >= sm) {
        let mut d = fail(Code::Target, format!("`{text}` was removed: {target} does not have it"))?;
        now_written(m, version, target, &mut d);
        return Some(d);
    }
    if let Some((token, last)) = row.ended.iter().find(|(t, last)| version > *last && m.has(t)) {
        let what = format!("`{token}` of this form of `{}`", m.notation.mnemonic);
        return fail(Code::Version, format!("{what} ended with PTX {last}"));
    }
    for floor in row.floors {
        for token in floor.tokens.split_ascii_whitespace().filter(|t| m.has(t)) {
            let what = || format!("`{token}` of `{}`", m.notation.mnemonic);
            if let Some(d) = floors(&what, floor.since, floor.sm, floor.targets) {
                return Some(d);
            }
        }
    }
    match row.check.map(|check| check(m)) {
        Some(Err(why)) => fail(Code::Modifier, why),
        _ => None,
    }
}
