//! A kernel made of micro-ops by hand: global, shared and local memory, an atomic and a barrier, in two blocks on one
//! and two host threads. For Miri, which takes minutes for the instruction table and so never comes to a kernel of
//! text.

use std::sync::Arc;

use ptx_interp::{Access, Isa, Kernel, LaunchParams, Memory, launch};
use ptx_isa::effect::{Atom, AtomOp, Bar, BarKind, Cache, Effect, Mem, MemoryPlace, Order, Scope};
use ptx_isa::meaning::{ModuleInfo, Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::types::{Kind, PtxVersion, Space, Suffix, Target};
use ptx_isa::uop::Op;
use ptx_parse::code::{BasicBlock, Flow, Function, Inst, Program};

const fn w(n: u32) -> V {
    V { kind: Kind::W, src: Src::Reg(n) }
}
const fn d(n: u32) -> V {
    V { kind: Kind::D, src: Src::Reg(n) }
}
const fn special(reg: Sreg) -> V {
    V { kind: Kind::W, src: Src::Special(reg) }
}
/// The buffer, whose address the launch gives as a symbol.
const BUFFER: V = V { kind: Kind::D, src: Src::Symbol(0, 0) };
/// The start of the thread's own memory.
const OWN: V = V { kind: Kind::D, src: Src::Frame(0) };

fn pure(op: Op, dst: V, args: &[V]) -> Uop {
    let arg = |n: usize| args.get(n).copied().unwrap_or(V::w(0));
    Uop::Pure { op, dst, args: [arg(0), arg(1), arg(2)], k: 0 }
}
fn word(space: Space, offset: i64) -> Mem {
    let place = MemoryPlace { space, offset };
    let (order, scope, cache) = (Order::Weak, Scope::default(), Cache::default());
    Mem { place, bytes: 4, count: 1, signed: false, order, scope, cache }
}
fn load(to: V, space: Space, base: V, offset: i64) -> Uop {
    Uop::Effect { effect: Effect::Ld(word(space, offset)), dst: [to].into(), src: [base].into() }
}
fn store(space: Space, base: V, offset: i64, value: V) -> Uop {
    let effect = Effect::St(word(space, offset));
    Uop::Effect { effect, dst: [].into(), src: [base, value].into() }
}

/// Every thread adds its number to its word of the buffer, by way of its own and of shared memory, and one to the last
/// word; the words of a block's threads go round.
fn code() -> Vec<Uop> {
    let (order, scope) = (Order::Relaxed, Scope::Gpu);
    let place = MemoryPlace { space: Space::Global, offset: 32 };
    let count = Atom { place, op: AtomOp::Add, bytes: 4, count: 1, order, scope };
    vec![
        pure(Op::MovW, w(0), &[special(Sreg::TidX)]),
        pure(Op::MadWideU, d(0), &[special(Sreg::CtaidX), V::w(16), BUFFER]),
        pure(Op::MadWideU, d(0), &[w(0), V::w(4), d(0)]),
        load(w(1), Space::Global, d(0), 0),
        pure(Op::AddW, w(1), &[w(1), w(0)]),
        store(Space::Local, OWN, 4, w(1)),
        load(w(2), Space::Local, OWN, 4),
        pure(Op::MulWideU, d(1), &[w(0), V::w(4)]),
        store(Space::Shared, d(1), 0, w(2)),
        Uop::Effect {
            effect: Effect::Bar(Bar { kind: BarKind::Sync, counted: false, aligned: true }),
            dst: [].into(),
            src: [V::w(0)].into(),
        },
        // The word of the next thread: 4, 8, 12, 0.
        pure(Op::AddW, w(3), &[w(0), V::w(1)]),
        pure(Op::AndW, w(3), &[w(3), V::w(3)]),
        pure(Op::MulWideU, d(1), &[w(3), V::w(4)]),
        load(w(4), Space::Shared, d(1), 0),
        store(Space::Global, d(0), 0, w(4)),
        Uop::Effect {
            effect: Effect::Atom(count),
            dst: [w(5)].into(),
            src: [BUFFER, V::w(1)].into(),
        },
    ]
}

/// One instruction for each micro-op, and a return.
fn program() -> Program {
    let uops = code();
    let inst = |uops: std::ops::Range<u32>, flow: Flow| Inst {
        uops,
        guard: None,
        flow,
        opcode: 0,
        span: 0..0,
        loc: None,
    };
    let last = uops.len() as u32;
    let mut insts: Vec<Inst> = (0..last).map(|n| inst(n..n + 1, Flow::Next)).collect();
    insts.push(inst(last..last, Flow::Ret));
    let function = Function {
        name: "k".into(),
        id: 0,
        blocks: vec![BasicBlock { start: 0, end: last + 1, succs: Vec::new(), meet: None }],
        insts,
        uops,
        regs: [8; 3],
        temps: [0; 3],
        reg_names: Default::default(),
        frame_bytes: 16,
        stack_bytes: 0,
        local_vars: Vec::new(),
        params: Vec::new(),
        rets: Vec::new(),
        locs: Vec::new(),
    };
    let target = Target {
        sm: 90,
        suffix: Suffix::None,
        map_f64_to_f32: false,
        texmode_independent: false,
        debug: false,
    };
    Program {
        module: "micro-ops".into(),
        source: "".into(),
        info: ModuleInfo { target, version: PtxVersion { major: 8, minor: 0 }, address_bits: 64 },
        functions: vec![function],
        params: Vec::new(),
        param_bytes: 0,
        shared_bytes: 16,
        dynamic_shared_align: 16,
        shared_vars: Vec::new(),
        tuning: Default::default(),
        contraction: false,
        counted: false,
        joined: None,
        files: Vec::new(),
        matches: Vec::new(),
    }
}

#[test]
fn two_blocks() {
    let kernel = Kernel::decode_for(Arc::new(program()), Isa::Baseline);
    for threads in [1, 2] {
        let memory = Memory::new(1 << 20).unwrap();
        let at = memory.alloc(36, 256, "buffer", Access::ReadWrite).unwrap();
        let before: Vec<u8> = (0..9u32).flat_map(|n| (n * 10 % 90).to_le_bytes()).collect();
        memory.write(at, &before).unwrap();
        let (grid, block) = ([2, 1, 1], [4, 1, 1]);
        let symbols = vec![at];
        let params = LaunchParams { grid, block, symbols, threads, ..LaunchParams::default() };
        launch(&kernel, &memory, &params).unwrap_or_else(|e| panic!("{e}"));
        let mut after = [0; 36];
        memory.read(at, &mut after).unwrap();
        let after: Vec<u32> =
            after.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        assert_eq!(after, [11, 22, 33, 0, 51, 62, 73, 40, 88], "{threads} host threads");
    }
}
