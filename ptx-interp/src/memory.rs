//! Global memory: one reserved region of virtual memory with allocations inside it.
//!
//! A device address `a` lies at byte `a - base` of the region, so translation is one subtraction. Pages
//! cost nothing until they are touched. There is guard space between allocations: `Memory::span` is the
//! only way from an address to bytes, and it answers only for addresses inside an allocation. Constant variables are
//! allocations that kernels may only read.
//!
//! Kernels run on several host threads, and a guest program may race on its memory. Ordered and
//! atomic accesses are host atomics; the others are plain copies of raw bytes through pointers
//! (never through references), so that a racing guest reads stale or mixed bytes, its own fault.
//!
//! A host program may also lend ranges of its own memory ([`Memory::map_host`]): allocations whose bytes lie
//! outside the region. They are checked like any other.
//!
//! [`Memory::identity`] is the exception for callers whose interface passes host addresses: there a
//! device address is a host address, and kernels reach all memory that the process has mapped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLock};

use crate::allocation::{Access, Allocation, MemoryError, MemoryEvent, MemoryWatcher};
use crate::freed::Freed;
use crate::region::{Mappings, Region, Span};
use ptx_isa::effect::window;

/// Room kept free after every allocation of the host.
const GUARD: u64 = 4096;
/// Room kept free after every allocation of a kernel's `malloc`.
const HEAP_GUARD: u64 = 16;

/// Device memory of one context. Clones share it.
#[derive(Clone)]
pub struct Memory {
    inner: Arc<Inner>,
}

struct Inner {
    region: Region,
    /// Address of the region's first byte: `window::GLOBAL`, or its host address.
    first: u64,
    /// In identity mode, what the process has mapped beside the region.
    mapped: Option<RwLock<Mappings>>,
    limit: u64,
    table: RwLock<Table>,
    /// Changes whenever an allocation goes away: cached spans must be dropped then.
    epoch: AtomicU64,
    watcher: OnceLock<Arc<dyn MemoryWatcher>>,
    /// Addresses of freed allocations are not given out again.
    quarantine: AtomicBool,
}

#[derive(Default)]
struct Table {
    live: BTreeMap<u64, Allocation>,
    /// Free ranges below `top`: start to size, never touching one another.
    free: BTreeMap<u64, u64>,
    /// Reserved bytes (with guard) of each allocation by its start.
    reserved: BTreeMap<u64, (u64, u64)>,
    /// Host address of the bytes of allocations outside the region.
    lent: BTreeMap<u64, usize>,
    freed: Freed,
    top: u64,
    used: u64,
    /// Bytes that kernels' `malloc` has handed out, and most that it may.
    heap: u64,
    heap_limit: u64,
}

impl Table {
    /// Takes `size` bytes at alignment `align`; the start.
    fn take(&mut self, size: u64, align: u64, end: u64) -> Option<u64> {
        let up = |a: u64| a.checked_add(align - 1).map(|a| a & !(align - 1));
        let fit = self.free.iter().find_map(|(&s, &n)| {
            let at = up(s)?;
            (at.checked_add(size)? <= s + n).then_some((s, n, at))
        });
        let (from, at) = if let Some((s, n, at)) = fit {
            self.free.remove(&s);
            if s + n > at + size {
                self.free.insert(at + size, s + n - at - size);
            }
            (s, at)
        } else {
            let at = up(self.top)?;
            if at.checked_add(size)? > end {
                return None;
            }
            let from = self.top;
            self.top = at + size;
            (from, at)
        };
        self.reserved.insert(at, (from, at + size - from));
        Some(at)
    }

    fn give(&mut self, start: u64) {
        let Some((mut from, mut size)) = self.reserved.remove(&start) else { return };
        if let Some((&s, &n)) = self.free.range(..from).next_back()
            && s + n == from
        {
            self.free.remove(&s);
            (from, size) = (s, n + size);
        }
        if let Some(n) = self.free.remove(&(from + size)) {
            size += n;
        }
        if from + size == self.top {
            self.top = from;
        } else {
            self.free.insert(from, size);
        }
    }

    /// The allocation that holds `address`.
    fn find(&self, address: u64) -> Option<&Allocation> {
        let (_, a) = self.live.range(..=address).next_back()?;
        (address - a.start < a.size).then_some(a)
    }
}

/// Bytes that a kernel's `malloc` may hand out unless the host says otherwise, as on devices
/// (`cudaLimitMallocHeapSize`).
pub const DEFAULT_HEAP: u64 = 8 << 20;

