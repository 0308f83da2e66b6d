//! Bounds of 32-bit values: where nothing wraps, the lanes of an address stay side by side.

use flow::{Dominators, Loop};
use ptx_isa::Kind;
use ptx_isa::fixed::FixedWord;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op as Pure;
use ptx_parse::code::Program;

use crate::bounded::counts;
use crate::geometry::Geometry;
use crate::ir::{BlockId, Func, Inst, Op, Term, Val};
use crate::options::Seen;

/// What code may take for granted of a launch; [`crate::Kernel::fits`] checks it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assumptions {
    /// Most blocks in each dimension.
    pub grid: [u32; 3],
    /// Parameters (offset of 4 bytes) that are at most a number.
    pub params: Vec<(u32, u32)>,
    /// What is known of the global offset in each dimension.
    pub offset: [GlobalOffset; 3],
    /// Words that are constants of the code.
    pub fixed: Vec<FixedWord>,
}

/// What is known of one dimension of a launch's global offset, which kernels read from `%envreg3` to `%envreg5`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GlobalOffset {
    /// The most that it is. Where it is 0 in all dimensions the registers are constants.
    pub most: u32,
    /// Logarithm of a power of two that divides it.
    pub align: u32,
}

impl GlobalOffset {
    /// Zero.
    const ZERO: GlobalOffset = GlobalOffset { most: 0, align: 32 };
    /// Anything.
    const ANY: GlobalOffset = GlobalOffset { most: u32::MAX, align: 0 };

    /// Offsets of about this size; most are multiples of a block's size, which keeps the low bits of a thread's number.
    fn like(offset: u32) -> GlobalOffset {
        // Few classes, so that a launch in many parts takes few versions of its code.
        let mut most = 4095u32;
        while most < offset {
            most = most.saturating_mul(16).saturating_add(15);
        }
        let align = if offset.is_multiple_of(1 << LOW_BITS) { LOW_BITS } else { 0 };
        GlobalOffset { most, align }
    }

    fn holds(self, offset: u32) -> bool {
        offset <= self.most && offset.trailing_zeros() >= self.align
    }
}

/// Bits of a lane's number in the largest group.
const LOW_BITS: u32 = 5;

/// Dimension of the global offset that a special register holds.
pub(crate) fn offset_dimension(register: Sreg) -> Option<usize> {
    match register {
        Sreg::Envreg3 => Some(0),
        Sreg::Envreg4 => Some(1),
        Sreg::Envreg5 => Some(2),
        _ => None,
    }
}

/// Whether a program reads its launch's global offset.
fn reads_offset(program: &Program) -> bool {
    let offset = |v: &V| matches!(v.src, Src::Special(s) if offset_dimension(s).is_some());
    program.functions.iter().flat_map(|f| &f.uops).any(|u| match u {
        Uop::Pure { args, .. } => args.iter().any(offset),
        Uop::Effect { src, .. } => src.iter().any(offset),
    })
}

/// Bounds of induction variables beyond which nothing is claimed: room for the offsets of lanes.
const MOST: i64 = 1 << 29;

/// Bounds of a sum or product as integers, of which a value of 32 bits holds the low ones. Who takes such a value for a
/// signed or unsigned number asks [`is_signed`] or [`is_unsigned`].
type Bounds = Option<(i64, i64)>;

/// Whether 32 bits hold every number between the bounds as a signed one.
pub(crate) fn is_signed((lo, hi): (i64, i64)) -> bool {
    lo >= i64::from(i32::MIN) && hi <= i64::from(i32::MAX)
}

/// Whether 32 bits hold every number between the bounds as an unsigned one.
pub(crate) fn is_unsigned((lo, hi): (i64, i64)) -> bool {
    lo >= 0 && hi <= i64::from(u32::MAX)
}

impl Assumptions {
    /// Nothing but what every launch keeps.
    pub(crate) fn none() -> Assumptions {
        Assumptions {
            grid: [u32::MAX; 3],
            params: Vec::new(),
            offset: [GlobalOffset::ANY; 3],
            fixed: Vec::new(),
        }
    }

    /// What holds of a launch like this one and of larger ones up to about four times. The program alone says which
    /// parameters count, so that code is found in a cache without a look at its middle form.
    pub(crate) fn like(program: &Program, seen: Seen<'_>) -> Assumptions {
        let Seen { grid, params, offset, fixed } = seen;
        let bucket = |v: u32, least: u32| {
            let mut top = least;
            while top < v {
                top = top.saturating_mul(4).saturating_add(3);
            }
            top
        };
        let mut bounded = Vec::new();
        for at in counts(program) {
            if let Some(bytes) = params.get(at as usize..at as usize + 4)
                && let Ok(word) = bytes.try_into()
                && let v = u32::from_le_bytes(word)
                && v <= i32::MAX as u32
            {
                bounded.push((at, bucket(v, 4095).min(i32::MAX as u32)));
            }
        }
        let offset = if !reads_offset(program) {
            [GlobalOffset::ANY; 3]
        } else if offset == [0; 3] {
            [GlobalOffset::ZERO; 3]
        } else {
            offset.map(GlobalOffset::like)
        };
        let fixed = fixed.to_vec();
        Assumptions { grid: grid.map(|n| bucket(n, 63)), params: bounded, offset, fixed }
    }

