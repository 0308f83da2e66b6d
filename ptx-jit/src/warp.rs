//! Operations over the warp by the slow way.

use std::sync::Arc;

use ptx_isa::Space;
use ptx_isa::effect::{Accessor, Fault, Flow, Machine, WarpOp};
use ptx_isa::special::Sreg;
use ptx_isa::tcgen05::TensorMemory;
use ptx_isa::texture::Texture;

use crate::ctx::Ctx;
use crate::entry::Slow;
use crate::special::special;
use crate::worker::Worker;

/// What a meaning over the warp sees, and a system call of one lane.
pub(crate) struct Lanes<'w, 'a> {
    worker: &'w mut Worker<'a>,
    info: &'w Slow,
    mask: u32,
    /// The warp whose rows hold the operands; `None`: they are staged in the context.
    warp: Option<usize>,
}

impl<'w, 'a> Lanes<'w, 'a> {
    pub(crate) fn new(worker: &'w mut Worker<'a>, info: &'w Slow, mask: u32) -> Lanes<'w, 'a> {
        Lanes { worker, info, mask, warp: None }
    }
    /// Lanes of warp `warp` that have met.
    pub(crate) fn met(
        worker: &'w mut Worker<'a>,
        info: &'w Slow,
        mask: u32,
        warp: usize,
    ) -> Lanes<'w, 'a> {
        Lanes { worker, info, mask, warp: Some(warp) }
    }
    fn set(&mut self, i: usize, l: usize, v: u64) {
        match self.warp {
            None => self.worker.set(self.info, i, l, v),
            Some(w) => self.worker.results(w)[i][l] = v,
        }
    }
    fn row(&self, i: usize) -> &[u64; 32] {
        // SAFETY: as in `Worker::ctx`.
        unsafe { &(*self.worker.scratch.ctx.as_ptr().cast::<Ctx>()).src[i] }
    }
}

impl Machine for Lanes<'_, '_> {
    fn mask(&self) -> u32 {
        self.mask
    }
    fn src_w(&self, i: usize) -> [u32; 32] {
        if let Some(w) = self.warp {
            return self.worker.rows(w)[i].map(|v| v as u32);
        }
        let row = self.row(i);
        std::array::from_fn(|l| (row[l / 2] >> (32 * (l % 2))) as u32)
    }
    fn src_d(&self, i: usize) -> [u64; 32] {
        match self.warp {
            None => *self.row(i),
            Some(w) => self.worker.rows(w)[i],
        }
    }
    fn src_p(&self, i: usize) -> u32 {
        self.src_w(i).iter().enumerate().fold(0, |m, (l, v)| m | u32::from(*v != 0) << l)
    }
    fn set_w(&mut self, i: usize, v: &[u32; 32]) {
        for (l, v) in v.iter().enumerate() {
            if self.mask >> l & 1 != 0 {
                self.set(i, l, u64::from(*v));
            }
        }
    }
    fn set_d(&mut self, i: usize, v: &[u64; 32]) {
        for (l, v) in v.iter().enumerate() {
            if self.mask >> l & 1 != 0 {
                self.set(i, l, *v);
            }
        }
    }
    fn set_p(&mut self, i: usize, v: u32) {
        for l in 0..32 {
            if self.mask >> l & 1 != 0 {
                let all = if v >> l & 1 != 0 { 0xffff_ffff } else { 0 };
                self.set(i, l, all);
            }
        }
    }
    fn read(
        &mut self,
        _: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), Fault> {
        self.worker.untold(lane)?;
        let p = self.worker.resolve(lane as usize, space, address, out.len() as u32, false)?;
        // SAFETY: `resolve` found the bytes readable; device memory and `out` do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(p, out.as_mut_ptr(), out.len()) };
        Ok(())
    }
    fn write(
        &mut self,
        _: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        data: &[u8],
    ) -> Result<(), Fault> {
        self.worker.untold(lane)?;
        let p = self.worker.resolve(lane as usize, space, address, data.len() as u32, true)?;
        // SAFETY: `resolve` found the bytes writable; device memory and `data` do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), p, data.len()) };
        Ok(())
    }
    fn update(
        &mut self,
        _: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        f: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        self.worker.untold(lane)?;
        self.worker.update(lane as usize, space, address, bytes, f)
    }
    fn tensor_memory(
        &mut self,
        rank: u32,
        f: &mut dyn FnMut(&mut TensorMemory),
    ) -> Result<(), String> {
        if rank != 0 {
            return Err(format!("the cluster has no block {rank}"));
        }
        f(self.worker.tensor.get_or_insert_default());
        Ok(())
    }
    fn special(&self, lane: u8, reg: Sreg) -> u64 {
        // SAFETY: as in `Worker::ctx`.
        let first = unsafe { (*self.worker.scratch.ctx.as_ptr().cast::<Ctx>()).thread0 };
        special(self.worker.kernel, self.worker.launch, self.worker.block, first + lane as u64, reg)
    }
    fn is_constant(&self, address: u64) -> bool {
        self.worker.launch.device.is_constant(address)
    }
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.worker.launch.device.texture(handle)
    }
}

impl Worker<'_> {
    /// One operation over the lanes `on`.
    pub(crate) fn warp(&mut self, info: &Slow, op: &WarpOp, on: &[usize]) -> Result<(), Fault> {
        let mask = on.iter().fold(0, |m, l| m | 1u32 << l);
        if let Some(n) = op.members {
            self.ask_members(info, n as usize, mask)?;
        }
        let mut view = Lanes::new(self, info, mask);
        match (op.run)(&mut view, op)? {
            Flow::Next => Ok(()),
            Flow::Retry => Err(Fault::Operand {
                lane: on.first().map_or(0, |l| *l as u8),
                message: format!("`{}` waits, which compiled code cannot", op.name),
            }),
        }
    }
}
