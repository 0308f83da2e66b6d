"""PyTorch on a device that ptxrun emulates.

PyTorch's own kernels are machine code, which cannot be run here. Its operators on the CUDA device are served by its
kernels for the CPU instead, on the same memory: tensors stay on the device, kernels that a program brings as PTX
(Triton's, `torch.compile`'s) run on the emulator, and what is between them runs on the CPU. Random numbers are those
that the CUDA kernels draw (`philox`).
"""

import ctypes
import os
import sys


_RUNTIMES = {"13": "libcudart.so.13", "12": "libcudart.so.12"}
_loaded = {}


def before():
    """Loads ptxrun's CUDA runtime, so that PyTorch does not load NVIDIA's from a folder of its own."""
    for version, name in _RUNTIMES.items():
        try:
            _loaded[version] = ctypes.CDLL(name, mode=ctypes.RTLD_LOCAL)
        except OSError:
            # Only one of them may be installed; PyTorch's import says what it misses.
            pass


def after():
    """Registers the operators, if this PyTorch uses CUDA and the driver is ptxrun's."""
    import torch

    if torch.version.cuda is None:
        return
    runtime = _loaded.get(torch.version.cuda.partition(".")[0])
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        driver.ptxrun_host_pointer
    except (OSError, AttributeError):
        return
    if runtime is None:
        return
    from . import operators

    operators.register(driver, runtime)
    if os.environ.get("PTXRUN_VERBOSE") not in (None, "", "0"):
        import atexit

        atexit.register(lambda: print(operators.summary(), file=sys.stderr))
