//! Thread blocks and clusters: what one of them owns while it runs.

use std::cell::RefCell;

use ptx_isa::Kind;
use ptx_isa::barrier::Barrier;
use ptx_isa::effect::{AsyncGroupOp, window};
use ptx_isa::special::Sreg;
use ptx_isa::tcgen05::TensorMemory;

use crate::code::{Kernel, WarpValue};
use crate::control::{State, Warp};
use crate::geometry::Geometry;
use crate::rows::Area;
use crate::shape::SLACK;

/// Barriers of a CTA (PTX ISA 9.7.13.1).
pub(crate) const BARRIERS: usize = 16;

/// Warps of a warpgroup.
const WARPGROUP: usize = 4;

/// A thread block.
pub(crate) struct Cta {
    pub id: [u32; 3],
    /// Rank in its cluster.
    pub rank: u32,
    pub warps: Vec<Warp>,
    pub bars: [Barrier; BARRIERS],
    pub shared: Area,
    /// Tensor Memory, once something has used it.
    pub tensor: RefCell<Option<Box<TensorMemory>>>,
    /// Rows of the kernel's own activation, warp after warp.
    frames: Area,
    /// Rows of the warp area, warp after warp.
    rows: Area,
    /// What is the same in every CTA is in `rows`.
    filled: bool,
    /// What the block printed.
    pub output: Vec<u8>,
}

/// Which warp and split executes.
#[derive(Copy, Clone)]
pub(crate) struct At {
    pub cta: usize,
    pub warp: usize,
    pub split: usize,
}

/// The CTAs of a cluster, run by one host thread. Without clusters, one CTA.
pub(crate) struct Group {
    /// Position in the order of launch.
    pub index: u64,
    pub ctas: Vec<Cta>,
    /// Slices that it has had.
    pub slices: u64,
}

impl Group {
    pub(crate) fn new(k: &Kernel, g: &Geometry) -> Group {
        let warps = g.warps_per_cta();
        let cta = |rank| Cta {
            id: [0; 3],
            rank,
            warps: (0..warps).map(|_| Warp::new()).collect(),
            bars: Default::default(),
            shared: Area::new(g.shared_bytes as usize + SLACK as usize),
            tensor: RefCell::new(None),
            frames: Area::new(warps as usize * frame_stride(k)),
            rows: Area::new(warps as usize * k.warp_bytes as usize),
            filled: false,
            output: Vec::new(),
        };
        Group { index: 0, ctas: (0..g.ctas_per_cluster()).map(cta).collect(), slices: 0 }
    }

    /// Makes it group `index`, at its first instruction.
    pub(crate) fn start(&mut self, index: u64, k: &Kernel, g: &Geometry) {
        self.index = index;
        self.slices = 0;
        let first = g.first_cta(index);
        for cta in &mut self.ctas {
            let [cx, cy, _] = g.cluster;
            let r = cta.rank;
            cta.id = [first[0] + r % cx, first[1] + r / cx % cy, first[2] + r / (cx * cy)];
            cta.start(k, g);
        }
    }

    /// A warp.
    #[inline(always)]
    pub(crate) fn warp(&mut self, at: At) -> &mut Warp {
        &mut self.ctas[at.cta].warps[at.warp]
    }

    /// Whether all lanes have ended.
    pub(crate) fn done(&self) -> bool {
        self.ctas.iter().all(|c| c.warps.iter().all(|w| w.live == 0))
    }
}

/// Bytes between the kernel frames of two warps: an odd number of 128-byte rows keeps equal rows
/// of several warps in different cache sets.
fn frame_stride(k: &Kernel) -> usize {
    let bytes = k.functions[0].frame_bytes.next_multiple_of(128) as usize;
    if bytes >= 4096 && bytes.is_multiple_of(256) { bytes + 128 } else { bytes }
}

impl Cta {
    /// Whether something holds for every warp of a warp's warpgroup that has not ended.
    fn warpgroup(&self, warp: usize, holds: impl Fn(&Warp) -> bool) -> bool {
        let first = warp / WARPGROUP * WARPGROUP;
        let mut all = self.warps.iter().skip(first).take(WARPGROUP);
        all.all(|w| w.live == 0 || holds(w))
    }

    /// A split has come to a product of its warpgroup; whether it goes on. All four warps wait for the last one: an
    /// H200 holds the others at the product itself, neither at the fence before it nor at the wait behind.
    pub(crate) fn product(&mut self, warp: usize, split: usize) -> bool {
        let w = &mut self.warps[warp];
        if !w.held {
            w.came += 1;
        }
        let came = w.came;
        let all = self.warpgroup(warp, |w| w.came >= came);
        let w = &mut self.warps[warp];
        w.held = !all;
        if !all {
            w.splits[split].state = State::Product(came);
        }
        all
    }

