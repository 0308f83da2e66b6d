/* Ranges that work-groups do not divide, through the loader: what each work-item is told, barriers, and functions of
   work-groups and sub-groups in the smaller groups. Prints what is wrong, then the number of checks. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks;
#define CHECK(test) \
    do { \
        checks++; \
        if (!(test)) printf("line %d: %s\n", __LINE__, #test); \
    } while (0)

enum { VALUES = 34, ITEMS = 4096 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_mem memory;
static int out[ITEMS * VALUES];

static const char *source =
    "#define SIZES __attribute__((reqd_work_group_size(5, 3, 1)))\n"
    "#define ALL(f) *o++ = f(0); *o++ = f(1); *o++ = f(2); *o++ = f(3);\n"
    "void tell(global int *o, size_t at) {\n"
    "    o += at * 34;\n"
    "    ALL(get_global_id) ALL(get_local_id) ALL(get_local_size) ALL(get_enqueued_local_size)\n"
    "    ALL(get_group_id) ALL(get_num_groups) ALL(get_global_size)\n"
    "    *o++ = get_global_offset(0); *o++ = get_global_offset(1); *o++ = get_global_offset(2);\n"
    "    *o++ = get_work_dim(); *o++ = get_local_linear_id(); *o++ = get_global_linear_id();\n"
    "}\n"
    "kernel void places(global int *o) { tell(o, get_global_linear_id()); }\n"
    "SIZES kernel void required(global int *o) { tell(o, get_global_linear_id()); }\n"
    "kernel void shares(global int *o, local int *shared) {\n"
    "    int l = get_local_linear_id();\n"
    "    int n = get_local_size(0) * get_local_size(1) * get_local_size(2);\n"
    "    shared[l] = get_global_linear_id();\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    int sum = 0;\n"
    "    for (int i = 0; i < n; i++) sum += shared[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    global int *to = o + get_global_linear_id() * 34;\n"
    "    to[0] = sum; to[1] = n;\n"
    "#if __OPENCL_C_VERSION__ >= 300\n"
    "    to[2] = work_group_reduce_add((int)get_global_linear_id());\n"
    "    to[3] = work_group_scan_inclusive_add(1);\n"
    "    to[4] = work_group_broadcast((int)get_global_linear_id(), get_local_size(0) - 1, 0, 0);\n"
    "    to[5] = work_group_all(shared[l] >= 0) + 2 * work_group_any(l == n - 1);\n"
    "    to[6] = get_sub_group_size(); to[7] = get_num_sub_groups(); to[8] = get_enqueued_num_sub_groups();\n"
    "    to[9] = sub_group_reduce_add(1); to[10] = sub_group_scan_exclusive_add(1);\n"
    "    to[11] = sub_group_broadcast(l, get_sub_group_size() - 1); to[12] = get_sub_group_id();\n"
    "    to[13] = get_max_sub_group_size();\n"
    "#endif\n"
    "}\n"
    "kernel void copies(global const int *in, global int *o, local int *shared) {\n"
    "    size_t n = get_local_size(0), first = get_group_id(0) * get_enqueued_local_size(0);\n"
    "    event_t e = async_work_group_copy(shared, in + first, n, 0);\n"
    "    wait_group_events(1, &e);\n"
    "    o[get_global_id(0)] = shared[n - 1 - get_local_id(0)];\n"
    "}\n"
    "kernel void count(global int *o) {\n"
    "    atomic_inc(o); atomic_add(o + 1, get_local_size(0)); atomic_max(o + 2, get_num_groups(0));\n"
    "    if (get_local_linear_id() == 0) atomic_inc(o + 3);\n"
    "    for (size_t i = get_global_id(0); i < 3000; i += get_global_size(0)) atomic_inc(o + 4);\n"
    "}\n";

static cl_program build(const char *text, const char *options) {
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    CHECK(clBuildProgram(program, 1, &device, options, NULL, NULL) == 0);
    return program;
}

struct range {
    cl_uint dimensions;
    size_t offset[3], global[3], local[3];
};

static cl_int launch(cl_kernel kernel, const struct range *r) {
    memset(out, 0xee, sizeof out);
    clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    const size_t *local = r->local[0] ? r->local : NULL;
    cl_int code =
        clEnqueueNDRangeKernel(queue, kernel, r->dimensions, r->offset, r->global, local, 0, NULL, NULL);
    if (code != 0) return code;
    CHECK(clFinish(queue) == 0);
    return clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* What a work-item must be told: its place, of which all else follows. */
