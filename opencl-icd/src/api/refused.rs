//! Functions of later versions and of extensions that no device here has.

use super::{calls, creates};
use crate::cl::Error;
use c_border::{In, Out, Raw};

calls! {
    refused() { Err(Error::INVALID_OPERATION) }
}

creates! {
    refused_after1(_a: usize) { Err(Error::INVALID_OPERATION) }
    refused_after2(_a: usize, _b: usize) { Err(Error::INVALID_OPERATION) }
    refused_after3(_a: usize, _b: usize, _c: usize) { Err(Error::INVALID_OPERATION) }
    refused_after5(_a: usize, _b: usize, _c: usize, _d: usize, _e: usize) { Err(Error::INVALID_OPERATION) }
    clCreateBufferWithProperties(_context: usize, _properties: In<u64>, _flags: u64, _size: usize, _host: Raw) {
        Err(Error::INVALID_OPERATION)
    }
    clCreateImageWithProperties(
        _context: usize, _properties: In<u64>, _flags: u64, _format: In<u32>, _desc: In<u32>, _host: Raw,
    ) {
        Err(Error::INVALID_OPERATION)
    }
    clCreatePipe(_context: usize, _flags: u64, _size: u32, _packets: u32, _properties: In<isize>) {
        Err(Error::INVALID_OPERATION)
    }
}

/// Functions that return a pointer and no code.
///
/// # Safety
/// None is needed; it has the type of its neighbours.
pub unsafe extern "C" fn refused_pointer() -> usize {
    0
}

/// Functions that return nothing.
///
/// # Safety
/// As above.
pub unsafe extern "C" fn refused_nothing() {}

calls! {
    clGetGLContextInfoKHR(_properties: In<isize>, _name: u32, _size: usize, _value: Raw, _size_ret: Out<usize>) {
        Err(Error::INVALID_OPERATION)
    }
}
