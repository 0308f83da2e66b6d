//! Marks of what loads, stores, atomics and copies move.

use ptx_interp::Moment;
use ptx_interp::observer::{Action, MemoryAccess};
use ptx_isa::Space;
use ptx_isa::effect::{Accessor, Atom, AtomOp, Mem, window};
use ptx_isa::meaning::V;

use super::{From, Init, Warp, lanes};
use crate::finding::Class;
use crate::host::{Cause, Host};
use crate::transfer::whole;

impl Init {
    pub(super) fn load(
        &mut self,
        m: &Moment<'_>,
        warp: &mut Warp,
        a: &MemoryAccess<'_>,
        mem: &Mem,
        dst: &[V],
        host: &mut Host,
    ) {
        let width = u32::from(mem.bytes).min(8);
        let mut marks = vec![[0u8; 32]; dst.len()];
        let mut from = None;
        for l in lanes(a.lanes) {
            let address = a.addresses[l];
            let missing = self.missing(m, warp, (a.space, l), address, a.bytes, host);
            if missing == 0 {
                continue;
            }
            if from.is_none() {
                from = Some(self.source(m, l, a.space, address, a.bytes, host));
            }
            for (n, (mark, v)) in marks.iter_mut().zip(dst).enumerate() {
                let own = (missing >> (n as u32 * width)) as u8 & (0xffu16 >> (8 - width)) as u8;
                let top = 1u8 << (width - 1);
                let extended = whole(v.kind) & !((0xffu16 >> (8 - width)) as u8);
                mark[l] = if mem.signed && own & top != 0 { own | extended } else { own };
            }
        }
        let from = from.unwrap_or(From::Kept(0));
        for (mark, v) in marks.iter().zip(dst) {
            warp.set(m.activation(), *v, a.lanes, mark, from);
        }
    }

    pub(super) fn store(
        &mut self,
        m: &Moment<'_>,
        warp: &mut Warp,
        a: &MemoryAccess<'_>,
        mem: &Mem,
        src: &[V],
        host: &mut Host,
    ) {
        let width = usize::from(mem.bytes).min(8);
        for l in lanes(a.lanes) {
            let (mut missing, mut from) = (0u64, None);
            for (n, v) in src[1..].iter().enumerate() {
                if let Some(mark) = warp.get(m.activation(), *v) {
                    let own = u64::from(mark.bytes[l]) & (0xff >> (8 - width));
                    missing |= own << (n * width);
                    from = (own != 0).then_some(mark.from).or(from);
                }
            }
            self.write(m, warp, (a.space, l), a.addresses[l], (missing, a.bytes), from, host);
        }
    }

    pub(super) fn atomic(
        &mut self,
        m: &Moment<'_>,
        warp: &mut Warp,
        a: &MemoryAccess<'_>,
        atom: &Atom,
        (dst, src): (&[V], &[V]),
        host: &mut Host,
    ) {
        let mut marks = [0u8; 32];
        let mut from = None;
        for l in lanes(a.lanes) {
            let address = a.addresses[l];
            let missing = self.missing(m, warp, (a.space, l), address, a.bytes, host);
            let given = src[1..].iter().find_map(|v| {
                let mark = warp.get(m.activation(), *v)?;
                (mark.bytes[l] != 0).then_some(mark.from)
            });
            if missing != 0 {
                from = Some(self.source(m, l, a.space, address, a.bytes, host));
                marks[l] = dst.first().map_or(0, |v| whole(v.kind));
            }
            let stays = atom.op != AtomOp::Exch && missing != 0;
            let all = u64::MAX >> (64 - a.bytes.clamp(1, 64));
            let now = if stays || given.is_some() { all } else { 0 };
            let whence = if stays { from } else { given };
            self.write(m, warp, (a.space, l), address, (now, a.bytes), whence, host);
        }
        let from = from.unwrap_or(From::Kept(0));
        for v in dst {
            warp.set(m.activation(), *v, a.lanes, &marks, from);
        }
    }

