// Graphs built node by node, clones, a user object, stream capture; with -default-stream per-thread stream 0 is the
// thread's own, and the program finds the functions for that.
#include "check.h"

#include <thread>
#include <vector>

__global__ void scale(int *data, int factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}

static int destroyed;
static void destroy(void *) { destroyed++; }

static void nodes() {
    const int n = 1000;
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i;
    int *data;
    CUDA(cudaMalloc(&data, n * sizeof(int)));
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t upload, kernel, download;
    CUDA(cudaGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, data, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    int factor = 3, count = n;
    void *args[] = {&data, &factor, &count};
    cudaKernelNodeParams params = {};
    params.func = (void *)scale;
    params.gridDim = dim3(8);
    params.blockDim = dim3(128);
    params.kernelParams = args;
    CUDA(cudaGraphAddKernelNode(&kernel, graph, &upload, 1, &params));
    CUDA(cudaGraphAddMemcpyNode1D(&download, graph, &kernel, 1, out.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));

    cudaUserObject_t object;
    CUDA(cudaUserObjectCreate(&object, nullptr, destroy, 1, cudaUserObjectNoDestructorSync));
    CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    cudaGraph_t clone;
    CUDA(cudaGraphClone(&clone, graph));
    cudaGraphNode_t same;
    CUDA(cudaGraphNodeFindInClone(&same, kernel, clone));
    factor = 5;
    CUDA(cudaGraphKernelNodeSetParams(same, &params));

    cudaGraphExec_t first, second;
    CUDA(cudaGraphInstantiate(&first, graph, 0));
    CUDA(cudaGraphInstantiate(&second, clone, 0));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaGraphLaunch(first, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++) EXPECT(out[i] == 3 * i);
    CUDA(cudaGraphLaunch(second, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++) EXPECT(out[i] == 5 * i);
    factor = 7;
    CUDA(cudaGraphExecKernelNodeSetParams(first, kernel, &params));
    CUDA(cudaGraphLaunch(first, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++) EXPECT(out[i] == 7 * i);
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaGraphDestroy(clone));
    CUDA(cudaGraphExecDestroy(first));
    EXPECT(destroyed == 0);
    CUDA(cudaGraphExecDestroy(second));
    EXPECT(destroyed == 1);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(data));
}

static void capture() {
    int *data;
    CUDA(cudaMalloc(&data, 256 * sizeof(int)));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CUDA(cudaMemsetAsync(data, 1, 256 * sizeof(int), stream));
    scale<<<2, 128, 0, stream>>>(data, 2, 256);
    cudaGraph_t graph;
    CUDA(cudaStreamEndCapture(stream, &graph));
    size_t count = 0;
    CUDA(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == 2);
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    int got;
    CUDA(cudaMemcpyAsync(&got, data + 255, sizeof got, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(got == 0x02020202);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(data));
}

// Each thread works in its own stream 0; without -default-stream per-thread they share one, with the same results.
static void threads() {
    std::vector<std::thread> all;
    for (int t = 0; t < 4; t++)
        all.emplace_back([t] {
            int *data, got[100];
            CUDA(cudaMalloc(&data, sizeof got));
            for (int round = 0; round < 20; round++) {
                for (int i = 0; i < 100; i++) got[i] = i + t;
                CUDA(cudaMemcpy(data, got, sizeof got, cudaMemcpyHostToDevice));
                scale<<<1, 128>>>(data, round, 100);
                CUDA(cudaMemcpy(got, data, sizeof got, cudaMemcpyDeviceToHost));
                for (int i = 0; i < 100; i++) EXPECT(got[i] == (i + t) * round);
            }
            CUDA(cudaStreamSynchronize(0));
            CUDA(cudaFree(data));
        });
    for (auto &t : all) t.join();
}

// Memory that a graph allocates: by a node, and by a capture.
static void memory() {
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams wanted = {};
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location = {cudaMemLocationTypeDevice, 0};
    wanted.bytesize = 400;
    cudaGraphNode_t allocated, filled;
    CUDA(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &wanted));
    cudaMemsetParams fill = {};
    fill.dst = wanted.dptr;
    fill.value = 7;
    fill.elementSize = 4;
    fill.width = 100;
    fill.height = 1;
    CUDA(cudaGraphAddMemsetNode(&filled, graph, &allocated, 1, &fill));
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, 0));
    int got[100];
    CUDA(cudaMemcpy(got, wanted.dptr, 400, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++) EXPECT(got[i] == 7);
    EXPECT(cudaGraphLaunch(exec, 0) == cudaErrorInvalidValue);
    CUDA(cudaFree(wanted.dptr));
    CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaFree(wanted.dptr));
    (void)cudaGetLastError();

    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    int *out, *scratch;
    CUDA(cudaMalloc(&out, 400));
    CUDA(cudaMemset(out, 1, 400));
    // A stream 0 of the thread does not wait for others, nor they for it.
    CUDA(cudaStreamSynchronize(0));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMallocAsync(&scratch, 400, stream));
    CUDA(cudaMemcpyAsync(scratch, out, 400, cudaMemcpyDeviceToDevice, stream));
    scale<<<1, 128, 0, stream>>>(scratch, 2, 100);
    CUDA(cudaMemcpyAsync(out, scratch, 400, cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaFreeAsync(scratch, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(got, out, 400, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++) EXPECT(got[i] == 0x01010101 * 8);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(out));
}

int main() {
    nodes();
    memory();
    capture();
    threads();
    puts("graphs: ok");
}
