"""tinygrad's CUDA device against its CPU device: ops, dtypes, reductions, convolutions, matrix products, training.

    DEV=CUDA ptxrun exec -- python3 tinygrad_ops.py             NVRTC's PTX through libcuda.so.1
    DEV=CUDA:PTX ptxrun exec -- python3 tinygrad_ops.py         the PTX of tinygrad's own writer
    DEV="CPU;MOCK+CUDA:PTX" ptxrun exec -- python3 tinygrad_ops.py   the same through ptx_run

NVRTC_PATH and CUDA_PATH as docs/clients.md says. An argument chooses the cases whose names contain it. The exit status is
1 if a case differs.
"""
import operator
import os
import sys
import time

if "MOCK+CUDA" in os.environ.get("DEV", ""):
    import tinygrad_mock

    tinygrad_mock.install()
os.environ.setdefault("CACHELEVEL", "0")

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn
from tinygrad.device import Compiler

TARGET, REFERENCE = "CUDA", "CPU"
CASES = {}
# Half precision rounds after other operations on the two devices; approximate functions differ in the last bits.
TOLERANCE = {dtypes.float16: 4e-3, dtypes.bfloat16: 3e-2, dtypes.float32: 3e-5, dtypes.float64: 1e-9}
FLOATS = [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64]
SIGNED = [dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64]
UNSIGNED = [dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64]
INTS = SIGNED + UNSIGNED


def label(dtype):
    return str(dtype).removeprefix("dtypes.")


def case(name, function, tolerance=None):
    assert name not in CASES, name
    CASES[name] = function, tolerance


def data(shape, dtype=dtypes.float32, low=-2.0, high=2.0, seed=0):
    rng = np.random.default_rng(seed + sum(shape) * 7)
    if dtype == dtypes.bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtypes.is_int(dtype):
        bottom = max(int(dtype.min), -100) if low < 0 else int(low)
        return rng.integers(bottom, min(int(dtype.max), 100), shape)
    return rng.uniform(low, high, shape)


def tensor(device, shape, dtype=dtypes.float32, **limits):
    values = data(shape, dtype, **limits)
    kind = np.bool_ if dtype == dtypes.bool else np.int64 if dtypes.is_int(dtype) else np.float64
    # Cast on the reference device: both devices start from the same bits.
    if dtype == dtypes.bfloat16:
        # The reference's compiler may lack this type: it computes in float32 from the same, rounded numbers.
        bits = values.astype(np.float32).view(np.uint32)
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
        start = Tensor(rounded, device=device)
        return (start if device == REFERENCE else start.cast(dtype)).realize()
    return Tensor(values.astype(kind), device=REFERENCE).cast(dtype).realize().to(device).realize()


def other(device, dtype):
    """`dtype`, or what the reference takes for it."""
    return dtypes.float32 if dtype == dtypes.bfloat16 and device == REFERENCE else dtype


UNARY = {
    "exp": {}, "exp2": {}, "log": {"low": 0.1}, "log2": {"low": 0.1}, "sin": {}, "cos": {}, "tan": {"low": -1.0, "high": 1.0},
    "sqrt": {"low": 0.01}, "rsqrt": {"low": 0.1}, "reciprocal": {"low": 0.2}, "neg": {}, "abs": {}, "sign": {}, "trunc": {},
    "floor": {}, "ceil": {}, "round": {}, "relu": {}, "sigmoid": {}, "tanh": {}, "gelu": {}, "silu": {}, "elu": {}, "erf": {},
    "softplus": {}, "mish": {}, "hardswish": {}, "leaky_relu": {}, "softsign": {}, "square": {}, "isnan": {}, "isinf": {},
    "asin": {"low": -0.9, "high": 0.9}, "acos": {"low": -0.9, "high": 0.9}, "atan": {}, "sinh": {}, "cosh": {},
    "atanh": {"low": -0.9, "high": 0.9}, "logsigmoid": {}, "celu": {}, "swish": {}, "quick_gelu": {}, "relu6": {},
}
for name, limits in UNARY.items():
    for dtype in FLOATS:
        if hasattr(Tensor, name):
            case(f"{name} {label(dtype)}", lambda d, n=name, t=dtype, l=limits: getattr(tensor(d, (7, 33), t, **l), n)())
