//! The border to C: what a caller's pointers become before safe code sees them.
//!
//! Every exported function is `unsafe extern "C"`: its caller promises what the CUDA documentation
//! asks for, that pointer arguments are null or point to as much memory as the function's description says.
//! The types here are those pointers, and the only place where they are followed. A null pointer is
//! [`Error::InvalidValue`], never an access.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

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
plain!(u8 u16 i32 u32 u64 usize f32);
// SAFETY: an array of such.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: a pointer is a number until it is followed, here.
unsafe impl<T> Plain for Out<T> {}
// SAFETY: as above.
unsafe impl<T> Plain for In<T> {}

/// Declares structures of the API: fields in the order and with the types of the C declaration.
#[macro_export]
macro_rules! plain_struct {
    ($($(#[$meta:meta])* $name:ident { $($field:ident: $ty:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[repr(C)]
        #[derive(Copy, Clone, Debug)]
        #[allow(missing_docs)]
        pub struct $name { $(pub $field: $ty),* }
        // SAFETY: numbers and pointers only.
        unsafe impl $crate::ffi::Plain for $name {}
    )*};
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

// SAFETY: pointers of the caller, who promises that they may be used until the call is over.
unsafe impl<T> Send for Out<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Out<T> {}

impl<T> Out<T> {
    /// Nowhere.
    pub fn none() -> Self {
        Out(std::ptr::null_mut())
    }
    /// Whether the caller does not want it.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The place as a number.
    pub fn address(self) -> usize {
        self.0 as usize
    }
    /// Refuses a null pointer.
    pub fn required(self) -> Result<Self> {
        if self.0.is_null() { Err(Error::InvalidValue) } else { Ok(self) }
    }
}

impl<T> Out<T> {
    /// The place at an index of the caller's array.
    pub fn at(self, index: usize) -> Self {
        Out(self.0.wrapping_add(index))
    }
}

impl<T: Copy> Out<T> {
    /// Writes the result; a null pointer is an error.
    pub fn set(self, value: T) -> Result {
        self.required()?;
        self.put(value);
        Ok(())
    }
    /// Writes the result if it is wanted.
    pub fn put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so the caller promises that it is writable.
            unsafe { self.0.write_unaligned(value) }
        }
    }
    /// Writes a list; the caller's array holds at least as many.
    pub fn put_list(self, values: &[T]) {
        for (i, v) in values.iter().enumerate() {
            self.at(i).put(*v);
        }
    }
    /// What stands there.
    pub fn get(self) -> Result<T>
    where
        T: Plain,
    {
        In(self.0.cast_const()).get()
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
    /// Whether the caller passed nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The place as a number.
    pub fn address(self) -> usize {
        self.0 as usize
    }
}

impl<T> From<Raw> for In<T> {
    fn from(raw: Raw) -> In<T> {
        In(raw.0.cast::<T>().cast_const())
    }
}

impl<T: Plain> In<T> {
    /// The value; a null pointer is an error.
    pub fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, so the caller promises that it is readable; any bits are a value.
        Ok(unsafe { self.0.read_unaligned() })
    }
    /// The value at an index of the caller's array.
    pub fn at(self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        In(self.0.wrapping_add(index)).get()
    }
    /// An array; null is an error unless it is empty.
    pub fn list(self, count: usize) -> Result<Vec<T>> {
        (0..count).map(|i| self.at(i)).collect()
    }
}

/// A zero-terminated string of the caller.
#[repr(transparent)]
#[derive(Copy, Clone, Debug)]
pub struct Text(*const c_char);

