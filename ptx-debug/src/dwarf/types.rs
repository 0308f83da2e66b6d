//! Types of variables, and what a variable is made of.

use gimli::constants as dw;
use gimli::{AttributeValue, UnitOffset};
use ptx_isa::{Space, Ty};

use super::{Array, Entry, Header, Home, Leaf, Slice, uleb};

/// How the bits of one value are read, the name of its type, and what a pointer points to.
type OneValue = (Ty, String, Option<(Space, Ty)>);

/// Elements of an array of arrays or structures that are listed.
const LISTED: u64 = 32;

/// The space that addresses of a pointer are in: `DW_AT_address_class`, as NVIDIA's debuggers number spaces.
fn pointed_space(entry: &Entry<'_>) -> Space {
    match entry.attr_value(dw::DW_AT_address_class) {
        Some(AttributeValue::AddressClass(dw::DwAddr(4))) => Space::Const,
        Some(AttributeValue::AddressClass(dw::DwAddr(5))) => Space::Global,
        Some(AttributeValue::AddressClass(dw::DwAddr(6))) => Space::Local,
        Some(AttributeValue::AddressClass(dw::DwAddr(8))) => Space::Shared,
        _ => Space::Generic,
    }
}

pub(super) struct Types<'d, 'a> {
    pub(super) dwarf: &'d gimli::Dwarf<Slice<'a>>,
    pub(super) header: &'d Header<'a>,
    pub(super) abbreviations: &'d gimli::Abbreviations,
}

/// Members and elements of a variable that are listed.
const MOST: usize = 256;

impl Types<'_, '_> {
    /// The name of a function in the text.
    pub(super) fn linkage_name(&self, entry: &Entry<'_>) -> Option<String> {
        let names = [dw::DW_AT_MIPS_linkage_name, dw::DW_AT_linkage_name, dw::DW_AT_name];
        names.iter().find_map(|n| self.text(entry.attr_value(*n)))
    }

    pub(super) fn text(&self, value: Option<AttributeValue<Slice<'_>>>) -> Option<String> {
        let bytes = match value? {
            AttributeValue::String(s) => s.slice().to_vec(),
            AttributeValue::DebugStrRef(at) => self.dwarf.string(at).ok()?.slice().to_vec(),
            _ => return None,
        };
        String::from_utf8(bytes).ok()
    }

    fn name(&self, entry: &Entry<'_>) -> String {
        self.text(entry.attr_value(dw::DW_AT_name)).unwrap_or_default()
    }

    pub(super) fn target(entry: &Entry<'_>) -> Option<UnitOffset> {
        match entry.attr_value(dw::DW_AT_type) {
            Some(AttributeValue::UnitRef(at)) => Some(at),
            _ => None,
        }
    }

    fn size(entry: &Entry<'_>) -> u64 {
        entry.attr_value(dw::DW_AT_byte_size).and_then(|v| v.udata_value()).unwrap_or(0)
    }

    /// The type of one value, with its name; `None` for structures, arrays and `void`.
    fn value(&self, of: UnitOffset, depth: u32) -> gimli::Result<Option<OneValue>> {
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
                let (mut text, mut to) = ("void".to_owned(), None);
                if let Some(of) = Self::target(&entry) {
                    to = self.value(of, depth + 1)?;
                    text = match &to {
                        Some(to) => to.1.clone(),
                        None => self.type_name(of, depth + 1)?,
                    };
                }
                let space = pointed_space(&entry);
                let star = if text.ends_with('*') { "" } else { " " };
                Ok(Some((Ty::U64, format!("{text}{star}*"), to.map(|t| (space, t.0)))))
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

    /// What a type that holds more than one value is called.
    fn type_name(&self, of: UnitOffset, depth: u32) -> gimli::Result<String> {
        let entry = self.header.entry(self.abbreviations, of)?;
        let name = self.name(&entry);
        let to = Self::target(&entry).filter(|_| depth < 16);
        match entry.tag {
            dw::DW_TAG_array_type => {
                let (extents, vector) = self.extents(of, &entry)?;
                let element = match to {
                    Some(to) => match self.value(to, depth + 1)? {
                        Some(value) => value.1,
                        None => self.type_name(to, depth + 1)?,
                    },
                    None => String::new(),
                };
                Ok(array_name(&element, &extents, vector))
            }
            dw::DW_TAG_const_type | dw::DW_TAG_volatile_type => match to {
                Some(to) => self.type_name(to, depth + 1),
                None => Ok(name),
            },
            _ if name.is_empty() => Ok("void".into()),
            _ => Ok(name),
        }
    }

    /// Elements of an array from the outside in, as an array of arrays may be one type with several extents; and
    /// whether it is a vector.
    fn extents(&self, of: UnitOffset, entry: &Entry<'_>) -> gimli::Result<(Vec<u64>, bool)> {
        let vector = entry.attr_value(dw::DW_AT_GNU_vector).is_some();
        let mut extents = Vec::new();
        let mut tree = self.header.entries_tree(self.abbreviations, Some(of))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let bound = child.entry().attr_value(dw::DW_AT_upper_bound);
            let length = child.entry().attr_value(dw::DW_AT_count);
            extents.push(match (bound.and_then(|b| b.udata_value()), length) {
                (Some(bound), _) => bound.saturating_add(1),
                (None, Some(n)) => n.udata_value().unwrap_or(0),
                (None, None) => 0,
            });
        }
        if extents.is_empty() {
            extents.push(0);
        }
        Ok((extents, vector))
    }

