//! The text of compute-sanitizer: every line begins with `=========`.

use std::fmt::Write;

use super::triple;
use crate::finding::{Check, Class, Finding, Site};

/// At most `limit` findings in the form that compute-sanitizer prints, and its summary.
pub fn sanitizer(findings: &[Finding], limit: usize) -> String {
    let mut out = String::from("========= COMPUTE-SANITIZER\n");
    for f in findings.iter().take(limit) {
        one(&mut out, f);
    }
    let n = findings.len();
    if n > limit {
        let _ = writeln!(out, "========= {} more errors are not shown (--print-limit)", n - limit);
    }
    let _ = writeln!(out, "========= ERROR SUMMARY: {n} error{}", if n == 1 { "" } else { "s" });
    out
}

/// `at KERNEL+... in FILE:LINE`, as far as it is known.
fn place(site: &Site) -> String {
    let p = site.place.source.as_ref().unwrap_or(&site.place.ptx);
    format!("{} in {}:{}", site.place.function, p.file, p.line)
}

fn by(site: &Site) -> String {
    let (thread, block) = (triple(site.thread), triple(site.block));
    format!("by thread {} in block {}", thread.replace(' ', ""), block.replace(' ', ""))
}

fn one(out: &mut String, f: &Finding) {
    let memory = f.memory.as_ref();
    let space = memory.map_or("global", |m| m.space.as_str());
    let bytes = memory.map_or(0, |m| m.bytes);
    let what = f.sites.first().map_or("access", |s| s.what.as_str());
    let title = match (f.check, f.class) {
        (Check::Memory, Class::BadFree) => "Invalid free".to_owned(),
        (Check::Memory, Class::Leak) if memory.is_none() => capital(&f.message),
        (Check::Memory, Class::Leak) => format!("Leaked {bytes} bytes"),
        (Check::Memory, _) => format!("Invalid __{space}__ {what} of size {bytes} bytes"),
        (Check::Race, _) => match f.sites.get(1) {
            Some(second) => format!(
                "Error: Race reported between {} access at {} and {} access at {}",
                capital(&f.sites[0].what),
                place(&f.sites[0]),
                capital(&second.what),
                place(second)
            ),
            None => "Error: Race reported".to_owned(),
        },
        (Check::Init, _) => format!("Uninitialized __{space}__ memory read of size {bytes} bytes"),
        (Check::Sync, _) => format!("Barrier error detected. {}.", f.message),
    };
    let _ = writeln!(out, "========= {title}");
    for site in &f.sites {
        let _ = writeln!(out, "=========     at {}", place(site));
        let _ = writeln!(out, "=========     {}", by(site));
    }
    if let Some(m) = memory {
        let _ = writeln!(out, "=========     Address {:#x}: {}", m.address, f.message);
    }
    if let Some(missing) = &f.missing {
        let _ = writeln!(out, "=========     {missing}");
    }
    let _ = writeln!(out, "=========");
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}
