//! Timing classes: groups of instructions that cost the same on every generation of hardware.
//!
//! A [`Row`](crate::Row) says its class as a function of the chosen modifiers, because a 64-bit
//! multiplication costs something else than a 32-bit one. Where all forms of a row cost the same the
//! function is a constant (`|_| Class::Logic`); the functions below are the rules that several rows
//! share. Timing model and documentation ask nobody else.

use serde::{Deserialize, Serialize};

use crate::matched::Match;
use crate::types::Ty;

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Timing class of an instruction. A device profile gives latency and throughput per class;
        /// an instruction of several machine instructions on some generation (division, 64-bit
        /// multiply) is one class whose profile entry holds the expansion's cost.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
        pub enum Class {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Class {
            /// Every class.
            pub const ALL: &'static [Class] = &[$(Class::$variant,)*];

            /// Name as in device profiles and reports.
            pub const fn name(self) -> &'static str {
                match self { $(Class::$variant => $name,)* }
            }
        }
    };
}

classes! {
    /// 32-bit integer add and subtract, 16-bit too.
    IntAdd = "int-add",
    /// Two 32-bit additions, or a shift and an addition, that the assembler makes one instruction.
    IntAdd3 = "int-add3",
    /// 32-bit add and subtract that saturate.
    IntAddSat = "int-add-sat",
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
    /// The same of signed numbers.
    IntDivSigned = "int-div-signed",
    /// A further one by the same divisor, whose reciprocal the assembler keeps.
    IntDivKnown = "int-div-known",
    /// Division and remainder of 64 bits.
    IntDiv64 = "int-div64",
    /// The same of signed numbers.
    IntDivSigned64 = "int-div-signed64",
    /// Integer minimum, maximum, absolute value, `sad`.
    IntMinMax = "int-minmax",
    /// `and`, `or`, `xor`, `not`, `lop3`.
    Logic = "logic",
    /// 32-bit shifts, `shf`, `prmt`.
    Shift = "shift",
    /// `shl` by a constant, where the assembler may multiply instead.
    ShiftLeft = "shift-left",
    /// 64-bit shifts.
    Shift64 = "shift64",
    /// `bfe`, `bfi`.
    Bitfield = "bitfield",
    /// `popc`, `brev`, `bfind`.
    BitCount = "bit-count",
    /// `clz`.
    LeadingZeros = "leading-zeros",
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
    /// `sqrt.approx`, `rsqrt.approx`, `lg2.approx` that keep subnormal numbers.
    F32Scaled = "f32-scaled",
    /// `rsqrt.approx`.
    F32Rsqrt = "f32-rsqrt",
    /// `ex2`, `tanh`.
    F32Ex2 = "f32-ex2",
    /// `lg2`.
    F32Lg2 = "f32-lg2",
    /// `sin`, `cos`.
    F32SinCos = "f32-sincos",
    /// `div.approx`.
    F32DivApprox = "f32-div-approx",
    /// `div.full`.
    F32DivFull = "f32-div-full",
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
    /// Double-precision square root.
    F64Sqrt = "f64-sqrt",
    /// `rsqrt.approx` of doubles.
    F64Rsqrt = "f64-rsqrt",
    /// Arithmetic on two 16-bit floats.
    F16 = "f16",
    /// The same on one.
    F16Single = "f16-single",
    /// `ex2`, `tanh` on 16-bit floats.
    F16Mufu = "f16-mufu",
    /// `setp`, `set`, `testp` of all else.
    Compare = "compare",
    /// Comparison of doubles.
    Compare64 = "compare64",
    /// `selp`.
    Select = "select",
    /// `slct`: a comparison and a choice.
    CompareSelect = "compare-select",
    /// `mov`, `cvta` and conversions that only move bits.
    Move = "move",
    /// Reading a special register.
    SpecialRegister = "special-register",
    /// Conversion between integers of up to 32 bits.
    ConvertInt = "convert-int",
    /// Conversion of floats to integers of up to 32 bits and of smaller integers to floats, rounding to
    /// an integer.
    Convert = "convert",
    /// Conversion of 32-bit integers to single precision.
    ConvertFromInt = "convert-from-int",
    /// Conversion from or to 64-bit types.
    Convert64 = "convert64",
    /// Conversion to floats of 16 and fewer bits.
    ConvertF16 = "convert-f16",
    /// Conversion of 32-bit integers to smaller ones that keeps the nearest value.
    ConvertSaturating = "convert-saturating",
    /// `cvt.rna.tf32.f32`: a comparison and a guarded addition.
    ConvertTf32 = "convert-tf32",
    /// Branch, call, return, exit.
    Branch = "branch",
    /// `bar`, `barrier`.
    Barrier = "barrier",
    /// `bar.warp.sync`, `nanosleep`, `nop`-like instructions.
    WarpSync = "warp-sync",
    /// `membar.cta`, `fence.cta`.
    FenceBlock = "fence-block",
    /// `membar.gl`, `fence.gpu`, and fences between proxies.
    FenceDevice = "fence-device",
    /// `membar.sys`, `fence.sys`.
    FenceSystem = "fence-system",
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
    /// `wgmma.mma_async`, a clock of it; shapes take some.
    MmaWarpgroup = "mma-warpgroup",
    /// `wgmma.wait_group`: from when the products are there.
    WarpgroupWait = "warpgroup-wait",
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

    /// Whether the hardware's assembler makes a sequence with branches of the instruction, or a fence.
    pub const fn has_branches(self) -> bool {
        use Class::*;
        matches!(
            self,
            IntDiv64
                | IntDivSigned64
                | F32Div
                | F32Rcp
                | F32Sqrt
                | F64Div
                | F64Rcp
                | F64Sqrt
                | F64Rsqrt
                | FenceBlock
                | FenceDevice
                | FenceSystem
        )
    }

    /// Whether the instruction computes on registers of its lane, or shuffles them: a guard on it needs no branch.
    pub const fn is_arithmetic(self) -> bool {
        use Class::*;
        match self {
            IntAdd | IntAdd3 | IntAddSat | IntAdd64 | IntMul24 | IntMul | IntMulWide | IntMulHi
            | IntMul64 | IntMulHi64 | IntDiv | IntDivSigned | IntDivKnown | IntMinMax | Logic
            | Shift | ShiftLeft | Shift64 | Bitfield | BitCount | LeadingZeros | Dot | F32Add
            | F32Mul | F32Fma | F32MinMax | F32RcpApprox | F32SqrtApprox | F32Rsqrt | F32Scaled
            | F32Ex2 | F32Lg2 | F32SinCos | F32DivApprox | F32DivFull | F64Add | F64Fma
            | F64MinMax | F16 | F16Single | F16Mufu | Compare | CompareSelect | Compare64
            | Select | Move | SpecialRegister | ConvertInt | ConvertFromInt | Convert
            | Convert64 | ConvertF16 | ConvertSaturating | ConvertTf32 | Shuffle => true,
            IntDiv64 | IntDivSigned64 | F64Rsqrt | F32Div | F32Rcp | F32Sqrt | F64Div | F64Rcp
            | F64Sqrt | Branch | Barrier | WarpSync | FenceBlock | FenceDevice | FenceSystem
            | Vote | Match | Redux | LoadGlobal | StoreGlobal | AtomicGlobal | LoadShared
            | StoreShared | AtomicShared | LoadConst | LoadParam | Texture | LoadMatrix
            | MmaSmall | MmaLarge | MmaF64 | MmaWarpgroup | WarpgroupWait => false,
        }
    }

    /// The class whose numbers hold where a device profile has none for this one: a class that only
    /// some generations tell apart.
    pub const fn coarser(self) -> Option<Self> {
        match self {
            Class::IntAdd3 | Class::IntAddSat => Some(Class::IntAdd),
            Class::IntDivSigned | Class::IntDivKnown => Some(Class::IntDiv),
            Class::IntDivSigned64 => Some(Class::IntDiv64),
            Class::LeadingZeros => Some(Class::BitCount),
            Class::F32Scaled => Some(Class::F32Rsqrt),
            Class::F32DivFull => Some(Class::F32DivApprox),
            Class::F16Single => Some(Class::F16),
            Class::F64Rsqrt => Some(Class::F64Sqrt),
            Class::CompareSelect => Some(Class::Compare),
            Class::ConvertFromInt | Class::ConvertTf32 => Some(Class::Convert),
            Class::ConvertSaturating => Some(Class::ConvertInt),
            Class::ShiftLeft => Some(Class::Shift),
            Class::FenceSystem => Some(Class::FenceDevice),
            Class::MmaWarpgroup => Some(Class::MmaLarge),
            Class::WarpgroupWait => Some(Class::WarpSync),
            _ => None,
        }
    }

    /// The class where a source is a special register: a move then waits for the unit that holds it.
    pub const fn of_special(self) -> Class {
        match self {
            Class::Move => Class::SpecialRegister,
            other => other,
        }
    }
}

