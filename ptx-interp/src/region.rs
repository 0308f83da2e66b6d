//! Host memory behind device memory: the reserved region, and what the process has mapped beside it.

/// Addresses that one allocation covers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u64,
    pub size: u64,
    pub writable: bool,
    /// Host address of device address 0.
    pub origin: usize,
}

impl Span {
    /// Covers no address.
    pub(crate) const NOTHING: Span = Span { start: 0, size: 0, writable: false, origin: 0 };

    /// Host pointer of device address 0; addresses inside may be added to it.
    pub(crate) fn origin(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.origin)
    }
}

/// What the process has mapped and may read, by address.
#[derive(Default)]
pub(crate) struct Mappings(Vec<Span>);

impl Mappings {
    #[cfg(target_os = "linux")]
    pub(crate) fn read() -> Mappings {
        let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut all: Vec<Span> = Vec::new();
        for line in text.lines() {
            // 7f0c2a000000-7f0c2a021000 rw-p 00000000 00:00 0
            let mut words = line.split(' ');
            let (Some(range), Some(mode)) = (words.next(), words.next()) else { continue };
            let Some((start, end)) = range.split_once('-') else { continue };
            let hex = |t| u64::from_str_radix(t, 16);
            let (Ok(start), Ok(end)) = (hex(start), hex(end)) else { continue };
            let writable = mode.as_bytes().get(1) == Some(&b'w');
            if !mode.starts_with('r') || line.ends_with("[vsyscall]") {
                continue;
            }
            match all.last_mut() {
                Some(last) if last.start + last.size == start && last.writable == writable => {
                    last.size += end - start;
                }
                _ => all.push(Span { start, size: end - start, writable, origin: 0 }),
            }
        }
        Mappings(all)
    }
    /// Elsewhere there is no list: everything but the lowest pages counts as mapped.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn read() -> Mappings {
        Mappings(vec![Span {
            start: 1 << 16,
            size: (1 << 63) - (1 << 16),
            writable: true,
            origin: 0,
        }])
    }
    pub(crate) fn find(&self, address: u64) -> Option<Span> {
        let n = self.0.partition_point(|s| s.start <= address);
        let span = *self.0[..n].last()?;
        (address - span.start < span.size).then_some(span)
    }
}

/// The reserved bytes. Offsets are from its start.
pub(crate) struct Region {
    base: *mut u8,
    len: u64,
    /// Keeps the mapping; Linux is told more about it.
    #[cfg(not(miri))]
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    map: memmap2::MmapRaw,
    #[cfg(miri)]
    layout: std::alloc::Layout,
}

// SAFETY: the bytes are only reached through raw pointers, by copies or atomics; racing copies are
// races of the guest program (see the module's introduction).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    #[cfg(not(miri))]
    pub(crate) fn reserve(len: u64) -> std::io::Result<Region> {
        let bytes = usize::try_from(len).map_err(std::io::Error::other)?;
        let map = memmap2::MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
        let map = memmap2::MmapRaw::from(map);
        Ok(Region { base: map.as_mut_ptr(), len, map })
    }
    #[cfg(miri)]
    pub(crate) fn reserve(len: u64) -> std::io::Result<Region> {
        let len = len.min(1 << 20);
        let layout = std::alloc::Layout::from_size_align(len as usize, 4096)
            .map_err(std::io::Error::other)?;
        // SAFETY: the layout is not empty (`Memory::new` asks for a megabyte at least).
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        Ok(Region { base, len, layout })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }
    /// Pointer to `bytes` bytes at `at`.
    pub(crate) fn at(&self, at: u64, bytes: u64) -> *mut u8 {
        assert!(at <= self.len && bytes <= self.len - at, "range inside the region");
        self.base.wrapping_add(at as usize)
    }
    /// Asks for large pages in a range, which will be used as a whole; the host may have none.
    pub(crate) fn prefer_large_pages(&self, at: u64, bytes: u64) {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            const PAGE: u64 = 4096;
            let first = at.next_multiple_of(PAGE);
            let len = ((at + bytes) / PAGE * PAGE).saturating_sub(first);
            let _ = self.map.advise_range(memmap2::Advice::HugePage, first as usize, len as usize);
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        let _ = (at, bytes);
    }
    /// Zeroes a range; whole pages go back to the host where it can take them.
    pub(crate) fn clear(&self, at: u64, bytes: u64) {
        let zero = |at: u64, bytes: u64| {
            let to = self.at(at, bytes);
            // SAFETY: `at` checked the range.
            unsafe { std::ptr::write_bytes(to, 0, bytes as usize) }
        };
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            const PAGE: u64 = 4096;
            let (first, last) = (at.next_multiple_of(PAGE), (at + bytes) / PAGE * PAGE);
            if last > first {
                let (offset, len) = (first as usize, (last - first) as usize);
                // SAFETY: nothing holds references into the region, so that pages may turn zero.
                let gone = unsafe {
                    self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, len)
                };
                if gone.is_ok() {
                    zero(at, first - at);
                    zero(last, at + bytes - last);
                    return;
                }
            }
        }
        zero(at, bytes);
    }
}

#[cfg(miri)]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `reserve`.
        unsafe { std::alloc::dealloc(self.base, self.layout) }
    }
}
