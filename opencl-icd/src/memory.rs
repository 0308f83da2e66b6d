//! Memory objects: buffers, sub-buffers, and the memory of images.

use std::sync::{Arc, Mutex, PoisonError};

use ptx_runtime::DevicePtr;

use crate::answer::Place;
use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::device::BASE_ALIGN;
use crate::event::later;
use crate::ffi::{ObjectFn, Raw, call_object};
use crate::image::Image;
use crate::object;
use crate::registry::{self, Handle};

/// A memory object.
pub struct Mem {
    pub(crate) handle: Handle<Mem>,
    /// Its context.
    pub context: Arc<Context>,
    /// `cl_mem_flags`
    pub flags: u64,
    /// Bytes.
    pub size: usize,
    /// The caller's memory, where it was made with some.
    pub host_ptr: Raw,
    /// The buffer that it is a part of.
    pub parent: Option<Arc<Mem>>,
    /// Bytes of the parent before it.
    pub offset: usize,
    /// What makes it an image.
    pub image: Option<Image>,
    /// Device address.
    pub address: u64,
    /// The same bytes in the host's address space.
    pub place: Raw,
    storage: Storage,
    maps: Mutex<Vec<usize>>,
    destructors: Mutex<Vec<(ObjectFn, Raw)>>,
}
object!(Mem, INVALID_MEM_OBJECT);

/// Bytes in which devices give out memory.
const GRAIN: u64 = 512;

/// Where the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    /// In device memory.
    Own,
    /// In the caller's memory, lent to kernels.
    Lent,
    /// In device memory; mapping copies to the caller's memory, which cannot be lent.
    Shadow,
    /// In another object.
    Parent,
}

const ACCESS: u64 = cl::MEM_READ_WRITE | cl::MEM_WRITE_ONLY | cl::MEM_READ_ONLY;
const HOST_ACCESS: u64 = cl::MEM_HOST_WRITE_ONLY | cl::MEM_HOST_READ_ONLY | cl::MEM_HOST_NO_ACCESS;
const POINTERS: u64 = cl::MEM_USE_HOST_PTR | cl::MEM_ALLOC_HOST_PTR | cl::MEM_COPY_HOST_PTR;

/// Refuses flags that are unknown or exclude each other; with read-write access where none is named.
///
/// # Errors
/// As said.
pub fn check_flags(flags: u64) -> Result<u64> {
    let several = |mask: u64| (flags & mask).count_ones() > 1;
    let uses = flags & cl::MEM_USE_HOST_PTR != 0;
    let excluded = flags & (cl::MEM_ALLOC_HOST_PTR | cl::MEM_COPY_HOST_PTR) != 0;
    if flags & !(ACCESS | HOST_ACCESS | POINTERS) != 0
        || several(ACCESS)
        || several(HOST_ACCESS)
        || uses && excluded
    {
        return Err(Error::INVALID_VALUE);
    }
    Ok(if flags & ACCESS == 0 { flags | cl::MEM_READ_WRITE } else { flags })
}

/// Refuses a host pointer without a flag, and a flag without one.
///
/// # Errors
/// As said.
pub fn check_host_ptr(flags: u64, host_ptr: Raw) -> Result {
    let wanted = flags & (cl::MEM_USE_HOST_PTR | cl::MEM_COPY_HOST_PTR) != 0;
    if wanted == host_ptr.is_null() { Err(Error::INVALID_HOST_PTR) } else { Ok(()) }
}

impl Mem {
    /// `clCreateBuffer`
    ///
    /// # Errors
    /// When flags, size or pointer are wrong, or there is no memory.
    pub fn buffer(context: &Arc<Context>, flags: u64, size: usize, host: Raw) -> Result<Mem> {
        let flags = check_flags(flags)?;
        if size == 0 || size as u64 > context.max_alloc() {
            return Err(Error::INVALID_BUFFER_SIZE);
        }
        check_host_ptr(flags, host)?;
        let mem = Mem::with_storage(context, flags, size, host, None)?;
        if flags & cl::MEM_COPY_HOST_PTR != 0 {
            mem.place.copy_from(host, size);
        }
        Ok(mem)
    }

