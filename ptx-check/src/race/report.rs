//! Conflicts as findings.

use ptx_interp::observer::{Action, MemoryAccess};
use ptx_interp::{Moment, place_of};
use ptx_isa::effect::{Accessor, Scope};

use super::{CONFLICTS, Conflict, GLOBAL, Kind, Race};
use crate::finding::{Check, Class, Finding, Site, Variable, Where};
use crate::shadow::Entry;

impl Race {
    fn what(kind: Kind) -> String {
        let word = match kind.action {
            Action::Read => "read",
            Action::Write => "write",
            Action::Update => "atomic",
        };
        match (kind.asynchronous, kind.strong && kind.action != Action::Update) {
            (true, _) => format!("asynchronous {word}"),
            (false, true) => format!("strong {word}"),
            (false, false) => word.to_owned(),
        }
    }

    pub(super) fn site(&self, entry: Entry) -> Site {
        let kind = self.kinds[entry.site() as usize];
        let (block, thread) = (self.block_of(entry), self.thread_of(entry));
        let split = |n: u32, [x, y, _]: [u32; 3]| [n % x, n / x % y, n / x / y];
        Site {
            what: Race::what(kind),
            place: place_of(&self.program, kind.function, kind.index),
            block: split(block, self.grid),
            thread: split(thread, self.block_size),
        }
    }

    /// Whether both accesses, of which one is about to happen, write the same bytes.
    fn equal(
        &self,
        m: &Moment<'_>,
        a: &MemoryAccess<'_>,
        old: Entry,
        new: Entry,
        at: u64,
        lanes: (u32, u32),
    ) -> bool {
        let (lane, done) = lanes;
        let kinds = [old, new].map(|e| self.kinds[e.site() as usize]);
        if kinds.iter().any(|k| k.by != Accessor::Store) {
            return false;
        }
        let Some(mine) = m.stored(lane as u8) else { return false };
        let start = a.addresses[lane as usize];
        let to_address = start.wrapping_sub(self.offset(m, a, start));
        let low = (at & !3).wrapping_add(to_address);
        let both = old.bytes() & new.bytes();
        // An earlier lane of this instruction has not written yet.
        let other = old.lane();
        let same = (old.who, old.warps) == (new.who, new.warps);
        let fellow = (same && done >> other & 1 != 0 && old.site() == new.site())
            .then(|| (m.stored(other as u8), a.addresses[other as usize]));
        (0..4u64).filter(|n| both >> n & 1 != 0).all(|n| {
            let byte = low.wrapping_add(n);
            let mine = mine.get(byte.wrapping_sub(start) as usize);
            match &fellow {
                Some((Some(theirs), from)) if byte.wrapping_sub(*from) < theirs.len() as u64 => {
                    mine == theirs.get((byte - from) as usize)
                }
                _ => {
                    let mut now = [0];
                    m.read(lane as u8, a.space, byte, &mut now).is_ok() && mine == Some(&now[0])
                }
            }
        })
    }

    /// Whether the copy of an earlier lane of this instruction is the same as that of `lane`.
    fn same_copy(&self, m: &Moment<'_>, old: Entry, new: Entry, lane: u32) -> bool {
        let kind = self.kinds[new.site() as usize];
        old.site() == new.site()
            && kind.asynchronous
            && kind.action == Action::Write
            && (old.who / 2, old.warps) == (new.who / 2, new.warps)
            && m.alike(old.lane() as u8, lane as u8)
    }

