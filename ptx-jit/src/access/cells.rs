//! Cells of a watcher, as compiled code looks at them: by the same rules as the watcher, in vectors, beside the access.
//!
//! The cell of a word lies as far from the word as the site says, so cells are read and written at the access's own
//! places. What the rules do not settle goes the slow way, on which the watcher is asked. The codes are those of
//! [`ptx_isa::watch`].

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use ptx_isa::effect::{Cache, Mem, MemoryPlace, Order, Scope, Touches};
use ptx_isa::watch::{BEFORE, MANY, Now};
use ptx_isa::{Kind, Space};

use super::found::{Found, lanes, or_scratch, unit};
use super::gather::{gather, scatter};
use super::rules::{Does, Rules};
use crate::clif::{at, plain, vconst32};
use crate::ctx::{Ctx, SITE, Site};
use crate::generator::Gen;
use crate::options::Tracked;
use crate::x86::words::MASK;

/// Who looks at an access.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Looks {
    /// Nobody wants to know.
    Nobody,
    /// The watcher.
    Watcher,
    /// Code does, and the watcher where that does not settle it.
    Code(Tracked),
}

/// Most cells that code looks at one by one.
const MOST: u64 = 64;

/// Who looks at effect `e`.
pub(super) fn looks(g: &Gen<'_, '_>, e: u32, place: &MemoryPlace, bytes: u64) -> Looks {
    let Some(tracked) = g.f.watched.tracked() else { return Looks::Nobody };
    if !matches!(place.space, Space::Global | Space::Shared | Space::Generic) {
        return Looks::Nobody;
    }
    if !tracked.unwritten && g.unraced.contains(&e) {
        return Looks::Nobody;
    }
    let words = tracked.words(place.space) && bytes.is_multiple_of(4);
    if words && (g.form.bit_masks() || u64::from(g.g.width) * bytes / 4 <= MOST) {
        return Looks::Code(tracked);
    }
    Looks::Watcher
}

/// Where in the context the site of effect `e` begins.
fn site_of(g: &Gen<'_, '_>, e: u32) -> i32 {
    let site = g.sites.iter().position(|s| s.effect == e).map_or(0, |n| n * SITE);
    (std::mem::size_of::<Ctx>() + site) as i32
}

/// Goes on where somebody wants to know of the access: what is added to its host addresses to get those of the cells,
/// and the block behind.
pub(super) fn if_wanted(g: &mut Gen<'_, '_>, e: u32, place: &MemoryPlace) -> (Value, Block) {
    let cells = match place.space {
        Space::Shared => at!(shared_cells),
        _ => site_of(g, e) + std::mem::offset_of!(Site, cells) as i32,
    };
    let cells = g.b.ins().load(I64, plain(), g.ctx, cells);
    let (look, done) = (g.b.create_block(), g.b.create_block());
    g.b.ins().brif(cells, look, &[], done, &[]);
    g.b.switch_to_block(look);
    (cells, done)
}

