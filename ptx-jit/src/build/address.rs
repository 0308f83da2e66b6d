//! What addresses are made of: which accesses may reach cells of local memory that nobody gave them an address of.
//!
//! Programs reach local memory by addresses of its variables. A number is an address as well (a register that nobody
//! wrote is zero, where the frame starts), and the interpreter finds whatever lies there: so must compiled code.

use ptx_isa::effect::Effect;
use ptx_isa::{Kind, Space};

use super::raw::{Item, Operand, Raw};
use crate::ir::Op;

/// What a value may be made of; of several, the last.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Made {
    /// Of constants and special registers.
    Numbers,
    /// Also of what was loaded, or of the address of a module's variable.
    Unknown,
    /// Also of an address in the frame.
    Frame,
}

/// The place in local memory that an effect's address is, if it is constant.
pub(super) fn constant(effect: &Effect, address: &Operand) -> Option<i64> {
    let (Effect::Ld(m) | Effect::St(m)) = effect else { return None };
    let (base, narrow) = match address {
        Operand::Frame(at, low) => (i64::from(*at), *low),
        Operand::Leaf(kind, Op::Const(at)) if own(m.place.space) => (*at as i64, *kind == Kind::W),
        Operand::Var(_) | Operand::Leaf(..) => return None,
    };
    let sum = base.wrapping_add(m.place.offset);
    Some(if narrow { i64::from(sum as u32) } else { sum })
}

/// Whether some access may reach any cell of local memory: its address is a number, or it was loaded though no address
/// of the frame was ever stored.
pub(super) fn any_reached(raw: &Raw) -> bool {
    let made = variables(raw);
    let of = |o: &Operand| match o {
        Operand::Var(v) => made[*v as usize],
        Operand::Leaf(..) | Operand::Frame(..) => leaf(o),
    };
    let insts = || raw.blocks.iter().flat_map(|b| &b.insts);
    let stored = insts().any(|inst| match &inst.item {
        Item::Effect { effect, src, .. } => {
            let from = usize::from(address_space(effect).is_some());
            src.iter().skip(from).any(|o| of(o) == Made::Frame)
        }
        Item::Pure { .. } => false,
    });
    insts().any(|inst| {
        let Item::Effect { effect, src, .. } = &inst.item else { return false };
        let (Some(space), Some(address)) = (address_space(effect), src.first()) else {
            return false;
        };
        if constant(effect, address).is_some() {
            return false;
        }
        match (space, of(address)) {
            (_, Made::Frame) => false,
            (space, Made::Numbers) if own(space) => true,
            (space, Made::Unknown) if own(space) => !stored,
            (Space::Generic, Made::Numbers) => true,
            _ => false,
        }
    })
}

/// The space of the access that an effect is.
fn address_space(effect: &Effect) -> Option<Space> {
    match effect {
        Effect::Ld(m) | Effect::St(m) => Some(m.place.space),
        Effect::Atom(a) => Some(a.place.space),
        _ => None,
    }
}

/// Whether addresses of the space are places in the frame.
fn own(space: Space) -> bool {
    matches!(space, Space::Local | Space::ParamFunc)
}

fn leaf(o: &Operand) -> Made {
    match o {
        Operand::Frame(..) => Made::Frame,
        Operand::Leaf(_, Op::Const(_) | Op::Special(_)) => Made::Numbers,
        Operand::Leaf(..) | Operand::Var(_) => Made::Unknown,
    }
}

/// What each variable may be made of, whatever way control goes. One that nobody writes is a number.
fn variables(raw: &Raw) -> Vec<Made> {
    let mut made = vec![Made::Numbers; raw.kinds.len()];
    // Who takes a variable's value over.
    let mut takers: Vec<Vec<u32>> = vec![Vec::new(); raw.kinds.len()];
    let mut rise = Vec::new();
    for inst in raw.blocks.iter().flat_map(|b| &b.insts) {
        match &inst.item {
            Item::Pure { dst, args, .. } => {
                for arg in args {
                    match arg {
                        Operand::Var(v) => takers[*v as usize].push(*dst),
                        Operand::Leaf(..) | Operand::Frame(..) => rise.push((*dst, leaf(arg))),
                    }
                }
            }
            Item::Effect { dst, .. } => rise.extend(dst.iter().map(|(d, _)| (*d, Made::Unknown))),
        }
    }
    while let Some((v, to)) = rise.pop() {
        if made[v as usize] < to {
            made[v as usize] = to;
            rise.extend(takers[v as usize].iter().map(|t| (*t, to)));
        }
    }
    made
}
