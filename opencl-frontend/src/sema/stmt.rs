//! Statements.

use super::analyzer::{Sema, SwitchState};
use super::convert::Purpose;
use super::hir::{Expr, ExprKind, LabelId, Stmt, StmtKind};
use crate::diag::{Code, Diag};
use crate::parse::ast::{self, AttributeArg};
use crate::source::Span;
use crate::symbol::Symbol;
use crate::types::{Scalar, TypeId};
use rustc_hash::FxHashMap;

impl Sema<'_> {
    /// The statements of a block, in the scope that is open.
    pub(super) fn block(&mut self, list: &[ast::Stmt]) -> Vec<Stmt> {
        if let Some(current) = self.current() {
            current.depth += 1;
        }
        let contract = self.context.contract;
        let mut out = Vec::new();
        for stmt in list {
            self.statement(stmt, &mut out);
        }
        self.context.contract = contract;
        if let Some(current) = self.current() {
            current.depth -= 1;
        }
        out
    }

    fn single(&mut self, stmt: &ast::Stmt) -> Stmt {
        let mut out = Vec::new();
        self.open_scope();
        self.statement(stmt, &mut out);
        self.close_scope();
        if out.len() == 1 && !matches!(out[0].kind, StmtKind::Declare(..)) {
            return out.remove(0);
        }
        Stmt { kind: StmtKind::Block(out), span: stmt.span }
    }

    fn condition(&mut self, e: &ast::Expr) -> Expr {
        if let ast::ExprKind::Assign(None, ..) = e.kind {
            let diag = Diag::warning(Code::UnusedValue, "an assignment as a condition")
                .help("write `==` to compare, or put parentheses around it");
            self.report(diag, e.span);
        }
        let value = self.value(e);
        self.truth(value)
    }

    fn statement(&mut self, stmt: &ast::Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        let kind = match &stmt.kind {
            ast::StmtKind::Expr(None) => return,
            ast::StmtKind::Expr(Some(e)) => {
                let value = self.expr(e);
                self.check_unused(&value, e);
                StmtKind::Expr(value)
            }
            ast::StmtKind::Decl(decl) => return self.declaration(decl, out),
            ast::StmtKind::Block(list) => {
                self.open_scope();
                let list = self.block(list);
                self.close_scope();
                StmtKind::Block(list)
            }
            ast::StmtKind::If(c, a, b) => {
                let condition = self.condition(c);
                let a = self.single(a);
                let b = b.as_ref().map(|b| Box::new(self.single(b)));
                StmtKind::If(condition, Box::new(a), b)
            }
            ast::StmtKind::While(..) | ast::StmtKind::DoWhile(..) | ast::StmtKind::For { .. } => {
                self.loop_statement(stmt, None)
            }
            ast::StmtKind::Unroll(n, inner) => match self.under_unroll(inner, *n) {
                Some(kind) => kind,
                None => {
                    self.warn(
                        Code::UnknownPragma,
                        span,
                        "#pragma unroll has no effect: no loop follows",
                    );
                    return self.statement(inner, out);
                }
            },
            ast::StmtKind::Attributed(attributes, inner) => {
                let mut unroll = None;
                for attribute in attributes {
                    if self.attribute_name(attribute) == "opencl_unroll_hint" {
                        unroll = Some(match attribute.args.as_slice() {
                            [AttributeArg::Expr(e)] => self
                                .integer_constant(e, "the unroll count")
                                .map_or(0, |v| v.clamp(0, 1 << 16) as u32),
                            _ => 0,
                        });
                    } else {
                        let message = format!(
                            "unknown attribute `{}` ignored",
                            self.attribute_name(attribute)
                        );
                        self.warn(Code::IgnoredAttribute, attribute.name.span, message);
                    }
                }
                match unroll.and_then(|n| self.under_unroll(inner, n)) {
                    Some(kind) => kind,
                    None => return self.statement(inner, out),
                }
            }
            ast::StmtKind::Switch(value, body) => self.switch(value, body),
            ast::StmtKind::Case(value, inner) => {
                let label = self.case(Some(value), span);
                if let Some(label) = label {
                    out.push(Stmt { kind: StmtKind::Label(label), span });
                }
                return self.statement(inner, out);
            }
            ast::StmtKind::Default(inner) => {
                let label = self.case(None, span);
                if let Some(label) = label {
                    out.push(Stmt { kind: StmtKind::Label(label), span });
                }
                return self.statement(inner, out);
            }
            ast::StmtKind::Label(name, inner) => {
                let id = self.label(name.sym, name.span, true);
                out.push(Stmt { kind: StmtKind::Label(id), span });
                return self.statement(inner, out);
            }
            ast::StmtKind::Goto(name) => StmtKind::Goto(self.label(name.sym, name.span, false)),
            ast::StmtKind::Break => {
                let inside = self.current().is_some_and(|c| c.loops > 0 || !c.switches.is_empty());
                if !inside {
                    return self.error(
                        Code::ControlFlow,
                        span,
                        "`break` outside of a loop or switch",
                    );
                }
                StmtKind::Break
            }
            ast::StmtKind::Continue => {
                let inside = self
                    .current()
                    .is_some_and(|c| c.loops > 0 || c.switches.iter().any(|s| s.loops > 0));
                if !inside {
                    return self.error(Code::ControlFlow, span, "`continue` outside of a loop");
                }
                StmtKind::Continue
            }
            ast::StmtKind::Return(value) => {
                let Some((result, name)) =
                    self.context.function.as_ref().map(|c| (c.result, c.name))
                else {
                    return;
                };
                match value {
                    None if result.id != TypeId::VOID => {
                        let message = format!("`{}` must return a value", self.text(name));
                        return self.error(Code::Conversion, span, message);
                    }
                    None => StmtKind::Return(None),
                    Some(e) => {
                        let value = self.value(e);
                        if result.id == TypeId::VOID {
                            if value.ty.id != TypeId::VOID && !self.types.is_error(value.ty.id) {
                                let message = format!(
                                    "`{}` returns void; it cannot return a value",
                                    self.text(name)
                                );
                                self.error(Code::Conversion, e.span, message);
                            }
                            out.push(Stmt { kind: StmtKind::Expr(value), span });
                            StmtKind::Return(None)
                        } else {
                            StmtKind::Return(Some(self.coerce(value, result, Purpose::Return)))
                        }
                    }
                }
            }
            ast::StmtKind::Asm(asm) => match self.asm(asm, span) {
                Some(kind) => kind,
                None => return,
            },
            ast::StmtKind::FpContract(on) => {
                self.context.contract = *on;
                return;
            }
        };
        out.push(Stmt { kind, span });
    }

    fn check_unused(&mut self, value: &Expr, e: &ast::Expr) {
        let idle = match &value.kind {
            ExprKind::Binary { .. }
            | ExprKind::Const(_)
            | ExprKind::Local(_)
            | ExprKind::Global(_) => true,
            ExprKind::Convert { value, .. } => matches!(value.kind, ExprKind::Binary { .. }),
            _ => false,
        };
        if idle && !matches!(e.kind, ast::ExprKind::Cast(..)) && !self.types.is_error(value.ty.id) {
            self.warn(Code::UnusedValue, e.span, "the value of this expression is not used");
        }
    }

    fn under_unroll(&mut self, stmt: &ast::Stmt, n: u32) -> Option<StmtKind> {
        match &stmt.kind {
            ast::StmtKind::While(..) | ast::StmtKind::DoWhile(..) | ast::StmtKind::For { .. } => {
                Some(self.loop_statement(stmt, Some(n)))
            }
            _ => None,
        }
    }

    fn loop_statement(&mut self, stmt: &ast::Stmt, unroll: Option<u32>) -> StmtKind {
        self.open_scope();
        let mut start = Vec::new();
        let (condition, step, body, test_first) = match &stmt.kind {
            ast::StmtKind::While(c, body) => (Some(self.condition(c)), None, body, true),
            ast::StmtKind::DoWhile(body, _) => (None, None, body, false),
            ast::StmtKind::For { init, condition, step, body } => {
                if let Some(init) = init {
                    self.statement(init, &mut start);
                }
                let condition = condition.as_ref().map(|c| self.condition(c));
                let step = step.as_ref().map(|s| self.expr(s));
                (condition, step, body, true)
            }
            _ => return StmtKind::Block(Vec::new()),
        };
        if let Some(current) = self.current() {
            current.loops += 1;
        }
        let body = self.single(body);
        if let Some(current) = self.current() {
            current.loops -= 1;
        }
        let condition = match &stmt.kind {
            ast::StmtKind::DoWhile(_, c) => Some(self.condition(c)),
            _ => condition,
        };
        self.close_scope();
        StmtKind::Loop { init: start, condition, step, body: Box::new(body), test_first, unroll }
    }

    fn switch(&mut self, value: &ast::Expr, body: &ast::Stmt) -> StmtKind {
        let value = self.value(value);
        let value = self.promote(value);
        let scalar = match self.types.scalar(value.ty.id).filter(|s| s.is_int()) {
            Some(s) => s,
            None => {
                if !self.types.is_error(value.ty.id) {
                    let name = self.value_type_name(value.ty);
                    self.error(
                        Code::Operands,
                        value.span,
                        format!("a switch needs an integer, not `{name}`"),
                    );
                }
                Scalar::I32
            }
        };
        if let Some(current) = self.current() {
            let loops = std::mem::take(&mut current.loops);
            current.switches.push(SwitchState {
                scalar,
                cases: Vec::new(),
                places: FxHashMap::default(),
                default: None,
                loops,
            });
        }
        let body = self.single(body);
        let state = self.current().and_then(|c| {
            let state = c.switches.pop();
            c.loops = state.as_ref().map_or(0, |s| s.loops);
            state
        });
        let (cases, default) = state.map(|s| (s.cases, s.default)).unwrap_or_default();
        StmtKind::Switch { value, cases, default, body: Box::new(body) }
    }

    fn case(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<LabelId> {
        let scalar = self.current().and_then(|c| c.switches.last().map(|s| s.scalar));
        let Some(scalar) = scalar else {
            let word = if value.is_some() { "case" } else { "default" };
            self.error(Code::ControlFlow, span, format!("`{word}` outside of a switch"));
            return None;
        };
        let constant = match value {
            Some(e) => Some((
                super::constant::wrap(scalar, self.integer_constant(e, "a case label")? as u64),
                e.span,
            )),
            None => None,
        };
        let label = self.fresh_label()?;
        let state = self.current()?.switches.last_mut()?;
        match constant {
            Some((bits, at)) => {
                let twice = state.places.get(&bits).copied();
                state.cases.push((bits, label));
                state.places.entry(bits).or_insert(at);
                if let Some(first) = twice {
                    let mut diag = Diag::error(
                        Code::ControlFlow,
                        format!("case {} occurs twice", bits as i64),
                    );
                    if let Some(place) = self.place(first) {
                        diag = diag.note(Some(place), "first here");
                    }
                    self.report(diag, at);
                }
            }
            None => {
                let twice = state.default.replace(label).is_some();
                if twice {
                    self.error(Code::ControlFlow, span, "more than one `default`");
                }
            }
        }
        Some(label)
    }

    fn fresh_label(&mut self) -> Option<LabelId> {
        let current = self.current()?;
        current.label_count += 1;
        Some(LabelId(current.label_count - 1))
    }

    fn label(&mut self, name: Symbol, span: Span, defines: bool) -> LabelId {
        let known = self.current().and_then(|c| c.labels.get(&name).copied());
        let (id, at, first) = match known {
            Some(known) => known,
            None => {
                let id = self.fresh_label().unwrap_or(LabelId(0));
                (id, None, span)
            }
        };
        if defines && at.is_some() {
            self.error(
                Code::Redefinition,
                span,
                format!("label `{}` is defined twice", self.text(name)),
            );
        }
        let at = if defines { Some(span) } else { at };
        if let Some(current) = self.current() {
            current.labels.insert(name, (id, at, first));
        }
        id
    }

    /// Every label that a goto names must exist.
    pub(super) fn check_labels(&mut self) {
        let missing: Vec<(Symbol, Span)> = self
            .current()
            .map(|c| {
                c.labels.iter().filter(|(_, l)| l.1.is_none()).map(|(n, l)| (*n, l.2)).collect()
            })
            .unwrap_or_default();
        for (name, span) in missing {
            self.error(
                Code::ControlFlow,
                span,
                format!("label `{}` does not exist", self.text(name)),
            );
        }
    }
}
