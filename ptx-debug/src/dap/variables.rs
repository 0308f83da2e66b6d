//! Threads, frames, scopes and variables of the protocol, and the numbers that stand for them.

use ptx_interp::Lane;
use ptx_isa::special::Sreg;
use serde_json::{Value, json};

use crate::code::At;
use crate::command::Format;
use crate::eval;
use crate::execute::triple;
use crate::expr::value_type;
use crate::front::Rest;
use crate::session::LaneId;
use crate::show::formatted;

/// Frames of a thread that have numbers.
const DEEPEST: u64 = 256;

/// A scope of a frame.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    Registers = 1,
    Arguments = 2,
    Variables = 3,
    Thread = 4,
    Locals = 5,
}

const SCOPES: [(Scope, &str); 5] = [
    (Scope::Locals, "Locals"),
    (Scope::Registers, "Registers"),
    (Scope::Arguments, "Arguments"),
    (Scope::Variables, "Variables"),
    (Scope::Thread, "Thread"),
];

/// The number of a lane's thread; blocks count in the order of their cluster.
pub(super) fn thread_id(rest: &Rest<'_>, lane: LaneId) -> u64 {
    let Some(moment) = rest.moment else { return 1 };
    let blocks = moment.cluster_blocks();
    let block = blocks.iter().position(|b| *b == lane.block).unwrap_or(0) as u64;
    let warps = u64::from(moment.warp_count());
    1 + ((block * warps + u64::from(lane.warp)) * 32 + u64::from(lane.lane))
}

/// The lane of a thread's number.
pub(super) fn lane_id(rest: &Rest<'_>, thread: u64) -> Result<LaneId, String> {
    let moment = rest.moment.ok_or("the kernel is not running")?;
    let n = thread.checked_sub(1).ok_or("threads count from 1")?;
    let warps = u64::from(moment.warp_count()).max(1);
    let block = (n / 32 / warps) as usize;
    let block = *moment.cluster_blocks().get(block).ok_or("there is no such thread")?;
    Ok(LaneId { block, warp: (n / 32 % warps) as u32, lane: (n % 32) as u8 })
}

/// The threads: every lane that has not ended, or one of each warp.
pub(super) fn threads(rest: &Rest<'_>, lanes: bool) -> Value {
    let Some(moment) = rest.moment else {
        // A client wants one thread before the first instruction.
        return json!([{"id": 1, "name": "not started"}]);
    };
    let mut all = Vec::new();
    let focus = rest.session.focus;
    for block in moment.cluster_blocks() {
        for warp in 0..moment.warp_count() {
            let live = |l: &u8| moment.lane(block, warp, *l).is_some();
            let shown: Vec<u8> = if lanes {
                (0..32).filter(live).collect()
            } else if (block, warp) == (focus.block, focus.warp) && live(&focus.lane) {
                vec![focus.lane]
            } else {
                (0..32).find(live).into_iter().collect()
            };
            for lane in shown {
                let id = LaneId { block, warp, lane };
                let thread = moment.lane(block, warp, lane).map_or([0; 3], |l| l.thread());
                let (block, thread) = (triple(block), triple(thread));
                let name = format!("block {block} warp {warp} thread {thread}");
                all.push(json!({"id": thread_id(rest, id), "name": name}));
            }
        }
    }
    all.into()
}

/// The lane and activation of a frame's number.
pub(super) fn frame(rest: &Rest<'_>, id: u64) -> Result<(LaneId, u32), String> {
    Ok((lane_id(rest, id / DEEPEST)?, (id % DEEPEST) as u32))
}

pub(super) fn frame_id(thread: u64, up: u32) -> u64 {
    thread * DEEPEST + u64::from(up)
}

/// The lane that an id stands for, as the engine sees it.
pub(super) fn standing<'a>(rest: &Rest<'a>, id: LaneId) -> Result<Lane<'a>, String> {
    let moment = rest.moment.ok_or("the kernel is not running")?;
    let lane = moment.lane(id.block, id.warp, id.lane);
    lane.ok_or_else(|| "the lane has ended".into())
}

/// The source of an instruction: its file, or the PTX text.
pub(super) fn source(rest: &Rest<'_>, at: At) -> (Value, u32) {
    let code = &rest.session.code;
    if let Some((file, line)) = code.source_line(at)
        && let Some(path) = code.source_path(file)
    {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        return (json!({"name": name, "path": path.display().to_string()}), line);
    }
    (ptx_source(rest), code.ptx_line(at))
}

/// The PTX text: a file if it is one, else by reference.
pub(super) fn ptx_source(rest: &Rest<'_>) -> Value {
    let name: &str = &rest.session.code.kernel.program().module;
    match std::path::Path::new(name).canonicalize() {
        Ok(path) => json!({"name": name, "path": path.display().to_string()}),
        Err(_) => json!({"name": name, "sourceReference": 1}),
    }
}

