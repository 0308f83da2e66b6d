//! Replays the recorded matrix forms directly on the matrix functions.

use golden::{Form, Golden};
use ptx_isa::matrix::{Elem, MatrixError, Mma, Wgmma, WgmmaA, WgmmaArgs, Wmma, WmmaMove};

/// One warp's register: input slot `slot` of 32 consecutive rows.
fn input(form: &Form<'_>, warp: usize, slot: usize) -> [u32; 32] {
    std::array::from_fn(|l| form.row(warp * 32 + l)[slot] as u32)
}

fn input64(form: &Form<'_>, warp: usize, slot: usize) -> [u64; 32] {
    std::array::from_fn(|l| form.row(warp * 32 + l)[slot])
}

/// First differing row of one form, if any.
fn replay_mma(form: &Form<'_>) -> Result<(), String> {
    let m = Mma::parse(form.inst()).map_err(|e| e.to_string())?;
    assert_eq!(Mma::unpack(m.pack()), m);
    let [na, nb, nc, nd] = m.registers();
    let selector =
        form.name().split_once("_sel").map_or(0, |(_, s)| s[..1].parse().expect("selector digit"));
    let mut bad = 0;
    let mut first = String::new();
    for warp in 0..form.rows() / 32 {
        let mut check = |reg: usize, lane: usize, got: u64| {
            let want = form.output(reg, warp * 32 + lane);
            if got != want {
                bad += 1;
                if first.is_empty() {
                    first =
                        format!("warp {warp} reg {reg} lane {lane}: got {got:#x} want {want:#x}");
                }
            }
        };
        if m.a == Elem::F64 {
            let at = |from: usize, n: usize| {
                (from..from + n).map(|s| input64(form, warp, s)).collect::<Vec<_>>()
            };
            let mut d = vec![[0u64; 32]; nd];
            m.run_f64(&mut d, &at(0, na), &at(na, nb), &at(na + nb, nc))
                .map_err(|e| e.to_string())?;
            for (r, row) in d.iter().enumerate() {
                for (l, &v) in row.iter().enumerate() {
                    check(r, l, v);
                }
            }
            continue;
        }
        let at = |from: usize, n: usize| {
            (from..from + n).map(|s| input(form, warp, s)).collect::<Vec<_>>()
        };
        let (a, b, c) = (at(0, na), at(na, nb), at(na + nb, nc));
        let mut d = vec![[0u32; 32]; nd];
        if m.sparse {
            let meta = input(form, warp, na + nb + nc);
            m.run_sparse(&mut d, &a, &b, &c, &meta, selector)
        } else {
            m.run(&mut d, &a, &b, &c)
        }
        .map_err(|e| e.to_string())?;
        for (r, row) in d.iter().enumerate() {
            for (l, &v) in row.iter().enumerate() {
                check(r, l, v.into());
            }
        }
    }
    if bad == 0 { Ok(()) } else { Err(format!("{bad} differ; first {first}")) }
}

/// One warp's bytes of a table: 32 rows of slots.
fn warp_bytes(form: &Form<'_>, warp: usize) -> Vec<u8> {
    (0..32).flat_map(|l| form.row(warp * 32 + l).iter().flat_map(|v| v.to_le_bytes())).collect()
}

/// The kernel's instructions with this prefix: opcode and operand text.
fn instructions<'a>(text: &'a str, prefix: &str) -> Vec<(&'a str, &'a str)> {
    text.lines()
        .map(str::trim)
        .filter(|l| l.starts_with(prefix))
        .filter_map(|l| l.trim_end_matches(';').split_once(' '))
        .collect()
}

/// Offset after `+` in an address and the stride behind it.
fn offset_and_stride(operands: &str) -> (u64, u64) {
    let stride = operands.rsplit(", ").next().and_then(|s| s.parse().ok());
    let address = operands.split('[').nth(1).and_then(|s| s.split(']').next()).unwrap_or("");
    let offset = address.split_once('+').map_or(0, |(_, n)| n.parse().expect("offset"));
    (offset, stride.expect("stride"))
}

