//! How many blocks of a kernel an SM holds at once, and which limit says so.
//!
//! Sources: NVIDIA OpenCL Programming Guide 2.3, 3.2 (register formula of 1.x); CUDA Occupancy
//! Calculator (2.x on); launch records of an H200.

use std::fmt;

use thiserror::Error;

use crate::profile::{Profile, RegisterScope};

/// What a block of the kernel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockNeeds {
    /// Threads of a block.
    pub threads: u32,
    /// 32-bit registers of a thread; 0 = do not let registers limit.
    pub registers: u32,
    /// Static and dynamic shared memory in bytes.
    pub shared: u32,
    /// Bytes of kernel arguments, which live in shared memory on 1.x.
    pub arguments: u32,
}

/// What limits the number of blocks on an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limiter {
    /// Resident blocks per SM.
    Blocks,
    /// Resident warps (threads) per SM.
    Warps,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocks => "resident blocks per SM",
            Self::Warps => "warps per SM",
            Self::Registers => "registers",
            Self::Shared => "shared memory",
        })
    }
}

/// A block that no SM of the device can hold: which limit, and by how much it is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DoesNotFit {
    /// Block without threads.
    #[error("a block of 0 threads cannot be launched")]
    NoThreads,
    /// Too many threads.
    #[error("a block of {threads} threads exceeds the device's {limit} by {}", .threads - .limit)]
    Threads {
        /// Threads asked for.
        threads: u32,
        /// The device's limit.
        limit: u32,
    },
    /// Too many threads in one dimension.
    #[error("a block of {extent} threads in {axis} exceeds the device's {limit} by {}", .extent - .limit)]
    BlockExtent {
        /// `x`, `y` or `z`.
        axis: char,
        /// Threads asked for in that dimension.
        extent: u32,
        /// The device's limit.
        limit: u32,
    },
    /// Too many blocks in one dimension.
    #[error("a grid of {extent} blocks in {axis} exceeds the device's {limit} by {}", .extent - .limit)]
    GridExtent {
        /// `x`, `y` or `z`.
        axis: char,
        /// Blocks asked for in that dimension.
        extent: u32,
        /// The device's limit.
        limit: u32,
    },
    /// Too many registers per thread.
    #[error("{registers} registers per thread exceed the {limit} that a thread can address by {}", .registers - .limit)]
    RegistersPerThread {
        /// Registers asked for.
        registers: u32,
        /// The device's limit.
        limit: u32,
    },
    /// Too many registers for one block.
    #[error("a block needs {registers} registers, {} more than the SM's {limit}", .registers - .limit)]
    RegistersPerBlock {
        /// Registers of a block, rounded as they are handed out.
        registers: u64,
        /// The SM's registers.
        limit: u64,
    },
    /// Too much shared memory.
    #[error("a block needs {bytes} bytes of shared memory, {} more than the device's {limit}", .bytes - .limit)]
    Shared {
        /// Bytes of a block.
        bytes: u64,
        /// The device's limit.
        limit: u64,
    },
}

/// Occupancy of one SM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupancy {
    /// Warps of a block.
    pub warps_per_block: u32,
    /// Resident blocks.
    pub blocks: u32,
    /// Resident warps.
    pub warps: u32,
    /// The most warps that the SM can hold.
    pub max_warps: u32,
    /// Blocks that each limit would allow, in the order of [`Limiter`]; `None` = does not limit.
    pub blocks_by: [(Limiter, Option<u32>); 4],
    /// Limits that all allow only `blocks`.
    pub limiters: Vec<Limiter>,
    /// Registers that a block occupies, rounded as they are handed out.
    pub registers_per_block: u64,
    /// Shared memory that a block occupies, rounded and with the system's share.
    pub shared_per_block: u64,
}

impl Occupancy {
    /// Resident warps over the most possible, 0 to 1.
    pub fn fraction(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.max_warps)
    }
}

