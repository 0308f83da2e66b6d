//! Replays the recorded matrix forms directly on the matrix functions.

use golden::{Form, Golden};
use ptx_isa::matrix::{Elem, Mma};

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
