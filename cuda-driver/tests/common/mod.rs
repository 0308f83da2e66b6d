//! Calls of the driver API by symbol, into this crate or, with `CUDA_LIB=libcuda.so.1`, into another driver.

#![allow(dead_code)]

use std::ffi::c_void;
use std::sync::OnceLock;

use cuda_driver::api;

/// A function of the driver as every one can be called: up to 15 integers or pointers.
#[rustfmt::skip]
type Function = unsafe extern "C" fn(
    u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
) -> u32;

fn foreign() -> Option<&'static libloading::Library> {
    static LIBRARY: OnceLock<Option<libloading::Library>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("CUDA_LIB")?;
        // SAFETY: the user names a CUDA driver library.
        Some(unsafe { libloading::Library::new(path) }.expect("the library that CUDA_LIB names"))
    };
    LIBRARY.get_or_init(open).as_ref()
}

/// Whether this crate is what is called.
pub fn own() -> bool {
    foreign().is_none()
}

/// The address of a function, for one that takes structures.
pub fn address(symbol: &str) -> *const c_void {
    match foreign() {
        // SAFETY: the address is only called, with what the symbol takes.
        Some(library) => unsafe { *library.get::<*const c_void>(symbol.as_bytes()).expect(symbol) },
        None => api::entries().find(|e| e.symbol == symbol).expect(symbol).address.0,
    }
}

/// Calls a function; what it does not take is ignored by the calling convention.
pub fn call(symbol: &str, args: &[u64]) -> u32 {
    let mut all = [0; 16];
    all[..args.len()].copy_from_slice(args);
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q] = all;
    // SAFETY: integers and pointers are passed alike, and the tests pass what the function takes.
    unsafe {
        let function: Function = std::mem::transmute(address(symbol));
        function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q)
    }
}

/// As [`call`], for calls that must succeed.
pub fn ok(symbol: &str, args: &[u64]) {
    assert_eq!(call(symbol, args), 0, "{symbol}");
}

/// The address of a variable or buffer, for an argument.
pub fn at<T: ?Sized>(value: &mut T) -> u64 {
    std::ptr::from_mut(value).cast::<u8>() as u64
}

/// The address of text, which must end in a zero.
pub fn text(value: &str) -> u64 {
    assert!(value.ends_with('\0'));
    value.as_ptr() as u64
}

/// A context to work in, current to the calling thread.
pub fn context() -> u64 {
    let mut context = 0u64;
    ok("cuInit", &[0]);
    ok("cuCtxCreate_v2", &[at(&mut context), 0, 0]);
    context
}

/// Device memory.
pub fn alloc(bytes: u64) -> u64 {
    let mut pointer = 0u64;
    ok("cuMemAlloc_v2", &[at(&mut pointer), bytes]);
    pointer
}

/// A module from text.
pub fn module(ptx: &str) -> u64 {
    let mut module = 0u64;
    ok("cuModuleLoadData", &[at(&mut module), text(ptx)]);
    module
}

/// A kernel.
pub fn function(module: u64, name: &str) -> u64 {
    let mut function = 0u64;
    ok("cuModuleGetFunction", &[at(&mut function), module, text(name)]);
    function
}

/// Launches with 64-bit arguments; the code.
pub fn launch(function: u64, grid: [u32; 3], block: [u32; 3], stream: u64, args: &[u64]) -> u32 {
    let mut args = args.to_vec();
    let mut pointers: Vec<u64> = args.iter_mut().map(at).collect();
    let [gx, gy, gz] = grid.map(u64::from);
    let [bx, by, bz] = block.map(u64::from);
    let params = pointers.as_mut_ptr() as u64;
    call("cuLaunchKernel", &[function, gx, gy, gz, bx, by, bz, 0, stream, params, 0])
}
