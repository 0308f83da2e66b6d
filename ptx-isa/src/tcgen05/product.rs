//! `tcgen05.mma` over a warp.

use super::instruction::{Form, Instruction, Kind, zero_columns};
use super::memory::split;
use super::moves::{blocks, read_shared, shift_down, with};
use super::place::Place;
use crate::effect::{Fault, Flow, Machine, WarpOp};
use crate::matrix::{BlockProduct, BlockScale, Descriptor, Elem, Major, Scale, TensorFactor};
use crate::mbarrier::lanes;

/// Bits of constant 1.
pub(crate) mod flag {
    pub const PAIR: u32 = 1;
    pub const WS: u32 = 2;
    pub const SPARSE: u32 = 4;
    /// A lies in Tensor Memory.
    pub const A_IN_MEMORY: u32 = 8;
    /// The last source is a zero-column mask.
    pub const ZERO_COLUMNS: u32 = 16;
    /// The rows of A go down one lane afterwards.
    pub const SHIFTS_A: u32 = 32;
}

/// Operands of one lane.
struct Operands {
    d: u32,
    a: u64,
    b: u64,
    descriptor: u32,
    accumulates: bool,
    metadata: u32,
    factors: [u32; 2],
    /// Lanes of D that stay, 128 a block.
    disabled: Vec<u32>,
    zero: u64,
}

fn operands(mach: &dyn Machine, op: &WarpOp, l: usize) -> Operands {
    let [kind, flags, disabled, _] = op.k;
    let has = |flag: u32| flags & flag != 0;
    let mut next = 5;
    let mut take = |n: usize| {
        next += n;
        next - n
    };
    let a = if has(flag::A_IN_MEMORY) { mach.src_w(1)[l].into() } else { mach.src_d(1)[l] };
    let metadata = if has(flag::SPARSE) { mach.src_w(take(1))[l] } else { 0 };
    let scaled = Kind::from_code(kind).scales();
    let factors = if scaled { [take(1), take(1)].map(|i| mach.src_w(i)[l]) } else { [0; 2] };
    let disabled = (0..disabled).map(|_| mach.src_w(take(1))[l]).collect();
    let zero = if has(flag::ZERO_COLUMNS) { mach.src_d(take(1))[l] } else { 0 };
    Operands {
        d: mach.src_w(0)[l],
        a,
        b: mach.src_d(2)[l],
        descriptor: mach.src_w(3)[l],
        accumulates: mach.src_p(4) >> l & 1 != 0,
        metadata,
        factors,
        disabled,
        zero,
    }
}

/// `tcgen05.mma`: sources D, A, B, instruction descriptor, whether D is added; then metadata, scale factors of A and B,
/// disabled lanes, zero-column mask, as far as there are any. Constants: kind, [`flag`]s, number of masks of disabled
/// lanes, scale of D and, from bit 8 on, scale factors along 64 columns of K (32 of 8-bit types), from bit 16 on, the
/// number of the target.
pub(crate) fn mma(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let kind = Kind::from_code(op.k[0]);
    let has = |flag: u32| op.k[1] & flag != 0;
    let form = Form { pair: has(flag::PAIR), ws: has(flag::WS), sparse: has(flag::SPARSE) };
    for l in lanes(mach.mask()) {
        let operands = operands(mach, op, l);
        let i = Instruction::decode(kind, form, op.k[3] >> 16, operands.descriptor)
            .map_err(|e| Fault::operand(l, e))?;
        let place = Place::new(&i, form);
        let all = blocks(mach, l, form.pair)?;
        let b = b_elements(mach, l, &i, &operands, &all)?;
        for (number, &rank) in all.iter().enumerate() {
            let one = Block { i: &i, place, form, rank, lane: l };
            let in_memory = has(flag::A_IN_MEMORY);
            let a = one.a_elements(mach, operands.a, in_memory)?;
            let metadata = one.metadata(mach, operands.metadata)?;
            let count = op.k[3] >> 8 & 0xff;
            let count = if i.k == 96 { count * 96 / 64 } else { count };
            let factors = one.factors(mach, kind, operands.factors, count)?;
            let mut d = one.d_elements(mach, operands.d, operands.accumulates)?;
            let n = count as usize;
            let factor_a = |row: usize, block: usize| factors[0][row * n + block].into();
            let factor_b = |column: usize, block: usize| factors[1][column * n + block].into();
            BlockProduct {
                a: &a,
                b: &b,
                types: [i.a, i.b],
                d: i.d,
                n: i.n as usize,
                k: i.k as usize,
                saturates: i.saturates,
                negates: i.negates,
                scale_d: op.k[3] & 0xff,
                metadata: form.sparse.then_some(&metadata[..]),
                scale: kind.scales().then_some(BlockScale {
                    scale: Scale { blocks: n, ue4m3: i.ue4m3 },
                    a: &factor_a,
                    b: &factor_b,
                }),
            }
            .run(&mut d);
            let masks = operands.disabled.get(4 * number..).unwrap_or(&[]);
            one.write(mach, operands.d, &d, masks)?;
            if has(flag::SHIFTS_A) {
                one.shift_a(mach, operands.a)?;
            }
        }
    }
    Ok(Flow::Next)
}

