//! What a meaning over the warp sees of it: the [`Machine`] of the interpreter.

use std::ops::ControlFlow;
use std::sync::Arc;

use ptx_isa::Space;
use ptx_isa::effect::{Accessor, ArrayTouch, Cache, Fault, Machine, MbarrierEvent, Order, Scope};
use ptx_isa::special::Sreg;
use ptx_isa::tcgen05::TensorMemory;
use ptx_isa::texture::Texture;

use crate::allocation::Access;
use crate::code::EffectInfo;
use crate::ctx::Ctx;
use crate::moment::Moment;
use crate::observer::{Action, EventSet, MemoryAccess, Observer, WarpEvent};

/// One effect of one warp.
pub(crate) struct View<'a, O> {
    pub moment: Moment<'a>,
    pub info: &'a EffectInfo,
    /// Lanes to write in register rows.
    pub write: u32,
    pub observer: &'a mut O,
    /// Room for the addresses of an access.
    pub addresses: &'a mut [u64; 32],
}

impl<O: Observer> View<'_, O> {
    fn cx(&self) -> &Ctx {
        self.moment.cx
    }

    fn tell(&mut self, lane: u8, event: WarpEvent<'_>) -> Result<(), Fault> {
        match self.observer.warp(&self.moment, event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(message) => Err(Fault::Stopped { lane, message }),
        }
    }

    /// Tells of an access of one lane.
    #[inline(always)]
    fn tell_access(
        &mut self,
        by: Accessor,
        action: Action,
        lane: u8,
        (space, texture): (Space, u64),
        address: u64,
        bytes: u32,
    ) -> Result<(), Fault> {
        if !O::EVENTS.has(EventSet::ACCESS) {
            return Ok(());
        }
        let lane = lane & 31;
        self.addresses[lane as usize] = address;
        self.tell_accesses(by, action, 1 << lane, (space, texture), bytes)
    }

    /// Tells of an access of some lanes, whose addresses are at hand.
    #[inline(always)]
    fn tell_accesses(
        &mut self,
        by: Accessor,
        action: Action,
        lanes: u32,
        (space, texture): (Space, u64),
        bytes: u32,
    ) -> Result<(), Fault> {
        let (order, scope) = ordering(by, action);
        let access = MemoryAccess {
            by,
            action,
            space,
            bytes,
            order,
            scope,
            proxy: by.proxy(space),
            cache: Cache::Default,
            lanes,
            addresses: self.addresses,
            texture,
        };
        match self.observer.warp(&self.moment, WarpEvent::Access(&access)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(message) => {
                Err(Fault::Stopped { lane: lanes.trailing_zeros() as u8 & 31, message })
            }
        }
    }

    /// Tells of an access of all executing lanes.
    fn tell_of_all(
        &mut self,
        by: Accessor,
        action: Action,
        space: Space,
        addresses: &[u64; 32],
        bytes: usize,
    ) -> Result<(), Fault> {
        if !O::EVENTS.has(EventSet::ACCESS) || self.moment.lanes == 0 {
            return Ok(());
        }
        *self.addresses = *addresses;
        self.tell_accesses(by, action, self.moment.lanes, (space, 0), bytes as u32)
    }

    /// Tells of what a lane has done to the heap or printed.
    pub(crate) fn tell_system(&mut self, lane: u8, event: WarpEvent<'_>) -> Result<(), Fault> {
        if O::EVENTS.has(event.set()) { self.tell(lane, event) } else { Ok(()) }
    }
}

/// Order and scope of accesses of instructions that do not name them.
fn ordering(by: Accessor, action: Action) -> (Order, Scope) {
    match (by, action) {
        (Accessor::Mbarrier, _) => (Order::Relaxed, Scope::Cluster),
        (Accessor::BulkCopy, Action::Update) => (Order::Relaxed, Scope::Gpu),
        (Accessor::AsyncStore, _) => (Order::Relaxed, Scope::Cluster),
        (Accessor::Surface, Action::Update) => (Order::Relaxed, Scope::Gpu),
        _ => (Order::Weak, Scope::Sys),
    }
}

