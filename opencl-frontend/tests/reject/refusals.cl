// options: -cl-std=CL3.0 --target sm_90
// Optional parts of OpenCL C 3.0 that are not there.
kernel void reads(read_only pipe int p) {}
kernel void calls(global int *out) { queue_t q = get_default_queue(); }
