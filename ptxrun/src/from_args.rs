//! Makes a [`Plan`] from the options of the command line.

use std::io;
use std::path::{Path, PathBuf};

use crate::arg::ArgSpec;
use crate::launch_file::read_data;
use crate::npy::{self, NpyError};
use crate::plan::{Arg, Buffer, Plan, PlannedLaunch};
use crate::values::{ElementType, Init, ValueError};

/// Why the arguments of the command line cannot become buffers.
#[derive(Debug, thiserror::Error)]
pub enum FromArgsError {
    /// A file that cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A damaged `.npy` file.
    #[error("{}: {error}", .path.display())]
    Npy {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: NpyError,
    },
    /// A `.npy` file of another type than the argument says.
    #[error("{} holds {found}, the argument says {wanted}", .path.display())]
    FileType {
        /// Its path.
        path: PathBuf,
        /// Type in the file.
        found: ElementType,
        /// Type of the argument.
        wanted: ElementType,
    },
    /// A file of another length than the argument says.
    #[error("{} holds {found} bytes, the argument says {wanted}", .path.display())]
    FileSize {
        /// Its path.
        path: PathBuf,
        /// Bytes in the file.
        found: usize,
        /// Bytes by the argument.
        wanted: usize,
    },
    /// A value that does not fit, or too many of them.
    #[error("argument {index}: {error}")]
    Value {
        /// Position of the argument.
        index: usize,
        /// What is wrong.
        error: ValueError,
    },
}

/// One launch with the buffers that its arguments describe.
pub fn plan(
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    args: &[ArgSpec],
) -> Result<Plan, FromArgsError> {
    let mut plan = Plan::default();
    let mut resolved = Vec::with_capacity(args.len());
    for (index, arg) in args.iter().enumerate() {
        let buffer = match arg {
            ArgSpec::Scalar { ty, bytes } => {
                resolved.push(Arg::Scalar { ty: *ty, bytes: bytes.clone() });
                continue;
            }
            ArgSpec::Bytes(bytes) => {
                resolved.push(Arg::Bytes(bytes.clone()));
                continue;
            }
            ArgSpec::Buffer { len } => {
                let bytes = Init::Zero
                    .bytes(ElementType::B8, *len)
                    .map_err(|error| FromArgsError::Value { index, error })?;
                (None, None, bytes.unwrap_or_default())
            }
            ArgSpec::BufferFile(name) => read_file(name, None)?,
            ArgSpec::Typed { ty, count, init: Init::File(name) } => {
                let (found, shape, bytes) = read_file(name, Some(*ty))?;
                let wanted = count.map_or(bytes.len().next_multiple_of(ty.size()), |n| {
                    n.saturating_mul(ty.size())
                });
                if bytes.len() != wanted {
                    let (path, found) = (name.into(), bytes.len());
                    return Err(FromArgsError::FileSize { path, found, wanted });
                }
                (found, shape, bytes)
            }
            ArgSpec::Typed { ty, count, init } => {
                let bytes = init
                    .bytes(*ty, count.unwrap_or(0))
                    .map_err(|error| FromArgsError::Value { index, error })?;
                (Some(*ty), None, bytes.unwrap_or_default())
            }
            // Only the parser of launch files makes these.
            ArgSpec::Named { .. } | ArgSpec::Texture(_) => continue,
        };
        let (ty, shape, bytes) = buffer;
        resolved.push(Arg::Buffer { index: plan.buffers.len(), offset: 0 });
        plan.buffers.push(Buffer { name: format!("argument {index}"), ty, shape, bytes });
    }
    plan.launches.push(PlannedLaunch { entry, grid, block, shared, args: resolved });
    Ok(plan)
}

type Contents = (Option<ElementType>, Option<Vec<usize>>, Vec<u8>);

fn read_file(name: &str, wanted: Option<ElementType>) -> Result<Contents, FromArgsError> {
    let path = Path::new(name);
    let bytes =
        read_data(path).map_err(|error| FromArgsError::File { path: path.into(), error })?;
    if !name.ends_with(".npy") {
        return Ok((wanted, None, bytes));
    }
    let array =
        npy::read(&bytes).map_err(|error| FromArgsError::Npy { path: path.into(), error })?;
    match wanted {
        Some(wanted) if !array.ty.same_layout(wanted) => {
            Err(FromArgsError::FileType { path: path.into(), found: array.ty, wanted })
        }
        _ => Ok((Some(wanted.unwrap_or(array.ty)), Some(array.shape), array.bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arg::parse;

    fn plan_of(args: &[&str]) -> Result<Plan, FromArgsError> {
        let args: Vec<_> = args.iter().map(|a| parse(a).unwrap()).collect();
        plan("k".into(), [1; 3], [32, 1, 1], 0, &args)
    }

    #[test]
    fn buffers_are_numbered_in_order() {
        let plan = plan_of(&["buf:16", "u32:3", "f32[4]:fill:2"]).unwrap();
        assert_eq!(plan.launches[0].args[0], Arg::Buffer { index: 0, offset: 0 });
        assert_eq!(plan.launches[0].args[2], Arg::Buffer { index: 1, offset: 0 });
        assert_eq!(plan.buffers[0].bytes, [0; 16]);
        assert_eq!(plan.buffers[1].bytes, 2.0f32.to_le_bytes().repeat(4));
        assert_eq!(plan.buffers[1].name, "argument 2");
    }

    #[test]
    fn npy_files_bring_type_and_shape() {
        let file = concat!("buf:@", env!("CARGO_MANIFEST_DIR"), "/../samples/recursion/sorted.npy");
        let plan = plan_of(&[file]).unwrap();
        assert_eq!(plan.buffers[0].ty, Some(ElementType::S32));
        assert_eq!(plan.buffers[0].shape, Some(vec![64, 16]));
        let wrong = file.replace("buf", "f32[]");
        assert!(matches!(plan_of(&[&wrong]), Err(FromArgsError::FileType { .. })));
        let short = file.replace("buf", "s32[5]");
        assert!(matches!(plan_of(&[&short]), Err(FromArgsError::FileSize { .. })));
        assert!(matches!(plan_of(&["buf:@missing.bin"]), Err(FromArgsError::File { .. })));
        assert!(matches!(plan_of(&["u8[2]:1,2,3"]), Err(FromArgsError::Value { index: 0, .. })));
    }
}
