//! `libptxrun_core.so`: one engine behind every face of ptxrun, so that an installation holds it once.
//!
//! | face | what it exports |
//! | --- | --- |
//! | `libcuda.so.1` | the CUDA driver API ([`cuda_driver`]) |
//! | `libnvidia-ml.so.1` | what programs ask NVML ([`nvml`]) |
//! | `libnvJitLink.so.13` | NVIDIA's linker ([`nvjitlink`]); `nvjitlink-loader` is the library of that name |
//! | an OpenCL driver | what OpenCL's loader asks for ([`opencl_icd`]) |
//! | `libgpuocelot.so` | `ptx_run` ([`gpuocelot`]) |
//! | the command | [`ptxrun_main`], which `ptxrun-launcher` and the Python package call |
//! | Python | [`ptxrun_request`], [`ptxrun_release`]: requests and replies in JSON |
//! | PyTorch | [`ptxrun_host_pointer`]: device memory for the operators that the CPU serves (`ptxrun/torch`) |
//!
//! The library has no name of its own inside (no `SONAME`): programs know it under the name of the link by which they
//! found it, and one that only uses the Python package keeps the real `libcuda.so.1`, if there is one.

mod launch;
mod request;
mod session;

use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

// What they export is exported here; nothing else names them.
use {cuda_driver as _, gpuocelot as _, nvjitlink as _, nvml as _, opencl_icd as _};

/// A program that loads this library is not ended when memory runs out.
#[global_allocator]
static ALLOCATOR: c_border::reserve::Allocator = c_border::reserve::Allocator;

/// Whoever loads this library may be a program that `ptxrun debug` has started.
#[used]
#[cfg(target_os = "linux")]
// SAFETY: the loader calls the functions of this section, once, with arguments that C functions may ignore. This one
// reads a variable of the environment and starts nothing.
#[unsafe(link_section = ".init_array")]
static ATTACH: extern "C" fn() = {
    extern "C" fn attach() {
        let _ = catch_unwind(ptxrun::debug_program::attach);
    }
    attach
};

/// The text behind a pointer, as words of a command line are.
///
/// # Safety
/// `text` is zero-terminated.
unsafe fn word(text: *const c_char) -> OsString {
    // SAFETY: the caller's promise.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec());
    #[cfg(not(unix))]
    return String::from_utf8_lossy(bytes).into_owned().into();
}

/// The command `ptxrun`: runs `count` words, the first of which is the program's name; the result is the exit status.
/// `--help` and wrong usage end the process. `folder` holds this library; null where that is not known.
///
/// # Safety
/// `words` leads to `count` zero-terminated strings, and `folder` to one or to nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxrun_main(
    count: c_int,
    words: *const *const c_char,
    folder: *const c_char,
) -> c_int {
    let count = if words.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
    // SAFETY: there are so many, each zero-terminated.
    let words = (0..count).map(|i| unsafe { word(*words.add(i)) }).collect();
    if !folder.is_null() {
        // SAFETY: zero-terminated.
        ptxrun::commands::installed_in(PathBuf::from(unsafe { word(folder) }));
    }
    catch_unwind(AssertUnwindSafe(|| ptxrun::commands::run_words(words))).map_or(101, c_int::from)
}

/// What [`ptxrun_request`] answers with: `bytes` bytes of UTF-8, which [`ptxrun_release`] takes back.
#[repr(C)]
pub struct Reply {
    /// The first byte.
    text: *mut u8,
    /// How many.
    bytes: usize,
}

/// Serves a request: `bytes` bytes of JSON at `text`. `request.rs` says what there is.
///
/// # Safety
/// `text` leads to so many bytes; what the request lends to kernels stays as `launch.rs` asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxrun_request(text: *const u8, bytes: usize) -> Reply {
    let request: &[u8] = match text.is_null() {
        true => &[],
        // SAFETY: the caller's promise.
        false => unsafe { std::slice::from_raw_parts(text, bytes) },
    };
    let reply = catch_unwind(AssertUnwindSafe(|| request::serve(request)));
    let reply = reply.unwrap_or_else(|_| request::error("internal", "the engine panicked"));
    let reply = reply.to_string().into_bytes().into_boxed_slice();
    let bytes = reply.len();
    Reply { text: Box::into_raw(reply).cast(), bytes }
}

/// Takes a reply back.
///
/// # Safety
/// The reply comes from [`ptxrun_request`] and is given back once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxrun_release(reply: Reply) {
    if !reply.text.is_null() {
        // SAFETY: `ptxrun_request` made it from such a box.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(reply.text, reply.bytes)) });
    }
}

/// Where the host sees `bytes` bytes of device memory from the device address `address` on; null where they are not in
/// one allocation that kernels may write. The place holds until the allocation is freed. The caller waits for kernels
/// that use the memory.
#[unsafe(no_mangle)]
pub extern "C" fn ptxrun_host_pointer(address: u64, bytes: u64) -> *mut c_void {
    let place = catch_unwind(|| cuda_driver::memory::host_pointer(address, bytes));
    place.ok().flatten().map_or(std::ptr::null_mut(), <*mut u8>::cast)
}
