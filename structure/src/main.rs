//! Prints the numbers of the workspace in the current folder: `cargo run -p structure [CRATE…]`. The same as
//! `cargo xtask structure`, without building the product.

use std::path::Path;

fn main() -> anyhow::Result<()> {
    let crates: Vec<String> = std::env::args().skip(1).collect();
    structure::print(Path::new("Cargo.toml"), &crates)
}