fn round_up(value: u64, unit: u32) -> u64 {
    value.next_multiple_of(u64::from(unit.max(1)))
}

/// Registers that a block occupies. 1.x: ceil(R * ceil(T, 32), Rmax/32) per block (OpenCL
/// Programming Guide 2.3, 3.2); later: rounded per warp.
pub fn registers_per_block(p: &Profile, needs: &BlockNeeds) -> u64 {
    let (unit, warp_size) = (p.allocation.register_unit, p.limits.warp_size);
    let warps = u64::from(needs.threads.div_ceil(warp_size));
    let per_warp = u64::from(needs.registers) * u64::from(warp_size);
    match p.allocation.register_scope {
        RegisterScope::Block => round_up(per_warp * warps, unit),
        RegisterScope::Warp => round_up(per_warp, unit) * warps,
    }
}

/// Shared memory that a block occupies.
pub fn shared_per_block(p: &Profile, needs: &BlockNeeds) -> u64 {
    let arguments = if p.allocation.arguments_in_shared { needs.arguments } else { 0 };
    let bytes = u64::from(needs.shared)
        + u64::from(arguments)
        + u64::from(p.allocation.shared_reserved_per_block);
    round_up(bytes, p.allocation.shared_unit)
}

/// Whether the device takes a grid and a block of these extents, dimension by dimension.
pub fn extents(p: &Profile, grid: [u32; 3], block: [u32; 3]) -> Result<(), DoesNotFit> {
    for (i, axis) in ['x', 'y', 'z'].into_iter().enumerate() {
        let (extent, limit) = (block[i], p.limits.max_block_dim[i]);
        if extent > limit {
            return Err(DoesNotFit::BlockExtent { axis, extent, limit });
        }
        let (extent, limit) = (grid[i], p.limits.max_grid_dim[i]);
        if extent > limit {
            return Err(DoesNotFit::GridExtent { axis, extent, limit });
        }
    }
    Ok(())
}

/// Resident blocks and warps of an SM, or why not even one block fits.
pub fn occupancy(p: &Profile, needs: &BlockNeeds) -> Result<Occupancy, DoesNotFit> {
    let l = &p.limits;
    if needs.threads == 0 {
        return Err(DoesNotFit::NoThreads);
    }
    if needs.threads > l.max_threads_per_block {
        return Err(DoesNotFit::Threads { threads: needs.threads, limit: l.max_threads_per_block });
    }
    if needs.registers > l.max_registers_per_thread {
        return Err(DoesNotFit::RegistersPerThread {
            registers: needs.registers,
            limit: l.max_registers_per_thread,
        });
    }
    let registers = registers_per_block(p, needs);
    if registers > l.registers_per_sm.into() {
        return Err(DoesNotFit::RegistersPerBlock { registers, limit: l.registers_per_sm.into() });
    }
    let shared = shared_per_block(p, needs);
    let own_shared = shared - u64::from(p.allocation.shared_reserved_per_block);
    if own_shared > l.max_shared_bytes_per_block.into() {
        return Err(DoesNotFit::Shared {
            bytes: own_shared,
            limit: l.max_shared_bytes_per_block.into(),
        });
    }
    let warps_per_block = needs.threads.div_ceil(l.warp_size);
    let by = |have: u32, need: u64| (u64::from(have).checked_div(need)).map(|n| n as u32);
    let by_registers = match p.allocation.register_scope {
        RegisterScope::Block => by(l.registers_per_sm, registers),
        // Every scheduler has its part of the register file, so the warps that fit are a multiple
        // of their number; blocks then share these warps out.
        RegisterScope::Warp => by(l.registers_per_sm, registers / u64::from(warps_per_block))
            .map(|warps| warps / p.allocation.warp_unit * p.allocation.warp_unit / warps_per_block),
    };
    let blocks_by = [
        (Limiter::Blocks, Some(l.max_blocks_per_sm)),
        (Limiter::Warps, Some(l.max_warps_per_sm / warps_per_block)),
        (Limiter::Registers, by_registers),
        (Limiter::Shared, by(l.shared_bytes_per_sm, shared)),
    ];
    let blocks = blocks_by.iter().filter_map(|b| b.1).min().unwrap_or(0);
    let limiters = blocks_by.iter().filter(|b| b.1 == Some(blocks)).map(|b| b.0).collect();
    Ok(Occupancy {
        warps_per_block,
        blocks,
        warps: blocks * warps_per_block,
        max_warps: l.max_warps_per_sm,
        blocks_by,
        limiters,
        registers_per_block: registers,
        shared_per_block: shared,
    })
}

