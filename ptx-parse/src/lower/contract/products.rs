//! The products of a function and their uses.

use std::collections::{HashMap, HashSet};

use flow::{BitSet, Loop, loops};
use ptx_isa::meaning::Selection;
use ptx_isa::{Operation, Ty};

use super::blocks::Blocks;
use super::code::{Code, Role, fits, registers};
use super::values::{Source, Values};
use crate::module::Operand;

/// A candidate product.
pub(super) struct Product {
    pub inst: usize,
    /// Whether a factor is an immediate, a kernel parameter or a constant of the module.
    constant: bool,
    /// Uses as a summand: instruction and operand position (1 or 2), and sign.
    pub sums: Vec<(usize, usize, bool)>,
    /// Whether something else needs its value.
    pub blocked: bool,
    /// Whether a factor changes before the last use.
    pub factors_change: bool,
}

/// Loops of known trips are unrolled whole up to this many instructions, about: the assembler's own weights are
/// unknown. It unrolled 3,591 trips of one addition, 1,601 of a store with its address, 814 of a volatile load and two
/// additions.
const UNROLLED: u64 = 2800;

/// The bits of 1.0.
const ONE_F32: u64 = 0x3f80_0000;
const ONE_F64: u64 = 0x3ff0_0000_0000_0000;

/// Finds the products with all their uses.
pub(super) struct Finder<'a> {
    code: &'a Code<'a>,
    blocks: &'a Blocks,
    values: Values<'a>,
    products: Vec<Product>,
    /// Product by its instruction.
    by_inst: Vec<Option<usize>>,
    /// Registers that may hold a product.
    held: BitSet,
    /// By place in the order of the blocks: the stretch that the assembler takes for one block.
    stretch: Vec<u32>,
}

/// All products of a function.
pub(super) fn products(code: &Code) -> Vec<Product> {
    let mut cuts = HashMap::new();
    let mut blocks = Blocks::new(code, &cuts);
    loop {
        let mut values = Values::new(code, &blocks);
        let before = cuts.len();
        for i in blocks.guarded_branches(code) {
            if let Some(taken) = values.decided(i) {
                cuts.insert(i, taken);
            }
        }
        if cuts.len() == before {
            let (products, stretch) = (Vec::new(), Vec::new());
            let by_inst = vec![None; code.body.insts.len()];
            let held = held(code);
            let blocks = &blocks;
            return Finder { code, blocks, values, products, by_inst, held, stretch }.run();
        }
        blocks = Blocks::new(code, &cuts);
    }
}

/// The registers that products are written to, and those that copies bring them to.
fn held(code: &Code) -> BitSet {
    let mut held = BitSet::with_capacity(code.body.regs.len());
    let mut copies: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut work = Vec::new();
    for i in 0..code.body.insts.len() as u32 {
        let Some(d) = code.whole_dest(i) else { continue };
        if let Some((from, _)) = code.copies(i) {
            copies.entry(from).or_default().push(d);
        } else if matches!(code.role(i), Role::Mul | Role::Quotient) {
            work.push(d);
        }
    }
    while let Some(r) = work.pop() {
        if !held.put(r as usize) {
            work.extend(copies.get(&r).into_iter().flatten());
        }
    }
    held
}

