//! What there is once per process: the emulated device.

use std::fmt::Display;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptx_runtime::timing::Profile;
use ptx_runtime::{Backend, device};

use crate::error::{Error, Result};

/// What messages begin with.
pub const LIBRARY: &str = "libcuda.so.1 of ptxrun";

/// The emulated device.
pub struct Driver {
    /// What it is.
    pub profile: Profile,
    /// The engine that runs kernels.
    pub backend: Backend,
    /// Ends a launch that takes longer.
    pub timeout: Option<Duration>,
    memory: u64,
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
    fn refuse(error: impl Display) -> Error {
        eprintln!("{LIBRARY}: {error}");
        Error::NoDevice
    }
    environment::check(LIBRARY).map_err(refuse)?;
    let profile = device::from_environment()
        .map_err(|error| refuse(format!("{}: {error}", device::DEVICE_VARIABLE)))?;
    let backend = Backend::from_environment().map_err(refuse)?;
    let timeout = environment::timeout().map_err(refuse)?;
    let memory = device::budget(&profile).map_err(refuse)?;
    DRIVER.get_or_init(|| {
        c_border::callback::at_fork(forked);
        Driver { profile, backend, timeout, memory }
    });
    Ok(())
}

/// The device, once it is initialised. A process that was forked off afterwards has to start anew, as with a real
/// driver.
pub fn get() -> Result<&'static Driver> {
    DRIVER.get().filter(|_| !FORKED.load(Ordering::Relaxed)).ok_or(Error::NotInitialized)
}

/// The device of that number.
pub fn device(ordinal: i32) -> Result<&'static Driver> {
    let driver = get()?;
    if ordinal == 0 { Ok(driver) } else { Err(Error::InvalidDevice) }
}

impl Driver {
    /// Bytes of device memory, as many as fit the host.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Compute capability as in `sm_90`.
    pub fn capability(&self) -> u16 {
        let cc = self.profile.device_capability();
        u16::from(cc.0) * 10 + u16::from(cc.1)
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
