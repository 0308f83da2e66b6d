//! The context in which a row's meaning reads its operands and appends micro-ops.
//!
//! A meaning reads sources by slot name ([`Cx::rd`]), appends pure micro-ops ([`Cx::op`]) or
//! effects, and writes destinations ([`Cx::wr`]). Values are [`V`]: typed handles, never numbers.
//! Destinations change only after everything was read, so a meaning need not care about
//! destinations that are sources too.

use crate::effect::{Effect, Flow, MemoryPlace, WarpFn, WarpOp};
use crate::matched::Match;
use crate::row::Row;
use crate::special::Sreg;
pub use crate::syntax::Selection;
use crate::types::{Kind, PtxVersion, Space, Target, Ty};
use crate::uop::Op;
use smallvec::SmallVec;

/// A value of a kind: where a micro-op finds an operand or puts its result.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct V {
    /// What it holds.
    pub kind: Kind,
    /// Where it is.
    pub src: Src,
}

/// Where a value is.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Src {
    /// Register number (dense per kind and function).
    Reg(u32),
    /// Temporary of the current instruction (dense per kind).
    Temp(u32),
    /// The same value in every lane; a predicate is 0 or 1.
    Const(u64),
    /// Special register.
    Special(Sreg),
    /// Address in shared memory of this offset in that of the executing block.
    Shared(u32),
    /// Address of a module variable in its own space, plus an offset.
    Symbol(u32, i64),
    /// Entry address of a function (for indirect calls).
    Function(u32),
    /// `.local` address of this offset in the frame of the executing function.
    Frame(u32),
    /// Low half of a symbol's address (32-bit modules).
    SymbolLow(u32, i64),
    /// Low half of a frame address.
    FrameLow(u32),
}

impl V {
    /// A constant of kind `W`.
    pub const fn w(v: u32) -> V {
        V { kind: Kind::W, src: Src::Const(v as u64) }
    }
    /// A constant of kind `D`.
    pub const fn d(v: u64) -> V {
        V { kind: Kind::D, src: Src::Const(v) }
    }
    /// A constant predicate.
    pub const fn p(v: bool) -> V {
        V { kind: Kind::P, src: Src::Const(v as u64) }
    }
    /// The constant's value; of the address of shared memory the offset in its block.
    pub const fn fixed(self) -> Option<u64> {
        match self.src {
            Src::Shared(at) => Some(at as u64),
            _ => self.as_const(),
        }
    }
    /// The constant's value, if it is one.
    pub const fn as_const(self) -> Option<u64> {
        match self.src {
            Src::Const(v) => Some(v),
            _ => None,
        }
    }
}

/// A micro-op of lowered code.
#[derive(Clone, Debug)]
pub enum Uop {
    /// `dst = op(args)`, operands beyond the op's own are unused.
    Pure {
        /// Operation.
        op: Op,
        /// Register or temporary.
        dst: V,
        /// Operands.
        args: [V; 3],
        /// Constant of the instruction.
        k: u32,
    },
    /// An effect with its destinations and sources. All sources are read before any
    /// destination is written.
    Effect {
        /// What happens.
        effect: Effect,
        /// Registers or temporaries.
        dst: Box<[V]>,
        /// Operands.
        src: Box<[V]>,
    },
}

/// An operand as the verifier resolved it, in the order of the row's slots.
#[derive(Clone, Debug)]
pub enum Arg {
    /// An optional operand that was left out.
    Absent,
    /// The sink `_`.
    Sink,
    /// A register, constant, special register or address.
    Val {
        /// The value. Immediates have the bits of the slot's type.
        v: V,
        /// Declared type of the register; for immediates the slot's type.
        ty: Ty,
        /// Video selector.
        part: Selection,
    },
    /// A 128-bit register: low and high half.
    Pair(V, V),
    /// A predicate operand with `!`.
    Not(V),
    /// A register operand with `-` (`vmad`).
    Minus(Box<Arg>),
    /// A register operand with a constant that is added to it.
    Sum(Box<Arg>, i64),
    /// A vector.
    Vector(Vec<Arg>),
    /// A destination and its predicate after the bar.
    Both(Box<Arg>, Box<Arg>),
    /// A memory operand.
    Addr(Addr),
}

