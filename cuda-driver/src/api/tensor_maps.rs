//! Tensor maps.

use ptx_runtime::isa::tensor::{Request, Shape, TensorMap};

use super::symbol::functions;
use crate::context;
use crate::error::{Error, Result};
use c_border::{In, Raw};

/// A tensor map lies anywhere: the manual wants a multiple of 64 bytes, an H100's driver takes every address, and
/// objects of Python's lie at multiples of 16.
fn object(map: Raw) -> Result<Raw> {
    if map.is_null() { Err(Error::InvalidValue) } else { Ok(map) }
}

/// Lists of a tensor of so many dimensions.
struct Tensor {
    sizes: Vec<u64>,
    strides: Vec<u64>,
    steps: Vec<u32>,
}

impl Tensor {
    fn read(rank: u32, sizes: In<u64>, strides: In<u64>, steps: In<u32>) -> Result<Tensor> {
        // Strides are wanted even where there are none.
        if !(1..=5).contains(&rank) || strides.is_null() {
            return Err(Error::InvalidValue);
        }
        let rank = rank as usize;
        Ok(Tensor {
            sizes: sizes.list(rank)?,
            strides: strides.list(rank - 1)?,
            steps: steps.list(rank)?,
        })
    }
}

fn write(map: Raw, request: &Request<'_>) -> Result<()> {
    let capability = context::current()?.driver.capability();
    let encoded = request.encode(u32::from(capability)).ok_or(Error::InvalidValue)?;
    Ok(map.write(0, &encoded.encode())?)
}

functions! {
    cuTensorMapEncodeTiled [12000 => cuTensorMapEncodeTiled] (
        map: Raw, data_type: u32, rank: u32, address: u64, sizes: In<u64>, strides: In<u64>,
        boxes: In<u32>, steps: In<u32>, interleave: u32, swizzle: u32, l2: u32, fill: u32,
    ) {
        context::current()?;
        let map = object(map)?;
        let Tensor { sizes, strides, steps } = Tensor::read(rank, sizes, strides, steps)?;
        let boxes = boxes.list(rank as usize)?;
        let (sizes, strides, steps, shape) = (&sizes, &strides, &steps, Shape::Tiled(&boxes));
        write(map, &Request { data_type, address, sizes, strides, steps, shape, interleave, swizzle, l2, fill })
    }

    cuTensorMapEncodeIm2col [12000 => cuTensorMapEncodeIm2col] (
        map: Raw, data_type: u32, rank: u32, address: u64, sizes: In<u64>, strides: In<u64>,
        lower: In<i32>, upper: In<i32>, channels: u32, pixels: u32, steps: In<u32>,
        interleave: u32, swizzle: u32, l2: u32, fill: u32,
    ) {
        context::current()?;
        let map = object(map)?;
        let Tensor { sizes, strides, steps } = Tensor::read(rank, sizes, strides, steps)?;
        let images = sizes.len().saturating_sub(2);
        let (lower, upper) = (lower.list(images)?, upper.list(images)?);
        let shape = Shape::Im2col { lower: &lower, upper: &upper, channels, pixels };
        let (sizes, strides, steps) = (&sizes, &strides, &steps);
        write(map, &Request { data_type, address, sizes, strides, steps, shape, interleave, swizzle, l2, fill })
    }

    cuTensorMapEncodeIm2colWide [12080 => cuTensorMapEncodeIm2colWide] (
        map: Raw, data_type: u32, rank: u32, address: u64, sizes: In<u64>, strides: In<u64>,
        lower: i32, upper: i32, channels: u32, pixels: u32, steps: In<u32>,
        interleave: u32, mode: u32, swizzle: u32, l2: u32, fill: u32,
    ) {
        context::current()?;
        let map = object(map)?;
        let Tensor { sizes, strides, steps } = Tensor::read(rank, sizes, strides, steps)?;
        let shape = Shape::Wide { lower, upper, channels, pixels, mode };
        let (sizes, strides, steps) = (&sizes, &strides, &steps);
        write(map, &Request { data_type, address, sizes, strides, steps, shape, interleave, swizzle, l2, fill })
    }

    cuTensorMapReplaceAddress [12000 => cuTensorMapReplaceAddress] (map: Raw, address: u64) {
        context::current()?;
        let map = object(map)?;
        let bytes: [u8; 128] = map.bytes(0, 128)?.try_into().map_err(|_| Error::InvalidValue)?;
        let mut decoded = TensorMap::decode(&bytes).map_err(|_| Error::InvalidValue)?;
        if !decoded.takes_address(address) {
            return Err(Error::InvalidValue);
        }
        decoded.address = address;
        Ok(map.write(0, &decoded.encode()[..8])?)
    }
}
