//! What a host thread needs at hand to execute instructions of the current warp.

use std::cell::Cell;
use std::sync::Arc;

use ptx_isa::Space;
use ptx_isa::effect::{Fault, window};

use crate::memory::Memory;
use crate::region::Span;
use crate::rows::{Bases, lanes};
use crate::shape::Shapes;
use crate::word::Word;

/// Addresses `start .. start + size` lie at `origin + address`.
#[derive(Copy, Clone)]
pub(crate) struct Site {
    pub start: u64,
    pub size: u64,
    pub origin: *mut u8,
}

impl Site {
    /// Covers nothing.
    pub(crate) const EMPTY: Site = Site { start: 0, size: 0, origin: std::ptr::null_mut() };
}

/// Pointers to what the executing warp can reach.
pub(crate) struct Ctx {
    /// Register rows.
    pub bases: Bases,
    /// The allocation that each memory instruction touched last.
    pub sites: Box<[Cell<Site>]>,
    /// How the addresses of each memory instruction lay to one another.
    pub shapes: Shapes,
    pub memory: Memory,
    /// The allocation that an access outside the fast handlers touched last.
    pub last: Cell<Span>,
    /// Shared memory of the CTA, from the address on that its rank gives it. [`crate::shape::SLACK`] bytes behind it
    /// are there too.
    pub shared: Site,
    /// Shared memory of the cluster's CTAs by rank.
    pub cluster: Vec<(*mut u8, u64)>,
    /// Local memory of the warp, and the bytes per lane that the current function may use.
    pub local: (*const Cell<u32>, u64),
    pub params: Arc<[u8]>,
    /// 32; see [`crate::access`].
    pub lanes: usize,
    /// Allocations as of this epoch are in `sites`.
    pub epoch: u64,
}

/// Where one lane's address leads.
pub(crate) enum Target {
    /// Bytes of the host.
    Host(*mut u8),
    /// Offset in the lane's local memory.
    Local(u64),
    /// Offset in the parameter block.
    Param(u64),
}

impl Ctx {
    /// The CTA's shared memory by generic addresses.
    pub(crate) fn generic_shared(&self) -> Site {
        let Site { start, size, origin } = self.shared;
        let generic = window::SHARED;
        Site { start: start + generic, size, origin: origin.wrapping_sub(generic as usize) }
    }

    /// Local memory of the warp if lanes may use its first `end` bytes.
    #[inline(always)]
    pub(crate) fn local(&self, end: u64) -> Option<&[Cell<u32>]> {
        let (p, size) = self.local;
        // SAFETY: the warp's local memory holds 32 lanes of `size` bytes (set with the pointer).
        (end <= size).then(|| unsafe { std::slice::from_raw_parts(p, size as usize * 8) })
    }

    /// The allocation at `address`; the one found last is at hand.
    fn span(&self, address: u64) -> Option<Span> {
        let last = self.last.get();
        if address.wrapping_sub(last.start) < last.size {
            return Some(last);
        }
        let found = self.memory.span(address)?;
        self.last.set(found);
        Some(found)
    }

