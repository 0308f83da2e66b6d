//! Kernels: their arguments, and how they are launched.

mod params;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ptx_runtime::opencl::info::{ArgInfo, ArgKind, KernelInfo};
use ptx_runtime::{LaunchConfig, LaunchError, ReadyKernel, Resources, TimingError, timing};

use self::params::Params;
use crate::cl::{self, Error, Result};
use crate::device::Device;
use crate::memory::Mem;
use crate::object;
use crate::program::{Executable, Program};
use crate::range::{Part, Range};
use crate::registry::{self, Handle};
use crate::sampler::Sampler;
use crate::schedule::{self, Work};
use c_border::ParamValue;
use c_border::{In, Raw};

/// A kernel.
pub struct Kernel {
    pub(crate) handle: Handle<Kernel>,
    /// Its program.
    pub program: Arc<Program>,
    codes: Vec<Code>,
    info: KernelInfo,
    declared: bool,
    args: Mutex<Vec<Option<Arg>>>,
}
object!(Kernel, INVALID_KERNEL, Kernel::held);

/// What a kernel is on a device.
#[derive(Clone)]
struct Code {
    device: Arc<Device>,
    executable: Arc<Executable>,
    /// The kernel and what it needs of a device, once somebody has asked: every launch does.
    ready: OnceLock<ReadyKernel>,
}

/// An argument. Kernels do not keep memory objects and samplers alive.
#[derive(Clone)]
enum Arg {
    Bytes(Vec<u8>),
    Memory(Weak<Mem>),
    Null,
    /// Bytes of local memory.
    Local(usize),
    /// An address in shared virtual memory.
    Shared(usize),
    Sampler(u32),
}

impl Kernel {
    /// A program cannot be built again while the host has kernels of it. Commands keep the code that they run.
    fn held(&self, held: bool) {
        if held { self.program.attach() } else { self.program.detach() }
    }

    /// A kernel of a built program.
    ///
    /// # Errors
    /// When the program is not built or has no such kernel.
    pub fn new(program: &Arc<Program>, name: &str) -> Result<Kernel> {
        let mut codes = program.executables();
        if codes.is_empty() {
            return Err(Error::INVALID_PROGRAM_EXECUTABLE);
        }
        codes.retain(|(_, code)| code.entries.iter().any(|e| e.info.name == name));
        let entry = codes.first().and_then(|(_, c)| c.entries.iter().find(|e| e.info.name == name));
        let entry = entry.ok_or(Error::INVALID_KERNEL_NAME)?.clone();
        let same = |c: &Executable| {
            c.entries.iter().find(|e| e.info.name == name).is_some_and(|e| e.info == entry.info)
        };
        if !codes.iter().all(|(_, c)| same(c)) {
            return Err(Error::INVALID_KERNEL_DEFINITION);
        }
        Ok(Kernel {
            handle: Handle::default(),
            program: Arc::clone(program),
            codes: codes
                .into_iter()
                .map(|(device, executable)| Code { device, executable, ready: OnceLock::new() })
                .collect(),
            args: Mutex::new(vec![None; entry.info.args.len()]),
            declared: entry.declared,
            info: entry.info,
        })
    }

    fn args(&self) -> MutexGuard<'_, Vec<Option<Arg>>> {
        self.args.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn code(&self, device: &Arc<Device>) -> Option<&Code> {
        self.codes.iter().find(|code| Arc::ptr_eq(&code.device, device))
    }

    fn ready(&self, device: &Arc<Device>) -> Result<&ReadyKernel> {
        let code = self.code(device).ok_or(Error::INVALID_PROGRAM_EXECUTABLE)?;
        if let Some(ready) = code.ready.get() {
            return Ok(ready);
        }
        match code.executable.module.ready(&self.info.name) {
            Some(Ok(ready)) => Ok(code.ready.get_or_init(|| ready)),
            _ => Err(Error::INVALID_PROGRAM_EXECUTABLE),
        }
    }

