//! Memory: allocation, host memory, queries.

use super::symbol::functions;
use crate::allocation::{Allocation, Kind};
use crate::capture::unsafe_call;
use crate::context::{self, CONTEXTS, Context};
use crate::error::{Error, Result};
use crate::{graph_memory, memory, virtual_memory};
use c_border::{In, Out, Raw};

/// Rows of a pitched allocation begin at multiples of this.
const PITCH: usize = 512;

/// `CUmemorytype` of a kind.
fn memory_type(kind: Kind) -> u32 {
    match kind {
        Kind::Host | Kind::Registered => 1,
        Kind::Device
        | Kind::Pool(_)
        | Kind::Managed
        | Kind::Mapped
        | Kind::Imported
        | Kind::Graph => 2,
    }
}

/// Bytes of the device that no context uses.
fn free_bytes() -> Result<(u64, u64)> {
    let total = crate::driver::get()?.memory();
    Ok((total.saturating_sub(virtual_memory::device_bytes()), total))
}

/// Checks that the device as a whole has room.
fn room(bytes: u64) -> Result {
    if bytes > free_bytes()?.0 { Err(Error::OutOfMemory) } else { Ok(()) }
}

/// The start and the allocation that `pointer` leads to in `context`. A host pointer whose device address is another
/// counts too, and so do variables of modules.
fn allocation_of(context: &Context, pointer: u64) -> Option<(u64, Allocation)> {
    if let Some(found) = context.allocation_at(pointer) {
        return Some(found);
    }
    if let Some((device, block)) = memory::of_host(context, pointer as usize) {
        return Some((device - (pointer - block.host.unwrap_or_default() as u64), block));
    }
    let variable = context.device.memory().find(pointer)?;
    let block = Allocation::new(variable.size, Kind::Device, 0);
    // The same number whenever it is asked for; those of other allocations are far below the first address.
    Some((variable.start, Allocation { id: variable.start, ..block }))
}

/// An attribute of a pointer (`CUpointer_attribute`) as bytes. Addresses are one space for all contexts, so `current`
/// is the first to be asked, and need not be there.
fn pointer_attribute(current: Option<&Context>, id: u32, pointer: u64) -> Result<Vec<u8>> {
    let int = |v: i32| v.to_le_bytes().to_vec();
    let long = |v: u64| v.to_le_bytes().to_vec();
    let (owner, start, block) = current
        .and_then(|context| allocation_of(context, pointer).map(|(at, b)| (context.handle, at, b)))
        .or_else(|| {
            let mut all = CONTEXTS.all().into_iter();
            all.find_map(|(handle, c)| allocation_of(&c, pointer).map(|(at, b)| (handle, at, b)))
        })
        .ok_or(Error::InvalidValue)?;
    let offset = pointer.wrapping_sub(start);
    Ok(match id {
        1 => long(owner as u64),
        2 => memory_type(block.kind).to_le_bytes().to_vec(),
        3 => long(pointer),
        4 => match block.host {
            Some(host) if pointer >= host as u64 && pointer - (host as u64) < block.size.max(1) => {
                long(pointer)
            }
            Some(host) => long(host as u64 + offset),
            None => return Err(Error::InvalidValue),
        },
        5 => return Err(Error::NotSupported),
        6 => int(1),
        7 => long(block.id),
        8 => int(i32::from(block.kind == Kind::Managed)),
        9 => int(0),
        10 => int(i32::from(block.kind == Kind::Device)),
        11 => long(start),
        12 => long(block.size),
        13 => int(1),
        14 => long(0),
        15 => long(3),
        16 => int(0),
        17 => long(match block.kind {
            Kind::Pool(pool) => pool as u64,
            Kind::Device
            | Kind::Host
            | Kind::Registered
            | Kind::Managed
            | Kind::Mapped
            | Kind::Imported
            | Kind::Graph => 0,
        }),
        18..=21 => int(0),
        _ => return Err(Error::InvalidValue),
    })
}

