//! Structures of the runtime and of the driver API, field by field as the CUDA headers declare them.

use std::ffi::{c_char, c_void};

/// Streams, events, kernels, arrays and the like: opaque to callers, passed on to the driver.
pub type Handle = usize;
/// A device or host address that the driver judges.
pub type Pointer = *mut c_void;
/// `cudaHostFn_t`.
pub type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
/// `cudaIpcMemHandle_t` and `cudaIpcEventHandle_t`.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct InterprocessName(pub [u8; 64]);
/// `cudaStreamCallback_t`.
pub type StreamCallback = Option<unsafe extern "C" fn(Handle, i32, *mut c_void)>;

/// `dim3`.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// `cudaExtent` and `cudaPos`.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
pub struct Extent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct PitchedPtr {
    pub ptr: Pointer,
    pub pitch: usize,
    pub xsize: usize,
    pub ysize: usize,
}

/// `cudaMemcpy3DParms`; positions are [`Extent`]s.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct Copy3D {
    pub src_array: Handle,
    pub src_pos: Extent,
    pub src_ptr: PitchedPtr,
    pub dst_array: Handle,
    pub dst_pos: Extent,
    pub dst_ptr: PitchedPtr,
    pub extent: Extent,
    pub kind: i32,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct DriverCopy {
    pub src_x_bytes: usize,
    pub src_y: usize,
    pub src_z: usize,
    pub src_lod: usize,
    pub src_type: u32,
    pub src_host: Pointer,
    pub src_device: Pointer,
    pub src_array: Handle,
    pub reserved0: usize,
    pub src_pitch: usize,
    pub src_height: usize,
    pub dst_x_bytes: usize,
    pub dst_y: usize,
    pub dst_z: usize,
    pub dst_lod: usize,
    pub dst_type: u32,
    pub dst_host: Pointer,
    pub dst_device: Pointer,
    pub dst_array: Handle,
    pub reserved1: usize,
    pub dst_pitch: usize,
    pub dst_height: usize,
    pub width_bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaChannelFormatDesc`.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    pub x: i32,
    pub y: i32,
    pub z: i32,
    pub w: i32,
    pub kind: i32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
pub struct DriverArray {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// `cudaResourceDesc`; the union as its widest members lay it out.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct Resource {
    pub kind: i32,
    /// Array, mipmapped array or address.
    pub handle: Handle,
    pub channels: Channels,
    /// `linear.sizeInBytes` or `pitch2D.width`, then height and pitch.
    pub sizes: [usize; 3],
    reserved: [usize; 9],
    pub flags: u32,
}

/// `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct DriverResource {
    pub kind: i32,
    pub handle: Handle,
    pub format: u32,
    pub channels: u32,
    pub sizes: [usize; 3],
    pub reserved: [usize; 11],
    pub flags: u32,
}

/// `cudaTextureDesc`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct Texture {
    pub address: [i32; 3],
    pub filter: i32,
    /// 0 elements as they are, 1 as normalised floats.
    pub read_mode: i32,
    pub srgb: i32,
    pub border: [f32; 4],
    pub normalized: i32,
    pub anisotropy: u32,
    pub mip_filter: i32,
    pub mip_bias: f32,
    pub mip_min: f32,
    pub mip_max: f32,
    pub no_trilinear_optimization: i32,
    pub seamless: i32,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct DriverTexture {
    pub address: [i32; 3],
    pub filter: i32,
    pub flags: u32,
    pub anisotropy: u32,
    pub mip_filter: i32,
    pub mip_bias: f32,
    pub mip_min: f32,
    pub mip_max: f32,
    pub border: [f32; 4],
    pub reserved: [i32; 12],
}

/// `cudaResourceViewDesc` and `CUDA_RESOURCE_VIEW_DESC`, which are the same.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct ResourceView {
    format: i32,
    sizes: [usize; 3],
    levels: [u32; 4],
    reserved: [u32; 16],
}

/// `cudaMemLocation`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct MemLocation {
    pub kind: i32,
    pub id: i32,
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct LaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: usize,
    pub stream: Handle,
    pub attributes: Pointer,
    pub count: u32,
}

/// `CUlaunchConfig`. Launch attributes are the same in both interfaces.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct DriverLaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: u32,
    pub stream: Handle,
    pub attributes: Pointer,
    pub count: u32,
}

