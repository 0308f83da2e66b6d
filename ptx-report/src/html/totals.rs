//! What moved between the levels of memory, and which instructions were issued.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptx_timing::Report;
use ptx_timing::report::CacheInfo;

use super::svg::escape;
use crate::number::{bytes, count, percent, prefixed};

/// Classes of instructions that are shown.
const CLASSES: usize = 8;

/// Both sections, side by side.
pub(super) fn draw(report: &Report) -> String {
    format!("<div class=\"two\">{}{}</div>", memory(report), mix(report))
}

/// The levels from an SM to device memory, with what each was asked for.
fn memory(report: &Report) -> String {
    let (m, d) = (&report.memory, &report.device);
    let mut out = String::from(
        "<section><h2>Memory, level by level</h2><p class=\"note\">Sectors that each level was asked for, and what it had. What L1 lacks goes to L2, what L2 lacks to device memory.</p><ul class=\"levels\">",
    );
    let mut level = |name: &str, lines: &[String]| {
        let lines: String = lines.iter().map(|l| format!("<span>{}</span>", escape(l))).collect();
        let _ = write!(out, "<li><b>{}</b>{lines}</li>", escape(name));
    };
    level(
        "SMs",
        &[format!(
            "{} asked for in global memory, {} moved",
            bytes(m.global_bytes_used),
            bytes(m.global_bytes_moved)
        )],
    );
    level("L1", &cache(&m.l1));
    if d.l2_bytes.is_some() {
        level("L2", &cache(&m.l2));
    }
    level(
        "Device memory",
        &[
            format!("{} read, {} written", bytes(m.dram_read), bytes(m.dram_written)),
            format!("{} of {}B/s", percent(m.dram_share), prefixed(d.dram_gbps * 1e9)),
        ],
    );
    out.push_str("</ul></section>");
    out
}

/// What a cache was asked for, by operation, and how often it had it.
fn cache(info: &CacheInfo) -> Vec<String> {
    let line = |what: &str, hits: u64, misses: u64| match hits + misses {
        0 => None,
        all => {
            let share = percent(hits as f64 / all as f64);
            Some(format!("{} sectors {what}, {share} of them hits", count(all)))
        }
    };
    let mut lines: Vec<String> = [
        line("read", info.read_hits, info.read_misses),
        line("written", info.write_hits, info.write_misses),
    ]
    .into_iter()
    .flatten()
    .collect();
    if info.written_back > 0 {
        lines.push(format!("{} sectors written back", count(info.written_back)));
    }
    if lines.is_empty() {
        lines.push("not used".to_owned());
    }
    lines
}

/// The classes of instructions that most of the issue slots went to.
fn mix(report: &Report) -> String {
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for line in report.lines.iter().filter(|l| l.issue_slots > 0) {
        *classes.entry(&line.class).or_default() += line.issue_slots;
    }
    let all: u64 = classes.values().sum();
    let mut classes: Vec<(&str, u64)> = classes.into_iter().collect();
    classes.sort_by_key(|(name, slots)| (std::cmp::Reverse(*slots), *name));
    let rest: u64 = classes.iter().skip(CLASSES).map(|c| c.1).sum();
    classes.truncate(CLASSES);
    if rest > 0 {
        classes.push(("all others", rest));
    }
    let mut out = format!(
        "<section><h2>Instruction mix</h2><p class=\"note\">{} issue slots of the simulated blocks, by timing class.</p><div class=\"bars\">",
        count(all)
    );
    for (name, slots) in classes {
        let share = slots as f64 / all.max(1) as f64;
        let _ = write!(
            out,
            "<span>{}</span><div class=\"meter\"><i style=\"width:{:.1}%\"></i></div><b>{}</b>",
            escape(name),
            share * 100.0,
            percent(share)
        );
    }
    out.push_str("</div></section>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_tells_what_it_was_asked_for() {
        let info =
            CacheInfo { read_hits: 1, read_misses: 3, written_back: 2, ..CacheInfo::default() };
        assert_eq!(cache(&info), ["4 sectors read, 25.0 % of them hits", "2 sectors written back"]);
        assert_eq!(cache(&CacheInfo::default()), ["not used"]);
    }
}
