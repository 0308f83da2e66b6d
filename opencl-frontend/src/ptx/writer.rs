//! A kernel as text: its head, its blocks, and the moves between them.

use std::cell::Cell;
use std::fmt::{self, Write};

use rustc_hash::FxHashMap;

use super::dwarf::Written;
use super::regs::{CLASSES, Reg, Registers, needs_register};
use super::{Module, names, types};
use crate::diag::Diag;
use crate::ir::graph::Graph;
use crate::ir::{BlockId, Edge, Func, Op, ParamKind, Space, Term, Val};
use crate::options::Options;
use crate::sema::hir::Program;

/// Characters of a line of the source that stand in the PTX.
const SHOWN: usize = 200;

/// Where the source line of a location is: file index (from 1), line, column.
pub type Lines = Vec<Option<(u32, u32, u32)>>;

/// What is known of the `__constant` variables of the program.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    /// There are any.
    pub(super) used: bool,
    /// They lie in global memory.
    pub(super) in_global: bool,
}

/// The label of a block.
struct Label(&'static str, u32);

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}

pub(super) struct Writer<'w> {
    pub(super) f: &'w Func,
    pub(super) program: &'w Program,
    /// Constants of the program are used, and they lie in global memory.
    pub(super) has_constants: bool,
    pub(super) constants_in_global: bool,
    /// A pointer was met that may point to a constant of the program or to a buffer.
    pub(super) mixed: Cell<bool>,
    pub(super) options: &'w Options,
    pub(super) globals: &'w [String],
    pub(super) lines: &'w Lines,
    pub(super) sources: &'w dyn Fn(u32, u32) -> Option<String>,
    pub(super) graph: Graph,
    pub(super) registers: Registers,
    /// Values that live in a register.
    pub(super) needs: Vec<bool>,
    pub(super) privates: &'w [String],
    /// The parts that are taken of a vector that is loaded.
    pub(super) extracts: FxHashMap<Val, Vec<(Val, u8)>>,
    /// The registers that assembly has written.
    pub(super) asm_outputs: FxHashMap<Val, Vec<Reg>>,
    pub(super) out: String,
    pub(super) body: String,
    pub(super) last_line: Option<(u32, u32, u32)>,
    /// The function's number.
    pub(super) number: usize,
    /// Labels where the scope of the source changes, for debuggers, with the scope that begins.
    marks: Vec<(String, u32)>,
    /// Private variables that are declared.
    declared: Vec<bool>,
    /// Moves of edges that are not fallen through, written after the last block.
    pub(super) aside: Vec<(BlockId, &'w Edge)>,
}

/// The head of a function that is called: its arguments and its result are in the caller's private memory.
pub(super) fn declaration(f: &Func) -> String {
    let params: Vec<String> = f.params.iter().map(|p| format!(".param .b64 {}", p.name)).collect();
    format!(".func {}({})", f.name, params.join(", "))
}