fn load(m: &WmmaMove, operands: &str, memory: &[u8]) -> Vec<[u64; 32]> {
    let (base, stride) = offset_and_stride(operands);
    let read = |at: &[u64; 32], n: usize| -> Result<[u64; 32], std::convert::Infallible> {
        Ok(at.map(|at| {
            let at = (base + at) as usize;
            memory[at..at + n].iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))
        }))
    };
    match m.fragment.load(m.layout, stride, read) {
        Ok(regs) => regs,
        Err(never) => match never {},
    }
}

fn narrow(regs: &[[u64; 32]]) -> Vec<[u32; 32]> {
    regs.iter().map(|r| r.map(|v| v as u32)).collect()
}

fn replay_wmma(form: &Form<'_>) -> Result<(), String> {
    let text = form.module_text().map_err(|e| e.to_string())?;
    let moves = instructions(&text, "wmma.load");
    let (op, _) = instructions(&text, "wmma.mma")[0];
    let (store, target) = instructions(&text, "wmma.store")[0];
    let mma = Wmma::parse(op).map_err(|e| e.to_string())?;
    let store = WmmaMove::parse(store).map_err(|e| e.to_string())?;
    assert_eq!(Wmma::unpack(mma.pack()), mma);
    assert_eq!(WmmaMove::unpack(store.pack()), store);
    let outs = form.info().outs.len();
    for warp in 0..form.rows() / 32 {
        let memory = warp_bytes(form, warp);
        let mut regs = Vec::new();
        for (inst, operands) in &moves {
            let m = WmmaMove::parse(inst).map_err(|e| e.to_string())?;
            regs.push(load(&m, operands, &memory));
        }
        let nd = mma.registers()[3];
        let d: Vec<[u64; 32]> = if mma.a.elem == Elem::F64 {
            let mut d = vec![[0; 32]; nd];
            mma.run_f64(&mut d, &regs[0], &regs[1], &regs[2]).map_err(|e| e.to_string())?;
            d
        } else {
            let mut d = vec![[0; 32]; nd];
            mma.run(&mut d, &narrow(&regs[0]), &narrow(&regs[1]), &narrow(&regs[2]))
                .map_err(|e| e.to_string())?;
            d.iter().map(|r| r.map(u64::from)).collect()
        };
        let mut image = vec![0u8; 32 * 8 * outs];
        let (base, stride) = offset_and_stride(target);
        let write = |at: &[u64; 32],
                     n: usize,
                     values: &[u64; 32]|
         -> Result<(), std::convert::Infallible> {
            for (at, v) in at.iter().zip(values) {
                let at = (base + at) as usize;
                image[at..at + n].copy_from_slice(&v.to_le_bytes()[..n]);
            }
            Ok(())
        };
        match store.fragment.store(store.layout, stride, &d, write) {
            Ok(()) => {}
            Err(never) => match never {},
        }
        for (i, word) in image.chunks_exact(8).enumerate() {
            let got = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            let want = form.output(i % outs, warp * 32 + i / outs);
            if got != want {
                return Err(format!("warp {warp} word {i}: got {got:#x} want {want:#x}"));
            }
        }
    }
    Ok(())
}

fn replay_wmma_load(form: &Form<'_>) -> Result<(), String> {
    let text = form.module_text().map_err(|e| e.to_string())?;
    let (inst, operands) = instructions(&text, "wmma.load")[0];
    let m = WmmaMove::parse(inst).map_err(|e| e.to_string())?;
    for warp in 0..form.rows() / 32 {
        for (r, lanes) in load(&m, operands, &warp_bytes(form, warp)).iter().enumerate() {
            for (l, &v) in lanes.iter().enumerate() {
                let want = form.output(r, warp * 32 + l);
                if v != want {
                    return Err(format!("warp {warp} reg {r} lane {l}: got {v:#x} want {want:#x}"));
                }
            }
        }
    }
    Ok(())
}

