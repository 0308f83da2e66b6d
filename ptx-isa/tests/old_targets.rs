//! Numerics of compute capability 1.x, chosen by the module's `.target`.

use ptx_isa::meaning::{Arg, Cx, ModuleInfo, Selection, Src, Uop, V};
use ptx_isa::row::Sem;
use ptx_isa::table;
use ptx_isa::types::{Kind, PtxVersion, Target, Ty, ptx};

/// Result of an instruction on constant operands, which fold.
fn run(sm: u16, version: PtxVersion, opcode: &str, operands: &[u64]) -> u64 {
    let matches = table().find(opcode).unwrap_or_else(|e| panic!("{opcode}: {e:?}"));
    let fits = |m: &&ptx_isa::Match| {
        m.notation.slots.len() == operands.len() + 1 && m.row.check.is_none_or(|c| c(m).is_ok())
    };
    let m = matches.iter().find(fits).unwrap_or_else(|| panic!("no row fits {opcode}"));
    let Sem::Ops(sem) = m.row.sem else { panic!("{opcode} has no meaning") };
    let value =
        |src, ty: Ty| Arg::Val { v: V { kind: ty.kind(), src }, ty, part: Selection::Whole };
    let args: Vec<Arg> = m
        .notation
        .slots
        .iter()
        .enumerate()
        .map(|(i, slot)| {
            let ty = m.slot_ty(slot).expect("a type");
            value(if i == 0 { Src::Reg(0) } else { Src::Const(operands[i - 1]) }, ty)
        })
        .collect();
    let target = Target { map_f64_to_f32: sm < 13, ..Target::plain(sm) };
    let module = ModuleInfo { target, version, address_bits: 64 };
    let mut out = Vec::new();
    let carry = V { kind: Kind::P, src: Src::Reg(1) };
    let mut cx = Cx::new(m, module, &args, carry, &mut out);
    sem(&mut cx);
    cx.finish().expect("runs");
    match out.as_slice() {
        [Uop::Pure { args, .. }] => args[0].as_const().expect("folded"),
        other => panic!("{opcode} leaves {other:?}"),
    }
}

fn f(x: f32) -> u64 {
    u64::from(x.to_bits())
}

#[test]
fn single_precision_flushes_below_sm_20() {
    let tiny = 0x0000_0400;
    let least = 0x0080_0000;
    for (sm, want) in [(10, 0), (13, 0), (20, 2 * tiny)] {
        assert_eq!(run(sm, ptx(2, 0), "add.f32", &[tiny, tiny]), want, "sm_{sm}");
    }
    let half = f(0.5);
    assert_eq!(run(12, ptx(1, 2), "mul.f32", &[least, half]), 0);
    assert_eq!(run(20, ptx(2, 0), "mul.f32", &[least, half]), least / 2);
    assert_eq!(run(13, ptx(1, 4), "abs.f32", &[0x8000_0001]), 0);
    assert_eq!(run(20, ptx(2, 0), "abs.f32", &[0x8000_0001]), 1);
    // A subnormal equals zero only where it is flushed.
    assert_eq!(run(13, ptx(1, 4), "set.eq.u32.f32", &[tiny, 0]), 0xffff_ffff);
    assert_eq!(run(20, ptx(2, 0), "set.eq.u32.f32", &[tiny, 0]), 0);
}

#[test]
fn multiply_add_truncates_the_product_below_sm_20() {
    // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is cut, and rounding the sum sees nothing.
    let a = f(1.0 + 2f32.powi(-12));
    let c = f(2f32.powi(-24));
    let cut = f(1.0 + 2f32.powi(-11));
    assert_eq!(run(13, ptx(1, 4), "mad.f32", &[a, a, c]), cut);
    // From sm_20 on it is fused: 1 + 2^-11 + 2^-23.
    let fused = f(1.0 + 2f32.powi(-11) + 2f32.powi(-23));
    assert_eq!(run(20, ptx(2, 0), "mad.f32", &[a, a, c]), fused);
    // The product's exponent may leave the range of `.f32` in between.
    let (big, minus) = (f(2f32.powi(100)), f(-(2f32.powi(127))));
    let b = f(2f32.powi(28));
    assert_eq!(run(13, ptx(1, 4), "mad.f32", &[big, b, minus]), f(2f32.powi(127)));
    // Adding zero is mul and add: here the product rounds up.
    let x = f(1.0 + 3.0 * 2f32.powi(-23));
    let y = f(1.0 + 2f32.powi(-22) + 2f32.powi(-1));
    let product = f(f32::from_bits(x as u32) * f32::from_bits(y as u32));
    assert_eq!(run(13, ptx(1, 4), "mad.f32", &[x, y, 0]), product);
}

#[test]
fn doubles_are_demoted_below_sm_13() {
    let d = |x: f64| x.to_bits();
    // A third in single precision, in the low half of the register.
    let third = f(1.0 / 3.0);
    assert_eq!(run(12, ptx(1, 3), "div.f64", &[d(1.0), d(3.0)]), third);
    assert_eq!(run(13, ptx(1, 3), "div.f64", &[d(1.0), d(3.0)]), d(1.0 / 3.0));
    assert_eq!(run(11, ptx(1, 3), "add.f64", &[d(1.0), d(2f64.powi(-40))]), f(1.0));
    assert_eq!(
        run(13, ptx(1, 3), "add.f64", &[d(1.0), d(2f64.powi(-40))]),
        d(1.0 + 2f64.powi(-40))
    );
    assert_eq!(run(12, ptx(1, 4), "cvt.rn.f64.s32", &[0x0100_0001]), f(16777216.0));
    assert_eq!(run(13, ptx(1, 4), "cvt.rn.f64.s32", &[0x0100_0001]), d(16777217.0));
}

#[test]
fn conversions_keep_their_old_rules() {
    let tiny = 0x0000_0001;
    // sm_1x flushes single-precision operands, but PTX ISA 1.4 not towards 64 bits.
    assert_eq!(run(13, ptx(1, 4), "cvt.rpi.s32.f32", &[tiny]), 0);
    assert_eq!(run(13, ptx(1, 4), "cvt.rpi.s64.f32", &[tiny]), 1);
    assert_eq!(run(13, ptx(1, 5), "cvt.rpi.s64.f32", &[tiny]), 0);
    assert_eq!(run(20, ptx(2, 0), "cvt.rpi.s32.f32", &[tiny]), 1);
    // The hardware keeps the operand of these, older targets follow the manual.
    assert_eq!(run(90, ptx(8, 0), "cvt.rp.ftz.f16.f32", &[tiny]), 1);
    assert_eq!(run(30, ptx(8, 0), "cvt.rp.ftz.f16.f32", &[tiny]), 0);
}
