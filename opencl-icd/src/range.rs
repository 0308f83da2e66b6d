//! Ranges of work-items, and the launches that they take.

use ptx_runtime::isa::special::Environment;

/// Sizes of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Dimensions.
    pub dimensions: u32,
    /// First global id.
    pub offset: [usize; 3],
    /// Work-items.
    pub global: [usize; 3],
    /// Work-items of a group; chosen by the kernel if missing.
    pub local: Option<[usize; 3]>,
}

/// A launch of work-groups that have one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Work-groups.
    pub grid: [u32; 3],
    /// Work-items of a group.
    pub block: [u32; 3],
    /// What kernels read about the whole range.
    pub env: Environment,
}

/// One dimension of a part.
#[derive(Clone, Copy)]
struct Side {
    groups: usize,
    size: usize,
    groups_before: usize,
    before: usize,
    behind: usize,
    /// How much smaller the groups are than those of the first part.
    smaller: usize,
}

/// The whole groups of a dimension.
fn whole(global: usize, local: usize) -> Side {
    let (groups, rest) = (global / local, global % local);
    Side { groups, size: local, groups_before: 0, before: 0, behind: rest, smaller: 0 }
}

/// The whole groups of a dimension, and the one of what is left.
fn sides(global: usize, local: usize) -> impl Iterator<Item = Side> + Clone {
    let (groups, rest) = (global / local, global % local);
    let last = Side {
        groups: 1,
        size: rest,
        groups_before: groups,
        before: groups * local,
        behind: 0,
        smaller: local - rest,
    };
    [whole(global, local), last].into_iter().filter(|side| side.groups * side.size > 0)
}

impl Range {
    /// Its launches in groups of `local` work-items, the last one apart: one where that divides the range, else one for
    /// each combination of whole and smaller sides. All numbers fit into 32 bits where the last global id does.
    pub fn parts(&self, local: [usize; 3]) -> (Vec<Part>, Part) {
        let sides_of: [Side; 3] = std::array::from_fn(|d| whole(self.global[d], local[d]));
        // Nearly every launch is one, for which no list is made.
        if sides_of.iter().all(|side| side.behind == 0) {
            return (Vec::new(), self.part(&sides_of));
        }
        let sides: [_; 3] = std::array::from_fn(|d| sides(self.global[d], local[d]));
        let [x, y, z] = &sides;
        let planes = z.clone().flat_map(|z| y.clone().map(move |y| (y, z)));
        let all = planes.flat_map(|(y, z)| x.clone().map(move |x| self.part(&[x, y, z])));
        let mut all: Vec<Part> = all.collect();
        let last = all.pop().unwrap_or_else(|| self.part(&sides_of));
        (all, last)
    }

    fn part(&self, sides: &[Side; 3]) -> Part {
        let three = |of: fn(&Side) -> usize| [0, 1, 2].map(|d| of(&sides[d]) as u32);
        let before = three(|s| s.before);
        let first = [0, 1, 2].map(|d| self.offset[d] as u32 + before[d]);
        let mut env = Environment::default();
        env[..3].copy_from_slice(&first);
        env[3] = self.dimensions;
        let rest = [three(|s| s.groups_before), before, three(|s| s.behind), three(|s| s.smaller)];
        env[4..].copy_from_slice(rest.as_flattened());
        Part { grid: three(|s| s.groups), block: three(|s| s.size), env }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_divides_is_one_launch() {
        let range = Range { dimensions: 2, offset: [5, 0, 0], global: [12, 4, 1], local: None };
        let (others, part) = range.parts([4, 2, 1]);
        assert_eq!(others, []);
        assert_eq!((part.grid, part.block), ([3, 2, 1], [4, 2, 1]));
        assert_eq!(part.env, [5, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn every_work_item_is_in_one_part() {
        for (global, local, launches) in [
            ([10, 1, 1], [4, 1, 1], 2),
            ([3, 1, 1], [4, 1, 1], 1),
            ([10, 9, 1], [4, 3, 1], 2),
            ([10, 7, 1], [4, 3, 1], 4),
            ([10, 7, 5], [4, 3, 2], 8),
        ] {
            let range = Range { dimensions: 3, offset: [100, 200, 300], global, local: None };
            let (mut parts, last) = range.parts(local);
            parts.push(last);
            assert_eq!(parts.len(), launches, "{global:?}");
            let mut seen = std::collections::BTreeSet::new();
            for Part { grid, block, env } in parts {
                let (before, behind, smaller) = (&env[7..10], &env[10..13], &env[13..16]);
                for d in 0..3 {
                    let items = grid[d] * block[d];
                    assert_eq!((before[d] + items + behind[d]) as usize, global[d]);
                    assert_eq!(env[d], range.offset[d] as u32 + before[d]);
                    assert_eq!((block[d] + smaller[d]) as usize, local[d]);
                    assert_eq!(before[d] as usize, env[4 + d] as usize * local[d]);
                }
                let [x, y, z] = [0, 1, 2].map(|d| before[d]..before[d] + grid[d] * block[d]);
                for at in z.flat_map(|z| y.clone().map(move |y| (y, z))) {
                    assert!(x.clone().all(|x| seen.insert((x, at))), "{global:?}");
                }
            }
            assert_eq!(seen.len(), global.iter().product::<usize>());
        }
    }
}
