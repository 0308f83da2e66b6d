//! Virtual memory management.

use super::symbol::functions;
use crate::driver;
use crate::error::{Error, Result};
use crate::virtual_memory::{
    self, AccessDescription, DESCRIPTOR, GRANULARITY, Location, Properties,
};
use c_border::{In, Out};

/// Flags that must be zero.
fn none(flags: u64) -> Result {
    if flags == 0 { Ok(()) } else { Err(Error::InvalidValue) }
}

/// Handles for other processes are descriptors of files.
fn descriptor(kind: u32) -> Result {
    match kind {
        DESCRIPTOR => Ok(()),
        2 | 4 | 8 => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

functions! {
    cuMemAddressReserve [10020 => cuMemAddressReserve]
    (pointer: Out<u64>, size: usize, alignment: usize, wanted: u64, flags: u64) {
        driver::get()?;
        pointer.required()?;
        none(flags)?;
        // A wish only: the address may be another.
        let _ = wanted;
        Ok(pointer.set(virtual_memory::reserve(size as u64, alignment as u64)?)?)
    }

    cuMemAddressFree [10020 => cuMemAddressFree] (pointer: u64, size: usize) {
        driver::get()?;
        virtual_memory::give_back(pointer, size as u64)
    }

    cuMemCreate [10020 => cuMemCreate] (handle: Out<u64>, size: usize, properties: In<Properties>, flags: u64) {
        let driver = driver::get()?;
        handle.required()?;
        none(flags)?;
        let properties = properties.get()?;
        virtual_memory::judge(&properties)?;
        if size as u64 > driver.memory().saturating_sub(virtual_memory::device_bytes()) {
            return Err(Error::OutOfMemory);
        }
        Ok(handle.set(virtual_memory::create(size as u64, properties)?)?)
    }

    cuMemRelease [10020 => cuMemRelease] (handle: u64) {
        driver::get()?;
        virtual_memory::release(handle)
    }

    cuMemMap [10020 => cuMemMap] (pointer: u64, size: usize, offset: usize, handle: u64, flags: u64) {
        driver::get()?;
        none(flags)?;
        virtual_memory::map(pointer, size as u64, offset as u64, handle)
    }

    cuMemUnmap [10020 => cuMemUnmap] (pointer: u64, size: usize) {
        driver::get()?;
        virtual_memory::unmap(pointer, size as u64)
    }

    cuMemSetAccess [10020 => cuMemSetAccess]
    (pointer: u64, size: usize, list: In<AccessDescription>, count: usize) {
        driver::get()?;
        let list = list.list(count)?;
        if list.is_empty() {
            return Err(Error::InvalidValue);
        }
        virtual_memory::set_access(pointer, size as u64, &list)
    }

    cuMemGetAccess [10020 => cuMemGetAccess] (flags: Out<u64>, location: In<Location>, pointer: u64) {
        driver::get()?;
        flags.required()?;
        Ok(flags.set(virtual_memory::access(location.get()?, pointer)?)?)
    }

    cuMemGetAllocationGranularity [10020 => cuMemGetAllocationGranularity]
    (granularity: Out<usize>, properties: In<Properties>, option: u32) {
        driver::get()?;
        granularity.required()?;
        virtual_memory::judge(&properties.get()?)?;
        // The least and the recommended one are the same.
        if option > 1 {
            return Err(Error::InvalidValue);
        }
        Ok(granularity.set(GRANULARITY as usize)?)
    }

    cuMemGetAllocationPropertiesFromHandle [10020 => cuMemGetAllocationPropertiesFromHandle]
    (properties: Out<Properties>, handle: u64) {
        driver::get()?;
        properties.required()?;
        Ok(properties.set(virtual_memory::properties(handle)?)?)
    }

    cuMemRetainAllocationHandle [11000 => cuMemRetainAllocationHandle] (handle: Out<u64>, address: u64) {
        driver::get()?;
        handle.required()?;
        Ok(handle.set(virtual_memory::retain(address)?)?)
    }

    cuMemExportToShareableHandle [10020 => cuMemExportToShareableHandle]
    (shareable: Out<i32>, handle: u64, kind: u32, flags: u64) {
        driver::get()?;
        shareable.required()?;
        none(flags)?;
        descriptor(kind)?;
        Ok(shareable.set(virtual_memory::export(handle)?)?)
    }

    cuMemImportFromShareableHandle [10020 => cuMemImportFromShareableHandle]
    (handle: Out<u64>, shareable: u64, kind: u32) {
        driver::get()?;
        handle.required()?;
        descriptor(kind)?;
        let shareable = i32::try_from(shareable).map_err(|_| Error::InvalidValue)?;
        Ok(handle.set(virtual_memory::import(shareable)?)?)
    }
}
