//! Texture fetches against what an NVIDIA H200 returned for the same texels and coordinates.
//!
//! `data/texture_h200.bin` holds cases one after the other: twelve 16-bit numbers (instruction: 1 to 3 for
//! `tex.1d` to `tex.3d`, 4 for `tld4.r.2d`; width, height, depth; channel type, channels, address mode, linear,
//! normalised coordinates, rows, 0, bytes of texels), the texels, and per row three coordinates and four results.

use ptx_isa::texture::{Address, Channel, Texture};

const RECORDED: &[u8] = include_bytes!("data/texture_h200.bin");

struct Reader(&'static [u8]);

impl Reader {
    fn take(&mut self, n: usize) -> &'static [u8] {
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        head
    }
    fn u16(&mut self) -> u16 {
        let b = self.take(2);
        u16::from_le_bytes([b[0], b[1]])
    }
    fn u32(&mut self) -> u32 {
        let b = self.take(4);
        u32::from_le_bytes([b[0], b[1], b[2], b[3]])
    }
}

/// How many of a case's rows agree, and how far the others are off.
fn run(reader: &mut Reader) -> (String, usize, usize, f32) {
    use Channel::*;
    let [kernel, w, h, d, kind, channels, address, linear, normalized, rows, _, bytes] =
        std::array::from_fn(|_| reader.u16());
    let size = [u32::from(w), u32::from(h), u32::from(d)];
    let dimensions = if kernel == 4 { 2 } else { usize::from(kernel) };
    let channel = [U8, U16, U32, S8, S16, S32, F16, F32][usize::from(kind)];
    let mut texture = Texture::array(
        &size[..dimensions],
        channel,
        channels as u8,
        reader.take(usize::from(bytes)),
    );
    texture.address = [[Address::Wrap, Address::Clamp, Address::Mirror, Address::Border]
        [usize::from(address)]; 3];
    texture.linear = linear == 1;
    texture.normalized = normalized == 1;
    texture.read_normalized = true;
    let name = format!(
        "kernel {kernel} {size:?} {channel:?}x{channels} {address} linear {linear} normalized {normalized}"
    );
    let (mut equal, mut worst) = (0, 0f32);
    for _ in 0..rows {
        let at: [f32; 3] = std::array::from_fn(|_| f32::from_bits(reader.u32()));
        let expected: [u32; 4] = std::array::from_fn(|_| reader.u32());
        let none = &mut |_: u64, _: &mut [u8]| -> Result<(), ()> {
            unreachable!("texels are in an array")
        };
        let found = match kernel {
            4 => texture.gather(0, [at[0], at[1]], 0, none),
            _ => texture.sample(at, 0, none),
        }
        .unwrap();
        // Zeros may differ in sign where all texels are zero.
        let same = |a: u32, b: u32| a == b || f32::from_bits(a) == f32::from_bits(b);
        if found.iter().zip(&expected).all(|(&a, &b)| same(a, b)) {
            equal += 1;
        }
        for (a, b) in found.iter().zip(&expected) {
            worst = worst.max((f32::from_bits(*a) - f32::from_bits(*b)).abs());
        }
    }
    (name, equal, usize::from(rows), worst)
}

#[test]
fn fetches_return_the_recorded_bits() {
    let mut reader = Reader(RECORDED);
    let mut cases = 0;
    while !reader.0.is_empty() {
        let (name, equal, rows, worst) = run(&mut reader);
        cases += 1;
        // Two kinds are known to be only near: the widening of filtered s8 and the weights of trilinear filtering.
        let near = name.starts_with("kernel 3") || name.contains("S8");
        if near && name.contains("linear 1") {
            assert!(worst < 0.02, "{name}: off by {worst}");
        } else {
            assert_eq!(equal, rows, "{name}: {worst}");
        }
    }
    assert!(cases >= 90, "{cases} cases");
}

fn nowhere(_: u64, _: &mut [u8]) -> Result<(), ()> {
    unreachable!("texels are in an array")
}

