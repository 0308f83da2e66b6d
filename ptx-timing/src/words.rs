//! The words of memory that an instruction has come across.

/// A set of addresses of words that costs little to make empty: this is asked for each element of a matrix.
pub(crate) struct Words {
    /// Address by a hash of it, or by the next free place; each with the round in which it came.
    table: Vec<(u64, u64)>,
    round: u64,
    count: usize,
    latest: Option<u64>,
}

/// Places at first: twice the elements of most matrices.
const PLACES: usize = 1 << 10;

impl Words {
    /// No words.
    pub fn new() -> Self {
        Self { table: Vec::new(), round: 1, count: 0, latest: None }
    }

    /// Takes all words out.
    pub fn clear(&mut self) {
        (self.count, self.latest) = (0, None);
        self.round += 1;
    }

    /// Adds a word; whether it was not there.
    pub fn insert(&mut self, word: u64) -> bool {
        // Both halves of a word mostly come one after the other.
        if self.latest.replace(word) == Some(word) {
            return false;
        }
        if self.table.len() < 2 * (self.count + 1) {
            self.grow();
        }
        let at = self.place(word);
        let new = self.table[at] != (word, self.round);
        self.table[at] = (word, self.round);
        self.count += usize::from(new);
        new
    }

    /// Where a word is, or goes.
    fn place(&self, word: u64) -> usize {
        let hash = (word / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        while self.table[at].1 == self.round && self.table[at].0 != word {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let places = PLACES.max(2 * self.table.len());
        let old = std::mem::replace(&mut self.table, vec![(0, 0); places]);
        for (word, round) in old.into_iter().filter(|entry| entry.1 == self.round) {
            let at = self.place(word);
            self.table[at] = (word, round);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_new_once_in_each_round() {
        let mut words = Words::new();
        for _ in 0..3 {
            for word in (0..8000).step_by(4) {
                assert!(words.insert(word));
                assert!(!words.insert(word));
            }
            assert!((0..8000).step_by(4).all(|word| !words.insert(word)));
            words.clear();
        }
    }
}
