"""Check, run and time NVIDIA PTX and OpenCL C on any CPU.

>>> import ptxrun
>>> module = ptxrun.Module.from_opencl("kernel void one(global int *x) { x[get_global_id(0)] = 1; }")
>>> data = bytearray(8)
>>> module.one[1, 2](data).stdout
''
>>> data.hex()
'0100000001000000'
"""

from __future__ import annotations

from typing import Any

from ._command import ask as _ask
from ._errors import Error, Fault, Finding, Invalid, LaunchError
from ._module import Configured, Kernel, Launch, Module, Profile, check
from ._programs import exec, variables

__version__ = "0.1.0"

__all__ = [
    "Configured",
    "Error",
    "Fault",
    "Finding",
    "Invalid",
    "Kernel",
    "Launch",
    "LaunchError",
    "Module",
    "Profile",
    "check",
    "device",
    "devices",
    "exec",
    "explain",
    "variables",
]


def devices() -> list[dict[str, Any]]:
    """The GPUs that can be modelled: what ``ptxrun devices --json`` lists."""
    found: list[dict[str, Any]] = _ask("devices")["devices"]
    return found


def device(name: str) -> dict[str, Any]:
    """One GPU, by name (``"RTX 4090"``), target (``"sm_80"``), class (``"cc-8.6"``) or profile file (``"mine.toml"``),
    with the source of every number.
    """
    found: dict[str, Any] = _ask("devices", name)
    return found


def explain(instruction: str) -> dict[str, Any]:
    """What an instruction does, its forms, since when, how exact: what ``ptxrun explain --json`` writes."""
    found: dict[str, Any] = _ask("explain", instruction)
    return found


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext ptxrun`` in IPython and Jupyter: the cell magics ``%%ptx`` and ``%%opencl``."""
    from ._magics import Magics

    shell.register_magics(Magics(shell))
