//! Virtual memory management, as programs use it: addresses first, memory later, growing without a copy.

mod common;

use common::*;

const STEP: u64 = 2 << 20;

/// A kernel that adds its block number to the first word of each of `n` steps, and one that copies words.
const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry mark(.param .u64 p)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 2097152; add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd1], %r2;
    ret;
}
\0";

/// `CUmemAllocationProp` of device memory, for export as a descriptor.
fn properties() -> [u32; 8] {
    [1, 1, 1, 0, 0, 0, 0, 0]
}

fn create(bytes: u64) -> u64 {
    let (mut handle, mut properties) = (0u64, properties());
    ok("cuMemCreate", &[at(&mut handle), bytes, at(&mut properties), 0]);
    handle
}

fn reserve(bytes: u64) -> u64 {
    let mut address = 0u64;
    ok("cuMemAddressReserve", &[at(&mut address), bytes, 0, 0, 0]);
    address
}

/// `cuMemSetAccess` of the device.
fn set_access(address: u64, bytes: u64, flags: u32) -> u32 {
    let mut description = [1u32, 0, flags];
    call("cuMemSetAccess", &[address, bytes, at(&mut description), 1])
}

fn word(address: u64) -> u32 {
    let mut value = 0u32;
    ok("cuMemcpyDtoH_v2", &[at(&mut value), address, 4]);
    value
}

fn put(address: u64, value: u32) {
    let mut value = value;
    ok("cuMemcpyHtoD_v2", &[address, at(&mut value), 4]);
}

fn free_bytes() -> u64 {
    let (mut free, mut total) = (0u64, 0u64);
    ok("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]);
    free
}

/// One test: what is free is a matter of the process.
#[test]
fn memory_grows_moves_and_is_shared() {
    context();
    let (mut supported, mut granularity, mut wanted) = (0i32, 0u64, properties());
    ok("cuDeviceGetAttribute", &[at(&mut supported), 102, 0]);
    assert_eq!(supported, 1);
    ok("cuMemGetAllocationGranularity", &[at(&mut granularity), at(&mut wanted), 0]);
    assert_eq!(granularity, STEP);
    let free = free_bytes();

    // Two pieces beside each other are one array; nobody may access it before it is said.
    let array = reserve(4 * STEP);
    assert_eq!(array % STEP, 0);
    let (a, b) = (create(STEP), create(2 * STEP));
    assert_eq!(free_bytes(), free - 3 * STEP);
    ok("cuMemMap", &[array, STEP, 0, a, 0]);
    let mut value = 7u32;
    assert_ne!(call("cuMemcpyHtoD_v2", &[array, at(&mut value), 4]), 0);
    assert_eq!(set_access(array, STEP, 3), 0);
    put(array, 100);
    ok("cuMemMap", &[array + STEP, 2 * STEP, 0, b, 0]);
    assert_eq!(set_access(array + STEP, 2 * STEP, 3), 0);
    let kernel = function(module(PTX), "mark\0");
    assert_eq!(launch(kernel, [3, 1, 1], [1, 1, 1], 0, &[array]), 0);
    ok("cuCtxSynchronize", &[]);
    assert_eq!([0, 1, 2].map(|n| word(array + n * STEP)), [100, 1, 2]);
    // A copy crosses from one into the next.
    let mut bytes = vec![0u8; 2 * STEP as usize];
    ok("cuMemcpyDtoH_v2", &[at(&mut bytes[..]), array, 2 * STEP]);
    assert_eq!((bytes[0], bytes[STEP as usize]), (100, 1));

    // Handles may be released: what is mapped stays, and can be asked for again.
    ok("cuMemRelease", &[b]);
    assert_eq!(call("cuMemRelease", &[b]), 1);
    let mut again = 0u64;
    ok("cuMemRetainAllocationHandle", &[at(&mut again), array + 2 * STEP + 5]);
    assert_eq!(again, b);
    let (mut flags, mut location) = (9u64, [1u32, 0]);
    ok("cuMemGetAccess", &[at(&mut flags), at(&mut location), array]);
    assert_eq!(flags, 3);

    // The same memory under a second address, while it is mapped, and after.
    let other = reserve(2 * STEP);
    ok("cuMemMap", &[other, STEP, STEP, b, 0]);
    assert_eq!(set_access(other, STEP, 3), 0);
    assert_eq!(word(other), 2);
    put(other, 50);
    assert_eq!(word(array + 2 * STEP), 50);
    ok("cuMemUnmap", &[array, 3 * STEP]);
    assert_ne!(call("cuMemcpyDtoH_v2", &[at(&mut value), array, 4]), 0);
    assert_eq!(word(other), 50);
    ok("cuMemMap", &[array, STEP, 0, a, 0]);
    assert_eq!(set_access(array, STEP, 3), 0);
    assert_eq!(word(array), 100);

    // Through a descriptor, as another process would.
    let mut descriptor = -1i32;
    ok("cuMemExportToShareableHandle", &[at(&mut descriptor), a, 1, 0]);
    let mut imported = 0u64;
    ok("cuMemImportFromShareableHandle", &[at(&mut imported), descriptor as u64, 1]);
    ok("cuMemMap", &[other + STEP, STEP, 0, imported, 0]);
    assert_eq!(set_access(other + STEP, STEP, 3), 0);
    assert_eq!(word(other + STEP), 100);

    // Wrong calls.
    let mut p = 0u64;
    for (symbol, arguments) in [
        ("cuMemAddressReserve", vec![at(&mut p), STEP + 1, 0, 0, 0]),
        ("cuMemAddressReserve", vec![at(&mut p), STEP, 3, 0, 0]),
        ("cuMemAddressReserve", vec![0, STEP, 0, 0, 0]),
        ("cuMemAddressFree", vec![array, 4 * STEP]),
        ("cuMemAddressFree", vec![other + STEP, STEP]),
        ("cuMemMap", vec![array, STEP, 0, a, 0]),
        ("cuMemMap", vec![array + STEP, STEP, 1, a, 0]),
        ("cuMemMap", vec![array + STEP, 2 * STEP, 0, a, 0]),
        ("cuMemMap", vec![array + STEP, STEP, 0, 12345, 0]),
        ("cuMemMap", vec![0, STEP, 0, a, 0]),
        ("cuMemMap", vec![u64::MAX - STEP + 1, STEP, 0, a, 0]),
        ("cuMemUnmap", vec![array + STEP, STEP]),
        ("cuMemUnmap", vec![array, 2 * STEP]),
        ("cuMemRelease", vec![0]),
        ("cuMemImportFromShareableHandle", vec![at(&mut p), 1, 1]),
        ("cuMemFree_v2", vec![array]),
    ] {
        assert_eq!(call(symbol, &arguments), 1, "{symbol} {arguments:x?}");
    }
    assert_eq!(set_access(array + STEP, STEP, 3), 1);
    assert_eq!(set_access(array, STEP, 1), 801);

    ok("cuMemUnmap", &[array, STEP]);
    ok("cuMemUnmap", &[other, 2 * STEP]);
    ok("cuMemAddressFree", &[array, 4 * STEP]);
    ok("cuMemAddressFree", &[other, 2 * STEP]);
    for handle in [a, b, imported] {
        ok("cuMemRelease", &[handle]);
    }
    assert_eq!(free_bytes(), free);
}
