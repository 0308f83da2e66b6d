//! C formatting for device `printf`.

/// Where `printf` finds its arguments and strings.
pub(crate) trait Arguments {
    /// Next argument of `bytes` bytes (4 or 8), at its natural alignment.
    fn next(&mut self, bytes: u32) -> Option<u64>;
    /// Bytes of a pointer.
    fn pointer_bytes(&self) -> u32;
    /// The zero-terminated string at a generic address.
    fn string(&mut self, address: u64) -> Option<Vec<u8>>;
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
}

/// Formats as C's `printf` does; the number of arguments used, or `None` when one is missing or a
/// string cannot be read.
pub(crate) fn format(out: &mut Vec<u8>, text: &[u8], args: &mut dyn Arguments) -> Option<u32> {
    let mut used = 0;
    let mut i = 0;
    while i < text.len() {
        if text[i] != b'%' {
            out.push(text[i]);
            i += 1;
            continue;
        }
        let start = i;
        i += 1;
        let mut s = Spec::default();
        while let Some(c) = text.get(i) {
            match c {
                b'-' => s.left = true,
                b'+' => s.plus = true,
                b' ' => s.space = true,
                b'#' => s.alternate = true,
                b'0' => s.zero = true,
                _ => break,
            }
            i += 1;
        }
        let mut number = |i: &mut usize, used: &mut u32| -> Option<i64> {
            if text.get(*i) == Some(&b'*') {
                *i += 1;
                *used += 1;
                return Some(args.next(4)? as i32 as i64);
            }
            let mut n = 0i64;
            while let Some(d @ b'0'..=b'9') = text.get(*i) {
                n = (n * 10 + (d - b'0') as i64).min(4096);
                *i += 1;
            }
            Some(n)
        };
        let width = number(&mut i, &mut used)?;
        s.left |= width < 0;
        s.width = width.unsigned_abs().min(4096) as usize;
        if text.get(i) == Some(&b'.') {
            i += 1;
            let p = number(&mut i, &mut used)?;
            s.precision = usize::try_from(p).ok().map(|p| p.min(4096));
        }
        while let Some(c @ (b'l' | b'h' | b'j' | b'z' | b't' | b'L' | b'q')) = text.get(i) {
            s.long |= !matches!(c, b'h' | b'L');
            i += 1;
        }
        let Some(&conversion) = text.get(i) else {
            out.extend_from_slice(&text[start..]);
            break;
        };
        i += 1;
        if conversion == b'%' {
            out.push(b'%');
            continue;
        }
        let mut int = || args.next(if s.long { 8 } else { 4 });
        let (prefix, digits) = match conversion {
            b'd' | b'i' => {
                let v = int()?;
                let v = if s.long { v as i64 } else { v as i32 as i64 };
                (sign(&s, v < 0), integer(v.unsigned_abs().to_string(), &s))
            }
            b'u' => ("", integer(int()?.to_string(), &s)),
            b'o' => {
                let d = integer(format!("{:o}", int()?), &s);
                let missing = s.alternate && !d.starts_with('0');
                (if missing { "0" } else { "" }, d)
            }
            b'x' | b'X' => {
                let v = int()?;
                let upper = conversion == b'X';
                let d = if upper { format!("{v:X}") } else { format!("{v:x}") };
                let prefix = match (s.alternate && v != 0, upper) {
                    (false, _) => "",
                    (true, false) => "0x",
                    (true, true) => "0X",
                };
                (prefix, integer(d, &s))
            }
            b'p' => ("0x", format!("{:x}", args.next(args.pointer_bytes())?)),
            b'c' => {
                let c = args.next(4)? as u8;
                used += 1;
                pad_bytes(out, &[c], &s);
                continue;
            }
            b's' => {
                let address = args.next(args.pointer_bytes())?;
                let mut v = args.string(address)?;
                v.truncate(s.precision.unwrap_or(usize::MAX));
                used += 1;
                pad_bytes(out, &v, &s);
                continue;
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let v = f64::from_bits(args.next(8)?);
                let d = float(v.abs(), conversion, &s);
                s.precision = None;
                s.zero &= v.is_finite();
                (sign(&s, v.is_sign_negative()), d)
            }
            _ => {
                out.extend_from_slice(&text[start..i]);
                continue;
            }
        };
        used += 1;
        pad_number(out, prefix, &digits, &s);
    }
    Some(used)
}

fn pad_number(out: &mut Vec<u8>, prefix: &str, digits: &str, s: &Spec) {
    let length = prefix.len() + digits.len();
    let fill = s.width.saturating_sub(length);
    // A precision of an integer switches zero padding off.
    if s.left {
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(digits.as_bytes());
        out.extend(std::iter::repeat_n(b' ', fill));
    } else if s.zero && s.precision.is_none() {
        out.extend_from_slice(prefix.as_bytes());
        out.extend(std::iter::repeat_n(b'0', fill));
        out.extend_from_slice(digits.as_bytes());
    } else {
        out.extend(std::iter::repeat_n(b' ', fill));
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(digits.as_bytes());
    }
}

fn pad_bytes(out: &mut Vec<u8>, v: &[u8], s: &Spec) {
    let fill = std::iter::repeat_n(b' ', s.width.saturating_sub(v.len()));
    if s.left {
        out.extend_from_slice(v);
        out.extend(fill);
    } else {
        out.extend(fill);
        out.extend_from_slice(v);
    }
}

