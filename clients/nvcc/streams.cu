// Streams, events, callbacks, capture into a graph.
#include <vector>
#include "check.h"

__global__ void scale(int *data, int factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}

int main() {
    const int n = 1 << 16, streams = 4;
    cudaStream_t stream[streams];
    int *host, *device;
    CUDA(cudaMallocHost(&host, streams * n * sizeof(int)));
    CUDA(cudaMalloc(&device, streams * n * sizeof(int)));
    for (int i = 0; i < streams * n; i++) host[i] = i;
    cudaEvent_t start, stop;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    for (int s = 0; s < streams; s++) CUDA(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    CUDA(cudaEventRecord(start, stream[0]));
    for (int s = 0; s < streams; s++) {
        int *h = host + s * n, *d = device + s * n;
        CUDA(cudaMemcpyAsync(d, h, n * sizeof(int), cudaMemcpyHostToDevice, stream[s]));
        scale<<<n / 256, 256, 0, stream[s]>>>(d, s + 2, n);
        CUDA(cudaGetLastError());
        CUDA(cudaMemcpyAsync(h, d, n * sizeof(int), cudaMemcpyDeviceToHost, stream[s]));
    }
    CUDA(cudaEventRecord(stop, stream[0]));
    // Stream 1 goes on after stream 0.
    CUDA(cudaStreamWaitEvent(stream[1], stop, 0));
    for (int s = 0; s < streams; s++) CUDA(cudaStreamSynchronize(stream[s]));
    float ms = -1;
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    EXPECT(ms >= 0);
    EXPECT(cudaEventQuery(stop) == cudaSuccess);
    for (int s = 0; s < streams; s++)
        for (int i = 0; i < n; i++) EXPECT(host[s * n + i] == (s * n + i) * (s + 2));

    int called = 0;
    CUDA(cudaLaunchHostFunc(stream[2], [](void *p) { *static_cast<int *>(p) = 7; }, &called));
    CUDA(cudaStreamSynchronize(stream[2]));
    EXPECT(called == 7);

    CUDA(cudaMemset(device, 0, n * sizeof(int)));
    CUDA(cudaDeviceSynchronize());
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    std::vector<int> ones(n, 1);
    CUDA(cudaMemcpy(device, ones.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaStreamBeginCapture(stream[3], cudaStreamCaptureModeGlobal));
    scale<<<n / 256, 256, 0, stream[3]>>>(device, 3, n);
    scale<<<n / 256, 256, 0, stream[3]>>>(device, 5, n);
    CUDA(cudaStreamEndCapture(stream[3], &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, stream[3]));
    CUDA(cudaGraphLaunch(exec, stream[3]));
    CUDA(cudaStreamSynchronize(stream[3]));
    CUDA(cudaMemcpy(ones.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(ones[i] == 225);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    for (int s = 0; s < streams; s++) CUDA(cudaStreamDestroy(stream[s]));
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(stop));
    CUDA(cudaFree(device));
    CUDA(cudaFreeHost(host));
    std::printf("streams: ok\n");
}
