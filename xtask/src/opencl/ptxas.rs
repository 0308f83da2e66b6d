//! ptxas over everything that the compiler writes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use ptx_runtime::opencl::Options;

use super::compilers;
use super::samples::samples;

/// The `.cl` files of a folder with the options that their first lines name.
fn programs(folder: &Path) -> Result<Vec<(PathBuf, Options)>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if !ptxrun::cc::is_opencl(&path) {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let words = text.lines().next().and_then(|l| l.strip_prefix("// options: ")).unwrap_or("");
        let options = Options::parse(words)
            .map_err(|d| anyhow::anyhow!("{}: {}", path.display(), d.message))?;
        out.push((path, options));
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(out)
}

/// ptxas's complaint, if it has one.
fn complaint(ptxas: &Path, ptx: &str, sm: u32) -> Result<Option<String>> {
    let mut child = Command::new(ptxas)
        .arg(format!("-arch=sm_{sm}"))
        .args(["-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| ptxas.display().to_string())?;
    child.stdin.take().context("a pipe")?.write_all(ptx.as_bytes())?;
    let out = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    Ok((!out.status.success()).then_some(text))
}

/// Assembles all of it for every architecture; true when ptxas takes everything.
pub fn assemble(ptxas: &Path, sms: &[u32], folders: &[PathBuf]) -> Result<bool> {
    let mut all: Vec<(PathBuf, Options)> =
        samples()?.into_iter().map(|s| (s.source, s.file.build)).collect();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../opencl-frontend/tests");
    for folder in ["accept", "run"] {
        all.extend(programs(&tests.join(folder))?);
    }
    let thorough = all.len();
    for folder in folders {
        all.extend(programs(folder)?);
    }
    let (mut modules, mut refused) = (0, 0);
    for &sm in sms {
        for (i, (path, options)) in all.iter().enumerate() {
            let all_variants = [(false, false), (true, false), (false, true)];
            let variants = if i < thorough { &all_variants[..] } else { &all_variants[..1] };
            for &(debug, opt_disable) in variants {
                let options = Options { sm, debug, opt_disable, ..options.clone() };
                let ptx = compilers::with_ours(path, &options)?;
                modules += 1;
                if let Some(text) = complaint(ptxas, &ptx, sm)? {
                    refused += 1;
                    println!("{} for sm_{sm}: {text}", path.display());
                }
            }
        }
    }
    println!("{modules} modules of {} programs assembled, {refused} refused", all.len());
    Ok(refused == 0)
}
