//! Calls: whom, arguments and results.

use std::cell::Cell;

use ptx_isa::Kind;
use ptx_parse::code::function_of_address;

use crate::code::*;
use crate::control::Warp;
use crate::cta::{At, Group};
use crate::exec::groups_of;
use crate::observer::Observer;
use crate::report::FaultKind;
use crate::rows::{Base, Bases, Operand, lanes};
use crate::trouble::Trouble;
use crate::worker::{Stopped, Worker};

/// Up to eight bytes of one lane's local memory.
fn local_get(local: &[Cell<u32>], lane: usize, at: u32, bytes: u32) -> u64 {
    (0..bytes.min(8)).fold(0, |v, n| {
        let at = (at + n) as usize;
        let byte = local.get(at / 4 * 32 + lane).map_or(0, |w| w.get().to_le_bytes()[at % 4]);
        v | (byte as u64) << (8 * n)
    })
}

fn local_set(local: &[Cell<u32>], lane: usize, at: u32, bytes: u32, v: u64) {
    if at.is_multiple_of(4) && bytes.is_multiple_of(4) {
        for n in 0..bytes.min(8) / 4 {
            if let Some(w) = local.get((at / 4 + n) as usize * 32 + lane) {
                w.set((v >> (32 * n)) as u32);
            }
        }
        return;
    }
    for n in 0..bytes.min(8) {
        let at = (at + n) as usize;
        if let Some(w) = local.get(at / 4 * 32 + lane) {
            let mut b = w.get().to_le_bytes();
            b[at % 4] = (v >> (8 * n)) as u8;
            w.set(u32::from_le_bytes(b));
        }
    }
}

/// One side of a copy: rows and local frame of an activation.
#[derive(Copy, Clone)]
struct Side {
    bases: Bases,
    local: u32,
}

impl Side {
    fn row(&self, o: Operand, kind: Kind, lane: usize) -> u64 {
        // SAFETY: decoding made `o` for rows of this side with this kind.
        unsafe {
            match kind {
                Kind::P => (self.bases.p(o) >> lane & 1) as u64,
                Kind::W => self.bases.w(o)[lane] as u64,
                Kind::D => self.bases.d(o)[lane],
            }
        }
    }
    fn set_row(&self, o: Operand, kind: Kind, v: &[u64; 32], mask: u32) {
        // SAFETY: decoding made `o` for rows of this side with this kind.
        unsafe {
            match kind {
                Kind::P => {
                    let p = (0..32).fold(0, |p, l| p | ((v[l] & 1) as u32) << l);
                    self.bases.set_p(o, p, mask);
                }
                Kind::W => self.bases.set_w(o, &v.map(|v| v as u32), mask),
                Kind::D => self.bases.set_d(o, v, mask),
            }
        }
    }
}

/// Copies `from` (on side `a`) to `to` (on side `b`) in the lanes of `mask`.
fn copy(local: &[Cell<u32>], a: Side, from: Argument, b: Side, to: Argument, mask: u32) {
    match (from, to) {
        (Argument::Dropped, _) | (_, Argument::Dropped) => {}
        (Argument::Row(o, kind), Argument::Row(d, to)) => {
            let mut v = [0; 32];
            lanes(mask).for_each(|l| v[l] = a.row(o, kind, l));
            b.set_row(d, to, &v, mask);
        }
        (Argument::Row(o, kind), Argument::Frame { offset, bytes }) => {
            let at = b.local + offset;
            lanes(mask).for_each(|l| local_set(local, l, at, bytes, a.row(o, kind, l)));
        }
        (Argument::Frame { offset, bytes }, Argument::Row(d, kind)) => {
            let mut v = [0; 32];
            let at = a.local + offset;
            lanes(mask).for_each(|l| v[l] = local_get(local, l, at, bytes));
            b.set_row(d, kind, &v, mask);
        }
        (Argument::Frame { offset: from, bytes }, Argument::Frame { offset: to, bytes: most }) => {
            let bytes = bytes.min(most);
            let (from, to) = (a.local + from, b.local + to);
            for n in (0..bytes).step_by(8) {
                let part = (bytes - n).min(8);
                for l in lanes(mask) {
                    local_set(local, l, to + n, part, local_get(local, l, from + n, part));
                }
            }
        }
    }
}

