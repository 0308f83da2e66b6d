//! Modules, functions, libraries and kernels.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use ptx_runtime::timing::occupancy::{BlockNeeds, DoesNotFit, occupancy};
use ptx_runtime::{DevicePtr, LoadError, ReadyKernel, Resources, Verified};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::image::Refused;

/// All modules.
pub static MODULES: Handles<Module> = Handles::new(4);
/// All functions that were asked for.
pub static FUNCTIONS: Handles<Function> = Handles::new(5);
/// All libraries.
pub static LIBRARIES: Handles<Library> = Handles::new(6);
/// All kernels of libraries that were asked for.
pub static KERNELS: Handles<Kernel> = Handles::new(7);

/// A module in a context.
pub struct Module {
    /// Its context.
    pub context: Weak<Context>,
    /// What is loaded.
    pub module: ptx_runtime::Module,
    functions: Mutex<HashMap<String, usize>>,
    /// Texture and surface references that were asked for, by name.
    pub references: Mutex<HashMap<String, usize>>,
}

/// What the calls of before CUDA 4 set of a kernel's next launches.
#[derive(Clone, Default)]
pub struct Settings {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The arguments.
    pub params: Vec<u8>,
}

/// A kernel of a module.
pub struct Function {
    /// Its module, which ends with its context or when it is unloaded, whatever graph still names the kernel.
    module: Weak<Module>,
    /// The module's context.
    context: Weak<Context>,
    /// Its handle.
    pub handle: usize,
    /// Its name.
    pub name: String,
    /// Most bytes of dynamic shared memory (`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`).
    pub max_dynamic: AtomicI32,
    /// Preferred shared-memory carve-out; kept for queries.
    pub carveout: AtomicI32,
    /// Clusters of more than 8 blocks were allowed.
    pub large_clusters: AtomicBool,
    /// Zero-terminated name for C callers.
    pub c_name: std::ffi::CString,
    /// What `cuParamSetv` and its relatives have set.
    pub settings: Mutex<Settings>,
    ready: OnceLock<Result<ReadyKernel>>,
}

fn living(context: &Weak<Context>) -> Result<Arc<Context>> {
    context.upgrade().filter(|c| !c.is_destroyed()).ok_or(Error::ContextIsDestroyed)
}

/// Shared memory that a block may have without being asked for.
pub const DEFAULT_SHARED: u32 = 48 << 10;

impl Module {
    /// Loads verified text into a context.
    pub fn load(
        context: &Arc<Context>,
        verified: &Verified,
    ) -> std::result::Result<Module, Refused> {
        let loaded = ptx_runtime::Module::from_verified(&context.device, verified);
        let module = loaded.map_err(|error| match error {
            LoadError::Invalid(findings) => Refused::new(Error::InvalidPtx, findings.render(false)),
            LoadError::Memory(error) => Refused::new(error.clone().into(), error.to_string()),
            LoadError::Unresolved(_) => Refused::new(Error::InvalidPtx, error.to_string()),
        })?;
        Ok(Module {
            context: Arc::downgrade(context),
            module,
            functions: Mutex::default(),
            references: Mutex::default(),
        })
    }

    /// Its context, if that lives.
    pub fn context(&self) -> Result<Arc<Context>> {
        living(&self.context)
    }

    /// A kernel by name; the same handle every time.
    pub fn function(self: &Arc<Self>, name: &str) -> Result<usize> {
        self.module.entry(name).ok_or(Error::NotFound)?;
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = functions.get(name) {
            return Ok(*handle);
        }
        let handle = FUNCTIONS.reserve();
        let function = Function {
            module: Arc::downgrade(self),
            context: Weak::clone(&self.context),
            handle,
            name: name.to_owned(),
            max_dynamic: AtomicI32::new(-1),
            carveout: AtomicI32::new(-1),
            large_clusters: AtomicBool::new(false),
            c_name: std::ffi::CString::new(name).unwrap_or_default(),
            settings: Mutex::default(),
            ready: OnceLock::new(),
        };
        FUNCTIONS.bind(handle, Arc::new(function));
        functions.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// Names of its kernels.
    pub fn names(&self) -> Vec<String> {
        self.module.entries().map(|f| f.name.to_string()).collect()
    }

    /// Address and size of a variable.
    pub fn global(&self, name: &str) -> Result<(DevicePtr, u64)> {
        self.module.global(name).ok_or(Error::NotFound)
    }

    /// Ends its functions' handles.
    pub fn unload(self: &Arc<Self>) {
        FUNCTIONS.remove_if(|f| std::ptr::eq(f.module.as_ptr(), Arc::as_ptr(self)));
        crate::texture::forget_module(self);
    }
}

impl Function {
    /// Its module; the context's end or the module's is the error.
    pub fn module(&self) -> Result<Arc<Module>> {
        self.module.upgrade().ok_or_else(|| match self.context() {
            Ok(_) => Error::InvalidHandle,
            Err(ended) => ended,
        })
    }

