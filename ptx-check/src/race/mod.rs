//! Races: two accesses to a byte, one of them a write, that nothing orders.
//!
//! Order is that of the PTX memory model: program order of a thread, barriers, `bar.warp.sync`, releases that are
//! acquired with scopes that include both sides, mbarrier phases, waits for asynchronous copies. From sm_70 on every
//! lane is a thread; below, a warp is. Accesses that are both strong, of one size, and whose scopes include each other,
//! are no race. Nothing depends on the order in which the interpreter happens to run warps and blocks, but for values
//! that steer the program.

mod between;
mod order;
mod report;
mod words;

pub(crate) use between::Between;

use std::collections::VecDeque;
use std::sync::Arc;

use ptx_interp::Moment;
use ptx_interp::observer::{Action, MemoryAccess};
use ptx_isa::Space;
use ptx_isa::effect::{Accessor, Order, Proxy, Scope, window};
use ptx_isa::special::Sreg;
use ptx_parse::code::Program;

use crate::finding::{Class, Finding};
use crate::hash::HashMap;
use crate::known::{Gathered, Handed, Home, Known};
use crate::shadow::{Entry, Page, SITES, Shadow};

/// What is the same for all accesses of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
struct Kind {
    function: u32,
    index: u32,
    by: Accessor,
    action: Action,
    strong: bool,
    scope: Scope,
    bytes: u32,
    asynchronous: bool,
    generic: bool,
}

/// What a release made visible.
#[derive(Clone)]
struct Published {
    scope: Scope,
    handed: Arc<Handed>,
}

struct Thread {
    /// Clock of the agent that carries out asynchronous copies.
    agent: u32,
    known: Known,
    /// What the last fence of each scope would release.
    fences: [Option<Arc<Handed>>; 4],
    /// Releases that strong reads have seen and no fence has acquired yet.
    seen: Vec<Published>,
    /// Clocks of the agent at the commits of groups not waited for, by kind of work.
    groups: [VecDeque<u32>; 3],
    /// Clocks of the agent at the commits of groups of products, waited for or not.
    products: Commits,
    /// Clock at the last proxy fence, and what was known then.
    proxy_fence: Option<(u32, Known)>,
    /// What the last fence for new mbarriers would release, and what is known of those of others.
    inits: Option<Arc<Handed>>,
    known_inits: Known,
}

/// Clocks at the last commits of groups.
#[derive(Default)]
struct Commits {
    /// Number of the first that is kept.
    first: usize,
    clocks: VecDeque<u32>,
}

impl Commits {
    fn push(&mut self, clock: u32) {
        self.clocks.push_back(clock);
        if self.clocks.len() > COMMITS {
            self.clocks.pop_front();
            self.first += 1;
        }
    }

    fn count(&self) -> usize {
        self.first + self.clocks.len()
    }

    /// The clock at the commit of a number; `None` where it is not kept.
    fn at(&self, number: usize) -> Option<u32> {
        self.clocks.get(number.checked_sub(self.first)?).copied()
    }
}

/// What the threads of a block bring to a cluster's barrier.
struct Arrivals {
    all: Gathered,
    /// Of new mbarriers alone.
    inits: Gathered,
    waiting: Vec<u32>,
}

#[derive(Default)]
struct Barrier {
    /// Warps whose lanes wait, and which: until the barrier is complete they do nothing else.
    came: Vec<(u32, u32)>,
    /// What others have brought.
    gathered: Option<Gathered>,
    waiting: Vec<u32>,
}

struct Block {
    threads: Vec<Thread>,
    barriers: HashMap<u8, Barrier>,
    shared: Shadow,
    /// Goes on whenever one of its threads hands over what it knows; one clock for all, so that lanes of a warp that
    /// do the same have the same clock.
    clock: u32,
    /// All of its threads know what its threads did up to this clock.
    floor: u32,
    /// By warp: whether its threads may know more than that.
    knows: Vec<bool>,
}

/// Clocks that a phase of an mbarrier collects, and those of the phase that ended last.
#[derive(Default, Clone)]
struct Phases {
    now: Vec<Arc<Handed>>,
    done: Vec<Arc<Handed>>,
    /// Those of the last phase alone.
    last: Vec<Arc<Handed>>,
}

/// A conflict that was found.
struct Conflict {
    finding: Finding,
}

