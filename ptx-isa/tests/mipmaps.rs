//! Fetches from textures of several levels against what an NVIDIA H200 returned for the same texels, levels of detail
//! and gradients.
//!
//! `data/mipmaps_h200.bin` holds cases one after the other, in 32-bit words: fifteen that describe the textures (see
//! `Case`), and per fetch three coordinates, the level of detail, two gradients of three words, the layer, and four
//! results. The texels come from the generator that the recording program used.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use ptx_isa::texture::{Address, Channel, Detail, Mipmap, Texels, Texture, cube_face};

const RECORDED: &[u8] = include_bytes!("data/mipmaps_h200.bin");

/// Words of a case's description, and of a fetch.
const CASE: usize = 15;
const FETCH: usize = 15;

/// `cudaArrayLayered`, `cudaArrayCubemap`.
const LAYERED: u32 = 1;
const CUBE: u32 = 4;

/// The instruction of a case.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Kind {
    Level,
    CubeLevel,
    Gradients,
    Plain,
}

struct Case {
    kind: Kind,
    size: [u32; 3],
    flags: u32,
    channel: Channel,
    /// 0: every texel is the number of its level. 1: random numbers.
    random: bool,
    levels: u32,
    linear: bool,
    blends_levels: bool,
    address: Address,
    bias: f32,
    limits: [f32; 2],
}

impl Case {
    fn new(words: &[u32]) -> Case {
        Case {
            kind: match words[0] {
                0..=2 | 4 | 10 => Kind::Level,
                3 => Kind::CubeLevel,
                5 | 6 => Kind::Gradients,
                9 => Kind::Plain,
                other => panic!("no instruction {other}"),
            },
            size: [words[1], words[2], words[3]],
            flags: words[4],
            channel: [Channel::F32, Channel::F16, Channel::U8][words[5] as usize],
            random: words[6] != 0,
            levels: words[7],
            linear: words[8] != 0,
            blends_levels: words[9] != 0,
            address: [Address::Wrap, Address::Clamp, Address::Mirror, Address::Border]
                [words[10] as usize],
            bias: f32::from_bits(words[11]),
            limits: [words[12], words[13]].map(f32::from_bits),
        }
    }

    fn name(&self) -> String {
        format!(
            "{:?} {:?} {:?} linear {} levels {} {:?} bias {} {:?}",
            self.kind,
            self.size,
            self.channel,
            self.linear,
            self.blends_levels,
            self.address,
            self.bias,
            self.limits
        )
    }

    fn texture(&self) -> Texture {
        let mut seed = 7u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed >> 8
        };
        let stacked = self.flags & (LAYERED | CUBE) != 0;
        let mut size = self.size;
        let mut all = Vec::new();
        for level in 0..self.levels {
            let [w, h, d] = size.map(|n| n.max(1));
            let mut bytes = Vec::new();
            for _ in 0..w * h * d * 4 {
                // The recording program drew this number for every format.
                let value = if self.random {
                    (next() & 0xff_ffff) as f32 / 16_777_216.0 * 100.0 - 50.0
                } else {
                    level as f32
                };
                match self.channel {
                    Channel::F32 => bytes.extend(value.to_le_bytes()),
                    Channel::F16 => {
                        bytes.extend(((next() & 0x8fff | 0x3000) as u16).to_le_bytes());
                    }
                    _ => bytes.push(next() as u8),
                }
            }
            let dimensions = 1 + u8::from(size[1] > 0) + u8::from(size[2] > 0 && !stacked);
            let mut made = Texture::array(&[1], self.channel, 4, &[]);
            made.size = [w, h, if stacked { 1 } else { d }];
            made.dimensions = dimensions;
            made.layers = if stacked { d } else { 0 };
            made.address = [self.address; 3];
            made.linear = self.linear;
            made.normalized = true;
            made.read_normalized = self.channel == Channel::U8;
            let texels: Arc<[AtomicU8]> = bytes.into_iter().map(AtomicU8::new).collect();
            made.texels = Texels::Array(texels);
            all.push(made);
            let planes = if stacked { 1 } else { 2 };
            for (n, by) in size.iter_mut().zip([2, 2, planes]) {
                *n = if *n == 0 { 0 } else { (*n / by).max(1) };
            }
        }
        let mut first = all.remove(0);
        first.mipmap = Some(Box::new(Mipmap {
            levels: all,
            linear: self.blends_levels,
            bias: self.bias,
            least: self.limits[0],
            most: self.limits[1],
            anisotropy: 0,
        }));
        first
    }

    fn fetch(&self, texture: &Texture, words: &[u32]) -> [u32; 4] {
        let float = |i: usize| f32::from_bits(words[i]);
        let (mut place, mut layer) = ([float(0), float(1), float(2)], words[10]);
        let detail = match self.kind {
            Kind::Plain => Detail::Plain,
            Kind::Level | Kind::CubeLevel => Detail::Level(float(3)),
            Kind::Gradients => {
                // A texture of one dimension takes one number of each.
                let used = |d: usize| d < usize::from(texture.dimensions);
                let side = |from: usize| {
                    std::array::from_fn(|d| if used(d) { float(from + d) } else { 0.0 })
                };
                Detail::Gradients([side(4), side(7)])
            }
        };
        if self.kind == Kind::CubeLevel {
            let (face, [x, y]) = cube_face(place);
            (place, layer) = ([x, y, 0.0], face);
        }
        let mut nowhere =
            |_: u64, _: &mut [u8]| -> Result<(), ()> { unreachable!("texels are in arrays") };
        texture.sample_detail(detail, &|_| place, layer, &mut nowhere).unwrap()
    }
}

