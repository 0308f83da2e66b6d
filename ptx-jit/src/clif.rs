//! Words of Cranelift's form that all of its writers use.

use cranelift_codegen::ir::types::{I16X8, I32, I64};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Opcode, Type, Value, ValueDef};
use cranelift_frontend::FunctionBuilder;

/// An access of memory that does not fault.
pub(crate) fn plain() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_endianness(Endianness::Little)
}

/// A cast, for which the order of bytes must be told.
pub(crate) fn cast() -> MemFlagsData {
    MemFlagsData::new().with_endianness(Endianness::Little)
}

/// Offset of a field of the context.
macro_rules! at {
    ($field:ident) => {
        std::mem::offset_of!(Ctx, $field) as i32
    };
}
pub(crate) use at;

/// A constant vector of words.
pub(crate) fn vconst32(b: &mut FunctionBuilder, c: &[u32]) -> Value {
    vconst(b, I32, c.len(), c.iter().flat_map(|x| x.to_le_bytes()).collect())
}

/// A constant vector of numbers of 64 bits.
pub(crate) fn vconst64(b: &mut FunctionBuilder, c: &[u64]) -> Value {
    vconst(b, I64, c.len(), c.iter().flat_map(|x| x.to_le_bytes()).collect())
}

fn vconst(b: &mut FunctionBuilder, lane: Type, lanes: usize, bytes: Vec<u8>) -> Value {
    let k = b.func.dfg.constants.insert(bytes.into());
    b.ins().vconst(vector(lane, lanes), k)
}

/// The type of a vector of 2, 4, 8 or 16 lanes.
pub(crate) fn vector(lane: Type, lanes: usize) -> Type {
    lane.by(lanes as u32).expect("vectors have up to 512 bits")
}

/// The bits of `v` as another type; what was cast before is not cast back and forth.
pub(crate) fn as_type(b: &mut FunctionBuilder, v: Value, ty: Type) -> Value {
    if b.func.dfg.value_type(v) == ty {
        return v;
    }
    if let ValueDef::Result(inst, _) = b.func.dfg.value_def(v)
        && b.func.dfg.insts[inst].opcode() == Opcode::Bitcast
    {
        let from = b.func.dfg.inst_args(inst)[0];
        if b.func.dfg.value_type(from) == ty {
            return from;
        }
    }
    b.ins().bitcast(ty, cast(), v)
}

/// What `v` was cast from, if it was.
pub(crate) fn before_cast(b: &FunctionBuilder, v: Value) -> Value {
    match b.func.dfg.value_def(v) {
        ValueDef::Result(inst, _) if b.func.dfg.insts[inst].opcode() == Opcode::Bitcast => {
            b.func.dfg.inst_args(inst)[0]
        }
        _ => v,
    }
}

/// Sign- or zero-extends 8 or 16 loaded bytes' halves to 32-bit lanes.
pub(crate) fn widen16(b: &mut FunctionBuilder, v: Value, signed: bool) -> Value {
    let v = b.ins().bitcast(I16X8, cast(), v);
    if signed { b.ins().swiden_low(v) } else { b.ins().uwiden_low(v) }
}
