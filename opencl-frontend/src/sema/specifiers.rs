//! Specifiers and declarators to types; structs, unions, enums; attributes.

use super::types::{Member, QualType, Scalar, Space, Struct, StructId, Type, TypeId};
use super::{Entity, Sema, Tag};
use crate::diag::{Code, Diag};
use crate::parse::ast::{self, Attribute, AttributeArg, Declarator, SpecifierKind};
use crate::source::Span;
use crate::symbol::{Symbol, fixed};

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

/// Largest object: keeps sizes far from overflow.
const MAX_SIZE: u64 = 1 << 31;

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
        let (mut read_only, mut write_only) = (false, false);
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
                    fixed::READ_ONLY => read_only = true,
                    fixed::WRITE_ONLY => write_only = true,
                    fixed::READ_WRITE => {
                        self.error(
                            Code::Specifiers,
                            specifier.span,
                            "`__read_write` images are not in OpenCL C 1.2",
                        );
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
                                let message = "the generic address space is not in OpenCL C 1.2";
                                self.error(Code::AddressSpace, specifier.span, message);
                                Space::Private
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
        if read_only && !matches!(self.types.get(ty.id), Type::Image(..) | Type::Error) {
            self.error(Code::Specifiers, span, "an access qualifier needs an image type");
        }
        if write_only {
            match *self.types.get(ty.id) {
                Type::Image(kind, _) => ty.id = self.types.intern(Type::Image(kind, true)),
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

    fn enum_specifier(&mut self, e: &ast::EnumSpecifier, span: Span) -> QualType {
        if let Some(tag) = e.tag {
            match (self.lookup_tag(tag.sym), &e.enumerators) {
                (Some(Tag::Struct(_)), None) => {
                    self.error(
                        Code::Redefinition,
                        span,
                        format!("`{}` is not an enum", self.text(tag.sym)),
                    );
                }
                (None, None) => {
                    let name = self.text(tag.sym);
                    self.error(Code::Undeclared, span, format!("unknown enum `{name}`"));
                }
                (_, Some(_)) => {
                    let scope = self.context.scopes.last_mut().expect("a scope is open");
                    if scope.tags.insert(tag.sym, (Tag::Enum, tag.span)).is_some() {
                        self.error(
                            Code::Redefinition,
                            tag.span,
                            format!("`{}` is defined twice", self.text(tag.sym)),
                        );
                    }
                }
                _ => {}
            }
        }
        let mut next = 0i64;
        for (name, value) in e.enumerators.iter().flatten() {
            if let Some(value) = value {
                next = self.integer_constant(value, "an enumerator").unwrap_or(next);
                if i32::try_from(next).is_err() && u32::try_from(next).is_err() {
                    self.error(
                        Code::NotConstant,
                        value.span,
                        "the value of an enumerator must fit into an int",
                    );
                }
            }
            self.declare_name(*name, Entity::Enumerator(next));
            next += 1;
        }
        QualType::plain(TypeId::INT)
    }

    fn struct_specifier(
        &mut self,
        s: &ast::StructSpecifier,
        span: Span,
        alias: Option<Symbol>,
    ) -> TypeId {
        let existing = s.tag.and_then(|tag| match &s.members {
            None => self.lookup_tag(tag.sym),
            Some(_) => self.context.scopes.last().and_then(|sc| sc.tags.get(&tag.sym)).map(|t| t.0),
        });
        let id = match existing {
            Some(Tag::Struct(id)) => {
                let old = &self.types.structs[id.0 as usize];
                if old.is_union != s.is_union {
                    let word = if old.is_union { "union" } else { "struct" };
                    let name = s.tag.map(|t| self.text(t.sym)).unwrap_or_default();
                    let message = format!("`{name}` is a {word}");
                    self.error(Code::Redefinition, span, message);
                    return TypeId::ERROR;
                }
                let within_itself = self.unfinished.contains(&id);
                if s.members.is_some() && (old.members.is_some() || within_itself) {
                    let at = old.span;
                    let name = s.tag.map(|t| self.text(t.sym)).unwrap_or_default();
                    let mut diag =
                        Diag::error(Code::Redefinition, format!("`{name}` is defined twice"));
                    if let Some(place) = self.place(at) {
                        diag = diag.note(Some(place), "first defined here");
                    }
                    self.report(diag, span);
                    if within_itself {
                        return TypeId::ERROR;
                    }
                    return self.types.intern(Type::Struct(id));
                }
                id
            }
            Some(Tag::Enum) => {
                self.error(Code::Redefinition, span, "this tag names an enum");
                return TypeId::ERROR;
            }
            None => {
                let id = StructId(self.types.structs.len() as u32);
                self.types.structs.push(Struct {
                    tag: s.tag.map(|t| t.sym),
                    alias,
                    is_union: s.is_union,
                    members: None,
                    size: 0,
                    align: 1,
                    span,
                });
                if let Some(tag) = s.tag {
                    let scope = self.context.scopes.last_mut().expect("a scope is open");
                    scope.tags.insert(tag.sym, (Tag::Struct(id), tag.span));
                }
                id
            }
        };
        if let Some(declarations) = &s.members {
            self.unfinished.push(id);
            self.define_struct(id, declarations);
            self.unfinished.pop();
            self.struct_attributes(id, &s.attributes);
            if existing.is_none()
                && let Some(same) = self.same_struct(id)
            {
                if let (Some(tag), Some(scope)) = (s.tag, self.context.scopes.last_mut()) {
                    scope.tags.insert(tag.sym, (Tag::Struct(same), tag.span));
                }
                return self.types.intern(Type::Struct(same));
            }
        }
        self.types.intern(Type::Struct(id))
    }

    /// The same struct of an earlier source of the program, as by a common header.
    fn same_struct(&self, id: StructId) -> Option<StructId> {
        let new = &self.types.structs[id.0 as usize];
        if self.context.is_library || new.tag.is_none() && new.alias.is_none() {
            return None;
        }
        let members = |s: &Struct| {
            let list = s.members.as_deref().unwrap_or_default();
            list.iter().map(|m| (m.name, m.ty, m.offset)).collect::<Vec<_>>()
        };
        let found = self.types.structs[..self.first_struct].iter().position(|old| {
            old.tag == new.tag
                && (new.tag.is_some() || old.alias == new.alias)
                && (old.is_union, old.size, old.align) == (new.is_union, new.size, new.align)
                && members(old) == members(new)
        });
        found.map(|i| StructId(i as u32))
    }

    fn define_struct(&mut self, id: StructId, declarations: &[ast::MemberDecl]) {
        let is_union = self.types.structs[id.0 as usize].is_union;
        let mut members: Vec<Member> = Vec::new();
        let (mut size, mut align) = (0u64, 1u64);
        for declaration in declarations {
            let base = self.specifiers(&declaration.specifiers, None);
            if let Some(space) = base.explicit_space
                && !declaration
                    .declarators
                    .iter()
                    .all(|(d, _, _)| matches!(d, Some(Declarator::Pointer(..))))
            {
                let message = format!("a member cannot be in the {} address space", space.name());
                self.error(Code::AddressSpace, declaration.span, message);
            }
            let mut add = |sema: &mut Self,
                           name: Option<ast::Name>,
                           ty: QualType,
                           attributes: &[Attribute],
                           span: Span| {
                if let Some(name) = name
                    && members.iter().any(|m| m.name == Some(name.sym))
                {
                    sema.error(
                        Code::Redefinition,
                        name.span,
                        format!("member `{}` is declared twice", sema.text(name.sym)),
                    );
                }
                let Some(bytes) = sema.object_size(ty, span) else { return };
                if matches!(sema.types.get(ty.id), Type::Image(..) | Type::Sampler | Type::Event) {
                    sema.error(
                        Code::InvalidType,
                        span,
                        "images, samplers and events cannot be members",
                    );
                }
                let mut member_align = sema.types.align(ty.id);
                if let Some(raised) = sema.aligned(attributes) {
                    member_align = member_align.max(raised);
                }
                if sema.has_attribute(attributes, "packed") {
                    member_align = 1;
                }
                let offset = if is_union { 0 } else { size.next_multiple_of(member_align) };
                size = size.max(offset + bytes);
                align = align.max(member_align);
                members.push(Member { name: name.map(|n| n.sym), ty, offset });
            };
            if declaration.declarators.is_empty() {
                if matches!(self.types.get(base.ty.id), Type::Struct(_)) {
                    add(self, None, base.ty, &[], declaration.span);
                } else {
                    self.warn(
                        Code::UnusedValue,
                        declaration.span,
                        "this declaration declares nothing",
                    );
                }
            }
            for (declarator, width, attributes) in &declaration.declarators {
                if let Some(width) = width {
                    self.error(Code::InvalidType, width.span, "OpenCL C has no bit-fields (6.9.c)");
                    continue;
                }
                let Some(declarator) = declarator else { continue };
                let ty = self.declarator_type(base.ty, declarator, declaration.span);
                let mut all = base.attributes.clone();
                all.extend(attributes.iter().cloned());
                let span = declarator.name().map_or(declaration.span, |n| n.span);
                add(self, declarator.name(), ty, &all, span);
            }
        }
        let s = &mut self.types.structs[id.0 as usize];
        (s.size, s.align) = (size.next_multiple_of(align), align);
        s.members = Some(members);
    }

    fn struct_attributes(&mut self, id: StructId, attributes: &[Attribute]) {
        let packed = self.has_attribute(attributes, "packed");
        let raised = self.aligned(attributes);
        let Some(mut members) = self.types.structs[id.0 as usize].members.clone() else { return };
        let is_union = self.types.structs[id.0 as usize].is_union;
        if packed {
            let mut size = 0;
            for member in &mut members {
                let bytes = self.types.size(member.ty.id).unwrap_or(0);
                member.offset = if is_union { 0 } else { size };
                size = size.max(member.offset + bytes);
            }
            let s = &mut self.types.structs[id.0 as usize];
            (s.size, s.align, s.members) = (size, 1, Some(members));
        }
        if let Some(raised) = raised {
            let s = &mut self.types.structs[id.0 as usize];
            s.align = s.align.max(raised);
            s.size = s.size.next_multiple_of(s.align);
        }
    }

    /// Size of an object of a type, which must be complete and not too large.
    pub(super) fn object_size(&mut self, ty: QualType, span: Span) -> Option<u64> {
        if self.types.is_error(ty.id) {
            return None;
        }
        match self.types.size(ty.id) {
            Some(size) if size <= MAX_SIZE => Some(size),
            Some(_) => {
                self.error(Code::Limit, span, "this object is too large");
                None
            }
            None => {
                let name = self.value_type_name(ty);
                self.error(Code::InvalidType, span, format!("type `{name}` is incomplete here"));
                None
            }
        }
    }

    // Declarators

    /// The type that a declarator makes of the base type.
    pub(super) fn declarator_type(
        &mut self,
        base: QualType,
        declarator: &Declarator,
        span: Span,
    ) -> QualType {
        match declarator {
            Declarator::Abstract | Declarator::Name(_) => base,
            Declarator::Pointer(qualifiers, inner) => {
                let mut ty = QualType::plain(self.types.pointer(base));
                for qualifier in qualifiers {
                    match qualifier.kind {
                        SpecifierKind::Keyword(fixed::CONST) => ty.constant = true,
                        SpecifierKind::Keyword(fixed::VOLATILE) => ty.volatile = true,
                        SpecifierKind::Keyword(fixed::GLOBAL) => ty.space = Space::Global,
                        SpecifierKind::Keyword(fixed::LOCAL) => ty.space = Space::Local,
                        SpecifierKind::Keyword(fixed::CONSTANT) => {
                            ty.space = Space::Constant;
                            ty.constant = true;
                        }
                        _ => {}
                    }
                }
                if matches!(self.types.get(base.id), Type::Function(..)) {
                    self.error(
                        Code::InvalidType,
                        span,
                        "OpenCL C has no pointers to functions (6.9.a)",
                    );
                    ty.id = TypeId::ERROR;
                }
                if matches!(self.types.get(base.id), Type::Image(..) | Type::Sampler) {
                    let name = self.value_type_name(base);
                    self.error(
                        Code::InvalidType,
                        span,
                        format!("OpenCL C has no pointers to `{name}` (6.9.b)"),
                    );
                    ty.id = TypeId::ERROR;
                }
                self.declarator_type(ty, inner, span)
            }
            Declarator::Array(inner, extent) => {
                let mut n = None;
                if let Some(extent) = extent {
                    n = self.integer_constant(extent, "an array extent").map(|v| v.max(-1) as u64);
                    if n == Some(u64::MAX) {
                        self.error(
                            Code::InvalidType,
                            extent.span,
                            "an array extent must not be negative",
                        );
                        n = Some(1);
                    }
                    n = n.or(Some(1));
                }
                let bad = match self.types.get(base.id) {
                    Type::Function(..) => Some("functions"),
                    Type::Image(..) => Some("images"),
                    Type::Sampler => Some("samplers"),
                    Type::Void => Some("void"),
                    Type::Array(_, None) => Some("arrays without an extent"),
                    _ => None,
                };
                if let Some(bad) = bad {
                    self.error(Code::InvalidType, span, format!("there are no arrays of {bad}"));
                    return self.declarator_type(QualType::plain(TypeId::ERROR), inner, span);
                }
                let id = self.types.intern(Type::Array(base, n));
                self.declarator_type(QualType { id, ..base }, inner, span)
            }
            Declarator::Function(inner, params, variadic) => {
                if *variadic {
                    self.error(
                        Code::InvalidType,
                        span,
                        "OpenCL C has no functions with variable arguments (6.9.e)",
                    );
                }
                let params = self.param_types(params);
                let types: Box<[QualType]> = params.iter().map(|p| p.1.value()).collect();
                let id = self.types.intern(Type::Function(base.value(), types));
                self.declarator_type(QualType::plain(id), inner, span)
            }
        }
    }

    /// Names and types of parameters, arrays turned into pointers.
    pub(super) fn param_types(
        &mut self,
        params: &[ast::Param],
    ) -> Vec<(Option<ast::Name>, QualType, Span)> {
        if let [only] = params
            && matches!(only.declarator, Declarator::Abstract)
            && matches!(only.specifiers.as_slice(), [s] if matches!(s.kind, SpecifierKind::Keyword(fixed::VOID)))
        {
            return Vec::new();
        }
        let mut out = Vec::new();
        for param in params {
            let base = self.specifiers(&param.specifiers, None);
            let mut ty = self.declarator_type(base.ty, &param.declarator, param.span);
            if let Type::Array(element, _) = *self.types.get(ty.id) {
                ty = QualType::plain(self.types.pointer(element));
            } else if ty.space != Space::Private {
                let message = format!(
                    "a parameter cannot itself be in the {} address space",
                    ty.space.name()
                );
                self.error(Code::AddressSpace, param.span, message);
                ty.space = Space::Private;
            }
            if matches!(self.types.get(ty.id), Type::Void | Type::Function(..)) {
                let name = self.value_type_name(ty);
                self.error(
                    Code::InvalidType,
                    param.span,
                    format!("a parameter cannot have type `{name}`"),
                );
                ty.id = TypeId::ERROR;
            }
            out.push((param.declarator.name(), ty, param.span));
        }
        out
    }

    /// The type that a type name names.
    pub(super) fn type_of_name(&mut self, name: &ast::TypeName) -> QualType {
        let base = self.specifiers(&name.specifiers, None);
        self.declarator_type(base.ty, &name.declarator, name.span)
    }

    // Attributes

    pub(super) fn attribute_name(&self, attribute: &Attribute) -> String {
        let text = self.session.names.text(attribute.name.sym);
        text.strip_prefix("__").and_then(|t| t.strip_suffix("__")).unwrap_or(text).to_string()
    }

    pub(super) fn has_attribute(&self, attributes: &[Attribute], name: &str) -> bool {
        attributes.iter().any(|a| self.attribute_name(a) == name)
    }

    /// The alignment that `aligned` asks for.
    pub(super) fn aligned(&mut self, attributes: &[Attribute]) -> Option<u64> {
        let mut best = None;
        for attribute in attributes {
            if self.attribute_name(attribute) != "aligned" {
                continue;
            }
            let value = match attribute.args.as_slice() {
                [] => Some(16),
                [AttributeArg::Expr(e)] => {
                    self.integer_constant(e, "an alignment").map(|v| v as u64)
                }
                _ => None,
            };
            match value {
                Some(v) if v.is_power_of_two() && v <= 1 << 16 => best = best.max(Some(v)),
                _ => self.error(
                    Code::Attribute,
                    attribute.name.span,
                    "an alignment must be a power of two",
                ),
            }
        }
        best
    }

    /// Three positive integers, as `reqd_work_group_size` takes.
    pub(super) fn three_sizes(&mut self, attribute: &Attribute) -> Option<[u32; 3]> {
        let mut out = [0; 3];
        if attribute.args.len() != 3 {
            self.error(Code::Attribute, attribute.name.span, "this attribute takes three sizes");
            return None;
        }
        for (slot, arg) in out.iter_mut().zip(&attribute.args) {
            let value = match arg {
                AttributeArg::Expr(e) => self.integer_constant(e, "a work-group size"),
                AttributeArg::Type(_) => None,
            };
            match value.and_then(|v| u32::try_from(v).ok()).filter(|v| *v > 0) {
                Some(v) => *slot = v,
                None => {
                    self.error(
                        Code::Attribute,
                        attribute.name.span,
                        "a work-group size must be a positive integer",
                    );
                    return None;
                }
            }
        }
        Some(out)
    }

    /// True for a type that holds a pointer somewhere.
    pub(super) fn holds_pointer(&self, id: TypeId) -> bool {
        match self.types.get(id) {
            Type::Pointer(_) => true,
            Type::Array(element, _) => self.holds_pointer(element.id),
            Type::Struct(s) => {
                let members =
                    self.types.structs[s.0 as usize].members.as_deref().unwrap_or_default();
                members.iter().any(|m| self.holds_pointer(m.ty.id))
            }
            _ => false,
        }
    }
}
