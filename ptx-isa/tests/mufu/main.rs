//! The approximate functions against recordings of the hardware: checksums that are part of this repository, and the
//! recorded instruction forms where they are there. `examples/prove_mufu.rs` checks all 2^32 inputs.

mod sums;

use golden::Golden;
use ptx_isa::mufu::*;
use ptx_isa::rows::approx::F32_FORMS;

/// Adds the next output to a checksum.
fn add(sum: &mut u64, index: u32, output: u32) {
    *sum = sum.wrapping_add((2 * u64::from(index) + 1).wrapping_mul(u64::from(output)));
}

#[test]
fn single_precision_blocks_equal_the_hardware() {
    std::thread::scope(|scope| {
        for ((name, expected), (form_name, form, ftz)) in sums::F32.into_iter().zip(F32_FORMS) {
            assert_eq!(name, form_name);
            scope.spawn(move || {
                for (block, expected) in sums::F32_BLOCKS.into_iter().zip(expected) {
                    let (mut sum, mut out) = (0, [0; LANES]);
                    for first in (0..1 << 20).step_by(LANES) {
                        form(
                            &std::array::from_fn(|lane| block << 20 | first | lane as u32),
                            &mut out,
                            ftz,
                        );
                        for (lane, &output) in out.iter().enumerate() {
                            add(&mut sum, first | lane as u32, output);
                        }
                    }
                    assert_eq!(sum, expected, "{name} in block {block:#05x}");
                }
            });
        }
    });
}

#[test]
fn sixteen_bit_forms_equal_the_hardware_on_all_inputs() {
    let forms: [fn(u16) -> u16; 4] =
        [ex2_approx_f16, tanh_approx_f16, tanh_approx_bf16, ex2_approx_bf16];
    for ((name, expected), form) in sums::F16.into_iter().zip(forms) {
        for (block, expected) in (0u16..).zip(expected) {
            let mut sum = 0;
            for i in 0..1 << 13 {
                add(&mut sum, u32::from(i), u32::from(form(block << 13 | i)));
            }
            assert_eq!(sum, expected, "{name} in block {block}");
        }
    }
}

#[test]
fn double_precision_sweeps_equal_the_hardware() {
    for (name, first, step, count, expected) in sums::F64 {
        let form = if name.starts_with("rcp") { rcp_approx_f64 } else { rsqrt_approx_ftz_f64 };
        let mut sum = 0;
        for i in 0..count {
            let output = form(u64::from(first.wrapping_add(i.wrapping_mul(step))) << 32);
            assert_eq!(output as u32, 0, "{name}: low word");
            add(&mut sum, i, (output >> 32) as u32);
        }
        assert_eq!(sum, expected, "{name} from {first:#010x} in steps of {step}");
    }
}

/// The recorded result of a form's row, computed here; `None` for a form that is not approximate.
fn compute(inst: &str, row: &[u64]) -> Option<u64> {
    let low = |i: usize| row[i] as u32;
    Some(match inst {
        "div.approx.f32" => div_approx(low(0), low(1), false).into(),
        "div.approx.ftz.f32" => div_approx(low(0), low(1), true).into(),
        "div.full.f32" => div_full(low(0), low(1), false).into(),
        "div.full.ftz.f32" => div_full(low(0), low(1), true).into(),
        "rcp.approx.ftz.f64" => rcp_approx_f64(row[0]),
        "rsqrt.approx.ftz.f64" => rsqrt_approx_ftz_f64(row[0]),
        "rsqrt.approx.f64" => rsqrt_approx_f64(row[0]),
        "ex2.approx.f16" => ex2_approx_f16(row[0] as u16).into(),
        "ex2.approx.f16x2" => ex2_approx_f16x2(low(0)).into(),
        "ex2.approx.ftz.bf16" => ex2_approx_bf16(row[0] as u16).into(),
        "ex2.approx.ftz.bf16x2" => ex2_approx_bf16x2(low(0)).into(),
        "tanh.approx.f16" => tanh_approx_f16(row[0] as u16).into(),
        "tanh.approx.f16x2" => tanh_approx_f16x2(low(0)).into(),
        "tanh.approx.bf16" => tanh_approx_bf16(row[0] as u16).into(),
        "tanh.approx.bf16x2" => tanh_approx_bf16x2(low(0)).into(),
        _ => {
            let (_, form, ftz) = F32_FORMS.into_iter().find(|(name, ..)| *name == inst)?;
            let mut out = [0; LANES];
            form(&[low(0); LANES], &mut out, ftz);
            out[0].into()
        }
    })
}

#[test]
fn recorded_forms_are_reproduced() {
    let golden = Golden::shared().expect("the repository holds recordings");
    let mut forms = 0;
    for form in golden.forms().filter(|form| form.info().class == "approx") {
        for row in 0..form.rows() {
            let operands = form.row(row);
            let computed = compute(form.inst(), operands)
                .unwrap_or_else(|| panic!("{} is not covered", form.inst()));
            assert_eq!(computed, form.output(0, row), "{} of {operands:x?}", form.inst());
        }
        forms += 1;
    }
    println!("{forms} approximate forms reproduced");
    assert!(forms >= 30, "only {forms} approximate forms found");
}

#[test]
fn divisions_over_a_warp_equal_the_scalar_ones() {
    // Operands that walk through all exponents and both scalings.
    let a: [u32; LANES] = std::array::from_fn(|i| (i as u32).wrapping_mul(0x0765_4321));
    for shift in 0..64u32 {
        let b: [u32; LANES] =
            std::array::from_fn(|i| (i as u32 * 64 + shift).wrapping_mul(0x0020_1357));
        for ftz in [false, true] {
            let mut out = [0; LANES];
            div_approx_lanes(&a, &b, &mut out, ftz);
            assert_eq!(out, std::array::from_fn(|i| div_approx(a[i], b[i], ftz)));
            div_full_lanes(&a, &b, &mut out, ftz);
            assert_eq!(out, std::array::from_fn(|i| div_full(a[i], b[i], ftz)));
        }
    }
}

/// Whatever the other lanes of the warp hold.
#[test]
fn functions_over_a_warp_equal_the_scalar_ones() {
    const SCALAR: [fn(u32, bool) -> u32; 8] = [
        rcp_approx,
        rsqrt_approx,
        sqrt_approx,
        sin_approx,
        cos_approx,
        lg2_approx,
        ex2_approx,
        |x, _| tanh_approx(x),
    ];
    const SPECIAL: [u32; 8] = [
        0,
        0x8000_0001,
        0x007f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_1234,
        0xc000_0000,
        0xc2fd_0000,
    ];
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state ^ state >> 15
    };
    for (name, form, ftz) in F32_FORMS {
        let names = ["rcp", "rsqrt", "sqrt", "sin", "cos", "lg2", "ex2", "tanh"];
        let scalar = SCALAR[names.iter().position(|n| name.starts_with(n)).unwrap()];
        for turn in 0..40_000 {
            // Any numbers, positive ones near each other, and these with one that is special.
            let near = random() >> 1;
            let mut x: Warp = std::array::from_fn(|_| match turn % 3 {
                0 => random(),
                _ => (near ^ random() >> 8) & 0x7fff_ffff,
            });
            if turn % 3 == 1 {
                x[random() as usize % LANES] = SPECIAL[random() as usize % SPECIAL.len()];
            }
            let mut out = [0; LANES];
            form(&x, &mut out, ftz);
            assert_eq!(out, x.map(|x| scalar(x, ftz)), "{name} of {x:x?}");
        }
    }
}
