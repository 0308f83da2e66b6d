//! What a kernel takes of a multiprocessor: shared and local memory, registers.

use std::collections::HashSet;

use ptx_isa::Kind;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_parse::code::{ArgumentLocation, CallArg, Callee, Flow, Function, Inst, Program};
use ptx_parse::module::Tuning;

/// What a kernel needs of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Estimated 32-bit registers per thread: most values alive at one place, as an assembler would have to keep them.
    pub registers: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// Bytes of local memory per thread.
    pub local: u32,
    /// Offset and size of every parameter.
    pub params: Vec<(u32, u32)>,
    /// Bytes of the parameter block.
    pub param_bytes: u32,
    /// Performance directives.
    pub tuning: Tuning,
}

/// Registers that every kernel is given at least.
const FEWEST: u32 = 8;
/// Registers that one thread can address from compute capability 3.5 on.
const MOST: u32 = 255;
/// Registers that a block can have, on every device from compute capability 3.0 on but two small ones.
const FILE: u32 = 65_536;
/// Registers of a thread are allocated by so many.
const UNIT: u32 = 8;
const WARP: u32 = 32;
/// Most threads of a multiprocessor.
const MOST_THREADS: u32 = 2048;

impl Resources {
    pub(crate) fn of(program: &Program) -> Resources {
        let pressure: Vec<u32> = program.functions.iter().map(pressure).collect();
        // A callee's registers stand on top of its callers'; the assembler's own convention saves
        // some, so the deepest function counts.
        let own = pressure.iter().copied().max().unwrap_or(0);
        let limit = program.tuning.max_nreg.unwrap_or(MOST).min(share(&program.tuning));
        let local = program.functions.iter().map(|f| f.frame_bytes).max().unwrap_or(0);
        Resources {
            registers: own.max(FEWEST).min(limit.max(1)),
            shared: program.shared_bytes,
            local,
            params: program.params.iter().map(|(p, at)| (*at, p.size)).collect(),
            param_bytes: program.param_bytes,
            tuning: program.tuning.clone(),
        }
    }
}

/// Most registers that the assembler may use: blocks of the size that the kernel promises, and as many of them beside each
/// other, find room. It spills what is more.
fn share(tuning: &Tuning) -> u32 {
    let Some(block) = tuning.req_ntid.or(tuning.max_ntid) else { return MOST };
    let threads =
        block.iter().fold(1u32, |n, d| n.saturating_mul(*d)).max(1).next_multiple_of(WARP);
    let together = threads.saturating_mul(tuning.min_ncta_per_sm.unwrap_or(1).max(1));
    // The assembler ignores what no multiprocessor holds.
    let together = if together > MOST_THREADS { threads.min(MOST_THREADS) } else { together };
    (FILE / together / UNIT * UNIT).clamp(FEWEST, MOST)
}

/// A register: its kind and number.
type Reg = (Kind, u32);

fn reg(v: &V) -> Option<Reg> {
    match v.src {
        Src::Reg(n) if v.kind != Kind::P => Some((v.kind, n)),
        _ => None,
    }
}

/// Registers that an instruction reads, and those that it surely writes.
fn uses(f: &Function, inst: &Inst) -> (Vec<Reg>, Vec<Reg>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for uop in &f.uops[inst.uops.start as usize..inst.uops.end as usize] {
        match uop {
            Uop::Pure { op, dst, args, .. } => {
                reads.extend(args[..op.args().len()].iter().filter_map(reg));
                writes.extend(reg(dst));
            }
            Uop::Effect { dst, src, .. } => {
                reads.extend(src.iter().filter_map(reg));
                writes.extend(dst.iter().filter_map(reg));
            }
        }
    }
    match &inst.flow {
        Flow::Brx { index, .. } => reads.extend(reg(index)),
        Flow::Call(call) => {
            if let Callee::Indirect(v) = &call.callee {
                reads.extend(reg(v));
            }
            let value = |a: &CallArg| match a {
                CallArg::Value(v) => reg(v),
                _ => None,
            };
            reads.extend(call.args.iter().filter_map(value));
            writes.extend(call.rets.iter().filter_map(value));
        }
        Flow::Ret => reads.extend(f.rets.iter().filter_map(|r| match r {
            ArgumentLocation::Reg(v) => reg(v),
            ArgumentLocation::Frame { .. } => None,
        })),
        _ => {}
    }
    if inst.guard.is_some() {
        // The old value stays in lanes where the guard does not hold.
        reads.append(&mut writes);
    }
    (reads, writes)
}

/// Most 32-bit words of registers alive at one place of `f`.
fn pressure(f: &Function) -> u32 {
    let words = |live: &HashSet<Reg>| -> u32 {
        live.iter().map(|(kind, _)| if *kind == Kind::D { 2 } else { 1 }).sum()
    };
    let facts: Vec<_> = f.insts.iter().map(|i| uses(f, i)).collect();
    let mut into: Vec<HashSet<Reg>> = vec![HashSet::new(); f.blocks.len()];
    let mut most = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for (b, block) in f.blocks.iter().enumerate().rev() {
            let mut live: HashSet<Reg> = HashSet::new();
            for s in &block.succs {
                live.extend(&into[*s as usize]);
            }
            most = most.max(words(&live));
            for (reads, writes) in facts[block.start as usize..block.end as usize].iter().rev() {
                for w in writes {
                    live.remove(w);
                }
                live.extend(reads);
                most = most.max(words(&live));
            }
            if live.len() != into[b].len() {
                into[b] = live;
                changed = true;
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use crate::context::{Context, DeviceOptions};
    use crate::module::Module;

    #[test]
    fn values_alive_together_count() {
        let body = |n: u32| {
            let mut text = String::from(
                ".version 8.0\n.target sm_80\n.address_size 64\n\
                 .visible .entry k(.param .u64 p, .param .u32 q) {\n\
                 .reg .b32 %r<201>; .reg .b64 %rd<3>; .shared .align 4 .b8 s[12];\n\
                 ld.param.u64 %rd1, [p];\n",
            );
            for i in 1..=n {
                text += &format!("ld.global.u32 %r{i}, [%rd1+{}];\n", 4 * i);
            }
            for i in 1..=n {
                text += &format!("st.global.u32 [%rd1+{}], %r{i};\n", 4 * i);
            }
            text + "ret; }\n"
        };
        let context = Context::new(&DeviceOptions::default()).unwrap();
        let need = |n| {
            let module = Module::load(&context, &body(n), "k.ptx").unwrap();
            module.resources("k").unwrap().unwrap()
        };
        assert_eq!(need(3).registers, 8);
        assert_eq!(need(60).registers, 62);
        assert_eq!(need(3).params, [(0, 8), (8, 4)]);
        let bounded = body(200).replace("q) {", "q) .maxntid 384, 1, 1 {");
        let module = Module::load(&context, &bounded, "k.ptx").unwrap();
        assert_eq!(module.resources("k").unwrap().unwrap().registers, 168);
        let two = bounded.replace("384, 1, 1", "384, 1, 1 .minnctapersm 2");
        let module = Module::load(&context, &two, "k.ptx").unwrap();
        assert_eq!(module.resources("k").unwrap().unwrap().registers, 80);
        assert!(Module::load(&context, &body(1), "k.ptx").unwrap().resources("none").is_none());
    }
}
