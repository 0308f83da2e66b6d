//! The kernel under construction: blocks and instructions, private variables, memory.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::ir::{
    BlockId, CONTRACT, Cmp, Edge, Func, Mem, MemTy, Op, PrivateVar, PrivateVarData, Space, Term,
    Ty, Val, simplify,
};
use crate::options::Options;
use crate::sema::hir::{Function, FunctionId, LabelId, LocalId, Program};
use crate::source::Span;
use crate::symbol::Interner;
use crate::types::{self, QualType, Scalar, Type, TypeId};

/// A function may not grow beyond this many values: calls inline, and programs call in towers.
pub(super) const MAX_VALUES: usize = 1 << 20;

/// Where functions are called, they are split until they are no larger than this, if that is possible: optimisation
/// costs more for one large function than for its parts.
pub(super) const MAX_VALUES_WITH_CALLS: usize = 1 << 16;

/// A value of the typed tree.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// None, for void.
    None,
    /// Components of a scalar (1) or vector.
    Lanes(SmallVec<[Val; 16]>),
    /// An aggregate in memory that nobody else writes.
    Memory(MemRef),
}

/// Where an object is.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemRef {
    pub(super) space: Space,
    pub(super) address: Val,
    pub(super) offset: i64,
    /// Alignment of the address (without the offset).
    pub(super) align: u64,
    pub(super) volatile: bool,
}

/// One function body being inlined.
pub(super) struct Frame {
    pub(super) function: FunctionId,
    pub(super) privates: FxHashMap<LocalId, PrivateVar>,
    pub(super) labels: FxHashMap<LabelId, BlockId>,
    /// Where `return` goes and where its value is stored.
    pub(super) exit: Option<(BlockId, Option<PrivateVar>)>,
    pub(super) unit: u32,
}

pub(super) struct Targets {
    pub(super) on_break: BlockId,
    pub(super) on_continue: Option<BlockId>,
}

/// What makes a kernel too large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Refused {
    /// Its calls inline to too many values.
    Values,
    /// Its calls lie too deep within each other.
    Calls,
    /// Its loops lie too deep within each other.
    Loops,
}

/// Loops within each other. Each is in scope of all variables around it, so that work grows with the square.
pub(super) const MAX_LOOPS: usize = 256;

/// State of the lowering of one kernel.
pub struct Lower<'p> {
    pub(super) program: &'p Program,
    pub(super) names: &'p Interner,
    pub(super) options: &'p Options,
    pub(super) f: Func,
    pub(super) at: BlockId,
    pub(super) frames: Vec<Frame>,
    pub(super) targets: Vec<Targets>,
    pub(super) location: u32,
    /// The scope of what is emitted, where debuggers are told of variables.
    pub(super) scope: u32,
    /// Loops around the statement, those of callers included.
    pub(super) loops: usize,
    /// Where the stack of this thread was when the kernel was begun.
    pub(super) stack_top: usize,
    /// How many values it may have.
    pub(super) limit: usize,
    /// Why the kernel is given up, if it is.
    pub(super) refused: Option<Refused>,
    /// The functions that are called; the others are inlined.
    pub(super) called: &'p FxHashSet<FunctionId>,
    /// Those of them that were met, with the memory of their arguments, in the order of `Func::callees`.
    pub(super) callees: Vec<(FunctionId, PrivateVar)>,
    /// What was inlined: how often, and the most values that it took.
    pub(super) inlined: FxHashMap<FunctionId, (u32, usize)>,
}

