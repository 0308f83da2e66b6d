//! Which accesses to memory, and exchanges between lanes, the assembler may put into another order.

use crate::event::{AccessKind, Code, Instruction, Space};
use ptx_isa::Class;

/// What an instruction does to memory, as far as the assembler may reorder it. Two spaces have no address in common:
/// these are global, shared and local memory. Which pairs stay in their order was read
/// off ptxas 13.5 for sm_90.
#[derive(PartialEq, Clone, Copy)]
pub(crate) enum MemoryEffect {
    None,
    Load(Space),
    /// A load of what nobody writes meanwhile.
    ReadOnly,
    Store(Space),
    /// Votes and other exchanges between lanes: memory does not care for them, nor they for each other.
    Lanes,
    /// Shuffles: the same, and barriers let them pass, too.
    Shuffle,
    /// Atomics on shared memory.
    AtomicShared,
    /// Barriers, atomics on other memory: nothing moves across that others could write.
    Sync,
    /// Copies from global to shared memory that lanes start.
    Copy,
    /// Fences, other copies and waits for all of these: nothing that touches memory moves across.
    Fence,
}

/// Whether nothing that touches memory moves across.
pub(crate) fn fences(class: Class) -> bool {
    let fence = matches!(class, Class::FenceBlock | Class::FenceDevice | Class::FenceSystem);
    fence || class == Class::WarpgroupWait
}

pub(crate) fn effect(code: &Code, pc: usize) -> MemoryEffect {
    let instruction = &code.instructions[pc];
    let shared = matches!(
        instruction.class,
        Class::LoadShared | Class::StoreShared | Class::AtomicShared | Class::LoadMatrix
    );
    let place = match () {
        () if shared => Space::Shared,
        () if instruction.local => Space::Local,
        () => Space::Global,
    };
    match instruction.class {
        _ if instruction.copies => MemoryEffect::Copy,
        _ if instruction.orders => MemoryEffect::Fence,
        _ if instruction.spill => MemoryEffect::None,
        Class::Barrier | Class::WarpSync => MemoryEffect::Sync,
        class if fences(class) => MemoryEffect::Fence,
        Class::Shuffle => MemoryEffect::Shuffle,
        Class::Vote | Class::Match | Class::Redux => MemoryEffect::Lanes,
        Class::LoadConst | Class::Texture => MemoryEffect::None,
        c if c.is_memory() => match instruction.kind {
            AccessKind::Load if instruction.read_only => MemoryEffect::ReadOnly,
            AccessKind::Load => MemoryEffect::Load(place),
            AccessKind::Store => MemoryEffect::Store(place),
            AccessKind::Atomic | AccessKind::Reduction if shared => MemoryEffect::AtomicShared,
            AccessKind::Atomic | AccessKind::Reduction => MemoryEffect::Sync,
        },
        _ => MemoryEffect::None,
    }
}

pub(crate) fn ordered(before: MemoryEffect, after: MemoryEffect) -> bool {
    use MemoryEffect::{
        AtomicShared, Copy, Fence, Lanes, Load, None, ReadOnly, Shuffle, Store, Sync,
    };
    match (before, after) {
        (None, _) | (_, None) => false,
        (Fence, _) | (_, Fence) => true,
        (ReadOnly | Shuffle, _) | (_, ReadOnly | Shuffle) => false,
        // They only read what others have stored in global memory, and that may be later.
        (Copy, Load(at)) | (Load(at) | Store(at), Copy) => at == Space::Shared,
        (Copy, Lanes) | (Lanes, Copy) => false,
        (Copy, _) | (_, Copy) => true,
        (Sync, _) | (_, Sync) => true,
        (AtomicShared, AtomicShared) => true,
        (AtomicShared, Load(at) | Store(at)) | (Load(at) | Store(at), AtomicShared) => {
            at == Space::Shared
        }
        (Load(_), Load(_)) | (Lanes, _) | (_, Lanes) => false,
        (Load(a), Store(b)) | (Store(a), Load(b)) | (Store(a), Store(b)) => a == b,
    }
}

/// Whether the assembler keeps the order of two accesses though they do not meet: of strong ones, and of strong loads
/// and stores of global memory. ptxas 13.5 for sm_90 gives a kernel that loads 20 to 40 words and stores them elsewhere
/// registers for all where it does, and 32 where it does not, as for strong loads of global memory and weak stores to
/// shared memory, or the other way round.
pub(crate) fn kept(early: &Instruction, late: &Instruction) -> bool {
    let loads = |i: &Instruction| i.strong && i.class == Class::LoadGlobal;
    let stores = |i: &Instruction| i.class == Class::StoreGlobal && i.kind == AccessKind::Store;
    let strong = early.strong && late.strong;
    strong || loads(early) && stores(late) || stores(early) && loads(late)
}

