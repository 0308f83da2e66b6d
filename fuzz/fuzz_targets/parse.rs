//! Any text: lexer and parser never panic, findings can be shown, and a text
//! without findings keeps its tree through the printer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (ast, diags) = ptx_parse::parse(&text);
    let reporter = ptx_parse::Reporter::new("fuzz", &text);
    for d in &diags {
        assert!(!reporter.plain(d).is_empty());
    }
    if diags.is_empty() {
        let (by_grammar, found) = ptx_parse::parse_by_grammar(&text);
        assert!(found.is_empty(), "the fast lane takes what the grammar refuses");
        assert_eq!(ast.difference(&by_grammar), None);
        let printed = ptx_parse::print::print(&ast);
        let (again, diags) = ptx_parse::parse(&printed);
        assert!(diags.is_empty(), "{printed}");
        assert_eq!(ast.difference(&again), None, "{printed}");
    }
});
