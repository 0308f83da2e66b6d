//! Cleaning the control-flow graph: constant branches, empty blocks, straight lines, useless parameters.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::replace::Replacements;
use crate::ir::graph::Graph;
use crate::ir::{BasicBlock, BlockId, Edge, Func, Term, Val};

/// Cleans until nothing changes; true if anything did.
pub fn run(f: &mut Func) -> bool {
    let mut any = false;
    loop {
        any |= fold_branches(f);
        let mut graph = Graph::new(f);
        any |= clear_unreachable(f, &graph);
        let mut changed = skip_empty(f);
        if changed {
            graph = Graph::new(f);
        }
        if merge_lines(f, &graph) {
            changed = true;
            graph = Graph::new(f);
        }
        changed |= remove_trivial_params_in(f, &graph);
        if !changed {
            forget_unreachable(f, &graph);
            return any;
        }
        any = true;
    }
}

fn fold_branches(f: &mut Func) -> bool {
    let mut changed = false;
    for b in 0..f.blocks.len() {
        if let Term::Branch(c, yes, no) = &f.blocks[b].term {
            let taken = match f.as_const(*c) {
                Some(0) => Some(no.clone()),
                Some(_) => Some(yes.clone()),
                None if yes == no => Some(yes.clone()),
                None => None,
            };
            if let Some(edge) = taken {
                f.blocks[b].term = Term::Jump(edge);
                changed = true;
            }
        }
    }
    changed
}

/// Empties blocks that cannot be reached.
fn clear_unreachable(f: &mut Func, graph: &Graph) -> bool {
    let mut changed = false;
    for b in 0..f.blocks.len() {
        if !graph.reachable(BlockId(b as u32)) {
            let block = &mut f.blocks[b];
            let empty = block.params.is_empty() && block.insts.is_empty();
            changed |= !(empty && matches!(block.term, Term::Open));
            block.params.clear();
            block.insts.clear();
            block.term = Term::Open;
        }
    }
    changed
}

/// Renumbers the blocks that can be reached, once most cannot: tables with an entry per block stay short.
fn forget_unreachable(f: &mut Func, graph: &Graph) {
    if f.blocks.len() < 2 * graph.order.len() {
        return;
    }
    let mut number = Vec::with_capacity(f.blocks.len());
    let mut next = 0;
    for b in 0..f.blocks.len() as u32 {
        number.push(BlockId(next));
        next += u32::from(graph.reachable(BlockId(b)));
    }
    let mut at = 0..;
    f.blocks.retain(|_| at.next().is_some_and(|b| graph.reachable(BlockId(b))));
    for block in &mut f.blocks {
        for edge in block.term.edges_mut() {
            edge.block = number[edge.block.0 as usize];
        }
    }
}

/// Redirects edges into blocks that only jump on.
fn skip_empty(f: &mut Func) -> bool {
    let forward: Vec<Option<Edge>> = (0..f.blocks.len())
        .map(|b| {
            let block = &f.blocks[b];
            match &block.term {
                Term::Jump(e)
                    if block.insts.is_empty()
                        && block.params.is_empty()
                        && e.block.0 as usize != b
                        && b != 0 =>
                {
                    Some(e.clone())
                }
                _ => None,
            }
        })
        .collect();
    if forward.iter().all(Option::is_none) {
        return false;
    }
    let mut changed = false;
    for b in 0..f.blocks.len() {
        let mut term = std::mem::replace(&mut f.blocks[b].term, Term::Open);
        for edge in term.edges_mut() {
            let mut hops = 0;
            while let Some(next) = &forward[edge.block.0 as usize] {
                if hops > f.blocks.len() {
                    break;
                }
                hops += 1;
                *edge = next.clone();
                changed = true;
            }
        }
        f.blocks[b].term = term;
    }
    changed
}

