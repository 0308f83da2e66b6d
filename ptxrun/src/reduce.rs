//! `ptxrun reduce`: makes a PTX text smaller while a command keeps failing.

use std::process::{Command, Stdio};

use ptx_runtime::Verified;

use crate::cli::ReduceArgs;
use crate::terminal::{INVALID, Outcome, USAGE, is_stdout, print, read_text};

/// Takes away what the failure does not need.
pub(crate) fn reduce(args: &ReduceArgs) -> Outcome {
    let common = &args.common;
    let text = read_text(&args.file, common)?;
    let output = args.output.clone().unwrap_or_else(|| args.file.with_extension("reduced.ptx"));
    let Some((program, words)) = args.command.split_first() else {
        return Err(common.fail(USAGE, "usage", "name a command behind `--`"));
    };
    if is_stdout(&output) {
        let message = "the command reads the smaller file: it cannot be standard output";
        return Err(common.fail(USAGE, "usage", message));
    }
    let mut runs = 0;
    let mut status = |text: &str| -> Result<Option<i32>, std::io::Error> {
        runs += 1;
        std::fs::write(&output, text)?;
        let name = output.display().to_string();
        let words = words.iter().map(|w| if w == "{}" { name.clone() } else { w.clone() });
        let done = Command::new(program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok(done.code())
    };
    let fail = |error: std::io::Error| common.fail(USAGE, "command", error);
    let wanted = status(&text).map_err(fail)?;
    if wanted == Some(0) {
        let message = "the command succeeds on the whole file: there is no failure to keep";
        return Err(common.fail(INVALID, "command", message));
    }
    let mut same = |text: &str| -> Result<bool, std::io::Error> {
        // What does not verify fails for another reason.
        let valid = args.invalid || Verified::new(text, "reduced.ptx").is_ok();
        Ok(valid && status(text)? == wanted)
    };
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let before = lines.len();
    let lines = shrink(lines, &mut same).map_err(fail)?;
    let text = joined(&lines);
    std::fs::write(&output, &text).map_err(fail)?;
    let (after, name) = (lines.len(), output.display());
    print(format!("{name}: {after} lines of {before}, {runs} runs\n").as_bytes());
    Ok(())
}

fn joined(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |all, line| all + line + "\n")
}

/// Takes away runs of lines, long ones first, until no single line can go (delta debugging, Zeller and Hildebrandt,
/// 2002).
fn shrink<E>(
    mut lines: Vec<String>,
    same: &mut dyn FnMut(&str) -> Result<bool, E>,
) -> Result<Vec<String>, E> {
    let mut size = lines.len().div_ceil(2).max(1);
    loop {
        let mut any = false;
        let mut at = 0;
        while at < lines.len() {
            let end = (at + size).min(lines.len());
            let mut fewer = lines.clone();
            fewer.drain(at..end);
            if same(&joined(&fewer))? {
                lines = fewer;
                any = true;
            } else {
                at = end;
            }
        }
        match (any, size) {
            (false, 1) => return Ok(lines),
            (true, 1) => {}
            _ => size = size.div_ceil(2).max(1),
        }
        if size > lines.len() {
            size = lines.len().max(1);
        }
        if lines.is_empty() {
            return Ok(lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_needed_lines_stay() {
        let lines: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let mut runs = 0;
        let mut same = |text: &str| {
            runs += 1;
            let has = |n: &str| text.lines().any(|l| l == n);
            Ok::<_, ()>(has("17") && has("63"))
        };
        assert_eq!(shrink(lines, &mut same).unwrap(), ["17", "63"]);
        assert!(runs < 200, "{runs}");
    }
}
