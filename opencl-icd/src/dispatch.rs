//! The table that the loader calls through, and the exported symbols.
//!
//! Its order is that of `struct _cl_icd_dispatch` in `CL/cl_icd.h`.

use std::ffi::c_void;

use crate::api::{commands, contexts, events, images, kernels, memory, programs, refused, svm};
use crate::registry;
use c_border::{Out, Raw, Text};

/// A function of any type; null where there is none.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Function(*const c_void);

impl Function {
    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// Its address.
    pub fn address(self) -> *const c_void {
        self.0
    }
}

// SAFETY: addresses of functions.
unsafe impl Sync for Function {}

/// The dispatch table.
#[repr(C)]
pub struct Table([Function; NAMES.len()]);

macro_rules! table {
    (@function none) => { Function(std::ptr::null()) };
    (@function $($path:ident)::+) => { Function($($path)::+ as *const c_void) };
    ($($name:ident: $($path:ident)::+;)*) => {
        /// Names of its functions.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];
        /// The one table.
        pub static TABLE: Table = Table([$(table!(@function $($path)::+)),*]);
    };
}

table! {
    clGetPlatformIDs: contexts::clGetPlatformIDs;
    clGetPlatformInfo: contexts::clGetPlatformInfo;
    clGetDeviceIDs: contexts::clGetDeviceIDs;
    clGetDeviceInfo: contexts::clGetDeviceInfo;
    clCreateContext: contexts::clCreateContext;
    clCreateContextFromType: contexts::clCreateContextFromType;
    clRetainContext: contexts::clRetainContext;
    clReleaseContext: contexts::clReleaseContext;
    clGetContextInfo: contexts::clGetContextInfo;
    clCreateCommandQueue: contexts::clCreateCommandQueue;
    clRetainCommandQueue: contexts::clRetainCommandQueue;
    clReleaseCommandQueue: contexts::clReleaseCommandQueue;
    clGetCommandQueueInfo: contexts::clGetCommandQueueInfo;
    clSetCommandQueueProperty: contexts::clSetCommandQueueProperty;
    clCreateBuffer: memory::clCreateBuffer;
    clCreateImage2D: memory::clCreateImage2D;
    clCreateImage3D: memory::clCreateImage3D;
    clRetainMemObject: memory::clRetainMemObject;
    clReleaseMemObject: memory::clReleaseMemObject;
    clGetSupportedImageFormats: memory::clGetSupportedImageFormats;
    clGetMemObjectInfo: memory::clGetMemObjectInfo;
    clGetImageInfo: memory::clGetImageInfo;
    clCreateSampler: memory::clCreateSampler;
    clRetainSampler: memory::clRetainSampler;
    clReleaseSampler: memory::clReleaseSampler;
    clGetSamplerInfo: memory::clGetSamplerInfo;
    clCreateProgramWithSource: programs::clCreateProgramWithSource;
    clCreateProgramWithBinary: programs::clCreateProgramWithBinary;
    clRetainProgram: programs::clRetainProgram;
    clReleaseProgram: programs::clReleaseProgram;
    clBuildProgram: programs::clBuildProgram;
    clUnloadCompiler: programs::clUnloadCompiler;
    clGetProgramInfo: programs::clGetProgramInfo;
    clGetProgramBuildInfo: programs::clGetProgramBuildInfo;
    clCreateKernel: kernels::clCreateKernel;
    clCreateKernelsInProgram: kernels::clCreateKernelsInProgram;
    clRetainKernel: kernels::clRetainKernel;
    clReleaseKernel: kernels::clReleaseKernel;
    clSetKernelArg: kernels::clSetKernelArg;
    clGetKernelInfo: kernels::clGetKernelInfo;
    clGetKernelWorkGroupInfo: kernels::clGetKernelWorkGroupInfo;
    clWaitForEvents: events::clWaitForEvents;
    clGetEventInfo: events::clGetEventInfo;
    clRetainEvent: events::clRetainEvent;
    clReleaseEvent: events::clReleaseEvent;
    clGetEventProfilingInfo: events::clGetEventProfilingInfo;
    clFlush: contexts::clFlush;
    clFinish: contexts::clFinish;
    clEnqueueReadBuffer: commands::clEnqueueReadBuffer;
    clEnqueueWriteBuffer: commands::clEnqueueWriteBuffer;
    clEnqueueCopyBuffer: commands::clEnqueueCopyBuffer;
    clEnqueueReadImage: images::clEnqueueReadImage;
    clEnqueueWriteImage: images::clEnqueueWriteImage;
    clEnqueueCopyImage: images::clEnqueueCopyImage;
    clEnqueueCopyImageToBuffer: images::clEnqueueCopyImageToBuffer;
    clEnqueueCopyBufferToImage: images::clEnqueueCopyBufferToImage;
    clEnqueueMapBuffer: commands::clEnqueueMapBuffer;
    clEnqueueMapImage: images::clEnqueueMapImage;
    clEnqueueUnmapMemObject: commands::clEnqueueUnmapMemObject;
    clEnqueueNDRangeKernel: kernels::clEnqueueNDRangeKernel;
    clEnqueueTask: kernels::clEnqueueTask;
    clEnqueueNativeKernel: kernels::clEnqueueNativeKernel;
    clEnqueueMarker: contexts::clEnqueueMarker;
    clEnqueueWaitForEvents: contexts::clEnqueueWaitForEvents;
    clEnqueueBarrier: contexts::clEnqueueBarrier;
    clGetExtensionFunctionAddress: extension_function;
    clCreateFromGLBuffer: refused::refused_after3;
    clCreateFromGLTexture2D: refused::refused_after5;
    clCreateFromGLTexture3D: refused::refused_after5;
    clCreateFromGLRenderbuffer: refused::refused_after3;
    clGetGLObjectInfo: refused::refused;
    clGetGLTextureInfo: refused::refused;
    clEnqueueAcquireGLObjects: refused::refused;
    clEnqueueReleaseGLObjects: refused::refused;
    clGetGLContextInfoKHR: refused::clGetGLContextInfoKHR;
    clGetDeviceIDsFromD3D10KHR: none;
    clCreateFromD3D10BufferKHR: none;
    clCreateFromD3D10Texture2DKHR: none;
    clCreateFromD3D10Texture3DKHR: none;
    clEnqueueAcquireD3D10ObjectsKHR: none;
    clEnqueueReleaseD3D10ObjectsKHR: none;
    clSetEventCallback: events::clSetEventCallback;
    clCreateSubBuffer: memory::clCreateSubBuffer;
    clSetMemObjectDestructorCallback: memory::clSetMemObjectDestructorCallback;
    clCreateUserEvent: events::clCreateUserEvent;
    clSetUserEventStatus: events::clSetUserEventStatus;
    clEnqueueReadBufferRect: commands::clEnqueueReadBufferRect;
    clEnqueueWriteBufferRect: commands::clEnqueueWriteBufferRect;
    clEnqueueCopyBufferRect: commands::clEnqueueCopyBufferRect;
    clCreateSubDevicesEXT: refused::refused;
    clRetainDeviceEXT: refused::refused;
    clReleaseDeviceEXT: refused::refused;
    clCreateEventFromGLsyncKHR: refused::refused_after2;
    clCreateSubDevices: contexts::clCreateSubDevices;
    clRetainDevice: contexts::clRetainDevice;
    clReleaseDevice: contexts::clReleaseDevice;
    clCreateImage: memory::clCreateImage;
    clCreateProgramWithBuiltInKernels: programs::clCreateProgramWithBuiltInKernels;
    clCompileProgram: programs::clCompileProgram;
    clLinkProgram: programs::clLinkProgram;
    clUnloadPlatformCompiler: programs::clUnloadPlatformCompiler;
    clGetKernelArgInfo: kernels::clGetKernelArgInfo;
    clEnqueueFillBuffer: commands::clEnqueueFillBuffer;
    clEnqueueFillImage: images::clEnqueueFillImage;
    clEnqueueMigrateMemObjects: commands::clEnqueueMigrateMemObjects;
    clEnqueueMarkerWithWaitList: contexts::clEnqueueMarkerWithWaitList;
    clEnqueueBarrierWithWaitList: contexts::clEnqueueBarrierWithWaitList;
    clGetExtensionFunctionAddressForPlatform: clGetExtensionFunctionAddressForPlatform;
    clCreateFromGLTexture: refused::refused_after5;
    clGetDeviceIDsFromD3D11KHR: none;
    clCreateFromD3D11BufferKHR: none;
    clCreateFromD3D11Texture2DKHR: none;
    clCreateFromD3D11Texture3DKHR: none;
    clCreateFromDX9MediaSurfaceKHR: none;
    clEnqueueAcquireD3D11ObjectsKHR: none;
    clEnqueueReleaseD3D11ObjectsKHR: none;
    clGetDeviceIDsFromDX9MediaAdapterKHR: none;
    clEnqueueAcquireDX9MediaSurfacesKHR: none;
    clEnqueueReleaseDX9MediaSurfacesKHR: none;
    clCreateFromEGLImageKHR: refused::refused_after5;
    clEnqueueAcquireEGLObjectsKHR: refused::refused;
    clEnqueueReleaseEGLObjectsKHR: refused::refused;
    clCreateEventFromEGLSyncKHR: refused::refused_after3;
    clCreateCommandQueueWithProperties: contexts::clCreateCommandQueueWithProperties;
    clCreatePipe: memory::clCreatePipe;
    clGetPipeInfo: memory::clGetPipeInfo;
    clSVMAlloc: svm::clSVMAlloc;
    clSVMFree: svm::clSVMFree;
    clEnqueueSVMFree: svm::clEnqueueSVMFree;
    clEnqueueSVMMemcpy: svm::clEnqueueSVMMemcpy;
    clEnqueueSVMMemFill: svm::clEnqueueSVMMemFill;
    clEnqueueSVMMap: svm::clEnqueueSVMMap;
    clEnqueueSVMUnmap: svm::clEnqueueSVMUnmap;
    clCreateSamplerWithProperties: memory::clCreateSamplerWithProperties;
    clSetKernelArgSVMPointer: kernels::clSetKernelArgSVMPointer;
    clSetKernelExecInfo: kernels::clSetKernelExecInfo;
    clGetKernelSubGroupInfoKHR: kernels::clGetKernelSubGroupInfo;
    clCloneKernel: kernels::clCloneKernel;
    clCreateProgramWithIL: programs::clCreateProgramWithIL;
    clEnqueueSVMMigrateMem: svm::clEnqueueSVMMigrateMem;
    clGetDeviceAndHostTimer: contexts::clGetDeviceAndHostTimer;
    clGetHostTimer: contexts::clGetHostTimer;
    clGetKernelSubGroupInfo: kernels::clGetKernelSubGroupInfo;
    clSetDefaultDeviceCommandQueue: contexts::clSetDefaultDeviceCommandQueue;
    clSetProgramReleaseCallback: programs::clSetProgramReleaseCallback;
    clSetProgramSpecializationConstant: programs::clSetProgramSpecializationConstant;
    clCreateBufferWithProperties: memory::clCreateBufferWithProperties;
    clCreateImageWithProperties: memory::clCreateImageWithProperties;
    clSetContextDestructorCallback: contexts::clSetContextDestructorCallback;
}

