//! What the program's start-up code registered: fat binaries, and by host address their kernels and variables.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::driver::{Driver, driver};
use crate::error::{
    Error, INVALID_DEVICE_FUNCTION, INVALID_IMAGE, INVALID_SYMBOL, NO_IMAGE, Result,
};
use crate::state::{enter, resets};
use crate::types::{FatBinaryWrapper, Handle, Pointer};

/// First word of a wrapper.
const WRAPPER: u32 = 0x4662_43b1;
/// First word of a fat binary.
const FAT_BINARY: u32 = 0xba55_ed50;
/// `CU_JIT_ERROR_LOG_BUFFER`, `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG: i32 = 5;
const ERROR_LOG_SIZE: i32 = 6;
/// `CU_JIT_INPUT_FATBINARY`.
const INPUT_FAT_BINARY: i32 = 2;

/// A fat binary of the program.
struct Binary {
    /// Addresses of the fat binaries: one, or those to be linked.
    parts: Vec<usize>,
    /// The driver's library, once something of it was needed.
    library: Option<Handle>,
    /// Managed variables: address of the program's pointer, and name.
    managed: Vec<(usize, CString)>,
}

/// A kernel or variable.
struct Symbol {
    binary: usize,
    name: CString,
    /// The driver's function and when it was asked for.
    function: Option<(Handle, u64)>,
}

impl Symbol {
    fn new(binary: usize, name: &CStr) -> Symbol {
        Symbol { binary, name: name.into(), function: None }
    }
}

#[derive(Default)]
struct Registry {
    binaries: HashMap<usize, Binary>,
    functions: HashMap<usize, Symbol>,
    variables: HashMap<usize, Symbol>,
    next: usize,
}

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a wrapped fat binary; its number.
///
/// # Safety
/// `wrapper` is null or a wrapper of nvcc, which stays to the end of the process.
pub unsafe fn add_binary(wrapper: *const FatBinaryWrapper) -> usize {
    let mut parts = Vec::new();
    // SAFETY: as the caller says.
    if let Some(wrapper) = unsafe { wrapper.as_ref() }
        && wrapper.magic == WRAPPER
    {
        if wrapper.version == 2 && !wrapper.list.is_null() {
            let mut at = wrapper.list;
            // SAFETY: the list ends with a null pointer.
            unsafe {
                while !(*at).is_null() {
                    parts.push((*at).expose_provenance());
                    at = at.add(1);
                }
            }
        } else if !wrapper.data.is_null() {
            parts.push(wrapper.data.expose_provenance());
        }
    }
    let mut registry = registry();
    registry.next += 1;
    let number = registry.next;
    registry.binaries.insert(number, Binary { parts, library: None, managed: Vec::new() });
    number
}

/// Forgets a binary with everything in it.
pub fn remove_binary(number: usize) {
    let mut registry = registry();
    registry.functions.retain(|_, s| s.binary != number);
    registry.variables.retain(|_, s| s.binary != number);
    let library = registry.binaries.remove(&number).and_then(|b| b.library);
    drop(registry);
    if let (Some(library), Ok(d)) = (library, driver()) {
        // SAFETY: the handle is the driver's; at the end of the process it may already be gone, which it says.
        unsafe { (d.cuLibraryUnload)(library) };
    }
}

pub fn add_function(binary: usize, host: usize, name: &CStr) {
    registry().functions.insert(host, Symbol::new(binary, name));
}

pub fn add_variable(binary: usize, host: usize, name: &CStr) {
    registry().variables.insert(host, Symbol::new(binary, name));
}

pub fn add_managed(binary: usize, pointer: usize, name: &CStr) {
    if let Some(binary) = registry().binaries.get_mut(&binary) {
        binary.managed.push((pointer, name.into()));
    }
}

impl Registry {
    /// The driver's library of a binary, loaded at first use.
    fn library(&mut self, d: &Driver, number: usize) -> Result<Handle> {
        let binary = self.binaries.get_mut(&number).ok_or(INVALID_IMAGE)?;
        if let Some(library) = binary.library {
            return Ok(library);
        }
        let library = match binary.parts[..] {
            [] => return Err(INVALID_IMAGE),
            [one] => load(d, std::ptr::with_exposed_provenance(one))?,
            _ => link(d, &binary.parts)?,
        };
        binary.library = Some(library);
        Ok(library)
    }
}

fn load(d: &Driver, image: *const c_void) -> Result<Handle> {
    let mut library = 0;
    let (no_keys, no_values) = (std::ptr::null(), std::ptr::null());
    // SAFETY: a fat binary of the program, or what the linker made; no options.
    let code = unsafe {
        (d.cuLibraryLoadData)(&mut library, image, no_keys, no_values, 0, no_keys, no_values, 0)
    };
    Error::check(code)?;
    Ok(library)
}

