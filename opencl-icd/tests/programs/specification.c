/* What the specification says of programs, events, kernels, shared memory and images, function by function, through the
   loader: prints what is wrong, then the number of checks. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int checks;
#define CHECK(test) \
    do { \
        checks++; \
        if (!(test)) printf("line %d: %s\n", __LINE__, #test); \
    } while (0)

static cl_platform_id p;
static cl_device_id d;
static cl_context c;
static cl_command_queue q;
static cl_program g, un;
static cl_kernel kk, kr;
static cl_mem m;
static cl_event ev;
static cl_command_type ct;
static cl_program_binary_type bt;
static cl_int e, st;
static cl_uint u;
static size_t sz, gs, ls;
static char buf[4096];

static cl_program build(const char *source, const char *options) {
    cl_program built = clCreateProgramWithSource(c, 1, &source, NULL, &e);
    CHECK(clBuildProgram(built, 1, &d, options, NULL, NULL) == 0);
    return built;
}

static void CL_CALLBACK notify(cl_program built, void *told) { __atomic_store_n((int *)told, 1, __ATOMIC_SEQ_CST); }

static void sub_devices(void) {
    cl_device_partition_property eq[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0}, cn[] = {CL_DEVICE_PARTITION_BY_COUNTS,
        1, 1, 0, 0}, af[] = {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE,
        0}, z[] = {0};
    cl_uint k = 9, units;
    cl_device_id sub[256], parent;
    cl_device_type type;
    CHECK(clGetDeviceInfo(d, CL_DEVICE_TYPE, sizeof type, &type, NULL) == 0);
    CHECK(clGetDeviceInfo(d, CL_DEVICE_MAX_COMPUTE_UNITS, 4, &units, NULL) == 0);
    /* This machine has parts if it has more than one thread, GPUs have none. */
    int parts = type == CL_DEVICE_TYPE_CPU && units > 1 && units <= 256;
    cl_int none = CL_INVALID_VALUE;
    CHECK(clGetDeviceInfo(d, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, 4, &u, NULL) == 0 && u == (parts ? units : 0));
    CHECK(clGetDeviceInfo(d, CL_DEVICE_PARTITION_PROPERTIES, sizeof buf, buf, &sz) == 0 && sz == (parts ? 16 : 8));
    CHECK(*(cl_device_partition_property *)buf == (parts ? CL_DEVICE_PARTITION_EQUALLY : 0));
    CHECK(clCreateSubDevices(d, eq, 0, NULL, &k) == (parts ? 0 : none) && k == (parts ? units : 9));
    CHECK(clCreateSubDevices(d, eq, 1, sub, NULL) == none);
    eq[1] = 0;
    CHECK(clCreateSubDevices(d, eq, 256, sub, NULL) == none);
    eq[1] = units + 1;
    CHECK(clCreateSubDevices(d, eq, 256, sub, NULL) == (parts ? CL_DEVICE_PARTITION_FAILED : none));
    cn[2] = units;
    CHECK(clCreateSubDevices(d, cn, 256, sub, NULL) == (parts ? CL_INVALID_DEVICE_PARTITION_COUNT : none));
    cn[2] = -1;
    CHECK(clCreateSubDevices(d, cn, 256, sub, NULL) == (parts ? CL_INVALID_DEVICE_PARTITION_COUNT : none));
    cn[2] = 1;
    CHECK(clCreateSubDevices(d, cn, 256, sub, &k) == (parts ? 0 : none) && k == (parts ? 2 : 9));
    if (!parts) sub[0] = sub[1] = d;
    CHECK(clGetDeviceInfo(sub[1], CL_DEVICE_PARENT_DEVICE, 8, &parent, NULL) == 0 && parent == (parts ? d : NULL));
    CHECK(clGetDeviceInfo(sub[1], CL_DEVICE_MAX_COMPUTE_UNITS, 4, &u, NULL) == 0 && u == (parts ? 1 : units));
    CHECK(clGetDeviceInfo(sub[1], CL_DEVICE_PARTITION_TYPE, sizeof buf, buf, &sz) == 0);
    CHECK(parts ? sz == sizeof cn && !memcmp(buf, cn, sz) : sz == 8 && !*(long *)buf);
    CHECK(clGetDeviceInfo(sub[1], CL_DEVICE_PARTITION_MAX_SUB_DEVICES, 4, &u, NULL) == 0 && u == 0);
    CHECK(clGetDeviceInfo(sub[1], CL_DEVICE_REFERENCE_COUNT, 4, &u, NULL) == 0 && u == 1);
    /* Both parts in one context: a kernel on each, on one buffer. */
    cl_context both = clCreateContext(NULL, parts ? 2 : 1, sub, NULL, NULL, &e);
    CHECK(e == 0);
    const char *text = "kernel void k(global int *o, int to) { o[get_global_id(0)] += to; }";
    cl_program of_both = clCreateProgramWithSource(both, 1, &text, NULL, &e);
    CHECK(clBuildProgram(of_both, 0, NULL, "", NULL, NULL) == 0);
    cl_kernel kernel = clCreateKernel(of_both, "k", &e);
    int numbers[300] = {0};
    cl_mem memory = clCreateBuffer(both, CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, &e);
    for (int i = 0; i < 2; i++) {
        cl_command_queue own = clCreateCommandQueue(both, sub[i], 0, &e);
        int to = i + 3;
        size_t all = 300;
        CHECK(e == 0 && clSetKernelArg(kernel, 0, 8, &memory) == 0 && clSetKernelArg(kernel, 1, 4, &to) == 0);
        CHECK(clEnqueueNDRangeKernel(own, kernel, 1, NULL, &all, NULL, 0, NULL, NULL) == 0 && clFinish(own) == 0);
        CHECK(clEnqueueReadBuffer(own, memory, 1, 0, sizeof numbers, numbers, 0, NULL, NULL) == 0);
        clReleaseCommandQueue(own);
    }
    CHECK(numbers[0] == 7 && numbers[299] == 7);
    clReleaseMemObject(memory), clReleaseKernel(kernel), clReleaseProgram(of_both), clReleaseContext(both);
    CHECK(clRetainDevice(sub[0]) == 0 && clReleaseDevice(sub[0]) == 0 && clReleaseDevice(sub[0]) == 0);
    CHECK(clReleaseDevice(sub[1]) == 0);
    CHECK(clCreateSubDevices(d, af, 0, NULL, &k) == CL_INVALID_VALUE);
    CHECK(clCreateSubDevices(d, z, 0, NULL, &k) == CL_INVALID_VALUE);
    CHECK(clCreateSubDevices(d, NULL, 0, NULL, &k) == CL_INVALID_VALUE);
    CHECK(clCreateSubDevices(NULL, eq, 8, sub, &k) == CL_INVALID_DEVICE);
    cl_device_affinity_domain ad = 1;
    CHECK(clGetDeviceInfo(d, CL_DEVICE_PARTITION_AFFINITY_DOMAIN, 8, &ad, NULL) == 0 && ad == 0);
    CHECK(clGetDeviceInfo(d, CL_DEVICE_PARTITION_TYPE, sizeof buf, buf, &sz) == 0 && sz == 8 && !*(long *)buf);
    CHECK(clRetainDevice(d) == 0 && clReleaseDevice(d) == 0);
}

