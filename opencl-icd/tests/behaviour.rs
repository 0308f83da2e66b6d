//! What commands, events and binaries do.

// The macros are there to call unsafe functions.
#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

mod common;

use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use c_border::{Answer, In, Out, Raw, Text};
use common::*;
use opencl_icd::api::{commands, contexts, events, images, kernels, memory, programs};
use opencl_icd::cl::{self, Error};
use opencl_icd::dispatch::{NAMES, TABLE};
use opencl_icd::image::ImageDesc;
use opencl_icd::image_format::ImageFormat;
use ptx_runtime::Verified;

fn read(queue: usize, buffer: usize, count: usize) -> Vec<i32> {
    let mut out = vec![0i32; count];
    let (size, place) = (count * 4, raw_slice(&mut out));
    let none = In::none();
    let ran = call!(commands::clEnqueueReadBuffer(
        queue,
        buffer,
        1,
        0,
        size,
        place,
        0,
        none,
        Out::none()
    ));
    assert_eq!(ran, 0);
    out
}

fn write(queue: usize, buffer: usize, values: &mut [i32]) {
    let (size, place) = (values.len() * 4, raw_slice(values));
    let none = In::none();
    let ran = call!(commands::clEnqueueWriteBuffer(
        queue,
        buffer,
        1,
        0,
        size,
        place,
        0,
        none,
        Out::none()
    ));
    assert_eq!(ran, 0);
}

fn launch(
    queue: usize,
    kernel: usize,
    global: &[usize],
    offset: &[usize],
    waits: &[usize],
) -> usize {
    let mut event = 0;
    let offset = if offset.is_empty() { In::none() } else { In::of(offset) };
    let list = if waits.is_empty() { In::none() } else { In::of(waits) };
    let dimensions = global.len() as u32;
    let ran = call!(kernels::clEnqueueNDRangeKernel(
        queue,
        kernel,
        dimensions,
        offset,
        In::of(global),
        In::none(),
        waits.len() as u32,
        list,
        Out::to(&mut event)
    ));
    assert_eq!(ran, 0);
    event
}

fn status(event: usize) -> i32 {
    let mut status = 99i32;
    let name = cl::EVENT_COMMAND_EXECUTION_STATUS;
    assert_eq!(call!(events::clGetEventInfo(event, name, 4, raw(&mut status), Out::none())), 0);
    status
}

fn add_kernel(context: usize, buffer: usize, n: i32) -> usize {
    let program = source_program(context, SOURCE);
    assert_eq!(build(program, ""), 0);
    let add = kernel(program, "add");
    set(add, 0, buffer);
    set(add, 1, n);
    add
}

/// A context, a queue in order, and the program of these tests, built.
fn ready() -> (usize, usize, usize) {
    let context = context();
    let queue = queue(context, 0);
    let program = source_program(context, SOURCE);
    assert_eq!(build(program, ""), 0);
    (context, queue, program)
}

#[test]
fn the_table_has_every_function_of_3_0() {
    assert_eq!(NAMES.len(), 149);
    assert_eq!(
        (NAMES[0], NAMES[64], NAMES[89]),
        ("clGetPlatformIDs", "clEnqueueBarrier", "clCreateSubDevicesEXT")
    );
    // Only functions of other systems are missing.
    let absent: Vec<_> = NAMES.iter().filter(|n| TABLE.present().all(|p| p != **n)).collect();
    assert!(absent.iter().all(|n| n.contains("D3D") || n.contains("DX9")), "{absent:?}");
}

#[test]
fn offsets_and_dimensions_reach_kernels() {
    let context = context();
    let queue = queue(context, 0);
    let text = "kernel void k(global int *a) {
        int i = get_global_id(0) - get_global_offset(0);
        a[i * 4] = get_global_id(0); a[i * 4 + 1] = get_work_dim();
        a[i * 4 + 2] = get_global_offset(1); a[i * 4 + 3] = get_global_id(2);
    }";
    let program = source_program(context, text);
    assert_eq!(build(program, ""), 0);
    let k = kernel(program, "k");
    let mem = buffer(context, 64);
    set(k, 0, mem);
    launch(queue, k, &[2, 1, 1], &[100, 7, 9], &[]);
    assert_eq!(read(queue, mem, 8), [100, 3, 7, 9, 101, 3, 7, 9]);
    launch(queue, k, &[1, 1], &[], &[]);
    assert_eq!(read(queue, mem, 4), [0, 2, 0, 0]);
}

