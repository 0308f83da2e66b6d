//! The mbarrier object (PTX ISA 9.7.15.16): an opaque 64-bit word in shared memory.
//!
//! The manual leaves the bits open and the hardware's differ from run to run, so this layout is
//! ours: pending arrivals in bits 0 to 19, expected arrivals in bits 20 to 39, transaction count in
//! bits 40 to 60 (two's complement), phase parity in bit 61, and bit 62 set in a live object. Bit 63 is set in an object
//! of layout v1, whose counts have 9 bits; bits 9 to 11 then hold its [`Reports`], and those that are left are zero.

use crate::async_copy::in_cta;
use crate::effect::{
    Accessor, Fault, Flow, Machine, MbarrierEvent, MbarrierOp, Order, Scope, WarpOp,
};
use crate::matrix::run::space_from;
use crate::types::Space;

const COUNT: u64 = (1 << 20) - 1;
const TX_BITS: u32 = 21;
const LIVE: u64 = 1 << 62;
const V1: u64 = 1 << 63;
/// Counts of an object of layout v1.
const COUNT1: u64 = (1 << 9) - 1;
/// Bits that are zero in an object of layout v1.
const FREE1: u64 = (COUNT | COUNT << 20) & !(COUNT1 | COUNT1 << 20 | 7 << 9);
const PARITY: u64 = 1 << 61;

/// What an object of layout v1 keeps beside (9.7.15.16.7). The report's value is zero whatever is reported: copies add
/// no bits to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reports {
    /// Parity of the current conditional phase.
    pub odd: bool,
    /// Whether something was reported in the current primary phase.
    pub now: bool,
    /// Whether something was reported in the one before.
    pub before: bool,
}

/// A decoded object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mbarrier {
    /// Arrivals that the current phase still waits for.
    pub pending: u64,
    /// Arrivals that the next phase will wait for.
    pub expected: u64,
    /// Outstanding transactions.
    pub tx: i64,
    /// Parity of the current (primary) phase.
    pub odd: bool,
    /// Of layout v1.
    pub reports: Option<Reports>,
}

impl Mbarrier {
    /// A fresh object for `count` arrivals, of layout v0 or v1.
    ///
    /// # Errors
    /// The most arrivals that the layout has, where `count` is not from 1 to it.
    pub fn new(count: u32, v1: bool) -> Result<Self, u64> {
        let reports = v1.then(Reports::default);
        let count = count.into();
        let object = Self { pending: count, expected: count, tx: 0, odd: false, reports };
        if count == 0 || count > object.most() { Err(object.most()) } else { Ok(object) }
    }

    /// The most arrivals that it counts.
    const fn most(&self) -> u64 {
        if self.reports.is_some() { COUNT1 } else { COUNT }
    }

    /// The object that a word holds; `None` if the word was never initialised.
    #[must_use]
    pub fn decode(word: u64) -> Option<Self> {
        let v1 = word & V1 != 0;
        if word & LIVE == 0 || v1 && word & FREE1 != 0 {
            return None;
        }
        let bit = |at: u32| word >> at & 1 != 0;
        let reports = v1.then(|| Reports { odd: bit(9), now: bit(10), before: bit(11) });
        let count = if v1 { COUNT1 } else { COUNT };
        Some(Self {
            pending: word & count,
            expected: word >> 20 & count,
            tx: ((word >> 40 << (64 - TX_BITS)) as i64) >> (64 - TX_BITS),
            odd: word & PARITY != 0,
            reports,
        })
    }

    /// The word of this object.
    #[must_use]
    pub const fn encode(self) -> u64 {
        let tx = self.tx as u64 & ((1 << TX_BITS) - 1);
        let parity = if self.odd { PARITY } else { 0 };
        let v1 = match self.reports {
            None => 0,
            Some(r) => V1 | (r.odd as u64) << 9 | (r.now as u64) << 10 | (r.before as u64) << 11,
        };
        self.pending | self.expected << 20 | tx << 40 | parity | LIVE | v1
    }

