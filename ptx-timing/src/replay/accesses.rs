//! Accesses to memory of a kernel under way, as those of its warps.

use ptx_interp::observer::{Action, MemoryAccess};
use ptx_isa::effect::Accessor;

use super::{Recorder, find};
use crate::access::WarpAccess;
use crate::event::{AccessKind, BlockTrace, Differs, Space};
use crate::lanes::{PRINT_BASE, place, place_of_lane};

/// Accesses of single lanes, in the order of an instruction's meaning, that make one of the warp.
pub(super) struct Pieces {
    by: Accessor,
    action: Action,
    space: Space,
    differs: Differs,
    access: WarpAccess,
}

/// Widest piece that a lane moves at once.
const PIECE: u32 = 16;

/// Bytes of a register.
const WORD: u32 = 4;

impl Pieces {
    /// Whether it has room for the piece of a lane, and where: at the lane's own place or, where that
    /// is taken, behind all others.
    fn room(&self, lane: u32) -> Option<u32> {
        let next = 32 - self.access.mask.leading_zeros();
        let slot = if lane >= next { lane } else { next };
        (slot < 32).then_some(slot)
    }
}

impl Recorder<'_> {
    /// An access by the instruction issued last.
    pub(super) fn access(&mut self, access: &MemoryAccess<'_>) {
        let Some((_, warp, _)) = self.last.filter(|_| !self.open.is_empty()) else { return };
        let does = |action| match action {
            Action::Read => AccessKind::Load,
            Action::Write => AccessKind::Store,
            Action::Update => AccessKind::Atomic,
        };
        let own = Some(does(access.action));
        match access.by {
            Accessor::Load | Accessor::Store | Accessor::Atomic => {
                let Some((space, addresses)) = place(access) else { return };
                // The words of a lane's local memory lie a line apart.
                let words =
                    if space == Space::Local { access.bytes.div_ceil(WORD).max(1) } else { 1 };
                let width = if words > 1 { WORD } else { access.bytes };
                for word in 0..words {
                    let addresses = addresses.map(|a| a.wrapping_add(u64::from(word) * 32 * 4));
                    let lanes = WarpAccess { mask: access.lanes, width, addresses };
                    self.add(space, Differs::default(), lanes);
                }
            }
            Accessor::AsyncCopy => {
                self.piece(access, Differs { does: own, copy: true, bypass_l1: false });
            }
            Accessor::BulkCopy => {
                self.piece(access, Differs { does: own, copy: true, bypass_l1: true });
            }
            // The four warps of a group read their operands together.
            Accessor::MatrixProduct if warp % 4 != 0 => {}
            Accessor::Matrix => {
                self.matrix(access, Differs { does: own, ..Differs::default() });
            }
            Accessor::AsyncStore
            | Accessor::MatrixProduct
            | Accessor::Texture
            | Accessor::Surface
            | Accessor::Mbarrier
            | Accessor::TensorMap
            | Accessor::TensorMapFetch
            | Accessor::System => {
                self.piece(access, Differs { does: own, ..Differs::default() });
            }
            // The host's reads cost the device nothing.
            Accessor::Host => {}
        }
    }

    /// An access of one lane: joins those of other lanes by the same instruction.
    fn piece(&mut self, access: &MemoryAccess<'_>, differs: Differs) {
        let Some((space, lane, base)) = place_of_lane(access) else { return };
        let (by, action) = (access.by, access.action);
        // A long copy is one of many lanes.
        for from in (0..access.bytes).step_by(PIECE as usize) {
            let width = PIECE.min(access.bytes - from);
            let lane = if access.bytes > PIECE { from / PIECE % 32 } else { lane };
            let same = |p: &Pieces| {
                (p.by, p.action, p.space) == (by, action, space) && p.access.width == width
            };
            let at = self.pieces.iter().rposition(same).unwrap_or(usize::MAX);
            let room = self.pieces.get(at).and_then(|p| Some((at, p.room(lane)?)));
            let (at, slot) = room.unwrap_or_else(|| {
                let access = WarpAccess { mask: 0, width, addresses: [0; 32] };
                self.pieces.push(Pieces { by, action, space, differs, access });
                (self.pieces.len() - 1, lane)
            });
            let access = &mut self.pieces[at].access;
            access.mask |= 1 << slot;
            access.addresses[slot as usize] = base + u64::from(from);
        }
    }

    /// An access by an instruction that moves a matrix: of one lane, or of all at once.
    fn matrix(&mut self, access: &MemoryAccess<'_>, differs: Differs) {
        if access.bytes >= WORD && access.lanes.is_power_of_two() {
            self.piece(access, differs);
            return;
        }
        let Some((space, addresses)) = place(access) else { return };
        let (by, action, mask) = (access.by, access.action, access.lanes);
        if access.bytes >= WORD {
            let access = WarpAccess { mask, width: access.bytes, addresses };
            self.pieces.push(Pieces { by, action, space, differs, access });
            return;
        }
        // The parts of a matrix that lanes hold in halves of registers are loaded and stored in words.
        for base in (0..32).filter(|lane| mask >> lane & 1 != 0).map(|lane| addresses[lane]) {
            self.matrix_word(base & !u64::from(WORD - 1), (action, space), differs);
        }
    }

    /// A word of a matrix, once, whichever lanes hold parts of it.
    fn matrix_word(&mut self, base: u64, (action, space): (Action, Space), differs: Differs) {
        if !self.words.insert(base) {
            return;
        }
        let by = Accessor::Matrix;
        let same =
            |p: &Pieces| (p.by, p.action, p.space, p.access.width) == (by, action, space, WORD);
        let last = self.pieces.last().filter(|p| same(p)).and_then(|p| p.room(0));
        let slot = last.unwrap_or_else(|| {
            let access = WarpAccess { mask: 0, width: WORD, addresses: [0; 32] };
            self.pieces.push(Pieces { by, action, space, differs, access });
            0
        });
        if let Some(Pieces { access, .. }) = self.pieces.last_mut() {
            access.mask |= 1 << slot;
            access.addresses[slot as usize] = base;
        }
    }

    /// The instruction issued last has made all of its accesses.
    #[inline]
    pub(super) fn finish_pieces(&mut self) {
        if !self.pieces.is_empty() {
            self.add_pieces();
        }
    }

    fn add_pieces(&mut self) {
        self.words.clear();
        let mut pieces = std::mem::take(&mut self.pieces);
        for p in pieces.drain(..) {
            self.add(p.space, p.differs, p.access);
        }
        self.pieces = pieces;
    }

    /// Adds an access to the event of the instruction issued last.
    fn add(&mut self, space: Space, differs: Differs, mut lanes: WarpAccess) {
        let Some((block, warp, pc)) = self.last else { return };
        let followed = self.follows(block, warp);
        let Some(recording) = find(&mut self.open, &mut self.at, block) else { return };
        let BlockTrace { warps, patterns } = &mut recording.trace;
        let Some(trace) = warps.get_mut(warp as usize) else { return };
        let instruction = &self.code.code.instructions[pc as usize];
        if instruction.chooses > 0 {
            return;
        }
        if instruction.merged > 1 {
            lanes.width *= instruction.merged;
            let from = instruction.merged_from;
            lanes.addresses = lanes.addresses.map(|a| a.wrapping_add_signed(-from));
        }
        if instruction.one_lane {
            lanes.mask &= lanes.mask.wrapping_neg();
        }
        if block == [0; 3] {
            self.samples.add(pc, space, differs.does, &lanes);
        }
        if let Some(path) = self.path.as_mut().filter(|_| followed) {
            path.access(space, differs.does, &lanes);
        }
        trace.add_access(patterns, &lanes, space, differs);
    }

    /// The lane's text goes to a buffer in device memory, behind what was printed before.
    pub(super) fn print(&mut self, bytes: u64) {
        let mut addresses = [0; 32];
        addresses[0] = PRINT_BASE + self.printed;
        self.printed += bytes;
        let width = bytes.min(1 << 12) as u32;
        let differs = Differs { does: Some(AccessKind::Store), ..Differs::default() };
        self.finish_pieces();
        self.add(Space::Global, differs, WarpAccess { mask: 1, width, addresses });
    }
}
