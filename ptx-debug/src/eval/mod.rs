//! Expressions compiled for a function, and computed over the lanes of a warp.
//!
//! Names are resolved and types chosen once. Whole numbers are computed in 64 bits, so that small
//! signed and unsigned values compare as the numbers that they are; registers of the untyped
//! `.b32` and `.b64` count as signed. As soon as one operand is a float, an operation is one of
//! doubles.

mod truth;
mod variables;

use std::io::Write;

use ptx_interp::Lane;
use ptx_isa::special::Sreg;
use ptx_isa::{Kind, Space, Ty};

use crate::code::{At, CodeMap, Register};
use crate::error::Error;
use crate::expr::{Binary, Expr, Unary};
use crate::vector::Processor;
pub(crate) use variables::of_source;

/// A value with its type; see [`decode`] for what the bits of a computed value are.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Typed {
    /// Type.
    pub ty: Ty,
    /// Bits of the type, zero-extended.
    pub bits: u64,
}

/// Where an expression's value is kept, if it is one place.
#[derive(Clone, Debug)]
pub enum Place {
    /// A register.
    Register(String, Register),
    /// Memory at an address.
    Memory(Space, Ty, Box<Compiled>),
}

/// An expression, ready to be computed.
#[derive(Clone, Debug)]
pub struct Compiled {
    node: Node,
    /// Type of its value.
    pub ty: Ty,
    /// Elements of the array that it names, with their type and space; its value is the address.
    pub array: Option<(Space, Ty, u64)>,
}

#[derive(Clone, Debug)]
enum Node {
    /// Widened as by [`widen`].
    Const(u64),
    /// Address of bytes in the local frame.
    Frame(u32),
    Register(Kind, u32, Ty, String),
    Special(Sreg),
    Load(Space, Ty, Box<Node>),
    Unary(Unary, bool, Box<Node>),
    Binary(Binary, Class, Box<Node>, Box<Node>),
    Convert(Ty, Ty, Box<Node>),
}

/// What an operation computes in.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Class {
    Signed,
    Unsigned,
    Float,
}

fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64)
}

fn is_unsigned(ty: Ty) -> bool {
    matches!(ty, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::Pred)
}

/// Bits of a type as the computation keeps them: sign- or zero-extended, floats as doubles.
pub fn widen(ty: Ty, bits: u64) -> u64 {
    match ty {
        Ty::F16 => f64::from(half::f16::from_bits(bits as u16)).to_bits(),
        Ty::Bf16 => f64::from(half::bf16::from_bits(bits as u16)).to_bits(),
        Ty::F32 => f64::from(f32::from_bits(bits as u32)).to_bits(),
        Ty::F64 => bits,
        Ty::Pred => bits & 1,
        _ => {
            let unused = 64 - ty.bits().min(64);
            match is_unsigned(ty) {
                true => bits << unused >> unused,
                false => ((bits << unused) as i64 >> unused) as u64,
            }
        }
    }
}

/// The bits of a type for a computed value: the opposite of [`widen`].
pub fn narrow(ty: Ty, value: u64) -> u64 {
    let f = || f64::from_bits(value);
    match ty {
        Ty::F16 => u64::from(half::f16::from_f64(f()).to_bits()),
        Ty::Bf16 => u64::from(half::bf16::from_f64(f()).to_bits()),
        Ty::F32 => u64::from((f() as f32).to_bits()),
        Ty::F64 => value,
        Ty::Pred => value & 1,
        _ => {
            let unused = 64 - ty.bits().min(64);
            value << unused >> unused
        }
    }
}

/// The low bits, as many as the type has.
pub fn narrow_bits(ty: Ty, bits: u64) -> u64 {
    let unused = 64 - ty.bits().clamp(1, 64);
    bits << unused >> unused
}

