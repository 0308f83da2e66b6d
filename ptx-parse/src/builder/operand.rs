//! Actions of operands.

use super::{Builder, end_of, imm, make};
use crate::ast::*;
use crate::diag::Code;
use crate::span::Span;

impl Builder<'_> {
    #[inline]
    pub(crate) fn list_begin(&mut self, o: Operand) -> u32 {
        self.scratch.push(o);
        self.scratch.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn list_item(&mut self, o: Operand) {
        self.scratch.push(o);
    }

    #[inline]
    pub(super) fn drain(&mut self, mark: u32) -> Run {
        let first = self.ast.operands.len() as u32;
        let items = &self.scratch[mark as usize..];
        let count = items.len() as u32;
        self.ast.operands.extend_from_slice(items);
        self.scratch.truncate(mark as usize);
        Run { first, count }
    }

    pub(super) fn children(&mut self, items: &[Operand]) -> Run {
        let first = self.ast.operands.len() as u32;
        self.ast.operands.extend_from_slice(items);
        Run { first, count: items.len() as u32 }
    }

    #[inline]
    pub(crate) fn name_operand(&mut self, l: u32, r: u32) -> Operand {
        let name = self.intern(l, r);
        if name == self.warp_sz {
            return imm(Imm::Signed(32), flag::WARP_SZ, l, r);
        }
        make(OperandKind::Name, 0, l, r, name.0, 0)
    }

    pub(crate) fn part_operand(&mut self, l: u32, r: u32) -> Operand {
        let text = self.text(l, r);
        let dot = l + text.iter().position(|&b| b == b'.').unwrap_or(0) as u32;
        self.with_part(l, dot, dot, r)
    }

    /// `name .part`
    #[cold]
    pub(crate) fn spaced_part(&mut self, l: u32, m: u32, r: u32) -> Operand {
        let dot = self.text(m, r).iter().rposition(|&b| b == b'.').unwrap_or(0) as u32;
        self.with_part(l, m, m + dot, r)
    }

    #[inline]
    fn with_part(&mut self, l: u32, end: u32, dot: u32, r: u32) -> Operand {
        let name = self.intern(l, end);
        let part = Selector::parse(self.text(dot + 1, r));
        if part.is_none() {
            let text = String::from_utf8_lossy(self.text(dot, r)).into_owned();
            let small = text.to_ascii_lowercase();
            let known = small != text && Selector::parse(&small.as_bytes()[1..]).is_some();
            let diag = self.error(
                Code::Selector,
                Span::new(dot, r),
                format!("`{text}` is no component of a register"),
            );
            diag.note("vectors have `.x .y .z .w` (or `.r .g .b .a`), video operands `.b0` to `.b3`, `.h0`, `.h1`");
            if known {
                diag.help(format!("write `{small}`: components are in lower case"));
            }
        }
        make(OperandKind::Name, 0, l, r, name.0, part.map_or(0, |p| p as u32))
    }

    pub(crate) fn sink(&mut self, l: u32, r: u32) -> Operand {
        make(OperandKind::Sink, 0, l, r, 0, 0)
    }

    #[inline]
    pub(crate) fn int_operand(&mut self, l: u32, r: u32) -> Operand {
        let (value, unsigned) = self.int_value(l, r);
        let value = if unsigned { Imm::Unsigned(value) } else { Imm::Signed(value as i64) };
        imm(value, 0, l, r)
    }

    pub(crate) fn float_operand(&mut self, l: u32, r: u32) -> Operand {
        let text = std::str::from_utf8(self.text(l, r)).unwrap_or("");
        let value: f64 = text.parse().unwrap_or_default();
        if value.is_infinite() || value.is_subnormal() {
            self.error(Code::Literal, Span::new(l, r), format!("`{text}` is out of range"))
                .help("decimal constants are normal binary64 numbers; write others as bits: `0d…`");
        }
        imm(Imm::F64(value.to_bits()), 0, l, r)
    }

    pub(crate) fn bits_operand(&mut self, l: u32, r: u32) -> Operand {
        let digits = std::str::from_utf8(self.text(l + 2, r)).unwrap_or("");
        let bits = u64::from_str_radix(digits, 16).unwrap_or_default();
        let value = if digits.len() == 8 { Imm::F32(bits as u32) } else { Imm::F64(bits) };
        imm(value, flag::BITS, l, r)
    }

    #[inline]
    pub(crate) fn memory(&mut self, l: u32, mark: u32, r: u32) -> Operand {
        if self.scratch.len() as u32 == mark + 1 {
            let o = self.scratch[mark as usize];
            let plain = o.kind == OperandKind::Name && o.flags == 0 && o.b == 0;
            if plain || o.kind == OperandKind::Offset {
                self.scratch.truncate(mark as usize);
                return make(OperandKind::Mem, o.flags, l, r, o.a, o.b);
            }
        }
        let run = self.drain(mark);
        make(OperandKind::MemList, 0, l, r, run.first, run.count)
    }

    pub(crate) fn memory_qualified(&mut self, l: u32, mark: u32, dl: u32, r: u32) -> Operand {
        let mut o = self.memory(l, mark, r);
        if self.text(dl, r) == b".unified" {
            o.flags |= flag::UNIFIED;
        } else {
            let text = String::from_utf8_lossy(self.text(dl, r)).into_owned();
            self.error(
                Code::Syntax,
                Span::new(dl, r),
                format!("unexpected `{text}` after an address"),
            )
            .help("only `.unified` may follow an address");
        }
        o
    }

    pub(crate) fn vector(&mut self, l: u32, mark: u32, r: u32) -> Operand {
        let run = self.drain(mark);
        make(OperandKind::Vector, 0, l, r, run.first, run.count)
    }

    pub(crate) fn empty_vector(&mut self, l: u32, r: u32) -> Operand {
        make(OperandKind::Vector, 0, l, r, self.ast.operands.len() as u32, 0)
    }

    pub(crate) fn group(&mut self, l: u32, mark: u32, r: u32) -> Operand {
        let run = self.drain(mark);
        make(OperandKind::Group, 0, l, r, run.first, run.count)
    }

    pub(crate) fn empty_group(&mut self, l: u32, r: u32) -> Operand {
        make(OperandKind::Group, 0, l, r, self.ast.operands.len() as u32, 0)
    }

    pub(crate) fn index(&mut self, l: u32, m: u32, index: Operand, r: u32) -> Operand {
        let base = self.name_operand(l, m);
        let run = self.children(&[base, index]);
        make(OperandKind::Index, 0, l, r, run.first, run.count)
    }

    /// `generic(x)`
    pub(crate) fn function_of(&mut self, l: u32, m: u32, o: Operand, r: u32) -> Operand {
        if self.text(l, m) != b"generic" {
            let text = String::from_utf8_lossy(self.text(l, m)).into_owned();
            self.error(
                Code::Syntax,
                Span::new(l, m),
                format!("`{text}` is no operator on addresses"),
            )
            .help("initialisers know `generic(variable)` and masks such as `0xff(variable)`");
        } else if !matches!(o.kind, OperandKind::Name | OperandKind::Offset) {
            self.error(Code::Syntax, o.span(), "`generic` takes the name of a variable");
        } else {
            let wide = o.flags & flag::WIDE;
            return make(OperandKind::Generic, wide, l, r, o.a, o.b);
        }
        imm(Imm::Signed(0), 0, l, r)
    }

    pub(crate) fn mask(&mut self, l: u32, m: u32, o: Operand, r: u32) -> Operand {
        let mask = self.int_operand(l, m);
        let run = self.children(&[mask, o]);
        make(OperandKind::Mask, 0, l, r, run.first, run.count)
    }

    pub(crate) fn field(&mut self, l: u32, m: u32, o: Operand) -> Operand {
        let name = self.intern(l, m);
        let value = self.children(&[o]).first;
        make(OperandKind::Field, 0, l, end_of(&o), name.0, value)
    }
}
