//! The runtime of this workspace.

use std::path::Path;

use anyhow::{Result, bail};
use ptx_runtime::check::Checks;
use ptx_runtime::{
    Backend, Context, DeviceOptions, DevicePtr, Engine, KernelArg, LaunchConfig, Module, Verified,
    opencl::Options,
};

use super::cases::{Arg, Case};
use crate::opencl::compilers::with_ours;

/// A case on a device.
pub struct Ready {
    context: Context,
    module: Module,
    pointers: Vec<Option<DevicePtr>>,
}

impl Ready {
    pub fn under(case: &Case, ptx: &str, checks: Checks) -> Result<Ready> {
        let context = Context::new(&DeviceOptions { checks, ..DeviceOptions::default() })?;
        let module = match Verified::new(ptx, case.name) {
            Ok(verified) => Module::from_verified(&context, &verified)?,
            Err(findings) => bail!("{findings}"),
        };
        let mut pointers = Vec::new();
        for arg in &case.args {
            pointers.push(match arg {
                Arg::Buffer(bytes) => Some(context.alloc(bytes.len() as u64)?),
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
            if let (Arg::Buffer(bytes), Some(pointer)) = (arg, pointer) {
                self.context.copy_to_device(*pointer, bytes)?;
            }
        }
        Ok(())
    }

    pub fn launch(&self, case: &Case, backend: Backend, threads: u32) -> Result<Engine> {
        let args = case
            .args
            .iter()
            .zip(&self.pointers)
            .map(|(arg, pointer)| match (arg, pointer) {
                (Arg::Buffer(..), Some(pointer)) => KernelArg::Pointer(*pointer),
                (Arg::Buffer(bytes), None) => KernelArg::Bytes(bytes.clone()),
                (Arg::Word(word), _) => KernelArg::Bytes(word.to_vec()),
            })
            .collect();
        let (grid, block) = (case.grid, case.block);
        let threads = Some(threads);
        let config =
            LaunchConfig { grid, block, args, backend, threads, ..LaunchConfig::default() };
        Ok(self.context.launch(&self.module, case.entry, config)?.engine)
    }
}

/// PTX of a case.
pub fn ptx(case: &Case) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(case.file);
    with_ours(&path, &Options::default())
}
