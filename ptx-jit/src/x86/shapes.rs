//! What operands instructions take, read off the names of `iced`'s codes: its own descriptions of all instructions take
//! some milliseconds to make in each process, and kernels need a few dozen of them.

use std::collections::HashMap;

use iced_x86::{Code, OpKind};

/// What can be said of an instruction's operands.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// The operand that may be a register as well as memory.
    pub in_memory: Option<u32>,
    /// How the number in the instruction is written.
    pub immediate: Option<OpKind>,
}

/// Shapes of the instructions that were asked for.
#[derive(Default)]
pub(super) struct Shapes(HashMap<Code, Shape>);

impl Shapes {
    pub(super) fn of(&mut self, code: Code) -> Shape {
        *self.0.entry(code).or_insert_with(|| shape(code))
    }
}

/// Of the name, as in `EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32` and `Add_rm32_imm8`.
fn shape(code: Code) -> Shape {
    let name = format!("{code:?}");
    let mut parts = name.split('_').peekable();
    let legacy = parts.next_if(|p| matches!(*p, "VEX" | "EVEX")).is_none();
    let operation = parts.next().unwrap_or_default();
    // Masks and roundings are no operands of their own.
    let operands: Vec<&str> =
        parts.filter(|p| !matches!(*p, "k1" | "k1z" | "k2" | "er" | "sae")).collect();
    let in_memory = operands.iter().position(|o| or_memory(o)).map(|n| n as u32);
    let wide = operands.first().is_some_and(|o| matches!(*o, "rm64" | "r64" | "RAX"));
    // Numbers that count something, and choices, are no sums' operands.
    let keeps_sign = legacy
        && matches!(
            operation,
            "Adc" | "Add" | "And" | "Cmp" | "Imul" | "Or" | "Sbb" | "Sub" | "Xor"
        );
    let word = operands.first().is_some_and(|o| matches!(*o, "rm32" | "r32"));
    let immediate = operands.last().and_then(|o| match *o {
        "imm8" if keeps_sign && wide => Some(OpKind::Immediate8to64),
        "imm8" if keeps_sign && word => Some(OpKind::Immediate8to32),
        "imm8" => Some(OpKind::Immediate8),
        "imm16" => Some(OpKind::Immediate16),
        "imm32" if wide => Some(OpKind::Immediate32to64),
        "imm32" => Some(OpKind::Immediate32),
        "imm64" => Some(OpKind::Immediate64),
        _ => None,
    });
    Shape { in_memory, immediate }
}

/// Whether it is `rm32`, `r32m8`, `xmmm128`, `km16` or alike.
fn or_memory(operand: &str) -> bool {
    let registers = ["xmm", "ymm", "zmm", "r32", "r64", "r", "k"];
    let rest = registers.iter().find_map(|r| operand.strip_prefix(r)).unwrap_or_default();
    rest.strip_prefix('m').is_some_and(|bits| bits.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use iced_x86::{EncodingKind, Mnemonic, OpCodeOperandKind};

    use super::*;

    /// What `iced` says.
    fn described(code: Code) -> Shape {
        let info = code.op_code();
        let kinds = || (0..info.op_count()).map(|n| (n, info.op_kind(n)));
        let both = |kind| {
            use OpCodeOperandKind::*;
            matches!(
                kind,
                r8_or_mem
                    | r16_or_mem
                    | r32_or_mem
                    | r64_or_mem
                    | xmm_or_mem
                    | ymm_or_mem
                    | zmm_or_mem
                    | k_or_mem
            )
        };
        let number = |kind| {
            Some(match kind {
                OpCodeOperandKind::imm8 => OpKind::Immediate8,
                OpCodeOperandKind::imm16 => OpKind::Immediate16,
                OpCodeOperandKind::imm32 => OpKind::Immediate32,
                OpCodeOperandKind::imm64 => OpKind::Immediate64,
                OpCodeOperandKind::imm8sex32 => OpKind::Immediate8to32,
                OpCodeOperandKind::imm8sex64 => OpKind::Immediate8to64,
                OpCodeOperandKind::imm32sex64 => OpKind::Immediate32to64,
                _ => return None,
            })
        };
        Shape {
            in_memory: kinds().find(|(_, k)| both(*k)).map(|(n, _)| n),
            immediate: kinds().find_map(|(_, k)| number(k)),
        }
    }

    #[test]
    fn names_say_what_the_descriptions_say() {
        let (mut count, mut differ) = (0, Vec::new());
        for code in Code::values() {
            let info = code.op_code();
            let vectors = matches!(info.encoding(), EncodingKind::VEX | EncodingKind::EVEX);
            // Of the old ones those of 32 and 64 bits that are about registers and numbers.
            let general = info.encoding() == EncodingKind::Legacy
                && info.mode64()
                && matches!(info.operand_size(), 0 | 32 | 64)
                && matches!(
                    info.mnemonic(),
                    Mnemonic::Adc
                        | Mnemonic::Add
                        | Mnemonic::And
                        | Mnemonic::Bsf
                        | Mnemonic::Bsr
                        | Mnemonic::Bt
                        | Mnemonic::Cmp
                        | Mnemonic::Cmova
                        | Mnemonic::Cmovae
                        | Mnemonic::Cmovb
                        | Mnemonic::Cmovbe
                        | Mnemonic::Cmove
                        | Mnemonic::Cmovg
                        | Mnemonic::Cmovge
                        | Mnemonic::Cmovl
                        | Mnemonic::Cmovle
                        | Mnemonic::Cmovne
                        | Mnemonic::Imul
                        | Mnemonic::Lea
                        | Mnemonic::Mov
                        | Mnemonic::Movsx
                        | Mnemonic::Movsxd
                        | Mnemonic::Movzx
                        | Mnemonic::Mul
                        | Mnemonic::Neg
                        | Mnemonic::Not
                        | Mnemonic::Or
                        | Mnemonic::Popcnt
                        | Mnemonic::Rol
                        | Mnemonic::Ror
                        | Mnemonic::Sar
                        | Mnemonic::Sbb
                        | Mnemonic::Sete
                        | Mnemonic::Shl
                        | Mnemonic::Shr
                        | Mnemonic::Sub
                        | Mnemonic::Test
                        | Mnemonic::Xor
                        | Mnemonic::Lzcnt
                        | Mnemonic::Tzcnt
                );
            // Second encodings, and what nobody documents.
            let name = format!("{code:?}");
            let odd = name.ends_with("_F6r1") || name.ends_with("_F7r1") || name.contains("Undoc");
            if (vectors || general) && !odd {
                if shape(code) != described(code) {
                    differ.push(name);
                }
                count += 1;
            }
        }
        assert_eq!(differ, Vec::<String>::new());
        assert!(count > 2900, "{count}");
    }
}
