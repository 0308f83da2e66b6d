//! Puts a [`Report`] together from what the simulator counted.

use ptx_parse::code::Flow;

use super::inputs::Inputs;
use super::place::Lines;
use super::{
    CacheInfo, DeviceInfo, LaunchInfo, Limiter, LimiterKind, Line, MemoryInfo, MemoryLine,
    MemorySpace, OccupancyInfo, OccupancyPoint, PipeInfo, Report, SamplingInfo, SourcePlace, Stall,
    Stalls, Summary, Timeline, VERSION, build_totals, build_warp,
};
use crate::cache::CacheCounts;
use crate::event::AccessKind;
use crate::occupancy::{self, Occupancy};
use crate::profile::Profile;
use crate::sim::{Bound, PcCounts, Recording};
use ptx_isa::Class;

/// The report of one launch.
pub(crate) fn build(inputs: &Inputs<'_>) -> Report {
    let Inputs { profile, program, outcome, needs, .. } = *inputs;
    let blocks = inputs.grid.iter().map(|n| u64::from(*n)).product();
    let lines = lines(inputs);
    let warp = build_warp::warp(inputs, &lines);
    Report {
        version: VERSION,
        kernel: program.functions.first().map_or_else(String::new, |f| f.name.clone()),
        module: program.module.to_string(),
        device: device(profile),
        launch: LaunchInfo {
            grid: inputs.grid,
            block: inputs.block,
            blocks,
            threads_per_block: needs.threads,
            static_shared: program.shared_bytes,
            dynamic_shared: inputs.dynamic_shared,
            registers: inputs.registers.map(|r| r.0),
            registers_from: inputs.registers.map(|r| r.1),
        },
        summary: summary(inputs),
        limiter: limiter(&outcome.bound),
        occupancy: occupancy_info(&outcome.occupancy),
        occupancy_by_block: occupancy::table(profile, needs).iter().map(point).collect(),
        memory: memory(inputs),
        operations: build_totals::operations(&lines),
        units: build_totals::units(inputs),
        scheduler: build_totals::scheduler(inputs),
        activity: build_totals::activity(inputs),
        pipes: outcome
            .pipe_use
            .iter()
            .map(|(name, busy)| PipeInfo { name: name.clone(), busy: *busy })
            .collect(),
        stalls: stalls(&outcome.total),
        sampling: outcome.sampling.map(|s| SamplingInfo {
            simulated: s.simulated,
            blocks: s.blocks,
            relative_error: s.relative_error,
        }),
        lines,
        warp,
        timeline: outcome
            .recording
            .as_ref()
            .filter(|recording| recording.until > 0)
            .map(|recording| timeline(inputs, recording)),
    }
}

/// The recording with its instructions numbered as in [`Report::lines`].
fn timeline(inputs: &Inputs<'_>, recording: &Recording) -> Timeline {
    let first = build_warp::first_lines(inputs.program);
    let mut warps = recording.warps.clone();
    for issue in warps.iter_mut().flat_map(|w| &mut w.issues) {
        let (function, index) = inputs.code.origin[issue.line as usize];
        issue.line = first[function as usize] + index;
    }
    Timeline { sm: recording.sm as u32, until: recording.until, warps }
}

fn device(p: &Profile) -> DeviceInfo {
    let f64_rate = p.class.get(&Class::F64Fma).map(|c| c.per_clock);
    let per_lane = 2.0 * f64::from(p.device.multiprocessors) * p.clock.sm_mhz / 1e3;
    DeviceInfo {
        name: p.name.clone(),
        compute_capability: p.device.compute_capability.to_string(),
        multiprocessors: p.device.multiprocessors,
        schedulers: p.issue.schedulers,
        sm_mhz: p.clock.sm_mhz,
        dram_gbps: p.dram.bandwidth_gbps,
        dram_efficiency: p.dram.efficiency,
        peak_f32_gflops: p.peak_f32_gflops(),
        peak_f64_gflops: f64_rate.map(|rate| rate * per_lane),
        l2_bytes: p.l2.as_ref().map(|l2| l2.bytes),
        banks: p.shared.banks,
        sector_bytes: p.global.sector_bytes,
    }
}

