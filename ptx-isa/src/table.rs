//! The assembled table and the matcher from opcode text to rows.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::class::Class;
use crate::row::{Control, Operation, Row, Sem};
use crate::rows;
use crate::syntax::{Count, Shape, Slot, SlotTy};
use crate::types::Ty;

/// All rows, indexed by mnemonic.
pub struct Table {
    entries: Vec<(&'static Row, Shape)>,
    by_mnemonic: HashMap<&'static str, Vec<usize>>,
    lenient: Vec<(&'static Row, Shape)>,
}

/// A row together with the modifiers that an opcode chose.
#[derive(Clone)]
pub struct Match {
    /// The row.
    pub row: &'static Row,
    /// Its parsed notation.
    pub shape: &'static Shape,
    /// For each element of the shape the token chosen, with its dot.
    pub picked: Arc<[Option<&'static str>]>,
    /// Those tokens that are types.
    types: Arc<[Option<Ty>]>,
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
            let shape = Shape::parse(row);
            by_mnemonic.entry(shape.mnemonic).or_default().push(entries.len());
            entries.push((row, shape));
        }
        let lenient = rows::lenient::ROWS.iter().map(|row| (row, Shape::parse(row))).collect();
        Table { entries, by_mnemonic, lenient }
    }

    /// The form outside PTX that `opcode` is, if it is one ([`rows::lenient`]).
    pub fn find_lenient(&'static self, opcode: &str) -> Option<Match> {
        let (row, shape) = self.lenient.iter().find(|(_, shape)| {
            let mut tokens = opcode.split('.');
            tokens.next() == Some(shape.mnemonic)
                && tokens.eq(shape.elems.iter().map(|e| &e.choices[0][1..]))
        })?;
        Some(Match::new(row, shape, shape.elems.iter().map(|e| Some(e.choices[0])).collect()))
    }

    /// Every row with its shape, in table order.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Row, &'static Shape)> + use<> {
        table().entries.iter().map(|(r, s)| (*r, s))
    }

    /// The number of a row, which [`Table::at`] takes; the same in every process of one build.
    pub fn index(&self, row: &Row) -> Option<u32> {
        let mut all = self.entries.iter().chain(&self.lenient);
        all.position(|(r, _)| std::ptr::eq(*r, row)).map(|n| n as u32)
    }

    /// The row with that number, and its shape.
    pub fn at(&'static self, index: u32) -> Option<(&'static Row, &'static Shape)> {
        let index = index as usize;
        let found = match index.checked_sub(self.entries.len()) {
            None => self.entries.get(index),
            Some(beyond) => self.lenient.get(beyond),
        };
        found.map(|(row, shape)| (*row, shape))
    }

    /// The first row that steers control like this.
    ///
    /// # Panics
    /// When the table has none: each kind has its rows.
    pub fn control(&'static self, control: Control) -> Match {
        let row = |row: &Row| matches!(row.sem, Sem::Control(c) if c == control);
        let (row, shape) = self.entries.iter().find(|(r, _)| row(r)).expect("a row of this kind");
        Match::new(row, shape, vec![None; shape.elems.len()].into())
    }

