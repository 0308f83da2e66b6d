//! Kernel arguments and the parameter block that they fill.

use ptx_parse::module::Param;

use crate::device_ptr::DevicePtr;

/// One argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelArg {
    /// The bytes of a scalar, vector or structure, little-endian.
    Bytes(Vec<u8>),
    /// A device address: 8 bytes, or 4 where the kernel's parameter has 4.
    Pointer(DevicePtr),
    /// The handle of a texture or surface object.
    Object(u64),
}

impl From<DevicePtr> for KernelArg {
    fn from(pointer: DevicePtr) -> Self {
        KernelArg::Pointer(pointer)
    }
}

macro_rules! scalar_args {
    ($($ty:ty)*) => {$(
        impl From<$ty> for KernelArg {
            fn from(value: $ty) -> Self {
                KernelArg::Bytes(value.to_le_bytes().to_vec())
            }
        }
    )*};
}
scalar_args!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Why arguments do not fit a kernel's parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// Too few or too many.
    #[error("the kernel takes {wanted} argument{}, {given} given", if *.wanted == 1 { "" } else { "s" })]
    Count {
        /// Parameters of the kernel.
        wanted: usize,
        /// Arguments given.
        given: usize,
    },
    /// An argument of the wrong size.
    #[error("argument {index} has {given} bytes, parameter `{name}` ({declaration}) has {wanted}")]
    Size {
        /// Position of the argument.
        index: usize,
        /// Name of the parameter.
        name: String,
        /// Its declaration, such as `.u32` or `.b8[24]`.
        declaration: String,
        /// Bytes of the parameter.
        wanted: u32,
        /// Bytes of the argument.
        given: usize,
    },
    /// An address for a parameter that cannot hold one.
    #[error("argument {index} is an address, parameter `{name}` is {declaration}")]
    Address {
        /// Position of the argument.
        index: usize,
        /// Name of the parameter.
        name: String,
        /// Its declaration.
        declaration: String,
    },
    /// A buffer above 4 GiB for a 32-bit parameter.
    #[error("argument {index}: address {address:#x} does not fit the 32-bit parameter `{name}`")]
    AddressTooWide {
        /// Position of the argument.
        index: usize,
        /// Name of the parameter.
        name: String,
        /// The address.
        address: u64,
    },
}

/// The declaration of a parameter: `.u32`, `.b8[24]`.
pub fn declaration(param: &Param) -> String {
    if param.array {
        let element = param.ty.bits().div_ceil(8).max(1);
        format!(".{}[{}]", param.ty.name(), param.size / element)
    } else {
        format!(".{}", param.ty.name())
    }
}

/// The parameter block of a launch: `params` with their offsets, `size` bytes in all.
pub(crate) fn pack(
    params: &[(Param, u32)],
    size: u32,
    args: &[KernelArg],
) -> Result<Vec<u8>, ArgumentError> {
    if params.len() != args.len() {
        return Err(ArgumentError::Count { wanted: params.len(), given: args.len() });
    }
    let mut block = vec![0; size as usize];
    for (index, ((param, offset), arg)) in params.iter().zip(args).enumerate() {
        let name = || param.name.to_string();
        let wide;
        let bytes: &[u8] = match arg {
            KernelArg::Bytes(bytes) => bytes,
            KernelArg::Pointer(DevicePtr(value)) | KernelArg::Object(value) => {
                wide = value.to_le_bytes();
                match param.size {
                    8 => &wide,
                    4 if *value <= u64::from(u32::MAX) => &wide[..4],
                    4 => {
                        return Err(ArgumentError::AddressTooWide {
                            index,
                            name: name(),
                            address: *value,
                        });
                    }
                    _ => {
                        let declaration = declaration(param);
                        return Err(ArgumentError::Address { index, name: name(), declaration });
                    }
                }
            }
        };
        if bytes.len() != param.size as usize {
            return Err(ArgumentError::Size {
                index,
                name: name(),
                declaration: declaration(param),
                wanted: param.size,
                given: bytes.len(),
            });
        }
        block[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_isa::Ty;

    fn param(name: &str, ty: Ty, size: u32, array: bool) -> Param {
        Param { name: name.into(), ty, align: size.min(8), size, array, reg: None, ptr: None }
    }

    fn params() -> Vec<(Param, u32)> {
        vec![
            (param("n", Ty::U32, 4, false), 0),
            (param("p", Ty::U64, 8, false), 8),
            (param("s", Ty::B8, 3, true), 16),
        ]
    }

    #[test]
    fn arguments_land_at_their_offsets() {
        let args = [5u32.into(), DevicePtr(0x1_0000_0001).into(), KernelArg::Bytes(vec![7, 8, 9])];
        let block = pack(&params(), 19, &args).unwrap();
        assert_eq!(block, [5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 8, 9]);
    }

    #[test]
    fn arguments_that_do_not_fit_are_named() {
        assert_eq!(pack(&params(), 19, &[]), Err(ArgumentError::Count { wanted: 3, given: 0 }));
        let error = pack(&params(), 19, &[5u64.into(), 1u64.into(), 1u32.into()]).unwrap_err();
        assert_eq!(error.to_string(), "argument 0 has 8 bytes, parameter `n` (.u32) has 4");
        let error =
            pack(&params(), 19, &[5u32.into(), 1u64.into(), DevicePtr(1).into()]).unwrap_err();
        assert_eq!(error.to_string(), "argument 2 is an address, parameter `s` is .b8[3]");
        let error = pack(&params(), 19, &[DevicePtr(1 << 32).into(), 1u64.into(), 1u32.into()])
            .unwrap_err();
        assert!(matches!(error, ArgumentError::AddressTooWide { index: 0, .. }));
    }
}
