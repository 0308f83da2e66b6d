//! The modules of a crate and the files that hold them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use syn::{Attribute, Expr, File, Item, ItemMod, Lit, Meta};

/// Names from the root of the crate down; the root itself is empty.
pub type ModulePath = Vec<String>;

/// A source file of the crate.
pub struct Source {
    pub path: PathBuf,
    pub text: String,
    pub syntax: File,
    /// The module that the file is.
    pub module: ModulePath,
}

/// The modules of a crate without its tests.
pub struct Tree {
    pub sources: Vec<Source>,
    /// Every module, with the file it stands in; macros of `#[macro_export]` stand here too, at the root.
    files: BTreeMap<ModulePath, PathBuf>,
}

impl Tree {
    /// Reads a crate from its root, `lib.rs` or `main.rs`.
    pub fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree { sources: Vec::new(), files: BTreeMap::new() };
        let folder = root.parent().context("a source file stands in a folder")?;
        tree.file(root, Vec::new(), folder)?;
        Ok(tree)
    }

    /// The file of the longest prefix of `path` that is a module. The root is a prefix of every path.
    pub fn file_of(&self, path: &[String]) -> &Path {
        let prefixes = (0..=path.len()).rev();
        prefixes.filter_map(|n| self.files.get(&path[..n])).next().expect("the root is a module")
    }

    /// Whether this is a module of the crate.
    pub fn is_module(&self, path: &[String]) -> bool {
        self.files.contains_key(path)
    }

    /// Reads one file; the files of its modules stand in `folder`.
    fn file(&mut self, path: &Path, module: ModulePath, folder: &Path) -> Result<()> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let syntax = syn::parse_file(&text).with_context(|| path.display().to_string())?;
        self.files.insert(module.clone(), path.to_path_buf());
        self.items(&syntax.items, path, &module, folder)?;
        self.sources.push(Source { path: path.to_path_buf(), text, syntax, module });
        Ok(())
    }

    fn items(
        &mut self,
        items: &[Item],
        path: &Path,
        module: &[String],
        folder: &Path,
    ) -> Result<()> {
        for item in items {
            match item {
                Item::Mod(item) if !is_test(&item.attrs) => {
                    self.module(item, path, module, folder)?
                }
                Item::Macro(item)
                    if item.attrs.iter().any(|a| a.path().is_ident("macro_export")) =>
                {
                    let name = item.ident.iter().map(ToString::to_string).collect();
                    self.files.insert(name, path.to_path_buf());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn module(
        &mut self,
        item: &ItemMod,
        path: &Path,
        parent: &[String],
        folder: &Path,
    ) -> Result<()> {
        let name = item.ident.to_string();
        let module = [parent, std::slice::from_ref(&name)].concat();
        if let Some((_, items)) = &item.content {
            self.files.insert(module.clone(), path.to_path_buf());
            return self.items(items, path, &module, &folder.join(name));
        }
        if let Some(named) = item.attrs.iter().find_map(path_attribute) {
            let file = path.parent().context("a source file stands in a folder")?.join(named);
            let inner = file.parent().context("a source file stands in a folder")?.to_path_buf();
            return self.file(&file, module, &inner);
        }
        let inner = folder.join(&name);
        let (flat, nested) = (folder.join(format!("{name}.rs")), inner.join("mod.rs"));
        // Generated modules (`include!`, LALRPOP) have no file of ours.
        match (flat.exists(), nested.exists()) {
            (true, _) => self.file(&flat, module, &inner),
            (false, true) => self.file(&nested, module, &inner),
            (false, false) => Ok(()),
        }
    }
}

/// `#[cfg(test)]`, alone or among other conditions that must hold too.
pub fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("test")
            || attr.path().is_ident("cfg")
                && attr.meta.require_list().is_ok_and(|list| {
                    let text = list.tokens.to_string();
                    text == "test" || text.starts_with("all") && text.contains("test")
                })
    })
}

fn path_attribute(attr: &Attribute) -> Option<String> {
    match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
