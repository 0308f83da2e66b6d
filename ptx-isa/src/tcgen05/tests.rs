//! Products of random matrices beside plain sums, with layouts written down a second time; loads, stores, copies.

use std::sync::Arc;

use super::fragment::{Fragment, Shape};
use super::instruction::{Kind, zero_columns};
use super::memory::TensorMemory;
use super::moves::{self, Spread};
use super::product::{self, flag};
use crate::effect::{Accessor, Fault, Flow, Machine, WarpFn, WarpOp, window};
use crate::reach::Reach;
use crate::special::Sreg;
use crate::texture::Texture;
use crate::types::Space;

/// One lane of a machine with two blocks.
#[derive(Default)]
struct Mock {
    shared: [Vec<u8>; 2],
    tensor: [TensorMemory; 2],
    rank: u32,
    warp: u32,
    src: Vec<u64>,
    words: Vec<[u32; 32]>,
    dst: Vec<[u32; 32]>,
}

impl Machine for Mock {
    fn mask(&self) -> u32 {
        1
    }
    fn src_w(&self, i: usize) -> [u32; 32] {
        self.words.get(i).copied().unwrap_or_else(|| [self.src[i] as u32; 32])
    }
    fn src_d(&self, i: usize) -> [u64; 32] {
        [self.src[i]; 32]
    }
    fn src_p(&self, i: usize) -> u32 {
        u32::from(self.src[i] != 0)
    }
    fn set_w(&mut self, i: usize, v: &[u32; 32]) {
        self.dst.resize(self.dst.len().max(i + 1), [0; 32]);
        self.dst[i] = *v;
    }
    fn set_d(&mut self, _: usize, _: &[u64; 32]) {}
    fn set_p(&mut self, _: usize, _: u32) {}
    fn read(&mut self, _: Accessor, _: u8, _: Space, at: u64, out: &mut [u8]) -> Result<(), Fault> {
        let rank = at / window::SHARED_CTA;
        let at = (at % window::SHARED_CTA) as usize;
        out.copy_from_slice(&self.shared[rank as usize][at..at + out.len()]);
        Ok(())
    }
    fn write(&mut self, _: Accessor, _: u8, _: Space, _: u64, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }
    fn update(
        &mut self,
        _: Accessor,
        _: u8,
        _: Space,
        _: u64,
        _: u8,
        _: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        Ok(0)
    }
    fn is_constant(&self, _: u64) -> bool {
        false
    }
    fn tensor_memory(
        &mut self,
        rank: u32,
        f: &mut dyn FnMut(&mut TensorMemory),
    ) -> Result<(), String> {
        f(&mut self.tensor[rank as usize]);
        Ok(())
    }
    fn special(&self, _: u8, reg: Sreg) -> u64 {
        match reg {
            Sreg::ClusterCtarank => self.rank.into(),
            Sreg::ClusterNctarank => 2,
            Sreg::TidX => u64::from(32 * self.warp),
            Sreg::NtidX => 128,
            Sreg::NtidY | Sreg::NtidZ => 1,
            _ => 0,
        }
    }
    fn texture(&self, _: u64) -> Option<Arc<Texture>> {
        None
    }
}

impl Mock {
    fn new() -> Self {
        let mut one = Self::default();
        for (shared, tensor) in one.shared.iter_mut().zip(&mut one.tensor) {
            *shared = vec![0; 200_000];
            assert_eq!(tensor.allocate(512), Ok(Some(0)));
        }
        one
    }