/// KB of shared memory that launches without any leave to it, where it shares memory with L1.
const UNUSED_KB: u32 = 32;
/// KB of shared memory up to which there is room for twice as many blocks as are resident.
const TWICE_KB: u32 = 132;
/// Threads of a block up to which that holds.
const TWICE_THREADS: u32 = 512;

/// Bytes of L1 in a launch; `None` = the device has none. Where L1 and shared memory are one, shared memory gets the
/// smallest size that holds the resident blocks, and twice as many as long as that is not much (126 launches of an
/// H200, `launch__shared_mem_config_size`; other devices are assumed to do the same).
pub fn l1_bytes(p: &Profile, needs: &BlockNeeds, occupancy: &Occupancy) -> Option<u64> {
    let l1 = p.l1.as_ref()?;
    let Some(&largest) = l1.shared_kb.last().filter(|_| needs.shared > 0) else {
        return Some(l1.bytes);
    };
    let fitting = |blocks: u32| {
        let bytes = occupancy.shared_per_block * u64::from(blocks);
        let mut sizes = l1.shared_kb.iter().copied();
        sizes.find(|kb| u64::from(*kb) << 10 >= bytes).unwrap_or(largest)
    };
    let resident = fitting(occupancy.blocks);
    let twice = if needs.threads > TWICE_THREADS { occupancy.blocks } else { 2 * occupancy.blocks };
    let roomy = fitting(twice.min(p.limits.max_blocks_per_sm));
    let kb = resident.max(roomy.min(TWICE_KB.min(largest)));
    let all = l1.bytes + (u64::from(UNUSED_KB) << 10);
    Some(all.saturating_sub(u64::from(kb) << 10).max(u64::from(l1.ways * l1.line_bytes)))
}

/// One row of the table over block sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    /// Threads of a block.
    pub threads: u32,
    /// Occupancy, or why the block cannot be launched.
    pub result: Result<Occupancy, DoesNotFit>,
}

