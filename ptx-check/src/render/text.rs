//! Findings for people.

use std::fmt::Write;

use super::triple;
use crate::finding::Finding;

/// Findings, one after another, and what was not checked.
pub fn text(findings: &[Finding], notes: &[String]) -> String {
    let mut out = String::new();
    for finding in findings {
        one(&mut out, finding);
    }
    for note in notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn one(out: &mut String, f: &Finding) {
    let _ = writeln!(out, "{}[{}]: {}", f.check.name(), f.class.name(), f.message);
    for site in &f.sites {
        let _ = writeln!(out, "  --> {}", site.place);
        if !site.place.text.is_empty() {
            let _ = writeln!(out, "      {}", site.place.text);
        }
        let (block, thread) = (triple(site.block), triple(site.thread));
        let _ = writeln!(out, "      {}: block {block}, thread {thread}", site.what);
    }
    if let Some(m) = &f.memory {
        let _ = write!(out, "  at {} {:#x}, {} bytes", m.space, m.address, m.bytes);
        if let Some(v) = &m.variable {
            let end = v.start + v.size;
            let _ = write!(out, "; `{}` is {:#x} to {end:#x}, {} bytes", v.name, v.start, v.size);
        }
        let _ = writeln!(out);
    }
    for w in &f.waiting {
        let block = triple(w.block);
        let _ = writeln!(
            out,
            "  block {block}, warp {}, lanes {:#010x} {} at {}",
            w.warp, w.lanes, w.state, w.place
        );
    }
    if let Some(missing) = &f.missing {
        let _ = writeln!(out, "  missing: {missing}");
    }
    let kernel = if f.kernel.is_empty() { String::new() } else { format!("kernel {}, ", f.kernel) };
    let times = if f.count == 1 { "once".to_owned() } else { format!("{} times", f.count) };
    let _ = writeln!(out, "  {kernel}seen {times}\n");
}
