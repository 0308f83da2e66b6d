//! Where a pointer to `__constant` points: to a variable of the program, or into a buffer. Where it may be either, and
//! where functions are called, the variables of the program lie in global memory like buffers.

use super::writer::Writer;
use crate::ir::{BinOp, Op, ParamKind, Val};

impl Writer<'_> {
    /// The variable or parameter that a `__constant` address comes from decides where it points.
    pub(super) fn constant_space(&self, address: Val) -> &'static str {
        if self.constants_in_global {
            return ".global";
        }
        let mut seen = vec![false; self.f.values.len()];
        let mut work = vec![address];
        let (mut variable, mut buffer) = (false, false);
        while let Some(v) = work.pop() {
            if std::mem::replace(&mut seen[v.0 as usize], true) {
                continue;
            }
            match self.f.op(v) {
                Op::GlobalAddr(_) => variable = true,
                Op::Bin(BinOp::Add | BinOp::Sub, a, b) => work.extend(self.pointer_side(*a, *b)),
                Op::Tern(_, _, _, c) => work.push(*c),
                Op::Select(_, a, b) => work.extend([*a, *b]),
                Op::BlockParam => {
                    for &b in &self.graph.order {
                        if let Some(i) = self.f.block(b).params.iter().position(|p| *p == v) {
                            for p in &self.graph.preds[b.0 as usize] {
                                for e in self.f.block(*p).term.edges() {
                                    if e.block == b {
                                        work.push(e.args[i]);
                                    }
                                }
                            }
                        }
                    }
                }
                Op::Const(_) | Op::Undef => {}
                // A pointer from memory may be either.
                Op::Load(..) => {
                    variable |= self.has_constants;
                    buffer = true;
                }
                _ => buffer = true,
            }
        }
        if variable && buffer {
            self.mixed.set(true);
        }
        if variable && !buffer { ".const" } else { ".global" }
    }

    /// The operands of an addition that can carry the pointer.
    fn pointer_side(&self, a: Val, b: Val) -> Vec<Val> {
        let integer = |v: Val| {
            matches!(
                self.f.op(v),
                Op::Const(_)
                    | Op::Un(..)
                    | Op::Bin(
                        BinOp::Shl
                            | BinOp::Mul
                            | BinOp::SMulWide
                            | BinOp::UMulWide
                            | BinOp::LShr
                            | BinOp::AShr
                            | BinOp::And,
                        ..
                    )
            )
        };
        match (integer(a), integer(b)) {
            (true, false) => vec![b],
            (false, true) => vec![a],
            _ => {
                let carries = |v: &Val| self.reaches_pointer(*v, 0);
                let list: Vec<Val> = [a, b].into_iter().filter(carries).collect();
                if list.is_empty() { vec![a, b] } else { list }
            }
        }
    }

    fn reaches_pointer(&self, v: Val, depth: u32) -> bool {
        depth < 64
            && match self.f.op(v) {
                Op::GlobalAddr(_) => true,
                Op::Param(i) => matches!(self.f.params[*i as usize].kind, ParamKind::Pointer(..)),
                Op::Bin(BinOp::Add | BinOp::Sub, a, b) => {
                    self.reaches_pointer(*a, depth + 1) || self.reaches_pointer(*b, depth + 1)
                }
                Op::Select(_, a, b) => {
                    self.reaches_pointer(*a, depth + 1) || self.reaches_pointer(*b, depth + 1)
                }
                _ => false,
            }
    }
}