for name in ["neg", "abs", "sign", "relu", "square", "bitwise_not"]:
    for dtype in INTS:
        case(f"{name} {label(dtype)}", lambda d, n=name, t=dtype: getattr(tensor(d, (7, 33), t), n)())
# tinygrad's own PTX writer takes sin.approx, which is no sine of large numbers on any device.
if not os.environ.get("DEV", "").endswith(":PTX"):
    case("sin of large arguments", lambda d: tensor(d, (999,), low=-1e5, high=1e5).sin(), 2e-4)
# The reference is the less exact one here: its sine of large doubles is off by 3e-5, CUDA's by half a unit in the last place.
case("sin float64 of large arguments", lambda d: tensor(d, (999,), dtypes.float64, low=-1e5, high=1e5).sin(), 1e-4)

BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "maximum": Tensor.maximum, "minimum": Tensor.minimum,
          "lt": operator.lt, "gt": operator.gt, "eq": operator.eq, "ne": operator.ne, "le": operator.le, "ge": operator.ge}
for dtype in FLOATS + INTS:
    for name, function in BINARY.items():
        case(f"{name} {label(dtype)}",
             lambda d, f=function, t=dtype: f(tensor(d, (5, 40), t), tensor(d, (5, 40), t, seed=1)))
    case(f"where {label(dtype)}", lambda d, t=dtype: tensor(d, (9, 9), dtypes.bool).where(tensor(d, (9, 9), t), tensor(d, (9, 9), t, seed=2)))
    case(f"add broadcast {label(dtype)}", lambda d, t=dtype: tensor(d, (5, 1, 8), t) + tensor(d, (3, 1), t, seed=1))
for dtype in FLOATS:
    case(f"div {label(dtype)}", lambda d, t=dtype: tensor(d, (5, 40), t) / tensor(d, (5, 40), t, low=0.5, seed=1))
    case(f"pow {label(dtype)}", lambda d, t=dtype: tensor(d, (5, 40), t, low=0.2).pow(tensor(d, (5, 40), t, seed=1)), 3e-2 if dtype == dtypes.bfloat16 else None)