static void non_uniform(void) {
    g = build(
        "kernel void k(global int *o) { o[get_global_id(0)] = get_local_size(0); }\n"
        "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void r(global int *o) {}",
        "-cl-std=CL3.0");
    kk = clCreateKernel(g, "k", &e);
    kr = clCreateKernel(g, "r", &e);
    m = clCreateBuffer(c, 0, 4096, NULL, &e);
    clSetKernelArg(kk, 0, 8, &m);
    clSetKernelArg(kr, 0, 8, &m);
    size_t zero = 0, big = 1 << 20;
    gs = 10, ls = 4;
    CHECK(clEnqueueNDRangeKernel(q, kk, 1, NULL, &gs, &ls, 0, NULL, NULL) == 0 && clFinish(q) == 0);
    CHECK(clEnqueueNDRangeKernel(q, kk, 1, NULL, &gs, &zero, 0, NULL, NULL) == CL_INVALID_WORK_GROUP_SIZE);
    CHECK(clEnqueueNDRangeKernel(q, kr, 1, NULL, &gs, NULL, 0, NULL, NULL) == 0 && clFinish(q) == 0);
    CHECK(clEnqueueNDRangeKernel(q, kk, 1, NULL, &big, &big, 0, NULL, NULL) == CL_INVALID_WORK_ITEM_SIZE);
    CHECK(clEnqueueNDRangeKernel(q, kk, 4, NULL, &gs, &ls, 0, NULL, NULL) == CL_INVALID_WORK_DIMENSION);
    cl_uint pitch = 9;
    CHECK(clGetDeviceInfo(d, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, 4, &pitch, NULL) == 0 && pitch == 1);
    cl_bool b = 0;
    CHECK(clGetDeviceInfo(d, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, 4, &b, NULL) == 0 && b == 1);
}

