//! Multiplications and additions without a rounding modifier that the hardware's assembler joins.
//!
//! PTX leaves it open whether `mul.f32` and `add.f32` without `.rn` become one fused multiply-add (PTX ISA 9.7.3.3);
//! `ptxas` does join them, so that results differ from two roundings. The rule here was read off the SASS that `ptxas`
//! 13 makes of some seven hundred small kernels (it is the same for sm_75, sm_80 and sm_90); the recorded kernels agree
//! with it:
//! - only from sm_20 on, and not in a module with `.target …, debug`;
//! - the product is unguarded, has neither rounding modifier nor `.sat`, and both agree in `.ftz` and type (all of
//!   `.f16 .f16x2 .bf16 .bf16x2 .f32 .f64`); a product of two numbers is a number, one with 1.0 the other factor;
//! - every use of the product is an addition or subtraction, directly or through `mov` and `neg`; then each of them
//!   becomes a fused multiply-add and the product vanishes. What nothing needs is no use;
//! - the uses stand in the product's block. Labels that nobody jumps to, jumps to the next instruction, branches around
//!   nothing and branches that compare numbers end no block ([`blocks`]), nor do loops of a known number of trips that
//!   are unrolled whole. A fence, a call, what the assembler makes branches of ([`ptx_isa::Row::splits`]), and all
//!   guarded instructions but arithmetic end one;
//! - if a factor is an immediate, a kernel parameter or a constant of the module, the uses may stand anywhere that only
//!   this product reaches ([`values`]), but not behind a counted loop that the product stands in: the assembler unrolls
//!   it in part, so that the product comes from several copies;
//! - the last product of `div.full`, `div.approx` and `rcp.approx` counts too ([`ptx_isa::Row::factors`]);
//! - products with one use are placed first, then the others; where both operands of an addition are candidates, the
//!   first operand's is taken.
//!
//! A sum of the text has one form here. Where the assembler makes several copies of it and joins only some, the form of
//! the first trip is taken. What else differs is in the list of the tests, by name.

mod blocks;
mod code;
mod products;
#[cfg(test)]
mod tests;
mod values;

use std::collections::{BTreeMap, HashMap, HashSet};

use ptx_isa::{Match, Operation, table};

use self::code::{Code, Role, role};
use self::products::Product;
use crate::module::{Body, Module, Operand};

/// How an addition is joined with a product.
pub(super) struct Fused {
    /// The `fma` row and its modifiers.
    pub m: Match,
    /// The product's factors; `None` where they are kept ([`Plan::kept`]).
    pub factors: Option<[Operand; 2]>,
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
    /// Instructions whose factors must be kept, because something overwrites them before a use or they stand in no
    /// register.
    pub kept: HashSet<usize>,
}

/// Plans the contractions of a function; `entry` says that it is a kernel.
pub(super) fn plan(module: &Module, body: &Body, entry: bool) -> Plan {
    let mut plan = Plan::default();
    let target = module.info.target;
    if target.sm < 20 || target.debug {
        return plan;
    }
    let is_product: Vec<bool> =
        module.matches.iter().map(|m| matches!(role(m).0, Role::Mul | Role::Quotient)).collect();
    if body.insts.iter().any(|i| is_product[i.opcode as usize]) {
        let code = Code::new(module, body, entry);
        let mut products = products::products(&code);
        choose(&code, &mut products, &mut plan);
    }
    plan
}

/// Places the products: first those with one use, then the others, sums in order of the text.
fn choose(code: &Code, products: &mut [Product], plan: &mut Plan) {
    // By sum: operand position, product, sign.
    let mut sums: BTreeMap<usize, Vec<(usize, usize, bool)>> = BTreeMap::new();
    for (p, product) in products.iter().enumerate() {
        for &(sum, k, negated) in &product.sums {
            sums.entry(sum).or_default().push((k, p, negated));
        }
    }
    sums.values_mut().for_each(|options| options.sort_unstable());
    let mut forms = HashMap::new();
    // Uses that are still to be joined, by product.
    let mut left: Vec<usize> = products.iter().map(|p| p.sums.len()).collect();
    let mut joined = vec![0usize; products.len()];
    for single in [true, false] {
        for (&sum, options) in &sums {
            if plan.fused.contains_key(&sum) {
                continue;
            }
            let fits = |p: &Product| !p.blocked && (p.sums.len() == 1) == single;
            let Some(&(k, p, negated)) = options.iter().find(|o| fits(&products[o.1])) else {
                continue;
            };
            let place = (sum, k, negated);
            let Some(fused) = fuse(code, &mut forms, &products[p], place) else { continue };
            plan.fused.insert(sum, fused);
            left[p] -= 1;
            joined[p] += 1;
            // The other summand stays a summand of a fused multiply-add: its product is needed.
            for &(_, q, _) in options {
                products[q].blocked |= q != p;
            }
        }
    }
    for (p, product) in products.iter().enumerate() {
        if joined[p] > 0 && left[p] == 0 {
            plan.dropped.insert(product.inst);
        }
        if joined[p] > 0 && is_kept(code, product) {
            plan.kept.insert(product.inst);
        }
    }
}

/// Whether the factors of a product must be kept.
fn is_kept(code: &Code, product: &Product) -> bool {
    product.factors_change || code.role(product.inst as u32) == Role::Quotient
}

/// The multiply-add that a sum of these modifiers becomes.
fn multiply_add(m: &Match) -> Option<Match> {
    let modifier = |t: &'static str| if m.has(t) { t } else { "" };
    let ty = role(m).1?.to_string();
    table().form(Operation::Fma, &[".rn", modifier(".ftz"), modifier(".sat"), &ty])
}

fn fuse(
    code: &Code,
    forms: &mut HashMap<u32, Option<Match>>,
    product: &Product,
    (sum, k, negated): (usize, usize, bool),
) -> Option<Fused> {
    let operands = |i: usize| code.ops(i as u32);
    let m = code.matched(sum as u32);
    let opcode = code.body.insts[sum].opcode;
    let fma = forms.entry(opcode).or_insert_with(|| multiply_add(m)).clone()?;
    let factors = match operands(product.inst) {
        [_, a, b, ..] if !is_kept(code, product) => Some([a.clone(), b.clone()]),
        _ => None,
    };
    Some(Fused {
        m: fma,
        factors,
        minus_product: negated,
        addend: operands(sum)[3 - k].clone(),
        minus_addend: code.role(sum as u32) == Role::Sub && k == 1,
        product: product.inst,
    })
}
