//! What an access means for the words that it touches.
//!
//! Lanes that read a word at once are one entry. Most accesses find nothing in a word but what everyone in the block
//! knows of, or what their own lanes did: those are done after a few comparisons (`Now::settle`). The others look at
//! all entries of the word (`Race::word`).

use ptx_interp::Moment;
use ptx_interp::observer::{Action, MemoryAccess};
use ptx_isa::Space;
use ptx_isa::effect::{Accessor, window};

use super::{GLOBAL, Kind, Race, Thread, covers, lanes};
use crate::known::{Home, Known};
use crate::shadow::{Code, Entry, FURTHER, Shadow, Walk};

/// An access and whoever makes it.
struct Now {
    kind: Kind,
    writes: bool,
    block: u32,
    warp: u32,
    /// Of the block's threads, as entries have it.
    who: u32,
    clock: u32,
    floor: u32,
    /// The warp's threads know no more of others than `floor` says.
    simple: bool,
    /// Only threads of this block reach the memory, and no agents.
    local: bool,
    in_step: bool,
}

/// Whose memory the addresses of an access lie in, and what to take from them to get places in it.
type Places = (u32, u64);

impl Now {
    /// Whether everyone in the block knows of an entry; also of one that is not there.
    #[inline(always)]
    fn settled(&self, e: Entry) -> bool {
        // In memory of the block, what another block has left there is older than its beginning.
        e.clock == 0 || e.clock <= self.floor && (e.who == self.who || self.local)
    }

    /// Whether an entry is of this warp alone.
    #[inline(always)]
    fn is_mine(&self, e: Entry) -> bool {
        e.who == self.who && e.warps == 1 << self.warp
    }

    /// Whether the warp's own order puts an entry before `new`, for sure.
    #[inline(always)]
    fn own(&self, e: Entry, new: Entry, wrote: bool) -> bool {
        // Below sm_70 lanes of one store may still meet in a word.
        let step = self.in_step && !(wrote && self.writes && e.site() == new.site());
        self.is_mine(e) && (step || e.lanes == new.lanes && e.lanes.is_power_of_two())
    }

    /// Does an access by threads, if all that is in the word is known to everyone. Whether it did.
    #[inline(always)]
    fn settle_first(
        &self,
        shadow: &mut Shadow,
        at: (usize, usize),
        new: Entry,
        code: Code,
    ) -> bool {
        // In global memory only what is not there.
        let floor = if self.local { self.floor } else { 0 };
        let cell = shadow.get_mut(at);
        let more = cell.has_more();
        // Clocks of a block only grow, so that further entries are older than these two.
        if cell.write_clock() > floor || cell.read_clock() > floor || !self.local && more {
            return false;
        }
        if self.writes {
            cell.set_write(new, code);
            cell.clear_read();
        } else {
            shadow.set_new_read(at, new, code);
        }
        if more {
            shadow.forget(at);
        }
        true
    }

