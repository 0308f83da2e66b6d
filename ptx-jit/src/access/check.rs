//! The check that all lanes of an access lie in the allocation that it touched last, and where that is on the host.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use ptx_isa::effect::{Effect, MemoryPlace};
use ptx_isa::{Kind, Space};

use super::address::Address;
use super::found::{Found, at_once};
use super::which::local_bytes;
use crate::clif::{at, plain, vconst32, vconst64};
use crate::ctx::{Ctx, SITE, Site};
use crate::form::Masks;
use crate::generator::Gen;
use crate::layout::{REACH, SiteInfo};
use crate::options::Watched;
use crate::x86::words::{MASK, Word};

/// A number that the code reads where it needs it: right before an instruction that can take it from memory.
#[derive(Copy, Clone)]
pub(crate) enum Number {
    /// In the context, at this offset.
    At(i32),
    Constant(u64),
    /// Local memory of the group's first thread, which has so many bytes.
    Own(usize),
    /// In a variable.
    Var(Variable),
}

impl Number {
    pub(crate) fn get(self, g: &mut Gen<'_, '_>) -> Value {
        match self {
            Number::At(at) => g.b.ins().load(I64, plain(), g.ctx, at),
            Number::Var(v) => g.b.use_var(v),
            Number::Constant(c) => g.b.ins().iconst(I64, c as i64),
            Number::Own(bytes) => {
                let base = g.b.ins().load(I64, plain(), g.ctx, at!(local));
                let thread = g.b.ins().load(I64, plain(), g.ctx, at!(thread0));
                let first = g.b.ins().imul_imm_s(thread, bytes as i64);
                g.b.ins().iadd(base, first)
            }
        }
    }
}

/// The memory that an access site knows.
struct Known {
    /// First address; `None`: 0.
    start: Option<Number>,
    /// Units that an access can start at; see [`crate::ctx::Site`].
    room: Number,
    /// Host memory of the first address.
    host: Number,
}

/// Whether an access to shared memory must stay in the variable that its instruction touched last.
fn by_variable(g: &Gen<'_, '_>) -> bool {
    g.f.watched != Watched::Nothing
}

/// The site of effect `e`: `span` bytes are touched from the checked address on, which is a multiple of `unit`.
fn known(
    g: &mut Gen<'_, '_>,
    e: u32,
    place: &MemoryPlace,
    span: u64,
    unit: u64,
    narrow: bool,
) -> Known {
    if matches!(place.space, Space::Local | Space::ParamFunc) {
        let own = local_bytes(g.f);
        let bytes = own as u64;
        let room = if span <= bytes { (bytes - span) / unit + 1 } else { 0 };
        return Known { start: None, room: Number::Constant(room), host: Number::Own(own) };
    }
    let n = g.sites.iter().position(|s| s.effect == e).unwrap_or_else(|| {
        let shared = place.space == Space::Shared && !by_variable(g);
        g.sites.push(SiteInfo { effect: e, span, unit, shared, narrow });
        g.sites.len() - 1
    });
    // One site serves all versions of an access, of which one may reach further.
    g.sites[n].span = g.sites[n].span.max(span);
    let at = (std::mem::size_of::<Ctx>() + n * SITE) as i32;
    let field = |o: usize| Number::At(at + o as i32);
    let room = field(std::mem::offset_of!(Site, room));
    if place.space == Space::Shared && !by_variable(g) {
        return Known { start: None, room, host: Number::At(at!(shared)) };
    }
    let start = Some(field(std::mem::offset_of!(Site, start)));
    Known { start, room, host: field(std::mem::offset_of!(Site, host)) }
}

/// First address, room and host memory of the site of effect `e`, whose linear accesses touch `span` bytes.
pub(crate) fn site_of(
    g: &mut Gen<'_, '_>,
    e: u32,
    place: &MemoryPlace,
    span: u64,
    unit: u64,
) -> (Option<Number>, Number, Number) {
    let known = known(g, e, place, span, unit, false);
    (known.start, known.room, known.host)
}

/// What [`check`] leaves for the way behind it.
pub(super) struct Checked {
    host: Number,
    from: Spread,
}

/// Where lanes are from the first address of the site on.
enum Spread {
    Linear(Value, Vec<i64>),
    Index(Vec<Value>, u32),
    /// Host addresses already.
    Lanes(Vec<Value>),
}

