//! Attributes.

use super::analyzer::Sema;
use super::hir::KernelAttributes;
use crate::diag::Code;
use crate::parse::ast::{Attribute, AttributeArg};
use crate::types::QualType;

impl Sema<'_> {
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
        for (size, arg) in out.iter_mut().zip(&attribute.args) {
            let value = match arg {
                AttributeArg::Expr(e) => self.integer_constant(e, "a work-group size"),
                AttributeArg::Type(_) => None,
            };
            match value.and_then(|v| u32::try_from(v).ok()).filter(|v| *v > 0) {
                Some(v) => *size = v,
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

    /// `__attribute__((ext_vector_type(n)))` of clang, for sources that carry it.
    pub(super) fn vector_attribute(&mut self, ty: QualType, attributes: &[Attribute]) -> QualType {
        for attribute in attributes {
            if self.attribute_name(attribute) == "ext_vector_type"
                && let [AttributeArg::Expr(e)] = attribute.args.as_slice()
                && let Some(n) = self.integer_constant(e, "a vector size")
                && let (Some(scalar), 2 | 3 | 4 | 8 | 16) = (self.types.scalar(ty.id), n)
            {
                return QualType { id: self.types.vector(scalar, n as u8), ..ty };
            }
        }
        ty
    }

    pub(super) fn kernel_attributes(&mut self, attributes: &[Attribute]) -> KernelAttributes {
        let mut out = KernelAttributes::default();
        for attribute in attributes {
            match self.attribute_name(attribute).as_str() {
                "reqd_work_group_size" => out.required_size = self.three_sizes(attribute),
                "work_group_size_hint" => out.size_hint = self.three_sizes(attribute),
                "vec_type_hint" => {
                    if let [AttributeArg::Type(name)] = attribute.args.as_slice() {
                        out.vec_type_hint = Some(self.type_of_name(name).id);
                    } else {
                        self.error(
                            Code::Attribute,
                            attribute.name.span,
                            "vec_type_hint takes a type",
                        );
                    }
                }
                "elementwise" | "overloadable" | "always_inline" | "noinline" | "pure"
                | "const" | "unused" | "nothrow" | "aligned" | "packed" | "endian" | "flatten"
                | "hot" | "cold" | "convergent" | "nosvm" => {}
                name => {
                    let message = format!("unknown attribute `{name}` ignored");
                    self.warn(Code::IgnoredAttribute, attribute.name.span, message);
                }
            }
        }
        out
    }
}
