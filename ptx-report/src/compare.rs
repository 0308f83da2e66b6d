//! `ptxrun compare`: what changed between two profiles.

use std::collections::BTreeMap;

use ptx_timing::Report;
use serde_json::{Value, json};

use crate::advice::clocks;
use crate::number::{percent, significant};
use crate::profile::{Document, ProfiledLaunch};
use crate::source::one_line;
use crate::text::{Cell, Paint, Style, Table};

/// One number before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What.
    pub name: String,
    /// Before; absent where there is no such number.
    pub before: Option<f64>,
    /// After.
    pub after: Option<f64>,
    /// Whether less is better, more is better, or neither.
    pub better: Better,
    /// Whether it is a share of 1.
    pub share: bool,
}

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less.
    Less,
    /// More.
    More,
    /// It depends.
    Neither,
}

/// Launches of two documents side by side.
#[derive(Debug, Clone, Default)]
pub struct Comparison<'a> {
    /// Launches of the same kernel, in order.
    pub pairs: Vec<(&'a ProfiledLaunch, &'a ProfiledLaunch)>,
    /// Kernels that only one of the two has.
    pub only_before: Vec<&'a str>,
    /// As above.
    pub only_after: Vec<&'a str>,
}

/// Puts launches of the same kernel side by side, each with the next one of that name. A single
/// launch on either side is compared whatever its name: a kernel before and after a rewrite.
pub fn pair<'a>(before: &'a Document, after: &'a Document) -> Comparison<'a> {
    if let ([b], [a]) = (&before.launches[..], &after.launches[..]) {
        return Comparison { pairs: vec![(b, a)], ..Comparison::default() };
    }
    let mut rest: Vec<&ProfiledLaunch> = after.launches.iter().collect();
    let mut out = Comparison::default();
    for launch in &before.launches {
        match rest.iter().position(|l| l.report.kernel == launch.report.kernel) {
            Some(i) => out.pairs.push((launch, rest.remove(i))),
            None => out.only_before.push(&launch.report.kernel),
        }
    }
    out.only_after = rest.iter().map(|l| l.report.kernel.as_str()).collect();
    out
}

/// The numbers of two reports.
pub fn changes(before: &Report, after: &Report) -> Vec<Change> {
    let mut out = Vec::new();
    let mut add = |name: &str, better, share, value: &dyn Fn(&Report) -> Option<f64>| {
        let (b, a) = (value(before), value(after));
        if b.is_some() || a.is_some() {
            out.push(Change { name: name.to_owned(), before: b, after: a, better, share });
        }
    };
    use Better::{Less, More, Neither};
    add("time (us)", Less, false, &|r| Some(r.summary.microseconds));
    add("cycles", Less, false, &|r| Some(r.summary.elapsed_cycles as f64));
    add("instructions per clock and SM", More, false, &|r| Some(r.summary.ipc));
    add("warp instructions", Less, false, &|r| Some(r.summary.warp_instructions as f64));
    add("issue slots", Less, false, &|r| Some(r.summary.issue_slots as f64));
    add("lanes per instruction", More, false, &|r| Some(r.summary.lanes_per_instruction));
    add("registers per thread", Neither, false, &|r| r.launch.registers.map(f64::from));
    add("shared memory per block", Neither, false, &|r| {
        Some(f64::from(r.launch.static_shared + r.launch.dynamic_shared))
    });
    add("occupancy", More, true, &|r| Some(r.occupancy.fraction));
    add("achieved occupancy", More, true, &|r| Some(r.summary.achieved_occupancy));
    add("device memory read (bytes)", Less, false, &|r| Some(r.memory.dram_read as f64));
    add("device memory written (bytes)", Less, false, &|r| Some(r.memory.dram_written as f64));
    add("device memory (GB/s)", More, false, &|r| Some(r.memory.dram_gbps));
    add("global bytes moved", Less, false, &|r| Some(r.memory.global_bytes_moved as f64));
    add("global bytes asked for", Neither, true, &|r| {
        let moved = r.memory.global_bytes_moved;
        (moved > 0).then(|| r.memory.global_bytes_used as f64 / moved as f64)
    });
    add("L1 hit rate", More, true, &|r| r.memory.l1.read_hit_rate());
    add("L2 hit rate", More, true, &|r| r.memory.l2.read_hit_rate());
    let shared = |r: &Report, f: &dyn Fn(&ptx_timing::report::MemoryLine) -> u64| {
        Some(r.lines.iter().filter_map(|l| l.memory.as_ref()).map(f).sum::<u64>() as f64)
    };
    add("bank conflicts (steps)", Less, false, &|r| shared(r, &|m| m.conflicts));
    add("divergent branches", Less, false, &|r| {
        Some(r.lines.iter().filter_map(|l| l.branch).map(|b| b.divergent).sum::<u64>() as f64)
    });
    add("single precision (GFLOP/s)", More, false, &|r| Some(r.summary.f32_gflops));
    add("double precision (GFLOP/s)", More, false, &|r| Some(r.summary.f64_gflops));
    out.retain(|c| c.before != Some(0.0) || c.after != Some(0.0));
    out
}

/// Relative change below which a number counts as unchanged.
const SAME: f64 = 0.005;

fn ratio(c: &Change) -> Option<f64> {
    let (b, a) = (c.before?, c.after?);
    (b != 0.0).then(|| a / b)
}

