"""Triton kernels from PyPI's `triton`, without PyTorch: every result is compared with NumPy's.

    ptxrun exec -- python clients/triton_kernels.py [NAME...]

Exits with 1 where one is wrong or does not run.
"""

import ctypes
import sys
import time

import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")
TYPES = {"f4": "float32", "f2": "float16", "i4": "int32", "i1": "int8", "u4": "uint32", "f8": "float64"}


def check(status):
    if status:
        raise RuntimeError(f"CUDA error {status}")


class Array:
    """Device memory with the two members that Triton asks an argument for."""

    def __init__(self, values):
        self.host = np.ascontiguousarray(values)
        self.dtype = TYPES[self.host.dtype.str[1:]]
        self.pointer = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.pointer), ctypes.c_size_t(max(self.host.nbytes, 16))))
        check(cuda.cuMemcpyHtoD_v2(self.pointer, self.host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.host.nbytes)))

    def data_ptr(self):
        return self.pointer.value

    def get(self):
        out = np.empty_like(self.host)
        check(cuda.cuCtxSynchronize())
        check(cuda.cuMemcpyDtoH_v2(out.ctypes.data_as(ctypes.c_void_p), self.pointer, ctypes.c_size_t(out.nbytes)))
        return out


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def softmax(out, x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + c, e / tl.sum(e, 0), mask=c < n)


@triton.jit
def layer_norm(x, w, b, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < n
    v = tl.load(x + row * n + c, mask=mask, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(mask, v - mean, 0.0)
    y = d * tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    tl.store(out + row * n + c, y * tl.load(w + c, mask=mask) + tl.load(b + c, mask=mask), mask=mask)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, INT: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.int32 if INT else tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * N + rn[None, :])
        if INT:
            total += tl.dot(x, y, out_dtype=tl.int32)
        else:
            total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(c + rm[:, None] * N + rn[None, :], total)


@triton.jit
def scan(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def histogram(x, out, BLOCK: tl.constexpr):
    tl.atomic_add(out + tl.load(x + tl.arange(0, BLOCK)), 1)


@triton.jit
def attention(Q, K, V, O, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(Q + rm[:, None] * D + rd[None, :])
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for s in range(0, N, BN):
        rn = s + tl.arange(0, BN)
        k = tl.load(K + rn[None, :] * D + rd[:, None])
        qk = tl.dot(q, k) * scale
        most = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp(qk - most[:, None])
        fade = tl.exp(m - most)
        l = l * fade + tl.sum(p, 1)
        total = total * fade[:, None]
        v = tl.load(V + rn[:, None] * D + rd[None, :])
        total = tl.dot(p.to(tl.float16), v, total)
        m = most
    tl.store(O + rm[:, None] * D + rd[None, :], total / l[:, None])


@triton.jit
def fill(out, value, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, i * value)


rng = np.random.default_rng(7)
normal = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
near = lambda got, want, tolerance: np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance)


def case_add():
    x, y, out = normal(1000), normal(1000), Array(np.zeros(1000, np.float32))
    add[(8,)](Array(x), Array(y), out, 1000, BLOCK=128)
    assert (out.get() == x + y).all()


def case_softmax():
    x, out = normal(33, 300), Array(np.zeros((33, 300), np.float32))
    softmax[(33,)](out, Array(x), 300, BLOCK=512)
    e = np.exp(x - x.max(1, keepdims=True))
    near(out.get(), e / e.sum(1, keepdims=True), 1e-5)


def case_layer_norm():
    x, w, b, out = normal(17, 200), normal(200), normal(200), Array(np.zeros((17, 200), np.float32))
    layer_norm[(17,)](Array(x), Array(w), Array(b), out, 200, 1e-5, BLOCK=256)
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    near(out.get(), y * w + b, 1e-4)


def case_matmul_f16():
    a, b = normal(128, 64).astype(np.float16), normal(64, 128).astype(np.float16)
    c = Array(np.zeros((128, 128), np.float32))
    matmul[(2, 2)](Array(a), Array(b), c, 128, 128, 64, BM=64, BN=64, BK=32, INT=False)
    near(c.get(), a.astype(np.float64) @ b.astype(np.float64), 1e-3)


def case_matmul_f32():
    a, b, c = normal(64, 64), normal(64, 64), Array(np.zeros((64, 64), np.float32))
    matmul[(2, 2)](Array(a), Array(b), c, 64, 64, 64, BM=32, BN=32, BK=32, INT=False)
    near(c.get(), a.astype(np.float64) @ b.astype(np.float64), 1e-4)


def case_matmul_int8():
    a, b = (rng.integers(-128, 128, (64, 64), dtype=np.int8) for _ in range(2))
    c = Array(np.zeros((64, 64), np.int32))
    matmul[(1, 1)](Array(a), Array(b), c, 64, 64, 64, BM=64, BN=64, BK=64, INT=True)
    assert (c.get() == a.astype(np.int32) @ b.astype(np.int32)).all()


def case_scan():
    x, out = rng.integers(-9, 9, 1024, dtype=np.int32), Array(np.zeros(1024, np.int32))
    scan[(1,)](Array(x), out, BLOCK=1024)
    assert (out.get() == np.cumsum(x)).all()


def case_sort():
    x, out = normal(512), Array(np.zeros(512, np.float32))
    sort[(1,)](Array(x), out, BLOCK=512)
    assert (out.get() == np.sort(x)).all()


def case_histogram():
    x, out = rng.integers(0, 16, 2048, dtype=np.int32), Array(np.zeros(16, np.int32))
    histogram[(1,)](Array(x), out, BLOCK=2048)
    assert (out.get() == np.bincount(x, minlength=16)).all()


def case_attention():
    q, k, v = (normal(128, 64).astype(np.float16) for _ in range(3))
    out = Array(np.zeros((128, 64), np.float32))
    attention[(2,)](Array(q), Array(k), Array(v), out, 128, 0.125, BM=64, BN=64, D=64)
    s = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    p = np.exp(s - s.max(1, keepdims=True))
    near(out.get(), p / p.sum(1, keepdims=True) @ v.astype(np.float64), 3e-3)


def case_fill():
    out = Array(np.zeros(256, np.int32))
    fill[(1,)](out, 3, BLOCK=256)
    assert (out.get() == np.arange(256) * 3).all()


def main():
    cases = {name[5:]: run for name, run in globals().items() if name.startswith("case_")}
    wanted = sys.argv[1:] or list(cases)
    wrong = 0
    for name in wanted:
        start = time.perf_counter()
        try:
            cases[name]()
            verdict = "right"
        except AssertionError as error:
            wrong += 1
            verdict = "WRONG " + " ".join(str(error).split())[:200]
        except Exception as error:  # every failure is a line of the table
            wrong += 1
            verdict = f"FAILED {type(error).__name__}: " + " ".join(str(error).split())[:400]
        print(f"{name:16} {time.perf_counter() - start:6.2f} s  {verdict}", flush=True)
    print(f"triton {triton.__version__}: {len(wanted) - wrong} of {len(wanted)} right")
    return wrong > 0


if __name__ == "__main__":
    check(cuda.cuInit(0))
    context = ctypes.c_void_p()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    sys.exit(main())