/// Looks at the cells of an access before it is done, and goes on where there is nothing to ask; `slow`: where the
/// watcher is asked. `found`: where the lanes are, of `bytes` bytes each.
pub(super) fn guard(
    g: &mut Gen<'_, '_>,
    e: u32,
    found: &Found,
    mask: Option<&[Value]>,
    place: &MemoryPlace,
    (bytes, tracked): (u64, Tracked),
    slow: Block,
) {
    let does = match g.f.effects[e as usize].effect.access().map(|access| access.touches) {
        Some(Touches::Write) => Does::Writes,
        Some(Touches::Atomic(_)) => Does::Updates,
        Some(Touches::Read) | None => Does::Reads,
    };
    let (cells, done) = if_wanted(g, e, place);
    let site = site_of(g, e);
    let field = |g: &mut Gen<'_, '_>, o: usize| g.b.ins().load(I32, plain(), g.ctx, o as i32);
    let shared = place.space == Space::Shared;
    let now = at!(now) as usize;
    let block = now + std::mem::offset_of!(Now, block);
    let first = match shared {
        true => block,
        false => site as usize + std::mem::offset_of!(Site, first),
    };
    let mut rules = Rules {
        tracked,
        unraced: g.unraced.contains(&e),
        does,
        others: !shared,
        vector: false,
        launch: field(g, now + std::mem::offset_of!(Now, launch)),
        block: field(g, block),
        segment: field(g, now + std::mem::offset_of!(Now, segment)),
        first: field(g, first),
    };
    let thread = g.b.use_var(g.thread0);
    let thread = g.b.ins().ireduce(I32, thread);
    let there = moved(g, found, cells);
    let words = (bytes / 4) as usize;
    match &there {
        Found::Linear(host, o) if o.iter().all(|x| *x == o[0] && i32::try_from(*x).is_ok()) => {
            one(g, &rules, (*host, o[0] as i32), words, (thread, mask), slow, done);
        }
        _ if !(g.form.bit_masks() || mask.is_none() && is_row(&there, bytes)) => {
            by_lanes(g, &rules, &there, words, (thread, mask), slow);
        }
        _ => {
            let wide = |g: &mut Gen<'_, '_>, x: Value| g.b.ins().splat(g.form.w(), x);
            rules.vector = true;
            for x in [&mut rules.launch, &mut rules.block, &mut rules.segment, &mut rules.first] {
                *x = wide(g, *x);
            }
            let thread = wide(g, thread);
            let thread = g.b.ins().iadd(thread, rules.segment);
            match &there {
                Found::Linear(host, o) if mask.is_none() && is_row(&there, bytes) => {
                    rows(g, &rules, (*host, o), words, thread, slow);
                }
                _ => apart(g, &rules, &there, words, (thread, mask), slow),
            }
        }
    }
    g.b.ins().jump(done, &[]);
    g.b.switch_to_block(done);
}

/// Where the cells are of what lies at the lanes' places.
fn moved(g: &mut Gen<'_, '_>, found: &Found, cells: Value) -> Found {
    match found {
        Found::Linear(host, o) => Found::Linear(g.b.ins().iadd(*host, cells), o.clone()),
        Found::Index(host, index, shift) => {
            Found::Index(g.b.ins().iadd(*host, cells), index.clone(), *shift)
        }
        Found::Lanes(a) => {
            let cells = g.b.ins().splat(g.form.d(), cells);
            Found::Lanes(a.iter().map(|a| g.b.ins().iadd(*a, cells)).collect())
        }
    }
}

/// Whether lanes lie one behind the other.
fn is_row(found: &Found, bytes: u64) -> bool {
    matches!(found, Found::Linear(_, o) if unit(o, bytes as i64))
}

/// A cell, as an access to memory that threads share.
fn word() -> Mem {
    Mem {
        place: MemoryPlace { space: Space::Global, offset: 0 },
        bytes: 4,
        count: 1,
        signed: false,
        order: Order::Weak,
        scope: Scope::Cta,
        cache: Cache::default(),
    }
}

fn leave_if(g: &mut Gen<'_, '_>, bad: Value, slow: Block) {
    let on = g.b.create_block();
    g.b.ins().brif(bad, slow, &[], on, &[]);
    g.b.switch_to_block(on);
}

fn always_leave(g: &mut Gen<'_, '_>, slow: Block) {
    let yes = g.b.ins().iconst(I8, 1);
    leave_if(g, yes, slow);
}

/// All lanes at one place.
fn one(
    g: &mut Gen<'_, '_>,
    rules: &Rules,
    (host, at): (Value, i32),
    words: usize,
    (thread, mask): (Value, Option<&[Value]>),
    slow: Block,
    done: Block,
) {
    let races = rules.looks_for_races();
    let many = g.b.ins().iconst(I32, i64::from(MANY));
    let (who, alone) = match mask {
        _ if g.g.scalar() => (thread, None),
        Some(mask) if races => {
            let mut all = None;
            for (n, bits) in bits(g, mask).into_iter().enumerate() {
                let first = (n * g.per()) as i64;
                let bits = g.b.ins().ishl_imm_u(bits, first);
                all = Some(match all {
                    Some(all) => g.b.ins().bor(all, bits),
                    None => bits,
                });
            }
            let all = all.expect("groups have lanes");
            let some = g.b.create_block();
            g.b.ins().brif(all, some, &[], done, &[]);
            g.b.switch_to_block(some);
            let less = g.b.ins().iadd_imm_s(all, -1);
            let rest = g.b.ins().band(all, less);
            let alone = g.b.ins().icmp_imm_u(IntCC::Equal, rest, 0);
            let lane = g.b.ins().popcnt(less);
            let lane = g.b.ins().iadd(lane, thread);
            (g.b.ins().select(alone, lane, many), Some(alone))
        }
        _ => (many, None),
    };
    if races && rules.does == Does::Writes {
        match alone {
            Some(alone) => {
                let bad = g.b.ins().icmp_imm_u(IntCC::Equal, alone, 0);
                leave_if(g, bad, slow);
            }
            None if g.g.scalar() => {}
            // Which of them wins?
            None => always_leave(g, slow),
        }
    }
    let me = g.b.ins().iadd(who, rules.segment);
    let (mut all, mut new) = (None, Vec::new());
    for n in 0..words as i32 {
        if !rules.reads() {
            new.push((n, rules.written(g, me)));
            continue;
        }
        let c = g.b.ins().load(I32, plain(), host, at + 4 * n);
        let (bad, code) = rules.apply(g, c, me);
        all = Some(match all {
            Some(all) => g.b.ins().bor(all, bad),
            None => bad,
        });
        new.extend(code.map(|code| (n, code)));
    }
    if let Some(bad) = all {
        leave_if(g, bad, slow);
    }
    for (n, code) in new {
        g.b.ins().store(plain(), code, host, at + 4 * n);
    }
}

