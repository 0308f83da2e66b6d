//! What is known of a kernel's results beside hardware's.

use std::collections::BTreeSet;
use std::fmt;

use ptx_isa::row::Exactness;
use ptx_parse::code::Program;

/// How many instructions of a kernel give hardware's results, by what proves it. Instructions are counted where they
/// stand in the text that the kernel reaches, however often they are executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fidelity {
    /// Bit for bit, as recorded from hardware or defined by the manual and IEEE 754.
    pub exact: u64,
    /// By the manual; no hardware that has them was recorded.
    pub manual: u64,
    /// Within a stated error.
    pub bounded: u64,
    /// The manual leaves the value to the implementation: clocks, identifiers, opaque objects.
    pub implementation: u64,
    /// Opcodes of the second and third kind.
    pub inexact: BTreeSet<String>,
}

impl Fidelity {
    /// Counts the instructions of a program.
    #[must_use]
    pub fn of(program: &Program) -> Fidelity {
        let mut found = Fidelity::default();
        // Behind the last instruction of the text stands the return of control that runs off it.
        let texts = program.functions.iter().map(|f| f.insts.split_last().map_or(&[][..], |l| l.1));
        for inst in texts.flatten() {
            let m = &program.matches[inst.opcode as usize];
            let (count, inexact) = match m.row.exact {
                Exactness::Bit | Exactness::Recorded(_) => (&mut found.exact, false),
                Exactness::Manual => (&mut found.manual, true),
                Exactness::Ulp(_) => (&mut found.bounded, true),
                Exactness::Implementation => (&mut found.implementation, false),
            };
            *count += 1;
            if inexact {
                found.inexact.insert(m.opcode());
            }
        }
        found
    }

    /// Instructions of all kinds.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.exact + self.manual + self.bounded + self.implementation
    }
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} instructions, {} exact", self.instructions(), self.exact)?;
        for (count, what) in [
            (self.manual, "by the manual"),
            (self.bounded, "within an error"),
            (self.implementation, "up to the implementation"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        if !self.inexact.is_empty() {
            let names: Vec<&str> = self.inexact.iter().map(String::as_str).collect();
            write!(f, " ({})", names.join(", "))?;
        }
        Ok(())
    }
}
