//! Barriers, member masks, mbarrier objects, deadlocks.

use std::collections::HashSet;

use ptx_interp::observer::BarrierName;
use ptx_interp::report::CodePlace;
use ptx_interp::{FaultKind, Moment, Report};
use ptx_isa::effect::{BarKind, MbarrierEvent, MbarrierOp, window};

use crate::finding::{Check, Class, Finding, Site};
use crate::hash::HashMap;
use crate::memory::site;

/// Lanes of a warp at a barrier.
struct Arrival {
    warp: u32,
    lanes: u32,
    at: (u32, u32),
    threads: Option<u32>,
    site: Site,
}

/// What is known of an mbarrier object.
struct Object {
    count: i64,
    pending: i64,
    /// Whether every arrival is seen with its number.
    exact: bool,
}

/// Watches how threads of a launch wait for one another.
#[derive(Default)]
pub(crate) struct Sync {
    barriers: HashMap<(u64, u8), Vec<Arrival>>,
    objects: HashMap<(u64, u64), Object>,
    /// Threads that have come to the barrier of a cluster, and the first of them.
    clusters: HashMap<u64, (u32, Site)>,
    /// Numbers of blocks that are under way.
    numbers: HashMap<[u32; 3], u64>,
    found: HashSet<(u32, u32, Class)>,
    pub findings: Vec<Finding>,
}

impl Sync {
    fn say(&mut self, m: &Moment<'_>, class: Class, sites: Vec<Site>, message: String, fix: &str) {
        if !self.found.insert((m.function(), m.index(), class)) {
            return;
        }
        let mut finding = Finding::new(Check::Sync, class, m.kernel().name(), message);
        finding.sites = sites;
        finding.missing = Some(fix.to_owned());
        self.findings.push(finding);
    }

    pub(crate) fn arrive(
        &mut self,
        m: &Moment<'_>,
        barrier: BarrierName,
        lanes: u32,
        kind: BarKind,
        threads: Option<u32>,
    ) {
        let BarrierName::Cta(id) = barrier else {
            let first = lanes.trailing_zeros() as u8 & 31;
            let known =
                self.clusters.entry(m.cluster()).or_insert_with(|| (0, site(m, first, "waits")));
            known.0 += lanes.count_ones();
            return;
        };
        self.numbers.insert(m.block(), m.block_number());
        let first = lanes.trailing_zeros() as u8 & 31;
        let what = if kind == BarKind::Arrive { "arrives" } else { "waits" };
        let at = (m.function(), m.index());
        let all = m.threads_per_block().next_multiple_of(32);
        if let Some(n) = threads
            && n > all
        {
            let message = format!(
                "barrier {id} waits for {n} threads, and the block has {}",
                m.threads_per_block()
            );
            let sites = vec![site(m, first, what)];
            self.say(m, Class::BarrierCount, sites, message, "a count of threads that come");
        }
        let known = self.barriers.entry((m.block_number(), id)).or_default();
        // The place is looked up once for all warps that come to the same instruction.
        let place = known.iter().find(|a| a.at == at).map(|a| a.site.place.clone());
        let place = place.unwrap_or_else(|| m.place());
        let (block, thread, what) = (m.block(), m.thread(first), what.to_owned());
        let site = Site { what, place, block, thread };
        known.push(Arrival { warp: m.warp(), lanes, at, threads, site });
    }

    fn cluster_complete(&mut self, m: &Moment<'_>) {
        let Some((came, first)) = self.clusters.remove(&m.cluster()) else { return };
        let blocks = (0..).take_while(|rank| m.block_of_rank(*rank).is_some()).count() as u32;
        let all = blocks * m.threads_per_block();
        if came < all {
            let ended = all - came;
            let message = format!(
                "the barrier of the cluster is not reached by {ended} of its {all} threads, which have ended"
            );
            let fix = "all threads of the cluster must reach the barrier before they return";
            self.say(m, Class::BarrierNotReached, vec![first], message, fix);
        }
    }

