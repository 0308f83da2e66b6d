//! Global, local, constant and shared accesses.

use ptx_timing::Report;
use ptx_timing::report::{Line, MemoryLine, MemorySpace};

use super::finding::{Costs, Finding, Kind, capability, places};
use crate::number::{count, percent, significant};

/// Bytes moved over the fewest possible from which an access counts as uncoalesced. A row of a
/// matrix that starts inside a segment (one sector more than needed) is below it from 3.x on.
const UNCOALESCED: f64 = 1.5;
/// Conflict ways from which it is worth a word.
const CONFLICT: f64 = 1.1;

fn lines(report: &Report, space: MemorySpace) -> impl Iterator<Item = (&Line, &MemoryLine)> {
    report
        .lines
        .iter()
        .filter_map(|l| Some((l, l.memory.as_ref()?)))
        .filter(move |(_, m)| m.space == space)
}

/// Adds what is found.
pub(super) fn find(report: &Report, out: &mut Vec<Finding>) {
    out.extend(uncoalesced(report));
    out.extend(conflicts(report));
    out.extend(constants(report));
    out.extend(local(report));
}

fn uncoalesced(report: &Report) -> Option<Finding> {
    let excess = |l: &Line, m: &MemoryLine| {
        // What lanes asked for, in whole sectors; and what they would if no two asked for the same:
        // a few broadcast words are no fault.
        let sector = f64::from(report.device.sector_bytes);
        let fewest = (m.ideal_per_request? * m.requests as f64 * sector)
            .max(l.thread_instructions as f64 * f64::from(m.width));
        // Atomics are serialised by address, whatever their lanes' order.
        let plain = m.kind == "load" || m.kind == "store";
        let ratio = m.bytes_moved as f64 / fewest;
        (plain && ratio >= UNCOALESCED).then_some(ratio)
    };
    let hits: Vec<_> = lines(report, MemorySpace::Global)
        .filter_map(|(l, m)| Some((l, m, excess(l, m)?)))
        .collect();
    let costs = Costs::new(report);
    let gain = |h: &(&Line, &MemoryLine, f64)| costs.of(h.0) * (1.0 - 1.0 / h.2);
    let (worst, memory, ratio) = hits.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
    let (used, moved) =
        hits.iter().fold((0, 0), |(u, v), (_, m, _)| (u + m.bytes_used, v + m.bytes_moved));
    let evidence = format!(
        "Line {}: a {}-byte {} of a warp{} takes {} transactions, which move {} times the bytes that the best order of its lanes would need. In {}, {} bytes were moved and {} asked for ({}).",
        worst.ptx_line,
        memory.width,
        memory.kind,
        stride(memory)
            .map_or_else(String::new, |s| format!(", whose lanes lie {} bytes apart,", count(s))),
        significant(memory.transactions_per_request.unwrap_or(0.0)),
        significant(*ratio),
        places(&hits.iter().map(|h| h.0).collect::<Vec<_>>()),
        count(moved),
        count(used),
        percent(used as f64 / moved.max(1) as f64),
    );
    let rule = match capability(report) {
        (1, 0 | 1) => {
            "On compute capability 1.0 and 1.1 thread k of a half-warp must access word k of an aligned segment of 16 words (of 4, 8 or 16 bytes); any other order, a misaligned start or a shared address costs one transaction per thread."
        }
        (1, _) => {
            "On compute capability 1.2 and 1.3 a half-warp takes one transaction per segment (of 32, 64 or 128 bytes) that it touches, in any order: let its threads access neighbouring words."
        }
        (2, _) => {
            "On compute capability 2.x a warp takes one transaction per 128-byte line that it touches: let its threads access neighbouring words, starting at a multiple of 128 bytes."
        }
        _ => {
            "A warp takes one transaction per 32-byte sector that it touches: let its threads access neighbouring words."
        }
    };
    let swap = match stride(memory) {
        Some(bytes) if bytes > 4 * u64::from(memory.width) => {
            "Neighbouring threads take elements of different rows: let the index that differs between them (get_global_id(0), threadIdx.x) choose the element within a row, and the other one the row. "
        }
        _ => "",
    };
    let remedy = format!(
        "{swap}{rule} Split structures larger than 16 bytes into several arrays, pad the rows of two-dimensional arrays to a multiple of 16 elements, and stage what must be read in another order through shared memory."
    );
    let about: Vec<_> = hits.iter().map(|h| (h.0, 1.0 - 1.0 / h.2)).collect();
    Some(Finding::new(Kind::UncoalescedAccess, evidence, remedy).about_part(report, &about))
}

