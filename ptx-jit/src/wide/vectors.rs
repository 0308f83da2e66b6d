//! Vectors of sixteen lanes of 32 bits or eight of 64.

use cranelift_codegen::ir::types::{F32, F64, I8, I32};
use cranelift_codegen::ir::{InstructionData, Opcode, Type, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::lower::{Lower, Refused};
use super::machine::{Part, View};
use super::words::Word;

/// Codes of an operation by the bits of its lanes: 32, 64.
fn binary(op: Opcode, float: bool) -> Option<[Code; 2]> {
    Some(match (op, float) {
        (Opcode::Iadd, _) => {
            [Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Isub, _) => {
            [Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Imul, _) => {
            [Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Band, _) => {
            [Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Bor, _) => {
            [Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Bxor, _) => {
            [Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Umin, _) => {
            [Code::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Umax, _) => {
            [Code::EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Smin, _) => {
            [Code::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Smax, _) => {
            [Code::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64]
        }
        (Opcode::Fadd, _) => [
            Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
        ],
        (Opcode::Fsub, _) => [
            Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
        ],
        (Opcode::Fmul, _) => [
            Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
        ],
        (Opcode::Fdiv, _) => [
            Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
        ],
        _ => return None,
    })
}

fn commutes(op: Opcode) -> bool {
    // Sums and products of NaNs depend on the order of their operands.
    use Opcode::*;
    matches!(op, Iadd | Imul | Band | Bor | Bxor | Umin | Umax | Smin | Smax)
}

/// One of two codes, for lanes of 32 or 64 bits.
pub(super) fn by(ty: Type, codes: [Code; 2]) -> Code {
    codes[usize::from(ty.lane_bits() == 64)]
}

impl Lower<'_> {
    pub(super) fn z(&mut self, v: Value) -> Part {
        Part::Use(self.reg(v), View::Z)
    }

    pub(super) fn vector_inst(
        &mut self,
        op: Opcode,
        data: &InstructionData,
        r: Value,
    ) -> Result<(), Refused> {
        let ty = self.ty(r);
        let bytes = ty.lane_bits() / 8;
        if ty.bytes() != 64 {
            return Err(format!("{op} of {ty}"));
        }
        let d = self.reg(r);
        let to = Part::Def(d, View::Z);
        match *data {
            InstructionData::UnaryConst { .. } => self.load_constant(r, d)?,
            InstructionData::Binary { args: [x, n], .. }
                if matches!(op, Opcode::Ishl | Opcode::Ushr | Opcode::Sshr) =>
            {
                self.shift(op, ty, d, x, n)?;
            }
            InstructionData::Binary { opcode: Opcode::Band, args: [x, y] }
                if self.and_not(x, y).is_some() =>
            {
                let (x, y) = self.and_not(x, y).unwrap_or((x, y));
                // The instruction turns its first operand over.
                let x = self.lanes(x, bytes);
                let y = self.z(y);
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32,
                        Code::EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64,
                    ],
                );
                self.emit(code, &[to, y, x]);
            }
            InstructionData::Binary { args: [x, y], .. } => {
                let codes =
                    binary(op, ty.lane_type().is_float()).ok_or_else(|| format!("{op} of {ty}"))?;
                let mut second = self.lanes(y, bytes);
                let mut x = x;
                if commutes(op) && matches!(second, Part::Use(..)) {
                    let first = self.lanes(x, bytes);
                    if !matches!(first, Part::Use(..)) {
                        (x, second) = (y, first);
                    }
                }
                let x = self.z(x);
                self.emit(by(ty, codes), &[to, x, second]);
            }
            InstructionData::Ternary { opcode: Opcode::Fma, args: [x, y, z] } => {
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
                        Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
                    ],
                );
                let mut second = self.lanes(y, bytes);
                let mut x = x;
                if matches!(second, Part::Use(..)) {
                    let first = self.lanes(x, bytes);
                    if !matches!(first, Part::Use(..)) {
                        (x, second) = (y, first);
                    }
                }
                let (x, z) = (self.z(x), self.reg(z));
                self.emit(code, &[Part::Both(d, z, View::Z), x, second]);
            }
            InstructionData::Unary { arg, .. } => self.unary(op, ty, d, arg)?,
            InstructionData::Ternary { opcode: Opcode::Select, args: [c, x, y] } => {
                let k = self.lane_mask(c)?;
                let (x, y) = (self.z(x), self.z(y));
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32,
                        Code::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64,
                    ],
                );
                self.emit(code, &[to, Part::Under(k), y, x]);
            }
            _ => return Err(format!("{op} of {ty}")),
        }
        Ok(())
    }

    fn unary(&mut self, op: Opcode, ty: Type, d: VReg, arg: Value) -> Result<(), Refused> {
        let bytes = ty.lane_bits() / 8;
        let to = Part::Def(d, View::Z);
        let from = self.ty(arg);
        match op {
            Opcode::Splat => {
                let scalar = self.cast(arg);
                if let Some(m) = self.element(arg, bytes) {
                    let code = by(
                        ty,
                        [
                            Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
                            Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                        ],
                    );
                    self.emit(code, &[to, Part::Mem(m)]);
                } else if [F32, F64].contains(&self.ty(scalar)) {
                    let code = by(
                        ty,
                        [
                            Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
                            Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                        ],
                    );
                    let x = Part::Use(self.reg(scalar), View::X);
                    self.emit(code, &[to, x]);
                } else if let Some(c) = self.number(arg) {
                    let c = c.to_le_bytes()[..bytes as usize].repeat(64 / bytes as usize);
                    self.load_bytes(&c, d);
                } else {
                    let (code, view) = match bytes {
                        4 => (Code::EVEX_Vpbroadcastd_zmm_k1z_r32, View::W),
                        8 => (Code::EVEX_Vpbroadcastq_zmm_k1z_r64, View::D),
                        _ => return Err(format!("{op} of {ty}")),
                    };
                    let x = Part::Use(self.reg(arg), view);
                    self.emit(code, &[to, x]);
                }
            }
            Opcode::Bnot => {
                let x = self.reg(arg);
                // The complement of the third operand.
                self.emit(
                    Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
                    &[
                        Part::Both(d, x, View::Z),
                        Part::Use(x, View::Z),
                        Part::Use(x, View::Z),
                        Part::Imm(0x55),
                    ],
                );
            }
            Opcode::Ineg => {
                let zero = self.zero();
                let x = self.lanes(arg, bytes);
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
                        Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
                    ],
                );
                self.emit(code, &[to, Part::Use(zero, View::Z), x]);
            }
            Opcode::FcvtToSintSat if from.lane_type() == F32 && ty.lane_type() == I32 => {
                let x = self.reg(arg);
                self.cut_to_int(d, Part::Use(x, View::Z), x);
            }
            _ => {
                let code = match op {
                    Opcode::Iabs => by(
                        ty,
                        [
                            Code::EVEX_Vpabsd_zmm_k1z_zmmm512b32,
                            Code::EVEX_Vpabsq_zmm_k1z_zmmm512b64,
                        ],
                    ),
                    Opcode::Popcnt => by(
                        ty,
                        [
                            Code::EVEX_Vpopcntd_zmm_k1z_zmmm512b32,
                            Code::EVEX_Vpopcntq_zmm_k1z_zmmm512b64,
                        ],
                    ),
                    Opcode::Clz => by(
                        ty,
                        [
                            Code::EVEX_Vplzcntd_zmm_k1z_zmmm512b32,
                            Code::EVEX_Vplzcntq_zmm_k1z_zmmm512b64,
                        ],
                    ),
                    Opcode::Sqrt => by(
                        ty,
                        [
                            Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er,
                            Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er,
                        ],
                    ),
                    Opcode::FcvtFromSint if from.lane_type() == I32 && bytes == 4 => {
                        Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er
                    }
                    Opcode::FcvtFromUint if from.lane_type() == I32 && bytes == 4 => {
                        Code::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er
                    }
                    op => return Err(format!("{op} of {ty}")),
                };
                let x = self.lanes(arg, bytes);
                self.emit(code, &[to, x]);
            }
        }
        Ok(())
    }

    /// A vector of zeros.
    pub(super) fn zero(&mut self) -> VReg {
        let d = self.vector();
        self.clear(d);
        d
    }

    fn clear(&mut self, d: VReg) {
        self.emit(
            Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
            &[Part::Def(d, View::Z), Part::Again(View::Z), Part::Again(View::Z)],
        );
    }

    fn load_constant(&mut self, r: Value, d: VReg) -> Result<(), Refused> {
        let c = self.bytes(r).ok_or("a constant of another size")?;
        self.load_bytes(&c, d);
        Ok(())
    }

    fn load_bytes(&mut self, c: &[u8], d: VReg) {
        let to = Part::Def(d, View::Z);
        let same = |n: usize| c.chunks(n).all(|x| x == &c[..n]);
        if c.iter().all(|x| *x == 0) {
            self.clear(d);
        } else if c.iter().all(|x| *x == 255) {
            self.emit(
                Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
                &[to, Part::Again(View::Z), Part::Again(View::Z), Part::Imm(255)],
            );
        } else if same(4) {
            let m = self.constant(c[..4].to_vec());
            self.emit(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, &[to, Part::Mem(m)]);
        } else if same(8) {
            let m = self.constant(c[..8].to_vec());
            self.emit(Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, &[to, Part::Mem(m)]);
        } else {
            let m = self.constant(c.to_vec());
            self.emit(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, &[to, Part::Mem(m)]);
        }
    }

    fn shift(&mut self, op: Opcode, ty: Type, d: VReg, x: Value, n: Value) -> Result<(), Refused> {
        let bits = i64::from(ty.lane_bits());
        let bytes = ty.lane_bits() / 8;
        let to = Part::Def(d, View::Z);
        if let Some(n) = self.number(n) {
            let codes = match op {
                Opcode::Ishl => [
                    Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
                    Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8,
                ],
                Opcode::Ushr => [
                    Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
                    Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
                ],
                _ => [
                    Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
                    Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8,
                ],
            };
            let x = self.lanes(x, bytes);
            self.emit(by(ty, codes), &[to, x, Part::Imm(n & (bits - 1))]);
            return Ok(());
        }
        let codes = match op {
            Opcode::Ishl => {
                [Code::EVEX_Vpslld_zmm_k1z_zmm_xmmm128, Code::EVEX_Vpsllq_zmm_k1z_zmm_xmmm128]
            }
            Opcode::Ushr => {
                [Code::EVEX_Vpsrld_zmm_k1z_zmm_xmmm128, Code::EVEX_Vpsrlq_zmm_k1z_zmm_xmmm128]
            }
            _ => [Code::EVEX_Vpsrad_zmm_k1z_zmm_xmmm128, Code::EVEX_Vpsraq_zmm_k1z_zmm_xmmm128],
        };
        // Cranelift's form takes the amount modulo the width.
        let n = self.reg(n);
        let cut = self.temp(RegClass::Int);
        self.emit(Code::And_rm32_imm8, &[Part::Both(cut, n, View::W), Part::Imm(bits - 1)]);
        let amount = self.vector();
        self.emit(
            Code::EVEX_Vmovd_xmm_rm32,
            &[Part::Def(amount, View::X), Part::Use(cut, View::W)],
        );
        let x = self.z(x);
        self.emit(by(ty, codes), &[to, x, Part::Use(amount, View::X)]);
        Ok(())
    }

    /// Numbers cut to integers; what is too great becomes the greatest, a NaN 0.
    pub(super) fn cut_to_int(&mut self, d: VReg, x: Part, again: VReg) {
        let [raw, most] = std::array::from_fn(|_| self.vector());
        let [great, nan] = std::array::from_fn(|_| self.temp(RegClass::Vector));
        self.emit(Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae, &[Part::Def(raw, View::Z), x]);
        let x = Part::Use(again, View::Z);
        let limit = Part::Each(self.constant(2f32.powi(31).to_le_bytes().to_vec()));
        let compare = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        // Greater or equal; unordered.
        self.emit(compare, &[Part::Def(great, View::K), x, limit, Part::Imm(0x1d)]);
        self.emit(compare, &[Part::Def(nan, View::K), x, x, Part::Imm(3)]);
        let blend = Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32;
        let greatest = Part::Each(self.constant(i32::MAX.to_le_bytes().to_vec()));
        self.emit(
            blend,
            &[Part::Def(most, View::Z), Part::Under(great), Part::Use(raw, View::Z), greatest],
        );
        let zero = Part::Each(self.constant(vec![0; 4]));
        self.emit(
            blend,
            &[Part::Def(d, View::Z), Part::Under(nan), Part::Use(most, View::Z), zero],
        );
    }

    /// Lane `n` of a vector.
    pub(super) fn extract(&mut self, v: Value, n: u8, r: Value) -> Result<(), Refused> {
        let ty = self.ty(v);
        if ty.bytes() != 64 || !ty.lane_type().is_int() {
            return Err(format!("a lane of {ty}"));
        }
        let wide = ty.lane_bits() == 64;
        let per = if wide { 2 } else { 4 };
        let d = self.reg(r);
        let part = self.quarter(v, n / per);
        let part = Part::Use(part, View::X);
        let to = Part::Def(d, if wide { View::D } else { View::W });
        match (wide, n % per) {
            (false, 0) => self.emit(Code::EVEX_Vmovd_rm32_xmm, &[to, part]),
            (true, 0) => self.emit(Code::EVEX_Vmovq_rm64_xmm, &[to, part]),
            (false, n) => {
                self.emit(Code::EVEX_Vpextrd_rm32_xmm_imm8, &[to, part, Part::Imm(i64::from(n))])
            }
            (true, n) => {
                self.emit(Code::EVEX_Vpextrq_rm64_xmm_imm8, &[to, part, Part::Imm(i64::from(n))])
            }
        }
        Ok(())
    }

    /// Four lanes of a vector as its own register; cut out once where that is in the same block.
    fn quarter(&mut self, v: Value, n: u8) -> VReg {
        let root = self.root(v);
        if n == 0 {
            return self.reg(root);
        }
        if self.local(root) {
            self.reg(root);
            if let Some(r) = self.quarters.get(&(root, n)) {
                return *r;
            }
            let r = self.vector();
            self.quarters.insert((root, n), r);
            return r;
        }
        let (r, x) = (self.vector(), self.reg(root));
        self.cut(r, x, n);
        r
    }

    pub(super) fn cut(&mut self, r: VReg, x: VReg, n: u8) {
        self.emit(
            Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8,
            &[Part::Def(r, View::X), Part::Use(x, View::Z), Part::Imm(i64::from(n))],
        );
    }

    /// Behind the instruction of a vector: the quarters that are read.
    pub(super) fn cut_quarters(&mut self, v: Value) {
        for n in 1..4 {
            if let Some(r) = self.quarters.remove(&(v, n)) {
                let x = self.reg(v);
                self.cut(r, x, n);
            }
        }
    }

    pub(super) fn k(&mut self, v: Value) -> VReg {
        self.reg(v)
    }

    pub(super) fn vector_word(
        &mut self,
        word: Word,
        number: u32,
        args: &[Value],
        result: Option<Value>,
    ) -> Result<(), Refused> {
        let d = result.map(|r| self.reg(r));
        let made = || d.ok_or_else(|| format!("{word:?} without a result"));
        let ty = args.first().map_or(I8, |a| self.ty(*a));
        let bytes = ty.lane_bits() / 8;
        let imm = Part::Imm(i64::from(number));
        match word {
            Word::Compare => {
                let wide = bytes == 8;
                let code = match (number & 8 != 0, wide) {
                    (false, false) => Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8,
                    (false, true) => Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8,
                    (true, false) => Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8,
                    (true, true) => Code::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8,
                };
                let y = self.lanes(args[1], bytes);
                let x = self.z(args[0]);
                self.emit(
                    code,
                    &[Part::Def(made()?, View::K), x, y, Part::Imm(i64::from(number & 7))],
                );
            }
            Word::CompareFloat => {
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
                        Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
                    ],
                );
                let y = self.lanes(args[1], bytes);
                let x = self.z(args[0]);
                self.emit(code, &[Part::Def(made()?, View::K), x, y, imm]);
            }
            Word::Test => {
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32,
                        Code::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64,
                    ],
                );
                let y = self.lanes(args[1], bytes);
                let x = self.z(args[0]);
                self.emit(code, &[Part::Def(made()?, View::K), x, y]);
            }
            Word::Blend => {
                let ty = self.ty(args[1]);
                let bytes = ty.lane_bits() / 8;
                let k = self.k(args[0]);
                let to = Part::Def(made()?, View::Z);
                let yes = self.lanes(args[1], bytes);
                if self.bytes(args[2]).is_some_and(|c| c.iter().all(|x| *x == 0))
                    && !matches!(yes, Part::Each(_))
                {
                    let code = by(
                        ty,
                        [
                            Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
                            Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
                        ],
                    );
                    self.emit(code, &[to, Part::Only(k), yes]);
                } else {
                    let code = by(
                        ty,
                        [
                            Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32,
                            Code::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64,
                        ],
                    );
                    let no = self.z(args[2]);
                    self.emit(code, &[to, Part::Under(k), no, yes]);
                }
            }
            Word::Ones => {
                let k = Part::Use(self.k(args[0]), View::K);
                self.emit(Code::EVEX_Vpmovm2d_zmm_kr, &[Part::Def(made()?, View::Z), k]);
            }
            Word::Signs => {
                let x = self.z(args[0]);
                self.emit(Code::EVEX_Vpmovd2m_kr_zmm, &[Part::Def(made()?, View::K), x]);
            }
            Word::Full => {
                let k = self.lane_mask(args[0])?;
                self.emit(
                    Code::VEX_Kmovw_kr_km16,
                    &[Part::Def(made()?, View::K), Part::Use(k, View::K)],
                );
            }
            Word::Join => {
                let low = Part::Use(self.k(args[0]), View::K);
                let high = Part::Use(self.k(args[1]), View::K);
                self.emit(Code::VEX_Kunpckbw_kr_kr_kr, &[Part::Def(made()?, View::K), high, low]);
            }
            Word::Halves => {
                let which = if number == 0 { 0u32 } else { 1 };
                let index: Vec<u8> =
                    (0..16u32).flat_map(|n| (2 * n + which).to_le_bytes()).collect();
                let t = self.vector();
                self.load_bytes(&index, t);
                let (x, y) = (self.z(args[0]), self.lanes(args[1], 4));
                let y = if let Part::Each(_) = y { self.z(args[1]) } else { y };
                self.emit(
                    Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32,
                    &[Part::Both(made()?, t, View::Z), x, y],
                );
            }
            Word::Widen => {
                let code = if number & 1 != 0 {
                    Code::EVEX_Vpmovsxdq_zmm_k1z_ymmm256
                } else {
                    Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256
                };
                let x = self.reg(args[0]);
                let x = if number & 2 != 0 { self.half(x, 1) } else { x };
                self.emit(code, &[Part::Def(made()?, View::Z), Part::Use(x, View::Y)]);
            }
            Word::DoubleOfInt => {
                let x = self.reg(args[0]);
                let x = if number != 0 { self.half(x, 1) } else { x };
                self.emit(
                    Code::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er,
                    &[Part::Def(made()?, View::Z), Part::Use(x, View::Y)],
                );
            }
            Word::Ternary => {
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
                        Code::EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8,
                    ],
                );
                let z = self.lanes(args[2], bytes);
                let (x, y) = (self.reg(args[0]), self.z(args[1]));
                self.emit(code, &[Part::Both(made()?, x, View::Z), y, z, imm]);
            }
            Word::Rotate => {
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vprold_zmm_k1z_zmmm512b32_imm8,
                        Code::EVEX_Vprolq_zmm_k1z_zmmm512b64_imm8,
                    ],
                );
                let x = self.lanes(args[0], bytes);
                self.emit(code, &[Part::Def(made()?, View::Z), x, imm]);
            }
            Word::ShiftEach => {
                let codes = match number {
                    0 => [
                        Code::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32,
                        Code::EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64,
                    ],
                    1 => [
                        Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32,
                        Code::EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64,
                    ],
                    _ => [
                        Code::EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32,
                        Code::EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64,
                    ],
                };
                let n = self.lanes(args[1], bytes);
                let x = self.z(args[0]);
                self.emit(by(ty, codes), &[Part::Def(made()?, View::Z), x, n]);
            }
            Word::Permute => {
                let y = self.lanes(args[1], 4);
                let index = self.z(args[2]);
                let x = self.reg(args[0]);
                self.emit(
                    Code::EVEX_Vpermt2d_zmm_k1z_zmm_zmmm512b32,
                    &[Part::Both(made()?, x, View::Z), index, y],
                );
            }
            Word::Pack => self.pack(made()?, args)?,
            Word::LeadingZeros => {
                let code = by(
                    ty,
                    [
                        Code::EVEX_Vplzcntd_zmm_k1z_zmmm512b32,
                        Code::EVEX_Vplzcntq_zmm_k1z_zmmm512b64,
                    ],
                );
                let x = self.lanes(args[0], bytes);
                self.emit(code, &[Part::Def(made()?, View::Z), x]);
            }
            Word::Product => {
                let code = if number == 0 {
                    Code::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64
                } else {
                    Code::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64
                };
                let y = self.lanes(args[1], 8);
                let x = self.z(args[0]);
                self.emit(code, &[Part::Def(made()?, View::Z), x, y]);
            }
            word => return self.memory_word(word, number, args, d),
        }
        Ok(())
    }

    /// A vector of scalars.
    fn pack(&mut self, d: VReg, args: &[Value]) -> Result<(), Refused> {
        let wide = args.len() == 8;
        if !wide && args.len() != 16 {
            return Err("a vector of so many lanes".into());
        }
        let per = if wide { 2 } else { 4 };
        let view = if wide { View::D } else { View::W };
        let (first, next) = if wide {
            (Code::EVEX_Vmovq_xmm_rm64, Code::EVEX_Vpinsrq_xmm_xmm_rm64_imm8)
        } else {
            (Code::EVEX_Vmovd_xmm_rm32, Code::EVEX_Vpinsrd_xmm_xmm_rm32_imm8)
        };
        let mut quarters = Vec::new();
        for chunk in args.chunks(per) {
            let mut x = self.vector();
            let part = self.operand(chunk[0], view);
            self.emit(first, &[Part::Def(x, View::X), part]);
            for (n, v) in chunk.iter().enumerate().skip(1) {
                let part = self.operand(*v, view);
                let y = self.vector();
                let n = Part::Imm(n as i64);
                self.emit(next, &[Part::Def(y, View::X), Part::Use(x, View::X), part, n]);
                x = y;
            }
            quarters.push(x);
        }
        self.together(d, &quarters);
        Ok(())
    }
}