    pub(crate) fn complete(&mut self, m: &Moment<'_>, barrier: BarrierName) {
        let BarrierName::Cta(id) = barrier else { return self.cluster_complete(m) };
        let Some(arrivals) = self.barriers.remove(&(m.block_number(), id)) else { return };
        let Some(first) = arrivals.first() else { return };
        let counts = arrivals.iter().find(|a| a.threads != first.threads);
        if let Some(other) = counts {
            let say = |n: Option<u32>| n.map_or("all".to_owned(), |n| n.to_string());
            let message = format!(
                "threads come to barrier {id} with different counts: {} and {}",
                say(other.threads),
                say(first.threads)
            );
            let sites = vec![other.site.clone(), first.site.clone()];
            self.say(m, Class::BarrierCount, sites, message, "the same count everywhere");
            return;
        }
        if let Some(count) = first.threads {
            let mut warps: HashMap<u32, u32> = HashMap::default();
            arrivals.iter().for_each(|a| *warps.entry(a.warp).or_default() |= a.lanes);
            let came = 32 * warps.len() as u32;
            if came > count {
                let message =
                    format!("{came} threads come to barrier {id}, which waits for {count}");
                let sites = vec![first.site.clone()];
                self.say(m, Class::BarrierCount, sites, message, "a count of threads that come");
            }
            return;
        }
        if let Some(other) = arrivals.iter().find(|a| a.at != first.at) {
            let same = if other.warp == first.warp { "of a warp " } else { "" };
            let message = format!("threads {same}wait for barrier {id} at different instructions");
            let sites = vec![other.site.clone(), first.site.clone()];
            let fix = "one barrier that all threads of the block reach";
            self.say(m, Class::DifferentBarriers, sites, message, fix);
            return;
        }
        let ended: u32 = m.block_lanes().map(|(all, live)| (all & !live).count_ones()).sum();
        if ended != 0 {
            let message = format!(
                "barrier {id} is not reached by {ended} threads of the block, which have ended"
            );
            let sites = vec![first.site.clone()];
            let fix = "all threads of the block must reach the barrier before they return";
            self.say(m, Class::BarrierNotReached, sites, message, fix);
        }
    }

    /// A block's barriers and objects go with it.
    pub(crate) fn block_ends(&mut self, block: [u32; 3]) {
        let Some(number) = self.numbers.remove(&block) else { return };
        self.barriers.retain(|(owner, _), _| *owner != number);
        self.objects.retain(|(owner, _), _| *owner != number);
    }

    pub(crate) fn warp_sync(&mut self, m: &Moment<'_>, lanes: u32, members: &[u32; 32]) {
        let each = || (0..32u8).filter(|l| lanes >> l & 1 != 0);
        if let Some(lane) = each().find(|l| members[*l as usize] >> l & 1 == 0) {
            let message = format!(
                "lane {lane} executes this with the member mask {:#010x}, which leaves it out",
                members[lane as usize]
            );
            let sites = vec![site(m, lane, "executes")];
            let fix = "a mask of the lanes that execute the instruction";
            return self.say(m, Class::MemberMask, sites, message, fix);
        }
        let Some(first) = each().next() else { return };
        let mask = members[first as usize];
        let named = |l: &u8| mask >> l & 1 != 0;
        if let Some(lane) = each().filter(named).find(|l| members[*l as usize] != mask) {
            let message = format!(
                "lanes {first} and {lane} meet with different member masks, {mask:#010x} and {:#010x}",
                members[lane as usize]
            );
            let sites = vec![site(m, first, "executes"), site(m, lane, "executes")];
            let fix = "the same mask in all lanes that it names";
            return self.say(m, Class::MemberMask, sites, message, fix);
        }
        // From sm_70 on the lanes wait for those that are named.
        let missing = mask & m.live() & !lanes;
        if m.kernel().program().info.target.sm < 70 && missing != 0 {
            let message = format!(
                "the member mask {mask:#010x} names lanes {missing:#010x}, which do not execute this"
            );
            let sites = vec![site(m, first, "executes")];
            let fix = "a mask of the lanes that execute the instruction";
            self.say(m, Class::MemberMask, sites, message, fix);
        }
    }

