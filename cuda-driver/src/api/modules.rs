//! Modules, functions, libraries, kernels.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::symbol::functions;
use crate::context;
use crate::driver;
use crate::error::{Error, Result};
use crate::image::{self, Image, Refused};
use crate::link::Options;
use crate::module::{
    self, DEFAULT_SHARED, FUNCTIONS, Function, KERNELS, LIBRARIES, Library, MODULES, Module,
};
use crate::texture::{REFERENCES, Reference};
use c_border::{In, Out, Raw, Text};

/// Loads a module from the image that `image` provides; the findings go to the logs of `options`.
fn load(
    out: Out<usize>,
    options: &Options,
    image: impl FnOnce(&driver::Driver) -> std::result::Result<Image, Refused>,
) -> Result {
    let context = context::current()?;
    out.required()?;
    crate::capture::unsafe_call()?;
    let loaded = image(context.driver)
        .and_then(|image| options.verified(image, context.driver))
        .and_then(|verified| {
            options.info(&verified.warnings().render(false));
            Module::load(&context, &verified)
        });
    match loaded {
        Ok(module) => {
            options.error("");
            Ok(out.set(MODULES.give(Arc::new(module)))?)
        }
        Err(refused) => options.refuse(refused),
    }
}

/// An attribute of a function (`CUfunction_attribute`).
fn function_attribute(function: &Function, id: u32) -> Result<i32> {
    let resources = function.resources()?;
    let info = function.module()?.module.verified().module().info;
    let sm = i32::from(info.target.sm);
    let int = |n: u32| n.min(i32::MAX as u32) as i32;
    let cluster = resources.tuning.req_ncta_per_cluster.unwrap_or([0; 3]);
    Ok(match id {
        0 => int(function.max_threads()?),
        1 => int(resources.shared),
        2 => constants(&*function.module()?),
        3 => int(resources.local),
        4 => int(resources.registers),
        5 | 6 => sm,
        7 => 0,
        8 => function.max_dynamic.load(Ordering::Relaxed),
        9 => function.carveout.load(Ordering::Relaxed),
        10 => i32::from(resources.tuning.req_ncta_per_cluster.is_some()),
        11..=13 => int(cluster[id as usize - 11]),
        14 => i32::from(function.large_clusters.load(Ordering::Relaxed)),
        15 => 0,
        _ => return Err(Error::InvalidValue),
    })
}

/// Bytes of the module's constant variables.
fn constants(module: &Module) -> i32 {
    let symbols = &module.module.verified().module().symbols;
    let constant = symbols.iter().filter(|s| s.space == ptx_runtime::isa::Space::Const);
    constant.map(|s| s.size).sum::<u64>().min(i32::MAX as u64) as i32
}

