//! Speed of parser and verifier beside other tools that read PTX, on the same texts in the same
//! run, and the time to load a kernel of 10,000 instructions.
//!
//! `cargo run --release --manifest-path peers/Cargo.toml [-- PTXAS]`
//!
//! Peers: the crate `ptx-90-parser` (parses, does not verify) and, where the program `ptxas` is
//! found (argument, `PTXAS` or `PATH`), ptxas at its fastest setting. ptxas cannot only check, so
//! its row is the whole assembly of the module, with the time of an empty module taken off.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("load") {
        return load();
    }
    let texts = corpus();
    assert!(!texts.is_empty(), "no PTX found");
    // What the peer can read, so that all work on the same bytes.
    let (read, refused): (Vec<_>, Vec<_>) =
        texts.iter().partition(|(_, text)| ptx_parser::parse_ptx(text).is_ok());
    let bytes: usize = read.iter().map(|(_, text)| text.len()).sum();
    println!(
        "{} modules, {:.2} MB of PTX ({} more are refused by ptx-90-parser)",
        read.len(),
        bytes as f64 / 1e6,
        refused.len()
    );
    let mbs = |time: Duration| bytes as f64 / time.as_secs_f64() / 1e6;
    let ours = median(21, || {
        for (_, text) in &read {
            black_box(ptx_parse::parse(text).0.instr_count());
        }
    });
    let checked = median(21, || {
        for (_, text) in &read {
            black_box(ptx_parse::parse_and_verify(text, "peer").0.is_some());
        }
    });
    let peer = median(3, || {
        for (_, text) in &read {
            black_box(ptx_parser::parse_ptx(text).is_ok());
        }
    });
    let row = |name: &str, speed: f64, base: f64| {
        println!("{name:34} {speed:8.1} MB/s   {:7.1} x", base / speed);
    };
    println!("{:34} {:>13}   ours is", "", "median");
    row("parse", mbs(ours), mbs(ours));
    row("parse, ptx-90-parser", mbs(peer), mbs(ours));
    row("parse + verify", mbs(checked), mbs(checked));
    match ptxas() {
        Some(path) => {
            if let Some(speed) = assemble(&path, &read) {
                row("assemble, ptxas -O0", speed, mbs(checked));
            }
        }
        None => println!("ptxas not found: no row for it"),
    }
    load();
}

/// Real PTX by name: the recorded modules where they are, the samples otherwise.
fn corpus() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut out = BTreeMap::new();
    for dir in ["../../shared/kernel-golden/ptx", "../../shared/facts/h200", "../samples"] {
        collect(&root.join(dir), &mut out);
    }
    out
}

fn collect(dir: &Path, out: &mut BTreeMap<String, String>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "ptx")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            out.insert(path.display().to_string(), text);
        }
    }
}

/// The median time of `runs` runs.
fn median(runs: usize, mut work: impl FnMut()) -> Duration {
    work();
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

fn ptxas() -> Option<PathBuf> {
    let named = std::env::args().nth(1).or_else(|| std::env::var("PTXAS").ok());
    if let Some(path) = named {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("ptxas")).find(|p| p.is_file())
}

/// MB/s of ptxas over the modules that it takes.
fn assemble(ptxas: &Path, texts: &[(&String, &String)]) -> Option<f64> {
    let run = |file: &Path, arch: &str| {
        let start = Instant::now();
        let out = Command::new(ptxas)
            .args(["-O0", "-arch", arch, "-o", "/dev/null"])
            .arg(file)
            .output()
            .ok()?;
        out.status.success().then(|| start.elapsed())
    };
    let empty = std::env::temp_dir().join(format!("empty-{}.ptx", std::process::id()));
    std::fs::write(&empty, ".version 7.0\n.target sm_75\n.address_size 64\n").ok()?;
    let base = (0..5).filter_map(|_| run(&empty, "sm_90a")).min();
    std::fs::remove_file(&empty).ok()?;
    let (mut bytes, mut time) = (0, Duration::ZERO);
    for (name, text) in texts {
        if let Some(took) = run(Path::new(name.as_str()), "sm_90a") {
            bytes += text.len();
            time += took.saturating_sub(base?);
        }
    }
    (bytes > 0).then(|| bytes as f64 / time.as_secs_f64() / 1e6)
}

/// Text to decoded kernel for 10,000 instructions.
fn load() {
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry big(.param .u64 p)\n{\n\
         .reg .b32 %r<4096>;\n.reg .f32 %f<4096>;\n.reg .b64 %rd<8>;\n.reg .pred %p<8>;\n\
         ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r0, %tid.x;\n",
    );
    for i in 0..2000 {
        let (a, b, c) = (i % 4000, (i + 1) % 4000, (i + 2) % 4000);
        text.push_str(&format!(
            "add.s32 %r{b}, %r{a}, {i};\ncvt.rn.f32.s32 %f{a}, %r{b};\n\
             fma.rn.f32 %f{b}, %f{a}, %f{a}, %f{a};\nst.global.f32 [%rd2+{}], %f{b};\n\
             setp.lt.s32 %p1, %r{c}, %r{a};\n",
            4 * (i % 256)
        ));
    }
    text.push_str("ret;\n}\n");
    let count = text.matches(';').count() - 4;
    let parse = median(21, || {
        black_box(ptx_parse::parse(&text).0.instr_count());
    });
    let verify = median(21, || {
        black_box(ptx_parse::parse_and_verify(&text, "big").0.is_some());
    });
    let whole = median(201, || {
        let (module, _) = ptx_parse::parse_and_verify(&text, "big");
        let module = module.expect("the kernel is valid");
        let program = ptx_parse::lower::lower(&module, 0).expect("the kernel can run");
        black_box(ptx_interp::Kernel::decode(Arc::new(program)));
    });
    println!("a kernel of {count} instructions: parse {parse:.2?}, + verify {verify:.2?}, + lower and decode {whole:.2?}");
}
