//! Copies between host, device and arrays, in one to three dimensions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ptx_runtime::Memory;
use ptx_runtime::timing::Profile;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph_memory;
use crate::texture::Array;
use c_border::Raw;

/// One side of a copy.
#[derive(Clone)]
pub enum Side {
    /// Memory of the host program.
    Host(Raw),
    /// Bytes that were read when the copy was asked for.
    Staged(Arc<[u8]>),
    /// Device memory.
    Device(u64),
    /// An array.
    Array(Arc<Array>),
}

/// An end of a copy: where it begins and how its rows lie.
#[derive(Clone)]
pub struct Endpoint {
    /// Which memory.
    pub side: Side,
    /// Byte in the row, row, plane.
    pub at: [u64; 3],
    /// Bytes from row to row.
    pub pitch: u64,
    /// Rows from plane to plane.
    pub height: u64,
}

/// A copy.
#[derive(Clone)]
pub struct Copy3d {
    /// To.
    pub to: Endpoint,
    /// From.
    pub from: Endpoint,
    /// Bytes of a row, rows, planes.
    pub size: [u64; 3],
}

/// Host memory up to this size is read at once, so that the call need not wait for its stream.
const STAGED: u64 = 64 << 10;

impl Endpoint {
    /// An end in one dimension.
    pub fn line(side: Side) -> Endpoint {
        Endpoint { side, at: [0; 3], pitch: 0, height: 0 }
    }

    fn offset(&self, y: u64, z: u64) -> Option<u64> {
        let row = self.at[1].checked_add(y)?;
        let plane = self.at[2].checked_add(z)?.checked_mul(self.height)?;
        plane.checked_add(row)?.checked_mul(self.pitch)?.checked_add(self.at[0])
    }

    /// Checks that a copy of `size` stays inside, and that the pitch holds a row.
    fn check(&self, context: &Context, size: [u64; 3], recorded: bool) -> Result {
        let rows = size[1] > 1 || size[2] > 1;
        let array = matches!(self.side, Side::Array(_));
        if rows && !array && self.pitch < self.at[0].saturating_add(size[0]) {
            return Err(Error::InvalidValue);
        }
        let first = self.offset(0, 0).ok_or(Error::InvalidValue)?;
        let last = self.offset(size[1] - 1, size[2] - 1).ok_or(Error::InvalidValue)?;
        let end = last.checked_add(size[0]).ok_or(Error::InvalidValue)?;
        match &self.side {
            Side::Host(at) => {
                let bytes = usize::try_from(end - first).map_err(|_| Error::InvalidValue)?;
                let start = Raw::new(at.address().wrapping_add(first as usize));
                if at.is_null() || !start.is_mapped(bytes) {
                    return Err(Error::InvalidValue);
                }
            }
            Side::Staged(bytes) if end <= bytes.len() as u64 => {}
            Side::Staged(_) => return Err(Error::InvalidValue),
            Side::Device(at) => {
                let start = at.checked_add(first).ok_or(Error::InvalidValue)?;
                let found = graph_memory::extent(context, start, recorded);
                let (block, bytes) = found.ok_or(Error::InvalidValue)?;
                if end - first > bytes - (start - block) {
                    return Err(Error::InvalidValue);
                }
            }
            Side::Array(array) => array.check(self.at, size)?,
        }
        Ok(())
    }
}

impl Copy3d {
    /// A copy in one dimension.
    pub fn line(to: Side, from: Side, bytes: u64) -> Copy3d {
        Copy3d { to: Endpoint::line(to), from: Endpoint::line(from), size: [bytes, 1, 1] }
    }

    /// Whether there is nothing to copy.
    pub fn is_empty(&self) -> bool {
        self.size.contains(&0)
    }

    /// Checks both sides; `recorded`: for a graph, where memory counts that its nodes will have allocated.
    pub fn check(&self, context: &Context, recorded: bool) -> Result {
        if self.is_empty() {
            return Ok(());
        }
        self.to.check(context, self.size, recorded)?;
        self.from.check(context, self.size, recorded)
    }

    /// Makes the copy independent of pageable host memory where that is cheap; whether the caller must wait for it.
    pub fn detach(&mut self, context: &Context) -> Result<bool> {
        if self.is_empty() {
            return Ok(false);
        }
        let bytes = self.size.iter().product::<u64>();
        let extent = |p: &Endpoint| {
            p.offset(self.size[1] - 1, self.size[2] - 1).map_or(u64::MAX, |o| o + self.size[0])
        };
        let mut wait = false;
        if let Side::Host(at) = self.from.side {
            let extent = extent(&self.from);
            if !context.is_pinned(at.address(), extent) {
                if bytes <= STAGED && extent <= 4 * STAGED {
                    let staged = at.bytes(0, extent as usize)?;
                    self.from.side = Side::Staged(staged.into());
                } else {
                    wait = true;
                }
            }
        }
        if let Side::Host(at) = self.to.side {
            wait |= !context.is_pinned(at.address(), extent(&self.to));
        }
        Ok(wait)
    }

