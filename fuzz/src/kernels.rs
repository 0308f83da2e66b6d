//! Random kernels: instructions of the lines `// eval:` under `tests/ptx/eval`, under guards, branches and in loops.
//! Every thread works on a row of its own, so that nothing races.

use std::sync::LazyLock;

use ptx_runtime::Verified;

use crate::bytes::Bytes;
use crate::engines::Case;

const FILES: [&str; 7] = [
    include_str!("../../tests/ptx/eval/bits.ptx"),
    include_str!("../../tests/ptx/eval/comparisons.ptx"),
    include_str!("../../tests/ptx/eval/conversions.ptx"),
    include_str!("../../tests/ptx/eval/floats.ptx"),
    include_str!("../../tests/ptx/eval/integers.ptx"),
    include_str!("../../tests/ptx/eval/moves.ptx"),
    include_str!("../../tests/ptx/eval/packed.ptx"),
];

/// The text around instructions, and of branches and loops: no source file spells instructions.
const FRAME: &str = include_str!("../data/frame.ptx");

/// Bytes of a thread's row, and threads.
const ROW: usize = 128;
const THREADS: u32 = 48;

/// Instructions with types in place of registers.
static HEADS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let lines = FILES.iter().flat_map(|file| file.lines());
    lines.filter_map(|line| Some(line.strip_prefix("// eval: ")?.split_once(": ")?.0)).collect()
});

/// The register class of a type.
fn class(word: &str) -> Option<(&'static str, usize)> {
    Some(match word {
        "pred" => ("%p", 4),
        "b16" | "u16" | "s16" | "f16" | "bf16" | "b8" | "u8" | "s8" => ("%h", 6),
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "tf32" => ("%r", 8),
        "b64" | "u64" | "s64" | "f64" => ("%d", 6),
        "b128" => ("%x", 3),
        _ => return None,
    })
}

/// The instructions of a head on registers that the bytes choose.
fn instance(head: &str, bytes: &mut Bytes<'_>, out: &mut String) {
    for instruction in head.split(';') {
        let Some((opcode, operands)) = instruction.trim().split_once(' ') else { continue };
        out.push_str("    ");
        // Carries are no registers: what hands them on stays together.
        if !head.contains(';') && bytes.byte().is_multiple_of(5) {
            let not = if bytes.byte() & 1 == 0 { "" } else { "!" };
            *out += &format!("@{not}%p{} ", bytes.below(4));
        }
        out.push_str(opcode);
        out.push(' ');
        let mut word = String::new();
        for c in operands.chars().chain(";".chars()) {
            if c.is_ascii_alphanumeric() || "_%.$".contains(c) {
                word.push(c);
                continue;
            }
            match class(&word) {
                Some((name, many)) => *out += &format!("{name}{}", bytes.below(many)),
                None => out.push_str(&word),
            }
            word.clear();
            out.push(c);
        }
        out.push('\n');
    }
}

/// A sequence of instructions, with what is nested in it.
fn body(bytes: &mut Bytes<'_>, out: &mut String, labels: &mut usize, depth: usize) {
    let part = |from: &str, to: &str| {
        let start = FRAME.find(from).map_or(0, |at| at + from.len());
        let end = FRAME[start..].find(to).map_or(FRAME.len(), |at| start + at);
        &FRAME[start..end]
    };
    for _ in 0..1 + bytes.below(12) {
        if bytes.0.is_empty() {
            return;
        }
        let choice = bytes.byte();
        *labels += 1;
        let label = *labels;
        match choice {
            0..24 if depth < 3 => {
                let not = if choice & 1 == 0 { "" } else { "!" };
                let guard = format!("{not}%p{}", bytes.below(4));
                let skip = format!("SKIP{label}");
                *out += &part("// IF\n", "// LOOP").replace("GUARD", &guard).replace("SKIP", &skip);
                body(bytes, out, labels, depth + 1);
                *out += &format!("{skip}:\n");
            }
            24..40 if depth < 3 => {
                let fill = |text: &str| {
                    text.replace("COUNT", &format!("%count{depth}"))
                        .replace("FLAG", &format!("%q{depth}"))
                        .replace("TOP", &format!("TOP{label}"))
                        .replace("TIMES", &(1 + usize::from(choice) % 5).to_string())
                };
                *out += &fill(part("// LOOP\n", "// AGAIN"));
                body(bytes, out, labels, depth + 1);
                *out += &fill(part("// AGAIN\n", "// END"));
            }
            _ => instance(HEADS[bytes.below(HEADS.len())], bytes, out),
        }
    }
}

/// The kernel that the bytes choose, and what is left of them.
pub fn text(bytes: &mut Bytes<'_>) -> String {
    let mut made = String::new();
    body(bytes, &mut made, &mut 0, 0);
    let frame = FRAME.split("// IF").next().unwrap_or(FRAME);
    frame.replace("// BODY\n", &made)
}

/// Values that instructions treat specially.
const VALUES: [u64; 16] = [
    0,
    1,
    u64::MAX,
    0x8000_0000_8000_0000,
    0x7fff_ffff_7fff_ffff,
    0x3f80_0000_bf80_0000,
    0x7f80_0000_ff80_0000,
    0x7fc0_0001_7f80_0001,
    0x0000_0001_8000_0001,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0001,
    0x0010_0000_0000_0000,
    0x3c00_bc00_7c00_fc00,
    0x7e01_0001_8001_0400,
    0x4f00_0000_cf00_0000,
];

/// The same on both engines.
///
/// # Panics
/// When they differ.
pub fn kernels(data: &[u8]) {
    let mut bytes = Bytes(data);
    let seed = bytes.word();
    let text = text(&mut bytes);
    let Ok(verified) = Verified::new(&text, "fuzz") else { return };
    let mut state = seed | 1;
    let words = (0..ROW * THREADS as usize / 8).flat_map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = state ^ state >> 29;
        let word = if mixed & 3 == 0 { VALUES[(state >> 60) as usize] } else { mixed };
        word.to_le_bytes()
    });
    let buffer: Vec<u8> = words.collect();
    Case { verified: &verified, entry: "k", threads: THREADS, buffer: &buffer }.check();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_ptx() {
        assert!(HEADS.len() > 150, "{}", HEADS.len());
        let (mut good, mut state) = (0, 1u64);
        for _ in 0..60 {
            let data: Vec<u8> = (0..80)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            let text = text(&mut Bytes(&data));
            match Verified::new(&text, "fuzz") {
                Ok(_) => good += 1,
                Err(why) => println!("{}", why.render(false)),
            }
        }
        assert!(good > 40, "{good} of 60 kernels verify");
    }
}
