//! What the stages of one compilation share: options, names, sources, and what has been reported.

use rustc_hash::FxHashSet;

use crate::diag::{Code, Diag, Severity};
use crate::options::Options;
use crate::preprocess::unit::Unit;
use crate::source::{SourceMap, Span};
use crate::symbol::{Interner, Symbol};

/// State that all stages of one compilation share.
pub struct Session {
    /// Options.
    pub options: Options,
    /// Interned strings.
    pub names: Interner,
    /// Files and macro expansions.
    pub map: SourceMap,
    /// What has been reported.
    pub diags: Vec<Diag>,
    /// Names that a declaration with a syntax error would have declared: what uses them is not to blame.
    pub(crate) failed_names: FxHashSet<Symbol>,
    errors: usize,
    /// The first of the symbols of the macros that are always defined, once the preprocessor has made them.
    pub(crate) first_constant: Option<Symbol>,
}

/// Errors after which compilation gives up.
const MAX_ERRORS: usize = 50;

impl Session {
    /// A fresh session.
    pub fn new(options: Options) -> Session {
        Session {
            first_constant: None,
            options,
            names: Interner::default(),
            map: SourceMap::default(),
            diags: Vec::new(),
            failed_names: FxHashSet::default(),
            errors: 0,
        }
    }

    /// Files a diagnostic; warnings that are switched off are dropped.
    pub fn report(&mut self, mut diag: Diag) {
        if diag.severity == Severity::Warning {
            if self.options.no_warnings
                || self.options.disabled_warnings.iter().any(|w| w == diag.code.name())
            {
                return;
            }
            if self.options.warnings_as_errors {
                diag.severity = Severity::Error;
            }
        }
        if diag.severity == Severity::Error {
            self.errors += 1;
            if self.errors > MAX_ERRORS {
                return;
            }
            if self.errors == MAX_ERRORS {
                self.diags.push(diag);
                self.diags.push(Diag::error(Code::Limit, "too many errors, giving up"));
                return;
            }
        }
        // One macro can make the same mistake at one place many times.
        if self.diags.last() != Some(&diag) {
            self.diags.push(diag);
        }
    }

    /// Files a diagnostic about a range of tokens.
    pub fn report_at(&mut self, diag: Diag, unit: &Unit, span: Span) {
        let diag = self.place(diag, unit, span);
        self.report(diag);
    }

    /// Puts a diagnostic at a range of tokens.
    pub fn place(&self, diag: Diag, unit: &Unit, span: Span) -> Diag {
        let (Some(first), Some(last)) =
            (unit.tokens.get(span.first as usize), unit.tokens.get(span.last as usize))
        else {
            return diag;
        };
        let mut whole = first.span();
        if first.expansion == last.expansion && last.span().hi >= whole.hi {
            let same_file = self.map.file_of(whole.lo) == self.map.file_of(last.pos);
            if same_file {
                whole.hi = last.span().hi;
            }
        }
        diag.at_expanded(whole, first.expansion, &self.map, &self.names)
    }

    /// True once an error has been reported.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// True once no more errors are wanted.
    pub fn too_many_errors(&self) -> bool {
        self.errors >= MAX_ERRORS
    }
}
