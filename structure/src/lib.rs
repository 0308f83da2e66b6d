//! Measures the sources of this workspace: which files import each other in a circle, which functions and
//! files are too long to take in.
//!
//! `cargo xtask structure` prints the numbers; `tests/limits.rs` holds the limits.
//!
//! An arrow runs from file to file where the first names something of the second: in `use` and `pub use`, in a
//! path such as `crate::a::b`, and in the tokens of a macro. A path stands for the file of its longest prefix
//! that is a module, so a name which `lib.rs` hands on is an arrow to `lib.rs` and one from there. `mod x;` is
//! no arrow. Tests and `#[cfg(test)]` modules are left out.

mod functions;
mod modules;
mod paths;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use cargo_metadata::{MetadataCommand, TargetKind};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::modules::Tree;

/// Longest function in lines, unless it is one match over one enum.
pub const LONGEST_FUNCTION: usize = 120;
/// Most lines a file should have.
pub const LONGEST_FILE: usize = 600;
/// Most files that may import each other in a circle.
pub const LARGEST_CIRCLE: usize = 4;

/// What was measured of one crate. Paths are relative to the root of the workspace.
#[derive(Debug)]
pub struct Crate {
    /// Name of the package.
    pub name: String,
    /// Source files, with their lines.
    pub files: BTreeMap<PathBuf, usize>,
    /// Arrows between files: who names whom.
    pub arrows: Vec<(PathBuf, PathBuf)>,
    /// Files that reach each other, two or more in each circle; the largest circle first.
    pub circles: Vec<Vec<PathBuf>>,
    /// Functions over [`LONGEST_FUNCTION`] that are not one match over one enum; the longest first.
    pub long_functions: Vec<Function>,
}

/// A function of the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its file, relative to the root of the workspace.
    pub file: PathBuf,
    /// Line of its signature, from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Lines from the signature to the closing brace.
    pub lines: usize,
}

impl Crate {
    /// Files of the largest circle, 0 where there is none.
    pub fn largest_circle(&self) -> usize {
        self.circles.first().map_or(0, Vec::len)
    }

    /// Files over [`LONGEST_FILE`], the longest first.
    pub fn long_files(&self) -> Vec<(&Path, usize)> {
        let mut long: Vec<(&Path, usize)> =
            self.files.iter().map(|(file, lines)| (file.as_path(), *lines)).collect();
        long.retain(|&(_, lines)| lines > LONGEST_FILE);
        long.sort_by_key(|&(_, lines)| std::cmp::Reverse(lines));
        long
    }
}

/// Measures every crate of the workspace whose manifest is named.
pub fn measure(manifest: &Path) -> Result<Vec<Crate>> {
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec()?;
    let root = metadata.workspace_root.as_std_path();
    let mut crates = Vec::new();
    for package in &metadata.packages {
        let mut trees = Vec::new();
        for target in &package.targets {
            let shipped = [TargetKind::Lib, TargetKind::Bin, TargetKind::CDyLib, TargetKind::RLib];
            if target.kind.iter().any(|kind| shipped.contains(kind)) {
                trees.push(Tree::read(target.src_path.as_std_path())?);
            }
        }
        crates.push(of_trees(package.name.as_str(), &trees, root)?);
    }
    Ok(crates)
}

fn of_trees(name: &str, trees: &[Tree], root: &Path) -> Result<Crate> {
    let relative = |file: &Path| file.strip_prefix(root).unwrap_or(file).to_path_buf();
    let mut files = BTreeMap::new();
    let mut long_functions = Vec::new();
    let mut arrows = Vec::new();
    for tree in trees {
        for source in &tree.sources {
            let file = relative(&source.path);
            for to in paths::files_named(tree, source) {
                arrows.push((file.clone(), relative(to)));
            }
            if files.insert(file.clone(), source.text.lines().count()).is_none() {
                let long = functions::long(&source.syntax).into_iter();
                long_functions.extend(long.map(|f| Function { file: file.clone(), ..f }));
            }
        }
    }
    arrows.sort();
    arrows.dedup();
    long_functions.sort_by_key(|f| std::cmp::Reverse(f.lines));

    let mut graph = DiGraphMap::<&Path, ()>::new();
    for (from, to) in &arrows {
        graph.add_edge(from, to, ());
    }
    let mut circles: Vec<Vec<PathBuf>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|circle| circle.len() > 1)
        .map(|circle| circle.into_iter().map(Path::to_path_buf).collect())
        .collect();
    circles.iter_mut().for_each(|circle: &mut Vec<PathBuf>| circle.sort());
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    Ok(Crate { name: name.to_owned(), files, arrows, circles, long_functions })
}

/// Prints what is beyond a limit, and every circle with its arrows.
impl fmt::Display for Crate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: usize = self.files.values().sum();
        let long = self.long_files();
        writeln!(
            f,
            "{}: {} files, {lines} lines; largest circle {}, functions over {LONGEST_FUNCTION} lines {}, files over \
             {LONGEST_FILE} lines {}",
            self.name,
            self.files.len(),
            self.largest_circle(),
            self.long_functions.len(),
            long.len(),
        )?;
        for circle in &self.circles {
            writeln!(f, "  circle of {}:", circle.len())?;
            for file in circle {
                let to =
                    self.arrows.iter().filter(|(from, to)| from == file && circle.contains(to));
                let to: Vec<String> = to.map(|(_, to)| short(to)).collect();
                writeln!(f, "    {} -> {}", short(file), to.join(", "))?;
            }
        }
        for Function { file, line, name, lines } in &self.long_functions {
            writeln!(f, "  function of {lines} lines: {}:{line} {name}", file.display())?;
        }
        for (file, lines) in long {
            writeln!(f, "  file of {lines} lines: {}", file.display())?;
        }
        Ok(())
    }
}

/// A path without the crate's folder and `src`.
fn short(file: &Path) -> String {
    let inside: PathBuf = file.iter().skip_while(|part| *part != "src").skip(1).collect();
    let shown = if inside.as_os_str().is_empty() { file } else { &inside };
    shown.display().to_string()
}

/// Prints the crates of a workspace that are `wanted`, or all of them.
pub fn print(manifest: &Path, wanted: &[String]) -> Result<()> {
    for one in measure(manifest)? {
        if wanted.is_empty() || wanted.contains(&one.name) {
            print!("{one}");
        }
    }
    Ok(())
}
