//! Devices: this machine, or one emulated GPU each.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use environment::Wrong;
use environment::host::{self, Processor};

use ptx_runtime::timing::Profile;
use ptx_runtime::{Backend, device as profiles};

use crate::cl::{self, Error, Result};
use crate::object;
use crate::partition::Part;
use crate::registry::Handle;
use c_border::{Answer, ParamValue};
use ptx_runtime::opencl::options;

/// A device.
pub struct Device {
    pub(crate) handle: Handle<Device>,
    /// What it is.
    pub profile: Profile,
    /// The engine that runs kernels.
    pub backend: Backend,
    /// Event profiling reports the timing model's clock (`PTXRUN_TIMING`).
    pub timed: bool,
    /// Ends a launch that takes longer.
    pub timeout: Option<Duration>,
    pub(crate) memory: u64,
    /// The machine that this runs on, where the device is that and not a GPU of some profile.
    pub host: Option<Processor>,
    /// What it is a part of, where it is a sub-device.
    pub(crate) part: Option<Part>,
    /// When the modelled device is free, in nanoseconds.
    pub(crate) free_at: Mutex<u64>,
}
object!(Device, INVALID_DEVICE);

/// Name of the platform and vendor of the devices.
pub const VENDOR: &str = "ptxrun";
/// `CL_PLATFORM_VERSION` and `CL_DEVICE_VERSION` of version `major`.`minor`.
pub fn version_text((major, minor): (u32, u32)) -> String {
    format!("OpenCL {major}.{minor} ptxrun {}", env!("CARGO_PKG_VERSION"))
}
/// `CL_DEVICE_VENDOR_ID` of this machine: the letters `ptxr`, which is no number of the PCI group.
const VENDOR_ID: u32 = 0x7074_7872;
/// Most work-items of a work-group in each dimension that the engines take.
const MOST: [u32; 3] = [1024, 1024, 64];
/// Texels of an image in a direction.
pub const MAX_IMAGE: usize = 16384;
/// Texels of a 3D image in a direction.
pub const MAX_IMAGE_3D: usize = 2048;
/// Texels of an image over a buffer.
pub const MAX_IMAGE_BUFFER: usize = 1 << 27;
/// Layers of an image array.
pub const MAX_LAYERS: usize = 2048;
/// Bytes to which a sub-buffer's origin is aligned.
pub const BASE_ALIGN: usize = 128;

const FP_DENORM: u64 = 1;
const FP_INF_NAN: u64 = 2;
const FP_ROUNDINGS: u64 = 4 + 8 + 16;
const FP_FMA: u64 = 32;
const FP_CORRECT_DIVIDE: u64 = 128;

impl Device {
    /// A device of that profile, as the environment asks for it.
    ///
    /// # Errors
    /// When a variable holds something that it may not hold.
    pub fn new(profile: Profile, backend: Backend) -> std::result::Result<Device, Wrong> {
        let (handle, free_at) = (Handle::default(), Mutex::default());
        let (timed, timeout) = (environment::timing()?, environment::timeout()?);
        let memory = profiles::budget(&profile)?;
        let (host, part) = (None, None);
        Ok(Device { handle, profile, backend, timed, timeout, memory, host, part, free_at })
    }

    /// This machine. Kernels are compiled for the target of `profile`.
    ///
    /// # Errors
    /// As [`Device::new`].
    pub fn of_host(profile: Profile, backend: Backend) -> std::result::Result<Device, Wrong> {
        let memory = environment::memory()?;
        Ok(Device { host: Some(host::processor()), memory, ..Device::new(profile, backend)? })
    }

    /// `CL_DEVICE_TYPE`
    pub fn kind(&self) -> u64 {
        if self.host.is_some() { cl::DEVICE_TYPE_CPU } else { cl::DEVICE_TYPE_GPU }
    }

    /// Compute capability as in `sm_90`.
    pub fn capability(&self) -> u32 {
        let c = &self.profile.device.compute_capability;
        u32::from(c.major) * 10 + u32::from(c.minor)
    }

