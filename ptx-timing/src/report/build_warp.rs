//! Makes what a report says of one warp from what it did.

use std::collections::BTreeMap;

use ptx_parse::code::Program;

use super::Line;
use super::inputs::Inputs;
use super::sample::pattern;
use super::warp::{Begins, WarpAccessInfo, WarpInfo, WarpPart};
use crate::replay::watched::{Parts, Path, PathAccess, PathStep};

/// Parts that are told apart.
const MOST_PARTS: usize = 4096;

/// Accesses that are shown.
const MOST_ACCESSES: usize = 256;

/// Index in a report's lines of the first instruction of each function.
pub(super) fn first_lines(program: &Program) -> Vec<u32> {
    let starts = program.functions.iter().scan(0, |sum, f| {
        let first = *sum;
        *sum += f.insts.len() as u32;
        Some(first)
    });
    starts.collect()
}

/// What the warp did that was asked for.
pub(super) fn warp(inputs: &Inputs<'_>, lines: &[Line]) -> Option<WarpInfo> {
    let path = inputs.path?;
    let first = first_lines(inputs.program);
    let line_of = |step: &PathStep| {
        let line = first.get(step.function as usize)? + step.index;
        // The end of a function has no text.
        ((line as usize) < lines.len()).then_some(line)
    };
    let steps: Vec<(u32, PathStep)> =
        path.steps.iter().filter_map(|step| Some((line_of(step)?, *step))).collect();
    let clocks = clocks(inputs, &first, &steps);
    let (parts, more) = parts(&steps, &clocks);
    let mut executions = BTreeMap::new();
    let number: Vec<u64> = steps
        .iter()
        .map(|(line, _)| {
            let n = executions.entry(*line).or_insert(0);
            *n += 1;
            *n
        })
        .collect();
    let reached: Vec<u32> =
        path.accesses.iter().filter_map(|a| line_of(path.steps.get(a.step as usize)?)).collect();
    executions.retain(|line, _| reached.contains(line));
    let branches = steps.iter().filter(|(_, step)| step.parts == Parts::Branches).count();
    // Behind a branch that parts lanes, some of them go on alone.
    let parts_lanes = |w: &&[(u32, PathStep)]| {
        let (before, after) = (w[0].1, w[1].1.lanes);
        before.parts == Parts::Branches && after != before.lanes && after & !before.lanes == 0
    };
    let divergent = steps.windows(2).filter(parts_lanes).count();
    let lanes: u64 = steps.iter().map(|(_, step)| u64::from(step.lanes.count_ones())).sum();
    Some(WarpInfo {
        block: path.warp.block,
        warp: path.warp.warp,
        instructions: steps.len() as u64,
        lanes_per_instruction: lanes as f64 / steps.len().max(1) as f64,
        branches: branches as u64,
        divergent: divergent as u64,
        parts,
        executions: executions.into_iter().collect(),
        accesses: accesses(inputs, path, lines, &steps, &number, &clocks),
        truncated: path.truncated || more,
    })
}

/// When each step issued, as far as machine code has these instructions one by one.
fn clocks(inputs: &Inputs<'_>, first: &[u32], steps: &[(u32, PathStep)]) -> Vec<Option<u64>> {
    let mut issued: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let followed = inputs.outcome.recording.as_ref().map_or(&[][..], |r| &r.followed);
    for (pc, at) in followed {
        let (function, index) = inputs.code.origin[*pc as usize];
        issued.entry(first[function as usize] + index).or_default().push(*at);
    }
    let mut executed: BTreeMap<u32, usize> = BTreeMap::new();
    for (line, _) in steps {
        *executed.entry(*line).or_default() += 1;
    }
    issued.retain(|line, at| executed.get(line) == Some(&at.len()));
    let mut used: BTreeMap<u32, usize> = BTreeMap::new();
    let mut next = |line: &u32| {
        let n = used.entry(*line).or_default();
        *n += 1;
        issued.get(line)?.get(*n - 1).copied()
    };
    steps.iter().map(|(line, _)| next(line)).collect()
}

/// The steps as parts, and whether there were more.
fn parts(steps: &[(u32, PathStep)], clocks: &[Option<u64>]) -> (Vec<WarpPart>, bool) {
    let mut parts: Vec<WarpPart> = Vec::new();
    // The lanes around the present ones, outermost first, each with the step at which they parted.
    let mut around: Vec<(u32, Option<usize>)> = Vec::new();
    for (at, ((line, step), clock)) in steps.iter().zip(clocks).enumerate() {
        let same = at.checked_sub(1).is_some_and(|before| steps[before].1.lanes == step.lanes);
        if same && let Some(part) = parts.last_mut() {
            part.last = *line;
            part.instructions += 1;
            if let Some(clock) = clock {
                let [from, to] = part.clocks.unwrap_or([*clock; 2]);
                part.clocks = Some([from.min(*clock), to.max(*clock)]);
            }
            continue;
        }
        if parts.len() == MOST_PARTS {
            return (parts, true);
        }
        let (begins, parted) = begin(&mut around, steps, at);
        parts.push(WarpPart {
            depth: around.len() as u32 - 1,
            lanes: step.lanes,
            begins,
            branch: parted.map(|at| steps[at].0),
            first: *line,
            last: *line,
            instructions: 1,
            clocks: clock.map(|clock| [clock; 2]),
        });
    }
    (parts, false)
}

