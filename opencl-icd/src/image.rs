//! Images: their sizes and pitches, and what kernels see of them.

use c_border::{Answer, ParamValue, Raw, plain_struct};
use ptx_runtime::{Access, DevicePtr, FixedWord};

use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::device::{MAX_IMAGE, MAX_IMAGE_3D, MAX_IMAGE_BUFFER, MAX_LAYERS};
use crate::image_format::ImageFormat;
use crate::region::Rows;

plain_struct! {
    /// `cl_image_desc`
    #[derive(Default)]
    ImageDesc {
        kind: u32,
        /// Keeps the next field where C has it.
        gap: u32,
        width: usize,
        height: usize,
        depth: usize,
        array_size: usize,
        row_pitch: usize,
        slice_pitch: usize,
        mip_levels: u32,
        samples: u32,
        buffer: usize,
    }
}

/// Where the format lies in a descriptor (docs/opencl.md): order, type, bytes of a texel.
const FORMAT_AT: u32 = 40;

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

impl Image {
    /// The sizes and pitches that a descriptor asks for, without its descriptor in device memory.
    ///
    /// # Errors
    /// When a size or pitch is wrong.
    pub fn sized(format: ImageFormat, desc: &ImageDesc, has_pointer: bool) -> Result<Image> {
        let of_buffer = desc.buffer != 0;
        let element = format.element()?;
        let one = |most: usize, n: usize| {
            if n == 0 || n > most { Err(Error::INVALID_IMAGE_SIZE) } else { Ok(n) }
        };
        if desc.mip_levels != 0 || desc.samples != 0 {
            return Err(Error::INVALID_IMAGE_DESCRIPTOR);
        }
        let lies_in_one = match desc.kind {
            cl::MEM_OBJECT_IMAGE1D_BUFFER => of_buffer,
            // cl_khr_image2d_from_buffer
            cl::MEM_OBJECT_IMAGE2D => true,
            _ => !of_buffer,
        };
        if !lies_in_one {
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
        let has_rows = has_pointer || of_buffer && desc.kind == cl::MEM_OBJECT_IMAGE2D;
        if !has_rows && desc.row_pitch != 0 || !has_pointer && desc.slice_pitch != 0 {
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
    pub fn bytes(&self) -> usize {
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
        debug_assert_eq!(out.len() as u32, FORMAT_AT);
        for n in [self.format.order, self.format.data_type, self.element as u32, 0] {
            out.extend(n.to_le_bytes());
        }
        out
    }

    /// What of the descriptor kernels may take for constants, where the parameter at `param` is its address: the format.
    /// Nothing writes a descriptor once it is there, and sizes differ too much from launch to launch.
    pub fn fixed_words(&self, param: u32) -> [FixedWord; 3] {
        let [order, data_type] = [self.format.order, self.format.data_type];
        let words = [order, data_type, self.element as u32];
        [0, 1, 2].map(|n| {
            let behind = Some(FORMAT_AT + 4 * n as u32);
            FixedWord { param, behind, value: words[n] }
        })
    }

    /// Puts the descriptor into device memory.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn describe(&mut self, context: &Context, address: u64) -> Result {
        let bytes = self.descriptor_bytes(address);
        let memory = context.machine.memory();
        let at = memory
            .alloc(bytes.len() as u64, 8, "image descriptor", Access::ReadOnly)
            .map_err(|_| Error::MEM_OBJECT_ALLOCATION_FAILURE)?;
        self.descriptor = DevicePtr(at);
        memory.write(at, &bytes).map_err(|_| Error::OUT_OF_RESOURCES)
    }

    /// `clGetImageInfo`; `buffer` is the handle of the buffer that the image lies in, or 0.
    ///
    /// # Errors
    /// When the name is unknown or the caller's buffer too small.
    pub fn info(&self, buffer: usize, name: u32, to: ParamValue) -> Result {
        let [width, height, depth, layers] = self.extent;
        match name {
            cl::IMAGE_FORMAT => {
                let both = [self.format.order, self.format.data_type];
                to.put(Answer::from(&both[..]))
            }
            cl::IMAGE_ELEMENT_SIZE => to.put(self.element),
            cl::IMAGE_ROW_PITCH => to.put(self.row),
            cl::IMAGE_SLICE_PITCH => to.put(self.slice_pitch()),
            cl::IMAGE_WIDTH => to.put(width),
            cl::IMAGE_HEIGHT => to.put(height),
            cl::IMAGE_DEPTH => to.put(depth),
            cl::IMAGE_ARRAY_SIZE => to.put(layers),
            cl::IMAGE_BUFFER => to.put(buffer),
            cl::IMAGE_NUM_MIP_LEVELS | cl::IMAGE_NUM_SAMPLES => to.put(0u32),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}
