//! Calls of the CUDA driver API by symbol: of `cuda-driver`, or of the library that `CUDA_LIB` names.

use std::ffi::c_void;
use std::sync::OnceLock;

/// A function as every one can be called: up to 12 integers or pointers.
type Function =
    unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;

fn address(symbol: &str) -> *const c_void {
    static LIBRARY: OnceLock<Option<libloading::Library>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("CUDA_LIB")?;
        // SAFETY: the user names a CUDA driver library.
        Some(unsafe { libloading::Library::new(path) }.expect("the library that CUDA_LIB names"))
    };
    match LIBRARY.get_or_init(open) {
        // SAFETY: the address is only called, with what the symbol takes.
        Some(library) => unsafe { *library.get::<*const c_void>(symbol.as_bytes()).expect(symbol) },
        None => {
            let known = cuda_driver::api::entries().find(|e| e.symbol == symbol);
            known.unwrap_or_else(|| panic!("no {symbol}")).address.0
        }
    }
}

/// Calls a function; what it does not take is ignored by the calling convention.
///
/// # Errors
/// The symbol and the code that it returned.
pub fn call(symbol: &str, args: &[u64]) -> Result<(), String> {
    let mut all = [0; 12];
    all[..args.len()].copy_from_slice(args);
    let [a, b, c, d, e, f, g, h, i, j, k, l] = all;
    // SAFETY: integers and pointers are passed alike, and callers pass what the function takes.
    let code = unsafe {
        let function: Function = std::mem::transmute(address(symbol));
        function(a, b, c, d, e, f, g, h, i, j, k, l)
    };
    if code == 0 { Ok(()) } else { Err(format!("{symbol}: error {code}")) }
}

/// The address of a value, for an argument.
pub fn at<T: ?Sized>(value: &mut T) -> u64 {
    std::ptr::from_mut(value).cast::<u8>() as u64
}

/// What a call writes to its first argument.
///
/// # Errors
/// As [`call`].
pub fn made(symbol: &str, args: &[u64]) -> Result<u64, String> {
    let mut value = 0u64;
    let mut all = vec![at(&mut value)];
    all.extend(args);
    call(symbol, &all)?;
    Ok(value)
}