    /// Counts arrivals (and lowers the expectation by as many if they drop out).
    ///
    /// # Errors
    /// When the phase does not wait for so many.
    pub fn arrive(&mut self, count: u64, drop: bool) -> Result<(), &'static str> {
        if count > self.pending {
            return Err("more arrivals than the phase of the mbarrier waits for");
        }
        self.pending -= count;
        if drop {
            self.expected = self.expected.saturating_sub(count);
        }
        self.advance();
        Ok(())
    }

    /// Adds to the outstanding transactions (complete-tx subtracts).
    ///
    /// # Errors
    /// When the transaction count leaves its range.
    pub fn transact(&mut self, delta: i64) -> Result<(), &'static str> {
        self.tx += delta;
        if self.tx.unsigned_abs() > COUNT {
            return Err("the transaction count of the mbarrier leaves its range");
        }
        // Expecting more transactions never ends a phase.
        if delta < 0 {
            self.advance();
        }
        Ok(())
    }

    /// Waits for one arrival more.
    ///
    /// # Errors
    /// When the layout counts no more.
    fn await_one(&mut self) -> Result<(), &'static str> {
        if self.pending == self.most() {
            return Err("the phase of the mbarrier waits for as many arrivals as it can count");
        }
        self.pending += 1;
        Ok(())
    }

    /// Notes that data of a copy are as its instruction says (report-on): the conditional phase stays.
    ///
    /// # Errors
    /// When the layout takes no reports.
    fn report(&mut self) -> Result<(), &'static str> {
        let reports = self.reports.as_mut();
        reports.ok_or("takes no reports: it is not of `.layout::v1`")?.now = true;
        Ok(())
    }

    fn advance(&mut self) {
        if self.pending != 0 || self.tx != 0 {
            return;
        }
        self.pending = self.expected;
        self.odd = !self.odd;
        if let Some(r) = &mut self.reports {
            *r = Reports { odd: r.odd == r.now, now: false, before: r.now };
        }
    }
}

/// What `arrive` does, as bits of its constant 0.
pub mod arrive_flag {
    /// Drop out of later phases.
    pub const DROP: u32 = 1;
    /// Source 1 is a transaction count to expect first.
    pub const EXPECT: u32 = 2;
    /// Increment the pending count before arriving (`cp.async.mbarrier.arrive` without `.noinc`).
    pub const INCREMENT: u32 = 4;
    /// No arrival: only change the transaction count.
    pub const TX_ONLY: u32 = 8;
    /// Subtract source 1 from the transaction count.
    pub const COMPLETE: u32 = 16;
    /// The arrival waits for the lane's asynchronous copies.
    pub const AFTER_COPIES: u32 = 32;
}

/// Order and scope of an operation, in one constant.
pub(crate) fn pack_sync(order: Order, scope: Scope) -> u32 {
    let relaxed = u32::from(order == Order::Relaxed);
    relaxed | u32::from(scope == Scope::Cluster) << 1
}

/// Inverse of [`pack_sync`] for operations that are `order` unless they are relaxed.
fn unpack_sync(code: u32, order: Order) -> (Order, Scope) {
    let scope = if code & 2 != 0 { Scope::Cluster } else { Scope::Cta };
    (if code & 1 != 0 { Order::Relaxed } else { order }, scope)
}

/// Data of a copy are as its instruction says: the object notes it (report-on).
///
/// # Errors
/// As [`change`].
pub(crate) fn report(
    mach: &mut dyn Machine,
    lane: u8,
    space: Space,
    address: u64,
) -> Result<(), Fault> {
    change(mach, lane, space, address, &mut Mbarrier::report).map(|_| ())
}

/// The bytes of a copy have come: they complete at the object.
///
/// # Errors
/// As [`change`].
pub(crate) fn complete(
    mach: &mut dyn Machine,
    lane: u8,
    space: Space,
    address: u64,
    bytes: u32,
) -> Result<(), Fault> {
    let changed = change(mach, lane, space, address, &mut |b| b.transact(-i64::from(bytes)))?;
    let what = MbarrierOp::Complete(bytes);
    let (order, scope, completes) = (Order::Release, Scope::Cluster, changed.completes);
    mach.mbarrier(MbarrierEvent { lane, space, address, what, order, scope, completes })
}

/// What [`change`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// The word before.
    pub before: u64,
    /// Whether a phase is complete by it.
    pub completes: bool,
}

/// Changes the object at an address for one lane.
///
/// # Errors
/// A fault when the address holds no mbarrier object or `f` refuses.
pub fn change(
    mach: &mut dyn Machine,
    lane: u8,
    space: Space,
    address: u64,
    f: &mut dyn FnMut(&mut Mbarrier) -> Result<(), &'static str>,
) -> Result<Changed, Fault> {
    if !address.is_multiple_of(8) {
        return Err(Fault::Misaligned { lane, space, address, bytes: 8, write: true });
    }
    let (mut wrong, mut completes) = (None, false);
    let before = mach.update(Accessor::Mbarrier, lane, space, address, 8, &mut |word| {
        wrong = None;
        let Some(mut object) = Mbarrier::decode(word) else {
            wrong = Some("holds no mbarrier object (`mbarrier.init` is missing)");
            return word;
        };
        let odd = object.odd;
        match f(&mut object) {
            Ok(()) => {
                completes = object.odd != odd;
                object.encode()
            }
            Err(why) => {
                wrong = Some(why);
                word
            }
        }
    })?;
    match wrong {
        None => Ok(Changed { before, completes }),
        Some(why) => Err(Fault::Operand {
            lane,
            message: format!("mbarrier at {} address {address:#x}: {why}", space.name()),
        }),
    }
}

