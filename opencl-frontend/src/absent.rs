//! Optional parts of OpenCL C 3.0 that there is nothing of: their names, why they are refused, and a way out.

use crate::diag::{Code, Diag};

/// A part of the language.
struct Part {
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    /// Its types, functions and constants.
    names: &'static [&'static str],
}

const PIPES: Part = Part {
    what: "pipes are not supported",
    why: "OpenCL C 3.0 leaves pipes to implementations (`__opencl_c_pipes`); PTX has none, and clCreatePipe fails here",
    instead: "pass a buffer, and move its indices with atomic functions",
    names: &[
        "pipe",
        "reserve_id_t",
        "CLK_NULL_RESERVE_ID",
        "read_pipe",
        "write_pipe",
        "reserve_read_pipe",
        "reserve_write_pipe",
        "commit_read_pipe",
        "commit_write_pipe",
        "is_valid_reserve_id",
        "work_group_reserve_read_pipe",
        "work_group_reserve_write_pipe",
        "work_group_commit_read_pipe",
        "work_group_commit_write_pipe",
        "sub_group_reserve_read_pipe",
        "sub_group_reserve_write_pipe",
        "sub_group_commit_read_pipe",
        "sub_group_commit_write_pipe",
        "get_pipe_num_packets",
        "get_pipe_max_packets",
    ],
};

const QUEUES: Part = Part {
    what: "queues on the device are not supported",
    why: "OpenCL C 3.0 leaves them to implementations (`__opencl_c_device_enqueue`); here a kernel starts no other one",
    instead: "enqueue the kernel from the host, behind this one; it can read the sizes from a buffer that this one writes",
    names: &[
        "queue_t",
        "clk_event_t",
        "ndrange_t",
        "clk_profiling_info",
        "kernel_enqueue_flags_t",
        "enqueue_kernel",
        "enqueue_marker",
        "get_default_queue",
        "ndrange_1D",
        "ndrange_2D",
        "ndrange_3D",
        "get_kernel_work_group_size",
        "get_kernel_preferred_work_group_size_multiple",
        "get_kernel_sub_group_count_for_ndrange",
        "get_kernel_max_sub_group_size_for_ndrange",
        "retain_event",
        "release_event",
        "create_user_event",
        "is_valid_event",
        "set_user_event_status",
        "capture_event_profiling_info",
        "CLK_NULL_QUEUE",
        "CLK_NULL_EVENT",
        "CLK_ENQUEUE_FLAGS_NO_WAIT",
        "CLK_ENQUEUE_FLAGS_WAIT_KERNEL",
        "CLK_ENQUEUE_FLAGS_WAIT_WORK_GROUP",
        "CLK_PROFILING_COMMAND_EXEC_TIME",
    ],
};

const DEPTH: Part = Part {
    what: "depth and multi-sample images are not supported",
    why: "OpenCL 3.0 leaves their formats to implementations; clGetSupportedImageFormats lists none here",
    instead: "keep depths in an image of CL_R and CL_FLOAT, which is an `image2d_t`",
    names: &[
        "image2d_depth_t",
        "image2d_array_depth_t",
        "image2d_msaa_t",
        "image2d_array_msaa_t",
        "image2d_msaa_depth_t",
        "image2d_array_msaa_depth_t",
    ],
};

const BLOCKS: Part = Part {
    what: "blocks (`^{ … }`) are not supported",
    why: "they are for queues on the device (`__opencl_c_device_enqueue`), which there are none of",
    instead: "make it a function and call it, or a kernel that the host enqueues",
    names: &[],
};

/// The error for a name that is declared nowhere, if it belongs to such a part.
pub(crate) fn refusal(name: &str) -> Option<Diag> {
    let parts = [PIPES, QUEUES, DEPTH];
    let part = parts.into_iter().find(|part| part.names.contains(&name))?;
    Some(part.diag(&format!(", so there is no `{name}`")))
}

/// The error for a block.
pub(crate) fn block() -> Diag {
    BLOCKS.diag("")
}

impl Part {
    fn diag(&self, name: &str) -> Diag {
        let message = format!("{}{name}", self.what);
        Diag::error(Code::Unsupported, message).note(None, self.why).help(self.instead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_belongs_to_one_part() {
        let mut names: Vec<_> = [PIPES, QUEUES, DEPTH].iter().flat_map(|p| p.names).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(refusal("int").is_none());
    }
}
