//! The few functions of the CUDA driver API that the recorder needs, from a library opened at run
//! time. All `unsafe` of this crate is here.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use anyhow::{Context, Result, bail};
use libloading::Library;

type Code = c_int;
type Handle = *mut c_void;

/// The first of `names` that the library has.
///
/// # Safety
/// `T` must be the function pointer type that `cuda.h` gives for these names, and the pointer must
/// not be called after the library is closed.
unsafe fn symbol<T: Copy>(library: &Library, names: &[&str]) -> Result<T> {
    names
        .iter()
        // SAFETY: what the caller promises.
        .find_map(|name| unsafe { library.get::<T>(name.as_bytes()) }.ok().map(|f| *f))
        .with_context(|| format!("the library has no {}", names.join(" or ")))
}

/// Declares the function table: field, symbols in order of preference, arguments.
macro_rules! functions {
    ($($field:ident = [$($symbol:literal),+] $args:tt;)*) => {
        struct Functions {
            $($field: functions!(@type $args),)*
        }

        impl Functions {
            fn find(library: &Library) -> Result<Self> {
                // SAFETY: the types are those of `cuda.h`, and `Driver` keeps the library open for
                // as long as it has the pointers.
                unsafe {
                    Ok(Self { $($field: symbol(library, &[$($symbol),+])?,)* })
                }
            }
        }
    };
    (@type ($($arg:ty),*)) => { unsafe extern "C" fn($($arg),*) -> Code };
}

