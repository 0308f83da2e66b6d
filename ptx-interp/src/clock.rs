//! Special registers that change while a thread runs.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ptx_isa::special::Sreg;

/// Clock cycles that a warp instruction counts for.
const CYCLES: u64 = 4;

/// Whether a special register changes while a thread runs.
pub(crate) fn changes(reg: Sreg) -> bool {
    use Sreg::*;
    matches!(
        reg,
        Clock
            | ClockHi
            | Clock64
            | GlobalTimer
            | GlobalTimerLo
            | GlobalTimerHi
            | Pm0
            | Pm1
            | Pm2
            | Pm3
            | Pm4
            | Pm5
            | Pm6
            | Pm7
            | Pm0_64
            | Pm1_64
            | Pm2_64
            | Pm3_64
            | Pm4_64
            | Pm5_64
            | Pm6_64
            | Pm7_64
    )
}

/// Value of a special register that [`changes`]. Clocks count the `steps` that this host thread has
/// issued since the launch `started`, and its time; timers are the host's; performance counters
/// read 0. Without a start, clocks and timers count steps only, so that every run reads the same.
pub(crate) fn read(reg: Sreg, steps: u64, started: Option<Instant>) -> u64 {
    let elapsed = || started.map_or(0, |s| s.elapsed().as_nanos() as u64 / 1024);
    let cycles = || steps * CYCLES + elapsed();
    let timer = || match started {
        Some(_) => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64),
        None => steps * CYCLES,
    };
    match reg {
        Sreg::Clock => cycles() & 0xffff_ffff,
        Sreg::ClockHi => cycles() >> 32,
        Sreg::Clock64 => cycles(),
        Sreg::GlobalTimer => timer(),
        Sreg::GlobalTimerLo => timer() & 0xffff_ffff,
        Sreg::GlobalTimerHi => timer() >> 32,
        _ => 0,
    }
}
