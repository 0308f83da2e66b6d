//! Specifiers and declarators to types; structs, unions, enums; attributes.

use super::analyzer::{Entity, Sema};
use crate::diag::Code;
use crate::parse::ast::{self, Attribute, SpecifierKind};
use crate::source::Span;
use crate::symbol::{Symbol, fixed};
use crate::types::{Access, QualType, Scalar, Space, Type, TypeId};

/// What the specifiers of a declaration say.
pub(super) struct Specifiers {
    pub ty: QualType,
    pub explicit_space: Option<Space>,
    pub is_typedef: bool,
    pub is_extern: bool,
    pub is_static: bool,
    pub is_kernel: bool,
    pub attributes: Vec<Attribute>,
}

impl Sema<'_> {
    pub(super) fn specifiers(
        &mut self,
        list: &[ast::Specifier],
        alias: Option<Symbol>,
    ) -> Specifiers {
        let span = list
            .first()
            .map(|f| f.span)
            .unwrap_or_default()
            .to(list.last().map(|l| l.span).unwrap_or_default());
        let mut out = Specifiers {
            ty: QualType::plain(TypeId::ERROR),
            explicit_space: None,
            is_typedef: false,
            is_extern: false,
            is_static: false,
            is_kernel: false,
            attributes: Vec::new(),
        };
        let mut words: Vec<Symbol> = Vec::new();
        let mut named: Option<QualType> = None;
        let mut access = None;
        let (mut constant, mut volatile) = (false, false);
        let mut defined_struct = None;
        for specifier in list {
            match &specifier.kind {
                SpecifierKind::Attributes(list) => out.attributes.extend(list.iter().cloned()),
                SpecifierKind::TypedefName(sym) => named = Some(self.typedef(*sym, specifier.span)),
                SpecifierKind::Struct(s) => {
                    let id = self.struct_specifier(s, specifier.span, alias);
                    if s.members.is_some() {
                        defined_struct = Some(id);
                    }
                    named = Some(QualType::plain(id));
                }
                SpecifierKind::Enum(e) => named = Some(self.enum_specifier(e, specifier.span)),
                SpecifierKind::Keyword(word) => match *word {
                    fixed::CONST => constant = true,
                    fixed::VOLATILE => volatile = true,
                    fixed::RESTRICT | fixed::INLINE | fixed::AUTO | fixed::REGISTER => {}
                    fixed::READ_ONLY => access = Some(Access::Read),
                    fixed::WRITE_ONLY => access = Some(Access::Write),
                    fixed::READ_WRITE => {
                        if !self.context.is_library && self.session.options.cl_std < 200 {
                            let message = "`__read_write` images need -cl-std=CL2.0 or CL3.0";
                            self.error(Code::Specifiers, specifier.span, message);
                        }
                        access = Some(Access::ReadWrite);
                    }
                    fixed::TYPEDEF => out.is_typedef = true,
                    fixed::EXTERN => out.is_extern = true,
                    fixed::STATIC => out.is_static = true,
                    fixed::KERNEL => out.is_kernel = true,
                    fixed::GLOBAL
                    | fixed::LOCAL
                    | fixed::CONSTANT
                    | fixed::PRIVATE
                    | fixed::GENERIC => {
                        let space = match *word {
                            fixed::GLOBAL => Space::Global,
                            fixed::LOCAL => Space::Local,
                            fixed::CONSTANT => Space::Constant,
                            fixed::PRIVATE => Space::Private,
                            _ => {
                                self.check_generic(specifier.span);
                                Space::Generic
                            }
                        };
                        if out.explicit_space.is_some_and(|s| s != space) {
                            self.error(
                                Code::AddressSpace,
                                specifier.span,
                                "more than one address space",
                            );
                        }
                        out.explicit_space = Some(space);
                    }
                    other => words.push(other),
                },
            }
        }
        let mut ty = match named {
            Some(ty) => ty,
            None => QualType::plain(self.keyword_type(&words, span)),
        };
        if let Some(id) = defined_struct {
            // `packed` and `aligned` after the closing brace belong to the struct.
            if let Type::Struct(s) = *self.types.get(id) {
                let attributes: Vec<Attribute> = out.attributes.clone();
                self.struct_attributes(s, &attributes);
            }
        }
        if let Some(access) = access {
            match *self.types.get(ty.id) {
                Type::Image(kind, _) => ty.id = self.types.intern(Type::Image(kind, access)),
                Type::Error => {}
                _ => self.error(Code::Specifiers, span, "an access qualifier needs an image type"),
            }
        }
        ty.constant |= constant;
        ty.volatile |= volatile;
        if let Some(space) = out.explicit_space {
            ty = self.in_space(ty, space);
            ty.constant |= space == Space::Constant;
        }
        out.ty = ty;
        out
    }

    /// Refuses the generic address space where there is none.
    pub(super) fn check_generic(&mut self, span: Span) {
        if !self.context.is_library && !self.has_generic_space() {
            let message = "the generic address space needs -cl-std=CL2.0 or CL3.0, and sm_70";
            self.error(Code::AddressSpace, span, message);
        }
    }

    /// The same type for an object in another address space; array elements live where the array lives.
    pub(super) fn in_space(&mut self, ty: QualType, space: Space) -> QualType {
        let id = match *self.types.get(ty.id) {
            Type::Array(element, n) => {
                let element = self.in_space(element, space);
                self.types.intern(Type::Array(element, n))
            }
            _ => ty.id,
        };
        QualType { id, space, ..ty }
    }

    /// The type of a part of an object: it has the object's qualifiers and lives where it lives.
    pub(super) fn part_of(&mut self, object: QualType, part: QualType) -> QualType {
        let mut ty = self.in_space(part, object.space);
        if object.constant || object.volatile {
            ty = self.qualified(ty, object.constant, object.volatile);
        }
        ty
    }

    fn qualified(&mut self, ty: QualType, constant: bool, volatile: bool) -> QualType {
        let id = match *self.types.get(ty.id) {
            Type::Array(element, n) => {
                let element = self.qualified(element, constant, volatile);
                self.types.intern(Type::Array(element, n))
            }
            _ => ty.id,
        };
        QualType { id, constant: ty.constant || constant, volatile: ty.volatile || volatile, ..ty }
    }

    fn keyword_type(&mut self, words: &[Symbol], span: Span) -> TypeId {
        let count = |w: Symbol| words.iter().filter(|x| **x == w).count();
        let (signed, unsigned) = (count(fixed::SIGNED), count(fixed::UNSIGNED));
        let longs = count(fixed::LONG);
        let rest: Vec<Symbol> = words
            .iter()
            .copied()
            .filter(|w| !matches!(*w, fixed::SIGNED | fixed::UNSIGNED | fixed::LONG))
            .collect();
        let signs = signed + unsigned;
        let is_unsigned = unsigned > 0;
        let pick = |i: Scalar, u: Scalar| TypeId::from(if is_unsigned { u } else { i });
        let result = match (rest.as_slice(), longs, signs) {
            ([fixed::VOID], 0, 0) => Some(TypeId::VOID),
            ([fixed::BOOL], 0, 0) => Some(TypeId::BOOL),
            ([fixed::FLOAT], 0, 0) => Some(TypeId::FLOAT),
            ([fixed::DOUBLE], 0, 0) => Some(self.double(span)),
            ([fixed::HALF], 0, 0) => Some(Scalar::F16.into()),
            ([fixed::CHAR], 0, 0 | 1) => Some(pick(Scalar::I8, Scalar::U8)),
            (
                [fixed::SHORT] | [fixed::SHORT, fixed::INT] | [fixed::INT, fixed::SHORT],
                0,
                0 | 1,
            ) => Some(pick(Scalar::I16, Scalar::U16)),
            ([] | [fixed::INT], 0, 0 | 1) if signs == 1 || !rest.is_empty() => {
                Some(pick(Scalar::I32, Scalar::U32))
            }
            ([] | [fixed::INT], 1, 0 | 1) => Some(pick(Scalar::I64, Scalar::U64)),
            ([] | [fixed::INT], 2, _) => {
                self.error(
                    Code::InvalidType,
                    span,
                    "`long long` is reserved; `long` has 64 bits in OpenCL C",
                );
                return TypeId::ERROR;
            }
            _ => None,
        };
        result.unwrap_or_else(|| {
            let message = if words.is_empty() {
                "a declaration needs a type".to_string()
            } else {
                let list: Vec<String> = words.iter().map(|w| self.text(*w)).collect();
                format!("`{}` is not a type", list.join(" "))
            };
            self.error(Code::Specifiers, span, message);
            TypeId::ERROR
        })
    }

    /// `double`, or what stands in for it on a target without it.
    pub(super) fn double(&mut self, span: Span) -> TypeId {
        if self.session.options.sm < 13 {
            let message = format!(
                "sm_{} has no double precision; `double` is computed in single precision",
                self.session.options.sm
            );
            self.warn(Code::DoubleDemoted, span, message);
            return TypeId::FLOAT;
        }
        Scalar::F64.into()
    }

    fn typedef(&mut self, sym: Symbol, span: Span) -> QualType {
        if let Some(Entity::Typedef(ty)) = self.lookup(sym) {
            return ty;
        }
        match self.builtin_types.get(&sym).copied() {
            Some(id) => {
                if let Some((Scalar::F64, n)) = self.types.lanes(id) {
                    let id = self.double(span);
                    let scalar = self.types.scalar(id).unwrap_or(Scalar::F64);
                    return QualType::plain(self.types.vector(scalar, n));
                }
                QualType::plain(id)
            }
            None => {
                // The declaration had an error.
                QualType::plain(TypeId::ERROR)
            }
        }
    }
}