impl Lower<'_> {
    pub(super) fn push_frame(
        &mut self,
        id: FunctionId,
        function: &Function,
        exit: Option<(BlockId, Option<PrivateVar>)>,
    ) {
        self.frames.push(Frame {
            function: id,
            privates: FxHashMap::default(),
            labels: FxHashMap::default(),
            exit,
            unit: function.unit,
        });
    }

    // Blocks and instructions

    pub(super) fn emit(&mut self, op: Op, ty: Ty) -> Val {
        self.emit_flagged(op, ty, 0)
    }

    pub(super) fn emit_flagged(&mut self, op: Op, ty: Ty, flags: u8) -> Val {
        let mut insts = std::mem::take(&mut self.f.block_mut(self.at).insts);
        let location = match flags & CONTRACT {
            0 => self.location,
            _ => self.own_location(),
        };
        let v = simplify::build(&mut self.f, &mut insts, op, ty, flags, location);
        self.f.block_mut(self.at).insts = insts;
        if self.f.values.len() > self.limit {
            self.refused = Some(Refused::Values);
        }
        v
    }

    pub(super) fn constant(&mut self, ty: Ty, bits: u64) -> Val {
        self.f.constant(ty, bits)
    }

    pub(super) fn terminate(&mut self, term: Term) {
        let block = self.f.block_mut(self.at);
        if matches!(block.term, Term::Open) {
            block.term = term;
        }
    }

    pub(super) fn jump(&mut self, to: BlockId) {
        self.terminate(Term::Jump(Edge::to(to)));
    }

    pub(super) fn branch(&mut self, c: Val, yes: BlockId, no: BlockId) {
        match self.f.as_const(c) {
            Some(0) => self.jump(no),
            Some(_) => self.jump(yes),
            None => self.terminate(Term::Branch(c, Edge::to(yes), Edge::to(no))),
        }
    }

    pub(super) fn switch_to(&mut self, block: BlockId) {
        self.at = block;
    }

    pub(super) fn set_location(&mut self, span: Span) {
        // Code of the library belongs to the line that called it.
        let unit = self.frames.last().map_or(0, |f| f.unit);
        if self.program.library_units.get(unit as usize).copied().unwrap_or(false) {
            return;
        }
        let place = (unit, span.first);
        if self.f.locations.get(self.location as usize) != Some(&place) || self.scope_changed() {
            self.location = self.new_location(place);
        }
    }

    // Memory

    pub(super) fn new_private(&mut self, size: u64, align: u64, name: String) -> PrivateVar {
        self.f.privates.push(PrivateVarData { size, align, name, pinned: false });
        PrivateVar(self.f.privates.len() as u32 - 1)
    }

    pub(super) fn private_for(&mut self, ty: QualType, name: &str) -> PrivateVar {
        let types = &self.program.types;
        let (size, align) = (types.size(ty.id).unwrap_or(1).max(1), types.align(ty.id).max(1));
        self.new_private(size, align, name.to_string())
    }

    pub(super) fn private_of(&mut self, id: LocalId) -> PrivateVar {
        let frame = self.frames.last().expect("a function is being lowered");
        if let Some(&private) = frame.privates.get(&id) {
            return private;
        }
        let local = &self.program.functions[frame.function.0 as usize].locals[id.0 as usize];
        let types = &self.program.types;
        let size = types.size(local.ty.id).unwrap_or(1).max(1);
        let align = types.align(local.ty.id).max(local.align.unwrap_or(1)).max(1);
        let name = self.names.text(local.name).to_string();
        let private = self.new_private(size, align, name);
        self.frames.last_mut().expect("a function is being lowered").privates.insert(id, private);
        private
    }

    pub(super) fn private_ref(&mut self, private: PrivateVar) -> MemRef {
        let align = self.f.privates[private.0 as usize].align;
        let address = self.emit(Op::PrivateAddr(private), Ty::I64);
        MemRef { space: Space::Local, address, offset: 0, align, volatile: false }
    }

    pub(super) fn mem_ty(&self, id: TypeId) -> MemTy {
        match self.program.types.lanes(id) {
            Some((scalar, _)) => mem_of(scalar),
            None => match *self.program.types.get(id) {
                Type::Sampler => MemTy::B32,
                Type::Atomic(scalar) => mem_of(scalar),
                _ => MemTy::B64,
            },
        }
    }

    pub(super) fn mem(&self, place: MemRef, ty: MemTy, delta: u64) -> Mem {
        let offset = place.offset + delta as i64;
        let align = if offset == 0 {
            place.align
        } else {
            place.align.min(1 << offset.trailing_zeros().min(16))
        };
        Mem {
            space: place.space,
            ty,
            offset,
            align: align.min(1 << 16) as u32,
            volatile: place.volatile,
        }
    }

    /// Number of components in memory and their type; pointers count as one.
    pub(super) fn memory_layout(&self, ty: QualType) -> (MemTy, u8, Option<Scalar>) {
        match self.program.types.lanes(ty.id) {
            Some((scalar, n)) => (mem_of(scalar), n, Some(scalar)),
            None => (self.mem_ty(ty.id), 1, None),
        }
    }

    pub(super) fn load(&mut self, place: MemRef, ty: QualType) -> Value {
        if self.program.types.is_aggregate(ty.id) {
            let private = self.private_for(ty, "copy");
            let to = self.private_ref(private);
            self.copy(to, place, ty);
            return Value::Memory(to);
        }
        let (mem, n, scalar) = self.memory_layout(ty);
        let mut out = SmallVec::new();
        for i in 0..n {
            let m = self.mem(place, mem, u64::from(i) * mem.size());
            let v = self.load_part(m, place.address);
            out.push(if scalar == Some(Scalar::Bool) { self.nonzero(v) } else { v });
        }
        Value::Lanes(out)
    }

    pub(super) fn store(&mut self, place: MemRef, ty: QualType, value: Value) {
        match value {
            Value::None => {}
            Value::Memory(from) => self.copy(place, from, ty),
            Value::Lanes(lanes) => {
                let (mem, _, scalar) = self.memory_layout(ty);
                for (i, v) in lanes.into_iter().enumerate() {
                    let v = if scalar == Some(Scalar::Bool) { self.bool_to_int(v, 1) } else { v };
                    let m = self.mem(place, mem, i as u64 * mem.size());
                    self.store_part(m, place.address, v);
                }
            }
        }
    }

    /// Copies an object, part by part as its type says.
    pub(super) fn copy(&mut self, to: MemRef, from: MemRef, ty: QualType) {
        if self.refused.is_some() {
            return;
        }
        match self.program.types.get(ty.id) {
            Type::Struct(id) => {
                let s = &self.program.types.structs[id.0 as usize];
                if s.is_union {
                    return self.copy_bytes(to, from, s.size, s.align);
                }
                let members = s.members.clone().unwrap_or_default();
                for member in members {
                    self.copy(
                        to.at(member.offset as i64),
                        from.at(member.offset as i64),
                        member.ty,
                    );
                }
            }
            Type::Array(element, n) => {
                let size = self.program.types.size(element.id).unwrap_or(0);
                let element = *element;
                for i in 0..n.unwrap_or(0) {
                    if self.refused.is_some() {
                        return;
                    }
                    self.copy(to.at((i * size) as i64), from.at((i * size) as i64), element);
                }
            }
            Type::Error
            | Type::Void
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Atomic(_)
            | Type::Pointer(_)
            | Type::Image(..)
            | Type::Sampler
            | Type::Event
            | Type::Function(..) => {
                let value = self.load(from, ty);
                self.store(to, ty, value);
            }
        }
    }

    pub(super) fn copy_bytes(&mut self, to: MemRef, from: MemRef, size: u64, align: u64) {
        let mem = match align {
            8.. => MemTy::B64,
            4..8 => MemTy::B32,
            2..4 => MemTy::U16,
            _ => MemTy::U8,
        };
        for i in 0..size / mem.size() {
            let v = self.load_part(self.mem(from, mem, i * mem.size()), from.address);
            self.store_part(self.mem(to, mem, i * mem.size()), to.address, v);
        }
    }

    /// Zeroes an object.
    pub(super) fn clear(&mut self, to: MemRef, ty: QualType) {
        match self.program.types.get(ty.id) {
            Type::Struct(id) => {
                let s = &self.program.types.structs[id.0 as usize];
                if s.is_union {
                    let zero = self.constant(Ty::I32, 0);
                    for i in 0..s.size {
                        self.emit(
                            Op::Store(self.mem(to, MemTy::U8, i), to.address, zero),
                            Ty::None,
                        );
                    }
                    return;
                }
                for member in s.members.clone().unwrap_or_default() {
                    self.clear(to.at(member.offset as i64), member.ty);
                }
            }
            Type::Array(element, n) => {
                let size = self.program.types.size(element.id).unwrap_or(0);
                let element = *element;
                for i in 0..n.unwrap_or(0) {
                    if self.f.values.len() > self.limit {
                        self.refused = Some(Refused::Values);
                        return;
                    }
                    self.clear(to.at((i * size) as i64), element);
                }
            }
            Type::Error
            | Type::Void
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Atomic(_)
            | Type::Pointer(_)
            | Type::Image(..)
            | Type::Sampler
            | Type::Event
            | Type::Function(..) => {
                let (mem, n, _) = self.memory_layout(ty);
                let zero = self.constant(mem.ty(), 0);
                for i in 0..n {
                    let m = self.mem(to, mem, u64::from(i) * mem.size());
                    self.store_part(m, to.address, zero);
                }
            }
        }
    }

    // Truth values

    pub(super) fn nonzero(&mut self, v: Val) -> Val {
        let ty = self.f.ty(v);
        let zero = self.constant(ty, 0);
        let cmp = if ty.is_float() { Cmp::FNe } else { Cmp::Ne };
        self.emit(Op::Cmp(cmp, v, zero), Ty::Pred)
    }

    /// A truth value as 0 and `one`.
    pub(super) fn bool_to_int(&mut self, v: Val, one: u64) -> Val {
        let (yes, no) = (self.constant(Ty::I32, one), self.constant(Ty::I32, 0));
        self.emit(Op::Select(v, yes, no), Ty::I32)
    }
}

