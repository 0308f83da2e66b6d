//! How the observer sees that what is watched was read or written.

use ptx_interp::Moment;
use ptx_interp::observer::{Action, MemoryAccess};

use crate::command::WatchKind;
use crate::eval;
use crate::runner::{Runner, Touched};
use crate::session::{LaneId, Reason, Watched};
use crate::watched::{overlaps, value_of};

impl Runner<'_> {
    /// Watchpoints whose value was accessed by the last instruction.
    pub(crate) fn watches(&mut self, moment: &Moment<'_>) -> Option<(Reason, LaneId)> {
        let mut found = None;
        let touched = std::mem::take(&mut self.touched);
        if !touched.is_empty() {
            self.every = self.needs_every();
        }
        let hit = u64::from(self.search.is_none());
        for t in touched {
            let w = &self.session.watchpoints[t.watch];
            let value = value_of(self.session, t.watch, moment);
            let (before, ty, text) = (w.last, w.ty, w.text.clone());
            let reads = matches!(w.kind, WatchKind::Read | WatchKind::Any) && !t.wrote;
            let writes = matches!(w.kind, WatchKind::Write | WatchKind::Any) && t.wrote;
            let w = &mut self.session.watchpoints[t.watch];
            w.last = value;
            if found.is_none() && (reads || writes && before.unwrap_or(0) != value.unwrap_or(0)) {
                w.hits += hit;
                let show = |v: Option<u64>| eval::decode(ty, v.unwrap_or(0));
                let values = (show(if reads { value } else { before }), show(value));
                let (by, at, number) = (t.by, t.at, w.number);
                found = Some((Reason::Watchpoint { number, text, values, by, at }, by));
            }
        }
        for n in 0..self.session.watchpoints.len() {
            let w = &self.session.watchpoints[n];
            if !w.enabled || !matches!(w.what, Watched::Register { .. }) {
                continue;
            }
            let Some(value) = value_of(self.session, n, moment) else { continue };
            let by = w.lane;
            let Some(lane) = moment.lane(by.block, by.warp, by.lane) else { continue };
            let w = &mut self.session.watchpoints[n];
            let before = w.last.replace(value);
            let at = w.seen.replace(lane.at()).unwrap_or(lane.at());
            if found.is_none() && before.is_some_and(|b| b != value) {
                w.hits += hit;
                let show = |v: u64| eval::decode(w.ty, v);
                let values = (show(before.unwrap_or(0)), show(value));
                let (text, number) = (w.text.clone(), w.number);
                found = Some((Reason::Watchpoint { number, text, values, by, at }, by));
            }
        }
        found
    }

    /// An access that a watchpoint, or the question for a writer, is about.
    pub(crate) fn access(&mut self, moment: &Moment<'_>, access: &MemoryAccess<'_>) {
        let wrote = matches!(access.action, Action::Write | Action::Update);
        let here = LaneId::executing(moment);
        let at = (moment.function(), moment.index());
        let lanes = (0..32u8).filter(|l| access.lanes >> l & 1 != 0);
        if let Some((sought, _, before, found)) = &mut self.who {
            let now = self.time - 1;
            for lane in lanes {
                let by = LaneId { lane, ..here };
                let address = access.addresses[lane as usize];
                if wrote
                    && now < *before
                    && overlaps(
                        &sought.what,
                        sought.lane,
                        by,
                        moment,
                        access.space,
                        address,
                        access.bytes,
                    )
                {
                    *found = Some((now, by, at));
                }
            }
            return;
        }
        for lane in lanes {
            let by = LaneId { lane, ..here };
            let address = access.addresses[lane as usize];
            for (n, w) in self.session.watchpoints.iter().enumerate().filter(|(_, w)| w.enabled) {
                if overlaps(&w.what, w.lane, by, moment, access.space, address, access.bytes) {
                    self.touched.push(Touched { watch: n, by, at, wrote });
                }
            }
        }
        if !self.touched.is_empty() {
            self.every = true;
        }
    }

    /// Whether the instruction writes the register that is asked about.
    pub(crate) fn wrote_register(&mut self, moment: &Moment<'_>, active: u32, now: u64) {
        let Some((sought, _, _, found)) = &mut self.who else { return };
        let Watched::Register { function, register } = &sought.what else { return };
        let (here, lane) = (LaneId::executing(moment), sought.lane);
        let at = (moment.function(), moment.index());
        if (here.block, here.warp) != (lane.block, lane.warp)
            || active >> lane.lane & 1 == 0
            || at.0 != *function
            || !self.session.code.writes(at, *register)
        {
            return;
        }
        let depth = moment.lane(lane.block, lane.warp, lane.lane).map(|l| l.depth());
        if depth == Some(sought.depth) {
            *found = Some((now, lane, at));
        }
    }
}
