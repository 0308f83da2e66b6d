//! Sizes of a launch, and the special registers that follow from them.

use std::sync::atomic::{AtomicU64, Ordering};

use ptx_isa::effect::window;
use ptx_isa::special::{Environment, Sreg};
use ptx_parse::code::MOST_LOCAL;

use crate::code::Kernel;
use crate::params::{LaunchError, LaunchParams};

/// Most shared memory of a block: 227 KiB, as on the largest devices.
pub const MAX_SHARED: u64 = 227 << 10;
/// SMs that `%smid` and residency assume (H200).
pub(crate) const SMS: u32 = 132;

/// Sizes of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub explicit_cluster: bool,
    pub shared_bytes: u32,
    pub dynamic_bytes: u32,
    pub sms: u32,
    pub grid_id: u64,
    pub env: Environment,
}

impl Geometry {
    pub(crate) fn threads_per_cta(&self) -> u32 {
        self.block.iter().product()
    }
    pub(crate) fn warps_per_cta(&self) -> u32 {
        self.threads_per_cta().div_ceil(32)
    }
    pub(crate) fn ctas_per_cluster(&self) -> u32 {
        self.cluster.iter().product()
    }
    pub(crate) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|d| self.grid[d] / self.cluster[d])
    }
    /// Groups in the grid.
    pub(crate) fn groups(&self) -> u64 {
        self.clusters().iter().map(|n| *n as u64).product()
    }
    /// First CTA of group `index`.
    pub(crate) fn first_cta(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.clusters().map(u64::from);
        let c = [index % x, index / x % y, index / x / y];
        std::array::from_fn(|d| c[d] as u32 * self.cluster[d])
    }
    /// Groups that one host thread may keep open when they wait for one another: what the device would hold, or all of
    /// a cooperative launch.
    pub(crate) fn resident(&self, params: &LaunchParams) -> usize {
        if params.cooperative {
            return usize::MAX;
        }
        let per_sm = (2048 / self.warps_per_cta().max(1) / 32).clamp(1, 32);
        (SMS * per_sm / self.ctas_per_cluster()).max(1) as usize
    }
    /// Thread index of a lane.
    pub(crate) fn thread(&self, warp: u32, lane: u8) -> [u32; 3] {
        [Sreg::TidX, Sreg::TidY, Sreg::TidZ]
            .map(|r| self.special([0; 3], 0, warp, lane as u32, r) as u32)
    }
    /// Linear index of a CTA.
    pub(crate) fn linear(&self, cta: [u32; 3]) -> u64 {
        let [x, y, _] = self.grid.map(u64::from);
        cta[0] as u64 + x * (cta[1] as u64 + y * cta[2] as u64)
    }
    pub(crate) fn new(k: &Kernel, p: &LaunchParams) -> Result<Geometry, LaunchError> {
        let dims = |what, given: [u32; 3], most: [u32; 3], product: u64| {
            let fits = (0..3).all(|d| (1..=most[d]).contains(&given[d]));
            let total: u64 = given.iter().map(|n| *n as u64).product();
            if fits && total <= product {
                return Ok(());
            }
            let rule = if fits {
                format!("at most {product} in all")
            } else {
                format!("each from 1 to at most {most:?}")
            };
            Err(LaunchError::Dimensions { what, given, rule })
        };
        dims("grid", p.grid, [i32::MAX as u32, 65535, 65535], u64::MAX)?;
        dims("block", p.block, [1024, 1024, 64], 1024)?;
        let tuning = &k.program.tuning;
        let want = tuning.req_ntid;
        if let Some(want) = want.filter(|w| *w != p.block) {
            let rule = format!("the kernel requires {want:?} (.reqntid)");
            return Err(LaunchError::Dimensions { what: "block", given: p.block, rule });
        }
        if let Some(most) = tuning.max_ntid {
            let most: u64 = most.iter().map(|n| *n as u64).product();
            let total: u64 = p.block.iter().map(|n| *n as u64).product();
            if total > most {
                let rule = format!("the kernel allows at most {most} threads (.maxntid)");
                return Err(LaunchError::Dimensions { what: "block", given: p.block, rule });
            }
        }
        let cluster = match tuning.req_ncta_per_cluster {
            Some(c) if p.cluster == [0; 3] => c,
            None if p.cluster == [0; 3] => [1; 3],
            _ => p.cluster,
        };
        dims("cluster", cluster, [16; 3], 16)?;
        if (0..3).any(|d| !p.grid[d].is_multiple_of(cluster[d])) {
            let rule = format!("the grid {:?} is no multiple of it", p.grid);
            return Err(LaunchError::Dimensions { what: "cluster", given: cluster, rule });
        }
        let fixed = k.program.shared_bytes as u64;
        let start = fixed.next_multiple_of(k.program.dynamic_shared_align.max(1) as u64);
        let bytes = if p.shared_bytes == 0 { fixed } else { start + p.shared_bytes as u64 };
        let limit = MAX_SHARED.min(window::SHARED_CTA);
        if bytes > limit {
            return Err(LaunchError::SharedMemory { bytes, limit });
        }
        let local = k.functions[0].local_bytes;
        if local > MOST_LOCAL {
            let (kernel, limit) = (k.name().into(), MOST_LOCAL);
            return Err(LaunchError::LocalMemory { kernel, bytes: local, limit });
        }
        static GRIDS: AtomicU64 = AtomicU64::new(1);
        Ok(Geometry {
            grid: p.grid,
            block: p.block,
            cluster,
            explicit_cluster: p.cluster != [0; 3] || tuning.req_ncta_per_cluster.is_some(),
            shared_bytes: bytes as u32,
            dynamic_bytes: p.shared_bytes,
            env: p.env,
            sms: SMS,
            grid_id: GRIDS.fetch_add(1, Ordering::Relaxed),
        })
    }
}

