//! Memory objects: buffers, sub-buffers, and the memory of images.

use std::sync::{Arc, Mutex, PoisonError};

use ptx_runtime::DevicePtr;

use crate::callbacks::later;
use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::device::BASE_ALIGN;
use crate::image::{Image, ImageDesc};
use crate::image_format::ImageFormat;
use crate::object;
use crate::region::Rows;
use crate::registry::{self, Handle};
use c_border::ParamValue;
use c_border::Raw;
use c_border::callback::{ObjectFn, call_object};

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
    /// The list of properties that it was made with, with the zero at the end.
    pub properties: Vec<u64>,
    /// Device address.
    pub address: u64,
    /// The same bytes in the host's address space.
    pub host: Raw,
    storage: Storage,
    maps: Mutex<Vec<usize>>,
    destructors: Mutex<Vec<(ObjectFn, Raw)>>,
}
object!(Mem, INVALID_MEM_OBJECT);

/// Bytes in which devices give out memory.
const GRAIN: u64 = 512;
/// Bytes behind a buffer that kernels may read too: those of the largest vector. On a device some other memory lies
/// there, which programs read with the last elements and do not use.
const BEHIND: u64 = 128;

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
    /// In shared virtual memory.
    Shared,
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
            mem.fill_from(host);
        }
        let only_write = flags & cl::MEM_WRITE_ONLY != 0;
        if only_write || flags & cl::MEM_READ_ONLY != 0 {
            context.machine.restrict(DevicePtr(mem.address), size as u64, only_write);
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
        let shared = uses && context.svm.holds(host.address(), size);
        // Kernels load vectors of 16 bytes at once.
        let lent = if !shared && uses && host.address().is_multiple_of(16) {
            host.lend(machine.memory(), size as u64, "host memory").ok()
        } else {
            None
        };
        let (storage, address) = match lent {
            Some(address) => (Storage::Lent, address),
            None if shared => (Storage::Shared, host.address() as u64),
            None => {
                let name = if image.is_some() { "image" } else { "buffer" };
                let address =
                    machine.alloc_named(context.granted(size as u64, BEHIND, GRAIN), name);
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
            properties: Vec::new(),
            address,
            host: Raw::none(),
            storage,
            maps: Mutex::default(),
            destructors: Mutex::default(),
        };
        mem.host = match machine.memory().host_span(address) {
            _ if matches!(storage, Storage::Lent | Storage::Shared) => host,
            Some(span) => {
                let first = span.host.expose_provenance();
                Raw::new(first + (address - span.start) as usize)
            }
            None => return Err(Error::OUT_OF_RESOURCES),
        };
        if storage == Storage::Shadow {
            mem.fill_from(host);
        }
        Ok(mem)
    }

    /// Takes its first bytes from the host.
    fn fill_from(&self, host: Raw) {
        let [to, from] = [self.host, host].map(|start| Rows::line(start, self.size));
        self.put(to, from, [self.size, 1, 1]);
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
            properties: Vec::new(),
            address: parent.address + offset as u64,
            host: parent.host.offset(offset),
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

    /// `clCreateImage`
    ///
    /// # Errors
    /// When something about it is wrong, or there is no memory.
    pub fn image(
        context: &Arc<Context>,
        flags: u64,
        format: Option<ImageFormat>,
        desc: Option<ImageDesc>,
        host: Raw,
    ) -> Result<Mem> {
        let in_buffer = [cl::MEM_OBJECT_IMAGE1D_BUFFER, cl::MEM_OBJECT_IMAGE2D];
        let parent = desc.filter(|d| d.buffer != 0 && in_buffer.contains(&d.kind));
        let mut checked = check_flags(flags)?;
        let format = format.ok_or(Error::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let desc = desc.ok_or(Error::INVALID_IMAGE_DESCRIPTOR)?;
        format.element()?;
        let image = Image::sized(format, &desc, !host.is_null())?;
        let size = image.bytes();
        let mut mem = match parent {
            Some(desc) => {
                let buffer: Arc<Mem> =
                    registry::get(desc.buffer).map_err(|_| Error::INVALID_IMAGE_DESCRIPTOR)?;
                if !host.is_null() {
                    return Err(Error::INVALID_HOST_PTR);
                }
                if buffer.image.is_some() || !Arc::ptr_eq(&buffer.context, context) {
                    return Err(Error::INVALID_IMAGE_DESCRIPTOR);
                }
                if size > buffer.size {
                    return Err(Error::INVALID_IMAGE_SIZE);
                }
                checked = inherit(buffer.flags, flags)?;
                // What kernels write through the image is not followed.
                buffer.counts_as_written();
                Mem::part(&buffer, checked, 0, size, Some(image))
            }
            None => {
                check_host_ptr(checked, host)?;
                if size as u64 > context.max_alloc() {
                    return Err(Error::INVALID_IMAGE_SIZE);
                }
                let mut own = image.clone();
                if checked & cl::MEM_USE_HOST_PTR == 0 {
                    own.row = own.extent[0] * own.element;
                    own.slice = own.row * own.extent[1].max(1);
                }
                let size = own.bytes();
                let mem = Mem::with_storage(context, checked, size, host, Some(own.clone()))?;
                if checked & cl::MEM_COPY_HOST_PTR != 0 {
                    let region = own.sizes();
                    let from = image.rows(host, [0; 3]);
                    mem.put(own.rows(mem.host, [0; 3]), from, own.span(region));
                }
                mem
            }
        };
        let address = mem.address;
        if let Some(image) = &mut mem.image {
            image.describe(context, address)?;
        }
        Ok(mem)
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
        let base = if self.shadow().is_some() { self.host_ptr } else { self.host };
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
            shadow.host_ptr.copy_from(shadow.host, shadow.size);
        }
    }

    /// What the end of a mapping does when it is reached.
    pub fn take_back(&self) {
        if let Some(shadow) = self.shadow() {
            shadow.host.copy_from(shadow.host_ptr, shadow.size);
        }
    }

    /// Calls a function when the object has gone.
    pub fn on_destruction(&self, function: ObjectFn, data: Raw) {
        let mut all = self.destructors.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((function, data));
    }

    /// `clGetMemObjectInfo`
    pub fn info(&self, name: u32, to: ParamValue) -> Result {
        match name {
            cl::MEM_TYPE => to.put(self.image.as_ref().map_or(cl::MEM_OBJECT_BUFFER, |i| i.kind)),
            cl::MEM_FLAGS => to.put(self.flags),
            cl::MEM_SIZE => to.put(self.size),
            cl::MEM_HOST_PTR => {
                let uses = self.flags & cl::MEM_USE_HOST_PTR != 0;
                to.put(if uses { self.host_ptr.address() } else { 0 })
            }
            cl::MEM_MAP_COUNT => {
                let maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
                to.put(maps.len() as u32)
            }
            cl::MEM_REFERENCE_COUNT => to.put(registry::users(self)),
            cl::MEM_CONTEXT => to.put(self.context.handle.get()),
            cl::MEM_ASSOCIATED_MEMOBJECT => {
                to.put(self.parent.as_ref().map_or(0, |p| p.handle.get()))
            }
            cl::MEM_OFFSET => to.put(self.offset),
            cl::MEM_USES_SVM_POINTER => to.put(self.context.svm.holds(self.host_ptr.address(), 1)),
            cl::MEM_PROPERTIES => to.put(&self.properties[..]),
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
        if !matches!(self.storage, Storage::Parent | Storage::Shared) {
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
