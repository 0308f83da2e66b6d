//! What is refused, and how many lanes run together.

use ptx_isa::effect::{BarKind, Effect, Order, Sys, WarpOp};
use ptx_isa::{Reach, Space};
use ptx_parse::code::{MOST_LOCAL, Program};

use crate::ctx::STAGED;
use crate::divergence::{Divergence, analyse};
use crate::emits::Emits;
use crate::form::Form;
use crate::geometry::Geometry;
use crate::ir::{BasicBlock, BlockId, EffectInst, Func, Op, Term};
use crate::meet::meets;
use crate::pressure::{pressure, two_slices_from_memory, waits_for_results};
use crate::range::Assumptions;
use crate::unsupported::Unsupported;
use crate::variance::Variance;
use crate::waiting::waiting_loops;

/// Whether lanes that run together can do the operation: it does not wait until other warps have come.
fn callable(op: &WarpOp) -> bool {
    per_lane(op) || !op.waits && op.reach != Reach::Warpgroup
}

/// Whether every lane does the operation for itself, though it may reach others through memory.
fn per_lane(op: &WarpOp) -> bool {
    op.members.is_none() && op.reach != Reach::Warp
}

/// Whether lanes of a warp do something together.
fn talks(f: &Func) -> bool {
    f.effects.iter().any(|e| matches!(&e.effect, Effect::Warp(op) if !per_lane(op)))
}

/// Refuses more local memory than a thread may have: the passes go through it word by word.
pub(crate) fn frames(program: &Program) -> Result<(), Unsupported> {
    let frames = program.functions.iter().map(|f| u64::from(f.frame_bytes - f.stack_bytes));
    let bytes: u64 = frames.sum();
    if bytes > u64::from(MOST_LOCAL) {
        return Err(Unsupported::new(format!("{bytes} bytes of local memory per thread")));
    }
    Ok(())
}

/// Most bytes of the stacks of a block's threads. Pages that nobody reaches take no memory, but addresses.
const MOST_STACKS: u64 = 256 << 20;

/// Refuses recursion whose stacks could take too much for all threads of a block.
pub(crate) fn stacks(f: &Func, block: [u32; 3]) -> Result<(), Unsupported> {
    let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
    let bytes = threads * u64::from(f.stack_bytes);
    if bytes > MOST_STACKS {
        return Err(Unsupported::new(format!(
            "stacks of {bytes} bytes for the threads of a block"
        )));
    }
    Ok(())
}