/// Bits of the first type among the modifiers, which is that of the operands.
fn is_64_bit(m: &Match) -> bool {
    m.types().next().is_some_and(|t| t.bits() == 64)
}

fn is_half(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2)
}

fn is_float(ty: Ty) -> bool {
    is_half(ty) || matches!(ty, Ty::F32 | Ty::F32x2 | Ty::F64)
}

/// Integer addition, subtraction and what is like them.
pub fn add(m: &Match) -> Class {
    match () {
        () if is_64_bit(m) => Class::IntAdd64,
        () if m.has(".sat") => Class::IntAddSat,
        () => Class::IntAdd,
    }
}

/// Integer multiplication and multiply-add.
pub fn multiply(m: &Match) -> Class {
    match (is_64_bit(m), m.has(".hi"), m.has(".wide")) {
        (_, _, true) if m.has(".u16") || m.has(".s16") => Class::IntMul,
        (_, _, true) => Class::IntMulWide,
        (true, true, _) => Class::IntMulHi64,
        (true, false, _) => Class::IntMul64,
        (false, true, _) => Class::IntMulHi,
        (false, false, _) => Class::IntMul,
    }
}

/// Integer division and remainder.
pub fn divide(m: &Match) -> Class {
    let signed = m.types().next().is_some_and(Ty::signed);
    match (is_64_bit(m), signed) {
        (false, false) => Class::IntDiv,
        (false, true) => Class::IntDivSigned,
        (true, false) => Class::IntDiv64,
        (true, true) => Class::IntDivSigned64,
    }
}

