//! Private memory to SSA values (scalar replacement and mem2reg in one).
//!
//! A variable is promoted if every use of its address is a load or store at a known offset, and the accessed
//! ranges are equal or disjoint. SSA construction follows Braun et al., "Simple and efficient construction
//! of static single assignment form" (2013), with all block parameters completed at the end.

use rustc_hash::FxHashMap;

use super::definitions::Definitions;
use super::replace::Replacements;
use crate::ir::graph::Graph;
use crate::ir::{BinOp, BlockId, Func, MemTy, Op, PrivateVar, Ty, UnOp, Val};

/// A piece of a variable that is accessed as a whole.
struct Cell {
    offset: i64,
    size: u64,
    ty: Ty,
}

/// Promotes what can be promoted; true if there was anything.
pub fn run(f: &mut Func) -> bool {
    let Some(mut replaced) = promote(f) else { return false };
    replaced.apply(f);
    super::cfg::remove_trivial_params(f);
    true
}

/// Promotes what can be promoted, as far as what each load has become; none if there was nothing.
pub(super) fn promote(f: &mut Func) -> Option<Replacements> {
    let graph = Graph::new(f);
    let addresses = find_addresses(f, &graph)?;
    let (cells, accessed) = find_cells(f, &graph, &addresses);
    if cells.is_empty() {
        return None;
    }
    let mut builder = Builder {
        cells: &cells,
        accessed: &accessed,
        graph: &graph,
        latest: vec![None; cells.len()],
        // Most blocks define a few variables.
        defs: Definitions::new(4 * graph.order.len()),
        incomplete: Vec::new(),
        done: vec![false; f.blocks.len()],
        replaced: Replacements::default(),
        chain: Vec::new(),
        undefined: FxHashMap::default(),
    };
    for &b in &graph.order {
        builder.block(f, b);
    }
    let mut next = 0;
    while let Some(&(block, ..)) = builder.incomplete.get(next) {
        let here = builder.incomplete[next..].iter().take_while(|p| p.0 == block).count();
        // Each edge gets its arguments; parameters were appended in this order. Variables that are defined together are
        // read together.
        for pred in dedup(&graph.preds[block.0 as usize]) {
            let values: Vec<Val> = (next..next + here)
                .map(|at| {
                    let var = builder.incomplete[at].1;
                    builder.read(f, var, pred)
                })
                .collect();
            for edge in f.block_mut(pred).term.edges_mut() {
                if edge.block == block {
                    edge.args.extend_from_slice(&values);
                }
            }
        }
        next += here;
    }
    Some(builder.replaced)
}

fn dedup(preds: &[BlockId]) -> Vec<BlockId> {
    let mut out = preds.to_vec();
    out.sort_unstable();
    out.dedup();
    out
}

/// Addresses at known offsets in variables, by value.
struct Addresses(Vec<Option<(PrivateVar, i64)>>);

impl Addresses {
    fn get(&self, v: Val) -> Option<(PrivateVar, i64)> {
        self.0[v.0 as usize]
    }
}

/// The addresses of a function that has some.
fn find_addresses(f: &Func, graph: &Graph) -> Option<Addresses> {
    let mut out = Addresses(vec![None; f.values.len()]);
    let mut any = false;
    for &b in &graph.order {
        for &v in &f.block(b).insts {
            let address = match *f.op(v) {
                Op::PrivateAddr(private) => Some((private, 0)),
                Op::Bin(BinOp::Add, a, c) => f.as_const(c).and_then(|c| {
                    let (private, offset) = out.get(a)?;
                    Some((private, offset.wrapping_add(c as i64)))
                }),
                _ => None,
            };
            if address.is_some() {
                out.0[v.0 as usize] = address;
                any = true;
            }
        }
    }
    any.then_some(out)
}

/// Stands for no piece of a variable.
const NONE: u32 = u32::MAX;

/// Bytes of a variable that are accessed together.
struct Range {
    private: u32,
    at: i64,
    size: u64,
    ty: Ty,
}

/// What is accessed of each variable.
struct Ranges {
    all: Vec<Range>,
    by_place: FxHashMap<(u32, i64), u32>,
    /// By variable: the one that was asked for last. Most have no other.
    latest: Vec<u32>,
    /// By access: its range.
    accessed: Vec<u32>,
    /// By variable: it stays in memory.
    bad: Vec<bool>,
}

