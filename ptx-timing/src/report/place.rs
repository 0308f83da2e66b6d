//! Lines of the PTX text.

/// Line numbers by byte offset.
pub(super) struct Lines(Vec<u32>);

impl Lines {
    /// Of a text.
    pub fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Self(newlines.map(|(i, _)| i as u32).collect())
    }

    /// The line of a byte, from 1.
    pub fn of(&self, byte: u32) -> u32 {
        self.0.partition_point(|newline| *newline < byte) as u32 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_count_from_one() {
        let lines = Lines::new("ab\nc\n\nd");
        assert_eq!([0, 2, 3, 5, 6].map(|b| lines.of(b)), [1, 1, 2, 3, 4]);
    }
}
