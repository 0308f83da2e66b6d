//! Calls to helpers that keep all 32 vector registers whole, and the mask registers.

use std::sync::OnceLock;

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

use crate::Unsupported;
use crate::thunk::Thunks;

/// Where the mask registers lie, behind the vectors.
const MASKS: i64 = 32 * 64;
const FRAME: u32 = MASKS as u32 + 64;

/// Code of the thunks, as [`crate::thunk::thunks`].
pub(crate) fn thunks() -> Result<&'static (Vec<u8>, Thunks), Unsupported> {
    static ALL: OnceLock<Result<(Vec<u8>, Thunks), Unsupported>> = OnceLock::new();
    ALL.get_or_init(make).as_ref().map_err(Clone::clone)
}

fn make() -> Result<(Vec<u8>, Thunks), Unsupported> {
    let refuse = |why: IcedError| Unsupported { why: why.to_string(), line: 0 };
    // The ones that keep the general registers, and code around each.
    let (mut all, inner) = crate::thunk::thunks()?.clone();
    let mut start = |to: usize| {
        all.resize(all.len().next_multiple_of(64), 0xcc);
        let start = all.len();
        all.extend(around(start, to).map_err(refuse)?);
        Ok(start)
    };
    let [effect, refuel, lanes] = [inner.effect, inner.refuel, inner.lanes].map(&mut start);
    let thunks = Thunks { effect: effect?, refuel: refuel?, lanes: lanes? };
    Ok((all, thunks))
}

/// Code at `start` that calls the code at `to`, which keeps the general registers.
fn around(start: usize, to: usize) -> Result<Vec<u8>, IcedError> {
    let at = |n: i64| MemoryOperand::with_base_displ_size(Register::RSP, n, 1);
    let vectors = (0..32u32).map(|n| (Register::ZMM0 + n, i64::from(n) * 64));
    let masks = (1..8u32).map(|n| (Register::K0 + n, MASKS + i64::from(n) * 2));
    let mut list = Vec::new();
    for (reg, place) in vectors.clone() {
        let code = Code::EVEX_Vmovdqa64_zmmm512_k1z_zmm;
        list.push(Instruction::with2(code, at(place), reg)?);
    }
    for (reg, place) in masks.clone() {
        list.push(Instruction::with2(Code::VEX_Kmovw_m16_kr, at(place), reg)?);
    }
    let before = list.len();
    for (reg, place) in vectors {
        let code = Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512;
        list.push(Instruction::with2(code, reg, at(place))?);
    }
    for (reg, place) in masks {
        list.push(Instruction::with2(Code::VEX_Kmovw_kr_km16, reg, at(place))?);
    }
    // push rbp; mov rbp, rsp; and rsp, -64; sub rsp, FRAME
    let mut out = vec![0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x81, 0xec];
    out.extend(FRAME.to_le_bytes());
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
