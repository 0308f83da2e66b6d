//! How many words of registers an order of a block's instructions keeps alive.

use crate::event::{Code, Instruction, Register};
use crate::live;
use ptx_isa::Class;

/// The size of each register in 32-bit words. Arguments of the kernel are read as constants, and
/// predicates have registers of their own: both count as nothing.
#[derive(Debug)]
pub(crate) struct Sizes(Vec<u8>);

impl Sizes {
    pub fn new(code: &Code) -> Self {
        let mut sizes = code.words.clone();
        let mut made = vec![false; sizes.len()];
        let mut argument = vec![false; sizes.len()];
        for i in &code.instructions {
            let list = if i.class == Class::LoadParam { &mut argument } else { &mut made };
            for w in &i.writes {
                if let Some(flag) = list.get_mut(*w as usize) {
                    *flag = true;
                }
            }
        }
        for (size, (argument, made)) in sizes.iter_mut().zip(argument.into_iter().zip(made)) {
            if argument && !made {
                *size = 0;
            }
        }
        Self(sizes)
    }

    fn of(&self, register: Register) -> u32 {
        self.0.get(register as usize).map_or(1, |w| u32::from(*w))
    }

    fn sum(&self, live: &live::Set) -> u32 {
        live.iter().map(|r| self.of(r)).sum()
    }
}

/// What lives at a point of a block, going backwards.
#[derive(Debug, Clone)]
struct Point {
    live: live::Set,
    words: u32,
}

impl Point {
    /// Goes over an instruction; the most words that live around it.
    fn back(&mut self, i: &Instruction, sizes: &Sizes) -> u32 {
        // Results need a place even if nobody reads them.
        let dead: u32 =
            i.writes.iter().filter(|w| !self.live.contains(**w)).map(|w| sizes.of(*w)).sum();
        let most = self.words + dead;
        // A guarded write keeps the old value in the other lanes.
        if i.guard.is_none() {
            for &w in &i.writes {
                if self.live.contains(w) {
                    self.words -= sizes.of(w);
                    self.live.remove(w);
                }
            }
        }
        for &r in i.reads.iter().chain(&i.guard) {
            if !self.live.contains(r) {
                self.words += sizes.of(r);
                self.live.insert(r);
            }
        }
        most.max(self.words)
    }

    /// What going over an instruction would free.
    fn gain(&self, i: &Instruction, sizes: &Sizes) -> i64 {
        let sum = |all: i64, r: &Register, there: bool| {
            if self.live.contains(*r) == there { all + i64::from(sizes.of(*r)) } else { all }
        };
        let freed = match i.guard {
            None => i.writes.iter().fold(0, |all, w| sum(all, w, true)),
            Some(_) => 0,
        };
        freed - i.reads.iter().chain(&i.guard).fold(0, |all, r| sum(all, r, false))
    }
}

/// Instructions of a block, or of a piece of it, and what lives behind them.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub list: &'a [Instruction],
    pub end: live::Set,
}

impl Piece<'_> {
    /// The most words that live in an order.
    pub fn peak(&self, order: &[u32], sizes: &Sizes) -> u32 {
        let mut at = self.behind(sizes);
        let most = at.words;
        order.iter().rev().fold(most, |most, i| most.max(at.back(&self.list[*i as usize], sizes)))
    }

    fn behind(&self, sizes: &Sizes) -> Point {
        Point { live: self.end.clone(), words: sizes.sum(&self.end) }
    }

    /// An order that keeps few words alive: the text's, or one made from the end, which always takes the
    /// instruction that frees most, of several the one that the text has last. Also says how many live at
    /// most. `before` gives the instructions that each has to come behind.
    pub fn lean(&self, before: &[Vec<u32>], sizes: &Sizes) -> (Vec<u32>, u32) {
        let n = self.list.len();
        let mut behind = vec![0_u32; n];
        before.iter().flatten().for_each(|b| behind[*b as usize] += 1);
        let mut ready: Vec<usize> = (0..n).filter(|i| behind[*i] == 0).collect();
        let mut at = self.behind(sizes);
        let mut most = at.words;
        let mut order = Vec::with_capacity(n);
        while !ready.is_empty() {
            let best = (0..ready.len())
                .max_by_key(|&r| (at.gain(&self.list[ready[r]], sizes), ready[r]))
                .unwrap_or(0);
            let chosen = ready.swap_remove(best);
            most = most.max(at.back(&self.list[chosen], sizes));
            order.push(chosen as u32);
            for &b in &before[chosen] {
                behind[b as usize] -= 1;
                if behind[b as usize] == 0 {
                    ready.push(b as usize);
                }
            }
        }
        order.reverse();
        let text: Vec<u32> = (0..n as u32).collect();
        let own = self.peak(&text, sizes);
        if own <= most { (text, own) } else { (order, most) }
    }
}

/// The rest of a piece while an order is made from its start: instructions go ahead of others as far as
/// registers last.
pub(crate) struct Rest<'a> {
    piece: &'a Piece<'a>,
    sizes: &'a Sizes,
    most: u32,
    /// What is left, and what lives behind each.
    left: Vec<u32>,
    behind: Vec<Point>,
}

impl<'a> Rest<'a> {
    pub fn new(piece: &'a Piece<'a>, order: Vec<u32>, sizes: &'a Sizes, most: u32) -> Self {
        let mut at = piece.behind(sizes);
        let mut behind = Vec::with_capacity(order.len());
        for i in order.iter().rev() {
            behind.push(at.clone());
            at.back(&piece.list[*i as usize], sizes);
        }
        behind.reverse();
        Self { piece, sizes, most, left: order, behind }
    }

    /// The instruction that comes next if none goes ahead.
    pub fn next(&self) -> Option<u32> {
        self.left.first().copied()
    }

    /// Takes instructions as the next ones, in the order that they have, if registers last for that.
    pub fn take(&mut self, group: &[u32]) -> bool {
        let Some(last) = self.left.iter().rposition(|i| group.contains(i)) else { return false };
        let mut at = self.behind[last].clone();
        let (first, others): (Vec<u32>, Vec<u32>) =
            self.left[..=last].iter().partition(|i| group.contains(i));
        let mut points = Vec::with_capacity(others.len());
        let moves = !others.is_empty();
        for i in others.iter().rev() {
            points.push(at.clone());
            if at.back(&self.piece.list[*i as usize], self.sizes) > self.most {
                return false;
            }
        }
        for i in first.iter().rev() {
            if at.back(&self.piece.list[*i as usize], self.sizes) > self.most && moves {
                return false;
            }
        }
        self.left.splice(..=last, others);
        points.reverse();
        self.behind.splice(..=last, points);
        true
    }

    /// Whether an instruction frees as much as it takes, as the next one.
    pub fn frees(&self, instruction: u32) -> bool {
        let Some(place) = self.left.iter().position(|i| *i == instruction) else { return false };
        let last = |r: &Register| {
            let later = self.left.iter().filter(|i| **i != instruction);
            !self.piece.end.contains(*r)
                && !later.into_iter().any(|i| self.piece.list[*i as usize].reads.contains(r))
        };
        let i = &self.piece.list[self.left[place] as usize];
        let freed: u32 = i.reads.iter().filter(|r| last(r)).map(|r| self.sizes.of(*r)).sum();
        freed >= i.writes.iter().map(|w| self.sizes.of(*w)).sum()
    }
}
