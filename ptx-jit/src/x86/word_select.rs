//! Words that compute.

use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::types::I8;
use iced_x86::Code;
use regalloc2::VReg;

use super::encodings::{Element, Operation as V};
use super::inst::Operand;
use super::registers::RegView;
use super::select::{Refused, Selector};
use super::words::Word;

impl Selector<'_> {
    pub(super) fn k(&mut self, v: Value) -> VReg {
        self.reg(v)
    }

    pub(super) fn vector_word(
        &mut self,
        word: Word,
        number: u32,
        args: &[Value],
        result: Option<Value>,
    ) -> Result<(), Refused> {
        let d = result.map(|r| self.reg(r));
        let made = || d.ok_or_else(|| format!("{word:?} without a result"));
        let ty = args.first().map_or(I8, |a| self.ty(*a));
        let bytes = ty.lane_bits() / 8;
        let imm = Operand::Imm(i64::from(number));
        match word {
            Word::Compare => {
                let wide = bytes == 8;
                let code = match (number & 8 != 0, wide) {
                    (false, false) => self.code(V::CompareS, Element::Words),
                    (false, true) => self.code(V::CompareS, Element::Longs),
                    (true, false) => self.code(V::CompareU, Element::Words),
                    (true, true) => self.code(V::CompareU, Element::Longs),
                };
                let y = self.lanes(args[1], bytes);
                let x = self.z(args[0]);
                self.emit(
                    code,
                    &[Operand::Def(made()?, RegView::K), x, y, Operand::Imm(i64::from(number & 7))],
                );
            }
            Word::CompareFloat => {
                let code = self.code(V::CompareF, Element::of(ty));
                let y = self.lanes(args[1], bytes);
                let x = self.z(args[0]);
                self.emit(code, &[Operand::Def(made()?, RegView::K), x, y, imm]);
            }
            Word::Test => {
                let code = self.code(V::Test, Element::of(ty));
                let y = self.lanes(args[1], bytes);
                let x = self.z(args[0]);
                self.emit(code, &[Operand::Def(made()?, RegView::K), x, y]);
            }
            Word::Blend => {
                let ty = self.ty(args[1]);
                let bytes = ty.lane_bits() / 8;
                if let Some(code) = self.extreme(args[0], args[1], args[2]) {
                    let (y, x) = (self.lanes(args[2], bytes), self.z(args[1]));
                    self.two_to(made()?, code, Element::of(ty), x, y);
                    return Ok(());
                }
                let k = self.k(args[0]);
                let to = Operand::Def(made()?, self.target.whole);
                let yes = self.lanes(args[1], bytes);
                if self.bytes(args[2]).is_some_and(|c| c.iter().all(|x| *x == 0))
                    && !matches!(yes, Operand::Each(_))
                {
                    let code = self.code(V::Load, Element::of(ty));
                    self.emit(code, &[to, Operand::Only(k), yes]);
                } else {
                    let code = self.code(V::Blend, Element::of(ty));
                    let no = self.z(args[2]);
                    self.emit(code, &[to, Operand::Under(k), no, yes]);
                }
            }
            Word::Ones => {
                let k = Operand::Use(self.k(args[0]), RegView::K);
                self.emit(
                    self.code(V::OnesOfMask, Element::Words),
                    &[Operand::Def(made()?, self.target.whole), k],
                );
            }
            Word::Signs => {
                let x = self.z(args[0]);
                self.emit(
                    self.code(V::MaskOfSigns, Element::Words),
                    &[Operand::Def(made()?, RegView::K), x],
                );
            }
            Word::Full => {
                let k = self.lane_mask(args[0])?;
                self.emit(
                    Code::VEX_Kmovw_kr_km16,
                    &[Operand::Def(made()?, RegView::K), Operand::Use(k, RegView::K)],
                );
            }
            Word::Join => {
                let low = Operand::Use(self.k(args[0]), RegView::K);
                let high = Operand::Use(self.k(args[1]), RegView::K);
                self.emit(
                    Code::VEX_Kunpckbw_kr_kr_kr,
                    &[Operand::Def(made()?, RegView::K), high, low],
                );
            }
            Word::Halves if !self.has(V::PermuteOverIndex, Element::Words) => {
                self.halves_of_longs(made()?, number != 0, args[0], args[1]);
            }
            Word::Halves => {
                let which = if number == 0 { 0u32 } else { 1 };
                let index: Vec<u8> =
                    (0..self.target.lanes()).flat_map(|n| (2 * n + which).to_le_bytes()).collect();
                let t = self.vector();
                self.load_bytes(&index, t);
                let (x, y) = (self.z(args[0]), self.lanes(args[1], 4));
                let y = if let Operand::Each(_) = y { self.z(args[1]) } else { y };
                self.emit(
                    self.code(V::PermuteOverIndex, Element::Words),
                    &[Operand::Both(made()?, t, self.target.whole), x, y],
                );
            }
            Word::Widen => {
                let code = if number & 1 != 0 {
                    self.code(V::WidenS, Element::Longs)
                } else {
                    self.code(V::WidenU, Element::Longs)
                };
                let x = self.reg(args[0]);
                let x = if number & 2 != 0 { self.half(x, 1) } else { x };
                self.emit(
                    code,
                    &[Operand::Def(made()?, self.target.whole), Operand::Use(x, self.target.half)],
                );
            }
            Word::DoubleOfInt | Word::DoubleOfSingle => {
                let operation =
                    if word == Word::DoubleOfInt { V::FloatOfS } else { V::DoubleOfSingle };
                let x = self.reg(args[0]);
                let x = if number != 0 { self.half(x, 1) } else { x };
                self.emit(
                    self.code(operation, Element::Longs),
                    &[Operand::Def(made()?, self.target.whole), Operand::Use(x, self.target.half)],
                );
            }
            Word::SingleOfDoubles | Word::IntOfDoubles => {
                let operation =
                    if word == Word::IntOfDoubles { V::IntOfDouble } else { V::SingleOfDouble };
                let [low, high] = [0, 1].map(|n| {
                    let r = self.vector();
                    let x = Operand::Use(self.reg(args[n]), self.target.whole);
                    let code = self.code(operation, Element::Longs);
                    self.emit(code, &[Operand::Def(r, self.target.half), x]);
                    r
                });
                self.halves_together(made()?, low, high);
            }
            Word::Ternary => {
                let code = self.code(V::Ternary, Element::of(ty));
                let z = self.lanes(args[2], bytes);
                let (x, y) = (self.reg(args[0]), self.z(args[1]));
                self.emit(code, &[Operand::Both(made()?, x, self.target.whole), y, z, imm]);
            }
            Word::Rotate if !self.has(V::RotateBy, Element::of(ty)) => {
                self.rotate(made()?, Element::of(ty), args[0], number.into());
            }
            Word::Rotate => {
                let code = self.code(V::RotateBy, Element::of(ty));
                let x = self.lanes(args[0], bytes);
                self.emit(code, &[Operand::Def(made()?, self.target.whole), x, imm]);
            }
            Word::ShiftEach => {
                let codes = match number {
                    0 => V::ShlEach,
                    1 => V::ShrEach,
                    _ => V::SarEach,
                };
                if !self.has(codes, Element::of(ty)) {
                    let n = self.z(args[1]);
                    let x = self.reg(args[0]);
                    let each = |me: &mut Self, x| me.two(V::ShrEach, Element::Longs, x, n);
                    self.shift_longs(made()?, x, each);
                    return Ok(());
                }
                let n = self.lanes(args[1], bytes);
                let x = self.z(args[0]);
                self.emit(
                    self.code(codes, Element::of(ty)),
                    &[Operand::Def(made()?, self.target.whole), x, n],
                );
            }
            Word::Permute if !self.has(V::PermuteOverFirst, Element::Words) => {
                let which = self.bytes(args[2]).ok_or("a permutation by numbers that vary")?;
                let which: Vec<u32> =
                    which.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
                self.permute_words(made()?, args[0], args[1], &which)?;
            }
            Word::Permute => {
                let y = self.lanes(args[1], 4);
                let index = self.z(args[2]);
                let x = self.reg(args[0]);
                self.emit(
                    self.code(V::PermuteOverFirst, Element::Words),
                    &[Operand::Both(made()?, x, self.target.whole), index, y],
                );
            }
            Word::Pack => self.pack(made()?, args)?,
            Word::SignBits => {
                let x = self.z(args[0]);
                let to = Operand::Def(made()?, RegView::W);
                self.emit(self.code(V::Signs, Element::Words), &[to, x]);
            }
            Word::LeadingZeros if !self.has(V::LeadingZeros, Element::of(ty)) => {
                self.leading_zeros(made()?, Element::of(ty), args[0]);
            }
            Word::LeadingZeros => {
                let code = self.code(V::LeadingZeros, Element::of(ty));
                let x = self.lanes(args[0], bytes);
                self.emit(code, &[Operand::Def(made()?, self.target.whole), x]);
            }
            Word::Product => {
                let code = if number == 0 {
                    self.code(V::ProductU, Element::Longs)
                } else {
                    self.code(V::ProductS, Element::Longs)
                };
                let y = self.lanes(args[1], 8);
                let x = self.z(args[0]);
                self.emit(code, &[Operand::Def(made()?, self.target.whole), x, y]);
            }
            word => return self.memory_word(word, number, args, d),
        }
        Ok(())
    }
}
