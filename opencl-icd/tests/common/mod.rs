//! Objects that tests use, made through the API.

#![allow(dead_code)]

use std::ffi::CString;

use c_border::{In, Out, Raw, Text};
use opencl_icd::api::{contexts, events, kernels, memory, programs};
use opencl_icd::cl;
use opencl_icd::image::ImageDesc;
use opencl_icd::image_format::ImageFormat;

/// Calls a function of the API.
#[macro_export]
macro_rules! call {
    ($($path:ident)::+ ( $($arg:expr),* $(,)? )) => {
        // SAFETY: pointers are null or to living values that are large enough.
        unsafe { $($path)::+($($arg),*) }
    };
}

/// Calls a function, which must go well.
#[macro_export]
macro_rules! ok {
    ($($call:tt)*) => {{
        // SAFETY: pointers are null or to living values that are large enough.
        let code = unsafe { $($call)* };
        assert_eq!(code, 0, stringify!($($call)*));
    }};
}

/// Calls a function that makes something; the code.
#[macro_export]
macro_rules! code {
    ($($path:ident)::+ ( $($arg:expr),* $(,)? )) => {{
        let mut code = 1;
        // SAFETY: as above.
        let made = unsafe { $($path)::+($($arg,)* c_border::Out::to(&mut code)) };
        assert_eq!(made != 0, code == 0);
        code
    }};
}

/// Calls a function that makes something, which must go well; what it made.
#[macro_export]
macro_rules! make {
    ($($path:ident)::+ ( $($arg:expr),* $(,)? )) => {{
        let mut code = 1;
        // SAFETY: as above.
        let made = unsafe { $($path)::+($($arg,)* c_border::Out::to(&mut code)) };
        assert_eq!(code, 0, stringify!($($path)::+));
        made
    }};
}

/// A pointer to a value.
pub fn raw<T>(value: &mut T) -> Raw {
    Raw::new(std::ptr::from_mut(value).expose_provenance())
}

/// A pointer to a slice.
pub fn raw_slice<T>(values: &mut [T]) -> Raw {
    Raw::new(values.as_mut_ptr().expose_provenance())
}

pub const SOURCE: &str = "
__kernel void add(__global int *a, int n) { a[get_global_id(0)] += n; }
__kernel void local_sum(__global int *a, __local int *l, __constant int *c) {
    l[get_local_id(0)] = a[get_global_id(0)] + c[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) a[get_group_id(0)] = l[0] + l[1];
}
__kernel __attribute__((reqd_work_group_size(4, 2, 1))) void fixed(__global int *a) { a[0] = 1; }
__kernel void picture(read_only image2d_t from, write_only image2d_t to, sampler_t s) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, p, read_imagef(from, s, p));
}";

/// One of everything.
pub struct World {
    pub platform: usize,
    pub device: usize,
    pub context: usize,
    pub queue: usize,
    pub buffer: usize,
    pub image: usize,
    pub layers: usize,
    pub sampler: usize,
    pub program: usize,
    pub unbuilt: usize,
    pub add: usize,
    pub local_sum: usize,
    pub fixed: usize,
    pub picture: usize,
    pub user: usize,
    /// Objects of another context.
    pub other_context: usize,
    pub other_queue: usize,
    pub other_buffer: usize,
    pub other_event: usize,
}

pub fn platform() -> usize {
    let mut platform = 0;
    assert_eq!(call!(contexts::clGetPlatformIDs(1, Out::to(&mut platform), Out::none())), 0);
    platform
}

pub fn device() -> usize {
    let mut device = 0;
    let all = cl::DEVICE_TYPE_ALL;
    let place = Out::to(&mut device);
    assert_eq!(call!(contexts::clGetDeviceIDs(platform(), all, 1, place, Out::none())), 0);
    device
}

pub fn context() -> usize {
    let devices = [device()];
    make!(contexts::clCreateContext(In::none(), 1, In::of(&devices), None, Raw::none()))
}

pub fn queue(context: usize, properties: u64) -> usize {
    make!(contexts::clCreateCommandQueue(context, device(), properties))
}

pub fn buffer(context: usize, size: usize) -> usize {
    make!(memory::clCreateBuffer(context, 0, size, Raw::none()))
}

pub fn source_program(context: usize, source: &str) -> usize {
    let text = CString::new(source).unwrap();
    let list = [Text::of(&text)];
    make!(programs::clCreateProgramWithSource(context, 1, In::of(&list), In::none()))
}

pub fn build(program: usize, options: &str) -> i32 {
    let options = CString::new(options).unwrap();
    let options = Text::of(&options);
    call!(programs::clBuildProgram(program, 0, In::none(), options, None, Raw::none()))
}

pub fn kernel(program: usize, name: &str) -> usize {
    let name = CString::new(name).unwrap();
    make!(kernels::clCreateKernel(program, Text::of(&name)))
}

pub fn rgba8() -> ImageFormat {
    ImageFormat { order: cl::RGBA, data_type: cl::UNORM_INT8 }
}

pub fn image_2d(width: usize, height: usize) -> ImageDesc {
    ImageDesc { kind: cl::MEM_OBJECT_IMAGE2D, width, height, ..ImageDesc::default() }
}

pub fn image(context: usize, desc: ImageDesc) -> usize {
    let (format, desc) = ([rgba8()], [desc]);
    make!(memory::clCreateImage(context, 0, In::of(&format), In::of(&desc), Raw::none()))
}

pub fn set<T>(kernel: usize, index: u32, mut value: T) {
    let size = size_of::<T>();
    assert_eq!(call!(kernels::clSetKernelArg(kernel, index, size, raw(&mut value))), 0);
}

impl World {
    pub fn new() -> World {
        let context = context();
        let queue = queue(context, 0);
        let program = source_program(context, SOURCE);
        assert_eq!(build(program, "-cl-kernel-arg-info"), 0);
        let other_context = self::context();
        let array =
            ImageDesc { kind: cl::MEM_OBJECT_IMAGE2D_ARRAY, array_size: 3, ..image_2d(8, 4) };
        World {
            platform: platform(),
            device: device(),
            context,
            queue,
            buffer: buffer(context, 4096),
            image: image(context, image_2d(8, 4)),
            layers: image(context, array),
            sampler: make!(memory::clCreateSampler(
                context,
                0,
                cl::ADDRESS_CLAMP,
                cl::FILTER_NEAREST
            )),
            program,
            unbuilt: source_program(context, SOURCE),
            add: kernel(program, "add"),
            local_sum: kernel(program, "local_sum"),
            fixed: kernel(program, "fixed"),
            picture: kernel(program, "picture"),
            user: make!(events::clCreateUserEvent(context)),
            other_context,
            other_queue: self::queue(other_context, 0),
            other_buffer: buffer(other_context, 4096),
            other_event: make!(events::clCreateUserEvent(other_context)),
        }
    }
}
