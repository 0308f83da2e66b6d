// Times one kernel through the CUDA driver API, by the library `libcuda.so.1` that the loader finds:
// `cuda KERNELS CASE SIZE SECONDS`.
//
// KERNELS: folder of `.ptx` files, made of the `.cl` ones; CASE and SIZE: of a row of `cases.h`, but those with
// pictures.
// Prints what `opencl.c` prints. `build` is the time to load the module.
#include <dlfcn.h>
#include "data.h"

typedef void *Handle;
typedef unsigned long long Pointer;

static Handle function;
static unsigned local_bytes;
static void *values[MOST_ARGS];
static union { Pointer pointer; unsigned word; float number; } storage[MOST_ARGS];

static int (*init)(unsigned), (*device_get)(int *, int), (*retain)(Handle *, int), (*set_current)(Handle),
    (*load)(Handle *, const void *), (*get_function)(Handle *, Handle, const char *), (*allocate)(Pointer *, size_t),
    (*to_device)(Pointer, const void *, size_t), (*to_host)(void *, Pointer, size_t), (*synchronize)(void),
    (*driver_version)(int *),
    (*launch_kernel)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **,
                     void **);

static void need(int code, const char *what)
{
    if (code) {
        fprintf(stderr, "%s: error %d\n", what, code);
        exit(1);
    }
}

static void set(unsigned n, size_t size, const void *value)
{
    memcpy(&storage[n], value, size);
}

static void launch(const struct Case *c)
{
    unsigned blocks[2] = {c->global[0] / c->local[0], c->global[1] / c->local[1]};
    need(launch_kernel(function, blocks[0], blocks[1], 1, c->local[0], c->local[1], 1, local_bytes, NULL, values, NULL),
         "cuLaunchKernel");
}

static void finish(void)
{
    need(synchronize(), "cuCtxSynchronize");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: cuda KERNELS CASE SIZE SECONDS\n");
        return 2;
    }
    const struct Case a_case = look_up(argv[2], argv[3]), *c = &a_case;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const struct { void *to; const char *name; } all[] = {
        {&init, "cuInit"}, {&device_get, "cuDeviceGet"}, {&retain, "cuDevicePrimaryCtxRetain"},
        {&set_current, "cuCtxSetCurrent"}, {&load, "cuModuleLoadData"}, {&get_function, "cuModuleGetFunction"},
        {&allocate, "cuMemAlloc_v2"}, {&to_device, "cuMemcpyHtoD_v2"}, {&to_host, "cuMemcpyDtoH_v2"},
        {&synchronize, "cuCtxSynchronize"}, {&driver_version, "cuDriverGetVersion"}, {&launch_kernel, "cuLaunchKernel"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *found = dlsym(library, all[i].name);
        need(!found, all[i].name);
        memcpy(all[i].to, &found, sizeof found);
    }
    int device, version;
    Handle context, module;
    need(init(0), "cuInit");
    need(driver_version(&version), "cuDriverGetVersion");
    need(device_get(&device, 0), "cuDeviceGet");
    need(retain(&context, device), "cuDevicePrimaryCtxRetain");
    need(set_current(context), "cuCtxSetCurrent");
    const char *text = read_text(argv[1], c->name, "ptx");
    double start = now(CLOCK_MONOTONIC);
    need(load(&module, text), "cuModuleLoadData");
    need(get_function(&function, module, c->file), "cuModuleGetFunction");
    double build = now(CLOCK_MONOTONIC) - start;

    for (int n = 0; n < MOST_ARGS && c->args[n].kind != END; n++) {
        const struct Arg *arg = &c->args[n];
        values[n] = &storage[n];
        switch (arg->kind) {
        case INT: case COUNT: storage[n].word = arg->n; break;
        case FLOAT: storage[n].number = arg->n / 1000.0f; break;
        // A pointer into shared memory is a number; that of the launch is all that these kernels have.
        case LOCAL: storage[n].pointer = 0; local_bytes = arg->n; break;
        default: {
            size_t count = elements(arg) + SLACK;
            uint32_t *words = contents(arg, count);
            need(allocate(&storage[n].pointer, count * 4), "cuMemAlloc");
            need(to_device(storage[n].pointer, words, count * 4), "cuMemcpyHtoD");
            free(words);
        }
        }
    }
    start = now(CLOCK_MONOTONIC);
    int launches = turn(c, set, launch, finish);
    double first = now(CLOCK_MONOTONIC) - start;
    size_t count = elements(&c->args[c->result]);
    uint32_t *words = calloc(count, 4);
    need(to_host(words, storage[c->result].pointer, count * 4), "cuMemcpyDtoH");
    double sum = weighted(c, words);
    free(words);
    printf("{\"launches\":%d,\"build_us\":%.1f,\"first_us\":%.1f,\"sum\":%.17g,", launches, build, first, sum);
    printf("\"platform\":\"CUDA %d.%d\",", version / 1000, version % 1000 / 10);
    measure(c, atof(argv[4]), set, launch, finish);
    return 0;
}
