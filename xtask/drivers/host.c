// Times one kernel through the OpenCL loader, as a host program of any user does: `host KERNELS CASE LOCAL OFFSET SECONDS`.
//
// KERNELS: folder of the `.cl` files; CASE: a name of the table below; LOCAL: `given`, or `none` (the driver chooses);
// OFFSET: work-items (or rows, where there are two dimensions) of the global offset; SECONDS: time to measure.
// Prints one JSON object: times of the build, the first launch and each later one, and a sum of the results.
// The platform is the only one that the loader finds (`OCL_ICD_VENDORS`).
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define M (1024 * 1024)
// Elements behind each buffer, for offsets.
#define SLACK (256 * 1024)
#define MOST_ARGS 8
#define MOST_RUNS 4096

enum Kind {
    END,
    FLOATS,   // buffer of `n` floats from 0 to 1
    WORDS,    // buffer of `n` random words
    ZEROS,    // buffer of `n` words
    ROWS,     // `n + 1` places where rows of a sparse matrix begin, 8 to 24 elements each
    COLUMNS,  // columns of its elements, below `n`
    INT,      // the number `n`
    COUNT,    // the number `n`, and the offset
    FLOAT,    // `n` thousandths
    LOCAL,    // `n` bytes of local memory
    IMAGE,    // picture of `n` by `n` texels, four bytes each
    CANVAS,   // as that, to be written
};

struct Arg {
    enum Kind kind;
    size_t n;
};

// What launches change between them.
enum Series { ONE, BITONIC, MANY };

struct Case {
    const char *name, *class;
    cl_uint dimensions;
    size_t global[2], local[2];
    // Local memory or the block's size is part of the program.
    int fixed;
    // The argument with the results: floats or words.
    int result;
    int words;
    enum Series series;
    struct Arg args[MOST_ARGS];
};

