//! Generates the parser from `src/grammar.lalrpop`, and a number that changes with everything that a verified module
//! depends on, for containers and caches: the sources of this crate and of the instruction table.

mod source_hash;

fn main() {
    source_hash::set("PTX_PARSE_SOURCES", &["src", "../ptx-isa/src"]);
    lalrpop::Configuration::new()
        .use_cargo_dir_conventions()
        .process()
        .expect("src/grammar.lalrpop is a valid LR(1) grammar");
}
