"""Operators of the CUDA device, served by the CPU on the device's memory."""

import warnings

import torch

from . import attention, dropout, embedding, memory, normalization, philox, recurrent
from .memory import on_host, to_device

_library = None
_served = {}

# What the CUDA kernels of these do is on the host alone: allocation, sizes, strides.
_KEPT = {
    "empty.memory_format", "empty_strided", "_efficientzerotensor", "resize_", "record_stream", "is_set_to",
    "set_", "set_.source_Storage", "set_.source_Storage_storage_offset", "set_.source_Tensor",
    "_nested_view_from_buffer", "_reshape_alias", "as_strided", "unfold", "view", "view_as_complex", "view_as_real",
}
# Operators whose tensors may be on the CPU and on the device, whatever their size.
_MIXED = {"copy_", "_foreach_copy_", "index.Tensor", "index_put_", "_index_put_impl_", "index.Tensor_out"}
# Operators that have kernels for all devices, which start further ones; one for the whole is less to do.
_WHOLE = ("copy_", "convolution", "convolution.out", "convolution_backward")


def register(driver, runtime):
    """Puts the operators in the place of CUDA's."""
    global _library
    memory.use(driver, runtime)
    # cuDNN is machine code too; without it PyTorch takes operators of its own.
    torch.backends.cudnn.enabled = False
    attention.prefer_operators()
    parts = (attention, dropout, embedding, normalization, philox, recurrent)
    own = {name: function for part in parts for name, function in part.OPERATORS.items()}
    own.update(_LIBRARIES)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [n[6:] for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")]
    known = set(names)
    _leave_untraced()
    # One object for the process: the operators go with it.
    _library = torch._C._dispatch_library("IMPL", "aten", "CUDA", "", 0)
    with warnings.catch_warnings():
        # Some versions warn of the first kernel that is put in the place of another one.
        warnings.filterwarnings("ignore", "Warning only once for all operators")
        for name in names:
            if name in _KEPT or name in own:
                continue
            if name in _WHOLE or has("aten::" + name, "CUDA"):
                _library.impl(name, "CUDA", _by_cpu(name), False)
        for name, function in own.items():
            if name in known:
                _library.impl(name, "CUDA", _counted(name, function), False)


def _leave_untraced():
    """Keeps `torch.compile` from compiling what serves an operator, and all that it calls, where a program's graph
    breaks: a compiled RNN took four times as long."""
    try:
        frames = torch._C._dynamo.eval_frame
        skip = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
        mark = frames.set_code_exec_strategy
    except AttributeError:
        # Versions before 2.7: traced, which is slow and nothing else.
        return
    # The closures of a function share its code.
    for kernel in (_by_cpu(""), _counted("", None)):
        mark(kernel.__code__, skip)


def summary():
    """The operators that were served, most often called first."""
    if not _served:
        return "ptxrun: PyTorch called no operator of the CUDA device"
    most = sorted(_served.items(), key=lambda item: (-item[1], item[0]))
    names = ", ".join(f"{name} {count}" for name, count in most)
    return f"ptxrun: PyTorch's operators that the CPU served: {names}"


def _counted(name, function):
    def kernel(*args, **kwargs):
        _served[name] = _served.get(name, 0) + 1
        return function(*args, **kwargs)

    return kernel


def operator(name):
    """An operator of PyTorch by its name with its overload."""
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def _no(*args, **kwargs):
    return False


# Whether an operator goes to a library of machine code.
_LIBRARIES = dict.fromkeys(
    ("_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor"), _no
)


class _Call:
    """The arguments of a call, on the CPU."""

    def __init__(self, name):
        self.name = name
        self.device = None
        self.pairs = []
        self.others = False
        self.fresh = []

    def find(self, value):
        """Notes on which device the call is."""
        if isinstance(value, torch.Tensor):
            if value.is_cuda:
                if self.device is None:
                    self.device = value.device
                elif self.device != value.device:
                    self._mixed(value.device)
            elif value.dim() > 0 and value.device.type == "cpu":
                self.others = True
        elif isinstance(value, (list, tuple)):
            for item in value:
                self.find(item)
        elif isinstance(value, torch.device) and value.type == "cuda" and self.device is None:
            self.device = value

    def _mixed(self, other):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {self.device} and {other}!"
        )

    def begin(self):
        if self.others and self.device is not None and self.name not in _MIXED:
            self._mixed("cpu")
        index = self.device.index if self.device is not None else None
        if index is None:
            index = torch.cuda.current_device()
            self.device = torch.device("cuda", index)
        memory.wait(index)

    def moved(self, value):
        """An argument as the CPU's operator takes it."""
        if isinstance(value, torch.Tensor):
            if not value.is_cuda:
                return value
            alias = on_host(value)
            self.pairs.append((alias, value))
            return alias
        if isinstance(value, (list, tuple)):
            return type(value)(self.moved(item) for item in value)
        if isinstance(value, torch.device):
            return torch.device("cpu") if value.type == "cuda" else value
        return value

    def result(self, value):
        """A result on the device."""
        if isinstance(value, torch.Tensor):
            for alias, tensor in self.pairs:
                if value is alias:
                    return tensor
            for new, tensor in self.fresh:
                if value is new:
                    tensor.resize_(value.size())
                    on_host(tensor).copy_(value)
                    return tensor
            return to_device(value, self.device)
        if isinstance(value, (list, tuple)):
            return type(value)(self.result(item) for item in value)
        return value