static const struct Case CASES[] = {
    {"vecadd", "memory", 1, {4 * M}, {256}, 0, 2, 0, ONE, {{FLOATS, 4 * M}, {FLOATS, 4 * M}, {ZEROS, 4 * M}, {COUNT, 4 * M}}},
    {"vecadd_l2", "memory", 1, {32 * 1024}, {64}, 0, 2, 0, ONE, {{FLOATS, 32 * 1024}, {FLOATS, 32 * 1024}, {ZEROS, 32 * 1024}, {COUNT, 32 * 1024}}},
    {"saxpy", "memory", 1, {M}, {256}, 0, 1, 0, ONE, {{FLOATS, 4 * M}, {FLOATS, 4 * M}, {FLOAT, 2}}},
    {"triad", "memory", 1, {M}, {128}, 0, 2, 0, ONE, {{FLOATS, 4 * M}, {FLOATS, 4 * M}, {ZEROS, 4 * M}, {FLOAT, 1500}}},
    {"grid_stride", "memory", 1, {64 * 1024}, {256}, 0, 1, 0, ONE, {{FLOATS, 4 * M}, {ZEROS, 4 * M}, {COUNT, 4 * M}}},
    {"structs", "memory", 1, {512 * 1024}, {256}, 0, 0, 0, ONE, {{FLOATS, 4 * M}, {FLOAT, 1}}},
    {"gather", "memory", 1, {2 * M}, {256}, 0, 2, 0, ONE, {{FLOATS, 2 * M}, {WORDS, 2 * M}, {ZEROS, 2 * M}, {INT, 2 * M - 1}}},
    {"stencil", "rows", 2, {2048, 2048}, {16, 8}, 0, 1, 0, ONE, {{FLOATS, 4 * M}, {ZEROS, 4 * M}, {INT, 2048}, {COUNT, 2048}}},
    {"stencil_narrow", "rows", 2, {1024, 1024}, {8, 8}, 0, 1, 0, ONE, {{FLOATS, M}, {ZEROS, M}, {INT, 1024}, {COUNT, 1024}}, },
    {"convolution", "rows", 2, {1024, 1024}, {16, 16}, 0, 2, 0, ONE, {{FLOATS, M}, {FLOATS, 9}, {ZEROS, M}, {INT, 1024}, {COUNT, 1024}}},
    {"transpose", "tiles", 2, {1024, 1024}, {16, 16}, 1, 1, 0, ONE, {{FLOATS, M}, {ZEROS, M}, {INT, 1024}}},
    {"matmul_naive", "tiles", 2, {512, 512}, {16, 16}, 0, 2, 0, ONE, {{FLOATS, M / 4}, {FLOATS, M / 4}, {ZEROS, M / 4}, {INT, 512}}},
    {"matmul_tiled", "tiles", 2, {512, 512}, {16, 16}, 1, 2, 0, ONE, {{FLOATS, M / 4}, {FLOATS, M / 4}, {ZEROS, M / 4}, {INT, 512}}},
    {"matmul_4x4", "tiles", 2, {128, 128}, {16, 8}, 0, 2, 0, ONE, {{FLOATS, M / 4}, {FLOATS, M / 4}, {ZEROS, M / 4}, {INT, 512}}},
    {"reduce", "barriers", 1, {128 * 1024}, {256}, 1, 1, 0, ONE, {{FLOATS, 4 * M}, {ZEROS, 1024}, {LOCAL, 1024}, {INT, 4 * M}}},
    {"scan", "barriers", 1, {M}, {256}, 1, 1, 1, ONE, {{WORDS, M}, {ZEROS, M}, {LOCAL, 1024}}},
    {"barrier_loop", "barriers", 1, {64 * 1024}, {64}, 1, 0, 0, ONE, {{FLOATS, 64 * 1024}, {LOCAL, 256}, {INT, 64}}},
    {"fft256", "barriers", 1, {64 * 1024}, {64}, 1, 1, 0, ONE, {{FLOATS, 512 * 1024}, {ZEROS, 512 * 1024}}},
    {"bitonic", "series", 1, {128 * 1024}, {256}, 0, 0, 1, BITONIC, {{WORDS, 128 * 1024}, {INT, 0}, {INT, 0}}},
    {"spmv", "divergent", 1, {128 * 1024}, {64}, 0, 4, 0, ONE, {{ROWS, 128 * 1024}, {COLUMNS, 128 * 1024}, {FLOATS, 24 * 128 * 1024}, {FLOATS, 128 * 1024}, {ZEROS, 128 * 1024}}},
    {"mandelbrot", "divergent", 2, {1024, 1024}, {16, 16}, 0, 0, 1, ONE, {{ZEROS, M}, {INT, 1024}}},
    {"cas_add", "atomics", 1, {256 * 1024}, {256}, 0, 1, 0, ONE, {{FLOATS, 256 * 1024}, {ZEROS, 1024}}},
    {"histogram", "atomics", 1, {64 * 1024}, {256}, 1, 1, 1, ONE, {{WORDS, 2 * M}, {ZEROS, 256}, {INT, 2 * M}}},
    {"nbody", "arithmetic", 1, {4096}, {128}, 0, 1, 0, ONE, {{FLOATS, 4 * 4096}, {ZEROS, 4 * 4096}, {INT, 4096}}},
    {"black_scholes", "arithmetic", 1, {512 * 1024}, {128}, 0, 3, 0, ONE, {{FLOATS, 512 * 1024}, {FLOATS, 512 * 1024}, {FLOATS, 512 * 1024}, {ZEROS, 512 * 1024}, {ZEROS, 512 * 1024}}},
    {"polynomial", "arithmetic", 1, {256 * 1024}, {64}, 0, 1, 0, ONE, {{FLOATS, 256 * 1024}, {ZEROS, 256 * 1024}}},
    {"xorshift", "arithmetic", 1, {256 * 1024}, {256}, 0, 0, 1, ONE, {{WORDS, 256 * 1024}}},
    {"fma_peak", "arithmetic", 1, {64 * 1024}, {256}, 0, 0, 0, ONE, {{FLOATS, 64 * 1024}}},
    {"sha256", "arithmetic", 1, {64 * 1024}, {64}, 0, 1, 1, ONE, {{WORDS, M}, {ZEROS, 512 * 1024}}},
    {"image_scale", "images", 2, {512, 512}, {16, 16}, 0, 1, 1, ONE, {{IMAGE, 512}, {CANVAS, 512}, {FLOAT, 1}}},
    {"image_box", "images", 2, {512, 512}, {16, 16}, 0, 1, 1, ONE, {{IMAGE, 512}, {CANVAS, 512}}},
    {"nbody_relaxed", "relaxed", 1, {4096}, {128}, 0, 1, 0, ONE, {{FLOATS, 4 * 4096}, {ZEROS, 4 * 4096}, {INT, 4096}}},
    {"black_scholes_relaxed", "relaxed", 1, {512 * 1024}, {128}, 0, 3, 0, ONE, {{FLOATS, 512 * 1024}, {FLOATS, 512 * 1024}, {FLOATS, 512 * 1024}, {ZEROS, 512 * 1024}, {ZEROS, 512 * 1024}}},
    {"launch", "launches", 1, {64}, {64}, 0, 0, 1, MANY, {{ZEROS, 64}}},
};

