//! Shared virtual memory: the host's own, lent to a context, so that host and kernels see it at one address.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use c_border::Raw;
use ptx_runtime::{Context as Machine, DevicePtr, Unified};

use crate::cl;

/// Alignment where none is asked for: that of the largest type.
const ALIGN: usize = 128;
/// The largest alignment that can be asked for.
const MOST_ALIGN: usize = 4096;

/// The allocations of a context.
#[derive(Default)]
pub struct Allocations(Mutex<BTreeMap<usize, Unified>>);

impl Allocations {
    fn all(&self) -> MutexGuard<'_, BTreeMap<usize, Unified>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `clSVMAlloc`; nothing where an argument is wrong or there is no memory. `most`: bytes of the largest allocation.
    pub fn alloc(
        &self,
        machine: &Machine,
        flags: u64,
        size: usize,
        align: usize,
        most: u64,
    ) -> Option<usize> {
        let access = cl::MEM_READ_WRITE | cl::MEM_WRITE_ONLY | cl::MEM_READ_ONLY;
        // Atomic functions of the host program have no order with those of kernels.
        let known = access | cl::MEM_SVM_FINE_GRAIN_BUFFER;
        if flags & !known != 0 || (flags & access).count_ones() > 1 {
            return None;
        }
        if size == 0 || size as u64 > most {
            return None;
        }
        let align = if align == 0 { ALIGN } else { align };
        if !align.is_power_of_two() || align > MOST_ALIGN {
            return None;
        }
        let allocation = Unified::new(machine.memory(), size, align.max(ALIGN))?;
        let address = allocation.start().expose_provenance();
        let lent = Raw::new(address).lend(machine.memory(), size as u64, "shared virtual memory");
        lent.ok()?;
        self.all().insert(address, allocation);
        Some(address)
    }

    /// `clSVMFree`; whether there was such an allocation.
    pub fn free(&self, machine: &Machine, address: usize) -> bool {
        let gone = self.all().remove(&address);
        if gone.is_some() {
            let _ = machine.free(DevicePtr(address as u64));
        }
        gone.is_some()
    }

    /// Whether `bytes` bytes from an address on lie in one allocation.
    pub fn holds(&self, address: usize, bytes: usize) -> bool {
        let all = self.all();
        all.range(..=address).next_back().is_some_and(|(start, allocation)| {
            address.checked_add(bytes).is_some_and(|end| end <= start + allocation.bytes())
        })
    }

    /// Takes all of them back from the context.
    pub fn clear(&self, machine: &Machine) {
        for (address, allocation) in std::mem::take(&mut *self.all()) {
            let _ = machine.free(DevicePtr(address as u64));
            drop(allocation);
        }
    }
}
