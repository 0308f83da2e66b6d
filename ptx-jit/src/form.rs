//! Slices of either form: four lanes, with masks of all ones and zeros, or sixteen, with masks of one bit a lane.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{
    F32X4, F32X16, F64X2, F64X8, I8X16, I16, I32, I32X4, I32X16, I64X2, I64X8,
};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};
use cranelift_frontend::FunctionBuilder;
use ptx_isa::Kind;

use crate::emit::{Gen, plain};
use crate::ops::Emit;
use crate::wide::words::{self, MASK, Word};

/// How lanes lie in vectors.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Sixteen lanes a slice, for [`crate::wide`]; else four.
    pub(crate) wide: bool,
}

impl Form {
    /// Lanes of a slice.
    pub(crate) fn lanes(self) -> usize {
        if self.wide { 16 } else { 4 }
    }
    /// Lanes of one vector of a kind.
    pub(crate) fn per(self, kind: Kind) -> usize {
        if kind == Kind::D { self.lanes() / 2 } else { self.lanes() }
    }
    pub(crate) fn w(self) -> Type {
        if self.wide { I32X16 } else { I32X4 }
    }
    pub(crate) fn d(self) -> Type {
        if self.wide { I64X8 } else { I64X2 }
    }
    pub(crate) fn f32(self) -> Type {
        if self.wide { F32X16 } else { F32X4 }
    }
    pub(crate) fn f64(self) -> Type {
        if self.wide { F64X8 } else { F64X2 }
    }
    /// Predicates and masks.
    pub(crate) fn p(self) -> Type {
        if self.wide { MASK } else { I32X4 }
    }
    pub(crate) fn of(self, kind: Kind) -> Type {
        match kind {
            Kind::P => self.p(),
            Kind::W => self.w(),
            Kind::D => self.d(),
        }
    }
    /// The same 32 bits in every lane.
    pub(crate) fn same32(self, b: &mut FunctionBuilder, c: u32) -> Value {
        vconst32(b, &[c; 16][..self.lanes()])
    }
    /// The same 64 bits in every lane of half a slice.
    pub(crate) fn same64(self, b: &mut FunctionBuilder, c: u64) -> Value {
        vconst64(b, &[c; 8][..self.lanes() / 2])
    }
    /// The mask of all lanes, or of none.
    pub(crate) fn mask(self, b: &mut FunctionBuilder, on: bool) -> Value {
        if self.wide {
            b.ins().iconst(MASK, if on { 0xffff } else { 0 })
        } else {
            self.same32(b, if on { u32::MAX } else { 0 })
        }
    }
    /// A scalar condition in every lane.
    pub(crate) fn full(self, b: &mut FunctionBuilder, x: Value) -> Value {
        if self.wide {
            return word(b, Word::Full, 0, &[x], MASK);
        }
        let m = b.ins().bmask(I32, x);
        b.ins().splat(I32X4, m)
    }
}

/// A call of a word with a result.
pub(crate) fn word(
    b: &mut FunctionBuilder,
    word: Word,
    number: u32,
    args: &[Value],
    ty: Type,
) -> Value {
    words::call(b, word, number, args, Some(ty)).expect("a call has the result that it was given")
}

/// A vector of four or sixteen words.
pub(crate) fn vconst32(b: &mut FunctionBuilder, c: &[u32]) -> Value {
    let bytes: Vec<u8> = c.iter().flat_map(|x| x.to_le_bytes()).collect();
    vconst(b, Form { wide: c.len() > 4 }.w(), bytes)
}

/// A vector of two or eight numbers of 64 bits.
pub(crate) fn vconst64(b: &mut FunctionBuilder, c: &[u64]) -> Value {
    let bytes: Vec<u8> = c.iter().flat_map(|x| x.to_le_bytes()).collect();
    vconst(b, Form { wide: c.len() > 2 }.d(), bytes)
}

fn vconst(b: &mut FunctionBuilder, ty: Type, bytes: Vec<u8>) -> Value {
    let k = b.func.dfg.constants.insert(bytes.into());
    b.ins().vconst(ty, k)
}

