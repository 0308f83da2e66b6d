//! What a thread does where it meets others: it leaves its operands in the rows of its warp, and takes the results from
//! there. Every element has eight bytes, so that lanes which are at different places never touch each other's.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::Kind;

use crate::clif::{at, plain};
use crate::ctx::Ctx;
use crate::generator::{Gen, Rep};

/// Bytes of a row: an element for each lane.
pub(crate) const ROW: i32 = 256;

impl Gen<'_, '_> {
    /// The thread's column of its warp's rows.
    fn column(&mut self) -> Value {
        let [src, dst] = self.f.meeting_rows();
        let base = self.b.ins().load(I64, plain(), self.ctx, at!(meet));
        let thread = self.b.use_var(self.thread0);
        let warp = self.b.ins().ushr_imm_u(thread, 5);
        let rows = self.b.ins().imul_imm_u(warp, i64::from(ROW) * (src + dst).max(1) as i64);
        let lane = self.b.ins().band_imm_u(thread, 31);
        let lane = self.b.ins().ishl_imm_u(lane, 3);
        let at = self.b.ins().iadd(base, rows);
        self.b.ins().iadd(at, lane)
    }

    /// Leaves the operands of effect `e`.
    pub(crate) fn give(&mut self, e: u32) {
        let src = self.f.effects[e as usize].src.clone();
        if src.is_empty() {
            return;
        }
        let column = self.column();
        for (n, v) in src.into_iter().enumerate() {
            let x = self.scalar(v);
            let x = if self.kind(v) == Kind::P { self.b.ins().bmask(I32, x) } else { x };
            self.b.ins().store(plain(), x, column, n as i32 * ROW);
        }
    }

    /// Takes the results of effect `e`.
    pub(crate) fn take(&mut self, e: u32) {
        let [src, _] = self.f.meeting_rows();
        let column = self.column();
        for (n, d) in self.f.effects[e as usize].dst.clone().into_iter().enumerate() {
            let kind = self.kind(d);
            let ty = if kind == Kind::D { I64 } else { I32 };
            let x = self.b.ins().load(ty, plain(), column, (src + n) as i32 * ROW);
            let x = match kind {
                Kind::P => self.b.ins().icmp_imm_u(IntCC::NotEqual, x, 0),
                Kind::W | Kind::D => x,
            };
            self.define(d, Rep::Scalar(x));
        }
    }
}
