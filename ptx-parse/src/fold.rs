//! Constant expressions (PTX ISA 4.5.4 to 4.5.6).

use crate::ast::Imm;

/// Why an expression has no value.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum FoldError {
    /// An integer was needed.
    NotInteger,
    /// An integer and a floating-point number.
    Mixed,
    /// Division or remainder by zero.
    DivisionByZero,
    /// No such operator on these operands.
    NoSuchOperator,
}

/// Both operands after the usual arithmetic conversions.
enum Pair {
    Signed(i64, i64),
    Unsigned(u64, u64),
    Float(f64, f64),
}

fn float(v: Imm) -> Option<f64> {
    match v {
        Imm::F32(bits) => Some(f64::from(f32::from_bits(bits))),
        Imm::F64(bits) => Some(f64::from_bits(bits)),
        _ => None,
    }
}

/// The integer's 64 bits.
pub(crate) fn bits(v: Imm) -> Option<u64> {
    match v {
        Imm::Signed(x) => Some(x as u64),
        Imm::Unsigned(x) => Some(x),
        _ => None,
    }
}

fn usual(a: Imm, b: Imm) -> Result<Pair, FoldError> {
    match (a, b) {
        (Imm::Signed(x), Imm::Signed(y)) => Ok(Pair::Signed(x, y)),
        _ => match (bits(a), bits(b), float(a), float(b)) {
            (Some(x), Some(y), ..) => Ok(Pair::Unsigned(x, y)),
            (_, _, Some(x), Some(y)) => Ok(Pair::Float(x, y)),
            _ => Err(FoldError::Mixed),
        },
    }
}

fn truth(v: bool) -> Imm {
    Imm::Signed(i64::from(v))
}

fn arithmetic(op: &[u8], a: Imm, b: Imm) -> Result<Imm, FoldError> {
    Ok(match usual(a, b)? {
        Pair::Signed(x, y) => Imm::Signed(match op {
            b"+" => x.wrapping_add(y),
            b"-" => x.wrapping_sub(y),
            b"*" => x.wrapping_mul(y),
            _ if y == 0 => return Err(FoldError::DivisionByZero),
            _ => x.wrapping_div(y),
        }),
        Pair::Unsigned(x, y) => Imm::Unsigned(match op {
            b"+" => x.wrapping_add(y),
            b"-" => x.wrapping_sub(y),
            b"*" => x.wrapping_mul(y),
            _ => x.checked_div(y).ok_or(FoldError::DivisionByZero)?,
        }),
        Pair::Float(x, y) => Imm::F64(
            match op {
                b"+" => x + y,
                b"-" => x - y,
                b"*" => x * y,
                _ => x / y,
            }
            .to_bits(),
        ),
    })
}

fn comparison(op: &[u8], a: Imm, b: Imm) -> Result<Imm, FoldError> {
    fn holds<T: PartialOrd>(op: &[u8], x: T, y: T) -> bool {
        match op {
            b"<" => x < y,
            b">" => x > y,
            b"<=" => x <= y,
            b">=" => x >= y,
            b"==" => x == y,
            _ => x != y,
        }
    }
    Ok(truth(match usual(a, b)? {
        Pair::Signed(x, y) => holds(op, x, y),
        Pair::Unsigned(x, y) => holds(op, x, y),
        Pair::Float(x, y) => holds(op, x, y),
    }))
}

/// `a op b`.
pub(crate) fn binary(op: &[u8], a: Imm, b: Imm) -> Result<Imm, FoldError> {
    let integers =
        || Ok((bits(a).ok_or(FoldError::NotInteger)?, bits(b).ok_or(FoldError::NotInteger)?));
    let like_sources = |v: u64| match (a, b) {
        (Imm::Signed(_), Imm::Signed(_)) => Imm::Signed(v as i64),
        _ => Imm::Unsigned(v),
    };
    match op {
        b"+" | b"-" | b"*" | b"/" => arithmetic(op, a, b),
        b"<" | b">" | b"<=" | b">=" | b"==" | b"!=" => comparison(op, a, b),
        b"%" => {
            let (x, y) = integers()?;
            let rest = x.checked_rem(y).ok_or(FoldError::DivisionByZero)?;
            Ok(Imm::Signed(rest as i64))
        }
        b"&" | b"|" | b"^" => {
            let (x, y) = integers()?;
            Ok(like_sources(match op {
                b"&" => x & y,
                b"|" => x | y,
                _ => x ^ y,
            }))
        }
        b"<<" | b">>" => {
            let (x, by) = integers()?;
            let by = u32::try_from(by).unwrap_or(64);
            Ok(match (op, a) {
                (b"<<", Imm::Signed(_)) => Imm::Signed(x.checked_shl(by).unwrap_or(0) as i64),
                (b"<<", _) => Imm::Unsigned(x.checked_shl(by).unwrap_or(0)),
                (_, Imm::Signed(x)) => Imm::Signed(x >> by.min(63)),
                _ => Imm::Unsigned(x.checked_shr(by).unwrap_or(0)),
            })
        }
        b"&&" | b"||" => {
            let (x, y) = integers()?;
            let (x, y) = (x != 0, y != 0);
            Ok(truth(if op == b"&&" { x && y } else { x || y }))
        }
        _ => Err(FoldError::NoSuchOperator),
    }
}

/// `op a`.
pub(crate) fn unary(op: u8, a: Imm) -> Result<Imm, FoldError> {
    match (op, a) {
        (b'+', _) => Ok(a),
        (b'-', Imm::Signed(x)) => Ok(Imm::Signed(x.wrapping_neg())),
        (b'-', Imm::Unsigned(x)) => Ok(Imm::Unsigned(x.wrapping_neg())),
        (b'-', Imm::F64(x)) => Ok(Imm::F64(x ^ 1 << 63)),
        (b'!', _) => bits(a).map(|x| truth(x == 0)).ok_or(FoldError::NotInteger),
        (b'~', _) => bits(a).map(|x| Imm::Unsigned(!x)).ok_or(FoldError::NotInteger),
        _ => Err(FoldError::NoSuchOperator),
    }
}

/// `c ? a : b`.
pub(crate) fn select(c: Imm, a: Imm, b: Imm) -> Result<Imm, FoldError> {
    let c = bits(c).ok_or(FoldError::NotInteger)? != 0;
    Ok(match usual(a, b)? {
        Pair::Signed(x, y) => Imm::Signed(if c { x } else { y }),
        Pair::Unsigned(x, y) => Imm::Unsigned(if c { x } else { y }),
        Pair::Float(x, y) => Imm::F64(if c { x } else { y }.to_bits()),
    })
}

/// Binding strength of a binary operator, as in C.
pub(crate) fn precedence(op: &[u8]) -> u8 {
    match op {
        b"*" | b"/" | b"%" => 10,
        b"+" | b"-" => 9,
        b"<<" | b">>" => 8,
        b"<" | b">" | b"<=" | b">=" => 7,
        b"==" | b"!=" => 6,
        b"&" => 5,
        b"^" => 4,
        b"|" => 3,
        b"&&" => 2,
        _ => 1,
    }
}
