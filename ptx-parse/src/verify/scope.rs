//! What a name means at a place: module scope, function scope, nested blocks.

use std::sync::Arc;

use ptx_isa::Ty;
use ptx_isa::special::Sreg;

use crate::ast::Ast;
use crate::module::Reg;
use crate::names::Name;
use crate::span::Span;

/// What a name stands for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Def {
    /// Nothing that is known.
    None,
    /// A register.
    Reg(u32),
    /// A vector register: first component and how many.
    RegVector(u32, u8),
    /// A variable of the body.
    Var(u32),
    /// A result or parameter of the function (results first).
    Param(u32),
    /// A variable of the module.
    Symbol(u32),
    /// A function or kernel.
    Func(u32),
    /// A label.
    Label(u32),
    /// A `.branchtargets` table.
    BranchTable(u32),
    /// A `.calltargets` table.
    CallTable(u32),
    /// A `.callprototype`.
    Prototype(u32),
    /// A special register.
    Special(Sreg),
    /// `%tid` and the like without a component.
    SpecialVector,
    /// `%envregN`.
    Envreg(u8),
}

/// A `%r<n>` declaration.
struct Numbered {
    prefix: Name,
    text: Arc<str>,
    count: u32,
    ty: Ty,
}

/// Names of a module and of the function that is being read.
pub(super) struct Scopes {
    /// Module scope, by name.
    pub module: Vec<Def>,
    /// Function scope, by name.
    local: Vec<Def>,
    /// Where a name was declared, for "first declared here", and at which depth of scopes.
    declared: Vec<(Span, u32)>,
    /// Names that the open scopes declared, with what they meant before.
    undo: Vec<(Name, Def, u32)>,
    /// Start of each open scope in `undo` and `numbered`.
    marks: Vec<(usize, usize)>,
    numbered: Vec<Numbered>,
}

impl Scopes {
    pub fn new(ast: &Ast) -> Scopes {
        let names = ast.names().len();
        Scopes {
            module: vec![Def::None; names],
            local: vec![Def::None; names],
            declared: vec![(Span::default(), 0); names],
            undo: Vec::new(),
            marks: Vec::new(),
            numbered: Vec::new(),
        }
    }

    /// Opens a scope.
    pub fn open(&mut self) {
        self.marks.push((self.undo.len(), self.numbered.len()));
    }

    /// Closes the innermost scope.
    pub fn close(&mut self) {
        if let Some((names, numbered)) = self.marks.pop() {
            while self.undo.len() > names {
                if let Some((name, before, depth)) = self.undo.pop() {
                    self.local[name.index()] = before;
                    self.declared[name.index()].1 = depth;
                }
            }
            self.numbered.truncate(numbered);
        }
    }

    /// Declares `name` in the innermost scope; the place of an earlier declaration there.
    pub fn declare(&mut self, name: Name, def: Def, span: Span) -> Option<Span> {
        let depth = self.marks.len() as u32;
        let slot = self.local.get_mut(name.index())?;
        let (first, at) = self.declared[name.index()];
        // Only a declaration of this very scope conflicts; outer ones are hidden.
        let conflict = (*slot != Def::None && at == depth).then_some(first);
        self.undo.push((name, *slot, at));
        *slot = def;
        self.declared[name.index()] = (span, depth);
        conflict
    }

    /// Declares `prefix<count>`.
    pub fn declare_numbered(&mut self, ast: &Ast, prefix: Name, count: u32, ty: Ty) {
        // A redeclared prefix hides the numbers that an outer block has already used.
        if self.numbered.iter().any(|n| n.prefix == prefix) {
            let text = ast.name(prefix);
            for i in 0..self.local.len() {
                let name = Name(i as u32);
                if self.local[i] != Def::None
                    && ast.name(name).strip_prefix(text).is_some_and(|d| number(d).is_some())
                {
                    self.undo.push((name, self.local[i], self.declared[i].1));
                    self.local[i] = Def::None;
                }
            }
        }
        self.numbered.push(Numbered { prefix, text: ast.name(prefix).into(), count, ty });
    }

    /// What `name` means here. A first use of `%r7` makes its register.
    #[inline]
    pub fn find(&mut self, ast: &Ast, name: Name, regs: &mut Vec<Reg>) -> Def {
        match self.local.get(name.index()) {
            Some(Def::None) => self.find_slow(ast, name, regs),
            Some(def) => *def,
            None => Def::None,
        }
    }

    #[cold]
    fn find_slow(&mut self, ast: &Ast, name: Name, regs: &mut Vec<Reg>) -> Def {
        let text = ast.name(name);
        let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
        // A prefix may itself end in digits, so try every split.
        for split in text.len() - digits..text.len() {
            let (prefix, rest) = text.split_at(split);
            let Some(n) = number(rest) else { continue };
            let found = self.numbered.iter().rev().position(|d| &*d.text == prefix && n < d.count);
            if let Some(back) = found {
                let index = self.numbered.len() - 1 - back;
                let decl = &self.numbered[index];
                let id = regs.len() as u32;
                regs.push(Reg { name: decl.text.clone(), number: Some(n), ty: decl.ty });
                self.local[name.index()] = Def::Reg(id);
                // The register lives as long as the scope that declared its prefix.
                let depth = self.marks.iter().rposition(|m| m.1 <= index).unwrap_or(0);
                match self.marks.get(depth + 1) {
                    None => self.undo.push((name, Def::None, 0)),
                    Some(_) => {
                        let at = self.marks[depth + 1].0;
                        self.undo.insert(at, (name, Def::None, 0));
                        for m in &mut self.marks[depth + 1..] {
                            m.0 += 1;
                        }
                    }
                }
                return Def::Reg(id);
            }
        }
        let def = self.module[name.index()];
        if def != Def::None {
            return def;
        }
        special(text)
    }

    /// Names known here that resemble `text`, nearest first.
    pub fn similar(&self, ast: &Ast, text: &str, wanted: impl Fn(Def) -> bool) -> Option<String> {
        let mut best: Option<(usize, &str)> = None;
        for i in 0..self.local.len() {
            let def = if self.local[i] != Def::None { self.local[i] } else { self.module[i] };
            if def == Def::None || !wanted(def) {
                continue;
            }
            let candidate = ast.name(Name(i as u32));
            let d = ptx_isa::table::edit_distance(candidate, text);
            if d > 0 && d <= 2.min(text.len() / 2) && best.is_none_or(|b| d < b.0) {
                best = Some((d, candidate));
            }
        }
        best.map(|(_, s)| s.to_string())
    }

    /// The declared count of a numbered prefix that `text` exceeds, for the help text.
    pub fn numbered_limit(&self, text: &str) -> Option<(String, u32)> {
        self.numbered
            .iter()
            .rev()
            .find(|d| text.strip_prefix(&*d.text).is_some_and(|r| number(r).is_some()))
            .map(|d| (d.text.to_string(), d.count))
    }
}

/// Decimal digits without leading zeros.
fn number(digits: &str) -> Option<u32> {
    let canonical = !digits.is_empty() && (digits.len() == 1 || !digits.starts_with('0'));
    (canonical && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

/// The special register called `text`, if there is one.
fn special(text: &str) -> Def {
    if !text.starts_with('%') {
        return Def::None;
    }
    if let Some(s) = Sreg::parse(text) {
        return Def::Special(s);
    }
    if let Some(n) = ptx_isa::special::envreg(text) {
        return Def::Envreg(n);
    }
    let vector = format!("{text}.x");
    if Sreg::parse(&vector).is_some() { Def::SpecialVector } else { Def::None }
}