    /// Does a weak access by threads, if nothing in the word can be in conflict with it. Whether it did.
    #[inline(always)]
    fn settle(&self, shadow: &mut Shadow, at: (usize, usize), new: Entry, code: Code) -> bool {
        if self.settle_first(shadow, at, new, code) {
            return true;
        }
        let apart = |e: Entry| e.bytes() & new.bytes() == 0;
        let before = |e: Entry, wrote: bool| self.settled(e) || self.own(e, new, wrote);
        let inside = |e: Entry| e.bytes() & !new.bytes() == 0;
        let (write, read, more) =
            (shadow.get(at).write(), shadow.read(at), shadow.get(at).has_more());
        if self.writes {
            let fine = inside(write) && before(write, true) && (apart(read) || before(read, false));
            if more || !fine {
                return false;
            }
            let cell = shadow.get_mut(at);
            cell.set_write(new, code);
            if inside(read) {
                cell.clear_read();
            }
            return true;
        }
        if !(apart(write) || before(write, true)) || more && !shadow.only_reads(at) {
            return false;
        }
        // Which lanes of the warp read it is all that may differ.
        let mine = self.is_mine(read);
        let again = mine && (self.in_step || read.lanes & !new.lanes == 0) && inside(read);
        if again || inside(read) && !more && before(read, false) {
            shadow.set_new_read(at, new, code);
            return true;
        }
        // Others read it since they last met with this warp, or other lanes of it. Who reads first after that goes the
        // long way, which drops what is out of date.
        if !self.simple || read.by_agent() || self.settled(read) {
            return false;
        }
        if read.of_warps(0) == new.of_warps(0)
            && shadow.try_set_read(at, read.of_warps(read.warps | new.warps))
            || mine && read.like(new) && shadow.try_set_read(at, read.of(read.lanes | new.lanes))
        {
            return true;
        }
        if !mine && read.who == self.who && read.warps & new.warps != 0 {
            return false;
        }
        shadow.set_new_read(at, new, code);
        let rest = if mine && inside(read) { read.lanes & !new.lanes } else { read.lanes };
        shadow.keep_read(at, read.of(rest), new);
        true
    }
}

/// Places that the lanes of a weak access touch, with those lanes: lanes that read the same place together are one.
fn pieces(a: &MemoryAccess<'_>, minus: u64, out: &mut [(u64, u32); 32]) -> usize {
    let (mut count, mut next) = (0, 0);
    let rises = || a.addresses.windows(2).all(|two| two[0] < two[1]);
    if a.lanes == u32::MAX && (a.action != Action::Read || rises()) {
        for (lane, (out, address)) in out.iter_mut().zip(a.addresses).enumerate() {
            *out = (address.wrapping_sub(minus), 1 << lane);
        }
        return 32;
    }
    for lane in lanes(a.lanes) {
        let place = a.addresses[lane as usize].wrapping_sub(minus);
        let bit = 1 << lane;
        if a.action == Action::Read && count != 0 {
            // Often as the lane before, or over and over in the same order.
            if out[count - 1].0 == place {
                out[count - 1].1 |= bit;
                continue;
            }
            if out[next].0 != place {
                next = 0;
            }
            if out[next].0 == place {
                out[next].1 |= bit;
                next = (next + 1).min(count - 1);
                continue;
            }
        }
        out[count] = (place, bit);
        count += 1;
    }
    count
}

impl Race {
    /// Whose memory all lanes of an access reach, where that is clear.
    pub(super) fn together(&self, a: &MemoryAccess<'_>, block: u32) -> Option<Places> {
        if a.space == Space::Global {
            return Some((GLOBAL, 0));
        }
        let (mut low, mut high) = (u64::MAX, 0);
        for lane in lanes(a.lanes) {
            let address = a.addresses[lane as usize];
            (low, high) = (low.min(address), high.max(address));
        }
        let alone = self.alone;
        match a.space {
            Space::Shared | Space::SharedCluster if alone && high < window::SHARED_CTA => {
                Some((block, 0))
            }
            Space::Generic if low >= window::GLOBAL => Some((GLOBAL, 0)),
            Space::Generic
                if alone && low >= window::SHARED && high < window::SHARED + window::SHARED_CTA =>
            {
                Some((block, window::SHARED))
            }
            _ => None,
        }
    }

    fn now(&self, m: &Moment<'_>, site: u32, block: u32, owner: u32) -> Now {
        let kind = self.kinds[site as usize];
        let (state, warp) = (&self.blocks[&block], m.warp());
        Now {
            kind,
            writes: kind.action != Action::Read,
            block,
            warp,
            who: block * 2,
            clock: state.clock,
            floor: state.floor,
            simple: !state.knows[warp as usize],
            local: owner == block && !self.agents && self.alone,
            in_step: self.in_step,
        }
    }

