//! `#if` expressions (C99 6.10.1): 64-bit integers, signed unless a `u` suffix makes them unsigned.

use super::lex::{PpKind, PpTok};
use super::state::Preprocessor;
use crate::diag::Code;
use crate::parse::literal;
use crate::symbol::fixed;

#[derive(Clone, Copy)]
struct Value {
    bits: u64,
    unsigned: bool,
}

impl Value {
    fn of(truth: bool) -> Value {
        Value { bits: u64::from(truth), unsigned: false }
    }
}

struct Parser<'t> {
    tokens: &'t [PpTok],
    next: usize,
    depth: usize,
}

type Eval = Result<Value, (Option<PpTok>, &'static str)>;

impl Preprocessor<'_> {
    /// Evaluates the condition of `#if` or `#elif`.
    pub(super) fn condition(&mut self, directive: PpTok, line: &[PpTok]) -> bool {
        let mut resolved = Vec::with_capacity(line.len());
        let mut i = 0;
        while i < line.len() {
            let token = line[i];
            i += 1;
            if token.kind != PpKind::Ident || token.sym != fixed::DEFINED {
                resolved.push(token);
                continue;
            }
            let paren = line.get(i).is_some_and(|t| t.is(fixed::LPAREN));
            let name = line.get(i + usize::from(paren)).filter(|t| t.kind == PpKind::Ident);
            let closed = !paren || line.get(i + 2).is_some_and(|t| t.is(fixed::RPAREN));
            let Some(name) = name.filter(|_| closed) else {
                self.error(Code::Directive, token, "`defined` needs a macro name");
                return false;
            };
            let sym = if self.find_macro(name.sym).is_some() { fixed::ONE } else { fixed::ZERO };
            resolved.push(PpTok { kind: PpKind::Number, sym, ..token });
            i += if paren { 3 } else { 1 };
        }
        let tokens = self.expand_list(resolved.into());
        let mut parser = Parser { tokens: &tokens, next: 0, depth: 0 };
        let result = parser.ternary(self, true).and_then(|v| match parser.peek() {
            None => Ok(v),
            Some(t) => Err((Some(t), "unexpected token in a preprocessor condition")),
        });
        match result {
            Ok(value) => value.bits != 0,
            Err((at, message)) => {
                self.error(Code::Directive, at.unwrap_or(directive), message);
                false
            }
        }
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<PpTok> {
        self.tokens.get(self.next).copied()
    }

    fn eat(&mut self, symbol: crate::symbol::Symbol) -> bool {
        let found = self.peek().is_some_and(|t| t.is(symbol));
        self.next += usize::from(found);
        found
    }

    fn ternary(&mut self, pp: &Preprocessor<'_>, live: bool) -> Eval {
        self.depth += 1;
        if self.depth > 200 {
            return Err((self.peek(), "this condition is nested too deeply"));
        }
        let condition = self.binary(pp, 0, live)?;
        let value = if self.eat(fixed::QUESTION) {
            let yes = self.ternary(pp, live && condition.bits != 0)?;
            if !self.eat(fixed::COLON) {
                return Err((self.peek(), "`?` without `:`"));
            }
            let no = self.ternary(pp, live && condition.bits == 0)?;
            let unsigned = yes.unsigned || no.unsigned;
            Value { unsigned, ..if condition.bits != 0 { yes } else { no } }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, pp: &Preprocessor<'_>, min: u8, live: bool) -> Eval {
        let mut left = self.unary(pp, live)?;
        while let Some(op) = self.peek().filter(|t| t.kind == PpKind::Punct) {
            let level = match op.sym {
                fixed::OROR => 1,
                fixed::ANDAND => 2,
                fixed::PIPE => 3,
                fixed::CARET => 4,
                fixed::AMP => 5,
                fixed::EQEQ | fixed::NE => 6,
                fixed::LT | fixed::GT | fixed::LE | fixed::GE => 7,
                fixed::SHL | fixed::SHR => 8,
                fixed::PLUS | fixed::MINUS => 9,
                fixed::STAR | fixed::SLASH | fixed::PERCENT => 10,
                _ => break,
            };
            if level <= min {
                break;
            }
            self.next += 1;
            let right_live = match op.sym {
                fixed::OROR => live && left.bits == 0,
                fixed::ANDAND => live && left.bits != 0,
                _ => live,
            };
            let right = self.binary(pp, level, right_live)?;
            left = apply(op, left, right, live)?;
        }
        Ok(left)
    }

    fn unary(&mut self, pp: &Preprocessor<'_>, live: bool) -> Eval {
        let Some(token) = self.peek() else { return Err((None, "the condition is incomplete")) };
        self.next += 1;
        self.depth += 1;
        if self.depth > 200 {
            return Err((Some(token), "this condition is nested too deeply"));
        }
        let value = match (token.kind, token.sym) {
            (PpKind::Number, sym) => match literal::integer(pp.session.names.text(sym)) {
                Ok(v) => Value { bits: v.value, unsigned: v.unsigned },
                Err(_) => return Err((Some(token), "not an integer in a preprocessor condition")),
            },
            (PpKind::Char, sym) => match literal::character(pp.session.names.text(sym)) {
                Ok(v) => Value { bits: i64::from(v) as u64, unsigned: false },
                Err(_) => return Err((Some(token), "malformed character literal")),
            },
            (PpKind::Ident, _) => Value::of(false),
            (PpKind::Punct, fixed::LPAREN) => {
                let v = self.ternary(pp, live)?;
                if !self.eat(fixed::RPAREN) {
                    return Err((Some(token), "this parenthesis is never closed"));
                }
                v
            }
            (PpKind::Punct, fixed::MINUS) => {
                let v = self.unary(pp, live)?;
                Value { bits: v.bits.wrapping_neg(), ..v }
            }
            (PpKind::Punct, fixed::PLUS) => self.unary(pp, live)?,
            (PpKind::Punct, fixed::TILDE) => {
                let v = self.unary(pp, live)?;
                Value { bits: !v.bits, ..v }
            }
            (PpKind::Punct, fixed::BANG) => Value::of(self.unary(pp, live)?.bits == 0),
            _ => return Err((Some(token), "unexpected token in a preprocessor condition")),
        };
        self.depth -= 1;
        Ok(value)
    }
}

fn apply(op: PpTok, a: Value, b: Value, live: bool) -> Eval {
    let unsigned = a.unsigned || b.unsigned;
    let (x, y) = (a.bits, b.bits);
    let (sx, sy) = (x as i64, y as i64);
    let arith = |bits| Ok(Value { bits, unsigned });
    let order = if unsigned { x.cmp(&y) } else { sx.cmp(&sy) };
    match op.sym {
        fixed::OROR => Ok(Value::of(x != 0 || y != 0)),
        fixed::ANDAND => Ok(Value::of(x != 0 && y != 0)),
        fixed::PIPE => arith(x | y),
        fixed::CARET => arith(x ^ y),
        fixed::AMP => arith(x & y),
        fixed::EQEQ => Ok(Value::of(x == y)),
        fixed::NE => Ok(Value::of(x != y)),
        fixed::LT => Ok(Value::of(order.is_lt())),
        fixed::GT => Ok(Value::of(order.is_gt())),
        fixed::LE => Ok(Value::of(order.is_le())),
        fixed::GE => Ok(Value::of(order.is_ge())),
        fixed::SHL => Ok(Value { bits: x.wrapping_shl(y as u32), unsigned: a.unsigned }),
        fixed::SHR if a.unsigned => Ok(Value { bits: x.wrapping_shr(y as u32), unsigned: true }),
        fixed::SHR => Ok(Value { bits: sx.wrapping_shr(y as u32) as u64, unsigned: false }),
        fixed::PLUS => arith(x.wrapping_add(y)),
        fixed::MINUS => arith(x.wrapping_sub(y)),
        fixed::STAR => arith(x.wrapping_mul(y)),
        _ if y == 0 && live => Err((Some(op), "division by zero in a preprocessor condition")),
        _ if y == 0 => arith(0),
        fixed::SLASH => arith(if unsigned { x / y } else { sx.wrapping_div(sy) as u64 }),
        _ => arith(if unsigned { x % y } else { sx.wrapping_rem(sy) as u64 }),
    }
}
