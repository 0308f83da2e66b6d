//! Statements of a function body.

use ptx_isa::syntax::Form;
use ptx_isa::{Space, Ty};

use super::Verifier;
use super::opcode::{self, Opcode};
use super::operand::Misfit;
use super::scope::Def;
use crate::ast::{self, DeclSpace, DirectiveKind, FnKind, Stmt, Var};
use crate::diag::{Code, Diag};
use crate::module::{Inst, Loc, Reg};
use crate::span::Span;

impl Verifier<'_, '_> {
    pub(super) fn function_body(&mut self, f: &ast::Function, run: ast::Run) {
        let ast = self.ast;
        self.scopes.open();
        let mut index = 0;
        for (vars, ret) in [(f.returns, true), (f.params, false)] {
            for (i, var) in ast.vars(vars).iter().enumerate() {
                let def = if var.space == DeclSpace::Reg {
                    let Some(ty) = var.ty.and_then(|w| Ty::from_token(ast.name(w.name))) else {
                        continue;
                    };
                    let id = self.new_reg(ast.name(var.name.name), ty);
                    let func = &mut self.module.functions[self.func as usize];
                    let list = if ret { &mut func.rets } else { &mut func.params };
                    if let Some(p) = list.get_mut(i) {
                        p.reg = Some(id);
                    }
                    Def::Reg(id)
                } else {
                    Def::Param(index)
                };
                index += 1;
                self.declare(var.name, def);
            }
        }
        let stmts = ast.stmts(run);
        self.labels(stmts);
        let mut loc = None;
        for (i, s) in stmts.iter().enumerate() {
            match *s {
                Stmt::Instr(n) => self.instruction(ast.instr(n), loc),
                Stmt::Label(w) => self.place_label(ast.label(w)),
                Stmt::Var(v) => self.body_var(ast.var(v)),
                Stmt::Directive(d) => {
                    let d = ast.directive(d);
                    if d.kind == DirectiveKind::Loc
                        && let [file, line, column, ..] = *ast.ints(d.ints)
                    {
                        loc = Some(self.body.locs.len() as u32);
                        self.body.locs.push(Loc {
                            file: file as u32,
                            line: line as u32,
                            column: column as u32,
                        });
                    }
                }
                Stmt::Prototype(p) => {
                    let p = ast.function(p);
                    if p.kind != FnKind::Prototype {
                        self.inner_declaration(p);
                    }
                }
                Stmt::Open(_) => {
                    self.scopes.open();
                    self.labels(&stmts[i + 1..]);
                }
                Stmt::Close(_) => self.scopes.close(),
            }
        }
        self.scopes.close();
        self.end_labels();
    }

    /// A function declared inside a body is known to the whole module.
    fn inner_declaration(&mut self, f: &ast::Function) {
        let (func, body) = (self.func, std::mem::take(&mut self.body));
        self.function(f);
        self.func = func;
        self.body = body;
    }

    fn new_reg(&mut self, name: &str, ty: Ty) -> u32 {
        self.body.regs.push(Reg { name: name.into(), number: None, ty });
        self.body.regs.len() as u32 - 1
    }

    fn declare(&mut self, word: ast::Word, def: Def) {
        let ast = self.ast;
        let span = ast.word_span(word);
        if ast.name(word.name) == "_" {
            return;
        }
        if let Some(first) = self.scopes.declare(word.name, def, span) {
            self.duplicate(span, ast.name(word.name), Some(first));
        }
    }

    /// Declares the labels, tables and prototypes of the block that begins with `stmts`: they are
    /// known before they stand there.
    fn labels(&mut self, stmts: &[Stmt]) {
        let ast = self.ast;
        let mut depth = 0;
        for (i, s) in stmts.iter().enumerate() {
            match *s {
                Stmt::Open(_) => depth += 1,
                Stmt::Close(_) if depth == 0 => break,
                Stmt::Close(_) => depth -= 1,
                Stmt::Label(w) if depth == 0 => {
                    let word = ast.label(w);
                    let def = match stmts.get(i + 1) {
                        Some(Stmt::Directive(d))
                            if ast.directive(*d).kind == DirectiveKind::BranchTargets =>
                        {
                            self.body.branch_targets.push(Vec::new());
                            Def::BranchTable(self.body.branch_targets.len() as u32 - 1)
                        }
                        Some(Stmt::Directive(d))
                            if ast.directive(*d).kind == DirectiveKind::CallTargets =>
                        {
                            let targets = self.call_targets(ast.directive(*d));
                            self.body.call_targets.push(targets);
                            Def::CallTable(self.body.call_targets.len() as u32 - 1)
                        }
                        Some(Stmt::Prototype(p)) if ast.function(*p).kind == FnKind::Prototype => {
                            let proto = self.prototype(ast.function(*p));
                            self.body.prototypes.push(proto);
                            Def::Prototype(self.body.prototypes.len() as u32 - 1)
                        }
                        _ => {
                            // The place is filled in when the statement is reached.
                            self.body.labels.push((ast.name(word.name).to_string(), u32::MAX));
                            Def::Label(self.body.labels.len() as u32 - 1)
                        }
                    };
                    self.declare(word, def);
                }
                _ => {}
            }
        }
        self.fill_branch_tables(stmts);
    }

