"""smooth.ptx (`python smooth.py lineinfo`) and smooth_g.ptx (`debug`), by numba-cuda; names there were shortened."""
import sys

from numba import cuda, types


def smooth(data, out, scale):
    i = cuda.grid(1)
    total = types.float32(0.0)
    if i < out.shape[0]:
        for k in range(3):
            weight = k * scale
            total += data[i + k] * weight
        out[i] = total


arrays = (types.float32[::1], types.float32[::1], types.float32)
how = {"debug": {"debug": True, "opt": False}, "lineinfo": {"lineinfo": True}}[sys.argv[1]]
print(cuda.compile_ptx(smooth, arrays, cc=(8, 0), **how)[0])
