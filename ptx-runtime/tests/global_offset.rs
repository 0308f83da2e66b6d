//! Launches with a global offset: compiled code as the interpreter, in few versions.

use ptx_runtime::{
    Backend, Context, DeviceOptions, Engine, KernelArg, LaunchConfig, LaunchStats, Module,
};

/// Each thread writes its global number, as 64 bits, at its place in the launch.
const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry numbers(.param .u64 to)\n{
    .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [to]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3; mov.u32 %r5, %envreg3; add.s32 %r6, %r4, %r5; mul.wide.u32 %rd2, %r4, 8;
    add.s64 %rd3, %rd1, %rd2; cvt.u64.u32 %rd4, %r6; st.global.u64 [%rd3], %rd4; ret;\n}\n";

const THREADS: usize = 256;

fn numbers(
    context: &Context,
    module: &Module,
    offset: u32,
    backend: Backend,
) -> (Vec<u64>, LaunchStats) {
    let buffer = context.alloc(THREADS as u64 * 8).unwrap();
    let config = LaunchConfig {
        grid: [4, 1, 1],
        block: [THREADS as u32 / 4, 1, 1],
        args: vec![KernelArg::Pointer(buffer)],
        env: std::array::from_fn(|n| [offset, 0, 0, 1].get(n).copied().unwrap_or(0)),
        backend,
        ..LaunchConfig::default()
    };
    let stats = context.launch(module, "numbers", config).unwrap();
    let mut bytes = vec![0; THREADS * 8];
    context.copy_from_device(buffer, &mut bytes).unwrap();
    context.free(buffer).unwrap();
    let words = bytes.as_chunks().0.iter().map(|w| u64::from_le_bytes(*w)).collect();
    (words, stats)
}

#[test]
fn compiled_launches_are_those_of_the_interpreter() {
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, TEXT, "offset.ptx").unwrap();
    for offset in [0, 5, 64, 70_000, 1 << 30, u32::MAX - 300, u32::MAX - 99, 0, 64] {
        let (want, _) = numbers(&context, &module, offset, Backend::Interp);
        let (got, stats) = numbers(&context, &module, offset, Backend::Jit);
        assert!(matches!(stats.engine, Engine::Compiled(_)), "{}", stats.engine);
        assert_eq!(got, want, "{offset}");
        assert_eq!(want[99], u64::from(offset.wrapping_add(99)));
    }
}

#[test]
fn launches_in_many_parts_take_few_versions() {
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, TEXT, "offset.ptx").unwrap();
    let mut compiled = 0;
    for part in 0..4096 {
        let (_, stats) = numbers(&context, &module, part * 1_048_577, Backend::Jit);
        let Engine::Compiled(code) = stats.engine else { panic!("{}", stats.engine) };
        compiled += usize::from(code.compiled_in.is_some());
    }
    assert!((2..=5).contains(&compiled), "{compiled} versions");
}
