// Two processes that work on one array, and wait for each other by an event.
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

__global__ void add(int *data, int number, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += number;
}

const int N = 10000;

struct Names {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

static void other(int from, int to) {
    Names names;
    EXPECT(read(from, &names, sizeof names) == sizeof names);
    int *data;
    cudaEvent_t event;
    CUDA(cudaIpcOpenMemHandle((void **)&data, names.memory, cudaIpcMemLazyEnablePeerAccess));
    CUDA(cudaIpcOpenEventHandle(&event, names.event));
    CUDA(cudaStreamWaitEvent(0, event, 0));
    add<<<(N + 255) / 256, 256>>>(data, 100, N);
    CUDA(cudaEventRecord(event, 0));
    char done = 1;
    EXPECT(write(to, &done, 1) == 1);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaIpcCloseMemHandle(data));
    CUDA(cudaEventDestroy(event));
}

int main() {
    int there[2], back[2];
    EXPECT(pipe(there) == 0 && pipe(back) == 0);
    // Before any call of CUDA: a context does not go on in a child.
    pid_t child = fork();
    if (child == 0) {
        other(there[0], back[1]);
        return 0;
    }
    int *data;
    Names names;
    cudaEvent_t event;
    CUDA(cudaMalloc(&data, N * sizeof(int)));
    CUDA(cudaMemset(data, 0, N * sizeof(int)));
    CUDA(cudaIpcGetMemHandle(&names.memory, data));
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    CUDA(cudaIpcGetEventHandle(&names.event, event));
    add<<<(N + 255) / 256, 256>>>(data, 1, N);
    CUDA(cudaEventRecord(event, 0));
    EXPECT(write(there[1], &names, sizeof names) == sizeof names);
    char done;
    EXPECT(read(back[0], &done, 1) == 1);
    CUDA(cudaStreamWaitEvent(0, event, 0));
    add<<<(N + 255) / 256, 256>>>(data, 10, N);
    static int got[N];
    CUDA(cudaMemcpy(got, data, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) EXPECT(got[i] == 111);
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    CUDA(cudaFree(data));
    CUDA(cudaEventDestroy(event));
    puts("processes: ok");
}
