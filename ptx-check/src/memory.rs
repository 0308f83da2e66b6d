//! Bounds by variable, faults as findings, leaks.

use std::collections::HashSet;

use ptx_interp::observer::{Action, MemoryAccess};
use ptx_interp::{Access, Allocation, FaultKind, Memory, Moment, Report};
use ptx_isa::Space;
use ptx_isa::effect::{Accessor, window};

use crate::finding::{Check, Class, Finding, Site, Variable, Where};
use crate::host::{Host, variable};

/// Bytes that belong to nothing behind every shared variable and local array of a checked kernel.
pub const GAP: u32 = 64;

/// Looks for accesses between shared variables and behind local arrays.
#[derive(Default)]
pub(crate) struct Bounds {
    found: HashSet<(u32, u32)>,
    pub findings: Vec<Finding>,
}

fn verb(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Update => "atomic",
    }
}

impl Bounds {
    /// Looks for writes to memory that kernels may only read, and reads of what they may only write.
    pub(crate) fn flags(&mut self, m: &Moment<'_>, a: &MemoryAccess<'_>, host: &Host) {
        if matches!(a.space, Space::Tex) || a.by == Accessor::Host {
            return;
        }
        for lane in (0..32u8).filter(|l| a.lanes >> l & 1 != 0) {
            let (Space::Global, at) = window::locate(a.space, a.addresses[lane as usize]) else {
                continue;
            };
            let class = match (host.restriction(at), a.action) {
                (Some(false), Action::Write | Action::Update) => Class::ReadOnly,
                (Some(true), Action::Read | Action::Update) => Class::WriteOnly,
                _ => continue,
            };
            if !self.found.insert((m.function(), m.index())) {
                return;
            }
            let (verb, bytes) = (verb(a.action), a.bytes);
            let (may, flag) = match class {
                Class::ReadOnly => ("read", "CL_MEM_READ_ONLY"),
                _ => ("write", "CL_MEM_WRITE_ONLY"),
            };
            let message = format!(
                "{verb} of {bytes} bytes at global {at:#x}, in a buffer that kernels may only {may} ({flag})"
            );
            let mut finding = Finding::new(Check::Memory, class, m.kernel().name(), message);
            finding.sites.push(site(m, lane, verb));
            let variable = m.memory().find(at).as_ref().map(variable);
            let (space, bytes) = ("global".to_owned(), u64::from(bytes));
            finding.memory = Some(Where { space, address: at, bytes, variable });
            finding.missing = Some("CL_MEM_READ_WRITE, where kernels do both".into());
            self.findings.push(finding);
        }
    }

    /// Looks for writes to constant variables: a device makes them, and threads that have read the constant may not see
    /// them.
    pub(crate) fn constants(&mut self, m: &Moment<'_>, a: &MemoryAccess<'_>) {
        if a.action == Action::Read || a.by == Accessor::Host || matches!(a.space, Space::Tex) {
            return;
        }
        let mut known = 0..0;
        for lane in (0..32u8).filter(|l| a.lanes >> l & 1 != 0) {
            let (Space::Global, at) = window::locate(a.space, a.addresses[lane as usize]) else {
                continue;
            };
            if known.contains(&at) {
                continue;
            }
            let Some(found) = m.memory().find(at) else { continue };
            known = found.start..found.start.saturating_add(found.size);
            if found.access != Access::Constant {
                continue;
            }
            if !self.found.insert((m.function(), m.index())) {
                return;
            }
            let (verb, bytes) = (verb(a.action), a.bytes);
            let message =
                format!("{verb} of {bytes} bytes to constant memory at {at:#x} (`{}`)", found.name);
            let name = m.kernel().name();
            let mut finding = Finding::new(Check::Memory, Class::ReadOnly, name, message);
            finding.sites.push(site(m, lane, verb));
            let (space, bytes) = ("global".to_owned(), u64::from(bytes));
            let variable = Some(variable(&found));
            finding.memory = Some(Where { space, address: at, bytes, variable });
            self.findings.push(finding);
            return;
        }
    }

