//! Values that nobody wrote, reported where they decide something: an address, a branch, what is printed or what the
//! host reads. To move them about is no mistake.
//!
//! Every register, and every byte of global, shared and local memory has a mark. What an instruction makes of marks is
//! in `transfer`; results of instructions that look across lanes count as defined, so that no report is a guess.

mod accesses;
mod marks;
mod quick;

use std::collections::HashSet;
use std::sync::Arc;

use ptx_interp::Moment;
use ptx_interp::observer::MemoryAccess;
use ptx_isa::effect::{Accessor, Effect, window};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::{Kind, Space};
use ptx_parse::code::{CallArg, Flow, Inst, Program};

use crate::finding::{Check, Class, Finding, Where};
use crate::hash::HashMap;
use crate::host::{Cause, Host, variable};
use crate::memory::site;
use crate::transfer::{self, Arg};
use crate::written::Written;

use marks::{From, Mark, Warp};
use quick::Touched;

/// The register of the carry flag, which has no name in the text.
const CARRY: &str = "CC.CF";

/// Index of its block, and its number there.
type WarpName = ([u32; 3], u32);

/// Watches values of a launch.
pub(crate) struct Init {
    program: Arc<Program>,
    warps: HashMap<WarpName, Box<Warp>>,
    /// The warp that acted last, which is not in `warps`.
    current: Option<(WarpName, Box<Warp>)>,
    /// By function: lanes that a new frame has as undefined, of each register.
    templates: HashMap<u32, Vec<u32>>,
    /// By position in the decoded stream.
    touched: Vec<Option<Touched>>,
    /// Which bytes of a block's shared memory were written.
    shared: HashMap<u64, Written>,
    numbers: HashMap<[u32; 3], u64>,
    causes: HashMap<(u32, u32, u64), u32>,
    found: HashSet<(u32, u32, Class)>,
    pub findings: Vec<Finding>,
}

/// What is known of the shared memory of a block.
fn shared(all: &mut HashMap<u64, Written>, owner: u64, bytes: u32) -> &mut Written {
    all.entry(owner).or_insert_with(|| Written::new(u64::from(bytes)))
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |l| mask >> l & 1 != 0)
}

impl Init {
    pub(crate) fn new(program: Arc<Program>) -> Init {
        Init {
            program,
            warps: HashMap::default(),
            current: None,
            templates: HashMap::default(),
            touched: Vec::new(),
            shared: HashMap::default(),
            numbers: HashMap::default(),
            causes: HashMap::default(),
            found: HashSet::new(),
            findings: Vec::new(),
        }
    }

    pub(crate) fn block_ends(&mut self, block: [u32; 3]) {
        if let Some((name, warp)) = self.current.take() {
            self.warps.insert(name, warp);
        }
        self.warps.retain(|(b, _), _| *b != block);
        if let Some(number) = self.numbers.remove(&block) {
            self.shared.remove(&number);
        }
    }

    /// Makes the warp the current one, with a frame for the executing activation.
    fn come(&mut self, m: &Moment<'_>) {
        let (name, activation) = ((m.block(), m.warp()), m.activation() as usize);
        if self.current.as_ref().is_none_or(|(current, _)| *current != name) {
            if let Some((old, warp)) = self.current.take() {
                self.warps.insert(old, warp);
            }
            self.numbers.entry(name.0).or_insert_with(|| m.block_number());
            self.current = Some((name, self.warps.remove(&name).unwrap_or_default()));
        }
        let Some((_, warp)) = &mut self.current else { return };
        let frame = warp.frames.get(activation).and_then(Option::as_ref);
        if frame.is_some_and(|f| f.function == m.function()) {
            return;
        }
        let fresh = self.fresh(m);
        let Some((_, warp)) = &mut self.current else { return };
        // A split that has ended has no activation.
        if warp.frames.len() <= activation && activation < 1 << 20 {
            warp.frames.resize_with(activation + 1, || None);
        }
        if let Some(frame) = warp.frames.get_mut(activation) {
            *frame = Some(fresh);
        }
    }

