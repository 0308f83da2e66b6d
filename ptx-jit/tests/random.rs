//! Random kernels: nested branches, loops, predicates, shared memory, barriers, mixed types;
//! interpreter and compiled code must leave equal memory.

mod common;

use common::{Case, module};

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }
    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len() as u32) as usize]
    }
}

/// Registers: `%r0..7` integers, `%f0..5` floats, `%d0..3` doubles, `%l0..3` 64-bit integers,
/// `%p0..3` predicates.
struct Writer {
    rng: Rng,
    text: String,
    labels: u32,
    loops: u32,
    shuffles: bool,
}

impl Writer {
    fn r(&mut self) -> u32 {
        self.rng.below(8)
    }
    fn f(&mut self) -> u32 {
        self.rng.below(6)
    }
    fn q(&mut self) -> u32 {
        self.rng.below(4)
    }
    fn line(&mut self, s: &str) {
        let guard = match self.rng.below(8) {
            0 => format!("@%p{} ", self.q()),
            1 => format!("@!%p{} ", self.q()),
            _ => String::new(),
        };
        self.text.push_str(&format!("{guard}{s};\n"));
    }
    fn op(&mut self) {
        let (a, b, c, d) = (self.r(), self.r(), self.r(), self.r());
        let (x, y, z, w) = (self.f(), self.f(), self.f(), self.f());
        let (p, q, s, t) = (self.q(), self.q(), self.q(), self.q());
        let imm = [0u32, 1, 2, 5, 31, 255, 0x7fff_ffff, 0xffff_ff00][self.rng.below(8) as usize];
        let line = match self.rng.below(40) {
            0 => {
                let op =
                    self.rng.pick(&["add", "sub", "mul.lo", "min", "max", "mul.hi", "div", "rem"]);
                let ty = self.rng.pick(&["s32", "u32"]);
                format!("{op}.{ty} %r{a}, %r{b}, %r{c}")
            }
            1 => format!("{}.b32 %r{a}, %r{b}, %r{c}", self.rng.pick(&["and", "or", "xor"])),
            2 => format!("add.s32 %r{a}, %r{b}, {imm}"),
            3 => format!(
                "{} %r{a}, %r{b}, {}",
                self.rng.pick(&["shl.b32", "shr.u32", "shr.s32"]),
                self.rng.below(40)
            ),
            4 => format!("shl.b32 %r{a}, %r{b}, %r{c}"),
            5 => format!("mad.lo.s32 %r{a}, %r{b}, %r{c}, %r{d}"),
            6 => format!(
                "{}.f32 %f{x}, %f{y}, %f{z}",
                self.rng.pick(&[
                    "add",
                    "sub",
                    "mul",
                    "min",
                    "max",
                    "add.ftz",
                    "mul.ftz",
                    "div.rn",
                    "add.rz",
                    "div.approx"
                ])
            ),
            7 => format!("fma.rn.f32 %f{x}, %f{y}, %f{z}, %f{w}"),
            8 => format!(
                "{}.f32 %f{x}, %f{y}",
                self.rng.pick(&[
                    "abs",
                    "neg",
                    "sqrt.rn",
                    "rcp.approx",
                    "ex2.approx",
                    "sin.approx",
                    "rsqrt.approx"
                ])
            ),
            9 => format!("mov.b32 %r{a}, %f{x}"),
            10 => format!("mov.b32 %f{x}, %r{a}"),
            11 => format!("cvt.rn.f32.{} %f{x}, %r{a}", self.rng.pick(&["s32", "u32"])),
            12 => format!("cvt.rzi.{}.f32 %r{a}, %f{x}", self.rng.pick(&["s32", "u32"])),
            13 => format!(
                "setp.{}.s32 %p{p}, %r{a}, %r{b}",
                self.rng.pick(&["lt", "le", "eq", "ne", "gt", "ge"])
            ),
            14 => format!(
                "setp.{}.f32 %p{p}, %f{x}, %f{y}",
                self.rng.pick(&["lt", "le", "eq", "ne", "gtu", "num", "equ", "neu"])
            ),
            15 => {
                format!("setp.{}.u32 %p{p}, %r{a}, {imm}", self.rng.pick(&["lo", "ls", "hi", "hs"]))
            }
            16 => format!("selp.b32 %r{a}, %r{b}, %r{c}, %p{p}"),
            17 => format!("selp.f32 %f{x}, %f{y}, %f{z}, %p{p}"),
            18 => format!("{}.pred %p{p}, %p{q}, %p{s}", self.rng.pick(&["and", "or", "xor"])),
            19 => format!("mul.wide.{} %l{p}, %r{a}, %r{b}", self.rng.pick(&["s32", "u32"])),
            20 => format!(
                "{}.s64 %l{p}, %l{q}, %l{s}",
                self.rng.pick(&["add", "sub", "mul.lo", "min", "max"])
            ),
            21 => format!("cvt.{} %l{p}, %r{a}", self.rng.pick(&["s64.s32", "u64.u32"])),
            22 => format!("cvt.u32.u64 %r{a}, %l{p}"),
            23 => format!(
                "{}.f64 %d{p}, %d{q}, %d{s}",
                self.rng.pick(&["add", "sub", "mul", "min", "div.rn"])
            ),
            24 => format!("fma.rn.f64 %d{p}, %d{q}, %d{s}, %d{t}"),
            25 => format!("cvt.f64.f32 %d{p}, %f{x}"),
            26 => format!("cvt.rn.f32.f64 %f{x}, %d{p}"),
            27 => format!("setp.{}.f64 %p{p}, %d{q}, %d{s}", self.rng.pick(&["lt", "ge", "ne"])),
            28 => format!("{}.b32 %r{a}, %r{b}", self.rng.pick(&["popc", "clz", "brev", "not"])),
            29 => format!(
                "{} %r{a}, %r{b}, {}, {}",
                self.rng.pick(&["bfe.u32", "bfe.s32"]),
                self.rng.below(33),
                self.rng.below(33)
            ),
            30 => format!(
                "shr.{} %l{p}, %l{q}, {}",
                self.rng.pick(&["u64", "s64"]),
                self.rng.below(70)
            ),
            31 => {
                // A gather from the input.
                self.text.push_str(&format!(
                    "and.b32 %a0, %r{a}, 1020;\ncvt.u64.u32 %x0, %a0;\nadd.u64 %x0, %x0, %in;\n"
                ));
                let ty = self.rng.pick(&["u32 %r", "f32 %f", "s16 %r", "u8 %r"]).to_string();
                let n = if ty.contains("%f") { x } else { b };
                format!("ld.global.{ty}{n}, [%x0]")
            }
            32 => {
                // The thread's own words of the output.
                let n = self.rng.below(4) * 4 + 128;
                if self.rng.below(2) == 0 {
                    format!("st.global.u32 [%out+{n}], %r{a}")
                } else {
                    format!("ld.global.u32 %r{a}, [%out+{n}]")
                }
            }
            33 => {
                // What is known of the thread's number.
                let n = self.rng.below(7);
                let c = [31u32, 32, 63, 64, 96, 5, 0xffff_ffe0, 24][self.rng.below(8) as usize];
                self.text.push_str("mov.u32 %a0, %tid.x;\n");
                match self.rng.below(3) {
                    0 => format!("{} %r{a}, %a0, {n}", self.rng.pick(&["shr.u32", "shr.s32"])),
                    1 => format!("{}.b32 %r{a}, %a0, {c}", self.rng.pick(&["and", "or", "xor"])),
                    _ => {
                        let op = self.rng.pick(&["lt", "le", "gt", "ge", "eq"]);
                        let ty = self.rng.pick(&["s32", "u32"]);
                        if self.rng.below(2) == 0 {
                            format!("setp.{op}.{ty} %p{p}, %a0, {c}")
                        } else {
                            format!("setp.{op}.{ty} %p{p}, {c}, %a0")
                        }
                    }
                }
            }
            34 => {
                // Sums and bits that do not depend on the order of threads.
                let n = self.rng.below(4) * 4;
                let op = self.rng.pick(&["add.u32", "min.s32", "max.u32", "xor.b32"]);
                // Each place has one operation.
                let n = n + 16
                    * match op {
                        "add.u32" => 0,
                        "min.s32" => 1,
                        "max.u32" => 2,
                        _ => 3,
                    };
                format!("red.global.{op} [%acc+{n}], %r{a}")
            }
            35 => {
                let n = self.rng.below(4) * 4 + 128;
                let op = self.rng.pick(&["add.u32", "exch.b32", "or.b32", "inc.u32"]);
                if self.rng.below(2) == 0 {
                    format!("atom.global.{op} %r{a}, [%out+{n}], %r{b}")
                } else {
                    format!("atom.shared.{op} %r{a}, [%sh+4], %r{b}")
                }
            }
            36 => format!(
                "{} %r{a}, %r{b}, %r{c}",
                self.rng.pick(&["add.f16x2", "mul.f16x2", "min.f16x2", "max.f16x2"])
            ),
            37 => {
                // A word of an array in local memory.
                self.text.push_str(&format!(
                    "and.b32 %a0, %r{b}, 60;\nmov.u32 %ar, arr;\nadd.u32 %ar, %ar, %a0;\n"
                ));
                if self.rng.below(2) == 0 {
                    format!("st.local.u32 [%ar], %r{a}")
                } else {
                    format!("ld.local.u32 %r{a}, [%ar]")
                }
            }
            38 => {
                self.text.push_str(&format!("call.uni (%r{a}), mix, (%r{b}, %r{c});\n"));
                return;
            }
            _ => {
                let n = self.rng.below(2) * 4;
                if self.rng.below(2) == 0 {
                    format!("st.shared.u32 [%sh+{n}], %r{a}")
                } else {
                    format!("ld.shared.u32 %r{a}, [%sh+{n}]")
                }
            }
        };
        self.line(&line);
    }
    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }
    fn block(&mut self, depth: u32, uniform: bool) {
        for _ in 0..1 + self.rng.below(3) {
            for _ in 0..self.rng.below(6) {
                self.op();
            }
            if depth == 0 {
                continue;
            }
            match self.rng.below(10) {
                8 => {
                    // A table of three ways.
                    let (a, n) = (self.r(), self.label());
                    let end = self.label();
                    self.text.push_str(&format!(
                        "rem.u32 %a0, %r{a}, 3;\nT{n}: .branchtargets $T{n}a, $T{n}b, $L{end};\nbrx.idx %a0, T{n};\n$T{n}a:\n"
                    ));
                    self.block(0, false);
                    if self.rng.below(2) == 0 {
                        self.text.push_str(&format!("bra $L{end};\n"));
                    }
                    self.text.push_str(&format!("$T{n}b:\n"));
                    self.block(0, false);
                    self.text.push_str(&format!("$L{end}:\n"));
                }
                9 if uniform && self.shuffles => {
                    // Whole warps go different ways, and talk there.
                    let (end, a, b) = (self.label(), self.r(), self.r());
                    let (op, c) = [("lt", 32), ("gt", 31), ("ge", 64), ("le", 63)]
                        [self.rng.below(4) as usize];
                    let n = self.rng.below(32);
                    self.text.push_str(&format!(
                        "mov.u32 %a0, %tid.x;\nsetp.{op}.u32 %w, %a0, {c};\n@%w bra $L{end};\n"
                    ));
                    self.block(depth - 1, false);
                    self.text.push_str(&format!(
                        "shfl.sync.bfly.b32 %r{a}, %r{b}, {n}, 31, -1;\n$L{end}:\n"
                    ));
                }
                0 | 1 => {
                    let (no, end) = (self.label(), self.label());
                    let p = self.q();
                    self.text.push_str(&format!("@%p{p} bra $L{no};\n"));
                    self.block(depth - 1, false);
                    self.text.push_str(&format!("bra $L{end};\n$L{no}:\n"));
                    self.block(depth - 1, false);
                    self.text.push_str(&format!("$L{end}:\n"));
                }
                2 => {
                    let end = self.label();
                    let p = self.q();
                    self.text.push_str(&format!("@!%p{p} bra $L{end};\n"));
                    self.block(depth - 1, false);
                    self.text.push_str(&format!("$L{end}:\n"));
                }
                3 if self.loops < 8 => {
                    // Each lane its own number of turns, with a way out in the middle.
                    let (top, end, n) = (self.label(), self.label(), self.loops);
                    self.loops += 1;
                    let a = self.r();
                    self.text.push_str(&format!("and.b32 %n{n}, %r{a}, 7;\n$L{top}:\nsetp.eq.u32 %g{n}, %n{n}, 0;\n@%g{n} bra $L{end};\nsub.u32 %n{n}, %n{n}, 1;\n"));
                    self.block(depth - 1, false);
                    if self.rng.below(2) == 0 {
                        let p = self.q();
                        self.text.push_str(&format!("@%p{p} bra $L{end};\n"));
                        self.block(0, false);
                    }
                    if self.rng.below(2) == 0 {
                        let p = self.q();
                        self.text.push_str(&format!("@%p{p} bra $L{top};\n"));
                        self.block(0, false);
                    }
                    self.text.push_str(&format!("bra $L{top};\n$L{end}:\n"));
                }
                4 if self.loops < 8 => {
                    // The same number of turns for all.
                    let (top, n) = (self.label(), self.loops);
                    self.loops += 1;
                    let turns = 1 + self.rng.below(4);
                    self.text.push_str(&format!("mov.u32 %n{n}, {turns};\n$L{top}:\n"));
                    self.block(depth - 1, uniform);
                    self.text.push_str(&format!("sub.u32 %n{n}, %n{n}, 1;\nsetp.ne.u32 %g{n}, %n{n}, 0;\n@%g{n} bra $L{top};\n"));
                }
                5 if uniform => {
                    let a = self.r();
                    let b = self.r();
                    self.text.push_str(&format!("bar.sync 0;\nst.shared.u32 [%sh], %r{a};\nbar.sync 0;\nld.shared.u32 %r{b}, [%nx];\nbar.sync 0;\n"));
                }
                6 if uniform && self.shuffles => {
                    let (a, b) = (self.r(), self.r());
                    let n = self.rng.below(32);
                    let mode = self.rng.pick(&["bfly", "idx"]);
                    self.text
                        .push_str(&format!("shfl.sync.{mode}.b32 %r{a}, %r{b}, {n}, 31, -1;\n"));
                }
                _ => {}
            }
        }
    }
}

