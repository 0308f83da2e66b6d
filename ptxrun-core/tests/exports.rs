//! The library exports the documented names and no others, and needs nothing but glibc and libgcc: what `cargo xtask
//! dist` refuses to ship is refused here, in the build of the tests.

use std::path::Path;
use std::process::Command;

fn only_documented_names_are_exported() {
    let test = std::env::current_exe().unwrap();
    let places = test.ancestors().skip(1).take(2).map(|f| f.join("libptxrun_core.so"));
    let core =
        places.into_iter().find(|f| f.is_file()).expect("the library is built with its tests");
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/dist.py");
    let out = Command::new("python3").arg(judge).arg("--judge").arg(core).output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && told.contains("nothing against it"), "{told}");
}

golden::tests! {
    only_documented_names_are_exported: program(&["python3", "-c", "import tomllib"]),
}