    /// Its module's context, if that lives.
    pub fn context(&self) -> Result<Arc<Context>> {
        living(&self.context)
    }

    /// What it needs. A kernel that cannot run says why on standard error.
    pub fn resources(&self) -> Result<&Resources> {
        self.ready().map(ReadyKernel::resources)
    }

    /// The kernel, ready to run, or as [`Function::resources`].
    pub fn ready(&self) -> Result<&ReadyKernel> {
        let module = self.module()?;
        let found = self.ready.get_or_init(|| match module.module.ready(&self.name) {
            Some(Ok(ready)) => {
                let resources = ready.resources();
                let _ = self.max_dynamic.compare_exchange(
                    -1,
                    DEFAULT_SHARED.saturating_sub(resources.shared) as i32,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                Ok(ready)
            }
            Some(Err(refusal)) => {
                let error = ptx_runtime::LaunchError::Unsupported(Box::new(refusal));
                environment::say!("{}", error.render(module.module.verified(), false));
                Err(Error::NotSupported)
            }
            None => Err(Error::InvalidHandle),
        });
        found.as_ref().map_err(|e| *e)
    }

    /// Most threads of a block.
    pub fn max_threads(&self) -> Result<u32> {
        let context = self.context()?;
        let limits = &context.driver.profile.limits;
        let resources = self.resources()?;
        let product = |v: [u32; 3]| v.iter().product::<u32>();
        let tuning = &resources.tuning;
        let asked = tuning.req_ntid.or(tuning.max_ntid).map_or(u32::MAX, product);
        let by_registers = limits.registers_per_sm / resources.registers.max(1) / 32 * 32;
        Ok(asked.min(limits.max_threads_per_block).min(by_registers.max(32)))
    }

    /// Blocks that a multiprocessor holds; 0 when none fits.
    pub fn resident_blocks(&self, context: &Context, threads: u32, dynamic: u32) -> Result<u32> {
        let resources = self.resources()?;
        if threads == 0 {
            return Err(Error::InvalidValue);
        }
        if threads > self.max_threads()? {
            return Ok(0);
        }
        let needs = BlockNeeds {
            threads,
            registers: resources.registers,
            shared: resources.shared.saturating_add(dynamic),
            arguments: resources.param_bytes,
        };
        match occupancy(&context.driver.profile, &needs) {
            Ok(o) => Ok(o.blocks),
            Err(DoesNotFit::NoThreads) => Err(Error::InvalidValue),
            Err(_) => Ok(0),
        }
    }

    /// The name for C callers.
    pub fn name_pointer(&self) -> usize {
        self.c_name.as_ptr() as usize
    }
}

/// A library: verified text, loaded into a context on first use there.
pub struct Library {
    verified: Verified,
    loaded: Mutex<HashMap<u64, (usize, Weak<Module>)>>,
    kernels: Mutex<HashMap<String, usize>>,
}

/// A kernel of a library.
pub struct Kernel {
    /// The library.
    pub library: usize,
    /// Its name.
    pub name: std::ffi::CString,
    /// Attributes set for all contexts: dynamic shared bytes.
    pub max_dynamic: AtomicI32,
}

impl Library {
    /// A library of verified text.
    pub fn new(verified: Verified) -> Library {
        Library { verified, loaded: Mutex::default(), kernels: Mutex::default() }
    }

