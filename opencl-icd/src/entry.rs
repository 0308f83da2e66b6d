//! What the functions of the API return: codes, or handles with a code beside.

use c_border::{Out, PointerError, guarded};

use crate::cl::{Error, Result};

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

/// Runs the body of a function that returns a code.
pub fn code(body: impl FnOnce() -> Result) -> i32 {
    match guarded(body, Err(Error::OUT_OF_HOST_MEMORY)) {
        Ok(()) => 0,
        Err(error) => error.0,
    }
}

/// Runs the body of a function that returns a handle or pointer, and a code through a pointer.
pub fn made(to: Out<i32>, body: impl FnOnce() -> Result<usize>) -> usize {
    match guarded(body, Err(Error::OUT_OF_HOST_MEMORY)) {
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
