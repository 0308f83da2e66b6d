//! Programs: making, building, compiling, linking.

use std::sync::Arc;

use super::contexts::device_list;
use super::{calls, counted, creates};
use crate::cl::{Error, Result};
use crate::context::Context;
use crate::device::Device;
use crate::entry;
use crate::platform::Platform;
use crate::program::Program;
use crate::registry;
use c_border::ParamValue;
use c_border::callback::{ObjectFn, call_object};
use c_border::{In, Out, Raw, Text};

counted! {
    Program: clRetainProgram clReleaseProgram;
}

creates! {
    clCreateProgramWithSource(context: usize, count: u32, strings: In<Text>, lengths: In<usize>) {
        let context: Arc<Context> = registry::get(context)?;
        if count == 0 || strings.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let mut source = String::new();
        for (i, text) in strings.list(count as usize)?.into_iter().enumerate() {
            let piece = match lengths.at(i).unwrap_or(0) {
                0 => text.get(),
                n => text.prefix(n),
            };
            source.push_str(&piece?);
        }
        Ok(registry::publish(Arc::new(Program::from_source(&context, source))))
    }

    clCreateProgramWithBinary(
        context: usize, count: u32, devices: In<usize>, lengths: In<usize>, binaries: In<Raw>, status: Out<i32>,
    ) {
        let context: Arc<Context> = registry::get(context)?;
        if count == 0 || devices.is_null() || lengths.is_null() || binaries.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let devices = devices_of(&context.devices, count, devices)?;
        let lengths = lengths.list(count as usize)?;
        let binaries = binaries.list(count as usize)?;
        let mut codes = vec![0; count as usize];
        let mut all = Vec::new();
        for (i, device) in devices.into_iter().enumerate() {
            if lengths[i] == 0 || binaries[i].is_null() {
                codes[i] = Error::INVALID_VALUE.0;
                status.put_all(&codes);
                return Err(Error::INVALID_VALUE);
            }
            all.push((device, binaries[i].bytes(0, lengths[i])?));
        }
        let program = Program::from_binaries(&context, all, &mut codes);
        status.put_all(&codes);
        Ok(registry::publish(Arc::new(program?)))
    }

    clCreateProgramWithIL(context: usize, _il: Raw, _length: usize) {
        registry::get::<Context>(context)?;
        // No device takes any (CL_DEVICE_IL_VERSION).
        Err(Error::INVALID_OPERATION)
    }

    clCreateProgramWithBuiltInKernels(context: usize, count: u32, devices: In<usize>, names: Text) {
        let context: Arc<Context> = registry::get(context)?;
        if count == 0 || devices.is_null() || names.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        devices_of(&context.devices, count, devices)?;
        // No device has any (CL_DEVICE_BUILT_IN_KERNELS).
        Err(Error::INVALID_VALUE)
    }
}

/// The devices of a list, which must all be among `of`; all of those for no list.
fn devices_of(of: &[Arc<Device>], count: u32, list: In<usize>) -> Result<Vec<Arc<Device>>> {
    if count == 0 && list.is_null() {
        return Ok(of.to_vec());
    }
    let devices = device_list(count, list)?;
    let known = |d: &Arc<Device>| of.iter().any(|o| Arc::ptr_eq(o, d));
    if devices.iter().all(known) { Ok(devices) } else { Err(Error::INVALID_DEVICE) }
}

/// Does it now, or on a thread of its own if the program is to be called when it is done; where there is no such
/// thread, now as well.
fn perform(
    program: Arc<Program>,
    notify: ObjectFn,
    data: Raw,
    work: impl FnOnce(&Program) -> Result + Send + 'static,
) -> Result {
    if notify.is_none() {
        return work(&program);
    }
    let run = move || {
        // Its outcome is the build status.
        let _ = work(&program);
        call_object(notify, program.handle.get(), data);
    };
    let (sender, receiver) = std::sync::mpsc::channel();
    let work = move || receiver.into_iter().for_each(|run: Box<dyn FnOnce() + Send>| run());
    let started = std::thread::Builder::new().name("opencl-build".into()).spawn(work);
    match started {
        // The channel ends with this call, and the thread behind what it got.
        Ok(_) => drop(sender.send(Box::new(run))),
        Err(_) => run(),
    }
    Ok(())
}

