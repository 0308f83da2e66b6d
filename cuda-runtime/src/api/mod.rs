//! The exported functions, by chapter of the CUDA Runtime API manual.
//!
//! All are `unsafe extern "C"`: the caller promises what the manual says about pointers. Null pointers where the manual
//! wants a place for a result give `cudaErrorInvalidValue`.
#![allow(clippy::too_many_arguments, non_snake_case)]

mod array;
mod copy;
#[cfg(cuda12)]
mod cuda12;
mod device;
mod graph;
mod launch;
mod memory;
mod per_thread;
mod register;
mod stream;
mod texture;
mod unsupported;

use crate::error::{INVALID_VALUE, Result};

/// Writes a result of a function.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn put<T>(to: *mut T, value: T) -> Result {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and the caller says that it may be written.
    unsafe { to.write(value) };
    Ok(())
}

/// Functions that pass their arguments on to a function of the driver, in the thread's context.
macro_rules! forward {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) => $to:ident($($value:expr),* $(,)?);)*) => {$(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            // SAFETY: the caller promises the same to this function as this one to the driver's.
            $crate::state::done($crate::state::enter().and_then(|d| $crate::error::Error::check(unsafe { (d.$to)($($value),*) })))
        }
    )*};
}
use forward;