/// Lanes of a mask.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |l| mask >> l & 1 != 0)
}

/// `mbarrier.init`: sources address, count. Constants: space, whether of layout v1.
pub(crate) fn init(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let (address, count) = (mach.src_d(0), mach.src_w(1));
    let space = space_from(op.k[0]);
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        if !address[l].is_multiple_of(8) {
            let address = address[l];
            return Err(Fault::Misaligned { lane, space, address, bytes: 8, write: true });
        }
        let (address, count) = (address[l], count[l]);
        let object = Mbarrier::new(count, op.k[1] != 0).map_err(|most| {
            let message = format!("{} with count {count} (1 to {most})", op.name);
            Fault::Operand { lane, message }
        })?;
        let object = object.encode().to_le_bytes();
        mach.write(Accessor::Mbarrier, lane, space, address, &object)?;
        let what = MbarrierOp::Init(count);
        let (order, scope, completes) = (Order::Weak, Scope::Cta, false);
        mach.mbarrier(MbarrierEvent { lane, space, address, what, order, scope, completes })?;
    }
    Ok(Flow::Next)
}

/// `mbarrier.inval`: source address. Constants: space.
pub(crate) fn invalidate(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let address = mach.src_d(0);
    let space = space_from(op.k[0]);
    for l in lanes(mach.mask()) {
        let (lane, address) = (l as u8, address[l]);
        mach.write(Accessor::Mbarrier, lane, space, address, &[0; 8])?;
        let what = MbarrierOp::Invalidate;
        let (order, scope, completes) = (Order::Weak, Scope::Cta, false);
        mach.mbarrier(MbarrierEvent { lane, space, address, what, order, scope, completes })?;
    }
    Ok(Flow::Next)
}

/// Arrivals and transaction counts: sources address and count, then a mask of the cluster's blocks if constant 3 says
/// so. Constants: [`arrive_flag`]s, space, order and scope.
/// Destination 0 is the state before.
pub(crate) fn arrive(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    use arrive_flag::{AFTER_COPIES, COMPLETE, DROP, EXPECT, INCREMENT, TX_ONLY};
    let has = |flag: u32| op.k[0] & flag != 0;
    let (address, count) = (mach.src_d(0), mach.src_w(1));
    let space = space_from(op.k[1]);
    let (order, scope) = unpack_sync(op.k[2], Order::Release);
    let mut state = [0u64; 32];
    // Each lane's objects: its own address, or the same offset in every block of a mask.
    let mut objects: Vec<(usize, u64)> = Vec::new();
    let multicast = (op.k[3] != 0).then(|| mach.src_w(2));
    for l in lanes(mach.mask()) {
        match &multicast {
            None => objects.push((l, address[l])),
            Some(masks) => {
                let ranks = lanes(masks[l]).map(|rank| (l, in_cta(address[l], rank as u64)));
                objects.extend(ranks);
            }
        }
    }
    for (l, address) in objects {
        let (lane, n) = (l as u8, count[l]);
        let changed = change(mach, lane, space, address, &mut |b| {
            if has(COMPLETE) {
                return b.transact(-i64::from(n));
            }
            if has(EXPECT) {
                b.transact(n.into())?;
            }
            if has(TX_ONLY) {
                return Ok(());
            }
            if has(INCREMENT) {
                b.await_one()?;
            }
            b.arrive(if has(EXPECT) { 1 } else { n.into() }, has(DROP))
        })?;
        state[l] = changed.before;
        let completes = changed.completes;
        let mut tell = |what, completes, order| {
            mach.mbarrier(MbarrierEvent { lane, space, address, what, order, scope, completes })
        };
        if has(COMPLETE) {
            tell(MbarrierOp::Complete(n), completes, Order::Relaxed)?;
            continue;
        }
        if has(EXPECT) {
            tell(MbarrierOp::Expect(n), false, Order::Relaxed)?;
        }
        if has(TX_ONLY) {
            continue;
        }
        let arrival = match () {
            () if has(AFTER_COPIES) => MbarrierOp::ArriveAfterCopies,
            () if has(EXPECT) => MbarrierOp::Arrive { count: 1, drop: has(DROP) },
            () => MbarrierOp::Arrive { count: n, drop: has(DROP) },
        };
        tell(arrival, completes, order)?;
    }
    if !has(TX_ONLY | COMPLETE | INCREMENT) && multicast.is_none() {
        mach.set_d(0, &state);
    }
    Ok(Flow::Next)
}

