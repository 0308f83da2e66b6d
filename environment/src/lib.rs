//! The environment variables of ptxrun, `PTXRUN_*`. This is the only place that reads them: what there is, what each
//! may hold, and a word about whatever holds something else. Beside it, what a process must not hang or end for: files
//! without an end, and a standard error that takes nothing.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub mod files;
pub mod host;
pub mod message;

/// What the names of all variables begin with.
pub const PREFIX: &str = "PTXRUN_";

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it may hold.
    pub values: &'static str,
    /// What it is for, in one line.
    pub what: &'static str,
}

/// A variable that holds something it may not hold, or that there is none of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Wrong {}

macro_rules! variables {
    ($($constant:ident $name:literal $values:literal $what:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $what, ".")]
            pub const $constant: Variable =
                Variable { name: $name, values: $values, what: $what };
        )*
        /// All variables.
        pub const ALL: &[Variable] = &[$($constant),*];
    };
}

variables! {
    DEVICE "PTXRUN_DEVICE" "name, sm_90, FILE.toml, host" "the device that programs find; several for OpenCL, with commas between; `host` is OpenCL's default, this machine";
    BACKEND "PTXRUN_BACKEND" "auto, interp, jit" "the engine that runs kernels";
    VERBOSE "PTXRUN_VERBOSE" "0, 1" "says of each kernel which engine runs it, and which of its instructions are not exact";
    MEMORY "PTXRUN_MEMORY" "bytes, 8G, 75%" "device memory of a context; three quarters of the host's at most by default";
    TIMEOUT "PTXRUN_TIMEOUT" "seconds, 500ms" "ends a launch that takes longer; off by default";
    TIMING "PTXRUN_TIMING" "0, 1" "times of CUDA and OpenCL events are those of the modelled device";
    BOUNDS "PTXRUN_BOUNDS" "grain, exact" "OpenCL buffers end at the device's next grain, or at the byte that was asked for, as they do by default where memory is checked";
    CHECK "PTXRUN_CHECK" "memory, race, race+equal, init, sync, all, coverage; several with commas between" "what of kernels is checked while they run; reports go to standard error";
    CHECK_REPORT "PTXRUN_CHECK_REPORT" "file" "where what checks find is added as lines of JSON, in place of standard error";
    CHECK_LEAKS "PTXRUN_CHECK_LEAKS" "kernel, full" "what nobody freed is reported at the end of a context and of the program: memory of kernels, or that of the program too, and its objects";
    SCHEDULE "PTXRUN_SCHEDULE" "number" "runs checked blocks and warps in another order, the same for the same number";
    DEBUG "PTXRUN_DEBUG" "socket" "the terminal of `ptxrun debug -- PROGRAM`, which debugs the launches";
    CACHE_DIR "PTXRUN_CACHE_DIR" "folder" "where compiled code is kept; empty: nowhere";
    CACHE_BYTES "PTXRUN_CACHE_BYTES" "bytes, 256M" "most bytes that are kept there";
    JIT_BITS "PTXRUN_JIT_BITS" "128, 256, 512" "widest vectors of compiled code";
    JITDUMP "PTXRUN_JITDUMP" "folder" "where compiled code is described for perf";
    ISA "PTXRUN_ISA" "baseline, avx2, avx512" "most that the interpreter uses of the processor";
    LIBDIR "PTXRUN_LIBDIR" "folder" "where exec and env find the libraries";
    GOLDEN "PTXRUN_GOLDEN" "folder, archive" "recordings that tests replay";
}

/// Variables that only tests read.
const OF_TESTS: &[&str] =
    &["PTXRUN_FILETESTS_REPORT", "PTXRUN_GOLDEN_FORM", "PTXRUN_KEEP", "PTXRUN_KERNEL"];

impl Variable {
    /// What it holds; nothing where it is not set.
    pub fn raw(&self) -> Option<OsString> {
        std::env::var_os(self.name)
    }

