//! Results of effects on their way through blocks.

use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Type, Value};
use ptx_isa::Kind;

use crate::generator::{Gen, Rep};
use crate::ir::Val;

/// The value of results where no lane executes the effect.
pub(super) fn zero(g: &mut Gen<'_, '_>, ty: Type) -> Value {
    match ty {
        ty if ty == g.form.w() => g.same32(0),
        ty if ty == g.form.d() => g.same64(0),
        ty => g.b.ins().iconst(ty, 0),
    }
}

/// Types of the values that result `d` consists of.
pub(super) fn result_types(g: &Gen<'_, '_>, d: Val) -> Vec<Type> {
    let n = g.slices();
    match (g.offsets(d).is_some(), g.kind(d)) {
        (true, Kind::P) => vec![I8],
        (true, Kind::W) => vec![I32],
        (true, Kind::D) => vec![I64],
        (false, Kind::D) => vec![g.form.d(); 2 * n],
        (false, kind) => vec![g.form.of(kind); n],
    }
}

/// Defines the results, behind the guard's join if there is one.
pub(super) fn finish(g: &mut Gen<'_, '_>, e: u32, out: Vec<Rep>, stop: Option<Block>) {
    let dst = g.f.effects[e as usize].dst.clone();
    let mut out = out;
    if let Some(join) = stop {
        jump_with(g, join, &out);
        g.b.switch_to_block(join);
        let params = g.b.block_params(join).to_vec();
        out = regroup(g, &dst, &params);
    }
    for (d, r) in dst.into_iter().zip(out) {
        g.define(d, r);
    }
}

/// The results again of the values that they consist of.
pub(super) fn regroup(g: &Gen<'_, '_>, dst: &[Val], values: &[Value]) -> Vec<Rep> {
    let mut at = 0;
    dst.iter()
        .map(|d| {
            let n = result_types(g, *d).len();
            let part = values[at..at + n].to_vec();
            at += n;
            if g.offsets(*d).is_some() { Rep::Scalar(part[0]) } else { Rep::Slices(part) }
        })
        .collect()
}

/// Jumps to a block that takes the results.
pub(super) fn jump_with(g: &mut Gen<'_, '_>, to: Block, out: &[Rep]) {
    let mut pass = Vec::new();
    for r in out {
        match r {
            Rep::Scalar(x) => pass.push(BlockArg::Value(*x)),
            Rep::Slices(s) => pass.extend(s.iter().map(|x| BlockArg::Value(*x))),
        }
    }
    g.b.ins().jump(to, &pass);
}
