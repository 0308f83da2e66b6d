//! Typed tree to IR. Every call is inlined here: each kernel becomes one function.
//!
//! Variables become private memory; `passes::promote` turns what it can into SSA values. Vectors are split
//! into their components at once.

mod call;
mod convert;
mod expr;
mod operators;
mod stmt;
mod unaligned;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::Options;
use crate::diag::{Code, Diag};
use crate::ir::{
    Block, Cmp, Func, Mem, MemTy, Op, ParamData, ParamKind, Slot, SlotData, Space, Term, Ty, Val,
};
use crate::ir::{Edge, simplify};
use crate::sema::hir::{Function, FunctionId, LabelId, LocalId, Program};
use crate::sema::types::{self, QualType, Scalar, Type, TypeId};
use crate::source::Span;
use crate::symbol::Interner;

/// A kernel may not grow beyond this many values: calls inline, and hostile programs call in towers.
const MAX_VALUES: usize = 1 << 20;

/// A value of the typed tree.
#[derive(Clone, Debug)]
enum Value {
    /// None, for void.
    None,
    /// Components of a scalar (1) or vector.
    Lanes(SmallVec<[Val; 16]>),
    /// An aggregate in memory that nobody else writes.
    Memory(Place),
}

/// Where an object is.
#[derive(Clone, Copy, Debug)]
struct Place {
    space: Space,
    address: Val,
    offset: i64,
    /// Alignment of the address (without the offset).
    align: u64,
    volatile: bool,
}

/// One function body being inlined.
struct Frame {
    function: FunctionId,
    slots: FxHashMap<LocalId, Slot>,
    labels: FxHashMap<LabelId, Block>,
    /// Where `return` goes and where its value is stored.
    exit: Option<(Block, Option<Slot>)>,
    unit: u32,
}

struct Targets {
    on_break: Block,
    on_continue: Option<Block>,
}

/// State of the lowering of one kernel.
pub struct Lower<'p> {
    program: &'p Program,
    names: &'p Interner,
    options: &'p Options,
    f: Func,
    at: Block,
    frames: Vec<Frame>,
    targets: Vec<Targets>,
    location: u32,
    too_large: bool,
}

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
        at: Block(0),
        frames: Vec::new(),
        targets: Vec::new(),
        location: 0,
        too_large: false,
    };
    lower.kernel(function, kernel);
    if lower.too_large {
        let message =
            format!("kernel `{}` grows too large when its calls are inlined", lower.f.name);
        return Err(Diag::error(Code::Limit, message));
    }
    Ok(lower.f)
}

