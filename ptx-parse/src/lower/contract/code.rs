//! A function as the hardware's assembler reads it: what each instruction is in the game, reads and writes.

use ptx_isa::class::Class;
use ptx_isa::meaning::Selection;
use ptx_isa::row::Control;
use ptx_isa::{Match, Operation, Sem, Ty};

use crate::module::{Body, Module, Operand};

/// An opcode's part in the game.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Role {
    Mul,
    /// A division or reciprocal that ends in a product.
    Quotient,
    Add,
    Sub,
    Move,
    Neg,
    Other,
}

pub(super) fn role(m: &Match) -> (Role, Option<Ty>) {
    let types: Vec<Ty> = m.types().collect();
    let [ty] = types[..] else { return (Role::Other, None) };
    let float = matches!(ty, Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2 | Ty::F32 | Ty::F64);
    let plain = m.get("rnd").is_none();
    let role = match m.row.op {
        Operation::Mul if float && plain && !m.has(".sat") => Role::Mul,
        _ if (m.row.factors)(m).is_some() => Role::Quotient,
        Operation::Add if float && plain => Role::Add,
        Operation::Sub if float && plain => Role::Sub,
        Operation::Neg if float => Role::Neg,
        Operation::Move if m.notation.slots.len() == 2 => Role::Move,
        _ => Role::Other,
    };
    (role, Some(ty))
}

/// Registers that `op` reads or writes.
pub(super) fn registers(body: &Body, op: &Operand, f: &mut dyn FnMut(u32)) {
    let list = |r: &std::ops::Range<u32>| r.start as usize..r.end as usize;
    match op {
        Operand::Reg(r, _) | Operand::NotReg(r) | Operand::MinusReg(r, _) | Operand::Sum(r, _) => {
            f(*r)
        }
        Operand::Vector(items) | Operand::Both(items) => {
            body.operands[list(items)].iter().for_each(|o| registers(body, o, f));
        }
        Operand::Addr(base, _) => registers(body, &body.operands[*base as usize], f),
        Operand::Call(c) => {
            registers(body, &c.callee, f);
            body.operands[list(&c.args)].iter().for_each(|o| registers(body, o, f));
            body.operands[list(&c.rets)].iter().for_each(|o| registers(body, o, f));
        }
        _ => {}
    }
}

/// A function, as the assembler reads it.
pub(super) struct Code<'a> {
    pub module: &'a Module,
    pub body: &'a Body,
    /// Whether it is a kernel.
    pub entry: bool,
    /// By opcode.
    roles: Vec<Role>,
    /// By instruction: whether nothing needs what it computes.
    pub dead: Vec<bool>,
}

impl<'a> Code<'a> {
    pub fn new(module: &'a Module, body: &'a Body, entry: bool) -> Code<'a> {
        let roles = module.matches.iter().map(|m| role(m).0).collect();
        let mut code = Code { module, body, entry, roles, dead: Vec::new() };
        code.dead = code.find_dead();
        code
    }

    pub fn ops(&self, i: u32) -> &'a [Operand] {
        let r = &self.body.insts[i as usize].operands;
        &self.body.operands[r.start as usize..r.end as usize]
    }

    pub fn matched(&self, i: u32) -> &'a Match {
        &self.module.matches[self.body.insts[i as usize].opcode as usize]
    }

    pub fn role(&self, i: u32) -> Role {
        self.roles[self.body.insts[i as usize].opcode as usize]
    }

    pub fn op(&self, i: u32) -> Operation {
        self.matched(i).row.op
    }

    /// The registers that instruction `i` writes.
    pub fn writes(&self, i: u32, f: &mut dyn FnMut(u32)) {
        for (slot, op) in self.matched(i).notation.slots.iter().zip(self.ops(i)) {
            if slot.dest || matches!(op, Operand::Call(_)) {
                registers(self.body, op, f);
            }
        }
    }

    /// The registers that instruction `i` reads; a guarded one may leave what was there.
    pub fn reads(&self, i: u32, f: &mut dyn FnMut(u32)) {
        let inst = &self.body.insts[i as usize];
        if let Some((g, _)) = inst.guard {
            f(g);
        }
        for (slot, op) in self.matched(i).notation.slots.iter().zip(self.ops(i)) {
            let whole = matches!(
                op,
                Operand::Reg(_, Selection::Whole) | Operand::Vector(_) | Operand::Both(_)
            );
            if !slot.dest || inst.guard.is_some() || !whole {
                registers(self.body, op, f);
            }
        }
    }

    /// The register that instruction `i` writes whole and unconditionally.
    pub fn whole_dest(&self, i: u32) -> Option<u32> {
        match self.ops(i).first() {
            Some(Operand::Reg(d, Selection::Whole))
                if self.body.insts[i as usize].guard.is_none()
                    && self.matched(i).notation.slots.first().is_some_and(|s| s.dest) =>
            {
                Some(*d)
            }
            _ => None,
        }
    }

    /// Whether the assembler ends a block behind instruction `i`.
    pub fn splits(&self, i: u32) -> bool {
        let m = self.matched(i);
        let mut writes = false;
        self.writes(i, &mut |_| writes = true);
        let branch = matches!(m.row.sem, Sem::Control(Control::Bra));
        let moves = branch || writes && m.class().is_arithmetic();
        (m.row.splits)(m)
            || self.body.insts[i as usize].guard.is_some() && !moves
            || self.ops(i).iter().any(|op| matches!(op, Operand::Call(_)))
    }

    /// Finds the arithmetic that nothing reads but such arithmetic.
    fn find_dead(&self) -> Vec<bool> {
        let count = self.body.insts.len() as u32;
        let mut readers = vec![0u32; self.body.regs.len()];
        let mut writers: Vec<Vec<u32>> = vec![Vec::new(); self.body.regs.len()];
        let others = |i: u32, f: &mut dyn FnMut(u32)| {
            // An instruction that only feeds itself feeds nobody.
            let mut own = Vec::new();
            self.writes(i, &mut |r| own.push(r));
            self.reads(i, &mut |r| {
                if !own.contains(&r) {
                    f(r);
                }
            });
        };
        for i in 0..count {
            others(i, &mut |r| readers[r as usize] += 1);
            self.writes(i, &mut |r| writers[r as usize].push(i));
        }
        let mut dead = vec![false; count as usize];
        let mut work: Vec<u32> = (0..count).collect();
        while let Some(i) = work.pop() {
            let m = self.matched(i);
            let keeps = m.class() == Class::Shuffle || m.has(".cc");
            if dead[i as usize] || !m.class().is_arithmetic() || keeps {
                continue;
            }
            let (mut any, mut read) = (false, false);
            self.writes(i, &mut |r| {
                any = true;
                read |= readers[r as usize] > 0;
            });
            if !any || read {
                continue;
            }
            dead[i as usize] = true;
            others(i, &mut |r| {
                readers[r as usize] -= 1;
                if readers[r as usize] == 0 {
                    work.extend(&writers[r as usize]);
                }
            });
        }
        dead
    }
}

/// Whether product and sum agree in type and `.ftz`.
pub(super) fn fits(code: &Code, product: usize, sum: usize) -> bool {
    let m = |i: usize| code.matched(i as u32);
    role(m(product)).1 == role(m(sum)).1 && m(product).has(".ftz") == m(sum).has(".ftz")
}
