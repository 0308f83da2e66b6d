//! Calls to helpers that keep all vector registers whole, and the registers of masks.

use iced_x86::{Encoder, IcedError, Instruction, MemoryOperand, Register};
use regalloc2::{PReg, RegClass};

use super::target::Target;
use crate::thunk::Thunks;
use crate::unsupported::Unsupported;

/// Code of the thunks, as [`crate::thunk::thunks`].
pub(super) fn thunks(target: &'static Target) -> Result<&'static (Vec<u8>, Thunks), Unsupported> {
    target.thunks.get_or_init(|| make(target)).as_ref().map_err(Clone::clone)
}

fn make(target: &Target) -> Result<(Vec<u8>, Thunks), Unsupported> {
    let refuse = |why: IcedError| Unsupported::new(why.to_string());
    // The ones that keep the general registers, and code around each.
    let (mut all, inner) = crate::thunk::thunks()?.clone();
    let mut start = |to: usize| {
        all.resize(all.len().next_multiple_of(64), 0xcc);
        let start = all.len();
        all.extend(around(start, to, target).map_err(refuse)?);
        Ok(start)
    };
    let [effect, refuel, lanes] = [inner.effect, inner.refuel, inner.lanes].map(&mut start);
    let thunks = Thunks { effect: effect?, refuel: refuel?, lanes: lanes? };
    Ok((all, thunks))
}

/// Code at `start` that calls the code at `to`, which keeps the general registers.
fn around(start: usize, to: usize, target: &Target) -> Result<Vec<u8>, IcedError> {
    let at = |n: i64| MemoryOperand::with_base_displ_size(Register::RSP, n, 1);
    // Masks lie behind the vectors.
    let masks_at = i64::from(target.bytes) * target.vector_registers.len() as i64;
    let vectors = target.vector_registers.clone().map(|n| (n, n as i64 * i64::from(target.bytes)));
    let masks = target.mask_registers.clone().map(|n| (n, masks_at + n as i64 * 2));
    let saved: Vec<(PReg, i64)> = vectors
        .map(|(n, place)| (PReg::new(n, RegClass::Float), place))
        .chain(masks.map(|(n, place)| (PReg::new(n, RegClass::Vector), place)))
        .collect();
    let mut list = Vec::new();
    for (reg, place) in &saved {
        let m = target.moves(reg.class());
        list.push(Instruction::with2(m.store, at(*place), m.view.of(*reg))?);
    }
    let before = list.len();
    for (reg, place) in &saved {
        let m = target.moves(reg.class());
        list.push(Instruction::with2(m.load, m.view.of(*reg), at(*place))?);
    }
    let frame = masks_at as u32 + 64;
    // push rbp; mov rbp, rsp; and rsp, -64; sub rsp, frame
    let mut out = vec![0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x81, 0xec];
    out.extend(frame.to_le_bytes());
    let mut encoder = Encoder::new(64);
    for (n, i) in list.iter().enumerate() {
        if n == before {
            // vzeroupper; call
            out.extend([0xc5, 0xf8, 0x77, 0xe8]);
            let distance = to as i64 - (start + out.len() + 4) as i64;
            out.extend((distance as i32).to_le_bytes());
        }
        encoder.encode(i, 0)?;
        out.extend(encoder.take_buffer());
    }
    // mov rsp, rbp; pop rbp; ret
    out.extend([0x48, 0x89, 0xec, 0x5d, 0xc3]);
    Ok(out)
}
