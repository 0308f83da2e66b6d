// Times one kernel through the OpenCL loader, as a host program of any user does:
// `opencl KERNELS CASE SIZE LOCAL OFFSET SECONDS`.
//
// KERNELS: folder of the `.cl` files; CASE and SIZE: of a row of `cases.h`; LOCAL: `given`, or `none` (the driver
// chooses); OFFSET: work-items (or rows, where there are two dimensions) of the global offset; SECONDS: time to
// measure. Prints one JSON object: times of the build, the first launch and each later one, and a sum of the results.
// The platform is the only one that the loader finds (`OCL_ICD_VENDORS`).
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include "data.h"

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem mems[MOST_ARGS];
static size_t offsets[2];
static int chosen;

static void need(cl_int code, const char *what)
{
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", what, code);
        exit(1);
    }
}

static void set(cl_uint n, size_t size, const void *value)
{
    need(clSetKernelArg(kernel, n, size, value), "clSetKernelArg");
}

// A buffer or picture with its contents.
static cl_mem memory(const struct Arg *arg)
{
    cl_int code;
    int picture = arg->kind == IMAGE || arg->kind == CANVAS;
    size_t count = picture ? arg->n * (arg->n + 64) : elements(arg) + SLACK;
    uint32_t *words = contents(arg, count);
    cl_mem mem;
    if (picture) {
        cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
        cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = arg->n, .image_height = arg->n + 64};
        mem = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, words, &code);
    } else {
        mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, count * 4, words, &code);
    }
    need(code, picture ? "clCreateImage" : "clCreateBuffer");
    free(words);
    return mem;
}

static void enqueue(const struct Case *c)
{
    const size_t *offset = offsets[0] + offsets[1] ? offsets : NULL;
    const size_t *local = chosen ? NULL : c->local;
    need(clEnqueueNDRangeKernel(queue, kernel, c->dimensions, offset, c->global, local, 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
}

static void finish(void)
{
    need(clFinish(queue), "clFinish");
}

static double result(const struct Case *c)
{
    const struct Arg *arg = &c->args[c->result];
    size_t count = elements(arg);
    uint32_t *words = calloc(count, 4);
    if (arg->kind == CANVAS) {
        size_t origin[3] = {0, offsets[1], 0}, region[3] = {arg->n, arg->n, 1};
        need(clEnqueueReadImage(queue, mems[c->result], CL_TRUE, origin, region, 0, 0, words, 0, NULL, NULL),
             "clEnqueueReadImage");
    } else {
        need(clEnqueueReadBuffer(queue, mems[c->result], CL_TRUE, 0, count * 4, words, 0, NULL, NULL),
             "clEnqueueReadBuffer");
    }
    double sum = weighted(c, words);
    free(words);
    return sum;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        list();
        return 0;
    }
    if (argc != 7) {
        fprintf(stderr, "usage: opencl KERNELS CASE SIZE given|none OFFSET SECONDS\n");
        return 2;
    }
    const struct Case a_case = look_up(argv[2], argv[3]), *c = &a_case;
    chosen = !strcmp(argv[4], "none");
    size_t offset = atoi(argv[5]);
    offsets[c->dimensions - 1] = offset;
    double seconds = atof(argv[6]);

    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    char version[256];
    need(clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version, version, NULL), "clGetPlatformInfo");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    need(code, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &code);
    need(code, "clCreateCommandQueue");

    const char *text = read_text(argv[1], c->file, "cl");
    double start = now(CLOCK_MONOTONIC);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    need(code, "clCreateProgramWithSource");
    int relaxed = !strcmp(c->class, "relaxed");
    code = clBuildProgram(program, 1, &device, relaxed ? "-cl-fast-relaxed-math" : "", NULL, NULL);
    if (code != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    need(code, "clBuildProgram");
    kernel = clCreateKernel(program, c->file, &code);
    need(code, "clCreateKernel");
    double build = now(CLOCK_MONOTONIC) - start;

    for (int n = 0; n < MOST_ARGS && c->args[n].kind != END; n++) {
        const struct Arg *arg = &c->args[n];
        cl_int whole = arg->n + (arg->kind == COUNT ? offset : 0);
        float number = arg->kind == STEP ? 0.5f / arg->n : arg->n / 1000.0f;
        switch (arg->kind) {
        case INT: case COUNT: set(n, sizeof whole, &whole); break;
        case FLOAT: case STEP: set(n, sizeof number, &number); break;
        case LOCAL: set(n, arg->n, NULL); break;
        default:
            mems[n] = memory(arg);
            set(n, sizeof mems[n], &mems[n]);
        }
    }

    start = now(CLOCK_MONOTONIC);
    int launches = turn(c, set, enqueue, finish);
    double first = now(CLOCK_MONOTONIC) - start, sum = result(c);
    printf("{\"launches\":%d,\"build_us\":%.1f,\"first_us\":%.1f,\"sum\":%.17g,\"platform\":\"%s\",", launches, build,
           first, sum, version);
    measure(c, seconds, set, enqueue, finish);
    return 0;
}
