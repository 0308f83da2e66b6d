//! Double-precision functions that no hardware unit has, for the forms of `rows/lenient.rs`.

/// Which function; the constant of the micro-op.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Lenient {
    Rcp = 0,
    Sqrt = 1,
    Sin = 2,
    Cos = 3,
    Lg2 = 4,
    Ex2 = 5,
}

/// The function numbered `k` ([`Lenient`]). Every result that is no number is the same quiet NaN.
pub fn lenient_f64(bits: u64, k: u32) -> u64 {
    let x = f64::from_bits(bits);
    // The functions of a library of our own choice, not the host's: the same result everywhere.
    let y = match k {
        0 => 1.0 / x,
        1 => x.sqrt(),
        2 => libm::sin(x),
        3 => libm::cos(x),
        4 => libm::log2(x),
        _ => libm::exp2(x),
    };
    if y.is_nan() { 0x7ff8_0000_0000_0000 } else { y.to_bits() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(function: Lenient, x: f64) -> f64 {
        f64::from_bits(lenient_f64(x.to_bits(), function as u32))
    }

    #[test]
    fn known_values() {
        assert_eq!(at(Lenient::Rcp, 3.0), 1.0 / 3.0);
        assert_eq!(at(Lenient::Sqrt, 2.0), std::f64::consts::SQRT_2);
        assert_eq!(at(Lenient::Ex2, 0.5), std::f64::consts::SQRT_2);
        assert_eq!(at(Lenient::Lg2, 8.0), 3.0);
        assert!((at(Lenient::Sin, 1e6) - -0.349_993_502_171_292_94).abs() < 1e-16);
        assert_eq!(at(Lenient::Cos, 0.0), 1.0);
        assert_eq!(lenient_f64((-1f64).to_bits(), Lenient::Lg2 as u32), 0x7ff8_0000_0000_0000);
        assert_eq!(at(Lenient::Ex2, f64::NEG_INFINITY), 0.0);
    }
}
