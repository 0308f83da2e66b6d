//! What meanings over the warp ask of an engine.

use std::sync::Arc;

use super::{Accessor, ArrayTouch, Fault, MbarrierEvent};
use crate::special::Sreg;
use crate::tcgen05::TensorMemory;
use crate::texture::Texture;
use crate::types::Space;

/// What a [`WarpFn`](super::WarpFn) may ask of the engine that runs it.
///
/// Sources and destinations are numbered as the meaning gave them to
/// [`Cx::warp`](crate::Cx::warp). Writes touch executing lanes only.
pub trait Machine {
    /// The executing lanes.
    fn mask(&self) -> u32;
    /// All 32 lanes of source `i`, a `W`.
    fn src_w(&self, i: usize) -> [u32; 32];
    /// All 32 lanes of source `i`, a `D`.
    fn src_d(&self, i: usize) -> [u64; 32];
    /// Source `i`, a `P`, one bit per lane.
    fn src_p(&self, i: usize) -> u32;
    /// Sets destination `i`, a `W`, in the executing lanes.
    fn set_w(&mut self, i: usize, v: &[u32; 32]);
    /// Sets destination `i`, a `D`, in the executing lanes.
    fn set_d(&mut self, i: usize, v: &[u64; 32]);
    /// Sets destination `i`, a `P`, in the executing lanes.
    fn set_p(&mut self, i: usize, v: u32);
    /// Reads memory for one lane.
    ///
    /// # Errors
    /// A fault when the range is not readable.
    fn read(
        &mut self,
        by: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), Fault>;
    /// Writes memory for one lane.
    ///
    /// # Errors
    /// A fault when the range is not writable.
    fn write(
        &mut self,
        by: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        data: &[u8],
    ) -> Result<(), Fault>;
    /// Reads `bytes` bytes (1, 2, 4 or 8) at each executing lane's address, zero-extended.
    ///
    /// # Errors
    /// A fault when a range is not readable.
    fn gather(
        &mut self,
        by: Accessor,
        space: Space,
        addresses: &[u64; 32],
        bytes: usize,
    ) -> Result<[u64; 32], Fault> {
        let mut out = [0; 32];
        let mask = self.mask();
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let mut buffer = [0; 8];
            self.read(by, lane as u8, space, addresses[lane], &mut buffer[..bytes])?;
            out[lane] = u64::from_le_bytes(buffer);
        }
        Ok(out)
    }
    /// Writes the lowest `bytes` bytes (1, 2, 4 or 8) of a value at each executing lane's address.
    ///
    /// # Errors
    /// A fault when a range is not writable.
    fn scatter(
        &mut self,
        by: Accessor,
        space: Space,
        addresses: &[u64; 32],
        bytes: usize,
        values: &[u64; 32],
    ) -> Result<(), Fault> {
        let mask = self.mask();
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let value = values[lane].to_le_bytes();
            self.write(by, lane as u8, space, addresses[lane], &value[..bytes])?;
        }
        Ok(())
    }
    /// Atomically replaces an aligned element of 1, 2, 4 or 8 bytes by `f(old)`; returns `old`.
    ///
    /// # Errors
    /// A fault when the element is not writable.
    fn update(
        &mut self,
        by: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        f: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault>;
    /// Whether an address lies in a `.const` variable.
    fn is_constant(&self, address: u64) -> bool;
    /// Tells observers that a lane touches `bytes` bytes at `offset` of the array of a texture or
    /// surface, which does not lie in device memory.
    ///
    /// # Errors
    /// When an observer stops the launch.
    fn touches_array(
        &mut self,
        lane: u8,
        handle: u64,
        offset: u64,
        bytes: u32,
        touch: ArrayTouch,
    ) -> Result<(), Fault> {
        let _ = (lane, handle, offset, bytes, touch);
        Ok(())
    }
    /// Tells observers of an operation on an mbarrier object.
    ///
    /// # Errors
    /// When an observer stops the launch.
    fn mbarrier(&mut self, event: MbarrierEvent) -> Result<(), Fault> {
        let _ = event;
        Ok(())
    }
    /// Hands the Tensor Memory of a block of the cluster, by its rank, to `f`.
    ///
    /// # Errors
    /// When there is no such block.
    fn tensor_memory(
        &mut self,
        rank: u32,
        f: &mut dyn FnMut(&mut TensorMemory),
    ) -> Result<(), String> {
        let _ = f;
        Err(format!("block {rank} of the cluster has no Tensor Memory here"))
    }
    /// Value of a special register in one lane.
    fn special(&self, lane: u8, reg: Sreg) -> u64;
    /// The texture, sampler or surface object behind a handle; `None` when there is none.
    fn texture(&self, handle: u64) -> Option<Arc<Texture>>;
}
