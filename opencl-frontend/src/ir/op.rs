//! Operations, their types and their operands.

/// A value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Val(pub u32);
/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct BlockId(pub u32);
/// A private variable in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PrivateVar(pub u32);

/// Types of values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Ty {
    /// No value.
    None,
    Pred,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl Ty {
    /// Bits of constants of this type.
    pub fn mask(self) -> u64 {
        match self {
            Ty::None | Ty::Pred => 1,
            Ty::F16 => 0xffff,
            Ty::I32 | Ty::F32 => 0xffff_ffff,
            Ty::I64 | Ty::F64 => u64::MAX,
        }
    }

    /// Floating point.
    pub fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::F32 | Ty::F64)
    }

    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Ty::None | Ty::Pred => 1,
            Ty::F16 => 16,
            Ty::I32 | Ty::F32 => 32,
            Ty::I64 | Ty::F64 => 64,
        }
    }
}

/// Operations on two values of one type (shift counts are I32).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    SMulHi,
    UMulHi,
    SMul24,
    UMul24,
    /// 32 x 32 to 64 bits.
    SMulWide,
    UMulWide,
    SDiv,
    UDiv,
    SRem,
    URem,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
    /// Rotation to the left, of I32; the count is taken modulo 32.
    Rotl,
    SMin,
    SMax,
    UMin,
    UMax,
    FAdd,
    FSub,
    FMul,
    /// Correctly rounded.
    FDiv,
    /// Within 2 ulp over the full range.
    FDivFull,
    FDivApprox,
    FMin,
    FMax,
    FAddRz,
}

impl BinOp {
    /// Operands can be swapped.
    pub fn commutes(self) -> bool {
        use BinOp::*;
        matches!(
            self,
            Add | Mul
                | SMulHi
                | UMulHi
                | SMul24
                | UMul24
                | SMulWide
                | UMulWide
                | And
                | Or
                | Xor
                | SMin
                | SMax
                | UMin
                | UMax
                | FAdd
                | FMul
                | FMin
                | FMax
        )
    }
}

/// Operations on one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum UnOp {
    Neg,
    Not,
    FNeg,
    FAbs,
    SAbs,
    FloorF,
    CeilF,
    TruncF,
    RintF,
    SqrtRn,
    SqrtApprox,
    RsqrtApprox,
    RcpRn,
    RcpApprox,
    SinApprox,
    CosApprox,
    Ex2Approx,
    Lg2Approx,
    Saturate,
    Popc,
    Clz,
    Brev,
    /// Conversions. The source type is the operand's.
    SExt64,
    ZExt64,
    Trunc32,
    SExt8,
    ZExt8,
    SExt16,
    ZExt16,
    Bitcast,
    SToF(Round),
    UToF(Round),
    FToS(Round),
    FToU(Round),
    FToF(Round),
}

/// Rounding modes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Round {
    Nearest,
    Zero,
    Up,
    Down,
}

/// Operations on three values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum TernOp {
    /// One rounding (or as the target's `mad` rounds).
    Fma,
    /// Integer `a * b + c`.
    Mad,
    SMad24,
    UMad24,
    SMadWide,
    UMadWide,
}

/// Comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Cmp {
    Eq,
    Ne,
    SLt,
    SLe,
    SGt,
    SGe,
    ULt,
    ULe,
    UGt,
    UGe,
    /// Ordered: false for NaN, but for `FNe`, which is true.
    FEq,
    FNe,
    FLt,
    FLe,
    FGt,
    FGe,
    /// Unordered: true for NaN.
    FULt,
    FULe,
    FUGt,
    FUGe,
}

impl Cmp {
    /// The comparison that is true exactly when this one is false.
    pub fn inverse(self) -> Cmp {
        use Cmp::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            SLt => SGe,
            SLe => SGt,
            SGt => SLe,
            SGe => SLt,
            ULt => UGe,
            ULe => UGt,
            UGt => ULe,
            UGe => ULt,
            FEq => FNe,
            FNe => FEq,
            FLt => FUGe,
            FLe => FUGt,
            FGt => FULe,
            FGe => FULt,
            FULt => FGe,
            FULe => FGt,
            FUGt => FLe,
            FUGe => FLt,
        }
    }

    /// The comparison with its operands swapped.
    pub fn swapped(self) -> Cmp {
        use Cmp::*;
        match self {
            SLt => SGt,
            SLe => SGe,
            SGt => SLt,
            SGe => SLe,
            ULt => UGt,
            ULe => UGe,
            UGt => ULt,
            UGe => ULe,
            FLt => FGt,
            FLe => FGe,
            FGt => FLt,
            FGe => FLe,
            FULt => FUGt,
            FULe => FUGe,
            FUGt => FULt,
            FUGe => FULe,
            Eq | Ne | FEq | FNe => self,
        }
    }
}

