//! PTX text that parsed and verified, and what is to be said about text that did not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_interp::Kernel;
use ptx_parse::code::Refusal;
use ptx_parse::diag::{Diag, Reporter};
use ptx_parse::lower;
use ptx_parse::module::Module;

use crate::backend::Codes;

/// A verified module, independent of any device.
#[derive(Clone)]
pub struct Verified {
    module: Arc<Module>,
    warnings: Diagnostics,
    /// Kernels that were asked for, by function; every device that loads the module shares them.
    kernels: Arc<Mutex<HashMap<u32, Arc<Kernel>>>>,
    /// Compiled code of kernels, shared in the same way.
    pub(crate) codes: Arc<Codes>,
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
            Some(module) if findings.errors() == 0 => Ok(Verified {
                module: Arc::new(module),
                warnings: findings,
                kernels: Arc::default(),
                codes: Arc::default(),
            }),
            _ => Err(findings),
        }
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The kernel ready to run; lowered and decoded on first use.
    pub(crate) fn kernel(&self, name: &str) -> Option<Result<Arc<Kernel>, Refusal>> {
        let index = lower::entry_index(&self.module, name)?;
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&index) {
            return Some(Ok(Arc::clone(kernel)));
        }
        Some(lower::lower(&self.module, index).map(|program| {
            let kernel = Arc::new(Kernel::decode(Arc::new(program)));
            kernels.insert(index, Arc::clone(&kernel));
            kernel
        }))
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