/// A memory operand.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Addr {
    /// Base: a `D` value, or a `W` value (32-bit addresses).
    pub base: V,
    /// Constant offset.
    pub offset: i64,
    /// Space of the variable that the operand names, if it names one.
    pub named: Option<Space>,
}

/// What the instruction can know about its module.
#[derive(Copy, Clone, Debug)]
pub struct ModuleInfo {
    /// `.target`.
    pub target: Target,
    /// `.version`.
    pub version: PtxVersion,
    /// `.address_size` in bits: 32 or 64.
    pub address_bits: u8,
}

/// Local memory that a kernel allocates from while it runs, by `.local` addresses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct StackArea {
    /// A word that holds the bytes in use; zero when the kernel starts.
    pub used: u32,
    /// First byte.
    pub bottom: u32,
    /// Byte behind the last; the stack grows down from it.
    pub top: u32,
}

/// The context of one instruction's meaning.
pub struct Cx<'a> {
    /// Where the function allocates from; `None` in functions that do not, or are no kernels.
    pub stack: Option<StackArea>,
    /// The matched row and modifiers.
    pub m: &'a Match,
    /// The module's target and version.
    pub module: ModuleInfo,
    args: &'a [Arg],
    out: &'a mut Vec<Uop>,
    first: usize,
    temps: [u32; 3],
    /// What is written when everything was read: register, value.
    writes: SmallVec<[(V, V); 4]>,
    refused: Option<String>,
    carry: V,
}

