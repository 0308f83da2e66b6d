//! Replays the recorded matrix forms directly on the matrix functions.

use golden::{Form, Golden};
use ptx_isa::matrix::{Elem, Mma, Wmma, WmmaMove};

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
    let [na, nb, nc, nd] = m.registers();
    let selector = form
        .name()
        .split_once("_sel")
        .map_or(0, |(_, s)| s[..1].parse().expect("selector digit"));
    let mut bad = 0;
    let mut first = String::new();
    for warp in 0..form.rows() / 32 {
        let mut check = |reg: usize, lane: usize, got: u64| {
            let want = form.output(reg, warp * 32 + lane);
            if got != want {
                bad += 1;
                if first.is_empty() {
                    first = format!("warp {warp} reg {reg} lane {lane}: got {got:#x} want {want:#x}");
                }
            }
        };
        if m.a == Elem::F64 {
            let at = |from: usize, n: usize| (from..from + n).map(|s| input64(form, warp, s)).collect::<Vec<_>>();
            let mut d = vec![[0u64; 32]; nd];
            m.run_f64(&mut d, &at(0, na), &at(na, nb), &at(na + nb, nc)).map_err(|e| e.to_string())?;
            for (r, row) in d.iter().enumerate() {
                for (l, &v) in row.iter().enumerate() {
                    check(r, l, v);
                }
            }
            continue;
        }
        let at = |from: usize, n: usize| (from..from + n).map(|s| input(form, warp, s)).collect::<Vec<_>>();
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
    (0..32)
        .flat_map(|l| form.row(warp * 32 + l).iter().flat_map(|v| v.to_le_bytes()))
        .collect()
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
    let read = |at: u64, n: usize| -> Result<u64, std::convert::Infallible> {
        let at = (base + at) as usize;
        Ok(memory[at..at + n].iter().rev().fold(0, |v, &b| v << 8 | u64::from(b)))
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
        let write = |at: u64, n: usize, v: u64| -> Result<(), std::convert::Infallible> {
            let at = (base + at) as usize;
            image[at..at + n].copy_from_slice(&v.to_le_bytes()[..n]);
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

/// The recordings to replay: those beside the repository, or the folder in `MATRIX_GOLDEN`.
fn recordings() -> Option<Golden> {
    match std::env::var_os("MATRIX_GOLDEN") {
        Some(dir) => Some(Golden::load(dir.as_ref()).expect("recordings in MATRIX_GOLDEN")),
        None => Golden::shared(),
    }
}

fn replay(group: &str, one: impl Fn(&Form<'_>) -> Result<(), String>) {
    let Some(golden) = recordings() else {
        println!("skipped: ../shared/isa-golden is not there");
        return;
    };
    let (mut passed, mut failed) = (0, 0);
    for form in golden.forms().filter(|f| f.group() == group) {
        match one(&form) {
            Ok(()) => passed += 1,
            Err(e) => {
                failed += 1;
                println!("MISMATCH {}: {e}", form.name());
            }
        }
    }
    println!("{group}: {passed} passed, {failed} failed");
    assert_eq!(failed, 0);
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
