//! The three parameters of a query: the size of the caller's buffer, the buffer, and where the answer's size goes.

use crate::error::PointerError;
use crate::output::Out;
use crate::raw::Raw;

/// Where the answer of a query goes (`param_value_size`, `param_value`, `param_value_size_ret` of OpenCL).
#[derive(Clone, Copy, Debug)]
pub struct ParamValue {
    /// Bytes of the buffer.
    pub size: usize,
    /// The buffer; null if only the size is wanted.
    pub value: Raw,
    /// Where the answer's size goes; null if it is not wanted.
    pub size_ret: Out<usize>,
}

/// The bytes of an answer.
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
    /// As `cl_bool`.
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

impl ParamValue {
    /// Writes an answer.
    ///
    /// # Errors
    /// When the buffer is too small; nothing is written then.
    pub fn put<E: From<PointerError>>(self, answer: impl Into<Answer>) -> Result<(), E> {
        let Answer(bytes) = answer.into();
        if !self.value.is_null() {
            if self.size < bytes.len() {
                return Err(PointerError::TooShort.into());
            }
            self.value.write(0, &bytes)?;
        }
        self.size_ret.put(bytes.len());
        Ok(())
    }

    /// Writes buffers of bytes, each through a pointer of its own: the caller's buffer holds the pointers. Null
    /// pointers stand for buffers that are not wanted.
    ///
    /// # Errors
    /// When there are fewer pointers than buffers; nothing is written then.
    pub fn put_each<E: From<PointerError>>(self, buffers: &[Vec<u8>]) -> Result<(), E> {
        let size = buffers.len() * size_of::<usize>();
        if !self.value.is_null() {
            if self.size < size {
                return Err(PointerError::TooShort.into());
            }
            let pointers = self.value.bytes(0, size)?;
            for (bytes, pointer) in buffers.iter().zip(pointers.as_chunks::<8>().0) {
                let to = Raw::new(usize::from_le_bytes(*pointer));
                if !to.is_null() {
                    to.write(0, bytes)?;
                }
            }
        }
        self.size_ret.put(size);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_zero_and_short_buffers() {
        let (mut value, mut size_ret) = ([9u8; 8], 0usize);
        let buffer = Raw::new(value.as_mut_ptr().expose_provenance());
        let at = |size, value| ParamValue { size, value, size_ret: Out::none() };
        let put = |to: ParamValue| to.put::<PointerError>("abc");
        assert_eq!(put(at(100, Raw::none())), Ok(()));
        assert_eq!(put(at(0, buffer)), Err(PointerError::TooShort));
        assert_eq!(put(at(3, buffer)), Err(PointerError::TooShort));
        assert_eq!(value, [9; 8]);
        let whole = ParamValue { size: 4, value: buffer, size_ret: Out::to(&mut size_ret) };
        assert_eq!(put(whole), Ok(()));
        assert_eq!((&value[..5], size_ret), (&b"abc\0\x09"[..], 4));
        let each = |to: ParamValue| to.put_each::<PointerError>(&[vec![1], vec![2]]);
        assert_eq!(each(at(0, Raw::none())), Ok(()));
        assert_eq!(each(at(15, buffer)), Err(PointerError::TooShort));
    }
}
