// Linear copies over the rows of an array; the library's version; calls in the destructor of a global.
#include <cstring>
#include "check.h"

struct Global {
    float *memory;
    Global() { CUDA(cudaMalloc(&memory, 64)); }
    // Threads' own variables have gone here: the call may fail, and says nothing.
    ~Global() { cudaFree(memory); }
} global;

int main() {
    float in[12], out[12] = {};
    for (int i = 0; i < 12; i++) in[i] = i;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CUDA(cudaMallocArray(&array, &format, 4, 3));
    CUDA(cudaMemcpyToArray(array, 0, 0, in, sizeof in, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpyFromArray(out, array, 0, 0, sizeof out, cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(in, out, sizeof in));
    // From the third element of a row on, over the next one, into the last.
    CUDA(cudaMemcpyToArray(array, 8, 0, in, 7 * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpyFromArray(out, array, 0, 0, sizeof out, cudaMemcpyDeviceToHost));
    float wanted[12] = {0, 1, 0, 1, 2, 3, 4, 5, 6, 9, 10, 11};
    EXPECT(!memcmp(wanted, out, sizeof out));
    EXPECT(cudaMemcpyToArray(array, 0, 2, in, 5 * sizeof(float), cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    cudaGetLastError();
    CUDA(cudaFreeArray(array));

    int driver, runtime;
    CUDA(cudaDriverGetVersion(&driver));
    CUDA(cudaRuntimeGetVersion(&runtime));
    EXPECT(driver >= runtime && runtime / 1000 == 13);
    std::puts("arrays: ok");
}