/// The value of bits of a type as text.
pub fn decode(ty: Ty, bits: u64) -> String {
    let mut text = Vec::new();
    decode_into(ty, bits, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// Appends the same text to bytes.
pub(crate) fn decode_into(ty: Ty, bits: u64, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = match ty {
        Ty::Pred => write!(out, "{}", bits & 1 != 0),
        Ty::F16 | Ty::Bf16 => write!(out, "{:?}", f64::from_bits(widen(ty, bits)) as f32),
        Ty::F32 => write!(out, "{:?}", f32::from_bits(bits as u32)),
        Ty::F64 => write!(out, "{:?}", f64::from_bits(bits)),
        _ if is_unsigned(ty) => {
            out.write_all(itoa::Buffer::new().format(widen(ty, bits)).as_bytes())
        }
        _ => out.write_all(itoa::Buffer::new().format(widen(ty, bits) as i64).as_bytes()),
    };
}

/// Compiles an expression for an instruction.
///
/// # Errors
/// Names that mean nothing there, and operations without meaning.
pub fn compile(expr: &Expr, code: &CodeMap, at: At) -> Result<Compiled, Error> {
    let value = |node, ty| Ok(Compiled { node, ty, array: None });
    if let Some(found) = variables::named_by(expr, code, at) {
        return found;
    }
    match expr {
        Expr::Int(v) => value(Node::Const(*v as u64), Ty::S64),
        Expr::Float(v) => value(Node::Const(v.to_bits()), Ty::F64),
        Expr::Name(name) => named(name, code, at.0),
        Expr::Unary(Unary::Load, of) => {
            let Compiled { node, array, .. } = compile(of, code, at)?;
            let (space, ty, _) = array.ok_or_else(|| {
                Error::Evaluate("`*` wants a pointer: *(f32 *)%rd1, *(.shared f32 *)%r1".into())
            })?;
            value(Node::Load(space, ty, Box::new(node)), ty)
        }
        Expr::Unary(op, of) => {
            let of = compile(of, code, at)?;
            let float = is_float(of.ty);
            if float && *op == Unary::Complement {
                return Err(Error::Evaluate("`~` wants a whole number".into()));
            }
            let ty = match op {
                Unary::Not => Ty::Pred,
                Unary::Minus if !float => Ty::S64,
                Unary::Minus | Unary::Complement | Unary::Load => of.ty,
            };
            value(Node::Unary(*op, float, Box::new(of.node)), ty)
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (compile(a, code, at)?, compile(b, code, at)?);
            binary(*op, a, b)
        }
        Expr::Index(of, index) => {
            let of = compile(of, code, at)?;
            let index = whole_index(compile(index, code, at)?)?;
            let (space, ty, _) = of
                .array
                .ok_or_else(|| Error::Evaluate("`[ ]` wants an array or a pointer".into()))?;
            let bytes = u64::from(ty.bits().div_ceil(8));
            let size = Node::Const(bytes);
            let offset =
                Node::Binary(Binary::Times, Class::Signed, Box::new(index), Box::new(size));
            let at = Node::Binary(Binary::Plus, Class::Signed, Box::new(of.node), Box::new(offset));
            value(Node::Load(space, ty, Box::new(at)), ty)
        }
        Expr::Member(..) => Err(Error::Evaluate(
            "`.` wants a structure of the source that debug information (nvcc -G, OpenCL C with -g) tells of".into(),
        )),
        Expr::Cast(ty, of) => {
            let of = compile(of, code, at)?;
            value(Node::Convert(of.ty, *ty, Box::new(of.node)), *ty)
        }
        Expr::Pointer(space, ty, of) => {
            let of = compile(of, code, at)?;
            if is_float(of.ty) {
                return Err(Error::Evaluate("an address is a whole number".into()));
            }
            Ok(Compiled { node: of.node, ty: Ty::U64, array: Some((*space, *ty, 0)) })
        }
    }
}

/// An index of an array or a pointer.
fn whole_index(index: Compiled) -> Result<Node, Error> {
    match is_float(index.ty) {
        true => Err(Error::Evaluate("an index is a whole number; cast: (s32)x".into())),
        false => Ok(index.node),
    }
}

fn named(name: &str, code: &CodeMap, function: u32) -> Result<Compiled, Error> {
    if let Some(Register { kind, number, ty }) = code.register(function, name) {
        let ty = crate::expr::value_type(ty.name()).unwrap_or(match kind {
            Kind::P => Ty::Pred,
            Kind::W => Ty::B32,
            Kind::D => Ty::B64,
        });
        let node = Node::Register(kind, number, ty, name.into());
        return Ok(Compiled { node, ty, array: None });
    }
    if let Some(reg) = Sreg::parse(name) {
        return Ok(Compiled { node: Node::Special(reg), ty: reg.ty(), array: None });
    }
    let Some(v) = code.variable(name) else { return Err(Error::UnknownName(name.into())) };
    let ty = crate::expr::value_type(v.ty.name()).unwrap_or(Ty::B8);
    let address = Node::Const(v.address);
    if v.array || v.size != u64::from(ty.bits().div_ceil(8)) {
        let count = v.size / u64::from(ty.bits().div_ceil(8));
        return Ok(Compiled { node: address, ty: Ty::U64, array: Some((v.space, ty, count)) });
    }
    Ok(Compiled { node: Node::Load(v.space, ty, Box::new(address)), ty, array: None })
}

fn binary(op: Binary, a: Compiled, b: Compiled) -> Result<Compiled, Error> {
    use Binary::*;
    let float = is_float(a.ty) || is_float(b.ty);
    let whole = matches!(op, BitOr | BitXor | BitAnd | ShiftLeft | ShiftRight | Modulo);
    if float && whole {
        return Err(Error::Evaluate("this operator wants whole numbers; cast: (u32)%f1".into()));
    }
    let wide = |t: Ty| t == Ty::U64;
    let class = match (float, wide(a.ty) || wide(b.ty)) {
        (true, _) => Class::Float,
        (false, true) => Class::Unsigned,
        (false, false) => Class::Signed,
    };
    let ty = match op {
        Or | And | Equal | Unequal | Less | LessEqual | Greater | GreaterEqual => Ty::Pred,
        _ => match class {
            Class::Float => Ty::F64,
            Class::Unsigned => Ty::U64,
            Class::Signed => Ty::S64,
        },
    };
    let double = |c: Compiled| match class {
        Class::Float if !is_float(c.ty) => Node::Convert(c.ty, Ty::F64, Box::new(c.node)),
        _ => c.node,
    };
    // Truth of each side has its own class.
    let truth = |c: Compiled| match is_float(c.ty) {
        true => Node::Unary(Unary::Not, true, Box::new(c.node)),
        false => Node::Unary(Unary::Not, false, Box::new(c.node)),
    };
    let not = |n: Node| Node::Unary(Unary::Not, false, Box::new(n));
    let (a, b) = match op {
        Or | And => (not(truth(a)), not(truth(b))),
        _ => (double(a), double(b)),
    };
    let class = if matches!(op, Or | And) { Class::Signed } else { class };
    Ok(Compiled { node: Node::Binary(op, class, Box::new(a), Box::new(b)), ty, array: None })
}

impl Compiled {
    /// The value in the lanes of `mask`, which stand together with `lane`, `up` calls outwards.
    ///
    /// # Errors
    /// Registers without a value, and faults of reading memory.
    pub fn values(&self, lane: &Lane<'_>, up: u32, mask: u32) -> Result<[u64; 32], Error> {
        let wide = compute(&self.node, lane, up, mask)?;
        Ok(wide.map(|v| narrow(self.ty, v)))
    }

    /// The value in one lane.
    ///
    /// # Errors
    /// As [`Compiled::values`].
    pub fn value(&self, lane: &Lane<'_>, up: u32) -> Result<Typed, Error> {
        let values = self.values(lane, up, 1 << lane.lane)?;
        Ok(Typed { ty: self.ty, bits: values[lane.lane as usize] })
    }

    /// The lanes of `mask` in which it is true.
    ///
    /// # Errors
    /// As [`Compiled::values`].
    pub fn holds(&self, lane: &Lane<'_>, up: u32, mask: u32) -> Result<u32, Error> {
        if !is_float(self.ty) {
            return truth::truth(Processor::detect(), &self.node, lane, up, mask);
        }
        let v = compute(&self.node, lane, up, mask)?;
        let hit = |l: &u32| f64::from_bits(v[*l as usize]) != 0.0;
        Ok((0..32).filter(hit).fold(0, |yes, l| yes | 1 << l) & mask)
    }

    /// The value if it depends on no register and no memory.
    pub fn constant(&self) -> Option<u64> {
        fn of(node: &Node) -> Option<u64> {
            match node {
                Node::Const(v) => Some(*v),
                Node::Binary(op, Class::Signed, a, b) => {
                    wholes(*op, Class::Signed, [of(a)?; 32], [of(b)?; 32]).ok().map(|v| v[0])
                }
                _ => None,
            }
        }
        of(&self.node)
    }

    /// The value in another type.
    pub fn converted(self, ty: Ty) -> Compiled {
        let node = Node::Convert(self.ty, ty, Box::new(self.node));
        Compiled { node, ty, array: None }
    }

    /// Where the value is kept, if it is a register or in memory.
    pub fn place(&self) -> Option<Place> {
        match &self.node {
            Node::Register(kind, number, ty, name) => {
                let register = Register { kind: *kind, number: *number, ty: *ty };
                Some(Place::Register(name.clone(), register))
            }
            Node::Load(space, ty, at) => {
                let at = Compiled { node: (**at).clone(), ty: Ty::U64, array: None };
                Some(Place::Memory(*space, *ty, Box::new(at)))
            }
            _ => None,
        }
    }
}

fn compute(node: &Node, lane: &Lane<'_>, up: u32, mask: u32) -> Result<[u64; 32], Error> {
    Ok(match node {
        Node::Const(v) => [*v; 32],
        Node::Frame(offset) => {
            let start = lane.local_frame(up).unwrap_or(0);
            [u64::from(start) + u64::from(*offset); 32]
        }
        Node::Register(kind, number, ty, name) => {
            let row = lane.register(up, *kind, *number);
            let row = row.ok_or_else(|| Error::Unused(name.clone()))?;
            match ty {
                Ty::U64 | Ty::F64 | Ty::B64 | Ty::S64 | Ty::U32 | Ty::Pred => row,
                ty => row.map(|v| widen(*ty, v)),
            }
        }
        Node::Special(reg) => special(*reg, lane, mask),
        Node::Load(space, ty, at) => {
            let at = compute(at, lane, up, mask)?;
            let mut out = [0; 32];
            for l in (0..32).filter(|l| mask >> l & 1 != 0) {
                let mut bytes = [0; 8];
                let size = ty.bits().div_ceil(8) as usize;
                let from = lane.sibling(l as u8);
                let read = from.read(*space, at[l], &mut bytes[..size]);
                read.map_err(|_| unreadable(*space, at[l]))?;
                out[l] = widen(*ty, u64::from_le_bytes(bytes));
            }
            out
        }
        Node::Unary(op, float, of) => {
            let v = compute(of, lane, up, mask)?;
            match (op, float) {
                (Unary::Minus, true) => v.map(|v| (-f64::from_bits(v)).to_bits()),
                (Unary::Minus, false) => v.map(|v| v.wrapping_neg()),
                (Unary::Not, true) => v.map(|v| u64::from(f64::from_bits(v) == 0.0)),
                (Unary::Not, false) => v.map(|v| u64::from(v == 0)),
                (Unary::Complement | Unary::Load, _) => v.map(|v| !v),
            }
        }
        Node::Binary(Binary::And, _, a, b) => {
            // Lanes for which one side does not hold need not compute the other one. The side that comes first is the
            // left one, which may guard a load, unless the right one costs less and cannot fail.
            let (first, second) = if cost(b) < cost(a).min(DEAR) { (b, a) } else { (a, b) };
            let mut out = compute(first, lane, up, mask)?;
            let held = out.iter().enumerate().fold(0, |m, (l, v)| m | u32::from(*v != 0) << l);
            if held & mask == 0 {
                return Ok([0; 32]);
            }
            let other = compute(second, lane, up, held & mask)?;
            for (v, o) in out.iter_mut().zip(other) {
                *v &= o;
            }
            out
        }
        Node::Binary(op, class, a, b) => {
            let (a, b) = (compute(a, lane, up, mask)?, compute(b, lane, up, mask)?);
            match class {
                Class::Float => floats(*op, a, b),
                Class::Signed | Class::Unsigned => wholes(*op, *class, a, b)?,
            }
        }
        Node::Convert(from, to, of) => {
            let v = compute(of, lane, up, mask)?;
            v.map(|v| convert(*from, *to, v))
        }
    })
}

/// What a load costs, and a side that may fail: it keeps its turn.
const DEAR: u32 = 1000;

/// How long a value takes, roughly, by the rows of lanes that are gone through.
fn cost(node: &Node) -> u32 {
    match node {
        Node::Const(_) | Node::Frame(_) => 0,
        Node::Register(..) => 1,
        Node::Special(_) => 8,
        Node::Load(..) => DEAR,
        Node::Unary(_, _, of) | Node::Convert(_, _, of) => 1 + cost(of),
        Node::Binary(_, _, a, b) => 1 + cost(a) + cost(b),
    }
}

/// A special register in the lanes of a warp.
fn special(reg: Sreg, lane: &Lane<'_>, mask: u32) -> [u64; 32] {
    let one = |l: u8, reg: Sreg| widen(reg.ty(), lane.special(l, reg));
    match reg {
        // The next lane is the next thread: three look-ups in place of 32.
        Sreg::TidX | Sreg::TidY | Sreg::TidZ => {
            let [mut x, mut y, mut z] = [Sreg::TidX, Sreg::TidY, Sreg::TidZ].map(|r| one(0, r));
            let (width, height) = (one(0, Sreg::NtidX), one(0, Sreg::NtidY));
            std::array::from_fn(|_| {
                let now = match reg {
                    Sreg::TidX => x,
                    Sreg::TidY => y,
                    _ => z,
                };
                x += 1;
                if x >= width {
                    (x, y) = (0, y + 1);
                }
                if y >= height {
                    (y, z) = (0, z + 1);
                }
                now
            })
        }
        Sreg::NtidX
        | Sreg::NtidY
        | Sreg::NtidZ
        | Sreg::CtaidX
        | Sreg::CtaidY
        | Sreg::CtaidZ
        | Sreg::NctaidX
        | Sreg::NctaidY
        | Sreg::NctaidZ => [one(lane.lane, reg); 32],
        _ => {
            let mut out = [0; 32];
            for l in (0..32).filter(|l| mask >> l & 1 != 0) {
                out[l] = one(l as u8, reg);
            }
            out
        }
    }
}

/// The sentence for memory that cannot be read.
pub(crate) fn unreadable(space: Space, address: u64) -> Error {
    let space = space_name(space);
    Error::Evaluate(format!("{space} address {address:#x} is outside every allocation"))
}

/// The name of a state space, as expressions write it.
pub fn space_name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::SharedCluster => "cluster",
        Space::Local | Space::ParamFunc => "local",
        Space::Const => "const",
        Space::ParamEntry => "param",
        Space::Reg | Space::Sreg | Space::Tex => "register",
    }
}

