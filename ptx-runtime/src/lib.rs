//! Device, memory, modules and launches over the PTX engines.

mod args;
mod verified;

pub use args::{ArgumentError, KernelArg, declaration};
pub use ptx_isa as isa;
pub use ptx_parse as parse;
pub use verified::{Diagnostics, Verified, format};

/// An address in device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further on.
    pub fn offset(self, bytes: u64) -> DevicePtr {
        DevicePtr(self.0.wrapping_add(bytes))
    }
}