    /// Drops cached allocations if some were freed.
    pub(crate) fn refresh(&mut self) {
        let epoch = self.memory.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.last.set(Span::NOTHING);
            self.sites.iter().for_each(|s| s.set(Site::EMPTY));
        }
    }

    /// Resolves `bytes` bytes at `address` for one lane.
    pub(crate) fn resolve(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<Target, Fault> {
        let outside = || Fault::OutOfBounds { lane, space, address, bytes, write };
        let len = bytes as u64;
        let inside = |at: u64, size: u64| at <= size && len <= size - at;
        let local = |at: u64| {
            if inside(at, self.local.1) { Ok(Target::Local(at)) } else { Err(outside()) }
        };
        let param = |at: u64| {
            if !write && inside(at, self.params.len() as u64) {
                Ok(Target::Param(at))
            } else {
                Err(outside())
            }
        };
        let cluster = |at: u64| match self.cluster.get((at / window::SHARED_CTA) as usize) {
            Some((p, size)) if inside(at % window::SHARED_CTA, *size) => {
                Ok(Target::Host(p.wrapping_add((at % window::SHARED_CTA) as usize)))
            }
            _ => Err(outside()),
        };
        match space {
            // Other ranks' addresses are for `.shared::cluster` alone: an H200 ends the launch.
            Space::Shared => {
                let Site { start, size, origin } = self.shared;
                if inside(address.wrapping_sub(start), size) {
                    Ok(Target::Host(origin.wrapping_add(address as usize)))
                } else {
                    Err(outside())
                }
            }
            Space::SharedCluster => cluster(address),
            Space::Local | Space::ParamFunc => local(address),
            Space::ParamEntry => param(address),
            Space::Generic if address < window::GLOBAL => match address {
                a if a.wrapping_sub(window::SHARED) < window::SHARED_SIZE => {
                    cluster(a - window::SHARED)
                }
                a if a.wrapping_sub(window::LOCAL) < window::LOCAL_SIZE => local(a - window::LOCAL),
                a if a.wrapping_sub(window::PARAM) < window::PARAM_SIZE => param(a - window::PARAM),
                _ => Err(outside()),
            },
            _ => match self.span(address) {
                Some(s) if inside(address - s.start, s.size) && (s.writable || !write) => {
                    Ok(Target::Host(s.origin().wrapping_add(address as usize)))
                }
                _ => Err(outside()),
            },
        }
    }

    /// Reads memory for one lane.
    pub(crate) fn read(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), Fault> {
        match self.resolve(lane, space, address, out.len() as u32, false)? {
            Target::Host(p) => {
                // SAFETY: `resolve` found all bytes inside one allocation; `out` is the host's.
                unsafe { std::ptr::copy_nonoverlapping(p, out.as_mut_ptr(), out.len()) }
            }
            Target::Param(at) => {
                out.copy_from_slice(&self.params[at as usize..at as usize + out.len()]);
            }
            Target::Local(at) => {
                let words = self.local(at + out.len() as u64).unwrap_or(&[]);
                for (n, b) in out.iter_mut().enumerate() {
                    let at = at as usize + n;
                    *b = words[at / 4 * 32 + lane as usize].get().to_le_bytes()[at % 4];
                }
            }
        }
        Ok(())
    }

    /// Writes memory for one lane.
    pub(crate) fn write(
        &self,
        lane: u8,
        space: Space,
        address: u64,
        data: &[u8],
    ) -> Result<(), Fault> {
        match self.resolve(lane, space, address, data.len() as u32, true)? {
            Target::Host(p) => {
                // SAFETY: `resolve` found all bytes inside one writable allocation.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), p, data.len()) }
            }
            // `resolve` refuses writes to parameters.
            Target::Param(_) => {}
            Target::Local(at) => {
                let words = self.local(at + data.len() as u64).unwrap_or(&[]);
                for (n, b) in data.iter().enumerate() {
                    let at = at as usize + n;
                    let word = &words[at / 4 * 32 + lane as usize];
                    let mut bytes = word.get().to_le_bytes();
                    bytes[at % 4] = *b;
                    word.set(u32::from_le_bytes(bytes));
                }
            }
        }
        Ok(())
    }

    /// Host memory from the lowest address on that some lanes access, and that address; `None` where their
    /// addresses do not all lie in one allocation.
    fn all(
        &self,
        mask: u32,
        space: Space,
        addresses: &[u64; 32],
        bytes: usize,
        write: bool,
    ) -> Option<(*mut u8, u64)> {
        let own = || lanes(mask).map(|lane| addresses[lane]);
        let (low, high) = (own().min()?, own().max()?);
        let long = u32::try_from((high - low).checked_add(bytes as u64)?).ok()?;
        match self.resolve(0, space, low, long, write) {
            Ok(Target::Host(p)) => Some((p, low)),
            Ok(Target::Param(_) | Target::Local(_)) | Err(_) => None,
        }
    }

    /// Reads 1, 2, 4 or 8 bytes for each of some lanes, zero-extended.
    pub(crate) fn gather(
        &self,
        mask: u32,
        space: Space,
        addresses: &[u64; 32],
        bytes: usize,
    ) -> Result<[u64; 32], Fault> {
        match bytes {
            2 => self.gather_as::<u32, 2>(mask, space, addresses),
            4 => self.gather_as::<u32, 4>(mask, space, addresses),
            8 => self.gather_as::<u64, 8>(mask, space, addresses),
            _ => self.gather_as::<u32, 1>(mask, space, addresses),
        }
    }

    #[inline(always)]
    fn gather_as<W: Word + Into<u64>, const B: usize>(
        &self,
        mask: u32,
        space: Space,
        addresses: &[u64; 32],
    ) -> Result<[u64; 32], Fault> {
        let mut out = [0; 32];
        let all = self.all(mask, space, addresses, B, false);
        for lane in lanes(mask) {
            out[lane] = match all {
                Some((p, low)) => {
                    let p = p.wrapping_add((addresses[lane] - low) as usize);
                    // SAFETY: `all` found the bytes of every lane inside one allocation.
                    unsafe { W::load::<B>(p) }.into()
                }
                None => {
                    let mut value = [0; 8];
                    self.read(lane as u8, space, addresses[lane], &mut value[..B])?;
                    u64::from_le_bytes(value)
                }
            };
        }
        Ok(out)
    }

    /// Writes the lowest 1, 2, 4 or 8 bytes of a value for each of some lanes.
    pub(crate) fn scatter(
        &self,
        mask: u32,
        space: Space,
        addresses: &[u64; 32],
        bytes: usize,
        values: &[u64; 32],
    ) -> Result<(), Fault> {
        match bytes {
            2 => self.scatter_as::<u32, 2>(mask, space, addresses, values, |v| v as u32),
            4 => self.scatter_as::<u32, 4>(mask, space, addresses, values, |v| v as u32),
            8 => self.scatter_as::<u64, 8>(mask, space, addresses, values, |v| v),
            _ => self.scatter_as::<u32, 1>(mask, space, addresses, values, |v| v as u32),
        }
    }

    #[inline(always)]
    fn scatter_as<W: Word, const B: usize>(
        &self,
        mask: u32,
        space: Space,
        addresses: &[u64; 32],
        values: &[u64; 32],
        lowest: impl Fn(u64) -> W,
    ) -> Result<(), Fault> {
        let all = self.all(mask, space, addresses, B, true);
        for lane in lanes(mask) {
            match all {
                Some((p, low)) => {
                    let p = p.wrapping_add((addresses[lane] - low) as usize);
                    // SAFETY: `all` found the bytes of every lane inside one writable allocation.
                    unsafe { lowest(values[lane]).store::<B>(p) }
                }
                None => {
                    let value = values[lane].to_le_bytes();
                    self.write(lane as u8, space, addresses[lane], &value[..B])?;
                }
            }
        }
        Ok(())
    }
}
