//! What is shipped: manual pages and completions from the description of the command line, and the packages.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::CommandFactory;
use clap_complete::Shell;

/// Writes `man/ptxrun*.1`, `bash/ptxrun`, `zsh/_ptxrun` and `fish/ptxrun.fish`.
pub fn pages(out: &Path) -> Result<()> {
    let command = ptxrun::cli::Cli::command();
    let man = out.join("man");
    std::fs::create_dir_all(&man).with_context(|| man.display().to_string())?;
    clap_mangen::generate_to(command.clone(), &man)?;
    for (shell, name) in [
        (Shell::Bash, "bash/ptxrun"),
        (Shell::Zsh, "zsh/_ptxrun"),
        (Shell::Fish, "fish/ptxrun.fish"),
    ] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command.clone(), "ptxrun", &mut text);
        let file = out.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(out))?;
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// Runs `packaging/dist.py`, and `packaging/install_test.py` where that is asked for.
pub fn dist(out: &Path, install: bool, machine: Option<&str>) -> Result<ExitCode> {
    let pages_at = out.join("work/pages");
    pages(&pages_at)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging");
    let mut made = Command::new("python3");
    made.arg(folder.join("dist.py")).arg("--out").arg(out).arg("--pages").arg(&pages_at);
    if let Some(machine) = machine {
        made.args(["--machine", machine]);
    }
    if !made.status().context("python3")?.success() {
        return Ok(ExitCode::FAILURE);
    }
    if install {
        let mut test = Command::new("python3");
        let status = test.arg(folder.join("install_test.py")).arg(out).status()?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    Ok(ExitCode::SUCCESS)
}
