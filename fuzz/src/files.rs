//! Targets whose bytes are files of a binary or a structured format.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ptx_jit::{Bundle, Collection, Options};
use ptx_parse::code::Program;
use ptx_parse::container;
use ptx_runtime::isa::types::Target;
use ptx_runtime::{Verified, cubin, fatbin as fat};

/// What a driver does with a container that it is given.
fn load(bytes: Vec<u8>) {
    let Ok(verified) = Verified::from_bytes(bytes, "fuzz") else { return };
    let module = verified.module();
    let names: Vec<String> = module.functions.iter().map(|f| f.name.to_string()).take(8).collect();
    assert_eq!(verified.bundled(), 0, "code of an unknown owner");
    let _ = (verified.undefined(), verified.warnings().errors());
    if let Some(container) = verified.container() {
        let _ = (container.text(), container.sections().count(), container.owner());
    }
    for name in names {
        let _ = verified.resources(&name);
    }
}

/// A file with the changes that the input names: four bytes each, what and where.
fn changed(good: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for change in data.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([change[1], change[2]])) % bytes.len();
        let value = change[3];
        match change[0] % 8 {
            0 => bytes.truncate(at.max(1)),
            // A word: small, or all but.
            1 | 2 => {
                let word = if change[0] % 8 == 1 { u32::from(value) } else { !u32::from(value) };
                for (to, from) in bytes[at..].iter_mut().zip(word.to_le_bytes()) {
                    *to = from;
                }
            }
            // Bytes from elsewhere.
            3 => {
                let from = usize::from(value) * bytes.len() / 256;
                let piece: Vec<u8> = bytes[from..].iter().take(8).copied().collect();
                for (to, from) in bytes[at..].iter_mut().zip(piece) {
                    *to = from;
                }
            }
            _ => bytes[at] ^= value,
        }
    }
    bytes
}

/// A module whose container is changed.
fn module() -> &'static Verified {
    static MADE: OnceLock<Verified> = OnceLock::new();
    MADE.get_or_init(|| {
        Verified::new(include_str!("../data/module.ptx"), "module").expect("it verifies")
    })
}

/// A container is refused, or opens and can be used: the bytes, and a good one with changes, also with its checksum put
/// right.
pub fn container(data: &[u8]) {
    load(data.to_vec());
    static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
    let mut bytes = changed(GOOD.get_or_init(|| module().container_bytes()), data);
    load(bytes.clone());
    container::seal(&mut bytes);
    load(bytes);
}

/// A kernel whose compiled code lies in a bundle.
fn bundled() -> &'static (Program, Vec<u8>) {
    static MADE: OnceLock<(Program, Vec<u8>)> = OnceLock::new();
    MADE.get_or_init(|| {
        let text = include_str!("../data/bundled.ptx");
        let module = ptx_parse::parse_and_verify(text, "bundled").0.expect("it verifies");
        let program = ptx_parse::lower::lower(&module, 0).expect("it lowers");
        let mut all = Collection::default();
        ptx_jit::collect(&program, [32, 1, 1], None, Options::default(), &mut all)
            .expect("it compiles");
        (program, all.into_bytes())
    })
}

/// Compiled code with changes is refused, or is what was stored; so are any bytes.
pub fn cache(data: &[u8]) {
    let (program, good) = bundled();
    for bytes in [changed(good, data), data.to_vec()] {
        let same = bytes == *good;
        let length = bytes.len();
        let bundle = Bundle::new(Arc::new(bytes), 0..length);
        let found = ptx_jit::find(program, [32, 1, 1], None, Options::default(), &bundle)
            .expect("a compiler");
        assert!(found.is_some() || !same, "the code that was stored is not found");
    }
}

/// A file that our assembler would write.
fn assembled() -> &'static [u8] {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(|| {
        let wanted = cubin::Wanted { target: Target::plain(90), relocatable: false };
        cubin::write(module(), &["k"], wanted).expect("it fits")
    })
}

/// A fat binary is refused, or has a text or a container: the bytes, and the bytes as its entries.
pub fn fatbin(data: &[u8]) {
    let mut framed = fat::MAGIC.to_le_bytes().to_vec();
    framed.extend([1, 0, 16, 0]);
    framed.extend((data.len() as u64).to_le_bytes());
    framed.extend(data);
    for bytes in [data, &framed] {
        let _ = fat::total(bytes);
        for sm in [10, 75, 90, 120] {
            match fat::best(bytes, Target::plain(sm)) {
                Ok(fat::Code::Ptx(text)) => {
                    let _ = Verified::new(
                        &String::from_utf8_lossy(&text[..text.len().min(8192)]),
                        "fuzz",
                    );
                }
                Ok(fat::Code::Assembled(file)) => inside(&file),
                Err(why) => assert!(!why.to_string().is_empty()),
            }
        }
    }
}

/// Uses the container of an ELF file, also with its checksum put right.
fn inside(file: &[u8]) {
    let _ = cubin::length(file);
    if let Some(found) = cubin::container(file) {
        let mut sealed = found.to_vec();
        load(sealed.clone());
        container::seal(&mut sealed);
        load(sealed);
    }
}

/// An ELF file is refused, or has a container: the bytes, and our assembler's file with changes.
pub fn elf(data: &[u8]) {
    inside(data);
    inside(&changed(assembled(), data));
}

/// A launch file is a plan, or an error that says where.
pub fn launch(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // Files that it names are not part of the input.
    if text.contains('/') || text.contains("..") {
        return;
    }
    if let Err(error) = ptxrun::launch_file::parse(&text, Path::new("/nonexistent")) {
        assert!(!error.problem.to_string().is_empty());
    }
}

/// An array is refused, or is the same when written and read again.
pub fn npy(data: &[u8]) {
    if let Ok(array) = ptxrun::npy::read(data) {
        let again = ptxrun::npy::read(&ptxrun::npy::write(&array)).expect("what was written");
        assert!(array.shape == again.shape && array.bytes == again.bytes);
    }
}
