//! Links PTX texts into one (PTX ISA 11.6: linking directives).
//!
//! What `.visible`, `.weak`, `.common` and `.extern` say is resolved across the texts; a name that is
//! local to its text gets another one where it would meet a namesake. Debug sections are left out.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use ptx_isa::types::PtxVersion;

use crate::ast::{Ast, DeclSpace, DirectiveKind, FnAttr, FnKind, Item, Linkage};
use crate::diag::{Diag, Reporter};
use crate::names::Name;
use crate::print::print_item;

/// A text and the name that messages call it.
#[derive(Copy, Clone, Debug)]
pub struct Input<'a> {
    /// Name.
    pub name: &'a str,
    /// Text.
    pub text: &'a str,
}

/// Why texts do not link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A text does not parse.
    #[error("{0}")]
    Syntax(String),
    /// Two texts define a name.
    #[error("`{name}` is defined in `{first}` and in `{second}`")]
    Duplicate {
        /// The name.
        name: String,
        /// One text.
        first: String,
        /// The other.
        second: String,
    },
    /// Nobody defines a variable.
    #[error("`{name}`, which `{user}` declares `.extern`, is defined nowhere")]
    Undefined {
        /// The name.
        name: String,
        /// The text that needs it.
        user: String,
    },
    /// A name stands for different things.
    #[error("`{name}` is one thing in `{first}` and another in `{second}`")]
    Mismatch {
        /// The name.
        name: String,
        /// One text.
        first: String,
        /// The other.
        second: String,
    },
    /// Addresses of different sizes.
    #[error("`{first}` has {bits}-bit addresses, `{second}` has not")]
    AddressSize {
        /// One text.
        first: String,
        /// Its address size.
        bits: u64,
        /// The other.
        second: String,
    },
}

/// What one text says about a name.
#[derive(Copy, Clone)]
pub(crate) struct Mention {
    pub(crate) input: usize,
    pub(crate) item: usize,
    pub(crate) linkage: Linkage,
    /// Has a body, or is a variable that takes room.
    pub(crate) defines: bool,
    function: bool,
    pub(crate) entry: bool,
    shared: bool,
    bytes: u64,
}

