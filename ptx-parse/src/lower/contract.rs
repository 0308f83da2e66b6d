//! Multiplications and additions without a rounding modifier that the hardware's assembler joins.
//!
//! PTX leaves it open whether `mul.f32` and `add.f32` without `.rn` become one fused multiply-add
//! (PTX ISA 9.7.3.3); `ptxas` does join them, so that results differ from two roundings. The rule
//! here was read off what `ptxas` 13 does with some sixty small kernels, and the recorded kernels
//! agree with it:
//! - only from sm_20 on, and not in a module with `.target …, debug`;
//! - the product is unguarded, has neither rounding modifier nor `.sat`, and both agree in `.ftz`
//!   and type (all of `.f16 .f16x2 .bf16 .bf16x2 .f32 .f64`);
//! - every use of the product is an addition or subtraction in the same block, directly or through
//!   `mov` and `neg`; then each of them becomes a fused multiply-add and the product vanishes;
//! - products with one use are placed first, then the others; where both operands of an addition
//!   are candidates, the first operand's is taken.

use std::collections::{HashMap, HashSet};

use ptx_isa::meaning::Selection;
use ptx_isa::{Match, Operation, Ty, table};

use crate::module::{Body, Module, Operand};

/// How an addition is joined with a product.
pub(super) struct Fused {
    /// The `fma` row and its modifiers.
    pub m: Match,
    /// The product's factors.
    pub factors: [Operand; 2],
    /// Negates the product.
    pub minus_product: bool,
    /// The other summand.
    pub addend: Operand,
    /// Negates the other summand.
    pub minus_addend: bool,
    /// The product's instruction.
    pub product: usize,
}

/// What to do differently in one function.
#[derive(Default)]
pub(super) struct Plan {
    /// By instruction: additions that become fused multiply-adds.
    pub fused: HashMap<usize, Fused>,
    /// Instructions whose product is not computed any more.
    pub dropped: HashSet<usize>,
    /// Instructions whose factors must be kept, because something overwrites them before a use.
    pub kept: HashSet<usize>,
}

/// A candidate product.
struct Product {
    inst: usize,
    /// Uses as a summand: instruction and operand position (1 or 2), and sign.
    sums: Vec<(usize, usize, bool)>,
    /// Whether something else needs its value.
    blocked: bool,
    /// Whether a factor changes before the last use.
    factors_change: bool,
}

/// An opcode's part in the game.
#[derive(Copy, Clone, PartialEq)]
enum Role {
    Mul,
    Add,
    Sub,
    Move,
    Neg,
    Other,
}

fn role(m: &Match) -> (Role, Option<Ty>) {
    let types: Vec<Ty> = m.types().collect();
    let [ty] = types[..] else { return (Role::Other, None) };
    let float = matches!(ty, Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2 | Ty::F32 | Ty::F64);
    let plain = m.get("rnd").is_none();
    let role = match m.row.op {
        Operation::Mul if float && plain && !m.has(".sat") => Role::Mul,
        Operation::Add if float && plain => Role::Add,
        Operation::Sub if float && plain => Role::Sub,
        Operation::Neg if float => Role::Neg,
        Operation::Move if m.notation.slots.len() == 2 => Role::Move,
        _ => Role::Other,
    };
    (role, Some(ty))
}

