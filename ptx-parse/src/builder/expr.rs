//! Actions of constant expressions and of offsets.

use super::{Builder, end_of, imm, length, make};
use crate::ast::*;
use crate::diag::Code;
use crate::fold;
use crate::span::Span;

impl<'s> Builder<'s> {
    /// The value of a constant operand, which is taken out of the pool if it
    /// was the content of parentheses.
    fn constant(&mut self, o: &Operand) -> Option<Imm> {
        match o.kind {
            OperandKind::Int if o.flags & flag::UNSIGNED != 0 => Some(Imm::Unsigned(o.int_bits())),
            OperandKind::Int => Some(Imm::Signed(o.int_bits() as i64)),
            OperandKind::F32 => Some(Imm::F32(o.a)),
            OperandKind::F64 => Some(Imm::F64(o.int_bits())),
            OperandKind::Group if o.b == 1 => {
                let inner = self.ast.operands[o.a as usize];
                let value = self.constant(&inner)?;
                if self.ast.operands.len() as u32 == o.a + 1 {
                    self.ast.operands.pop();
                }
                Some(value)
            }
            _ => None,
        }
    }

    #[cold]
    fn not_constant(&mut self, o: &Operand) -> Operand {
        let diag = self.error(Code::ConstantExpr, o.span(), "a constant is needed here");
        diag.help("a name may only come first, followed by `+` and a constant: `x+8`, `x+-8`");
        imm(Imm::Signed(0), 0, o.start, end_of(o))
    }

    #[cold]
    fn folded(&mut self, value: Result<Imm, fold::FoldError>, l: u32, r: u32) -> Operand {
        let value = value.unwrap_or_else(|e| {
            let message = match e {
                fold::FoldError::NotInteger => "an integer constant is needed here",
                fold::FoldError::Mixed => "integer and floating-point constants do not mix",
                fold::FoldError::DivisionByZero => "constant expression divides by zero",
                fold::FoldError::NoSuchOperator => "this operator does not apply to this constant",
            };
            self.error(Code::ConstantExpr, Span::new(l, r), message);
            Imm::Signed(0)
        });
        imm(value, 0, l, r)
    }

    pub(crate) fn unary(&mut self, op: u8, l: u32, o: Operand) -> Operand {
        let r = end_of(&o);
        let bit = match op {
            b'-' => flag::NEG,
            b'!' => flag::NOT,
            _ => 0,
        };
        if o.kind == OperandKind::Name && bit != 0 && o.flags == 0 {
            return Operand { flags: bit, start: l, len: length(l, r), ..o };
        }
        if o.flags & flag::BITS != 0 {
            self.error(Code::Syntax, Span::new(l, r), "a constant written as bits takes no sign")
                .help("set the sign bit, the highest one: `0fBF800000` is -1.0");
            return o;
        }
        match self.constant(&o) {
            Some(value) => match fold::unary(op, value) {
                Ok(value) => imm(value, 0, l, r),
                e => self.folded(e, l, r),
            },
            None => self.not_constant(&o),
        }
    }

    #[cold]
    pub(crate) fn cast(&mut self, l: u32, dl: u32, dr: u32, o: Operand) -> Operand {
        let r = end_of(&o);
        let Some(value) = self.constant(&o) else { return self.not_constant(&o) };
        let value = match (self.text(dl, dr), fold::bits(value)) {
            (b".s64", Some(bits)) => Imm::Signed(bits as i64),
            (b".u64", Some(bits)) => Imm::Unsigned(bits),
            _ => {
                self.error(Code::ConstantExpr, Span::new(dl, dr), "this cast is not supported")
                    .help("integers can be cast to `.s64` and `.u64`");
                value
            }
        };
        imm(value, 0, l, r)
    }

    #[cold]
    pub(crate) fn select(&mut self, c: Operand, x: Operand, y: Operand) -> Operand {
        let (l, r) = (c.start, end_of(&y));
        // Later operands first: parenthesised ones lie on top of the pool.
        let Some(yv) = self.constant(&y) else { return self.not_constant(&y) };
        let Some(xv) = self.constant(&x) else { return self.not_constant(&x) };
        let Some(cv) = self.constant(&c) else { return self.not_constant(&c) };
        self.folded(fold::select(cv, xv, yv), l, r)
    }

    #[inline]
    pub(crate) fn tail_begin(&mut self, a: Operand, op: u32, b: Operand) -> u32 {
        let mark = self.tail.len() as u32;
        self.tail.push((a.start, a));
        self.tail.push((op, b));
        mark
    }

    pub(crate) fn tail_item(&mut self, op: u32, b: Operand) {
        self.tail.push((op, b));
    }

