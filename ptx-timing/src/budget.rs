//! How many registers an assembler gives a thread before it saves some.
//!
//! ptxas 13.5 for sm_90, with kernels of 4 to 94 values that live through a loop of twelve loads, blocks of 32 to 1024
//! threads and 4 to 48 KB of shared memory: where the text tells how large a block is, registers last for as many
//! blocks as threads and shared memory leave room for, and further steps are those at which a block less is resident.
//! Where it does not tell that, blocks of 128 threads without shared memory come out the same. Where it says how many
//! blocks have to be resident, or how many registers there are, all of these are used.

use ptx_parse::code::Program;

use crate::occupancy::{BlockNeeds, shared_per_block};
use crate::profile::Profile;

/// What the text of a kernel says about its blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Threads of a block at most (`.maxntid`, `.reqntid`).
    pub threads: Option<u32>,
    /// Bytes of shared memory that the text declares.
    pub shared: u32,
    /// Blocks that have to be resident (`.minnctapersm`).
    pub blocks: Option<u32>,
    /// Registers of a thread at most (`.maxnreg`).
    pub registers: Option<u32>,
}

/// Threads of a block that the text says nothing about.
const USUAL_THREADS: u32 = 128;

impl Budget {
    /// Of a kernel.
    pub fn new(program: &Program) -> Self {
        let tuning = &program.tuning;
        let all = |n: [u32; 3]| n.iter().fold(1, |a: u32, n| a.saturating_mul(*n)).max(1);
        let threads = tuning.max_ntid.or(tuning.req_ntid).map(all);
        Self {
            threads,
            shared: threads.map_or(0, |_| program.shared_bytes),
            // It means nothing without the size of a block.
            blocks: tuning.min_ncta_per_sm.filter(|_| threads.is_some()),
            registers: tuning.max_nreg,
        }
    }

    /// Of the same kernel without directives about registers.
    pub fn without_directives(&self) -> Self {
        Self { blocks: None, registers: None, ..*self }
    }

    fn warps(&self, profile: &Profile) -> u32 {
        self.threads.unwrap_or(USUAL_THREADS).div_ceil(profile.limits.warp_size).max(1)
    }

    /// Registers of a thread are given out in these numbers.
    fn unit(profile: &Profile) -> u32 {
        (profile.allocation.register_unit / profile.limits.warp_size.max(1)).max(1)
    }

    /// Registers that one scheduler has for a lane of all its warps.
    fn share(profile: &Profile) -> u32 {
        let limits = &profile.limits;
        limits.registers_per_sm / profile.issue.schedulers.max(1) / limits.warp_size.max(1)
    }

    /// Registers of a thread with which so many blocks are resident.
    fn with_blocks(&self, profile: &Profile, blocks: u32) -> u32 {
        let warps = blocks.saturating_mul(self.warps(profile));
        let of_scheduler = warps.div_ceil(profile.issue.schedulers.max(1)).max(1);
        let unit = Self::unit(profile);
        let most = Self::share(profile) / of_scheduler / unit * unit;
        most.min(profile.limits.max_registers_per_thread)
    }

    /// Blocks that are resident whatever registers they take.
    fn most_blocks(&self, profile: &Profile) -> u32 {
        let limits = &profile.limits;
        let of_threads = limits.max_threads_per_sm / limits.warp_size.max(1) / self.warps(profile);
        let needs = BlockNeeds { threads: 1, registers: 0, shared: self.shared, arguments: 0 };
        let of_shared = match shared_per_block(profile, &needs) {
            0 => u64::MAX,
            bytes => u64::from(limits.shared_bytes_per_sm) / bytes,
        };
        let of_shared = u32::try_from(of_shared).unwrap_or(u32::MAX);
        of_threads.min(of_shared).min(limits.max_blocks_per_sm).max(1)
    }

    /// The registers that directives allow, if there are any: all of them are used.
    pub fn directed(&self, profile: &Profile) -> Option<u32> {
        let unit = Self::unit(profile);
        let share = self.blocks.zip(self.threads).map(|(blocks, threads)| {
            profile.limits.registers_per_sm / blocks.max(1) / threads.max(1) / unit * unit
        });
        self.registers.into_iter().chain(share).min()
    }

    /// Registers of a thread that cost no resident block.
    pub fn free(&self, profile: &Profile) -> u32 {
        let all = || self.with_blocks(profile, self.most_blocks(profile));
        self.directed(profile).unwrap_or_else(all).min(profile.limits.max_registers_per_thread)
    }

    /// The most registers with which as many blocks are resident as with these.
    pub fn at_no_cost(&self, profile: &Profile, registers: u32) -> u32 {
        let limits = &profile.limits;
        let given = registers.next_multiple_of(Self::unit(profile)).max(1);
        let warps = Self::share(profile) / given * profile.issue.schedulers;
        let blocks = (warps / self.warps(profile)).min(self.most_blocks(profile));
        let most = match blocks {
            0 => given,
            blocks => self.with_blocks(profile, blocks),
        };
        let most = self.directed(profile).unwrap_or(most);
        most.max(registers).min(limits.max_registers_per_thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Catalog;

    /// Registers that ptxas 13.5 gives loops with more and more values that live, by the threads of a block.
    #[test]
    fn steps_are_those_of_whole_blocks() {
        let h200 = Catalog::embedded().unwrap().get("H200").unwrap();
        for (threads, steps) in [
            (None, &[32, 40, 48, 56, 64, 72, 80, 96, 128][..]),
            (Some(128), &[32, 40, 48, 56, 64, 72, 80, 96, 128]),
            (Some(32), &[64, 72, 80, 96, 128]),
            (Some(192), &[32, 40, 56, 64, 80, 96, 168]),
            (Some(256), &[32, 40, 48, 64, 80, 128]),
            (Some(384), &[32, 40, 56, 80, 168]),
            (Some(512), &[32, 40, 64, 128]),
            (Some(1024), &[32, 64]),
        ] {
            let budget = Budget { threads, ..Budget::default() };
            assert_eq!(budget.free(&h200), steps[0], "{threads:?}");
            for pair in steps.windows(2) {
                assert_eq!(budget.at_no_cost(&h200, pair[0] + 1), pair[1], "{threads:?}");
            }
        }
    }

    /// What shared memory leaves room for, and what directives ask for.
    #[test]
    fn shared_memory_and_directives() {
        let h200 = Catalog::embedded().unwrap().get("H200").unwrap();
        let free = |threads, shared: u32| {
            Budget { threads: Some(threads), shared: shared << 10, ..Budget::default() }.free(&h200)
        };
        let found = [16, 24, 32, 48].map(|kb| free(64, kb));
        assert_eq!(found, [72, 96, 168, 255]);
        assert_eq!([16, 24, 32, 48].map(|kb| free(256, kb)), [32, 32, 40, 64]);
        let blocks = |n| Budget { threads: Some(256), blocks: Some(n), ..Budget::default() };
        assert_eq!([1, 2, 3, 4, 6].map(|n| blocks(n).free(&h200)), [255, 128, 80, 64, 40]);
        let given = Budget { registers: Some(96), ..Budget::default() };
        assert_eq!((given.free(&h200), given.at_no_cost(&h200, 40)), (96, 96));
    }
}
