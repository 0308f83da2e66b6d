//! Opcode text to rows: looked up, and its floors checked, once per distinct text and module.

use std::rc::Rc;

use ptx_isa::meaning::ModuleInfo;
use ptx_isa::row::Row;
use ptx_isa::syntax::Slot;
use ptx_isa::table::NoMatch;
use ptx_isa::types::{PtxVersion, Suffix, Target};
use ptx_isa::{Match, table};

use crate::diag::{Code, Diag};
use crate::span::Span;

/// What is known of one opcode text.
#[derive(Clone)]
pub(super) enum Opcode {
    /// Not looked up yet.
    Unknown,
    /// Fits these [`Candidate`]s.
    Known(std::ops::Range<u32>),
    /// Fits no row.
    Bad(NoMatch),
}

/// A row that an opcode may mean.
pub(super) struct Candidate {
    /// The row and its modifiers.
    pub m: Rc<Match>,
    /// Index in `Module::matches`.
    pub index: u32,
    /// How the operands of the text correspond to slots.
    pub layout: Vec<Position>,
    /// Operands that must be there.
    pub required: usize,
    /// Why the module may not use it: code, message, help.
    pub forbidden: Option<(Code, String, String)>,
}

/// One operand of the text.
pub(super) struct Position {
    /// First slot.
    pub first: usize,
    /// Slots in a compound memory operand; 1 otherwise.
    pub count: usize,
    /// Whether it is a compound memory operand.
    pub bracket: bool,
    /// Whether it may be left out.
    pub optional: bool,
}

/// Finds the rows of `text` and appends them to `matches` and `candidates`.
pub(super) fn look_up(
    text: &str,
    module: ModuleInfo,
    matches: &mut Vec<Match>,
    candidates: &mut Vec<Rc<Candidate>>,
) -> Opcode {
    match table().find(text) {
        Ok(found) => {
            let first = candidates.len() as u32;
            for m in found {
                let layout = layout(&m.shape.slots);
                candidates.push(Rc::new(Candidate {
                    m: Rc::new(m.clone()),
                    index: matches.len() as u32,
                    required: layout.iter().filter(|p| !p.optional).count(),
                    layout,
                    forbidden: forbidden(&m, module),
                }));
                matches.push(m);
            }
            Opcode::Known(first..candidates.len() as u32)
        }
        Err(e) => Opcode::Bad(e),
    }
}

fn layout(slots: &[Slot]) -> Vec<Position> {
    let mut out: Vec<Position> = Vec::new();
    for (i, s) in slots.iter().enumerate() {
        let same = i > 0 && s.bracket.is_some() && slots[i - 1].bracket == s.bracket;
        match out.last_mut() {
            Some(p) if same => p.count += 1,
            _ => out.push(Position {
                first: i,
                count: 1,
                bracket: s.bracket.is_some(),
                optional: s.optional,
            }),
        }
    }
    out
}

/// The first rule of version, target or modifiers that the match breaks in this module.
fn forbidden(m: &Match, module: ModuleInfo) -> Option<(Code, String, String)> {
    let row = m.row;
    if let Some(f) = floor(row.since, row.sm, row.targets, m.shape.mnemonic, module) {
        return Some(f);
    }
    for f in row.floors {
        for token in f.tokens.split_ascii_whitespace() {
            if m.has(token)
                && let Some(e) = floor(f.since, f.sm, f.targets, token, module)
            {
                return Some(e);
            }
        }
    }
    if let Some((since, sm)) = row.removed
        && module.version >= since
        && module.target.sm >= sm
    {
        return Some((
            Code::Target,
            format!("`{}` without `.sync` is gone from sm_{sm} on", m.shape.mnemonic),
            format!("use the `.sync` form, or `.version` below {since}"),
        ));
    }
    let check = row.check?;
    match check(m) {
        Ok(()) => None,
        Err(why) => Some((Code::Modifier, why, notation(row))),
    }
}