/// Registers that `op` reads or writes.
fn registers(body: &Body, op: &Operand, f: &mut dyn FnMut(u32)) {
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

/// Plans the contractions of a function. `starts[i]` says whether a block begins at instruction `i`.
pub(super) fn plan(module: &Module, body: &Body, starts: &[bool]) -> Plan {
    let mut plan = Plan::default();
    let target = module.info.target;
    if target.sm < 20 || target.debug {
        return plan;
    }
    let roles: Vec<(Role, Option<Ty>)> = module.matches.iter().map(role).collect();
    if !body.insts.iter().any(|i| roles[i.opcode as usize].0 == Role::Mul) {
        return plan;
    }
    let exposed = upward_exposed(module, body, starts);
    let mut at = 0;
    while at < body.insts.len() {
        let mut end = at + 1;
        while end < body.insts.len() && !starts[end] {
            end += 1;
        }
        block(module, body, &roles, &exposed, at..end, &mut plan);
        at = end;
    }
    plan
}

/// Registers that some block reads before it writes them: their values cross block borders.
fn upward_exposed(module: &Module, body: &Body, starts: &[bool]) -> Vec<bool> {
    let mut exposed = vec![false; body.regs.len()];
    let mut written_in = vec![u32::MAX; body.regs.len()];
    let mut block = 0;
    for (i, inst) in body.insts.iter().enumerate() {
        block += u32::from(starts[i] && i > 0);
        let m = &module.matches[inst.opcode as usize];
        let ops = &body.operands[inst.operands.start as usize..inst.operands.end as usize];
        let mut read = |r: u32| exposed[r as usize] |= written_in[r as usize] != block;
        if let Some((g, _)) = inst.guard {
            read(g);
        }
        for (slot, op) in m.notation.slots.iter().zip(ops) {
            let call_or_guarded = inst.guard.is_some() || matches!(op, Operand::Call(_));
            if !slot.dest || call_or_guarded {
                registers(body, op, &mut read);
            }
        }
        for (slot, op) in m.notation.slots.iter().zip(ops) {
            if slot.dest && inst.guard.is_none() {
                registers(body, op, &mut |r| written_in[r as usize] = block);
            }
        }
    }
    exposed
}

/// The contractions of one block.
fn block(
    module: &Module,
    body: &Body,
    roles: &[(Role, Option<Ty>)],
    exposed: &[bool],
    range: std::ops::Range<usize>,
    plan: &mut Plan,
) {
    let mut products: Vec<Product> = Vec::new();
    // Which product a register holds here, and whether negated.
    let mut holds: HashMap<u32, (usize, bool)> = HashMap::new();
    // Products by the registers of their factors.
    let mut factor_of: HashMap<u32, Vec<usize>> = HashMap::new();
    for i in range.clone() {
        let inst = &body.insts[i];
        let m = &module.matches[inst.opcode as usize];
        let (role, _) = roles[inst.opcode as usize];
        let ops = &body.operands[inst.operands.start as usize..inst.operands.end as usize];
        let dest = match ops.first() {
            Some(Operand::Reg(d, Selection::Whole)) if inst.guard.is_none() => Some(*d),
            _ => None,
        };
        // Uses.
        let mut copies = None;
        for (k, (slot, op)) in m.notation.slots.iter().zip(ops).enumerate() {
            let whole = |r: &u32| holds.get(r).copied();
            match (role, op) {
                _ if slot.dest && inst.guard.is_none() && !matches!(op, Operand::Call(_)) => {}
                (Role::Add | Role::Sub, Operand::Reg(r, Selection::Whole)) if k == 1 || k == 2 => {
                    if let Some((p, negated)) = whole(r) {
                        let same = matches!((&ops[1], &ops[2]), (Operand::Reg(a, _), Operand::Reg(b, _)) if a == b);
                        let fits = fits(module, body, products[p].inst, i);
                        if same || !fits {
                            products[p].blocked = true;
                        } else {
                            products[p].sums.push((i, k, negated ^ (role == Role::Sub && k == 2)));
                        }
                    }
                }
                (Role::Move, Operand::Reg(r, Selection::Whole)) if dest.is_some() => {
                    copies = whole(r);
                }
                (Role::Neg, Operand::Reg(r, Selection::Whole)) if dest.is_some() => {
                    copies = whole(r).map(|(p, n)| (p, !n));
                }
                _ => registers(body, op, &mut |r| {
                    if let Some((p, _)) = holds.get(&r) {
                        products[*p].blocked = true;
                    }
                }),
            }
        }
        if let Some((g, _)) = inst.guard
            && let Some((p, _)) = holds.get(&g)
        {
            products[*p].blocked = true;
        }
        // Writes: registers hold something else, factors are gone.
        for (slot, op) in m.notation.slots.iter().zip(ops) {
            if slot.dest || matches!(op, Operand::Call(_)) {
                registers(body, op, &mut |r| {
                    holds.remove(&r);
                    for p in factor_of.remove(&r).unwrap_or_default() {
                        products[p].factors_change = true;
                    }
                });
            }
        }
        let Some(d) = dest else { continue };
        if let Some((p, negated)) = copies {
            if exposed[d as usize] {
                products[p].blocked = true;
            }
            holds.insert(d, (p, negated));
        } else if role == Role::Mul {
            let p = products.len();
            products.push(Product {
                inst: i,
                sums: Vec::new(),
                blocked: exposed[d as usize],
                factors_change: false,
            });
            holds.insert(d, (p, false));
            for op in &ops[1..] {
                registers(body, op, &mut |r| factor_of.entry(r).or_default().push(p));
            }
            // `mul a, a, b` overwrites its own factor.
            let mut own = false;
            ops[1..].iter().for_each(|op| registers(body, op, &mut |r| own |= r == d));
            products[p].factors_change = own;
        }
    }
    choose(module, body, &mut products, plan);
}

/// Whether product and sum agree in type and `.ftz`.
fn fits(module: &Module, body: &Body, product: usize, sum: usize) -> bool {
    let m = |i: usize| &module.matches[body.insts[i].opcode as usize];
    role(m(product)).1 == role(m(sum)).1 && m(product).has(".ftz") == m(sum).has(".ftz")
}

/// Places the products: first those with one use, then the others, sums in order of the text.
fn choose(module: &Module, body: &Body, products: &mut [Product], plan: &mut Plan) {
    let mut sums: Vec<usize> = products.iter().flat_map(|p| p.sums.iter().map(|s| s.0)).collect();
    sums.sort_unstable();
    sums.dedup();
    // Uses that are still to be joined, by product.
    let mut left: Vec<usize> = products.iter().map(|p| p.sums.len()).collect();
    let mut joined = vec![0usize; products.len()];
    for single in [true, false] {
        for &sum in &sums {
            if plan.fused.contains_key(&sum) {
                continue;
            }
            let mut options: Vec<(usize, usize, bool)> = Vec::new();
            for (p, product) in products.iter().enumerate() {
                for &(i, k, negated) in &product.sums {
                    if i == sum && !product.blocked && (product.sums.len() == 1) == single {
                        options.push((k, p, negated));
                    }
                }
            }
            options.sort_unstable();
            let Some(&(k, p, negated)) = options.first() else { continue };
            let Some(fused) = fuse(module, body, &products[p], sum, k, negated) else { continue };
            plan.fused.insert(sum, fused);
            left[p] -= 1;
            joined[p] += 1;
            // The other summand stays a summand of a fused multiply-add: its product is needed.
            for (q, product) in products.iter_mut().enumerate() {
                if q != p && product.sums.iter().any(|s| s.0 == sum) {
                    product.blocked = true;
                }
            }
        }
    }
    for (p, product) in products.iter().enumerate() {
        if joined[p] > 0 && left[p] == 0 {
            plan.dropped.insert(product.inst);
        }
        if joined[p] > 0 && product.factors_change {
            plan.kept.insert(product.inst);
        }
    }
}

fn fuse(
    module: &Module,
    body: &Body,
    product: &Product,
    sum: usize,
    k: usize,
    negated: bool,
) -> Option<Fused> {
    let operands = |i: usize| {
        let r = &body.insts[i].operands;
        &body.operands[r.start as usize..r.end as usize]
    };
    let m = &module.matches[body.insts[sum].opcode as usize];
    let (role, ty) = role(m);
    let modifier = |t: &'static str| if m.has(t) { t } else { "" };
    let ty = ty?.to_string();
    let fma = table().form(Operation::Fma, &[".rn", modifier(".ftz"), modifier(".sat"), &ty])?;
    let factors = operands(product.inst);
    Some(Fused {
        m: fma,
        factors: [factors[1].clone(), factors[2].clone()],
        minus_product: negated,
        addend: operands(sum)[3 - k].clone(),
        minus_addend: role == Role::Sub && k == 1,
        product: product.inst,
    })
}