calls! {
    clBuildProgram(program: usize, count: u32, devices: In<usize>, options: Text, notify: ObjectFn, data: Raw) {
        let program: Arc<Program> = registry::get(program)?;
        if notify.is_none() && !data.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let devices = devices_of(&program.devices, count, devices)?;
        if !program.buildable {
            return Err(Error::INVALID_OPERATION);
        }
        let options = options.get().unwrap_or_default();
        program.start(&devices, &options)?;
        perform(program, notify, data, move |p| p.build(&devices, &options))
    }

    clCompileProgram(
        program: usize, count: u32, devices: In<usize>, options: Text, headers: u32, programs: In<usize>,
        names: In<Text>, notify: ObjectFn, data: Raw,
    ) {
        let program: Arc<Program> = registry::get(program)?;
        if notify.is_none() && !data.is_null()
            || (headers == 0) != programs.is_null()
            || (headers == 0) != names.is_null()
        {
            return Err(Error::INVALID_VALUE);
        }
        let devices = devices_of(&program.devices, count, devices)?;
        if program.source.is_none() {
            return Err(Error::INVALID_OPERATION);
        }
        let mut texts = Vec::new();
        for i in 0..headers as usize {
            let header: Arc<Program> = registry::get(programs.at(i).unwrap_or(0))?;
            let text = header.source.clone().ok_or(Error::INVALID_PROGRAM)?;
            let name = names.at(i).and_then(Text::get)?;
            texts.push((name, text));
        }
        let options = options.get().unwrap_or_default();
        program.start(&devices, &options)?;
        perform(program, notify, data, move |p| p.compile(&devices, &options, &texts))
    }

    clSetProgramReleaseCallback(program: usize, _function: ObjectFn, _data: Raw) {
        registry::get::<Program>(program)?;
        // No program has destructors of program-scope variables.
        Err(Error::INVALID_OPERATION)
    }

    clSetProgramSpecializationConstant(program: usize, _id: u32, _size: usize, _value: Raw) {
        registry::get::<Program>(program)?;
        Err(Error::INVALID_OPERATION)
    }

    clUnloadCompiler() { Ok(()) }

    clUnloadPlatformCompiler(platform: usize) {
        registry::get::<Platform>(platform).map(|_| ())
    }

    clGetProgramInfo(program: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Program>(program)?.info(name, ParamValue { size, value, size_ret })
    }

    clGetProgramBuildInfo(program: usize, device: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        let program: Arc<Program> = registry::get(program)?;
        let device: Arc<Device> = registry::get(device)?;
        program.build_info(&device, name, ParamValue { size, value, size_ret })
    }
}

/// `clLinkProgram`. A program whose linking failed is returned too: it has the log.
///
/// # Safety
/// Pointers must be null or lead to as much memory as the specification says.
#[allow(non_snake_case, clippy::too_many_arguments)]
pub unsafe extern "C" fn clLinkProgram(
    context: usize,
    count: u32,
    devices: In<usize>,
    options: Text,
    inputs: u32,
    programs: In<usize>,
    notify: ObjectFn,
    data: Raw,
    code: Out<i32>,
) -> usize {
    let mut linked = Ok(());
    let program = entry::made("clLinkProgram", code, || {
        let context: Arc<Context> = registry::get(context)?;
        if inputs == 0 || programs.is_null() || notify.is_none() && !data.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let devices = devices_of(&context.devices, count, devices)?;
        let mut all = Vec::new();
        for handle in programs.list(inputs as usize)? {
            let input: Arc<Program> = registry::get(handle)?;
            if !Arc::ptr_eq(&input.context, &context) {
                return Err(Error::INVALID_PROGRAM);
            }
            all.push(input);
        }
        let options = options.get().unwrap_or_default();
        let (program, sources) = Program::to_link(&context, devices, &options, &all)?;
        let program = Arc::new(program);
        let handle = registry::publish(Arc::clone(&program));
        linked = perform(program, notify, data, move |p| p.link(&options, sources));
        Ok(handle)
    });
    if let Err(error) = linked {
        code.put(error.0);
    }
    program
}