/// B, column after column: each block of a pair holds half of the columns.
fn b_elements(
    mach: &mut dyn Machine,
    l: usize,
    i: &Instruction,
    operands: &Operands,
    all: &[u32],
) -> Result<Vec<u32>, Fault> {
    let descriptor = Descriptor::decode_tensor(operands.b).map_err(Fault::from)?;
    let columns = i.n as usize / all.len();
    let (k, mut b, mut part) = (i.k as usize, Vec::new(), Vec::new());
    for &rank in all {
        let shared = (all.len() > 1).then_some(rank);
        let packing = transposable(l, i.b, i.transposed[1], &descriptor)?;
        descriptor.gather(
            Major::new(i.transposed[1]),
            (0, columns),
            k,
            packing,
            &mut part,
            &mut |at, out: &mut [u8]| read_shared(mach, l, shared, at, out),
        )?;
        b.append(&mut part);
    }
    let zero = zero_columns(i.m, i.n, operands.zero).map_err(|e| Fault::operand(l, e))?;
    for (column, _) in zero.iter().enumerate().filter(|(_, zero)| **zero) {
        b[column * k..][..k].fill(0);
    }
    Ok(b)
}

/// How elements lie in shared memory; transposed ones of 32 bits, and they alone, need atoms of 32 bytes.
fn transposable(
    l: usize,
    t: TensorFactor,
    transposed: bool,
    descriptor: &Descriptor,
) -> Result<crate::matrix::Packing, Fault> {
    let wide = t == TensorFactor::Small(Elem::Tf32);
    if transposed && wide != (descriptor.atom == 32) {
        let which = if wide { "only" } else { "not" };
        let message = format!(
            "a transposed matrix of these elements is {which} swizzled with 32-byte atoms (mode 1)"
        );
        return Err(Fault::operand(l, message));
    }
    Ok(t.packing())
}

/// The part of a product in one block.
struct Block<'a> {
    i: &'a Instruction,
    place: Place,
    form: Form,
    rank: u32,
    lane: usize,
}

