//! Tests that need more than the repository: data beside it, a program, a right.
//!
//! `#[test]` decides when it is compiled whether a test runs, and data comes and goes without a compilation. Tests with
//! needs therefore stand in targets with `harness = false` and list themselves in [`tests!`](crate::tests!): what is
//! missing is reported as ignored, with its name. Under `CI=true` data beside the repository must be there, and a test
//! without it fails.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};

/// What a test needs besides the repository.
#[derive(Clone, Debug)]
pub struct Need {
    what: String,
    there: bool,
    /// Whether continuous integration must have it.
    in_ci: bool,
    /// Whether to run without being asked.
    by_itself: bool,
}

impl Need {
    fn of(what: String, there: bool) -> Need {
        Need { what, there, in_ci: false, by_itself: true }
    }

    /// This, and only when it is asked for (`-- --ignored`), for a reason such as "takes minutes".
    #[must_use]
    pub fn on_request(mut self, why: &str) -> Need {
        self.by_itself = false;
        self.what = if self.what.is_empty() { why.into() } else { format!("{}, {why}", self.what) };
        self
    }
}

impl Need {
    /// This, and continuous integration must have it.
    #[must_use]
    pub fn in_ci(mut self) -> Need {
        self.in_ci = true;
        self
    }
}

/// Nothing.
#[must_use]
pub fn nothing() -> Need {
    Need::of(String::new(), true)
}

/// A file or folder of `../shared`, the data beside the repository.
#[must_use]
pub fn shared(path: &str) -> Need {
    Need { in_ci: true, ..Need::of(format!("../shared/{path}"), shared_path(path).exists()) }
}

/// Where [`shared`] looks.
#[must_use]
pub fn shared_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(path)
}

/// A program that runs with these arguments and succeeds.
#[must_use]
pub fn program(words: &[&str]) -> Need {
    let there = words.split_first().is_some_and(|(name, arguments)| {
        Command::new(name).args(arguments).output().is_ok_and(|out| out.status.success())
    });
    Need::of(words.join(" "), there)
}

/// A C compiler with OpenCL's headers and loader; continuous integration must have them.
#[must_use]
pub fn opencl_in_c() -> Need {
    let script = "echo '#include <CL/cl.h>\nint main(void) { return clGetPlatformIDs(0, 0, 0); }' | \
                  cc -x c - -lOpenCL -o /dev/null";
    let there =
        Command::new("sh").args(["-c", script]).output().is_ok_and(|out| out.status.success());
    Need::of("cc with CL/cl.h and -lOpenCL".into(), there).in_ci()
}

/// Two things.
#[must_use]
pub fn both(one: Need, other: Need) -> Need {
    Need {
        what: format!("{} and {}", one.what, other.what),
        there: one.there && other.there,
        // What is missing decides whether it is owed.
        in_ci: one.in_ci && !one.there || other.in_ci && !other.there,
        by_itself: one.by_itself && other.by_itself,
    }
}

/// Anything else, by name.
#[must_use]
pub fn condition(what: &str, there: bool) -> Need {
    Need::of(what.into(), there)
}

/// A test with its name.
#[must_use]
pub fn test(name: &str, test: fn(), need: Need) -> Trial {
    let ci = std::env::var_os("CI").is_some_and(|v| v == "true");
    let Need { what, there, in_ci, by_itself } = need;
    let missing = (!there).then(|| format!("{what} is not there"));
    let owed = ci && in_ci;
    let trial = Trial::test(name, move || match missing {
        Some(missing) => Err(missing.into()),
        None => {
            test();
            Ok(())
        }
    });
    trial.with_kind(what).with_ignored_flag(!by_itself || !there && !owed)
}

/// `#[test]` leaves nothing behind in a target with `harness = false`: a function with it would never run.
///
/// # Panics
/// When the file, named from the root of the workspace, has such a function.
pub fn no_plain_tests(package: &str, file: &str) {
    let text = std::fs::read_to_string(Path::new(package).join("..").join(file));
    let plain = text.is_ok_and(|text| text.lines().any(|line| line.trim() == "#[test]"));
    assert!(
        !plain,
        "{file}: list it in `golden::tests!` instead of `#[test]`, which has no effect here"
    );
}

/// Runs tests as the command line asks.
#[must_use]
pub fn run(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The tests of a target with `harness = false`, each with what it [needs](crate::need):
/// `golden::tests! { plain, replay: shared("isa-golden") }`.
#[macro_export]
macro_rules! tests {
    (@need) => { $crate::need::nothing() };
    (@need $need:expr) => { $need };
    ($($name:ident $(: $need:expr)?),+ $(,)?) => {
        fn main() -> std::process::ExitCode {
            #[allow(unused_imports, reason = "a target may need only one kind")]
            use $crate::need::{both, condition, nothing, opencl_in_c, program, shared};
            $crate::need::no_plain_tests(env!("CARGO_MANIFEST_DIR"), file!());
            $crate::need::run(vec![
                $($crate::need::test(stringify!($name), $name, $crate::tests!(@need $($need)?))),+
            ])
        }
    };
}