impl Table {
    /// The functions that there are, with their names.
    pub fn functions(&self) -> impl Iterator<Item = (&'static str, Function)> {
        NAMES.iter().copied().zip(self.0).filter(|(_, f)| !f.is_null())
    }

    /// Names of the functions that there are.
    pub fn present(&self) -> impl Iterator<Item = &'static str> {
        self.functions().map(|(name, _)| name)
    }
}

/// `clIcdGetPlatformIDsKHR`, which loaders ask for first.
///
/// # Safety
/// Pointers must be null or writable.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn clIcdGetPlatformIDsKHR(
    entries: u32,
    platforms: Out<usize>,
    count: Out<u32>,
) -> i32 {
    registry::set_table((&raw const TABLE).expose_provenance());
    // SAFETY: the caller's promise.
    unsafe { contexts::clIcdGetPlatformIDsKHR(entries, platforms, count) }
}

/// `clGetPlatformInfo`, which loaders may ask for by name.
///
/// # Safety
/// Pointers must be null or lead to as much memory as the specification says.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn clGetPlatformInfo(
    platform: usize,
    name: u32,
    size: usize,
    value: Raw,
    size_ret: Out<usize>,
) -> i32 {
    registry::set_table((&raw const TABLE).expose_provenance());
    // SAFETY: the caller's promise.
    unsafe { contexts::clGetPlatformInfo(platform, name, size, value, size_ret) }
}

