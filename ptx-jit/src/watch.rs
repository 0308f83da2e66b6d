//! What of compiled code is told to its watcher.

use ptx_isa::Space;
use ptx_isa::effect::{Atom, Effect, Fault, Mem};
use ptx_isa::special::Sreg;

use crate::ctx::DONE;
use crate::device::Stop;
use crate::entry::Slow;
use crate::options::Watched;
use crate::watcher::{Touch, Touches};
use crate::worker::Worker;

/// What the instruction is told as.
fn told(effect: &Effect) -> Option<(Touches, Space, u32)> {
    let bytes = |m: &Mem| u32::from(m.bytes) * u32::from(m.count);
    Some(match effect {
        Effect::Ld(m) => (Touches::Read, m.place.space, bytes(m)),
        Effect::St(m) => (Touches::Write, m.place.space, bytes(m)),
        Effect::Atom(a) => {
            let Atom { place, bytes, count, scope, .. } = a;
            (Touches::Atomic(*scope), place.space, u32::from(*bytes) * u32::from(*count).max(1))
        }
        Effect::Bar(_)
        | Effect::Fence(_)
        | Effect::AsyncGroup(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield
        | Effect::Sys(_)
        | Effect::Warp(_) => return None,
    })
}

fn no(lane: usize) -> Fault {
    Fault::Stopped { lane: lane as u8, message: String::new() }
}

impl Worker<'_> {
    /// Tells of an access whose base and lanes are staged.
    pub(crate) fn tell_access(&mut self, e: usize) -> Result<(), Stop> {
        if self.kernel.watched != Watched::Accesses {
            return Ok(());
        }
        let kernel = self.kernel;
        let info = &kernel.needs.effects[e];
        let Some((touches, space, bytes)) = told(&info.effect) else { return Ok(()) };
        let (Effect::Ld(Mem { place, .. })
        | Effect::St(Mem { place, .. })
        | Effect::Atom(Atom { place, .. })) = &info.effect
        else {
            return Ok(());
        };
        let width = kernel.geometry.width as usize;
        let mut lanes = 0;
        let mut addresses = [0; 32];
        let ctx = self.ctx();
        let (thread, x) = (ctx.thread0 as u32, ctx.special[Sreg::CtaidX as usize] as u32);
        if ctx.mask[..width].iter().fold(u32::MAX, |all, on| all & on) == u32::MAX {
            lanes = u32::MAX >> (32 - width);
        } else {
            for (l, on) in ctx.mask[..width].iter().enumerate() {
                lanes |= (on & 1) << l;
            }
        }
        if info.src.long(0) {
            let offset = place.offset as u64;
            addresses.iter_mut().zip(&ctx.src[0]).for_each(|(a, s)| *a = s.wrapping_add(offset));
        } else {
            for (l, a) in addresses.iter_mut().enumerate().take(width) {
                *a = self.address(info, l, place.offset);
            }
        }
        self.tell_block(x);
        let touch =
            Touch { effect: e, touches, space, bytes, thread, lanes, addresses: &addresses };
        let fine = lanes == 0 || self.watcher.as_mut().is_none_or(|w| w.access(&touch));
        if fine { Ok(()) } else { Err(Stop::Watched) }
    }

    /// Tells of the block that runs, if it is another one than before; `x`: its place in its row.
    fn tell_block(&mut self, x: u32) {
        self.block[0] = x;
        if self.watched_block == Some(self.block) {
            return;
        }
        self.watched_block = Some(self.block);
        let [gx, gy, _] = self.launch.grid.map(u64::from);
        let [x, y, z] = self.block.map(u64::from);
        if let Some(watcher) = &mut self.watcher {
            watcher.block(x + gx * (y + gy * z));
        }
    }

    /// Tells of a barrier, between two calls of the code.
    pub(crate) fn tell_barrier(&mut self) -> Result<(), Stop> {
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        let resume = &self.scratch.resume;
        let whole = resume.iter().all(|r| *r == resume[0] && *r != DONE);
        if watcher.barrier(whole) { Ok(()) } else { Err(Stop::Watched) }
    }

    /// Asks about an access of one lane by the slow way.
    pub(crate) fn ask(
        &mut self,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<(), Fault> {
        let mut asked = self.watcher.as_mut();
        let fine = asked.as_mut().is_none_or(|w| w.lane(space, address, bytes, write));
        if fine { Ok(()) } else { Err(no(lane)) }
    }

    /// Ends the launch where a watcher must know of all accesses: this one is told nowhere.
    pub(crate) fn untold(&self, lane: u8) -> Result<(), Fault> {
        let all = self.watcher.is_some() && self.kernel.watched == Watched::Accesses;
        if all { Err(no(lane as usize)) } else { Ok(()) }
    }

    /// Asks about the member masks, source `n`, of an operation of these lanes.
    pub(crate) fn ask_members(&mut self, info: &Slow, n: usize, lanes: u32) -> Result<(), Fault> {
        if self.watcher.is_none() {
            return Ok(());
        }
        let masks = std::array::from_fn(|l| self.word(info, n, l) as u32);
        let fine = self.watcher.as_mut().is_none_or(|w| w.members(lanes, &masks));
        if fine { Ok(()) } else { Err(no(0)) }
    }
}
