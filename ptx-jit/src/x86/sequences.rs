//! What vectors of 256 bits have no instruction of their own for, as a few of those that they have.

use cranelift_codegen::ir::types::I32;
use cranelift_codegen::ir::{Opcode, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::encodings::{Element, Operation as V};
use super::inst::{Address, Operand};
use super::registers::RegView;
use super::select::{Refused, Selector};

impl Selector<'_> {
    /// `d = x op y` into a register that is given.
    pub(super) fn two_to(&mut self, d: VReg, op: V, element: Element, x: Operand, y: Operand) {
        let to = Operand::Def(d, self.target.whole);
        self.emit(self.code(op, element), &[to, x, y]);
    }

    /// `x op y` in a register for between.
    pub(super) fn two(&mut self, op: V, element: Element, x: Operand, y: Operand) -> VReg {
        let d = self.vector();
        self.two_to(d, op, element, x, y);
        d
    }

    /// `op(x)` in a register for between.
    fn one_of(&mut self, op: V, element: Element, x: Operand) -> VReg {
        let d = self.vector();
        let to = Operand::Def(d, self.target.whole);
        self.emit(self.code(op, element), &[to, x]);
        d
    }

    /// A whole vector register that is read.
    pub(super) fn whole(&self, x: VReg) -> Operand {
        Operand::Use(x, self.target.whole)
    }

    /// The same element in all lanes, as an operand.
    pub(super) fn every(&mut self, element: &[u8]) -> Operand {
        if self.target.each {
            return Operand::Each(self.constant(element.to_vec()));
        }
        let bytes = element.repeat(self.target.bytes as usize / element.len());
        Operand::Mem(self.constant(bytes))
    }

    /// All ones where a long is negative.
    fn negative(&mut self, x: VReg) -> VReg {
        let (zero, x) = (self.zero(), self.whole(x));
        let zero = self.whole(zero);
        self.two(V::Greater, Element::Longs, zero, x)
    }

    /// Longs moved right with their sign: those below 0 are turned over, before and after.
    pub(super) fn shift_longs(
        &mut self,
        d: VReg,
        x: VReg,
        shift: impl FnOnce(&mut Self, Operand) -> VReg,
    ) {
        let sign = self.negative(x);
        let (sign, x) = (self.whole(sign), self.whole(x));
        let turned = self.two(V::Xor, Element::Longs, x, sign);
        let turned = self.whole(turned);
        let moved = shift(self, turned);
        let moved = self.whole(moved);
        self.two_to(d, V::Xor, Element::Longs, moved, sign);
    }

    /// An operation of two vectors.
    pub(super) fn binary_sequence(
        &mut self,
        op: Opcode,
        element: Element,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        match (op, element) {
            (Opcode::Imul, Element::Longs) => self.long_product(d, x, y),
            (Opcode::Umin | Opcode::Umax | Opcode::Smin | Opcode::Smax, Element::Longs) => {
                let (a, b) = (self.reg(x), self.reg(y));
                let greater = self.vector();
                let unsigned = matches!(op, Opcode::Umin | Opcode::Umax);
                let cond = if unsigned {
                    cranelift_codegen::ir::condcodes::IntCC::UnsignedGreaterThan
                } else {
                    cranelift_codegen::ir::condcodes::IntCC::SignedGreaterThan
                };
                self.compare_lanes(cond, greater, x, y);
                let most = matches!(op, Opcode::Umax | Opcode::Smax);
                let (first, other) = if most { (a, b) } else { (b, a) };
                let first = self.whole(first);
                self.choose_lanes(d, element, greater, first, other);
            }
            _ => return Err(format!("{op} of such vectors")),
        }
        Ok(())
    }

    /// The lower 64 bits of products of longs.
    fn long_product(&mut self, d: VReg, x: Value, y: Value) {
        let (x, y) = (self.z(x), self.z(y));
        // The halves that cross: each word times the other half of the other factor.
        let swapped = self.vector();
        let to = Operand::Def(swapped, self.target.whole);
        self.emit(self.code(V::SwapWords, Element::Words), &[to, y, Operand::Imm(0xb1)]);
        let swapped = self.whole(swapped);
        let cross = self.two(V::Mul, Element::Words, x, swapped);
        let cross = self.whole(cross);
        let upper = self.two(V::ShrBy, Element::Longs, cross, Operand::Imm(32));
        let upper = self.whole(upper);
        let sum = self.two(V::Add, Element::Words, cross, upper);
        let sum = self.whole(sum);
        let sum = self.two(V::ShlBy, Element::Longs, sum, Operand::Imm(32));
        let sum = self.whole(sum);
        let low = self.two(V::ProductU, Element::Longs, x, y);
        let low = self.whole(low);
        self.two_to(d, V::Add, Element::Longs, low, sum);
    }

    /// An operation of one vector.
    pub(super) fn unary_sequence(
        &mut self,
        op: Opcode,
        element: Element,
        d: VReg,
        x: Value,
    ) -> Result<(), Refused> {
        let integers = self.ty(x).lane_type().is_int();
        match (op, element) {
            (Opcode::Iabs, Element::Longs) => {
                let x = self.reg(x);
                let sign = self.negative(x);
                let (sign, x) = (self.whole(sign), self.whole(x));
                let turned = self.two(V::Xor, element, x, sign);
                let turned = self.whole(turned);
                self.two_to(d, V::Sub, element, turned, sign);
            }
            (Opcode::Popcnt, _) => self.count_ones(d, element, x),
            (Opcode::FcvtFromUint, Element::Words) if integers => {
                // The upper and the lower 16 bits are exact numbers: only their sum is rounded.
                let x = self.z(x);
                let upper = self.two(V::ShrBy, element, x, Operand::Imm(16));
                let low = self.every(&0xffffu32.to_le_bytes());
                let lower = self.two(V::And, element, x, low);
                let [upper, lower] = [upper, lower].map(|x| {
                    let x = self.whole(x);
                    self.one_of(V::FloatOfS, element, x)
                });
                let (upper, lower) = (self.whole(upper), self.whole(lower));
                let unit = self.every(&65536f32.to_le_bytes());
                let upper = self.two(V::MulF, element, upper, unit);
                let upper = self.whole(upper);
                self.two_to(d, V::AddF, element, upper, lower);
            }
            _ => return Err(format!("{op} of such vectors")),
        }
        Ok(())
    }

    /// Numbers of at least 0 cut to integers; what is too great has all bits set.
    pub(super) fn cut_unsigned(&mut self, d: VReg, x: VReg) {
        let words = Element::Words;
        let x = self.whole(x);
        // What is 2^31 or more gives that, whose sign says that the rest above it is wanted.
        let low = self.one_of(V::CutToS, words, x);
        let low = self.whole(low);
        let half = self.every(&2f32.powi(31).to_le_bytes());
        let rest = self.two(V::SubF, words, x, half);
        let rest = self.whole(rest);
        let rest = self.one_of(V::CutToS, words, rest);
        let (rest, great) = (self.whole(rest), self.vector());
        let limit = self.every(&2f32.powi(32).to_le_bytes());
        self.compare_by(great, words, 0x1d, x, limit);
        let wanted = self.two(V::SarBy, words, low, Operand::Imm(31));
        let wanted = self.whole(wanted);
        let rest = self.two(V::And, words, rest, wanted);
        let (rest, great) = (self.whole(rest), self.whole(great));
        let all = self.two(V::Or, words, low, rest);
        let all = self.whole(all);
        self.two_to(d, V::Or, words, all, great);
    }

    /// Numbers cut to integers; what is too great becomes the greatest, a NaN 0.
    pub(super) fn cut_signed(&mut self, d: VReg, x: Operand) {
        let words = Element::Words;
        // What is too great gives the least integer, which is the greatest turned over.
        let raw = self.one_of(V::CutToS, words, x);
        let [great, number] = std::array::from_fn(|_| self.vector());
        let limit = self.every(&2f32.powi(31).to_le_bytes());
        self.compare_by(great, words, 0x1d, x, limit);
        self.compare_by(number, words, 7, x, x);
        let (raw, great, number) = (self.whole(raw), self.whole(great), self.whole(number));
        let cut = self.two(V::Xor, words, raw, great);
        let cut = self.whole(cut);
        self.two_to(d, V::And, words, cut, number);
    }

    /// Bits that are set in each lane: those of four bits by a table, and their sums.
    fn count_ones(&mut self, d: VReg, element: Element, x: Value) {
        let words = Element::Words;
        let x = self.z(x);
        let table = self.vector();
        let counts: Vec<u8> = (0..16u8).map(|n| n.count_ones() as u8).collect();
        self.load_bytes(&counts.repeat(self.target.bytes as usize / 16), table);
        let table = self.whole(table);
        let four = self.every(&[15; 4]);
        let low = self.two(V::And, words, x, four);
        let high = self.two(V::ShrBy, words, x, Operand::Imm(4));
        let high = self.whole(high);
        let four = self.every(&[15; 4]);
        let high = self.two(V::And, words, high, four);
        let [low, high] = [low, high].map(|n| {
            let n = self.whole(n);
            self.two(V::SwapBytes, words, table, n)
        });
        let (low, high) = (self.whole(low), self.whole(high));
        let bytes = self.two(V::Add8, words, low, high);
        let bytes = self.whole(bytes);
        match element {
            Element::Words => {
                let units = self.every(&[1; 4]);
                let halves = self.two(V::SumBytes, words, bytes, units);
                let (halves, units) = (self.whole(halves), self.every(&[1, 0, 1, 0]));
                self.two_to(d, V::SumHalves, words, halves, units);
            }
            Element::Longs => {
                let zero = self.zero();
                let zero = self.whole(zero);
                self.two_to(d, V::SumBytes, Element::Longs, bytes, zero);
            }
        }
    }

    /// Leading zeros of each lane.
    pub(super) fn leading_zeros(&mut self, d: VReg, element: Element, x: Value) {
        let x = self.z(x);
        if element == Element::Words {
            return self.leading_zeros_of_words(d, x);
        }
        let each = self.vector();
        self.leading_zeros_of_words(each, x);
        let each = self.whole(each);
        let upper = self.two(V::ShrBy, element, each, Operand::Imm(32));
        let low = self.every(&0xffff_ffffu64.to_le_bytes());
        let lower = self.two(V::And, element, each, low);
        let (upper, lower) = (self.whole(upper), self.whole(lower));
        // Those of the lower word count where the upper one is 0.
        let all = self.every(&32u64.to_le_bytes());
        let none = self.two(V::Equal, element, upper, all);
        let none = self.whole(none);
        let more = self.two(V::And, element, lower, none);
        let more = self.whole(more);
        self.two_to(d, V::Add, element, upper, more);
    }

    /// By the exponent of the number that a word is, of which only the highest bits are left: nothing is rounded.
    fn leading_zeros_of_words(&mut self, d: VReg, x: Operand) {
        let words = Element::Words;
        let next = self.two(V::ShrBy, words, x, Operand::Imm(1));
        let next = self.whole(next);
        let top = self.two(V::AndNot, words, next, x);
        let top = self.whole(top);
        let number = self.one_of(V::FloatOfS, words, top);
        let number = self.whole(number);
        // With the sign of a word whose highest bit is set, which makes the difference negative.
        let exponent = self.two(V::ShrBy, words, number, Operand::Imm(23));
        let (exponent, most) = (self.whole(exponent), self.vector());
        self.load_bytes(&158u32.to_le_bytes().repeat(self.target.lanes() as usize), most);
        let most = self.whole(most);
        let zeros = self.two(V::Sub, words, most, exponent);
        let (zeros, none) = (self.whole(zeros), self.zero());
        let none = self.whole(none);
        let zeros = self.two(V::MaxS, words, zeros, none);
        let (zeros, bits) = (self.whole(zeros), self.every(&32u32.to_le_bytes()));
        self.two_to(d, V::MinS, words, zeros, bits);
    }

    /// Lanes turned left by `n` bits.
    pub(super) fn rotate(&mut self, d: VReg, element: Element, x: Value, n: i64) {
        let bits = i64::from(element.bytes()) * 8;
        let x = self.z(x);
        if n % 8 == 0 {
            // Bytes in another order.
            let size = element.bytes();
            let from = |b: u32| (b & !(size - 1)) + (b + size - n as u32 / 8) % size;
            let order: Vec<u8> = (0..16).map(|b| from(b) as u8).collect();
            let order = Operand::Mem(self.constant(order.repeat(self.target.bytes as usize / 16)));
            return self.two_to(d, V::SwapBytes, Element::Words, x, order);
        }
        let left = self.two(V::ShlBy, element, x, Operand::Imm(n));
        let right = self.two(V::ShrBy, element, x, Operand::Imm(bits - n));
        let (left, right) = (self.whole(left), self.whole(right));
        self.two_to(d, V::Or, element, left, right);
    }

    /// The lower or upper words of longs, of two vectors.
    pub(super) fn halves_of_longs(&mut self, d: VReg, upper: bool, x: Value, y: Value) {
        let y = self.lanes(y, 8);
        let x = self.z(x);
        let picked = self.vector();
        let which = Operand::Imm(if upper { 0xdd } else { 0x88 });
        let to = Operand::Def(picked, self.target.whole);
        self.emit(self.code(V::PickWords, Element::Words), &[to, x, y, which]);
        self.order_longs(d, picked, 0xd8);
    }

    fn order_longs(&mut self, d: VReg, x: VReg, order: i64) {
        let (to, x) = (Operand::Def(d, self.target.whole), self.whole(x));
        self.emit(self.code(V::PermuteBy, Element::Longs), &[to, x, Operand::Imm(order)]);
    }

    /// Words of `x` and `y` by constant numbers.
    pub(super) fn permute_words(
        &mut self,
        d: VReg,
        x: Value,
        y: Value,
        which: &[u32],
    ) -> Result<(), Refused> {
        let lanes = self.target.lanes();
        if which.len() != lanes as usize {
            return Err("a permutation of other vectors".into());
        }
        if let Some(upper) = in_turn(which) {
            return self.words_in_turn(d, x, y, upper);
        }
        if let Some(upper) = every_second(which) {
            self.halves_of_longs(d, upper, x, y);
            return Ok(());
        }
        if let Some((op, element, number)) = one_instruction(which) {
            let (to, x) = (Operand::Def(d, self.target.whole), self.z(x));
            let mut operands = vec![to, x];
            if op != V::SwapWords {
                operands.push(self.z(y));
            }
            operands.extend(number.map(Operand::Imm));
            self.emit(self.code(op, element), &operands);
            return Ok(());
        }
        let taken = which.iter().enumerate().fold(0i64, |m, (n, w)| m | i64::from(w / lanes) << n);
        let all = self.target.all_lanes();
        let to = Operand::Def(d, self.target.whole);
        let mut parts = Vec::new();
        for (source, mine) in [(x, !taken & all), (y, taken)] {
            if mine == 0 {
                continue;
            }
            let source = self.z(source);
            let wanted = |n: usize| mine >> n & 1 != 0;
            if which.iter().enumerate().all(|(n, w)| !wanted(n) || w % lanes == n as u32) {
                parts.push(source);
                continue;
            }
            let order: Vec<u8> = which.iter().flat_map(|w| (w % lanes).to_le_bytes()).collect();
            let index = self.vector();
            self.load_bytes(&order, index);
            let index = self.whole(index);
            if mine == all {
                self.two_to(d, V::Permute, Element::Words, index, source);
                return Ok(());
            }
            let part = self.two(V::Permute, Element::Words, index, source);
            parts.push(self.whole(part));
        }
        // With one part this is a move.
        let code = self.code(V::ChooseBy, Element::Words);
        self.emit(code, &[to, parts[0], parts[parts.len() - 1], Operand::Imm(taken)]);
        Ok(())
    }

    /// The words of two vectors in turn, of their lower or upper halves.
    fn words_in_turn(&mut self, d: VReg, x: Value, y: Value, upper: bool) -> Result<(), Refused> {
        let (x, y) = (self.z(x), self.z(y));
        let low = self.two(V::LowerInTurn, Element::Words, x, y);
        let high = self.two(V::UpperInTurn, Element::Words, x, y);
        let (to, low, high) =
            (Operand::Def(d, self.target.whole), self.whole(low), self.whole(high));
        let which = Operand::Imm(if upper { 0x31 } else { 0x20 });
        self.emit(self.code(V::PickHalves, Element::Longs), &[to, low, high, which]);
        Ok(())
    }

    /// The low `bytes` of each word to places side by side.
    pub(super) fn store_narrow(&mut self, x: Value, m: Address, bytes: u32) -> Result<(), Refused> {
        let mask = match bytes {
            1 => 0xffu32,
            2 => 0xffff,
            _ => return Err("a narrow store".into()),
        };
        let x = self.z(x);
        let mask = self.every(&mask.to_le_bytes());
        let low = self.two(V::And, Element::Words, x, mask);
        let high = self.vector();
        self.cut(high, low, 1);
        let pack = |me: &mut Self, op: V, x: VReg, y: VReg| {
            let d = me.vector();
            let [x, y] = [x, y].map(|v| Operand::Use(v, RegView::X));
            me.emit(me.lane_code(op, Element::Words), &[Operand::Def(d, RegView::X), x, y]);
            d
        };
        let halves = pack(self, V::PackWords, low, high);
        if bytes == 2 {
            let from = Operand::Use(halves, RegView::X);
            self.emit(self.lane_code(V::StoreQuarter, Element::Words), &[Operand::Mem(m), from]);
            return Ok(());
        }
        let packed = pack(self, V::PackHalves, halves, halves);
        let from = Operand::Use(packed, RegView::X);
        self.emit(self.lane_code(V::ToGeneral, Element::Longs), &[Operand::Mem(m), from]);
        Ok(())
    }

    /// A number in lane 0 of an unsigned integer, by way of 64 bits.
    pub(super) fn number_of_unsigned(&mut self, d: VReg, element: Element, x: Value) {
        debug_assert_eq!(self.ty(x), I32);
        let (x, long) = (self.reg(x), self.temp(RegClass::Int));
        self.emit(
            Code::Mov_r32_rm32,
            &[Operand::Def(long, RegView::W), Operand::Use(x, RegView::W)],
        );
        let zero = self.zero();
        self.emit(
            self.lane_code(V::FloatOfLong, element),
            &[
                Operand::Def(d, RegView::X),
                Operand::Use(zero, RegView::X),
                Operand::Use(long, RegView::D),
            ],
        );
    }
}

