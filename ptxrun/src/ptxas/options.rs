//! The options of NVIDIA's `ptxas` 13.5, by its own help: names, values, and what each means here.

use std::path::{Path, PathBuf};

/// What an option means here.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Meaning {
    Help,
    Version,
    ListArchitectures,
    ListVersions,
    Output,
    Device,
    Verbose,
    NoWarnings,
    WarningsAreErrors,
    WarnLocal,
    Registers,
    Contraction,
    Relocatable,
    File,
    Text,
    Entries,
    AddressBits,
    /// It steers how machine code is made; there is none.
    NoEffect,
    /// It would change what a kernel does, in a way that is not there.
    Refused(&'static str),
}

/// An option: its long name, its short ones, whether a value follows, what it means.
struct Option_ {
    names: &'static [&'static str],
    value: bool,
    meaning: Meaning,
    about: &'static str,
}

const fn switch(names: &'static [&'static str], meaning: Meaning, about: &'static str) -> Option_ {
    Option_ { names, value: false, meaning, about }
}

const fn value(names: &'static [&'static str], meaning: Meaning, about: &'static str) -> Option_ {
    Option_ { names, value: true, meaning, about }
}

use Meaning::*;

/// Those that do something, then those that would steer machine code.
const OPTIONS: &[Option_] = &[
    value(
        &["gpu-name", "arch"],
        Device,
        "Device to assemble for, such as sm_90a; compute_90 only checks (sm_75)",
    ),
    value(&["output-file", "o"], Output, "File to write (elf.o)"),
    switch(&["verbose", "v"], Verbose, "Print registers, memory and barriers of every kernel"),
    value(&["fmad"], Contraction, "true or false: fuse multiplications with additions (true)"),
    value(
        &["maxrregcount"],
        Registers,
        "Most registers of a thread, for kernels that do not say it",
    ),
    switch(
        &["compile-only", "c"],
        Relocatable,
        "Write an object for a linker: functions may be missing",
    ),
    value(&["entry", "e"], Entries, "Kernels to name in the file, separated by commas (all)"),
    value(&["options-file", "optf"], File, "Read more options from a file; @FILE does the same"),
    value(&["input-as-string", "ias"], Text, "PTX itself in place of a file"),
    value(&["machine", "m"], AddressBits, "Bits of an address: 64"),
    switch(&["disable-warnings", "w"], NoWarnings, "Print no warnings"),
    switch(&["warning-as-error", "Werror"], WarningsAreErrors, "A warning is an error"),
    switch(&["warn-on-local-memory-usage", "warn-lmem-usage"], WarnLocal, "Warn of local memory"),
    switch(&["list-arch", "arch-ls"], ListArchitectures, "Print the devices"),
    switch(&["list-version", "version-ls"], ListVersions, "Print the PTX versions"),
    switch(&["version", "V"], Version, "Print what this is"),
    switch(&["help", "h"], Help, "Print this"),
    value(&["opt-level", "O"], NoEffect, ""),
    value(&["Ofast-compile", "Ofc"], NoEffect, ""),
    value(&["allow-expensive-optimizations"], NoEffect, ""),
    value(&["apply-controls"], NoEffect, ""),
    switch(&["compile-as-tools-patch", "astoolspatch"], NoEffect, ""),
    switch(&["compiler-annotations", "annotate"], NoEffect, ""),
    value(&["def-load-cache", "dlcm"], NoEffect, ""),
    value(&["def-store-cache", "dscm"], NoEffect, ""),
    switch(&["device-debug", "g"], NoEffect, ""),
    value(&["device-function-maxrregcount", "func-maxrregcount"], NoEffect, ""),
    value(&["device-stack-protector"], NoEffect, ""),
    switch(&["disable-optimizer-constants", "disable-optimizer-consts"], NoEffect, ""),
    switch(&["dont-merge-basicblocks", "no-bb-merge"], NoEffect, ""),
    value(&["enable-func-clone-sc"], NoEffect, ""),
    switch(&["extensible-whole-program", "ewp"], NoEffect, ""),
    value(&["force-load-cache", "flcm"], NoEffect, ""),
    value(&["force-store-cache", "fscm"], NoEffect, ""),
    switch(&["g-tensor-memory-access-check", "g-tmem-access-check"], NoEffect, ""),
    switch(&["generate-line-info", "lineinfo"], NoEffect, ""),
    switch(&["gno-fabric-access-check"], NoEffect, ""),
    switch(&["gno-tensor-memory-access-check", "gno-tmem-access-check"], NoEffect, ""),
    switch(&["jobserver"], NoEffect, ""),
    switch(&["make-errors-visible-at-exit"], NoEffect, ""),
    switch(&["optimize-float-atomics", "opt-fp-atomics"], NoEffect, ""),
    value(&["position-independent-code", "pic"], NoEffect, ""),
    switch(&["preserve-relocs"], NoEffect, ""),
    value(&["register-usage-level", "regUsageLevel"], NoEffect, ""),
    value(&["regAllocOptLevel"], NoEffect, ""),
    switch(&["return-at-end", "ret-end"], NoEffect, ""),
    switch(&["sp-bounds-check"], NoEffect, ""),
    value(&["split-compile"], NoEffect, ""),
    switch(&["suppress-async-bulk-multicast-advisory-warning"], NoEffect, ""),
    switch(&["suppress-debug-info"], NoEffect, ""),
    switch(&["suppress-double-demote-warning"], NoEffect, ""),
    switch(&["suppress-position-independent-code-warning"], NoEffect, ""),
    switch(&["suppress-sparse-mma-advisory-info"], NoEffect, ""),
    switch(&["suppress-stack-size-warning"], NoEffect, ""),
    switch(&["warn-on-double-precision-use", "warn-double-usage"], NoEffect, ""),
    switch(&["warn-on-spills", "warn-spills"], NoEffect, ""),
    value(&["maxntid"], Refused("write `.maxntid` into the PTX"), ""),
    value(&["minnctapersm"], Refused("write `.minnctapersm` into the PTX"), ""),
    switch(
        &["override-directive-values"],
        Refused("--maxrregcount is for kernels that do not say `.maxnreg`"),
        "",
    ),
    value(&["sanitize"], Refused("checks of a run are the driver's work, not the assembler's"), ""),
    switch(
        &["legacy-bar-warp-wide-behavior"],
        Refused("barriers of warps before sm_70 always count whole warps"),
        "",
    ),
];

