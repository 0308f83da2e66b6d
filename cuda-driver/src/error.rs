//! Error codes of the driver API (`CUresult`), their names and texts.

/// What a call of the driver API returns other than success.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Error(pub u32);

/// A result of the driver API.
pub type Result<T = ()> = std::result::Result<T, Error>;

macro_rules! codes {
    ($($value:literal $($constant:ident)? $name:literal $text:literal;)*) => {
        #[allow(non_upper_case_globals)]
        impl Error {
            $($(#[doc = concat!("`", $name, "`: ", $text, ".")] pub const $constant: Error = Error($value);)?)*
        }
        /// Code, name and text of everything a call may return, in the order of the codes.
        const CODES: &[(u32, &std::ffi::CStr, &std::ffi::CStr)] = &[$(($value, cstr(concat!($name, "\0")), cstr(concat!($text, "\0"))),)*];
    };
}

const fn cstr(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("one zero at the end"),
    }
}

codes! {
    0 "CUDA_SUCCESS" "no error";
    1 InvalidValue "CUDA_ERROR_INVALID_VALUE" "invalid argument";
    2 OutOfMemory "CUDA_ERROR_OUT_OF_MEMORY" "out of memory";
    3 NotInitialized "CUDA_ERROR_NOT_INITIALIZED" "initialization error";
    4 Deinitialized "CUDA_ERROR_DEINITIALIZED" "driver shutting down";
    5 "CUDA_ERROR_PROFILER_DISABLED" "profiler disabled while using external profiling tool";
    6 "CUDA_ERROR_PROFILER_NOT_INITIALIZED" "profiler not initialized: call cudaProfilerInitialize()";
    7 "CUDA_ERROR_PROFILER_ALREADY_STARTED" "profiler already started";
    8 "CUDA_ERROR_PROFILER_ALREADY_STOPPED" "profiler already stopped";
    34 "CUDA_ERROR_STUB_LIBRARY" "CUDA driver is a stub library";
    36 "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER" "API call is not supported in the installed CUDA driver";
    46 "CUDA_ERROR_DEVICE_UNAVAILABLE" "CUDA-capable device(s) is/are busy or unavailable";
    47 "CUDA_ERROR_MULTICAST_RESOURCE_FULL" "multicast resources are used up";
    100 NoDevice "CUDA_ERROR_NO_DEVICE" "no CUDA-capable device is detected";
    101 InvalidDevice "CUDA_ERROR_INVALID_DEVICE" "invalid device ordinal";
    102 "CUDA_ERROR_DEVICE_NOT_LICENSED" "device doesn't have valid Grid license";
    200 InvalidImage "CUDA_ERROR_INVALID_IMAGE" "device kernel image is invalid";
    201 InvalidContext "CUDA_ERROR_INVALID_CONTEXT" "invalid device context";
    202 "CUDA_ERROR_CONTEXT_ALREADY_CURRENT" "context already current";
    205 MapFailed "CUDA_ERROR_MAP_FAILED" "mapping of buffer object failed";
    206 "CUDA_ERROR_UNMAP_FAILED" "unmapping of buffer object failed";
    207 "CUDA_ERROR_ARRAY_IS_MAPPED" "array is mapped";
    208 "CUDA_ERROR_ALREADY_MAPPED" "resource already mapped";
    209 NoBinaryForGpu "CUDA_ERROR_NO_BINARY_FOR_GPU" "no kernel image is available for execution on the device";
    210 "CUDA_ERROR_ALREADY_ACQUIRED" "resource already acquired";
    211 "CUDA_ERROR_NOT_MAPPED" "resource not mapped";
    212 "CUDA_ERROR_NOT_MAPPED_AS_ARRAY" "resource not mapped as array";
    213 "CUDA_ERROR_NOT_MAPPED_AS_POINTER" "resource not mapped as pointer";
    214 "CUDA_ERROR_ECC_UNCORRECTABLE" "uncorrectable ECC error encountered";
    215 UnsupportedLimit "CUDA_ERROR_UNSUPPORTED_LIMIT" "limit is not supported on this architecture";
    216 "CUDA_ERROR_CONTEXT_ALREADY_IN_USE" "exclusive-thread device already in use by a different thread";
    217 PeerAccessUnsupported "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED" "peer access is not supported between these two devices";
    218 InvalidPtx "CUDA_ERROR_INVALID_PTX" "a PTX JIT compilation failed";
    219 "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT" "invalid OpenGL or DirectX context";
    220 "CUDA_ERROR_NVLINK_UNCORRECTABLE" "uncorrectable NVLink error detected during the execution";
    221 "CUDA_ERROR_JIT_COMPILER_NOT_FOUND" "PTX JIT compiler library not found";
    222 UnsupportedPtxVersion "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" "the provided PTX was compiled with an unsupported toolchain.";
    223 "CUDA_ERROR_JIT_COMPILATION_DISABLED" "PTX JIT compilation was disabled";
    224 "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY" "the provided execution affinity is not supported";
    225 "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC" "the provided PTX contains unsupported call to cudaDeviceSynchronize";
    226 "CUDA_ERROR_CONTAINED" "Invalid access of peer GPU memory over nvlink or a hardware error";
    227 "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION" "the loader is too old for this image";
    300 "CUDA_ERROR_INVALID_SOURCE" "device kernel image is invalid";
    301 FileNotFound "CUDA_ERROR_FILE_NOT_FOUND" "file not found";
    302 "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND" "shared object symbol not found";
    303 "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED" "shared object initialization failed";
    304 OperatingSystem "CUDA_ERROR_OPERATING_SYSTEM" "OS call failed or operation not supported on this OS";
    400 InvalidHandle "CUDA_ERROR_INVALID_HANDLE" "invalid resource handle";
    401 IllegalState "CUDA_ERROR_ILLEGAL_STATE" "the operation cannot be performed in the present state";
    402 "CUDA_ERROR_LOSSY_QUERY" "attempted introspection would be semantically lossy";
    500 NotFound "CUDA_ERROR_NOT_FOUND" "named symbol not found";
    600 NotReady "CUDA_ERROR_NOT_READY" "device not ready";
    700 IllegalAddress "CUDA_ERROR_ILLEGAL_ADDRESS" "an illegal memory access was encountered";
    701 LaunchOutOfResources "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" "too many resources requested for launch";
    702 LaunchTimeout "CUDA_ERROR_LAUNCH_TIMEOUT" "the launch timed out and was terminated";
    703 "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING" "launch uses incompatible texturing mode";
    704 PeerAccessAlreadyEnabled "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED" "peer access is already enabled";
    705 PeerAccessNotEnabled "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED" "peer access has not been enabled";
    708 PrimaryContextActive "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE" "cannot set while device is active in this process";
    709 ContextIsDestroyed "CUDA_ERROR_CONTEXT_IS_DESTROYED" "context is destroyed";
    710 Assert "CUDA_ERROR_ASSERT" "device-side assert triggered";
    711 "CUDA_ERROR_TOO_MANY_PEERS" "peer mapping resources exhausted";
    712 HostMemoryAlreadyRegistered "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" "part or all of the requested memory range is already mapped";
    713 HostMemoryNotRegistered "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED" "pointer does not correspond to a registered memory region";
    714 HardwareStackError "CUDA_ERROR_HARDWARE_STACK_ERROR" "hardware stack error";
    715 IllegalInstruction "CUDA_ERROR_ILLEGAL_INSTRUCTION" "an illegal instruction was encountered";
    716 MisalignedAddress "CUDA_ERROR_MISALIGNED_ADDRESS" "misaligned address";
    717 "CUDA_ERROR_INVALID_ADDRESS_SPACE" "operation not supported on global/shared address space";
    718 InvalidPc "CUDA_ERROR_INVALID_PC" "invalid program counter";
    719 LaunchFailed "CUDA_ERROR_LAUNCH_FAILED" "unspecified launch failure";
    720 CooperativeLaunchTooLarge "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" "too many blocks in cooperative launch";
    721 "CUDA_ERROR_TENSOR_MEMORY_LEAK" "tensor memory not completely freed";
    800 NotPermitted "CUDA_ERROR_NOT_PERMITTED" "operation not permitted";
    801 NotSupported "CUDA_ERROR_NOT_SUPPORTED" "operation not supported";
    802 "CUDA_ERROR_SYSTEM_NOT_READY" "system not yet initialized";
    803 "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" "system has unsupported display driver / cuda driver combination";
    804 "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE" "forward compatibility was attempted on non supported HW";
    805 "CUDA_ERROR_MPS_CONNECTION_FAILED" "MPS client failed to connect to the MPS control daemon or the MPS server";
    806 "CUDA_ERROR_MPS_RPC_FAILURE" "the remote procedural call between the MPS server and the MPS client failed";
    807 "CUDA_ERROR_MPS_SERVER_NOT_READY" "MPS server is not ready to accept new MPS client requests";
    808 "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED" "the hardware resources required to create MPS client have been exhausted";
    809 "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED" "the hardware resources required to support device connections have been exhausted";
    810 "CUDA_ERROR_MPS_CLIENT_TERMINATED" "the MPS client has been terminated by the server";
    811 "CUDA_ERROR_CDP_NOT_SUPPORTED" "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it";
    812 "CUDA_ERROR_CDP_VERSION_MISMATCH" "unsupported interaction between different versions of CUDA Dynamic Parallelism";
    900 StreamCaptureUnsupported "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" "operation not permitted when stream is capturing";
    901 StreamCaptureInvalidated "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" "operation failed due to a previous error during capture";
    902 StreamCaptureMerge "CUDA_ERROR_STREAM_CAPTURE_MERGE" "operation would result in a merge of separate capture sequences";
    903 StreamCaptureUnmatched "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" "capture was not ended in the same stream as it began";
    904 StreamCaptureUnjoined "CUDA_ERROR_STREAM_CAPTURE_UNJOINED" "capturing stream has unjoined work";
    905 StreamCaptureIsolation "CUDA_ERROR_STREAM_CAPTURE_ISOLATION" "dependency created on uncaptured work in another stream";
    906 StreamCaptureImplicit "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT" "operation would make the legacy stream depend on a capturing blocking stream";
    907 CapturedEvent "CUDA_ERROR_CAPTURED_EVENT" "operation not permitted on an event last recorded in a capturing stream";
    908 StreamCaptureWrongThread "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD" "attempt to terminate a thread-local capture sequence from another thread";
    909 "CUDA_ERROR_TIMEOUT" "wait operation timed out";
    910 GraphExecUpdateFailure "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE" "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    911 "CUDA_ERROR_EXTERNAL_DEVICE" "an async error has occured in external entity outside of CUDA";
    912 InvalidClusterSize "CUDA_ERROR_INVALID_CLUSTER_SIZE" "a kernel launch error has occurred due to cluster misconfiguration";
    913 "CUDA_ERROR_FUNCTION_NOT_LOADED" "the function handle is not loaded when calling an API that requires a loaded function";
    914 "CUDA_ERROR_INVALID_RESOURCE_TYPE" "one or more resources passed in are not valid resource types for the operation";
    915 "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION" "one or more resources are insufficient or non-applicable for the operation";
    916 "CUDA_ERROR_KEY_ROTATION" "an error happened during the key rotation sequence";
    917 "CUDA_ERROR_STREAM_DETACHED" "the stream is detached";
    918 "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE" "the graph could not be captured again";
    919 "CUDA_ERROR_FABRIC_NOT_READY" "the fabric is not ready";
    999 Unknown "CUDA_ERROR_UNKNOWN" "unknown error";
}

/// Name and text of a code.
pub fn describe(code: u32) -> Option<(&'static std::ffi::CStr, &'static std::ffi::CStr)> {
    let at = CODES.binary_search_by_key(&code, |c| c.0).ok()?;
    Some((CODES[at].1, CODES[at].2))
}

impl Error {
    /// Number and name.
    pub fn short(self) -> String {
        let name = describe(self.0).map_or("unknown".into(), |(name, _)| name.to_string_lossy());
        format!("{} ({name})", self.0)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match describe(self.0) {
            Some((name, text)) => {
                write!(f, "{} ({})", name.to_string_lossy(), text.to_string_lossy())
            }
            None => write!(f, "error {}", self.0),
        }
    }
}

impl std::error::Error for Error {}

impl From<ptx_runtime::MemoryError> for Error {
    fn from(error: ptx_runtime::MemoryError) -> Error {
        use ptx_runtime::MemoryError as M;
        match error {
            M::OutOfMemory { .. } | M::Reserve(_) => Error::OutOfMemory,
            M::Mapped { .. } => Error::HostMemoryAlreadyRegistered,
            _ => Error::InvalidValue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order() {
        assert!(CODES.is_sorted_by_key(|c| c.0));
        assert_eq!(describe(700).map(|d| d.0), Some(c"CUDA_ERROR_ILLEGAL_ADDRESS"));
        assert_eq!(describe(9), None);
        assert_eq!(Error::InvalidValue.to_string(), "CUDA_ERROR_INVALID_VALUE (invalid argument)");
    }
}