static void need(cl_int code, const char *what)
{
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", what, code);
        exit(1);
    }
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static uint32_t random_word(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 16;
}

static char *read_text(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.cl", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    static char text[1 << 16];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem mems[MOST_ARGS];
static size_t offsets[2], global[2], local[2];
static int chosen;

static size_t elements(const struct Arg *arg)
{
    return arg->kind == COLUMNS ? arg->n * 24 : arg->n + (arg->kind == ROWS);
}

static void set(cl_uint n, size_t size, const void *value)
{
    need(clSetKernelArg(kernel, n, size, value), "clSetKernelArg");
}

// A buffer or picture with its contents.
static cl_mem memory(const struct Arg *arg)
{
    cl_int code;
    if (arg->kind == IMAGE || arg->kind == CANVAS) {
        cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
        cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = arg->n, .image_height = arg->n + 64};
        cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
        need(code, "clCreateImage");
        size_t origin[3] = {0}, region[3] = {arg->n, arg->n + 64, 1};
        uint32_t *texels = calloc(region[0] * region[1], 4);
        for (size_t i = 0; i < region[0] * region[1]; i++) texels[i] = arg->kind == IMAGE ? random_word() : 0;
        need(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, texels, 0, NULL, NULL), "clEnqueueWriteImage");
        free(texels);
        return image;
    }
    size_t count = elements(arg) + SLACK;
    uint32_t *words = calloc(count, 4), row = 0;
    for (size_t i = 0; i < count; i++) {
        float x;
        switch (arg->kind) {
        case FLOATS: x = (random_word() >> 8) * 0x1p-24f; memcpy(&words[i], &x, 4); break;
        case WORDS: words[i] = random_word(); break;
        case ROWS: words[i] = row; row += i < arg->n ? 8 + random_word() % 17 : 0; break;
        case COLUMNS: words[i] = random_word() % arg->n; break;
        default: break;
        }
    }
    cl_mem mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, count * 4, words, &code);
    need(code, "clCreateBuffer");
    free(words);
    return mem;
}

