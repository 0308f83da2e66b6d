//! Syntax trees. Spans are ranges of preprocessed tokens.

use super::literal::{FloatLiteral, IntLiteral};
use crate::source::Span;
use crate::symbol::Symbol;

/// A name with its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Name {
    /// The identifier.
    pub sym: Symbol,
    /// Its token.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its tokens.
    pub span: Span,
    /// Height of the tree below.
    pub depth: u16,
}

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `~`
    Not,
    /// `!`
    LogicalNot,
    /// `*`
    Deref,
    /// `&`
    AddressOf,
    /// `++x`
    PreInc,
    /// `--x`
    PreDec,
    /// `x++`
    PostInc,
    /// `x--`
    PostDec,
}

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    LogicalAnd,
    LogicalOr,
}

impl BinaryOp {
    /// What binds more tightly has a higher one.
    pub fn precedence(self) -> u8 {
        use BinaryOp::*;
        match self {
            Mul | Div | Rem => 10,
            Add | Sub => 9,
            Shl | Shr => 8,
            Lt | Gt | Le | Ge => 7,
            Eq | Ne => 6,
            And => 5,
            Xor => 4,
            Or => 3,
            LogicalAnd => 2,
            LogicalOr => 1,
        }
    }

    /// As written.
    pub fn text(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            Rem => "%",
            Shl => "<<",
            Shr => ">>",
            And => "&",
            Or => "|",
            Xor => "^",
            Lt => "<",
            Gt => ">",
            Le => "<=",
            Ge => ">=",
            Eq => "==",
            Ne => "!=",
            LogicalAnd => "&&",
            LogicalOr => "||",
        }
    }
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum ExprKind {
    Name(Symbol),
    Int(IntLiteral),
    Float(FloatLiteral),
    Char(i32),
    Str(Vec<Symbol>),
    /// Kept because `(float4)(a, b)` is a vector literal and `(float4)a` a cast.
    Paren(Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    Member {
        base: Box<Expr>,
        arrow: bool,
        name: Name,
    },
    Index(Box<Expr>, Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Cast(Box<TypeName>, Box<Expr>),
    Compound(Box<TypeName>, Vec<InitItem>),
    SizeofExpr(Box<Expr>),
    SizeofType(Box<TypeName>),
    AlignofType(Box<TypeName>),
    VecStepExpr(Box<Expr>),
    VecStepType(Box<TypeName>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    /// `({ … })`: the value of its last statement.
    Statements(Vec<Stmt>),
    /// `__builtin_astype(value, type)`
    AsType(Box<Expr>, Box<TypeName>),
    /// `__builtin_convertvector(value, type)`
    ConvertVector(Box<Expr>, Box<TypeName>),
    /// `__builtin_offsetof(type, member…)`
    OffsetOf(Box<TypeName>, Name, Vec<Designator>),
}

/// One part of the specifiers before a declarator.
#[derive(Clone, Debug)]
pub struct Specifier {
    /// What it is.
    pub kind: SpecifierKind,
    /// Its tokens.
    pub span: Span,
}

/// Kinds of specifiers.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum SpecifierKind {
    /// A keyword: type, storage class, qualifier, address space, function or access qualifier.
    Keyword(Symbol),
    TypedefName(Symbol),
    Struct(StructSpecifier),
    Enum(EnumSpecifier),
    Attributes(Vec<Attribute>),
}

/// `struct` or `union`, with its members if it defines them.
#[derive(Clone, Debug)]
pub struct StructSpecifier {
    /// `union` instead of `struct`.
    pub is_union: bool,
    /// Attributes after the keyword.
    pub attributes: Vec<Attribute>,
    /// Tag.
    pub tag: Option<Name>,
    /// Members.
    pub members: Option<Vec<MemberDecl>>,
}

/// One declaration among the members.
#[derive(Clone, Debug)]
pub struct MemberDecl {
    /// Specifiers.
    pub specifiers: Vec<Specifier>,
    /// Declarators with their bit-field width.
    pub declarators: Vec<(Option<Declarator>, Option<Expr>, Vec<Attribute>)>,
    /// Its tokens.
    pub span: Span,
}

/// `enum`.
#[derive(Clone, Debug)]
pub struct EnumSpecifier {
    /// Tag.
    pub tag: Option<Name>,
    /// Enumerators.
    pub enumerators: Option<Vec<(Name, Option<Expr>)>>,
}

/// One attribute of an `__attribute__((…))` list.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Name without surrounding underscores kept as written.
    pub name: Name,
    /// Arguments.
    pub args: Vec<AttributeArg>,
}

/// Argument of an attribute.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum AttributeArg {
    Expr(Expr),
    Type(TypeName),
}

/// A declarator, from the outside in.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Declarator {
    Abstract,
    Name(Name),
    Pointer(Vec<Specifier>, Box<Declarator>),
    Array(Box<Declarator>, Option<Box<Expr>>),
    Function(Box<Declarator>, Vec<Param>, bool),
}