#[test]
fn fetches_are_those_of_an_h200() {
    let words: Vec<u32> = RECORDED.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let mut rest = &words[..];
    let (mut fetches, mut by_gradients, mut near) = (0, 0, 0);
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(CASE);
        let (case, count) = (Case::new(head), head[CASE - 1] as usize);
        let (rows, tail) = tail.split_at(count * FETCH);
        rest = tail;
        let texture = case.texture();
        for row in rows.chunks_exact(FETCH) {
            let (found, expected) = (case.fetch(&texture, row), &row[11..]);
            if case.kind != Kind::Gradients {
                assert_eq!(found, expected, "{} {row:x?}", case.name());
                fetches += 1;
                continue;
            }
            by_gradients += 1;
            if found == expected {
                continue;
            }
            near += 1;
            // The number of the level is the texel: it tells the level of detail.
            if !case.random && case.blends_levels {
                let off = f32::from_bits(found[0]) - f32::from_bits(expected[0]);
                assert!(off.abs() <= 2.0 / 256.0, "{} {row:x?}: {off}", case.name());
            }
        }
    }
    println!("{near} of {by_gradients} fetches by gradients are next to an H200's");
    // What the file holds: none of it may go missing unseen.
    assert_eq!((fetches, by_gradients), (FETCHES, BY_GRADIENTS));
    assert!(near * 100 <= by_gradients * 6, "{near}");
}

/// Fetches of the file, those by a level or none, and those by gradients.
const FETCHES: usize = 3581;
const BY_GRADIENTS: usize = 1025;

/// A texture of two levels, of 4 and 2 texels.
fn two_levels(channel: Channel, texels: [&[u8]; 2]) -> Texture {
    let mut first = Texture::array(&[4], channel, 1, texels[0]);
    first.normalized = true;
    let mut second = Texture::array(&[2], channel, 1, texels[1]);
    second.normalized = true;
    first.mipmap = Some(Box::new(Mipmap {
        levels: vec![second],
        linear: true,
        bias: 0.0,
        least: 0.0,
        most: 9.0,
        anisotropy: 0,
    }));
    first
}

fn at_level(texture: &Texture, level: f32) -> u32 {
    let mut nowhere =
        |_: u64, _: &mut [u8]| -> Result<(), ()> { unreachable!("texels are in arrays") };
    texture.sample_detail(Detail::Level(level), &|_| [0.1, 0.0, 0.0], 0, &mut nowhere).unwrap()[0]
}

#[test]
fn integers_of_two_levels_are_rounded() {
    let texture = two_levels(Channel::U8, [&[1; 4], &[48; 2]]);
    // As an H200: 29.09 and 14.95.
    assert_eq!([0.0, 0.6, 0.3, 1.0, 7.0].map(|l| at_level(&texture, l)), [1, 29, 15, 48, 48]);
}

#[test]
fn levels_are_counted_and_found() {
    let texture = two_levels(Channel::U8, [&[1; 4], &[48; 2]]);
    assert_eq!(texture.levels(), 2);
    assert_eq!(texture.level(1).map(|l| l.size[0]), Some(2));
    assert!(texture.level(2).is_none());
}

#[test]
fn what_is_not_known_is_refused() {
    let mut texture = two_levels(Channel::F32, [&[0; 16], &[0; 8]]);
    assert_eq!(texture.refuses_gradients(false), None);
    assert!(texture.refuses_gradients(true).is_some());
    texture.dimensions = 3;
    assert!(texture.refuses_gradients(false).is_some());
    texture.dimensions = 2;
    if let Some(mipmap) = &mut texture.mipmap {
        mipmap.anisotropy = 8;
    }
    assert!(texture.refuses_gradients(false).is_some());
    texture.mipmap = None;
    assert_eq!(texture.refuses_gradients(true), None);
}