    pub(crate) fn mbarrier(&mut self, m: &Moment<'_>, event: MbarrierEvent) {
        let (_, at) = window::locate(event.space, event.address);
        let Some(key) = m.block_of_shared(at) else { return };
        self.numbers.insert(m.block(), m.block_number());
        let lane = event.lane;
        let known = self.objects.get_mut(&key);
        let (message, fix) = match (event.what, known) {
            (MbarrierOp::Init(n), None) => {
                let count = i64::from(n);
                self.objects.insert(key, Object { count, pending: count, exact: true });
                return;
            }
            (MbarrierOp::Init(_), Some(_)) => (
                format!("the mbarrier object at {at:#x} is initialised while it is in use"),
                "invalidate the object first",
            ),
            (MbarrierOp::Invalidate, Some(_)) => {
                self.objects.remove(&key);
                return;
            }
            (MbarrierOp::Complete(_) | MbarrierOp::Expect(_), Some(object)) => {
                if event.completes {
                    object.pending = object.count;
                }
                return;
            }
            (MbarrierOp::ArriveAfterCopies, Some(object)) => {
                object.exact = false;
                if event.completes {
                    object.pending = object.count;
                }
                return;
            }
            (MbarrierOp::Arrive { count, drop }, Some(object)) => {
                let n = i64::from(count);
                let before = object.pending;
                object.pending -= n;
                if drop {
                    object.count -= n;
                }
                if event.completes {
                    object.pending = object.count;
                }
                if before >= n || !object.exact {
                    return;
                }
                (
                    format!(
                        "{n} arrivals at the mbarrier object at {at:#x}, which expects {before} more in this phase"
                    ),
                    "as many arrivals in a phase as the object was initialised for",
                )
            }
            (MbarrierOp::Test { .. }, Some(_)) => return,
            (
                MbarrierOp::Invalidate
                | MbarrierOp::Arrive { .. }
                | MbarrierOp::ArriveAfterCopies
                | MbarrierOp::Expect(_)
                | MbarrierOp::Complete(_)
                | MbarrierOp::Test { .. },
                None,
            ) => (
                format!("the mbarrier object at {at:#x} is used and was not initialised"),
                "initialise the object, and a barrier, before threads use it",
            ),
        };
        let sites = vec![site(m, lane, "uses")];
        self.say(m, Class::Mbarrier, sites, message, fix);
    }
}

/// The finding that a fault is, if threads wait in it.
pub(crate) fn of_fault(report: &Report) -> Option<Finding> {
    let class = match report.kind {
        // Who limits the instructions wants to know who waits when the limit is reached. A time says less: checks are slow.
        FaultKind::Deadlock | FaultKind::DivergentBarrier | FaultKind::StepLimit => Class::Deadlock,
        FaultKind::Operand if report.message.contains("mbarrier at ") => Class::Mbarrier,
        _ => return None,
    };
    let mut finding = Finding::new(Check::Sync, class, &report.kernel, report.message.clone());
    let (what, missing) = match class {
        Class::Mbarrier => {
            ("uses", "objects that are initialised, with the counts that threads use")
        }
        _ => ("waits", "every thread that a barrier or a mask waits for must come"),
    };
    let of = |place: &CodePlace| Site {
        what: what.into(),
        place: place.clone(),
        block: report.block,
        thread: report.thread,
    };
    finding.sites.extend(report.place.as_ref().map(of));
    finding.waiting = report.warps.clone();
    finding.missing = Some(missing.into());
    Some(finding)
}
