//! Sequences of calls of the OpenCL driver.

use std::sync::LazyLock;

use opencl_icd::dispatch;

use crate::calls::{Call, Caller, find, table};

const TABLE: &str = include_str!("../data/opencl.calls");
const SOURCE: &str = concat!(include_str!("../data/calls.cl"), "\0");

/// What inputs build.
const SMALL: &str = "__kernel void nothing(__global int *a) { a[0] = 1; }\0";

static CALLS: LazyLock<Vec<Call>> = LazyLock::new(|| {
    table(TABLE, |name| {
        let found = dispatch::TABLE.functions().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("{name}")).1.address().expose_provenance()
    })
});

extern "C" fn nothing() {}

/// What every input finds: made once, as a build takes long.
struct World {
    device: u64,
    context: u64,
    program: u64,
}

fn run(
    caller: &mut Caller<'_>,
    name: &str,
    arguments: &[u64],
    made: &[(&'static str, u64)],
) -> u64 {
    let result = caller.exactly(find(&CALLS, name), arguments, made);
    // A code has 32 bits.
    if name.starts_with("clCreate") { result } else { result & 0xffff_ffff }
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut caller = Caller::new(&[]);
    let c = &mut caller;
    let (platform, device) = (c.place(&[0; 2]), c.place(&[0; 2]));
    run(c, "clGetPlatformIDs", &[1, platform, 0], &[("platform", platform)]);
    let platform = c.all("platform")[0];
    run(c, "clGetDeviceIDs", &[platform, 0xffff_ffff, 1, device, 0], &[("device", device)]);
    let device = c.all("device")[0];
    let list = c.place(&[device]);
    let context = run(c, "clCreateContext", &[0, 1, list, 0, 0, 0], &[]);
    let lines = c.place(&[SOURCE.as_ptr().expose_provenance() as u64]);
    let program = run(c, "clCreateProgramWithSource", &[context, 1, lines, 0, 0], &[]);
    let code = run(c, "clBuildProgram", &[program, 0, 0, 0, 0, 0], &[]);
    assert!(context != 0 && program != 0 && code == 0, "{code}");
    World { device, context, program }
});

/// Events of the program's own are signalled before anything waits: else it would wait for ever, as it should.
fn signal(caller: &mut Caller<'_>) {
    for event in caller.all("user") {
        run(caller, "clSetUserEventStatus", &[event, 0], &[]);
    }
}

/// Releases a handle as often as it was retained.
fn release(caller: &mut Caller<'_>, end: &str, handle: u64) {
    while run(caller, end, &[handle], &[]) == 0 {}
}

/// Calls with a context that stays and everything else made by the input; it is released at the end.
pub fn opencl_calls(data: &[u8]) {
    let world = &*WORLD;
    let mut caller = Caller::new(data);
    caller.made("device", world.device);
    caller.made("context", world.context);
    caller.made("program", world.program);
    caller.made("callback", 0);
    caller.made("callback", nothing as *const () as u64);
    caller.made("image", SMALL.as_ptr().expose_provenance() as u64);
    let queue = run(&mut caller, "clCreateCommandQueue", &[world.context, world.device, 0, 0], &[]);
    assert_ne!(queue, 0);
    for name in ["add\0", "sum\0", "picture\0", "nothing\0"] {
        let at = name.as_ptr().expose_provenance() as u64;
        caller.made("name", at);
        let kernel = run(&mut caller, "clCreateKernel", &[world.program, at, 0], &[]);
        assert_ne!(kernel, 0);
    }
    caller.calls(&CALLS, |caller, call| {
        if call.name.contains("Release")
            || ["clFinish", "clWaitForEvents"].contains(&call.name)
            || call.waits()
        {
            signal(caller);
        }
    });
    signal(&mut caller);
    for queue in caller.all("queue") {
        run(&mut caller, "clFinish", &[queue], &[]);
    }
    for (kind, end) in [
        ("event", "clReleaseEvent"),
        ("user", "clReleaseEvent"),
        ("kernel", "clReleaseKernel"),
        ("memory", "clReleaseMemObject"),
        ("picture", "clReleaseMemObject"),
        ("sampler", "clReleaseSampler"),
        ("queue", "clReleaseCommandQueue"),
    ] {
        let mut all = caller.all(kind);
        all.sort_unstable();
        all.dedup();
        for handle in all {
            release(&mut caller, end, handle);
        }
    }
    for pointer in caller.all("shared") {
        run(&mut caller, "clSVMFree", &[world.context, pointer], &[]);
    }
    for (kind, end) in [("own_program", "clReleaseProgram"), ("own_context", "clReleaseContext")] {
        for handle in caller.all(kind) {
            release(&mut caller, end, handle);
        }
    }
}