/// An approximate function that needs a scaled operand or result for subnormal numbers; `plain` where it flushes
/// them.
pub fn scaled(m: &Match, plain: Class) -> Class {
    if m.has(".ftz") { plain } else { Class::F32Scaled }
}

/// Arithmetic on 16-bit floats, of which a register holds one or two.
pub fn half(m: &Match) -> Class {
    let pairs = m.types().last().is_some_and(|t| t.bits() == 32);
    if pairs { Class::F16 } else { Class::F16Single }
}

/// Shifts.
pub fn shift(m: &Match) -> Class {
    if is_64_bit(m) { Class::Shift64 } else { Class::Shift }
}

/// Comparisons; the type of the compared values comes last (`set.lt.u32.f64`). Integers of 64 bits are compared by
/// their halves.
pub fn compare(m: &Match) -> Class {
    let double = m.types().last().is_some_and(|t| t.bits() == 64 && t.is_float());
    if double { Class::Compare64 } else { Class::Compare }
}

/// Conversions, by what ptxas 13.5 for sm_90 makes of them.
pub fn convert(m: &Match) -> Class {
    let wide = m.types().any(|t| t.bits() == 64);
    let (Some(to), Some(from)) = (m.types().next(), m.types().last()) else {
        return Class::Convert;
    };
    let rounds = [".rni", ".rzi", ".rmi", ".rpi"].iter().any(|r| m.has(r));
    match (is_float(to), is_float(from)) {
        _ if wide && (is_float(to) || is_float(from)) => Class::Convert64,
        (false, false) if to.is_int() && from.is_int() => {
            let narrows = from.bits() == 32 && to.bits() < 32;
            if m.has(".sat") && narrows { Class::ConvertSaturating } else { Class::ConvertInt }
        }
        _ if to == Ty::Tf32 && m.has(".rna") => Class::ConvertTf32,
        // The packed formats are no floats by themselves.
        _ if !is_float(to) && !to.is_int() || !is_float(from) && !from.is_int() => {
            Class::ConvertF16
        }
        (true, true) => match (to, from) {
            _ if rounds => Class::Convert,
            (Ty::F32, Ty::F32) => Class::F32Add,
            (Ty::F32, Ty::Bf16) => Class::ShiftLeft,
            (Ty::F32, _) => Class::F16Single,
            _ => Class::ConvertF16,
        },
        (true, false) if to == Ty::F32 && from.bits() == 32 => Class::ConvertFromInt,
        (false, true) if from == Ty::F32 && to == Ty::U8 => Class::ConvertInt,
        _ => Class::Convert,
    }
}

/// Loads from the space that the modifiers name.
pub fn load(m: &Match) -> Class {
    by_space(m, Class::LoadGlobal, Class::LoadShared)
}

/// Stores.
pub fn store(m: &Match) -> Class {
    by_space(m, Class::StoreGlobal, Class::StoreShared)
}

/// Atomics and reductions.
pub fn atomic(m: &Match) -> Class {
    by_space(m, Class::AtomicGlobal, Class::AtomicShared)
}

fn by_space(m: &Match, global: Class, shared: Class) -> Class {
    // `.shared::cta` is `.shared`, `.param::entry` is `.param`.
    let names = |space: &str| {
        m.picked.iter().flatten().any(|token| token.split("::").next() == Some(space))
    };
    match () {
        // An asynchronous copy names both; the global side is what takes time.
        () if names(".shared") && !names(".global") => shared,
        () if names(".const") || names(".param") => Class::LoadConst,
        () => global,
    }
}

/// Fences.
pub fn fence(m: &Match) -> Class {
    match () {
        () if m.has(".cta") || m.has(".shared::cta") => Class::FenceBlock,
        () if m.has(".sys") => Class::FenceSystem,
        () => Class::FenceDevice,
    }
}