impl<'a> Cx<'a> {
    /// Starts the meaning of one instruction; `carry` is the function's `CC.CF` register.
    pub fn new(
        m: &'a Match,
        module: ModuleInfo,
        args: &'a [Arg],
        carry: V,
        out: &'a mut Vec<Uop>,
    ) -> Cx<'a> {
        let first = out.len();
        Cx {
            m,
            module,
            args,
            out,
            first,
            temps: [0; 3],
            writes: SmallVec::new(),
            refused: None,
            carry,
            stack: None,
        }
    }

    // ---- modifiers -------------------------------------------------------

    /// Whether modifier `token` (with its dot) was given.
    pub fn has(&self, token: &str) -> bool {
        self.m.has(token)
    }
    /// The token chosen for set `name`, or `""`.
    pub fn get(&self, name: &str) -> &'static str {
        self.m.get(name).unwrap_or("")
    }
    /// The type chosen for set `type`, or the last type among the modifiers.
    ///
    /// # Panics
    /// When the row has no type at all.
    pub fn ty(&self) -> Ty {
        self.m
            .ty("type")
            .or_else(|| self.m.picked.iter().rev().flatten().find_map(|t| Ty::from_token(t)))
            .expect("a type")
    }
    /// The type chosen for set `name`.
    ///
    /// # Panics
    /// When nothing was chosen there.
    pub fn ty_of(&self, name: &str) -> Ty {
        self.m.ty(name).expect("a type")
    }
    /// The module's architecture number.
    pub fn sm(&self) -> u16 {
        self.module.target.sm
    }

    // ---- operands --------------------------------------------------------

    fn index(&self, name: &str) -> usize {
        self.m
            .notation
            .slots
            .iter()
            .position(|s| s.name == name)
            .unwrap_or_else(|| panic!("no operand `{name}` in `{}`", self.m.row.syntax))
    }
    /// The operand `name` as resolved.
    pub fn arg(&self, name: &str) -> &'a Arg {
        &self.args[self.index(name)]
    }
    /// Whether optional operand `name` was given.
    pub fn given(&self, name: &str) -> bool {
        !matches!(self.arg(name), Arg::Absent)
    }
    /// The type of slot `name`.
    pub fn slot_ty(&self, name: &str) -> Option<Ty> {
        self.m.slot_ty(&self.m.notation.slots[self.index(name)])
    }
    /// The video selector of operand `name`.
    pub fn part(&self, name: &str) -> Selection {
        match self.arg(name) {
            Arg::Val { part, .. } => *part,
            Arg::Minus(a) => match **a {
                Arg::Val { part, .. } => part,
                _ => Selection::Whole,
            },
            _ => Selection::Whole,
        }
    }
    /// Whether operand `name` has a minus sign, which [`Cx::rd`] leaves to the meaning.
    pub fn minus(&self, name: &str) -> bool {
        matches!(self.arg(name), Arg::Minus(_))
    }
    /// Reads source `name` at its slot's type: wider registers are cut to it.
    pub fn rd(&mut self, name: &str) -> V {
        let at = self.index(name);
        self.rd_arg(&self.args[at], self.m.slot_ty(&self.m.notation.slots[at]))
    }
    /// Reads source `name`, or `default` when it was left out.
    pub fn rd_or(&mut self, name: &str, default: V) -> V {
        if self.given(name) { self.rd(name) } else { default }
    }
    /// Reads one operand at type `ty`.
    pub fn rd_arg(&mut self, arg: &Arg, ty: Option<Ty>) -> V {
        match arg {
            Arg::Val { v, ty: declared, .. } => match ty {
                Some(t)
                    if t.bits() < declared.bits()
                        && t.kind() != Kind::P
                        && *declared != Ty::Pred =>
                {
                    let w = if v.kind == Kind::D && t.kind() == Kind::W {
                        self.op1(Op::TruncDW, *v)
                    } else {
                        *v
                    };
                    self.zext(w, t.bits())
                }
                _ => *v,
            },
            Arg::Not(v) => self.op1(Op::NotP, *v),
            Arg::Minus(a) => self.rd_arg(a, ty),
            Arg::Sum(a, offset) => {
                let mut v = self.rd_arg(a, ty);
                if v.kind == Kind::W && ty.is_some_and(|t| t.kind() == Kind::D) {
                    v = self.op1(Op::ZextWD, v);
                }
                if v.kind == Kind::D {
                    return self.op2(Op::AddD, v, V::d(*offset as u64));
                }
                let sum = self.op2(Op::AddW, v, V::w(*offset as u32));
                let declared = if let Arg::Val { ty, .. } = **a { ty.bits() } else { 32 };
                self.zext(sum, ty.map_or(declared, |t| t.bits().min(declared)))
            }
            Arg::Both(a, _) => self.rd_arg(a, ty),
            Arg::Pair(lo, _) => *lo,
            other => panic!("operand {other:?} of `{}` is not a value", self.m.row.syntax),
        }
    }
    /// Reads the elements of vector source `name` (one for a scalar).
    pub fn rd_vec(&mut self, name: &str) -> Vec<V> {
        let ty = self.slot_ty(name);
        match self.arg(name) {
            Arg::Vector(items) => items.iter().map(|a| self.rd_arg(a, ty)).collect(),
            Arg::Absent => Vec::new(),
            one => vec![self.rd_arg(one, ty)],
        }
    }
    /// Reads a vector of sources of which some may be left out with `_`.
    pub fn rd_some(&mut self, name: &str) -> Vec<Option<V>> {
        let ty = self.slot_ty(name);
        let Arg::Vector(items) = self.arg(name) else { return Vec::new() };
        let given = |a: &Arg| (!matches!(a, Arg::Sink)).then(|| self.rd_arg(a, ty));
        items.iter().map(given).collect()
    }
    /// Reads a 128-bit source: low and high half.
    pub fn rd_pair(&mut self, name: &str) -> (V, V) {
        match self.arg(name) {
            Arg::Pair(lo, hi) => (*lo, *hi),
            other => panic!("operand {other:?} of `{}` is not 128 bits wide", self.m.row.syntax),
        }
    }
    /// The memory operand `name`.
    pub fn addr(&self, name: &str) -> Addr {
        match self.arg(name) {
            Arg::Addr(a) => *a,
            other => panic!("operand {other:?} of `{}` is not an address", self.m.row.syntax),
        }
    }
    /// The value of immediate operand `name`.
    pub fn imm(&self, name: &str) -> u64 {
        match self.arg(name) {
            Arg::Val { v: V { src: Src::Const(c), .. }, .. } => *c,
            other => panic!("operand {other:?} of `{}` is not constant", self.m.row.syntax),
        }
    }

    // ---- results ---------------------------------------------------------

    /// Writes destination `name` with a value of its slot's type; wider registers take it
    /// extended by the type's rule.
    pub fn wr(&mut self, name: &str, v: V) {
        let at = self.index(name);
        self.wr_arg(&self.args[at], v, self.m.slot_ty(&self.m.notation.slots[at]));
    }
    /// Writes the predicate after the bar of destination `name`, if there is one.
    pub fn wr_second(&mut self, name: &str, p: V) {
        if let Arg::Both(_, second) = self.arg(name) {
            self.wr_arg(second, p, None);
        }
    }
    /// Writes the elements of vector destination `name`.
    pub fn wr_vec(&mut self, name: &str, values: &[V]) {
        let ty = self.slot_ty(name);
        // A predicate behind the bar is written by `wr_second`.
        let arg = match self.arg(name) {
            Arg::Both(first, _) => first,
            arg => arg,
        };
        match arg {
            Arg::Vector(items) => {
                for (a, v) in items.iter().zip(values) {
                    self.wr_arg(a, *v, ty);
                }
            }
            one => self.wr_arg(one, values[0], ty),
        }
    }
    /// Writes a 128-bit destination.
    pub fn wr_pair(&mut self, name: &str, lo: V, hi: V) {
        if let Arg::Pair(l, h) = self.arg(name) {
            self.writes.push((*l, lo));
            self.writes.push((*h, hi));
        }
    }
    /// Writes one destination operand with a value of type `ty`.
    pub fn wr_arg(&mut self, arg: &Arg, v: V, ty: Option<Ty>) {
        match arg {
            Arg::Val { v: reg, ty: declared, .. } => {
                let v = match ty {
                    Some(t)
                        if t.bits() < declared.bits() && *declared != Ty::Pred && t != Ty::Pred =>
                    {
                        self.extend(v, t, *declared)
                    }
                    _ => v,
                };
                assert_eq!(reg.kind, v.kind, "result kind of `{}`", self.m.row.syntax);
                self.writes.push((*reg, v));
            }
            Arg::Both(a, _) => self.wr_arg(a, v, ty),
            Arg::Sink | Arg::Absent => {}
            other => panic!("operand {other:?} of `{}` is not a destination", self.m.row.syntax),
        }
    }
    /// Reads the carry flag `CC.CF`.
    pub fn carry(&self) -> V {
        self.carry
    }
    /// Writes the carry flag.
    pub fn set_carry(&mut self, p: V) {
        self.writes.push((self.carry, p));
    }
    /// Says that this use cannot run; a launch that reaches it is refused with `why`.
    pub fn refuse(&mut self, why: impl Into<String>) {
        self.refused.get_or_insert(why.into());
    }

    // ---- micro-ops -------------------------------------------------------

    fn temp(&mut self, kind: Kind) -> V {
        let n = &mut self.temps[kind as usize];
        *n += 1;
        V { kind, src: Src::Temp(*n - 1) }
    }
    /// Appends `op` with constant `k`.
    ///
    /// # Panics
    /// When number or kinds of the operands are not the op's: a wrong row.
    pub fn op_k(&mut self, op: Op, operands: &[V], k: u32) -> V {
        let kinds = op.args();
        assert!(
            kinds.len() == operands.len() && kinds.iter().zip(operands).all(|(k, v)| *k == v.kind),
            "operands {operands:?} of {} in `{}`",
            op.name(),
            self.m.row.syntax
        );
        // Constants fold at once: the engines see only what depends on the launch.
        if operands.iter().all(|v| v.as_const().is_some()) {
            let mut bits = [0; 3];
            for (b, v) in bits.iter_mut().zip(operands) {
                *b = v.as_const().unwrap_or(0);
            }
            return V { kind: op.ret(), src: Src::Const(crate::uop::eval(op, bits, k)) };
        }
        let mut args = [V::w(0); 3];
        args[..operands.len()].copy_from_slice(operands);
        let dst = self.temp(op.ret());
        self.out.push(Uop::Pure { op, dst, args, k });
        dst
    }
    /// Appends `op`.
    pub fn op(&mut self, op: Op, operands: &[V]) -> V {
        self.op_k(op, operands, 0)
    }
    /// Appends a unary op.
    pub fn op1(&mut self, op: Op, a: V) -> V {
        self.op(op, &[a])
    }
    /// Appends a binary op.
    pub fn op2(&mut self, op: Op, a: V, b: V) -> V {
        self.op(op, &[a, b])
    }
    /// Appends a ternary op.
    pub fn op3(&mut self, op: Op, a: V, b: V, c: V) -> V {
        self.op(op, &[a, b, c])
    }
    /// Appends an effect with results of the given kinds.
    pub fn effect(&mut self, effect: Effect, src: &[V], results: &[Kind]) -> Vec<V> {
        let dst: Vec<V> = results.iter().map(|k| self.temp(*k)).collect();
        self.out.push(Uop::Effect { effect, dst: dst.clone().into(), src: src.into() });
        dst
    }
    /// Appends a function over the warp without member mask.
    pub fn warp(
        &mut self,
        name: &'static str,
        run: WarpFn,
        k: [u32; 4],
        src: &[V],
        results: &[Kind],
    ) -> Vec<V> {
        self.across(name, run, k, (None, false), src, results)
    }
    /// Appends a function over the warp that waits for the lanes named by source `members`.
    pub fn warp_sync(
        &mut self,
        name: &'static str,
        run: WarpFn,
        k: [u32; 4],
        members: u8,
        src: &[V],
        results: &[Kind],
    ) -> Vec<V> {
        self.across(name, run, k, (Some(members), false), src, results)
    }
    /// As [`Cx::warp_sync`], for a function that accesses memory for all lanes: what they do behind it is ordered behind
    /// that.
    pub fn warp_joined(
        &mut self,
        name: &'static str,
        run: WarpFn,
        k: [u32; 4],
        members: u8,
        src: &[V],
    ) {
        self.across(name, run, k, (Some(members), true), src, &[]);
    }
    /// Appends a wait for the lanes of mask `members` that orders their accesses to memory.
    pub fn warp_barrier(&mut self, name: &'static str, members: V) {
        self.across(name, |_, _| Ok(Flow::Next), [0; 4], (Some(0), true), &[members], &[]);
    }
    fn across(
        &mut self,
        name: &'static str,
        run: WarpFn,
        k: [u32; 4],
        (members, orders): (Option<u8>, bool),
        src: &[V],
        results: &[Kind],
    ) -> Vec<V> {
        let Row { reach, waits, .. } = *self.m.row;
        self.effect(
            Effect::Warp(WarpOp { name, reach, waits, run, members, orders, k }),
            src,
            results,
        )
    }
    /// Place of memory operand `addr` in `space`, for effects.
    pub fn place(&self, addr: Addr, space: Space) -> MemoryPlace {
        MemoryPlace { space, offset: addr.offset }
    }

    // ---- small idioms ----------------------------------------------------

    /// Zero-extends the low `bits` bits (8, 16, or 32 and more: unchanged) of a `W` value.
    pub fn zext(&mut self, v: V, bits: u32) -> V {
        match (v.kind, bits) {
            (Kind::W, 8) => self.op1(Op::Zext8, v),
            (Kind::W, 16) => self.op1(Op::Zext16, v),
            _ => v,
        }
    }
    /// Sign-extends the low `bits` bits of a `W` value to 32.
    pub fn sext(&mut self, v: V, bits: u32) -> V {
        match (v.kind, bits) {
            (Kind::W, 8) => self.op1(Op::Sext8, v),
            (Kind::W, 16) => self.op1(Op::Sext16, v),
            _ => v,
        }
    }
    /// Extends `v` of type `from` to the width of `to` by the sign rule of `from`.
    pub fn extend(&mut self, v: V, from: Ty, to: Ty) -> V {
        let wide = to.kind() == Kind::D && v.kind == Kind::W;
        if from.signed() {
            let s = self.sext(v, from.bits());
            if wide { self.op1(Op::SextWD, s) } else { self.zext(s, to.bits()) }
        } else if wide {
            self.op1(Op::ZextWD, v)
        } else {
            v
        }
    }

    /// Ends the instruction: commits the writes and returns how many temporaries of each kind it
    /// used, or why it cannot run.
    ///
    /// # Errors
    /// The text of [`Cx::refuse`].
    pub fn finish(mut self) -> Result<[u32; 3], String> {
        if let Some(why) = self.refused {
            return Err(why);
        }
        let mut writes = std::mem::take(&mut self.writes);
        // Registers that are read by one write and changed by an earlier one are saved first.
        for i in 1..writes.len() {
            let value = writes[i].1;
            if writes[..i].iter().any(|(reg, _)| *reg == value) {
                writes[i].1 = self.copy(value);
            }
        }
        for i in 0..writes.len() {
            let (reg, value) = writes[i];
            let shared = writes.iter().filter(|(_, v)| *v == value).count() > 1;
            if shared || !self.retarget(reg, value) {
                self.mov(reg, value);
            }
        }
        Ok(self.temps)
    }

    fn copy(&mut self, v: V) -> V {
        let t = self.temp(v.kind);
        self.mov(t, v);
        t
    }
    fn mov(&mut self, dst: V, v: V) {
        let op = match v.kind {
            Kind::P => Op::MovP,
            Kind::W => Op::MovW,
            Kind::D => Op::MovD,
        };
        self.out.push(Uop::Pure { op, dst, args: [v, V::w(0), V::w(0)], k: 0 });
    }
    /// Lets the micro-op that makes temporary `value` write `reg` itself, if nothing after it
    /// reads either.
    fn retarget(&mut self, reg: V, value: V) -> bool {
        if !matches!(value.src, Src::Temp(_)) {
            return false;
        }
        for i in (self.first..self.out.len()).rev() {
            let (reads, is_def) = match &self.out[i] {
                Uop::Pure { dst, args, op, .. } => (
                    args[..op.args().len()].iter().any(|a| *a == reg || *a == value),
                    *dst == value,
                ),
                Uop::Effect { dst, src, .. } => {
                    (src.iter().any(|a| *a == reg || *a == value), dst.contains(&value))
                }
            };
            if is_def {
                match &mut self.out[i] {
                    Uop::Pure { dst, .. } => *dst = reg,
                    Uop::Effect { dst, .. } => {
                        if dst.contains(&reg) {
                            return false;
                        }
                        *dst.iter_mut().find(|d| **d == value).expect("found above") = reg;
                    }
                }
                return true;
            }
            let writes_reg = match &self.out[i] {
                Uop::Pure { dst, .. } => *dst == reg,
                Uop::Effect { dst, .. } => dst.contains(&reg),
            };
            if reads || writes_reg {
                return false;
            }
        }
        false
    }
}