/// Shared memory of one block as the kernel fills it, and what the kernel passes besides.
struct Warpgroup {
    memory: Vec<u8>,
    a: Vec<[[u32; 32]; 4]>,
    c: Vec<Vec<[u32; 32]>>,
    metadata: Vec<[u32; 32]>,
    a_desc: u64,
    b_desc: u64,
}

/// Where the block's tile starts (1 KiB is reserved on this architecture; any start would do).
const TILE: u32 = 1024;

/// The recorded kernels: B from the first 64 threads' last slot, A from slots 0 to 3 (stored at
/// 1024 + 16 * thread), C from the slots between.
fn plain_warpgroup(form: &Form<'_>, block: usize, nd: usize) -> Warpgroup {
    let mut memory = vec![0u8; 4096];
    let row = |t: usize| form.row(block * 128 + t);
    for t in 0..128 {
        if t < 64 {
            memory[4 * t..4 * t + 4].copy_from_slice(&(row(t)[4 + nd] as u32).to_le_bytes());
        }
        for i in 0..4 {
            let at = 1024 + 16 * t + 4 * i;
            memory[at..at + 4].copy_from_slice(&(row(t)[i] as u32).to_le_bytes());
        }
    }
    let lanes = |warp: usize, slot: usize| std::array::from_fn(|l| row(warp * 32 + l)[slot] as u32);
    let b_desc = u64::from(TILE >> 4) | 0x10_0008_0000;
    Warpgroup {
        memory,
        a: (0..4).map(|w| std::array::from_fn(|r| lanes(w, r))).collect(),
        c: (0..4).map(|w| (0..nd).map(|r| lanes(w, 4 + r)).collect()).collect(),
        metadata: vec![[0; 32]; 4],
        a_desc: b_desc + 64,
        b_desc,
    }
}

fn replay_wgmma(form: &Form<'_>) -> Result<(), String> {
    let m = Wgmma::parse(form.inst()).map_err(|e| e.to_string())?;
    assert_eq!(Wgmma::unpack(m.pack()), m);
    let [_, nd] = m.registers();
    let text = form.module_text().map_err(|e| e.to_string())?;
    let (_, operands) = instructions(&text, "wgmma.mma_async")[0];
    let tail: Vec<i32> = operands
        .split("%ps")
        .nth(1)
        .expect("scale-d")
        .split(", ")
        .skip(1)
        .map(|v| v.parse().expect("immediate"))
        .collect();
    let one = |i: usize| tail.get(i).copied().unwrap_or(0);
    let in_registers = operands.matches('{').count() == 2;
    let scale_d = text.contains("setp.eq.b32 %ps");
    let (mut bad, mut first) = (0, String::new());
    for block in 0..form.rows() / 128 {
        let group = if text.contains("tile[16384]") {
            filled_warpgroup(form, &text, block, nd)
        } else {
            plain_warpgroup(form, block, nd)
        };
        let read = |at: u32, out: &mut [u8]| -> Result<(), MatrixError> {
            let from = at.checked_sub(TILE).ok_or(MatrixError::SharedAddress(at))? as usize;
            let bytes =
                group.memory.get(from..from + out.len()).ok_or(MatrixError::SharedAddress(at))?;
            out.copy_from_slice(bytes);
            Ok(())
        };
        for warp in 0..4 {
            let mut d = group.c[warp].clone();
            let selector = operands
                .split("%a5, ")
                .nth(1)
                .map(|s| s.split(',').next().expect("selector").parse().expect("selector"));
            let args = WgmmaArgs {
                b: group.b_desc,
                scale_d,
                negate_a: one(0) == -1,
                negate_b: one(1) == -1,
                transpose_a: !in_registers && one(2) == 1,
                transpose_b: one(if in_registers { 2 } else { 3 }) == 1,
                metadata: selector.map(|s| (&group.metadata[warp], s)),
            };
            let a = if in_registers {
                WgmmaA::Registers(&group.a[warp])
            } else {
                WgmmaA::Shared(group.a_desc)
            };
            m.run(warp, &mut d, a, &args, read).map_err(|e| e.to_string())?;
            for (r, lanes) in d.iter().enumerate() {
                for (l, &got) in lanes.iter().enumerate() {
                    let want = form.output(r, block * 128 + warp * 32 + l);
                    if u64::from(got) != want {
                        bad += 1;
                        if first.is_empty() {
                            first = format!(
                                "block {block} warp {warp} reg {r} lane {l}: got {got:#x} want {want:#x}"
                            );
                        }
                    }
                }
            }
        }
    }
    if bad == 0 { Ok(()) } else { Err(format!("{bad} of {} differ; {first}", form.rows() * nd)) }
}

