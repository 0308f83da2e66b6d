//! `ptxrun occupancy`.

use ptx_report::occupancy::{self, Question};
use ptx_runtime::parse::lower::{entry_index, lower};
use ptx_runtime::timing::occupancy::{BlockNeeds, DoesNotFit, extents};
use ptx_runtime::timing::registers::of_launch;
use ptx_runtime::timing::report::RegistersFrom;
use serde_json::json;

use crate::cli::{Common, OccupancyArgs};
use crate::run_command::choose_entry;
use crate::source_file::{build_options, load};
use crate::terminal::{Failed, INVALID, Outcome, USAGE, print, print_json};
use crate::timing::device_or_default;

/// Shows the occupancy of a kernel.
pub(crate) fn occupancy(args: &OccupancyArgs) -> Outcome {
    let common = &args.common;
    let profile = device_or_default(&args.input.device, common)?;
    let build = build_options(&args.input.build, common)?;
    let verified = load(&args.file, &build, args.input.lenient, common)?;
    let module = verified.module();
    let entry = choose_entry(module, args.entry.as_deref(), common)?;
    let Some(function) = module.functions.iter().find(|f| f.entry && f.name == entry) else {
        return Err(common.fail(USAGE, "usage", format!("no entry is named `{entry}`")));
    };
    let Some(block) = args.block.or(function.tuning.req_ntid) else {
        let message = "say the threads per block with --block: 256 or 16,16";
        return Err(common.fail(USAGE, "usage", message));
    };
    let index = entry_index(module, &entry).unwrap_or_default();
    let program =
        lower(module, index).map_err(|refusal| common.fail(INVALID, "unsupported", refusal))?;
    let (registers, from) = of_launch(&profile, &program, block, args.regs);
    let registers_from = match from {
        RegistersFrom::Given => "given",
        RegistersFrom::Directive => "by the kernel's directives or the block",
        RegistersFrom::Estimate => "estimated; --regs says what the assembler did",
    };
    let needs = BlockNeeds {
        threads: block.iter().fold(1, |a: u32, n| a.saturating_mul(*n)),
        registers,
        shared: program.shared_bytes.saturating_add(args.shared.unwrap_or(0)),
        arguments: program.param_bytes,
    };
    let question = Question {
        kernel: &entry,
        profile: &profile,
        needs,
        registers_from,
        static_shared: program.shared_bytes,
    };
    let refused = |error| refused(common, &question, &error);
    extents(&profile, [1; 3], block).map_err(refused)?;
    match common.json {
        true => print_json(&occupancy::json(&question).map_err(refused)?),
        false => {
            print(occupancy::text(&question, common.paint()).map_err(refused)?.as_bytes());
        }
    }
    Ok(())
}

/// A block that the device does not take, and the largest one that it would.
fn refused(common: &Common, question: &Question<'_>, error: &DoesNotFit) -> Failed {
    let Question { kernel, profile, needs, .. } = question;
    let largest = occupancy::largest_block(profile, needs);
    if common.json {
        print_json(&json!({"ok": false, "error": {
            "kind": "does not fit", "message": error.to_string(), "kernel": kernel,
            "device": profile.name, "largest_block": largest,
        }}));
    } else {
        environment::sayln!("error: {kernel} cannot be launched on {}: {error}", profile.name);
        match largest {
            Some(n) => environment::sayln!("  the largest block with these needs has {n} threads"),
            None => environment::sayln!("  no block with these needs fits"),
        }
    }
    Failed(INVALID)
}