impl Checked {
    /// Where the lanes are, in the block that does the access.
    pub(super) fn found(self, g: &mut Gen<'_, '_>) -> Found {
        match self.from {
            Spread::Linear(at, o) => {
                let host = self.host.get(g);
                Found::Linear(g.b.ins().iadd(host, at), o)
            }
            Spread::Index(index, shift) => Found::Index(self.host.get(g), index, shift),
            Spread::Lanes(a) => Found::Lanes(a),
        }
    }
}

/// Whether the access must take the slow way (not 0; `None`: it was checked before), and where it goes otherwise. Lanes
/// that are off may be anywhere in the allocation.
pub(super) fn check(
    g: &mut Gen<'_, '_>,
    e: u32,
    address: &Address,
    mask: Option<&[Value]>,
    place: &MemoryPlace,
    bytes: u64,
) -> (Option<Value>, Checked) {
    let own = matches!(place.space, Space::Local | Space::ParamFunc);
    let lanes = match g.divergence.beside {
        _ if !own || g.divergence.alike => Lanes::Share,
        Some(element) => Lanes::Beside { element, width: g.g.width },
        None => Lanes::Apart(local_bytes(g.f) as i64),
    };
    // One lane after the other reads where it is told to, also where it is off.
    let settled = matches!(&g.f.effects[e as usize].effect, Effect::Ld(m) if !at_once(g, m));
    let access = Access { e, mask, place, bytes, span: bytes, lanes, settled };
    match address {
        Address::Linear(x, o) => access.linear(g, *x, o),
        Address::Index { base, index, shift, signed } => {
            let (bad, checked) = access.index(g, *base, index, *shift, *signed);
            (Some(bad), checked)
        }
        Address::Lanes(a) => {
            let (bad, checked) = access.lanes(g, a);
            (Some(bad), checked)
        }
    }
}

/// As [`check`], of accesses of `unit` bytes in records of `span` bytes, which no version of a loop has checked before.
pub(super) fn check_records(
    g: &mut Gen<'_, '_>,
    e: u32,
    (x, o): (Value, &[i64]),
    place: &MemoryPlace,
    unit: u64,
    span: u64,
) -> (Value, Checked) {
    let access =
        Access { e, mask: None, place, bytes: unit, span, lanes: Lanes::Share, settled: false };
    access.line(g, x, o)
}

/// How the lanes' memory lies.
#[derive(Copy, Clone)]
enum Lanes {
    /// They share it.
    Share,
    /// Each has so many bytes of its own, one after the other.
    Apart(i64),
    /// Each has its own, with the elements of all lanes side by side ([`crate::beside`]).
    Beside { element: u32, width: u32 },
}

impl Lanes {
    /// Numbers of units of `1 << shift` bytes of the lanes, and the shift, where lanes lie side by side.
    fn places(self, g: &mut Gen<'_, '_>, index: Vec<Value>, shift: u32) -> (Vec<Value>, u32) {
        let Lanes::Beside { element, width } = self else { return (index, shift) };
        let to = shift.min(element.trailing_zeros());
        let up = i64::from(shift - to + width.trailing_zeros());
        let per = g.per() as u32;
        let place = |(s, x)| {
            let first = s as u32 * per;
            let own: Vec<u32> = (first..first + per).map(|l| l * (element >> to)).collect();
            let (x, own) = (g.b.ins().ishl_imm_u(x, up), vconst32(&mut g.b, &own));
            g.b.ins().iadd(x, own)
        };
        (index.into_iter().enumerate().map(place).collect(), to)
    }

    /// Half `n` of the addresses of lanes that are `at` bytes from `host` on.
    fn placed(self, g: &mut Gen<'_, '_>, at: Value, host: Value, n: usize) -> Value {
        let per = g.form.per(Kind::D);
        let (at, step) = match self {
            Lanes::Share => return g.b.ins().iadd(at, host),
            Lanes::Apart(bytes) => (at, bytes),
            Lanes::Beside { element, width } => {
                let at = g.b.ins().ishl_imm_u(at, i64::from(width.trailing_zeros()));
                (at, element.into())
            }
        };
        let p = g.b.ins().iadd(at, host);
        let c: Vec<u64> = (n * per..(n + 1) * per).map(|l| (l as i64 * step) as u64).collect();
        let c = vconst64(&mut g.b, &c);
        g.b.ins().iadd(p, c)
    }

