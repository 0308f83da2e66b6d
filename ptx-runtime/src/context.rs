//! A device: its memory and its texture objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_check::{Checker, Checks, Finding, Left, Output};
use ptx_interp::{Access, Memory, MemoryError, Textures};
use ptx_isa::texture::Texture;

use crate::device_ptr::DevicePtr;

/// What a device is given.
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    /// Most bytes that can be allocated: by default `PTXRUN_MEMORY`, or what fits the host. Address space is reserved for
    /// them, memory is not.
    pub memory: u64,
    /// Lowest address of allocations; 0 takes the lowest possible. Contexts of one process that are given
    /// ranges of their own do not take each other's pointers for theirs.
    pub base: u64,
    /// What is checked while kernels run; the caller asks [`Context::findings`]. Where it is nothing, the environment
    /// decides (`PTXRUN_CHECK`), and reports go where that says.
    pub checks: Checks,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        // Who reads the environment for other things has refused what is wrong in it.
        let memory = environment::memory().unwrap_or(MEMORY);
        DeviceOptions { memory, base: 0, checks: Checks::default() }
    }
}

/// Bytes of device memory where nobody says how much.
const MEMORY: u64 = 4 << 30;

/// A device with its memory and texture objects.
pub struct Context {
    memory: Memory,
    objects: Mutex<Objects>,
    checker: Option<Arc<Checker>>,
}

struct Objects {
    by_handle: Arc<Textures>,
    next: u64,
}

impl Context {
    /// A device with nothing on it.
    ///
    /// # Errors
    /// When the host has no address space for its memory.
    pub fn new(options: &DeviceOptions) -> Result<Context, MemoryError> {
        Ok(Context::over(Memory::at(options.base, options.memory)?, options.checks))
    }

    /// A device whose addresses are the host's own, for callers whose interface passes host
    /// addresses to kernels ([`Memory::identity`]).
    ///
    /// # Safety
    /// For every launch on it, the caller vouches that the addresses which the kernel computes are
    /// memory that it may access, and that no mapping goes away before the launch ends.
    ///
    /// # Errors
    /// When the host has no address space for module variables.
    pub unsafe fn on_host_memory(options: &DeviceOptions) -> Result<Context, MemoryError> {
        // SAFETY: the caller vouches for it.
        Ok(Context::over(unsafe { Memory::identity(options.memory) }?, options.checks))
    }

    fn over(memory: Memory, checks: Checks) -> Context {
        let checker = match checks.any() {
            true => Some(Checker::new(checks, &memory, Output::Kept)),
            // Who reads the environment for other things has refused what is wrong in it.
            false => environment::checks()
                .ok()
                .filter(|checks| checks.any())
                .map(|checks| Checker::new(checks, &memory, Output::from_environment())),
        };
        let objects = Mutex::new(Objects { by_handle: Arc::default(), next: 1 });
        Context { memory, objects, checker }
    }

    /// Whether checkers look at its launches.
    pub fn is_checked(&self) -> bool {
        self.checker.is_some()
    }
    /// What checks its launches.
    pub(crate) fn checker(&self) -> Option<&Checker> {
        self.checker.as_deref()
    }

    /// What the checks of [`DeviceOptions::checks`] have found, and what was not checked.
    pub fn findings(&self) -> (Vec<Finding>, Vec<String>) {
        self.checker.as_ref().map_or_else(Default::default, |c| (c.all(), c.notes()))
    }

    /// Kernels may only read a range, or only write it: checks find those that do otherwise.
    pub fn restrict(&self, start: DevicePtr, bytes: u64, only_write: bool) {
        if let Some(checker) = &self.checker {
            checker.restrict(start.0, bytes, only_write);
        }
    }

    /// Looks for memory that kernels took and nobody freed: at the end of a program.
    pub fn check_leaks(&self) {
        self.check_leaks_and(&[]);
    }

    /// As [`check_leaks`](Context::check_leaks), with objects that the program has not ended.
    pub fn check_leaks_and(&self, objects: &[Left]) {
        if let Some(checker) = &self.checker {
            checker.finish(objects);
        }
    }

    /// The device's memory, for what has no method here.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Allocates zeroed memory.
    ///
    /// # Errors
    /// When there is no room.
    pub fn alloc(&self, bytes: u64) -> Result<DevicePtr, MemoryError> {
        self.alloc_named(bytes, "buffer")
    }

    /// Allocates zeroed memory under a name that fault reports show.
    ///
    /// # Errors
    /// When there is no room.
    pub fn alloc_named(&self, bytes: u64, name: &str) -> Result<DevicePtr, MemoryError> {
        self.memory.alloc(bytes, 1, name, Access::ReadWrite).map(DevicePtr)
    }

    /// Frees what [`Context::alloc`] returned.
    ///
    /// # Errors
    /// When no allocation starts there.
    pub fn free(&self, pointer: DevicePtr) -> Result<(), MemoryError> {
        self.memory.free(pointer.0)
    }

    /// Copies from the host to the device.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn copy_to_device(&self, to: DevicePtr, from: &[u8]) -> Result<(), MemoryError> {
        self.memory.write(to.0, from)
    }

    /// Copies from the device to the host.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn copy_from_device(&self, from: DevicePtr, to: &mut [u8]) -> Result<(), MemoryError> {
        self.memory.read(from.0, to)
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a texture or surface object; its handle goes to kernels as an argument.
    pub fn add_object(&self, object: Arc<Texture>) -> u64 {
        let mut objects = self.objects();
        let handle = objects.next;
        objects.next += 1;
        Arc::make_mut(&mut objects.by_handle).insert(handle, object);
        handle
    }

    /// Binds a texture to a module's `.texref`, `.samplerref`, `.surfref` or `.tex` variable, given by its
    /// address ([`crate::Module::global`]).
    pub fn bind_object(&self, variable: DevicePtr, object: Arc<Texture>) {
        Arc::make_mut(&mut self.objects().by_handle).insert(variable.0, object);
    }

    /// Removes an object or a binding; the object, if there was one.
    pub fn remove_object(&self, handle: u64) -> Option<Arc<Texture>> {
        Arc::make_mut(&mut self.objects().by_handle).remove(&handle)
    }

    /// The objects as they are now.
    pub(crate) fn textures(&self) -> Arc<BTreeMap<u64, Arc<Texture>>> {
        Arc::clone(&self.objects().by_handle)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.check_leaks();
    }
}
