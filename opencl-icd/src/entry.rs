//! What the functions of the API return: codes, or handles with a code beside.

use c_border::reserve::is_short;
use c_border::{Out, PointerError, guarded};

use crate::cl::{Error, Result};
use crate::registry;

impl From<PointerError> for Error {
    fn from(error: PointerError) -> Error {
        match error {
            PointerError::Null | PointerError::Unmapped | PointerError::TooShort => {
                Error::INVALID_VALUE
            }
            PointerError::TooLarge => Error::OUT_OF_HOST_MEMORY,
        }
    }
}

/// Whether a function may need memory: not one that waits, tells or gives something back.
fn wants_memory(name: &str) -> bool {
    let few = ["clRelease", "clRetain", "clGet", "clFinish", "clFlush", "clWait", "Unmap"];
    !few.iter().any(|word| name.contains(word))
}

/// Runs the body of the function of that name, which returns a code.
pub fn code(name: &'static str, body: impl FnOnce() -> Result) -> i32 {
    let before = registry::runs(name);
    let body = || {
        let refused = is_short() && wants_memory(name);
        if refused { Err(Error::OUT_OF_HOST_MEMORY) } else { body() }
    };
    let outcome = guarded(body, Err(Error::OUT_OF_HOST_MEMORY));
    registry::runs(before);
    match outcome {
        Ok(()) => 0,
        Err(error) => error.0,
    }
}

/// Runs the body of the function of that name, which returns a handle or pointer, and a code through a pointer.
pub fn made(name: &'static str, to: Out<i32>, body: impl FnOnce() -> Result<usize>) -> usize {
    let before = registry::runs(name);
    let body = || if is_short() { Err(Error::OUT_OF_HOST_MEMORY) } else { body() };
    let outcome = guarded(body, Err(Error::OUT_OF_HOST_MEMORY));
    registry::runs(before);
    match outcome {
        Ok(made) => {
            to.put(0);
            made
        }
        Err(error) => {
            to.put(error.0);
            0
        }
    }
}
