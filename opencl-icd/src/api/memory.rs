//! Memory objects and samplers.

use std::sync::Arc;

use super::contexts::property_list;
use super::{calls, counted, creates};
use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::image::ImageDesc;
use crate::image_format::{self, ImageFormat};
use crate::memory::{self, Mem};
use crate::sampler::Sampler;
use crate::{callbacks, registry};
use c_border::ParamValue;
use c_border::callback::ObjectFn;
use c_border::{In, Out, OutList, Raw};

counted! {
    Mem: clRetainMemObject clReleaseMemObject;
    Sampler: clRetainSampler clReleaseSampler;
}

creates! {
    clCreateBuffer(context: usize, flags: u64, size: usize, host: Raw) {
        let context: Arc<Context> = registry::get(context)?;
        Ok(registry::publish(Arc::new(Mem::buffer(&context, flags, size, host)?)))
    }

    clCreateBufferWithProperties(context: usize, properties: In<u64>, flags: u64, size: usize, host: Raw) {
        let context: Arc<Context> = registry::get(context)?;
        let properties = no_properties(properties)?;
        let mut mem = Mem::buffer(&context, flags, size, host)?;
        mem.properties = properties;
        Ok(registry::publish(Arc::new(mem)))
    }

    clCreateImageWithProperties(
        context: usize, properties: In<u64>, flags: u64, format: In<ImageFormat>, desc: In<ImageDesc>, host: Raw,
    ) {
        let context: Arc<Context> = registry::get(context)?;
        let properties = no_properties(properties)?;
        let mut image = Mem::image(&context, flags, format.get().ok(), desc.get().ok(), host)?;
        image.properties = properties;
        Ok(registry::publish(Arc::new(image)))
    }

    clCreateSamplerWithProperties(context: usize, properties: In<u64>) {
        let context: Arc<Context> = registry::get(context)?;
        let (pairs, list) = property_list(properties);
        Ok(registry::publish(Arc::new(Sampler::with_properties(&context, &pairs, list)?)))
    }

    clCreatePipe(context: usize, _flags: u64, _size: u32, _packets: u32, _properties: In<isize>) {
        registry::get::<Context>(context)?;
        // No device has pipes (CL_DEVICE_PIPE_SUPPORT).
        Err(Error::INVALID_OPERATION)
    }

    clCreateSubBuffer(buffer: usize, flags: u64, kind: u32, info: In<[usize; 2]>) {
        let buffer: Arc<Mem> = registry::get(buffer)?;
        buffer.as_buffer()?;
        if kind != cl::BUFFER_CREATE_TYPE_REGION {
            return Err(Error::INVALID_VALUE);
        }
        let region = info.get()?;
        Ok(registry::publish(Arc::new(Mem::sub_buffer(&buffer, flags, region)?)))
    }

    clCreateImage(context: usize, flags: u64, format: In<ImageFormat>, desc: In<ImageDesc>, host: Raw) {
        let context: Arc<Context> = registry::get(context)?;
        let image = Mem::image(&context, flags, format.get().ok(), desc.get().ok(), host)?;
        Ok(registry::publish(Arc::new(image)))
    }

    clCreateImage2D(context: usize, flags: u64, format: In<ImageFormat>, width: usize, height: usize, row_pitch: usize, host: Raw) {
        let context: Arc<Context> = registry::get(context)?;
        let kind = cl::MEM_OBJECT_IMAGE2D;
        let desc = ImageDesc { kind, width, height, row_pitch, ..ImageDesc::default() };
        let image = Mem::image(&context, flags, format.get().ok(), Some(desc), host);
        Ok(registry::publish(Arc::new(image.map_err(old_size)?)))
    }

    clCreateImage3D(context: usize, flags: u64, format: In<ImageFormat>, width: usize, height: usize, depth: usize, row_pitch: usize, slice_pitch: usize, host: Raw) {
        let context: Arc<Context> = registry::get(context)?;
        let kind = cl::MEM_OBJECT_IMAGE3D;
        let desc = ImageDesc { kind, width, height, depth, row_pitch, slice_pitch, ..ImageDesc::default() };
        let image = Mem::image(&context, flags, format.get().ok(), Some(desc), host);
        Ok(registry::publish(Arc::new(image.map_err(old_size)?)))
    }

    clCreateSampler(context: usize, normalized: u32, addressing: u32, filter: u32) {
        let context: Arc<Context> = registry::get(context)?;
        Ok(registry::publish(Arc::new(Sampler::new(&context, normalized, addressing, filter)?)))
    }
}

/// A list of properties of a memory object; there are none.
fn no_properties(list: In<u64>) -> Result<Vec<u64>> {
    let (pairs, list) = property_list(list);
    if pairs.is_empty() { Ok(list) } else { Err(Error::INVALID_PROPERTY) }
}

/// The functions of OpenCL 1.1 know no image descriptor: a wrong pitch is a wrong size there.
fn old_size(error: Error) -> Error {
    if error == Error::INVALID_IMAGE_DESCRIPTOR { Error::INVALID_IMAGE_SIZE } else { error }
}

calls! {
    clGetSupportedImageFormats(context: usize, flags: u64, kind: u32, entries: u32, formats: Out<ImageFormat>, count: Out<u32>) {
        registry::get::<Context>(context)?;
        memory::check_flags(flags & !cl::MEM_KERNEL_READ_AND_WRITE)?;
        let known = (cl::MEM_OBJECT_IMAGE2D..=cl::MEM_OBJECT_IMAGE1D_BUFFER).contains(&kind);
        if !known {
            return Err(Error::INVALID_VALUE);
        }
        let list = OutList { list: formats, capacity: entries as usize, count }.roomy()?;
        let all: Vec<ImageFormat> = image_format::formats().collect();
        list.put(&all);
        Ok(())
    }

    clGetMemObjectInfo(mem: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Mem>(mem)?.info(name, ParamValue { size, value, size_ret })
    }

    clGetImageInfo(mem: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        let mem: Arc<Mem> = registry::get(mem)?;
        mem.as_image()?.info(mem.parent.as_ref().map_or(0, |p| p.handle.get()), name, ParamValue { size, value, size_ret })
    }

    clGetPipeInfo(_pipe: usize, _name: u32, _size: usize, _value: Raw, _size_ret: Out<usize>) {
        Err(Error::INVALID_MEM_OBJECT)
    }

    clSetMemObjectDestructorCallback(mem: usize, function: ObjectFn, data: Raw) {
        let mem: Arc<Mem> = registry::get(mem)?;
        if function.is_none() {
            return Err(Error::INVALID_VALUE);
        }
        callbacks::ready()?;
        mem.on_destruction(function, data);
        Ok(())
    }

    clGetSamplerInfo(sampler: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Sampler>(sampler)?.info(name, ParamValue { size, value, size_ret })
    }
}
