//! What is known of a kernel's results beside hardware's.

pub(crate) mod count;
mod decide;

use std::collections::BTreeSet;
use std::fmt;

use ptx_isa::row::Exactness;
use ptx_parse::code::Program;

/// How many instructions of a kernel give hardware's results, by what proves it. Instructions are counted where they
/// stand in the text that the kernel reaches; [`Fidelity::executed`] has how often they were executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fidelity {
    /// Bit for bit, as recorded from hardware or defined by the manual and IEEE 754.
    pub exact: u64,
    /// Those of [`Fidelity::exact`] whose datapath was read off recordings.
    pub recorded: u64,
    /// By the manual; no hardware that has them was recorded.
    pub manual: u64,
    /// Within a stated error.
    pub bounded: u64,
    /// The manual leaves the value to the implementation: clocks, identifiers, opaque objects.
    pub implementation: u64,
    /// Opcodes by the manual or within an error.
    pub inexact: BTreeSet<String>,
    /// What a launch executed; `None`: nobody counted.
    pub executed: Option<Executed>,
    /// Branches that depend on results by the manual or within an error.
    pub decides: Vec<Decided>,
}

/// What a launch executed: instructions times lanes whose guard held.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// All instructions, guarded ones for all lanes; `None`: compiled code counts only those below.
    pub all: Option<u64>,
    /// By the manual.
    pub manual: u64,
    /// Within a stated error.
    pub bounded: u64,
    /// Up to the implementation.
    pub implementation: u64,
}

/// How often instructions that are not exact were executed, as [`crate::Module::counters`] found it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(pub(crate) [u64; Grade::ALL.len()]);

/// A branch that depends on results that are not exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Its function.
    pub function: String,
    /// Its line in the PTX text.
    pub line: u32,
    /// Only if a value that was stored came back by a load.
    pub through_memory: bool,
}

/// Kinds of instruction that are not exact, in the order of their counters.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    Manual,
    Bounded,
    Implementation,
}

impl Grade {
    pub(crate) const ALL: [Grade; 3] = [Grade::Manual, Grade::Bounded, Grade::Implementation];

    fn of(exact: Exactness) -> Option<Grade> {
        match exact {
            Exactness::Bit | Exactness::Recorded(_) => None,
            Exactness::Manual => Some(Grade::Manual),
            Exactness::Ulp(_) => Some(Grade::Bounded),
            Exactness::Implementation => Some(Grade::Implementation),
        }
    }
}

impl Executed {
    pub(crate) fn between(before: Counters, after: Counters, all: Option<u64>) -> Executed {
        let [manual, bounded, implementation] =
            std::array::from_fn(|n| after.0[n].saturating_sub(before.0[n]));
        Executed { all, manual, bounded, implementation }
    }
}

impl Fidelity {
    /// Counts the instructions of a program.
    #[must_use]
    pub fn of(program: &Program) -> Fidelity {
        let mut found = Fidelity { decides: decide::branches(program), ..Fidelity::default() };
        // Behind the last instruction of the text stands the return of control that runs off it.
        let texts = program.functions.iter().map(|f| f.insts.split_last().map_or(&[][..], |l| l.1));
        for inst in texts.flatten() {
            let m = &program.matches[inst.opcode as usize];
            match Grade::of(m.row.exact) {
                None => found.exact += 1,
                Some(Grade::Manual) => found.manual += 1,
                Some(Grade::Bounded) => found.bounded += 1,
                Some(Grade::Implementation) => found.implementation += 1,
            }
            match m.row.exact {
                Exactness::Recorded(_) => found.recorded += 1,
                Exactness::Manual | Exactness::Ulp(_) => _ = found.inexact.insert(m.opcode()),
                Exactness::Bit | Exactness::Implementation => {}
            }
        }
        found
    }

    /// Instructions of all kinds.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.exact + self.manual + self.bounded + self.implementation
    }

    /// Writes the branches: those known by registers, then those by way of memory.
    fn write_branches(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Most lines that are named.
        const MOST: usize = 8;
        if self.inexact.is_empty() {
            return Ok(());
        }
        if self.decides.is_empty() {
            return write!(f, "; no branch depends on them");
        }
        for (through_memory, how) in
            [(false, "branches on what they give"), (true, "may branch on it by way of memory")]
        {
            let all = || self.decides.iter().filter(|d| d.through_memory == through_memory);
            let lines: Vec<String> = all().take(MOST).map(|d| d.line.to_string()).collect();
            if lines.is_empty() {
                continue;
            }
            let more = if all().count() > MOST { " and others" } else { "" };
            write!(f, "; line {}{more} {how}", lines.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} instructions, {} exact", self.instructions(), self.exact)?;
        if self.recorded > 0 {
            write!(f, " ({} as recorded)", self.recorded)?;
        }
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
        if let Some(executed) = &self.executed {
            write!(f, "; {executed}")?;
        }
        self.write_branches(f)
    }
}

impl fmt::Display for Executed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all {
            Some(all) => write!(f, "executed by lanes: {all}")?,
            None => write!(f, "executed by lanes")?,
        }
        let counts = [
            (self.manual, "by the manual"),
            (self.bounded, "within an error"),
            (self.implementation, "up to the implementation"),
        ];
        let mut said = counts.iter().filter(|(count, _)| *count > 0).peekable();
        if said.peek().is_none() {
            return write!(
                f,
                "{}",
                if self.all.is_some() { ", all exact" } else { ": exact ones alone" }
            );
        }
        let mut before = if self.all.is_some() { ", of which " } else { ": " };
        for (count, what) in said {
            write!(f, "{before}{count} {what}")?;
            before = ", ";
        }
        Ok(())
    }
}