impl Finder<'_> {
    fn run(mut self) -> Vec<Product> {
        let blocks = self.blocks;
        // Asks for all values first: a phi is understood when its arguments are known.
        for &i in blocks.nodes.iter().flatten().filter(|i| !self.code.dead[**i as usize]) {
            let values = &mut self.values;
            let product = matches!(self.code.role(i), Role::Mul | Role::Quotient);
            self.code.reads(i, &mut |r| {
                if product || self.held.contains(r as usize) {
                    values.value(r, i);
                }
            });
        }
        self.values.simplify();
        for &i in blocks.nodes.iter().flatten() {
            self.note_product(i);
        }
        let loops = loops(&blocks.graph, &self.values.dominators);
        let partly = self.stretches(&loops);
        for &i in blocks.nodes.iter().flatten().filter(|i| !self.code.dead[**i as usize]) {
            self.uses(i);
        }
        // A loop that is unrolled in part: a product inside comes to its end from several copies.
        for l in partly {
            let nodes: BitSet = l.nodes.iter().map(|n| *n as usize).collect();
            let inside = |i: usize| nodes.contains(blocks.place[i].0 as usize);
            for p in self.products.iter_mut().filter(|p| inside(p.inst)) {
                p.blocked |= p.sums.iter().any(|s| !inside(s.0));
            }
        }
        self.products
    }

    /// Takes instruction `i` for a product if it is one.
    fn note_product(&mut self, i: u32) {
        let role = self.code.role(i);
        let ops = self.code.ops(i);
        if !matches!(role, Role::Mul | Role::Quotient)
            || self.code.whole_dest(i).is_none()
            || self.code.dead[i as usize]
        {
            return;
        }
        let mut known = [false; 2];
        for (known, op) in known.iter_mut().zip(&ops[1..]) {
            *known = match op {
                Operand::Imm(_) => true,
                Operand::Reg(r, Selection::Whole) => {
                    let value = self.values.value(*r, i);
                    self.values.is_constant(value)
                }
                _ => false,
            };
        }
        let [a, b] = known;
        let mut number = |k: usize| ops.get(k).and_then(|op| self.values.number_of(op, i));
        let (x, y) = (number(1), number(2));
        let ty = self.code.matched(i).types().last();
        let one = |n: Option<u64>| match ty {
            Some(Ty::F32) => n.is_some_and(|n| n & 0x7fff_ffff == ONE_F32),
            Some(Ty::F64) => n.is_some_and(|n| n & (u64::MAX >> 1) == ONE_F64),
            _ => false,
        };
        let constant = match role {
            // The reciprocal of a number is a number; what is divided by one is itself.
            Role::Quotient if ops.len() == 2 && x.is_some() || one(y) => return,
            Role::Quotient if ops.len() == 2 => false,
            Role::Quotient => {
                let m = self.code.matched(i);
                // Without scaling the dividend is a factor itself, and the quotient of one is the bare reciprocal.
                let bare = m.has(".ftz") && !m.row.syntax.contains(".full");
                if bare && one(x) {
                    return;
                }
                // The reciprocal of a number is a number.
                y.is_some() || bare && a
            }
            // The product of two numbers is a number, rounded; that with one is the other factor.
            _ if x.is_some() && y.is_some() || one(x) || one(y) => return,
            _ => a || b,
        };
        self.by_inst[i as usize] = Some(self.products.len());
        self.products.push(Product {
            inst: i as usize,
            constant,
            sums: Vec::new(),
            blocked: false,
            factors_change: false,
        });
    }

    /// Finds the stretches; yields the loops that are unrolled in part.
    fn stretches<'l>(&mut self, loops: &'l [Loop]) -> Vec<&'l Loop> {
        let (code, blocks) = (self.code, self.blocks);
        let graph = &blocks.graph;
        // Ways back of loops that are unrolled whole.
        let mut gone: HashSet<(u32, u32)> = HashSet::new();
        let mut weight: Vec<u64> = blocks
            .nodes
            .iter()
            .map(|insts| insts.iter().filter(|i| !code.dead[**i as usize]).count() as u64)
            .collect();
        let mut partly = Vec::new();
        for (k, l) in loops.iter().enumerate().rev() {
            let set: BitSet = l.nodes.iter().map(|n| *n as usize).collect();
            let inside = |n: &u32| set.contains(*n as usize);
            let pragma = code
                .body
                .nounroll
                .iter()
                .any(|at| blocks.place.get(*at as usize).is_some_and(|(node, _)| inside(node)));
            let inner = loops[k + 1..].iter().any(|other| inside(&other.header));
            let [latch] = l.latches[..] else { continue };
            let exits = l.nodes.iter().flat_map(|n| graph.successors(*n)).filter(|s| !inside(s));
            let (one_exit, last) = (exits.count() == 1, blocks.nodes[latch as usize].last());
            let Some(&last) = last.filter(|_| one_exit && !pragma) else { continue };
            // The counter and its comparison do not count.
            let all: u64 = l.nodes.iter().map(|n| weight[*n as usize]).sum();
            let one_trip = all.saturating_sub(3).max(1);
            let chain = l.nodes.windows(2).all(|pair| {
                let next = graph.successors(pair[0]).iter();
                let mut next = next.filter(|s| !gone.contains(&(pair[0], **s)));
                next.next() == Some(&pair[1]) && next.next().is_none()
            });
            let trips = match chain {
                true => self.values.trips(l.header, last, UNROLLED / one_trip + 1),
                false => None,
            };
            match trips {
                Some(trips) if trips == 1 || trips * one_trip <= UNROLLED => {
                    gone.insert((latch, l.header));
                    weight[l.header as usize] += (trips - 1) * one_trip;
                }
                _ if !inner && self.counts(l) => partly.push(l),
                _ => {}
            }
        }
        self.stretch = vec![0; blocks.place.len()];
        let mut at_end = vec![0; blocks.nodes.len()];
        let mut next = 0;
        for &node in self.values.dominators.order() {
            let mut before =
                graph.predecessors(node).iter().filter(|p| !gone.contains(&(**p, node)));
            let only = before.next().filter(|_| before.next().is_none() && node != 0);
            let goes_on = only.filter(|p| {
                let after = graph.successors(**p).iter();
                after.filter(|s| !gone.contains(&(**p, **s))).count() == 1
            });
            let mut stretch = match goes_on {
                Some(p) => at_end[*p as usize],
                None => {
                    next += 1;
                    next
                }
            };
            for &i in &blocks.nodes[node as usize] {
                self.stretch[i as usize] = stretch;
                if code.splits(i) {
                    next += 1;
                    stretch = next;
                }
            }
            at_end[node as usize] = stretch;
        }
        partly
    }

    /// Whether a loop compares a register that it steps by a number.
    fn counts(&self, l: &Loop) -> bool {
        let insts = || l.nodes.iter().flat_map(|n| &self.blocks.nodes[*n as usize]).copied();
        let mut steps = HashSet::new();
        for i in insts() {
            if let (
                Operation::Add | Operation::Sub,
                [Operand::Reg(d, _), Operand::Reg(a, _), Operand::Imm(_)],
            ) = (self.code.op(i), self.code.ops(i))
            {
                steps.extend([*d, *a]);
            }
        }
        let reads = |op: &Operand| matches!(op, Operand::Reg(r, _) if steps.contains(r));
        insts().any(|i| {
            self.code.op(i) == Operation::Compare && self.code.ops(i)[1..].iter().any(reads)
        })
    }

    /// Something else than a sum reads a register.
    fn block(&mut self, reg: u32, i: u32) {
        if !self.held.contains(reg as usize) {
            return;
        }
        let value = self.values.value(reg, i);
        self.block_source(value.source);
    }

    fn block_source(&mut self, source: Source) {
        let made = match source {
            Source::Start(_) => return,
            Source::Inst(i) => vec![i],
            Source::Phi(p) => self.values.through(p),
        };
        for i in made {
            if let Some(p) = self.by_inst[i as usize] {
                self.products[p].blocked = true;
            }
        }
    }

    /// Notes what instruction `i` reads.
    fn uses(&mut self, i: u32) {
        if self.code.copies(i).is_some() {
            return;
        }
        let ops = self.code.ops(i);
        let sum = matches!(self.code.role(i), Role::Add | Role::Sub);
        if !sum {
            let mut reads = Vec::new();
            self.code.reads(i, &mut |r| reads.push(r));
            reads.into_iter().for_each(|r| self.block(r, i));
            return;
        }
        if let Some((g, _)) = self.code.body.insts[i as usize].guard {
            self.block(g, i);
            if let Some(Operand::Reg(d, _)) = ops.first() {
                self.block(*d, i);
            }
        }
        let sources: Vec<Option<Source>> = ops[1..]
            .iter()
            .map(|op| match op {
                Operand::Reg(r, Selection::Whole) => Some(self.values.value(*r, i).source),
                _ => None,
            })
            .collect();
        for (k, op) in ops.iter().enumerate().skip(1) {
            let Operand::Reg(r, Selection::Whole) = op else {
                let mut reads = Vec::new();
                registers(self.code.body, op, &mut |r| reads.push(r));
                reads.into_iter().for_each(|r| self.block(r, i));
                continue;
            };
            if !self.held.contains(*r as usize) {
                continue;
            }
            let value = self.values.value(*r, i);
            let product = match value.source {
                Source::Inst(p) => self.by_inst[p as usize],
                _ => None,
            };
            let joins = |f: &Self, p: &usize| {
                let p = &f.products[*p];
                fits(f.code, p.inst, i as usize)
                    && (p.constant || f.stretch[p.inst] == f.stretch[i as usize])
            };
            match product.filter(|p| sources[0] != sources[1] && joins(self, p)) {
                Some(p) => {
                    let negated = value.negated ^ (self.code.role(i) == Role::Sub && k == 2);
                    self.products[p].sums.push((i as usize, k, negated));
                    let change = self.factors_change(p, i);
                    self.products[p].factors_change |= change;
                }
                None => self.block_source(value.source),
            }
        }
    }

    /// Whether a factor's register holds something else at `sum`. If it comes from the same place, it is the same
    /// value: the product is passed on every way to its sum.
    fn factors_change(&mut self, p: usize, sum: u32) -> bool {
        let inst = self.products[p].inst as u32;
        let mut factors = Vec::new();
        for op in &self.code.ops(inst)[1..] {
            registers(self.code.body, op, &mut |r| factors.push(r));
        }
        factors.into_iter().any(|r| self.values.read(r, inst) != self.values.read(r, sum))
    }
}
