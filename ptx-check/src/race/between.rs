//! Races between launches, and between launches and copies, that no stream, event or wait of the host orders.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;

use ptx_interp::Memory;
use ptx_isa::effect::Scope;

use super::Race;
use crate::finding::{Check, Class, Finding, Site, Where};
use crate::host::variable;
use crate::order::Past;
use crate::shadow::{Entry, Shadow};

/// Launches and copies that are kept to be compared with later ones.
const KEPT: usize = 256;
/// Pages of their shadows: at 4,096 bytes each, with their side tables, 205 MB.
const PAGES: usize = 50_000;

/// What work did to global memory.
enum Work {
    Launch(Box<Race>),
    /// What it is called, and ranges of addresses; whether it writes them.
    Copy(&'static str, Vec<(Range<u64>, bool)>),
}

struct Done {
    past: Past,
    work: Work,
    /// Ranges that were freed since.
    freed: Vec<Range<u64>>,
}

impl Done {
    fn pages(&self) -> usize {
        match &self.work {
            Work::Launch(race) => race.global.page_count(),
            Work::Copy(..) => 0,
        }
    }

    fn is_freed(&self, address: u64) -> bool {
        self.freed.iter().any(|range| range.contains(&address))
    }
}

/// Work of the streams, until too much of it is kept.
#[derive(Default)]
pub(crate) struct Between {
    done: VecDeque<Done>,
    pages: usize,
    /// The last work of each queue that was forgotten.
    forgotten: BTreeMap<u64, Past>,
    /// Some of it was never known: compiled code ran it, while there was one stream.
    unknown: bool,
    /// Work came that may race with what was forgotten.
    missed: bool,
}

/// The bytes of a word that a range covers.
fn covered(range: &Range<u64>, word: u64) -> u8 {
    (0..4).filter(|n| range.contains(&(word + n))).fold(0, |all, n| all | 1 << n)
}

impl Between {
    /// A launch has ended; what of it races with earlier work.
    pub(crate) fn launch(&mut self, past: Past, race: Race, memory: &Memory) -> Vec<Finding> {
        let mut found = Vec::new();
        for old in self.done.iter().filter(|old| !past.follows(&old.past)) {
            match &old.work {
                Work::Launch(other) => launches(old, other, &race, memory, &mut found),
                Work::Copy(what, ranges) => {
                    found.extend(copy(old, &race, what, ranges, memory));
                }
            }
        }
        self.keep(past, Work::Launch(Box::new(race)));
        found
    }

    /// The host's side copies, fills or reads memory.
    pub(crate) fn copy(
        &mut self,
        past: Past,
        what: &'static str,
        ranges: Vec<(Range<u64>, bool)>,
        memory: &Memory,
    ) -> Vec<Finding> {
        let mut found = Vec::new();
        for old in self.done.iter().filter(|old| !past.follows(&old.past)) {
            match &old.work {
                Work::Launch(other) => found.extend(copy(old, other, what, &ranges, memory)),
                Work::Copy(..) => {}
            }
        }
        self.keep(past, Work::Copy(what, ranges));
        found
    }

    /// An allocation is freed, in stream order where `past` says so; launches that may still use it.
    pub(crate) fn freed(
        &mut self,
        past: Option<&Past>,
        range: Range<u64>,
        name: &str,
    ) -> Vec<Finding> {
        let mut found = Vec::new();
        let follows = |past: &Past| self.forgotten.values().all(|old| past.follows(old));
        self.missed |= self.unknown && !past.is_none_or(follows);
        for old in &mut self.done {
            if let (Some(past), Work::Launch(race)) = (past, &old.work)
                && !past.follows(&old.past)
                && let Some(site) = race.first_in(&range)
            {
                let message = format!(
                    "use after free: `{name}` at {:#x} is freed in one stream, and nothing orders this launch of another before that",
                    range.start
                );
                let mut finding =
                    Finding::new(Check::Memory, Class::UseAfterFree, &race.kernel, message);
                finding.sites.push(site);
                finding.missing = Some(ORDER.into());
                found.push(finding);
            }
            old.freed.push(range.clone());
        }
        found
    }

    /// Whether work comes after all that was done so far.
    pub(crate) fn is_last(&self, past: &Past) -> bool {
        self.done
            .iter()
            .map(|old| &old.past)
            .chain(self.forgotten.values())
            .all(|old| past.follows(old))
    }

    /// A launch has ended of which nothing is known but when it was.
    pub(crate) fn unknown(&mut self, past: Past) {
        self.unknown = true;
        self.forgotten.insert(past.queue, past);
    }

    /// What was not checked, in words.
    pub(crate) fn note(&self) -> Option<&'static str> {
        const UNKNOWN: &str = "races between launches were not looked for with those that ran before the \
             program made its streams, with nothing between them and later work: PTXRUN_BACKEND=interp keeps them";
        if self.missed && self.unknown {
            return Some(UNKNOWN);
        }
        const NOTE: &str = "races between launches were looked for among the latest: more launches and copies of several streams, with nothing between them, than 256 or 205 MB";
        self.missed.then_some(NOTE)
    }

    fn keep(&mut self, past: Past, work: Work) {
        self.missed |= !self.forgotten.values().all(|old| past.follows(old));
        let new = Done { past, work, freed: Vec::new() };
        self.pages += new.pages();
        self.done.push_back(new);
        while self.done.len() > KEPT || self.pages > PAGES {
            let Some(old) = self.done.pop_front() else { break };
            self.pages -= old.pages();
            self.forgotten.insert(old.past.queue, old.past);
        }
    }
}

