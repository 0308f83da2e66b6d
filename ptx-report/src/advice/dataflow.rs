//! Names of registers in an instruction's text: enough to follow a value from its definition to
//! its uses. The text is what the assembler's grammar accepted, so splitting it is safe.

use std::collections::HashMap;

use ptx_timing::isa::{Operation, Ty, table};
use ptx_timing::report::Line;

/// An instruction's parts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts<'a> {
    /// Mnemonic with its modifiers.
    pub opcode: &'a str,
    /// Operands, the destination first.
    pub operands: Vec<&'a str>,
}

/// Splits `@%p mul.f32 %f1, %f2, 0f3F800000;`.
pub(super) fn parts(text: &str) -> Parts<'_> {
    let text = text.trim().trim_end_matches(';').trim();
    let text = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(char::is_whitespace).map_or("", |r| r.1.trim_start()),
        None => text,
    };
    let (opcode, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut operands = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (i, c) in rest.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                operands.push(rest[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    if !rest.trim().is_empty() {
        operands.push(rest[start..].trim());
    }
    Parts { opcode, operands }
}

/// What an opcode computes and the types among its modifiers, as the instruction table has it.
pub(super) fn operation(opcode: &str) -> (Operation, Vec<Ty>) {
    let found = table().find(opcode).ok().and_then(|matches| matches.into_iter().next());
    found.map_or((Operation::Other, Vec::new()), |m| (m.row.op, m.types().collect()))
}

/// Definitions and uses of registers, by function and name.
pub(super) struct Flow<'a> {
    lines: &'a [Line],
    definitions: HashMap<(&'a str, &'a str), Vec<usize>>,
    uses: HashMap<(&'a str, &'a str), Vec<usize>>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(lines: &'a [Line]) -> Self {
        let mut flow = Self { lines, definitions: HashMap::new(), uses: HashMap::new() };
        for (i, line) in lines.iter().enumerate() {
            let p = parts(&line.text);
            for (n, operand) in p.operands.iter().enumerate() {
                let key = (line.function.as_str(), *operand);
                let map = if n == 0 { &mut flow.definitions } else { &mut flow.uses };
                map.entry(key).or_default().push(i);
            }
        }
        flow
    }

    /// The one instruction that defines a register, if there is only one.
    pub(super) fn definition(&self, function: &str, register: &str) -> Option<&'a Line> {
        match self.definitions.get(&(function, register))?[..] {
            [one] => self.lines.get(one),
            _ => None,
        }
    }

    /// Instructions that read a register as a whole operand.
    pub(super) fn uses(&self, function: &str, register: &str) -> Vec<&'a Line> {
        let found = self.uses.get(&(function, register)).map_or(&[][..], Vec::as_slice);
        found.iter().filter_map(|i| self.lines.get(*i)).collect()
    }
}

/// An integer literal of PTX.
pub(super) fn integer(text: &str) -> Option<u64> {
    let text = text.trim_end_matches('U');
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => match text.strip_prefix("0b").or_else(|| text.strip_prefix("0B")) {
            Some(binary) => (binary, 2),
            None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
            None => (text, 10),
        },
    };
    u64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_fall_into_parts() {
        let p = parts("@!%p1 mad.lo.s32  %r1, %r2,\n 0x10, %r3;");
        assert_eq!(p.opcode, "mad.lo.s32");
        assert_eq!(p.operands, ["%r1", "%r2", "0x10", "%r3"]);
        let p = parts("ld.global.v2.f32 {%f1, %f2}, [%rd1+8];");
        assert_eq!(p.operands, ["{%f1, %f2}", "[%rd1+8]"]);
        assert_eq!(parts("ret;"), Parts { opcode: "ret", operands: vec![] });
    }

    #[test]
    fn literals() {
        assert_eq!(integer("16"), Some(16));
        assert_eq!(integer("0x10U"), Some(16));
        assert_eq!(integer("020"), Some(16));
        assert_eq!(integer("0b10000"), Some(16));
        assert_eq!(integer("%r1"), None);
        assert_eq!(integer("-8"), None);
    }
}
