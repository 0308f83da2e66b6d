//! `.version`, `.target` and `.address_size` (PTX ISA 11.1).

use super::Verifier;
use crate::ast::{Directive, DirectiveKind, Item};
use crate::diag::{Code, closest};
use crate::span::Span;
use ptx_isa::types::{PtxVersion, Suffix, Target, ptx};

/// The newest version that is understood.
const NEWEST: PtxVersion = ptx(9, 5);

/// The last minor version of each major one, from 1 on (`ptxas --list-version` of CUDA 13.5).
const LAST_MINOR: [u8; 9] = [5, 3, 2, 3, 1, 5, 8, 8, NEWEST.minor];

/// Every version of PTX that there is.
pub fn versions() -> impl Iterator<Item = PtxVersion> {
    (1..).zip(LAST_MINOR).flat_map(|(major, last)| (0..=last).map(move |minor| ptx(major, minor)))
}

/// Targets from here on (those that ptxas 13 builds for) have no 32-bit addresses.
pub(super) const FIRST_WITHOUT_32: u16 = 75;

/// Architectures with the version that introduced each; then those of the `a` and `f` variants.
const TARGETS: &[(u16, PtxVersion, Option<PtxVersion>, Option<PtxVersion>)] = &[
    (10, ptx(1, 0), None, None),
    (11, ptx(1, 0), None, None),
    (12, ptx(1, 2), None, None),
    (13, ptx(1, 2), None, None),
    (20, ptx(2, 0), None, None),
    (21, ptx(2, 0), None, None),
    (30, ptx(3, 0), None, None),
    (32, ptx(4, 0), None, None),
    (35, ptx(3, 1), None, None),
    (37, ptx(4, 1), None, None),
    (50, ptx(4, 0), None, None),
    (52, ptx(4, 1), None, None),
    (53, ptx(4, 2), None, None),
    (60, ptx(5, 0), None, None),
    (61, ptx(5, 0), None, None),
    (62, ptx(5, 0), None, None),
    (70, ptx(6, 0), None, None),
    (72, ptx(6, 1), None, None),
    (75, ptx(6, 3), None, None),
    (80, ptx(7, 0), None, None),
    (86, ptx(7, 1), None, None),
    (87, ptx(7, 4), None, None),
    (88, ptx(9, 0), None, None),
    (89, ptx(7, 8), None, None),
    (90, ptx(7, 8), Some(ptx(8, 0)), None),
    (100, ptx(8, 6), Some(ptx(8, 6)), Some(ptx(8, 8))),
    (101, ptx(8, 6), Some(ptx(8, 6)), Some(ptx(8, 8))),
    (103, ptx(8, 8), Some(ptx(8, 8)), Some(ptx(8, 8))),
    (107, ptx(9, 4), Some(ptx(9, 4)), Some(ptx(9, 4))),
    (110, ptx(9, 0), Some(ptx(9, 0)), Some(ptx(9, 0))),
    (120, ptx(8, 7), Some(ptx(8, 7)), Some(ptx(8, 8))),
    (121, ptx(8, 8), Some(ptx(8, 8)), Some(ptx(8, 8))),
];

/// An architecture's name: number, suffix and first version.
fn architecture(word: &str) -> Option<(u16, Suffix, PtxVersion)> {
    let number = word.strip_prefix("sm_").or_else(|| word.strip_prefix("compute_"))?;
    let (digits, suffix) = match number.as_bytes().last()? {
        b'a' => (&number[..number.len() - 1], Suffix::Arch),
        b'f' => (&number[..number.len() - 1], Suffix::Family),
        _ => (number, Suffix::None),
    };
    let sm: u16 = digits.parse().ok()?;
    let (_, plain, arch, family) = TARGETS.iter().find(|t| t.0 == sm)?;
    let since = match suffix {
        Suffix::None => Some(*plain),
        Suffix::Arch => *arch,
        Suffix::Family => *family,
    };
    Some((sm, suffix, since?))
}

/// The target that `sm_NN` or `compute_NN` with an optional `a` or `f` names.
pub fn target_named(word: &str) -> Option<Target> {
    architecture(word).map(|(sm, suffix, _)| Target { suffix, ..Target::plain(sm) })
}

/// The targets that have 64-bit addresses only, which are those that today's ptxas builds for.
pub fn current_targets() -> impl Iterator<Item = Target> {
    TARGETS.iter().filter(|t| t.0 >= FIRST_WITHOUT_32).flat_map(|(sm, _, arch, family)| {
        let with = |suffix| Target { suffix, ..Target::plain(*sm) };
        let variants = [arch.map(|_| with(Suffix::Arch)), family.map(|_| with(Suffix::Family))];
        std::iter::once(with(Suffix::None)).chain(variants.into_iter().flatten())
    })
}