/// Whether numbers of words are those of two vectors in turn, of their lower halves (`false`) or their upper ones.
fn in_turn(which: &[u32]) -> Option<bool> {
    let lanes = which.len() as u32;
    let from = |first: u32| (0..lanes).map(move |n| first + n / 2 + lanes * (n % 2));
    [0, lanes / 2]
        .into_iter()
        .position(|first| from(first).eq(which.iter().copied()))
        .map(|n| n == 1)
}

/// Whether numbers of words are every second of two vectors, from the first (`false`) or the second on.
fn every_second(which: &[u32]) -> Option<bool> {
    [0, 1]
        .into_iter()
        .position(|first| which.iter().enumerate().all(|(n, w)| *w == 2 * n as u32 + first))
        .map(|n| n == 1)
}

/// The instruction that takes eight words of two vectors by these numbers, and the number in it, where there is one.
fn one_instruction(which: &[u32]) -> Option<(V, Element, Option<i64>)> {
    let which: [u32; 8] = which.try_into().ok()?;
    let fixed = [
        (V::LowerInTurn, Element::Words, [0, 8, 1, 9, 4, 12, 5, 13]),
        (V::UpperInTurn, Element::Words, [2, 10, 3, 11, 6, 14, 7, 15]),
        (V::LowerInTurn, Element::Longs, [0, 1, 8, 9, 4, 5, 12, 13]),
        (V::UpperInTurn, Element::Longs, [2, 3, 10, 11, 6, 7, 14, 15]),
    ];
    if let Some((op, element, _)) = fixed.into_iter().find(|f| f.2 == which) {
        return Some((op, element, None));
    }
    let [low, high] = [0, 4].map(|n| [which[n], which[n + 1], which[n + 2], which[n + 3]]);
    let half = |w: [u32; 4]| {
        (w[0].is_multiple_of(4) && (1..4).all(|n| w[n] == w[0] + n as u32))
            .then_some(i64::from(w[0] / 4))
    };
    if let (Some(low), Some(high)) = (half(low), half(high)) {
        return Some((V::PickHalves, Element::Longs, Some(low | high << 4)));
    }
    // The same in both halves.
    let number = |from: [u32; 4]| {
        let alike =
            (0..4).all(|n| (from[n]..from[n] + 4).contains(&low[n]) && high[n] == low[n] + 4);
        let place = |n: usize| i64::from(low[n] - from[n]) << (2 * n);
        alike.then(|| (0..4).map(place).sum::<i64>())
    };
    let of_one = number([0; 4]).map(|n| (V::SwapWords, Element::Words, Some(n)));
    of_one.or_else(|| number([0, 0, 8, 8]).map(|n| (V::PickWords, Element::Words, Some(n))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the instruction does, from the manual of the processor.
    fn done((op, element, number): (V, Element, Option<i64>)) -> Vec<u32> {
        let number = number.unwrap_or(0) as u32;
        let two = |n: u32| number >> (2 * n) & 3;
        let half = |n: u32| (0..4).map(move |w| 4 * n + w);
        let longs = element == Element::Longs;
        match op {
            V::PickHalves => half(number & 3).chain(half(number >> 4 & 3)).collect(),
            V::SwapWords => (0..8).map(|l| l / 4 * 4 + two(l % 4)).collect(),
            V::PickWords => {
                (0..8).map(|l| l / 4 * 4 + two(l % 4) + if l % 4 < 2 { 0 } else { 8 }).collect()
            }
            V::LowerInTurn | V::UpperInTurn => {
                let first = if op == V::LowerInTurn { 0 } else { 2 };
                let place = |n: u32| {
                    if longs { first + n % 2 + n / 2 * 8 } else { first + n / 2 + n % 2 * 8 }
                };
                (0..8).map(|l| l / 4 * 4 + place(l % 4)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_instruction_does_what_is_asked() {
        let mut found = 0;
        // All that can be one instruction, and as many others.
        let mut seed = 1u32;
        let mut next = |n: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % n
        };
        for turn in 0..20_000 {
            let [a, b, c, d] = [(); 4].map(|()| next(4));
            let which: Vec<u32> = match turn % 4 {
                0 => [a, b, c, d].iter().flat_map(|n| [2 * n, 2 * n + 1 + next(2)]).collect(),
                1 => (0..8).map(|l| l / 4 * 4 + [a, b, c + 8, d + 8][l as usize % 4]).collect(),
                2 => (0..8).map(|l| l / 4 * 4 + [a, b, c, d][l as usize % 4]).collect(),
                _ => [a, b].iter().flat_map(|h| (0..4).map(move |w| 4 * h + w)).collect(),
            };
            if let Some(one) = one_instruction(&which) {
                assert_eq!(done(one), which, "{one:?}");
                found += 1;
            } else {
                assert_eq!(turn % 4, 0, "{which:?}");
            }
        }
        assert!(found >= 15_000);
        for which in [
            [0, 8, 1, 9, 4, 12, 5, 13],
            [2, 10, 3, 11, 6, 14, 7, 15],
            [0, 1, 8, 9, 4, 5, 12, 13],
            [2, 3, 10, 11, 6, 7, 14, 15],
        ] {
            let one = one_instruction(&which).unwrap();
            assert_eq!((done(one), one.2), (which.to_vec(), None));
        }
    }
}
