//! The assembled container: what was written comes back, and nothing else is taken.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_parse::code::Program;
use ptx_parse::container::{About, BUILD, Container, Error, Rule, Section, length, seal, write};
use ptx_parse::lower::{entries, entry_index, lower};
use ptx_parse::module::Module;
use ptx_parse::parse_and_verify;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(all) = std::fs::read_dir(folder) else { return };
    for path in all.flatten().map(|e| e.path()) {
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            out.push(path);
        }
    }
}

/// The samples' PTX.
fn texts() -> Vec<(String, String)> {
    let texts = texts_of(&Path::new(ROOT).join("../samples"));
    assert!(texts.len() > 20, "{} samples", texts.len());
    texts
}

/// The PTX files of a folder, with their names.
fn texts_of(folder: &Path) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    collect(folder, &mut paths);
    paths.sort();
    let read = |p: PathBuf| Some((p.display().to_string(), std::fs::read_to_string(p).ok()?));
    paths.into_iter().filter_map(read).collect()
}

fn verified(text: &str, name: &str) -> Module {
    let (module, diags) = parse_and_verify(text, name);
    module.unwrap_or_else(|| panic!("{name}: {diags:?}"))
}

fn assembled(text: &str) -> Vec<u8> {
    write(&verified(text, "k.ptx"), About::default(), &[])
}

fn open(bytes: &[u8]) -> Result<Arc<Container>, Error> {
    Container::from_bytes(bytes.to_vec(), "k.ptxb")
}

/// Everything that an engine sees of a kernel.
fn seen(program: &Program) -> String {
    let mut out = format!(
        "{} {:?} {:?} {} {} {} {:?} {:?} {:?}",
        program.module,
        program.info,
        program.params,
        program.param_bytes,
        program.shared_bytes,
        program.dynamic_shared_align,
        program.shared_vars,
        program.tuning,
        program.files
    );
    for f in &program.functions {
        out += &format!(
            "\n{} {} {:?} {:?} {:?} {:?} {:?} {} {:?} {:?} {:?}",
            f.name,
            f.id,
            f.blocks,
            f.uops,
            f.regs,
            f.temps,
            f.reg_names,
            f.frame_bytes,
            f.params,
            f.rets,
            f.locs
        );
        for i in &f.insts {
            let (row, guard) = (program.matches[i.opcode as usize].opcode(), &i.guard);
            out += &format!("\n{row} {guard:?} {:?} {:?} {:?} {:?}", i.uops, i.flow, i.span, i.loc);
        }
    }
    out
}

fn kernels(module: &Module) -> Vec<String> {
    let one = |name: &str| match lower(module, entry_index(module, name).expect("an entry")) {
        Ok(program) => seen(&program),
        Err(refusal) => refusal.to_string(),
    };
    entries(module).map(|f| one(&f.name)).collect()
}

fn modules_come_back() {
    come_back(&texts());
}

fn recorded_modules_come_back() {
    let texts = texts_of(&golden::need::shared_path("kernel-golden/ptx"));
    assert!(!texts.is_empty());
    come_back(&texts);
}

fn come_back(texts: &[(String, String)]) {
    for (name, text) in texts {
        let module = verified(text, name);
        let bytes = write(&module, About::default(), b"code");
        assert_eq!(length(&bytes), Some(bytes.len() as u64));
        let container = Container::from_bytes(bytes.clone(), name).expect(name);
        assert_eq!(container.text().expect(name), text);
        assert_eq!(container.section(Section::Code), b"code");
        let again = container.module().expect(name);
        assert_eq!(again.name, module.name);
        for part in again.functions.iter().filter_map(|f| f.body.as_ref()) {
            assert_eq!(part.damage(), None, "{name}");
        }
        assert!(write(&again, About::default(), b"code") == bytes, "{name}: written again");
        assert_eq!(kernels(&again), kernels(&module), "{name}");
        let variables = |m: &Module| format!("{:?} {:?}", m.symbols, m.reg_names);
        assert_eq!(variables(&again), variables(&module), "{name}");
    }
}

const SMALL: &str = "\
.version 8.0
.target sm_80
.address_size 64
.file 1 \"k.cu\"
.global .f32 scale = 0f40000000;
.global .align 8 .u64 table[2] = {scale, 7};
.func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x];
    add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }
.visible .entry k(.param .u64 .ptr .global .align 4 p, .param .u32 n) .maxntid 64, 1, 1
{
    .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<2>; .shared .align 4 .b8 s[64];
    .loc 1 3 1
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra DONE;
    mad.wide.u32 %rd2, %r2, 4, %rd1; ld.global.v2.u32 {%r3, %r4}, [%rd2+8];
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), twice, (a); ld.param.b32 %r5, [b]; }
    st.shared.u32 [s+4], %r5; st.global.u32 [%rd2], %r5;
