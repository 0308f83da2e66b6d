//! Runs compiled blocks: the memory that code works on, and the slow way of effects.

use std::sync::Arc;

use ptx_isa::effect::{Accessor, Atom, AtomOp, Effect, Fault, Flow, Machine, Mem, WarpOp, window};
use ptx_isa::special::Sreg;
use ptx_isa::texture::Texture;
use ptx_isa::{Space, atomic};

use crate::access::REACH;
use crate::ctx::{Ctx, DONE, PATIENCE, Site};
use crate::emit::{Layout, SiteInfo};
use crate::entry::Slow;
use crate::thunk::Thunks;
use crate::{Kernel, Launch, Stop};

/// Loop turns between two looks at the device's limits.
const FUEL: i64 = 1 << 20;

/// Executes blocks of one launch, one after the other. Each host thread has its own.
pub struct Worker<'a> {
    kernel: &'a Kernel,
    launch: &'a Launch<'a>,
    thunks: Thunks,
    local_bytes: usize,
    scratch: Scratch,
    symbols: Vec<u64>,
    params: Vec<u64>,
    block: [u32; 3],
    started: bool,
    stop: Option<Stop>,
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.kernel.scratch().push(std::mem::take(&mut self.scratch));
    }
}

/// Memory of a worker, kept for the next launch.
#[derive(Default)]
pub(crate) struct Scratch {
    /// A [`Ctx`] and the sites behind it, in cache-line units.
    ctx: Vec<Line>,
    /// The sites are of spans that hold while [`Device::spans_hold_while`] says so.
    spans: Option<u64>,
    shared: Vec<Line>,
    local: Vec<Line>,
    spill: Vec<Line>,
    resume: Vec<u32>,
    /// Where groups that have reached a barrier go on, while others are in loops that wait.
    held: Vec<u32>,
}

#[repr(C, align(64))]
#[derive(Copy, Clone)]
struct Line([u64; 8]);

/// At least so many bytes.
fn grow(lines: &mut Vec<Line>, bytes: usize) {
    let count = bytes.div_ceil(64).max(1);
    if lines.len() < count {
        *lines = vec![Line([0; 8]); count];
    }
}

impl<'a> Worker<'a> {
    /// Memory for blocks of `launch`.
    pub fn new(kernel: &'a Kernel, launch: &'a Launch<'a>) -> Worker<'a> {
        let sites = kernel.needs.layout.sites.len();
        let local_bytes = kernel.needs.local_bytes;
        let groups = kernel.geometry.groups() as usize;
        let threads = groups * kernel.geometry.width as usize;
        // Code reads the parameters and symbols of its program, however many the launch has.
        let param_bytes = launch.params.len().max(kernel.param_bytes as usize);
        let mut params: Vec<u64> = vec![0; param_bytes.div_ceil(8) + 1];
        let mut symbols = launch.symbols.to_vec();
        symbols.resize(symbols.len().max(kernel.needs.symbols), 0);
        for (w, c) in params.iter_mut().zip(launch.params.chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..c.len()].copy_from_slice(c);
            *w = u64::from_le_bytes(bytes);
        }
        let mut scratch = kernel.scratch().pop().unwrap_or_default();
        grow(&mut scratch.ctx, size_of::<Ctx>() + sites * size_of::<Site>());
        grow(&mut scratch.shared, launch.shared_bytes as usize + 64);
        // Zeroed for each block, so no longer than this launch needs.
        scratch.shared.truncate((launch.shared_bytes as usize + 64).div_ceil(64));
        grow(&mut scratch.local, local_bytes * threads);
        grow(&mut scratch.spill, kernel.needs.layout.spill_bytes * groups + 64);
        scratch.resume.resize(groups, 0);
        let mut worker = Worker {
            kernel,
            launch,
            thunks: kernel.thunks,
            local_bytes,
            scratch,
            symbols,
            params,
            block: [0; 3],
            started: false,
            stop: None,
        };
        let shared = worker.scratch.shared.as_mut_ptr().cast::<u8>();
        let spans = launch.device.spans_hold_while();
        let before = std::mem::replace(&mut worker.scratch.spans, spans);
        let known = spans.is_some() && before == spans;
        for (n, info) in kernel.needs.layout.sites.iter().enumerate() {
            if known && worker.is_global(n) {
                continue;
            }
            // Lanes that are off may read where an unknown site points to.
            let mut site = Site { start: 0, room: 0, host: shared as u64 };
            if info.shared {
                site.room = room(info, launch.shared_bytes as u64);
            }
            worker.set_site(n, site);
        }
        worker
    }