    /// The warp's marks, until it leaves.
    fn enter(&mut self, m: &Moment<'_>) -> Box<Warp> {
        self.come(m);
        self.current.take().map(|(_, warp)| warp).unwrap_or_default()
    }

    fn leave(&mut self, m: &Moment<'_>, warp: Box<Warp>) {
        self.current = Some(((m.block(), m.warp()), warp));
    }

    /// A warp issues an instruction, whose guard holds in `active`.
    pub(crate) fn issue(&mut self, m: &Moment<'_>, active: u32, host: &Host) {
        let program = Arc::clone(&self.program);
        let Some(inst) = m.inst() else { return };
        let mut warp = self.enter(m);
        warp.temporaries.clear();
        warp.copied.clear();
        self.control(m, &mut warp, inst, host);
        let function = &program.functions[m.function() as usize];
        let uops = &function.uops[inst.uops.start as usize..inst.uops.end as usize];
        let mask = match inst.guard {
            None => active,
            Some((V { src: Src::Reg(n), .. }, negated)) if matches!(inst.flow, Flow::Next) => {
                m.register(Kind::P, n).map_or(active, |values| {
                    let held = |l: &usize| (values[*l] != 0) != negated;
                    lanes(m.lanes()).filter(held).fold(0, |all, l| all | 1 << l)
                })
            }
            // What a branch needs is computed in all lanes; a guard that the instruction itself makes is rare.
            Some(_) => m.lanes(),
        };
        // Loads count as defined until their access is told, which follows.
        for uop in uops {
            self.uop(m, &mut warp, uop, mask, host);
        }
        if let Flow::Call(call) = &inst.flow {
            let none = From::Register(Kind::P, 0);
            for ret in &call.rets {
                if let CallArg::Value(v) = ret {
                    warp.set(m.activation(), *v, u32::MAX, &[0; 32], none);
                }
            }
        }
        self.leave(m, warp);
    }

    /// A branch, or an instruction with an effect, that a value which nobody wrote decides.
    fn control(&mut self, m: &Moment<'_>, warp: &mut Warp, inst: &Inst, host: &Host) {
        let function = &self.program.functions[m.function() as usize];
        let uops = &function.uops[inst.uops.start as usize..inst.uops.end as usize];
        let effects = uops.iter().any(|u| matches!(u, Uop::Effect { .. }));
        let decides = effects || !matches!(inst.flow, Flow::Next);
        let guard = inst.guard.map(|(v, _)| v).filter(|_| decides);
        let index = match &inst.flow {
            Flow::Brx { index, .. } => Some(*index),
            Flow::Next | Flow::Bra(_) | Flow::Call(_) | Flow::Ret | Flow::Exit => None,
        };
        for v in guard.into_iter().chain(index) {
            let class = Class::UninitializedBranch;
            self.used(m, warp, (v, m.lanes()), class, "branch", host);
        }
    }

    /// Reports a value whose use decides something; afterwards it counts as defined.
    fn used(
        &mut self,
        m: &Moment<'_>,
        warp: &mut Warp,
        (v, mask): (V, u32),
        class: Class,
        what: &str,
        host: &Host,
    ) {
        let Some(mark) = warp.get(m.activation(), v) else { return };
        let Some(lane) = lanes(mask).find(|l| mark.bytes[*l] != 0) else { return };
        let from = mark.from;
        self.say(m, lane as u8, class, what, from, host);
        warp.set(m.activation(), v, u32::MAX, &[0; 32], from);
    }

    fn say(&mut self, m: &Moment<'_>, lane: u8, class: Class, what: &str, from: From, host: &Host) {
        if !self.found.insert((m.function(), m.index(), class)) {
            return;
        }
        let cause = match from {
            From::Kept(number) => host.cause(number),
            From::Register(..) => None,
        };
        let source = match (from, cause) {
            (From::Register(kind, n), _) => {
                let names = &self.program.functions[m.function() as usize].reg_names;
                let name = names[kind as usize].get(n as usize).map(ToString::to_string);
                format!("the register `{}`", name.unwrap_or_default())
            }
            (_, Some(cause)) => cause.what.clone(),
            (_, None) => "memory".to_owned(),
        };
        let decided = match class {
            Class::UninitializedAddress => "an address is computed",
            Class::UninitializedBranch => "a branch or guard is computed",
            _ => "output comes",
        };
        let message = format!("uninitialised: {decided} from {source}, which nobody wrote");
        let mut finding = Finding::new(Check::Init, class, m.kernel().name(), message);
        finding.sites.push(site(m, lane, what));
        finding.sites.extend(cause.map(Cause::site));
        finding.memory = cause.and_then(|o| o.memory.clone());
        finding.missing = Some("write the value before it is used".into());
        self.findings.push(finding);
    }

