//! The options of a link, by the list in `nvJitLink.h`.

use ptx_runtime::isa::types::Target;
use ptx_runtime::parse::verify::header::{current_targets, target_named};

use crate::link::Status;

/// What the caller asks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The device.
    pub(crate) target: Target,
    /// Only PTX is wanted, for an architecture without a device.
    pub(crate) ptx: bool,
    /// Most registers of a thread.
    pub(crate) registers: Option<u32>,
    /// Products and sums stay apart.
    pub(crate) no_contraction: bool,
    /// Functions may be missing: the result is linked again.
    pub(crate) relocatable: bool,
    /// Say what was linked.
    pub(crate) verbose: bool,
}

/// Options that steer machine code or link-time optimisation of LTO-IR, which there is none of.
const WITHOUT_EFFECT: &[&str] = &[
    "-time",
    "-lto",
    "-O",
    "-Ofc",
    "-g",
    "-lineinfo",
    "-ftz",
    "-prec-div",
    "-prec-sqrt",
    "-kernels-used",
    "-variables-used",
    "-optimize-unused-variables",
    "-Xptxas",
    "-nvvm-latest",
    "-split-compile",
    "-split-compile-extended",
    "-jump-table-density",
    "-no-cache",
    "-device-stack-protector",
];

fn no_effect(name: &str) -> bool {
    WITHOUT_EFFECT.contains(&name)
        || name.strip_prefix("-O").is_some_and(|n| ["0", "3"].contains(&n))
}

/// Reads the options.
///
/// # Errors
/// The first one that is not understood, or a missing architecture.
pub(crate) fn read(words: &[String]) -> Result<Options, Status> {
    let mut target = None;
    let mut ptx = false;
    let (mut registers, mut no_contraction, mut relocatable, mut verbose) =
        (None, false, false, false);
    for word in words {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        match (name, value) {
            ("-arch", Some(value)) => {
                let named = target_named(value).ok_or(Status::UnrecognizedArch)?;
                if !current_targets().any(|t| t == named) {
                    return Err(Status::UnsupportedArch);
                }
                target = Some(named);
                ptx |= value.starts_with("compute_");
            }
            ("-maxrregcount", Some(value)) => {
                registers = Some(value.parse().map_err(|_| Status::UnrecognizedOption)?);
            }
            ("-fma", Some(value)) => no_contraction = value == "0",
            ("-ptx", None) => ptx = true,
            ("-r", None) => relocatable = true,
            ("-verbose", None) => verbose = true,
            (name, _) if no_effect(name) => {}
            _ => return Err(Status::UnrecognizedOption),
        }
    }
    let target = target.ok_or(Status::MissingArch)?;
    Ok(Options { target, ptx, registers, no_contraction, relocatable, verbose })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Options, Status> {
        read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_of_numba_and_cuda_core() {
        let o = of("-arch=sm_90 -lineinfo -O3 -fma=0 -maxrregcount=40").unwrap();
        assert_eq!(
            (o.target.sm, o.no_contraction, o.registers, o.ptx),
            (90, true, Some(40), false)
        );
        assert!(of("-arch=compute_90a").unwrap().ptx);
    }

    #[test]
    fn what_is_not_understood_has_a_code() {
        assert_eq!(of("-O3"), Err(Status::MissingArch));
        assert_eq!(of("-arch=sm_90 -bogus"), Err(Status::UnrecognizedOption));
        assert_eq!(of("-arch=sm_91"), Err(Status::UnrecognizedArch));
        assert_eq!(of("-arch=sm_35"), Err(Status::UnsupportedArch));
        assert_eq!(of("-arch=sm_90 -O7"), Err(Status::UnrecognizedOption));
    }
}
