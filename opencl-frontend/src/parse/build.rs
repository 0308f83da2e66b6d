//! Constructors that the grammar's actions call.

use super::ast::*;
use super::{UserError, limits};
use crate::source::Span;
use crate::symbol::Symbol;
use lalrpop_util::ParseError;

use super::Tok;

pub type Fallible<T> = Result<T, ParseError<u32, Tok, UserError>>;

/// Tokens from `l` up to `r`.
pub fn span(l: u32, r: u32) -> Span {
    Span { first: l, last: r.saturating_sub(1).max(l) }
}

fn height(span: Span, children: &[u16]) -> Fallible<u16> {
    let depth = children.iter().max().copied().unwrap_or(0) + 1;
    if depth > limits::TREE {
        return Err(ParseError::User { error: UserError::TooDeep(span.first) });
    }
    Ok(depth)
}

/// A leaf.
pub fn leaf(kind: ExprKind, l: u32, r: u32) -> Expr {
    Expr { kind, span: span(l, r), depth: 1 }
}

fn node(kind: ExprKind, l: u32, r: u32, children: &[u16]) -> Fallible<Expr> {
    let span = span(l, r);
    Ok(Expr { depth: height(span, children)?, kind, span })
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Fallible<Expr> {
    let span = a.span.to(b.span);
    let depth = height(span, &[a.depth, b.depth])?;
    Ok(Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), span, depth })
}

/// Operands with the operator behind each: those that wait for one of higher precedence, lowest first.
#[derive(Default)]
pub struct Operators {
    waiting: Vec<(Expr, BinaryOp)>,
}

impl Operators {
    /// The next operand and operator.
    pub fn then(mut self, operand: Expr, op: BinaryOp) -> Fallible<Operators> {
        let left = self.reduced(operand, op.precedence())?;
        self.waiting.push((left, op));
        Ok(self)
    }

    /// The last operand.
    pub fn end(mut self, operand: Expr) -> Fallible<Expr> {
        self.reduced(operand, 0)
    }

    /// Joins what binds at least as tightly.
    fn reduced(&mut self, mut right: Expr, precedence: u8) -> Fallible<Expr> {
        while let Some((left, op)) = self.waiting.pop_if(|w| w.1.precedence() >= precedence) {
            right = binary(op, left, right)?;
        }
        Ok(right)
    }
}

pub fn assign(op: Option<BinaryOp>, a: Expr, b: Expr, l: u32, r: u32) -> Fallible<Expr> {
    let children = [a.depth, b.depth];
    node(ExprKind::Assign(op, Box::new(a), Box::new(b)), l, r, &children)
}

pub fn comma(a: Expr, b: Expr, l: u32, r: u32) -> Fallible<Expr> {
    let children = [a.depth, b.depth];
    node(ExprKind::Comma(Box::new(a), Box::new(b)), l, r, &children)
}

pub fn conditional(c: Expr, a: Expr, b: Expr, l: u32, r: u32) -> Fallible<Expr> {
    let children = [c.depth, a.depth, b.depth];
    node(ExprKind::Conditional(Box::new(c), Box::new(a), Box::new(b)), l, r, &children)
}

pub fn unary(op: UnaryOp, a: Expr, l: u32, r: u32) -> Fallible<Expr> {
    let children = [a.depth];
    node(ExprKind::Unary(op, Box::new(a)), l, r, &children)
}

/// A node around one expression.
pub fn wrap(kind: impl FnOnce(Box<Expr>) -> ExprKind, a: Expr, l: u32, r: u32) -> Fallible<Expr> {
    let children = [a.depth];
    node(kind(Box::new(a)), l, r, &children)
}

pub fn call(f: Expr, args: Vec<Expr>, l: u32, r: u32) -> Fallible<Expr> {
    let depth = args.iter().map(|a| a.depth).max().unwrap_or(0).max(f.depth);
    node(ExprKind::Call(Box::new(f), args), l, r, &[depth])
}

pub fn index(a: Expr, i: Expr, l: u32, r: u32) -> Fallible<Expr> {
    let children = [a.depth, i.depth];
    node(ExprKind::Index(Box::new(a), Box::new(i)), l, r, &children)
}

/// `({ … })`
pub fn statements(list: Vec<Stmt>, l: u32, r: u32) -> Fallible<Expr> {
    let depth = list.iter().map(|s| s.depth).max().unwrap_or(0);
    node(ExprKind::Statements(list), l, r, &[depth])
}

pub fn statement(kind: StmtKind, l: u32, r: u32) -> Fallible<Stmt> {
    let span = span(l, r);
    let below = match &kind {
        StmtKind::Block(list) => list.iter().map(|s| s.depth).max().unwrap_or(0),
        StmtKind::If(_, a, b) => a.depth.max(b.as_ref().map_or(0, |b| b.depth)),
        StmtKind::While(_, s)
        | StmtKind::DoWhile(s, _)
        | StmtKind::Switch(_, s)
        | StmtKind::Case(_, s)
        | StmtKind::Default(s)
        | StmtKind::Label(_, s)
        | StmtKind::Unroll(_, s)
        | StmtKind::Attributed(_, s)
        | StmtKind::For { body: s, .. } => s.depth,
        StmtKind::Expr(_)
        | StmtKind::Decl(_)
        | StmtKind::Goto(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::FpContract(_)
        | StmtKind::Asm(_) => 0,
    };
    Ok(Stmt { depth: height(span, &[below])?, kind, span })
}

pub fn keyword(sym: Symbol, l: u32, r: u32) -> Specifier {
    Specifier { kind: SpecifierKind::Keyword(sym), span: span(l, r) }
}

/// Appends to a list and hands it on.
pub fn pushed<T>(mut list: Vec<T>, item: T) -> Vec<T> {
    list.push(item);
    list
}

/// Names of a function's parameters.
pub fn parameter_names(declarator: &Declarator) -> Vec<Symbol> {
    declarator
        .params()
        .into_iter()
        .flatten()
        .filter_map(|p| p.declarator.name())
        .map(|n| n.sym)
        .collect()
}