/// Joins a block with its only successor if that has no other predecessor.
fn merge_lines(f: &mut Func, graph: &Graph) -> bool {
    let mut replaced = Replacements::default();
    let mut changed = false;
    let mut gone = vec![false; f.blocks.len()];
    for &b in &graph.order {
        if gone[b.0 as usize] {
            continue;
        }
        while let Term::Jump(edge) = &f.block(b).term {
            let target = edge.block;
            if target == b
                || target.0 == 0
                || graph.preds[target.0 as usize].len() != 1
                || gone[target.0 as usize]
            {
                break;
            }
            let old = f.block_mut(target);
            let empty = BasicBlock {
                params: Vec::new(),
                insts: Vec::new(),
                term: Term::Open,
                unroll: None,
                label: old.label,
            };
            let next = std::mem::replace(old, empty);
            let block = f.block_mut(b);
            let Term::Jump(edge) = std::mem::replace(&mut block.term, next.term) else { break };
            for (p, a) in next.params.iter().zip(&edge.args) {
                let a = replaced.get(*a);
                replaced.set(*p, a);
            }
            block.insts.extend(next.insts);
            block.unroll = block.unroll.or(next.unroll);
            gone[target.0 as usize] = true;
            changed = true;
        }
    }
    if changed {
        replaced.apply(f);
    }
    changed
}

/// Removes parameters that receive one value from everywhere.
pub fn remove_trivial_params(f: &mut Func) {
    let graph = Graph::new(f);
    remove_trivial_params_in(f, &graph);
}

fn remove_trivial_params_in(f: &mut Func, graph: &Graph) -> bool {
    let mut incoming = Incoming::new(f, graph);
    let mut replaced = Replacements::default();
    // A parameter is looked at again only when one that it receives has become something else.
    let mut work: VecDeque<u32> = (0..incoming.params.len() as u32).collect();
    let mut waiting = vec![true; incoming.params.len()];
    let mut gone = vec![false; f.values.len()];
    while let Some(number) = work.pop_front() {
        waiting[number as usize] = false;
        let (p, args) = &incoming.params[number as usize];
        if gone[p.0 as usize] {
            continue;
        }
        let mut only: Option<Val> = None;
        let mut several = false;
        for arg in args {
            let arg = replaced.get(*arg);
            if arg == *p || only == Some(arg) {
                continue;
            }
            several |= only.is_some();
            only = Some(arg);
        }
        let Some(value) = only.filter(|_| !several) else { continue };
        gone[p.0 as usize] = true;
        replaced.set(*p, value);
        for user in std::mem::take(&mut incoming.users[number as usize]) {
            if !std::mem::replace(&mut waiting[user as usize], true) {
                work.push_back(user);
            }
            // What the parameter stands for now is passed in its place.
            if let Some(number) = incoming.number_of(value) {
                incoming.users[number as usize].push(user);
            }
        }
    }
    if !gone.contains(&true) {
        return false;
    }
    for &b in &graph.order {
        let mut term = std::mem::replace(&mut f.block_mut(b).term, Term::Open);
        for edge in term.edges_mut() {
            let mut params = f.block(edge.block).params.iter();
            edge.args.retain(|_| params.next().is_none_or(|p| !gone[p.0 as usize]));
        }
        f.block_mut(b).term = term;
    }
    for &b in &graph.order {
        f.block_mut(b).params.retain(|p| !gone[p.0 as usize]);
    }
    replaced.apply(f);
    true
}

/// What the parameters of blocks receive.
struct Incoming {
    /// Each parameter with the values that edges pass for it, in the order of the graph.
    params: Vec<(Val, SmallVec<[Val; 4]>)>,
    /// By the number of a parameter: those that receive it.
    users: Vec<Vec<u32>>,
    /// The number of a parameter plus one, by value.
    numbers: Vec<u32>,
}

impl Incoming {
    fn new(f: &Func, graph: &Graph) -> Incoming {
        let mut incoming =
            Incoming { params: Vec::new(), users: Vec::new(), numbers: vec![0; f.values.len()] };
        for &b in graph.order.iter().skip(1) {
            for &p in &f.block(b).params {
                incoming.params.push((p, SmallVec::new()));
                incoming.numbers[p.0 as usize] = incoming.params.len() as u32;
            }
        }
        incoming.users.resize_with(incoming.params.len(), Vec::new);
        for &b in &graph.order {
            for edge in f.block(b).term.edges() {
                for (p, arg) in f.block(edge.block).params.iter().zip(&edge.args) {
                    let Some(number) = incoming.number_of(*p) else { continue };
                    incoming.params[number as usize].1.push(*arg);
                    if let Some(from) = incoming.number_of(*arg) {
                        incoming.users[from as usize].push(number);
                    }
                }
            }
        }
        incoming
    }

    fn number_of(&self, v: Val) -> Option<u32> {
        self.numbers[v.0 as usize].checked_sub(1)
    }
}
