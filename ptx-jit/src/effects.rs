//! Loads, stores and atomics by the slow way: lane by lane, with all checks.

use ptx_isa::effect::{Atom, AtomOp, Fault, Mem, window};
use ptx_isa::{Space, atomic};

use crate::beside;
use crate::ctx::Ctx;
use crate::device::Span;
use crate::entry::Slow;
use crate::worker::Worker;

impl Worker<'_> {
    pub(crate) fn word(&mut self, info: &Slow, n: usize, lane: usize) -> u64 {
        get(&self.ctx().src[n], info.src.long(n), lane)
    }
    pub(crate) fn set(&mut self, info: &Slow, n: usize, lane: usize, v: u64) {
        put(&mut self.ctx().dst[n], info.dst.long(n), lane, v);
    }
    /// Source `n` of a lane, as code stages it.
    pub(crate) fn stage(&mut self, info: &Slow, n: usize, lane: usize, v: u64) {
        put(&mut self.ctx().src[n], info.src.long(n), lane, v);
    }
    /// Destination `n` of a lane.
    pub(crate) fn result(&mut self, info: &Slow, n: usize, lane: usize) -> u64 {
        get(&self.ctx().dst[n], info.dst.long(n), lane)
    }
    pub(crate) fn address(&mut self, info: &Slow, lane: usize, offset: i64) -> u64 {
        let base = self.word(info, 0, lane);
        if info.src.long(0) {
            base.wrapping_add(offset as u64)
        } else {
            (base as u32).wrapping_add(offset as u32) as u64
        }
    }

    /// Host memory of an access of one lane, if nobody minds.
    pub(crate) fn resolve(
        &mut self,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<*mut u8, Fault> {
        self.ask(lane, space, address, bytes, write)?;
        self.find(lane, space, address, bytes, write)
    }

    fn find(
        &self,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<*mut u8, Fault> {
        let bad = Fault::OutOfBounds { lane: lane as u8, space, address, bytes, write };
        let fits = |at: u64, size: u64| at <= size && bytes as u64 <= size - at;
        let shared = |at: u64| {
            fits(at, self.launch.shared_bytes as u64).then(|| {
                self.scratch.shared.as_ptr().cast::<u8>().cast_mut().wrapping_add(at as usize)
            })
        };
        let local = |at: u64| {
            // SAFETY: as in `ctx`.
            let first = unsafe { (*self.scratch.ctx.as_ptr().cast::<Ctx>()).thread0 } as usize;
            fits(at, self.local_bytes as u64).then(|| {
                let base = self.scratch.local.as_ptr().cast::<u8>().cast_mut();
                let at = match self.kernel.needs.layout.beside {
                    Some(element) => {
                        let width = self.kernel.geometry.width as usize;
                        beside::place(element, width, lane, at as usize)
                    }
                    None => lane * self.local_bytes + at as usize,
                };
                base.wrapping_add(first * self.local_bytes + at)
            })
        };
        let param = |at: u64| {
            (fits(at, self.launch.params.len() as u64) && !write).then(|| {
                self.scratch.params.as_ptr().cast::<u8>().cast_mut().wrapping_add(at as usize)
            })
        };
        let global = || {
            let s = self.span(address)?;
            let at = address.wrapping_sub(s.start);
            (fits(at, s.size) && (s.writable || !write)).then(|| s.host.wrapping_add(at as usize))
        };
        let within = |start: u64, size: u64| address.wrapping_sub(start) < size;
        let found = match space {
            // The block is a cluster of its own.
            Space::Shared | Space::SharedCluster => shared(address),
            Space::Local | Space::ParamFunc => local(address),
            Space::ParamEntry => param(address),
            Space::Generic if within(window::SHARED, window::SHARED_CTA) => {
                shared(address - window::SHARED)
            }
            Space::Generic if within(window::LOCAL, window::LOCAL_SIZE) => {
                local(address - window::LOCAL)
            }
            Space::Generic if within(window::PARAM, window::PARAM_SIZE) => {
                param(address - window::PARAM)
            }
            Space::Global | Space::Const | Space::Generic => global(),
            _ => None,
        };
        found.ok_or(bad)
    }

    /// The allocation that holds an address: most often the one that another lane was in.
    pub(crate) fn span(&self, address: u64) -> Option<Span> {
        let near = self.near.get().filter(|s| address.wrapping_sub(s.start) < s.size);
        let found = near.or_else(|| self.launch.device.span(address));
        self.near.set(found.or(self.near.get()));
        found
    }

    fn checked(
        &mut self,
        info: &Slow,
        m: &Mem,
        lane: usize,
        write: bool,
    ) -> Result<*mut u8, Fault> {
        let address = self.address(info, lane, m.place.offset);
        let bytes = m.bytes as u32 * m.count as u32;
        if !address.is_multiple_of(bytes as u64) {
            let space = m.place.space;
            return Err(Fault::Misaligned { lane: lane as u8, space, address, bytes, write });
        }
        self.resolve(lane, m.place.space, address, bytes, write)
    }

    pub(crate) fn load(&mut self, info: &Slow, m: &Mem, on: &[usize]) -> Result<(), Fault> {
        let wide = m.bytes == 16;
        let bytes = if wide { 8 } else { m.bytes as usize };
        for (turn, &l) in on.iter().enumerate() {
            let p = self.checked(info, m, l, false)?;
            for n in 0..info.dst.count {
                // SAFETY: `checked` found all elements readable, and aligned.
                let v = unsafe { read(p.add(n * bytes), bytes) };
                let d = info.dst.long(n);
                let v = if m.signed && bytes < 8 {
                    let unused = 64 - 8 * bytes as u32;
                    let s = ((v << unused) as i64 >> unused) as u64;
                    if d { s } else { s & 0xffff_ffff }
                } else {
                    v
                };
                // Uniform results are read from lane 0.
                let lanes = if turn == 0 { 0..l + 1 } else { l..l + 1 };
                for i in lanes {
                    self.set(info, n, i, v);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn store(&mut self, info: &Slow, m: &Mem, on: &[usize]) -> Result<(), Fault> {
        let bytes = if m.bytes == 16 { 8 } else { m.bytes as usize };
        for &l in on {
            let p = self.checked(info, m, l, true)?;
            for n in 1..info.src.count {
                let v = self.word(info, n, l);
                // SAFETY: `checked` found all elements writable, and aligned.
                unsafe { write(p.add((n - 1) * bytes), bytes, v) }
            }
        }
        Ok(())
    }

    pub(crate) fn atomic(&mut self, info: &Slow, a: &Atom, on: &[usize]) -> Result<(), Fault> {
        let count = a.count.max(1) as usize;
        let values = (info.src.count - 1) / count;
        for &l in on {
            let base = self.address(info, l, a.place.offset);
            if a.bytes == 16 {
                self.atomic_wide(info, a, l, base)?;
                continue;
            }
            for n in 0..count {
                let address = base.wrapping_add((n * a.bytes as usize) as u64);
                let b = self.word(info, 1 + n * values, l);
                let c = if values > 1 { self.word(info, 2 + n * values, l) } else { 0 };
                let (space, bytes) = (a.place.space, a.bytes);
                let p = self.aligned(l, space, address, bytes)?;
                let shared = atomic::in_shared(space, address);
                // SAFETY: as in `update`.
                let old = unsafe { atomic::apply(p, bytes, a.op, shared, b, c) };
                if n < info.dst.count {
                    self.set(info, n, l, old);
                }
            }
        }
        Ok(())
    }

    /// An atomic of 16 bytes, whose halves are operands of their own.
    fn atomic_wide(&mut self, info: &Slow, a: &Atom, l: usize, base: u64) -> Result<(), Fault> {
        let mut wide = |n: usize| {
            let mut half = |n| if n < info.src.count { self.word(info, n, l) } else { 0 };
            u128::from(half(n)) | u128::from(half(n + 1)) << 64
        };
        let (b, c) = (wide(1), wide(3));
        let p = self.aligned(l, a.place.space, base, 16)?;
        // SAFETY: `aligned` found the element writable and aligned; nothing holds references to device memory.
        let old = unsafe { atomic::update_16_bytes(p, |old| a.op.apply_wide(old, b, c)) };
        for n in 0..info.dst.count {
            self.set(info, n, l, (old >> (64 * n)) as u64);
        }
        Ok(())
    }

    /// Host memory of an atomic's element of one lane.
    fn aligned(
        &mut self,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u8,
    ) -> Result<*mut u8, Fault> {
        if !address.is_multiple_of(bytes as u64) {
            let (lane, bytes) = (lane as u8, bytes as u32);
            return Err(Fault::Misaligned { lane, space, address, bytes, write: true });
        }
        // It reads as well.
        self.ask(lane, space, address, bytes as u32, false)?;
        self.resolve(lane, space, address, bytes as u32, true)
    }

    /// An atomic update of one lane; the old value.
    pub(crate) fn update(
        &mut self,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u8,
        f: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        let p = self.aligned(lane, space, address, bytes)?;
        // SAFETY: `resolve` found the bytes writable, and they are aligned; nothing holds references
        // to device memory.
        Ok(unsafe { atomic::update(p, bytes, f) })
    }
}

/// An element of a staged row, of 64 bits if `long`.
fn get(row: &[u64; 32], long: bool, lane: usize) -> u64 {
    if long { row[lane] } else { row[lane / 2] >> (32 * (lane % 2)) & 0xffff_ffff }
}

/// Sets one.
fn put(row: &mut [u64; 32], long: bool, lane: usize, v: u64) {
    if long {
        row[lane] = v;
    } else {
        let shift = 32 * (lane % 2);
        row[lane / 2] = row[lane / 2] & !(0xffff_ffff << shift) | (v & 0xffff_ffff) << shift;
    }
}

/// # Safety
/// `bytes` (1, 2, 4 or 8) are readable at `p`.
unsafe fn read(p: *const u8, bytes: usize) -> u64 {
    // SAFETY: the caller's promise; unaligned reads need no alignment.
    unsafe {
        match bytes {
            1 => p.read() as u64,
            2 => p.cast::<u16>().read_unaligned() as u64,
            4 => p.cast::<u32>().read_unaligned() as u64,
            _ => p.cast::<u64>().read_unaligned(),
        }
    }
}

/// # Safety
/// `bytes` (1, 2, 4 or 8) are writable at `p`.
unsafe fn write(p: *mut u8, bytes: usize, v: u64) {
    // SAFETY: the caller's promise; unaligned writes need no alignment.
    unsafe {
        match bytes {
            1 => p.write(v as u8),
            2 => p.cast::<u16>().write_unaligned(v as u16),
            4 => p.cast::<u32>().write_unaligned(v as u32),
            _ => p.cast::<u64>().write_unaligned(v),
        }
    }
}

/// Whether the host has atomics for the words of `a`.
pub(crate) fn can(a: &Atom) -> bool {
    match a.bytes {
        2 | 4 | 8 => a.op != AtomOp::Cas || a.count <= 1,
        16 => matches!(a.op, AtomOp::Cas | AtomOp::Exch) && a.count <= 1,
        _ => false,
    }
}