/// Matrix products: by the bits of A's rows, k times the size of an element. The smaller ones are m16n8k8 of
/// 16 bits, m16n8k4 of tf32, m16n8k16 of 8 bits. A `wmma` of tf32 is made of the smaller ones.
pub fn matrix(m: &Match) -> Class {
    if m.types().any(|t| t == Ty::F64) {
        return Class::MmaF64;
    }
    let shape = m.shape();
    let element = m
        .types()
        .find(|t| is_half(*t) || *t == Ty::Tf32 || t.is_int() && t.bits() < 32 || *t == Ty::B1);
    // Shapes of the 8-bit floats are all large; without a type (`wmma`) elements have 16 bits.
    let bits = element.map_or(16, Ty::bits).max(8);
    match shape {
        Some(s) if s.k as u32 * bits <= 128 || s.n > 8 && element == Some(Ty::Tf32) => {
            Class::MmaSmall
        }
        _ => Class::MmaLarge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn types_and_modifiers_decide() {
        for (opcode, class) in [
            ("add.s32", "int-add"),
            ("add.s64", "int-add64"),
            ("abs.s32", "int-minmax"),
            ("mul.lo.s32", "int-mul"),
            ("mul.wide.u32", "int-mul-wide"),
            ("mul.wide.s16", "int-mul"),
            ("mad.hi.u32", "int-mul-hi"),
            ("mul.hi.u64", "int-mul-hi64"),
            ("mad.lo.s64", "int-mul64"),
            ("mad24.lo.s32", "int-mul24"),
            ("rem.u64", "int-div64"),
            ("shl.b64", "shift64"),
            ("shf.l.wrap.b32", "shift"),
            ("popc.b64", "bit-count"),
            ("setp.lt.f64", "compare64"),
            ("set.lt.u32.f64", "compare64"),
            ("setp.ne.s32", "compare"),
            ("setp.lt.u64", "compare"),
            ("selp.b32", "select"),
            ("mov.b32", "move"),
            ("add.rn.ftz.f32", "f32-add"),
            ("max.f32", "f32-minmax"),
            ("fma.rn.f32", "f32-fma"),
            ("div.rn.f32", "f32-div"),
            ("rcp.rn.f32", "f32-rcp"),
            ("div.approx.f32", "f32-div-approx"),
            ("ex2.approx.ftz.f32", "f32-ex2"),
            ("tanh.approx.bf16x2", "f16-mufu"),
            ("rsqrt.approx.f64", "f64-rsqrt"),
            ("min.f64", "f64-minmax"),
            ("fma.rn.f64", "f64-fma"),
            ("fma.rn.f16x2", "f16"),
            ("fma.rn.f16", "f16-single"),
            ("clz.b32", "leading-zeros"),
            ("div.full.ftz.f32", "f32-div-full"),
            ("cvt.rn.f32.s32", "convert-from-int"),
            ("cvt.rn.f32.u8", "convert"),
            ("add.sat.s32", "int-add-sat"),
            ("div.s32", "int-div-signed"),
            ("rem.s64", "int-div-signed64"),
            ("lg2.approx.f32", "f32-scaled"),
            ("lg2.approx.ftz.f32", "f32-lg2"),
            ("slct.u32.s32", "compare-select"),
            ("cvt.rzi.s32.f32", "convert"),
            ("cvt.rni.f32.f32", "convert"),
            ("cvt.f64.f32", "convert64"),
            ("cvt.rn.f16.f32", "convert-f16"),
            ("cvt.rn.satfinite.e4m3x2.f32", "convert-f16"),
            ("cvt.u64.u32", "convert-int"),
            ("ld.global.cg.v4.f32", "load-global"),
            ("ld.shared::cta.u32", "load-shared"),
            ("ld.param.u64", "load-const"),
            ("ld.u32", "load-global"),
            ("st.shared.u32", "store-shared"),
            ("atom.shared.add.u32", "atomic-shared"),
            ("red.global.add.f32", "atomic-global"),
            ("bar.sync", "barrier"),
            ("bar.warp.sync", "warp-sync"),
            ("membar.cta", "fence-block"),
            ("membar.gl", "fence-device"),
            ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "mma-small"),
            ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "mma-large"),
            ("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "mma-small"),
            ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "mma-large"),
            ("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "mma-small"),
            ("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "mma-large"),
            ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "mma-f64"),
            ("cp.async.ca.shared.global", "load-global"),
            ("exit", "branch"),
        ] {
            let found = table().find(opcode).unwrap_or_else(|e| panic!("{opcode}: {e:?}"));
            assert_eq!(found[0].class().name(), class, "{opcode}");
        }
        assert_eq!(Class::Move.of_special(), Class::SpecialRegister);
    }
}
