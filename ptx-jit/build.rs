//! A number that changes with the sources of this crate, for the cache. `ptx_parse::container::BUILD` is the one of the
//! crates that say what instructions mean. And whether this processor can run the tests of code with vectors of 256 and
//! 512 bits.

#[path = "../ptx-parse/source_hash.rs"]
mod source_hash;

#[allow(dead_code)]
#[path = "src/processor.rs"]
mod processor;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(runs_256_bit_code, runs_512_bit_code)");
    // This script asks the processor that it runs on. Code for another one may not run here at all.
    let same = std::env::var("TARGET") == std::env::var("HOST");
    if same && processor::runs_256_bit_code() {
        println!("cargo::rustc-cfg=runs_256_bit_code");
    }
    if same && processor::runs_512_bit_code() {
        println!("cargo::rustc-cfg=runs_512_bit_code");
    }
    source_hash::set("PTX_JIT_SOURCES", &["src"]);
}