    /// An object with memory of its own; a copied host pointer's bytes are the caller's to copy.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn with_storage(
        context: &Arc<Context>,
        flags: u64,
        size: usize,
        host: Raw,
        image: Option<Image>,
    ) -> Result<Mem> {
        let machine = &context.machine;
        let uses = flags & cl::MEM_USE_HOST_PTR != 0;
        // Kernels load vectors of 16 bytes at once.
        let lent = if uses && host.address().is_multiple_of(16) {
            host.lend(machine.memory(), size as u64)
        } else {
            None
        };
        let (storage, address) = match lent {
            Some(address) => (Storage::Lent, address),
            None => {
                let name = if image.is_some() { "image" } else { "buffer" };
                let address = machine.alloc_named(context.granted(size as u64, GRAIN), name);
                let address = address.map_err(|_| Error::MEM_OBJECT_ALLOCATION_FAILURE)?.0;
                (if uses { Storage::Shadow } else { Storage::Own }, address)
            }
        };
        let mut mem = Mem {
            handle: Handle::default(),
            context: Arc::clone(context),
            flags,
            size,
            host_ptr: host,
            parent: None,
            offset: 0,
            image,
            address,
            place: Raw::none(),
            storage,
            maps: Mutex::default(),
            destructors: Mutex::default(),
        };
        mem.place = match machine.memory().host_span(address) {
            _ if storage == Storage::Lent => host,
            Some(span) => {
                let first = span.host.expose_provenance();
                Raw::new(first + (address - span.start) as usize)
            }
            None => return Err(Error::OUT_OF_RESOURCES),
        };
        if storage == Storage::Shadow {
            mem.place.copy_from(host, size);
        }
        Ok(mem)
    }

    /// A part of another object: a sub-buffer, or an image over a buffer.
    pub fn part(
        parent: &Arc<Mem>,
        flags: u64,
        offset: usize,
        size: usize,
        image: Option<Image>,
    ) -> Mem {
        let host_ptr =
            if parent.host_ptr.is_null() { Raw::none() } else { parent.host_ptr.offset(offset) };
        Mem {
            handle: Handle::default(),
            context: Arc::clone(&parent.context),
            flags,
            size,
            host_ptr,
            parent: Some(Arc::clone(parent)),
            offset,
            image,
            address: parent.address + offset as u64,
            place: parent.place.offset(offset),
            storage: Storage::Parent,
            maps: Mutex::default(),
            destructors: Mutex::default(),
        }
    }

    /// `clCreateSubBuffer`
    ///
    /// # Errors
    /// When the flags say more than the buffer's, or the range is wrong.
    pub fn sub_buffer(parent: &Arc<Mem>, flags: u64, region: [usize; 2]) -> Result<Mem> {
        if parent.image.is_some() || parent.parent.is_some() {
            return Err(Error::INVALID_MEM_OBJECT);
        }
        if flags & POINTERS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        check_flags(flags)?;
        let flags = inherit(parent.flags, flags)?;
        let [origin, size] = region;
        if origin.checked_add(size).is_none_or(|end| end > parent.size) {
            return Err(Error::INVALID_VALUE);
        }
        if size == 0 {
            return Err(Error::INVALID_BUFFER_SIZE);
        }
        if !origin.is_multiple_of(BASE_ALIGN) {
            return Err(Error::MISALIGNED_SUB_BUFFER_OFFSET);
        }
        Ok(Mem::part(parent, flags, origin, size, None))
    }

    /// Refuses an image.
    ///
    /// # Errors
    /// As said.
    pub fn as_buffer(&self) -> Result<&Mem> {
        if self.image.is_some() { Err(Error::INVALID_MEM_OBJECT) } else { Ok(self) }
    }

    /// Refuses a buffer.
    ///
    /// # Errors
    /// As said.
    pub fn as_image(&self) -> Result<&Image> {
        self.image.as_ref().ok_or(Error::INVALID_MEM_OBJECT)
    }

    /// Refuses access of the host that the flags rule out.
    ///
    /// # Errors
    /// As said.
    pub fn host_access(&self, reads: bool, writes: bool) -> Result {
        let no = self.flags & cl::MEM_HOST_NO_ACCESS != 0;
        if no && (reads || writes)
            || reads && self.flags & cl::MEM_HOST_WRITE_ONLY != 0
            || writes && self.flags & cl::MEM_HOST_READ_ONLY != 0
        {
            return Err(Error::INVALID_OPERATION);
        }
        Ok(())
    }

    /// Whether two objects share bytes; if so, how far the first begins after the second.
    pub fn shares(&self, other: &Mem) -> bool {
        let end = |m: &Mem| m.address + m.size as u64;
        Arc::ptr_eq(&self.context, &other.context)
            && self.address < end(other)
            && other.address < end(self)
    }

    fn shadow(&self) -> Option<&Mem> {
        match self.storage {
            Storage::Shadow => Some(self),
            Storage::Parent => self.parent.as_deref().and_then(Mem::shadow),
            _ => None,
        }
    }

    /// The pointer that mapping gives for the byte at `offset`; it is counted as mapped.
    pub fn map(&self, offset: usize) -> Raw {
        let base = if self.shadow().is_some() { self.host_ptr } else { self.place };
        let pointer = base.offset(offset);
        self.maps.lock().unwrap_or_else(PoisonError::into_inner).push(pointer.address());
        pointer
    }

    /// Ends the mapping of a pointer.
    ///
    /// # Errors
    /// When it is not mapped.
    pub fn unmap(&self, pointer: Raw) -> Result {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        let at = maps.iter().position(|p| *p == pointer.address()).ok_or(Error::INVALID_VALUE)?;
        maps.swap_remove(at);
        Ok(())
    }

    /// What a mapping does when it is reached.
    pub fn reveal(&self) {
        if let Some(shadow) = self.shadow() {
            shadow.host_ptr.copy_from(shadow.place, shadow.size);
        }
    }

    /// What the end of a mapping does when it is reached.
    pub fn take_back(&self) {
        if let Some(shadow) = self.shadow() {
            shadow.place.copy_from(shadow.host_ptr, shadow.size);
        }
    }

    /// Calls a function when the object has gone.
    pub fn on_destruction(&self, function: ObjectFn, data: Raw) {
        let mut all = self.destructors.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((function, data));
    }

    /// `clGetMemObjectInfo`
    pub fn info(&self, name: u32, place: Place) -> Result {
        match name {
            cl::MEM_TYPE => {
                place.put(self.image.as_ref().map_or(cl::MEM_OBJECT_BUFFER, |i| i.kind))
            }
            cl::MEM_FLAGS => place.put(self.flags),
            cl::MEM_SIZE => place.put(self.size),
            cl::MEM_HOST_PTR => {
                let uses = self.flags & cl::MEM_USE_HOST_PTR != 0;
                place.put(if uses { self.host_ptr.address() } else { 0 })
            }
            cl::MEM_MAP_COUNT => {
                let maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
                place.put(maps.len() as u32)
            }
            cl::MEM_REFERENCE_COUNT => place.put(registry::users(self)),
            cl::MEM_CONTEXT => place.put(self.context.handle.get()),
            cl::MEM_ASSOCIATED_MEMOBJECT => {
                place.put(self.parent.as_ref().map_or(0, |p| p.handle.get()))
            }
            cl::MEM_OFFSET => place.put(self.offset),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

/// Flags of a part of an object with flags `of`, asked for with `flags`.
///
/// # Errors
/// When it would allow more.
pub fn inherit(of: u64, flags: u64) -> Result<u64> {
    let (access, host) = (flags & ACCESS, flags & HOST_ACCESS);
    let (own, own_host) = (of & ACCESS, of & HOST_ACCESS);
    let more = own == cl::MEM_WRITE_ONLY && access & (cl::MEM_READ_WRITE | cl::MEM_READ_ONLY) != 0
        || own == cl::MEM_READ_ONLY && access & (cl::MEM_READ_WRITE | cl::MEM_WRITE_ONLY) != 0
        || own_host == cl::MEM_HOST_WRITE_ONLY && host == cl::MEM_HOST_READ_ONLY
        || own_host == cl::MEM_HOST_READ_ONLY && host == cl::MEM_HOST_WRITE_ONLY
        || own_host == cl::MEM_HOST_NO_ACCESS
            && host & (cl::MEM_HOST_READ_ONLY | cl::MEM_HOST_WRITE_ONLY) != 0;
    if more {
        return Err(Error::INVALID_VALUE);
    }
    let access = if access == 0 { own } else { access };
    let host = if host == 0 { own_host } else { host };
    Ok(access | host | of & POINTERS)
}

impl Drop for Mem {
    fn drop(&mut self) {
        if self.storage != Storage::Parent {
            // Nothing else frees it, so there is nothing to say if it has gone.
            let _ = self.context.machine.free(DevicePtr(self.address));
        }
        if let Some(image) = &self.image {
            let _ = self.context.machine.free(image.descriptor);
        }
        let all =
            std::mem::take(self.destructors.get_mut().unwrap_or_else(PoisonError::into_inner));
        let handle = self.handle.get();
        if !all.is_empty() {
            later(Box::new(move || {
                for (function, data) in all.into_iter().rev() {
                    call_object(function, handle, data);
                }
            }));
        }
    }
}
