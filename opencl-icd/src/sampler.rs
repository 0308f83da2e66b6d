//! Samplers.

use std::sync::Arc;

use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::object;
use crate::registry::{self, Handle};
use c_border::ParamValue;

/// A sampler.
pub struct Sampler {
    pub(crate) handle: Handle<Sampler>,
    /// Its context.
    pub context: Arc<Context>,
    normalized: u32,
    addressing: u32,
    filter: u32,
}
object!(Sampler, INVALID_SAMPLER);

impl Sampler {
    /// `clCreateSampler`
    ///
    /// # Errors
    /// When a value is none of its kind.
    pub fn new(
        context: &Arc<Context>,
        normalized: u32,
        addressing: u32,
        filter: u32,
    ) -> Result<Sampler> {
        let repeats = matches!(addressing, cl::ADDRESS_REPEAT | cl::ADDRESS_MIRRORED_REPEAT);
        if normalized > 1
            || !(cl::ADDRESS_NONE..=cl::ADDRESS_MIRRORED_REPEAT).contains(&addressing)
            || !(cl::FILTER_NEAREST..=cl::FILTER_LINEAR).contains(&filter)
            || repeats && normalized == 0
        {
            return Err(Error::INVALID_VALUE);
        }
        let (handle, context) = (Handle::default(), Arc::clone(context));
        Ok(Sampler { handle, context, normalized, addressing, filter })
    }

    /// What a kernel is passed (docs/opencl.md).
    pub fn bits(&self) -> u32 {
        let mode = match self.addressing {
            cl::ADDRESS_CLAMP_TO_EDGE => 2,
            cl::ADDRESS_CLAMP => 4,
            cl::ADDRESS_REPEAT => 6,
            cl::ADDRESS_MIRRORED_REPEAT => 8,
            _ => 0,
        };
        let filter = if self.filter == cl::FILTER_LINEAR { 32 } else { 16 };
        self.normalized | mode | filter
    }

    /// `clGetSamplerInfo`
    pub fn info(&self, name: u32, to: ParamValue) -> Result {
        match name {
            cl::SAMPLER_REFERENCE_COUNT => to.put(registry::users(self)),
            cl::SAMPLER_CONTEXT => to.put(self.context.handle.get()),
            cl::SAMPLER_NORMALIZED_COORDS => to.put(self.normalized),
            cl::SAMPLER_ADDRESSING_MODE => to.put(self.addressing),
            cl::SAMPLER_FILTER_MODE => to.put(self.filter),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}
