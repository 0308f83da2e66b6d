//! Elements of one or two bytes at a constant distance of whole words, as in pictures of several bytes a pixel: they
//! are loaded as words, and taken out of them in registers.

use cranelift_codegen::ir::types::I32;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::effect::Mem;

use super::found::{differs, unit};
use super::gather::{MOST_ROWS, Near, constant_mask, load_row, pick};
use crate::clif::plain;
use crate::generator::Gen;

/// Whether lanes that are `o` bytes behind the first one are such elements.
pub(super) fn spaced(g: &Gen<'_, '_>, m: &Mem, o: &[i64]) -> bool {
    let Some(apart) = o.get(1).map(|x| x - o[0]) else { return false };
    let reach = i64::from(MOST_ROWS) * i64::from(g.form.bytes());
    g.form.words()
        && m.bytes < 4
        && i64::from(m.bytes) * i64::from(m.count) <= 4
        && apart >= 4
        && apart % 4 == 0
        && apart * g.per() as i64 <= reach
        && o.chunks(g.per()).all(|c| unit(c, apart))
        && !differs(g, m)
}

/// The elements, for each of the `m.count` that a lane has.
pub(super) fn load_spaced(g: &mut Gen<'_, '_>, m: &Mem, host: Value, o: &[i64]) -> Vec<Vec<Value>> {
    let mut columns = vec![Vec::new(); m.count as usize];
    for c in o.chunks(g.per()) {
        let words = words(g, m, host, c, o);
        for (n, column) in columns.iter_mut().enumerate() {
            column.push(element(g, m, words, n as u32));
        }
    }
    columns
}

/// The words that begin where the elements `c` of a slice do.
fn words(g: &mut Gen<'_, '_>, m: &Mem, host: Value, c: &[i64], all: &[i64]) -> Value {
    let (first, last) = (c[0], c[c.len() - 1]);
    let bytes = u32::from(m.bytes) * u32::from(m.count);
    // What lies behind the elements need not be there, but where others follow.
    let whole = bytes == 4 || all.iter().any(|o| o - last >= 4);
    let lanes = c.len() as u32 - u32::from(!whole);
    let apart = (c[1] - first) as u32 / 4;
    let count = (lanes - 1) * apart + 1;
    let words: Vec<u32> =
        (0..c.len() as u32).map(|l| if l < lanes { l * apart } else { 0 }).collect();
    let x = if apart == 1 {
        load_row(g, host, first as i32, count)
    } else {
        pick(g, host, &Near { at: first as i32, count, words })
    };
    if whole {
        return x;
    }
    let end = match bytes {
        1 => g.b.ins().uload8(I32, plain(), host, last as i32),
        _ => g.b.ins().uload16(I32, plain(), host, last as i32),
    };
    let end = g.b.ins().splat(g.form.w(), end);
    let on = constant_mask(g, lanes..lanes + 1);
    g.emitter(true).sel(on, end, x)
}

/// Element `n` of each word.
pub(super) fn element(g: &mut Gen<'_, '_>, m: &Mem, words: Value, n: u32) -> Value {
    let bits = 8 * u32::from(m.bytes);
    let above = 32 - bits * (n + 1);
    let mut e = g.emitter(true);
    let x = if above == 0 { words } else { e.shl(words, above) };
    if m.signed { e.sar(x, 32 - bits) } else { e.shr(x, 32 - bits) }
}
