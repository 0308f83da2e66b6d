//! Functions of later versions and of extensions that no device here has.

use super::{calls, creates};
use crate::cl::Error;
use c_border::{In, Out, Raw};

calls! {
    refused() { Err(Error::INVALID_OPERATION) }
}

creates! {
    refused_after2(_a: usize, _b: usize) { Err(Error::INVALID_OPERATION) }
    refused_after3(_a: usize, _b: usize, _c: usize) { Err(Error::INVALID_OPERATION) }
    refused_after5(_a: usize, _b: usize, _c: usize, _d: usize, _e: usize) { Err(Error::INVALID_OPERATION) }
}

calls! {
    clGetGLContextInfoKHR(_properties: In<isize>, _name: u32, _size: usize, _value: Raw, _size_ret: Out<usize>) {
        Err(Error::INVALID_OPERATION)
    }
}
