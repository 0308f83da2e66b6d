//! Measures the math functions: our PTX in our interpreter against references of higher precision.

#![allow(missing_docs)]

pub mod functions;
pub mod reference;

use std::sync::atomic::{AtomicU64, Ordering};

use functions::{Bound, Domain, Function};
use opencl_frontend::{Options, compile};
use ptx_runtime::{Context as Device, DeviceOptions, KernelArg, LaunchConfig, Module};
use reference::Context;

/// What a measurement found.
pub struct Measure {
    /// Largest distance from the correctly rounded result, in steps.
    pub steps: u64,
    /// Largest distance from the exact result, in ulp.
    pub ulp: f64,
    /// Arguments of the worst case, its result and what it should be.
    pub worst: String,
    /// Largest error relative to the allowance of the function, if it has one.
    pub excess: f64,
    /// Number of inputs.
    pub inputs: usize,
}

impl Measure {
    fn new() -> Measure {
        Measure { steps: 0, ulp: 0.0, worst: String::new(), excess: 0.0, inputs: 0 }
    }

    /// Takes in what another part of the inputs gave.
    fn add(&mut self, other: Measure) {
        let rank = |m: &Measure| (m.steps, m.excess.max(m.ulp));
        if self.worst.is_empty() || rank(&other) > rank(self) {
            self.worst = other.worst;
        }
        self.steps = self.steps.max(other.steps);
        self.ulp = self.ulp.max(other.ulp);
        self.excess = self.excess.max(other.excess);
        self.inputs += other.inputs;
    }

    pub fn within(&self, bound: &Bound) -> bool {
        self.excess <= 1.0
            && bound.guide.is_none_or(|g| self.steps <= u64::from(g))
            && bound.opencl.is_none_or(|o| self.ulp <= o.max(0.5))
    }
}

/// xorshift64*: enough for spreading inputs.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed | 1)
    }
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }
}

/// A compiled function, ready to run.
pub struct Runner {
    device: Device,
    module: Module,
    size: usize,
}

impl Runner {
    pub fn new(function: &Function, double: bool, flags: &str) -> Runner {
        Runner::of(function.name, function.code, function.arity, double, flags)
    }

    fn of(name: &str, code: &str, arity: usize, double: bool, flags: &str) -> Runner {
        let (ty, parameters) =
            (if double { "double" } else { "float" }, ["", "a", "ab", "abc"][arity]);
        let list: String =
            parameters.chars().map(|p| format!("__global const T *p{p}, ")).collect();
        let loads: String = parameters.chars().map(|p| format!("T {p} = p{p}[i]; ")).collect();
        let source = format!(
            "typedef {ty} T;\ntypedef {ty}2 T2;\n__kernel void k({list}__global T *out)\n{{ size_t i = get_global_id(0); {loads}T r; {} out[i] = r; }}\n",
            code
        );
        let options = Options::parse(flags).expect("options");
        let ptx = match compile(name, &source, &options) {
            Ok(out) => out.ptx,
            Err(failure) => panic!("{}: {}", name, failure.rendered),
        };
        let device = Device::new(&DeviceOptions { memory: 4 << 30, ..DeviceOptions::default() })
            .expect("device");
        let module =
            Module::load(&device, &ptx, "k.ptx").unwrap_or_else(|e| panic!("{}: {e}\n{ptx}", name));
        Runner { device, module, size: if double { 8 } else { 4 } }
    }

    /// Runs on columns of inputs, all of one length, given as bits.
    pub fn run(&self, columns: &[Vec<u64>]) -> Vec<u64> {
        let n = columns[0].len().next_multiple_of(256);
        let bytes = n * self.size;
        let mut args: Vec<KernelArg> = Vec::new();
        let mut pointers = Vec::new();
        for column in columns {
            let mut data = Vec::with_capacity(bytes);
            for i in 0..n {
                let bits = column.get(i).copied().unwrap_or(0);
                data.extend_from_slice(&bits.to_le_bytes()[..self.size]);
            }
            let p = self.device.alloc(bytes as u64).expect("memory");
            self.device.copy_to_device(p, &data).expect("copy");
            args.push(p.into());
            pointers.push(p);
        }
        let out = self.device.alloc(bytes as u64).expect("memory");
        args.push(out.into());
        let config = LaunchConfig {
            grid: [(n / 256) as u32, 1, 1],
            block: [256, 1, 1],
            args,
            threads: Some(1),
            ..LaunchConfig::default()
        };
        if let Err(error) = self.device.launch(&self.module, "k", config) {
            panic!("{}", error.render(self.module.verified(), false));
        }
        let mut data = vec![0; bytes];
        self.device.copy_from_device(out, &mut data).expect("copy");
        for p in pointers.into_iter().chain([out]) {
            self.device.free(p).expect("free");
        }
        data.chunks_exact(self.size)
            .take(columns[0].len())
            .map(|c| {
                let mut b = [0; 8];
                b[..self.size].copy_from_slice(c);
                u64::from_le_bytes(b)
            })
            .collect()
    }
}

