//! The figures that `ptxas -v` prints, in its words: registers, stack, barriers, memory.

use std::fmt::Write;
use std::time::Duration;

use ptx_runtime::Verified;
use ptx_runtime::isa::class::Class;
use ptx_runtime::isa::reach::Reach;
use ptx_runtime::isa::types::Target;
use ptx_runtime::isa::{Kind, Space};
use ptx_runtime::parse::code::Refusal;
use ptx_runtime::parse::module::{Body, Module, Operand};

/// Barriers of a block.
const BARRIERS: u64 = 16;
/// Where kernel parameters begin in constant bank 0 before sm_90; from there on no constant banks are printed.
const PARAMETERS_FROM: u32 = 352;

/// Figures of a module.
pub(super) struct Figures {
    global: u64,
    constant: u64,
    pub(super) kernels: Vec<KernelFigures>,
}

/// Figures of a kernel.
pub(super) struct KernelFigures {
    pub(super) name: String,
    registers: u32,
    barriers: u64,
    /// Bytes of local memory of a thread.
    pub(super) local: u32,
    shared: u32,
    parameters: u32,
}

/// Highest number of a barrier that a body names, plus one; all of them where a register says which.
fn barriers(module: &Module, body: &Body) -> u64 {
    let mut most = 0;
    for inst in &body.insts {
        let m = &module.matches[inst.opcode as usize];
        if (m.row.class)(m) != Class::Barrier || m.row.reach != Reach::Block {
            continue;
        }
        let operands = &body.operands[inst.operands.start as usize..inst.operands.end as usize];
        // Barriers in memory have an address.
        if operands.iter().any(|o| matches!(o, Operand::Addr(..))) {
            continue;
        }
        let named = operands.iter().find_map(|o| match o {
            Operand::Imm(n) => Some(n + 1),
            Operand::Reg(r, _) if body.regs[*r as usize].ty.kind() != Kind::P => Some(BARRIERS),
            _ => None,
        });
        most = most.max(named.unwrap_or(1).min(BARRIERS));
    }
    most
}

/// The figures of a module and of these kernels.
///
/// # Errors
/// The first kernel that cannot run, and why.
pub(super) fn of(verified: &Verified, kernels: &[&str]) -> Result<Figures, Refusal> {
    let module = verified.module();
    let bytes = |space| module.symbols.iter().filter(|s| s.space == space).map(|s| s.size).sum();
    let mut figures = Figures {
        global: bytes(Space::Global),
        constant: bytes(Space::Const),
        kernels: Vec::new(),
    };
    // Device functions are counted for every kernel: which of them it reaches is not looked up.
    let functions = module.functions.iter().filter(|f| !f.entry).filter_map(|f| f.body.as_deref());
    let called = functions.map(|body| barriers(module, body)).max().unwrap_or(0);
    for name in kernels {
        let Some(needs) = verified.resources(name) else { continue };
        let needs = needs?;
        let own = module.functions.iter().find(|f| f.entry && f.name.as_str() == *name);
        let own = own.and_then(|f| f.body.as_deref()).map_or(0, |body| barriers(module, body));
        figures.kernels.push(KernelFigures {
            name: (*name).to_owned(),
            registers: needs.registers,
            barriers: own.max(called),
            local: needs.local,
            shared: needs.shared,
            parameters: needs.param_bytes,
        });
    }
    Ok(figures)
}

impl Figures {
    /// The lines of `-v`.
    pub(super) fn render(&self, device: Target, took: Duration) -> String {
        let banks = device.sm < 90;
        let mut out = format!("ptxas info    : {} bytes gmem", self.global);
        if banks && self.constant > 0 {
            let _ = write!(out, ", {} bytes cmem[3]", self.constant);
        }
        out.push('\n');
        for k in &self.kernels {
            let _ = write!(
                out,
                "ptxas info    : Compiling entry function '{}' for '{device}'\n\
                 ptxas info    : Function properties for {}\n    \
                 {} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
                 ptxas info    : Used {} registers, used {} barriers",
                k.name, k.name, k.local, k.registers, k.barriers
            );
            if k.local > 0 {
                let _ = write!(out, ", {} bytes cumulative stack size", k.local);
            }
            if k.shared > 0 {
                let _ = write!(out, ", {} bytes smem", k.shared);
            }
            if banks {
                let _ = write!(out, ", {} bytes cmem[0]", PARAMETERS_FROM + k.parameters);
            }
            out.push('\n');
        }
        let _ = writeln!(out, "ptxas info    : Compile time = {:.3} ms", took.as_secs_f64() * 1e3);
        out
    }
}
