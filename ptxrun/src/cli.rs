//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ColorChoice, Parser, Subcommand};
use ptx_runtime::check::Checks;
use ptx_runtime::timing::WarpChoice;

use crate::arg::{self, ArgSpec};
use crate::choice;
use crate::output::{self, OutSpec, PrintSpec};

mod debugging;
mod programs;

pub use debugging::*;
pub use programs::*;

/// Check, run and inspect NVIDIA PTX on any CPU.
#[derive(Parser, Debug)]
#[command(
    name = "ptxrun",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Exit status: 0 success; 1 the program is invalid, faulted or missed an expected result; 2 wrong usage."
)]
pub struct Cli {
    /// What to do; without a subcommand, run.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run kernels: `ptxrun FILE.ptx ...` for short
    Run(RunArgs),
    /// Compile OpenCL C to PTX
    Cc(CcArgs),
    /// Assemble PTX with the options of NVIDIA's ptxas, for programs that call it (also under the name `ptxas`)
    Ptxas(PtxasArgs),
    /// Parse and verify PTX or OpenCL C; report every error
    Check(CheckArgs),
    /// Time kernels on a modelled GPU: what they would cost there, line by line, and why
    Profile(ProfileArgs),
    /// Step through kernels: stop anywhere, look at every lane, go back
    Debug(DebugArgs),
    /// Serve the debug adapter protocol: step through kernels in an editor
    Dap(DapArgs),
    /// Write what warps execute, with values, and what they access
    Trace(TraceArgs),
    /// Run kernels while a plugin (a shared library) observes them
    Observe(ObserveArgs),
    /// Show where two versions of a kernel, or two engines, part
    Diff(DiffArgs),
    /// Make a PTX file smaller while a command keeps failing
    Reduce(ReduceArgs),
    /// Show what changed between two profiles (files written by `profile --json`)
    Compare(CompareArgs),
    /// How many blocks an SM of a GPU holds, and what limits it
    Occupancy(OccupancyArgs),
    /// List the GPUs that can be modelled, or show one with the source of every number
    Devices(DevicesArgs),
    /// List the instructions that are known: since, target, exactness
    Isa(IsaArgs),
    /// Explain an instruction
    Explain(ExplainArgs),
    /// Print PTX in canonical form
    Fmt(FmtArgs),
    /// Assemble PTX or OpenCL C into a container (.ptxb) that loads without parsing and verifying
    Asm(AsmArgs),
    /// Print the PTX of a container, or what is in it
    Dis(DisArgs),
    /// Show how a kernel is compiled
    Jit(JitArgs),
    /// Show or clear the cache of compiled kernels
    Cache(CacheArgs),
    /// Run a program that uses CUDA or OpenCL on this machine's processor
    Exec(ExecArgs),
    /// Run a program that uses CUDA or OpenCL, and check its kernels as compute-sanitizer does
    Sanitize(SanitizeArgs),
    /// Run a program that uses CUDA or OpenCL, and count which lines of its kernels run
    Coverage(CoverageArgs),
    /// Print the environment in which programs that use CUDA or OpenCL run on this machine's processor
    Env(EnvArgs),
    /// Write the file that makes OpenCL programs find the driver of ptxrun
    #[command(name = "install-icd")]
    InstallIcd(InstallIcdArgs),
}

/// Options of every subcommand.
#[derive(Args, Debug, Clone)]
pub struct Common {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// How OpenCL C files are compiled.
#[derive(Args, Debug, Clone, Default)]
pub struct Build {
    /// Options for OpenCL C files, as clBuildProgram takes them: "-D N=16 -cl-mad-enable --target sm_90"
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub build: Option<String>,
}

/// `ptxrun cc`. The words are those of `clBuildProgram` and of compilers, which no option parser of today knows;
/// `cc.rs` reads them.
#[derive(Args, Debug)]
#[command(
    override_usage = "ptxrun cc FILE.cl [OPTIONS] [-o FILE.ptx]",
    after_help = "\
Options:
  -o FILE                  where to write the PTX; standard output without it
  --target sm_NN           sm_10 to sm_90; sm_75 without it
  -D NAME[=VALUE] -U NAME  define or undefine a macro
  -I FOLDER                where #include looks
  -g                       lines and variables of the source, for debuggers; variables stay in memory
  -gline-tables-only       lines of the source; the code is the same as without
  -w -Werror -Wno-NAME     warnings
  -cl-std=CL1.0 … CL3.0    language version
  -cl-mad-enable -cl-fast-relaxed-math -cl-unsafe-math-optimizations -cl-finite-math-only -cl-no-signed-zeros
  -cl-single-precision-constant -cl-denorms-are-zero -cl-fp32-correctly-rounded-divide-sqrt
  -cl-opt-disable -cl-kernel-arg-info
  --json, --color WHEN     as everywhere"
)]
pub struct CcArgs {
    /// An OpenCL C file (`-` for standard input) and options
    #[arg(value_name = "WORD", required = true, num_args = 1.., allow_hyphen_values = true, trailing_var_arg = true)]
    pub words: Vec<String>,
}

