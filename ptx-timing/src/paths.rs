//! Instructions whose machine code goes another way for some operands.
//!
//! Divisions, reciprocals and roots of floats look at their operands first: what is zero, subnormal or far from 1 goes
//! through a routine. Which operands do was measured on an H200 by exponents, and read off machine code of ptxas 13.5
//! for sm_90a.

use ptx_interp::Moment;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::{Class, Kind};

use crate::event::Path;

/// Where an operand's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(Kind, u32),
    Constant(u64),
}

/// An instruction that looks at its operands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looks {
    pub class: Class,
    /// The second is zero where there is none.
    pub operands: [Operand; 2],
}

impl Looks {
    /// Of an instruction's micro-operations, if there is another path.
    pub fn of(class: Class, uops: &[Uop]) -> Option<Self> {
        if !has_paths(class) {
            return None;
        }
        let mut made: Vec<(Kind, u32)> = Vec::new();
        let mut operands = Vec::new();
        let register = |v: &V| match v.src {
            Src::Reg(n) => Some((v.kind, n)),
            _ => None,
        };
        for uop in uops {
            let Uop::Pure { op, dst, args, .. } = uop else { return None };
            for v in &args[..op.args().len()] {
                match (register(v), v.fixed()) {
                    // What an earlier one made is no operand.
                    (Some(r), _) if made.contains(&r) => {}
                    (Some((kind, n)), _) => operands.push(Operand::Register(kind, n)),
                    (None, Some(bits)) => operands.push(Operand::Constant(bits)),
                    (None, None) => return None,
                }
            }
            made.extend(register(dst));
        }
        // A reciprocal is a quotient of 1.
        if matches!(class, Class::F32Rcp | Class::F64Rcp) {
            operands.retain(|o| matches!(o, Operand::Register(..)));
        }
        let first = *operands.first()?;
        let second = operands.get(1).copied().unwrap_or(Operand::Constant(0));
        Some(Self { class, operands: [first, second] })
    }

    /// The path that some lanes of a warp are about to take.
    pub fn path(&self, moment: &Moment<'_>, lanes: u32) -> Option<Path> {
        let [a, b] = self.operands.map(|operand| match operand {
            Operand::Register(kind, number) => moment.register(kind, number),
            Operand::Constant(bits) => Some([bits; 32]),
        });
        let (a, b) = (a?, b?);
        let other = (0..32).filter(|l| lanes >> l & 1 != 0 && other(self.class, a[*l], b[*l]));
        match (other.count() as u32, lanes.count_ones()) {
            (0, _) => None,
            (some, all) if some == all => Some(Path::Other),
            _ => Some(Path::Mixed),
        }
    }
}

fn has_paths(class: Class) -> bool {
    matches!(
        class,
        Class::F32Div
            | Class::F32Rcp
            | Class::F32Sqrt
            | Class::F64Div
            | Class::F64Rcp
            | Class::F64Sqrt
            | Class::F64Rsqrt
    )
}

/// Whether a lane with these operands takes the other path.
fn other(class: Class, a: u64, b: u64) -> bool {
    // Exponents of single precision, and upper halves of doubles, without the sign.
    let exponent = |v: u64| (v as u32 >> 23 & 0xff) as i32;
    let upper = |v: u64| (v >> 32) as u32;
    match class {
        Class::F32Div => {
            let (a, b) = (exponent(a), exponent(b));
            let plain = (25..255).contains(&a) && (2..252).contains(&b);
            !(plain && (-124..=126).contains(&(a - b)))
        }
        Class::F32Rcp => !(1..253).contains(&exponent(a)),
        Class::F32Sqrt => !(0x0d00_0000..0x7f80_0000).contains(&(a as u32)),
        Class::F64Div => {
            let quotient = upper((f64::from_bits(a) / f64::from_bits(b)).to_bits()) & 0x7fff_ffff;
            let (a, b) = (upper(a) & 0x7fff_ffff, upper(b) & 0x7fff_ffff);
            let plain = a >= 0x0360_0000 && (0x0010_0000..0x7f80_0000).contains(&b);
            !(plain && (0x0010_0001..=0x7f80_0000).contains(&quotient))
        }
        Class::F64Rcp => !(1..0x7fd).contains(&(upper(a) >> 20 & 0x7ff)),
        Class::F64Sqrt => !(0x0350_0000..0x7ff0_0000).contains(&upper(a)),
        Class::F64Rsqrt => !(0x0010_0000..0x7ff0_0000).contains(&upper(a)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Catalog;

    /// The outermost operands that took the usual path on an H200, and those next to them.
    #[test]
    fn operands_that_take_the_other_path() {
        let f = |exponent: u32| u64::from(exponent << 23);
        let d = |exponent: u64| exponent << 52;
        let usual = [
            (Class::F32Div, f(25), f(2)),
            (Class::F32Div, f(253), f(127)),
            (Class::F32Div, f(126), f(250)),
            (Class::F32Div, f(254), f(251)),
            (Class::F32Rcp, f(1), 0),
            (Class::F32Rcp, f(252) | 1 << 31, 0),
            (Class::F32Sqrt, f(26), 0),
            (Class::F32Sqrt, f(254), 0),
            (Class::F64Div, d(54), d(54)),
            (Class::F64Div, d(2032), d(1016)),
            (Class::F64Rcp, d(1), 0),
            (Class::F64Sqrt, d(53), 0),
            (Class::F64Rsqrt, d(1), 0),
        ];
        let rare = [
            (Class::F32Div, 0, f(127)),
            (Class::F32Div, f(24), f(2)),
            (Class::F32Div, f(127), f(1)),
            (Class::F32Div, f(254), f(127)),
            (Class::F32Div, f(125), f(250)),
            (Class::F32Div, f(254), f(252)),
            (Class::F32Rcp, 0, 0),
            (Class::F32Rcp, f(253), 0),
            (Class::F32Sqrt, 0, 0),
            (Class::F32Sqrt, f(127) | 1 << 31, 0),
            (Class::F64Div, 0, d(1023)),
            (Class::F64Div, d(53), d(53)),
            (Class::F64Div, d(1023), d(2040)),
            (Class::F64Rcp, 0, 0),
            (Class::F64Rcp, d(2045), 0),
            (Class::F64Sqrt, 0, 0),
            (Class::F64Rsqrt, d(2047), 0),
        ];
        for (class, a, b) in usual {
            assert!(!other(class, a, b), "{class:?} {a:x} {b:x}");
        }
        for (class, a, b) in rare {
            assert!(other(class, a, b), "{class:?} {a:x} {b:x}");
        }
    }

    /// Each class with two paths has the costs of both on a device whose assembler has them.
    #[test]
    fn both_paths_have_costs() {
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        for &class in Class::ALL.iter().filter(|c| has_paths(**c)) {
            let timing = profile.timing_of(class).unwrap();
            let (other, mixed) = (timing.other.unwrap(), timing.mixed.unwrap());
            assert!(mixed.latency > other.latency.max(timing.latency), "{class:?}");
            assert!(mixed.instructions > other.instructions.max(timing.instructions), "{class:?}");
        }
    }
}
