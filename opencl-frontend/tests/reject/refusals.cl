// options: -cl-std=CL3.0 --target sm_90
// Optional parts of OpenCL C 3.0 that are not there.
kernel void reads(read_only pipe int p) {}
kernel void writes(global int *in, pipe int4 p) {}
kernel void packets(global int *out) { out[0] = get_pipe_num_packets(out[1]); }
kernel void calls(global int *out) { queue_t q = get_default_queue(); }
kernel void passes(queue_t q) {}
kernel void waits(global int *out) { clk_event_t *events = 0; }
kernel void flags(global int *out) { out[0] = CLK_ENQUEUE_FLAGS_NO_WAIT; }
kernel void starts(global int *out) {
    enqueue_kernel(get_default_queue(), 0, ndrange_1D(64), ^{ out[0] = 1; });
}
kernel void block(global int *out) { void (^f)(int) = ^(int n) { out[0] = n; }; }
kernel void depth(read_only image2d_depth_t image) {}
// These names are the program's where it declares them.
typedef int queue_t;
int enqueue_kernel(queue_t pipe) { return pipe ^ 3; }
// A prefix is a block to clang, too.
int two(int a) { return a ^ ^ a; }
int no_operand(int a) { return a ^; }