const ORDER: &str = "one stream for both, an event that the second one's stream waits for, or a wait of the host between them";

impl Race {
    /// Entries of a cell, reads in the order in which they came; whether they write.
    fn entries(shadow: &Shadow, at: (usize, usize)) -> impl Iterator<Item = (Entry, bool)> {
        std::iter::once((shadow.get(at).write(), true))
            .chain(shadow.further(at))
            .chain([(shadow.read(at), false)])
            .filter(|(entry, _)| entry.bytes() != 0)
    }

    /// An access to a range.
    fn first_in(&self, range: &Range<u64>) -> Option<Site> {
        let shadow = &self.global;
        let mut words = (range.start & !3..range.end).step_by(4).take(1 << 20);
        words.find_map(|word| {
            let at = shadow.find(word)?;
            let mut all = Race::entries(shadow, at);
            all.find(|(e, _)| e.bytes() & covered(range, word) != 0).map(|(e, _)| self.site(e))
        })
    }
}

/// Compares two launches.
fn launches(old: &Done, one: &Race, two: &Race, memory: &Memory, found: &mut Vec<Finding>) {
    let mut seen = HashSet::new();
    let strong = |race: &Race, entry: Entry| {
        let kind = race.kinds[entry.site() as usize];
        (kind.strong && matches!(kind.scope, Scope::Gpu | Scope::Sys)).then_some(kind.bytes)
    };
    for page in two.global.page_addresses().filter(|page| one.global.find(*page).is_some()) {
        for word in (page..page + crate::shadow::PAGE).step_by(4) {
            let (Some(a), Some(b)) = (one.global.find(word), two.global.find(word)) else {
                continue;
            };
            for (new, writes) in Race::entries(&two.global, b) {
                for (before, wrote) in Race::entries(&one.global, a) {
                    let both = new.bytes() & before.bytes();
                    let atomic = strong(one, before).is_some_and(|n| strong(two, new) == Some(n));
                    if both == 0 || !(writes || wrote) || atomic || old.is_freed(word) {
                        continue;
                    }
                    if !seen.insert((before.site(), new.site())) {
                        continue;
                    }
                    let sites = vec![two.site(new), one.site(before)];
                    let address = word + u64::from(both.trailing_zeros());
                    let bytes = u64::from(both.count_ones());
                    let words = format!("{} and {}", sites[0].what, sites[1].what);
                    let name = format!(" in launches of `{}` and `{}`", two.kernel, one.kernel);
                    found.push(finding(
                        &two.kernel,
                        &words,
                        &name,
                        (address, bytes),
                        sites,
                        memory,
                    ));
                }
            }
        }
    }
}

/// Compares a launch and a copy.
fn copy(
    old: &Done,
    race: &Race,
    what: &str,
    ranges: &[(Range<u64>, bool)],
    memory: &Memory,
) -> Option<Finding> {
    for page in race.global.page_addresses() {
        let near = |r: &Range<u64>| r.start < page + crate::shadow::PAGE && page < r.end;
        for (range, writes) in ranges.iter().filter(|(r, _)| near(r)) {
            for word in (page..page + crate::shadow::PAGE).step_by(4) {
                let bytes = covered(range, word);
                let Some(at) = race.global.find(word).filter(|_| bytes != 0) else { continue };
                let hit = Race::entries(&race.global, at)
                    .find(|(e, wrote)| e.bytes() & bytes != 0 && (*writes || *wrote));
                let Some((entry, _)) = hit.filter(|_| !old.is_freed(word)) else { continue };
                let both = entry.bytes() & bytes;
                let site = race.site(entry);
                let words = format!("{} by a launch and {what}", site.what);
                let at = (word + u64::from(both.trailing_zeros()), u64::from(both.count_ones()));
                return Some(finding(&race.kernel, &words, "", at, vec![site], memory));
            }
        }
    }
    None
}

fn finding(
    kernel: &str,
    words: &str,
    end: &str,
    (address, bytes): (u64, u64),
    sites: Vec<Site>,
    memory: &Memory,
) -> Finding {
    let known = memory.find(address);
    let name = known.as_ref().map_or(String::new(), |a| format!(" (`{}`)", a.name));
    let message =
        format!("race: {words} of global {address:#x}{name}, and no stream orders them{end}");
    let mut finding = Finding::new(Check::Race, Class::UnorderedLaunches, kernel, message);
    finding.sites = sites;
    let variable = known.as_ref().map(variable);
    finding.memory = Some(Where { space: "global".into(), address, bytes, variable });
    finding.missing = Some(ORDER.into());
    finding
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Copies of two streams that nothing orders.
    #[test]
    fn what_is_forgotten_is_said_where_it_matters() {
        let memory = Memory::new(1 << 16).unwrap();
        let mut between = Between::default();
        let mut copy = |queue: u64, number: u64| {
            let past = Past { queue, number, known: Arc::default() };
            between.copy(past, "a copy", vec![(0..4, true)], &memory);
            between.note().is_some()
        };
        let one_stream = (1..=2 * KEPT as u64).any(|n| copy(1, n));
        assert!(!one_stream, "each copy follows those before it");
        assert!(
            copy(2, 1),
            "the first of another stream would have to be compared with all of them"
        );
    }
}