    /// An address and what each lane adds to it, where lanes have memory of their own.
    fn line(self, g: &mut Gen<'_, '_>, at: Value, o: Vec<i64>) -> (Value, Vec<i64>) {
        let lanes = o.into_iter().zip(0..);
        match self {
            Lanes::Share => (at, lanes.map(|(o, _)| o).collect()),
            Lanes::Apart(bytes) => (at, lanes.map(|(o, l)| o + l * bytes).collect()),
            Lanes::Beside { element, width } => {
                let at = g.b.ins().ishl_imm_u(at, i64::from(width.trailing_zeros()));
                let place = |(o, l): (i64, i64)| o * i64::from(width) + l * i64::from(element);
                (at, lanes.map(place).collect())
            }
        }
    }
}

/// An access that is checked.
struct Access<'a> {
    /// The effect.
    e: u32,
    mask: Option<&'a [Value]>,
    place: &'a MemoryPlace,
    /// Bytes of each lane; addresses are multiples of them.
    bytes: u64,
    /// Bytes from a lane's first one to its last one.
    span: u64,
    lanes: Lanes,
    /// Whether lanes that are off get the first address.
    settled: bool,
}

impl Access<'_> {
    /// Of lanes at constant distances.
    fn linear(&self, g: &mut Gen<'_, '_>, x: Value, o: &[i64]) -> (Option<Value>, Checked) {
        if let Some(host) = g.moving.get(&self.e).copied().filter(|_| g.sure) {
            let lo = o.iter().copied().min().unwrap_or(0);
            let at = if lo == 0 { x } else { g.b.ins().iadd_imm_s(x, lo) };
            let o = o.iter().map(|o| o - lo).collect();
            return (None, Checked { host: Number::Var(host), from: Spread::Linear(at, o) });
        }
        let (bad, checked) = self.line(g, x, o);
        (Some(bad), checked)
    }

    /// The same where it was not checked before.
    fn line(&self, g: &mut Gen<'_, '_>, x: Value, o: &[i64]) -> (Value, Checked) {
        let bytes = self.bytes;
        let lo = o.iter().copied().min().unwrap_or(0);
        let hi = o.iter().copied().max().unwrap_or(0);
        let known = known(g, self.e, self.place, (hi - lo) as u64 + self.span, bytes, false);
        let at = if lo == 0 { x } else { g.b.ins().iadd_imm_s(x, lo) };
        let at = match known.start {
            Some(start) => {
                let start = start.get(g);
                g.b.ins().isub(at, start)
            }
            None => at,
        };
        // Low bits that are not zero make a number that is too great.
        let shift = i64::from(bytes.trailing_zeros());
        let unit = if shift == 0 { at } else { g.b.ins().rotr_imm_u(at, shift) };
        let bad = if o.iter().all(|o| ((*o - lo) as u64).is_multiple_of(bytes)) {
            let room = known.room.get(g);
            g.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, unit, room)
        } else {
            g.b.ins().iconst(I8, 1)
        };
        let (at, o) = self.lanes.line(g, at, o.iter().map(|o| o - lo).collect());
        (bad, Checked { host: known.host, from: Spread::Linear(at, o) })
    }

    /// Of lanes with 32-bit numbers of their own, in units of `1 << shift` bytes.
    fn index(
        &self,
        g: &mut Gen<'_, '_>,
        base: Option<Value>,
        index: &[Value],
        shift: u32,
        signed: bool,
    ) -> (Value, Checked) {
        let unit = 1u64 << shift;
        let known = known(g, self.e, self.place, self.bytes, unit, true);
        let room = known.room.get(g);
        let mut bad = g.b.ins().icmp_imm_u(IntCC::Equal, room, 0);
        let start = known.start.map(|s| s.get(g));
        let base = match (base, start) {
            (Some(base), Some(start)) => Some(g.b.ins().isub(base, start)),
            (Some(base), None) => Some(base),
            (None, Some(start)) => Some(g.b.ins().ineg(start)),
            (None, None) => None,
        };
        let units = base.map(|at| {
            let (units, odd) = whole_units(g, at, shift);
            bad = g.b.ins().bor(bad, odd);
            let units = g.b.ins().ireduce(I32, units);
            g.b.ins().splat(g.form.w(), units)
        });
        let last = g.b.ins().iadd_imm_s(room, -1);
        let last = g.b.ins().ireduce(I32, last);
        let last = g.b.ins().splat(g.form.w(), last);
        let low = if self.bytes > unit { self.bytes / unit - 1 } else { 0 };
        let limits = Indices { units, last, signed, low, settled: self.settled };
        let (out, wrong) = match g.form.masks {
            Masks::Bits => limits.by_bits(g, index, self.mask),
            Masks::Vectors => limits.by_vectors(g, index, self.mask),
        };
        let bad = g.b.ins().bor(bad, wrong);
        let (out, shift) = self.lanes.places(g, out, shift);
        (bad, Checked { host: known.host, from: Spread::Index(out, shift) })
    }

    /// Of lanes with addresses of their own.
    fn lanes(&self, g: &mut Gen<'_, '_>, a: &[Value]) -> (Value, Checked) {
        let known = known(g, self.e, self.place, self.bytes, 1, false);
        let start = known.start.unwrap_or(Number::Constant(0)).get(g);
        let start = g.b.ins().splat(g.form.d(), start);
        let room = known.room.get(g);
        let last = g.b.ins().iadd_imm_s(room, -1);
        let last = g.b.ins().splat(g.form.d(), last);
        let host = known.host.get(g);
        let host = g.b.ins().splat(g.form.d(), host);
        let (out, wrong) = match g.form.masks {
            Masks::Bits => self.lanes_by_bits(g, a, start, last, host),
            Masks::Vectors => self.lanes_by_vectors(g, a, start, last, host),
        };
        let wrong = g.any(wrong);
        let none = g.b.ins().icmp_imm_u(IntCC::Equal, room, 0);
        let bad = g.b.ins().bor(wrong, none);
        (bad, Checked { host: known.host, from: Spread::Lanes(out) })
    }

    /// Host addresses, and the mask of lanes that are wrong.
    fn lanes_by_bits(
        &self,
        g: &mut Gen<'_, '_>,
        a: &[Value],
        start: Value,
        last: Value,
        host: Value,
    ) -> (Vec<Value>, Value) {
        let mut bad = None;
        let mut out = Vec::with_capacity(a.len());
        for (n, x) in a.iter().enumerate() {
            let mut at = g.b.ins().isub(*x, start);
            let mut w = g.emitter(true).cmp_w(IntCC::UnsignedGreaterThan, at, last);
            if self.bytes > 1 {
                let odd = g.same64(self.bytes - 1);
                let odd = g.word(Word::Test, 0, &[at, odd], MASK);
                w = g.b.ins().bor(w, odd);
            }
            if let Some(m) = self.mask {
                let m = g.half_mask(m, n);
                w = g.b.ins().band(w, m);
                if self.settled {
                    let zero = g.same64(0);
                    at = g.emitter(true).sel(m, at, zero);
                }
            }
            bad = Some(or(g, bad, w));
            out.push(self.lanes.placed(g, at, host, n));
        }
        (out, bad.expect("groups have lanes"))
    }

    /// Host addresses, and a vector with bits where lanes are wrong.
    fn lanes_by_vectors(
        &self,
        g: &mut Gen<'_, '_>,
        a: &[Value],
        start: Value,
        last: Value,
        host: Value,
    ) -> (Vec<Value>, Value) {
        let (mut bad, mut low) = (None, None);
        let mut out = Vec::with_capacity(a.len());
        for (n, x) in a.iter().enumerate() {
            let mut at = g.b.ins().isub(*x, start);
            // Both are 0 or more as signed numbers: sizes are far below 2^63.
            let left = g.b.ins().isub(last, at);
            let mut b = g.b.ins().bor(at, left);
            if let Some(m) = self.mask {
                let m = g.half_mask(m, n);
                b = g.b.ins().band(b, m);
                at = g.b.ins().band(at, m);
            }
            bad = Some(or(g, bad, b));
            low = Some(or(g, low, at));
            out.push(self.lanes.placed(g, at, host, n));
        }
        let (bad, low) = (bad.expect("groups have lanes"), low.expect("groups have lanes"));
        let sign = g.same64(1 << 63);
        let bits = g.same64(self.bytes - 1);
        let bad = g.b.ins().band(bad, sign);
        let low = g.b.ins().band(low, bits);
        (out, g.b.ins().bor(bad, low))
    }
}

