"""Kernels in Gluon, Triton's lower language: layouts, shared memory, asynchronous copies, tensor cores of three
generations, partitions of warps. Results are compared with PyTorch's on the CPU.

    ptxrun exec --device sm_100 -- python clients/gluon_kernels.py [NAME...]

What a device is too old for is left out. Exits with 1 where a result is wrong or a kernel does not run.
"""

import sys
import time

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_copy,
    tcgen05_mma,
    tcgen05_mma_scaled,
)
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

CASES = {}


def case(least, below=1000):
    """A case for devices of a compute capability from `least` on: it returns a result, what it must be, an error."""

    def add(function):
        CASES[function.__name__] = least, below, function
        return function

    return add


def normal(*size, dtype=torch.float32, seed=0):
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed)).to(dtype)


@gluon.jit
def copy_kernel(x, y, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(y + i, gl.load(x + i, mask=i < n), mask=i < n)


@case(80)
def copies():
    x = normal(1000)
    y = torch.zeros(1000, device="cuda")
    copy_kernel[(4,)](x.cuda(), y, 1000, 256, gl.BlockedLayout([2], [32], [4], [0]))
    return y, x, 0


@gluon.jit
def transpose_kernel(x, y, N: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    columns: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    r = gl.arange(0, N, layout=gl.SliceLayout(1, rows))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    value = gl.load(x + r * N + c)
    r = gl.arange(0, N, layout=gl.SliceLayout(1, columns))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, columns))[None, :]
    gl.store(y + c * N + r, gl.convert_layout(value, columns))


@case(80)
def layouts_are_converted():
    x = normal(64, 64)
    y = torch.zeros(64, 64, device="cuda")
    transpose_kernel[(1,)](x.cuda(), y, 64)
    return y, x.t(), 0