fn to_f64(bits: u64, double: bool) -> f64 {
    if double { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) }
}

fn to_bits(x: f64, double: bool) -> u64 {
    if double { x.to_bits() } else { u64::from((x as f32).to_bits()) }
}

/// Values where functions change their mind.
fn edges(double: bool) -> Vec<u64> {
    let mut values: Vec<f64> = vec![
        0.0,
        1.0,
        0.5,
        2.0,
        3.0,
        10.0,
        0.25,
        0.75,
        1.5,
        2.5,
        3.5,
        4.5,
        0.1,
        88.0,
        88.72284,
        89.0,
        103.97,
        104.0,
        127.0,
        128.0,
        126.5,
        149.0,
        150.0,
        38.53184,
        45.0,
        709.0,
        709.782712893384,
        710.0,
        745.13,
        746.0,
        1023.5,
        1024.0,
        1074.0,
        1075.0,
        308.25,
        323.6,
        9.0,
        12.0,
        22.0,
        26.5,
        27.3,
        34.0,
        35.04,
        36.0,
        171.0,
        171.62,
        172.0,
        48039.0,
        105615.0,
        65536.0,
        1e5,
        1e6,
        1e7,
        1e10,
        1e15,
        1e20,
        1e30,
        8388607.5,
        8388608.5,
        16777216.0,
        4503599627370495.5,
        9007199254740992.0,
        f64::INFINITY,
        f64::NAN,
        0.35,
        0.414,
        2.414,
        0.267_949_192_431_122_7,
        1e-3,
        1e-5,
        1e-10,
        1e-20,
        1e-30,
        0.9999,
        1.0001,
        0.84375,
        1.25,
        2.857142,
        6.0,
        7.0,
        8.0,
        13.0,
        1.4616321449683623,
    ];
    for k in 1..9 {
        values.push(k as f64 * std::f64::consts::FRAC_PI_4);
    }
    let mut bits: Vec<u64> = values.iter().map(|v| to_bits(*v, double)).collect();
    bits.extend(if double {
        vec![
            1,
            2,
            0xf_ffff_ffff_ffff,
            0x10_0000_0000_0000,
            0x7fef_ffff_ffff_ffff,
            0x3fef_ffff_ffff_ffff,
            0x3ff0_0000_0000_0001,
        ]
    } else {
        vec![1, 2, 0x7f_ffff, 0x80_0000, 0x7f7f_ffff, 0x3f7f_ffff, 0x3f80_0001]
    });
    let near: Vec<u64> = bits.iter().flat_map(|b| [b.wrapping_sub(1), *b, b + 1]).collect();
    let mask = if double { u64::MAX >> 1 } else { 0x7fff_ffff };
    let mut all: Vec<u64> = near.iter().map(|b| b & mask).collect();
    all.sort_unstable();
    all.dedup();
    let sign = mask + 1;
    all.iter().flat_map(|b| [*b, b | sign]).collect()
}

fn random_value(random: &mut Random, double: bool) -> u64 {
    let mask = if double { u64::MAX } else { 0xffff_ffff };
    let signed = |x: f64, random: &mut Random| if random.next() >> 40 & 1 == 1 { -x } else { x };
    match random.next() >> 32 & 7 {
        0..=2 => random.next() & mask,
        3 | 4 => {
            let x = random.unit() * 12.0;
            to_bits(signed(x, random), double)
        }
        5 => {
            let x = (random.unit() * 14.0 - 7.0).exp();
            to_bits(signed(x, random), double)
        }
        6 => {
            let limit = if double { 760.0 } else { 110.0 };
            let x = random.unit() * limit;
            to_bits(signed(x, random), double)
        }
        _ => {
            let x = 1.0 + (random.unit() - 0.5) * (random.unit() * -20.0).exp2();
            to_bits(x, double)
        }
    }
}

