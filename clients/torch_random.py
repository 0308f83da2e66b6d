"""Random numbers of PyTorch's CUDA device: prints a line for each way to draw them, with a hash where they are a
device's bit for bit and values where they are close. `torch_random.recorded` has what an H200 prints.

    ptxrun exec -- python3 clients/torch_random.py clients/torch_random.recorded
"""

import hashlib
import sys

import torch

CUDA = "cuda"
SIZES = (5, 1000, 300_001, 1_200_000)


def draws():
    """Names, whether bits count, and tensors."""
    for size in SIZES:
        for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            name = f"{str(kind)[6:]} {size}"
            yield f"uniform {name}", True, torch.empty(size, dtype=kind, device=CUDA).uniform_()
            yield f"uniform -2 3 {name}", True, torch.empty(size, dtype=kind, device=CUDA).uniform_(-2, 3)
            yield f"normal {name}", False, torch.randn(size, dtype=kind, device=CUDA)
            yield f"bernoulli {name}", True, torch.empty(size, dtype=kind, device=CUDA).bernoulli_(0.3)
            yield f"dropout {name}", True, torch.nn.functional.dropout(torch.ones(size, dtype=kind, device=CUDA), 0.4)
        for kind in (torch.int64, torch.int32, torch.uint8):
            yield f"randint {str(kind)[6:]} {size}", True, torch.randint(3, 200, (size,), dtype=kind, device=CUDA)
            yield f"random_ {str(kind)[6:]} {size}", True, torch.empty(size, dtype=kind, device=CUDA).random_()
        yield f"randint far {size}", True, torch.randint(-7, 1 << 40, (size,), device=CUDA)
        yield f"randint wide {size}", True, torch.randint(-(1 << 62), 1 << 62, (size,), device=CUDA)
        yield f"randint 2^30 {size}", True, torch.randint(0, 1 << 30, (size,), device=CUDA)
        yield f"randint 2^31 {size}", True, torch.randint(0, (1 << 31) + 5, (size,), device=CUDA)
        yield f"exponential {size}", False, torch.empty(size, device=CUDA).exponential_(1.5)
        yield f"geometric {size}", False, torch.empty(size, device=CUDA).geometric_(0.2)
        yield f"log_normal {size}", False, torch.empty(size, device=CUDA).log_normal_(0.1, 0.5)
        yield f"cauchy {size}", False, torch.empty(size, device=CUDA).cauchy_()
        yield f"randperm {size}", True, torch.randperm(size, device=CUDA)
    yield "uniform transposed", True, torch.empty(70, 90, device=CUDA).t().uniform_()
    yield "uniform rows", True, torch.zeros(70, 90, device=CUDA)[::2, ::3].uniform_()
    yield "dropout 2 by 2", True, torch.nn.functional.dropout(torch.ones(1_000_002, device=CUDA), 0.25)
    yield "dropout columns", True, torch.nn.functional.dropout(torch.ones(80, 90, device=CUDA)[:, ::2], 0.25)
    weights = torch.arange(1.0, 101.0, device=CUDA)
    yield "multinomial 1", True, torch.multinomial(weights.repeat(50, 1), 1)
    yield "multinomial 10", True, torch.multinomial(weights, 10)
    yield "normal of tensors", False, torch.normal(weights, weights.sqrt())
    generator = torch.Generator(CUDA).manual_seed(99)
    yield "generator", True, torch.rand(1000, device=CUDA, generator=generator)
    yield "the next", True, torch.rand(7, device=CUDA)


def lines():
    torch.manual_seed(1234)
    for name, exact, tensor in draws():
        host = tensor.contiguous().cpu()
        if exact:
            value = hashlib.sha256(host.view(torch.uint8).numpy().tobytes()).hexdigest()[:16]
        else:
            some = host.double()[:: max(1, host.numel() // 6)][:6]
            value = " ".join(f"{float(v):.9g}" for v in some)
        offset = torch.cuda.default_generators[0].get_offset()
        yield name, exact, value, offset


def close(name, own, other):
    """Single precision after logarithms and sines; half precision may round the other way."""
    far = 2e-2 if "16" in name else 1e-4
    pairs = list(zip(map(float, own.split()), map(float, other.split())))
    return len(own.split()) == len(other.split()) and all(abs(a - b) <= far * max(1.0, abs(b)) for a, b in pairs)


def main():
    if len(sys.argv) < 2:
        for name, _, value, offset in lines():
            print(f"{name}: {value} {offset}")
        return 0
    with open(sys.argv[1], encoding="utf-8") as file:
        recorded = dict(line.rstrip("\n").rsplit(": ", 1) for line in file if not line.startswith("#"))
    wrong = 0
    for name, exact, value, offset in lines():
        other, _, place = recorded[name].rpartition(" ")
        same = value == other if exact else close(name, value, other)
        if not same or place != str(offset):
            wrong += 1
            print(f"{name}: {value} {offset}, recorded {other} {place}")
    print(f"{len(recorded) - wrong} of {len(recorded)} as recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
