//! What is known of global memory between and during launches.

use std::collections::BTreeMap;

use ptx_interp::report::CodePlace;
use ptx_interp::{Allocation, MemoryEvent};

use crate::finding::{Check, Class, Finding, Site, Variable, Where};
use crate::written::Written;

/// Where a value that nobody wrote comes from.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    /// What was read: `global memory`, `the register %r3`.
    pub what: String,
    /// The instruction that read it.
    pub place: CodePlace,
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub kernel: String,
    /// The memory, if it was memory.
    pub memory: Option<Where>,
}

impl Cause {
    pub(crate) fn site(&self) -> Site {
        Site {
            what: self.what.clone(),
            place: self.place.clone(),
            block: self.block,
            thread: self.thread,
        }
    }
}

/// Global memory.
#[derive(Default)]
pub(crate) struct Host {
    /// Whether written bytes are kept.
    tracks: bool,
    /// By first address: the end of the allocation, and which of its bytes hold something.
    written: BTreeMap<u64, (u64, Written)>,
    freed: BTreeMap<u64, Allocation>,
    /// Bytes that a kernel wrote from values that nobody wrote, four at a time, with the number of the cause.
    poisoned: BTreeMap<u64, u32>,
    causes: Vec<Cause>,
    /// Where kernels freed allocations of their heap.
    freed_at: BTreeMap<u64, Site>,
    /// Ends of allocations of which kernels may only read (`false`) or only write (`true`).
    restricted: BTreeMap<u64, (u64, bool)>,
    /// Where kernels made those that live.
    made_at: BTreeMap<u64, Site>,
}

/// Most causes that are kept.
const CAUSES: usize = 1 << 16;

impl Host {
    pub(crate) fn new(tracks: bool) -> Host {
        Host { tracks, ..Host::default() }
    }

    /// Notes an event; what is wrong with it.
    pub(crate) fn event(&mut self, event: MemoryEvent<'_>) -> Option<Finding> {
        match event {
            MemoryEvent::Allocated(a) => {
                // An address may be given out again when there are no others.
                self.forget_freed(a.start, a.size);
                // The host may write its own memory unseen.
                if self.tracks && !a.lent {
                    self.written.insert(a.start, (a.start + a.size, Written::new(a.size)));
                }
            }
            MemoryEvent::Freed(a) => {
                self.written.remove(&a.start);
                self.restricted.remove(&a.start);
                let gone: Vec<u64> =
                    self.poisoned.range(a.start..a.start + a.size).map(|(at, _)| *at).collect();
                for at in gone {
                    self.poisoned.remove(&at);
                }
                self.freed.insert(a.start, a.clone());
            }
            MemoryEvent::Written { address, bytes } => self.write(address, bytes, true),
            MemoryEvent::Copied { to, from, bytes } => self.copy(to, from, bytes),
            MemoryEvent::Read { address, bytes } => return self.read_by_host(address, bytes),
            MemoryEvent::LaunchStarts => {}
        }
        None
    }

    /// From now on kernels may only read a range, or only write it.
    pub(crate) fn restrict(&mut self, start: u64, bytes: u64, only_write: bool) {
        self.restricted.insert(start, (start + bytes, only_write));
    }

    /// Whether kernels may only read an address (`false`) or only write it (`true`).
    pub(crate) fn restriction(&self, address: u64) -> Option<bool> {
        let (_, (end, only_write)) = self.restricted.range(..=address).next_back()?;
        (address < *end).then_some(*only_write)
    }

    /// A kernel has called `malloc`.
    pub(crate) fn made(&mut self, address: u64, site: Site) {
        self.made_at.insert(address, site);
    }

    /// A kernel calls `free`.
    pub(crate) fn frees(&mut self, address: u64, site: Site) {
        self.freed_at.entry(address).or_insert(site);
    }

    /// Where the allocation at `address` was made, and where it was freed.
    pub(crate) fn life(&self, address: u64) -> (Option<&Site>, Option<&Site>) {
        (self.made_at.get(&address), self.freed_at.get(&address))
    }

    /// The freed allocation that held an address, where it was made and where it was freed.
    pub(crate) fn gone(&self, address: u64) -> Option<(Allocation, Option<Site>, Option<Site>)> {
        let allocation = self.freed(address)?;
        let (made, gone) = self.life(allocation.start);
        let (made, gone) = (made.cloned(), gone.cloned());
        Some((allocation, made, gone))
    }

    fn forget_freed(&mut self, start: u64, size: u64) {
        let over: Vec<u64> = self
            .freed
            .range(..start + size.max(1))
            .rev()
            .take_while(|(at, a)| *at + a.size > start || **at >= start)
            .map(|(at, _)| *at)
            .collect();
        over.iter().for_each(|at| drop(self.freed.remove(at)));
    }