impl Lower<'_> {
    fn kernel(&mut self, function: &Function, id: FunctionId) {
        self.push_frame(id, function, None);
        for (i, ty) in function.params.iter().enumerate() {
            let name = format!("{}_param_{i}", self.f.name);
            let slot = self.local_slot(LocalId(i as u32));
            let place = self.slot_place(slot);
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
                _ => ParamKind::Scalar(self.mem_ty(ty.id)),
            };
            self.f.params.push(ParamData { name, kind });
            if let ParamKind::Bytes { align, .. } = kind {
                let address = self.emit(Op::ParamAddr(i as u32), Ty::I64);
                let from =
                    Place { space: Space::Param, address, offset: 0, align, volatile: false };
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

    fn push_frame(
        &mut self,
        id: FunctionId,
        function: &Function,
        exit: Option<(Block, Option<Slot>)>,
    ) {
        self.frames.push(Frame {
            function: id,
            slots: FxHashMap::default(),
            labels: FxHashMap::default(),
            exit,
            unit: function.unit,
        });
    }

    // Blocks and instructions

    fn emit(&mut self, op: Op, ty: Ty) -> Val {
        self.emit_flagged(op, ty, 0)
    }

    fn emit_flagged(&mut self, op: Op, ty: Ty, flags: u8) -> Val {
        let mut insts = std::mem::take(&mut self.f.block_mut(self.at).insts);
        let v = simplify::build(&mut self.f, &mut insts, op, ty, flags, self.location);
        self.f.block_mut(self.at).insts = insts;
        if self.f.values.len() > MAX_VALUES {
            self.too_large = true;
        }
        v
    }

    fn constant(&mut self, ty: Ty, bits: u64) -> Val {
        self.f.constant(ty, bits)
    }

    fn terminate(&mut self, term: Term) {
        let block = self.f.block_mut(self.at);
        if matches!(block.term, Term::Open) {
            block.term = term;
        }
    }

    fn jump(&mut self, to: Block) {
        self.terminate(Term::Jump(Edge::to(to)));
    }

    fn branch(&mut self, c: Val, yes: Block, no: Block) {
        match self.f.as_const(c) {
            Some(0) => self.jump(no),
            Some(_) => self.jump(yes),
            None => self.terminate(Term::Branch(c, Edge::to(yes), Edge::to(no))),
        }
    }

    fn switch_to(&mut self, block: Block) {
        self.at = block;
    }

    fn set_location(&mut self, span: Span) {
        // Code of the library belongs to the line that called it.
        let unit = self.frames.last().map_or(0, |f| f.unit);
        if self.program.library_units.get(unit as usize).copied().unwrap_or(false) {
            return;
        }
        let place = (unit, span.first);
        if self.f.locations.get(self.location as usize) != Some(&place) {
            self.f.locations.push(place);
            self.location = self.f.locations.len() as u32 - 1;
        }
    }

    // Memory

    fn new_slot(&mut self, size: u64, align: u64, name: String) -> Slot {
        self.f.slots.push(SlotData { size, align, name });
        Slot(self.f.slots.len() as u32 - 1)
    }

    fn slot_for(&mut self, ty: QualType, name: &str) -> Slot {
        let types = &self.program.types;
        let (size, align) = (types.size(ty.id).unwrap_or(1).max(1), types.align(ty.id).max(1));
        self.new_slot(size, align, name.to_string())
    }

    fn local_slot(&mut self, id: LocalId) -> Slot {
        let frame = self.frames.last().expect("a function is being lowered");
        if let Some(&slot) = frame.slots.get(&id) {
            return slot;
        }
        let local = &self.program.functions[frame.function.0 as usize].locals[id.0 as usize];
        let types = &self.program.types;
        let size = types.size(local.ty.id).unwrap_or(1).max(1);
        let align = types.align(local.ty.id).max(local.align.unwrap_or(1)).max(1);
        let name = self.names.text(local.name).to_string();
        let slot = self.new_slot(size, align, name);
        self.frames.last_mut().expect("a function is being lowered").slots.insert(id, slot);
        slot
    }

    fn slot_place(&mut self, slot: Slot) -> Place {
        let align = self.f.slots[slot.0 as usize].align;
        let address = self.emit(Op::SlotAddr(slot), Ty::I64);
        Place { space: Space::Local, address, offset: 0, align, volatile: false }
    }

    fn mem_ty(&self, id: TypeId) -> MemTy {
        match self.program.types.lanes(id) {
            Some((scalar, _)) => mem_of(scalar),
            None if matches!(self.program.types.get(id), Type::Sampler) => MemTy::B32,
            None => MemTy::B64,
        }
    }

    fn mem(&self, place: Place, ty: MemTy, delta: u64) -> Mem {
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
    fn shape(&self, ty: QualType) -> (MemTy, u8, Option<Scalar>) {
        match self.program.types.lanes(ty.id) {
            Some((scalar, n)) => (mem_of(scalar), n, Some(scalar)),
            None => (self.mem_ty(ty.id), 1, None),
        }
    }

    fn load(&mut self, place: Place, ty: QualType) -> Value {
        if self.program.types.is_aggregate(ty.id) {
            let slot = self.slot_for(ty, "copy");
            let to = self.slot_place(slot);
            self.copy(to, place, ty);
            return Value::Memory(to);
        }
        let (mem, n, scalar) = self.shape(ty);
        let mut out = SmallVec::new();
        for i in 0..n {
            let m = self.mem(place, mem, u64::from(i) * mem.size());
            let v = self.load_part(m, place.address);
            out.push(if scalar == Some(Scalar::Bool) { self.nonzero(v) } else { v });
        }
        Value::Lanes(out)
    }

    fn store(&mut self, place: Place, ty: QualType, value: Value) {
        match value {
            Value::None => {}
            Value::Memory(from) => self.copy(place, from, ty),
            Value::Lanes(lanes) => {
                let (mem, _, scalar) = self.shape(ty);
                for (i, v) in lanes.into_iter().enumerate() {
                    let v = if scalar == Some(Scalar::Bool) { self.bool_to_int(v, 1) } else { v };
                    let m = self.mem(place, mem, i as u64 * mem.size());
                    self.store_part(m, place.address, v);
                }
            }
        }
    }

    /// Copies an object, part by part as its type says.
    fn copy(&mut self, to: Place, from: Place, ty: QualType) {
        if self.too_large {
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
                    if self.too_large {
                        return;
                    }
                    self.copy(to.at((i * size) as i64), from.at((i * size) as i64), element);
                }
            }
            _ => {
                let value = self.load(from, ty);
                self.store(to, ty, value);
            }
        }
    }

    fn copy_bytes(&mut self, to: Place, from: Place, size: u64, align: u64) {
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
    fn clear(&mut self, to: Place, ty: QualType) {
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
                    if self.f.values.len() > MAX_VALUES {
                        self.too_large = true;
                        return;
                    }
                    self.clear(to.at((i * size) as i64), element);
                }
            }
            _ => {
                let (mem, n, _) = self.shape(ty);
                let zero = self.constant(mem.ty(), 0);
                for i in 0..n {
                    let m = self.mem(to, mem, u64::from(i) * mem.size());
                    self.store_part(m, to.address, zero);
                }
            }
        }
    }

    // Truth values

    fn nonzero(&mut self, v: Val) -> Val {
        let ty = self.f.ty(v);
        let zero = self.constant(ty, 0);
        let cmp = if ty.is_float() { Cmp::FNe } else { Cmp::Ne };
        self.emit(Op::Cmp(cmp, v, zero), Ty::Pred)
    }

    /// A truth value as 0 and `one`.
    fn bool_to_int(&mut self, v: Val, one: u64) -> Val {
        let (yes, no) = (self.constant(Ty::I32, one), self.constant(Ty::I32, 0));
        self.emit(Op::Select(v, yes, no), Ty::I32)
    }
}

impl Place {
    /// The place this many bytes on.
    fn at(self, delta: i64) -> Place {
        Place { offset: self.offset + delta, ..self }
    }
}

/// IR space of an address space.
fn space(space: types::Space) -> Space {
    match space {
        types::Space::Private => Space::Local,
        types::Space::Global => Space::Global,
        types::Space::Local => Space::Shared,
        types::Space::Constant => Space::Constant,
    }
}

/// How a scalar lies in memory.
fn mem_of(scalar: Scalar) -> MemTy {
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
fn ty_of(scalar: Scalar) -> Ty {
    if scalar == Scalar::Bool { Ty::Pred } else { mem_of(scalar).ty() }
}