/// Bytes of an allocation from which on the host is asked for large pages: it spans some of 2 MiB.
const LARGE: u64 = 8 << 20;

impl Memory {
    /// Memory in which at most `limit` bytes can be allocated. Nothing is committed yet.
    ///
    /// # Errors
    /// When the host has no address space for it.
    pub fn new(limit: u64) -> Result<Memory, MemoryError> {
        Memory::at(window::GLOBAL, limit)
    }

    /// As [`Memory::new`], with allocations from address `base` on: memories of one process whose addresses
    /// must not be mistaken for one another's. A base below the global window is raised to it.
    ///
    /// # Errors
    /// When the host has no address space for it.
    pub fn at(base: u64, limit: u64) -> Result<Memory, MemoryError> {
        let base = base.max(window::GLOBAL);
        // Guard space and alignment take addresses too; where the host limits address space the
        // region shrinks to what it gives.
        let mut size = limit.saturating_mul(2).max(1 << 20);
        let region = loop {
            match Region::reserve(size) {
                Ok(region) => break region,
                Err(_) if size / 2 >= limit.max(1 << 20) => size /= 2,
                Err(e) => return Err(MemoryError::Reserve(e.to_string())),
            }
        };
        Ok(Memory::over(region, base, limit, None))
    }

    /// Memory whose addresses are the host's own: a kernel reaches what the process has mapped, with
    /// the permissions of the mapping, and module variables lie at their host addresses. An address
    /// outside every mapping is a fault as ever; one that is inside the wrong object is not noticed.
    /// Generic addresses below [`window::GLOBAL`] still mean shared and local memory.
    ///
    /// # Safety
    /// For every launch on it, the caller vouches that the addresses which the kernel computes are
    /// memory that it may access, and that no mapping goes away before the launch ends.
    ///
    /// # Errors
    /// When the host has no address space for module variables.
    pub unsafe fn identity(limit: u64) -> Result<Memory, MemoryError> {
        let region = Region::reserve(limit.saturating_mul(2).max(1 << 20))
            .map_err(|e| MemoryError::Reserve(e.to_string()))?;
        // Only here may host memory other than the region be reached.
        let first = region.base().expose_provenance() as u64;
        Ok(Memory::over(region, first, limit, Some(RwLock::default())))
    }

    fn over(region: Region, first: u64, limit: u64, mapped: Option<RwLock<Mappings>>) -> Memory {
        let table = Table { top: first, heap_limit: DEFAULT_HEAP, ..Table::default() };
        let table = RwLock::new(table);
        let epoch = AtomicU64::new(next_epoch());
        let watcher = OnceLock::new();
        let quarantine = AtomicBool::new(false);
        let inner = Inner { region, first, mapped, limit, table, epoch, watcher, quarantine };
        Memory { inner: Arc::new(inner) }
    }

    /// Tells `watcher` of what happens from now on; whether there was none before. There is one at
    /// most, and it stays.
    pub fn watch(&self, watcher: Arc<dyn MemoryWatcher>) -> bool {
        self.inner.watcher.set(watcher).is_ok()
    }

    /// From now on no address of a freed allocation is given out again while there are others, so that an access
    /// through an old pointer finds nothing.
    pub fn quarantine(&self) {
        self.inner.quarantine.store(true, Ordering::Relaxed);
    }

    /// Tells watchers of an event: for those who move bytes by way of [`Memory::host_span`].
    pub fn tell(&self, event: MemoryEvent<'_>) {
        if let Some(watcher) = self.inner.watcher.get() {
            watcher.event(event);
        }
    }

    /// Forgets what the process had mapped: it may have changed since the last launch.
    pub fn launch_starts(&self) {
        self.tell(MemoryEvent::LaunchStarts);
        if let Some(mapped) = &self.inner.mapped {
            *mapped.write().unwrap_or_else(std::sync::PoisonError::into_inner) =
                Mappings::default();
        }
    }

    fn table(&self) -> std::sync::RwLockReadGuard<'_, Table> {
        self.inner.table.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    fn table_mut(&self) -> std::sync::RwLockWriteGuard<'_, Table> {
        self.inner.table.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Allocates zeroed memory; the first address, aligned to `align` and at least 512.
    ///
    /// # Errors
    /// When there is no room, or `align` is no power of two.
    pub fn alloc(
        &self,
        size: u64,
        align: u64,
        name: &str,
        access: Access,
    ) -> Result<u64, MemoryError> {
        if !align.is_power_of_two() {
            return Err(MemoryError::Alignment { align });
        }
        self.alloc_with(size, align.max(512), GUARD, name, access, false)
    }

