//! The questions of clients, and wrong ones.

use c_border::{Out, Raw, Text};
use cuda_driver as _;
use nvml::api::*;
use std::ffi::CString;

unsafe extern "C" {
    safe fn cuInit(flags: u32) -> u32;
    safe fn cuCtxCreate_v2(context: Out<usize>, flags: u32, device: i32) -> u32;
    safe fn cuMemAlloc_v2(pointer: Out<u64>, bytes: usize) -> u32;
}

const SUCCESS: u32 = 0;
const UNINITIALIZED: u32 = 1;
const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const NOT_FOUND: u32 = 6;
const INSUFFICIENT_SIZE: u32 = 7;
const VERSION_MISMATCH: u32 = 25;

fn value<T: Copy + Default>(ask: impl FnOnce(Out<T>) -> u32) -> Result<T, u32> {
    let mut value = T::default();
    match ask(Out::to(&mut value)) {
        SUCCESS => Ok(value),
        status => Err(status),
    }
}

fn text(size: u32, ask: impl FnOnce(Raw, u32) -> u32) -> Result<String, u32> {
    let mut buffer = [0u8; 96];
    match ask(Raw::new(buffer.as_mut_ptr().expose_provenance()), size) {
        SUCCESS => {
            let end = buffer.iter().position(|b| *b == 0).expect("a zero");
            Ok(String::from_utf8(buffer[..end].to_vec()).expect("UTF-8"))
        }
        status => Err(status),
    }
}