    /// Where an address of the access lies in its memory.
    fn offset(&self, m: &Moment<'_>, a: &MemoryAccess<'_>, address: u64) -> u64 {
        self.locate(m, a.space, address).map_or(address, |(_, at)| at)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn conflict(
        &mut self,
        m: &Moment<'_>,
        a: &MemoryAccess<'_>,
        old: Entry,
        wrote: bool,
        new: Entry,
        (owner, at): (u32, u64),
        lanes: (u32, u32),
        proxy: bool,
    ) {
        let [before, now] = [old, new].map(|e| self.kinds[e.site() as usize]);
        let both_write = wrote && now.action != Action::Read;
        let class = if proxy {
            Class::Proxy
        } else if both_write && self.same_copy(m, old, new, lanes.0) {
            Class::EqualWrites
        } else if before.asynchronous || now.asynchronous {
            Class::AsyncCopy
        } else if before.strong
            && now.strong
            && before.bytes == now.bytes
            && old.bytes() == new.bytes()
        {
            Class::Scope
        } else if both_write && self.equal(m, a, old, new, at, lanes) {
            Class::EqualWrites
        } else if both_write {
            Class::WriteWrite
        } else {
            Class::ReadWrite
        };
        if class == Class::EqualWrites && !self.equal_writes {
            return;
        }
        // One finding for a pair of places, whichever came first.
        let key = (old.site().min(new.site()), old.site().max(new.site()), class);
        if let Some(known) = self.seen.get(&key) {
            self.conflicts[*known].finding.count += 1;
            return;
        }
        if self.conflicts.len() >= CONFLICTS {
            return;
        }
        let sites = vec![self.site(new), self.site(old)];
        let both = (old.bytes() & new.bytes()).trailing_zeros() as u64;
        let address = (at & !3) + both;
        let (space, variable) = match owner {
            GLOBAL => ("global", m.memory().find(address).as_ref().map(crate::host::variable)),
            _ => ("shared", self.shared_variable(address, m.dynamic_bytes())),
        };
        let name = variable.as_ref().map_or(String::new(), |v| format!(" (`{}`)", v.name));
        let message = match class {
            Class::EqualWrites => {
                format!("race: two threads write the same value to {space} {address:#x}{name}")
            }
            Class::Proxy => format!(
                "race: an asynchronous copy may miss a write to {space} {address:#x}{name} that came before it"
            ),
            _ => format!(
                "race: {} and {} of {space} {address:#x}{name}, and nothing orders them",
                sites[0].what, sites[1].what
            ),
        };
        let mut finding = Finding::new(Check::Race, class, &self.kernel, message);
        finding.missing = Some(self.missing(old, new, class));
        finding.sites = sites;
        let bytes = u64::from((old.bytes() & new.bytes()).count_ones());
        finding.memory = Some(Where { space: space.into(), address, bytes, variable });
        self.seen.insert(key, self.conflicts.len());
        self.conflicts.push(Conflict { finding });
    }

    fn shared_variable(&self, address: u64, dynamic: u32) -> Option<Variable> {
        let all = &self.program.shared_vars;
        let size = |v: &(String, u32, u32)| if v.2 == 0 { dynamic } else { v.2 };
        let holds = |v: &&(String, u32, u32)| {
            u64::from(v.1) <= address && address < u64::from(v.1) + u64::from(size(v))
        };
        let v = all.iter().find(holds)?;
        Some(Variable { name: v.0.clone(), start: u64::from(v.1), size: u64::from(size(v)) })
    }

    /// What would order the two accesses.
    fn missing(&self, old: Entry, new: Entry, class: Class) -> String {
        let [(b1, t1), (b2, t2)] = [old, new].map(|e| (self.block_of(e), self.thread_of(e)));
        let kinds = [old, new].map(|e| self.kinds[e.site() as usize]);
        let scope = |s: Scope| match s {
            Scope::Cta => "the block",
            Scope::Cluster => "the cluster",
            Scope::Gpu => "the device",
            Scope::Sys => "the system",
        };
        let text = match class {
            Class::Proxy => {
                "a proxy fence (`fence.proxy.async`) between the write and the asynchronous copy"
            }
            Class::Scope => {
                let narrow =
                    if kinds[0].scope as u8 <= kinds[1].scope as u8 { kinds[0] } else { kinds[1] };
                return format!(
                    "a wider scope: one of the accesses holds for {} only, and the other thread is outside of it",
                    scope(narrow.scope)
                );
            }
            Class::AsyncCopy if (b1, t1) == (b2, t2) => {
                "the thread must wait for its copy (`__pipeline_wait_prior`, `cp.async.wait_group`, an mbarrier) \
                 before it uses the memory"
            }
            Class::AsyncCopy => {
                "the copying thread must wait for its copy, and a barrier must follow, \
                 before another thread uses the memory"
            }
            _ if b1 != b2 => {
                "nothing orders the blocks: a release and an acquire of device scope (fences, atomics), \
                 or a kernel boundary"
            }
            _ if t1 / 32 == t2 / 32
                && old.site() == new.site()
                && kinds[0].action == Action::Write =>
            {
                "lanes of one instruction write to the same place, and any of them may win"
            }
            _ if t1 / 32 == t2 / 32 => {
                "`__syncwarp()` (or a barrier of the block) between them: lanes of a warp are threads from sm_70 on"
            }
            _ => "a barrier of the block (`__syncthreads()`) between them",
        };
        let mixed = kinds.iter().any(|k| k.strong) && kinds.iter().any(|k| !k.strong);
        match mixed && !matches!(class, Class::Proxy | Class::AsyncCopy) {
            true => format!("{text}; only one of the accesses is atomic"),
            false => text.to_owned(),
        }
    }
}
