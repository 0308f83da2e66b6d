//! Which instructions ran, and which way their guards and branches went.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use ptx_interp::report::CodePlace;
use ptx_interp::{Moment, place_of};
use ptx_parse::code::{Flow, Program};
use serde::{Deserialize, Serialize};

/// How often an instruction ran, counted in threads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Covered {
    /// The instruction.
    pub place: CodePlace,
    /// Threads that came to it.
    pub threads: u64,
    /// Of a guarded instruction or branch: threads whose guard held, and those whose did not.
    pub sides: Option<[u64; 2]>,
}

/// Counts of one launch.
pub(crate) struct Counter {
    program: Arc<Program>,
    /// Threads, and those whose guard held, by function and instruction.
    counts: Vec<Vec<(u64, u64)>>,
}

impl Counter {
    pub(crate) fn new(program: Arc<Program>) -> Counter {
        let counts = program.functions.iter().map(|f| vec![(0, 0); f.insts.len()]).collect();
        Counter { program, counts }
    }

    pub(crate) fn issue(&mut self, m: &Moment<'_>, active: u32) {
        let (function, index) = (m.function() as usize, m.index() as usize);
        let Some(count) = self.counts[function].get_mut(index) else { return };
        let inst = &self.program.functions[function].insts[index];
        // Of a guarded call, return or indirect branch, `active` are the lanes that skip it.
        let skips = match &inst.flow {
            Flow::Call(_) | Flow::Brx { .. } => true,
            Flow::Ret => function != 0,
            Flow::Next | Flow::Bra(_) | Flow::Exit => false,
        };
        let held = if skips && inst.guard.is_some() { m.lanes() & !active } else { active };
        count.0 += u64::from(m.lanes().count_ones());
        count.1 += u64::from(held.count_ones());
    }

    /// The counts by instruction; those that nobody came to are there too.
    pub(crate) fn finish(&self) -> Vec<Covered> {
        let mut all = Vec::new();
        for (f, counts) in self.counts.iter().enumerate() {
            for (n, (threads, held)) in counts.iter().enumerate() {
                let inst = &self.program.functions[f].insts[n];
                let place = place_of(&self.program, f as u32, n as u32);
                // The return that ends every function stands in no line.
                if inst.opcode as usize + 1 == self.program.matches.len() {
                    continue;
                }
                let sides = inst.guard.map(|_| [*held, threads - held]);
                all.push(Covered { place, threads: *threads, sides });
            }
        }
        all
    }
}

/// Adds the counts of the same instruction.
pub fn merge(all: impl IntoIterator<Item = Covered>) -> Vec<Covered> {
    let mut merged: BTreeMap<(String, u32, u32, String), Covered> = BTreeMap::new();
    for new in all {
        let ptx = &new.place.ptx;
        let key = (ptx.file.clone(), ptx.line, ptx.column, new.place.function.clone());
        match merged.get_mut(&key) {
            Some(known) => {
                known.threads += new.threads;
                if let (Some(a), Some(b)) = (&mut known.sides, &new.sides) {
                    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                }
            }
            None => drop(merged.insert(key, new)),
        }
    }
    merged.into_values().collect()
}

/// Lines of one file: threads, and the sides of its guarded instructions.
type Lines = BTreeMap<u32, (u64, Vec<[u64; 2]>)>;

/// Counts in the form of lcov: by lines of PTX, and of the source where the PTX names it.
pub fn lcov(all: &[Covered]) -> String {
    let mut files: BTreeMap<&str, Lines> = BTreeMap::new();
    for covered in all {
        for p in [Some(&covered.place.ptx), covered.place.source.as_ref()].into_iter().flatten() {
            let line = files.entry(&p.file).or_default().entry(p.line).or_default();
            line.0 = line.0.max(covered.threads);
            line.1.extend(covered.sides);
        }
    }
    let mut out = String::new();
    for (file, lines) in files {
        let _ = writeln!(out, "TN:\nSF:{file}");
        for (line, (_, sides)) in &lines {
            for (n, side) in sides.iter().enumerate() {
                let reached = side[0] + side[1] != 0;
                for (branch, count) in side.iter().enumerate() {
                    let count = if reached { count.to_string() } else { "-".into() };
                    let _ = writeln!(out, "BRDA:{line},{n},{branch},{count}");
                }
            }
        }
        for (line, (threads, _)) in &lines {
            let _ = writeln!(out, "DA:{line},{threads}");
        }
        let hit = lines.values().filter(|(threads, _)| *threads != 0).count();
        let _ = writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", lines.len());
    }
    out
}

/// A line for each file: how many of its lines ran, and how many sides of its guards were taken.
pub fn summary(all: &[Covered]) -> String {
    let mut files: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for covered in all {
        let count = files.entry(&covered.place.ptx.file).or_default();
        count[0] += 1;
        count[1] += u64::from(covered.threads != 0);
        for side in covered.sides.iter().flatten() {
            count[2] += 1;
            count[3] += u64::from(*side != 0);
        }
    }
    let line = |(file, [all, ran, sides, taken]): (&&str, &[u64; 4])| {
        format!("{file}: {ran} of {all} instructions, {taken} of {sides} sides of guards\n")
    };
    files.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_interp::report::Position;

    fn covered(line: u32, threads: u64, sides: Option<[u64; 2]>) -> Covered {
        let at = |file: &str| Position { file: file.into(), line, column: 1 };
        let (function, text) = ("k".to_owned(), "x;".to_owned());
        let place = CodePlace { function, ptx: at("k.ptx"), source: Some(at("k.cu")), text };
        Covered { place, threads, sides }
    }

    #[test]
    fn launches_add_up() {
        let one = [covered(3, 32, Some([32, 0])), covered(4, 0, None)];
        let two = [covered(3, 8, Some([2, 6]))];
        let all = merge(one.into_iter().chain(two));
        assert_eq!((all[0].threads, all[0].sides), (40, Some([34, 6])));
        let text = lcov(&all);
        for part in ["SF:k.cu", "SF:k.ptx", "BRDA:3,0,1,6", "DA:3,40", "DA:4,0", "LF:2\nLH:1"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert_eq!(summary(&all), "k.ptx: 1 of 2 instructions, 2 of 2 sides of guards\n");
    }
}