    /// A weak access by threads, whose places are all in one memory.
    pub(super) fn weak(
        &mut self,
        m: &Moment<'_>,
        a: &MemoryAccess<'_>,
        site: u32,
        block: u32,
        (owner, minus): Places,
    ) {
        let now = self.now(m, site, block, owner);
        let mut all = [(0, 0); 32];
        let count = pieces(a, minus, &mut all);
        let all = &all[..count];
        let bytes = u64::from(a.bytes);
        let shadow = match owner {
            GLOBAL => Some(&mut self.global),
            _ => self.blocks.get_mut(&owner).map(|b| &mut b.shared),
        };
        let left = shadow.and_then(|shadow| {
            all.iter().position(|&(start, mask)| {
                // What was done before the word that is not settled is done again, which changes nothing.
                let mut words = words(start, start + bytes);
                let entry = |bytes| Entry::new((now.who, now.warp), now.clock, mask, site, bytes);
                let code = Code::new(now.warp, mask);
                !words.all(|(at, bytes)| {
                    let cell = shadow.cell(at);
                    now.settle(shadow, cell, entry(bytes), code)
                })
            })
        });
        let Some(first) = left else { return };
        let mut done = all[..first].iter().fold(0, |done, (_, mask)| done | mask);
        let mut shadow = self.take_out(owner);
        for &(start, mask) in &all[first..] {
            for (at, bytes) in words(start, start + bytes) {
                let new = Entry::new((now.who, now.warp), now.clock, mask, site, bytes);
                let cell = shadow.cell(at);
                if !now.settle(&mut shadow, cell, new, Code::new(now.warp, mask)) {
                    self.word(m, a, &mut shadow, &now, cell, new, (owner, at), done);
                }
            }
            done |= mask;
        }
        self.put_back(Some((owner, shadow)));
    }