    /// Whether they hold of a launch.
    pub(crate) fn hold(&self, launch: Seen<'_>) -> bool {
        let Seen { grid, params, offset, fixed } = launch;
        let small = |(at, most): &(u32, u32)| {
            params
                .get(*at as usize..*at as usize + 4)
                .and_then(|b| b.try_into().ok())
                .is_some_and(|b| u32::from_le_bytes(b) <= *most)
        };
        (0..3).all(|d| grid[d] <= self.grid[d] && self.offset[d].holds(offset[d]))
            && self.params.iter().all(small)
            && self.fixed.iter().all(|word| fixed.contains(word))
    }

    /// The value of a register that is the same in all launches of which they hold.
    pub(crate) fn constant(&self, register: Sreg) -> Option<u64> {
        let d = offset_dimension(register)?;
        (self.offset[d].most == 0).then_some(0)
    }
}

fn fit(lo: i64, hi: i64) -> Bounds {
    is_signed((lo, hi)).then_some((lo, hi)).or(is_unsigned((lo, hi)).then_some((lo, hi)))
}

/// Bounds of values of 32 bits that hold without wrapping, as far as they are needed for addresses.
pub(crate) fn ranges(f: &Func, g: Geometry, assumed: &Assumptions) -> Vec<Bounds> {
    let mut out: Vec<Bounds> = f.insts.iter().map(|i| leaf(i.op, i.kind, g, assumed)).collect();
    let tree = f.dominators();
    let all = f.loops();
    for b in 0..f.blocks.len() {
        for &v in &f.blocks[b].insts {
            let i = &f.insts[v as usize];
            out[v as usize] = match i.op {
                Op::Phi if i.kind == Kind::W => {
                    let of = all.iter().find(|l| l.header == b as BlockId);
                    of.and_then(|l| induction(f, &tree, v, l, &out))
                }
                Op::Pure(op, _) => pure(f, v, op, &out),
                _ => continue,
            };
        }
    }
    out
}

fn leaf(op: Op, kind: Kind, g: Geometry, assumed: &Assumptions) -> Bounds {
    let block = |d: usize| g.block[d] as i64;
    // `Kernel::fits` refuses grids of 2^31 threads or more in a dimension.
    let blocks = |d: usize| (i32::MAX as i64 / block(d)).min(assumed.grid[d] as i64);
    match op {
        Op::Const(c) if kind == Kind::W => Some((c as u32 as i32 as i64, c as u32 as i32 as i64)),
        Op::Param(at, 4, _) if kind == Kind::W => {
            let (_, most) = assumed.params.iter().find(|p| p.0 == at)?;
            Some((0, *most as i64))
        }
        Op::Special(s) => match s {
            Sreg::TidX => Some((0, block(0) - 1)),
            Sreg::TidY => Some((0, block(1) - 1)),
            Sreg::TidZ => Some((0, block(2) - 1)),
            Sreg::NtidX => Some((block(0), block(0))),
            Sreg::NtidY => Some((block(1), block(1))),
            Sreg::NtidZ => Some((block(2), block(2))),
            Sreg::CtaidX => Some((0, blocks(0) - 1)),
            Sreg::CtaidY => Some((0, blocks(1) - 1)),
            Sreg::CtaidZ => Some((0, blocks(2) - 1)),
            Sreg::NctaidX => Some((1, blocks(0))),
            Sreg::NctaidY => Some((1, blocks(1))),
            Sreg::NctaidZ => Some((1, blocks(2))),
            Sreg::LaneId => Some((0, 31)),
            s => offset_dimension(s).map(|d| (0, i64::from(assumed.offset[d].most))),
        },
        _ => None,
    }
}

fn pure(f: &Func, v: Val, op: Pure, out: &[Bounds]) -> Bounds {
    let i = &f.insts[v as usize];
    let r = |n: usize| out[i.args[n] as usize];
    let mul = |a: (i64, i64), b: (i64, i64)| {
        let p = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)].map(|(x, y)| x.saturating_mul(y));
        let lo = p.iter().copied().min().unwrap_or(0);
        let hi = p.iter().copied().max().unwrap_or(0);
        fit(lo, hi)
    };
    match op {
        Pure::MovW => r(0),
        Pure::AddW => {
            let (a, b) = (r(0)?, r(1)?);
            fit(a.0 + b.0, a.1 + b.1)
        }
        Pure::SubW => {
            let (a, b) = (r(0)?, r(1)?);
            fit(a.0 - b.1, a.1 - b.0)
        }
        Pure::MulW => mul(r(0)?, r(1)?),
        Pure::MadW => {
            let (m, c) = (mul(r(0)?, r(1)?)?, r(2)?);
            fit(m.0 + c.0, m.1 + c.1)
        }
        Pure::ShlW => match (r(0), f.as_const(i.args[1])) {
            (Some(a), Some(c)) if c < 31 => fit(a.0 << c, a.1 << c),
            _ => None,
        },
        Pure::ShrW | Pure::SarW => match (r(0), f.as_const(i.args[1])) {
            (Some(a), Some(c))
                if is_unsigned(a) && (is_signed(a) || op == Pure::ShrW) && c < 32 =>
            {
                Some((a.0 >> c, a.1 >> c))
            }
            _ => None,
        },
        Pure::AndW => match f.as_const(i.args[1]).or(f.as_const(i.args[0])) {
            Some(c) if (c as u32 as i32) >= 0 => Some((0, c as u32 as i64)),
            _ => None,
        },
        Pure::SelW => {
            let (a, b) = (r(0)?, r(1)?);
            fit(a.0.min(b.0), a.1.max(b.1))
        }
        _ => None,
    }
}