impl Declarator {
    /// Whether it makes a pointer, to which an address space before it belongs: `local int (*p)[4]`.
    pub fn has_pointer(&self) -> bool {
        match self {
            Declarator::Abstract | Declarator::Name(_) => false,
            Declarator::Pointer(..) => true,
            Declarator::Array(d, _) | Declarator::Function(d, _, _) => d.has_pointer(),
        }
    }

    /// The declared name.
    pub fn name(&self) -> Option<Name> {
        match self {
            Declarator::Abstract => None,
            Declarator::Name(name) => Some(*name),
            Declarator::Pointer(_, d) | Declarator::Array(d, _) | Declarator::Function(d, _, _) => {
                d.name()
            }
        }
    }

    /// Parameters of the function that the declarator declares directly.
    pub fn params(&self) -> Option<&[Param]> {
        match self {
            Declarator::Function(d, params, _) if matches!(**d, Declarator::Name(_)) => {
                Some(params)
            }
            Declarator::Pointer(_, d) | Declarator::Array(d, _) | Declarator::Function(d, _, _) => {
                d.params()
            }
            _ => None,
        }
    }
}

/// A parameter declaration.
#[derive(Clone, Debug)]
pub struct Param {
    /// Specifiers.
    pub specifiers: Vec<Specifier>,
    /// Declarator, perhaps abstract.
    pub declarator: Declarator,
    /// Attributes after the declarator.
    pub attributes: Vec<Attribute>,
    /// Its tokens.
    pub span: Span,
}

/// A type name as in a cast.
#[derive(Clone, Debug)]
pub struct TypeName {
    /// Specifiers.
    pub specifiers: Vec<Specifier>,
    /// Abstract declarator.
    pub declarator: Declarator,
    /// Its tokens.
    pub span: Span,
}

/// An initialiser.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Init {
    Expr(Expr),
    List(Vec<InitItem>, Span),
}

/// One element of an initialiser list.
#[derive(Clone, Debug)]
pub struct InitItem {
    /// `.name`, `[index]`.
    pub designators: Vec<Designator>,
    /// The value.
    pub value: Init,
}

/// Part of a designation.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Designator {
    Member(Name),
    Index(Expr),
}

/// A declaration.
#[derive(Clone, Debug)]
pub struct Decl {
    /// Specifiers.
    pub specifiers: Vec<Specifier>,
    /// Declared entities.
    pub items: Vec<InitDeclarator>,
    /// Its tokens.
    pub span: Span,
}

/// One declarator with its initialiser.
#[derive(Clone, Debug)]
pub struct InitDeclarator {
    /// The declarator.
    pub declarator: Declarator,
    /// Attributes after it.
    pub attributes: Vec<Attribute>,
    /// Initialiser.
    pub init: Option<Init>,
    /// Its tokens.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Its tokens.
    pub span: Span,
    /// Height of the tree below.
    pub depth: u16,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum StmtKind {
    Expr(Option<Expr>),
    Decl(Decl),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    For {
        init: Option<Box<Stmt>>,
        condition: Option<Expr>,
        step: Option<Expr>,
        body: Box<Stmt>,
    },
    Switch(Expr, Box<Stmt>),
    Case(Expr, Box<Stmt>),
    Default(Box<Stmt>),
    Label(Name, Box<Stmt>),
    Goto(Name),
    Break,
    Continue,
    Return(Option<Expr>),
    /// A loop with an unroll pragma or attribute: 0 as far as sensible, 1 not at all.
    Unroll(u32, Box<Stmt>),
    Attributed(Vec<Attribute>, Box<Stmt>),
    FpContract(bool),
    Asm(Box<Asm>),
}

/// Assembly within a function.
#[derive(Clone, Debug)]
pub struct Asm {
    /// The text, in string literals.
    pub text: Vec<Symbol>,
    /// What it writes.
    pub outputs: Vec<AsmOperand>,
    /// What it reads.
    pub inputs: Vec<AsmOperand>,
}

/// An operand of assembly.
#[derive(Clone, Debug)]
pub struct AsmOperand {
    /// The constraint, a string literal.
    pub constraint: Symbol,
    /// The object to write or the value to read.
    pub value: Expr,
    /// Its tokens.
    pub span: Span,
}

/// A function definition.
#[derive(Clone, Debug)]
pub struct FunctionDef {
    /// Specifiers.
    pub specifiers: Vec<Specifier>,
    /// Declarator.
    pub declarator: Declarator,
    /// Attributes after the declarator.
    pub attributes: Vec<Attribute>,
    /// Body.
    pub body: Vec<Stmt>,
    /// Tokens of the head.
    pub span: Span,
    /// The closing brace.
    pub end: Span,
}

/// Something at file scope.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum External {
    Function(Box<FunctionDef>),
    Decl(Decl),
    FpContract(bool),
    Empty,
}
