//! Maps of what events are about. They are asked several times a lane, so that the hash must be cheap. A kernel that
//! picks numbers which meet in it makes its own check slow, and might as well compute for ever.

use std::hash::{BuildHasherDefault, Hasher};

/// A map with cheap hashes, in the same order in every run.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Mix>>;

/// Both halves of a product, over and over.
#[derive(Default, Clone, Copy)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }
    fn write_u64(&mut self, n: u64) {
        let product = u128::from(self.0 ^ n ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_lie_apart() {
        let of = |n: u32| {
            let mut mix = Mix::default();
            mix.write_u32(n);
            mix.finish()
        };
        // Tables take the lowest and the highest bits.
        let low: std::collections::HashSet<u64> = (0..1000).map(|n| of(n) & 0xffff).collect();
        let high: std::collections::HashSet<u64> = (0..1000).map(|n| of(n * 256) >> 48).collect();
        assert!(low.len() > 950 && high.len() > 950, "{} {}", low.len(), high.len());
    }
}
