//! Graphs: nodes of work with dependencies, and what is launched of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::{Error, Result};
use crate::graph_memory::{self, GraphMemory};
use crate::handles::Handles;
use crate::user_object::Held;
use crate::work::Work;

/// All graphs.
pub static GRAPHS: Handles<Graph> = Handles::new(10);
/// All instantiated graphs.
pub static EXECS: Handles<Exec> = Handles::new(11);
/// Where the nodes of all graphs are. They end with their graph; it does not live on for them.
pub static NODES: Handles<Weak<Graph>> = Handles::new(12);

/// A node.
#[derive(Clone)]
pub struct Node {
    /// Its handle.
    pub handle: usize,
    /// What it does.
    pub work: Work,
    /// Handles of the nodes before it.
    pub after: Vec<usize>,
    /// Handle of the graph that a child graph node holds, else 0.
    pub child: usize,
    /// Where the arguments of a kernel node stand, for who asks for them.
    arguments: Vec<usize>,
}

impl Node {
    fn new(handle: usize, work: Work, after: Vec<usize>) -> Node {
        Node { handle, work, after, child: 0, arguments: Vec::new() }
    }

    /// Pointers to a kernel's arguments at these offsets; they are good until the node changes.
    pub fn arguments(&mut self, offsets: &[(u32, u32)]) -> usize {
        let Work::Kernel(launch) = &self.work else { return 0 };
        let params = launch.params.as_ptr() as usize;
        self.arguments = offsets.iter().map(|(at, _)| params + *at as usize).collect();
        self.arguments.as_ptr() as usize
    }
}

/// A graph.
#[derive(Default)]
pub struct Graph {
    nodes: Mutex<Vec<Node>>,
    /// User objects that it holds.
    held: Mutex<Vec<Held>>,
    /// Of a clone: its node for a node of the original.
    origins: Mutex<HashMap<usize, usize>>,
    /// What was instantiated last.
    instance: Mutex<Weak<Exec>>,
}

impl Graph {
    /// Its nodes in the order in which they were added.
    pub fn nodes(&self) -> MutexGuard<'_, Vec<Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node; its handle.
    pub fn add(self: &Arc<Self>, work: Work, after: &[usize]) -> Result<usize> {
        let mut nodes = self.nodes();
        let distinct: HashSet<_> = after.iter().collect();
        let known = after.iter().all(|h| nodes.iter().any(|n| n.handle == *h));
        if !known || distinct.len() != after.len() {
            return Err(Error::InvalidValue);
        }
        let handle = NODES.add(Arc::new(Arc::downgrade(self)));
        nodes.push(Node::new(handle, work, after.to_vec()));
        Ok(handle)
    }

    /// The memory that one of its nodes allocates at an address, and that none frees.
    fn allocated(&self, address: u64) -> Option<Arc<GraphMemory>> {
        let nodes = self.nodes();
        let freed = |n: &Node| matches!(&n.work, Work::Deallocate(m) if m.address() == address);
        if nodes.iter().any(freed) {
            return None;
        }
        nodes.iter().find_map(|n| match &n.work {
            Work::Allocate(m) if m.address() == address => Some(Arc::clone(m)),
            _ => None,
        })
    }

    /// What frees the memory that one of its nodes allocates at an address.
    pub fn freeing(&self, address: u64) -> Result<Work> {
        self.allocated(address).map(Work::Deallocate).ok_or(Error::InvalidValue)
    }

    /// Fails if nodes allocate or free memory: such a graph is not copied, and keeps these nodes.
    pub fn has_no_memory(&self) -> Result {
        if self.nodes().iter().any(|n| n.work.is_memory()) {
            Err(Error::NotSupported)
        } else {
            Ok(())
        }
    }

    /// What is launched of it. Of a graph that allocates memory there is one at a time.
    pub fn instantiate(&self, flags: u64) -> Result<Arc<Exec>> {
        let mut instance = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        if instance.strong_count() > 0 {
            self.has_no_memory()?;
        }
        let made = Arc::new(Exec::new(self, flags)?);
        *instance = Arc::downgrade(&made);
        Ok(made)
    }

