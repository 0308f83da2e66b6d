//! Registers that the model gives a text.
#![allow(dead_code)]

use ptx_timing::Catalog;
use ptx_timing::code::KernelCode;

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

/// What the model makes of a module's kernel on a device: registers and instructions.
pub fn estimate_on(text: &str, name: &str, device: &str) -> (u32, usize) {
    let (module, diags) = ptx_parse::parse_and_verify(text, "k.ptx");
    assert!(diags.iter().all(|d| !d.is_error()), "{diags:?}");
    let module = module.unwrap();
    let entry = ptx_parse::lower::entry_index(&module, name).unwrap();
    let program = ptx_parse::lower::lower(&module, entry).unwrap();
    let profile = Catalog::embedded().unwrap().get(device).unwrap();
    let code = KernelCode::new(&program, &profile.assembler);
    let registers = ptx_timing::registers::estimate(&profile, &program, &code);
    (registers, code.code.instructions.len())
}