/// A bit for each lane of each slice of a mask.
fn bits(g: &mut Gen<'_, '_>, mask: &[Value]) -> Vec<Value> {
    if g.form.words() {
        return g.bits_of(mask);
    }
    mask.iter().map(|m| g.b.ins().vhigh_bits(I32, *m)).collect()
}

/// Lanes anywhere, one after the other.
fn by_lanes(
    g: &mut Gen<'_, '_>,
    rules: &Rules,
    there: &Found,
    words: usize,
    (thread, mask): (Value, Option<&[Value]>),
    slow: Block,
) {
    let bits = mask.map(|mask| g.bits_of(mask));
    let first = g.b.ins().iadd(thread, rules.segment);
    let mut all = None;
    for (l, (p, at)) in lanes(g, there, 0).into_iter().enumerate() {
        let (p, at, on) = match &bits {
            Some(bits) => {
                let on = g.on(bits, l);
                let on = g.b.ins().icmp_imm_u(IntCC::NotEqual, on, 0);
                (or_scratch(g, bits, l, p, at), 0, Some(on))
            }
            None => (p, at, None),
        };
        let me = g.b.ins().iadd_imm_u(first, l as i64);
        for n in 0..words as i32 {
            let at = at + 4 * n;
            if !rules.reads() {
                let new = rules.written(g, me);
                g.b.ins().store(plain(), new, p, at);
                continue;
            }
            let c = g.b.ins().load(I32, plain(), p, at);
            let (bad, code) = rules.apply(g, c, me);
            let bad = match on {
                Some(on) => g.b.ins().band(bad, on),
                None => bad,
            };
            all = Some(match all {
                Some(all) => g.b.ins().bor(all, bad),
                None => bad,
            });
            if let Some(code) = code {
                // The watcher sees what was there.
                let code = g.b.ins().select(bad, c, code);
                g.b.ins().store(plain(), code, p, at);
            }
        }
    }
    if let Some(bad) = all {
        leave_if(g, bad, slow);
    }
}

/// All lanes, one behind the other, of `words` words each.
fn rows(
    g: &mut Gen<'_, '_>,
    rules: &Rules,
    (host, o): (Value, &[i64]),
    words: usize,
    thread: Value,
    slow: Block,
) {
    let (per, ty) = (g.per(), g.form.w());
    let (mut all, mut new) = (Vec::new(), Vec::new());
    for n in 0..words * g.slices() {
        let lanes: Vec<u32> = (n * per..(n + 1) * per).map(|w| (w / words) as u32).collect();
        let at = o[0] as i32 + n as i32 * g.form.bytes();
        let lanes = vconst32(&mut g.b, &lanes);
        let me = g.b.ins().iadd(thread, lanes);
        if !rules.reads() {
            new.push((at, rules.written(g, me)));
            continue;
        }
        let c = g.b.ins().load(ty, plain(), host, at);
        let (bad, code) = rules.apply(g, c, me);
        all.push(bad);
        new.extend(code.map(|code| (at, code)));
    }
    if !all.is_empty() {
        let bad = g.any_of(&all);
        leave_if(g, bad, slow);
    }
    for (at, code) in new {
        g.b.ins().store(plain(), code, host, at);
    }
}

