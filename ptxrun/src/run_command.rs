//! `ptxrun FILE.ptx`: what the file holds.

use serde_json::json;

use crate::cli::RunArgs;
use crate::commands::{INVALID, Outcome, USAGE, load, print, print_json};
use crate::list;

/// Lists the entries of the file.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    let common = &args.common;
    let Some(file) = &args.file else {
        return Err(common.fail(USAGE, "usage", "name a PTX file"));
    };
    if args.entry.is_some() || args.grid.is_some() || !args.arg.is_empty() || args.launch.is_some()
    {
        return Err(common.fail(INVALID, "unsupported", "this build cannot launch kernels"));
    }
    let verified = load(file, common)?;
    let name = file.display().to_string();
    if common.json {
        print_json(&json!(list::json(verified.module(), &name)));
    } else {
        print(list::text(verified.module(), &name).as_bytes());
    }
    Ok(())
}
