//! API call x bad argument -> error code: what the specification says for each.

// The macros are there to call unsafe functions.
#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

mod common;

use c_border::{In, Out, Raw, Text};
use common::*;
use opencl_icd::api::{commands, contexts, events, images, kernels, memory, programs};
use opencl_icd::cl::{self, Error};
use opencl_icd::image::ImageDesc;
use opencl_icd::image_format::ImageFormat;

/// A bad call.
struct BadCall {
    call: &'static str,
    fault: &'static str,
    code: Error,
    run: fn(&World) -> i32,
}

macro_rules! rows {
    ($($call:literal, $fault:literal => $code:ident: $run:expr;)*) => {
        &[$(BadCall { call: $call, fault: $fault, code: Error::$code, run: $run }),*]
    };
}

fn ready(w: &World) -> usize {
    set(w.add, 0, w.buffer);
    set(w.add, 1, 1u32);
    w.add
}

fn ready_fixed(w: &World) -> usize {
    set(w.fixed, 0, w.buffer);
    w.fixed
}

fn greedy(w: &World) -> usize {
    set(w.local_sum, 0, w.buffer);
    set(w.local_sum, 2, w.buffer);
    assert_eq!(call!(kernels::clSetKernelArg(w.local_sum, 1, 1 << 20, Raw::none())), 0);
    w.local_sum
}

fn compiled(w: &World) -> usize {
    let program = source_program(w.context, SOURCE);
    let options = Text::none();
    let none = In::none();
    let code = call!(programs::clCompileProgram(
        program,
        0,
        In::none(),
        options,
        0,
        In::none(),
        none,
        None,
        Raw::none()
    ));
    assert_eq!(code, 0);
    program
}

fn build_binary(w: &World, text: &str) -> i32 {
    let mut bytes = text.as_bytes().to_vec();
    let (devices, lengths, binaries) = ([w.device], [bytes.len()], [raw_slice(&mut bytes)]);
    let program = make!(programs::clCreateProgramWithBinary(
        w.context,
        1,
        In::of(&devices),
        In::of(&lengths),
        In::of(&binaries),
        Out::none()
    ));
    let code = build(program, "");
    let mut size = 0;
    let log = cl::PROGRAM_BUILD_LOG;
    let place = Out::to(&mut size);
    call!(programs::clGetProgramBuildInfo(program, w.device, log, 0, Raw::none(), place));
    assert!(size > 20, "no diagnostics in the log");
    code
}

fn float_image(w: &World) -> usize {
    let format = [ImageFormat { order: cl::RGBA, data_type: cl::FLOAT }];
    let desc = [image_2d(8, 4)];
    make!(memory::clCreateImage(w.context, 0, In::of(&format), In::of(&desc), Raw::none()))
}

fn command_event(w: &World) -> usize {
    let mut event = 0;
    assert_eq!(call!(contexts::clEnqueueMarker(w.queue, Out::to(&mut event))), 0);
    assert_eq!(call!(contexts::clFinish(w.queue)), 0);
    event
}

unsafe extern "C" fn ignore(_: usize, _: i32, _: *mut std::ffi::c_void) {}

