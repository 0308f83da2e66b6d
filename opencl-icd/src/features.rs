//! What OpenCL 2.0 to 3.0 ask devices, with the answer of a device that lacks an optional feature.

use c_border::{Answer, ParamValue};
use ptx_runtime::opencl::options;

use crate::cl::{self, Error, Result};
use crate::device::Device;

/// A version as `cl_version`.
pub const fn version(major: u32, minor: u32) -> u32 {
    major << 22 | minor << 12
}

/// Versions of OpenCL C.
const LANGUAGES: [u32; 4] = [version(1, 0), version(1, 1), version(1, 2), version(3, 0)];

/// Bytes that the variables of a program may have.
const GLOBAL_VARIABLES: usize = 64 << 10;

/// Orders and scopes of atomic functions (`cl_device_atomic_capabilities`).
mod atomics {
    pub const RELAXED: u64 = 1;
    pub const ACQ_REL: u64 = 2;
    pub const SEQ_CST: u64 = 4;
    pub const WORK_ITEM: u64 = 8;
    pub const WORK_GROUP: u64 = 16;
    pub const DEVICE: u64 = 32;
    pub const ALL_DEVICES: u64 = 64;
}

/// Coarse- and fine-grained buffers (`cl_device_svm_capabilities`).
const SVM: u64 = 1 | 2;

/// Names with versions, as arrays of `cl_name_version`.
pub fn name_versions<'n>(list: impl IntoIterator<Item = (&'n str, u32)>) -> Answer {
    let mut bytes = Vec::new();
    for (name, version) in list {
        bytes.extend(version.to_le_bytes());
        let mut text = [0; 64];
        // The last byte stays zero.
        let length = name.len().min(63);
        text[..length].copy_from_slice(&name.as_bytes()[..length]);
        bytes.extend(text);
    }
    Answer(bytes)
}

/// The version of an extension that is supported.
fn extension_version(name: &str) -> u32 {
    if name == "cl_khr_integer_dot_product" { version(2, 0) } else { version(1, 0) }
}

impl Device {
    /// Work-items of a sub-group.
    pub fn sub_group(&self) -> usize {
        self.profile.limits.warp_size as usize
    }

    /// Whether it has an optional feature of OpenCL C 3.0.
    pub fn has_feature(&self, name: &str) -> bool {
        options::features(self.target()).any(|feature| feature == name)
    }

    /// The version of OpenCL: 3.0 asks for atomic functions with orders and scopes, which targets below sm_70 lack.
    pub fn version(&self) -> (u32, u32) {
        if self.has_feature("__opencl_c_atomic_order_seq_cst") { (3, 0) } else { (1, 2) }
    }

    fn has_sub_groups(&self) -> bool {
        self.has_feature("__opencl_c_subgroups")
    }

    /// Bytes that program-scope variables may have; none where there are none that can be written.
    fn global_variables(&self) -> usize {
        let some = self.has_feature("__opencl_c_program_scope_global_variables");
        if some { GLOBAL_VARIABLES } else { 0 }
    }