/// What the command line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) inputs: Vec<Source>,
    pub(super) output: PathBuf,
    pub(super) device: String,
    pub(super) verbose: bool,
    pub(super) no_warnings: bool,
    pub(super) warnings_are_errors: bool,
    pub(super) warn_local: bool,
    pub(super) registers: Option<u32>,
    pub(super) contraction: bool,
    pub(super) relocatable: bool,
    pub(super) entries: Vec<String>,
}

/// Where a text comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Source {
    File(PathBuf),
    Text(String),
}

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Assemble(Request),
    Help,
    Version,
    ListArchitectures,
    ListVersions,
}

/// Why a command line is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UsageError {
    #[error("Unknown option '-{0}'")]
    Unknown(String),
    #[error("Option '{0}' needs a value")]
    NoValue(String),
    #[error("Option '{0}' takes no value")]
    NeedlessValue(String),
    #[error("Value '{value}' is not defined for option '{name}'")]
    BadValue { name: String, value: String },
    #[error("Option '{name}' is not supported: {instead}")]
    Refused { name: String, instead: &'static str },
    #[error("Input file '{file}' could not be opened: {error}")]
    OptionsFile { file: String, error: String },
    #[error("'{0}' leads to itself")]
    Nested(String),
}

/// An option with the value that stands in the same word.
fn find(word: &str) -> Result<(&'static Option_, &'static str, Option<&str>), UsageError> {
    let bare = word.trim_start_matches('-');
    let (name, given) = match bare.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (bare, None),
    };
    let known = |name: &str| {
        OPTIONS.iter().find_map(|o| o.names.iter().find(|n| **n == name).map(|n| (o, *n)))
    };
    if let Some((option, name)) = known(name) {
        return match given {
            Some(_) if !option.value => Err(UsageError::NeedlessValue(name.into())),
            _ => Ok((option, name, given)),
        };
    }
    // The value of a name of one letter may follow at once: -O3, -m64.
    if given.is_none()
        && !word.starts_with("--")
        && let Some((letter, rest)) = bare.split_at_checked(1).filter(|(_, rest)| !rest.is_empty())
        && let Some((option, name)) = known(letter)
        && option.value
    {
        return Ok((option, name, Some(rest)));
    }
    Err(UsageError::Unknown(bare.into()))
}

