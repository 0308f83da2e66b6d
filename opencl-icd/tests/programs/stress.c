/* Sub-groups, smaller work-groups, shared virtual memory and images for so many seconds, from several threads: prints
   rounds and what was wrong. Made for valgrind and AddressSanitizer. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 3, ITEMS = 256, SIDE = 16 };

static cl_device_id device;
static cl_context context;
static cl_program program;
static double seconds;
static int rounds, wrong;

static const char *source =
    "int total;\n"
    "kernel void groups(global int *in, global int *out) {\n"
    "    int i = get_global_id(0), lane = get_sub_group_local_id();\n"
    "    int sum = sub_group_reduce_add(in[i]);\n"
    "    int next = sub_group_shuffle_xor(in[i], 1), before = sub_group_scan_exclusive_add(in[i]);\n"
    "    out[i] = sum + 3 * next + 5 * before + work_group_reduce_max(in[i]) + popcount(sub_group_ballot(lane & 1).x);\n"
    "}\n"
    "kernel void rest(global int *in, global int *out) {\n"
    "    int i = get_global_id(0), sizes = get_local_size(0) + 1000 * get_enqueued_local_size(0);\n"
    "    out[i] = work_group_reduce_add(in[i]) + sub_group_reduce_max(in[i]) + sizes * (int)get_num_groups(0);\n"
    "}\n"
    "struct node { int value; global struct node *next; };\n"
    "kernel void walk(global struct node *n, global int *out) {\n"
    "    int s = 0;\n"
    "    for (; n; n = n->next) { s += n->value; n->value++; }\n"
    "    atomic_fetch_add((global atomic_int *)out, s);\n"
    "}\n"
    "kernel void blur(read_only image2d_t in, sampler_t s, read_write image2d_t out) {\n"
    "    int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
    "    uint4 sum = 0;\n"
    "    for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) sum += read_imageui(in, s, p + (int2)(x, y));\n"
    "    write_imageui(out, p, sum + read_imageui(out, p));\n"
    "}\n";

struct node {
    int value;
    struct node *next;
};

static void check(int right, const char *what) {
    if (right) return;
    __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
    printf("wrong: %s\n", what);
}

static int groups(cl_command_queue queue, cl_kernel kernel, unsigned seed) {
    int *in = clSVMAlloc(context, CL_MEM_READ_WRITE, ITEMS * 4, 0);
    int *out = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, ITEMS * 4, 0);
    size_t global = ITEMS, local = seed % 2 ? 64 : 128;
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, in, ITEMS * 4, 0, NULL, NULL);
    for (int i = 0; i < ITEMS; i++) in[i] = (int)((seed + i * 7919u) % 1000);
    clEnqueueSVMUnmap(queue, in, 0, NULL, NULL);
    clSetKernelArgSVMPointer(kernel, 0, in);
    clSetKernelArgSVMPointer(kernel, 1, out);
    int good = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL) == 0 && clFinish(queue) == 0;
    for (int i = 0; i < ITEMS; i++) {
        int sum = 0, before = 0, most = 0, first = i / 32 * 32, group = i / (int)local * (int)local;
        for (int k = 0; k < 32; k++) sum += in[first + k];
        for (int k = first; k < i; k++) before += in[k];
        for (int k = 0; k < (int)local; k++) most = in[group + k] > most ? in[group + k] : most;
        good &= out[i] == sum + 3 * in[i ^ 1] + 5 * before + most + 16;
    }
    clSVMFree(context, out);
    void *list[] = {in};
    clEnqueueSVMFree(queue, 1, list, NULL, NULL, 0, NULL, NULL);
    return good & clFinish(queue) == 0;
}

/* Work-groups that do not divide the range: the last one is smaller. */
static int rest(cl_command_queue queue, cl_kernel kernel, unsigned seed) {
    int *in = clSVMAlloc(context, CL_MEM_READ_WRITE, ITEMS * 4, 0);
    int *out = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, ITEMS * 4, 0);
    int n = 1 + (int)(seed % ITEMS), local = 33 + (int)(seed / ITEMS % 3) * 31, groups = (n + local - 1) / local;
    size_t global = (size_t)n, size = (size_t)local;
    for (int i = 0; i < n; i++) in[i] = (int)((seed + i * 7919u) % 1000);
    clSetKernelArgSVMPointer(kernel, 0, in);
    clSetKernelArgSVMPointer(kernel, 1, out);
    int good = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &size, 0, NULL, NULL) == 0;
    good &= clFinish(queue) == 0;
    for (int i = 0; i < n; i++) {
        int first = i / local * local, end = first + local < n ? first + local : n, sum = 0, most = 0;
        int sub = first + (i - first) / 32 * 32;
        for (int k = first; k < end; k++) sum += in[k];
        for (int k = sub; k < end && k < sub + 32; k++) most = in[k] > most ? in[k] : most;
        good &= out[i] == sum + most + (end - first + 1000 * local) * groups;
    }
    clSVMFree(context, in);
    clSVMFree(context, out);
    return good;
}