    fn resources(&self, device: &Arc<Device>) -> Result<&Resources> {
        self.ready(device).map(ReadyKernel::resources)
    }

    /// `clSetKernelArg`
    ///
    /// # Errors
    /// When index, size or value do not fit.
    pub fn set_arg(&self, index: u32, size: usize, value: Raw) -> Result {
        let info = self.info.args.get(index as usize).ok_or(Error::INVALID_ARG_INDEX)?;
        let arg = self.read_arg(info, size, value)?;
        self.args()[index as usize] = Some(arg);
        Ok(())
    }

    /// `clSetKernelArgSVMPointer`
    ///
    /// # Errors
    /// When there is no such argument, or it takes no pointer.
    pub fn set_pointer(&self, index: u32, address: usize) -> Result {
        let info = self.info.args.get(index as usize).ok_or(Error::INVALID_ARG_INDEX)?;
        let takes = match info.kind {
            ArgKind::Global | ArgKind::Constant => true,
            // Where only parameters tell what an argument is, it may be a pointer.
            ArgKind::Value { size, .. } => !self.declared && size == 8,
            _ => false,
        };
        if !takes {
            return Err(Error::INVALID_ARG_VALUE);
        }
        let arg = if address == 0 { Arg::Null } else { Arg::Shared(address) };
        self.args()[index as usize] = Some(arg);
        Ok(())
    }

    /// `clCloneKernel`
    pub fn copy(&self) -> Kernel {
        Kernel {
            handle: Handle::default(),
            program: Arc::clone(&self.program),
            codes: self.codes.clone(),
            info: self.info.clone(),
            declared: self.declared,
            args: Mutex::new(self.args().clone()),
        }
    }

    /// The work-group that a launch without one would have.
    ///
    /// # Errors
    /// When the sizes do not fit.
    pub fn suggest(&self, device: &Arc<Device>, range: &Range) -> Result<[usize; 3]> {
        self.code(device).ok_or(Error::INVALID_PROGRAM_EXECUTABLE)?;
        if range.global.contains(&0) {
            return Err(Error::INVALID_GLOBAL_WORK_SIZE);
        }
        self.group(device, range)
    }

