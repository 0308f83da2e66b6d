//! Managed variables lie in the host's memory: host and kernels see them at one address.

use ptx_runtime::{Context, DeviceOptions, LaunchConfig, Module};

#[test]
fn host_and_kernel_share_a_managed_variable() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .visible .global .attribute(.managed) .align 4 .b32 total = 40;\n\
        .visible .entry add()\n{\n.reg .b32 %r<2>;\n\
        ld.global.u32 %r1, [total]; add.u32 %r1, %r1, 2; st.global.u32 [total], %r1; ret;\n}\n";
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, text, "managed.ptx").unwrap();
    let (address, size) = module.global("total").unwrap();
    assert_eq!(size, 4);
    let host: *mut u32 = std::ptr::with_exposed_provenance_mut(address.0 as usize);
    // SAFETY: the variable is memory of this process; no kernel runs.
    assert_eq!(unsafe { host.read_volatile() }, 40);
    context.launch(&module, "add", LaunchConfig::default()).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { host.read_volatile() }, 42);
    // SAFETY: as above.
    unsafe { host.write_volatile(7) };
    context.launch(&module, "add", LaunchConfig::default()).unwrap();
    let mut bytes = [0; 4];
    context.copy_from_device(address, &mut bytes).unwrap();
    assert_eq!(u32::from_le_bytes(bytes), 9);
    drop(module);
    assert!(context.copy_from_device(address, &mut bytes).is_err());
}
