//! Directives in the heads of functions and entries (PTX ISA 11.4, 11.5, 11.8).

use super::Verifier;
use crate::ast::{self, FnAttr, FnKind};
use crate::diag::{Code, Diag};
use crate::module::Tuning;
use crate::span::Span;
use ptx_isa::types::{PtxVersion, ptx};

/// A head's directives: name, least and most integers, floors, for entries, for functions.
type HeadRule = (&'static str, usize, usize, PtxVersion, u16, bool, bool);

/// Those whose numbers are greater than 0.
const POSITIVE: &[&str] = &[".maxnreg", ".maxntid", ".reqntid", ".minnctapersm"];

/// Those that ended, with the first version without them and what to write.
const ENDED: &[(&str, PtxVersion, &str)] =
    &[(".maxnctapersm", ptx(2, 1), "write `.minnctapersm`, or bound the threads by `.maxntid`")];

/// What each directive takes, and where it may stand.
const HEAD: &[HeadRule] = &[
    (".maxnreg", 1, 1, ptx(1, 3), 0, true, false),
    (".maxntid", 1, 3, ptx(1, 3), 0, true, false),
    (".reqntid", 1, 3, ptx(2, 1), 0, true, false),
    (".minnctapersm", 1, 1, ptx(2, 0), 0, true, false),
    (".maxnctapersm", 1, 1, ptx(1, 3), 0, true, false),
    (".noreturn", 0, 0, ptx(6, 4), 30, false, true),
    (".abi_preserve", 1, 1, ptx(9, 0), 80, false, true),
    (".abi_preserve_control", 1, 1, ptx(9, 0), 80, false, true),
    (".minperctamemory", 1, 1, ptx(9, 4), 80, true, false),
    (".reqnctapercluster", 1, 3, ptx(7, 8), 90, true, false),
    (".maxclusterrank", 1, 1, ptx(7, 8), 90, true, false),
    (".explicitcluster", 0, 0, ptx(7, 8), 90, true, false),
    (".blocksareclusters", 0, 0, ptx(9, 0), 90, true, false),
    (".language", 0, 0, ptx(9, 2), 0, true, true),
    (".pragma", 0, 0, ptx(2, 0), 0, true, true),
];

/// Names of source languages (PTX ISA 11.8.2).
const LANGUAGES: &[&str] = &[
    "unknown",
    "ptx",
    "nvvm",
    "cuda c++",
    "cuda c++ tile",
    "tile ir",
    "python-cutile",
    "fortran",
    "optix",
];

/// Pragmas that are younger than pragmas, by their first word.
const PRAGMAS: &[(&str, PtxVersion)] = &[
    ("used_bytes_mask", ptx(8, 3)),
    ("enable_smem_spilling", ptx(8, 7)),
    ("frequency", ptx(9, 0)),
    ("mma_throughput", ptx(9, 3)),
];

impl Verifier<'_> {
    /// A pragma in a function.
    pub(super) fn pragma(&mut self, span: Span, word: ast::Word) {
        let text = self.text(word.name);
        let first = text.trim_matches('"').split([' ', ':']).next().unwrap_or("");
        if let Some((name, since)) = PRAGMAS.iter().find(|(name, _)| *name == first) {
            self.need(span, &format!("pragma `{name}`"), *since, 0);
        }
    }

    /// The directives of a head; whether one says that the function never returns.
    pub(super) fn head_attrs(&mut self, f: &ast::Function) -> (Tuning, bool) {
        let ast = self.ast;
        let mut tuning = Tuning::default();
        let mut noreturn = false;
        let attrs = ast.attrs(f.attrs);
        let mut seen = Vec::new();
        for attr in attrs {
            let name = self.text(attr.name.name);
            let ints = ast.ints(attr.ints);
            self.head_rule(f, attr, name, ints);
            // There are few names, however often they stand here.
            let earlier = seen.contains(&attr.name.name);
            if !earlier {
                seen.push(attr.name.name);
            }
            if earlier && !matches!(name, ".pragma" | ".language") {
                let span = self.span_of(attr.name);
                let message = format!("`{name}` is given twice; the last one counts");
                self.diags.push(Diag::warning(Code::Directive, span, message));
            }
            let number = |i: usize| ints.get(i).map(|&n| u32::try_from(n).unwrap_or(u32::MAX));
            let one = number(0);
            let three = || {
                let at = |i: usize| number(i).unwrap_or(1);
                Some([at(0), at(1), at(2)])
            };
            match name {
                ".maxnreg" => tuning.max_nreg = one,
                ".maxntid" => tuning.max_ntid = three(),
                ".reqntid" => tuning.req_ntid = three(),
                ".minnctapersm" => tuning.min_ncta_per_sm = one,
                ".maxnctapersm" => tuning.max_ncta_per_sm = one,
                ".reqnctapercluster" => tuning.req_ncta_per_cluster = three(),
                ".maxclusterrank" => tuning.max_cluster_rank = one,
                ".explicitcluster" => tuning.explicit_cluster = true,
                ".noreturn" => noreturn = true,
                ".language" => self.languages(attr),
                _ => {}
            }
        }
        self.conflicts(f, attrs);
        (tuning, noreturn)
    }

    /// Checks a directive against its rule.
    fn head_rule(&mut self, f: &ast::Function, attr: &FnAttr, name: &str, ints: &[u64]) {
        let span = self.span_of(attr.name);
        let count = ints.len();
        if POSITIVE.contains(&name) && ints.contains(&0) {
            self.error(
                Code::Directive,
                span,
                format!("the numbers of `{name}` are greater than 0"),
            );
        }
        let ended = ENDED.iter().find(|(ended, ..)| *ended == name);
        if let Some((_, version, help)) = ended.filter(|e| self.module.info.version >= e.1) {
            self.error(Code::Directive, span, format!("`{name}` ended with PTX {version}"))
                .help(*help);
        }
        let Some(&(_, least, most, since, sm, entries, functions)) =
            HEAD.iter().find(|rule| rule.0 == name)
        else {
            return;
        };
        if !self.reaches(since, sm) {
            self.floor(span, &format!("`{name}`"), since, sm);
        }
        if count < least || count > most {
            let wanted = match (least, most) {
                (0, 0) => "no number".to_owned(),
                (1, 1) => "one number".to_owned(),
                _ => format!("{least} to {most} numbers"),
            };
            self.error(Code::Directive, span, format!("`{name}` takes {wanted}"));
        }
        let entry = f.kind == FnKind::Entry;
        if entry && !entries {
            self.error(Code::Directive, span, format!("`{name}` is for `.func`, not `.entry`"));
        }
        if !entry && !functions {
            self.error(Code::Directive, span, format!("`{name}` is for `.entry`, not `.func`"));
        }
    }

    /// Checks the names or numbers of `.language`.
    fn languages(&mut self, attr: &FnAttr) {
        let ast = self.ast;
        for word in ast.words(attr.words) {
            let text = self.text(word.name);
            let span = self.span_of(*word);
            let known = match text.strip_prefix('"') {
                Some(name) => {
                    LANGUAGES.contains(&name.trim_end_matches('"').to_ascii_lowercase().as_str())
                }
                None => {
                    let digits = text.strip_prefix("0x");
                    let n = digits.map_or_else(|| text.parse(), |d| u64::from_str_radix(d, 16));
                    n.is_ok_and(|n| n <= 10)
                }
            };
            if !known {
                self.error(Code::Directive, span, format!("unknown language {text}"))
                    .note(format!("known are {}", LANGUAGES.join(", ")));
            }
        }
    }

    /// Checks directives against each other.
    fn conflicts(&mut self, f: &ast::Function, attrs: &[FnAttr]) {
        let ast = self.ast;
        let has = |name: &str| attrs.iter().any(|a| ast.name(a.name.name) == name);
        let span = self.span_of(f.name);
        for (a, b) in [(".maxntid", ".reqntid"), (".reqnctapercluster", ".maxclusterrank")] {
            if has(a) && has(b) {
                self.error(Code::Directive, span, format!("`{a}` and `{b}` exclude each other"));
            }
        }
        if has(".blocksareclusters") && !(has(".reqntid") && has(".reqnctapercluster")) {
            self.error(
                Code::Directive,
                span,
                "`.blocksareclusters` needs `.reqntid` and `.reqnctapercluster`",
            );
        }
        if has(".minnctapersm") && !has(".maxntid") && !has(".reqntid") {
            self.diags.push(Diag::warning(
                Code::Directive,
                span,
                "`.minnctapersm` has no effect without `.maxntid` or `.reqntid`",
            ));
        }
    }
}