    /// Whether a site is known to be in global or constant memory.
    fn is_global(&self, n: usize) -> bool {
        // SAFETY: the block behind `Ctx` has room for every site of the kernel, and any bits are a valid one.
        let site =
            unsafe { self.scratch.ctx.as_ptr().cast::<Ctx>().add(1).cast::<Site>().add(n).read() };
        site.room > 0 && site.start >= window::GLOBAL
    }

    fn set_site(&mut self, n: usize, site: Site) {
        // SAFETY: the block behind `Ctx` has room for every site of the kernel.
        unsafe {
            let sites = self.scratch.ctx.as_mut_ptr().cast::<Ctx>().add(1).cast::<Site>();
            sites.add(n).write(site);
        }
    }

    /// Runs block `index` (x fastest).
    ///
    /// # Errors
    /// A fault, or that the device wanted to stop. Memory may have changed.
    pub fn run(&mut self, index: u64) -> Result<(), Stop> {
        let (gx, gy) = (u64::from(self.launch.grid[0]), u64::from(self.launch.grid[1]));
        self.block = [(index % gx) as u32, (index / gx % gy) as u32, (index / gx / gy) as u32];
        if self.launch.shared_bytes > 0 {
            self.scratch.shared.fill(Line([0; 8]));
        }
        if self.local_bytes > 0 {
            self.scratch.local.fill(Line([0; 8]));
        }
        self.scratch.resume.fill(0);
        self.scratch.held.clear();
        let me: *mut Worker<'a> = self;
        let ctx = self.scratch.ctx.as_mut_ptr().cast::<Ctx>();
        let first = !std::mem::replace(&mut self.started, true);
        // SAFETY: `ctx` was sized for a `Ctx` and aligned as one, and any bits are a valid one.
        let c = unsafe { &mut *ctx };
        if first {
            c.params = self.params.as_ptr().cast();
            c.first_params.iter_mut().zip(&self.params).for_each(|(to, x)| *to = *x);
            c.symbols = self.symbols.as_ptr();
            c.shared = self.scratch.shared.as_mut_ptr().cast();
            c.local = self.scratch.local.as_mut_ptr().cast();
            c.shared_bytes = self.launch.shared_bytes as u64;
            c.spill = self.scratch.spill.as_mut_ptr().cast();
            c.resume = self.scratch.resume.as_mut_ptr();
            c.effect = self.thunks.effect;
            c.refuel = self.thunks.refuel;
            c.lane_thunk = self.thunks.lanes;
            c.run_effect = run_effect as *const () as usize;
            c.run_refuel = refuel as *const () as usize;
            c.lanes = crate::lanes::addresses().as_ptr();
        }
        c.fuel = FUEL;
        c.patience = PATIENCE;
        c.failed = 0;
        // The worker may have moved since the last block.
        c.worker = me.cast();
        for reg in &self.kernel.needs.specials {
            let value = match reg {
                Sreg::CtaidX => u64::from(self.block[0]),
                Sreg::CtaidY => u64::from(self.block[1]),
                Sreg::CtaidZ => u64::from(self.block[2]),
                // The same in all blocks: set with the first.
                Sreg::NctaidX | Sreg::NctaidY | Sreg::NctaidZ if !first => continue,
                _ => special(self.kernel, self.launch, self.block, 0, *reg),
            };
            c.special[*reg as usize] = value;
        }
        // Every call runs each group to its next barrier; all groups that have not finished wait
        // at one, so the next call passes it.
        loop {
            // SAFETY: the code was compiled for this layout of `Ctx` and the sizes allocated in
            // `new`; all its accesses to other memory are checked against spans of the device.
            let failed = unsafe { (self.kernel.entry)(ctx) };
            if failed != 0 {
                // An index of `brx.idx` is the only check without a helper.
                return Err(self.stop.take().unwrap_or(Stop::BranchIndex));
            }
            let Layout { barriers, waits, .. } = self.kernel.needs.layout;
            if barriers + waits == 0 || self.scratch.resume.iter().all(|r| *r == DONE) && waits == 0
            {
                return Ok(());
            }
            if waits > 0 && self.take_turns(barriers)? {
                return Ok(());
            }
        }
    }

