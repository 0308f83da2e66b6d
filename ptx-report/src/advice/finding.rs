//! What the advisor says of one subject: the kind of finding, its evidence, remedy and weight.

use ptx_timing::Report;
use serde::{Deserialize, Serialize};

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
    /// What it is worth: share of the warps' time (waiting and issuing) that these lines take, or
    /// of the device that lies idle. An upper bound, to put findings in order.
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
            weight: 0.0,
        }
    }

    pub(super) fn about(mut self, report: &Report, lines: &[&ptx_timing::report::Line]) -> Self {
        let mut lines = lines.to_vec();
        lines.sort_by_key(|l| (std::cmp::Reverse(clocks(l)), l.ptx_line));
        self.ptx_lines = lines.iter().map(|l| l.ptx_line).collect();
        self.ptx_lines.dedup();
        let all: u64 = report.lines.iter().map(clocks).sum();
        let these: u64 = lines.iter().map(|l| clocks(l)).sum();
        self.weight = these as f64 / all.max(1) as f64;
        self
    }
}

/// Warp clocks that an instruction took: its issue slots and the waiting before them.
pub(crate) fn clocks(line: &ptx_timing::report::Line) -> u64 {
    line.issue_slots + line.stalls.values().sum::<u64>()
}

/// Major and minor number of the report's device.
pub(super) fn capability(report: &Report) -> (u32, u32) {
    let parts = report.device.compute_capability.split_once('.');
    parts.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))).unwrap_or((0, 0))
}

/// `3 lines` or `line 17`.
pub(super) fn places(lines: &[&ptx_timing::report::Line]) -> String {
    match lines {
        [one] => format!("line {}", one.ptx_line),
        many => format!("{} lines", many.len()),
    }
}
