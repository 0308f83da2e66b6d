//! Control-flow graphs: orders, dominators, loops, liveness.
//!
//! Nodes are numbers from 0 on. A caller hands over successors ([`Graph::new`]) and gets facts about them; what a node
//! holds is the caller's own business, so that every intermediate form of the workspace can ask here. Sets of nodes and
//! of values are [`BitSet`]s.
//!
//! All algorithms work without recursion, on graphs of any shape: nodes that the root does not reach, several edges
//! between two nodes, edges from a node to itself, and loops with several entries.

mod dominators;
mod graph;
mod liveness;
mod loops;
mod nest;

pub use dominators::{Dominators, post_dominators};
/// A set of small numbers.
pub use fixedbitset::FixedBitSet as BitSet;
pub use graph::{Graph, Node};
pub use liveness::{live_in, live_out};
pub use loops::{Loop, loops};
pub use nest::{Nest, Nested};