fn kernel(seed: u64) -> String {
    let mut w = Writer {
        rng: Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        text: String::new(),
        labels: 0,
        loops: 0,
        shuffles: seed.is_multiple_of(3),
    };
    w.text.push_str(
        ".reg .b32 %r<8>; .reg .f32 %f<6>; .reg .f64 %d<4>; .reg .b64 %l<4>; .reg .pred %p<4>;
.reg .b32 %n<8>; .reg .pred %g<8>; .reg .b32 %a<4>; .reg .b64 %x<4>; .reg .b64 %in, %out, %acc; .reg .b32 %sh, %nx, %ar; .reg .pred %w;
.local .align 8 .b8 arr[64];
.shared .align 8 .b8 s[1024];
ld.param.u64 %in, [a]; ld.param.u64 %out, [b]; ld.param.u64 %acc, [c];
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
mad.lo.u32 %a1, %r1, %r2, %r0; mul.wide.u32 %x1, %a1, 144; add.u64 %out, %out, %x1;
mul.wide.u32 %x2, %a1, 4; add.u64 %x2, %x2, %in; ld.global.u32 %r3, [%x2]; ld.global.u32 %r4, [%x2+256];
shl.b32 %a2, %r0, 3; mov.u32 %sh, s; add.u32 %sh, %sh, %a2;
add.u32 %a3, %r0, 5; rem.u32 %a3, %a3, %r2; shl.b32 %a3, %a3, 3; mov.u32 %nx, s; add.u32 %nx, %nx, %a3;
mov.u32 %r5, 3; xor.b32 %r6, %r3, %r0; mov.u32 %r7, -7;
mov.b32 %f0, %r3; cvt.rn.f32.s32 %f1, %r0; mov.f32 %f2, 0f3fc00000; mov.b32 %f3, %r4; neg.f32 %f4, %f1; mov.f32 %f5, 0f00000001;
cvt.f64.f32 %d0, %f1; mov.f64 %d1, 0d3ff8000000000000; cvt.f64.f32 %d2, %f0; cvt.rn.f64.u32 %d3, %r4;
cvt.u64.u32 %l0, %r3; mov.u64 %l1, -1; mul.wide.s32 %l2, %r3, %r4; mov.u64 %l3, 77;
setp.lt.u32 %p0, %r0, 9; and.b32 %a0, %r3, 1; setp.eq.u32 %p1, %a0, 1; setp.gt.s32 %p2, %r4, 0; setp.eq.u32 %p3, %r1, 1;
st.shared.v2.u32 [%sh], {%r0, %r3};\nbar.sync 0;\n",
    );
    w.block(3, true);
    for n in 0..8 {
        w.text.push_str(&format!("st.global.u32 [%out+{}], %r{n};\n", n * 4));
    }
    for n in 0..6 {
        w.text.push_str(&format!("st.global.f32 [%out+{}], %f{n};\n", 32 + n * 4));
    }
    for n in 0..4 {
        w.text.push_str(&format!(
            "st.global.f64 [%out+{}], %d{n};\nst.global.u64 [%out+{}], %l{n};\n",
            56 + n * 8,
            88 + n * 8
        ));
    }
    w.text.push_str("ret;\n");
    let text = module("sm_80", ".param .u64 a, .param .u64 b, .param .u64 c", &w.text);
    text.replacen(
        ".visible .entry",
        ".func (.reg .b32 o) mix (.reg .b32 x, .reg .b32 y)\n{\n.reg .pred p;\nsetp.lt.s32 p, x, y;\n\
         @p bra $less;\nmad.lo.s32 o, x, 5, y;\nret;\n$less:\nxor.b32 o, x, y;\nret;\n}\n.visible .entry",
        1,
    )
}