    /// What it holds, without blanks around it; nothing where it is not set or empty.
    pub fn text(&self) -> Option<String> {
        let text = self.raw()?.to_string_lossy().trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// Refuses what it holds.
    pub fn wrong(&self) -> Wrong {
        let text = self.text().unwrap_or_default();
        Wrong(format!("{}: `{text}` is none of: {}", self.name, self.values))
    }

    fn parsed<T>(&self, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Wrong> {
        match self.text() {
            None => Ok(None),
            Some(text) => parse(&text).map(Some).ok_or_else(|| self.wrong()),
        }
    }
}

/// Bytes: a number, with K, M, G or T for powers of 1024, and `iB` or `B` behind that if one likes.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim_end_matches(['B', 'b']).trim_end_matches(['i', 'I']);
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let last = text.chars().last()?.to_ascii_lowercase();
    let (number, shift) = match units.iter().find(|(unit, _)| *unit == last) {
        Some((_, shift)) => (&text[..text.len() - 1], *shift),
        None => (text, 0),
    };
    let number: f64 = number.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
    let bytes = number * f64::from(1u32 << (shift / 2)) * f64::from(1u32 << (shift - shift / 2));
    (bytes < 9e18).then_some(bytes as u64)
}

/// A time: seconds, or a number with `ms`, `s` or `min` behind it.
fn time(text: &str) -> Option<Duration> {
    let units = [("ms", 1e-3), ("min", 60.0), ("s", 1.0)];
    let (number, scale) = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)))
        .unwrap_or((text, 1.0));
    let seconds: f64 = number.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds * scale).ok().filter(|d| !d.is_zero())
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Bytes of memory for a context: `PTXRUN_MEMORY`, or three quarters of the memory that this process may use. Where
/// address space is limited (`ulimit -v`), an eighth of what is left of it at most: a context takes twice its memory,
/// and compilers and threads need theirs.
///
/// # Errors
/// When it holds no amount.
pub fn memory() -> Result<u64, Wrong> {
    let host = host::memory();
    let parse = |text: &str| match text.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim().parse().ok()?;
            (0.0..=100.0).contains(&percent).then(|| (host as f64 * percent / 100.0) as u64)
        }
        None => bytes(text),
    };
    let given = MEMORY.parsed(parse)?;
    Ok(given.unwrap_or(host / 4 * 3).min(host::address_space() / 8))
}

/// `PTXRUN_TIMEOUT`
///
/// # Errors
/// When it holds no time.
pub fn timeout() -> Result<Option<Duration>, Wrong> {
    TIMEOUT.parsed(time)
}

/// `PTXRUN_TIMING`
///
/// # Errors
/// When it holds neither 0 nor 1.
pub fn timing() -> Result<bool, Wrong> {
    Ok(TIMING.parsed(switch)?.unwrap_or(false))
}

/// `PTXRUN_VERBOSE`
///
/// # Errors
/// When it holds neither 0 nor 1.
pub fn verbose() -> Result<bool, Wrong> {
    Ok(VERBOSE.parsed(switch)?.unwrap_or(false))
}

/// Whether `PTXRUN_BOUNDS` is `exact`; without it, whether `PTXRUN_CHECK` checks memory.
///
/// # Errors
/// When one of them holds another word.
pub fn exact_bounds() -> Result<bool, Wrong> {
    let parse = |text: &str| match text {
        "exact" => Some(true),
        "grain" => Some(false),
        _ => None,
    };
    match BOUNDS.parsed(parse)? {
        Some(exact) => Ok(exact),
        None => Ok(checks()?.memory),
    }
}

/// What of kernels is checked while they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Accesses outside of what they may touch.
    pub memory: bool,
    /// Conflicting accesses that nothing orders.
    pub race: bool,
    /// With `race`: also writes of equal values.
    pub equal_writes: bool,
    /// Use of values that nobody wrote.
    pub init: bool,
    /// Barriers and member masks.
    pub sync: bool,
    /// Which instructions run, and which way guards go.
    pub coverage: bool,
}

