//! Findings as data; `tests/ptx/refused` has them as text.

#[test]
fn findings_are_data() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { adb.u32 %r1; }\n";
    let (_, diags) = ptx_parse::parse_and_verify(text, "k.ptx");
    let reporter = ptx_parse::Reporter::new("k.ptx", text);
    let data: Vec<_> = diags.iter().map(|d| reporter.locate(d)).collect();
    let json = serde_json::to_value(&data).expect("findings are data");
    assert_eq!(json[0]["file"], "k.ptx");
    assert_eq!(json[0]["start"]["line"], 4);
    assert_eq!(json[0]["start"]["column"], 14);
    assert_eq!(json[0]["code"], "unknown-opcode");
    assert_eq!(json[0]["severity"], "error");
    assert!(json[0]["help"][0].as_str().is_some_and(|h| h.contains("did you mean")));
}