/// Columns of inputs: all edges (pairs of some), then random values.
pub fn inputs(function: &Function, double: bool, count: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut random = Random::new(seed);
    let edges = edges(double);
    let mut columns = vec![Vec::new(); function.arity];
    match function.arity {
        1 => columns[0] = edges.clone(),
        n => {
            // Every pair of every third edge, more by chance.
            let few: Vec<u64> =
                edges.iter().copied().step_by(if count > 1 << 16 { 3 } else { 7 }).collect();
            for a in &few {
                for b in &few {
                    columns[0].push(*a);
                    columns[1].push(*b);
                    if n > 2 {
                        columns[2].push(edges[random.next() as usize % edges.len()]);
                    }
                }
            }
        }
    }
    for _ in 0..count {
        for (i, column) in columns.iter_mut().enumerate() {
            let mut v = random_value(&mut random, double);
            if i == 1 && function.domain == Domain::All && random.next() >> 50 & 3 == 0 {
                v = to_bits((random.next() % 41) as f64 * 0.5 - 10.0, double);
            }
            column.push(v);
        }
    }
    for (i, column) in columns.iter_mut().enumerate() {
        for v in column.iter_mut() {
            let x = to_f64(*v, double);
            match function.domain {
                Domain::Integer if i == 1 => {
                    let whole = if x.abs() < 1e6 {
                        x.trunc()
                    } else {
                        (random.next() % 4001) as f64 - 2000.0
                    };
                    *v = to_bits(whole, double);
                }
                Domain::OutsideZeros if x < -2.0 && x > -12.0 => *v = to_bits(x.abs(), double),
                Domain::Half if x.abs() > 65536.0 => *v = to_bits(1.0, double),
                Domain::Moderate if !(1e-15..1e15).contains(&x.abs()) => *v = to_bits(1.0, double),
                _ => {}
            }
        }
    }
    columns
}

/// Steps between two values in the order of representable numbers.
fn steps(a: u64, b: u64, double: bool) -> u64 {
    let order = |bits: u64| -> i64 {
        if double {
            let s = bits as i64;
            if s < 0 { i64::MIN.wrapping_sub(s) } else { s }
        } else {
            let s = bits as u32 as i32;
            i64::from(if s < 0 { i32::MIN.wrapping_sub(s) } else { s })
        }
    };
    order(a).abs_diff(order(b))
}

/// Exponent of the last place of a magnitude with this binary exponent (value in [2^(e-1), 2^e)).
fn last_place(e: i32, double: bool) -> i32 {
    if double { (e - 53).max(-1074) } else { (e - 24).max(-149) }
}

fn exponent(x: f64) -> i32 {
    libm::frexp(x).1
}

/// The signs of zero that are not promised.
fn zero_sign_is_free(name: &str) -> bool {
    matches!(
        name,
        "fmax"
            | "fmin"
            | "maxmag"
            | "minmag"
            | "fdim"
            | "remquo.q"
            | "rootn"
            | "pown"
            | "lgamma"
            | "lgamma_r"
            | "acospi"
    ) || name.starts_with("half_")
}

/// Compares results with the reference.
pub fn judge(
    function: &Function,
    double: bool,
    cx: &mut Context,
    columns: &[Vec<u64>],
    results: &[u64],
    m: &mut Measure,
) {
    let mut args = vec![0.0; function.arity];
    for (i, &bits) in results.iter().enumerate() {
        for (k, column) in columns.iter().enumerate() {
            let x = to_f64(column[i], double);
            // A signalling NaN is a NaN to OpenCL; the references distinguish.
            args[k] = if x.is_nan() { f64::NAN.copysign(x) } else { x };
        }
        let got = to_f64(bits, double);
        let (step, ulp, wanted) = distance(function, double, cx, &args, bits, got);
        m.inputs += 1;
        if let Some(allowance) = function.allowance {
            let allowed = allowance(&args, wanted);
            // The guide counts ulps from the correctly rounded result.
            let error = (got - wanted).abs().min((got - f64::from(wanted as f32)).abs());
            // Nothing is promised of infinities, or without a bound.
            if wanted.is_finite() && wanted.abs() <= f64::from(f32::MAX) && allowed.is_finite() {
                let excess = if error.is_nan() { f64::INFINITY } else { error / allowed };
                if excess > m.excess || m.worst.is_empty() {
                    m.worst = format!("{args:?} gives {got:e}, not {wanted:e}");
                    (m.steps, m.ulp) = (step, ulp);
                }
                m.excess = m.excess.max(excess);
            }
            continue;
        }
        let worse = step > m.steps || step == m.steps && ulp > m.ulp || m.worst.is_empty();
        if worse {
            m.worst = format!("{args:?} gives {got:e}, not {wanted:e}");
        }
        m.steps = m.steps.max(step);
        m.ulp = m.ulp.max(ulp);
    }
}

