//! What pure micro-ops make of bytes that nobody wrote.
//!
//! A value has a bit for each of its bytes that is undefined (a predicate has one bit). Moves, cuts, extensions,
//! packing, bitwise operations with constants and shifts by whole bytes keep them apart; of any other operation, a
//! result is undefined as a whole when one of its sources has an undefined byte.

use ptx_isa::Kind;
use ptx_isa::uop::Op;

/// Undefined bytes by lane.
pub(crate) type Bytes = [u8; 32];

/// A source: its undefined bytes (`None`: it is defined), its value where that is known.
#[derive(Copy, Clone)]
pub(crate) struct Arg<'a> {
    pub bytes: Option<&'a Bytes>,
    pub constant: Option<u64>,
    /// Values by lane, of a register.
    pub values: Option<&'a [u64; 32]>,
}

impl Arg<'_> {
    fn at(&self, lane: usize) -> u8 {
        self.bytes.map_or(0, |b| b[lane])
    }
    fn value(&self, lane: usize) -> Option<u64> {
        self.constant.or_else(|| self.values.map(|v| v[lane]))
    }
}

/// All bytes of a kind.
pub(crate) const fn whole(kind: Kind) -> u8 {
    match kind {
        Kind::P => 1,
        Kind::W => 0xf,
        Kind::D => 0xff,
    }
}

/// Bytes of a constant that are not 0 (`ones`: not 0xff): those that `and` (`or`) lets through.
fn passing(constant: u64, ones: bool) -> u8 {
    let blocks = if ones { 0xff } else { 0 };
    let bytes = constant.to_le_bytes();
    (0..8).filter(|n| bytes[*n] != blocks).fold(0, |m, n| m | 1 << n)
}

/// Whether two equal sources give 0.
pub(crate) fn cancels(op: Op) -> bool {
    matches!(op, Op::XorW | Op::XorD | Op::SubW | Op::SubD | Op::XorP)
}

/// Whether [`lane`] asks for values of registers.
pub(crate) fn looks_at(op: Op) -> bool {
    matches!(op, Op::SelP | Op::SelW | Op::SelD | Op::AndW | Op::AndD | Op::OrW | Op::OrD)
}

/// Undefined bytes of `op`'s result in one lane; `out` is the result's kind.
pub(crate) fn lane(op: Op, args: &[Arg<'_>; 3], out: Kind, lane: usize) -> u8 {
    let [a, b, c] = args.map(|arg| arg.at(lane));
    let known = |n: usize| args[n].value(lane);
    let any = |bytes: u8| if bytes != 0 { whole(out) } else { 0 };
    let spread = |bytes: u8, top: u8, from: u8| {
        if bytes & top != 0 { bytes | whole(out) & !from } else { bytes }
    };
    match op {
        Op::MovP | Op::NotP | Op::MovW | Op::MovD | Op::NotW | Op::NotD => a,
        Op::ZextWD => a,
        Op::SextWD => spread(a, 8, 0xf),
        Op::TruncDW => a & 0xf,
        Op::HighDW => a >> 4,
        Op::PackWD => a & 0xf | b << 4,
        Op::Zext8 => a & 1,
        Op::Zext16 => a & 3,
        Op::Sext8 => spread(a & 1, 1, 1),
        Op::Sext16 => spread(a & 3, 2, 3),
        Op::Pack16 => a & 3 | (b & 3) << 2,
        Op::High16 => a >> 2,
        // One side decides alone where it is defined; which value it has is not always known.
        Op::AndP | Op::OrP | Op::AndNotP => a & b,
        Op::XorP => a | b,
        Op::SelP | Op::SelW | Op::SelD if c != 0 => whole(out),
        Op::SelP | Op::SelW | Op::SelD => match known(2) {
            Some(0) => b,
            Some(_) => a,
            None => a & b,
        },
        Op::AndW | Op::AndD | Op::OrW | Op::OrD => {
            let ones = matches!(op, Op::OrW | Op::OrD);
            let pass = |n: usize| if args[n].at(lane) == 0 { known(n) } else { None };
            match (pass(0), pass(1)) {
                (Some(v), _) => b & passing(v, ones),
                (_, Some(v)) => a & passing(v, ones),
                (None, None) => a | b,
            }
        }
        Op::XorW | Op::XorD => a | b,
        Op::ShlW | Op::ShlD | Op::ShrW | Op::ShrD if b == 0 => match known(1) {
            Some(n) if n % 8 == 0 && n < 64 => {
                let n = n / 8;
                let moved = match op {
                    Op::ShlW | Op::ShlD => u16::from(a) << n,
                    _ => u16::from(a) >> n,
                };
                moved as u8 & whole(out)
            }
            Some(n) if n >= 64 => 0,
            // Within the bytes that the value can reach.
            _ => any(a),
        },
        Op::BfeUW | Op::BfeUD if b == 0 && c == 0 => match (known(1), known(2)) {
            (Some(at), Some(len)) => {
                let (first, last) = (at / 8, (at + len.max(1) - 1) / 8);
                let mask = (first..=last.min(7)).fold(0u8, |m, n| m | 1 << n);
                any(a & mask)
            }
            _ => any(a),
        },
        Op::Prmt if c == 0 => match args[2].constant {
            Some(selector) => {
                let all = a & 0xf | b << 4;
                (0..4).fold(0, |m, n| m | (all >> (selector >> (4 * n) & 7) & 1) << n)
            }
            None => any(a | b),
        },
        _ => any(a | b | c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(op: Op, given: [(u8, Option<u64>); 3], out: Kind) -> u8 {
        let bytes = given.map(|(b, _)| [b; 32]);
        let arg = |n: usize| Arg { bytes: Some(&bytes[n]), constant: given[n].1, values: None };
        lane(op, &[arg(0), arg(1), arg(2)], out, 5)
    }

    #[test]
    fn moves_keep_bytes_apart() {
        let none = (0, None);
        assert_eq!(result(Op::PackWD, [(1, None), (8, None), none], Kind::D), 0x81);
        assert_eq!(result(Op::HighDW, [(0x81, None), none, none], Kind::W), 8);
        assert_eq!(result(Op::Sext8, [(1, None), none, none], Kind::W), 0xf);
        assert_eq!(result(Op::Zext8, [(2, None), none, none], Kind::W), 0);
        assert_eq!(result(Op::AndW, [(0xf, None), (0, Some(0xff00)), none], Kind::W), 2);
        assert_eq!(result(Op::ShrW, [(8, None), (0, Some(24)), none], Kind::W), 1);
        assert_eq!(result(Op::Prmt, [(1, None), (2, None), (0, Some(0x5040))], Kind::W), 0b1101);
    }

    #[test]
    fn arithmetic_spreads() {
        let none = (0, None);
        assert_eq!(result(Op::AddW, [(1, None), none, none], Kind::W), 0xf);
        assert_eq!(result(Op::AddW, [none, none, none], Kind::W), 0);
        assert_eq!(result(Op::SelW, [(1, None), none, (0, Some(0))], Kind::W), 0);
        assert_eq!(result(Op::SelW, [none, none, (1, None)], Kind::W), 0xf);
        assert_eq!(result(Op::AndP, [(1, None), none, none], Kind::P), 0);
    }
}
