//! Random programs: what they consist of, and how they are written in OpenCL C.

use std::fmt::Write as _;

/// Scalar types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
}

impl Ty {
    /// The types that variables have.
    pub const ALL: [Ty; 9] =
        [Ty::I8, Ty::U8, Ty::I16, Ty::U16, Ty::I32, Ty::U32, Ty::I64, Ty::U64, Ty::F32];

    pub fn name(self) -> &'static str {
        ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float"][self as usize]
    }

    pub fn bits(self) -> u32 {
        [8, 8, 16, 16, 32, 32, 64, 64, 32][self as usize]
    }

    pub fn signed(self) -> bool {
        matches!(self, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64)
    }

    /// The unsigned type of the same width.
    pub fn unsigned(self) -> Ty {
        match self.bits() {
            8 => Ty::U8,
            16 => Ty::U16,
            32 => Ty::U32,
            _ => Ty::U64,
        }
    }

    /// Integer promotion.
    pub fn promoted(self) -> Ty {
        if self.bits() < 32 { Ty::I32 } else { self }
    }

    /// The usual arithmetic conversions.
    pub fn common(self, other: Ty) -> Ty {
        let (a, b) = (self.promoted(), other.promoted());
        if a == Ty::F32 || b == Ty::F32 {
            return Ty::F32;
        }
        match a.bits().cmp(&b.bits()) {
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Equal if a.signed() => b,
            std::cmp::Ordering::Equal => a,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bin {
    Add,
    Sub,
    Mul,
    /// By something that is made positive.
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Lt,
    Le,
    Eq,
    Ne,
    LogicalAnd,
    LogicalOr,
}

impl Bin {
    fn text(self) -> &'static str {
        ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", "&&", "||"]
            [self as usize]
    }

    pub fn is_truth(self) -> bool {
        matches!(self, Bin::Lt | Bin::Le | Bin::Eq | Bin::Ne | Bin::LogicalAnd | Bin::LogicalOr)
    }
}

/// Built-in functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    Min,
    Max,
    Rotate,
    Popcount,
    MulHi,
    AddSat,
    SubSat,
    Fma,
    Fabs,
    Floor,
}

impl Call {
    fn text(self) -> &'static str {
        ["min", "max", "rotate", "popcount", "mul_hi", "add_sat", "sub_sat", "fma", "fabs", "floor"]
            [self as usize]
    }
}

/// An expression; `ty` is the type that C gives it.
#[derive(Clone, Debug)]
pub struct Expr {
    pub ty: Ty,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Const(u64),
    Var(usize),
    /// Component of a vector of four.
    Lane(usize, usize),
    /// Element of an array of eight, index masked.
    Element(usize, Box<Expr>),
    /// Element of the program's table of sixteen, index masked.
    Table(Box<Expr>),
    /// Element of the input, for this work-item plus a masked index.
    Input(Ty, Box<Expr>),
    GlobalId,
    Bin(Bin, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    Cast(Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    Call(Call, Vec<Expr>),
    Function(usize, Vec<Expr>),
}

#[derive(Clone, Debug)]
pub enum Stmt {
    /// Declares with a value.
    Let(usize, Expr),
    Assign(usize, Expr),
    /// `v op= e`, for unsigned and floating variables.
    Update(usize, Bin, Expr),
    SetLane(usize, usize, Expr),
    /// `v = v.swizzle op w.swizzle`
    Vector(usize, Bin, [usize; 4], usize, [usize; 4]),
    SetElement(usize, Expr, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Counts a new variable from 0 by a step up to a bound.
    For {
        var: usize,
        bound: Expr,
        step: u64,
        body: Vec<Stmt>,
    },
    /// Counts down from a masked value.
    While {
        var: usize,
        count: Expr,
        body: Vec<Stmt>,
    },
    Switch(Expr, Vec<(Vec<Stmt>, bool)>, Vec<Stmt>),
    BreakIf(Expr),
    ContinueIf(Expr),
    ReturnIf(Expr, Expr),
    /// Writes own slot of local memory, waits, reads a neighbour's into a variable, waits.
    Exchange {
        from: Expr,
        distance: usize,
        to: usize,
    },
}

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarKind {
    Scalar(Ty),
    /// `uint4`
    Vector,
    /// Eight elements.
    Array(Ty),
}

/// A helper function: the first variables are its parameters.
#[derive(Clone, Debug)]
pub struct Function {
    pub vars: Vec<VarKind>,
    pub params: usize,
    pub body: Vec<Stmt>,
    pub result: Expr,
}

/// A kernel with its helpers. The results are the unsigned long values of `results`.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub number: usize,
    pub functions: Vec<Function>,
    pub vars: Vec<VarKind>,
    pub body: Vec<Stmt>,
    pub results: Vec<Expr>,
}

/// Elements of `__constant` memory.
pub const TABLE: [u32; 16] = [
    0,
    1,
    0xffff_ffff,
    0x8000_0000,
    0x7fff_ffff,
    7,
    31,
    32,
    0x0001_0000,
    0xdead_beef,
    3,
    100,
    255,
    256,
    0xffff,
    12345,
];

/// The head that all kernels of a file share.
pub fn head() -> String {
    let table: Vec<String> = TABLE.iter().map(|v| format!("0x{v:x}u")).collect();
    format!(
        "#pragma OPENCL FP_CONTRACT OFF\n__constant uint table[16] = {{{}}};\n",
        table.join(", ")
    )
}

struct Writer {
    text: String,
    kernel: usize,
    depth: usize,
}

impl Kernel {
    /// The kernel and its helpers as OpenCL C.
    pub fn source(&self) -> String {
        let mut w = Writer { text: String::new(), kernel: self.number, depth: 1 };
        for (i, f) in self.functions.iter().enumerate() {
            let params: Vec<String> = (0..f.params)
                .map(|p| match f.vars[p] {
                    VarKind::Scalar(ty) => format!("{} v{p}", ty.name()),
                    VarKind::Vector => format!("uint4 v{p}"),
                    VarKind::Array(ty) => format!("{} *v{p}", ty.name()),
                })
                .collect();
            let _ = writeln!(
                w.text,
                "{} k{}_f{i}({})\n{{",
                f.result.ty.name(),
                self.number,
                params.join(", ")
            );
            w.declare(&f.vars[f.params..], f.params);
            w.body(&f.body);
            let result = w.expr(&f.result);
            w.line(&format!("return {result};"));
            w.text.push_str("}\n");
        }
        let _ = writeln!(
            w.text,
            "__kernel void k{}(__global const int *in_int, __global const ulong *in_ulong, \
             __global const float *in_float, __global ulong *out)\n{{\n    \
             __local uint shared[32];\n    int id = get_global_id(0), lid = get_local_id(0);",
            self.number
        );
        w.declare(&self.vars, 0);
        w.body(&self.body);
        let count = self.results.len();
        for (i, r) in self.results.iter().enumerate() {
            let value = w.expr(r);
            let value = match r.ty {
                Ty::F32 => format!("as_bits({value})"),
                _ => format!("(ulong)({value})"),
            };
            w.line(&format!("out[id * {count} + {i}] = {value};"));
        }
        w.text.push_str("}\n\n");
        w.text
    }
}

impl Writer {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "    ".repeat(self.depth));
    }

