//! Optimisation.

mod cfg;
mod contract;
mod dce;
mod gvn;
mod hoist;
mod if_convert;
mod licm;
mod promote;
mod ranges;
mod replace;
mod strength;
mod unroll;
mod vectorize;

use crate::Options;
use crate::ir::{Func, verify};

/// Rounds of a group of passes that feed each other.
const ROUNDS: usize = 6;

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
    for round in 0..ROUNDS {
        step(f, "gvn", &mut gvn::run);
        step(f, "ranges", &mut ranges::run);
        step(f, "dce", &mut dce::run);
        step(f, "cfg", &mut cfg::run);
        step(f, "if-convert", &mut if_convert::run);
        step(f, "cfg", &mut cfg::run);
        let mut changed = false;
        step(f, "unroll", &mut |f| changed = unroll::run(f));
        if changed {
            // Indices have become constants: arrays may now be variables.
            step(f, "cfg", &mut cfg::run);
            step(f, "gvn", &mut gvn::run);
            step(f, "promote", &mut promote::run);
        } else if round > 0 {
            break;
        }
    }
    step(f, "gvn", &mut gvn::run);
    step(f, "licm", &mut licm::run);
    step(f, "gvn", &mut gvn::run);
    step(f, "dce", &mut dce::run);
    step(f, "strength", &mut strength::run);
    step(f, "gvn", &mut gvn::run);
    step(f, "dce", &mut dce::run);
    step(f, "cfg", &mut cfg::run);
    for _ in 0..ROUNDS {
        let mut changed = false;
        step(f, "hoist", &mut |f| changed = hoist::run(f));
        if !changed {
            break;
        }
        step(f, "gvn", &mut gvn::run);
    }
    let fused = options.has_ieee_single();
    step(f, "contract", &mut |f| contract::run(f, fused));
    step(f, "vectorize", &mut vectorize::run);
    step(f, "dce", &mut dce::run);
    step(f, "cfg", &mut cfg::run);
}