impl Verifier<'_> {
    /// Reads the header; whether there is one. Without it nothing can be said of what follows.
    pub(super) fn header(&mut self) -> bool {
        let ast = self.ast;
        let mut directives = ast.items.iter().map_while(|item| match item {
            Item::Directive(index) => Some(ast.directive(*index)),
            _ => None,
        });
        let start = Span::point(0);
        match directives.next() {
            Some(d) if d.kind == DirectiveKind::Version => self.version(d),
            _ => {
                self.error(Code::Version, start, "the module does not begin with `.version`")
                    .help("write `.version 8.0` and `.target sm_80` first");
                return false;
            }
        }
        let mut next = directives.next();
        if !next.is_some_and(|d| d.kind == DirectiveKind::Target) {
            self.error(Code::Target, start, "`.target` does not follow `.version`")
                .help("write `.target sm_80` after `.version`");
            return false;
        }
        // Of several the last one counts.
        while let Some(d) = next.filter(|d| d.kind == DirectiveKind::Target) {
            self.target(d);
            next = directives.next();
        }
        // Without the directive the registers used as addresses decide in the end.
        self.module.info.address_bits = if self.module.info.target.sm < 20 { 32 } else { 64 };
        if let Some(d) = next.filter(|d| d.kind == DirectiveKind::AddressSize) {
            self.address_size(d);
        }
        self.misplaced();
        true
    }

    /// Header directives further down.
    fn misplaced(&mut self) {
        let ast = self.ast;
        let kind = |item: &Item| match item {
            Item::Directive(index) => Some(ast.directive(*index).kind),
            _ => None,
        };
        let targets =
            ast.items.iter().skip(1).take_while(|i| kind(i) == Some(DirectiveKind::Target)).count();
        for (place, item) in ast.items.iter().enumerate() {
            let Item::Directive(index) = *item else { continue };
            let d = ast.directive(index);
            let expected = match d.kind {
                DirectiveKind::Version => 0..1,
                DirectiveKind::Target => 1..1 + targets,
                DirectiveKind::AddressSize => 1 + targets..2 + targets,
                _ => continue,
            };
            if !expected.contains(&place) && place > 0 {
                let name = ast.text(d.span).split_whitespace().next().unwrap_or("");
                let message = format!("misplaced `{name}`");
                self.error(Code::Directive, d.span, message).note(
                    "a module begins with `.version`, `.target` and `.address_size`, once each",
                );
            }
        }
    }

    fn version(&mut self, d: &Directive) {
        let ast = self.ast;
        let word = ast.words(d.words)[0];
        let text = self.text(word.name);
        let numbers =
            text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let Some((major, minor)) = numbers else {
            self.error(Code::Version, d.span, "a version has the form `major.minor`")
                .help("such as `.version 8.0`");
            return;
        };
        let version = ptx(major, minor);
        self.module.info.version = version;
        if !versions().any(|known| known == version) {
            let last = versions().take_while(|known| *known < version).last();
            let help = format!("the version before it is {}", last.unwrap_or(ptx(1, 0)));
            self.error(Code::Version, d.span, format!("PTX {version} is not known"))
                .note(format!("versions 1.0 to {NEWEST} are"))
                .help(help);
            self.module.info.version = NEWEST;
        }
    }

    fn target(&mut self, d: &Directive) {
        let ast = self.ast;
        let version = self.module.info.version;
        let mut target = Target::plain(0);
        let mut unified = false;
        for (place, word) in ast.words(d.words).iter().enumerate() {
            let text = self.text(word.name);
            let span = ast.word_span(*word);
            match text {
                "texmode_unified" => unified = true,
                "texmode_independent" => target.texmode_independent = true,
                "debug" => {
                    self.need(span, "`debug`", ptx(3, 0), 0);
                    self.debug = Some(span);
                    target.debug = true;
                }
                "map_f64_to_f32" => {
                    target.map_f64_to_f32 = true;
                    if target.sm >= 13 {
                        self.error(
                            Code::Target,
                            span,
                            "`map_f64_to_f32` is for targets before sm_13",
                        );
                    }
                }
                _ => match architecture(text) {
                    Some((sm, suffix, since)) if place == 0 => {
                        target.sm = sm;
                        target.suffix = suffix;
                        if version < since {
                            let message = format!("PTX {version} does not know `{text}`");
                            self.error(Code::Target, span, message)
                                .help(format!("`{text}` needs `.version {since}` or later"));
                        }
                    }
                    _ => self.unknown_target(text, span),
                },
            }
        }
        if unified && target.texmode_independent {
            self.error(Code::Target, d.span, "a module has one texture mode");
        }
        self.module.info.target = target;
    }

    #[cold]
    fn unknown_target(&mut self, text: &str, span: Span) {
        let names: Vec<String> = TARGETS.iter().map(|t| format!("sm_{}", t.0)).collect();
        let options = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];
        // An architecture that does not exist is close to the one below it.
        let number = text.strip_prefix("sm_").and_then(|n| n.parse::<u16>().ok());
        let below = number.and_then(|n| TARGETS.iter().rev().find(|t| t.0 <= n));
        let near = match below {
            Some(t) => Some(format!("sm_{}", t.0)),
            None => {
                closest(text, names.iter().map(String::as_str).chain(options)).map(str::to_owned)
            }
        };
        let diag = self.error(Code::Target, span, format!("unknown target `{text}`"));
        if let Some(near) = near {
            diag.help(format!("did you mean `{near}`?"));
        }
    }

    fn address_size(&mut self, d: &Directive) {
        let ast = self.ast;
        self.need(d.span, "`.address_size`", ptx(2, 3), 0);
        self.sized = true;
        match ast.ints(d.ints)[0] {
            32 => {
                self.module.info.address_bits = 32;
                if self.module.info.target.sm >= FIRST_WITHOUT_32 {
                    self.error(Code::Target, d.span, "this target has 64-bit addresses only")
                        .help("write `.address_size 64`");
                }
            }
            64 => self.module.info.address_bits = 64,
            _ => {
                self.module.info.address_bits = 64;
                self.error(Code::Directive, d.span, "addresses have 32 or 64 bits");
            }
        }
    }
}
