//! What compiled code tells its watcher, handed to a screen of the checkers.

use std::ops::Range;

use ptx_check::screen::Screen;
use ptx_isa::Space;
use ptx_isa::watch::{CellsAt, Now, Touch};
use ptx_jit::Watcher;

/// Hands to a screen what compiled code tells.
struct Screened<'a>(Screen<'a>);

pub(crate) fn watcher<'a>(screen: Screen<'a>) -> Box<dyn Watcher + 'a> {
    Box::new(Screened(screen))
}

impl Watcher for Screened<'_> {
    fn block(&mut self, more: u32) -> Now {
        self.0.block(more)
    }
    fn barrier(&mut self, whole: bool) -> Option<Now> {
        self.0.barrier(whole)
    }
    fn access(&mut self, touch: &Touch<'_>) -> bool {
        self.0.access(touch)
    }
    fn shared_cells(&mut self, wanted: bool) -> u64 {
        self.0.shared_cells(wanted)
    }
    fn cells(&mut self, site: usize, address: u64, bytes: u64) -> Option<CellsAt> {
        self.0.cells(site, address, bytes)
    }
    fn lane(&mut self, space: Space, address: u64, bytes: u32, write: bool) -> bool {
        self.0.lane(space, address, bytes, write)
    }
    fn members(&mut self, lanes: u32, masks: &[u32; 32]) -> bool {
        self.0.members(lanes, masks)
    }
    fn variable(&self, offset: u64) -> Option<Range<u64>> {
        self.0.variable(offset)
    }
}
