//! Graphs: nodes of work with dependencies, and what is launched of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::work::Work;

/// All graphs.
pub static GRAPHS: Handles<Graph> = Handles::new(10);
/// All instantiated graphs.
pub static EXECS: Handles<Exec> = Handles::new(11);
/// Where the nodes of all graphs are.
pub static NODES: Handles<Graph> = Handles::new(12);

/// A node.
#[derive(Clone)]
pub struct Node {
    /// Its handle.
    pub handle: usize,
    /// What it does.
    pub work: Work,
    /// Handles of the nodes before it.
    pub after: Vec<usize>,
}

/// A graph.
#[derive(Default)]
pub struct Graph {
    nodes: Mutex<Vec<Node>>,
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
        let handle = NODES.add(Arc::clone(self));
        nodes.push(Node { handle, work, after: after.to_vec() });
        Ok(handle)
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
        nodes.remove(at);
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
            names.insert(node.handle, NODES.add(Arc::clone(&copy)));
        }
        for node in self.nodes().iter() {
            let after = node.after.iter().filter_map(|h| names.get(h).copied()).collect();
            copy.nodes().push(Node { handle: names[&node.handle], work: node.work.clone(), after });
        }
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
        Ok(order)
    }

    /// Forgets its nodes: their handles end, and with them what keeps the graph.
    pub fn clear(&self) {
        let nodes = std::mem::take(&mut *self.nodes());
        for node in nodes {
            NODES.remove(node.handle);
        }
    }
}

/// An instantiated graph.
pub struct Exec {
    steps: Mutex<Vec<Node>>,
    disabled: Mutex<HashSet<usize>>,
    /// Flags it was made with.
    pub flags: u64,
}

impl Exec {
    /// Fixes a graph's nodes and order.
    pub fn new(graph: &Graph, flags: u64) -> Result<Exec> {
        Ok(Exec { steps: Mutex::new(graph.order()?), disabled: Mutex::default(), flags })
    }

    /// Calls `change` with a node.
    pub fn with<R>(&self, handle: usize, change: impl FnOnce(&mut Node) -> R) -> Result<R> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.iter_mut().find(|n| n.handle == handle).map(change).ok_or(Error::InvalidValue)
    }

    /// Switches a node off or on.
    pub fn enable(&self, handle: usize, on: bool) -> Result {
        self.with(handle, |_| ())?;
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

    /// What a launch does, in order.
    pub fn works(&self) -> Vec<Work> {
        let disabled = self.disabled.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let on = steps.iter().filter(|n| !disabled.contains(&n.handle));
        on.map(|n| n.work.clone()).collect()
    }
}
