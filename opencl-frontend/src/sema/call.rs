//! Calls and overload resolution.

use super::analyzer::{Entity, Sema};
use super::convert::{Purpose, widens};
use super::hir::{Expr, ExprKind, FunctionId, Intrinsic};
use crate::diag::{Code, Diag};
use crate::intrinsic::{self, Operation};
use crate::library;
use crate::parse::ast;
use crate::source::Span;
use crate::symbol::Symbol;
use crate::types::{Access, QualType, Type, TypeId};

/// How well an argument fits a parameter; smaller is better.
type Cost = u8;

/// A scalar for a vector: it goes to all components. Clang, too, ranks that behind every other conversion.
const WIDENING: Cost = 3;

/// One way to call a function.
struct Fit {
    id: FunctionId,
    costs: Vec<Cost>,
    /// Components for a per-component call.
    lanes: u8,
}

impl Sema<'_> {
    pub(super) fn call(&mut self, callee: &ast::Expr, args: &[ast::Expr], span: Span) -> Expr {
        let name = match &callee.kind {
            ast::ExprKind::Name(name) => *name,
            ast::ExprKind::Paren(inner) => return self.call(inner, args, span),
            _ => {
                self.error(Code::Operands, callee.span, "only functions can be called");
                return self.error_expr(span);
            }
        };
        let values: Vec<Expr> = args.iter().map(|a| self.value(a)).collect();
        match self.lookup(name) {
            None | Some(Entity::Function) => {}
            Some(Entity::Local(_)) if values.iter().any(|v| self.types.is_error(v.ty.id)) => {
                return self.error_expr(span);
            }
            Some(entity) => {
                let is_error = match entity {
                    Entity::Local(id) => self
                        .context
                        .function
                        .as_ref()
                        .is_some_and(|f| f.locals[id.0 as usize].ty.id == TypeId::ERROR),
                    _ => false,
                };
                if !is_error {
                    self.error(
                        Code::Operands,
                        callee.span,
                        format!("`{}` is not a function", self.text(name)),
                    );
                }
                return self.error_expr(span);
            }
        }
        if values.iter().any(|v| self.types.is_error(v.ty.id)) {
            return self.error_expr(span);
        }
        if !self.is_own(name) {
            let text = self.text(name);
            if self.context.is_library
                && let Some(found) = intrinsic::find(&text)
            {
                return self.intrinsic_call(found.operation, values, span);
            }
            if let Some(value) = self.family(&text, &values, span) {
                return value;
            }
        }
        self.call_named(name, values, callee.span, span)
    }

    fn intrinsic_call(&mut self, operation: Operation, values: Vec<Expr>, span: Span) -> Expr {
        let ty = values.first().map_or(TypeId::UINT, |v| v.ty.id);
        let scalar = self.types.scalar(ty);
        let fits = values.len() == operation.arity()
            && values.iter().all(|v| v.ty.id == ty)
            && (values.is_empty() || scalar.is_some_and(|s| operation.takes(s)));
        if !fits {
            self.error(Code::Internal, span, "these operands do not fit the intrinsic");
            return self.error_expr(span);
        }
        let result = scalar.and_then(|s| operation.result(s));
        let ty = QualType::plain(result.map_or(TypeId::VOID, TypeId::from));
        Expr { kind: ExprKind::Intrinsic(Intrinsic::Named(operation), values), ty, span }
    }

    /// Calls a function of the program or the library by name.
    pub(super) fn call_named(
        &mut self,
        name: Symbol,
        values: Vec<Expr>,
        at: Span,
        span: Span,
    ) -> Expr {
        if !self.is_own(name) {
            self.load_half(name, &values);
        }
        let candidates = self.candidates(name);
        if candidates.is_empty() && self.session.failed_names.contains(&name) {
            return self.error_expr(span);
        }
        if candidates.is_empty() {
            let text = self.text(name);
            let sm = self.session.options.sm;
            if library::part_of(&text).is_some() && sm < 13 {
                let message = format!(
                    "`{text}` computes in double precision, which needs sm_13; the target is sm_{sm}"
                );
                self.error(Code::Extension, at, message);
                return self.error_expr(span);
            }
            let diag = self.undeclared(name, format!("function `{text}` is not declared"));
            self.report(diag, at);
            return self.error_expr(span);
        }
        if let [only] = candidates.as_slice()
            && self.functions[only.0 as usize].elementwise.is_none()
        {
            return self.direct_call(*only, values, at, span);
        }
        let fits: Vec<Fit> = candidates.iter().filter_map(|id| self.fit(*id, &values)).collect();
        let better = |a: &Fit, b: &Fit| {
            a.costs.iter().zip(&b.costs).all(|(x, y)| x <= y)
                && a.costs.iter().zip(&b.costs).any(|(x, y)| x < y)
        };
        let mut best: Vec<&Fit> =
            fits.iter().filter(|f| !fits.iter().any(|o| better(o, f))).collect();
        // A function that has no form for doubles must not compute in single precision unasked.
        if let [one] = best.as_slice()
            && one.lanes == 1
            && self.narrows(one.id, &values)
        {
            best.clear();
        }
        match best.as_slice() {
            [one] => {
                let (id, lanes) = (one.id, one.lanes);
                if lanes == 1 {
                    self.direct_call(id, values, at, span)
                } else {
                    self.lane_call(id, lanes, values, span)
                }
            }
            list => {
                let arguments: Vec<String> =
                    values.iter().map(|v| self.value_type_name(v.ty)).collect();
                let signature = format!("{}({})", self.text(name), arguments.join(", "));
                let shown: Vec<FunctionId> = if list.is_empty() {
                    candidates.clone()
                } else {
                    list.iter().map(|f| f.id).collect()
                };
                let message = if list.is_empty() {
                    format!("no function fits `{signature}`")
                } else {
                    format!("more than one function fits `{signature}`")
                };
                let mut diag = Diag::error(Code::Overload, message);
                for id in shown.iter().take(4) {
                    diag = diag.note(None, format!("candidate: {}", self.signature(*id)));
                }
                if shown.len() > 4 {
                    diag = diag.note(None, format!("and {} more", shown.len() - 4));
                }
                self.report(diag, at);
                self.error_expr(span)
            }
        }
    }

    fn signature(&self, id: FunctionId) -> String {
        let f = &self.functions[id.0 as usize];
        let params: Vec<String> = f.params.iter().map(|p| self.value_type_name(*p)).collect();
        let any = if f.elementwise.is_some() { " (per component)" } else { "" };
        format!(
            "{} {}({}){any}",
            self.value_type_name(f.result),
            self.session.names.text(f.name),
            params.join(", ")
        )
    }

    fn fit(&self, id: FunctionId, values: &[Expr]) -> Option<Fit> {
        let f = &self.functions[id.0 as usize];
        if f.params.len() != values.len() {
            return None;
        }
        let widths = || values.iter().filter_map(|v| self.types.lanes(v.ty.id)).map(|l| l.1);
        let lanes = if f.elementwise.is_some() { widths().max().unwrap_or(1) } else { 1 };
        let mut costs = Vec::with_capacity(values.len());
        for (i, (param, value)) in f.params.iter().zip(values).enumerate() {
            if lanes > 1 {
                // A pointer to a scalar takes a pointer to a vector: each component its own.
                if let Some(to) = self.types.pointee(param.id) {
                    let from = self.types.pointee(value.ty.id)?;
                    let (scalar, n) = self.types.lanes(from.id)?;
                    let fits = n == lanes
                        && from.space == to.space
                        && self.types.scalar(to.id) == Some(scalar)
                        && !from.constant;
                    if !fits {
                        return None;
                    }
                    costs.push(0);
                    continue;
                }
                let (scalar, n) = self.types.lanes(value.ty.id)?;
                let wanted = self.types.scalar(param.id)?;
                if n == lanes {
                    if scalar != wanted {
                        return None;
                    }
                    costs.push(0);
                    continue;
                }
                if n != 1 {
                    return None;
                }
                let may_stay = f.elementwise.is_some_and(|mask| mask >> i & 1 == 1);
                if !may_stay {
                    costs.push(WIDENING);
                    continue;
                }
            }
            costs.push(self.conversion_cost(value, *param)?);
        }
        Some(Fit { id, costs, lanes })
    }

    /// Whether a floating-point argument would lose precision in a call of `id`.
    fn narrows(&self, id: FunctionId, values: &[Expr]) -> bool {
        let params = &self.functions[id.0 as usize].params;
        let pairs = values.iter().zip(params);
        pairs.into_iter().any(|(value, param)| {
            match (self.types.get(value.ty.id), self.types.get(param.id)) {
                (Type::Scalar(a), Type::Scalar(b)) => {
                    a.is_float() && b.is_float() && a.rank() > b.rank()
                }
                _ => false,
            }
        })
    }

    fn conversion_cost(&self, value: &Expr, to: QualType) -> Option<Cost> {
        if value.ty.id == to.id {
            return Some(0);
        }
        match (self.types.get(value.ty.id), self.types.get(to.id)) {
            (Type::Scalar(a), Type::Scalar(b)) => {
                let promotes = (a.is_float() && b.is_float() && a.rank() < b.rank())
                    || (a.is_int() && a.rank() < 4 && to.id == TypeId::INT);
                Some(if promotes { 1 } else { 2 })
            }
            (Type::Pointer(a), Type::Pointer(b)) if a.space == b.space => {
                let qualifiers = (!a.constant || b.constant) && (!a.volatile || b.volatile);
                match () {
                    () if !qualifiers => None,
                    () if a.id == b.id => Some(1),
                    () if b.id == TypeId::VOID => Some(2),
                    () => None,
                }
            }
            (Type::Pointer(a), Type::Pointer(b)) if widens(a.space, b.space) => {
                let qualifiers = (!a.constant || b.constant) && (!a.volatile || b.volatile);
                (qualifiers && (a.id == b.id || b.id == TypeId::VOID)).then_some(2)
            }
            (Type::Image(a, Access::ReadWrite), Type::Image(b, _)) if a == b => Some(1),
            (_, Type::Pointer(_)) if value.is_null() => Some(2),
            (Type::Scalar(_), Type::Vector(..)) => Some(WIDENING),
            _ => None,
        }
    }

    fn note_call(&mut self, id: FunctionId, span: Span) {
        match self.current() {
            Some(current) => {
                current.calls.push((id, span));
                if let Some(body) = self.waiting.remove(&id) {
                    self.wanted.push(body);
                }
            }
            None => self.error(
                Code::NotConstant,
                span,
                "a function cannot be called in a constant expression",
            ),
        }
    }

    fn direct_call(&mut self, id: FunctionId, values: Vec<Expr>, at: Span, span: Span) -> Expr {
        let f = &self.functions[id.0 as usize];
        let (params, result) = (f.params.clone(), f.result);
        if params.len() != values.len() {
            let message = format!(
                "`{}` takes {} arguments, {} given",
                self.text(f.name),
                params.len(),
                values.len()
            );
            let mut diag = Diag::error(Code::Arguments, message);
            diag = diag.note(None, format!("declared as: {}", self.signature(id)));
            self.report(diag, at);
            return self.error_expr(span);
        }
        let mut failed = false;
        let mut converted = Vec::with_capacity(values.len());
        for (value, param) in values.into_iter().zip(params) {
            let value = self.coerce(value, param, Purpose::Argument);
            failed |= self.types.is_error(value.ty.id);
            converted.push(value);
        }
        if failed {
            return self.error_expr(span);
        }
        self.note_call(id, span);
        Expr { kind: ExprKind::Call(id, converted), ty: result.value(), span }
    }

    fn lane_call(&mut self, id: FunctionId, lanes: u8, values: Vec<Expr>, span: Span) -> Expr {
        let f = &self.functions[id.0 as usize];
        let (params, result) = (f.params.clone(), f.result);
        let mut converted = Vec::with_capacity(values.len());
        for (value, param) in values.into_iter().zip(params) {
            if self.types.pointee(param.id).is_some() {
                let at = value.span;
                let kind = ExprKind::Bitcast(Box::new(value));
                converted.push(Expr { kind, ty: param.value(), span: at });
                continue;
            }
            let one = self.types.lanes(value.ty.id).is_some_and(|l| l.1 == 1);
            converted.push(if one { self.coerce(value, param, Purpose::Argument) } else { value });
        }
        let Some(scalar) = self.types.scalar(result.id) else { return self.error_expr(span) };
        let ty = QualType::plain(self.types.vector(scalar, lanes));
        self.note_call(id, span);
        Expr { kind: ExprKind::CallPerLane(id, converted), ty, span }
    }

    /// Calls a function of the library that the language does not name.
    pub(super) fn call_library(&mut self, name: &str, values: Vec<Expr>, span: Span) -> Expr {
        let sym = self.session.names.intern(name);
        self.load_library(sym);
        self.load_half(sym, &values);
        let candidates = self.library.get(&sym).cloned().unwrap_or_default();
        let fits: Vec<Fit> = candidates.iter().filter_map(|id| self.fit(*id, &values)).collect();
        match fits.iter().min_by_key(|f| f.costs.iter().map(|c| u32::from(*c)).sum::<u32>()) {
            Some(best) if best.lanes == 1 => self.direct_call(best.id, values, span, span),
            Some(best) => self.lane_call(best.id, best.lanes, values, span),
            None => {
                let shown = name.trim_start_matches("__t_").trim_start_matches('_').to_string();
                let arguments: Vec<String> =
                    values.iter().map(|v| self.value_type_name(v.ty)).collect();
                self.error(
                    Code::Overload,
                    span,
                    format!("no function fits `{shown}({})`", arguments.join(", ")),
                );
                self.error_expr(span)
            }
        }
    }
}
