//! Structs and unions: members, layout, attributes.

use super::analyzer::{Sema, Tag};
use crate::diag::{Code, Diag};
use crate::parse::ast::{self, Attribute, Declarator};
use crate::source::Span;
use crate::symbol::Symbol;
use crate::types::{Member, QualType, Struct, StructId, Type, TypeId};

/// Largest object: keeps sizes far from overflow.
const MAX_SIZE: u64 = 1 << 31;

impl Sema<'_> {
    pub(super) fn struct_specifier(
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
            Some(Tag::Enum(_)) => {
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
                    .all(|(d, _, _)| d.as_ref().is_some_and(Declarator::has_pointer))
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
                let ty = self.declarator_type(
                    base.ty,
                    base.explicit_space.is_some(),
                    declarator,
                    declaration.span,
                );
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

    pub(super) fn struct_attributes(&mut self, id: StructId, attributes: &[Attribute]) {
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
                let tag = match self.types.get(ty.id) {
                    Type::Struct(id) => self.types.structs[id.0 as usize].tag,
                    _ => None,
                };
                if !tag.is_some_and(|tag| self.session.failed_names.contains(&tag)) {
                    let name = self.value_type_name(ty);
                    let message = format!("type `{name}` is incomplete here");
                    self.error(Code::InvalidType, span, message);
                }
                None
            }
        }
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
