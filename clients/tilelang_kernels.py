"""Kernels of tilelang on the CUDA device, compared with PyTorch's results on the CPU.

    ptxrun exec --device h200 -- python clients/tilelang_kernels.py [NAME...]

tilelang has nvcc make machine code: docs/clients/tilelang.md says how nvcc takes our assembler for it. Exits with 1
where a result is wrong or a kernel does not run.
"""

import sys
import time

import tilelang
import tilelang.language as T
import torch

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def normal(*size, dtype=torch.float32, seed=0):
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed)).to(dtype)


@tilelang.jit(out_idx=[-1])
def add_kernel(n, block=256):
    @T.prim_func
    def main(a: T.Tensor((n,), "float32"), b: T.Tensor((n,), "float32"), c: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=block) as bx:
            for i in T.Parallel(block):
                c[bx * block + i] = a[bx * block + i] + b[bx * block + i]

    return main


@case
def add():
    a, b = normal(4096), normal(4096, seed=1)
    return add_kernel(4096)(a.cuda(), b.cuda()), a + b, 0


@tilelang.jit(out_idx=[-1])
def product_kernel(m, n, k, bm=64, bn=64, bk=32, dtype="float16"):
    @T.prim_func
    def main(a: T.Tensor((m, k), dtype), b: T.Tensor((k, n), dtype), c: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            x, y = T.alloc_shared((bm, bk), dtype), T.alloc_shared((bk, bn), dtype)
            z = T.alloc_fragment((bm, bn), "float32")
            T.clear(z)
            for s in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(a[by * bm, s * bk], x)
                T.copy(b[s * bk, bx * bn], y)
                T.gemm(x, y, z)
            T.copy(z, c[by * bm, bx * bn])

    return main


def product(dtype, name):
    a, b = normal(128, 96, dtype=dtype), normal(96, 192, dtype=dtype, seed=1)
    return product_kernel(128, 192, 96, dtype=name)(a.cuda(), b.cuda()), a.float() @ b.float(), 1e-3


@case
def product_of_halves():
    return product(torch.float16, "float16")


@case
def product_of_bfloat16():
    return product(torch.bfloat16, "bfloat16")


@tilelang.jit(out_idx=[-1])
def softmax_kernel(m, n, bm=4):
    @T.prim_func
    def main(a: T.Tensor((m, n), "float32"), c: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            x = T.alloc_fragment((bm, n), "float32")
            most, total = T.alloc_fragment((bm,), "float32"), T.alloc_fragment((bm,), "float32")
            T.copy(a[bx * bm, 0], x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(bm, n):
                x[i, j] = T.exp(x[i, j] - most[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(bm, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, c[bx * bm, 0])

    return main


@case
def softmax():
    a = normal(32, 256)
    return softmax_kernel(32, 256)(a.cuda()), a.softmax(1), 1e-5


@tilelang.jit(out_idx=[-1])
def attention_kernel(heads, length, width, bm=64, bn=64):
    scale = 1.4426950408889634 / width**0.5

    @T.prim_func
    def main(
        q: T.Tensor((heads, length, width), "float16"),
        k: T.Tensor((heads, length, width), "float16"),
        v: T.Tensor((heads, length, width), "float16"),
        o: T.Tensor((heads, length, width), "float16"),
    ):
        with T.Kernel(T.ceildiv(length, bm), heads, threads=128) as (bx, by):
            sq = T.alloc_shared((bm, width), "float16")
            sk = T.alloc_shared((bn, width), "float16")
            sv = T.alloc_shared((bn, width), "float16")
            s = T.alloc_fragment((bm, bn), "float32")
            p = T.alloc_fragment((bm, bn), "float16")
            z = T.alloc_fragment((bm, width), "float32")
            most, before = T.alloc_fragment((bm,), "float32"), T.alloc_fragment((bm,), "float32")
            total, now = T.alloc_fragment((bm,), "float32"), T.alloc_fragment((bm,), "float32")
            T.copy(q[by, bx * bm : (bx + 1) * bm, :], sq)
            T.fill(z, 0)
            T.fill(total, 0)
            T.fill(most, -T.infinity("float32"))
            for t in T.Pipelined(T.ceildiv(length, bn), num_stages=1):
                T.copy(k[by, t * bn : (t + 1) * bn, :], sk)
                T.clear(s)
                T.gemm(sq, sk, s, transpose_B=True)
                T.copy(most, before)
                T.reduce_max(s, most, dim=1, clear=False)
                for i, j in T.Parallel(bm, bn):
                    s[i, j] = T.exp2(s[i, j] * scale - most[i] * scale)
                T.reduce_sum(s, now, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * T.exp2(before[i] * scale - most[i] * scale) + now[i]
                for i, j in T.Parallel(bm, width):
                    z[i, j] *= T.exp2(before[i] * scale - most[i] * scale)
                T.copy(s, p)
                T.copy(v[by, t * bn : (t + 1) * bn, :], sv)
                T.gemm(p, sv, z)
            for i, j in T.Parallel(bm, width):
                z[i, j] /= total[i]
            T.copy(z, o[by, bx * bm : (bx + 1) * bm, :])

    return main


@case
def attention():
    q, k, v = (normal(2, 128, 64, dtype=torch.float16, seed=s) for s in range(3))
    want = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())
    return attention_kernel(2, 128, 64)(q.cuda(), k.cuda(), v.cuda()), want, 5e-3


def main():
    names = sys.argv[1:] or list(CASES)
    wrong = 0
    for name in names:
        begin = time.time()
        try:
            got, want, error = CASES[name]()
            far = ((got.cpu().float() - want).abs() / (1 + want.abs())).max().item()
            said = "right" if far <= error else f"WRONG by {far:.1e}"
        except Exception as failure:  # noqa: BLE001, whatever it is, it is this one's
            last = (str(failure).strip() or repr(failure)).splitlines()[-1]
            said = f"FAILED {type(failure).__name__}: {last[:200]}"
        wrong += said != "right"
        print(f"{name}: {said}, {time.time() - begin:.1f} s", flush=True)
    print(f"tilelang {tilelang.__version__}, PyTorch {torch.__version__}: {len(names) - wrong} of {len(names)} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
