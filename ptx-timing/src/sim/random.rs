//! Numbers for tests, the same ones in each run.

/// Numbers below what is asked for, which seem to have no order: Knuth's linear congruential generator (MMIX).
pub(super) fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}
