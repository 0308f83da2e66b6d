//! Tests that are files: `tests/ptx/*.ptx`, `tests/cl/*.cl`, and `.cu` and `.cl` files in `tests/truth`, with folders
//! inside. Their comments say what to run and what must come out. Every file runs on every engine: the interpreter, and compiled code at each vector width
//! that this processor has.
//!
//! The shortest test is one line. Types stand where registers go; each case lists the sources, then the results:
//!
//! ```text
//! // eval: popc.b32 u32, b32: 0xff -> 8, 0 -> 0
//! ```
//!
//! Comments of launches:
//!
//! - `// eval: INSTRUCTION: SOURCES -> RESULTS, …` runs one instruction, or several that `;` separates, on these
//!   values.
//! - `// target: sm_80 8.0`: target and PTX version of the `eval` lines below; at first `sm_90 8.0`.
//! - `// run: k<<<2, 64>>>(u32[4]:iota, buf:16, u32:4)` launches `k`. Grid and block may be `4x2x1`; a third number
//!   is bytes of dynamic shared memory. Arguments are those of `ptxrun --arg`, separated by a comma and a space.
//!   Options may follow: `cluster=2`, `steps=1M` (most warp instructions).
//! - `// check: 1 u32: 0 1 2 3`: argument 1 of the last `run` begins with these elements. `// check: 1 u32 @4: …`
//!   begins at element 4. `7*10` is ten times 7, `0..8` is 0 to 7, `0..64:2` the even numbers below 64.
//! - `// check: 1 u32[4096]: crc32:1c291ca3`: the checksum of that many elements, for contents too long to read.
//! - `// prints: text`: the next line that the last `run` prints.
//! - `// fault: OutOfBounds: text; text`: the last `run` ends in this fault ([`ptx_runtime::FaultKind`]), and its
//!   report holds these texts.
//! - `// finds: race/read-write: text; text`: the last `run` is checked by all checkers (or those of its option
//!   `check=`), and this is one of their findings, whose report holds these texts. Every finding needs such a line;
//!   `// finds: nothing`: there is none. In a checked run, `buf:N` is memory that nobody wrote, and a fault is a
//!   finding.
//!   A text that is `@NAME` means the line of the file, above this one, that ends in `// @NAME`.
//! - `// program: NAME check=…` begins a host program, whose statements follow: `// do: STATEMENT`, with `// faulty:`
//!   or `// fixed:` in place of `do` for those of one twin alone (see below). `src/program.rs` lists the statements.
//!   The program calls the CUDA driver API of this repository, with all checkers on, and needs `// finds:` too.
//! - `// refused: text`: the last `run` cannot be launched, and this is part of the reason.
//! - `// jit: text`: compiled code refuses the kernels of this file, and this is part of the reason. The interpreter
//!   runs them instead, with the same results.
//! - `// targets: sm_60 sm_80`: the file runs once for each, in place of its `.target`.
//! - `// flags: -cl-opt-disable`: options of the OpenCL C compiler; the file runs once for each such line.
//!
//! A file that says `FIXED` is compiled twice: with `FIXED=0` it has its mistakes, with `FIXED=1` it has none, and
//! nothing is found. `.cu` files are compiled by `tests/truth/compile`; their PTX lies beside them.
//!
//! Comments of findings stand at the end of the line in question: `// error: text` says that the line is refused, and
//! that the report holds the text; `// warning: text` likewise. Every finding needs such a comment. `// verifies:
//! why` says that there is none.
//!
//! Where `FILE.txt` lies beside a file, it holds the whole report of its findings.
//!
//! `UPDATE_EXPECT=1 cargo test -p filetests` writes what the interpreter finds into `eval`, `check` and `prints`
//! lines and into `.txt` files that exist: write `?` for what you do not know (`// check: 1 u32[8]: ?`), then read
//! what came.

mod bless;
mod driver;
mod engine;
mod eval;
mod expect;
mod notation;
mod program;
mod run;

use std::fs;
use std::path::{Path, PathBuf};

pub use bless::bless;
pub use engine::On;
pub use notation::{FileTest, Problem};
pub use program::host_program;

/// Every file of the folder, sorted by path.
///
/// # Errors
/// When a folder or a file cannot be read, or a file's comments are not in the notation.
pub fn files(folder: &Path) -> Result<Vec<FileTest>, String> {
    let mut paths = Vec::new();
    collect(&folder.join("ptx"), &mut paths)?;
    collect(&folder.join("cl"), &mut paths)?;
    let mut twins = Vec::new();
    collect(&folder.join("truth"), &mut twins)?;
    // PTX there was compiled from the CUDA files.
    paths.extend(twins.into_iter().filter(|path| path.extension().is_some_and(|e| e != "ptx")));
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        FileTest::read(&name, &path, text).map_err(|p| format!("{name}:{}: {}", p.line, p.what))
    };
    paths.into_iter().map(read).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path
            .extension()
            .is_some_and(|e| ["ptx", "cl", "cu"].iter().any(|known| e == *known))
        {
            paths.push(path);
        }
    }
    Ok(())
}

/// What is wrong with a file on one engine; empty if nothing is.
pub fn problems(test: &FileTest, on: On) -> Vec<Problem> {
    match on {
        On::Check => run::findings(test),
        On::Interp | On::Jit => {
            let mut problems = run::runs(test, on);
            problems.extend(eval::evals(test, on));
            problems
        }
    }
}
