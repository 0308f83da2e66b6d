//! Times of host programs in C: through the OpenCL loader by our driver and by others, and through `libcuda.so.1`, as
//! their users meet them.
//!
//! `xtask/drivers/opencl.c` and `cuda.c` are the programs, `cases.h` has the table of kernels; `loops.c` has plain loops
//! for those that memory limits. Each measurement is a
//! process of its own whose loader finds one driver; drivers take turns, so that what else the machine does meets all
//! of them. CUDA gets the PTX that our compiler makes of the same OpenCL C.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use ptx_runtime::opencl;
use serde::{Deserialize, Serialize};

use super::spread::{cpu, spread};
use crate::opencl::compilers::with_ours;

/// `cargo xtask bench drivers`.
#[derive(Args)]
pub struct Options {
    /// Our driver, built for release
    #[arg(long, default_value = "target/release/libptxrun_core.so")]
    icd: PathBuf,
    /// Other drivers: a name and the library, or an `.icd` file that names it
    #[arg(long, value_delimiter = ',', default_value = "pocl=/etc/OpenCL/vendors/pocl.icd", value_parser = peer)]
    peer: Vec<(String, PathBuf)>,
    /// Our library for CUDA, built for release; none: CUDA is left out
    #[arg(long, default_value = "target/release/libptxrun_core.so")]
    cuda: Option<PathBuf>,
    /// Our driver with its interpreter as well, at the small size
    #[arg(long)]
    interpreter: bool,
    /// Only kernels whose name contains one of these
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Sizes of the data: half a megabyte, about eight, more than caches hold; with an offset, or with the block left
    /// to the driver, medium only
    #[arg(long, value_delimiter = ',', default_values_t = ["small".to_string(), "medium".into(), "large".into()])]
    size: Vec<String>,
    /// The local size: given by the program, or left to the driver
    #[arg(long, value_delimiter = ',', default_values_t = ["given".to_string(), "none".into()])]
    local: Vec<String>,
    /// Global offsets, in work-items or rows
    #[arg(long, value_delimiter = ',', default_values_t = [0, 64])]
    offset: Vec<u32>,
    /// Host threads of every driver; 0: all
    #[arg(long, default_value_t = 1)]
    threads: u32,
    /// Turns of each driver
    #[arg(long, default_value_t = 2)]
    turns: usize,
    /// Seconds to measure in each process
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
    /// Where to leave the measurements
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Kernels that nobody looked at while tuning; reported apart.
const KEPT_APART: [&str; 23] = [
    "align_rows",
    "barrier_loop",
    "blake2s",
    "crc32",
    "daxpy",
    "fft256",
    "floyd",
    "gather",
    "grid_stride",
    "hash_find",
    "histogram",
    "insertion",
    "lattice",
    "mandelbrot",
    "match_blocks",
    "neighbours",
    "polynomial",
    "powers",
    "scan",
    "softmax",
    "stencil_narrow",
    "swarm",
    "wave",
];

/// Names of our driver, of it with its interpreter only, of our library for CUDA, and of loops in C.
const OURS: &str = "ptxrun";
const INTERPRETER: &str = "interpreter";
const CUDA: &str = "ptxrun-cuda";
const LOOPS: &str = "loop";

/// The class of kernels that have a loop in C.
const LOOPED: &str = "memory";

fn peer(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("a name, `=` and a path")?;
    Ok((name.into(), path.into()))
}

/// What a process prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measurement {
    platform: String,
    /// Launches of one turn.
    launches: u32,
    build_us: f64,
    first_us: f64,
    /// Of the results.
    sum: f64,
    /// CPU and wall time of each, in microseconds.
    turns: Vec<[f64; 2]>,
}

impl Measurement {
    /// Median CPU (0) or wall (1) time of a launch, in microseconds.
    fn median(&self, which: usize) -> f64 {
        let times: Vec<f64> = self.turns.iter().map(|t| t[which]).collect();
        spread(&times)[1] / f64::from(self.launches)
    }
}

/// A row of the table of kernels.
struct Kernel {
    /// Its source, without `.cl`.
    file: String,
    class: String,
}

