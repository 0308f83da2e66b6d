"""PyTorch programs on the CUDA device, forward and backward, as they are and compiled by `torch.compile`. Results are
compared with the same program's on the CPU: equal up to the order of sums.

    ptxrun exec -- python3 clients/torch_programs.py            # all; names choose some; --eager: nothing compiled
"""

import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, causal=False):
        super().__init__()
        self.qkv, self.out, self.causal = nn.Linear(32, 96), nn.Linear(32, 32), causal

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, 4, 8).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.attention = nn.LayerNorm(32), nn.LayerNorm(32), Attention(True)
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.blocks, self.head = nn.Sequential(Block(), Block()), nn.Linear(32, 50)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.blocks(x))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.n = nn.BatchNorm2d(4)

    def forward(self, x):
        return F.relu(x + self.b(F.relu(self.n(self.a(x)))))


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class First(nn.Module):
    """A recurrent network's outputs without its state."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)[0]


def rotary(x):
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[1], device=x.device)[:, None] / 10000 ** (torch.arange(half, device=x.device) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def normal(*size):
    return lambda: (torch.randn(*size),)


def program(make, inputs=normal(8, 32), target=None):
    """A model, its inputs, and the loss of its output."""
    return make, inputs, target or (lambda y: y.float().square().mean())


def classes(count):
    def loss(y):
        rows = y.reshape(-1, y.shape[-1])
        return F.cross_entropy(rows, torch.arange(len(rows), device=y.device) % count)

    return loss


PROGRAMS = {
    "linear": program(lambda: nn.Linear(32, 16)),
    "mlp": program(lambda: nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)), target=classes(10)),
    "gelu": program(lambda: nn.Sequential(nn.Linear(32, 32), nn.GELU(approximate="tanh"), nn.Linear(32, 8))),
    "silu gate": program(lambda: nn.Sequential(nn.Linear(32, 64), nn.GLU(), nn.SiLU(), nn.Linear(32, 8))),
    "softmax": program(lambda: Function(lambda x: x.softmax(-1) * x)),
    "log softmax": program(lambda: nn.Sequential(nn.Linear(32, 20), nn.LogSoftmax(-1))),
    "layer norm": program(lambda: nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 8))),
    "rms norm": program(lambda: nn.Sequential(nn.RMSNorm(32), nn.Linear(32, 8))),
    "group norm": program(lambda: nn.GroupNorm(2, 4), normal(2, 4, 8, 8)),
    "batch norm": program(lambda: nn.BatchNorm1d(32), normal(16, 32)),
    "cnn": program(
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(392, 10)),
        normal(2, 3, 16, 16), classes(10)),
    "residual": program(lambda: nn.Sequential(Residual(), Residual()), normal(2, 4, 8, 8)),
    "depthwise": program(lambda: nn.Conv2d(8, 8, 3, groups=8, stride=2), normal(2, 8, 9, 9)),
    "transposed convolution": program(lambda: nn.ConvTranspose2d(4, 3, 4, stride=2), normal(2, 4, 5, 5)),
    "convolution 1d": program(lambda: nn.Conv1d(4, 6, 5, dilation=2), normal(2, 4, 30)),
    "average pool": program(lambda: nn.Sequential(nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1)), normal(2, 4, 8, 8)),
    "upsample": program(lambda: nn.Upsample(scale_factor=2, mode="bilinear"), normal(2, 3, 5, 5)),
    "attention": program(Attention, normal(2, 12, 32)),
    "causal attention": program(lambda: Attention(True), normal(2, 12, 32)),
    "encoder": program(lambda: nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True), normal(2, 10, 32)),
    "language model": program(Language, lambda: (torch.randint(0, 50, (2, 16)),), classes(50)),
    "embedding bag": program(lambda: nn.EmbeddingBag(40, 16, mode="sum"), lambda: (torch.randint(0, 40, (6, 5)),)),
    "rnn": program(lambda: First(nn.RNN(8, 16, batch_first=True)), normal(3, 7, 8)),
    "lstm": program(lambda: First(nn.LSTM(8, 16, 2, batch_first=True)), normal(3, 7, 8)),
    "gru": program(lambda: First(nn.GRU(8, 16, batch_first=True)), normal(3, 7, 8)),
    "rotary": program(lambda: Function(rotary), normal(2, 12, 16)),
    "scan": program(lambda: Function(lambda x: x.cumsum(-1).tanh() + x.sort(-1).values), normal(4, 33)),
    "gather": program(lambda: Function(lambda x: x.gather(1, x.argsort(1)) * x[:, :1]), normal(6, 20)),
    "einsum": program(lambda: Function(lambda x: torch.einsum("bij,bkj->bik", x, x)), normal(3, 10, 12)),
    "half": program(lambda: nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).bfloat16(),
                    lambda: (torch.randn(8, 32, dtype=torch.bfloat16),)),
}


def step(model, inputs, loss_of, run):
    """Output, loss, gradients, and the parameters after a step of Adam."""
    inputs = [i.clone().requires_grad_() if i.is_floating_point() else i.clone() for i in inputs]
    output = run(*inputs)
    loss = loss_of(output)
    loss.backward()
    results = [output, loss] + [i.grad for i in inputs if i.grad is not None]
    parameters = list(model.parameters())
    results += [p.grad for p in parameters]
    if parameters:
        torch.optim.Adam(parameters, lr=1e-2, foreach=True, eps=1e-3).step()
    return [r.detach().float().cpu() for r in results + parameters]


def results(name, device, compiled):
    make, inputs, loss_of = PROGRAMS[name]
    torch.manual_seed(7)
    model, given = make(), inputs()
    model = model.to(device)
    given = [i.to(device) for i in given]
    return step(model, given, loss_of, torch.compile(model) if compiled else model)


def bound(name):
    """How far results may be apart: sums are in another order."""
    return 2e-2 if name == "half" else 2e-5


def difference(a, b):
    return max(((x - y).abs().max() / (1 + y.abs().max())).item() for x, y in zip(a, b))


def main():
    words = sys.argv[1:]
    modes = [False] if "--eager" in words else [False, True]
    names = [w for w in words if not w.startswith("--")] or list(PROGRAMS)
    wrong = runs = 0
    for name in names:
        expected = results(name, "cpu", False)
        for compiled in modes:
            mode = "compiled" if compiled else "eager"
            start = time.time()
            runs += 1
            try:
                far = difference(results(name, "cuda", compiled), expected)
            except Exception as error:  # one program's failure is a line of the table
                first = (str(error).strip() or repr(error)).splitlines()[0]
                print(f"{name:24} {mode:9} FAILED {type(error).__name__}: {first[:150]}", flush=True)
                wrong += 1
                continue
            ok = far < bound(name)
            wrong += not ok
            print(f"{name:24} {mode:9} {'ok' if ok else 'WRONG'} {far:.1e} {time.time() - start:6.1f} s", flush=True)
            torch.compiler.reset()
    print(f"{runs - wrong} of {runs} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
