"""Cells of recurrent networks, which are CUDA's alone: LSTM and GRU, forward and backward."""

import torch

from .memory import on_host, to_device, wait


def _hosts(*tensors):
    """The tensors on the CPU, and their device."""
    device = next(t.device for t in tensors if t is not None)
    wait(device.index)
    return [None if t is None else on_host(t) if t.is_cuda else t for t in tensors], device


def _gates(input_gates, hidden_gates, input_bias, hidden_bias):
    if input_bias is not None:
        return input_gates + input_bias, hidden_gates + hidden_bias
    return input_gates, hidden_gates


def lstm(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    (igates, hgates, cx, ibias, hbias), device = _hosts(input_gates, hidden_gates, cx, input_bias, hidden_bias)
    igates, hgates = _gates(igates, hgates, ibias, hbias)
    i, f, g, o = (igates + hgates).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return tuple(to_device(t, device) for t in (o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)))


def lstm_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    (grad_hy, grad_cy, cx, cy, workspace), device = _hosts(grad_hy, grad_cy, cx, cy, workspace)
    i, f, g, o = workspace.chunk(4, 1)
    tanh = cy.tanh()
    zero = torch.zeros_like(cy)
    grad_hy = zero if grad_hy is None else grad_hy
    grad_c = grad_hy * o * (1 - tanh * tanh) + (zero if grad_cy is None else grad_cy)
    parts = [
        grad_c * g * i * (1 - i), grad_c * cx * f * (1 - f), grad_c * i * (1 - g * g), grad_hy * tanh * o * (1 - o),
    ]
    gates = torch.cat(parts, 1)
    bias = gates.sum(0) if has_bias else torch.empty(0, dtype=gates.dtype)
    return tuple(to_device(t, device) for t in (gates, grad_c * f, bias))


def gru(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    (igates, hgates, hx, ibias, hbias), device = _hosts(input_gates, hidden_gates, hx, input_bias, hidden_bias)
    igates, hgates = _gates(igates, hgates, ibias, hbias)
    (ir, ii, inew), (hr, hi, hnew) = igates.chunk(3, 1), hgates.chunk(3, 1)
    reset, update = (ir + hr).sigmoid(), (ii + hi).sigmoid()
    new = (inew + reset * hnew).tanh()
    hy = new + update * (hx - new)
    return tuple(to_device(t, device) for t in (hy, torch.cat([reset, update, new, hx, hnew], 1)))


def gru_backward(grad_hy, workspace, has_bias):
    (grad_hy, workspace), device = _hosts(grad_hy, workspace)
    reset, update, new, hx, hnew = workspace.chunk(5, 1)
    grad_new = grad_hy * (1 - update) * (1 - new * new)
    grad_update = grad_hy * (hx - new) * update * (1 - update)
    grad_reset = grad_new * hnew * reset * (1 - reset)
    igates = torch.cat([grad_reset, grad_update, grad_new], 1)
    hgates = torch.cat([grad_reset, grad_update, grad_new * reset], 1)
    none = torch.empty(0, dtype=igates.dtype)
    biases = (igates.sum(0), hgates.sum(0)) if has_bias else (none, none)
    return tuple(to_device(t, device) for t in (igates, hgates, grad_hy * update, *biases))


OPERATORS = {
    "_thnn_fused_lstm_cell": lstm,
    "_thnn_fused_lstm_cell_backward_impl": lstm_backward,
    "_thnn_fused_gru_cell": gru,
    "_thnn_fused_gru_cell_backward": gru_backward,
}
