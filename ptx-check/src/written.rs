//! Which bytes of a range of memory hold something.

use std::ops::Range;

use ptx_interp::observer::{Action, MemoryAccess};

/// A bit for each byte; bytes behind the end count as written.
#[derive(Clone)]
pub(crate) struct Written {
    bytes: u64,
    bits: Vec<u64>,
}

/// The words of bits that a range lies in, with which of their bits.
fn words(range: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    let (mut at, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (word, bit) = ((at / 64) as usize, at % 64);
            let n = (64 - bit).min(end - at);
            at += n;
            (word, u64::MAX >> (64 - n) << bit)
        })
    })
}

impl Written {
    pub(crate) fn new(bytes: u64) -> Written {
        Written { bytes, bits: vec![0; bytes.div_ceil(64) as usize] }
    }

    /// Whether all bytes of a range were written.
    pub(crate) fn all(&self, range: Range<u64>) -> bool {
        let range = range.start..range.end.min(self.bytes);
        words(range).all(|(word, mask)| self.bits[word] & mask == mask)
    }

    /// Marks a range.
    pub(crate) fn set(&mut self, range: Range<u64>, written: bool) {
        let range = range.start..range.end.min(self.bytes);
        for (word, mask) in words(range) {
            match written {
                true => self.bits[word] |= mask,
                false => self.bits[word] &= !mask,
            }
        }
    }

    /// An access whose lanes' addresses less `minus` lie in `range`: whether it reads written bytes only, or writes;
    /// what it writes is marked.
    pub(crate) fn move_all(&mut self, a: &MemoryAccess<'_>, minus: u64, range: Range<u64>) -> bool {
        let bytes = u64::from(a.bytes);
        let lanes = || {
            let all = a.addresses.iter().enumerate().filter(|(lane, _)| a.lanes >> lane & 1 != 0);
            all.map(|(_, address)| address.wrapping_sub(minus)).map(|at| at..at + bytes)
        };
        if a.action != Action::Write {
            // Together, where they lie close.
            let close = range.end - range.start <= 1024;
            return close && self.all(range) || lanes().all(|lane| self.all(lane));
        }
        let side_by_side = || {
            let all = a.addresses.windows(2).all(|two| two[1].wrapping_sub(two[0]) == bytes);
            all && a.lanes == u32::MAX
        };
        if side_by_side() {
            self.set(range, true);
        } else {
            lanes().for_each(|lane| self.set(lane, true));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_kept_by_byte() {
        let mut known = Written::new(200);
        known.set(60..130, true);
        assert!(known.all(60..130) && known.all(64..128) && !known.all(59..61));
        assert!(!known.all(129..131) && !known.all(0..200));
        known.set(100..101, false);
        assert!(!known.all(60..130) && known.all(101..130));
        known.set(0..1000, true);
        assert!(known.all(0..200) && known.all(190..500), "behind the end counts as written");
    }
}