functions! {
    cuMemGetInfo [3020 => cuMemGetInfo_v2] (free: Out<usize>, total: Out<usize>) {
        context::current()?;
        let (left, all) = free_bytes()?;
        free.put(left as usize);
        total.put(all as usize);
        Ok(())
    }

    cuMemAlloc [3020 => cuMemAlloc_v2] (pointer: Out<u64>, bytes: usize) {
        let context = context::current()?;
        if pointer.is_null() || bytes == 0 {
            return Err(Error::InvalidValue);
        }
        unsafe_call()?;
        room(bytes as u64)?;
        Ok(pointer.set(memory::device(&context, bytes as u64, Kind::Device)?)?)
    }

    cuMemAllocPitch [3020 => cuMemAllocPitch_v2]
    (pointer: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32) {
        let context = context::current()?;
        if pointer.is_null() || pitch.is_null() || !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(Error::InvalidValue);
        }
        unsafe_call()?;
        let row = width.checked_next_multiple_of(PITCH).ok_or(Error::OutOfMemory)?;
        let bytes = row.checked_mul(height).ok_or(Error::OutOfMemory)? as u64;
        room(bytes)?;
        pointer.set(memory::device(&context, bytes, Kind::Device)?)?;
        Ok(pitch.set(row)?)
    }

    cuMemFree [3020 => cuMemFree_v2] (pointer: u64) {
        crate::driver::get()?;
        if pointer == 0 {
            return match context::current() {
                Err(Error::InvalidContext) => Ok(()),
                other => other.map(|_| ()),
            };
        }
        let context = match context::current() {
            Err(Error::InvalidContext) => return Err(Error::InvalidValue),
            other => other?,
        };
        unsafe_call()?;
        if let Some(memory) = graph_memory::take(&context, pointer) {
            context.synchronize();
            memory.vanish(&context);
            return context.check();
        }
        let owned = |k| matches!(k, Kind::Device | Kind::Managed | Kind::Pool(_));
        if !context.allocations().get(&pointer).is_some_and(|b| owned(b.kind)) {
            return Err(Error::InvalidValue);
        }
        // Work that uses it may still be on its way.
        context.synchronize();
        let block = memory::take(&context, pointer, owned).ok_or(Error::InvalidValue)?;
        memory::release(&context, pointer, &block);
        context.check()
    }

    cuMemAllocManaged [6000 => cuMemAllocManaged] (pointer: Out<u64>, bytes: usize, flags: u32) {
        let context = context::current()?;
        if pointer.is_null() || bytes == 0 || !matches!(flags, 1 | 2) {
            return Err(Error::InvalidValue);
        }
        unsafe_call()?;
        Ok(pointer.set(memory::shared(&context, bytes as u64, Kind::Managed, flags)?)?)
    }

    cuMemHostAlloc [2020 => cuMemHostAlloc] (pointer: Out<usize>, bytes: usize, flags: u32) {
        let context = context::current()?;
        if pointer.is_null() || flags & !7 != 0 {
            return Err(Error::InvalidValue);
        }
        host_alloc(&context, pointer, bytes, flags)
    }

    cuMemAllocHost [3020 => cuMemAllocHost_v2] (pointer: Out<usize>, bytes: usize) {
        let context = context::current()?;
        host_alloc(&context, pointer.required()?, bytes, 0)
    }

    cuMemFreeHost [2000 => cuMemFreeHost] (pointer: usize) {
        let context = context::current()?;
        if pointer == 0 {
            return Ok(());
        }
        let (address, block) = memory::of_host(&context, pointer).ok_or(Error::InvalidValue)?;
        if block.kind != Kind::Host || block.host != Some(pointer) {
            return Err(Error::InvalidValue);
        }
        context.synchronize();
        let block = memory::take(&context, address, |k| k == Kind::Host).ok_or(Error::InvalidValue)?;
        memory::release(&context, address, &block);
        Ok(())
    }

    cuMemHostRegister [4000 => cuMemHostRegister, 6050 => cuMemHostRegister_v2]
    (pointer: Raw, bytes: usize, flags: u32) {
        let context = context::current()?;
        if pointer.is_null() || bytes == 0 || flags & !15 != 0 {
            return Err(Error::InvalidValue);
        }
        memory::register(&context, pointer, bytes as u64, flags)
    }

    cuMemHostUnregister [4000 => cuMemHostUnregister] (pointer: usize) {
        let context = context::current()?;
        if pointer == 0 {
            return Err(Error::InvalidValue);
        }
        let found = memory::of_host(&context, pointer);
        let Some((address, _)) = found
            .filter(|(_, b)| b.kind == Kind::Registered && b.host == Some(pointer))
        else {
            return Err(Error::HostMemoryNotRegistered);
        };
        context.synchronize();
        let block = memory::take(&context, address, |k| k == Kind::Registered)
            .ok_or(Error::HostMemoryNotRegistered)?;
        memory::release(&context, address, &block);
        Ok(())
    }

    cuMemHostGetDevicePointer [3020 => cuMemHostGetDevicePointer_v2]
    (device: Out<u64>, pointer: usize, flags: u32) {
        let context = context::current()?;
        device.required()?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        Ok(device.set(memory::of_host(&context, pointer).ok_or(Error::InvalidValue)?.0)?)
    }

    cuMemHostGetFlags [2030 => cuMemHostGetFlags] (flags: Out<u32>, pointer: usize) {
        let context = context::current()?;
        flags.required()?;
        Ok(flags.set(memory::of_host(&context, pointer).ok_or(Error::InvalidValue)?.1.flags)?)
    }

    cuMemGetAddressRange [3020 => cuMemGetAddressRange_v2]
    (start: Out<u64>, bytes: Out<usize>, pointer: u64) {
        let context = context::current()?;
        // Variables of modules are allocations too.
        let found = context.device.memory().find(pointer).ok_or(Error::NotFound)?;
        start.put(found.start);
        bytes.put(found.size as usize);
        Ok(())
    }

    cuPointerGetAttribute [4000 => cuPointerGetAttribute] (data: Raw, attribute: u32, pointer: u64) {
        crate::driver::get()?;
        if data.is_null() {
            return Err(Error::InvalidValue);
        }
        let context = match context::current() {
            Ok(context) => Some(context),
            Err(Error::InvalidContext) => None,
            Err(error) => return Err(error),
        };
        Ok(data.write(0, &pointer_attribute(context.as_deref(), attribute, pointer)?)?)
    }

    cuPointerGetAttributes [7000 => cuPointerGetAttributes]
    (count: u32, attributes: In<u32>, data: In<Raw>, pointer: u64) {
        let context = context::current()?;
        if count == 0 || attributes.is_null() || data.is_null() {
            return Err(Error::InvalidValue);
        }
        for i in 0..count as usize {
            // Of a pointer that is none of ours every answer is zero.
            match pointer_attribute(Some(&context), attributes.at(i)?, pointer) {
                Ok(value) => data.at(i)?.write(0, &value)?,
                Err(_) => data.at(i)?.write(0, &[0; 4])?,
            }
        }
        Ok(())
    }

    cuPointerSetAttribute [6000 => cuPointerSetAttribute] (value: Raw, attribute: u32, pointer: u64) {
        let context = context::current()?;
        context.allocation_at(pointer).ok_or(Error::InvalidValue)?;
        // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: copies are ordered anyway.
        if attribute == 6 { Ok(()) } else { Err(Error::InvalidValue) }
    }

    cuMemAdvise [8000 => cuMemAdvise] (pointer: u64, bytes: usize, advice: u32, device: i32) {
        managed(pointer)
    }

    cuMemAdvise [12020 => cuMemAdvise_v2] (pointer: u64, bytes: usize, advice: u32, location: u64) {
        managed(pointer)
    }

    cuMemPrefetchAsync [8000 => cuMemPrefetchAsync; 8000 => cuMemPrefetchAsync_ptsz]
    (pointer: u64, bytes: usize, device: i32, stream: usize) {
        crate::stream::get(stream)?;
        managed(pointer)
    }

    cuMemPrefetchAsync [12020 => cuMemPrefetchAsync_v2; 12020 => cuMemPrefetchAsync_v2_ptsz]
    (pointer: u64, bytes: usize, location: u64, flags: u32, stream: usize) {
        crate::stream::get(stream)?;
        managed(pointer)
    }

    cuMemRangeGetAttribute [8000 => cuMemRangeGetAttribute]
    (data: Raw, size: usize, attribute: u32, pointer: u64, bytes: usize) {
        managed(pointer)?;
        // Read-mostly, preferred and last location: host and device share the bytes.
        let value: i32 = match attribute {
            1 => 0,
            2 | 4 => -2,
            _ => return Err(Error::InvalidValue),
        };
        if size == 4 { Ok(data.write(0, &value.to_le_bytes())?) } else { Err(Error::InvalidValue) }
    }

    cuStreamAttachMemAsync [6000 => cuStreamAttachMemAsync; 7000 => cuStreamAttachMemAsync_ptsz]
    (stream: usize, pointer: u64, bytes: usize, flags: u32) {
        crate::stream::get(stream)?;
        managed(pointer)
    }
}

fn host_alloc(context: &Context, pointer: Out<usize>, bytes: usize, flags: u32) -> Result {
    unsafe_call()?;
    if bytes == 0 {
        return Ok(pointer.set(0)?);
    }
    let address = memory::shared(context, bytes as u64, Kind::Host, flags)?;
    let host = context.allocations().get(&address).and_then(|b| b.host);
    Ok(pointer.set(host.ok_or(Error::Unknown)?)?)
}

/// Fails for pointers that are not to managed memory.
fn managed(pointer: u64) -> Result {
    let context = context::current()?;
    match context.allocation_at(pointer) {
        Some((_, block)) if block.kind == Kind::Managed => Ok(()),
        _ => Err(Error::InvalidValue),
    }
}
