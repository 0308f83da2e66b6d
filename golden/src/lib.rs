//! Reader of the recorded instruction results: `data/isa-golden.tar.xz`, a sample of what was
//! recorded, and the whole of it (`../shared/isa-golden`) where it is there.
//!
//! A *form* is one instruction shape with a table of operands (rows of 64-bit slots) and, per row,
//! the bits that real hardware returned. [`Golden::shared`] takes the recordings beside the
//! repository, else the sample in it:
//!
//! ```no_run
//! let golden = golden::Golden::shared().expect("the repository holds recordings");
//! for form in golden.forms().filter(|f| f.group() == "f32_arith") {
//!     for row in 0..form.rows() {
//!         let _operands: &[u64] = form.row(row);
//!         let _recorded: u64 = form.output(0, row);
//!     }
//! }
//! ```

pub mod kernels;
pub mod need;
pub mod set;
mod source;
pub mod tensors;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use source::Source;
pub use source::texts_of;

/// What the output buffer holds before a kernel runs, in every byte.
pub const POISON: u8 = 0xA5;

/// Why the recordings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or unpacked.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A JSON file does not have the expected shape.
    #[error("{path}: {source}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the JSON reader said.
        source: serde_json::Error,
    },
    /// The files do not fit each other.
    #[error("form {form}: {what}")]
    Inconsistent {
        /// The form's name.
        form: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A recorded kernel case is not as described.
    #[error("recorded kernels: {0}")]
    Format(String),
}

/// One entry of `forms.json`: an instruction form and how its operands and results are laid out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FormInfo {
    /// Name of the form, which is also the kernel's entry name.
    pub name: String,
    /// Group, such as `f32_arith`.
    pub group: String,
    /// Instruction text without operands, such as `add.rn.f32`.
    pub inst: String,
    /// Module file (without `.ptx`) that holds the kernel.
    pub module: String,
    /// Name of the operand table.
    pub table: String,
    /// Kind of each operand slot (`f32`, `i64`, `p`, …).
    pub ins: Vec<String>,
    /// Kind of each output slot (`b32`, `p`, `m64`, `-`, …).
    pub outs: Vec<String>,
    /// `exact`, `approx` or `matrix`.
    pub class: String,
    /// `Some("differs")` where the recording departs from the manual's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// A case that the page leaves open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A form that ptxas refuses.
#[derive(Debug, Clone, Deserialize)]
pub struct Rejected {
    /// Name of the form, which is also the kernel's entry name in `rejected/GROUP.ptx`.
    pub name: String,
    /// Group, which names the file.
    pub group: String,
    /// Instruction text without operands.
    pub inst: String,
    /// The first message of ptxas.
    pub message: String,
}

#[derive(Deserialize)]
struct FormsFile {
    block: u32,
    forms: Vec<FormInfo>,
}

#[derive(Deserialize)]
struct TablesFile {
    tables: HashMap<String, Table>,
}

#[derive(Deserialize, Clone, Copy)]
struct Table {
    n: usize,
    slots: usize,
    offset: usize,
}

#[derive(Deserialize)]
struct ResultsFile {
    forms: HashMap<String, (usize, usize)>,
}

struct Entry {
    info: FormInfo,
    table: Table,
    /// Start of each output column in `Golden::outputs`, with its width in bytes.
    columns: Vec<(usize, usize)>,
}

/// The recordings of one operand set.
pub struct Golden {
    root: Source,
    block: u32,
    inputs: Vec<u64>,
    outputs: Vec<u8>,
    recorded: bool,
    entries: Vec<Entry>,
}

/// Bytes of an output kind; `None` for an unknown kind.
#[must_use]
pub fn output_width(kind: &str) -> Option<usize> {
    Some(match kind {
        "-" => 0,
        "p" | "m8" => 1,
        "b16" | "m16" => 2,
        "b32" | "f32" | "m32" => 4,
        "b64" | "f64" | "m64" => 8,
        _ => return None,
    })
}

/// Folder of the recordings and facts beside the repository, if it is there.
#[must_use]
pub fn shared_dir() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    dir.is_dir().then_some(dir)
}

/// The recordings kept in the repository (`cargo xtask golden pack` makes them).
#[must_use]
pub fn packed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name).with_extension("tar.xz")
}