/// `x`, or all of what came before and `x`.
fn or(g: &mut Gen<'_, '_>, before: Option<Value>, x: Value) -> Value {
    match before {
        None => x,
        Some(before) => g.b.ins().bor(before, x),
    }
}

/// How many units of `1 << shift` bytes `at` is, and whether it is no number of them or too many: 32-bit sums with a
/// few tell all cases apart.
fn whole_units(g: &mut Gen<'_, '_>, at: Value, shift: u32) -> (Value, Value) {
    let units = if shift == 0 { at } else { g.b.ins().sshr_imm_u(at, i64::from(shift)) };
    let far = g.b.ins().iadd_imm_s(units, REACH as i64);
    let far = g.b.ins().ushr_imm_u(far, 31);
    let odd = if shift == 0 {
        far
    } else {
        let low = g.b.ins().band_imm_u(at, (1i64 << shift) - 1);
        g.b.ins().bor(far, low)
    };
    (units, g.b.ins().icmp_imm_u(IntCC::NotEqual, odd, 0))
}

/// What indices are checked against.
struct Indices {
    /// What is added to them.
    units: Option<Value>,
    last: Value,
    signed: bool,
    /// Bits that must be 0.
    low: u64,
    /// Lanes that are off get the number 0.
    settled: bool,
}

