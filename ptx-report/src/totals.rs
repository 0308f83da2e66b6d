//! What a launch used and asked for as a whole: the rows of the tables that text and page share.

use std::collections::BTreeMap;

use ptx_timing::Report;
use ptx_timing::report::{CacheInfo, MemorySpace, OperationInfo, RegistersFrom, UnitInfo};

use crate::number::{bytes, count, extent, percent, plural, significant};
use crate::text::{Cell, Paint, Table, bar};

/// Units that are shown: those in use.
const UNITS: usize = 8;
/// Classes of instructions that are shown.
const CLASSES: usize = 8;
/// A use that is shown as one.
const USED: f64 = 0.0005;

/// A name, a number, and its share of the whole.
pub(crate) type Share = (String, String, f64);

/// What can be saturated, the most used first.
pub(crate) fn units(report: &Report) -> impl Iterator<Item = &UnitInfo> {
    report.units.iter().filter(|unit| unit.share > USED).take(UNITS)
}

/// Warps of a scheduler from those that fit to those that issue, with the share of those that fit.
pub(crate) fn scheduler(report: &Report) -> Vec<Share> {
    let s = &report.scheduler;
    let most = s.theoretical_warps.max(f64::MIN_POSITIVE);
    [
        ("warps that fit", s.theoretical_warps),
        ("active warps", s.active_warps),
        ("eligible warps", s.eligible_warps),
        ("issued", s.issued),
    ]
    .map(|(name, n)| (name.to_owned(), significant(n), n / most))
    .into()
}

/// In how many clocks a scheduler had nothing to issue.
pub(crate) fn no_eligible(report: &Report) -> String {
    format!("In {} of its clocks no warp could issue.", percent(report.scheduler.no_eligible))
}

/// The classes of instructions that most of the issue slots went to.
pub(crate) fn mix(report: &Report) -> Vec<Share> {
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for line in report.lines.iter().filter(|l| l.issue_slots > 0) {
        *classes.entry(&line.class).or_default() += line.issue_slots;
    }
    let all = classes.values().sum::<u64>().max(1) as f64;
    let mut classes: Vec<(&str, u64)> = classes.into_iter().collect();
    classes.sort_by_key(|(name, slots)| (std::cmp::Reverse(*slots), *name));
    let rest: u64 = classes.iter().skip(CLASSES).map(|c| c.1).sum();
    classes.truncate(CLASSES);
    if rest > 0 {
        classes.push(("all others", rest));
    }
    let share = |(name, slots): (&str, u64)| (name.to_owned(), count(slots), slots as f64 / all);
    classes.into_iter().map(share).collect()
}

/// Shape of the launch and what a block of it takes.
pub(crate) fn launch(report: &Report) -> Vec<(&'static str, String)> {
    let (l, o, s) = (&report.launch, &report.occupancy, &report.summary);
    let registers = l.registers.map_or_else(
        || "not counted".to_owned(),
        |n| match l.registers_from {
            Some(RegistersFrom::Estimate) => format!("{n}, estimated"),
            Some(RegistersFrom::Given | RegistersFrom::Directive) | None => n.to_string(),
        },
    );
    let mut shared = format!("{} declared", bytes(l.static_shared.into()));
    if l.dynamic_shared > 0 {
        shared += &format!(", {} by the launch", bytes(l.dynamic_shared.into()));
    }
    let mut rows = vec![
        ("grid", plural(l.blocks, "block") + &shape(l.grid)),
        ("block", plural(l.threads_per_block.into(), "thread") + &shape(l.block)),
        ("registers per thread", registers),
        ("shared memory per block", shared),
        ("blocks per SM", format!("{}, {} of {} warps", o.blocks, o.warps, o.max_warps)),
        ("waves", significant(s.waves)),
    ];
    if let Some(tail) = s.tail {
        rows.push(("tail", format!("{} of the time, from the first idle SM on", percent(tail))));
    }
    rows
}

/// The extent, where it is more than a number.
fn shape(extent_of: [u32; 3]) -> String {
    match extent_of {
        [_, 1, 1] => String::new(),
        _ => format!(": {}", extent(extent_of)),
    }
}

/// Headings of [`operations`]; `>` is of numbers.
pub(crate) const OPERATIONS: [&str; 7] =
    ["memory", ">requests", ">per request", ">hits", ">moved", ">asked for", ">conflicts"];

