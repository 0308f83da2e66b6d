//! Launches on memory of the host program.
//!
//! An argument is an array, `{"host": ADDRESS, "bytes": N, "name": "x"}`, or a value, `{"hex": "0000803f"}`. Kernels
//! work on the array where it is: nothing is copied. Arrays may overlap, as views do; what overlaps is lent as one
//! range. The caller keeps every array alive and writable until the reply comes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ptx_report::choice::unmet;
use ptx_report::profile::{Document, ProfiledLaunch, Shown, text};
use ptx_report::text::Paint;
use ptx_report::{advise, html, source};
use ptx_runtime::timing::{Config, Options, WarpChoice};
use ptx_runtime::{
    Backend, DevicePtr, KernelArg, LaunchConfig, LaunchError, LaunchStats, TimingError, device,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::request::error;
use crate::session::{self, Loaded};

/// A request to run a kernel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Launch {
    module: u64,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    shared: u32,
    args: Vec<Argument>,
    /// `auto`, `interp` or `jit`; what `PTXRUN_BACKEND` says without it.
    backend: Option<String>,
    /// Host threads.
    threads: Option<u32>,
    /// Seconds.
    timeout: Option<f64>,
    /// The device whose time is wanted.
    profile: Option<String>,
    /// Registers per thread, for the model.
    registers: Option<u32>,
    /// Blocks to simulate, for the model; the rest is extrapolated.
    sample: Option<u64>,
    /// The warp that is followed, by block and warp; that of the page's pictures without it.
    warp: Option<(u64, u32)>,
    /// Accesses of it that are shown: line of the PTX text and which of its executions.
    #[serde(default)]
    accesses: Vec<(u32, u64)>,
}

/// An argument of a kernel.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Argument {
    /// Memory of the host program.
    Array { host: u64, bytes: u64, name: String },
    /// A value, as pairs of hexadecimal digits.
    Value { hex: String },
}

/// Host memory that the kernel reaches: one range, and where it is on the device.
struct Lent {
    host: u64,
    bytes: u64,
    name: String,
    at: u64,
}

/// Takes back what was lent, however the launch ends.
struct Loan<'a>(&'a Loaded, Vec<Lent>);

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        for lent in &self.1 {
            // It was lent a moment ago, and nobody else takes it back.
            let _ = self.0.context.free(DevicePtr(lent.at));
        }
    }
}

/// The ranges of all arrays: those that overlap joined to one.
fn ranges(args: &[Argument]) -> Vec<Lent> {
    let mut all: Vec<Lent> = args
        .iter()
        .filter_map(|arg| match arg {
            Argument::Array { host, bytes, name } if *bytes > 0 => {
                Some(Lent { host: *host, bytes: *bytes, name: name.clone(), at: 0 })
            }
            _ => None,
        })
        .collect();
    all.sort_by_key(|lent| lent.host);
    all.dedup_by(|next, last| {
        let overlap = next.host < last.host + last.bytes;
        if overlap {
            last.bytes = last.bytes.max(next.host + next.bytes - last.host);
            if !last.name.split(", ").any(|name| name == next.name) {
                last.name = format!("{}, {}", last.name, next.name);
            }
        }
        overlap
    });
    all
}

fn lend<'a>(loaded: &'a Loaded, args: &[Argument]) -> Result<Loan<'a>, Value> {
    let mut loan = Loan(loaded, Vec::new());
    for mut lent in ranges(args) {
        let host = std::ptr::with_exposed_provenance_mut(lent.host as usize);
        // SAFETY: the caller of `ptxrun_request` keeps arrays alive and writable until the reply; `Loan` takes them
        // back before.
        let at = unsafe { loaded.context.memory().map_host(host, lent.bytes, &lent.name) };
        lent.at = at.map_err(|e| error("memory", &e.to_string()))?;
        loan.1.push(lent);
    }
    Ok(loan)
}

fn argument(arg: &Argument, lent: &[Lent]) -> Result<KernelArg, Value> {
    match arg {
        // An array without elements has no address.
        Argument::Array { bytes: 0, .. } => Ok(KernelArg::Pointer(DevicePtr(0))),
        Argument::Array { host, .. } => {
            let within = |l: &&Lent| *host >= l.host && *host - l.host < l.bytes;
            let lent = lent.iter().find(within);
            let lent = lent.ok_or_else(|| error("memory", "an array that was not lent"))?;
            Ok(KernelArg::Pointer(DevicePtr(lent.at + (host - lent.host))))
        }
        Argument::Value { hex } => {
            let digit = |i: usize| u8::from_str_radix(hex.get(i..i + 2).unwrap_or("-"), 16);
            let bytes: Result<Vec<u8>, _> = (0..hex.len()).step_by(2).map(digit).collect();
            bytes
                .map(KernelArg::Bytes)
                .map_err(|_| error("request", "a value that is not hexadecimal"))
        }
    }
}

