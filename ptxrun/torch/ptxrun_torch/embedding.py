"""Bags of embeddings: CUDA's kernels return sizes and places where the CPU's leave them out."""

import torch

from .memory import on_host, to_device, wait

_MAX = 2


def _served(operator):
    def kernel(
        weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
        include_last_offset=False, padding_idx=-1,
    ):
        device = weight.device
        wait(device.index)
        weights = None if per_sample_weights is None else on_host(per_sample_weights)
        places, starts = on_host(indices), on_host(offsets)
        out, _, bag_size, most = operator(
            on_host(weight), places, starts, scale_grad_by_freq, mode, sparse, weights, include_last_offset, padding_idx
        )
        bag = torch.searchsorted(starts, torch.arange(len(places), dtype=starts.dtype), right=True) - 1
        sizes = torch.zeros(len(starts), dtype=places.dtype)
        sizes[: len(bag_size)] = bag_size
        parts = (out, bag.to(places.dtype), sizes, most if mode == _MAX else torch.empty(0, dtype=places.dtype))
        return tuple(to_device(part, device) for part in parts)

    return kernel


OPERATORS = {
    "_embedding_bag": _served(torch.ops.aten._embedding_bag.default),
    "_embedding_bag_forward_only": _served(torch.ops.aten._embedding_bag_forward_only.default),
}
