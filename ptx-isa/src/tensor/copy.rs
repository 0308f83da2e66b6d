//! `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and `tensormap.replace` over a warp.
//!
//! As every asynchronous copy here, a tensor copy is complete when it is issued: its bytes are in place, its
//! transactions have completed at the mbarrier, and nothing is left for a wait of its bulk group. A program that waits
//! as the manual demands sees the same.

use super::map::{Element, Field, Swizzle, TensorMap};
use super::walk::{Access, Line, Walk};
use crate::async_copy::{Reduce, Report, cta_of, in_cta};
use crate::effect::{Accessor, AtomOp, Fault, Flow, Machine, WarpOp};
use crate::matrix::run::space_from;
use crate::mbarrier::{self, lanes};
use crate::types::{Space, Ty};

const BULK: Accessor = Accessor::BulkCopy;

/// Bits of constant 0.
pub(crate) mod flag {
    /// Four rows and not a box.
    pub const ROWS4: u32 = 1;
    /// Pixels of images.
    pub const IM2COL: u32 = 2;
    /// The last source is a mask of the cluster's blocks.
    pub const MULTICAST: u32 = 4;
    /// Pixels of one row of images.
    pub const WIDE: u32 = 8;
    /// Beside it: 128 of them.
    pub const WIDE128: u32 = 16;
    /// The address of the tensor comes behind the other sources, and not from the map.
    pub const BASE: u32 = 32;
    /// So do its sizes.
    pub const SIZES: u32 = 64;
    /// So do its strides: their lower 32 bits, then four bits more of each in one source.
    pub const STRIDES: u32 = 128;
    /// From this bit on: a [`Report`](crate::async_copy::Report).
    pub const REPORT: u32 = 8;
}

/// Of [`load`], beside the space of the destination: the mbarrier is in the block of the destination or in the other
/// one of its pair.
pub(crate) const PAIR: u32 = 1 << 8;

/// What an instruction says of the tensor: map, coordinates, offsets.
struct Request {
    map: TensorMap,
    walk: Walk,
}

/// The space of a tensor map's address: kernel parameters have small addresses of their own, below all windows.
fn map_space(address: u64) -> Space {
    if address < crate::effect::window::LOCAL { Space::ParamEntry } else { Space::Generic }
}

fn read_map(mach: &mut dyn Machine, lane: usize, address: u64) -> Result<[u8; 128], Fault> {
    let space = map_space(address);
    if !address.is_multiple_of(64) {
        let lane = lane as u8;
        return Err(Fault::Misaligned { lane, space, address, bytes: 64, write: false });
    }
    let mut bytes = [0; 128];
    mach.read(Accessor::TensorMapFetch, lane as u8, space, address, &mut bytes)?;
    Ok(bytes)
}

/// Takes address, sizes and strides of a tensor from the sources `at ..`, as far as the instruction gives them
/// (9.7.10.28.5.2).
fn give_anew(
    map: &mut TensorMap,
    mach: &dyn Machine,
    op: &WarpOp,
    lane: usize,
    mut at: usize,
) -> Result<(), Fault> {
    let has = |flag: u32| op.k[0] & flag != 0;
    if !has(flag::BASE) {
        return Ok(());
    }
    let address = mach.src_d(at)[lane];
    if !address.is_multiple_of(16) {
        let (lane, space) = (lane as u8, Space::Global);
        return Err(Fault::Misaligned { lane, space, address, bytes: 16, write: false });
    }
    map.address = address;
    at += 1;
    if has(flag::SIZES) {
        for (i, size) in map.sizes.iter_mut().enumerate().take(map.rank) {
            *size = u64::from(mach.src_w(at + i)[lane] & 0xff);
            if *size == 0 {
                let message = format!("the size given for dimension {i} of the tensor is 0");
                return Err(Fault::operand(lane, message));
            }
        }
        at += map.rank;
    }
    if has(flag::STRIDES) {
        let lower = map.rank - 1;
        let upper = u64::from(mach.src_w(at + lower)[lane]);
        for (i, stride) in map.strides.iter_mut().enumerate().take(lower) {
            let low = u64::from(mach.src_w(at + i)[lane]);
            *stride = (low | (upper >> (4 * i) & 0xf) << 32) << 4;
        }
    }
    Ok(())
}

