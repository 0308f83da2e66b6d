//! Writes what the interpreter finds into a file's comments.

use std::collections::BTreeMap;

use crate::engine::On;
use crate::notation::{End, FileTest};
use crate::{expect, run};

/// Rewrites `eval`, `check` and `prints` lines that are wrong or not known yet, and the report beside the file.
///
/// # Errors
/// When something does not run, or a file cannot be written.
pub fn bless(test: &FileTest) -> Result<(), String> {
    // New text by line; empty: the line goes.
    let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for eval in &test.evals {
        if eval.problems(&test.name, On::Interp).is_err() {
            lines.insert(eval.line, vec![eval.blessed(&test.name)?]);
        }
    }
    for one in test.runs.iter().filter(|r| r.end == End::Well) {
        let came = run::first(test, one)?;
        for check in &one.checks {
            let (ty, count) = (check.ty, check.expected.count(check.ty));
            let bytes = came.bytes(check.argument, check.from * ty.size(), count * ty.size())?;
            if check.expected.difference(ty, check.from, &bytes).is_some() {
                let values = expect::list(ty, &bytes);
                let brackets =
                    if values.starts_with("crc32:") { format!("[{count}]") } else { String::new() };
                let from =
                    if check.from == 0 { String::new() } else { format!(" @{}", check.from) };
                lines.insert(
                    check.line,
                    vec![format!("// check: {} {ty}{brackets}{from}: {values}", check.argument)],
                );
            }
        }
        let wanted: String = one.prints.iter().map(|(_, line)| format!("{line}\n")).collect();
        if let [(first, _), rest @ ..] = &one.prints[..]
            && came.printed != wanted
        {
            lines.insert(*first, came.printed.lines().map(|l| format!("// prints: {l}")).collect());
            rest.iter().for_each(|(line, _)| drop(lines.insert(*line, Vec::new())));
        }
    }
    if !lines.is_empty() {
        let mut text = String::new();
        for (line, old) in (1..).zip(test.text.lines()) {
            match lines.get(&line) {
                Some(new) => new.iter().for_each(|l| text += &format!("{l}\n")),
                None => text += &format!("{old}\n"),
            }
        }
        if text != test.text {
            std::fs::write(&test.path, text).map_err(|e| e.to_string())?;
        }
    }
    if test.report.is_some() {
        let path = test.path.with_extension("txt");
        std::fs::write(path, run::report(test)?).map_err(|e| e.to_string())?;
    }
    Ok(())
}