fn sign(s: &Spec, negative: bool) -> &'static str {
    match (negative, s.plus, s.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

/// Digits with at least `precision` of them; none at all for 0 with precision 0.
fn integer(digits: String, s: &Spec) -> String {
    match s.precision {
        Some(0) if digits == "0" => String::new(),
        Some(p) => format!("{digits:0>p$}"),
        None => digits,
    }
}

/// A number that is not negative.
fn float(v: f64, conversion: u8, s: &Spec) -> String {
    let text = if v.is_nan() {
        "nan".into()
    } else if v.is_infinite() {
        "inf".into()
    } else {
        match conversion.to_ascii_lowercase() {
            b'f' => fixed(v, s.precision.unwrap_or(6), s.alternate),
            b'e' => exponential(v, s.precision.unwrap_or(6), s.alternate),
            b'g' => general(v, s),
            _ => hexadecimal(v, s),
        }
    };
    if conversion.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
}

fn fixed(v: f64, precision: usize, alternate: bool) -> String {
    let dot = if alternate && precision == 0 { "." } else { "" };
    format!("{v:.precision$}{dot}")
}

fn exponential(v: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{v:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let dot = if alternate && precision == 0 { "." } else { "" };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(d) => ('-', d),
        None => ('+', exponent),
    };
    format!("{mantissa}{dot}e{sign}{digits:0>2}")
}

fn general(v: f64, s: &Spec) -> String {
    let p = s.precision.unwrap_or(6).max(1);
    let text = format!("{v:.*e}", p - 1);
    let exponent: i64 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let plain = exponent >= -4 && exponent < p as i64;
    let text = if plain {
        fixed(v, (p as i64 - 1 - exponent).max(0) as usize, s.alternate)
    } else {
        exponential(v, p - 1, s.alternate)
    };
    if s.alternate {
        return text;
    }
    let (mantissa, exponent) = match text.split_once('e') {
        Some((m, e)) => (m, format!("e{e}")),
        None => (text.as_str(), String::new()),
    };
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    format!("{mantissa}{exponent}")
}

fn hexadecimal(v: f64, s: &Spec) -> String {
    let bits = v.to_bits();
    let (mut exponent, mut mantissa) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
    let mut lead = 1u64;
    if exponent == 0 {
        if mantissa == 0 {
            exponent = 1023;
        } else {
            exponent = 1;
        }
        lead = 0;
    }
    let mut digits = format!("{mantissa:013x}");
    match s.precision {
        Some(p) if p < 13 => {
            // Round to nearest even at digit `p`.
            let drop = 4 * (13 - p) as u32;
            let all = lead << 52 | mantissa;
            let (keep, rest) = (all >> drop, all & ((1 << drop) - 1));
            let half = 1u64 << (drop - 1);
            let keep = keep + (rest > half || rest == half && keep & 1 == 1) as u64;
            lead = keep >> (52 - drop);
            mantissa = keep & ((1u64 << (52 - drop)) - 1);
            digits = if p == 0 { String::new() } else { format!("{mantissa:0p$x}") };
        }
        Some(p) => digits = format!("{digits:0<p$}"),
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let dot = if digits.is_empty() && !s.alternate { "" } else { "." };
    format!("0x{lead}{dot}{digits}p{:+}", exponent - 1023)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<u64>);
    impl Arguments for List {
        fn next(&mut self, bytes: u32) -> Option<u64> {
            let v = (!self.0.is_empty()).then(|| self.0.remove(0))?;
            Some(if bytes == 4 { v & 0xffff_ffff } else { v })
        }
        fn pointer_bytes(&self) -> u32 {
            8
        }
        fn string(&mut self, address: u64) -> Option<Vec<u8>> {
            (address == 1).then(|| b"text".to_vec())
        }
    }

    fn check(format_text: &str, args: &[u64], expected: &str) {
        let mut out = Vec::new();
        let used = format(&mut out, format_text.as_bytes(), &mut List(args.to_vec()));
        assert_eq!(String::from_utf8_lossy(&out), expected, "{format_text}");
        assert_eq!(used, Some(args.len() as u32), "{format_text}");
    }

    #[test]
    fn as_c_formats() {
        let f = |v: f64| v.to_bits();
        check("%d|%5d|%-5d|%05d|%+d|% d\n", &[1, 2, 3, 4, 5, 6], "1|    2|3    |00004|+5| 6\n");
        check("%i %u %lld %hhd", &[-1i64 as u64, u64::MAX, -5i64 as u64, 7], "-1 4294967295 -5 7");
        check("%x %#X %o %#o %.3d|%.0d|", &[255, 255, 8, 8, 5, 0], "ff 0XFF 10 010 005||");
        check("%c%c%%%5s|%-6s|%.2s", &[65, 66, 1, 1, 1], "AB% text|text  |te");
        check("%p %*d %.*f", &[0x1000, 5, 42, 1, f(2.55)], "0x1000    42 2.5");
        check(
            "%f %10.3f %-10.2e| %E",
            &[f(1.5), f(-2.0), f(12345.678), f(0.0)],
            "1.500000     -2.000 1.23e+04  | 0.000000E+00",
        );
        check(
            "%g %g %g %#g %G",
            &[f(0.0001), f(1e-5), f(1e6), f(1.0), f(1e-10)],
            "0.0001 1e-05 1e+06 1.00000 1E-10",
        );
        check(
            "%g %g %08.2f %f",
            &[f(100000.0), f(0.5), f(-1.0), f(f64::INFINITY)],
            "100000 0.5 -0001.00 inf",
        );
        check(
            "%a %a %.1a %a",
            &[f(1.0), f(0.5), f(1.96875), f(0.0)],
            "0x1p+0 0x1p-1 0x2.0p+0 0x0p+0",
        );
    }

    #[test]
    fn missing_arguments_are_an_error() {
        let mut out = Vec::new();
        assert_eq!(format(&mut out, b"%d", &mut List(vec![])), None);
        assert_eq!(format(&mut out, b"%s", &mut List(vec![2])), None);
    }
}
