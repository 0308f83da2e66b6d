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
    properties: Vec<u64>,
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
        let properties = Vec::new();
        Ok(Sampler { handle, context, normalized, addressing, filter, properties })
    }

    /// `clCreateSamplerWithProperties`: the pairs of the list, and the list.
    ///
    /// # Errors
    /// When a property is unknown, twice, or its value none of its kind.
    pub fn with_properties(
        context: &Arc<Context>,
        pairs: &[[u64; 2]],
        properties: Vec<u64>,
    ) -> Result<Sampler> {
        let (mut normalized, mut addressing, mut filter) = (None, None, None);
        for [name, value] in pairs {
            let place = match u32::try_from(*name) {
                Ok(cl::SAMPLER_NORMALIZED_COORDS) => &mut normalized,
                Ok(cl::SAMPLER_ADDRESSING_MODE) => &mut addressing,
                Ok(cl::SAMPLER_FILTER_MODE) => &mut filter,
                _ => return Err(Error::INVALID_VALUE),
            };
            let value = u32::try_from(*value).map_err(|_| Error::INVALID_VALUE)?;
            if place.replace(value).is_some() {
                return Err(Error::INVALID_VALUE);
            }
        }
        let mut sampler = Sampler::new(
            context,
            normalized.unwrap_or(1),
            addressing.unwrap_or(cl::ADDRESS_CLAMP),
            filter.unwrap_or(cl::FILTER_NEAREST),
        )?;
        sampler.properties = properties;
        Ok(sampler)
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
            cl::SAMPLER_PROPERTIES => to.put(&self.properties[..]),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}
