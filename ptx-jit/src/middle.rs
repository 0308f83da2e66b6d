//! A kernel before there is machine code.

use ptx_isa::special::Sreg;
use ptx_parse::code::Program;

use crate::decided::decide;
use crate::divergence::{self, Divergence};
use crate::form::Form;
use crate::geometry::Geometry;
use crate::ir::{Func, Op};
use crate::options::{Options, Watched};
use crate::range::Assumptions;
use crate::uniform_loads::uniform_loads_first;
use crate::unsupported::Unsupported;
use crate::{build, limits, meet, opt};

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
    decide(&mut func, &assumed.fixed);
    opt::run(&mut func);
    // Below sm_70 lanes of a warp go one way after the other. A watcher takes every meeting for a barrier of the block.
    let may_meet =
        options.meets && options.watched == Watched::Nothing && program.info.target.sm >= 70;
    if !may_meet {
        return together(program, func, block, assumed, widest);
    }
    let alone = func.clone();
    together(program, func, block, assumed, widest)
        .or_else(|_| one_by_one(program, alone, block, assumed))
}

/// Lanes run together, in vectors where that pays.
fn together(
    program: &Program,
    mut func: Func,
    block: [u32; 3],
    assumed: &Assumptions,
    widest: Form,
) -> Result<Middle, Unsupported> {
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
    if form == Form::AVX512 && func.watched == Watched::Nothing {
        uniform_loads_first(&mut func, &divergence);
    }
    Ok(Middle { func, geometry, divergence, form })
}

/// Threads run one by one and meet where they do something together.
fn one_by_one(
    program: &Program,
    mut func: Func,
    block: [u32; 3],
    assumed: &Assumptions,
) -> Result<Middle, Unsupported> {
    func.alone = true;
    limits::check_alone(program, &func)?;
    meet::split(&mut func);
    let regular = opt::arrange(&mut func);
    func.waits = limits::waiting_alone(&func, regular);
    let (form, geometry) = limits::geometry(&func, block, assumed, Form::CRANELIFT);
    let divergence = divergence::analyse(&func, geometry, assumed);
    Ok(Middle { func, geometry, divergence, form })
}
