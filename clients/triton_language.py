"""What Triton's language has, feature by feature, with PyTorch's tensors: results are compared with NumPy's or
PyTorch's on the CPU.

    ptxrun exec --device h200 -- python clients/triton_language.py [CATEGORY...]      # --write FILE: hashes of results
                                                                                     # --beside FILE: compares them

Exits with 1 where a case is wrong or does not run; with `--beside`, where it was right there.
"""

import hashlib
import importlib.util
import json
import sys
import tempfile
import time
import zlib

import numpy as np
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice  # noqa: F401, kernels name it

CASES = []
N = 256
INTS = ["int8", "int16", "int32", "int64"]
UINTS = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
FP8 = ["float8_e4m3fn", "float8_e5m2"]


def case(category, *names):
    """Adds a case: a function that returns pairs of results and what they must be, and the relative error allowed."""

    def add(function):
        CASES.append((category, " ".join(names) or function.__name__, function))
        return function

    return add


SOURCES = []


def kernel(name, parameters, *lines):
    """A kernel as text: Triton reads sources from files, and these are made from tables."""
    body = "\n".join("    " + line for line in lines)
    SOURCES.append(f"@triton.jit\ndef {name}({parameters}):\n{body}\n")
    return name


def load_kernels():
    head = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n\n"
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(head + "\n\n".join(SOURCES))
    spec = importlib.util.spec_from_file_location("generated_kernels", file.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rng(*key):
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def numbers(dtype, *key, size=N):
    """Values of a type; the same for the same key."""
    r = rng(dtype, *key)
    if dtype in ("bfloat16", *FP8):
        return torch.from_numpy(r.standard_normal(size).astype(np.float32)).to(getattr(torch, dtype))
    if dtype == "bool":
        return torch.from_numpy(r.integers(0, 2, size) != 0)
    if dtype.startswith("float"):
        return torch.from_numpy(r.standard_normal(size).astype(dtype))
    info = np.iinfo(dtype)
    return torch.from_numpy(r.integers(max(info.min, -1000), min(info.max, 1000), size, dtype=dtype))


def dev(tensor):
    return tensor.to("cuda")


def empty(dtype, *size):
    return torch.zeros(*(size or (N,)), dtype=getattr(torch, dtype), device="cuda")


def wide(tensor):
    """As NumPy knows it, without loss."""
    tensor = tensor.detach().cpu()
    return (
        tensor.float().numpy()
        if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
        else tensor.numpy()
    )


# Binary operators -----------------------------------------------------------------------------------------------------

BINARY = {
    "add": ("a + b", lambda a, b: a + b),
    "sub": ("a - b", lambda a, b: a - b),
    "mul": ("a * b", lambda a, b: a * b),
    "min": ("tl.minimum(a, b)", np.minimum),
    "max": ("tl.maximum(a, b)", np.maximum),
    "lt": ("(a < b).to(tl.int8)", lambda a, b: (a < b).astype("int8")),
    "le": ("(a <= b).to(tl.int8)", lambda a, b: (a <= b).astype("int8")),
    "gt": ("(a > b).to(tl.int8)", lambda a, b: (a > b).astype("int8")),
    "ge": ("(a >= b).to(tl.int8)", lambda a, b: (a >= b).astype("int8")),
    "eq": ("(a == b).to(tl.int8)", lambda a, b: (a == b).astype("int8")),
    "ne": ("(a != b).to(tl.int8)", lambda a, b: (a != b).astype("int8")),
}
WHOLE = {
    "and": ("a & b", lambda a, b: a & b),
    "or": ("a | b", lambda a, b: a | b),
    "xor": ("a ^ b", lambda a, b: a ^ b),
    "shl": ("a << (b & 7)", lambda a, b: a << (b & 7)),
    "shr": ("a >> (b & 7)", lambda a, b: a >> (b & 7)),
    "div": ("a // b", None),
    "mod": ("a % b", None),
}


def truncated(op, a, b):
    """C's division."""
    if a.dtype.kind == "u":
        return a // b if op == "div" else a % b
    wide_a, wide_b = a.astype(object), b.astype(object)
    quotient = np.array([abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(wide_a, wide_b)], object)
    return (quotient if op == "div" else wide_a - quotient * wide_b).astype(a.dtype)


def binary(op, expression, function, dtype):
    name = f"binary_{op}"

    def run():
        x, y = numbers(dtype, op, 1), numbers(dtype, op, 2)
        if op in ("div", "mod"):
            y.numpy()[y.numpy() == 0] = 1
        a, b = x.numpy(), y.numpy()
        with np.errstate(over="ignore"):
            want = function(a, b) if function else truncated(op, a, b)
        out = empty(str(want.dtype))
        getattr(K, name)[(1,)](dev(x), dev(y), out, B=N)
        return [(out, want, 1e-3 if dtype == "float16" else 0)]

    case("binary", op, dtype)(run)


for op, (expression, function) in (BINARY | WHOLE).items():
    kernel(
        f"binary_{op}",
        "x, y, o, B: tl.constexpr",
        "i = tl.arange(0, B)",
        "a = tl.load(x + i)",
        "b = tl.load(y + i)",
        f"tl.store(o + i, {expression})",
    )
    for dtype in INTS + UINTS + (FLOATS if op in BINARY else []):
        binary(op, expression, function, dtype)

# Mixed types: the wider one, and floating point before integers.
for left in ["int8", "int32", "int64", "float16", "float32", "float64", "bfloat16"]:
    for right in ["int16", "float16", "bfloat16", "float32", "float64"]:

        @case("mixed", left, right)
        def _(left=left, right=right):
            x, y = numbers(left, "mixed", 1), numbers(right, "mixed", 2)
            want = x + y
            out = torch.zeros(N, dtype=want.dtype, device="cuda")
            K.binary_add[(1,)](dev(x), dev(y), out, B=N)
            return [(out, wide(want), 8e-3 if want.dtype == torch.bfloat16 else 1e-3)]


for op, expression, function in [
    ("true_div", "a / b", lambda a, b: a / b),
    ("fmod", "a % b", np.fmod),
    ("div_rn", "tl.div_rn(a, b)", lambda a, b: a / b),
    ("pow", "libdevice.pow(tl.abs(a), b)", lambda a, b: np.abs(a) ** b),
    ("fma", "tl.fma(a, b, a)", lambda a, b: a * b + a),
    ("copysign", "libdevice.copysign(a, b)", np.copysign),
    ("hypot", "libdevice.hypot(a, b)", np.hypot),
    ("atan2", "libdevice.atan2(a, b)", np.arctan2),
    ("nextafter", "libdevice.nextafter(a, b)", np.nextafter),
]:
    name = kernel(
        f"float_{op}",
        "x, y, o, B: tl.constexpr",
        "i = tl.arange(0, B)",
        "a = tl.load(x + i)",
        "b = tl.load(y + i)",
        f"tl.store(o + i, {expression})",
    )
    for dtype in ["float32", "float64"]:
        if op == "div_rn" and dtype == "float64":
            continue

        @case("binary", op, dtype)
        def _(name=name, function=function, dtype=dtype):
            x, y = numbers(dtype, name, 1), numbers(dtype, name, 2)
            out = empty(dtype)
            getattr(K, name)[(1,)](dev(x), dev(y), out, B=N)
            return [(out, function(x.numpy(), y.numpy()), 1e-5)]


# Unary operators ------------------------------------------------------------------------------------------------------

UNARY = {
    "neg": ("-a", lambda a: -a),
    "abs": ("tl.abs(a)", np.abs),
    "exp": ("tl.exp(a)", np.exp),
    "exp2": ("tl.exp2(a)", np.exp2),
    "log": ("tl.log(tl.abs(a) + 1)", lambda a: np.log(np.abs(a) + 1)),
    "log2": ("tl.log2(tl.abs(a) + 1)", lambda a: np.log2(np.abs(a) + 1)),
    "sin": ("tl.sin(a)", np.sin),
    "cos": ("tl.cos(a)", np.cos),
    "sqrt": ("tl.sqrt(tl.abs(a))", lambda a: np.sqrt(np.abs(a))),
    "rsqrt": ("tl.rsqrt(tl.abs(a) + 1)", lambda a: 1 / np.sqrt(np.abs(a) + 1)),
    "floor": ("tl.floor(a)", np.floor),
    "ceil": ("tl.ceil(a)", np.ceil),
    "erf": ("tl.erf(a)", None),
    "sigmoid": ("tl.sigmoid(a)", lambda a: 1 / (1 + np.exp(-a))),
    "tanh": ("libdevice.tanh(a)", np.tanh),
    "asin": ("libdevice.asin(a * 0.2)", lambda a: np.arcsin(a * 0.2)),
    "acos": ("libdevice.acos(a * 0.2)", lambda a: np.arccos(a * 0.2)),
    "atan": ("libdevice.atan(a)", np.arctan),
    "cbrt": ("libdevice.cbrt(a)", np.cbrt),
    "rint": ("libdevice.rint(a)", np.rint),
    "trunc": ("libdevice.trunc(a)", np.trunc),
    "expm1": ("libdevice.expm1(a)", np.expm1),
    "log1p": ("libdevice.log1p(tl.abs(a))", lambda a: np.log1p(np.abs(a))),
    "sinh": ("libdevice.sinh(a)", np.sinh),
    "cosh": ("libdevice.cosh(a)", np.cosh),
    "erfc": ("libdevice.erfc(a)", None),
    "lgamma": ("libdevice.lgamma(tl.abs(a) + 1)", None),
    "tan": ("libdevice.tan(a)", np.tan),
    "isnan": ("libdevice.isnan(a / 0.5).to(a.dtype)", lambda a: np.isnan(a).astype(a.dtype)),
}
SPECIAL = {
    "erf": torch.special.erf,
    "erfc": torch.special.erfc,
    "lgamma": lambda a: torch.lgamma(a.abs() + 1),
}
for op, (expression, function) in UNARY.items():
    name = kernel(
        f"unary_{op}",
        "x, o, B: tl.constexpr",
        "i = tl.arange(0, B)",
        "a = tl.load(x + i)",
        f"tl.store(o + i, {expression})",
    )
    for dtype in ["float32", "float64"]:

        @case("unary", op, dtype)
        def _(op=op, name=name, function=function, dtype=dtype):
            x = numbers(dtype, name)
            out = empty(dtype)
            getattr(K, name)[(1,)](dev(x), out, B=N)
            want = function(x.numpy()) if function else SPECIAL[op](x).numpy()
            return [(out, want, 2e-6 if dtype == "float32" else 1e-12)]


kernel("unary_not", "x, o, B: tl.constexpr", "i = tl.arange(0, B)", "tl.store(o + i, ~tl.load(x + i))")
kernel(
    "unary_umulhi",
    "x, y, o, B: tl.constexpr",
    "i = tl.arange(0, B)",
    "tl.store(o + i, tl.umulhi(tl.load(x + i), tl.load(y + i)))",
)
for dtype in INTS + UINTS:

    @case("unary", "not", dtype)
    def _(dtype=dtype):
        x, out = numbers(dtype, "not"), empty(dtype)
        K.unary_not[(1,)](dev(x), out, B=N)
        return [(out, ~x.numpy(), 0)]


for dtype in ["uint32", "uint64"]:

    @case("unary", "umulhi", dtype)
    def _(dtype=dtype):
        r, bits = rng("umulhi", dtype), 32 if dtype == "uint32" else 64
        a, b = (r.integers(0, 2**bits, N, dtype=dtype) for _ in range(2))
        out = empty(dtype)
        K.unary_umulhi[(1,)](dev(torch.from_numpy(a)), dev(torch.from_numpy(b)), out, B=N)
        return [(out, np.array([int(p) * int(q) >> bits for p, q in zip(a, b)], dtype=dtype), 0)]


# Conversions ----------------------------------------------------------------------------------------------------------

kernel(
    "convert", "x, o, B: tl.constexpr", "i = tl.arange(0, B)", "tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty))"
)
kernel(
    "bitcast",
    "x, o, B: tl.constexpr",
    "i = tl.arange(0, B)",
    "tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty, bitcast=True))",
)
kernel(
    "convert_rtz",
    "x, o, B: tl.constexpr",
    "i = tl.arange(0, B)",
    'tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty, fp_downcast_rounding="rtz"))',
)
for left in INTS + ["uint8", "float16", "bfloat16", "float32", "float64", "bool"]:
    for right in INTS + ["uint8", "float16", "bfloat16", "float32", "float64"]:

        @case("convert", left, right)
        def _(left=left, right=right):
            x = numbers(left, "convert")
            if right == "uint8":
                x = x.abs() if left not in ("bool", "uint8") else x
            out = empty(right)
            K.convert[(1,)](dev(x), out, B=N)
            return [(out, wide(x.to(getattr(torch, right))), 0)]


for left in ["float16", "bfloat16", "float32"]:
    for right in FP8:

        @case("convert", left, right)
        def _(left=left, right=right):
            x, out = numbers(left, "fp8"), empty(right)
            K.convert[(1,)](dev(x), out, B=N)
            return [(out, wide(x.to(getattr(torch, right))), 0)]

        @case("convert", right, left)
        def _(left=left, right=right):
            x, out = numbers(right, "from fp8"), empty(left)
            K.convert[(1,)](dev(x), out, B=N)
            return [(out, wide(x.to(getattr(torch, left))), 0)]


for left, right in [
    ("float32", "int32"),
    ("int32", "float32"),
    ("float64", "int64"),
    ("float16", "int16"),
    ("bfloat16", "int16"),
]:

    @case("convert", "bits", left, right)
    def _(left=left, right=right):
        x, out = numbers(left, "bits"), empty(right)
        K.bitcast[(1,)](dev(x), out, B=N)
        return [(out.view(torch.int8), x.view(getattr(torch, right)).view(torch.int8).numpy(), 0)]


@case("convert", "float32 to float16 toward zero")
def _():
    x, out = numbers("float32", "rtz"), empty("float16")
    K.convert_rtz[(1,)](dev(x), out, B=N)
    near = x.half()
    toward = torch.where(near.float().abs() > x.abs(), (near.view(torch.int16) - 1).view(torch.float16), near)
    return [(out, toward.numpy(), 0)]


# Reductions, scans, sorting -------------------------------------------------------------------------------------------

kernel("reduce_pair", "a, b", "return a * 2 + b if False else tl.maximum(a, b)")
for op in ["sum", "max", "min", "argmax", "argmin", "xor_sum"]:
    kernel(
        f"reduce_{op}",
        "x, o, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr",
        "r = tl.arange(0, R)",
        "c = tl.arange(0, C)",
        "v = tl.load(x + r[:, None] * C + c[None, :])",
        f"z = tl.{op}(v, AXIS)",
        "if AXIS == 0:",
        "    tl.store(o + c, z)",
        "else:",
        "    tl.store(o + r, z)",
    )
    for dtype in ["int8", "int32", "int64", "float16", "float32", "float64", "bfloat16"]:
        if op == "xor_sum" and not dtype.startswith("int"):
            continue
        for shape, axis in [((32, 64), 0), ((32, 64), 1), ((4, 512), 1), ((256, 8), 0)]:

            @case("reduce", op, dtype, f"{shape[0]}x{shape[1]}", f"axis {axis}")
            def _(op=op, dtype=dtype, shape=shape, axis=axis):
                x = numbers(dtype, op, shape, axis, size=shape)
                if dtype == "int8":
                    x = x % 4
                a = wide(x)
                if op.startswith("arg"):
                    want = getattr(np, op)(a, axis).astype("int32")
                elif op == "sum":
                    want = a.sum(
                        axis, dtype="int32" if dtype == "int8" else "float32" if dtype == "float16" else a.dtype
                    )
                elif op == "xor_sum":
                    want = np.bitwise_xor.reduce(a, axis)
                else:
                    want = getattr(np, op)(a, axis)
                out = empty(
                    str(want.dtype) if not dtype.endswith("16") or op.startswith("arg") else "float32", len(want)
                )
                getattr(K, f"reduce_{op}")[(1,)](dev(x), out, R=shape[0], C=shape[1], AXIS=axis)
                return [
                    (
                        out,
                        want,
                        6e-2
                        if dtype == "bfloat16"
                        else 2e-2
                        if dtype == "float16"
                        else 1e-5
                        if dtype == "float32"
                        else 1e-12,
                    )
                ]


kernel("combine_max", "a, b", "return tl.maximum(a, b)")
kernel("combine_affine", "a, b, c, d", "return a * c, b * c + d")
kernel(
    "combine_welford",
    "m, v, w, n, s, u",
    "d = n - m",
    "t = w + u",
    "return m + d * u / t, v + s + d * d * w * u / t, t",
)
kernel(
    "reduce_own",
    "x, o, R: tl.constexpr, C: tl.constexpr",
    "r = tl.arange(0, R)",
    "c = tl.arange(0, C)",
    "v = tl.load(x + r[:, None] * C + c[None, :])",
    "tl.store(o + r, tl.reduce(v, 1, combine_max))",
)
kernel(
    "reduce_tuple",
    "x, o, p, R: tl.constexpr, C: tl.constexpr",
    "r = tl.arange(0, R)",
    "c = tl.arange(0, C)",
    "v = tl.load(x + r[:, None] * C + c[None, :])",
    "one = tl.full((R, C), 1.0, tl.float32)",
    "m, s, n = tl.reduce((v, one * 0, one), 1, combine_welford)",
    "tl.store(o + r, m)",
    "tl.store(p + r, s / n)",
)
for op, expression in [
    ("sum", "tl.cumsum(v, AXIS, reverse=BACK)"),
    ("prod", "tl.cumprod(v, AXIS, reverse=BACK)"),
    ("max", "tl.associative_scan(v, AXIS, combine_max, reverse=BACK)"),
]:
    kernel(
        f"scan_{op}",
        "x, o, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, BACK: tl.constexpr",
        "r = tl.arange(0, R)",
        "c = tl.arange(0, C)",
        "at = r[:, None] * C + c[None, :]",
        "v = tl.load(x + at)",
        f"tl.store(o + at, {expression})",
    )
    for dtype in ["int32", "int64", "float32", "float64"]:
        for axis in (0, 1):
            for back in (False, True):

                @case("scan", op, dtype, f"axis {axis}", "reverse" if back else "forward")
                def _(op=op, dtype=dtype, axis=axis, back=back):
                    x = numbers(dtype, "scan", op, size=(32, 64))
                    x = x * 0.5 + 1 if op == "prod" and dtype.startswith("f") else x % 3 if dtype.startswith("i") else x
                    out = empty(dtype, 32, 64)
                    getattr(K, f"scan_{op}")[(1,)](dev(x), out, R=32, C=64, AXIS=axis, BACK=back)
                    a = np.flip(x.numpy(), axis) if back else x.numpy()
                    function = {"sum": np.cumsum, "prod": np.cumprod, "max": np.maximum.accumulate}[op]
                    with np.errstate(over="ignore"):
                        want = function(a, axis=axis) if op == "max" else function(a, axis=axis, dtype=a.dtype)
                    return [(out, np.flip(want, axis) if back else want, 1e-3 if dtype == "float32" else 1e-10)]


@case("reduce", "own function")
def _():
    x, out = numbers("float32", "own", size=(16, 64)), empty("float32", 16)
    K.reduce_own[(1,)](dev(x), out, R=16, C=64)
    return [(out, x.numpy().max(1), 0)]


@case("reduce", "tuple: mean and variance")
def _():
    x, mean, variance = numbers("float32", "tuple", size=(16, 64)), empty("float32", 16), empty("float32", 16)
    K.reduce_tuple[(1,)](dev(x), mean, variance, R=16, C=64)
    return [(mean, x.numpy().mean(1), 1e-4), (variance, x.numpy().var(1), 1e-4)]


kernel(
    "scan_affine",
    "x, y, o, B: tl.constexpr",
    "i = tl.arange(0, B)",
    "_, s = tl.associative_scan((tl.load(x + i), tl.load(y + i)), 0, combine_affine)",
    "tl.store(o + i, s)",
)


@case("scan", "recurrence of two values")
def _():
    a, b, out = numbers("float32", "a").clamp(-0.9, 0.9), numbers("float32", "b"), empty("float32")
    K.scan_affine[(1,)](dev(a), dev(b), out, B=N)
    want, s = [], 0.0
    for p, q in zip(a.double().tolist(), b.double().tolist()):
        s = p * s + q
        want.append(s)
    return [(out, np.array(want, "float32"), 1e-4)]


kernel(
    "sorted_rows",
    "x, o, R: tl.constexpr, C: tl.constexpr, DOWN: tl.constexpr",
    "r = tl.arange(0, R)",
    "c = tl.arange(0, C)",
    "at = r[:, None] * C + c[None, :]",
    "tl.store(o + at, tl.sort(tl.load(x + at), descending=DOWN))",
)
for dtype in ["int32", "float32", "float16"]:
    for down in (False, True):

        @case("sort", dtype, "descending" if down else "ascending")
        def _(dtype=dtype, down=down):
            x, out = numbers(dtype, "sort", size=(8, 64)), empty(dtype, 8, 64)
            K.sorted_rows[(1,)](dev(x), out, R=8, C=64, DOWN=down)
            want = np.sort(x.numpy(), 1)
            return [(out, want[:, ::-1] if down else want, 0)]


# Shapes ---------------------------------------------------------------------------------------------------------------

for name, lines in {
    "trans": [
        "v = tl.trans(tl.load(x + r[:, None] * 32 + c[None, :]))",
        "tl.store(o + c[:, None] * 16 + r[None, :], v)",
    ],
    "reshape": [
        "v = tl.reshape(tl.load(x + r[:, None] * 32 + c[None, :]), (512,))",
        "tl.store(o + tl.arange(0, 512), v)",
    ],
    "ravel": ["v = tl.ravel(tl.load(x + r[:, None] * 32 + c[None, :]))", "tl.store(o + tl.arange(0, 512), v)"],
    "permute": [
        "v = tl.permute(tl.reshape(tl.load(x + r[:, None] * 32 + c[None, :]), (16, 8, 4)), (2, 0, 1))",
        "tl.store(o + tl.arange(0, 512), tl.reshape(v, (512,)))",
    ],
    "join": [
        "k = tl.arange(0, 256)",
        "v = tl.join(tl.load(x + k), tl.load(x + 256 + k))",
        "tl.store(o + k[:, None] * 2 + tl.arange(0, 2)[None, :], v)",
    ],
    "split": [
        "v = tl.reshape(tl.load(x + tl.arange(0, 512)), (256, 2))",
        "p, q = tl.split(v)",
        "k = tl.arange(0, 256)",
        "tl.store(o + k, p)",
        "tl.store(o + 256 + k, q)",
    ],
    "interleave": [
        "k = tl.arange(0, 256)",
        "v = tl.interleave(tl.load(x + k), tl.load(x + 256 + k))",
        "tl.store(o + tl.arange(0, 512), v)",
    ],
    "cat": [
        "k = tl.arange(0, 256)",
        "v = tl.cat(tl.load(x + k), tl.load(x + k), can_reorder=True)",
        "tl.store(o + tl.arange(0, 512), tl.sort(v))",
    ],
    "flip": ["v = tl.flip(tl.load(x + r[:, None] * 32 + c[None, :]))", "tl.store(o + r[:, None] * 32 + c[None, :], v)"],
    "broadcast": [
        "v = tl.load(x + r)[:, None] + tl.load(x + c)[None, :]",
        "tl.store(o + r[:, None] * 32 + c[None, :], v)",
    ],
    "gather": [
        "k = (c[None, :] * 7 + r[:, None]) % 32",
        "v = tl.gather(tl.load(x + r[:, None] * 32 + c[None, :]), k, 1)",
        "tl.store(o + r[:, None] * 32 + c[None, :], v)",
    ],
    "where": [
        "v = tl.load(x + r[:, None] * 32 + c[None, :])",
        "tl.store(o + r[:, None] * 32 + c[None, :], tl.where(v > 0, v, -v))",
    ],
}.items():
    kernel(f"shape_{name}", "x, o", "r = tl.arange(0, 16)", "c = tl.arange(0, 32)", *lines)


def shaped(name, a):
    flat = a.reshape(-1)
    if name == "gather":
        r, c = np.arange(16)[:, None], np.arange(32)[None, :]
        return a[r, (c * 7 + r) % 32]
    return {
        "trans": lambda: a.T,
        "reshape": lambda: flat,
        "ravel": lambda: flat,
        "permute": lambda: a.reshape(16, 8, 4).transpose(2, 0, 1),
        "join": lambda: np.stack([flat[:256], flat[256:]], 1),
        "split": lambda: np.concatenate([flat[::2], flat[1::2]]),
        "interleave": lambda: np.stack([flat[:256], flat[256:]], 1),
        "cat": lambda: np.sort(np.tile(flat[:256], 2)),
        "flip": lambda: a[:, ::-1],
        "broadcast": lambda: flat[:16, None] + flat[None, :32],
        "where": lambda: np.abs(a),
    }[name]()


for name in [
    "trans",
    "reshape",
    "ravel",
    "permute",
    "join",
    "split",
    "interleave",
    "cat",
    "flip",
    "broadcast",
    "gather",
    "where",
]:
    for dtype in ["int8", "float16", "float32", "int64"]:

        @case("shape", name, dtype)
        def _(name=name, dtype=dtype):
            x, out = numbers(dtype, "shape", size=(16, 32)), empty(dtype, 512)
            if dtype == "int8":
                x = x.clamp(-60, 60)
            getattr(K, f"shape_{name}")[(1,)](dev(x), out)
            return [(out, np.ascontiguousarray(shaped(name, x.numpy())).reshape(-1), 0)]


# Atomics --------------------------------------------------------------------------------------------------------------

for op in ["add", "max", "min", "and", "or", "xor", "xchg"]:
    kernel(
        f"atomic_{op}",
        "x, o, old, SEM: tl.constexpr, B: tl.constexpr",
        "i = tl.program_id(0) * B + tl.arange(0, B)",
        f"tl.store(old + i, tl.atomic_{op}(o + i % 64, tl.load(x + i), sem=SEM))",
    )
    for dtype in ["int32", "uint32", "int64", "float32", "float16", "bfloat16", "float64"]:
        if (
            not dtype.startswith(("int", "uint"))
            and op in ("and", "or", "xor")
            or op in ("max", "min", "xchg")
            and dtype.endswith("at16")
        ):
            continue
        if op in ("max", "min") and dtype == "bfloat16":
            continue
        for sem in ["relaxed", "acq_rel"] if op == "add" else ["acq_rel"]:

            @case("atomic", op, dtype, sem)
            def _(op=op, dtype=dtype, sem=sem):
                x = numbers(dtype, "atomic", op, size=512)
                if dtype.startswith(("float", "bfloat")):
                    x = (x * 4).round()
                out, old = empty(dtype, 64), empty(dtype, 512)
                getattr(K, f"atomic_{op}")[(4,)](dev(x), out, old, SEM=sem, B=128)
                rows = torch.cat([torch.zeros(1, 64, dtype=x.dtype), x.view(8, 64)])
                if op == "xchg":
                    # Every value that was stored is the old one of another, or the last.
                    have = torch.cat([out.cpu().view(1, 64), old.cpu().view(8, 64)])
                    return [(have.sort(0).values, rows.sort(0).values.numpy(), 0)]
                a = wide(rows)
                want = {
                    "add": np.add,
                    "max": np.maximum,
                    "min": np.minimum,
                    "and": np.bitwise_and,
                    "or": np.bitwise_or,
                    "xor": np.bitwise_xor,
                }[op].reduce(a, 0)
                return [(out, want, 0)]


kernel(
    "atomic_cas_lock",
    "lock, o, B: tl.constexpr",
    "i = tl.arange(0, B)",
    "while tl.atomic_cas(lock, 0, 1) == 1:",
    "    pass",
    "tl.store(o + i, tl.load(o + i) + 1)",
    "tl.debug_barrier()",
    "tl.atomic_xchg(lock, 0)",
)


@case("atomic", "cas as a lock of 64 blocks")
def _():
    lock, out = empty("int32", 1), empty("int32", 128)
    K.atomic_cas_lock[(64,)](lock, out, B=128)
    return [(out, np.full(128, 64, "int32"), 0), (lock, np.zeros(1, "int32"), 0)]


# Matrix products ------------------------------------------------------------------------------------------------------

kernel(
    "dot",
    "a, b, c, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr, "
    "PRECISION: tl.constexpr, EPILOGUE: tl.constexpr, ACC: tl.constexpr",
    "m = tl.arange(0, M)",
    "n = tl.arange(0, N)",
    "k = tl.arange(0, K)",
    "x = tl.load(a + (m[:, None] + k[None, :] * M if TA else m[:, None] * K + k[None, :]))",
    "y = tl.load(b + (k[:, None] + n[None, :] * K if TB else k[:, None] * N + n[None, :]))",
    "z = tl.dot(x, y, input_precision=PRECISION, out_dtype=ACC)",
    'if EPILOGUE == "matrix":',
    "    z += tl.load(c + m[:, None] * N + n[None, :])",
    'if EPILOGUE == "rows":',
    "    z += tl.load(c + m)[:, None]",
    'if EPILOGUE == "columns":',
    "    z += tl.load(c + n)[None, :]",
    'if EPILOGUE == "softmax":',
    "    z = tl.exp((z - tl.max(z, 1)[:, None]).to(tl.float32))",
    "    z = z / tl.sum(z, 1)[:, None]",
    'if EPILOGUE == "chain":',
    "    w = tl.load(c + n[:, None] * N + n[None, :])",
    "    z = tl.dot(z.to(w.dtype), w, input_precision=PRECISION, out_dtype=ACC)",
    "tl.store(o + m[:, None] * N + n[None, :], z)",
)


def dot(dtype, shape, warps, ta, tb, epilogue, precision):
    m, n, k = shape

    @case(
        "dot", dtype, f"{m}x{n}x{k}", f"{warps} warps", f"{'T' if ta else 'N'}{'T' if tb else 'N'}", epilogue, precision
    )
    def _():
        ints = dtype == "int8"
        x, y = (numbers(dtype, "dot", q, size=s) for q, s in (("x", (m, k)), ("y", (k, n))))
        if ints:
            x, y = x % 8, y % 8
        size = {"matrix": (m, n), "rows": (m,), "columns": (n,), "chain": (n, n)}.get(epilogue, (1,))
        z = numbers(dtype if epilogue == "chain" else "int32" if ints else "float32", "dot", "z", size=size)
        exact = x.int() @ y.int() if ints else x.double() @ y.double()
        want = {
            "matrix": lambda: exact + z,
            "rows": lambda: exact + z[:, None],
            "columns": lambda: exact + z[None, :],
            "softmax": lambda: torch.softmax(exact, 1),
            "chain": lambda: exact.to(z.dtype).double() @ z.double(),
            "none": lambda: exact,
        }[epilogue]()
        out = empty("int32" if ints else "float64" if dtype == "float64" else "float32", m, n)
        ACC = tl.int32 if ints else tl.float64 if dtype == "float64" else tl.float32
        put = lambda t, flip: dev(t.t().contiguous() if flip else t)  # noqa: E731
        K.dot[(1,)](
            put(x, ta),
            put(y, tb),
            dev(z),
            out,
            M=m,
            N=n,
            K=k,
            TA=ta,
            TB=tb,
            PRECISION=precision,
            EPILOGUE=epilogue,
            ACC=ACC,
            num_warps=warps,
        )
        loose = (
            0 if ints else 1e-10 if dtype == "float64" else 2e-2 if precision == "tf32" or epilogue == "chain" else 1e-3
        )
        return [(out, want.numpy(), loose)]


for dtype in ["float16", "bfloat16", "int8", "float32", "float64", *FP8]:
    for shape, warps in [
        ((16, 16, 32), 1),
        ((64, 64, 64), 4),
        ((128, 64, 32), 4),
        ((128, 128, 64), 8),
        ((32, 128, 64), 2),
    ]:
        if dtype == "float64" and shape[1] == 128:
            continue
        dot(dtype, shape, warps, False, False, "none", "tf32" if dtype == "float32" else "ieee")
for epilogue in ["matrix", "rows", "columns", "softmax", "chain"]:
    for dtype in ["float16", "float32"]:
        dot(dtype, (128, 64, 64), 4, False, False, epilogue, "tf32")
for ta in (False, True):
    for tb in (False, True):
        for dtype in ["float16", "float32", "int8", "float8_e4m3fn"]:
            dot(dtype, (64, 64, 64), 4, ta, tb, "none", "tf32")
for precision in ["ieee", "tf32", "tf32x3"]:
    dot("float32", (64, 64, 64), 4, False, False, "matrix", precision)

kernel(
    "dot_batch",
    "a, b, o",
    "p = tl.arange(0, 4)[:, None, None]",
    "m = tl.arange(0, 32)",
    "k = tl.arange(0, 32)",
    "x = tl.load(a + p * 1024 + m[None, :, None] * 32 + k[None, None, :])",
    "y = tl.load(b + p * 1024 + m[None, :, None] * 32 + k[None, None, :])",
    "tl.store(o + p * 1024 + m[None, :, None] * 32 + k[None, None, :], tl.dot(x, y, out_dtype=tl.float32))",
)
kernel(
    "dot_scaled",
    "a, sa, b, sb, o, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr",
    "m = tl.arange(0, 128)",
    "n = tl.arange(0, 64)",
    "x = tl.load(a + m[:, None] * (128 // PA) + tl.arange(0, 128 // PA)[None, :])",
    "y = tl.load(b + tl.arange(0, 128 // PB)[:, None] * 64 + n[None, :])",
    "g = tl.arange(0, 4)",
    "p = tl.load(sa + m[:, None] * 4 + g[None, :])",
    "q = tl.load(sb + n[:, None] * 4 + g[None, :])",
    "tl.store(o + m[:, None] * 64 + n[None, :], tl.dot_scaled(x, p, FA, y, q, FB))",
)


@case("dot", "batch of 4")
def _():
    x, y = numbers("float16", "b1", size=(4, 32, 32)), numbers("float16", "b2", size=(4, 32, 32))
    out = empty("float32", 4, 32, 32)
    K.dot_batch[(1,)](dev(x), dev(y), out)
    return [(out, (x.double() @ y.double()).numpy(), 1e-3)]


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def scaled_operand(format, rows, key):
    """Codes of `rows` x 128 elements packed along the second axis, and their values."""
    r = rng("scaled", format, key)
    if format == "e2m1":
        codes = torch.from_numpy(r.integers(0, 16, (rows, 128)))
        values = E2M1[codes & 7] * torch.where(codes >= 8, -1.0, 1.0)
        return (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8), values, 2
    kind = torch.float8_e4m3fn if format == "e4m3" else torch.float8_e5m2
    codes = torch.from_numpy(r.standard_normal((rows, 128)).astype("float32")).to(kind)
    return codes.view(torch.uint8), codes.float(), 1


for left in ["e2m1", "e4m3", "e5m2"]:
    for right in ["e2m1", "e4m3", "e5m2"]:

        @case("dot", "scaled", left, right)
        def _(left=left, right=right):
            a, x, pa = scaled_operand(left, 128, 1)
            b, y, pb = scaled_operand(right, 64, 2)
            r = rng("scales", left, right)
            sa, sb = (torch.from_numpy(r.integers(124, 131, (n, 4)).astype("uint8")) for n in (128, 64))
            out = empty("float32", 128, 64)
            K.dot_scaled[(1,)](dev(a), dev(sa), dev(b.t().contiguous()), dev(sb), out, FA=left, FB=right, PA=pa, PB=pb)
            grow = lambda s: (2.0 ** (s.double() - 127)).repeat_interleave(32, 1)  # noqa: E731
            return [(out, ((x * grow(sa)) @ (y * grow(sb)).t()).numpy(), 2e-2)]


# Control flow, functions, memory --------------------------------------------------------------------------------------

SOURCES.append("""
@triton.jit
def inner(a, b):
    return a * 2 + b, a - b


@triton.jit(noinline=True)
def outer(a, n):
    for k in range(n):
        a = a * 3 + k
    return a


@triton.jit
def flow(x, o, n, STEPS: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    for k in tl.static_range(STEPS):
        v = v + k
    for k in range(1, n, 2):
        if k % 3 == 0:
            v = v * 2
        elif k % 3 == 1:
            v = v - k
        else:
            v += n
    k = 0
    while k < n:
        v = v + k
        k += 1
    p, q = inner(v, n)
    tl.store(o + i, p + q + outer(n, n))


@triton.jit
def masked(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=-7, eviction_policy="evict_last")
    tl.store(o + i, v, mask=i % 3 != 0, cache_modifier=".cs")


@triton.jit
def histogram(x, o, B: tl.constexpr, BINS: tl.constexpr):
    tl.store(o + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, B)), BINS))


@triton.jit
def assembly(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.inline_asm_elementwise("lop3.b32 $0, $1, $2, 0xFF, 0x96;", "=r,r,r", [tl.load(x + i), i], dtype=tl.int32,
                                  is_pure=True, pack=1)
    tl.store(o + i, v)


@triton.jit
def random_numbers(o, p, q, seed, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.randint(seed, i))
    tl.store(p + i, tl.rand(seed, i))
    tl.store(q + i, tl.randn(seed, i))


@triton.jit
def grid_numbers(o):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(o + at, x * 10000 + y * 100 + z)


@triton.jit
def printed(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.device_print("value", tl.load(x + i))
    tl.device_assert(tl.load(x + i) < 1000, "too large")


@triton.jit
def block_pointer(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    b = tl.make_block_ptr(o, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    for _ in range(0, N, BN):
        v = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        tl.store(b, v + 1, boundary_check=(0, 1))
        a = tl.advance(a, (0, BN))
        b = tl.advance(b, (0, BN))


@triton.jit
def descriptor(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    b = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    for n in range(0, N, BN):
        b.store([tl.program_id(0) * BM, n], a.load([tl.program_id(0) * BM, n]) + 1)


@triton.jit
def descriptor_add(x, o, M: tl.constexpr, N: tl.constexpr):
    a = tl.make_tensor_descriptor(o, [M, N], [N, 1], [M, N])
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    a.atomic_add([0, 0], v)


@triton.jit
def host_descriptor(a, b, o, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, N: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    z = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        z = tl.dot(a.load([m, k]), b.load([k, n]), z)
    tl.store(o + (m + tl.arange(0, BM))[:, None] * N + n + tl.arange(0, BN)[None, :], z)


@triton.jit
def pipelined(a, b, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
              WS: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    z = tl.zeros((BM, BN), tl.float32)
    for s in tl.range(0, K, BK, num_stages=STAGES, warp_specialize=WS):
        z = tl.dot(tl.load(a + m[:, None] * K + s + k[None, :]), tl.load(b + (s + k)[:, None] * N + n[None, :]), z)
    tl.store(o + m[:, None] * N + n[None, :], z)


@triton.jit
def timed(o):
    a = tl.extra.cuda.globaltimer()
    b = tl.extra.cuda.smid()
    tl.store(o, (tl.extra.cuda.globaltimer() >= a).to(tl.int32))
    tl.store(o + 1, (b < 1000).to(tl.int32))
    tl.store(o + 2, tl.extra.cuda.num_threads())
""")


@case("language", "loops, branches, calls")
def _():
    x, out, n = numbers("int32", "flow"), empty("int32"), 9
    K.flow[(1,)](dev(x), out, n, STEPS=3, B=N)
    v = x.numpy().astype("int64") + 3
    for k in range(1, n, 2):
        v = v * 2 if k % 3 == 0 else v - k if k % 3 == 1 else v + n
    v = v + sum(range(n))
    w = n
    for k in range(n):
        w = w * 3 + k
    return [(out, (v * 2 + n + v - n + w).astype("int32"), 0)]


for dtype in ["int8", "int32", "float16", "float32", "int64"]:

    @case("language", "masked loads and stores", dtype)
    def _(dtype=dtype):
        x, out = numbers(dtype, "masked"), empty(dtype)
        K.masked[(2,)](dev(x), out, 201, B=128)
        i = np.arange(N)
        want = np.where(i < 201, x.numpy(), np.array(-7, x.numpy().dtype))
        return [(out, np.where(i % 3 != 0, want, 0).astype(want.dtype), 0)]


@case("language", "histogram")
def _():
    x, out = torch.from_numpy(rng("h").integers(0, 32, 1024).astype("int32")), empty("int32", 32)
    K.histogram[(1,)](dev(x), out, B=1024, BINS=32)
    return [(out, np.bincount(x.numpy(), minlength=32).astype("int32"), 0)]


@case("language", "inline assembly")
def _():
    x, out = numbers("int32", "asm"), empty("int32")
    K.assembly[(1,)](dev(x), out, B=N)
    return [(out, x.numpy() ^ np.arange(N, dtype="int32") ^ 255, 0)]


@case("language", "random numbers")
def _():
    out, uniform, normal = empty("int32", 1024), empty("float32", 1024), empty("float32", 1024)
    K.random_numbers[(1,)](out, uniform, normal, 11, B=1024)
    u, z = uniform.cpu().numpy(), normal.cpu().numpy()
    fine = (
        0 <= u.min()
        and u.max() < 1
        and abs(u.mean() - 0.5) < 0.05
        and abs(z.mean()) < 0.15
        and abs(z.std() - 1) < 0.1
        and len(np.unique(out.cpu().numpy())) > 1000
    )
    # What they are is for `--beside`.
    return [(out, out.cpu().numpy(), 0), (uniform, u, 0), (normal, z, 0), (torch.tensor([fine]), np.array([True]), 0)]


@case("language", "grid")
def _():
    out = empty("int32", 60)
    K.grid_numbers[(3, 4, 5)](out)
    z, y, x = np.meshgrid(np.arange(5), np.arange(4), np.arange(3), indexing="ij")
    return [(out, (x * 10000 + y * 100 + z).astype("int32").reshape(-1), 0)]


@case("language", "print and assert")
def _():
    K.printed[(1,)](dev(torch.arange(2, dtype=torch.int32)), B=2, num_warps=1, debug=True)
    torch.cuda.synchronize()
    return []


@case("language", "timer and SM number")
def _():
    out = empty("int32", 3)
    K.timed[(1,)](out)
    return [(out, np.array([1, 1, 128], "int32"), 0)]


@case("language", "several blocks to a cluster")
def _():
    x, y, out = numbers("float32", "c1"), numbers("float32", "c2"), empty("float32")
    K.binary_add[(1,)](dev(x), dev(y), out, B=N, num_ctas=2)
    return [(out, (x + y).numpy(), 0)]


# Later versions have descriptors alone.
for dtype in ["float16", "float32", "int8"] if hasattr(tl, "advance") else []:

    @case("memory", "block pointers", dtype)
    def _(dtype=dtype):
        x, out = numbers(dtype, "bp", size=(50, 70)).clamp(-50, 50), empty(dtype, 50, 70)
        K.block_pointer[(4,)](dev(x), out, 50, 70, BM=16, BN=32)
        return [(out, (x + 1).numpy(), 0)]


def allocate(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


for dtype in ["float16", "float32", "int8", "int32"]:

    @case("memory", "descriptors made on the device", dtype)
    def _(dtype=dtype):
        triton.set_allocator(allocate)
        x, out = numbers(dtype, "td", size=(50, 80)).clamp(-50, 50), empty(dtype, 50, 80)
        K.descriptor[(4,)](dev(x), out, 50, 80, BM=16, BN=32)
        return [(out, (x + 1).numpy(), 0)]


@case("memory", "atomic addition through a descriptor")
def _():
    triton.set_allocator(allocate)
    x, out = numbers("float32", "ta", size=(16, 32)), empty("float32", 16, 32)
    K.descriptor_add[(1,)](dev(x), out, M=16, N=32)
    return [(out, x.numpy(), 0)]


for dtype in ["float16", "bfloat16", "float8_e4m3fn"]:

    @case("memory", "product by descriptors of the host", dtype)
    def _(dtype=dtype):
        from triton.tools.tensor_descriptor import TensorDescriptor

        x, y = numbers(dtype, "hd1", size=(128, 128)), numbers(dtype, "hd2", size=(128, 128))
        a, b, out = dev(x), dev(y), empty("float32", 128, 128)
        K.host_descriptor[(2, 2)](
            TensorDescriptor.from_tensor(a, [64, 64]),
            TensorDescriptor.from_tensor(b, [64, 64]),
            out,
            128,
            BM=64,
            BN=64,
            BK=64,
            N=128,
        )
        return [(out, (x.double() @ y.double()).numpy(), 1e-2)]


for stages in (1, 2, 3, 4):
    for dtype in ["float16", "float32"]:

        @case("memory", "pipelined product", f"{stages} stages", dtype)
        def _(dtype=dtype, stages=stages):
            x, y, out = (
                numbers(dtype, "p1", size=(128, 128)),
                numbers(dtype, "p2", size=(128, 128)),
                empty("float32", 128, 128),
            )
            K.pipelined[(2, 2)](dev(x), dev(y), out, 128, 128, 128, BM=64, BN=64, BK=32, STAGES=stages, WS=False)
            return [(out, (x.double() @ y.double()).numpy(), 2e-2)]


@case("memory", "warp-specialised product")
def _():
    if torch.cuda.get_device_capability()[0] < 10:
        return []  # Triton's own passes fail on it there.
    x, y, out = (
        numbers("float16", "w1", size=(128, 128)),
        numbers("float16", "w2", size=(128, 128)),
        empty("float32", 128, 128),
    )
    K.pipelined[(1, 1)](dev(x), dev(y), out, 128, 128, 128, BM=128, BN=128, BK=64, STAGES=2, WS=True)
    return [(out, (x.double() @ y.double()).numpy(), 1e-2)]


def agrees(got, want, error):
    got = wide(got).reshape(-1)
    want = np.asarray(want).reshape(-1)
    if got.shape != want.shape:
        return f"{got.shape} values in place of {want.shape}"
    if error == 0:
        bad = got != want
        if got.dtype.kind == "f":
            bad &= ~(np.isnan(got) & np.isnan(want))
    else:
        bad = ~np.isclose(
            got.astype("float64"), want.astype("float64"), rtol=error, atol=error * max(1, np.abs(want).max() / 10)
        )
    if bad.any():
        at = int(np.argmax(bad))
        return f"{int(bad.sum())} of {bad.size} wrong, the first {got[at]!r} in place of {want[at]!r}"
    return None


def main():
    global K
    arguments = sys.argv[1:]
    files = {}
    for option in ("--write", "--beside"):
        if option in arguments:
            at = arguments.index(option)
            files[option] = arguments[at + 1]
            del arguments[at : at + 2]
    K = load_kernels()
    hashes, score, failed = {}, {}, []
    begin = time.time()
    for category, name, function in CASES:
        if arguments and category not in arguments:
            continue
        key = f"{category}: {name}"
        try:
            pairs = function()
            torch.cuda.synchronize()
            wrong = next((w for w in (agrees(*pair) for pair in pairs) if w), None)
            digest = hashlib.sha256(b"".join(np.ascontiguousarray(wide(got)).tobytes() for got, *_ in pairs))
            hashes[key] = "wrong" if wrong else digest.hexdigest()[:16]
        except Exception as error:  # noqa: BLE001, whatever it is, it is this case's
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            told = [line for line in lines if "error" in line and "Internal" not in line] or lines or [""]
            wrong = f"{type(error).__name__}: {told[-1]}"[:200]
            hashes[key] = "failed"
        passed, count = score.get(category, (0, 0))
        score[category] = (passed + (wrong is None), count + 1)
        if wrong:
            failed.append(key)
            print(f"{key}: {wrong}", flush=True)
    for category, (passed, count) in score.items():
        print(f"{category}: {passed} of {count}")
    total = sum(count for _, count in score.values())
    print(
        f"Triton {triton.__version__}, PyTorch {torch.__version__}: {total - len(failed)} of {total} right, "
        f"{time.time() - begin:.0f} s"
    )
    if "--write" in files:
        with open(files["--write"], "w") as file:
            json.dump(hashes, file, indent=0, sort_keys=True)
    if "--beside" in files:
        with open(files["--beside"]) as file:
            theirs = json.load(file)
        both = [k for k in hashes if k in theirs and len(hashes[k]) == 16 and len(theirs[k]) == 16]
        same = [k for k in both if hashes[k] == theirs[k]]
        lost = [k for k in hashes if len(theirs.get(k, "")) == 16 and len(hashes[k]) != 16]
        print(f"the same bits: {len(same)} of {len(both)}; right there and not here: {len(lost)} {lost}")
        print("other bits:", sorted(set(both) - set(same)))
        # What does not run there need not run here.
        failed = lost
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
