//! Conditions of scalar instructions.

use cranelift_codegen::ir::condcodes::IntCC;
use iced_x86::Code;

/// Conditions by their number in instructions.
pub(super) mod cc {
    pub const B: u8 = 2;
    pub const AE: u8 = 3;
    pub const E: u8 = 4;
    pub const NE: u8 = 5;
    pub const BE: u8 = 6;
    pub const A: u8 = 7;
    pub const L: u8 = 12;
    pub const GE: u8 = 13;
    pub const LE: u8 = 14;
    pub const G: u8 = 15;
}

/// The number of a condition.
pub(super) fn condition(c: IntCC) -> u8 {
    match c {
        IntCC::Equal => cc::E,
        IntCC::NotEqual => cc::NE,
        IntCC::UnsignedLessThan => cc::B,
        IntCC::UnsignedGreaterThanOrEqual => cc::AE,
        IntCC::UnsignedLessThanOrEqual => cc::BE,
        IntCC::UnsignedGreaterThan => cc::A,
        IntCC::SignedLessThan => cc::L,
        IntCC::SignedGreaterThanOrEqual => cc::GE,
        IntCC::SignedLessThanOrEqual => cc::LE,
        IntCC::SignedGreaterThan => cc::G,
    }
}

/// Instructions that set a byte to a condition, by its number.
pub(super) const SET: [Code; 16] = [
    Code::Seto_rm8,
    Code::Setno_rm8,
    Code::Setb_rm8,
    Code::Setae_rm8,
    Code::Sete_rm8,
    Code::Setne_rm8,
    Code::Setbe_rm8,
    Code::Seta_rm8,
    Code::Sets_rm8,
    Code::Setns_rm8,
    Code::Setp_rm8,
    Code::Setnp_rm8,
    Code::Setl_rm8,
    Code::Setge_rm8,
    Code::Setle_rm8,
    Code::Setg_rm8,
];

/// Conditional moves of 32 and 64 bits.
pub(super) fn choose(c: u8, wide: bool) -> Result<Code, String> {
    Ok(match (c, wide) {
        (cc::B, false) => Code::Cmovb_r32_rm32,
        (cc::B, true) => Code::Cmovb_r64_rm64,
        (cc::AE, false) => Code::Cmovae_r32_rm32,
        (cc::AE, true) => Code::Cmovae_r64_rm64,
        (cc::E, false) => Code::Cmove_r32_rm32,
        (cc::E, true) => Code::Cmove_r64_rm64,
        (cc::NE, false) => Code::Cmovne_r32_rm32,
        (cc::NE, true) => Code::Cmovne_r64_rm64,
        (cc::BE, false) => Code::Cmovbe_r32_rm32,
        (cc::BE, true) => Code::Cmovbe_r64_rm64,
        (cc::A, false) => Code::Cmova_r32_rm32,
        (cc::A, true) => Code::Cmova_r64_rm64,
        (cc::L, false) => Code::Cmovl_r32_rm32,
        (cc::L, true) => Code::Cmovl_r64_rm64,
        (cc::GE, false) => Code::Cmovge_r32_rm32,
        (cc::GE, true) => Code::Cmovge_r64_rm64,
        (cc::LE, false) => Code::Cmovle_r32_rm32,
        (cc::LE, true) => Code::Cmovle_r64_rm64,
        (cc::G, false) => Code::Cmovg_r32_rm32,
        (cc::G, true) => Code::Cmovg_r64_rm64,
        _ => return Err("a condition".into()),
    })
}