/// The folder `name` beside the repository, or the sample of it in the repository.
fn shared_or_packed(name: &str) -> Option<PathBuf> {
    let all = shared_dir().map(|d| d.join(name)).filter(|d| d.is_dir());
    all.or_else(|| Some(packed(name))).filter(|p| p.exists())
}

impl Golden {
    /// Reads the recordings that `PTXRUN_GOLDEN` names (a folder or an archive), for recordings of
    /// one's own; else those beside the repository; else the sample of them in the repository.
    ///
    /// # Panics
    /// When the recordings are there but damaged.
    #[must_use]
    pub fn shared() -> Option<Self> {
        let root = match std::env::var_os("PTXRUN_GOLDEN") {
            Some(own) => own.into(),
            None => shared_or_packed("isa-golden")?,
        };
        root.exists().then(|| Self::load(&root).unwrap_or_else(|e| panic!("isa-golden: {e}")))
    }

    /// The recordings that come with the repository (`data/README.md`): sparse products, every
    /// `wmma` shape with its fragments, shared-memory layouts of `wgmma`, asynchronous copies and
    /// clusters.
    ///
    /// # Panics
    /// When the files are damaged.
    #[must_use]
    pub fn embedded() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/h200");
        Self::load(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()))
    }

    /// Reads the recordings (operand set A) of the folder or archive `root`.
    pub fn load(root: &Path) -> Result<Self, Error> {
        let root = Source::open(root)?;
        Self::assemble(root, None)
    }

    /// Reads the recordings of another operand set (its `tables.json`, `inputs.bin.gz`,
    /// `results.json` and `outputs.bin.gz`), for the forms and modules of `root`. Without
    /// `results.json` and `outputs.bin.gz` there are operands only ([`Form::recorded`]).
    pub fn load_set(root: &Path, set: &Path) -> Result<Self, Error> {
        let root = Source::open(root)?;
        let set = Source::open(set)?;
        Self::assemble(root, Some(set))
    }

    fn assemble(root: Source, set: Option<Source>) -> Result<Self, Error> {
        let (from, prefix) = set.as_ref().map_or((&root, "setA/"), |s| (s, ""));
        let name = |file: &str| format!("{prefix}{file}");
        let forms: FormsFile = root.json("forms.json")?;
        let tables: TablesFile = from.json(&name("tables.json"))?;
        let recorded = from.has(&name("results.json"));
        let (mut places, mut outputs) = (HashMap::new(), Vec::new());
        if recorded {
            places = from.json::<ResultsFile>(&name("results.json"))?.forms;
            outputs = from.binary(&name("outputs.bin"))?;
        }
        let inputs = from
            .binary(&name("inputs.bin"))?
            .chunks_exact(8)
            .map(|c| u64::from_le_bytes(c.try_into().expect("chunk of eight")))
            .collect::<Vec<_>>();
        let mut entries = Vec::with_capacity(forms.forms.len());
        for info in forms.forms {
            let wrong = |what| Error::Inconsistent { form: info.name.clone(), what };
            // A form that differs from run to run, or that this set leaves out, has no results.
            let place = places.get(&info.name).copied();
            if recorded && place.is_none() {
                continue;
            }
            let Some(&table) = tables.tables.get(&info.table) else {
                if recorded {
                    return Err(wrong("no such operand table"));
                }
                continue;
            };
            if table.offset / 8 + table.n * table.slots > inputs.len() {
                return Err(wrong("operand table ends past the inputs"));
            }
            let mut columns = Vec::with_capacity(info.outs.len());
            let mut at = place.map_or(0, |p| p.0);
            for kind in &info.outs {
                let width = output_width(kind).ok_or_else(|| wrong("unknown output kind"))?;
                columns.push((at, width));
                at += width * table.n;
            }
            if let Some((offset, bytes)) = place
                && (at != offset + bytes || at > outputs.len())
            {
                return Err(wrong("size of the recorded results"));
            }
            entries.push(Entry { info, table, columns });
        }
        Ok(Self { root, block: forms.block, inputs, outputs, recorded, entries })
    }

    /// Threads per block with which the forms ran (grid = rows / block).
    #[must_use]
    pub fn block(&self) -> u32 {
        self.block
    }

    /// All recorded forms, in file order.
    pub fn forms(&self) -> impl Iterator<Item = Form<'_>> {
        self.entries.iter().map(|entry| Form { golden: self, entry })
    }

    /// The form of that name.
    #[must_use]
    pub fn form(&self, name: &str) -> Option<Form<'_>> {
        self.forms().find(|f| f.name() == name)
    }

    /// Text of the module file `name` (without `.ptx`), holding many kernels; it may be packed.
    pub fn module_text(&self, name: &str) -> Result<String, Error> {
        let text = self.root.binary(&format!("modules/{name}.ptx"))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The forms that ptxas refuses.
    pub fn rejected(&self) -> Result<Vec<Rejected>, Error> {
        self.root.json("rejected.json")
    }

    /// Text of `rejected/GROUP.ptx`; every entry must be refused alone, with the file's header.
    pub fn rejected_text(&self, group: &str) -> Result<String, Error> {
        self.root.text(&format!("rejected/{group}.ptx"))
    }
}

