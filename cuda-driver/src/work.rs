//! What streams do: launches, copies, fills, calls of the host.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ptx_runtime::{FaultKind, LaunchConfig, LaunchError};

use crate::block::{self, Block};
use crate::context::Context;
use crate::copy::Copy3d;
use crate::error::{Error, Result};
use crate::ffi::{self, HostFn, Raw, StreamFn};
use crate::graph::Held;
use crate::module::Function;
use crate::schedule;
use crate::stream::Event;

/// A kernel launch.
#[derive(Clone)]
pub struct Launch {
    /// The kernel.
    pub function: Arc<Function>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// Blocks per cluster.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The parameter block.
    pub params: Vec<u8>,
    /// All blocks make progress together.
    pub cooperative: bool,
}

/// A fill of memory.
#[derive(Clone)]
pub struct Fill {
    /// First address.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// The element, little-endian.
    pub value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub element: u32,
    /// Elements of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

/// One piece of work.
#[derive(Clone)]
pub enum Work {
    /// Nothing; only the order counts.
    Nothing,
    /// A kernel.
    Kernel(Launch),
    /// A copy.
    Copy(Box<Copy3d>),
    /// A fill.
    Fill(Fill),
    /// A function of the host.
    Host(HostFn, Raw),
    /// A callback: function, stream handle, user data.
    Callback(StreamFn, usize, Raw),
    /// Notes the time.
    Stamp(Arc<OnceLock<Instant>>),
    /// Records an event, as a node.
    Record(Arc<Event>),
    /// Waits for an event, as a node.
    Await(Arc<Event>),
    /// Frees memory.
    Free(u64, Box<Block>),
    /// Writes a value of 4 or 8 bytes.
    Write(u64, u64, u32),
    /// Waits until a value of 4 or 8 bytes compares as wanted (`CUstreamWaitValue_flags`).
    Wait(u64, u64, u32, u32),
    /// The nodes of a graph in order.
    Graph(Arc<Vec<Work>>),
    /// Keeps user objects until here.
    Hold(Arc<Vec<Held>>),
}

impl Work {
    /// `CUgraphNodeType`.
    pub fn node_type(&self) -> u32 {
        match self {
            Work::Kernel(_) => 0,
            Work::Copy(_) => 1,
            Work::Fill(_) => 2,
            Work::Host(..) | Work::Callback(..) => 3,
            Work::Graph(_) => 4,
            Work::Nothing | Work::Stamp(_) | Work::Hold(_) => 5,
            Work::Await(_) => 6,
            Work::Record(_) => 7,
            Work::Free(..) => 11,
            Work::Write(..) | Work::Wait(..) => 12,
        }
    }

    /// Work that must not be left out when an earlier kernel has faulted.
    pub fn runs_after_faults(&self) -> bool {
        matches!(self, Work::Stamp(_) | Work::Free(..) | Work::Callback(..))
    }