/// One test: the library is a thing of the process, and its users are counted.
#[test]
fn a_client_asks() {
    assert_eq!(value(|n| nvmlDeviceGetCount_v2(n)), Err(UNINITIALIZED));
    assert_eq!(nvmlShutdown(), UNINITIALIZED);
    assert_eq!((nvmlInit_v2(), nvmlInitWithFlags(0)), (SUCCESS, SUCCESS));

    assert_eq!(value(|n| nvmlDeviceGetCount_v2(n)), Ok(1));
    assert_eq!(value(|n| nvmlSystemGetCudaDriverVersion(n)), Ok(13050));
    assert_eq!(value::<usize>(|h| nvmlDeviceGetHandleByIndex_v2(1, h)), Err(INVALID_ARGUMENT));
    let device = value(|h| nvmlDeviceGetHandleByIndex_v2(0, h)).expect("a device");
    assert_eq!(value::<u32>(|n| nvmlDeviceGetIndex(device + 1, n)), Err(INVALID_ARGUMENT));
    assert_eq!(nvmlDeviceGetIndex(device, Out::none()), INVALID_ARGUMENT);

    assert_eq!(text(96, |at, n| nvmlDeviceGetName(device, at, n)).as_deref(), Ok("NVIDIA H200"));
    assert_eq!(text(11, |at, n| nvmlDeviceGetName(device, at, n)), Err(INSUFFICIENT_SIZE));
    let uuid = text(80, |at, n| nvmlDeviceGetUUID(device, at, n)).expect("an identity");
    assert_eq!(uuid.len(), 40);
    for (name, found) in [(&*uuid, Ok(device)), ("GPU-0", Err(NOT_FOUND))] {
        let name = CString::new(name).expect("no zero inside");
        assert_eq!(value(|h| nvmlDeviceGetHandleByUUID(Text::of(&name), h)), found);
    }
    for name in [c"00000000:00:00.0", c"0000:00:00.0"] {
        assert_eq!(value(|h| nvmlDeviceGetHandleByPciBusId_v2(Text::of(name), h)), Ok(device));
    }

    let (mut major, mut minor) = (0, 0);
    assert_eq!(
        nvmlDeviceGetCudaComputeCapability(device, Out::to(&mut major), Out::to(&mut minor)),
        SUCCESS
    );
    assert_eq!((major, minor), (9, 0));
    assert_eq!(value(|n| nvmlDeviceGetArchitecture(device, n)), Ok(9));
    assert_eq!(value(|n| nvmlDeviceGetNumGpuCores(device, n)), Ok(132 * 128));
    assert_eq!(value(|n| nvmlDeviceGetMaxClockInfo(device, 1, n)), Ok(1980));
    assert_eq!(value::<u32>(|n| nvmlDeviceGetMaxClockInfo(device, 3, n)), Err(NOT_SUPPORTED));
    assert_eq!(nvmlDeviceGetTemperature(device), NOT_SUPPORTED);

    let mut pci = Pci {
        legacy_bus_id: [1; 16],
        domain: 1,
        bus: 1,
        device: 1,
        device_id: 1,
        subsystem_id: 1,
        bus_id: [1; 32],
    };
    assert_eq!(nvmlDeviceGetPciInfo_v3(device, Out::to(&mut pci)), SUCCESS);
    assert!(
        pci.bus_id.starts_with(b"00000000:00:00.0\0")
            && pci.legacy_bus_id.starts_with(b"0000:00:00.0\0")
    );
    // Callers of older versions have less room: what lies behind it is theirs.
    let behind = |ask: &dyn Fn(usize) -> u32| {
        let mut room = [0xa5u8; 96];
        assert_eq!(ask(room.as_mut_ptr().expose_provenance()), SUCCESS);
        assert!(room.starts_with(b"0000:00:00.0\0"));
        room.iter().rposition(|byte| *byte != 0xa5).map_or(0, |last| last + 1)
    };
    assert_eq!(behind(&|at| nvmlDeviceGetPciInfo(device, Out::new(at))), 32);
    assert_eq!(behind(&|at| nvmlDeviceGetPciInfo_v2(device, Out::new(at))), 52);
    assert_eq!(behind(&|at| nvmlDeviceGetPciInfo_v3(device, Out::new(at))), 68);
    // What is not here says so, and asks for a device where it is of one.
    assert_eq!(nvmlDeviceGetTemperatureThreshold(device), NOT_SUPPORTED);
    assert_eq!(nvmlDeviceGetTemperatureThreshold(device + 1), INVALID_ARGUMENT);
    assert_eq!(nvmlUnitGetCount(), NOT_SUPPORTED);

    // Memory, before and after somebody uses it.
    let mut memory = Memory { total: 0, free: 0, used: 1 };
    assert_eq!(nvmlDeviceGetMemoryInfo(device, Out::to(&mut memory)), SUCCESS);
    assert!(memory.used == 0 && memory.free == memory.total && memory.total > 0);
    assert_eq!(value(|n| nvmlDeviceGetComputeRunningProcesses_v3(device, n, Out::none())), Ok(0));
    let mut context = 0usize;
    let mut pointer = 0u64;
    assert_eq!((cuInit(0), cuCtxCreate_v2(Out::to(&mut context), 0, 0)), (0, 0));
    assert_eq!(cuMemAlloc_v2(Out::to(&mut pointer), 1 << 20), 0);
    let mut memory = Memory2 { version: 7, total: 0, reserved: 1, free: 0, used: 0 };
    assert_eq!(nvmlDeviceGetMemoryInfo_v2(device, Out::to(&mut memory)), VERSION_MISMATCH);
    memory.version = 0x0200_0028;
    assert_eq!(nvmlDeviceGetMemoryInfo_v2(device, Out::to(&mut memory)), SUCCESS);
    assert!(
        memory.used >= 1 << 20 && memory.used + memory.free == memory.total && memory.reserved == 0
    );
    let mut count = 0;
    let ask = |count: &mut u32, list| {
        nvmlDeviceGetComputeRunningProcesses_v3(device, Out::to(count), list)
    };
    assert_eq!((ask(&mut count, Out::none()), count), (INSUFFICIENT_SIZE, 1));
    let mut one = Process { pid: 0, used: 0, gpu_instance: 0, compute_instance: 0 };
    assert_eq!(ask(&mut count, Out::to(&mut one)), SUCCESS);
    assert_eq!((one.pid, one.used), (std::process::id(), memory.used));

    assert_eq!((nvmlShutdown(), nvmlShutdown(), nvmlShutdown()), (SUCCESS, SUCCESS, UNINITIALIZED));
    assert_eq!(nvmlDeviceGetIndex(device, Out::none()), UNINITIALIZED);
}
