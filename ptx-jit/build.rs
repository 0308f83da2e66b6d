//! A number that changes with the sources of this crate, for the cache. `ptx_parse::container::BUILD` is the one of the
//! crates that say what instructions mean.

#[path = "../ptx-parse/source_hash.rs"]
mod source_hash;

fn main() {
    source_hash::set("PTX_JIT_SOURCES", &["src"]);
}