/// Goes from the lanes of a step's predecessor to its own. Why they differ, and the step at which its lanes parted.
fn begin(
    around: &mut Vec<(u32, Option<usize>)>,
    steps: &[(u32, PathStep)],
    at: usize,
) -> (Begins, Option<usize>) {
    let lanes = steps[at].1.lanes;
    let Some(before) = at.checked_sub(1) else {
        around.push((lanes, None));
        return (Begins::Start, None);
    };
    // Lanes that come before their own branch: what parted last among these.
    let (mut parted, mut rejoins) = (before, false);
    while let Some(&(outer, step)) = around.last().filter(|(outer, _)| lanes & !outer != 0) {
        rejoins |= outer & lanes != 0;
        parted = step.unwrap_or(parted);
        around.pop();
    }
    if around.last().is_some_and(|(outer, _)| *outer == lanes) {
        return (Begins::Rejoin, None);
    }
    // More lanes than any around them: the warp began with some of them asleep.
    around.push((lanes, Some(parted)));
    let begins = match steps[parted].1.parts {
        _ if rejoins => return (Begins::Rejoin, None),
        Parts::Ends => Begins::Ended,
        Parts::Predicates => Begins::Predicated,
        Parts::Not | Parts::Branches => Begins::Split,
    };
    (begins, Some(parted))
}

/// The accesses that were asked for.
fn accesses(
    inputs: &Inputs<'_>,
    path: &Path,
    lines: &[Line],
    steps: &[(u32, PathStep)],
    number: &[u64],
    clocks: &[Option<u64>],
) -> Vec<WarpAccessInfo> {
    let wanted = |line: u32, execution: u64| match inputs.accesses {
        [] => execution == 1,
        list => list.contains(&(lines[line as usize].ptx_line, execution)),
    };
    let info = |access: &PathAccess| {
        let at = access.step as usize;
        let ((line, step), execution) = (steps.get(at)?, *number.get(at)?);
        if !wanted(*line, execution) {
            return None;
        }
        let pc = inputs.code.pc(step.function, step.index)?;
        let instruction = inputs.code.code.instructions.get(pc as usize)?;
        let lanes = (access.space, access.does, &access.access);
        Some(WarpAccessInfo {
            line: *line,
            execution,
            clock: clocks.get(at).copied().flatten(),
            space: access.space.into(),
            pattern: pattern(inputs.profile, instruction, lanes),
        })
    };
    path.accesses.iter().filter_map(info).take(MOST_ACCESSES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps on lines 0, 1, 2, … by these lanes; `b` is a branch, `e` an end.
    fn steps(of: &[(u32, char)]) -> Vec<(u32, PathStep)> {
        let step = |(line, &(lanes, kind)): (u32, &(u32, char))| {
            let parts = match kind {
                'b' => Parts::Branches,
                'e' => Parts::Ends,
                'p' => Parts::Predicates,
                _ => Parts::Not,
            };
            (line, PathStep { function: 0, index: line, lanes, parts })
        };
        (0..).zip(of).map(step).collect()
    }

    fn tree(of: &[(u32, char)]) -> Vec<(u32, u32, Begins, Option<u32>)> {
        let steps = steps(of);
        let (parts, more) = parts(&steps, &vec![None; steps.len()]);
        assert!(!more);
        assert_eq!(parts.iter().map(|p| p.instructions).sum::<u64>(), steps.len() as u64);
        parts.iter().map(|p| (p.depth, p.lanes, p.begins, p.branch)).collect()
    }

    #[test]
    fn both_sides_of_a_branch_hang_on_it() {
        let found = tree(&[(15, ' '), (15, 'b'), (3, ' '), (3, ' '), (12, ' '), (15, ' ')]);
        let expected = [
            (0, 15, Begins::Start, None),
            (1, 3, Begins::Split, Some(1)),
            (1, 12, Begins::Split, Some(1)),
            (0, 15, Begins::Rejoin, None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn branches_within_a_side_are_deeper() {
        let of = [(15, 'b'), (3, 'b'), (1, ' '), (2, ' '), (3, ' '), (12, ' '), (15, ' ')];
        let expected = [
            (0, 15, Begins::Start, None),
            (1, 3, Begins::Split, Some(0)),
            (2, 1, Begins::Split, Some(1)),
            (2, 2, Begins::Split, Some(1)),
            (1, 3, Begins::Rejoin, None),
            (1, 12, Begins::Split, Some(0)),
            (0, 15, Begins::Rejoin, None),
        ];
        assert_eq!(tree(&of), expected);
    }

    #[test]
    fn lanes_that_leave_a_loop_wait_outside() {
        let of = [(7, 'b'), (6, 'b'), (4, 'b'), (7, ' ')];
        let expected = [
            (0, 7, Begins::Start, None),
            (1, 6, Begins::Split, Some(0)),
            (2, 4, Begins::Split, Some(1)),
            (0, 7, Begins::Rejoin, None),
        ];
        assert_eq!(tree(&of), expected);
    }

    /// Some of those that parted meet before the others do.
    #[test]
    fn lanes_may_meet_again_in_part() {
        let expected = [
            (0, 7, Begins::Start, None),
            (1, 1, Begins::Split, Some(0)),
            (1, 3, Begins::Rejoin, None),
            (0, 7, Begins::Rejoin, None),
        ];
        assert_eq!(tree(&[(7, 'b'), (1, ' '), (3, ' '), (7, ' ')]), expected);
    }

    #[test]
    fn ended_lanes_and_predicates_say_so() {
        let expected = [
            (0, 15, Begins::Start, None),
            (1, 12, Begins::Ended, Some(0)),
            (2, 4, Begins::Predicated, Some(2)),
            (1, 12, Begins::Rejoin, None),
        ];
        assert_eq!(tree(&[(15, 'e'), (12, ' '), (12, 'p'), (4, ' '), (12, ' ')]), expected);
    }
}
