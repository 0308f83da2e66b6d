//! Counts per line of the program that the PTX was compiled from.

use std::collections::BTreeMap;

use ptx_timing::Report;
use ptx_timing::report::{Line, Stall, Stalls};
use serde::{Deserialize, Serialize};

use crate::advice::clocks;

/// One source line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceLine {
    /// File, as the module names it.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Its text, where the file was found.
    pub text: Option<String>,
    /// Warp clocks of its instructions, issuing and waiting.
    pub clocks: u64,
    /// Warp instructions issued.
    pub issues: u64,
    /// PTX instructions that it became.
    pub instructions: u32,
    /// Stalls of these.
    pub stalls: Stalls,
    /// Global and local memory: transactions.
    pub transactions: u64,
    /// Shared memory: steps beyond a conflict-free access.
    pub conflicts: u64,
}

/// The lines that `.loc` names, those that take most time first. `lookup` gives the text of a line,
/// if the file is at hand.
pub fn lines(report: &Report, lookup: &dyn Fn(&str, u32) -> Option<String>) -> Vec<SourceLine> {
    let mut all: BTreeMap<(&str, u32), SourceLine> = BTreeMap::new();
    for line in &report.lines {
        let Some(place) = line.source.as_ref().filter(|p| p.line > 0) else { continue };
        let entry = all.entry((&place.file, place.line)).or_insert_with(|| SourceLine {
            file: place.file.clone(),
            line: place.line,
            text: lookup(&place.file, place.line),
            clocks: 0,
            issues: 0,
            instructions: 0,
            stalls: Stalls::new(),
            transactions: 0,
            conflicts: 0,
        });
        entry.clocks += clocks(line);
        entry.issues += line.issues;
        entry.instructions += 1;
        for (reason, n) in &line.stalls {
            *entry.stalls.entry(*reason).or_default() += n;
        }
        if let Some(memory) = &line.memory {
            entry.transactions += memory.transactions;
            entry.conflicts += memory.conflicts;
        }
    }
    let mut out: Vec<SourceLine> = all.into_values().collect();
    out.sort_by_key(|l| std::cmp::Reverse(l.clocks));
    out
}

/// The reason that most of the waiting has, and its share of `clocks`.
pub(crate) fn main_stall(stalls: &Stalls, clocks: u64) -> Option<(Stall, f64)> {
    let (reason, n) = stalls.iter().max_by_key(|s| s.1)?;
    let share = *n as f64 / clocks.max(1) as f64;
    (share >= 0.1).then_some((*reason, share))
}

/// A reason in one or two words.
pub(crate) fn short(stall: Stall) -> &'static str {
    match stall {
        Stall::Memory => "memory",
        Stall::Execution => "arithmetic",
        Stall::Pipe => "busy pipe",
        Stall::Barrier => "barrier",
        Stall::Control => "branch",
        Stall::NotSelected => "turn",
    }
}

/// All warp clocks of the report, issuing and waiting.
pub(crate) fn total_clocks(report: &Report) -> u64 {
    report.lines.iter().map(clocks).sum::<u64>().max(1)
}

/// An instruction's text on one line.
pub(crate) fn one_line(line: &Line) -> String {
    line.text.split_whitespace().collect::<Vec<_>>().join(" ")
}
