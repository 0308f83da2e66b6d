//! What there is once per process: the emulated device and its primary context.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ptx_runtime::timing::Profile;
use ptx_runtime::{Backend, device};

use crate::context::{CONTEXTS, Context};
use crate::error::{Error, Result};
use crate::ffi;

/// The CUDA version that the driver answers to.
pub const VERSION: u32 = 13050;

/// The emulated device.
pub struct Driver {
    /// What it is.
    pub profile: Profile,
    /// The engine that runs kernels.
    pub backend: Backend,
    primary: Mutex<Primary>,
}

#[derive(Default)]
struct Primary {
    /// The handle stays the same for the life of the process.
    handle: usize,
    users: u32,
    flags: u32,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// Whether this process was forked off one that had initialised the driver: its threads are not here.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// `cuInit`.
pub fn init() -> Result {
    if DRIVER.get().is_some() {
        return get().map(|_| ());
    }
    let profile = device::from_environment().map_err(|error| {
        eprintln!("libcuda.so.1 of ptxrun: {}: {error}", device::DEVICE_VARIABLE);
        Error::NoDevice
    })?;
    let backend = Backend::from_environment().map_err(|error| {
        eprintln!("libcuda.so.1 of ptxrun: {error}");
        Error::NoDevice
    })?;
    DRIVER.get_or_init(|| {
        ffi::at_fork(forked);
        Driver { profile, backend, primary: Mutex::default() }
    });
    Ok(())
}

/// The device, once it is initialised. A process that was forked off afterwards has to start anew, as with a real driver.
pub fn get() -> Result<&'static Driver> {
    DRIVER.get().filter(|_| !FORKED.load(Ordering::Relaxed)).ok_or(Error::NotInitialized)
}

/// The device of that number.
pub fn device(ordinal: i32) -> Result<&'static Driver> {
    let driver = get()?;
    if ordinal == 0 { Ok(driver) } else { Err(Error::InvalidDevice) }
}

impl Driver {
    /// Bytes of device memory.
    pub fn memory(&self) -> u64 {
        device::memory(&self.profile)
    }

    /// Compute capability as in `sm_90`.
    pub fn capability(&self) -> u32 {
        let cc = self.profile.device_capability();
        u32::from(cc.0) * 10 + u32::from(cc.1)
    }

    fn primary(&self) -> MutexGuard<'_, Primary> {
        self.primary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more user of the primary context.
    pub fn retain(&'static self) -> Result<Arc<Context>> {
        let mut primary = self.primary();
        if primary.handle == 0 {
            primary.handle = CONTEXTS.reserve();
        }
        let context = match CONTEXTS.get(primary.handle) {
            Some(context) => context,
            None => Context::new(self, primary.handle, primary.flags, true)?,
        };
        primary.users += 1;
        Ok(context)
    }

    /// One user less; the last one ends the context.
    pub fn release(&self) -> Result {
        let mut primary = self.primary();
        if primary.users == 0 {
            return Err(Error::InvalidContext);
        }
        primary.users -= 1;
        if primary.users == 0
            && let Some(context) = CONTEXTS.get(primary.handle)
        {
            context.destroy();
        }
        Ok(())
    }

    /// Ends the primary context whoever uses it.
    pub fn reset(&self) {
        let mut primary = self.primary();
        primary.users = 0;
        if let Some(context) = CONTEXTS.get(primary.handle) {
            context.destroy();
        }
    }

    /// Flags of the primary context, and whether it is there.
    pub fn state(&self) -> (u32, bool) {
        let primary = self.primary();
        (primary.flags, CONTEXTS.get(primary.handle).is_some())
    }

    /// Sets the flags of the primary context.
    pub fn set_flags(&self, flags: u32) {
        let mut primary = self.primary();
        primary.flags = flags;
        if let Some(context) = CONTEXTS.get(primary.handle) {
            context.set_flags(flags);
        }
    }
}

/// What the driver needs of a profile beside its fields.
trait Capability {
    fn device_capability(&self) -> (u8, u8);
}

impl Capability for Profile {
    fn device_capability(&self) -> (u8, u8) {
        (self.device.compute_capability.major, self.device.compute_capability.minor)
    }
}
