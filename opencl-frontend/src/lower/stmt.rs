//! Statements.

use super::state::{Lower, MAX_LOOPS, Refused, Targets, Value};
use crate::ir::{BlockId, Cmp, Edge, Op, Term, Ty};
use crate::sema::hir::{Expr, LabelId, Stmt, StmtKind};

impl Lower<'_> {
    pub(super) fn statements(&mut self, list: &[Stmt]) {
        for stmt in list {
            if self.refused.is_some() {
                return;
            }
            self.statement(stmt);
        }
    }

    fn label(&mut self, id: LabelId) -> BlockId {
        let frame = self.frames.last_mut().expect("a function is being lowered");
        if let Some(&b) = frame.labels.get(&id) {
            return b;
        }
        let b = self.f.new_block();
        self.frames.last_mut().expect("a function is being lowered").labels.insert(id, b);
        b
    }

    fn condition(&mut self, e: &Expr) -> crate::ir::Val {
        match self.value(e) {
            Value::Lanes(lanes) => lanes[0],
            Value::None | Value::Memory(_) => self.constant(Ty::Pred, 0),
        }
    }

    /// After a jump: what follows can only be reached through a label.
    fn dead(&mut self) {
        let b = self.f.new_block();
        self.switch_to(b);
    }

    fn statement(&mut self, stmt: &Stmt) {
        self.set_location(stmt.span);
        match &stmt.kind {
            StmtKind::Expr(e) => {
                self.effect(e);
            }
            StmtKind::Declare(id, init) => {
                let private = self.private_of(*id);
                if let Some(init) = init {
                    let place = self.private_ref(private);
                    self.initialize(place, init);
                }
                self.declare(*id, private, false);
            }
            StmtKind::Block(list) => {
                let scope = self.scope;
                self.open_block(list);
                self.statements(list);
                self.scope = scope;
            }
            StmtKind::If(c, a, b) => {
                let (yes, after) = (self.f.new_block(), self.f.new_block());
                let no = if b.is_some() { self.f.new_block() } else { after };
                self.branch_on(c, yes, no);
                self.switch_to(yes);
                self.statement(a);
                self.jump(after);
                if let Some(b) = b {
                    self.switch_to(no);
                    self.statement(b);
                    self.jump(after);
                }
                self.switch_to(after);
            }
            StmtKind::Loop { init, condition, step, body, test_first, unroll } => {
                let scope = self.scope;
                self.open_block(init);
                self.statements(init);
                self.back_at(stmt.span);
                let (top, next, after) =
                    (self.f.new_block(), self.f.new_block(), self.f.new_block());
                // The test stands before the loop and again at its end: one branch per turn.
                match condition {
                    Some(c) if *test_first => self.branch_on(c, top, after),
                    _ => self.jump(top),
                }
                self.f.block_mut(top).unroll = *unroll;
                self.switch_to(top);
                self.targets.push(Targets { on_break: after, on_continue: Some(next) });
                self.loops += 1;
                if self.loops > MAX_LOOPS {
                    self.refused = Some(Refused::Loops);
                    return;
                }
                self.statement(body);
                self.loops -= 1;
                self.targets.pop();
                self.jump(next);
                self.switch_to(next);
                self.back_at(stmt.span);
                if let Some(step) = step {
                    self.effect(step);
                }
                match condition {
                    Some(c) => self.branch_on(c, top, after),
                    None => self.jump(top),
                }
                self.switch_to(after);
                self.scope = scope;
            }
            StmtKind::Switch { value, cases, default, body } => {
                let v = match self.value(value) {
                    Value::Lanes(lanes) => lanes[0],
                    _ => return,
                };
                let after = self.f.new_block();
                let default = default.map_or(after, |d| self.label(d));
                let signed = self.program.types.scalar(value.ty.id).is_some_and(|s| s.is_signed());
                let mut sorted: Vec<(u64, BlockId)> =
                    cases.iter().map(|(k, l)| (*k, self.label(*l))).collect();
                sorted.sort_by_key(|(k, _)| if signed { *k ^ 1 << 63 } else { *k });
                self.decide(v, &sorted, default, signed);
                self.dead();
                let on_continue = self.targets.last().and_then(|t| t.on_continue);
                self.targets.push(Targets { on_break: after, on_continue });
                self.statement(body);
                self.targets.pop();
                self.jump(after);
                self.switch_to(after);
            }
            StmtKind::Label(id) => {
                let b = self.label(*id);
                self.jump(b);
                self.switch_to(b);
            }
            StmtKind::Goto(id) => {
                let b = self.label(*id);
                self.jump(b);
                self.dead();
            }
            StmtKind::Break => {
                if let Some(b) = self.targets.last().map(|t| t.on_break) {
                    self.jump(b);
                    self.dead();
                }
            }
            StmtKind::Continue => {
                if let Some(b) = self.targets.last().and_then(|t| t.on_continue) {
                    self.jump(b);
                    self.dead();
                }
            }
            StmtKind::Asm { text, outputs, inputs } => self.assembly(text, outputs, inputs),
            StmtKind::Return(value) => self.leave_function(value.as_ref()),
        }
    }

    /// `return`, with its value.
    fn leave_function(&mut self, value: Option<&Expr>) {
        let exit = self.frames.last().and_then(|f| f.exit);
        let stored = value.map(|e| (e.ty, self.value(e)));
        match exit {
            Some((block, private)) => {
                if let (Some(private), Some((ty, value))) = (private, stored) {
                    let place = self.private_ref(private);
                    self.store(place, ty, value);
                }
                self.jump(block);
            }
            None => self.terminate(Term::Return),
        }
        self.dead();
    }

    /// A tree of comparisons over the sorted cases.
    fn decide(
        &mut self,
        v: crate::ir::Val,
        cases: &[(u64, BlockId)],
        default: BlockId,
        signed: bool,
    ) {
        let ty = self.f.ty(v);
        if cases.len() <= 3 {
            for (k, target) in cases {
                let k = self.constant(ty, *k);
                let c = self.emit(Op::Cmp(Cmp::Eq, v, k), Ty::Pred);
                let next = self.f.new_block();
                self.branch(c, *target, next);
                self.switch_to(next);
            }
            return self.terminate(Term::Jump(Edge::to(default)));
        }
        let (low, high) = cases.split_at(cases.len() / 2);
        let pivot = self.constant(ty, high[0].0);
        let c = self.emit(Op::Cmp(if signed { Cmp::SLt } else { Cmp::ULt }, v, pivot), Ty::Pred);
        let (below, above) = (self.f.new_block(), self.f.new_block());
        self.branch(c, below, above);
        self.switch_to(below);
        self.decide(v, low, default, signed);
        self.switch_to(above);
        self.decide(v, high, default, signed);
    }

    /// Branches on a condition; `&&`, `||` and `!` become control flow.
    pub(super) fn branch_on(&mut self, e: &Expr, yes: BlockId, no: BlockId) {
        use crate::sema::hir::ExprKind::*;
        match &e.kind {
            LogicalAnd(a, b) => {
                let middle = self.f.new_block();
                self.branch_on(a, middle, no);
                self.switch_to(middle);
                self.branch_on(b, yes, no);
            }
            LogicalOr(a, b) => {
                let middle = self.f.new_block();
                self.branch_on(a, yes, middle);
                self.switch_to(middle);
                self.branch_on(b, yes, no);
            }
            LogicalNot(a) => self.branch_on(a, no, yes),
            _ => {
                let c = self.condition(e);
                self.branch(c, yes, no);
            }
        }
    }
}
