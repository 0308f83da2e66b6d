//! Any OpenCL runtime that the host's loader finds.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use anyhow::{Context as _, Result, bail};
use libloading::Library;
use ptx_runtime::Backend;

use super::{Arg, Case, Measurement, Type, ours, time};

type Handle = *mut c_void;

/// The functions that a launch needs, with their C types.
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
    create_queue: unsafe extern "C" fn(Handle, Handle, u64, *mut i32) -> Handle,
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
    create_kernel: unsafe extern "C" fn(Handle, *const c_char, *mut i32) -> Handle,
    set_arg: unsafe extern "C" fn(Handle, u32, usize, *const c_void) -> i32,
    create_buffer: unsafe extern "C" fn(Handle, u64, usize, *mut c_void, *mut i32) -> Handle,
    launch: unsafe extern "C" fn(
        Handle,
        Handle,
        u32,
        *const usize,
        *const usize,
        *const usize,
        u32,
        *const Handle,
        *mut Handle,
    ) -> i32,
    finish: unsafe extern "C" fn(Handle) -> i32,
    read: unsafe extern "C" fn(
        Handle,
        Handle,
        u32,
        usize,
        usize,
        *mut c_void,
        u32,
        *const Handle,
        *mut Handle,
    ) -> i32,
    write: unsafe extern "C" fn(
        Handle,
        Handle,
        u32,
        usize,
        usize,
        *const c_void,
        u32,
        *const Handle,
        *mut Handle,
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
            create_queue: get!(b"clCreateCommandQueue"),
            create_program: get!(b"clCreateProgramWithSource"),
            build: get!(b"clBuildProgram"),
            create_kernel: get!(b"clCreateKernel"),
            set_arg: get!(b"clSetKernelArg"),
            create_buffer: get!(b"clCreateBuffer"),
            launch: get!(b"clEnqueueNDRangeKernel"),
            finish: get!(b"clFinish"),
            read: get!(b"clEnqueueReadBuffer"),
            write: get!(b"clEnqueueWriteBuffer"),
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
            let (built, took) = time(|| -> Result<()> {
                let (start, len) = (text.as_ptr().cast(), text.len());
                // SAFETY: the text has that length, and the handles come from the calls before.
                unsafe {
                    let program = (api.create_program)(context, 1, &start, &len, &mut code);
                    ok("clCreateProgramWithSource", code)?;
                    let built = (api.build)(program, 1, &device, c"".as_ptr(), null(), null_mut());
                    ok("clBuildProgram", built)
                }
            });
            built?;
            // It counts in microseconds.
            shortest = shortest.min(took * 1e-6);
        }
        seconds.push(shortest);
    }
    Ok((engine, seconds))
}

