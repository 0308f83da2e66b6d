//! Texture and surface objects.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::array::{element_bytes, format};
use super::{forward, put};
use crate::error::{Error, INVALID_VALUE, Result};
use crate::state::{done, enter};
use crate::types::*;

/// `cudaResourceType`, `CUresourcetype`.
const LINEAR: i32 = 2;
const PITCH_2D: i32 = 3;

/// Flags of the driver's texture description.
const READ_AS_INTEGER: u32 = 0x01;
const NORMALIZED: u32 = 0x02;
const SRGB: u32 = 0x10;
const NO_TRILINEAR_OPTIMIZATION: u32 = 0x20;
const SEAMLESS: u32 = 0x40;

/// Objects by handle.
type Made = HashMap<u64, (Resource, Option<Texture>)>;

/// What objects were made from; callers may ask for it.
fn textures() -> MutexGuard<'static, Made> {
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn resource(r: &Resource) -> Result<DriverResource> {
    let (format, channels) = match r.kind {
        LINEAR | PITCH_2D => format(&r.channels)?,
        _ => (0, 0),
    };
    Ok(DriverResource {
        kind: r.kind,
        handle: r.handle,
        format,
        channels,
        sizes: if matches!(r.kind, LINEAR | PITCH_2D) { r.sizes } else { [0; 3] },
        reserved: [0; 11],
        flags: r.flags,
    })
}

fn texture(t: &Texture) -> DriverTexture {
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    DriverTexture {
        address: t.address,
        filter: t.filter,
        flags: flag(t.read_mode == 0, READ_AS_INTEGER)
            | flag(t.normalized != 0, NORMALIZED)
            | flag(t.srgb != 0, SRGB)
            | flag(t.no_trilinear_optimization != 0, NO_TRILINEAR_OPTIMIZATION)
            | flag(t.seamless != 0, SEAMLESS),
        anisotropy: t.anisotropy,
        mip_filter: t.mip_filter,
        mip_bias: t.mip_bias,
        mip_min: t.mip_min,
        mip_max: t.mip_max,
        border: t.border,
        reserved: [0; 12],
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaCreateTextureObject(
    object: *mut u64,
    from: *const Resource,
    described: *const Texture,
    view: *const ResourceView,
) -> i32 {
    let make = || -> Result {
        // SAFETY: null or the caller's structures.
        let (from, described) = unsafe { (from.as_ref(), described.as_ref()) };
        let (from, described) = (from.ok_or(INVALID_VALUE)?, described.ok_or(INVALID_VALUE)?);
        let d = enter()?;
        let mut made = 0;
        // SAFETY: a handle is written; the structures live through the call.
        Error::check(unsafe {
            (d.cuTexObjectCreate)(&mut made, &resource(from)?, &texture(described), view)
        })?;
        textures().insert(made, (*from, Some(*described)));
        // SAFETY: the caller's place for the result.
        unsafe { put(object, made) }
    };
    done(make())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaCreateSurfaceObject(
    object: *mut u64,
    from: *const Resource,
) -> i32 {
    let make = || -> Result {
        // SAFETY: null or the caller's structure.
        let from = unsafe { from.as_ref() }.ok_or(INVALID_VALUE)?;
        let d = enter()?;
        // A handle that is none is found out here rather than when a kernel uses the object.
        if from.kind == 0 {
            element_bytes(d, from.handle)?;
        }
        let mut made = 0;
        // SAFETY: a handle is written; the structure lives through the call.
        Error::check(unsafe { (d.cuSurfObjectCreate)(&mut made, &resource(from)?) })?;
        textures().insert(made, (*from, None));
        // SAFETY: the caller's place for the result.
        unsafe { put(object, made) }
    };
    done(make())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaDestroyTextureObject(object: u64) -> i32 {
    textures().remove(&object);
    // SAFETY: the driver judges the handle.
    done(enter().and_then(|d| Error::check(unsafe { (d.cuTexObjectDestroy)(object) })))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaDestroySurfaceObject(object: u64) -> i32 {
    textures().remove(&object);
    // SAFETY: the driver judges the handle.
    done(enter().and_then(|d| Error::check(unsafe { (d.cuSurfObjectDestroy)(object) })))
}

fn described(object: u64) -> Result<(Resource, Option<Texture>)> {
    textures().get(&object).copied().ok_or(INVALID_VALUE)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetTextureObjectResourceDesc(
    to: *mut Resource,
    object: u64,
) -> i32 {
    // SAFETY: the caller's place for the result.
    done(described(object).and_then(|(r, _)| unsafe { put(to, r) }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetSurfaceObjectResourceDesc(
    to: *mut Resource,
    object: u64,
) -> i32 {
    // SAFETY: the caller's place for the result.
    done(described(object).and_then(|(r, _)| unsafe { put(to, r) }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetTextureObjectTextureDesc(
    to: *mut Texture,
    object: u64,
) -> i32 {
    let texture = described(object).and_then(|(_, t)| t.ok_or(INVALID_VALUE));
    // SAFETY: the caller's place for the result.
    done(texture.and_then(|t| unsafe { put(to, t) }))
}

forward! {
    cudaGetTextureObjectResourceViewDesc(view: *mut ResourceView, object: u64) => cuTexObjectGetResourceViewDesc(view, object);
}
