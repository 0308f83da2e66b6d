//! Typed tree to IR. Every call is inlined here: each kernel becomes one function.
//!
//! Variables become private memory; `passes::promote` turns what it can into SSA values. Vectors are split
//! into their components at once.

mod asm;
mod call;
mod convert;
mod expr;
mod operators;
mod state;
mod stmt;
mod unaligned;

use smallvec::SmallVec;

use crate::diag::{Code, Diag};
use crate::ir::{BlockId, Func, Op, ParamData, ParamKind, Space, Term, Ty};
use crate::options::Options;
use crate::sema::hir::{Function, FunctionId, LocalId, Program};
use crate::symbol::Interner;
use crate::types::{Scalar, Type};
use state::{Lower, MAX_LOOPS, MemRef, Refused, Value, space, stack_position};

/// Lowers a kernel.
pub fn lower(
    program: &Program,
    names: &Interner,
    options: &Options,
    kernel: FunctionId,
) -> Result<Func, Diag> {
    let function = &program.functions[kernel.0 as usize];
    let name = names.text(function.name).to_string();
    let mut f = Func::new(name);
    f.required_size = function.attributes.required_size;
    let mut lower = Lower {
        program,
        names,
        options,
        f,
        at: BlockId(0),
        frames: Vec::new(),
        targets: Vec::new(),
        location: 0,
        loops: 0,
        stack_top: stack_position(),
        refused: None,
    };
    lower.kernel(function, kernel);
    if let Some(refused) = lower.refused {
        let name = &lower.f.name;
        let message = match refused {
            Refused::Values => {
                format!("kernel `{name}` grows too large when its calls are inlined")
            }
            Refused::Calls => {
                format!("the calls of kernel `{name}` lie too deep within each other")
            }
            Refused::Loops => {
                format!(
                    "the loops of kernel `{name}` lie more than {MAX_LOOPS} deep within each other"
                )
            }
        };
        return Err(Diag::error(Code::Limit, message));
    }
    Ok(lower.f)
}

impl Lower<'_> {
    fn kernel(&mut self, function: &Function, id: FunctionId) {
        self.push_frame(id, function, None);
        for (i, ty) in function.params.iter().enumerate() {
            let name = format!("{}_param_{i}", self.f.name);
            let private = self.private_of(LocalId(i as u32));
            let place = self.private_ref(private);
            let kind = match *self.program.types.get(ty.id) {
                Type::Pointer(to) => {
                    let align = self.program.types.align(to.id).max(1);
                    ParamKind::Pointer(space(to.space), align)
                }
                // The address of its descriptor.
                Type::Image(..) => ParamKind::Pointer(Space::Global, 8),
                Type::Struct(_) | Type::Vector(..) => {
                    let size = self.program.types.size(ty.id).unwrap_or(0);
                    ParamKind::Bytes { size, align: self.program.types.align(ty.id) }
                }
                Type::Error
                | Type::Void
                | Type::Scalar(_)
                | Type::Array(..)
                | Type::Sampler
                | Type::Event
                | Type::Function(..) => ParamKind::Scalar(self.mem_ty(ty.id)),
            };
            self.f.params.push(ParamData { name, kind });
            if let ParamKind::Bytes { align, .. } = kind {
                let address = self.emit(Op::ParamAddr(i as u32), Ty::I64);
                let from =
                    MemRef { space: Space::Param, address, offset: 0, align, volatile: false };
                let value = self.load(from, ty.value());
                self.store(place, ty.value(), value);
            } else {
                let mem = self.mem_ty(ty.id);
                let v = self.emit(Op::Param(i as u32), mem.ty());
                let v = if self.program.types.scalar(ty.id) == Some(Scalar::Bool) {
                    self.nonzero(v)
                } else {
                    v
                };
                self.store(place, ty.value(), Value::Lanes(SmallVec::from_elem(v, 1)));
            }
        }
        if let Some(body) = &function.body {
            self.statements(body);
        }
        self.terminate(Term::Return);
    }
}
