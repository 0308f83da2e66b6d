//! What most instructions and accesses are: all that they use is defined, and what they make is so too. That is seen
//! from lanes of registers and ranges of memory, without a look at bytes of lanes.

use ptx_interp::Moment;
use ptx_interp::observer::{Action, MemoryAccess};
use ptx_isa::effect::{Accessor, window};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::{Kind, Space};
use ptx_parse::code::{ArgumentLocation, Flow};

use super::marks::{Frame, Warp, place_of};
use super::{CARRY, Init};
use crate::host::Host;

/// Registers that an instruction uses and makes, by their places in a frame.
#[derive(Default)]
pub(super) struct Touched {
    uses: Box<[u32]>,
    makes: Box<[u32]>,
    guarded: bool,
    calls: bool,
}

impl Init {
    /// The registers of a frame that has just begun: lanes that have not written them.
    pub(super) fn fresh(&mut self, m: &Moment<'_>) -> Frame {
        let function = m.function();
        let f = &self.program.functions[function as usize];
        let template = self.templates.entry(function).or_insert_with(|| {
            let mut undefined = vec![u32::MAX; f.regs.iter().sum::<u32>() as usize];
            let mut defined = |kind: Kind, n: u32| {
                if let Some(place) = place_of(f.regs, kind, n) {
                    undefined[place] = 0;
                }
            };
            for slot in f.params.iter().chain(&f.rets) {
                if let ArgumentLocation::Reg(V { kind, src: Src::Reg(n) }) = slot {
                    defined(*kind, *n);
                }
            }
            // The carry flag, which has no name in the text.
            for n in 0..f.regs[Kind::P as usize] {
                let name = f.reg_names[Kind::P as usize].get(n as usize);
                if name.is_none_or(|name| &*name.base == CARRY) {
                    defined(Kind::P, n);
                }
            }
            undefined
        });
        // Lanes that do not exist write nothing and use nothing.
        let all = m.all();
        let undefined = template.iter().map(|lanes| lanes & all).collect();
        Frame::new(function, f.regs, undefined)
    }

    /// Finds out once what the instruction touches.
    fn learn(&mut self, m: &Moment<'_>) {
        let pc = m.pc() as usize;
        if self.touched.len() <= pc {
            self.touched.resize_with(pc + 1, || None);
        }
        if self.touched[pc].is_some() {
            return;
        }
        let Some(inst) = m.inst() else {
            self.touched[pc] = Some(Touched::default());
            return;
        };
        let f = &self.program.functions[m.function() as usize];
        let (mut uses, mut makes) = (Vec::new(), Vec::new());
        let note = |all: &mut Vec<u32>, v: &V| {
            if let Src::Reg(n) = v.src
                && let Some(place) = place_of(f.regs, v.kind, n)
            {
                all.push(place as u32);
            }
        };
        inst.guard.iter().for_each(|(v, _)| note(&mut uses, v));
        if let Flow::Brx { index, .. } = &inst.flow {
            note(&mut uses, index);
        }
        for uop in &f.uops[inst.uops.start as usize..inst.uops.end as usize] {
            match uop {
                Uop::Pure { op, dst, args, .. } => {
                    args[..op.args().len()].iter().for_each(|v| note(&mut uses, v));
                    note(&mut makes, dst);
                }
                Uop::Effect { dst, src, .. } => {
                    src.iter().for_each(|v| note(&mut uses, v));
                    dst.iter().for_each(|v| note(&mut makes, v));
                }
            }
        }
        self.touched[pc] = Some(Touched {
            uses: uses.into(),
            makes: makes.into(),
            guarded: inst.guard.is_some(),
            calls: matches!(inst.flow, Flow::Call(_)),
        });
    }