    /// Queries that came after OpenCL 1.2.
    ///
    /// # Errors
    /// When there is no such query, or the buffer is too small.
    pub fn later_info(&self, name: u32, to: ParamValue) -> Result {
        use atomics::*;
        let orders = self.has_feature("__opencl_c_atomic_order_seq_cst");
        let (major, minor) = self.version();
        let dots = self.extensions().contains(&"cl_khr_integer_dot_product");
        match name {
            cl::DEVICE_NUMERIC_VERSION => to.put(version(major, minor)),
            cl::DEVICE_OPENCL_C_NUMERIC_VERSION => to.put(version(1, 2)),
            cl::DEVICE_EXTENSIONS_WITH_VERSION => {
                let all = self.extensions();
                to.put(name_versions(all.into_iter().map(|name| (name, extension_version(name)))))
            }
            cl::DEVICE_OPENCL_C_ALL_VERSIONS => {
                let all =
                    LANGUAGES.into_iter().filter(|language| *language <= version(major, minor));
                to.put(name_versions(all.map(|version| ("OpenCL C", version))))
            }
            cl::DEVICE_OPENCL_C_FEATURES => {
                let all = options::features(self.target());
                to.put(name_versions(all.map(|name| (name, version(3, 0)))))
            }
            cl::DEVICE_ILS_WITH_VERSION | cl::DEVICE_BUILT_IN_KERNELS_WITH_VERSION => {
                to.put(name_versions([]))
            }
            cl::DEVICE_IL_VERSION => to.put(""),
            // No version was submitted for conformance.
            cl::DEVICE_LATEST_CONFORMANCE_VERSION_PASSED => to.put("v0000-01-01-00"),
            cl::DEVICE_ATOMIC_MEMORY_CAPABILITIES => to.put(match orders {
                true => RELAXED | ACQ_REL | SEQ_CST | WORK_ITEM | WORK_GROUP | DEVICE | ALL_DEVICES,
                false => RELAXED | WORK_GROUP,
            }),
            cl::DEVICE_ATOMIC_FENCE_CAPABILITIES => to.put(match orders {
                true => RELAXED | ACQ_REL | SEQ_CST | WORK_ITEM | WORK_GROUP | DEVICE | ALL_DEVICES,
                false => RELAXED | ACQ_REL | WORK_GROUP,
            }),
            cl::DEVICE_PIPE_SUPPORT => to.put(false),
            cl::DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT => to.put(self.version() >= (3, 0)),
            cl::DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT => {
                to.put(self.has_feature("__opencl_c_work_group_collective_functions"))
            }
            cl::DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT => {
                to.put(self.has_feature("__opencl_c_generic_address_space"))
            }
            cl::DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => to.put(self.sub_group()),
            cl::DEVICE_MAX_NUM_SUB_GROUPS => {
                let most = self.max_group() / self.sub_group();
                to.put(if self.has_sub_groups() { most as u32 } else { 0 })
            }
            cl::DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS => to.put(self.has_sub_groups()),
            cl::DEVICE_SVM_CAPABILITIES => to.put(SVM),
            cl::DEVICE_MAX_READ_WRITE_IMAGE_ARGS => to.put(64u32),
            cl::DEVICE_MAX_GLOBAL_VARIABLE_SIZE
            | cl::DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE => to.put(self.global_variables()),
            // Texels, in 2D images of buffers.
            cl::DEVICE_IMAGE_PITCH_ALIGNMENT | cl::DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT => {
                to.put(1u32)
            }
            // No preference, or what there is none of: queues on the device, pipes.
            cl::DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT
            | cl::DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT
            | cl::DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT
            | cl::DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE
            | cl::DEVICE_QUEUE_ON_DEVICE_MAX_SIZE
            | cl::DEVICE_MAX_ON_DEVICE_QUEUES
            | cl::DEVICE_MAX_ON_DEVICE_EVENTS
            | cl::DEVICE_MAX_PIPE_ARGS
            | cl::DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS
            | cl::DEVICE_PIPE_MAX_PACKET_SIZE => to.put(0u32),
            cl::DEVICE_QUEUE_ON_DEVICE_PROPERTIES | cl::DEVICE_DEVICE_ENQUEUE_CAPABILITIES => {
                to.put(0u64)
            }
            // Four bytes as a vector and packed; nothing is faster than other arithmetic.
            cl::DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES if dots => to.put(3u64),
            cl::DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT
            | cl::DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4X8BIT_PACKED
                if dots =>
            {
                to.put(&[0u32; 6][..])
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

#[cfg(test)]
mod tests {
    use ptx_runtime::{Backend, device as profiles};

    use super::*;

    #[test]
    fn devices_without_ordered_atomics_are_of_version_1_2() {
        for (name, wanted) in
            [("GTX 280", (1, 2)), ("sm_61", (1, 2)), ("sm_70", (3, 0)), ("H200", (3, 0))]
        {
            let profile = profiles::profile(name).expect(name);
            let device = Device::new(profile, Backend::Auto).expect(name);
            assert_eq!(device.version(), wanted, "{name}");
        }
    }
}