/// Kernels that fill 16 KiB of shared memory from 16 slots per thread.
fn filled_warpgroup(form: &Form<'_>, text: &str, block: usize, nd: usize) -> Warpgroup {
    let mut memory = vec![0u8; 16384];
    let row = |t: usize| form.row(block * 128 + t);
    for t in 0..128 {
        for i in 0..16 {
            memory[1024 * i + 8 * t..][..8].copy_from_slice(&row(t)[i].to_le_bytes());
        }
    }
    let constant = |name: &str| {
        let line = text
            .lines()
            .find(|l| l.contains(&format!("add.u64 {name}, %base, ")))
            .expect("descriptor");
        let hex = line.rsplit("0x").next().expect("constant").trim_end_matches(';');
        u64::from(TILE >> 4) + u64::from_str_radix(hex, 16).expect("constant")
    };
    let lanes = |warp: usize, word: usize| -> [u32; 32] {
        std::array::from_fn(|l| (row(warp * 32 + l)[word / 2] >> (32 * (word % 2))) as u32)
    };
    let c = instructions(text, "mov.")
        .iter()
        .filter(|(_, o)| o.starts_with("%f") || o.starts_with("%d") && o.contains(", 0x"))
        .map(|(_, o)| {
            let v = o.split(", ").nth(1).expect("value");
            let v = v.strip_prefix("0f").or(v.strip_prefix("0x")).expect("constant");
            [u32::from_str_radix(v, 16).expect("constant"); 32]
        })
        .take(nd)
        .collect::<Vec<_>>();
    let tf32 = text.contains("0x11111111");
    let metadata = |w: usize| {
        lanes(w, 5).map(|v| {
            if tf32 { (v & 0x1111_1111) * 10 + 0x4444_4444 } else { v & 0x5555_5555 | 0x8888_8888 }
        })
    };
    Warpgroup {
        memory,
        a: (0..4).map(|w| std::array::from_fn(|r| lanes(w, r))).collect(),
        c: vec![c; 4],
        metadata: (0..4).map(metadata).collect(),
        a_desc: constant("%da"),
        b_desc: constant("%db"),
    }
}

/// Replays a group of the recordings beside the repository and of those in it.
fn replay(group: &str, one: impl Fn(&Form<'_>) -> Result<(), String>) {
    let shared = Golden::shared().expect("the repository holds recordings");
    let (mut passed, mut failed) = (0, 0);
    for golden in [&shared, &Golden::embedded()] {
        for form in golden.forms().filter(|f| f.group() == group) {
            match one(&form) {
                Ok(()) => passed += 1,
                Err(e) => {
                    failed += 1;
                    println!("MISMATCH {}: {e}", form.name());
                }
            }
        }
    }
    println!("{group}: {passed} passed, {failed} failed");
    assert!(failed == 0 && passed > 0);
}

#[test]
fn recorded_mma_forms() {
    replay("mma", replay_mma);
}

#[test]
fn recorded_wmma_forms() {
    replay("wmma", replay_wmma);
    replay("wmma_load", replay_wmma_load);
}

#[test]
fn recorded_wgmma_forms() {
    replay("wgmma", replay_wgmma);
}
