//! Assembled containers as images of modules: in memory and as files.

mod common;

use common::{alloc, at, call, context, function, launch, own, text};
use ptx_runtime::isa::types::Target;
use ptx_runtime::{Verified, cubin};

const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry put(.param .u64 p, .param .u64 v)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd2, [v];
    st.global.u64 [%rd1], %rd2;
    ret;
}
";

/// Runs the kernel; what it has stored.
fn put(module: u64, value: u64) -> u64 {
    let at_device = alloc(8);
    assert_eq!(launch(function(module, "put\0"), [1; 3], [1; 3], 0, &[at_device, value]), 0);
    let mut out = 0u64;
    common::ok("cuMemcpyDtoH_v2", &[at(&mut out), at_device, 8]);
    out
}

fn modules_of_containers() {
    context();
    let mut bytes = Verified::new(PTX, "k.ptx").unwrap().assemble(&[]).unwrap();
    let mut module = 0u64;
    common::ok("cuModuleLoadData", &[at(&mut module), at(&mut bytes[..])]);
    assert_eq!(put(module, 41), 41);
    let path = std::env::temp_dir().join(format!("ptxrun-cuda-{}.ptxb", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let name = format!("{}\0", path.display());
    let mut of_file = 0u64;
    common::ok("cuModuleLoad", &[at(&mut of_file), text(&name)]);
    assert_eq!(put(of_file, 42), 42);
    std::fs::remove_file(&path).unwrap();
    // CUDA_ERROR_INVALID_IMAGE
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    assert_eq!(call("cuModuleLoadData", &[at(&mut module), at(&mut bytes[..])]), 200);
}

/// What our assembler writes, alone and in a fat binary beside PTX that gives another answer.
fn modules_of_the_assembler() {
    context();
    let verified = Verified::new(PTX, "k.ptx").unwrap();
    let wanted = cubin::Wanted { target: Target::device(90), relocatable: false };
    let mut file = cubin::write(&verified, &["put"], wanted).unwrap();
    let mut module = 0u64;
    common::ok("cuModuleLoadData", &[at(&mut module), at(&mut file[..])]);
    assert_eq!(put(module, 43), 43);
    let entry = |kind: u16, payload: &[u8]| {
        let mut e = vec![0; 64];
        e[0..2].copy_from_slice(&kind.to_le_bytes());
        e[2..4].copy_from_slice(&0x101u16.to_le_bytes());
        e[4..8].copy_from_slice(&64u32.to_le_bytes());
        let padded = payload.len().next_multiple_of(8);
        e[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
        e[28..32].copy_from_slice(&90u32.to_le_bytes());
        e[40..48].copy_from_slice(&0x11u64.to_le_bytes());
        e.extend(payload);
        e.resize(64 + padded, 0);
        e
    };
    let other = PTX.replace("ld.param.u64 %rd2, [v];", "mov.u64 %rd2, 7;");
    let body = [entry(2, &file), entry(1, other.as_bytes())].concat();
    let mut fat = 0xba55_ed50u32.to_le_bytes().to_vec();
    fat.extend([1, 0, 16, 0]);
    fat.extend((body.len() as u64).to_le_bytes());
    fat.extend(body);
    common::ok("cuModuleLoadData", &[at(&mut module), at(&mut fat[..])]);
    assert_eq!(put(module, 44), 44);
    // Machine code of a device: CUDA_ERROR_NO_BINARY_FOR_GPU, and CUDA_ERROR_INVALID_IMAGE where ours is damaged.
    let name = file.windows(8).position(|w| w == b".ptxrun.").unwrap();
    let mut machine = file.clone();
    machine[name + 1] = b'q';
    assert_eq!(call("cuModuleLoadData", &[at(&mut module), at(&mut machine[..])]), 209);
    let inside = file.windows(4).position(|w| w == b"PTXB").unwrap() + 100;
    file[inside] ^= 1;
    assert_eq!(call("cuModuleLoadData", &[at(&mut module), at(&mut file[..])]), 200);
}

golden::tests! {
    modules_of_the_assembler: condition("this driver, as its assembler is its own", own()),
    modules_of_containers: condition("this driver, as containers are its own", own()),
}
