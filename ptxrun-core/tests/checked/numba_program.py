"""A numba program: `numba_program.py KERNEL wrong|right [STATUS]` runs a kernel over 128 floats."""

import sys

import numpy as np
from numba import cuda, float32

name, wrong = sys.argv[1], sys.argv[2] == "wrong"


@cuda.jit(lineinfo=True)
def shift(data, out):
    i = cuda.grid(1)
    if wrong or i + 1 < data.size:
        out[i] = data[i + 1]  # @bounds


@cuda.jit(lineinfo=True)
def turn(data, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = data[cuda.grid(1)]  # @write
    if not wrong:
        cuda.syncthreads()
    out[cuda.grid(1)] = tile[63 - i]  # @read


@cuda.jit(lineinfo=True)
def pick(data, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    if not wrong or i < 32:
        tile[i] = data[cuda.grid(1)]
    cuda.syncthreads()
    if tile[i ^ 32] > 0:  # @branch
        out[cuda.grid(1)] = 1


@cuda.jit(lineinfo=True)
def part(data, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = data[cuda.grid(1)]
    if not wrong or i < 40:
        cuda.syncthreads()  # @barrier
    out[cuda.grid(1)] = tile[i]


data = cuda.to_device(np.arange(128, dtype=np.float32))
out = cuda.to_device(np.zeros(128, dtype=np.float32))
try:
    {"shift": shift, "turn": turn, "pick": pick, "part": part}[name][2, 64](data, out)
    cuda.synchronize()
    print("program:", out.copy_to_host()[0])
except cuda.cudadrv.driver.CudaAPIError as error:
    # As careless programs do.
    print("program:", error)
sys.exit(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