    /// The target that programs are compiled for.
    pub fn target(&self) -> u32 {
        let capability = self.capability();
        let all = ptx_runtime::opencl::options::SUPPORTED_SM;
        all.into_iter().filter(|sm| *sm <= capability).max().unwrap_or(all[0])
    }

    /// Bytes of global memory, as many as fit the host.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Bytes of the largest allocation.
    pub fn max_alloc(&self) -> u64 {
        (self.memory / 4).max(128 << 20).min(self.memory)
    }

    /// Work-items of the largest work-group.
    pub fn max_group(&self) -> usize {
        self.profile.limits.max_threads_per_block.min(1024) as usize
    }

    /// Work-items of a work-group in each dimension.
    pub fn max_items(&self) -> [usize; 3] {
        let most = self.profile.limits.max_block_dim;
        std::array::from_fn(|d| most[d].min(MOST[d]) as usize)
    }

    /// Bytes of local memory of a work-group: what a kernel can declare. Larger devices give more at launch only.
    pub fn local_memory(&self) -> u64 {
        u64::from(self.profile.limits.max_shared_bytes_per_block.min(48 << 10))
    }

    /// Whether it has double precision.
    pub fn has_double(&self) -> bool {
        self.capability() >= 13
    }

    /// When a command of `ns` nanoseconds starts and ends on the modelled device.
    pub(crate) fn occupy(&self, queued: u64, ns: u64) -> (u64, u64) {
        let mut free = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let start = queued.max(*free);
        *free = start + ns;
        (start, *free)
    }

    /// Whether it is this machine's processor.
    pub fn is_host(&self) -> bool {
        self.host.is_some()
    }

    /// Nanoseconds that the modelled device takes to move `bytes` bytes over its link to the host.
    pub fn transfer_ns(&self, bytes: usize) -> Option<u64> {
        self.timed.then(|| self.profile.transfer_ns(bytes as u64))
    }

    /// The same for a copy within device memory.
    pub fn copy_ns(&self, bytes: usize) -> Option<u64> {
        self.timed.then(|| self.profile.copy_ns(bytes as u64))
    }

