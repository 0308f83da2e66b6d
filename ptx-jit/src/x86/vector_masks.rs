//! Masks that are vectors, all ones or zeros in each lane: comparisons that make them, choices by them, and whether a
//! lane is on.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::F64;
use cranelift_codegen::ir::{InstructionData, Opcode, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::conditions::cc;
use super::encodings::{Element, Operation as V};
use super::inst::Operand;
use super::registers::RegView;
use super::select::{Refused, Selector};
use super::words::{Word, float_condition};

/// [`Selector::flipped`] of constants.
fn flipped_bytes(mut c: Vec<u8>, element: Element) -> Vec<u8> {
    let bytes = element.bytes() as usize;
    c.iter_mut().skip(bytes - 1).step_by(bytes).for_each(|x| *x ^= 0x80);
    c
}

impl Selector<'_> {
    /// `d`: all ones in the lanes in which two integers are in an order.
    pub(super) fn compare_lanes(&mut self, cond: IntCC, d: VReg, x: Value, y: Value) {
        use IntCC::*;
        let element = Element::of(self.ty(x));
        let bytes = element.bytes();
        let (swap, not) = match cond {
            Equal | SignedGreaterThan | UnsignedGreaterThan => (false, false),
            SignedLessThan | UnsignedLessThan => (true, false),
            NotEqual | SignedLessThanOrEqual | UnsignedLessThanOrEqual => (false, true),
            SignedGreaterThanOrEqual | UnsignedGreaterThanOrEqual => (true, true),
        };
        let (x, y) = if swap { (y, x) } else { (x, y) };
        let signed = matches!(
            cond,
            SignedLessThan | SignedLessThanOrEqual | SignedGreaterThan | SignedGreaterThanOrEqual
        );
        let to = if not { self.vector() } else { d };
        if matches!(cond, Equal | NotEqual) {
            let y = self.lanes(y, bytes);
            let x = self.z(x);
            self.two_to(to, V::Equal, element, x, y);
        } else if signed {
            let y = self.lanes(y, bytes);
            let x = self.z(x);
            self.two_to(to, V::Greater, element, x, y);
        } else if not && self.has(V::MinU, element) {
            // Not greater: the smaller one is the first.
            let y = self.lanes(y, bytes);
            let x = self.z(x);
            let least = self.two(V::MinU, element, x, y);
            let least = self.whole(least);
            return self.two_to(d, V::Equal, element, least, x);
        } else if !not && self.beyond_constant(d, element, x, y) {
            return;
        } else {
            let x = self.flipped(x, element);
            let y = match self.bytes(y) {
                Some(c) => Operand::Mem(self.constant(flipped_bytes(c, element))),
                None => {
                    let y = self.flipped(y, element);
                    self.whole(y)
                }
            };
            let x = self.whole(x);
            self.two_to(to, V::Greater, element, x, y);
        }
        if not {
            self.complement(d, to);
        }
    }

    /// `d`: all ones in the lanes in which `x` is greater than `y`, without signs, if one is constant: the greater one
    /// of `x` and the number behind the constant is `x` there, or the less one of `y` and the number before it `y`.
    fn beyond_constant(&mut self, d: VReg, element: Element, x: Value, y: Value) -> bool {
        let (v, c, op) = match (self.bytes(x), self.bytes(y)) {
            (None, Some(c)) => (x, c, V::MaxU),
            (Some(c), None) => (y, c, V::MinU),
            _ => return false,
        };
        if !self.has(op, element) || element != Element::Words {
            return false;
        }
        let beside = c.as_chunks::<4>().0.iter().map(|c| {
            let c = u32::from_le_bytes(*c);
            if op == V::MaxU { c.checked_add(1) } else { c.checked_sub(1) }
        });
        let Some(beside) = beside.collect::<Option<Vec<u32>>>() else { return false };
        let beside = beside.iter().flat_map(|c| c.to_le_bytes()).collect();
        let (v, c) = (self.z(v), Operand::Mem(self.constant(beside)));
        let chosen = self.two(op, element, v, c);
        let chosen = self.whole(chosen);
        self.two_to(d, V::Equal, element, chosen, v);
        true
    }

    /// Numbers whose order with signs is that of the given ones without.
    fn flipped(&mut self, x: Value, element: Element) -> VReg {
        if let Some(c) = self.bytes(x) {
            let d = self.vector();
            self.load_bytes(&flipped_bytes(c, element), d);
            return d;
        }
        let x = self.z(x);
        let sign = match element {
            Element::Words => self.every(&(1u32 << 31).to_le_bytes()),
            Element::Longs => self.every(&(1u64 << 63).to_le_bytes()),
        };
        self.two(V::Xor, element, x, sign)
    }

    /// `d = !x`
    pub(super) fn complement(&mut self, d: VReg, x: VReg) {
        let ones = self.vector();
        let x = self.whole(x);
        self.fill(ones);
        let ones = self.whole(ones);
        self.two_to(d, V::Xor, Element::Words, x, ones);
    }

    /// `d`: all ones in the lanes in which two numbers are in an order.
    pub(super) fn compare_numbers(
        &mut self,
        cond: FloatCC,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        let number = float_condition(cond).ok_or("a comparison of numbers")?;
        let element = Element::of(self.ty(x));
        let y = self.lanes(y, element.bytes());
        let x = self.z(x);
        self.compare_by(d, element, number, x, y);
        Ok(())
    }

    /// The same by the number of the order in the instruction.
    pub(super) fn compare_by(
        &mut self,
        d: VReg,
        element: Element,
        number: u32,
        x: Operand,
        y: Operand,
    ) {
        let to = Operand::Def(d, self.target.whole);
        let code = self.code(V::CompareF, element);
        self.emit(code, &[to, x, y, Operand::Imm(i64::from(number))]);
    }

    /// The operation that `mask ? x : y` is, if the mask says which of the two numbers is less or greater.
    pub(super) fn extreme(&self, mask: Value, x: Value, y: Value) -> Option<V> {
        let compare = self.def(self.root(mask))?;
        let cond = match *self.data(compare) {
            InstructionData::FloatCompare { cond, .. } => float_condition(cond),
            _ => match self.word(compare) {
                Some((Word::CompareFloat, number)) => Some(number),
                _ => None,
            },
        };
        let [p, q] = self.f.dfg.inst_args(compare)[..] else { return None };
        let same = |x: Value, y: Value| {
            let (c, d) = (self.bytes(x), self.bytes(y));
            self.root(x) == self.root(y) || c.is_some() && c == d
        };
        let turned = if same(p, x) && same(q, y) {
            false
        } else if same(p, y) && same(q, x) {
            true
        } else {
            return None;
        };
        match cond {
            c if c == float_condition(FloatCC::LessThan) => Some(turned),
            c if c == float_condition(FloatCC::GreaterThan) => Some(!turned),
            _ => None,
        }
        .map(|greatest| if greatest { V::MaxF } else { V::MinF })
    }

    /// `d = mask ? x : y` by lanes.
    pub(super) fn choose_lanes(
        &mut self,
        d: VReg,
        element: Element,
        mask: VReg,
        x: Operand,
        y: VReg,
    ) {
        let (to, y, mask) = (Operand::Def(d, self.target.whole), self.whole(y), self.whole(mask));
        self.emit(self.code(V::Choose, element), &[to, y, x, mask]);
    }

    /// A vector that is all ones where the scalar is not 0: in lane 0, or in all.
    pub(super) fn full_mask(&mut self, c: Value, all: bool) -> Result<VReg, Refused> {
        let carry = self.carry(c)?;
        let ones = self.temp(RegClass::Int);
        self.emit(
            Code::Sbb_r64_rm64,
            &[Operand::Both(ones, carry, RegView::D), Operand::Use(carry, RegView::D)],
        );
        let first = self.vector();
        self.emit(
            self.lane_code(V::FromGeneral, Element::Longs),
            &[Operand::Def(first, RegView::X), Operand::Use(ones, RegView::D)],
        );
        if !all {
            return Ok(first);
        }
        let every = self.vector();
        self.emit(
            self.code(V::Broadcast, Element::Longs),
            &[Operand::Def(every, self.target.whole), Operand::Use(first, RegView::X)],
        );
        Ok(every)
    }

    /// Compares numbers in lane 0: a general register that is not 0 where they are in this order.
    pub(super) fn compare_scalars(
        &mut self,
        cond: FloatCC,
        x: Value,
        y: Value,
    ) -> Result<VReg, Refused> {
        let number = float_condition(cond).ok_or("a comparison of numbers")?;
        let element = if self.ty(x) == F64 { Element::Longs } else { Element::Words };
        let y = self.float(y);
        let x = Operand::Use(self.reg(x), RegView::X);
        let mask = self.vector();
        let imm = Operand::Imm(i64::from(number));
        self.emit(
            self.lane_code(V::CompareF, element),
            &[Operand::Def(mask, RegView::X), x, y, imm],
        );
        let ones = self.temp(RegClass::Int);
        self.emit(
            self.lane_code(V::ToGeneral, Element::Words),
            &[Operand::Def(ones, RegView::W), Operand::Use(mask, RegView::X)],
        );
        Ok(ones)
    }

    /// Whether a vector has a bit that is set: the condition behind the instruction that finds it out.
    pub(super) fn any_bit(&mut self, v: Value) -> u8 {
        let root = self.root(v);
        let code = self.code(V::TestBits, Element::Words);
        let fold =
            self.used_once(root) && self.local(root) && self.regs[root.as_u32() as usize].is_none();
        let complement = self.def(root).filter(|_| fold).and_then(|i| self.unary_of(i));
        if let Some((Opcode::Bnot, x)) = complement {
            // The carry says that no bit of the second operand is missing in the first.
            let (x, ones) = (self.z(x), self.vector());
            self.fill(ones);
            let ones = self.whole(ones);
            self.emit(code, &[x, ones]);
            return cc::AE;
        }
        let x = self.z(root);
        self.emit(code, &[x, x]);
        cc::NE
    }

    /// Whether a mask is known to have every lane on.
    pub(super) fn all_ones(&self, v: Value) -> bool {
        let v = self.root(v);
        match self.def(v).map(|i| *self.data(i)) {
            Some(InstructionData::Call { .. }) => {
                // Its halves, extended.
                let i = self.def(v).filter(|i| self.word(*i).is_some());
                i.is_some_and(|i| {
                    matches!(self.word(i), Some((super::words::Word::Widen, n)) if n & 1 != 0)
                        && self.f.dfg.inst_args(i).iter().all(|x| self.all_ones(*x))
                })
            }
            _ => self.bytes(v).is_some_and(|c| c.iter().all(|x| *x == u8::MAX)),
        }
    }
}
