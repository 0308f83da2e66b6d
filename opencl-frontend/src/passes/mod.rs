//! Optimisation.

mod agree;
mod beside;
mod cfg;
mod compact;
mod contract;
mod dce;
mod definitions;
mod gvn;
mod hoist;
mod if_convert;
mod known;
mod licm;
mod promote;
mod ranges;
mod replace;
mod strength;
mod unroll;
mod vectorize;

pub use beside::optimize_each;

use crate::ir::{Func, verify};
use crate::options::Options;

/// Rounds of a group of passes that feed each other.
const ROUNDS: usize = 6;

/// The passes that run several times.
#[derive(Clone, Copy)]
enum Pass {
    Cfg,
    Gvn,
    Ranges,
    Dce,
    IfConvert,
    Unroll,
    Promote,
    Hoist,
}

struct Optimizer<'f> {
    f: &'f mut Func,
    /// Counts changes.
    version: u32,
    /// The version that each pass has nothing to do on: it is left out until another one changes something.
    clean: [Option<u32>; Pass::Hoist as usize + 1],
}

impl Optimizer<'_> {
    /// Runs a pass, which says whether it changed anything.
    fn step(&mut self, name: &str, pass: impl FnOnce(&mut Func) -> bool) -> bool {
        let changed = pass(self.f);
        self.version += u32::from(changed);
        if cfg!(debug_assertions)
            && let Err(problem) = verify::verify(self.f)
        {
            panic!("after {name}: {problem}\n{}", crate::ir::print::print(self.f));
        }
        changed
    }

    fn run(&mut self, pass: Pass) -> bool {
        if self.clean[pass as usize] == Some(self.version) {
            return false;
        }
        let changed = match pass {
            Pass::Cfg => self.step("cfg", cfg::run),
            Pass::Gvn => self.step("gvn", gvn::run),
            Pass::Ranges => self.step("ranges", ranges::run),
            Pass::Dce => self.step("dce", dce::run),
            Pass::IfConvert => self.step("if-convert", if_convert::run),
            Pass::Unroll => {
                self.step("preheaders", licm::insert_preheaders);
                self.step("unroll", unroll::run)
            }
            Pass::Promote => self.step("promote", promote::run),
            Pass::Hoist => self.step("hoist", hoist::run),
        };
        // These two go on until nothing is left.
        if !changed || matches!(pass, Pass::Cfg | Pass::IfConvert) {
            self.clean[pass as usize] = Some(self.version);
        }
        changed
    }

    fn run_all(&mut self, passes: &[Pass]) {
        for pass in passes {
            self.run(*pass);
        }
    }
}

/// Runs all passes on a kernel. Where debuggers are told of it, statements and variables stay as they are.
pub fn optimize(f: &mut Func, options: &Options) {
    if f.debug.is_some() {
        agree::optimize(f, options);
    } else {
        improve(f, options, &mut Vec::new());
    }
}

/// Runs all passes. Locations of sums and products that were fused are appended to `pairs`.
fn improve(f: &mut Func, options: &Options, pairs: &mut Vec<(u32, u32)>) {
    use Pass::*;
    let mut o = Optimizer { f, version: 0, clean: Default::default() };
    o.run_all(&[Cfg, Promote]);
    if options.opt_disable {
        o.step("dce", dce::run_without_loads);
        o.run(Cfg);
        return;
    }
    for round in 0..ROUNDS {
        o.run_all(&[Gvn, Ranges, Dce, Cfg, IfConvert, Cfg]);
        if o.run(Unroll) {
            // Indices have become constants: arrays may now be variables.
            o.run_all(&[Cfg, Gvn, Promote]);
        } else if round > 0 {
            break;
        }
    }
    o.run(Gvn);
    o.step("licm", licm::run);
    o.run_all(&[Gvn, Dce]);
    o.step("strength", strength::run);
    o.run_all(&[Gvn, Dce, Cfg]);
    for _ in 0..ROUNDS {
        if !o.run(Hoist) {
            break;
        }
        o.run(Gvn);
    }
    let fused = options.has_ieee_single();
    o.step("contract", |f| contract::run(f, fused, pairs));
    o.step("vectorize", vectorize::run);
    o.run_all(&[Dce, Cfg]);
}
