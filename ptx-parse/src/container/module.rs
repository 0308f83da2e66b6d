//! The verified module as records.

use std::sync::Arc;

use ptx_isa::meaning::{ModuleInfo, Selection};
use ptx_isa::special::Sreg;
use ptx_isa::table::table;
use ptx_isa::types::{PtxVersion, Suffix, Target};
use ptx_isa::{Match, Space, Ty};

use super::Container;
use super::check::{Limits, check};
use super::record::{Reader, Record, Result, Writer};
use crate::module::{
    Body, CallOperands, CallTargets, Func, Inst, Linkage, Loc, Module, Operand, Param, Prototype,
    Reg, Relocation, RelocationTarget, Symbol, Text, Tuning,
};

/// Structures, field by field.
macro_rules! records {
    ($($ty:ident { $($field:ident),* })*) => {$(
        impl Record for $ty {
            fn write(&self, to: &mut Writer) {
                $(self.$field.write(to);)*
            }
            fn read(from: &mut Reader<'_>) -> Result<$ty> {
                Ok($ty { $($field: Record::read(from)?),* })
            }
        }
    )*};
}

records! {
    PtxVersion { major, minor }
    Target { sm, suffix, map_f64_to_f32, texmode_independent, debug }
    ModuleInfo { target, version, address_bits }
    Symbol { name, space, ty, align, size, array, linkage, managed, init, relocations, span }
    Relocation { offset, bytes, target, addend, generic, shift }
    Param { name, ty, align, size, array, reg, ptr }
    Tuning {
        max_ntid, req_ntid, max_nreg, min_ncta_per_sm, max_ncta_per_sm, req_ncta_per_cluster,
        max_cluster_rank, explicit_cluster
    }
    Prototype { rets, params, noreturn }
    Loc { file, line, column, inlined }
    Body {
        regs, vars, insts, operands, labels, branch_targets, call_targets, prototypes, locs, nounroll,
        end
    }
}

/// Words of a closed set, by their position in it.
macro_rules! words {
    ($($ty:ident in $all:expr;)*) => {$(
        impl Record for $ty {
            fn write(&self, to: &mut Writer) {
                let at = $all.iter().position(|w| w == self).unwrap_or(usize::from(u8::MAX));
                to.byte(at as u8);
            }
            fn read(from: &mut Reader<'_>) -> Result<$ty> {
                let at = usize::from(from.byte()?);
                $all.get(at).copied().ok_or(concat!("unknown ", stringify!($ty)))
            }
        }
    )*};
}

words! {
    Ty in Ty::ALL;
    Sreg in Sreg::ALL;
    Space in [
        Space::Generic, Space::Global, Space::Shared, Space::SharedCluster, Space::Local,
        Space::Const, Space::ParamEntry, Space::ParamFunc, Space::Reg, Space::Sreg, Space::Tex,
    ];
    Suffix in [Suffix::None, Suffix::Family, Suffix::Arch];
    Linkage in [
        Linkage::Internal, Linkage::Visible, Linkage::Extern, Linkage::Weak, Linkage::Common,
    ];
}

