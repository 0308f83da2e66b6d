//! The assembled table and the matcher from opcode text to rows.

use std::collections::HashMap;
use std::sync::LazyLock;

pub use crate::matched::Match;
use crate::row::{Control, Operation, Row, Sem};
use crate::rows;
use crate::syntax::Notation;
use crate::types::Ty;

/// All rows, indexed by mnemonic.
pub struct Table {
    entries: Vec<(&'static Row, Notation)>,
    by_mnemonic: HashMap<&'static str, Vec<usize>>,
    lenient: Vec<(&'static Row, Notation)>,
}

/// Why an opcode fits no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoMatch {
    /// The first word is no instruction; the nearest names.
    Mnemonic(Vec<&'static str>),
    /// Modifier number `index` (0 is the first after the mnemonic) is not legal there.
    Modifier {
        /// Position among the modifiers.
        index: usize,
        /// What could stand there.
        allowed: Vec<&'static str>,
    },
    /// A required modifier is missing.
    Missing {
        /// Name of the missing part.
        what: &'static str,
        /// What could be added.
        allowed: Vec<&'static str>,
    },
}

/// The table, built on first use.
pub fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(Table::build);
    &TABLE
}

impl Table {
    fn build() -> Table {
        let mut entries = Vec::new();
        let mut by_mnemonic: HashMap<&'static str, Vec<usize>> = HashMap::new();
        for row in rows::FAMILIES.iter().flat_map(|f| f.iter()) {
            let notation = Notation::parse(row.syntax, row.sets);
            by_mnemonic.entry(notation.mnemonic).or_default().push(entries.len());
            entries.push((row, notation));
        }
        let lenient = rows::lenient::ROWS
            .iter()
            .map(|row| (row, Notation::parse(row.syntax, row.sets)))
            .collect();
        Table { entries, by_mnemonic, lenient }
    }

    /// The form outside PTX that `opcode` is, if it is one ([`rows::lenient`]).
    pub fn find_lenient(&'static self, opcode: &str) -> Option<Match> {
        let (row, notation) = self.lenient.iter().find(|(_, notation)| {
            let mut tokens = opcode.split('.');
            tokens.next() == Some(notation.mnemonic)
                && tokens.eq(notation.elems.iter().map(|e| &e.choices[0][1..]))
        })?;
        Some(Match::new(row, notation, notation.elems.iter().map(|e| Some(e.choices[0])).collect()))
    }

    /// An opcode without the modifiers that ptxas passes over (`rows::PASSED_OVER`), those apart that a row of the
    /// mnemonic has; none stands before a part of the name.
    pub fn without_passed_over(&self, opcode: &str) -> Option<String> {
        let mnemonic = opcode.split('.').next()?;
        let rows = self.by_mnemonic.get(mnemonic)?;
        let taken = |part: &str| {
            let mut elems = rows.iter().flat_map(|row| &self.entries[*row].1.elems);
            elems.any(|elem| elem.choices.iter().any(|token| token.strip_prefix('.') == Some(part)))
        };
        let parts = rows::NAME_PARTS.iter().find(|(m, _)| *m == mnemonic).map_or("", |(_, p)| p);
        let is_name = |part: &str| parts.split(' ').any(|p| p.strip_prefix('.') == Some(part));
        let free = rows::LAYOUT_FREE.iter().any(|(m, part)| {
            *m == mnemonic && (part.is_empty() || opcode.split('.').nth(1) == Some(part))
        });
        let mut layouts = 0;
        let mut seen = 0u32;
        let mut kept = Vec::new();
        for part in opcode.split('.') {
            if free && matches!(part, "row" | "col") && kept.len() > 1 && layouts < 2 {
                layouts += 1;
                continue;
            }
            match rows::PASSED_OVER.iter().position(|line| line.contains(&part)) {
                Some(_) if taken(part) => kept.push(part),
                Some(line) if seen & (1 << line) != 0 => return None,
                Some(_) if part.ends_with("ref") && types_checked(mnemonic, opcode) => return None,
                Some(line) => seen |= 1 << line,
                None if seen != 0 && is_name(part) => return None,
                None => kept.push(part),
            }
        }
        (seen != 0 || layouts != 0).then(|| kept.join("."))
    }

