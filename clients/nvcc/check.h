// Shared by the programs: every call is checked, and so is every result.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CUDA(call)                                                                                  \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));  \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

#define EXPECT(condition)                                                     \
    do {                                                                      \
        if (!(condition)) {                                                   \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                     \
        }                                                                     \
    } while (0)
