"""Memory of the emulated device, as the host sees it."""

import ctypes

import torch

_host_pointer = None
_stream_wait = None


class NoMemory(RuntimeError):
    """A tensor's address is none of the device's."""


def use(driver, runtime):
    """Takes the functions of the driver and of the runtime, which makes the context of a thread."""
    global _host_pointer, _stream_wait
    _host_pointer = driver.ptxrun_host_pointer
    _host_pointer.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    _host_pointer.restype = ctypes.c_void_p
    _stream_wait = runtime.cudaStreamSynchronize
    _stream_wait.argtypes = [ctypes.c_void_p]


def wait(index):
    """Waits for what the current stream of a device has been given."""
    if torch._C._cuda_isCurrentStreamCapturing():
        raise RuntimeError(
            "ptxrun serves PyTorch's own operators by the CPU, which a CUDA graph cannot capture: "
            "capture compiled kernels alone, or run without graphs"
        )
    if _stream_wait(torch._C._cuda_getCurrentRawStream(index)) != 0:
        # PyTorch's own call says what has happened, with its type of error.
        torch.cuda.current_stream(index).synchronize()


def on_host(tensor):
    """A tensor of the CPU on the same memory, for as long as `tensor` lives."""
    size = tensor.untyped_storage().nbytes()
    if size == 0:
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    address = tensor.untyped_storage().data_ptr()
    place = _host_pointer(address, size)
    if not place:
        raise NoMemory(f"no device memory of {size} bytes is at {address:#x}")
    storage = torch._C._construct_storage_from_data_pointer(place, torch.device("cpu"), size)
    alias = torch.empty(0, dtype=tensor.dtype)
    return alias.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())


def to_device(result, device):
    """A new tensor of the device with the values and strides of one of the CPU."""
    strides = result.stride()
    if 0 in strides:
        new = torch.empty(result.size(), dtype=result.dtype, device=device)
    else:
        new = torch.empty_strided(result.size(), strides, dtype=result.dtype, device=device)
    if result.numel() != 0:
        on_host(new).copy_(result)
    return new
