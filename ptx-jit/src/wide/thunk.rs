//! Calls to helpers that keep all 32 vector registers whole, and the mask registers.

use std::sync::OnceLock;

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

use crate::Unsupported;
use crate::blob::Blob;
use crate::thunk::Thunks;

/// Where the mask registers lie, behind the vectors.
const MASKS: i64 = 32 * 64;
const FRAME: u32 = MASKS as u32 + 64;

/// The thunks of this process.
pub(crate) fn thunks() -> Result<Thunks, Unsupported> {
    static ALL: OnceLock<Result<Thunks, Unsupported>> = OnceLock::new();
    ALL.get_or_init(make).clone()
}

fn make() -> Result<Thunks, Unsupported> {
    let refuse = |why: String| Unsupported { why, line: 0 };
    let inner = crate::thunk::thunks()?;
    let mut all = Vec::new();
    let mut starts = [0; 3];
    for (start, to) in starts.iter_mut().zip([inner.effect, inner.refuel, inner.lanes]) {
        all.resize(usize::next_multiple_of(all.len(), 64), 0xcc);
        *start = all.len();
        all.extend(around(to).map_err(|e| refuse(e.to_string()))?);
    }
    let blob = Blob::new(&all).map_err(|e| refuse(e.to_string()))?;
    let [effect, refuel, lanes] = starts.map(|s| blob.at(s));
    // The code stays for the life of the process.
    std::mem::forget(blob);
    Ok(Thunks { effect, refuel, lanes })
}

/// Code that calls `to`, which keeps the general registers.
fn around(to: usize) -> Result<Vec<u8>, IcedError> {
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
    let mut call = 0;
    for (n, i) in list.iter().enumerate() {
        if n == before {
            // vzeroupper; call [rip + where the address stands]
            out.extend([0xc5, 0xf8, 0x77, 0xff, 0x15, 0, 0, 0, 0]);
            call = out.len();
        }
        encoder.encode(i, 0)?;
        out.extend(encoder.take_buffer());
    }
    // mov rsp, rbp; pop rbp; ret
    out.extend([0x48, 0x89, 0xec, 0x5d, 0xc3]);
    out.resize(out.len().next_multiple_of(8), 0xcc);
    let distance = (out.len() - call) as u32;
    out[call - 4..call].copy_from_slice(&distance.to_le_bytes());
    out.extend((to as u64).to_le_bytes());
    Ok(out)
}