    /// One lane's access, word by word.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn touch(
        &mut self,
        m: &Moment<'_>,
        a: &MemoryAccess<'_>,
        shadow: &mut Shadow,
        site: u32,
        home: Home,
        (owner, start): (u32, u64),
        (lane, done): (u32, u32),
    ) {
        let now = self.now(m, site, home.block, owner);
        let (clock, agent) = match now.kind.asynchronous {
            // What a bulk copy writes may still be under way when what it reads is done with.
            true => {
                let later = now.kind.by == Accessor::BulkCopy && now.writes;
                let agent = self.blocks[&home.block].threads[home.thread as usize].agent;
                (agent + u32::from(later), 1)
            }
            false => (now.clock, 0),
        };
        for (at, bytes) in words(start, start + u64::from(a.bytes)) {
            let new = Entry::new((now.who + agent, now.warp), clock, 1 << lane, site, bytes);
            let cell = shadow.cell(at);
            if agent != 0 || !now.settle_first(shadow, cell, new, Code::new(now.warp, 1 << lane)) {
                self.word(m, a, shadow, &now, cell, new, (owner, at), done);
            }
        }
    }

    /// Whether what a lane of an entry did happened before what `home` does now.
    fn before(&self, thread: &Thread, e: Entry, home: Home, asynchronous: bool) -> bool {
        let (block, agent) = (self.block_of(e), e.by_agent());
        let lead = self.lead(self.thread_of(e));
        if block == home.block && lead == home.thread && (!agent || asynchronous) {
            return true;
        }
        if block == home.block && !agent && e.clock <= self.blocks[&block].floor {
            return true;
        }
        let actor = if agent { self.threads + lead } else { lead };
        thread.known.of(home, block, actor) >= e.clock
            || self.is_init(e) && thread.known_inits.of(home, block, actor) >= e.clock
    }

    fn is_init(&self, e: Entry) -> bool {
        let kind = self.kinds[e.site() as usize];
        kind.by == Accessor::Mbarrier && kind.action == Action::Write
    }

    /// Lanes of an entry that nothing orders before `new`. `None` where that is not the same for all lanes of `new`,
    /// and matters.
    fn unordered(&self, now: &Now, e: Entry, new: Entry, conflict: bool) -> Option<u32> {
        if now.settled(e) {
            return Some(0);
        }
        let threads = !e.by_agent() && !now.kind.asynchronous;
        let single = new.lanes.is_power_of_two();
        if threads && now.simple && !self.is_init(e) {
            if !now.is_mine(e) {
                return Some(e.lanes);
            }
            if self.in_step {
                return Some(0);
            }
            if single || !conflict {
                return Some(e.lanes & !new.lanes);
            }
        }
        let first = now.warp * 32;
        let state = &self.blocks[&now.block];
        let of = |lane: u32| {
            let home = self.home(now.block, first + lane);
            let thread = &state.threads[home.thread as usize];
            let asynchronous = now.kind.asynchronous;
            let after = move |old: &u32| !self.before(thread, e.of(1 << *old), home, asynchronous);
            lanes(e.lanes).filter(after).fold(0, |all, old| all | 1 << old)
        };
        if !conflict && !single {
            // A read that comes before one of the lanes' is no longer needed.
            let own = if threads && now.is_mine(e) { new.lanes } else { 0 };
            return Some(of(new.lane()) & !own);
        }
        let mut all = lanes(new.lanes).map(of);
        let one = all.next()?;
        let uniform = one == 0 || one == e.lanes;
        (single || uniform && all.all(|other| other == one)).then_some(one)
    }

    /// Whether two accesses are strong, of one size, and in each other's scopes.
    fn morally_strong(&self, old: Entry, new: Entry) -> bool {
        let (a, b) = (self.kinds[old.site() as usize], self.kinds[new.site() as usize]);
        if !a.strong || !b.strong {
            return false;
        }
        if a.by == Accessor::Mbarrier && b.by == Accessor::Mbarrier {
            return true;
        }
        let blocks = [old, new].map(|e| self.block_of(e));
        let same_block = blocks[0] == blocks[1];
        let [one, two] = blocks.map(|b| self.clusters.get(&b));
        a.bytes == b.bytes
            && old.bytes() == new.bytes()
            && [a, b].iter().all(|k| covers(k.scope, same_block, one == two))
    }

    /// An access to bytes of one word; `done` are lanes of the instruction that came before it.
    #[allow(clippy::too_many_arguments)]
    fn word(
        &mut self,
        m: &Moment<'_>,
        a: &MemoryAccess<'_>,
        shadow: &mut Shadow,
        now: &Now,
        at: (usize, usize),
        new: Entry,
        place: (u32, u64),
        done: u32,
    ) {
        let apart = |e: Entry| now.settled(e) || e.warps.is_power_of_two();
        if shadow.get(at).has_more() || !apart(shadow.read(at)) {
            shadow.part(at);
        }
        // Lanes of each entry that nothing orders before this access: of the write, of further ones, of the read.
        let mut free = [0u32; FURTHER + 2];
        let mut wrong: Vec<(Entry, bool, bool)> = Vec::new();
        let (mut walk, mut count) = (Walk::Begins, 0);
        while let Some((e, wrote)) = shadow.step(at, &mut walk) {
            count += 1;
            if e.bytes() & new.bytes() == 0 {
                continue;
            }
            let conflict = wrote || now.writes;
            if self.in_step && wrote && now.writes && self.fellow(e, new, done) {
                wrong.push((e, true, false));
                continue;
            }
            let Some(left) = self.unordered(now, e, new, conflict) else {
                // Lane by lane; nothing has changed yet.
                for lane in lanes(new.lanes) {
                    self.word(m, a, shadow, now, at, new.of(1 << lane), place, done);
                }
                return;
            };
            free[count - 1] = left;
            if left == 0 && wrote && self.lacks_proxy_fence(now, e, new) {
                wrong.push((e, true, true));
            }
            if left != 0 && conflict && !self.morally_strong(e, new) {
                wrong.push((e.of(left), wrote, false));
            }
        }
        for (e, wrote, proxy) in wrong {
            for lane in lanes(new.lanes) {
                for old in lanes(e.lanes) {
                    let (e, new) = (e.of(1 << old), new.of(1 << lane));
                    self.conflict(m, a, e, wrote, new, place, (lane, done), proxy);
                }
            }
        }
        self.settle_word(shadow, now, at, new, &free[..count]);
    }

    /// Notes an access to bytes of one word; `free` as in `word`.
    fn settle_word(
        &self,
        shadow: &mut Shadow,
        now: &Now,
        at: (usize, usize),
        new: Entry,
        free: &[u32],
    ) {
        let (write, read) = (shadow.get(at).write(), shadow.read(at));
        let strong = now.kind.strong;
        let weak = |e: Entry| e.bytes() != 0 && !self.kinds[e.site() as usize].strong;
        // A strong access takes the place of strong ones that it follows. Others stay: a later access may be in order
        // with this one, or strong as this one, and not with those.
        let left = |e: Entry, free: u32| match e.bytes() & !new.bytes() == 0 {
            true if e.bytes() == 0 => 0,
            true if strong && weak(e) => e.lanes,
            // All that follows a weak write has this to conflict with.
            true if now.writes && !strong => 0,
            true => free,
            false => e.lanes,
        };
        let mut number = 0;
        let end = shadow.retain(at, |(e, wrote)| {
            number += 1;
            if now.writes || !*wrote {
                e.lanes = left(*e, free[number]);
            }
            e.lanes != 0
        });
        let read = read.of(left(read, free[free.len() - 1]));
        if now.writes {
            let write = write.of(left(write, free[0]));
            if write.lanes != 0 {
                shadow.add(at, (write, true), end);
            }
            shadow.get_mut(at).set_write(new, Code::new(new.warp(), new.lanes));
            shadow.set_read(at, if read.lanes == 0 { Entry::NONE } else { read });
            return;
        }
        let together = read.lanes != 0
            && read.like(new)
            && shadow.try_set_read(at, new.of(new.lanes | read.lanes));
        if !together {
            shadow.set_read(at, new);
        }
        if read.lanes != 0 && !together {
            shadow.push_read(at, read, end);
        }
    }

    /// Whether an entry is that of an earlier lane of the same store.
    fn fellow(&self, old: Entry, new: Entry, done: u32) -> bool {
        old.site() == new.site()
            && old.clock == new.clock
            && (old.who, old.warps) == (new.who, new.warps)
            && done & old.lanes != 0
            && self.kinds[new.site() as usize].by == Accessor::Store
    }

    /// Whether a write by the generic proxy was not made visible to the asynchronous one that follows it.
    fn lacks_proxy_fence(&self, now: &Now, old: Entry, new: Entry) -> bool {
        let (a, b) = (self.kinds[old.site() as usize], self.kinds[new.site() as usize]);
        if !a.generic || b.generic || a.asynchronous || a.by == Accessor::Mbarrier {
            return false;
        }
        let (block, thread) = (self.block_of(old), self.lead(self.thread_of(old)));
        // By the writer, or by the reader when it knew of the write.
        let Some(writer) = self.blocks.get(&block).map(|b| &b.threads[thread as usize]) else {
            return false;
        };
        if writer.proxy_fence.as_ref().is_some_and(|(clock, _)| *clock >= old.clock) {
            return false;
        }
        let home = self.home(now.block, now.warp * 32 + new.lane());
        let reader = &self.blocks[&home.block].threads[home.thread as usize];
        let fenced = |known: &Known| known.of(home, block, thread) >= old.clock;
        !reader.proxy_fence.as_ref().is_some_and(|(_, known)| fenced(known))
    }
}

/// The words of a range, each by its first address in the range, and which of their bytes it covers.
#[inline(always)]
fn words(start: u64, end: u64) -> impl Iterator<Item = (u64, u8)> {
    let mut at = start;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (first, word) = (at, at & !3);
            at = end.min(word + 4);
            (first, 15u8 << (first - word) & 15u8 >> (word + 4 - at))
        })
    })
}
