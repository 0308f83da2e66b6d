"""Dropout: what is kept is what PyTorch's CUDA kernel keeps."""

import torch

from . import philox
from .memory import on_host, to_device, wait


def _is_dense(tensor):
    """Whether elements are neighbours, in some order of dimensions."""
    step = 1
    for stride, size in sorted((tensor.stride(d), tensor.size(d)) for d in range(tensor.dim()) if tensor.size(d) > 1):
        if stride != step:
            return False
        step *= size
    return True


def _each(tensor):
    """Neighbouring elements that a thread takes in a turn: 16 bytes where they fit."""
    each = 16 // tensor.element_size() if _is_dense(tensor) else 1
    while each > 1 and (tensor.numel() % each or tensor.data_ptr() % (each * tensor.element_size())):
        each //= 2
    return each


def _kept(tensor, keep, generator):
    """Which elements stay, in the order of memory."""
    count = tensor.numel()
    own = philox.threads(count, tensor.device)
    # The place in the sequence moves as if threads took four elements a turn, all threads apart.
    turns = (count - 1) // (own * 4) + 1
    seed, offset = philox.take(philox.of(generator, tensor.device), turns * 4)
    each = _each(tensor)
    limit = float(torch.tensor(keep, dtype=torch.float32))
    if each == 1:
        drawn = torch.stack(philox.uniforms(seed, offset, own, turns), 1)
    else:
        calls = -(-each // 4)
        turns = (count - 1) // (own * each) + 1
        # [turn, call, thread, word] as [turn, thread, call, word]; two elements use two words of their call.
        drawn = torch.stack(philox.uniforms(seed, offset, own, turns * calls), 2)
        drawn = drawn.view(turns, calls, own, 4)[..., : min(each, 4)].transpose(1, 2)
    return drawn.reshape(-1)[:count] < limit


def _apply(tensor, keep, kind, generator=None):
    wait(tensor.device.index)
    host = on_host(tensor)
    order = sorted(range(host.dim()), key=lambda d: -host.stride(d))
    back = [order.index(d) for d in range(host.dim())]
    kept = _kept(tensor, keep, generator)
    kept = kept.view([host.size(d) for d in order]).permute(back)
    wide = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    scale = torch.tensor(1.0, dtype=wide) / torch.tensor(keep, dtype=wide)
    out = (host.to(wide) * kept.to(wide) * scale).to(tensor.dtype)
    mask = torch.empty_like(out, dtype=kind).copy_(kept)
    return to_device(out, tensor.device), to_device(mask, tensor.device)


def native_dropout(input, p, train):
    if not train or p == 0 or input.numel() == 0:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(input), torch.zeros_like(input, dtype=torch.bool)
    return _apply(input, 1.0 - p, torch.bool)


def fused_dropout(self, p, generator=None):
    if self.numel() == 0:
        return self.clone(), torch.ones_like(self, dtype=torch.uint8)
    return _apply(self, p, torch.uint8, generator)


OPERATORS = {"native_dropout": native_dropout, "_fused_dropout": fused_dropout}