/// A value of one type in another, both as [`widen`] keeps them.
fn convert(from: Ty, to: Ty, v: u64) -> u64 {
    match (is_float(from), is_float(to)) {
        (true, true) => widen(to, narrow(to, v)),
        (true, false) => {
            let f = f64::from_bits(v);
            let whole = if is_unsigned(to) { f as u64 } else { f as i64 as u64 };
            widen(to, whole)
        }
        (false, true) => {
            let f = if is_unsigned(from) { v as f64 } else { v as i64 as f64 };
            widen(to, narrow(to, f.to_bits()))
        }
        (false, false) => widen(to, v),
    }
}

fn floats(op: Binary, a: [u64; 32], b: [u64; 32]) -> [u64; 32] {
    let each = |f: fn(f64, f64) -> f64| {
        std::array::from_fn(|l| f(f64::from_bits(a[l]), f64::from_bits(b[l])).to_bits())
    };
    let test = |f: fn(&f64, &f64) -> bool| {
        std::array::from_fn(|l| u64::from(f(&f64::from_bits(a[l]), &f64::from_bits(b[l]))))
    };
    match op {
        Binary::Equal => test(f64::eq),
        Binary::Unequal => test(f64::ne),
        Binary::Less => test(f64::lt),
        Binary::LessEqual => test(f64::le),
        Binary::Greater => test(f64::gt),
        Binary::GreaterEqual => test(f64::ge),
        Binary::Plus => each(|a, b| a + b),
        Binary::Minus => each(|a, b| a - b),
        Binary::Times => each(|a, b| a * b),
        Binary::Divide => each(|a, b| a / b),
        // Compilation refuses the others for floats.
        Binary::Or
        | Binary::And
        | Binary::BitOr
        | Binary::BitXor
        | Binary::BitAnd
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::Modulo => [0; 32],
    }
}

