//! Launches of one small block, many times.

use ptx_runtime::{
    Backend, Context, DeviceOptions, DevicePtr, Engine, KernelArg, LaunchConfig, LaunchError,
    Module, Verified,
};

const TEXT: &str = include_str!("count.ptx");

#[test]
fn a_kernel_that_is_launched_often_is_compiled() {
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, TEXT, "count.ptx").unwrap();
    let buffer = context.alloc(256).unwrap();
    let mut compiled_from = None;
    for n in 0..1000u32 {
        let config = LaunchConfig {
            block: [64, 1, 1],
            args: vec![KernelArg::Pointer(buffer)],
            ..LaunchConfig::default()
        };
        let stats = context.launch(&module, "count", config).unwrap();
        if matches!(stats.engine, Engine::Compiled(_)) && compiled_from.is_none() {
            compiled_from = Some(n);
        }
    }
    // Not before 50 launches, as a test beside the rule says, unless one of them lasts on a busy machine.
    assert!(compiled_from.is_some_and(|n| n < 800), "{compiled_from:?}");
    let mut bytes = [0; 256];
    context.copy_from_device(buffer, &mut bytes).unwrap();
    assert!(bytes.as_chunks().0.iter().all(|w| u32::from_le_bytes(*w) == 1000));
}

fn count(context: &Context, module: &Module, buffer: DevicePtr) -> Result<(), LaunchError> {
    let config = LaunchConfig {
        block: [64, 1, 1],
        args: vec![KernelArg::Pointer(buffer)],
        backend: Backend::Jit,
        ..LaunchConfig::default()
    };
    let stats = context.launch(module, "count", config)?;
    assert!(matches!(stats.engine, Engine::Compiled(_)), "{}", stats.engine);
    Ok(())
}

/// The first number in a buffer.
fn first(context: &Context, buffer: DevicePtr) -> u32 {
    let mut bytes = [0; 4];
    context.copy_from_device(buffer, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

/// Code remembers from launch to launch where allocations are: not those of another memory with the same addresses.
#[test]
fn devices_that_share_code_have_memories_of_their_own() {
    let verified = Verified::new(TEXT, "count.ptx").unwrap();
    let make = || {
        let context = Context::new(&DeviceOptions::default()).unwrap();
        let module = Module::from_verified(&context, &verified).unwrap();
        let buffer = context.alloc(256).unwrap();
        (context, module, buffer)
    };
    let (one, other) = (make(), make());
    assert_eq!(one.2, other.2, "the test needs equal addresses");
    for _ in 0..3 {
        count(&one.0, &one.1, one.2).unwrap();
        count(&one.0, &one.1, one.2).unwrap();
        count(&other.0, &other.1, other.2).unwrap();
    }
    assert_eq!((first(&one.0, one.2), first(&other.0, other.2)), (6, 3));
}

#[test]
fn freed_memory_is_forgotten() {
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, TEXT, "count.ptx").unwrap();
    let large = context.alloc(4096).unwrap();
    count(&context, &module, large).unwrap();
    count(&context, &module, large).unwrap();
    context.free(large).unwrap();
    let small = context.alloc(128).unwrap();
    assert_eq!(small, large, "the test needs the same address");
    let stopped = count(&context, &module, small);
    assert!(matches!(stopped, Err(LaunchError::Fault(_))), "{stopped:?}");
    context.free(small).unwrap();
    let stopped = count(&context, &module, small);
    assert!(matches!(stopped, Err(LaunchError::Fault(_))), "{stopped:?}");
}
