//! A kernel before there is machine code.

use ptx_isa::special::Sreg;
use ptx_parse::code::Program;

use crate::divergence::{self, Divergence};
use crate::form::Form;
use crate::geometry::Geometry;
use crate::ir::{Func, Op};
use crate::options::Options;
use crate::range::Assumptions;
use crate::unsupported::Unsupported;
use crate::{build, limits, opt};

/// What is known of a kernel before there is machine code.
pub(crate) struct Middle {
    pub func: Func,
    pub geometry: Geometry,
    pub divergence: Divergence,
    /// How lanes lie in vectors.
    pub form: Form,
}

/// The middle form of a kernel after all passes, for vectors of the form `widest` or, where the kernel suits that
/// better, for those of Cranelift.
pub(crate) fn middle(
    program: &Program,
    block: [u32; 3],
    assumed: &Assumptions,
    options: Options,
    widest: Form,
) -> Result<Middle, Unsupported> {
    limits::frames(program)?;
    let mut func = build::build(program)?;
    limits::stacks(&func, block)?;
    func.fast_nan = options.fast_nan;
    func.fast_approx = options.fast_approx;
    func.watched = options.watched;
    // The block's shape is a constant of this code, and what launches of this version agree in.
    for i in &mut func.insts {
        let Op::Special(register) = i.op else { continue };
        let constant = match register {
            Sreg::NtidX => Some(u64::from(block[0])),
            Sreg::NtidY => Some(u64::from(block[1])),
            Sreg::NtidZ => Some(u64::from(block[2])),
            other => assumed.constant(other),
        };
        if let Some(constant) = constant {
            i.op = Op::Const(constant);
        }
    }
    opt::run(&mut func);
    if !opt::arrange(&mut func) {
        return Err(Unsupported::new("irregular control flow"));
    }
    limits::check(program, &func)?;
    func.waits = limits::waiting(program, &func)?;
    let (form, geometry) = limits::geometry(&func, block, assumed, widest);
    let mut divergence = divergence::analyse(&func, geometry, assumed);
    if opt::sink(&mut func, &divergence) {
        divergence = divergence::analyse(&func, geometry, assumed);
    }
    limits::check_divergence(program, &func, &divergence)?;
    Ok(Middle { func, geometry, divergence, form })
}