/// Links texts; the result is the text of one module.
///
/// # Errors
/// Everything that keeps them from being linked.
pub fn link(inputs: &[Input<'_>]) -> Result<String, Vec<LinkError>> {
    let mut errors = Vec::new();
    let mut asts: Vec<Ast<'_>> = Vec::new();
    for input in inputs {
        let (ast, findings) = crate::parse(input.text);
        if findings.iter().any(Diag::is_error) {
            let reporter = Reporter::new(input.name, input.text);
            errors.push(LinkError::Syntax(findings.iter().map(|d| reporter.plain(d)).collect()));
        }
        asts.push(ast);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    rename_locals(&mut asts);
    let chosen = choose(inputs, &asts, &mut errors);
    let header = header(inputs, &asts, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let thunks = crate::thunk::thunks(&mut asts, &chosen);
    Ok(header + &thunks + &body(&mut asts, &chosen))
}

/// The name that an item declares, and how.
pub(crate) fn mention(ast: &Ast<'_>, input: usize, item: usize) -> Option<(Name, Mention)> {
    match ast.items[item] {
        Item::Var(index) => {
            let v = ast.var(index);
            let (function, entry) = (false, false);
            let dims = ast.ints(v.dims);
            let count = dims.iter().fold(u64::from(v.vector.max(1)), |n, d| n.saturating_mul(*d));
            let element = v.ty.map_or(1, |t| element_bytes(ast.name(t.name)));
            let mention = Mention {
                input,
                item,
                linkage: v.linkage,
                defines: v.linkage != Linkage::Extern,
                function,
                entry,
                shared: v.space == DeclSpace::Shared,
                bytes: count.saturating_mul(element),
            };
            // Registers at module scope belong to their text's functions.
            (v.space != DeclSpace::Reg).then_some((v.name.name, mention))
        }
        Item::Function(index) => {
            let f = ast.function(index);
            let entry = f.kind == FnKind::Entry;
            let mention = Mention {
                input,
                item,
                linkage: f.linkage,
                defines: f.body.is_some(),
                function: true,
                entry,
                shared: false,
                bytes: 0,
            };
            Some((f.name.name, mention))
        }
        _ => None,
    }
}

/// Bytes of a type such as `.u32`.
fn element_bytes(ty: &str) -> u64 {
    let bits: String = ty.chars().filter(char::is_ascii_digit).collect();
    bits.parse::<u64>().map_or(1, |n| n.div_ceil(8))
}

fn is_local(m: &Mention) -> bool {
    // Kernels are found by name from outside whatever is written.
    m.linkage == Linkage::None && !m.entry
}

/// Gives local names that other texts use too a name of their own.
fn rename_locals(asts: &mut [Ast<'_>]) {
    let mut used: HashMap<String, HashSet<usize>> = HashMap::new();
    for (i, ast) in asts.iter().enumerate() {
        for n in 0..ast.names().len() {
            used.entry(ast.name(Name(n as u32)).to_owned()).or_default().insert(i);
        }
    }
    for (i, ast) in asts.iter_mut().enumerate() {
        let mentions: Vec<_> =
            (0..ast.items.len()).filter_map(|item| mention(ast, i, item)).collect();
        // A definition decides: its declarations may leave the linkage out.
        let global: HashSet<Name> =
            mentions.iter().filter(|(_, m)| !is_local(m)).map(|(n, _)| *n).collect();
        let locals: HashSet<Name> =
            mentions.iter().map(|(n, _)| *n).filter(|n| !global.contains(n)).collect();
        for name in locals {
            let old = ast.name(name).to_owned();
            if used.get(&old).is_none_or(|inputs| inputs.len() < 2) {
                continue;
            }
            let fresh = (i..)
                .map(|n| format!("{old}$L{n}"))
                .find(|text| !used.contains_key(text))
                .unwrap_or_default();
            used.entry(fresh.clone()).or_default().insert(i);
            let src = ast.src.as_bytes();
            ast.names.rename(src, name, &fresh);
        }
    }
}

/// Which mention of each name defines it.
fn choose(
    inputs: &[Input<'_>],
    asts: &[Ast<'_>],
    errors: &mut Vec<LinkError>,
) -> HashMap<String, Mention> {
    let mut all: Vec<(String, Vec<Mention>)> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for (i, ast) in asts.iter().enumerate() {
        for (name, m) in (0..ast.items.len()).filter_map(|item| mention(ast, i, item)) {
            let text = ast.name(name).to_owned();
            let at = *index.entry(text.clone()).or_insert_with(|| {
                all.push((text, Vec::new()));
                all.len() - 1
            });
            all[at].1.push(m);
        }
    }
    let mut chosen = HashMap::new();
    for (name, mentions) in all {
        let file = |m: &Mention| inputs[m.input].name.to_owned();
        let first = mentions[0];
        if let Some(other) = mentions.iter().find(|m| m.function != first.function) {
            let (first, second) = (file(&first), file(other));
            errors.push(LinkError::Mismatch { name, first, second });
            continue;
        }
        let strong =
            |m: &&Mention| m.defines && !matches!(m.linkage, Linkage::Weak | Linkage::Common);
        let mut strongs = mentions.iter().filter(strong);
        let best = match (strongs.next(), strongs.find(|m| m.input != first.input)) {
            (Some(a), Some(b)) if a.input != b.input => {
                let (first, second) = (file(a), file(b));
                errors.push(LinkError::Duplicate { name, first, second });
                continue;
            }
            (Some(a), _) => Some(a),
            _ => mentions
                .iter()
                .find(|m| m.defines && m.linkage == Linkage::Weak)
                .or_else(|| mentions.iter().filter(|m| m.defines).max_by_key(|m| m.bytes)),
        };
        match best {
            Some(m) => {
                chosen.insert(name, *m);
            }
            // Dynamic shared memory is nobody's; functions that nobody defines may be the system's.
            None if first.function || first.shared => {
                let widest = mentions.iter().max_by_key(|m| m.bytes).unwrap_or(&first);
                let m = if first.shared { *widest } else { first };
                chosen.insert(name, m);
            }
            None => errors.push(LinkError::Undefined { name, user: file(&first) }),
        }
    }
    chosen
}

/// Version, target and address size that all texts can live with.
fn header(inputs: &[Input<'_>], asts: &[Ast<'_>], errors: &mut Vec<LinkError>) -> String {
    let mut version: Option<PtxVersion> = None;
    let mut target: Option<((u32, bool), String)> = None;
    let mut size: Option<(u64, usize)> = None;
    for (i, ast) in asts.iter().enumerate() {
        for item in &ast.items {
            let Item::Directive(index) = *item else { continue };
            let d = ast.directive(index);
            let words: Vec<&str> = ast.words(d.words).iter().map(|w| ast.name(w.name)).collect();
            match d.kind {
                DirectiveKind::Version => {
                    let parsed = words.first().and_then(|w| {
                        let (major, minor) = w.split_once('.')?;
                        Some(ptx_isa::types::ptx(major.parse().ok()?, minor.parse().ok()?))
                    });
                    version = version.max(parsed);
                }
                DirectiveKind::Target => {
                    // `debug` promises sections, which are left out.
                    let kept: Vec<&str> = words.iter().copied().filter(|w| *w != "debug").collect();
                    if let Some(rank) = kept.iter().find_map(|w| rank(w))
                        && target.as_ref().is_none_or(|(best, _)| rank > *best)
                    {
                        target = Some((rank, kept.join(", ")));
                    }
                }
                DirectiveKind::AddressSize => {
                    let bits = ast.ints(d.ints).first().copied().unwrap_or(0);
                    match size {
                        Some((other, at)) if other != bits => {
                            let (first, second) = (inputs[at].name.into(), inputs[i].name.into());
                            errors.push(LinkError::AddressSize { first, bits: other, second });
                        }
                        Some(_) => {}
                        None => size = Some((bits, i)),
                    }
                }
                _ => {}
            }
        }
    }
    let version = version.unwrap_or(ptx_isa::types::ptx(6, 0));
    let target = target.map_or_else(|| "sm_50".to_owned(), |(_, text)| text);
    let bits = size.map_or(64, |(bits, _)| bits);
    format!(".version {version}\n.target {target}\n.address_size {bits}\n")
}

/// Gives the kernels of a text that do not say `.maxnreg` one: what `--maxrregcount` of an assembler means. A text
/// that does not parse comes back as it is.
pub fn limit_registers(text: &str, registers: u32) -> String {
    let (ast, _) = crate::parse(text);
    let says = |attrs: &[FnAttr]| attrs.iter().any(|a| ast.name(a.name.name) == ".maxnreg");
    let mut heads: Vec<usize> = ast
        .functions
        .iter()
        .filter(|f| f.kind == FnKind::Entry && f.body.is_some())
        .filter(|f| !says(ast.attrs(f.attrs)))
        .map(|f| f.span.end as usize)
        .collect();
    heads.sort_unstable();
    let mut out = text.to_owned();
    for head in heads.into_iter().rev() {
        // On the same line, so that places in the text stay what they are.
        out.insert_str(head, &format!(" .maxnreg {registers} "));
    }
    out
}

/// Order of targets such as `sm_90a`: the architecture, then those with features of their own.
fn rank(target: &str) -> Option<(u32, bool)> {
    let rest = target.strip_prefix("sm_")?;
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    Some((digits.parse().ok()?, digits.len() < rest.len()))
}

/// The items of all texts, each name once.
fn body(asts: &mut [Ast<'_>], chosen: &HashMap<String, Mention>) -> String {
    let mut files = 0;
    for ast in asts.iter_mut() {
        files += renumber_files(ast, files);
    }
    // A definition counts as visible to the texts before it: they declare it as it is declared.
    let mut out = String::new();
    let mut printed: HashSet<String> = HashSet::new();
    for i in 0..asts.len() {
        for item in 0..asts[i].items.len() {
            let Some((name, m)) = mention(&asts[i], i, item) else {
                keep_directive(&asts[i], item, &mut out);
                continue;
            };
            let name = asts[i].name(name).to_owned();
            let Some(best) = chosen.get(&name).copied() else { continue };
            let own = best.input == i && best.item == item;
            if own && (m.function || !printed.contains(&name)) {
                print_item(&asts[i], &asts[i].items[item], &mut out);
                printed.insert(name);
            } else if m.function {
                // A declaration: the first one stands, with the linkage of the definition.
                if !m.defines && printed.insert(name) {
                    if best.defines {
                        let linkage = best.linkage;
                        if let Item::Function(index) = asts[i].items[item] {
                            asts[i].functions[index as usize].linkage = linkage;
                        }
                    }
                    print_item(&asts[i], &asts[i].items[item], &mut out);
                }
            } else if printed.insert(name) {
                // A variable is defined where it is first named.
                print_item(&asts[best.input], &asts[best.input].items[best.item], &mut out);
            }
        }
    }
    out
}

/// Directives that stay: `.file` and `.alias`.
fn keep_directive(ast: &Ast<'_>, item: usize, out: &mut String) {
    if let Item::Directive(index) = ast.items[item]
        && matches!(ast.directive(index).kind, DirectiveKind::File | DirectiveKind::Alias)
    {
        print_item(ast, &ast.items[item], out);
        // One statement a line whatever the printer does.
        if !out.ends_with('\n') {
            let _ = writeln!(out);
        }
    }
}

/// Moves the numbers of `.file` and `.loc` up by `by`; how many numbers that takes.
fn renumber_files(ast: &mut Ast<'_>, by: u64) -> u64 {
    let mut highest = 0;
    for d in 0..ast.directives.len() {
        let (kind, ints) = (ast.directives[d].kind, ast.directives[d].ints);
        let places: &[usize] = match kind {
            DirectiveKind::File => &[0],
            // The place itself, and the one that it was inlined at.
            DirectiveKind::Loc => &[0, 3],
            DirectiveKind::LocIntermediate => &[0],
            _ => continue,
        };
        for at in places {
            if let Some(n) = ast.ints[ints.range()].get_mut(*at) {
                highest = highest.max(*n + 1);
                *n += by;
            }
        }
    }
    highest
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

    fn linked(texts: &[&str]) -> Result<String, Vec<LinkError>> {
        let names = ["a", "b", "c"];
        let texts: Vec<String> = texts.iter().map(|t| format!("{HEAD}{t}")).collect();
        let inputs: Vec<Input<'_>> =
            texts.iter().zip(names).map(|(text, name)| Input { name, text }).collect();
        let out = link(&inputs)?;
        let (module, findings) = crate::parse_and_verify(&out, "linked");
        assert!(module.is_some(), "{findings:?}\n{out}");
        Ok(out)
    }

    const USE: &str = ".extern .func (.param .b32 r) f (.param .b32 a);\n\
        .visible .entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %d<2>;\n\
        ld.param.u64 %d1, [p]; mov.u32 %r1, 5;\n\
        { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\n\
        call.uni (r), f, (a); ld.param.b32 %r2, [r]; }\n\
        st.global.u32 [%d1], %r2; ret; }\n";
    const DEFINE: &str = ".visible .func (.param .b32 r) f (.param .b32 a) { .reg .b32 %r<3>;\n\
        ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }\n";

    #[test]
    fn functions_meet_in_either_order() {
        for texts in [[USE, DEFINE], [DEFINE, USE]] {
            let out = linked(&texts).unwrap();
            assert_eq!(out.matches(".extern").count(), 0, "{out}");
        }
    }

    #[test]
    fn local_names_do_not_meet() {
        let a = ".global .u32 x = 1;\n.visible .entry ka() { .reg .b32 %r<2>; ld.global.u32 %r1, [x]; ret; }\n";
        let b = ".global .u32 x = 2;\n.visible .entry kb() { .reg .b32 %r<2>; ld.global.u32 %r1, [x]; ret; }\n";
        let out = linked(&[a, b]).unwrap();
        assert!(out.contains("x$L0") && out.contains("x$L1"), "{out}");
    }

    #[test]
    fn variables_are_defined_once_where_they_are_first_named() {
        let user = ".extern .global .align 4 .u32 x;\n\
            .visible .entry k() { .reg .b32 %r<2>; ld.global.u32 %r1, [x]; ret; }\n";
        let out = linked(&[user, ".visible .global .align 4 .u32 x = 7;\n"]).unwrap();
        assert_eq!(out.matches("x = 7").count(), 1, "{out}");
        let weak = ".weak .global .align 4 .u32 x = 1;\n";
        let strong = ".visible .global .align 4 .u32 x = 2;\n";
        let out = linked(&[weak, strong]).unwrap();
        assert!(out.contains("x = 2") && !out.contains("x = 1"), "{out}");
        let out = linked(&[".common .global .u32 x;\n", ".common .global .u32 x[4];\n"]).unwrap();
        assert!(out.contains("x[4]") && out.matches(".common").count() == 1, "{out}");
    }

    #[test]
    fn a_result_that_only_one_side_knows_is_bridged() {
        let none =
            ".visible .func f (.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; ret; }\n";
        let out = linked(&[USE, none]).unwrap();
        assert!(out.contains("f$R0") && out.matches("call.uni").count() == 2, "{out}");
        let caller = ".extern .func f (.param .b32 a);\n.visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, 5;\n\
            { .param .b32 a; st.param.b32 [a], %r1; call.uni f, (a); } ret; }\n";
        for texts in [[caller, DEFINE], [DEFINE, caller]] {
            assert!(linked(&texts).unwrap().contains("call.uni (ptxrun_r), f, (ptxrun_a0)"));
        }
        assert!(!linked(&[USE, DEFINE]).unwrap().contains("$R"));
    }

    #[test]
    fn kernels_get_a_limit_of_registers() {
        let text = format!(
            "{HEAD}.visible .entry k(.param .u64 p) {{ ret; }}\n.visible .entry m() .maxnreg 16 {{ ret; }}\n\
             {DEFINE}.visible .entry e {{ ret; }}\n"
        );
        let out = limit_registers(&text, 38);
        assert_eq!(
            (out.matches(".maxnreg 38").count(), out.matches(".maxnreg").count()),
            (2, 3),
            "{out}"
        );
        let (module, findings) = crate::parse_and_verify(&out, "limited");
        let module = module.unwrap_or_else(|| panic!("{findings:?}\n{out}"));
        assert_eq!(module.functions.iter().filter(|f| f.tuning.max_nreg == Some(38)).count(), 2);
    }

    #[test]
    fn what_does_not_link_is_named() {
        let twice = linked(&[DEFINE, DEFINE]).unwrap_err();
        assert_eq!(twice[0].to_string(), "`f` is defined in `a` and in `b`");
        let user = ".extern .global .u32 x;\n.visible .entry k() { .reg .b32 %r<2>; ld.global.u32 %r1, [x]; ret; }\n";
        let missing = linked(&[user]).unwrap_err();
        assert_eq!(missing[0].to_string(), "`x`, which `a` declares `.extern`, is defined nowhere");
        let differ = linked(&[DEFINE, ".visible .global .u32 f;\n"]).unwrap_err();
        assert!(matches!(differ[0], LinkError::Mismatch { .. }));
        assert!(matches!(linked(&["junk"]).unwrap_err()[0], LinkError::Syntax(_)));
    }

    #[test]
    fn the_highest_version_and_target_win() {
        let a = Input { name: "a", text: ".version 6.5\n.target sm_50\n.address_size 64\n" };
        let b =
            Input { name: "b", text: ".version 8.0\n.target sm_90a, debug\n.address_size 64\n" };
        let out = link(&[a, b]).unwrap();
        assert_eq!(out, ".version 8.0\n.target sm_90a\n.address_size 64\n");
        let c = Input { name: "c", text: ".version 6.5\n.target sm_50\n.address_size 32\n" };
        assert!(matches!(link(&[a, c]).unwrap_err()[0], LinkError::AddressSize { .. }));
    }
}
