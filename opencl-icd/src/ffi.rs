//! The border to C: what a caller's pointers become before safe code sees them.
//!
//! Every API function is `unsafe extern "C"`: its caller promises what the OpenCL specification asks for, that
//! pointer arguments are null or point to as much memory as the function's description says. The types here are
//! those pointers, and the only place where they are followed. Handles are numbers, looked up and never followed.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::cl::{Error, Result};

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
plain!(u8 i32 u32 u64 usize isize);
// SAFETY: an array of such.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: a pointer is a number until it is followed, here.
unsafe impl Plain for Text {}
// SAFETY: as above.
unsafe impl Plain for Raw {}
// SAFETY: numbers only.
unsafe impl Plain for ImageFormat {}
// SAFETY: numbers only.
unsafe impl Plain for ImageDesc {}

/// `cl_image_format`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ImageFormat {
    pub order: u32,
    pub data_type: u32,
}

/// `cl_image_desc`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct ImageDesc {
    pub kind: u32,
    /// Keeps the next field where C has it.
    pub gap: u32,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub array_size: usize,
    pub row_pitch: usize,
    pub slice_pitch: usize,
    pub mip_levels: u32,
    pub samples: u32,
    pub buffer: usize,
}

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

impl<T> Out<T> {
    /// Nowhere.
    pub const fn none() -> Self {
        Out(std::ptr::null_mut())
    }
    /// Into a variable.
    pub fn to(place: &mut T) -> Self {
        Out(place)
    }
    /// Whether the caller does not want it.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl<T: Copy> Out<T> {
    /// Writes the result if it is wanted.
    pub fn put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so the caller promises that it is writable.
            unsafe { self.0.write_unaligned(value) }
        }
    }
    /// Writes the first `count` of a list; the caller's array holds as many.
    pub fn put_list(self, values: &[T], count: usize) {
        for (i, v) in values.iter().take(count).enumerate() {
            Out(self.0.wrapping_add(i)).put(*v);
        }
    }
}

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
    /// Whether the caller passed nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl<T: Plain> In<T> {
    /// The value; `None` for a null pointer.
    pub fn get(self) -> Option<T> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: not null, so the caller promises that it is readable; any bits are a value.
        Some(unsafe { self.0.read_unaligned() })
    }
    /// The value at an index of the caller's array.
    pub fn at(self, index: usize) -> Option<T> {
        if self.0.is_null() { None } else { In(self.0.wrapping_add(index)).get() }
    }
    /// An array; null is an error.
    pub fn list(self, count: usize) -> Result<Vec<T>> {
        (0..count).map(|i| self.at(i).ok_or(Error::INVALID_VALUE)).collect()
    }
    /// A list with a zero behind its last pair, without the zero.
    pub fn pairs(self) -> Vec<[T; 2]>
    where
        T: Default + PartialEq,
    {
        let pair = |i| Some([self.at(2 * i)?, self.at(2 * i + 1)?]);
        let there = |i: &usize| self.at(2 * i).is_some_and(|v| v != T::default());
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
    /// The string; `None` for a null pointer.
    pub fn get(self) -> Option<String> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: not null, so the caller promises a zero-terminated string.
        let text = unsafe { CStr::from_ptr(self.0) };
        Some(text.to_string_lossy().into_owned())
    }
    /// The `bytes` bytes at the pointer, without trailing zeros.
    pub fn prefix(self, bytes: usize) -> Option<String> {
        if self.0.is_null() {
            return None;
        }
        let bytes = Raw(self.0.cast_mut().cast()).bytes(bytes);
        let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1);
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// Memory of the caller, or of a device where it lies in the host's address space.
#[repr(transparent)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Raw(*mut c_void);

