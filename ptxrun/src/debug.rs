//! `ptxrun debug`: a launch file or one kernel, at a terminal, from a script or from a pipe.

use std::io::{BufReader, IsTerminal};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use ptx_debug::findings;
use ptx_debug::session::LaneId;
use ptx_debug::terminal::{Input, Terminal, stop_at_interrupt};
use ptx_debug::trace::code_of;
use ptx_debug::{End, Front, Session, Target, debug as debug_launch, gdb};
use ptx_runtime::check::{Finding, Site};
use ptx_runtime::opencl::Options;
use ptx_runtime::{Context, Engine, LaunchConfig, LaunchError, LaunchStats, Module, Verified};

use crate::cli::DebugArgs;
use crate::debug_program;
use crate::plan::{Plan, PlannedLaunch};
use crate::report;
use crate::run::{Launched, RunError, RunOptions, execute_by};
use crate::run_command::{files, plan_of_file, run_failed, with_modules};
use crate::source_file::{build_options, load};
use crate::terminal::{Failed, INVALID, Outcome, USAGE, print, read_text};

/// Debugs what the arguments launch.
pub(crate) fn debug(args: &DebugArgs) -> Outcome {
    let common = &args.run.common;
    if !args.program.is_empty() && args.gdb.is_some() {
        let text = "--gdb serves a file's launches; a program is debugged at the terminal";
        return Err(common.fail(USAGE, "usage", text));
    }
    if let Some(port) = args.gdb {
        return serve_gdb(args, port);
    }
    let mut script = String::new();
    for path in &args.scripts {
        script.push_str(&read_text(path, common)?);
        script.push('\n');
    }
    for command in &args.eval {
        script.push_str(command);
        script.push('\n');
    }
    let input = if args.batch {
        Input::Nothing
    } else if std::io::stdin().is_terminal() {
        let home = std::env::home_dir().map(|h| h.join(".ptxrun_history"));
        Input::editor(home).map_err(|error| common.fail(USAGE, "terminal", error))?
    } else {
        Input::Lines(Box::new(BufReader::new(std::io::stdin())))
    };
    let mut front = Terminal::new(input, &script, Box::new(std::io::stdout()), common.json);
    if !args.program.is_empty() {
        return debug_program::run(args, &mut front);
    }
    let pause = Arc::new(AtomicBool::new(false));
    // Without the signal, Ctrl-C ends the process as it always did.
    let _ = stop_at_interrupt(&pause);
    each_module(&args.run, true, &mut |path, verified, plan| {
        plan_under(&args.run, path, verified, plan, &mut front, &pause)
    })
}

/// Waits for a client of gdb, and lets it debug what the arguments launch.
fn serve_gdb(args: &DebugArgs, port: u16) -> Outcome {
    let common = &args.run.common;
    let fail = |error: std::io::Error| common.fail(USAGE, "port", error);
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(fail)?;
    let port = listener.local_addr().map_err(fail)?.port();
    environment::sayln!("waiting for gdb: target remote localhost:{port}");
    let (connection, _) = listener.accept().map_err(fail)?;
    let pause = Arc::new(AtomicBool::new(false));
    let mut server = gdb::Server::new(connection, &pause).map_err(fail)?;
    let outcome = each_module(&args.run, true, &mut |path, verified, plan| {
        plan_under(&args.run, path, verified, plan, &mut server, &pause)
    });
    server.finish(match outcome {
        Ok(()) => 0,
        Err(Failed(status)) => status,
    });
    outcome
}

/// What is done with each module that the arguments name.
type EachModule<'a> = dyn FnMut(&Path, &Verified, &Plan) -> Outcome + 'a;

/// Loads the modules that the arguments name, OpenCL C with its lines, and does something with each.
///
/// With `variables`, debuggers are told of those of OpenCL C, and the code is another one.
pub(crate) fn each_module(
    args: &crate::cli::RunArgs,
    variables: bool,
    each: &mut EachModule<'_>,
) -> Outcome {
    let common = &args.common;
    match files(args)? {
        (file, Some(launch)) => {
            let (loaded, modules) = with_modules(args, file, launch)?;
            let build = Options { debug: variables, lines: true, ..loaded.build };
            for module in &modules {
                let verified = load(module, &build, args.input.lenient, common)?;
                each(module, &verified, &loaded.plan)?;
            }
            Ok(())
        }
        (Some(file), None) => {
            let build = Options {
                debug: variables,
                lines: true,
                ..build_options(&args.input.build, common)?
            };
            let verified = load(file, &build, args.input.lenient, common)?;
            let plan = plan_of_file(args, verified.module())?;
            each(file, &verified, &plan)
        }
        (None, None) => Ok(()),
    }
}

