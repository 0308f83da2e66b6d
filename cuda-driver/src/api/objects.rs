//! Texture and surface objects and references.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::array::Descriptor;
use super::symbol::functions;
use crate::context;
use crate::error::{Error, Result};
use crate::handles;
use crate::texture::{
    self, ARRAYS, Detail, MIPMAPS, NORMALIZED, READ_AS_INTEGER, REFERENCES, Reference, Sampling,
    Source,
};
use c_border::plain_struct;
use c_border::{In, Out};

plain_struct! {
    /// `CUDA_RESOURCE_DESC`; what `data` holds depends on the kind.
    Resource { kind: u32, pad: u32, data: [u64; 16], flags: u32, pad2: u32 }
    /// `CUDA_TEXTURE_DESC`.
    TextureDesc {
        address: [u32; 3], filter: u32, flags: u32, anisotropy: u32, mipmap_filter: u32, bias: f32,
        least: f32, most: f32, border: [f32; 4], reserved: [i32; 12],
    }
    /// `CUDA_RESOURCE_VIEW_DESC`.
    View { format: u32, pad: u32, size: [usize; 3], levels: [u32; 2], layers: [u32; 2], reserved: [u32; 16] }
}

/// `CU_RESOURCE_TYPE_MIPMAPPED_ARRAY`.
const MIPMAP: u32 = 1;

/// Descriptors of objects, for queries.
type Kept = HashMap<(u64, u64), (Resource, Option<TextureDesc>)>;
static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the texels of a resource are.
fn source(r: &Resource) -> Result<Source> {
    let [pointer, format, width, height, pitch, ..] = r.data;
    // Format and channels are two 32-bit fields.
    let (format, channels) = (format as u32, (format >> 32) as u32);
    let texel = || Ok::<u64, Error>(texture::channel(format)?.bytes() as u64 * u64::from(channels));
    match r.kind {
        0 => {
            let handle = pointer as usize;
            Ok(Source::Array(handle, ARRAYS.get(handle).ok_or(Error::InvalidValue)?))
        }
        MIPMAP => {
            let mipmap = MIPMAPS.get(pointer as usize).ok_or(Error::InvalidValue)?;
            let array = |handle: usize| ARRAYS.get(handle).ok_or(Error::InvalidValue);
            match mipmap.levels[..] {
                [handle] => Ok(Source::Array(handle, array(handle)?)),
                ref all => {
                    Ok(Source::Levels(all.iter().map(|h| array(*h)).collect::<Result<_>>()?))
                }
            }
        }
        2 => {
            let bytes = texel()?;
            if bytes == 0 || width < bytes {
                return Err(Error::InvalidValue);
            }
            Ok(Source::Memory(pointer, format, channels, width / bytes, 0, width))
        }
        3 => {
            if width == 0 || height == 0 || pitch < width * texel()? {
                return Err(Error::InvalidValue);
            }
            Ok(Source::Memory(pointer, format, channels, width, height, pitch))
        }
        _ => Err(Error::InvalidValue),
    }
}

fn own(handle: usize) -> Result<Arc<Reference>> {
    texture::reference(handle)
}

