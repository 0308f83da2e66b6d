//! The preprocessor: text to a flat list of tokens, each with the macro stack it came through.

mod condition;
mod directive;
mod expand;
mod lex;
mod predefined;
mod state;
pub mod unit;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::session::Session;
use state::Preprocessor;

pub use lex::{PpKind, PpTok};
pub use unit::{Unit, token_place};

/// Preprocesses `text`, named `name`.
pub fn preprocess(session: &mut Session, name: &str, text: &str) -> Unit {
    let first = session.first_constant;
    let first_constant = first.unwrap_or_else(|| predefined::intern_constants(&mut session.names));
    session.first_constant = Some(first_constant);
    let mut pp = Preprocessor {
        session,
        first_constant,
        macros: FxHashMap::default(),
        loaded: [false; predefined::CONSTANTS.len()],
        files: Vec::new(),
        frames: Vec::new(),
        once: FxHashSet::default(),
        opened: 0,
        produced: 0,
        pasted: 0,
        argument_depth: 0,
        counter: 0,
        stopped: false,
        unit: Unit::default(),
        pending: Vec::new(),
    };
    pp.define_predefined();
    pp.define_from_options();
    let directory = std::path::Path::new(name).parent().map(|p| p.to_path_buf());
    pp.open(name, text, directory);
    pp.run();
    pp.unit
}
