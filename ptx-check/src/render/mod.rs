//! Findings for readers and for programs.
//!
//! - [`text()`]: for people;
//! - [`json()`]: everything, with a version ([`VERSION`]);
//! - [`sanitizer()`]: the text of NVIDIA's compute-sanitizer, for tools that read that;
//! - [`sarif()`]: SARIF 2.1.0, which code hosts show beside the lines.

mod sanitizer;
mod sarif;
mod text;

use serde_json::{Value, json};

use crate::finding::Finding;

pub use sanitizer::sanitizer;
pub use sarif::sarif;
pub use text::text;

/// Version of the JSON form: it changes when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

/// Findings as one object: `version`, `findings`, `notes`.
pub fn json(findings: &[Finding], notes: &[String]) -> Value {
    let findings = serde_json::to_value(findings).unwrap_or_default();
    json!({"version": VERSION, "findings": findings, "notes": notes})
}

/// Findings of [`json()`].
///
/// # Errors
/// When the value is of another version or form.
pub fn from_json(value: &Value) -> Result<(Vec<Finding>, Vec<String>), String> {
    if value["version"] != VERSION {
        return Err(format!("version {} of reports, not {VERSION}", value["version"]));
    }
    let findings = serde_json::from_value(value["findings"].clone()).map_err(|e| e.to_string())?;
    let notes = serde_json::from_value(value["notes"].clone()).map_err(|e| e.to_string())?;
    Ok((findings, notes))
}

/// `(x, y, z)`.
fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

#[cfg(test)]
pub(crate) fn example() -> Finding {
    use crate::finding::{Check, Class, Site, Variable, Where};
    use ptx_interp::report::{CodePlace, Position};
    let site = |what: &str, line, thread| Site {
        what: what.into(),
        place: CodePlace {
            function: "k".into(),
            ptx: Position { file: "k.ptx".into(), line, column: 5 },
            source: Some(Position { file: "k.cu".into(), line: line / 2, column: 9 }),
            text: "st.shared.u32 [%r1], %r2;".into(),
        },
        block: [0, 0, 0],
        thread: [thread, 0, 0],
    };
    let message = "race: write and read of shared 0x10 (`tile`), and nothing orders them".into();
    let mut finding = Finding::new(Check::Race, Class::ReadWrite, "k", message);
    finding.sites = vec![site("write", 20, 3), site("read", 14, 40)];
    let variable = Some(Variable { name: "tile".into(), start: 0, size: 64 });
    finding.memory = Some(Where { space: "shared".into(), address: 16, bytes: 4, variable });
    finding.missing = Some("a barrier of the block between them".into());
    finding.count = 8;
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_goes_around() {
        let all = vec![example()];
        let value = json(&all, &["a note".into()]);
        assert_eq!(from_json(&value), Ok((all, vec!["a note".to_owned()])));
        assert!(from_json(&json!({"version": 0})).is_err());
    }

    #[test]
    fn every_form_names_both_accesses() {
        let all = [example()];
        let page = text(&all, &[]);
        for part in
            ["k.ptx:20:5", "k.ptx:14:5", "k.cu:10:9", "(40, 0, 0)", "seen 8 times", "barrier"]
        {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
        let page = sanitizer(&all, usize::MAX);
        for part in ["========= Error: Race reported", "k.cu:10", "k.cu:7", "1 error"] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
        let page = sarif(&all);
        assert_eq!(page["runs"][0]["results"][0]["ruleId"], "race/read-write");
        let related = &page["runs"][0]["results"][0]["relatedLocations"][0];
        assert_eq!(related["physicalLocation"]["region"]["startLine"], 7);
    }
}