impl Indices {
    /// The numbers, and whether one is wrong.
    fn by_bits(
        &self,
        g: &mut Gen<'_, '_>,
        index: &[Value],
        mask: Option<&[Value]>,
    ) -> (Vec<Value>, Value) {
        let mut out = Vec::with_capacity(index.len());
        let mut wrong = Vec::with_capacity(index.len());
        for (s, x) in index.iter().enumerate() {
            let mut d = self.sum(g, *x);
            let mut w = g.emitter(true).cmp_w(IntCC::UnsignedGreaterThan, d, self.last);
            if !self.signed {
                // Numbers from 2^31 on are too rare to tell them from negative ones.
                let sign = g.word(Word::Signs, 0, &[*x], MASK);
                w = g.b.ins().bor(w, sign);
            }
            if self.low != 0 {
                let low = g.same32(self.low as u32);
                let odd = g.word(Word::Test, 0, &[d, low], MASK);
                w = g.b.ins().bor(w, odd);
            }
            if let Some(m) = mask {
                w = g.b.ins().band(w, m[s]);
                if self.settled {
                    let zero = g.same32(0);
                    d = g.emitter(true).sel(m[s], d, zero);
                }
            }
            wrong.push(w);
            out.push(d);
        }
        (out, g.any_of(&wrong))
    }

    /// The same with masks that are vectors.
    fn by_vectors(
        &self,
        g: &mut Gen<'_, '_>,
        index: &[Value],
        mask: Option<&[Value]>,
    ) -> (Vec<Value>, Value) {
        let (mut wrong, mut low) = (None, None);
        let mut out = Vec::with_capacity(index.len());
        for (s, x) in index.iter().enumerate() {
            let mut d = self.sum(g, *x);
            let top = g.b.ins().umin(d, self.last);
            let mut w = g.b.ins().bxor(top, d);
            if !self.signed {
                // As above.
                let sign = g.b.ins().sshr_imm_u(*x, 31);
                w = g.b.ins().bor(w, sign);
            }
            if let Some(m) = mask {
                w = g.b.ins().band(w, m[s]);
                d = g.b.ins().band(d, m[s]);
            }
            wrong = Some(or(g, wrong, w));
            if self.low != 0 {
                low = Some(or(g, low, d));
            }
            out.push(d);
        }
        let mut wrong = wrong.expect("groups have lanes");
        if let Some(low) = low {
            let bits = g.same32(self.low as u32);
            let low = g.b.ins().band(low, bits);
            wrong = g.b.ins().bor(wrong, low);
        }
        (out, g.any(wrong))
    }

    /// An index with what is added to it.
    fn sum(&self, g: &mut Gen<'_, '_>, x: Value) -> Value {
        match self.units {
            Some(units) => g.b.ins().iadd(x, units),
            None => x,
        }
    }
}