DONE:
    ret;
}
";

/// Whatever the bytes, this ends: every part is read, every kernel lowered.
fn exercise(bytes: &[u8]) {
    let Ok(container) = open(bytes) else { return };
    let _ = container.text();
    let Ok(module) = container.module() else { return };
    for f in &module.functions {
        let _ = f.body.as_ref().map(|b| b.insts.len());
    }
    for index in 0..module.functions.len() as u32 {
        if module.functions[index as usize].entry {
            // What lowering finds to be of a wrong type is its own business: see `Verified::kernel`.
            let lowered = || lower(&module, index).map(|p| p.functions.len());
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(lowered));
        }
    }
}

fn every_altered_byte_is_refused() {
    let bytes = assembled(SMALL);
    open(&bytes).unwrap().module().unwrap();
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut other = bytes.clone();
            other[at] ^= flip;
            let refused = open(&other).map(|c| c.len());
            assert!(refused.is_err(), "byte {at} ^ {flip:#x} is taken");
        }
    }
}

fn every_truncation_is_refused() {
    let bytes = assembled(SMALL);
    for end in 0..bytes.len() {
        let error = open(&bytes[..end]).map(|c| c.len()).unwrap_err();
        assert!(matches!(error.rule, Rule::Magic | Rule::Length { .. }), "{end}: {error}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(open(&longer).map(|c| c.len()), Err(Error { rule: Rule::Length { .. }, .. })));
}

fn other_versions_and_builds_are_refused() {
    let bytes = assembled(SMALL);
    let mut future = bytes.clone();
    future[8] = 2;
    seal(&mut future);
    let error = open(&future).map(|c| c.len()).unwrap_err();
    assert_eq!(error.rule, Rule::Format { found: 2 });
    assert_eq!(
        error.to_string(),
        "k.ptxb: byte 8: its format is version 2, this ptxrun reads version 1; assemble its text again with this version"
    );
    let mut other = bytes;
    other[24] ^= 1;
    seal(&mut other);
    // The text of another build's can still be read.
    let container = open(&other).unwrap();
    assert_eq!(container.text().unwrap(), SMALL);
    let error = container.module().map(|m| m.name).unwrap_err();
    assert_eq!((error.offset, error.rule), (24, Rule::Build { found: BUILD ^ 1 }));
}

/// A generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

/// Forged ones: the checksum is right, the contents are not. Each is refused, or read without a panic.
fn right_checksums_over_wrong_contents() {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        let inside = info.location().is_some_and(|l| l.file().contains("src/container"));
        if inside {
            eprintln!("{info}");
            std::process::abort();
        }
    }));
    let bytes = assembled(SMALL);
    for at in 0..bytes.len() {
        for value in [0x00, 0x01, 0x7f, 0x80, 0xff, bytes[at] ^ 1] {
            let mut other = bytes.clone();
            other[at] = value;
            seal(&mut other);
            exercise(&other);
        }
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..4000 {
        let mut other = bytes.clone();
        for _ in 0..=random.next(8) {
            let at = random.next(other.len());
            other[at] = random.next(256) as u8;
        }
        seal(&mut other);
        exercise(&other);
    }
    // Heads of nothing in particular.
    for _ in 0..4000 {
        let size = random.next(400);
        let mut other: Vec<u8> = (0..size).map(|_| random.next(256) as u8).collect();
        let known = random.next(57).min(size);
        other[..known].copy_from_slice(&bytes[..known]);
        if size >= 24 {
            other[16..24].copy_from_slice(&(size as u64).to_le_bytes());
        }
        exercise(&other);
        seal(&mut other);
        exercise(&other);
    }
    std::panic::set_hook(quiet);
}

fn files() {
    let folder = std::env::temp_dir().join(format!("ptxrun-container-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("k.ptxb");
    let error = Container::open(&path).map(|c| c.len()).unwrap_err();
    assert!(matches!(error.rule, Rule::File(_)), "{error}");
    std::fs::write(&path, b"").unwrap();
    assert_eq!(Container::open(&path).map(|c| c.len()).unwrap_err().rule, Rule::Magic);
    std::fs::write(&path, assembled(SMALL)).unwrap();
    let container = Container::open(&path).unwrap();
    assert!(container.owner().is_some());
    let module = container.module().unwrap();
    // The module outlives the file.
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(kernels(&module), kernels(&verified(SMALL, "k.ptx")));
}

golden::tests! {
    modules_come_back,
    recorded_modules_come_back: shared("kernel-golden/ptx"),
    every_altered_byte_is_refused,
    every_truncation_is_refused,
    other_versions_and_builds_are_refused,
    right_checksums_over_wrong_contents,
    files,
}
