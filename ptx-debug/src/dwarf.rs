//! Variables of the source, from the debug information that `nvcc -G` and numba write into the PTX.
//!
//! The text holds DWARF as `.section` blocks of numbers and symbols. Symbols become addresses of
//! our own: an instruction's number, or one of a variable. A register's number in a location is its
//! name, as characters, the first in the highest byte (PTX interoperability guide, debug
//! information).

use std::collections::HashMap;

use gimli::constants as dw;
use gimli::{AttributeValue, EndianSlice, LittleEndian, UnitOffset};
use ptx_isa::Ty;

/// Where a variable of the source is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Home {
    /// A register, by name.
    Register(String),
    /// Bytes behind a variable of the PTX text, by its name: a local array, a parameter.
    Variable(String, u64),
    /// So many bytes behind the address that is kept there.
    Pointed(Box<Home>, u64),
}

/// A variable of the source, or a member of one, that holds one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// How the source names it: `r.first`, `list->next`.
    pub path: String,
    /// Name of its type.
    pub type_name: String,
    /// How its bits are read.
    pub ty: Ty,
    /// What a pointer points to, if that is one value.
    pub points_to: Option<Ty>,
    /// Where it is.
    pub home: Home,
}

/// Variables of a function.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The function's name in the PTX text.
    pub function: String,
    /// The label at its beginning.
    pub begin: Option<String>,
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
        let mut inside: Option<isize> = None;
        while let Some(entry) = entries.next_dfs()? {
            if inside.is_some_and(|depth| entry.depth <= depth) {
                inside = None;
            }
            match entry.tag {
                dw::DW_TAG_subprogram => {
                    let names =
                        [dw::DW_AT_MIPS_linkage_name, dw::DW_AT_linkage_name, dw::DW_AT_name];
                    let linkage = names.iter().find_map(|n| types.text(entry.attr_value(*n)));
                    if let Some(function) = linkage {
                        inside = Some(entry.depth);
                        let begin = match entry.attr_value(dw::DW_AT_low_pc) {
                            Some(AttributeValue::Addr(at)) => name_of(at, &sections.names),
                            _ => None,
                        };
                        scopes.push(Scope { function, begin, leaves: Vec::new() });
                    }
                }
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter if inside.is_some() => {
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
                    let of = match entry.attr_value(dw::DW_AT_type) {
                        Some(AttributeValue::UnitRef(at)) => Some(at),
                        _ => None,
                    };
                    let home = location.and_then(|l| home(&l, &sections.names));
                    if let (Some(path), Some(home), Some(of), Some(scope)) =
                        (name, home, of, scopes.last_mut())
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

struct Types<'d, 'a> {
    dwarf: &'d gimli::Dwarf<Slice<'a>>,
    header: &'d Header<'a>,
    abbreviations: &'d gimli::Abbreviations,
}

/// Members and elements of a variable that are listed.
const MOST: usize = 256;

impl Types<'_, '_> {
    fn text(&self, value: Option<AttributeValue<Slice<'_>>>) -> Option<String> {
        let bytes = match value? {
            AttributeValue::String(s) => s.slice().to_vec(),
            AttributeValue::DebugStrRef(at) => self.dwarf.string(at).ok()?.slice().to_vec(),
            _ => return None,
        };
        String::from_utf8(bytes).ok()
    }

    fn name(&self, entry: &gimli::DebuggingInformationEntry<Slice<'_>>) -> String {
        self.text(entry.attr_value(dw::DW_AT_name)).unwrap_or_default()
    }

    fn target(entry: &gimli::DebuggingInformationEntry<Slice<'_>>) -> Option<UnitOffset> {
        match entry.attr_value(dw::DW_AT_type) {
            Some(AttributeValue::UnitRef(at)) => Some(at),
            _ => None,
        }
    }

    fn size(entry: &gimli::DebuggingInformationEntry<Slice<'_>>) -> u64 {
        entry.attr_value(dw::DW_AT_byte_size).and_then(|v| v.udata_value()).unwrap_or(0)
    }

    /// The type of one value, with its name; `None` for structures, arrays and `void`.
    fn value(&self, of: UnitOffset, depth: u32) -> gimli::Result<Option<(Ty, String, Option<Ty>)>> {
        if depth > 16 {
            return Ok(None);
        }
        let entry = self.header.entry(self.abbreviations, of)?;
        let name = self.name(&entry);
        match entry.tag {
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => {
                let encoding = match entry.attr_value(dw::DW_AT_encoding) {
                    Some(AttributeValue::Encoding(encoding)) => encoding,
                    _ => dw::DwAte(0),
                };
                let ty = match (encoding, Self::size(&entry)) {
                    (dw::DW_ATE_float, 2) => Ty::F16,
                    (dw::DW_ATE_float, 4) => Ty::F32,
                    (dw::DW_ATE_float, _) => Ty::F64,
                    (dw::DW_ATE_signed | dw::DW_ATE_signed_char, 1) => Ty::S8,
                    (dw::DW_ATE_signed, 2) => Ty::S16,
                    (dw::DW_ATE_signed, 8) => Ty::S64,
                    (dw::DW_ATE_signed, _) => Ty::S32,
                    (_, 1) => Ty::U8,
                    (_, 2) => Ty::U16,
                    (_, 8) => Ty::U64,
                    _ => Ty::U32,
                };
                Ok(Some((ty, name, None)))
            }
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => {
                let to = match Self::target(&entry) {
                    Some(to) => self.value(to, depth + 1)?,
                    None => None,
                };
                let text = to.as_ref().map_or_else(|| "void".to_owned(), |t| t.1.clone());
                Ok(Some((Ty::U64, format!("{text} *"), to.map(|t| t.0))))
            }
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type => match Self::target(&entry) {
                Some(to) => {
                    let inner = self.value(to, depth + 1)?;
                    let typedef = entry.tag == dw::DW_TAG_typedef;
                    Ok(inner.map(|(t, n, p)| (t, if typedef { name } else { n }, p)))
                }
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The structure that a pointer leads to.
    fn structure_behind(&self, of: UnitOffset, depth: u32) -> gimli::Result<Option<UnitOffset>> {
        if depth > 16 {
            return Ok(None);
        }
        let entry = self.header.entry(self.abbreviations, of)?;
        let Some(to) = Self::target(&entry) else { return Ok(None) };
        match entry.tag {
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => self.structure(to, depth + 1),
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type => self.structure_behind(to, depth + 1),
            _ => Ok(None),
        }
    }

    /// The structure that a type is, under whatever names.
    fn structure(&self, of: UnitOffset, depth: u32) -> gimli::Result<Option<UnitOffset>> {
        let entry = self.header.entry(self.abbreviations, of)?;
        match (entry.tag, Self::target(&entry)) {
            (dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type, _) => {
                Ok(Some(of))
            }
            (dw::DW_TAG_typedef | dw::DW_TAG_const_type | dw::DW_TAG_volatile_type, Some(to))
                if depth < 16 =>
            {
                self.structure(to, depth + 1)
            }
            _ => Ok(None),
        }
    }

    /// Everything of a variable that holds one value. What pointers lead to comes before them.
    fn leaves(
        &self,
        of: UnitOffset,
        path: String,
        home: Home,
        depth: u32,
        out: &mut Vec<Leaf>,
    ) -> gimli::Result<()> {
        if out.len() >= MOST || depth > 16 {
            return Ok(());
        }
        if let Some((ty, type_name, points_to)) = self.value(of, 0)? {
            let to = self.structure_behind(of, 0)?.filter(|_| depth < 2);
            let leaf = Leaf { path, type_name, ty, points_to, home };
            if let Some(to) = to {
                let pointed = Home::Pointed(Box::new(leaf.home.clone()), 0);
                self.leaves(to, format!("{}->", leaf.path), pointed, depth + 1, out)?;
            }
            out.push(leaf);
            return Ok(());
        }
        let entry = self.header.entry(self.abbreviations, of)?;
        let behind = |more: u64| match &home {
            Home::Variable(name, offset) => Some(Home::Variable(name.clone(), offset + more)),
            Home::Pointed(at, offset) => Some(Home::Pointed(at.clone(), offset + more)),
            Home::Register(_) => None,
        };
        match entry.tag {
            dw::DW_TAG_typedef | dw::DW_TAG_const_type | dw::DW_TAG_volatile_type => {
                if let Some(to) = Self::target(&entry) {
                    self.leaves(to, path, home, depth + 1, out)?;
                }
            }
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                let mut tree = self.header.entries_tree(self.abbreviations, Some(of))?;
                let mut children = tree.root()?.children();
                while let Some(child) = children.next()? {
                    let member = child.entry();
                    if member.tag != dw::DW_TAG_member {
                        continue;
                    }
                    let offset = match member.attr_value(dw::DW_AT_data_member_location) {
                        Some(AttributeValue::Exprloc(e)) => constant(e.0.slice()),
                        Some(AttributeValue::Block(b)) => constant(b.slice()),
                        Some(v) => v.udata_value(),
                        None => Some(0),
                    };
                    let name = self.name(member);
                    if let (Some(to), Some(home)) = (Self::target(member), offset.and_then(behind))
                    {
                        let dot = if path.ends_with("->") { "" } else { "." };
                        self.leaves(to, format!("{path}{dot}{name}"), home, depth + 1, out)?;
                    }
                }
            }
            dw::DW_TAG_array_type => {
                let Some(to) = Self::target(&entry) else { return Ok(()) };
                let mut count = 0;
                let mut tree = self.header.entries_tree(self.abbreviations, Some(of))?;
                let mut children = tree.root()?.children();
                while let Some(child) = children.next()? {
                    let bound = child.entry().attr_value(dw::DW_AT_upper_bound);
                    let length = child.entry().attr_value(dw::DW_AT_count);
                    count = match (bound.and_then(|b| b.udata_value()), length) {
                        (Some(bound), _) => bound + 1,
                        (None, Some(n)) => n.udata_value().unwrap_or(0),
                        (None, None) => 0,
                    };
                }
                let Some((ty, ..)) = self.value(to, 0)? else { return Ok(()) };
                for n in 0..count.min(MOST as u64) {
                    let at = behind(n * u64::from(ty.bits().div_ceil(8)));
                    if let Some(home) = at {
                        self.leaves(to, format!("{path}[{n}]"), home, depth + 1, out)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The offset of a member: `DW_OP_plus_uconst n`.
fn constant(mut bytes: &[u8]) -> Option<u64> {
    let (op, rest) = bytes.split_first()?;
    bytes = rest;
    (dw::DwOp(*op) == dw::DW_OP_plus_uconst).then(|| uleb(&mut bytes)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../ptxrun/tests/debug/saxpy_g.ptx");

    #[test]
    fn variables_of_debug_code() {
        let scopes = scopes(TEXT);
        let names: Vec<&str> = scopes.iter().map(|s| s.function.as_str()).collect();
        assert_eq!(names, ["_Z6scaledff", "saxpy"]);
        let product = scopes[0].leaves.iter().find(|l| l.path == "product").unwrap();
        assert_eq!((product.ty, &*product.type_name), (Ty::F32, "float"));
        assert!(matches!(&product.home, Home::Register(r) if r.starts_with("%f")), "{product:?}");
        let last = scopes[1].leaves.iter().find(|l| l.path == "r.last").unwrap();
        assert_eq!(last.home, Home::Variable("__local_depot1".into(), 4));
        let x = scopes[1].leaves.iter().find(|l| l.path == "x").unwrap();
        assert_eq!((&*x.type_name, x.points_to), ("float *", Some(Ty::F32)));
    }

    #[test]
    fn what_pointers_lead_to() {
        let scopes = scopes(include_str!("../../ptxrun/tests/debug/particles_g.ptx"));
        let of = |path: &str| scopes[0].leaves.iter().find(|l| l.path == path).cloned();
        let (own, speed) = (of("own").unwrap(), of("own->speed").unwrap());
        assert_eq!(speed.home, Home::Pointed(Box::new(own.home), 4));
        assert_eq!((speed.ty, of("own->mass")), (Ty::F32, None));
    }

    #[test]
    fn variables_of_numba() {
        let scopes = scopes(include_str!("../../ptxrun/tests/debug/smooth_g.ptx"));
        assert_eq!(scopes[0].begin.as_deref(), Some("$L__func_begin0"));
        let i = scopes[0].leaves.iter().find(|l| l.path == "i").unwrap();
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
