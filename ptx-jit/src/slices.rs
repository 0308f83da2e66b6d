//! Slices and masks of the lanes of a group.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use ptx_isa::Kind;

use crate::clif::{cast, plain, vector};
use crate::form::word;
use crate::generator::Gen;
use crate::ops::Emit;
use crate::x86::words::{MASK, Word};

impl<'b> Gen<'_, 'b> {
    /// Lanes of a slice.
    pub(crate) fn per(&self) -> usize {
        self.form.lanes()
    }
    pub(crate) fn slices(&self) -> usize {
        self.g.width as usize / self.per()
    }
    pub(crate) fn emitter(&mut self, vector: bool) -> Emit<'_, 'b> {
        Emit { b: &mut self.b, vector, form: self.form }
    }
    pub(crate) fn same32(&mut self, c: u32) -> Value {
        self.form.same32(&mut self.b, c)
    }
    pub(crate) fn same64(&mut self, c: u64) -> Value {
        self.form.same64(&mut self.b, c)
    }
    /// A slice of the mask of all lanes, or of none.
    pub(crate) fn mask_of(&mut self, on: bool) -> Value {
        self.form.mask(&mut self.b, on)
    }
    /// The masks of all lanes.
    pub(crate) fn all_lanes(&mut self) -> Vec<Value> {
        let all = self.mask_of(true);
        vec![all; self.slices()]
    }
    /// A call of a word with a result.
    pub(crate) fn word(&mut self, w: Word, number: u32, args: &[Value], ty: Type) -> Value {
        word(&mut self.b, w, number, args, ty)
    }

    /// Whether any bit is set.
    pub(crate) fn any(&mut self, v: Value) -> Value {
        if self.form.bit_masks() {
            self.b.ins().icmp_imm_u(IntCC::NotEqual, v, 0)
        } else {
            self.b.ins().vany_true(v)
        }
    }
    pub(crate) fn any_of(&mut self, mask: &[Value]) -> Value {
        let mut all = mask[0];
        for m in &mask[1..] {
            all = self.b.ins().bor(all, *m);
        }
        if !self.form.bit_masks() {
            let bytes = vector(I8, self.form.bytes() as usize);
            all = self.b.ins().bitcast(bytes, cast(), all);
        }
        self.any(all)
    }
    /// Whether every lane is on.
    pub(crate) fn all_of(&mut self, mask: &[Value]) -> Value {
        let mut all = mask[0];
        for m in &mask[1..] {
            all = self.b.ins().band(all, *m);
        }
        if self.form.bit_masks() {
            return self.b.ins().icmp_imm_u(IntCC::Equal, all, self.form.all_bits());
        }
        let off = self.b.ins().bnot(all);
        let some_off = self.any(off);
        self.b.ins().icmp_imm_u(IntCC::Equal, some_off, 0)
    }

    /// Masks for [`Self::on`].
    pub(crate) fn bits_of(&mut self, mask: &[Value]) -> Vec<Value> {
        match (self.form.bit_masks(), self.form.words()) {
            (true, _) => mask.iter().map(|m| self.b.ins().uextend(I32, *m)).collect(),
            (false, true) => {
                mask.iter().map(|m| self.word(Word::SignBits, 0, &[*m], I32)).collect()
            }
            (false, false) => mask.to_vec(),
        }
    }
    /// Whether lane `l` is on: 0 if not; `bits` as [`Self::bits_of`] gives them.
    pub(crate) fn on(&mut self, bits: &[Value], l: usize) -> Value {
        if !self.form.words() {
            return self.lane(bits, Kind::W, l);
        }
        let per = self.per();
        self.b.ins().band_imm_u(bits[l / per], 1 << (l % per))
    }
    /// The mask of half `n` of the slices, for lanes of 64 bits.
    pub(crate) fn half_mask(&mut self, mask: &[Value], n: usize) -> Value {
        let m = mask[n / 2];
        match (self.form.bit_masks(), n.is_multiple_of(2)) {
            (true, true) => m,
            (true, false) => self.b.ins().ushr_imm_u(m, i64::from(self.form.lanes / 2)),
            (false, low) if self.form.words() => {
                let ty = self.form.d();
                self.word(Word::Widen, 1 | u32::from(!low) << 1, &[m], ty)
            }
            (false, true) => self.b.ins().swiden_low(m),
            (false, false) => self.b.ins().swiden_high(m),
        }
    }

    /// Stores slices to a staging place: 4 or 8 bytes a lane.
    pub(crate) fn stage(&mut self, slices: &[Value], at: i32) {
        let step = 4 * self.per() as i32;
        for (n, x) in slices.iter().enumerate() {
            let x = if self.b.func.dfg.value_type(*x) == MASK {
                self.word(Word::Ones, 0, &[*x], self.form.w())
            } else {
                *x
            };
            self.b.ins().store(plain(), x, self.ctx, at + n as i32 * step);
        }
    }
    pub(crate) fn unstage(&mut self, kind: Kind, at: i32) -> Vec<Value> {
        let (n, ty) = if kind == Kind::D {
            (self.slices() * 2, self.form.d())
        } else {
            (self.slices(), self.form.w())
        };
        let step = 4 * self.per() as i32;
        (0..n)
            .map(|i| {
                let x = self.b.ins().load(ty, plain(), self.ctx, at + i as i32 * step);
                if self.form.bit_masks() && kind == Kind::P {
                    self.word(Word::Signs, 0, &[x], MASK)
                } else {
                    x
                }
            })
            .collect()
    }
}