    pub(crate) fn access(&mut self, m: &Moment<'_>, a: &MemoryAccess<'_>) {
        if matches!(a.space, Space::Tex | Space::Global | Space::Const | Space::ParamEntry)
            || a.by == Accessor::Host
        {
            return;
        }
        if inside_at_once(m, a) {
            return;
        }
        for lane in (0..32u8).filter(|l| a.lanes >> l & 1 != 0) {
            let outside = match window::locate(a.space, a.addresses[lane as usize]) {
                (Space::Shared, at) => outside_shared(m, at % window::SHARED_CTA, a.bytes),
                (Space::SharedCluster, at) => outside_shared(m, at % window::SHARED_CTA, a.bytes),
                (Space::Local, at) => outside_local(m, at, a.bytes),
                _ => None,
            };
            let Some((space, address, near, distance)) = outside else { continue };
            if !self.found.insert((m.function(), m.index())) {
                return;
            }
            let (verb, bytes) = (verb(a.action), a.bytes);
            let side = match distance {
                d if d < 0 => format!("{} bytes before the start", -d),
                d => format!("{d} bytes behind the end"),
            };
            let message = format!(
                "out of bounds: {verb} of {bytes} bytes at {space} {address:#x}, {side} of `{}` ({} bytes)",
                near.name, near.size
            );
            let mut finding =
                Finding::new(Check::Memory, Class::OutOfBounds, m.kernel().name(), message);
            finding.sites.push(site(m, lane, verb));
            let (space, bytes, variable) = (space.to_owned(), u64::from(bytes), Some(near));
            finding.memory = Some(Where { space, address, bytes, variable });
            self.findings.push(finding);
        }
    }
}

/// Whether all lanes stay in global memory, or in one shared variable of the block: what most accesses do.
fn inside_at_once(m: &Moment<'_>, a: &MemoryAccess<'_>) -> bool {
    let (mut low, mut high) = (u64::MAX, 0);
    for (lane, address) in a.addresses.iter().enumerate() {
        if a.lanes >> lane & 1 != 0 {
            (low, high) = (low.min(*address), high.max(*address));
        }
    }
    let at = match a.space {
        Space::Generic if low >= window::GLOBAL => return true,
        Space::Generic if low >= window::SHARED && high < window::GLOBAL => low - window::SHARED,
        Space::Shared | Space::SharedCluster => low,
        _ => return false,
    };
    let end = at + (high - low) + u64::from(a.bytes);
    m.kernel().program().shared_vars.iter().any(|v| {
        let size = if v.2 == 0 { m.dynamic_bytes() } else { v.2 };
        u64::from(v.1) <= at && end <= u64::from(v.1) + u64::from(size)
    })
}

/// What a lane does here.
pub(crate) fn site(m: &Moment<'_>, lane: u8, what: &str) -> Site {
    Site { what: what.to_owned(), place: m.place(), block: m.block(), thread: m.thread(lane) }
}

