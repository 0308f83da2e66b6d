//! `ptxrun profile`: the summary, the PTX lines and the source lines as text, and the whole as data.

use std::fmt::Write;

use ptx_timing::Report;
use ptx_timing::report::{Line, MemorySpace, RegistersFrom};
use serde::{Deserialize, Serialize};

use crate::advice::{Finding, clocks};
use crate::number::{bytes, count, extent, percent, plural, prefixed, significant, time};
use crate::source::{self, SourceLine, main_stall, one_line, short, total_clocks};
use crate::text::{Cell, Paint, Style, Table, bar, wrap};
use crate::{totals, warp};

/// One profiled launch: what `ptxrun profile --json` writes and `ptxrun compare` reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfiledLaunch {
    /// The PTX file.
    pub module: String,
    /// What the model found.
    pub report: Report,
    /// What can be changed.
    pub advice: Vec<Finding>,
    /// Source lines that `.loc` names.
    pub source: Vec<SourceLine>,
}

/// What `ptxrun profile --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Whether every launch was profiled.
    pub ok: bool,
    /// Launches in order.
    pub launches: Vec<ProfiledLaunch>,
}

/// Lines that are shown unless all are wanted.
const SHOWN: usize = 24;

/// What a text shows besides what it always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// Every line, not only those that take most time.
    pub all: bool,
    /// The warp that was followed.
    pub warp: bool,
}

/// One launch as text.
pub fn text(launch: &ProfiledLaunch, shown: Shown, paint: Paint) -> String {
    let Shown { all, warp } = shown;
    let report = &launch.report;
    let mut out = headline(report, paint);
    out.push_str(&summary(report, paint));
    let _ = writeln!(out, "\n{}", wrap(&limit_sentence(report), 96, "  ").trim_end());
    out.push_str(&totals::text(report, paint));
    out.push_str(&stall_table(report, paint));
    out.push_str(&line_table(report, all, paint));
    out.push_str(&source_table(&launch.source, report, all, paint));
    if warp {
        out.push_str(&warp::text(report, all, paint));
    }
    out.push_str(&advice(&launch.advice, paint));
    out
}

/// What limits the launch, and how sure the model is.
pub(crate) fn limit_sentence(report: &Report) -> String {
    let mut sentence = report.limiter.sentence.clone();
    if let Some(first) = sentence.get(..1) {
        sentence = first.to_uppercase() + &sentence[1..];
    }
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    if let Some(s) = &report.sampling {
        let _ = write!(
            sentence,
            " {} of {} blocks were simulated; the time is extrapolated, to within {}.",
            count(s.simulated),
            count(s.blocks),
            percent(s.relative_error)
        );
    }
    sentence
}

/// Launches on several devices as a table per kernel of a module. `refused` holds module, device and
/// why that device cannot run it.
pub fn devices_text(
    launches: &[ProfiledLaunch],
    refused: &[(String, String, String)],
    paint: Paint,
) -> String {
    let mut groups: Vec<(&str, &str, Vec<&ProfiledLaunch>)> = Vec::new();
    for launch in launches {
        let (module, kernel) = (launch.module.as_str(), launch.report.kernel.as_str());
        match groups.iter_mut().find(|g| g.0 == module && g.1 == kernel) {
            Some(group) => group.2.push(launch),
            None => groups.push((module, kernel, vec![launch])),
        }
    }
    let mut out = String::new();
    for (module, kernel, launches) in groups {
        let first = &launches[0].report;
        out.push_str(&format!(
            "{} ({module}), {} of {} threads\n",
            paint.bold(kernel),
            plural(first.launch.blocks, "block"),
            first.launch.threads_per_block
        ));
        let mut table = Table::new(&[
            "device",
            "cc",
            ">time",
            ">cycles",
            ">IPC",
            ">occupancy",
            ">GB/s",
            ">",
            ">GFLOP/s",
            ">",
            "limit",
        ]);
        for launch in launches {
            let r = &launch.report;
            let (s, d) = (&r.summary, &r.device);
            let (rate, peak) = match (s.f64_operations > s.f32_operations, d.peak_f64_gflops) {
                (true, Some(peak)) => (s.f64_gflops, peak),
                _ => (s.f32_gflops, d.peak_f32_gflops),
            };
            table.row([
                d.name.as_str().into(),
                d.compute_capability.as_str().into(),
                Cell::styled(time(s.microseconds), Style::Bold),
                count(s.elapsed_cycles).into(),
                significant(s.ipc).into(),
                percent(s.achieved_occupancy).into(),
                significant(r.memory.dram_gbps).into(),
                percent(r.memory.dram_share).into(),
                significant(rate).into(),
                percent(rate / peak).into(),
                r.limiter.sentence.as_str().into(),
            ]);
        }
        out.push_str(&table.render(paint));
        out.push('\n');
    }
    for (module, device, error) in refused {
        let _ = writeln!(out, "{module} on {device}: {error}");
    }
    out
}

