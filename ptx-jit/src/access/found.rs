//! Where the lanes of a checked access are on the host.

use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::Mem;

use super::which::{local_bytes, own};
use crate::clif::at;
use crate::ctx::Ctx;
use crate::generator::Gen;

/// Where the lanes of a checked access are on the host.
pub(super) enum Found {
    /// One address, and what each lane adds.
    Linear(Value, Vec<i64>),
    /// One address, and a number of units of `1 << shift` bytes per lane.
    Index(Value, Vec<Value>, u32),
    Lanes(Vec<Value>),
}

/// Host address and constant offset of lane `l`.
pub(super) fn lane(g: &mut Gen<'_, '_>, found: &Found, apart: i64, l: usize) -> (Value, i32) {
    match found {
        Found::Linear(host, o) => match i32::try_from(o[l]) {
            Ok(o) => (*host, o),
            Err(_) => (g.b.ins().iadd_imm_s(*host, o[l]), 0),
        },
        Found::Index(host, index, shift) => {
            let i = g.lane(index, Kind::W, l);
            let i = g.b.ins().uextend(I64, i);
            let i = if *shift == 0 { i } else { g.b.ins().ishl_imm_u(i, i64::from(*shift)) };
            (g.b.ins().iadd(*host, i), (l as i64 * apart) as i32)
        }
        Found::Lanes(a) => {
            let per = g.form.per(Kind::D);
            (g.b.ins().extractlane(a[l / per], (l % per) as u8), 0)
        }
    }
}

/// As [`lane`], of all lanes.
pub(super) fn lanes(g: &mut Gen<'_, '_>, found: &Found, apart: i64) -> Vec<(Value, i32)> {
    let count = match found {
        Found::Linear(_, o) => o.len(),
        Found::Index(_, index, _) => g.per() * index.len(),
        Found::Lanes(a) => g.form.per(Kind::D) * a.len(),
    };
    (0..count).map(|l| lane(g, found, apart, l)).collect()
}

/// Whether lanes lie side by side.
pub(super) fn unit(o: &[i64], bytes: i64) -> bool {
    o.windows(2).all(|w| w[1] - w[0] == bytes) && o.iter().all(|o| i32::try_from(*o).is_ok())
}

/// The address, or that of the scratch word where lane `l` is off; `mask` by [`Gen::bits_of`].
pub(super) fn or_scratch(
    g: &mut Gen<'_, '_>,
    mask: &[Value],
    l: usize,
    p: Value,
    at: i32,
) -> Value {
    let on = g.on(mask, l);
    let here = if at == 0 { p } else { g.b.ins().iadd_imm_s(p, at as i64) };
    let scratch = g.b.ins().iadd_imm_u(g.ctx, at!(scratch) as i64);
    g.b.ins().select(on, here, scratch)
}

/// Whether lanes with numbers of their own need not be read one after the other.
pub(super) fn at_once(g: &Gen<'_, '_>, m: &Mem) -> bool {
    let reach = apart(g, m).saturating_mul(i64::from(g.g.width));
    g.form.words() && m.bytes >= 4 && reach < 1 << 30
}

/// Whether every lane has its own memory there, which may hold something else than that of others.
pub(super) fn differs(g: &Gen<'_, '_>, m: &Mem) -> bool {
    own(m) && !g.divergence.alike
}

/// Bytes from one lane's own memory to the next one's; 0 where they share it, or where places tell lanes apart.
pub(super) fn apart(g: &Gen<'_, '_>, m: &Mem) -> i64 {
    if differs(g, m) && g.divergence.beside.is_none() { local_bytes(g.f) as i64 } else { 0 }
}
