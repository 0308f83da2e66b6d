//! Operands of the verified module as the handles that meanings read.

use ptx_isa::meaning::{Addr, Arg, Selection, Src, V};
use ptx_isa::texture::kind_bits;
use ptx_isa::{Kind, Space, Ty};

use super::Layout;
use crate::code::function_address;
use crate::module::{Body, Module, Operand};

/// Where the names of one function lie.
pub(crate) struct Names<'a> {
    pub module: &'a Module,
    pub func: u32,
    pub entry: bool,
    pub body: &'a Body,
    pub layout: &'a Layout,
    /// Value handles per register id; a 128-bit register has a second one.
    pub regs: Vec<(V, Option<V>)>,
    /// Frame offset per body variable (`.local` and call parameters).
    pub vars: Vec<u32>,
    /// Frame offset (device function) or parameter offset (kernel) of results, then parameters.
    pub params: Vec<u32>,
}

impl Names<'_> {
    /// The handle of operand `op` in a slot of type `ty`.
    ///
    /// # Errors
    /// A use that no engine can run, as text.
    pub fn arg(&self, op: &Operand, ty: Option<Ty>) -> Result<Arg, String> {
        Ok(match op {
            Operand::Absent => Arg::Absent,
            Operand::Sink => Arg::Sink,
            Operand::Reg(r, part) => match self.regs[*r as usize] {
                (lo, Some(hi)) => Arg::Pair(lo, hi),
                (v, None) => Arg::Val { v, ty: self.body.regs[*r as usize].ty, part: *part },
            },
            Operand::MinusReg(r, part) => {
                Arg::Minus(Box::new(self.arg(&Operand::Reg(*r, *part), ty)?))
            }
            Operand::Sum(r, offset) => {
                let register = self.arg(&Operand::Reg(*r, Selection::Whole), ty)?;
                Arg::Sum(Box::new(register), *offset)
            }
            Operand::NotReg(r) => Arg::Not(self.regs[*r as usize].0),
            Operand::Imm(bits) => {
                let ty = ty.unwrap_or(if *bits > u32::MAX as u64 { Ty::B64 } else { Ty::B32 });
                if ty.bits() == 128 {
                    return Ok(Arg::Pair(V::d(*bits), V::d(0)));
                }
                let bits = match ty {
                    Ty::Pred => (*bits != 0) as u64,
                    t if t.bits() < 64 => bits & ((1 << t.bits()) - 1),
                    _ => *bits,
                };
                val(V { kind: ty.kind(), src: Src::Const(bits) }, ty)
            }
            Operand::Special(s) => val(V { kind: s.ty().kind(), src: Src::Special(*s) }, s.ty()),
            Operand::Envreg(_) => val(V::w(0), Ty::B32),
            Operand::Symbol(..) | Operand::Var(..) | Operand::Param(..) | Operand::Func(_) => {
                let wide = ty.map_or(self.module.info.address_bits == 64, |t| t.bits() == 64);
                let kind = if wide { Kind::D } else { Kind::W };
                let (v, _) = self.address(op, kind)?;
                val(v, ty.unwrap_or(if wide { Ty::U64 } else { Ty::U32 }))
            }
            Operand::Vector(range) => {
                let items = self.body.operands[range.start as usize..range.end as usize].iter();
                Arg::Vector(items.map(|o| self.arg(o, ty)).collect::<Result<_, _>>()?)
            }
            Operand::Both(range) => {
                let first = self.arg(&self.body.operands[range.start as usize], ty)?;
                let second =
                    self.arg(&self.body.operands[range.start as usize + 1], Some(Ty::Pred))?;
                Arg::Both(Box::new(first), Box::new(second))
            }
            Operand::Addr(base, offset) => {
                self.memory(&self.body.operands[*base as usize], *offset)?
            }
            Operand::Label(_) | Operand::BranchTargets(_) | Operand::Call(_) => Arg::Absent,
        })
    }

    /// A memory operand.
    fn memory(&self, base: &Operand, offset: i64) -> Result<Arg, String> {
        let (base, named, more) = match base {
            Operand::Reg(r, _) => (self.regs[*r as usize].0, None, 0),
            Operand::Imm(a) => (V::d(0), None, *a as i64),
            _ => {
                let (v, space) = self.address(base, Kind::D)?;
                // Constant addresses go into the offset, so that engines see them at once.
                match v.src {
                    Src::Const(c) => (V::d(0), Some(space), c as i64),
                    Src::Shared(at) => {
                        let block = V { kind: Kind::D, src: Src::Shared(0) };
                        (block, Some(space), i64::from(at))
                    }
                    _ => (v, Some(space), 0),
                }
            }
        };
        Ok(Arg::Addr(Addr { base, offset: offset.wrapping_add(more), named }))
    }

    /// The address of a variable, parameter or function, and its space.
    fn address(&self, op: &Operand, kind: Kind) -> Result<(V, Space), String> {
        let constant =
            |a: u64| V { kind, src: Src::Const(if kind == Kind::W { a & 0xffff_ffff } else { a }) };
        // Where there are clusters, the address says which of its blocks has the variable.
        let shared = |at: u32, off: i64| match self.module.info.target.sm {
            90.. => V { kind, src: Src::Shared((i64::from(at) + off) as u32) },
            _ => constant((i64::from(at) + off) as u64),
        };
        let frame = |base: u32, off: i64| {
            let at = (base as i64 + off) as u32;
            V { kind, src: if kind == Kind::W { Src::FrameLow(at) } else { Src::Frame(at) } }
        };
        Ok(match op {
            Operand::Symbol(id, off) => {
                let symbol = &self.module.symbols[*id as usize];
                let v = match symbol.space {
                    Space::Shared => shared(self.layout.shared[id], *off),
                    Space::Local => constant(self.layout.local[id] as u64 + *off as u64),
                    _ if kind == Kind::W => V { kind, src: Src::SymbolLow(*id, *off) },
                    // What stands for an object says of which kind it is.
                    _ => {
                        let off = off.wrapping_add_unsigned(kind_bits(symbol.ty));
                        V { kind, src: Src::Symbol(*id, off) }
                    }
                };
                (v, symbol.space)
            }
            Operand::Var(id, off) => {
                let var = &self.body.vars[*id as usize];
                match var.space {
                    Space::Shared => {
                        let at = self.layout.shared_vars[&(self.func, *id)];
                        (shared(at, *off), Space::Shared)
                    }
                    Space::Local => (frame(self.vars[*id as usize], *off), Space::Local),
                    Space::ParamEntry | Space::ParamFunc => {
                        (frame(self.vars[*id as usize], *off), Space::ParamFunc)
                    }
                    other => {
                        return Err(format!(
                            "variable `{}` in {other:?} space stands inside a function",
                            var.name
                        ));
                    }
                }
            }
            Operand::Param(i, off) => {
                let at = self.params[*i as usize];
                if self.entry {
                    (constant((at as i64 + off) as u64), Space::ParamEntry)
                } else {
                    (frame(at, *off), Space::ParamFunc)
                }
            }
            Operand::Func(f) => {
                (constant(function_address(super::resolve(self.module, *f))), Space::Generic)
            }
            Operand::Imm(a) => (constant(*a), Space::Generic),
            other => return Err(format!("{other:?} has no address")),
        })
    }
}

fn val(v: V, ty: Ty) -> Arg {
    Arg::Val { v, ty, part: Selection::Whole }
}
