//! What there is once per process: the emulated device.

use std::fmt::Display;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptx_runtime::timing::Profile;
use ptx_runtime::{Backend, device};

use crate::clock::Clock;
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
    /// What events read.
    pub clock: Clock,
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
    let driver = Driver::from_environment()?;
    DRIVER.get_or_init(|| {
        c_border::callback::at_fork(forked);
        driver
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

/// Where the device is on the bus.
pub const BUS_ID: &str = "0000:00:00.0";

impl Driver {
    /// The device that the environment names. Nothing is initialised.
    ///
    /// # Errors
    /// When the environment names none, or a variable is wrong: it is said on standard error.
    pub fn from_environment() -> Result<Driver> {
        fn refuse(error: impl Display) -> Error {
            environment::sayln!("{LIBRARY}: {error}");
            Error::NoDevice
        }
        environment::check(LIBRARY).map_err(refuse)?;
        let profile = device::from_environment()
            .map_err(|error| refuse(format!("{}: {error}", device::DEVICE_VARIABLE)))?;
        let backend = Backend::from_environment().map_err(refuse)?;
        let timeout = environment::timeout().map_err(refuse)?;
        let clock = Clock::new(environment::timing().map_err(refuse)?);
        let memory = device::budget(&profile).map_err(refuse)?;
        Ok(Driver { profile, backend, timeout, clock, memory })
    }

    /// The name that programs see.
    pub fn name(&self) -> String {
        let name = &self.profile.name;
        if name.starts_with("NVIDIA") { name.clone() } else { format!("NVIDIA {name}") }
    }

    /// The same 16 bytes for every device of a name.
    pub fn uuid(&self) -> [u8; 16] {
        let mut h = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58du128;
        for b in b"ptxrun ".iter().chain(self.name().as_bytes()) {
            h = (h ^ u128::from(*b)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
        h.to_be_bytes()
    }

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
