// A program of the CUDA driver API that makes one object of each kind, two events. `left_cuda kept` ends none of them,
// `destroyed` none but the context, `ended` all, `late` all in a function that runs after `main`.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t H;

static void *library;

static void call(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    int (*function)(uint64_t, uint64_t, uint64_t, uint64_t);
    *(void **)&function = dlsym(library, name);
    int code = function ? function(a, b, c, d) : -1;
    if (code != 0) {
        fprintf(stderr, "left_cuda: %s gave %d\n", name, code);
        _Exit(9);
    }
}

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n";
static H context, module, stream, events[2], array, mipmap, pool, surface, texture, graph, executable, memory;

static void end(void)
{
    call("cuMemFree_v2", memory, 0, 0, 0);
    call("cuGraphExecDestroy", executable, 0, 0, 0);
    call("cuGraphDestroy", graph, 0, 0, 0);
    call("cuTexObjectDestroy", texture, 0, 0, 0);
    call("cuSurfObjectDestroy", surface, 0, 0, 0);
    call("cuMemPoolDestroy", pool, 0, 0, 0);
    call("cuMipmappedArrayDestroy", mipmap, 0, 0, 0);
    call("cuArrayDestroy", array, 0, 0, 0);
    call("cuEventDestroy_v2", events[0], 0, 0, 0);
    call("cuEventDestroy_v2", events[1], 0, 0, 0);
    call("cuStreamDestroy_v2", stream, 0, 0, 0);
    call("cuModuleUnload", module, 0, 0, 0);
    call("cuCtxDestroy_v2", context, 0, 0, 0);
}

#define AT(x) ((uint64_t)(uintptr_t)(x))

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return 9;
    if (!strcmp(mode, "late"))
        atexit(end);
    call("cuInit", 0, 0, 0, 0);
    call("cuCtxCreate_v2", AT(&context), 0, 0, 0);
    call("cuModuleLoadData", AT(&module), AT(text), 0, 0);
    call("cuStreamCreate", AT(&stream), 1, 0, 0);
    call("cuEventCreate", AT(&events[0]), 0, 0, 0);
    call("cuEventCreate", AT(&events[1]), 0, 0, 0);
    // CU_AD_FORMAT_FLOAT, one channel, CUDA_ARRAY3D_SURFACE_LDST.
    struct { size_t width, height, depth; unsigned format, channels, flags; } shape = { 16, 16, 0, 0x20, 1, 2 };
    call("cuArray3DCreate_v2", AT(&array), AT(&shape), 0, 0);
    call("cuMipmappedArrayCreate", AT(&mipmap), AT(&shape), 3, 0);
    uint64_t properties[11] = { 1, 1 }; // pinned memory of device 0
    call("cuMemPoolCreate", AT(&pool), AT(properties), 0, 0);
    uint64_t resource[18] = { 0, array }, sampling[13] = { 0 };
    call("cuSurfObjectCreate", AT(&surface), AT(resource), 0, 0);
    call("cuTexObjectCreate", AT(&texture), AT(resource), AT(sampling), 0);
    call("cuGraphCreate", AT(&graph), 0, 0, 0);
    call("cuGraphInstantiateWithFlags", AT(&executable), graph, 0, 0);
    call("cuMemAlloc_v2", AT(&memory), 256, 0, 0);
    if (!strcmp(mode, "ended"))
        end();
    if (!strcmp(mode, "destroyed"))
        call("cuCtxDestroy_v2", context, 0, 0, 0);
    return 5;
}
