//! From the arguments of a kernel to what its launch passes.

use std::sync::Arc;

use ptx_runtime::opencl::info::ArgKind;
use ptx_runtime::{FixedWord, Resources};

use super::{Arg, Kernel};
use crate::cl::{Error, Result};
use crate::device::Device;
use crate::memory::Mem;

/// Bytes of local memory that no argument has, so that none is at address 0, where there is room.
const NULL: u64 = 16;

/// What a launch passes to a kernel.
pub(super) struct Params {
    /// The parameter block.
    pub block: Vec<u8>,
    /// Bytes of local memory that arguments ask for.
    pub shared: u32,
    /// What must stay until the launch has run.
    pub held: Vec<Arc<Mem>>,
    /// Formats of images, and samplers.
    pub fixed: Vec<FixedWord>,
}

impl Kernel {
    /// What a launch on a device passes.
    pub(super) fn params(&self, device: &Device, resources: &Resources) -> Result<Params> {
        // A kernel may compare its local memory with null, which is address 0.
        match self.params_behind(NULL, device, resources) {
            Err(Error::OUT_OF_RESOURCES) => self.params_behind(0, device, resources),
            done => done,
        }
    }

    /// The same, with local memory that starts behind so many bytes.
    fn params_behind(&self, first: u64, device: &Device, resources: &Resources) -> Result<Params> {
        let args = self.args();
        let mut block = vec![0u8; resources.param_bytes as usize];
        let own = u64::from(resources.shared);
        let mut end = own;
        let (mut held, mut fixed) = (Vec::new(), Vec::new());
        for ((arg, info), &(offset, size)) in
            args.iter().zip(&self.info.args).zip(&resources.params)
        {
            let arg = arg.as_ref().ok_or(Error::INVALID_KERNEL_ARGS)?;
            let place = &mut block[offset as usize..][..size as usize];
            let value = match arg {
                Arg::Bytes(bytes) => {
                    place.copy_from_slice(bytes);
                    continue;
                }
                Arg::Null => 0,
                Arg::Sampler(bits) => {
                    fixed.push(FixedWord { param: offset, behind: None, value: *bits });
                    u64::from(*bits)
                }
                Arg::Shared(address) => *address as u64,
                Arg::Local(bytes) => {
                    let align = match info.kind {
                        ArgKind::Local { align } => align.next_power_of_two(),
                        _ => 16,
                    };
                    let start = end.max(first).next_multiple_of(align);
                    end = start.saturating_add(*bytes as u64);
                    start
                }
                Arg::Memory(mem) => {
                    let mem = mem.upgrade().ok_or(Error::INVALID_KERNEL_ARGS)?;
                    let image = mem.image.as_ref();
                    fixed.extend(image.into_iter().flat_map(|i| i.fixed_words(offset)));
                    let value = image.map_or(mem.address, |i| i.descriptor.0);
                    held.push(mem);
                    value
                }
            };
            place.copy_from_slice(&value.to_le_bytes()[..size as usize]);
        }
        if end > device.local_memory() {
            return Err(Error::OUT_OF_RESOURCES);
        }
        let unit = u64::from(device.profile.allocation.shared_unit);
        let end = if end == own {
            end
        } else {
            self.program.context.granted(end, 0, unit).min(device.local_memory())
        };
        Ok(Params { block, shared: (end - own) as u32, held, fixed })
    }
}