fn headline(report: &Report, paint: Paint) -> String {
    let l = &report.launch;
    format!(
        "{} on {} (compute capability {}), {} of {} threads: {}\n\n",
        paint.bold(&report.kernel),
        paint.bold(&report.device.name),
        report.device.compute_capability,
        plural(l.blocks, "block"),
        l.threads_per_block,
        paint.bold(&time(report.summary.microseconds)),
    )
}

fn summary(report: &Report, paint: Paint) -> String {
    let (s, d, o, m) = (&report.summary, &report.device, &report.occupancy, &report.memory);
    let mut table = Table::new(&["", "", ""]);
    let mut row = |name: &str, value: String, note: String| {
        table.row([name.into(), Cell::styled(value, Style::Bold), note.into()]);
    };
    row(
        "time",
        time(s.microseconds),
        format!(
            "{} cycles at {} MHz, {} of them to start the kernel; a waiting host sees {} more",
            count(s.elapsed_cycles),
            significant(d.sm_mhz),
            count(s.elapsed_cycles.saturating_sub(s.cycles)),
            time(s.host_microseconds)
        ),
    );
    row(
        "grid",
        format!("{} blocks", extent(report.launch.grid)),
        format!(
            "of {} threads, {} waves{}",
            extent(report.launch.block),
            significant(s.waves),
            s.tail.map_or_else(String::new, |t| format!(", tail {}", percent(t)))
        ),
    );
    row(
        "instructions",
        format!("{} per clock and SM", significant(s.ipc)),
        format!(
            "{} warp instructions, {} issue slots, {} of 32 lanes active",
            count(s.warp_instructions),
            count(s.issue_slots),
            significant(s.lanes_per_instruction)
        ),
    );
    let registers = report.launch.registers.map_or_else(
        || "registers not counted".to_owned(),
        |n| match report.launch.registers_from {
            Some(RegistersFrom::Estimate) => format!("an estimated {n} registers per thread"),
            _ => format!("{n} registers per thread"),
        },
    );
    row(
        "occupancy",
        format!("{} achieved", percent(s.achieved_occupancy)),
        format!(
            "{} of {} warps fit ({}), limited by {}; {registers}",
            o.warps,
            o.max_warps,
            percent(o.fraction),
            o.limiters.join(" and ")
        ),
    );
    row(
        "memory",
        format!("{}B/s", prefixed(m.dram_gbps * 1e9)),
        format!(
            "[{}] {} of {}B/s; {} read, {} written",
            bar(m.dram_share, 20),
            percent(m.dram_share),
            prefixed(d.dram_gbps * 1e9),
            bytes(m.dram_read),
            bytes(m.dram_written)
        ),
    );
    if m.global_bytes_moved > 0 {
        row(
            "global access",
            percent(m.global_bytes_used as f64 / m.global_bytes_moved as f64),
            format!(
                "of {} moved by global transactions was asked for",
                bytes(m.global_bytes_moved)
            ),
        );
    }
    for (name, cache, unit) in totals::caches(report) {
        if let Some(rate) = cache.read_hit_rate() {
            row(
                name,
                format!("{} hits", percent(rate)),
                format!("of {} {unit} read", count(cache.read_hits + cache.read_misses)),
            );
        }
    }
    if s.tensor_operations > 0 {
        row(
            "tensor cores",
            format!("{}OP/s", prefixed(s.tensor_gflops * 1e9)),
            format!("{} operations of matrix products", count(s.tensor_operations)),
        );
    }
    for (name, operations, rate, peak) in [
        ("single precision", s.f32_operations, s.f32_gflops, Some(d.peak_f32_gflops)),
        ("double precision", s.f64_operations, s.f64_gflops, d.peak_f64_gflops),
    ] {
        let Some(peak) = peak.filter(|_| operations > 0) else { continue };
        row(
            name,
            format!("{}FLOP/s", prefixed(rate * 1e9)),
            format!(
                "[{}] {} of {}FLOP/s; {} operations",
                bar(rate / peak, 20),
                percent(rate / peak),
                prefixed(peak * 1e9),
                count(operations)
            ),
        );
    }
    table.render(paint)
}

