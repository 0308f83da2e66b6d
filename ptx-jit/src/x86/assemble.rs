//! Machine code of instructions whose registers are assigned.

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};
use regalloc2::{Allocation, Block, Edit, InstOrEdit, OperandKind, Output, PReg, SpillSlot};

use super::copies::Copies;
use super::inst::{Arg, ExchangeOp, Listing, Plain, What};
use super::registers::{ARGS, CONTEXT, KEPT, RAX, RegView};
use crate::blob::MachineCode;

struct Emitter<'a> {
    code: &'a Listing,
    out: &'a Output,
    encoder: Encoder,
    /// Where the constants are named: offset of the four bytes, end of the instruction, constant.
    constants: Vec<(usize, usize, u32)>,
    /// Where blocks are named, and what the four bytes count from.
    jumps: Vec<(usize, usize, Block)>,
    starts: Vec<usize>,
    bytes: Vec<u8>,
    places: Vec<(u32, u32)>,
    frame: u32,
    copies: Copies,
}

/// Machine code of `code` with the registers of `out`; `pool`: constants, each with its alignment.
pub(super) fn assemble(
    code: &Listing,
    out: &Output,
    pool: &[Vec<u8>],
) -> Result<MachineCode, String> {
    let frame = (out.num_spillslots as u32 * 8).next_multiple_of(64);
    let mut e = Emitter {
        code,
        out,
        encoder: Encoder::new(64),
        constants: Vec::new(),
        jumps: Vec::new(),
        starts: vec![0; code.blocks.len()],
        bytes: Vec::new(),
        places: Vec::new(),
        frame,
        copies: Copies::default(),
    };
    e.function()?;
    let ways = e.ways();
    for (at, end, block) in std::mem::take(&mut e.jumps) {
        let to = e.starts[ways[block.index()].index()];
        e.patch(at, end, to);
    }
    // Constants stand behind the code.
    let mut at = Vec::with_capacity(pool.len());
    for c in pool {
        let align = c.len().next_power_of_two();
        e.bytes.resize(e.bytes.len().next_multiple_of(align), 0xcc);
        at.push(e.bytes.len());
        e.bytes.extend(c);
    }
    for (place, end, c) in std::mem::take(&mut e.constants) {
        e.patch(place, end, at[c as usize]);
    }
    Ok(MachineCode { bytes: e.bytes, places: e.places })
}

/// Where a register is kept that has to make room.
fn slot(at: SpillSlot) -> MemoryOperand {
    MemoryOperand::with_base_displ_size(Register::RSP, at.index() as i64 * 8, 1)
}

