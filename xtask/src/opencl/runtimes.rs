//! Builds by any OpenCL runtime that the host's loader finds.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use libloading::Library;

type Handle = *mut c_void;

/// The functions that a build needs, with their C types.
struct Api {
    get_platforms: unsafe extern "C" fn(u32, *mut Handle, *mut u32) -> i32,
    platform_info: unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32,
    get_devices: unsafe extern "C" fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32,
    create_context: unsafe extern "C" fn(
        *const isize,
        u32,
        *const Handle,
        *const c_void,
        *mut c_void,
        *mut i32,
    ) -> Handle,
    create_program:
        unsafe extern "C" fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle,
    build: unsafe extern "C" fn(
        Handle,
        u32,
        *const Handle,
        *const c_char,
        *const c_void,
        *mut c_void,
    ) -> i32,
    _library: Library,
}

impl Api {
    fn load() -> Result<Api> {
        // SAFETY: loading runs the initialisers of the host's OpenCL loader, which the caller asked for.
        let library = unsafe { Library::new("libOpenCL.so.1") }.context("libOpenCL.so.1")?;
        macro_rules! get {
            ($name:literal) => {
                // SAFETY: the field's type is the function's C declaration.
                unsafe { *library.get($name).context(stringify!($name))? }
            };
        }
        Ok(Api {
            get_platforms: get!(b"clGetPlatformIDs"),
            platform_info: get!(b"clGetPlatformInfo"),
            get_devices: get!(b"clGetDeviceIDs"),
            create_context: get!(b"clCreateContext"),
            create_program: get!(b"clCreateProgramWithSource"),
            build: get!(b"clBuildProgram"),
            _library: library,
        })
    }
}

fn ok(what: &str, code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { bail!("{what}: error {code}") }
}

/// The platform whose name contains `wanted`, with its name and version, and its first device.
fn device(api: &Api, wanted: &str) -> Result<(Handle, String)> {
    let mut platforms = [null_mut(); 16];
    let mut count = 0;
    // SAFETY: room for 16 handles.
    ok("clGetPlatformIDs", unsafe { (api.get_platforms)(16, platforms.as_mut_ptr(), &mut count) })?;
    let mut known = Vec::new();
    for platform in &platforms[..count.min(16) as usize] {
        let info = |what| {
            let mut text = [0u8; 256];
            // SAFETY: room for 256 bytes.
            let code = unsafe {
                (api.platform_info)(*platform, what, 256, text.as_mut_ptr().cast(), null_mut())
            };
            let end = text.iter().position(|b| *b == 0).unwrap_or(0);
            ok("clGetPlatformInfo", code)
                .map(|()| String::from_utf8_lossy(&text[..end]).into_owned())
        };
        let (version, name) = (info(0x0901)?, info(0x0902)?);
        let full = format!("{name}: {version}");
        if name.contains(wanted) {
            let mut device = null_mut();
            // SAFETY: room for one handle; any type of device.
            ok("clGetDeviceIDs", unsafe {
                (api.get_devices)(*platform, 0xffff_ffff, 1, &mut device, null_mut())
            })?;
            return Ok((device, full));
        }
        known.push(full);
    }
    bail!("no OpenCL platform is named {wanted}; there are: {}", known.join("; "))
}

/// Seconds that a runtime takes to build each source, the shortest of some runs, and the runtime's name.
pub fn builds(platform: &str, sources: &[String], runs: usize) -> Result<(String, Vec<f64>)> {
    let api = Api::load()?;
    let (device, engine) = device(&api, platform)?;
    let mut code = 0;
    // SAFETY: room for one device, which stays valid for the process.
    let context =
        unsafe { (api.create_context)(null(), 1, &device, null(), null_mut(), &mut code) };
    ok("clCreateContext", code)?;
    let mut seconds = Vec::new();
    for source in sources {
        let mut shortest = f64::INFINITY;
        for run in 0..runs.max(1) {
            // A runtime may keep what it has built: no two texts are the same.
            let text = format!("{source}\n// {} {run}\n", std::process::id());
            let before = Instant::now();
            let (start, len) = (text.as_ptr().cast(), text.len());
            // SAFETY: the text has that length, and the handles come from the calls before.
            unsafe {
                let program = (api.create_program)(context, 1, &start, &len, &mut code);
                ok("clCreateProgramWithSource", code)?;
                let built = (api.build)(program, 1, &device, c"".as_ptr(), null(), null_mut());
                ok("clBuildProgram", built)?;
            }
            shortest = shortest.min(before.elapsed().as_secs_f64());
        }
        seconds.push(shortest);
    }
    Ok((engine, seconds))
}
