//! Device memory as it was before a launch, so that the launch can run again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use ptx_interp::{LaunchParams, Memory};
use ptx_isa::texture::Texels;

use crate::error::Error;

/// Contents of memory and of textures before a launch.
pub(crate) struct Snapshot {
    /// First address and bytes of every allocation.
    allocations: Vec<(u64, Vec<u8>)>,
    arrays: Vec<(Arc<[AtomicU8]>, Vec<u8>)>,
}

impl Snapshot {
    /// Copies everything that a launch can write.
    pub(crate) fn take(memory: &Memory, params: &LaunchParams) -> Snapshot {
        let mut allocations = Vec::new();
        for a in memory.allocations() {
            let mut bytes = vec![0; a.size as usize];
            // An allocation that just went away is none.
            if memory.read(a.start, &mut bytes).is_ok() {
                allocations.push((a.start, bytes));
            }
        }
        let mut arrays = Vec::new();
        for texture in params.textures.values() {
            if let Texels::Array(texels) = &texture.texels {
                let bytes = texels.iter().map(|b| b.load(Ordering::Relaxed)).collect();
                arrays.push((Arc::clone(texels), bytes));
            }
        }
        Snapshot { allocations, arrays }
    }

    /// Makes memory what it was. What kernels allocated goes away, so that they get the same
    /// addresses again.
    ///
    /// # Errors
    /// When the kernel freed memory of an earlier launch.
    pub(crate) fn restore(&self, memory: &Memory) -> Result<(), Error> {
        for a in memory.allocations() {
            let known = self.allocations.binary_search_by_key(&a.start, |(start, _)| *start);
            if known.is_err() && a.heap {
                // Nobody else frees it: the launch has stopped.
                let _ = memory.free_heap(a.start);
            }
        }
        for (start, bytes) in &self.allocations {
            memory.write(*start, bytes).map_err(|_| {
                Error::Refused(
                    "the kernel freed memory of an earlier launch; there is no way back".into(),
                )
            })?;
        }
        for (texels, bytes) in &self.arrays {
            for (to, from) in texels.iter().zip(bytes) {
                to.store(*from, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