def _is_missing(error):
    return isinstance(error, NotImplementedError) or "not implemented for" in str(error)


def _widened(value, kinds):
    """Half-precision tensors as single-precision ones."""
    if isinstance(value, torch.Tensor) and value.dtype in kinds:
        return value.float()
    if isinstance(value, (list, tuple)):
        return type(value)(_widened(item, kinds) for item in value)
    return torch.float32 if isinstance(value, torch.dtype) and value in kinds else value


_HALVES = (torch.float16, torch.bfloat16)


def _wide(op, args, kwargs):
    """The operator in single precision, for types that the CPU's has no kernel of; None where it writes arguments."""
    if any(a.alias_info is not None for a in op._schema.arguments):
        return None
    kinds = [t.dtype for t in args if isinstance(t, torch.Tensor) and t.dtype in _HALVES]
    if not kinds:
        return None

    def narrowed(value):
        if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
            return value.to(kinds[0])
        return type(value)(narrowed(item) for item in value) if isinstance(value, (list, tuple)) else value

    kwargs = {key: _widened(value, _HALVES) for key, value in kwargs.items()}
    return narrowed(op(*[_widened(value, _HALVES) for value in args], **kwargs))


def _has_numbers(op, args):
    """Whether a number stands where the operator takes a tensor: PyTorch hands wrapped numbers over so."""
    kinds = op._schema.arguments
    return any(isinstance(v, (bool, int, float, complex)) and str(k.type) == "Tensor" for v, k in zip(args, kinds))


def _by_cpu(name):
    """The operator `name`, served by the CPU."""
    op = None
    outputs = ()
    draws = False

    def kernel(*args, **kwargs):
        nonlocal op, outputs, draws
        if op is None:
            op = operator(name)
            outputs = tuple(a.name for a in op._schema.arguments if a.is_out)
            draws = any(a.name == "generator" for a in op._schema.arguments)
        _served[name] = _served.get(name, 0) + 1
        call = _Call(name)
        call.find(args)
        call.find(tuple(kwargs.values()))
        call.begin()
        moved = [call.moved(value) for value in args]
        named = {}
        if draws:
            # Other numbers than CUDA's, but ones that the generator of the device decides.
            kwargs["generator"] = philox.of_cpu(kwargs.get("generator"), call.device)
        for key, value in kwargs.items():
            if key in outputs and isinstance(value, torch.Tensor) and value.is_cuda and value.numel() == 0:
                # The operator gives it its size; memory that is not its own cannot grow.
                named[key] = torch.empty(0, dtype=value.dtype)
                call.fresh.append((named[key], value))
            else:
                named[key] = call.moved(value)
        # Which overload takes the number, PyTorch finds by itself.
        called = op if not _has_numbers(op, moved) else op.overloadpacket
        try:
            result = called(*moved, **named)
        except (NotImplementedError, RuntimeError) as error:
            result = _wide(op, moved, named) if _is_missing(error) else None
            if result is None:
                raise
        return call.result(result)

    return kernel
