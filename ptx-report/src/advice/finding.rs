//! What the advisor says of one subject: the kind of finding, its evidence, remedy and weight.

use ptx_timing::Report;
use ptx_timing::report::{Line, SourcePlace, Stall};
use serde::{Deserialize, Serialize};

use crate::number::significant;

/// What can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A warp's global accesses take more transactions than their bytes need.
    UncoalescedAccess,
    /// Lanes of a warp meet in a shared-memory bank.
    BankConflicts,
    /// Lanes of a warp read different constants.
    DivergentConstant,
    /// Registers or arrays of a thread live in device memory.
    LocalMemory,
    /// Too few warps to hide latency.
    LowOccupancy,
    /// Fewer blocks than multiprocessors.
    FewBlocks,
    /// The block leaves lanes or register banks unused.
    BlockSize,
    /// Lanes of a warp take different paths.
    Divergence,
    /// A full 32-bit multiplication where 24 bits are four times faster, or the reverse.
    Mul24,
    /// Single-precision code computes in double precision because of a constant.
    DoubleConstant,
    /// An integer division by a power of two.
    PowerOfTwoDivision,
}

impl Kind {
    /// Name in JSON and tests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UncoalescedAccess => "uncoalesced-access",
            Self::BankConflicts => "bank-conflicts",
            Self::DivergentConstant => "divergent-constant",
            Self::LocalMemory => "local-memory",
            Self::LowOccupancy => "low-occupancy",
            Self::FewBlocks => "few-blocks",
            Self::BlockSize => "block-size",
            Self::Divergence => "divergence",
            Self::Mul24 => "mul24",
            Self::DoubleConstant => "double-constant",
            Self::PowerOfTwoDivision => "power-of-two-division",
        }
    }

    /// Section of the guide that gives the remedy.
    pub const fn section(self) -> &'static str {
        match self {
            Self::UncoalescedAccess => "3.1.2.1",
            Self::LocalMemory => "3.1.2.2",
            Self::DivergentConstant => "3.1.2.3",
            Self::BankConflicts => "3.1.2.5",
            Self::LowOccupancy | Self::FewBlocks | Self::BlockSize => "3.2",
            Self::Divergence => "3.1.1.2",
            Self::Mul24 | Self::DoubleConstant | Self::PowerOfTwoDivision => "3.1.1.1",
        }
    }

    /// Heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::UncoalescedAccess => "Uncoalesced global access",
            Self::BankConflicts => "Shared-memory bank conflicts",
            Self::DivergentConstant => "Different constants in a warp",
            Self::LocalMemory => "Local memory",
            Self::LowOccupancy => "Low occupancy",
            Self::FewBlocks => "Too few blocks",
            Self::BlockSize => "Block size",
            Self::Divergence => "Divergent warps",
            Self::Mul24 => "32-bit or 24-bit multiplication",
            Self::DoubleConstant => "Double-precision constant",
            Self::PowerOfTwoDivision => "Division by a power of two",
        }
    }
}

/// Something that a programmer can change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What.
    pub kind: Kind,
    /// Heading.
    pub title: String,
    /// What the report shows, with numbers.
    pub evidence: String,
    /// What the guide says to do.
    pub remedy: String,
    /// Section of the guide.
    pub section: String,
    /// Lines of the PTX text, those that cost most first; empty if it is about the launch.
    pub ptx_lines: Vec<u32>,
    /// Where the costliest of them comes from, if the module says so.
    #[serde(default)]
    pub source: Option<SourcePlace>,
    /// What it is worth: the share of the warps' time (waiting and issuing) that would go, or of the
    /// device that lies idle. An upper bound, to put findings in order.
    pub weight: f64,
}

impl Finding {
    pub(super) fn new(kind: Kind, evidence: String, remedy: impl Into<String>) -> Self {
        Self {
            kind,
            title: kind.title().to_owned(),
            evidence,
            remedy: remedy.into(),
            section: kind.section().to_owned(),
            ptx_lines: Vec::new(),
            source: None,
            weight: 0.0,
        }
    }

    /// How many times faster the launch would be at most without what it describes.
    pub fn speedup(&self) -> f64 {
        1.0 / (1.0 - self.weight).max(1e-3)
    }

    /// Of which speed-up and source line it is, for a heading: `up to 3.1 times faster, k.cl:7`.
    pub fn gain(&self) -> String {
        let place = self.source.as_ref().map(|s| format!("{}:{}", s.file, s.line));
        let gain = match self.speedup() {
            s if s >= 1.005 => Some(format!("up to {} times faster", significant(s))),
            _ => None,
        };
        gain.into_iter().chain(place).collect::<Vec<_>>().join(", ")
    }

    /// Says which lines it is about, all of whose time would go.
    pub(super) fn about(self, report: &Report, lines: &[&Line]) -> Self {
        let whole: Vec<_> = lines.iter().map(|l| (*l, 1.0)).collect();
        self.about_part(report, &whole)
    }

    /// Says which lines it is about, and what share of the time of each would go.
    pub(super) fn about_part(mut self, report: &Report, lines: &[(&Line, f64)]) -> Self {
        let costs = Costs::new(report);
        let gain = |(line, share): &(&Line, f64)| costs.of(line) * share;
        let mut lines = lines.to_vec();
        lines.sort_by(|a, b| gain(b).total_cmp(&gain(a)).then(a.0.ptx_line.cmp(&b.0.ptx_line)));
        self.ptx_lines = lines.iter().map(|l| l.0.ptx_line).collect();
        self.ptx_lines.dedup();
        self.source = lines.first().and_then(|l| l.0.source.clone());
        let all: u64 = report.lines.iter().map(clocks).sum();
        self.weight = (lines.iter().map(gain).sum::<f64>() / all.max(1) as f64).min(1.0);
        self
    }
}

/// What instructions cost warps. Waiting for memory is counted where a result is read; here it belongs
/// to the loads, by their latencies.
pub(super) struct Costs {
    waiting: f64,
    latencies: f64,
}

impl Costs {
    pub fn new(report: &Report) -> Self {
        let waiting = |l: &Line| l.stalls.get(&Stall::Memory).copied().unwrap_or(0);
        Self {
            waiting: report.lines.iter().map(waiting).sum::<u64>() as f64,
            latencies: report.lines.iter().map(latency).sum(),
        }
    }

    /// Warp clocks that a line costs.
    pub fn of(&self, line: &Line) -> f64 {
        let waits = line.stalls.get(&Stall::Memory).copied().unwrap_or(0);
        let own = clocks(line).saturating_sub(waits) as f64;
        if self.latencies == 0.0 {
            return own;
        }
        own + self.waiting * latency(line) / self.latencies
    }
}

/// Clocks from issue to result of all accesses of a line together.
fn latency(line: &Line) -> f64 {
    line.memory.as_ref().map_or(0.0, |m| m.latency.unwrap_or(0.0) * m.requests as f64)
}

/// Warp clocks that an instruction took: its issue slots and the waiting before them.
pub(crate) fn clocks(line: &Line) -> u64 {
    line.issue_slots + line.stalls.values().sum::<u64>()
}

/// Major and minor number of the report's device.
pub(super) fn capability(report: &Report) -> (u32, u32) {
    let parts = report.device.compute_capability.split_once('.');
    parts.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))).unwrap_or((0, 0))
}

/// `3 lines` or `line 17`.
pub(super) fn places(lines: &[&Line]) -> String {
    match lines {
        [one] => format!("line {}", one.ptx_line),
        many => format!("{} lines", many.len()),
    }
}
