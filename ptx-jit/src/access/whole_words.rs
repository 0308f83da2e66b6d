//! Elements of one and two bytes, several in each lane, that fill whole words: those are loaded and stored.

use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::Mem;

use super::choices::{may_be_rows, rows_or_gather};
use super::found::Found;
use super::gather::{gather, gathers};
use super::rows::{load_columns, rows};
use super::spaced::{element, spaced};
use crate::generator::Gen;
use crate::ir::Val;

/// The words that the elements of an access fill, which are in the registers `all`.
pub(super) fn whole_words(g: &Gen<'_, '_>, m: &Mem, all: &[Val]) -> Option<Mem> {
    let bytes = u32::from(m.bytes) * all.len() as u32;
    let fill = g.form.words()
        && !g.g.scalar()
        && m.bytes < 4
        && all.len() == usize::from(m.count)
        && bytes.is_multiple_of(4)
        && all.iter().all(|v| g.kind(*v) == Kind::W);
    fill.then_some(Mem { bytes: 4, count: (bytes / 4) as u8, signed: false, ..*m })
}

/// The elements of `m`, by the words `whole`; `None` where these are loaded lane by lane.
pub(super) fn load_words(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    whole: &Mem,
    (base, found): (Val, &Found),
    mask: Option<&[Value]>,
) -> Option<Vec<Vec<Value>>> {
    let words: Vec<Vec<Value>> = match found {
        Found::Linear(_, o) if o.iter().all(|x| *x == o[0]) || spaced(g, m, o) => return None,
        Found::Linear(host, o) if rows(g, whole, o) => load_columns(g, whole, (*host, o), true),
        Found::Index(host, index, shift)
            if mask.is_none() && may_be_rows(g, base, whole, found) =>
        {
            vec![rows_or_gather(g, whole, *host, index, *shift)]
        }
        _ if gathers(g, whole, found) => (0..i32::from(whole.count))
            .map(|n| gather(g, whole, Kind::W, found, mask, 4 * n))
            .collect(),
        _ => return None,
    };
    let in_word = 4 / m.bytes;
    let mut elements = Vec::new();
    for column in words {
        for n in 0..in_word {
            elements.push(column.iter().map(|x| element(g, m, *x, n.into())).collect());
        }
    }
    Some(elements)
}

/// The words of elements: columns of slices.
pub(super) fn words_of_elements(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    elements: &[Vec<Value>],
) -> Vec<Vec<Value>> {
    let in_word = usize::from(4 / m.bytes);
    let bits = 8 * u32::from(m.bytes);
    let mut e = g.emitter(true);
    let low = e.w(u32::MAX >> (32 - bits));
    let word = |parts: &[Vec<Value>]| {
        let mut slices = Vec::new();
        for slice in 0..parts[0].len() {
            let placed = parts.iter().enumerate().map(|(n, part)| {
                let (x, at) = (part[slice], bits * n as u32);
                // What lies above the last element is shifted out.
                let x = if n + 1 == in_word { x } else { e.and(x, low) };
                if at == 0 { x } else { e.shl(x, at) }
            });
            let placed: Vec<Value> = placed.collect();
            slices.extend(placed.into_iter().reduce(|x, y| e.b.ins().bor(x, y)));
        }
        slices
    };
    elements.chunks(in_word).map(word).collect()
}
