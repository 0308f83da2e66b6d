//! Event streams of small kernels, written as the warp's program. The instructions are those that a
//! compiler's PTX has; lane addresses are computed as the kernel would.
#![allow(dead_code)]

use std::collections::BTreeMap;

use ptx_timing::event::{BlockTrace, Code, FnSource, Instruction, Space, WarpTrace};
use ptx_timing::occupancy::BlockNeeds;
use ptx_timing::sim::{self, Outcome};
use ptx_timing::{Class, Config, Profile, WarpAccess};

/// Emits one warp's events; an instruction is known by its label.
#[derive(Default)]
pub struct Emit {
    pcs: BTreeMap<&'static str, u32>,
    code: Code,
    warp: WarpTrace,
    block_starts: bool,
}

impl Emit {
    /// A loop begins: the next new instruction starts a basic block.
    pub fn loop_head(&mut self) {
        self.block_starts = true;
    }

    fn pc(&mut self, label: &'static str, class: Class, writes: &[u32], reads: &[u32]) -> u32 {
        *self.pcs.entry(label).or_insert_with(|| {
            let pc = self.code.instructions.len() as u32;
            // A block begins at the start, behind a branch, and where the program says so.
            let behind_branch =
                self.code.instructions.last().is_none_or(|i| i.class == Class::Branch);
            if behind_branch || std::mem::take(&mut self.block_starts) {
                self.code.leaders.push(pc);
            }
            self.code.instructions.push(Instruction::new(class, writes, reads));
            self.code.instructions.len() as u32 - 1
        })
    }

    /// An instruction without memory access.
    pub fn op(&mut self, label: &'static str, class: Class, writes: &[u32], reads: &[u32]) {
        let pc = self.pc(label, class, writes, reads);
        self.warp.push(pc);
    }

    fn access(
        &mut self,
        label: &'static str,
        class: Class,
        registers: (&[u32], &[u32]),
        space: Space,
        address: impl Fn(u64) -> u64,
    ) {
        let pc = self.pc(label, class, registers.0, registers.1);
        let access = WarpAccess::from_lanes(4, (0..32).map(|l| Some(address(l))));
        self.warp.push_access(pc, space, access);
    }

    /// A shared load of any width.
    pub fn access_wide(
        &mut self,
        label: &'static str,
        writes: &[u32],
        reads: &[u32],
        space: Space,
        access: WarpAccess,
    ) {
        let pc = self.pc(label, Class::LoadShared, writes, reads);
        self.warp.push_access(pc, space, access);
    }

    /// A 4-byte global load of `address(lane)`.
    pub fn load(&mut self, label: &'static str, w: u32, r: u32, address: impl Fn(u64) -> u64) {
        self.access(label, Class::LoadGlobal, (&[w], &[r]), Space::Global, address);
    }

    /// A 4-byte global store.
    pub fn store(&mut self, label: &'static str, v: u32, r: u32, address: impl Fn(u64) -> u64) {
        self.access(label, Class::StoreGlobal, (&[], &[v, r]), Space::Global, address);
    }

    /// A 4-byte shared load.
    pub fn load_shared(&mut self, label: &'static str, w: u32, r: u32, at: impl Fn(u64) -> u64) {
        self.access(label, Class::LoadShared, (&[w], &[r]), Space::Shared, at);
    }

    /// A 4-byte shared store.
    pub fn store_shared(&mut self, label: &'static str, v: u32, r: u32, at: impl Fn(u64) -> u64) {
        self.access(label, Class::StoreShared, (&[], &[v, r]), Space::Shared, at);
    }

    /// `bar.sync 0`.
    pub fn barrier(&mut self, label: &'static str) {
        let pc = self.pc(label, Class::Barrier, &[], &[]);
        self.warp.push_barrier(pc);
    }
}

/// Simulates `blocks` blocks; `program(block, warp, emit)` emits one warp.
pub fn run_kernel(
    p: &Profile,
    needs: &BlockNeeds,
    blocks: u64,
    config: Config,
    program: impl Fn(u64, u64, &mut Emit),
) -> Outcome {
    let mut emit = Emit::default();
    program(0, 0, &mut emit);
    let code = emit.code.clone();
    let mut source = FnSource::new(blocks, |block| {
        BlockTrace::new(
            (0..u64::from(needs.threads.div_ceil(32)))
                .map(|warp| {
                    emit.warp = WarpTrace::default();
                    program(block, warp, &mut emit);
                    std::mem::take(&mut emit.warp)
                })
                .collect(),
        )
    });
    let report = sim::run(p, &code, needs, &mut source, config).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(emit.code, code, "block 0, warp 0 does not execute every instruction");
    report
}
