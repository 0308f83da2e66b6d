//! Any text ends in PTX or in diagnostics, and PTX that comes out is PTX.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opencl_frontend::{Options, compile};

fuzz_target!(|data: &[u8]| {
    let Some((&mode, text)) = data.split_first() else { return };
    let sm = [10, 13, 20, 35, 53, 70, 75, 90][usize::from(mode & 7)];
    let options = Options {
        sm,
        cl_std: [120, 120, 110, 100][usize::from(mode >> 3 & 3)],
        opt_disable: mode & 0x20 != 0,
        debug: mode & 0x40 != 0,
        fast_relaxed_math: mode & 0x80 != 0,
        // The disk is not part of the input.
        headers_only: true,
        headers: vec![("h.h".into(), "#include \"h.h\"\n".into())],
        ..Options::default()
    };
    match compile("fuzz.cl", &String::from_utf8_lossy(text), &options) {
        Ok(out) => {
            let (module, diags) = ptx_parse::parse_and_verify(&out.ptx, "fuzz.ptx");
            let errors: Vec<_> = diags.iter().filter(|d| d.is_error()).collect();
            assert!(module.is_some() && errors.is_empty(), "{errors:?}\n{}", out.ptx);
        }
        Err(failure) => {
            assert!(!failure.diags.is_empty());
            assert!(failure.diags.iter().all(|d| d.code.name() != "internal"), "{}", failure.rendered);
        }
    }
});
