//! The name and the symbol version by which programs of nvcc 13 ask for the library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(cuda12)");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.13");
        // Gives every exported symbol the version `libcudart.so.13`, which those programs require. Only GNU ld can.
        println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
        println!("cargo:rustc-cdylib-link-arg=-Wl,--default-symver");
    }
}
