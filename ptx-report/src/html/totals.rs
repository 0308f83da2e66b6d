//! What moved between the levels of memory, what the schedulers did, which instructions were issued, and the launch.

use std::fmt::Write;

use ptx_timing::Report;

use super::svg::escape;
use crate::number::{bytes, count, percent, prefixed};
use crate::totals::{
    OPERATIONS, OPERATIONS_NOTE, Share, cache, caches, launch, mix, no_eligible, operations,
    scheduler,
};

/// The sections, two in a row.
pub(super) fn draw(report: &Report) -> String {
    let slots: u64 = report.lines.iter().map(|l| l.issue_slots).sum();
    let mixed = format!("{} issue slots, by timing class.", count(slots));
    let mix = mix(report).into_iter().map(|(name, _, share)| (name, percent(share), share));
    format!(
        "<div class=\"two\"><div>{}{}</div><div>{}{}</div></div>{}",
        memory(report),
        section(
            "Schedulers",
            &format!("Warps of one scheduler in a clock, on average. {}", no_eligible(report)),
            scheduler(report)
        ),
        section("Instruction mix", &mixed, mix),
        launch_section(report),
        operations_section(report),
    )
}

/// A section of bars.
fn section(title: &str, note: &str, rows: impl IntoIterator<Item = Share>) -> String {
    let note = escape(note);
    format!("<section><h2>{title}</h2><p class=\"note\">{note}</p>{}</section>", bars(rows))
}

/// Rows with a bar each.
pub(super) fn bars(rows: impl IntoIterator<Item = Share>) -> String {
    let mut out = String::from("<div class=\"bars\">");
    for (name, number, share) in rows {
        let _ = write!(
            out,
            "<span>{}</span><div class=\"meter\"><i style=\"width:{:.1}%\"></i></div><b>{}</b>",
            escape(&name),
            share.clamp(0.0, 1.0) * 100.0,
            escape(&number)
        );
    }
    out.push_str("</div>");
    out
}

/// The levels from an SM to device memory, with what each was asked for.
fn memory(report: &Report) -> String {
    let (m, d) = (&report.memory, &report.device);
    let mut out = String::from(
        "<section><h2>Memory, level by level</h2><p class=\"note\">What each level was asked for, and what it had. What L1 lacks goes to L2, what L2 lacks to device memory.</p><ul class=\"levels\">",
    );
    let mut level = |name: &str, lines: &[String]| {
        let lines: String = lines.iter().map(|l| format!("<span>{}</span>", escape(l))).collect();
        let _ = write!(out, "<li><b>{}</b>{lines}</li>", escape(name));
    };
    let mut sms = vec![format!(
        "{} asked for in global memory, {} moved",
        bytes(m.global_bytes_used),
        bytes(m.global_bytes_moved)
    )];
    let (steps, conflicts) = report
        .operations
        .iter()
        .fold((0, 0), |(steps, conflicts), o| (steps + o.wavefronts, conflicts + o.conflicts));
    if steps > 0 {
        let (steps, conflicts) = (count(steps), count(conflicts));
        sms.push(format!("{steps} steps in shared memory, {conflicts} of them conflicts"));
    }
    level("SMs", &sms);
    for (name, info, unit) in caches(report) {
        let mut lines = cache(info, unit);
        match name {
            "L1" | "L2" if lines.is_empty() => lines.push("not used".to_owned()),
            _ => {}
        }
        if !lines.is_empty() && (name != "L2" || d.l2_bytes.is_some()) {
            level(name, &lines);
        }
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

fn launch_section(report: &Report) -> String {
    let mut out = String::from("<section><h2>Launch</h2><table class=\"plain\">");
    for (name, value) in launch(report) {
        let _ = write!(out, "<tr><td>{name}</td><td class=\"wrap\">{}</td></tr>", escape(&value));
    }
    out.push_str("</table></section>");
    out
}

fn operations_section(report: &Report) -> String {
    let rows = operations(report);
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<section><h2>Memory by operation</h2><p class=\"note\">{}</p><div class=\"scroll whole\"><table><tr>",
        escape(OPERATIONS_NOTE)
    );
    let class = |heading: &str| if heading.starts_with('>') { " class=\"n\"" } else { "" };
    for heading in OPERATIONS {
        let _ = write!(out, "<th{}>{}</th>", class(heading), heading.trim_start_matches('>'));
    }
    for row in rows {
        out.push_str("</tr><tr>");
        for (heading, cell) in OPERATIONS.iter().zip(row) {
            let _ = write!(out, "<td{}>{}</td>", class(heading), escape(&cell));
        }
    }
    out.push_str("</tr></table></div></section>");
    out
}