impl Checks {
    /// Everything but writes of equal values.
    pub const ALL: Checks = Checks {
        memory: true,
        race: true,
        equal_writes: false,
        init: true,
        sync: true,
        coverage: false,
    };

    /// Whether anything is checked.
    pub fn any(self) -> bool {
        self != Checks::default()
    }

    /// Reads words with commas between.
    ///
    /// # Errors
    /// A word that names no check.
    pub fn parse(text: &str) -> Result<Checks, Wrong> {
        let mut checks = Checks::default();
        for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match word {
                "memory" => checks.memory = true,
                "race" => checks.race = true,
                "race+equal" => (checks.race, checks.equal_writes) = (true, true),
                "init" => checks.init = true,
                "sync" => checks.sync = true,
                "coverage" => checks.coverage = true,
                "all" => {
                    let Checks { equal_writes, coverage, .. } = checks;
                    checks = Checks { equal_writes, coverage, ..Checks::ALL };
                }
                other => {
                    let known = "memory, race, race+equal, init, sync, all, coverage";
                    return Err(Wrong(format!("`{other}` is no check: there are {known}")));
                }
            }
        }
        Ok(checks)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let race = if self.equal_writes { "race+equal" } else { "race" };
        let all = [
            (self.memory, "memory"),
            (self.race, race),
            (self.init, "init"),
            (self.sync, "sync"),
            (self.coverage, "coverage"),
        ];
        let words: Vec<&str> = all.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
        f.write_str(&words.join(","))
    }
}

/// `PTXRUN_CHECK`
///
/// # Errors
/// When it names something that is no check.
pub fn checks() -> Result<Checks, Wrong> {
    match CHECK.text() {
        None => Ok(Checks::default()),
        Some(text) => Checks::parse(&text).map_err(|w| Wrong(format!("{}: {w}", CHECK.name))),
    }
}

/// `PTXRUN_CHECK_REPORT`
pub fn check_report() -> Option<PathBuf> {
    CHECK_REPORT.raw().filter(|file| !file.is_empty()).map(PathBuf::from)
}

/// `PTXRUN_CHECK_LEAKS`: whether memory of the program is looked for too.
///
/// # Errors
/// When it is neither `kernel` nor `full`.
pub fn check_leaks() -> Result<bool, Wrong> {
    let read = |text: &str| match text {
        "kernel" => Some(false),
        "full" => Some(true),
        _ => None,
    };
    Ok(CHECK_LEAKS.parsed(read)?.unwrap_or(false))
}

/// `PTXRUN_SCHEDULE`
///
/// # Errors
/// When it holds no number.
pub fn schedule() -> Result<Option<u64>, Wrong> {
    SCHEDULE.parsed(|text| text.parse().ok())
}

/// `PTXRUN_DEBUG`
pub fn debug() -> Option<PathBuf> {
    DEBUG.raw().filter(|socket| !socket.is_empty()).map(PathBuf::from)
}

/// `PTXRUN_CACHE_DIR`; `Some(None)` where it is empty.
pub fn cache_dir() -> Option<Option<PathBuf>> {
    let folder = CACHE_DIR.raw()?;
    Some((!folder.is_empty()).then(|| folder.into()))
}

/// `PTXRUN_CACHE_BYTES`
///
/// # Errors
/// When it holds no amount.
pub fn cache_bytes() -> Result<Option<u64>, Wrong> {
    CACHE_BYTES.parsed(bytes)
}

/// `PTXRUN_JIT_BITS`
///
/// # Errors
/// When it holds no width.
pub fn jit_bits() -> Result<Option<u32>, Wrong> {
    JIT_BITS.parsed(|text| text.parse().ok().filter(|bits| matches!(bits, 128 | 256 | 512)))
}

