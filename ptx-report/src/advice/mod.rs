//! The advisor: what a report shows that a programmer can change, with the remedy and the section
//! of NVIDIA's OpenCL Programming Guide 2.3, chapter 3, that gives it.

mod arithmetic;
mod control;
mod dataflow;
mod finding;
mod launch;
mod memory;

use ptx_timing::Report;

pub(crate) use finding::clocks;
pub use finding::{Finding, Kind};

/// Everything that is found, what is worth most first.
pub fn advise(report: &Report) -> Vec<Finding> {
    let mut out = Vec::new();
    memory::find(report, &mut out);
    control::find(report, &mut out);
    arithmetic::find(report, &mut out);
    launch::find(report, &mut out);
    out.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    out
}
