//! Sub-devices: parts of this machine, by numbers of its compute units. GPUs of profiles have no parts, as real ones.

use std::sync::Arc;

use crate::cl::{self, Error, Result};
use crate::device::Device;
use crate::registry::{self, Handle};
use c_border::{In, ParamValue};

/// What a sub-device is a part of.
#[derive(Clone)]
pub struct Part {
    parent: Arc<Device>,
    /// How it was made, as the program said it.
    properties: Vec<isize>,
}

const EQUALLY: isize = cl::DEVICE_PARTITION_EQUALLY as isize;
const BY_COUNTS: isize = cl::DEVICE_PARTITION_BY_COUNTS as isize;

/// A property list, read as far as it goes.
struct Properties {
    list: In<isize>,
    read: Vec<isize>,
}

impl Properties {
    fn next(&mut self) -> Result<isize> {
        let value = self.list.at(self.read.len()).map_err(|_| Error::INVALID_VALUE)?;
        self.read.push(value);
        Ok(value)
    }
}

impl Device {
    /// Compute units that can be given to parts; 0 where there can be none.
    fn divisible(&self) -> u32 {
        self.host.as_ref().map_or(0, |host| if host.threads > 1 { host.threads } else { 0 })
    }

    /// Host threads that its kernels may use.
    pub fn threads(&self) -> u32 {
        self.host.as_ref().map_or(u32::MAX, |host| host.threads)
    }

    /// Whether it is a part of another device.
    pub fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// The sub-devices that a property list asks for (`clCreateSubDevices`).
    ///
    /// # Errors
    /// When the list is wrong, or the device has no such parts.
    pub fn parts(self: &Arc<Self>, list: In<isize>) -> Result<Vec<Device>> {
        let units = self.divisible();
        let mut properties = Properties { list, read: Vec::new() };
        let way = properties.next()?;
        if units == 0 || way != EQUALLY && way != BY_COUNTS {
            return Err(Error::INVALID_VALUE);
        }
        let mut sizes = Vec::new();
        if way == EQUALLY {
            let each = properties.next()?;
            let each = u32::try_from(each).ok().filter(|n| *n > 0).ok_or(Error::INVALID_VALUE)?;
            if each > units {
                return Err(Error::DEVICE_PARTITION_FAILED);
            }
            sizes = vec![each; (units / each) as usize];
        } else {
            let mut rest = units;
            loop {
                let wanted = properties.next()?;
                if wanted == cl::DEVICE_PARTITION_BY_COUNTS_LIST_END as isize {
                    break;
                }
                let fits = u32::try_from(wanted).ok().filter(|n| *n <= rest);
                let size = fits.ok_or(Error::INVALID_DEVICE_PARTITION_COUNT)?;
                rest -= size;
                sizes.push(size);
            }
        }
        if sizes.is_empty() || properties.next()? != 0 {
            return Err(Error::INVALID_VALUE);
        }
        Ok(sizes.into_iter().map(|units| self.part(units, &properties.read)).collect())
    }

    fn part(self: &Arc<Self>, units: u32, properties: &[isize]) -> Device {
        let mut host = self.host.clone();
        if let Some(host) = &mut host {
            host.threads = units;
        }
        let part = Part { parent: Arc::clone(self), properties: properties.to_vec() };
        Device {
            handle: Handle::default(),
            profile: self.profile.clone(),
            host,
            part: Some(part),
            free_at: Default::default(),
            ..**self
        }
    }

    /// Queries about parts.
    ///
    /// # Errors
    /// When there is no such query, or the buffer is too small.
    pub fn partition_info(&self, name: u32, to: ParamValue) -> Result {
        match name {
            cl::DEVICE_PARENT_DEVICE => {
                to.put(self.part.as_ref().map_or(0, |part| part.parent.handle.get()))
            }
            cl::DEVICE_PARTITION_MAX_SUB_DEVICES => to.put(self.divisible()),
            cl::DEVICE_PARTITION_PROPERTIES if self.divisible() > 0 => {
                to.put(&[EQUALLY, BY_COUNTS][..])
            }
            cl::DEVICE_PARTITION_PROPERTIES => to.put(0isize),
            cl::DEVICE_PARTITION_TYPE => match &self.part {
                Some(part) => to.put(&part.properties[..]),
                None => to.put(0isize),
            },
            cl::DEVICE_PARTITION_AFFINITY_DOMAIN => to.put(0u64),
            // Root devices are not counted.
            cl::DEVICE_REFERENCE_COUNT if self.is_part() => to.put(registry::users(self)),
            cl::DEVICE_REFERENCE_COUNT => to.put(1u32),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}