#[test]
fn random_kernels() {
    let number =
        |name: &str, or: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let (first, count) = (number("RANDOM_FIRST", 1), number("RANDOM_COUNT", 120));
    let (mut same, mut refused, mut bad) = (0, 0, Vec::new());
    for seed in first..first + count {
        let text = kernel(seed);
        let block = [32, 64, 20, 128, 7, 100][seed as usize % 6];
        let mut case = Case::new(&text, "k", [2, 1, 1], [block, 1, 1])
            .unwrap_or_else(|e| panic!("{seed}: {e}"));
        case.words((0..1024u32).map(|i| match i % 7 {
            0 => 0x7fc0_1234,
            1 => i.wrapping_mul(0x9e37_79b9),
            2 => ((i as f32) * 0.37 - 40.0).to_bits(),
            3 => i,
            4 => 0x0000_1000 + i,
            5 => 0xff80_0000,
            _ => i.wrapping_mul(2654435761) >> 12,
        }));
        case.buffer(&vec![0; 2 * block as usize * 144]);
        case.buffer(&[0; 64]);
        match case.compare() {
            Ok(()) => same += 1,
            Err(e) if e.starts_with("unsupported") => {
                refused += 1;
                if refused <= 3 {
                    println!("{seed}: {e}");
                }
            }
            Err(e) => {
                println!("{seed}: {e}");
                bad.push(seed);
            }
        }
    }
    println!("{same} equal, {refused} not compiled, {} differ: {bad:?}", bad.len());
    assert!(bad.is_empty());
    assert!(same > refused, "most kernels must be compiled");
}

/// Some of them once more with the shorter vectors that the processor has.
#[test]
fn with_short_vectors() {
    common::again_with_short_vectors("with_short_vectors", &[("RANDOM_COUNT", "40")]);
}

#[test]
#[ignore = "prints one kernel: RANDOM_FIRST"]
fn show() {
    let seed = std::env::var("RANDOM_FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let text = kernel(seed);
    println!("{text}");
    let block = [32, 64, 20, 128, 7, 100][seed as usize % 6];
    let case = Case::new(&text, "k", [2, 1, 1], [block, 1, 1]).unwrap();
    println!(
        "{}",
        ptx_jit::dump(&case.program, [block, 1, 1], None, ptx_jit::Options::default()).unwrap()
    );
}
