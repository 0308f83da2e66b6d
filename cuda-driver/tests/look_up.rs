//! `cuGetProcAddress` against the recorded rule: which symbol carries a name for which version.

use cuda_driver::api::{Found, entries, look_up};

/// The recorded rule, in `../shared`.
const RULE: &str = "facts/cuda-clients/lookup-name-version-to-symbol.tsv";

/// name, `_ptsz`/`_ptds` or nothing, first version, symbol
fn rule() -> Vec<(String, bool, u32, String)> {
    let path = golden::need::shared_path(RULE);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let mut f = line.split('\t');
            let (name, own, since, symbol) = (f.next()?, f.next()?, f.next()?, f.next()?);
            Some((name.into(), !own.is_empty(), since.parse().ok()?, symbol.into()))
        })
        .collect()
}

fn every_entry_stands_in_the_recorded_rule() {
    let rule = rule();
    let mut wrong = Vec::new();
    for e in entries() {
        let known = rule.iter().any(|(name, own, since, symbol)| {
            (name, *own, *since, symbol)
                == (&e.name.to_owned(), e.per_thread, e.since, &e.symbol.to_owned())
        });
        if !known {
            let near: Vec<_> = rule.iter().filter(|r| r.3 == e.symbol).collect();
            wrong.push(format!("{} {} {} {near:?}", e.name, e.per_thread, e.symbol));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn every_recorded_symbol_is_exported() {
    let rule = rule();
    let missing: Vec<_> =
        rule.iter().filter(|r| !entries().any(|e| e.symbol == r.3)).map(|r| &r.3).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn the_version_picks_the_symbol() {
    let symbol = |name, version, own| match look_up(name, version, own) {
        Found::Symbol(e) => e.symbol,
        Found::Newer => "newer",
        Found::Nothing => "nothing",
    };
    assert_eq!(symbol("cuMemAlloc", 12000, false), "cuMemAlloc_v2");
    assert_eq!(symbol("cuCtxCreate", 12050, false), "cuCtxCreate_v4");
    assert_eq!(symbol("cuCtxCreate", 11050, false), "cuCtxCreate_v3");
    assert_eq!(symbol("cuEventElapsedTime", 12080, false), "cuEventElapsedTime_v2");
    assert_eq!(symbol("cuStreamGetCaptureInfo", 12030, false), "cuStreamGetCaptureInfo_v3");
    assert_eq!(symbol("cuGetProcAddress", 12000, false), "cuGetProcAddress_v2");
    assert_eq!(symbol("cuLaunchKernel", 12000, true), "cuLaunchKernel_ptsz");
    assert_eq!(symbol("cuInit", 12000, true), "cuInit");
    assert_eq!(symbol("cuLaunchKernelEx", 2000, false), "newer");
    assert_eq!(symbol("cuNope", 12000, false), "nothing");
}

golden::tests! {
    every_entry_stands_in_the_recorded_rule: shared(RULE),
    every_recorded_symbol_is_exported: shared(RULE),
    the_version_picks_the_symbol,
}
