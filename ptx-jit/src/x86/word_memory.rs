//! Words that read and write memory: narrow elements, masks, lanes at places of their own.

use cranelift_codegen::ir::{InstructionData, Opcode, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::encodings::{Element, Operation as V};
use super::inst::{Address, Operand};
use super::registers::RegView;
use super::select::{Refused, Selector};
use super::words::Word;

impl Selector<'_> {
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
                    (1, false) => self.code(V::LoadBytesU, Element::Words),
                    (1, true) => self.code(V::LoadBytesS, Element::Words),
                    (2, false) => self.code(V::LoadHalvesU, Element::Words),
                    (2, true) => self.code(V::LoadHalvesS, Element::Words),
                    _ => return Err("a narrow load".into()),
                };
                let m = Operand::Mem(self.address(args[0], 0));
                self.emit(code, &[Operand::Def(made()?, self.target.whole), m]);
            }
            Word::StoreNarrow if !self.has(V::StoreBytes, Element::Words) => {
                let m = self.address(args[1], 0);
                self.store_narrow(args[0], m, number)?;
            }
            Word::StoreNarrow => {
                let (code, view) = match number {
                    1 => (self.code(V::StoreBytes, Element::Words), self.target.whole),
                    2 => (self.code(V::StoreHalves, Element::Words), self.target.whole),
                    _ => return Err("a narrow store".into()),
                };
                let m = Operand::Mem(self.address(args[1], 0));
                let x = Operand::Use(self.reg(args[0]), view);
                self.emit(code, &[m, x]);
            }
            Word::LoadMasked if self.target.vector_masks() => {
                let element = if number == 8 { Element::Longs } else { Element::Words };
                let mask = self.z(args[0]);
                let m = Operand::Mem(self.address(args[1], 0));
                let to = Operand::Def(made()?, self.target.whole);
                self.emit(self.code(V::LoadUnder, element), &[to, mask, m]);
            }
            Word::StoreMasked if self.target.vector_masks() => {
                let code = self.code(V::StoreUnder, Element::of(self.ty(args[1])));
                let mask = self.z(args[0]);
                let m = Operand::Mem(self.address(args[2], 0));
                let x = self.z(args[1]);
                self.emit(code, &[m, mask, x]);
            }
            Word::LoadMasked => {
                let code = if number == 8 {
                    self.code(V::Load, Element::Longs)
                } else {
                    self.code(V::Load, Element::Words)
                };
                let k = self.k(args[0]);
                let m = Operand::Mem(self.address(args[1], 0));
                self.emit(code, &[Operand::Def(made()?, self.target.whole), Operand::Only(k), m]);
            }
            Word::StoreMasked => {
                let ty = self.ty(args[1]);
                let code = self.code(V::Store, Element::of(ty));
                let k = self.k(args[0]);
                let m = Operand::Mem(self.address(args[2], 0));
                let x = self.z(args[1]);
                self.emit(code, &[m, Operand::Under(k), x]);
            }
            // Lanes one by one are faster than the instructions, as long as all of them are on.
            Word::Gather if self.all_on(args[0]) => {
                let places = self.places(number, args[1], args[2]);
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
                let places = self.places(number, args[1], args[2]);
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
                    self.code(V::Gather, Element::Longs)
                } else {
                    self.code(V::Gather, Element::Words)
                };
                self.gather(code, made()?, self.target.whole, k, m);
            }
            Word::GatherLong => {
                let k = self.k(args[0]);
                let m = self.long(args[1]);
                self.gather(
                    self.code(V::GatherLong, Element::Longs),
                    made()?,
                    self.target.whole,
                    k,
                    m,
                );
            }
            Word::GatherWords => {
                let k = self.k(args[0]);
                let high = self.upper(k);
                let [a, b] = std::array::from_fn(|_| self.vector());
                let m = self.long(args[1]);
                self.gather(self.code(V::GatherLong, Element::Words), a, self.target.half, k, m);
                let m = self.long(args[2]);
                self.gather(self.code(V::GatherLong, Element::Words), b, self.target.half, high, m);
                self.halves_together(made()?, a, b);
            }
            Word::Scatter => {
                let k = self.k(args[0]);
                let m = self.indexed(number, args[1], args[2]);
                let code = if number & 255 == 8 {
                    self.code(V::Scatter, Element::Longs)
                } else {
                    self.code(V::Scatter, Element::Words)
                };
                let x = self.z(args[3]);
                self.scatter(code, k, m, x);
            }
            Word::ScatterLong => {
                let k = self.k(args[0]);
                let m = self.long(args[1]);
                let x = self.z(args[2]);
                self.scatter(self.code(V::ScatterLong, Element::Longs), k, m, x);
            }
            Word::ScatterWords => {
                let k = self.k(args[0]);
                let high = self.upper(k);
                let x = self.reg(args[3]);
                let y = self.half(x, 1);
                let code = self.code(V::ScatterLong, Element::Words);
                let m = self.long(args[1]);
                self.scatter(code, k, m, Operand::Use(x, self.target.half));
                let m = self.long(args[2]);
                self.scatter(code, high, m, Operand::Use(y, self.target.half));
            }
            word => return Err(format!("{word:?}")),
        }
        Ok(())
    }

    /// Whether a mask is known to have every lane on.
    fn all_on(&self, v: Value) -> bool {
        if self.target.vector_masks() {
            return self.all_ones(v);
        }
        match self.number(v) {
            Some(c) => c & self.target.all_lanes() == self.target.all_lanes(),
            // Its upper half.
            None => self.def(self.root(v)).is_some_and(|i| match *self.data(i) {
                InstructionData::Binary { opcode: Opcode::Ushr, args: [x, _] } => self.all_on(x),
                _ => false,
            }),
        }
    }

    /// A mask of the upper half of the lanes.
    fn upper(&mut self, k: VReg) -> VReg {
        let r = self.temp(RegClass::Vector);
        self.emit(
            Code::VEX_Kshiftrw_kr_kr_imm8,
            &[
                Operand::Def(r, RegView::K),
                Operand::Use(k, RegView::K),
                Operand::Imm(i64::from(self.target.lanes() / 2)),
            ],
        );
        r
    }

    /// `base + (index << shift)` by lanes.
    fn indexed(&mut self, number: u32, base: Value, index: Value) -> Address {
        let mut a = self.address(base, 0);
        if a.index.is_some() || a.constant.is_some() {
            let base = Some(self.reg(base));
            a = Address { base, ..Address::default() };
        }
        let mut index = self.reg(index);
        let mut lanes = self.target.whole;
        if number & 255 == 8 {
            lanes = self.target.half;
            if number >> 16 & 1 != 0 {
                index = self.half(index, 1);
            }
        }
        a.index = Some((index, 1 << (number >> 8 & 255)));
        a.lanes = Some(lanes);
        a
    }

    /// Where each lane's element is, for all of them one by one.
    fn places(&mut self, number: u32, base: Value, index: Value) -> Vec<Address> {
        if let Some(places) = self.constant_places(number, base, index) {
            return places;
        }
        let m = self.indexed(number, base, index);
        self.indices(m, number & 255 == 8)
    }

    /// The same where the distances are known: they are part of the instructions.
    fn constant_places(&mut self, number: u32, base: Value, index: Value) -> Option<Vec<Address>> {
        let bytes = self.bytes(index)?;
        let words = bytes.as_chunks::<4>().0.iter().map(|w| i64::from(i32::from_le_bytes(*w)));
        let mut distances: Vec<i64> = words.map(|w| w << (number >> 8 & 255)).collect();
        if number & 255 == 8 {
            let half = distances.len() / 2;
            let upper = if number >> 16 & 1 != 0 { half } else { 0 };
            distances = distances[upper..upper + half].to_vec();
        }
        let mut m = self.address(base, 0);
        if m.constant.is_some() {
            m = Address { base: Some(self.reg(base)), ..Address::default() };
        }
        let at = |d: &i64| i32::try_from(i64::from(m.disp) + d).ok();
        distances.iter().map(|d| Some(Address { disp: at(d)?, ..m })).collect()
    }

    /// Addresses as they are.
    fn long(&mut self, addresses: Value) -> Address {
        let index = Some((self.reg(addresses), 1));
        Address { index, lanes: Some(self.target.whole), ..Address::default() }
    }

    fn gather(&mut self, code: Code, d: VReg, view: RegView, k: VReg, m: Address) {
        let zero = self.zero();
        let spent = self.temp(RegClass::Vector);
        self.emit(code, &[Operand::Both(d, zero, view), Operand::Spent(spent, k), Operand::Mem(m)]);
    }

    /// Where each lane's element is: `m` with a vector of signed 32-bit indices, of which half count if `long`.
    fn indices(&mut self, m: Address, long: bool) -> Vec<Address> {
        let Some((indices, scale)) = m.index else { return Vec::new() };
        let mut at = Vec::new();
        let quarters = self.quarters_of_vector();
        for q in 0..if long { quarters / 2 } else { quarters } {
            for pair in self.longs(indices, q) {
                let [one, other] = std::array::from_fn(|_| self.temp(RegClass::Int));
                self.emit(
                    Code::Movsxd_r64_rm32,
                    &[Operand::Def(one, RegView::D), Operand::Use(pair, RegView::W)],
                );
                self.emit(
                    Code::Sar_rm64_imm8,
                    &[Operand::Both(other, pair, RegView::D), Operand::Imm(32)],
                );
                at.extend([one, other]);
            }
        }
        at.into_iter().map(|i| Address { index: Some((i, scale)), lanes: None, ..m }).collect()
    }

    /// The addresses of a vector.
    fn addresses_of(&mut self, v: Value) -> Vec<Address> {
        let x = self.reg(v);
        let mut at = Vec::new();
        for q in 0..self.quarters_of_vector() {
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
        let from = Operand::Use(part, RegView::X);
        self.emit(
            self.lane_code(V::ToGeneral, Element::Longs),
            &[Operand::Def(low, RegView::D), from],
        );
        self.emit(
            self.lane_code(V::GetLane, Element::Longs),
            &[Operand::Def(high, RegView::D), from, Operand::Imm(1)],
        );
        [low, high]
    }

    /// Elements from all these places, of 8 bytes where there are half as many as words.
    fn gather_all(&mut self, d: VReg, places: &[Address]) {
        let long = places.len() == self.target.lanes() as usize / 2;
        let (first, next) = if long {
            (self.lane_code(V::Load, Element::Longs), self.lane_code(V::SetLane, Element::Longs))
        } else {
            (self.lane_code(V::Load, Element::Words), self.lane_code(V::SetLane, Element::Words))
        };
        let mut made = Vec::new();
        for chunk in places.chunks(if long { 2 } else { 4 }) {
            let mut x = self.vector();
            self.emit(first, &[Operand::Def(x, RegView::X), Operand::Mem(chunk[0])]);
            for (n, m) in chunk.iter().enumerate().skip(1) {
                let y = self.vector();
                let n = Operand::Imm(n as i64);
                self.emit(
                    next,
                    &[
                        Operand::Def(y, RegView::X),
                        Operand::Use(x, RegView::X),
                        Operand::Mem(*m),
                        n,
                    ],
                );
                x = y;
            }
            made.push(x);
        }
        self.together(d, &made);
    }

    /// Elements to all these places, in order.
    fn scatter_all(&mut self, x: Value, places: &[Address]) {
        let long = places.len() == self.target.lanes() as usize / 2;
        let x = self.reg(x);
        for (q, chunk) in places.chunks(if long { 2 } else { 4 }).enumerate() {
            let part = if q == 0 {
                x
            } else {
                let r = self.vector();
                self.cut(r, x, q as u8);
                r
            };
            let from = Operand::Use(part, RegView::X);
            for (n, m) in chunk.iter().enumerate() {
                let (code, n) = match (long, n) {
                    (false, 0) => (self.lane_code(V::Store, Element::Words), None),
                    (true, 0) => (self.lane_code(V::Store, Element::Longs), None),
                    (false, n) => (self.lane_code(V::GetLane, Element::Words), Some(n)),
                    (true, n) => (self.lane_code(V::GetLane, Element::Longs), Some(n)),
                };
                match n {
                    None => self.emit(code, &[Operand::Mem(*m), from]),
                    Some(n) => self.emit(code, &[Operand::Mem(*m), from, Operand::Imm(n as i64)]),
                }
            }
        }
    }

    fn scatter(&mut self, code: Code, k: VReg, m: Address, x: Operand) {
        let spent = self.temp(RegClass::Vector);
        self.emit(code, &[Operand::Mem(m), Operand::Spent(spent, k), x]);
    }
}
