"""What PyTorch programs do around their models on the CUDA device, one check each.

    ptxrun exec -- python3 clients/torch_features.py
"""

import copy
import io
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

D = "cuda"


def close(a, b, far=1e-5):
    return torch.allclose(a.cpu().double(), b.cpu().double(), far, far)


def both(function, *inputs, far=1e-4):
    """The same on the device and on the CPU."""
    one, other = function(*[i.to(D) for i in inputs]), function(*inputs)
    pairs = zip(one, other) if isinstance(one, (list, tuple)) else [(one, other)]
    return all(a.device.type == D and a.dtype == b.dtype and a.shape == b.shape and close(a, b, far) for a, b in pairs)


def pinned():
    x = torch.arange(1000.0).pin_memory()
    y = x.to(D, non_blocking=True)
    back = torch.empty(1000).pin_memory()
    back.copy_(y, non_blocking=True)
    torch.cuda.synchronize()
    return x.is_pinned() and torch.equal(x, back)


def loader():
    data = TensorDataset(torch.arange(40.0).view(20, 2), torch.arange(20))
    total = sum(x.to(D, non_blocking=True).sum() for x, _ in DataLoader(data, 4, pin_memory=True, num_workers=2))
    return total.item() == 780


def streams():
    side, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(side):
        x = torch.ones(1000, device=D) * 3
        x.record_stream(side)
    torch.cuda.current_stream().wait_stream(side)
    end.record()
    end.synchronize()
    return x.sum().item() == 3000 and start.elapsed_time(end) >= 0


def mixed():
    model, scaler = torch.nn.Linear(8, 4).to(D), torch.amp.GradScaler()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    before = model.weight.detach().clone()
    for kind in (torch.float16, torch.bfloat16):
        with torch.autocast(D, kind):
            y = model(torch.ones(3, 8, device=D))
            loss = y.square().mean()
        if y.dtype != kind:
            return False
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return not torch.equal(before, model.weight)


def saved():
    model, file = torch.nn.Linear(3, 3).to(D), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    state = torch.load(file)
    return state["weight"].device.type == D and torch.equal(state["weight"], model.weight)


def outputs():
    a, b = torch.ones(3, device=D), torch.empty(0, device=D)
    torch.add(a, a, out=b)
    view = torch.zeros(3, 4, device=D)
    torch.mul(a, 5, out=view[:, 1])
    view.t()[2].add_(7)
    return b.tolist() == [2, 2, 2] and view.tolist() == [[0, 5, 7, 0]] * 3


def indices():
    x = torch.arange(12.0, device=D).view(3, 4)
    x[torch.tensor([0, 2])] += 1
    x[:, x[0] > 3] = 0
    x.index_add_(0, torch.tensor([1], device=D), torch.ones(1, 4, device=D))
    return x.tolist() == [[1, 2, 3, 0], [5, 6, 7, 1], [9, 10, 11, 0]] and x.nonzero().shape == (10, 2)


def refused(function, words):
    try:
        function()
    except (RuntimeError, TypeError) as error:
        return words in str(error)
    return False


def captured():
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(4, device=D)
    with torch.cuda.graph(graph):
        x + 1


def again():
    """The same seed gives the same numbers, and a state can be kept."""
    torch.manual_seed(5)
    a = torch.rand(10, device=D)
    state = torch.cuda.get_rng_state()
    b = torch.rand(10, device=D)
    torch.cuda.set_rng_state(state)
    c = torch.rand(10, device=D)
    torch.cuda.manual_seed(5)
    return torch.equal(b, c) and torch.equal(a, torch.rand(10, device=D))


def checkpointed():
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).to(D)
    x = torch.ones(2, 4, device=D, requires_grad=True)
    checkpoint(layer, x, use_reentrant=False).sum().backward()
    return x.grad is not None


def mapped():
    return both(torch.vmap(torch.dot), torch.randn(5, 3), torch.randn(5, 3))


def hessian():
    return close(torch.func.hessian(lambda x: (x**3).sum())(torch.ones(3, device=D)), 6 * torch.eye(3))


def untraced():
    """A loop whose graph breaks runs as it is, and what serves its operators is no frame for `torch.compile`."""
    from torch._dynamo.utils import counters

    def broken(x):
        for _ in range(3):
            torch._dynamo.graph_break()
            x = x.sin() + 1
        return x

    torch.compiler.reset()
    counters.clear()
    x = torch.ones(4, 2, device=D)
    return torch.equal(torch.compile(broken, backend="eager")(x), broken(x)) and counters["frames"]["total"] == 1


