"""cuda.core: a CUDA C++ kernel compiled by NVRTC to PTX, buffers, a stream, events.

    ptxrun exec -- python3 cuda_core.py
"""
import numpy as np
from cuda.core import Device, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

SOURCE = """
extern "C" __global__ void saxpy(float a, const float *x, float *y, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}")
    kernel = Program(SOURCE, "c++", options).compile("ptx", name_expressions=("saxpy",)).get_kernel("saxpy")
    n = 10000
    pinned = LegacyPinnedMemoryResource()
    host = [pinned.allocate(4 * n, stream=stream) for _ in range(2)]
    x, y = (np.from_dlpack(buffer).view(np.float32) for buffer in host)
    x[:] = np.arange(n)
    y[:] = 1
    dx, dy = (device.memory_resource.allocate(4 * n, stream=stream) for _ in range(2))
    host[0].copy_to(dx, stream=stream)
    host[1].copy_to(dy, stream=stream)
    start = stream.record(options=EventOptions(timing_enabled=True))
    launch(stream, LaunchConfig(grid=(n + 255) // 256, block=256), kernel, np.float32(2), dx, dy, np.uint64(n))
    stop = stream.record(options=EventOptions(timing_enabled=True))
    dy.copy_to(host[1], stream=stream)
    stream.sync()
    assert stop - start >= 0
    assert np.array_equal(y, 2 * np.arange(n, dtype=np.float32) + 1)
    print(f"cuda_core: ok on {device.name}")


main()
