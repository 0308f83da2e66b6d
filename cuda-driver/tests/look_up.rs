//! `cuGetProcAddress` against the recorded rule: which symbol carries a name for which version.

use cuda_driver::api::{Found, entries, look_up};

/// name, `_ptsz`/`_ptds` or nothing, first version, symbol
fn rule() -> Option<Vec<(String, bool, u32, String)>> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/facts/cuda-clients/lookup-name-version-to-symbol.tsv"
    );
    let text = std::fs::read_to_string(path).ok()?;
    Some(
        text.lines()
            .skip(1)
            .filter_map(|line| {
                let mut f = line.split('\t');
                let (name, own, since, symbol) = (f.next()?, f.next()?, f.next()?, f.next()?);
                Some((name.into(), !own.is_empty(), since.parse().ok()?, symbol.into()))
            })
            .collect(),
    )
}

#[test]
fn every_entry_stands_in_the_recorded_rule() {
    let Some(rule) = rule() else {
        println!("skipped: no recorded rule beside the repository");
        return;
    };
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

#[test]
fn every_recorded_symbol_is_exported() {
    let Some(rule) = rule() else {
        println!("skipped: no recorded rule beside the repository");
        return;
    };
    let missing: Vec<_> =
        rule.iter().filter(|r| !entries().any(|e| e.symbol == r.3)).map(|r| &r.3).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
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
