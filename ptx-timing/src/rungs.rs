//! Which blocks of several turns the lanes of a warp go through that take different numbers of turns.
//!
//! Where a loop's turns are in blocks of four, two and one, each lane goes through as many of each kind as its own
//! number of turns asks for. A lane with six turns and one with five are together in a block of four, and then one is
//! alone in a block of two and the other in that of one.

/// A block that lanes go through.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rung {
    /// Which of the kinds.
    pub kind: usize,
    /// Lanes that go through it, each with others that have had as many turns: their mask, and that number.
    pub groups: Vec<(u32, usize)>,
}

impl Rung {
    /// All lanes that go through it.
    pub fn lanes(&self) -> u32 {
        self.groups.iter().fold(0, |all, group| all | group.0)
    }
}

/// The blocks in their order, for the lanes of each turn and the turns in a block of each kind, the most first. Nothing
/// if all lanes take the same turns.
pub(crate) fn rungs(turns: &[u32], kinds: impl Iterator<Item = usize>) -> Option<Vec<Rung>> {
    let nested = turns.windows(2).all(|w| w[1] & !w[0] == 0);
    if !nested || turns.first() == turns.last() {
        return None;
    }
    let all: [usize; 32] =
        std::array::from_fn(|lane| turns.iter().filter(|mask| *mask >> lane & 1 != 0).count());
    let mut had = [0; 32];
    let mut out = Vec::new();
    for (kind, size) in kinds.enumerate() {
        loop {
            let mut groups: Vec<(u32, usize)> = Vec::new();
            for lane in 0..32 {
                if size == 0 || all[lane] - had[lane] < size {
                    continue;
                }
                match groups.iter_mut().find(|g| g.1 == had[lane]) {
                    Some(group) => group.0 |= 1 << lane,
                    None => groups.push((1 << lane, had[lane])),
                }
                had[lane] += size;
            }
            if groups.is_empty() {
                break;
            }
            out.push(Rung { kind, groups });
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes with six, five and no turns.
    #[test]
    fn lanes_choose_blocks_by_their_own_turns() {
        let turns = [0b11, 0b11, 0b11, 0b11, 0b11, 0b01];
        let rung = |kind, groups: &[(u32, usize)]| Rung { kind, groups: groups.to_vec() };
        let expected = [rung(0, &[(0b11, 0)]), rung(1, &[(0b01, 4)]), rung(2, &[(0b10, 4)])];
        assert_eq!(rungs(&turns, [4, 2, 1].into_iter()).as_deref(), Some(&expected[..]));
        // Two lanes in one block, though they have had different numbers of turns.
        let turns = [0b11, 0b01, 0b01, 0b01, 0b01];
        let expected = [rung(0, &[(0b01, 0)]), rung(1, &[(0b01, 4), (0b10, 0)])];
        assert_eq!(rungs(&turns, [4, 1].into_iter()).as_deref(), Some(&expected[..]));
        assert_eq!(rungs(&[3, 3, 3], [2, 1].into_iter()), None);
    }
}
