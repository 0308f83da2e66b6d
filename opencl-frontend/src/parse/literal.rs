//! Values of literals (OpenCL C 1.2, 6.1; C99 6.4.4).

/// An integer literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntLiteral {
    /// Its value.
    pub value: u64,
    /// Suffix `u`.
    pub unsigned: bool,
    /// Suffix `l`.
    pub long: bool,
    /// Written in base 10: never takes an unsigned type by itself.
    pub decimal: bool,
}

/// The type that a floating literal's suffix names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatSuffix {
    /// None: double.
    None,
    /// `f`.
    Float,
    /// `h` (cl_khr_fp16).
    Half,
}

/// A floating literal. The value is correctly rounded to the type of its suffix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatLiteral {
    /// Value as a double.
    pub value: f64,
    /// Value rounded once to single precision.
    pub single: f32,
    /// Suffix.
    pub suffix: FloatSuffix,
}

/// Parses a preprocessing number as an integer.
pub fn integer(text: &str) -> Result<IntLiteral, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = if let Some(hex) = lower.strip_prefix("0x") {
        (hex, 16)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        (binary, 2)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&lower[1..], 8)
    } else {
        (&lower[..], 10)
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let (unsigned, long) = match suffix {
        "" => (false, false),
        "u" => (true, false),
        "l" | "ll" => (false, true),
        "ul" | "lu" | "ull" | "llu" => (true, true),
        _ => return Err(format!("invalid suffix `{suffix}` of an integer")),
    };
    // A lone 0 has lost its digit to the octal prefix test only when a suffix follows.
    if number.is_empty() && radix != 8 {
        return Err("an integer without digits".into());
    }
    let value = if number.is_empty() {
        0
    } else {
        u64::from_str_radix(number, radix)
            .map_err(|_| "this integer is too large for any type".to_string())?
    };
    Ok(IntLiteral { value, unsigned, long, decimal: radix == 10 })
}

/// True if the preprocessing number is a floating literal.
pub fn is_floating(text: &str) -> bool {
    let hex =
        text.len() > 1 && text.as_bytes()[0] == b'0' && matches!(text.as_bytes()[1], b'x' | b'X');
    text.bytes().any(|b| match b {
        b'.' | b'p' | b'P' => true,
        b'e' | b'E' | b'f' | b'F' | b'h' | b'H' => !hex,
        _ => false,
    })
}

/// Parses a preprocessing number as a floating literal.
pub fn floating(text: &str) -> Result<FloatLiteral, String> {
    let hex = text.starts_with("0x") || text.starts_with("0X");
    let (digits, suffix) = match text.as_bytes().last() {
        Some(b'f' | b'F') if !hex || text.contains(['p', 'P']) => {
            (&text[..text.len() - 1], FloatSuffix::Float)
        }
        Some(b'h' | b'H') => (&text[..text.len() - 1], FloatSuffix::Half),
        _ => (text, FloatSuffix::None),
    };
    if hex {
        let (value, single) = hex_float(&digits[2..])?;
        return Ok(FloatLiteral { value, single, suffix });
    }
    let valid = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let value = digits.parse::<f64>().ok().filter(|_| valid).ok_or("malformed floating literal")?;
    let single = digits.parse::<f32>().map_err(|_| "malformed floating literal")?;
    Ok(FloatLiteral { value, single, suffix })
}

fn hex_float(text: &str) -> Result<(f64, f32), String> {
    let (mantissa, exponent) =
        text.split_once(['p', 'P']).ok_or("a hexadecimal floating literal needs an exponent")?;
    let mut exponent: i64 = exponent.parse::<i32>().map_err(|_| "malformed exponent")?.into();
    let mut bits: u128 = 0;
    let (mut seen_point, mut digits) = (false, 0);
    for c in mantissa.chars() {
        if c == '.' && !seen_point {
            seen_point = true;
            continue;
        }
        let digit = c.to_digit(16).ok_or("malformed hexadecimal floating literal")?;
        digits += 1;
        if bits >> 120 == 0 {
            bits = bits << 4 | u128::from(digit);
            exponent -= if seen_point { 4 } else { 0 };
        } else {
            // Too far right to matter but for being nonzero.
            bits |= u128::from(digit != 0);
            exponent += if seen_point { 0 } else { 4 };
        }
    }
    if digits == 0 {
        return Err("a floating literal without digits".into());
    }
    let round = |precision: u32, min_exponent: i64, max_exponent: i64| -> f64 {
        if bits == 0 {
            return 0.0;
        }
        let top = i64::from(127 - bits.leading_zeros()) + exponent;
        let lowest = (top - i64::from(precision) + 1).max(min_exponent);
        let shift = lowest - exponent;
        let kept = if shift <= 0 {
            bits << (-shift).min(127)
        } else if shift > 126 {
            0
        } else {
            let down = bits >> shift;
            let rest = bits & ((1u128 << shift) - 1);
            let half = 1u128 << (shift - 1);
            down + u128::from(rest > half || (rest == half && down & 1 == 1))
        };
        let value = kept as f64
            * 2f64.powi((lowest.max(-1074) / 2) as i32)
            * 2f64.powi((lowest.max(-1074) - lowest.max(-1074) / 2) as i32);
        if value >= 2f64.powi(max_exponent as i32) * 2.0 { f64::INFINITY } else { value }
    };
    Ok((round(53, -1074, 1023), round(24, -149, 127) as f32))
}