    /// A micro-op, in the lanes of `mask`; loads count as defined until their access is told.
    fn uop(&mut self, m: &Moment<'_>, warp: &mut Warp, uop: &Uop, mask: u32, host: &Host) {
        let activation = m.activation();
        match uop {
            Uop::Pure { op, dst, args, .. } => {
                let n = op.args().len();
                let marks = std::array::from_fn::<_, 3, _>(|i| {
                    if i < n { warp.get(activation, args[i]) } else { None }
                });
                let undefined = |mark: &&Mark| lanes(mask).any(|l| mark.bytes[l] != 0);
                let Some(from) = marks.iter().flatten().find(undefined).map(|m| m.from) else {
                    return warp.set(activation, *dst, mask, &[0; 32], From::Kept(0));
                };
                // A value minus or exclusive-or itself is 0, whatever it was.
                let cancels = n == 2 && args[0] == args[1] && transfer::cancels(*op);
                let values = args.map(|v| match v.src {
                    Src::Reg(number) if transfer::looks_at(*op) => m.register(v.kind, number),
                    _ => None,
                });
                let sources: [Arg<'_>; 3] = std::array::from_fn(|i| Arg {
                    bytes: marks[i].as_ref().map(|m| &m.bytes),
                    constant: args[i].as_const(),
                    values: values[i].as_ref(),
                });
                let mut bytes = [0; 32];
                if !cancels {
                    for l in lanes(mask) {
                        bytes[l] = transfer::lane(*op, &sources, dst.kind, l);
                    }
                }
                warp.set(activation, *dst, mask, &bytes, from);
            }
            Uop::Effect { effect, dst, src } => {
                let address = matches!(effect, Effect::Ld(_) | Effect::St(_) | Effect::Atom(_));
                if let (true, Some(base)) = (address, src.first()) {
                    let class = Class::UninitializedAddress;
                    self.used(m, warp, (*base, mask), class, "access", host);
                }
                if let Effect::Warp(op) = effect
                    && let Some(members) = op.members
                    && let Some(v) = src.get(members as usize)
                {
                    let class = Class::UninitializedBranch;
                    self.used(m, warp, (*v, mask), class, "member mask", host);
                }
                for v in dst {
                    warp.set(activation, *v, mask, &[0; 32], From::Kept(0));
                }
            }
        }
    }

    /// A warp's access, before it happens.
    pub(crate) fn access(&mut self, m: &Moment<'_>, a: &MemoryAccess<'_>, host: &mut Host) {
        if a.space == Space::Tex {
            return;
        }
        let program = Arc::clone(&self.program);
        let Some(inst) = m.inst() else { return };
        let mut warp = self.enter(m);
        let function = &program.functions[m.function() as usize];
        let uops = &function.uops[inst.uops.start as usize..inst.uops.end as usize];
        let is_access = |u: &Uop| {
            matches!(u, Uop::Effect { effect: Effect::Ld(_) | Effect::St(_) | Effect::Atom(_), .. })
        };
        let at = uops.iter().position(is_access);
        match (a.by, at.map(|at| (at, &uops[at]))) {
            (Accessor::Load, Some((at, Uop::Effect { effect: Effect::Ld(mem), dst, .. }))) => {
                self.load(m, &mut warp, a, mem, dst, host);
                self.rest(m, &mut warp, &uops[at + 1..], a.lanes, host);
            }
            (Accessor::Store, Some((_, Uop::Effect { effect: Effect::St(mem), src, .. }))) => {
                self.store(m, &mut warp, a, mem, src, host);
            }
            (
                Accessor::Atomic,
                Some((at, Uop::Effect { effect: Effect::Atom(atom), dst, src })),
            ) => {
                self.atomic(m, &mut warp, a, atom, (dst, src), host);
                self.rest(m, &mut warp, &uops[at + 1..], a.lanes, host);
            }
            _ => self.other(m, &mut warp, a, host),
        }
        self.leave(m, warp);
    }

    fn rest(&mut self, m: &Moment<'_>, warp: &mut Warp, uops: &[Uop], mask: u32, host: &Host) {
        for uop in uops {
            self.uop(m, warp, uop, mask, host);
        }
    }

    /// Which bytes at an address nobody wrote.
    fn missing(
        &mut self,
        m: &Moment<'_>,
        warp: &Warp,
        (space, lane): (Space, usize),
        address: u64,
        bytes: u32,
        host: &Host,
    ) -> u64 {
        let each = |test: &dyn Fn(u64) -> bool| {
            (0..u64::from(bytes.min(64))).filter(|n| test(*n)).fold(0, |all, n| all | 1 << n)
        };
        match window::locate(space, address) {
            (Space::Global, at) if space != Space::Const => host.unwritten(at, bytes),
            (Space::Shared | Space::SharedCluster, at) => {
                let Some((owner, at)) = m.block_of_shared(at) else { return 0 };
                let known = self.shared.get(&owner);
                let size = u64::from(m.shared_bytes());
                each(&|n| at + n < size && known.is_none_or(|k| !k.all(at + n..at + n + 1)))
            }
            // Only arrays: parameters of calls are copied unseen.
            (Space::Local, at) if m.in_local_array(at) => each(&|n| {
                warp.local.get((at + n) as usize).is_none_or(|lanes| lanes >> lane & 1 == 0)
            }),
            _ => 0,
        }
    }

    /// The number of the cause that this read is.
    fn cause(
        &mut self,
        m: &Moment<'_>,
        lane: usize,
        space: Space,
        at: u64,
        host: &mut Host,
    ) -> From {
        let (located, address) = window::locate(space, at);
        let name = match located {
            Space::Global => "global memory",
            Space::Shared | Space::SharedCluster => "shared memory",
            _ => "local memory",
        };
        let held = (located == Space::Global).then(|| m.memory().find(address)).flatten();
        let key = (m.function(), m.index(), held.as_ref().map_or(0, |a| a.start));
        if let Some(number) = self.causes.get(&key) {
            return From::Kept(*number);
        }
        let shared = |at: u64| {
            let all = &self.program.shared_vars;
            let below = all.iter().filter(|v| u64::from(v.1) <= at).max_by_key(|v| v.1)?;
            let size = if below.2 == 0 { m.dynamic_bytes() } else { below.2 };
            let (name, start) = (below.0.clone(), u64::from(below.1));
            Some(crate::finding::Variable { name, start, size: u64::from(size) })
        };
        let variable = match located {
            Space::Global => held.as_ref().map(variable),
            Space::Shared | Space::SharedCluster => shared(address % window::SHARED_CTA),
            _ => None,
        };
        let called = variable.as_ref().map_or(String::new(), |v| format!(" (`{}`)", v.name));
        let memory = Where {
            space: name.split(' ').next().unwrap_or("").into(),
            address,
            bytes: 1,
            variable,
        };
        let number = host.keep(Cause {
            what: format!("{name}{called}"),
            place: m.place(),
            block: m.block(),
            thread: m.thread(lane as u8),
            kernel: m.kernel().name().to_owned(),
            memory: Some(memory),
        });
        self.causes.insert(key, number);
        From::Kept(number)
    }

    /// Where undefined bytes at an address come from.
    fn source(
        &mut self,
        m: &Moment<'_>,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u32,
        host: &mut Host,
    ) -> From {
        if let (Space::Global, at) = window::locate(space, address)
            && let Some(number) = host.poisoned(at, u64::from(bytes))
        {
            return From::Kept(number);
        }
        self.cause(m, lane, space, address, host)
    }
}