fn stall_table(report: &Report, paint: Paint) -> String {
    let total = total_clocks(report);
    let mut reasons: Vec<_> = report.stalls.iter().collect();
    reasons.sort_by_key(|r| std::cmp::Reverse(r.1));
    if reasons.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["a warp's time", ">", ""]);
    let issuing = report.summary.issue_slots as f64 / total as f64;
    table.row(["issuing".into(), percent(issuing).into(), bar(issuing, 30).into()]);
    for (reason, n) in reasons {
        let share = *n as f64 / total as f64;
        table.row([reason.to_string().into(), percent(share).into(), bar(share, 30).into()]);
    }
    format!("\n{}", table.render(paint))
}

/// What a memory instruction cost, in a few words.
pub(crate) fn access(line: &Line, tesla_or_fermi: bool) -> String {
    let Some(m) = &line.memory else { return String::new() };
    let per = m.transactions_per_request.map(significant);
    let unit = if tesla_or_fermi { "transactions" } else { "sectors" };
    match (m.space, per) {
        (MemorySpace::Shared, _) => match m.conflict_ways {
            Some(ways) if m.conflicts > 0 => format!("{}-way conflict", significant(ways)),
            _ => "no conflict".into(),
        },
        (MemorySpace::Constant, Some(n)) => format!("{n} addresses"),
        (_, Some(n)) if tesla_or_fermi => match m.bytes_moved {
            0 => format!("{n} {unit}"),
            moved => format!("{n} {unit}, {} used", percent(m.bytes_used as f64 / moved as f64)),
        },
        (_, Some(n)) => match m.ideal_per_request.map(significant) {
            Some(ideal) if ideal != n => format!("{n} {unit}, ideal {ideal}"),
            _ => format!("{n} {unit}"),
        },
        (_, None) => String::new(),
    }
}

/// Whether global accesses are counted in transactions (1.x, 2.x) instead of sectors.
pub(crate) fn in_transactions(report: &Report) -> bool {
    report.device.compute_capability.starts_with(['1', '2'])
        && report.device.compute_capability.as_bytes().get(1) == Some(&b'.')
}

fn heat(share: f64) -> Style {
    match share {
        s if s >= 0.2 => Style::Red,
        s if s >= 0.05 => Style::Yellow,
        _ => Style::Plain,
    }
}

