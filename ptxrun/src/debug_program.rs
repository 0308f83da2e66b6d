//! `ptxrun debug -- PROGRAM`: a program that uses CUDA or OpenCL, whose launches are debugged.
//!
//! The debugger runs where the launches are: in the process of the program, inside `libptxrun_core.so`. The terminal
//! stays with the command that started it. Between them is a socket, over which the debugger sends what it prints, asks
//! for a line with [`ptx_debug::terminal::PROMPT`], and gets one.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_debug::Session;
use ptx_debug::terminal::{Input, Terminal, stop_at_interrupt};
use ptx_runtime::{
    Context, FaultKind, LaunchConfig, LaunchError, LaunchStats, Launcher, Module, Report,
};

use crate::cli::DebugArgs;
use crate::debug::Debugger;
use crate::run::RunError;
use crate::terminal::Outcome;

/// Makes the launches of this process go to the debugger, if a terminal waits for them.
pub fn attach() {
    if let Some(socket) = environment::debug() {
        ptx_runtime::launch_by(Box::new(Attached { socket, state: Mutex::new(None) }));
    }
}

/// The debugger in the process of a program.
struct Attached {
    socket: PathBuf,
    state: Mutex<Option<State>>,
}

struct State {
    /// A process that forked off has no part in its parent's connection.
    process: u32,
    front: Terminal,
    previous: Option<Session>,
    pause: Arc<AtomicBool>,
}

impl State {
    fn connect(socket: &Path) -> io::Result<State> {
        let (mut input, output) = connection(socket)?;
        let mut form = String::new();
        input.read_line(&mut form)?;
        let front = Terminal::new(Input::Remote(input), "", output, form.trim_end() == "json");
        let pause = Arc::new(AtomicBool::new(false));
        // Without the signal, Ctrl-C ends the program as it always did.
        let _ = stop_at_interrupt(&pause);
        Ok(State { process: std::process::id(), front, previous: None, pause })
    }
}

type Connection = (Box<dyn BufRead + Send>, Box<dyn Write + Send>);

#[cfg(unix)]
fn connection(socket: &Path) -> io::Result<Connection> {
    let stream = std::os::unix::net::UnixStream::connect(socket)?;
    Ok((Box::new(io::BufReader::new(stream.try_clone()?)), Box::new(stream)))
}
#[cfg(not(unix))]
fn connection(_: &Path) -> io::Result<Connection> {
    Err(io::Error::other("programs are run on Unix systems only"))
}

impl Launcher for Attached {
    fn launch(
        &self,
        context: &Context,
        module: &Module,
        entry: &str,
        mut config: LaunchConfig,
    ) -> Result<LaunchStats, LaunchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.take().filter(|s| s.process == std::process::id());
        let mut now = match known {
            Some(known) => known,
            None => State::connect(&self.socket).map_err(|error| {
                stopped(entry, format!("the terminal of the debugger does not answer: {error}"))
            })?,
        };
        // What the kernel prints is the program's output.
        config.print.get_or_insert_with(|| {
            Box::new(|text| {
                let mut out = io::stdout().lock();
                // A reader that has gone away is the program's affair.
                let _ = out.write_all(text).and_then(|()| out.flush());
            })
        });
        let folders = std::env::current_dir().into_iter().collect();
        let (previous, pause) = (now.previous.take(), Arc::clone(&now.pause));
        let mut debugger = Debugger { front: &mut now.front, folders, previous, pause };
        let result = debugger.run(context, module, entry, config);
        now.previous = debugger.previous.take();
        *state = Some(now);
        result.map_err(|error| match error {
            RunError::Launch(error) => error,
            RunError::Quit => stopped(entry, "the debugger has ended".into()),
            other => stopped(entry, other.to_string()),
        })
    }
}

/// A launch that ends without a fault of its own.
fn stopped(kernel: &str, message: String) -> LaunchError {
    LaunchError::Fault(Box::new(Report {
        kind: FaultKind::Cancelled,
        message,
        kernel: kernel.into(),
        place: None,
        block: [0; 3],
        thread: [0; 3],
        lanes: 0,
        access: None,
        registers: Vec::new(),
        calls: Vec::new(),
        warps: Vec::new(),
    }))
}

