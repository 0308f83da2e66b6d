//! Images: formats, shapes, and what kernels see of them.

use std::sync::Arc;

use ptx_runtime::{Access, DevicePtr};

use crate::answer::{Answer, Place};
use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::device::{MAX_IMAGE, MAX_IMAGE_3D, MAX_IMAGE_BUFFER, MAX_LAYERS};
use crate::ffi::{ImageDesc, ImageFormat, Raw};
use crate::memory::{self, Mem};
use crate::region::{self, Rows};
use crate::registry;

/// What makes a memory object an image.
#[derive(Clone, Debug)]
pub struct Image {
    /// `cl_mem_object_type`
    pub kind: u32,
    /// Its format.
    pub format: ImageFormat,
    /// Bytes of a texel.
    pub element: usize,
    /// Width, height, depth, layers; 0 where the kind has none.
    pub extent: [usize; 4],
    /// Bytes from row to row.
    pub row: usize,
    /// Bytes from slice to slice or layer to layer.
    pub slice: usize,
    /// What kernels are passed the address of (docs/opencl.md).
    pub descriptor: DevicePtr,
}

/// Channel orders and the data types that they go with.
fn fits(order: u32, data_type: u32) -> bool {
    let packed =
        matches!(data_type, cl::UNORM_SHORT_565 | cl::UNORM_SHORT_555 | cl::UNORM_INT_101010);
    if !(cl::SNORM_INT8..=cl::FLOAT).contains(&data_type) {
        return false;
    }
    match order {
        cl::R | cl::Rx | cl::A | cl::RG | cl::RGx | cl::RA | cl::RGBA => !packed,
        cl::RGB | cl::RGBx => packed,
        cl::ARGB | cl::BGRA => matches!(
            data_type,
            cl::UNORM_INT8 | cl::SNORM_INT8 | cl::SIGNED_INT8 | cl::UNSIGNED_INT8
        ),
        cl::INTENSITY | cl::LUMINANCE => matches!(
            data_type,
            cl::UNORM_INT8
                | cl::UNORM_INT16
                | cl::SNORM_INT8
                | cl::SNORM_INT16
                | cl::HALF_FLOAT
                | cl::FLOAT
        ),
        _ => false,
    }
}

const ORDERS: [u32; 13] = [
    cl::RGBA,
    cl::BGRA,
    cl::ARGB,
    cl::R,
    cl::A,
    cl::RG,
    cl::RA,
    cl::RGB,
    cl::Rx,
    cl::RGx,
    cl::RGBx,
    cl::INTENSITY,
    cl::LUMINANCE,
];

/// All formats.
pub fn formats() -> impl Iterator<Item = ImageFormat> {
    ORDERS.into_iter().flat_map(|order| {
        (cl::SNORM_INT8..=cl::FLOAT)
            .filter(move |t| fits(order, *t))
            .map(move |data_type| ImageFormat { order, data_type })
    })
}

impl ImageFormat {
    /// Bytes of a texel.
    ///
    /// # Errors
    /// When the format is none.
    pub fn element(self) -> Result<usize> {
        if !fits(self.order, self.data_type) {
            return Err(Error::INVALID_IMAGE_FORMAT_DESCRIPTOR);
        }
        let channels = match self.order {
            cl::RG | cl::RGx | cl::RA => 2,
            cl::RGBA | cl::BGRA | cl::ARGB => 4,
            _ => 1,
        };
        Ok(match self.data_type {
            cl::SNORM_INT8 | cl::UNORM_INT8 | cl::SIGNED_INT8 | cl::UNSIGNED_INT8 => channels,
            cl::UNORM_SHORT_565 | cl::UNORM_SHORT_555 => 2,
            cl::UNORM_INT_101010 => 4,
            cl::SIGNED_INT32 | cl::UNSIGNED_INT32 | cl::FLOAT => channels * 4,
            _ => channels * 2,
        })
    }

