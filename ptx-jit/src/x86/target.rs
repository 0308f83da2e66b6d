//! What code is made for: the vectors of the processor and its registers.

use std::ops::Range;
use std::sync::OnceLock;

use iced_x86::Code;
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass};

use super::encodings::Width;
use super::registers::{CONTEXT, KEPT, RegView, STACK};
use crate::form::{Form, Masks};
use crate::thunk::Thunks;
use crate::unsupported::Unsupported;

/// How registers of a class are moved.
pub(super) struct Moves {
    pub view: RegView,
    /// From register to register.
    pub copy: Code,
    /// From memory, to memory.
    pub load: Code,
    pub store: Code,
}

/// Vectors and registers.
pub(super) struct Target {
    /// The column of instructions on vectors, and of those on numbers in lane 0.
    pub vectors: Width,
    pub lane: Width,
    /// Bytes of a vector.
    pub bytes: u32,
    /// Whether instructions read one element of memory for all lanes.
    pub each: bool,
    /// How instructions name a vector, and half of one.
    pub whole: RegView,
    pub half: RegView,
    /// Vector registers, and registers of masks that can be assigned.
    pub vector_registers: Range<usize>,
    pub mask_registers: Range<usize>,
    /// How vector registers are moved.
    pub vector_moves: Moves,
    /// How registers of masks are moved.
    pub mask_moves: Moves,
    /// Code that calls helpers and keeps these registers, once it was made.
    pub thunks: OnceLock<Result<(Vec<u8>, Thunks), Unsupported>>,
}

/// AVX-512 as of Ice Lake and Zen 4. `k0` means no mask.
static AVX512: Target = Target {
    vectors: Width::Z,
    lane: Width::ZLane,
    bytes: 64,
    each: true,
    whole: RegView::Z,
    half: RegView::Y,
    vector_registers: 0..32,
    mask_registers: 1..8,
    vector_moves: Moves {
        view: RegView::Z,
        copy: Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512,
        load: Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512,
        store: Code::EVEX_Vmovdqa64_zmmm512_k1z_zmm,
    },
    mask_moves: Moves {
        view: RegView::K,
        copy: Code::VEX_Kmovw_kr_km16,
        load: Code::VEX_Kmovw_kr_km16,
        store: Code::VEX_Kmovw_m16_kr,
    },
    thunks: OnceLock::new(),
};

/// AVX2 and FMA: masks are vectors.
static AVX2: Target = Target {
    vectors: Width::Y,
    lane: Width::YLane,
    bytes: 32,
    each: false,
    whole: RegView::Y,
    half: RegView::X,
    vector_registers: 0..16,
    mask_registers: 0..0,
    vector_moves: Moves {
        view: RegView::Y,
        copy: Code::VEX_Vmovdqa_ymm_ymmm256,
        load: Code::VEX_Vmovdqa_ymm_ymmm256,
        store: Code::VEX_Vmovdqa_ymmm256_ymm,
    },
    // None of them is ever assigned.
    mask_moves: Moves {
        view: RegView::K,
        copy: Code::INVALID,
        load: Code::INVALID,
        store: Code::INVALID,
    },
    thunks: OnceLock::new(),
};

/// The same on every processor.
static GENERAL_MOVES: Moves = Moves {
    view: RegView::D,
    copy: Code::Mov_r64_rm64,
    load: Code::Mov_r64_rm64,
    store: Code::Mov_rm64_r64,
};

fn set(class: RegClass, regs: impl Iterator<Item = usize>) -> PRegSet {
    regs.fold(PRegSet::empty(), |s, n| s.with(PReg::new(n, class)))
}

impl Target {
    /// What code of a form is made for, if there is such a description.
    pub(super) fn of(form: Form) -> Option<&'static Target> {
        match (form.lanes, form.masks) {
            (16, Masks::Bits) => Some(&AVX512),
            (8, Masks::Vectors) => Some(&AVX2),
            _ => None,
        }
    }

    /// Whether masks are vectors, not registers of their own.
    pub(super) fn vector_masks(&self) -> bool {
        self.mask_registers.is_empty()
    }

    /// Lanes of 32 bits of a vector.
    pub(super) fn lanes(&self) -> u32 {
        self.bytes / 4
    }

    /// The mask of all lanes.
    pub(super) fn all_lanes(&self) -> i64 {
        (1 << self.lanes()) - 1
    }

    /// How registers of a class are moved.
    pub(super) fn moves(&self, class: RegClass) -> &Moves {
        match class {
            RegClass::Int => &GENERAL_MOVES,
            RegClass::Float => &self.vector_moves,
            RegClass::Vector => &self.mask_moves,
        }
    }

    /// Registers to assign: all but the stack's and the context's.
    pub(super) fn environment(&self) -> MachineEnv {
        let context = CONTEXT.hw_enc();
        let free = |n: &usize| !STACK.contains(n) && !KEPT.contains(&(*n as u8));
        MachineEnv {
            preferred_regs_by_class: [
                set(RegClass::Int, (0..16).filter(free)),
                set(RegClass::Float, self.vector_registers.clone()),
                set(RegClass::Vector, self.mask_registers.clone()),
            ],
            non_preferred_regs_by_class: [
                set(RegClass::Int, KEPT.iter().map(|n| *n as usize).filter(|n| *n != context)),
                PRegSet::empty(),
                PRegSet::empty(),
            ],
            scratch_by_class: [None; 3],
            fixed_stack_slots: Vec::new(),
        }
    }

    /// Registers that a call by the platform's convention may change.
    pub(super) fn clobbers(&self) -> PRegSet {
        let changed = |n: &usize| !KEPT.contains(&(*n as u8)) && !STACK.contains(n);
        let mut all = set(RegClass::Int, (0..16).filter(changed));
        all.union_from(set(RegClass::Float, self.vector_registers.clone()));
        all.union_from(set(RegClass::Vector, self.mask_registers.clone()));
        all
    }
}
