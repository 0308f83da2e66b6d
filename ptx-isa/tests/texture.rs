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
