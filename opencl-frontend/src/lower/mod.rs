//! Typed tree to IR. Calls are inlined here, so that a kernel becomes one function, unless that grows too large.
//!
//! Variables become private memory; `passes::promote` turns what it can into SSA values. Vectors are split
//! into their components at once.

mod asm;
mod call;
mod convert;
mod expr;
mod function;
mod operators;
mod scope;
mod state;
mod stmt;
mod unaligned;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::diag::{Code, Diag};
use crate::ir::{BlockId, Func, Op, ParamData, ParamKind, Space, Term, Ty};
use crate::options::Options;
use crate::sema::hir::{Function, FunctionId, LocalId, Program};
use crate::symbol::Interner;
use crate::types::{Scalar, Type};
use state::{
    Lower, MAX_LOOPS, MAX_VALUES, MAX_VALUES_WITH_CALLS, MemRef, Refused, Value, space,
    stack_position,
};

/// The functions of a program as IR: its kernels, and what they call instead of inlining it.
pub struct Functions<'p> {
    program: &'p Program,
    names: &'p Interner,
    options: &'p Options,
    /// What is called. It grows while kernels turn out to be too large.
    called: FxHashSet<FunctionId>,
    /// What the functions so far call.
    wanted: Vec<FunctionId>,
    seen: FxHashSet<FunctionId>,
}

impl<'p> Functions<'p> {
    /// None yet.
    pub fn new(program: &'p Program, names: &'p Interner, options: &'p Options) -> Self {
        let (called, seen) = Default::default();
        Functions { program, names, options, called, wanted: Vec::new(), seen }
    }

    /// Lowers a kernel.
    ///
    /// # Errors
    /// When it is too large.
    pub fn kernel(&mut self, id: FunctionId) -> Result<Func, Diag> {
        let name = self.names.text(self.program.functions[id.0 as usize].name).to_string();
        self.lower(name, id, true)
    }

    /// Lowers a function that one of those before calls; none if all are done.
    ///
    /// # Errors
    /// When it is too large.
    pub fn next_called(&mut self) -> Option<(FunctionId, Result<Func, Diag>)> {
        let id = self.wanted.pop()?;
        let name = function::name(self.program, self.names, id);
        Some((id, self.lower(name, id, false)))
    }

    fn lower(&mut self, name: String, id: FunctionId, is_kernel: bool) -> Result<Func, Diag> {
        let function = &self.program.functions[id.0 as usize];
        // What is called is large already.
        let mut limit = if is_kernel { MAX_VALUES } else { MAX_VALUES_WITH_CALLS };
        loop {
            let mut f = Func::new(name.clone());
            // The last group of a dimension may be smaller than what the kernel requires.
            let exact = is_kernel && !self.options.has_rest_groups();
            f.required_size = function.attributes.required_size.filter(|_| exact);
            f.debug = self.options.has_variables().then(Default::default);
            let mut lower = Lower {
                program: self.program,
                names: self.names,
                options: self.options,
                f,
                at: BlockId(0),
                frames: Vec::new(),
                targets: Vec::new(),
                location: 0,
                scope: 0,
                loops: 0,
                stack_top: stack_position(),
                limit,
                refused: None,
                called: &self.called,
                callees: Vec::new(),
                inlined: FxHashMap::default(),
            };
            if is_kernel {
                lower.kernel(function, id);
            } else {
                lower.function(function, id);
            }
            let Lower { refused, callees, inlined, f, .. } = lower;
            let Some(refused) = refused else {
                let new = callees.iter().map(|c| c.0).filter(|id| self.seen.insert(*id));
                self.wanted.extend(new);
                return Ok(f);
            };
            // Before `sm_20` there are no calls.
            let split = refused == Refused::Values
                && self.options.sm >= 20
                && function::choose(&mut self.called, &inlined, self.program);
            match (split, refused) {
                (true, _) => limit = MAX_VALUES_WITH_CALLS,
                (false, Refused::Values) if limit < MAX_VALUES => limit = MAX_VALUES,
                _ => return Err(Diag::error(Code::Limit, reason(refused, &name))),
            }
        }
    }
}

fn reason(refused: Refused, name: &str) -> String {
    match refused {
        Refused::Values => format!("kernel `{name}` grows too large when its calls are inlined"),
        Refused::Calls => format!("the calls of kernel `{name}` lie too deep within each other"),
        Refused::Loops => {
            format!("the loops of kernel `{name}` lie more than {MAX_LOOPS} deep within each other")
        }
    }
}

impl Lower<'_> {
    fn kernel(&mut self, function: &Function, id: FunctionId) {
        self.push_frame(id, function, None);
        self.at_head(function.unit, function.span);
        for (i, ty) in function.params.iter().enumerate() {
            let name = format!("{}_param_{i}", self.f.name);
            let private = self.private_of(LocalId(i as u32));
            self.declare(LocalId(i as u32), private, true);
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
                | Type::Atomic(_)
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