/// Launches large enough to be compiled, with offsets that are small, odd, large, and the last that 32 bits hold.
#[test]
fn large_launches_with_offsets() {
    const COUNT: usize = 1 << 18;
    let context = context();
    let queue = queue(context, 0);
    let text = "kernel void k(global uint *a, uint factor) {
        size_t i = get_global_id(0);
        uint x = (uint)(i >> 3) * factor;
        for (int n = 0; n < 16; n++) x = x * 1664525u + (uint)i;
        a[i - get_global_offset(0)] = x;
    }";
    let program = source_program(context, text);
    assert_eq!(build(program, ""), 0);
    let k = kernel(program, "k");
    let mem = buffer(context, 4 * COUNT);
    set(k, 0, mem);
    set(k, 1, 7u32);
    for offset in [0, 64, 1001, 3 << 20, (1 << 31) - 5000, (1 << 32) - 1 - COUNT, 0] {
        launch(queue, k, &[COUNT], &[offset], &[]);
        let got = read(queue, mem, COUNT);
        for (n, got) in got.into_iter().enumerate() {
            let i = (offset + n) as u32;
            let first = (i >> 3).wrapping_mul(7);
            let want = (0..16).fold(first, |x, _| x.wrapping_mul(1_664_525).wrapping_add(i));
            assert_eq!(got as u32, want, "offset {offset}, work-item {n}");
        }
    }
}

/// Commands that nobody flushed, each behind the one before: who waits for the last runs them all.
#[test]
fn long_chains_of_commands() {
    const COUNT: i32 = 20_000;
    let context = context();
    for properties in [0, cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        let queue = queue(context, properties);
        let mem = buffer(context, 16);
        write(queue, mem, &mut [1, 2, 3, 4]);
        let add = add_kernel(context, mem, 1);
        let mut last = launch(queue, add, &[4], &[], &[]);
        for _ in 1..COUNT {
            let next = launch(queue, add, &[4], &[], &[last]);
            assert_eq!(call!(events::clReleaseEvent(last)), 0);
            last = next;
        }
        assert_eq!(call!(contexts::clFinish(queue)), 0);
        assert_eq!(status(last), 0);
        assert_eq!(read(queue, mem, 4), [1 + COUNT, 2 + COUNT, 3 + COUNT, 4 + COUNT]);
    }
}

#[test]
fn user_events_hold_commands_back() {
    let context = context();
    for properties in [0, cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        let queue = queue(context, properties);
        let mem = buffer(context, 16);
        write(queue, mem, &mut [1, 2, 3, 4]);
        let add = add_kernel(context, mem, 10);
        let user = make!(events::clCreateUserEvent(context));
        let first = launch(queue, add, &[4], &[], &[user]);
        assert_eq!(call!(contexts::clFlush(queue)), 0);
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(status(first), cl::SUBMITTED);
        let second = launch(queue, add, &[4], &[], &[first]);
        let setter = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            call!(events::clSetUserEventStatus(user, 0))
        });
        assert_eq!(call!(events::clWaitForEvents(1, In::of(&[second]))), 0);
        assert_eq!(setter.join().unwrap(), 0);
        assert_eq!((status(first), status(second)), (0, 0));
        assert_eq!(read(queue, mem, 4), [21, 22, 23, 24]);
        // A failure ends what was told to wait for it, and only that.
        let user = make!(events::clCreateUserEvent(context));
        let failing = launch(queue, add, &[4], &[], &[user]);
        let after = launch(queue, add, &[4], &[], &[failing]);
        let other = launch(queue, add, &[4], &[], &[]);
        assert_eq!(call!(events::clSetUserEventStatus(user, -5)), 0);
        assert_eq!(call!(contexts::clFinish(queue)), 0);
        let failed = Error::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0;
        assert_eq!((status(failing), status(after), status(other)), (failed, failed, 0));
        assert_eq!(read(queue, mem, 4), [31, 32, 33, 34]);
    }
}

