//! Variables of the source, from the debug information that `nvcc -G`, numba and our OpenCL C with `-g` write into the
//! PTX.
//!
//! The text holds DWARF as `.section` blocks of numbers and symbols. Symbols become addresses of
//! our own: an instruction's number, or one of a variable. A register's number in a location is its
//! name, as characters, the first in the highest byte (PTX interoperability guide, debug
//! information).

mod types;

use std::collections::HashMap;

use gimli::constants as dw;
use gimli::{AttributeValue, EndianSlice, LittleEndian};
use ptx_isa::{Space, Ty};
use types::Types;

/// Where a variable of the source is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Home {
    /// A register, by name.
    Register(String),
    /// Bytes behind a variable of the PTX text, by its name: a local array, a parameter.
    Variable(String, u64),
    /// So many bytes behind the address in a space that is kept there.
    Pointed(Box<Home>, Space, u64),
}

/// The elements of an array or vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// How many.
    pub count: u64,
    /// Bytes from one to the next.
    pub stride: u64,
    /// How the bits of one are read, if it holds one value.
    pub element: Option<Ty>,
    /// It is a vector, whose components have names.
    pub vector: bool,
}

/// A variable of the source, or a member of one, that holds one value, or an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// How the source names it: `r.first`, `list->next`.
    pub path: String,
    /// Name of its type.
    pub type_name: String,
    /// How its bits are read.
    pub ty: Ty,
    /// Where a pointer points to, and what, if that is one value.
    pub points_to: Option<(Space, Ty)>,
    /// The elements, if it is an array or vector.
    pub array: Option<Array>,
    /// Where it is.
    pub home: Home,
}

/// A part of the source with variables of its own: a function, a block, a function in the place of its call.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The function's name in the PTX text. Empty for variables outside of functions.
    pub function: String,
    /// The label at its beginning.
    pub begin: Option<String>,
    /// Labels before and behind its code, if that is not all of the scope around it.
    pub pieces: Option<Vec<(String, String)>>,
    /// The scope around it, which comes before it.
    pub parent: Option<usize>,
    /// The name of the function whose body this is, in the place of a call.
    pub inlined: Option<String>,
    /// Its variables, in the order of the source.
    pub leaves: Vec<Leaf>,
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Header<'a> = gimli::UnitHeader<Slice<'a>>;

/// First address that stands for a variable of the text; they are this far apart.
const VARIABLES: u64 = 1 << 60;
const APART: u64 = 1 << 32;

/// The sections of a text as bytes, and the names that stand for addresses.
#[derive(Default)]
struct Sections {
    bytes: HashMap<String, Vec<u8>>,
    names: Vec<String>,
}

