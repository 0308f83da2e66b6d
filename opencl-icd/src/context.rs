//! Contexts: the memory that their devices share.

use std::ffi::CString;
use std::sync::{Arc, Mutex};

use ptx_runtime::DeviceOptions;

use crate::callbacks::{self, later};
use crate::cl::{self, Error, Result};
use crate::device::Device;
use crate::object;
use crate::registry::{self, Handle};
use crate::svm::Allocations;
use c_border::ParamValue;
use c_border::Raw;
use c_border::callback::{ContextFn, ObjectFn, call_context, call_object};

/// A context.
pub struct Context {
    pub(crate) handle: Handle<Context>,
    /// Its devices.
    pub devices: Vec<Arc<Device>>,
    properties: Vec<isize>,
    /// The memory of all its devices, and what kernels see of it.
    pub machine: ptx_runtime::Context,
    notify: Mutex<(ContextFn, Raw)>,
    exact: bool,
    /// Memory that host and kernels see at one address.
    pub svm: Allocations,
    destructors: Mutex<Vec<(ObjectFn, Raw)>>,
}
object!(Context, INVALID_CONTEXT);

impl Context {
    /// A context of these devices.
    ///
    /// # Errors
    /// When the host has no address space for their memory.
    pub fn new(
        devices: Vec<Arc<Device>>,
        properties: Vec<isize>,
        notify: ContextFn,
        data: Raw,
    ) -> Result<Context> {
        if notify.is_none() && !data.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        if notify.is_some() {
            callbacks::ready()?;
        }
        let memory = devices.iter().map(|d| d.memory()).max().unwrap_or(0);
        let options = DeviceOptions { memory, ..DeviceOptions::default() };
        let machine = ptx_runtime::Context::new(&options).map_err(|_| Error::OUT_OF_HOST_MEMORY)?;
        let notify = Mutex::new((notify, data));
        // What is no word of it was refused with the platform.
        let exact = environment::exact_bounds().unwrap_or(false);
        Ok(Context {
            handle: Handle::default(),
            devices,
            properties,
            machine,
            notify,
            exact,
            svm: Allocations::default(),
            destructors: Mutex::default(),
        })
    }

    /// Tells the program of an error that no call can return.
    pub fn tell(&self, what: &str) {
        let (function, data) = *self.notify.lock().unwrap_or_else(|e| e.into_inner());
        if function.is_some()
            && let Ok(what) = CString::new(what.replace('\0', " "))
        {
            later(Box::new(move || call_context(function, &what, data)));
        }
    }

    /// Calls a function when the context has gone.
    pub fn on_destruction(&self, function: ObjectFn, data: Raw) {
        let mut all = self.destructors.lock().unwrap_or_else(|e| e.into_inner());
        all.push((function, data));
    }

    /// Bytes that an allocation of `bytes` is given: whole grains, at least `behind` bytes more than asked, as on a
    /// device, where programs that go over the end by a little run; just what was asked with `PTXRUN_BOUNDS=exact`, and
    /// where memory is checked.
    pub fn granted(&self, bytes: u64, behind: u64, grain: u64) -> u64 {
        if self.exact { bytes } else { (bytes + behind).next_multiple_of(grain.max(1)) }
    }

    /// Bytes of the largest allocation that all devices can have.
    pub fn max_alloc(&self) -> u64 {
        self.devices.iter().map(|d| d.max_alloc()).max().unwrap_or(0)
    }

    /// `clGetContextInfo`
    pub fn info(&self, name: u32, to: ParamValue) -> Result {
        match name {
            cl::CONTEXT_REFERENCE_COUNT => to.put(registry::users(self)),
            cl::CONTEXT_NUM_DEVICES => to.put(self.devices.len() as u32),
            cl::CONTEXT_DEVICES => {
                let all: Vec<usize> = self.devices.iter().map(|d| d.handle.get()).collect();
                to.put(&all[..])
            }
            cl::CONTEXT_PROPERTIES => to.put(&self.properties[..]),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.svm.clear(&self.machine);
        let all = std::mem::take(self.destructors.get_mut().unwrap_or_else(|e| e.into_inner()));
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
