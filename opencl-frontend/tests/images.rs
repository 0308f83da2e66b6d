//! Image reads and writes against a reference written from chapter 8 of the specification.

use opencl_frontend::{Options, compile};
use ptx_runtime::{Context, DeviceOptions, DevicePtr, LaunchConfig, Module};

const FLOAT: u32 = 0x10DE;
const RGBA: u32 = 0x10B5;
const W: usize = 5;
const H: usize = 4;
const D: usize = 3;

/// An image in device memory.
struct Image {
    data: DevicePtr,
    descriptor: DevicePtr,
    bytes: usize,
}

fn image(
    device: &Context,
    texels: &[u8],
    extent: [u32; 4],
    order: u32,
    ty: u32,
    element: u32,
) -> Image {
    let data = device.alloc(texels.len().max(16) as u64).expect("memory");
    device.copy_to_device(data, texels).expect("copy");
    let row = u64::from(extent[0] * element);
    let mut d = Vec::new();
    d.extend(data.0.to_le_bytes());
    for v in extent {
        d.extend(v.to_le_bytes());
    }
    d.extend(row.to_le_bytes());
    d.extend((row * u64::from(extent[1].max(1))).to_le_bytes());
    for v in [order, ty, element, 0] {
        d.extend(v.to_le_bytes());
    }
    let descriptor = device.alloc(d.len() as u64).expect("memory");
    device.copy_to_device(descriptor, &d).expect("copy");
    Image { data, descriptor, bytes: texels.len() }
}

fn module(device: &Context, source: &str) -> Module {
    let ptx = compile("image.cl", source, &Options::default())
        .unwrap_or_else(|f| panic!("{}", f.rendered))
        .ptx;
    Module::load(device, &ptx, "image.ptx").unwrap_or_else(|e| panic!("{e}"))
}

fn launch(
    device: &Context,
    module: &Module,
    kernel: &str,
    items: u32,
    args: Vec<ptx_runtime::KernelArg>,
) {
    let config = LaunchConfig { grid: [items, 1, 1], args, ..LaunchConfig::default() };
    if let Err(error) = device.launch(module, kernel, config) {
        panic!("{}", error.render(module.verified(), false));
    }
}

fn floats(device: &Context, at: DevicePtr, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; count * 4];
    device.copy_from_device(at, &mut bytes).expect("copy");
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Texels around a coordinate with their weights; `None` is the border.
fn axis(
    s: f32,
    size: usize,
    mode: u32,
    normalized: bool,
    linear: bool,
) -> Vec<(Option<usize>, f32)> {
    let n = size as f32;
    let limit = |i: i64| -> Option<usize> {
        match mode {
            4 => usize::try_from(i).ok().filter(|i| *i < size),
            _ => Some(i.clamp(0, size as i64 - 1) as usize),
        }
    };
    let u = match mode {
        6 => (s - s.floor()) * n,
        8 => (s - 2.0 * (0.5 * s).round_ties_even()).abs() * n,
        _ if normalized => s * n,
        _ => s,
    };
    if !linear {
        let mut i = u.floor() as i64;
        if mode == 6 && i > size as i64 - 1 {
            i -= size as i64;
        }
        return vec![(limit(i), 1.0)];
    }
    let low = (u - 0.5).floor();
    let a = (u - 0.5) - low;
    let (mut i, mut j) = (low as i64, low as i64 + 1);
    if mode == 6 {
        i = i.rem_euclid(size as i64);
        j = j.rem_euclid(size as i64);
    }
    vec![(limit(i), 1.0 - a), (limit(j), a)]
}

fn texel(x: usize, y: usize, z: usize, c: usize) -> f32 {
    (x * 7 + y * 31 + z * 101 + c * 13) as f32 * 0.125
}

fn texels() -> Vec<u8> {
    let mut out = Vec::new();
    for z in 0..D {
        for y in 0..H {
            for x in 0..W {
                for c in 0..4 {
                    out.extend(texel(x, y, z, c).to_le_bytes());
                }
            }
        }
    }
    out
}

