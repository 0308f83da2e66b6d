// Sorts, scans and reduces with algorithms of CUB and Thrust; the host checks what CUB finds.
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/functional.h>
#include <algorithm>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                          \
    do {                                                                     \
        cudaError_t code = call;                                             \
        if (code != cudaSuccess) {                                           \
            printf("%s: %s\n", #call, cudaGetErrorString(code));             \
            return 1;                                                        \
        }                                                                    \
    } while (0)

struct Square {
    __host__ __device__ int operator()(int x) const { return x * x; }
};

int main() {
    const int n = 1000;
    std::vector<unsigned> host(n);
    unsigned state = 1;
    for (unsigned& x : host) x = (state = state * 1664525u + 1013904223u) >> 16;

    // CUB: keys sorted, their running sum, their sum and largest.
    unsigned *in, *out;
    CHECK(cudaMalloc(&in, n * sizeof(unsigned)));
    CHECK(cudaMalloc(&out, n * sizeof(unsigned)));
    CHECK(cudaMemcpy(in, host.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    void* scratch = nullptr;
    size_t bytes = 0, most = 0;
    CHECK(cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n));
    most = bytes;
    CHECK(cub::DeviceScan::InclusiveSum(nullptr, bytes, out, in, n));
    most = bytes > most ? bytes : most;
    CHECK(cub::DeviceReduce::Max(nullptr, bytes, out, in, n));
    most = bytes > most ? bytes : most;
    CHECK(cudaMalloc(&scratch, most));
    CHECK(cub::DeviceRadixSort::SortKeys(scratch, most, in, out, n));
    CHECK(cub::DeviceReduce::Max(scratch, most, out, in, n));
    unsigned largest;
    CHECK(cudaMemcpy(&largest, in, sizeof largest, cudaMemcpyDeviceToHost));
    CHECK(cub::DeviceScan::InclusiveSum(scratch, most, out, in, n));
    std::vector<unsigned> sorted(n), sums(n);
    CHECK(cudaMemcpy(sorted.data(), out, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(sums.data(), in, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    std::sort(host.begin(), host.end());
    unsigned wrong = largest != host[n - 1], sum = 0;
    for (int i = 0; i < n; i++) wrong += sorted[i] != host[i] || sums[i] != (sum += host[i]);
    printf("cub: sort, max and scan of %d keys, %u wrong, sum %u\n", n, wrong, sum);

    // Thrust: squares, sorted backwards, summed.
    thrust::device_vector<int> v(n);
    thrust::sequence(v.begin(), v.end());
    thrust::transform(v.begin(), v.end(), v.begin(), Square());
    thrust::sort(v.begin(), v.end(), thrust::greater<int>());
    printf("thrust: largest %d, least %d, sum %d\n", int(v[0]), int(v[n - 1]), thrust::reduce(v.begin(), v.end()));
    return wrong != 0;
}