    /// Every row with its notation, in table order.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Row, &'static Notation)> + use<> {
        table().entries.iter().map(|(r, s)| (*r, s))
    }

    /// The number of a row, which [`Table::at`] takes; the same in every process of one build.
    pub fn index(&self, row: &Row) -> Option<u32> {
        let mut all = self.entries.iter().chain(&self.lenient);
        all.position(|(r, _)| std::ptr::eq(*r, row)).map(|n| n as u32)
    }

    /// The row with that number, and its notation.
    pub fn at(&'static self, index: u32) -> Option<(&'static Row, &'static Notation)> {
        let index = index as usize;
        let found = match index.checked_sub(self.entries.len()) {
            None => self.entries.get(index),
            Some(beyond) => self.lenient.get(beyond),
        };
        found.map(|(row, notation)| (*row, notation))
    }

    /// The first row that steers control like this.
    ///
    /// # Panics
    /// When the table has none: each kind has its rows.
    pub fn control(&'static self, control: Control) -> Match {
        let row = |row: &Row| matches!(row.sem, Sem::Control(c) if c == control);
        let (row, notation) =
            self.entries.iter().find(|(r, _)| row(r)).expect("a row of this kind");
        Match::new(row, notation, vec![None; notation.elems.len()].into())
    }

    /// The form of an operation that has exactly these modifiers (`.rn`, `.ftz`, `.f32`), if there is one.
    pub fn form(&'static self, operation: Operation, modifiers: &[&str]) -> Option<Match> {
        let rows = self.entries.iter().filter(|(row, _)| row.op == operation);
        let mut mnemonics: Vec<&str> = rows.map(|(_, notation)| notation.mnemonic).collect();
        mnemonics.dedup();
        mnemonics.into_iter().find_map(|mnemonic| {
            let found = self.find(&format!("{mnemonic}{}", modifiers.concat())).ok()?;
            found.into_iter().find(|m| m.row.op == operation)
        })
    }

    /// Every mnemonic, unordered.
    pub fn mnemonics(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.by_mnemonic.keys().copied()
    }

    /// The rows whose modifiers fit `opcode` (`fma.rn.f32`), in table order, never empty.
    ///
    /// Modifiers may come in any order; types, state spaces and layouts keep theirs, and parts of
    /// the name come first.
    ///
    /// # Errors
    /// Says which part fits nowhere, from the row that came furthest.
    pub fn find(&'static self, opcode: &str) -> Result<Vec<Match>, NoMatch> {
        let mut parts = opcode.split('.');
        let mnemonic = parts.next().unwrap_or("");
        let mut tokens: Vec<&str> = parts
            .map(|p| &opcode[p.as_ptr() as usize - opcode.as_ptr() as usize - 1..][..p.len() + 1])
            .collect();
        let mut seen = 0u32;
        tokens.retain(|t| {
            let bit = rows::REPEATABLE.iter().position(|r| r == t).map_or(0, |i| 1 << i);
            let again = seen & bit != 0;
            seen |= bit;
            !again && !rows::IGNORED.contains(&(mnemonic, t))
        });
        let Some(candidates) = self.by_mnemonic.get(mnemonic) else {
            return Err(NoMatch::Mnemonic(self.nearest(mnemonic)));
        };
        let named = match name_parts(mnemonic, &tokens) {
            Ok(named) => named,
            Err(index) => return Err(NoMatch::Modifier { index, allowed: Vec::new() }),
        };
        let mut found = Vec::new();
        let mut picked = Vec::new();
        for &i in candidates {
            let (row, notation) = &self.entries[i];
            picked.clear();
            picked.resize(notation.elems.len(), None);
            if assign(notation, &tokens, named, &mut picked) {
                found.push(Match::new(row, notation, picked.as_slice().into()));
            }
        }
        if found.is_empty() { Err(self.explain(candidates, &tokens)) } else { Ok(found) }
    }

