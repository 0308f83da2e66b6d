//! What a host thread has: its device, the last error, launches that are being configured.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::{Driver, driver};
use crate::error::{Error, INVALID_DEVICE, Result};
use crate::types::{Dim3, Handle};

/// The configuration between `<<<` and `>>>`.
#[derive(Copy, Clone)]
pub struct Configuration {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: usize,
    pub stream: Handle,
}

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    static LAST: Cell<i32> = const { Cell::new(0) };
    static BOUND: Cell<u64> = const { Cell::new(0) };
    static OWN_STREAM: Cell<bool> = const { Cell::new(false) };
    static LAUNCHES: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Counts resets of devices: contexts that threads were bound to before are gone.
static RESETS: AtomicU64 = AtomicU64::new(1);

/// The number of a result, kept as the thread's last error if it is one.
pub fn done(result: Result) -> i32 {
    match result {
        Ok(()) => 0,
        // "Not ready" is an answer, no error.
        Err(Error(600)) => 600,
        Err(Error(code)) => {
            LAST.set(code);
            code
        }
    }
}

pub fn last_error() -> i32 {
    LAST.get()
}
pub fn clear_error() -> i32 {
    LAST.replace(0)
}

/// The driver with a context for this thread: the one that is current, or the primary one of its device.
pub fn enter() -> Result<&'static Driver> {
    let d = driver()?;
    let mut current = 0;
    // SAFETY: writes one handle.
    Error::check(unsafe { (d.cuCtxGetCurrent)(&mut current) })?;
    if current == 0 || BOUND.get() != 0 && BOUND.get() != RESETS.load(Ordering::Acquire) {
        bind(d)?;
    }
    Ok(d)
}

/// Makes the primary context of the thread's device current.
fn bind(d: &Driver) -> Result {
    let resets = RESETS.load(Ordering::Acquire);
    let mut context = 0;
    // SAFETY: the first writes one handle, the second takes it.
    unsafe {
        Error::check((d.cuDevicePrimaryCtxRetain)(&mut context, DEVICE.get()))?;
        Error::check((d.cuCtxSetCurrent)(context))?;
    }
    BOUND.set(resets);
    Ok(())
}

/// Counts the devices.
pub fn device_count(d: &Driver) -> Result<i32> {
    let mut count = 0;
    // SAFETY: writes one number.
    Error::check(unsafe { (d.cuDeviceGetCount)(&mut count) })?;
    Ok(count)
}

pub fn set_device(device: i32) -> Result {
    let d = driver()?;
    if !(0..device_count(d)?).contains(&device) {
        return Err(INVALID_DEVICE);
    }
    DEVICE.set(device);
    bind(d)
}

pub fn device() -> i32 {
    DEVICE.get()
}

/// Contexts of before are gone.
pub fn was_reset() {
    RESETS.fetch_add(1, Ordering::AcqRel);
    BOUND.set(0);
}

/// How often devices were reset.
pub fn resets() -> u64 {
    RESETS.load(Ordering::Acquire)
}

pub fn push(configuration: Configuration) {
    // Destructors of globals run when the thread's own variables have gone: nothing can be launched there.
    let _ = LAUNCHES.try_with(|all| all.borrow_mut().push(configuration));
}
pub fn pop() -> Option<Configuration> {
    LAUNCHES.try_with(|all| all.borrow_mut().pop()).ok().flatten()
}

/// Whether the running call takes stream 0 for the thread's own default stream.
pub fn own_stream() -> bool {
    OWN_STREAM.get()
}

/// Runs a function for which stream 0 is the thread's own default stream.
pub fn with_own_stream(call: impl FnOnce() -> i32) -> i32 {
    let before = OWN_STREAM.replace(true);
    let code = call();
    OWN_STREAM.set(before);
    code
}
