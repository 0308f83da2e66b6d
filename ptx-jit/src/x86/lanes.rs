//! Lanes of vectors one by one: taken out, put together, cut to integers.

use cranelift_codegen::ir::Value;
use regalloc2::{RegClass, VReg};

use super::encodings::{Element, Operation as V};
use super::inst::Operand;
use super::registers::RegView;
use super::select::{Refused, Selector};

impl Selector<'_> {
    /// Numbers cut to integers; what is too great becomes the greatest, a NaN 0.
    pub(super) fn cut_to_int(&mut self, d: VReg, x: Operand, again: VReg) {
        if self.target.vector_masks() {
            return self.cut_signed(d, x);
        }
        let [raw, most] = std::array::from_fn(|_| self.vector());
        let [great, nan] = std::array::from_fn(|_| self.temp(RegClass::Vector));
        self.emit(self.code(V::CutToS, Element::Words), &[Operand::Def(raw, self.target.whole), x]);
        let x = Operand::Use(again, self.target.whole);
        let limit = Operand::Each(self.constant(2f32.powi(31).to_le_bytes().to_vec()));
        let compare = self.code(V::CompareF, Element::Words);
        // Greater or equal; unordered.
        self.emit(compare, &[Operand::Def(great, RegView::K), x, limit, Operand::Imm(0x1d)]);
        self.emit(compare, &[Operand::Def(nan, RegView::K), x, x, Operand::Imm(3)]);
        let blend = self.code(V::Blend, Element::Words);
        let greatest = Operand::Each(self.constant(i32::MAX.to_le_bytes().to_vec()));
        self.emit(
            blend,
            &[
                Operand::Def(most, self.target.whole),
                Operand::Under(great),
                Operand::Use(raw, self.target.whole),
                greatest,
            ],
        );
        let zero = Operand::Each(self.constant(vec![0; 4]));
        self.emit(
            blend,
            &[
                Operand::Def(d, self.target.whole),
                Operand::Under(nan),
                Operand::Use(most, self.target.whole),
                zero,
            ],
        );
    }

    /// Lane `n` of a vector.
    pub(super) fn extract(&mut self, v: Value, n: u8, r: Value) -> Result<(), Refused> {
        let ty = self.ty(v);
        if ty.bytes() != self.target.bytes || !ty.lane_type().is_int() {
            return Err(format!("a lane of {ty}"));
        }
        let wide = ty.lane_bits() == 64;
        let per = if wide { 2 } else { 4 };
        let d = self.reg(r);
        let part = self.quarter(v, n / per);
        let part = Operand::Use(part, RegView::X);
        let to = Operand::Def(d, if wide { RegView::D } else { RegView::W });
        match (wide, n % per) {
            (false, 0) => self.emit(self.lane_code(V::ToGeneral, Element::Words), &[to, part]),
            (true, 0) => self.emit(self.lane_code(V::ToGeneral, Element::Longs), &[to, part]),
            (false, n) => self.emit(
                self.lane_code(V::GetLane, Element::Words),
                &[to, part, Operand::Imm(i64::from(n))],
            ),
            (true, n) => self.emit(
                self.lane_code(V::GetLane, Element::Longs),
                &[to, part, Operand::Imm(i64::from(n))],
            ),
        }
        Ok(())
    }

    /// Four lanes of a vector as its own register; cut out once in a block.
    fn quarter(&mut self, v: Value, n: u8) -> VReg {
        let root = self.root(v);
        if n == 0 {
            return self.reg(root);
        }
        self.reg(root);
        if let Some(r) = self.quarters.get(&(root, n)) {
            return *r;
        }
        let r = self.vector();
        self.quarters.insert((root, n), r);
        r
    }

    pub(super) fn cut(&mut self, r: VReg, x: VReg, n: u8) {
        self.emit(
            self.code(V::Quarter, Element::Words),
            &[
                Operand::Def(r, RegView::X),
                Operand::Use(x, self.target.whole),
                Operand::Imm(i64::from(n)),
            ],
        );
    }

    /// Behind the instruction of a vector: the quarters that are read.
    pub(super) fn cut_quarters(&mut self, v: Value) {
        for n in 1..self.quarters_of_vector() {
            if let Some(r) = self.quarters.remove(&(v, n)) {
                let x = self.reg(v);
                self.cut(r, x, n);
            }
        }
    }

    /// At the start of a block: quarters of vectors that come from elsewhere.
    pub(super) fn cut_other_quarters(&mut self) {
        let mut left: Vec<_> = std::mem::take(&mut self.quarters).into_iter().collect();
        // The same code each time.
        left.sort_by_key(|((v, n), _)| (v.as_u32(), *n));
        for ((v, n), r) in left {
            let x = self.reg(v);
            self.cut(r, x, n);
        }
    }

    pub(super) fn half(&mut self, x: VReg, n: i64) -> VReg {
        let r = self.vector();
        self.emit(
            self.code(V::Half, Element::Longs),
            &[
                Operand::Def(r, self.target.half),
                Operand::Use(x, self.target.whole),
                Operand::Imm(n),
            ],
        );
        r
    }

    pub(super) fn halves_together(&mut self, d: VReg, low: VReg, high: VReg) {
        self.emit(
            self.code(V::SetHalf, Element::Longs),
            &[
                Operand::Def(d, self.target.whole),
                Operand::Use(low, self.target.whole),
                Operand::Use(high, self.target.half),
                Operand::Imm(1),
            ],
        );
    }

    /// Four quarters as one vector.
    pub(super) fn together(&mut self, d: VReg, quarters: &[VReg]) {
        let mut whole = quarters[0];
        for (n, x) in quarters.iter().enumerate().skip(1) {
            let y = if n + 1 == quarters.len() { d } else { self.vector() };
            self.emit(
                self.code(V::SetQuarter, Element::Words),
                &[
                    Operand::Def(y, self.target.whole),
                    Operand::Use(whole, self.target.whole),
                    Operand::Use(*x, RegView::X),
                    Operand::Imm(n as i64),
                ],
            );
            whole = y;
        }
    }

    /// A vector of scalars.
    pub(super) fn pack(&mut self, d: VReg, args: &[Value]) -> Result<(), Refused> {
        let lanes = self.target.lanes() as usize;
        let wide = args.len() == lanes / 2;
        if !wide && args.len() != lanes {
            return Err("a vector of so many lanes".into());
        }
        let per = if wide { 2 } else { 4 };
        let view = if wide { RegView::D } else { RegView::W };
        let (first, next) = if wide {
            (
                self.lane_code(V::FromGeneral, Element::Longs),
                self.lane_code(V::SetLane, Element::Longs),
            )
        } else {
            (
                self.lane_code(V::FromGeneral, Element::Words),
                self.lane_code(V::SetLane, Element::Words),
            )
        };
        let mut quarters = Vec::new();
        for chunk in args.chunks(per) {
            let mut x = self.vector();
            let part = self.operand(chunk[0], view);
            self.emit(first, &[Operand::Def(x, RegView::X), part]);
            for (n, v) in chunk.iter().enumerate().skip(1) {
                let part = self.operand(*v, view);
                let y = self.vector();
                let n = Operand::Imm(n as i64);
                self.emit(
                    next,
                    &[Operand::Def(y, RegView::X), Operand::Use(x, RegView::X), part, n],
                );
                x = y;
            }
            quarters.push(x);
        }
        self.together(d, &quarters);
        Ok(())
    }

    /// How many times 128 bits a vector has.
    pub(super) fn quarters_of_vector(&self) -> u8 {
        (self.target.bytes / 16) as u8
    }
}
