/* What came with OpenCL 2.0 to 3.0, through the loader: prints what is wrong, then the number of checks. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int checks;
#define CHECK(test) \
    do { \
        checks++; \
        if (!(test)) printf("line %d: %s\n", __LINE__, #test); \
    } while (0)

static cl_platform_id platform;
static cl_device_id device;
static int gone;

static void CL_CALLBACK destroyed(cl_context context, void *data) { __atomic_store_n((int *)data, 1, __ATOMIC_SEQ_CST); }
static void CL_CALLBACK freed(cl_command_queue queue, cl_uint n, void *list[], void *data) { *(void **)data = n == 1 ? list[0] : NULL; }

/* A query whose answer has this size; the answer in `to`. */
static int info(cl_device_info name, size_t size, void *to) {
    size_t real = 0;
    return clGetDeviceInfo(device, name, size, to, &real) == CL_SUCCESS && real == size;
}

static cl_uint number(cl_device_info name) {
    cl_uint value = 77;
    return info(name, 4, &value) ? value : 77;
}

static cl_ulong bits(cl_device_info name) {
    cl_ulong value = ~0ull;
    return info(name, 8, &value) ? value : ~0ull;
}

static int versions(cl_device_info name, const char *wanted, cl_version version) {
    cl_name_version list[64];
    size_t size = 0;
    if (clGetDeviceInfo(device, name, sizeof(list), list, &size) != CL_SUCCESS) return 0;
    for (size_t i = 0; i < size / sizeof(list[0]); i++)
        if (!strcmp(list[i].name, wanted) && list[i].version == version) return 1;
    return 0;
}

static void queries(void) {
    char text[4096];
    cl_version version;
    cl_ulong resolution;
    CHECK(clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(text), text, NULL) == 0 && !strncmp(text, "OpenCL 3.0 ", 11));
    CHECK(clGetPlatformInfo(platform, CL_PLATFORM_NUMERIC_VERSION, 4, &version, NULL) == 0 && version == CL_MAKE_VERSION(3, 0, 0));
    CHECK(clGetPlatformInfo(platform, CL_PLATFORM_HOST_TIMER_RESOLUTION, 8, &resolution, NULL) == 0 && resolution == 1);
    CHECK(clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(text), text, NULL) == 0 && !strncmp(text, "OpenCL 3.0 ", 11));
    CHECK(number(CL_DEVICE_NUMERIC_VERSION) == CL_MAKE_VERSION(3, 0, 0));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_VERSION, sizeof(text), text, NULL) == 0 && !strncmp(text, "OpenCL C 1.2 ", 13));
    CHECK(versions(CL_DEVICE_OPENCL_C_ALL_VERSIONS, "OpenCL C", CL_MAKE_VERSION(3, 0, 0)));
    CHECK(versions(CL_DEVICE_OPENCL_C_ALL_VERSIONS, "OpenCL C", CL_MAKE_VERSION(1, 2, 0)));
    CHECK(versions(CL_DEVICE_OPENCL_C_FEATURES, "__opencl_c_generic_address_space", CL_MAKE_VERSION(3, 0, 0)));
    CHECK(versions(CL_DEVICE_EXTENSIONS_WITH_VERSION, "cl_khr_subgroup_shuffle", CL_MAKE_VERSION(1, 0, 0)));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, sizeof(text), text, NULL) == 0 && text[0] == 'v');
    CHECK(clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof(text), text, NULL) == 0 && text[0] == 0);
    CHECK(bits(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES) == 0x7f && bits(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES) == 0x7f);
    CHECK(bits(CL_DEVICE_SVM_CAPABILITIES) == (CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER));
    CHECK(bits(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES) == 0 && bits(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES) == 0);
    CHECK(number(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT) == 1 && number(CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT) == 1);
    CHECK(number(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT) == 1 && number(CL_DEVICE_PIPE_SUPPORT) == 0);
    CHECK(number(CL_DEVICE_MAX_NUM_SUB_GROUPS) == 32 && number(CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS) == 1);
    CHECK(number(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS) >= 64 && number(CL_DEVICE_MAX_PIPE_ARGS) == 0);
    CHECK(number(CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT) == 0 && number(CL_DEVICE_MAX_ON_DEVICE_QUEUES) == 0);
    CHECK(bits(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE) == 65536 && bits(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) == 32);
}