impl Ranges {
    fn access(&mut self, v: Val, (private, at): (PrivateVar, i64), size: u64, ty: Ty) {
        let s = private.0 as usize;
        let latest = self.latest[s];
        let number = match self.all.get(latest as usize) {
            Some(range) if range.at == at => latest,
            _ => *self.by_place.entry((private.0, at)).or_insert_with(|| {
                self.all.push(Range { private: private.0, at, size, ty });
                self.all.len() as u32 - 1
            }),
        };
        let range = &mut self.all[number as usize];
        self.bad[s] |= range.size != size;
        if range.ty != ty {
            range.ty = if size == 8 { Ty::I64 } else { Ty::I32 };
        }
        self.latest[s] = number;
        self.accessed[v.0 as usize] = number;
    }

    /// The pieces of the variables that can be promoted, and which one each access is to.
    fn cells(mut self) -> (Vec<Cell>, Vec<u32>) {
        let mut sorted: Vec<u32> = (0..self.all.len() as u32).collect();
        let range = |n: u32| &self.all[n as usize];
        sorted.sort_unstable_by_key(|n| (range(*n).private, range(*n).at));
        let mut cells = Vec::new();
        let mut cell_of = vec![NONE; self.all.len()];
        for own in sorted.chunk_by(|a, b| range(*a).private == range(*b).private) {
            let overlap = |w: &[u32]| range(w[0]).at + range(w[0]).size as i64 > range(w[1]).at;
            if self.bad[range(own[0]).private as usize] || own.windows(2).any(overlap) {
                continue;
            }
            for &n in own {
                cell_of[n as usize] = cells.len() as u32;
                cells.push(Cell { offset: range(n).at, size: range(n).size, ty: range(n).ty });
            }
        }
        for number in self.accessed.iter_mut().filter(|n| **n != NONE) {
            *number = cell_of[*number as usize];
        }
        (cells, self.accessed)
    }
}

/// The pieces of variables, and by access to one of them its number.
fn find_cells(f: &Func, graph: &Graph, addresses: &Addresses) -> (Vec<Cell>, Vec<u32>) {
    let mut ranges = Ranges {
        all: Vec::new(),
        by_place: FxHashMap::default(),
        latest: vec![NONE; f.privates.len()],
        accessed: vec![NONE; f.values.len()],
        bad: f.privates.iter().map(|p| p.pinned).collect(),
    };
    for &b in &graph.order {
        let block = f.block(b);
        for &v in &block.insts {
            let op = f.op(v);
            let access = match op {
                Op::Load(m, a) => Some((*m, *a, f.ty(v))),
                Op::Store(m, a, x) => Some((*m, *a, f.ty(*x))),
                _ => None,
            };
            let mut skip = None;
            if let Some((m, a, ty)) = access
                && let Some((private, offset)) = addresses.get(a)
            {
                let s = private.0 as usize;
                skip = Some(a);
                let at = offset.wrapping_add(m.offset);
                let inside = at >= 0 && at as u64 + m.ty.size() <= f.privates[s].size;
                if m.volatile || !inside {
                    ranges.bad[s] = true;
                } else {
                    ranges.access(v, (private, at), m.ty.size(), ty);
                }
            }
            let is_address = addresses.get(v).is_some();
            let mut first = true;
            op.for_each_operand(|o| {
                let used_as_address = skip == Some(o) && std::mem::take(&mut first);
                if !used_as_address
                    && !is_address
                    && let Some((private, _)) = addresses.get(o)
                {
                    ranges.bad[private.0 as usize] = true;
                }
            });
        }
        for edge in block.term.edges() {
            for arg in &edge.args {
                if let Some((private, _)) = addresses.get(*arg) {
                    ranges.bad[private.0 as usize] = true;
                }
            }
        }
    }
    ranges.cells()
}

struct Builder<'b> {
    cells: &'b [Cell],
    /// By access: its cell.
    accessed: &'b [u32],
    graph: &'b Graph,
    /// By cell: the latest definition, and the block at whose end it holds. It is not among `defs` yet.
    latest: Vec<Option<(BlockId, Val)>>,
    defs: Definitions,
    /// Parameters that still need arguments.
    incomplete: Vec<(BlockId, usize, Val)>,
    done: Vec<bool>,
    replaced: Replacements,
    /// Blocks between a reading and the definition.
    chain: Vec<BlockId>,
    /// One value per type is enough.
    undefined: FxHashMap<Ty, Val>,
}