fn style(c: &Change) -> Style {
    match (ratio(c), c.better) {
        (None, _) | (_, Better::Neither) => Style::Plain,
        (Some(r), _) if (r - 1.0).abs() < SAME => Style::Dim,
        (Some(r), better) if (r < 1.0) == (better == Better::Less) => Style::Green,
        _ => Style::Red,
    }
}

/// The comparison as text.
pub fn text(comparison: &Comparison<'_>, paint: Paint) -> String {
    let mut out = String::new();
    for (before, after) in &comparison.pairs {
        let (b, a) = (&before.report, &after.report);
        let name = |r: &Report| format!("{} on {}", r.kernel, r.device.name);
        let heading =
            if name(b) == name(a) { name(b) } else { format!("{} -> {}", name(b), name(a)) };
        let factor = b.summary.microseconds / a.summary.microseconds;
        let verdict = match factor {
            f if (f - 1.0).abs() < SAME => "as fast as before".to_owned(),
            f if f > 1.0 => format!("{} times as fast", significant(f)),
            f => format!("{} times slower", significant(1.0 / f)),
        };
        out.push_str(&format!("{}: {verdict}\n\n", paint.bold(&heading)));
        let mut table = Table::new(&["", ">before", ">after", ">change"]);
        for change in changes(b, a) {
            let number = |x: Option<f64>| match x {
                None => "-".to_owned(),
                Some(x) if change.share => percent(x),
                Some(x) => significant(x),
            };
            let delta = match ratio(&change) {
                None => String::new(),
                Some(r) if (r - 1.0).abs() < SAME => "same".into(),
                Some(r) if r >= 2.0 => format!("x {}", significant(r)),
                Some(r) => format!("{:+.1} %", (r - 1.0) * 100.0),
            };
            table.row([
                change.name.as_str().into(),
                number(change.before).into(),
                number(change.after).into(),
                Cell::styled(delta, style(&change)),
            ]);
        }
        out.push_str(&table.render(paint));
        out.push_str(&format!(
            "\n  before: {}\n  after:  {}\n",
            b.limiter.sentence, a.limiter.sentence
        ));
        out.push_str(&lines_text(b, a, paint));
        out.push_str(&advice_text(before, after));
        out.push('\n');
    }
    for (names, side) in [(&comparison.only_before, "before"), (&comparison.only_after, "after")] {
        for name in names {
            out.push_str(&format!("{name}: only {side}\n"));
        }
    }
    out
}

/// Instructions whose share of the time changed most; by text, because lines move.
fn lines_text(before: &Report, after: &Report, paint: Paint) -> String {
    let clocks_by_text = |r: &Report| {
        let mut map: BTreeMap<String, u64> = BTreeMap::new();
        for line in &r.lines {
            *map.entry(one_line(line)).or_default() += clocks(line);
        }
        map
    };
    let (b, a) = (clocks_by_text(before), clocks_by_text(after));
    let mut all: Vec<(&str, u64, u64)> = b
        .iter()
        .map(|(text, n)| (text.as_str(), *n, a.get(text).copied().unwrap_or(0)))
        .chain(a.iter().filter(|(t, _)| !b.contains_key(*t)).map(|(t, n)| (t.as_str(), 0, *n)))
        .filter(|(_, b, a)| b != a)
        .collect();
    all.sort_by_key(|(text, b, a)| (std::cmp::Reverse(b.abs_diff(*a)), text.to_owned()));
    if all.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[">warp clocks", ">after", "instruction"]);
    for (text, b, a) in all.into_iter().take(10) {
        let style = if a < b { Style::Green } else { Style::Red };
        table.row([
            significant(b as f64).into(),
            Cell::styled(significant(a as f64), style),
            text.into(),
        ]);
    }
    format!("\n{}", table.render(paint))
}

fn advice_text(before: &ProfiledLaunch, after: &ProfiledLaunch) -> String {
    let names = |l: &ProfiledLaunch| l.advice.iter().map(|f| f.title.clone()).collect::<Vec<_>>();
    let (b, a) = (names(before), names(after));
    let only = |x: &[String], y: &[String]| {
        x.iter().filter(|n| !y.contains(n)).cloned().collect::<Vec<_>>().join(", ")
    };
    let mut out = String::new();
    for (what, names) in [("resolved", only(&b, &a)), ("new", only(&a, &b))] {
        if !names.is_empty() {
            out.push_str(&format!("\n  {what}: {names}\n"));
        }
    }
    out
}

/// The comparison as JSON.
pub fn json(comparison: &Comparison<'_>) -> Value {
    let pairs: Vec<Value> = comparison
        .pairs
        .iter()
        .map(|(before, after)| {
            let (b, a) = (&before.report, &after.report);
            let changes: serde_json::Map<String, Value> = changes(b, a)
                .into_iter()
                .map(|c| {
                    let value = json!({"before": c.before, "after": c.after, "ratio": ratio(&c)});
                    (c.name, value)
                })
                .collect();
            let kinds = |l: &ProfiledLaunch| l.advice.iter().map(|f| f.kind.name()).collect::<Vec<_>>();
            json!({
                "before": {"kernel": b.kernel, "device": b.device.name, "limiter": b.limiter.sentence, "advice": kinds(before)},
                "after": {"kernel": a.kernel, "device": a.device.name, "limiter": a.limiter.sentence, "advice": kinds(after)},
                "speedup": b.summary.microseconds / a.summary.microseconds,
                "changes": changes,
            })
        })
        .collect();
    json!({
        "ok": true,
        "launches": pairs,
        "only_before": comparison.only_before,
        "only_after": comparison.only_after,
    })
}
