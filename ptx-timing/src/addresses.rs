//! Addresses of variables, as far as accesses have room for them.

use std::collections::{HashMap, HashSet};

use ptx_isa::types::Space as IsaSpace;
use ptx_isa::{Class, Operation, Ty};
use ptx_parse::code::Function;

use crate::chains::unchanged;
use crate::event::Register;
use crate::facts::{AccessPlace, Facts};
use crate::uniform;
use crate::uses::{Uses, blocks_of, dominators, loops, replace, times_written};

/// Accesses to shared memory add the base of an array to an index, [R+UR], where the base was made with all lanes
/// there.
pub(crate) fn shared_addresses(function: &Function, facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let parted = uniform::parted(function, &uniform::same_in_lanes(function, facts), facts);
    let block = blocks_of(function);
    let made = times_written(facts);
    let bases: HashSet<Register> = facts
        .iter()
        .zip(&block)
        .filter(|(f, b)| f.variable.is_some() && !parted.contains(*b))
        .flat_map(|(f, _)| f.instruction.writes.iter().copied())
        .filter(|w| made[w] == 1)
        .collect();
    for i in 0..facts.len() {
        let f = &facts[i];
        let [sum] = f.instruction.writes[..] else { continue };
        let base = |a: &(Option<Register>, Option<u64>)| a.0.is_some_and(|r| bases.contains(&r));
        let adds = f.op == Operation::Add && f.instruction.class == Class::IntAdd;
        let plain = adds && !f.folded && f.instruction.guard.is_none() && made[&sum] == 1;
        if !plain || f.arguments.len() != 2 || f.arguments.iter().filter(|a| base(a)).count() != 1 {
            continue;
        }
        let users = uses.uses.get(&sum).cloned().unwrap_or_default();
        let address = |u: &usize| {
            let f = &facts[*u];
            let here = |p: &AccessPlace| p.space == IsaSpace::Shared && p.base == Some(sum);
            let times = f.arguments.iter().filter(|a| a.0 == Some(sum)).count();
            f.place.as_ref().is_some_and(here) && times == 1
        };
        let kept = f.instruction.reads.iter().all(|r| made.get(r).is_none_or(|n| *n == 1));
        if kept && !users.is_empty() && users.iter().all(address) {
            replace(facts, i, sum, &users);
        }
    }
}

/// Sums of an index and a place in an array become sums of the index and the array's base where accesses alone read
/// them: these add the distance.
pub(crate) fn places(facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let once = |r: Register| uses.definitions.get(&r).is_some_and(|d| d.len() == 1);
    let variables = facts.iter().filter(|f| f.variable.is_some());
    let bases: HashSet<Register> =
        variables.flat_map(|f| f.instruction.writes.iter().copied()).filter(|r| once(*r)).collect();
    let adds = |f: &Facts<'_>| {
        let plain = f.op == Operation::Add && f.instruction.class == Class::IntAdd;
        plain && !f.folded && f.instruction.guard.is_none() && f.arguments.len() == 2
    };
    let mut places: HashMap<Register, (Register, i64)> = HashMap::new();
    for f in facts.iter().filter(|f| adds(f)) {
        if let [(Some(base), None), (None, Some(constant))] = f.arguments[..]
            && let &[place] = &f.instruction.writes[..]
            && bases.contains(&base)
            && once(place)
        {
            places.insert(place, (base, i64::from(constant as u32 as i32)));
        }
    }
    for i in 0..facts.len() {
        let f = &facts[i];
        let &[sum] = &f.instruction.writes[..] else { continue };
        let of = |r: &Register| places.contains_key(r);
        let mut from = f.arguments.iter().filter_map(|a| a.0).filter(of);
        let (Some(from), None, true) = (from.next(), from.next(), adds(f) && once(sum)) else {
            continue;
        };
        let users = uses.uses.get(&sum).cloned().unwrap_or_default();
        let access = |u: &usize| {
            let here = |p: &AccessPlace| p.space == IsaSpace::Shared && p.base == Some(sum);
            facts[*u].place.as_ref().is_some_and(here) && addresses(&facts[*u], sum)
        };
        if users.is_empty() || !users.iter().all(access) {
            continue;
        }
        let (base, distance) = places[&from];
        let f = &mut facts[i];
        f.instruction.reads.iter_mut().filter(|r| **r == from).for_each(|r| *r = base);
        f.arguments.iter_mut().filter(|a| a.0 == Some(from)).for_each(|a| a.0 = Some(base));
        for &user in &users {
            if let Some(place) = &mut facts[user].place {
                place.offset = place.offset.wrapping_add(distance);
            }
        }
    }
    // What nobody adds any more.
    let left = Uses::new(facts);
    for f in facts.iter_mut() {
        let place = f.instruction.writes.first().filter(|r| places.contains_key(r));
        f.folded |= place.is_some_and(|r| !left.uses.contains_key(r));
    }
}

/// The displacement that an access has room for: 24 bits with a sign.
const DISPLACEMENT: i64 = 1 << 23;