impl<O: Observer> Machine for View<'_, O> {
    fn mask(&self) -> u32 {
        self.moment.lanes
    }
    fn src_w(&self, i: usize) -> [u32; 32] {
        // SAFETY: the meaning gave a `W` as source `i`; decoding kept its kind.
        unsafe { *self.cx().bases.w(self.info.src[i].0) }
    }
    fn src_d(&self, i: usize) -> [u64; 32] {
        // SAFETY: the meaning gave a `D` as source `i`; decoding kept its kind.
        unsafe { *self.cx().bases.d(self.info.src[i].0) }
    }
    fn src_p(&self, i: usize) -> u32 {
        // SAFETY: the meaning gave a `P` as source `i`; decoding kept its kind.
        unsafe { self.cx().bases.p(self.info.src[i].0) }
    }
    fn set_w(&mut self, i: usize, v: &[u32; 32]) {
        // SAFETY: the meaning gave a `W` as destination `i`; decoding kept its kind.
        unsafe { self.cx().bases.set_w(self.info.dst[i].0, v, self.write) }
    }
    fn set_d(&mut self, i: usize, v: &[u64; 32]) {
        // SAFETY: the meaning gave a `D` as destination `i`; decoding kept its kind.
        unsafe { self.cx().bases.set_d(self.info.dst[i].0, v, self.write) }
    }
    fn set_p(&mut self, i: usize, v: u32) {
        // SAFETY: the meaning gave a `P` as destination `i`; decoding kept its kind.
        unsafe { self.cx().bases.set_p(self.info.dst[i].0, v, self.write) }
    }
    fn read(
        &mut self,
        by: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), Fault> {
        self.tell_access(by, Action::Read, lane, (space, 0), address, out.len() as u32)?;
        self.cx().read(lane, space, address, out)
    }
    fn write(
        &mut self,
        by: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        data: &[u8],
    ) -> Result<(), Fault> {
        self.tell_access(by, Action::Write, lane, (space, 0), address, data.len() as u32)?;
        self.cx().write(lane, space, address, data)
    }
    fn gather(
        &mut self,
        by: Accessor,
        space: Space,
        addresses: &[u64; 32],
        bytes: usize,
    ) -> Result<[u64; 32], Fault> {
        self.tell_of_all(by, Action::Read, space, addresses, bytes)?;
        self.cx().gather(self.moment.lanes, space, addresses, bytes)
    }
    fn scatter(
        &mut self,
        by: Accessor,
        space: Space,
        addresses: &[u64; 32],
        bytes: usize,
        values: &[u64; 32],
    ) -> Result<(), Fault> {
        self.tell_of_all(by, Action::Write, space, addresses, bytes)?;
        self.cx().scatter(self.moment.lanes, space, addresses, bytes, values)
    }
    fn update(
        &mut self,
        by: Accessor,
        lane: u8,
        space: Space,
        address: u64,
        bytes: u8,
        f: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        self.tell_access(by, Action::Update, lane, (space, 0), address, bytes as u32)?;
        self.cx().update(lane, space, address, bytes, f)
    }
    fn touches_array(
        &mut self,
        lane: u8,
        handle: u64,
        offset: u64,
        bytes: u32,
        touch: ArrayTouch,
    ) -> Result<(), Fault> {
        let (by, action) = match touch {
            ArrayTouch::Fetch => (Accessor::Texture, Action::Read),
            ArrayTouch::Read => (Accessor::Surface, Action::Read),
            ArrayTouch::Write => (Accessor::Surface, Action::Write),
            ArrayTouch::Update => (Accessor::Surface, Action::Update),
        };
        self.tell_access(by, action, lane, (Space::Tex, handle), offset, bytes)
    }
    fn mbarrier(&mut self, event: MbarrierEvent) -> Result<(), Fault> {
        if O::EVENTS.has(EventSet::SYNC) {
            self.tell(event.lane, WarpEvent::Mbarrier(event))?;
        }
        Ok(())
    }
    fn tensor_memory(
        &mut self,
        rank: u32,
        f: &mut dyn FnMut(&mut TensorMemory),
    ) -> Result<(), String> {
        let Some(cta) = self.moment.group.ctas.get(rank as usize) else {
            return Err(format!("the cluster has no block {rank}"));
        };
        f(cta.tensor.borrow_mut().get_or_insert_default());
        Ok(())
    }
    fn special(&self, lane: u8, reg: Sreg) -> u64 {
        self.moment.special(lane, reg)
    }
    fn is_constant(&self, address: u64) -> bool {
        self.cx().memory.find(address).is_some_and(|a| a.access == Access::Constant)
    }
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.moment.grid.params.textures.get(&handle).cloned()
    }
}