/// Memory spaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Space {
    Global,
    Shared,
    Local,
    /// A pointer to `__constant`: a buffer or a program-scope constant.
    Constant,
    /// A struct parameter of the kernel.
    Param,
    /// An address of global, shared or local memory, in the generic address space.
    Generic,
}

impl Space {
    /// Whether nothing writes there while a kernel runs.
    pub fn is_constant(self) -> bool {
        matches!(self, Space::Constant | Space::Param)
    }

    /// Whether accesses to the two could touch the same bytes.
    pub fn meets(self, other: Space) -> bool {
        let generic = |a: Space, b: Space| a == Space::Generic && !b.is_constant();
        self == other || generic(self, other) || generic(other, self)
    }
}

/// What a load or store moves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum MemTy {
    S8,
    U8,
    S16,
    U16,
    B32,
    B64,
    F16,
    F32,
    F64,
}

impl MemTy {
    /// Bytes.
    pub fn size(self) -> u64 {
        match self {
            MemTy::S8 | MemTy::U8 => 1,
            MemTy::S16 | MemTy::U16 | MemTy::F16 => 2,
            MemTy::B32 | MemTy::F32 => 4,
            MemTy::B64 | MemTy::F64 => 8,
        }
    }

    /// Type of the value.
    pub fn ty(self) -> Ty {
        match self {
            MemTy::S8 | MemTy::U8 | MemTy::S16 | MemTy::U16 | MemTy::B32 => Ty::I32,
            MemTy::B64 => Ty::I64,
            MemTy::F16 => Ty::F16,
            MemTy::F32 => Ty::F32,
            MemTy::F64 => Ty::F64,
        }
    }
}

/// A memory access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mem {
    /// Space.
    pub space: Space,
    /// Width and kind.
    pub ty: MemTy,
    /// Added to the address.
    pub offset: i64,
    /// Known alignment of the address, in bytes.
    pub align: u32,
    /// `volatile`
    pub volatile: bool,
}

/// Special registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Sreg {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    EnvReg(u8),
    /// The number of the thread in its warp.
    Lane,
}

/// Operations that the threads of a warp do together. The last operand is the mask of those that take part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Warp {
    /// The value of another thread: of the one with this number.
    Index,
    /// Of the one so many before.
    Up,
    /// Of the one so many behind.
    Down,
    /// Of the one whose number differs in these bits.
    Xor,
    /// The mask of the threads whose predicate holds.
    Ballot,
    /// The mask of the threads that run; it has no operand.
    Active,
    /// Waits for the others and orders memory among them.
    Sync,
}

/// Atomic operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Atomic {
    Add,
    Exch,
    Cas,
    SMin,
    SMax,
    UMin,
    UMax,
    And,
    Or,
    Xor,
}

/// A short list of values, at most `N`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct List<const N: usize> {
    values: [Val; N],
    count: u8,
}

impl<const N: usize> List<N> {
    /// At most `N` values.
    pub fn new(list: &[Val]) -> Self {
        let mut values = [Val(0); N];
        values[..list.len()].copy_from_slice(list);
        List { values, count: list.len() as u8 }
    }
}

impl<const N: usize> std::ops::Deref for List<N> {
    type Target = [Val];

    fn deref(&self) -> &[Val] {
        &self.values[..usize::from(self.count)]
    }
}

impl<const N: usize> std::ops::DerefMut for List<N> {
    fn deref_mut(&mut self) -> &mut [Val] {
        &mut self.values[..usize::from(self.count)]
    }
}

/// Operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Op {
    Const(u64),
    /// Any value.
    Undef,
    /// A scalar parameter of the kernel.
    Param(u32),
    /// Address of a struct parameter, for loads from `Param` only.
    ParamAddr(u32),
    BlockParam,
    PrivateAddr(PrivateVar),
    /// Address of a variable of the program.
    GlobalAddr(u32),
    Sreg(Sreg),
    Bin(BinOp, Val, Val),
    Un(UnOp, Val),
    Tern(TernOp, Val, Val, Val),
    Cmp(Cmp, Val, Val),
    Select(Val, Val, Val),
    Load(Mem, Val),
    Store(Mem, Val, Val),
    /// A vector of 2 or 4; `Extract` gives its parts.
    LoadVec(Mem, Val, u8),
    Extract(Val, u8),
    StoreVec(Mem, Val, Parts),
    Atomic(Atomic, Mem, Val, Val, Option<Val>),
    /// The generic address of an address in a space.
    Generic(Space, Val),
    /// The address in a space of a generic address that lies in it.
    Specific(Space, Val),
    /// Whether a generic address lies in a space.
    Within(Space, Val),
    /// What the threads of a warp do together.
    Warp(Warp, List<3>),
    /// The device's `vprintf`: format and arguments, the latter in private memory.
    Printf(Val, Val),
    Barrier,
    /// Device-wide or block-wide.
    Fence(bool),
    /// Calls a function by its number among `Func::callees`, with the address of its arguments and its result.
    Call(u32, Val),
    /// Assembly of the program, by its number in the function; `Extract` gives what it writes.
    Asm(u32, AsmInputs),
}