    /// Nanoseconds that it takes on a device: over its link, or within its memory.
    pub fn nanoseconds(&self, profile: &Profile) -> u64 {
        let bytes = self.size.iter().fold(1u64, |n, d| n.saturating_mul(*d));
        let of_host = |end: &Endpoint| matches!(end.side, Side::Host(_) | Side::Staged(_));
        match of_host(&self.to) || of_host(&self.from) {
            true => profile.transfer_ns(bytes),
            false => profile.copy_ns(bytes),
        }
    }

    /// Does it.
    pub fn run(&self, memory: &Memory) -> Result {
        if self.is_empty() {
            return Ok(());
        }
        let [bytes, height, depth] = self.size;
        for z in 0..depth {
            for y in 0..height {
                let bad = Error::InvalidValue;
                let (to, from) =
                    (self.to.offset(y, z).ok_or(bad)?, self.from.offset(y, z).ok_or(bad)?);
                let (to_row, from_row) = (
                    [self.to.at[0], self.to.at[1] + y, self.to.at[2] + z],
                    [self.from.at[0], self.from.at[1] + y, self.from.at[2] + z],
                );
                row(memory, (&self.to.side, to, to_row), (&self.from.side, from, from_row), bytes)?;
            }
        }
        Ok(())
    }
}

/// Where a row of a side starts: the side, its byte there, and byte, row and plane of an array.
type RowStart<'a> = (&'a Side, u64, [u64; 3]);

fn row(memory: &Memory, to: RowStart<'_>, from: RowStart<'_>, bytes: u64) -> Result {
    let host = |at: &Raw, offset: u64| Raw::new(at.address().wrapping_add(offset as usize));
    match (to.0, from.0) {
        (Side::Device(to_at), Side::Device(from_at)) => {
            Ok(memory.copy(to_at + to.1, from_at + from.1, bytes)?)
        }
        (Side::Device(at), Side::Host(from_at)) => {
            Ok(host(from_at, from.1).send(memory, at + to.1, bytes)?)
        }
        (Side::Host(at), Side::Device(from_at)) => {
            Ok(host(at, to.1).receive(memory, from_at + from.1, bytes)?)
        }
        (Side::Host(at), Side::Host(from_at)) => {
            host(at, to.1).copy_from(host(from_at, from.1), bytes as usize);
            Ok(())
        }
        _ => {
            let data = take(memory, from, bytes)?;
            put(memory, to, &data)
        }
    }
}

fn take(memory: &Memory, from: RowStart<'_>, bytes: u64) -> Result<Vec<u8>> {
    let n = usize::try_from(bytes).map_err(|_| Error::InvalidValue)?;
    match from.0 {
        Side::Host(at) => Ok(at.bytes(from.1 as usize, n)?),
        Side::Staged(all) => {
            let start = from.1 as usize;
            Ok(all.get(start..start + n).ok_or(Error::InvalidValue)?.to_vec())
        }
        Side::Device(at) => {
            let mut out = vec![0; n];
            memory.read(at + from.1, &mut out)?;
            Ok(out)
        }
        Side::Array(array) => {
            let start = array.offset(from.2);
            let texels = array.texels.get(start..start + n).ok_or(Error::InvalidValue)?;
            Ok(texels.iter().map(|b| b.load(Ordering::Relaxed)).collect())
        }
    }
}

fn put(memory: &Memory, to: RowStart<'_>, data: &[u8]) -> Result {
    match to.0 {
        Side::Host(at) => Ok(at.write(to.1 as usize, data)?),
        Side::Staged(_) => Err(Error::InvalidValue),
        Side::Device(at) => Ok(memory.write(at + to.1, data)?),
        Side::Array(array) => {
            let start = array.offset(to.2);
            let texels = array.texels.get(start..start + data.len()).ok_or(Error::InvalidValue)?;
            texels.iter().zip(data).for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
            Ok(())
        }
    }
}

/// The side that a pointer of either kind means (unified addressing).
pub fn resolve(context: &Context, address: usize) -> Side {
    match graph_memory::extent(context, address as u64, true) {
        Some(_) => Side::Device(address as u64),
        None => Side::Host(Raw::new(address)),
    }
}
