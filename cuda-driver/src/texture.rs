//! Arrays, and the texture and surface objects and references over them.

use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ptx_runtime::DevicePtr;
use ptx_runtime::isa::texture::{self as isa, Address, Channel, Texels, Texture};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::module::Module;

/// All arrays.
pub static ARRAYS: Handles<Array> = Handles::new(8);
/// All mipmapped arrays.
pub static MIPMAPS: Handles<Mipmap> = Handles::new(13);
/// All texture and surface references.
pub static REFERENCES: Handles<Reference> = Handles::new(14);

/// `CUDA_ARRAY3D_LAYERED`.
pub const LAYERED: u32 = 1;
/// `CUDA_ARRAY3D_SURFACE_LDST`.
pub const SURFACE: u32 = 2;
/// `CUDA_ARRAY3D_CUBEMAP`.
pub const CUBEMAP: u32 = 4;
/// `CUDA_ARRAY3D_TEXTURE_GATHER`.
pub const GATHER: u32 = 8;

/// An array: texels that kernels reach through objects only.
pub struct Array {
    /// Its context.
    pub context: Weak<Context>,
    /// Width, height, depth or layers as given; 0 where there is no such dimension.
    pub size: [u64; 3],
    /// `CUarray_format`.
    pub format: u32,
    /// Type of a channel.
    pub channel: Channel,
    /// Channels per texel.
    pub channels: u32,
    /// Flags it was made with.
    pub flags: u32,
    /// Its bytes.
    pub texels: Arc<[AtomicU8]>,
}

/// A mipmapped array.
pub struct Mipmap {
    /// Handles of its levels.
    pub levels: Vec<usize>,
    /// Its context.
    pub context: Weak<Context>,
}

/// The channel type of a `CUarray_format`.
pub fn channel(format: u32) -> Result<Channel> {
    Ok(match format {
        0x01 => Channel::U8,
        0x02 => Channel::U16,
        0x03 => Channel::U32,
        0x08 => Channel::S8,
        0x09 => Channel::S16,
        0x0a => Channel::S32,
        0x10 => Channel::F16,
        0x20 => Channel::F32,
        _ => return Err(Error::InvalidValue),
    })
}

/// Whether a cube map has so many faces: six, or six for every layer.
fn faces(planes: u64, layered: bool) -> bool {
    planes == 6 || layered && planes > 0 && planes.is_multiple_of(6)
}

impl Array {
    /// A zeroed array.
    pub fn new(
        context: &Arc<Context>,
        size: [u64; 3],
        format: u32,
        channels: u32,
        flags: u32,
    ) -> Result<Array> {
        let channel = channel(format)?;
        if !matches!(channels, 1 | 2 | 4) || size[0] == 0 {
            return Err(Error::InvalidValue);
        }
        let layered = flags & LAYERED != 0;
        if flags & !(LAYERED | SURFACE | CUBEMAP | GATHER) != 0
            || layered && size[2] == 0
            || !layered && size[2] > 0 && size[1] == 0
            || flags & GATHER != 0 && (layered || flags & CUBEMAP != 0 || size[2] > 0)
            || flags & CUBEMAP != 0 && (size[0] != size[1] || !faces(size[2], layered))
        {
            return Err(Error::InvalidValue);
        }
        // Largest extents of compute capability 9.0 (CUDA C++ Programming Guide, technical specifications).
        let most: [u64; 3] = match (layered || flags & CUBEMAP != 0, size[1] > 0, size[2] > 0) {
            (true, ..) => [32768, 32768, 2048],
            (false, false, _) => [131_072, 0, 0],
            (false, true, false) => [131_072, 65536, 0],
            (false, true, true) => [16384; 3],
        };
        if (0..3).any(|d| size[d] > most[d]) {
            return Err(Error::InvalidValue);
        }
        let texel = channel.bytes() as u64 * u64::from(channels);
        let bytes = size.iter().fold(texel, |n, d| n.saturating_mul((*d).max(1)));
        if bytes > context.driver.memory() {
            return Err(Error::OutOfMemory);
        }
        let texels = (0..bytes).map(|_| AtomicU8::new(0)).collect();
        Ok(Array {
            context: Arc::downgrade(context),
            size,
            format,
            channel,
            channels,
            flags,
            texels,
        })
    }

    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> u64 {
        self.channel.bytes() as u64 * u64::from(self.channels)
    }