/// What `PTXRUN_ISA` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What every processor of the architecture has.
    Baseline,
    /// AVX2.
    Avx2,
    /// AVX-512.
    Avx512,
}

/// `PTXRUN_ISA`
///
/// # Errors
/// When it holds another word.
pub fn isa() -> Result<Option<Isa>, Wrong> {
    ISA.parsed(|text| match text {
        "baseline" => Some(Isa::Baseline),
        "avx2" => Some(Isa::Avx2),
        "avx512" => Some(Isa::Avx512),
        _ => None,
    })
}

/// Judges the variables that are set, for a library or a command that begins. Those that there are none of are named on
/// standard error, once, and so are warnings of the engine from now on; devices and engines are judged by who knows
/// them.
///
/// # Errors
/// The first that holds something that it may not hold.
pub fn check(who: &str) -> Result<(), Wrong> {
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| unknown().iter().for_each(|wrong| sayln!("{who}: {wrong}")));
    message::on_warning(|text| sayln!("warning: {text}"));
    memory()?;
    timeout()?;
    timing()?;
    verbose()?;
    exact_bounds()?;
    cache_bytes()?;
    jit_bits()?;
    isa()?;
    checks()?;
    check_leaks()?;
    schedule()?;
    Ok(())
}

/// The variables that are set and that there are none of.
pub fn unknown() -> Vec<Wrong> {
    let known = |name: &str| ALL.iter().any(|v| v.name == name) || OF_TESTS.contains(&name);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = names.filter(|name| name.starts_with(PREFIX) && !known(name));
    let mut all: Vec<Wrong> = unknown
        .map(|name| {
            Wrong(format!("{name}: there is no such variable (`ptxrun env --help` lists them)"))
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The variables as a table for people.
pub fn table() -> String {
    let width = ALL.iter().map(|v| v.name.len()).max().unwrap_or(0);
    let lines = ALL.iter().map(|v| format!("  {:width$}  {} ({})\n", v.name, v.what, v.values));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        for (text, value) in [
            ("0", Some(0)),
            ("1000", Some(1000)),
            ("8G", Some(8 << 30)),
            ("1.5GiB", Some(3 << 29)),
            ("64 kB", Some(64 << 10)),
            ("2T", Some(2 << 40)),
            ("", None),
            ("G", None),
            ("-1", None),
            ("eight", None),
            ("1e30", None),
            ("nan", None),
        ] {
            assert_eq!(bytes(text), value, "{text}");
        }
    }

    #[test]
    fn words_of_checks() {
        let all = Checks::parse("all").unwrap();
        assert_eq!(all, Checks::ALL);
        assert_eq!(
            Checks::parse("race+equal, all").unwrap().to_string(),
            "memory,race+equal,init,sync"
        );
        assert_eq!(Checks::parse(&all.to_string()).unwrap(), all);
        assert!(Checks::parse("rase").is_err());
        assert!(!Checks::parse("").unwrap().any());
    }

    #[test]
    fn times() {
        for (text, value) in [
            ("2", Some(2000)),
            ("0.5", Some(500)),
            ("500ms", Some(500)),
            ("3 s", Some(3000)),
            ("2min", Some(120_000)),
            ("0", None),
            ("-1", None),
            ("soon", None),
            ("inf", None),
        ] {
            assert_eq!(time(text), value.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn names_are_distinct_and_have_the_prefix() {
        for (i, v) in ALL.iter().enumerate() {
            assert!(v.name.starts_with(PREFIX));
            assert!(ALL[..i].iter().all(|o| o.name != v.name), "{}", v.name);
            assert!(table().contains(v.name));
        }
    }

    #[test]
    fn the_default_budget_fits_the_host() {
        assert!(memory().unwrap() <= host::memory() / 4 * 3);
        assert!(host::memory() > 64 << 20);
    }
}
