//! Launches as before CUDA 4: the kernel keeps shape and arguments, which calls set one by one. PyCUDA launches so.

use std::sync::{MutexGuard, PoisonError};

use super::launches::prepare;
use super::symbol::functions;
use crate::error::{Error, Result};
use crate::launch::KernelLaunch;
use crate::module::{self, Function, Settings};
use crate::stream;
use crate::work::Work;
use c_border::Raw;

/// Most bytes of arguments that a kernel can have.
const MOST: usize = 32_764;

fn settings(function: &Function) -> MutexGuard<'_, Settings> {
    function.settings.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a value at its place among the arguments of `function`.
fn put(function: usize, offset: i32, value: &[u8]) -> Result {
    let function = module::function(function)?;
    let start = usize::try_from(offset).map_err(|_| Error::InvalidValue)?;
    let end =
        start.checked_add(value.len()).filter(|end| *end <= MOST).ok_or(Error::InvalidValue)?;
    let params = &mut settings(&function).params;
    if params.len() < end {
        params.resize(end, 0);
    }
    params[start..end].copy_from_slice(value);
    Ok(())
}

fn start(function: usize, width: i32, height: i32, stream: usize) -> Result {
    let function = module::function(function)?;
    let stream = stream::get(stream)?;
    let context = stream.context()?;
    let side = |n: i32| u32::try_from(n).map_err(|_| Error::InvalidValue);
    let grid = [side(width)?, side(height)?, 1];
    let Settings { block, shared, params: given } = settings(&function).clone();
    let mut params = vec![0; function.resources()?.param_bytes as usize];
    params.get_mut(..given.len()).ok_or(Error::LaunchOutOfResources)?.copy_from_slice(&given);
    let launch =
        KernelLaunch { function, grid, block, cluster: [0; 3], shared, params, cooperative: false };
    let launch = prepare(&context, launch)?;
    stream.enqueue(Work::Kernel(launch)).map(|_| ())
}

functions! {
    cuFuncSetBlockShape [2000 => cuFuncSetBlockShape] (function: usize, x: i32, y: i32, z: i32) {
        let function = module::function(function)?;
        if x < 1 || y < 1 || z < 1 {
            return Err(Error::InvalidValue);
        }
        settings(&function).block = [x as u32, y as u32, z as u32];
        Ok(())
    }

    cuFuncSetSharedSize [2000 => cuFuncSetSharedSize] (function: usize, bytes: u32) {
        let function = module::function(function)?;
        settings(&function).shared = bytes;
        Ok(())
    }

    cuParamSetSize [2000 => cuParamSetSize] (function: usize, bytes: u32) {
        let function = module::function(function)?;
        if bytes as usize > MOST {
            return Err(Error::InvalidValue);
        }
        settings(&function).params.resize(bytes as usize, 0);
        Ok(())
    }

    cuParamSeti [2000 => cuParamSeti] (function: usize, offset: i32, value: u32) {
        put(function, offset, &value.to_le_bytes())
    }

    cuParamSetf [2000 => cuParamSetf] (function: usize, offset: i32, value: f32) {
        put(function, offset, &value.to_le_bytes())
    }

    cuParamSetv [2000 => cuParamSetv] (function: usize, offset: i32, value: Raw, bytes: u32) {
        if bytes as usize > MOST {
            return Err(Error::InvalidValue);
        }
        put(function, offset, &value.bytes(0, bytes as usize)?)
    }

    cuLaunch [2000 => cuLaunch] (function: usize) {
        start(function, 1, 1, 0)
    }

    cuLaunchGrid [2000 => cuLaunchGrid] (function: usize, width: i32, height: i32) {
        start(function, width, height, 0)
    }

    cuLaunchGridAsync [2000 => cuLaunchGridAsync] (function: usize, width: i32, height: i32, stream: usize) {
        start(function, width, height, stream)
    }

}