    /// Does it.
    pub fn run(&self, context: &Arc<Context>) -> Result {
        let memory = context.device.memory();
        match self {
            Work::Nothing | Work::Hold(_) => Ok(()),
            Work::Kernel(launch) => launch.run(context),
            Work::Copy(copy) => copy.run(memory),
            Work::Fill(fill) => fill.run(context),
            Work::Host(f, data) => {
                if let Some(f) = f {
                    ffi::call_host(*f, *data);
                }
                Ok(())
            }
            Work::Callback(f, stream, data) => {
                if let Some(f) = f {
                    let status = context.check().map_or_else(|e| e.0, |()| 0);
                    ffi::call_stream(*f, *stream, status, *data);
                }
                Ok(())
            }
            Work::Stamp(time) => {
                let _ = time.set(Instant::now());
                Ok(())
            }
            Work::Record(event) => {
                event.stamp();
                Ok(())
            }
            Work::Await(event) => {
                schedule::wait(event.ticket());
                Ok(())
            }
            Work::Free(address, block) => {
                block::release(context, *address, block);
                Ok(())
            }
            Work::Write(address, value, bytes) => {
                Ok(memory.write(*address, &value.to_le_bytes()[..*bytes as usize])?)
            }
            Work::Wait(address, value, bytes, flags) => {
                wait_value(context, *address, *value, *bytes, *flags)
            }
            Work::Graph(works) => works.iter().try_for_each(|w| w.run(context)),
        }
    }
}

/// Polls until the value compares as wanted, or the context ends.
fn wait_value(context: &Context, address: u64, wanted: u64, bytes: u32, flags: u32) -> Result {
    loop {
        let mut now = [0; 8];
        context.device.memory().read(address, &mut now[..bytes as usize])?;
        let now = u64::from_le_bytes(now);
        let difference = if bytes == 4 {
            i64::from((now as u32).wrapping_sub(wanted as u32) as i32)
        } else {
            now.wrapping_sub(wanted) as i64
        };
        let mask = if bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let met = match flags & 3 {
            0 => difference >= 0,
            1 => now == wanted & mask,
            2 => now & wanted != 0,
            _ => !(now | wanted) & mask != 0,
        };
        if met {
            return Ok(());
        }
        context.check()?;
        std::thread::sleep(Duration::from_micros(20));
    }
}

impl Fill {
    fn run(&self, context: &Context) -> Result {
        let memory = context.device.memory();
        let element = self.value.to_le_bytes();
        let element = &element[..self.element as usize];
        for row in 0..self.height {
            let at = self.address + row * self.pitch;
            if element.iter().all(|b| *b == element[0]) {
                memory.fill(at, element[0], self.width * u64::from(self.element))?;
            } else {
                memory.fill_pattern(at, element, self.width)?;
            }
        }
        Ok(())
    }
}

impl Launch {
    fn run(&self, context: &Arc<Context>) -> Result {
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
            ..defaults
        };
        let module = &self.function.module;
        let launched = context.device.launch(&module.module, &self.function.name, config);
        launched.map(|_| ()).map_err(|error| {
            eprint!("{}", error.render(module.module.verified(), false));
            code(&error)
        })
    }
}

/// The code that a device reports for a failed launch.
fn code(error: &LaunchError) -> Error {
    let LaunchError::Fault(report) = error else {
        return match error {
            LaunchError::Unsupported(_) => Error::NotSupported,
            _ => Error::InvalidValue,
        };
    };
    match report.kind {
        FaultKind::OutOfBounds | FaultKind::NullPointer | FaultKind::ReadOnly => {
            Error::IllegalAddress
        }
        FaultKind::Misaligned => Error::MisalignedAddress,
        FaultKind::Operand => Error::IllegalInstruction,
        FaultKind::StackOverflow => Error::HardwareStackError,
        FaultKind::Assertion => Error::Assert,
        FaultKind::CallTarget | FaultKind::BranchIndex => Error::InvalidPc,
        FaultKind::Deadlock | FaultKind::DivergentBarrier | FaultKind::Timeout => {
            Error::LaunchTimeout
        }
        _ => Error::LaunchFailed,
    }
}

impl Function {
    /// Checks a launch as far as the device and the kernel's own limits go.
    pub fn check_launch(&self, context: &Context, launch: &Launch) -> Result {
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
        if launch.shared > self.max_dynamic.load(Ordering::Relaxed).max(0) as u32 {
            return Err(Error::InvalidValue);
        }
        let cluster = match tuning.req_ncta_per_cluster {
            Some(c) if launch.cluster == [1; 3] => c,
            Some(c) if launch.cluster != c => return Err(Error::InvalidClusterSize),
            _ => launch.cluster,
        };
        let ranks: u32 = cluster.iter().product();
        let most = if self.large_clusters.load(Ordering::Relaxed) { 16 } else { 8 };
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
