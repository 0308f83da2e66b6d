//! What the start-up code of nvcc-built programs calls (`crt/host_runtime.h`). Nothing is loaded here: a
//! program that never uses the device must start without one.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::registry;
use crate::state::done;
use crate::types::FatBinaryWrapper;

/// The handle of a binary: its number, as the pointer that the interface wants.
fn number(handle: *mut *mut c_void) -> usize {
    handle.addr()
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __cudaRegisterFatBinary(
    wrapper: *const FatBinaryWrapper,
) -> *mut *mut c_void {
    // SAFETY: the wrapper that nvcc put into the program.
    let number = unsafe { registry::add_binary(wrapper) };
    std::ptr::without_provenance_mut(number)
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
pub(super) extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    registry::remove_binary(number(handle));
}

/// # Safety
/// `name` is null or a string of the program.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a CStr> {
    // SAFETY: as the caller says.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_void,
    _device: *mut c_char,
    name: *const c_char,
    _limit: c_int,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_dim: *mut c_void,
    _grid_dim: *mut c_void,
    _warp: *mut c_int,
) {
    // SAFETY: a string of the program.
    if let Some(name) = unsafe { text(name) } {
        registry::add_function(number(handle), host.addr(), name);
    }
}

/// Functions that register a variable: what the host knows it by, and what is noted.
macro_rules! variables {
    ($($name:ident($host:ident: $ty:ty) => |$number:ident, $text:ident| $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(
            handle: *mut *mut c_void,
            $host: $ty,
            _device: *mut c_char,
            name: *const c_char,
            _external: c_int,
            _size: usize,
            _constant: c_int,
            _global: c_int,
        ) {
            let $number = number(handle);
            // SAFETY: a string of the program.
            if let Some($text) = unsafe { text(name) } $body
        }
    )*};
}
variables! {
    __cudaRegisterVar(host: *mut c_char) => |binary, name| {
        registry::add_variable(binary, host.addr(), name);
    }
    __cudaRegisterManagedVar(pointer: *mut *mut c_void) => |binary, name| {
        registry::add_managed(binary, pointer.expose_provenance(), name);
        registry::add_variable(binary, pointer.addr(), name);
    }
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
    (done(registry::place_managed(number(handle))) == 0) as c_char
}