    /// Between two calls of code with loops that wait; whether the block is done. Groups in such loops go on until all
    /// others are at a barrier or done.
    fn take_turns(&mut self, barriers: usize) -> Result<bool, Stop> {
        let Scratch { resume, held, .. } = &mut self.scratch;
        let in_loop = |r: &u32| *r != DONE && *r as usize > barriers;
        if resume.iter().any(in_loop) {
            held.resize(resume.len(), DONE);
            for (r, held) in resume.iter_mut().zip(held.iter_mut()) {
                if !in_loop(r) && *r != DONE {
                    *held = std::mem::replace(r, DONE);
                }
            }
            // What they wait for may be a block of another host thread.
            std::thread::yield_now();
            return if self.launch.device.go_on() { Ok(false) } else { Err(Stop::Device) };
        }
        for (r, held) in resume.iter_mut().zip(held.drain(..)) {
            if held != DONE {
                *r = held;
            }
        }
        Ok(resume.iter().all(|r| *r == DONE))
    }

    fn ctx(&mut self) -> &mut Ctx {
        // SAFETY: sized and aligned for a `Ctx` in `new`; compiled code is not running now but
        // waits for this helper, and reads the memory anew afterwards.
        unsafe { &mut *self.scratch.ctx.as_mut_ptr().cast::<Ctx>() }
    }

    /// One effect by the slow way.
    fn effect(&mut self, e: usize, site: i64) -> Result<(), Stop> {
        let kernel = self.kernel;
        let info = &kernel.needs.effects[e];
        let mask = self.ctx().mask;
        let width = kernel.geometry.width as usize;
        let on: Vec<usize> = (0..width).filter(|l| mask[*l] != 0).collect();
        let done = match &info.effect {
            Effect::Ld(m) => self.load(info, m, &on),
            Effect::St(m) => self.store(info, m, &on),
            Effect::Atom(a) => self.atomic(info, a, &on),
            Effect::Warp(op) => self.warp(info, op, &on),
            Effect::Trap => Err(Fault::Operand {
                lane: on.first().map_or(0, |l| *l as u8),
                message: "trap".into(),
            }),
            _ => Ok(()),
        };
        if let Err(fault) = done {
            let lane = match &fault {
                Fault::OutOfBounds { lane, .. }
                | Fault::Misaligned { lane, .. }
                | Fault::Operand { lane, .. } => *lane as u64,
                _ => 0,
            };
            let t = (self.ctx().thread0 + lane) as u32;
            let [x, y, _] = kernel.geometry.block;
            return Err(Stop::Fault {
                fault,
                function: info.place.function,
                span: info.place.span.clone(),
                block: self.block,
                thread: [t % x, t / x % y, t / x / y],
            });
        }
        if let Effect::Ld(Mem { place, .. })
        | Effect::St(Mem { place, .. })
        | Effect::Atom(Atom { place, .. }) = &info.effect
            && let Some(l) = on.first()
            && site >= 0
            && place.space != Space::Shared
        {
            let write = !matches!(info.effect, Effect::Ld(_));
            let address = self.address(info, *l, place.offset);
            self.learn(site as usize, place.space, address, write);
        }
        Ok(())
    }

    /// Remembers the allocation that the access touched, for the fast way.
    fn learn(&mut self, site: usize, space: Space, address: u64, write: bool) {
        let shared = self.ctx().shared as u64;
        let in_shared = address.wrapping_sub(window::SHARED) < window::SHARED_CTA;
        let (start, size, host) = if space == Space::Generic && in_shared {
            (window::SHARED, self.launch.shared_bytes as u64, shared)
        } else {
            match self.launch.device.span(address).filter(|s| s.writable || !write) {
                Some(s) => (s.start, s.size, s.host as u64),
                None => return,
            }
        };
        let info = &self.kernel.needs.layout.sites[site];
        // Addresses are told to be aligned by their distance from the start.
        let skip = start.next_multiple_of(info.unit.max(32)) - start;
        let size = size.saturating_sub(skip);
        let room = room(info, size);
        if room > 0 {
            self.set_site(site, Site { start: start + skip, room, host: host + skip });
        }
    }