    /// `clGetKernelSubGroupInfo`. `input`: the numbers that the query is about; `room`: numbers that the answer may have.
    pub fn sub_group_info(
        &self,
        device: Option<Arc<Device>>,
        name: u32,
        input: &[usize],
        room: usize,
        to: ParamValue,
    ) -> Result {
        let device = self.device_of(device)?;
        if !device.has_feature("__opencl_c_subgroups") {
            return Err(Error::INVALID_OPERATION);
        }
        let size = device.sub_group();
        let items = || match input {
            [] => Err(Error::INVALID_VALUE),
            sizes if sizes.len() > 3 => Err(Error::INVALID_VALUE),
            sizes => Ok(sizes.iter().fold(1usize, |all, n| all.saturating_mul(*n))),
        };
        match name {
            cl::KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE => items().and_then(|_| to.put(size)),
            cl::KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE => to.put(items()?.div_ceil(size)),
            cl::KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT => {
                let [count] = input else { return Err(Error::INVALID_VALUE) };
                let wanted = count.saturating_mul(size);
                let most = self.max_group(&device)?;
                let required = self.info.required_size.map(|s| s.map(|n| n as usize));
                let sizes = match required {
                    Some(s) if s.iter().product::<usize>().div_ceil(size) == *count => s,
                    None if wanted > 0 && wanted <= most => [wanted, 1, 1],
                    _ => [0; 3],
                };
                to.put(&sizes[..room.clamp(1, 3)])
            }
            cl::KERNEL_MAX_NUM_SUB_GROUPS => to.put(self.max_group(&device)?.div_ceil(size)),
            cl::KERNEL_COMPILE_NUM_SUB_GROUPS => to.put(0usize),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    /// The device that a query is about.
    fn device_of(&self, device: Option<Arc<Device>>) -> Result<Arc<Device>> {
        let device = match device {
            Some(device) => device,
            None if self.codes.len() == 1 => Arc::clone(&self.codes[0].device),
            None => return Err(Error::INVALID_DEVICE),
        };
        self.code(&device).ok_or(Error::INVALID_DEVICE)?;
        Ok(device)
    }

    fn memory(&self, handle: usize) -> Result<Arc<Mem>> {
        let mem: Arc<Mem> = registry::get(handle)?;
        let same = Arc::ptr_eq(&mem.context, &self.program.context);
        if same { Ok(mem) } else { Err(Error::INVALID_MEM_OBJECT) }
    }

    fn read_arg(&self, info: &ArgInfo, size: usize, value: Raw) -> Result<Arg> {
        let word = || In::<usize>::from(value).get().unwrap_or(0);
        let is_word = size == size_of::<usize>();
        match info.kind {
            ArgKind::Value { size: wanted, .. } => {
                if value.is_null() {
                    return Err(Error::INVALID_ARG_VALUE);
                }
                // Where only parameters tell what an argument is, a handle says more.
                if !self.declared && is_word {
                    if wanted == 8
                        && let Ok(mem) = self.memory(word())
                    {
                        return Ok(Arg::Memory(Arc::downgrade(&mem)));
                    }
                    if let Ok(sampler) = registry::get::<Sampler>(word())
                        && wanted == 4
                    {
                        return Ok(Arg::Sampler(sampler.bits()));
                    }
                }
                if size as u64 != wanted {
                    return Err(Error::INVALID_ARG_SIZE);
                }
                Ok(Arg::Bytes(value.bytes(0, size)?))
            }
            ArgKind::Global | ArgKind::Constant => {
                if !is_word {
                    return Err(Error::INVALID_ARG_SIZE);
                }
                if value.is_null() || word() == 0 {
                    return Ok(Arg::Null);
                }
                let mem = self.memory(word())?;
                if mem.image.is_some() && self.declared {
                    return Err(Error::INVALID_MEM_OBJECT);
                }
                Ok(Arg::Memory(Arc::downgrade(&mem)))
            }
            ArgKind::Local { .. } => {
                if size == 0 {
                    return Err(Error::INVALID_ARG_SIZE);
                }
                if !value.is_null() {
                    return Err(Error::INVALID_ARG_VALUE);
                }
                Ok(Arg::Local(size))
            }
            ArgKind::ReadImage | ArgKind::WriteImage | ArgKind::ReadWriteImage => {
                if !is_word {
                    return Err(Error::INVALID_ARG_SIZE);
                }
                if value.is_null() {
                    return Err(Error::INVALID_ARG_VALUE);
                }
                let mem = self.memory(word())?;
                let kind = mem.as_image()?.kind;
                let wanted = match info.type_name.as_str() {
                    "image1d_t" => cl::MEM_OBJECT_IMAGE1D,
                    "image1d_array_t" => cl::MEM_OBJECT_IMAGE1D_ARRAY,
                    "image1d_buffer_t" => cl::MEM_OBJECT_IMAGE1D_BUFFER,
                    "image2d_t" => cl::MEM_OBJECT_IMAGE2D,
                    "image2d_array_t" => cl::MEM_OBJECT_IMAGE2D_ARRAY,
                    "image3d_t" => cl::MEM_OBJECT_IMAGE3D,
                    _ => kind,
                };
                let forbidden = match info.kind {
                    ArgKind::ReadImage => cl::MEM_WRITE_ONLY,
                    ArgKind::WriteImage => cl::MEM_READ_ONLY,
                    _ => cl::MEM_WRITE_ONLY | cl::MEM_READ_ONLY,
                };
                if kind != wanted {
                    return Err(Error::INVALID_MEM_OBJECT);
                }
                if mem.flags & forbidden != 0 {
                    return Err(Error::INVALID_ARG_VALUE);
                }
                Ok(Arg::Memory(Arc::downgrade(&mem)))
            }
            ArgKind::Sampler => {
                if !is_word {
                    return Err(Error::INVALID_ARG_SIZE);
                }
                if value.is_null() {
                    return Err(Error::INVALID_ARG_VALUE);
                }
                let sampler: Arc<Sampler> = registry::get(word())?;
                if !Arc::ptr_eq(&sampler.context, &self.program.context) {
                    return Err(Error::INVALID_SAMPLER);
                }
                Ok(Arg::Sampler(sampler.bits()))
            }
        }
    }

    /// The largest work-group that the kernel can have on a device.
    ///
    /// # Errors
    /// When there is no code for it.
    pub fn max_group(&self, device: &Arc<Device>) -> Result<usize> {
        let registers = self.resources(device)?.registers.max(1);
        if device.host.is_some() {
            // There is no file of registers that its work-items share.
            return Ok(device.max_group());
        }
        let limits = &device.profile.limits;
        let fits = limits.registers_per_sm / registers / limits.warp_size * limits.warp_size;
        Ok(device.max_group().min(fits.max(limits.warp_size) as usize))
    }

    /// A launch, checked, ready to run.
    ///
    /// # Errors
    /// When sizes or arguments do not fit.
    pub fn plan(self: &Arc<Self>, device: &Arc<Device>, range: Range) -> Result<Work> {
        let code = self.code(device).ok_or(Error::INVALID_PROGRAM_EXECUTABLE)?;
        let resources = self.resources(device)?;
        let n = range.dimensions as usize;
        if range.global[..n].contains(&0) {
            // Nothing to do, once the arguments are there (OpenCL 2.1).
            self.params(device, resources)?;
            return Ok(Box::new(|| Ok(None)));
        }
        let word = u32::MAX as usize;
        for d in 0..n {
            let end = range.offset[d].checked_add(range.global[d]);
            if range.offset[d] > word || end.is_none_or(|end| end > word) {
                let offset = range.offset[d] > 0;
                return Err(if offset {
                    Error::INVALID_GLOBAL_OFFSET
                } else {
                    Error::INVALID_GLOBAL_WORK_SIZE
                });
            }
        }
        let local = self.group(device, &range)?;
        let local = self.regrouped(device, &range, local)?;
        let Params { block: params, shared, held, fixed } = self.params(device, resources)?;
        let threads = local.iter().product::<usize>() as u64;
        if threads > device.max_group() as u64 {
            return Err(Error::INVALID_WORK_GROUP_SIZE);
        }
        let (others, last) = range.parts(local);
        let (kernel, device) = (Arc::clone(self), Arc::clone(device));
        let executable = Arc::clone(&code.executable);
        Ok(Box::new(move || {
            let run = |Part { grid, block, env }, params, fixed| {
                let config = LaunchConfig {
                    grid,
                    block,
                    shared,
                    params: Some(params),
                    threads: Some(schedule::threads().min(device.threads())),
                    backend: device.backend,
                    timeout: device.timeout,
                    fast_approx: executable.fast_approx && device.is_host(),
                    env,
                    fixed,
                    ..LaunchConfig::default()
                };
                kernel.run(&device, &executable, config)
            };
            // One after the other; the time of the model is their sum.
            let mut time = 0;
            for part in others {
                time += run(part, params.clone(), fixed.clone())?.unwrap_or(0);
            }
            let all = run(last, params, fixed)?.map(|more| time + more);
            drop(held);
            Ok(all)
        }))
    }

    fn run(
        &self,
        device: &Arc<Device>,
        code: &Executable,
        config: LaunchConfig,
    ) -> Result<Option<u64>> {
        let context = &self.program.context;
        let fail = |error: &LaunchError| {
            let text = error.render(code.module.verified(), false);
            environment::say!("{text}");
            context.tell(&text);
            Error::OUT_OF_RESOURCES
        };
        if !device.timed {
            let ran = context.machine.launch_ready(&code.module, self.ready(device)?, config);
            return ran.map(|_| None).map_err(|e| fail(&e));
        }
        let options = timing::Options::default();
        let name = &self.info.name;
        match context.machine.simulate(&code.module, name, config, &device.profile, &options) {
            Ok((report, _)) => Ok(Some((report.summary.microseconds * 1e3) as u64)),
            Err(TimingError::Launch(error)) => Err(fail(&error)),
            Err(error) => {
                environment::sayln!("{error}");
                context.tell(&error.to_string());
                Err(Error::OUT_OF_RESOURCES)
            }
        }
    }

    /// The work-group's size: as asked, as the kernel requires, or chosen.
    fn group(&self, device: &Arc<Device>, range: &Range) -> Result<[usize; 3]> {
        let most = device.max_items();
        let required = self.info.required_size.map(|s| s.map(|n| n as usize));
        let Some(local) = range.local.or(required) else { return self.chosen(device, range) };
        if required.is_some_and(|r| r != local) {
            return Err(Error::INVALID_WORK_GROUP_SIZE);
        }
        for d in 0..3 {
            if local[d] > most[d] {
                return Err(Error::INVALID_WORK_ITEM_SIZE);
            }
            let divides = local[d] > 0 && range.global[d].is_multiple_of(local[d]);
            if local[d] == 0 || !divides && !self.info.rest_groups {
                return Err(Error::INVALID_WORK_GROUP_SIZE);
            }
        }
        if local.iter().product::<usize>() > self.max_group(device)? {
            return Err(Error::INVALID_WORK_GROUP_SIZE);
        }
        Ok(local)
    }

    /// The work-group's size where nobody asks for one: up to 256 work-items.
    fn chosen(&self, device: &Arc<Device>, range: &Range) -> Result<[usize; 3]> {
        let most = device.max_items();
        let mut room = self.max_group(device)?.min(256);
        let mut local = [1; 3];
        for d in 0..range.dimensions as usize {
            let limit = room.min(most[d]).min(range.global[d]);
            let divides = |n: &usize| range.global[d].is_multiple_of(*n);
            local[d] = (1..=limit).rev().find(divides).unwrap_or(1);
            room /= local[d];
        }
        Ok(local)
    }

    /// The size that the engine gets in place of `local`: groups that do not fill a warp are put together where the
    /// kernel cannot tell. Programs launch groups of one work-item on processors. Those who look at a launch see what
    /// was asked for.
    fn regrouped(
        &self,
        device: &Arc<Device>,
        range: &Range,
        local: [usize; 3],
    ) -> Result<[usize; 3]> {
        let items = |size: [usize; 3]| size.iter().product::<usize>();
        let watched = device.timed || self.program.context.machine.is_checked();
        if !self.info.any_group || watched || items(local) >= device.sub_group() {
            return Ok(local);
        }
        // Code is made for each size, and programs try many sizes of a range before they settle: few that fit most.
        let [x, y, z] = range.global;
        let most = device.max_items()[0].min(self.max_group(device)?);
        let usual = [256, 32].into_iter().find(|n| *n <= most && x.is_multiple_of(*n));
        let chosen = match usual {
            Some(n) if y == 1 && z == 1 => [n, 1, 1],
            _ => self.chosen(device, range)?,
        };
        Ok(if items(chosen) > items(local) { chosen } else { local })
    }

    /// `clGetKernelInfo`
    pub fn get_info(&self, name: u32, to: ParamValue) -> Result {
        match name {
            cl::KERNEL_FUNCTION_NAME => to.put(self.info.name.as_str()),
            cl::KERNEL_NUM_ARGS => to.put(self.info.args.len() as u32),
            cl::KERNEL_REFERENCE_COUNT => to.put(registry::users(self)),
            cl::KERNEL_CONTEXT => to.put(self.program.context.handle.get()),
            cl::KERNEL_PROGRAM => to.put(self.program.handle.get()),
            cl::KERNEL_ATTRIBUTES => to.put(self.info.attributes().as_str()),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    /// `clGetKernelArgInfo`
    pub fn arg_info(&self, index: u32, name: u32, to: ParamValue) -> Result {
        let arg = self.info.args.get(index as usize).ok_or(Error::INVALID_ARG_INDEX)?;
        if !(cl::KERNEL_ARG_ADDRESS_QUALIFIER..=cl::KERNEL_ARG_NAME).contains(&name) {
            return Err(Error::INVALID_VALUE);
        }
        if !self.declared || !self.codes.iter().all(|c| c.executable.arg_info) {
            return Err(Error::KERNEL_ARG_INFO_NOT_AVAILABLE);
        }
        match name {
            cl::KERNEL_ARG_ADDRESS_QUALIFIER => to.put(match arg.kind {
                ArgKind::Global
                | ArgKind::ReadImage
                | ArgKind::WriteImage
                | ArgKind::ReadWriteImage => cl::KERNEL_ARG_ADDRESS_GLOBAL,
                ArgKind::Constant => cl::KERNEL_ARG_ADDRESS_CONSTANT,
                ArgKind::Local { .. } => cl::KERNEL_ARG_ADDRESS_LOCAL,
                ArgKind::Value { .. } | ArgKind::Sampler => cl::KERNEL_ARG_ADDRESS_PRIVATE,
            }),
            cl::KERNEL_ARG_ACCESS_QUALIFIER => to.put(match arg.kind {
                ArgKind::ReadImage => cl::KERNEL_ARG_ACCESS_READ_ONLY,
                ArgKind::WriteImage => cl::KERNEL_ARG_ACCESS_WRITE_ONLY,
                ArgKind::ReadWriteImage => cl::KERNEL_ARG_ACCESS_READ_WRITE,
                ArgKind::Global
                | ArgKind::Constant
                | ArgKind::Local { .. }
                | ArgKind::Value { .. }
                | ArgKind::Sampler => cl::KERNEL_ARG_ACCESS_NONE,
            }),
            cl::KERNEL_ARG_TYPE_NAME => to.put(arg.type_name.as_str()),
            cl::KERNEL_ARG_TYPE_QUALIFIER => {
                let flag = |on: bool, bit: u64| if on { bit } else { 0 };
                to.put(
                    flag(arg.is_const, cl::ARG_CONST)
                        | flag(arg.is_volatile, cl::ARG_VOLATILE)
                        | flag(arg.is_restrict, cl::ARG_RESTRICT),
                )
            }
            _ => to.put(arg.name.as_str()),
        }
    }

    /// `clGetKernelWorkGroupInfo`
    pub fn group_info(&self, device: Option<Arc<Device>>, name: u32, to: ParamValue) -> Result {
        let device = self.device_of(device)?;
        match name {
            cl::KERNEL_WORK_GROUP_SIZE => to.put(self.max_group(&device)?),
            cl::KERNEL_COMPILE_WORK_GROUP_SIZE => {
                let size = self.info.required_size.unwrap_or_default().map(|n| n as usize);
                to.put(&size[..])
            }
            cl::KERNEL_LOCAL_MEM_SIZE => {
                let fixed = u64::from(self.resources(&device)?.shared);
                let args = self.args();
                let set = args.iter().map(|a| match a {
                    Some(Arg::Local(bytes)) => *bytes as u64,
                    _ => 0,
                });
                to.put(fixed + set.sum::<u64>())
            }
            cl::KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
                to.put(device.profile.limits.warp_size as usize)
            }
            cl::KERNEL_PRIVATE_MEM_SIZE => to.put(u64::from(self.resources(&device)?.local)),
            // CL_KERNEL_GLOBAL_WORK_SIZE is for custom devices and built-in kernels.
            _ => Err(Error::INVALID_VALUE),
        }
    }
}
