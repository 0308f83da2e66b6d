//! Which engine runs the first launch of a kernel: by what its threads do, not only by its text.

use ptx_runtime::{Context, DeviceOptions, Engine, KernelArg, LaunchConfig, Module};

const FUNCTIONS: &str = ".func (.param .b32 out) by_memory(.param .b32 in)\n{
        .reg .b32 %r<2>; ld.param.u32 %r1, [in]; st.param.b32 [out], %r1; ret;\n}
    .func (.reg .b32 out) by_register(.reg .b32 in)\n{
        .param .b32 a; .param .b32 b; st.param.b32 [a], in;
        call.uni (b), by_memory, (a); ld.param.b32 out, [b]; ret;\n}\n";

/// Counts to a number that `bound` finds: `%rd1` is a buffer, `%r9` a parameter.
fn text(bound: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{FUNCTIONS}.visible .entry k(.param .u64 to, .param .u32 n)\n{{
        .reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<4>; .shared .b32 s; .local .b32 l;
        ld.param.u64 %rd1, [to]; ld.param.u32 %r9, [n]; mov.u32 %r1, 0; mov.u32 %r2, 1; {bound}
        L: mad.lo.u32 %r2, %r2, 5, %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r3; @%p1 bra L;
        st.global.u32 [%rd1+4], %r2; ret;\n}}\n"
    )
}

/// Whether the first launch of so many threads is compiled.
fn compiled(bound: &str, n: u32, threads: u32) -> bool {
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, &text(bound), "k.ptx").unwrap();
    let buffer = context.alloc(256).unwrap();
    context.copy_to_device(buffer, &n.to_le_bytes()).unwrap();
    let config = LaunchConfig {
        block: [threads, 1, 1],
        args: vec![KernelArg::Pointer(buffer), KernelArg::Bytes(n.to_le_bytes().to_vec())],
        ..LaunchConfig::default()
    };
    let stats = context.launch(&module, "k", config).unwrap();
    let mut bytes = [0; 4];
    context.copy_from_device(buffer.offset(4), &mut bytes).unwrap();
    let wanted = (0..n.max(1)).fold(1u32, |x, i| x.wrapping_mul(5).wrapping_add(i));
    assert_eq!(u32::from_le_bytes(bytes), wanted, "{bound}");
    match stats.engine {
        Engine::Compiled(_) => true,
        Engine::Interpreter => false,
        Engine::Fallback(why) => panic!("{why}"),
    }
}

#[test]
fn long_loops_are_compiled_at_once_wherever_their_bound_comes_from() {
    for bound in [
        "mov.u32 %r3, %r9;",
        "ld.global.u32 %r3, [%rd1];",
        "ld.u32 %r3, [%rd1];",
        "st.local.u32 [l], %r9; ld.local.u32 %r3, [l];",
        "st.global.u32 [%rd1+8], %r9; ld.global.u32 %r3, [%rd1+8];",
        "setp.eq.u32 %p2, %r9, 77; @!%p2 mov.u32 %r3, %r9; @%p2 mov.u32 %r3, 77;",
    ] {
        assert!(compiled(bound, 1_000_000, 1), "{bound}");
        assert!(!compiled(bound, 100, 1), "{bound}");
    }
}

/// A call by registers and one by parameter memory, one in the other.
const CALLS: &str = "call.uni (%r3), by_register, (%r9);";

#[test]
fn a_thread_that_is_alone_knows_all() {
    for bound in [
        "st.shared.u32 [s], %r9; bar.sync 0; ld.shared.u32 %r3, [s];",
        "st.shared.u32 [s], 0; atom.shared.add.u32 %r4, [s], %r9; ld.shared.u32 %r3, [s];",
        "atom.global.add.u32 %r3, [%rd1], 0;",
        CALLS,
    ] {
        assert!(compiled(bound, 1_000_000, 1), "{bound}");
        assert!(!compiled(bound, 100, 1), "{bound}");
    }
    assert!(compiled(CALLS, 1_000_000, 2));
}

#[test]
fn what_other_threads_write_is_not_guessed() {
    let shared = "st.shared.u32 [s], %r9; bar.sync 0; ld.shared.u32 %r3, [s];";
    assert!(!compiled(shared, 50_000, 2));
    let atomic = "atom.global.add.u32 %r3, [%rd1], 0;";
    assert!(!compiled(atomic, 50_000, 2));
}