    fn word(&mut self, info: &Slow, n: usize, lane: usize) -> u64 {
        let row = &self.ctx().src[n];
        if info.src.wide(n) { row[lane] } else { row[lane / 2] >> (32 * (lane % 2)) & 0xffff_ffff }
    }
    fn set(&mut self, info: &Slow, n: usize, lane: usize, v: u64) {
        let row = &mut self.ctx().dst[n];
        if info.dst.wide(n) {
            row[lane] = v;
        } else {
            let shift = 32 * (lane % 2);
            row[lane / 2] = row[lane / 2] & !(0xffff_ffff << shift) | (v & 0xffff_ffff) << shift;
        }
    }
    fn address(&mut self, info: &Slow, lane: usize, offset: i64) -> u64 {
        let base = self.word(info, 0, lane);
        if info.src.wide(0) {
            base.wrapping_add(offset as u64)
        } else {
            (base as u32).wrapping_add(offset as u32) as u64
        }
    }

    /// Host memory of an access of one lane.
    fn resolve(
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
                base.wrapping_add((first + lane) * self.local_bytes + at as usize)
            })
        };
        let param = |at: u64| {
            (fits(at, self.launch.params.len() as u64) && !write)
                .then(|| self.params.as_ptr().cast::<u8>().cast_mut().wrapping_add(at as usize))
        };
        let global = || {
            let s = self.launch.device.span(address)?;
            let at = address.wrapping_sub(s.start);
            (fits(at, s.size) && (s.writable || !write)).then(|| s.host.wrapping_add(at as usize))
        };
        let within = |start: u64, size: u64| address.wrapping_sub(start) < size;
        let found = match space {
            Space::Shared => shared(address),
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

    fn load(&mut self, info: &Slow, m: &Mem, on: &[usize]) -> Result<(), Fault> {
        let wide = m.bytes == 16;
        let bytes = if wide { 8 } else { m.bytes as usize };
        for (turn, &l) in on.iter().enumerate() {
            let p = self.checked(info, m, l, false)?;
            for n in 0..info.dst.count {
                // SAFETY: `checked` found all elements readable, and aligned.
                let v = unsafe { read(p.add(n * bytes), bytes) };
                let d = info.dst.wide(n);
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

    fn store(&mut self, info: &Slow, m: &Mem, on: &[usize]) -> Result<(), Fault> {
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

    fn atomic(&mut self, info: &Slow, a: &Atom, on: &[usize]) -> Result<(), Fault> {
        let count = a.count.max(1) as usize;
        let values = (info.src.count - 1) / count;
        for &l in on {
            let base = self.address(info, l, a.place.offset);
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

    /// Host memory of an atomic's element of one lane.
    fn aligned(
        &self,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u8,
    ) -> Result<*mut u8, Fault> {
        if !address.is_multiple_of(bytes as u64) {
            let (lane, bytes) = (lane as u8, bytes as u32);
            return Err(Fault::Misaligned { lane, space, address, bytes, write: true });
        }
        self.resolve(lane, space, address, bytes as u32, true)
    }

    fn update(
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

    fn warp(&mut self, info: &Slow, op: &WarpOp, on: &[usize]) -> Result<(), Fault> {
        let mask = on.iter().fold(0, |m, l| m | 1u32 << l);
        let mut view = View { worker: self, info, mask };
        match (op.run)(&mut view, op)? {
            Flow::Next => Ok(()),
            Flow::Retry => Err(Fault::Operand {
                lane: on.first().map_or(0, |l| *l as u8),
                message: format!("`{}` waits, which compiled code cannot", op.name),
            }),
        }
    }
}

/// [`Site::room`] of an allocation.
fn room(info: &SiteInfo, size: u64) -> u64 {
    if info.span > size { 0 } else { ((size - info.span) / info.unit + 1).min(most(info)) }
}

/// Most units that code can tell apart.
fn most(info: &SiteInfo) -> u64 {
    if info.narrow { REACH } else { u64::MAX }
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

/// Entry of compiled code into [`Worker::effect`]; not 0 when the block must stop.
unsafe extern "C" fn run_effect(ctx: *mut Ctx, e: u64, site: i64) -> u64 {
    // SAFETY: `run` put a pointer to itself there, and is waiting for the code.
    let worker = unsafe { &mut *(*ctx).worker.cast::<Worker<'_>>() };
    match worker.effect(e as usize, site) {
        Ok(()) => 0,
        Err(stop) => {
            worker.stop = Some(stop);
            1
        }
    }
}

/// Entry of compiled code when it has run [`FUEL`] loop turns; not 0 when the block must stop.
unsafe extern "C" fn refuel(ctx: *mut Ctx) -> u64 {
    // SAFETY: as in `run_effect`.
    let worker = unsafe { &mut *(*ctx).worker.cast::<Worker<'_>>() };
    worker.ctx().fuel = FUEL;
    if worker.launch.device.go_on() {
        return 0;
    }
    worker.stop = Some(Stop::Device);
    1
}

/// Value of a special register in thread `thread` of a block.
pub(crate) fn special(k: &Kernel, l: &Launch<'_>, block: [u32; 3], thread: u64, reg: Sreg) -> u64 {
    let [x, y, z] = k.geometry.block.map(u64::from);
    let lane = thread & 31;
    let [bx, by, bz] = block.map(u64::from);
    let [gx, gy, gz] = l.grid.map(u64::from);
    let threads = k.geometry.threads() as u64;
    match reg {
        Sreg::TidX => thread % x,
        Sreg::TidY => thread / x % y,
        Sreg::TidZ => thread / x / y,
        Sreg::NtidX => x,
        Sreg::NtidY => y,
        Sreg::NtidZ => z,
        Sreg::CtaidX => bx,
        Sreg::CtaidY => by,
        Sreg::CtaidZ => bz,
        Sreg::NctaidX => gx,
        Sreg::NctaidY => gy,
        Sreg::NctaidZ => gz,
        Sreg::LaneId => lane,
        Sreg::WarpId => thread / 32,
        Sreg::NwarpId => threads.div_ceil(32),
        Sreg::LanemaskEq => 1 << lane,
        Sreg::LanemaskLe => (2 << lane) - 1,
        Sreg::LanemaskLt => (1 << lane) - 1,
        Sreg::LanemaskGe => !((1u64 << lane) - 1) & 0xffff_ffff,
        Sreg::LanemaskGt => !((2u64 << lane) - 1) & 0xffff_ffff,
        _ => l.device.special(block, reg),
    }
}

/// What a meaning over the warp sees.
struct View<'w, 'a> {
    worker: &'w mut Worker<'a>,
    info: &'w Slow,
    mask: u32,
}

impl View<'_, '_> {
    fn row(&self, i: usize) -> &[u64; 32] {
        // SAFETY: as in `Worker::ctx`.
        unsafe { &(*self.worker.scratch.ctx.as_ptr().cast::<Ctx>()).src[i] }
    }
}

impl Machine for View<'_, '_> {
    fn mask(&self) -> u32 {
        self.mask
    }
    fn src_w(&self, i: usize) -> [u32; 32] {
        let row = self.row(i);
        std::array::from_fn(|l| (row[l / 2] >> (32 * (l % 2))) as u32)
    }
    fn src_d(&self, i: usize) -> [u64; 32] {
        *self.row(i)
    }
    fn src_p(&self, i: usize) -> u32 {
        self.src_w(i).iter().enumerate().fold(0, |m, (l, v)| m | u32::from(*v != 0) << l)
    }
    fn set_w(&mut self, i: usize, v: &[u32; 32]) {
        for (l, v) in v.iter().enumerate() {
            if self.mask >> l & 1 != 0 {
                self.worker.set(self.info, i, l, *v as u64);
            }
        }
    }
    fn set_d(&mut self, i: usize, v: &[u64; 32]) {
        for (l, v) in v.iter().enumerate() {
            if self.mask >> l & 1 != 0 {
                self.worker.set(self.info, i, l, *v);
            }
        }
    }
    fn set_p(&mut self, i: usize, v: u32) {
        for l in 0..32 {
            if self.mask >> l & 1 != 0 {
                let all = if v >> l & 1 != 0 { 0xffff_ffff } else { 0 };
                self.worker.set(self.info, i, l, all);
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
        self.worker.update(lane as usize, space, address, bytes, f)
    }
    fn special(&self, lane: u8, reg: Sreg) -> u64 {
        // SAFETY: as in `Worker::ctx`.
        let first = unsafe { (*self.worker.scratch.ctx.as_ptr().cast::<Ctx>()).thread0 };
        special(self.worker.kernel, self.worker.launch, self.worker.block, first + lane as u64, reg)
    }
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.worker.launch.device.texture(handle)
    }
}

/// Whether the host has atomics for the words of `a`.
pub(crate) fn can(a: &Atom) -> bool {
    matches!(a.bytes, 2 | 4 | 8) && (a.op != AtomOp::Cas || a.count <= 1)
}