    /// A texel of the colour `rgba`: bits of floats, or of integers where the format has them.
    pub fn texel(self, rgba: [u32; 4]) -> Vec<u8> {
        let [r, g, b, a] = rgba;
        let channels: Vec<u32> = match self.order {
            cl::A => vec![a],
            cl::RG | cl::RGx => vec![r, g],
            cl::RA => vec![r, a],
            cl::RGBA => vec![r, g, b, a],
            cl::BGRA => vec![b, g, r, a],
            cl::ARGB => vec![a, r, g, b],
            cl::RGB | cl::RGBx => vec![r, g, b],
            _ => vec![r],
        };
        let unit = |bits: u32, most: f32| {
            let v = f32::from_bits(bits);
            let v = if v.is_nan() { 0.0 } else { v.clamp(0.0, 1.0) };
            (v * most).round_ties_even() as u32
        };
        let signed = |bits: u32, most: f32| {
            let v = f32::from_bits(bits);
            let v = if v.is_nan() { 0.0 } else { v.clamp(-1.0, 1.0) };
            (v * most).round_ties_even() as i32 as u32
        };
        let each = |f: &dyn Fn(u32) -> u32, bytes: usize| -> Vec<u8> {
            channels.iter().flat_map(|c| f(*c).to_le_bytes().into_iter().take(bytes)).collect()
        };
        let clamp = |low: i32, high: i32| move |c: u32| (c as i32).clamp(low, high) as u32;
        match self.data_type {
            cl::UNORM_INT8 => each(&|c| unit(c, 255.0), 1),
            cl::UNORM_INT16 => each(&|c| unit(c, 65535.0), 2),
            cl::SNORM_INT8 => each(&|c| signed(c, 127.0), 1),
            cl::SNORM_INT16 => each(&|c| signed(c, 32767.0), 2),
            cl::SIGNED_INT8 => each(&clamp(-128, 127), 1),
            cl::SIGNED_INT16 => each(&clamp(-32768, 32767), 2),
            cl::UNSIGNED_INT8 => each(&|c| c.min(255), 1),
            cl::UNSIGNED_INT16 => each(&|c| c.min(65535), 2),
            cl::HALF_FLOAT => each(&|c| half(f32::from_bits(c)), 2),
            cl::UNORM_SHORT_565 => {
                let v = unit(r, 31.0) << 11 | unit(g, 63.0) << 5 | unit(b, 31.0);
                v.to_le_bytes()[..2].to_vec()
            }
            cl::UNORM_SHORT_555 => {
                let v = unit(r, 31.0) << 10 | unit(g, 31.0) << 5 | unit(b, 31.0);
                v.to_le_bytes()[..2].to_vec()
            }
            cl::UNORM_INT_101010 => {
                let v = unit(r, 1023.0) << 20 | unit(g, 1023.0) << 10 | unit(b, 1023.0);
                v.to_le_bytes().to_vec()
            }
            _ => each(&|c| c, 4),
        }
    }
}

/// Half precision of `v`, rounded to nearest even.
fn half(v: f32) -> u32 {
    let bits = v.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Subnormal: units of 2^-24.
        return sign | (f32::from_bits(magnitude) * 16_777_216.0).round_ties_even() as u32;
    }
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | (rounded - 0x3800_0000) >> 13
}

