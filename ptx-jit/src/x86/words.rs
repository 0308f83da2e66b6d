//! Operations of 512-bit vectors for which Cranelift's form has no word: calls of functions that are nowhere defined
//! and that [`super::select`] turns into instructions.
//!
//! Sixteen lanes of 32 bits are an `i32x16` (W), of 64 bits two `i64x8` (D: the lower eight lanes, the upper eight).
//! A mask (M) is an `i16`, one bit per lane, and lies in a mask register; of 64-bit lanes only the lower eight bits
//! count. An `i16` is never anything else in this form.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, Function, Inst, InstBuilder, InstructionData,
    Signature, Type, UserExternalName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;

/// What a call stands for. `number` is the call's constant.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub(crate) enum Word {
    /// `(a, b) -> M`: integers compared; `number`: [`condition`].
    Compare,
    /// `(a, b) -> M`: floating-point numbers compared; `number`: [`float_condition`].
    CompareFloat,
    /// `(a, b) -> M`: lanes in which `a & b` is not 0.
    Test,
    /// `(M, a, b)`: `a` where the mask is on, `b` elsewhere; of any vector type.
    Blend,
    /// `(M) -> W`: all ones where the mask is on, 0 elsewhere.
    Ones,
    /// `(W) -> M`: the lanes' highest bits.
    Signs,
    /// `(W) -> I32`: the lanes' highest bits, one each.
    SignBits,
    /// `(I8) -> M`: every lane on where the scalar is not 0.
    Full,
    /// `(M, M) -> M`: eight lanes of each, the first ones low.
    Join,
    /// `(D, D) -> W`: the lower (`number` 0) or upper (1) 32 bits of sixteen lanes.
    Halves,
    /// `(W) -> D`: eight lanes extended to 64 bits; `number`: bit 0 by their sign, bit 1 the upper eight lanes.
    Widen,
    /// `(a, b, c)`: bitwise; bit `4a + 2b + c` of `number`.
    Ternary,
    /// `(x)`: turned left by `number` bits.
    Rotate,
    /// `(x, amounts)`: shifted left (`number` 0), right (1), right with the sign (2). Amounts of the width or more give
    /// 0, or the sign.
    ShiftEach,
    /// `(W, W, W) -> W`: words of the first two by the numbers in the third: 0 to 15 are the first one's.
    Permute,
    /// `(I64) -> W`: sixteen elements of `number & 255` bytes (1, 2) at an address; bit 8: by their sign.
    LoadNarrow,
    /// `(W, I64)`: the low `number` bytes (1, 2) of each lane to sixteen places side by side.
    StoreNarrow,
    /// `(M, I64) -> W or D`: lanes of `number` bytes (4, 8) at an address; 0 where the mask is off, where nothing is
    /// read.
    LoadMasked,
    /// `(M, x, I64)`: lanes that are on, W or D.
    StoreMasked,
    /// `(M, base I64, index W) -> W or D`: elements of `number & 255` bytes (4, 8) at `base + (index << shift)`, the
    /// index as a signed number; `shift`: bits 8 to 15; bit 16: by the upper eight lanes of the index (8 bytes). 0
    /// where the mask is off.
    Gather,
    /// `(M, D) -> D`: elements of 8 bytes at eight addresses. 0 where the mask is off.
    GatherLong,
    /// `(M, D, D) -> W`: elements of 4 bytes at sixteen addresses. 0 where the mask is off.
    GatherWords,
    /// `(base I64, index W) -> W`: elements of `number & 255` bytes (1, 2), without their sign, at `base + (index <<
    /// shift)`, the index as a number without a sign; `shift`: bits 8 to 15.
    GatherNarrow,
    /// `(D, D) -> W`: elements of `number` bytes (1, 2) at sixteen addresses, without their sign.
    GatherNarrowAt,
    /// `(M, base I64, index W, x)`: as [`Word::Gather`], the other way, in the order of the lanes.
    Scatter,
    /// `(M, D, x D)`: elements of 8 bytes to eight addresses, in the order of the lanes.
    ScatterLong,
    /// `(M, D, D, x W)`: elements of 4 bytes to sixteen addresses, in the order of the lanes.
    ScatterWords,
    /// `(base I64, index W, x W)`: as [`Word::GatherNarrow`], the other way, in the order of the lanes.
    ScatterNarrow,
    /// `(D, D, x W)`: the low `number` bytes (1, 2) of words to sixteen addresses, in the order of the lanes.
    ScatterNarrowAt,
    /// `(16 x I32) -> W` or `(8 x I64) -> D`.
    Pack,
    /// `(W) -> D`: eight signed integers as `f64`; `number` 1: the upper eight lanes.
    DoubleOfInt,
    /// `(W) -> D`: numbers of 32 bits as such of 64; `number` 1: the upper lanes.
    DoubleOfSingle,
    /// `(D, D) -> W`: numbers of 64 bits as such of 32.
    SingleOfDoubles,
    /// `(D, D) -> W`: numbers of 64 bits cut to integers; the least one where they are too large, too small or none.
    IntOfDoubles,
    /// `(x)`: leading zeros of each lane, W or D; CLIF's own word is for scalars.
    LeadingZeros,
    /// `(D, D) -> D`: the product of the lower 32 bits of each lane, taken without (`number` 0) or with their sign (1).
    Product,
}