/// Measures one kernel.
pub fn run(case: &Case, platform: &str, launches: usize) -> Result<Measurement> {
    let api = Api::load()?;
    let (device, engine) = device(&api, platform)?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(case.file);
    let source = std::fs::read_to_string(&path)?;
    let mut code = 0;
    // SAFETY: every handle below comes from the call before it and stays valid for the process;
    // sizes are those of the slices passed.
    unsafe {
        let context = (api.create_context)(null(), 1, &device, null(), null_mut(), &mut code);
        ok("clCreateContext", code)?;
        let queue = (api.create_queue)(context, device, 0, &mut code);
        ok("clCreateCommandQueue", code)?;
        let (kernel, build) = time(|| -> Result<Handle> {
            let (text, len) = (source.as_ptr().cast(), source.len());
            let program = (api.create_program)(context, 1, &text, &len, &mut code);
            ok("clCreateProgramWithSource", code)?;
            let built = (api.build)(program, 1, &device, c"".as_ptr(), null(), null_mut());
            ok("clBuildProgram", built)?;
            let entry = CString::new(case.entry)?;
            let kernel = (api.create_kernel)(program, entry.as_ptr(), &mut code);
            ok("clCreateKernel", code)?;
            Ok(kernel)
        });
        let kernel = kernel?;
        let mut buffers = Vec::new();
        for (n, arg) in case.args.iter().enumerate() {
            let set = match arg {
                Arg::Word(word) => (api.set_arg)(kernel, n as u32, 4, word.as_ptr().cast()),
                Arg::Buffer(ty, bytes) => {
                    let buffer =
                        (api.create_buffer)(context, 1, bytes.len(), null_mut(), &mut code);
                    ok("clCreateBuffer", code)?;
                    buffers.push((buffer, *ty, bytes));
                    (api.set_arg)(kernel, n as u32, size_of::<Handle>(), (&raw const buffer).cast())
                }
            };
            ok("clSetKernelArg", set)?;
        }
        let fill = || {
            buffers.iter().try_for_each(|(buffer, _, bytes)| {
                let from = bytes.as_ptr().cast();
                let done =
                    (api.write)(queue, *buffer, 1, 0, bytes.len(), from, 0, null(), null_mut());
                ok("clEnqueueWriteBuffer", done)
            })
        };
        let local = case.block.map(|n| n as usize);
        let global: [usize; 3] = std::array::from_fn(|d| local[d] * case.grid[d] as usize);
        let launch = || {
            let (g, l) = (global.as_ptr(), local.as_ptr());
            let started = (api.launch)(queue, kernel, 3, null(), g, l, 0, null(), null_mut());
            ok("clEnqueueNDRangeKernel", started)?;
            ok("clFinish", (api.finish)(queue))
        };
        fill()?;
        let (done, first) = time(launch);
        done?;
        let mut results = Vec::new();
        for (buffer, ty, bytes) in &buffers {
            let mut now = vec![0u8; bytes.len()];
            let to = now.as_mut_ptr().cast();
            let done = (api.read)(queue, *buffer, 1, 0, now.len(), to, 0, null(), null_mut());
            ok("clEnqueueReadBuffer", done)?;
            results.push((*ty, now));
        }
        check(case, &results)?;
        let mut warm = Vec::new();
        for _ in 0..launches {
            if case.reset {
                fill()?;
            }
            let (done, took) = time(launch);
            done?;
            warm.push(took);
        }
        Ok(Measurement { kernel: case.name.into(), build, first, warm, engine, compile: None })
    }
}

/// Whether the runtime computed what the interpreter computes: integers equal, floats near.
fn check(case: &Case, results: &[(Type, Vec<u8>)]) -> Result<()> {
    let ready = ours::Ready::new(case, &ours::ptx(case)?)?;
    ready.launch(case, Backend::Interp, false, 1)?;
    for ((ty, got), want) in results.iter().zip(ready.results(case)?) {
        let off = match ty {
            // Escape times hang on the last bit: a few may differ.
            Type::Int => {
                let differ = got.iter().zip(&want).filter(|(a, b)| a != b).count();
                differ * 100 > got.len()
            }
            Type::F32 => far(&floats32(got), &floats32(&want)),
            Type::F64 => far(&floats64(got), &floats64(&want)),
        };
        if off {
            bail!("its results are not the interpreter's");
        }
    }
    Ok(())
}

fn floats32(bytes: &[u8]) -> Vec<f64> {
    let one = |c: &[u8]| f64::from(f32::from_le_bytes([c[0], c[1], c[2], c[3]]));
    bytes.chunks_exact(4).map(one).collect()
}

fn floats64(bytes: &[u8]) -> Vec<f64> {
    let one = |c: &[u8]| f64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]);
    bytes.chunks_exact(8).map(one).collect()
}

/// Whether some value is far off, measured by the greatest one.
fn far(got: &[f64], want: &[f64]) -> bool {
    let scale = want.iter().fold(1e-30f64, |m, v| m.max(v.abs()));
    got.iter().zip(want).any(|(a, b)| (a - b).abs() > 2e-3 * scale)
}