/// `clGetExtensionFunctionAddress`, which loaders look up.
///
/// # Safety
/// The name must be null or a zero-terminated string.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn clGetExtensionFunctionAddress(name: Text) -> *const c_void {
    // SAFETY: the caller's promise.
    unsafe { extension_function(name) }
}

/// The same under a name of its own: the dynamic linker would take the loader's function of that name for ours.
///
/// # Safety
/// As above.
pub unsafe extern "C" fn extension_function(name: Text) -> *const c_void {
    match name.get().as_deref() {
        Ok("clIcdGetPlatformIDsKHR") => clIcdGetPlatformIDsKHR as *const c_void,
        Ok("clGetKernelSubGroupInfoKHR") => kernels::clGetKernelSubGroupInfo as *const c_void,
        Ok("clGetKernelSuggestedLocalWorkSizeKHR") => {
            kernels::clGetKernelSuggestedLocalWorkSizeKHR as *const c_void
        }
        _ => std::ptr::null(),
    }
}

/// `clGetExtensionFunctionAddressForPlatform`
///
/// # Safety
/// The name must be null or a zero-terminated string.
#[allow(non_snake_case)]
pub unsafe extern "C" fn clGetExtensionFunctionAddressForPlatform(
    platform: usize,
    name: Text,
) -> *const c_void {
    if registry::get::<crate::platform::Platform>(platform).is_err() {
        return std::ptr::null();
    }
    // SAFETY: the caller's promise.
    unsafe { extension_function(name) }
}