    /// The freed allocation that held an address.
    pub(crate) fn freed(&self, address: u64) -> Option<Allocation> {
        let (_, a) = self.freed.range(..=address).next_back()?;
        (address - a.start < a.size).then(|| a.clone())
    }

    /// Whether written bytes are kept.
    pub(crate) fn tracks(&self) -> bool {
        self.tracks
    }

    /// What is known of the allocation that holds a range, and its first address. `None` where the range is not in one,
    /// and where kernels have written values that nobody wrote.
    pub(crate) fn range(&mut self, at: u64, end: u64) -> Option<(u64, &mut Written)> {
        if !self.poisoned.is_empty() {
            return None;
        }
        let (start, (last, known)) = self.written.range_mut(..=at).next_back()?;
        (end <= *last).then_some((*start, known))
    }

    /// Which bytes of the allocation that starts at an address were written, where that is not all of them or not known.
    pub(crate) fn partly(&self, start: u64) -> Option<Written> {
        let (end, written) = self.written.get(&start)?;
        (!written.all(0..end - start)).then(|| written.clone())
    }

    /// Which of `bytes` bytes (at most 64) nobody wrote, a bit each; memory that is not tracked is written.
    pub(crate) fn unwritten(&self, address: u64, bytes: u32) -> u64 {
        let Some((start, (end, known))) = self.written.range(..=address).next_back() else {
            return 0;
        };
        if address >= *end {
            return 0;
        }
        let at = address - start;
        let missing = |n: &u64| !known.all(at + n..at + n + 1);
        (0..u64::from(bytes.min(64))).filter(missing).fold(0, |all, n| all | 1 << n)
    }

    /// Marks a range as written or not.
    pub(crate) fn write(&mut self, address: u64, bytes: u64, valid: bool) {
        if !self.tracks || bytes == 0 {
            return;
        }
        if valid && !self.poisoned.is_empty() {
            let range = address & !3..address + bytes;
            let gone: Vec<u64> = self.poisoned.range(range).map(|(at, _)| *at).collect();
            for at in gone {
                self.poisoned.remove(&at);
            }
        }
        if let Some((start, (end, known))) = self.written.range_mut(..=address).next_back()
            && address < *end
        {
            known.set(address - start..address + bytes - start, valid);
        }
    }

    /// A kernel writes a value that nobody wrote.
    pub(crate) fn poison(&mut self, address: u64, missing: u64, bytes: u32, cause: u32) {
        if !self.tracks {
            return;
        }
        self.write(address, u64::from(bytes), true);
        for n in (0..u64::from(bytes)).filter(|n| missing >> n & 1 != 0) {
            self.write(address + n, 1, false);
            self.poisoned.insert(address + n & !3, cause);
        }
    }

    /// The cause of a poisoned byte in a range.
    pub(crate) fn poisoned(&self, address: u64, bytes: u64) -> Option<u32> {
        self.poisoned.range(address & !3..address + bytes).next().map(|(_, cause)| *cause)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) {
        if !self.tracks {
            return;
        }
        let poison: Vec<(u64, u32)> =
            self.poisoned.range(from & !3..from + bytes).map(|(at, o)| (*at, *o)).collect();
        let missing: Vec<u64> = (0..bytes).filter(|n| self.unwritten(from + n, 1) != 0).collect();
        self.write(to, bytes, true);
        for n in missing {
            self.write(to + n, 1, false);
        }
        for (at, cause) in poison {
            self.poisoned.insert(at.wrapping_sub(from).wrapping_add(to) & !3, cause);
        }
    }

    fn read_by_host(&mut self, address: u64, bytes: u64) -> Option<Finding> {
        let mut range = self.poisoned.range(address & !3..address + bytes);
        let missing = |at: u64| self.unwritten(at, 4) != 0;
        let (at, cause) = range.find(|(at, _)| missing(**at)).map(|(at, o)| (*at, *o))?;
        let cause = self.causes.get(cause as usize)?;
        let message = format!(
            "the host reads {bytes} bytes at {address:#x}; those at {at:#x} were computed from {}, which nobody wrote",
            cause.what
        );
        let (check, class) = (Check::Init, Class::UninitializedOutput);
        let mut finding = Finding::new(check, class, &cause.kernel, message);
        finding.sites.push(cause.site());
        finding.memory = cause.memory.clone();
        finding.missing = Some("write the memory or the register before it is read".into());
        Some(finding)
    }

    /// Keeps an cause; its number.
    pub(crate) fn keep(&mut self, cause: Cause) -> u32 {
        if self.causes.len() < CAUSES {
            self.causes.push(cause);
        }
        self.causes.len() as u32 - 1
    }

    pub(crate) fn cause(&self, number: u32) -> Option<&Cause> {
        self.causes.get(number as usize)
    }
}

/// The allocation as reports show it.
pub(crate) fn variable(a: &Allocation) -> Variable {
    Variable { name: a.name.to_string(), start: a.start, size: a.size }
}
