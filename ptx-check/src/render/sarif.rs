//! SARIF 2.1.0 (OASIS): results with their places, for code hosts and editors.

use serde_json::{Value, json};

use crate::finding::{Finding, Site};

/// Findings as one SARIF run.
pub fn sarif(findings: &[Finding]) -> Value {
    let mut rules: Vec<String> = findings.iter().map(rule).collect();
    rules.sort();
    rules.dedup();
    let rules: Vec<Value> = rules.iter().map(|id| json!({"id": id})).collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "ptxrun",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://github.com/ptxrun/ptxrun",
                "rules": rules,
            }},
            "results": results,
        }],
    })
}

fn rule(f: &Finding) -> String {
    format!("{}/{}", f.check.name(), f.class.name())
}

fn result(f: &Finding) -> Value {
    let message = match &f.missing {
        Some(missing) => format!("{} Missing: {missing}.", f.message),
        None => f.message.clone(),
    };
    let places: Vec<Value> = f.sites.iter().enumerate().map(|(n, s)| location(n, s)).collect();
    let (first, others) = places.split_at(places.len().min(1));
    json!({
        "ruleId": rule(f),
        "level": "error",
        "message": {"text": message},
        "locations": first,
        "relatedLocations": others,
        "occurrenceCount": f.count,
    })
}

fn location(id: usize, site: &Site) -> Value {
    let p = site.place.source.as_ref().unwrap_or(&site.place.ptx);
    let mut region = json!({"startLine": p.line.max(1)});
    if p.column > 0 {
        region["startColumn"] = p.column.into();
    }
    json!({
        "id": id,
        "physicalLocation": {"artifactLocation": {"uri": p.file}, "region": region},
        "logicalLocations": [{"name": site.place.function, "kind": "function"}],
        "message": {"text": format!(
            "{} by thread {:?} of block {:?}", site.what, site.thread, site.block
        )},
    })
}