functions! {
    cuTexObjectCreate [5000 => cuTexObjectCreate]
    (object: Out<u64>, resource: In<Resource>, texture: In<TextureDesc>, view: In<View>) {
        let context = context::current()?;
        object.required()?;
        let (resource, desc) = (resource.get()?, texture.get()?);
        // A view that reads texels as another format, or a part of the levels and layers.
        if !view.is_null() && view.get()?.format != 0 {
            return Err(Error::NotSupported);
        }
        // As an H200 (driver 580.159.04), which takes any limits and any anisotropy.
        if resource.kind == MIPMAP && desc.mipmap_filter > 1 {
            return Err(Error::InvalidValue);
        }
        let sampling = Sampling {
            address: desc.address,
            linear: desc.filter == 1,
            flags: desc.flags,
            border: desc.border.map(f32::to_bits),
            detail: Detail {
                linear: desc.mipmap_filter == 1,
                bias: desc.bias,
                limits: [desc.least, desc.most],
                anisotropy: desc.anisotropy,
            },
        };
        if desc.filter > 1 {
            return Err(Error::InvalidValue);
        }
        let made = texture::texture(&context, &source(&resource)?, &sampling)?;
        let handle = context.device.add_object(Arc::new(made));
        context.objects().insert(handle, handles::running());
        kept().insert((context.id, handle), (resource, Some(desc)));
        Ok(object.set(handle)?)
    }

    cuTexObjectDestroy [5000 => cuTexObjectDestroy] (object: u64) {
        let context = context::current()?;
        if kept().remove(&(context.id, object)).is_some() {
            context.synchronize();
            context.device.remove_object(object);
            context.objects().remove(&object);
        }
        Ok(())
    }

    cuTexObjectGetResourceDesc [5000 => cuTexObjectGetResourceDesc] (out: Out<Resource>, object: u64) {
        let context = context::current()?;
        let found = kept().get(&(context.id, object)).copied().ok_or(Error::InvalidValue)?;
        Ok(out.set(found.0)?)
    }

    cuTexObjectGetTextureDesc [5000 => cuTexObjectGetTextureDesc] (out: Out<TextureDesc>, object: u64) {
        let context = context::current()?;
        let found = kept().get(&(context.id, object)).copied().ok_or(Error::InvalidValue)?;
        Ok(out.set(found.1.ok_or(Error::InvalidValue)?)?)
    }

    cuTexObjectGetResourceViewDesc [5000 => cuTexObjectGetResourceViewDesc] (out: Out<View>, object: u64) {
        context::current()?;
        Err(Error::InvalidValue)
    }

    cuSurfObjectCreate [5000 => cuSurfObjectCreate] (object: Out<u64>, resource: In<Resource>) {
        let context = context::current()?;
        object.required()?;
        let resource = resource.get()?;
        let source = match source(&resource)? {
            array @ Source::Array(..) => array,
            _ => return Err(Error::InvalidValue),
        };
        let made = texture::texture(&context, &source, &Sampling { address: [1; 3], ..Sampling::default() })?;
        let handle = context.device.add_object(Arc::new(made));
        context.objects().insert(handle, handles::running());
        kept().insert((context.id, handle), (resource, None));
        Ok(object.set(handle)?)
    }

    cuSurfObjectDestroy [5000 => cuSurfObjectDestroy] (object: u64) {
        let context = context::current()?;
        if kept().remove(&(context.id, object)).is_some() {
            context.synchronize();
            context.device.remove_object(object);
            context.objects().remove(&object);
        }
        Ok(())
    }

    cuSurfObjectGetResourceDesc [5000 => cuSurfObjectGetResourceDesc] (out: Out<Resource>, object: u64) {
        let context = context::current()?;
        let found = kept().get(&(context.id, object)).copied().ok_or(Error::InvalidValue)?;
        Ok(out.set(found.0)?)
    }

    cuTexRefCreate [2000 => cuTexRefCreate] (reference: Out<usize>) {
        context::current()?;
        reference.required()?;
        Ok(reference.set(REFERENCES.add(Arc::new(Reference::new(None, false))))?)
    }

    cuTexRefDestroy [2000 => cuTexRefDestroy] (reference: usize) {
        if own(reference)?.variable.is_some() {
            return Err(Error::InvalidValue);
        }
        REFERENCES.remove(reference);
        Ok(())
    }

    cuTexRefSetArray [2000 => cuTexRefSetArray] (reference: usize, array: usize, flags: u32) {
        let found = texture::array(array).map_err(|_| Error::InvalidValue)?;
        own(reference)?.change(|s| {
            // The array's format replaces the reference's (CU_TRSA_OVERRIDE_FORMAT).
            (s.2, s.3) = (found.format, found.channels);
            s.0 = Source::Array(array, Arc::clone(&found));
            Ok(())
        })
    }

    cuTexRefSetAddress [3020 => cuTexRefSetAddress_v2]
    (offset: Out<usize>, reference: usize, pointer: u64, bytes: usize) {
        offset.put(0);
        own(reference)?.change(|s| {
            let texel = texture::channel(s.2)?.bytes() as u64 * u64::from(s.3);
            let texels = bytes as u64 / texel.max(1);
            s.0 = Source::Memory(pointer, s.2, s.3, texels, 0, bytes as u64);
            Ok(())
        })
    }

    cuTexRefSetAddress2D [4010 => cuTexRefSetAddress2D_v3]
    (reference: usize, descriptor: In<Descriptor>, pointer: u64, pitch: usize) {
        let d = descriptor.get()?;
        own(reference)?.change(|s| {
            (s.2, s.3) = (d.format, d.channels);
            s.0 = Source::Memory(pointer, d.format, d.channels, d.width as u64, d.height as u64, pitch as u64);
            Ok(())
        })
    }

    cuTexRefSetFormat [2000 => cuTexRefSetFormat] (reference: usize, format: u32, channels: i32) {
        texture::channel(format)?;
        if !matches!(channels, 1 | 2 | 4) {
            return Err(Error::InvalidValue);
        }
        own(reference)?.change(|s| {
            (s.2, s.3) = (format, channels as u32);
            Ok(())
        })
    }

    cuTexRefSetAddressMode [2000 => cuTexRefSetAddressMode] (reference: usize, dimension: i32, mode: u32) {
        own(reference)?.change(|s| {
            let at = usize::try_from(dimension).map_err(|_| Error::InvalidValue)?;
            *s.1.address.get_mut(at).filter(|_| mode <= 3).ok_or(Error::InvalidValue)? = mode;
            Ok(())
        })
    }

    cuTexRefSetFilterMode [2000 => cuTexRefSetFilterMode] (reference: usize, mode: u32) {
        if mode > 1 {
            return Err(Error::InvalidValue);
        }
        own(reference)?.change(|s| {
            s.1.linear = mode == 1;
            Ok(())
        })
    }

    cuTexRefSetFlags [2000 => cuTexRefSetFlags] (reference: usize, flags: u32) {
        if flags & !(READ_AS_INTEGER | NORMALIZED | 0x30) != 0 {
            return Err(Error::InvalidValue);
        }
        own(reference)?.change(|s| {
            s.1.flags = flags;
            Ok(())
        })
    }

    cuTexRefGetAddress [3020 => cuTexRefGetAddress_v2] (pointer: Out<u64>, reference: usize) {
        let found = own(reference)?;
        let state = found.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.0 {
            Source::Memory(at, ..) => Ok(pointer.set(at)?),
            _ => Err(Error::InvalidValue),
        }
    }

    cuTexRefGetArray [2000 => cuTexRefGetArray] (array: Out<usize>, reference: usize) {
        let found = own(reference)?;
        let state = found.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.0 {
            Source::Array(handle, _) => Ok(array.set(handle)?),
            _ => Err(Error::InvalidValue),
        }
    }

    cuTexRefGetAddressMode [2000 => cuTexRefGetAddressMode] (mode: Out<u32>, reference: usize, dimension: i32) {
        let found = own(reference)?;
        let state = found.state.lock().unwrap_or_else(PoisonError::into_inner);
        let at = usize::try_from(dimension).map_err(|_| Error::InvalidValue)?;
        Ok(mode.set(*state.1.address.get(at).ok_or(Error::InvalidValue)?)?)
    }

    cuTexRefGetFilterMode [2000 => cuTexRefGetFilterMode] (mode: Out<u32>, reference: usize) {
        let found = own(reference)?;
        let state = found.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(mode.set(u32::from(state.1.linear))?)
    }

    cuTexRefGetFlags [2000 => cuTexRefGetFlags] (flags: Out<u32>, reference: usize) {
        let found = own(reference)?;
        let state = found.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(flags.set(state.1.flags)?)
    }

    cuTexRefGetFormat [2000 => cuTexRefGetFormat] (format: Out<u32>, channels: Out<i32>, reference: usize) {
        let found = own(reference)?;
        let state = found.state.lock().unwrap_or_else(PoisonError::into_inner);
        format.set(state.2)?;
        channels.put(state.3 as i32);
        Ok(())
    }

    cuSurfRefSetArray [3000 => cuSurfRefSetArray] (reference: usize, array: usize, flags: u32) {
        let found = texture::array(array).map_err(|_| Error::InvalidValue)?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        own(reference)?.change(|s| {
            s.0 = Source::Array(array, Arc::clone(&found));
            Ok(())
        })
    }

    cuSurfRefGetArray [3000 => cuSurfRefGetArray] (array: Out<usize>, reference: usize) {
        let found = own(reference)?;
        let state = found.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.0 {
            Source::Array(handle, _) => Ok(array.set(handle)?),
            _ => Err(Error::InvalidValue),
        }
    }
}