/// Starts the program and lends it the terminal.
#[cfg(unix)]
pub(crate) fn run(args: &DebugArgs, front: &mut Terminal) -> Outcome {
    use std::os::unix::fs::DirBuilderExt;
    use std::os::unix::process::ExitStatusExt;

    use crate::cli::Emulation;
    use crate::exec;
    use crate::terminal::{Failed, INVALID};

    let common = &args.run.common;
    let failed = |what: &str, error: io::Error| {
        common.fail(INVALID, "program", format!("cannot {what}: {error}"))
    };
    let emulation = Emulation { device: None, backend: None, verbose: false };
    let variables = exec::variables_for_debugging(&emulation, common)?;
    let folder = std::env::temp_dir().join(format!("ptxrun-debug-{}", std::process::id()));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
    made.map_err(|error| failed(&format!("make {}", folder.display()), error))?;
    let folder = Removed(folder);
    let socket = folder.0.join("terminal");
    let listener = std::os::unix::net::UnixListener::bind(&socket)
        .and_then(|l| l.set_nonblocking(true).map(|()| l))
        .map_err(|error| failed("open a socket", error))?;
    // Ctrl-C goes to both; it is the kernel that is to stop.
    let _ = stop_at_interrupt(&Arc::new(AtomicBool::new(false)));
    let program = std::process::Command::new(&args.program[0])
        .args(&args.program[1..])
        .envs(variables)
        .env(environment::DEBUG.name, &socket)
        .spawn();
    let name = args.program[0].to_string_lossy();
    let mut program = program.map_err(|error| failed(&format!("run {name}"), error))?;
    let status = loop {
        match listener.accept() {
            Ok((stream, _)) => {
                let served = stream
                    .set_nonblocking(false)
                    .and_then(|()| serve(&stream, common.json, front))
                    .map_err(|error| failed("talk to the program", error))?;
                if !served {
                    // It may have ended by itself.
                    let _ = program.kill();
                    let _ = program.wait();
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if let Some(status) = program.try_wait().map_err(|e| failed("wait", e))? {
                    break status;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Err(error) => return Err(failed("wait for the program", error)),
        }
    };
    match status.code().or(status.signal().map(|s| 128 + s)) {
        Some(0) => Ok(()),
        code => Err(Failed(code.and_then(|c| u8::try_from(c).ok()).unwrap_or(INVALID))),
    }
}

#[cfg(not(unix))]
pub(crate) fn run(args: &DebugArgs, _: &mut Terminal) -> Outcome {
    let text = "programs are run on Unix systems only";
    Err(args.run.common.fail(crate::terminal::USAGE, "program", text))
}

/// A folder that goes away in the end.
#[cfg(unix)]
struct Removed(PathBuf);

#[cfg(unix)]
impl Drop for Removed {
    fn drop(&mut self) {
        // What is left in a folder for temporary files harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Shows what a debugger prints, and gives it commands, until its process ends; false if the user ends it first.
#[cfg(unix)]
fn serve(
    stream: &std::os::unix::net::UnixStream,
    json: bool,
    front: &mut Terminal,
) -> io::Result<bool> {
    use std::io::Read as _;

    use ptx_debug::terminal::PROMPT;

    let mut output = stream;
    writeln!(output, "{}", if json { "json" } else { "text" })?;
    let mut input = io::BufReader::new(stream);
    let mut buffer = [0; 4096];
    loop {
        let count = match input.read(&mut buffer) {
            Ok(count) => count,
            // The process may end while it says something.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            Err(error) => return Err(error),
        };
        if count == 0 {
            return Ok(true);
        }
        for part in buffer[..count].split_inclusive(|b| *b == PROMPT) {
            let Some((&PROMPT, text)) = part.split_last() else {
                front.show(part);
                continue;
            };
            front.show(text);
            let Some(line) = front.line_for_another() else { return Ok(false) };
            if matches!(
                ptx_debug::command::parse(&line),
                Ok(Some(ptx_debug::command::Command::Quit))
            ) {
                return Ok(false);
            }
            writeln!(output, "{line}")?;
        }
    }
}
