//! Where the lanes of a checked access are on the host.

use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::Mem;

use super::which::apart;
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

/// Host address and constant offset of each lane.
pub(super) fn lanes(g: &mut Gen<'_, '_>, found: &Found, apart: i64) -> Vec<(Value, i32)> {
    match found {
        Found::Linear(host, o) => o
            .iter()
            .map(|o| match i32::try_from(*o) {
                Ok(o) => (*host, o),
                Err(_) => (g.b.ins().iadd_imm_s(*host, *o), 0),
            })
            .collect(),
        Found::Index(host, index, shift) => (0..g.per() * index.len())
            .map(|l| {
                let i = g.lane(index, Kind::W, l);
                let i = g.b.ins().uextend(I64, i);
                let i = if *shift == 0 { i } else { g.b.ins().ishl_imm_u(i, i64::from(*shift)) };
                (g.b.ins().iadd(*host, i), (l as i64 * apart) as i32)
            })
            .collect(),
        Found::Lanes(a) => {
            let mut out = Vec::new();
            for h in a {
                for l in 0..g.form.per(Kind::D) {
                    out.push((g.b.ins().extractlane(*h, l as u8), 0));
                }
            }
            out
        }
    }
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
    let reach = apart(g.f, m).saturating_mul(i64::from(g.g.width));
    g.form.words() && m.bytes >= 4 && reach < 1 << 30
}
