//! Which parameters' bounds are of use: code is made for launches with parameters up to a number, and each parameter
//! that is larger the next time takes a version of the code.

use std::collections::HashMap;

use ptx_isa::Space;
use ptx_isa::effect::Effect;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::types::Ty;
use ptx_isa::uop::Op;
use ptx_parse::code::{CallArg, Callee, Flow, Function, Program};

/// Parameters by number, a bit each.
type Set = u64;

/// Offsets of parameters that the kernel loads as words, that are not declared as floating-point numbers, and of which
/// a bound may tell something: [`crate::range`] carries bounds through sums, products and shifts. What a parameter is
/// combined with bit by bit, compared with for equality, or stored as, has none from it.
pub(crate) fn counts(program: &Program) -> Vec<u32> {
    let Some(kernel) = program.functions.first() else { return Vec::new() };
    let mut all = loaded(program, kernel);
    if all.len() > Set::BITS as usize {
        return all;
    }
    let used = Flows::new(kernel, &all).used;
    let mut number = 0;
    all.retain(|_| {
        number += 1;
        used >> (number - 1) & 1 != 0
    });
    all
}

/// The offset of the parameter that a micro-op loads as a word.
fn load(uop: &Uop) -> Option<u32> {
    if let Uop::Effect { effect: Effect::Ld(m), src, .. } = uop
        && m.place.space == Space::ParamEntry
        && (m.bytes, m.count) == (4, 1)
        && let Some(V { src: Src::Const(base), .. }) = src.first()
    {
        let at = (*base as i64).checked_add(m.place.offset)?;
        return u32::try_from(at).ok().filter(|at| *at <= i32::MAX as u32);
    }
    None
}

fn loaded(program: &Program, kernel: &Function) -> Vec<u32> {
    let number = |at: u32| program.params.iter().any(|(p, start)| *start == at && p.ty == Ty::F32);
    let mut all = Vec::new();
    for at in kernel.uops.iter().filter_map(load) {
        if !number(at) && !all.contains(&at) {
            all.push(at);
        }
    }
    all
}

/// What becomes of parameters: by register, those of which it may have bounds.
struct Flows {
    of: HashMap<V, Set>,
    temps: Vec<V>,
    used: Set,
}

impl Flows {
    fn new(kernel: &Function, all: &[u32]) -> Flows {
        let mut flows = Flows { of: HashMap::new(), temps: Vec::new(), used: 0 };
        let mut known = 0;
        loop {
            for inst in &kernel.insts {
                for uop in &kernel.uops[inst.uops.start as usize..inst.uops.end as usize] {
                    flows.uop(uop, all);
                }
                flows.flow(&inst.flow);
                // Temporaries are the instruction's own.
                for temp in flows.temps.drain(..) {
                    flows.of.remove(&temp);
                }
            }
            let now = flows.of.values().map(|set| set.count_ones()).sum();
            if now == known {
                return flows;
            }
            known = now;
        }
    }

    fn set(&self, v: &V) -> Set {
        self.of.get(v).copied().unwrap_or(0)
    }

    fn give(&mut self, v: &V, set: Set) {
        if set != 0 {
            if matches!(v.src, Src::Temp(_)) {
                self.temps.push(*v);
            }
            *self.of.entry(*v).or_default() |= set;
        }
    }

    fn uop(&mut self, uop: &Uop, all: &[u32]) {
        match uop {
            Uop::Pure { op, dst, args, .. } => {
                let args = &args[..op.args().len()];
                let set = args.iter().fold(0, |set, v| set | self.set(v));
                match op {
                    Op::MovW | Op::AddW | Op::SubW | Op::MulW | Op::MadW => self.give(dst, set),
                    Op::ShlW | Op::ShrW | Op::SarW | Op::SelW => self.give(dst, set),
                    Op::EqW | Op::NeW => {}
                    Op::AndW | Op::OrW | Op::XorW
                        if args.iter().all(|v| v.as_const().is_none()) => {}
                    // It has bounds of its own, or none, or asks for its operands'.
                    _ => self.used |= set,
                }
            }
            Uop::Effect { effect, dst, src } => {
                if let (Some(at), [to, ..]) = (load(uop), &dst[..]) {
                    let number = all.iter().position(|a| *a == at);
                    self.give(to, number.map_or(0, |n| 1 << n));
                }
                // What is stored is not asked for bounds, where it is stored is.
                let asked = if effect.access().is_some() { src.len().min(1) } else { src.len() };
                self.used |= src[..asked].iter().fold(0, |set, v| set | self.set(v));
            }
        }
    }

    fn flow(&mut self, flow: &Flow) {
        match flow {
            Flow::Brx { index, .. } => self.used |= self.set(index),
            Flow::Call(call) => {
                if let Callee::Indirect(v) = &call.callee {
                    self.used |= self.set(v);
                }
                for arg in &call.args {
                    if let CallArg::Value(v) = arg {
                        self.used |= self.set(v);
                    }
                }
            }
            Flow::Next | Flow::Bra(_) | Flow::Ret | Flow::Exit => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ptx_parse::lower::lower;

    use super::counts;

    /// The offsets of the parameters of a kernel whose bounds are of use.
    fn of(body: &str) -> Vec<u32> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to, .param .u32 a, \
             .param .u32 b)\n{{\n.reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;\n\
             ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; mov.u32 %r3, %tid.x;\n\
             {body}\nret;\n}}\n"
        );
        let (module, found) = ptx_parse::parse_and_verify(&text, "k.ptx");
        counts(&lower(&module.unwrap_or_else(|| panic!("{found:?}")), 0).expect("it is lowered"))
    }

    const STORE: &str =
        "mul.wide.u32 %rd2, %r4, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r2;";

    #[test]
    fn what_addresses_and_tests_are_made_of_counts() {
        assert_eq!(of(&format!("mad.lo.u32 %r4, %r3, %r1, %r2; {STORE}")), [8, 12]);
        assert_eq!(of(&format!("add.u32 %r4, %r3, %r1; shl.b32 %r4, %r4, 1; {STORE}")), [8]);
        assert_eq!(of("setp.lt.s32 %p, %r3, %r2; @%p st.global.u32 [%rd1], %r3;"), [12]);
        assert_eq!(of(&format!("and.b32 %r4, %r1, 255; {STORE}")), [8]);
        assert_eq!(of("cvt.u64.u32 %rd2, %r2; st.global.u64 [%rd1], %rd2;"), [12]);
    }

    #[test]
    fn bits_and_data_do_not() {
        assert_eq!(of(&format!("xor.b32 %r4, %r3, %r1; {STORE}")), []);
        assert_eq!(
            of("and.b32 %r4, %r3, %r1; setp.eq.u32 %p, %r4, 0; @%p st.global.u32 [%rd1], %r2;"),
            []
        );
        assert_eq!(of("add.u32 %r4, %r1, %r2; st.global.u32 [%rd1], %r4;"), []);
    }

    #[test]
    fn registers_that_change_in_loops_are_followed() {
        let body = "mov.u32 %r5, 0; mov.u32 %r6, 0;\n$on: mov.u32 %r4, %r6; mov.u32 %r6, %r5; mov.u32 %r5, %r1;\n\
                    setp.ne.u32 %p, %r4, %r2; @%p bra $on;";
        assert_eq!(of(&format!("{body} {STORE}")), [8]);
    }
}