    /// Byte of a place given as byte in the row, row, plane.
    pub fn offset(&self, at: [u64; 3]) -> usize {
        let row = self.size[0] * self.texel_bytes();
        let height = self.size[1].max(1);
        ((at[2] * height + at[1]) * row + at[0]) as usize
    }

    /// Checks that a box of bytes, rows and planes lies inside.
    pub fn check(&self, at: [u64; 3], size: [u64; 3]) -> Result {
        let extent = [self.size[0] * self.texel_bytes(), self.size[1].max(1), self.size[2].max(1)];
        let inside = (0..3).all(|d| at[d] <= extent[d] && size[d] <= extent[d] - at[d]);
        if inside { Ok(()) } else { Err(Error::InvalidValue) }
    }

    fn texture(&self) -> Texture {
        let layered = self.flags & (LAYERED | CUBEMAP) != 0;
        let clamp = |n: u64| n.max(1) as u32;
        let dimensions = match (self.size[1] > 0, self.size[2] > 0 && !layered) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 3,
        };
        let depth = if layered { 1 } else { clamp(self.size[2]) };
        let size = [clamp(self.size[0]), clamp(self.size[1]), depth];
        let texels = Texels::Array(Arc::clone(&self.texels));
        let layers = if layered { clamp(self.size[2]) } else { 0 };
        Texture {
            layers,
            ..Texture::over(size, dimensions, self.channel, self.channels as u8, texels)
        }
    }
}

/// How texels are read.
#[derive(Copy, Clone, Debug, Default)]
pub struct Sampling {
    /// `CUaddress_mode` by dimension.
    pub address: [u32; 3],
    /// Linear filtering.
    pub linear: bool,
    /// `CU_TRSF_*` flags.
    pub flags: u32,
    /// The border's colour: floats, or integers where integers are read.
    pub border: [u32; 4],
    /// How one of several levels is chosen.
    pub detail: Detail,
}

/// How one of several levels is chosen.
#[derive(Copy, Clone, Debug, Default)]
pub struct Detail {
    /// Two levels are blended.
    pub linear: bool,
    /// Added to levels of detail.
    pub bias: f32,
    /// Least and greatest level of detail.
    pub limits: [f32; 2],
    /// `maxAnisotropy`.
    pub anisotropy: u32,
}

/// `CU_TRSF_READ_AS_INTEGER`.
pub const READ_AS_INTEGER: u32 = 1;
/// `CU_TRSF_NORMALIZED_COORDINATES`.
pub const NORMALIZED: u32 = 2;
/// `CU_TRSF_SRGB`.
pub const SRGB: u32 = 0x10;

/// `CU_TRSF_SEAMLESS_CUBEMAP`.
pub const SEAMLESS: u32 = 0x40;

/// Where texels are.
#[derive(Clone)]
pub enum Source {
    /// Nowhere yet.
    Nothing,
    /// An array.
    Array(usize, Arc<Array>),
    /// Arrays of several levels, two at least.
    Levels(Vec<Arc<Array>>),
    /// Device memory: address, format, channels, width, height (0: one dimension), pitch.
    Memory(u64, u32, u32, u64, u64, u64),
}

