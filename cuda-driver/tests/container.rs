//! Assembled containers as images of modules: in memory and as files.

mod common;

use common::{alloc, at, call, context, function, launch, own, text};
use ptx_runtime::Verified;

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

golden::tests! {
    modules_of_containers: condition("this driver, as containers are its own", own()),
}
