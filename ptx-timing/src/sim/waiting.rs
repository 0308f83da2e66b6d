//! Lines of stores that wait to leave an SM.

use std::collections::VecDeque;

use super::shape::Part;

/// A line of stores on its way out of an SM. What is stored to it before it leaves goes along.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub line: u64,
    pub part: Part,
    pub leaves: u64,
}

/// Those that wait, the oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    /// Their lines, which every store looks through, lie together.
    lines: VecDeque<u64>,
    others: VecDeque<(Part, u64)>,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn push(&mut self, waiting: Waiting) {
        self.lines.push_back(waiting.line);
        self.others.push_back((waiting.part, waiting.leaves));
    }

    /// What waits of a line.
    pub fn find(&mut self, line: u64) -> Option<&mut Part> {
        let (first, second) = self.lines.as_slices();
        let at = |lines: &[u64]| lines.iter().position(|other| *other == line);
        let found = at(first).or_else(|| Some(first.len() + at(second)?))?;
        self.others.get_mut(found).map(|(part, _)| part)
    }

    /// Takes the oldest one out, if it leaves by what a function says of its clock.
    pub fn pop_if(&mut self, leaves: impl FnOnce(u64) -> bool) -> Option<Waiting> {
        let (part, at) = self.others.pop_front_if(|(_, at)| leaves(*at))?;
        let line = self.lines.pop_front()?;
        Some(Waiting { line, part, leaves: at })
    }
}