/// Runs a plan under the debugger, and shows its results as `run` does.
fn plan_under(
    args: &crate::cli::RunArgs,
    path: &Path,
    verified: &Verified,
    plan: &Plan,
    front: &mut dyn Front,
    pause: &Arc<AtomicBool>,
) -> Outcome {
    let common = &args.common;
    report::resolve(plan, &args.out, &args.print)
        .map_err(|error| common.fail(USAGE, "usage", error))?;
    let printed = Arc::new(Mutex::new(Vec::new()));
    let folders = folders(path);
    let mut debugger = Debugger { front, folders, previous: None, pause: Arc::clone(pause) };
    let mut launcher = |context: &Context, module: &Module, launch: &PlannedLaunch, config| {
        debugger.launch(context, module, launch, config)
    };
    let checks = args.check.unwrap_or_default();
    let options = RunOptions { checks, schedule: args.schedule, ..RunOptions::default() };
    let done = execute_by(plan, verified, &options, &printed, &mut launcher);
    let done = match done {
        Ok(done) => done,
        Err(RunError::Quit) => return Ok(()),
        // The fault was shown where it happened.
        Err(RunError::Launch(LaunchError::Fault(_))) => return Err(Failed(INVALID)),
        Err(error) => return Err(run_failed(common, verified, &error, &[])),
    };
    report::write_files(plan, &done, &args.out)
        .map_err(|error| common.fail(USAGE, "file", error))?;
    if !common.json {
        print(report::text(plan, &done, &args.print).as_bytes());
    }
    if done.passed() { Ok(()) } else { Err(Failed(INVALID)) }
}

/// Folders in which source files are looked for.
pub(crate) fn folders(module: &Path) -> Vec<PathBuf> {
    vec![module.parent().unwrap_or(Path::new("")).to_path_buf()]
}

/// What a checker found, for the debugger.
fn of_checker(finding: &Finding) -> findings::Finding {
    let place = |site: &Site| findings::Place {
        function: site.place.function.clone(),
        line: site.place.ptx.line,
        text: site.place.text.clone(),
        block: site.block,
        thread: site.thread,
    };
    findings::Finding {
        text: format!("{} ({})", finding.message, finding.class.name()),
        places: finding.sites.iter().map(place).collect(),
        bytes: finding.memory.as_ref().map(|m| (m.address, m.bytes)),
    }
}

/// Debugs one launch after the other. Breakpoints stay from launch to launch.
pub struct Debugger<'a> {
    /// Who asks.
    pub front: &'a mut dyn Front,
    /// Where source files are looked for.
    pub folders: Vec<PathBuf>,
    /// The launch before.
    pub previous: Option<Session>,
    /// Set to stop a kernel that runs.
    pub pause: Arc<AtomicBool>,
}

impl Debugger<'_> {
    /// Carries out a launch under the debugger.
    ///
    /// # Errors
    /// When the launch is not possible, a thread faults, or the user ends the debugger.
    pub fn launch(
        &mut self,
        context: &Context,
        module: &Module,
        launch: &PlannedLaunch,
        config: LaunchConfig,
    ) -> Result<Launched, RunError> {
        self.run(context, module, &launch.entry, config).map(|stats| (stats, None))
    }

    /// Lets checkers look at the launch before it is debugged, if there are any, and finds out when what they found
    /// happens.
    fn check(
        &self,
        context: &Context,
        module: &Module,
        entry: &str,
        session: &mut Session,
    ) -> Result<(), RunError> {
        let launch = session.launch().clone();
        let Some((found, kernel)) = context.check(module, entry, &session.code.kernel, &launch)
        else {
            return Ok(());
        };
        let refused = |error: ptx_debug::Error| RunError::Watched(error.to_string());
        session.rewind().map_err(refused)?;
        let findings: Vec<findings::Finding> = found.iter().map(of_checker).collect();
        if !findings.is_empty() {
            let code = code_of(&kernel, module.verified().module(), &launch, &self.folders);
            session.findings = findings::times(&code, context.memory(), &launch, &findings);
            session.rewind().map_err(refused)?;
        }
        Ok(())
    }

    /// Carries out a launch of this kernel.
    pub(crate) fn run(
        &mut self,
        context: &Context,
        module: &Module,
        entry: &str,
        mut config: LaunchConfig,
    ) -> Result<LaunchStats, RunError> {
        let print = config.print.take();
        let (kernel, params) = context.prepare(module, entry, config)?;
        let (verified, folders) = (module.verified().module(), &self.folders);
        let memory = context.memory();
        let target = Target { kernel, module: verified, memory, params, folders };
        let mut session = Session::new(target);
        match self.previous.take() {
            Some(previous) => session.inherit(previous),
            None => session.pause = Arc::clone(&self.pause),
        }
        session.focus = LaneId::default();
        self.check(context, module, entry, &mut session)?;
        let ended = debug_launch(&mut session, self.front);
        if let Some(mut print) = print {
            print(&session.output());
        }
        self.previous = Some(session);
        match ended {
            Ok(End::Finished(stats)) => Ok(LaunchStats::interpreted(stats, Engine::Interpreter)),
            Ok(End::Fault(report)) => Err(RunError::Launch(LaunchError::Fault(report))),
            Ok(End::Quit) => Err(RunError::Quit),
            Err(error) => Err(RunError::Watched(error.to_string())),
        }
    }
}
