//! The C interface: everything that is `unsafe` about it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use ptx_runtime::{Backend, Context, DeviceOptions};

use crate::run::{Call, run};

/// Module variables and `malloc` of kernels; address space only.
const MEMORY: u64 = 4 << 30;

/// Runs the only kernel of `ptx` over `gx * gy * gz` blocks of `bx * by * bz` threads.
///
/// # Safety
/// `ptx` is a zero-terminated string; `args` holds `n_args` values; the kernel accesses only memory
/// of the process that it may, with these arguments.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn ptx_run(
    ptx: *const c_char,
    n_args: c_int,
    args: *const *const c_void,
    bx: c_int,
    by: c_int,
    bz: c_int,
    gx: c_int,
    gy: c_int,
    gz: c_int,
    shared: c_int,
) {
    if ptx.is_null() || n_args < 0 || n_args > 0 && args.is_null() {
        end("ptx_run: a null pointer or a negative number of arguments");
    }
    // SAFETY: not null; the caller says that it is zero-terminated.
    let text = unsafe { CStr::from_ptr(ptx) };
    let values = match n_args {
        0 => &[],
        // SAFETY: not null; the caller says that it holds so many.
        n => unsafe { std::slice::from_raw_parts(args, n as usize) },
    };
    let values: Vec<u64> = values.iter().map(|v| v.addr() as u64).collect();
    struct Settings {
        backend: Backend,
        timeout: Option<Duration>,
        memory: u64,
    }
    static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
        let refuse = |e: &dyn Display| -> ! { end(&format!("ptx_run: {e}")) };
        environment::check("ptx_run").unwrap_or_else(|e| refuse(&e));
        Settings {
            backend: Backend::from_environment().unwrap_or_else(|e| refuse(&e)),
            timeout: environment::timeout().unwrap_or_else(|e| refuse(&e)),
            memory: environment::memory().unwrap_or_else(|e| refuse(&e)),
        }
    });
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    let context = CONTEXT.get_or_init(|| {
        let memory = MEMORY.min(SETTINGS.memory);
        let options = DeviceOptions { memory, ..Default::default() };
        // SAFETY: launches come from this function only, whose caller vouches for their accesses.
        unsafe { Context::on_host_memory(&options) }
            .unwrap_or_else(|e| end(&format!("ptx_run: {e}")))
    });
    let (block, grid) = ([bx, by, bz], [gx, gy, gz]);
    let Settings { backend, timeout, .. } = *SETTINGS;
    let call = Call { args: &values, block, grid, shared, backend, timeout };
    if let Err(message) = run(context, text.to_bytes(), &call) {
        end(&message);
    }
}

/// Ends the process.
fn end(message: &str) -> ! {
    environment::sayln!("{}", message.trim_end());
    std::process::exit(1)
}