for dtype in INTS:
    case(f"idiv {label(dtype)}", lambda d, t=dtype: tensor(d, (5, 40), t) // tensor(d, (5, 40), t, low=1, seed=1))
    case(f"mod {label(dtype)}", lambda d, t=dtype: tensor(d, (5, 40), t) % tensor(d, (5, 40), t, low=1, seed=1))
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        case(f"{name} {label(dtype)}", lambda d, n=name, t=dtype: getattr(tensor(d, (5, 40), t), n)(tensor(d, (5, 40), t, seed=1)))
for dtype in UNSIGNED:
    case(f"shifts {label(dtype)}", lambda d, t=dtype: (tensor(d, (5, 40), t, low=0) << 3) ^ (tensor(d, (5, 40), t, low=0, seed=1) >> 2))
for a in FLOATS + INTS + [dtypes.bool]:
    for b in FLOATS + INTS + [dtypes.bool]:
        if a != b:
            # Negative numbers to unsigned types are undefined in C, where the reference comes from.
            low = 0 if dtypes.is_unsigned(b) else -2
            high = 100.0 if dtypes.is_float(a) else 2.0
            case(f"cast {label(a)} to {label(b)}", lambda d, a=a, b=b, low=low, high=high: tensor(d, (8, 8), a, low=low, high=high).cast(other(d, b)))
for a, b in [(dtypes.float32, dtypes.int32), (dtypes.float64, dtypes.uint64), (dtypes.float16, dtypes.int16), (dtypes.int8, dtypes.uint8)]:
    case(f"bitcast {label(a)} to {label(b)}", lambda d, a=a, b=b: tensor(d, (8, 8), a).bitcast(b))

for dtype in FLOATS + INTS:
    case(f"sum {label(dtype)}", lambda d, t=dtype: tensor(d, (6, 50), t).sum(1))
    case(f"max {label(dtype)}", lambda d, t=dtype: tensor(d, (6, 50), t).max(0))
    case(f"min {label(dtype)}", lambda d, t=dtype: tensor(d, (6, 50), t).min())
    case(f"argmax {label(dtype)}", lambda d, t=dtype: tensor(d, (6, 50), t).argmax(1))
for dtype in FLOATS:
    for name in ["mean", "std", "var", "softmax", "log_softmax", "logsumexp"]:
        case(f"{name} {label(dtype)}", lambda d, n=name, t=dtype: getattr(tensor(d, (6, 50), t), n)(1))
case("sum of all", lambda d: tensor(d, (64, 1000)).sum(), 1e-3)
case("sum of a large array", lambda d: tensor(d, (1 << 18,)).abs().sum())
case("prod", lambda d: tensor(d, (6, 12), low=0.5).prod(1))
case("any and all", lambda d: tensor(d, (6, 12), dtypes.bool).any(1) & tensor(d, (6, 12), dtypes.bool, seed=1).all(1).logical_not())
case("cumsum", lambda d: tensor(d, (6, 600)).cumsum(1), 2e-4)
case("cumsum int64", lambda d: tensor(d, (6, 600), dtypes.int64).cumsum(1))
case("cummax", lambda d: tensor(d, (6, 60)).cummax(1)[0])
case("sort", lambda d: tensor(d, (6, 50)).sort(1)[0])
case("topk", lambda d: tensor(d, (6, 50)).topk(5)[0])
case("argsort", lambda d: tensor(d, (6, 50)).argsort(1))

case("permute", lambda d: tensor(d, (3, 4, 5)).permute(2, 0, 1) + 1)
case("pad", lambda d: tensor(d, (3, 4)).pad(((1, 2), (0, 3))) * 2)
case("shrink and flip", lambda d: tensor(d, (9, 8))[2:7, ::-1] + 0.5)
case("strided slice", lambda d: tensor(d, (19, 8))[::3, 1::2] * 3)
case("cat", lambda d: tensor(d, (3, 4)).cat(tensor(d, (2, 4), seed=1), dim=0) + 1)
case("stack", lambda d: tensor(d, (3, 4)).stack(tensor(d, (3, 4), seed=1), dim=1) + 1)
case("expand", lambda d: tensor(d, (3, 1)).expand(3, 7) + 1)
case("gather", lambda d: tensor(d, (6, 9)).gather(1, Tensor(data((6, 4), dtypes.int32, low=0) % 9, device=d).cast(dtypes.int32)))
case("fancy index", lambda d: tensor(d, (20, 9))[Tensor([3, 1, 19, 0], device=d)])
case("scatter", lambda d: Tensor.zeros(6, 9, device=d).contiguous().scatter(1, Tensor(np.arange(24).reshape(6, 4) % 9, device=d), tensor(d, (6, 4))))
case("one hot", lambda d: Tensor([1, 4, 2], device=d).one_hot(6))
case("triu", lambda d: tensor(d, (7, 7)).triu() + tensor(d, (7, 7), seed=1).tril())
case("roll", lambda d: tensor(d, (7, 7)).roll(2, 1) + 1)
case("repeat", lambda d: tensor(d, (3, 4)).repeat(2, 3) + 1)
case("arange", lambda d: Tensor.arange(0, 50, 3).to(d) * 2)
case("linspace", lambda d: Tensor.linspace(0, 1, 33).to(d) + 1)
case("eye", lambda d: Tensor.eye(9).to(d) * 3)
case("interpolate", lambda d: tensor(d, (1, 2, 6, 6)).interpolate((11, 9), mode="linear"))
case("masked fill", lambda d: tensor(d, (7, 7)).masked_fill(tensor(d, (7, 7), dtypes.bool), -1.0))
case("einsum", lambda d: Tensor.einsum("bij,bjk->bik", tensor(d, (2, 5, 6)), tensor(d, (2, 6, 7), seed=1)))


def random(d):
    Tensor.manual_seed(7)
    return Tensor.rand(33, 9, device=d)


case("random numbers", random)

SIZES = [(1, 1, 1), (3, 5, 7), (17, 33, 9), (64, 64, 64), (65, 31, 100)]
for dtype in FLOATS + [dtypes.int32]:
    for m, k, n in SIZES:
        case(f"matmul {m}x{k}x{n} {label(dtype)}",
             lambda d, m=m, k=k, n=n, t=dtype: tensor(d, (m, k), t) @ tensor(d, (k, n), t, seed=1),
             {dtypes.float16: 2e-2, dtypes.bfloat16: 1e-1, dtypes.float32: 1e-3}.get(dtype))
for dtype in [dtypes.float16, dtypes.bfloat16]:
    case(f"matmul 64 {label(dtype)} into float32",
         lambda d, t=dtype: tensor(d, (64, 64), t).matmul(tensor(d, (64, 64), t, seed=1), dtype=dtypes.float32), 1e-3)
case("batched matmul", lambda d: tensor(d, (3, 16, 20)) @ tensor(d, (3, 20, 8), seed=1))
case("attention", lambda d: tensor(d, (1, 2, 16, 8)).scaled_dot_product_attention(
    tensor(d, (1, 2, 16, 8), seed=1), tensor(d, (1, 2, 16, 8), seed=2), is_causal=True))

for name, options in {"plain": {}, "stride": {"stride": 2}, "padding": {"padding": 1}, "dilation": {"dilation": 2}}.items():
    for dtype in [dtypes.float32, dtypes.float16]:
        case(f"conv2d {name} {label(dtype)}",
             lambda d, o=options, t=dtype: tensor(d, (2, 4, 9, 9), t).conv2d(tensor(d, (6, 4, 3, 3), t, seed=1), **o),
             1e-3 if dtype == dtypes.float32 else 3e-2)
case("conv2d groups", lambda d: tensor(d, (2, 4, 9, 9)).conv2d(tensor(d, (6, 2, 3, 3), seed=1), tensor(d, (6,), seed=2), groups=2), 1e-3)
case("conv2d winograd size", lambda d: tensor(d, (1, 8, 16, 16)).conv2d(tensor(d, (8, 8, 3, 3), seed=1), padding=1), 1e-3)
case("conv1d", lambda d: tensor(d, (2, 3, 20)).conv2d(tensor(d, (5, 3, 4), seed=1)), 1e-3)
case("conv3d", lambda d: tensor(d, (1, 2, 6, 6, 6)).conv2d(tensor(d, (3, 2, 3, 3, 3), seed=1)), 1e-3)
case("conv transpose", lambda d: tensor(d, (2, 4, 5, 5)).conv_transpose2d(tensor(d, (4, 3, 3, 3), seed=1), stride=2), 1e-3)
case("max pool", lambda d: tensor(d, (2, 3, 10, 10)).max_pool2d(3, stride=2))
case("avg pool", lambda d: tensor(d, (2, 3, 10, 10)).avg_pool2d(2))
case("layer norm", lambda d: tensor(d, (4, 32)).layernorm())
case("batch norm", lambda d: tensor(d, (4, 8, 5)).batchnorm(tensor(d, (8,)), tensor(d, (8,), seed=1), tensor(d, (8,), seed=2), tensor(d, (8,), low=0.5, seed=3)))
case("cross entropy", lambda d: tensor(d, (8, 10)).sparse_categorical_crossentropy(Tensor(np.arange(8) % 10, device=d)))
case("dropout mask applied", lambda d: tensor(d, (8, 10)) * (tensor(d, (8, 10), seed=5) > 0))


def gradients(d):
    x, w = tensor(d, (4, 3, 8, 8)), tensor(d, (5, 3, 3, 3), seed=1)
    x.conv2d(w).relu().square().mean().backward()
    return x.grad.flatten().cat(w.grad.flatten())


case("gradients of a convolution", gradients, 1e-3)


def training(d, optimizer, jit):
    """A few steps of a small network; the result is its weights."""
    weights = [tensor(d, s, low=-0.3, high=0.3, seed=n) for n, s in enumerate([(4, 1, 3, 3), (100, 32), (32, 10)])]
    optim = optimizer(weights)
    images, labels = tensor(d, (16, 1, 12, 12)), Tensor(np.arange(16) % 10, device=d)

    def step():
        x = images.conv2d(weights[0]).relu().max_pool2d(2).flatten(1)
        loss = (x.matmul(weights[1]).tanh().matmul(weights[2])).sparse_categorical_crossentropy(labels)
        optim.zero_grad()
        loss.backward()
        return loss.realize(*optim.schedule_step())

    run = TinyJit(step) if jit else step
    with Context(TRAINING=1):
        losses = [run().item() for _ in range(6)]
    assert losses[-1] < losses[0], losses
    return Tensor.cat(*[w.detach().flatten() for w in weights])


case("training with SGD", lambda d: training(d, lambda w: nn.optim.SGD(w, lr=0.1, momentum=0.9), False), 1e-3)
case("training with Adam", lambda d: training(d, lambda w: nn.optim.Adam(w, lr=0.01), False), 1e-2)
case("training with SGD, compiled", lambda d: training(d, lambda w: nn.optim.SGD(w, lr=0.1), True), 1e-3)


def compare(function, tolerance):
    """An explanation of how the devices differ, or nothing."""
    want, got = function(REFERENCE), function(TARGET)
    if want.dtype != other(REFERENCE, got.dtype) or want.shape != got.shape:
        return f"{got.dtype} {got.shape}, not {want.dtype} {want.shape}"
    limit = tolerance or TOLERANCE.get(got.dtype, 0)
    wide = dtypes.float32 if want.dtype == dtypes.float16 else want.dtype
    want = want.cast(wide).numpy()
    got = got.cast(wide).numpy()
    if not dtypes.is_float(wide):
        wrong = want != got
    else:
        with np.errstate(invalid="ignore"):
            wrong = ~((want == got) | (np.isnan(want) & np.isnan(got)) | (np.abs(want - got) <= limit * (1 + np.abs(want))))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} differ, first at {at}: {got[at]}, not {want[at]}"


