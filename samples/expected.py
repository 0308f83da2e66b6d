"""Inputs and expected results of the samples, computed with numpy and independently of any PTX engine.

Run by `samples/regenerate`; needs numpy only. Where the arithmetic of the kernel is exact (integers, floats whose
sums stay below 2^24, single operations) the result is compared bit for bit; elsewhere the launch file states
the tolerance.
"""
import hashlib
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1


def mix(seed, n):
    """The generator behind `random:SEED` of the launch file: element i is splitmix64 of seed and i."""
    i = np.arange(1, n + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64((seed * 0x9E3779B97F4A7C15) & MASK) + i * np.uint64(0xD1342543DE82EF95)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def unit(seed, n):
    """`random:SEED` for f64: uniform in [0, 1)."""
    return (mix(seed, n) >> np.uint64(11)).astype(np.float64) * (1.0 / (1 << 53))


def whole(seed, n, lo, hi):
    """`random:SEED:LO:HI`: whole numbers, both ends included."""
    return (mix(seed, n) % np.uint64(hi - lo + 1)).astype(np.int64) + lo


def save(path, array, dtype):
    np.save(os.path.join(HERE, path), np.ascontiguousarray(array.astype(dtype)))


def vecadd():
    a = np.arange(1000, dtype=np.float32)
    b = unit(1, 1000).astype(np.float32)
    save("vecadd/c.npy", a + b, np.float32)


def saxpy():
    # The fused multiply-add rounds once; so does this: 2.5 * i + y is exact in double precision.
    x = np.arange(1000, dtype=np.float64)
    y = unit(2, 1000).astype(np.float32).astype(np.float64)
    save("saxpy/y.npy", 2.5 * x + y, np.float32)


def matmul(folder):
    a = whole(3, 48 * 64, -8, 8).reshape(48, 64)
    b = whole(4, 64 * 32, -8, 8).reshape(64, 32)
    save(f"{folder}/c.npy", a @ b, np.float32)


def transpose():
    save("transpose/out.npy", unit(5, 70 * 100).reshape(70, 100).T, np.float64)


def histogram():
    save("histogram/bins.npy", np.bincount(whole(6, 10000, 0, 255), minlength=256), np.uint32)


def scan():
    save("scan/out.npy", np.cumsum(whole(7, 5000, 0, 1000)), np.uint32)


def mandelbrot():
    f = np.float32
    y, x = np.mgrid[0:48, 0:64].astype(f)
    cr, ci = x * f(0.046875) - f(2.25), y * f(0.0625) - f(1.5)
    zr, zi = np.zeros_like(cr), np.zeros_like(cr)
    n = np.zeros(cr.shape, np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(200):
            live = zr * zr + zi * zi <= f(4.0)
            n += live
            t = zr * zr - zi * zi + cr
            zi = np.where(live, f(2.0) * zr * zi + ci, zi)
            zr = np.where(live, t, zr)
    save("mandelbrot/out.npy", n, np.uint16)


def nbody():
    pos = np.column_stack([unit(8, 256 * 3).reshape(256, 3) * 2 - 1, unit(9, 256)]).astype(np.float32)
    save("nbody/pos.npy", pos, np.float32)
    p = pos.astype(np.float64)
    d = p[None, :, :3] - p[:, None, :3]
    r = 1.0 / np.sqrt((d * d).sum(2) + 0.01)
    velocity = (d * (p[None, :, 3] * r**3)[:, :, None]).sum(1) * 0.01
    moved = np.column_stack([p[:, :3] + velocity * 0.01, p[:, 3]])
    save("nbody/vel.npy", np.column_stack([velocity, np.zeros(256)]), np.float32)
    save("nbody/out.npy", moved, np.float32)


def spmv():
    rows, columns = 200, 150
    lengths = whole(10, rows, 0, 9)
    start = np.concatenate([[0], np.cumsum(lengths)])
    column = whole(11, start[-1], 0, columns - 1)
    value = whole(12, start[-1], -50, 50)
    x = whole(13, columns, -50, 50)
    y = [int((value[a:b] * x[column[a:b]]).sum()) for a, b in zip(start, start[1:])]
    save("spmv/start.npy", start, np.int32)
    save("spmv/column.npy", column, np.int32)
    save("spmv/value.npy", value, np.float64)
    save("spmv/y.npy", np.array(y), np.float64)


def function_pointers():
    a, b, op = whole(14, 300, -1000, 1000), whole(15, 300, -10, 10), whole(16, 300, 0, 255) % 4
    quotient = np.where(b == 0, -1, np.trunc(a / np.where(b == 0, 1, b)))
    save("function_pointers/out.npy", np.choose(op, [a + b, a - b, a * b, quotient]), np.int32)


def recursion():
    # Ackermann's function for m = 0, 1, 2 in closed form.
    t = np.arange(64) % 32
    m, n = t % 3, t // 3
    save("recursion/ackermann.npy", np.choose(m, [n + 1, n + 2, 2 * n + 3]), np.int32)
    save("recursion/sorted.npy", np.sort(whole(17, 64 * 16, -500, 500).reshape(64, 16), axis=1), np.int32)


def reduce():
    save("reduce_shared/total.npy", np.array([whole(18, 9000, -1000, 1000).sum()]), np.int32)
    save("reduce_shfl/total.npy", np.array([whole(19, 10000, 0, 100).sum()]), np.float32)


def texture():
    # Whole texels and weights of one half, so that the mean of four is exact in the filter's fixed-point arithmetic.
    width, height = 20, 12
    image = whole(20, width * height, 0, 64).reshape(height, width)
    right, below = np.minimum(np.arange(width) + 1, width - 1), np.minimum(np.arange(height) + 1, height - 1)
    mean = (image + image[:, right] + image[below] + image[below][:, right]) / 4
    save("texture/blur.npy", mean, np.float32)
    pattern = whole(21, 8 * 8 * 4, 0, 255).reshape(8, 8, 4)
    y, x = np.mgrid[0:16, 0:24]
    save("texture/tile.npy", pattern[y % 8, (x - 9) % 8].astype(np.float32) / np.float32(255), np.float32)
    table = np.arange(500) * 3 - 700
    save("texture/table.npy", table, np.int32)
    index = whole(22, 100, 0, 499)
    save("texture/gather.npy", table[index], np.int32)


def printf():
    x = [0.5, -1.25, 3.0, 1024.125, 0.0, 7.75, -0.03125, 100.0]
    text = ""
    for block in range(2):
        for thread in range(4):
            i = block * 4 + thread
            parity = "odd" if i % 2 else "even"
            text += "block %d thread %u: x = %6.2f, 0x%04x, %s\n" % (block, thread, x[i], i * 4099, parity)
        i = block * 4 + 2
        text += "%c %d %5d|%-5d|%% %e\n" % (65 + block, -(1 << 40), i, i, 1.0 / (i + 1))
    open(os.path.join(HERE, "printf/hello.txt"), "w").write(text)


def printf_cl():
    x = [0.5, -1.25, 3.0, 1024.125]
    first = ["%d: %8.3f [%g,%g,%g,%g] %#x row\n" % (i, v, v, 2 * v, -v, 0.5, (i + 1) * 4095) for i, v in enumerate(x)]
    second = ["%d: %d,%d %5d%%\n" % (i, i, -i, 10000000000 * i) for i in range(4)]
    with open(os.path.join(HERE, "printf_cl/table.txt"), "w") as out:
        out.writelines(first + second)


def image_scale():
    # Every weight is a multiple of 1/4, so all sums are exact.
    texels = whole(71, 128, -100, 100).reshape(8, 16).astype(np.float64)

    def axis(n):
        at = np.arange(2 * n) / 2 - 0.25
        low = np.floor(at).astype(int)
        return np.clip(low, 0, n - 1), np.clip(low + 1, 0, n - 1), at - low

    (y0, y1, b), (x0, x1, a) = axis(8), axis(16)
    rows = texels[y0] * (1 - b)[:, None] + texels[y1] * b[:, None]
    save("image_scale/out.npy", rows[:, x0] * (1 - a) + rows[:, x1] * a, np.float32)


def legacy_sm13():
    v = whole(23, 1000, 0, 1 << 20)
    padded = np.concatenate([v, np.zeros(24, np.int64)])
    save("legacy_sm13/sums.npy", padded.reshape(8, 128).sum(1), np.uint32)
    save("legacy_sm13/odd.npy", np.array([(padded.reshape(32, 32) % 2).any(1).sum()]), np.uint32)
    product = (np.float32(1.25) * whole(24, 1000, -9999, 9999).astype(np.float32)).astype(np.float32)
    save("legacy_sm13/y.npy", product + unit(25, 1000).astype(np.float32), np.float32)


def triad():
    a = whole(30, 4096, -1000, 1000) + 2.5 * whole(31, 4096, -1000, 1000)
    save("triad/a.npy", a, np.float32)


def gather():
    save("gather/out.npy", whole(32, 1000, -100000, 100000)[whole(33, 3000, 0, 999)], np.int32)


def matmul_blocked():
    a = whole(34, 64 * 48, -8, 8).reshape(64, 48)
    save("matmul_blocked/c.npy", a @ whole(35, 48 * 64, -8, 8).reshape(48, 64), np.float32)


def tma_gemm():
    a = whole(61, 128 * 256, -8, 8).reshape(128, 256)
    b = whole(62, 128 * 256, -8, 8).reshape(128, 256)
    save("tma_gemm/c.npy", a @ b.T, np.float32)


def bitonic():
    save("bitonic/sorted.npy", np.sort(whole(36, 1024, -5000, 5000).reshape(4, 256), axis=1), np.int32)


def black_scholes():
    s, x, t = (whole(*a).astype(np.float64) for a in [(37, 1000, 5, 30), (38, 1000, 1, 100), (39, 1000, 1, 10)])
    rate, volatility = 0.02, 0.3

    def cnd(d):
        k = 1 / (1 + 0.2316419 * abs(d))
        poly = np.polyval([1.33027443, -1.82125598, 1.78147794, -0.35656378, 0.31938153, 0], k)
        tail = 0.39894228 * np.exp(-0.5 * d * d) * poly
        return np.where(d > 0, 1 - tail, tail)

    d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / (volatility * np.sqrt(t))
    d2 = d1 - volatility * np.sqrt(t)
    discounted = x * np.exp(-rate * t)
    save("black_scholes/call.npy", s * cnd(d1) - discounted * cnd(d2), np.float32)
    save("black_scholes/put.npy", discounted * (1 - cnd(d2)) - s * (1 - cnd(d1)), np.float32)


def stencil():
    v = whole(40, 4000, 0, 1000).reshape(50, 80).astype(np.float64)
    out = v.copy()
    out[1:-1, 1:-1] = v[1:-1, 1:-1] / 2 + (v[1:-1, :-2] + v[1:-1, 2:] + v[:-2, 1:-1] + v[2:, 1:-1]) / 8
    save("stencil/out.npy", out, np.float32)


def convolution():
    v = np.pad(whole(41, 2400, 0, 255).reshape(40, 60), 2)
    row = np.array([1, 4, 6, 4, 1])
    out = sum(row[j] * row[i] * v[j : j + 40, i : i + 60] for j in range(5) for i in range(5))
    save("convolution/out.npy", out / 256, np.float32)


def fft():
    v = whole(42, 2048, -8, 8).reshape(4, 256, 2)
    spectrum = np.fft.fft(v[:, :, 0] + 1j * v[:, :, 1], axis=1)
    save("fft/out.npy", np.stack([spectrum.real, spectrum.imag], axis=2), np.float32)
    root = np.exp(-2j * np.pi * np.arange(128) / 256)
    save("fft/roots.npy", np.stack([root.real, root.imag], axis=1), np.float32)


def sha256():
    messages = mix(43, 2048).astype(np.uint32).reshape(256, 8)
    digests = b"".join(hashlib.sha256(m.tobytes()).digest() for m in messages)
    save("sha256/digests.npy", np.frombuffer(digests, np.uint32), np.uint32)


def polynomial():
    y, c = np.zeros(1000), 1.0
    coefficients = []
    for k in range(16):
        c = c / k if k else 1.0
        coefficients.append(c)
    for c in reversed(coefficients):
        y = y * unit(44, 1000) + c
    save("polynomial/y.npy", y, np.float64)


def bfs():
    nodes = 500
    degrees = whole(45, nodes, 0, 4)
    start = np.concatenate([[0], np.cumsum(degrees)])
    edges = whole(46, start[-1], 0, nodes - 1)
    level = np.full(nodes, -1)
    level[whole(47, 3, 0, nodes - 1)] = 0
    save("bfs/start.npy", start, np.int32)
    save("bfs/edges.npy", edges, np.int32)
    save("bfs/first.npy", level, np.int32)
    for depth in range(8):
        for node in np.flatnonzero(level == depth):
            for neighbour in edges[start[node] : start[node + 1]]:
                if level[neighbour] < 0:
                    level[neighbour] = depth + 1
    save("bfs/level.npy", level, np.int32)


vecadd()
saxpy()
matmul("matmul_naive")
matmul("matmul_tiled")
transpose()
histogram()
scan()
mandelbrot()
nbody()
spmv()
function_pointers()
recursion()
reduce()
texture()
printf()
legacy_sm13()
triad()
gather()
matmul_blocked()
tma_gemm()
bitonic()
black_scholes()
stencil()
convolution()
fft()
sha256()
polynomial()
bfs()
printf_cl()
image_scale()
