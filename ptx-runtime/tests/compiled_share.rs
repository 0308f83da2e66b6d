//! How many kernels are compiled, and why the others are not: over the recorded kernels, the samples, the checkers' files
//! and modules that CUTLASS, CUB, Thrust and cooperative groups are made into (`golden/data/modules.tar.xz`).
//!
//! `PTXRUN_MODULES=FOLDER cargo test -p ptx-runtime --test compiled_share -- --nocapture` counts a folder as well.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptx_parse::lower::lower;
use ptx_runtime::{Dump, Verified};

/// Kernels of one source.
#[derive(Default)]
struct Share {
    kernels: usize,
    compiled: usize,
    /// Why others are not, without the line, and how many.
    why: BTreeMap<String, usize>,
}

/// Where modules come from, by name, and whether they are kernels that people wrote to use them.
fn sources() -> Vec<(&'static str, bool, BTreeMap<String, String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let recorded = golden::kernels::shared().expect("the repository holds them");
    let recorded = recorded.into_iter().map(|case| (case.source.to_string(), case.id));
    // Cases share modules.
    let recorded: BTreeMap<String, String> = recorded.collect();
    let recorded = recorded.into_iter().map(|(text, name)| (name, text)).collect();
    let archive = golden::packed("modules");
    let clients =
        golden::texts_of(&archive).unwrap_or_else(|e| panic!("{}: {e}", archive.display()));
    let mut all = vec![
        ("recorded", true, recorded),
        ("samples", true, folder(&root.join("samples"))),
        ("checkers' files", true, folder(&root.join("tests/truth"))),
        ("CUTLASS, CUB, Thrust", true, clients),
        ("tests/ptx", false, folder(&root.join("tests/ptx"))),
    ];
    if let Some(own) = std::env::var_os("PTXRUN_MODULES") {
        all.push(("PTXRUN_MODULES", false, folder(Path::new(&own))));
    }
    all
}

fn folder(at: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![at.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for path in entries.map(|entry| entry.expect("a readable folder").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "ptx")
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                all.insert(path.display().to_string(), text);
            }
        }
    }
    all
}

/// Counts the kernels of a module, for the blocks that they ask for or of 128 threads. What the interpreter does not
/// take either is no kernel here.
fn count(name: &str, text: &str, share: &mut Share) {
    let Ok(verified) = Verified::new(text, name) else { return };
    let module = verified.module();
    for (n, entry) in module.functions.iter().enumerate() {
        if !entry.entry || entry.body.is_none() || lower(module, n as u32).is_err() {
            continue;
        }
        let own = entry.name.to_string();
        let tuning = &entry.tuning;
        let block = tuning.req_ntid.or(tuning.max_ntid).unwrap_or([128, 1, 1]);
        let clustered = tuning.req_ncta_per_cluster.is_some_and(|c| c != [1; 3]);
        share.kernels += 1;
        let why = match verified.dump(&own, block, [false; 2], Dump::Ir) {
            _ if clustered => "blocks in clusters".to_owned(),
            Some(Ok(_)) => {
                share.compiled += 1;
                continue;
            }
            Some(Err(why)) => why,
            None => panic!("{own} is in the module"),
        };
        let file = Path::new(name).file_name().map_or_else(|| name.into(), PathBuf::from);
        println!("  {}: {own:.60}: {why}", file.display());
        let reason = why.split_once(": ").filter(|(line, _)| line.starts_with("line "));
        let reason = reason.map_or(why.as_str(), |(_, reason)| reason);
        *share.why.entry(reason.to_owned()).or_default() += 1;
    }
}

#[test]
fn most_kernels_are_compiled() {
    let (mut kernels, mut compiled) = (0, 0);
    for (source, counts, modules) in sources() {
        let mut share = Share::default();
        modules.iter().for_each(|(name, text)| count(name, text, &mut share));
        println!("{source}: {} of {} kernels are compiled", share.compiled, share.kernels);
        share.why.iter().for_each(|(why, n)| println!("{n:6} {why}"));
        assert!(share.kernels > 0, "{source}: no kernels");
        if counts {
            kernels += share.kernels;
            compiled += share.compiled;
        }
    }
    println!("{compiled} of {kernels} kernels that people use");
    assert!(compiled * 100 >= kernels * 95, "{compiled} of {kernels} kernels are compiled");
}