    /// Adds a node that holds a copy of another graph; its handle.
    pub fn add_child(self: &Arc<Self>, child: &Graph, after: &[usize]) -> Result<usize> {
        child.has_no_memory()?;
        child.order()?;
        let handle = self.add(Work::Nothing, after)?;
        let copy = GRAPHS.add(child.copy().0);
        self.with(handle, |node| node.child = copy)?;
        Ok(handle)
    }

    /// User objects that it holds.
    pub fn held(&self) -> MutexGuard<'_, Vec<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of a clone: its node for a node of the original.
    pub fn clone_of(&self, original: usize) -> Option<usize> {
        let origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.get(&original).copied().filter(|n| self.with(*n, |_| ()).is_ok())
    }

    /// Calls `change` with a node.
    pub fn with<R>(&self, handle: usize, change: impl FnOnce(&mut Node) -> R) -> Result<R> {
        let mut nodes = self.nodes();
        nodes.iter_mut().find(|n| n.handle == handle).map(change).ok_or(Error::InvalidValue)
    }

    /// Removes a node and the edges at it.
    pub fn remove(&self, handle: usize) -> Result {
        let mut nodes = self.nodes();
        let at = nodes.iter().position(|n| n.handle == handle).ok_or(Error::InvalidValue)?;
        if nodes[at].work.is_memory() {
            return Err(Error::NotSupported);
        }
        let gone = nodes.remove(at);
        drop_child(gone.child);
        nodes.iter_mut().for_each(|n| n.after.retain(|h| *h != handle));
        NODES.remove(handle);
        Ok(())
    }

    /// Whether `node` is one of `ends` or before one of them.
    pub fn reaches(&self, node: usize, ends: &[usize]) -> bool {
        let nodes = self.nodes();
        let mut seen: HashSet<usize> = HashSet::new();
        let mut todo = ends.to_vec();
        while let Some(h) = todo.pop() {
            if h == node {
                return true;
            }
            if seen.insert(h) {
                todo.extend(nodes.iter().filter(|n| n.handle == h).flat_map(|n| n.after.clone()));
            }
        }
        false
    }

    /// A copy, and which of its nodes stands for which.
    pub fn copy(&self) -> (Arc<Graph>, HashMap<usize, usize>) {
        let copy = Arc::new(Graph::default());
        let mut names = HashMap::new();
        for node in self.nodes().iter() {
            names.insert(node.handle, NODES.add(Arc::new(Arc::downgrade(&copy))));
        }
        for node in self.nodes().iter() {
            let after = node.after.iter().filter_map(|h| names.get(h).copied()).collect();
            let mut clone = Node::new(names[&node.handle], node.work.clone(), after);
            if let Some(child) = GRAPHS.get(node.child) {
                clone.child = GRAPHS.add(child.copy().0);
            }
            copy.nodes().push(clone);
        }
        *copy.held() = self.held().clone();
        *copy.origins.lock().unwrap_or_else(PoisonError::into_inner) = names.clone();
        (copy, names)
    }

    /// The nodes in an order that keeps their dependencies.
    fn order(&self) -> Result<Vec<Node>> {
        let mut left = self.nodes().clone();
        let mut done: HashSet<usize> = HashSet::new();
        let mut order = Vec::new();
        while !left.is_empty() {
            let (now, later): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|n| n.after.iter().all(|h| done.contains(h)));
            if now.is_empty() {
                // A cycle.
                return Err(Error::InvalidValue);
            }
            done.extend(now.iter().map(|n| n.handle));
            order.extend(now);
            left = later;
        }
        for node in order.iter_mut().filter(|n| n.child != 0) {
            let child = GRAPHS.get(node.child).ok_or(Error::InvalidValue)?;
            node.work = Work::Graph(Arc::new(Exec::new(&child, 0)?.works()));
        }
        Ok(order)
    }

    /// Forgets its nodes: their handles end, and what they hold.
    pub fn clear(&self) {
        let nodes = std::mem::take(&mut *self.nodes());
        for node in nodes {
            NODES.remove(node.handle);
            drop_child(node.child);
        }
        let held = std::mem::take(&mut *self.held());
        // What the program's functions do may come back here.
        drop(held);
    }
}