    /// The rows that an opcode without all of its modifiers may become: `mma.sync`, `cp.async`.
    pub fn family(&'static self, opcode: &str) -> Vec<(&'static Row, &'static Notation)> {
        let mnemonic = opcode.split('.').next().unwrap_or("");
        let dots = opcode.match_indices('.').map(|(at, _)| at);
        let end = |at: usize| opcode[at + 1..].find('.').map_or(opcode.len(), |n| at + 1 + n);
        let tokens: Vec<&str> = dots.map(|at| &opcode[at..end(at)]).collect();
        let rows = self.by_mnemonic.get(mnemonic).into_iter().flatten();
        let rows = rows.map(|i| &self.entries[*i]);
        rows.filter(|(_, n)| begins(n, &tokens)).map(|(row, n)| (*row, n)).collect()
    }

    /// How PTX says what has another name elsewhere.
    pub fn renamed(&self, word: &str) -> Option<&'static str> {
        let small = word.to_ascii_lowercase();
        rows::OTHER_NAMES.iter().find(|(name, _)| *name == small).map(|(_, ours)| *ours)
    }

    /// Mnemonics at most two edits away, and no more than half of the word.
    fn nearest(&self, word: &str) -> Vec<&'static str> {
        if let Some(name) = self.renamed(word) {
            return vec![name];
        }
        let most = word.len().div_ceil(2).min(2);
        let mut near: Vec<_> = self
            .mnemonics()
            .map(|m| (edit_distance(m, word), m))
            .filter(|(d, m)| *d <= most && *d < m.len())
            .collect();
        near.sort();
        near.into_iter().map(|(_, m)| m).take(3).collect()
    }

    /// The most helpful reason why `tokens` fit none of `candidates`.
    fn explain(&'static self, candidates: &[usize], tokens: &[&str]) -> NoMatch {
        // The longest prefix of tokens that some row can place decides what the user meant.
        let mut best = (0, Vec::new());
        for &i in candidates {
            let notation = &self.entries[i].1;
            let mut n = tokens.len();
            while n > 0 && !places(notation, &tokens[..n]) {
                n -= 1;
            }
            if n > best.0 {
                best = (n, vec![i]);
            } else if n == best.0 {
                best.1.push(i);
            }
        }
        let (n, rows) = best;
        let mut allowed: Vec<&'static str> = Vec::new();
        let mut missing: Option<&'static str> = None;
        for &i in &rows {
            let notation = &self.entries[i].1;
            let mut picked = vec![None; notation.elems.len()];
            place(notation, &tokens[..n], &mut picked);
            for (elem, p) in notation.elems.iter().zip(&picked) {
                if p.is_some() || n == tokens.len() && elem.optional {
                    continue;
                }
                if !elem.optional {
                    missing.get_or_insert(elem.name);
                }
                for &c in &elem.choices {
                    if !allowed.contains(&c) {
                        allowed.push(c);
                    }
                }
            }
        }
        if n < tokens.len() {
            NoMatch::Modifier { index: n, allowed }
        } else {
            NoMatch::Missing { what: missing.unwrap_or(""), allowed }
        }
    }
}

/// Whether ptxas checks the types that an instruction names.
fn types_checked(mnemonic: &str, opcode: &str) -> bool {
    let unchecked = rows::TYPES_UNCHECKED.iter().find(|(m, _)| *m == mnemonic);
    unchecked.is_none_or(|(_, needed)| {
        !needed.is_empty() && !opcode.split('.').any(|part| needed.contains(&part))
    })
}

/// How many of the tokens belong to the instruction's name, or the first of them that stands
/// behind a modifier.
fn name_parts(mnemonic: &str, tokens: &[&str]) -> Result<usize, usize> {
    let Some((_, parts)) = rows::NAME_PARTS.iter().find(|(m, _)| *m == mnemonic) else {
        return Ok(0);
    };
    let is_part = |token: &&str| parts.split(' ').any(|p| p == *token);
    let named = tokens.iter().take_while(|t| is_part(t)).count();
    match tokens[named..].iter().position(is_part) {
        Some(late) => Err(named + late),
        None => Ok(named),
    }
}