/* Each name of CL_DEVICE_OPENCL_C_FEATURES is a macro of OpenCL C 3.0, and no other optional feature is. */
static void features(cl_context context) {
    cl_name_version list[64];
    size_t size = 0;
    CHECK(clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_FEATURES, sizeof(list), list, &size) == 0);
    char source[8192] = "";
    for (size_t i = 0; i < size / sizeof(list[0]); i++)
        sprintf(source + strlen(source), "#ifndef %s\n#error %s\n#endif\n", list[i].name, list[i].name);
    strcat(source, "#if defined __opencl_c_pipes || defined __opencl_c_device_enqueue || __OPENCL_C_VERSION__ != 300\n#error more\n#endif\nkernel void k() {}\n");
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    CHECK(clBuildProgram(program, 0, NULL, "-cl-std=CL3.0", NULL, NULL) == 0);
    clReleaseProgram(program);
}

static const char *source =
    "int total;\n"
    "void add(int *p, int n) { atomic_fetch_add((atomic_int *)p, n); }\n"
    "kernel void sum(global int *in, global int *out) {\n"
    "    local int part;\n"
    "    if (get_local_id(0) == 0) part = 0;\n"
    "    work_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    add(&part, in[get_global_id(0)]);\n"
    "    work_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (get_local_id(0) == 0) { add(&total, part); add(out, sub_group_broadcast(part, 0)); }\n"
    "}\n"
    "kernel void variable(global int *out) { out[0] = total; }\n"
    "struct node { int value; global struct node *next; };\n"
    "kernel void walk(global struct node *n, global int *out) { int s = 0; for (; n; n = n->next) s += n->value; *out = s; }\n"
    "kernel void picture(read_write image2d_t i) {\n"
    "    int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(i, p, read_imageui(i, p) + 1u);\n"
    "}\n"
    /* Sub-groups that wait for one another. */
    "kernel void turns(global int *out) {\n"
    "    local atomic_int turn;\n"
    "    if (get_local_id(0) == 0) atomic_init(&turn, 3);\n"
    "    work_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    int own = get_sub_group_id();\n"
    "    if (sub_group_elect()) {\n"
    "        while (atomic_load_explicit(&turn, memory_order_acquire, memory_scope_work_group) != own) {}\n"
    "        out[3 - own] = own * 10;\n"
    "        atomic_store_explicit(&turn, own - 1, memory_order_release, memory_scope_work_group);\n"
    "    }\n"
    "}\n";

struct node {
    int value;
    struct node *next;
};

static void objects(cl_context context) {
    cl_int code;
    cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0}, back[4];
    cl_queue_properties bad[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    size_t size;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &code);
    CHECK(code == 0 && clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(back), back, &size) == 0);
    CHECK(size == sizeof(list) && !memcmp(list, back, size));
    CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, sizeof(back), back, &size) == CL_INVALID_COMMAND_QUEUE);
    CHECK(!clCreateCommandQueueWithProperties(context, device, bad, &code) && code == CL_INVALID_QUEUE_PROPERTIES);
    clReleaseCommandQueue(queue);
    cl_sampler_properties how[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0};
    cl_sampler sampler = clCreateSamplerWithProperties(context, how, &code);
    cl_filter_mode filter = 0;
    CHECK(code == 0 && clGetSamplerInfo(sampler, CL_SAMPLER_FILTER_MODE, sizeof(filter), &filter, NULL) == 0 && filter == CL_FILTER_LINEAR);
    CHECK(clGetSamplerInfo(sampler, CL_SAMPLER_PROPERTIES, sizeof(back), back, &size) == 0 && size == sizeof(how));
    clReleaseSampler(sampler);
    cl_mem_properties none[] = {0}, some[] = {5, 5, 0};
    cl_mem mem = clCreateBufferWithProperties(context, none, CL_MEM_READ_WRITE, 64, NULL, &code);
    CHECK(code == 0 && clGetMemObjectInfo(mem, CL_MEM_PROPERTIES, sizeof(back), back, &size) == 0 && size == 8);
    clReleaseMemObject(mem);
    CHECK(!clCreateBufferWithProperties(context, some, CL_MEM_READ_WRITE, 64, NULL, &code) && code == CL_INVALID_PROPERTY);
    CHECK(!clCreatePipe(context, 0, 4, 4, NULL, &code) && code == CL_INVALID_OPERATION);
    CHECK(!clCreateProgramWithIL(context, "x", 1, &code) && code == CL_INVALID_OPERATION);
    cl_ulong a = 0, b = 0;
    CHECK(clGetDeviceAndHostTimer(device, &a, &b) == 0 && a && clGetHostTimer(device, &b) == 0 && b >= a);
    CHECK(clSetContextDestructorCallback(context, destroyed, &gone) == 0);
}

