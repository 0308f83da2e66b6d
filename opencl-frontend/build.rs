//! Generates the parser from its grammar.

fn main() {
    lalrpop::process_src().expect("the grammar is well-formed");
}