static void enqueue(const struct Case *c)
{
    const size_t *offset = offsets[0] + offsets[1] ? offsets : NULL;
    need(clEnqueueNDRangeKernel(queue, kernel, c->dimensions, offset, global, chosen ? NULL : local, 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
}

// Everything that is measured as one: a launch, or a series of them, to its end. How many launches it was.
static int turn(const struct Case *c)
{
    int launches = 0;
    switch (c->series) {
    case ONE: enqueue(c); launches = 1; break;
    case MANY:
        for (; launches < 1000; launches++) enqueue(c);
        break;
    case BITONIC:
        for (cl_uint k = 2; k <= c->global[0]; k *= 2)
            for (cl_uint j = k / 2; j > 0; j /= 2, launches++) {
                set(1, sizeof j, &j);
                set(2, sizeof k, &k);
                enqueue(c);
            }
        break;
    }
    need(clFinish(queue), "clFinish");
    return launches;
}

// A sum that runtimes agree in, up to rounding where it is of floats.
static double result(const struct Case *c)
{
    const struct Arg *arg = &c->args[c->result];
    int picture = arg->kind == CANVAS;
    size_t count = picture ? arg->n * arg->n : elements(arg);
    uint32_t *words = calloc(count, 4);
    if (picture) {
        size_t origin[3] = {0, offsets[1], 0}, region[3] = {arg->n, arg->n, 1};
        need(clEnqueueReadImage(queue, mems[c->result], CL_TRUE, origin, region, 0, 0, words, 0, NULL, NULL), "clEnqueueReadImage");
    } else {
        need(clEnqueueReadBuffer(queue, mems[c->result], CL_TRUE, 0, count * 4, words, 0, NULL, NULL), "clEnqueueReadBuffer");
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, &words[i], 4);
        // Pictures differ in the last bit of a texel.
        sum += (c->words ? picture ? words[i] & 0xff : words[i] : x) * (1 + i % 7);
    }
    free(words);
    return sum;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
            printf("%s %s %d\n", CASES[i].name, CASES[i].class, CASES[i].fixed);
        return 0;
    }
    if (argc != 6) {
        fprintf(stderr, "usage: host KERNELS CASE given|none OFFSET SECONDS\n");
        return 2;
    }
    const struct Case *c = CASES;
    while (c < CASES + sizeof CASES / sizeof *CASES && strcmp(c->name, argv[2])) c++;
    if (c == CASES + sizeof CASES / sizeof *CASES) {
        fprintf(stderr, "no case is named %s\n", argv[2]);
        return 2;
    }
    chosen = !strcmp(argv[3], "none");
    size_t offset = atoi(argv[4]);
    offsets[c->dimensions - 1] = offset;
    memcpy(global, c->global, sizeof global);
    memcpy(local, c->local, sizeof local);
    double seconds = atof(argv[5]);

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

    // Variants of a case have the file of the case.
    char file[64];
    snprintf(file, sizeof file, "%s", c->name);
    int relaxed = strstr(file, "_relaxed") != NULL;
    char *variant = strstr(file, "_l2") ? strstr(file, "_l2") : strstr(file, relaxed ? "_relaxed" : "_narrow");
    if (variant) *variant = 0;
    const char *text = read_text(argv[1], file);
    double start = now(CLOCK_MONOTONIC);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    need(code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &device, relaxed ? "-cl-fast-relaxed-math" : "", NULL, NULL);
    if (code != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    need(code, "clBuildProgram");
    kernel = clCreateKernel(program, file, &code);
    need(code, "clCreateKernel");
    double build = now(CLOCK_MONOTONIC) - start;

    for (int n = 0; n < MOST_ARGS && c->args[n].kind != END; n++) {
        const struct Arg *arg = &c->args[n];
        cl_int whole = arg->n + (arg->kind == COUNT ? offset : 0);
        float number = arg->n / 1000.0f;
        switch (arg->kind) {
        case INT: case COUNT: set(n, sizeof whole, &whole); break;
        case FLOAT: set(n, sizeof number, &number); break;
        case LOCAL: set(n, arg->n, NULL); break;
        default:
            mems[n] = memory(arg);
            set(n, sizeof mems[n], &mems[n]);
        }
    }

    start = now(CLOCK_MONOTONIC);
    int launches = turn(c);
    double first = now(CLOCK_MONOTONIC) - start, sum = result(c);
    // Until code is compiled and pages are there.
    for (int i = 0; i < 2; i++) turn(c);
    printf("{\"kernel\":\"%s\",\"class\":\"%s\",\"local\":\"%s\",\"offset\":%zu,\"platform\":\"%s\",", c->name, c->class,
           argv[3], offset, version);
    printf("\"launches\":%d,\"build_us\":%.1f,\"first_us\":%.1f,\"sum\":%.17g,\"turns\":[", launches, build, first, sum);
    double end = now(CLOCK_MONOTONIC) + seconds * 1e6;
    for (int i = 0; i < MOST_RUNS && (i < 3 || now(CLOCK_MONOTONIC) < end); i++) {
        double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        turn(c);
        cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        wall = now(CLOCK_MONOTONIC) - wall;
        printf("%s[%.1f,%.1f]", i ? "," : "", cpu, wall);
    }
    printf("]}\n");
    return 0;
}