/// Reads map and coordinates of one lane: sources `first ..` are the coordinates, offsets follow, then a mask and what
/// of the map is given anew.
fn request(
    mach: &mut dyn Machine,
    op: &WarpOp,
    lane: usize,
    first: usize,
    stores: bool,
) -> Result<Request, Fault> {
    let [flags, rank, offsets, _] = op.k;
    let address = mach.src_d(1)[lane];
    let bytes = read_map(mach, lane, address)?;
    let mut map = TensorMap::decode(&bytes)
        .map_err(|e| Fault::operand(lane, format!("tensor map at {address:#x}: {e}")))?;
    if map.rank != rank as usize {
        let message = format!(
            "tensor map at {address:#x} has {} dimensions, the instruction names {rank}",
            map.rank
        );
        return Err(Fault::operand(lane, message));
    }
    let access = match () {
        () if flags & flag::ROWS4 != 0 => Access::Rows4,
        () if flags & flag::IM2COL != 0 => Access::Im2col,
        () if flags & flag::WIDE != 0 => Access::Wide { pixels128: flags & flag::WIDE128 != 0 },
        () => Access::Tile,
    };
    let used = if access == Access::Rows4 { 5 } else { rank as usize };
    let mut at = [0i32; 5];
    for (i, c) in at.iter_mut().enumerate().take(used) {
        *c = mach.src_w(first + i)[lane].cast_signed();
    }
    let mut steps = [0u32; 3];
    for (i, o) in steps.iter_mut().enumerate().take(offsets as usize) {
        *o = mach.src_w(first + used + i)[lane] & 0xffff;
    }
    let masks = usize::from(flags & flag::MULTICAST != 0);
    give_anew(&mut map, mach, op, lane, first + used + offsets as usize + masks)?;
    if flags & flag::SIZES != 0 && at != [0; 5] {
        let message = "a copy that gives sizes of its tensor starts at coordinate 0".to_owned();
        return Err(Fault::operand(lane, message));
    }
    let walk = map.walk(access, &at, &steps, stores).map_err(|e| Fault::operand(lane, e))?;
    Ok(Request { map, walk })
}

/// Boxes start at a multiple of 128 bytes of shared memory.
fn box_start(lane: usize, space: Space, address: u64, write: bool) -> Result<(), Fault> {
    if address.is_multiple_of(128) {
        return Ok(());
    }
    Err(Fault::Misaligned { lane: lane as u8, space, address, bytes: 128, write })
}

/// Bytes that stay together in shared memory.
fn atom(swizzle: Swizzle, line: usize) -> usize {
    match swizzle {
        Swizzle::None => line.max(1),
        Swizzle::Span128Atom32Flip8 => 8,
        Swizzle::Span32
        | Swizzle::Span64
        | Swizzle::Span96
        | Swizzle::Span128
        | Swizzle::Span128Atom32
        | Swizzle::Span128Atom64 => 16,
    }
}

/// The piece of a packed group without its gap.
const fn packed(walk: &Walk) -> (usize, usize) {
    (walk.unit as usize, walk.shared_unit as usize)
}

/// Rounds to tf32, to nearest even; a NaN loses its payload.
fn to_tf32(bits: u32) -> u32 {
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return 0x7fff_e000;
    }
    if bits & 0x7f80_0000 == 0x7f80_0000 {
        return bits;
    }
    bits.wrapping_add(0xfff + (bits >> 13 & 1)) & !0x1fff
}

/// A line of the tensor as it stands in shared memory; says whether what is reported was seen.
fn load_line(
    mach: &mut dyn Machine,
    lane: usize,
    Request { map, walk }: &Request,
    line: &Line,
    report: Report,
    out: &mut Vec<u8>,
) -> Result<bool, Fault> {
    let (unit, shared_unit) = packed(walk);
    let count = line.count as usize;
    out.clear();
    out.resize(count * shared_unit, 0);
    if map.fill_nan {
        for pair in out.chunks_exact_mut(2) {
            pair.copy_from_slice(&[0xf7, 0x7f]);
        }
    }
    let Some(base) = line.base else { return Ok(false) };
    let mut seen = false;
    let places = map.places(walk, false);
    let inside = |i: usize| (0..places).contains(&(line.first + line.step * i as i64));
    let address =
        |i: usize| base.wrapping_add_signed((line.first + line.step * i as i64) * unit as i64);
    let mut i = 0;
    while i < count {
        if !inside(i) {
            i += 1;
            continue;
        }
        let mut n = 1;
        while line.step == 1 && i + n < count && inside(i + n) {
            n += 1;
        }
        let mut data = vec![0; n * unit];
        mach.read(BULK, lane as u8, Space::Global, address(i), &mut data)?;
        seen |= report.seen(address(i), &data);
        if matches!(map.element, Element::Tf32 | Element::Tf32Ftz) {
            for word in data.chunks_exact_mut(4) {
                let bits = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                word.copy_from_slice(&to_tf32(bits).to_le_bytes());
            }
        }
        for (to, from) in
            out[i * shared_unit..].chunks_exact_mut(shared_unit).zip(data.chunks_exact(unit))
        {
            to[..unit].copy_from_slice(from);
        }
        i += n;
    }
    Ok(seen)
}

