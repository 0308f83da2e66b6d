//! Recursion as a loop over a stack in local memory, so that calls can be inlined as all others.
//!
//! Functions that call each other in a circle become one function of their blocks. A call in the circle keeps in local
//! memory what the caller needs later, moves the stack pointer and jumps; a return jumps to where the number says that
//! the call has left. An activation is as large as it must be; how deep calls may go is counted as the interpreter
//! does.

mod activation;
mod merge;
mod writer;

use std::borrow::Cow;
use std::collections::VecDeque;

use flow::Graph;
use ptx_parse::code::{Function, Program};

use self::merge::Merge;
use crate::calls::call_graph;
use crate::ir::Origin;
use crate::unsupported::Unsupported;

/// What the interpreter counts for a call beside the frame of the caller.
const RETURN_ADDRESS: u32 = 16;

/// More functions than are searched for circles.
const MOST_FUNCTIONS: usize = 1_000;

/// The program without recursion. `stack`: bytes of local memory that the calls of a thread may have.
///
/// # Errors
/// Recursion that is not compiled.
pub(crate) fn flattened(program: &Program, stack: u32) -> Result<Cow<'_, Program>, Unsupported> {
    let graph = call_graph(program);
    let order = graph.reverse_postorder(0);
    let mut position = vec![usize::MAX; graph.len()];
    order.iter().enumerate().for_each(|(n, f)| position[*f as usize] = n);
    let back = order.iter().find(|f| {
        graph.successors(**f).iter().any(|to| position[*to as usize] <= position[**f as usize])
    });
    let Some(back) = back else { return Ok(Cow::Borrowed(program)) };
    if graph.len() > MOST_FUNCTIONS {
        return Err(refused(program, *back as usize, "a recursive function among very many"));
    }
    let depths = depths(program, &graph);
    let limit = stack.max(local_bytes(&program.functions[0]));
    let mut flat = program.clone();
    for f in order.iter().map(|f| *f as usize) {
        let members = circle(&graph, f);
        let outside = |caller: &u32| !members.contains(&(*caller as usize));
        let entered = graph.predecessors(f as u32).iter().any(outside);
        if let (false, true, Some(depth)) = (members.is_empty(), entered, depths[f]) {
            flat.functions[f] = Merge::new(program, members, f, limit)?.function(depth)?;
        }
    }
    Ok(Cow::Owned(flat))
}

/// The functions that `f` calls, directly or not, and that call it: with itself, or none.
fn circle(graph: &Graph, f: usize) -> Vec<usize> {
    let reached = graph.reachable(f as u32);
    let calls_back =
        |g: usize| graph.successors(g as u32).iter().any(|to| graph.reachable(*to).contains(f));
    reached.ones().filter(|g| calls_back(*g)).collect()
}

/// The least local memory that is in use where each function is entered; `None`: it never is.
fn depths(program: &Program, graph: &Graph) -> Vec<Option<u32>> {
    let mut depths: Vec<Option<u32>> = vec![None; graph.len()];
    depths[0] = Some(0);
    let mut work = VecDeque::from([0]);
    while let Some(f) = work.pop_front() {
        let Some(depth) = depths[f as usize] else { continue };
        let own = local_bytes(&program.functions[f as usize]).saturating_add(RETURN_ADDRESS);
        let inner = depth.saturating_add(own);
        for to in graph.successors(f) {
            let known = &mut depths[*to as usize];
            if known.is_none_or(|known| inner < known) {
                *known = Some(inner);
                work.push_back(*to);
            }
        }
    }
    depths
}

/// Bytes of a function's frame, as the interpreter counts them.
fn local_bytes(f: &Function) -> u32 {
    f.frame_bytes.next_multiple_of(16)
}

/// A refusal at the beginning of function `f`.
fn refused(program: &Program, f: usize, why: &str) -> Unsupported {
    let span = program.functions[f].insts.first().map_or(0..0, |i| i.span.clone());
    Unsupported::at(program, &Origin { function: f as u32, span }, why)
}
