//! Proves the approximate functions on all 2^32 inputs against checksums recorded on the hardware.
//!
//! ```text
//! cargo run --release -p ptx-isa --example prove_mufu -- [--all] [--every N] [--dir DIR] [FORM ...]
//! ```
//!
//! `--all` adds the other unary instructions that have checksums (conversions, rounded reciprocals and roots, bit counts),
//! computed through their rows and micro-ops: hours for all blocks on one core, so best with `--every 64`.
//! `--every N` checks every N-th block of 2^20 inputs, `FORM` restricts to instructions whose name contains it. The folder
//! holds `index.json` (the forms, in order) and `hashes.bin`: per form 4096 sums, little endian, of
//! `(2i + 1) * output(i)` modulo 2^64 over block b's inputs `b << 20 | i`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use ptx_isa::meaning::{Arg, Cx, ModuleInfo, Part, Src, Uop, V};
use ptx_isa::mufu::{F32_FORMS, LANES, UnaryLanes};
use ptx_isa::types::{Kind, Target, Ty, ptx};
use ptx_isa::{Sem, table, uop};

const BLOCKS: usize = 4096;
const BLOCK_BITS: u32 = 20;

/// The forms that have checksums, in order.
fn forms(index: &str) -> Option<Vec<&str>> {
    let list = index.split_once("\"hash_ops\"")?.1.split_once('[')?.1.split_once(']')?.0;
    Some(list.split(',').map(|entry| entry.trim().trim_matches('"')).collect())
}

/// The recorded sum of every block of form number `position`.
fn recorded(sums: &[u8], position: usize) -> Option<Vec<u64>> {
    let bytes = sums.get(position * BLOCKS * 8..(position + 1) * BLOCKS * 8)?;
    Some(
        bytes
            .chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")))
            .collect(),
    )
}

/// How a form is computed.
enum Engine {
    Lanes(UnaryLanes, bool),
    Row(Row),
}

/// A unary instruction as its row lowers it.
struct Row {
    uops: Vec<Uop>,
    temps: [u32; 3],
    source: Ty,
    result: Ty,
}

const SOURCE: u32 = 0;
const RESULT: u32 = 1;
const CARRY: u32 = 2;

impl Row {
    /// The instruction named `name`, if it has a row and needs registers alone.
    fn new(name: &str) -> Option<Row> {
        let found = table().find(name).ok()?;
        let m = found.iter().find(|m| m.row.until.is_none() && m.shape.slots.len() == 2)?;
        let ty = |i: usize| m.slot_ty(&m.shape.slots[i]);
        let (result, source) = (ty(0)?, ty(1)?);
        let register = |ty: Ty, n: u32| {
            let v = V { kind: ty.kind(), src: Src::Reg(n) };
            Arg::Val { v, ty, part: Part::Whole }
        };
        let args = [register(result, RESULT), register(source, SOURCE)];
        let Sem::Ops(meaning) = m.row.sem else { return None };
        let module = ModuleInfo { target: Target::plain(90), version: ptx(9, 0), address_bits: 64 };
        let mut uops = Vec::new();
        let carry = V { kind: Kind::P, src: Src::Reg(CARRY) };
        let mut cx = Cx::new(m, module, &args, carry, &mut uops);
        meaning(&mut cx);
        let temps = cx.finish().ok()?;
        let pure = uops.iter().all(|u| matches!(u, Uop::Pure { .. }));
        pure.then_some(Row { uops, temps, source, result })
    }

    fn eval(&self, input: u32, temps: &mut [Vec<u64>; 3]) -> u32 {
        let cut = |v: u64, ty: Ty| if ty.bits() < 32 { v & ((1 << ty.bits()) - 1) } else { v };
        let mut regs = [cut(input.into(), self.source), 0, 0];
        for u in &self.uops {
            let Uop::Pure { op, dst, args, k } = u else { continue };
            let value = |v: &V| match v.src {
                Src::Reg(r) => regs[r as usize],
                Src::Temp(t) => temps[v.kind as usize][t as usize],
                Src::Const(c) => c,
                _ => 0,
            };
            let result = uop::eval(*op, [value(&args[0]), value(&args[1]), value(&args[2])], *k);
            match dst.src {
                Src::Temp(t) => temps[dst.kind as usize][t as usize] = result,
                Src::Reg(r) => regs[r as usize] = result,
                _ => {}
            }
        }
        cut(regs[RESULT as usize], self.result) as u32
    }
}

