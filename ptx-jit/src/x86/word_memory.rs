//! Words that read and write memory: narrow elements, masks, lanes at places of their own.

use cranelift_codegen::ir::{InstructionData, Opcode, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::encodings::{Element, Operation as V};
use super::inst::{Address, Operand};
use super::registers::RegView;
use super::select::{Refused, Selector};
use super::words::Word;

/// Where each lane's element is.
enum Places {
    Constant(Vec<Address>),
    /// An address with a vector of 32-bit indices, which may have a sign.
    Index(Address, bool),
    /// Vectors of addresses: one for elements of 8 bytes, two for words.
    Addresses(Vec<VReg>),
}

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
                let places = self.places(number, args[1], args[2], true);
                self.gather_all(made()?, &places, number & 255);
            }
            Word::GatherLong if self.all_on(args[0]) => {
                let places = Places::Addresses(vec![self.reg(args[1])]);
                self.gather_all(made()?, &places, 8);
            }
            Word::GatherWords if self.all_on(args[0]) => {
                let places = Places::Addresses(vec![self.reg(args[1]), self.reg(args[2])]);
                self.gather_all(made()?, &places, 4);
            }
            Word::GatherNarrow => {
                let places = self.places(number, args[0], args[1], false);
                self.gather_all(made()?, &places, number & 255);
            }
            Word::GatherNarrowAt => {
                let places = Places::Addresses(vec![self.reg(args[0]), self.reg(args[1])]);
                self.gather_all(made()?, &places, number);
            }
            Word::Scatter if self.all_on(args[0]) => {
                let places = self.places(number, args[1], args[2], true);
                self.scatter_all(args[3], &places, number & 255);
            }
            Word::ScatterLong if self.all_on(args[0]) => {
                let places = Places::Addresses(vec![self.reg(args[1])]);
                self.scatter_all(args[2], &places, 8);
            }
            Word::ScatterWords if self.all_on(args[0]) => {
                let places = Places::Addresses(vec![self.reg(args[1]), self.reg(args[2])]);
                self.scatter_all(args[3], &places, 4);
            }
            Word::ScatterNarrow => {
                let places = self.places(number, args[0], args[1], false);
                self.scatter_all(args[2], &places, number & 255);
            }
            Word::ScatterNarrowAt => {
                let places = Places::Addresses(vec![self.reg(args[0]), self.reg(args[1])]);
                self.scatter_all(args[2], &places, number);
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
    fn places(&mut self, number: u32, base: Value, index: Value, signed: bool) -> Places {
        match self.constant_places(number, base, index) {
            Some(places) => Places::Constant(places),
            None => Places::Index(self.indexed(number, base, index), signed),
        }
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

    /// The places of a quarter of the elements' words: four, or two of elements of 8 bytes. What they need comes right
    /// before, so that few of it live at once.
    fn places_of(&mut self, places: &Places, quarter: u8, each: usize) -> Vec<Address> {
        match places {
            Places::Constant(all) => {
                let first = usize::from(quarter) * each;
                all[first..first + each].to_vec()
            }
            Places::Index(m, signed) => {
                let Some((indices, scale)) = m.index else { return Vec::new() };
                // Indices are words, of which an element of 8 bytes has two.
                let longs = match each {
                    2 => vec![self.long_of(indices, quarter / 2, i64::from(quarter % 2))],
                    _ => self.longs(indices, quarter).to_vec(),
                };
                let mut at = Vec::new();
                for pair in longs {
                    let [one, other] = std::array::from_fn(|_| self.temp(RegClass::Int));
                    let (low, high) = match signed {
                        true => ((Code::Movsxd_r64_rm32, RegView::D), Code::Sar_rm64_imm8),
                        false => ((Code::Mov_r32_rm32, RegView::W), Code::Shr_rm64_imm8),
                    };
                    self.emit(low.0, &[Operand::Def(one, low.1), Operand::Use(pair, RegView::W)]);
                    self.emit(high, &[Operand::Both(other, pair, RegView::D), Operand::Imm(32)]);
                    at.extend([one, other]);
                }
                at.into_iter()
                    .map(|i| Address { index: Some((i, scale)), lanes: None, ..*m })
                    .collect()
            }
            Places::Addresses(vectors) => {
                let quarters = self.quarters_of_vector();
                let mut at = Vec::new();
                for n in (0..each / 2).map(|n| quarter * (each / 2) as u8 + n as u8) {
                    at.extend(self.longs(vectors[usize::from(n / quarters)], n % quarters));
                }
                at.into_iter().map(|a| Address { base: Some(a), ..Address::default() }).collect()
            }
        }
    }

    /// A quarter of a vector as a vector of its own.
    fn part(&mut self, x: VReg, quarter: u8) -> VReg {
        if quarter == 0 {
            return x;
        }
        let r = self.vector();
        self.cut(r, x, quarter);
        r
    }

    /// The lower (`n` 0) or upper 64 bits of a quarter.
    fn long_of(&mut self, x: VReg, quarter: u8, n: i64) -> VReg {
        let part = self.part(x, quarter);
        let d = self.temp(RegClass::Int);
        let (to, from) = (Operand::Def(d, RegView::D), Operand::Use(part, RegView::X));
        if n == 0 {
            self.emit(self.lane_code(V::ToGeneral, Element::Longs), &[to, from]);
        } else {
            let code = self.lane_code(V::GetLane, Element::Longs);
            self.emit(code, &[to, from, Operand::Imm(n)]);
        }
        d
    }

    /// Both.
    fn longs(&mut self, x: VReg, quarter: u8) -> [VReg; 2] {
        let part = self.part(x, quarter);
        [0, 1].map(|n| self.long_of(part, 0, n))
    }

    /// How many elements of so many bytes 128 bits of a vector of them are.
    fn elements_of_quarter(bytes: u32) -> usize {
        if bytes == 8 { 2 } else { 4 }
    }

    /// Elements of `bytes` bytes from all these places; of fewer than 4 each is the low part of a word.
    fn gather_all(&mut self, d: VReg, places: &Places, bytes: u32) {
        let each = Self::elements_of_quarter(bytes);
        let (first, next) = match bytes {
            1 => (None, self.lane_code(V::InsertByte, Element::Words)),
            2 => (None, self.lane_code(V::InsertShort, Element::Words)),
            4 => (
                Some(self.lane_code(V::Load, Element::Words)),
                self.lane_code(V::SetLane, Element::Words),
            ),
            _ => (
                Some(self.lane_code(V::Load, Element::Longs)),
                self.lane_code(V::SetLane, Element::Longs),
            ),
        };
        // Bytes and halves are counted, of which a word has several.
        let step = if bytes < 4 { 4 / bytes } else { 1 };
        let mut made = Vec::new();
        for quarter in 0..self.quarters_of_vector() {
            let chunk = self.places_of(places, quarter, each);
            let mut x = match first {
                Some(first) => {
                    let x = self.vector();
                    self.emit(first, &[Operand::Def(x, RegView::X), Operand::Mem(chunk[0])]);
                    x
                }
                None => self.zero(),
            };
            for (n, m) in chunk.iter().enumerate().skip(usize::from(first.is_some())) {
                let y = self.vector();
                let n = Operand::Imm(i64::from(step) * n as i64);
                let from = Operand::Use(x, RegView::X);
                self.emit(next, &[Operand::Def(y, RegView::X), from, Operand::Mem(*m), n]);
                x = y;
            }
            made.push(x);
        }
        self.together(d, &made);
    }

    /// Elements of `bytes` bytes to all these places, in order; of fewer than 4 the low part of each word.
    fn scatter_all(&mut self, x: Value, places: &Places, bytes: u32) {
        let each = Self::elements_of_quarter(bytes);
        let x = self.reg(x);
        for quarter in 0..self.quarters_of_vector() {
            let chunk = self.places_of(places, quarter, each);
            let part = self.part(x, quarter);
            let from = Operand::Use(part, RegView::X);
            for (n, m) in chunk.iter().enumerate() {
                let (code, n) = match (bytes, n) {
                    (1, n) => (self.lane_code(V::GetByte, Element::Words), Some(4 * n)),
                    (2, n) => (self.lane_code(V::GetShort, Element::Words), Some(2 * n)),
                    (8, 0) => (self.lane_code(V::Store, Element::Longs), None),
                    (8, n) => (self.lane_code(V::GetLane, Element::Longs), Some(n)),
                    (_, 0) => (self.lane_code(V::Store, Element::Words), None),
                    (_, n) => (self.lane_code(V::GetLane, Element::Words), Some(n)),
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
