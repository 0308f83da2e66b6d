//! Texts four times as long take about four times the work, whatever is repeated.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;

use ptx_parse::{Reporter, parse_and_verify};

/// What is repeated: before, `n` times, after.
fn text(kind: &str, n: usize) -> String {
    let mut t = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    let entry = ".visible .entry k() {\n.reg .pred %p; .reg .u32 %r<4>;\n";
    let mut all = |before: &str, each: &dyn Fn(usize) -> String, after: &str| {
        t.push_str(before);
        for i in 0..n {
            let _ = write!(t, "{}", each(i));
        }
        t.push_str(after);
    };
    match kind {
        "braces" => {
            all(entry, &|_| "{".into(), "");
            all("", &|_| "}".into(), "ret; }\n");
        }
        "blocks with labels" => all(entry, &|i| format!("{{ L{i}: }}\n"), "ret; }\n"),
        "unknown names" => all(entry, &|i| format!("add.u32 %r1, x{i}, 1;\n"), "ret; }\n"),
        "unknown labels" => all(entry, &|i| format!("bra L{i};\n"), "ret; }\n"),
        "nested loops" => {
            all(entry, &|i| format!("L{i}:\n"), "");
            all("", &|i| format!("@%p bra L{i};\n"), "ret; }\n");
        }
        "directives" => all(".visible .entry k() ", &|_| ".maxnreg 32 ".into(), "{ ret; }\n"),
        "declarations" => all(entry, &|_| ".reg .u32 x;\n".into(), "ret; }\n"),
        "functions" => {
            all("", &|i| format!(".func f{i}() {{ ret; }}\n"), entry);
            all("", &|i| format!("call f{i}, ();\n"), "ret; }\n");
        }
        "variables" => all("", &|i| format!(".shared .b32 s{i};\n"), ""),
        other => panic!("{other}"),
    }
    t
}

/// Nanoseconds that this thread has run.
fn ran() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel's count");
    stat.split(' ').next().and_then(|n| n.parse().ok()).expect("a number")
}

/// Nanoseconds to measure at least: the kernel counts in steps of some milliseconds.
const LEAST: u64 = 60_000_000;

/// Work to verify a text and to show what was found.
fn work(kind: &str, n: usize) -> u64 {
    let text = text(kind, n);
    let once = || {
        let (_, diags) = parse_and_verify(&text, "growth.ptx");
        let reporter = Reporter::new("growth.ptx", &text);
        let shown: usize = diags.iter().take(1000).map(|d| reporter.plain(d).len()).sum();
        assert!(shown < 4_000_000, "{kind}: {shown} bytes of findings");
    };
    let start = ran();
    for times in 1.. {
        once();
        let all = ran() - start;
        if all > LEAST {
            return all / times;
        }
    }
    0
}

#[test]
fn no_text_takes_more_than_its_length() {
    let mut over = Vec::new();
    for kind in [
        "braces",
        "blocks with labels",
        "unknown names",
        "unknown labels",
        "nested loops",
        "directives",
        "declarations",
        "functions",
        "variables",
    ] {
        let (small, large) = (work(kind, 5_000), work(kind, 20_000));
        println!("{kind}: {} us, four times as long: {} us", small / 1000, large / 1000);
        // Quadratic work takes sixteen times as long.
        if large > small * 8 {
            over.push(format!("{kind}: {:.1} times the work", large as f64 / small as f64));
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}
