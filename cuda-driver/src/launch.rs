//! Kernel launches: what they need, what they may be, and what their faults are called.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ptx_runtime::{FaultKind, LaunchConfig, LaunchError, TimingError, timing};

use crate::context::Context;
use crate::ctrl_c;
use crate::error::{Error, Result};
use crate::log;
use crate::module::Function;
use crate::schedule;

/// A kernel launch.
#[derive(Clone)]
pub struct KernelLaunch {
    /// The kernel.
    pub function: Arc<Function>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// Blocks per cluster; `[0, 0, 0]` takes what the kernel asks for.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The parameter block.
    pub params: Vec<u8>,
    /// All blocks make progress together.
    pub cooperative: bool,
}

impl KernelLaunch {
    /// Does it.
    pub fn run(&self, context: &Arc<Context>) -> Result {
        let stack = context.limits().get(&0).copied().unwrap_or(0).min(1 << 20) as u32;
        let defaults = LaunchConfig::default();
        let config = LaunchConfig {
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            shared: self.shared,
            params: Some(self.params.clone()),
            threads: Some(schedule::threads()),
            // The interpreter's own choice is more than the default limit.
            stack: (stack > 1 << 16).then_some(stack),
            cooperative: self.cooperative,
            backend: context.driver.backend,
            timeout: context.driver.timeout,
            cancel: ctrl_c::cancel(),
            ..defaults
        };
        let module = self.function.module()?;
        let name = &self.function.name;
        let fail = |error: &LaunchError| {
            let text = error.render(module.module.verified(), false);
            environment::say!("{text}");
            log::note(&text);
            code(error)
        };
        let clock = &context.driver.clock;
        if !clock.is_modelled() {
            let launched =
                context.device.launch_ready(&module.module, self.function.ready()?, config);
            return launched.map(|_| ()).map_err(|error| fail(&error));
        }
        let (profile, options) = (&context.driver.profile, timing::Options::default());
        match context.device.simulate(&module.module, name, config, profile, &options) {
            Ok((report, _)) => {
                clock.spend(|| (report.summary.microseconds * 1e3) as u64);
                Ok(())
            }
            Err(TimingError::Launch(error)) => Err(fail(&error)),
            Err(error) => {
                environment::sayln!("{error}");
                log::note(&error.to_string());
                Err(Error::LaunchOutOfResources)
            }
        }
    }
}

/// The code that a device reports for a failed launch.
fn code(error: &LaunchError) -> Error {
    let LaunchError::Fault(report) = error else {
        return match error {
            LaunchError::Unsupported(_) => Error::NotSupported,
            LaunchError::Configuration(ptx_runtime::EngineError::LocalMemory { .. }) => {
                Error::LaunchOutOfResources
            }
            _ => Error::InvalidValue,
        };
    };
    match report.kind {
        // The stack lies in local memory; what lies behind it is nobody's.
        FaultKind::OutOfBounds
        | FaultKind::NullPointer
        | FaultKind::ReadOnly
        | FaultKind::StackOverflow => Error::IllegalAddress,
        FaultKind::Misaligned => Error::MisalignedAddress,
        // An H200 runs on at such a target and finds no instruction there.
        FaultKind::Operand | FaultKind::CallTarget | FaultKind::BranchIndex => {
            Error::IllegalInstruction
        }
        FaultKind::Assertion => Error::Assert,
        FaultKind::Deadlock | FaultKind::DivergentBarrier | FaultKind::Timeout => {
            Error::LaunchTimeout
        }
        FaultKind::Trap
        | FaultKind::Breakpoint
        | FaultKind::BadFree
        | FaultKind::StepLimit
        | FaultKind::Cancelled => Error::LaunchFailed,
    }
}

impl Function {
    /// Checks a launch as far as the device and the kernel's own limits go.
    pub fn check_launch(&self, context: &Context, launch: &KernelLaunch) -> Result {
        let limits = &context.driver.profile.limits;
        let resources = self.resources()?;
        let within = |v: &[u32; 3], most: &[u32; 3]| (0..3).all(|d| (1..=most[d]).contains(&v[d]));
        let threads: u64 = launch.block.iter().map(|n| u64::from(*n)).product();
        if !within(&launch.grid, &limits.max_grid_dim)
            || !within(&launch.block, &limits.max_block_dim)
            || threads > u64::from(limits.max_threads_per_block)
        {
            return Err(Error::InvalidValue);
        }
        let tuning = &resources.tuning;
        if threads > u64::from(self.max_threads()?)
            || tuning.req_ntid.is_some_and(|want| want != launch.block)
        {
            return Err(Error::InvalidValue);
        }
        if resources.local > limits.local_bytes_per_thread {
            return Err(Error::LaunchOutOfResources);
        }
        if launch.shared > self.max_dynamic.load(Ordering::Relaxed).max(0) as u32 {
            return Err(Error::InvalidValue);
        }
        let cluster = match tuning.req_ncta_per_cluster {
            Some(c) if launch.cluster == [0; 3] => c,
            Some(c) if launch.cluster != c => return Err(Error::InvalidClusterSize),
            None if launch.cluster == [0; 3] => [1; 3],
            _ => launch.cluster,
        };
        let ranks: u32 = cluster.iter().product();
        let most = if self.large_clusters.load(Ordering::Relaxed) { 16 } else { 8 };
        let most = tuning.max_cluster_rank.map_or(most, |rank| most.min(rank));
        if ranks == 0 || ranks > most || (0..3).any(|d| !launch.grid[d].is_multiple_of(cluster[d]))
        {
            return Err(Error::InvalidClusterSize);
        }
        if launch.cooperative {
            let blocks: u64 = launch.grid.iter().map(|n| u64::from(*n)).product();
            let resident =
                u64::from(self.resident_blocks(context, threads as u32, launch.shared)?);
            let sms = u64::from(context.driver.profile.device.multiprocessors);
            if blocks > resident * sms {
                return Err(Error::CooperativeLaunchTooLarge);
            }
        }
        Ok(())
    }
}