/// A piece of the source is its place, any other text is itself.
impl Record for Text {
    fn write(&self, to: &mut Writer) {
        match self.place(&to.source) {
            Some(place) => {
                to.byte(1);
                place.write(to);
            }
            None => {
                to.byte(0);
                self.to_string().write(to);
            }
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Text> {
        match from.byte()? {
            0 => String::read(from).map(|text| Text::from(text.as_str())),
            1 => {
                let place = std::ops::Range::<u32>::read(from)?;
                match from.source.get(place.start as usize..place.end as usize) {
                    Some(_) => Ok(Text::new(from.source, place)),
                    None => Err("a name lies outside the text"),
                }
            }
            _ => Err("unknown form of a name"),
        }
    }
}

impl Record for RelocationTarget {
    fn write(&self, to: &mut Writer) {
        let (kind, id) = match self {
            RelocationTarget::Symbol(id) => (0, id),
            RelocationTarget::Function(id) => (1, id),
        };
        to.byte(kind);
        id.write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<RelocationTarget> {
        match from.byte()? {
            0 => Ok(RelocationTarget::Symbol(from.small()?)),
            1 => Ok(RelocationTarget::Function(from.small()?)),
            _ => Err("unknown target of an address"),
        }
    }
}

impl Record for CallTargets {
    fn write(&self, to: &mut Writer) {
        let (kind, id) = match self {
            CallTargets::Prototype(id) => (0, id),
            CallTargets::Table(id) => (1, id),
        };
        to.byte(kind);
        id.write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<CallTargets> {
        match from.byte()? {
            0 => Ok(CallTargets::Prototype(from.small()?)),
            1 => Ok(CallTargets::Table(from.small()?)),
            _ => Err("unknown kind of call targets"),
        }
    }
}

/// The form outside PTX or in it, and for each element of its shape which of the choices was taken.
impl Record for Match {
    fn write(&self, to: &mut Writer) {
        to.number(table().index(self.row).unwrap_or(u32::MAX).into());
        for (elem, token) in self.notation.elems.iter().zip(self.picked.iter()) {
            let at = token.and_then(|t| elem.choices.iter().position(|c| *c == t));
            to.option(at.map(|at| at as u64));
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Match> {
        let (row, shape) = table().at(from.small()?).ok_or("unknown instruction")?;
        let mut picked = Vec::with_capacity(shape.elems.len());
        for elem in &shape.elems {
            picked.push(match from.option()? {
                None => None,
                Some(at) => Some(*elem.choices.get(at as usize).ok_or("unknown modifier")?),
            });
        }
        Ok(Match::new(row, shape, picked.into()))
    }
}

impl Record for Selection {
    fn write(&self, to: &mut Writer) {
        let (kind, value) = match *self {
            Selection::Whole => (0, 0),
            Selection::B0 => (1, 0),
            Selection::B1 => (2, 0),
            Selection::B2 => (3, 0),
            Selection::B3 => (4, 0),
            Selection::H0 => (5, 0),
            Selection::H1 => (6, 0),
            Selection::Lanes(lanes) => (7, lanes.into()),
            Selection::Mask(mask) => (8, mask.into()),
        };
        to.number(kind + 9 * value);
    }
    fn read(from: &mut Reader<'_>) -> Result<Selection> {
        let n = from.number()?;
        let value = n / 9;
        Ok(match n % 9 {
            7 => Selection::Lanes(u16::try_from(value).map_err(|_| "unknown lanes")?),
            8 => Selection::Mask(u8::try_from(value).map_err(|_| "unknown lanes")?),
            _ if value != 0 => return Err("unknown part of a register"),
            0 => Selection::Whole,
            1 => Selection::B0,
            2 => Selection::B1,
            3 => Selection::B2,
            4 => Selection::B3,
            5 => Selection::H0,
            _ => Selection::H1,
        })
    }
}

/// Numbered registers come in runs: name, first number, type, count.
impl Record for Reg {
    fn write(&self, to: &mut Writer) {
        Reg::write_all(std::slice::from_ref(self), to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Reg> {
        Reg::read_all(1, from)?.pop().ok_or("a register is missing")
    }
    fn write_all(all: &[Reg], to: &mut Writer) {
        let next = |a: &Reg, b: &Reg| {
            let follows = a.number.zip(b.number).is_some_and(|(a, b)| a.checked_add(1) == Some(b));
            a.name == b.name && a.ty == b.ty && follows
        };
        for run in all.chunk_by(next) {
            run[0].name.write(to);
            run[0].ty.write(to);
            to.option(run[0].number.map(u64::from));
            to.number(run.len() as u64);
        }
    }
    fn read_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Reg>> {
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            let (name, ty, number) = (from.small()?, Ty::read(from)?, from.option()?);
            let run = from.small()?;
            let fits = run > 0
                && run as usize <= count - all.len()
                && number.is_none_or(|n| n.checked_add(run - 1).is_some());
            if !fits {
                return Err("a run of registers is too long");
            }
            all.extend((0..run).map(|n| Reg { name, number: number.map(|first| first + n), ty }));
        }
        Ok(all)
    }
}

/// Places follow each other, so that each is written as its distance from the one before.
impl Record for Inst {
    fn write(&self, to: &mut Writer) {
        Inst::write_all(std::slice::from_ref(self), to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Inst> {
        Inst::read_all(1, from)?.pop().ok_or("an instruction is missing")
    }
    fn write_all(all: &[Inst], to: &mut Writer) {
        let (mut operand, mut text) = (0u32, 0u32);
        for inst in all {
            inst.opcode.write(to);
            to.option(inst.guard.map(|(reg, negated)| u64::from(reg) << 1 | u64::from(negated)));
            to.signed(i64::from(inst.operands.start) - i64::from(operand));
            to.number(u64::from(inst.operands.end.saturating_sub(inst.operands.start)));
            operand = inst.operands.end;
            to.signed(i64::from(inst.span.start) - i64::from(text));
            to.number(u64::from(inst.span.end.saturating_sub(inst.span.start)));
            text = inst.span.end;
            to.option(inst.loc.map(u64::from));
        }
    }
    fn read_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Inst>> {
        fn place(from: &mut Reader<'_>, last: &mut u32) -> Result<std::ops::Range<u32>> {
            let start = i64::from(*last).checked_add(from.signed()?);
            let start = start.and_then(|n| u32::try_from(n).ok()).ok_or("a place is too far")?;
            *last = start.checked_add(from.small()?).ok_or("a range is too long")?;
            Ok(start..*last)
        }
        let (mut operand, mut text) = (0, 0);
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(Inst {
                opcode: from.small()?,
                guard: from.option()?.map(|n| (n >> 1, n & 1 != 0)),
                operands: place(from, &mut operand)?,
                span: place(from, &mut text)?,
                loc: from.option()?,
            });
        }
        Ok(all)
    }
}

impl Record for Operand {
    fn write(&self, to: &mut Writer) {
        let mut tagged = |tag: u8, id: u32| {
            to.byte(tag);
            to.number(id.into());
        };
        match self {
            Operand::Absent => to.byte(0),
            Operand::Sink => to.byte(1),
            // Most operands.
            Operand::Reg(id, Selection::Whole) => tagged(2, *id),
            Operand::Reg(id, part) => {
                tagged(3, *id);
                part.write(to);
            }
            Operand::NotReg(id) => tagged(4, *id),
            Operand::MinusReg(id, part) => {
                tagged(5, *id);
                part.write(to);
            }
            Operand::Imm(bits) => {
                to.byte(6);
                to.number(*bits);
            }
            Operand::Special(reg) => {
                to.byte(7);
                reg.write(to);
            }
            Operand::Envreg(n) => {
                to.byte(8);
                to.byte(*n);
            }
            Operand::Symbol(id, offset) => {
                tagged(9, *id);
                to.signed(*offset);
            }
            Operand::Var(id, offset) => {
                tagged(10, *id);
                to.signed(*offset);
            }
            Operand::Param(id, offset) => {
                tagged(11, *id);
                to.signed(*offset);
            }
            Operand::Func(id) => tagged(12, *id),
            Operand::Label(id) => tagged(13, *id),
            Operand::BranchTargets(id) => tagged(14, *id),
            Operand::Vector(range) => {
                to.byte(15);
                range.write(to);
            }
            Operand::Both(range) => {
                to.byte(16);
                range.write(to);
            }
            Operand::Addr(base, offset) => {
                tagged(17, *base);
                to.signed(*offset);
            }
            Operand::Sum(id, offset) => {
                tagged(19, *id);
                to.signed(*offset);
            }
            Operand::Call(call) => {
                to.byte(18);
                call.callee.write(to);
                call.rets.write(to);
                call.args.write(to);
                call.targets.write(to);
            }
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Operand> {
        Ok(match from.byte()? {
            0 => Operand::Absent,
            1 => Operand::Sink,
            2 => Operand::Reg(from.small()?, Selection::Whole),
            3 => Operand::Reg(from.small()?, Selection::read(from)?),
            4 => Operand::NotReg(from.small()?),
            5 => Operand::MinusReg(from.small()?, Selection::read(from)?),
            6 => Operand::Imm(from.number()?),
            7 => Operand::Special(Sreg::read(from)?),
            8 => Operand::Envreg(from.byte()?),
            9 => Operand::Symbol(from.small()?, from.signed()?),
            10 => Operand::Var(from.small()?, from.signed()?),
            11 => Operand::Param(from.small()?, from.signed()?),
            12 => Operand::Func(from.small()?),
            13 => Operand::Label(from.small()?),
            14 => Operand::BranchTargets(from.small()?),
            15 => Operand::Vector(Record::read(from)?),
            16 => Operand::Both(Record::read(from)?),
            17 => Operand::Addr(from.small()?, from.signed()?),
            18 => {
                // No recursion: a callee is a function or a register.
                let callee = match from.byte()? {
                    2 => Operand::Reg(from.small()?, Selection::Whole),
                    12 => Operand::Func(from.small()?),
                    _ => return Err("a callee is neither a function nor a register"),
                };
                Operand::Call(Box::new(CallOperands {
                    callee,
                    rets: Record::read(from)?,
                    args: Record::read(from)?,
                    targets: Record::read(from)?,
                }))
            }
            19 => Operand::Sum(from.small()?, from.signed()?),
            _ => return Err("unknown operand"),
        })
    }
}

/// A function without its body, and where that is.
struct Head {
    func: Func,
    body: Option<u64>,
}

impl Head {
    fn write(func: &Func, body: Option<u64>, to: &mut Writer) {
        func.name.write(to);
        func.entry.write(to);
        func.linkage.write(to);
        func.rets.write(to);
        func.params.write(to);
        func.noreturn.write(to);
        func.tuning.write(to);
        to.option(func.alias.map(u64::from));
        func.span.write(to);
        body.write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Head> {
        let func = Func {
            name: Record::read(from)?,
            entry: Record::read(from)?,
            linkage: Record::read(from)?,
            rets: Record::read(from)?,
            params: Record::read(from)?,
            noreturn: Record::read(from)?,
            tuning: Record::read(from)?,
            body: None,
            alias: from.option()?,
            span: Record::read(from)?,
        };
        Ok(Head { func, body: Record::read(from)? })
    }
}

/// Writes a module: what is read when it is opened, and what is read when it is asked for.
pub(super) fn write(module: &Module, heads: &mut Writer, bodies: &mut Writer) {
    module.name.write(heads);
    module.info.write(heads);
    module.symbols.write(heads);
    module.files.write(heads);
    module.reg_names.write(heads);
    heads.number(module.matches.len() as u64);
    module.matches.write(bodies);
    heads.number(module.functions.len() as u64);
    for func in &module.functions {
        let at = func.body.as_ref().map(|body| {
            let at = bodies.bytes().len() as u64;
            body.write(bodies);
            at
        });
        Head::write(func, at, heads);
    }
}

/// Reads what [`write`] has put into the heads; the rest stays in the container.
pub(super) fn read_heads(
    from: &mut Reader<'_>,
    container: &Arc<Container>,
    source: &Arc<str>,
) -> Result<Module> {
    let name = Record::read(from)?;
    let info = Record::read(from)?;
    let symbols: Vec<Symbol> = Record::read(from)?;
    let files = Record::read(from)?;
    let reg_names: Vec<Arc<str>> = Record::read(from)?;
    let opcodes = from.number()? as usize;
    let matches = container.part(0, source, move |all: &Vec<Match>| {
        if all.len() == opcodes { Ok(()) } else { Err("opcodes are missing") }
    });
    let count = from.count()?;
    let mut heads = Vec::with_capacity(count);
    for _ in 0..count {
        heads.push(Head::read(from)?);
    }
    let limits = Arc::new(Limits {
        symbols: symbols.len(),
        functions: heads.iter().map(|h| h.func.rets.len() + h.func.params.len()).collect(),
        reg_names: reg_names.len(),
        matches: matches.clone(),
    });
    limits.symbols(&symbols, source)?;
    let mut functions = Vec::with_capacity(count);
    for (id, Head { mut func, body }) in heads.into_iter().enumerate() {
        limits.head(&func, source)?;
        if let Some(at) = body {
            let at = usize::try_from(at).map_err(|_| "a body lies outside the file")?;
            let (limits, text) = (Arc::clone(&limits), Arc::clone(source));
            let params: Vec<Option<u32>> =
                func.params.iter().chain(&func.rets).map(|p| p.reg).collect();
            func.body = Some(
                container
                    .part(at, source, move |body: &Body| check(body, id, &params, &limits, &text)),
            );
        }
        functions.push(func);
    }
    let source = Arc::clone(source);
    Ok(Module {
        name,
        source,
        info,
        contraction: true,
        symbols,
        functions,
        matches,
        files,
        reg_names,
    })
}