/// Kinds of tokens that keep their order among themselves, whatever stands between.
fn ordered(token: &str) -> Option<usize> {
    match token {
        ".row" | ".col" => Some(1),
        ".global" | ".local" | ".const" => Some(2),
        ".b8x16" | ".b6x16_p32" | ".b4x16_p64" => Some(4),
        _ if token.starts_with(".shared") || token.starts_with(".param") => Some(2),
        _ => Ty::from_token(token).map(|_| 0),
    }
}

/// Assigns every token to a position; all required positions must be taken. The first `named`
/// tokens and those of each [`ordered`] kind keep their order.
fn assign(
    notation: &Notation,
    tokens: &[&str],
    named: usize,
    picked: &mut [Option<&'static str>],
) -> bool {
    fn go(
        notation: &Notation,
        tokens: &[&str],
        named: usize,
        picked: &mut [Option<&'static str>],
        from: [usize; 5],
    ) -> bool {
        let Some((&token, rest)) = tokens.split_first() else {
            return notation.elems.iter().zip(&*picked).all(|(e, p)| e.optional || p.is_some());
        };
        let kind = if named > 0 { Some(3) } else { ordered(token) };
        for i in kind.map_or(0, |k| from[k])..picked.len() {
            if picked[i].is_none()
                && let Some(&c) = notation.elems[i].choices.iter().find(|c| **c == token)
            {
                picked[i] = Some(c);
                let mut next = from;
                if let Some(k) = kind {
                    next[k] = i + 1;
                }
                if go(notation, rest, named.saturating_sub(1), picked, next) {
                    return true;
                }
                picked[i] = None;
            }
        }
        false
    }
    tokens.len() <= picked.len() && go(notation, tokens, named, picked, [0; 5])
}

/// Whether the tokens begin an opcode of this notation: only what is optional may be left out between them.
fn begins(notation: &Notation, tokens: &[&str]) -> bool {
    let mut elems = notation.elems.iter();
    tokens.iter().all(|token| {
        let next = elems.find(|e| !e.optional || e.choices.contains(token));
        next.is_some_and(|e| e.choices.contains(token))
    })
}

/// Greedy placement without the requirement that every position is taken.
fn place(notation: &Notation, tokens: &[&str], picked: &mut [Option<&'static str>]) -> bool {
    tokens.iter().all(|token| {
        (0..picked.len()).any(|i| {
            let hit = notation.elems[i].choices.iter().find(|c| *c == token);
            match hit {
                Some(c) if picked[i].is_none() => {
                    picked[i] = Some(c);
                    true
                }
                _ => false,
            }
        })
    })
}

fn places(notation: &Notation, tokens: &[&str]) -> bool {
    place(notation, tokens, &mut vec![None; notation.elems.len()])
}

/// Levenshtein distance, for "did you mean".
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<u8> = b.bytes().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let next = (diagonal + (ca != *cb) as usize).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_parses_and_is_found() {
        for (row, notation) in table().rows() {
            let opcode: String = std::iter::once(notation.mnemonic)
                .chain(notation.elems.iter().filter(|e| !e.optional).map(|e| e.choices[0]))
                .collect();
            let found = table().find(&opcode).unwrap_or_else(|e| panic!("{}: {e:?}", row.syntax));
            assert!(found.iter().any(|m| std::ptr::eq(m.row, row)), "{}", row.syntax);
            assert!(!row.section.is_empty(), "{} names its section", row.syntax);
            let sentence = row.does.starts_with(char::is_uppercase) && row.does.ends_with('.');
            assert!(sentence, "{} says what it does: {:?}", row.syntax, row.does);
        }
    }

    #[test]
    fn modifiers_come_in_any_order() {
        assert!(table().find("ld.f32.global").is_ok());
        assert!(matches!(table().find("add.u33"), Err(NoMatch::Modifier { index: 0, .. })));
        assert!(
            matches!(table().find("ad.u32"), Err(NoMatch::Mnemonic(near)) if near.contains(&"add"))
        );
    }
}