/// A tensor copy to shared memory: sources destination, map, mbarrier, coordinates, offsets and, if multicast, a mask
/// of blocks. Constants: [`flag`]s, dimensions, offsets, space of the destination with [`PAIR`].
pub(crate) fn load(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [flags, rank, offsets, space] = op.k;
    let pair = space & PAIR != 0;
    let space = space_from(space);
    let of_barrier = if pair { Space::SharedCluster } else { space };
    let used = if flags & flag::ROWS4 != 0 { 5 } else { rank as usize };
    for lane in lanes(mach.mask()) {
        let (to, barrier) = (mach.src_d(0)[lane], mach.src_d(2)[lane]);
        let request = request(mach, op, lane, 3, false)?;
        box_start(lane, space, to, true)?;
        let targets: Vec<(u64, u64)> = if flags & flag::MULTICAST != 0 {
            let mask = mach.src_w(3 + used + offsets as usize)[lane] & 0xffff;
            // In pairs the block of the mbarrier says by its parity which of both is told.
            let told = |r: u64| if pair { r & !1 | cta_of(barrier) & 1 } else { r };
            lanes(mask).map(|r| (in_cta(to, r as u64), in_cta(barrier, told(r as u64)))).collect()
        } else {
            vec![(to, barrier)]
        };
        let mut data = Vec::new();
        let report = Report::from_code(flags >> flag::REPORT);
        let mut seen = false;
        for line in &request.walk.lines {
            seen |= load_line(mach, lane, &request, line, report, &mut data)?;
            let atom = atom(request.map.swizzle, data.len());
            for &(target, _) in &targets {
                for (n, chunk) in data.chunks(atom).enumerate() {
                    let at = request.map.swizzle.place(target + line.shared + (n * atom) as u64);
                    mach.write(BULK, lane as u8, space, at, chunk)?;
                }
            }
        }
        for &(_, object) in &targets {
            if seen {
                mbarrier::report(mach, lane as u8, of_barrier, object)?;
            }
            mbarrier::complete(mach, lane as u8, of_barrier, object, request.walk.bytes as u32)?;
        }
    }
    Ok(Flow::Next)
}

/// The bytes of a line in shared memory, without gaps.
fn shared_line(
    mach: &mut dyn Machine,
    lane: usize,
    Request { map, walk }: &Request,
    line: &Line,
    from: u64,
) -> Result<Vec<u8>, Fault> {
    let (unit, shared_unit) = packed(walk);
    let mut data = vec![0; line.count as usize * shared_unit];
    let atom = atom(map.swizzle, data.len());
    for (n, chunk) in data.chunks_mut(atom).enumerate() {
        let at = map.swizzle.place(from + line.shared + (n * atom) as u64);
        mach.read(BULK, lane as u8, Space::Shared, at, chunk)?;
    }
    if unit == shared_unit {
        return Ok(data);
    }
    Ok(data.chunks_exact(shared_unit).flat_map(|c| &c[..unit]).copied().collect())
}

/// A tensor copy from shared memory: sources source, map, coordinates. Constants: [`flag`]s, dimensions.
pub(crate) fn store(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    for lane in lanes(mach.mask()) {
        let from = mach.src_d(0)[lane];
        let request = request(mach, op, lane, 2, true)?;
        box_start(lane, Space::Shared, from, false)?;
        let places = request.map.places(&request.walk, true);
        let unit = request.walk.unit as usize;
        for line in &request.walk.lines {
            let Some(base) = line.base else { continue };
            let data = shared_line(mach, lane, &request, line, from)?;
            let inside = |i: &usize| line.first + line.step * (*i as i64) < places;
            let address = |i: usize| {
                base.wrapping_add_signed((line.first + line.step * i as i64) * unit as i64)
            };
            let count = (0..line.count as usize).take_while(inside).count();
            let together = if line.step == 1 { count.max(1) } else { 1 };
            for (n, run) in data[..count * unit].chunks(together * unit).enumerate() {
                mach.write(BULK, lane as u8, Space::Global, address(n * together), run)?;
            }
        }
    }
    Ok(Flow::Next)
}

