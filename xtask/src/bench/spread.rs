//! How far measurements lie apart, and what they were made on.

/// Least, median and greatest.
pub fn spread(times: &[f64]) -> [f64; 3] {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |n: usize| sorted.get(n).copied().unwrap_or(f64::NAN);
    [at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1))]
}

/// Name of the processor.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name"));
    model.map_or("unknown".into(), |m| m.trim_start_matches([' ', '\t', ':']).into())
}
