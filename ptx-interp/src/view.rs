//! What a meaning over the warp sees of it: the [`Machine`] of the interpreter.

use std::sync::Arc;

use ptx_isa::Space;
use ptx_isa::effect::{Fault, Machine};
use ptx_isa::special::Sreg;
use ptx_isa::texture::Texture;

use crate::clock;
use crate::code::EffectInfo;
use crate::ctx::Ctx;
use crate::grid::Grid;

/// One effect of one warp.
pub(crate) struct View<'a> {
    pub cx: &'a Ctx,
    pub info: &'a EffectInfo,
    pub mask: u32,
    pub write: u32,
    pub launch: &'a Grid<'a>,
    pub cta: [u32; 3],
    pub rank: u32,
    pub warp: u32,
    pub steps: u64,
}

impl Machine for View<'_> {
    fn mask(&self) -> u32 {
        self.mask
    }
    fn src_w(&self, i: usize) -> [u32; 32] {
        // SAFETY: the meaning gave a `W` as source `i`; decoding kept its kind.
        unsafe { *self.cx.bases.w(self.info.src[i].0) }
    }
    fn src_d(&self, i: usize) -> [u64; 32] {
        // SAFETY: the meaning gave a `D` as source `i`; decoding kept its kind.
        unsafe { *self.cx.bases.d(self.info.src[i].0) }
    }
    fn src_p(&self, i: usize) -> u32 {
        // SAFETY: the meaning gave a `P` as source `i`; decoding kept its kind.
        unsafe { self.cx.bases.p(self.info.src[i].0) }
    }
    fn set_w(&mut self, i: usize, v: &[u32; 32]) {
        // SAFETY: the meaning gave a `W` as destination `i`; decoding kept its kind.
        unsafe { self.cx.bases.set_w(self.info.dst[i].0, v, self.write) }
    }
    fn set_d(&mut self, i: usize, v: &[u64; 32]) {
        // SAFETY: the meaning gave a `D` as destination `i`; decoding kept its kind.
        unsafe { self.cx.bases.set_d(self.info.dst[i].0, v, self.write) }
    }
    fn set_p(&mut self, i: usize, v: u32) {
        // SAFETY: the meaning gave a `P` as destination `i`; decoding kept its kind.
        unsafe { self.cx.bases.set_p(self.info.dst[i].0, v, self.write) }
    }
    fn read(&mut self, lane: u8, space: Space, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.cx.read(lane, space, address, out)
    }
    fn write(&mut self, lane: u8, space: Space, address: u64, data: &[u8]) -> Result<(), Fault> {
        self.cx.write(lane, space, address, data)
    }
    fn update(
        &mut self,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        f: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        self.cx.update(lane, space, address, bytes, f)
    }
    fn special(&self, lane: u8, reg: Sreg) -> u64 {
        if clock::changes(reg) {
            return clock::read(reg, self.steps, self.launch.started);
        }
        self.launch.geometry.special(self.cta, self.rank, self.warp, lane as u32, reg)
    }
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.launch.params.textures.get(&handle).cloned()
    }
}
