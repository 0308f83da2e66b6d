//! What compiled code tells its watcher, handed to a screen of the checkers.

use std::ops::Range;

use ptx_check::screen::{Screen, Touch, Touches};
use ptx_isa::Space;
use ptx_jit::Watcher;

/// Hands to a screen what compiled code tells.
struct Screened<'a>(Screen<'a>);

pub(crate) fn watcher<'a>(screen: Screen<'a>) -> Box<dyn Watcher + 'a> {
    Box::new(Screened(screen))
}

impl Watcher for Screened<'_> {
    fn block(&mut self, _: u64) {
        self.0.block();
    }
    fn barrier(&mut self, whole: bool) -> bool {
        self.0.barrier(whole)
    }
    fn access(&mut self, touch: &ptx_jit::Touch<'_>) -> bool {
        let ptx_jit::Touch { effect, touches, space, bytes, thread, lanes, addresses } = *touch;
        let touches = match touches {
            ptx_jit::Touches::Read => Touches::Read,
            ptx_jit::Touches::Write => Touches::Write,
            ptx_jit::Touches::Atomic(scope) => Touches::Atomic(scope),
        };
        self.0.access(&Touch { site: effect, touches, space, bytes, thread, lanes, addresses })
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