/// Files that options are read from may name others, this deep.
const DEEPEST: u32 = 8;

fn include(file: &str, depth: u32) -> Result<Vec<String>, UsageError> {
    if depth >= DEEPEST {
        return Err(UsageError::Nested(file.into()));
    }
    let failed = |error: String| UsageError::OptionsFile { file: file.into(), error };
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let words = text.split_whitespace().map(str::to_owned).collect();
    expand(words, depth + 1)
}

/// The words with those of the files that they name in their places.
fn expand(words: Vec<String>, depth: u32) -> Result<Vec<String>, UsageError> {
    let mut out = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if let Some(file) = word.strip_prefix('@') {
            out.extend(include(file, depth)?);
            continue;
        }
        let file = match find(&word) {
            Ok((option, name, given)) if word.starts_with('-') && option.meaning == File => {
                let given = given.map(str::to_owned).or_else(|| words.next());
                Some(given.ok_or_else(|| UsageError::NoValue(name.into()))?)
            }
            _ => None,
        };
        match file {
            Some(list) => {
                for file in list.split(',') {
                    out.extend(include(file, depth)?);
                }
            }
            None => out.push(word),
        }
    }
    Ok(out)
}

fn truth(name: &str, value: &str) -> Result<bool, UsageError> {
    value.parse().map_err(|_| UsageError::BadValue { name: name.into(), value: value.into() })
}

/// Reads the command line.
///
/// # Errors
/// The first word that is not understood.
pub(super) fn read(words: Vec<String>) -> Result<Asked, UsageError> {
    let mut request = Request {
        inputs: Vec::new(),
        output: PathBuf::from("elf.o"),
        device: "sm_75".into(),
        verbose: false,
        no_warnings: false,
        warnings_are_errors: false,
        warn_local: false,
        registers: None,
        contraction: true,
        relocatable: false,
        entries: Vec::new(),
    };
    let mut words = expand(words, 0)?.into_iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') || word == "-" {
            request.inputs.push(Source::File(Path::new(&word).to_owned()));
            continue;
        }
        let (option, name, given) = find(&word)?;
        let value = match (option.value, given) {
            (false, _) => String::new(),
            (true, Some(value)) => value.to_owned(),
            (true, None) => words.next().ok_or_else(|| UsageError::NoValue(name.into()))?,
        };
        let bad = || UsageError::BadValue { name: name.into(), value: value.clone() };
        match option.meaning {
            Help => return Ok(Asked::Help),
            Version => return Ok(Asked::Version),
            ListArchitectures => return Ok(Asked::ListArchitectures),
            ListVersions => return Ok(Asked::ListVersions),
            Output => request.output = value.into(),
            Device => request.device = value,
            Verbose => request.verbose = true,
            NoWarnings => request.no_warnings = true,
            WarningsAreErrors => request.warnings_are_errors = true,
            WarnLocal => request.warn_local = true,
            Registers => {
                request.registers = match value.as_str() {
                    "archmax" => None,
                    "archmin" => Some(super::FEWEST_REGISTERS),
                    number => Some(number.parse().map_err(|_| bad())?),
                }
            }
            Contraction => request.contraction = truth(name, &value)?,
            Relocatable => request.relocatable = true,
            File => unreachable!("the words of files stand in their places"),
            Text => request.inputs.push(Source::Text(value)),
            Entries => request.entries.extend(value.split(',').map(str::to_owned)),
            AddressBits if value == "64" => {}
            AddressBits => return Err(bad()),
            NoEffect => {}
            Refused(instead) => return Err(UsageError::Refused { name: name.into(), instead }),
        }
    }
    Ok(Asked::Assemble(request))
}

