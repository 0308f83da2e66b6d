//! Optimisation.

mod cfg;
mod contract;
mod dce;
mod gvn;
mod if_convert;
mod licm;
mod promote;
mod replace;
mod unroll;
mod vectorize;

use crate::Options;
use crate::ir::{Func, verify};

/// Runs all passes on a kernel.
pub fn optimize(f: &mut Func, options: &Options) {
    let step = |f: &mut Func, name: &str, pass: &mut dyn FnMut(&mut Func)| {
        pass(f);
        if cfg!(debug_assertions)
            && let Err(problem) = verify::verify(f)
        {
            panic!("after {name}: {problem}\n{}", crate::ir::print::print(f));
        }
    };
    step(f, "cfg", &mut cfg::run);
    if options.opt_disable {
        step(f, "promote", &mut promote::run);
        step(f, "dce", &mut dce::run);
        step(f, "cfg", &mut cfg::run);
        return;
    }
    step(f, "promote", &mut promote::run);
    for round in 0..3 {
        step(f, "gvn", &mut gvn::run);
        step(f, "dce", &mut dce::run);
        step(f, "cfg", &mut cfg::run);
        step(f, "if-convert", &mut if_convert::run);
        step(f, "cfg", &mut cfg::run);
        let mut changed = false;
        step(f, "unroll", &mut |f| changed = unroll::run(f));
        if changed {
            step(f, "cfg", &mut cfg::run);
            step(f, "promote", &mut promote::run);
        } else if round > 0 {
            break;
        }
    }
    step(f, "gvn", &mut gvn::run);
    step(f, "licm", &mut licm::run);
    step(f, "gvn", &mut gvn::run);
    step(f, "dce", &mut dce::run);
    step(f, "cfg", &mut cfg::run);
    let fused = options.has_ieee_single();
    step(f, "contract", &mut |f| contract::run(f, fused));
    step(f, "vectorize", &mut vectorize::run);
    step(f, "dce", &mut dce::run);
    step(f, "cfg", &mut cfg::run);
}