static void expect(const struct range *r, const size_t at[3], int told[VALUES]) {
    const size_t *g = r->global, *l = r->local;
    size_t size[3], place[3];
    for (int d = 0; d < 3; d++) {
        size_t group = at[d] / l[d];
        size[d] = least(l[d], g[d] - group * l[d]);
        place[d] = at[d] % l[d];
        told[d] = (int)(at[d] + r->offset[d]);
        told[4 + d] = (int)place[d];
        told[8 + d] = (int)size[d];
        told[12 + d] = (int)l[d];
        told[16 + d] = (int)group;
        told[20 + d] = (int)((g[d] + l[d] - 1) / l[d]);
        told[24 + d] = (int)g[d];
        told[28 + d] = (int)r->offset[d];
    }
    told[3] = told[7] = told[19] = 0;
    told[11] = told[15] = told[23] = told[27] = 1;
    told[31] = (int)r->dimensions;
    told[32] = (int)(place[0] + size[0] * (place[1] + size[1] * place[2]));
    told[33] = (int)(at[0] + g[0] * (at[1] + g[1] * at[2]));
}

static void places(cl_kernel kernel, const struct range *r) {
    CHECK(launch(kernel, r) == 0);
    int wrong = 0, told[VALUES];
    for (size_t z = 0; z < r->global[2]; z++)
        for (size_t y = 0; y < r->global[1]; y++)
            for (size_t x = 0; x < r->global[0]; x++) {
                const size_t at[3] = {x, y, z};
                expect(r, at, told);
                wrong += memcmp(out + told[33] * VALUES, told, sizeof told) != 0;
            }
    CHECK(wrong == 0);
    size_t all = r->global[0] * r->global[1] * r->global[2];
    CHECK(out[all * VALUES] == (int)0xeeeeeeee);
}

/* `newer`: with functions of work-groups and sub-groups. */
static void shares(cl_kernel kernel, const struct range *r, int newer) {
    CHECK(clSetKernelArg(kernel, 1, r->local[0] * r->local[1] * r->local[2] * 4, NULL) == 0);
    CHECK(launch(kernel, r) == 0);
    int wrong = 0, told[VALUES];
    const size_t *g = r->global, *l = r->local;
    for (size_t z = 0; z < g[2]; z++)
        for (size_t y = 0; y < g[1]; y++)
            for (size_t x = 0; x < g[0]; x++) {
                const size_t at[3] = {x, y, z};
                expect(r, at, told);
                const int *size = told + 8, *o = out + told[33] * VALUES;
                int n = size[0] * size[1] * size[2], sum = 0, i = told[32], last = 0;
                for (int c = 0; c < size[2]; c++)
                    for (int b = 0; b < size[1]; b++)
                        for (int a = 0; a < size[0]; a++) {
                            size_t p = a + l[0] * told[16], q = b + l[1] * told[17], s = c + l[2] * told[18];
                            int linear = (int)(p + g[0] * (q + g[1] * s));
                            sum += linear;
                            if (b == 0 && c == 0) last = linear;
                        }
                int all = (int)(l[0] * l[1] * l[2]), of_sub = (int)least(32, n - i / 32 * 32);
                const int right[] = {sum, n, sum, i + 1, last, 3, of_sub, (n + 31) / 32, (all + 31) / 32, of_sub,
                    i % 32, i / 32 * 32 + of_sub - 1, i / 32, 32};
                wrong += memcmp(o, right, newer ? sizeof right : 8) != 0;
            }
    CHECK(wrong == 0);
}

