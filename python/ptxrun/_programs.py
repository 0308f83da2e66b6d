"""Programs of CUDA and OpenCL that find ptxrun's libraries."""

from __future__ import annotations

import contextlib
import os
from typing import Iterator

from ._command import ask


def variables(device: str | None = None, backend: str | None = None) -> dict[str, str]:
    """The variables that make programs find the libraries: what ``ptxrun env --json`` writes."""
    words = ["env"]
    if device:
        words += ["--device", device]
    if backend:
        words += ["--backend", backend]
    found: dict[str, str] = ask(*words)["variables"]
    return found


@contextlib.contextmanager
def exec(device: str | None = None, backend: str | None = None) -> Iterator[dict[str, str]]:
    """Programs that are started inside find an emulated GPU::

        with ptxrun.exec(device="sm_90"):
            subprocess.run(["python3", "program.py"], check=True)

    It concerns programs that are started inside, not this process: a process looks at the search path of libraries
    only when it starts. ``pytest --ptxrun`` and ``ptxrun exec -- python3 …`` start Python that way.
    """
    found = variables(device, backend)
    before = {name: os.environ.get(name) for name in found}
    os.environ.update(found)
    try:
        yield found
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