impl Block<'_> {
    /// First lane and column of a matrix, whose lanes are those of the layout.
    fn start(&self, what: &str, address: u32) -> Result<(u32, u32), Fault> {
        let (lane, column) = split(address);
        if self.place.starts_at(lane) {
            return Ok((lane, column));
        }
        Err(Fault::operand(
            self.lane,
            format!(
                "{what} starts at lane {lane} of Tensor Memory, which its layout does not allow"
            ),
        ))
    }

    /// Elements of a row of A that are stored.
    fn stored(&self) -> u32 {
        if self.form.sparse { self.i.k / 2 } else { self.i.k }
    }

    /// A, row after row.
    fn a_elements(
        &self,
        mach: &mut dyn Machine,
        a: u64,
        in_memory: bool,
    ) -> Result<Vec<u32>, Fault> {
        let (rows, stored, t) = (self.place.rows, self.stored(), self.i.a);
        if !in_memory {
            let descriptor = Descriptor::decode_tensor(a).map_err(Fault::from)?;
            let shared = self.form.pair.then_some(self.rank);
            let packing = transposable(self.lane, t, self.i.transposed[0], &descriptor)?;
            let mut out = Vec::new();
            descriptor.gather(
                Major::new(self.i.transposed[0]),
                (0, rows as usize),
                stored as usize,
                packing,
                &mut out,
                &mut |at, out: &mut [u8]| read_shared(mach, self.lane, shared, at, out),
            )?;
            return Ok(out);
        }
        if self.i.transposed[0] {
            return Err(Fault::operand(self.lane, "A in Tensor Memory cannot be transposed"));
        }
        let (lane, column) = self.start("A", a as u32)?;
        with(mach, self.lane, self.rank, |memory| {
            let mut out = Vec::with_capacity((rows * stored) as usize);
            for row in 0..rows {
                for cell in 0..stored / t.per_cell() {
                    let v = memory.get(lane + self.place.lane(row), column + cell)?;
                    out.extend((0..t.per_cell()).map(|i| t.element_of(v, i)));
                }
            }
            Ok(out)
        })
    }

    /// Moves the rows of A, which lies in Tensor Memory, down one lane within every 32 lanes.
    fn shift_a(&self, mach: &mut dyn Machine, a: u64) -> Result<(), Fault> {
        if !matches!(self.i.m, 128 | 256) {
            let message = format!("`.ashift` needs M = 128 or M = 256, this is {}", self.i.m);
            return Err(Fault::operand(self.lane, message));
        }
        let (lane, column) = self.start("A", a as u32)?;
        let columns = self.stored() / self.i.a.per_cell();
        let last = self.place.lane(self.place.rows - 1);
        with(mach, self.lane, self.rank, |memory| {
            (0..=last / 32).try_for_each(|quarter| {
                shift_down(memory, (lane / 32 * 32 + 32 * quarter, column), columns)
            })
        })
    }

    /// One word of metadata for each row.
    fn metadata(&self, mach: &mut dyn Machine, address: u32) -> Result<Vec<u64>, Fault> {
        if !self.form.sparse {
            return Ok(Vec::new());
        }
        let (lane, column) = self.start("the metadata", address)?;
        let column = column + self.i.selector;
        let wide = matches!(self.i.a, TensorFactor::Small(Elem::F16 | Elem::Bf16 | Elem::Tf32));
        with(mach, self.lane, self.rank, |memory| {
            let mut word = |row: u32| {
                if wide {
                    let (at, half) = self.place.halves(row);
                    let [low, high] =
                        [memory.get(lane + at[0], column)?, memory.get(lane + at[1], column)?]
                            .map(|cell| u64::from(cell >> (16 * half) & 0xffff));
                    return Ok(low | high << 16);
                }
                let at = lane + self.place.lane(row);
                let [low, high] = [memory.get(at, column)?, memory.get(at, column + 1)?];
                Ok(u64::from(low) | u64::from(high) << 32)
            };
            (0..self.place.rows).map(&mut word).collect()
        })
    }

    /// Scale factors of the rows of A and of the columns of B, `count` each.
    fn factors(
        &self,
        mach: &mut dyn Machine,
        kind: Kind,
        addresses: [u32; 2],
        count: u32,
    ) -> Result<[Vec<u8>; 2], Fault> {
        if !kind.scales() {
            return Ok([Vec::new(), Vec::new()]);
        }
        // As many as fit into a cell begin at a multiple of their number; six at an even byte, three at any.
        let step = if self.i.k == 96 { count / 3 } else { count };
        let fits = self.i.factor.iter().all(|first| first % step == 0)
            && (self.i.k == 96 || self.i.factor.iter().all(|first| first + count <= 4));
        if !fits {
            let message = format!(
                "the instruction descriptor takes {count} scale factors from bytes {:?} of their cells",
                self.i.factor
            );
            return Err(Fault::operand(self.lane, message));
        }
        with(mach, self.lane, self.rank, |memory| {
            // The next four factors of all rows lie behind the first four of all.
            let take = |at: (u32, u32), (lane, column): (u32, u32), next: u32, to: &mut Vec<u8>| {
                let (l, c) = split(at.0);
                for byte in at.1..at.1 + count {
                    let cell = memory.get(l + lane, c + column + byte / 4 * next)?;
                    to.push(cell.to_le_bytes()[byte as usize % 4]);
                }
                Ok::<(), String>(())
            };
            let [mut a, mut b] = [Vec::new(), Vec::new()];
            let [next_a, next_b] = self.place.factor_columns();
            let [at_a, at_b] = [0, 1].map(|i| (addresses[i], self.i.factor[i]));
            for row in 0..self.place.rows {
                take(at_a, self.place.row_factor(row), next_a, &mut a)?;
            }
            for column in 0..self.i.n {
                take(at_b, self.place.column_factor(column), next_b, &mut b)?;
            }
            Ok([a, b])
        })
    }

    /// D before the product, row after row: zeros if it does not count.
    fn d_elements(
        &self,
        mach: &mut dyn Machine,
        address: u32,
        accumulates: bool,
    ) -> Result<Vec<u32>, Fault> {
        let (rows, n) = (self.place.rows, self.i.n);
        if !accumulates {
            return Ok(vec![0; (rows * n) as usize]);
        }
        let (lane, column) = self.start("D", address)?;
        let mask = if self.i.d == Elem::F16 { 0xffff } else { u32::MAX };
        with(mach, self.lane, self.rank, |memory| {
            let mut out = Vec::with_capacity((rows * n) as usize);
            for row in 0..rows {
                for j in 0..n {
                    let (l, c) = self.place.element(row, j);
                    out.push(memory.get(lane + l, column + c)? & mask);
                }
            }
            Ok(out)
        })
    }

    /// Writes D but for the lanes of the masks.
    fn write(
        &self,
        mach: &mut dyn Machine,
        address: u32,
        d: &[u32],
        masks: &[u32],
    ) -> Result<(), Fault> {
        let (lane, column) = self.start("D", address)?;
        with(mach, self.lane, self.rank, |memory| {
            for (at, v) in d.iter().enumerate() {
                let (l, c) = self.place.element(at as u32 / self.i.n, at as u32 % self.i.n);
                let to = lane + l;
                let stays = masks.get(to as usize / 32).is_some_and(|m| m >> (to % 32) & 1 != 0);
                if !stays {
                    memory.set(to, column + c, *v)?;
                }
            }
            Ok(())
        })
    }
}
