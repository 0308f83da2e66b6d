//! Kernels and their launches.

use std::sync::Arc;

use super::{calls, counted, creates};
use crate::cl::{self, Error, Result};
use crate::device::Device;
use crate::kernel::Kernel;
use crate::program::Program;
use crate::queue::{Ask, Queue};
use crate::range::Range;
use crate::registry;
use c_border::ParamValue;
use c_border::{In, Out, OutList, Raw, Text};

counted! {
    Kernel: clRetainKernel clReleaseKernel;
}

creates! {
    clCreateKernel(program: usize, name: Text) {
        let program: Arc<Program> = registry::get(program)?;
        let name = name.get()?;
        Ok(registry::publish(Arc::new(Kernel::new(&program, &name)?)))
    }

    clCloneKernel(kernel: usize) {
        let kernel: Arc<Kernel> = registry::get(kernel)?;
        Ok(registry::publish(Arc::new(kernel.copy())))
    }
}

/// A launch's queue, kernel and wait list.
fn launch(
    queue: usize,
    kernel: usize,
    range: impl FnOnce() -> Result<Range>,
    command: u32,
    ask: (u32, In<usize>, Out<usize>),
) -> Result {
    let queue: Arc<Queue> = registry::get(queue)?;
    let kernel: Arc<Kernel> = registry::get(kernel)?;
    if !Arc::ptr_eq(&kernel.program.context, &queue.context) {
        return Err(Error::INVALID_CONTEXT);
    }
    let range = range()?;
    let ask = Ask::new(&queue, ask.0, ask.1, ask.2)?;
    let work = kernel.plan(&queue.device, range)?;
    queue.enqueue(command, ask, work)
}

calls! {
    clCreateKernelsInProgram(program: usize, entries: u32, kernels: Out<usize>, count: Out<u32>) {
        let program: Arc<Program> = registry::get(program)?;
        let names = program.kernel_names()?;
        let mut handles = vec![0; names.len()];
        if !kernels.is_null() {
            if (entries as usize) < names.len() {
                return Err(Error::INVALID_VALUE);
            }
            let made: Result<Vec<Kernel>> = names.iter().map(|n| Kernel::new(&program, n)).collect();
            handles = made?.into_iter().map(|k| registry::publish(Arc::new(k))).collect();
        }
        OutList { list: kernels, capacity: entries as usize, count }.put(&handles);
        Ok(())
    }

    clSetKernelArg(kernel: usize, index: u32, size: usize, value: Raw) {
        registry::get::<Kernel>(kernel)?.set_arg(index, size, value)
    }

    clSetKernelArgSVMPointer(kernel: usize, index: u32, value: Raw) {
        registry::get::<Kernel>(kernel)?.set_pointer(index, value.address())
    }

    clSetKernelExecInfo(kernel: usize, name: u32, size: usize, value: Raw) {
        registry::get::<Kernel>(kernel)?;
        if value.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        match name {
            // All memory that a context shares with the host is there for every kernel.
            cl::KERNEL_EXEC_INFO_SVM_PTRS if size > 0 && size.is_multiple_of(size_of::<usize>()) => Ok(()),
            cl::KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM if size == size_of::<u32>() => {
                let wanted = In::<u32>::from(value).get()? != 0;
                if wanted { Err(Error::INVALID_OPERATION) } else { Ok(()) }
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }

    clGetKernelSubGroupInfo(
        kernel: usize, device: usize, name: u32, input_size: usize, input: Raw, size: usize, value: Raw,
        size_ret: Out<usize>,
    ) {
        let kernel: Arc<Kernel> = registry::get(kernel)?;
        let device = if device == 0 { None } else { Some(registry::get::<Device>(device)?) };
        let word = size_of::<usize>();
        let count = if input.is_null() { 0 } else { input_size / word };
        if count > 3 || !input.is_null() && !input_size.is_multiple_of(word) {
            return Err(Error::INVALID_VALUE);
        }
        let numbers = if count == 0 { Vec::new() } else { In::<usize>::from(input).list(count)? };
        let room = if value.is_null() { 1 } else { size / word };
        kernel.sub_group_info(device, name, &numbers, room, ParamValue { size, value, size_ret })
    }

    clGetKernelSuggestedLocalWorkSizeKHR(
        queue: usize, kernel: usize, dimensions: u32, offset: In<usize>, global: In<usize>, suggested: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let kernel: Arc<Kernel> = registry::get(kernel)?;
        if !Arc::ptr_eq(&kernel.program.context, &queue.context) {
            return Err(Error::INVALID_CONTEXT);
        }
        if !(1..=3).contains(&dimensions) {
            return Err(Error::INVALID_WORK_DIMENSION);
        }
        if global.is_null() {
            return Err(Error::INVALID_GLOBAL_WORK_SIZE);
        }
        if suggested.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let n = dimensions as usize;
        let at = |list: In<usize>, d: usize, other| if d < n { list.at(d).unwrap_or(other) } else { other };
        let offset = std::array::from_fn(|d| at(offset, d, 0));
        let range = Range { dimensions, offset, global: std::array::from_fn(|d| at(global, d, 1)), local: None };
        let group = kernel.suggest(&queue.device, &range)?;
        suggested.put_all(&group[..n]);
        Ok(())
    }

    clGetKernelInfo(kernel: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Kernel>(kernel)?.get_info(name, ParamValue { size, value, size_ret })
    }

    clGetKernelArgInfo(kernel: usize, index: u32, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Kernel>(kernel)?.arg_info(index, name, ParamValue { size, value, size_ret })
    }

    clGetKernelWorkGroupInfo(kernel: usize, device: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        let kernel: Arc<Kernel> = registry::get(kernel)?;
        let device = if device == 0 { None } else { Some(registry::get::<Device>(device)?) };
        kernel.group_info(device, name, ParamValue { size, value, size_ret })
    }

    clEnqueueNDRangeKernel(
        queue: usize, kernel: usize, dimensions: u32, offset: In<usize>, global: In<usize>, local: In<usize>,
        count: u32, events: In<usize>, event: Out<usize>,
    ) {
        let range = || {
            if !(1..=3).contains(&dimensions) {
                return Err(Error::INVALID_WORK_DIMENSION);
            }
            let sizes = |list: In<usize>, other: usize| {
                let at = |d: usize| list.at(d).ok().filter(|_| d < dimensions as usize);
                std::array::from_fn(|d| at(d).unwrap_or(other))
            };
            let local = (!local.is_null()).then(|| sizes(local, 1));
            // No sizes are zeros.
            let global = if global.is_null() { [0; 3] } else { sizes(global, 1) };
            Ok(Range { dimensions, offset: sizes(offset, 0), global, local })
        };
        launch(queue, kernel, range, cl::COMMAND_NDRANGE_KERNEL, (count, events, event))
    }

    clEnqueueTask(queue: usize, kernel: usize, count: u32, events: In<usize>, event: Out<usize>) {
        let range = || Ok(Range { dimensions: 1, offset: [0; 3], global: [1; 3], local: Some([1; 3]) });
        launch(queue, kernel, range, cl::COMMAND_TASK, (count, events, event))
    }

    clEnqueueNativeKernel(
        queue: usize, _function: Raw, _args: Raw, _size: usize, _mems: u32, _list: In<usize>, _locations: In<usize>,
        _count: u32, _events: In<usize>, _event: Out<usize>,
    ) {
        registry::get::<Queue>(queue)?;
        // No device can run them (CL_DEVICE_EXECUTION_CAPABILITIES).
        Err(Error::INVALID_OPERATION)
    }
}
