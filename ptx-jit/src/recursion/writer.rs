//! A function that is being written: its registers, blocks and instructions.

use ptx_isa::effect::{Effect, Mem, MemoryPlace};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::uop::Op;
use ptx_isa::{Kind, Space};
use ptx_parse::code::{BasicBlock, Flow, Function, Inst};
use ptx_parse::module::SpanRange;

/// A block of the function.
pub(super) type Block = u32;

/// A base, and what is added to it.
#[derive(Copy, Clone)]
pub(super) struct Address {
    pub base: V,
    pub offset: u32,
}

/// A function that is being written.
pub(super) struct Writer {
    /// Registers so far, of each kind.
    pub regs: [u32; 3],
    blocks: Vec<Vec<Inst>>,
    uops: Vec<Uop>,
    /// Whose opcode and text new instructions have.
    opcode: u32,
    span: SpanRange,
}

impl Writer {
    pub(super) fn new(first: &Inst) -> Writer {
        let (opcode, span) = (first.opcode, first.span.clone());
        Writer { regs: [0; 3], blocks: Vec::new(), uops: Vec::new(), opcode, span }
    }

    /// What is written now comes from this instruction.
    pub(super) fn from(&mut self, inst: &Inst) {
        (self.opcode, self.span) = (inst.opcode, inst.span.clone());
    }

    pub(super) fn block(&mut self) -> Block {
        self.blocks.push(Vec::new());
        self.blocks.len() as Block - 1
    }

    pub(super) fn reg(&mut self, kind: Kind) -> V {
        let count = &mut self.regs[kind as usize];
        *count += 1;
        V { kind, src: Src::Reg(*count - 1) }
    }

    /// An instruction at the end of a block.
    pub(super) fn inst(
        &mut self,
        at: Block,
        uops: impl IntoIterator<Item = Uop>,
        guard: Option<(V, bool)>,
        flow: Flow,
    ) {
        let start = self.uops.len() as u32;
        self.uops.extend(uops);
        let uops = start..self.uops.len() as u32;
        let (opcode, span) = (self.opcode, self.span.clone());
        self.blocks[at as usize].push(Inst { uops, guard, flow, opcode, span, loc: None });
    }

    /// `dst = op(args)`.
    pub(super) fn set(&mut self, at: Block, dst: V, op: Op, args: &[V]) {
        let arg = |n: usize| args.get(n).copied().unwrap_or(V::w(0));
        let args = [arg(0), arg(1), arg(2)];
        self.inst(at, [Uop::Pure { op, dst, args, k: 0 }], None, Flow::Next);
    }

    /// The result of an operation, in a new register.
    pub(super) fn value(&mut self, at: Block, op: Op, args: &[V]) -> V {
        let dst = self.reg(op.ret());
        self.set(at, dst, op, args);
        dst
    }

    /// `dst = from`.
    pub(super) fn copy(&mut self, at: Block, dst: V, from: V) {
        let op = match dst.kind {
            Kind::P => Op::MovP,
            Kind::W => Op::MovW,
            Kind::D => Op::MovD,
        };
        self.set(at, dst, op, &[from]);
    }

    pub(super) fn jump(&mut self, at: Block, to: Block) {
        self.inst(at, [], None, Flow::Bra(to));
    }

    pub(super) fn branch(&mut self, at: Block, guard: (V, bool), to: Block) {
        self.inst(at, [], Some(guard), Flow::Bra(to));
    }

    /// A register of `bytes` bytes from local memory.
    pub(super) fn load(&mut self, at: Block, dst: V, bytes: u32, from: Address) {
        let effect = Effect::Ld(local(from.offset, bytes));
        let (dst, src) = (Box::from([dst]), Box::from([from.base]));
        self.inst(at, [Uop::Effect { effect, dst, src }], None, Flow::Next);
    }

    /// `bytes` bytes of a value to local memory.
    pub(super) fn store(&mut self, at: Block, v: V, bytes: u32, to: Address) {
        let effect = Effect::St(local(to.offset, bytes));
        let (dst, src) = (Box::from([]), Box::from([to.base, v]));
        self.inst(at, [Uop::Effect { effect, dst, src }], None, Flow::Next);
    }

    /// `bytes` bytes of local memory, both of whose bases are multiples of 8.
    pub(super) fn transfer(&mut self, at: Block, from: Address, to: Address, bytes: u32) {
        for (start, piece) in pieces(0..bytes, from.offset | to.offset) {
            let kind = if piece == 8 { Kind::D } else { Kind::W };
            let v = self.reg(kind);
            let of = |a: Address| Address { offset: a.offset + start, ..a };
            self.load(at, v, piece, of(from));
            self.store(at, v, piece, of(to));
        }
    }

    /// Zeros in local memory; the base is a multiple of 8.
    pub(super) fn clear(&mut self, at: Block, base: V, range: std::ops::Range<u32>) {
        for (offset, piece) in pieces(range, 0) {
            let zero = if piece == 8 { V::d(0) } else { V::w(0) };
            self.store(at, zero, piece, Address { base, offset });
        }
    }

    /// What was written, in place of the blocks of `f`.
    pub(super) fn finish(self, f: &mut Function) {
        (f.blocks, f.insts) = (Vec::new(), Vec::new());
        for insts in self.blocks {
            let start = f.insts.len() as u32;
            f.insts.extend(insts);
            let end = f.insts.len() as u32;
            f.blocks.push(BasicBlock { start, end, succs: Vec::new(), meet: None });
        }
        (f.uops, f.regs) = (self.uops, self.regs);
    }
}

/// Pieces of up to eight bytes that are aligned, each with its size, also behind a place that is as aligned as `other`.
fn pieces(range: std::ops::Range<u32>, other: u32) -> Vec<(u32, u32)> {
    let (mut at, mut out) = (range.start, Vec::new());
    while at < range.end {
        let fits = |size: &u32| (at | other).is_multiple_of(*size) && at + size <= range.end;
        let size = [8, 4, 2, 1].into_iter().find(fits).unwrap_or(1);
        out.push((at, size));
        at += size;
    }
    out
}

/// An element of local memory.
fn local(offset: u32, bytes: u32) -> Mem {
    Mem {
        place: MemoryPlace { space: Space::Local, offset: i64::from(offset) },
        bytes: bytes as u8,
        count: 1,
        signed: false,
        order: Default::default(),
        scope: Default::default(),
        cache: Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_aligned_and_cover_the_range() {
        assert_eq!(pieces(0..16, 0), [(0, 8), (8, 8)]);
        assert_eq!(pieces(0..8, 4), [(0, 4), (4, 4)]);
        assert_eq!(pieces(3..13, 0), [(3, 1), (4, 4), (8, 4), (12, 1)]);
        assert_eq!(pieces(5..5, 0), []);
    }
}