fn floor(
    since: PtxVersion,
    sm: u16,
    targets: &str,
    what: &str,
    module: ModuleInfo,
) -> Option<(Code, String, String)> {
    let ModuleInfo { version, target, .. } = module;
    if version < since {
        return Some((
            Code::Version,
            format!("`{what}` needs `.version {since}` or later; the module says {version}"),
            format!("raise the module's version: `.version {since}`"),
        ));
    }
    if target.sm < sm {
        return Some((
            Code::Target,
            format!("`{what}` needs `.target sm_{sm}` or higher; the module says {target}"),
            format!("raise the module's target: `.target sm_{sm}`"),
        ));
    }
    if !targets.is_empty() && !targets.split_ascii_whitespace().any(|t| admits(t, target)) {
        let list = targets.replace(' ', ", ");
        return Some((
            Code::Target,
            format!("`{what}` needs one of the targets {list}; the module says {target}"),
            format!("use `.target {}`", targets.split(' ').next().unwrap_or(targets)),
        ));
    }
    None
}

/// Whether a module for `target` may use a feature of `feature` (`sm_90a`, `sm_100f`).
///
/// An `a` feature is for exactly that architecture; an `f` feature for later members of the same
/// family too.
fn admits(feature: &str, target: Target) -> bool {
    let Some(rest) = feature.strip_prefix("sm_") else { return false };
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let Ok(sm) = digits.parse::<u16>() else { return false };
    match &rest[digits.len()..] {
        "a" => target.sm == sm && target.suffix == Suffix::Arch,
        "f" => target.sm / 10 == sm / 10 && target.sm >= sm && target.suffix != Suffix::None,
        _ => target.sm >= sm,
    }
}

/// The row's syntax as a line of help.
pub(super) fn notation(row: &Row) -> String {
    format!("syntax: `{}` (PTX ISA {})", row.syntax, row.section)
}

/// The report for an opcode that fits no row.
pub(super) fn no_match(text: &str, start: u32, why: &NoMatch) -> Diag {
    let end = start + text.len() as u32;
    let mnemonic = text.split('.').next().unwrap_or(text);
    match why {
        NoMatch::Mnemonic(near) => {
            let span = Span::new(start, start + mnemonic.len() as u32);
            let mut d = Diag::error(
                Code::UnknownOpcode,
                span,
                format!("there is no instruction `{mnemonic}`"),
            );
            if let [one, ..] = near.as_slice() {
                d.help(format!("did you mean `{one}`?"));
            }
            d
        }
        NoMatch::Modifier { index, allowed } => {
            let token = text.split('.').nth(index + 1).unwrap_or("");
            let before: usize = text.split('.').take(index + 1).map(|t| t.len() + 1).sum();
            let at = start + before as u32 - 1;
            let span = Span::new(at, at + token.len() as u32 + 1);
            let mut d = Diag::error(
                Code::Modifier,
                span,
                format!("`.{token}` does not fit here in `{mnemonic}`"),
            );
            let near = allowed
                .iter()
                .map(|a| (ptx_isa::table::edit_distance(&a[1..], token), a))
                .filter(|(d, _)| *d <= 2 && *d < token.len())
                .min();
            if let Some((_, a)) = near {
                d.help(format!("did you mean `{a}`?"));
            }
            if !allowed.is_empty() {
                d.note(format!("allowed here: {}", list(allowed)));
            }
            d
        }
        NoMatch::Missing { what, allowed } => {
            let mut d = Diag::error(
                Code::Modifier,
                Span::new(start, end),
                if what.starts_with('.') || what.is_empty() {
                    format!("`{text}` lacks a modifier")
                } else {
                    format!("`{text}` lacks its `.{what}` modifier")
                },
            );
            if !allowed.is_empty() {
                d.note(format!("could follow: {}", list(allowed)));
            }
            d
        }
    }
}

fn list(tokens: &[&str]) -> String {
    const SHOWN: usize = 24;
    let mut s = tokens.iter().take(SHOWN).copied().collect::<Vec<_>>().join(" ");
    if tokens.len() > SHOWN {
        s.push_str(" …");
    }
    s
}
