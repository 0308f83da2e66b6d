//! Sub-clock times, so that pipes with fractional intervals keep their average rate.

/// Parts of a clock.
pub(super) const FRACTION: u64 = 1 << 10;

/// Clocks as a sub-clock time.
pub(super) fn fixed(clocks: f64) -> u64 {
    (clocks * FRACTION as f64).round() as u64
}