fn line_table(report: &Report, all: bool, paint: Paint) -> String {
    let total = total_clocks(report);
    let old = in_transactions(report);
    let mut shown: Vec<&Line> = report.lines.iter().filter(|l| all || l.issues > 0).collect();
    let executed = shown.len();
    if !all && executed > SHOWN {
        shown.sort_by_key(|l| std::cmp::Reverse(clocks(l)));
        shown.truncate(SHOWN);
        shown.sort_by_key(|l| l.ptx_line);
    }
    let mut table = Table::new(&[
        ">line",
        ">time",
        ">issued",
        ">slots",
        ">lanes",
        "waits for",
        "access",
        "instruction",
    ]);
    let mut function = None;
    let functions = report.lines.iter().any(|l| l.function != report.kernel);
    for line in &shown {
        if functions && function != Some(&line.function) {
            table.push(vec![
                Cell::default(),
                Cell::default(),
                Cell::default(),
                Cell::default(),
                Cell::default(),
                Cell::default(),
                Cell::default(),
                Cell::styled(format!("{}:", line.function), Style::Dim),
            ]);
            function = Some(&line.function);
        }
        let share = clocks(line) as f64 / total as f64;
        let waits = main_stall(&line.stalls, clocks(line))
            .map_or_else(String::new, |(reason, s)| format!("{} {}", short(reason), percent(s)));
        let mut cost = access(line, old);
        if let Some(b) = line.branch.filter(|b| b.divergent > 0) {
            cost = format!("{} diverge", percent(b.divergent as f64 / b.executed.max(1) as f64));
        }
        let text = match line.folded {
            true => Cell::styled(format!("{}  (folded away)", one_line(line)), Style::Dim),
            false => one_line(line).into(),
        };
        table.row([
            line.ptx_line.to_string().into(),
            Cell::styled(if line.folded { String::new() } else { percent(share) }, heat(share)),
            if line.folded { Cell::default() } else { count(line.issues).into() },
            if line.folded { Cell::default() } else { count(line.issue_slots).into() },
            line.lanes_per_issue.map_or_else(Cell::default, |n| significant(n).into()),
            waits.into(),
            cost.into(),
            text,
        ]);
    }
    let mut out = format!("\n{}", table.render(paint));
    if shown.len() < executed {
        let note = format!(
            "  the {} of {executed} executed lines that take most time; --all shows every one\n",
            shown.len()
        );
        out.push_str(&paint.dim(&note));
    }
    out
}

fn source_table(lines: &[SourceLine], report: &Report, all: bool, paint: Paint) -> String {
    let busy: Vec<&SourceLine> = lines.iter().filter(|l| l.issues > 0).collect();
    if busy.is_empty() {
        return String::new();
    }
    let total = total_clocks(report);
    let limit = if all { usize::MAX } else { SHOWN };
    let mut table =
        Table::new(&["source", ">time", ">issued", "waits for", ">transactions", ">conflicts", ""]);
    for line in busy.iter().take(limit) {
        let share = line.clocks as f64 / total as f64;
        let file = line.file.rsplit(['/', '\\']).next().unwrap_or(&line.file);
        let number = |n: u64| if n == 0 { String::new() } else { count(n) };
        table.row([
            format!("{file}:{}", line.line).into(),
            Cell::styled(percent(share), heat(share)),
            count(line.issues).into(),
            source::main_stall(&line.stalls, line.clocks)
                .map_or_else(String::new, |(reason, s)| format!("{} {}", short(reason), percent(s)))
                .into(),
            number(line.transactions).into(),
            number(line.conflicts).into(),
            Cell::styled(line.text.as_deref().unwrap_or("").trim(), Style::Dim),
        ]);
    }
    format!("\n{}", table.render(paint))
}

fn advice(findings: &[Finding], paint: Paint) -> String {
    let mut out = String::new();
    if findings.is_empty() {
        return "\n  advice: nothing that the guide has a remedy for\n".into();
    }
    for finding in findings {
        let lines = match &finding.ptx_lines[..] {
            [] => String::new(),
            lines => {
                let shown: Vec<String> = lines.iter().take(8).map(ToString::to_string).collect();
                let more = if lines.len() > 8 { ", ..." } else { "" };
                format!(
                    " (PTX {} {}{more})",
                    if lines.len() == 1 { "line" } else { "lines" },
                    shown.join(", ")
                )
            }
        };
        let _ = writeln!(
            out,
            "\n  {}{lines}, guide {}{}",
            paint.with(Style::Yellow, &finding.title),
            finding.section,
            Some(finding.gain())
                .filter(|g| !g.is_empty())
                .map_or_else(String::new, |g| format!(": {g}"))
        );
        out.push_str(&wrap(&finding.evidence, 96, "    "));
        out.push_str(&wrap(&finding.remedy, 96, "    "));
    }
    out
}
