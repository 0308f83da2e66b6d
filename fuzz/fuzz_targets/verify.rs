//! Any text: the verifier never panics, also on trees with gaps; a module
//! without findings can be lowered or is refused by name.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (ast, diags) = ptx_parse::parse(&text);
    let (module, more) = ptx_parse::verify::verify(&ast, "fuzz");
    let reporter = ptx_parse::Reporter::new("fuzz", &text);
    for d in &more {
        assert!(!reporter.plain(d).is_empty());
    }
    if let Some(module) = module.filter(|_| diags.is_empty()) {
        for (id, f) in module.functions.iter().enumerate() {
            if f.entry && f.body.is_some() {
                let _ = ptx_parse::lower::lower(&module, id as u32);
            }
        }
    }
});
