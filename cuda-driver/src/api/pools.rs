//! Stream-ordered allocation and memory pools.

use std::sync::PoisonError;

use super::symbol::functions;
use crate::allocation::Kind;
use crate::context;
use crate::driver;
use crate::error::{Error, Result};
use crate::graph_memory::{self, GraphMemory};
use crate::lifetime;
use crate::memory;
use crate::pool::{POOLS, Pool};
use crate::stream;
use crate::work::Work;
use c_border::plain_struct;
use c_border::{In, Out, Raw};

plain_struct! {
    /// `CUmemPoolProps`.
    Props {
        alloc_type: u32, handle_types: u32, location_type: u32, location_id: i32,
        security: usize, max_size: usize, rest: [u8; 56],
    }
}

impl Props {
    /// Of memory of the device.
    pub(super) fn of_device() -> Props {
        let (security, max_size, rest) = (0, 0, [0; 56]);
        let (alloc_type, location_type) = (PINNED, DEVICE);
        Props {
            alloc_type,
            handle_types: 0,
            location_type,
            location_id: 0,
            security,
            max_size,
            rest,
        }
    }
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED` and `CU_MEM_LOCATION_TYPE_DEVICE`.
const PINNED: u32 = 1;
const DEVICE: u32 = 1;

/// Fails where no graph allocates memory with these properties.
pub(super) fn judge(props: &Props) -> Result {
    let device = (props.location_type, props.location_id) == (DEVICE, 0);
    if props.alloc_type != PINNED || !device {
        return Err(Error::InvalidValue);
    }
    if props.handle_types == 0 { Ok(()) } else { Err(Error::NotSupported) }
}

/// The pool of the current context, or of the primary one.
fn pool_of_device(device: i32, which: usize) -> Result<usize> {
    let driver = driver::device(device)?;
    let context = match context::current_any() {
        Ok(context) => context,
        // Pools belong to the device: they are there before any context is current.
        Err(Error::InvalidContext) => lifetime::retain(driver)?,
        Err(error) => return Err(error),
    };
    let pools = context.pools.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(pools[which])
}

fn allocate(out: Out<u64>, bytes: usize, pool: Option<usize>, stream: usize) -> Result {
    out.required()?;
    let stream = stream::get(stream)?;
    let context = stream.context()?;
    if let Some(capturing) = &mut *stream.capture() {
        let made = GraphMemory::reserve(&context, bytes as u64)?;
        let address = made.address();
        capturing.add(Work::Allocate(made))?;
        return Ok(out.set(address)?);
    }
    let handle = match pool {
        Some(handle) => handle,
        None => context.pools.lock().unwrap_or_else(PoisonError::into_inner)[1],
    };
    let pool = POOLS.get(handle).ok_or(Error::InvalidValue)?;
    if bytes == 0 {
        return Ok(out.set(0)?);
    }
    pool.take(bytes as u64)?;
    match memory::device(&context, bytes as u64, Kind::Pool(handle)) {
        Ok(address) => {
            pool.made();
            Ok(out.set(address)?)
        }
        Err(error) => {
            crate::pool::gave_back(handle, bytes as u64);
            Err(error)
        }
    }
}

functions! {
    cuMemAllocAsync [11020 => cuMemAllocAsync; 11020 => cuMemAllocAsync_ptsz]
    (pointer: Out<u64>, bytes: usize, stream: usize) {
        allocate(pointer, bytes, None, stream)
    }

    cuMemAllocFromPoolAsync [11020 => cuMemAllocFromPoolAsync; 11020 => cuMemAllocFromPoolAsync_ptsz]
    (pointer: Out<u64>, bytes: usize, pool: usize, stream: usize) {
        allocate(pointer, bytes, Some(pool), stream)
    }

    cuMemFreeAsync [11020 => cuMemFreeAsync; 11020 => cuMemFreeAsync_ptsz]
    (pointer: u64, stream: usize) {
        let stream = stream::get(stream)?;
        if pointer == 0 {
            return Ok(());
        }
        let context = stream.context()?;
        if let Some(capturing) = &mut *stream.capture() {
            // The capture goes on where the memory is not its own, as on an H200 (driver 580.159.04).
            let work = capturing.capture.graph.freeing(pointer)?;
            return capturing.add(work);
        }
        if let Some(memory) = graph_memory::take(&context, pointer) {
            return stream.submit(&context, Work::Deallocate(memory), Vec::new()).map(|_| ());
        }
        let owned = |k| matches!(k, Kind::Device | Kind::Pool(_));
        let block = memory::take(&context, pointer, owned).ok_or(Error::InvalidValue)?;
        stream.submit(&context, Work::Free(pointer, Box::new(block)), Vec::new())?;
        Ok(())
    }

    cuDeviceGetGraphMemAttribute [11040 => cuDeviceGetGraphMemAttribute]
    (device: i32, attribute: u32, value: Out<u64>) {
        driver::device(device)?;
        // Used and reserved are the same: memory is reserved where it is used.
        match attribute {
            0 | 2 => Ok(value.set(graph_memory::used())?),
            1 | 3 => Ok(value.set(graph_memory::most())?),
            _ => Err(Error::InvalidValue),
        }
    }

    cuDeviceSetGraphMemAttribute [11040 => cuDeviceSetGraphMemAttribute]
    (device: i32, attribute: u32, value: In<u64>) {
        driver::device(device)?;
        if !matches!(attribute, 1 | 3) || value.get()? != 0 {
            return Err(Error::InvalidValue);
        }
        graph_memory::reset_most();
        Ok(())
    }

    cuDeviceGraphMemTrim [11040 => cuDeviceGraphMemTrim] (device: i32) {
        // What is freed is not kept.
        driver::device(device).map(|_| ())
    }

    cuDeviceGetDefaultMemPool [11020 => cuDeviceGetDefaultMemPool] (pool: Out<usize>, device: i32) {
        pool.required()?;
        Ok(pool.set(pool_of_device(device, 0)?)?)
    }

    cuDeviceGetMemPool [11020 => cuDeviceGetMemPool] (pool: Out<usize>, device: i32) {
        pool.required()?;
        Ok(pool.set(pool_of_device(device, 1)?)?)
    }

    cuDeviceSetMemPool [11020 => cuDeviceSetMemPool] (device: i32, pool: usize) {
        driver::device(device)?;
        POOLS.get(pool).ok_or(Error::InvalidValue)?;
        let context = context::current()?;
        context.pools.lock().unwrap_or_else(PoisonError::into_inner)[1] = pool;
        Ok(())
    }

    cuMemPoolCreate [11020 => cuMemPoolCreate] (pool: Out<usize>, props: In<Props>) {
        pool.required()?;
        let props = props.get()?;
        // Pinned memory of a device, not shared with other processes.
        if props.alloc_type != 1 || props.location_type != 1 || props.location_id != 0 {
            return Err(Error::InvalidValue);
        }
        if props.handle_types != 0 {
            return Err(Error::NotSupported);
        }
        let context = match context::current_any() {
            Err(Error::InvalidContext) => lifetime::retain(driver::get()?)?,
            other => other?,
        };
        Ok(pool.set(POOLS.give(Pool::new(&context, props.max_size as u64)))?)
    }

    cuMemPoolDestroy [11020 => cuMemPoolDestroy] (pool: usize) {
        let found = POOLS.get(pool).ok_or(Error::InvalidValue)?;
        if let Some(context) = found.context.upgrade() {
            let mut pools = context.pools.lock().unwrap_or_else(PoisonError::into_inner);
            if pools[0] == pool {
                return Err(Error::InvalidValue);
            }
            if pools[1] == pool {
                pools[1] = pools[0];
            }
        }
        POOLS.remove(pool);
        Ok(())
    }

    cuMemPoolTrimTo [11020 => cuMemPoolTrimTo] (pool: usize, keep: usize) {
        POOLS.get(pool).map(|_| ()).ok_or(Error::InvalidValue)
    }

    // The first three attributes are ints, the others 64 bits wide.
    cuMemPoolGetAttribute [11020 => cuMemPoolGetAttribute] (pool: usize, attribute: u32, value: Raw) {
        let found = POOLS.get(pool).ok_or(Error::InvalidValue)?.get(attribute)?;
        if attribute <= 3 {
            Ok(value.write(0, &(found as u32).to_le_bytes())?)
        } else {
            Ok(value.write(0, &found.to_le_bytes())?)
        }
    }

    cuMemPoolSetAttribute [11020 => cuMemPoolSetAttribute] (pool: usize, attribute: u32, value: Raw) {
        let found = POOLS.get(pool).ok_or(Error::InvalidValue)?;
        let mut bytes = value.bytes(0, if attribute <= 3 { 4 } else { 8 })?;
        bytes.resize(8, 0);
        found.set(attribute, u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    cuMemPoolSetAccess [11020 => cuMemPoolSetAccess] (pool: usize, list: Raw, count: usize) {
        POOLS.get(pool).map(|_| ()).ok_or(Error::InvalidValue)
    }

    cuMemPoolGetAccess [11020 => cuMemPoolGetAccess] (flags: Out<u32>, pool: usize, location: Raw) {
        POOLS.get(pool).ok_or(Error::InvalidValue)?;
        // Readable and writable from its own device.
        Ok(flags.set(3)?)
    }
}
