//! The exported functions. Handles are numbers, never addresses.

use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard, PoisonError};

use c_border::{Out, OutText, Raw, Text, guarded, plain_struct};
use cuda_driver::driver::Driver;
use cuda_driver::{context, virtual_memory};

use crate::device::{self, Clock};
use crate::status::{self, Status};

/// The only device's handle.
const DEVICE: usize = 0x10;
/// `nvmlMemory_v2`: the version in its upper byte, the size below.
const MEMORY_2: u32 = 2 << 24 | size_of::<Memory2>() as u32;
/// NVIDIA's number among vendors of PCI devices; the emulated one has none of its own.
const VENDOR: u32 = 0x10de;

plain_struct! {
    /// `nvmlMemory_t`, in bytes.
    Memory { total: u64, free: u64, used: u64 }
    /// `nvmlMemory_v2_t`, in bytes.
    Memory2 { version: u32, total: u64, reserved: u64, free: u64, used: u64 }
    /// `nvmlProcessInfo_v1_t`.
    Process1 { pid: u32, used: u64 }
    /// `nvmlProcessInfo_v2_t`, and the third version; without instances of a divided device.
    Process { pid: u32, used: u64, gpu_instance: u32, compute_instance: u32 }
    /// `nvmlPciInfo_t` of the first version.
    Pci1 { bus_id: [u8; 16], domain: u32, bus: u32, device: u32, device_id: u32 }
    /// Of the second one.
    Pci2 {
        bus_id: [u8; 16], domain: u32, bus: u32, device: u32, device_id: u32, subsystem_id: u32,
        reserved: [u32; 4],
    }
    /// Of the third one.
    Pci {
        legacy_bus_id: [u8; 16], domain: u32, bus: u32, device: u32, device_id: u32, subsystem_id: u32,
        bus_id: [u8; 32],
    }
}

/// Between `nvmlInit` and the `nvmlShutdown` that belongs to it.
struct State {
    users: u32,
    driver: Option<Driver>,
}

