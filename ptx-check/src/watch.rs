//! The observer of a checked launch.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use ptx_interp::observer::{BlockEvent, Observer, WarpEvent};
use ptx_interp::{Kernel, Moment};

use crate::Checker;
use crate::coverage::Counter;
use crate::init::Init;
use crate::memory::{Bounds, site};
use crate::race::Race;
use crate::sync::Sync;

/// Hands events to the checkers that are on.
pub(crate) struct Watch<'a> {
    checker: &'a Checker,
    bounds: Option<Bounds>,
    race: Option<Race>,
    sync: Option<Sync>,
    init: Option<Init>,
    counter: Option<Counter>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(checker: &'a Checker, kernel: &Kernel) -> Watch<'a> {
        let checks = checker.checks;
        let program = kernel.program();
        let pages = || checker.pages(Vec::new());
        let race = || Race::new(program.clone(), kernel.name(), checks.equal_writes, pages());
        Watch {
            checker,
            bounds: checks.memory.then(Bounds::default),
            race: checks.race.then(race),
            sync: checks.sync.then(Sync::default),
            init: checks.init.then(|| Init::new(program.clone())),
            counter: checks.coverage.then(|| Counter::new(program.clone())),
        }
    }

    fn finish(&mut self) {
        let mut found = Vec::new();
        if let Some(bounds) = &mut self.bounds {
            found.append(&mut bounds.findings);
        }
        if let Some(race) = &mut self.race {
            found.extend(race.finish());
            let refused = race.refused.is_some();
            race.note().into_iter().for_each(|note| self.checker.note(note));
            if !refused && let Some(race) = self.race.take() {
                found.extend(self.checker.launched(race.settled()));
            }
        }
        if let Some(sync) = &mut self.sync {
            found.append(&mut sync.findings);
        }
        if let Some(init) = &mut self.init {
            found.append(&mut init.findings);
        }
        if let Some(counter) = &self.counter {
            self.checker.cover(counter.finish());
        }
        found.into_iter().for_each(|f| self.checker.report(f));
    }
}

impl Observer for Watch<'_> {
    #[inline(always)]
    fn wants_issue(&mut self, _: u32) -> bool {
        self.init.is_some() || self.counter.is_some()
    }

    #[inline(always)]
    fn wants_access(&mut self) -> bool {
        self.bounds.is_some() || self.race.is_some() || self.init.is_some()
    }

    fn block(&mut self, event: BlockEvent<'_>) {
        match event {
            BlockEvent::LaunchStarts { .. } | BlockEvent::Starts { .. } => {}
            BlockEvent::Ends { block, .. } => {
                if let Some(race) = &mut self.race {
                    race.block_ends(block);
                }
                if let Some(sync) = &mut self.sync {
                    sync.block_ends(block);
                }
                if let Some(init) = &mut self.init {
                    init.block_ends(block);
                }
            }
            BlockEvent::Faults { .. } => {}
            BlockEvent::LaunchEnds => self.finish(),
        }
    }

    fn warp(&mut self, m: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        match event {
            WarpEvent::Issue { active } => {
                if let Some(counter) = &mut self.counter {
                    counter.issue(m, active);
                }
                if let Some(init) = &mut self.init
                    && !init.quick_issue(m, active)
                {
                    init.issue(m, active, &self.checker.host());
                }
            }
            WarpEvent::Access(access) => {
                if let Some(bounds) = &mut self.bounds {
                    bounds.access(m, access);
                    bounds.constants(m, access);
                    if self.checker.restricts.load(Ordering::Relaxed) {
                        bounds.flags(m, access, &self.checker.host());
                    }
                }
                if let Some(race) = &mut self.race {
                    race.access(m, access);
                }
                if let Some(init) = &mut self.init {
                    let mut host = self.checker.host();
                    if !init.quick_access(m, access, &mut host) {
                        init.access(m, access, &mut host);
                    }
                }
            }
            WarpEvent::BarrierArrive { barrier, lanes, kind, threads, .. } => {
                if let Some(race) = &mut self.race {
                    race.arrive(m, barrier, lanes, kind);
                }
                if let Some(sync) = &mut self.sync {
                    sync.arrive(m, barrier, lanes, kind, threads);
                }
            }
            WarpEvent::BarrierComplete { barrier } => {
                if let Some(race) = &mut self.race {
                    race.complete(m, barrier);
                }
                if let Some(sync) = &mut self.sync {
                    sync.complete(m, barrier);
                }
            }
            WarpEvent::Fence(fence) => {
                if let Some(race) = &mut self.race {
                    race.fence(m, m.lanes(), fence);
                }
            }
            WarpEvent::WarpSync { lanes, members, orders } => {
                if orders && let Some(race) = &mut self.race {
                    race.warp_sync(m, lanes, members);
                }
                if let Some(sync) = &mut self.sync {
                    sync.warp_sync(m, lanes, members);
                }
            }
            WarpEvent::Mbarrier(operation) => {
                if let Some(race) = &mut self.race {
                    race.mbarrier(m, operation);
                }
                if let Some(sync) = &mut self.sync {
                    sync.mbarrier(m, operation);
                }
            }
            WarpEvent::AsyncGroup(group) => {
                if let Some(race) = &mut self.race {
                    race.copies(m, m.lanes(), group);
                }
            }
            WarpEvent::Malloc { lane, address, .. } => {
                if self.checker.checks.memory && address != 0 {
                    self.checker.host().made(address, site(m, lane, "allocated"));
                }
            }
            WarpEvent::Free { lane, address } => {
                if self.checker.checks.memory && address != 0 {
                    self.checker.host().frees(address, site(m, lane, "freed"));
                }
            }
            WarpEvent::Print { .. } | WarpEvent::Exit { .. } => {}
        }
        ControlFlow::Continue(())
    }
}
