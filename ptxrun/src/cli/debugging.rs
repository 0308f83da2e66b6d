//! The options of the debugger and of what stands beside it: traces, observers, differences, reduction.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::{Common, RunArgs};

/// `ptxrun debug`.
#[derive(Args, Debug)]
#[command(after_help = "Inside, `help` lists the commands. docs/debugger.md shows sessions.")]
pub struct DebugArgs {
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
    /// Read commands from a file first
    #[arg(long = "command", short = 'x', value_name = "FILE")]
    pub scripts: Vec<PathBuf>,
    /// A command to carry out first, repeated in order
    #[arg(long, short = 'e', value_name = "COMMAND")]
    pub eval: Vec<String>,
    /// End behind the last command of --command and --eval, and read none from the terminal
    #[arg(long)]
    pub batch: bool,
    /// Serve the gdb remote protocol on a port of this machine (0: a free one) in place of reading commands
    #[arg(long, value_name = "PORT", conflicts_with_all = ["scripts", "eval", "batch"])]
    pub gdb: Option<u16>,
    /// A program that uses CUDA or OpenCL, and its arguments: its launches are debugged
    #[arg(last = true, value_name = "PROGRAM", conflicts_with_all = ["file", "launch"])]
    pub program: Vec<OsString>,
}

/// `ptxrun dap`.
#[derive(Args, Debug)]
pub struct DapArgs {
    /// Wait for one client on this port of this machine, not on standard input
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun trace`.
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
    /// Where to write it; standard output without it
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// A line per event, JSON lines, a document for ui.perfetto.dev, or records
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub format: TraceFormatArg,
    /// Run nothing: read a trace that was written with `--format binary`, and write it in another format
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub read: Option<PathBuf>,
    /// Accesses to memory too
    #[arg(long)]
    pub memory: bool,
    /// Accesses to memory, not instructions
    #[arg(long)]
    pub only_memory: bool,
    /// Leave out the values that instructions write
    #[arg(long)]
    pub no_values: bool,
    /// Only launches of this kernel; others run without a trace
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Only this block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = block_index)]
    pub only_block: Option<[u32; 3]>,
    /// Only this warp of each block
    #[arg(long, value_name = "N")]
    pub only_warp: Option<u32>,
    /// Only these lines of the source, or of the PTX where no source is named: 12 or 12-20
    #[arg(long, value_name = "LINES", value_parser = lines)]
    pub lines: Option<(u32, u32)>,
    /// Only opcodes that begin so
    #[arg(long, value_name = "OPCODE")]
    pub opcode: Option<String>,
}

/// `ptxrun observe`.
#[derive(Args, Debug)]
#[command(
    after_help = "ptx-debug/include/ptxrun_observer.h is the interface, clients/observers has examples."
)]
pub struct ObserveArgs {
    /// A shared library that exports `ptxrun_observer`
    #[arg(long, value_name = "FILE.so")]
    pub plugin: PathBuf,
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Formats of a trace.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormatArg {
    /// A line for people per event
    Text,
    /// A JSON object per line
    Jsonl,
    /// One JSON document for ui.perfetto.dev
    Perfetto,
    /// Records of a few bytes, the quickest to write; `--read` makes the others of it
    Binary,
}

/// `ptxrun diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The other version: a PTX or OpenCL C file, or `jit` for compiled code of the same file
    #[arg(
        long,
        value_name = "FILE|jit",
        required_unless_present = "recorded",
        conflicts_with = "recorded"
    )]
    pub with: Option<String>,
    /// What a buffer held behind the last launch elsewhere, such as on a GPU: its name in the launch file or the number
    /// of its argument, and a file of its bytes; repeated
    #[arg(long, value_name = "BUFFER=FILE", value_parser = buffer_file)]
    pub recorded: Vec<(String, PathBuf)>,
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

/// `ptxrun reduce`.
#[derive(Args, Debug)]
pub struct ReduceArgs {
    /// A PTX file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The smaller file [default: FILE with the ending .reduced.ptx]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also keep texts that do not verify
    #[arg(long)]
    pub invalid: bool,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
    /// The command that fails; `{}` is the file
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<String>,
}

fn buffer_file(text: &str) -> Result<(String, PathBuf), String> {
    let (buffer, file) = text.split_once('=').ok_or("write BUFFER=FILE: 1=sums.bin")?;
    Ok((buffer.trim().to_owned(), PathBuf::from(file)))
}

fn block_index(text: &str) -> Result<[u32; 3], String> {
    let mut index = [0; 3];
    let parts: Vec<&str> = text.split(',').collect();
    let wrong = || "write the index of a block: 3 or 3,1 or 3,1,0".to_owned();
    if parts.len() > 3 {
        return Err(wrong());
    }
    for (to, from) in index.iter_mut().zip(parts) {
        *to = from.trim().parse().map_err(|_| wrong())?;
    }
    Ok(index)
}

fn lines(text: &str) -> Result<(u32, u32), String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    match (low.trim().parse(), high.trim().parse()) {
        (Ok(low), Ok(high)) if low <= high => Ok((low, high)),
        _ => Err("write lines: 12 or 12-20".into()),
    }
}
