//! Replays the recorded floating-point forms on the scalar numerics.

#[path = "num/dispatch.rs"]
mod dispatch;

use std::collections::BTreeMap;

use golden::{Form, Golden};

/// Forms of the groups below that are not scalar numerics: approximate functions (a unit of their
/// own), integer comparisons, and moves.
fn not_ours(f: &Form) -> bool {
    let inst = f.inst();
    f.info().class != "exact"
        || matches!(f.group(), "setp" | "set") && !dispatch::is_float_compare(inst)
        || f.group() == "select_move" && !(inst.starts_with("slct") && inst.ends_with(".f32"))
        || f.group() == "atom" && !dispatch::is_scalar_float_atomic(inst)
}

#[test]
fn recorded_forms() {
    // Another set of operands and results can be replayed: GOLDEN_SET=folder.
    let set = std::env::var_os("GOLDEN_SET").zip(golden::shared_dir());
    let loaded = match set {
        Some((set, shared)) => {
            let root = shared.join("isa-golden");
            Some(Golden::load_set(&root, set.as_ref()).expect("the set named by GOLDEN_SET"))
        }
        None => Golden::shared(),
    };
    let golden = loaded.expect("the repository holds recordings");
    let groups = [
        "f32_arith",
        "f64_arith",
        "half",
        "cvt_int",
        "cvt_i2f",
        "cvt_f2i",
        "cvt_f2f",
        "cvt_narrow",
        "cvt_pack",
        "setp",
        "set",
        "select_move",
        "atom",
    ];
    let mut tally: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let only = std::env::var("NUM_FORM").ok();
    for form in golden.forms().filter(|f| groups.contains(&f.group()) && !not_ours(f)) {
        if only.as_ref().is_some_and(|o| !form.name().contains(o.as_str())) {
            continue;
        }
        let negate_c = matches!(form.group(), "setp" | "set")
            && form.module_text().expect("module text").contains("!%");
        let byte = form.group() == "cvt_f2i" && form.name().ends_with("_r8");
        let mut wrong = 0;
        let mut first = None;
        for row in 0..form.rows() {
            let got = dispatch::eval(form.inst(), negate_c, form.row(row));
            let want: Vec<u64> = (0..form.info().outs.len()).map(|k| form.output(k, row)).collect();
            let same = got.as_ref().is_some_and(|got| {
                got.len() >= want.len()
                    && want.iter().zip(got).zip(&form.info().outs).all(|((w, g), kind)| {
                        // An 8-bit destination register is stored zero-extended.
                        let width = if byte { 1 } else { golden::output_width(kind).unwrap_or(0) };
                        let bits = 8 * width as u32;
                        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
                        *w == g & mask
                    })
            });
            if !same {
                wrong += 1;
                first.get_or_insert((row, want, got));
            }
        }
        let t = tally.entry(form.group()).or_default();
        if let Some((row, want, got)) = first {
            t.1 += 1;
            println!(
                "{} ({}): {wrong} of {} rows, first {:x?}: recorded {want:x?}, computed {got:x?}",
                form.name(),
                form.inst(),
                form.rows(),
                form.row(row),
            );
        } else {
            t.0 += 1;
        }
    }
    for (g, (passed, failed)) in &tally {
        println!("{g}: {passed} passed, {failed} failed");
    }
    let failed: u32 = tally.values().map(|t| t.1).sum();
    println!("{} passed, {failed} failed", tally.values().map(|t| t.0).sum::<u32>());
    assert_eq!(failed, 0);
}

/// Recorded on an H200 with one operand running through all 65,536 patterns, the others 1: only
/// these patterns count as out of bounds, as first or second operand, and then nothing else does.
#[test]
fn out_of_bounds_nan() {
    use ptx_isa::num::half::{self, Clamp, Half};
    for (k, one) in [(Half::F16, 0x3c00), (Half::Bf16, 0x3f80)] {
        for clamp in [Clamp::None, Clamp::Relu] {
            for v in 0..=0xffff {
                let plain = |a, b, c| half::fma(k, false, clamp, a, b, c);
                let oob = |a, b, c| half::fma_oob(k, clamp, a, b, c);
                let hit = v == 0x7ff7 || v == 0xfff7;
                let expect = |r| if hit { 0 } else { r };
                assert_eq!(oob(v, one, one), expect(plain(v, one, one)));
                assert_eq!(oob(one, v, one), expect(plain(one, v, one)));
                assert_eq!(oob(one, one, v), plain(one, one, v));
                assert_eq!(oob(0x7ff7, v, one), 0);
                assert_eq!(oob(v, 0x7ff7, one), 0);
                assert_eq!(oob(0x7ff7, one, v), 0);
            }
        }
    }
}