/// Runs a kernel and, where a device is named, says what it would cost there.
pub(crate) fn launch(launch: Launch) -> Value {
    let Some(loaded) = session::module(launch.module) else {
        return error("module", "the module is not loaded any more");
    };
    run(&loaded, launch).unwrap_or_else(|error| error)
}

fn run(loaded: &Loaded, launch: Launch) -> Result<Value, Value> {
    let backend = match launch.backend.as_deref() {
        None => Backend::from_environment().map_err(|e| error("backend", &e.to_string()))?,
        Some("auto") => Backend::Auto,
        Some("interp") => Backend::Interp,
        Some("jit") => Backend::Jit,
        Some(other) => {
            let message = format!("backend {other:?}: there are auto, interp and jit");
            return Err(error("backend", &message));
        }
    };
    let timeout = match launch.timeout {
        Some(seconds) => Some(
            Duration::try_from_secs_f64(seconds)
                .map_err(|e| error("timeout", &format!("{seconds} s: {e}")))?,
        ),
        None => None,
    };
    let profile = launch.profile.as_deref().map(device::profile).transpose();
    let profile = profile.map_err(|e| error("device", &e.to_string()))?;
    let _turn = loaded.turn.lock().unwrap_or_else(PoisonError::into_inner);
    let loan = lend(loaded, &launch.args)?;
    let args: Vec<KernelArg> =
        launch.args.iter().map(|arg| argument(arg, &loan.1)).collect::<Result<_, _>>()?;
    let printed = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&printed);
    let config = LaunchConfig {
        grid: launch.grid,
        block: launch.block,
        shared: launch.shared,
        args,
        threads: launch.threads,
        timeout,
        backend,
        print: Some(Box::new(move |bytes: &[u8]| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        })),
        ..LaunchConfig::default()
    };
    #[cfg(unix)]
    let watch = c_border::interrupt::Watch::new(false);
    #[cfg(unix)]
    let config = LaunchConfig { cancel: Some(watch.cancel()), ..config };
    let start = Instant::now();
    let context = &loaded.context;
    let followed = launch.warp.map(|(block, warp)| WarpChoice { block, warp });
    let chosen = followed.is_some() || !launch.accesses.is_empty();
    let followed = followed.unwrap_or_default();
    let done = match &profile {
        None => context.launch(&loaded.module, &launch.kernel, config).map(|s| (s, None)),
        Some(profile) => {
            let options = Options {
                registers: launch.registers,
                config: Config {
                    max_blocks: launch.sample,
                    max_instructions: launch.sample.is_none().then_some(Config::SOME_SECONDS),
                    timeline: Some((0, 20_000)),
                    warp: Some(followed),
                },
                accesses: launch.accesses.clone(),
            };
            match context.simulate(&loaded.module, &launch.kernel, config, profile, &options) {
                Ok((report, stats)) => Ok((stats, Some(report))),
                Err(TimingError::Launch(error)) => Err(error),
                Err(TimingError::Device(refused)) => {
                    return Err(error("device", &refused.to_string()));
                }
            }
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    #[cfg(unix)]
    drop(watch);
    drop(loan);
    let stdout = printed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    let (stats, report) = done.map_err(|e| refused(loaded, &e, &stdout))?;
    let mut reply = ended(&stats, seconds, &stdout);
    if let Some(report) = report {
        let profiled = ProfiledLaunch {
            module: loaded.name.clone(),
            advice: advise(&report),
            source: source::lines(&report, &|_, _| None),
            report,
        };
        let shown = Shown { all: false, warp: chosen };
        reply["text"] = text(&profiled, shown, Paint(false)).into();
        let launches = vec![profiled];
        let unmet = unmet(&launches, followed, &launch.accesses).filter(|_| chosen);
        if let Some(message) = unmet {
            return Err(error("choice", &message));
        }
        reply["html"] = html::page(&launches).into();
        let document = Document { ok: true, launches };
        reply["profile"] = serde_json::to_value(document).unwrap_or_default();
    }
    Ok(reply)
}

fn ended(stats: &LaunchStats, seconds: f64, stdout: &str) -> Value {
    json!({
        "ok": true, "stdout": stdout, "engine": stats.engine.to_string(), "seconds": seconds,
        "warp_instructions": stats.warp_instructions,
        "thread_instructions": stats.thread_instructions,
    })
}

fn refused(loaded: &Loaded, error: &LaunchError, stdout: &str) -> Value {
    let verified = loaded.module.verified();
    let mut data = error.to_json(verified);
    data["message"] = error.to_string().into();
    data["report"] = error.render(verified, false).trim_end().into();
    json!({"ok": false, "stdout": stdout, "error": data})
}
