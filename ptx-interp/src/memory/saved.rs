//! What allocations held before a launch, so that it can be taken back.

use super::Memory;

/// Copies of allocations, and room for more.
#[derive(Default)]
pub struct Saved {
    kept: Vec<(u64, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

/// Bytes of copies for which room is kept when they are no longer needed.
const KEPT: usize = 64 << 20;

impl Saved {
    /// Forgets the copies.
    pub fn forget(&mut self) {
        self.spare.extend(self.kept.drain(..).map(|(_, bytes)| bytes));
        let mut room = KEPT;
        self.spare.retain(|bytes| {
            let fits = bytes.capacity() <= room;
            room -= if fits { bytes.capacity() } else { 0 };
            fits
        });
    }

    /// A buffer for so many bytes.
    fn buffer(&mut self, bytes: usize) -> Vec<u8> {
        let fits = |b: &Vec<u8>| b.capacity() >= bytes && b.capacity() / 2 <= bytes.max(4096);
        let mut buffer = match self.spare.iter().position(fits) {
            Some(n) => self.spare.swap_remove(n),
            None => Vec::new(),
        };
        buffer.clear();
        buffer.reserve_exact(bytes);
        buffer
    }
}

impl Memory {
    /// Copies the allocation that starts at `start`, unless there is a copy; whether there is one now. Nobody is told.
    /// There is none of memory that the host lends, which the host may change at any time.
    pub fn save(&self, start: u64, saved: &mut Saved) -> bool {
        if saved.kept.iter().any(|(at, _)| *at == start) {
            return true;
        }
        let Some(a) = self.find(start).filter(|a| a.start == start && !a.lent) else {
            return false;
        };
        let (Ok(bytes), Ok(from)) = (usize::try_from(a.size), self.host(start, a.size)) else {
            return false;
        };
        let mut buffer = saved.buffer(bytes);
        // SAFETY: `host` found so many bytes readable, and there is room for them in the buffer, whose first bytes are
        // set by then.
        unsafe {
            std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), bytes);
            buffer.set_len(bytes);
        }
        saved.kept.push((start, buffer));
        true
    }

    /// Puts back what was saved, and forgets it. Nobody is told.
    pub fn take_back(&self, saved: &mut Saved) {
        for (start, bytes) in &saved.kept {
            if let Ok(to) = self.host(*start, bytes.len() as u64) {
                // SAFETY: `host` found so many bytes writable; the copy lies elsewhere.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
            }
        }
        saved.forget();
    }
}