/// Lanes anywhere, word by word.
fn apart(
    g: &mut Gen<'_, '_>,
    rules: &Rules,
    there: &Found,
    words: usize,
    (thread, mask): (Value, Option<&[Value]>),
    slow: Block,
) {
    let races = rules.looks_for_races();
    let width = g.g.width as usize;
    // Lanes that touch what others touch, as far as that is known now; `None`: anything may be.
    let shares: Option<Vec<bool>> = match there {
        Found::Linear(_, o) => {
            let reach = 4 * words as i64;
            let meets =
                |l: usize| (0..width).any(|other| other != l && (o[l] - o[other]).abs() < reach);
            Some((0..width).map(meets).collect())
        }
        Found::Index(..) | Found::Lanes(_) => None,
    };
    let any_shares = shares.as_ref().is_some_and(|s| s.contains(&true));
    let far = matches!(there, Found::Linear(_, o) if o.iter().any(|o| i32::try_from(*o).is_err()));
    if far || races && rules.does == Does::Writes && any_shares {
        always_leave(g, slow);
        return;
    }
    let me: Vec<Value> = (0..g.slices())
        .map(|s| {
            let lanes = g.lane_numbers(s);
            let me = g.b.ins().iadd(thread, lanes);
            let per = g.per();
            match &shares {
                Some(shares) if any_shares => {
                    let bits = (0..per).fold(0, |m, l| m | i64::from(shares[s * per + l]) << l);
                    let on = g.b.ins().iconst(MASK, bits);
                    let many = rules.or(g, rules.segment, MANY);
                    rules.select(g, on, many, me)
                }
                _ => me,
            }
        })
        .collect();
    let on = mask.map_or_else(|| g.all_lanes(), <[Value]>::to_vec);
    let word = word();
    for n in 0..words as i32 {
        if !rules.reads() {
            let new: Vec<Value> = me.iter().map(|me| rules.written(g, *me)).collect();
            scatter(g, &word, Kind::W, there, mask, 4 * n, &new);
            continue;
        }
        let old = gather(g, &word, Kind::W, there, mask, 4 * n);
        let (mut all, mut new, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        for (s, c) in old.iter().enumerate() {
            let (bad, code) = rules.apply(g, *c, me[s]);
            all.push(if mask.is_some() { g.b.ins().band(bad, on[s]) } else { bad });
            if let Some(code) = code {
                let differs = rules.compare(g, IntCC::NotEqual, *c, code);
                changed.push(g.b.ins().band(differs, on[s]));
                new.push(code);
            }
        }
        let bad = g.any_of(&all);
        leave_if(g, bad, slow);
        if new.is_empty() {
            continue;
        }
        if let Found::Linear(..) = there {
            scatter(g, &word, Kind::W, there, mask, 4 * n, &new);
            continue;
        }
        let (some, next) = (g.b.create_block(), g.b.create_block());
        let any = g.any_of(&changed);
        g.b.ins().brif(any, some, &[], next, &[]);
        g.b.switch_to_block(some);
        scatter(g, &word, Kind::W, there, Some(&changed), 4 * n, &new);
        if races && rules.does != Does::Updates {
            // Where several lanes are at one place, only one finds its code there.
            let found = gather(g, &word, Kind::W, there, mask, 4 * n);
            let mut lost = Vec::new();
            for (s, c) in found.iter().enumerate() {
                let differs = rules.compare(g, IntCC::NotEqual, *c, new[s]);
                lost.push(g.b.ins().band(differs, on[s]));
            }
            let any = g.any_of(&lost);
            if rules.does == Does::Writes {
                leave_if(g, any, slow);
            } else {
                let several = g.b.create_block();
                g.b.ins().brif(any, several, &[], next, &[]);
                g.b.switch_to_block(several);
                let mark = rules.number(g, BEFORE);
                let many = rules.or(g, rules.segment, MANY);
                let codes: Vec<Value> = new
                    .iter()
                    .map(|code| {
                        let mark = g.b.ins().band(*code, mark);
                        g.b.ins().bor(many, mark)
                    })
                    .collect();
                scatter(g, &word, Kind::W, there, Some(&lost), 4 * n, &codes);
            }
        }
        g.b.ins().jump(next, &[]);
        g.b.switch_to_block(next);
    }
}