/// `test_wait` and `try_wait`: sources address and state (or parity). Constants: parity form, space, order and scope,
/// conditional phase. Destination 0 says whether the phase is complete, 1 whether something was reported in it.
pub(crate) fn test(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let by_parity = op.k[0] != 0;
    let address = mach.src_d(0);
    let (parity, state) =
        if by_parity { (mach.src_w(1), [0; 32]) } else { ([0; 32], mach.src_d(1)) };
    let space = space_from(op.k[1]);
    let (order, scope) = unpack_sync(op.k[2], Order::Acquire);
    let (mut done, mut reported) = (0u32, 0u32);
    for l in lanes(mach.mask()) {
        let odd = if by_parity { parity[l] & 1 != 0 } else { state[l] & PARITY != 0 };
        let (lane, address) = (l as u8, address[l]);
        let mut now = false;
        let mut before = false;
        change(mach, lane, space, address, &mut |b| {
            let reports = b.reports.unwrap_or(Reports { odd: b.odd, ..Reports::default() });
            now = if op.k[3] != 0 { reports.odd } else { b.odd };
            before = reports.before;
            Ok(())
        })?;
        let completes = now != odd;
        done |= u32::from(completes) << l;
        reported |= u32::from(completes && before) << l;
        let what = MbarrierOp::Test { odd };
        mach.mbarrier(MbarrierEvent { lane, space, address, what, order, scope, completes })?;
    }
    mach.set_p(0, done);
    mach.set_p(1, reported);
    Ok(Flow::Next)
}

/// `mbarrier.check_layout`: source address. Constants: space, whether v1 is asked for. Destination 0 says whether the
/// object has that layout.
pub(crate) fn check_layout(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let address = mach.src_d(0);
    let space = space_from(op.k[0]);
    let mut has = 0u32;
    for l in lanes(mach.mask()) {
        let mut v1 = false;
        change(mach, l as u8, space, address[l], &mut |b| {
            v1 = b.reports.is_some();
            Ok(())
        })?;
        has |= u32::from(v1 == (op.k[1] != 0)) << l;
    }
    mach.set_p(0, has);
    Ok(Flow::Next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_arrivals_and_transactions() {
        let mut b = Mbarrier::new(2, false).expect("in range");
        b.transact(64).expect("in range");
        b.arrive(1, false).expect("expected");
        b.arrive(1, false).expect("expected");
        assert!(!b.odd && b.pending == 0, "transactions are outstanding");
        assert!(b.arrive(1, false).is_err());
        b.transact(-64).expect("in range");
        assert!(b.odd && b.pending == 2);
        b.arrive(1, true).expect("expected");
        b.arrive(1, false).expect("expected");
        assert_eq!((b.odd, b.pending, b.expected), (false, 1, 1));
    }

    #[test]
    fn words_keep_every_field() {
        for (pending, expected, tx, odd) in [(0, 1, -1, true), (COUNT, COUNT, COUNT as i64, false)]
        {
            let b = Mbarrier { pending, expected, tx, odd, reports: None };
            assert_eq!(Mbarrier::decode(b.encode()), Some(b));
            let (pending, expected) = (pending & COUNT1, expected & COUNT1);
            let reports = Some(Reports { odd: !odd, now: odd, before: !odd });
            let b = Mbarrier { pending, expected, tx, odd, reports };
            assert_eq!(Mbarrier::decode(b.encode()), Some(b));
        }
        for word in [0, PARITY, u64::MAX, V1] {
            assert_eq!(Mbarrier::decode(word), None);
        }
        assert_eq!(Mbarrier::new(512, true), Err(511));
        assert_eq!(Mbarrier::new(0, false), Err(COUNT));
    }

    #[test]
    fn a_report_holds_the_conditional_phase_once() {
        let mut b = Mbarrier::new(1, true).expect("in range");
        let reports = |b: &Mbarrier| b.reports.expect("of layout v1");
        b.report().expect("of layout v1");
        b.arrive(1, false).expect("expected");
        assert_eq!((b.odd, reports(&b)), (true, Reports { odd: false, now: false, before: true }));
        b.arrive(1, false).expect("expected");
        assert_eq!((b.odd, reports(&b)), (false, Reports { odd: true, now: false, before: false }));
        assert!(Mbarrier::new(1, false).expect("in range").report().is_err());
    }
}
