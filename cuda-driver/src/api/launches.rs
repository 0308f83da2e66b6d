//! Launches, host functions, occupancy.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::symbol::functions;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::launch::KernelLaunch;
use crate::module::{self, Function};
use crate::stream;
use crate::work::Work;
use c_border::callback::{BlockFn, HostFn};
use c_border::plain_struct;
use c_border::{In, Out, Raw};

plain_struct! {
    /// `CUlaunchConfig`.
    Config {
        grid: [u32; 3], block: [u32; 3], shared: u32, stream: usize, attributes: In<Attribute>, count: u32,
    }
    /// `CUlaunchAttribute`.
    Attribute { id: u32, pad: u32, value: [u32; 16] }
}

/// Reads the arguments of a launch into a parameter block: from an array of pointers to them, or from `extra`.
pub fn parameters(function: &Function, params: In<Raw>, extra: In<usize>) -> Result<Vec<u8>> {
    let resources = function.resources()?;
    let mut block = vec![0; resources.param_bytes as usize];
    if resources.params.is_empty() {
        return Ok(block);
    }
    if !params.is_null() {
        for (i, (at, bytes)) in resources.params.iter().enumerate() {
            params.at(i)?.read(&mut block[*at as usize..][..*bytes as usize])?;
        }
        return Ok(block);
    }
    if extra.is_null() {
        return Err(Error::InvalidValue);
    }
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE.
    const END: usize = 0;
    const BUFFER: usize = 1;
    const SIZE: usize = 2;
    let (mut buffer, mut size) = (Raw::new(0), None);
    for i in (0..).step_by(2) {
        match extra.at(i)? {
            END => break,
            BUFFER => buffer = Raw::new(extra.at(i + 1)?),
            SIZE => {
                let bytes = Raw::new(extra.at(i + 1)?).bytes(0, 8)?;
                size = Some(usize::from_le_bytes(bytes.try_into().unwrap_or_default()));
            }
            _ => return Err(Error::InvalidValue),
        }
    }
    let size = size.ok_or(Error::InvalidValue)?;
    if size > block.len() {
        return Err(Error::LaunchOutOfResources);
    }
    buffer.read(&mut block[..size])?;
    Ok(block)
}

/// A launch, checked.
pub fn prepare(context: &Context, launch: KernelLaunch) -> Result<KernelLaunch> {
    let function = Arc::clone(&launch.function);
    if !std::ptr::eq(function.context()?.as_ref(), context) {
        return Err(Error::InvalidHandle);
    }
    function.check_launch(context, &launch)?;
    Ok(launch)
}

#[derive(Copy, Clone)]
struct ExecutionConfig {
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    shared: u32,
    cooperative: bool,
}

fn start(
    handle: usize,
    shape: ExecutionConfig,
    stream: usize,
    params: In<Raw>,
    extra: In<usize>,
) -> Result {
    let function = module::function(handle)?;
    let stream = stream::get(stream)?;
    let context = stream.context()?;
    let params = parameters(&function, params, extra)?;
    let ExecutionConfig { grid, block, cluster, shared, cooperative } = shape;
    let launch = KernelLaunch { function, grid, block, cluster, shared, params, cooperative };
    let launch = prepare(&context, launch)?;
    stream.enqueue(Work::Kernel(launch)).map(|_| ())
}

/// What `cuOccupancyMaxPotentialBlockSize` finds: blocks that fill the device, threads of a block.
fn best_block(
    function: &Function,
    of_block: BlockFn,
    dynamic: usize,
    limit: i32,
) -> Result<(i32, i32)> {
    let context = function.context()?;
    let profile = &context.driver.profile;
    let most = function.max_threads()?;
    let most = if limit > 0 { most.min(limit as u32) } else { most };
    let warp = profile.limits.warp_size;
    let mut best = (0, 0, 0);
    let mut threads = most.next_multiple_of(warp);
    while threads > 0 {
        let size = threads.min(most);
        let dynamic = of_block.map_or(dynamic, |f| f(size as i32));
        let dynamic = u32::try_from(dynamic).map_err(|_| Error::InvalidValue)?;
        let blocks = function.resident_blocks(&context, size, dynamic)?;
        if blocks * size > best.0 {
            best = (blocks * size, blocks, size);
        }
        threads -= warp;
    }
    let sms = profile.device.multiprocessors;
    Ok(((best.1 * sms) as i32, best.2 as i32))
}

fn resident(out: Out<i32>, function: usize, threads: i32, dynamic: usize) -> Result {
    let function = module::function(function)?;
    out.required()?;
    let context = function.context()?;
    context.check()?;
    let threads = u32::try_from(threads).map_err(|_| Error::InvalidValue)?;
    let dynamic = u32::try_from(dynamic).unwrap_or(u32::MAX);
    Ok(out.set(function.resident_blocks(&context, threads, dynamic)? as i32)?)
}

