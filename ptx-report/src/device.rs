//! `ptxrun devices`: the list of profiles, and one profile with the source of every number.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptx_timing::profile::{Kind, Profile};
use serde_json::{Map, Value, json};

use crate::number::significant;
use crate::text::{Paint, Table};

/// The list as a table, in the order given.
pub fn list(profiles: &[Profile], paint: Paint) -> String {
    let mut table = Table::new(&[
        "device",
        "cc",
        "chip",
        ">SMs",
        ">cores",
        ">SM MHz",
        ">GB/s",
        ">GFLOP/s",
        ">KiB shared",
        ">regs",
        ">warps",
    ]);
    for p in profiles {
        table.row([
            p.name.as_str().into(),
            p.device.compute_capability.to_string().into(),
            p.device.chip.as_str().into(),
            p.device.multiprocessors.to_string().into(),
            (p.device.multiprocessors * p.device.cores_per_multiprocessor).to_string().into(),
            significant(p.clock.sm_mhz).into(),
            significant(p.dram.bandwidth_gbps).into(),
            significant(p.peak_f32_gflops()).into(),
            significant(f64::from(p.limits.shared_bytes_per_sm) / 1024.0).into(),
            significant(f64::from(p.limits.registers_per_sm)).into(),
            p.limits.max_warps_per_sm.to_string().into(),
        ]);
    }
    table.render(paint)
}

/// The list as JSON.
pub fn list_json(profiles: &[Profile]) -> Value {
    profiles
        .iter()
        .map(|p| {
            json!({
                "name": p.name,
                "aliases": p.aliases,
                "compute_capability": p.device.compute_capability.to_string(),
                "chip": p.device.chip,
                "gpus": p.device.gpus,
                "multiprocessors": p.device.multiprocessors,
                "cores": p.device.multiprocessors * p.device.cores_per_multiprocessor,
                "sm_mhz": p.clock.sm_mhz,
                "dram_gbps": p.dram.bandwidth_gbps,
                "peak_f32_gflops": p.peak_f32_gflops(),
            })
        })
        .collect()
}

/// One profile as TOML with the source of every number as a comment.
pub fn show(p: &Profile, paint: Paint) -> String {
    let mut out = String::new();
    let Value::Object(top) = value(p) else { return out };
    let mut sections: Vec<(String, &Map<String, Value>)> = Vec::new();
    let mut plain = Vec::new();
    for (key, value) in &top {
        match value {
            Value::Object(table) => sections.push((key.clone(), table)),
            Value::Null => {}
            Value::Array(a) if a.is_empty() => {}
            Value::String(s) if s.is_empty() => {}
            other => plain.push((key.as_str(), other)),
        }
    }
    // The name first, then what is said about it.
    plain.sort_by_key(|(key, _)| *key != "name");
    for (key, value) in plain {
        let _ = writeln!(out, "{key} = {}", toml(value));
    }
    if let (count @ 1.., all) = assumed(p) {
        let note = format!(
            "# {count} of {all} numbers were given for another compute capability: assumed"
        );
        let _ = writeln!(out, "{}", paint.dim(&note));
    }
    let mut i = 0;
    while i < sections.len() {
        let (path, table) = sections[i].clone();
        i += 1;
        // Tables of one line per entry read better than a heading for each.
        let inline = matches!(path.as_str(), "class" | "pipes");
        let mut nested = Vec::new();
        let mut lines = Vec::new();
        for (key, value) in table {
            let full = format!("{path}.{key}");
            match value {
                Value::Object(inner) if !inline => nested.push((full, inner)),
                Value::Null => {}
                Value::Object(_) => lines.push((key, value, source(p, &full))),
                _ => lines.push((key, value, source(p, &full))),
            }
        }
        // What most lines share is said once, at the heading.
        let common = most_common(lines.iter().filter_map(|(_, _, source)| source.as_deref()));
        let heading = paint.bold(&format!("[{path}]"));
        let _ = match &common {
            Some(text) => writeln!(out, "\n{heading}  {}", paint.dim(&format!("# {text}"))),
            None => writeln!(out, "\n{heading}"),
        };
        let texts: Vec<String> =
            lines.iter().map(|(key, value, _)| format!("{key} = {}", toml(value))).collect();
        let own = |source: &Option<String>| source.is_some() && *source != common;
        let wide = texts.iter().zip(&lines).filter(|(_, (_, _, source))| own(source));
        let width = wide.map(|(t, _)| t.chars().count()).max().unwrap_or(0).min(72);
        for (text, (_, _, source)) in texts.iter().zip(&lines) {
            let line = match source {
                Some(source) if own(&Some(source.clone())) => {
                    format!("{text:width$}  {}", paint.dim(&format!("# {source}")))
                }
                _ => text.clone(),
            };
            let _ = writeln!(out, "{line}");
        }
        for (offset, section) in nested.into_iter().enumerate() {
            sections.insert(i + offset, section);
        }
    }
    out
}

/// One profile as JSON, with a `sources` object by dotted key.
pub fn show_json(p: &Profile) -> Value {
    let mut out = value(p);
    let sources = p
        .sources
        .iter()
        .map(|(key, s)| {
            (key.clone(), {
                let assumed = s.assumed_from.map(|cc| cc.to_string());
                json!({"file": s.file, "text": s.text, "assumed_from": assumed})
            })
        })
        .collect();
    out["sources"] = Value::Object(sources);
    let (assumed, all) = assumed(p);
    out["assumed"] = json!({"numbers": assumed, "of": all});
    out["peak_f32_gflops"] = p.peak_f32_gflops().into();
    out
}

fn value(p: &Profile) -> Value {
    // A profile is plain data: strings, numbers, lists and tables with string keys.
    serde_json::to_value(p).unwrap_or_default()
}

/// The source of a key, or of the first number in the table under it; the class default's file is
/// named, because the number is then not the device's own.
fn source(p: &Profile, key: &str) -> Option<String> {
    let inner = format!("{key}.");
    let source = p.source_of(key).or_else(|| {
        p.sources.iter().find(|(k, _)| k.starts_with(&inner)).map(|(_, source)| source)
    })?;
    let file = source.file.rsplit(['/', '\\']).next().unwrap_or_default();
    let inherited = p.kind == Kind::Device && source.file.contains("classes/");
    let from =
        if inherited { format!(" ({})", file.trim_end_matches(".toml")) } else { String::new() };
    let assumed = match source.assumed_from {
        Some(cc) => format!("assumed, as of {cc}: "),
        None => String::new(),
    };
    Some(format!("{assumed}{}{from}", source.text))
}

/// How many of a profile's numbers were given for another compute capability, and how many there are.
fn assumed(p: &Profile) -> (usize, usize) {
    (p.sources.values().filter(|s| s.assumed_from.is_some()).count(), p.sources.len())
}

/// The text that most have, if any has it more than once or it is the only one.
fn most_common<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    let (text, n) = counts.iter().max_by_key(|c| c.1)?;
    (*n > 1 || counts.len() == 1).then(|| (*text).to_owned())
}

fn toml(value: &Value) -> String {
    match value {
        Value::Array(a) => format!("[{}]", a.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => {
            let entries = table.iter().filter(|(_, v)| !v.is_null());
            let entries: Vec<String> = entries.map(|(k, v)| format!("{k} = {}", toml(v))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Number(n) => match n.as_f64() {
            Some(x) if n.is_f64() && x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
            _ => n.to_string(),
        },
        other => other.to_string(),
    }
}
