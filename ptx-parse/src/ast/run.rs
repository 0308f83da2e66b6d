//! Ranges in the pools of a tree.

/// A range of elements in one of the pools. Empty ones are equal, wherever they would begin: a list that is left out is
/// an empty one.
#[derive(Copy, Clone, Eq, Debug, Default)]
pub struct Run {
    /// Index of the first element.
    pub first: u32,
    /// Number of elements.
    pub count: u32,
}

impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        self.count == other.count && (self.count == 0 || self.first == other.first)
    }
}

impl Run {
    /// The range as indices.
    pub fn range(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}