impl Image {
    /// The shape that a descriptor asks for, without its descriptor in device memory.
    ///
    /// # Errors
    /// When a size or pitch is wrong.
    fn shape(format: ImageFormat, desc: &ImageDesc, has_pointer: bool) -> Result<Image> {
        let element = format.element()?;
        let one = |most: usize, n: usize| {
            if n == 0 || n > most { Err(Error::INVALID_IMAGE_SIZE) } else { Ok(n) }
        };
        if desc.mip_levels != 0 || desc.samples != 0 {
            return Err(Error::INVALID_IMAGE_DESCRIPTOR);
        }
        if (desc.kind == cl::MEM_OBJECT_IMAGE1D_BUFFER) != (desc.buffer != 0) {
            return Err(Error::INVALID_IMAGE_DESCRIPTOR);
        }
        let (width, height, depth, layers) = (desc.width, desc.height, desc.depth, desc.array_size);
        let extent = match desc.kind {
            cl::MEM_OBJECT_IMAGE1D => [one(MAX_IMAGE, width)?, 0, 0, 0],
            cl::MEM_OBJECT_IMAGE1D_BUFFER => [one(MAX_IMAGE_BUFFER, width)?, 0, 0, 0],
            cl::MEM_OBJECT_IMAGE1D_ARRAY => {
                [one(MAX_IMAGE, width)?, 0, 0, one(MAX_LAYERS, layers)?]
            }
            cl::MEM_OBJECT_IMAGE2D => [one(MAX_IMAGE, width)?, one(MAX_IMAGE, height)?, 0, 0],
            cl::MEM_OBJECT_IMAGE2D_ARRAY => {
                [one(MAX_IMAGE, width)?, one(MAX_IMAGE, height)?, 0, one(MAX_LAYERS, layers)?]
            }
            cl::MEM_OBJECT_IMAGE3D => [
                one(MAX_IMAGE_3D, width)?,
                one(MAX_IMAGE_3D, height)?,
                one(MAX_IMAGE_3D, depth)?,
                0,
            ],
            _ => return Err(Error::INVALID_IMAGE_DESCRIPTOR),
        };
        let tight = width * element;
        if !has_pointer && (desc.row_pitch != 0 || desc.slice_pitch != 0) {
            return Err(Error::INVALID_IMAGE_DESCRIPTOR);
        }
        let row = if desc.row_pitch == 0 { tight } else { desc.row_pitch };
        let rows = extent[1].max(1);
        let flat = matches!(
            desc.kind,
            cl::MEM_OBJECT_IMAGE1D | cl::MEM_OBJECT_IMAGE1D_BUFFER | cl::MEM_OBJECT_IMAGE2D
        );
        let slice = if desc.slice_pitch == 0 || flat { row * rows } else { desc.slice_pitch };
        if row < tight
            || !row.is_multiple_of(element)
            || slice < row * rows
            || !slice.is_multiple_of(row)
        {
            return Err(Error::INVALID_IMAGE_DESCRIPTOR);
        }
        let descriptor = DevicePtr(0);
        Ok(Image { kind: desc.kind, format, element, extent, row, slice, descriptor })
    }

    /// Extents in the three coordinates that regions have.
    pub fn sizes(&self) -> [usize; 3] {
        let [width, height, depth, layers] = self.extent;
        match self.kind {
            cl::MEM_OBJECT_IMAGE1D_ARRAY => [width, layers, 1],
            cl::MEM_OBJECT_IMAGE2D_ARRAY => [width, height, layers],
            _ => [width, height.max(1), depth.max(1)],
        }
    }