    /// Bytes that `malloc` in kernels may hand out from now on; [`DEFAULT_HEAP`] at first. What it has
    /// handed out stays.
    pub fn set_heap_limit(&self, bytes: u64) {
        self.table_mut().heap_limit = bytes;
    }

    /// `malloc` in a kernel: aligned to 16.
    ///
    /// # Errors
    /// When there is no room, or the heap has none ([`Memory::set_heap_limit`]).
    pub fn alloc_heap(&self, size: u64) -> Result<u64, MemoryError> {
        self.alloc_with(size, 16, HEAP_GUARD, "malloc", Access::ReadWrite, true)
    }

    fn alloc_with(
        &self,
        size: u64,
        align: u64,
        guard: u64,
        name: &str,
        access: Access,
        heap: bool,
    ) -> Result<u64, MemoryError> {
        let mut table = self.table_mut();
        let limit = self.inner.limit;
        let full = |used| MemoryError::OutOfMemory { wanted: size, used, limit };
        if size > limit.saturating_sub(table.used) {
            return Err(full(table.used));
        }
        if heap && size > table.heap_limit.saturating_sub(table.heap) {
            let (used, limit) = (table.heap, table.heap_limit);
            return Err(MemoryError::OutOfMemory { wanted: size, used, limit });
        }
        let end = self.inner.first + self.inner.region.len();
        let used = table.used;
        let start = table.take(size.max(1) + guard, align, end).ok_or_else(|| full(used))?;
        table.used += size;
        table.heap += if heap { size } else { 0 };
        let made = Allocation { start, size, name: name.into(), access, heap, lent: false };
        table.live.insert(start, made.clone());
        drop(table);
        if size >= LARGE {
            self.inner.region.prefer_large_pages(start - self.inner.first, size);
        }
        self.tell(MemoryEvent::Allocated(&made));
        Ok(start)
    }