impl Word {
    /// By number.
    pub(crate) const ALL: [Word; 36] = {
        use Word::*;
        [
            Compare,
            CompareFloat,
            Test,
            Blend,
            Ones,
            Signs,
            SignBits,
            Full,
            Join,
            Halves,
            Widen,
            Ternary,
            Rotate,
            ShiftEach,
            Permute,
            LoadNarrow,
            StoreNarrow,
            LoadMasked,
            StoreMasked,
            Gather,
            GatherLong,
            GatherWords,
            GatherNarrow,
            GatherNarrowAt,
            Scatter,
            ScatterLong,
            ScatterWords,
            ScatterNarrow,
            ScatterNarrowAt,
            Pack,
            DoubleOfInt,
            DoubleOfSingle,
            SingleOfDoubles,
            IntOfDoubles,
            LeadingZeros,
            Product,
        ]
    };

    /// Whether memory is written.
    pub(crate) fn stores(self) -> bool {
        use Word::*;
        matches!(
            self,
            StoreNarrow
                | StoreMasked
                | Scatter
                | ScatterLong
                | ScatterWords
                | ScatterNarrow
                | ScatterNarrowAt
        )
    }
}

/// The number of [`Word::Compare`] for a condition: that of the instruction, and bit 3 for unsigned numbers.
pub(crate) fn condition(cc: IntCC) -> u32 {
    match cc {
        IntCC::Equal => 0,
        IntCC::SignedLessThan => 1,
        IntCC::SignedLessThanOrEqual => 2,
        IntCC::NotEqual => 4,
        IntCC::SignedGreaterThanOrEqual => 5,
        IntCC::SignedGreaterThan => 6,
        IntCC::UnsignedLessThan => 9,
        IntCC::UnsignedLessThanOrEqual => 10,
        IntCC::UnsignedGreaterThanOrEqual => 13,
        IntCC::UnsignedGreaterThan => 14,
    }
}

/// The number of [`Word::CompareFloat`]: that of the instruction.
pub(crate) fn float_condition(cc: FloatCC) -> Option<u32> {
    Some(match cc {
        FloatCC::Equal => 0,
        FloatCC::LessThan => 0x11,
        FloatCC::LessThanOrEqual => 0x12,
        FloatCC::Unordered => 3,
        FloatCC::NotEqual => 4,
        FloatCC::OrderedNotEqual => 0x0c,
        FloatCC::Ordered => 7,
        FloatCC::GreaterThan => 0x1e,
        FloatCC::GreaterThanOrEqual => 0x1d,
        _ => return None,
    })
}

/// Calls `word`; `result`: the type of what it gives.
pub(crate) fn call(
    b: &mut FunctionBuilder,
    word: Word,
    number: u32,
    args: &[Value],
    result: Option<Type>,
) -> Option<Value> {
    let f = function(b, word, number, args, result);
    let call = b.ins().call(f, args);
    b.inst_results(call).first().copied()
}

fn function(
    b: &mut FunctionBuilder,
    word: Word,
    number: u32,
    args: &[Value],
    result: Option<Type>,
) -> FuncRef {
    let mut sig = Signature::new(CallConv::SystemV);
    sig.params.extend(args.iter().map(|a| AbiParam::new(b.func.dfg.value_type(*a))));
    sig.returns.extend(result.map(AbiParam::new));
    let signature = b.import_signature(sig);
    let name = b
        .func
        .declare_imported_user_function(UserExternalName { namespace: word as u32, index: number });
    b.import_function(ExtFuncData {
        name: ExternalName::user(name),
        signature,
        colocated: true,
        patchable: false,
    })
}

/// The word that a call stands for, and its number.
pub(super) fn word(f: &Function, i: Inst) -> Option<(Word, u32)> {
    let InstructionData::Call { func_ref, .. } = f.dfg.insts[i] else { return None };
    let ExternalName::User(name) = f.dfg.ext_funcs[func_ref].name else { return None };
    let name = &f.params.user_named_funcs()[name];
    Some((*Word::ALL.get(name.namespace as usize)?, name.index))
}

/// The type of masks.
pub(crate) const MASK: Type = types::I16;
