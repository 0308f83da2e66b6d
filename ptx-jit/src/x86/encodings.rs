//! Instructions on vectors by operation, element and width. What a column has no instruction for is [`Code::INVALID`],
//! which [`super::assemble`] refuses.

use cranelift_codegen::ir::Type;
use iced_x86::Code;

/// Elements of a vector.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// 32 bits.
    Words,
    /// 64 bits.
    Longs,
}

impl Element {
    /// Those of a type of vectors, or the scalar itself.
    pub(super) fn of(ty: Type) -> Element {
        if ty.lane_bits() == 64 { Element::Longs } else { Element::Words }
    }
}

/// A width of vectors, in one extension of the instruction set: a column of the table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// 512 bits, AVX-512.
    Z,
    /// Numbers in lane 0, and moves of them, AVX-512.
    Lane,
}

const WIDTHS: usize = 2;

macro_rules! table {
    ($($(#[$doc:meta])* $op:ident: $([$words:ident, $longs:ident]),+;)*) => {
        /// What an instruction does with vectors.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub(super) enum Operation {
            $($(#[$doc])* $op,)*
        }

        /// By operation, width and element.
        const CODES: &[[[Code; 2]; WIDTHS]] = &[$([$([Code::$words, Code::$longs]),+],)*];
    };
}

// For each width the instructions on words and on longs.
table! {
    Add: [EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    Sub: [EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    Mul: [EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    And: [EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    AndNot: [EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    Or: [EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, EVEX_Vporq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    Xor: [EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    /// Bitwise, by the table of the function.
    Ternary: [EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8], [INVALID, INVALID];
    MinU: [EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    MaxU: [EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    MinS: [EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    MaxS: [EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    Abs: [EVEX_Vpabsd_zmm_k1z_zmmm512b32, EVEX_Vpabsq_zmm_k1z_zmmm512b64], [INVALID, INVALID];
    Popcount: [EVEX_Vpopcntd_zmm_k1z_zmmm512b32, EVEX_Vpopcntq_zmm_k1z_zmmm512b64], [INVALID, INVALID];
    LeadingZeros: [EVEX_Vplzcntd_zmm_k1z_zmmm512b32, EVEX_Vplzcntq_zmm_k1z_zmmm512b64], [INVALID, INVALID];
    /// A shift by a number in the instruction.
    ShlBy: [EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8], [INVALID, INVALID];
    ShrBy: [EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8], [INVALID, INVALID];
    SarBy: [EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8], [INVALID, INVALID];
    /// A shift of all lanes by the number in another register.
    Shl: [EVEX_Vpslld_zmm_k1z_zmm_xmmm128, EVEX_Vpsllq_zmm_k1z_zmm_xmmm128], [INVALID, INVALID];
    Shr: [EVEX_Vpsrld_zmm_k1z_zmm_xmmm128, EVEX_Vpsrlq_zmm_k1z_zmm_xmmm128], [INVALID, INVALID];
    Sar: [EVEX_Vpsrad_zmm_k1z_zmm_xmmm128, EVEX_Vpsraq_zmm_k1z_zmm_xmmm128], [INVALID, INVALID];
    /// A shift of each lane by a number of its own.
    ShlEach: [EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    ShrEach: [EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    SarEach: [EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    RotateBy: [EVEX_Vprold_zmm_k1z_zmmm512b32_imm8, EVEX_Vprolq_zmm_k1z_zmmm512b64_imm8], [INVALID, INVALID];
    /// Products of the lower 32 bits.
    ProductU: [INVALID, EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    ProductS: [INVALID, EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    AddF: [EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er], [EVEX_Vaddss_xmm_k1z_xmm_xmmm32_er, EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er];
    SubF: [EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er], [EVEX_Vsubss_xmm_k1z_xmm_xmmm32_er, EVEX_Vsubsd_xmm_k1z_xmm_xmmm64_er];
    MulF: [EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er], [EVEX_Vmulss_xmm_k1z_xmm_xmmm32_er, EVEX_Vmulsd_xmm_k1z_xmm_xmmm64_er];
    DivF: [EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er], [EVEX_Vdivss_xmm_k1z_xmm_xmmm32_er, EVEX_Vdivsd_xmm_k1z_xmm_xmmm64_er];
    /// The sum of the third operand and the product of the others, over the third.
    Fma: [EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er], [EVEX_Vfmadd231ss_xmm_k1z_xmm_xmmm32_er, EVEX_Vfmadd231sd_xmm_k1z_xmm_xmmm64_er];
    SqrtF: [EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er], [EVEX_Vsqrtss_xmm_k1z_xmm_xmmm32_er, EVEX_Vsqrtsd_xmm_k1z_xmm_xmmm64_er];
    /// To a whole number; how is a number in the instruction.
    RoundF: [EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae], [INVALID, INVALID];
    /// The second operand where the first is no number.
    MaxF: [EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, INVALID], [INVALID, INVALID];
    /// From signed words.
    FloatOfS: [EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er], [EVEX_Vcvtsi2ss_xmm_xmm_rm32_er, EVEX_Vcvtsi2sd_xmm_xmm_rm32_er];
    FloatOfU: [EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er, INVALID], [EVEX_Vcvtusi2ss_xmm_xmm_rm32_er, EVEX_Vcvtusi2sd_xmm_xmm_rm32_er];
    /// The integer part.
    CutToS: [EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae, INVALID], [INVALID, INVALID];
    CutToU: [EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae, INVALID], [INVALID, INVALID];
    CompareS: [EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8], [INVALID, INVALID];
    CompareU: [EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8], [INVALID, INVALID];
    CompareF: [EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae], [EVEX_Vcmpss_kr_k1_xmm_xmmm32_imm8_sae, EVEX_Vcmpsd_kr_k1_xmm_xmmm64_imm8_sae];
    Test: [EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, EVEX_Vptestmq_kr_k1_zmm_zmmm512b64], [INVALID, INVALID];
    Blend: [EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64], [INVALID, INVALID];
    /// All ones where the mask is on.
    OnesOfMask: [EVEX_Vpmovm2d_zmm_kr, INVALID], [INVALID, INVALID];
    /// The lanes' highest bits.
    MaskOfSigns: [EVEX_Vpmovd2m_kr_zmm, INVALID], [INVALID, INVALID];
    /// Also from register to register.
    Load: [EVEX_Vmovdqu32_zmm_k1z_zmmm512, EVEX_Vmovdqu64_zmm_k1z_zmmm512], [EVEX_Vmovss_xmm_k1z_m32, EVEX_Vmovsd_xmm_k1z_m64];
    Store: [EVEX_Vmovdqu32_zmmm512_k1z_zmm, EVEX_Vmovdqu64_zmmm512_k1z_zmm], [EVEX_Vmovss_m32_k1_xmm, EVEX_Vmovsd_m64_k1_xmm];
    /// From lane 0 or memory.
    Broadcast: [EVEX_Vpbroadcastd_zmm_k1z_xmmm32, EVEX_Vpbroadcastq_zmm_k1z_xmmm64], [INVALID, INVALID];
    /// From a general register.
    BroadcastGeneral: [EVEX_Vpbroadcastd_zmm_k1z_r32, EVEX_Vpbroadcastq_zmm_k1z_r64], [INVALID, INVALID];
    /// Words of two vectors by a third, which is overwritten.
    PermuteOverIndex: [EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, INVALID], [INVALID, INVALID];
    /// Words of two vectors by a third; the first one is overwritten.
    PermuteOverFirst: [EVEX_Vpermt2d_zmm_k1z_zmm_zmmm512b32, INVALID], [INVALID, INVALID];
    /// From words of half a vector.
    WidenU: [INVALID, EVEX_Vpmovzxdq_zmm_k1z_ymmm256], [INVALID, INVALID];
    WidenS: [INVALID, EVEX_Vpmovsxdq_zmm_k1z_ymmm256], [INVALID, INVALID];
    /// Elements of a byte or two to words.
    LoadBytesU: [EVEX_Vpmovzxbd_zmm_k1z_xmmm128, INVALID], [INVALID, INVALID];
    LoadBytesS: [EVEX_Vpmovsxbd_zmm_k1z_xmmm128, INVALID], [INVALID, INVALID];
    LoadHalvesU: [EVEX_Vpmovzxwd_zmm_k1z_ymmm256, INVALID], [INVALID, INVALID];
    LoadHalvesS: [EVEX_Vpmovsxwd_zmm_k1z_ymmm256, INVALID], [INVALID, INVALID];
    /// The low byte or two of words.
    StoreBytes: [EVEX_Vpmovdb_xmmm128_k1z_zmm, INVALID], [INVALID, INVALID];
    StoreHalves: [EVEX_Vpmovdw_ymmm256_k1z_zmm, INVALID], [INVALID, INVALID];
    /// By 32-bit indices.
    Gather: [EVEX_Vpgatherdd_zmm_k1_vm32z, EVEX_Vpgatherdq_zmm_k1_vm32y], [INVALID, INVALID];
    /// By addresses.
    GatherLong: [EVEX_Vpgatherqd_ymm_k1_vm64z, EVEX_Vpgatherqq_zmm_k1_vm64z], [INVALID, INVALID];
    Scatter: [EVEX_Vpscatterdd_vm32z_k1_zmm, EVEX_Vpscatterdq_vm32y_k1_zmm], [INVALID, INVALID];
    ScatterLong: [EVEX_Vpscatterqd_vm64z_k1_ymm, EVEX_Vpscatterqq_vm64z_k1_zmm], [INVALID, INVALID];
    /// 128 bits of a vector.
    Quarter: [EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8, INVALID], [INVALID, INVALID];
    /// Half of a vector.
    Half: [INVALID, EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8], [INVALID, INVALID];
    SetQuarter: [EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8, INVALID], [INVALID, INVALID];
    SetHalf: [INVALID, EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8], [INVALID, INVALID];
    /// From a general register or memory to lane 0.
    FromGeneral: [INVALID, INVALID], [EVEX_Vmovd_xmm_rm32, EVEX_Vmovq_xmm_rm64];
    /// From lane 0 to a general register or memory.
    ToGeneral: [INVALID, INVALID], [EVEX_Vmovd_rm32_xmm, EVEX_Vmovq_rm64_xmm];
    /// One lane of 128 bits from a general register or memory.
    SetLane: [INVALID, INVALID], [EVEX_Vpinsrd_xmm_xmm_rm32_imm8, EVEX_Vpinsrq_xmm_xmm_rm64_imm8];
    /// One lane of 128 bits to a general register or memory.
    GetLane: [INVALID, INVALID], [EVEX_Vpextrd_rm32_xmm_imm8, EVEX_Vpextrq_rm64_xmm_imm8];
}

/// The instruction.
pub(super) fn code(operation: Operation, element: Element, width: Width) -> Code {
    CODES[operation as usize][width as usize][element as usize]
}

#[cfg(test)]
mod tests {
    use iced_x86::OpCodeInfo;

    use super::*;

    /// A slip in the table would be another instruction.
    #[test]
    fn columns_hold_instructions_of_their_width_each_once() {
        let all: Vec<(usize, usize, &OpCodeInfo)> = CODES
            .iter()
            .flat_map(|widths| widths.iter().enumerate())
            .flat_map(|(w, codes)| codes.iter().enumerate().map(move |(e, c)| (w, e, *c)))
            .filter(|(.., code)| *code != Code::INVALID)
            .map(|(w, e, code)| (w, e, code.op_code()))
            .collect();
        assert!(all.len() > 120, "{}", all.len());
        for (n, (width, element, code)) in all.iter().enumerate() {
            let text = code.instruction_string();
            let wide = text.contains("zmm") || text.contains("vm");
            assert_eq!(wide, *width == Width::Z as usize, "{text}");
            assert!(all[..n].iter().all(|(.., other)| other.code() != code.code()), "{text} twice");
            // The prefix says how long elements are, but where they become longer or shorter.
            let changes = ["VPMOV", "VCVT", "VPMULDQ", "VPMULUDQ"];
            if !changes.iter().any(|name| text.starts_with(name)) {
                assert_eq!(code.w(), *element as u32, "{text}");
            }
        }
    }
}
