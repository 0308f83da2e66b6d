//! Arrays.

use std::sync::Arc;

use super::symbol::functions;
use crate::context::{self, Context};
use crate::driver;
use crate::error::{Error, Result};
use crate::texture::{self, ARRAYS, Array, MIPMAPS, Mipmap};
use c_border::plain_struct;
use c_border::{In, Out, Raw};

plain_struct! {
    /// `CUDA_ARRAY_DESCRIPTOR`.
    Descriptor { width: usize, height: usize, format: u32, channels: u32 }
    /// `CUDA_ARRAY3D_DESCRIPTOR`.
    Descriptor3 { width: usize, height: usize, depth: usize, format: u32, channels: u32, flags: u32 }
}

fn create(context: &Arc<Context>, d: &Descriptor3) -> Result<Arc<Array>> {
    let size = [d.width as u64, d.height as u64, d.depth as u64];
    Ok(Arc::new(Array::new(context, size, d.format, d.channels, d.flags)?))
}

functions! {
    cuArrayCreate [3020 => cuArrayCreate_v2] (array: Out<usize>, descriptor: In<Descriptor>) {
        let context = context::current()?;
        array.required()?;
        crate::capture::unsafe_call()?;
        let d = descriptor.get()?;
        let (width, height, format, channels) = (d.width, d.height, d.format, d.channels);
        Ok(array.set(ARRAYS.give(create(&context, &Descriptor3 { width, height, depth: 0, format, channels, flags: 0 })?))?)
    }

    cuArray3DCreate [3020 => cuArray3DCreate_v2] (array: Out<usize>, descriptor: In<Descriptor3>) {
        let context = context::current()?;
        array.required()?;
        crate::capture::unsafe_call()?;
        Ok(array.set(ARRAYS.give(create(&context, &descriptor.get()?)?))?)
    }

    cuArrayDestroy [2000 => cuArrayDestroy] (array: usize) {
        driver::get()?;
        let found = ARRAYS.get(array).ok_or(Error::InvalidHandle)?;
        if let Some(context) = found.context.upgrade() {
            context.check()?;
            context.synchronize();
        }
        ARRAYS.remove(array).map(|_| ()).ok_or(Error::InvalidHandle)
    }

    cuArrayGetDescriptor [3020 => cuArrayGetDescriptor_v2] (descriptor: Out<Descriptor>, array: usize) {
        let a = texture::array(array)?;
        let [width, height, _] = a.size.map(|n| n as usize);
        Ok(descriptor.set(Descriptor { width, height, format: a.format, channels: a.channels })?)
    }

    cuArray3DGetDescriptor [3020 => cuArray3DGetDescriptor_v2] (descriptor: Out<Descriptor3>, array: usize) {
        let a = texture::array(array)?;
        let [width, height, depth] = a.size.map(|n| n as usize);
        let (format, channels, flags) = (a.format, a.channels, a.flags);
        Ok(descriptor.set(Descriptor3 { width, height, depth, format, channels, flags })?)
    }

    cuArrayGetPlane [11020 => cuArrayGetPlane] (plane: Out<usize>, array: usize, index: u32) {
        texture::array(array)?;
        // No format here has planes.
        Err(Error::InvalidValue)
    }

    cuArrayGetSparseProperties [11010 => cuArrayGetSparseProperties] (out: Raw, array: usize) {
        texture::array(array)?;
        Err(Error::InvalidValue)
    }

    cuMipmappedArrayCreate [5000 => cuMipmappedArrayCreate]
    (mipmap: Out<usize>, descriptor: In<Descriptor3>, levels: u32) {
        let context = context::current()?;
        mipmap.required()?;
        let mut d = descriptor.get()?;
        let largest = d.width.max(d.height).max(d.depth).max(1);
        let levels = levels.clamp(1, largest.ilog2() + 1);
        let mut handles = Vec::new();
        for _ in 0..levels {
            handles.push(ARRAYS.add(create(&context, &d)?));
            let half = |n: usize| if n == 0 { 0 } else { (n / 2).max(1) };
            d.width = half(d.width);
            d.height = half(d.height);
            if d.flags & texture::LAYERED == 0 {
                d.depth = half(d.depth);
            }
        }
        let context = Arc::downgrade(&context);
        Ok(mipmap.set(MIPMAPS.give(Arc::new(Mipmap { levels: handles, context })))?)
    }

    cuMipmappedArrayGetLevel [5000 => cuMipmappedArrayGetLevel] (array: Out<usize>, mipmap: usize, level: u32) {
        driver::get()?;
        array.required()?;
        let found = MIPMAPS.get(mipmap).ok_or(Error::InvalidHandle)?;
        Ok(array.set(*found.levels.get(level as usize).ok_or(Error::InvalidValue)?)?)
    }

    cuMipmappedArrayDestroy [5000 => cuMipmappedArrayDestroy] (mipmap: usize) {
        driver::get()?;
        let found = MIPMAPS.remove(mipmap).ok_or(Error::InvalidHandle)?;
        if let Some(context) = found.context.upgrade() {
            context.synchronize();
        }
        for level in &found.levels {
            ARRAYS.remove(*level);
        }
        Ok(())
    }
}