static const struct range ranges[] = {
    {1, {0}, {10, 1, 1}, {4, 1, 1}},
    {1, {7}, {100, 1, 1}, {33, 1, 1}},
    {1, {0}, {1000, 1, 1}, {256, 1, 1}},
    {1, {3}, {5, 1, 1}, {64, 1, 1}},
    {1, {0}, {64, 1, 1}, {16, 1, 1}},
    {1, {0}, {7, 1, 1}, {6, 1, 1}},
    {2, {0}, {10, 7, 1}, {4, 3, 1}},
    {2, {5, 9}, {35, 9, 1}, {16, 3, 1}},
    {2, {0}, {8, 5, 1}, {8, 4, 1}},
    {2, {1, 2}, {3, 50, 1}, {7, 40, 1}},
    {3, {0}, {10, 7, 5}, {4, 3, 2}},
    {3, {11, 12, 13}, {9, 8, 7}, {9, 5, 4}},
    {3, {0}, {4, 4, 9}, {4, 4, 2}},
};
enum { RANGES = sizeof ranges / sizeof *ranges };

static cl_kernel kernel_of(cl_program program, const char *name) {
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    CHECK(error == 0 && clSetKernelArg(kernel, 0, sizeof memory, &memory) == 0);
    return kernel;
}

static void all_ranges(cl_program program, int newer) {
    cl_kernel p = kernel_of(program, "places"), s = kernel_of(program, "shares");
    for (int i = 0; i < RANGES; i++) {
        places(p, ranges + i);
        shares(s, ranges + i, newer);
    }
    clReleaseKernel(p);
    clReleaseKernel(s);
}

/* Sizes that do not divide are refused; those that do work. */
static void uniform_only(const char *options) {
    cl_program program = build(source, options);
    cl_kernel p = kernel_of(program, "places"), r = kernel_of(program, "required");
    CHECK(launch(p, ranges) == CL_INVALID_WORK_GROUP_SIZE);
    CHECK(launch(p, ranges + 6) == CL_INVALID_WORK_GROUP_SIZE);
    places(p, ranges + 4);
    const struct range left = {2, {0}, {11, 3, 1}, {5, 3, 1}}, none = {2, {0}, {11, 3, 1}, {0}};
    CHECK(launch(r, &left) == CL_INVALID_WORK_GROUP_SIZE);
    CHECK(launch(r, &none) == CL_INVALID_WORK_GROUP_SIZE);
    clReleaseKernel(p);
    clReleaseKernel(r);
    clReleaseProgram(program);
}

/* The size that a kernel requires is that of all groups but the last. */
static void required(cl_program program) {
    cl_kernel kernel = kernel_of(program, "required");
    const struct range left = {2, {2, 1}, {11, 7, 1}, {5, 3, 1}}, none = {2, {2, 1}, {11, 7, 1}, {0}};
    const struct range other = {2, {0}, {11, 7, 1}, {4, 3, 1}};
    size_t size[3] = {0};
    CHECK(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof size, size, NULL) == 0);
    CHECK(size[0] == 5 && size[1] == 3 && size[2] == 1);
    places(kernel, &left);
    static int before[ITEMS * VALUES];
    memcpy(before, out, sizeof out);
    CHECK(launch(kernel, &none) == 0 && memcmp(before, out, sizeof out) == 0);
    CHECK(launch(kernel, &other) == CL_INVALID_WORK_GROUP_SIZE);
    clReleaseKernel(kernel);
}

static void copies(cl_program program) {
    cl_kernel kernel = kernel_of(program, "copies");
    cl_int error, right = 1;
    cl_mem in = clCreateBuffer(context, 0, 1000 * 4, NULL, &error);
    const struct range r = {1, {0}, {1000, 1, 1}, {192, 1, 1}};
    int *numbers = clEnqueueMapBuffer(queue, in, CL_TRUE, CL_MAP_WRITE, 0, 4000, 0, NULL, NULL, &error);
    for (int i = 0; i < 1000; i++) numbers[i] = 3 * i;
    clEnqueueUnmapMemObject(queue, in, numbers, 0, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof in, &in), clSetKernelArg(kernel, 1, sizeof memory, &memory);
    CHECK(clSetKernelArg(kernel, 2, 192 * 4, NULL) == 0 && launch(kernel, &r) == 0);
    for (int i = 0; i < 1000; i++) {
        int first = i / 192 * 192, n = (int)least(192, 1000 - first);
        right &= out[i] == 3 * (first + n - 1 - (i - first));
    }
    CHECK(right);
    clReleaseMemObject(in);
    clReleaseKernel(kernel);
}

