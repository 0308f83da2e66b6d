//! Times of host programs in C through the OpenCL loader: our driver and others, as their users meet them.
//!
//! `xtask/drivers/host.c` is the program and has the table of kernels. Each measurement is a process of its own whose
//! loader finds one driver; drivers take turns, so that what else the machine does meets all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::spread::{cpu, spread};

/// `cargo xtask bench drivers`.
#[derive(Args)]
pub struct Options {
    /// Our driver, built for release
    #[arg(long, default_value = "target/release/libptxrun_core.so")]
    icd: PathBuf,
    /// Other drivers: a name and the library, or an `.icd` file that names it
    #[arg(long, value_delimiter = ',', default_value = "pocl=/etc/OpenCL/vendors/pocl.icd", value_parser = peer)]
    peer: Vec<(String, PathBuf)>,
    /// Only kernels whose name contains one of these
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
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
const KEPT_APART: [&str; 11] = [
    "barrier_loop",
    "fft256",
    "gather",
    "grid_stride",
    "histogram",
    "image_box",
    "mandelbrot",
    "polynomial",
    "scan",
    "sha256",
    "stencil_narrow",
];

fn peer(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("a name, `=` and a path")?;
    Ok((name.into(), path.into()))
}

/// What a process prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measurement {
    kernel: String,
    class: String,
    local: String,
    offset: u32,
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

/// A kernel, as it was launched.
type Launched = (String, String, u32);

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
    let (classes, rows) = measured?;
    report(options, &classes, &rows)?;
    Ok(ExitCode::SUCCESS)
}

/// Class of each kernel, and what every process said.
type Measured = (BTreeMap<String, String>, BTreeMap<(Launched, String), Vec<Measurement>>);

fn measure(options: &Options, root: &Path, folder: &Path) -> Result<Measured> {
    let host = folder.join("host");
    let built = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&host)
        .arg(root.join("host.c"))
        .args(["-lOpenCL", "-lm"])
        .status()
        .context("cc")?;
    if !built.success() {
        bail!("the host program is not built; it needs the headers and loader of OpenCL");
    }
    let mut drivers = vec![("ptxrun".to_owned(), library(&options.icd)?)];
    for (name, path) in &options.peer {
        drivers.push((name.clone(), library(path)?));
    }
    for (name, library) in &drivers {
        let vendors = folder.join(name);
        std::fs::create_dir_all(&vendors)?;
        std::fs::write(vendors.join("only.icd"), library.as_os_str().as_encoded_bytes())?;
    }
    let list = Command::new(&host).arg("--list").output()?;
    let mut classes = BTreeMap::new();
    let mut launches = Vec::new();
    for line in String::from_utf8(list.stdout)?.lines() {
        let [name, class, fixed] = line.split(' ').collect::<Vec<_>>()[..] else {
            bail!("what is `{line}`?");
        };
        if !options.only.is_empty() && !options.only.iter().any(|o| name.contains(o.as_str())) {
            continue;
        }
        classes.insert(name.to_owned(), class.to_owned());
        for local in options.local.iter().filter(|l| *l == "given" || fixed == "0") {
            for offset in &options.offset {
                launches.push((name.to_owned(), local.clone(), *offset));
            }
        }
    }
    let mut rows: BTreeMap<(Launched, String), Vec<Measurement>> = BTreeMap::new();
    for turn in 0..options.turns {
        for launched in &launches {
            eprintln!("turn {} of {}: {}", turn + 1, options.turns, launched.0);
            for (name, _) in &drivers {
                match process(options, root, folder, &host, name, launched) {
                    Ok(row) => {
                        rows.entry((launched.clone(), name.clone())).or_default().push(row);
                    }
                    Err(error) => eprintln!("{launched:?} on {name}: {error:#}"),
                }
            }
        }
    }
    Ok((classes, rows))
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
    host: &Path,
    driver: &str,
    (kernel, local, offset): &Launched,
) -> Result<Measurement> {
    let mut command = if options.threads > 0 {
        // Ours asks for the processors that it may use; others are told by their variables too.
        let mut command = Command::new("taskset");
        command.args(["-c", &format!("0-{}", options.threads - 1)]).arg(host);
        command
    } else {
        Command::new(host)
    };
    command.arg(root.join("kernels")).args([kernel, local]);
    command.args([offset.to_string(), options.seconds.to_string()]);
    command.env("OCL_ICD_VENDORS", folder.join(driver));
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
    classes: &BTreeMap<String, String>,
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
        let (kernel, local, offset) = launched;
        let at = |driver: &str| rows.get(&(launched.clone(), driver.to_owned()));
        let Some(own) = at("ptxrun") else { continue };
        let (sum, ours) = (own[0].sum, cost(own));
        let name = format!(
            "{kernel}{}{}",
            if local == "none" { ", any block" } else { "" },
            if *offset > 0 { format!(", +{offset}") } else { String::new() }
        );
        print!("{name:<34} {:>10.1} ({:>8.1}) ±{:.2}", ours.cpu, ours.wall, ours.noise);
        print!(" {:>8.0} {:>8.0}", ours.build, ours.first);
        let mut one = serde_json::json!({
            "kernel": kernel, "class": classes.get(kernel), "local": local, "offset": offset,
            "kept_apart": KEPT_APART.contains(&kernel.as_str()), "ptxrun": &ours,
        });
        for (driver, _) in &options.peer {
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
            let class = classes.get(kernel).map_or("", String::as_str);
            let relaxed = class == "relaxed";
            let groups = [
                "all".to_owned(),
                if apart { "kept apart" } else { "not kept apart" }.into(),
                format!("class {class}"),
                if *offset > 0 { "with an offset" } else { "without an offset" }.into(),
                if local == "none" { "any block" } else { "block given" }.into(),
            ];
            for group in groups.into_iter().filter(|g| !relaxed || g.starts_with("class")) {
                logs.entry((driver.clone(), group)).or_default().push(ratio.ln());
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