static STATE: Mutex<State> = Mutex::new(State { users: 0, driver: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

type Result<T = ()> = std::result::Result<T, Status>;

/// Runs a function of the interface.
fn answer(body: impl FnOnce() -> Result) -> u32 {
    guarded(|| body().err().unwrap_or(Status::Success), Status::Unknown) as u32
}

/// Runs a function that needs `nvmlInit`.
fn initialised(body: impl FnOnce(&Driver) -> Result) -> u32 {
    answer(|| body(state().driver.as_ref().ok_or(Status::Uninitialized)?))
}

/// Runs a function on a device.
fn on(handle: usize, body: impl FnOnce(&Driver) -> Result) -> u32 {
    initialised(|driver| if handle == DEVICE { body(driver) } else { Err(Status::InvalidArgument) })
}

fn init() -> u32 {
    answer(|| {
        let mut state = state();
        if state.driver.is_none() {
            state.driver = Some(Driver::from_environment().map_err(|_| Status::DriverNotLoaded)?);
        }
        state.users += 1;
        Ok(())
    })
}

fn shutdown() -> u32 {
    answer(|| {
        let mut state = state();
        state.users = state.users.checked_sub(1).ok_or(Status::Uninitialized)?;
        if state.users == 0 {
            state.driver = None;
        }
        Ok(())
    })
}

/// Writes a string that must fit with its zero.
fn put_text(buffer: Raw, size: u32, text: &str) -> Result {
    if buffer.is_null() {
        return Err(Status::InvalidArgument);
    }
    if size as usize <= text.len() {
        return Err(Status::InsufficientSize);
    }
    OutText { buffer, size: size as usize }.put(text);
    Ok(())
}

/// A string in a field of a structure.
fn field<const N: usize>(text: &str) -> [u8; N] {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    out
}

/// The form of bus numbers that older structures have room for, and the present one.
fn buses() -> ([u8; 16], [u8; 32]) {
    let [bus_id, legacy] = device::bus_ids();
    (field(&legacy), field(&bus_id))
}

fn pci1(out: Out<Pci1>) -> Result {
    let (bus_id, _) = buses();
    Ok(out.set(Pci1 { bus_id, domain: 0, bus: 0, device: 0, device_id: VENDOR })?)
}

fn pci2(out: Out<Pci2>) -> Result {
    let (bus_id, _) = buses();
    let [domain, bus, device, subsystem_id] = [0; 4];
    Ok(out.set(Pci2 {
        bus_id,
        domain,
        bus,
        device,
        device_id: VENDOR,
        subsystem_id,
        reserved: [0; 4],
    })?)
}

fn pci(out: Out<Pci>) -> Result {
    let (legacy_bus_id, bus_id) = buses();
    let [domain, bus, device, subsystem_id] = [0; 4];
    Ok(out.set(Pci {
        legacy_bus_id,
        domain,
        bus,
        device,
        device_id: VENDOR,
        subsystem_id,
        bus_id,
    })?)
}

/// Bytes of the device in all, and those that this process uses: every process has a device of its own.
fn memory(driver: &Driver) -> (u64, u64) {
    (driver.memory(), virtual_memory::device_bytes())
}

/// Lists who uses the device: this process, once it has a context.
fn processes<T: Copy>(count: Out<u32>, list: Out<T>, of: impl Fn(u32, u64) -> T) -> Result {
    let room = count.get()?;
    let users = u32::from(context::any());
    count.set(users)?;
    if users > room || (users > 0 && list.is_null()) {
        return Err(Status::InsufficientSize);
    }
    if users > 0 {
        list.set(of(std::process::id(), virtual_memory::device_bytes()))?;
    }
    Ok(())
}

fn full(pid: u32, used: u64) -> Process {
    Process { pid, used, gpu_instance: u32::MAX, compute_instance: u32::MAX }
}

/// The handle of the device that the caller's word names.
fn by_name(name: Text, handle: Out<usize>, is: impl FnOnce(&Driver, &str) -> bool) -> u32 {
    initialised(|driver| {
        handle.required()?;
        if is(driver, &name.get()?) { Ok(handle.set(DEVICE)?) } else { Err(Status::NotFound) }
    })
}

fn by_bus(name: Text, handle: Out<usize>) -> u32 {
    by_name(name, handle, |_, name| {
        device::bus_ids().iter().any(|id| id.eq_ignore_ascii_case(name))
    })
}

fn clock(handle: usize, which: u32, mhz: Out<u32>) -> u32 {
    on(handle, |driver| {
        mhz.required()?;
        let which = Clock::of(which).ok_or(Status::NotSupported)?;
        Ok(mhz.set(device::clock(driver, which))?)
    })
}

/// Exports functions: names that are the same one, arguments, body.
macro_rules! exported {
    ($($(#[$doc:meta])* [$($name:ident)+] $args:tt $body:expr;)*) => {$(
        exported!(@each [$(#[$doc])*] [$($name)+] $args $body);
    )*};
    (@each $doc:tt [$($name:ident)+] $args:tt $body:expr) => {
        $(exported!(@one $doc $name $args $body);)+
    };
    (@one [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),*) $body:expr) => {
        $(#[$doc])*
        // SAFETY: the name is of the interface that this library has; nothing else in the process defines it.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> u32 { $body }
    };
}

exported! {
    /// Begins the use of the library.
    [nvmlInit nvmlInit_v2] () init();
    /// The same; the flags say what to do without devices, and there is one.
    [nvmlInitWithFlags] (_flags: u32) init();
    /// Ends what one `nvmlInit` began.
    [nvmlShutdown] () shutdown();
    /// The release of ptxrun: no driver of NVIDIA is here.
    [nvmlSystemGetDriverVersion nvmlSystemGetNVMLVersion] (text: Raw, size: u32)
        initialised(|_| put_text(text, size, env!("CARGO_PKG_VERSION")));
    /// The version of CUDA, a thousand times the major one and ten times the minor one.
    [nvmlSystemGetCudaDriverVersion nvmlSystemGetCudaDriverVersion_v2] (version: Out<u32>)
        answer(|| Ok(version.set(ptx_runtime::CUDA_VERSION)?));
    /// The name of a process, cut to fit.
    [nvmlSystemGetProcessName] (pid: u32, text: Raw, size: u32) initialised(|_| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| Status::NotFound)?;
        let name = line.split(|b| *b == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        if text.is_null() || size == 0 {
            return Err(Status::InvalidArgument);
        }
        OutText { buffer: text, size: size as usize }.put(&name);
        Ok(())
    });
    /// There is one device.
    [nvmlDeviceGetCount nvmlDeviceGetCount_v2] (count: Out<u32>) initialised(|_| Ok(count.set(1)?));
    /// The device of that number.
    [nvmlDeviceGetHandleByIndex nvmlDeviceGetHandleByIndex_v2] (index: u32, handle: Out<usize>) initialised(|_| {
        handle.required()?;
        if index == 0 { Ok(handle.set(DEVICE)?) } else { Err(Status::InvalidArgument) }
    });
    /// The device with that identity.
    [nvmlDeviceGetHandleByUUID] (name: Text, handle: Out<usize>)
        by_name(name, handle, |driver, name| device::uuid(driver).eq_ignore_ascii_case(name));
    /// The device at that place on the bus.
    [nvmlDeviceGetHandleByPciBusId nvmlDeviceGetHandleByPciBusId_v2] (name: Text, handle: Out<usize>)
        by_bus(name, handle);
    /// As `cuDeviceGetName`.
    [nvmlDeviceGetName] (handle: usize, text: Raw, size: u32) on(handle, |d| put_text(text, size, &d.name()));
    /// As `cuDeviceGetUuid`, in words.
    [nvmlDeviceGetUUID] (handle: usize, text: Raw, size: u32)
        on(handle, |d| put_text(text, size, &device::uuid(d)));
    /// The number of the device.
    [nvmlDeviceGetIndex nvmlDeviceGetMinorNumber] (handle: usize, number: Out<u32>)
        on(handle, |_| Ok(number.set(0)?));
    /// Its place on the bus, in what a caller of the first version has room for.
    [nvmlDeviceGetPciInfo] (handle: usize, out: Out<Pci1>) on(handle, |_| pci1(out));
    /// Likewise, of the second version.
    [nvmlDeviceGetPciInfo_v2] (handle: usize, out: Out<Pci2>) on(handle, |_| pci2(out));
    /// Its place on the bus.
    [nvmlDeviceGetPciInfo_v3] (handle: usize, out: Out<Pci>) on(handle, |_| pci(out));
    /// Its brand.
    [nvmlDeviceGetBrand] (handle: usize, brand: Out<u32>) on(handle, |d| Ok(brand.set(device::brand(d))?));
    /// Its architecture.
    [nvmlDeviceGetArchitecture] (handle: usize, architecture: Out<u32>)
        on(handle, |d| Ok(architecture.set(device::architecture(d))?));
    /// Its compute capability.
    [nvmlDeviceGetCudaComputeCapability] (handle: usize, major: Out<i32>, minor: Out<i32>) on(handle, |d| {
        let cc = d.profile.device.compute_capability;
        minor.required()?;
        major.set(i32::from(cc.major))?;
        Ok(minor.set(i32::from(cc.minor))?)
    });
    /// Memory of the device.
    [nvmlDeviceGetMemoryInfo] (handle: usize, out: Out<Memory>) on(handle, |d| {
        let (total, used) = memory(d);
        Ok(out.set(Memory { total, free: total.saturating_sub(used), used })?)
    });
    /// Memory of the device; nothing of it is reserved.
    [nvmlDeviceGetMemoryInfo_v2] (handle: usize, out: Out<Memory2>) on(handle, |d| {
        let version = Out::<u32>::new(out.address()).get()?;
        if version != MEMORY_2 {
            return Err(Status::ArgumentVersionMismatch);
        }
        let (total, used) = memory(d);
        Ok(out.set(Memory2 { version, total, reserved: 0, free: total.saturating_sub(used), used })?)
    });
    /// Bits of the memory bus.
    [nvmlDeviceGetMemoryBusWidth] (handle: usize, bits: Out<u32>)
        on(handle, |d| Ok(bits.set(d.profile.dram.bus_bits)?));
    /// Scalar cores.
    [nvmlDeviceGetNumGpuCores] (handle: usize, cores: Out<u32>) on(handle, |d| Ok(cores.set(device::cores(d))?));
    /// Clocks do not change: the present one is the highest one.
    [nvmlDeviceGetClockInfo nvmlDeviceGetMaxClockInfo nvmlDeviceGetApplicationsClock
        nvmlDeviceGetDefaultApplicationsClock]
        (handle: usize, which: u32, mhz: Out<u32>) clock(handle, which, mhz);
    /// The same, for every kind of present, wanted and highest clock.
    [nvmlDeviceGetClock] (handle: usize, which: u32, _kind: u32, mhz: Out<u32>) clock(handle, which, mhz);
    /// This process, once it has a context.
    [nvmlDeviceGetComputeRunningProcesses] (handle: usize, count: Out<u32>, list: Out<Process1>)
        on(handle, |_| processes(count, list, |pid, used| Process1 { pid, used }));
    /// This process, once it has a context.
    [nvmlDeviceGetComputeRunningProcesses_v2 nvmlDeviceGetComputeRunningProcesses_v3]
        (handle: usize, count: Out<u32>, list: Out<Process>) on(handle, |_| processes(count, list, full));
    /// Nobody draws.
    [nvmlDeviceGetGraphicsRunningProcesses nvmlDeviceGetGraphicsRunningProcesses_v2
        nvmlDeviceGetGraphicsRunningProcesses_v3 nvmlDeviceGetMPSComputeRunningProcesses
        nvmlDeviceGetMPSComputeRunningProcesses_v2 nvmlDeviceGetMPSComputeRunningProcesses_v3]
        (handle: usize, count: Out<u32>, _list: Raw) on(handle, |_| Ok(count.set(0)?));
    /// Any number of contexts (`NVML_COMPUTEMODE_DEFAULT`), no screen, one device a board, nothing divided.
    [nvmlDeviceGetComputeMode nvmlDeviceGetDisplayMode nvmlDeviceGetDisplayActive nvmlDeviceGetMultiGpuBoard
        nvmlDeviceIsMigDeviceHandle nvmlDeviceGetMaxMigDeviceCount]
        (handle: usize, value: Out<u32>) on(handle, |_| Ok(value.set(0)?));
    /// What only hardware can measure, has, or can be told.
    [nvmlDeviceClearAccountingPids nvmlDeviceClearCpuAffinity nvmlDeviceClearEccErrorCounts
        nvmlDeviceClearFieldValues nvmlDeviceCreateGpuInstance nvmlDeviceCreateGpuInstanceWithPlacement
        nvmlDeviceFreezeNvLinkUtilizationCounter nvmlDeviceGetAPIRestriction nvmlDeviceGetAccountingBufferSize
        nvmlDeviceGetAccountingMode nvmlDeviceGetAccountingPids nvmlDeviceGetAccountingStats
        nvmlDeviceGetAccountingStats_v2 nvmlDeviceGetActiveVgpus nvmlDeviceGetAdaptiveClockInfoStatus
        nvmlDeviceGetAdaptiveTgpModeInfo_v1 nvmlDeviceGetAddressingMode nvmlDeviceGetAttributes_v2
        nvmlDeviceGetAutoBoostedClocksEnabled nvmlDeviceGetBAR1MemoryInfo nvmlDeviceGetBBXTimeData_v1
        nvmlDeviceGetBankRemapperStatus_v1 nvmlDeviceGetBoardId nvmlDeviceGetBoardPartNumber
        nvmlDeviceGetBridgeChipInfo nvmlDeviceGetBusType nvmlDeviceGetC2cModeInfoV nvmlDeviceGetCapabilities
        nvmlDeviceGetClkMonStatus nvmlDeviceGetClockOffsets nvmlDeviceGetComputeInstanceId
        nvmlDeviceGetConfComputeGpuAttestationReport nvmlDeviceGetConfComputeGpuCertificate
        nvmlDeviceGetConfComputeMemSizeInfo nvmlDeviceGetConfComputeProtectedMemoryUsage nvmlDeviceGetCoolerInfo
        nvmlDeviceGetCpuAffinity nvmlDeviceGetCpuAffinityWithinScope nvmlDeviceGetCreatableVgpus
        nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetCurrPcieLinkWidth nvmlDeviceGetCurrentClockFreqs
        nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons
        nvmlDeviceGetDecoderUtilization nvmlDeviceGetDefaultEccMode nvmlDeviceGetDetailedEccErrors
        nvmlDeviceGetDramEncryptionMode nvmlDeviceGetDriverModel nvmlDeviceGetDriverModel_v2
        nvmlDeviceGetDynamicPstatesInfo nvmlDeviceGetEccMode nvmlDeviceGetEncoderCapacity
        nvmlDeviceGetEncoderSessions nvmlDeviceGetEncoderStats nvmlDeviceGetEncoderUtilization
        nvmlDeviceGetEnforcedPowerLimit nvmlDeviceGetFBCSessions nvmlDeviceGetFBCStats
        nvmlDeviceGetFanControlPolicy_v2 nvmlDeviceGetFanSpeed nvmlDeviceGetFanSpeedRPM nvmlDeviceGetFanSpeed_v2
        nvmlDeviceGetFieldValues nvmlDeviceGetGpcClkMinMaxVfOffset nvmlDeviceGetGpcClkVfOffset
        nvmlDeviceGetGpuFabricInfo nvmlDeviceGetGpuFabricInfoV nvmlDeviceGetGpuFabricInfo_v4
        nvmlDeviceGetGpuInstanceById nvmlDeviceGetGpuInstanceId nvmlDeviceGetGpuInstancePossiblePlacements_v2
        nvmlDeviceGetGpuInstanceProfileInfo nvmlDeviceGetGpuInstanceProfileInfoByIdV
        nvmlDeviceGetGpuInstanceProfileInfoV nvmlDeviceGetGpuInstanceRemainingCapacity nvmlDeviceGetGpuInstances
        nvmlDeviceGetGpuMaxPcieLinkGeneration nvmlDeviceGetGpuOperationMode nvmlDeviceGetGridLicensableFeatures_v4
        nvmlDeviceGetGspFirmwareMode nvmlDeviceGetGspFirmwareVersion nvmlDeviceGetHostVgpuMode
        nvmlDeviceGetHostname_v1 nvmlDeviceGetInforomConfigurationChecksum nvmlDeviceGetInforomImageVersion
        nvmlDeviceGetInforomVersion nvmlDeviceGetIrqNum nvmlDeviceGetJpgUtilization nvmlDeviceGetLastBBXFlushTime
        nvmlDeviceGetMarginTemperature nvmlDeviceGetMaxCustomerBoostClock nvmlDeviceGetMaxPcieLinkGeneration
        nvmlDeviceGetMaxPcieLinkWidth nvmlDeviceGetMemClkMinMaxVfOffset nvmlDeviceGetMemClkVfOffset
        nvmlDeviceGetMemoryAffinity nvmlDeviceGetMemoryErrorCounter nvmlDeviceGetMemoryLimits_v1
        nvmlDeviceGetMigMode nvmlDeviceGetMinMaxClockOfPState nvmlDeviceGetMinMaxFanSpeed nvmlDeviceGetModuleId
        nvmlDeviceGetNumFans nvmlDeviceGetNumaNodeId nvmlDeviceGetNvLinkCapability nvmlDeviceGetNvLinkErrorCounter
        nvmlDeviceGetNvLinkInfo nvmlDeviceGetNvLinkRemoteDeviceType nvmlDeviceGetNvLinkRemotePciInfo_v2
        nvmlDeviceGetNvLinkState nvmlDeviceGetNvLinkTelemetrySamples_v1 nvmlDeviceGetNvLinkUtilizationControl
        nvmlDeviceGetNvLinkUtilizationCounter nvmlDeviceGetNvLinkVersion nvmlDeviceGetNvlinkBwMode
        nvmlDeviceGetNvlinkSupportedBwModes nvmlDeviceGetOfaUtilization nvmlDeviceGetP2PStatus
        nvmlDeviceGetPciInfoExt nvmlDeviceGetPcieLinkMaxSpeed nvmlDeviceGetPcieReplayCounter nvmlDeviceGetPcieSpeed
        nvmlDeviceGetPcieThroughput nvmlDeviceGetPdi nvmlDeviceGetPerformanceModes nvmlDeviceGetPerformanceState
        nvmlDeviceGetPersistenceMode nvmlDeviceGetPgpuMetadataString nvmlDeviceGetPlatformInfo
        nvmlDeviceGetPowerManagementDefaultLimit nvmlDeviceGetPowerManagementLimit
        nvmlDeviceGetPowerManagementLimitConstraints nvmlDeviceGetPowerManagementMode nvmlDeviceGetPowerMizerMode_v1
        nvmlDeviceGetPowerSource nvmlDeviceGetPowerState nvmlDeviceGetPowerUsage nvmlDeviceGetProcessUtilization
        nvmlDeviceGetProcessesUtilizationInfo nvmlDeviceGetRemappedRows nvmlDeviceGetRemappedRows_v2
        nvmlDeviceGetRepairStatus nvmlDeviceGetRetiredPages nvmlDeviceGetRetiredPagesPendingStatus
        nvmlDeviceGetRetiredPages_v2 nvmlDeviceGetRowRemapperHistogram nvmlDeviceGetRunningProcessDetailList
        nvmlDeviceGetSamples nvmlDeviceGetSerial nvmlDeviceGetSramEccErrorStatus
        nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts nvmlDeviceGetSupportedClocksEventReasons
        nvmlDeviceGetSupportedClocksThrottleReasons nvmlDeviceGetSupportedEventTypes
        nvmlDeviceGetSupportedGraphicsClocks nvmlDeviceGetSupportedMemoryClocks
        nvmlDeviceGetSupportedPerformanceStates nvmlDeviceGetSupportedVgpus nvmlDeviceGetTargetFanSpeed
        nvmlDeviceGetTemperature nvmlDeviceGetTemperatureThreshold nvmlDeviceGetTemperatureV
        nvmlDeviceGetThermalSettings nvmlDeviceGetTopologyCommonAncestor nvmlDeviceGetTopologyNearestGpus
        nvmlDeviceGetTotalEccErrors nvmlDeviceGetTotalEnergyConsumption nvmlDeviceGetUnrepairableMemoryFlag_v1
        nvmlDeviceGetUtilizationRates nvmlDeviceGetVbiosVersion nvmlDeviceGetVgpuCapabilities
        nvmlDeviceGetVgpuHeterogeneousMode nvmlDeviceGetVgpuInstancesUtilizationInfo nvmlDeviceGetVgpuMetadata
        nvmlDeviceGetVgpuProcessUtilization nvmlDeviceGetVgpuProcessesUtilizationInfo
        nvmlDeviceGetVgpuSchedulerCapabilities nvmlDeviceGetVgpuSchedulerLog nvmlDeviceGetVgpuSchedulerLog_v2
        nvmlDeviceGetVgpuSchedulerState nvmlDeviceGetVgpuSchedulerState_v2 nvmlDeviceGetVgpuTypeCreatablePlacements
        nvmlDeviceGetVgpuTypeSupportedPlacements nvmlDeviceGetVgpuUtilization nvmlDeviceGetViolationStatus
        nvmlDeviceGetVirtualizationMode nvmlDeviceOnSameBoard nvmlDevicePerfMetricsGetSamples_v1
        nvmlDevicePowerSmoothingActivatePresetProfile nvmlDevicePowerSmoothingSetState
        nvmlDevicePowerSmoothingUpdatePresetProfileParam nvmlDeviceReadPRMCounters_v1 nvmlDeviceReadWritePRM_v1
        nvmlDeviceRegisterEvents nvmlDeviceResetApplicationsClocks nvmlDeviceResetGpuLockedClocks
        nvmlDeviceResetMemoryLockedClocks nvmlDeviceResetNvLinkErrorCounters nvmlDeviceResetNvLinkUtilizationCounter
        nvmlDeviceSetAPIRestriction nvmlDeviceSetAccountingMode nvmlDeviceSetAdaptiveTgpMode_v1
        nvmlDeviceSetApplicationsClocks nvmlDeviceSetAutoBoostedClocksEnabled nvmlDeviceSetClockOffsets
        nvmlDeviceSetComputeMode nvmlDeviceSetConfComputeUnprotectedMemSize nvmlDeviceSetCpuAffinity
        nvmlDeviceSetDefaultAutoBoostedClocksEnabled nvmlDeviceSetDefaultFanSpeed_v2 nvmlDeviceSetDramEncryptionMode
        nvmlDeviceSetDriverModel nvmlDeviceSetEccMode nvmlDeviceSetFanControlPolicy nvmlDeviceSetFanSpeed_v2
        nvmlDeviceSetGpcClkVfOffset nvmlDeviceSetGpuLockedClocks nvmlDeviceSetGpuOperationMode
        nvmlDeviceSetHostname_v1 nvmlDeviceSetMemClkVfOffset nvmlDeviceSetMemoryLimits_v1
        nvmlDeviceSetMemoryLockedClocks nvmlDeviceSetMigMode nvmlDeviceSetNvLinkDeviceLowPowerThreshold
        nvmlDeviceSetNvLinkUtilizationControl nvmlDeviceSetNvlinkBwMode nvmlDeviceSetNvlinkBwModeAsync_v1
        nvmlDeviceSetPersistenceMode nvmlDeviceSetPowerManagementLimit nvmlDeviceSetPowerManagementLimit_v2
        nvmlDeviceSetPowerMizerMode_v1 nvmlDeviceSetRusdSettings_v1 nvmlDeviceSetTemperatureThreshold
        nvmlDeviceSetVgpuCapabilities nvmlDeviceSetVgpuHeterogeneousMode nvmlDeviceSetVgpuSchedulerState
        nvmlDeviceSetVgpuSchedulerState_v2 nvmlDeviceSetVirtualizationMode nvmlDeviceValidateInforom
        nvmlDeviceVgpuForceGspUnload nvmlDeviceWorkloadPowerProfileClearRequestedProfiles
        nvmlDeviceWorkloadPowerProfileGetCurrentProfiles nvmlDeviceWorkloadPowerProfileGetProfilesInfo
        nvmlDeviceWorkloadPowerProfileSetRequestedProfiles nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1]
        (handle: usize) on(handle, |_| Err(Status::NotSupported));
    /// Parts of devices, virtual ones, units, events, the system's settings.
    [nvmlComputeInstanceDestroy nvmlComputeInstanceGetInfo_v2 nvmlDeviceDiscoverGpus
        nvmlDeviceGetDeviceHandleFromMigDeviceHandle nvmlDeviceGetHandleBySerial nvmlDeviceGetHandleByUUIDV
        nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceModifyDrainState nvmlDeviceQueryDrainState nvmlDeviceRemoveGpu
        nvmlEventSetCreate nvmlEventSetFree nvmlEventSetGetContextCount_v1 nvmlEventSetGetContextData_v1
        nvmlEventSetGetContextInfo_v1 nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1
        nvmlEventSetRegisterGpuOperationalEvents_v1 nvmlEventSetWait_v2 nvmlEventSetWait_v3
        nvmlGetExcludedDeviceCount nvmlGetExcludedDeviceInfoByIndex nvmlGetVgpuCompatibility
        nvmlGetVgpuDriverCapabilities nvmlGetVgpuVersion nvmlGpmMetricsGet nvmlGpmMigSampleGet
        nvmlGpmQueryDeviceSupport nvmlGpmQueryIfStreamingEnabled nvmlGpmSampleAlloc nvmlGpmSampleFree
        nvmlGpmSampleGet nvmlGpmSetStreamingEnabled nvmlGpuInstanceCreateComputeInstance
        nvmlGpuInstanceCreateComputeInstanceWithPlacement nvmlGpuInstanceDestroy nvmlGpuInstanceGetActiveVgpus
        nvmlGpuInstanceGetComputeInstanceById nvmlGpuInstanceGetComputeInstancePossiblePlacements
        nvmlGpuInstanceGetComputeInstanceProfileInfo nvmlGpuInstanceGetComputeInstanceProfileInfoV
        nvmlGpuInstanceGetComputeInstanceRemainingCapacity nvmlGpuInstanceGetComputeInstances
        nvmlGpuInstanceGetCreatableVgpus nvmlGpuInstanceGetInfo nvmlGpuInstanceGetVgpuHeterogeneousMode
        nvmlGpuInstanceGetVgpuSchedulerLog nvmlGpuInstanceGetVgpuSchedulerLog_v2
        nvmlGpuInstanceGetVgpuSchedulerState nvmlGpuInstanceGetVgpuSchedulerState_v2
        nvmlGpuInstanceGetVgpuTypeCreatablePlacements nvmlGpuInstanceSetVgpuHeterogeneousMode
        nvmlGpuInstanceSetVgpuSchedulerState nvmlGpuInstanceSetVgpuSchedulerState_v2 nvmlSetVgpuVersion
        nvmlSystemEventSetCreate nvmlSystemEventSetFree nvmlSystemEventSetWait nvmlSystemGetCPER_v1
        nvmlSystemGetConfComputeCapabilities nvmlSystemGetConfComputeGpusReadyState
        nvmlSystemGetConfComputeKeyRotationThresholdInfo nvmlSystemGetConfComputeSettings
        nvmlSystemGetConfComputeState nvmlSystemGetDriverBranch nvmlSystemGetHicVersion nvmlSystemGetNvlinkBwMode
        nvmlSystemGetTopologyGpuSet nvmlSystemRegisterEvents nvmlSystemSetConfComputeGpusReadyState
        nvmlSystemSetConfComputeKeyRotationThresholdInfo nvmlSystemSetNvlinkBwMode nvmlUnitGetCount
        nvmlUnitGetDevices nvmlUnitGetFanSpeedInfo nvmlUnitGetHandleByIndex nvmlUnitGetLedState nvmlUnitGetPsuInfo
        nvmlUnitGetTemperature nvmlUnitGetUnitInfo nvmlUnitSetLedState nvmlVgpuInstanceClearAccountingPids
        nvmlVgpuInstanceGetAccountingMode nvmlVgpuInstanceGetAccountingPids nvmlVgpuInstanceGetAccountingStats
        nvmlVgpuInstanceGetEccMode nvmlVgpuInstanceGetEncoderCapacity nvmlVgpuInstanceGetEncoderSessions
        nvmlVgpuInstanceGetEncoderStats nvmlVgpuInstanceGetFBCSessions nvmlVgpuInstanceGetFBCStats
        nvmlVgpuInstanceGetFbUsage nvmlVgpuInstanceGetFrameRateLimit nvmlVgpuInstanceGetGpuInstanceId
        nvmlVgpuInstanceGetGpuPciId nvmlVgpuInstanceGetLicenseInfo_v2 nvmlVgpuInstanceGetLicenseStatus
        nvmlVgpuInstanceGetMdevUUID nvmlVgpuInstanceGetMetadata nvmlVgpuInstanceGetPlacementId
        nvmlVgpuInstanceGetRuntimeStateSize nvmlVgpuInstanceGetType nvmlVgpuInstanceGetUUID
        nvmlVgpuInstanceGetVmDriverVersion nvmlVgpuInstanceGetVmID nvmlVgpuInstanceSetEncoderCapacity
        nvmlVgpuTypeGetBAR1Info nvmlVgpuTypeGetCapabilities nvmlVgpuTypeGetClass nvmlVgpuTypeGetDeviceID
        nvmlVgpuTypeGetFbReservation nvmlVgpuTypeGetFrameRateLimit nvmlVgpuTypeGetFramebufferSize
        nvmlVgpuTypeGetGpuInstanceProfileId nvmlVgpuTypeGetGspHeapSize nvmlVgpuTypeGetLicense
        nvmlVgpuTypeGetMaxInstances nvmlVgpuTypeGetMaxInstancesPerGpuInstance nvmlVgpuTypeGetMaxInstancesPerVm
        nvmlVgpuTypeGetName nvmlVgpuTypeGetNumDisplayHeads nvmlVgpuTypeGetResolution]
        () initialised(|_| Err(Status::NotSupported));
}

/// What a result means.
// SAFETY: the name is of the interface that this library has; nothing else in the process defines it.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: u32) -> *const c_char {
    status::text(result).as_ptr()
}