impl MemRef {
    /// The place this many bytes on.
    pub(super) fn at(self, delta: i64) -> MemRef {
        MemRef { offset: self.offset + delta, ..self }
    }
}

/// About where the stack of this thread ends now.
pub(super) fn stack_position() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// IR space of an address space.
pub(super) fn space(space: types::Space) -> Space {
    match space {
        types::Space::Private => Space::Local,
        types::Space::Global => Space::Global,
        types::Space::Local => Space::Shared,
        types::Space::Constant => Space::Constant,
        types::Space::Generic => Space::Generic,
    }
}

/// How a scalar lies in memory.
pub(super) fn mem_of(scalar: Scalar) -> MemTy {
    match scalar {
        Scalar::Bool | Scalar::U8 => MemTy::U8,
        Scalar::I8 => MemTy::S8,
        Scalar::I16 => MemTy::S16,
        Scalar::U16 => MemTy::U16,
        Scalar::I32 | Scalar::U32 => MemTy::B32,
        Scalar::I64 | Scalar::U64 => MemTy::B64,
        Scalar::F16 => MemTy::F16,
        Scalar::F32 => MemTy::F32,
        Scalar::F64 => MemTy::F64,
    }
}

/// IR type of a scalar.
pub(super) fn ty_of(scalar: Scalar) -> Ty {
    if scalar == Scalar::Bool { Ty::Pred } else { mem_of(scalar).ty() }
}
