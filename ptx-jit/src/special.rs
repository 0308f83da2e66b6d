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

/// Whether a register differs between the blocks of a row of the grid only as `%ctaid.x` does: all that [`special`] knows
/// without the device, and what the driver sets for a launch.
pub(crate) fn same_in_a_row(reg: Sreg) -> bool {
    use Sreg::*;
    let of_thread = matches!(reg, TidX | TidY | TidZ | LaneId | WarpId);
    let of_lane = matches!(reg, LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt);
    let of_block = matches!(reg, CtaidX | CtaidY | CtaidZ | NtidX | NtidY | NtidZ | NwarpId);
    let of_launch = matches!(reg, NctaidX | NctaidY | NctaidZ) || reg.of_environment().is_some();
    of_thread || of_lane || of_block || of_launch
}
