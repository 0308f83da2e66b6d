//! Choices from the bytes of an input.

/// The bytes that are left.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next byte.
    pub fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
    /// The next byte, zero behind the end.
    pub fn byte(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }
    /// A number below `n`, which is at most 65,536.
    pub fn below(&mut self, n: usize) -> usize {
        if n <= 1 {
            return 0;
        }
        let mut value = usize::from(self.byte());
        if n > 256 {
            value = value << 8 | usize::from(self.byte());
        }
        value % n
    }
    /// One of a list, which is not empty.
    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }
    /// Eight bytes.
    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }
}
