//! Loads and stores of the words of records together.
//!
//! A thread that reads or updates the fields of its record does so one word at a time. Each word alone is a gather; all
//! words of the lanes' records together are vectors that lie side by side. They are loaded or stored whole and turned in
//! registers, behind one check.

use std::rc::Rc;

use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::check::check_records;
use super::found::Found;
use super::gather::{load_row, store_row};
use super::results::{jump_with, regroup, result_types};
use super::slow::slow;
use super::turn::Turn;
use crate::generator::{Gen, Rep};
use crate::ir::Val;
use crate::records::Records;
use crate::x86::words;

/// The records that effect `e` touches with others, where all lanes are on.
pub(super) fn joint(g: &Gen<'_, '_>, e: u32) -> Option<Rc<Records>> {
    let told = g.f.watched.tracked().is_some();
    if told || g.sure || g.mask.is_some() { None } else { g.records.get(&e).cloned() }
}

/// The check of all accesses, and the way of each one's helper where it fails: where the first word is, in the block
/// that goes on where it does not, and the block behind both.
fn checked(g: &mut Gen<'_, '_>, r: &Records) -> (Block, Value) {
    let o = g.offsets(r.base).map(<[i64]>::to_vec).unwrap_or_default();
    let x = g.scalar(r.base);
    let x = if r.first == 0 { x } else { g.b.ins().iadd_imm_s(x, r.first) };
    let span = 4 * u64::from(r.reach());
    let (bad, site) = check_records(g, r.effects[0], (x, &o), &r.place, r.unit, span);
    let (join, cold, quick) = (g.b.create_block(), g.b.create_block(), g.b.create_block());
    for e in &r.effects {
        for d in g.f.effects[*e as usize].dst.clone() {
            for ty in result_types(g, d) {
                g.b.append_block_param(join, ty);
            }
        }
    }
    g.b.set_cold_block(cold);
    g.b.ins().brif(bad, cold, &[], quick, &[]);
    g.b.switch_to_block(cold);
    let out: Vec<Rep> = r.effects.iter().flat_map(|e| slow(g, *e, None, None)).collect();
    jump_with(g, join, &out);
    g.b.switch_to_block(quick);
    let Found::Linear(host, _) = site.found(g) else {
        unreachable!("lanes at constant distances are found so")
    };
    (join, host)
}

/// Loads all words at the first of the effects.
pub(super) fn load_records(g: &mut Gen<'_, '_>, e: u32, r: &Records) {
    if r.effects[0] != e {
        return;
    }
    let (join, host) = checked(g, r);
    let turn = Turn::new(u32::from(g.form.lanes), r.words, &r.fields);
    let (lanes, slices) = (u32::from(g.form.lanes), g.slices());
    let mut columns = vec![Vec::new(); r.fields.len()];
    for s in 0..slices {
        let start = 4 * (s as u32 * lanes * r.words) as i32;
        // Nothing behind the last word need be there.
        let behind = if s + 1 == slices { r.words - r.reach() } else { 0 };
        let there = lanes * r.words - behind;
        let row = |g: &mut Gen<'_, '_>, n: u32| {
            let left = there.saturating_sub(lanes * n).min(lanes);
            load_row(g, host, start + g.form.bytes() * n as i32, left)
        };
        for (column, x) in columns.iter_mut().zip(turn.columns(g, row)) {
            column.push(x);
        }
    }
    let out: Vec<Rep> = columns.into_iter().map(Rep::Slices).collect();
    jump_with(g, join, &out);
    g.b.switch_to_block(join);
    let params = g.b.block_params(join).to_vec();
    let dst = |e: &u32| g.f.effects[*e as usize].dst.clone();
    let dst: Vec<Val> = r.effects.iter().flat_map(dst).collect();
    let out = regroup(g, &dst, &params);
    for (d, x) in dst.into_iter().zip(out) {
        g.define(d, x);
    }
}

/// Stores all words at the last of the effects.
pub(super) fn store_records(g: &mut Gen<'_, '_>, e: u32, r: &Records) {
    if r.effects.last() != Some(&e) {
        return;
    }
    let src = |e: &u32| g.f.effects[*e as usize].src[1..].to_vec();
    let src: Vec<Val> = r.effects.iter().flat_map(src).collect();
    let values: Vec<Vec<Value>> = src.iter().map(|v| g.vector(*v)).collect();
    let (join, host) = checked(g, r);
    let turn = Turn::new(u32::from(g.form.lanes), r.words, &r.fields);
    let lanes = u32::from(g.form.lanes);
    for s in 0..g.slices() {
        let columns: Vec<Value> = values.iter().map(|v| v[s]).collect();
        for (n, x, held) in turn.rows(g, &columns) {
            let at = 4 * (s as u32 * lanes * r.words) as i32 + g.form.bytes() * n as i32;
            let mask = if held.iter().all(|on| *on) {
                None
            } else if g.form.bit_masks() {
                let bits = held.iter().enumerate().fold(0, |m, (l, on)| m | i64::from(*on) << l);
                Some(g.b.ins().iconst(words::MASK, bits))
            } else {
                unreachable!("`close` allows whole records only")
            };
            store_row(g, x, host, at, mask, 4);
        }
    }
    g.b.ins().jump(join, &[]);
    g.b.switch_to_block(join);
}
