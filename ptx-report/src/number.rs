//! Numbers as people read them.

/// With thousands separated: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// With three significant digits and no exponent: `0.0123`, `1.23`, `123`, `12,300`.
pub fn significant(x: f64) -> String {
    if !x.is_finite() {
        return x.to_string();
    }
    let magnitude = x.abs();
    if magnitude == 0.0 {
        return "0".into();
    }
    if magnitude >= 999.5 {
        return format!("{}{}", if x < 0.0 { "-" } else { "" }, count(magnitude.round() as u64));
    }
    let decimals = (2 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// With a decimal prefix: `1.23 G`. The unit follows the text.
pub fn prefixed(x: f64) -> String {
    for (limit, prefix) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if x.abs() >= limit * 0.9995 {
            return format!("{} {prefix}", significant(x / limit));
        }
    }
    format!("{} ", significant(x))
}

/// Bytes with a binary prefix: `48 KiB`.
pub fn bytes(n: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if n >= 1 << shift {
            return format!("{} {unit}", significant(n as f64 / f64::from(1u32 << shift)));
        }
    }
    format!("{n} B")
}

/// A share as per cent: `31.2 %`.
pub fn percent(share: f64) -> String {
    let x = share * 100.0;
    if x > 0.0 && x < 0.05 {
        return "<0.1 %".into();
    }
    if x.abs() >= 99.95 || x == 0.0 { format!("{x:.0} %") } else { format!("{x:.1} %") }
}

/// A duration given in microseconds.
pub fn time(microseconds: f64) -> String {
    match microseconds {
        t if t >= 0.9995e6 => format!("{} s", significant(t / 1e6)),
        t if t >= 0.9995e3 => format!("{} ms", significant(t / 1e3)),
        t if t >= 0.9995 => format!("{} us", significant(t)),
        t => format!("{} ns", significant(t * 1e3)),
    }
}

/// `16 x 16`, without the dimensions at the end that are 1.
pub fn extent(n: [u32; 3]) -> String {
    match n {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x} x {y}"),
        [x, y, z] => format!("{x} x {y} x {z}"),
    }
}

/// `1 block`, `2 blocks`.
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_honest() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1234567), "1,234,567");
        assert_eq!(significant(0.012345), "0.0123");
        assert_eq!(significant(1.0), "1");
        assert_eq!(significant(99.96), "100");
        assert_eq!(significant(-12345.6), "-12,346");
        assert_eq!(prefixed(4.8e12), "4.8 T");
        assert_eq!(prefixed(12.0), "12 ");
        assert_eq!(bytes(49152), "48 KiB");
        assert_eq!(percent(0.3125), "31.2 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!((percent(0.0), percent(1e-5)), ("0 %".into(), "<0.1 %".into()));
        assert_eq!(time(0.5), "500 ns");
        assert_eq!(time(1234.0), "1.23 ms");
        assert_eq!(extent([16, 16, 1]), "16 x 16");
        assert_eq!(plural(1, "block"), "1 block");
    }
}