/// Finds races of one launch.
pub(crate) struct Race {
    program: Arc<Program>,
    kernel: String,
    equal_writes: bool,
    /// Threads of a block; 0 before the first event.
    threads: u32,
    block_size: [u32; 3],
    grid: [u32; 3],
    /// Lanes of a warp go in step (below sm_70).
    in_step: bool,
    blocks: HashMap<u32, Block>,
    clusters: HashMap<u32, u64>,
    global: Shadow,
    kinds: Vec<Kind>,
    numbers: HashMap<Kind, u32>,
    /// 1 more than the site that an instruction of the decoded stream had last.
    sites: Vec<u32>,
    /// There was an access by an agent.
    agents: bool,
    /// There are no clusters: nobody else reaches a block's shared memory.
    alone: bool,
    /// The block that acted last, which is there.
    entered: Option<u32>,
    /// The shadow of a block that has ended, for the next one, and the clock up to which it says something.
    spare: Option<(Shadow, u32)>,
    published: HashMap<(u32, u64), Vec<Published>>,
    phases: HashMap<(u32, u64), Phases>,
    cluster_arrivals: HashMap<u64, HashMap<u32, Arrivals>>,
    conflicts: Vec<Conflict>,
    seen: HashMap<(u32, u32, Class), usize>,
    /// There was no room for some accesses to shared memory.
    forgot: bool,
    /// Why races are not looked for.
    pub refused: Option<String>,
}

/// Releases of one location that are kept apart.
const PUBLISHED: usize = 16;
/// Releases that a thread may have seen without a fence.
const SEEN: usize = 64;
/// Commits of groups of products that are kept.
const COMMITS: usize = 64;
/// Up to this clock the next block goes on with the shadow of the one before.
const MANY: u32 = 1 << 30;
/// Pairs of places that are reported.
const CONFLICTS: usize = 4096;

fn covers(scope: Scope, same_block: bool, same_cluster: bool) -> bool {
    match scope {
        Scope::Cta => same_block,
        Scope::Cluster => same_cluster,
        Scope::Gpu | Scope::Sys => true,
    }
}

fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

/// What is the same for all accesses of the instruction.
fn kind_of(m: &Moment<'_>, a: &MemoryAccess<'_>) -> Kind {
    let asynchronous = matches!(
        a.by,
        Accessor::AsyncCopy | Accessor::BulkCopy | Accessor::AsyncStore | Accessor::MatrixProduct
    );
    Kind {
        function: m.function(),
        index: m.index(),
        by: a.by,
        action: a.action,
        // What makes and ends an mbarrier object is no atomic operation on it.
        strong: a.order != Order::Weak
            && !(a.by == Accessor::Mbarrier && a.action == Action::Write),
        scope: if a.order == Order::Volatile { Scope::Sys } else { a.scope },
        bytes: a.bytes,
        asynchronous,
        generic: a.proxy != Proxy::Async,
    }
}

fn releases(order: Order) -> bool {
    matches!(order, Order::Release | Order::AcqRel | Order::SeqCst)
}

fn acquires(order: Order) -> bool {
    matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst)
}

/// Memory that belongs to global memory, or to the shared memory of a block.
const GLOBAL: u32 = u32::MAX;

impl Race {
    /// `pages` are those of earlier launches.
    pub(crate) fn new(
        program: Arc<Program>,
        kernel: &str,
        equal_writes: bool,
        pages: Vec<Page>,
    ) -> Race {
        let in_step = program.info.target.sm < 70;
        Race {
            program,
            kernel: kernel.to_owned(),
            equal_writes,
            threads: 0,
            block_size: [1; 3],
            grid: [1; 3],
            in_step,
            blocks: HashMap::default(),
            clusters: HashMap::default(),
            global: Shadow::with(pages),
            kinds: Vec::new(),
            numbers: HashMap::default(),
            sites: Vec::new(),
            agents: false,
            alone: false,
            entered: None,
            spare: None,
            published: HashMap::default(),
            phases: HashMap::default(),
            cluster_arrivals: HashMap::default(),
            conflicts: Vec::new(),
            seen: HashMap::default(),
            forgot: false,
            refused: None,
        }
    }

    /// What was not checked, in words.
    pub(crate) fn note(&mut self) -> Option<String> {
        let shared = || self.blocks.values().any(|b| b.shared.forgot());
        if self.refused.is_none() && (self.forgot || self.global.forgot() || shared()) {
            return Some(format!(
                "races of `{}` were looked for in a sample: more accesses to the same words, with nothing between them, than 8 bytes for each byte of memory can hold",
                self.kernel
            ));
        }
        self.refused.take()
    }

    /// What stays of a launch that has ended: its accesses to global memory.
    pub(crate) fn settled(mut self) -> Race {
        self.blocks.clear();
        self.spare = None;
        self.clusters.clear();
        self.published.clear();
        self.phases.clear();
        self.cluster_arrivals.clear();
        self
    }