    /// `CL_DEVICE_EXTENSIONS`
    pub fn extensions(&self) -> Vec<&'static str> {
        let mut all: Vec<&str> = options::extensions(self.target()).collect();
        all.extend([
            "cl_khr_extended_versioning",
            "cl_khr_image2d_from_buffer",
            "cl_khr_suggested_local_work_size",
        ]);
        if self.host.is_none() {
            all.push("cl_nv_device_attribute_query");
        }
        all
    }

    /// `clGetDeviceInfo`, but for the platform.
    pub fn info(&self, name: u32, to: ParamValue) -> Result {
        if let Some(host) = &self.host
            && let Some(answer) = of_processor(host, name)
        {
            return to.put(answer);
        }
        let p = &self.profile;
        let limits = &p.limits;
        let single = if self.capability() >= 20 {
            FP_DENORM | FP_INF_NAN | FP_ROUNDINGS | FP_FMA | FP_CORRECT_DIVIDE
        } else {
            FP_INF_NAN | 4
        };
        let double = FP_DENORM | FP_INF_NAN | FP_ROUNDINGS | FP_FMA;
        match name {
            cl::DEVICE_TYPE => to.put(self.kind()),
            // The PCI number of the emulated device's maker.
            cl::DEVICE_VENDOR_ID => to.put(0x10deu32),
            cl::DEVICE_MAX_COMPUTE_UNITS => to.put(p.device.multiprocessors),
            cl::DEVICE_MAX_WORK_ITEM_DIMENSIONS => to.put(3u32),
            cl::DEVICE_MAX_WORK_GROUP_SIZE => to.put(self.max_group()),
            cl::DEVICE_MAX_WORK_ITEM_SIZES => to.put(&self.max_items()[..]),
            cl::DEVICE_PREFERRED_VECTOR_WIDTH_CHAR
            | cl::DEVICE_PREFERRED_VECTOR_WIDTH_SHORT
            | cl::DEVICE_PREFERRED_VECTOR_WIDTH_INT
            | cl::DEVICE_PREFERRED_VECTOR_WIDTH_LONG
            | cl::DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT
            | cl::DEVICE_PREFERRED_VECTOR_WIDTH_HALF
            | cl::DEVICE_NATIVE_VECTOR_WIDTH_CHAR
            | cl::DEVICE_NATIVE_VECTOR_WIDTH_SHORT
            | cl::DEVICE_NATIVE_VECTOR_WIDTH_INT
            | cl::DEVICE_NATIVE_VECTOR_WIDTH_LONG
            | cl::DEVICE_NATIVE_VECTOR_WIDTH_FLOAT
            | cl::DEVICE_NATIVE_VECTOR_WIDTH_HALF => to.put(1u32),
            cl::DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE | cl::DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE => {
                to.put(u32::from(self.has_double()))
            }
            cl::DEVICE_MAX_CLOCK_FREQUENCY => to.put(p.clock.sm_mhz as u32),
            cl::DEVICE_ADDRESS_BITS => to.put(64u32),
            cl::DEVICE_MAX_READ_IMAGE_ARGS => to.put(256u32),
            cl::DEVICE_MAX_WRITE_IMAGE_ARGS => to.put(64u32),
            cl::DEVICE_MAX_MEM_ALLOC_SIZE => to.put(self.max_alloc()),
            cl::DEVICE_IMAGE2D_MAX_WIDTH | cl::DEVICE_IMAGE2D_MAX_HEIGHT => to.put(MAX_IMAGE),
            cl::DEVICE_IMAGE3D_MAX_WIDTH
            | cl::DEVICE_IMAGE3D_MAX_HEIGHT
            | cl::DEVICE_IMAGE3D_MAX_DEPTH => to.put(MAX_IMAGE_3D),
            cl::DEVICE_IMAGE_MAX_BUFFER_SIZE => to.put(MAX_IMAGE_BUFFER),
            cl::DEVICE_IMAGE_MAX_ARRAY_SIZE => to.put(MAX_LAYERS),
            cl::DEVICE_IMAGE_SUPPORT => to.put(true),
            cl::DEVICE_MAX_PARAMETER_SIZE => to.put(4352usize),
            cl::DEVICE_MAX_SAMPLERS => to.put(32u32),
            cl::DEVICE_MEM_BASE_ADDR_ALIGN => to.put(BASE_ALIGN as u32 * 8),
            cl::DEVICE_MIN_DATA_TYPE_ALIGN_SIZE => to.put(128u32),
            cl::DEVICE_SINGLE_FP_CONFIG => to.put(single),
            cl::DEVICE_DOUBLE_FP_CONFIG => to.put(if self.has_double() { double } else { 0 }),
            // CL_DEVICE_HALF_FP_CONFIG
            0x1033 => to.put(FP_DENORM | FP_INF_NAN | 4),
            cl::DEVICE_GLOBAL_MEM_CACHE_TYPE => to.put(if p.l2.is_some() { 2u32 } else { 0 }),
            cl::DEVICE_GLOBAL_MEM_CACHELINE_SIZE => {
                to.put(if p.l2.is_some() { p.global.line_bytes } else { 0 })
            }
            cl::DEVICE_GLOBAL_MEM_CACHE_SIZE => to.put(p.l2.as_ref().map_or(0, |l| l.bytes)),
            cl::DEVICE_GLOBAL_MEM_SIZE => to.put(self.memory()),
            cl::DEVICE_MAX_CONSTANT_BUFFER_SIZE => to.put(u64::from(p.constant.bytes)),
            cl::DEVICE_MAX_CONSTANT_ARGS => to.put(9u32),
            cl::DEVICE_LOCAL_MEM_TYPE => to.put(1u32),
            cl::DEVICE_LOCAL_MEM_SIZE => to.put(self.local_memory()),
            cl::DEVICE_ERROR_CORRECTION_SUPPORT => to.put(false),
            cl::DEVICE_HOST_UNIFIED_MEMORY => to.put(false),
            cl::DEVICE_PROFILING_TIMER_RESOLUTION => to.put(1usize),
            cl::DEVICE_ENDIAN_LITTLE
            | cl::DEVICE_AVAILABLE
            | cl::DEVICE_COMPILER_AVAILABLE
            | cl::DEVICE_LINKER_AVAILABLE
            | cl::DEVICE_PREFERRED_INTEROP_USER_SYNC => to.put(true),
            cl::DEVICE_EXECUTION_CAPABILITIES => to.put(1u64),
            cl::DEVICE_QUEUE_PROPERTIES => {
                to.put(cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl::QUEUE_PROFILING_ENABLE)
            }
            cl::DEVICE_NAME => to.put(p.name.as_str()),
            cl::DEVICE_VENDOR => to.put(VENDOR),
            cl::DRIVER_VERSION => to.put(env!("CARGO_PKG_VERSION")),
            cl::DEVICE_PROFILE => to.put("FULL_PROFILE"),
            cl::DEVICE_VERSION => to.put(version_text(self.version()).as_str()),
            cl::DEVICE_OPENCL_C_VERSION => to.put("OpenCL C 1.2 ptxrun"),
            cl::DEVICE_EXTENSIONS => to.put(self.extensions().join(" ").as_str()),
            cl::DEVICE_BUILT_IN_KERNELS => to.put(""),
            cl::DEVICE_PARENT_DEVICE
            | cl::DEVICE_PARTITION_MAX_SUB_DEVICES
            | cl::DEVICE_PARTITION_PROPERTIES
            | cl::DEVICE_PARTITION_TYPE
            | cl::DEVICE_PARTITION_AFFINITY_DOMAIN
            | cl::DEVICE_REFERENCE_COUNT => self.partition_info(name, to),
            cl::DEVICE_PRINTF_BUFFER_SIZE => to.put(1usize << 20),
            0x4000..=0x400a if self.host.is_some() => Err(Error::INVALID_VALUE),
            // cl_nv_device_attribute_query
            0x4000 => to.put(u32::from(p.device.compute_capability.major)),
            0x4001 => to.put(u32::from(p.device.compute_capability.minor)),
            0x4002 => to.put(limits.registers_per_sm),
            0x4003 => to.put(limits.warp_size),
            0x4004 => to.put(true),
            0x4005 | 0x4006 => to.put(false),
            0x4007 => to.put(2u32),
            // Place on the PCI bus.
            0x4008..=0x400a => to.put(0u32),
            _ => self.later_info(name, to),
        }
    }
}

/// What only the processor knows.
fn of_processor(host: &Processor, name: u32) -> Option<Answer> {
    Some(match name {
        cl::DEVICE_TYPE => cl::DEVICE_TYPE_CPU.into(),
        cl::DEVICE_VENDOR_ID => VENDOR_ID.into(),
        cl::DEVICE_NAME => host.name.as_str().into(),
        cl::DEVICE_MAX_COMPUTE_UNITS => host.threads.into(),
        cl::DEVICE_MAX_CLOCK_FREQUENCY => host.mhz.into(),
        // A cache that is read and written.
        cl::DEVICE_GLOBAL_MEM_CACHE_TYPE => (if host.cache > 0 { 2u32 } else { 0 }).into(),
        cl::DEVICE_GLOBAL_MEM_CACHE_SIZE => host.cache.into(),
        cl::DEVICE_GLOBAL_MEM_CACHELINE_SIZE => host.line.into(),
        cl::DEVICE_HOST_UNIFIED_MEMORY => true.into(),
        // Local memory lies where all memory does: programs need not copy tables to it.
        cl::DEVICE_LOCAL_MEM_TYPE => 2u32.into(),
        _ => return None,
    })
}
