//! Memory of vectors: narrow elements, masks, lanes at places of their own.

use cranelift_codegen::ir::{InstructionData, Opcode, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::lower::{Lower, Refused};
use super::machine::{Address, Part, View};
use super::vectors::by;
use super::words::Word;

impl Lower<'_> {
    /// A word that reads or writes memory.
    pub(super) fn memory_word(
        &mut self,
        word: Word,
        number: u32,
        args: &[Value],
        d: Option<VReg>,
    ) -> Result<(), Refused> {
        let made = || d.ok_or_else(|| format!("{word:?} without a result"));
        match word {
            Word::LoadNarrow => {
                let signed = number >> 8 & 1 != 0;
                let code = match (number & 255, signed) {
                    (1, false) => Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
                    (1, true) => Code::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
                    (2, false) => Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
                    (2, true) => Code::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
                    _ => return Err("a narrow load".into()),
                };
                let m = Part::Mem(self.address(args[0], 0));
                self.emit(code, &[Part::Def(made()?, View::Z), m]);
            }
            Word::StoreNarrow => {
                let (code, view) = match number {
                    1 => (Code::EVEX_Vpmovdb_xmmm128_k1z_zmm, View::Z),
                    2 => (Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, View::Z),
                    _ => return Err("a narrow store".into()),
                };
                let m = Part::Mem(self.address(args[1], 0));
                let x = Part::Use(self.reg(args[0]), view);
                self.emit(code, &[m, x]);
            }
            Word::LoadMasked => {
                let code = if number == 8 {
                    Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512
                } else {
                    Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512
                };
                let k = self.k(args[0]);
                let m = Part::Mem(self.address(args[1], 0));
                self.emit(code, &[Part::Def(made()?, View::Z), Part::Only(k), m]);
            }
            Word::StoreMasked => {
                let ty = self.ty(args[1]);
                let code = by(
                    ty,
                    [Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm],
                );
                let k = self.k(args[0]);
                let m = Part::Mem(self.address(args[2], 0));
                let x = self.z(args[1]);
                self.emit(code, &[m, Part::Under(k), x]);
            }
            // Lanes one by one are faster than the instructions, as long as all of them are on.
            Word::Gather if self.all_on(args[0]) => {
                let m = self.indexed(number, args[1], args[2]);
                let places = self.indices(m, number & 255 == 8);
                self.gather_all(made()?, &places);
            }
            Word::GatherLong if self.all_on(args[0]) => {
                let places = self.addresses_of(args[1]);
                self.gather_all(made()?, &places);
            }
            Word::GatherWords if self.all_on(args[0]) => {
                let mut places = self.addresses_of(args[1]);
                places.extend(self.addresses_of(args[2]));
                self.gather_all(made()?, &places);
            }
            Word::Scatter if self.all_on(args[0]) => {
                let m = self.indexed(number, args[1], args[2]);
                let places = self.indices(m, number & 255 == 8);
                self.scatter_all(args[3], &places);
            }
            Word::ScatterLong if self.all_on(args[0]) => {
                let places = self.addresses_of(args[1]);
                self.scatter_all(args[2], &places);
            }
            Word::ScatterWords if self.all_on(args[0]) => {
                let mut places = self.addresses_of(args[1]);
                places.extend(self.addresses_of(args[2]));
                self.scatter_all(args[3], &places);
            }
            Word::Gather => {
                let k = self.k(args[0]);
                let m = self.indexed(number, args[1], args[2]);
                let code = if number & 255 == 8 {
                    Code::EVEX_Vpgatherdq_zmm_k1_vm32y
                } else {
                    Code::EVEX_Vpgatherdd_zmm_k1_vm32z
                };
                self.gather(code, made()?, View::Z, k, m);
            }
            Word::GatherLong => {
                let k = self.k(args[0]);
                let m = self.long(args[1]);
                self.gather(Code::EVEX_Vpgatherqq_zmm_k1_vm64z, made()?, View::Z, k, m);
            }
            Word::GatherWords => {
                let k = self.k(args[0]);
                let high = self.upper(k);
                let [a, b] = std::array::from_fn(|_| self.vector());
                let m = self.long(args[1]);
                self.gather(Code::EVEX_Vpgatherqd_ymm_k1_vm64z, a, View::Y, k, m);
                let m = self.long(args[2]);
                self.gather(Code::EVEX_Vpgatherqd_ymm_k1_vm64z, b, View::Y, high, m);
                self.halves_together(made()?, a, b);
            }
            Word::Scatter => {
                let k = self.k(args[0]);
                let m = self.indexed(number, args[1], args[2]);
                let code = if number & 255 == 8 {
                    Code::EVEX_Vpscatterdq_vm32y_k1_zmm
                } else {
                    Code::EVEX_Vpscatterdd_vm32z_k1_zmm
                };
                let x = self.z(args[3]);
                self.scatter(code, k, m, x);
            }
            Word::ScatterLong => {
                let k = self.k(args[0]);
                let m = self.long(args[1]);
                let x = self.z(args[2]);
                self.scatter(Code::EVEX_Vpscatterqq_vm64z_k1_zmm, k, m, x);
            }
            Word::ScatterWords => {
                let k = self.k(args[0]);
                let high = self.upper(k);
                let x = self.reg(args[3]);
                let y = self.half(x, 1);
                let code = Code::EVEX_Vpscatterqd_vm64z_k1_ymm;
                let m = self.long(args[1]);
                self.scatter(code, k, m, Part::Use(x, View::Y));
                let m = self.long(args[2]);
                self.scatter(code, high, m, Part::Use(y, View::Y));
            }
            word => return Err(format!("{word:?}")),
        }
        Ok(())
    }

    /// Whether a mask is known to have every lane on.
    fn all_on(&self, v: Value) -> bool {
        match self.number(v) {
            Some(c) => c as u16 == 0xffff,
            // Its upper half.
            None => self.def(self.root(v)).is_some_and(|i| match *self.data(i) {
                InstructionData::Binary { opcode: Opcode::Ushr, args: [x, _] } => self.all_on(x),
                _ => false,
            }),
        }
    }

    /// A mask of the upper eight lanes.
    fn upper(&mut self, k: VReg) -> VReg {
        let r = self.temp(RegClass::Vector);
        self.emit(
            Code::VEX_Kshiftrw_kr_kr_imm8,
            &[Part::Def(r, View::K), Part::Use(k, View::K), Part::Imm(8)],
        );
        r
    }

    pub(super) fn half(&mut self, x: VReg, n: i64) -> VReg {
        let r = self.vector();
        self.emit(
            Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8,
            &[Part::Def(r, View::Y), Part::Use(x, View::Z), Part::Imm(n)],
        );
        r
    }

    fn halves_together(&mut self, d: VReg, low: VReg, high: VReg) {
        self.emit(
            Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8,
            &[
                Part::Def(d, View::Z),
                Part::Use(low, View::Z),
                Part::Use(high, View::Y),
                Part::Imm(1),
            ],
        );
    }

    /// `base + (index << shift)` by lanes.
    fn indexed(&mut self, number: u32, base: Value, index: Value) -> Address {
        let mut a = self.address(base, 0);
        if a.index.is_some() || a.constant.is_some() {
            let base = Some(self.reg(base));
            a = Address { base, ..Address::default() };
        }
        let mut index = self.reg(index);
        let mut lanes = View::Z;
        if number & 255 == 8 {
            lanes = View::Y;
            if number >> 16 & 1 != 0 {
                index = self.half(index, 1);
            }
        }
        a.index = Some((index, 1 << (number >> 8 & 255)));
        a.lanes = Some(lanes);
        a
    }

    /// Addresses as they are.
    fn long(&mut self, addresses: Value) -> Address {
        let index = Some((self.reg(addresses), 1));
        Address { index, lanes: Some(View::Z), ..Address::default() }
    }

    fn gather(&mut self, code: Code, d: VReg, view: View, k: VReg, m: Address) {
        let zero = self.zero();
        let spent = self.temp(RegClass::Vector);
        self.emit(code, &[Part::Both(d, zero, view), Part::Spent(spent, k), Part::Mem(m)]);
    }

    /// Where each lane's element is: `m` with a vector of signed 32-bit indices, of which eight count if `long`.
    fn indices(&mut self, m: Address, long: bool) -> Vec<Address> {
        let Some((indices, scale)) = m.index else { return Vec::new() };
        let mut at = Vec::new();
        for q in 0..if long { 2 } else { 4 } {
            for pair in self.longs(indices, q) {
                let [one, other] = std::array::from_fn(|_| self.temp(RegClass::Int));
                self.emit(
                    Code::Movsxd_r64_rm32,
                    &[Part::Def(one, View::D), Part::Use(pair, View::W)],
                );
                self.emit(Code::Sar_rm64_imm8, &[Part::Both(other, pair, View::D), Part::Imm(32)]);
                at.extend([one, other]);
            }
        }
        at.into_iter().map(|i| Address { index: Some((i, scale)), lanes: None, ..m }).collect()
    }

    /// The eight addresses of a vector.
    fn addresses_of(&mut self, v: Value) -> Vec<Address> {
        let x = self.reg(v);
        let mut at = Vec::new();
        for q in 0..4 {
            at.extend(self.longs(x, q));
        }
        at.into_iter().map(|a| Address { base: Some(a), ..Address::default() }).collect()
    }

    /// The two halves of a quarter.
    fn longs(&mut self, x: VReg, quarter: u8) -> [VReg; 2] {
        let part = if quarter == 0 {
            x
        } else {
            let r = self.vector();
            self.cut(r, x, quarter);
            r
        };
        let [low, high] = std::array::from_fn(|_| self.temp(RegClass::Int));
        let from = Part::Use(part, View::X);
        self.emit(Code::EVEX_Vmovq_rm64_xmm, &[Part::Def(low, View::D), from]);
        self.emit(
            Code::EVEX_Vpextrq_rm64_xmm_imm8,
            &[Part::Def(high, View::D), from, Part::Imm(1)],
        );
        [low, high]
    }

    /// Elements from all these places, of 8 bytes where there are eight.
    fn gather_all(&mut self, d: VReg, places: &[Address]) {
        let long = places.len() == 8;
        let (first, next) = if long {
            (Code::EVEX_Vmovsd_xmm_k1z_m64, Code::EVEX_Vpinsrq_xmm_xmm_rm64_imm8)
        } else {
            (Code::EVEX_Vmovss_xmm_k1z_m32, Code::EVEX_Vpinsrd_xmm_xmm_rm32_imm8)
        };
        let mut made = Vec::new();
        for chunk in places.chunks(if long { 2 } else { 4 }) {
            let mut x = self.vector();
            self.emit(first, &[Part::Def(x, View::X), Part::Mem(chunk[0])]);
            for (n, m) in chunk.iter().enumerate().skip(1) {
                let y = self.vector();
                let n = Part::Imm(n as i64);
                self.emit(next, &[Part::Def(y, View::X), Part::Use(x, View::X), Part::Mem(*m), n]);
                x = y;
            }
            made.push(x);
        }
        self.together(d, &made);
    }

    /// Elements to all these places, in order.
    fn scatter_all(&mut self, x: Value, places: &[Address]) {
        let long = places.len() == 8;
        let x = self.reg(x);
        for (q, chunk) in places.chunks(if long { 2 } else { 4 }).enumerate() {
            let part = if q == 0 {
                x
            } else {
                let r = self.vector();
                self.cut(r, x, q as u8);
                r
            };
            let from = Part::Use(part, View::X);
            for (n, m) in chunk.iter().enumerate() {
                let (code, n) = match (long, n) {
                    (false, 0) => (Code::EVEX_Vmovss_m32_k1_xmm, None),
                    (true, 0) => (Code::EVEX_Vmovsd_m64_k1_xmm, None),
                    (false, n) => (Code::EVEX_Vpextrd_rm32_xmm_imm8, Some(n)),
                    (true, n) => (Code::EVEX_Vpextrq_rm64_xmm_imm8, Some(n)),
                };
                match n {
                    None => self.emit(code, &[Part::Mem(*m), from]),
                    Some(n) => self.emit(code, &[Part::Mem(*m), from, Part::Imm(n as i64)]),
                }
            }
        }
    }

    /// Four quarters as one vector.
    pub(super) fn together(&mut self, d: VReg, quarters: &[VReg]) {
        let mut whole = quarters[0];
        for (n, x) in quarters.iter().enumerate().skip(1) {
            let y = if n == 3 { d } else { self.vector() };
            self.emit(
                Code::EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8,
                &[
                    Part::Def(y, View::Z),
                    Part::Use(whole, View::Z),
                    Part::Use(*x, View::X),
                    Part::Imm(n as i64),
                ],
            );
            whole = y;
        }
    }

    fn scatter(&mut self, code: Code, k: VReg, m: Address, x: Part) {
        let spent = self.temp(RegClass::Vector);
        self.emit(code, &[Part::Mem(m), Part::Spent(spent, k), x]);
    }
}
