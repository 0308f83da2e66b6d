//! The runtime of this workspace.

use std::path::Path;

use anyhow::{Result, bail};
use ptx_runtime::check::Checks;
use ptx_runtime::{
    Backend, Context, DeviceOptions, DevicePtr, Engine, KernelArg, LaunchConfig, Module, Verified,
    opencl::Options,
};

use super::{Arg, Case, Measurement, time};
use crate::opencl::compilers::with_ours;

/// A case on a device.
pub struct Ready {
    context: Context,
    module: Module,
    pointers: Vec<Option<DevicePtr>>,
}

impl Ready {
    pub fn new(case: &Case, ptx: &str) -> Result<Ready> {
        Ready::under(case, ptx, Checks::default())
    }

    /// With checks.
    pub fn under(case: &Case, ptx: &str, checks: Checks) -> Result<Ready> {
        let context = Context::new(&DeviceOptions { checks, ..DeviceOptions::default() })?;
        let module = match Verified::new(ptx, case.name) {
            Ok(verified) => Module::from_verified(&context, &verified)?,
            Err(findings) => bail!("{findings}"),
        };
        let mut pointers = Vec::new();
        for arg in &case.args {
            pointers.push(match arg {
                Arg::Buffer(_, bytes) => Some(context.alloc(bytes.len() as u64)?),
                Arg::Word(_) => None,
            });
        }
        let ready = Ready { context, module, pointers };
        ready.fill(case)?;
        Ok(ready)
    }

    /// Writes the buffers' first contents.
    pub fn fill(&self, case: &Case) -> Result<()> {
        for (arg, pointer) in case.args.iter().zip(&self.pointers) {
            if let (Arg::Buffer(_, bytes), Some(pointer)) = (arg, pointer) {
                self.context.copy_to_device(*pointer, bytes)?;
            }
        }
        Ok(())
    }

    pub fn launch(
        &self,
        case: &Case,
        backend: Backend,
        fast_nan: bool,
        threads: u32,
    ) -> Result<Engine> {
        let args = case
            .args
            .iter()
            .zip(&self.pointers)
            .map(|(arg, pointer)| match (arg, pointer) {
                (Arg::Buffer(..), Some(pointer)) => KernelArg::Pointer(*pointer),
                (Arg::Buffer(_, bytes), None) => KernelArg::Bytes(bytes.clone()),
                (Arg::Word(word), _) => KernelArg::Bytes(word.to_vec()),
            })
            .collect();
        let (grid, block) = (case.grid, case.block);
        let threads = Some(threads);
        let config = LaunchConfig {
            grid,
            block,
            args,
            backend,
            fast_nan,
            threads,
            ..LaunchConfig::default()
        };
        Ok(self.context.launch(&self.module, case.entry, config)?.engine)
    }

    /// The buffers' contents.
    pub fn results(&self, case: &Case) -> Result<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        for (arg, pointer) in case.args.iter().zip(&self.pointers) {
            if let (Arg::Buffer(_, bytes), Some(pointer)) = (arg, pointer) {
                let mut now = vec![0; bytes.len()];
                self.context.copy_from_device(*pointer, &mut now)?;
                all.push(now);
            }
        }
        Ok(all)
    }
}

pub fn ptx(case: &Case) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(case.file);
    with_ours(&path, &Options::default())
}

/// Measures one kernel.
pub fn run(case: &Case, engine: &str, threads: u32, launches: usize) -> Result<Measurement> {
    let jit = engine != "interp";
    let backend = if jit { Backend::Jit } else { Backend::Interp };
    let fast_nan = engine == "jit-fast-nan";
    let (ptx, build) = time(|| ptx(case));
    let ptx = ptx?;
    let ((ready, engine), first) = {
        let (result, first) = time(|| -> Result<_> {
            let ready = Ready::new(case, &ptx)?;
            let engine = ready.launch(case, backend, fast_nan, threads)?;
            Ok((ready, engine))
        });
        (result?, first)
    };
    if jit {
        // The first launch has the interpreter's results, or nothing is worth measuring.
        let other = Ready::new(case, &ptx)?;
        other.launch(case, Backend::Interp, false, threads)?;
        if other.results(case)? != ready.results(case)? {
            bail!("compiled code and interpreter differ");
        }
    }
    let mut warm = Vec::new();
    for _ in 0..if jit { launches } else { launches.div_ceil(6) } {
        if case.reset {
            ready.fill(case)?;
        }
        let (done, took) = time(|| ready.launch(case, backend, fast_nan, threads));
        done?;
        warm.push(took);
    }
    let compile = match engine {
        Engine::Compiled(c) => c.compiled_in.map(|t| t.as_secs_f64() * 1e6),
        _ => None,
    };
    Ok(Measurement {
        kernel: case.name.into(),
        build,
        first,
        warm,
        engine: engine.to_string(),
        compile,
    })
}