/// `ptxrun ptxas`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct PtxasArgs {
    /// PTX files and options of NVIDIA's ptxas; `--help` lists them
    #[arg(value_name = "WORD", num_args = 0.., allow_hyphen_values = true, trailing_var_arg = true)]
    pub words: Vec<String>,
}

/// Which GPU is meant.
#[derive(Args, Debug, Clone, Default)]
pub struct DeviceArgs {
    /// The GPU, by a name of `ptxrun devices` (`8800 GTX`, `h200`), or a profile file (.toml).
    /// `profile` and `occupancy` take an H200 where it is missing; elsewhere it adds the GPU's limits.
    /// `profile` takes several, separated by commas, and puts them in one table
    #[arg(long, value_name = "NAME|FILE")]
    pub device: Option<String>,
    /// A device profile of your own; it may refine a known GPU (see CONTRIBUTING.md)
    #[arg(long = "profile", value_name = "FILE")]
    pub profile_file: Option<PathBuf>,
}

/// How files with kernels are read, and which GPU is meant.
#[derive(Args, Debug, Clone, Default)]
pub struct Input {
    /// Take forms that ptxas refuses and some generators write (ex2.approx.f64 and the like; see docs/lenient.md)
    #[arg(long)]
    pub lenient: bool,
    /// How OpenCL C files are compiled.
    #[command(flatten)]
    pub build: Build,
    /// Which GPU is meant.
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// `ptxrun devices`.
#[derive(Args, Debug)]
pub struct DevicesArgs {
    /// Show this one
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<String>,
    /// Which GPU is meant.
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun occupancy`.
#[derive(Args, Debug)]
pub struct OccupancyArgs {
    /// A PTX or OpenCL C file; `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Kernel; may be left out when the file has one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Threads per block: 256 or 16,16 or 8,8,4; may be left out when the kernel says .reqntid
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = output::parse_extent)]
    pub block: Option<[u32; 3]>,
    /// Dynamic shared memory per block
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub shared: Option<u32>,
    /// Registers per thread [default: .maxnreg, or an estimate]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub regs: Option<u32>,
    /// How the file is read, and for which GPU.
    #[command(flatten)]
    pub input: Input,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun profile`.
#[derive(Args, Debug)]
pub struct ProfileArgs {
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
    /// Registers per thread [default: .maxnreg, or an estimate]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub regs: Option<u32>,
    /// Simulate at most so many blocks and extrapolate [default: what some seconds allow]
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u64).range(1..))]
    pub sample: Option<u64>,
    /// Show every PTX line, not only those that cost most
    #[arg(long)]
    pub all: bool,
    /// Show what one warp did: its divergence tree, and the first access of each line [of pages: 0:0]
    #[arg(long, value_name = "BLOCK[:WARP]", value_parser = choice::warp)]
    pub warp: Option<WarpChoice>,
    /// Show this access of that warp: a line of the PTX text and which of its executions. May be repeated
    #[arg(long, value_name = "LINE[:N]", value_parser = choice::access)]
    pub access: Vec<(u32, u64)>,
    /// Write one self-contained page with pictures
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write a trace for chrome://tracing or ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

/// `ptxrun compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// A file written by `ptxrun profile --json`
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// Another one
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// A PTX file (`-` for standard input), a container of `ptxrun asm` (.ptxb), an OpenCL C file (.cl), or a launch
    /// file (.toml). Without a launch, the entries of the file are listed
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Kernel to launch; may be left out when the file has one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Blocks: 4 or 4,2 or 4,2,1
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = output::parse_extent)]
    pub grid: Option<[u32; 3]>,
    /// Threads per block: 256 or 16,16 or 8,8,4
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = output::parse_extent)]
    pub block: Option<[u32; 3]>,
    /// Dynamic shared memory per block
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub shared: Option<u32>,
    /// A kernel argument, repeated in order: `u32:5`, `f32:1.5`, `b64:0x10`, `bytes:00ff`, `buf:4096` (zeroed bytes),
    /// `buf:@in.bin`, `buf:@x.npy`, `f32[1024]:iota`, `f32[1024]:fill:2`, `f32[1024]:random:SEED`, `s32[3]:1,2,3`
    #[arg(long, value_name = "ARG", value_parser = arg::parse, allow_hyphen_values = true)]
    pub arg: Vec<ArgSpec>,
    /// Write a buffer after the launch: 2=c.bin or 2=c.npy:f32
    #[arg(long, value_name = "INDEX=FILE", value_parser = output::parse_out)]
    pub out: Vec<OutSpec>,
    /// Print a buffer after the launch: 2:f32 or 2:f32:8
    #[arg(long, value_name = "INDEX:TYPE[:COUNT]", value_parser = output::parse_print)]
    pub print: Vec<PrintSpec>,
    /// Buffers, launches and checks from a launch file (see docs/launch-file.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entry", "grid", "block", "shared", "arg"])]
    pub launch: Option<PathBuf>,
    /// Host threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// The engine: interpreter, compiled code, or whatever pays [default: what PTXRUN_BACKEND says, or auto]
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub backend: Option<BackendArg>,
    /// Compiled code may give NaNs of any sign and payload, not only the GPU's; which results are NaNs stays the same
    #[arg(long)]
    pub fast_nan: bool,
    /// Compiled code may have approximate functions (rcp, rsqrt, sin, ex2 and their like) of its own, within the bounds
    /// of the PTX manual, not the GPU's bits
    #[arg(long)]
    pub fast_approx: bool,
    /// Check kernels while they run: memory, race, init, sync, several with commas between, or all;
    /// race+equal reports writes of equal values too (see docs/checkers.md)
    #[arg(long, value_name = "CHECKS", value_parser = checks)]
    pub check: Option<Checks>,
    /// With --check: run blocks and warps in another order, the same for the same number
    #[arg(long, value_name = "seed=N", value_parser = seed, requires = "check")]
    pub schedule: Option<u64>,
    /// Say on standard error what ran each launch, and why
    #[arg(long, short)]
    pub verbose: bool,
    /// Stop a launch that takes longer: 10, 0.5, 500ms, 2m [default: what PTXRUN_TIMEOUT says, or never]
    #[arg(long, value_name = "SECONDS", value_parser = timeout)]
    pub timeout: Option<Duration>,
    /// How the file is read, and for which GPU.
    #[command(flatten)]
    pub input: Input,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun asm`.
#[derive(Args, Debug)]
pub struct AsmArgs {
    /// A PTX or OpenCL C file, or a container to assemble again; `-` for PTX from standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The container [default: FILE with the ending .ptxb]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Add compiled code for blocks of this shape, of one kernel or of all: 256, matmul:16,16
    #[arg(long, value_name = "[KERNEL:]X[,Y[,Z]]", value_parser = code)]
    pub code: Vec<CodeArg>,
    /// How the file is read, and for which GPU.
    #[command(flatten)]
    pub input: Input,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// What `--code` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeArg {
    /// The kernel; all where it is missing.
    pub kernel: Option<String>,
    /// Threads of a block.
    pub block: [u32; 3],
}

/// `ptxrun dis`.
#[derive(Args, Debug)]
pub struct DisArgs {
    /// A container (.ptxb); `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where to write the PTX; standard output without it
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show what is in the container: its build, its sections, its kernels
    #[arg(long)]
    pub info: bool,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun jit`.
#[derive(Args, Debug)]
pub struct JitArgs {
    /// A PTX or OpenCL C file; `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Kernel; may be left out when the file has one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Threads per block: 256 or 16,16 or 8,8,4
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = output::parse_extent, default_value = "128")]
    pub block: [u32; 3],
    /// The form to print: middle form, Cranelift's, or machine code
    #[arg(long, value_enum, value_name = "FORM", default_value = "ir")]
    pub dump: DumpArg,
    /// As `ptxrun run --fast-nan` compiles it
    #[arg(long)]
    pub fast_nan: bool,
    /// As `ptxrun run --fast-approx` compiles it
    #[arg(long)]
    pub fast_approx: bool,
    /// How OpenCL C is compiled.
    #[command(flatten)]
    pub build: Build,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun cache`.
#[derive(Args, Debug)]
pub struct CacheArgs {
    /// What to do with it
    #[arg(value_enum, value_name = "ACTION", default_value = "show")]
    pub action: CacheAction,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// What to do with the cache.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheAction {
    /// Its folder and what it holds
    Show,
    /// Remove everything in it
    Clear,
}

/// Forms of a kernel.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpArg {
    /// The middle form after all passes
    Ir,
    /// What Cranelift is given
    Clif,
    /// Machine code
    Asm,
}

/// Engines.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendArg {
    /// Compiled code where the work pays for compiling
    Auto,
    /// The interpreter
    Interp,
    /// Compiled code wherever that is possible
    Jit,
}

impl From<BackendArg> for ptx_runtime::Backend {
    fn from(arg: BackendArg) -> Self {
        match arg {
            BackendArg::Auto => ptx_runtime::Backend::Auto,
            BackendArg::Interp => ptx_runtime::Backend::Interp,
            BackendArg::Jit => ptx_runtime::Backend::Jit,
        }
    }
}

/// `ptxrun check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// PTX files, containers (.ptxb) or OpenCL C files; `-` for PTX from standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// How the file is read, and for which GPU.
    #[command(flatten)]
    pub input: Input,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun isa`.
#[derive(Args, Debug)]
pub struct IsaArgs {
    /// Only instructions whose syntax contains this text
    #[arg(value_name = "TEXT")]
    pub filter: Option<String>,
    /// Only counts: how many forms are implemented, and how exactly
    #[arg(long)]
    pub coverage: bool,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// An instruction (`fma`, `fma.rn.f32`), a family (`mma.sync`), a special register (`%tid`), a directive or a state
    /// space (`.shared`)
    #[arg(value_name = "INSTRUCTION")]
    pub instruction: String,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun fmt`.
