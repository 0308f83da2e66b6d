//! Forgiving comparison of device names, and suggestions for a mistyped one.

/// Words a user may leave out or add.
const BRANDS: [&str; 4] = ["nvidia", "geforce", "tesla", "quadro"];

/// Lower case, letters and digits only; `+` stays because 9800 GTX and 9800 GTX+ both exist.
pub(super) fn normalise(name: &str) -> String {
    name.to_lowercase()
        .replace("plus", "+")
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '+')
        .collect()
}

/// As [`normalise`], with brand words removed: `gtx280` for "GeForce GTX 280".
pub(super) fn without_brand(name: &str) -> String {
    let mut s = normalise(name);
    for brand in BRANDS {
        if let Some(rest) = s.strip_prefix(brand)
            && !rest.is_empty()
        {
            s = rest.to_owned();
        }
    }
    s
}

/// Up to three of `known` that `name` may have meant, best first.
pub(super) fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = without_brand(name);
    let mut scored: Vec<(usize, &str)> = known
        .map(|k| (strsim::damerau_levenshtein(&wanted, &without_brand(k)), k))
        .filter(|(d, _)| *d <= 1 + wanted.len() / 3)
        .collect();
    scored.sort();
    // A name twice as far off as the best one is only noise.
    let best = scored.first().map_or(0, |s| s.0);
    scored.into_iter().take_while(|s| s.0 <= best + 1).take(3).map(|s| s.1.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brands_are_optional_and_plus_matters() {
        assert_eq!(without_brand("NVIDIA GeForce GTX 280"), "gtx280");
        assert_eq!(without_brand("gtx-280"), "gtx280");
        assert_ne!(normalise("9800 GTX+"), normalise("9800 GTX"));
        assert_eq!(normalise("geforce-9800-gtx-plus"), normalise("GeForce 9800 GTX+"));
        assert_eq!(without_brand("tesla"), "tesla");
    }
}