/// Bytes of a string literal without its quotes, escapes resolved.
pub fn string(text: &str) -> Result<Vec<u8>, String> {
    unescape(&text[1..text.len() - 1])
}

/// Value of a character literal.
pub fn character(text: &str) -> Result<i32, String> {
    let bytes = unescape(&text[1..text.len() - 1])?;
    match bytes.as_slice() {
        [] => Err("empty character literal".into()),
        [one] => Ok(i32::from(*one as i8)),
        more if more.len() <= 4 => Ok(more.iter().fold(0i32, |v, b| v << 8 | i32::from(*b))),
        _ => Err("character literal is too long".into()),
    }
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] != b'\\' {
            out.push(bytes[i]);
            i += 1;
            continue;
        }
        i += 1;
        let c = *bytes.get(i).ok_or("incomplete escape")?;
        i += 1;
        out.push(match c {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'\\' | b'\'' | b'"' | b'?' => c,
            b'0'..=b'7' => {
                let mut value = u32::from(c - b'0');
                while i < bytes.len() && matches!(bytes[i], b'0'..=b'7') && value < 32 {
                    value = value * 8 + u32::from(bytes[i] - b'0');
                    i += 1;
                }
                value as u8
            }
            b'x' => {
                let start = i;
                let mut value = 0u32;
                while let Some(d) = bytes.get(i).and_then(|b| (*b as char).to_digit(16)) {
                    value = value << 4 | d;
                    i += 1;
                    if value > 0xff {
                        return Err("hexadecimal escape out of range".into());
                    }
                }
                if start == i {
                    return Err("\\x needs digits".into());
                }
                value as u8
            }
            _ => return Err(format!("unknown escape `\\{}`", (c as char).escape_default())),
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        let int = |t: &str| integer(t).map(|v| (v.value, v.unsigned, v.long));
        assert_eq!(int("0"), Ok((0, false, false)));
        assert_eq!(int("0u"), Ok((0, true, false)));
        assert_eq!(int("0x1FUL"), Ok((31, true, true)));
        assert_eq!(int("017"), Ok((15, false, false)));
        assert_eq!(int("18446744073709551615u"), Ok((u64::MAX, true, false)));
        assert!(
            int("18446744073709551616").is_err()
                && int("08").is_err()
                && int("1q").is_err()
                && int("0x").is_err()
        );
    }

    #[test]
    fn floats() {
        for (text, value) in [
            ("1.5", 1.5),
            (".5f", 0.5),
            ("1e3", 1000.0),
            ("0x1.8p1", 3.0),
            ("0x.8p0f", 0.5),
            ("2.f", 2.0),
        ] {
            assert_eq!(floating(text).map(|v| v.value), Ok(value), "{text}");
        }
        assert_eq!(floating("0x1.fffffffffffffp1023").map(|v| v.value), Ok(f64::MAX));
        assert_eq!(floating("0x1p-1074").map(|v| v.value), Ok(5e-324));
        assert_eq!(floating("0x1.fffffep127f").map(|v| v.single), Ok(f32::MAX));
        assert_eq!(floating("0x1p-149f").map(|v| v.single), Ok(1e-45));
        assert_eq!(floating("0x1.0000010000001p0f").map(|v| v.single), Ok(1.0000001));
        assert!(
            floating("1.2.3").is_err() && floating("0x1.8").is_err() && floating("1.0q").is_err()
        );
        assert!(
            is_floating("1.") && is_floating("1e5") && !is_floating("0xe5") && is_floating("0x1p1")
        );
    }

    #[test]
    fn characters() {
        assert_eq!(character("'a'"), Ok(97));
        assert_eq!(character("'\\n'"), Ok(10));
        assert_eq!(character("'\\xff'"), Ok(-1));
        assert_eq!(character("'\\101'"), Ok(65));
        assert!(character("''").is_err() && character("'\\q'").is_err());
        assert_eq!(string("\"a\\0b\""), Ok(vec![97, 0, 98]));
    }
}
