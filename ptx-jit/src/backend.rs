//! From the middle form to machine code: Cranelift's form, and the back end that the form of vectors asks for.

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::isa::{TargetFrontendConfig, TargetIsa};
use cranelift_codegen::settings;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use ptx_parse::code::Program;

use crate::blob::MachineCode;
use crate::form::Backend;
use crate::form::Form;
use crate::layout::Layout;
use crate::middle::{Middle, middle};
use crate::options::Options;
use crate::range::Assumptions;
use crate::thunk::{self, Thunks};
use crate::unsupported::Unsupported;
use crate::{emit, processor, x86};

/// Values of Cranelift's form beyond which its allocation of registers takes minutes: masks and homes of a thousand
/// blocks that are all live across each other.
const MOST_VALUES: usize = 2_000_000;

/// A kernel's machine code, and what it was made of.
pub(crate) struct Compiled {
    pub middle: Middle,
    pub code: MachineCode,
    pub layout: Layout,
}

/// Code of the calls to helpers for a form of vectors, and where each begins.
pub(crate) fn thunks(form: Form) -> Result<&'static (Vec<u8>, Thunks), Unsupported> {
    match form.backend {
        Backend::Cranelift => thunk::thunks(),
        Backend::X86 => x86::thunks(form),
    }
}

/// Cranelift's form of the kernel.
pub(crate) fn clif(
    middle: &Middle,
    config: TargetFrontendConfig,
) -> Result<(Context, Layout), Unsupported> {
    let mut cx = Context::new();
    cx.func.signature.call_conv = config.default_call_conv;
    cx.func.signature.params.push(AbiParam::new(types::I64));
    cx.func.signature.returns.push(AbiParam::new(types::I64));
    let mut fcx = FunctionBuilderContext::new();
    let b = FunctionBuilder::new(&mut cx.func, &mut fcx);
    let layout = emit::emit(middle, b, processor::has_fma(), config);
    // Only Cranelift's own way from here on checks what it is given.
    if middle.form.backend != Backend::Cranelift && cfg!(debug_assertions) {
        let flags = settings::Flags::new(settings::builder());
        cranelift_codegen::verifier::verify_function(&cx.func, &flags)
            .map_err(|e| Unsupported::new(format!("{e}")))?;
    }
    if cx.func.dfg.num_values() > MOST_VALUES {
        return Err(Unsupported::new("more code than is compiled in a reasonable time"));
    }
    Ok((cx, layout))
}

/// The kernel's machine code, with the widest vectors that it can have here.
pub(crate) fn compiled(
    program: &Program,
    block: [u32; 3],
    assumed: &Assumptions,
    options: Options,
    isa: &dyn TargetIsa,
) -> Result<Compiled, Unsupported> {
    let best = middle(program, block, assumed, options, widest())?;
    if best.form.backend == Backend::X86 {
        let (mut cx, layout) = clif(&best, isa.frontend_config())?;
        if let Ok(code) = x86::compile(&mut cx, isa, best.form) {
            return Ok(Compiled { middle: best, code, layout });
        }
        // What has no form there has one here.
        let middle = middle(program, block, assumed, options, Form::CRANELIFT)?;
        return with_cranelift(middle, isa);
    }
    with_cranelift(best, isa)
}

/// The form with the most lanes that this processor and this process have.
pub(crate) fn widest() -> Form {
    x86::widest().unwrap_or(Form::CRANELIFT)
}

/// Bits of the vectors in code that this process compiles: the most of 512, 256 and 128 that the processor has what it
/// takes for and `PTXRUN_JIT_BITS` allows.
pub fn vector_bits() -> u32 {
    8 * widest().bytes() as u32
}

fn with_cranelift(middle: Middle, isa: &dyn TargetIsa) -> Result<Compiled, Unsupported> {
    let (mut cx, layout) = clif(&middle, isa.frontend_config())?;
    let compiled = cx
        .compile(isa, &mut ControlPlane::default())
        .map_err(|e| Unsupported::new(format!("{:?}", e.inner)))?;
    if !compiled.buffer.relocs().is_empty() {
        return Err(Unsupported::new("an instruction that this processor does not have"));
    }
    let places = compiled.buffer.get_srclocs_sorted().iter();
    let places = places.map(|p| (p.start, p.loc.bits())).collect();
    let bytes = compiled.code_buffer().to_vec();
    Ok(Compiled { middle, code: MachineCode { bytes, places }, layout })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use ptx_parse::lower::lower;

    use super::clif;
    use crate::form::Form;
    use crate::host::target;
    use crate::middle::middle;
    use crate::options::Options;
    use crate::range::Assumptions;

    fn files(at: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                files(&path, out);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                out.push(path);
            }
        }
    }

    /// Cranelift's verifier looks at the types of every instruction. Nearly all kernels have code of their own back end.
    fn kernels_are_well_typed(form: Form) {
        let (mut emitted, mut refused) = (0, 0);
        each_kernel(form, |name, result| match result {
            Ok(()) => emitted += 1,
            Err(why) => {
                println!("{form:?}: {name}: {why}");
                refused += 1;
            }
        });
        println!("{form:?}: {emitted} compiled, {refused} not");
        assert!(emitted > 50, "only {emitted} kernels");
        assert!(refused * 50 <= emitted, "{refused} of {emitted} kernels: see above");
    }

    #[test]
    fn kernels_with_256_bits_are_well_typed() {
        kernels_are_well_typed(Form::AVX2);
    }

    #[test]
    fn kernels_with_512_bits_are_well_typed() {
        kernels_are_well_typed(Form::AVX512);
    }

    /// Compiles kernels that take a form, each for several blocks.
    fn each_kernel(form: Form, mut done: impl FnMut(String, Result<(), String>)) {
        let mut all = Vec::new();
        for from in ["/../samples", "/tests", "/../ptx-interp/tests", "/../../shared/kernel-golden"]
        {
            files(Path::new(&format!("{}{from}", env!("CARGO_MANIFEST_DIR"))), &mut all);
        }
        for file in all {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let (Some(module), diags) = ptx_parse::parse_and_verify(&text, "test.ptx") else {
                continue;
            };
            if diags.iter().any(|d| d.is_error()) {
                continue;
            }
            for n in 0..module.functions.len() {
                if !module.functions[n].entry || module.functions[n].body.is_none() {
                    continue;
                }
                let Ok(program) = lower(&module, n as u32) else { continue };
                for block in [[128, 1, 1], [16, 16, 1], [10, 7, 1]] {
                    let (assumed, options) = (Assumptions::none(), Options::default());
                    let made = middle(&program, block, &assumed, options, form);
                    let Ok(made) = made else { continue };
                    if made.form != form {
                        continue;
                    }
                    let name = format!("{} {block:?} {n}", file.display());
                    let isa = target().unwrap();
                    let (mut cx, _) = clif(&made, isa.frontend_config())
                        .unwrap_or_else(|e| panic!("{name}: {e}"));
                    done(name, crate::x86::compile(&mut cx, isa, made.form).map(|_| ()));
                }
            }
        }
    }
}