/// The help.
pub(super) fn help() -> String {
    let named = |o: &Option_| {
        let names: Vec<String> = o
            .names
            .iter()
            .enumerate()
            .map(|(i, n)| format!("{}{n}", ["--", "-"][i.min(1)]))
            .collect();
        names.join(", ") + if o.value { " VALUE" } else { "" }
    };
    let mut out = String::from(
        "Assembles PTX for the driver of ptxrun, with the options of NVIDIA's ptxas.\n\n\
         Usage: ptxas [options] FILE.ptx...\n\nOptions:\n",
    );
    for option in OPTIONS.iter().filter(|o| !o.about.is_empty()) {
        out += &format!("  {:48} {}\n", named(option), option.about);
    }
    let list = |out: &mut String, keep: fn(&Meaning) -> bool| {
        for option in OPTIONS.iter().filter(|o| o.about.is_empty() && keep(&o.meaning)) {
            *out += &format!("  {}\n", named(option));
        }
    };
    out += "\nTaken without effect, because they steer machine code and there is none:\n";
    list(&mut out, |m| *m == NoEffect);
    out += "\nRefused, because they would change what a kernel does:\n";
    list(&mut out, |m| matches!(m, Refused(_)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Asked, UsageError> {
        read(line.split_whitespace().map(str::to_owned).collect())
    }

    fn request(line: &str) -> Request {
        match asked(line).unwrap() {
            Asked::Assemble(request) => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn triton_and_nvcc_are_understood() {
        let r = request(
            "-lineinfo -v --regAllocOptLevel=2 --fmad=false --gpu-name=sm_90a in.ptx -o out.cubin",
        );
        assert_eq!((r.device.as_str(), r.verbose, r.contraction), ("sm_90a", true, false));
        assert_eq!(r.output, Path::new("out.cubin"));
        assert_eq!(r.inputs, [Source::File("in.ptx".into())]);
        let r = request("-arch=sm_90 -m64 -O3 -maxrregcount 32 x.ptx -o x.cubin");
        assert_eq!((r.device.as_str(), r.registers), ("sm_90", Some(32)));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert_eq!(asked("--bogus"), Err(UsageError::Unknown("bogus".into())));
        assert_eq!(asked("-o"), Err(UsageError::NoValue("o".into())));
        assert_eq!(asked("-v=3"), Err(UsageError::NeedlessValue("v".into())));
        assert!(matches!(asked("-m32"), Err(UsageError::BadValue { .. })));
        assert!(matches!(asked("--sanitize memcheck"), Err(UsageError::Refused { .. })));
        assert!(matches!(asked("@/no/such/file"), Err(UsageError::OptionsFile { .. })));
    }

    #[test]
    fn options_come_from_files() {
        let file = std::env::temp_dir().join(format!("ptxas-options-{}", std::process::id()));
        std::fs::write(&file, "-arch sm_80\n  in.ptx").unwrap();
        for line in [format!("@{}", file.display()), format!("-optf {}", file.display())] {
            let r = request(&line);
            assert_eq!((r.device.as_str(), r.inputs.len()), ("sm_80", 1));
        }
        std::fs::write(&file, format!("@{}", file.display())).unwrap();
        assert!(matches!(asked(&format!("@{}", file.display())), Err(UsageError::Nested(_))));
        std::fs::remove_file(&file).unwrap();
    }
}
