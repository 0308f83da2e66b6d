//! Every answer against its definition, on all graphs of up to four nodes and on many larger ones.

use flow::{BitSet, Dominators, Graph, Nest, Node, live_in, live_out, loops, post_dominators};

/// A generator of numbers that look random, the same in every run (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// Calls `look` with all graphs of up to `most` nodes without two edges of the same ends, then with random ones.
fn graphs(most: usize, mut look: impl FnMut(&Graph)) {
    for nodes in 1..=most {
        for edges in 0u64..1 << (nodes * nodes) {
            look(&Graph::new(nodes, |from| {
                let has = move |to: &Node| edges >> (from as usize * nodes + *to as usize) & 1 != 0;
                (0..nodes as Node).filter(has)
            }));
        }
    }
    let mut random = Random(1);
    for round in 0..2000 {
        let nodes = 1 + random.below(24);
        let most = 1 + round % 4;
        look(&Graph::new(nodes as usize, |_| {
            let edges = random.below(most + 1);
            (0..edges).map(|_| random.below(nodes) as Node).collect::<Vec<_>>()
        }));
    }
}

/// The nodes that a way from `from` reaches without `without`.
fn reached(graph: &Graph, from: Node, without: Option<Node>) -> Vec<bool> {
    let mut seen = vec![false; graph.len()];
    let mut work = vec![from];
    while let Some(n) = work.pop() {
        if Some(n) != without && !std::mem::replace(&mut seen[n as usize], true) {
            work.extend(graph.successors(n));
        }
    }
    seen
}

/// Whether `a` dominates `b`: without `a`, the root does not reach `b`.
fn dominates(graph: &Graph, root: Node, a: Node, b: Node) -> bool {
    let all = reached(graph, root, None);
    all[a as usize] && all[b as usize] && !reached(graph, root, Some(a))[b as usize]
}

/// Of the nodes that strictly dominate `b`, the one that all others dominate.
fn nearest(n: usize, b: Node, dominates: &dyn Fn(Node, Node) -> bool) -> Option<Node> {
    let strict: Vec<Node> = (0..n as Node).filter(|a| *a != b && dominates(*a, b)).collect();
    strict.iter().copied().find(|a| strict.iter().all(|c| dominates(*c, *a)))
}

#[test]
fn predecessors_are_successors_turned_round() {
    graphs(3, |graph| {
        for a in 0..graph.len() as Node {
            for b in 0..graph.len() as Node {
                let forth = graph.successors(a).iter().filter(|n| **n == b).count();
                let back = graph.predecessors(b).iter().filter(|n| **n == a).count();
                assert_eq!(forth, back, "{graph:?}: {a} to {b}");
            }
        }
        assert!((0..graph.len() as Node).all(|n| graph.predecessors(n).is_sorted()), "{graph:?}");
    });
}

#[test]
fn orders_hold_what_is_reached_and_children_after_parents() {
    graphs(4, |graph| {
        let seen = reached(graph, 0, None);
        let set = graph.reachable(0);
        let order = graph.reverse_postorder(0);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let all: Vec<Node> = (0..graph.len() as Node).filter(|n| seen[*n as usize]).collect();
        assert_eq!(sorted, all, "{graph:?}");
        assert_eq!(set.ones().map(|n| n as Node).collect::<Vec<_>>(), all, "{graph:?}");
        // An edge leads back in the order only if a circle holds it.
        let place = |n: Node| order.iter().position(|o| *o == n);
        for &a in &order {
            for &b in graph.successors(a) {
                let back = place(b) <= place(a);
                assert!(!back || reached(graph, b, None)[a as usize], "{graph:?}: {a} to {b}");
            }
        }
    });
}

#[test]
fn the_last_successor_follows_its_node() {
    let graph = Graph::new(4, |n| [vec![1, 2], vec![3], vec![3], vec![]][n as usize].clone());
    assert_eq!(graph.reverse_postorder(0), [0, 2, 1, 3]);
}