#[test]
fn bad_arguments_have_their_codes() {
    let w = World::new();
    let mut wrong = Vec::new();
    for row in ROWS {
        let code = (row.run)(&w);
        if code != row.code.0 {
            wrong.push(format!("{}: {}: {code}, not {:?}", row.call, row.fault, row.code));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ROWS.len(), wrong.join("\n"));
    assert!(ROWS.len() >= 200);
    // The objects still work.
    let work = [4usize];
    let (q, k) = (w.queue, ready(&w));
    let none = In::none();
    let ran = call!(kernels::clEnqueueNDRangeKernel(
        q,
        k,
        1,
        In::none(),
        In::of(&work),
        In::none(),
        0,
        none,
        Out::none()
    ));
    assert_eq!((ran, call!(contexts::clFinish(q))), (0, 0));
}

#[rustfmt::skip]
static ROWS: &[BadCall] = rows! {
    "clGetPlatformIDs", "nowhere for results" => INVALID_VALUE: |_| call!(contexts::clGetPlatformIDs(0, Out::none(), Out::none()));
    "clGetPlatformIDs", "entries 0 with a list" => INVALID_VALUE: |_| call!(contexts::clGetPlatformIDs(0, Out::to(&mut 0), Out::none()));
    "clGetPlatformInfo", "no platform" => INVALID_PLATFORM: |_| call!(contexts::clGetPlatformInfo(16usize, cl::PLATFORM_NAME, 0, Raw::none(), Out::none()));
    "clGetPlatformInfo", "unknown name" => INVALID_VALUE: |w| call!(contexts::clGetPlatformInfo(w.platform, 1, 0, Raw::none(), Out::none()));
    "clGetPlatformInfo", "place too small" => INVALID_VALUE: |w| call!(contexts::clGetPlatformInfo(w.platform, cl::PLATFORM_NAME, 1, raw(&mut 0u64), Out::none()));
    "clGetDeviceIDs", "no platform" => INVALID_PLATFORM: |_| call!(contexts::clGetDeviceIDs(16usize, cl::DEVICE_TYPE_ALL, 1, Out::to(&mut 0), Out::none()));
    "clGetDeviceIDs", "nowhere for results" => INVALID_VALUE: |w| call!(contexts::clGetDeviceIDs(w.platform, cl::DEVICE_TYPE_ALL, 0, Out::none(), Out::none()));
    "clGetDeviceIDs", "entries 0 with a list" => INVALID_VALUE: |w| call!(contexts::clGetDeviceIDs(w.platform, cl::DEVICE_TYPE_ALL, 0, Out::to(&mut 0), Out::none()));
    "clGetDeviceIDs", "type 0" => INVALID_DEVICE_TYPE: |w| call!(contexts::clGetDeviceIDs(w.platform, 0, 1, Out::to(&mut 0), Out::none()));
    "clGetDeviceIDs", "unknown type" => INVALID_DEVICE_TYPE: |w| call!(contexts::clGetDeviceIDs(w.platform, 1 << 20, 1, Out::to(&mut 0), Out::none()));
    "clGetDeviceIDs", "GPU devices" => DEVICE_NOT_FOUND: |w| call!(contexts::clGetDeviceIDs(w.platform, cl::DEVICE_TYPE_GPU, 1, Out::to(&mut 0), Out::none()));
    "clGetDeviceIDs", "ACCELERATOR devices" => DEVICE_NOT_FOUND: |w| call!(contexts::clGetDeviceIDs(w.platform, cl::DEVICE_TYPE_ACCELERATOR, 1, Out::to(&mut 0), Out::none()));
    "clGetDeviceIDs", "CUSTOM devices" => DEVICE_NOT_FOUND: |w| call!(contexts::clGetDeviceIDs(w.platform, cl::DEVICE_TYPE_CUSTOM, 1, Out::to(&mut 0), Out::none()));
    "clGetDeviceInfo", "no object" => INVALID_DEVICE: |_| call!(contexts::clGetDeviceInfo(16usize, cl::DEVICE_NAME, 0, Raw::none(), Out::none()));
    "clGetDeviceInfo", "null object" => INVALID_DEVICE: |_| call!(contexts::clGetDeviceInfo(0, cl::DEVICE_NAME, 0, Raw::none(), Out::none()));
    "clGetDeviceInfo", "unknown name" => INVALID_VALUE: |w| call!(contexts::clGetDeviceInfo(w.device, 1, 0, Raw::none(), Out::none()));
    "clGetDeviceInfo", "place too small" => INVALID_VALUE: |w| call!(contexts::clGetDeviceInfo(w.device, cl::DEVICE_NAME, 1, raw(&mut 0u64), Out::none()));
    "clGetContextInfo", "no object" => INVALID_CONTEXT: |_| call!(contexts::clGetContextInfo(16usize, cl::CONTEXT_DEVICES, 0, Raw::none(), Out::none()));
    "clGetContextInfo", "null object" => INVALID_CONTEXT: |_| call!(contexts::clGetContextInfo(0, cl::CONTEXT_DEVICES, 0, Raw::none(), Out::none()));
    "clGetContextInfo", "unknown name" => INVALID_VALUE: |w| call!(contexts::clGetContextInfo(w.context, 1, 0, Raw::none(), Out::none()));
    "clGetContextInfo", "place too small" => INVALID_VALUE: |w| call!(contexts::clGetContextInfo(w.context, cl::CONTEXT_DEVICES, 1, raw(&mut 0u64), Out::none()));
    "clGetCommandQueueInfo", "no object" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clGetCommandQueueInfo(16usize, cl::QUEUE_CONTEXT, 0, Raw::none(), Out::none()));
    "clGetCommandQueueInfo", "null object" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clGetCommandQueueInfo(0, cl::QUEUE_CONTEXT, 0, Raw::none(), Out::none()));
    "clGetCommandQueueInfo", "unknown name" => INVALID_VALUE: |w| call!(contexts::clGetCommandQueueInfo(w.queue, 1, 0, Raw::none(), Out::none()));
    "clGetCommandQueueInfo", "place too small" => INVALID_VALUE: |w| call!(contexts::clGetCommandQueueInfo(w.queue, cl::QUEUE_CONTEXT, 1, raw(&mut 0u64), Out::none()));
    "clGetMemObjectInfo", "no object" => INVALID_MEM_OBJECT: |_| call!(memory::clGetMemObjectInfo(16usize, cl::MEM_SIZE, 0, Raw::none(), Out::none()));
    "clGetMemObjectInfo", "null object" => INVALID_MEM_OBJECT: |_| call!(memory::clGetMemObjectInfo(0, cl::MEM_SIZE, 0, Raw::none(), Out::none()));
    "clGetMemObjectInfo", "unknown name" => INVALID_VALUE: |w| call!(memory::clGetMemObjectInfo(w.buffer, 1, 0, Raw::none(), Out::none()));
    "clGetMemObjectInfo", "place too small" => INVALID_VALUE: |w| call!(memory::clGetMemObjectInfo(w.buffer, cl::MEM_SIZE, 1, raw(&mut 0u64), Out::none()));
    "clGetImageInfo", "no object" => INVALID_MEM_OBJECT: |_| call!(memory::clGetImageInfo(16usize, cl::IMAGE_FORMAT, 0, Raw::none(), Out::none()));
    "clGetImageInfo", "null object" => INVALID_MEM_OBJECT: |_| call!(memory::clGetImageInfo(0, cl::IMAGE_FORMAT, 0, Raw::none(), Out::none()));
    "clGetImageInfo", "unknown name" => INVALID_VALUE: |w| call!(memory::clGetImageInfo(w.image, 1, 0, Raw::none(), Out::none()));
    "clGetImageInfo", "place too small" => INVALID_VALUE: |w| call!(memory::clGetImageInfo(w.image, cl::IMAGE_FORMAT, 1, raw(&mut 0u64), Out::none()));
    "clGetSamplerInfo", "no object" => INVALID_SAMPLER: |_| call!(memory::clGetSamplerInfo(16usize, cl::SAMPLER_CONTEXT, 0, Raw::none(), Out::none()));
    "clGetSamplerInfo", "null object" => INVALID_SAMPLER: |_| call!(memory::clGetSamplerInfo(0, cl::SAMPLER_CONTEXT, 0, Raw::none(), Out::none()));
    "clGetSamplerInfo", "unknown name" => INVALID_VALUE: |w| call!(memory::clGetSamplerInfo(w.sampler, 1, 0, Raw::none(), Out::none()));
    "clGetSamplerInfo", "place too small" => INVALID_VALUE: |w| call!(memory::clGetSamplerInfo(w.sampler, cl::SAMPLER_CONTEXT, 1, raw(&mut 0u64), Out::none()));
    "clGetProgramInfo", "no object" => INVALID_PROGRAM: |_| call!(programs::clGetProgramInfo(16usize, cl::PROGRAM_SOURCE, 0, Raw::none(), Out::none()));
    "clGetProgramInfo", "null object" => INVALID_PROGRAM: |_| call!(programs::clGetProgramInfo(0, cl::PROGRAM_SOURCE, 0, Raw::none(), Out::none()));
    "clGetProgramInfo", "unknown name" => INVALID_VALUE: |w| call!(programs::clGetProgramInfo(w.program, 1, 0, Raw::none(), Out::none()));
    "clGetProgramInfo", "place too small" => INVALID_VALUE: |w| call!(programs::clGetProgramInfo(w.program, cl::PROGRAM_SOURCE, 1, raw(&mut 0u64), Out::none()));
    "clGetKernelInfo", "no object" => INVALID_KERNEL: |_| call!(kernels::clGetKernelInfo(16usize, cl::KERNEL_FUNCTION_NAME, 0, Raw::none(), Out::none()));
    "clGetKernelInfo", "null object" => INVALID_KERNEL: |_| call!(kernels::clGetKernelInfo(0, cl::KERNEL_FUNCTION_NAME, 0, Raw::none(), Out::none()));
    "clGetKernelInfo", "unknown name" => INVALID_VALUE: |w| call!(kernels::clGetKernelInfo(w.add, 1, 0, Raw::none(), Out::none()));
    "clGetKernelInfo", "place too small" => INVALID_VALUE: |w| call!(kernels::clGetKernelInfo(w.add, cl::KERNEL_FUNCTION_NAME, 1, raw(&mut 0u64), Out::none()));
    "clGetEventInfo", "no object" => INVALID_EVENT: |_| call!(events::clGetEventInfo(16usize, cl::EVENT_CONTEXT, 0, Raw::none(), Out::none()));
    "clGetEventInfo", "null object" => INVALID_EVENT: |_| call!(events::clGetEventInfo(0, cl::EVENT_CONTEXT, 0, Raw::none(), Out::none()));
    "clGetEventInfo", "unknown name" => INVALID_VALUE: |w| call!(events::clGetEventInfo(w.user, 1, 0, Raw::none(), Out::none()));
    "clGetEventInfo", "place too small" => INVALID_VALUE: |w| call!(events::clGetEventInfo(w.user, cl::EVENT_CONTEXT, 1, raw(&mut 0u64), Out::none()));
    "clGetImageInfo", "a buffer" => INVALID_MEM_OBJECT: |w| call!(memory::clGetImageInfo(w.buffer, cl::IMAGE_WIDTH, 0, Raw::none(), Out::none()));
    "clGetProgramInfo", "kernels of an unbuilt program" => INVALID_PROGRAM_EXECUTABLE: |w| call!(programs::clGetProgramInfo(w.unbuilt, cl::PROGRAM_NUM_KERNELS, 0, Raw::none(), Out::none()));
    "clGetProgramInfo", "kernel names of an unbuilt program" => INVALID_PROGRAM_EXECUTABLE: |w| call!(programs::clGetProgramInfo(w.unbuilt, cl::PROGRAM_KERNEL_NAMES, 0, Raw::none(), Out::none()));
    "clGetProgramInfo", "binaries in a small place" => INVALID_VALUE: |w| call!(programs::clGetProgramInfo(w.program, cl::PROGRAM_BINARIES, 1, raw(&mut 0u64), Out::none()));
    "clGetProgramBuildInfo", "no program" => INVALID_PROGRAM: |w| call!(programs::clGetProgramBuildInfo(16usize, w.device, cl::PROGRAM_BUILD_LOG, 0, Raw::none(), Out::none()));
    "clGetProgramBuildInfo", "no device" => INVALID_DEVICE: |w| call!(programs::clGetProgramBuildInfo(w.program, 16usize, cl::PROGRAM_BUILD_LOG, 0, Raw::none(), Out::none()));
    "clGetProgramBuildInfo", "unknown name" => INVALID_VALUE: |w| call!(programs::clGetProgramBuildInfo(w.program, w.device, 1, 0, Raw::none(), Out::none()));
    "clGetProgramBuildInfo", "place too small" => INVALID_VALUE: |w| call!(programs::clGetProgramBuildInfo(w.program, w.device, cl::PROGRAM_BUILD_STATUS, 1, raw(&mut 0u64), Out::none()));
    "clGetKernelArgInfo", "no kernel" => INVALID_KERNEL: |_| call!(kernels::clGetKernelArgInfo(16usize, 0, cl::KERNEL_ARG_NAME, 0, Raw::none(), Out::none()));
    "clGetKernelArgInfo", "index" => INVALID_ARG_INDEX: |w| call!(kernels::clGetKernelArgInfo(w.add, 2, cl::KERNEL_ARG_NAME, 0, Raw::none(), Out::none()));
    "clGetKernelArgInfo", "unknown name" => INVALID_VALUE: |w| call!(kernels::clGetKernelArgInfo(w.add, 0, 1, 0, Raw::none(), Out::none()));
    "clGetKernelArgInfo", "place too small" => INVALID_VALUE: |w| call!(kernels::clGetKernelArgInfo(w.add, 0, cl::KERNEL_ARG_TYPE_NAME, 1, raw(&mut 0u64), Out::none()));
    "clGetKernelWorkGroupInfo", "no kernel" => INVALID_KERNEL: |w| call!(kernels::clGetKernelWorkGroupInfo(16usize, w.device, cl::KERNEL_WORK_GROUP_SIZE, 0, Raw::none(), Out::none()));
    "clGetKernelWorkGroupInfo", "no device" => INVALID_DEVICE: |w| call!(kernels::clGetKernelWorkGroupInfo(w.add, 16usize, cl::KERNEL_WORK_GROUP_SIZE, 0, Raw::none(), Out::none()));
    "clGetKernelWorkGroupInfo", "unknown name" => INVALID_VALUE: |w| call!(kernels::clGetKernelWorkGroupInfo(w.add, w.device, 1, 0, Raw::none(), Out::none()));
    "clGetKernelWorkGroupInfo", "sizes of no custom device" => INVALID_VALUE: |w| call!(kernels::clGetKernelWorkGroupInfo(w.add, w.device, cl::KERNEL_GLOBAL_WORK_SIZE, 0, Raw::none(), Out::none()));
    "clGetKernelWorkGroupInfo", "place too small" => INVALID_VALUE: |w| call!(kernels::clGetKernelWorkGroupInfo(w.add, w.device, cl::KERNEL_WORK_GROUP_SIZE, 1, raw(&mut 0u64), Out::none()));
    "clRetainContext", "no object" => INVALID_CONTEXT: |_| call!(contexts::clRetainContext(16usize));
    "clRetainContext", "an object of another kind" => INVALID_CONTEXT: |w| call!(contexts::clRetainContext(w.platform));
    "clReleaseContext", "no object" => INVALID_CONTEXT: |_| call!(contexts::clReleaseContext(16usize));
    "clReleaseContext", "an object of another kind" => INVALID_CONTEXT: |w| call!(contexts::clReleaseContext(w.platform));
    "clRetainCommandQueue", "no object" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clRetainCommandQueue(16usize));
    "clRetainCommandQueue", "an object of another kind" => INVALID_COMMAND_QUEUE: |w| call!(contexts::clRetainCommandQueue(w.platform));
    "clReleaseCommandQueue", "no object" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clReleaseCommandQueue(16usize));
    "clReleaseCommandQueue", "an object of another kind" => INVALID_COMMAND_QUEUE: |w| call!(contexts::clReleaseCommandQueue(w.platform));
    "clRetainDevice", "no object" => INVALID_DEVICE: |_| call!(contexts::clRetainDevice(16usize));
    "clRetainDevice", "an object of another kind" => INVALID_DEVICE: |w| call!(contexts::clRetainDevice(w.platform));
    "clReleaseDevice", "no object" => INVALID_DEVICE: |_| call!(contexts::clReleaseDevice(16usize));
    "clReleaseDevice", "an object of another kind" => INVALID_DEVICE: |w| call!(contexts::clReleaseDevice(w.platform));
    "clRetainMemObject", "no object" => INVALID_MEM_OBJECT: |_| call!(memory::clRetainMemObject(16usize));
    "clRetainMemObject", "an object of another kind" => INVALID_MEM_OBJECT: |w| call!(memory::clRetainMemObject(w.platform));
    "clReleaseMemObject", "no object" => INVALID_MEM_OBJECT: |_| call!(memory::clReleaseMemObject(16usize));
    "clReleaseMemObject", "an object of another kind" => INVALID_MEM_OBJECT: |w| call!(memory::clReleaseMemObject(w.platform));
    "clRetainSampler", "no object" => INVALID_SAMPLER: |_| call!(memory::clRetainSampler(16usize));
    "clRetainSampler", "an object of another kind" => INVALID_SAMPLER: |w| call!(memory::clRetainSampler(w.platform));
    "clReleaseSampler", "no object" => INVALID_SAMPLER: |_| call!(memory::clReleaseSampler(16usize));
    "clReleaseSampler", "an object of another kind" => INVALID_SAMPLER: |w| call!(memory::clReleaseSampler(w.platform));
    "clRetainProgram", "no object" => INVALID_PROGRAM: |_| call!(programs::clRetainProgram(16usize));
    "clRetainProgram", "an object of another kind" => INVALID_PROGRAM: |w| call!(programs::clRetainProgram(w.platform));
    "clReleaseProgram", "no object" => INVALID_PROGRAM: |_| call!(programs::clReleaseProgram(16usize));
    "clReleaseProgram", "an object of another kind" => INVALID_PROGRAM: |w| call!(programs::clReleaseProgram(w.platform));
    "clRetainKernel", "no object" => INVALID_KERNEL: |_| call!(kernels::clRetainKernel(16usize));
    "clRetainKernel", "an object of another kind" => INVALID_KERNEL: |w| call!(kernels::clRetainKernel(w.platform));
    "clReleaseKernel", "no object" => INVALID_KERNEL: |_| call!(kernels::clReleaseKernel(16usize));
    "clReleaseKernel", "an object of another kind" => INVALID_KERNEL: |w| call!(kernels::clReleaseKernel(w.platform));
    "clRetainEvent", "no object" => INVALID_EVENT: |_| call!(events::clRetainEvent(16usize));
    "clRetainEvent", "an object of another kind" => INVALID_EVENT: |w| call!(events::clRetainEvent(w.platform));
    "clReleaseEvent", "no object" => INVALID_EVENT: |_| call!(events::clReleaseEvent(16usize));
    "clReleaseEvent", "an object of another kind" => INVALID_EVENT: |w| call!(events::clReleaseEvent(w.platform));
    "clCreateContext", "no devices" => INVALID_VALUE: |_| code!(contexts::clCreateContext(In::none(), 0, In::none(), None, Raw::none()));
    "clCreateContext", "a count without a list" => INVALID_VALUE: |_| code!(contexts::clCreateContext(In::none(), 1, In::none(), None, Raw::none()));
    "clCreateContext", "no device" => INVALID_DEVICE: |_| code!(contexts::clCreateContext(In::none(), 1, In::of(&[16]), None, Raw::none()));
    "clCreateContext", "data without a function" => INVALID_VALUE: |w| code!(contexts::clCreateContext(In::none(), 1, In::of(&[w.device]), None, raw(&mut 0)));
    "clCreateContext", "unknown property" => INVALID_PROPERTY: |w| code!(contexts::clCreateContext(In::of(&[1, 1, 0]), 1, In::of(&[w.device]), None, Raw::none()));
    "clCreateContext", "no platform" => INVALID_PLATFORM: |w| code!(contexts::clCreateContext(In::of(&[cl::CONTEXT_PLATFORM as isize, 16, 0]), 1, In::of(&[w.device]), None, Raw::none()));
    "clCreateContext", "a property twice" => INVALID_PROPERTY: |w| code!(contexts::clCreateContext(In::of(&[cl::CONTEXT_PLATFORM as isize, w.platform as isize, cl::CONTEXT_PLATFORM as isize, w.platform as isize, 0]), 1, In::of(&[w.device]), None, Raw::none()));
    "clCreateContextFromType", "unknown type" => INVALID_DEVICE_TYPE: |_| code!(contexts::clCreateContextFromType(In::none(), 1 << 20, None, Raw::none()));
    "clCreateContextFromType", "a GPU" => DEVICE_NOT_FOUND: |_| code!(contexts::clCreateContextFromType(In::none(), cl::DEVICE_TYPE_GPU, None, Raw::none()));
    "clCreateContextFromType", "data without a function" => INVALID_VALUE: |_| code!(contexts::clCreateContextFromType(In::none(), cl::DEVICE_TYPE_CPU, None, raw(&mut 0)));
    "clCreateContextFromType", "unknown property" => INVALID_PROPERTY: |_| code!(contexts::clCreateContextFromType(In::of(&[7, 1, 0]), cl::DEVICE_TYPE_CPU, None, Raw::none()));
    "clCreateSubDevices", "no device" => INVALID_DEVICE: |_| call!(contexts::clCreateSubDevices(16usize, In::of(&[0x1086, 1, 0]), 0, Out::none(), Out::none()));
    "clCreateSubDevices", "a way that is not supported" => INVALID_VALUE: |w| call!(contexts::clCreateSubDevices(w.device, In::of(&[0x1088, 1, 0]), 0, Out::none(), Out::none()));
    "clCreateSubDevices", "no properties" => INVALID_VALUE: |w| call!(contexts::clCreateSubDevices(w.device, In::none(), 0, Out::none(), Out::none()));
    "clCreateCommandQueue", "no context" => INVALID_CONTEXT: |w| code!(contexts::clCreateCommandQueue(16usize, w.device, 0));
    "clCreateCommandQueue", "no device" => INVALID_DEVICE: |w| code!(contexts::clCreateCommandQueue(w.context, 16usize, 0));
    "clCreateCommandQueue", "unknown property" => INVALID_VALUE: |w| code!(contexts::clCreateCommandQueue(w.context, w.device, 1 << 9));
    "clFlush", "no queue" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clFlush(16usize));
    "clFinish", "no queue" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clFinish(16usize));
    "clEnqueueBarrier", "no queue" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clEnqueueBarrier(16usize));
    "clEnqueueMarker", "nowhere for the event" => INVALID_VALUE: |w| call!(contexts::clEnqueueMarker(w.queue, Out::none()));
    "clEnqueueMarker", "no queue" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clEnqueueMarker(16, Out::to(&mut 0)));
    "clEnqueueWaitForEvents", "no events" => INVALID_VALUE: |w| call!(contexts::clEnqueueWaitForEvents(w.queue, 0, In::none()));
    "clEnqueueWaitForEvents", "no event" => INVALID_EVENT: |w| call!(contexts::clEnqueueWaitForEvents(w.queue, 1, In::of(&[16])));
    "clSetCommandQueueProperty", "properties are fixed" => INVALID_OPERATION: |w| call!(contexts::clSetCommandQueueProperty(w.queue, 1, 1, Out::none()));
    "clCreateBuffer", "no context" => INVALID_CONTEXT: |_| code!(memory::clCreateBuffer(16usize, 0, 4, Raw::none()));
    "clCreateBuffer", "size 0" => INVALID_BUFFER_SIZE: |w| code!(memory::clCreateBuffer(w.context, 0, 0, Raw::none()));
    "clCreateBuffer", "larger than any" => INVALID_BUFFER_SIZE: |w| code!(memory::clCreateBuffer(w.context, 0, 1 << 60, Raw::none()));
    "clCreateBuffer", "unknown flag" => INVALID_VALUE: |w| code!(memory::clCreateBuffer(w.context, 1 << 20, 4, Raw::none()));
    "clCreateBuffer", "read-only and write-only" => INVALID_VALUE: |w| code!(memory::clCreateBuffer(w.context, cl::MEM_READ_ONLY | cl::MEM_WRITE_ONLY, 4, Raw::none()));
    "clCreateBuffer", "read-write and read-only" => INVALID_VALUE: |w| code!(memory::clCreateBuffer(w.context, cl::MEM_READ_WRITE | cl::MEM_READ_ONLY, 4, Raw::none()));
    "clCreateBuffer", "two kinds of host access" => INVALID_VALUE: |w| code!(memory::clCreateBuffer(w.context, cl::MEM_HOST_READ_ONLY | cl::MEM_HOST_NO_ACCESS, 4, Raw::none()));
    "clCreateBuffer", "host read-only and write-only" => INVALID_VALUE: |w| code!(memory::clCreateBuffer(w.context, cl::MEM_HOST_READ_ONLY | cl::MEM_HOST_WRITE_ONLY, 4, Raw::none()));
    "clCreateBuffer", "used and allocated host memory" => INVALID_VALUE: |w| code!(memory::clCreateBuffer(w.context, cl::MEM_USE_HOST_PTR | cl::MEM_ALLOC_HOST_PTR, 4, raw(&mut 0u32)));
    "clCreateBuffer", "used and copied host memory" => INVALID_VALUE: |w| code!(memory::clCreateBuffer(w.context, cl::MEM_USE_HOST_PTR | cl::MEM_COPY_HOST_PTR, 4, raw(&mut 0u32)));
    "clCreateBuffer", "a pointer without a flag" => INVALID_HOST_PTR: |w| code!(memory::clCreateBuffer(w.context, 0, 4, raw(&mut 0u32)));
    "clCreateBuffer", "nothing to copy" => INVALID_HOST_PTR: |w| code!(memory::clCreateBuffer(w.context, cl::MEM_COPY_HOST_PTR, 4, Raw::none()));
    "clCreateBuffer", "nothing to use" => INVALID_HOST_PTR: |w| code!(memory::clCreateBuffer(w.context, cl::MEM_USE_HOST_PTR, 4, Raw::none()));
    "clCreateSubBuffer", "no buffer" => INVALID_MEM_OBJECT: |_| code!(memory::clCreateSubBuffer(16usize, 0, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]])));
    "clCreateSubBuffer", "an image" => INVALID_MEM_OBJECT: |w| code!(memory::clCreateSubBuffer(w.image, 0, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]])));
    "clCreateSubBuffer", "unknown kind" => INVALID_VALUE: |w| code!(memory::clCreateSubBuffer(w.buffer, 0, 1, In::of(&[[0, 4]])));
    "clCreateSubBuffer", "no region" => INVALID_VALUE: |w| code!(memory::clCreateSubBuffer(w.buffer, 0, cl::BUFFER_CREATE_TYPE_REGION, In::none()));
    "clCreateSubBuffer", "over the end" => INVALID_VALUE: |w| code!(memory::clCreateSubBuffer(w.buffer, 0, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[512, 4096]])));
    "clCreateSubBuffer", "size 0" => INVALID_BUFFER_SIZE: |w| code!(memory::clCreateSubBuffer(w.buffer, 0, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[512, 0]])));
    "clCreateSubBuffer", "a crooked origin" => MISALIGNED_SUB_BUFFER_OFFSET: |w| code!(memory::clCreateSubBuffer(w.buffer, 0, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[4, 4]])));
    "clCreateSubBuffer", "host memory of its own" => INVALID_VALUE: |w| code!(memory::clCreateSubBuffer(w.buffer, cl::MEM_ALLOC_HOST_PTR, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]])));
    "clCreateSubBuffer", "two accesses" => INVALID_VALUE: |w| code!(memory::clCreateSubBuffer(w.buffer, cl::MEM_READ_ONLY | cl::MEM_WRITE_ONLY, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]])));
    "clCreateSubBuffer", "WRITE_ONLY of a buffer that is READ_ONLY" => INVALID_VALUE: |w| { let b = make!(memory::clCreateBuffer(w.context, cl::MEM_READ_ONLY, 4, Raw::none())); code!(memory::clCreateSubBuffer(b, cl::MEM_WRITE_ONLY, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]]))) };
    "clCreateSubBuffer", "READ_WRITE of a buffer that is READ_ONLY" => INVALID_VALUE: |w| { let b = make!(memory::clCreateBuffer(w.context, cl::MEM_READ_ONLY, 4, Raw::none())); code!(memory::clCreateSubBuffer(b, cl::MEM_READ_WRITE, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]]))) };
    "clCreateSubBuffer", "READ_ONLY of a buffer that is WRITE_ONLY" => INVALID_VALUE: |w| { let b = make!(memory::clCreateBuffer(w.context, cl::MEM_WRITE_ONLY, 4, Raw::none())); code!(memory::clCreateSubBuffer(b, cl::MEM_READ_ONLY, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]]))) };
    "clCreateSubBuffer", "HOST_READ_ONLY of a buffer that is HOST_NO_ACCESS" => INVALID_VALUE: |w| { let b = make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_NO_ACCESS, 4, Raw::none())); code!(memory::clCreateSubBuffer(b, cl::MEM_HOST_READ_ONLY, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]]))) };
    "clCreateSubBuffer", "HOST_WRITE_ONLY of a buffer that is HOST_READ_ONLY" => INVALID_VALUE: |w| { let b = make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_READ_ONLY, 4, Raw::none())); code!(memory::clCreateSubBuffer(b, cl::MEM_HOST_WRITE_ONLY, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]]))) };
    "clCreateSubBuffer", "HOST_READ_ONLY of a buffer that is HOST_WRITE_ONLY" => INVALID_VALUE: |w| { let b = make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_WRITE_ONLY, 4, Raw::none())); code!(memory::clCreateSubBuffer(b, cl::MEM_HOST_READ_ONLY, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]]))) };
    "clCreateSubBuffer", "a part of a part" => INVALID_MEM_OBJECT: |w| { let b = make!(memory::clCreateSubBuffer(w.buffer, 0, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 64]]))); code!(memory::clCreateSubBuffer(b, 0, cl::BUFFER_CREATE_TYPE_REGION, In::of(&[[0, 4]]))) };
    "clSetMemObjectDestructorCallback", "no object" => INVALID_MEM_OBJECT: |_| call!(memory::clSetMemObjectDestructorCallback(16usize, None, Raw::none()));
    "clSetMemObjectDestructorCallback", "no function" => INVALID_VALUE: |w| call!(memory::clSetMemObjectDestructorCallback(w.buffer, None, Raw::none()));
    "clCreateImage", "no context" => INVALID_CONTEXT: |_| code!(memory::clCreateImage(16usize, 0, In::of(&[rgba8()]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "no format" => INVALID_IMAGE_FORMAT_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::none(), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "no descriptor" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::none(), Raw::none()));
    "clCreateImage", "unknown order" => INVALID_IMAGE_FORMAT_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[ImageFormat { order: 1, ..rgba8() }]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "unknown type" => INVALID_IMAGE_FORMAT_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[ImageFormat { data_type: 1, ..rgba8() }]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "RGB of bytes" => INVALID_IMAGE_FORMAT_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[ImageFormat { order: cl::RGB, ..rgba8() }]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "BGRA of floats" => INVALID_IMAGE_FORMAT_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[ImageFormat { order: cl::BGRA, data_type: cl::FLOAT }]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "packed RGBA" => INVALID_IMAGE_FORMAT_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[ImageFormat { order: cl::RGBA, data_type: cl::UNORM_SHORT_565 }]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "luminance of integers" => INVALID_IMAGE_FORMAT_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[ImageFormat { order: cl::LUMINANCE, data_type: cl::SIGNED_INT8 }]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "unknown kind" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { kind: 1, ..image_2d(8, 4) }]), Raw::none()));
    "clCreateImage", "width 0" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[image_2d(0, 4)]), Raw::none()));
    "clCreateImage", "height 0" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[image_2d(8, 0)]), Raw::none()));
    "clCreateImage", "too wide" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[image_2d(1 << 20, 1)]), Raw::none()));
    "clCreateImage", "no layers" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { kind: cl::MEM_OBJECT_IMAGE2D_ARRAY, ..image_2d(8, 4) }]), Raw::none()));
    "clCreateImage", "no depth" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { kind: cl::MEM_OBJECT_IMAGE3D, ..image_2d(8, 4) }]), Raw::none()));
    "clCreateImage", "levels" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { mip_levels: 1, ..image_2d(8, 4) }]), Raw::none()));
    "clCreateImage", "samples" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { samples: 1, ..image_2d(8, 4) }]), Raw::none()));
    "clCreateImage", "a pitch without memory" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { row_pitch: 32, ..image_2d(8, 4) }]), Raw::none()));
    "clCreateImage", "a pitch that is too small" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, cl::MEM_COPY_HOST_PTR, In::of(&[rgba8()]), In::of(&[ImageDesc { row_pitch: 16, ..image_2d(8, 4) }]), raw(&mut [0u8; 256])));
    "clCreateImage", "a crooked pitch" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, cl::MEM_COPY_HOST_PTR, In::of(&[rgba8()]), In::of(&[ImageDesc { row_pitch: 33, ..image_2d(8, 4) }]), raw(&mut [0u8; 256])));
    "clCreateImage", "a buffer under a 1D image" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { buffer: w.buffer, kind: cl::MEM_OBJECT_IMAGE1D, ..image_2d(8, 4) }]), Raw::none()));
    "clCreateImage", "a buffer image without one" => INVALID_IMAGE_DESCRIPTOR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { kind: cl::MEM_OBJECT_IMAGE1D_BUFFER, ..image_2d(8, 4) }]), Raw::none()));
    "clCreateImage", "a buffer that is too small" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[ImageDesc { kind: cl::MEM_OBJECT_IMAGE1D_BUFFER, buffer: w.buffer, ..image_2d(1025, 0) }]), Raw::none()));
    "clCreateImage", "a pointer without a flag" => INVALID_HOST_PTR: |w| code!(memory::clCreateImage(w.context, 0, In::of(&[rgba8()]), In::of(&[image_2d(8, 4)]), raw(&mut [0u8; 256])));
    "clCreateImage", "nothing to copy" => INVALID_HOST_PTR: |w| code!(memory::clCreateImage(w.context, cl::MEM_COPY_HOST_PTR, In::of(&[rgba8()]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "unknown flag" => INVALID_VALUE: |w| code!(memory::clCreateImage(w.context, 1 << 20, In::of(&[rgba8()]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage", "two accesses" => INVALID_VALUE: |w| code!(memory::clCreateImage(w.context, cl::MEM_READ_ONLY | cl::MEM_WRITE_ONLY, In::of(&[rgba8()]), In::of(&[image_2d(8, 4)]), Raw::none()));
    "clCreateImage2D", "no context" => INVALID_CONTEXT: |_| code!(memory::clCreateImage2D(16usize, 0, In::of(&[rgba8()]), 8, 4, 0, Raw::none()));
    "clCreateImage2D", "width 0" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage2D(w.context, 0, In::of(&[rgba8()]), 0, 4, 0, Raw::none()));
    "clCreateImage2D", "a pitch without memory" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage2D(w.context, 0, In::of(&[rgba8()]), 8, 4, 32, Raw::none()));
    "clCreateImage3D", "depth 0" => INVALID_IMAGE_SIZE: |w| code!(memory::clCreateImage3D(w.context, 0, In::of(&[rgba8()]), 8, 4, 0, 0, 0, Raw::none()));
    "clCreateImage3D", "no format" => INVALID_IMAGE_FORMAT_DESCRIPTOR: |w| code!(memory::clCreateImage3D(w.context, 0, In::none(), 8, 4, 2, 0, 0, Raw::none()));
    "clGetSupportedImageFormats", "no context" => INVALID_CONTEXT: |_| call!(memory::clGetSupportedImageFormats(16usize, 0, cl::MEM_OBJECT_IMAGE2D, 0, Out::none(), Out::none()));
    "clGetSupportedImageFormats", "a buffer" => INVALID_VALUE: |w| call!(memory::clGetSupportedImageFormats(w.context, 0, cl::MEM_OBJECT_BUFFER, 0, Out::none(), Out::none()));
    "clGetSupportedImageFormats", "entries 0 with a list" => INVALID_VALUE: |w| call!(memory::clGetSupportedImageFormats(w.context, 0, cl::MEM_OBJECT_IMAGE2D, 0, Out::to(&mut rgba8()), Out::none()));
    "clGetSupportedImageFormats", "two accesses" => INVALID_VALUE: |w| call!(memory::clGetSupportedImageFormats(w.context, cl::MEM_READ_ONLY | cl::MEM_WRITE_ONLY, cl::MEM_OBJECT_IMAGE2D, 0, Out::none(), Out::none()));
    "clCreateSampler", "no context" => INVALID_CONTEXT: |_| code!(memory::clCreateSampler(16usize, 0, cl::ADDRESS_CLAMP, cl::FILTER_NEAREST));
    "clCreateSampler", "unknown coordinates" => INVALID_VALUE: |w| code!(memory::clCreateSampler(w.context, 2, cl::ADDRESS_CLAMP, cl::FILTER_NEAREST));
    "clCreateSampler", "unknown addressing" => INVALID_VALUE: |w| code!(memory::clCreateSampler(w.context, 0, 1, cl::FILTER_NEAREST));
    "clCreateSampler", "unknown filter" => INVALID_VALUE: |w| code!(memory::clCreateSampler(w.context, 0, cl::ADDRESS_CLAMP, 1));
    "clCreateSampler", "repeats texels" => INVALID_VALUE: |w| code!(memory::clCreateSampler(w.context, 0, cl::ADDRESS_REPEAT, cl::FILTER_NEAREST));
    "clCreateProgramWithSource", "no context" => INVALID_CONTEXT: |_| code!(programs::clCreateProgramWithSource(16usize, 1, In::of(&[Text::of(c"")]), In::none()));
    "clCreateProgramWithSource", "no strings" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithSource(w.context, 0, In::none(), In::none()));
    "clCreateProgramWithSource", "a count without a list" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithSource(w.context, 1, In::none(), In::none()));
    "clCreateProgramWithSource", "a null string" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithSource(w.context, 1, In::of(&[Text::none()]), In::none()));
    "clCreateProgramWithBinary", "no context" => INVALID_CONTEXT: |w| code!(programs::clCreateProgramWithBinary(16usize, 1, In::of(&[w.device]), In::of(&[4]), In::of(&[raw(&mut [1u8; 4])]), Out::none()));
    "clCreateProgramWithBinary", "no devices" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithBinary(w.context, 0, In::none(), In::of(&[4]), In::of(&[raw(&mut [1u8; 4])]), Out::none()));
    "clCreateProgramWithBinary", "no device" => INVALID_DEVICE: |w| code!(programs::clCreateProgramWithBinary(w.context, 1, In::of(&[16]), In::of(&[4]), In::of(&[raw(&mut [1u8; 4])]), Out::none()));
    "clCreateProgramWithBinary", "no lengths" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithBinary(w.context, 1, In::of(&[w.device]), In::none(), In::of(&[raw(&mut [1u8; 4])]), Out::none()));
    "clCreateProgramWithBinary", "no binaries" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithBinary(w.context, 1, In::of(&[w.device]), In::of(&[4]), In::none(), Out::none()));
    "clCreateProgramWithBinary", "length 0" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithBinary(w.context, 1, In::of(&[w.device]), In::of(&[0]), In::of(&[raw(&mut [1u8; 4])]), Out::none()));
    "clCreateProgramWithBinary", "a null binary" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithBinary(w.context, 1, In::of(&[w.device]), In::of(&[4]), In::of(&[Raw::none()]), Out::none()));
    "clCreateProgramWithBinary", "no PTX" => INVALID_BINARY: |w| code!(programs::clCreateProgramWithBinary(w.context, 1, In::of(&[w.device]), In::of(&[4]), In::of(&[raw(&mut [1u8; 4])]), Out::none()));
    "clCreateProgramWithBuiltInKernels", "no context" => INVALID_CONTEXT: |w| code!(programs::clCreateProgramWithBuiltInKernels(16usize, 1, In::of(&[w.device]), Text::of(c"k")));
    "clCreateProgramWithBuiltInKernels", "no names" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithBuiltInKernels(w.context, 1, In::of(&[w.device]), Text::none()));
    "clCreateProgramWithBuiltInKernels", "a name that no device has" => INVALID_VALUE: |w| code!(programs::clCreateProgramWithBuiltInKernels(w.context, 1, In::of(&[w.device]), Text::of(c"k")));
    "clCreateProgramWithBuiltInKernels", "no device" => INVALID_DEVICE: |w| code!(programs::clCreateProgramWithBuiltInKernels(w.context, 1, In::of(&[16]), Text::of(c"k")));
    "clBuildProgram", "no program" => INVALID_PROGRAM: |_| call!(programs::clBuildProgram(16usize, 0, In::none(), Text::none(), None, Raw::none()));
    "clBuildProgram", "a count without a list" => INVALID_VALUE: |w| call!(programs::clBuildProgram(w.unbuilt, 1, In::none(), Text::none(), None, Raw::none()));
    "clBuildProgram", "a list without a count" => INVALID_VALUE: |w| call!(programs::clBuildProgram(w.unbuilt, 0, In::of(&[w.device]), Text::none(), None, Raw::none()));
    "clBuildProgram", "no device" => INVALID_DEVICE: |w| call!(programs::clBuildProgram(w.unbuilt, 1, In::of(&[16]), Text::none(), None, Raw::none()));
    "clBuildProgram", "data without a function" => INVALID_VALUE: |w| call!(programs::clBuildProgram(w.unbuilt, 0, In::none(), Text::none(), None, raw(&mut 0)));
    "clBuildProgram", "a program with kernels" => INVALID_OPERATION: |w| call!(programs::clBuildProgram(w.program, 0, In::none(), Text::none(), None, Raw::none()));
    "clBuildProgram", "unknown option" => INVALID_BUILD_OPTIONS: |w| build(source_program(w.context, SOURCE), "-frobnicate");
    "clBuildProgram", "an option without its value" => INVALID_BUILD_OPTIONS: |w| build(source_program(w.context, SOURCE), "-D");
    "clBuildProgram", "a program that is wrong" => BUILD_PROGRAM_FAILURE: |w| build(source_program(w.context, "kernel void k() { x; }"), "");
    "clBuildProgram", "a binary that is wrong" => INVALID_BINARY: |w| build_binary(w, ".version 7.0\n.target sm_70\nnonsense");
    "clCompileProgram", "no program" => INVALID_PROGRAM: |_| call!(programs::clCompileProgram(16usize, 0, In::none(), Text::none(), 0, In::none(), In::none(), None, Raw::none()));
    "clCompileProgram", "a count without a list" => INVALID_VALUE: |w| call!(programs::clCompileProgram(w.unbuilt, 1, In::none(), Text::none(), 0, In::none(), In::none(), None, Raw::none()));
    "clCompileProgram", "no device" => INVALID_DEVICE: |w| call!(programs::clCompileProgram(w.unbuilt, 1, In::of(&[16]), Text::none(), 0, In::none(), In::none(), None, Raw::none()));
    "clCompileProgram", "headers without names" => INVALID_VALUE: |w| call!(programs::clCompileProgram(w.unbuilt, 0, In::none(), Text::none(), 1, In::of(&[w.unbuilt]), In::none(), None, Raw::none()));
    "clCompileProgram", "names without headers" => INVALID_VALUE: |w| call!(programs::clCompileProgram(w.unbuilt, 0, In::none(), Text::none(), 0, In::none(), In::of(&[Text::of(c"a")]), None, Raw::none()));
    "clCompileProgram", "a header that is no program" => INVALID_PROGRAM: |w| call!(programs::clCompileProgram(w.unbuilt, 0, In::none(), Text::none(), 1, In::of(&[16]), In::of(&[Text::of(c"a")]), None, Raw::none()));
    "clCompileProgram", "data without a function" => INVALID_VALUE: |w| call!(programs::clCompileProgram(w.unbuilt, 0, In::none(), Text::none(), 0, In::none(), In::none(), None, raw(&mut 0)));
    "clCompileProgram", "a program with kernels" => INVALID_OPERATION: |w| call!(programs::clCompileProgram(w.program, 0, In::none(), Text::none(), 0, In::none(), In::none(), None, Raw::none()));
    "clCompileProgram", "unknown option" => INVALID_COMPILER_OPTIONS: |w| call!(programs::clCompileProgram(source_program(w.context, SOURCE), 0, In::none(), Text::of(c"-frobnicate"), 0, In::none(), In::none(), None, Raw::none()));
    "clCompileProgram", "a program that is wrong" => COMPILE_PROGRAM_FAILURE: |w| call!(programs::clCompileProgram(source_program(w.context, "kernel void k() { x; }"), 0, In::none(), Text::none(), 0, In::none(), In::none(), None, Raw::none()));
    "clLinkProgram", "no context" => INVALID_CONTEXT: |w| code!(programs::clLinkProgram(16usize, 0, In::none(), Text::none(), 1, In::of(&[compiled(w)]), None, Raw::none()));
    "clLinkProgram", "no programs" => INVALID_VALUE: |w| code!(programs::clLinkProgram(w.context, 0, In::none(), Text::none(), 0, In::none(), None, Raw::none()));
    "clLinkProgram", "a count without a list" => INVALID_VALUE: |w| code!(programs::clLinkProgram(w.context, 0, In::none(), Text::none(), 1, In::none(), None, Raw::none()));
    "clLinkProgram", "no program" => INVALID_PROGRAM: |w| code!(programs::clLinkProgram(w.context, 0, In::none(), Text::none(), 1, In::of(&[16]), None, Raw::none()));
    "clLinkProgram", "a program that is not compiled" => INVALID_OPERATION: |w| code!(programs::clLinkProgram(w.context, 0, In::none(), Text::none(), 1, In::of(&[w.unbuilt]), None, Raw::none()));
    "clLinkProgram", "unknown option" => INVALID_LINKER_OPTIONS: |w| code!(programs::clLinkProgram(w.context, 0, In::none(), Text::of(c"-frobnicate"), 1, In::of(&[compiled(w)]), None, Raw::none()));
    "clLinkProgram", "no device" => INVALID_DEVICE: |w| code!(programs::clLinkProgram(w.context, 1, In::of(&[16]), Text::none(), 1, In::of(&[compiled(w)]), None, Raw::none()));
    "clLinkProgram", "a device list without a count" => INVALID_VALUE: |w| code!(programs::clLinkProgram(w.context, 0, In::of(&[w.device]), Text::none(), 1, In::of(&[compiled(w)]), None, Raw::none()));
    "clLinkProgram", "data without a function" => INVALID_VALUE: |w| code!(programs::clLinkProgram(w.context, 0, In::none(), Text::none(), 1, In::of(&[compiled(w)]), None, raw(&mut 0)));
    "clUnloadPlatformCompiler", "no platform" => INVALID_PLATFORM: |_| call!(programs::clUnloadPlatformCompiler(16usize));
    "clCreateKernel", "no program" => INVALID_PROGRAM: |_| code!(kernels::clCreateKernel(16usize, Text::of(c"add")));
    "clCreateKernel", "no name" => INVALID_VALUE: |w| code!(kernels::clCreateKernel(w.program, Text::none()));
    "clCreateKernel", "unknown name" => INVALID_KERNEL_NAME: |w| code!(kernels::clCreateKernel(w.program, Text::of(c"sub")));
    "clCreateKernel", "an unbuilt program" => INVALID_PROGRAM_EXECUTABLE: |w| code!(kernels::clCreateKernel(w.unbuilt, Text::of(c"add")));
    "clCreateKernelsInProgram", "no program" => INVALID_PROGRAM: |_| call!(kernels::clCreateKernelsInProgram(16usize, 0, Out::none(), Out::none()));
    "clCreateKernelsInProgram", "an unbuilt program" => INVALID_PROGRAM_EXECUTABLE: |w| call!(kernels::clCreateKernelsInProgram(w.unbuilt, 0, Out::none(), Out::none()));
    "clCreateKernelsInProgram", "a short list" => INVALID_VALUE: |w| call!(kernels::clCreateKernelsInProgram(w.program, 1, Out::to(&mut 0), Out::none()));
    "clSetKernelArg", "no kernel" => INVALID_KERNEL: |_| call!(kernels::clSetKernelArg(16usize, 0, 8, Raw::none()));
    "clSetKernelArg", "index" => INVALID_ARG_INDEX: |w| call!(kernels::clSetKernelArg(w.add, 2, 4, raw(&mut 0u32)));
    "clSetKernelArg", "no value" => INVALID_ARG_VALUE: |w| call!(kernels::clSetKernelArg(w.add, 1, 4, Raw::none()));
    "clSetKernelArg", "size of a number" => INVALID_ARG_SIZE: |w| call!(kernels::clSetKernelArg(w.add, 1, 8, raw(&mut 0u64)));
    "clSetKernelArg", "size of a buffer" => INVALID_ARG_SIZE: |w| call!(kernels::clSetKernelArg(w.add, 0, 4, raw(&mut 0u32)));
    "clSetKernelArg", "no buffer" => INVALID_MEM_OBJECT: |w| call!(kernels::clSetKernelArg(w.add, 0, 8, raw(&mut 16usize)));
    "clSetKernelArg", "a buffer of another context" => INVALID_MEM_OBJECT: |w| call!(kernels::clSetKernelArg(w.add, 0, 8, raw(&mut w.other_buffer.clone())));
    "clSetKernelArg", "an image for a buffer" => INVALID_MEM_OBJECT: |w| call!(kernels::clSetKernelArg(w.add, 0, 8, raw(&mut w.image.clone())));
    "clSetKernelArg", "local memory of size 0" => INVALID_ARG_SIZE: |w| call!(kernels::clSetKernelArg(w.local_sum, 1, 0, Raw::none()));
    "clSetKernelArg", "local memory with a value" => INVALID_ARG_VALUE: |w| call!(kernels::clSetKernelArg(w.local_sum, 1, 8, raw(&mut 0u64)));
    "clSetKernelArg", "a buffer for an image" => INVALID_MEM_OBJECT: |w| call!(kernels::clSetKernelArg(w.picture, 0, 8, raw(&mut w.buffer.clone())));
    "clSetKernelArg", "an image of another kind" => INVALID_MEM_OBJECT: |w| call!(kernels::clSetKernelArg(w.picture, 0, 8, raw(&mut w.layers.clone())));
    "clSetKernelArg", "no image" => INVALID_ARG_VALUE: |w| call!(kernels::clSetKernelArg(w.picture, 0, 8, Raw::none()));
    "clSetKernelArg", "size of an image" => INVALID_ARG_SIZE: |w| call!(kernels::clSetKernelArg(w.picture, 0, 4, raw(&mut 0u32)));
    "clSetKernelArg", "no sampler" => INVALID_SAMPLER: |w| call!(kernels::clSetKernelArg(w.picture, 2, 8, raw(&mut 16usize)));
    "clSetKernelArg", "a null sampler" => INVALID_ARG_VALUE: |w| call!(kernels::clSetKernelArg(w.picture, 2, 8, Raw::none()));
    "clSetKernelArg", "size of a sampler" => INVALID_ARG_SIZE: |w| call!(kernels::clSetKernelArg(w.picture, 2, 4, raw(&mut 0u32)));
    "clEnqueueNDRangeKernel", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(kernels::clEnqueueNDRangeKernel(16usize, ready(w), 1, In::none(), In::of(&[4]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "no kernel" => INVALID_KERNEL: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, 16usize, 1, In::none(), In::of(&[4]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "a queue of another context" => INVALID_CONTEXT: |w| call!(kernels::clEnqueueNDRangeKernel(w.other_queue, ready(w), 1, In::none(), In::of(&[4]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "dimension 0" => INVALID_WORK_DIMENSION: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 0, In::none(), In::of(&[4]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "dimension 4" => INVALID_WORK_DIMENSION: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 4, In::none(), In::of(&[4]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "size beyond 32 bits" => INVALID_GLOBAL_WORK_SIZE: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::none(), In::of(&[1 << 33]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "offset beyond 32 bits" => INVALID_GLOBAL_OFFSET: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::of(&[usize::MAX - 2]), In::of(&[4]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "groups that do not divide" => INVALID_WORK_GROUP_SIZE: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::none(), In::of(&[4]), In::of(&[3]), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "a group of 0" => INVALID_WORK_GROUP_SIZE: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::none(), In::of(&[4]), In::of(&[0]), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "a group that is too long" => INVALID_WORK_ITEM_SIZE: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::none(), In::of(&[1 << 20]), In::of(&[1 << 20]), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "a group that is too large" => INVALID_WORK_GROUP_SIZE: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 2, In::none(), In::of(&[1024, 1024]), In::of(&[1024, 2]), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "not the required group" => INVALID_WORK_GROUP_SIZE: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready_fixed(w), 2, In::none(), In::of(&[8, 8]), In::of(&[8, 1]), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "not a multiple of the required group" => INVALID_WORK_GROUP_SIZE: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready_fixed(w), 2, In::none(), In::of(&[6, 8]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "arguments that are not set" => INVALID_KERNEL_ARGS: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, kernel(w.program, "add"), 1, In::none(), In::of(&[4]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "too much local memory" => OUT_OF_RESOURCES: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, greedy(w), 1, In::none(), In::of(&[4]), In::none(), 0, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::none(), In::of(&[4]), In::none(), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueNDRangeKernel", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::none(), In::of(&[4]), In::none(), 1, In::none(), Out::none()));
    "clEnqueueNDRangeKernel", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::none(), In::of(&[4]), In::none(), 1, In::of(&[16]), Out::none()));
    "clEnqueueNDRangeKernel", "an event of another context" => INVALID_CONTEXT: |w| call!(kernels::clEnqueueNDRangeKernel(w.queue, ready(w), 1, In::none(), In::of(&[4]), In::none(), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueTask", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(kernels::clEnqueueTask(16usize, ready(w), 0, In::none(), Out::none()));
    "clEnqueueTask", "no kernel" => INVALID_KERNEL: |w| call!(kernels::clEnqueueTask(w.queue, 16usize, 0, In::none(), Out::none()));
    "clEnqueueTask", "a required group" => INVALID_WORK_GROUP_SIZE: |w| call!(kernels::clEnqueueTask(w.queue, ready_fixed(w), 0, In::none(), Out::none()));
    "clEnqueueTask", "arguments that are not set" => INVALID_KERNEL_ARGS: |w| call!(kernels::clEnqueueTask(w.queue, kernel(w.program, "add"), 0, In::none(), Out::none()));
    "clEnqueueTask", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(kernels::clEnqueueTask(w.queue, ready(w), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueTask", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(kernels::clEnqueueTask(w.queue, ready(w), 1, In::none(), Out::none()));
    "clEnqueueTask", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(kernels::clEnqueueTask(w.queue, ready(w), 1, In::of(&[16]), Out::none()));
    "clEnqueueTask", "an event of another context" => INVALID_CONTEXT: |w| call!(kernels::clEnqueueTask(w.queue, ready(w), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueNativeKernel", "a device that has none" => INVALID_OPERATION: |w| call!(kernels::clEnqueueNativeKernel(w.queue, Raw::none(), Raw::none(), 0, 0, In::none(), In::none(), 0, In::none(), Out::none()));
    "clEnqueueMarkerWithWaitList", "no queue" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clEnqueueMarkerWithWaitList(16usize, 0, In::none(), Out::none()));
    "clEnqueueMarkerWithWaitList", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(contexts::clEnqueueMarkerWithWaitList(w.queue, 0, In::of(&[w.user]), Out::none()));
    "clEnqueueMarkerWithWaitList", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(contexts::clEnqueueMarkerWithWaitList(w.queue, 1, In::none(), Out::none()));
    "clEnqueueMarkerWithWaitList", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(contexts::clEnqueueMarkerWithWaitList(w.queue, 1, In::of(&[16]), Out::none()));
    "clEnqueueMarkerWithWaitList", "an event of another context" => INVALID_CONTEXT: |w| call!(contexts::clEnqueueMarkerWithWaitList(w.queue, 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueBarrierWithWaitList", "no queue" => INVALID_COMMAND_QUEUE: |_| call!(contexts::clEnqueueBarrierWithWaitList(16usize, 0, In::none(), Out::none()));
    "clEnqueueBarrierWithWaitList", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(contexts::clEnqueueBarrierWithWaitList(w.queue, 0, In::of(&[w.user]), Out::none()));
    "clEnqueueBarrierWithWaitList", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(contexts::clEnqueueBarrierWithWaitList(w.queue, 1, In::none(), Out::none()));
    "clEnqueueBarrierWithWaitList", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(contexts::clEnqueueBarrierWithWaitList(w.queue, 1, In::of(&[16]), Out::none()));
    "clEnqueueBarrierWithWaitList", "an event of another context" => INVALID_CONTEXT: |w| call!(contexts::clEnqueueBarrierWithWaitList(w.queue, 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueReadBuffer", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueReadBuffer(16usize, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "no buffer" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueReadBuffer(w.queue, 16usize, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "an image" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.image, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "a buffer of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.other_buffer, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "over the end" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, 4093, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "an offset that wraps" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, usize::MAX - 1, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "size 0" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "no memory" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, 0, 4, Raw::none(), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "a buffer that is HOST_WRITE_ONLY" => INVALID_OPERATION: |w| call!(commands::clEnqueueReadBuffer(w.queue, make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_WRITE_ONLY, 64, Raw::none())), 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "a buffer without access of the host" => INVALID_OPERATION: |w| call!(commands::clEnqueueReadBuffer(w.queue, make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_NO_ACCESS, 64, Raw::none())), 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBuffer", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueReadBuffer", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 1, In::none(), Out::none()));
    "clEnqueueReadBuffer", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 1, In::of(&[16]), Out::none()));
    "clEnqueueReadBuffer", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueWriteBuffer", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueWriteBuffer(16usize, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "no buffer" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueWriteBuffer(w.queue, 16usize, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "an image" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.image, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "a buffer of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.other_buffer, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "over the end" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.buffer, 1, 4093, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "an offset that wraps" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.buffer, 1, usize::MAX - 1, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "size 0" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.buffer, 1, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "no memory" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.buffer, 1, 0, 4, Raw::none(), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "a buffer that is HOST_READ_ONLY" => INVALID_OPERATION: |w| call!(commands::clEnqueueWriteBuffer(w.queue, make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_READ_ONLY, 64, Raw::none())), 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "a buffer without access of the host" => INVALID_OPERATION: |w| call!(commands::clEnqueueWriteBuffer(w.queue, make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_NO_ACCESS, 64, Raw::none())), 1, 0, 4, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueWriteBuffer", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 1, In::none(), Out::none()));
    "clEnqueueWriteBuffer", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 1, In::of(&[16]), Out::none()));
    "clEnqueueWriteBuffer", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueWriteBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueReadBufferRect", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueReadBufferRect(16usize, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "no buffer" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueReadBufferRect(w.queue, 16usize, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "a buffer of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.other_buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "a width of 0" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[0, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "over the end" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 2048]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "a pitch below the width" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 3, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "a slice below its rows" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 7, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "a slice that is no multiple of rows" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 4, 9, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "a host pitch below the width" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 3, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "no memory" => INVALID_VALUE: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, Raw::none(), 0, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueReadBufferRect", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 1, In::none(), Out::none()));
    "clEnqueueReadBufferRect", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 1, In::of(&[16]), Out::none()));
    "clEnqueueReadBufferRect", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueReadBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueWriteBufferRect", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueWriteBufferRect(16usize, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "no buffer" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, 16usize, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "a buffer of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.other_buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "a width of 0" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[0, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "over the end" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 2048]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "a pitch below the width" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 3, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "a slice below its rows" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 7, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "a slice that is no multiple of rows" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 4, 9, 0, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "a host pitch below the width" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 3, 0, raw(&mut [0u8; 64]), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "no memory" => INVALID_VALUE: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, Raw::none(), 0, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueWriteBufferRect", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 1, In::none(), Out::none()));
    "clEnqueueWriteBufferRect", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 1, In::of(&[16]), Out::none()));
    "clEnqueueWriteBufferRect", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueWriteBufferRect(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, raw(&mut [0u8; 64]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueCopyBuffer", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueCopyBuffer(16usize, w.buffer, w.buffer, 0, 512, 16, 0, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "no source" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueCopyBuffer(w.queue, 16usize, w.buffer, 0, 512, 16, 0, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "no target" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, 16usize, 0, 512, 16, 0, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "a target of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.other_buffer, 0, 512, 16, 0, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "over the end of the source" => INVALID_VALUE: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.buffer, 4090, 512, 16, 0, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "over the end of the target" => INVALID_VALUE: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.buffer, 0, 4090, 16, 0, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "size 0" => INVALID_VALUE: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.buffer, 0, 512, 0, 0, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "overlap" => MEM_COPY_OVERLAP: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.buffer, 0, 15, 16, 0, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.buffer, 0, 512, 16, 0, In::of(&[w.user]), Out::none()));
    "clEnqueueCopyBuffer", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.buffer, 0, 512, 16, 1, In::none(), Out::none()));
    "clEnqueueCopyBuffer", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.buffer, 0, 512, 16, 1, In::of(&[16]), Out::none()));
    "clEnqueueCopyBuffer", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueCopyBuffer(w.queue, w.buffer, w.buffer, 0, 512, 16, 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueCopyBufferRect", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueCopyBufferRect(16usize, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 0, In::none(), Out::none()));
    "clEnqueueCopyBufferRect", "no source" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, 16usize, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 0, In::none(), Out::none()));
    "clEnqueueCopyBufferRect", "a target of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.other_buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 0, In::none(), Out::none()));
    "clEnqueueCopyBufferRect", "overlap" => MEM_COPY_OVERLAP: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 1, 0]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 0, In::none(), Out::none()));
    "clEnqueueCopyBufferRect", "different pitches in one buffer" => INVALID_VALUE: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 2, 2]]), 4, 8, 8, 16, 0, In::none(), Out::none()));
    "clEnqueueCopyBufferRect", "a height of 0" => INVALID_VALUE: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 0, 1]]), 0, 0, 0, 0, 0, In::none(), Out::none()));
    "clEnqueueCopyBufferRect", "over the end" => INVALID_VALUE: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 4096]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 0, In::none(), Out::none()));
    "clEnqueueCopyBufferRect", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 0, In::of(&[w.user]), Out::none()));
    "clEnqueueCopyBufferRect", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 1, In::none(), Out::none()));
    "clEnqueueCopyBufferRect", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 1, In::of(&[16]), Out::none()));
    "clEnqueueCopyBufferRect", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueCopyBufferRect(w.queue, w.buffer, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 8]]), In::of(&[[4, 2, 2]]), 0, 0, 0, 0, 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueFillBuffer", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueFillBuffer(16usize, w.buffer, raw(&mut 0u32), 4, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "no buffer" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueFillBuffer(w.queue, 16usize, raw(&mut 0u32), 4, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "a buffer of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.other_buffer, raw(&mut 0u32), 4, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "no pattern" => INVALID_VALUE: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, Raw::none(), 4, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "a pattern of 0 bytes" => INVALID_VALUE: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 0, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "a pattern of 3 bytes" => INVALID_VALUE: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 3, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "a pattern of 256 bytes" => INVALID_VALUE: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 256, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "a crooked offset" => INVALID_VALUE: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 4, 2, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "a crooked size" => INVALID_VALUE: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 4, 0, 6, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "over the end" => INVALID_VALUE: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 4, 4096, 16, 0, In::none(), Out::none()));
    "clEnqueueFillBuffer", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 4, 0, 16, 0, In::of(&[w.user]), Out::none()));
    "clEnqueueFillBuffer", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 4, 0, 16, 1, In::none(), Out::none()));
    "clEnqueueFillBuffer", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 4, 0, 16, 1, In::of(&[16]), Out::none()));
    "clEnqueueFillBuffer", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueFillBuffer(w.queue, w.buffer, raw(&mut 0u32), 4, 0, 16, 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueMapBuffer", "no queue" => INVALID_COMMAND_QUEUE: |w| code!(commands::clEnqueueMapBuffer(16usize, w.buffer, 1, cl::MAP_READ, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "no buffer" => INVALID_MEM_OBJECT: |w| code!(commands::clEnqueueMapBuffer(w.queue, 16usize, 1, cl::MAP_READ, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "a buffer of another context" => INVALID_CONTEXT: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.other_buffer, 1, cl::MAP_READ, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "unknown flag" => INVALID_VALUE: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.buffer, 1, 1 << 9, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "invalidates and reads" => INVALID_VALUE: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.buffer, 1, cl::MAP_WRITE_INVALIDATE_REGION | cl::MAP_READ, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "over the end" => INVALID_VALUE: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.buffer, 1, cl::MAP_READ, 4090, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "size 0" => INVALID_VALUE: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.buffer, 1, cl::MAP_READ, 0, 0, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "READ of a buffer that is HOST_WRITE_ONLY" => INVALID_OPERATION: |w| code!(commands::clEnqueueMapBuffer(w.queue, make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_WRITE_ONLY, 64, Raw::none())), 1, cl::MAP_READ, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "WRITE of a buffer that is HOST_READ_ONLY" => INVALID_OPERATION: |w| code!(commands::clEnqueueMapBuffer(w.queue, make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_READ_ONLY, 64, Raw::none())), 1, cl::MAP_WRITE, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "READ of a buffer that is HOST_NO_ACCESS" => INVALID_OPERATION: |w| code!(commands::clEnqueueMapBuffer(w.queue, make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_NO_ACCESS, 64, Raw::none())), 1, cl::MAP_READ, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "WRITE_INVALIDATE_REGION of a buffer that is HOST_READ_ONLY" => INVALID_OPERATION: |w| code!(commands::clEnqueueMapBuffer(w.queue, make!(memory::clCreateBuffer(w.context, cl::MEM_HOST_READ_ONLY, 64, Raw::none())), 1, cl::MAP_WRITE_INVALIDATE_REGION, 0, 16, 0, In::none(), Out::none()));
    "clEnqueueMapBuffer", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.buffer, 1, cl::MAP_READ, 0, 16, 0, In::of(&[w.user]), Out::none()));
    "clEnqueueMapBuffer", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.buffer, 1, cl::MAP_READ, 0, 16, 1, In::none(), Out::none()));
    "clEnqueueMapBuffer", "no event" => INVALID_EVENT_WAIT_LIST: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.buffer, 1, cl::MAP_READ, 0, 16, 1, In::of(&[16]), Out::none()));
    "clEnqueueMapBuffer", "an event of another context" => INVALID_CONTEXT: |w| code!(commands::clEnqueueMapBuffer(w.queue, w.buffer, 1, cl::MAP_READ, 0, 16, 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueUnmapMemObject", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueUnmapMemObject(16usize, w.buffer, raw(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueUnmapMemObject", "no object" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueUnmapMemObject(w.queue, 16usize, raw(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueUnmapMemObject", "a pointer that is not mapped" => INVALID_VALUE: |w| call!(commands::clEnqueueUnmapMemObject(w.queue, w.buffer, raw(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueUnmapMemObject", "an object of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueUnmapMemObject(w.queue, w.other_buffer, raw(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueUnmapMemObject", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueUnmapMemObject(w.queue, w.buffer, raw(&mut 0), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueUnmapMemObject", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueUnmapMemObject(w.queue, w.buffer, raw(&mut 0), 1, In::none(), Out::none()));
    "clEnqueueUnmapMemObject", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueUnmapMemObject(w.queue, w.buffer, raw(&mut 0), 1, In::of(&[16]), Out::none()));
    "clEnqueueUnmapMemObject", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueUnmapMemObject(w.queue, w.buffer, raw(&mut 0), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueMigrateMemObjects", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(commands::clEnqueueMigrateMemObjects(16usize, 1, In::of(&[w.buffer]), 0, 0, In::none(), Out::none()));
    "clEnqueueMigrateMemObjects", "no objects" => INVALID_VALUE: |w| call!(commands::clEnqueueMigrateMemObjects(w.queue, 0, In::none(), 0, 0, In::none(), Out::none()));
    "clEnqueueMigrateMemObjects", "no object" => INVALID_MEM_OBJECT: |w| call!(commands::clEnqueueMigrateMemObjects(w.queue, 1, In::of(&[16]), 0, 0, In::none(), Out::none()));
    "clEnqueueMigrateMemObjects", "unknown flag" => INVALID_VALUE: |w| call!(commands::clEnqueueMigrateMemObjects(w.queue, 1, In::of(&[w.buffer]), 1 << 9, 0, In::none(), Out::none()));
    "clEnqueueMigrateMemObjects", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueMigrateMemObjects(w.queue, 1, In::of(&[w.buffer]), 0, 0, In::of(&[w.user]), Out::none()));
    "clEnqueueMigrateMemObjects", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueMigrateMemObjects(w.queue, 1, In::of(&[w.buffer]), 0, 1, In::none(), Out::none()));
    "clEnqueueMigrateMemObjects", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(commands::clEnqueueMigrateMemObjects(w.queue, 1, In::of(&[w.buffer]), 0, 1, In::of(&[16]), Out::none()));
    "clEnqueueMigrateMemObjects", "an event of another context" => INVALID_CONTEXT: |w| call!(commands::clEnqueueMigrateMemObjects(w.queue, 1, In::of(&[w.buffer]), 0, 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueReadImage", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(images::clEnqueueReadImage(16usize, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "no image" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueReadImage(w.queue, 16usize, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "a buffer" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueReadImage(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "a queue of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueReadImage(w.other_queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "over the edge" => INVALID_VALUE: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[1, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "an empty region" => INVALID_VALUE: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 0, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "depth of a 2D image" => INVALID_VALUE: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 2]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "a pitch below the width" => INVALID_VALUE: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 31, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "a slice of a 2D image" => INVALID_VALUE: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 256, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "no memory" => INVALID_VALUE: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, Raw::none(), 0, In::none(), Out::none()));
    "clEnqueueReadImage", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueReadImage", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 1, In::none(), Out::none()));
    "clEnqueueReadImage", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 1, In::of(&[16]), Out::none()));
    "clEnqueueReadImage", "an event of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueReadImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueWriteImage", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(images::clEnqueueWriteImage(16usize, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "no image" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueWriteImage(w.queue, 16usize, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "a buffer" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueWriteImage(w.queue, w.buffer, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "a queue of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueWriteImage(w.other_queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "over the edge" => INVALID_VALUE: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[1, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "an empty region" => INVALID_VALUE: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 0, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "depth of a 2D image" => INVALID_VALUE: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 2]]), 0, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "a pitch below the width" => INVALID_VALUE: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 31, 0, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "a slice of a 2D image" => INVALID_VALUE: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 256, raw(&mut [0u8; 512]), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "no memory" => INVALID_VALUE: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, Raw::none(), 0, In::none(), Out::none()));
    "clEnqueueWriteImage", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueWriteImage", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 1, In::none(), Out::none()));
    "clEnqueueWriteImage", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 1, In::of(&[16]), Out::none()));
    "clEnqueueWriteImage", "an event of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueWriteImage(w.queue, w.image, 1, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, raw(&mut [0u8; 512]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueCopyImage", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(images::clEnqueueCopyImage(16usize, w.image, w.layers, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 1]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyImage", "no image" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueCopyImage(w.queue, 16usize, w.layers, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 1]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyImage", "a buffer" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueCopyImage(w.queue, w.image, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 1]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyImage", "other formats" => IMAGE_FORMAT_MISMATCH: |w| call!(images::clEnqueueCopyImage(w.queue, w.image, float_image(w), In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 1]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyImage", "over the edge" => INVALID_VALUE: |w| call!(images::clEnqueueCopyImage(w.queue, w.image, w.layers, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 3]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyImage", "overlap" => MEM_COPY_OVERLAP: |w| call!(images::clEnqueueCopyImage(w.queue, w.image, w.image, In::of(&[[3, 1, 0]]), In::of(&[[4, 2, 0]]), In::of(&[[4, 2, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyImage", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyImage(w.queue, w.image, w.layers, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 1]]), In::of(&[[8, 4, 1]]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueCopyImage", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyImage(w.queue, w.image, w.layers, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 1]]), In::of(&[[8, 4, 1]]), 1, In::none(), Out::none()));
    "clEnqueueCopyImage", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyImage(w.queue, w.image, w.layers, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 1]]), In::of(&[[8, 4, 1]]), 1, In::of(&[16]), Out::none()));
    "clEnqueueCopyImage", "an event of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueCopyImage(w.queue, w.image, w.layers, In::of(&[[0, 0, 0]]), In::of(&[[0, 0, 1]]), In::of(&[[8, 4, 1]]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueCopyImageToBuffer", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(images::clEnqueueCopyImageToBuffer(16usize, w.image, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, In::none(), Out::none()));
    "clEnqueueCopyImageToBuffer", "no image" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, 16usize, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, In::none(), Out::none()));
    "clEnqueueCopyImageToBuffer", "no buffer" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, 16usize, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, In::none(), Out::none()));
    "clEnqueueCopyImageToBuffer", "two images" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, w.layers, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, In::none(), Out::none()));
    "clEnqueueCopyImageToBuffer", "over the edge" => INVALID_VALUE: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[9, 4, 1]]), 0, 0, In::none(), Out::none()));
    "clEnqueueCopyImageToBuffer", "over the end of the buffer" => INVALID_VALUE: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 4000, 0, In::none(), Out::none()));
    "clEnqueueCopyImageToBuffer", "a buffer of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, w.other_buffer, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, In::none(), Out::none()));
    "clEnqueueCopyImageToBuffer", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 0, In::of(&[w.user]), Out::none()));
    "clEnqueueCopyImageToBuffer", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 1, In::none(), Out::none()));
    "clEnqueueCopyImageToBuffer", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 1, In::of(&[16]), Out::none()));
    "clEnqueueCopyImageToBuffer", "an event of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueCopyImageToBuffer(w.queue, w.image, w.buffer, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueCopyBufferToImage", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(images::clEnqueueCopyBufferToImage(16usize, w.buffer, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyBufferToImage", "no image" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.buffer, 16usize, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyBufferToImage", "no buffer" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, 16usize, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyBufferToImage", "two images" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.layers, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyBufferToImage", "over the edge" => INVALID_VALUE: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.buffer, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[9, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyBufferToImage", "over the end of the buffer" => INVALID_VALUE: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.buffer, w.image, 4000, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyBufferToImage", "a buffer of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.other_buffer, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueCopyBufferToImage", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.buffer, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueCopyBufferToImage", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.buffer, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 1, In::none(), Out::none()));
    "clEnqueueCopyBufferToImage", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.buffer, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 1, In::of(&[16]), Out::none()));
    "clEnqueueCopyBufferToImage", "an event of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueCopyBufferToImage(w.queue, w.buffer, w.image, 0, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueFillImage", "no queue" => INVALID_COMMAND_QUEUE: |w| call!(images::clEnqueueFillImage(16usize, w.image, In::of(&[[0; 4]]), In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueFillImage", "no image" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueFillImage(w.queue, 16usize, In::of(&[[0; 4]]), In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueFillImage", "a buffer" => INVALID_MEM_OBJECT: |w| call!(images::clEnqueueFillImage(w.queue, w.buffer, In::of(&[[0; 4]]), In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueFillImage", "no colour" => INVALID_VALUE: |w| call!(images::clEnqueueFillImage(w.queue, w.image, In::none(), In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::none(), Out::none()));
    "clEnqueueFillImage", "over the edge" => INVALID_VALUE: |w| call!(images::clEnqueueFillImage(w.queue, w.image, In::of(&[[0; 4]]), In::of(&[[0, 0, 0]]), In::of(&[[8, 5, 1]]), 0, In::none(), Out::none()));
    "clEnqueueFillImage", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueFillImage(w.queue, w.image, In::of(&[[0; 4]]), In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueFillImage", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueFillImage(w.queue, w.image, In::of(&[[0; 4]]), In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 1, In::none(), Out::none()));
    "clEnqueueFillImage", "no event" => INVALID_EVENT_WAIT_LIST: |w| call!(images::clEnqueueFillImage(w.queue, w.image, In::of(&[[0; 4]]), In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 1, In::of(&[16]), Out::none()));
    "clEnqueueFillImage", "an event of another context" => INVALID_CONTEXT: |w| call!(images::clEnqueueFillImage(w.queue, w.image, In::of(&[[0; 4]]), In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), 1, In::of(&[w.other_event]), Out::none()));
    "clEnqueueMapImage", "no queue" => INVALID_COMMAND_QUEUE: |w| code!(images::clEnqueueMapImage(16usize, w.image, 1, cl::MAP_READ, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::to(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueMapImage", "a buffer" => INVALID_MEM_OBJECT: |w| code!(images::clEnqueueMapImage(w.queue, w.buffer, 1, cl::MAP_READ, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::to(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueMapImage", "unknown flag" => INVALID_VALUE: |w| code!(images::clEnqueueMapImage(w.queue, w.image, 1, 1 << 9, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::to(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueMapImage", "nowhere for the row pitch" => INVALID_VALUE: |w| code!(images::clEnqueueMapImage(w.queue, w.image, 1, cl::MAP_READ, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::none(), Out::to(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueMapImage", "nowhere for the slice pitch" => INVALID_VALUE: |w| code!(images::clEnqueueMapImage(w.queue, w.layers, 1, cl::MAP_READ, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::none(), 0, In::none(), Out::none()));
    "clEnqueueMapImage", "over the edge" => INVALID_VALUE: |w| code!(images::clEnqueueMapImage(w.queue, w.image, 1, cl::MAP_READ, In::of(&[[0, 1, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::to(&mut 0), 0, In::none(), Out::none()));
    "clEnqueueMapImage", "a list without a count" => INVALID_EVENT_WAIT_LIST: |w| code!(images::clEnqueueMapImage(w.queue, w.image, 1, cl::MAP_READ, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::to(&mut 0), 0, In::of(&[w.user]), Out::none()));
    "clEnqueueMapImage", "a count without a list" => INVALID_EVENT_WAIT_LIST: |w| code!(images::clEnqueueMapImage(w.queue, w.image, 1, cl::MAP_READ, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::to(&mut 0), 1, In::none(), Out::none()));
    "clEnqueueMapImage", "no event" => INVALID_EVENT_WAIT_LIST: |w| code!(images::clEnqueueMapImage(w.queue, w.image, 1, cl::MAP_READ, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::to(&mut 0), 1, In::of(&[16]), Out::none()));
    "clEnqueueMapImage", "an event of another context" => INVALID_CONTEXT: |w| code!(images::clEnqueueMapImage(w.queue, w.image, 1, cl::MAP_READ, In::of(&[[0, 0, 0]]), In::of(&[[8, 4, 1]]), Out::to(&mut 0), Out::to(&mut 0), 1, In::of(&[w.other_event]), Out::none()));
    "clCreateUserEvent", "no context" => INVALID_CONTEXT: |_| code!(events::clCreateUserEvent(16usize));
    "clSetUserEventStatus", "no event" => INVALID_EVENT: |_| call!(events::clSetUserEventStatus(16usize, 0));
    "clSetUserEventStatus", "running" => INVALID_VALUE: |w| call!(events::clSetUserEventStatus(w.user, cl::RUNNING));
    "clSetUserEventStatus", "an event of a command" => INVALID_EVENT: |w| call!(events::clSetUserEventStatus(command_event(w), 0));
    "clSetUserEventStatus", "set before" => INVALID_OPERATION: |w| { let e = make!(events::clCreateUserEvent(w.context)); call!(events::clSetUserEventStatus(e, 0)); call!(events::clSetUserEventStatus(e, 0)) };
    "clWaitForEvents", "no events" => INVALID_VALUE: |_| call!(events::clWaitForEvents(0, In::none()));
    "clWaitForEvents", "a count without a list" => INVALID_VALUE: |_| call!(events::clWaitForEvents(1, In::none()));
    "clWaitForEvents", "no event" => INVALID_EVENT: |_| call!(events::clWaitForEvents(1, In::of(&[16])));
    "clWaitForEvents", "events of two contexts" => INVALID_CONTEXT: |w| call!(events::clWaitForEvents(2, In::of(&[w.user, w.other_event])));
    "clWaitForEvents", "an event that failed" => EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: |w| { let e = make!(events::clCreateUserEvent(w.context)); call!(events::clSetUserEventStatus(e, -7)); call!(events::clWaitForEvents(1, In::of(&[e]))) };
    "clEnqueueReadBuffer", "waits for an event that failed" => EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: |w| { let e = make!(events::clCreateUserEvent(w.context)); call!(events::clSetUserEventStatus(e, -7)); call!(commands::clEnqueueReadBuffer(w.queue, w.buffer, 1, 0, 4, raw(&mut [0u8; 64]), 1, In::of(&[e]), Out::none())) };
    "clSetEventCallback", "no event" => INVALID_EVENT: |_| call!(events::clSetEventCallback(16usize, 0, Some(ignore), Raw::none()));
    "clSetEventCallback", "no function" => INVALID_VALUE: |w| call!(events::clSetEventCallback(w.user, 0, None, Raw::none()));
    "clSetEventCallback", "an unknown status" => INVALID_VALUE: |w| call!(events::clSetEventCallback(w.user, 4, Some(ignore), Raw::none()));
    "clSetEventCallback", "a negative status" => INVALID_VALUE: |w| call!(events::clSetEventCallback(w.user, -1, Some(ignore), Raw::none()));
    "clGetEventProfilingInfo", "no event" => INVALID_EVENT: |_| call!(events::clGetEventProfilingInfo(16usize, cl::PROFILING_COMMAND_START, 0, Raw::none(), Out::none()));
    "clGetEventProfilingInfo", "a user event" => PROFILING_INFO_NOT_AVAILABLE: |w| call!(events::clGetEventProfilingInfo(w.user, cl::PROFILING_COMMAND_START, 0, Raw::none(), Out::none()));
    "clGetEventProfilingInfo", "a queue without profiling" => PROFILING_INFO_NOT_AVAILABLE: |w| call!(events::clGetEventProfilingInfo(command_event(w), cl::PROFILING_COMMAND_START, 0, Raw::none(), Out::none()));
    "clGetEventProfilingInfo", "unknown name" => INVALID_VALUE: |w| call!(events::clGetEventProfilingInfo(w.user, 1, 0, Raw::none(), Out::none()));
};