/// What instructions asked memory for, a row for each space and operation.
pub(crate) fn operations(report: &Report) -> Vec<[String; 7]> {
    let row = |o: &OperationInfo| {
        let shared = o.space == MemorySpace::Shared;
        let units = if shared { o.wavefronts } else { o.transactions };
        let share = |part: u64, of: u64| match of {
            0 => String::new(),
            of => percent(part as f64 / of as f64),
        };
        let loads =
            o.kind == "load" && !matches!(o.space, MemorySpace::Shared | MemorySpace::Constant);
        [
            format!("{} {}", space(o.space), o.kind),
            count(o.requests),
            significant(units as f64 / o.requests.max(1) as f64),
            if loads { share(o.hits, o.transactions) } else { String::new() },
            if o.bytes_moved > 0 { bytes(o.bytes_moved) } else { String::new() },
            if shared { String::new() } else { share(o.bytes_used, o.bytes_moved) },
            if shared { count(o.conflicts) } else { String::new() },
        ]
    };
    report.operations.iter().map(row).collect()
}

/// What the numbers of [`operations`] are.
pub(crate) const OPERATIONS_NOTE: &str = "Per request: sectors (1.x and 2.x: transactions), in shared memory steps, in constant memory addresses. Hits: those that the SM's own cache had. Asked for: share of the bytes moved. Conflicts: steps too many.";

pub(crate) fn space(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Global => "global",
        MemorySpace::Local => "local",
        MemorySpace::Shared => "shared",
        MemorySpace::Constant => "constant",
        MemorySpace::Texture => "texture",
    }
}

/// What a cache was asked for, by operation, and how often it had it; nothing where it was not used.
pub(crate) fn cache(info: &CacheInfo, unit: &str) -> Vec<String> {
    let line = |what: &str, hits: u64, misses: u64| match hits + misses {
        0 => None,
        all => {
            let share = percent(hits as f64 / all as f64);
            Some(format!("{} {unit} {what}, {share} of them hits", count(all)))
        }
    };
    let back = (info.written_back > 0)
        .then(|| format!("{} {unit} written back", count(info.written_back)));
    [
        line("read", info.read_hits, info.read_misses),
        line("written", info.write_hits, info.write_misses),
        back,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The caches, from the SM outwards, with what each counts.
pub(crate) fn caches(report: &Report) -> [(&'static str, &CacheInfo, &'static str); 4] {
    let m = &report.memory;
    // L1 of 2.x has whole lines.
    let l1 = if report.device.compute_capability.starts_with("2.") { "lines" } else { "sectors" };
    [
        ("constant cache", &m.constant, "lines"),
        ("texture cache", &m.texture, "sectors"),
        ("L1", &m.l1, l1),
        ("L2", &m.l2, "sectors"),
    ]
}

/// Units, schedulers and memory operations as text.
pub(crate) fn text(report: &Report, paint: Paint) -> String {
    let shares = |heading: &str, rows: &mut dyn Iterator<Item = Share>| {
        let mut table = Table::new(&[heading, ">", ""]);
        for (name, number, share) in rows {
            table.row([name.into(), number.into(), bar(share, 30).into()]);
        }
        if table.is_empty() { String::new() } else { format!("\n{}", table.render(paint)) }
    };
    let mut units = units(report).map(|u| (u.name.clone(), percent(u.share), u.share));
    let mut out = shares("in use", &mut units);
    out.push_str(&shares("a scheduler", &mut scheduler(report).into_iter()));
    out.push_str(&paint.dim(&format!("  {}\n", no_eligible(report))));
    let mut table = Table::new(&OPERATIONS);
    for row in operations(report) {
        table.row(row.map(Cell::from));
    }
    if !table.is_empty() {
        out.push_str(&format!("\n{}", table.render(paint)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_tells_what_it_was_asked_for() {
        let info =
            CacheInfo { read_hits: 1, read_misses: 3, written_back: 2, ..CacheInfo::default() };
        let lines = ["4 sectors read, 25.0 % of them hits", "2 sectors written back"];
        assert_eq!(cache(&info, "sectors"), lines);
        assert!(cache(&CacheInfo::default(), "sectors").is_empty());
    }
}
