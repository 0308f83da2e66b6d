//! Vectors of structured sparsity: which elements of a group are kept, and where they lie (PTX ISA 9.7.10.30, 31).

use crate::effect::{Fault, Flow, Machine, WarpOp};

/// A run of fields of equal width in registers.
struct Fields<'a> {
    words: &'a [[u32; 32]],
    bits: u32,
}

impl Fields<'_> {
    fn get(&self, lane: usize, at: u32) -> u32 {
        let bit = at * self.bits;
        let word = self.words.get((bit / 32) as usize).map_or(0, |w| w[lane]);
        word >> (bit % 32) & ((1 << self.bits) - 1)
    }
}

fn put(words: &mut [[u32; 32]], bits: u32, lane: usize, at: u32, value: u32) {
    let bit = at * bits;
    if let Some(word) = words.get_mut((bit / 32) as usize) {
        word[lane] |= value << (bit % 32);
    }
}

/// Whether elements have signs, and from which magnitude on they are no numbers.
#[derive(Copy, Clone)]
enum Kind {
    Unsigned,
    Signed,
    /// Bits of the magnitude, the greatest one that is a number.
    Float(u32, u32),
}

impl Kind {
    /// The kind that bits 2 to 4 of a descriptor name for elements of `bits` bits.
    fn parse(code: u32, bits: u32) -> Option<Self> {
        Some(match (code, bits) {
            (0, 16) => Self::Float(15, 0x7c00),
            (1, 16) => Self::Float(15, 0x7f80),
            (0, 8) => Self::Unsigned,
            (1, 8) => Self::Signed,
            (2, 8) => Self::Float(7, 0x7c),
            (3, 8) => Self::Float(7, 0x7e),
            (4 | 5, 8) => Self::Float(5, 0x1f),
            _ => return None,
        })
    }

    /// The place of an element among others; `None` for a NaN. Zeros with a sign are less than those without.
    fn place(self, v: u32, magnitude: bool) -> Option<i32> {
        Some(match self {
            Self::Unsigned => v as i32,
            Self::Signed if magnitude => i32::from(v as u8 as i8).abs(),
            Self::Signed => i32::from(v as u8 as i8),
            Self::Float(bits, last) => {
                let size = v & ((1 << bits) - 1);
                if size > last {
                    return None;
                }
                let negative = v >> bits & 1 != 0 && !magnitude;
                if negative { -(size as i32) - 1 } else { size as i32 }
            }
        })
    }
}

/// The indices of the two elements that are kept, in order: NaNs before all others, of equals the first.
fn kept(group: [u32; 4], kind: Kind, least: bool, magnitude: bool) -> [u32; 2] {
    let rank = |i: &u32| match kind.place(group[*i as usize], magnitude) {
        None => i64::MIN,
        Some(place) if least => i64::from(place),
        Some(place) => -i64::from(place),
    };
    let mut order = [0, 1, 2, 3];
    order.sort_by_key(rank);
    [order[0].min(order[1]), order[0].max(order[1])]
}

/// `spcompress`: sources the elements and a descriptor; results indices and what is kept. Constants: bits of an element
/// and of an index, registers of what is kept.
pub(crate) fn compress(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [element, index, num, _] = op.k;
    let data: Vec<[u32; 32]> = (0..2 * num as usize).map(|i| mach.src_w(i)).collect();
    let desc = mach.src_w(2 * num as usize);
    let metas = (num * index).div_ceil(element) as usize;
    let (mut meta, mut comp) = (vec![[0; 32]; metas], vec![[0; 32]; num as usize]);
    let active = mach.mask();
    let fields = Fields { words: &data, bits: element };
    for lane in (0..32usize).filter(|l| active >> l & 1 != 0) {
        let (what, code) = (desc[lane] & 3, desc[lane] >> 2 & 7);
        let Some(kind) = Kind::parse(code, element) else {
            let message = format!(
                "spcompress of {element}-bit elements with data type {code} in its descriptor"
            );
            return Err(Fault::Operand { lane: lane as u8, message });
        };
        for group in 0..64 * num / element / 4 {
            let elements = std::array::from_fn(|i| fields.get(lane, 4 * group + i as u32));
            for (at, i) in kept(elements, kind, what >= 2, what & 1 != 0).into_iter().enumerate() {
                let at = 2 * group + at as u32;
                put(&mut comp, element, lane, at, elements[i as usize]);
                put(&mut meta, index, lane, at, i);
            }
        }
    }
    for (r, row) in meta.iter().chain(&comp).enumerate() {
        mach.set_w(r, row);
    }
    Ok(Flow::Next)
}

/// `spdecompress`: sources indices and elements. Constants: bits of an element and of an index, groups, how many of how
/// many elements are there. An index beyond its group names no element.
pub(crate) fn decompress(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [element, index, num, factor] = op.k;
    let (kept, of) = (factor & 0xff, factor >> 8);
    let words = |bits: u32| (bits * num).div_ceil(32) as usize;
    let (metas, comps) = (words(kept * index), words(kept * element));
    let source: Vec<[u32; 32]> = (0..metas + comps).map(|i| mach.src_w(i)).collect();
    let meta = Fields { words: &source[..metas], bits: index };
    let comp = Fields { words: &source[metas..], bits: element };
    let mut data = vec![[0; 32]; words(of * element)];
    for lane in 0..32 {
        for group in 0..num {
            let mut places = [0; 16];
            for at in group * kept..(group + 1) * kept {
                if let Some(place) = places.get_mut(meta.get(lane, at) as usize) {
                    *place = comp.get(lane, at);
                }
            }
            for (i, v) in places.into_iter().take(of as usize).enumerate() {
                put(&mut data, element, lane, group * of + i as u32, v);
            }
        }
    }
    for (r, row) in data.iter().enumerate() {
        mach.set_w(r, row);
    }
    Ok(Flow::Next)
}
