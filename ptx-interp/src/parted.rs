//! Branches whose sides are short: lanes go each their way and meet without splits.
//!
//! A split that becomes two and meets again costs as much as a dozen instructions. Where each side of a branch is at
//! most one basic block of computations, loads and stores that ends where the lanes meet, nothing else can happen
//! before they do: the sides run one after the other, in the order of splits, under the mask of their lanes.

use crate::code::{Inst, Step};
use crate::exec::Running;

/// Most instructions of a side: what comes to more costs more than its splits.
const SHORT: usize = 64;

/// Marks the short branches of the code from `entry` on.
pub(crate) fn mark(code: &mut [Inst], entry: usize) {
    for at in entry..code.len() {
        let i = &code[at];
        if i.step == Step::Branch {
            let meet = i.args[1].0;
            let through = |side: u32| side == meet || is_straight(code, side, meet);
            code[at].short = through(i.dst.0) && through(i.k);
        }
    }
}

/// Whether the code at `from` goes straight to `meet`.
fn is_straight(code: &[Inst], from: u32, meet: u32) -> bool {
    let plain = |i: &Inst| matches!(i.step, Step::Pure | Step::Mem | Step::Guard | Step::EndGuard);
    let side = code.get(from as usize..).unwrap_or(&[]);
    let end = side.iter().take(SHORT).find(|i| !plain(i));
    end.is_some_and(|i| i.step == Step::Jump && i.k == meet)
}

/// Lanes of a split that a short branch has parted.
#[derive(Copy, Clone)]
pub(crate) struct Parted {
    /// The split as it came to the branch.
    whole: Running,
    /// The lanes that the branch is taken by.
    taken: u32,
    target: u32,
    other: u32,
    meet: u32,
    /// Whether only the lanes that the branch is taken by are under way.
    last: bool,
}

impl Parted {
    /// Parts the lanes of `whole` by the short branch `i`: `taken` take it, others do not.
    pub(crate) fn at(whole: Running, i: &Inst, taken: u32) -> Parted {
        let (target, other, meet) = (i.dst.0, i.k, i.args[1].0);
        Parted { whole, taken, target, other, meet, last: other == meet }
    }

    /// The side that runs first.
    pub(crate) fn first(&mut self) -> Running {
        if self.last {
            self.side(self.taken, self.target)
        } else {
            self.side(!self.taken, self.other)
        }
    }

    /// The side that runs now that one has come to the end, if there is another.
    pub(crate) fn second(&mut self) -> Option<Running> {
        if self.last || self.target == self.meet {
            return None;
        }
        self.last = true;
        Some(self.side(self.taken, self.target))
    }

    fn side(&self, lanes: u32, pc: u32) -> Running {
        let lanes = self.whole.lanes & lanes;
        Running {
            pc,
            join_pc: self.meet,
            turn: (0, u32::MAX),
            lanes,
            everyone: lanes,
            mask: lanes,
            write: lanes,
        }
    }

    /// The split where its lanes meet.
    pub(crate) fn together(self) -> Running {
        Running { pc: self.meet, ..self.whole }
    }
}
