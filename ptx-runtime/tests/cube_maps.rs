//! Cube maps and formatted surface accesses, on both engines; `objects.rs` has what an H100 says.

use std::sync::Arc;

use ptx_runtime::isa::texture::{Channel, Texture};
use ptx_runtime::{Backend, Context, DeviceOptions, KernelArg, LaunchConfig, Module};

/// Thread `t` samples the second cube of an array, and the first one, in direction `t` of a table, and gathers.
const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry cubes(.param .u64 t, .param .u64 d, .param .u64 o)\n{
    .reg .b32 %r<16>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [d]; ld.param.u64 %rd3, [o]; mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 16; add.u64 %rd2, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;
    ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd2]; mov.b32 %r6, 1;
    tex.cube.v4.f32.f32 {%r7, %r8, %r9, %r10}, [%rd1, {%r2, %r3, %r4, %r5}]; st.global.b32 [%rd3], %r7;
    tex.acube.v4.f32.f32 {%r7, %r8, %r9, %r10}, [%rd1, {%r6, %r2, %r3, %r4}]; st.global.b32 [%rd3 + 4], %r7;
    tex.level.cube.v4.f32.f32 {%r7, %r8, %r9, %r10}, [%rd1, {%r2, %r3, %r4, %r5}], %r5; st.global.b32 [%rd3 + 8], %r7;
    tld4.r.acube.v4.f32.f32 {%r7, %r8, %r9, %r10}, [%rd1, {%r6, %r2, %r3, %r4}]; st.global.b32 [%rd3 + 12], %r8;
    ret;\n}
.visible .entry surfaces(.param .u64 s)\n{
    .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [s]; mov.u32 %r1, %tid.x; mov.b32 %r2, 1; mov.b32 %r3, 7; mov.b32 %r4, -9;
    shl.b32 %r5, %r1, 2; sust.b.2d.b32.trap [%rd1, %r5], %r1;
    sust.p.2d.v2.b32.trap [%rd1, {%r1, %r2}], {%r1, %r3};
    mov.b32 %r1, 2; sured.p.min.2d.b32.trap [%rd1, {%r1, %r2}], %r4;
    ret;\n}\n";

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn directions_find_texels_of_faces() {
    // Two cubes of 2 x 2 texels: texel i of face f of cube c is 100 c + 10 f + i.
    let texel = |n: usize| (n / 24 * 100 + n / 4 % 6 * 10 + n % 4) as f32;
    let data: Vec<f32> = (0..48).map(texel).collect();
    let mut cubes = Texture::array(&[2, 2, 12], Channel::F32, 1, &floats(&data));
    cubes.dimensions = 2;
    cubes.size[2] = 1;
    cubes.layers = 12;
    cubes.normalized = true;
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, TEXT, "cubes.ptx").unwrap();
    let handle = context.add_object(Arc::new(cubes));
    // Towards the first texel of each face (s and t are both -0.5 there), then the last one of the first.
    let directions = [
        [1.0, 0.5, 0.5, 0.0],
        [-1.0, 0.5, -0.5, 0.0],
        [-0.5, 1.0, -0.5, 0.0],
        [-0.5, -1.0, 0.5, 0.0],
        [-0.5, 0.5, 1.0, 0.0],
        [0.5, 0.5, -1.0, 0.0],
        [4.0, -2.0, -2.0, 0.0],
    ];
    let wanted: Vec<[f32; 4]> = (0..7)
        .map(|t| if t < 6 { (10 * t) as f32 } else { 3.0 })
        // A gather at a texel's middle begins with that texel; its second component is the one across the corner.
        .map(|v| [v, 100.0 + v, v, 100.0 + v.max(v - v % 10.0 + 3.0)])
        .collect();
    for backend in [Backend::Interp, Backend::Jit] {
        let from = context.alloc(7 * 16).unwrap();
        let to = context.alloc(7 * 16).unwrap();
        context.copy_to_device(from, &floats(directions.as_flattened())).unwrap();
        let args =
            vec![KernelArg::Object(handle), KernelArg::Pointer(from), KernelArg::Pointer(to)];
        let config = LaunchConfig { block: [7, 1, 1], args, backend, ..LaunchConfig::default() };
        context.launch(&module, "cubes", config).unwrap();
        let mut bytes = vec![0; 7 * 16];
        context.copy_from_device(to, &mut bytes).unwrap();
        let found: Vec<f32> = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!(found, wanted.as_flattened(), "{backend:?}");
    }
    // No cube map: a fault that says so.
    let flat = context.add_object(Arc::new(Texture::array(&[2, 2], Channel::F32, 1, &[])));
    let zero = context.alloc(64).unwrap();
    let args = vec![KernelArg::Object(flat), KernelArg::Pointer(zero), KernelArg::Pointer(zero)];
    let config = LaunchConfig { args, ..LaunchConfig::default() };
    let error = context.launch(&module, "cubes", config).unwrap_err();
    assert!(error.to_string().contains("no cube map"), "{error}");
}

#[test]
fn formatted_accesses_count_texels() {
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, TEXT, "cubes.ptx").unwrap();
    let launch = |surface: &Arc<Texture>| {
        let args = vec![KernelArg::Object(context.add_object(Arc::clone(surface)))];
        let config = LaunchConfig { block: [4, 1, 1], args, ..LaunchConfig::default() };
        context.launch(&module, "surfaces", config)
    };
    let words = |surface: &Texture| -> Vec<i32> {
        surface.bytes().as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).collect()
    };
    // One register is the first coordinate, the other one 0. One component: the second number is ignored. Signed components have a signed minimum.
    let signed = Arc::new(Texture::array(&[4, 2], Channel::S32, 1, &[]));
    launch(&signed).unwrap();
    assert_eq!(words(&signed), [0, 1, 2, 3, 0, 1, -9, 3]);
    let unsigned = Arc::new(Texture::array(&[4, 2], Channel::U32, 1, &[]));
    launch(&unsigned).unwrap();
    assert_eq!(words(&unsigned), [0, 1, 2, 3, 0, 1, 2, 3]);
    // Smaller texels end sooner.
    let bytes = Arc::new(Texture::array(&[4, 2], Channel::U8, 1, &[]));
    let error = launch(&bytes).unwrap_err();
    assert!(
        error.to_string().contains("byte 4 of row 0, plane 0 is outside the surface"),
        "{error}"
    );
}
