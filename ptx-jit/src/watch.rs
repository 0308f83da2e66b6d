//! What of compiled code is told to its watcher.

use ptx_isa::Space;
use ptx_isa::effect::{Access, Fault, window};
use ptx_isa::watch::{CellsAt, Now, Touch};

use crate::ctx::{DONE, Site};
use crate::device::Stop;
use crate::entry::Slow;
use crate::worker::Worker;

fn no(lane: usize) -> Fault {
    Fault::Stopped { lane: lane as u8, message: String::new() }
}

impl Worker<'_> {
    /// Tells of an access whose base and lanes are staged.
    pub(crate) fn tell_access(&mut self, e: usize) -> Result<(), Stop> {
        if self.kernel.watched.tracked().is_none() {
            return Ok(());
        }
        let kernel = self.kernel;
        let info = &kernel.needs.effects[e];
        let Some(Access { place, touches, bytes }) = info.effect.access() else { return Ok(()) };
        let space = place.space;
        if !matches!(space, Space::Global | Space::Shared | Space::Generic) {
            return Ok(());
        }
        let width = kernel.geometry.width as usize;
        let mut lanes = 0;
        let mut addresses = [0; 32];
        let ctx = self.ctx();
        let (thread, now) = (ctx.thread0 as u32, ctx.now);
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
        let addresses = &addresses;
        let touch = Touch { site: e, touches, space, bytes, thread, lanes, addresses, now };
        let fine = lanes == 0 || self.watcher.as_mut().is_none_or(|w| w.access(&touch));
        if fine { Ok(()) } else { Err(Stop::Watched) }
    }

    /// Tells of a block that begins, and of `more` that the same call runs.
    pub(crate) fn tell_block(&mut self, more: u64) {
        let Some(watcher) = &mut self.watcher else {
            self.ctx().shared_cells = 0;
            return;
        };
        let now = watcher.block(more as u32);
        if now.launch != self.ctx().now.launch {
            self.forget_sites();
        }
        self.begin_segment(now);
    }

    /// Tells of a barrier, between two calls of the code.
    pub(crate) fn tell_barrier(&mut self) -> Result<(), Stop> {
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        let resume = &self.scratch.resume;
        let whole = resume.iter().all(|r| *r == resume[0] && *r != DONE);
        let Some(now) = watcher.barrier(whole) else { return Err(Stop::Watched) };
        self.begin_segment(now);
        Ok(())
    }

    /// From now on code gives its cells these codes.
    fn begin_segment(&mut self, now: Now) {
        let cells = self.watcher.as_mut().map_or(0, |w| w.shared_cells(true));
        let ctx = self.ctx();
        ctx.now = now;
        ctx.shared_cells = if cells == 0 { 0 } else { cells.wrapping_sub(ctx.shared as u64) };
    }

    /// Where code finds the cells of the memory that a site has learned; `None`: it must ask each time.
    pub(crate) fn cells_of(&mut self, site: usize, place: Site, size: u64) -> Option<Site> {
        if self.kernel.watched.tracked().is_none() {
            return Some(place);
        }
        let effect = self.kernel.needs.layout.sites[site].effect as usize;
        let cells = match window::locate(Space::Generic, place.start) {
            (Space::Global, _) => self.watcher.as_mut()?.cells(effect, place.start, size)?,
            // A code that is not 0 is of this block: cells are cleared for each where addresses are generic.
            (Space::Shared, at) => {
                let first = self.watcher.as_mut()?.shared_cells(false);
                CellsAt { host: first + at, first: 1 }
            }
            _ => return Some(place),
        };
        // Where cells are no words, all that counts is that it is not 0.
        let delta = if cells.host == 0 { 0 } else { cells.host.wrapping_sub(place.host) };
        Some(Site { cells: delta, first: u64::from(cells.first), ..place })
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
        let all = self.watcher.is_some() && self.kernel.watched.tracked().is_some();
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