    /// `.branchtargets` name labels of their own block or an outer one.
    fn fill_branch_tables(&mut self, stmts: &[Stmt]) {
        let ast = self.ast;
        let mut depth = 0;
        for (i, s) in stmts.iter().enumerate() {
            match *s {
                Stmt::Open(_) => depth += 1,
                Stmt::Close(_) if depth == 0 => break,
                Stmt::Close(_) => depth -= 1,
                Stmt::Label(w) if depth == 0 => {
                    let word = ast.label(w);
                    let Some(Stmt::Directive(d)) = stmts.get(i + 1) else { continue };
                    let d = ast.directive(*d);
                    if d.kind != DirectiveKind::BranchTargets {
                        continue;
                    }
                    let Def::BranchTable(t) = self.scopes.find(ast, word.name, &mut self.body.regs)
                    else {
                        continue;
                    };
                    let mut out = Vec::new();
                    for target in ast.words(d.words) {
                        self.branch_target(*target, &mut out);
                    }
                    self.body.branch_targets[t as usize] = out;
                }
                _ => {}
            }
        }
    }

    fn branch_target(&mut self, word: ast::Word, out: &mut Vec<u32>) {
        let ast = self.ast;
        let text = ast.name(word.name);
        let names: Vec<Option<crate::Name>> = match word.number {
            0 => vec![Some(word.name)],
            n => (0..n).map(|i| ast.names().find(ast.source(), &format!("{text}{i}"))).collect(),
        };
        for name in names {
            match name.map(|n| self.scopes.find(ast, n, &mut self.body.regs)) {
                Some(Def::Label(l)) => out.push(l),
                _ => {
                    let text = format!("there is no label `{text}` in this function or block");
                    self.error(Code::Label, ast.word_span(word), text);
                }
            }
        }
    }

    fn call_targets(&mut self, d: &ast::Directive) -> Vec<u32> {
        let ast = self.ast;
        let mut out = Vec::new();
        for w in ast.words(d.words) {
            match self.scopes.module.get(w.name.index()) {
                Some(Def::Func(f)) => out.push(*f),
                _ => {
                    let d = self.unknown_name(ast.word_span(*w), w.name);
                    self.diags.push(*d);
                }
            }
        }
        out
    }

    fn place_label(&mut self, word: ast::Word) {
        let ast = self.ast;
        if let Def::Label(l) = self.scopes.find(ast, word.name, &mut self.body.regs) {
            let at = self.body.insts.len() as u32;
            let label = &mut self.body.labels[l as usize];
            if label.1 == u32::MAX {
                label.1 = at;
            }
        }
    }

    /// Labels of broken statements would stay without a place.
    fn end_labels(&mut self) {
        let end = self.body.insts.len() as u32;
        for (_, at) in &mut self.body.labels {
            *at = (*at).min(end);
        }
    }

    /// A register or variable declared in a body.
    fn body_var(&mut self, var: &Var) {
        if var.space == DeclSpace::Reg {
            return self.registers(var);
        }
        let space = match var.space {
            DeclSpace::Local => Space::Local,
            DeclSpace::Shared => Space::Shared,
            DeclSpace::Param => Space::ParamFunc,
            DeclSpace::Global => Space::Global,
            DeclSpace::Const => Space::Const,
            _ => {
                return self.error(
                    Code::Space,
                    var.span,
                    "this cannot be declared inside a function",
                );
            }
        };
        let Some(symbol) = self.variable(var, space) else { return };
        let def = if matches!(space, Space::Global | Space::Const) {
            // Lives as long as the module.
            self.module.symbols.push(symbol);
            Def::Symbol(self.module.symbols.len() as u32 - 1)
        } else {
            self.body.vars.push(symbol);
            Def::Var(self.body.vars.len() as u32 - 1)
        };
        self.declare(var.name, def);
    }