    /// An instruction that uses defined values only: what it makes is defined as well. Whether it is one.
    pub(crate) fn quick_issue(&mut self, m: &Moment<'_>, active: u32) -> bool {
        self.learn(m);
        self.come(m);
        let (Some((_, warp)), Some(Some(touched))) =
            (&mut self.current, self.touched.get(m.pc() as usize))
        else {
            return false;
        };
        if !warp.temporaries.is_empty() || !warp.copied.is_empty() || touched.calls {
            return false;
        }
        let Some(frame) = warp.frame(m.activation()) else { return false };
        let lanes = m.lanes();
        if touched.uses.iter().any(|place| frame.undefined[*place as usize] & lanes != 0) {
            return false;
        }
        for place in &touched.makes {
            let place = *place as usize;
            if frame.undefined[place] == 0 {
                continue;
            }
            // Which lanes a guard leaves is another matter.
            if touched.guarded {
                return false;
            }
            frame.define(place, active);
        }
        true
    }

    /// An access that moves defined values only. Whether it is one; if so, what it writes is marked.
    pub(crate) fn quick_access(
        &mut self,
        m: &Moment<'_>,
        a: &MemoryAccess<'_>,
        host: &mut Host,
    ) -> bool {
        if !matches!(a.by, Accessor::Load | Accessor::Store | Accessor::Atomic) || a.bytes > 32 {
            return false;
        }
        self.learn(m);
        self.come(m);
        let (Some((_, warp)), Some(Some(touched))) =
            (&mut self.current, self.touched.get(m.pc() as usize))
        else {
            return false;
        };
        if !warp.temporaries.is_empty() {
            return false;
        }
        let Some(frame) = warp.frame(m.activation()) else { return false };
        let mut all = touched.uses.iter().chain(&touched.makes);
        if all.any(|place| frame.undefined[*place as usize] & a.lanes != 0) {
            return false;
        }
        let (mut low, mut high) = (u64::MAX, 0);
        for (lane, address) in a.addresses.iter().enumerate() {
            if a.lanes >> lane & 1 != 0 {
                (low, high) = (low.min(*address), high.max(*address));
            }
        }
        let ((space, at), (end_space, end)) =
            (window::locate(a.space, low), window::locate(a.space, high));
        if space != end_space {
            return false;
        }
        // From an address as the instruction names it to one in the space.
        let minus = low.wrapping_sub(at);
        let bytes = u64::from(a.bytes);
        let end = end + bytes;
        match space {
            Space::Global => {
                let Some((start, known)) = host.range(at, end) else { return !host.tracks() };
                known.move_all(a, minus.wrapping_add(start), at - start..end - start)
            }
            Space::Shared | Space::SharedCluster => {
                let (Some((owner, at)), Some((same, _))) =
                    (m.block_of_shared(at), m.block_of_shared(end - 1))
                else {
                    return false;
                };
                if owner != same || (end - 1) % window::SHARED_CTA >= u64::from(m.shared_bytes()) {
                    return false;
                }
                let known = super::shared(&mut self.shared, owner, m.shared_bytes());
                let begin = low.wrapping_sub(at);
                known.move_all(a, begin, at..at + (high - low) + bytes)
            }
            Space::Local | Space::ParamFunc => quick_local(warp, a, minus, end),
            Space::Const | Space::ParamEntry => a.action == Action::Read,
            _ => false,
        }
    }
}

/// An access to local memory, where every lane has its own; `end` is behind the highest address.
fn quick_local(warp: &mut Warp, a: &MemoryAccess<'_>, minus: u64, end: u64) -> bool {
    if end > warp.local.len() as u64 {
        return false;
    }
    let bytes = a.bytes as usize;
    let mut all = (0..32).filter(|lane| a.lanes >> lane & 1 != 0);
    all.all(|lane| {
        let at = a.addresses[lane].wrapping_sub(minus) as usize;
        let written = &mut warp.local[at..at + bytes];
        if a.action == Action::Write {
            written.iter_mut().for_each(|lanes| *lanes |= 1 << lane);
            return true;
        }
        written.iter().all(|lanes| lanes >> lane & 1 != 0)
    })
}