impl<'w> Writer<'w> {
    pub(super) fn new(
        f: &'w Func,
        module: &Module<'w>,
        constants: Constants,
        globals: &'w [String],
        privates: &'w [String],
        lines: &'w Lines,
    ) -> Self {
        let Module { program, options, sources, .. } = *module;
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
            has_constants: constants.used,
            constants_in_global: constants.in_global,
            mixed: Cell::new(false),
            options,
            globals,
            lines,
            sources,
            graph,
            registers,
            needs,
            privates,
            extracts,
            asm_outputs: FxHashMap::default(),
            out: String::new(),
            body: String::new(),
            last_line: None,
            number: 0,
            marks: Vec::new(),
            declared: vec![false; f.privates.len()],
            aside: Vec::new(),
        }
    }

    pub(super) fn function(&mut self) -> Result<(), Diag> {
        if self.f.is_kernel {
            self.head();
        } else {
            let _ = writeln!(self.out, "{}", declaration(self.f));
        }
        let debug = self.f.debug.is_some();
        if debug {
            let _ = writeln!(self.body, "{}:", self.begin_label());
        }
        for i in 0..self.graph.order.len() {
            self.block(i)?;
        }
        for (from, edge) in std::mem::take(&mut self.aside) {
            let label = self.label("$M", from);
            let _ = writeln!(self.body, "{label}:");
            self.moves(edge);
            self.line(format_args!("bra {};", self.label("$L", edge.block)));
        }
        if debug {
            let _ = writeln!(self.body, "{}:", self.end_label());
        }
        let mut declared = String::new();
        for (class, count) in CLASSES.iter().zip(self.registers.counts) {
            if count > 0 {
                let _ = writeln!(declared, "    .reg {:<6} {}<{}>;", class.1, class.0, count + 1);
            }
        }
        let (mut shared, mut local) = (String::new(), String::new());
        let mut seen = vec![false; self.program.globals.len() + self.f.privates.len()];
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
                    Op::PrivateAddr(s)
                        if !std::mem::replace(
                            &mut seen[self.program.globals.len() + s.0 as usize],
                            true,
                        ) =>
                    {
                        self.declared[s.0 as usize] = true;
                        let private = &self.f.privates[s.0 as usize];
                        let name = &self.privates[s.0 as usize];
                        let _ = writeln!(
                            local,
                            "    .local .align {} .b8 {name}[{}];",
                            private.align, private.size
                        );
                    }
                    _ => {}
                }
            }
        }
        self.out.push_str("{\n");
        self.out.push_str(&declared);
        if self.program.local_null && !shared.is_empty() {
            let name = names::unused("__null", self.globals);
            let _ = writeln!(self.out, "    .shared .align 16 .b8 {name}[16];");
        }
        self.out.push_str(&shared);
        self.out.push_str(&local);
        if !declared.is_empty() || !shared.is_empty() || !local.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&self.body);
        self.out.push_str("}\n");
        Ok(())
    }

    pub(super) fn head(&mut self) {
        let visible = if self.options.sm >= 20 { ".visible " } else { "" };
        let params: Vec<String> = self
            .f
            .params
            .iter()
            .map(|p| match p.kind {
                ParamKind::Scalar(ty) => {
                    format!("    .param .{} {}", types::memory_type(ty), p.name)
                }
                ParamKind::Pointer(space, align) => {
                    let space = match space {
                        Space::Shared => "shared",
                        // Buffers of constants are placed by the host, in global memory.
                        Space::Global
                        | Space::Constant
                        | Space::Local
                        | Space::Param
                        | Space::Generic => "global",
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

    pub(super) fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "    {text}");
    }

    fn label(&self, prefix: &'static str, block: BlockId) -> Label {
        Label(prefix, self.f.block(block).label)
    }

    fn begin_label(&self) -> String {
        format!("$L__func_begin{}", self.number)
    }

    fn end_label(&self) -> String {
        format!("$L__func_end{}", self.number)
    }

    /// What debug information is made of.
    pub(super) fn written(self) -> Written {
        let (begin, end) = (self.begin_label(), self.end_label());
        let names = self.privates.iter().zip(&self.declared);
        let privates = names.map(|(name, declared)| declared.then(|| name.clone())).collect();
        Written { marks: self.marks, begin, end, privates }
    }

    /// A label where an instruction belongs to another scope than the one before.
    fn mark_scope(&mut self, v: Val) {
        let loc = self.f.values[v.0 as usize].loc;
        let nothing = !self.needs[v.0 as usize] && !self.f.op(v).has_effect();
        let Some(debug) = self.f.debug.as_ref().filter(|_| loc != 0 && !nothing) else { return };
        let scope = debug.scope_of[loc as usize];
        if self.marks.last().map_or(0, |m| m.1) != scope {
            let label = format!("$L__tmp{}_{}", self.number, self.marks.len());
            let _ = writeln!(self.body, "{label}:");
            self.marks.push((label, scope));
        }
    }

    pub(super) fn location(&mut self, v: Val) {
        self.mark_scope(v);
        if !self.options.has_lines() {
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
            // A source may be one long line, which would be repeated for every block.
            let text = text.trim();
            let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(end, _)| end);
            let more = if end < text.len() { " ..." } else { "" };
            self.line(format_args!("// {}: {}{more}", place.1, &text[..end]));
        }
        self.line(format_args!(".loc {} {} {}", place.0, place.1, place.2));
    }

    pub(super) fn block(&mut self, index: usize) -> Result<(), Diag> {
        let b = self.graph.order[index];
        let next = self.graph.order.get(index + 1).copied();
        // A label where something jumps to; falling through needs none.
        let previous = index.checked_sub(1).map(|i| self.graph.order[i]);
        let jumped_to = self.graph.preds[b.0 as usize].iter().any(|p| {
            Some(*p) != previous
                || match &self.f.block(*p).term {
                    Term::Jump(_) => false,
                    Term::Branch(_, x, y) => !self.falls_through(x, y, b),
                    Term::Open | Term::Return => true,
                }
        }) || self.aside.iter().any(|(_, e)| e.block == b);
        if jumped_to {
            let label = self.label("$L", b);
            let _ = writeln!(self.body, "{label}:");
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
                        self.line(format_args!("@!{c} bra {};", self.label("$L", no.block)));
                    }
                    (false, _) => {
                        self.line(format_args!("@{c} bra {};", self.label("$L", yes.block)));
                        self.go(no, next);
                    }
                    (true, false) => {
                        self.line(format_args!("@!{c} bra {};", self.label("$L", no.block)));
                        self.go(yes, next);
                    }
                    (true, true) => {
                        let (here, there, not) =
                            if next == Some(no.block) { (no, yes, "") } else { (yes, no, "!") };
                        self.line(format_args!("@{not}{c} bra {};", self.label("$M", b)));
                        self.go(here, next);
                        self.aside.push((b, there));
                    }
                }
            }
        }
        Ok(())
    }

    /// An edge's moves, and the jump unless its block comes next.
    pub(super) fn go(&mut self, edge: &Edge, next: Option<BlockId>) {
        self.moves(edge);
        if next != Some(edge.block) {
            self.line(format_args!("bra {};", self.label("$L", edge.block)));
        }
    }

    /// True if the branch reaches `b`, which comes next, by falling through alone.
    pub(super) fn falls_through(&self, yes: &Edge, no: &Edge, b: BlockId) -> bool {
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

    pub(super) fn has_moves(&self, edge: &Edge) -> bool {
        self.pending(edge).next().is_some()
    }

    pub(super) fn pending<'a>(&'a self, edge: &'a Edge) -> impl Iterator<Item = (Val, Val)> + 'a {
        let params = &self.f.block(edge.block).params;
        params.iter().copied().zip(edge.args.iter().copied()).filter(|(p, a)| {
            self.needs[p.0 as usize]
                && !matches!(self.f.op(*a), Op::Undef)
                && !(self.needs[a.0 as usize] && self.registers.same(self.f, *p, *a))
        })
    }

    /// The moves that give a block its arguments: all at once in meaning, in a safe order in fact.
    pub(super) fn moves(&mut self, edge: &Edge) {
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
            self.line(format_args!("mov.{} {saved}, {target};", types::move_type(ty)));
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
                self.line(format_args!("mov.{} {target}, {saved};", types::move_type(ty)));
            }
        }
    }

    pub(super) fn move_to(&mut self, p: Val, a: Val) {
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
        self.line(format_args!("mov.{} {to}, {from};", types::move_type(ty)));
    }
}