    /// Its module in a context: handle and object.
    pub fn module(&self, context: &Arc<Context>) -> Result<(usize, Arc<Module>)> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((handle, module)) = loaded.get(&context.id)
            && let Some(module) = module.upgrade()
        {
            return Ok((*handle, module));
        }
        let module = Module::load(context, &self.verified).map_err(|r| {
            environment::sayln!("error: {}", r.log);
            r.code
        })?;
        let module = Arc::new(module);
        let handle = MODULES.add(Arc::clone(&module));
        loaded.insert(context.id, (handle, Arc::downgrade(&module)));
        Ok((handle, module))
    }

    /// Its verified text.
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// Names of its kernels.
    pub fn names(&self) -> Vec<String> {
        ptx_runtime::parse::lower::entries(self.verified.module())
            .map(|f| f.name.to_string())
            .collect()
    }

    /// A kernel by name; the same handle every time.
    pub fn kernel(&self, own: usize, name: &str) -> Result<usize> {
        if !self.names().iter().any(|n| n == name) {
            return Err(Error::NotFound);
        }
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let made = kernels.entry(name.to_owned()).or_insert_with(|| {
            let c_name = std::ffi::CString::new(name).unwrap_or_default();
            let max_dynamic = AtomicI32::new(-1);
            KERNELS.add(Arc::new(Kernel { library: own, name: c_name, max_dynamic }))
        });
        Ok(*made)
    }

    /// Ends its modules and kernels.
    pub fn unload(&self) {
        let loaded =
            std::mem::take(&mut *self.loaded.lock().unwrap_or_else(PoisonError::into_inner));
        for (handle, module) in loaded.into_values() {
            if let Some(module) = module.upgrade() {
                if let Ok(context) = module.context() {
                    context.synchronize();
                }
                module.unload();
            }
            MODULES.remove(handle);
        }
        let kernels =
            std::mem::take(&mut *self.kernels.lock().unwrap_or_else(PoisonError::into_inner));
        for handle in kernels.into_values() {
            KERNELS.remove(handle);
        }
    }
}

impl Kernel {
    /// The function that it is in a context.
    pub fn function(&self, context: &Arc<Context>) -> Result<Arc<Function>> {
        let library = LIBRARIES.get(self.library).ok_or(Error::InvalidHandle)?;
        let (_, module) = library.module(context)?;
        let handle = module.function(&self.name.to_string_lossy())?;
        let function = FUNCTIONS.get(handle).ok_or(Error::InvalidHandle)?;
        let dynamic = self.max_dynamic.load(Ordering::Relaxed);
        if dynamic >= 0 {
            function.resources()?;
            function.max_dynamic.fetch_max(dynamic, Ordering::Relaxed);
        }
        Ok(function)
    }
}

/// A module by handle.
pub fn module(handle: usize) -> Result<Arc<Module>> {
    crate::driver::get()?;
    MODULES.get(handle).ok_or(Error::InvalidHandle)
}

/// A library by handle.
pub fn library(handle: usize) -> Result<Arc<Library>> {
    crate::driver::get()?;
    LIBRARIES.get(handle).ok_or(Error::InvalidHandle)
}

/// A kernel of a library by handle.
pub fn kernel(handle: usize) -> Result<Arc<Kernel>> {
    crate::driver::get()?;
    KERNELS.get(handle).ok_or(Error::InvalidHandle)
}

/// A function by handle: of a module, or a library's kernel in the current context.
pub fn function(handle: usize) -> Result<Arc<Function>> {
    crate::driver::get()?;
    if let Some(function) = FUNCTIONS.get(handle) {
        return Ok(function);
    }
    let kernel = KERNELS.get(handle).ok_or(Error::InvalidHandle)?;
    kernel.function(&crate::context::current()?)
}

/// Ends the modules of a context.
pub fn forget(context: &Arc<Context>) {
    let of = |c: &Weak<Context>| std::ptr::eq(c.as_ptr(), Arc::as_ptr(context));
    FUNCTIONS.remove_if(|f| of(&f.context));
    MODULES.remove_if(|m| of(&m.context));
}