impl Text {
    /// Whether the caller passed none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The string; a null pointer is an error.
    pub fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, so the caller promises a zero-terminated string.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// A buffer of the caller.
#[repr(transparent)]
#[derive(Copy, Clone, Debug)]
pub struct Raw(*mut c_void);

// SAFETY: as a number; whoever follows it relies on the caller's promise.
unsafe impl Plain for Raw {}
// SAFETY: as above.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Raw {
    /// The buffer at this address.
    pub fn new(address: usize) -> Raw {
        Raw(address as *mut c_void)
    }
    /// Its address.
    pub fn address(self) -> usize {
        self.0 as usize
    }
    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// `bytes` bytes at `offset`, copied.
    pub fn bytes(self, offset: usize, bytes: usize) -> Result<Vec<u8>> {
        if self.0.is_null() && bytes > 0 {
            return Err(Error::InvalidValue);
        }
        let mut out = vec![0u8; bytes];
        // SAFETY: the caller promises that they are readable; `out` is as long.
        unsafe {
            let from = self.0.cast::<u8>().wrapping_add(offset);
            std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), bytes);
        }
        Ok(out)
    }
    /// Writes `data` at `offset`.
    pub fn write(self, offset: usize, data: &[u8]) -> Result {
        if self.0.is_null() && !data.is_empty() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the caller promises that they are writable.
        unsafe {
            let to = self.0.cast::<u8>().wrapping_add(offset);
            std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len());
        }
        Ok(())
    }
    /// The zero-terminated bytes at the buffer's start, without the zero.
    pub fn text(self) -> Result<Vec<u8>> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the caller promises a zero-terminated string.
        Ok(unsafe { CStr::from_ptr(self.0.cast()) }.to_bytes().to_vec())
    }
    /// Copies from the device into this buffer.
    pub fn receive(self, memory: &ptx_runtime::Memory, from: u64, bytes: u64) -> Result {
        // SAFETY: the caller promises that they are writable.
        Ok(unsafe { memory.read_raw(from, self.0.cast(), bytes) }?)
    }
    /// Copies from this buffer to the device.
    pub fn send(self, memory: &ptx_runtime::Memory, to: u64, bytes: u64) -> Result {
        // SAFETY: the caller promises that they are readable.
        Ok(unsafe { memory.write_raw(to, self.0.cast::<u8>().cast_const(), bytes) }?)
    }
    /// Copies between buffers of the caller.
    pub fn transfer(self, from: Raw, bytes: usize) {
        // SAFETY: the caller promises both; `copy` allows overlap.
        unsafe { std::ptr::copy(from.0.cast::<u8>().cast_const(), self.0.cast::<u8>(), bytes) }
    }
    /// Fills with copies of `pattern`.
    pub fn fill(self, pattern: &[u8], count: usize) -> Result {
        (0..count).try_for_each(|i| self.write(i * pattern.len(), pattern))
    }
    /// Lends the buffer to kernels.
    pub fn lend(self, memory: &ptx_runtime::Memory, bytes: u64, name: &str) -> Result<u64> {
        // SAFETY: the caller keeps registered memory until it is unregistered.
        Ok(unsafe { memory.map_host(self.0.cast(), bytes, name) }?)
    }
    /// Whether every page of `bytes` bytes is mapped in this process. A pointer that leads
    /// nowhere is answered with an error then, not with the end of the process.
    pub fn is_mapped(self, bytes: usize) -> bool {
        const PAGE: usize = 4096;
        let start = self.0 as usize / PAGE * PAGE;
        let Some(end) = (self.0 as usize).checked_add(bytes) else { return false };
        // SAFETY: asks about addresses only; with MS_ASYNC nothing is written.
        unsafe { libc::msync(start as *mut c_void, end - start, libc::MS_ASYNC) == 0 }
    }
}

/// A function of the host program that a stream calls.
pub type HostFn = Option<unsafe extern "C" fn(*mut c_void)>;
/// A stream callback: stream, status, user data.
pub type StreamFn = Option<unsafe extern "C" fn(usize, u32, *mut c_void)>;
/// Dynamic shared memory for a block size.
pub type BlockFn = Option<extern "C" fn(i32) -> usize>;

/// Calls a host function.
pub fn call_host(f: unsafe extern "C" fn(*mut c_void), data: Raw) {
    // SAFETY: the host program registered it for this call with this argument.
    unsafe { f(data.0) }
}

/// Calls a stream callback.
pub fn call_stream(
    f: unsafe extern "C" fn(usize, u32, *mut c_void),
    stream: usize,
    status: u32,
    data: Raw,
) {
    // SAFETY: the host program registered it for this call with this argument.
    unsafe { f(stream, status, data.0) }
}

thread_local! {
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether the running call takes stream 0 for the thread's own default stream.
pub fn per_thread() -> bool {
    PER_THREAD.get()
}

/// Runs the body of an exported function: nothing unwinds into the caller.
pub fn call(per_thread: bool, body: impl FnOnce() -> Result) -> u32 {
    let before = PER_THREAD.replace(per_thread);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    PER_THREAD.set(before);
    match outcome {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.0,
        Err(_) => Error::Unknown.0,
    }
}

/// No array.
pub fn nothing<T>() -> In<T> {
    In(std::ptr::null())
}

/// The function at an address that the host program put into a structure.
pub fn host_fn(address: usize) -> HostFn {
    // SAFETY: null is `None`; anything else is the function that the caller's structure must hold there.
    unsafe { std::mem::transmute::<usize, HostFn>(address) }
}

/// Calls `f` in processes that are forked off this one.
pub fn at_fork(f: extern "C" fn()) {
    // SAFETY: the function stays, and may do what a signal handler may: it writes an atomic variable.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(f)) };
}