#[derive(Args, Debug)]
pub struct FmtArgs {
    /// A PTX file (`-` for standard input), or an OpenCL C file: its PTX is printed
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How OpenCL C files are compiled.
    #[command(flatten)]
    pub build: Build,
    /// Overwrite the file
    #[arg(long, short, conflicts_with = "json")]
    pub in_place: bool,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

fn code(text: &str) -> Result<CodeArg, String> {
    let (kernel, block) = match text.rsplit_once(':') {
        Some((kernel, block)) => (Some(kernel.to_owned()), block),
        None => (None, text),
    };
    Ok(CodeArg { kernel, block: output::parse_extent(block)? })
}

fn bytes(text: &str) -> Result<u32, String> {
    arg::number(text)
        .and_then(|n| n.try_into().ok())
        .ok_or_else(|| "write a number of bytes: 1024 or 48K".into())
}

/// What is checked.
fn checks(text: &str) -> Result<Checks, String> {
    Checks::parse(text).map_err(|wrong| wrong.to_string())
}

/// `seed=7`, or the number alone.
fn seed(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("seed=").unwrap_or(text);
    number.parse().map_err(|_| format!("`{text}` is not of the form seed=NUMBER"))
}

fn timeout(text: &str) -> Result<Duration, String> {
    let (digits, unit) = [("ms", 1e-3), ("s", 1.0), ("m", 60.0)]
        .iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))
        .unwrap_or((text, 1.0));
    digits
        .parse()
        .ok()
        .filter(|&n: &f64| n > 0.0)
        .and_then(|n| Duration::try_from_secs_f64(n * unit).ok())
        .ok_or_else(|| "write a positive time: 10, 0.5, 500ms, 2m".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_file_without_subcommand_runs() {
        let cli = Cli::try_parse_from([
            "ptxrun", "k.ptx", "--grid", "4,2", "--block", "256", "--arg", "f32:-1", "--arg",
            "buf:16", "--print", "1:f32",
        ])
        .unwrap();
        assert!(cli.command.is_none());
        assert_eq!(cli.run.grid, Some([4, 2, 1]));
        assert_eq!(cli.run.arg.len(), 2);
    }

    #[test]
    fn subcommands() {
        let cli = Cli::try_parse_from(["ptxrun", "check", "-", "--json"]).unwrap();
        assert!(matches!(cli.command, Some(Command::Check(args)) if args.common.json));
        let cli =
            Cli::try_parse_from(["ptxrun", "run", "--launch", "a.toml", "--timeout", "500ms"])
                .unwrap();
        let Some(Command::Run(args)) = cli.command else { panic!() };
        assert_eq!(args.timeout, Some(Duration::from_millis(500)));
    }

    #[test]
    fn wrong_usage_exits_with_2() {
        for line in [
            &["ptxrun", "k.ptx", "--arg", "i32:5"][..],
            &["ptxrun", "k.ptx", "--grid", "0"],
            &["ptxrun", "k.ptx", "--timeout", "-1"],
            &["ptxrun", "k.ptx", "--launch", "a.toml", "--grid", "1"],
            &["ptxrun", "check"],
            &["ptxrun", "exec", "--"],
            &["ptxrun", "exec", "--backend", "gpu", "--", "true"],
            &["ptxrun"],
        ] {
            assert_eq!(Cli::try_parse_from(line).unwrap_err().exit_code(), 2, "{line:?}");
        }
    }
}