/// The operation of a reduction on elements of a tensor: as recorded, 8- and 16-bit integers take none, 64-bit ones
/// no increment, signed ones of 64 bits minimum and maximum only, numbers of 32 and 64 bits additions only.
fn reduction(element: Element, op: Reduce) -> Option<(Ty, bool)> {
    use Reduce::{Add, And, Dec, Inc, Max, Min, Or, Xor};
    let (ty, ops): (Ty, &[Reduce]) = match element {
        Element::U32 => (Ty::U32, &[Add, Min, Max, Inc, Dec, And, Or, Xor]),
        Element::S32 => (Ty::S32, &[Add, Min, Max, And, Or, Xor]),
        Element::U64 => (Ty::U64, &[Add, Min, Max, And, Or, Xor]),
        Element::S64 => (Ty::S64, &[Min, Max]),
        Element::F16 => (Ty::F16, &[Add, Min, Max]),
        Element::Bf16 => (Ty::Bf16, &[Add, Min, Max]),
        Element::F32 | Element::Tf32 | Element::F32Ftz | Element::Tf32Ftz => (Ty::F32, &[Add]),
        Element::F64 => (Ty::F64, &[Add]),
        Element::U8 | Element::U16 | Element::B4x16 | Element::B4x16P64 | Element::B6x16P32 => {
            return None;
        }
    };
    let flushes = matches!(element, Element::F32Ftz | Element::Tf32Ftz);
    ops.contains(&op).then_some((ty, flushes))
}

/// A reduction from shared memory into a tensor: sources as of [`store`]; constant 3 is the operation.
pub(crate) fn reduce(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let what = Reduce::from_code(op.k[3]);
    for lane in lanes(mach.mask()) {
        let from = mach.src_d(0)[lane];
        let request = request(mach, op, lane, 2, true)?;
        box_start(lane, Space::Shared, from, false)?;
        let Some((ty, flushes)) = reduction(request.map.element, what) else {
            let message =
                format!("elements of type {:?} take no reduction {what:?}", request.map.element);
            return Err(Fault::operand(lane, message));
        };
        let width = ty.bytes() as usize;
        let places = request.map.places(&request.walk, true);
        let unit = request.walk.unit as usize;
        for line in &request.walk.lines {
            let Some(base) = line.base else { continue };
            let data = shared_line(mach, lane, &request, line, from)?;
            for (i, place) in data.chunks_exact(unit).enumerate() {
                let index = line.first + line.step * i as i64;
                if index >= places {
                    break;
                }
                for (j, element) in place.chunks_exact(width).enumerate() {
                    let b = element.iter().rev().fold(0, |v, x| v << 8 | u64::from(*x));
                    let at = base.wrapping_add_signed(index * unit as i64 + (j * width) as i64);
                    mach.update(BULK, lane as u8, Space::Global, at, width as u8, &mut |old| {
                        if flushes {
                            AtomOp::AddF32.apply(4, false, old, b, 0)
                        } else {
                            what.apply(ty, old, b)
                        }
                    })?;
                }
            }
        }
    }
    Ok(Flow::Next)
}

/// A prefetch checks what a copy would check and changes nothing. Sources and constants as of [`load`], whose first
/// and third are zero.
pub(crate) fn prefetch(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    for lane in lanes(mach.mask()) {
        request(mach, op, lane, 3, false)?;
    }
    Ok(Flow::Next)
}

/// `tensormap.replace`: sources address, value. Constants: field, dimension, space.
pub(crate) fn replace(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [field, at, space, wide] = op.k;
    let space = space_from(space);
    let field = Field::from_code(field);
    let address = mach.src_d(0);
    let value = if wide != 0 { mach.src_d(1) } else { mach.src_w(1).map(u64::from) };
    for lane in lanes(mach.mask()) {
        let (id, address) = (lane as u8, address[lane]);
        if !address.is_multiple_of(128) {
            return Err(Fault::Misaligned { lane: id, space, address, bytes: 128, write: true });
        }
        let mut map = [0; 128];
        mach.read(Accessor::TensorMap, id, space, address, &mut map)?;
        let Some(field) = field else { continue };
        TensorMap::replace(&mut map, field, at, value[lane])
            .map_err(|e| Fault::operand(lane, format!("{} of {field:?}: {e}", op.name)))?;
        mach.write(Accessor::TensorMap, id, space, address, &map)?;
    }
    Ok(Flow::Next)
}

/// `tensormap.cp_fenceproxy`: sources destination in global and source in shared memory. The first executing lane
/// copies for the warp, whose lanes must agree.
pub(crate) fn copy_map(mach: &mut dyn Machine, _: &WarpOp) -> Result<Flow, Fault> {
    let lane = mach.mask().trailing_zeros().min(31) as usize;
    let (to, from) = (mach.src_d(0)[lane], mach.src_d(1)[lane]);
    let mut map = [0; 128];
    for (space, address, write) in [(Space::Global, to, true), (Space::Shared, from, false)] {
        if !address.is_multiple_of(128) {
            return Err(Fault::Misaligned { lane: lane as u8, space, address, bytes: 128, write });
        }
    }
    mach.read(Accessor::TensorMap, lane as u8, Space::Shared, from, &mut map)?;
    mach.write(Accessor::TensorMap, lane as u8, Space::Global, to, &map)?;
    Ok(Flow::Next)
}
