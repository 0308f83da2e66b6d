"""Random numbers, as PyTorch's CUDA kernels draw them.

Every thread of a kernel has the subsequence of its own number of Philox4x32-10, and takes four words a turn. How many
threads there are depends on the device, so the numbers do as well. Uniform and integer numbers are the device's bit for
bit; those that come from logarithms, sines and cosines differ from it in the last places.
"""

import math

import torch

from .memory import on_host, wait

_MASK = 0xFFFFFFFF
_BLOCK = 256
_TURN = 4


def of(generator, device):
    if generator is not None:
        return generator
    torch.cuda.init()
    return torch.cuda.default_generators[device.index]


def take(generator, words):
    """The generator's place, which moves by `words`, a multiple of four."""
    seed, offset = generator.initial_seed(), generator.get_offset()
    generator.set_offset(offset + (words + 3) // 4 * 4)
    return seed & 0xFFFFFFFFFFFFFFFF, offset


def of_cpu(generator, device):
    """A generator for the CPU's operators, seeded from the device's."""
    generator = of(generator, device)
    if generator.device.type != "cuda":
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{generator.device.type}'")
    seed, offset = take(generator, _TURN)
    own = torch.Generator()
    return own.manual_seed((seed ^ offset * 0x9E3779B97F4A7C15) & 0x7FFFFFFFFFFFFFFF)


def threads(count, device):
    """Threads of a kernel for `count` numbers."""
    has = torch.cuda.get_device_properties(device)
    most = has.multi_processor_count * (has.max_threads_per_multi_processor // _BLOCK)
    return min(most, -(-count // _BLOCK)) * _BLOCK


def words(seed, offset, count, turns):
    """Four tensors of shape [turns, count]: what thread `i` of `count` draws in each turn."""
    turn = torch.arange(turns, dtype=torch.int64).unsqueeze(1) + offset // 4
    c0, c1 = (turn & _MASK).expand(turns, count), (turn >> 32 & _MASK).expand(turns, count)
    c2, c3 = torch.arange(count, dtype=torch.int64).expand(turns, count), torch.zeros((), dtype=torch.int64)
    k0, k1 = seed & _MASK, seed >> 32
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32 & _MASK) ^ c1 ^ k0, p1 & _MASK, (p0 >> 32 & _MASK) ^ c3 ^ k1, p0 & _MASK
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


def _uniform(word):
    """Numbers above 0 up to 1: a conversion and a multiplication with addition, each rounded to single precision."""
    return (word.float().double() * 2.0**-32 + 2.0**-33).float()


def uniforms(seed, offset, count, turns):
    """Four tensors of uniform numbers."""
    return [_uniform(word) for word in words(seed, offset, count, turns)]


def _pairs(drawn):
    """53 bits of two words, twice."""
    x, y, z, w = drawn
    return [(low ^ high << 21) & 0x1FFFFFFFFFFFFF for low, high in ((x, y), (z, w))]


def _normal(drawn):
    """The method of Box and Muller, in single precision."""
    out = []
    for first, second in (drawn[:2], drawn[2:]):
        angle = (second.double() * (2.0**-32 * 2 * math.pi) + 2.0**-33 * 2 * math.pi).float().double()
        length = (-2 * _uniform(first).double().log()).sqrt()
        out += [(angle.sin() * length).float(), (angle.cos() * length).float()]
    return out


def _normal_double(drawn):
    first, second = _pairs(drawn)
    angle = (second.double() * 2.0**-52 + 2.0**-53) * math.pi
    length = (-2 * (first.double() * 2.0**-53 + 2.0**-54).log()).sqrt()
    return [angle.sin() * length, angle.cos() * length]


def _uniform_any(drawn, double):
    if double:
        return [pair.double() * 2.0**-53 + 2.0**-54 for pair in _pairs(drawn)]
    return [_uniform(word) for word in drawn]


def _fill(tensor, generator, numbers, each, transform):
    """Fills a tensor in the order of its memory: a thread's numbers of a turn are all threads apart."""
    count = tensor.numel()
    if count == 0:
        return tensor
    device = tensor.device
    wait(device.index)
    generator = of(generator, device)
    if generator.device.type != "cuda":
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{generator.device.type}'")
    own = threads(count, device)
    turns = (count - 1) // (own * each) + 1
    seed, offset = take(generator, turns * _TURN)
    drawn = numbers(words(seed, offset, own, turns))
    values = transform(torch.stack(drawn, 1).reshape(-1)[:count])
    order = sorted(range(tensor.dim()), key=lambda d: -tensor.stride(d))
    place = on_host(tensor).permute(order)
    place.copy_(values.view(place.size()))
    return tensor


def _real(tensor, generator, transform, normal=False):
    double = tensor.dtype == torch.float64
    if normal:
        numbers = _normal_double if double else _normal
    else:
        def numbers(drawn):
            return _uniform_any(drawn, double)
    return _fill(tensor, generator, numbers, 2 if double else 4, transform)


def _fma(values, factor, summand):
    """`values * factor + summand`, rounded once."""
    if values.dtype == torch.float64:
        return _fma_double(values, torch.tensor(factor).double(), torch.tensor(summand).double())
    factor, summand = torch.tensor([factor, summand], dtype=torch.float32).double()
    return (values.double() * factor + summand).float()


def _halves(values):
    """Two numbers of 26 bits whose sum is `values`."""
    large = values * 134217729.0
    high = large - (large - values)
    return high, values - high


def _fma_double(values, factor, summand):
    """As `_fma`: product and sum by two numbers each."""
    product = values * factor
    (a, b), (c, d) = _halves(values), _halves(factor)
    rest = ((a * c - product) + a * d + b * c) + b * d
    total = product + summand
    back = total - product
    return total + (rest + ((product - (total - back)) + (summand - back)))


def uniform_(self, from_=0.0, to=1.0, *, generator=None, **named):
    from_ = named.get("from", from_)
    if not from_ <= to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")

    def transform(values):
        values = _fma(values, to - from_, from_).to(self.dtype)
        # The device's numbers are above 0 up to 1; the bounds change places.
        return torch.where(values == to, torch.full_like(values, from_), values)

    return _real(self, generator, transform)


def normal_(self, mean=0.0, std=1.0, *, generator=None):
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if self.is_complex():
        normal_(torch.view_as_real(self), 0.0, std / math.sqrt(2), generator=generator)
        return self.add_(mean) if mean else self
    return _real(self, generator, lambda values: _fma(values, std, mean), normal=True)


def _normal_like(mean, std, out, generator):
    size = torch.broadcast_shapes(
        mean.size() if isinstance(mean, torch.Tensor) else (), std.size() if isinstance(std, torch.Tensor) else ()
    )
    if out is None:
        like = mean if isinstance(mean, torch.Tensor) else std
        out = torch.empty(size, dtype=like.dtype, device=like.device)
    else:
        out.resize_(size)
    if isinstance(std, torch.Tensor):
        return normal_(out, generator=generator).mul_(std).add_(mean)
    return normal_(out, 0.0, std, generator=generator).add_(mean)


def normal(mean, std=1.0, *, generator=None):
    return _normal_like(mean, std, None, generator)


def normal_out(mean, std=1.0, *, generator=None, out):
    return _normal_like(mean, std, out, generator)


def bernoulli_(self, p=0.5, *, generator=None):
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    limit = p if self.dtype == torch.float64 else float(torch.tensor(p, dtype=torch.float32))
    return _real(self, generator, lambda values: values < limit)


def _logarithm(values):
    """Logarithms of numbers up to 1; none is 0."""
    least = torch.finfo(values.dtype).eps / 2
    return torch.where(values >= 1 - least, torch.full_like(values, -least), values.log())


def exponential_(self, lambd=1.0, *, generator=None):
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return _real(self, generator, lambda values: _logarithm(values) * (-1.0 / lambd))


def geometric_(self, p, *, generator=None):
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _real(self, generator, lambda values: (values.log() / math.log1p(-p)).ceil())


def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return _real(self, generator, lambda values: _fma(values, std, mean).exp(), normal=True)


def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return _real(self, generator, lambda values: median + sigma * (math.pi * (values - 0.5)).tan())


def _integers(self, generator, span, base):
    """Integers from `base` on, `span` of them."""
    if span < 1 << 28:
        return _fill(self, generator, list, 4, lambda values: values % span + base)

    def long(drawn):
        x, y, z, w = drawn
        return [x << 32 | y, z << 32 | w]

    def transform(values):
        return values if span >= 1 << 64 else _remainder(values, span) + base

    return _fill(self, generator, long, 2, transform)


def _remainder(values, span):
    """Remainders of 64-bit numbers without sign by `span`, 2^28 or more."""
    high = values >> 63 & 1
    low = values & 0x7FFFFFFFFFFFFFFF
    if span > 1 << 62:
        # One or two subtractions; sums wrap.
        signed = span - (1 << 64) if span >> 63 else span
        for _ in range(3):
            above = (values ^ -(1 << 63)) >= (signed ^ -(1 << 63))
            values = torch.where(above, values - signed, values)
        return values
    return (low % span + high * ((1 << 63) % span)) % span


def random_(self, *, generator=None):
    limits = {torch.float16: 2**11 + 1, torch.bfloat16: 2**8 + 1, torch.float32: 2**24 + 1, torch.float64: 2**53 + 1}
    span = 2 if self.dtype == torch.bool else limits.get(self.dtype) or torch.iinfo(self.dtype).max + 1
    if self.dtype in (torch.int64, torch.float64):

        def long(drawn):
            x, y, z, w = drawn
            return [x << 32 | y, z << 32 | w]

        def transform(values):
            if self.dtype == torch.int64:
                return values & 0x7FFFFFFFFFFFFFFF
            return _remainder(values, span)

        return _fill(self, generator, long, 2, transform)
    return _fill(self, generator, list, 4, lambda values: values % span)


def random_from(self, from_, to=None, *, generator=None):
    if to is None:
        if self.dtype.is_floating_point:
            to = 2 ** {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}[self.dtype] + 1
        else:
            to = torch.iinfo(self.dtype).max + 1
    if not from_ < to:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={from_} >= to={to}")
    return _integers(self, generator, to - from_, from_)


def random_to(self, to, *, generator=None):
    return random_from(self, 0, to, generator=generator)


def randperm(n, *, generator=None, out):
    out.resize_((n,))
    if n == 0:
        return out
    bits = min(64, math.ceil(math.log2(n - (6.0 * n * n + 1) / (math.log(0.9) * 12))))
    kind = torch.int32 if bits <= 32 else torch.int64
    keys = torch.empty(n, dtype=kind, device=out.device)
    least, most = torch.iinfo(kind).min, torch.iinfo(kind).max
    _integers(keys, generator, most - least, least)
    # Equal keys, which are rare, stay in order; the device mixes them once more.
    take(of(generator, out.device), n)
    low = on_host(keys).long() & ((1 << bits) - 1) if bits < 64 else on_host(keys)
    on_host(out).copy_(low.argsort(stable=True))
    return out


def multinomial(self, num_samples, replacement=False, *, generator=None):
    if num_samples <= 0 or self.dim() not in (1, 2) or not self.is_floating_point():
        raise RuntimeError("multinomial expects probabilities in one or two dimensions, and samples to draw")
    if not replacement and num_samples > self.size(-1):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    wait(self.device.index)
    if replacement and num_samples > 1:
        drawn = torch.multinomial(on_host(self), num_samples, True, generator=of_cpu(generator, self.device))
        return drawn.to(self.device)
    host = on_host(self)
    if not bool(torch.isfinite(host).all() & (host >= 0).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not bool((host.sum(-1) > 0).all()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    ranks = self / exponential_(torch.empty_like(self), generator=generator)
    if num_samples == 1:
        return ranks.argmax(-1, keepdim=True)
    return ranks.topk(num_samples).indices


def multinomial_out(self, num_samples, replacement=False, *, generator=None, out):
    drawn = multinomial(self, num_samples, replacement, generator=generator)
    return out.resize_(drawn.size()).copy_(drawn)


OPERATORS = {
    "uniform_": uniform_,
    "normal_": normal_,
    "normal.Tensor_float": normal,
    "normal.float_Tensor": normal,
    "normal.Tensor_Tensor": normal,
    "normal.Tensor_float_out": normal_out,
    "normal.float_Tensor_out": normal_out,
    "normal.Tensor_Tensor_out": normal_out,
    "bernoulli_.float": bernoulli_,
    "exponential_": exponential_,
    "geometric_": geometric_,
    "log_normal_": log_normal_,
    "cauchy_": cauchy_,
    "random_": random_,
    "random_.from": random_from,
    "random_.to": random_to,
    "randperm.generator_out": randperm,
    "multinomial": multinomial,
    "multinomial.out": multinomial_out,
}