/// Turns of a loop that need no look at the clock.
const FEW: i64 = 1 << 16;

/// Innermost loops, by their heads, whose counter ends them after a few turns.
pub(crate) fn short_loops(f: &Func, g: Geometry, assumed: &Assumptions) -> Vec<bool> {
    let bounds = ranges(f, g, assumed);
    let all = f.loops();
    let mut short = vec![false; f.blocks.len()];
    for l in &all {
        let head = &l.header;
        let inner = all.iter().all(|o| o.header == *head || !l.nodes.contains(&o.header));
        let counted = f.blocks[*head as usize].insts.iter().any(|v| {
            let i = &f.insts[*v as usize];
            let Some((lo, hi)) = bounds[*v as usize] else { return false };
            // The bounds of a phi come from a counter; its step must be known to be 1 or more.
            i.op == Op::Phi
                && hi - lo <= FEW
                && i.args.iter().any(|a| match &f.insts[*a as usize] {
                    Inst { op: Op::Pure(Pure::AddW, _), args, .. } => {
                        let other = if args[0] == *v { args[1] } else { args[0] };
                        args.contains(v) && f.as_const(other).is_some_and(|c| (c as i32) > 0)
                    }
                    _ => false,
                })
        });
        short[*head as usize] = inner && counted;
    }
    short
}

/// Bounds of a phi that grows by steps while a test keeps it below a limit.
fn induction(f: &Func, tree: &Dominators, phi: Val, l: &Loop, out: &[Bounds]) -> Bounds {
    let body = &l.nodes;
    let preds = &f.blocks[l.header as usize].preds;
    let &[a, b] = preds.as_slice() else { return None };
    let inside = |p: BlockId| body.contains(&p);
    let back = match (inside(a), inside(b)) {
        (false, true) => 1,
        (true, false) => 0,
        _ => return None,
    };
    let args = &f.insts[phi as usize].args;
    let (latch, next) = (preds[back], args[back]);
    let first = out[args[1 - back] as usize]?;
    let sum = &f.insts[next as usize];
    // A step of the loop's own has no bounds yet.
    let bounds = |v: Val| out[v as usize].filter(|s| s.0 >= 0);
    let step = match sum.op {
        Op::Pure(Pure::AddW, _) if sum.args[0] == phi => bounds(sum.args[1])?,
        Op::Pure(Pure::AddW, _) if sum.args[1] == phi => bounds(sum.args[0])?,
        Op::Pure(Pure::MadW, _) if sum.args[2] == phi => {
            let (a, b) = (bounds(sum.args[0])?, bounds(sum.args[1])?);
            fit(a.0.saturating_mul(b.0), a.1.saturating_mul(b.1))?
        }
        _ => return None,
    };
    let limit = body.iter().find_map(|b| {
        let Term::Br(v, neg, yes, no) = f.blocks[*b as usize].term else { return None };
        let stays = match (inside(yes), inside(no)) {
            (true, false) => !neg,
            (false, true) => neg,
            _ => return None,
        };
        if !tree.dominates(*b, latch) {
            return None;
        }
        let cmp = &f.insts[v as usize];
        let Op::Pure(op, _) = cmp.op else { return None };
        let (x, y) = (*cmp.args.first()?, *cmp.args.get(1)?);
        let counts = |v: Val| v == phi || v == next;
        // Who stays in the loop is at most the limit.
        let (limit, unsigned) = match (op, stays) {
            (Pure::LtSW | Pure::LeSW, true) if counts(x) => (y, false),
            (Pure::LtUW | Pure::LeUW, true) if counts(x) => (y, true),
            (Pure::LtSW | Pure::LeSW, false) if counts(y) => (x, false),
            (Pure::LtUW | Pure::LeUW, false) if counts(y) => (x, true),
            _ => return None,
        };
        let compared = |l: &(i64, i64)| {
            if unsigned { is_unsigned(*l) && first.0 >= 0 } else { is_signed(*l) }
        };
        out[limit as usize].filter(compared).map(|l| l.1)
    })?;
    let top = first.1.max(limit + step.1);
    (first.0 > -MOST && top < MOST).then_some((first.0, top))
}