#[test]
fn every_sampler_in_three_dimensions() {
    let device = Context::new(&DeviceOptions::default()).expect("device");
    let module = module(
        &device,
        "__kernel void d3(image3d_t i, sampler_t s, __global float4 *at, __global float4 *o) { size_t k = get_global_id(0); o[k] = read_imagef(i, s, at[k]); }\n\
         __kernel void d2(image2d_array_t i, sampler_t s, __global float4 *at, __global float4 *o) { size_t k = get_global_id(0); o[k] = read_imagef(i, s, at[k]); }",
    );
    let volume = image(&device, &texels(), [W as u32, H as u32, D as u32, 1], RGBA, FLOAT, 16);
    let layers = image(&device, &texels(), [W as u32, H as u32, 1, D as u32], RGBA, FLOAT, 16);
    let steps = [
        -1.3f32, -0.5, -0.01, 0.0, 0.1, 0.25, 0.49, 0.5, 0.77, 0.99, 1.0, 1.4, 2.6, 4.99, 5.0, 7.2,
    ];
    let mut coordinates: Vec<[f32; 4]> = Vec::new();
    for (i, x) in steps.iter().enumerate() {
        for (j, y) in steps.iter().enumerate() {
            coordinates.push([*x, *y, steps[(i + 3 * j) % steps.len()], 0.0]);
        }
    }
    let count = coordinates.len();
    let at = device.alloc(count as u64 * 16).expect("memory");
    let out = device.alloc(count as u64 * 16).expect("memory");
    let bytes: Vec<u8> = coordinates.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
    device.copy_to_device(at, &bytes).expect("copy");
    for normalized in [false, true] {
        for mode in [0u32, 2, 4, 6, 8] {
            // Repetition needs normalized coordinates; without a mode they must lie inside.
            if !normalized && mode >= 6 || mode == 0 {
                continue;
            }
            for linear in [false, true] {
                let sampler = u32::from(normalized) | mode | if linear { 32 } else { 16 };
                for (kernel, image, dims) in [("d3", &volume, 3), ("d2", &layers, 2)] {
                    let args = vec![image.descriptor.into(), sampler.into(), at.into(), out.into()];
                    launch(&device, &module, kernel, count as u32, args);
                    let got = floats(&device, out, count * 4);
                    for (k, c) in coordinates.iter().enumerate() {
                        let xs = axis(c[0], W, mode, normalized, linear);
                        let ys = axis(c[1], H, mode, normalized, linear);
                        let zs = if dims == 3 {
                            axis(c[2], D, mode, normalized, linear)
                        } else {
                            vec![(
                                Some(
                                    (c[2].round_ties_even() as i64).clamp(0, D as i64 - 1) as usize
                                ),
                                1.0,
                            )]
                        };
                        for channel in 0..4 {
                            let mut wanted = 0.0;
                            for (z, wz) in &zs {
                                for (y, wy) in &ys {
                                    for (x, wx) in &xs {
                                        let v = match (x, y, z) {
                                            (Some(x), Some(y), Some(z)) => {
                                                texel(*x, *y, *z, channel)
                                            }
                                            _ => 0.0,
                                        };
                                        wanted += v * wx * wy * wz;
                                    }
                                }
                            }
                            let v = got[k * 4 + channel];
                            assert!(
                                (v - wanted).abs() <= wanted.abs() * 1e-5 + 1e-5,
                                "{kernel} sampler {sampler:#x} at {c:?} channel {channel}: {v}, not {wanted}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn formats() {
    let device = Context::new(&DeviceOptions::default()).expect("device");
    let module = module(
        &device,
        "__kernel void r(image1d_t i, __global float4 *o) { o[get_global_id(0)] = read_imagef(i, (int)get_global_id(0)); }\n\
         __kernel void w(__write_only image1d_t i, __global float4 *o) { write_imagef(i, (int)get_global_id(0), o[get_global_id(0)]); }\n\
         __kernel void wi(__write_only image1d_t i) { write_imagei(i, 0, (int4)(300, -300, 5, -1)); }\n\
         __kernel void wui(__write_only image1d_t i) { write_imageui(i, 0, (uint4)(300, 0, 70000, 1)); write_imageui(i, 9, (uint4)(1)); }",
    );
    let colour = [0.25f32, 1.5, -0.6, 1.0];
    let values = device.alloc(32).expect("memory");
    // Order, type, bytes of a texel, what is written, what is read back.
    let half = |v: f32| -> Vec<u8> {
        match v {
            0.25 => vec![0x00, 0x34],
            1.5 => vec![0x00, 0x3e],
            -0.6 => vec![0xcd, 0xb8],
            _ => vec![0x00, 0x3c],
        }
    };
    type Case = (u32, u32, Vec<u8>, [f32; 4]);
    let cases: Vec<Case> = vec![
        (RGBA, 0x10D2, vec![64, 255, 0, 255], [64.0 / 255.0, 1.0, 0.0, 1.0]),
        (0x10B6, 0x10D2, vec![0, 255, 64, 255], [64.0 / 255.0, 1.0, 0.0, 1.0]),
        (0x10B7, 0x10D2, vec![255, 64, 255, 0], [64.0 / 255.0, 1.0, 0.0, 1.0]),
        (0x10B0, 0x10D2, vec![64], [64.0 / 255.0, 0.0, 0.0, 1.0]),
        (0x10B1, 0x10D2, vec![255], [0.0, 0.0, 0.0, 1.0]),
        (0x10B2, 0x10D2, vec![64, 255], [64.0 / 255.0, 1.0, 0.0, 1.0]),
        (0x10B3, 0x10D2, vec![64, 255], [64.0 / 255.0, 0.0, 0.0, 1.0]),
        (0x10B8, 0x10D2, vec![64], [64.0 / 255.0; 4]),
        (0x10B9, 0x10D2, vec![64], [64.0 / 255.0, 64.0 / 255.0, 64.0 / 255.0, 1.0]),
        (RGBA, 0x10D0, vec![32, 127, 0xb4, 127], [32.0 / 127.0, 1.0, -76.0 / 127.0, 1.0]),
        (
            RGBA,
            0x10D3,
            [16384u16, 65535, 0, 65535].iter().flat_map(|v| v.to_le_bytes()).collect(),
            [16384.0 / 65535.0, 1.0, 0.0, 1.0],
        ),
        (
            RGBA,
            0x10D1,
            [8192i16, 32767, -19660, 32767].iter().flat_map(|v| v.to_le_bytes()).collect(),
            [8192.0 / 32767.0, 1.0, -19660.0 / 32767.0, 1.0],
        ),
        (
            RGBA,
            0x10DD,
            colour.iter().flat_map(|v| half(*v)).collect(),
            [0.25, 1.5, -0.600_097_66, 1.0],
        ),
        (RGBA, FLOAT, colour.iter().flat_map(|v| v.to_le_bytes()).collect(), colour),
        (
            0x10B4,
            0x10D4,
            (8u16 << 11 | 63 << 5).to_le_bytes().to_vec(),
            [8.0 / 31.0, 1.0, 0.0, 1.0],
        ),
        (
            0x10B4,
            0x10D5,
            (8u16 << 10 | 31 << 5).to_le_bytes().to_vec(),
            [8.0 / 31.0, 1.0, 0.0, 1.0],
        ),
        (
            0x10B4,
            0x10D6,
            (256u32 << 20 | 1023 << 10).to_le_bytes().to_vec(),
            [256.0 / 1023.0, 1.0, 0.0, 1.0],
        ),
    ];
    for (order, ty, written, read) in cases {
        let bytes: Vec<u8> = colour.iter().flat_map(|v| v.to_le_bytes()).collect();
        device.copy_to_device(values, &bytes).expect("copy");
        let i =
            image(&device, &vec![0; written.len()], [1, 1, 1, 1], order, ty, written.len() as u32);
        launch(&device, &module, "w", 1, vec![i.descriptor.into(), values.into()]);
        let mut got = vec![0; i.bytes];
        device.copy_from_device(i.data, &mut got).expect("copy");
        assert_eq!(got, written, "order {order:#x} type {ty:#x}");
        launch(&device, &module, "r", 1, vec![i.descriptor.into(), values.into()]);
        assert_eq!(floats(&device, values, 4), read, "order {order:#x} type {ty:#x}");
    }
    for (kernel, ty, element, written) in [
        ("wi", 0x10D7, 4, vec![127u8, 0x80, 5, 0xff]),
        ("wi", 0x10D8, 8, vec![0x2c, 1, 0xd4, 0xfe, 5, 0, 0xff, 0xff]),
        ("wui", 0x10DA, 4, vec![255, 0, 255, 1]),
        ("wui", 0x10DB, 8, vec![0x2c, 1, 0, 0, 0xff, 0xff, 1, 0]),
    ] {
        let i = image(&device, &vec![0; element], [1, 1, 1, 1], RGBA, ty, element as u32);
        launch(&device, &module, kernel, 1, vec![i.descriptor.into()]);
        let mut got = vec![0; element];
        device.copy_from_device(i.data, &mut got).expect("copy");
        assert_eq!(got, written, "{kernel} {ty:#x}");
    }
}