fn block_sum(engine: &Engine, block: usize) -> u64 {
    let mut sum = 0u64;
    let mut out = [0; LANES];
    let mut temps = [const { Vec::new() }; 3];
    if let Engine::Row(row) = engine {
        temps = row.temps.map(|n| vec![0; n as usize]);
    }
    for first in (0..1u32 << BLOCK_BITS).step_by(LANES) {
        let input = std::array::from_fn(|lane| (block as u32) << BLOCK_BITS | first | lane as u32);
        match engine {
            Engine::Lanes(form, ftz) => form(&input, &mut out, *ftz),
            Engine::Row(row) => out = input.map(|x| row.eval(x, &mut temps)),
        }
        for (lane, &value) in out.iter().enumerate() {
            let weight = u64::from(2 * (first | lane as u32) + 1);
            sum = sum.wrapping_add(weight.wrapping_mul(u64::from(value)));
        }
    }
    sum
}

fn main() -> ExitCode {
    let mut every = 1;
    let mut dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/mufu"));
    let mut wanted = Vec::new();
    let mut all = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => all = true,
            "--every" => match arguments.next().and_then(|n| n.parse().ok()) {
                Some(n) if n > 0 => every = n,
                _ => return usage("--every needs a number above zero"),
            },
            "--dir" => match arguments.next() {
                Some(path) => dir = path.into(),
                None => return usage("--dir needs a folder"),
            },
            other if other.starts_with('-') => return usage(&format!("unknown option {other}")),
            other => wanted.push(other.to_owned()),
        }
    }
    let read = |name: &str| {
        std::fs::read(dir.join(name)).map_err(|e| format!("{}: {e}", dir.join(name).display()))
    };
    let (index, sums) = match (read("index.json"), read("hashes.bin")) {
        (Ok(index), Ok(sums)) => (String::from_utf8_lossy(&index).into_owned(), sums),
        (Err(e), _) | (_, Err(e)) => return usage(&e),
    };

    println!("{:30} {:>8} {:>8} {:>12}", "form", "passed", "failed", "results/s");
    let (mut passed_all, mut failed_all) = (0, 0);
    let Some(names) = forms(&index) else { return usage("index.json lists no forms") };
    for (position, name) in names.into_iter().enumerate() {
        let fast = F32_FORMS.into_iter().find(|(n, ..)| *n == name);
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let engine = match (fast, all) {
            (Some((_, form, ftz)), _) => Engine::Lanes(form, ftz),
            (None, false) => continue,
            (None, true) => match Row::new(name) {
                Some(row) => Engine::Row(row),
                None => {
                    println!("{name:30} has no row");
                    continue;
                }
            },
        };
        let Some(expected) = recorded(&sums, position) else {
            return usage(&format!("no checksums for {name}"));
        };
        let start = Instant::now();
        let blocks = (0..BLOCKS).step_by(every);
        let failed: Vec<usize> =
            blocks.clone().filter(|&b| block_sum(&engine, b) != expected[b]).collect();
        let rate = (blocks.len() << BLOCK_BITS) as f64 / start.elapsed().as_secs_f64();
        let passed = blocks.len() - failed.len();
        println!("{name:30} {passed:8} {:8} {rate:12.3e}", failed.len());
        for block in failed.iter().take(8) {
            println!("    differs in {:#010x}..", block << BLOCK_BITS);
        }
        passed_all += passed;
        failed_all += failed.len();
    }
    println!("{passed_all} passed, {failed_all} failed");
    if failed_all == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!(
        "prove_mufu: {problem}\nusage: prove_mufu [--all] [--every N] [--dir DIR] [FORM ...]"
    );
    ExitCode::FAILURE
}