impl Geometry {
    /// Value of a special register that does not change while a thread runs (the changing ones,
    /// clocks and counters, read 0 here).
    pub(crate) fn special(&self, cta: [u32; 3], rank: u32, warp: u32, lane: u32, reg: Sreg) -> u64 {
        use Sreg::*;
        let thread = warp * 32 + lane;
        let [bx, by, bz] = self.block;
        let [cx, cy, cz] = self.cluster;
        let low = |n: u32| if n >= 32 { u32::MAX } else { (1 << n) - 1 };
        let clusters = self.clusters();
        (match reg {
            TidX => thread % bx,
            TidY => thread / bx % by,
            TidZ => thread / bx / by,
            NtidX => bx,
            NtidY => by,
            NtidZ => bz,
            CtaidX => cta[0],
            CtaidY => cta[1],
            CtaidZ => cta[2],
            NctaidX => self.grid[0],
            NctaidY => self.grid[1],
            NctaidZ => self.grid[2],
            LaneId => lane,
            WarpId => warp,
            NwarpId => self.warps_per_cta(),
            SmId => (self.linear(cta) % self.sms as u64) as u32,
            NsmId => self.sms,
            GridId => return self.grid_id,
            IsExplicitCluster => self.explicit_cluster as u32,
            ClusterIdX => cta[0] / cx,
            ClusterIdY => cta[1] / cy,
            ClusterIdZ => cta[2] / cz,
            NclusterIdX => clusters[0],
            NclusterIdY => clusters[1],
            NclusterIdZ => clusters[2],
            ClusterCtaidX => cta[0] % cx,
            ClusterCtaidY => cta[1] % cy,
            ClusterCtaidZ => cta[2] % cz,
            ClusterNctaidX => cx,
            ClusterNctaidY => cy,
            ClusterNctaidZ => cz,
            ClusterCtarank => rank,
            ClusterNctarank => cx * cy * cz,
            LanemaskEq => 1 << lane,
            LanemaskLt => low(lane),
            LanemaskLe => low(lane + 1),
            LanemaskGe => !low(lane),
            LanemaskGt => !low(lane + 1),
            TotalSmemSize | AggrSmemSize => self.shared_bytes,
            DynamicSmemSize => self.dynamic_bytes,
            _ => reg.of_environment().map_or(0, |n| self.env[n]),
        }) as u64
    }
}