functions! {
    cuLaunchKernel [4000 => cuLaunchKernel; 7000 => cuLaunchKernel_ptsz]
    (function: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: usize,
     params: In<Raw>, extra: In<usize>) {
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        let shape = ExecutionConfig { grid, block, cluster: [0; 3], shared, cooperative: false };
        start(function, shape, stream, params, extra)
    }

    cuLaunchCooperativeKernel [9000 => cuLaunchCooperativeKernel; 9000 => cuLaunchCooperativeKernel_ptsz]
    (function: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: usize,
     params: In<Raw>) {
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        let shape = ExecutionConfig { grid, block, cluster: [0; 3], shared, cooperative: true };
        start(function, shape, stream, params, In::none())
    }

    cuLaunchKernelEx [11060 => cuLaunchKernelEx; 11060 => cuLaunchKernelEx_ptsz]
    (config: In<Config>, function: usize, params: In<Raw>, extra: In<usize>) {
        let config = config.get()?;
        let mut shape = ExecutionConfig {
            grid: config.grid,
            block: config.block,
            cluster: [0; 3],
            shared: config.shared,
            cooperative: false,
        };
        for attribute in config.attributes.list(config.count as usize)? {
            let [x, y, z, ..] = attribute.value;
            match attribute.id {
                2 => shape.cooperative = x != 0,
                4 => shape.cluster = [x, y, z].map(|n| n.max(1)),
                // Hints: access policy, synchronisation, scheduling, serialisation, events, priority,
                // memory domains, preferred cluster, carve-out.
                0 | 1 | 3 | 5..=18 => {}
                _ => return Err(Error::InvalidValue),
            }
        }
        start(function, shape, config.stream, params, extra)
    }

    cuLaunchHostFunc [10000 => cuLaunchHostFunc; 10000 => cuLaunchHostFunc_ptsz]
    (stream: usize, function: HostFn, data: Raw) {
        if function.is_none() {
            return Err(Error::InvalidValue);
        }
        stream::get(stream)?.enqueue(Work::Host(function, data)).map(|_| ())
    }

    cuOccupancyMaxActiveBlocksPerMultiprocessor [6050 => cuOccupancyMaxActiveBlocksPerMultiprocessor]
    (blocks: Out<i32>, function: usize, threads: i32, dynamic: usize) {
        resident(blocks, function, threads, dynamic)
    }

    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags [7000 => cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags]
    (blocks: Out<i32>, function: usize, threads: i32, dynamic: usize, flags: u32) {
        if flags > 1 {
            return Err(Error::InvalidValue);
        }
        resident(blocks, function, threads, dynamic)
    }

    cuOccupancyMaxPotentialBlockSize [6050 => cuOccupancyMaxPotentialBlockSize]
    (grid: Out<i32>, block: Out<i32>, function: usize, of_block: BlockFn, dynamic: usize, limit: i32) {
        let function = module::function(function)?;
        let (g, b) = best_block(&function, of_block, dynamic, limit)?;
        grid.set(g)?;
        Ok(block.set(b)?)
    }

    cuOccupancyMaxPotentialBlockSizeWithFlags [7000 => cuOccupancyMaxPotentialBlockSizeWithFlags]
    (grid: Out<i32>, block: Out<i32>, function: usize, of_block: BlockFn, dynamic: usize, limit: i32, flags: u32) {
        if flags > 1 {
            return Err(Error::InvalidValue);
        }
        let function = module::function(function)?;
        let (g, b) = best_block(&function, of_block, dynamic, limit)?;
        grid.set(g)?;
        Ok(block.set(b)?)
    }

    cuOccupancyAvailableDynamicSMemPerBlock [10020 => cuOccupancyAvailableDynamicSMemPerBlock]
    (bytes: Out<usize>, function: usize, blocks: i32, threads: i32) {
        let function = module::function(function)?;
        bytes.required()?;
        let context = function.context()?;
        let resources = function.resources()?;
        let (Ok(blocks), Ok(threads)) = (u32::try_from(blocks), u32::try_from(threads)) else {
            return Err(Error::InvalidValue);
        };
        if blocks == 0 || function.resident_blocks(&context, threads, 0)? < blocks {
            return Err(Error::InvalidValue);
        }
        let p = &context.driver.profile;
        let share = p.limits.shared_bytes_per_sm / blocks / p.allocation.shared_unit * p.allocation.shared_unit;
        let share = share.saturating_sub(p.allocation.shared_reserved_per_block);
        let most = share.min(p.limits.max_shared_bytes_per_block);
        Ok(bytes.set(most.saturating_sub(resources.shared) as usize)?)
    }

    cuOccupancyMaxPotentialClusterSize [11070 => cuOccupancyMaxPotentialClusterSize]
    (size: Out<i32>, function: usize, config: In<Config>) {
        let function = module::function(function)?;
        size.required()?;
        config.get()?;
        Ok(size.set(if function.large_clusters.load(Ordering::Relaxed) { 16 } else { 8 })?)
    }

    cuOccupancyMaxActiveClusters [11070 => cuOccupancyMaxActiveClusters]
    (clusters: Out<i32>, function: usize, config: In<Config>) {
        let function = module::function(function)?;
        clusters.required()?;
        let config = config.get()?;
        let context = function.context()?;
        let mut blocks = 1;
        for attribute in config.attributes.list(config.count as usize)? {
            if attribute.id == 4 {
                let [x, y, z, ..] = attribute.value;
                blocks = x.saturating_mul(y).saturating_mul(z).max(1);
            }
        }
        let threads = config.block.iter().product();
        let resident = function.resident_blocks(&context, threads, config.shared)?;
        let sms = context.driver.profile.device.multiprocessors;
        Ok(clusters.set((resident * sms / blocks) as i32)?)
    }
}
