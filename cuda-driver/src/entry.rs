//! Calls of the host program: which default stream they mean, and the codes that they return.

use std::cell::Cell;

use c_border::reserve::is_short;
use c_border::{PointerError, guarded};

use crate::error::{Error, Result};
use crate::{handles, log};

impl From<PointerError> for Error {
    fn from(error: PointerError) -> Error {
        match error {
            PointerError::Null | PointerError::Unmapped | PointerError::TooShort => {
                Error::InvalidValue
            }
            PointerError::TooLarge => Error::OutOfMemory,
        }
    }
}

thread_local! {
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether the running call takes stream 0 for the thread's own default stream.
pub fn per_thread() -> bool {
    PER_THREAD.get()
}

/// Whether a function may need memory: not one that waits, tells or gives something back.
fn wants_memory(symbol: &str) -> bool {
    let few = ["Free", "Destroy", "Unload", "Release", "Unregister", "Get", "Query", "Synchronize"];
    !few.iter().any(|word| symbol.contains(word))
}

/// Runs the body of an exported function.
pub fn code(symbol: &'static str, per_thread: bool, body: impl FnOnce() -> Result) -> u32 {
    let before = (PER_THREAD.replace(per_thread), handles::runs(symbol));
    let outcome = guarded(
        || if is_short() && wants_memory(symbol) { Err(Error::OutOfMemory) } else { body() },
        Err(Error::Unknown),
    );
    PER_THREAD.set(before.0);
    handles::runs(before.1);
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            // "Not ready" is an answer, no error.
            if error != Error::NotReady {
                log::note(&format!("Returning {} from {symbol}", error.short()));
            }
            error.0
        }
    }
}
