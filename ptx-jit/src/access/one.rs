//! One element of one lane.

use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::Mem;

use crate::clif::plain;
use crate::generator::Gen;

/// One element as a scalar of its kind.
pub(super) fn load_one(g: &mut Gen<'_, '_>, m: &Mem, kind: Kind, p: Value, at: i32) -> Value {
    let ty = if kind == Kind::D { I64 } else { I32 };
    match (m.bytes, m.signed) {
        (1, false) => g.b.ins().uload8(ty, plain(), p, at),
        (1, true) => g.b.ins().sload8(ty, plain(), p, at),
        (2, false) => g.b.ins().uload16(ty, plain(), p, at),
        (2, true) => g.b.ins().sload16(ty, plain(), p, at),
        (4, false) if kind == Kind::D => g.b.ins().uload32(plain(), p, at),
        (4, true) if kind == Kind::D => g.b.ins().sload32(plain(), p, at),
        _ => g.b.ins().load(ty, plain(), p, at),
    }
}

/// Writes the low bytes of a scalar.
pub(super) fn store_one(g: &mut Gen<'_, '_>, m: &Mem, v: Value, p: Value, at: i32) {
    match m.bytes {
        // 16 bits would be a mask.
        1 if g.form.words() => {
            g.b.ins().istore8(plain(), v, p, at);
        }
        2 if g.form.words() => {
            g.b.ins().istore16(plain(), v, p, at);
        }
        1 => {
            let v = g.b.ins().ireduce(I8, v);
            g.b.ins().store(plain(), v, p, at);
        }
        2 => {
            let v = g.b.ins().ireduce(I16, v);
            g.b.ins().store(plain(), v, p, at);
        }
        4 if g.b.func.dfg.value_type(v) == I64 => {
            let v = g.b.ins().ireduce(I32, v);
            g.b.ins().store(plain(), v, p, at);
        }
        _ => {
            g.b.ins().store(plain(), v, p, at);
        }
    }
}