    /// Vectors and arrays exist from the start; scalars where they get their value.
    fn declare(&mut self, vars: &[VarKind], first: usize) {
        for (i, kind) in vars.iter().enumerate() {
            let v = first + i;
            match kind {
                VarKind::Scalar(_) => {}
                VarKind::Vector => self.line(&format!("uint4 v{v} = (uint4)({v}, 1, 2, 3);")),
                VarKind::Array(ty) => {
                    self.line(&format!("{} v{v}[8] = {{1, 2, 3, 4, 5, 6, 7, {v}}};", ty.name()));
                }
            }
        }
    }

    fn block(&mut self, body: &[Stmt]) {
        self.depth += 1;
        self.body(body);
        self.depth -= 1;
    }

    fn body(&mut self, body: &[Stmt]) {
        for s in body {
            self.stmt(s);
        }
    }

    fn stmt(&mut self, s: &Stmt) {
        let swizzle =
            |s: &[usize; 4]| s.iter().map(|i| "xyzw".as_bytes()[*i] as char).collect::<String>();
        match s {
            Stmt::Let(v, e) => {
                let text = format!("{} v{v} = {};", e.ty.name(), self.expr(e));
                self.line(&text);
            }
            Stmt::Assign(v, e) => {
                let text = format!("v{v} = {};", self.expr(e));
                self.line(&text);
            }
            Stmt::Update(v, op, e) => {
                let text = format!("v{v} {}= {};", op.text(), self.expr(e));
                self.line(&text);
            }
            Stmt::SetLane(v, lane, e) => {
                let text = format!("v{v}.{} = {};", &"xyzw"[*lane..=*lane], self.expr(e));
                self.line(&text);
            }
            Stmt::Vector(v, op, a, w, b) => {
                self.line(&format!(
                    "v{v} = v{v}.{} {} v{w}.{};",
                    swizzle(a),
                    op.text(),
                    swizzle(b)
                ));
            }
            Stmt::SetElement(v, i, e) => {
                let text = format!("v{v}[{} & 7] = {};", self.expr(i), self.expr(e));
                self.line(&text);
            }
            Stmt::If(c, yes, no) => {
                let text = format!("if ({}) {{", self.expr(c));
                self.line(&text);
                self.block(yes);
                if !no.is_empty() {
                    self.line("} else {");
                    self.block(no);
                }
                self.line("}");
            }
            Stmt::For { var, bound, step, body } => {
                let bound = self.expr(bound);
                self.line(&format!("for (int v{var} = 0; v{var} < {bound}; v{var} += {step}) {{"));
                self.block(body);
                self.line("}");
            }
            Stmt::While { var, count, body } => {
                let count = self.expr(count);
                self.line(&format!("uint v{var} = {count};"));
                self.line(&format!("while (v{var} > 0) {{"));
                self.depth += 1;
                self.line(&format!("--v{var};"));
                self.body(body);
                self.depth -= 1;
                self.line("}");
            }
            Stmt::Switch(e, cases, other) => {
                let text = format!("switch ({}) {{", self.expr(e));
                self.line(&text);
                for (i, (body, falls)) in cases.iter().enumerate() {
                    self.line(&format!("case {i}: {{"));
                    self.block(body);
                    self.line(if *falls { "}" } else { "} break;" });
                }
                self.line("default: {");
                self.block(other);
                self.line("}");
                self.line("}");
            }
            Stmt::BreakIf(c) => {
                let text = format!("if ({}) break;", self.expr(c));
                self.line(&text);
            }
            Stmt::ContinueIf(c) => {
                let text = format!("if ({}) continue;", self.expr(c));
                self.line(&text);
            }
            Stmt::ReturnIf(c, e) => {
                let text = format!("if ({}) return {};", self.expr(c), self.expr(e));
                self.line(&text);
            }
            Stmt::Exchange { from, distance, to } => {
                let from = self.expr(from);
                self.line(&format!("shared[lid] = {from};"));
                self.line("barrier(CLK_LOCAL_MEM_FENCE);");
                self.line(&format!("v{to} = shared[(lid + {distance}) & 31];"));
                self.line("barrier(CLK_LOCAL_MEM_FENCE);");
            }
        }
    }

    fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            Kind::Const(bits) => constant(e.ty, *bits),
            Kind::Var(v) => format!("v{v}"),
            Kind::Lane(v, lane) => format!("v{v}.{}", &"xyzw"[*lane..=*lane]),
            Kind::Element(v, i) => format!("v{v}[{} & 7]", self.expr(i)),
            Kind::Table(i) => format!("table[{} & 15]", self.expr(i)),
            Kind::Input(ty, i) => format!("in_{}[id + ({} & 3)]", ty.name(), self.expr(i)),
            Kind::GlobalId => "id".into(),
            Kind::Bin(op, a, b) => {
                let (x, y) = (self.expr(a), self.expr(b));
                let common = a.ty.common(b.ty);
                match op {
                    Bin::Div | Bin::Rem if common != Ty::F32 => {
                        let t = common.name();
                        // Not zero, and not -1.
                        let mask = if common.signed() { "0x7fff" } else { "0xffffff" };
                        format!("(({t})({x}) {} (({t})({y}) & {mask} | 1))", op.text())
                    }
                    // Signed overflow is undefined: computed without sign.
                    Bin::Add | Bin::Sub | Bin::Mul if common.signed() => {
                        let (t, u) = (common.name(), common.unsigned().name());
                        format!("({t})(({u})({x}) {} ({u})({y}))", op.text())
                    }
                    _ => format!("({x} {} {y})", op.text()),
                }
            }
            Kind::Not(a) => format!("(~{})", self.expr(a)),
            Kind::Neg(a) if e.ty.signed() => {
                let u = e.ty.unsigned().name();
                format!("({})(0 - ({u})({}))", e.ty.name(), self.expr(a))
            }
            Kind::Neg(a) => format!("(-{})", self.expr(a)),
            Kind::Cast(a) if a.ty == Ty::F32 && e.ty != Ty::F32 => {
                // In the range of every type; NaN becomes the lower end.
                let (low, high) =
                    if e.ty.signed() { ("-100.0f", "100.0f") } else { ("0.0f", "200.0f") };
                format!("({})(float_between({}, {low}, {high}))", e.ty.name(), self.expr(a))
            }
            Kind::Cast(a) => format!("({})({})", e.ty.name(), self.expr(a)),
            Kind::Select(c, a, b) => {
                format!("({} ? {} : {})", self.expr(c), self.expr(a), self.expr(b))
            }
            Kind::Call(f, args) => {
                let args: Vec<String> =
                    args.iter().map(|a| format!("({})({})", a.ty.name(), self.expr(a))).collect();
                format!("{}({})", f.text(), args.join(", "))
            }
            Kind::Function(f, args) => {
                let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
                format!("k{}_f{f}({})", self.kernel, args.join(", "))
            }
        }
    }
}

/// Two functions that the programs use, in OpenCL C.
pub const HELPERS: &str = "float float_between(float x, float low, float high)
{
    x = x >= low ? x : low;
    return x <= high ? x : high;
}
ulong as_bits(float x)
{
    return x == x ? as_uint(x) : 0x7fc00000u;
}
";

fn constant(ty: Ty, bits: u64) -> String {
    match ty {
        Ty::F32 => {
            let v = f32::from_bits(bits as u32);
            if v == 0.0 && v.is_sign_negative() { "(-0.0f)".into() } else { format!("({v:e}f)") }
        }
        Ty::U64 => format!("0x{bits:x}ul"),
        Ty::I64 => format!("((long)0x{bits:x}ul)"),
        Ty::U32 => format!("0x{bits:x}u"),
        _ => format!("(({})0x{bits:x}u)", ty.name()),
    }
}