    fn registers(&mut self, var: &Var) {
        let ast = self.ast;
        let Some(ty) = self.declared_type(var) else { return };
        if var.dims.count > 0 {
            return self.error(
                Code::Declaration,
                var.span,
                "registers cannot be arrays; write `%r<8>` for several",
            );
        }
        if let Some(count) = var.numbered {
            if var.vector > 0 {
                return self.error(
                    Code::Declaration,
                    var.span,
                    "numbered registers cannot be vectors",
                );
            }
            return self.scopes.declare_numbered(ast, var.name.name, count, ty);
        }
        let name = ast.name(var.name.name);
        let def = if var.vector > 0 {
            let first = self.body.regs.len() as u32;
            for c in ["x", "y", "z", "w"].iter().take(var.vector as usize) {
                self.new_reg(&format!("{name}.{c}"), ty);
            }
            Def::RegVector(first, var.vector as u8)
        } else {
            Def::Reg(self.new_reg(name, ty))
        };
        self.declare(var.name, def);
    }

    fn instruction(&mut self, instr: &ast::Instr, loc: Option<u32>) {
        let ast = self.ast;
        let guard = instr.guard().and_then(|g| self.guard(instr, g));
        let range = match &self.opcodes[instr.opcode.index()] {
            Opcode::Known(r) => r.clone(),
            Opcode::Unknown => {
                let text = ast.name(instr.opcode);
                let found = opcode::look_up(
                    text,
                    self.module.info,
                    &mut self.module.matches,
                    &mut self.candidates,
                );
                self.opcodes[instr.opcode.index()] = found;
                return self.instruction(instr, loc);
            }
            Opcode::Bad(why) => {
                let d = opcode::no_match(ast.name(instr.opcode), instr.start, why);
                self.diags.push(d);
                return;
            }
        };
        let pool = self.body.operands.len();
        let mut worst: Option<(usize, Misfit)> = None;
        let mut forbidden: Option<u32> = None;
        for c in range.clone() {
            let candidate = self.candidates[c as usize].clone();
            let m = candidate.m.clone();
            let is_call = m.shape.slots.first().is_some_and(|s| s.form == Form::Args);
            let outcome = if is_call {
                self.call(instr).map_err(|d| (0, d)).map(|op| {
                    self.body.operands.push(op);
                    let n = self.body.operands.len() as u32;
                    n - 1..n
                })
            } else {
                self.operands(&candidate, &m, instr)
            };
            match outcome {
                Ok(operands) if candidate.forbidden.is_none() => {
                    return self.push_inst(candidate.index, guard, operands, instr, loc);
                }
                Ok(_) => {
                    forbidden.get_or_insert(c);
                }
                Err((depth, d)) => {
                    self.body.operands.truncate(pool);
                    if worst.as_ref().is_none_or(|w| depth > w.0) {
                        worst = Some((depth, d));
                    }
                }
            }
        }
        if let Some(c) = forbidden {
            if let Some((code, message, help)) = self.candidates[c as usize].forbidden.clone() {
                let mut d = Diag::error(code, ast.opcode_span(instr), message);
                d.help(help);
                self.diags.push(d);
            }
        } else if let Some((_, d)) = worst {
            self.diags.push(*d);
        }
    }

    fn push_inst(
        &mut self,
        opcode: u32,
        guard: Option<(u32, bool)>,
        operands: std::ops::Range<u32>,
        instr: &ast::Instr,
        loc: Option<u32>,
    ) {
        let span = instr.span();
        self.body.insts.push(Inst { opcode, guard, operands, span: span.start..span.end, loc });
    }

    fn guard(&mut self, instr: &ast::Instr, g: ast::Guard) -> Option<(u32, bool)> {
        let ast = self.ast;
        let span = ast.guard_span(instr);
        match self.scopes.find(ast, g.name, &mut self.body.regs) {
            Def::Reg(r) if self.body.regs[r as usize].ty == Ty::Pred => Some((r, g.negated)),
            Def::Reg(r) => {
                let t = self.body.regs[r as usize].ty;
                let text = format!("a guard is a predicate register; this one is declared `{t}`");
                self.error(Code::Guard, span, text);
                None
            }
            Def::None => {
                let d = self.unknown_name(Span::new(span.start + 1, span.end), g.name);
                self.diags.push(*d);
                None
            }
            _ => {
                self.error(Code::Guard, span, "a guard is a predicate register");
                None
            }
        }
    }
}
