//! Grid-wide synchronisation: what the driver supplies to kernels of cooperative launches.
//!
//! Code of nvcc finds a barrier word through `%envreg1` and `%envreg2` (`cooperative_groups/details/driver_abi.h`: the
//! high and the low half of the address of a size and a barrier); numba calls two functions of the device runtime
//! (`ptx_runtime::device_runtime`). Here the word is a variable of each module. It is there whether or not a launch is
//! cooperative, so that `grid_group::is_valid` is true in an ordinary launch too.

use std::borrow::Cow;
use std::fmt::Write;

use ptx_runtime::isa::{Operation, table};

const WORKSPACE: &str = "ptxrun_grid_workspace";

/// What a read of the low half of the address becomes, and on the second line one of the high half: `TARGET` stands for
/// the destination, `WORKSPACE` for the variable.
const READS: &str = include_str!("grid_read.ptx");

/// A move from one of the two registers: its destination and whether it is the high half.
fn read(statement: &str) -> Option<(&str, bool)> {
    let (opcode, operands) = statement.split_once(char::is_whitespace)?;
    let found = table().find(opcode).ok()?;
    found.iter().find(|m| m.row.op == Operation::Move)?;
    let (target, source) = operands.split_once(',')?;
    let high = match source.trim() {
        "%envreg1" => true,
        "%envreg2" => false,
        _ => return None,
    };
    Some((target.trim(), high))
}

/// The text with reads of the two registers replaced by the address of a variable; lines stay lines.
pub fn with_workspace(text: &str) -> Cow<'_, str> {
    const SIZE: &str = ".address_size";
    if !text.contains("%envreg") {
        return text.into();
    }
    let Some(header) = text.find(SIZE) else { return text.into() };
    let digits = text[header + SIZE.len()..].trim_start();
    if !digits.starts_with("64") {
        return text.into();
    }
    let body = text.len() - digits.len() + 2;
    let mut out = text[..body].to_owned();
    let _ = write!(out, " .global .align 8 .b8 {WORKSPACE}[8];");
    let mut rest = &text[body..];
    while let Some(at) = rest.find("%envreg") {
        let start = rest[..at].rfind([';', '{', '}', ':', '\n']).map_or(0, |before| before + 1);
        let Some(length) = rest[at..].find(';') else { break };
        let statement = &rest[start..at + length];
        let (done, next) = match read(statement.trim()) {
            Some((target, high)) => {
                out.push_str(&rest[..start]);
                let read = READS.lines().nth(usize::from(high)).unwrap_or_default();
                out.push_str(&read.replace("WORKSPACE", WORKSPACE).replace("TARGET", target));
                ("", at + length + 1)
            }
            None => (&rest[..at + length], at + length),
        };
        out.push_str(done);
        rest = &rest[next..];
    }
    out.push_str(rest);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_runtime::Verified;

    #[test]
    fn registers_become_an_address() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n\
            mov.u32 %r1, %envreg2;\nmov.u32 %r2, %envreg1; mov.u32 %r3, %tid.x;\nret;\n}\n";
        let changed = with_workspace(text);
        assert_eq!(changed.lines().count(), text.lines().count());
        assert!(!changed.contains("%envreg") && changed.contains("mov.u32 %r3, %tid.x;"));
        let verified = Verified::new(&changed, "k").unwrap_or_else(|e| panic!("{e}"));
        assert!(verified.module().symbols.iter().any(|s| s.name == WORKSPACE));
        assert!(matches!(with_workspace("mov.u32 %r1, %tid.x;"), Cow::Borrowed(_)));
    }
}