/// Accesses add a constant to their address, [R+0x10], also where the text does so ahead of them, as inline assembly
/// must. Read off ptxas 13.5 for sm_90: loads, stores, copies and loads of matrices.
pub(crate) fn displacements(function: &Function, facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    for i in 0..facts.len() {
        let f = &facts[i];
        let [sum] = f.instruction.writes[..] else { continue };
        let [(Some(base), None), (None, Some(constant))] = f.arguments[..] else { continue };
        let plain = matches!(f.plain(""), Some(Ty::S32 | Ty::U32 | Ty::S64 | Ty::U64));
        let adds = f.op == Operation::Add && plain && !f.folded && f.instruction.guard.is_none();
        let word = f.plain("").is_some_and(|t| t.bits() == 32);
        let constant = if word { i64::from(constant as u32 as i32) } else { constant as i64 };
        let fits = (-DISPLACEMENT..DISPLACEMENT).contains(&constant);
        if !adds || !fits || base == sum || !uses.written_once(sum) {
            continue;
        }
        let users = uses.uses.get(&sum).cloned().unwrap_or_default();
        let address = |u: &usize| {
            let user = &facts[*u];
            let kept = uses.written_once(base) || unchanged(function, facts, base, i, *u);
            kept && addresses(user, sum)
        };
        if users.is_empty() || !users.iter().all(address) {
            continue;
        }
        for &user in &users {
            if let Some(place) = facts[user].place.as_mut().filter(|p| p.base == Some(sum)) {
                place.base = Some(base);
                place.offset = place.offset.wrapping_add(constant);
            }
        }
        replace(facts, i, sum, &users);
    }
}

/// Whether an instruction takes a register for an address and nothing else.
fn addresses(user: &Facts<'_>, register: Register) -> bool {
    if user.instruction.guard == Some(register) || !user.instruction.class.is_memory() {
        return false;
    }
    let times = user.arguments.iter().filter(|a| a.0 == Some(register)).count();
    match &user.place {
        Some(place) => place.base == Some(register) && times <= 1,
        // What loads of matrices and copies read are addresses; `st.async` reads values, too.
        None => match user.instruction.class {
            Class::LoadMatrix => true,
            Class::LoadGlobal => user.instruction.orders,
            _ => false,
        },
    }
}

/// Accesses to constant memory have room for the address of a variable; what is left of the sum is its index, scaled.
pub(crate) fn constant_addresses(facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let mut bases: HashMap<Register, usize> = HashMap::new();
    for (i, f) in facts.iter().enumerate().filter(|(_, f)| f.variable.is_some()) {
        bases.extend(f.instruction.writes.iter().map(|w| (*w, i)));
    }
    for i in 0..facts.len() {
        let f = &facts[i];
        let [sum] = f.instruction.writes[..] else { continue };
        let base = f.arguments.iter().find_map(|a| a.0.filter(|r| bases.contains_key(r)));
        let adds = f.op == Operation::Add || f.instruction.class == Class::IntMulWide;
        let plain = adds && !f.folded && f.instruction.guard.is_none() && uses.written_once(sum);
        let Some(base) = base.filter(|b| plain && uses.written_once(*b)) else { continue };
        let users = uses.uses.get(&sum).cloned().unwrap_or_default();
        let here = |u: &usize| {
            facts[*u]
                .place
                .as_ref()
                .is_some_and(|p| p.space == IsaSpace::Const && p.base == Some(sum))
        };
        if users.is_empty() || !users.iter().all(here) {
            continue;
        }
        facts[bases[&base]].folded = true;
        facts[bases[&base]].variable = None;
        facts[i].instruction.reads.retain(|r| *r != base);
        if facts[i].instruction.class == Class::IntMulWide {
            facts[i].instruction.class = Class::ShiftLeft;
        } else {
            replace(facts, i, sum, &users);
        }
    }
}

/// The address of a shared variable is computed: the block's window within the cluster's, shifted. What was computed on
/// every way to an instruction is there; of the window's, the address of another variable is one sum and a shift away.
/// What an innermost loop needs in each turn is computed ahead of it, which is not counted; what it needs in some turns
/// only is computed then. Read off ptxas 13.5 for sm_90.
pub(crate) fn shared_bases(instructions: u32, function: &Function, facts: &mut [Facts<'_>]) {
    let block = blocks_of(function);
    let uses = Uses::new(facts);
    let loops = loops(function);
    let dominators = dominators(function);
    let innermost = |(start, end): &(u32, u32)| {
        !loops.iter().any(|(s, e)| (s, e) != (start, end) && s >= start && e <= end)
    };
    // Blocks in which a variable's address was computed.
    let mut made: Vec<(usize, String)> = Vec::new();
    for i in 0..facts.len() {
        let Some(variable) = facts[i].variable.clone() else { continue };
        if facts[i].folded && !facts[i].constant_move {
            continue;
        }
        let here = block[i];
        let there = |b: usize| dominators.dominates(b as u32, here as u32);
        let around = loops.iter().find(|l| (l.0..l.1).contains(&(i as u32)) && innermost(l));
        let each_turn = around.is_some_and(|(_, end)| {
            dominators.dominates(here as u32, block[*end as usize - 1] as u32)
        });
        let known = made.iter().any(|(b, v)| *v == variable && there(*b));
        let window = made.iter().any(|(b, _)| there(*b));
        if known || each_turn || instructions <= 1 {
            let users = |r: &Register| uses.uses.get(r).map_or(&[][..], |u| &u[..]);
            let own = facts[i].instruction.writes.clone();
            own.iter().for_each(|r| replace(facts, i, *r, users(r)));
        } else {
            let f = &mut facts[i];
            f.folded = false;
            f.instruction.class = Class::SpecialRegister;
            f.instruction.extra_slots += if window { 1 } else { instructions - 1 };
        }
        if !known {
            made.push((here, variable));
        }
    }
}