@gluon.jit
def reduce_kernel(x, sums, most, running, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [8, 4], [2, 2], [1, 0])
    r = gl.arange(0, N, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    value = gl.load(x + r[:, None] * N + c[None, :])
    gl.store(sums + r, gl.sum(value, axis=1))
    gl.store(most + c, gl.max(value, axis=0))
    gl.store(running + r[:, None] * N + c[None, :], gl.where(value > 0, value, 0.5 * value))


@case(80)
def reductions():
    x = normal(32, 32)
    sums, most, running = torch.zeros(32).cuda(), torch.zeros(32).cuda(), torch.zeros(32, 32).cuda()
    reduce_kernel[(1,)](x.cuda(), sums, most, running, 32)
    want = torch.cat([x.sum(1), x.amax(0), torch.where(x > 0, x, 0.5 * x).flatten()])
    return torch.cat([sums, most, running.flatten()]), want, 1e-5


@gluon.jit
def async_kernel(x, y, N: gl.constexpr, TURNS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    i = gl.arange(0, N, layout=layout)
    buffers = gl.allocate_shared_memory(gl.float32, [2, N], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    async_copy.async_load(buffers.index(0), x + i)
    async_copy.commit_group()
    total = gl.zeros([N], gl.float32, layout)
    for turn in range(TURNS):
        if turn + 1 < TURNS:
            async_copy.async_load(buffers.index((turn + 1) % 2), x + (turn + 1) * N + i)
        async_copy.commit_group()
        async_copy.wait_group(1)
        total += buffers.index(turn % 2).load(layout)
    gl.store(y + i, total)


@case(80)
def copies_into_shared_memory():
    x = normal(5, 512)
    y = torch.zeros(512, device="cuda")
    async_kernel[(1,)](x.cuda(), y, 512, 5)
    return y, x.sum(0), 1e-6


@gluon.jit
def mma_kernel(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    blocked: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    m = gl.arange(0, M, layout=gl.SliceLayout(1, blocked))[:, None]
    k = gl.arange(0, K, layout=gl.SliceLayout(0, blocked))[None, :]
    x = gl.convert_layout(gl.load(a + m * K + k), gl.DotOperandLayout(0, acc_layout, 2))
    k = gl.arange(0, K, layout=gl.SliceLayout(1, blocked))[:, None]
    n = gl.arange(0, N, layout=gl.SliceLayout(0, blocked))[None, :]
    y = gl.convert_layout(gl.load(b + k * N + n), gl.DotOperandLayout(1, acc_layout, 2))
    z = mma_v2(x, y, gl.zeros([M, N], gl.float32, acc_layout))
    m = gl.arange(0, M, layout=gl.SliceLayout(1, acc_layout))[:, None]
    n = gl.arange(0, N, layout=gl.SliceLayout(0, acc_layout))[None, :]
    gl.store(c + m * N + n, z)


@case(80)
def product_by_mma():
    a, b = normal(64, 64, dtype=torch.float16), normal(64, 32, dtype=torch.float16, seed=1)
    c = torch.zeros(64, 32, device="cuda")
    mma_kernel[(1,)](a.cuda(), b.cuda(), c, 64, 32, 64)
    return c, a.float() @ b.float(), 1e-3


@gluon.jit
def tensor_copy_kernel(source, target, M: gl.constexpr, N: gl.constexpr):
    buffer = gl.allocate_shared_memory(source.dtype, [M, N], source.layout)
    ready = mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    mbarrier.expect(ready, source.nbytes_per_cta)
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    tma.async_load(source, [row, column], ready, buffer)
    mbarrier.wait(ready, 0)
    mbarrier.invalidate(ready)
    tma.async_store(target, [row, column], buffer)
    tma.store_wait(0)


@case(90)
def tensor_copies():
    x = normal(100, 96, dtype=torch.float16)
    y = torch.zeros(100, 96, dtype=torch.float16, device="cuda")
    layout = gl.NVMMASharedLayout.get_default_for([32, 64], gl.float16)
    descriptors = [TensorDescriptor.from_tensor(t, [32, 64], layout) for t in (x.cuda(), y)]
    tensor_copy_kernel[(4, 2)](*descriptors, 32, 64)
    return y, x, 0


@gluon.jit
def tensor_add_kernel(target, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    r = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    buffer = gl.allocate_shared_memory(target.dtype, [M, N], target.layout)
    buffer.store((r * N + c + gl.program_id(0)).to(gl.float32))
    fence_async_shared()
    tma.async_atomic_add(target, [0, 0], buffer)
    tma.store_wait(0)


@case(90)
def tensor_reductions():
    y = torch.ones(32, 32, device="cuda")
    layout = gl.NVMMASharedLayout.get_default_for([32, 32], gl.float32)
    tensor_add_kernel[(3,)](TensorDescriptor.from_tensor(y, [32, 32], layout), 32, 32)
    return y, 1 + 3 * torch.arange(1024.0).view(32, 32) + 3, 0


@gluon.jit
def wgmma_kernel(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, TURNS: gl.constexpr):
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    x = gl.allocate_shared_memory(a.dtype, [2, M, K], a.layout)
    y = gl.allocate_shared_memory(b.dtype, [2, K, N], b.layout)
    ready = mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        mbarrier.init(ready.index(i), count=1)
    z = gl.zeros([M, N], gl.float32, acc_layout)
    for turn in range(TURNS):
        stage = turn % 2
        mbarrier.expect(ready.index(stage), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [0, turn * K], ready.index(stage), x.index(stage))
        tma.async_load(b, [turn * K, 0], ready.index(stage), y.index(stage))
        mbarrier.wait(ready.index(stage), turn // 2 & 1)
        z = warpgroup_mma(x.index(stage), y.index(stage), z, is_async=True)
        z = warpgroup_mma_wait(num_outstanding=0, deps=(z,))
    m = gl.arange(0, M, layout=gl.SliceLayout(1, acc_layout))[:, None]
    n = gl.arange(0, N, layout=gl.SliceLayout(0, acc_layout))[None, :]
    gl.store(c + m * N + n, z)


def operands(m, n, k, bk, dtype, kind):
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype, seed=1)
    a_layout = gl.NVMMASharedLayout.get_default_for([m, bk], kind)
    b_layout = gl.NVMMASharedLayout.get_default_for([bk, n], kind)
    tensors = (
        TensorDescriptor.from_tensor(a.cuda(), [m, bk], a_layout),
        TensorDescriptor.from_tensor(b.cuda(), [bk, n], b_layout),
    )
    return *tensors, a.float() @ b.float()


@case(90, 100)
def product_by_wgmma():
    a, b, want = operands(64, 128, 320, 64, torch.float16, gl.float16)
    c = torch.zeros(64, 128, device="cuda")
    wgmma_kernel[(1,)](a, b, c, 64, 128, 64, 5)
    return c, want, 1e-3


@gluon.jit
def load_partition(a, b, x, y, ready, free, TURNS: gl.constexpr, STAGES: gl.constexpr, K: gl.constexpr):
    for turn in range(TURNS):
        stage = turn % STAGES
        mbarrier.wait(free.index(stage), (turn // STAGES & 1) ^ 1)
        mbarrier.expect(ready.index(stage), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [0, turn * K], ready.index(stage), x.index(stage))
        tma.async_load(b, [turn * K, 0], ready.index(stage), y.index(stage))


@gluon.jit
def wgmma_partition(c, x, y, ready, free, TURNS: gl.constexpr, STAGES: gl.constexpr, M: gl.constexpr, N: gl.constexpr):
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    z = gl.zeros([M, N], gl.float32, acc_layout)
    for turn in range(TURNS):
        stage = turn % STAGES
        mbarrier.wait(ready.index(stage), turn // STAGES & 1)
        z = warpgroup_mma(x.index(stage), y.index(stage), z, is_async=True)
        z = warpgroup_mma_wait(num_outstanding=0, deps=(z,))
        mbarrier.arrive(free.index(stage), count=1)
    m = gl.arange(0, M, layout=gl.SliceLayout(1, acc_layout))[:, None]
    n = gl.arange(0, N, layout=gl.SliceLayout(0, acc_layout))[None, :]
    gl.store(c + m * N + n, z)


@gluon.jit
def specialised_wgmma_kernel(
    a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, TURNS: gl.constexpr, STAGES: gl.constexpr
):
    x = gl.allocate_shared_memory(a.dtype, [STAGES, M, K], a.layout)
    y = gl.allocate_shared_memory(b.dtype, [STAGES, K, N], b.layout)
    ready = mbarrier.allocate_mbarrier(batch=STAGES)
    free = mbarrier.allocate_mbarrier(batch=STAGES)
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
        mbarrier.init(free.index(stage), count=1)
    gl.warp_specialize(
        [
            (wgmma_partition, (c, x, y, ready, free, TURNS, STAGES, M, N)),
            (load_partition, (a, b, x, y, ready, free, TURNS, STAGES, K)),
        ],
        [1],
        [24],
    )


@case(90, 100)
def partitions_with_wgmma():
    a, b, want = operands(64, 128, 448, 64, torch.float16, gl.float16)
    c = torch.zeros(64, 128, device="cuda")
    specialised_wgmma_kernel[(1,)](a, b, c, 64, 128, 64, 7, 3)
    return c, want, 1e-3


@gluon.jit
def tensor_memory_kernel(x, y, M: gl.constexpr, N: gl.constexpr):
    memory = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout((M, N), 1))
    layout: gl.constexpr = memory.get_reg_layout()
    r = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    memory.store(gl.load(x + r * N + c))
    gl.store(y + r * N + c, memory.load(layout) * 2)


@case(100, 110)
def tensor_memory():
    x = normal(128, 64)
    y = torch.zeros(128, 64, device="cuda")
    tensor_memory_kernel[(1,)](x.cuda(), y, 128, 64)
    return y, 2 * x, 0


@gluon.jit
def tcgen05_kernel(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, TURNS: gl.constexpr):
    x = gl.allocate_shared_memory(a.dtype, [M, K], a.layout)
    y = gl.allocate_shared_memory(b.dtype, [K, N], b.layout)
    memory = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout((M, N), 1))
    ready, done = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    mbarrier.init(done, count=1)
    for turn in range(TURNS):
        mbarrier.expect(ready, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [0, turn * K], ready, x)
        tma.async_load(b, [turn * K, 0], ready, y)
        mbarrier.wait(ready, turn & 1)
        tcgen05_mma(x, y, memory, use_acc=turn > 0)
        tcgen05_commit(done)
        mbarrier.wait(done, turn & 1)
    layout: gl.constexpr = memory.get_reg_layout()
    m = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    n = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    gl.store(c + m * N + n, memory.load(layout))


@case(100, 110)
def product_by_tcgen05():
    a, b, want = operands(128, 128, 320, 64, torch.float16, gl.float16)
    c = torch.zeros(128, 128, device="cuda")
    tcgen05_kernel[(1,)](a, b, c, 128, 128, 64, 5)
    return c, want, 1e-3


@case(100, 110)
def product_of_bfloat16_by_tcgen05():
    a, b, want = operands(128, 64, 192, 64, torch.bfloat16, gl.bfloat16)
    c = torch.zeros(128, 64, device="cuda")
    tcgen05_kernel[(1,)](a, b, c, 128, 64, 64, 3)
    return c, want, 1e-3


@gluon.jit
def tcgen05_partition(x, y, memory, ready, free, done, TURNS: gl.constexpr, STAGES: gl.constexpr):
    for turn in range(TURNS):
        stage = turn % STAGES
        mbarrier.wait(ready.index(stage), turn // STAGES & 1)
        tcgen05_mma(x.index(stage), y.index(stage), memory, use_acc=turn > 0, mbarriers=[free.index(stage)])
    tcgen05_commit(done)


@gluon.jit
def result_partition(c, memory, done, M: gl.constexpr, N: gl.constexpr):
    mbarrier.wait(done, 0)
    layout: gl.constexpr = memory.get_reg_layout()
    m = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    n = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    gl.store(c + m * N + n, memory.load(layout))


@gluon.jit
def specialised_tcgen05_kernel(
    a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, TURNS: gl.constexpr, STAGES: gl.constexpr
):
    x = gl.allocate_shared_memory(a.dtype, [STAGES, M, K], a.layout)
    y = gl.allocate_shared_memory(b.dtype, [STAGES, K, N], b.layout)
    memory = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout((M, N), 1))
    ready, free = mbarrier.allocate_mbarrier(batch=STAGES), mbarrier.allocate_mbarrier(batch=STAGES)
    done = mbarrier.allocate_mbarrier()
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
        mbarrier.init(free.index(stage), count=1)
    mbarrier.init(done, count=1)
    gl.warp_specialize(
        [
            (result_partition, (c, memory, done, M, N)),
            (load_partition, (a, b, x, y, ready, free, TURNS, STAGES, K)),
            (tcgen05_partition, (x, y, memory, ready, free, done, TURNS, STAGES)),
        ],
        [1, 1],
        [24, 24],
    )


@case(100, 110)
def partitions_with_tcgen05():
    a, b, want = operands(128, 128, 448, 64, torch.float16, gl.float16)
    c = torch.zeros(128, 128, device="cuda")
    specialised_tcgen05_kernel[(1,)](a, b, c, 128, 128, 64, 7, 3)
    return c, want, 1e-3


@gluon.jit
def scaled_kernel(a, b, sa, sb, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    x = gl.allocate_shared_memory(a.dtype, [M, K], a.layout)
    y = gl.allocate_shared_memory(b.dtype, [N, K], b.layout)
    ready, done = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    mbarrier.init(done, count=1)
    mbarrier.expect(ready, a.nbytes_per_cta + b.nbytes_per_cta)
    tma.async_load(a, [0, 0], ready, x)
    tma.async_load(b, [0, 0], ready, y)
    mbarrier.wait(ready, 0)
    a_scales = allocate_tensor_memory(gl.uint8, [M, K // 32], TensorMemoryScalesLayout())
    b_scales = allocate_tensor_memory(gl.uint8, [N, K // 32], TensorMemoryScalesLayout())
    a_layout: gl.constexpr = a_scales.get_reg_layout()
    r = gl.arange(0, M, layout=gl.SliceLayout(1, a_layout))[:, None]
    s = gl.arange(0, K // 32, layout=gl.SliceLayout(0, a_layout))[None, :]
    a_scales.store(gl.load(sa + r * (K // 32) + s))
    b_layout: gl.constexpr = b_scales.get_reg_layout()
    r = gl.arange(0, N, layout=gl.SliceLayout(1, b_layout))[:, None]
    s = gl.arange(0, K // 32, layout=gl.SliceLayout(0, b_layout))[None, :]
    b_scales.store(gl.load(sb + r * (K // 32) + s))
    memory = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout((M, N), 1))
    tcgen05_mma_scaled(x, y.permute((1, 0)), memory, a_scales, b_scales, "e4m3", "e4m3", use_acc=False)
    tcgen05_commit(done)
    mbarrier.wait(done, 0)
    layout: gl.constexpr = memory.get_reg_layout()
    m = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    n = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    gl.store(c + m * N + n, memory.load(layout))


@case(100, 110)
def scaled_product():
    M, N, K = 128, 128, 128
    x, y = normal(M, K).to(torch.float8_e4m3fn), normal(N, K, seed=1).to(torch.float8_e4m3fn)
    draw = torch.Generator().manual_seed(5)
    p, q = (torch.randint(124, 131, (n, K // 32), generator=draw).to(torch.uint8) for n in (M, N))
    layout = gl.NVMMASharedLayout.get_default_for([M, K], gl.float8e4nv)
    a, b = (TensorDescriptor.from_tensor(t.cuda(), [M, K], layout) for t in (x, y))
    c = torch.zeros(M, N, device="cuda")
    scaled_kernel[(1,)](a, b, p.cuda(), q.cuda(), c, M, N, K)
    grow = lambda s: (2.0 ** (s.double() - 127)).repeat_interleave(32, 1)  # noqa: E731
    return c, ((x.double() * grow(p)) @ (y.double() * grow(q)).t()).float(), 1e-3


@gluon.jit
def copied_kernel(x, y, M: gl.constexpr, N: gl.constexpr, shared: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    r = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    buffer = gl.allocate_shared_memory(gl.float32, [M, N], shared, gl.load(x + r * N + c))
    memory = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout((M, N), 1))
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    fence_async_shared()
    tcgen05_copy(buffer, memory)
    tcgen05_commit(done)
    mbarrier.wait(done, 0)
    out: gl.constexpr = memory.get_reg_layout()
    r = gl.arange(0, M, layout=gl.SliceLayout(1, out))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, out))[None, :]
    gl.store(y + r * N + c, memory.load(out))


@case(100, 110)
def shared_memory_to_tensor_memory():
    x = normal(128, 32)
    y = torch.zeros(128, 32, device="cuda")
    copied_kernel[(1,)](x.cuda(), y, 128, 32, gl.NVMMASharedLayout(128, 32, 2))
    return y, x, 0


@gluon.jit
def packed_kernel(x, y, z, out, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([4], [32], [4], [0]))
    gl.store(out + i, blackwell.fma2(gl.load(x + i), gl.load(y + i), gl.load(z + i)))


@case(100, 110)
def packed_arithmetic():
    x, y, z = (normal(512, seed=s) for s in range(3))
    out = torch.zeros(512, device="cuda")
    packed_kernel[(1,)](x.cuda(), y.cuda(), z.cuda(), out, 512)
    return out, (x.double() * y.double() + z.double()).float(), 0


def main():
    major, minor = torch.cuda.get_device_capability()
    capability = 10 * major + minor
    fit = [name for name, (least, below, _) in CASES.items() if least <= capability < below]
    names = sys.argv[1:] or fit
    wrong = 0
    for name in names:
        begin = time.time()
        try:
            got, want, error = CASES[name][2]()
            far = ((got.cpu().float() - want.float()).abs() / (1 + want.float().abs())).max().item()
            said = "right" if far <= error else f"WRONG by {far:.1e}"
        except Exception as failure:  # noqa: BLE001, whatever it is, it is this one's
            lines = [line.strip() for line in str(failure).splitlines() if line.strip()] or [repr(failure)]
            said = f"FAILED {type(failure).__name__}: {lines[-1][:200]}"
        wrong += said != "right"
        print(f"{name}: {said}, {time.time() - begin:.1f} s", flush=True)
    version = f"Triton {triton.__version__}, PyTorch {torch.__version__}, cc {major}.{minor}"
    print(f"Gluon, {version}: {len(names) - wrong} of {len(names)} right")
    return 1 if wrong or not names else 0


if __name__ == "__main__":
    sys.exit(main())
