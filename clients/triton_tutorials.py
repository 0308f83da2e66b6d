"""The subjects of Triton's ten tutorials, with PyTorch's tensors; results are compared with PyTorch's on the CPU.

    ptxrun exec --device h200 -- python clients/triton_tutorials.py [NAME...]    # --write FILE, --beside FILE: as in
                                                                                # triton_language.py

Exits with 1 where one is wrong or does not run.
"""

import hashlib
import json
import sys
import time

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def normal(*size, dtype=torch.float32, seed=0):
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed)).to(dtype)


@triton.jit
def add_kernel(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@case
def vector_add():
    x, y = normal(98432), normal(98432, seed=1)
    a, b = x.cuda(), y.cuda()
    out = torch.empty_like(a)
    add_kernel[lambda meta: (triton.cdiv(98432, meta["B"]),)](a, b, out, 98432, B=1024)
    return [(out, x + y, 0)]


@triton.jit
def softmax_kernel(o, x, so, sx, rows, columns, B: tl.constexpr, STAGES: tl.constexpr):
    c = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        v = tl.load(x + row * sx + c, mask=c < columns, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(o + row * so + c, e / tl.sum(e, axis=0), mask=c < columns)


@case
def fused_softmax():
    x = normal(183, 781)
    a = x.cuda()
    out = torch.empty_like(a)
    arguments = (out, a, out.stride(0), a.stride(0), 183, 781)
    ready = softmax_kernel.warmup(*arguments, B=1024, STAGES=4, num_warps=8, grid=(1,))
    ready._init_handles()
    # As many blocks as are resident at once, by the registers and shared memory that the assembler has told.
    assert ready.n_regs > 0 and ready.metadata.shared >= 0
    softmax_kernel[(32,)](*arguments, B=1024, STAGES=4, num_warps=8)
    return [(out, x.softmax(1), 1e-5)]


CONFIGS = [
    triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 4}, num_stages=s, num_warps=w)
    for m, n, k, s, w in [(64, 64, 32, 3, 4), (128, 64, 32, 4, 4), (64, 128, 64, 3, 8)]
]


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, LEAKY: tl.constexpr
):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    pm = first + pid % (GROUP * columns) % height
    pn = pid % (GROUP * columns) // height
    m = (pm * BM + tl.arange(0, BM)) % M
    n = (pn * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    z = tl.zeros((BM, BN), tl.float32)
    for s in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=k[None, :] < K - s * BK, other=0.0)
        y = tl.load(pb, mask=k[:, None] < K - s * BK, other=0.0)
        z = tl.dot(x, y, z)
        pa += BK
        pb += BK * N
    if LEAKY:
        z = tl.where(z >= 0, z, 0.01 * z)
    m, n = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c + m[:, None] * N + n[None, :], z.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@case
def matrix_multiplication():
    results = []
    for kind in (torch.float16, torch.float8_e5m2):
        M, N, K = 200, 144, 136
        x, y = normal(M, K, dtype=torch.float16).to(kind), normal(K, N, dtype=torch.float16, seed=1).to(kind)
        for leaky in (False, True):
            out = torch.empty(M, N, device="cuda", dtype=torch.float16)
            grid = lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)  # noqa: E731
            matmul_kernel[grid](x.cuda(), y.cuda(), out, M, N, K, LEAKY=leaky)
            want = x.float() @ y.float()
            results.append((out, torch.where(want >= 0, want, 0.01 * want) if leaky else want, 1e-2))
    return results


