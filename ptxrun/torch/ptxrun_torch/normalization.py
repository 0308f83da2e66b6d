"""RMS normalisation, whose backward kernel is CUDA's alone."""

import torch

from .memory import on_host, to_device, wait


def backward(grad_out, input, normalized_shape, rstd, weight, output_mask):
    device = input.device
    wait(device.index)
    grad, x, scale = on_host(grad_out).float(), on_host(input).float(), on_host(rstd).float()
    if input.dtype == torch.float64:
        grad, x, scale = on_host(grad_out), on_host(input), on_host(rstd).double()
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    normal = x * scale
    weighted = grad if weight is None else grad * on_host(weight).to(grad.dtype)
    grad_input = grad_weight = None
    if output_mask[0]:
        mean = (weighted * normal).mean(dims, keepdim=True)
        grad_input = to_device((scale * (weighted - normal * mean)).to(input.dtype), device)
    if output_mask[1] and weight is not None:
        rows = list(range(x.dim() - len(normalized_shape)))
        sums = (grad * normal).sum(rows) if rows else grad * normal
        grad_weight = to_device(sums.to(weight.dtype), device)
    return grad_input, grad_weight


OPERATORS = {"_fused_rms_norm_backward": backward}
