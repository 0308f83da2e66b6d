//! Error numbers. Those of the driver have the same values in the runtime's enumeration.

use std::ffi::CStr;

/// A `cudaError_t` other than `cudaSuccess`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Error(pub i32);

/// Nothing, or an error.
pub type Result<T = ()> = std::result::Result<T, Error>;

pub const INVALID_VALUE: Error = Error(1);
pub const INVALID_SYMBOL: Error = Error(13);
pub const INVALID_CHANNELS: Error = Error(20);
pub const INVALID_DIRECTION: Error = Error(21);
pub const INSUFFICIENT_DRIVER: Error = Error(35);
pub const MISSING_CONFIGURATION: Error = Error(52);
pub const INVALID_DEVICE_FUNCTION: Error = Error(98);
pub const INVALID_DEVICE: Error = Error(101);
pub const INVALID_IMAGE: Error = Error(200);
pub const NO_IMAGE: Error = Error(209);
pub const NOT_SUPPORTED: Error = Error(801);

impl Error {
    /// A driver's or the runtime's result.
    pub fn check(code: i32) -> Result {
        if code == 0 { Ok(()) } else { Err(Error(code)) }
    }
}

/// Numbers, names, and texts for those numbers that no driver returns.
const NAMES: &[(i32, &CStr, &CStr)] = &[
    (0, c"cudaSuccess", c"no error"),
    (1, c"cudaErrorInvalidValue", c"invalid argument"),
    (2, c"cudaErrorMemoryAllocation", c"out of memory"),
    (3, c"cudaErrorInitializationError", c"initialization error"),
    (4, c"cudaErrorCudartUnloading", c"driver shutting down"),
    (9, c"cudaErrorInvalidConfiguration", c"invalid configuration argument"),
    (12, c"cudaErrorInvalidPitchValue", c"invalid pitch argument"),
    (13, c"cudaErrorInvalidSymbol", c"invalid device symbol"),
    (16, c"cudaErrorInvalidHostPointer", c"invalid host pointer"),
    (17, c"cudaErrorInvalidDevicePointer", c"invalid device pointer"),
    (18, c"cudaErrorInvalidTexture", c"invalid texture reference"),
    (20, c"cudaErrorInvalidChannelDescriptor", c"invalid channel descriptor"),
    (21, c"cudaErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy"),
    (26, c"cudaErrorInvalidFilterSetting", c"linear filtering not supported for non-float type"),
    (34, c"cudaErrorStubLibrary", c"CUDA driver is a stub library"),
    (35, c"cudaErrorInsufficientDriver", c"CUDA driver version is insufficient for CUDA runtime version"),
    (46, c"cudaErrorDevicesUnavailable", c"CUDA-capable device(s) is/are busy or unavailable"),
    (49, c"cudaErrorIncompatibleDriverContext", c"incompatible driver context"),
    (52, c"cudaErrorMissingConfiguration", c"__global__ function call is not configured"),
    (98, c"cudaErrorInvalidDeviceFunction", c"invalid device function"),
    (100, c"cudaErrorNoDevice", c"no CUDA-capable device is detected"),
    (101, c"cudaErrorInvalidDevice", c"invalid device ordinal"),
    (200, c"cudaErrorInvalidKernelImage", c"device kernel image is invalid"),
    (201, c"cudaErrorDeviceUninitialized", c"invalid device context"),
    (205, c"cudaErrorMapBufferObjectFailed", c"mapping of buffer object failed"),
    (209, c"cudaErrorNoKernelImageForDevice", c"no kernel image is available for execution on the device"),
    (214, c"cudaErrorECCUncorrectable", c"uncorrectable ECC error encountered"),
    (215, c"cudaErrorUnsupportedLimit", c"limit is not supported on this architecture"),
    (216, c"cudaErrorDeviceAlreadyInUse", c"exclusive-thread device already in use by a different thread"),
    (217, c"cudaErrorPeerAccessUnsupported", c"peer access is not supported between these two devices"),
    (218, c"cudaErrorInvalidPtx", c"a PTX JIT compilation failed"),
    (221, c"cudaErrorJitCompilerNotFound", c"PTX JIT compiler library not found"),
    (222, c"cudaErrorUnsupportedPtxVersion", c"the provided PTX was compiled with an unsupported toolchain."),
    (300, c"cudaErrorInvalidSource", c"device kernel image is invalid"),
    (301, c"cudaErrorFileNotFound", c"file not found"),
    (302, c"cudaErrorSharedObjectSymbolNotFound", c"shared object symbol not found"),
    (303, c"cudaErrorSharedObjectInitFailed", c"shared object initialization failed"),
    (304, c"cudaErrorOperatingSystem", c"OS call failed or operation not supported on this OS"),
    (400, c"cudaErrorInvalidResourceHandle", c"invalid resource handle"),
    (401, c"cudaErrorIllegalState", c"the operation cannot be performed in the present state"),
    (500, c"cudaErrorSymbolNotFound", c"named symbol not found"),
    (600, c"cudaErrorNotReady", c"device not ready"),
    (700, c"cudaErrorIllegalAddress", c"an illegal memory access was encountered"),
    (701, c"cudaErrorLaunchOutOfResources", c"too many resources requested for launch"),
    (702, c"cudaErrorLaunchTimeout", c"the launch timed out and was terminated"),
    (704, c"cudaErrorPeerAccessAlreadyEnabled", c"peer access is already enabled"),
    (705, c"cudaErrorPeerAccessNotEnabled", c"peer access has not been enabled"),
    (708, c"cudaErrorSetOnActiveProcess", c"cannot set while device is active in this process"),
    (709, c"cudaErrorContextIsDestroyed", c"context is destroyed"),
    (710, c"cudaErrorAssert", c"device-side assert triggered"),
    (712, c"cudaErrorHostMemoryAlreadyRegistered", c"part or all of the requested memory range is already mapped"),
    (713, c"cudaErrorHostMemoryNotRegistered", c"pointer does not correspond to a registered memory region"),
    (714, c"cudaErrorHardwareStackError", c"hardware stack error"),
    (715, c"cudaErrorIllegalInstruction", c"an illegal instruction was encountered"),
    (716, c"cudaErrorMisalignedAddress", c"misaligned address"),
    (717, c"cudaErrorInvalidAddressSpace", c"operation not supported on global/shared address space"),
    (718, c"cudaErrorInvalidPc", c"invalid program counter"),
    (719, c"cudaErrorLaunchFailure", c"unspecified launch failure"),
    (720, c"cudaErrorCooperativeLaunchTooLarge", c"too many blocks in cooperative launch"),
    (800, c"cudaErrorNotPermitted", c"operation not permitted"),
    (801, c"cudaErrorNotSupported", c"operation not supported"),
    (900, c"cudaErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing"),
    (901, c"cudaErrorStreamCaptureInvalidated", c"operation failed due to a previous error during capture"),
    (902, c"cudaErrorStreamCaptureMerge", c"operation would result in a merge of separate capture sequences"),
    (903, c"cudaErrorStreamCaptureUnmatched", c"capture was not ended in the same stream as it began"),
    (904, c"cudaErrorStreamCaptureUnjoined", c"capturing stream has unjoined work"),
    (905, c"cudaErrorStreamCaptureIsolation", c"dependency created on uncaptured work in another stream"),
    (906, c"cudaErrorStreamCaptureImplicit", c"operation would make the legacy stream depend on a capturing blocking stream"),
    (907, c"cudaErrorCapturedEvent", c"operation not permitted on an event last recorded in a capturing stream"),
    (908, c"cudaErrorStreamCaptureWrongThread", c"attempt to terminate a thread-local capture sequence from another thread"),
    (910, c"cudaErrorGraphExecUpdateFailure", c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    (912, c"cudaErrorInvalidClusterSize", c"cluster misconfiguration"),
    (999, c"cudaErrorUnknown", c"unknown error"),
];

fn find(code: i32) -> Option<&'static (i32, &'static CStr, &'static CStr)> {
    NAMES.binary_search_by_key(&code, |row| row.0).ok().map(|n| &NAMES[n])
}

/// The name of a number's enumerator.
pub fn name(code: i32) -> &'static CStr {
    find(code).map_or(c"unrecognized error code", |row| row.1)
}

/// What a number means.
pub fn text(code: i32) -> &'static CStr {
    find(code).map_or(c"unrecognized error code", |row| row.2)
}
