//! Generates the parser from `src/grammar.lalrpop`.

fn main() {
    println!("cargo::rerun-if-changed=src/grammar.lalrpop");
    lalrpop::Configuration::new()
        .use_cargo_dir_conventions()
        .process()
        .expect("src/grammar.lalrpop is a valid LR(1) grammar");
}
