//! The `ptxrun` command.
fn main() {}
