//! PTX text that parsed and verified, and what is to be said about text that did not.

use std::sync::Arc;

use ptx_parse::diag::{Diag, Reporter};
use ptx_parse::module::Module;

/// A verified module, independent of any device.
#[derive(Clone)]
pub struct Verified {
    module: Arc<Module>,
    warnings: Diagnostics,
}

/// Findings about one text, with what it takes to show them.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    name: Arc<str>,
    source: Arc<str>,
    diags: Vec<Diag>,
}

impl Verified {
    /// Parses and verifies.
    ///
    /// # Errors
    /// Every finding, if one of them is an error.
    pub fn new(text: &str, name: &str) -> Result<Verified, Diagnostics> {
        Verified::with(text, name, false)
    }

    /// As [`Verified::new`], and takes forms that are no PTX but that some generators write
    /// ([`ptx_isa::rows::lenient`]).
    ///
    /// # Errors
    /// Every finding, if one of them is an error.
    pub fn lenient(text: &str, name: &str) -> Result<Verified, Diagnostics> {
        Verified::with(text, name, true)
    }

    fn with(text: &str, name: &str, lenient: bool) -> Result<Verified, Diagnostics> {
        let (module, diags) = ptx_parse::parse_and_verify_with(text, name, lenient);
        let findings = Diagnostics { name: name.into(), source: text.into(), diags };
        match module {
            Some(module) if findings.errors() == 0 => {
                Ok(Verified { module: Arc::new(module), warnings: findings })
            }
            _ => Err(findings),
        }
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Findings that do not refuse the module.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
}

/// The text in canonical form.
///
/// # Errors
/// The findings, if the text does not parse.
pub fn format(text: &str, name: &str) -> Result<String, Diagnostics> {
    let (ast, diags) = ptx_parse::parse(text);
    if diags.iter().any(Diag::is_error) {
        return Err(Diagnostics { name: name.into(), source: text.into(), diags });
    }
    Ok(ptx_parse::print::print(&ast))
}

impl Diagnostics {
    /// The findings in the order of the text.
    pub fn diags(&self) -> &[Diag] {
        &self.diags
    }

    /// How many of them are errors.
    pub fn errors(&self) -> usize {
        self.diags.iter().filter(|d| d.is_error()).count()
    }

    /// All findings as text for people.
    pub fn render(&self, color: bool) -> String {
        let reporter = Reporter::new(&self.name, &self.source);
        self.diags
            .iter()
            .map(|d| if color { reporter.coloured(d) } else { reporter.plain(d) })
            .collect()
    }

    /// All findings as data: an array with file, place, code, severity, message, notes and help of each.
    pub fn to_json(&self) -> serde_json::Value {
        let reporter = Reporter::new(&self.name, &self.source);
        let located = self.diags.iter().map(|d| serde_json::to_value(reporter.locate(d)));
        located.map(|v| v.unwrap_or_default()).collect()
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}