/// Whether two accesses from one address do not meet.
pub(crate) fn apart(list: &[Instruction], early: usize, late: usize) -> bool {
    let (Some((base, first, bytes)), Some((other, second, more))) =
        (list[early].place, list[late].place)
    else {
        return false;
    };
    let ends = (first + i64::from(bytes) <= second) || (second + i64::from(more) <= first);
    base == other
        && ends
        && list[early].kind != AccessKind::Atomic
        && list[late].kind != AccessKind::Atomic
        && !list[early..late].iter().any(|i| i.writes.contains(&base))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which pairs of loads and stores of other bytes stay in their order, by what is strong.
    #[test]
    fn strong_loads_stay_ahead_of_stores() {
        let access = |class, strong| Instruction { strong, ..Instruction::new(class, &[1], &[0]) };
        let pair = |strong: [bool; 2]| {
            let load = access(Class::LoadGlobal, strong[0]);
            let store = access(Class::StoreGlobal, strong[1]);
            [kept(&load, &store), kept(&store, &load)]
        };
        assert_eq!(pair([true, true]), [true; 2]);
        assert_eq!(pair([true, false]), [true; 2]);
        assert_eq!(pair([false, true]), [false; 2]);
        assert_eq!(pair([false, false]), [false; 2]);
        let loads = [true, false].map(|strong| access(Class::LoadGlobal, strong));
        assert!(kept(&loads[0], &loads[0]) && !kept(&loads[0], &loads[1]));
        // Across spaces, and in shared memory, weak stores pass.
        let shared = access(Class::LoadShared, true);
        let stores = [Class::StoreGlobal, Class::StoreShared].map(|class| access(class, false));
        assert!(stores.iter().all(|store| !kept(&shared, store)) && !kept(&loads[0], &stores[1]));
        assert!(kept(&loads[0], &access(Class::StoreShared, true)));
    }

    /// What ptxas 13.5 for sm_90 keeps in its order.
    #[test]
    fn loads_pass_what_the_assembler_lets_them_pass() {
        use MemoryEffect::{
            AtomicShared, Copy, Fence, Lanes, Load, ReadOnly, Shuffle, Store, Sync,
        };
        let of = |class, read_only| {
            let instruction = Instruction { read_only, ..Instruction::new(class, &[1], &[0]) };
            effect(&Code { instructions: vec![instruction], ..Code::default() }, 0)
        };
        let global = of(Class::LoadGlobal, false);
        let constant = of(Class::LoadGlobal, true);
        let shared = of(Class::LoadShared, false);
        assert!(
            global == Load(Space::Global) && constant == ReadOnly && shared == Load(Space::Shared)
        );
        // What comes first, and whether loads of global memory, of what nobody writes and of shared memory wait.
        let first = [
            (Class::AtomicShared, AtomicShared, [false, false, true]),
            (Class::AtomicGlobal, Sync, [true, false, true]),
            (Class::Barrier, Sync, [true, false, true]),
            (Class::StoreGlobal, Store(Space::Global), [true, false, false]),
            (Class::StoreShared, Store(Space::Shared), [false, false, true]),
            (Class::Shuffle, Shuffle, [false, false, false]),
            (Class::Vote, Lanes, [false, false, false]),
            (Class::FenceBlock, Fence, [true, true, true]),
            (Class::FenceDevice, Fence, [true, true, true]),
        ];
        for (class, is, waits) in first {
            assert!(of(class, false) == is, "{class:?}");
            for (load, waits) in [global, constant, shared].into_iter().zip(waits) {
                assert_eq!(ordered(is, load), waits, "{class:?}");
                assert_eq!(ordered(load, is), waits, "{class:?}");
            }
        }
        // Nothing else meets local memory.
        for (a, b, waits) in [
            (Space::Local, Space::Local, true),
            (Space::Local, Space::Global, false),
            (Space::Shared, Space::Local, false),
        ] {
            assert_eq!(ordered(Store(a), Load(b)), waits);
            assert_eq!(ordered(Load(b), Store(a)), waits);
        }
        let local = Instruction { local: true, ..Instruction::new(Class::StoreGlobal, &[], &[0]) };
        let local = effect(&Code { instructions: vec![local], ..Code::default() }, 0);
        assert!(local == Store(Space::Local));
        let copies = Instruction { copies: true, ..Instruction::new(Class::LoadGlobal, &[], &[0]) };
        let copy = effect(&Code { instructions: vec![copies], ..Code::default() }, 0);
        assert!(copy == Copy);
        // Whether what comes behind a copy waits for it, and the copy for what comes ahead.
        for (other, behind, ahead) in [
            (global, false, false),
            (constant, false, false),
            (shared, true, true),
            (Store(Space::Shared), true, true),
            (Store(Space::Global), true, false),
            (Sync, true, true),
            (Copy, true, true),
            (Fence, true, true),
            (Shuffle, false, false),
            (Lanes, false, false),
        ] {
            assert_eq!(ordered(copy, other), behind);
            assert_eq!(ordered(other, copy), ahead);
        }
        // Exchanges between lanes change places with each other; only shuffles do with barriers.
        for (first, second, waits) in [
            (Shuffle, Shuffle, false),
            (Lanes, Lanes, false),
            (Shuffle, Lanes, false),
            (Shuffle, Sync, false),
            (Lanes, Sync, true),
            (Shuffle, Fence, true),
        ] {
            assert_eq!(ordered(first, second), waits);
            assert_eq!(ordered(second, first), waits);
        }
    }
}