    /// Bytes of a type.
    fn bytes(&self, of: UnitOffset, depth: u32) -> gimli::Result<u64> {
        if let Some((ty, ..)) = self.value(of, 0)? {
            return Ok(u64::from(ty.bits().div_ceil(8)));
        }
        let entry = self.header.entry(self.abbreviations, of)?;
        let size = Self::size(&entry);
        match (size, Self::target(&entry)) {
            (0, Some(to)) if depth < 16 => {
                let extents = match entry.tag {
                    dw::DW_TAG_array_type => self.extents(of, &entry)?.0,
                    _ => Vec::new(),
                };
                let element = self.bytes(to, depth + 1)?;
                Ok(extents.iter().fold(element, |all, n| all.saturating_mul(*n)))
            }
            _ => Ok(size),
        }
    }

    /// The structure that a pointer leads to, and the space that it is in.
    fn structure_behind(
        &self,
        of: UnitOffset,
        depth: u32,
    ) -> gimli::Result<Option<(UnitOffset, Space)>> {
        if depth > 16 {
            return Ok(None);
        }
        let entry = self.header.entry(self.abbreviations, of)?;
        let Some(to) = Self::target(&entry) else { return Ok(None) };
        match entry.tag {
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => {
                let space = pointed_space(&entry);
                Ok(self.structure(to, depth + 1)?.map(|s| (s, space)))
            }
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
    pub(super) fn leaves(
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
            let leaf = Leaf { path, type_name, ty, points_to, array: None, home };
            if let Some((to, space)) = to {
                let pointed = Home::Pointed(Box::new(leaf.home.clone()), space, 0);
                self.leaves(to, format!("{}->", leaf.path), pointed, depth + 1, out)?;
            }
            out.push(leaf);
            return Ok(());
        }
        let entry = self.header.entry(self.abbreviations, of)?;
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
                    let home = offset.and_then(|more| behind(&home, more));
                    if let (Some(to), Some(home)) = (Self::target(member), home) {
                        let none = path.ends_with("->") || name.is_empty();
                        let dot = if none { "" } else { "." };
                        self.leaves(to, format!("{path}{dot}{name}"), home, depth + 1, out)?;
                    }
                }
            }
            dw::DW_TAG_array_type => {
                let Some(to) = Self::target(&entry) else { return Ok(()) };
                let (extents, vector) = self.extents(of, &entry)?;
                self.elements(to, &extents, vector, Named { path, home }, depth, out)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// An array of these extents, from the outside in, and its elements.
    fn elements(
        &self,
        to: UnitOffset,
        extents: &[u64],
        vector: bool,
        named: Named,
        depth: u32,
        out: &mut Vec<Leaf>,
    ) -> gimli::Result<()> {
        if depth > 16 {
            return Ok(());
        }
        let Some((&count, inner)) = extents.split_first() else {
            return self.leaves(to, named.path, named.home, depth, out);
        };
        let value = self.value(to, 0)?;
        let element = value.as_ref().map(|e| e.0).filter(|_| inner.is_empty());
        let stride = inner.iter().fold(self.bytes(to, 0)?, |all, n| all.saturating_mul(*n));
        let element_name = match value {
            Some(value) => value.1,
            None => self.type_name(to, 0)?,
        };
        out.push(Leaf {
            path: named.path.clone(),
            type_name: array_name(&element_name, extents, vector),
            ty: element.unwrap_or(Ty::B8),
            points_to: None,
            array: Some(Array { count, stride, element, vector }),
            home: named.home.clone(),
        });
        // What holds one value is found by its index.
        let listed = if element.is_some() { 0 } else { count.min(LISTED) };
        for n in 0..listed {
            if out.len() >= MOST {
                break;
            }
            if let Some(home) = behind(&named.home, n.saturating_mul(stride)) {
                let path = format!("{}[{n}]", named.path);
                self.elements(to, inner, vector, Named { path, home }, depth + 1, out)?;
            }
        }
        Ok(())
    }
}

/// A variable or a part of one: its name, and where it is.
struct Named {
    path: String,
    home: Home,
}

/// So many bytes further on.
fn behind(home: &Home, more: u64) -> Option<Home> {
    match home {
        Home::Variable(name, offset) => {
            Some(Home::Variable(name.clone(), offset.saturating_add(more)))
        }
        Home::Pointed(at, space, offset) => {
            Some(Home::Pointed(at.clone(), *space, offset.saturating_add(more)))
        }
        Home::Register(_) => None,
    }
}

/// The name of an array or vector type.
fn array_name(element: &str, extents: &[u64], vector: bool) -> String {
    let all: String =
        extents.iter().map(|n| if vector { n.to_string() } else { format!("[{n}]") }).collect();
    // Extents read from the outside in.
    let at = element.find('[').filter(|_| !vector).unwrap_or(element.len());
    format!("{}{all}{}", &element[..at], &element[at..])
}

/// The offset of a member: `DW_OP_plus_uconst n`.
fn constant(mut bytes: &[u8]) -> Option<u64> {
    let (op, rest) = bytes.split_first()?;
    bytes = rest;
    (dw::DwOp(*op) == dw::DW_OP_plus_uconst).then(|| uleb(&mut bytes)).flatten()
}
