//! Bytes that go into objects and out of them, by commands and mappings. These moves go past the engine's memory, whose
//! watchers (the checkers) are therefore told of each.

use ptx_runtime::MemoryEvent;

use crate::cl;
use crate::memory::Mem;
use crate::region::{self, Rows};
use c_border::Raw;

impl Mem {
    /// Takes bytes of the host.
    pub fn put(&self, to: Rows, from: Rows, region: [usize; 3]) {
        self.tell_written(to, region);
        region::copy(to, from, region);
    }

    /// Gives the host bytes.
    pub fn give(&self, from: Rows, to: Rows, region: [usize; 3]) {
        // What kernels write to images is not followed.
        if self.image.is_none() {
            self.ranges(from, region, |address, bytes| MemoryEvent::Read { address, bytes });
        }
        region::copy(to, from, region);
    }

    /// Takes bytes of an object.
    pub fn put_from(&self, to: Rows, other: &Mem, from: Rows, region: [usize; 3]) {
        let [width, height, depth] = region;
        if other.image.is_some() {
            self.tell_written(to, region);
        } else {
            for (y, z) in (0..depth).flat_map(|z| (0..height).map(move |y| (y, z))) {
                let at = |mem: &Mem, r: Rows| mem.at(r.start.offset(z * r.slice + y * r.row));
                let (to, from) = (at(self, to), at(other, from));
                self.tell(MemoryEvent::Copied { to, from, bytes: width as u64 });
            }
        }
        region::copy(to, from, region);
    }

    /// Repeats a pattern over rows.
    pub fn fill(&self, to: Rows, pattern: &[u8], region: [usize; 3]) {
        self.tell_written(to, region);
        let [width, height, depth] = region;
        for (y, z) in (0..depth).flat_map(|z| (0..height).map(move |y| (y, z))) {
            let row = to.start.offset(z * to.slice + y * to.row);
            row.fill(pattern, width / pattern.len().max(1));
        }
    }

    /// The host gets a pointer to a range, with flags of a mapping: what it writes there is not seen.
    pub fn is_mapped(&self, offset: usize, bytes: usize, flags: u64) {
        let (address, bytes) = (self.address + offset as u64, bytes as u64);
        if flags & (cl::MAP_WRITE | cl::MAP_WRITE_INVALIDATE_REGION) != 0 {
            self.tell(MemoryEvent::Written { address, bytes });
        } else if self.image.is_none() {
            self.tell(MemoryEvent::Read { address, bytes });
        }
    }

    /// From now on somebody may write it whom nobody sees.
    pub fn counts_as_written(&self) {
        self.tell(MemoryEvent::Written { address: self.address, bytes: self.size as u64 });
    }

    fn tell_written(&self, to: Rows, region: [usize; 3]) {
        self.ranges(to, region, |address, bytes| MemoryEvent::Written { address, bytes });
    }

    /// Tells of each range that rows of this object cover.
    fn ranges(
        &self,
        rows: Rows,
        [width, height, depth]: [usize; 3],
        event: impl Fn(u64, u64) -> MemoryEvent<'static>,
    ) {
        let solid = rows.row == width && (rows.slice == width * height || depth == 1);
        if solid {
            return self.tell(event(self.at(rows.start), (width * height * depth) as u64));
        }
        for (y, z) in (0..depth).flat_map(|z| (0..height).map(move |y| (y, z))) {
            let row = rows.start.offset(z * rows.slice + y * rows.row);
            self.tell(event(self.at(row), width as u64));
        }
    }

    /// The device's address of a byte.
    fn at(&self, byte: Raw) -> u64 {
        self.address + byte.address().wrapping_sub(self.host.address()) as u64
    }

    fn tell(&self, event: MemoryEvent<'_>) {
        self.context.machine.memory().tell(event);
    }
}
