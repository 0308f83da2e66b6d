//! Where results go: values, lists with counts, text buffers.

use crate::error::PointerError;
use crate::input::{In, Plain};
use crate::raw::Raw;

/// Where a result goes.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(*mut T);

impl<T> Copy for Out<T> {}
impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: a pointer is a number until it is followed, here.
unsafe impl<T> Plain for Out<T> {}
// SAFETY: a pointer of the caller, who promises that it may be used until the call is over.
unsafe impl<T> Send for Out<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Out<T> {}

impl<T> Out<T> {
    /// Nowhere.
    pub const fn none() -> Self {
        Out(std::ptr::null_mut())
    }
    /// Into a variable, which the callee writes before it returns.
    pub fn to(variable: &mut T) -> Self {
        Out(variable)
    }
    /// At an address that the caller passed as a number.
    pub fn new(address: usize) -> Self {
        Out(std::ptr::with_exposed_provenance_mut(address))
    }
    /// Whether the caller does not want it.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The pointer as a number.
    pub fn address(self) -> usize {
        self.0.expose_provenance()
    }
    /// Refuses a null pointer.
    ///
    /// # Errors
    /// When it is one.
    pub fn required(self) -> Result<Self, PointerError> {
        if self.0.is_null() { Err(PointerError::Null) } else { Ok(self) }
    }
    /// The element at an index of the caller's array. A null array has none: its elements are null too.
    #[must_use]
    pub fn at(self, index: usize) -> Self {
        if self.0.is_null() { self } else { Out(self.0.wrapping_add(index)) }
    }
}

impl<T: Copy> Out<T> {
    /// Writes the result, which the caller must want.
    ///
    /// # Errors
    /// When the pointer is null.
    pub fn set(self, value: T) -> Result<(), PointerError> {
        self.required()?.put(value);
        Ok(())
    }
    /// Writes the result if it is wanted.
    pub fn put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so the caller promises that it is writable.
            unsafe { self.0.write_unaligned(value) }
        }
    }
    /// Writes a list if it is wanted; the caller's array holds at least as many.
    pub fn put_all(self, values: &[T]) {
        for (i, value) in values.iter().enumerate() {
            self.at(i).put(*value);
        }
    }
    /// What stands there.
    ///
    /// # Errors
    /// When the pointer is null.
    pub fn get(self) -> Result<T, PointerError>
    where
        T: Plain,
    {
        In::new(self.address()).get()
    }
}

/// A caller's list with room for `capacity` elements, and where the number of elements that there are goes.
#[derive(Clone, Copy, Debug)]
pub struct OutList<T, N> {
    /// The first element; null if only the number is wanted.
    pub list: Out<T>,
    /// Elements that the list holds.
    pub capacity: usize,
    /// Where the number goes; null if it is not wanted.
    pub count: Out<N>,
}

impl<T: Copy, N: Copy + TryFrom<usize>> OutList<T, N> {
    /// Refuses a list without room.
    ///
    /// # Errors
    /// As said.
    pub fn roomy(self) -> Result<Self, PointerError> {
        let full = self.capacity == 0 && !self.list.is_null();
        if full { Err(PointerError::TooShort) } else { Ok(self) }
    }
    /// Refuses a list without room, and a call that wants neither list nor number.
    ///
    /// # Errors
    /// As said.
    pub fn wanted(self) -> Result<Self, PointerError> {
        let nothing = self.list.is_null() && self.count.is_null();
        if nothing { Err(PointerError::Null) } else { self.roomy() }
    }
    /// Writes as many elements as there is room for, and how many there are.
    pub fn put(self, values: &[T]) {
        self.list.put_all(&values[..values.len().min(self.capacity)]);
        if let Ok(count) = N::try_from(values.len()) {
            self.count.put(count);
        }
    }
}

/// A caller's buffer for a string.
#[derive(Clone, Copy, Debug)]
pub struct OutText {
    /// The buffer.
    pub buffer: Raw,
    /// Its bytes.
    pub size: usize,
}

impl OutText {
    /// Writes a string, cut to fit, with a zero at the end; the bytes written. Nothing is written to a null buffer or
    /// one of no bytes.
    pub fn put(self, text: &str) -> usize {
        if self.buffer.is_null() || self.size == 0 {
            return 0;
        }
        let mut bytes = text.as_bytes()[..text.len().min(self.size - 1)].to_vec();
        bytes.push(0);
        // The buffer is not null, which is all that a write may refuse.
        if self.buffer.write(0, &bytes).is_ok() { bytes.len() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_lists_are_left_alone() {
        Out::<u64>::none().put_all(&[1, 2, 3]);
        assert!(Out::<u64>::none().at(5).is_null());
        let mut count = 0u32;
        let list = OutList { list: Out::<u64>::none(), capacity: 5000, count: Out::to(&mut count) };
        list.wanted().unwrap().put(&[1, 2, 3]);
        assert_eq!(count, 3);
    }

    #[test]
    fn lists_get_what_they_have_room_for() {
        let (mut room, mut count) = ([0u64; 3], 0u32);
        let list = OutList { list: Out::to(&mut room[0]), capacity: 2, count: Out::to(&mut count) };
        list.wanted().unwrap().put(&[7, 8, 9]);
        assert_eq!((room, count), ([7, 8, 0], 3));
        let zero = OutList { capacity: 0, ..list };
        assert_eq!(zero.wanted().map(|_| ()), Err(PointerError::TooShort));
        let nothing = OutList { list: Out::<u64>::none(), capacity: 2, count: Out::<u32>::none() };
        assert_eq!(nothing.wanted().map(|_| ()), Err(PointerError::Null));
    }

    #[test]
    fn text_is_cut() {
        let mut bytes = [9u8; 4];
        let buffer = Raw::new(bytes.as_mut_ptr().expose_provenance());
        assert_eq!(OutText { buffer, size: 3 }.put("hello"), 3);
        assert_eq!(bytes, [b'h', b'e', 0, 9]);
        assert_eq!(OutText { buffer, size: 0 }.put("hello"), 0);
        assert_eq!(OutText { buffer: Raw::none(), size: 3 }.put("hello"), 0);
    }
}