/// Space, address, the variable next to it, and how far behind (or before, negative) it that is.
type Outside = (&'static str, u64, Variable, i64);

fn outside_shared(m: &Moment<'_>, at: u64, bytes: u32) -> Option<Outside> {
    let end = at + u64::from(bytes);
    if end > u64::from(m.shared_bytes()) {
        // The engine's own report says so.
        return None;
    }
    let of = |v: &(String, u32, u32)| {
        let size = if v.2 == 0 { m.dynamic_bytes() } else { v.2 };
        Variable { name: v.0.clone(), start: u64::from(v.1), size: u64::from(size) }
    };
    let all = &m.kernel().program().shared_vars;
    let inside = |v: &(String, u32, u32)| {
        let size = if v.2 == 0 { m.dynamic_bytes() } else { v.2 };
        u64::from(v.1) <= at && end <= u64::from(v.1) + u64::from(size)
    };
    if all.is_empty() || all.iter().any(inside) {
        return None;
    }
    let below = all.iter().filter(|v| u64::from(v.1) <= at).max_by_key(|v| v.1).map(of);
    let above = all.iter().filter(|v| u64::from(v.1) > at).min_by_key(|v| v.1).map(of);
    let behind = |v: &Variable| (at.max(v.start + v.size) - v.start - v.size) as i64;
    let before = |v: &Variable| (v.start - at) as i64;
    let (near, distance) = match (below, above) {
        (Some(b), Some(a)) if behind(&b) > before(&a) => {
            let d = -before(&a);
            (a, d)
        }
        (Some(b), _) => {
            let d = behind(&b);
            (b, d)
        }
        (None, Some(a)) => {
            let d = -before(&a);
            (a, d)
        }
        (None, None) => return None,
    };
    Some(("shared", at, near, distance))
}

fn outside_local(m: &Moment<'_>, at: u64, bytes: u32) -> Option<Outside> {
    let last = at + u64::from(bytes) - 1;
    let (name, size, distance) = m.past_local(last)?;
    if distance >= u64::from(GAP) {
        return None;
    }
    let start = last - distance - u64::from(size);
    let near = Variable { name: name.to_owned(), start, size: u64::from(size) };
    Some(("local", at, near, (at.max(last - distance) - (last - distance)) as i64))
}

/// The finding that a fault is, if it is one of memory. `freed` held its address once, and was made and freed there.
pub(crate) fn of_fault(
    report: &Report,
    freed: Option<(Allocation, Option<Site>, Option<Site>)>,
) -> Option<Finding> {
    // An access that begins inside of an object, and only reaches out of it because it is misaligned, is that.
    let crooked = report.access.as_ref().is_some_and(|a| {
        let inside = a.nearest.as_ref().is_some_and(|(_, distance)| *distance == 0);
        inside && !a.address.is_multiple_of(u64::from(a.bytes.max(1)).next_power_of_two())
    });
    let class = match report.kind {
        FaultKind::OutOfBounds if crooked && freed.is_none() => Class::Misaligned,
        FaultKind::OutOfBounds if freed.is_some() => Class::UseAfterFree,
        FaultKind::OutOfBounds => Class::OutOfBounds,
        FaultKind::NullPointer => Class::NullPointer,
        FaultKind::ReadOnly => Class::ReadOnly,
        FaultKind::Misaligned => Class::Misaligned,
        FaultKind::BadFree => Class::BadFree,
        _ => return None,
    };
    let write = report.access.as_ref().is_some_and(|a| a.write);
    let what = match class {
        Class::BadFree => "free",
        _ if write => "write",
        _ => "read",
    };
    let mut finding = Finding::new(Check::Memory, class, &report.kernel, report.message.clone());
    if let Some(place) = &report.place {
        let (block, thread) = (report.block, report.thread);
        let (what, place) = (what.to_owned(), place.clone());
        finding.sites.push(Site { what, place, block, thread });
    }
    if let (Some(a), FaultKind::OutOfBounds, Class::Misaligned) =
        (&report.access, &report.kind, class)
    {
        finding.message = format!(
            "misaligned {what} at {} address {:#x}: it must be a multiple of {}",
            a.space, a.address, a.bytes
        );
    }
    if let Some(a) = &report.access {
        let (space, address, bytes) = (a.space.clone(), a.address, u64::from(a.bytes));
        let near = a.nearest.as_ref().map(|(n, _)| variable(n));
        let variable = freed.as_ref().map(|(f, _, _)| variable(f)).or(near);
        finding.memory = Some(Where { space, address, bytes, variable });
        if let (Some((n, d)), None) = (&a.nearest, &freed)
            && *d != 0
        {
            let side = if *d < 0 {
                format!("{} bytes before the start", -d)
            } else {
                format!("{} bytes behind the end", d - 1)
            };
            finding.missing = Some(format!("{side} of `{}` ({} bytes)", n.name, n.size));
        }
        if let Some((f, _, _)) = &freed
            && class == Class::UseAfterFree
        {
            finding.message = format!(
                "use after free: {what} of {} bytes at {:#x}, {} bytes into `{}` ({} bytes), which was freed",
                a.bytes,
                a.address,
                a.address - f.start,
                f.name,
                f.size
            );
        }
    }
    for site in freed.into_iter().flat_map(|(_, made, gone)| [gone, made]).flatten() {
        finding.sites.push(site);
    }
    Some(finding)
}

/// What the drivers call memory that programs must give back: functions that make it, and buffers and images of OpenCL.
fn is_of_program(name: &str) -> bool {
    name.starts_with("cuMem") || ["buffer", "image", "host memory"].contains(&name)
}

/// Memory of kernels' `malloc` that nobody freed; if `full`, that of the program as well.
pub(crate) fn leaks(memory: &Memory, full: bool) -> Vec<Finding> {
    let all = memory.allocations();
    all.iter()
        .filter(|a| a.heap || full && is_of_program(&a.name))
        .map(|a| {
            let from = if a.heap { "a kernel's malloc" } else { &a.name };
            let message = format!("leak: {} bytes at {:#x} of {from}", a.size, a.start);
            let mut finding = Finding::new(Check::Memory, Class::Leak, "", message);
            let (space, address, bytes) = ("global".to_owned(), a.start, a.size);
            let variable = Some(variable(a));
            finding.memory = Some(Where { space, address, bytes, variable });
            finding
        })
        .collect()
}
