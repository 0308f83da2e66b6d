//! Timing classes: groups of PTX instructions that cost the same on every generation we model.

use serde::{Deserialize, Serialize};

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Timing class of a PTX instruction. A profile gives latency and throughput per class;
        /// an instruction of several machine instructions on some generation (division, 64-bit
        /// multiply) is one class whose profile entry holds the expansion's cost.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
        pub enum Class {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Class {
            /// Every class.
            pub const ALL: &'static [Class] = &[$(Class::$variant,)*];

            /// Name as in the profiles.
            pub const fn name(self) -> &'static str {
                match self { $(Class::$variant => $name,)* }
            }
        }
    };
}

classes! {
    /// 32-bit integer add and subtract, 16-bit too.
    IntAdd = "int-add",
    /// 64-bit integer add and subtract.
    IntAdd64 = "int-add64",
    /// `mul24`, `mad24`.
    IntMul24 = "int-mul24",
    /// `mul.lo` and `mad.lo` of 32 bits, `mul.wide` of 16.
    IntMul = "int-mul",
    /// `mul.wide` and `mad.wide` of 32 bits.
    IntMulWide = "int-mul-wide",
    /// `mul.hi` and `mad.hi` of 32 bits.
    IntMulHi = "int-mul-hi",
    /// `mul.lo` of 64 bits.
    IntMul64 = "int-mul64",
    /// `mul.hi` of 64 bits.
    IntMulHi64 = "int-mul-hi64",
    /// Division and remainder of 32 bits and fewer.
    IntDiv = "int-div",
    /// Division and remainder of 64 bits.
    IntDiv64 = "int-div64",
    /// Integer minimum, maximum, absolute value, `sad`.
    IntMinMax = "int-minmax",
    /// `and`, `or`, `xor`, `not`, `lop3`.
    Logic = "logic",
    /// 32-bit shifts, `shf`, `prmt`.
    Shift = "shift",
    /// 64-bit shifts.
    Shift64 = "shift64",
    /// `bfe`, `bfi`.
    Bitfield = "bitfield",
    /// `popc`, `clz`, `brev`, `bfind`.
    BitCount = "bit-count",
    /// `dp4a`, `dp2a`.
    Dot = "dot",
    /// Single-precision add and subtract.
    F32Add = "f32-add",
    /// Single-precision multiply.
    F32Mul = "f32-mul",
    /// Single-precision `mad` and `fma`.
    F32Fma = "f32-fma",
    /// Single-precision minimum, maximum.
    F32MinMax = "f32-minmax",
    /// `rcp.approx`.
    F32RcpApprox = "f32-rcp-approx",
    /// `sqrt.approx`.
    F32SqrtApprox = "f32-sqrt-approx",
    /// `rsqrt.approx`.
    F32Rsqrt = "f32-rsqrt",
    /// `ex2`, `tanh`.
    F32Ex2 = "f32-ex2",
    /// `lg2`.
    F32Lg2 = "f32-lg2",
    /// `sin`, `cos`.
    F32SinCos = "f32-sincos",
    /// `div.approx`, `div.full`.
    F32DivApprox = "f32-div-approx",
    /// Correctly rounded division.
    F32Div = "f32-div",
    /// Correctly rounded reciprocal.
    F32Rcp = "f32-rcp",
    /// Correctly rounded square root.
    F32Sqrt = "f32-sqrt",
    /// Double-precision add, subtract, multiply.
    F64Add = "f64-add",
    /// Double-precision multiply-add.
    F64Fma = "f64-fma",
    /// Double-precision minimum, maximum.
    F64MinMax = "f64-minmax",
    /// Double-precision division.
    F64Div = "f64-div",
    /// Double-precision reciprocal.
    F64Rcp = "f64-rcp",
    /// Double-precision square root and reciprocal square root.
    F64Sqrt = "f64-sqrt",
    /// Arithmetic on one or two 16-bit floats.
    F16 = "f16",
    /// `ex2`, `tanh` on 16-bit floats.
    F16Mufu = "f16-mufu",
    /// `setp`, `set`, `testp`, `slct` of 32 bits and fewer.
    Compare = "compare",
    /// Comparison of doubles or 64-bit integers.
    Compare64 = "compare64",
    /// `selp`.
    Select = "select",
    /// `mov`, `cvta` and conversions that only move bits.
    Move = "move",
    /// Reading a special register.
    SpecialRegister = "special-register",
    /// Conversion between integers of up to 32 bits.
    ConvertInt = "convert-int",
    /// Conversion between 32-bit integers and floats, rounding to an integer.
    Convert = "convert",
    /// Conversion from or to 64-bit types.
    Convert64 = "convert64",
    /// Conversion between f32 and 16-bit floats.
    ConvertF16 = "convert-f16",
    /// Branch, call, return, exit.
    Branch = "branch",
    /// `bar`, `barrier`.
    Barrier = "barrier",
    /// `bar.warp.sync`, `nanosleep`, `nop`-like instructions.
    WarpSync = "warp-sync",
    /// `membar.cta`, `fence.cta`.
    FenceBlock = "fence-block",
    /// `membar.gl`, `membar.sys`, `fence.gpu`, `fence.sys`.
    FenceDevice = "fence-device",
    /// `shfl`.
    Shuffle = "shuffle",
    /// `vote`, `activemask`.
    Vote = "vote",
    /// `match`.
    Match = "match",
    /// `redux`.
    Redux = "redux",
    /// `ld` and `ldu` of global or generic memory; latency comes from the memory model.
    LoadGlobal = "load-global",
    /// `st` to global or generic memory.
    StoreGlobal = "store-global",
    /// `atom` and `red` on global memory.
    AtomicGlobal = "atomic-global",
    /// `ld.shared`.
    LoadShared = "load-shared",
    /// `st.shared`.
    StoreShared = "store-shared",
    /// `atom` and `red` on shared memory.
    AtomicShared = "atomic-shared",
    /// `ld.const`, and `ld.param` where parameters live in constant memory.
    LoadConst = "load-const",
    /// A kernel argument or launch size that is loaded from constant memory.
    LoadParam = "load-param",
    /// `tex`, `tld4`, `suld`.
    Texture = "texture",
    /// `ldmatrix`, `stmatrix`.
    LoadMatrix = "load-matrix",
    /// `mma` of the smaller shapes: m16n8k8 f16, m16n8k4 tf32, m16n8k16 s8.
    MmaSmall = "mma-small",
    /// `mma` of the larger shapes: m16n8k16 f16 and bf16, m16n8k8 tf32, m16n8k32 s8.
    MmaLarge = "mma-large",
    /// `mma` of doubles.
    MmaF64 = "mma-f64",
}

impl Class {
    /// Whether the instruction accesses memory, so that its event carries lane addresses.
    pub const fn is_memory(self) -> bool {
        use Class::*;
        matches!(
            self,
            LoadGlobal
                | StoreGlobal
                | AtomicGlobal
                | LoadShared
                | StoreShared
                | AtomicShared
                | LoadConst
                | Texture
                | LoadMatrix
        )
    }
}
