//! Where findings go while a program runs.

use std::io::Write;
use std::path::PathBuf;

use crate::coverage::{self, Covered};
use crate::finding::Finding;
use crate::render;

/// Where findings go as soon as their launch has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Nowhere: the caller asks for them.
    Kept,
    /// To standard error, as text.
    Terminal,
    /// To a file, as a line of JSON for each launch that has some.
    File(PathBuf),
}

impl Output {
    /// What the environment says: a file, or standard error.
    pub fn from_environment() -> Output {
        environment::check_report().map_or(Output::Terminal, Output::File)
    }

    /// Writes findings, if there are any. A file that cannot be written is named on standard error.
    pub(crate) fn write(&self, findings: &[Finding], notes: &[String], covered: &[Covered]) {
        if findings.is_empty() && notes.is_empty() && covered.is_empty() {
            return;
        }
        match self {
            Output::Kept => {}
            Output::Terminal => {
                environment::say!(
                    "{}{}",
                    render::text(findings, notes),
                    coverage::summary(covered)
                );
            }
            Output::File(path) => {
                let mut line = render::json(findings, notes);
                if !covered.is_empty() {
                    line["coverage"] = serde_json::to_value(covered).unwrap_or_default();
                }
                let line = format!("{line}\n");
                let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
                if let Err(error) = file.and_then(|mut f| f.write_all(line.as_bytes())) {
                    environment::say!(
                        "{}: {error}\n{}",
                        path.display(),
                        render::text(findings, notes)
                    );
                }
            }
        }
    }
}
