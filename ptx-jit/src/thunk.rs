//! Calls from compiled code to helpers that keep every register.
//!
//! A plain call loses all vector registers, so that values around a path that is hardly ever taken would live in
//! memory. A thunk saves what its helper may change.

use std::mem::offset_of;
use std::sync::OnceLock;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Value};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::clif::plain;
use crate::ctx::Ctx;
use crate::host::target;
use crate::unsupported::Unsupported;

/// Where the thunks are: addresses, or offsets in code.
#[derive(Copy, Clone)]
pub(crate) struct Thunks {
    /// `(ctx, effect, site)`
    pub effect: usize,
    /// `(ctx)`
    pub refuel: usize,
    /// `(ctx, micro-op, constant, lanes)`
    pub lanes: usize,
}

/// Parameters of each thunk.
pub(crate) const EFFECT: usize = 3;
pub(crate) const REFUEL: usize = 1;
pub(crate) const LANES: usize = 4;

pub(crate) fn signature(params: usize, conv: CallConv) -> Signature {
    let mut s = Signature::new(conv);
    s.params.extend(std::iter::repeat_n(AbiParam::new(I64), params));
    s
}

impl Thunks {
    /// All moved by as much.
    pub(crate) fn behind(self, start: usize) -> Thunks {
        let Thunks { effect, refuel, lanes } = self;
        Thunks { effect: start + effect, refuel: start + refuel, lanes: start + lanes }
    }
}

/// Code of the thunks and where each begins. Every kernel brings them along, so that a process that finds all its code
/// in a cache compiles nothing.
pub(crate) fn thunks() -> Result<&'static (Vec<u8>, Thunks), Unsupported> {
    static ALL: OnceLock<Result<(Vec<u8>, Thunks), Unsupported>> = OnceLock::new();
    ALL.get_or_init(make).as_ref().map_err(Clone::clone)
}

fn make() -> Result<(Vec<u8>, Thunks), Unsupported> {
    let refuse = |e: String| Unsupported::new(e);
    let isa = target()?;
    let config = isa.frontend_config();
    let conv = config.default_call_conv;
    let mut all: Vec<u8> = Vec::new();
    let mut fcx = FunctionBuilderContext::new();
    type Body = fn(&mut FunctionBuilder, &[Value], CallConv);
    let mut define = |params: usize, body: Body| {
        let mut cx = Context::new();
        cx.func.signature = signature(params, CallConv::PreserveAll);
        let mut b = FunctionBuilder::new(&mut cx.func, &mut fcx);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let args = b.block_params(entry).to_vec();
        body(&mut b, &args, conv);
        b.ins().return_(&[]);
        b.seal_all_blocks();
        b.finalize(config);
        let compiled = cx
            .compile(isa, &mut ControlPlane::default())
            .map_err(|e| refuse(format!("{:?}", e.inner)))?;
        all.resize(all.len().next_multiple_of(64), 0);
        all.extend(compiled.code_buffer());
        Ok::<_, Unsupported>(all.len() - compiled.code_buffer().len())
    };
    let effect =
        define(EFFECT, |b, args, conv| helper(b, args, conv, offset_of!(Ctx, run_effect)))?;
    let refuel =
        define(REFUEL, |b, args, conv| helper(b, args, conv, offset_of!(Ctx, run_refuel)))?;
    let lanes = define(LANES, |b, args, conv| {
        let ctx = args[0];
        let mut sig = signature(6, conv);
        sig.call_conv = conv;
        let sig = b.import_signature(sig);
        let table = b.ins().load(I64, plain(), ctx, offset_of!(Ctx, lanes) as i32);
        let at = b.ins().ishl_imm_u(args[1], 3);
        let at = b.ins().iadd(table, at);
        let f = b.ins().load(I64, plain(), at, 0);
        let place = |b: &mut FunctionBuilder, o: usize| b.ins().iadd_imm_u(ctx, o as i64);
        let src = offset_of!(Ctx, src);
        let dst = place(b, offset_of!(Ctx, dst));
        let (x, y, z) = (place(b, src), place(b, src + 256), place(b, src + 512));
        b.ins().call_indirect(sig, f, &[dst, x, y, z, args[2], args[3]]);
    })?;
    Ok((all, Thunks { effect, refuel, lanes }))
}

/// Calls the helper at `field` of the context and leaves its answer in the context.
fn helper(b: &mut FunctionBuilder, args: &[Value], conv: CallConv, field: usize) {
    let mut sig = signature(args.len(), conv);
    sig.returns.push(AbiParam::new(I64));
    let sig = b.import_signature(sig);
    let f = b.ins().load(I64, plain(), args[0], field as i32);
    let call = b.ins().call_indirect(sig, f, args);
    let bad = b.inst_results(call)[0];
    b.ins().store(plain(), bad, args[0], offset_of!(Ctx, failed) as i32);
}