pub(super) fn stack(rest: &Rest<'_>, thread: u64, base: u64) -> Result<Vec<Value>, String> {
    if rest.moment.is_none() {
        return Ok(Vec::new());
    }
    let lane = standing(rest, lane_id(rest, thread)?)?;
    let mut frames = Vec::new();
    for up in 0..=lane.depth().min(DEEPEST as u32 - 1) {
        let Some(pc) = lane.pc_of(up) else { continue };
        let Some(at) = rest.session.code.kernel.origin(pc) else { continue };
        let (source, line) = source(rest, at);
        frames.push(json!({
            "id": frame_id(thread, up),
            "name": rest.session.code.function_at(at),
            "source": source,
            "line": u64::from(line) - 1 + base,
            "column": base,
            "instructionPointerReference": reference(at),
        }));
    }
    Ok(frames)
}

/// An instruction as a memory reference, in the order of the text: functions are far apart.
pub(super) fn reference(at: At) -> String {
    format!("{:#x}", (u64::from(at.0) + 1) << 32 | u64::from(at.1))
}

/// The instruction of a memory reference.
pub(super) fn referenced(text: &str) -> Option<(i64, i64)> {
    let v = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    Some(((v >> 32) as i64 - 1, (v & 0xffff_ffff) as i64))
}

pub(super) fn scopes(rest: &Rest<'_>, number: u64) -> Value {
    // Only code with debug information has variables of the source.
    let at = frame(rest, number).and_then(|(id, up)| {
        let pc = standing(rest, id)?.pc_of(up).ok_or("there is no such frame")?;
        rest.session.code.kernel.origin(pc).ok_or_else(|| "there is no such frame".to_owned())
    });
    let locals = at.is_ok_and(|at| !rest.session.code.leaves(at).is_empty());
    let one = |(scope, name): &(Scope, &str)| {
        json!({
            "name": name,
            "variablesReference": number * 8 + *scope as u64,
            "expensive": false,
        })
    };
    SCOPES.iter().filter(|(s, _)| locals || *s != Scope::Locals).map(one).collect()
}

fn variable(name: &str, value: String, ty: &str) -> Value {
    json!({"name": name, "value": value, "type": ty, "evaluateName": name, "variablesReference": 0})
}

/// The variables of a scope.
pub(super) fn variables(rest: &Rest<'_>, reference: u64) -> Result<Vec<Value>, String> {
    let (id, up) = frame(rest, reference / 8)?;
    let scope = SCOPES.iter().find(|(s, _)| *s as u64 == reference % 8);
    let (scope, _) = scope.ok_or("there is no such scope")?;
    let lane = standing(rest, id)?;
    let code = &rest.session.code;
    let pc = lane.pc_of(up).ok_or("there is no such frame")?;
    let at = code.kernel.origin(pc).ok_or("there is no such frame")?;
    let function = at.0;
    let mut all = Vec::new();
    match scope {
        Scope::Registers => {
            for (name, r) in code.registers(function) {
                let Some(row) = lane.register(up, r.kind, r.number) else { continue };
                let ty = value_type(r.ty.name()).unwrap_or(ptx_isa::Ty::B64);
                let text = formatted(ty, row[id.lane as usize], Format::Natural);
                all.push(variable(name, text, r.ty.name()));
            }
        }
        Scope::Arguments | Scope::Variables => {
            let args = *scope == Scope::Arguments;
            for v in code.variables() {
                if (v.space == ptx_isa::Space::ParamEntry) != args {
                    continue;
                }
                let expr = crate::expr::Expr::Name(v.name.clone());
                let shown = eval::compile(&expr, code, at)
                    .and_then(|c| rest.value(&c, &v.name, Format::Natural));
                let text = match shown {
                    Ok(crate::answer::Answer::Value { text, .. }) => text,
                    Ok(other) => {
                        let text = other.to_string();
                        let value = text.split_once(" = ").map_or(&*text, |(_, v)| v);
                        value.trim_end().to_owned()
                    }
                    Err(error) => error.to_string(),
                };
                all.push(variable(&v.name, text, v.ty.name()));
            }
        }
        Scope::Locals => {
            for [name, ty, value] in rest.source_variables(&lane, up, at) {
                all.push(variable(&name, value, &ty));
            }
        }
        Scope::Thread => {
            use Sreg::*;
            for reg in [TidX, TidY, TidZ, CtaidX, CtaidY, CtaidZ, LaneId, WarpId, Clock64] {
                let value = lane.special(id.lane, reg);
                all.push(variable(reg.name(), value.to_string(), reg.ty().name()));
            }
            let mask = format!("{:#010x}", lane.lanes);
            all.push(variable("lanes together", mask, "b32"));
        }
    }
    Ok(all)
}
