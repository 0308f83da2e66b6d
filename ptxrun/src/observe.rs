//! `ptxrun observe`: a plugin watches launches.

use std::sync::{Arc, Mutex};

use ptx_debug::plugin::{Plugin, observe as observe_launch};
use ptx_debug::trace::code_of;
use ptx_runtime::{Context, Engine, LaunchConfig, LaunchError, LaunchStats, Module};

use crate::cli::ObserveArgs;
use crate::debug::{each_module, folders};
use crate::plan::PlannedLaunch;
use crate::run::{RunError, RunOptions, execute_by};
use crate::run_command::{run_failed, without_checks};
use crate::terminal::{Failed, INVALID, Outcome, USAGE};

/// Runs what the arguments launch under a plugin.
pub(crate) fn observe(args: &ObserveArgs) -> Outcome {
    without_checks(&args.run)?;
    let common = &args.run.common;
    // SAFETY: who names a library on the command line vouches for its code.
    let plugin = unsafe { Plugin::load(&args.plugin) }
        .map_err(|error| common.fail(USAGE, "plugin", error))?;
    each_module(&args.run, false, &mut |path, verified, plan| {
        let printed = Arc::new(Mutex::new(Vec::new()));
        let folders = folders(path);
        let mut launcher =
            |context: &Context, module: &Module, launch: &PlannedLaunch, config: LaunchConfig| {
                let (kernel, params) = context.prepare(module, &launch.entry, config)?;
                let code = code_of(&kernel, module.verified().module(), &params, &folders);
                match observe_launch(&plugin, &code, context.memory(), &params) {
                    Ok(stats) => Ok((LaunchStats::interpreted(stats, Engine::Interpreter), None)),
                    Err(ptx_runtime::interp::LaunchError::Fault(report)) => {
                        Err(RunError::Launch(LaunchError::Fault(report)))
                    }
                    Err(other) => Err(RunError::Launch(LaunchError::Configuration(other))),
                }
            };
        match execute_by(plan, verified, &RunOptions::default(), &printed, &mut launcher) {
            Ok(done) if done.passed() => Ok(()),
            Ok(_) => Err(Failed(INVALID)),
            Err(error) => Err(run_failed(common, verified, &error, &[])),
        }
    })
}