/// The texture of a source and a way to read it.
pub fn texture(context: &Context, source: &Source, sampling: &Sampling) -> Result<Texture> {
    let mut texture = match source {
        Source::Nothing => return Err(Error::InvalidValue),
        Source::Array(_, array) => array.texture(),
        Source::Levels(levels) => {
            // What a coordinate in texels means in smaller levels is not known.
            if sampling.flags & NORMALIZED == 0 {
                return Err(Error::NotSupported);
            }
            return mipmapped(context, levels, sampling);
        }
        Source::Memory(address, format, channels, width, height, pitch) => {
            let channel = channel(*format)?;
            let texel = channel.bytes() as u64 * u64::from(*channels);
            let rows = (*height).max(1);
            let bytes = if rows > 1 { pitch * (rows - 1) + width * texel } else { width * texel };
            let block = context.device.memory().find(*address).ok_or(Error::InvalidValue)?;
            if !matches!(channels, 1 | 2 | 4) || bytes > block.size - (address - block.start) {
                return Err(Error::InvalidValue);
            }
            let size = [(*width).min(u64::from(u32::MAX)) as u32, rows as u32, 1];
            let dimensions = if *height > 0 { 2 } else { 1 };
            let texels = Texels::Memory { address: *address, pitch: *pitch };
            Texture::over(size, dimensions, channel, *channels as u8, texels)
        }
    };
    for (to, from) in texture.address.iter_mut().zip(sampling.address) {
        *to = match from {
            0 => Address::Wrap,
            1 => Address::Clamp,
            2 => Address::Mirror,
            3 => Address::Border,
            _ => return Err(Error::InvalidValue),
        };
    }
    texture.linear = sampling.linear;
    texture.normalized = sampling.flags & NORMALIZED != 0;
    texture.srgb = sampling.flags & SRGB != 0;
    let cube = matches!(source, Source::Array(_, array) if array.flags & CUBEMAP != 0);
    texture.seamless = cube && sampling.flags & SEAMLESS != 0;
    texture.border = sampling.border;
    texture.read_normalized = sampling.flags & READ_AS_INTEGER == 0 && !texture.channel.is_float();
    Ok(texture)
}

/// The texture of several levels: the first one, which has the others.
fn mipmapped(context: &Context, levels: &[Arc<Array>], sampling: &Sampling) -> Result<Texture> {
    let single =
        |level: &Arc<Array>| texture(context, &Source::Array(0, Arc::clone(level)), sampling);
    let [first, rest @ ..] = levels else { return Err(Error::InvalidValue) };
    let mut made = single(first)?;
    let Detail { linear, bias, limits: [least, most], anisotropy } = sampling.detail;
    let levels = rest.iter().map(single).collect::<Result<_>>()?;
    made.mipmap = Some(Box::new(isa::Mipmap { levels, linear, bias, least, most, anisotropy }));
    Ok(made)
}

/// A texture or surface reference.
pub struct Reference {
    /// The module and variable that it is bound to; none for one made by `cuTexRefCreate`.
    pub variable: Option<(Weak<Module>, DevicePtr)>,
    /// Whether it is a surface reference.
    pub surface: bool,
    /// Its settings.
    pub state: Mutex<(Source, Sampling, u32, u32)>,
}

impl Reference {
    /// A reference with the settings that a new one has.
    pub fn new(variable: Option<(Weak<Module>, DevicePtr)>, surface: bool) -> Reference {
        let sampling = Sampling { address: [1; 3], ..Sampling::default() };
        Reference { variable, surface, state: Mutex::new((Source::Nothing, sampling, 0x20, 1)) }
    }

    /// Changes the settings and binds the result.
    pub fn change(
        &self,
        change: impl FnOnce(&mut (Source, Sampling, u32, u32)) -> Result,
    ) -> Result {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state)?;
        let Some((module, variable)) = &self.variable else { return Ok(()) };
        if matches!(state.0, Source::Nothing) {
            return Ok(());
        }
        let module = module.upgrade().ok_or(Error::InvalidHandle)?;
        let context = module.context()?;
        let texture = texture(&context, &state.0, &state.1)?;
        context.device.bind_object(*variable, Arc::new(texture));
        Ok(())
    }
}

/// An array by handle.
pub fn array(handle: usize) -> Result<Arc<Array>> {
    crate::driver::get()?;
    ARRAYS.get(handle).ok_or(Error::InvalidHandle)
}

/// A reference by handle.
pub fn reference(handle: usize) -> Result<Arc<Reference>> {
    crate::driver::get()?;
    REFERENCES.get(handle).ok_or(Error::InvalidValue)
}

/// Ends the arrays of a context.
pub fn forget(context: &Arc<Context>) {
    let of = |c: &Weak<Context>| std::ptr::eq(c.as_ptr(), Arc::as_ptr(context));
    ARRAYS.remove_if(|a| of(&a.context));
    MIPMAPS.remove_if(|m| of(&m.context));
}

/// Ends the references of a module.
pub fn forget_module(module: &Arc<Module>) {
    REFERENCES.remove_if(|r| {
        r.variable.as_ref().is_some_and(|(m, _)| std::ptr::eq(m.as_ptr(), Arc::as_ptr(module)))
    });
}
