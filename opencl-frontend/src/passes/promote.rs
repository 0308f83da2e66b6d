//! Private memory to SSA values (scalar replacement and mem2reg in one).
//!
//! A variable is promoted if every use of its address is a load or store at a known offset, and the accessed
//! ranges are equal or disjoint. SSA construction follows Braun et al., "Simple and efficient construction
//! of static single assignment form" (2013), with all block parameters completed at the end.

use rustc_hash::FxHashMap;

use super::replace::Replacements;
use crate::ir::graph::Graph;
use crate::ir::{BinOp, BlockId, Func, Mem, MemTy, Op, PrivateVar, Ty, UnOp, Val};

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
    let addresses = find_addresses(f, &graph);
    if addresses.is_empty() {
        return None;
    }
    let (cells, variables) = find_cells(f, &graph, &addresses);
    if cells.is_empty() {
        return None;
    }
    let mut builder = Builder {
        cells: &cells,
        variables: &variables,
        graph: &graph,
        defs: FxHashMap::default(),
        incomplete: Vec::new(),
        done: vec![false; f.blocks.len()],
        replaced: Replacements::default(),
        chain: Vec::new(),
        undefined: FxHashMap::default(),
    };
    for &b in &graph.order {
        builder.block(f, &addresses, b);
    }
    let mut next = 0;
    while next < builder.incomplete.len() {
        let (block, var, _) = builder.incomplete[next];
        next += 1;
        // Each edge gets its argument; parameters were appended in this order.
        for pred in dedup(&graph.preds[block.0 as usize]) {
            let v = builder.read(f, var, pred);
            for edge in f.block_mut(pred).term.edges_mut() {
                if edge.block == block {
                    edge.args.push(v);
                }
            }
        }
    }
    Some(builder.replaced)
}

fn dedup(preds: &[BlockId]) -> Vec<BlockId> {
    let mut out = preds.to_vec();
    out.sort_unstable();
    out.dedup();
    out
}

/// Addresses at known offsets in variables.
fn find_addresses(f: &Func, graph: &Graph) -> FxHashMap<Val, (PrivateVar, i64)> {
    let mut out: FxHashMap<Val, (PrivateVar, i64)> = FxHashMap::default();
    for &b in &graph.order {
        for &v in &f.block(b).insts {
            match *f.op(v) {
                Op::PrivateAddr(private) => {
                    out.insert(v, (private, 0));
                }
                Op::Bin(BinOp::Add, a, c) => {
                    if let Some(c) = f.as_const(c)
                        && let Some(&(private, offset)) = out.get(&a)
                    {
                        out.insert(v, (private, offset.wrapping_add(c as i64)));
                    }
                }
                _ => {}
            }
        }
    }
    out
}

type Variables = FxHashMap<(PrivateVar, i64), usize>;

fn find_cells(
    f: &Func,
    graph: &Graph,
    addresses: &FxHashMap<Val, (PrivateVar, i64)>,
) -> (Vec<Cell>, Variables) {
    let mut bad: Vec<bool> = f.privates.iter().map(|p| p.pinned).collect();
    let mut ranges: Vec<FxHashMap<i64, (u64, Ty)>> = vec![FxHashMap::default(); f.privates.len()];
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
                && let Some(&(private, offset)) = addresses.get(&a)
            {
                let s = private.0 as usize;
                skip = Some(a);
                let at = offset.wrapping_add(m.offset);
                let inside = at >= 0 && at as u64 + m.ty.size() <= f.privates[s].size;
                if m.volatile || !inside {
                    bad[s] = true;
                } else {
                    let entry = ranges[s].entry(at).or_insert((m.ty.size(), ty));
                    if entry.0 != m.ty.size() {
                        bad[s] = true;
                    }
                    if entry.1 != ty {
                        entry.1 = if m.ty.size() == 8 { Ty::I64 } else { Ty::I32 };
                    }
                }
            }
            let is_address = addresses.contains_key(&v);
            let mut first = true;
            op.for_each_operand(|o| {
                let used_as_address = skip == Some(o) && std::mem::take(&mut first);
                if !used_as_address
                    && !is_address
                    && let Some(&(private, _)) = addresses.get(&o)
                {
                    bad[private.0 as usize] = true;
                }
            });
        }
        for edge in block.term.edges() {
            for arg in &edge.args {
                if let Some(&(private, _)) = addresses.get(arg) {
                    bad[private.0 as usize] = true;
                }
            }
        }
    }
    let mut cells = Vec::new();
    let mut variables = Variables::default();
    for (s, ranges) in ranges.iter().enumerate() {
        let mut sorted: Vec<(i64, u64, Ty)> =
            ranges.iter().map(|(o, (n, t))| (*o, *n, *t)).collect();
        sorted.sort_unstable_by_key(|r| r.0);
        let overlap = sorted.windows(2).any(|w| w[0].0 + w[0].1 as i64 > w[1].0);
        if bad[s] || overlap {
            continue;
        }
        for (offset, size, ty) in sorted {
            variables.insert((PrivateVar(s as u32), offset), cells.len());
            cells.push(Cell { offset, size, ty });
        }
    }
    (cells, variables)
}

struct Builder<'b> {
    cells: &'b [Cell],
    variables: &'b Variables,
    graph: &'b Graph,
    defs: FxHashMap<(usize, BlockId), Val>,
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
    fn variable(
        &self,
        addresses: &FxHashMap<Val, (PrivateVar, i64)>,
        m: &Mem,
        a: Val,
    ) -> Option<usize> {
        let &(private, offset) = addresses.get(&a)?;
        self.variables.get(&(private, offset.wrapping_add(m.offset))).copied()
    }

    fn block(&mut self, f: &mut Func, addresses: &FxHashMap<Val, (PrivateVar, i64)>, b: BlockId) {
        let insts = std::mem::take(&mut f.block_mut(b).insts);
        let mut out = Vec::with_capacity(insts.len());
        for v in insts {
            let loc = f.values[v.0 as usize].loc;
            match *f.op(v) {
                Op::Load(m, a) if self.variable(addresses, &m, a).is_some() => {
                    let var = self.variable(addresses, &m, a).unwrap_or(0);
                    let stored = self.read(f, var, b);
                    let value = loaded(f, &mut out, stored, m.ty, loc);
                    self.replaced.set(v, value);
                }
                Op::Store(m, a, x) if self.variable(addresses, &m, a).is_some() => {
                    let var = self.variable(addresses, &m, a).unwrap_or(0);
                    let x = self.replaced.get(x);
                    let cell = &self.cells[var];
                    debug_assert!(cell.offset >= 0 && cell.size > 0);
                    let x = recast(f, &mut out, x, cell.ty, loc);
                    self.defs.insert((var, b), x);
                }
                _ => {
                    let mut op = *f.op(v);
                    op.map_operands(|o| self.replaced.get(o));
                    f.values[v.0 as usize].op = op;
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
            if let Some(&v) = self.defs.get(&(var, at)) {
                break self.replaced.get(v);
            }
            self.chain.push(at);
            let preds = &self.graph.preds[at.0 as usize];
            match preds.as_slice() {
                [] => {
                    let ty = self.cells[var].ty;
                    break *self.undefined.entry(ty).or_insert_with(|| undef(f, ty));
                }
                [one] if self.done[one.0 as usize] && *one != at => at = *one,
                _ => {
                    let p = f.add_param(at, self.cells[var].ty);
                    self.defs.insert((var, at), p);
                    self.incomplete.push((at, var, p));
                    break p;
                }
            }
        };
        for block in self.chain.drain(..) {
            self.defs.insert((var, block), value);
        }
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