static void events(void) {
    gs = 64;
    CHECK(clEnqueueNDRangeKernel(q, kk, 1, NULL, &gs, &ls, 0, NULL, &ev) == 0);
    cl_ulong t[5];
    clWaitForEvents(1, &ev);
    CHECK(clGetEventInfo(ev, CL_EVENT_COMMAND_EXECUTION_STATUS, 4, &st, NULL) == 0 && st == CL_COMPLETE);
    for (int i = 0; i < 5; i++) CHECK(clGetEventProfilingInfo(ev, CL_PROFILING_COMMAND_QUEUED+i, 8, &t[i], NULL) == 0);
    CHECK(t[0] <= t[1] && t[1] <= t[2] && t[2] <= t[3] && t[3] <= t[4]);
    CHECK(clGetEventInfo(ev, CL_EVENT_COMMAND_TYPE, 4, &ct, NULL) == 0 && ct == CL_COMMAND_NDRANGE_KERNEL);
    cl_context cc;
    CHECK(clGetEventInfo(ev, CL_EVENT_CONTEXT, 8, &cc, NULL) == 0 && cc == c);
    CHECK(clGetEventInfo(ev, CL_EVENT_CONTEXT, 4, &cc, NULL) == CL_INVALID_VALUE);
    CHECK(clGetEventInfo(ev, 99, 8, &cc, NULL) == CL_INVALID_VALUE);
    CHECK(clGetEventProfilingInfo(ev, 99, 8, t, NULL) == CL_INVALID_VALUE);
    cl_event ue = clCreateUserEvent(c, &e);
    CHECK(clGetEventProfilingInfo(ue, CL_PROFILING_COMMAND_END, 8, t, NULL) == CL_PROFILING_INFO_NOT_AVAILABLE);
    CHECK(clSetUserEventStatus(ue, 1) == CL_INVALID_VALUE);
    CHECK(clSetUserEventStatus(ue, 0) == 0);
    CHECK(clSetUserEventStatus(ue, 0) == CL_INVALID_OPERATION);
    CHECK(clSetUserEventStatus(ev, 0) == CL_INVALID_EVENT);
    CHECK(clGetEventInfo(ue, CL_EVENT_COMMAND_QUEUE, 8, &cc, NULL) == 0 && cc == NULL);
    CHECK(clGetEventInfo(ue, CL_EVENT_COMMAND_TYPE, 4, &ct, NULL) == 0 && ct == CL_COMMAND_USER);
}

