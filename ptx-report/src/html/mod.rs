//! `ptxrun profile --html`: one self-contained page. Style, script and pictures are inside it; it
//! loads nothing.

mod activity;
mod curve;
mod pattern;
mod roofline;
mod svg;
mod table;
mod timeline;
mod totals;
mod warp;

use std::fmt::Write;

use ptx_timing::Report;

use crate::advice::Finding;
use crate::number::{bytes, count, extent, percent, plural, prefixed, significant, time};
use crate::profile::{ProfiledLaunch, limit_sentence};
use crate::source::{short, total_clocks};
use crate::totals::units;
use svg::escape;

/// Bytes that a page should not exceed; launches beyond it are shown without pictures and lines.
const MOST_BYTES: usize = 1_900_000;

/// The page.
pub fn page(launches: &[ProfiledLaunch]) -> String {
    let title = match launches {
        [] => "ptxrun profile".to_owned(),
        [one] => format!("{} on {}", one.report.kernel, one.report.device.name),
        many => format!("{} launches on {}", many.len(), many[0].report.device.name),
    };
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{}</title><style>{}</style></head><body><main>",
        escape(&title),
        include_str!("style.css"),
    );
    for (i, launch) in launches.iter().enumerate() {
        let whole = article(launch, i, launches);
        if out.len() + whole.len() < MOST_BYTES {
            out.push_str(&whole);
        } else {
            out.push_str(&short_article(launch, i, launches));
        }
    }
    let _ = write!(
        out,
        "<footer>Simulated by ptxrun {} from the PTX text; no GPU was involved. A warp's time is counted in warp clocks: the clocks in which it issued, and those in which it waited before.</footer></main><script>{}</script></body></html>",
        env!("CARGO_PKG_VERSION"),
        include_str!("script.js"),
    );
    out
}

fn article(launch: &ProfiledLaunch, index: usize, all: &[ProfiledLaunch]) -> String {
    let report = &launch.report;
    let mut out = head(launch, index, all);
    out.push_str(&cards(report));
    let (roof, note) = roofline::draw(report);
    let _ = write!(
        out,
        "<div class=\"two\"><section><h2>Roofline</h2><p class=\"note\">{}</p>{roof}</section><div>{}{}</div></div>",
        escape(&note),
        time_section(report),
        units_section(report)
    );
    out.push_str(&totals::draw(report));
    out.push_str(&advice(&launch.advice, index));
    if let Some((picture, note)) = activity::draw(report) {
        let _ = write!(
            out,
            "<section><h2>Activity over time</h2><p class=\"note\">{}</p>{picture}</section>",
            escape(&note)
        );
    }
    if let Some((picture, note)) = timeline::draw(report) {
        let _ = write!(
            out,
            "<section><h2>Timeline of one SM</h2><p class=\"note\">{}</p>{picture}<p></p>{}</section>",
            escape(&note),
            legend()
        );
    }
    out.push_str(&warp::draw(report));
    let pictures = pattern::draw(report);
    if !pictures.is_empty() {
        let _ = write!(
            out,
            "<section><h2>Access patterns</h2><p class=\"note\">The memory instructions that waste most.</p><div class=\"pictures\">{pictures}</div></section>"
        );
    }
    out.push_str(&occupancy(report));
    out.push_str(&table::lines(report, index));
    out.push_str(&table::source(&launch.source, report));
    out.push_str("</article>");
    out
}

fn short_article(launch: &ProfiledLaunch, index: usize, all: &[ProfiledLaunch]) -> String {
    let mut out = head(launch, index, all);
    out.push_str(&cards(&launch.report));
    out.push_str(&advice(&launch.advice, index));
    out.push_str("<p class=\"note\">Left out, to keep the page small: pictures and lines of this launch. Profile it alone to see them.</p></article>");
    out
}

fn head(launch: &ProfiledLaunch, index: usize, all: &[ProfiledLaunch]) -> String {
    let report = &launch.report;
    let l = &report.launch;
    let mut out = format!("<article id=\"l{index}\"><header class=\"top\"><div>");
    let _ = write!(
        out,
        "<h1>{}</h1><p class=\"sub\">{} &middot; compute capability {} &middot; grid {} of {} threads &middot; {}</p></div>",
        escape(&report.kernel),
        escape(&report.device.name),
        escape(&report.device.compute_capability),
        extent(l.grid),
        extent(l.block),
        escape(&launch.module),
    );
    if index == 0 {
        out.push_str("<button id=\"theme\" type=\"button\">light / dark</button>");
    }
    out.push_str("</header>");
    if index == 0 && all.len() > 1 {
        out.push_str("<nav>");
        for (i, other) in all.iter().enumerate() {
            let r = &other.report;
            let _ = write!(
                out,
                "<a href=\"#l{i}\">{}. {} {}</a>",
                i + 1,
                escape(&r.kernel),
                time(r.summary.microseconds)
            );
        }
        out.push_str("</nav>");
    }
    let _ = write!(out, "<p class=\"limit\">{}</p>", escape(&limit_sentence(report)));
    out
}