/// Links fat binaries that were compiled with relocatable device code. Those without a part for the device are left
/// out, as NVIDIA's device runtime, of which few programs use anything: what is missing without them shows at the end.
fn link(d: &Driver, parts: &[usize]) -> Result<Handle> {
    let mut linker = 0;
    let mut log = vec![0u8; 4096];
    let keys = [ERROR_LOG, ERROR_LOG_SIZE];
    let values: [Pointer; 2] =
        [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
    // SAFETY: the log stays until the linker is destroyed; the handle is written.
    Error::check(unsafe { (d.cuLinkCreate_v2)(2, keys.as_ptr(), values.as_ptr(), &mut linker) })?;
    let mut left_out = false;
    let linked = (|| {
        for part in parts {
            match add(d, linker, *part) {
                Err(NO_IMAGE) => left_out = true,
                other => other?,
            }
        }
        let (mut image, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: both are written; the image stays until the linker is destroyed.
        Error::check(unsafe { (d.cuLinkComplete)(linker, &mut image, &mut size) })?;
        load(d, image)
    })();
    // SAFETY: the handle is the driver's.
    unsafe { (d.cuLinkDestroy)(linker) };
    linked.map_err(|error| {
        let end = log.iter().position(|b| *b == 0).unwrap_or(log.len());
        if end > 0 {
            let _ =
                writeln!(std::io::stderr(), "{}", String::from_utf8_lossy(&log[..end]).trim_end());
        }
        if left_out { NO_IMAGE } else { error }
    })
}

/// Gives the linker a fat binary.
fn add(d: &Driver, linker: Handle, part: usize) -> Result {
    let (no_keys, no_values) = (std::ptr::null(), std::ptr::null());
    let data: *mut u8 = std::ptr::with_exposed_provenance_mut(part);
    // SAFETY: a fat binary says its size in its header.
    let size = unsafe {
        if data.cast::<u32>().read_unaligned() != FAT_BINARY {
            return Err(INVALID_IMAGE);
        }
        data.add(6).cast::<u16>().read_unaligned() as usize
            + data.add(8).cast::<u64>().read_unaligned() as usize
    };
    let name = c"<device code>".as_ptr();
    // SAFETY: `size` bytes are there.
    Error::check(unsafe {
        (d.cuLinkAddData_v2)(
            linker,
            INPUT_FAT_BINARY,
            data.cast(),
            size,
            name,
            0,
            no_keys,
            no_values,
        )
    })
}

/// The driver's kernel of a host function.
pub fn kernel(host: usize) -> Result<Handle> {
    let d = enter()?;
    let mut registry = registry();
    let symbol = registry.functions.get(&host).ok_or(INVALID_DEVICE_FUNCTION)?;
    let (binary, name) = (symbol.binary, symbol.name.clone());
    let library = registry.library(d, binary)?;
    let mut kernel = 0;
    // SAFETY: a handle is written; the name ends with a zero.
    let code = unsafe { (d.cuLibraryGetKernel)(&mut kernel, library, name.as_ptr()) };
    Error::check(code).map_err(|_| INVALID_DEVICE_FUNCTION)?;
    Ok(kernel)
}

/// The driver's function of a host function in the current context. What was not registered may be a
/// kernel or function of the driver's own, which callers may pass too.
pub fn function(host: usize) -> Result<Handle> {
    let d = enter()?;
    let now = resets();
    {
        let registry = registry();
        match registry.functions.get(&host) {
            Some(Symbol { function: Some((function, when)), .. }) if *when == now => {
                return Ok(*function);
            }
            Some(_) => {}
            None => return foreign(d, host),
        }
    }
    let kernel = kernel(host)?;
    let mut function = 0;
    // SAFETY: a handle is written.
    Error::check(unsafe { (d.cuKernelGetFunction)(&mut function, kernel) })?;
    if let Some(symbol) = registry().functions.get_mut(&host) {
        symbol.function = Some((function, now));
    }
    Ok(function)
}

fn foreign(d: &Driver, handle: usize) -> Result<Handle> {
    let mut function = 0;
    // SAFETY: a handle is written; the driver finds out whether the other is one.
    match unsafe { (d.cuKernelGetFunction)(&mut function, handle) } {
        0 => Ok(function),
        _ => Err(INVALID_DEVICE_FUNCTION),
    }
}

/// Device address and size of a registered variable.
pub fn variable(host: usize) -> Result<(Pointer, usize)> {
    let d = enter()?;
    let mut registry = registry();
    let symbol = registry.variables.get(&host).ok_or(INVALID_SYMBOL)?;
    let (binary, name) = (symbol.binary, symbol.name.clone());
    let library = registry.library(d, binary)?;
    let (mut address, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: both are written; the name ends with a zero.
    let code = unsafe { (d.cuLibraryGetGlobal)(&mut address, &mut size, library, name.as_ptr()) };
    Error::check(code).map_err(|_| INVALID_SYMBOL)?;
    Ok((address, size))
}

/// Gives the program's pointers to a binary's managed variables their values.
pub fn place_managed(number: usize) -> Result {
    let d = enter()?;
    let mut registry = registry();
    let managed: Arc<[_]> = match registry.binaries.get(&number) {
        Some(binary) if !binary.managed.is_empty() => binary.managed.clone().into(),
        _ => return Ok(()),
    };
    let library = registry.library(d, number)?;
    for (pointer, name) in managed.iter() {
        let (mut address, mut size) = (std::ptr::null_mut::<c_void>(), 0);
        // SAFETY: both are written; the name ends with a zero.
        Error::check(unsafe {
            (d.cuLibraryGetManaged)(&mut address, &mut size, library, name.as_ptr())
        })?;
        let place: *mut Pointer = std::ptr::with_exposed_provenance_mut(*pointer);
        // SAFETY: the start-up code registered the address of a pointer of the program.
        unsafe { place.write(address) };
    }
    Ok(())
}
