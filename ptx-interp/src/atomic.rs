//! Atomic read-modify-write and ordered accesses on host memory.
//!
//! Global and shared words are host atomics, so blocks on different host threads see one another's
//! updates whole. Local memory belongs to one lane and needs none.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use ptx_isa::Space;
use ptx_isa::effect::{AtomOp, Fault, Order};

use crate::worker::{Ctx, Target};

/// Host ordering of a load.
fn load_order(order: Order) -> Ordering {
    match order {
        Order::Acquire | Order::AcqRel => Ordering::Acquire,
        Order::SeqCst | Order::Mmio => Ordering::SeqCst,
        _ => Ordering::Relaxed,
    }
}

fn store_order(order: Order) -> Ordering {
    match order {
        Order::Release | Order::AcqRel => Ordering::Release,
        Order::SeqCst | Order::Mmio => Ordering::SeqCst,
        _ => Ordering::Relaxed,
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

    /// Atomically replaces an aligned element of 2, 4 or 8 bytes by `f(old)`; the old value.
    pub(crate) fn update(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        f: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        if !address.is_multiple_of(bytes as u64) {
            let bytes = bytes as u32;
            return Err(Fault::Misaligned { lane, space, address, bytes, write: true });
        }
        if let Target::Host(p) = self.resolve(lane, space, address, bytes as u32, true)? {
            macro_rules! swap {
                ($atomic:ident, $int:ident) => {{
                    // SAFETY: as in `load_ordered`; the allocation is writable.
                    let word = unsafe { $atomic::from_ptr(p.cast()) };
                    let mut old = word.load(Ordering::SeqCst);
                    loop {
                        let new = f(old as u64) as $int;
                        match word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst) {
                            Ok(_) => break Ok(old as u64),
                            Err(now) => old = now,
                        }
                    }
                }};
            }
            return match bytes {
                2 => swap!(AtomicU16, u16),
                4 => swap!(AtomicU32, u32),
                _ => swap!(AtomicU64, u64),
            };
        }
        let mut out = [0; 8];
        self.read(lane, space, address, &mut out[..bytes as usize])?;
        let old = u64::from_le_bytes(out);
        self.write(lane, space, address, &f(old).to_le_bytes()[..bytes as usize])?;
        Ok(old)
    }

    /// One lane's atomic; the old value.
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
        // The usual word operations have host instructions.
        let aligned = address.is_multiple_of(bytes as u64);
        if let (true, 4 | 8, AtomOp::Add | AtomOp::Exch | AtomOp::Cas) = (aligned, bytes, op)
            && let Target::Host(p) = self.resolve(lane, space, address, bytes as u32, true)?
        {
            macro_rules! word {
                ($atomic:ident, $int:ident) => {{
                    // SAFETY: as in `load_ordered`; the allocation is writable.
                    let word = unsafe { $atomic::from_ptr(p.cast()) };
                    let (b, c) = (b as $int, c as $int);
                    let old = match op {
                        AtomOp::Add => word.fetch_add(b, Ordering::SeqCst),
                        AtomOp::Exch => word.swap(b, Ordering::SeqCst),
                        _ => {
                            match word.compare_exchange(b, c, Ordering::SeqCst, Ordering::SeqCst) {
                                Ok(old) | Err(old) => old,
                            }
                        }
                    };
                    return Ok(old as u64);
                }};
            }
            match bytes {
                4 => word!(AtomicU32, u32),
                _ => word!(AtomicU64, u64),
            }
        }
        let shared = match space {
            Space::Shared | Space::SharedCluster => true,
            Space::Generic => address < ptx_isa::effect::window::LOCAL,
            _ => false,
        };
        self.update(lane, space, address, bytes, &mut |old| op.apply(bytes, shared, old, b, c))
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
        static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
        if !address.is_multiple_of(16) {
            return Err(Fault::Misaligned { lane, space, address, bytes: 16, write: true });
        }
        // The host has no 16-byte atomic in baseline code; they exclude one another.
        let _guard = LOCK.lock();
        let mut old = [0; 16];
        self.read(lane, space, address, &mut old)?;
        let value = u128::from_le_bytes(old);
        let new = match op {
            AtomOp::Cas if value != b => value,
            AtomOp::Cas => c,
            _ => b,
        };
        self.write(lane, space, address, &new.to_le_bytes())?;
        Ok(value)
    }
}

/// A fence between the host's threads.
pub(crate) fn memory_fence() {
    fence(Ordering::SeqCst);
}