impl Emitter<'_> {
    fn patch(&mut self, at: usize, from: usize, to: usize) {
        let distance = (to as i64 - from as i64) as i32;
        self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
    }

    /// Blocks that do nothing but jump lead on to their target.
    fn ways(&self) -> Vec<Block> {
        let n = self.code.blocks.len();
        let target = |b: usize| -> Option<Block> {
            let block = &self.code.blocks[b];
            let (first, last) = block.insts;
            let empty = last == first + 1
                && matches!(self.code.insts[first as usize].what, What::Jump)
                && self
                    .out
                    .block_insts_and_edits(self.code, Block::new(b))
                    .all(|x| !self.moves(&x));
            empty.then(|| block.succs[0])
        };
        let targets: Vec<Option<Block>> = (0..n).map(target).collect();
        (0..n)
            .map(|b| {
                let mut at = Block::new(b);
                for _ in 0..n {
                    match targets[at.index()] {
                        Some(next) => at = next,
                        None => return at,
                    }
                }
                // A loop of nothing: stays where it is.
                Block::new(b)
            })
            .collect()
    }

    fn moves(&self, x: &InstOrEdit<'_>) -> bool {
        matches!(x, InstOrEdit::Edit(Edit::Move { from, to }) if from != to)
    }

    fn function(&mut self) -> Result<(), String> {
        // push rbp; mov rbp, rsp
        self.bytes.extend([0x55, 0x48, 0x89, 0xe5]);
        for n in KEPT {
            self.push(n, 0x50);
        }
        // and rsp, -64
        self.bytes.extend([0x48, 0x83, 0xe4, 0xc0]);
        if self.frame > 0 {
            // sub rsp, frame
            self.bytes.extend([0x48, 0x81, 0xec]);
            self.bytes.extend(self.frame.to_le_bytes());
        }
        let ways = self.ways();
        let n = self.code.blocks.len();
        for b in 0..n {
            let block = Block::new(b);
            self.starts[b] = self.bytes.len();
            self.copies.forget();
            if ways[b] != block {
                // Nobody comes here.
                continue;
            }
            // The block that is emitted next.
            let next = (b + 1..n).find(|n| ways[*n].index() == *n).map(Block::new);
            let list: Vec<InstOrEdit<'_>> =
                self.out.block_insts_and_edits(self.code, block).collect();
            for x in list {
                match x {
                    InstOrEdit::Edit(Edit::Move { from, to }) => self.transfer(*from, *to)?,
                    InstOrEdit::Inst(i) => self.inst(i.index(), block, next, &ways)?,
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, reg: u8, op: u8) {
        if reg >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.push(op + (reg & 7));
    }

    fn put(&mut self, inst: &Instruction) -> Result<(), String> {
        // As if at 0: nothing but constants is relative, and these are patched.
        self.encoder.encode(inst, 0).map_err(|e| format!("{inst:?}: {e}"))?;
        let bytes = self.encoder.take_buffer();
        self.bytes.extend(&bytes);
        // Give the buffer back to be filled again.
        let mut bytes = bytes;
        bytes.clear();
        self.encoder.set_buffer(bytes);
        Ok(())
    }

    fn transfer(&mut self, from: Allocation, to: Allocation) -> Result<(), String> {
        if from == to {
            return Ok(());
        }
        let target = self.code.target;
        let place = |at: Allocation| at.as_stack().ok_or("no place");
        let inst = match (from.as_reg(), to.as_reg()) {
            (Some(a), Some(b)) => {
                let m = target.moves(a.class());
                self.copies.copy(a, b);
                Instruction::with2(m.copy, m.view.of(b), m.view.of(a))
            }
            (Some(a), None) => {
                let m = target.moves(a.class());
                let to = place(to)?;
                self.copies.store(a, to);
                Instruction::with2(m.store, slot(to), m.view.of(a))
            }
            (None, Some(b)) => {
                let m = target.moves(b.class());
                let from = place(from)?;
                if self.copies.has(from, b) {
                    return Ok(());
                }
                let copy = self.copies.find(from, b.class());
                self.copies.load(from, b);
                match copy {
                    Some(a) => Instruction::with2(m.copy, m.view.of(b), m.view.of(a)),
                    None => Instruction::with2(m.load, m.view.of(b), slot(from)),
                }
            }
            (None, None) => return Err("a move from memory to memory".into()),
        };
        let inst = inst.map_err(|e| e.to_string())?;
        self.put(&inst)
    }

    fn jump(&mut self, to: Block) {
        self.bytes.push(0xe9);
        self.target(to);
    }

    fn target(&mut self, to: Block) {
        let at = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.jumps.push((at, at + 4, to));
    }

    fn inst(
        &mut self,
        n: usize,
        block: Block,
        next: Option<Block>,
        ways: &[Block],
    ) -> Result<(), String> {
        let inst = &self.code.insts[n];
        if self.places.last().is_none_or(|p| p.1 != inst.place) {
            self.places.push((self.bytes.len() as u32, inst.place));
        }
        let out = self.out;
        let regs = out.inst_allocs(regalloc2::Inst::new(n));
        let reg = |n: usize| regs[n].as_reg().ok_or("an operand has no register");
        let succs = &self.code.blocks[block.index()].succs;
        let is_next = |b: Block| Some(ways[b.index()]) == next;
        match &inst.what {
            What::Plain(p) => self.plain(p, regs)?,
            What::Start => {
                let (to, from) = (RegView::D.of(CONTEXT), RegView::D.of(ARGS[0]));
                let i = Instruction::with2(Code::Mov_r64_rm64, to, from);
                self.put(&i.map_err(|e| e.to_string())?)?;
            }
            What::Context => {
                let (to, from) = (RegView::D.of(reg(0)?), RegView::D.of(CONTEXT));
                let i = Instruction::with2(Code::Mov_r64_rm64, to, from);
                self.put(&i.map_err(|e| e.to_string())?)?;
            }
            What::Jump => {
                if !is_next(succs[0]) {
                    self.jump(succs[0]);
                }
            }
            What::Branch(cc) => {
                let (mut cc, mut yes, mut no) = (*cc, succs[0], succs[1]);
                if is_next(yes) {
                    (cc, yes, no) = (cc ^ 1, no, yes);
                }
                self.bytes.extend([0x0f, 0x80 + cc]);
                self.target(yes);
                if !is_next(no) {
                    self.jump(no);
                }
            }
            What::Table => self.table(reg(0)?, reg(1)?, reg(2)?, succs)?,
            What::Return => {
                // vzeroupper; lea rsp, [rbp - 40]; pops; ret
                self.bytes.extend([0xc5, 0xf8, 0x77]);
                self.bytes.extend([0x48, 0x8d, 0x65, (KEPT.len() as u8 * 8).wrapping_neg()]);
                for n in KEPT.into_iter().rev() {
                    self.push(n, 0x58);
                }
                self.bytes.extend([0x5d, 0xc3]);
            }
            What::Call(_) => {
                let i = Instruction::with1(Code::Call_rm64, RegView::D.of(reg(0)?));
                self.put(&i.map_err(|e| e.to_string())?)?;
            }
            What::Exchange(op, view) => {
                let (address, x, new) = (reg(0)?, reg(1)?, reg(2)?);
                self.exchange(*op, *view, address, x, new)?;
            }
            What::CompareAndSwap(view) => {
                let (address, new) = (reg(0)?, reg(1)?);
                self.compare_and_swap(*view, address, new)?;
            }
        }
        if matches!(inst.what, What::Call(_)) {
            self.copies.forget();
        }
        let (first, end) = inst.operands;
        let operands = &self.code.operands[first as usize..end as usize];
        for (operand, at) in operands.iter().zip(regs) {
            if operand.kind() == OperandKind::Def
                && let Some(reg) = at.as_reg()
            {
                self.copies.write(reg);
            }
        }
        Ok(())
    }

    /// `index` below the number of targets selects one of them, else the last is taken.
    fn table(&mut self, index: PReg, x: PReg, y: PReg, succs: &[Block]) -> Result<(), String> {
        let entries = succs.len() - 1;
        let fail = |e: iced_x86::IcedError| e.to_string();
        let i = Instruction::with2(Code::Cmp_rm32_imm32, RegView::W.of(index), entries as u32);
        self.put(&i.map_err(fail)?)?;
        // jae
        self.bytes.extend([0x0f, 0x83]);
        self.target(succs[entries]);
        let i = Instruction::with2(Code::Mov_r32_rm32, RegView::W.of(y), RegView::W.of(index));
        self.put(&i.map_err(fail)?)?;
        let (x, y) = (RegView::D.of(x), RegView::D.of(y));
        let i = Instruction::with2(
            Code::Lea_r64_m,
            x,
            MemoryOperand::with_base_displ_size(Register::RIP, 0, 8),
        );
        self.put(&i.map_err(fail)?)?;
        let lea = self.bytes.len();
        let entry = MemoryOperand::new(x, y, 4, 0, 0, false, Register::None);
        self.put(&Instruction::with2(Code::Movsxd_r64_rm32, y, entry).map_err(fail)?)?;
        self.put(&Instruction::with2(Code::Add_r64_rm64, y, x).map_err(fail)?)?;
        self.put(&Instruction::with1(Code::Jmp_rm64, y).map_err(fail)?)?;
        let table = self.bytes.len();
        self.patch(lea - 4, lea, table);
        for to in &succs[..entries] {
            let at = self.bytes.len();
            self.bytes.extend([0; 4]);
            self.jumps.push((at, table, *to));
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        op: ExchangeOp,
        view: RegView,
        address: PReg,
        x: PReg,
        new: PReg,
    ) -> Result<(), String> {
        let fail = |e: iced_x86::IcedError| e.to_string();
        let wide = view == RegView::D;
        let pick = |w: Code, d: Code| if wide { d } else { w };
        let (a, rax) = (MemoryOperand::with_base(RegView::D.of(address)), view.of(RAX));
        let (x, new) = (view.of(x), view.of(new));
        let load = pick(Code::Mov_r32_rm32, Code::Mov_r64_rm64);
        self.put(&Instruction::with2(load, rax, a).map_err(fail)?)?;
        let again = self.bytes.len();
        self.put(&Instruction::with2(load, new, rax).map_err(fail)?)?;
        match op {
            ExchangeOp::Binary(code) => {
                self.put(&Instruction::with2(code, new, x).map_err(fail)?)?;
            }
            ExchangeOp::Choose(compare, choose) => {
                self.put(&Instruction::with2(compare, x, new).map_err(fail)?)?;
                self.put(&Instruction::with2(choose, new, x).map_err(fail)?)?;
            }
        }
        self.locked_swap(view, a, new)?;
        // jne again
        self.bytes.extend([0x0f, 0x85, 0, 0, 0, 0]);
        let end = self.bytes.len();
        self.patch(end - 4, end, again);
        Ok(())
    }

    fn compare_and_swap(&mut self, view: RegView, address: PReg, new: PReg) -> Result<(), String> {
        self.locked_swap(view, MemoryOperand::with_base(RegView::D.of(address)), view.of(new))
    }

    /// Puts `new` at `at` where `rax` is.
    fn locked_swap(
        &mut self,
        view: RegView,
        at: MemoryOperand,
        new: Register,
    ) -> Result<(), String> {
        let wide = view == RegView::D;
        let swap = if wide { Code::Cmpxchg_rm64_r64 } else { Code::Cmpxchg_rm32_r32 };
        let mut i = Instruction::with2(swap, at, new).map_err(|e| e.to_string())?;
        i.set_has_lock_prefix(true);
        self.put(&i)
    }

    fn plain(&mut self, p: &Plain, regs: &[Allocation]) -> Result<(), String> {
        if p.code == Code::INVALID {
            return Err("an operation that these vectors do not have".into());
        }
        let mut i = Instruction::default();
        i.set_code(p.code);
        for (n, arg) in p.args.iter().enumerate() {
            let n = n as u32;
            match *arg {
                Arg::None => break,
                Arg::Reg(r, view) => match self.register(regs[r as usize], view) {
                    Some(r) => {
                        i.set_op_kind(n, iced_x86::OpKind::Register);
                        i.set_op_register(n, view.of(r));
                    }
                    // Only operands that can be read from memory are left there.
                    None => {
                        let at = regs[r as usize].as_stack().ok_or("an operand has no place")?;
                        let at = slot(at);
                        i.set_op_kind(n, iced_x86::OpKind::Memory);
                        i.set_memory_base(at.base);
                        i.set_memory_displ_size(at.displ_size);
                        i.set_memory_displacement64(at.displacement as u64);
                    }
                },
                Arg::Mem => {
                    i.set_op_kind(n, iced_x86::OpKind::Memory);
                    self.memory(&mut i, p, regs)?;
                }
                Arg::Imm => {
                    let kind = p.number.ok_or("no place for a number")?;
                    i.set_op_kind(n, kind);
                    match kind {
                        iced_x86::OpKind::Immediate64 => i.set_immediate64(p.imm as u64),
                        iced_x86::OpKind::Immediate8 => i.set_immediate8(p.imm as u8),
                        iced_x86::OpKind::Immediate16 => i.set_immediate16(p.imm as u16),
                        iced_x86::OpKind::Immediate32 => i.set_immediate32(p.imm as u32),
                        iced_x86::OpKind::Immediate8to32 => i.set_immediate8to32(p.imm as i32),
                        iced_x86::OpKind::Immediate8to64 => i.set_immediate8to64(p.imm),
                        _ => i.set_immediate32to64(p.imm),
                    }
                }
            }
        }
        if let Some(k) = Plain::register(p.mask) {
            let k = regs[k].as_reg().ok_or("a mask has no register")?;
            i.set_op_mask(RegView::K.of(k));
            i.set_zeroing_masking(p.zeroing);
        }
        if p.lock {
            i.set_has_lock_prefix(true);
        }
        let start = self.bytes.len();
        self.put(&i)?;
        // The first byte of all that is EVEX.
        if self.bytes[start] == 0x62 && self.code.target.vector_masks() {
            return Err("an instruction of AVX-512".into());
        }
        if let Some(c) = p.constant {
            let at = start + self.encoder.get_constant_offsets().displacement_offset();
            self.constants.push((at, self.bytes.len(), c));
        }
        Ok(())
    }

    /// The register that an operand is in, its own or one that has the same.
    fn register(&self, at: Allocation, view: RegView) -> Option<PReg> {
        at.as_reg().or_else(|| self.copies.find(at.as_stack()?, view.class()))
    }

    fn memory(&self, i: &mut Instruction, p: &Plain, regs: &[Allocation]) -> Result<(), String> {
        let at = |n: u8| -> Result<Option<PReg>, String> {
            match Plain::register(n) {
                Some(n) => Ok(Some(regs[n].as_reg().ok_or("an address has no register")?)),
                None => Ok(None),
            }
        };
        i.set_is_broadcast(p.each);
        if p.constant.is_some() {
            i.set_memory_base(Register::RIP);
            i.set_memory_displ_size(8);
            i.set_memory_displacement64(0);
            return Ok(());
        }
        if p.context {
            i.set_memory_base(RegView::D.of(CONTEXT));
        } else if let Some(b) = at(p.base)? {
            i.set_memory_base(RegView::D.of(b));
        }
        if let Some(x) = at(p.index)? {
            i.set_memory_index(p.lanes.unwrap_or(RegView::D).of(x));
            i.set_memory_index_scale(p.scale);
        }
        i.set_memory_displ_size(if p.disp == 0 { 0 } else { 1 });
        i.set_memory_displacement64(p.disp as i64 as u64);
        Ok(())
    }
}