/* One command, one event, and every work-item once. */
static void count(cl_program program) {
    cl_kernel kernel = kernel_of(program, "count");
    int zeros[5] = {0}, found[5];
    size_t global = 1003, local = 100;
    cl_event event;
    cl_ulong start = 0, end = 0;
    CHECK(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, NULL) == 0);
    cl_int code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, &event);
    CHECK(code == 0);
    if (code != 0) return;
    CHECK(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof found, found, 1, &event, NULL) == 0);
    CHECK(found[0] == 1003 && found[1] == 100000 + 9 && found[2] == 11 && found[3] == 11 && found[4] == 3000);
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 8, &start, NULL) == 0);
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &end, NULL) == 0 && start <= end);
    clReleaseEvent(event);
    clReleaseKernel(kernel);
}

/* The binary says that groups may be smaller. */
static void binary(cl_program program) {
    size_t size = 0;
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) == 0);
    unsigned char *bytes = malloc(size);
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) == 0);
    cl_int error, status;
    const unsigned char *text = bytes;
    cl_program again = clCreateProgramWithBinary(context, 1, &device, &size, &text, &status, &error);
    CHECK(error == 0 && clBuildProgram(again, 1, &device, "", NULL, NULL) == 0);
    cl_kernel kernel = kernel_of(again, "places");
    places(kernel, ranges + 10);
    clReleaseKernel(kernel);
    required(again);
    clReleaseProgram(again);
    free(bytes);
}

static cl_program compiled(const char *text, const char *options) {
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    CHECK(clCompileProgram(program, 1, &device, options, 0, NULL, NULL, NULL, NULL) == 0);
    return program;
}

/* A function of a source that wants groups of one size makes the whole program one of these. */
static void linked(void) {
    const char *helper = "int size(int d) { return get_global_size(d) * 100 + get_enqueued_local_size(d); }";
    const char *user = "int size(int d); kernel void k(global int *o) { o[get_global_id(0)] = size(0); }";
    const struct range r = {1, {0}, {10, 1, 1}, {4, 1, 1}};
    const char *options[] = {"-cl-std=CL3.0", "-cl-std=CL2.0", "-cl-std=CL3.0 -cl-uniform-work-group-size", ""};
    cl_program main = compiled(user, "-cl-std=CL3.0");
    for (int i = 0; i < 4; i++) {
        cl_program parts[] = {compiled(helper, options[i]), main};
        cl_int error;
        cl_program program = clLinkProgram(context, 1, &device, "", 2, parts, NULL, NULL, &error);
        CHECK(error == 0);
        cl_kernel kernel = kernel_of(program, "k");
        cl_int code = launch(kernel, &r);
        CHECK(code == (i < 2 ? CL_SUCCESS : CL_INVALID_WORK_GROUP_SIZE));
        CHECK(i >= 2 || (out[0] == 1004 && out[9] == 1004));
        clReleaseKernel(kernel);
        clReleaseProgram(program);
        clReleaseProgram(parts[0]);
    }
    clReleaseProgram(main);
}

int main(void) {
    cl_platform_id platform;
    cl_int error;
    cl_bool has = 0;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    CHECK(clGetDeviceInfo(device, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, sizeof has, &has, NULL) == 0 && has);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    const cl_queue_properties profiled[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    queue = clCreateCommandQueueWithProperties(context, device, profiled, &error);
    CHECK(error == 0);
    memory = clCreateBuffer(context, 0, sizeof out, NULL, &error);

    cl_program program = build(source, "-cl-std=CL3.0");
    all_ranges(program, 1);
    required(program);
    copies(program);
    count(program);
    binary(program);
    clReleaseProgram(program);
    const char *others[] = {"-cl-std=CL2.0", "-cl-std=CL3.0 -cl-opt-disable"};
    for (int i = 0; i < 2; i++) {
        program = build(source, others[i]);
        all_ranges(program, i);
        clReleaseProgram(program);
    }
    uniform_only("-cl-std=CL3.0 -cl-uniform-work-group-size");
    uniform_only("-cl-std=CL1.2");
    uniform_only("");
    linked();
    clReleaseMemObject(memory);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d checks\n", checks);
    return 0;
}
