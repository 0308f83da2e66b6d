//! The PTX lines and the source lines.

use std::fmt::Write;

use ptx_timing::Report;
use ptx_timing::report::Line;

use super::mini;
use super::svg::escape;
use crate::advice::clocks;
use crate::number::{count, percent, significant};
use crate::profile::{access, in_transactions};
use crate::source::{SourceLine, one_line, total_clocks};

/// Lines of a table; beyond it those that take least time are left out.
const ROWS: usize = 800;

fn heat(share: f64, largest: f64) -> String {
    format!(
        "<span class=\"heat\"><i style=\"width:{:.0}%\"></i></span>{}",
        share / largest.max(1e-9) * 100.0,
        percent(share)
    )
}

/// The PTX lines.
pub(super) fn lines(report: &Report, index: usize) -> String {
    let total = total_clocks(report) as f64;
    let old = in_transactions(report);
    let mut shown: Vec<&Line> = report.lines.iter().collect();
    let all = shown.len();
    if all > ROWS {
        shown.sort_by_key(|l| std::cmp::Reverse(clocks(l)));
        shown.truncate(ROWS);
        shown.sort_by_key(|l| l.ptx_line);
    }
    let largest = report.lines.iter().map(clocks).max().unwrap_or(1) as f64 / total;
    let left_out = match all - shown.len() {
        0 => String::new(),
        n => format!(" {n} lines that take next to no time are left out."),
    };
    let mut out = format!(
        "<section><h2>PTX, line by line</h2><p class=\"note\">Time is the share of all warp clocks, waiting before the instruction included. Grey lines were not executed, or the assembler folds them into others.{left_out}</p><div class=\"scroll\"><table><tr><th class=\"n\">line</th><th>time</th><th class=\"n\">issued</th><th class=\"n\">slots</th><th class=\"n\">lanes</th><th>waits for</th><th>access</th><th>instruction</th></tr>"
    );
    let functions = report.lines.iter().any(|l| l.function != report.kernel);
    let mut function = None;
    let mut last_line = 0;
    for line in shown {
        if functions && function != Some(&line.function) {
            let _ = write!(
                out,
                "<tr class=\"fn\"><td colspan=\"7\"></td><td class=\"ptx\">{}</td></tr>",
                escape(&line.function)
            );
            function = Some(&line.function);
        }
        // Two instructions may share a line; the first one is the link's target.
        let id = match line.ptx_line == last_line {
            true => String::new(),
            false => format!(" id=\"l{index}p{}\"", line.ptx_line),
        };
        last_line = line.ptx_line;
        let off = line.issues == 0;
        let class = if off { " class=\"off\"" } else { "" };
        let _ = write!(out, "<tr{id}{class}><td class=\"n\">{}</td>", line.ptx_line);
        if off {
            out.push_str("<td></td><td></td><td></td><td></td><td></td><td></td>");
        } else {
            let mut cost = escape(&access(line, old));
            if line.memory.as_ref().is_some_and(|m| m.conflicts > 0) {
                cost = format!("<span class=\"flag\">{cost}</span>");
            }
            if let Some(b) = line.branch.filter(|b| b.divergent > 0) {
                cost = format!(
                    "<span class=\"flag\">{} diverge</span>",
                    percent(b.divergent as f64 / b.executed.max(1) as f64)
                );
            }
            let _ = write!(
                out,
                "<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{cost}</td>",
                heat(clocks(line) as f64 / total, largest),
                count(line.issues),
                count(line.issue_slots),
                line.lanes_per_issue.map_or_else(String::new, significant),
                mini(line.issue_slots, &line.stalls),
            );
        }
        let _ = write!(out, "<td class=\"ptx\">{}</td></tr>", escape(&one_line(line)));
    }
    out.push_str("</table></div></section>");
    out
}

/// The source lines; nothing without `.loc`.
pub(super) fn source(lines: &[SourceLine], report: &Report) -> String {
    let mut busy: Vec<&SourceLine> = lines.iter().filter(|l| l.issues > 0).take(ROWS).collect();
    if busy.is_empty() {
        return String::new();
    }
    let total = total_clocks(report) as f64;
    let largest = busy.iter().map(|l| l.clocks).max().unwrap_or(1) as f64 / total;
    busy.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    let mut out = String::from(
        "<section><h2>Source, line by line</h2><p class=\"note\">As the module's .loc directives say.</p><div class=\"scroll\"><table class=\"source\"><tr><th class=\"n\">line</th><th>time</th><th class=\"n\">issued</th><th class=\"n\">PTX</th><th>waits for</th><th class=\"n\">transactions</th><th class=\"n\">conflicts</th><th>text</th></tr>",
    );
    let mut file = None;
    let number = |n: u64| if n == 0 { String::new() } else { count(n) };
    for line in busy {
        if file != Some(&line.file) {
            let _ = write!(
                out,
                "<tr class=\"fn\"><td colspan=\"7\"></td><td class=\"ptx\">{}</td></tr>",
                escape(&line.file)
            );
            file = Some(&line.file);
        }
        let issued: u64 = line.clocks - line.stalls.values().sum::<u64>().min(line.clocks);
        let _ = write!(
            out,
            "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"ptx\">{}</td></tr>",
            line.line,
            heat(line.clocks as f64 / total, largest),
            count(line.issues),
            line.instructions,
            mini(issued, &line.stalls),
            number(line.transactions),
            number(line.conflicts),
            escape(line.text.as_deref().unwrap_or("")),
        );
    }
    out.push_str("</table></div></section>");
    out
}