fn summary(inputs: &Inputs<'_>) -> Summary {
    let Inputs { profile, outcome, code, .. } = *inputs;
    let (mut f32_operations, mut f64_operations) = (0, 0);
    for (instruction, counts) in code.code.instructions.iter().zip(&outcome.per_pc) {
        let (single, double) = operations(instruction.class);
        f32_operations += single * counts.thread_instructions;
        f64_operations += double * counts.thread_instructions;
    }
    let tensor_operations = tensor_operations(inputs);
    let nanoseconds = outcome.cycles.max(1) as f64 / profile.clock.sm_mhz * 1e3;
    let total = &outcome.total;
    Summary {
        cycles: outcome.cycles,
        elapsed_cycles: outcome.elapsed_cycles,
        microseconds: outcome.microseconds,
        host_microseconds: profile.launch.host_us,
        ipc: total.issue_slots as f64
            / outcome.cycles.max(1) as f64
            / f64::from(profile.device.multiprocessors),
        warp_instructions: total.issues,
        thread_instructions: total.thread_instructions,
        issue_slots: total.issue_slots,
        lanes_per_instruction: total.thread_instructions as f64 / total.issues.max(1) as f64,
        achieved_occupancy: outcome.achieved_occupancy,
        waves: outcome.waves,
        tail: Some(outcome.tail),
        f32_operations,
        f64_operations,
        tensor_operations,
        f32_gflops: f32_operations as f64 / nanoseconds,
        f64_gflops: f64_operations as f64 / nanoseconds,
        tensor_gflops: tensor_operations as f64 / nanoseconds,
    }
}

/// Two for each multiply-add of the matrix products that warps issued, or groups of four warps.
fn tensor_operations(inputs: &Inputs<'_>) -> u64 {
    let Inputs { program, code, outcome, .. } = *inputs;
    let mut sum = 0;
    for (f, function) in program.functions.iter().enumerate() {
        for (i, inst) in function.insts.iter().enumerate() {
            let Some(pc) = code.pc(f as u32, i as u32).map(|pc| pc as usize) else { continue };
            let warps = match code.code.instructions[pc].class {
                Class::MmaSmall | Class::MmaLarge | Class::MmaF64 => 1,
                Class::MmaWarpgroup => 4,
                _ => continue,
            };
            let shape = program.matches[inst.opcode as usize].shape();
            let each = shape.map_or(0, |s| 2 * s.m * s.n * s.k) as u64;
            sum += outcome.per_pc.get(pc).map_or(0, |counts| counts.issues) * each / warps;
        }
    }
    sum
}

/// Single and double operations of one lane.
fn operations(class: Class) -> (u64, u64) {
    match class {
        Class::F32Fma => (2, 0),
        Class::F32Add
        | Class::F32Mul
        | Class::F32MinMax
        | Class::F32RcpApprox
        | Class::F32SqrtApprox
        | Class::F32Rsqrt
        | Class::F32Scaled
        | Class::F32Ex2
        | Class::F32Lg2
        | Class::F32SinCos
        | Class::F32DivApprox
        | Class::F32DivFull
        | Class::F32Div
        | Class::F32Rcp
        | Class::F32Sqrt => (1, 0),
        Class::F64Fma => (0, 2),
        Class::F64Add
        | Class::F64MinMax
        | Class::F64Div
        | Class::F64Rcp
        | Class::F64Sqrt
        | Class::F64Rsqrt => (0, 1),
        _ => (0, 0),
    }
}

fn limiter(bound: &Bound) -> Limiter {
    let (kind, what, share) = match bound {
        Bound::Dram(x) => (LimiterKind::Dram, None, *x),
        Bound::L2(x) => (LimiterKind::L2, None, *x),
        Bound::Pipe(name, x) => (LimiterKind::Pipe, Some(name.clone()), *x),
        Bound::Issue(x) => (LimiterKind::Issue, None, *x),
        Bound::Latency(stall, x) => (LimiterKind::Latency, Some(stall.name().to_owned()), *x),
    };
    Limiter { kind, what, share, sentence: bound.to_string() }
}

fn occupancy_info(o: &Occupancy) -> OccupancyInfo {
    OccupancyInfo {
        blocks: o.blocks,
        warps_per_block: o.warps_per_block,
        warps: o.warps,
        max_warps: o.max_warps,
        fraction: o.fraction(),
        blocks_by: o.blocks_by.iter().map(|(l, n)| (l.to_string(), *n)).collect(),
        limiters: o.limiters.iter().map(ToString::to_string).collect(),
        registers_per_block: o.registers_per_block,
        shared_per_block: o.shared_per_block,
    }
}

fn point(row: &occupancy::TableRow) -> OccupancyPoint {
    let (warps, fraction, limited_by) = match &row.result {
        Ok(o) => {
            let limiters: Vec<String> = o.limiters.iter().map(ToString::to_string).collect();
            (Some(o.warps), o.fraction(), limiters.join(", "))
        }
        Err(error) => (None, 0.0, error.to_string()),
    };
    OccupancyPoint { threads: row.threads, warps, fraction, limited_by }
}