// SAFETY: as a number; whoever follows it relies on the caller's promise.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Raw {
    /// Memory at an address that a caller or an allocation exposed.
    pub fn new(address: usize) -> Raw {
        Raw(std::ptr::with_exposed_provenance_mut(address))
    }
    /// None.
    pub const fn none() -> Raw {
        Raw(std::ptr::null_mut())
    }
    /// Its address.
    pub fn address(self) -> usize {
        self.0.expose_provenance()
    }
    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The memory `bytes` bytes further on.
    pub fn offset(self, bytes: usize) -> Raw {
        Raw(self.0.cast::<u8>().wrapping_add(bytes).cast())
    }
    /// A copy of `bytes` bytes.
    pub fn bytes(self, bytes: usize) -> Vec<u8> {
        let mut out = vec![0u8; bytes];
        if bytes > 0 {
            // SAFETY: the caller promises that they are readable; `out` is as long.
            unsafe { std::ptr::copy_nonoverlapping(self.0.cast(), out.as_mut_ptr(), bytes) }
        }
        out
    }
    /// Writes `data`.
    pub fn write(self, data: &[u8]) {
        // SAFETY: the caller promises that they are writable.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.0.cast(), data.len()) }
    }
    /// Copies `bytes` bytes from other memory, which may overlap.
    pub fn copy_from(self, from: Raw, bytes: usize) {
        // SAFETY: the caller promises both; `copy` allows overlap.
        unsafe { std::ptr::copy(from.0.cast::<u8>().cast_const(), self.0.cast(), bytes) }
    }
    /// Fills with `count` copies of `pattern`.
    pub fn fill(self, pattern: &[u8], count: usize) {
        if let [byte] = pattern {
            // SAFETY: the caller promises that they are writable.
            unsafe { std::ptr::write_bytes(self.0.cast::<u8>(), *byte, count) }
            return;
        }
        // Doubling what is there is as fast as copying.
        let total = pattern.len() * count;
        if total == 0 {
            return;
        }
        self.write(pattern);
        let mut done = pattern.len();
        while done < total {
            let more = done.min(total - done);
            self.offset(done).copy_from(self, more);
            done += more;
        }
    }
    /// Lends the memory to kernels; the device address of its first byte.
    pub fn lend(self, memory: &ptx_runtime::Memory, bytes: u64) -> Option<u64> {
        // SAFETY: the caller keeps a host pointer's memory as long as the object that was made with it.
        unsafe { memory.map_host(self.0.cast(), bytes, "host memory") }.ok()
    }
}

/// `pfn_notify` of contexts: what, private data and its size, user data.
pub type ContextFn = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;
/// Callbacks of programs and memory objects: handle, user data.
pub type ObjectFn = Option<unsafe extern "C" fn(usize, *mut c_void)>;
/// Callbacks of events: handle, status, user data.
pub type EventFn = Option<unsafe extern "C" fn(usize, i32, *mut c_void)>;

/// Calls a context's function.
pub fn call_context(f: ContextFn, what: &CStr, data: Raw) {
    if let Some(f) = f {
        // SAFETY: the host program registered it for this call with this argument.
        unsafe { f(what.as_ptr(), std::ptr::null(), 0, data.0) }
    }
}
/// Calls a program's or memory object's function.
pub fn call_object(f: ObjectFn, handle: usize, data: Raw) {
    if let Some(f) = f {
        // SAFETY: as above.
        unsafe { f(handle, data.0) }
    }
}
/// Calls an event's function.
pub fn call_event(f: EventFn, handle: usize, status: i32, data: Raw) {
    if let Some(f) = f {
        // SAFETY: as above.
        unsafe { f(handle, status, data.0) }
    }
}

/// Runs the body of an API function that returns a code: nothing unwinds into the caller.
pub fn call(body: impl FnOnce() -> Result) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.0,
        Err(_) => Error::OUT_OF_HOST_MEMORY.0,
    }
}

/// Runs the body of an API function that returns a handle or pointer, and a code through a pointer.
pub fn create(code: Out<i32>, body: impl FnOnce() -> Result<usize>) -> usize {
    let mut result = 0;
    let status = call(|| {
        result = body()?;
        Ok(())
    });
    code.put(status);
    if status == 0 { result } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fill() {
        let mut bytes = [0u8; 16];
        let place = Raw(bytes.as_mut_ptr().cast());
        place.fill(&[1, 2, 3], 5);
        assert_eq!(bytes, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 0]);
    }

    #[test]
    fn pairs_end_at_zero() {
        assert_eq!(In::of(&[5isize, 6, 7, 0, 0]).pairs(), [[5, 6], [7, 0]]);
        assert!(In::<isize>::none().pairs().is_empty());
    }
}
