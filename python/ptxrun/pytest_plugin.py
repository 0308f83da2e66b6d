"""``pytest --ptxrun[=DEVICE]``: a project's tests of CUDA, OpenCL or Triton run without a GPU.

Libraries are found through variables that the loader reads when a process starts, so pytest starts itself once more
with them. Workers of pytest-xdist inherit them.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

#: Set in the process that has the variables; it holds the device.
_STARTED = "_PTXRUN_PYTEST"


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("ptxrun", "GPU programs on the processor")
    group.addoption(
        "--ptxrun",
        nargs="?",
        const="",
        default=None,
        metavar="DEVICE",
        help="run tests of CUDA and OpenCL on this machine's processor, as a GPU such as sm_90 or h200",
    )
    group.addoption(
        "--ptxrun-backend",
        choices=["interp", "jit"],
        default=None,
        help="engine that runs the kernels",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    options = early_config.known_args_namespace
    device = getattr(options, "ptxrun", None)
    if device is None or _STARTED in os.environ:
        return
    if list(early_config.invocation_params.args) != sys.argv[1:]:
        raise pytest.UsageError(
            "--ptxrun starts pytest again with other variables, so pytest must be the command; "
            "a program that calls pytest.main() can be started by `ptxrun exec`"
        )
    from ._errors import Error
    from ._programs import variables

    try:
        found = variables(device or None, options.ptxrun_backend)
    except Error as error:
        raise pytest.UsageError(f"--ptxrun: {error}") from None
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        # The new process writes where this one would have.
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    name = found.get("PTXRUN_DEVICE") or os.environ.get("PTXRUN_DEVICE") or "H200"
    os.execve(sys.executable, sys.orig_argv, {**os.environ, **found, _STARTED: name})


def pytest_report_header(config: Any) -> str | None:
    if getattr(config.option, "ptxrun", None) is None:
        return None
    return f"ptxrun: {os.environ.get(_STARTED)}, on this machine's processor"
