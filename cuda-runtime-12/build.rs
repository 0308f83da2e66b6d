//! The interface of CUDA 12, and the name and the symbol version by which programs of nvcc 12 ask for the library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(cuda12)");
    println!("cargo:rustc-cfg=cuda12");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.12");
        // As in cuda-runtime.
        println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
        println!("cargo:rustc-cdylib-link-arg=-Wl,--default-symver");
    }
}
