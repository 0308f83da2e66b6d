//! Small kernels of which a test writes the inside.
#![allow(dead_code)]

use ptx_isa::Class;
use ptx_timing::Catalog;
use ptx_timing::code::KernelCode;

/// The kernel whose instructions these are: `%rd1` and `%rd2` are arguments, `%r1` differs between lanes, `%r2` does
/// not.
pub fn kernel(body: &str) -> (u32, KernelCode) {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n) \
         {{\n.reg .u64 %rd<30>; .reg .u32 %r<90>; .reg .f32 %f<900>; .reg .pred %p<9>; .shared .align 4 .b8 s[4096];\n\
         .shared .align 4 .b8 t[4096];\n\
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n];\n\
         mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; shl.b32 %r3, %r1, 2;\n\
         mov.u32 %r4, s; add.u32 %r5, %r3, %r4; ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd4+4096];\n\
         {body}\nst.global.f32 [%rd5], %f1;\nret; }}\n"
    );
    translate(&text)
}

/// The estimated registers and the code of a module's kernel `k`.
pub fn translate(text: &str) -> (u32, KernelCode) {
    translate_on(text, "k", "H200")
}

/// The same of a kernel by name, on a device.
pub fn translate_on(text: &str, name: &str, device: &str) -> (u32, KernelCode) {
    let (module, diags) = ptx_parse::parse_and_verify(text, "k.ptx");
    assert!(diags.iter().all(|d| !d.is_error()), "{diags:?}");
    let module = module.unwrap();
    let entry = ptx_parse::lower::entry_index(&module, name).unwrap();
    let program = ptx_parse::lower::lower(&module, entry).unwrap();
    let profile = Catalog::embedded().unwrap().get(device).unwrap();
    let code = KernelCode::new(&program, &profile.assembler);
    (ptx_timing::registers::estimate(&profile, &program, &code), code)
}

pub fn chain(count: usize) -> String {
    (0..count).map(|i| format!("fma.rn.f32 %f1, %f1, %f2, 0f3F{:02X}0000;\n", 10 + i)).collect()
}

/// Instructions of a kernel by class, without those around what is asked.
pub fn count(body: &str, class: Class) -> usize {
    kernel(body).1.code.instructions.iter().filter(|i| i.class == class).count()
}

/// Where a thread reads and where it writes.
pub const POINTERS: &str = "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r1, %tid.x;\n\
    mul.wide.u32 %rd3, %r1, 16; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;\n";

/// What the model makes of a kernel with this body.
pub fn estimate(body: &str) -> (u32, usize) {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(\
         .param .u64 p, .param .u32 n, .param .u64 q) {{\n\
         .reg .u64 %rd<30>; .reg .b32 %r<30>; .reg .f32 %f<90>; .reg .pred %p<9>;\n{body}\nret; }}\n"
    );
    estimate_on(&text, "k", "H200")
}

/// Registers and instructions of a module's kernel on a device.
pub fn estimate_on(text: &str, name: &str, device: &str) -> (u32, usize) {
    let (registers, code) = translate_on(text, name, device);
    (registers, code.code.instructions.len())
}