#[test]
fn barriers_order_an_out_of_order_queue() {
    let context = context();
    let queue = queue(context, cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let mem = buffer(context, 16);
    write(queue, mem, &mut [0; 4]);
    let add = add_kernel(context, mem, 1);
    let user = make!(events::clCreateUserEvent(context));
    let held = launch(queue, add, &[4], &[], &[user]);
    let free = launch(queue, add, &[4], &[], &[]);
    assert_eq!(call!(events::clWaitForEvents(1, In::of(&[free]))), 0);
    assert!(status(held) > 0);
    assert_eq!(call!(contexts::clEnqueueBarrier(queue)), 0);
    let later = launch(queue, add, &[4], &[], &[]);
    assert_eq!(call!(contexts::clFlush(queue)), 0);
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert!(status(later) > 0);
    assert_eq!(call!(events::clSetUserEventStatus(user, 0)), 0);
    assert_eq!(call!(contexts::clFinish(queue)), 0);
    assert_eq!(read(queue, mem, 4), [3; 4]);
}

static CALLED: AtomicI32 = AtomicI32::new(99);
unsafe extern "C" fn note(_: usize, status: i32, _: *mut c_void) {
    CALLED.store(status, Ordering::Release);
}

#[test]
fn callbacks_are_called() {
    let context = context();
    let event = make!(events::clCreateUserEvent(context));
    assert_eq!(call!(events::clSetEventCallback(event, 0, Some(note), Raw::none())), 0);
    assert_eq!(call!(events::clSetUserEventStatus(event, -3)), 0);
    for _ in 0..1000 {
        if CALLED.load(Ordering::Acquire) == -3 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("not called");
}

#[test]
fn host_pointers_and_maps() {
    let context = context();
    let queue = queue(context, 0);
    // Aligned memory is lent; other memory is copied at maps.
    let mut words = [5i32; 40];
    let start = words.as_ptr() as usize;
    for shift in [start.wrapping_neg() % 16 / 4, start.wrapping_neg() % 16 / 4 + 1] {
        let host = raw_slice(&mut words[shift..shift + 16]);
        let mem = make!(memory::clCreateBuffer(context, cl::MEM_USE_HOST_PTR, 64, host));
        let add = add_kernel(context, mem, 1);
        launch(queue, add, &[16], &[], &[]);
        let (flags, none) = (cl::MAP_READ | cl::MAP_WRITE, In::none());
        let map =
            make!(commands::clEnqueueMapBuffer(queue, mem, 1, flags, 8, 56, 0, none, Out::none()));
        assert_eq!(map, host.address() + 8);
        assert_eq!(Raw::new(map).bytes(0, 4).unwrap(), 6i32.to_le_bytes());
        Raw::new(map).write(0, &70i32.to_le_bytes()).unwrap();
        let unmapped = call!(commands::clEnqueueUnmapMemObject(
            queue,
            mem,
            Raw::new(map),
            0,
            none,
            Out::none()
        ));
        assert_eq!(unmapped, 0);
        assert_eq!(read(queue, mem, 4), [6, 6, 70, 6]);
        assert_eq!(call!(memory::clReleaseMemObject(mem)), 0);
        words.fill(5);
    }
}

#[test]
fn sub_buffers_share_bytes() {
    let context = context();
    let queue = queue(context, 0);
    let mem = buffer(context, 2048);
    write(queue, mem, &mut [0; 512]);
    let kind = cl::BUFFER_CREATE_TYPE_REGION;
    let part = make!(memory::clCreateSubBuffer(mem, 0, kind, In::of(&[[512, 64]])));
    let add = add_kernel(context, part, 3);
    launch(queue, add, &[16], &[], &[]);
    let all = read(queue, mem, 512);
    assert!(all.iter().enumerate().all(|(i, v)| *v == if (128..144).contains(&i) { 3 } else { 0 }));
}

#[test]
fn images_are_read_and_written() {
    let (context, queue, program) = ready();
    let picture = kernel(program, "picture");
    let format = [ImageFormat { order: cl::BGRA, data_type: cl::UNORM_INT8 }];
    let mut pixels: Vec<u8> = (0..10 * 6 * 4).map(|n| n as u8).collect();
    let desc = [ImageDesc { row_pitch: 40, ..image_2d(8, 6) }];
    let flags = cl::MEM_COPY_HOST_PTR;
    let from = make!(memory::clCreateImage(
        context,
        flags,
        In::of(&format),
        In::of(&desc),
        raw_slice(&mut pixels)
    ));
    let to = image(context, image_2d(8, 6));
    let (clamp, nearest) = (cl::ADDRESS_CLAMP, cl::FILTER_NEAREST);
    let sampler = make!(memory::clCreateSampler(context, 0, clamp, nearest));
    set(picture, 0, from);
    set(picture, 1, to);
    set(picture, 2, sampler);
    launch(queue, picture, &[8, 6], &[], &[]);
    let mut out = vec![0u8; 8 * 6 * 4];
    let (place, none) = (raw_slice(&mut out), In::none());
    let ran = call!(images::clEnqueueReadImage(
        queue,
        to,
        1,
        In::of(&[[0; 3]]),
        In::of(&[[8, 6, 1]]),
        0,
        0,
        place,
        0,
        none,
        Out::none()
    ));
    assert_eq!(ran, 0);
    for (y, row) in out.chunks(32).enumerate() {
        for (x, texel) in row.chunks(4).enumerate() {
            let b = (y * 40 + x * 4) as u8;
            assert_eq!(texel, [b + 2, b + 1, b, b + 3], "{x} {y}");
        }
    }
}

fn binary(program: usize) -> Vec<u8> {
    let mut size = 0usize;
    let name = cl::PROGRAM_BINARY_SIZES;
    let got = call!(programs::clGetProgramInfo(program, name, 8, raw(&mut size), Out::none()));
    assert_eq!(got, 0);
    let mut bytes = vec![0u8; size];
    let mut list = [raw_slice(&mut bytes)];
    let name = cl::PROGRAM_BINARIES;
    let got = call!(programs::clGetProgramInfo(program, name, 8, raw(&mut list), Out::none()));
    assert_eq!(got, 0);
    bytes
}

fn from_binary(context: usize, bytes: &mut [u8]) -> usize {
    let (devices, lengths, list) = ([device()], [bytes.len()], [raw_slice(bytes)]);
    make!(programs::clCreateProgramWithBinary(
        context,
        1,
        In::of(&devices),
        In::of(&lengths),
        In::of(&list),
        Out::none()
    ))
}

fn arg_text(kernel: usize, index: u32, name: u32) -> String {
    let mut text = [0u8; 64];
    let mut size = 0;
    let got = call!(kernels::clGetKernelArgInfo(
        kernel,
        index,
        name,
        64,
        raw(&mut text),
        Out::to(&mut size)
    ));
    assert_eq!(got, 0);
    String::from_utf8(text[..size - 1].to_vec()).unwrap()
}

#[test]
fn binaries_are_ptx_and_come_back() {
    let (context, queue, program) = ready();
    let bytes = binary(program);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(".version") && text.contains(".entry add"));
    // Edited by hand: an addition becomes a subtraction. With and without what we note.
    let at = text.find(".entry add").unwrap();
    let mut edited = text.clone();
    let last = edited[at..].find("st.global").unwrap() + at;
    let addition = edited[..last].rfind("add.s32").unwrap();
    edited.replace_range(addition..addition + 3, "sub");
    let bare: String =
        edited.lines().filter(|l| !l.starts_with("//")).map(|l| format!("{l}\n")).collect();
    for (text, declared) in [(edited, true), (bare, false)] {
        let again = from_binary(context, &mut text.into_bytes());
        assert_eq!(build(again, ""), 0);
        let add = kernel(again, "add");
        let mem = buffer(context, 16);
        write(queue, mem, &mut [5, 6, 7, 8]);
        set(add, 0, mem);
        set(add, 1, 2i32);
        launch(queue, add, &[4], &[], &[]);
        let out = read(queue, mem, 4);
        assert!(out == [3, 4, 5, 6] || out == [-3, -4, -5, -6], "{out:?}");
        if declared {
            assert_eq!(arg_text(add, 0, cl::KERNEL_ARG_TYPE_NAME), "int*");
            assert_eq!(arg_text(add, 1, cl::KERNEL_ARG_NAME), "n");
        } else {
            let got = call!(kernels::clGetKernelArgInfo(
                add,
                0,
                cl::KERNEL_ARG_NAME,
                0,
                Raw::none(),
                Out::none()
            ));
            assert_eq!(got, Error::KERNEL_ARG_INFO_NOT_AVAILABLE.0);
        }
    }
}

#[test]
fn a_released_kernel_lets_its_program_be_built_though_commands_run_it() {
    let (context, queue, program) = ready();
    let gate = make!(events::clCreateUserEvent(context));
    let mem = buffer(context, 16);
    write(queue, mem, &mut [5, 6, 7, 8]);
    let add = kernel(program, "add");
    set(add, 0, mem);
    set(add, 1, 2i32);
    launch(queue, add, &[4], &[], &[gate]);
    assert_eq!(build(program, ""), Error::INVALID_OPERATION.0);
    assert_eq!(call!(kernels::clReleaseKernel(add)), 0);
    assert_eq!(build(program, ""), 0);
    assert_eq!(call!(events::clSetUserEventStatus(gate, 0)), 0);
    assert_eq!(read(queue, mem, 4), [7, 8, 9, 10]);
}

#[test]
fn containers_are_binaries_too() {
    let (context, queue, program) = ready();
    let text = String::from_utf8(binary(program)).unwrap();
    let mut bytes = Verified::new(&text, "k.ptx").unwrap().assemble(&[]).unwrap();
    // Kernels can be had before and after the build; the binary is the text.
    for built in [false, true] {
        let again = from_binary(context, &mut bytes);
        if built {
            assert_eq!(build(again, ""), 0);
        }
        assert_eq!(binary(again), text.as_bytes());
        let add = kernel(again, "add");
        let mem = buffer(context, 16);
        write(queue, mem, &mut [5, 6, 7, 8]);
        set(add, 0, mem);
        set(add, 1, 2i32);
        launch(queue, add, &[4], &[], &[]);
        assert_eq!(read(queue, mem, 4), [7, 8, 9, 10]);
        assert_eq!(arg_text(add, 0, cl::KERNEL_ARG_TYPE_NAME), "int*");
    }
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let (devices, lengths, list) = ([device()], [bytes.len()], [raw_slice(&mut bytes)]);
    let mut status = 7;
    let got = code!(programs::clCreateProgramWithBinary(
        context,
        1,
        In::of(&devices),
        In::of(&lengths),
        In::of(&list),
        Out::to(&mut status)
    ));
    assert_eq!((got, status), (Error::INVALID_BINARY.0, Error::INVALID_BINARY.0));
}

#[test]
fn objects_are_linked() {
    let context = context();
    let queue = queue(context, 0);
    let header = source_program(context, "int twice(int);\n#define BASE 4\n");
    let user = source_program(
        context,
        "#include \"lib.h\"\nkernel void k(global int *a) { a[0] = twice(BASE) + EXTRA; }",
    );
    let library = source_program(context, "int twice(int x) { return 2 * x; }");
    let none = In::none();
    let name = CString::new("lib.h").unwrap();
    let compiled = call!(programs::clCompileProgram(
        user,
        0,
        none,
        Text::of(c"-D EXTRA=1"),
        1,
        In::of(&[header]),
        In::of(&[Text::of(&name)]),
        None,
        Raw::none()
    ));
    assert_eq!(compiled, 0);
    let compiled = call!(programs::clCompileProgram(
        library,
        0,
        none,
        Text::none(),
        0,
        none,
        In::none(),
        None,
        Raw::none()
    ));
    assert_eq!(compiled, 0);
    let archive = make!(programs::clLinkProgram(
        context,
        0,
        none,
        Text::of(c"-create-library"),
        1,
        In::of(&[library]),
        None,
        Raw::none()
    ));
    // Objects and libraries are binaries too.
    let archive = from_binary(context, &mut binary(archive));
    let user = from_binary(context, &mut binary(user));
    let linked = make!(programs::clLinkProgram(
        context,
        0,
        none,
        Text::none(),
        2,
        In::of(&[user, archive]),
        None,
        Raw::none()
    ));
    let k = kernel(linked, "k");
    let mem = buffer(context, 4);
    set(k, 0, mem);
    launch(queue, k, &[1], &[], &[]);
    assert_eq!(read(queue, mem, 1), [9]);
    // What is missing is said in the log.
    let mut code = 0;
    let options = Text::none();
    // SAFETY: as in `call`.
    let failed = unsafe {
        programs::clLinkProgram(
            context,
            0,
            none,
            options,
            1,
            In::of(&[user]),
            None,
            Raw::none(),
            Out::to(&mut code),
        )
    };
    assert_eq!(code, Error::LINK_PROGRAM_FAILURE.0);
    let mut log = [0u8; 4096];
    let got = call!(programs::clGetProgramBuildInfo(
        failed,
        device(),
        cl::PROGRAM_BUILD_LOG,
        4096,
        raw(&mut log),
        Out::none()
    ));
    assert_eq!(got, 0);
    assert!(String::from_utf8_lossy(&log).contains("twice"));
}

#[test]
fn released_objects_live_while_others_hold_them() {
    let context = context();
    let queue = queue(context, 0);
    assert_eq!(call!(contexts::clReleaseContext(context)), 0);
    let mut found = 0usize;
    let name = cl::QUEUE_CONTEXT;
    let got = call!(contexts::clGetCommandQueueInfo(queue, name, 8, raw(&mut found), Out::none()));
    assert_eq!((got, found), (0, context));
    assert_eq!(call!(contexts::clRetainContext(context)), 0);
    assert_eq!(call!(contexts::clReleaseContext(context)), 0);
    assert_eq!(call!(contexts::clReleaseContext(context)), Error::INVALID_CONTEXT.0);
    assert_eq!(call!(contexts::clReleaseCommandQueue(queue)), 0);
    assert_eq!(call!(contexts::clRetainContext(context)), Error::INVALID_CONTEXT.0);
}

#[test]
fn answers_are_little_endian() {
    assert_eq!(Answer::from("a").0, [b'a', 0]);
    assert_eq!(Answer::from(true).0, [1, 0, 0, 0]);
    assert_eq!(Answer::from(&[1u32, 2][..]).0, [1, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn clfinish_tells_of_a_fault_once() {
    let context = context();
    let queue = queue(context, 0);
    let source = "kernel void far(global int *a) { a[1 << 28] = 1; } kernel void near(global int *a) { a[0] = 7; }";
    let program = source_program(context, source);
    assert_eq!(build(program, ""), 0);
    let data = buffer(context, 64);
    let (far, near) = (kernel(program, "far"), kernel(program, "near"));
    set(far, 0, data);
    set(near, 0, data);
    launch(queue, far, &[1], &[], &[]);
    assert_eq!(call!(contexts::clFinish(queue)), -5);
    launch(queue, near, &[1], &[], &[]);
    assert_eq!(call!(contexts::clFinish(queue)), 0);
    assert_eq!(read(queue, data, 1), [7]);
}