/// Reads the `.section` blocks of a PTX text.
fn sections(text: &str) -> Sections {
    let mut out = Sections::default();
    let mut labels: HashMap<String, u64> = HashMap::new();
    let mut fixes: Vec<(String, usize, usize, String)> = Vec::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or("").trim();
        if let Some(name) = line.strip_prefix(".section") {
            let name = name.trim().trim_end_matches('{').trim().to_owned();
            out.bytes.entry(name.clone()).or_default();
            current = Some(name);
            continue;
        }
        let Some(section) = &current else { continue };
        if line == "}" {
            current = None;
            continue;
        }
        let Some(bytes) = out.bytes.get_mut(section) else { continue };
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label.to_owned(), bytes.len() as u64);
            continue;
        }
        let Some((directive, values)) = line.split_once(char::is_whitespace) else { continue };
        let width = match directive {
            ".b8" => 1,
            ".b16" => 2,
            ".b32" => 4,
            ".b64" => 8,
            _ => continue,
        };
        for value in values.split(',').map(str::trim) {
            let number = match value.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => value.parse::<i64>().ok().map(|v| v as u64),
            };
            if number.is_none() {
                fixes.push((section.clone(), bytes.len(), width, value.to_owned()));
            }
            bytes.extend_from_slice(&number.unwrap_or(0).to_le_bytes()[..width]);
        }
    }
    for (section, at, width, symbol) in fixes {
        let (name, plus) = symbol.split_once('+').unwrap_or((&symbol, "0"));
        let plus: u64 = plus.trim().parse().unwrap_or(0);
        let name = name.trim();
        let value = if name.starts_with('.') {
            // The start of a section.
            plus
        } else if let Some(at) = labels.get(name) {
            at + plus
        } else {
            let known = out.names.iter().position(|n| n == name);
            let n = known.unwrap_or_else(|| {
                out.names.push(name.to_owned());
                out.names.len() - 1
            });
            VARIABLES + n as u64 * APART + plus
        };
        if let Some(bytes) = out.bytes.get_mut(&section)
            && let Some(to) = bytes.get_mut(at..at + width)
        {
            to.copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
    out
}

/// The variables of every function that the text has debug information for; none if it is damaged.
pub fn scopes(text: &str) -> Vec<Scope> {
    if !text.contains(".debug_info") {
        return Vec::new();
    }
    let sections = sections(text);
    read(&sections).unwrap_or_default()
}

fn read(sections: &Sections) -> gimli::Result<Vec<Scope>> {
    let load = |id: gimli::SectionId| -> gimli::Result<Slice<'_>> {
        let bytes = sections.bytes.get(id.name()).map_or(&[][..], Vec::as_slice);
        Ok(EndianSlice::new(bytes, LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(load)?;
    let mut scopes: Vec<Scope> = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        // Without the unit's line program: the assembler makes it, so the text has none.
        let abbreviations = dwarf.abbreviations(&header)?;
        let types = Types { dwarf: &dwarf, header: &header, abbreviations: &abbreviations };
        let mut entries = header.entries(&abbreviations);
        let outside = scopes.len();
        scopes.push(Scope::default());
        // The scopes around an entry, with their depths.
        let mut open: Vec<(isize, usize)> = vec![(isize::MIN, outside)];
        while let Some(entry) = entries.next_dfs()? {
            open.retain(|(depth, _)| *depth < entry.depth);
            let around = open.last().map_or(outside, |o| o.1);
            let parent = (around != outside).then_some(around);
            match entry.tag {
                dw::DW_TAG_subprogram => {
                    let function = types.linkage_name(entry);
                    let abstract_one = entry.attr_value(dw::DW_AT_inline).is_some();
                    if let Some(function) = function.filter(|_| !abstract_one) {
                        let begin = address(entry.attr_value(dw::DW_AT_low_pc), &sections.names);
                        open.push((entry.depth, scopes.len()));
                        scopes.push(Scope { function, begin, ..Scope::default() });
                    }
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine if parent.is_some() => {
                    let pieces = pieces(entry, sections);
                    let inlined = match entry.attr_value(dw::DW_AT_abstract_origin) {
                        Some(AttributeValue::UnitRef(at)) => {
                            let origin = header.entry(&abbreviations, at)?;
                            types.text(origin.attr_value(dw::DW_AT_name))
                        }
                        _ => None,
                    };
                    open.push((entry.depth, scopes.len()));
                    scopes.push(Scope { pieces, parent, inlined, ..Scope::default() });
                }
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                    let name = types.text(entry.attr_value(dw::DW_AT_name));
                    let location = match entry.attr_value(dw::DW_AT_location) {
                        Some(AttributeValue::Exprloc(e)) => Some(e.0.slice().to_vec()),
                        Some(AttributeValue::Block(b)) => Some(b.slice().to_vec()),
                        Some(AttributeValue::LocationListsRef(at)) => {
                            let list =
                                sections.bytes.get(".debug_loc").map_or(&[][..], Vec::as_slice);
                            only_location(list.get(at.0..).unwrap_or(&[]))
                        }
                        _ => None,
                    };
                    let of = Types::target(entry);
                    let home = location.and_then(|l| home(&l, &sections.names));
                    if let (Some(path), Some(home), Some(of), Some(scope)) =
                        (name, home, of, scopes.get_mut(around))
                    {
                        types.leaves(of, path, home, 0, &mut scope.leaves)?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(scopes)
}

/// The name that stands for an address.
fn name_of(at: u64, names: &[String]) -> Option<String> {
    names.get((at.checked_sub(VARIABLES)? / APART) as usize).cloned()
}

type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;

/// The name that stands for the address in an attribute.
fn address(value: Option<AttributeValue<Slice<'_>>>, names: &[String]) -> Option<String> {
    match value {
        Some(AttributeValue::Addr(at)) => name_of(at, names),
        _ => None,
    }
}

/// Labels before and behind each piece of a scope's code; none if it does not say.
fn pieces(entry: &Entry<'_>, sections: &Sections) -> Option<Vec<(String, String)>> {
    let of = |name| address(entry.attr_value(name), &sections.names);
    if let (Some(begin), Some(end)) = (of(dw::DW_AT_low_pc), of(dw::DW_AT_high_pc)) {
        return Some(vec![(begin, end)]);
    }
    let at = match entry.attr_value(dw::DW_AT_ranges)? {
        AttributeValue::RangeListsRef(at) => at.0,
        _ => return None,
    };
    let mut bytes = sections.bytes.get(".debug_ranges")?.get(at..)?;
    let mut found = Vec::new();
    loop {
        let (begin, rest) = bytes.split_first_chunk::<8>()?;
        let (end, rest) = rest.split_first_chunk::<8>()?;
        if *begin == [0; 8] && *end == [0; 8] {
            return Some(found);
        }
        let name = |b: &[u8; 8]| name_of(u64::from_le_bytes(*b), &sections.names);
        found.push((name(begin)?, name(end)?));
        bytes = rest;
    }
}

/// The location of a list that has one, whatever instructions it is for: compilers leave out those before the first
/// assignment. `None` if the variable moves.
fn only_location(mut list: &[u8]) -> Option<Vec<u8>> {
    let mut found: Option<Vec<u8>> = None;
    loop {
        let (begin, rest) = list.split_first_chunk::<8>()?;
        let (end, rest) = rest.split_first_chunk::<8>()?;
        if *begin == [0; 8] && *end == [0; 8] {
            return found;
        }
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (location, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        if found.as_ref().is_some_and(|f| f != location) {
            return None;
        }
        found = Some(location.to_vec());
        list = rest;
    }
}

/// A number of seven bits a byte.
fn uleb(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f).checked_shl(shift)?;
        shift += 7;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
}

/// Where a location leads: a register, or an address with an offset.
fn home(mut bytes: &[u8], names: &[String]) -> Option<Home> {
    let mut found = None;
    while let Some((op, rest)) = bytes.split_first() {
        bytes = rest;
        match dw::DwOp(*op) {
            dw::DW_OP_regx => {
                let packed = uleb(&mut bytes)?.to_be_bytes();
                let name = packed.iter().skip_while(|b| **b == 0).map(|b| *b as char).collect();
                found = Some(Home::Register(name));
            }
            dw::DW_OP_addr => {
                let (value, rest) = bytes.split_first_chunk::<8>()?;
                bytes = rest;
                let value = u64::from_le_bytes(*value).checked_sub(VARIABLES)?;
                let name = names.get((value / APART) as usize)?.clone();
                found = Some(Home::Variable(name, value % APART));
            }
            dw::DW_OP_plus_uconst => {
                let more = uleb(&mut bytes)?;
                match &mut found {
                    Some(Home::Variable(_, offset)) => *offset += more,
                    Some(Home::Register(_) | Home::Pointed(..)) | None => return None,
                }
            }
            _ => return None,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../ptxrun/tests/debug/saxpy_g.ptx");

    /// A variable of a function, in whichever of its scopes.
    fn leaf(scopes: &[Scope], function: &str, path: &str) -> Option<Leaf> {
        let root = scopes.iter().position(|s| s.function == function).unwrap();
        let inner = scopes[root + 1..].iter().take_while(|s| s.parent.is_some());
        let mut leaves = std::iter::once(&scopes[root]).chain(inner).flat_map(|s| &s.leaves);
        leaves.find(|l| l.path == path).cloned()
    }

    #[test]
    fn variables_of_debug_code() {
        let scopes = scopes(TEXT);
        let names: Vec<&str> = scopes.iter().map(|s| s.function.as_str()).collect();
        let names: Vec<&str> = names.into_iter().filter(|n| !n.is_empty()).collect();
        assert_eq!(names, ["_Z6scaledff", "saxpy"]);
        let product = leaf(&scopes, "_Z6scaledff", "product").unwrap();
        assert_eq!((product.ty, &*product.type_name), (Ty::F32, "float"));
        assert!(matches!(&product.home, Home::Register(r) if r.starts_with("%f")), "{product:?}");
        let last = leaf(&scopes, "saxpy", "r.last").unwrap();
        assert_eq!(last.home, Home::Variable("__local_depot1".into(), 4));
        let x = leaf(&scopes, "saxpy", "x").unwrap();
        assert_eq!((&*x.type_name, x.points_to), ("float *", Some((Space::Generic, Ty::F32))));
        // A block says where it begins and ends.
        let block = scopes.iter().find(|s| s.parent.is_some()).unwrap();
        assert!(block.pieces.as_ref().is_some_and(|p| p[0].0.starts_with("$L__tmp")), "{block:?}");
    }

    #[test]
    fn what_pointers_lead_to() {
        let scopes = scopes(include_str!("../../../ptxrun/tests/debug/particles_g.ptx"));
        let of = |path: &str| leaf(&scopes, "move", path);
        let (own, speed) = (of("own").unwrap(), of("own->speed").unwrap());
        assert_eq!(speed.home, Home::Pointed(Box::new(own.home), Space::Generic, 4));
        assert_eq!((speed.ty, of("own->mass")), (Ty::F32, None));
    }

    #[test]
    fn variables_of_numba() {
        let scopes = scopes(include_str!("../../../ptxrun/tests/debug/smooth_g.ptx"));
        let function = scopes.iter().find(|s| s.begin.is_some()).unwrap();
        assert_eq!(function.begin.as_deref(), Some("$L__func_begin0"));
        let i = function.leaves.iter().find(|l| l.path == "i").unwrap();
        // Its location is in a list.
        assert!(matches!(&i.home, Home::Register(_)), "{i:?}");
    }

    #[test]
    fn damaged_information_is_none() {
        let cut = TEXT.replace(".b8 17\n", "");
        let _ = scopes(&cut);
        assert!(scopes(".version 8.0").is_empty());
    }
}
