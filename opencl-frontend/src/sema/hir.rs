//! The typed tree: every conversion explicit, every name resolved, every overload chosen.

use smallvec::SmallVec;

use crate::intrinsic::Operation;
use crate::ir::Atomic;
use crate::parse::ast::BinaryOp;
use crate::source::Span;
use crate::symbol::Symbol;
use crate::types::{QualType, Scalar, Space, TypeId, Types};

/// A function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FunctionId(pub u32);
/// A variable of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LocalId(pub u32);
/// A variable with a fixed address: program-scope constants and `__local` variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GlobalId(pub u32);
/// A jump target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LabelId(pub u32);

/// A checked program.
pub struct Program {
    /// Types.
    pub types: Types,
    /// Functions, those of the library included.
    pub functions: Vec<Function>,
    /// Variables with fixed addresses.
    pub globals: Vec<Global>,
    /// Pointers into local memory are compared: no variable may be at address 0, which null is.
    pub local_null: bool,
    /// Which token tables belong to the library.
    pub library_units: Vec<bool>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name.
    pub name: Symbol,
    /// Result.
    pub result: QualType,
    /// Parameters: the first locals.
    pub params: Vec<QualType>,
    /// Parameters and variables.
    pub locals: Vec<Local>,
    /// `__kernel`
    pub is_kernel: bool,
    /// Attributes that matter for code.
    pub attributes: KernelAttributes,
    /// Body; `None` while only declared.
    pub body: Option<Vec<Stmt>>,
    /// Number of labels.
    pub labels: u32,
    /// For library functions: applies per component; bit i set: parameter i may stay scalar.
    pub elementwise: Option<u32>,
    /// Functions it calls, with a place.
    pub calls: Vec<(FunctionId, Span)>,
    /// Which token table its spans refer to.
    pub unit: u32,
    /// Its head.
    pub span: Span,
}

/// Attributes of kernels.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct KernelAttributes {
    /// `reqd_work_group_size`
    pub required_size: Option<[u32; 3]>,
    /// `work_group_size_hint`
    pub size_hint: Option<[u32; 3]>,
    /// `vec_type_hint`
    pub vec_type_hint: Option<TypeId>,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Name.
    pub name: Symbol,
    /// Type.
    pub ty: QualType,
    /// Alignment if an attribute raises it.
    pub align: Option<u64>,
    /// A `restrict` parameter.
    pub restrict: bool,
}

/// The address of a variable in the initial bytes of another.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// Where it stands.
    pub at: u64,
    /// What it is the address of.
    pub of: GlobalId,
    /// Bytes behind that.
    pub offset: i64,
    /// As a generic address.
    pub generic: bool,
}

