//! How large cells are, by what a kernel writes.

use ptx_isa::effect::{Effect, Mem, Sys};
use ptx_isa::meaning::Uop;
use ptx_isa::{Reach, Space};
use ptx_parse::code::Program;

/// Effects of a kernel's functions.
pub(super) fn effects(program: &Program) -> impl Iterator<Item = &Effect> {
    program.functions.iter().flat_map(|f| &f.uops).filter_map(|uop| match uop {
        Uop::Effect { effect, .. } => Some(effect),
        Uop::Pure { .. } => None,
    })
}

/// Whether an effect may reach global and shared memory.
pub(super) fn is_generic(effect: &Effect) -> bool {
    effect.access().is_some_and(|access| access.place.space == Space::Generic)
}

/// Bytes of a cell, in powers of two.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Grains {
    pub shared: u32,
    pub global: u32,
}

impl Grains {
    /// As small as what is written: then a read of less is of the whole cell as well.
    fn write(&mut self, space: Space, bytes: u8) {
        let grain = u32::from(bytes).trailing_zeros();
        if matches!(space, Space::Shared | Space::Generic) {
            self.shared = self.shared.min(grain);
        }
        if matches!(space, Space::Global | Space::Generic) {
            self.global = self.global.min(grain);
        }
    }
}

/// The cells of a kernel's launches; `None` where the kernel does what is not followed here.
pub(super) fn grains(program: &Program) -> Option<Grains> {
    let mut grains = Grains { shared: 2, global: 2 };
    let mut atomics = None;
    for effect in effects(program) {
        match effect {
            // Nobody is asked about these.
            Effect::Ld(Mem { place, .. }) | Effect::St(Mem { place, .. })
                if place.space == Space::SharedCluster =>
            {
                return None;
            }
            Effect::Atom(a) if a.bytes > 8 || a.place.space == Space::SharedCluster => return None,
            // Nor about memory that an operation reaches on its own: asynchronous copies, mbarrier objects.
            Effect::Warp(op) if op.waits || op.reach > Reach::Warp => return None,
            Effect::St(Mem { place, bytes, .. }) => grains.write(place.space, *bytes),
            Effect::Atom(a) => {
                // Atomics of different sizes are not atomic to each other.
                if *atomics.get_or_insert(a.bytes) != a.bytes {
                    return None;
                }
                grains.write(a.place.space, a.bytes);
            }
            Effect::Brkpt | Effect::Sys(Sys::Vprintf | Sys::Malloc | Sys::Free) => return None,
            Effect::Ld(_)
            | Effect::Bar(_)
            | Effect::Fence(_)
            | Effect::AsyncGroup(_)
            | Effect::Trap
            | Effect::Yield
            | Effect::Sys(Sys::AssertFail)
            | Effect::Warp(_) => {}
        }
    }
    Some(grains)
}