/// Most values that one piece of assembly reads.
pub const ASM_INPUTS: usize = 8;

/// The values that a piece of assembly reads.
pub type AsmInputs = List<ASM_INPUTS>;

/// The values of a vector store.
pub type Parts = List<4>;

/// Does `$do` with a reference `$v` to each operand of `$op`; `$iter` is `iter` or `iter_mut`.
macro_rules! each_operand {
    ($op:expr, $iter:ident, $v:ident => $do:expr) => {
        match $op {
            Op::Const(_)
            | Op::Undef
            | Op::Param(_)
            | Op::ParamAddr(_)
            | Op::BlockParam
            | Op::PrivateAddr(_)
            | Op::GlobalAddr(_)
            | Op::Sreg(_)
            | Op::Barrier
            | Op::Fence(_) => {}
            Op::Asm(_, list) => {
                for $v in list.$iter() {
                    $do;
                }
            }
            Op::Warp(_, list) => {
                for $v in list.$iter() {
                    $do;
                }
            }
            Op::Generic(_, $v)
            | Op::Specific(_, $v)
            | Op::Within(_, $v)
            | Op::Un(_, $v)
            | Op::Load(_, $v)
            | Op::LoadVec(_, $v, _)
            | Op::Extract($v, _)
            | Op::Call(_, $v) => $do,
            Op::Bin(_, a, b) | Op::Cmp(_, a, b) | Op::Store(_, a, b) | Op::Printf(a, b) => {
                for $v in [a, b] {
                    $do;
                }
            }
            Op::Tern(_, a, b, c) | Op::Select(a, b, c) => {
                for $v in [a, b, c] {
                    $do;
                }
            }
            Op::StoreVec(_, $v, list) => {
                $do;
                for $v in list.$iter() {
                    $do;
                }
            }
            Op::Atomic(_, _, a, b, c) => {
                for $v in [a, b].into_iter().chain(c) {
                    $do;
                }
            }
        }
    };
}

impl Op {
    /// Calls `f` on each operand.
    pub fn for_each_operand(&self, mut f: impl FnMut(Val)) {
        each_operand!(self, iter, v => f(*v));
    }

    /// Replaces each operand.
    pub fn map_operands(&mut self, mut f: impl FnMut(Val) -> Val) {
        each_operand!(self, iter_mut, v => *v = f(*v));
    }

    /// Depends on its operands alone: can be merged, moved and dropped.
    pub fn is_pure(&self) -> bool {
        match self {
            Op::Load(..)
            | Op::LoadVec(..)
            | Op::Store(..)
            | Op::StoreVec(..)
            | Op::Atomic(..)
            | Op::Printf(..)
            | Op::Barrier
            | Op::Fence(_)
            | Op::Call(..)
            | Op::Asm(..)
            | Op::Warp(..)
            | Op::BlockParam
            | Op::Extract(..) => false,
            Op::Const(_)
            | Op::Undef
            | Op::Param(_)
            | Op::ParamAddr(_)
            | Op::PrivateAddr(_)
            | Op::GlobalAddr(_)
            | Op::Sreg(_)
            | Op::Bin(..)
            | Op::Un(..)
            | Op::Tern(..)
            | Op::Cmp(..)
            | Op::Select(..)
            | Op::Generic(..)
            | Op::Specific(..)
            | Op::Within(..) => true,
        }
    }

    /// Must stay even if its value is not used.
    pub fn has_effect(&self) -> bool {
        match self {
            Op::Load(m, _) | Op::LoadVec(m, _, _) => m.volatile,
            Op::Store(..)
            | Op::StoreVec(..)
            | Op::Atomic(..)
            | Op::Printf(..)
            | Op::Barrier
            | Op::Fence(_)
            | Op::Warp(..)
            | Op::Call(..)
            | Op::Asm(..) => true,
            Op::Const(_)
            | Op::Undef
            | Op::Param(_)
            | Op::ParamAddr(_)
            | Op::BlockParam
            | Op::PrivateAddr(_)
            | Op::GlobalAddr(_)
            | Op::Sreg(_)
            | Op::Bin(..)
            | Op::Un(..)
            | Op::Tern(..)
            | Op::Cmp(..)
            | Op::Select(..)
            | Op::Extract(..)
            | Op::Generic(..)
            | Op::Specific(..)
            | Op::Within(..) => false,
        }
    }
}
