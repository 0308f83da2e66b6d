//! Gathers whose elements may lie side by side after all: their addresses are chosen among those of lines, as a
//! coordinate is that stays inside a picture. Most groups are away from the edge, and a test costs less than a gather.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::Mem;
use ptx_isa::uop::Op as Pure;

use super::address::index_of;
use super::found::{Found, differs};
use super::gather::{gather, gather_narrow, gathers, gathers_narrow, load_narrow};
use crate::clif::{plain, vconst32};
use crate::divergence::Divergence;
use crate::generator::Gen;
use crate::ir::{Func, Op, Val};
use crate::variance::Variance;

/// Most values that an index is made of.
const MOST: usize = 48;

/// Whether elements at the address `base`, of all lanes, are worth a test.
pub(super) fn may_be_rows(g: &Gen<'_, '_>, base: Val, m: &Mem, found: &Found) -> bool {
    let [x, y, z] = g.g.block;
    let in_rows = x.is_multiple_of(g.per() as u32) || y == 1 && z == 1;
    let indexed = matches!(found, Found::Index(_, _, shift) if 1 << *shift <= m.bytes);
    // Memory of their own is not side by side, whatever the lanes' indices are.
    m.bytes <= 4
        && m.count == 1
        && !differs(g, m)
        && indexed
        && in_rows
        && (gathers(g, m, found) || gathers_narrow(g, m, found))
        && index_of(g.f, g.divergence, base).is_some_and(|i| chosen(g.f, g.divergence, i))
}

/// Whether a value is made of linear ones by choices, wrapping and sums.
fn chosen(f: &Func, divergence: &Divergence, v: Val) -> bool {
    let (mut open, mut choices) = (vec![v], false);
    for _ in 0..MOST {
        let Some(v) = open.pop() else { return choices };
        if matches!(divergence.of[v as usize], Variance::Linear(_)) {
            continue;
        }
        let i = &f.insts[v as usize];
        let Op::Pure(op, _) = i.op else { return false };
        match op {
            Pure::MinUW | Pure::MaxUW | Pure::MinSW | Pure::MaxSW | Pure::SelW => {
                choices = true;
                open.extend(&i.args[..2]);
            }
            // Within the same turn around the edge they stay side by side.
            Pure::RemUW | Pure::RemSW | Pure::AndW if uniform(divergence, i.args[1]) => {
                choices = true;
                open.push(i.args[0]);
            }
            Pure::ShlW if uniform(divergence, i.args[1]) => open.push(i.args[0]),
            Pure::AddW | Pure::SubW | Pure::MulW | Pure::MadW | Pure::MovW => {
                open.extend(i.args.iter());
            }
            _ => return false,
        }
    }
    false
}

fn uniform(divergence: &Divergence, v: Val) -> bool {
    divergence.of[v as usize].uniform()
}

/// The elements of up to four bytes at a number of units of `1 << shift` bytes behind `host` for each lane: whole
/// vectors if all slices have theirs side by side.
pub(super) fn rows_or_gather(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    host: Value,
    index: &[Value],
    shift: u32,
) -> Vec<Value> {
    let narrow = m.bytes < 4;
    let line: Vec<u32> = (0..g.per() as u32).map(|l| l * u32::from(m.bytes) >> shift).collect();
    let line = vconst32(&mut g.b, &line);
    let (ty, mut firsts, mut same) = (g.form.w(), Vec::new(), Vec::new());
    for x in index {
        let first = g.b.ins().extractlane(*x, 0);
        let all = g.b.ins().splat(ty, first);
        let row = g.b.ins().iadd(all, line);
        same.push(g.emitter(true).cmp_w(IntCC::Equal, *x, row));
        firsts.push(first);
    }
    let (rows, apart, join) = (g.b.create_block(), g.b.create_block(), g.b.create_block());
    let out: Vec<Value> = index.iter().map(|_| g.b.append_block_param(join, ty)).collect();
    let all = g.all_of(&same);
    g.b.ins().brif(all, rows, &[], apart, &[]);
    g.b.switch_to_block(rows);
    let mut whole = Vec::new();
    for first in firsts {
        let at = g.b.ins().uextend(I64, first);
        let at = g.b.ins().ishl_imm_u(at, i64::from(shift));
        let at = g.b.ins().iadd(host, at);
        let row =
            if narrow { load_narrow(g, m, at, 0) } else { g.b.ins().load(ty, plain(), at, 0) };
        whole.push(BlockArg::Value(row));
    }
    g.b.ins().jump(join, &whole);
    g.b.switch_to_block(apart);
    let found = Found::Index(host, index.to_vec(), shift);
    let each = if narrow {
        gather_narrow(g, m, &found, 0)
    } else {
        gather(g, m, Kind::W, &found, None, 0)
    };
    let each: Vec<BlockArg> = each.into_iter().map(BlockArg::Value).collect();
    g.b.ins().jump(join, &each);
    g.b.switch_to_block(join);
    out
}