/// Bytes between neighbouring lanes of the costliest access, where most lanes have the same distance.
fn stride(memory: &MemoryLine) -> Option<u64> {
    let lanes = &memory.worst.as_ref()?.lanes;
    let steps: Vec<u64> = lanes
        .windows(2)
        .filter_map(|w| Some(w[1]?.abs_diff(w[0]?)))
        .filter(|step| *step > 0)
        .collect();
    let mut sorted = steps.clone();
    sorted.sort_unstable();
    let middle = *sorted.get(sorted.len() / 2)?;
    let same = steps.iter().filter(|s| **s == middle).count();
    (same * 4 >= steps.len() * 3).then_some(middle)
}

fn conflicts(report: &Report) -> Option<Finding> {
    let hits: Vec<_> = lines(report, MemorySpace::Shared)
        .filter_map(|(l, m)| Some((l, m, m.conflict_ways?)))
        .filter(|(_, m, ways)| m.conflicts > 0 && *ways >= CONFLICT)
        .collect();
    let (worst, memory, ways) = hits.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let extra: u64 = hits.iter().map(|h| h.1.conflicts).sum();
    let evidence = format!(
        "Line {}: {}-way conflicts on average, {} steps for {} requests; {} serialised steps too many in {}.",
        worst.ptx_line,
        significant(*ways),
        count(memory.wavefronts),
        count(memory.requests),
        count(extra),
        places(&hits.iter().map(|h| h.0).collect::<Vec<_>>()),
    );
    let group = if capability(report).0 == 1 { "a half-warp" } else { "a warp" };
    let remedy = format!(
        "Successive 32-bit words lie in successive banks ({} of them). Let the threads of {group} access words of different banks: a stride s between threads is free of conflicts only if s is odd, so pad the rows of a tile by one element (tile[16][17]), and split structures of an even number of words into arrays or add a word of padding.",
        report.device.banks
    );
    let about: Vec<_> = hits.iter().map(|h| (h.0, 1.0 - 1.0 / h.2)).collect();
    Some(Finding::new(Kind::BankConflicts, evidence, remedy).about_part(report, &about))
}

fn constants(report: &Report) -> Option<Finding> {
    let hits: Vec<_> = lines(report, MemorySpace::Constant)
        .filter_map(|(l, m)| Some((l, m.transactions_per_request?)))
        .filter(|(l, n)| {
            // On 1.x a uniform read of a warp is one address per half-warp.
            let free = if capability(report).0 == 1 { 2.0 } else { 1.0 };
            *n > free * 1.1 && l.issues > 0
        })
        .collect();
    let (worst, addresses) = hits.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let evidence = format!(
        "Line {}: {} different addresses per warp on average; {} in all.",
        worst.ptx_line,
        significant(*addresses),
        places(&hits.iter().map(|h| h.0).collect::<Vec<_>>()),
    );
    let remedy = "The cost of a constant read scales with the number of different addresses. Let all threads of the warp read the same one, or keep such tables in shared or texture memory.";
    let about: Vec<_> = hits.iter().map(|h| (h.0, 1.0 - 1.0 / h.1)).collect();
    Some(Finding::new(Kind::DivergentConstant, evidence, remedy).about_part(report, &about))
}

fn local(report: &Report) -> Option<Finding> {
    let hits: Vec<_> = lines(report, MemorySpace::Local).collect();
    let requests: u64 = hits.iter().map(|h| h.1.requests).sum();
    if requests == 0 {
        return None;
    }
    let evidence = format!(
        "{} loads and stores of warps go to local memory, in {}.",
        count(requests),
        places(&hits.iter().map(|h| h.0).collect::<Vec<_>>()),
    );
    let cached = match capability(report).0 {
        1 => "It is not cached: an access costs as much as one to global memory, coalesced always.",
        _ => "It lies in device memory behind the caches.",
    };
    let remedy = format!(
        "{cached} Arrays that are indexed by constants only (unroll the loop) stay in registers; small tables fit in shared memory; large structures may be split."
    );
    let about: Vec<_> = hits.iter().map(|h| h.0).collect();
    Some(Finding::new(Kind::LocalMemory, evidence, remedy).about(report, &about))
}