fn set_function_attribute(function: &Function, id: u32, value: i32) -> Result {
    let resources = function.resources()?;
    let context = function.context()?;
    match id {
        8 => {
            let most = context.driver.profile.limits.max_shared_bytes_per_block;
            let most = most.saturating_sub(resources.shared) as i32;
            if value < 0 || value > most.max(DEFAULT_SHARED as i32 - resources.shared as i32) {
                return Err(Error::InvalidValue);
            }
            function.max_dynamic.store(value, Ordering::Relaxed);
        }
        9 => {
            if !(-1..=100).contains(&value) {
                return Err(Error::InvalidValue);
            }
            function.carveout.store(value, Ordering::Relaxed);
        }
        14 => function.large_clusters.store(value != 0, Ordering::Relaxed),
        // The required cluster size of a kernel that does not say one, and its scheduling.
        11..=13 | 15 => return Err(Error::NotSupported),
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}

fn param_info(function: &Function, index: usize, offset: Out<usize>, size: Out<usize>) -> Result {
    offset.required()?;
    let params = &function.resources()?.params;
    let (at, bytes) = params.get(index).ok_or(Error::InvalidValue)?;
    offset.set(*at as usize)?;
    size.put(*bytes as usize);
    Ok(())
}

fn reference(out: Out<usize>, module: usize, name: Text, surface: bool) -> Result {
    out.required()?;
    let module = module::module(module)?;
    let name = name.get()?;
    let (variable, _) = module.global(&name)?;
    let mut known = module.references.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let handle = *known.entry(name).or_insert_with(|| {
        REFERENCES.add(Arc::new(Reference::new(Some((Arc::downgrade(&module), variable)), surface)))
    });
    Ok(out.set(handle)?)
}

/// A function in the current context of a handle of either kind.
fn of_kernel(handle: usize) -> Result<Arc<Function>> {
    module::kernel(handle)?.function(&context::current()?)
}

functions! {
    cuModuleLoadData [2000 => cuModuleLoadData] (module: Out<usize>, image: Raw) {
        load(module, &Options::default(), |driver| image::in_memory(image, driver))
    }

    cuModuleLoadDataEx [2010 => cuModuleLoadDataEx]
    (module: Out<usize>, image: Raw, count: u32, options: In<u32>, values: Out<usize>) {
        let options = Options::read(count, options, values)?;
        load(module, &options, |driver| image::in_memory(image, driver))
    }

    cuModuleLoadFatBinary [2000 => cuModuleLoadFatBinary] (module: Out<usize>, image: Raw) {
        load(module, &Options::default(), |driver| image::in_memory(image, driver))
    }

    cuModuleLoad [2000 => cuModuleLoad] (module: Out<usize>, path: Text) {
        let path = path.get()?;
        load(module, &Options::default(), |driver| image::in_file(&path, driver))
    }

    cuModuleUnload [2000 => cuModuleUnload] (handle: usize) {
        let module = module::module(handle)?;
        let context = module.context()?;
        context.check()?;
        crate::capture::unsafe_call()?;
        context.synchronize();
        MODULES.remove(handle);
        module.unload();
        Ok(())
    }

    cuModuleGetLoadingMode [11070 => cuModuleGetLoadingMode] (mode: Out<u32>) {
        // Eager.
        Ok(mode.set(1)?)
    }

    cuModuleGetFunction [2000 => cuModuleGetFunction] (function: Out<usize>, module: usize, name: Text) {
        let module = module::module(module)?;
        function.required()?;
        let name = name.get()?;
        if name.is_empty() {
            return Err(Error::InvalidValue);
        }
        module.context()?.check()?;
        Ok(function.set(module.function(&name)?)?)
    }

    cuModuleGetFunctionCount [12040 => cuModuleGetFunctionCount] (count: Out<u32>, module: usize) {
        Ok(count.set(module::module(module)?.names().len() as u32)?)
    }

    cuModuleEnumerateFunctions [12040 => cuModuleEnumerateFunctions]
    (list: Out<usize>, count: u32, module: usize) {
        let module = module::module(module)?;
        list.required()?;
        let names = module.names();
        let handles: Result<Vec<usize>> =
            names.iter().take(count as usize).map(|n| module.function(n)).collect();
        list.put_all(&handles?);
        Ok(())
    }

    cuModuleGetGlobal [3020 => cuModuleGetGlobal_v2]
    (pointer: Out<u64>, bytes: Out<usize>, module: usize, name: Text) {
        let module = module::module(module)?;
        if pointer.is_null() && bytes.is_null() {
            return Err(Error::InvalidValue);
        }
        module.context()?.check()?;
        let (at, size) = module.global(&name.get()?)?;
        pointer.put(at.0);
        bytes.put(size as usize);
        Ok(())
    }

    cuModuleGetTexRef [2000 => cuModuleGetTexRef] (out: Out<usize>, module: usize, name: Text) {
        reference(out, module, name, false)
    }

    cuModuleGetSurfRef [3000 => cuModuleGetSurfRef] (out: Out<usize>, module: usize, name: Text) {
        reference(out, module, name, true)
    }

    cuFuncGetAttribute [2020 => cuFuncGetAttribute] (value: Out<i32>, id: u32, function: usize) {
        let function = module::function(function)?;
        value.required()?;
        Ok(value.set(function_attribute(&function, id)?)?)
    }

    cuFuncSetAttribute [9000 => cuFuncSetAttribute] (function: usize, id: u32, value: i32) {
        set_function_attribute(&*module::function(function)?, id, value)
    }

    cuFuncSetCacheConfig [3000 => cuFuncSetCacheConfig] (function: usize, config: u32) {
        module::function(function)?;
        if config > 3 { Err(Error::InvalidValue) } else { Ok(()) }
    }

    cuFuncSetSharedMemConfig [4020 => cuFuncSetSharedMemConfig] (function: usize, config: u32) {
        module::function(function)?;
        if config > 2 { Err(Error::InvalidValue) } else { Ok(()) }
    }

    cuFuncGetModule [11000 => cuFuncGetModule] (module: Out<usize>, function: usize) {
        let function = module::function(function)?;
        module.required()?;
        let own = function.module()?;
        let found = MODULES.all().into_iter().find(|(_, m)| Arc::ptr_eq(m, &own));
        Ok(module.set(found.ok_or(Error::InvalidHandle)?.0)?)
    }

    cuFuncGetName [12030 => cuFuncGetName] (name: Out<usize>, function: usize) {
        let function = module::function(function)?;
        Ok(name.set(function.name_pointer())?)
    }

    cuFuncGetParamInfo [12040 => cuFuncGetParamInfo]
    (function: usize, index: usize, offset: Out<usize>, size: Out<usize>) {
        param_info(&*module::function(function)?, index, offset, size)
    }

    cuFuncGetParamCount [13020 => cuFuncGetParamCount] (function: usize, count: Out<usize>) {
        let function = module::function(function)?;
        Ok(count.set(function.resources()?.params.len())?)
    }

    cuFuncIsLoaded [12040 => cuFuncIsLoaded] (state: Out<u32>, function: usize) {
        module::function(function)?;
        Ok(state.set(1)?)
    }

    cuFuncLoad [12040 => cuFuncLoad] (function: usize) {
        module::function(function)?.resources().map(|_| ())
    }

    cuLibraryLoadData [12000 => cuLibraryLoadData]
    (library: Out<usize>, image: Raw, options: In<u32>, values: Out<usize>, count: u32,
     library_options: In<u32>, library_values: In<usize>, library_count: u32) {
        library.required()?;
        let driver = driver::get()?;
        let options = Options::read(count, options, values)?;
        load_library(library, &options, image::in_memory(image, driver), driver)
    }

    cuLibraryLoadFromFile [12000 => cuLibraryLoadFromFile]
    (library: Out<usize>, path: Text, options: In<u32>, values: Out<usize>, count: u32,
     library_options: In<u32>, library_values: In<usize>, library_count: u32) {
        library.required()?;
        let driver = driver::get()?;
        let options = Options::read(count, options, values)?;
        load_library(library, &options, image::in_file(&path.get()?, driver), driver)
    }

    cuLibraryUnload [12000 => cuLibraryUnload] (library: usize) {
        driver::get()?;
        LIBRARIES.remove(library).ok_or(Error::InvalidHandle)?.unload();
        Ok(())
    }

    cuLibraryGetKernel [12000 => cuLibraryGetKernel] (kernel: Out<usize>, library: usize, name: Text) {
        kernel.required()?;
        let found = module::library(library)?;
        Ok(kernel.set(found.kernel(library, &name.get()?)?)?)
    }

    cuLibraryGetKernelCount [12040 => cuLibraryGetKernelCount] (count: Out<u32>, library: usize) {
        Ok(count.set(module::library(library)?.names().len() as u32)?)
    }

    cuLibraryEnumerateKernels [12040 => cuLibraryEnumerateKernels]
    (list: Out<usize>, count: u32, library: usize) {
        list.required()?;
        let found = module::library(library)?;
        let names = found.names();
        let handles: Result<Vec<usize>> =
            names.iter().take(count as usize).map(|n| found.kernel(library, n)).collect();
        list.put_all(&handles?);
        Ok(())
    }

    cuLibraryGetModule [12000 => cuLibraryGetModule] (module: Out<usize>, library: usize) {
        module.required()?;
        Ok(module.set(module::library(library)?.module(&context::current()?)?.0)?)
    }

    cuLibraryGetGlobal [12000 => cuLibraryGetGlobal]
    (pointer: Out<u64>, bytes: Out<usize>, library: usize, name: Text) {
        let (_, module) = module::library(library)?.module(&context::current()?)?;
        let (at, size) = module.global(&name.get()?)?;
        pointer.put(at.0);
        bytes.put(size as usize);
        Ok(())
    }

    cuLibraryGetManaged [12000 => cuLibraryGetManaged]
    (pointer: Out<u64>, bytes: Out<usize>, library: usize, name: Text) {
        let (_, module) = module::library(library)?.module(&context::current()?)?;
        let name = name.get()?;
        let symbols = &module.module.verified().module().symbols;
        if !symbols.iter().any(|s| s.name == name && s.managed) {
            return Err(Error::NotFound);
        }
        let (at, size) = module.global(&name)?;
        pointer.put(at.0);
        bytes.put(size as usize);
        Ok(())
    }

    cuLibraryGetUnifiedFunction [12000 => cuLibraryGetUnifiedFunction]
    (function: Out<usize>, library: usize, symbol: Text) {
        module::library(library)?;
        Err(Error::NotFound)
    }

    cuKernelGetFunction [12000 => cuKernelGetFunction] (function: Out<usize>, kernel: usize) {
        function.required()?;
        Ok(function.set(of_kernel(kernel)?.handle)?)
    }

    cuKernelGetLibrary [12050 => cuKernelGetLibrary] (library: Out<usize>, kernel: usize) {
        Ok(library.set(module::kernel(kernel)?.library)?)
    }

    cuKernelGetName [12030 => cuKernelGetName] (name: Out<usize>, kernel: usize) {
        Ok(name.set(module::kernel(kernel)?.name.as_ptr() as usize)?)
    }

    cuKernelGetParamInfo [12040 => cuKernelGetParamInfo]
    (kernel: usize, index: usize, offset: Out<usize>, size: Out<usize>) {
        param_info(&*of_kernel(kernel)?, index, offset, size)
    }

    cuKernelGetParamCount [13020 => cuKernelGetParamCount] (kernel: usize, count: Out<usize>) {
        Ok(count.set(of_kernel(kernel)?.resources()?.params.len())?)
    }

    cuKernelGetAttribute [12000 => cuKernelGetAttribute] (value: Out<i32>, id: u32, kernel: usize, device: i32) {
        driver::device(device)?;
        value.required()?;
        Ok(value.set(function_attribute(&*any_function(kernel)?, id)?)?)
    }

    cuKernelSetAttribute [12000 => cuKernelSetAttribute] (id: u32, value: i32, kernel: usize, device: i32) {
        driver::device(device)?;
        let function = any_function(kernel)?;
        set_function_attribute(&function, id, value)?;
        if let (8, Some(kernel)) = (id, KERNELS.get(kernel)) {
            kernel.max_dynamic.store(value, Ordering::Relaxed);
        }
        Ok(())
    }

    cuKernelSetCacheConfig [12000 => cuKernelSetCacheConfig] (kernel: usize, config: u32, device: i32) {
        driver::device(device)?;
        module::kernel(kernel)?;
        if config > 3 { Err(Error::InvalidValue) } else { Ok(()) }
    }
}

/// A kernel's function; functions of modules are taken too.
fn any_function(handle: usize) -> Result<Arc<Function>> {
    match FUNCTIONS.get(handle) {
        Some(function) => Ok(function),
        None => of_kernel(handle),
    }
}

fn load_library(
    out: Out<usize>,
    options: &Options,
    image: std::result::Result<Image, Refused>,
    driver: &driver::Driver,
) -> Result {
    let verified = image.and_then(|image| options.verified(image, driver));
    match verified {
        Ok(verified) => {
            let warnings = verified.warnings().render(false);
            options.info(&warnings);
            options.error("");
            Ok(out.set(LIBRARIES.add(Arc::new(Library::new(verified))))?)
        }
        Err(refused) => options.refuse(refused),
    }
}