static void kernels(cl_context context) {
    cl_int code;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    code = clBuildProgram(program, 0, NULL, "-cl-std=CL3.0", NULL, NULL);
    if (code) {
        char log[8192];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
        printf("%s\n", log);
        exit(1);
    }
    size_t bytes = 0;
    CHECK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, 8, &bytes, NULL) == 0 && bytes == 4);
    /* Memory that host and kernels see at one address. */
    int *in = clSVMAlloc(context, CL_MEM_READ_WRITE, 256 * 4, 0), *out = clSVMAlloc(context, CL_MEM_SVM_FINE_GRAIN_BUFFER, 64, 64);
    CHECK(in && out && !clSVMAlloc(context, 0, 0, 0) && !clSVMAlloc(context, CL_MEM_SVM_ATOMICS, 64, 0));
    int one = 1, two[2] = {2, 0};
    CHECK(clEnqueueSVMMemFill(queue, in, &one, 4, 256 * 4, 0, NULL, NULL) == 0);
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, in, 256 * 4, 0, NULL, NULL) == 0 && in[255] == 1);
    in[0] = 3;
    CHECK(clEnqueueSVMUnmap(queue, in, 0, NULL, NULL) == 0);
    cl_kernel sum = clCreateKernel(program, "sum", &code);
    CHECK(clSetKernelArgSVMPointer(sum, 0, in) == 0 && clSetKernelArgSVMPointer(sum, 1, out) == 0);
    cl_kernel copy = clCloneKernel(sum, &code);
    void *pointers[] = {in};
    CHECK(code == 0 && clSetKernelExecInfo(copy, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(pointers), pointers) == 0);
    size_t global = 256, local = 64, zero = 0, suggested = 0, count = 0, sizes[3];
    CHECK(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &global, &local, 0, NULL, NULL) == 0 && clFinish(queue) == 0);
    CHECK(out[0] == 258);
    CHECK(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &zero, NULL, 0, NULL, NULL) == 0 && clFinish(queue) == 0 && out[0] == 258);
    CHECK(clGetKernelSubGroupInfo(sum, device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 8, &local, 8, &count, NULL) == 0 && count == 2);
    CHECK(clGetKernelSubGroupInfo(sum, device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 8, &local, 8, &count, NULL) == 0 && count == 32);
    count = 3;
    CHECK(clGetKernelSubGroupInfo(sum, device, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, 8, &count, 24, sizes, NULL) == 0);
    CHECK(sizes[0] == 96 && sizes[1] == 1 && sizes[2] == 1);
    clGetKernelSuggestedLocalWorkSizeKHR_fn suggest =
        (clGetKernelSuggestedLocalWorkSizeKHR_fn)clGetExtensionFunctionAddressForPlatform(platform, "clGetKernelSuggestedLocalWorkSizeKHR");
    CHECK(suggest && suggest(queue, sum, 1, NULL, &global, &suggested) == 0 && suggested && 256 % suggested == 0);
    cl_kernel variable = clCreateKernel(program, "variable", &code);
    CHECK(clSetKernelArgSVMPointer(variable, 0, out) == 0);
    CHECK(clEnqueueNDRangeKernel(queue, variable, 1, NULL, &local, &local, 0, NULL, NULL) == 0 && clFinish(queue) == 0 && out[0] == 258);
    /* A list of the host's. */
    struct node *nodes = clSVMAlloc(context, 0, 3 * sizeof(struct node), 0);
    for (int i = 0; i < 3; i++) nodes[i] = (struct node){i + 5, i < 2 ? &nodes[i + 1] : NULL};
    cl_kernel walk = clCreateKernel(program, "walk", &code);
    clSetKernelArgSVMPointer(walk, 0, nodes);
    clSetKernelArgSVMPointer(walk, 1, out);
    size_t item = 1;
    CHECK(clEnqueueNDRangeKernel(queue, walk, 1, NULL, &item, NULL, 0, NULL, NULL) == 0 && clFinish(queue) == 0 && out[0] == 18);
    /* A buffer over such memory. */
    cl_bool uses = 0;
    cl_mem over = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 64, out, &code);
    CHECK(code == 0 && clGetMemObjectInfo(over, CL_MEM_USES_SVM_POINTER, sizeof(uses), &uses, NULL) == 0 && uses);
    CHECK(clEnqueueWriteBuffer(queue, over, CL_TRUE, 0, 8, two, 0, NULL, NULL) == 0 && out[0] == 2);
    clReleaseMemObject(over);
    CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, out, in, 8, 0, NULL, NULL) == 0 && out[0] == 3 && out[1] == 1);
    CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, in, in + 1, 8, 0, NULL, NULL) == CL_MEM_COPY_OVERLAP);
    CHECK(clEnqueueSVMMigrateMem(queue, 1, (const void **)pointers, NULL, 0, 0, NULL, NULL) == 0);
    cl_kernel turns = clCreateKernel(program, "turns", &code);
    clSetKernelArgSVMPointer(turns, 0, out);
    size_t four = 128;
    CHECK(clEnqueueNDRangeKernel(queue, turns, 1, NULL, &four, &four, 0, NULL, NULL) == 0 && clFinish(queue) == 0);
    CHECK(out[0] == 30 && out[1] == 20 && out[2] == 10 && out[3] == 0);
    void *told = NULL;
    CHECK(clEnqueueSVMFree(queue, 1, pointers, freed, &told, 0, NULL, NULL) == 0 && clFinish(queue) == 0 && told == in);
    CHECK(clEnqueueSVMFree(queue, 1, pointers, NULL, NULL, 0, NULL, NULL) == 0 && clFinish(queue) == 0);
    clSVMFree(context, nodes);
    /* An image that is read and written. */
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, 4, 4};
    cl_mem image = clCreateImageWithProperties(context, NULL, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    cl_uint formats = 0;
    CHECK(code == 0 && clGetSupportedImageFormats(context, CL_MEM_KERNEL_READ_AND_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &formats) == 0 && formats > 0);
    unsigned char color[4] = {1, 2, 3, 4}, texels[64];
    cl_uint fill[4] = {1, 2, 3, 4};
    size_t origin[3] = {0}, region[3] = {4, 4, 1}, square[2] = {4, 4};
    cl_kernel picture = clCreateKernel(program, "picture", &code);
    CHECK(clSetKernelArg(picture, 0, sizeof(image), &image) == 0);
    CHECK(clEnqueueFillImage(queue, image, fill, origin, region, 0, NULL, NULL) == 0);
    CHECK(clEnqueueNDRangeKernel(queue, picture, 2, NULL, square, NULL, 0, NULL, NULL) == 0);
    CHECK(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, texels, 0, NULL, NULL) == 0);
    for (int i = 0; i < 64; i++) texels[i] -= color[i % 4];
    CHECK(texels[0] == 1 && !memcmp(texels, texels + 1, 63));
    cl_kernel all[] = {sum, copy, variable, walk, turns, picture};
    for (int i = 0; i < 6; i++) clReleaseKernel(all[i]);
    clReleaseMemObject(image);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clSVMFree(context, out);
}

