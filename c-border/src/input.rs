//! What the caller passes by pointer: values, lists and strings.

use std::ffi::{CStr, c_char};

use crate::error::PointerError;
use crate::raw::Raw;

/// Types of which every bit pattern is a value.
///
/// # Safety
/// The type must have no padding that is read and no invalid bit pattern.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($ty:ty)*) => {$(
        // SAFETY: a number.
        unsafe impl Plain for $ty {}
    )*};
}
plain!(u8 u16 i32 u32 u64 usize isize f32);
// SAFETY: an array of such.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: a pointer is a number until it is followed, in this crate.
unsafe impl<T> Plain for In<T> {}
// SAFETY: as above.
unsafe impl Plain for Text {}
// SAFETY: as above.
unsafe impl Plain for Raw {}

/// Declares structures of an API: fields in the order and with the types of the C declaration.
#[macro_export]
macro_rules! plain_struct {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[repr(C)]
        #[derive(Copy, Clone, Debug)]
        #[allow(missing_docs)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty),* }
        // SAFETY: every field is a number or a pointer, which the compiler checks below.
        unsafe impl $crate::input::Plain for $name {}
        const _: () = {
            const fn plain<T: $crate::input::Plain>() {}
            $(plain::<$ty>();)*
        };
    )*};
}

/// Lists longer than this many bytes are looked up in the process's mappings before they are read: a count that is
/// nonsense is then an error and not a signal. Shorter ones are not worth the system call.
const LOOKED_UP: usize = 4096;

/// What the caller passes by pointer.
#[repr(transparent)]
#[derive(Debug)]
pub struct In<T>(*const T);

impl<T> Copy for In<T> {}
impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> In<T> {
    /// Nothing.
    pub const fn none() -> Self {
        In(std::ptr::null())
    }
    /// From a slice that the callee reads before it returns.
    pub fn of(values: &[T]) -> Self {
        In(values.as_ptr())
    }
    /// At an address that the caller passed as a number.
    pub fn new(address: usize) -> Self {
        In(std::ptr::with_exposed_provenance(address))
    }
    /// Whether the caller passed nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The pointer as a number.
    pub fn address(self) -> usize {
        self.0.expose_provenance()
    }
}

impl<T> From<Raw> for In<T> {
    fn from(raw: Raw) -> In<T> {
        In::new(raw.address())
    }
}

impl<T: Plain> In<T> {
    /// The value.
    ///
    /// # Errors
    /// When the pointer is null.
    pub fn get(self) -> Result<T, PointerError> {
        if self.0.is_null() {
            return Err(PointerError::Null);
        }
        // SAFETY: not null, so the caller promises that it is readable; any bits are a value.
        Ok(unsafe { self.0.read_unaligned() })
    }
    /// The value at an index of the caller's array.
    ///
    /// # Errors
    /// When the array is null.
    pub fn at(self, index: usize) -> Result<T, PointerError> {
        if self.0.is_null() {
            return Err(PointerError::Null);
        }
        In(self.0.wrapping_add(index)).get()
    }
    /// An array of `count` values; nothing is read of an empty one.
    ///
    /// # Errors
    /// When the array is null, or so long that it cannot be there.
    pub fn list(self, count: usize) -> Result<Vec<T>, PointerError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(PointerError::Null);
        }
        let bytes = count.checked_mul(size_of::<T>()).ok_or(PointerError::Unmapped)?;
        if bytes > LOOKED_UP && !Raw::new(self.address()).is_mapped(bytes) {
            return Err(PointerError::Unmapped);
        }
        (0..count).map(|i| self.at(i)).collect()
    }
    /// A list with a zero behind its last pair, without the zero; none for a null pointer.
    pub fn pairs(self) -> Vec<[T; 2]>
    where
        T: Default + PartialEq,
    {
        let pair = |i| Some([self.at(2 * i).ok()?, self.at(2 * i + 1).ok()?]);
        let there = |i: &usize| self.at(2 * i).is_ok_and(|v| v != T::default());
        (0..).take_while(there).map_while(pair).collect()
    }
}

/// A zero-terminated string of the caller.
#[repr(transparent)]
#[derive(Copy, Clone, Debug)]
pub struct Text(*const c_char);

impl Text {
    /// None.
    pub const fn none() -> Text {
        Text(std::ptr::null())
    }
    /// From a string that the callee reads before it returns.
    pub fn of(text: &CStr) -> Text {
        Text(text.as_ptr())
    }
    /// Whether the caller passed none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The string; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// When the pointer is null.
    pub fn get(self) -> Result<String, PointerError> {
        if self.0.is_null() {
            return Err(PointerError::Null);
        }
        // SAFETY: not null, so the caller promises a zero-terminated string.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
    /// The `bytes` bytes at the pointer, without trailing zeros.
    ///
    /// # Errors
    /// When the pointer is null, or so many bytes cannot be there.
    pub fn prefix(self, bytes: usize) -> Result<String, PointerError> {
        let bytes = Raw::new(self.0.expose_provenance()).bytes(0, bytes)?;
        let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1);
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_end_at_zero() {
        assert_eq!(In::of(&[5isize, 6, 7, 0, 0]).pairs(), [[5, 6], [7, 0]]);
        assert!(In::<isize>::none().pairs().is_empty());
    }

    #[test]
    fn lists_that_cannot_be_there_are_refused() {
        let some = [1u64, 2, 3];
        assert_eq!(In::of(&some).list(3), Ok(vec![1, 2, 3]));
        assert_eq!(In::of(&some).list(u32::MAX as usize), Err(PointerError::Unmapped));
        assert_eq!(In::of(&some).list(usize::MAX), Err(PointerError::Unmapped));
        assert_eq!(In::<u64>::none().list(3), Err(PointerError::Null));
        assert_eq!(In::<u64>::none().list(0), Ok(Vec::new()));
    }

    #[test]
    fn strings_with_and_without_a_zero() {
        assert_eq!(Text::of(c"abc").get().as_deref(), Ok("abc"));
        assert_eq!(Text::of(c"abc").prefix(2).as_deref(), Ok("ab"));
        assert_eq!(Text::of(c"abc").prefix(4).as_deref(), Ok("abc"));
        assert_eq!(Text::none().get(), Err(PointerError::Null));
        assert_eq!(Text::none().prefix(4), Err(PointerError::Null));
    }
}