    fn run(&mut self, f: WarpFn, k: [u32; 4]) -> Result<Flow, Fault> {
        let op = WarpOp {
            name: "test",
            reach: Reach::Cluster,
            waits: false,
            run: f,
            members: None,
            orders: false,
            k,
        };
        f(self, &op)
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
    fn yes(&mut self) -> bool {
        self.below(2) != 0
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// An element type: fraction and exponent bits, bias; bits of its container in shared memory.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Type {
    Float { frac: u32, exp: u32, bias: i32, container: u32 },
    Int { signed: bool },
}

impl Type {
    fn encode(self, v: i32) -> u32 {
        match self {
            Type::Int { .. } => v as u32 & 0xff,
            Type::Float { .. } if v == 0 => 0,
            Type::Float { frac, exp, bias, container } => {
                let e = v.unsigned_abs().ilog2();
                let mantissa = (v.unsigned_abs() << frac >> e) & ((1 << frac) - 1);
                let bits = ((e as i32 + bias) as u32) << frac
                    | mantissa
                    | u32::from(v < 0) << (frac + exp);
                if container == 32 { bits << 13 } else { bits }
            }
        }
    }

    fn bits(self) -> u32 {
        match self {
            Type::Int { .. } => 8,
            Type::Float { container: 32, .. } => 32,
            Type::Float { frac, exp, .. } => frac + exp + 1,
        }
    }

    /// Elements in 16 bytes.
    fn per_chunk(self) -> u32 {
        match self {
            Type::Int { .. } => 16,
            Type::Float { container, .. } => 128 / container,
        }
    }

    fn value(self, random: &mut Random) -> i32 {
        let v = random.below(4) as i32;
        if self != (Type::Int { signed: false }) && random.yes() { -v } else { v }
    }
}

const fn float(frac: u32, exp: u32, bias: i32, container: u32) -> Type {
    Type::Float { frac, exp, bias, container }
}

/// Writes an element at canonical place (`x`, `k`) of the layout that `mode` names.
fn put(shared: &mut [u8], layout: &Layout, t: Type, x: u32, k: u32, code: u32) {
    let per = t.per_chunk();
    let w = layout.width / 16;
    let (chunk, within) = if layout.mn {
        let steps = if layout.mode == 1 { 4 } else { 8 };
        let c = x / per;
        let along = match layout.mode {
            0 => c * layout.sbo + k % 8 * 16 + k / 8 * layout.lbo,
            _ => {
                c % w * 16 + c / w * layout.lbo + k % steps * layout.width + k / steps * layout.sbo
            }
        };
        (along, x % per)
    } else {
        let c = k / per;
        let along = x % 8 * layout.width + x / 8 * layout.sbo;
        (along + c % w * 16 + c / w * layout.lbo, k % per)
    };
    // CuTe's Swizzle<bits, base, shift>.
    let (bits, base, shift) = match layout.mode {
        0 => (0, 4, 3),
        1 => (2, 5, 2),
        2 => (3, 4, 3),
        4 => (2, 4, 3),
        _ => (1, 4, 3),
    };
    let at = layout.start + chunk;
    let at = at ^ (at >> shift & ((1 << bits) - 1) << base);
    let bit = within * t.bits();
    for i in 0..t.bits() {
        let (byte, b) = ((at + (bit + i) / 8) as usize, (bit + i) % 8);
        shared[byte] = shared[byte] & !(1 << b) | ((code >> i & 1) as u8) << b;
    }
}

struct Layout {
    mode: u32,
    mn: bool,
    width: u32,
    start: u32,
    lbo: u32,
    sbo: u32,
}

impl Layout {
    /// Room for every row and column, at `start`.
    fn new(mode: u32, mn: bool, start: u32, chunks: u32, ks: u32) -> Self {
        let width = match mode {
            0 => 16,
            1 | 2 => 128,
            4 => 64,
            _ => 32,
        };
        let (lbo, sbo) = match (mn, mode) {
            (false, 0) => (128, 128 * chunks),
            (false, _) => (256 * width, 8 * width),
            (true, 0) => (128, 128 * ks.div_ceil(8)),
            (true, _) => {
                let steps = if mode == 1 { 4 } else { 8 };
                (steps * width * ks.div_ceil(steps), steps * width)
            }
        };
        Self { mode, mn, width, start, lbo, sbo }
    }

    fn descriptor(&self) -> u64 {
        let field = |v: u32| u64::from(v >> 4);
        field(self.start)
            | field(self.lbo) << 16
            | field(self.sbo) << 32
            | 1 << 46
            | u64::from(self.mode) << 61
    }
}

/// Lane of row `m` of a block with `rows` rows.
fn lane_of(m: u32, half: bool) -> u32 {
    if half { m / 16 * 32 + m % 16 } else { m }
}

struct Case {
    kind: Kind,
    types: [(u32, Type); 2],
    pair: bool,
    ws: bool,
    sparse: bool,
    m: u32,
    n: u32,
    in_memory: bool,
    /// K is 96, as sm_103a has it.
    larger: bool,
}

fn case(random: &mut Random) -> Case {
    let f16 = [(0, float(10, 5, 15, 16)), (1, float(7, 8, 127, 16))];
    let f8 = [
        (0, float(3, 4, 7, 8)),
        (1, float(2, 5, 15, 8)),
        (3, float(3, 2, 1, 8)),
        (4, float(2, 3, 3, 8)),
        (5, float(1, 2, 1, 8)),
    ];
    let int = [(0, Type::Int { signed: false }), (1, Type::Int { signed: true })];
    let kind = random.pick(&[
        Kind::F16,
        Kind::Tf32,
        Kind::F8f6f4,
        Kind::I8,
        Kind::Mxf8f6f4,
        Kind::Mxf4,
        Kind::Mxf4nvf4,
    ]);
    let mut one = || match kind {
        Kind::F16 => random.pick(&f16),
        Kind::Tf32 => (2, float(10, 8, 127, 32)),
        Kind::I8 => random.pick(&int),
        Kind::F8f6f4 | Kind::Mxf8f6f4 => random.pick(&f8),
        Kind::Mxf4 | Kind::Mxf4nvf4 => (1, float(1, 2, 1, 4)),
    };
    let types = [one(), one()];
    let ws = !kind.scales() && random.below(4) == 0;
    let pair = !ws && random.yes();
    let sparse = random.below(3) == 0;
    let m = match (ws, pair, kind.scales()) {
        (true, ..) => random.pick(&[32, 64, 128]),
        (_, false, true) => 128,
        (_, false, _) => random.pick(&[64, 128]),
        (_, true, true) if sparse => 256,
        (_, true, _) => random.pick(&[128, 256]),
    };
    let n = if ws { random.pick(&[64, 128]) } else { random.pick(&[32, 64, 96, 160]) };
    // A in memory needs the same in every part of the columns, which is not what is tested here.
    let larger = kind.packs() && !sparse && random.yes();
    Case { kind, types, pair, ws, sparse, m, n, in_memory: random.below(3) == 0, larger }
}

#[test]
fn products_are_sums() {
    let mut random = Random(7);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..160 {
        let c = case(&mut random);
        seen.insert((c.kind.code(), c.sparse, c.pair, c.larger));
        check(&mut random, &c);
    }
    assert!(seen.len() > 28, "{} of 32 forms", seen.len());
}

fn check(random: &mut Random, c: &Case) {
    let mut mock = Mock::new();
    let [(code_a, ta), (code_b, tb)] = c.types;
    let k = match c.kind {
        Kind::F16 => 16,
        Kind::Tf32 => 8,
        Kind::F8f6f4 | Kind::I8 | Kind::Mxf8f6f4 => 32,
        Kind::Mxf4 | Kind::Mxf4nvf4 if c.larger => 96,
        Kind::Mxf4 | Kind::Mxf4nvf4 => 64,
    } << u32::from(c.sparse);
    let stored = if c.sparse { k / 2 } else { k };
    let blocks: u32 = if c.pair { 2 } else { 1 };
    let rows = c.m / blocks;
    let parts = if c.ws || c.pair && !c.sparse { 128 / rows } else { 1 };
    let half = rows == 64 && parts == 1;
    let base = if half && random.yes() { 16 } else { 0 };
    let may_transpose = !c.kind.packs();
    let mut transposed =
        [random.yes() && may_transpose && !c.in_memory, random.yes() && may_transpose];
    if tb.per_chunk() == 16 && transposed[1] && !c.n.is_multiple_of(16 * blocks) {
        transposed[1] = false;
    }
    let mut layout = |transposed: bool, t: Type, start, ks: u32| {
        let wide = t.per_chunk() == 4;
        let mode = match (transposed, wide) {
            (true, true) => 1,
            (true, false) => random.pick(&[0, 2, 4, 6]),
            (false, _) => random.pick(&[0, 1, 2, 4, 6]),
        };
        Layout::new(mode, transposed, start, ks.div_ceil(t.per_chunk()), ks)
    };
    let (la, lb) =
        (layout(transposed[0], ta, 0x400, stored), layout(transposed[1], tb, 0x18000, k));

    // A with its zeros, what is stored of it, and metadata.
    let (mut a, mut codes) = (vec![0; (c.m * k) as usize], vec![0u64; c.m as usize]);
    for m in 0..c.m {
        let mut s = 0;
        let group = match (c.sparse, c.kind) {
            (false, _) => 1,
            (true, Kind::Tf32) => 2,
            (true, Kind::Mxf4 | Kind::Mxf4nvf4) => 8,
            (true, _) => 4,
        };
        for first in (0..k).step_by(group) {
            let two = random.pick(&[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
            let bits = u64::from(two[0] | two[1] << 2);
            let places: Vec<u32> = match group {
                1 => vec![0],
                2 => vec![two[1] % 2],
                4 => two.to_vec(),
                _ => two.iter().flat_map(|p| [2 * p, 2 * p + 1]).collect(),
            };
            match group {
                1 => {}
                2 => {
                    codes[m as usize] |=
                        (if places[0] == 0 { 0b0100 } else { 0b1110 }) << (2 * first)
                }
                4 => codes[m as usize] |= bits << first,
                _ => codes[m as usize] |= bits << (first / 2),
            }
            for place in places {
                let v = ta.value(random);
                a[(m * k + first + place) as usize] = v;
                let (block, row) = ((m / rows) as usize, m % rows);
                if c.in_memory {
                    let per = if c.kind.packs() { 8 } else { ta.per_chunk() / 4 };
                    let shift = match ta {
                        Type::Float { frac: 1, container: 8, .. } => 2,
                        _ => 0,
                    };
                    let raw = ta.encode(v) << shift << (32 / per * (s % per));
                    let (lane, column) = (base + lane_of(row, half), 300 + s / per);
                    let old = mock.tensor[block].get(lane, column).unwrap();
                    mock.tensor[block].set(lane, column, old | raw).unwrap();
                } else {
                    put(&mut mock.shared[block], &la, ta, row, s, ta.encode(v));
                }
                s += 1;
            }
        }
        assert_eq!(s, stored);
    }
    let mut b = vec![0; (c.n * k) as usize];
    for n in 0..c.n {
        for step in 0..k {
            let v = tb.value(random);
            b[(n * k + step) as usize] = v;
            let (block, column) = ((n / (c.n / blocks)) as usize, n % (c.n / blocks));
            put(&mut mock.shared[block], &lb, tb, column, step, tb.encode(v));
        }
    }
    let wide_codes = matches!(c.kind, Kind::F16 | Kind::Tf32);
    let selector = u32::from(c.sparse && wide_codes && random.yes());
    if c.sparse {
        for m in 0..c.m {
            let (block, row, word) = ((m / rows) as usize, m % rows, codes[m as usize]);
            let tensor = &mut mock.tensor[block];
            if wide_codes {
                for high in 0..2 {
                    let lane = base + lane_of(row / 16 * 16 + row % 8 + 8 * high, half);
                    let old = tensor.get(lane, 400 + selector).unwrap();
                    let bits = (word >> (16 * high) & 0xffff) as u32;
                    tensor.set(lane, 400 + selector, old | bits << (16 * (row / 8 % 2))).unwrap();
                }
            } else {
                let lane = base + lane_of(row, half);
                tensor.set(lane, 400, word as u32).unwrap();
                tensor.set(lane, 401, (word >> 32) as u32).unwrap();
            }
        }
    }

    // Scale factors: 1, 2 or 4, in every 32 lanes; 3 or 6 where K is 96.
    let scales = c.kind.scales();
    let ue4m3 = c.kind == Kind::Mxf4nvf4 && random.yes();
    let named = match c.kind {
        Kind::Mxf8f6f4 => 1,
        Kind::Mxf4nvf4 if random.yes() => 4,
        _ => 2,
    };
    let count = if c.larger { named * 3 / 2 } else { named };
    let step = if c.larger { count / 3 } else { count };
    let ids = [0, 1].map(|_| random.below(u64::from(4 / step)) as u32 * step);
    // Where the fifth factor and those after it lie.
    let next = [rows / 32, c.n.next_multiple_of(128) / parts / 32];
    let (mut fa, mut fb) = (vec![1; (c.m * count) as usize], vec![1; (c.n * count) as usize]);
    if scales {
        let code = |e: u32| if ue4m3 { 0x38 + 8 * e } else { 127 + e };
        for block in 0..blocks {
            let tensor = &mut mock.tensor[block as usize];
            let mut set = |lane: u32, column: u32, i: u32, v: u32| {
                let old = tensor.get(lane, column).unwrap();
                let shift = 8 * i;
                tensor.set(lane, column, old & !(0xff << shift) | v << shift).unwrap();
            };
            for row in 0..rows {
                for i in 0..count {
                    let e = random.below(3) as u32;
                    fa[((block * rows + row) * count + i) as usize] = 1 << e;
                    for copy in 0..4 {
                        let at = 420 + row / 32 + (ids[0] + i) / 4 * next[0];
                        set(row % 32 + 32 * copy, at, (ids[0] + i) % 4, code(e));
                    }
                }
            }
            for n in 0..c.n {
                for i in 0..count {
                    // The same in both blocks.
                    let e = (n + i) % 3;
                    fb[(n * count + i) as usize] = 1 << e;
                    let per = c.n / parts;
                    let (part, within) = (n / per, n % per);
                    for copy in 0..4 / parts {
                        let lane = part * (128 / parts) + within % 32 + 32 * copy;
                        let at = 440 + within / 32 + (ids[1] + i) / 4 * next[1];
                        set(lane, at, (ids[1] + i) % 4, code(e));
                    }
                }
            }
        }
    }

    // D before, and the descriptor of the instruction.
    let accumulates = random.yes();
    let half_d = matches!(c.kind, Kind::F16 | Kind::F8f6f4)
        && ![code_a, code_b].contains(&1)
        && random.below(3) == 0;
    let d_type = float(10, 5, 15, 16);
    let element = |m: u32, n: u32| {
        let per = c.n / parts;
        let (row, part) = (m % rows, n / per);
        ((m / rows) as usize, base + lane_of(row, half) + part * rows, n % per)
    };
    let mut before = vec![0; (c.m * c.n) as usize];
    for m in 0..c.m {
        for n in 0..c.n {
            let v = random.below(7) as i32 - 3;
            before[(m * c.n + n) as usize] = v;
            let (block, lane, column) = element(m, n);
            let raw = match c.kind {
                Kind::I8 => v as u32,
                _ if half_d => d_type.encode(v),
                _ => (v as f32).to_bits(),
            };
            mock.tensor[block].set(lane, column, raw).unwrap();
        }
    }
    let negate = c.kind != Kind::I8 && random.yes();
    let mut descriptor = selector
        | u32::from(c.sparse) << 2
        | code_a << 7
        | code_b << 10
        | u32::from(negate) << 13
        | u32::from(transposed[0]) << 15
        | u32::from(transposed[1]) << 16
        | (c.n >> 3) << 17;
    descriptor |= if scales {
        u32::from(!ue4m3) << 23
            | (c.m >> 7) << 27
            | ids[0] << 29
            | ids[1] << 4
            | u32::from(c.larger) << 31
    } else {
        let d = match c.kind {
            Kind::I8 => 2,
            _ => u32::from(!half_d),
        };
        d << 4 | (c.m >> 4) << 24
    };
    let at = |column: u32| u64::from(base << 16 | column);
    let a_operand = if c.in_memory { at(300) } else { la.descriptor() };
    mock.src = vec![at(0), a_operand, lb.descriptor(), descriptor.into(), accumulates.into()];
    if c.sparse {
        mock.src.push(at(400));
    }
    if scales {
        mock.src.extend([420, 440]);
    }
    let flags = u32::from(c.pair) * flag::PAIR
        | u32::from(c.ws) * flag::WS
        | u32::from(c.sparse) * flag::SPARSE
        | u32::from(c.in_memory) * flag::A_IN_MEMORY;
    mock.rank = u32::from(c.pair && random.yes());
    let k3 = if scales { named << 8 | 103 << 16 } else { 0 };
    mock.run(product::mma, [c.kind.code(), flags, 0, k3]).unwrap();

    for m in 0..c.m {
        for n in 0..c.n {
            let mut sum = 0;
            for step in 0..k {
                let i = (step * count / k) as usize;
                let (m, n) = (m as usize, n as usize);
                let scale = fa[m * count as usize + i] * fb[n * count as usize + i];
                sum += a[m * k as usize + step as usize]
                    * b[n * k as usize + step as usize]
                    * if scales { scale } else { 1 };
            }
            let old = if accumulates { before[(m * c.n + n) as usize] } else { 0 };
            let want = old + if negate { -sum } else { sum };
            let (block, lane, column) = element(m, n);
            let raw = mock.tensor[block].get(lane, column).unwrap();
            let want = match c.kind {
                Kind::I8 => want as u32,
                _ if half_d => d_type.encode(want),
                _ => (want as f32).to_bits(),
            };
            assert_eq!(
                raw, want,
                "{:?} m{} n{} ({m}, {n}) pair {} ws {} sparse {} modes {} {} transposed {transposed:?}",
                c.kind, c.m, c.n, c.pair, c.ws, c.sparse, la.mode, lb.mode
            );
        }
    }
}

#[test]
fn fragments_cover_their_cells() {
    let shapes = [
        (Shape::L32x32b, 1, 32),
        (Shape::L16x64b, 2, 16),
        (Shape::L16x128b, 4, 16),
        (Shape::L16x256b, 8, 16),
    ];
    for (shape, columns, lanes) in shapes {
        let registers = 2 * columns * lanes / 32;
        let one = Fragment { shape, registers, packed: false };
        assert_eq!(Fragment::unpack(one.pack()), one);
        let mut cells: Vec<_> =
            (0..32).flat_map(|t| (0..registers).map(move |r| one.cell(t, r))).collect();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len() as u32, 2 * columns * lanes);
        assert_eq!(cells.last(), Some(&(lanes - 1, 2 * columns - 1)));
    }
    let cell = |shape, t, r| Fragment { shape, registers: 8, packed: false }.cell(t, r);
    // From the figures: the second row of each shape, and the rows from the eighth on.
    assert_eq!(cell(Shape::L16x64b, 4, 0), (1, 0));
    assert_eq!(cell(Shape::L16x64b, 2, 0), (0, 1));
    assert_eq!(cell(Shape::L16x64b, 1, 1), (8, 2));
    assert_eq!(cell(Shape::L16x128b, 7, 0), (1, 3));
    assert_eq!(cell(Shape::L16x128b, 7, 1), (9, 3));
    assert_eq!(cell(Shape::L16x256b, 5, 1), (1, 3));
    assert_eq!(cell(Shape::L16x256b, 5, 2), (9, 2));
    assert_eq!(cell(Shape::L16x256b, 5, 4), (1, 10));
}

#[test]
fn loads_find_what_stores_left() {
    for (shape, packed) in [
        (Shape::L32x32b, false),
        (Shape::L16x64b, true),
        (Shape::L16x128b, false),
        (Shape::L16x256b, true),
        (Shape::L16x32bx2, false),
    ] {
        let mut mock = Mock::new();
        mock.warp = 2;
        let registers = 4;
        let row = |r: u32| std::array::from_fn(|t| (r << 20 | t as u32) * 3);
        mock.words = vec![[64 << 16 | 32; 32]];
        mock.words.extend((0..registers).map(row));
        let k = Fragment { shape, registers, packed }.pack();
        mock.run(moves::store, [k, 8, 0, 0]).unwrap();
        let stored = mock.words.split_off(1);
        mock.run(moves::load, [k, 8, moves::reduction::ON | moves::reduction::MAX, 0]).unwrap();
        assert_eq!(mock.dst[..registers as usize], stored);
        assert_eq!(mock.dst[registers as usize], stored[registers as usize - 1]);
        // Another warp's lanes.
        mock.warp = 1;
        assert!(mock.run(moves::load, [k, 8, 0, 0]).is_err());
    }
}

#[test]
fn copies_spread_rows() {
    let layout = Layout::new(2, false, 0x800, 2, 32);
    let byte = float(3, 4, 7, 8);
    for (spread, rows, copies) in [
        (Spread::Once, 128, vec![0]),
        (Spread::Halves, 64, vec![0, 64]),
        (Spread::All, 32, vec![0, 32, 64, 96]),
    ] {
        let mut mock = Mock::new();
        for row in 0..rows {
            for i in 0..32 {
                put(&mut mock.shared[0], &layout, byte, row, i, (row * 3 + i) & 0xff);
            }
        }
        mock.src = vec![64, layout.descriptor()];
        mock.run(moves::copy, [0, spread.code(), 32, 8]).unwrap();
        for row in 0..rows {
            for copy in &copies {
                let v = mock.tensor[0].get(row + copy, 64 + 7).unwrap();
                assert_eq!(v.to_le_bytes()[3], (row * 3 + 31) as u8);
            }
        }
    }
    // 4-bit elements become bytes.
    let mut mock = Mock::new();
    let layout = Layout::new(0, false, 0, 1, 16);
    mock.shared[0][..8].copy_from_slice(&[0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f]);
    mock.src = vec![0, layout.descriptor()];
    mock.run(moves::copy, [0, Spread::Pairs.code(), 16, 4]).unwrap();
    let bytes = [1, 2, 3, 4].map(|v: u8| v << 2);
    assert_eq!(mock.tensor[0].get(32, 0), Ok(u32::from_le_bytes(bytes)));
}

#[test]
fn zero_columns_are_the_manuals() {
    let mask = |m, sc: [u64; 4], fs: u64, nonzero: u64| {
        let v = sc[0] | sc[1] << 8 | sc[2] << 16 | sc[3] << 24 | fs << 32 | nonzero << 39;
        let columns = zero_columns(m, 128, v | 2 << 40 | 3 << 48).unwrap();
        let part = |i: usize| -> u32 {
            (0..14).map(|b| u32::from(columns[i * 128 / (128 / m as usize) + b]) << b).sum()
        };
        (0..128 / m as usize).map(part).collect::<Vec<_>>()
    };
    assert_eq!(mask(128, [0; 4], 0, 0), [0]);
    assert_eq!(mask(128, [0; 4], 0, 1), [0b11100001110000]);
    assert_eq!(mask(64, [0; 4], 1, 1), [0b00001110000111, 0b11100001110000]);
    let found = mask(32, [0, 1, 2, 1], 0b0011, 1);
    assert_eq!(found[0], 0b00_0011_1000_0111);
    assert_eq!(found[1] & 0x1fff, 0b0_0001_1100_0011);
    assert_eq!(found[2] & 0xfff, 0b1110_0001_1100);
    assert_eq!(found[3] & 0x1fff, 0b1_1100_0011_1000);
    assert!(zero_columns(128, 64, 1 << 56).is_err());
}

#[test]
fn columns_are_allocated_once() {
    let mut t = TensorMemory::default();
    assert!(t.get(0, 0).is_err());
    assert_eq!(t.allocate(128), Ok(Some(0)));
    assert_eq!(t.allocate(256), Ok(Some(128)));
    assert_eq!(t.allocate(256), Ok(None));
    assert!(t.allocate(48).is_err() && t.free(128, 128).is_err());
    assert_eq!(t.free(128, 256), Ok(()));
    assert_eq!(t.allocate_jointly(32, 0), Ok(None));
    assert_eq!(t.allocate_jointly(32, 1), Ok(Some(128)));
    assert!(t.get(127, 159).is_ok() && t.get(127, 160).is_err() && t.get(128, 0).is_err());
    t.relinquish();
    assert!(t.allocate(32).is_err());
}