/* Wrong arguments have the codes of the specification. */
static void refusals(cl_context context) {
    cl_int code;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    cl_queue_properties unknown[] = {5, 5, 0}, sized[] = {CL_QUEUE_PROPERTIES, 0, CL_QUEUE_SIZE, 64, 0};
    cl_sampler_properties twice[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0};
    CHECK(!clCreateCommandQueueWithProperties(context, device, unknown, &code) && code == CL_INVALID_VALUE);
    CHECK(!clCreateCommandQueueWithProperties(context, device, sized, &code) && code == CL_INVALID_QUEUE_PROPERTIES);
    CHECK(!clCreateSamplerWithProperties(context, twice, &code) && code == CL_INVALID_VALUE);
    CHECK(clSetContextDestructorCallback(context, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clGetHostTimer(device, NULL) == CL_INVALID_VALUE && clGetDeviceAndHostTimer(device, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clSetDefaultDeviceCommandQueue(context, device, queue) == CL_INVALID_OPERATION);
    CHECK(clSetDefaultDeviceCommandQueue(context, device, NULL) == CL_INVALID_OPERATION);
    const char *text = "kernel void k(global int *p, int n) {}";
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    CHECK(clSetProgramReleaseCallback(program, NULL, NULL) == CL_INVALID_OPERATION);
    CHECK(clSetProgramSpecializationConstant(program, 0, 4, &code) == CL_INVALID_OPERATION);
    CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL) == 0);
    cl_kernel kernel = clCreateKernel(program, "k", &code);
    int memory[64];
    cl_bool on = 1;
    size_t n = 0;
    CHECK(clSetKernelArgSVMPointer(kernel, 2, memory) == CL_INVALID_ARG_INDEX);
    CHECK(clSetKernelArgSVMPointer(kernel, 1, memory) == CL_INVALID_ARG_VALUE);
    CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, NULL) == CL_INVALID_VALUE);
    CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 7, memory) == CL_INVALID_VALUE);
    CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof(on), &on) == CL_INVALID_OPERATION);
    CHECK(clSetKernelExecInfo(kernel, 5, 8, memory) == CL_INVALID_VALUE);
    CHECK(clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 0, NULL, 8, &n, NULL) == CL_INVALID_VALUE);
    CHECK(clGetKernelSubGroupInfo(kernel, device, 5, 0, NULL, 8, &n, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, NULL, 4, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, memory, 0, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, 1 << 9, memory, 4, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMUnmap(queue, NULL, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, NULL, memory, 4, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, (void *)4096, memory, 4, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMemFill(queue, memory, memory, 3, 12, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMemFill(queue, memory, memory, 4, 6, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMFree(queue, 0, (void **)memory, NULL, NULL, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMigrateMem(queue, 0, NULL, NULL, 0, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(!clSVMAlloc(NULL, 0, 64, 0) && !clSVMAlloc(context, 0, 64, 3) && !clSVMAlloc(context, 1 << 20, 64, 0));
    clSVMFree(context, NULL);
    clSVMFree(context, memory);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
}

int main(void) {
    cl_int code;
    clGetPlatformIDs(1, &platform, NULL);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 1;
    queries();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    features(context);
    objects(context);
    kernels(context);
    refusals(context);
    clReleaseContext(context);
    /* Callbacks come on another thread, which a busy machine lets run late: up to ten seconds. */
    const struct timespec millisecond = {0, 1000000};
    for (int i = 0; i < 10000 && !__atomic_load_n(&gone, __ATOMIC_SEQ_CST); i++) nanosleep(&millisecond, NULL);
    CHECK(__atomic_load_n(&gone, __ATOMIC_SEQ_CST));
    printf("%d checks\n", checks);
    return 0;
}
