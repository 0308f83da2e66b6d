//! Special registers as the host knows them.

use ptx_isa::special::Sreg;

use crate::device::Launch;
use crate::kernel::Kernel;

/// Value of a special register in thread `thread` of a block.
pub(crate) fn special(k: &Kernel, l: &Launch<'_>, block: [u32; 3], thread: u64, reg: Sreg) -> u64 {
    let [x, y, z] = k.geometry.block.map(u64::from);
    let lane = thread & 31;
    let [bx, by, bz] = block.map(u64::from);
    let [gx, gy, gz] = l.grid.map(u64::from);
    let threads = k.geometry.threads() as u64;
    match reg {
        Sreg::TidX => thread % x,
        Sreg::TidY => thread / x % y,
        Sreg::TidZ => thread / x / y,
        Sreg::NtidX => x,
        Sreg::NtidY => y,
        Sreg::NtidZ => z,
        Sreg::CtaidX => bx,
        Sreg::CtaidY => by,
        Sreg::CtaidZ => bz,
        Sreg::NctaidX => gx,
        Sreg::NctaidY => gy,
        Sreg::NctaidZ => gz,
        Sreg::LaneId => lane,
        Sreg::WarpId => thread / 32,
        Sreg::NwarpId => threads.div_ceil(32),
        Sreg::LanemaskEq => 1 << lane,
        Sreg::LanemaskLe => (2 << lane) - 1,
        Sreg::LanemaskLt => (1 << lane) - 1,
        Sreg::LanemaskGe => !((1u64 << lane) - 1) & 0xffff_ffff,
        Sreg::LanemaskGt => !((2u64 << lane) - 1) & 0xffff_ffff,
        _ => l.device.special(block, reg),
    }
}