static void failed_wait_lists(void) {
    cl_event ue2 = clCreateUserEvent(c, &e), ev2;
    CHECK(clEnqueueNDRangeKernel(q, kk, 1, NULL, &gs, &ls, 1, &ue2, &ev2) == 0);
    clSetUserEventStatus(ue2, -5);
    CHECK(clWaitForEvents(1, &ev2) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CHECK(clGetEventInfo(ev2, CL_EVENT_COMMAND_EXECUTION_STATUS, 4, &st, NULL) == 0 && st < 0);
}

static void program_queries(void) {
    CHECK(clGetProgramInfo(g, CL_PROGRAM_NUM_KERNELS, 8, &sz, NULL) == 0 && sz == 2);
    CHECK(clGetProgramInfo(g, CL_PROGRAM_KERNEL_NAMES, 4096, buf, &sz) == 0 && !strcmp(buf, "k;r") && sz == 4);
    CHECK(clGetProgramInfo(g, CL_PROGRAM_SOURCE, 4096, buf, &sz) == 0 && strlen(buf)+1 == sz);
    cl_bool sc = 1;
    CHECK(clGetProgramInfo(g, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, 4, &sc, NULL) == 0 && sc == 0);
    CHECK(clGetProgramInfo(g, CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT, 4, &sc, NULL) == 0 && sc == 0);
    CHECK(clGetProgramInfo(g, CL_PROGRAM_IL, 4096, buf, &sz) == 0 && sz == 0);
    CHECK(clGetProgramBuildInfo(g, d, CL_PROGRAM_BUILD_OPTIONS, 4096, buf, &sz) == 0 && !strcmp(buf, "-cl-std=CL3.0"));
    CHECK(clGetProgramBuildInfo(g, d, CL_PROGRAM_BINARY_TYPE, 4, &bt,
        NULL) == 0 && bt == CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    CHECK(clGetProgramInfo(g, CL_PROGRAM_NUM_DEVICES, 4, &u, NULL) == 0 && u == 1);
}

static void unbuilt_programs(void) {
    const char *src = "kernel void a(){}";
    un = clCreateProgramWithSource(c, 1, &src, NULL, &e);
    CHECK(clGetProgramInfo(un, CL_PROGRAM_NUM_KERNELS, 8, &sz, NULL) == CL_INVALID_PROGRAM_EXECUTABLE);
    CHECK(clCreateKernel(un, "a", &e) == NULL && e == CL_INVALID_PROGRAM_EXECUTABLE);
    cl_build_status bs;
    CHECK(clGetProgramBuildInfo(un, d, CL_PROGRAM_BUILD_STATUS, 4, &bs, NULL) == 0 && bs == CL_BUILD_NONE);
    CHECK(clGetProgramBuildInfo(un, d, CL_PROGRAM_BINARY_TYPE, 4, &bt, NULL) == 0 && bt == 0);
    CHECK(clGetProgramBuildInfo(un, d, CL_PROGRAM_BUILD_LOG, 4096, buf, &sz) == 0 && sz == 1);
    size_t bz[1] = {7};
    CHECK(clGetProgramInfo(un, CL_PROGRAM_BINARY_SIZES, 8, bz, NULL) == 0 && bz[0] == 0);
    CHECK(clCreateKernel(g, "nope", &e) == NULL && e == CL_INVALID_KERNEL_NAME);
    CHECK(clCreateKernel(g, NULL, &e) == NULL && e == CL_INVALID_VALUE);
    CHECK(clBuildProgram(un, 0, &d, NULL, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clBuildProgram(un, 1, NULL, NULL, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clBuildProgram(un, 0, NULL, "-foo", NULL, NULL) == CL_INVALID_BUILD_OPTIONS);
    int dn = 0;
    CHECK(clBuildProgram(un, 0, NULL, NULL, NULL, &dn) == CL_INVALID_VALUE);
    CHECK(clBuildProgram(un, 0, NULL, "", notify, &dn) == 0);
    const struct timespec millisecond = {0, 1000000};
    for (int i = 0; i < 10000 && !__atomic_load_n(&dn, __ATOMIC_SEQ_CST); i++) nanosleep(&millisecond, NULL);
    CHECK(dn);
    const char *nul[1] = {NULL};
    CHECK(clCreateProgramWithSource(c, 1, nul, NULL, &e) == NULL && e == CL_INVALID_VALUE);
    CHECK(clCreateProgramWithSource(c, 0, &src, NULL, &e) == NULL && e == CL_INVALID_VALUE);
    CHECK(clCreateProgramWithBuiltInKernels(c, 1, &d, "x", &e) == NULL && e == CL_INVALID_VALUE);
    const char *options[] = {"-cl-std=CL1.0", "-cl-std=CL1.1", "-cl-std=CL1.2", "-cl-std=CL3.0", "-cl-std=CL2.0",
        "-DA", "-D A=3 -D B", "-I .", "-I. ", "-cl-mad-enable -cl-no-signed-zeros", "-cl-unsafe-math-optimizations",
        "-cl-finite-math-only", "-cl-fast-relaxed-math", "-w", "-Werror", "-cl-single-precision-constant",
        "-cl-denorms-are-zero", "-cl-fp32-correctly-rounded-divide-sqrt", "-cl-opt-disable", "-cl-strict-aliasing",
        "-cl-kernel-arg-info", "-cl-uniform-work-group-size", "-cl-no-subgroup-ifp", "-g"};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        cl_program x = clCreateProgramWithSource(c, 1, &src, NULL, &e);
        CHECK(clBuildProgram(x, 1, &d, options[i], NULL, NULL) == 0);
        clReleaseProgram(x);
    }
}

static void compile_and_link(void) {
    const char *lib = "int f(int x){return x+1;}", *mn = "#include \"h.h\"\nkernel void m(global int*o){o[0]=f(H);}",
        *h = "int f(int);\n#define H 4\n";
    cl_program pl = clCreateProgramWithSource(c, 1, &lib, NULL, &e), pm = clCreateProgramWithSource(c, 1, &mn, NULL,
        &e), ph = clCreateProgramWithSource(c, 1, &h, NULL, &e);
    const char *hn = "h.h";
    CHECK(clCompileProgram(pl, 1, &d, "", 0, NULL, NULL, NULL, NULL) == 0);
    CHECK(clCompileProgram(pm, 1, &d, "", 1, &ph, &hn, NULL, NULL) == 0);
    CHECK(clCompileProgram(pm, 1, &d, "", 1, NULL, &hn, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clCompileProgram(pm, 1, &d, "", 0, &ph, &hn, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clGetProgramBuildInfo(pm, d, CL_PROGRAM_BINARY_TYPE, 4, &bt,
        NULL) == 0 && bt == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
    cl_program L = clLinkProgram(c, 1, &d, "-create-library", 1, &pl, NULL, NULL, &e);
    CHECK(L && e == 0);
    CHECK(clGetProgramBuildInfo(L, d, CL_PROGRAM_BINARY_TYPE, 4, &bt,
        NULL) == 0 && bt == CL_PROGRAM_BINARY_TYPE_LIBRARY);
    cl_program two[2] = {pm, L};
    cl_program X = clLinkProgram(c, 1, &d, "", 2, two, NULL, NULL, &e);
    CHECK(X && e == 0);
    cl_program two2[1] = {pm};
    cl_program Y = clLinkProgram(c, 1, &d, "", 1, two2, NULL, NULL, &e);
    CHECK(e == CL_LINK_PROGRAM_FAILURE);
    if (Y) clReleaseProgram(Y);
    CHECK(clLinkProgram(c, 1, &d, "-foo", 1, two2, NULL, NULL, &e) == NULL || e == CL_INVALID_LINKER_OPTIONS);
    CHECK(clLinkProgram(c, 1, &d, "", 0, NULL, NULL, NULL, &e) == NULL && e == CL_INVALID_VALUE);
    CHECK(clLinkProgram(c, 1, &d, "", 1, &un, NULL, NULL, &e) == NULL && e == CL_INVALID_OPERATION);
    cl_kernel km = clCreateKernel(X, "m", &e);
    CHECK(e == 0);
    clSetKernelArg(km, 0, 8, &m);
    size_t one = 1;
    CHECK(clEnqueueNDRangeKernel(q, km, 1, NULL, &one, NULL, 0, NULL, NULL) == 0);
    int r;
    CHECK(clEnqueueReadBuffer(q, m, 1, 0, 4, &r, 0, NULL, NULL) == 0 && r == 5);
}

static void kernel_arguments(void) {
    cl_program ga = build(
        "typedef struct {int a;} S;\n"
        "kernel void k(global const float4 * restrict a, constant int *b, local volatile uchar *cc, read_only image2d_t i,\n"
        "write_only image3d_t w, sampler_t s, float3 v, S st, unsigned int ui, global atomic_int *at, unsigned char uc,\n"
        "global unsigned short *us, read_write image1d_t rw, size_t sz){}",
        "-cl-std=CL3.0 -cl-kernel-arg-info");
    cl_kernel ka = clCreateKernel(ga, "k", &e);
    const char *tn[] = {"float4*", "int*", "uchar*", "image2d_t", "image3d_t", "sampler_t", "float3", "S", "uint",
        "atomic_int*", "uchar", "ushort*", "image1d_t", "ulong"};
    for (int i = 0; i < 14; i++) {
        CHECK(clGetKernelArgInfo(ka, i, CL_KERNEL_ARG_TYPE_NAME, 4096, buf, NULL) == 0);
        CHECK(!strcmp(buf, tn[i]));
    }
    cl_kernel_arg_type_qualifier tq;
    CHECK(clGetKernelArgInfo(ka, 0, CL_KERNEL_ARG_TYPE_QUALIFIER, 8, &tq,
        NULL) == 0 && tq == (CL_KERNEL_ARG_TYPE_CONST|CL_KERNEL_ARG_TYPE_RESTRICT));
    CHECK(clGetKernelArgInfo(ka, 1, CL_KERNEL_ARG_TYPE_QUALIFIER, 8, &tq, NULL) == 0 && tq == CL_KERNEL_ARG_TYPE_CONST);
    CHECK(clGetKernelArgInfo(ka, 2, CL_KERNEL_ARG_TYPE_QUALIFIER, 8, &tq,
        NULL) == 0 && tq == CL_KERNEL_ARG_TYPE_VOLATILE);
    cl_kernel_arg_address_qualifier aq;
    CHECK(clGetKernelArgInfo(ka, 3, CL_KERNEL_ARG_ADDRESS_QUALIFIER, 4, &aq,
        NULL) == 0 && aq == CL_KERNEL_ARG_ADDRESS_GLOBAL);
    CHECK(clGetKernelArgInfo(ka, 5, CL_KERNEL_ARG_ADDRESS_QUALIFIER, 4, &aq,
        NULL) == 0 && aq == CL_KERNEL_ARG_ADDRESS_PRIVATE);
    cl_kernel_arg_access_qualifier xq;
    CHECK(clGetKernelArgInfo(ka, 12, CL_KERNEL_ARG_ACCESS_QUALIFIER, 4, &xq,
        NULL) == 0 && xq == CL_KERNEL_ARG_ACCESS_READ_WRITE);
    CHECK(clGetKernelArgInfo(ka, 14, CL_KERNEL_ARG_TYPE_NAME, 4096, buf, NULL) == CL_INVALID_ARG_INDEX);
    CHECK(clGetKernelInfo(ka, CL_KERNEL_ATTRIBUTES, 4096, buf, &sz) == 0 && buf[0] == 0);
    cl_kernel kr2 = clCreateKernel(g, "r", &e);
    CHECK(clGetKernelInfo(kr2, CL_KERNEL_ATTRIBUTES, 4096, buf, &sz) == 0 && !strcmp(buf,
        "reqd_work_group_size(4,1,1)"));
    if (strcmp(buf, "reqd_work_group_size(4,1,1)")) puts(buf);
    size_t cw[3];
    CHECK(clGetKernelWorkGroupInfo(kr2, d, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, 24, cw,
        NULL) == 0 && cw[0] == 4 && cw[1] == 1 && cw[2] == 1);
    CHECK(clGetKernelWorkGroupInfo(kr2, d, CL_KERNEL_GLOBAL_WORK_SIZE, 24, cw, NULL) == CL_INVALID_VALUE);
    cl_ulong pm8;
    CHECK(clGetKernelWorkGroupInfo(kr2, d, CL_KERNEL_PRIVATE_MEM_SIZE, 8, &pm8, NULL) == 0);
}

static void shared_memory(void) {
    void *sp = clSVMAlloc(c, CL_MEM_READ_WRITE, 4096, 64);
    CHECK(sp && ((size_t)sp&63) == 0);
    CHECK(clEnqueueSVMMap(q, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, sp, 4096, 0, NULL, &ev) == 0);
    clWaitForEvents(1, &ev);
    CHECK(clGetEventInfo(ev, CL_EVENT_COMMAND_TYPE, 4, &ct, NULL) == 0 && ct == CL_COMMAND_SVM_MAP);
    memset(sp, 5, 4096);
    CHECK(clEnqueueSVMUnmap(q, sp, 0, NULL, &ev) == 0);
    clWaitForEvents(1, &ev);
    CHECK(clGetEventInfo(ev, CL_EVENT_COMMAND_TYPE, 4, &ct, NULL) == 0 && ct == CL_COMMAND_SVM_UNMAP);
    char pat = 7;
    CHECK(clEnqueueSVMMemFill(q, (char *)sp+16, &pat, 1, 100, 0, NULL, &ev) == 0);
    clFinish(q);
    CHECK(((char *)sp)[15] == 5 && ((char *)sp)[16] == 7 && ((char *)sp)[116] == 5);
    clSVMFree(c, sp);
    cl_mem_flags fl = CL_MEM_SVM_FINE_GRAIN_BUFFER;
    (void)fl;
    CHECK(clSVMAlloc(c, CL_MEM_READ_ONLY|CL_MEM_WRITE_ONLY, 16, 0) == NULL);
    CHECK(clSVMAlloc(c, 0, (size_t)1<<60, 0) == NULL);
}

/* Groups that do not fill vectors may be put together where kernels cannot tell; others must see their own. */
static void small_groups(void) {
    cl_program built = build(
        "kernel void whole(global int *o, int n) {"
        " size_t x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);"
        " o[y * w + x] = n + x + 100 * y + 10000 * get_work_dim() + 100000 * get_global_size(1)"
        " + 1000000 * get_global_offset(0); }\n"
        "kernel void group(global int *o, int n) {"
        " size_t x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);"
        " o[y * w + x] = n + get_local_id(0) + 10 * get_local_size(0) + 100 * get_group_id(0) + 100000 * get_num_groups(0); }\n"
        "kernel void shared(global int *o, int n) {"
        " size_t x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);"
        " local int s; if (get_local_id(0) == 0) s = 0; barrier(CLK_LOCAL_MEM_FENCE); atomic_inc(&s);"
        " barrier(CLK_LOCAL_MEM_FENCE); o[y * w + x] = n + s; }",
        "");
    cl_mem memory = clCreateBuffer(c, 0, 4 * 96 * 6, NULL, &e);
    const char *names[] = {"whole", "group", "shared"};
    for (int i = 0; i < 3; i++)
        for (size_t of = 1; of <= 3; of += 2) {
            int got[96 * 6], n = 7, wrong = 0;
            cl_kernel kernel = clCreateKernel(built, names[i], &e);
            size_t all[2] = {96, 6}, part[2] = {of, 1};
            clSetKernelArg(kernel, 0, 8, &memory), clSetKernelArg(kernel, 1, 4, &n);
            CHECK(clEnqueueNDRangeKernel(q, kernel, 2, NULL, all, part, 0, NULL, NULL) == 0);
            CHECK(clEnqueueReadBuffer(q, memory, 1, 0, sizeof got, got, 0, NULL, NULL) == 0);
            for (int y = 0; y < 6; y++)
                for (int x = 0; x < 96; x++) {
                    int size = of, want[] = {7 + x + 100 * y + 20000 + 600000,
                        7 + x % size + 10 * size + 100 * (x / size) + 100000 * (96 / size), 7 + size};
                    wrong += got[y * 96 + x] != want[i];
                }
            CHECK(wrong == 0);
            clReleaseKernel(kernel);
        }
    clReleaseMemObject(memory), clReleaseProgram(built);
}

static void image_formats(void) {
    cl_image_format fm[300];
    cl_uint nf;
    cl_mem_flags fs[] = {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE, CL_MEM_KERNEL_READ_AND_WRITE};
    cl_mem_object_type it[] = {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_MEM_OBJECT_IMAGE1D_ARRAY,
        CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D};
    unsigned must[][2] = {{CL_RGBA, CL_UNORM_INT8}, {CL_RGBA, CL_UNORM_INT16}, {CL_RGBA, CL_SIGNED_INT8}, {CL_RGBA,
        CL_SIGNED_INT16}, {CL_RGBA, CL_SIGNED_INT32}, {CL_RGBA, CL_UNSIGNED_INT8}, {CL_RGBA, CL_UNSIGNED_INT16},
        {CL_RGBA, CL_UNSIGNED_INT32}, {CL_RGBA, CL_HALF_FLOAT}, {CL_RGBA, CL_FLOAT}, {CL_BGRA, CL_UNORM_INT8},
        {CL_RGBA, CL_SNORM_INT8}, {CL_RGBA, CL_SNORM_INT16}, {CL_R, CL_UNORM_INT8}, {CL_R, CL_FLOAT}, {CL_RG,
        CL_SNORM_INT16}, {CL_RG, CL_HALF_FLOAT}, {CL_R, CL_UNSIGNED_INT32}};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 4; j++) {
            CHECK(clGetSupportedImageFormats(c, fs[j], it[i], 300, fm, &nf) == 0 && nf <= 300);
            for (size_t a = 0; a < sizeof(must) / sizeof(must[0]); a++) {
                int found = 0;
                for (cl_uint x = 0; x < nf; x++)
                    found |= fm[x].image_channel_order == must[a][0] && fm[x].image_channel_data_type == must[a][1];
                CHECK(found);
            }
            /* Optional, and not there: sRGB and depth. */
            int optional = 0;
            for (cl_uint x = 0; x < nf; x++)
                optional |= fm[x].image_channel_order == CL_DEPTH || fm[x].image_channel_order == CL_sRGBA;
            CHECK(!optional);
        }
    cl_image_format f8 = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc ds = {CL_MEM_OBJECT_IMAGE2D, 0, 4};
    CHECK(clCreateImage(c, 0, &f8, &ds, NULL, &e) == NULL);
    CHECK(e == CL_INVALID_IMAGE_SIZE || e == CL_INVALID_IMAGE_DESCRIPTOR);
    cl_image_format fb = {CL_RGBA, 0x9999};
    ds.image_width = 4;
    CHECK(clCreateImage(c, 0, &fb, &ds, NULL, &e) == NULL && e == CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    cl_image_format fr = {CL_RGB, CL_FLOAT};
    CHECK(clCreateImage(c, 0, &fr, &ds, NULL,
        &e) == NULL && (e == CL_IMAGE_FORMAT_NOT_SUPPORTED || e == CL_INVALID_IMAGE_FORMAT_DESCRIPTOR));
    ds.image_row_pitch = 16;
    CHECK(clCreateImage(c, 0, &f8, &ds, NULL, &e) == NULL && e == CL_INVALID_IMAGE_DESCRIPTOR);
}

static void images_of_buffers(void) {
    cl_uint words[16 * 20], seen[160];
    for (int i = 0; i < 16 * 20; i++) words[i] = i;
    CHECK(clGetDeviceInfo(d, CL_DEVICE_EXTENSIONS, sizeof buf, buf, NULL) == 0);
    CHECK(strstr(buf, "cl_khr_image2d_from_buffer") != NULL);
    cl_mem of = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, sizeof words, words, &e);
    cl_mem to = clCreateBuffer(c, 0, sizeof seen, NULL, &e);
    cl_image_format format = {CL_R, CL_UNSIGNED_INT32};
    cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, 10, 16, .image_row_pitch = 80, .buffer = of};
    cl_mem image = clCreateImage(c, 0, &format, &desc, NULL, &e);
    CHECK(e == 0);
    cl_mem parent = NULL;
    CHECK(clGetMemObjectInfo(image, CL_MEM_ASSOCIATED_MEMOBJECT, 8, &parent, NULL) == 0 && parent == of);
    CHECK(clGetImageInfo(image, CL_IMAGE_BUFFER, 8, &parent, NULL) == 0 && parent == of);
    CHECK(clGetImageInfo(image, CL_IMAGE_ROW_PITCH, 8, &sz, NULL) == 0 && sz == 80);
    cl_program built = build("kernel void k(read_write image2d_t i, global uint *o) {"
        " int2 at = (int2)(get_global_id(0), get_global_id(1)); uint4 v = read_imageui(i, at);"
        " o[at.y * 10 + at.x] = v.x; write_imageui(i, at, v + 1000); }", "-cl-std=CL3.0");
    cl_kernel kernel = clCreateKernel(built, "k", &e);
    CHECK(clSetKernelArg(kernel, 0, 8, &image) == 0 && clSetKernelArg(kernel, 1, 8, &to) == 0);
    size_t all[2] = {10, 16};
    CHECK(clEnqueueNDRangeKernel(q, kernel, 2, NULL, all, NULL, 0, NULL, NULL) == 0);
    CHECK(clEnqueueReadBuffer(q, to, 1, 0, sizeof seen, seen, 0, NULL, NULL) == 0);
    CHECK(clEnqueueReadBuffer(q, of, 1, 0, sizeof words, words, 0, NULL, NULL) == 0);
    int wrong = 0;
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 20; x++) {
            wrong += words[y * 20 + x] != (cl_uint)(y * 20 + x + (x < 10 ? 1000 : 0));
            wrong += x < 10 && seen[y * 10 + x] != (cl_uint)(y * 20 + x);
        }
    CHECK(wrong == 0);
    desc.image_row_pitch = 0;
    cl_mem tight = clCreateImage(c, 0, &format, &desc, NULL, &e);
    CHECK(e == 0 && clGetImageInfo(tight, CL_IMAGE_ROW_PITCH, 8, &sz, NULL) == 0 && sz == 40);
    desc.image_row_pitch = 36;
    CHECK(clCreateImage(c, 0, &format, &desc, NULL, &e) == NULL && e == CL_INVALID_IMAGE_DESCRIPTOR);
    desc.image_row_pitch = 84;
    CHECK(clCreateImage(c, 0, &format, &desc, NULL, &e) == NULL && e == CL_INVALID_IMAGE_SIZE);
    desc.image_row_pitch = 0, desc.image_type = CL_MEM_OBJECT_IMAGE3D, desc.image_depth = 1;
    CHECK(clCreateImage(c, 0, &format, &desc, NULL, &e) == NULL && e == CL_INVALID_IMAGE_DESCRIPTOR);
    clReleaseMemObject(tight), clReleaseMemObject(image), clReleaseMemObject(of), clReleaseMemObject(to);
    clReleaseKernel(kernel), clReleaseProgram(built);
}

int main(void) {
    clGetPlatformIDs(1, &p, NULL);
    if (clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL)) return 1;
    c = clCreateContext(NULL, 1, &d, NULL, NULL, &e);
    q = clCreateCommandQueue(c, d, CL_QUEUE_PROFILING_ENABLE, &e);
    sub_devices();
    non_uniform();
    events();
    failed_wait_lists();
    program_queries();
    unbuilt_programs();
    compile_and_link();
    kernel_arguments();
    shared_memory();
    small_groups();
    image_formats();
    images_of_buffers();
    clReleaseProgram(g);
    clReleaseProgram(un);
    clReleaseCommandQueue(q);
    clReleaseContext(c);
    printf("%d checks\n", checks);
    return 0;
}
