//! Which files a file names.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ImplItemFn, ItemFn, ItemImpl, ItemMod, ItemUse, Macro, UseTree};

use crate::modules::{ModulePath, Source, Tree, is_test};

/// The files whose modules a file names, itself left out.
pub fn files_named<'a>(tree: &'a Tree, source: &Source) -> BTreeSet<&'a Path> {
    let mut names = Names { tree, module: source.module.clone(), files: BTreeSet::new() };
    names.visit_file(&source.syntax);
    names.files.remove(source.path.as_path());
    names.files
}

struct Names<'a> {
    tree: &'a Tree,
    /// The module around the place that is visited.
    module: ModulePath,
    files: BTreeSet<&'a Path>,
}

impl Names<'_> {
    /// Notes the file that a path leads to, if it is of this crate.
    fn path(&mut self, segments: &[String]) {
        let mut base = self.module.clone();
        let mut rest = segments;
        match segments.first().map(String::as_str) {
            Some("crate") => {
                base.clear();
                rest = &segments[1..];
            }
            Some("self" | "super") => {
                while let Some((first, after)) = rest.split_first() {
                    match first.as_str() {
                        "self" => {}
                        "super" => drop(base.pop()),
                        _ => break,
                    }
                    rest = after;
                }
            }
            // A module that is declared here; any other name is a crate, or came in by a `use`.
            Some(name) => {
                base.push(name.to_owned());
                if !self.tree.is_module(&base) {
                    return;
                }
                rest = &segments[1..];
            }
            None => return,
        }
        base.extend_from_slice(rest);
        self.files.insert(self.tree.file_of(&base));
    }

    fn use_tree(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.use_tree(&path.tree, before);
                before.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.use_tree(item, before));
            }
            UseTree::Name(name) => self.used(before, &name.ident.to_string()),
            UseTree::Rename(rename) => self.used(before, &rename.ident.to_string()),
            UseTree::Glob(_) => self.path(before),
        }
    }

    fn used(&mut self, before: &[String], name: &str) {
        let mut path = before.to_vec();
        if name != "self" || before.is_empty() {
            path.push(name.to_owned());
        }
        self.path(&path);
    }

    /// Paths in the tokens of a macro: names joined by `::`.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.token_path(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(p)
                    if p.as_char() == ':'
                        && !path.is_empty()
                        && (colons == 0 && p.spacing() == Spacing::Joint || colons == 1) =>
                {
                    colons += 1;
                }
                TokenTree::Group(group) => {
                    // `a::{b, c}`: counted as far as the group.
                    self.token_path(&mut path);
                    colons = 0;
                    self.tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.token_path(&mut path);
                    colons = 0;
                }
            }
        }
        self.token_path(&mut path);
    }

    fn token_path(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.path(path);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_test(&item.attrs) {
            self.use_tree(&item.tree, &mut Vec::new());
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if segments.len() > 1 && path.leading_colon.is_none() {
            self.path(&segments);
        }
        visit::visit_path(self, path);
    }

    /// `pub(super)` and `pub(in crate::a)` say who may look, and name nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_macro(&mut self, item: &'ast Macro) {
        visit::visit_macro(self, item);
        self.tokens(item.tokens.clone());
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if is_test(&item.attrs) || item.content.is_none() {
            return;
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !is_test(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }
}
