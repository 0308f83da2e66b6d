//! The kernels of the checkers' benchmark: the samples' OpenCL C on larger data.

/// A kernel argument.
#[derive(Clone, Debug)]
pub enum Arg {
    Buffer(Vec<u8>),
    Word([u8; 4]),
}

/// A kernel with its data.
pub struct Case {
    pub name: &'static str,
    /// Below `samples`.
    pub file: &'static str,
    pub entry: &'static str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub args: Vec<Arg>,
}

/// A generator (xorshift) with a fixed start for each buffer.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
    fn unit(&mut self) -> f64 {
        f64::from(self.next()) / f64::from(u32::MAX)
    }
}

fn rng(seed: u64) -> Rng {
    Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

fn f32s(n: usize, seed: u64, lo: f64, hi: f64) -> Arg {
    let mut r = rng(seed);
    let bytes = (0..n).flat_map(|_| ((lo + (hi - lo) * r.unit()) as f32).to_le_bytes());
    Arg::Buffer(bytes.collect())
}

fn f64s(n: usize, seed: u64, lo: f64, hi: f64) -> Arg {
    let mut r = rng(seed);
    let bytes = (0..n).flat_map(|_| (lo + (hi - lo) * r.unit()).to_le_bytes());
    Arg::Buffer(bytes.collect())
}

fn ints(values: impl IntoIterator<Item = i32>) -> Arg {
    Arg::Buffer(values.into_iter().flat_map(i32::to_le_bytes).collect())
}

fn random_ints(n: usize, seed: u64, below: u32) -> Arg {
    let mut r = rng(seed);
    ints((0..n).map(|_| (r.next() % below) as i32))
}

fn bytes(n: usize, seed: u64) -> Arg {
    let mut r = rng(seed);
    Arg::Buffer((0..n).map(|_| r.next() as u8).collect())
}

fn zeros(bytes: usize) -> Arg {
    Arg::Buffer(vec![0; bytes])
}

fn i(v: i32) -> Arg {
    Arg::Word(v.to_le_bytes())
}

fn f(v: f32) -> Arg {
    Arg::Word(v.to_le_bytes())
}

/// Starts of `rows` rows with up to `most` entries each.
fn starts(rows: usize, most: u32, seed: u64) -> Vec<i32> {
    let mut r = rng(seed);
    let mut at = 0;
    let mut all = vec![0];
    for _ in 0..rows {
        at += (r.next() % (most + 1)) as i32;
        all.push(at);
    }
    all
}

/// Elements of most buffers.
const N: usize = 65536;
/// Rows and columns of matrices and pictures.
const SIDE: usize = 128;

fn case(
    name: &'static str,
    file: &'static str,
    entry: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<Arg>,
) -> Case {
    Case { name, file, entry, grid, block, args }
}

/// A case of one dimension.
fn flat(
    name: &'static str,
    file: &'static str,
    entry: &'static str,
    (grid, block): ([u32; 3], [u32; 3]),
    args: Vec<Arg>,
) -> Case {
    case(name, file, entry, grid, block, args)
}

/// So many blocks of so many threads.
fn line(blocks: u32, threads: u32) -> ([u32; 3], [u32; 3]) {
    ([blocks, 1, 1], [threads, 1, 1])
}

/// All kernels.
pub fn cases() -> Vec<Case> {
    [elements(), matrices(), in_groups(), pixels_and_bodies(), transforms()]
        .into_iter()
        .flatten()
        .collect()
}

/// The PTX of [`checked`], made of `checks.cu`.
pub const CHECKED: &str = include_str!("checks.ptx");

/// What other checkers were timed with: a product of matrices of 512, and a sort of a million keys in blocks of 512.
pub fn checked() -> Vec<Case> {
    let matrix = |seed| f32s(512 * 512, seed, -8.0, 8.0);
    let args = vec![matrix(30), matrix(31), zeros(4 * 512 * 512), i(512)];
    vec![
        case("product", "", "product", [32, 32, 1], [16, 16, 1], args),
        flat("sort", "", "sort", line(2048, 256), vec![random_ints(1 << 20, 32, 1 << 30)]),
    ]
}

/// Elements one by one, and gathers.
fn elements() -> Vec<Case> {
    let spmv = starts(8192, 32, 50);
    let entries = spmv[8192] as usize;
    vec![
        flat(
            "vecadd",
            "vecadd/vecadd.cl",
            "vecadd",
            line(256, 256),
            vec![f32s(N, 1, -1e3, 1e3), f32s(N, 2, -1e3, 1e3), zeros(4 * N), i(N as i32)],
        ),
        flat(
            "saxpy",
            "saxpy/saxpy.cl",
            "saxpy",
            line(64, 256),
            vec![i(N as i32), f(2.5), f32s(N, 3, -1e3, 1e3), f32s(N, 4, -1e3, 1e3)],
        ),
        flat(
            "triad",
            "triad/triad.cl",
            "triad",
            line(128, 128),
            vec![zeros(4 * N), f32s(N, 5, -1e3, 1e3), f32s(N, 6, -1e3, 1e3), f(2.5)],
        ),
        flat(
            "gather",
            "gather/gather.cl",
            "gather",
            line(128, 128),
            vec![
                random_ints(N, 7, 1 << 30),
                random_ints(N, 8, N as u32),
                zeros(4 * N),
                i(N as i32),
            ],
        ),
        flat(
            "spmv",
            "spmv/spmv.cl",
            "spmv",
            line(64, 128),
            vec![
                i(8192),
                ints(spmv.iter().copied()),
                random_ints(entries, 9, 8192),
                f64s(entries, 10, -1.0, 1.0),
                f64s(8192, 11, -1.0, 1.0),
                zeros(8 * 8192),
            ],
        ),
    ]
}

/// Products and a transpose.
fn matrices() -> Vec<Case> {
    let s = SIDE as i32;
    let matrix = |seed| f32s(SIDE * SIDE, seed, -8.0, 8.0);
    let out = || zeros(4 * SIDE * SIDE);
    vec![
        case(
            "matmul naive",
            "matmul_naive/matmul.cl",
            "MatMulKernel",
            [8, 8, 1],
            [16, 16, 1],
            vec![i(s), i(s), matrix(12), i(s), i(s), matrix(13), i(s), i(s), out()],
        ),
        case(
            "matmul tiled",
            "matmul_tiled/matmul.cl",
            "MatMulKernel",
            [8, 8, 1],
            [16, 16, 1],
            vec![
                i(s),
                i(s),
                i(s),
                out(),
                i(s),
                i(s),
                i(s),
                matrix(12),
                i(s),
                i(s),
                i(s),
                matrix(13),
            ],
        ),
        case(
            "matmul blocked",
            "matmul_blocked/matmul.cl",
            "matmul_blocked",
            [4, 4, 1],
            [8, 8, 1],
            vec![matrix(12), matrix(13), out(), i(s), i(s)],
        ),
        case(
            "transpose",
            "transpose/transpose.cl",
            "transpose",
            [8, 8, 1],
            [32, 8, 1],
            vec![zeros(8 * N), f64s(N, 14, -1.0, 1.0), i(256), i(256)],
        ),
    ]
}

/// Work-groups that share local memory.
fn in_groups() -> Vec<Case> {
    vec![
        flat(
            "reduction",
            "reduce_shared/reduce.cl",
            "reduce_shared",
            line(256, 256),
            vec![random_ints(2 * N, 15, 1000), zeros(4 * 256), i(2 * N as i32)],
        ),
        flat(
            "scan",
            "scan/scan.cl",
            "scan_blocks",
            line(256, 256),
            vec![random_ints(N, 16, 1000), zeros(4 * N), zeros(4 * 256), i(N as i32)],
        ),
        flat(
            "histogram",
            "histogram/histogram.cl",
            "histogram",
            line(32, 256),
            vec![bytes(N, 17), zeros(4 * 256), i(N as i32)],
        ),
        flat(
            "bitonic sort",
            "bitonic/bitonic.cl",
            "bitonic",
            line(64, 128),
            vec![random_ints(16384, 18, 1 << 30)],
        ),
    ]
}

/// Much computation for each element, and neighbourhoods.
fn pixels_and_bodies() -> Vec<Case> {
    let s = SIDE as i32;
    vec![
        case(
            "mandelbrot",
            "mandelbrot/mandelbrot.cl",
            "mandelbrot",
            [4, 6, 1],
            [16, 8, 1],
            vec![zeros(2 * 64 * 48), i(64), i(48), i(1000)],
        ),
        flat(
            "n-body",
            "nbody/nbody.cl",
            "nbody",
            line(8, 64),
            vec![
                f32s(2048, 19, -1.0, 1.0),
                f32s(2048, 20, -1.0, 1.0),
                zeros(4 * 2048),
                i(512),
                f(0.01),
            ],
        ),
        flat(
            "black-scholes",
            "black_scholes/black_scholes.cl",
            "black_scholes",
            line(128, 128),
            vec![
                zeros(4 * 16384),
                zeros(4 * 16384),
                f32s(16384, 21, 5.0, 30.0),
                f32s(16384, 22, 1.0, 100.0),
                f32s(16384, 23, 1.0, 10.0),
                f(0.02),
                f(0.3),
                i(16384),
            ],
        ),
        case(
            "stencil",
            "stencil/stencil.cl",
            "stencil",
            [16, 32, 1],
            [16, 8, 1],
            vec![f32s(N, 24, 0.0, 1000.0), zeros(4 * N), i(256), i(256)],
        ),
        case(
            "convolution",
            "convolution/convolution.cl",
            "convolution",
            [8, 8, 1],
            [16, 16, 1],
            vec![f32s(SIDE * SIDE, 25, 0.0, 255.0), zeros(4 * SIDE * SIDE), i(s), i(s)],
        ),
    ]
}

/// Transforms, hashes, polynomials, and a graph.
fn transforms() -> Vec<Case> {
    let bfs = starts(16384, 16, 51);
    let edges = bfs[16384] as usize;
    let mut level = rng(52);
    let roots = (0..128).flat_map(|k| {
        let a = -2.0 * std::f64::consts::PI * f64::from(k) / 256.0;
        [(a.cos() as f32).to_le_bytes(), (a.sin() as f32).to_le_bytes()].concat()
    });
    vec![
        flat(
            "fft",
            "fft/fft.cl",
            "fft",
            line(64, 128),
            vec![f32s(64 * 512, 26, -8.0, 8.0), zeros(4 * 64 * 512), Arg::Buffer(roots.collect())],
        ),
        flat(
            "sha-256",
            "sha256/sha256.cl",
            "sha256",
            line(32, 128),
            vec![random_ints(8 * 4096, 27, 1 << 31), zeros(4 * 8 * 4096)],
        ),
        flat(
            "polynomial f64",
            "polynomial/polynomial.cl",
            "polynomial",
            line(512, 128),
            vec![f64s(N, 28, -1.0, 1.0), zeros(8 * N), i(N as i32)],
        ),
        flat(
            "bfs step",
            "bfs/bfs.cl",
            "bfs",
            line(128, 128),
            vec![
                ints(bfs.iter().copied()),
                random_ints(edges, 29, 16384),
                ints((0..16384).map(|_| if level.next().is_multiple_of(4) { 0 } else { -1 })),
                i(16384),
                i(0),
            ],
        ),
    ]
}