#[test]
fn dominators_are_what_every_way_passes() {
    graphs(4, |graph| {
        let found = Dominators::new(graph, 0);
        let seen = reached(graph, 0, None);
        let cut: Vec<Vec<bool>> =
            (0..graph.len() as Node).map(|n| reached(graph, 0, Some(n))).collect();
        let naive =
            |a: Node, b: Node| seen[a as usize] && seen[b as usize] && !cut[a as usize][b as usize];
        for b in 0..graph.len() as Node {
            for a in 0..graph.len() as Node {
                assert_eq!(found.dominates(a, b), naive(a, b), "{graph:?}: {a} over {b}");
                let both = |c: Node| naive(c, a) && naive(c, b);
                let common = (0..graph.len() as Node).find(|c| {
                    both(*c) && (0..graph.len() as Node).all(|d| !both(d) || naive(d, *c))
                });
                assert_eq!(found.common(a, b), common, "{graph:?}: {a} and {b}");
            }
            let up = nearest(graph.len(), b, &naive);
            assert_eq!(found.immediate(b), up, "{graph:?}: {b}");
            assert_eq!(found.position(b).is_some(), seen[b as usize]);
        }
        let walk = found.walk();
        for (at, &(up, end)) in walk.iter().enumerate() {
            let below = |n: usize| found.dominates(up, walk[n].0);
            assert!((0..walk.len()).all(|n| below(n) == (at..end).contains(&n)), "{graph:?}: {up}");
        }
        let mut walked: Vec<Node> = walk.iter().map(|w| w.0).collect();
        let mut order = found.order().to_vec();
        walked.sort_unstable();
        order.sort_unstable();
        assert_eq!(walked, order, "{graph:?}");
    });
}

#[test]
fn post_dominators_are_what_every_way_to_the_end_passes() {
    let mut random = Random(7);
    graphs(3, |graph| {
        let n = graph.len();
        let chosen = random.below(1 << n.min(30));
        let ends = |node: Node| chosen >> node & 1 != 0 || graph.successors(node).is_empty();
        let found = post_dominators(graph, ends);
        // The same graph with an end, turned round.
        let turned = Graph::new(n + 1, |to| {
            let own = (0..n as Node).filter(move |from| {
                let leads = to as usize != n && graph.successors(*from).contains(&to);
                leads || to as usize == n && ends(*from)
            });
            own.collect::<Vec<_>>()
        });
        for b in 0..n as Node {
            let over = |a: Node, b: Node| dominates(&turned, n as Node, a, b);
            let up = nearest(n + 1, b, &over).filter(|a| *a != n as Node);
            assert_eq!(found[b as usize], up, "{graph:?} with ends {chosen:b}: {b}");
        }
    });
}

#[test]
fn loops_are_what_comes_back_to_a_header() {
    graphs(4, |graph| {
        let tree = Dominators::new(graph, 0);
        let found = loops(graph, &tree);
        let n = graph.len() as Node;
        let mut headers = Vec::new();
        for h in 0..n {
            let back = |p: Node| graph.successors(p).contains(&h) && tree.dominates(h, p);
            let edges = |p: &Node| graph.successors(*p).iter().filter(|s| **s == h).count();
            let latches: Vec<Node> = (0..n)
                .filter(|p| back(*p))
                .flat_map(|p| std::iter::repeat_n(p, edges(&p)))
                .collect();
            if latches.is_empty() {
                continue;
            }
            headers.push(h);
            let own = found.iter().find(|l| l.header == h).expect("a loop of the header");
            assert_eq!(own.latches, latches, "{graph:?}: {h}");
            assert_eq!(own.nodes[0], h, "{graph:?}: {h}");
            // In the loop is what comes to a latch without the header in between.
            for node in 0..n {
                let inside = node == h
                    || tree.position(node).is_some()
                        && latches
                            .iter()
                            .any(|l| *l != h && reached(graph, node, Some(h))[*l as usize]);
                assert_eq!(own.nodes.contains(&node), inside, "{graph:?}: {node} in {h}");
            }
            assert!(own.nodes.is_sorted_by_key(|n| tree.position(*n)), "{graph:?}: {h}");
        }
        assert_eq!(found.len(), headers.len(), "{graph:?}");
        assert!(found.is_sorted_by_key(|l| tree.position(l.header)), "{graph:?}");
    });
}