    #[inline]
    pub(crate) fn tail_end(&mut self, mark: u32) -> Operand {
        if let [(l, a), (op, b)] = self.tail[mark as usize..] {
            let op = self.src[op as usize];
            let offset = i64::from(b.a as i32);
            let small = b.kind == OperandKind::Int && offset as u64 == b.int_bits();
            if op == b'+' && a.kind == OperandKind::Name && a.flags == 0 && a.b == 0 && small {
                self.tail.truncate(mark as usize);
                return make(OperandKind::Offset, 0, l, end_of(&b), a.a, b.a);
            }
        }
        self.tail_slow(mark)
    }

    #[cold]
    fn tail_slow(&mut self, mark: u32) -> Operand {
        let items = self.tail.split_off(mark as usize);
        let (l, first) = items[0];
        let r = end_of(&items[items.len() - 1].1);
        let op = self.operator(items[1].0);
        let registers = |o: &Operand| matches!(o.kind, OperandKind::Name | OperandKind::Sink);
        if op == b"|" && items.len() == 2 && (registers(&first) || registers(&items[1].1)) {
            let run = self.children(&[first, items[1].1]);
            return make(OperandKind::Pair, 0, l, r, run.first, run.count);
        }
        if !matches!(first.kind, OperandKind::Name | OperandKind::Generic) {
            return self.evaluate(&items);
        }
        if op != b"+" {
            let text = String::from_utf8_lossy(op).into_owned();
            let at = items[1].0;
            let diag = self.error(
                Code::Syntax,
                Span::new(at, at + text.len() as u32),
                format!("unexpected `{text}` after a name"),
            );
            diag.help("only `+` and a constant may follow: write `x+-8` for `x-8`");
            return first;
        }
        if first.flags & !flag::WIDE != 0 || (first.kind == OperandKind::Name && first.b != 0) {
            self.error(Code::Syntax, first.span(), "an offset needs a plain name before it");
            return first;
        }
        let rest = self.evaluate(&items[1..]);
        let Some(offset) = self.constant(&rest).and_then(fold::bits) else {
            self.error(Code::ConstantExpr, rest.span(), "an integer constant is needed here");
            return first;
        };
        let kind = match first.kind {
            OperandKind::Generic => OperandKind::Generic,
            _ => OperandKind::Offset,
        };
        // `generic(x+4)+4`: both offsets count.
        let offset = match first.kind {
            OperandKind::Generic if first.flags & flag::WIDE != 0 => {
                self.ast.wide[first.b as usize].wrapping_add(offset as i64)
            }
            OperandKind::Generic => i64::from(first.b as i32).wrapping_add(offset as i64),
            _ => offset as i64,
        };
        match i32::try_from(offset) {
            Ok(offset) => make(kind, 0, l, r, first.a, offset as u32),
            Err(_) => {
                let index = self.ast.wide.len() as u32;
                self.ast.wide.push(offset);
                make(kind, flag::WIDE, l, r, first.a, index)
            }
        }
    }

    fn operator(&self, at: u32) -> &'s [u8] {
        let rest = &self.src[at as usize..];
        let long = matches!(
            rest.get(..2),
            Some(b"<<" | b">>" | b"<=" | b">=" | b"==" | b"!=" | b"&&" | b"||")
        );
        &rest[..if long { 2 } else { 1 }]
    }

    /// Applies precedence to a flat list of operands and operators.
    fn evaluate(&mut self, items: &[(u32, Operand)]) -> Operand {
        let (l, r) = (items[0].1.start, end_of(&items[items.len() - 1].1));
        let mut values = Vec::with_capacity(items.len());
        for (_, o) in items.iter().rev() {
            match self.constant(o) {
                Some(value) => values.push(value),
                None => return self.not_constant(o),
            }
        }
        let mut done: Vec<Imm> = Vec::new();
        let mut pending: Vec<&[u8]> = Vec::new();
        for (i, &(at, _)) in items.iter().enumerate() {
            if i > 0 {
                let op = self.operator(at);
                while pending.last().is_some_and(|p| fold::precedence(p) >= fold::precedence(op)) {
                    if let Err(e) = apply(&mut done, &mut pending) {
                        return self.folded(Err(e), l, r);
                    }
                }
                pending.push(op);
            }
            done.extend(values.pop());
        }
        while !pending.is_empty() {
            if let Err(e) = apply(&mut done, &mut pending) {
                return self.folded(Err(e), l, r);
            }
        }
        self.folded(done.pop().ok_or(fold::FoldError::NotInteger), l, r)
    }
}

fn apply(done: &mut Vec<Imm>, pending: &mut Vec<&[u8]>) -> Result<(), fold::FoldError> {
    if let (Some(op), Some(b), Some(a)) = (pending.pop(), done.pop(), done.pop()) {
        done.push(fold::binary(op, a, b)?);
    }
    Ok(())
}
