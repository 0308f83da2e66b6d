//! Builds the reports of faults from the state in which they happen.

use ptx_isa::Space;
use ptx_isa::effect::{Fault, window};

use crate::control::{State, Warp};
use crate::cta::{At, Group};
use crate::moment::warps;
use crate::observer::Observer;
use crate::report::*;
use crate::rows::first;
use crate::trouble::Trouble;
use crate::worker::{Stopped, Worker};

impl<O: Observer> Worker<'_, O> {
    #[cold]
    pub(crate) fn trouble_report(
        &self,
        group: &Group,
        at: At,
        pc: u32,
        mask: u32,
        trouble: Trouble,
    ) -> Stopped {
        match trouble {
            Trouble::Fault(f) => self.fault_report(group, at, pc, mask, f),
            Trouble::Kind(lane, kind, message) => {
                self.moment(group, at, pc, mask).report(lane, kind, message)
            }
        }
    }

    #[cold]
    pub(crate) fn fault_report(
        &self,
        group: &Group,
        at: At,
        pc: u32,
        mask: u32,
        fault: Fault,
    ) -> Stopped {
        match fault {
            Fault::OutOfBounds { lane, space, address, bytes, write } => {
                let (kind, message) = self.outside(space, address, bytes, write);
                let mut r = self.moment(group, at, pc, mask).report(lane, kind, message);
                r.access = Some(self.access_info(space, address, bytes, write));
                r
            }
            Fault::Misaligned { lane, space, address, bytes, write } => {
                let kind = FaultKind::Misaligned;
                let message = format!(
                    "misaligned {} at {} address {address:#x}: it must be a multiple of {bytes}",
                    verb(write),
                    space.name()
                );
                let mut r = self.moment(group, at, pc, mask).report(lane, kind, message);
                r.access = Some(self.access_info(space, address, bytes, write));
                r
            }
            Fault::Operand { lane, message } => {
                self.moment(group, at, pc, mask).report(lane, FaultKind::Operand, message)
            }
            Fault::Stopped { lane, message } => {
                self.moment(group, at, pc, mask).report(lane, FaultKind::Cancelled, message)
            }
        }
    }

    /// What kind of bad access it is, as a sentence.
    fn outside(&self, space: Space, address: u64, bytes: u32, write: bool) -> (FaultKind, String) {
        let generic = space == Space::Generic;
        let param = generic && address.wrapping_sub(window::PARAM) < window::PARAM_SIZE;
        if write && (space == Space::ParamEntry || param) {
            let message = format!("write of {bytes} bytes to kernel parameters at {address:#x}");
            return (FaultKind::ReadOnly, message);
        }
        if write
            && address >= window::GLOBAL
            && let Some(a) = self.cx.memory.find(address)
            && a.access == crate::allocation::Access::ReadOnly
        {
            let message = format!(
                "write of {bytes} bytes to read-only memory at {address:#x} (`{}`)",
                a.name
            );
            return (FaultKind::ReadOnly, message);
        }
        let small = matches!(space, Space::Generic | Space::Global | Space::Const);
        if small && address < 0x1_0000 {
            let message = format!("null pointer: {} of {bytes} bytes at {address:#x}", verb(write));
            return (FaultKind::NullPointer, message);
        }
        let message = format!(
            "out of bounds: {} of {bytes} bytes at {} address {address:#x}{}",
            verb(write),
            space.name(),
            match space {
                Space::Shared | Space::SharedCluster =>
                    format!(" (the block has {} bytes)", self.l.geometry.shared_bytes),
                Space::Local | Space::ParamFunc =>
                    format!(" (the thread's frame ends at {:#x})", self.cx.local.1),
                Space::ParamEntry =>
                    format!(" (the kernel has {} bytes)", self.k.program.param_bytes),
                Space::Generic | Space::Global | Space::Const =>
                    match self.cx.memory.freed(address) {
                        Some(a) => format!(
                            ", which was freed: it lay in `{}` ({:#x}, {} bytes)",
                            a.name, a.start, a.size
                        ),
                        None => String::new(),
                    },
                _ => String::new(),
            }
        );
        (FaultKind::OutOfBounds, message)
    }

    fn access_info(&self, space: Space, address: u64, bytes: u32, write: bool) -> AccessInfo {
        let global = matches!(space, Space::Generic | Space::Global | Space::Const);
        let near = global && address >= window::PARAM + window::PARAM_SIZE;
        let nearest = if near {
            self.cx.memory.nearest(address)
        } else if space == Space::Shared {
            let at = address % window::SHARED_CTA;
            self.shared_variable(at).map(|a| {
                let d = if at < a.start {
                    -((a.start - at) as i64)
                } else if at - a.start < a.size {
                    0
                } else {
                    (at - a.start - a.size + 1) as i64
                };
                (a, d)
            })
        } else {
            None
        };
        AccessInfo { space: space.name().into(), address, bytes, write, nearest }
    }

    /// The shared variable that starts last at or below `address`.
    fn shared_variable(&self, address: u64) -> Option<crate::allocation::Allocation> {
        let vars = &self.k.program.shared_vars;
        let (name, at, size) = vars.iter().filter(|v| v.1 as u64 <= address).max_by_key(|v| v.1)?;
        let size = if *size == 0 { self.l.geometry.dynamic_bytes } else { *size };
        Some(crate::allocation::Allocation {
            start: *at as u64,
            size: size as u64,
            name: name.as_str().into(),
            access: crate::allocation::Access::ReadWrite,
            heap: false,
            lent: false,
        })
    }

    #[cold]
    pub(crate) fn branch_index_report(
        &self,
        group: &Group,
        at: At,
        pc: u32,
        mask: u32,
        index: u32,
    ) -> Stopped {
        let table = &self.k.tables[self.k.code[pc as usize].k as usize];
        let message =
            format!("branch with index {index}: the table has {} targets", table.targets.len());
        let lane = first(mask);
        self.moment(group, at, pc, mask).report(lane, FaultKind::BranchIndex, message)
    }

    /// Every warp waits.
    #[cold]
    pub(crate) fn deadlock(&self, group: &Group) -> Stopped {
        let warps = warps(self.k, group);
        let mut divergent = false;
        for cta in &group.ctas {
            for w in &cta.warps {
                let mut places: Vec<_> =
                    w.splits.iter().filter(|s| matches!(s.state, State::Bar(_))).collect();
                places.dedup_by_key(|s| s.pc);
                let held: u32 = w.splits.iter().fold(0, |m, s| m | s.mask);
                divergent |= places.len() > 1 || !places.is_empty() && held != w.live;
            }
        }
        let (kind, message) = if divergent {
            let message = "deadlock: lanes of a warp wait at different places of a barrier";
            (FaultKind::DivergentBarrier, message)
        } else {
            (FaultKind::Deadlock, "deadlock: every warp of the block waits at a barrier")
        };
        let at = group
            .ctas
            .iter()
            .enumerate()
            .find_map(|(cta, c)| {
                let warp = c.warps.iter().position(|w| !w.splits.is_empty())?;
                Some(At { cta, warp, split: c.warps[warp].splits.len() - 1 })
            })
            .unwrap_or(At { cta: 0, warp: 0, split: 0 });
        self.whole_report(group, at, kind, message.into(), warps)
    }

    /// A limit of the launch was reached while this group ran.
    #[cold]
    pub(crate) fn limit_report(&self, group: &Group, kind: FaultKind, message: String) -> Stopped {
        let warps = warps(self.k, group);
        let mut message = message;
        let held = group.ctas.iter().flat_map(|c| &c.warps).any(Warp::has_waiting);
        if self.stack && held && kind != FaultKind::Cancelled {
            message.push_str(
                "; lanes wait for others of their warp to reconverge: below sm_70 a lane that waits \
                 for another lane of its warp never ends",
            );
        }
        let at = group
            .ctas
            .iter()
            .enumerate()
            .find_map(|(cta, c)| {
                let warp = c.warps.iter().position(|w| !w.splits.is_empty())?;
                Some(At { cta, warp, split: c.warps[warp].splits.len() - 1 })
            })
            .unwrap_or(At { cta: 0, warp: 0, split: 0 });
        self.whole_report(group, at, kind, message, warps)
    }

    fn whole_report(
        &self,
        group: &Group,
        at: At,
        kind: FaultKind,
        message: String,
        warps: Vec<WarpPlace>,
    ) -> Stopped {
        let cta = &group.ctas[at.cta];
        let split = cta.warps.get(at.warp).and_then(|w| w.splits.get(at.split));
        match split {
            Some(s) => {
                let lane = first(s.mask);
                let mut r = self.moment(group, at, s.pc, s.mask).report(lane, kind, message);
                r.registers.clear();
                r.warps = warps;
                r
            }
            None => Box::new(Report {
                kind,
                message,
                kernel: self.k.name().into(),
                place: None,
                block: cta.id,
                thread: [0; 3],
                lanes: 0,
                access: None,
                registers: Vec::new(),
                calls: Vec::new(),
                warps,
            }),
        }
    }
}

fn verb(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}
