//! `ptxrun dap`: a server of the debug adapter protocol.

use std::io::{BufReader, stdin, stdout};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use clap::Parser;
use ptx_debug::dap::{LaunchRequest, Server};
use ptx_runtime::{Context, LaunchError, Module, Verified};

use crate::cli::{Cli, Command, DapArgs, RunArgs};
use crate::debug::{Debugger, each_module, folders};
use crate::plan::{Plan, PlannedLaunch};
use crate::report;
use crate::run::{RunError, RunOptions, execute_by};
use crate::terminal::{Failed, INVALID, Outcome, USAGE};

/// Serves one client on standard input and output, or on a port.
pub(crate) fn dap(args: &DapArgs) -> Outcome {
    let mut server = match args.port {
        None => Server::new(Box::new(BufReader::new(stdin())), Box::new(stdout())),
        Some(port) => {
            let fail = |error: std::io::Error| args.common.fail(USAGE, "port", error);
            let listener = TcpListener::bind(("127.0.0.1", port)).map_err(fail)?;
            let (stream, _) = listener.accept().map_err(fail)?;
            let input = stream.try_clone().map_err(fail)?;
            Server::new(Box::new(BufReader::new(input)), Box::new(stream))
        }
    };
    let Some(launch) = server.wait_for_launch() else { return Ok(()) };
    let outcome = serve(&mut server, &launch);
    server.finish(match outcome {
        Ok(()) => 0,
        Err(Failed(status)) => status,
    });
    Ok(())
}

fn serve(server: &mut Server, launch: &LaunchRequest) -> Outcome {
    let words = ["ptxrun", "run"].into_iter().map(str::to_owned);
    let cli = Cli::try_parse_from(words.chain(launch.arguments.iter().cloned()));
    let args = match cli.map(|cli| cli.command) {
        Ok(Some(Command::Run(args))) => args,
        Ok(_) => {
            server.refuse("`args` are options of `ptxrun run`");
            return Err(Failed(USAGE));
        }
        Err(error) => {
            server.refuse(&error.to_string());
            return Err(Failed(USAGE));
        }
    };
    let outcome = each_module(&args, true, &mut |path, verified, plan| {
        run(server, &args, path, verified, plan)
    });
    if outcome.is_err() && server.waits() {
        server.refuse("the program could not be run; standard error says why");
    }
    outcome
}

fn run(
    server: &mut Server,
    args: &RunArgs,
    path: &Path,
    verified: &Verified,
    plan: &Plan,
) -> Outcome {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let pause = Arc::clone(&server.pause);
    let mut debugger = Debugger { front: server, folders: folders(path), previous: None, pause };
    let mut launcher = |context: &Context, module: &Module, launch: &PlannedLaunch, config| {
        debugger.launch(context, module, launch, config)
    };
    let checks = args.check.unwrap_or_default();
    let options = RunOptions { checks, schedule: args.schedule, ..RunOptions::default() };
    let done = execute_by(plan, verified, &options, &printed, &mut launcher);
    match done {
        Ok(done) => {
            server.say(&report::text(plan, &done, &args.print));
            if done.passed() { Ok(()) } else { Err(Failed(INVALID)) }
        }
        Err(RunError::Quit) => Ok(()),
        Err(RunError::Launch(LaunchError::Fault(report))) => {
            server.say(&report.to_string());
            Err(Failed(INVALID))
        }
        Err(error) => {
            server.refuse(&error.to_string());
            Err(Failed(INVALID))
        }
    }
}