    /// Marks the bytes of a write.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn write(
        &mut self,
        m: &Moment<'_>,
        warp: &mut Warp,
        (space, lane): (Space, usize),
        address: u64,
        (missing, bytes): (u64, u32),
        from: Option<From>,
        host: &mut Host,
    ) {
        match window::locate(space, address) {
            (Space::Global, at) => match (missing, from) {
                (0, _) | (_, None) => host.write(at, u64::from(bytes), true),
                (_, Some(From::Kept(number))) => host.poison(at, missing, bytes, number),
                (_, Some(From::Register(kind, n))) => {
                    let names = &self.program.functions[m.function() as usize].reg_names;
                    let name = names[kind as usize].get(n as usize).map(ToString::to_string);
                    let key = (m.function(), m.index(), u64::MAX);
                    let number = *self.causes.entry(key).or_insert_with(|| {
                        host.keep(Cause {
                            what: format!("the register `{}`", name.unwrap_or_default()),
                            place: m.place(),
                            block: m.block(),
                            thread: m.thread(lane as u8),
                            kernel: m.kernel().name().to_owned(),
                            memory: None,
                        })
                    });
                    host.poison(at, missing, bytes, number);
                }
            },
            (Space::Shared | Space::SharedCluster, at) => {
                let Some((owner, at)) = m.block_of_shared(at) else { return };
                let known = super::shared(&mut self.shared, owner, m.shared_bytes());
                for n in 0..u64::from(bytes) {
                    known.set(at + n..at + n + 1, missing >> n.min(63) & 1 == 0);
                }
            }
            (Space::Local | Space::ParamFunc, at) => {
                let end = (at + u64::from(bytes)) as usize;
                // Nothing beyond the stack is written.
                if end > 1 << 24 {
                    return;
                }
                if warp.local.len() < end {
                    warp.local.resize(end, 0);
                }
                for n in 0..u64::from(bytes) {
                    let byte = &mut warp.local[(at + n) as usize];
                    if missing >> n.min(63) & 1 == 0 {
                        *byte |= 1 << lane;
                    } else {
                        *byte &= !(1 << lane);
                    }
                }
            }
            _ => {}
        }
    }

    /// Copies keep marks; of whatever else is written, the bytes are defined.
    pub(super) fn other(
        &mut self,
        m: &Moment<'_>,
        warp: &mut Warp,
        a: &MemoryAccess<'_>,
        host: &mut Host,
    ) {
        let copies = matches!(a.by, Accessor::AsyncCopy | Accessor::BulkCopy);
        for l in lanes(a.lanes) {
            let address = a.addresses[l];
            if a.action == Action::Read {
                // Of the long pieces of a copy, the ends tell.
                let missing = self.missing(m, warp, (a.space, l), address, a.bytes, host);
                if missing == 0 {
                    warp.copied.remove(&(l as u8));
                    continue;
                }
                match a.by {
                    Accessor::AsyncCopy | Accessor::BulkCopy => {
                        let from = self.source(m, l, a.space, address, a.bytes, host);
                        let bits = (0..64).map(|n| missing >> n & 1 != 0).collect();
                        warp.copied.insert(l as u8, (bits, from));
                    }
                    Accessor::System => {
                        let from = self.source(m, l, a.space, address, a.bytes, host);
                        let class = Class::UninitializedOutput;
                        self.say(m, l as u8, class, "print", from, host);
                    }
                    _ => {}
                }
                continue;
            }
            let held = copies.then(|| warp.copied.remove(&(l as u8))).flatten();
            let (missing, from) = match held {
                Some((bits, from)) if a.bytes <= 64 => {
                    let missing = (0..64).filter(|n| bits[*n]).fold(0u64, |all, n| all | 1 << n);
                    (missing, Some(from))
                }
                _ => (0, None),
            };
            self.write(m, warp, (a.space, l), address, (missing, a.bytes), from, host);
        }
    }
}
