//! The matrix multiplications of the OpenCL Programming Guide, section 2.5, on every engine: the naive one, the tiled
//! one with local variables, and the tiled one as printed, whose kernel takes its tiles as sized array parameters.

use opencl_frontend::{Options, compile};
use ptx_runtime::{Backend, Context, DeviceOptions, KernelArg, LaunchConfig, Module};

const NAIVE: &str = include_str!("../../samples/matmul_naive/matmul.cl");
const TILED: &str = include_str!("../../samples/matmul_tiled/matmul.cl");
/// Rows of A, columns of B, and the length that they share.
const M: usize = 48;
const N: usize = 32;
const K: usize = 64;

/// The tiled version with the parameters that the guide prints.
fn with_array_parameters() -> String {
    let locals = "Belements)\n{\n    __local float As[BLOCK_SIZE][BLOCK_SIZE];\n    \
                  __local float Bs[BLOCK_SIZE][BLOCK_SIZE];\n";
    let parameters = "Belements,\n    __local float As[BLOCK_SIZE][BLOCK_SIZE],\n    \
                      __local float Bs[BLOCK_SIZE][BLOCK_SIZE])\n{\n";
    let text = TILED.replace(locals, parameters);
    assert_ne!(text, TILED, "the sample has changed");
    text
}

/// Multiplies. The tiled version has strides and takes the result first; `tiles` are parameters of the kernel.
fn multiply(source: &str, flags: &str, tiled: bool, tiles: bool, backend: Backend) -> Vec<f32> {
    let options = Options::parse(flags).expect("options");
    let ptx = compile("matmul.cl", source, &options).unwrap_or_else(|f| panic!("{}", f.rendered));
    let device = Context::new(&DeviceOptions::default()).expect("device");
    let module = Module::load(&device, &ptx.ptx, "matmul.ptx").unwrap_or_else(|e| panic!("{e}"));
    let (a, b) = operands();
    let matrix = |data: &[f32], rows: usize, columns: usize| -> (Vec<KernelArg>, _) {
        let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        let p = device.alloc(bytes.len() as u64).expect("memory");
        device.copy_to_device(p, &bytes).expect("copy");
        let mut args: Vec<KernelArg> = vec![(columns as i32).into(), (rows as i32).into()];
        if tiled {
            args.push((columns as i32).into());
        }
        args.push(p.into());
        (args, p)
    };
    let (a, _) = matrix(&a, M, K);
    let (b, _) = matrix(&b, K, N);
    let (c, out) = matrix(&vec![f32::NAN; M * N], M, N);
    let mut args = if tiled { [c, a, b].concat() } else { [a, b, c].concat() };
    if tiles {
        // The host places them in the work-group's memory.
        args.extend([0u64.into(), 1024u64.into()]);
    }
    let config = LaunchConfig {
        grid: [(N / 16) as u32, (M / 16) as u32, 1],
        block: [16, 16, 1],
        shared: if tiles { 2048 } else { 0 },
        args,
        backend,
        ..LaunchConfig::default()
    };
    if let Err(error) = device.launch(&module, "MatMulKernel", config) {
        panic!("{}", error.render(module.verified(), false));
    }
    let mut bytes = vec![0; M * N * 4];
    device.copy_from_device(out, &mut bytes).expect("copy");
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Small integers: every order of additions gives the same sum.
fn operands() -> (Vec<f32>, Vec<f32>) {
    let value = |i: usize| (i * 37 % 17) as f32 - 8.0;
    ((0..M * K).map(value).collect(), (0..K * N).map(|i| value(i * i + 5)).collect())
}

#[test]
fn all_versions_give_the_product_on_every_engine() {
    let (a, b) = operands();
    let product: Vec<f32> =
        (0..M * N).map(|i| (0..K).map(|k| a[i / N * K + k] * b[k * N + i % N]).sum()).collect();
    let as_printed = with_array_parameters();
    let versions = [(NAIVE, false, false), (TILED, true, false), (&as_printed, true, true)];
    for (version, (source, tiled, tiles)) in versions.into_iter().enumerate() {
        for flags in ["", "-cl-opt-disable", "-arch=sm_90 -cl-mad-enable", "-arch=sm_20"] {
            for backend in [Backend::Interp, Backend::Jit] {
                let found = multiply(source, flags, tiled, tiles, backend);
                assert!(found == product, "version {version}, {flags:?}, {backend:?}");
            }
        }
    }
}
