//! Equality of syntax trees regardless of where things stand in their texts.

use crate::ast::*;
use crate::names::Name;
use crate::span::Span;
use std::collections::HashMap;

impl Ast<'_> {
    /// Whether both trees say the same; places in the text do not count.
    pub fn same(&self, other: &Ast<'_>) -> bool {
        self.difference(other).is_none()
    }

    /// The first kind of thing in which two trees differ.
    pub fn difference(&self, other: &Ast<'_>) -> Option<&'static str> {
        let mut ids = HashMap::new();
        let (a, b) = (self.unplaced(&mut ids), other.unplaced(&mut ids));
        let checks = [
            ("items", a.items == b.items),
            ("functions", a.functions == b.functions),
            ("variables", a.vars == b.vars),
            ("statements", a.stmts == b.stmts),
            ("instructions", a.instrs == b.instrs),
            ("operands", a.operands == b.operands),
            ("words", a.words == b.words),
            ("integers", a.ints == b.ints && a.wide == b.wide),
            ("attributes", a.attrs == b.attrs),
            ("directives", a.directives == b.directives),
            ("sections", a.sections == b.sections && a.section_items == b.section_items),
        ];
        checks.iter().find(|(_, same)| !same).map(|(what, _)| *what)
    }

    /// A copy with every place set to zero and every name replaced by its
    /// text's number in `ids`.
    fn unplaced<'t>(&'t self, ids: &mut HashMap<&'t str, u32>) -> Ast<'t> {
        let mut ast = self.clone();
        let zero = Span::default();
        let mut rename = |name: &mut Name| {
            let next = ids.len() as u32;
            *name = Name(*ids.entry(self.name(*name)).or_insert(next));
        };
        for f in &mut ast.functions {
            (f.name.start, f.span, f.end) = (0, zero, 0);
            rename(&mut f.name.name);
        }
        for v in &mut ast.vars {
            (v.name.start, v.span) = (0, zero);
            rename(&mut v.name.name);
            if let Some(ty) = &mut v.ty {
                ty.start = 0;
                rename(&mut ty.name);
            }
        }
        for s in &mut ast.stmts {
            match s {
                Stmt::Open(at) | Stmt::Close(at) => *at = 0,
                _ => {}
            }
        }
        for i in &mut ast.instrs {
            rename(&mut i.opcode);
            let mut guard = i.guard();
            if let Some(guard) = &mut guard {
                rename(&mut guard.name);
            }
            *i = Instr::new(i.opcode, zero, guard, i.operands());
        }
        for o in &mut ast.operands {
            (o.start, o.len) = (0, 0);
            let mut name = Name(o.a);
            match o.kind {
                OperandKind::Name
                | OperandKind::Offset
                | OperandKind::Mem
                | OperandKind::Field
                | OperandKind::Generic => rename(&mut name),
                _ => {}
            }
            o.a = name.0;
        }
        for w in &mut ast.words {
            w.start = 0;
            rename(&mut w.name);
        }
        for a in &mut ast.attrs {
            a.name.start = 0;
            rename(&mut a.name.name);
        }
        for d in &mut ast.directives {
            d.span = zero;
        }
        for s in &mut ast.sections {
            (s.name.start, s.span) = (0, zero);
            rename(&mut s.name.name);
        }
        for i in &mut ast.section_items {
            i.start = 0;
            let (mut a, mut b) = (Name(i.a), Name(i.b));
            if i.kind != SectionItemKind::Int {
                rename(&mut a);
            }
            if i.kind == SectionItemKind::Difference {
                rename(&mut b);
            }
            (i.a, i.b) = (a.0, b.0);
        }
        ast
    }
}