def main():
    chosen = {n: c for n, c in CASES.items() if all(word in n for word in sys.argv[1:])}
    texts, skipped = {}, []
    original = Compiler.compile_cached

    def compile_cached(self, src):
        out = original(self, src)
        if b".target" in out[:4096]:
            texts[src] = out
        return out

    Compiler.compile_cached = compile_cached
    failures, start = [], time.time()
    for name, (function, tolerance) in chosen.items():
        try:
            why = compare(function, tolerance)
        except Exception as error:
            if "UOp verification failed" in str(error):
                # tinygrad's own check of its intermediate code: nothing reached a device.
                skipped.append(name)
                continue
            why = f"{type(error).__name__}: {error}"
            why = why if len(why) < 600 else why[:300] + " ... " + why[-300:]
        if why is not None:
            failures.append(name)
            print(f"FAIL {name}: {why}", flush=True)
    matrix = sum(b"mma.sync" in text for text in texts.values())
    if skipped:
        print(f"refused by tinygrad itself: {', '.join(skipped)}")
    print(f"{len(chosen) - len(failures) - len(skipped)} of {len(chosen) - len(skipped)} cases agree with the CPU device; "
          f"{len(texts)} kernels, {matrix} of them with tensor-core instructions; {time.time() - start:.1f} s "
          f"(DEV={os.environ.get('DEV')}, {Device[TARGET].renderer.__class__.__name__})")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
