//! `ptxrun compare`.

use std::path::Path;

use ptx_report::compare::{json, pair, text};
use ptx_report::profile::Document;

use crate::cli::{Common, CompareArgs};
use crate::terminal::{Failed, INVALID, Outcome, print, print_json, read_text};

/// Shows what changed between two profiles.
pub(crate) fn compare(args: &CompareArgs) -> Outcome {
    let common = &args.common;
    let (before, after) = (read(&args.before, common)?, read(&args.after, common)?);
    let comparison = pair(&before, &after);
    if comparison.pairs.is_empty() {
        let message = "the two profiles have no kernel in common";
        return Err(common.fail(INVALID, "compare", message));
    }
    match common.json {
        true => print_json(&json(&comparison)),
        false => print(text(&comparison, common.paint()).as_bytes()),
    }
    Ok(())
}

fn read(path: &Path, common: &Common) -> Result<Document, Failed> {
    let text = read_text(path, common)?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} is no file of `ptxrun profile --json`: {error}", path.display());
        common.fail(INVALID, "profile", message)
    })
}