fn card(out: &mut String, name: &str, value: &str, share: Option<f64>, note: &str) {
    let meter = share.map_or_else(String::new, |s| {
        format!(
            "<div class=\"meter\"><i style=\"width:{:.1}%\"></i></div>",
            s.clamp(0.0, 1.0) * 100.0
        )
    });
    let _ = write!(
        out,
        "<div class=\"card\"><span>{}</span><b>{}</b>{meter}<small>{}</small></div>",
        escape(name),
        escape(value),
        escape(note)
    );
}

fn cards(report: &Report) -> String {
    let (s, d, o, m) = (&report.summary, &report.device, &report.occupancy, &report.memory);
    let mut out = String::new();
    card(
        &mut out,
        "Time",
        &time(s.microseconds),
        None,
        &format!("{} cycles at {} MHz", count(s.elapsed_cycles), significant(d.sm_mhz)),
    );
    card(
        &mut out,
        "Instructions per clock and SM",
        &significant(s.ipc),
        None,
        &format!(
            "{} warp instructions, {} of 32 lanes",
            prefixed(s.warp_instructions as f64).trim_end(),
            significant(s.lanes_per_instruction)
        ),
    );
    card(
        &mut out,
        "Occupancy",
        &percent(s.achieved_occupancy),
        Some(s.achieved_occupancy),
        &format!("{} of {} warps fit; {} waves", o.warps, o.max_warps, significant(s.waves)),
    );
    card(
        &mut out,
        "Device memory",
        &format!("{}B/s", prefixed(m.dram_gbps * 1e9)),
        Some(m.dram_share),
        &format!("{} of {}B/s", percent(m.dram_share), prefixed(d.dram_gbps * 1e9)),
    );
    if s.tensor_operations > 0 {
        let busy = report.pipes.iter().find(|pipe| pipe.name == "tensor").map(|pipe| pipe.busy);
        let note = busy.map_or_else(String::new, |b| format!("its pipe is {} busy", percent(b)));
        let rate = format!("{}OP/s", prefixed(s.tensor_gflops * 1e9));
        card(&mut out, "Tensor cores", &rate, busy, &note);
    }
    for (name, operations, rate, peak) in [
        ("Single precision", s.f32_operations, s.f32_gflops, Some(d.peak_f32_gflops)),
        ("Double precision", s.f64_operations, s.f64_gflops, d.peak_f64_gflops),
    ] {
        let Some(peak) = peak.filter(|_| operations > 0) else { continue };
        card(
            &mut out,
            name,
            &format!("{}FLOP/s", prefixed(rate * 1e9)),
            Some(rate / peak),
            &format!("{} of {}FLOP/s", percent(rate / peak), prefixed(peak * 1e9)),
        );
    }
    if m.global_bytes_moved > 0 {
        let used = m.global_bytes_used as f64 / m.global_bytes_moved as f64;
        card(
            &mut out,
            "Global bytes asked for",
            &percent(used),
            Some(used),
            &format!("of {} moved by transactions", bytes(m.global_bytes_moved)),
        );
    }
    if let Some(rate) = m.l2.read_hit_rate() {
        let l1 = m.l1.read_hit_rate().map_or_else(String::new, |r| format!("; L1 {}", percent(r)));
        card(&mut out, "L2 hits", &percent(rate), Some(rate), &format!("of sectors read{l1}"));
    }
    // One row, or two of about the same length.
    let cards = out.matches("<div class=\"card\">").count();
    let columns = if cards > 6 { cards.div_ceil(2) } else { cards };
    format!("<div class=\"cards\" style=\"--columns:{columns}\">{out}</div>")
}

/// What the clocks of warps go into.
fn time_section(report: &Report) -> String {
    let total = total_clocks(report) as f64;
    let mut parts: Vec<(&str, String, f64)> = vec![(
        "issue",
        "issuing".to_owned(),
        report.lines.iter().map(|l| l.issue_slots).sum::<u64>() as f64 / total,
    )];
    let mut stalls: Vec<_> = report.stalls.iter().collect();
    stalls.sort_by_key(|s| std::cmp::Reverse(s.1));
    parts.extend(stalls.into_iter().map(|(s, n)| (s.name(), s.to_string(), *n as f64 / total)));
    let mut out = String::from(
        "<section><h2>Where a warp's time goes</h2><p class=\"note\">All warps of the simulated blocks, from start to end.</p><div class=\"stack\">",
    );
    for (class, name, share) in &parts {
        let _ = write!(
            out,
            "<i class=\"bg-{class}\" style=\"width:{:.2}%\" title=\"{} {}\"></i>",
            share * 100.0,
            escape(name),
            percent(*share)
        );
    }
    out.push_str("</div><ul class=\"legend rows\">");
    for (class, name, share) in &parts {
        let _ = write!(
            out,
            "<li><span class=\"key bg-{class}\"></span>{}<b>{}</b></li>",
            escape(name),
            percent(*share)
        );
    }
    out.push_str("</ul>");
    out.push_str("</section>");
    out
}