/// Splits a module text into its header and `(form name, entry text)` at the `// @form NAME` lines.
/// Header + entry is a complete module.
#[must_use]
pub fn split_module(text: &str) -> (&str, Vec<(&str, &str)>) {
    let mut parts = text.split("// @form ");
    let header = parts.next().unwrap_or("");
    let entries = parts.map(|p| p.split_once('\n').map_or((p, ""), |(n, t)| (n.trim(), t)));
    (header, entries.collect())
}

/// One recorded form.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    golden: &'a Golden,
    entry: &'a Entry,
}

impl<'a> Form<'a> {
    /// Everything `forms.json` says about the form.
    #[must_use]
    pub fn info(&self) -> &'a FormInfo {
        &self.entry.info
    }

    /// Name of the form and its kernel.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.entry.info.name
    }

    /// Group, such as `setp`.
    #[must_use]
    pub fn group(&self) -> &'a str {
        &self.entry.info.group
    }

    /// Instruction text without operands.
    #[must_use]
    pub fn inst(&self) -> &'a str {
        &self.entry.info.inst
    }

    /// Number of operand rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.entry.table.n
    }

    /// 64-bit slots per operand row.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.entry.table.slots
    }

    /// Operands of a row; kinds are in `info().ins`.
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [u64] {
        let t = self.entry.table;
        assert!(row < t.n, "row out of range");
        &self.golden.inputs[t.offset / 8 + row * t.slots..][..t.slots]
    }

    /// The whole operand table as the kernel reads it.
    #[must_use]
    pub fn table(&self) -> &'a [u64] {
        let t = self.entry.table;
        &self.golden.inputs[t.offset / 8..][..t.n * t.slots]
    }

    /// Whether there are results, and not operands only.
    #[must_use]
    pub fn recorded(&self) -> bool {
        self.golden.recorded
    }

    /// The recorded values without what lies between them: for every output in order, a value of
    /// its width per row.
    #[must_use]
    pub fn packed_outputs(&self) -> &'a [u8] {
        let start = self.entry.columns.first().map_or(0, |c| c.0);
        let bytes: usize = self.entry.columns.iter().map(|c| c.1 * self.rows()).sum();
        &self.golden.outputs[start..][..bytes]
    }

    /// Recorded value of output `slot` in `row`, zero-extended.
    #[must_use]
    pub fn output(&self, slot: usize, row: usize) -> u64 {
        let (at, width) = self.entry.columns[slot];
        assert!(row < self.entry.table.n, "row out of range");
        let mut b = [0; 8];
        b[..width].copy_from_slice(&self.golden.outputs[at + row * width..][..width]);
        u64::from_le_bytes(b)
    }

    /// The output buffer as the kernel leaves it: eight bytes per slot and row, `0xA5` where
    /// nothing is written.
    #[must_use]
    pub fn output_image(&self) -> Vec<u8> {
        let slots = self.entry.columns.len().max(1);
        let mut image = vec![POISON; 8 * slots * self.rows()];
        for (slot, &(at, width)) in self.entry.columns.iter().enumerate() {
            for row in 0..self.rows() {
                image[8 * (row * slots + slot)..][..width]
                    .copy_from_slice(&self.golden.outputs[at + row * width..][..width]);
            }
        }
        image
    }

    /// The kernel as a module of its own.
    pub fn module_text(&self) -> Result<String, Error> {
        let text = self.golden.module_text(&self.entry.info.module)?;
        let (header, entries) = split_module(&text);
        let entry = entries.iter().find(|(n, _)| *n == self.name());
        let entry = entry.ok_or_else(|| Error::Inconsistent {
            form: self.name().into(),
            what: "its module does not hold it",
        })?;
        Ok(format!("{header}{}", entry.1))
    }
}