/// Steps from the correctly rounded result, ulps from the exact one, and the latter.
fn distance(
    function: &Function,
    double: bool,
    cx: &mut Context,
    args: &[f64],
    bits: u64,
    got: f64,
) -> (u64, f64, f64) {
    const WRONG: (u64, f64) = (u64::MAX, f64::INFINITY);
    let exact = (function.reference)(args);
    let finite = args.iter().all(|a| a.is_finite());
    if exact.is_nan() {
        let (s, u) = if got.is_nan() { (0, 0.0) } else { WRONG };
        return (s, u, exact);
    }
    if got.is_nan() {
        return (WRONG.0, WRONG.1, exact);
    }
    // Zeros and infinities that are exact.
    let special = exact == 0.0 && !underflows(function, args)
        || exact.is_infinite() && (!finite || poles(function, args));
    if special {
        let same = got == exact
            && (exact != 0.0
                || got.is_sign_negative() == exact.is_sign_negative()
                || zero_sign_is_free(function.name));
        let (s, u) = if same { (0, 0.0) } else { WRONG };
        return (s, u, exact);
    }
    if !double {
        let rounded = match function.name {
            "fma" => (args[0] as f32).mul_add(args[1] as f32, args[2] as f32),
            "nextafter" => libm::nextafterf(args[0] as f32, args[1] as f32),
            _ => exact as f32,
        };
        let s = steps(u64::from(rounded.to_bits()), bits, false);
        let s = if rounded == 0.0 && got == 0.0 { 0 } else { s };
        if s == 0 {
            // The largest distance from a result that is rounded correctly.
            return (0, if got == exact { 0.0 } else { 0.5 }, exact);
        }
        let top = 2f64.powi(128);
        let value = if got.is_infinite() { top.copysign(got) } else { got };
        let limit = if exact.abs() > top { top.copysign(exact) } else { exact };
        let u = ((value - limit) / 2f64.powi(last_place(exponent(limit).min(128), false))).abs();
        return (s, u, exact);
    }
    if matches!(function.name, "a / b" | "1 / a" | "sqrt" | "fma") {
        // The host rounds these correctly.
        let s = if exact == got { 0 } else { steps(exact.to_bits(), bits, true) };
        return (s, if s == 0 { 0.5 } else { s as f64 }, exact);
    }
    let precise = (function.precise)(cx, args);
    let (high, low, e) = reference::parts(&precise);
    if high.is_nan() {
        // Beyond the range of the big numbers' own functions: cannot be finite here.
        let s = steps(exact.to_bits(), bits, true);
        return (s, if s == 0 { 0.0 } else { f64::INFINITY }, exact);
    }
    if precise.is_zero() {
        let (s, u) = if got == 0.0 { (0, 0.0) } else { WRONG };
        return (s, u, exact);
    }
    // The correctly rounded result, and the distance in units of the last place.
    let place = last_place(e, true);
    let shift = |x: f64, by: i32| libm::scalbn(x, by);
    let (scaled, rest) = (shift(high, e - place), shift(low, e - place));
    let whole = scaled.round_ties_even();
    let left = (scaled - whole) + rest;
    let tie = left.abs() == 0.5 && (whole % 2.0 != 0.0);
    let nearest = whole
        + f64::from(
            i8::from(left > 0.5 || tie && left > 0.0) - i8::from(left < -0.5 || tie && left < 0.0),
        );
    let rounded = shift(nearest, place);
    let s = if rounded == 0.0 && got == 0.0 { 0 } else { steps(rounded.to_bits(), bits, true) };
    let u = if rounded.is_infinite() && got == rounded {
        0.0
    } else if got.is_infinite() || rounded.is_infinite() {
        s as f64
    } else {
        let there = shift(got, -place);
        ((there - whole) - left).abs()
    };
    (s, u, rounded)
}

