//! How lanes lie in vectors.

use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use cranelift_frontend::FunctionBuilder;
use ptx_isa::Kind;

use crate::clif::{vconst32, vconst64, vector};
use crate::x86::words::{self, MASK, Word};

/// How lanes lie in vectors, what masks are, and who makes machine code of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Lanes of 32 bits of a vector: 4, 8 or 16. Lanes of 64 bits take two vectors.
    pub lanes: u8,
    pub masks: Masks,
    pub backend: Backend,
}

/// Predicates and masks of vectors.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Masks {
    /// Vectors of 32-bit lanes, all ones or zeros.
    Vectors,
    /// One bit a lane, in registers of their own.
    Bits,
}

/// Who turns Cranelift's form into machine code.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Cranelift,
    /// [`crate::x86`], which knows the words of [`crate::x86::words`] too.
    X86,
}

impl Form {
    /// 128-bit vectors, which Cranelift has on every processor.
    pub(crate) const CRANELIFT: Form =
        Form { lanes: 4, masks: Masks::Vectors, backend: Backend::Cranelift };
    /// 256-bit vectors.
    pub(crate) const AVX2: Form = Form { lanes: 8, masks: Masks::Vectors, backend: Backend::X86 };
    /// 512-bit vectors.
    pub(crate) const AVX512: Form = Form { lanes: 16, masks: Masks::Bits, backend: Backend::X86 };

    /// Lanes of a slice.
    pub(crate) fn lanes(self) -> usize {
        self.lanes.into()
    }
    /// Bytes of a vector.
    pub(crate) fn bytes(self) -> i32 {
        4 * i32::from(self.lanes)
    }
    /// Whether masks have one bit a lane.
    pub(crate) fn bit_masks(self) -> bool {
        self.masks == Masks::Bits
    }
    /// Whether there are words besides those of Cranelift.
    pub(crate) fn words(self) -> bool {
        self.backend == Backend::X86
    }
    /// Whether [`Word::Ternary`] is one of them.
    pub(crate) fn ternary(self) -> bool {
        self == Form::AVX512
    }
    /// Lanes of one vector of a kind.
    pub(crate) fn per(self, kind: Kind) -> usize {
        if kind == Kind::D { self.lanes() / 2 } else { self.lanes() }
    }
    pub(crate) fn w(self) -> Type {
        vector(I32, self.lanes())
    }
    pub(crate) fn d(self) -> Type {
        vector(I64, self.lanes() / 2)
    }
    pub(crate) fn f32(self) -> Type {
        vector(F32, self.lanes())
    }
    pub(crate) fn f64(self) -> Type {
        vector(F64, self.lanes() / 2)
    }
    /// Predicates and masks.
    pub(crate) fn p(self) -> Type {
        match self.masks {
            Masks::Vectors => self.w(),
            Masks::Bits => MASK,
        }
    }
    pub(crate) fn of(self, kind: Kind) -> Type {
        match kind {
            Kind::P => self.p(),
            Kind::W => self.w(),
            Kind::D => self.d(),
        }
    }
    /// The same 32 bits in every lane.
    pub(crate) fn same32(self, b: &mut FunctionBuilder, c: u32) -> Value {
        vconst32(b, &vec![c; self.lanes()])
    }
    /// The same 64 bits in every lane of half a slice.
    pub(crate) fn same64(self, b: &mut FunctionBuilder, c: u64) -> Value {
        vconst64(b, &vec![c; self.lanes() / 2])
    }
    /// Bits of the mask of all lanes.
    pub(crate) fn all_bits(self) -> i64 {
        (1 << self.lanes) - 1
    }
    /// The mask of all lanes, or of none.
    pub(crate) fn mask(self, b: &mut FunctionBuilder, on: bool) -> Value {
        match self.masks {
            Masks::Vectors => self.same32(b, if on { u32::MAX } else { 0 }),
            Masks::Bits => b.ins().iconst(MASK, if on { self.all_bits() } else { 0 }),
        }
    }
    /// A scalar condition in every lane.
    pub(crate) fn full(self, b: &mut FunctionBuilder, x: Value) -> Value {
        match self.masks {
            Masks::Vectors => {
                let m = b.ins().bmask(I32, x);
                b.ins().splat(self.w(), m)
            }
            Masks::Bits => word(b, Word::Full, 0, &[x], MASK),
        }
    }
}

/// A call of a word with a result.
pub(crate) fn word(
    b: &mut FunctionBuilder,
    word: Word,
    number: u32,
    args: &[Value],
    ty: Type,
) -> Value {
    words::call(b, word, number, args, Some(ty)).expect("a call has the result that it was given")
}