impl<O: Observer> Worker<'_, O> {
    fn side(&self, w: &Warp, frame: u32) -> Side {
        let a = &w.frames[frame];
        let mut bases = self.cx.bases;
        bases.0[Base::Frame as usize] = a.rows;
        Side { bases, local: a.local }
    }

    /// The lanes of a split call; `false` when they call different functions and were separated.
    pub(crate) fn call(
        &mut self,
        group: &mut Group,
        at: At,
        pc: u32,
        mask: u32,
    ) -> Result<bool, Stopped> {
        let k = self.k;
        let info = &k.calls[k.code[pc as usize].k as usize];
        let function = match info.callee {
            CalleeInfo::Direct(f) => f,
            CalleeInfo::Indirect(row, kind) => {
                let addresses: [u64; 32] = std::array::from_fn(|l| self.lane_value((row, kind), l));
                let groups = groups_of(mask, |l| addresses[l]);
                if groups.len() > 1 {
                    group.ctas[at.cta].warps[at.warp].separate(at.split, &groups, pc + 1, &[]);
                    return Ok(false);
                }
                let lane = mask.trailing_zeros() as usize & 31;
                let address = addresses[lane];
                let known = function_of_address(address)
                    .and_then(|id| k.program.functions.iter().position(|f| f.id == id))
                    .filter(|f| *f != 0);
                match known {
                    Some(f) => {
                        let callee = &k.functions[f];
                        let by = (info.args.len(), info.rets.len());
                        let is = (callee.params.len(), callee.rets.len());
                        if by != is {
                            let message = format!(
                                "call of `{}` by a prototype with {} parameters and {} results; it has {} and {}",
                                k.program.functions[f].name, by.0, by.1, is.0, is.1
                            );
                            let t = Trouble::Kind(lane as u8, FaultKind::CallTarget, message);
                            return Err(self.trouble_report(group, at, pc, mask, t));
                        }
                        f as u32
                    }
                    None => {
                        let message =
                            format!("call of {address:#x}, which is no function's entry address");
                        let t = Trouble::Kind(lane as u8, FaultKind::CallTarget, message);
                        return Err(self.trouble_report(group, at, pc, mask, t));
                    }
                }
            }
        };
        let w = &mut group.ctas[at.cta].warps[at.warp];
        let caller = w.splits[at.split].frame;
        let limit = self.l.params.stack_bytes.max(k.functions[0].local_bytes);
        if !w.call(at.split, pc, function, &k.functions, limit) {
            let message = format!(
                "local stack overflow: a call of `{}` needs more than the {limit} bytes per thread",
                k.program.functions[function as usize].name
            );
            let lane = mask.trailing_zeros() as u8 & 31;
            let t = Trouble::Kind(lane, FaultKind::StackOverflow, message);
            return Err(self.trouble_report(group, at, pc, mask, t));
        }
        let w = &group.ctas[at.cta].warps[at.warp];
        let (from, to) = (self.side(w, caller), self.side(w, w.splits[at.split].frame));
        let params = &k.functions[function as usize].params;
        for (arg, param) in info.args.iter().zip(params) {
            copy(&w.local, from, *arg, to, *param, mask);
        }
        Ok(true)
    }

    /// Copies the results of the function that split `s` returns from.
    pub(crate) fn copy_results(&self, w: &mut Warp, s: usize) {
        let split = w.splits[s];
        let callee = &w.frames[split.frame];
        let call = &self.k.calls[self.k.code[callee.call_pc as usize].k as usize];
        let rets = &self.k.functions[callee.function as usize].rets;
        let (from, to) = (self.side(w, split.frame), self.side(w, callee.parent));
        for (ret, place) in rets.iter().zip(&call.rets) {
            copy(&w.local, from, *ret, to, *place, split.mask);
        }
    }
}