static int list(cl_command_queue queue, cl_kernel kernel, unsigned seed) {
    int n = 1 + (int)(seed % 40), wanted = 0, got = 0;
    struct node *nodes = clSVMAlloc(context, CL_MEM_READ_WRITE, n * sizeof(struct node), 0);
    for (int i = 0; i < n; i++) {
        nodes[i] = (struct node){(int)(seed >> 3) % 100 + i, i + 1 < n ? &nodes[i + 1] : NULL};
        wanted += nodes[i].value;
    }
    cl_int code;
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4, &got, &code);
    size_t one = 1;
    clSetKernelArgSVMPointer(kernel, 0, nodes);
    clSetKernelArg(kernel, 1, sizeof(out), &out);
    cl_event done;
    int good = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, &done) == 0;
    good &= clEnqueueReadBuffer(queue, out, CL_TRUE, 0, 4, &got, 1, &done, NULL) == 0;
    good &= got == wanted && nodes[n - 1].value == (int)(seed >> 3) % 100 + n;
    clReleaseEvent(done);
    clReleaseMemObject(out);
    clSVMFree(context, nodes);
    return good;
}

static int picture(cl_command_queue queue, cl_kernel kernel, unsigned seed) {
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT32};
    cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, SIDE, SIDE};
    unsigned *texels = malloc(SIDE * SIDE * 16), *back = malloc(SIDE * SIDE * 16), fill[4] = {seed % 9, 1, 2, 3};
    for (int i = 0; i < SIDE * SIDE * 4; i++) texels[i] = (seed + i * 31u) % 500;
    cl_int code;
    cl_mem in = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &desc, texels, &code);
    cl_mem out = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    cl_sampler sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &code);
    size_t origin[3] = {0}, region[3] = {SIDE, SIDE, 1}, global[2] = {SIDE, SIDE}, pitch;
    int good = clEnqueueFillImage(queue, out, fill, origin, region, 0, NULL, NULL) == 0;
    clSetKernelArg(kernel, 0, sizeof(in), &in);
    clSetKernelArg(kernel, 1, sizeof(sampler), &sampler);
    clSetKernelArg(kernel, 2, sizeof(out), &out);
    good &= clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL) == 0;
    good &= clEnqueueReadImage(queue, out, CL_TRUE, origin, region, 0, 0, back, 0, NULL, NULL) == 0;
    char *mapped = clEnqueueMapImage(queue, out, CL_TRUE, CL_MAP_READ, origin, region, &pitch, NULL, 0, NULL, NULL, &code);
    for (int y = 0; y < SIDE; y++) {
        good &= !memcmp(mapped + y * pitch, back + y * SIDE * 4, SIDE * 16);
        for (int x = 0; x < SIDE; x++)
            for (int c = 0; c < 4; c++) {
                unsigned sum = fill[c];
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++) {
                        int at_y = y + dy < 0 ? 0 : y + dy >= SIDE ? SIDE - 1 : y + dy;
                        int at_x = x + dx < 0 ? 0 : x + dx >= SIDE ? SIDE - 1 : x + dx;
                        sum += texels[(at_y * SIDE + at_x) * 4 + c];
                    }
                good &= back[(y * SIDE + x) * 4 + c] == sum;
            }
    }
    good &= clEnqueueUnmapMemObject(queue, out, mapped, 0, NULL, NULL) == 0 && clFinish(queue) == 0;
    clReleaseSampler(sampler);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    free(texels);
    free(back);
    return good;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *work(void *number) {
    unsigned seed = 1 + (unsigned)(size_t)number * 7777;
    double end = now() + seconds;
    do {
        cl_int code;
        cl_command_queue_properties order = seed % 2 ? CL_QUEUE_PROFILING_ENABLE : 0;
        cl_command_queue queue = clCreateCommandQueue(context, device, order, &code);
        cl_kernel first = clCreateKernel(program, "groups", &code), second = clCreateKernel(program, "walk", &code);
        cl_kernel third = clCreateKernel(program, "blur", &code), fourth = clCreateKernel(program, "rest", &code);
        for (int i = 0; i < 8; i++) {
            seed = seed * 1103515245u + 12345u;
            check(groups(queue, first, seed >> 8), "groups");
            check(list(queue, second, seed >> 8), "list");
            check(picture(queue, third, seed >> 8), "picture");
            check(rest(queue, fourth, seed >> 8), "rest");
            __atomic_fetch_add(&rounds, 1, __ATOMIC_SEQ_CST);
        }
        clReleaseKernel(first);
        clReleaseKernel(second);
        clReleaseKernel(third);
        clReleaseKernel(fourth);
        clReleaseCommandQueue(queue);
    } while (now() < end);
    return NULL;
}

int main(int argc, char **argv) {
    cl_platform_id platform;
    cl_int code;
    seconds = argc > 1 ? atof(argv[1]) : 0;
    clGetPlatformIDs(1, &platform, NULL);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    if (clBuildProgram(program, 0, NULL, "-cl-std=CL3.0", NULL, NULL)) return 2;
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    clReleaseProgram(program);
    clReleaseContext(context);
    printf("%s, %d wrong\n", rounds >= THREADS * 8 ? "rounds done" : "too few rounds", wrong);
    if (argc > 1) fprintf(stderr, "%d rounds\n", rounds);
    return wrong != 0;
}
