//! Atomic read-modify-write and ordered accesses of one lane.
//!
//! Global and shared words are host atomics, so blocks on different host threads see one another's
//! updates whole. Local memory belongs to one lane and needs none.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use ptx_isa::effect::{AtomOp, Fault, Order};
use ptx_isa::{Space, atomic};

use crate::ctx::{Ctx, Site, Target};

/// Host ordering of a load.
fn load_order(order: Order) -> Ordering {
    match order {
        Order::Acquire | Order::AcqRel => Ordering::Acquire,
        Order::SeqCst | Order::Mmio => Ordering::SeqCst,
        Order::Weak | Order::Volatile | Order::Relaxed | Order::Release => Ordering::Relaxed,
    }
}

fn store_order(order: Order) -> Ordering {
    match order {
        Order::Release | Order::AcqRel => Ordering::Release,
        Order::SeqCst | Order::Mmio => Ordering::SeqCst,
        Order::Weak | Order::Volatile | Order::Relaxed | Order::Acquire => Ordering::Relaxed,
    }
}

impl Ctx {
    /// Ordered load of an aligned element of 1, 2, 4 or 8 bytes.
    pub(crate) fn load_ordered(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        order: Order,
    ) -> Result<u64, Fault> {
        if let Target::Host(p) = self.resolve(lane, space, address, bytes as u32, false)? {
            let order = load_order(order);
            // SAFETY: `resolve` found the bytes in an allocation, the caller checked alignment
            // (allocations are aligned to 16 at least), and nothing holds references to them.
            return Ok(unsafe {
                match bytes {
                    1 => AtomicU8::from_ptr(p).load(order) as u64,
                    2 => AtomicU16::from_ptr(p.cast()).load(order) as u64,
                    4 => AtomicU32::from_ptr(p.cast()).load(order) as u64,
                    _ => AtomicU64::from_ptr(p.cast()).load(order),
                }
            });
        }
        let mut out = [0; 8];
        self.read(lane, space, address, &mut out[..bytes as usize])?;
        Ok(u64::from_le_bytes(out))
    }

    /// Ordered store of an aligned element of 1, 2, 4 or 8 bytes.
    pub(crate) fn store_ordered(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        order: Order,
        v: u64,
    ) -> Result<(), Fault> {
        if let Target::Host(p) = self.resolve(lane, space, address, bytes as u32, true)? {
            let order = store_order(order);
            // SAFETY: as in `load_ordered`; the allocation is writable.
            unsafe {
                match bytes {
                    1 => AtomicU8::from_ptr(p).store(v as u8, order),
                    2 => AtomicU16::from_ptr(p.cast()).store(v as u16, order),
                    4 => AtomicU32::from_ptr(p.cast()).store(v as u32, order),
                    _ => AtomicU64::from_ptr(p.cast()).store(v, order),
                }
            }
            return Ok(());
        }
        self.write(lane, space, address, &v.to_le_bytes()[..bytes as usize])
    }

    /// Atomically replaces an aligned element of 1, 2, 4 or 8 bytes by `f(old)`; the old value.
    pub(crate) fn update(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        f: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        let host = self.atomic_target(lane, space, address, bytes)?;
        if let Some(p) = host {
            // SAFETY: `atomic_target` found an aligned, writable element.
            return Ok(unsafe { atomic::update(p, bytes, f) });
        }
        let old = self.local_word(lane, space, address, bytes)?;
        self.write(lane, space, address, &f(old).to_le_bytes()[..bytes as usize])?;
        Ok(old)
    }

    /// One lane's atomic; the old value.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn atomic(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        op: AtomOp,
        b: u64,
        c: u64,
    ) -> Result<u64, Fault> {
        let shared = atomic::in_shared(space, address);
        if let Some(p) = self.atomic_target(lane, space, address, bytes)? {
            // SAFETY: `atomic_target` found an aligned, writable element.
            return Ok(unsafe { atomic::apply(p, bytes, op, shared, b, c) });
        }
        let old = self.local_word(lane, space, address, bytes)?;
        let new = op.apply(bytes, shared, old, b, c).to_le_bytes();
        self.write(lane, space, address, &new[..bytes as usize])?;
        Ok(old)
    }

    /// One lane's exchange or compare-and-swap of 16 bytes.
    pub(crate) fn atomic128(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        op: AtomOp,
        b: u128,
        c: u128,
    ) -> Result<u128, Fault> {
        let new = |old: u128| op.apply_wide(old, b, c);
        if let Some(p) = self.atomic_target(lane, space, address, 16)? {
            // SAFETY: `atomic_target` found an aligned, writable element.
            return Ok(unsafe { atomic::update_16_bytes(p, new) });
        }
        let mut old = [0; 16];
        self.read(lane, space, address, &mut old)?;
        let old = u128::from_le_bytes(old);
        self.write(lane, space, address, &new(old).to_le_bytes())?;
        Ok(old)
    }

    /// The host memory of an atomic's element, aligned and writable; `None` in local memory, which
    /// belongs to one lane.
    #[inline]
    fn atomic_target(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
    ) -> Result<Option<*mut u8>, Fault> {
        if !address.is_multiple_of(bytes as u64) {
            let bytes = bytes as u32;
            return Err(Fault::Misaligned { lane, space, address, bytes, write: true });
        }
        // The block's own shared memory, where most are, without a search.
        let Site { start, size, origin } = self.shared;
        let at = address.wrapping_sub(start);
        if space == Space::Shared && at < size && bytes as u64 <= size - at {
            return Ok(Some(origin.wrapping_add(address as usize)));
        }
        match self.resolve(lane, space, address, bytes as u32, true)? {
            Target::Host(p) => Ok(Some(p)),
            Target::Local(_) | Target::Param(_) => Ok(None),
        }
    }

    fn local_word(&self, lane: u8, space: Space, address: u64, bytes: u8) -> Result<u64, Fault> {
        let mut out = [0; 8];
        self.read(lane, space, address, &mut out[..bytes as usize])?;
        Ok(u64::from_le_bytes(out))
    }
}

/// A fence between the host's threads.
pub(crate) fn memory_fence() {
    fence(Ordering::SeqCst);
}