fn wholes(op: Binary, class: Class, a: [u64; 32], b: [u64; 32]) -> Result<[u64; 32], Error> {
    let each = |f: fn(u64, u64) -> u64| std::array::from_fn(|l| f(a[l], b[l]));
    let unsigned = class == Class::Unsigned;
    let order = |f: fn(std::cmp::Ordering) -> bool| {
        std::array::from_fn(|l| {
            let order = if unsigned { a[l].cmp(&b[l]) } else { (a[l] as i64).cmp(&(b[l] as i64)) };
            u64::from(f(order))
        })
    };
    Ok(match op {
        Binary::Or => each(|a, b| a | b),
        Binary::And => each(|a, b| a & b),
        Binary::BitOr => each(|a, b| a | b),
        Binary::BitXor => each(|a, b| a ^ b),
        Binary::BitAnd => each(|a, b| a & b),
        Binary::Equal => order(|o| o.is_eq()),
        Binary::Unequal => order(|o| o.is_ne()),
        Binary::Less => order(|o| o.is_lt()),
        Binary::LessEqual => order(|o| o.is_le()),
        Binary::Greater => order(|o| o.is_gt()),
        Binary::GreaterEqual => order(|o| o.is_ge()),
        Binary::ShiftLeft => each(|a, b| if b < 64 { a << b } else { 0 }),
        Binary::ShiftRight if unsigned => each(|a, b| if b < 64 { a >> b } else { 0 }),
        Binary::ShiftRight => each(|a, b| (a as i64 >> b.min(63)) as u64),
        Binary::Plus => each(u64::wrapping_add),
        Binary::Minus => each(u64::wrapping_sub),
        Binary::Times => each(u64::wrapping_mul),
        Binary::Divide if unsigned => each(|a, b| a.checked_div(b).unwrap_or(0)),
        Binary::Divide => each(|a, b| (a as i64).checked_div(b as i64).unwrap_or(0) as u64),
        Binary::Modulo if unsigned => each(|a, b| a.checked_rem(b).unwrap_or(0)),
        Binary::Modulo => each(|a, b| (a as i64).checked_rem(b as i64).unwrap_or(0) as u64),
    })
}