functions! {
    init = ["cuInit"] (c_uint);
    device_get = ["cuDeviceGet"] (*mut c_int, c_int);
    retain = ["cuDevicePrimaryCtxRetain"] (*mut Handle, c_int);
    set_current = ["cuCtxSetCurrent"] (Handle);
    load = ["cuModuleLoadDataEx"] (*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    function = ["cuModuleGetFunction"] (*mut Handle, Handle, *const c_char);
    alloc = ["cuMemAlloc_v2", "cuMemAlloc"] (*mut u64, usize);
    to_device = ["cuMemcpyHtoD_v2", "cuMemcpyHtoD"] (u64, *const c_void, usize);
    from_device = ["cuMemcpyDtoH_v2", "cuMemcpyDtoH"] (*mut c_void, u64, usize);
    launch = ["cuLaunchKernel"] (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
        *mut *mut c_void, *mut *mut c_void
    );
    synchronize = ["cuCtxSynchronize"] ();
}

/// An open library with the primary context of its first device.
pub struct Driver {
    f: Functions,
    device: c_int,
    library: Library,
}

/// A loaded module; gone with [`Driver::reset`].
#[derive(Copy, Clone)]
pub struct Module(Handle);

/// A kernel of a module.
#[derive(Copy, Clone)]
pub struct Function(Handle);

impl Driver {
    /// Opens the library and its first device.
    pub fn open(path: &Path) -> Result<Self> {
        // SAFETY: opening runs the library's initialisers; the user named a CUDA driver library.
        let library = unsafe { Library::new(path) }
            .with_context(|| format!("cannot open {}", path.display()))?;
        let mut driver = Self { f: Functions::find(&library)?, device: 0, library };
        // SAFETY: takes no pointers.
        driver.ok(unsafe { (driver.f.init)(0) }, "cuInit")?;
        let mut device = 0;
        // SAFETY: `device` outlives the call.
        driver.ok(unsafe { (driver.f.device_get)(&mut device, 0) }, "cuDeviceGet")?;
        driver.device = device;
        driver.retain()?;
        Ok(driver)
    }

    fn retain(&self) -> Result<()> {
        let mut context = ptr::null_mut();
        // SAFETY: `context` outlives the call; the device is one that the library named.
        let code = unsafe { (self.f.retain)(&mut context, self.device) };
        self.ok(code, "cuDevicePrimaryCtxRetain")?;
        // SAFETY: the context was just retained.
        self.ok(unsafe { (self.f.set_current)(context) }, "cuCtxSetCurrent")
    }

    /// Drops everything on the device, as after a fault.
    pub fn reset(&self) -> Result<()> {
        for symbol in ["cuDevicePrimaryCtxReset_v2\0", "cuDevicePrimaryCtxReset\0"] {
            // SAFETY: the type is the one of `cuda.h`.
            let found = unsafe {
                self.library.get::<unsafe extern "C" fn(c_int) -> Code>(symbol.as_bytes())
            };
            if let Ok(reset) = found {
                // SAFETY: modules and memory of the old context are not used again.
                self.ok(unsafe { reset(self.device) }, "cuDevicePrimaryCtxReset")?;
                break;
            }
        }
        self.retain()
    }

    fn ok(&self, code: Code, what: &str) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let mut name: *const c_char = ptr::null();
        // SAFETY: the type is the one of `cuda.h`; the library sets `name` to a static string or
        // leaves it null.
        let name = unsafe {
            if let Ok(f) = self
                .library
                .get::<unsafe extern "C" fn(Code, *mut *const c_char) -> Code>(b"cuGetErrorName\0")
            {
                f(code, &mut name);
            }
            if name.is_null() { "".into() } else { CStr::from_ptr(name).to_string_lossy() }
        };
        bail!("{what}: error {code} {name}")
    }

    /// Name, compute capability and driver version of the device, where the library tells them.
    pub fn about(&self) -> (String, String, i32) {
        let mut name = [0u8; 256];
        let (mut major, mut minor, mut version) = (0, 0, 0);
        // SAFETY: the types are those of `cuda.h`; every pointer outlives its call and `name` is as
        // long as stated.
        unsafe {
            type Name = unsafe extern "C" fn(*mut u8, c_int, c_int) -> Code;
            type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code;
            type Version = unsafe extern "C" fn(*mut c_int) -> Code;
            if let Ok(f) = self.library.get::<Name>(b"cuDeviceGetName\0") {
                f(name.as_mut_ptr(), 256, self.device);
            }
            if let Ok(f) = self.library.get::<Attribute>(b"cuDeviceGetAttribute\0") {
                f(&mut major, 75, self.device);
                f(&mut minor, 76, self.device);
            }
            if let Ok(f) = self.library.get::<Version>(b"cuDriverGetVersion\0") {
                f(&mut version);
            }
        }
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        let name = String::from_utf8_lossy(&name[..end]).into_owned();
        (name, format!("{major}.{minor}"), version)
    }

    /// Loads a module; the error holds the assembler's log.
    pub fn load(&self, text: &str) -> Result<Module> {
        const ERROR_LOG: c_int = 5;
        const ERROR_LOG_BYTES: c_int = 6;
        let text = CString::new(text)?;
        let mut log = vec![0u8; 1 << 16];
        let mut options = [ERROR_LOG, ERROR_LOG_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
        let mut module = ptr::null_mut();
        // SAFETY: all pointers outlive the call; the log is as long as stated.
        let code = unsafe {
            (self.f.load)(
                &mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let end = log.iter().position(|b| *b == 0).unwrap_or(log.len()).min(400);
        self.ok(code, "cuModuleLoadDataEx")
            .with_context(|| String::from_utf8_lossy(&log[..end]).into_owned())?;
        Ok(Module(module))
    }

    /// A kernel by name.
    pub fn function(&self, module: Module, name: &str) -> Result<Function> {
        let name = CString::new(name)?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded; the pointers outlive the call.
        let code = unsafe { (self.f.function)(&mut function, module.0, name.as_ptr()) };
        self.ok(code, "cuModuleGetFunction")?;
        Ok(Function(function))
    }

    /// Device memory; it lives until [`Self::reset`].
    pub fn alloc(&self, bytes: usize) -> Result<u64> {
        let mut at = 0;
        // SAFETY: `at` outlives the call.
        self.ok(unsafe { (self.f.alloc)(&mut at, bytes) }, "cuMemAlloc")?;
        Ok(at)
    }

    /// Copies to the device.
    pub fn to_device(&self, at: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: the library reads `bytes.len()` bytes from a live slice and checks `at`.
        let code = unsafe { (self.f.to_device)(at, bytes.as_ptr().cast(), bytes.len()) };
        self.ok(code, "cuMemcpyHtoD")
    }

    /// Copies from the device.
    #[allow(clippy::wrong_self_convention)] // named after the direction of the copy
    pub fn from_device(&self, at: u64, bytes: usize) -> Result<Vec<u8>> {
        let mut out = vec![0u8; bytes];
        // SAFETY: the library writes at most `bytes` bytes to a live buffer of that length.
        let code = unsafe { (self.f.from_device)(out.as_mut_ptr().cast(), at, bytes) };
        self.ok(code, "cuMemcpyDtoH")?;
        Ok(out)
    }

    /// Launches `grid` blocks with 64-bit arguments and waits for the end.
    pub fn run(&self, function: Function, grid: u32, block: u32, args: &[u64]) -> Result<()> {
        let mut args = args.to_vec();
        let mut at: Vec<*mut c_void> =
            args.iter_mut().map(|a| ptr::from_mut(a).cast::<c_void>()).collect();
        // SAFETY: every kernel of the recordings has as many 64-bit parameters as `args` has
        // entries; the library copies them before it returns.
        let code = unsafe {
            (self.f.launch)(
                function.0,
                grid,
                1,
                1,
                block,
                1,
                1,
                0,
                ptr::null_mut(),
                at.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.ok(code, "cuLaunchKernel")?;
        // SAFETY: takes no arguments.
        self.ok(unsafe { (self.f.synchronize)() }, "cuCtxSynchronize")
    }
}
