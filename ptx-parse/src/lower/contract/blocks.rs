//! The basic blocks that the hardware's assembler sees: without the jumps that lead nowhere else, and without labels
//! that nobody jumps to.

use std::collections::HashMap;

use flow::Graph;
use ptx_isa::Sem;
use ptx_isa::row::Control;

use super::code::Code;
use crate::module::{Body, Inst, Module, Operand};

/// Blocks in order of the text of their first instructions; block 0 is where the function begins.
pub(super) struct Blocks {
    /// The instructions of each block in order of execution, as ranges of the text.
    pub nodes: Vec<Vec<u32>>,
    pub graph: Graph,
    /// By instruction: its block, and its place in the order of all blocks. Control reaches no others.
    pub place: Vec<(u32, u32)>,
}

/// A stretch of the text without a branch or a label inside.
struct Piece {
    start: u32,
    end: u32,
    next: Vec<u32>,
}

impl Blocks {
    /// `cuts` are guarded branches that are always (true) or never taken.
    pub fn new(code: &Code, cuts: &HashMap<u32, bool>) -> Blocks {
        let mut pieces = pieces(code.module, code.body, cuts);
        thread(code, &mut pieces);
        let chains = chains(&pieces);
        let mut node_of = vec![u32::MAX; pieces.len()];
        for (n, chain) in chains.iter().enumerate() {
            chain.iter().for_each(|p| node_of[*p as usize] = n as u32);
        }
        let graph = Graph::new(chains.len(), |n| {
            let last = chains[n as usize][chains[n as usize].len() - 1];
            pieces[last as usize].next.iter().map(|p| node_of[*p as usize]).collect::<Vec<_>>()
        });
        let all = |chain: &Vec<u32>| {
            chain.iter().flat_map(|p| pieces[*p as usize].start..pieces[*p as usize].end).collect()
        };
        let nodes: Vec<Vec<u32>> = chains.iter().map(all).collect();
        let mut place = vec![(u32::MAX, 0); code.body.insts.len()];
        let mut at = 0;
        for (n, insts) in nodes.iter().enumerate() {
            for &i in insts {
                place[i as usize] = (n as u32, at);
                at += 1;
            }
        }
        Blocks { nodes, graph, place }
    }

    /// The guarded branches to a label.
    pub fn guarded_branches<'a>(&'a self, code: &'a Code) -> impl Iterator<Item = u32> + 'a {
        let branches = move |i: &u32| {
            let inst = &code.body.insts[*i as usize];
            inst.guard.is_some() && control(code.module, inst) == Some(Control::Bra)
        };
        self.nodes.iter().flatten().copied().filter(branches)
    }
}

fn control(module: &Module, inst: &Inst) -> Option<Control> {
    match module.matches[inst.opcode as usize].row.sem {
        Sem::Control(control) => Some(control),
        _ => None,
    }
}

/// The stretches between branches and labels, and where each goes.
fn pieces(module: &Module, body: &Body, cuts: &HashMap<u32, bool>) -> Vec<Piece> {
    let n = body.insts.len();
    let mut leads = vec![false; n + 1];
    leads[0] = true;
    body.labels.iter().for_each(|(_, at)| leads[*at as usize] = true);
    for (i, inst) in body.insts.iter().enumerate() {
        leads[i + 1] |= control(module, inst).is_some_and(|c| c != Control::Call);
    }
    let mut piece_of = vec![0u32; n + 1];
    let mut pieces: Vec<Piece> = Vec::new();
    for at in 0..=n {
        // The last piece is empty and stands for the end of the function.
        if leads[at] || at == n {
            pieces.push(Piece { start: at as u32, end: at as u32, next: Vec::new() });
        }
        piece_of[at] = pieces.len() as u32 - 1;
        if at < n {
            pieces.last_mut().expect("instruction 0 leads").end = at as u32 + 1;
        }
    }
    let target = |label: u32| piece_of[body.labels[label as usize].1 as usize];
    for p in 0..pieces.len() - 1 {
        let last = pieces[p].end - 1;
        let inst = &body.insts[last as usize];
        let ops = &body.operands[inst.operands.start as usize..inst.operands.end as usize];
        let next = &mut pieces[p].next;
        let falls = match (control(module, inst), ops) {
            (Some(Control::Bra), [Operand::Label(l)]) => {
                let taken = cuts.get(&last);
                if taken != Some(&false) {
                    next.push(target(*l));
                }
                inst.guard.is_some() && taken != Some(&true)
            }
            (Some(Control::BrxIdx), [_, Operand::BranchTargets(t)]) => {
                next.extend(body.branch_targets[*t as usize].iter().map(|l| target(*l)));
                inst.guard.is_some()
            }
            (Some(Control::Ret | Control::Exit), _) => inst.guard.is_some(),
            _ => true,
        };
        if falls {
            next.push(p as u32 + 1);
        }
    }
    pieces
}

/// Ways through this many empty pieces are shortened.
const EMPTY_PIECES: usize = 100;

/// Leads every way past the pieces that do nothing but go on, and names each way once.
fn thread(code: &Code, pieces: &mut [Piece]) {
    for piece in pieces.iter_mut() {
        piece.next.sort_unstable();
        piece.next.dedup();
    }
    let goes_on = |p: &Piece| {
        let idle = |i: u32| {
            let inst = &code.body.insts[i as usize];
            code.dead[i as usize] || control(code.module, inst) == Some(Control::Bra)
        };
        p.next.len() == 1 && (p.start..p.end).all(idle)
    };
    let on: Vec<Option<u32>> = pieces.iter().map(|p| goes_on(p).then(|| p.next[0])).collect();
    for piece in pieces.iter_mut() {
        for next in &mut piece.next {
            for _ in 0..EMPTY_PIECES {
                let Some(further) = on[*next as usize] else { break };
                *next = further;
            }
        }
        piece.next.sort_unstable();
        piece.next.dedup();
    }
}

/// The pieces that control can reach, those joined that follow each other on every way.
fn chains(pieces: &[Piece]) -> Vec<Vec<u32>> {
    let graph = Graph::new(pieces.len(), |p| pieces[p as usize].next.iter().copied());
    let reached = graph.reachable(0);
    let only = |from: u32| {
        let [next] = pieces[from as usize].next[..] else { return None };
        let mut before = graph.predecessors(next).iter().filter(|p| reached.contains(**p as usize));
        (next != 0 && before.next() == Some(&from) && before.next().is_none()).then_some(next)
    };
    let mut inside = vec![false; pieces.len()];
    for p in reached.ones() {
        if let Some(next) = only(p as u32) {
            inside[next as usize] = true;
        }
    }
    let heads = reached.ones().filter(|p| !inside[*p]);
    heads
        .map(|head| {
            let mut chain = vec![head as u32];
            while let Some(next) = only(chain[chain.len() - 1]) {
                chain.push(next);
            }
            chain
        })
        .collect()
}
