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

/// The name under which the profiles know a target: `sm_90` for `SM_90`, `sm_90a`, `compute_90` and `sm-90`, `cc-9.0` for
/// `9.0` and `cc9.0`. `None` for what is written as a name.
pub(super) fn target_name(name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let rest = ["sm", "compute"].iter().find_map(|word| name.strip_prefix(word));
    if let Some(rest) = rest {
        let digits = rest.trim_start_matches(['_', '-', ' ']);
        let digits = digits.strip_suffix(['a', 'f']).unwrap_or(digits);
        return number(digits).then(|| format!("sm_{digits}"));
    }
    let version = name.strip_prefix("cc").map_or(&*name, |r| r.trim_start_matches(['-', '_', ' ']));
    let (major, minor) = version.split_once('.')?;
    (number(major) && number(minor)).then(|| format!("cc-{major}.{minor}"))
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
    fn targets_are_written_in_many_ways() {
        for name in ["sm_90", "SM_90", "sm_90a", "sm-90", "sm90", "compute_90", " sm_90f "] {
            assert_eq!(target_name(name).as_deref(), Some("sm_90"), "{name}");
        }
        for name in ["9.0", "cc-9.0", "cc9.0", "CC 9.0"] {
            assert_eq!(target_name(name).as_deref(), Some("cc-9.0"), "{name}");
        }
        for name in ["h200", "smart 90", "gtx 9.x", "", "sm_", "computer"] {
            assert_eq!(target_name(name), None, "{name}");
        }
    }

    #[test]
    fn brands_are_optional_and_plus_matters() {
        assert_eq!(without_brand("NVIDIA GeForce GTX 280"), "gtx280");
        assert_eq!(without_brand("gtx-280"), "gtx280");
        assert_ne!(normalise("9800 GTX+"), normalise("9800 GTX"));
        assert_eq!(normalise("geforce-9800-gtx-plus"), normalise("GeForce 9800 GTX+"));
        assert_eq!(without_brand("tesla"), "tesla");
    }
}
