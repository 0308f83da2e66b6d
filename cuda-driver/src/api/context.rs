//! Contexts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::symbol::functions;
use crate::context::{self, CONTEXTS, Context};
use crate::driver;
use crate::error::{Error, Result};
use crate::event;
use crate::lifetime;
use crate::stream::{self, NON_BLOCKING};
use c_border::{Out, Raw};

/// Flags that `cuCtxCreate` takes.
const FLAGS: u32 = 0xff;

/// Ends a context, and takes it off the top of the calling thread's stack.
fn destroy(context: &Arc<Context>) {
    lifetime::destroy(context);
    if context::current_handle() == context.handle {
        context::pop();
    }
}

fn create(out: Out<usize>, flags: u32, device: i32) -> Result {
    out.required()?;
    let driver = driver::device(device)?;
    if flags & !FLAGS != 0 {
        return Err(Error::InvalidValue);
    }
    let context = lifetime::create(driver, CONTEXTS.reserve(), flags, false)?;
    context::push(context.handle);
    Ok(out.set(context.handle)?)
}

/// Limits as a device of compute capability 9.0 has them (`CUlimit`).
fn limit(id: u32) -> Result<u64> {
    Ok(match id {
        // Stack, printf buffer, malloc heap.
        0 => 1024,
        1 => 8_650_752,
        2 => 8_388_608,
        // Device-side synchronisation is gone since 9.0.
        3 => return Err(Error::UnsupportedLimit),
        4 => 2048,
        // L2 fetch granularity and persisting bytes, shared and local memory of a grid.
        5 => 64,
        6 => 0,
        7 => 232_448,
        8 => 0,
        _ => return Err(Error::InvalidValue),
    })
}

