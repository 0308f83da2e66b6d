//! Texts for benchmarks.

use std::collections::HashSet;
use std::path::Path;

/// Real PTX: the recorded modules where they are, the samples otherwise.
pub fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for dir in ["../../shared/kernel-golden/ptx", "../../shared/facts/h200", "../samples"] {
        collect(&root.join(dir), &mut files);
    }
    files
}

fn collect(dir: &Path, out: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            out.extend(std::fs::read_to_string(path));
        }
    }
}

/// One module of about `size` bytes: the kernels of all texts, renamed per round. Of the
/// variables each name is declared once.
pub fn module(texts: &[String], size: usize) -> String {
    let mut out = String::from(".version 8.8\n.target sm_90\n.address_size 64\n");
    let mut declared = HashSet::new();
    let usable = |t: &&String| {
        !t.contains(".section") && !t.contains(".func") && !t.contains(".target sm_1")
    };
    for round in 0.. {
        for (number, text) in texts.iter().filter(usable).enumerate() {
            let mut depth = 0;
            for line in text.lines().filter(|l| !l.starts_with(['/', '#'])) {
                let head = line.trim_start();
                let header = [".version", ".target", ".address_size", ".file"];
                if header.iter().any(|h| head.starts_with(h)) {
                    continue;
                }
                if depth == 0 && head.starts_with('.') && line.ends_with(';') {
                    let name = head.split(['[', '=', ';']).next().unwrap_or("");
                    if !declared.insert(name.split_whitespace().last().unwrap_or("").to_owned()) {
                        continue;
                    }
                }
                depth += line.matches(['{', '(']).count();
                depth = depth.saturating_sub(line.matches(['}', ')']).count());
                match line.split_once(".entry ") {
                    Some((before, name)) => {
                        out.push_str(&format!("{before}.entry k{round}_{number}_{name}\n"));
                    }
                    None => {
                        out.push_str(line);
                        out.push('\n');
                    }
                }
            }
            if out.len() >= size {
                return out;
            }
        }
    }
    out
}
