//! System calls.

use ptx_isa::effect::{Fault, Sys};

use crate::device::SystemCall;
use crate::entry::Slow;
use crate::warp::Lanes;
use crate::worker::Worker;

impl Worker<'_> {
    /// A system call of the lanes `on`, one after the other.
    pub(crate) fn system(&mut self, info: &Slow, sys: Sys, on: &[usize]) -> Result<(), Fault> {
        let [gx, gy, _] = self.launch.grid.map(u64::from);
        let [x, y, z] = self.block.map(u64::from);
        let (device, block) = (self.launch.device, x + gx * (y + gy * z));
        for &l in on {
            let mut args = [0; 4];
            for (n, arg) in args.iter_mut().enumerate().take(info.src.count) {
                *arg = self.word(info, n, l);
            }
            let call = SystemCall { sys, args, block, lane: l as u8 };
            let result = device.system(&call, &mut Lanes::new(self, info, 1 << l))?;
            if info.dst.count > 0 {
                self.set(info, 0, l, result);
            }
        }
        Ok(())
    }
}
