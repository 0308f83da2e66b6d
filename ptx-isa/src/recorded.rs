//! Which rows recordings of hardware cover: `data/recorded.txt`, one line per row with evidence.
//!
//! A line holds the number of distinct recorded opcodes of the row (single instructions with all
//! their operands and results), the number of recorded whole kernels that use it, and the row.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::row::Row;
use crate::table::table;

/// What was recorded of a row.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorded {
    /// Distinct opcodes (`add.sat.s32`) recorded by themselves.
    pub forms: u32,
    /// Recorded whole kernels that use the row.
    pub kernels: u32,
}

impl Recorded {
    /// Whether there is any recording.
    #[must_use]
    pub fn any(self) -> bool {
        self.forms + self.kernels > 0
    }
}

/// Every row with its name in `data/recorded.txt`: its syntax, and from the second row of the same
/// syntax on its number.
#[must_use]
pub fn names() -> Vec<(&'static Row, String)> {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let rows = table().rows();
    rows.map(|(row, _)| {
        let n = seen.entry(row.syntax).or_default();
        *n += 1;
        let name = match n {
            1 => row.syntax.to_string(),
            n => format!("{} #{n}", row.syntax),
        };
        (row, name)
    })
    .collect()
}

/// The lines of `data/recorded.txt`.
pub fn lines() -> impl Iterator<Item = (&'static str, Recorded)> {
    include_str!("../data/recorded.txt").lines().filter_map(|line| {
        let (forms, rest) = line.split_once(' ')?;
        let (kernels, name) = rest.split_once(' ')?;
        Some((name, Recorded { forms: forms.parse().ok()?, kernels: kernels.parse().ok()? }))
    })
}

/// What was recorded of a row of the table.
#[must_use]
pub fn recorded(row: &'static Row) -> Recorded {
    static BY_ROW: LazyLock<HashMap<usize, Recorded>> = LazyLock::new(|| {
        let by_name: HashMap<&str, Recorded> = lines().collect();
        let named = names().into_iter();
        named
            .filter_map(|(row, name)| Some((std::ptr::from_ref(row).addr(), *by_name.get(&*name)?)))
            .collect()
    });
    BY_ROW.get(&std::ptr::from_ref(row).addr()).copied().unwrap_or_default()
}