#[test]
fn borders_have_their_colour_in_every_fetch() {
    let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut texture = Texture::array(&[2, 2], Channel::F32, 1, &bytes);
    texture.address = [Address::Border; 3];
    texture.border = [8.0f32.to_bits(), 0, 0, 0];
    let value = |v: f32| [v.to_bits(), 0, 0, 0];
    assert_eq!(texture.sample([-1.0, 0.5, 0.0], 0, &mut nowhere), Ok(value(8.0)));
    assert_eq!(texture.sample([1.5, 0.5, 0.0], 0, &mut nowhere), Ok(value(2.0)));
    texture.linear = true;
    // Half of the border, half of the first texel.
    assert_eq!(texture.sample([0.0, 0.5, 0.0], 0, &mut nowhere), Ok(value(4.5)));
    // Lower left, lower right, upper right, upper left: the left ones lie outside.
    let found = texture.gather(0, [0.0, 1.0], 0, &mut nowhere);
    assert_eq!(found, Ok([8.0f32, 3.0, 1.0, 8.0].map(f32::to_bits)));
    // Integer coordinates have no sampler, and so no border.
    assert_eq!(texture.fetch([-1, 0, 0], 0, &mut nowhere), Ok([0; 4]));
    let mut bytes = Texture::array(&[1], Channel::U8, 4, &[10, 20, 30, 40]);
    (bytes.address, bytes.read_normalized) = ([Address::Border; 3], true);
    bytes.border = [1.0f32, 0.5, 0.0, 2.0].map(f32::to_bits);
    let found = bytes.sample([5.0, 0.0, 0.0], 0, &mut nowhere);
    assert_eq!(found, Ok([1.0f32, 128.0 / 255.0, 0.0, 1.0].map(f32::to_bits)));
}

#[test]
fn srgb_becomes_linear_but_alpha() {
    let mut texture = Texture::array(&[1], Channel::U8, 4, &[0, 188, 255, 188]);
    (texture.srgb, texture.read_normalized) = (true, true);
    let found = texture.sample([0.5, 0.0, 0.0], 0, &mut nowhere).unwrap().map(f32::from_bits);
    assert_eq!((found[0], found[2], found[3]), (0.0, 1.0, 188.0 / 255.0));
    // (188 / 255 + 0.055) / 1.055 to the power of 2.4 is 0.50289, the nearest half 0.50293.
    assert_eq!(found[1], half::f16::from_f64(0.502_886).to_f32());
    texture.srgb = false;
    let found = texture.sample([0.5, 0.0, 0.0], 0, &mut nowhere).unwrap().map(f32::from_bits);
    assert_eq!(found[1], 188.0 / 255.0);
}

#[test]
fn integer_coordinates_find_nothing_behind_the_last_layer() {
    let mut texture = Texture::array(&[1, 1, 2], Channel::U32, 1, &[5, 0, 0, 0, 7, 0, 0, 0]);
    (texture.size, texture.dimensions, texture.layers) = ([1; 3], 2, 2);
    assert_eq!(texture.fetch([0; 3], 1, &mut nowhere), Ok([7, 0, 0, 0]));
    assert_eq!(texture.fetch([0; 3], 2, &mut nowhere), Ok([0; 4]));
    assert_eq!(texture.sample([0.0; 3], 9, &mut nowhere), Ok([7, 0, 0, 0]));
}

#[test]
fn directions_meet_faces_of_a_cube() {
    use ptx_isa::texture::cube_face;
    // Along the axes: the middle of each face.
    for (face, at) in [
        [1.0, 0.0, 0.0],
        [-2.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, -1.0, 0.0],
        [0.0, 0.0, 3.0],
        [0.0, 0.0, -1.0],
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(cube_face(at), (face as u32, [0.5, 0.5]));
    }
    // (s / m + 1) / 2 and (t / m + 1) / 2 with the s and t of the guide's table.
    assert_eq!(cube_face([2.0, 1.0, -0.5]), (0, [0.625, 0.25]));
    assert_eq!(cube_face([-2.0, 1.0, -0.5]), (1, [0.375, 0.25]));
    assert_eq!(cube_face([1.0, 2.0, -0.5]), (2, [0.75, 0.375]));
    assert_eq!(cube_face([1.0, -2.0, -0.5]), (3, [0.75, 0.625]));
    assert_eq!(cube_face([1.0, -0.5, 2.0]), (4, [0.75, 0.625]));
    assert_eq!(cube_face([1.0, -0.5, -2.0]), (5, [0.25, 0.625]));
}