    /// Pages that it has not used.
    pub(crate) fn unused(&mut self) -> Vec<Page> {
        self.global.unused()
    }

    /// All its pages, where nothing of it is needed any more.
    pub(crate) fn into_pages(self) -> Vec<Page> {
        self.global.into_pages()
    }

    /// What was found.
    pub(crate) fn finish(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.conflicts).into_iter().map(|c| c.finding).collect()
    }

    pub(crate) fn block_ends(&mut self, block: [u32; 3]) {
        let [x, y, _] = self.grid;
        let number = block[0] + x * (block[1] + y * block[2]);
        self.entered = None;
        if let Some(block) = self.blocks.remove(&number) {
            self.forgot |= block.shared.forgot();
            if self.alone && !self.agents && block.clock < MANY {
                self.spare = Some((block.shared, block.clock));
            }
        }
        self.published.retain(|(owner, _), _| *owner != number);
        self.phases.retain(|(owner, _), _| *owner != number);
    }

    /// The block of a moment, made when it is seen first.
    fn enter(&mut self, m: &Moment<'_>) -> u32 {
        if self.threads == 0 {
            self.threads = m.threads_per_block();
            self.alone = m.block_of_rank(1).is_none();
            let three = |regs: [Sreg; 3]| regs.map(|r| m.special(0, r) as u32);
            self.block_size = three([Sreg::NtidX, Sreg::NtidY, Sreg::NtidZ]);
            self.grid = three([Sreg::NctaidX, Sreg::NctaidY, Sreg::NctaidZ]);
            if m.blocks().saturating_mul(2 * u64::from(self.threads)) > u64::from(u32::MAX) {
                let many = m.blocks().saturating_mul(u64::from(self.threads));
                self.refused = Some(format!(
                    "races are not looked for in a launch of {many} threads: 2^31 are the most"
                ));
            }
        }
        let number = m.block_number() as u32;
        if self.entered != Some(number) {
            self.begin(number, m.cluster());
            self.entered = Some(number);
        }
        number
    }

    /// Makes room for a block, if there is none yet.
    fn begin(&mut self, number: u32, cluster: u64) {
        if self.blocks.contains_key(&number) {
            return;
        }
        let nothing = Known::nothing(self.threads);
        let thread = || Thread {
            agent: 1,
            known: nothing.clone(),
            fences: Default::default(),
            seen: Vec::new(),
            groups: Default::default(),
            products: Commits::default(),
            proxy_fence: None,
            inits: None,
            known_inits: nothing.clone(),
        };
        let threads = (0..self.threads).map(|_| thread()).collect();
        // What another block has left in a spare shadow counts as known to all of this one.
        let spare = self.spare.take().filter(|_| !self.agents);
        let (shared, floor) = spare.unwrap_or_default();
        let barriers = HashMap::default();
        let knows = vec![false; self.threads.div_ceil(32) as usize];
        self.clusters.insert(number, cluster);
        let block = Block { threads, barriers, shared, clock: floor + 1, floor, knows };
        self.blocks.insert(number, block);
    }

    /// The block of an entry.
    fn block_of(&self, entry: Entry) -> u32 {
        entry.who / 2
    }

    /// The thread, in its block, of the first lane of an entry.
    fn thread_of(&self, entry: Entry) -> u32 {
        entry.warp() * 32 + entry.lane()
    }

    /// From now on agents act as well, whom a block's barriers do not order: shadows hold nothing of other blocks.
    fn agents_appear(&mut self) {
        if !std::mem::replace(&mut self.agents, true) {
            self.blocks.iter_mut().for_each(|(number, block)| block.shared.keep_block(*number));
        }
    }

    /// The thread whose clock a thread has.
    fn lead(&self, thread: u32) -> u32 {
        if self.in_step { thread & !31 } else { thread }
    }

    fn home(&self, block: u32, thread: u32) -> Home {
        Home { block, thread: self.lead(thread), threads: self.threads }
    }

    fn thread(&mut self, home: Home) -> &mut Thread {
        &mut self.blocks.get_mut(&home.block).expect("a block that runs").threads
            [home.thread as usize]
    }

    /// What a thread knows, to be changed: more than all of its block do.
    fn knowledge(&mut self, home: Home) -> &mut Known {
        let block = self.blocks.get_mut(&home.block).expect("a block that runs");
        block.knows[home.thread as usize / 32] = true;
        &mut block.threads[home.thread as usize].known
    }

    /// What a thread hands over now; its next accesses are later than that.
    fn hand(&mut self, home: Home) -> Handed {
        let block = self.blocks.get_mut(&home.block).expect("a block that runs");
        block.clock += 1;
        let mut known = block.threads[home.thread as usize].known.clone();
        known.floor = known.floor.max(block.floor);
        Handed { home, clock: block.clock - 1, known }
    }

    /// The executing lanes' threads; below sm_70 the warp is one.
    fn homes(&self, block: u32, warp: u32, mask: u32) -> Vec<Home> {
        let first = warp * 32;
        if self.in_step {
            return if mask == 0 { Vec::new() } else { vec![self.home(block, first)] };
        }
        lanes(mask).map(|l| self.home(block, first + l)).collect()
    }

    /// Whose memory an address is, and where in it; nothing where no threads meet.
    fn locate(&self, m: &Moment<'_>, space: Space, address: u64) -> Option<(u32, u64)> {
        match window::locate(space, address) {
            (Space::Global, at) => Some((GLOBAL, at)),
            (Space::Shared | Space::SharedCluster, at) => {
                m.block_of_shared(at).map(|(owner, at)| (owner as u32, at))
            }
            _ => None,
        }
    }

    pub(crate) fn access(&mut self, m: &Moment<'_>, a: &MemoryAccess<'_>) {
        if matches!(a.by, Accessor::Host | Accessor::System) || a.space == Space::Tex {
            return;
        }
        let block = self.enter(m);
        if self.refused.is_some() {
            return;
        }
        let kind = kind_of(m, a);
        if kind.asynchronous || a.by == Accessor::Mbarrier {
            self.agents_appear();
        }
        let site = self.site_number(m.pc() as usize, kind);
        if self.refused.is_some() {
            return;
        }
        if !kind.strong
            && !kind.asynchronous
            && a.by != Accessor::Mbarrier
            && let Some(places) = self.together(a, block)
        {
            return self.weak(m, a, site, block, places);
        }
        let mut done = 0u32;
        // Whose shadow was taken out, so that it is found once for all lanes.
        let mut taken: Option<(u32, Shadow)> = None;
        for lane in lanes(a.lanes) {
            let Some(location) = self.locate(m, a.space, a.addresses[lane as usize]) else {
                continue;
            };
            let thread = m.warp() * 32 + lane;
            let home = self.home(block, thread);
            if location.0 != GLOBAL && location.0 != block {
                // Another block of the cluster, which may not have run yet.
                self.begin(location.0, m.cluster());
            }
            if kind.strong && a.by != Accessor::Mbarrier && !kind.asynchronous {
                self.synchronise(a, home, location);
            }
            let mut shadow = match taken.take() {
                Some((owner, shadow)) if owner == location.0 => shadow,
                other => {
                    self.put_back(other);
                    self.take_out(location.0)
                }
            };
            self.touch(m, a, &mut shadow, site, home, location, (lane, done));
            taken = Some((location.0, shadow));
            done |= 1 << lane;
        }
        self.put_back(taken);
    }

    /// The number of what is the same for all accesses of an instruction.
    fn site_number(&mut self, pc: usize, kind: Kind) -> u32 {
        if let Some(site) = self.sites.get(pc).and_then(|site| site.checked_sub(1))
            && self.kinds[site as usize] == kind
        {
            return site;
        }
        let site = match self.numbers.get(&kind) {
            Some(site) => *site,
            None if self.kinds.len() == SITES => {
                self.refused = Some(format!(
                    "races are not looked for beyond {SITES} instructions that access memory, which `{}` has",
                    self.kernel
                ));
                return 0;
            }
            None => {
                let site = self.kinds.len() as u32;
                self.kinds.push(kind);
                self.numbers.insert(kind, site);
                site
            }
        };
        if self.sites.len() <= pc {
            self.sites.resize(pc + 1, 0);
        }
        self.sites[pc] = site + 1;
        site
    }

    /// The shadow of global memory, or of a block's shared memory, until it is put back.
    fn take_out(&mut self, owner: u32) -> Shadow {
        match owner {
            GLOBAL => std::mem::take(&mut self.global),
            block => match self.blocks.get_mut(&block) {
                Some(b) => std::mem::take(&mut b.shared),
                None => Shadow::default(),
            },
        }
    }

    fn put_back(&mut self, taken: Option<(u32, Shadow)>) {
        match taken {
            Some((GLOBAL, shadow)) => self.global = shadow,
            Some((block, shadow)) => {
                if let Some(b) = self.blocks.get_mut(&block) {
                    b.shared = shadow;
                }
            }
            None => {}
        }
    }
}