impl<'b> Gen<'_, 'b> {
    /// Lanes of a slice.
    pub(crate) fn per(&self) -> usize {
        self.form.lanes()
    }
    pub(crate) fn slices(&self) -> usize {
        self.g.width as usize / self.per()
    }
    pub(crate) fn emitter(&mut self, vector: bool) -> Emit<'_, 'b> {
        Emit { b: &mut self.b, vector, form: self.form }
    }
    pub(crate) fn same32(&mut self, c: u32) -> Value {
        self.form.same32(&mut self.b, c)
    }
    pub(crate) fn same64(&mut self, c: u64) -> Value {
        self.form.same64(&mut self.b, c)
    }
    /// A slice of the mask of all lanes, or of none.
    pub(crate) fn mask_of(&mut self, on: bool) -> Value {
        self.form.mask(&mut self.b, on)
    }
    /// The masks of all lanes.
    pub(crate) fn all_lanes(&mut self) -> Vec<Value> {
        let all = self.mask_of(true);
        vec![all; self.slices()]
    }
    /// A call of a word with a result.
    pub(crate) fn word(&mut self, w: Word, number: u32, args: &[Value], ty: Type) -> Value {
        word(&mut self.b, w, number, args, ty)
    }

    /// Whether any bit is set.
    pub(crate) fn any(&mut self, v: Value) -> Value {
        if self.form.wide {
            self.b.ins().icmp_imm_u(IntCC::NotEqual, v, 0)
        } else {
            self.b.ins().vany_true(v)
        }
    }
    pub(crate) fn any_of(&mut self, mask: &[Value]) -> Value {
        let mut all = mask[0];
        for m in &mask[1..] {
            all = self.b.ins().bor(all, *m);
        }
        if !self.form.wide {
            all = self.b.ins().bitcast(I8X16, plain_cast(), all);
        }
        self.any(all)
    }
    /// Whether every lane is on.
    pub(crate) fn all_of(&mut self, mask: &[Value]) -> Value {
        let mut all = mask[0];
        for m in &mask[1..] {
            all = self.b.ins().band(all, *m);
        }
        if self.form.wide {
            return self.b.ins().icmp_imm_u(IntCC::Equal, all, 0xffff);
        }
        let off = self.b.ins().bnot(all);
        let some_off = self.any(off);
        self.b.ins().icmp_imm_u(IntCC::Equal, some_off, 0)
    }

    /// Masks for [`Self::on`].
    pub(crate) fn bits_of(&mut self, mask: &[Value]) -> Vec<Value> {
        if !self.form.wide {
            return mask.to_vec();
        }
        mask.iter().map(|m| self.b.ins().uextend(I32, *m)).collect()
    }
    /// Whether lane `l` is on: 0 if not; `bits` as [`Self::bits_of`] gives them.
    pub(crate) fn on(&mut self, bits: &[Value], l: usize) -> Value {
        if !self.form.wide {
            return self.lane(bits, Kind::W, l);
        }
        self.b.ins().band_imm_u(bits[l / 16], 1 << (l % 16))
    }
    /// The mask of half `n` of the slices, for lanes of 64 bits.
    pub(crate) fn half_mask(&mut self, mask: &[Value], n: usize) -> Value {
        let m = mask[n / 2];
        match (self.form.wide, n.is_multiple_of(2)) {
            (true, true) => m,
            (true, false) => self.b.ins().ushr_imm_u(m, 8),
            (false, true) => self.b.ins().swiden_low(m),
            (false, false) => self.b.ins().swiden_high(m),
        }
    }

    /// Stores slices to a staging place: 4 or 8 bytes a lane.
    pub(crate) fn stage(&mut self, slices: &[Value], at: i32) {
        let step = 4 * self.per() as i32;
        for (n, x) in slices.iter().enumerate() {
            let x = if self.b.func.dfg.value_type(*x) == I16 {
                self.word(Word::Ones, 0, &[*x], I32X16)
            } else {
                *x
            };
            self.b.ins().store(plain(), x, self.ctx, at + n as i32 * step);
        }
    }
    pub(crate) fn unstage(&mut self, kind: Kind, at: i32) -> Vec<Value> {
        let (n, ty) = if kind == Kind::D {
            (self.slices() * 2, self.form.d())
        } else {
            (self.slices(), self.form.w())
        };
        let step = 4 * self.per() as i32;
        (0..n)
            .map(|i| {
                let x = self.b.ins().load(ty, plain(), self.ctx, at + i as i32 * step);
                if self.form.wide && kind == Kind::P {
                    self.word(Word::Signs, 0, &[x], MASK)
                } else {
                    x
                }
            })
            .collect()
    }
}

fn plain_cast() -> MemFlagsData {
    MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use ptx_parse::lower::lower;

    fn files(at: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                files(&path, out);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                out.push(path);
            }
        }
    }

    /// Cranelift's verifier looks at the types of every instruction.
    #[test]
    fn kernels_of_sixteen_lanes_a_slice_are_well_typed() {
        let mut all = Vec::new();
        for from in ["/../samples", "/tests", "/../ptx-interp/tests", "/../../shared/kernel-golden"]
        {
            files(Path::new(&format!("{}{from}", env!("CARGO_MANIFEST_DIR"))), &mut all);
        }
        let mut emitted = 0;
        for file in all {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let (Some(module), diags) = ptx_parse::parse_and_verify(&text, "test.ptx") else {
                continue;
            };
            if diags.iter().any(|d| d.is_error()) {
                continue;
            }
            for n in 0..module.functions.len() {
                if !module.functions[n].entry || module.functions[n].body.is_none() {
                    continue;
                }
                let Ok(program) = lower(&module, n as u32) else { continue };
                for block in [[128, 1, 1], [16, 16, 1], [10, 7, 1]] {
                    let assumed = crate::Assumptions::none();
                    let options = crate::Options::default();
                    let Ok((func, g, shapes, wide)) =
                        crate::middle(&program, block, &assumed, options, true)
                    else {
                        continue;
                    };
                    if !wide {
                        continue;
                    }
                    let isa = crate::target().unwrap();
                    let made = crate::code(&func, g, &shapes, isa.frontend_config(), true);
                    let (mut cx, _) =
                        made.unwrap_or_else(|e| panic!("{} {block:?}: {e}", file.display()));
                    if let Err(why) = crate::wide::compile(&mut cx, isa) {
                        println!("{} {block:?} {n}: {why}", file.display());
                        continue;
                    }
                    emitted += 1;
                }
            }
        }
        assert!(emitted > 50, "only {emitted} kernels");
    }
}