impl Builder<'_> {
    fn cell(&self, access: Val) -> Option<usize> {
        // Values that were made since are no accesses to variables.
        self.accessed.get(access.0 as usize).filter(|n| **n != NONE).map(|n| *n as usize)
    }

    /// From now on the variable has this value at the end of the block.
    fn define(&mut self, var: usize, b: BlockId, v: Val) {
        if let Some((before, old)) = self.latest[var].replace((b, v))
            && before != b
        {
            self.defs.insert(var as u32, before, old);
        }
    }

    /// What was noted for the end of the block.
    fn defined(&self, var: usize, b: BlockId) -> Option<Val> {
        match self.latest[var] {
            Some((block, v)) if block == b => Some(v),
            _ => self.defs.get(var as u32, b),
        }
    }

    fn block(&mut self, f: &mut Func, b: BlockId) {
        let insts = std::mem::take(&mut f.block_mut(b).insts);
        let mut out = Vec::with_capacity(insts.len());
        for v in insts {
            let loc = f.values[v.0 as usize].loc;
            match (*f.op(v), self.cell(v)) {
                (Op::Load(m, _), Some(var)) => {
                    let stored = self.read(f, var, b);
                    let value = loaded(f, &mut out, stored, m.ty, loc);
                    self.replaced.set(v, value);
                }
                (Op::Store(_, _, x), Some(var)) => {
                    let x = self.replaced.get(x);
                    let cell = &self.cells[var];
                    debug_assert!(cell.offset >= 0 && cell.size > 0);
                    let x = recast(f, &mut out, x, cell.ty, loc);
                    self.define(var, b, x);
                }
                _ => {
                    let replaced = &mut self.replaced;
                    f.values[v.0 as usize].op.map_operands(|o| replaced.get(o));
                    out.push(v);
                }
            }
        }
        f.block_mut(b).insts = out;
        self.done[b.0 as usize] = true;
    }

    /// The variable's value at the end of a block (so far).
    fn read(&mut self, f: &mut Func, var: usize, b: BlockId) -> Val {
        let mut at = b;
        let value = loop {
            if let Some(v) = self.defined(var, at) {
                break self.replaced.get(v);
            }
            self.chain.push(at);
            let preds = &self.graph.preds[at.0 as usize];
            match preds {
                [] => {
                    let ty = self.cells[var].ty;
                    break *self.undefined.entry(ty).or_insert_with(|| undef(f, ty));
                }
                [one] if self.done[one.0 as usize] && *one != at => at = *one,
                _ => {
                    let p = f.add_param(at, self.cells[var].ty);
                    self.define(var, at, p);
                    self.incomplete.push((at, var, p));
                    break p;
                }
            }
        };
        let mut chain = std::mem::take(&mut self.chain);
        // The block that asked comes last: it asks again.
        for block in chain.drain(..).rev() {
            self.define(var, block, value);
        }
        self.chain = chain;
        value
    }
}

fn undef(f: &mut Func, ty: Ty) -> Val {
    f.values
        .iter()
        .position(|d| d.op == Op::Undef && d.ty == ty)
        .map(|i| Val(i as u32))
        .unwrap_or_else(|| f.new_value(Op::Undef, ty, 0, 0))
}

fn recast(f: &mut Func, out: &mut Vec<Val>, v: Val, ty: Ty, loc: u32) -> Val {
    if f.ty(v) == ty {
        v
    } else {
        crate::ir::simplify::build(f, out, Op::Un(UnOp::Bitcast, v), ty, 0, loc)
    }
}

/// What a load of this kind gives for a stored value.
fn loaded(f: &mut Func, out: &mut Vec<Val>, v: Val, ty: MemTy, loc: u32) -> Val {
    let v = recast(f, out, v, ty.ty(), loc);
    let op = match ty {
        MemTy::S8 => UnOp::SExt8,
        MemTy::U8 => UnOp::ZExt8,
        MemTy::S16 => UnOp::SExt16,
        MemTy::U16 => UnOp::ZExt16,
        _ => return v,
    };
    crate::ir::simplify::build(f, out, Op::Un(op, v), Ty::I32, 0, loc)
}