def clipped():
    x = torch.ones(3, device=D, requires_grad=True)
    (x * 10).sum().backward()
    return abs(torch.nn.utils.clip_grad_norm_([x], 1.0).item() - 300**0.5) < 1e-4


def add_there(given, answers):
    """In the other process."""
    x = given.get()
    x += 100
    torch.cuda.synchronize()
    answers.put(x.sum().item())
    # The one who sent it waits until it is given back.
    del x


def shared():
    """A tensor in another process, which adds to it (cuIpcOpenMemHandle)."""
    context = torch.multiprocessing.get_context("spawn")
    given, answers = context.Queue(), context.Queue()
    other = context.Process(target=add_there, args=(given, answers))
    other.start()
    x = torch.arange(8.0, device=D)
    given.put(x)
    total = answers.get(timeout=120)
    other.join(60)
    return total == 828 and x.tolist() == [100.0 + i for i in range(8)] and other.exitcode == 0


CHECKS = {
    "pinned memory": pinned,
    "DataLoader": loader,
    "streams, events": streams,
    "mixed precision": mixed,
    "save, load": saved,
    "out=, views": outputs,
    "indices": indices,
    "seeds, states": again,
    "checkpoint": checkpointed,
    "vmap": mapped,
    "two processes": shared,
    "hessian": hessian,
    "clip_grad_norm_": clipped,
    "frames compiled": untraced,
    "deep copy": lambda: copy.deepcopy(torch.nn.Linear(2, 2).to(D)).weight.is_cuda,
    "memory": lambda: torch.cuda.mem_get_info()[1] > 0 and torch.cuda.memory_allocated() >= 0,
    "printing": lambda: "device='cuda:0'" in repr(torch.randn(3, device=D)),
    "numpy refuses": lambda: refused(lambda: torch.ones(1, device=D).numpy(), "can't convert"),
    "two devices": lambda: refused(lambda: torch.ones(2, device=D) + torch.ones(2), "found at least two devices"),
    "graphs refused": lambda: refused(captured, "CUDA graph cannot capture"),
    "linalg": lambda: both(lambda a: torch.linalg.solve(a @ a.t() + torch.eye(4).to(a.device), a), torch.randn(4, 4)),
    "svd": lambda: both(torch.linalg.svdvals, torch.randn(5, 3)),
    "fft": lambda: both(lambda a: torch.fft.rfft(a).abs(), torch.randn(4, 16)),
    "complex": lambda: both(lambda a: torch.view_as_real(torch.complex(a, a) * 2j), torch.randn(7)),
    "sort, topk": lambda: both(lambda a: (*a.sort(0), *a.topk(2)), torch.randn(6, 5)),
    "unique": lambda: both(lambda a: a.unique(return_counts=True), torch.randint(0, 9, (50,))),
    "scatter": lambda: both(lambda a: a.scatter_reduce(0, (a > 0).long(), a, "amax"), torch.randn(6, 5)),
    "where": lambda: both(lambda a: torch.where(a > 0, a, 0.5), torch.randn(9)),
    "integers": lambda: both(lambda a: (a // 3, a % 5, a << 2, a ^ 6), torch.randint(-50, 50, (30,))),
    "half": lambda: both(lambda a: (a @ a.t()).softmax(-1), torch.randn(6, 6).half(), far=2e-3),
    "channels last": lambda: both(
        lambda a: torch.nn.functional.avg_pool2d(a.to(memory_format=torch.channels_last), 2), torch.randn(2, 3, 4, 4)),
    "histogram": lambda: both(lambda a: torch.bincount(a, minlength=12), torch.randint(0, 9, (100,))),
    "cdist": lambda: both(torch.cdist, torch.randn(4, 3), torch.randn(5, 3)),
    "grid sample": lambda: both(
        lambda a, g: torch.nn.functional.grid_sample(a, g, align_corners=False),
        torch.randn(1, 2, 5, 5), torch.rand(1, 4, 4, 2)),
    "ctc loss": lambda: both(
        lambda a, t: torch.nn.functional.ctc_loss(a.log_softmax(-1), t, [9, 9], [3, 3]),
        torch.randn(9, 2, 5), torch.randint(1, 5, (2, 3))),
}


def main():
    wrong = 0
    for name, check in CHECKS.items():
        try:
            said = "ok" if check() else "WRONG"
        except Exception as error:  # one check's failure is a line of the table
            said = f"FAILED {type(error).__name__}: {(str(error).strip() or repr(error)).splitlines()[0][:150]}"
        wrong += said != "ok"
        print(f"{name:20} {said}", flush=True)
    print(f"{len(CHECKS) - wrong} of {len(CHECKS)} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