/// Occupancy for every block size that is a multiple of the warp, registers and shared memory per
/// block as given.
pub fn table(p: &Profile, needs: &BlockNeeds) -> Vec<TableRow> {
    (1..=p.limits.max_threads_per_block / p.limits.warp_size)
        .map(|warps| {
            let threads = warps * p.limits.warp_size;
            let result = occupancy(p, &BlockNeeds { threads, ..*needs });
            TableRow { threads, result }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Catalog;

    fn needs(threads: u32, registers: u32, shared: u32) -> BlockNeeds {
        BlockNeeds { threads, registers, shared, arguments: 0 }
    }

    #[test]
    fn reports_which_limit_and_by_how_much() {
        let p = Catalog::embedded().unwrap().get("8800 GTX").unwrap();
        assert_eq!(
            occupancy(&p, &needs(1024, 10, 0)).unwrap_err().to_string(),
            "a block of 1024 threads exceeds the device's 512 by 512"
        );
        assert_eq!(
            occupancy(&p, &needs(512, 20, 0)).unwrap_err().to_string(),
            "a block needs 10240 registers, 2048 more than the SM's 8192"
        );
        assert_eq!(
            occupancy(&p, &needs(64, 10, 16896)).unwrap_err().to_string(),
            "a block needs 16896 bytes of shared memory, 512 more than the device's 16384"
        );
        assert_eq!(occupancy(&p, &needs(0, 1, 0)), Err(DoesNotFit::NoThreads));
    }

    #[test]
    fn every_dimension_has_its_own_limit() {
        let p = Catalog::embedded().unwrap().get("8800 GTX").unwrap();
        assert_eq!(extents(&p, [65535, 1, 1], [512, 1, 64]), Ok(()));
        assert_eq!(
            extents(&p, [1; 3], [1, 1, 65]).unwrap_err().to_string(),
            "a block of 65 threads in z exceeds the device's 64 by 1"
        );
        assert_eq!(
            extents(&p, [1, 1, 2], [1; 3]).unwrap_err().to_string(),
            "a grid of 2 blocks in z exceeds the device's 1 by 1"
        );
    }

    #[test]
    fn arguments_count_on_1x_only() {
        let catalog = Catalog::embedded().unwrap();
        let with = BlockNeeds { arguments: 16, ..needs(64, 10, 2048) };
        let g80 = catalog.get("8800 GTX").unwrap();
        assert_eq!(shared_per_block(&g80, &with), 2560);
        let k20x = catalog.get("K20X").unwrap();
        assert_eq!(shared_per_block(&k20x, &with), 2048);
    }

    #[test]
    fn fermi_and_kepler_round_per_warp() {
        let catalog = Catalog::embedded().unwrap();
        // CUDA Occupancy Calculator: 2.0, 21 registers, 192 threads: 704 registers per warp, 46
        // warps by registers, 7 blocks of 6.
        let fermi = occupancy(&catalog.get("M2090").unwrap(), &needs(192, 21, 0)).unwrap();
        assert_eq!((fermi.blocks, fermi.limiters.as_slice()), (7, &[Limiter::Registers][..]));
        // 3.5, 256 threads of 32 registers: 8 blocks fill 64 warps, all limits at once.
        let kepler = occupancy(&catalog.get("K20X").unwrap(), &needs(256, 32, 0)).unwrap();
        assert_eq!((kepler.blocks, kepler.warps), (8, 64));
        assert_eq!(kepler.limiters, [Limiter::Warps, Limiter::Registers]);
    }

    #[test]
    fn table_covers_every_multiple_of_the_warp() {
        let p = Catalog::embedded().unwrap().get("H200").unwrap();
        let rows = table(&p, &needs(0, 64, 0));
        assert_eq!(rows.len(), 32);
        assert_eq!(rows[31].threads, 1024);
        assert!(rows.iter().all(|r| r.result.as_ref().is_ok_and(|o| o.fraction() <= 0.5)));
    }

    /// What an H200 left to L1 in 126 launches, by threads, registers and shared memory of a block.
    #[test]
    fn l1_has_what_shared_memory_leaves() {
        let h200 = Catalog::embedded().unwrap().get("H200").unwrap();
        let text = include_str!("../../golden/data/timing/carveout.json");
        let launches: Vec<std::collections::BTreeMap<String, u32>> =
            serde_json::from_str(text).unwrap();
        assert_eq!(launches.len(), 126);
        for launch in &launches {
            let needs = needs(launch["threads"], launch["registers"], launch["shared"]);
            let left = l1_bytes(&h200, &needs, &occupancy(&h200, &needs).unwrap()).unwrap();
            assert_eq!(256 - left / 1024, u64::from(launch["kb"]), "{launch:?}");
        }
        let none = needs(256, 32, 0);
        assert_eq!(l1_bytes(&h200, &none, &occupancy(&h200, &none).unwrap()), Some(224 << 10));
        // Memory of their own, and none.
        for (name, left) in [("GTX 1080", Some(24 << 10)), ("GTX 280", None)] {
            let (device, some) =
                (Catalog::embedded().unwrap().get(name).unwrap(), needs(256, 16, 4096));
            let found = l1_bytes(&device, &some, &occupancy(&device, &some).unwrap());
            assert_eq!(found, left, "{name}");
        }
    }
}
