//! Tensor maps through the driver's functions. What every argument gives is the matter of the recordings
//! (`ptx-runtime/tests/tensor_copies.rs`); here the arguments only have to arrive.

mod common;

use common::*;

#[repr(align(64))]
struct Map([u8; 128]);

const INVALID_VALUE: u32 = 1;

#[test]
fn maps_are_encoded_and_moved() {
    if !own() {
        return;
    }
    context();
    let data = alloc(1 << 16);
    let mut map = Map([0; 128]);
    let (mut sizes, mut strides) = ([64u64, 32], [128u64]);
    let (mut boxes, mut steps) = ([16u32, 8], [1u32, 2]);
    let lists = [at(&mut sizes), at(&mut strides), at(&mut boxes), at(&mut steps)];
    let [size, stride, shape, step] = lists;
    let to = at(&mut map);
    // f16, two dimensions, swizzled over 32 bytes, 128 bytes to L2, NaN fill.
    let tiled = |to, address, strides| {
        call("cuTensorMapEncodeTiled", &[to, 6, 2, address, size, strides, shape, step, 0, 1, 2, 1])
    };
    assert_eq!(tiled(to, data, stride), 0);
    let word = |map: &Map, i: usize| {
        u32::from_le_bytes(map.0[4 * i..][..4].try_into().expect("four bytes"))
    };
    assert_eq!(map.0[..8], data.to_le_bytes());
    // Kind, rank and modes; the stride in units of 16 bytes; sizes and steps less one; the box.
    assert_eq!([2, 3, 8, 9, 13].map(|i| word(&map, i)), [0x4_a310, 8, 63, 31, 0x0f00_0008]);
    assert_eq!(tiled(to, data + 8, stride), INVALID_VALUE);
    assert_eq!(tiled(0, data, stride), INVALID_VALUE);
    assert_eq!(tiled(to, data, 0), INVALID_VALUE);
    let moved = |address| call("cuTensorMapReplaceAddress", &[to, address]);
    assert_eq!((moved(data + 4096), moved(data + 8)), (0, INVALID_VALUE));
    assert_eq!(map.0[..8], (data + 4096).to_le_bytes());
    assert_eq!(word(&map, 8), 63, "nothing else has changed");

    // Where the object lies does not matter: so it was on an H100, with driver 580.
    let mut anywhere = [0u8; 160];
    for offset in [1, 4, 8, 16, 32] {
        let other = at(&mut anywhere) + offset;
        assert_eq!(tiled(other, data + 4096, stride), 0, "{offset}");
        assert_eq!(anywhere[offset as usize..][..128], map.0, "{offset}");
        assert_eq!(call("cuTensorMapReplaceAddress", &[other, data]), 0, "{offset}");
        assert_eq!(anywhere[offset as usize..][..8], data.to_le_bytes(), "{offset}");
    }

    // Images of 64 channels, 8 x 6 pixels, 4 of them; f16, 16 channels of 8 pixels.
    let (mut sizes, mut strides) = ([64u64, 8, 6, 4], [128u64, 1024, 6144]);
    let (mut low, mut high, mut steps) = ([-1i32, -2], [1i32, 0], [1u32; 4]);
    let (size, stride, step) = (at(&mut sizes), at(&mut strides), at(&mut steps));
    let (low, high) = (at(&mut low), at(&mut high));
    let images = |pixels| {
        let list = [to, 6, 4, data, size, stride, low, high, 16, pixels, step, 0, 0, 0, 0];
        call("cuTensorMapEncodeIm2col", &list)
    };
    assert_eq!((images(8), images(0)), (0, INVALID_VALUE));
    assert_eq!([2, 14, 15].map(|i| word(&map, i)), [0x331, 0x0001_feff, 7]);

    // Rows of images need a device of compute capability 10.0 (`ptx-isa`'s tests have the others).
    let list = [to, 6, 4, data, size, stride, 0, 0, 64, 8, step, 0, 0, 3, 0, 0];
    assert_eq!(call("cuTensorMapEncodeIm2colWide", &list), INVALID_VALUE);
}