/// A result of zero in the reference may stand for a tiny one.
fn underflows(function: &Function, args: &[f64]) -> bool {
    let tiny = matches!(
        function.name,
        "a / b"
            | "exp"
            | "exp2"
            | "exp10"
            | "erfc"
            | "pow"
            | "powr"
            | "pown"
            | "atan2"
            | "atan2pi"
            | "tgamma"
            | "ldexp"
            | "fma"
    );
    tiny && args.iter().all(|a| a.is_finite() && *a != 0.0)
}

/// An infinity in the reference is exact, not an overflow.
fn poles(function: &Function, args: &[f64]) -> bool {
    match function.name {
        "a / b" | "1 / a" | "half_divide" | "half_recip" => args[args.len() - 1] == 0.0,
        "pow" | "powr" | "pown" | "rootn" => args[0] == 0.0,
        "log" | "log2" | "log10" | "rsqrt" | "logb" | "log1p" | "atanh" | "tanpi" | "lgamma"
        | "lgamma_r" | "tgamma" => {
            !matches!(function.name, "tgamma" | "lgamma" | "lgamma_r") || args[0] <= 0.0
        }
        _ => false,
    }
}

/// One line of the table.
pub fn line(name: &str, precision: &str, bound: &Bound, m: &Measure) -> String {
    let guide = match bound.guide {
        Some(g) => g.to_string(),
        None if m.excess > 0.0 => "C-3".into(),
        None => "-".into(),
    };
    let share = if m.excess > 0.0 {
        format!(" ({:.2} of what is allowed)", m.excess)
    } else {
        String::new()
    };
    let opencl = bound.opencl.map_or("-".into(), |o| o.to_string());
    let verdict = if m.within(bound) { "" } else { "  EXCEEDED" };
    format!(
        "| {name:<12} | {precision:<6} | {guide:>5} | {opencl:>6} | {:>5} | {:>10.3} | {:>10} | {}{share}{verdict} |",
        if m.steps == u64::MAX { "wrong".into() } else { m.steps.to_string() },
        m.ulp,
        m.inputs,
        m.worst
    )
}

/// The head of the table.
pub const HEAD: &str = "| function     | type   | guide | OpenCL | steps |        ulp |     inputs | worst |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |";

/// What a statement gives in double precision for each of some numbers.
pub fn evaluate(code: &str, numbers: &[String]) -> Vec<(f64, f64)> {
    let values: Vec<f64> = numbers.iter().map(|n| n.parse().expect("a number")).collect();
    let runner = Runner::of("eval", code, 1, true, "");
    let results = runner.run(&[values.iter().map(|v| v.to_bits()).collect()]);
    values.into_iter().zip(results.into_iter().map(f64::from_bits)).collect()
}

/// Measures one function.
pub fn measure(function: &Function, double: bool, count: usize, flags: &str) -> Measure {
    let runner = Runner::new(function, double, flags);
    let mut cx = Context::new();
    let mut m = Measure::new();
    let columns = inputs(function, double, count, 0x5eed_0000 + count as u64);
    let results = runner.run(&columns);
    judge(function, double, &mut cx, &columns, &results, &mut m);
    m
}

/// Measures a function of one single-precision argument on all 2^32 of them, on all cores.
pub fn exhaust(function: &Function, flags: &str, progress: impl Fn(u64) + Sync) -> Measure {
    const CHUNKS: u64 = 1 << 12;
    const SIZE: u64 = (1 << 32) / CHUNKS;
    let next = AtomicU64::new(0);
    let work = || {
        let runner = Runner::new(function, false, flags);
        let mut cx = Context::new();
        let mut found = Vec::new();
        loop {
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            if chunk >= CHUNKS {
                return found;
            }
            let columns = vec![(chunk * SIZE..(chunk + 1) * SIZE).collect::<Vec<u64>>()];
            let results = runner.run(&columns);
            let mut m = Measure::new();
            judge(function, false, &mut cx, &columns, &results, &mut m);
            found.push((chunk, m));
            progress((chunk + 1) * SIZE);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut found = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("a measurement")).collect::<Vec<_>>()
    });
    // In order, so that of equally bad inputs the same one is reported every time.
    found.sort_by_key(|(chunk, _)| *chunk);
    let mut whole = Measure::new();
    for (_, m) in found {
        whole.add(m);
    }
    whole
}
