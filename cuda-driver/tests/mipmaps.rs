//! Texture objects over several levels, as programs make them. What each fetch returns is the matter of
//! `ptx-isa/tests/mipmaps.rs`.

mod common;

use common::*;

/// `lod` of each thread: a fetch at 0.3 from its level, the level's width, and how many levels there are.
const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry levels(.param .u64 texture, .param .u64 lods, .param .u64 out)
{
    .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
    ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [lods]; ld.param.u64 %rd3, [out];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd2, %rd2, %rd4;
    mul.wide.u32 %rd5, %r1, 12; add.u64 %rd3, %rd3, %rd5;
    ld.global.f32 %f1, [%rd2]; mov.f32 %f2, 0f3E99999A;
    tex.level.1d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f2}], %f1;
    cvt.rni.u32.f32 %r2, %f1;
    txq.level.width.b32 %r3, [%rd1], %r2;
    txq.num_mipmap_levels.b32 %r4, [%rd1];
    st.global.f32 [%rd3], %f3; st.global.u32 [%rd3+4], %r3; st.global.u32 [%rd3+8], %r4;
    ret;
}
\0";

/// `CU_RESOURCE_TYPE_MIPMAPPED_ARRAY`, `CU_TRSF_NORMALIZED_COORDINATES`, `CU_AD_FORMAT_FLOAT`.
const MIPMAPPED: u32 = 1;
const NORMALIZED: u32 = 2;
const FLOAT: u32 = 0x20;

#[repr(C)]
struct Descriptor {
    size: [usize; 3],
    format: u32,
    channels: u32,
    flags: u32,
}

#[repr(C)]
struct Resource {
    kind: u32,
    pad: u32,
    data: [u64; 16],
    flags: u32,
    pad2: u32,
}

#[repr(C)]
struct Texture {
    address: [u32; 3],
    filter: u32,
    flags: u32,
    anisotropy: u32,
    mipmap_filter: u32,
    bias: f32,
    limits: [f32; 2],
    border: [f32; 4],
    reserved: [i32; 12],
}

fn texture(mipmap_filter: u32, flags: u32) -> Texture {
    let (address, border) = ([1; 3], [0.0; 4]);
    let limits = [0.0, 9.0];
    Texture {
        address,
        filter: 0,
        flags,
        anisotropy: 0,
        mipmap_filter,
        bias: 0.0,
        limits,
        border,
        reserved: [0; 12],
    }
}

/// A mipmapped array of 8, 4, 2, 1 texels, each the number of its level times ten.
fn mipmap() -> u64 {
    let mut mipmap = 0u64;
    let mut of = Descriptor { size: [8, 0, 0], format: FLOAT, channels: 1, flags: 0 };
    // More levels than there are: all of them.
    ok("cuMipmappedArrayCreate", &[at(&mut mipmap), at(&mut of), 99]);
    for level in 0..4u64 {
        let mut array = 0u64;
        ok("cuMipmappedArrayGetLevel", &[at(&mut array), mipmap, level]);
        let mut texels = [level as f32 * 10.0; 8];
        ok("cuMemcpyHtoA_v2", &[array, 0, at(&mut texels), 4 * (8 >> level)]);
    }
    mipmap
}

fn create(mipmap: u64, mut texture: Texture) -> (u32, u64) {
    let mut object = 0u64;
    let mut resource = Resource { kind: MIPMAPPED, pad: 0, data: [0; 16], flags: 0, pad2: 0 };
    resource.data[0] = mipmap;
    let code =
        call("cuTexObjectCreate", &[at(&mut object), at(&mut resource), at(&mut texture), 0]);
    (code, object)
}

/// Fetch, width and number of levels for each level of detail.
fn fetch(object: u64, lods: &[f32]) -> Vec<(f32, u32, u32)> {
    let bytes = 4 * lods.len() as u64;
    let (from, to) = (alloc(bytes), alloc(3 * bytes));
    let mut lods = lods.to_vec();
    ok("cuMemcpyHtoD_v2", &[from, at(&mut lods[..]), bytes]);
    let kernel = function(module(PTX), "levels\0");
    assert_eq!(launch(kernel, [1; 3], [lods.len() as u32, 1, 1], 0, &[object, from, to]), 0);
    let mut out = vec![0u32; 3 * lods.len()];
    ok("cuMemcpyDtoH_v2", &[at(&mut out[..]), to, 3 * bytes]);
    out.chunks(3).map(|o| (f32::from_bits(o[0]), o[1], o[2])).collect()
}

#[test]
fn levels_are_chosen_and_blended() {
    context();
    let mipmap = mipmap();
    let lods = [-1.0, 0.0, 0.25, 1.0, 1.5, 2.75, 3.0, 7.0];
    let (code, blended) = create(mipmap, texture(1, NORMALIZED));
    assert_eq!(code, 0);
    let found = fetch(blended, &lods);
    let values: Vec<f32> = found.iter().map(|f| f.0).collect();
    assert_eq!(values, [0.0, 0.0, 2.5, 10.0, 15.0, 27.5, 30.0, 30.0]);
    let widths: Vec<u32> = found.iter().map(|f| f.1).collect();
    // To nearest even; below 0 the conversion ends at 0, and there is no level 7.
    assert_eq!(widths, [8, 8, 8, 4, 2, 1, 1, 0]);
    assert!(found.iter().all(|f| f.2 == 4));

    let (code, nearest) = create(mipmap, texture(0, NORMALIZED));
    assert_eq!(code, 0);
    let values: Vec<f32> = fetch(nearest, &lods).iter().map(|f| f.0).collect();
    assert_eq!(values, [0.0, 0.0, 0.0, 10.0, 20.0, 30.0, 30.0, 30.0]);

    // Limits and bias.
    let mut limited = texture(1, NORMALIZED);
    (limited.bias, limited.limits) = (0.5, [1.0, 2.5]);
    let (code, limited) = create(mipmap, limited);
    assert_eq!(code, 0);
    let values: Vec<f32> = fetch(limited, &lods).iter().map(|f| f.0).collect();
    assert_eq!(values, [10.0, 10.0, 10.0, 15.0, 20.0, 25.0, 25.0, 25.0]);
    for object in [blended, nearest, limited] {
        ok("cuTexObjectDestroy", &[object]);
    }
    ok("cuMipmappedArrayDestroy", &[mipmap]);
}

#[test]
fn what_no_object_can_be_made_of_is_refused() {
    context();
    let mipmap = mipmap();
    // As an H200 (driver 580.159.04): there are two filters.
    assert_eq!(create(mipmap, texture(2, NORMALIZED)).0, 1);
    // Own: an H200 takes coordinates in texels; what they mean in smaller levels was not recorded.
    assert_eq!(create(mipmap, texture(0, 0)).0, 801);
    ok("cuMipmappedArrayDestroy", &[mipmap]);
    assert_eq!(create(mipmap, texture(0, NORMALIZED)).0, 1);
}
