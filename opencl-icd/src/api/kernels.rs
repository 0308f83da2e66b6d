//! Kernels and their launches.

use std::sync::Arc;

use super::{calls, counted, creates};
use crate::cl::{self, Error, Result};
use crate::device::Device;
use crate::kernel::{Kernel, Range};
use crate::program::Program;
use crate::queue::{Ask, Queue};
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
            if global.is_null() {
                return Err(Error::INVALID_GLOBAL_WORK_SIZE);
            }
            let local = (!local.is_null()).then(|| sizes(local, 1));
            Ok(Range { dimensions, offset: sizes(offset, 0), global: sizes(global, 1), local })
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