/// Why no compiled code has a way to do an effect.
fn never(f: &Func, info: &EffectInst) -> Option<String> {
    let staged = !(f.alone && meets(&info.effect));
    if staged && (info.src.len() > STAGED || info.dst.len() > STAGED) {
        return Some(format!("an operation with more than {STAGED} operands"));
    }
    match &info.effect {
        Effect::Ld(m) | Effect::St(m) if m.bytes == 16 && m.count > 1 => {
            Some("a vector of 128-bit elements".into())
        }
        Effect::Atom(a) if !crate::effects::can(a) => {
            Some("an atomic of several words that are compared".into())
        }
        // Where a block faults it runs again in the interpreter, and would free what it has freed.
        Effect::Sys(Sys::Free) => Some("`free`".into()),
        Effect::Ld(_)
        | Effect::St(_)
        | Effect::Atom(_)
        | Effect::Bar(_)
        | Effect::Fence(_)
        | Effect::AsyncGroup(_)
        | Effect::Warp(_)
        | Effect::Sys(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield => None,
    }
}

/// Why threads of a kernel cannot run one by one and meet where they do something together ([`crate::meet`]).
pub(crate) fn check_alone(program: &Program, f: &Func) -> Result<(), Unsupported> {
    for block in &f.blocks {
        for v in &block.insts {
            let Op::Effect(e) = f.insts[*v as usize].op else { continue };
            let info = &f.effects[e as usize];
            let no = |why: &str| Err(Unsupported::at(program, &info.origin, why));
            if let Some(why) = never(f, info) {
                return no(&why);
            }
            match &info.effect {
                // What lanes of a warp say to one another without meeting.
                Effect::Ld(m) | Effect::St(m)
                    if m.order == Order::Volatile && m.place.space == Space::Shared =>
                {
                    return no("volatile shared memory where the lanes of a warp part");
                }
                Effect::Warp(op) if !per_lane(op) && op.members.is_none() => {
                    let why = format!("`{}` where the lanes of a warp part", op.name);
                    return no(&why);
                }
                Effect::Ld(_)
                | Effect::St(_)
                | Effect::Atom(_)
                | Effect::Bar(_)
                | Effect::Fence(_)
                | Effect::AsyncGroup(_)
                | Effect::Warp(_)
                | Effect::Sys(_)
                | Effect::Trap
                | Effect::Brkpt
                | Effect::Yield => {}
            }
        }
    }
    tables(program, f)
}

/// Refuses tables of branches that are too large.
fn tables(program: &Program, f: &Func) -> Result<(), Unsupported> {
    for block in &f.blocks {
        if let Term::Brx(_, targets, place) = &block.term
            && targets.len() > 256
        {
            return Err(Unsupported::at(program, place, "a branch table of more than 256 entries"));
        }
    }
    Ok(())
}

/// Refuses effects that lanes which run together have no way to do.
pub(crate) fn check(program: &Program, f: &Func) -> Result<(), Unsupported> {
    // The number of all barriers: who waits at different ones would not meet.
    let mut only = None;
    for block in &f.blocks {
        let bar = if let Term::Bar(e, _) = block.term { Some(e) } else { None };
        let inner = block.insts.iter().filter_map(|v| match f.insts[*v as usize].op {
            Op::Effect(e) => Some(e),
            _ => None,
        });
        for e in inner.chain(bar) {
            let info = &f.effects[e as usize];
            let no = |why: &str| Err(Unsupported::at(program, &info.origin, why));
            if let Some(why) = never(f, info) {
                return no(&why);
            }
            match &info.effect {
                Effect::Bar(bar) => {
                    let waits = matches!(
                        bar.kind,
                        BarKind::Sync | BarKind::RedPopc | BarKind::RedAnd | BarKind::RedOr
                    );
                    if !waits || bar.counted || info.guard.is_some() {
                        return no("a barrier that not all threads wait at");
                    }
                    let number = info.src.first().map_or(Some(0), |s| f.as_const(*s));
                    let exists = number.is_some_and(|n| n < 16);
                    if !exists || *only.get_or_insert(number) != number {
                        return no("a barrier of another number");
                    }
                }
                Effect::AsyncGroup(_) => return no("a wait for the warps of a warpgroup"),
                Effect::Warp(op) => {
                    if !callable(op) {
                        return no(&format!("`{}`", op.name));
                    }
                    if info.guard.is_some() && !per_lane(op) {
                        return no("an operation over the warp under a predicate");
                    }
                }
                Effect::Ld(_)
                | Effect::St(_)
                | Effect::Atom(_)
                | Effect::Fence(_)
                | Effect::Sys(_)
                | Effect::Trap
                | Effect::Brkpt
                | Effect::Yield => {}
            }
        }
    }
    tables(program, f)
}

/// Heads of loops that may wait for another thread; then threads run one by one, or, where lanes talk, warps that wait as
/// a whole. Refuses them below sm_70, where the interpreter finds lanes that wait for each other for ever.
pub(crate) fn waiting(program: &Program, f: &Func) -> Result<Vec<BlockId>, Unsupported> {
    let all = waiting_loops(f);
    if let Some(first) = all.first().filter(|_| program.info.target.sm < 70) {
        let place = &f.effects[first.effect as usize].origin;
        let why =
            "a loop that may wait for another thread, in a kernel whose warps run in lock step";
        return Err(Unsupported::at(program, place, why));
    }
    Ok(all.into_iter().map(|l| l.head).collect())
}

/// The same where threads run one by one and ways go back to the midst of loops: any such way may be one that waits.
pub(crate) fn waiting_alone(f: &Func, regular: bool) -> Vec<BlockId> {
    let mut heads: Vec<BlockId> = waiting_loops(f).into_iter().map(|l| l.head).collect();
    if !regular {
        let back = |(b, block): (usize, &BasicBlock)| {
            block.term.succs().into_iter().filter(move |s| *s as usize <= b)
        };
        heads.extend(f.blocks.iter().enumerate().flat_map(back));
    }
    heads.sort_unstable();
    heads.dedup();
    heads
}

/// Blocks under masks up to which a kernel is compiled: each has a mask that lives across the others, so that code and
/// the time to make it grow with the square (1,093 blocks: over a minute).
const MOST_MASKED: usize = 600;

/// Refuses barriers and warp operations that some lanes of a group may reach without the others.
pub(crate) fn check_divergence(
    program: &Program,
    f: &Func,
    divergence: &Divergence,
) -> Result<(), Unsupported> {
    let masked = divergence.masked.iter().filter(|m| **m).count();
    if masked > MOST_MASKED {
        let why = format!("{masked} blocks in divergent code, more than {MOST_MASKED}");
        return Err(Unsupported { why, line: 0 });
    }
    for (b, block) in f.blocks.iter().enumerate() {
        if !divergence.masked[b] {
            continue;
        }
        if f.waits.contains(&(b as BlockId)) {
            let why = "a loop in divergent code that may wait for another thread";
            let inside = f.loops().into_iter().filter(|l| l.header == b as BlockId);
            let mut inside = inside.flat_map(|l| l.nodes).flat_map(|b| &f.blocks[b as usize].insts);
            let place = inside.find_map(|v| match f.insts[*v as usize].op {
                Op::Effect(e) => Some(&f.effects[e as usize].origin),
                _ => None,
            });
            return Err(match place {
                Some(place) => Unsupported::at(program, place, why),
                None => Unsupported::new(why),
            });
        }
        if let Term::Bar(e, _) = block.term {
            let place = &f.effects[e as usize].origin;
            return Err(Unsupported::at(program, place, "a barrier in divergent code"));
        }
        for v in &block.insts {
            if let Op::Effect(e) = f.insts[*v as usize].op
                && let Effect::Warp(op) = &f.effects[e as usize].effect
                && !per_lane(op)
            {
                let place = &f.effects[e as usize].origin;
                let why = format!("`{}` in divergent code", op.name);
                return Err(Unsupported::at(program, place, &why));
            }
        }
    }
    Ok(())
}

/// Whether the lanes of a warp must run in lock step.
fn needs_warp(f: &Func) -> bool {
    f.effects.iter().any(|e| match &e.effect {
        Effect::Warp(op) => !per_lane(op),
        Effect::Ld(m) | Effect::St(m) => m.order == Order::Volatile,
        // Warps print one after the other, and their lanes too.
        Effect::Sys(_) => true,
        Effect::Atom(_)
        | Effect::Bar(_)
        | Effect::Fence(_)
        | Effect::AsyncGroup(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield => false,
    })
}

/// The form of vectors and the lanes of a group: `widest`, unless that of Cranelift suits the kernel better.
pub(crate) fn geometry(
    f: &Func,
    block: [u32; 3],
    assumed: &Assumptions,
    widest: Form,
) -> (Form, Geometry) {
    let wide = match widest.lanes {
        _ if f.alone => None,
        16 => geometry_of_sixteen(f, block, assumed),
        8 => geometry_of_eight(f, block, assumed),
        _ => None,
    };
    match wide {
        Some(geometry) => (widest, geometry),
        None => {
            let geometry = geometry_of_four(f, block, assumed);
            // Scalars need no vectors, and our own back end takes more of them from memory.
            (if geometry.width == 1 { widest } else { Form::CRANELIFT }, geometry)
        }
    }
}

/// Chooses the lanes of a group: whole warps where lanes talk, else as many as registers hold.
fn geometry_of_four(f: &Func, block: [u32; 3], assumed: &Assumptions) -> Geometry {
    let with = |width: u32| Geometry { block, width };
    if f.alone || !f.waits.is_empty() && !talks(f) {
        return with(1);
    }
    if needs_warp(f) {
        return with(32);
    }
    let threads = block.iter().product::<u32>();
    let mut most = 32.min(threads.next_power_of_two()).max(4);
    let flat = block[1] == 1 && block[2] == 1;
    if !flat && block[0] >= 4 {
        // Whole groups in a row keep the other coordinates uniform.
        while most > 4 && !block[0].is_multiple_of(most) {
            most /= 2;
        }
    }
    let divergence = analyse(f, with(most.min(16)), assumed);
    let width = 4 * slices_of_sixteen_registers(f, pressure(f, &divergence));
    let vector = with(width.clamp(8.min(most), most));
    if !waits(f) && one_by_one_pays(f, vector, assumed) { with(1) } else { vector }
}

/// Whether there are barriers.
fn waits(f: &Func) -> bool {
    f.blocks.iter().any(|b| matches!(b.term, Term::Bar(..)))
}

/// How many slices of a group sixteen vector registers hold at once, each of `live` vectors.
fn slices_of_sixteen_registers(f: &Func, live: u32) -> u32 {
    // Two are needed for temporaries. What lives across a barrier is in memory anyway, and each wait costs a group the
    // same however wide it is.
    let room = if waits(f) { 28 } else { 14 };
    let slices = (room / live.max(1)).clamp(1, 8);
    slices.next_power_of_two() >> u32::from(!slices.is_power_of_two())
}

/// Most operations on vectors that a group of more than two slices has, for [`Form::AVX2`].
const MOST_OPERATIONS: u32 = 512;

/// The lanes of a group whose slices have eight, for [`Form::AVX2`]; `None`: slices of four suit the kernel better.
fn geometry_of_eight(f: &Func, block: [u32; 3], assumed: &Assumptions) -> Option<Geometry> {
    let with = |width: u32| Geometry { block, width };
    let threads = block.iter().product::<u32>();
    if !f.waits.is_empty() && !talks(f) {
        return None;
    }
    if needs_warp(f) {
        return Some(with(32));
    }
    let flat = block[1] == 1 && block[2] == 1;
    // Whole groups in a row keep the other coordinates uniform.
    if threads < 8 || (!flat && !block[0].is_multiple_of(8)) {
        return None;
    }
    let mut most = 32.min(threads.next_power_of_two());
    while !flat && !block[0].is_multiple_of(most) {
        most /= 2;
    }
    let divergence = analyse(f, with(most.min(16)), assumed);
    // Masks take registers too: two slices of a loop that lanes leave at different times would live in memory.
    let masked = |b: &BlockId| divergence.masked[*b as usize];
    let masks = if divergence.masked.contains(&true) { 4 } else { 0 };
    let live = pressure(f, &divergence);
    let width = 8 * slices_of_sixteen_registers(f, live + masks);
    // A call of a lane function costs about the same for twice the lanes, and keeps no register: where they are many.
    let mut emits = Emits::new(Form::AVX2);
    let all = || f.blocks.iter().flat_map(|b| &b.insts);
    let varying = |v: &&u32| divergence.of[**v as usize] == Variance::Varying;
    let calls = all().filter(varying).filter(|v| emits.calls(f, **v)).count();
    // Two slices hide each other's latency even where some of their values are read from memory.
    let leave = f.loops().iter().any(|l| l.nodes.iter().any(masked));
    let nearly = live + if leave { 2 * masks } else { masks } < 16;
    let two = calls * 16 > all().count() || nearly && waits_for_results(f, &divergence);
    let mut vector = with(width.max(if two { 16 } else { 8 }).min(most));
    // Four slices side by side are no faster there than two, and take twice as long to compile.
    let operations = all().filter(varying).count() as u32;
    while vector.width > 16 && operations * (vector.width / 8) > MOST_OPERATIONS {
        vector.width /= 2;
    }
    (waits(f) || !one_by_one_pays(f, vector, assumed)).then_some(vector)
}

/// The lanes of a group whose slices have sixteen, for [`Form::AVX512`]; `None`: slices of four suit the kernel better.
fn geometry_of_sixteen(f: &Func, block: [u32; 3], assumed: &Assumptions) -> Option<Geometry> {
    let with = |width: u32| Geometry { block, width };
    let threads = block.iter().product::<u32>();
    if !f.waits.is_empty() && !talks(f) {
        return None;
    }
    if needs_warp(f) {
        return Some(with(32));
    }
    if threads < 16 {
        return None;
    }
    let flat = block[1] == 1 && block[2] == 1;
    let row = if flat { threads } else { block[0] };
    let divergence = |width: u32| analyse(f, with(width), assumed);
    let one = divergence(16);
    let live = pressure(f, &one);
    let waits = waits(f);
    // 32 vector registers.
    let room = live <= if waits { 18 } else { 14 } || !waits && two_slices_from_memory(f, &one);
    // Two vectors hide each other's latency, but behind a barrier both are reloaded (tiled product of matrices: 260 us,
    // else 213).
    let slack = if waits { 4 } else { 5 };
    let per_lane =
        |divergence: &Divergence, width: u32| cost(f, divergence, width, 16) / u64::from(width);
    // Whole groups in a row keep the other coordinates uniform, which matters where memory is accessed.
    let two = threads >= 32
        && room
        && (flat
            || row.is_multiple_of(32)
            || per_lane(&divergence(32), 32) * 4 <= per_lane(&one, 16) * slack);
    if row < 16 && !two && !flat {
        let narrow = with(row.next_power_of_two().max(4));
        let old = cost(f, &analyse(f, narrow, assumed), narrow.width, 4) / u64::from(narrow.width);
        // What lives across barriers is much for such groups (register-blocked product of matrices: 385 us, else 310).
        if waits || old <= per_lane(&one, 16) {
            return None;
        }
    }
    let vector = with(if two { 32 } else { 16 });
    (waits || !one_by_one_pays(f, vector, assumed)).then_some(vector)
}

/// About what a group costs: vector instructions of `lanes` lanes, accesses, sixteen turns of each loop. In
/// thousandths.
fn cost(f: &Func, divergence: &Divergence, width: u32, lanes: u32) -> u64 {
    let all = f.loops();
    let slices = u64::from(width.div_ceil(lanes));
    let mut sum = 0;
    for (b, block) in f.blocks.iter().enumerate() {
        let depth = all.iter().filter(|l| l.nodes.contains(&(b as u32))).count();
        let turns = 16u64.pow(depth.min(4) as u32);
        for v in &block.insts {
            let i = &f.insts[*v as usize];
            let wide = if i.kind == ptx_isa::Kind::D { 2 } else { 1 };
            let alike = divergence.of[*v as usize] != Variance::Varying;
            let cost = match i.op {
                Op::Pure(op, k) if f.has_code(op, k) && !alike => slices * wide,
                Op::Pure(op, k) if f.has_code(op, k) => 1,
                Op::Pure(..) => 20 + 10 * slices,
                Op::Effect(e) => {
                    let e = &f.effects[e as usize];
                    let base = e.src.first().map(|v| &divergence.of[*v as usize]);
                    match (&e.effect, base) {
                        (Effect::Ld(_) | Effect::St(_), Some(Variance::Linear(_))) => 2 + slices,
                        (Effect::Ld(_) | Effect::St(_), _) => 2 * u64::from(width),
                        _ => 30,
                    }
                }
                _ => 0,
            };
            sum += 1000 * turns * cost;
        }
    }
    sum
}

/// Whether threads one after the other are faster than groups: where lanes go their own ways through loops that
/// mostly gather.
fn one_by_one_pays(f: &Func, g: Geometry, assumed: &Assumptions) -> bool {
    let divergence = analyse(f, g, assumed);
    let (lanes, slices) = (g.width as u64, g.width as u64 / 4);
    // Loops around each block, and whether lanes leave one of them at different times.
    let (mut around, mut left_apart) = (vec![0u32; f.blocks.len()], vec![false; f.blocks.len()]);
    let mut inside = vec![usize::MAX; f.blocks.len()];
    for (at, l) in f.loops().iter().enumerate() {
        for x in &l.nodes {
            inside[*x as usize] = at;
        }
        let apart = l.nodes.iter().any(|x| {
            let t = &f.blocks[*x as usize].term;
            t.value().is_some_and(|v| !divergence.of[v as usize].uniform())
                && t.succs().iter().any(|s| inside[*s as usize] != at)
        });
        for x in &l.nodes {
            around[*x as usize] += 1;
            left_apart[*x as usize] |= apart;
        }
    }
    // Instructions of a group and of a thread, in tenths.
    let (mut group, mut thread) = (0u64, 0u64);
    for (b, block) in f.blocks.iter().enumerate() {
        let turns = 8u64.pow(around[b].min(4));
        // Loops that lanes leave at different times run for the last one.
        let uneven = left_apart[b];
        let (mut vector, mut scalar) = (0u64, 0u64);
        for v in &block.insts {
            let i = &f.insts[*v as usize];
            let wide = if i.kind == ptx_isa::Kind::D { 2 } else { 1 };
            let alike = divergence.of[*v as usize] != Variance::Varying;
            let (x, y) = match i.op {
                Op::Pure(op, k) if f.has_code(op, k) && alike => (1, 1),
                Op::Pure(op, k) if f.has_code(op, k) => (slices * wide, 1),
                Op::Pure(..) if alike => (20, 20),
                Op::Pure(..) => (30 + lanes, 20),
                Op::Effect(e) => {
                    let e = &f.effects[e as usize];
                    let base = e.src.first().map(|v| &divergence.of[*v as usize]);
                    match (&e.effect, base) {
                        (Effect::Ld(_) | Effect::St(_), Some(Variance::Linear(_))) => {
                            (6 + slices, 6)
                        }
                        (Effect::Ld(_), _) => (10 + 8 * slices + 4 * lanes, 6),
                        (Effect::St(_), _) => (10 + 8 * slices + 5 * lanes, 6),
                        (Effect::Atom(_), _) => (10 + 8 * slices + 8 * lanes, 12),
                        _ => (30 + lanes, 30),
                    }
                }
                _ => (0, 0),
            };
            vector += 10 * x;
            scalar += 10 * y;
        }
        match block.term.value() {
            Some(v) if !divergence.of[v as usize].uniform() => {
                vector += 10 * (6 + 3 * slices);
                scalar += 60;
            }
            Some(_) => {
                vector += 20;
                scalar += 20;
            }
            None => {}
        }
        group += turns * vector * if uneven { 2 } else { 1 };
        // A block behind a condition runs for some of the threads only.
        thread += turns * scalar / if divergence.masked[b] && !uneven { 2 } else { 1 };
    }
    group > thread * lanes
}
