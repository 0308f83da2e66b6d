//! Actions of debug sections.

use super::{Builder, run_since};
use crate::ast::*;
use crate::diag::Code;
use crate::span::Span;

impl Builder<'_> {
    pub(crate) fn section(&mut self, l: u32, nl: u32, r: u32) {
        let name = self.make_word(nl, r);
        self.section = self.ast.sections.len() as u32;
        let items = Run { first: self.ast.section_items.len() as u32, count: 0 };
        self.ast.sections.push(Section { name, span: Span::new(l, r), items });
    }

    pub(crate) fn section_end(&mut self, r: u32) {
        let len = self.ast.section_items.len();
        let section = &mut self.ast.sections[self.section as usize];
        section.span.end = r;
        section.items = run_since(section.items.first, len);
        self.ast.items.push(Item::Section(self.section));
    }

    pub(crate) fn section_type(&mut self, l: u32, r: u32) {
        self.section_row = true;
        self.section_width = match self.text(l, r) {
            b".b8" => 1,
            b".b16" => 2,
            b".b32" => 4,
            b".b64" => 8,
            _ => {
                self.error(Code::Type, Span::new(l, r), "illegal type of a section's data")
                    .help("rows begin with `.b8`, `.b16`, `.b32` or `.b64`");
                1
            }
        };
    }

    #[inline]
    fn section_item(&mut self, kind: SectionItemKind, start: u32, a: u32, b: u32) {
        let row = std::mem::take(&mut self.section_row);
        let width = self.section_width;
        self.ast.section_items.push(SectionItem { kind, width, row, start, a, b });
    }

    pub(crate) fn section_label(&mut self, l: u32, r: u32) {
        let name = self.intern(l, r);
        self.section_item(SectionItemKind::Label, l, name.0, 0);
    }

    #[inline]
    pub(crate) fn section_int(&mut self, l: u32, il: u32, r: u32) {
        let magnitude = self.int_value(il, r).0;
        let value = if l == il { magnitude } else { magnitude.wrapping_neg() };
        self.section_item(SectionItemKind::Int, l, value as u32, (value >> 32) as u32);
    }

    pub(crate) fn section_address(&mut self, l: u32, r: u32) {
        let name = self.intern(l, r);
        self.section_item(SectionItemKind::Address, l, name.0, 0);
    }

    pub(crate) fn section_offset(&mut self, l: u32, r: u32, il: u32, ir: u32) {
        let name = self.intern(l, r);
        let offset = self.small_int(il, ir);
        self.section_item(SectionItemKind::Address, l, name.0, offset);
    }

    pub(crate) fn section_difference(&mut self, l: u32, r: u32, ml: u32, mr: u32) {
        let name = self.intern(l, r);
        let minus = self.intern(ml, mr);
        self.section_item(SectionItemKind::Difference, l, name.0, minus.0);
    }
}