functions! {
    cuCtxCreate [3020 => cuCtxCreate_v2] (context: Out<usize>, flags: u32, device: i32) {
        create(context, flags, device)
    }

    cuCtxCreate [11040 => cuCtxCreate_v3]
    (context: Out<usize>, affinity: Raw, count: i32, flags: u32, device: i32) {
        if count != 0 {
            return Err(Error(224));
        }
        create(context, flags, device)
    }

    cuCtxCreate [12050 => cuCtxCreate_v4] (context: Out<usize>, params: Raw, flags: u32, device: i32) {
        if !params.is_null() {
            // Two lists, both empty or absent: affinity, graphics.
            let fields = params.bytes(0, 24)?;
            if fields.iter().any(|b| *b != 0) {
                return Err(Error::NotSupported);
            }
        }
        create(context, flags, device)
    }

    cuCtxDestroy [2000 => cuCtxDestroy, 4000 => cuCtxDestroy_v2] (handle: usize) {
        let context = context::get(handle)?;
        if context.primary {
            return Err(Error::InvalidContext);
        }
        destroy(&context);
        Ok(())
    }

    cuCtxPushCurrent [2000 => cuCtxPushCurrent, 4000 => cuCtxPushCurrent_v2] (handle: usize) {
        context::push(context::get(handle)?.handle);
        Ok(())
    }

    cuCtxPopCurrent [2000 => cuCtxPopCurrent, 4000 => cuCtxPopCurrent_v2] (out: Out<usize>) {
        driver::get()?;
        let handle = context::pop().ok_or(Error::InvalidContext)?;
        out.put(handle);
        Ok(())
    }

    cuCtxSetCurrent [4000 => cuCtxSetCurrent] (handle: usize) {
        driver::get()?;
        if handle != 0 {
            context::get(handle)?;
        }
        context::set_current(handle);
        Ok(())
    }

    cuCtxGetCurrent [4000 => cuCtxGetCurrent] (out: Out<usize>) {
        driver::get()?;
        Ok(out.set(context::current_handle())?)
    }

    cuCtxSynchronize [2000 => cuCtxSynchronize] () {
        let context = context::current()?;
        crate::capture::unsafe_call()?;
        context.synchronize();
        context.check()
    }

    cuCtxSynchronize [13000 => cuCtxSynchronize_v2] (handle: usize) {
        let context = if handle == 0 { context::current()? } else { context::get(handle)? };
        context.check()?;
        crate::capture::unsafe_call()?;
        context.synchronize();
        context.check()
    }

    cuCtxGetFlags [7000 => cuCtxGetFlags] (flags: Out<u32>) {
        Ok(flags.set(context::current_any()?.flags() | 8)?)
    }

    cuCtxSetFlags [12010 => cuCtxSetFlags] (flags: u32) {
        if flags & !FLAGS != 0 {
            return Err(Error::InvalidValue);
        }
        context::current_any()?.set_flags(flags);
        Ok(())
    }

    cuCtxGetId [12000 => cuCtxGetId] (handle: usize, id: Out<u64>) {
        let context = if handle == 0 { context::current_any()? } else { context::get(handle)? };
        Ok(id.set(context.id)?)
    }

    cuCtxGetApiVersion [3020 => cuCtxGetApiVersion] (handle: usize, version: Out<u32>) {
        if handle == 0 {
            context::current_any()?;
        } else {
            context::get(handle)?;
        }
        Ok(version.set(3020)?)
    }

    cuCtxGetLimit [3010 => cuCtxGetLimit] (value: Out<usize>, id: u32) {
        value.required()?;
        let context = context::current()?;
        let standard = limit(id)?;
        let set = context.limits().get(&id).copied();
        Ok(value.set(set.unwrap_or(standard) as usize)?)
    }

    cuCtxSetLimit [3010 => cuCtxSetLimit] (id: u32, value: usize) {
        let context = context::current()?;
        limit(id)?;
        // Local memory of a thread (CUDA C++ Programming Guide, technical specifications).
        let most = context.driver.profile.limits.local_bytes_per_thread;
        if id == 0 && value as u64 > u64::from(most) {
            return Err(Error::InvalidValue);
        }
        if matches!(id, 7 | 8) {
            return Err(Error::UnsupportedLimit);
        }
        context.limits().insert(id, value as u64);
        if id == 2 {
            context.device.memory().set_heap_limit(value as u64);
        }
        Ok(())
    }

    cuCtxGetStreamPriorityRange [5050 => cuCtxGetStreamPriorityRange] (least: Out<i32>, greatest: Out<i32>) {
        context::current()?;
        least.put(0);
        greatest.put(super::streams::GREATEST_PRIORITY);
        Ok(())
    }

    cuCtxGetCacheConfig [3020 => cuCtxGetCacheConfig] (config: Out<u32>) {
        let context = context::current()?;
        let set = context.limits().get(&CACHE).copied();
        Ok(config.set(set.unwrap_or(0) as u32)?)
    }

    cuCtxSetCacheConfig [3020 => cuCtxSetCacheConfig] (config: u32) {
        let context = context::current()?;
        if config > 3 {
            return Err(Error::InvalidValue);
        }
        context.limits().insert(CACHE, u64::from(config));
        Ok(())
    }

    cuCtxGetSharedMemConfig [4020 => cuCtxGetSharedMemConfig] (config: Out<u32>) {
        context::current()?;
        // Banks are 4 bytes wide.
        Ok(config.set(1)?)
    }

    cuCtxSetSharedMemConfig [4020 => cuCtxSetSharedMemConfig] (config: u32) {
        context::current()?;
        if config > 2 { Err(Error::InvalidValue) } else { Ok(()) }
    }

    cuCtxResetPersistingL2Cache [11000 => cuCtxResetPersistingL2Cache] () {
        context::current().map(|_| ())
    }

    cuCtxGetExecAffinity [11040 => cuCtxGetExecAffinity] (out: Raw, kind: u32) {
        context::current()?;
        Err(Error(224))
    }

    cuCtxAttach [2000 => cuCtxAttach] (out: Out<usize>, flags: u32) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let context = context::current_any()?;
        out.set(context.handle)?;
        context.uses.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    // What an H200 does: the primary context stays, and another one must be the calling thread's.
    cuCtxDetach [2000 => cuCtxDetach] (handle: usize) {
        let context = context::get(handle)?;
        if context::current_handle() != handle {
            return Err(Error::InvalidContext);
        }
        if !context.primary && context.uses.fetch_sub(1, Ordering::Relaxed) == 1 {
            destroy(&context);
        }
        Ok(())
    }

    cuCtxEnablePeerAccess [4000 => cuCtxEnablePeerAccess] (peer: usize, flags: u32) {
        context::current()?;
        context::get(peer)?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        // All contexts are on one device, which is no peer of itself.
        Err(Error::PeerAccessUnsupported)
    }

    cuCtxDisablePeerAccess [4000 => cuCtxDisablePeerAccess] (peer: usize) {
        context::current()?;
        context::get(peer)?;
        Err(Error::PeerAccessNotEnabled)
    }

    cuCtxRecordEvent [12050 => cuCtxRecordEvent] (handle: usize, event: usize) {
        let context = context::get(handle)?;
        context.check()?;
        let event = event::get(event)?;
        // The legacy stream waits for the blocking ones only: the others are waited for here.
        let open = stream::all(&context).into_iter().filter(|s| s.flags & NON_BLOCKING != 0);
        let after = open.map(|s| crate::schedule::last(s.queue)).collect();
        stream::legacy(&context)?.submit(&context, crate::work::Work::Nothing, after)?;
        stream::legacy(&context)?.record_outside(&event, &context)
    }

    cuCtxWaitEvent [12050 => cuCtxWaitEvent] (handle: usize, event: usize) {
        let context = context::get(handle)?;
        context.check()?;
        let event = event::get(event)?;
        for stream in stream::all(&context) {
            stream.wait_for(&event)?;
        }
        Ok(())
    }
}

/// The cache preference is kept beside the limits, which have small numbers.
const CACHE: u32 = 1000;
