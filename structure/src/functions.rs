//! Functions that are too long.

use std::path::PathBuf;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{
    Block, Expr, ExprMatch, File, ImplItemFn, ItemFn, ItemImpl, ItemMod, Pat, Signature, Stmt,
    TraitItemFn,
};

use crate::modules::is_test;
use crate::{Function, LONGEST_FUNCTION};

/// Lines beside the match that a function which is one match may have: declarations, and what follows.
const BESIDE: usize = 30;
/// Most lines of an arm of such a match.
const LONGEST_ARM: usize = 30;

/// Functions of a file over [`LONGEST_FUNCTION`] that are not one match over one enum. Their file is left empty.
pub fn long(file: &File) -> Vec<Function> {
    let mut found = Functions::default();
    found.visit_file(file);
    found.long
}

#[derive(Default)]
struct Functions {
    long: Vec<Function>,
}

impl Functions {
    fn function(&mut self, signature: &Signature, body: &Block) {
        let first = signature.span().start().line;
        let lines = body.span().end().line + 1 - first;
        if lines > LONGEST_FUNCTION && !is_one_match(body, lines) {
            let name = signature.ident.to_string();
            self.long.push(Function { file: PathBuf::new(), line: first, name, lines });
        }
    }
}

fn lines(node: &impl syn::spanned::Spanned) -> usize {
    let span = node.span();
    span.end().line + 1 - span.start().line
}

/// Whether nearly all of a body is one match, over cases that have names, none of which is long itself.
fn is_one_match(body: &Block, all: usize) -> bool {
    let matches = body.stmts.iter().filter_map(|stmt| match stmt {
        Stmt::Expr(expr, _) => as_match(expr),
        Stmt::Local(local) => local.init.as_ref().and_then(|init| as_match(&init.expr)),
        Stmt::Item(_) | Stmt::Macro(_) => None,
    });
    matches.max_by_key(|m| lines(*m)).is_some_and(|one| {
        lines(one) + BESIDE >= all
            && one.arms.iter().all(|arm| names_cases(&arm.pat) && lines(&arm.body) <= LONGEST_ARM)
    })
}

/// The match that an expression is, perhaps inside `Ok(…)` or `Some(…)`, `unsafe` or behind `?` or `return`.
fn as_match(expr: &Expr) -> Option<&ExprMatch> {
    match expr {
        Expr::Match(one) => Some(one),
        Expr::Try(inner) => as_match(&inner.expr),
        Expr::Paren(inner) => as_match(&inner.expr),
        Expr::Return(inner) => as_match(inner.expr.as_deref()?),
        Expr::Call(call) if call.args.len() == 1 => as_match(&call.args[0]),
        Expr::Unsafe(inner) => match inner.block.stmts.as_slice() {
            [Stmt::Expr(expr, _)] => as_match(expr),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a pattern names cases of an enum: texts and numbers have no exhaustive list.
fn names_cases(pat: &Pat) -> bool {
    match pat {
        Pat::Path(_) | Pat::Struct(_) | Pat::TupleStruct(_) | Pat::Ident(_) | Pat::Wild(_) => true,
        Pat::Or(or) => or.cases.iter().all(names_cases),
        Pat::Paren(inner) => names_cases(&inner.pat),
        Pat::Reference(inner) => names_cases(&inner.pat),
        Pat::Tuple(tuple) => tuple.elems.first().is_some_and(names_cases),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !is_test(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }
}
