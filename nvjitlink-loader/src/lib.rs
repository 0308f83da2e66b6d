//! `libnvJitLink.so.13` as programs load it: every function hands its arguments on to the one of the same name in
//! `libptxrun_core.so`, so that an installation holds the engine once. That library lies beside this one; where it does
//! not, the one that the program has loaded already serves, and else every function answers [`NOT_THERE`].
//!
//! No search path is written into the file, and nothing is loaded before the first call: `ptxrun exec` preloads this
//! library into every process.
#![cfg(unix)]

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The library with the functions.
const CORE: &str = "libptxrun_core.so";

/// The names under which a program may have loaded it.
const LOADED: [&CStr; 2] = [c"libptxrun_core.so", c"libcuda.so.1"];

/// `NVJITLINK_ERROR_INTERNAL`: the engine is not there.
pub const NOT_THERE: u32 = 6;

/// Any function of the interface. All of them take at most five whole numbers or addresses and answer a code; on every
/// Unix system arguments like these are in registers, and a function reads only its own.
type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize) -> u32;

/// The place of a function, found at its first call.
struct Place {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Place {
    const fn new(name: &'static CStr) -> Place {
        Place { name, address: AtomicUsize::new(0) }
    }

    fn function(&self) -> Option<Function> {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            // SAFETY: the handle stays open, and the name ends with a zero.
            address = unsafe { libc::dlsym(core()?.0, self.name.as_ptr()) }.expose_provenance();
            self.address.store(address, Ordering::Relaxed);
        }
        let address: *const c_void = std::ptr::with_exposed_provenance(address);
        // SAFETY: null, which is none, or the function of this name, which `Function` fits.
        unsafe { std::mem::transmute::<*const c_void, Option<Function>>(address) }
    }

    fn call(&self, [a, b, c, d, e]: [usize; 5]) -> u32 {
        match self.function() {
            // SAFETY: the arguments are those that the caller of this interface gave for this function.
            Some(function) => unsafe { function(a, b, c, d, e) },
            None => NOT_THERE,
        }
    }
}

/// The library with the functions, open for the rest of the process.
struct Core(*mut c_void);

// SAFETY: a handle is a number for the dynamic loader, which any thread may call.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

/// The library with the functions, if it is there; where it is not, says so once.
fn core() -> Option<&'static Core> {
    static FOUND: OnceLock<Option<Core>> = OnceLock::new();
    FOUND.get_or_init(find).as_ref()
}

fn find() -> Option<Core> {
    let beside = own_folder().map(|folder| folder.join(CORE));
    let named = beside.as_ref().filter(|file| file.is_file());
    let named = named.and_then(|file| CString::new(file.as_os_str().as_bytes()).ok());
    let found = named.and_then(|file| open(&file, 0));
    let found = found.or_else(|| LOADED.iter().find_map(|name| open(name, libc::RTLD_NOLOAD)));
    if found.is_none() {
        let place = beside.unwrap_or_else(|| PathBuf::from(CORE));
        // A closed standard error is no reason to end.
        let _ = writeln!(
            std::io::stderr(),
            "libnvJitLink.so.13 of ptxrun: there is no usable {}, which holds the engine",
            place.display()
        );
    }
    found
}

/// The folder of the file that this library was loaded from, behind links.
fn own_folder() -> Option<PathBuf> {
    let mut about = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    let own = own_folder as *const c_void;
    // SAFETY: any address may be asked about; the answer is complete where the code is not zero.
    let about =
        unsafe { (libc::dladdr(own, about.as_mut_ptr()) != 0).then(|| about.assume_init()) }?;
    if about.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a string of the dynamic loader, which lives as long as this library is loaded.
    let file = unsafe { CStr::from_ptr(about.dli_fname) };
    let file = Path::new(OsStr::from_bytes(file.to_bytes())).canonicalize().ok()?;
    file.parent().map(Path::to_owned)
}

/// Opens a library that has the interface.
fn open(name: &CStr, how: c_int) -> Option<Core> {
    // SAFETY: the library of ours, or one that is loaded already; a string that ends with a zero.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | how) };
    // SAFETY: a handle from above. The library at hand is the vendor's driver where it lacks the function.
    let usable = !handle.is_null() && !unsafe { libc::dlsym(handle, FIRST.as_ptr()) }.is_null();
    usable.then_some(Core(handle))
}

/// A function that every library with the interface has.
const FIRST: &CStr = c"nvJitLinkCreate";

/// Exports functions under their names, and those with versions under the names of every version of CUDA 13 too.
macro_rules! functions {
    (versioned: $($name:literal)*; plain: $($plain:literal)*) => {
        /// The interface, by its plain names.
        pub const FUNCTIONS: &[&str] = &[$($name,)* $($plain),*];
        $(functions!(@one $name: $name concat!("__", $name, "_13_0") concat!("__", $name, "_13_1")
            concat!("__", $name, "_13_2") concat!("__", $name, "_13_3") concat!("__", $name, "_13_4")
            concat!("__", $name, "_13_5"));)*
        $(functions!(@one $plain: $plain);)*
    };
    (@one $name:literal: $($symbol:expr)*) => {
        const _: () = {
            static PLACE: Place = Place::new(match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a zero in a name"),
            });
            $(const _: () = {
                // SAFETY: the name is of the interface that this library has; the engine's, which has it too, is
                // only ever asked for it by its handle.
                #[unsafe(export_name = $symbol)]
                extern "C" fn handed_on(a: usize, b: usize, c: usize, d: usize, e: usize) -> u32 {
                    PLACE.call([a, b, c, d, e])
                }
            };)*
        };
    };
}

functions! {
    versioned:
        "nvJitLinkCreate" "nvJitLinkDestroy" "nvJitLinkAddData" "nvJitLinkAddFile" "nvJitLinkComplete"
        "nvJitLinkGetLinkedCubinSize" "nvJitLinkGetLinkedCubin" "nvJitLinkGetLinkedPtxSize" "nvJitLinkGetLinkedPtx"
        "nvJitLinkGetLinkedLTOIRSize" "nvJitLinkGetLinkedLTOIR" "nvJitLinkGetErrorLogSize" "nvJitLinkGetErrorLog"
        "nvJitLinkGetInfoLogSize" "nvJitLinkGetInfoLog";
    plain:
        "nvJitLinkVersion"
}