/// A variable with a fixed address.
#[derive(Clone, Debug)]
pub struct Global {
    /// Name.
    pub name: Symbol,
    /// Type; its space is constant, global or local.
    pub ty: QualType,
    /// Alignment.
    pub align: u64,
    /// Initial bytes.
    pub bytes: Option<Vec<u8>>,
    /// Addresses of other variables among them.
    pub addresses: Vec<Address>,
    /// The kernel it belongs to, for `__local` variables.
    pub owner: Option<FunctionId>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Its tokens.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum StmtKind {
    Expr(Expr),
    /// A variable comes to life, with its initial value.
    Declare(LocalId, Option<Expr>),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    Loop {
        init: Vec<Stmt>,
        condition: Option<Expr>,
        step: Option<Expr>,
        body: Box<Stmt>,
        test_first: bool,
        unroll: Option<u32>,
    },
    Switch {
        value: Expr,
        cases: Vec<(u64, LabelId)>,
        default: Option<LabelId>,
        body: Box<Stmt>,
    },
    Label(LabelId),
    Goto(LabelId),
    Break,
    Continue,
    Return(Option<Expr>),
    Asm {
        text: Vec<AsmPiece>,
        outputs: Vec<AsmOutput>,
        inputs: Vec<AsmOperand>,
    },
}

/// A part of assembly.
#[derive(Clone, Debug, PartialEq)]
pub enum AsmPiece {
    /// As it is.
    Text(String),
    /// An operand by number: first the outputs, then the inputs.
    Operand(usize),
}

/// What assembly writes.
#[derive(Clone, Debug)]
pub struct AsmOutput {
    /// The object.
    pub object: Expr,
    /// The type of the register.
    pub scalar: Scalar,
    /// It reads the object too.
    pub reads: bool,
}

/// What assembly reads.
#[derive(Clone, Debug)]
pub struct AsmOperand {
    /// The value.
    pub value: Expr,
    /// Written into the text as a number.
    pub literal: bool,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type; for an lvalue the type of the object.
    pub ty: QualType,
    /// Its tokens.
    pub span: Span,
}

/// Rounding of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum Rounding {
    Default,
    NearestEven,
    Zero,
    Up,
    Down,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum ExprKind {
    Error,
    /// A scalar or null pointer: integers sign- or zero-extended to 64 bits, floats as their bits.
    Const(u64),
    // Lvalues
    Local(LocalId),
    Global(GlobalId),
    Deref(Box<Expr>),
    /// Part of a struct: lvalue if the base is one.
    Member(Box<Expr>, u64),
    /// Components of a vector: lvalue if the base is one.
    Swizzle(Box<Expr>, SmallVec<[u8; 16]>),
    // Values
    Load(Box<Expr>),
    AddressOf(Box<Expr>),
    /// `-`, `~`
    Negate(Box<Expr>),
    Not(Box<Expr>),
    /// `!` of a bool.
    LogicalNot(Box<Expr>),
    /// Operands of one type. Comparisons give bool, or an integer vector of 0 and -1.
    Binary {
        op: BinaryOp,
        lhs: Box<Expr>,
        rhs: Box<Expr>,
        contract: bool,
    },
    /// Address, index (64 bits), size of an element.
    PointerAdd(Box<Expr>, Box<Expr>, u64),
    PointerDiff(Box<Expr>, Box<Expr>, u64),
    /// Numeric conversion per component.
    Convert {
        value: Box<Expr>,
        saturate: bool,
        rounding: Rounding,
    },
    /// Same bits, another type.
    Bitcast(Box<Expr>),
    Splat(Box<Expr>),
    /// A vector from scalars and vectors.
    Build(Vec<Expr>),
    Assign(Box<Expr>, Box<Expr>),
    /// `lhs = (T)((compute)lhs op rhs)`; yields the new value (or the old one).
    Update {
        op: BinaryOp,
        lhs: Box<Expr>,
        rhs: Box<Expr>,
        compute: QualType,
        post: bool,
        contract: bool,
    },
    LogicalAnd(Box<Expr>, Box<Expr>),
    LogicalOr(Box<Expr>, Box<Expr>),
    /// Condition is a bool.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Per component: the sign bit of the condition chooses the second operand.
    VectorSelect(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    /// Statements, then a value.
    Statements(Vec<Stmt>, Option<Box<Expr>>),
    Call(FunctionId, Vec<Expr>),
    /// A scalar function per component.
    CallPerLane(FunctionId, Vec<Expr>),
    Intrinsic(Intrinsic, Vec<Expr>),
    /// An aggregate: values at offsets, everything else zero.
    Aggregate(Vec<(u64, Expr)>),
    /// The format and the arguments in the types that the device reads.
    Printf(GlobalId, Vec<Expr>),
    /// One or two vectors, then the mask.
    Shuffle(Vec<Expr>),
    /// Unaligned vector load and store at a pointer to its component.
    VectorLoad(Box<Expr>),
    VectorStore(Box<Expr>, Box<Expr>),
    /// A lvalue temporary with a value (compound literal).
    Temporary(LocalId, Box<Expr>),
}

/// Operations below the library.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Intrinsic {
    /// By the name that the library calls it by.
    Named(Operation),
    /// Any component has its sign bit set.
    Any,
    /// All components have their sign bit set.
    All,
    /// Pointer, then one value, or two for an exchange that compares.
    Atomic(Atomic),
    /// A generic pointer as one to this space; null where it points elsewhere.
    To(Space),
    /// The flags of the fence for what a generic pointer points to.
    FenceOf,
}

impl Expr {
    /// The value of a constant scalar.
    pub fn constant(&self) -> Option<u64> {
        match self.kind {
            ExprKind::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// The components of a constant scalar or vector.
    pub fn constant_lanes(&self) -> Option<SmallVec<[u64; 16]>> {
        match &self.kind {
            ExprKind::Const(bits) => Some(SmallVec::from_elem(*bits, 1)),
            ExprKind::Build(parts) => {
                let mut out = SmallVec::new();
                for part in parts {
                    out.extend(part.constant_lanes()?);
                }
                Some(out)
            }
            _ => None,
        }
    }

    /// True if it designates an object.
    pub fn is_lvalue(&self) -> bool {
        match &self.kind {
            ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Deref(_)
            | ExprKind::Temporary(..) => true,
            ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) => base.is_lvalue(),
            ExprKind::Error
            | ExprKind::Const(_)
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Negate(_)
            | ExprKind::Not(_)
            | ExprKind::LogicalNot(_)
            | ExprKind::Binary { .. }
            | ExprKind::PointerAdd(..)
            | ExprKind::PointerDiff(..)
            | ExprKind::Convert { .. }
            | ExprKind::Bitcast(_)
            | ExprKind::Splat(_)
            | ExprKind::Build(_)
            | ExprKind::Assign(..)
            | ExprKind::Update { .. }
            | ExprKind::LogicalAnd(..)
            | ExprKind::LogicalOr(..)
            | ExprKind::Conditional(..)
            | ExprKind::VectorSelect(..)
            | ExprKind::Comma(..)
            | ExprKind::Statements(..)
            | ExprKind::Call(..)
            | ExprKind::CallPerLane(..)
            | ExprKind::Intrinsic(..)
            | ExprKind::Aggregate(_)
            | ExprKind::Printf(..)
            | ExprKind::Shuffle(_)
            | ExprKind::VectorLoad(_)
            | ExprKind::VectorStore(..) => false,
        }
    }
}
