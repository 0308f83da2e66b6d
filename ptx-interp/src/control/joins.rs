//! Which joins lanes have: the ones that they make where they part, and those of turns that they leave.

use std::ops::Range;

use super::{Join, Split, Warp};
use crate::code::{AT_RETURN, NONE, Turn};

impl Warp {
    /// The join that lanes of `split` have when they part to meet at `meet`: one there, made if it is not the innermost
    /// already, or their own one, if it is for a turn that they have left when they meet.
    pub(super) fn join_at(&mut self, split: &Split, meet: u32, turns: &[Turn]) -> u32 {
        let Some((pc, frame)) = self.place(split, meet) else { return split.join };
        // Joins of turns that end before.
        let (mut outer, mut inside) = (split.join, NONE);
        let returns = |w: &Self, join: u32| {
            meet == AT_RETURN && join != NONE && w.joins[join].frame == split.frame
        };
        while self.has_left(outer, frame, pc) || returns(self, outer) {
            (outer, inside) = (self.joins[outer].parent, outer);
        }
        if self.stands_at(outer, frame, pc) {
            return split.join;
        }
        let Range { start, end } = turns.first().map_or(0..NONE, |t| t.within.clone());
        let mut join =
            Join { pc, frame, members: split.mask, arrived: 0, parent: outer, start, end };
        if inside != NONE {
            join.members = self.joins[inside].members;
        } else if let Some((turn, around)) = turns.split_first()
            && let Some(out) = self.place(split, turn.out)
            && !self.joins(outer).any(|j| (j.pc, j.frame) == out)
        {
            // Lanes that leave the turn meet around it.
            join.parent = self.join_at(split, turn.out, around);
        }
        self.frames[frame].refs += 1;
        let made = self.joins.add(join);
        if inside == NONE {
            return made;
        }
        self.joins[inside].parent = made;
        split.join
    }

    /// Program counter and activation of a meeting point of `split`.
    fn place(&self, split: &Split, meet: u32) -> Option<(u32, u32)> {
        match meet {
            NONE => None,
            AT_RETURN => {
                let a = &self.frames[split.frame];
                Some((a.call_pc.wrapping_add(1), a.parent))
            }
            pc => Some((pc, split.frame)),
        }
    }

    /// Whether lanes at `pc` have left the turn that `join` is for.
    fn has_left(&self, join: u32, frame: u32, pc: u32) -> bool {
        join != NONE && {
            let j = &self.joins[join];
            j.frame == frame && !(j.start..j.end).contains(&pc)
        }
    }

    /// `lanes` at `pc` leave the joins of turns that they have left. The innermost join that is left to them.
    pub(super) fn leave_turns(&mut self, mut join: u32, lanes: u32, frame: u32, pc: u32) -> u32 {
        while self.has_left(join, frame, pc) {
            let parent = self.joins[join].parent;
            self.leave(join, lanes);
            join = parent;
        }
        join
    }
}