/// A graph that was captured in part, and whose capture or context ended, has no handle that is destroyed.
impl Drop for Graph {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Ends the graph of a child graph node.
fn drop_child(handle: usize) {
    if let Some(child) = GRAPHS.remove(handle) {
        child.clear();
    }
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
pub const AUTO_FREE: u64 = 1;

/// An instantiated graph.
pub struct Exec {
    steps: Mutex<Vec<Node>>,
    disabled: Mutex<HashSet<usize>>,
    held: Arc<Vec<Held>>,
    /// Flags it was made with.
    pub flags: u64,
}

impl Exec {
    /// Fixes a graph's nodes and order.
    pub fn new(graph: &Graph, flags: u64) -> Result<Exec> {
        let (steps, held) = (Mutex::new(graph.order()?), Arc::new(graph.held().clone()));
        Ok(Exec { steps, disabled: Mutex::default(), held, flags })
    }

    /// Calls `change` with a node.
    pub fn with<R>(&self, handle: usize, change: impl FnOnce(&mut Node) -> R) -> Result<R> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.iter_mut().find(|n| n.handle == handle).map(change).ok_or(Error::InvalidValue)
    }

    /// Switches a node off or on.
    pub fn enable(&self, handle: usize, on: bool) -> Result {
        if self.with(handle, |node| node.work.is_memory())? {
            return Err(Error::InvalidValue);
        }
        let mut disabled = self.disabled.lock().unwrap_or_else(PoisonError::into_inner);
        if on {
            disabled.remove(&handle);
        } else {
            disabled.insert(handle);
        }
        Ok(())
    }

    /// Whether a node is on.
    pub fn enabled(&self, handle: usize) -> Result<bool> {
        self.with(handle, |_| ())?;
        let disabled = self.disabled.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(!disabled.contains(&handle))
    }

    /// Takes over the work of a graph of the same shape.
    pub fn update(&self, graph: &Graph) -> Result {
        graph.has_no_memory()?;
        let order = graph.order()?;
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let same = order.len() == steps.len()
            && order.iter().zip(&*steps).all(|(a, b)| {
                a.work.node_type() == b.work.node_type() && a.after.len() == b.after.len()
            });
        if !same {
            return Err(Error::GraphExecUpdateFailure);
        }
        for (step, new) in steps.iter_mut().zip(order) {
            step.work = new.work;
        }
        Ok(())
    }

    /// What a launch does, in order, that is queued next or becomes part of a capture. It fails where memory is still
    /// there that it would allocate; captures take no such launch, as it would be a child graph.
    pub fn launch(&self, captured: bool) -> Result<Vec<Work>> {
        let works = self.works();
        let memory = |freed: bool| {
            let one = move |work: &Work| match work {
                Work::Allocate(m) if !freed => Some(Arc::clone(m)),
                Work::Deallocate(m) if freed => Some(Arc::clone(m)),
                _ => None,
            };
            works.iter().filter_map(one).collect::<Vec<_>>()
        };
        let (allocated, freed) = (memory(false), memory(true));
        if allocated.is_empty() {
            return Ok(works);
        }
        if captured {
            return Err(Error::NotSupported);
        }
        let left = graph_memory::launch(&allocated, &freed, self.flags & AUTO_FREE != 0)?;
        Ok(left.into_iter().map(Work::Deallocate).chain(works).collect())
    }

    /// Its nodes' work, in order.
    fn works(&self) -> Vec<Work> {
        let disabled = self.disabled.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let on = steps.iter().filter(|n| !disabled.contains(&n.handle));
        let mut works: Vec<Work> = on.map(|n| n.work.clone()).collect();
        if !self.held.is_empty() {
            works.push(Work::Hold(Arc::clone(&self.held)));
        }
        works
    }
}
