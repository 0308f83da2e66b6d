//! Names of variables in the text.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{Func, Op, PrivateVarData};
use crate::sema::hir::Program;
use crate::symbol::Interner;

/// Names of the variables: those of kernels carry the kernel's name.
pub(super) fn global_names(program: &Program, names: &Interner, kernels: &[Func]) -> Vec<String> {
    let mut taken = Taken::default();
    taken.names.extend(kernels.iter().map(|k| k.name.clone()));
    program
        .globals
        .iter()
        .map(|g| {
            let base = match g.owner {
                Some(owner) => format!(
                    "{}_{}",
                    names.text(program.functions[owner.0 as usize].name),
                    names.text(g.name)
                ),
                None => names.text(g.name).to_string(),
            };
            taken.unique(base)
        })
        .collect()
}

/// Names of a kernel's private variables.
pub(super) fn private_names(f: &Func, globals: &[String]) -> Vec<String> {
    let mut insts = f.blocks.iter().flat_map(|b| &b.insts);
    if !insts.any(|v| matches!(f.op(*v), Op::PrivateAddr(_))) {
        return Vec::new();
    }
    let mut taken = Taken::default();
    taken.names.extend(globals.iter().cloned());
    let mut name = |private: &PrivateVarData| taken.unique(format!("{}_{}", f.name, private.name));
    f.privates.iter().map(&mut name).collect()
}

/// A name like `base` that no variable has.
pub(super) fn unused(base: &str, taken: &[String]) -> String {
    let mut name = base.to_string();
    while taken.contains(&name) {
        name.push('_');
    }
    name
}

/// Names that are given out.
#[derive(Default)]
struct Taken {
    names: FxHashSet<String>,
    /// The next number to try behind a name.
    numbers: FxHashMap<String, u32>,
}

impl Taken {
    /// A name like `base` that nothing else has.
    fn unique(&mut self, base: String) -> String {
        if self.names.insert(base.clone()) {
            return base;
        }
        let n = self.numbers.entry(base.clone()).or_insert(1);
        loop {
            let name = format!("{base}_{n}");
            *n += 1;
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }
}