    /// Bytes between texels whose second coordinates differ by one.
    fn step(&self) -> usize {
        if self.kind == cl::MEM_OBJECT_IMAGE1D_ARRAY { self.slice } else { self.row }
    }

    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        let [_, height, depth, layers] = self.extent;
        match self.kind {
            cl::MEM_OBJECT_IMAGE1D | cl::MEM_OBJECT_IMAGE1D_BUFFER => self.row,
            cl::MEM_OBJECT_IMAGE2D => self.row * height,
            _ => self.slice * depth.max(layers),
        }
    }

    /// Whether regions have a third coordinate, or layers: a slice pitch counts.
    pub fn has_slices(&self) -> bool {
        matches!(
            self.kind,
            cl::MEM_OBJECT_IMAGE3D | cl::MEM_OBJECT_IMAGE1D_ARRAY | cl::MEM_OBJECT_IMAGE2D_ARRAY
        )
    }

    /// Refuses a region that is empty or not within the image.
    ///
    /// # Errors
    /// As said.
    pub fn check(&self, origin: [usize; 3], region: [usize; 3]) -> Result {
        let sizes = self.sizes();
        let within = |d: usize| {
            region[d] > 0 && origin[d].checked_add(region[d]).is_some_and(|end| end <= sizes[d])
        };
        if (0..3).all(within) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    /// Bytes before the texel at `origin`.
    pub fn offset(&self, origin: [usize; 3]) -> usize {
        origin[0] * self.element + origin[1] * self.step() + origin[2] * self.slice
    }

    /// The rows from a texel on.
    pub fn rows(&self, base: Raw, origin: [usize; 3]) -> Rows {
        let start = base.offset(self.offset(origin));
        Rows { start, row: self.step(), slice: self.slice }
    }

    /// A region in bytes, rows, slices.
    pub fn span(&self, region: [usize; 3]) -> [usize; 3] {
        [region[0] * self.element, region[1], region[2]]
    }

    /// The caller's memory of a region, with the pitches that 0 stands for.
    ///
    /// # Errors
    /// When a pitch is too small.
    pub fn outside(
        &self,
        pointer: Raw,
        region: [usize; 3],
        row: usize,
        slice: usize,
    ) -> Result<Rows> {
        let [width, height, _] = self.span(region);
        let row = if row == 0 { width } else { row };
        if row < width {
            return Err(Error::INVALID_VALUE);
        }
        if self.kind == cl::MEM_OBJECT_IMAGE1D_ARRAY {
            let slice = if slice == 0 { row } else { slice };
            if slice < row {
                return Err(Error::INVALID_VALUE);
            }
            return Ok(Rows { start: pointer, row: slice, slice });
        }
        if !self.has_slices() && slice != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let slice = if slice == 0 { row * height } else { slice };
        if slice < row * height {
            return Err(Error::INVALID_VALUE);
        }
        Ok(Rows { start: pointer, row, slice })
    }

    /// `CL_IMAGE_SLICE_PITCH`
    pub fn slice_pitch(&self) -> usize {
        if self.has_slices() { self.slice } else { 0 }
    }

    /// The descriptor's bytes.
    fn descriptor_bytes(&self, address: u64) -> Vec<u8> {
        let [width, height, depth, layers] = self.extent.map(|n| n as u32);
        let mut out = address.to_le_bytes().to_vec();
        for n in [width, height.max(1), depth.max(1), layers] {
            out.extend(n.to_le_bytes());
        }
        out.extend((self.row as u64).to_le_bytes());
        out.extend((self.slice as u64).to_le_bytes());
        for n in [self.format.order, self.format.data_type, self.element as u32, 0] {
            out.extend(n.to_le_bytes());
        }
        out
    }

    /// Puts the descriptor into device memory.
    fn describe(&mut self, context: &Context, address: u64) -> Result {
        let bytes = self.descriptor_bytes(address);
        let memory = context.machine.memory();
        let at = memory
            .alloc(bytes.len() as u64, 8, "image descriptor", Access::ReadOnly)
            .map_err(|_| Error::MEM_OBJECT_ALLOCATION_FAILURE)?;
        self.descriptor = DevicePtr(at);
        memory.write(at, &bytes).map_err(|_| Error::OUT_OF_RESOURCES)
    }

    /// `clCreateImage`
    ///
    /// # Errors
    /// When something about it is wrong, or there is no memory.
    pub fn create(
        context: &Arc<Context>,
        flags: u64,
        format: Option<ImageFormat>,
        desc: Option<ImageDesc>,
        host: Raw,
    ) -> Result<Mem> {
        let parent = desc.filter(|d| d.kind == cl::MEM_OBJECT_IMAGE1D_BUFFER && d.buffer != 0);
        let mut checked = memory::check_flags(flags)?;
        let format = format.ok_or(Error::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let desc = desc.ok_or(Error::INVALID_IMAGE_DESCRIPTOR)?;
        format.element()?;
        let image = Image::shape(format, &desc, !host.is_null())?;
        let size = image.bytes();
        let mut mem = match parent {
            Some(desc) => {
                let buffer: Arc<Mem> =
                    registry::get(desc.buffer).map_err(|_| Error::INVALID_IMAGE_DESCRIPTOR)?;
                if !host.is_null() {
                    return Err(Error::INVALID_HOST_PTR);
                }
                if buffer.image.is_some() || !Arc::ptr_eq(&buffer.context, context) {
                    return Err(Error::INVALID_IMAGE_DESCRIPTOR);
                }
                if size > buffer.size {
                    return Err(Error::INVALID_IMAGE_SIZE);
                }
                checked = memory::inherit(buffer.flags, flags)?;
                Mem::part(&buffer, checked, 0, size, Some(image))
            }
            None => {
                memory::check_host_ptr(checked, host)?;
                if size as u64 > context.max_alloc() {
                    return Err(Error::INVALID_IMAGE_SIZE);
                }
                let mut own = image.clone();
                if checked & cl::MEM_USE_HOST_PTR == 0 {
                    own.row = own.extent[0] * own.element;
                    own.slice = own.row * own.extent[1].max(1);
                }
                let size = own.bytes();
                let mem = Mem::with_storage(context, checked, size, host, Some(own.clone()))?;
                if checked & cl::MEM_COPY_HOST_PTR != 0 {
                    let region = own.sizes();
                    let from = image.rows(host, [0; 3]);
                    region::copy(own.rows(mem.place, [0; 3]), from, own.span(region));
                }
                mem
            }
        };
        let address = mem.address;
        if let Some(image) = &mut mem.image {
            image.describe(context, address)?;
        }
        Ok(mem)
    }

    /// `clGetImageInfo`
    pub fn info(&self, mem: &Mem, name: u32, place: Place) -> Result {
        let [width, height, depth, layers] = self.extent;
        match name {
            cl::IMAGE_FORMAT => {
                let both = [self.format.order, self.format.data_type];
                place.put(Answer::from(&both[..]))
            }
            cl::IMAGE_ELEMENT_SIZE => place.put(self.element),
            cl::IMAGE_ROW_PITCH => place.put(self.row),
            cl::IMAGE_SLICE_PITCH => place.put(self.slice_pitch()),
            cl::IMAGE_WIDTH => place.put(width),
            cl::IMAGE_HEIGHT => place.put(height),
            cl::IMAGE_DEPTH => place.put(depth),
            cl::IMAGE_ARRAY_SIZE => place.put(layers),
            cl::IMAGE_BUFFER => place.put(mem.parent.as_ref().map_or(0, |p| p.handle.get())),
            cl::IMAGE_NUM_MIP_LEVELS | cl::IMAGE_NUM_SAMPLES => place.put(0u32),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (v, bits) in [
            (0.0, 0),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65520.0, 0x7c00),
            (1e6, 0x7c00),
            (5.960_464_5e-8, 1),
            (6.103_515_6e-5, 0x400),
            (6.1e-5, 0x3ff),
            (1.000_488_3, 0x3c00),
            (1.001_464_8, 0x3c02),
        ] {
            assert_eq!(half(v), bits, "{v}");
        }
        assert_eq!(half(f32::NAN) & 0x7e00, 0x7e00);
        assert_eq!(half(f32::NEG_INFINITY), 0xfc00);
    }

    #[test]
    fn texels() {
        let f = |order, data_type, rgba: [f32; 4]| {
            ImageFormat { order, data_type }.texel(rgba.map(f32::to_bits))
        };
        assert_eq!(f(cl::BGRA, cl::UNORM_INT8, [1.0, 0.5, 0.0, 2.0]), [0, 128, 255, 255]);
        assert_eq!(f(cl::RGB, cl::UNORM_SHORT_565, [1.0, 0.0, 1.0, 0.0]), [0x1f, 0xf8]);
        assert_eq!(f(cl::R, cl::SNORM_INT16, [-1.0, 0.0, 0.0, 0.0]), [0x01, 0x80]);
        let ints = ImageFormat { order: cl::RA, data_type: cl::SIGNED_INT8 };
        assert_eq!(ints.texel([300, 0, 0, -300i32 as u32]), [127, 128]);
    }

    #[test]
    fn every_format_has_a_size() {
        let all: Vec<_> = formats().collect();
        assert!(all.len() > 60);
        assert!(all.iter().all(|f| f.element().is_ok_and(|n| f.texel([0; 4]).len() == n)));
    }
}