    /// Frees the allocation that starts at `address`.
    ///
    /// # Errors
    /// When no allocation starts there.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.free_if(address, |_| true)
    }

    /// `free` in a kernel: only what `malloc` made.
    ///
    /// # Errors
    /// When no such allocation starts at `address`.
    pub fn free_heap(&self, address: u64) -> Result<(), MemoryError> {
        self.free_if(address, |a| a.heap)
    }

    fn free_if(&self, address: u64, ok: impl Fn(&Allocation) -> bool) -> Result<(), MemoryError> {
        let mut table = self.table_mut();
        match table.live.get(&address) {
            Some(a) if ok(a) => {}
            _ => return Err(MemoryError::NotAllocated { address }),
        }
        let Some(a) = table.live.remove(&address) else {
            return Err(MemoryError::NotAllocated { address });
        };
        self.inner.epoch.store(next_epoch(), Ordering::Release);
        // Cleared now, so that the next allocation here is zeroed and the pages return to the host.
        if table.lent.remove(&a.start).is_none() {
            self.inner.region.clear(a.start - self.inner.first, a.size);
            table.used -= a.size;
            table.heap -= if a.heap { a.size } else { 0 };
        }
        // A quarter of the address space is for what lives.
        let room = self.inner.region.len() / 4 * 3;
        let full = table.top - self.inner.first > room;
        if full || !self.inner.quarantine.load(Ordering::Relaxed) {
            table.give(a.start);
        }
        table.freed.add(a.clone());
        drop(table);
        self.tell(MemoryEvent::Freed(&a));
        Ok(())
    }

    /// Says that a range holds what it is to hold: the zeros of a fresh one, or what the host writes by way of
    /// [`Memory::host_span`]. Watchers are told as of a write.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn keep(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        self.host(address, bytes)?;
        self.tell(MemoryEvent::Written { address, bytes });
        Ok(())
    }

    /// Bytes allocated.
    pub fn used(&self) -> u64 {
        self.table().used
    }
    /// Most bytes that may be allocated.
    pub fn limit(&self) -> u64 {
        self.inner.limit
    }
    /// All allocations by address.
    pub fn allocations(&self) -> Vec<Allocation> {
        self.table().live.values().cloned().collect()
    }
    /// The allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        self.table().find(address).cloned()
    }
    /// The allocation that held `address` until it was freed, not long ago.
    pub fn freed(&self, address: u64) -> Option<Allocation> {
        self.table().freed.find(address).cloned()
    }
    /// The allocation nearest to `address` and the distance in bytes from its nearest end:
    /// negative below its start, positive beyond its end, 0 inside.
    pub fn nearest(&self, address: u64) -> Option<(Allocation, i64)> {
        let table = self.table();
        let below = table.live.range(..=address).next_back().map(|(_, a)| {
            let past = address - a.start;
            (a, if past < a.size { 0 } else { (past - a.size + 1) as i64 })
        });
        let above =
            table.live.range(address..).next().map(|(_, a)| (a, -((a.start - address) as i64)));
        [below, above]
            .into_iter()
            .flatten()
            .min_by_key(|(_, d)| d.unsigned_abs())
            .map(|(a, d)| (a.clone(), d))
    }

    /// Whether memory of the host keeps its address when it is lent ([`Memory::map_host`]).
    pub fn keeps_address(&self, at: u64, size: u64) -> bool {
        let (base, end) = (self.inner.first, self.inner.first + self.inner.region.len());
        at >= window::GLOBAL && (at >= end || at + size <= base)
    }

    /// Lends `size` bytes of the host at `host` to kernels; the device address of the first. It is the host
    /// address itself unless that lies in a window of the generic address space or in this memory's region.
    /// [`Memory::free`] takes the range back.
    ///
    /// # Errors
    /// When part of the range is lent already, or no address is free.
    ///
    /// # Safety
    /// The range must stay readable and writable until it is taken back and no launch that may use it runs.
    pub unsafe fn map_host(
        &self,
        host: *mut u8,
        size: u64,
        name: &str,
    ) -> Result<u64, MemoryError> {
        let at = host as u64;
        let mut table = self.table_mut();
        let overlap = |start: u64, bytes: u64| at < start + bytes && start < at + size;
        let lent = |(start, from): (&u64, &usize)| {
            table.live.get(start).is_some_and(|a| overlap(*from as u64, a.size))
        };
        if table.lent.iter().any(lent) {
            return Err(MemoryError::Mapped { host: at });
        }
        let start = if self.keeps_address(at, size) {
            at
        } else {
            let end = self.inner.first + self.inner.region.len();
            // Another address with the same offset in its page, so that alignment is the same.
            let wanted = size;
            let (used, limit) = (table.used, self.inner.limit);
            let page = table
                .take(size + 2 * GUARD, GUARD, end)
                .ok_or(MemoryError::OutOfMemory { wanted, used, limit })?;
            let start = page + at % GUARD;
            if let Some(range) = table.reserved.remove(&page) {
                table.reserved.insert(start, range);
            }
            start
        };
        let access = Access::ReadWrite;
        table.lent.insert(start, host.expose_provenance());
        let made = Allocation { start, size, name: name.into(), access, heap: false, lent: true };
        table.live.insert(start, made.clone());
        drop(table);
        self.tell(MemoryEvent::Allocated(&made));
        Ok(start)
    }

    /// Host pointer to `bytes` bytes at `address`, checked.
    fn host(&self, address: u64, bytes: u64) -> Result<*mut u8, MemoryError> {
        let table = self.table();
        let bad = MemoryError::OutOfBounds { address, bytes };
        match table.find(address).or_else(|| table.live.get(&address)) {
            Some(a) if bytes <= a.size - (address - a.start) => {
                let at = self.origin_of(&table, a).wrapping_add(address as usize);
                Ok(std::ptr::with_exposed_provenance_mut(at))
            }
            _ => Err(bad),
        }
    }

    /// Copies from device memory.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        // SAFETY: a slice of this length.
        unsafe { self.read_raw(address, out.as_mut_ptr(), out.len() as u64) }
    }
    /// Copies into device memory (constant variables too: this is the host).
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        // SAFETY: a slice of this length.
        unsafe { self.write_raw(address, data.as_ptr(), data.len() as u64) }
    }
    /// As [`Memory::read`], to memory that others may access meanwhile.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    ///
    /// # Safety
    /// `bytes` bytes at `out` must be writable.
    pub unsafe fn read_raw(
        &self,
        address: u64,
        out: *mut u8,
        bytes: u64,
    ) -> Result<(), MemoryError> {
        let from = self.host(address, bytes)?;
        self.tell(MemoryEvent::Read { address, bytes });
        // SAFETY: `host` checked the source, the caller promises the destination; `copy` allows overlap.
        unsafe { std::ptr::copy(from, out, bytes as usize) }
        Ok(())
    }
    /// As [`Memory::write`], from memory that others may access meanwhile.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    ///
    /// # Safety
    /// `bytes` bytes at `data` must be readable.
    pub unsafe fn write_raw(
        &self,
        address: u64,
        data: *const u8,
        bytes: u64,
    ) -> Result<(), MemoryError> {
        let to = self.host(address, bytes)?;
        self.tell(MemoryEvent::Written { address, bytes });
        // SAFETY: `host` checked the destination, the caller promises the source; `copy` allows overlap.
        unsafe { std::ptr::copy(data, to, bytes as usize) }
        Ok(())
    }
    /// Sets `bytes` bytes to `value`.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn fill(&self, address: u64, value: u8, bytes: u64) -> Result<(), MemoryError> {
        let to = self.host(address, bytes)?;
        self.tell(MemoryEvent::Written { address, bytes });
        // SAFETY: `host` checked the range.
        unsafe { std::ptr::write_bytes(to, value, bytes as usize) }
        Ok(())
    }
    /// Repeats `pattern` over `count` elements from `address` on.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn fill_pattern(
        &self,
        address: u64,
        pattern: &[u8],
        count: u64,
    ) -> Result<(), MemoryError> {
        let n = pattern.len() as u64;
        let bytes = n.saturating_mul(count);
        let to = self.host(address, bytes)?;
        self.tell(MemoryEvent::Written { address, bytes });
        for i in 0..count {
            let at = to.wrapping_add((i * n) as usize);
            // SAFETY: `host` checked the whole range.
            unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), at, pattern.len()) }
        }
        Ok(())
    }
    /// Copies `bytes` bytes from `src` to `dst`, as `memmove`.
    ///
    /// # Errors
    /// When a range is not inside one allocation.
    pub fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<(), MemoryError> {
        let from = self.host(src, bytes)?;
        let to = self.host(dst, bytes)?;
        self.tell(MemoryEvent::Copied { to: dst, from: src, bytes });
        // SAFETY: `host` checked both ranges; `copy` allows overlap.
        unsafe { std::ptr::copy(from, to, bytes as usize) }
        Ok(())
    }

    /// The span of the allocation that holds `address`, for engines to cache.
    pub(crate) fn span(&self, address: u64) -> Option<Span> {
        let table = self.table();
        match table.find(address) {
            Some(a) => {
                let writable = a.access != Access::ReadOnly;
                Some(Span {
                    start: a.start,
                    size: a.size,
                    writable,
                    origin: self.origin_of(&table, a),
                })
            }
            None => self.mapping(address),
        }
    }
    /// The host's mapping that holds `address`, in identity mode.
    fn mapping(&self, address: u64) -> Option<Span> {
        let mapped = self.inner.mapped.as_ref()?;
        let region = self.inner.first..self.inner.first + self.inner.region.len();
        if region.contains(&address) {
            return None;
        }
        let known = mapped.read().unwrap_or_else(std::sync::PoisonError::into_inner).find(address);
        known.or_else(|| {
            let now = Mappings::read();
            let found = now.find(address);
            *mapped.write().unwrap_or_else(std::sync::PoisonError::into_inner) = now;
            found
        })
    }
    /// Host address of device address 0, for addresses inside `a`.
    fn origin_of(&self, table: &Table, a: &Allocation) -> usize {
        match table.lent.get(&a.start) {
            Some(host) => host.wrapping_sub(a.start as usize),
            None => {
                let base = self.inner.region.base().expose_provenance();
                base.wrapping_sub(self.inner.first as usize)
            }
        }
    }
    /// The allocation that holds `address` and where it lies on the host, for engines beside this
    /// one. Its bytes stay reserved, and may be accessed, until the memory is dropped; after `free`
    /// they belong to nobody or to a later allocation. Lent memory and mappings of the host stay for
    /// as long as the caller of [`Memory::map_host`] or [`Memory::identity`] vouched for.
    pub fn host_span(&self, address: u64) -> Option<HostSpan> {
        let span = self.span(address)?;
        let host = span.origin().wrapping_add(span.start as usize);
        let Span { start, size, writable, .. } = span;
        Some(HostSpan { start, size, writable, host })
    }
    /// A number that changes when an allocation goes away, and that no other memory has.
    pub(crate) fn epoch(&self) -> u64 {
        self.inner.epoch.load(Ordering::Acquire)
    }
    /// A number that stays while every span that [`Memory::host_span`] gave holds, and that no other memory has; `None`
    /// where the host's mappings may change behind our back ([`Memory::identity`]).
    pub fn spans_hold_while(&self) -> Option<u64> {
        self.inner.mapped.is_none().then(|| self.epoch())
    }
}

/// Never the same number twice.
fn next_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An allocation and the host memory behind it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HostSpan {
    /// First device address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Whether kernels may write.
    pub writable: bool,
    /// Host memory of `start`.
    pub host: *mut u8,
}

mod saved;
#[cfg(test)]
mod tests;

pub use saved::Saved;