/// A kernel, as it was launched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Launched {
    kernel: String,
    size: String,
    local: String,
    offset: u32,
}

impl Launched {
    /// As most programs launch: the block given, no offset.
    fn plain(&self) -> bool {
        self.local == "given" && self.offset == 0
    }
}

/// What a driver needs of a launch: medians over processes, in microseconds.
#[derive(Clone, Serialize)]
struct Cost {
    cpu: f64,
    /// The greatest of the processes' medians over the least.
    noise: f64,
    wall: f64,
    build: f64,
    first: f64,
}

/// Runs the benchmark.
pub fn run(options: &Options) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers");
    let folder = std::env::temp_dir().join(format!("ptxrun-drivers-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(options, &root, &folder);
    std::fs::remove_dir_all(&folder)?;
    let (kernels, rows) = measured?;
    report(options, &kernels, &rows)?;
    Ok(ExitCode::SUCCESS)
}

/// The kernels, and what every process said.
type Measured = (BTreeMap<String, Kernel>, BTreeMap<(Launched, String), Vec<Measurement>>);

fn measure(options: &Options, root: &Path, folder: &Path) -> Result<Measured> {
    build(root, folder, "opencl", &["-O2", "-lOpenCL"])?;
    build(root, folder, "loops", &["-O3", "-march=native"])?;
    let own = [(OURS, &options.icd), (INTERPRETER, &options.icd)];
    for (name, path) in own.into_iter().chain(options.peer.iter().map(|(n, p)| (n.as_str(), p))) {
        let vendors = folder.join(name);
        std::fs::create_dir_all(&vendors)?;
        std::fs::write(vendors.join("only.icd"), library(path)?.as_os_str().as_encoded_bytes())?;
    }
    let (kernels, launches) = launches(options, folder)?;
    if let Some(path) = &options.cuda {
        build(root, folder, "cuda", &["-O2", "-ldl"])?;
        let libraries = folder.join(CUDA);
        std::fs::create_dir_all(&libraries)?;
        std::os::unix::fs::symlink(library(path)?, libraries.join("libcuda.so.1"))?;
        for (kernel, what) in &kernels {
            let fast = if what.class == "relaxed" { "-cl-fast-relaxed-math" } else { "" };
            let built = opencl::Options::parse(fast).map_err(|d| anyhow!("{d:?}"))?;
            let made = with_ours(&root.join("kernels").join(format!("{}.cl", what.file)), &built)?;
            std::fs::write(libraries.join(format!("{kernel}.ptx")), made)?;
        }
    }
    let mut rows: BTreeMap<(Launched, String), Vec<Measurement>> = BTreeMap::new();
    for turn in 0..options.turns {
        for launched in &launches {
            eprintln!(
                "turn {} of {}: {}, {}",
                turn + 1,
                options.turns,
                launched.kernel,
                launched.size
            );
            for name in [OURS].into_iter().chain(others(options)) {
                let class = kernels.get(&launched.kernel).map_or("", |k| k.class.as_str());
                let skip = match name {
                    CUDA => !launched.plain() || class == "images",
                    LOOPS => !launched.plain() || class != LOOPED,
                    INTERPRETER => !launched.plain() || launched.size != "small",
                    _ => false,
                };
                if skip {
                    continue;
                }
                match process(options, root, folder, name, launched) {
                    Ok(row) => {
                        rows.entry((launched.clone(), name.to_owned())).or_default().push(row);
                    }
                    Err(error) => eprintln!("{launched:?} on {name}: {error:#}"),
                }
            }
        }
    }
    Ok((kernels, rows))
}

/// Everything that is measured beside our driver.
fn others(options: &Options) -> impl Iterator<Item = &str> {
    let interpreter = options.interpreter.then_some(INTERPRETER);
    let cuda = options.cuda.is_some().then_some(CUDA);
    options.peer.iter().map(|p| p.0.as_str()).chain(interpreter).chain(cuda).chain([LOOPS])
}

/// Builds one of the host programs.
fn build(root: &Path, folder: &Path, name: &str, options: &[&str]) -> Result<()> {
    let built = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .arg(folder.join(name))
        .arg(root.join(format!("{name}.c")))
        .args(options)
        .arg("-lm")
        .status()
        .context("cc")?;
    if !built.success() {
        bail!("the host program is not built; it needs the headers and loader of OpenCL");
    }
    Ok(())
}

/// The kernels that are asked for, and all their launches.
fn launches(options: &Options, folder: &Path) -> Result<(BTreeMap<String, Kernel>, Vec<Launched>)> {
    let list = Command::new(folder.join("opencl")).arg("--list").output()?;
    let mut kernels = BTreeMap::new();
    let mut launches = Vec::new();
    for line in String::from_utf8(list.stdout)?.lines() {
        let [kernel, file, class, size, fixed] = line.split(' ').collect::<Vec<_>>()[..] else {
            bail!("what is `{line}`?");
        };
        let meant =
            options.only.is_empty() || options.only.iter().any(|o| kernel.contains(o.as_str()));
        if !meant || !options.size.iter().any(|s| s == size) {
            continue;
        }
        kernels
            .insert(kernel.to_owned(), Kernel { file: file.to_owned(), class: class.to_owned() });
        for local in options.local.iter().filter(|l| *l == "given" || fixed == "0") {
            for offset in &options.offset {
                let launched = Launched {
                    kernel: kernel.to_owned(),
                    size: size.to_owned(),
                    local: local.clone(),
                    offset: *offset,
                };
                if launched.plain() || size == "medium" || class == "launches" {
                    launches.push(launched);
                }
            }
        }
    }
    Ok((kernels, launches))
}

/// The library that a path is, or that the `.icd` file there names.
fn library(path: &Path) -> Result<PathBuf> {
    if path.extension().is_some_and(|e| e == "icd") {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        return Ok(PathBuf::from(text.trim()));
    }
    path.canonicalize().with_context(|| path.display().to_string())
}

/// One measurement.
fn process(
    options: &Options,
    root: &Path,
    folder: &Path,
    driver: &str,
    launched: &Launched,
) -> Result<Measurement> {
    let host = folder.join(match driver {
        CUDA => "cuda",
        LOOPS => "loops",
        _ => "opencl",
    });
    let mut command = if options.threads > 0 {
        // Ours asks for the processors that it may use; others are told by their variables too.
        let mut command = Command::new("taskset");
        command.args(["-c", &format!("0-{}", options.threads - 1)]).arg(host);
        command
    } else {
        Command::new(host)
    };
    let Launched { kernel, size, local, offset } = launched;
    let vendors = folder.join(driver);
    if driver == LOOPS {
        command.args([kernel, size]);
    } else if driver == CUDA {
        command.arg(&vendors).args([kernel, size]).env("LD_LIBRARY_PATH", &vendors);
    } else {
        command.arg(root.join("kernels")).args([kernel, size, local]).arg(offset.to_string());
        command.env("OCL_ICD_VENDORS", &vendors);
        if driver == INTERPRETER {
            command.env("PTXRUN_BACKEND", "interp");
        }
    }
    command.arg(options.seconds.to_string());
    // Each build is one of a source that was never seen.
    command.env("PTXRUN_CACHE_DIR", "").env("POCL_KERNEL_CACHE", "0");
    if options.threads > 0 {
        let threads = options.threads.to_string();
        // PoCL up to 3 and from 4 on; Intel's runtime.
        command.env("POCL_MAX_PTHREAD_COUNT", &threads).env("POCL_CPU_MAX_CU_COUNT", &threads);
        command.env("DPCPP_CPU_NUM_CUS", &threads);
        command.env("CL_CONFIG_CPU_TBB_NUM_WORKERS", &threads);
    }
    let out = command.output()?;
    if !out.status.success() {
        bail!("{}: {}", out.status, String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(serde_json::from_slice(&out.stdout)?)
}

fn cost(rows: &[Measurement]) -> Cost {
    let median = |f: &dyn Fn(&Measurement) -> f64| spread(&rows.iter().map(f).collect::<Vec<_>>());
    let [least, cpu, most] = median(&|r| r.median(0));
    Cost {
        cpu,
        noise: most / least,
        wall: median(&|r| r.median(1))[1],
        build: median(&|r| r.build_us)[1],
        first: median(&|r| r.first_us)[1],
    }
}

fn mean(logs: &[f64]) -> f64 {
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

/// The table, its means, and the file.
fn report(
    options: &Options,
    kernels: &BTreeMap<String, Kernel>,
    rows: &BTreeMap<(Launched, String), Vec<Measurement>>,
) -> Result<()> {
    let mut launches: Vec<&Launched> = rows.keys().map(|(l, _)| l).collect();
    launches.dedup();
    let platforms: BTreeMap<&str, &str> =
        rows.iter().map(|((_, d), r)| (d.as_str(), r[0].platform.as_str())).collect();
    println!("{}, {} thread(s) (0: all)", cpu(), options.threads);
    platforms.iter().for_each(|(name, version)| println!("{name}: {version}"));
    println!(
        "microseconds of CPU a launch (wall time), the greatest of the processes' medians over the least; the build and \
         the first launch; `x`: times our CPU time\n"
    );
    let mut logs: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    let mut out = Vec::new();
    for launched in launches {
        let Launched { kernel, size, local, offset } = launched;
        let at = |driver: &str| rows.get(&(launched.clone(), driver.to_owned()));
        let Some(own) = at(OURS) else { continue };
        let (sum, ours) = (own[0].sum, cost(own));
        let class = kernels.get(kernel).map_or("", |k| k.class.as_str());
        let name = format!(
            "{kernel}, {size}{}{}",
            if local == "none" { ", any block" } else { "" },
            if *offset > 0 { format!(", +{offset}") } else { String::new() }
        );
        print!("{name:<42} {:>10.1} ({:>8.1}) ±{:.2}", ours.cpu, ours.wall, ours.noise);
        print!(" {:>8.0} {:>8.0}", ours.build, ours.first);
        let mut one = serde_json::json!({
            "kernel": kernel, "class": class, "size": size, "local": local, "offset": offset,
            "kept_apart": KEPT_APART.contains(&kernel.as_str()), OURS: &ours,
        });
        for driver in others(options) {
            let Some(theirs) = at(driver) else {
                print!("{:>34}", "-");
                continue;
            };
            // Runtimes round sums of floats in different orders.
            let differs = (theirs[0].sum - sum).abs() > 1e-3 * sum.abs();
            let theirs = cost(theirs);
            let ratio = theirs.cpu / ours.cpu;
            print!(" {driver:>8} {:>10.1} ({:>8.1}) ±{:.2}", theirs.cpu, theirs.wall, theirs.noise);
            print!(" {:>8.0} {:>8.0} x{ratio:.2}", theirs.build, theirs.first);
            print!("{}", if differs { " OTHER RESULTS" } else { "" });
            let apart = KEPT_APART.contains(&kernel.as_str());
            // With `-cl-fast-relaxed-math`, which nobody has by default.
            let relaxed = class == "relaxed";
            let groups = [
                "all".to_owned(),
                if apart { "kept apart" } else { "not kept apart" }.into(),
                format!("class {class}"),
                format!("size {size}"),
                if *offset > 0 { "with an offset" } else { "without an offset" }.into(),
                if local == "none" { "any block" } else { "block given" }.into(),
            ];
            for group in groups.into_iter().filter(|g| !relaxed || g.starts_with("class")) {
                logs.entry((driver.to_owned(), group)).or_default().push(ratio.ln());
            }
            one[driver] =
                serde_json::json!({"cost": theirs, "ratio": ratio, "other_results": differs});
        }
        println!();
        out.push(one);
    }
    println!();
    for ((driver, group), logs) in &logs {
        println!("{driver}, {group}: {:.2} times our CPU time, of {}", mean(logs), logs.len());
    }
    if let Some(path) = &options.json {
        let means: BTreeMap<String, f64> =
            logs.iter().map(|((d, g), l)| (format!("{d}, {g}"), mean(l))).collect();
        let json = serde_json::json!({
            "cpu": cpu(), "threads": options.threads, "platforms": platforms, "rows": out, "means": means,
        });
        std::fs::write(path, serde_json::to_string_pretty(&json)?)
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}
