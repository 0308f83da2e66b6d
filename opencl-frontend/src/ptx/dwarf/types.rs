//! Entries of types. Each is written once, behind everything that refers to it.

use rustc_hash::FxHashMap;

use super::abbreviations as abbr;
use super::entries::Entries;
use super::{POINTER, class};
use crate::sema::hir::Program;
use crate::symbol::Interner;
use crate::types::{QualType, Scalar, Space, Type, TypeId};

/// A type, and whether it is constant.
type Key = (TypeId, bool);

/// The types that are referred to, by number.
pub struct Types {
    /// The address class of what pointers to constants point to.
    pub constants: u8,
    numbers: FxHashMap<Key, u32>,
    list: Vec<Key>,
}

impl Types {
    pub fn new(constants: u8) -> Types {
        Types { constants, numbers: FxHashMap::default(), list: Vec::new() }
    }

    /// Refers to a type.
    pub fn refer(&mut self, entries: &mut Entries, ty: QualType) {
        self.refer_to(entries, (ty.id, ty.constant));
    }

    fn refer_to(&mut self, entries: &mut Entries, key: Key) {
        let list = &mut self.list;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            list.push(key);
            list.len() as u32 - 1
        });
        entries.ty(number);
    }

    /// Writes those that were referred to, and what they are made of.
    pub fn write(&mut self, program: &Program, names: &Interner, entries: &mut Entries) {
        let mut next = 0;
        while let Some(&(id, constant)) = self.list.get(next) {
            entries.mark_type(next as u32);
            // Of an array, the elements are constant.
            let array = matches!(program.types.get(id), Type::Array(..));
            if constant && !array {
                entries.begin(abbr::CONST);
                self.refer_to(entries, (id, false));
            } else {
                self.one(id, program, names, entries);
            }
            next += 1;
        }
    }

    fn one(&mut self, id: TypeId, program: &Program, names: &Interner, entries: &mut Entries) {
        let types = &program.types;
        let size = types.size(id).unwrap_or(0);
        match types.get(id) {
            Type::Scalar(scalar) | Type::Atomic(scalar) => {
                base(entries, scalar.name(), encoding(*scalar), scalar.size());
            }
            Type::Vector(scalar, n) => {
                entries.begin(abbr::VECTOR);
                self.refer(entries, QualType::plain((*scalar).into()));
                entries.word(size as u32);
                entries.byte(1);
                extent(entries, u64::from(*n));
            }
            Type::Array(element, n) => {
                entries.begin(abbr::ARRAY);
                self.refer(entries, *element);
                entries.word(size as u32);
                extent(entries, n.unwrap_or(0));
            }
            Type::Pointer(to) => {
                let class = match to.space {
                    Space::Private => class::LOCAL,
                    Space::Global => class::GLOBAL,
                    Space::Local => class::SHARED,
                    Space::Constant => self.constants,
                    Space::Generic => class::GENERIC,
                };
                if to.id == TypeId::VOID {
                    entries.begin(abbr::POINTER_TO_VOID);
                } else {
                    entries.begin(abbr::POINTER);
                    self.refer(entries, *to);
                }
                entries.word(class.into());
            }
            Type::Struct(number) => {
                let s = &types.structs[number.0 as usize];
                let name = s.tag.or(s.alias).map_or("", |n| names.text(n));
                let Some(members) = &s.members else {
                    entries.begin(abbr::DECLARED);
                    entries.text(name);
                    entries.byte(1);
                    return;
                };
                entries.begin(if s.is_union { abbr::UNION } else { abbr::STRUCTURE });
                entries.text(name);
                entries.word(size as u32);
                for member in members {
                    entries.begin(abbr::MEMBER);
                    entries.text(member.name.map_or("", |n| names.text(n)));
                    self.refer(entries, member.ty);
                    entries.block(&offset(member.offset));
                }
                entries.close();
            }
            // Numbers and addresses that mean nothing to the program.
            Type::Image(..) | Type::Event => {
                base(entries, &types.name(QualType::plain(id), names), UNSIGNED, POINTER);
            }
            Type::Sampler => base(entries, "sampler_t", UNSIGNED, size),
            Type::Error | Type::Void | Type::Function(..) => base(entries, "void", UNSIGNED, 1),
        }
    }
}

/// `DW_ATE_unsigned`
const UNSIGNED: u8 = 7;

fn base(entries: &mut Entries, name: &str, encoding: u8, size: u64) {
    entries.begin(abbr::BASE);
    entries.text(name);
    entries.byte(encoding);
    entries.byte(size as u8);
}

/// `DW_ATE_boolean`, `_float`, `_signed`, `_signed_char`, `_unsigned_char`.
fn encoding(scalar: Scalar) -> u8 {
    match scalar {
        Scalar::Bool => 2,
        Scalar::F16 | Scalar::F32 | Scalar::F64 => 4,
        Scalar::I8 => 6,
        Scalar::I16 | Scalar::I32 | Scalar::I64 => 5,
        Scalar::U8 => 8,
        Scalar::U16 | Scalar::U32 | Scalar::U64 => UNSIGNED,
    }
}

/// The number of elements, and the end of the array.
fn extent(entries: &mut Entries, n: u64) {
    entries.begin(abbr::EXTENT);
    entries.word(n.saturating_sub(1) as u32);
    entries.close();
}

/// `DW_OP_plus_uconst` of so many bytes.
fn offset(mut bytes: u64) -> Vec<u8> {
    let mut out = vec![0x23];
    loop {
        let more = bytes >> 7 != 0;
        out.push(bytes as u8 & 0x7f | u8::from(more) << 7);
        bytes >>= 7;
        if !more {
            return out;
        }
    }
}
