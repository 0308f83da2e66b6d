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

    pub(super) fn bytes(self) -> u32 {
        match self {
            Element::Words => 4,
            Element::Longs => 8,
        }
    }
}

/// A width of vectors, in one extension of the instruction set: a column of the table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// 512 bits, AVX-512.
    Z,
    /// Numbers in lane 0, and moves of them, AVX-512.
    ZLane,
    /// 256 bits, AVX2 and FMA.
    Y,
    /// Numbers in lane 0, and moves of them, AVX and FMA.
    YLane,
}

const WIDTHS: usize = 4;

macro_rules! table {
    ($($(#[$doc:meta])* $op:ident: $($width:ident[$words:ident, $longs:ident])+;)*) => {
        /// What an instruction does with vectors.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub(super) enum Operation {
            $($(#[$doc])* $op,)*
        }

        /// By operation, width and element.
        const CODES: &[[[Code; 2]; WIDTHS]] = &[$({
            let mut widths = [[Code::INVALID; 2]; WIDTHS];
            $(widths[Width::$width as usize] = [Code::$words, Code::$longs];)+
            widths
        },)*];
    };
}

// For each width the instructions on words and on longs.
table! {
    Add: Z[EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpaddd_ymm_ymm_ymmm256, VEX_Vpaddq_ymm_ymm_ymmm256];
    Sub: Z[EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpsubd_ymm_ymm_ymmm256, VEX_Vpsubq_ymm_ymm_ymmm256];
    Mul: Z[EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpmulld_ymm_ymm_ymmm256, INVALID];
    And: Z[EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpand_ymm_ymm_ymmm256, VEX_Vpand_ymm_ymm_ymmm256];
    AndNot: Z[EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpandn_ymm_ymm_ymmm256, VEX_Vpandn_ymm_ymm_ymmm256];
    Or: Z[EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, EVEX_Vporq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpor_ymm_ymm_ymmm256, VEX_Vpor_ymm_ymm_ymmm256];
    Xor: Z[EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpxor_ymm_ymm_ymmm256, VEX_Vpxor_ymm_ymm_ymmm256];
    /// Bitwise, by the table of the function.
    Ternary: Z[EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8];
    MinU: Z[EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpminud_ymm_ymm_ymmm256, INVALID];
    MaxU: Z[EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpmaxud_ymm_ymm_ymmm256, INVALID];
    MinS: Z[EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpminsd_ymm_ymm_ymmm256, INVALID];
    MaxS: Z[EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpmaxsd_ymm_ymm_ymmm256, INVALID];
    Abs: Z[EVEX_Vpabsd_zmm_k1z_zmmm512b32, EVEX_Vpabsq_zmm_k1z_zmmm512b64] Y[VEX_Vpabsd_ymm_ymmm256, INVALID];
    Popcount: Z[EVEX_Vpopcntd_zmm_k1z_zmmm512b32, EVEX_Vpopcntq_zmm_k1z_zmmm512b64];
    LeadingZeros: Z[EVEX_Vplzcntd_zmm_k1z_zmmm512b32, EVEX_Vplzcntq_zmm_k1z_zmmm512b64];
    /// A shift by a number in the instruction.
    ShlBy: Z[EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8] Y[VEX_Vpslld_ymm_ymm_imm8, VEX_Vpsllq_ymm_ymm_imm8];
    ShrBy: Z[EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8] Y[VEX_Vpsrld_ymm_ymm_imm8, VEX_Vpsrlq_ymm_ymm_imm8];
    SarBy: Z[EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8] Y[VEX_Vpsrad_ymm_ymm_imm8, INVALID];
    /// A shift of all lanes by the number in another register.
    Shl: Z[EVEX_Vpslld_zmm_k1z_zmm_xmmm128, EVEX_Vpsllq_zmm_k1z_zmm_xmmm128] Y[VEX_Vpslld_ymm_ymm_xmmm128, VEX_Vpsllq_ymm_ymm_xmmm128];
    Shr: Z[EVEX_Vpsrld_zmm_k1z_zmm_xmmm128, EVEX_Vpsrlq_zmm_k1z_zmm_xmmm128] Y[VEX_Vpsrld_ymm_ymm_xmmm128, VEX_Vpsrlq_ymm_ymm_xmmm128];
    Sar: Z[EVEX_Vpsrad_zmm_k1z_zmm_xmmm128, EVEX_Vpsraq_zmm_k1z_zmm_xmmm128] Y[VEX_Vpsrad_ymm_ymm_xmmm128, INVALID];
    /// A shift of each lane by a number of its own.
    ShlEach: Z[EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpsllvd_ymm_ymm_ymmm256, VEX_Vpsllvq_ymm_ymm_ymmm256];
    ShrEach: Z[EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpsrlvd_ymm_ymm_ymmm256, VEX_Vpsrlvq_ymm_ymm_ymmm256];
    SarEach: Z[EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64] Y[VEX_Vpsravd_ymm_ymm_ymmm256, INVALID];
    RotateBy: Z[EVEX_Vprold_zmm_k1z_zmmm512b32_imm8, EVEX_Vprolq_zmm_k1z_zmmm512b64_imm8];
    /// Products of the lower 32 bits.
    ProductU: Z[INVALID, EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64] Y[INVALID, VEX_Vpmuludq_ymm_ymm_ymmm256];
    ProductS: Z[INVALID, EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64] Y[INVALID, VEX_Vpmuldq_ymm_ymm_ymmm256];
    AddF: Z[EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er] ZLane[EVEX_Vaddss_xmm_k1z_xmm_xmmm32_er, EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er] Y[VEX_Vaddps_ymm_ymm_ymmm256, VEX_Vaddpd_ymm_ymm_ymmm256] YLane[VEX_Vaddss_xmm_xmm_xmmm32, VEX_Vaddsd_xmm_xmm_xmmm64];
    SubF: Z[EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er] ZLane[EVEX_Vsubss_xmm_k1z_xmm_xmmm32_er, EVEX_Vsubsd_xmm_k1z_xmm_xmmm64_er] Y[VEX_Vsubps_ymm_ymm_ymmm256, VEX_Vsubpd_ymm_ymm_ymmm256] YLane[VEX_Vsubss_xmm_xmm_xmmm32, VEX_Vsubsd_xmm_xmm_xmmm64];
    MulF: Z[EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er] ZLane[EVEX_Vmulss_xmm_k1z_xmm_xmmm32_er, EVEX_Vmulsd_xmm_k1z_xmm_xmmm64_er] Y[VEX_Vmulps_ymm_ymm_ymmm256, VEX_Vmulpd_ymm_ymm_ymmm256] YLane[VEX_Vmulss_xmm_xmm_xmmm32, VEX_Vmulsd_xmm_xmm_xmmm64];
    DivF: Z[EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er] ZLane[EVEX_Vdivss_xmm_k1z_xmm_xmmm32_er, EVEX_Vdivsd_xmm_k1z_xmm_xmmm64_er] Y[VEX_Vdivps_ymm_ymm_ymmm256, VEX_Vdivpd_ymm_ymm_ymmm256] YLane[VEX_Vdivss_xmm_xmm_xmmm32, VEX_Vdivsd_xmm_xmm_xmmm64];
    /// The sum of the third operand and the product of the others, over the third.
    Fma: Z[EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er] ZLane[EVEX_Vfmadd231ss_xmm_k1z_xmm_xmmm32_er, EVEX_Vfmadd231sd_xmm_k1z_xmm_xmmm64_er] Y[VEX_Vfmadd231ps_ymm_ymm_ymmm256, VEX_Vfmadd231pd_ymm_ymm_ymmm256] YLane[VEX_Vfmadd231ss_xmm_xmm_xmmm32, VEX_Vfmadd231sd_xmm_xmm_xmmm64];
    /// The same with the third operand, the product, or both negated.
    FmaLess: Z[EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er] Y[VEX_Vfmsub231ps_ymm_ymm_ymmm256, VEX_Vfmsub231pd_ymm_ymm_ymmm256];
    FmaTurned: Z[EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er] Y[VEX_Vfnmadd231ps_ymm_ymm_ymmm256, VEX_Vfnmadd231pd_ymm_ymm_ymmm256];
    FmaTurnedLess: Z[EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er] Y[VEX_Vfnmsub231ps_ymm_ymm_ymmm256, VEX_Vfnmsub231pd_ymm_ymm_ymmm256];
    SqrtF: Z[EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er] ZLane[EVEX_Vsqrtss_xmm_k1z_xmm_xmmm32_er, EVEX_Vsqrtsd_xmm_k1z_xmm_xmmm64_er] Y[VEX_Vsqrtps_ymm_ymmm256, VEX_Vsqrtpd_ymm_ymmm256] YLane[VEX_Vsqrtss_xmm_xmm_xmmm32, VEX_Vsqrtsd_xmm_xmm_xmmm64];
    /// To a whole number; how is a number in the instruction.
    RoundF: Z[EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae] ZLane[EVEX_Vrndscaless_xmm_k1z_xmm_xmmm32_imm8_sae, EVEX_Vrndscalesd_xmm_k1z_xmm_xmmm64_imm8_sae] Y[VEX_Vroundps_ymm_ymmm256_imm8, VEX_Vroundpd_ymm_ymmm256_imm8] YLane[VEX_Vroundss_xmm_xmm_xmmm32_imm8, VEX_Vroundsd_xmm_xmm_xmmm64_imm8];
    /// The first operand where it is less, or greater; else the second one, also where one is no number.
    MinF: Z[EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae, EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae] Y[VEX_Vminps_ymm_ymm_ymmm256, VEX_Vminpd_ymm_ymm_ymmm256];
    MaxF: Z[EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae] Y[VEX_Vmaxps_ymm_ymm_ymmm256, VEX_Vmaxpd_ymm_ymm_ymmm256];
    /// A number of 64 bits of one of 32, the other way, and an integer by cutting.
    DoubleOfSingle: Z[INVALID, EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae] ZLane[INVALID, EVEX_Vcvtss2sd_xmm_k1z_xmm_xmmm32_sae] Y[INVALID, VEX_Vcvtps2pd_ymm_xmmm128] YLane[INVALID, VEX_Vcvtss2sd_xmm_xmm_xmmm32];
    SingleOfDouble: Z[INVALID, EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er] ZLane[INVALID, EVEX_Vcvtsd2ss_xmm_k1z_xmm_xmmm64_er] Y[INVALID, VEX_Vcvtpd2ps_xmm_ymmm256] YLane[INVALID, VEX_Vcvtsd2ss_xmm_xmm_xmmm64];
    IntOfDouble: Z[INVALID, EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae] Y[INVALID, VEX_Vcvttpd2dq_xmm_ymmm256];
    /// From signed words.
    FloatOfS: Z[EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er] ZLane[EVEX_Vcvtsi2ss_xmm_xmm_rm32_er, EVEX_Vcvtsi2sd_xmm_xmm_rm32_er] Y[VEX_Vcvtdq2ps_ymm_ymmm256, VEX_Vcvtdq2pd_ymm_xmmm128] YLane[VEX_Vcvtsi2ss_xmm_xmm_rm32, VEX_Vcvtsi2sd_xmm_xmm_rm32];
    FloatOfU: Z[EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er, INVALID] ZLane[EVEX_Vcvtusi2ss_xmm_xmm_rm32_er, EVEX_Vcvtusi2sd_xmm_xmm_rm32_er];
    /// The integer part.
    CutToS: Z[EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae, INVALID] Y[VEX_Vcvttps2dq_ymm_ymmm256, INVALID];
    CutToU: Z[EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae, INVALID];
    CompareS: Z[EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8];
    CompareU: Z[EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8];
    CompareF: Z[EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae] ZLane[EVEX_Vcmpss_kr_k1_xmm_xmmm32_imm8_sae, EVEX_Vcmpsd_kr_k1_xmm_xmmm64_imm8_sae] Y[VEX_Vcmpps_ymm_ymm_ymmm256_imm8, VEX_Vcmppd_ymm_ymm_ymmm256_imm8] YLane[VEX_Vcmpss_xmm_xmm_xmmm32_imm8, VEX_Vcmpsd_xmm_xmm_xmmm64_imm8];
    Test: Z[EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, EVEX_Vptestmq_kr_k1_zmm_zmmm512b64];
    Blend: Z[EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64];
    /// All ones where the mask is on.
    OnesOfMask: Z[EVEX_Vpmovm2d_zmm_kr, INVALID];
    /// The lanes' highest bits.
    MaskOfSigns: Z[EVEX_Vpmovd2m_kr_zmm, INVALID];
    /// Also from register to register.
    Load: Z[EVEX_Vmovdqu32_zmm_k1z_zmmm512, EVEX_Vmovdqu64_zmm_k1z_zmmm512] ZLane[EVEX_Vmovss_xmm_k1z_m32, EVEX_Vmovsd_xmm_k1z_m64] Y[VEX_Vmovdqu_ymm_ymmm256, VEX_Vmovdqu_ymm_ymmm256] YLane[VEX_Vmovss_xmm_m32, VEX_Vmovsd_xmm_m64];
    Store: Z[EVEX_Vmovdqu32_zmmm512_k1z_zmm, EVEX_Vmovdqu64_zmmm512_k1z_zmm] ZLane[EVEX_Vmovss_m32_k1_xmm, EVEX_Vmovsd_m64_k1_xmm] Y[VEX_Vmovdqu_ymmm256_ymm, VEX_Vmovdqu_ymmm256_ymm] YLane[VEX_Vmovss_m32_xmm, VEX_Vmovsd_m64_xmm];
    /// From lane 0 or memory.
    Broadcast: Z[EVEX_Vpbroadcastd_zmm_k1z_xmmm32, EVEX_Vpbroadcastq_zmm_k1z_xmmm64] Y[VEX_Vpbroadcastd_ymm_xmmm32, VEX_Vpbroadcastq_ymm_xmmm64];
    /// From a general register.
    BroadcastGeneral: Z[EVEX_Vpbroadcastd_zmm_k1z_r32, EVEX_Vpbroadcastq_zmm_k1z_r64];
    /// Words of two vectors by a third, which is overwritten.
    PermuteOverIndex: Z[EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, INVALID];
    /// Words of two vectors by a third; the first one is overwritten.
    PermuteOverFirst: Z[EVEX_Vpermt2d_zmm_k1z_zmm_zmmm512b32, INVALID];
    /// From words of half a vector.
    WidenU: Z[INVALID, EVEX_Vpmovzxdq_zmm_k1z_ymmm256] Y[INVALID, VEX_Vpmovzxdq_ymm_xmmm128];
    WidenS: Z[INVALID, EVEX_Vpmovsxdq_zmm_k1z_ymmm256] Y[INVALID, VEX_Vpmovsxdq_ymm_xmmm128];
    /// A byte, or two, of a vector of 128 bits from memory, by its number.
    InsertByte: ZLane[EVEX_Vpinsrb_xmm_xmm_r32m8_imm8, INVALID] YLane[VEX_Vpinsrb_xmm_xmm_r32m8_imm8, INVALID];
    InsertShort: ZLane[EVEX_Vpinsrw_xmm_xmm_r32m16_imm8, INVALID] YLane[VEX_Vpinsrw_xmm_xmm_r32m16_imm8, INVALID];
    /// The other way.
    GetByte: ZLane[EVEX_Vpextrb_r32m8_xmm_imm8, INVALID] YLane[VEX_Vpextrb_r32m8_xmm_imm8, INVALID];
    GetShort: ZLane[EVEX_Vpextrw_r32m16_xmm_imm8, INVALID] YLane[VEX_Vpextrw_r32m16_xmm_imm8, INVALID];
    /// Elements of a byte or two to words.
    LoadBytesU: Z[EVEX_Vpmovzxbd_zmm_k1z_xmmm128, INVALID] Y[VEX_Vpmovzxbd_ymm_xmmm64, INVALID];
    LoadBytesS: Z[EVEX_Vpmovsxbd_zmm_k1z_xmmm128, INVALID] Y[VEX_Vpmovsxbd_ymm_xmmm64, INVALID];
    LoadHalvesU: Z[EVEX_Vpmovzxwd_zmm_k1z_ymmm256, INVALID] Y[VEX_Vpmovzxwd_ymm_xmmm128, INVALID];
    LoadHalvesS: Z[EVEX_Vpmovsxwd_zmm_k1z_ymmm256, INVALID] Y[VEX_Vpmovsxwd_ymm_xmmm128, INVALID];
    /// The low byte or two of words.
    StoreBytes: Z[EVEX_Vpmovdb_xmmm128_k1z_zmm, INVALID];
    StoreHalves: Z[EVEX_Vpmovdw_ymmm256_k1z_zmm, INVALID];
    /// By 32-bit indices.
    Gather: Z[EVEX_Vpgatherdd_zmm_k1_vm32z, EVEX_Vpgatherdq_zmm_k1_vm32y];
    /// By addresses.
    GatherLong: Z[EVEX_Vpgatherqd_ymm_k1_vm64z, EVEX_Vpgatherqq_zmm_k1_vm64z];
    Scatter: Z[EVEX_Vpscatterdd_vm32z_k1_zmm, EVEX_Vpscatterdq_vm32y_k1_zmm];
    ScatterLong: Z[EVEX_Vpscatterqd_vm64z_k1_ymm, EVEX_Vpscatterqq_vm64z_k1_zmm];
    /// 128 bits of a vector.
    Quarter: Z[EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8, INVALID] Y[VEX_Vextracti128_xmmm128_ymm_imm8, INVALID];
    /// Half of a vector.
    Half: Z[INVALID, EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8] Y[INVALID, VEX_Vextractf128_xmmm128_ymm_imm8];
    SetQuarter: Z[EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8, INVALID] Y[VEX_Vinserti128_ymm_ymm_xmmm128_imm8, INVALID];
    SetHalf: Z[INVALID, EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8] Y[INVALID, VEX_Vinsertf128_ymm_ymm_xmmm128_imm8];
    /// From a general register or memory to lane 0.
    FromGeneral: ZLane[EVEX_Vmovd_xmm_rm32, EVEX_Vmovq_xmm_rm64] YLane[VEX_Vmovd_xmm_rm32, VEX_Vmovq_xmm_rm64];
    /// From lane 0 to a general register or memory.
    ToGeneral: ZLane[EVEX_Vmovd_rm32_xmm, EVEX_Vmovq_rm64_xmm] YLane[VEX_Vmovd_rm32_xmm, VEX_Vmovq_rm64_xmm];
    /// One lane of 128 bits from a general register or memory.
    SetLane: ZLane[EVEX_Vpinsrd_xmm_xmm_rm32_imm8, EVEX_Vpinsrq_xmm_xmm_rm64_imm8] YLane[VEX_Vpinsrd_xmm_xmm_rm32_imm8, VEX_Vpinsrq_xmm_xmm_rm64_imm8];
    /// One lane of 128 bits to a general register or memory.
    GetLane: ZLane[EVEX_Vpextrd_rm32_xmm_imm8, EVEX_Vpextrq_rm64_xmm_imm8] YLane[VEX_Vpextrd_rm32_xmm_imm8, VEX_Vpextrq_rm64_xmm_imm8];
    // What only the columns of VEX have.
    /// All ones where the lanes are equal; where the first operand's are greater, as signed numbers.
    Equal: Y[VEX_Vpcmpeqd_ymm_ymm_ymmm256, VEX_Vpcmpeqq_ymm_ymm_ymmm256];
    Greater: Y[VEX_Vpcmpgtd_ymm_ymm_ymmm256, VEX_Vpcmpgtq_ymm_ymm_ymmm256];
    /// The second operand where the third has its highest bit, else the first.
    Choose: Y[VEX_Vblendvps_ymm_ymm_ymmm256_ymm, VEX_Vblendvpd_ymm_ymm_ymmm256_ymm];
    /// The same by the bits of a number in the instruction.
    ChooseBy: Y[VEX_Vpblendd_ymm_ymm_ymmm256_imm8, INVALID];
    /// Flags of the bits in both operands, and in the second alone.
    TestBits: Y[VEX_Vptest_ymm_ymmm256, INVALID];
    /// The lanes' highest bits as a number.
    Signs: Y[VEX_Vmovmskps_r32_ymm, INVALID];
    /// Lanes under a mask that is a vector.
    LoadUnder: Y[VEX_Vpmaskmovd_ymm_ymm_m256, VEX_Vpmaskmovq_ymm_ymm_m256];
    StoreUnder: Y[VEX_Vpmaskmovd_m256_ymm_ymm, VEX_Vpmaskmovq_m256_ymm_ymm];
    /// Elements of one vector by numbers in another, or in the instruction.
    Permute: Y[VEX_Vpermd_ymm_ymm_ymmm256, INVALID];
    PermuteBy: Y[INVALID, VEX_Vpermq_ymm_ymmm256_imm8];
    /// In each 128 bits: two words of the first operand, then two of the second, by a number in the instruction.
    PickWords: Y[VEX_Vshufps_ymm_ymm_ymmm256_imm8, INVALID];
    /// In each 128 bits: words by a number in the instruction; bytes by those of another vector.
    SwapWords: Y[VEX_Vpshufd_ymm_ymmm256_imm8, INVALID];
    SwapBytes: Y[VEX_Vpshufb_ymm_ymm_ymmm256, INVALID];
    /// In each 128 bits: the lower, the upper elements of both operands in turn.
    LowerInTurn: Y[VEX_Vpunpckldq_ymm_ymm_ymmm256, VEX_Vpunpcklqdq_ymm_ymm_ymmm256];
    UpperInTurn: Y[VEX_Vpunpckhdq_ymm_ymm_ymmm256, VEX_Vpunpckhqdq_ymm_ymm_ymmm256];
    /// Two of the four halves of both operands.
    PickHalves: Y[INVALID, VEX_Vperm2i128_ymm_ymm_ymmm256_imm8];
    /// Sums of bytes.
    Add8: Y[VEX_Vpaddb_ymm_ymm_ymmm256, INVALID];
    /// Sums of neighbours: bytes to 16 bits (the second operand's are signed), those to words; of eight bytes.
    SumBytes: Y[VEX_Vpmaddubsw_ymm_ymm_ymmm256, VEX_Vpsadbw_ymm_ymm_ymmm256];
    SumHalves: Y[VEX_Vpmaddwd_ymm_ymm_ymmm256, INVALID];
    /// Words to half as many bits, without their sign; what is too great becomes the greatest.
    PackWords: YLane[VEX_Vpackusdw_xmm_xmm_xmmm128, INVALID];
    PackHalves: YLane[VEX_Vpackuswb_xmm_xmm_xmmm128, INVALID];
    StoreQuarter: YLane[VEX_Vmovdqu_xmmm128_xmm, INVALID];
    /// From a general register of 64 bits.
    FloatOfLong: YLane[VEX_Vcvtsi2ss_xmm_xmm_rm64, VEX_Vcvtsi2sd_xmm_xmm_rm64];
}

/// The instruction.
pub(super) fn code(operation: Operation, element: Element, width: Width) -> Code {
    CODES[operation as usize][width as usize][element as usize]
}

#[cfg(test)]
mod tests {
    use iced_x86::{EncodingKind, OpCodeInfo};

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
        assert!(all.len() > 250, "{}", all.len());
        for (n, (width, element, code)) in all.iter().enumerate() {
            let text = code.instruction_string();
            let widths = [Width::Z, Width::ZLane, Width::Y, Width::YLane];
            let evex = code.encoding() == EncodingKind::EVEX;
            let wide = match widths[*width] {
                Width::Z | Width::ZLane => text.contains("zmm") || text.contains("vm"),
                Width::Y | Width::YLane => text.contains("ymm"),
            };
            assert_eq!(wide, matches!(widths[*width], Width::Z | Width::Y), "{text}");
            assert_eq!(evex, matches!(widths[*width], Width::Z | Width::ZLane), "{text}");
            // With VEX, bits and moves are the same whatever the elements are.
            let same = |(_, e, other): &&(usize, usize, &OpCodeInfo)| {
                other.code() == code.code() && (evex || e == element)
            };
            assert!(all[..n].iter().find(same).is_none(), "{text} twice");
            // The prefix says how long elements are, but where they become longer or shorter.
            let changes = ["VPMOV", "VCVT", "VPMULDQ", "VPMULUDQ"];
            if evex && !changes.iter().any(|name| text.starts_with(name)) {
                assert_eq!(code.w(), *element as u32, "{text}");
            }
        }
    }
}