@triton.jit
def dropout_kernel(x, o, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, i) > p
    tl.store(o + i, tl.where(keep, tl.load(x + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


@case
def dropout():
    x = torch.ones(5000)
    outs = []
    for seed in (123, 123, 512):
        out = torch.empty(5000, device="cuda")
        dropout_kernel[(5,)](x.cuda(), out, 5000, 0.5, seed, B=1024)
        outs.append(out)
    kept = (outs[0] != 0).float().mean().cpu()
    assert 0.45 < kept < 0.55 and not torch.equal(outs[0], outs[2])
    return [(outs[0], outs[1].cpu(), 0), (outs[2], outs[2].cpu(), 0)]


@triton.jit
def norm_forward(x, o, w, b, mean, rstd, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([B], tl.float32)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        total += tl.load(x + row * n + c, mask=c < n, other=0.0)
    mu = tl.sum(total, axis=0) / n
    total = tl.zeros([B], tl.float32)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        v = tl.where(c < n, tl.load(x + row * n + c, mask=c < n, other=0.0) - mu, 0.0)
        total += v * v
    r = 1 / tl.sqrt(tl.sum(total, axis=0) / n + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, r)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        v = (tl.load(x + row * n + c, mask=c < n) - mu) * r
        tl.store(o + row * n + c, v * tl.load(w + c, mask=c < n) + tl.load(b + c, mask=c < n), mask=c < n)


@triton.jit
def norm_backward(dx, do, dw, db, x, w, mean, rstd, locks, n, GROUPS: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    mask = c < n
    v = (tl.load(x + row * n + c, mask=mask, other=0.0) - tl.load(mean + row)) * tl.load(rstd + row)
    g = tl.load(do + row * n + c, mask=mask, other=0.0)
    wg = tl.load(w + c, mask=mask, other=0.0) * g
    c1, c2 = tl.sum(v * wg, axis=0) / n, tl.sum(wg, axis=0) / n
    tl.store(dx + row * n + c, (wg - (v * c1 + c2)) * tl.load(rstd + row), mask=mask)
    group = row % GROUPS
    lock, count = locks + group, locks + GROUPS + group
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    part_w, part_b = g * v, g
    first = tl.load(count) == 0
    # Without it one warp may count before another one has looked: the tutorial leaves that to luck.
    tl.debug_barrier()
    if first:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw + group * n + c, mask=mask)
        part_b += tl.load(db + group * n + c, mask=mask)
    tl.store(dw + group * n + c, part_w, mask=mask)
    tl.store(db + group * n + c, part_b, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case
def layer_norm():
    rows, n, groups = 151, 300, 16
    x, w, b, do = normal(rows, n), normal(n, seed=1), normal(n, seed=2), normal(rows, n, seed=3) * 0.1
    a, aw, ab, ado = x.cuda(), w.cuda(), b.cuda(), do.cuda()
    out, dx = torch.empty_like(a), torch.empty_like(a)
    mean, rstd = torch.empty(rows, device="cuda"), torch.empty(rows, device="cuda")
    dw, db = torch.empty(groups, n, device="cuda"), torch.empty(groups, n, device="cuda")
    locks = torch.zeros(2 * groups, dtype=torch.int32, device="cuda")
    norm_forward[(rows,)](a, out, aw, ab, mean, rstd, n, 1e-5, B=128)
    norm_backward[(rows,)](dx, ado, dw, db, a, aw, mean, rstd, locks, n, GROUPS=groups, B=512)
    leaves = [t.clone().requires_grad_() for t in (x, w, b)]
    want = torch.nn.functional.layer_norm(leaves[0], (n,), leaves[1], leaves[2])
    want.backward(do)
    sums = (dw.sum(0), leaves[1].grad, 1e-4), (db.sum(0), leaves[2].grad, 1e-4)
    return [(out, want.detach(), 1e-5), (dx, leaves[0].grad, 1e-4), *sums]


@triton.jit
def attention_forward(
    Q, K, V, O, L, scale, T, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr
):
    start, head = tl.program_id(0) * BM, tl.program_id(1) * T * D
    m, d = start + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(Q + head + m[:, None] * D + d[None, :])
    most, total = tl.full([BM], -float("inf"), tl.float32), tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for s in range(0, start + BM if CAUSAL else T, BN):
        n = s + tl.arange(0, BN)
        k = tl.load(K + head + n[None, :] * D + d[:, None])
        z = tl.dot(q, k) * scale * 1.44269504
        if CAUSAL:
            z = tl.where(m[:, None] >= n[None, :], z, -1e6)
        new = tl.maximum(most, tl.max(z, 1))
        p = tl.math.exp2(z - new[:, None])
        old = tl.math.exp2(most - new)
        total = total * old + tl.sum(p, 1)
        v = tl.load(V + head + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * old[:, None])
        most = new
    tl.store(L + tl.program_id(1) * T + m, most + tl.math.log2(total))
    tl.store(O + head + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def attention_backward(
    Q,
    K,
    V,
    DO,
    L,
    Delta,
    DQ,
    DK,
    DV,
    scale,
    T,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    start, head, line = tl.program_id(0) * BN, tl.program_id(1) * T * D, tl.program_id(1) * T
    n, d = start + tl.arange(0, BN), tl.arange(0, D)
    k, v = tl.load(K + head + n[:, None] * D + d[None, :]), tl.load(V + head + n[:, None] * D + d[None, :])
    dk, dv = tl.zeros([BN, D], tl.float32), tl.zeros([BN, D], tl.float32)
    for s in range(start if CAUSAL else 0, T, BM):
        m = s + tl.arange(0, BM)
        at = head + m[:, None] * D + d[None, :]
        q, do = tl.load(Q + at), tl.load(DO + at)
        z = tl.dot(q, tl.trans(k)) * scale * 1.44269504
        p = tl.math.exp2(z - tl.load(L + line + m)[:, None])
        if CAUSAL:
            p = tl.where(m[:, None] >= n[None, :], p, 0.0)
        dv += tl.dot(tl.trans(p.to(tl.float16)), do)
        ds = (p * (tl.dot(do, tl.trans(v)) - tl.load(Delta + line + m)[:, None]) * scale).to(tl.float16)
        dk += tl.dot(tl.trans(ds), q)
        tl.atomic_add(DQ + at, tl.dot(ds, k), sem="relaxed")
    tl.store(DK + head + n[:, None] * D + d[None, :], dk)
    tl.store(DV + head + n[:, None] * D + d[None, :], dv)


@case
def fused_attention():
    results = []
    for causal in (False, True):
        heads, T, D = 3, 256, 64
        q, k, v, do = (normal(heads, T, D, dtype=torch.float16, seed=s) for s in range(4))
        a = [t.cuda() for t in (q, k, v, do)]
        out = torch.empty_like(a[0])
        L = torch.empty(heads, T, device="cuda")
        attention_forward[(T // 64, heads)](*a[:3], out, L, 0.125, T, BM=64, BN=32, D=D, CAUSAL=causal, num_stages=2)
        delta = (out.float() * a[3].float()).sum(-1)
        dq, dk, dv = (torch.zeros(heads, T, D, device="cuda") for _ in range(3))
        attention_backward[(T // 64, heads)](
            *a, L, delta, dq, dk, dv, 0.125, T, BM=32, BN=64, D=D, CAUSAL=causal, num_stages=2
        )
        leaves = [t.double().requires_grad_() for t in (q, k, v)]
        z = leaves[0] @ leaves[1].transpose(1, 2) * 0.125
        if causal:
            z = z.masked_fill(~torch.ones(T, T).tril().bool(), -float("inf"))
        want = z.softmax(-1) @ leaves[2]
        want.backward(do.double())
        results.append((out, want.detach(), 1e-2))
        results += [(got, leaf.grad, 2e-2) for got, leaf in zip((dq, dk, dv), leaves)]
    return results


@triton.jit
def asin_kernel(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, libdevice.asin(tl.load(x + i, mask=i < n)), mask=i < n)


@case
def extern_functions():
    x = torch.rand(9843, generator=torch.Generator().manual_seed(0))
    a = x.cuda()
    out = torch.empty_like(a)
    asin_kernel[(10,)](a, out, 9843, B=1024)
    return [(out, x.asin(), 1e-6)]


@triton.jit
def grouped_kernel(
    As, Bs, Cs, sizes, groups, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    tile, last = tl.program_id(0), 0
    for g in range(groups):
        M, N, K = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        columns = tl.cdiv(N, BN)
        count = tl.cdiv(M, BM) * columns
        a = tl.load(As + g).to(tl.pointer_type(tl.float16))
        b = tl.load(Bs + g).to(tl.pointer_type(tl.float16))
        c = tl.load(Cs + g).to(tl.pointer_type(tl.float16))
        while tile >= last and tile < last + count:
            m = (tile - last) // columns * BM + tl.arange(0, BM)
            n = (tile - last) % columns * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            z = tl.zeros((BM, BN), tl.float32)
            for s in range(0, K, BK):
                z += tl.dot(
                    tl.load(a + m[:, None] * K + s + k[None, :]), tl.load(b + (s + k)[:, None] * N + n[None, :])
                )
            tl.store(c + m[:, None] * N + n[None, :], z.to(tl.float16))
            tile += PROGRAMS
        last += count


@case
def grouped_gemm():
    shapes = [(128, 64, 64), (64, 192, 128), (192, 128, 32)]
    x = [normal(m, k, dtype=torch.float16, seed=i) for i, (m, n, k) in enumerate(shapes)]
    y = [normal(k, n, dtype=torch.float16, seed=9 + i) for i, (m, n, k) in enumerate(shapes)]
    a, b = [t.cuda() for t in x], [t.cuda() for t in y]
    c = [torch.empty(m, n, dtype=torch.float16, device="cuda") for m, n, _ in shapes]
    addresses = lambda ts: torch.tensor([t.data_ptr() for t in ts], device="cuda")  # noqa: E731
    sizes = torch.tensor(shapes, dtype=torch.int32, device="cuda")
    grouped_kernel[(5,)](addresses(a), addresses(b), addresses(c), sizes, 3, PROGRAMS=5, BM=64, BN=64, BK=32)
    return [(got, p.float() @ q.float(), 1e-2) for got, p, q in zip(c, x, y)]


@triton.jit
def persistent_kernel(a, b, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, PROGRAMS, flatten=True):
        m, n = tile // columns * BM, tile % columns * BN
        z = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            z = tl.dot(da.load([m, k * BK]), db.load([n, k * BK]).T, z)
        dc.store([m, n], z.to(tl.float16))


@case
def persistent_matmul():
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    results = []
    for kind in (torch.float16, torch.float8_e4m3fn):
        M, N, K = 320, 256, 192
        x, y = normal(M, K, dtype=kind), normal(N, K, dtype=kind, seed=1)
        out = torch.empty(M, N, device="cuda", dtype=torch.float16)
        persistent_kernel[(4,)](x.cuda(), y.cuda(), out, M, N, K, PROGRAMS=4, BM=128, BN=64, BK=64, num_stages=3)
        results.append((out, x.float() @ y.float().t(), 1e-2))
    return results


@triton.jit
def scaled_kernel(
    a, sa, b, sb, o, K: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    z = tl.zeros((BM, BN), tl.float32)
    for s in tl.range(0, K, BK, num_stages=2):
        k, g = s + tl.arange(0, BK), s // 32 + tl.arange(0, BK // 32)
        x, y = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + n[None, :] * K + k[:, None])
        p, q = tl.load(sa + m[:, None] * (K // 32) + g[None, :]), tl.load(sb + n[:, None] * (K // 32) + g[None, :])
        z = tl.dot_scaled(x, p, "e4m3", y, q, "e4m3", z)
    tl.store(o + m[:, None] * N + n[None, :], z)


@case
def block_scaled_matmul():
    M, N, K = 128, 128, 256
    x, y = normal(M, K).to(torch.float8_e4m3fn), normal(N, K, seed=1).to(torch.float8_e4m3fn)
    draw = torch.Generator().manual_seed(5)
    p, q = (torch.randint(124, 131, (n, K // 32), generator=draw).to(torch.uint8) for n in (M, N))
    out = torch.empty(M, N, device="cuda")
    scaled_kernel[(1, 1)](x.cuda(), p.cuda(), y.cuda(), q.cuda(), out, K=K, N=N, BM=128, BN=128, BK=128)
    grow = lambda s: (2.0 ** (s.double() - 127)).repeat_interleave(32, 1)  # noqa: E731
    return [(out, (x.double() * grow(p)) @ (y.double() * grow(q)).t(), 1e-2)]


def differs(got, want, error):
    got, want = got.detach().cpu().double(), want.detach().cpu().double()
    scale = max(1.0, want.abs().max().item() / 10)
    bad = ~torch.isclose(got, want, rtol=error, atol=error * scale)
    return f"{int(bad.sum())} of {bad.numel()} wrong" if bad.any() else None


def main():
    arguments, files = sys.argv[1:], {}
    for option in ("--write", "--beside"):
        if option in arguments:
            at = arguments.index(option)
            files[option] = arguments[at + 1]
            del arguments[at : at + 2]
    hashes, failed = {}, []
    for name, function in CASES.items():
        if arguments and name not in arguments:
            continue
        begin = time.time()
        try:
            pairs = function()
            wrong = next((w for w in (differs(*pair) for pair in pairs) if w), None)
            kept = [got.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() for got, *_ in pairs]
            hashes[name] = "wrong" if wrong else [hashlib.sha256(k).hexdigest()[:16] for k in kept]
        except Exception as error:  # noqa: BLE001, whatever it is, it is this one's
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
            wrong, hashes[name] = f"{type(error).__name__}: {lines[-1]}"[:200], "failed"
        failed += [name] if wrong else []
        print(f"{name}: {wrong or 'right'}, {time.time() - begin:.1f} s", flush=True)
    print(
        f"Triton {triton.__version__}, PyTorch {torch.__version__}: {len(hashes) - len(failed)} of {len(hashes)} right"
    )
    if "--write" in files:
        with open(files["--write"], "w") as file:
            json.dump(hashes, file, indent=0)
    if "--beside" in files:
        with open(files["--beside"]) as file:
            theirs = json.load(file)
        for name, ours in hashes.items():
            same = sum(a == b for a, b in zip(ours, theirs.get(name, [])))
            print(
                f"{name}: {same} of {len(ours)} results have the same bits"
                if isinstance(ours, list)
                else f"{name}: {ours}"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
