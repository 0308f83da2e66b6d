//! How wide address registers may be and in which space variables lie, beside ptxas 13.5's verdicts.

/// Statement, target, and whether ptxas accepts it.
const VERDICTS: &[(&str, &str, bool)] = &[
    // Tensor Memory: a register of 32 bits, with an offset or without.
    ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [%r1];", "sm_100a", true),
    ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [%r1+16];", "sm_100a", true),
    ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [%rd1];", "sm_100a", false),
    ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [%h1];", "sm_100a", false),
    ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [sm];", "sm_100a", false),
    ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [gg+4];", "sm_100a", false),
    ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [0];", "sm_100a", false),
    ("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r3, %p1;", "sm_100a", true),
    ("tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r1], %rd2, %r3, %p1;", "sm_100a", true),
    ("tcgen05.mma.cta_group::1.kind::f16 [%rd1], %rd1, %rd2, %r3, %p1;", "sm_100a", false),
    ("tcgen05.cp.cta_group::1.128x256b [%r1], %rd2;", "sm_100a", true),
    ("tcgen05.cp.cta_group::1.128x256b [%rd1], %rd2;", "sm_100a", false),
    ("tcgen05.shift.cta_group::1.down [%r1];", "sm_100a", true),
    ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;", "sm_100a", true),
    ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %rd1, 32;", "sm_100a", false),
    // What is in shared memory, without a word that says so.
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r1], 32;", "sm_100a", true),
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd1], 32;", "sm_100a", true),
    ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%r1];", "sm_100a", true),
    ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd1];", "sm_100a", true),
    (
        "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%r1], [%r1];",
        "sm_100a",
        true,
    ),
    // Tensor copies: the map is the second memory operand, the mbarrier lies in shared memory.
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3,%r3}], [%r1];",
        "sm_90a",
        true,
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], [%rd1, {%r3,%r3}], [%rd1];",
        "sm_90a",
        true,
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%r1, {%r3,%r3}], [%r1];",
        "sm_90a",
        true,
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [gg, {%r3,%r3}], [b];",
        "sm_90a",
        true,
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [tm, {%r3,%r3}], [b];",
        "sm_90a",
        false,
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [gg], [gg, {%r3,%r3}], [b];",
        "sm_90a",
        false,
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [gg, {%r3,%r3}], [gg];",
        "sm_90a",
        false,
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [sm, {%r3,%r3}], [b];",
        "sm_90a",
        false,
    ),
    (
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r3,%r3}], [%r1];",
        "sm_90a",
        true,
    ),
    (
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r3,%r3}], [sm];",
        "sm_90a",
        true,
    ),
    (
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r3,%r3}], [gg];",
        "sm_90a",
        false,
    ),
    ("cp.async.bulk.prefetch.tensor.2d.L2.global [%r1, {%r3,%r3}];", "sm_90a", true),
    // Other asynchronous copies.
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r1];",
        "sm_90a",
        true,
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%r1], 16, [%r1];",
        "sm_90a",
        true,
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [gg];",
        "sm_90a",
        false,
    ),
    ("cp.async.bulk.prefetch.L2.global [%r1], 16;", "sm_90a", true),
    ("cp.async.ca.shared.global [%r1], [%r3], 4;", "sm_90a", true),
    ("cp.async.mbarrier.arrive.b64 [%r1];", "sm_90a", true),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r3, [%r1];",
        "sm_90a",
        true,
    ),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r3, [%rd1];",
        "sm_90a",
        true,
    ),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r3, [gg];",
        "sm_90a",
        false,
    ),
    ("ldmatrix.sync.aligned.m8n8.x1.b16 {%r3}, [%r1];", "sm_90a", true),
    ("tensormap.replace.tile.global_address.global.b1024.b64 [%r1], %rd1;", "sm_90a", true),
    ("fence.proxy.tensormap::generic.acquire.gpu [%r1], 128;", "sm_90a", true),
    // Where the width of addresses is the module's.
    ("mbarrier.init.shared.b64 [%r1], 1;", "sm_90a", true),
    ("mbarrier.init.b64 [%r1], 1;", "sm_90a", false),
    ("ld.global.u32 %r3, [%r1];", "sm_90a", false),
    ("ld.u32 %r3, [%r1];", "sm_90a", false),
    ("atom.global.add.u32 %r3, [%r1], 1;", "sm_90a", false),
    ("red.add.u32 [%r1], 1;", "sm_90a", false),
    ("prefetch.L1 [%r1];", "sm_90a", false),
    ("discard.global.L2 [%r1], 128;", "sm_90a", false),
    ("multimem.red.relaxed.sys.global.add.u32 [%r1], %r3;", "sm_90a", false),
];

#[test]
fn address_operands_as_ptxas_judges_them() {
    let mut wrong = Vec::new();
    for &(statement, target, accepted) in VERDICTS {
        let text = format!(
            ".version 9.0\n.target {target}\n.address_size 64\n.extern .shared .align 128 .b8 sm[];\n\
             .global .align 64 .b8 gg[128];\n.visible .entry k(.param .u64 m, .param .align 64 .b8 tm[128]) {{\n\
             .reg .b64 %rd<9>; .reg .b32 %r<12>; .reg .b16 %h<4>; .reg .pred %p<3>; .shared .align 8 .b64 b;\n\
             ld.param.u64 %rd1, [m]; mov.b32 %r1, 0; mov.b32 %r3, 0; mov.b64 %rd2, 0;\n\
             setp.eq.u32 %p1, %r1, 0; mov.b16 %h1, 1;\n{statement}\nret; }}\n"
        );
        let (_, diags) = ptx_parse::parse_and_verify(&text, "text");
        let errors: Vec<&str> =
            diags.iter().filter(|d| d.is_error()).map(|d| d.message.as_str()).collect();
        if errors.is_empty() != accepted {
            wrong.push(format!(
                "{statement} [{target}]: ptxas accepts: {accepted}; ours: {errors:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
