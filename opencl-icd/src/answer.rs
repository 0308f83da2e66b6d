//! What the `clGet…Info` functions write.

use crate::cl::{Error, Result};
use crate::ffi::{Out, Raw};

/// The caller's place for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its bytes.
    pub size: usize,
    /// Where; null if only the size is wanted.
    pub value: Raw,
    /// Where the size goes.
    pub size_ret: Out<usize>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer(pub Vec<u8>);

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Answer {
            fn from(value: $ty) -> Answer {
                Answer(value.to_le_bytes().to_vec())
            }
        }
        impl From<&[$ty]> for Answer {
            fn from(values: &[$ty]) -> Answer {
                Answer(values.iter().flat_map(|v| v.to_le_bytes()).collect())
            }
        }
    )*};
}
numbers!(i32 u32 u64 usize isize);

impl From<bool> for Answer {
    fn from(value: bool) -> Answer {
        u32::from(value).into()
    }
}

impl From<&str> for Answer {
    /// With the zero at the end.
    fn from(text: &str) -> Answer {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        Answer(bytes)
    }
}

impl Place {
    /// Writes an answer.
    ///
    /// # Errors
    /// When the place is too small.
    pub fn put(self, answer: impl Into<Answer>) -> Result {
        let Answer(bytes) = answer.into();
        if !self.value.is_null() {
            if self.size < bytes.len() {
                return Err(Error::INVALID_VALUE);
            }
            self.value.write(&bytes);
        }
        self.size_ret.put(bytes.len());
        Ok(())
    }
}
