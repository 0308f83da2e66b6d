//! Functions that are called, because inlining them makes a kernel too large.
//!
//! The caller keeps a function's arguments and its result in private memory, and passes the address of that. Functions
//! do not recurse, so each needs such memory once in each caller.

use rustc_hash::{FxHashMap, FxHashSet};

use super::state::{Lower, MemRef, Value, space};
use crate::ir::{MemTy, Op, ParamData, ParamKind, PrivateVar, Term, Ty, Val};
use crate::sema::hir::{Function, FunctionId, Program};
use crate::symbol::Interner;
use crate::types::{QualType, Space as Named, Type};

/// Where arguments and result lie.
struct Frame {
    params: Vec<u64>,
    result: u64,
    size: u64,
    align: u64,
}

impl Frame {
    fn of(program: &Program, function: &Function) -> Frame {
        let types = &program.types;
        let mut frame = Frame { params: Vec::new(), result: 0, size: 0, align: 1 };
        let mut place = |ty: QualType| {
            // What has no size in the language, an image or a sampler, is an address or a number here.
            let align = types.align(ty.id).max(1).next_power_of_two();
            let size = types.size(ty.id).unwrap_or(MemTy::B64.size()).max(MemTy::B64.size());
            let at = frame.size.next_multiple_of(align.max(MemTy::B64.size()));
            frame.align = frame.align.max(align.max(MemTy::B64.size()));
            frame.size = at + size;
            at
        };
        let params = function.params.iter().map(|ty| place(*ty)).collect();
        let result = place(function.result);
        Frame { params, result, ..frame }
    }

    fn at(&self, address: Val, offset: u64) -> MemRef {
        MemRef {
            space: space(Named::Private),
            address,
            offset: offset as i64,
            align: self.align,
            volatile: false,
        }
    }
}

/// The name of a function that is called.
pub(super) fn name(program: &Program, names: &Interner, id: FunctionId) -> String {
    let mut name = format!("{}__{}", names.text(program.functions[id.0 as usize].name), id.0);
    while program.functions.iter().any(|f| names.text(f.name) == name) {
        name.push('_');
    }
    name
}

/// Adds functions to those that are called: the largest of those that were inlined more than once. Functions of the
/// library stay inline: they want to see constants. False if there are none.
pub(super) fn choose(
    called: &mut FxHashSet<FunctionId>,
    inlined: &FxHashMap<FunctionId, (u32, usize)>,
    program: &Program,
) -> bool {
    let before = called.len();
    for least in [1 << 14, 1 << 12, 1 << 9, 1 << 6] {
        let large = inlined.iter().filter(|(id, (times, values))| {
            let unit = program.functions[id.0 as usize].unit as usize;
            *times > 1 && *values >= least && !program.library_units.get(unit).is_some_and(|l| *l)
        });
        called.extend(large.map(|(id, _)| *id));
        if called.len() > before {
            return true;
        }
    }
    false
}

impl Lower<'_> {
    /// A call of a function that is not inlined.
    pub(super) fn call_function(
        &mut self,
        id: FunctionId,
        args: Vec<(QualType, Value)>,
        ty: QualType,
    ) -> Value {
        let program = self.program;
        let function = &program.functions[id.0 as usize];
        let frame = Frame::of(program, function);
        let (number, private) = self.callee(id, &frame);
        let address = self.private_ref(private).address;
        for (i, (_, value)) in args.into_iter().enumerate() {
            self.store(frame.at(address, frame.params[i]), function.params[i], value);
        }
        self.emit(Op::Call(number, address), Ty::None);
        if matches!(program.types.get(ty.id), Type::Void) {
            return Value::None;
        }
        // Aggregates are copied: the next call writes the same memory.
        self.load(frame.at(address, frame.result), ty)
    }

    fn callee(&mut self, id: FunctionId, frame: &Frame) -> (u32, PrivateVar) {
        if let Some(i) = self.callees.iter().position(|c| c.0 == id) {
            return (i as u32, self.callees[i].1);
        }
        let name = name(self.program, self.names, id);
        let private = self.new_private(frame.size, frame.align, format!("of_{name}"));
        self.callees.push((id, private));
        self.f.callees.push(name);
        (self.callees.len() as u32 - 1, private)
    }

    /// The function itself.
    pub(super) fn function(&mut self, function: &Function, id: FunctionId) {
        self.f.is_kernel = false;
        let name = format!("{}_param_0", self.f.name);
        self.f.params.push(ParamData { name, kind: ParamKind::Scalar(MemTy::B64) });
        let frame = Frame::of(self.program, function);
        self.at_head(function.unit, function.span);
        let address = self.emit(Op::Param(0), Ty::I64);
        let mut args = Vec::new();
        for (ty, offset) in function.params.iter().zip(&frame.params) {
            args.push((*ty, self.load(frame.at(address, *offset), ty.value())));
        }
        if let Some(body) = &function.body {
            let value = self.inline(id, body, args, function.result);
            self.store(frame.at(address, frame.result), function.result, value);
        }
        self.terminate(Term::Return);
    }
}
