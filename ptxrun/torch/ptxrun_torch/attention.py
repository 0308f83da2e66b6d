"""Attention. PyTorch's fused kernels are CUDA's alone: `scaled_dot_product_attention` takes other operators unless a
program insists, and then the CPU's fused kernel serves."""

import torch

from .memory import on_host, to_device, wait


def prefer_operators():
    """What `scaled_dot_product_attention` chooses from when a program does not say."""
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)


def _no_dropout(dropout):
    if dropout:
        raise NotImplementedError(
            "ptxrun serves fused attention without dropout only; take SDPBackend.MATH, which has it"
        )


def _forward(query, key, value, bias, dropout, causal, scale):
    _no_dropout(dropout)
    wait(query.device.index)
    hosts = [on_host(t) for t in (query, key, value)]
    mask = None if bias is None else on_host(bias)
    out, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        *hosts, 0.0, causal, attn_mask=mask, scale=scale
    )
    return to_device(out, query.device), to_device(logsumexp, query.device)


def _backward(grad, query, key, value, bias, out, logsumexp, dropout, causal, scale):
    _no_dropout(dropout)
    wait(query.device.index)
    hosts = [on_host(t) for t in (grad, query, key, value, out, logsumexp)]
    mask = None if bias is None else on_host(bias)
    grads = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        *hosts, 0.0, causal, attn_mask=mask, scale=scale
    )
    return [to_device(g, query.device) for g in grads]


def _none(device):
    return torch.zeros((), dtype=torch.int64, device=device)


def flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    out, logsumexp = _forward(query, key, value, None, dropout_p, is_causal, scale)
    none = _none(query.device)
    return out, logsumexp, none, none, query.size(2), key.size(2), none, none, none


def flash_backward(
    grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
    philox_seed, philox_offset, *, scale=None,
):
    return tuple(_backward(grad_out, query, key, value, None, out, logsumexp, dropout_p, is_causal, scale))


def efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    out, logsumexp = _forward(query, key, value, attn_bias, dropout_p, is_causal, scale)
    none = _none(query.device)
    return out, logsumexp, none, none


def efficient_backward(
    grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p, grad_input_mask,
    is_causal=False, *, scale=None,
):
    if grad_input_mask[3]:
        raise NotImplementedError("ptxrun's fused attention has no gradient of its mask; take SDPBackend.MATH")
    bias = attn_bias if attn_bias is not None and attn_bias.numel() else None
    grads = _backward(grad_out_, query, key, value, bias, out, logsumexp, dropout_p, is_causal, scale)
    wanted = [grad if want else torch.Tensor() for grad, want in zip(grads, grad_input_mask)]
    return (*wanted, torch.Tensor())


OPERATORS = {
    "_scaled_dot_product_flash_attention": flash,
    "_scaled_dot_product_flash_attention_backward": flash_backward,
    "_scaled_dot_product_efficient_attention": efficient,
    "_scaled_dot_product_efficient_attention_backward": efficient_backward,
}