fn memory(inputs: &Inputs<'_>) -> MemoryInfo {
    let Inputs { profile, outcome, code, .. } = *inputs;
    let (mut used, mut moved) = (0, 0);
    for (instruction, counts) in code.code.instructions.iter().zip(&outcome.per_pc) {
        if matches!(instruction.class, Class::LoadGlobal | Class::StoreGlobal | Class::AtomicGlobal)
        {
            used += counts.bytes_used;
            moved += counts.bytes;
        }
    }
    let bytes = (outcome.dram_read + outcome.dram_written) as f64;
    let nanoseconds = outcome.cycles.max(1) as f64 / profile.clock.sm_mhz * 1e3;
    let dram_gbps = bytes / nanoseconds;
    MemoryInfo {
        dram_read: outcome.dram_read,
        dram_written: outcome.dram_written,
        dram_gbps,
        dram_share: dram_gbps / profile.dram.bandwidth_gbps,
        global_bytes_used: used,
        global_bytes_moved: moved,
        l1: cache(outcome.caches.l1),
        l2: cache(outcome.caches.l2),
        constant: cache(outcome.caches.constant),
        texture: cache(outcome.caches.texture),
    }
}

fn cache(c: CacheCounts) -> CacheInfo {
    CacheInfo {
        read_hits: c.read_hits,
        read_misses: c.read_misses,
        write_hits: c.write_hits,
        write_misses: c.write_misses,
        written_back: c.written_back,
    }
}

fn stalls(counts: &PcCounts) -> Stalls {
    Stall::ALL.into_iter().zip(counts.stalls).filter(|(_, n)| *n > 0).collect()
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

fn lines(inputs: &Inputs<'_>) -> Vec<Line> {
    let Inputs { program, code, outcome, .. } = *inputs;
    let text = &*program.source;
    let places = Lines::new(text);
    let mut out = Vec::new();
    for (f, function) in program.functions.iter().enumerate() {
        for (i, inst) in function.insts.iter().enumerate() {
            let pc = code.pc(f as u32, i as u32);
            let none = PcCounts::default();
            let counts = pc.and_then(|pc| outcome.per_pc.get(pc as usize)).unwrap_or(&none);
            let instruction = pc.and_then(|pc| code.code.instructions.get(pc as usize));
            let source = inst.loc.and_then(|l| function.locs.get(l as usize)).map(|loc| {
                let file = program.files.iter().find(|file| file.0 == loc.file);
                SourcePlace {
                    file: file.map_or_else(String::new, |file| file.1.clone()),
                    line: loc.line,
                    column: loc.column,
                }
            });
            let conditional = inst.guard.is_some() && matches!(inst.flow, Flow::Bra(_))
                || matches!(inst.flow, Flow::Brx { .. });
            let branch = pc.filter(|_| conditional).and_then(|pc| inputs.branches.get(pc as usize));
            let memory = instruction.filter(|_| counts.requests > 0).map(|instruction| {
                let shared = matches!(
                    instruction.class,
                    Class::LoadShared
                        | Class::StoreShared
                        | Class::AtomicShared
                        | Class::LoadMatrix
                );
                let free = counts.shared_steps - counts.shared_conflicts;
                MemoryLine {
                    space: match instruction.class {
                        _ if shared || counts.sectors == 0 && counts.shared_steps > 0 => {
                            MemorySpace::Shared
                        }
                        Class::LoadConst => MemorySpace::Constant,
                        Class::Texture => MemorySpace::Texture,
                        _ if counts.local => MemorySpace::Local,
                        _ => MemorySpace::Global,
                    },
                    kind: match instruction.kind {
                        AccessKind::Load => "load",
                        AccessKind::Store => "store",
                        AccessKind::Atomic => "atomic",
                        AccessKind::Reduction => "reduction",
                    }
                    .to_owned(),
                    width: counts.width,
                    requests: counts.requests,
                    transactions: counts.sectors,
                    hits: counts.hits,
                    transactions_per_request: ratio(counts.sectors, counts.requests)
                        .filter(|x| *x > 0.0),
                    ideal_per_request: ratio(counts.ideal_sectors, counts.requests)
                        .filter(|x| *x > 0.0),
                    bytes_used: counts.bytes_used,
                    bytes_moved: counts.bytes,
                    dram_bytes: counts.dram_bytes,
                    wavefronts: counts.shared_steps,
                    conflicts: counts.shared_conflicts,
                    conflict_ways: ratio(counts.shared_steps, free),
                    latency: ratio(counts.latency, counts.requests).filter(|x| *x > 0.0),
                    worst: pc.and_then(|pc| inputs.samples.worst(inputs.profile, pc, instruction)),
                }
            });
            out.push(Line {
                function: function.name.clone(),
                index: i as u32,
                ptx_line: places.of(inst.span.start),
                text: text
                    .get(inst.span.start as usize..inst.span.end as usize)
                    .unwrap_or(program.matches[inst.opcode as usize].row.syntax)
                    .to_owned(),
                source,
                class: instruction.map_or("folded", |i| i.class.name()).to_owned(),
                folded: pc.is_none(),
                issues: counts.issues,
                issue_slots: counts.issue_slots,
                thread_instructions: counts.thread_instructions,
                lanes_per_issue: ratio(counts.thread_instructions, counts.issues),
                branch: branch.copied(),
                stalls: stalls(counts),
                memory,
            });
        }
    }
    out
}