/// `cudaFuncAttributes`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct FuncAttributes {
    pub shared_bytes: usize,
    pub const_bytes: usize,
    pub local_bytes: usize,
    pub max_threads: i32,
    pub registers: i32,
    pub ptx_version: i32,
    pub binary_version: i32,
    pub cache_mode: i32,
    pub max_dynamic_shared: i32,
    pub carveout: i32,
    pub cluster: [i32; 4],
    pub cluster_policy: i32,
    pub non_portable_cluster: i32,
    pub node_update: i32,
    pub shared_mode: i32,
    pub reserved: [i32; 14],
}

/// `cudaKernelNodeParams`, and `CUDA_KERNEL_NODE_PARAMS` where the function is the driver's.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct KernelNode {
    pub function: Handle,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: u32,
    pub params: Pointer,
    pub extra: Pointer,
}

/// `cudaPointerAttributes`.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct PointerAttributes {
    /// 0 unregistered, 1 host, 2 device, 3 managed.
    pub kind: i32,
    pub device: i32,
    pub device_pointer: Pointer,
    pub host_pointer: Pointer,
    pub reserved: [i64; 8],
}

/// The wrapper that nvcc puts around a fat binary.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct FatBinaryWrapper {
    pub magic: u32,
    /// 1, or 2 with a list of fat binaries to link.
    pub version: u32,
    pub data: *const c_void,
    /// Version 2: ends with a null pointer.
    pub list: *const *const c_void,
}

/// `cudaDeviceProp` of CUDA 13.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct DeviceProp {
    pub name: [c_char; 256],
    pub uuid: [u8; 16],
    pub luid: [u8; 8],
    pub luid_mask: u32,
    pub global_memory: usize,
    pub shared_per_block: usize,
    pub registers_per_block: i32,
    pub warp_size: i32,
    pub pitch: usize,
    pub max_threads_per_block: i32,
    pub max_threads: [i32; 3],
    pub max_grid: [i32; 3],
    pub const_memory: usize,
    pub major: i32,
    pub minor: i32,
    pub texture_alignment: usize,
    pub texture_pitch_alignment: usize,
    pub multiprocessors: i32,
    pub integrated: i32,
    pub map_host: i32,
    /// From `maxTexture1D` to `maxSurfaceCubemapLayered[1]`.
    pub texture_limits: [i32; 39],
    pub surface_alignment: usize,
    /// `concurrentKernels`, `ECCEnabled`, PCI bus, device and domain, `tccDriver`, engines, unified
    /// addressing, bus width, L2 size, persisting L2, threads per multiprocessor, stream priorities,
    /// global and local L1.
    pub features: [i32; 15],
    pub shared_per_multiprocessor: usize,
    /// From `regsPerMultiprocessor` to `cooperativeLaunch`.
    pub more: [i32; 10],
    pub shared_optin: usize,
    /// `pageableMemoryAccessUsesHostPageTables` to `accessPolicyMaxWindowSize`.
    pub paging: [i32; 4],
    pub reserved_shared: usize,
    /// `hostRegisterSupported` to `hostNumaMultinodeIpcSupported`.
    pub rest: [i32; 20],
    pub reserved: [i32; 56],
}

/// Sizes and places as a C++ compiler finds them in the headers of CUDA 13.
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<DeviceProp>() == 1008);
    assert!(offset_of!(DeviceProp, texture_limits) == 396);
    assert!(offset_of!(DeviceProp, surface_alignment) == 552);
    assert!(offset_of!(DeviceProp, shared_optin) == 672);
    assert!(offset_of!(DeviceProp, rest) == 704);
    assert!(size_of::<Copy3D>() == 160);
    assert!(size_of::<DriverCopy>() == 200);
    assert!(size_of::<Resource>() == 144);
    assert!(size_of::<DriverResource>() == 144);
    assert!(size_of::<Texture>() == 72);
    assert!(size_of::<DriverTexture>() == 104);
    assert!(size_of::<ResourceView>() == 112);
    assert!(size_of::<FuncAttributes>() == 144);
    assert!(size_of::<PointerAttributes>() == 88);
    assert!(size_of::<LaunchConfig>() == 56);
    assert!(size_of::<DriverLaunchConfig>() == 56);
};