#[test]
fn a_nest_has_the_loops_and_which_are_around() {
    graphs(4, |graph| {
        let dominators = Dominators::new(graph, 0);
        let nest = Nest::new(graph, &dominators);
        let mut listed = loops(graph, &dominators);
        // As in the nest: inner ones first.
        listed.reverse();
        let headers: Vec<Node> = nest.loops.iter().map(|l| l.header).collect();
        assert_eq!(headers, listed.iter().map(|l| l.header).collect::<Vec<_>>());
        let innermost = |node: Node, from: usize| {
            (from..listed.len()).find(|n| listed[*n].nodes.contains(&node))
        };
        for node in 0..graph.len() as Node {
            assert_eq!(nest.home[node as usize], innermost(node, 0), "{graph:?} {node}");
        }
        for (n, l) in nest.loops.iter().enumerate() {
            assert_eq!(l.around, innermost(l.header, n + 1), "{graph:?} {n}");
        }
    });
}

#[test]
fn values_live_where_a_way_reads_them_first() {
    const VALUES: usize = 70;
    let mut random = Random(3);
    graphs(3, |graph| {
        let n = graph.len();
        let mut sets = |most: u64| -> Vec<BitSet> {
            (0..n)
                .map(|_| {
                    let mut set = BitSet::with_capacity(VALUES);
                    (0..random.below(most)).for_each(|_| {
                        set.insert(random.below(VALUES as u64) as usize);
                    });
                    set
                })
                .collect()
        };
        let (reads, writes) = (sets(6), sets(30));
        let found = live_in(graph, reads.clone(), &writes);
        for value in 0..VALUES {
            for start in 0..n as Node {
                // A walk that ends where the value is written.
                let mut seen = vec![false; n];
                let mut work = vec![start];
                let mut lives = false;
                while let Some(at) = work.pop() {
                    lives |= reads[at as usize].contains(value);
                    if !std::mem::replace(&mut seen[at as usize], true)
                        && !writes[at as usize].contains(value)
                    {
                        work.extend(graph.successors(at));
                    }
                }
                assert_eq!(found[start as usize].contains(value), lives, "{graph:?}: {start}");
            }
        }
        for node in 0..n as Node {
            let out = live_out(graph, &found, node);
            let some =
                |v: usize| graph.successors(node).iter().any(|s| found[*s as usize].contains(v));
            assert!((0..VALUES).all(|v| out.contains(v) == some(v)), "{graph:?}: {node}");
        }
    });
}

/// A chain and a ladder of a hundred thousand nodes, and as many loops in loops: no recursion, no quadratic walk.
#[test]
fn large_graphs_are_quick() {
    let n = 100_000u32;
    let graph = Graph::new(n as usize, |i| {
        [Some((i + 1) % n), (i % 2 == 0 && i + 2 < n).then_some(i + 2)].into_iter().flatten()
    });
    let tree = Dominators::new(&graph, 0);
    assert!(tree.dominates(0, n - 1) && tree.dominates(n - 2, n - 1) && !tree.dominates(1, 2));
    let all = loops(&graph, &tree);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].nodes.len(), n as usize);
    assert_eq!(post_dominators(&graph, |i| i == n - 1)[0], Some(2));
    let nested = Graph::new(2 * n as usize, |i| {
        [(i + 1 < 2 * n).then_some(i + 1), (i >= n).then(|| 2 * n - 1 - i)].into_iter().flatten()
    });
    let nest = Nest::new(&nested, &Dominators::new(&nested, 0));
    assert_eq!(nest.loops.len(), n as usize);
    assert_eq!(nest.home[n as usize - 1], Some(0));
}