    /// The form of an operation that has exactly these modifiers (`.rn`, `.ftz`, `.f32`), if there is one.
    pub fn form(&'static self, operation: Operation, modifiers: &[&str]) -> Option<Match> {
        let rows = self.entries.iter().enumerate().filter(|(_, (row, _))| row.op == operation);
        let mnemonics = rows.map(|(_, (_, shape))| shape.mnemonic);
        let mut tried = Vec::new();
        for mnemonic in mnemonics {
            if tried.contains(&mnemonic) {
                continue;
            }
            tried.push(mnemonic);
            let found = self.find(&format!("{mnemonic}{}", modifiers.concat()));
            if let Some(m) = found.ok().and_then(|m| m.into_iter().find(|m| m.row.op == operation))
            {
                return Some(m);
            }
        }
        None
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
        let tokens: Vec<&str> = parts
            .map(|p| &opcode[p.as_ptr() as usize - opcode.as_ptr() as usize - 1..][..p.len() + 1])
            .collect();
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
            let (row, shape) = &self.entries[i];
            picked.clear();
            picked.resize(shape.elems.len(), None);
            if assign(shape, &tokens, named, &mut picked) {
                found.push(Match::new(row, shape, picked.as_slice().into()));
            }
        }
        if found.is_empty() { Err(self.explain(candidates, &tokens)) } else { Ok(found) }
    }

    /// Mnemonics at most two edits away.
    fn nearest(&self, word: &str) -> Vec<&'static str> {
        let mut near: Vec<_> = self
            .mnemonics()
            .map(|m| (edit_distance(m, word), m))
            .filter(|(d, m)| *d <= 2 && *d < m.len())
            .collect();
        near.sort();
        near.into_iter().map(|(_, m)| m).take(3).collect()
    }

    /// The most helpful reason why `tokens` fit none of `candidates`.
    fn explain(&'static self, candidates: &[usize], tokens: &[&str]) -> NoMatch {
        // The longest prefix of tokens that some row can place decides what the user meant.
        let mut best = (0, Vec::new());
        for &i in candidates {
            let shape = &self.entries[i].1;
            let mut n = tokens.len();
            while n > 0 && !places(shape, &tokens[..n]) {
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
            let shape = &self.entries[i].1;
            let mut picked = vec![None; shape.elems.len()];
            place(shape, &tokens[..n], &mut picked);
            for (elem, p) in shape.elems.iter().zip(&picked) {
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
        _ if token.starts_with(".shared") || token.starts_with(".param") => Some(2),
        _ => Ty::from_token(token).map(|_| 0),
    }
}

/// Assigns every token to a position; all required positions must be taken. The first `named`
/// tokens and those of each [`ordered`] kind keep their order.
fn assign(
    shape: &Shape,
    tokens: &[&str],
    named: usize,
    picked: &mut [Option<&'static str>],
) -> bool {
    fn go(
        shape: &Shape,
        tokens: &[&str],
        named: usize,
        picked: &mut [Option<&'static str>],
        from: [usize; 4],
    ) -> bool {
        let Some((&token, rest)) = tokens.split_first() else {
            return shape.elems.iter().zip(&*picked).all(|(e, p)| e.optional || p.is_some());
        };
        let kind = if named > 0 { Some(3) } else { ordered(token) };
        for i in kind.map_or(0, |k| from[k])..picked.len() {
            if picked[i].is_none()
                && let Some(&c) = shape.elems[i].choices.iter().find(|c| **c == token)
            {
                picked[i] = Some(c);
                let mut next = from;
                if let Some(k) = kind {
                    next[k] = i + 1;
                }
                if go(shape, rest, named.saturating_sub(1), picked, next) {
                    return true;
                }
                picked[i] = None;
            }
        }
        false
    }
    tokens.len() <= picked.len() && go(shape, tokens, named, picked, [0; 4])
}

/// Greedy placement without the requirement that every position is taken.
fn place(shape: &Shape, tokens: &[&str], picked: &mut [Option<&'static str>]) -> bool {
    tokens.iter().all(|token| {
        (0..picked.len()).any(|i| {
            let hit = shape.elems[i].choices.iter().find(|c| *c == token);
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

fn places(shape: &Shape, tokens: &[&str]) -> bool {
    place(shape, tokens, &mut vec![None; shape.elems.len()])
}

impl Match {
    /// A row with a choice for each element of its shape.
    pub fn new(
        row: &'static Row,
        shape: &'static Shape,
        picked: Arc<[Option<&'static str>]>,
    ) -> Match {
        let types = picked.iter().map(|token| token.and_then(Ty::from_token)).collect();
        Match { row, shape, picked, types }
    }
    /// Chooses `token` for element `at`.
    pub fn choose(&mut self, at: usize, token: Option<&'static str>) {
        Arc::make_mut(&mut self.picked)[at] = token;
        Arc::make_mut(&mut self.types)[at] = token.and_then(Ty::from_token);
    }
    /// The token chosen for set `name` (`"rnd"`), or the literal `name` (`".ftz"`) if present.
    pub fn get(&self, name: &str) -> Option<&'static str> {
        self.shape.elems.iter().position(|e| e.name == name).and_then(|i| self.picked[i])
    }
    /// Whether modifier `token` (`".ftz"`) was chosen anywhere.
    pub fn has(&self, token: &str) -> bool {
        self.picked.contains(&Some(token))
    }
    /// The type chosen for set `name`.
    pub fn ty(&self, name: &str) -> Option<Ty> {
        self.shape.elems.iter().position(|e| e.name == name).and_then(|i| self.types[i])
    }
    /// The types among the chosen modifiers, in order.
    pub fn types(&self) -> impl Iterator<Item = Ty> {
        self.types.iter().flatten().copied()
    }
    /// Timing class of this form.
    pub fn class(&self) -> Class {
        (self.row.class)(self)
    }
    /// The opcode, its modifiers in the order of the row.
    pub fn opcode(&self) -> String {
        std::iter::once(self.shape.mnemonic).chain(self.picked.iter().flatten().copied()).collect()
    }
    /// The type of operands in `slot`; `None` where any type goes.
    pub fn slot_ty(&self, slot: &Slot) -> Option<Ty> {
        let at = |i: u8| self.types[i as usize];
        match slot.ty {
            SlotTy::Fixed(t) => Some(t),
            SlotTy::Elem(i) => at(i),
            SlotTy::Wide(i) => at(i).and_then(|t| t.wide().or(Some(t))),
            SlotTy::Any => None,
        }
    }
    /// Number of elements in `slot`; `None` is a scalar.
    pub fn slot_count(&self, slot: &Slot) -> Option<u32> {
        match slot.count {
            Count::One => None,
            Count::Fixed(n) => Some(n as u32),
            Count::Elem(i) => {
                self.picked[i as usize].and_then(|t| t.strip_prefix(".v")?.parse().ok())
            }
            Count::RowVector => Some(self.row.counts.map_or(1, |f| f(self, slot.name))),
            Count::Row => {
                let n = self.row.counts.map_or(1, |f| f(self, slot.name));
                (n > 1).then_some(n)
            }
        }
    }
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
        for (row, shape) in table().rows() {
            let opcode: String = std::iter::once(shape.mnemonic)
                .chain(shape.elems.iter().filter(|e| !e.optional).map(|e| e.choices[0]))
                .collect();
            let found = table().find(&opcode).unwrap_or_else(|e| panic!("{}: {e:?}", row.syntax));
            assert!(found.iter().any(|m| std::ptr::eq(m.row, row)), "{}", row.syntax);
            assert!(!row.section.is_empty(), "{} names its section", row.syntax);
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