/// How much of what can be saturated is in use.
fn units_section(report: &Report) -> String {
    let units = units(report).map(|unit| (unit.name.clone(), percent(unit.share), unit.share));
    format!(
        "<section><h2>Speed of light</h2><p class=\"note\">Share in use of what can be saturated; of device memory, of what a perfectly coalesced stream reaches.</p>{}</section>",
        totals::bars(units)
    )
}

fn legend() -> String {
    let mut out =
        String::from("<ul class=\"legend\"><li><span class=\"key bg-issue\"></span>issuing</li>");
    for stall in ptx_timing::report::Stall::ALL {
        let _ = write!(
            out,
            "<li><span class=\"key bg-{}\"></span>{}</li>",
            stall.name(),
            escape(&stall.to_string())
        );
    }
    out.push_str("</ul>");
    out
}

fn advice(findings: &[Finding], index: usize) -> String {
    let mut out = String::from("<section><h2>What to change</h2>");
    if findings.is_empty() {
        out.push_str("<p class=\"note\">Nothing that the guide has a remedy for.</p></section>");
        return out;
    }
    out.push_str("<p class=\"note\">Remedies of NVIDIA's OpenCL Programming Guide 2.3, by section.</p><div class=\"advice\">");
    for finding in findings {
        let lines: Vec<String> = finding
            .ptx_lines
            .iter()
            .take(6)
            .map(|n| format!("<a href=\"#l{index}p{n}\">{n}</a>"))
            .collect();
        let more = if finding.ptx_lines.len() > 6 { ", ..." } else { "" };
        let lines = match lines.len() {
            0 => String::new(),
            1 => format!(" PTX line {}.", lines[0]),
            _ => format!(" PTX lines {}{more}.", lines.join(", ")),
        };
        let _ = write!(
            out,
            "<div><h3>{}<span>guide {}</span><span>{}</span></h3><p>{}{lines}</p><p class=\"do\">{}</p></div>",
            escape(&finding.title),
            escape(&finding.section),
            escape(&finding.gain()),
            escape(&finding.evidence),
            escape(&finding.remedy)
        );
    }
    out.push_str("</div></section>");
    out
}

fn occupancy(report: &Report) -> String {
    let o = &report.occupancy;
    let mut out = format!(
        "<div class=\"two\"><section><h2>Occupancy over block sizes</h2><p class=\"note\">Warps that an SM holds, with the same registers per thread and shared memory per block.</p>{}</section><section><h2>What limits it</h2><p class=\"note\">{} of {} threads fit on an SM: {} of {} warps.</p><table class=\"plain\"><tr><th>limit</th><th class=\"n\">blocks per SM</th></tr>",
        curve::draw(report),
        plural(o.blocks.into(), "block"),
        report.launch.threads_per_block,
        o.warps,
        o.max_warps
    );
    for (limit, blocks) in &o.blocks_by {
        let decides = o.limiters.contains(limit);
        let blocks = blocks.map_or_else(|| "no limit".to_owned(), |n| n.to_string());
        let class = if decides { " class=\"flag\"" } else { "" };
        let _ =
            write!(out, "<tr><td{class}>{}</td><td class=\"n\">{blocks}</td></tr>", escape(limit));
    }
    let registers = match report.launch.registers {
        Some(n) => format!("{n} per thread, {} per block", count(o.registers_per_block)),
        None => "not counted".to_owned(),
    };
    let _ = write!(
        out,
        "</table><p class=\"note\" style=\"margin-top:14px\">Registers: {registers}. Shared memory: {} static, {} dynamic, {} as allocated.</p></section></div>",
        bytes(report.launch.static_shared.into()),
        bytes(report.launch.dynamic_shared.into()),
        bytes(o.shared_per_block)
    );
    out
}

/// A bar of stalls: issuing, then each reason.
fn mini(slots: u64, stalls: &ptx_timing::report::Stalls) -> String {
    let all = (slots + stalls.values().sum::<u64>()).max(1) as f64;
    let mut out = String::from("<div class=\"mini\"");
    if let Some((reason, share)) = crate::source::main_stall(stalls, all as u64) {
        let _ = write!(out, " title=\"{} {}\"", short(reason), percent(share));
    }
    out.push('>');
    let mut part = |class: &str, n: u64| {
        let share = n as f64 / all * 100.0;
        if share >= 1.0 {
            let _ = write!(out, "<i class=\"bg-{class}\" style=\"width:{share:.0}%\"></i>");
        }
    };
    part("issue", slots);
    for (reason, n) in stalls {
        part(reason.name(), *n);
    }
    out.push_str("</div>");
    out
}