    /// A split commits a group of products, or waits for groups; whether it goes on. Each warp multiplies its rows when
    /// it executes a product, so that a group is complete when all four have.
    pub(crate) fn products(&mut self, warp: usize, split: usize, what: AsyncGroupOp) -> bool {
        let own = &mut self.warps[warp];
        let groups = match what {
            AsyncGroupOp::Commit => {
                own.products += 1;
                return true;
            }
            AsyncGroupOp::Wait { pending, .. } => own.products.saturating_sub(pending),
            AsyncGroupOp::WaitAll => own.products,
        };
        let all = self.warpgroup(warp, |w| w.products >= groups);
        if !all {
            self.warps[warp].splits[split].state = State::Products(groups);
        }
        all
    }

    /// Lets the splits of a warp go on that have waited for the others of the warpgroup.
    pub(crate) fn resume_products(&mut self, warp: usize) {
        for split in 0..self.warps[warp].splits.len() {
            let ready = match self.warps[warp].splits[split].state {
                State::Product(came) => self.warpgroup(warp, |w| w.came >= came),
                State::Products(groups) => self.warpgroup(warp, |w| w.products >= groups),
                State::Ready | State::Bar(_) | State::Cluster | State::Sync(_) => continue,
            };
            if ready {
                self.warps[warp].splits[split].state = State::Ready;
            }
        }
    }

    fn start(&mut self, k: &Kernel, g: &Geometry) {
        let stride = frame_stride(k);
        for b in &mut self.bars {
            b.reset(self.warps.len());
        }
        self.shared.bytes().fill(0);
        *self.tensor.get_mut() = None;
        self.output.clear();
        let threads = g.threads_per_cta();
        let (frames, rows) = (self.frames.ptr(), self.rows.ptr());
        for (w, warp) in self.warps.iter_mut().enumerate() {
            let left = threads - 32 * w as u32;
            let all = if left >= 32 { u32::MAX } else { (1 << left) - 1 };
            warp.rows = rows.wrapping_add(w * k.warp_bytes as usize);
            warp.start(all, &k.functions[0], frames.wrapping_add(w * stride));
        }
        for w in 0..self.warps.len() {
            for &(what, kind, offset) in &k.warp_rows {
                let at = w as u32 * k.warp_bytes + offset;
                let value = |lane| match what {
                    WarpValue::Special(reg) => g.special(self.id, self.rank, w as u32, lane, reg),
                    WarpValue::Shared(at) => {
                        u64::from(self.rank) * window::SHARED_CTA + u64::from(at)
                    }
                };
                if what.names_cta() {
                    let v = value(0);
                    match kind {
                        Kind::W => self.rows.set_w(at, &[v as u32; 32]),
                        Kind::D => self.rows.set_d(at, &[v; 32]),
                        Kind::P => self.rows.set_p(at, 0u32.wrapping_sub(v as u32 & 1)),
                    }
                    continue;
                }
                if self.filled {
                    continue;
                }
                match kind {
                    Kind::W => {
                        let v = std::array::from_fn(|l| value(l as u32) as u32);
                        self.rows.set_w(at, &v);
                    }
                    Kind::D => {
                        let v = std::array::from_fn(|l| value(l as u32));
                        self.rows.set_d(at, &v);
                    }
                    Kind::P => {
                        let v = (0..32).fold(0, |m, l| m | ((value(l) & 1) as u32) << l);
                        self.rows.set_p(at, v);
                    }
                }
            }
        }
        self.filled = true;
    }
}

impl WarpValue {
    /// Whether it tells CTAs apart, one after the other in the same place; then it is the same in all their lanes.
    fn names_cta(self) -> bool {
        match self {
            WarpValue::Special(reg) => names_cta(reg),
            // A place has the same rank in each cluster.
            WarpValue::Shared(_) => false,
        }
    }
}

/// Whether a special register tells CTAs apart.
fn names_cta(reg: Sreg) -> bool {
    use Sreg::*;
    matches!(
        reg,
        CtaidX
            | CtaidY
            | CtaidZ
            | CtaidW
            | SmId
            | ClusterIdX
            | ClusterIdY
            | ClusterIdZ
            | ClusterIdW
            | ClusterCtaidX
            | ClusterCtaidY
            | ClusterCtaidZ
            | ClusterCtaidW
            | ClusterCtarank
    )
}
