"""``pytest --ptxrun[=DEVICE]``: a project's tests of CUDA, OpenCL or Triton run without a GPU.

Libraries are found through variables that the loader reads when a process starts, so pytest starts itself once more
with them. Workers of pytest-xdist inherit them.

After the tests stands how many kernels each one launched. ``--ptxrun-check`` checks these kernels, and a test whose
kernels have a mistake fails. What a program does that a test starts is checked too; its launches are not counted.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator

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
    group.addoption(
        "--ptxrun-check",
        nargs="?",
        const="all",
        default=None,
        metavar="CHECKS",
        help="check the kernels of each test: memory, race, init, sync, several with commas between; all by default",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    options = early_config.known_args_namespace
    device = getattr(options, "ptxrun", None)
    checks = getattr(options, "ptxrun_check", None)
    if device is None and checks is not None:
        raise pytest.UsageError("--ptxrun-check checks what --ptxrun runs: give both")
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
        # The command refuses what is wrong in it.
        os.environ.update({"PTXRUN_CHECK": checks} if checks else {})
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


def pytest_configure(config: Any) -> None:
    if getattr(config.option, "ptxrun", None) is not None and _STARTED in os.environ:
        config.pluginmanager.register(_Watch(config), "ptxrun-watch")


def pytest_report_header(config: Any) -> str | None:
    if getattr(config.option, "ptxrun", None) is None:
        return None
    checked = f", checked for {config.option.ptxrun_check}" if config.option.ptxrun_check else ""
    return f"ptxrun: {os.environ.get(_STARTED)}, on this machine's processor{checked}"


class _Watch:
    """Sees what the kernels of each test do."""

    def __init__(self, config: Any) -> None:
        self.report: Path | None = None
        if config.option.ptxrun_check:
            # A process each: workers of pytest-xdist must not take one another's findings for theirs.
            self.folder = tempfile.TemporaryDirectory(prefix="ptxrun-")
            self.report = Path(self.folder.name) / "findings"
            os.environ["PTXRUN_CHECK_REPORT"] = str(self.report)
        self.read = 0
        self.launches: list[tuple[str, dict[str, int]]] = []
        _launches()

    def findings(self) -> str:
        """What the checks have found since this was last asked for, as text."""
        if self.report is None or not self.report.exists():
            return ""
        with self.report.open("rb") as file:
            file.seek(self.read)
            text = file.read()
        # The last line may be one that a program is just writing.
        whole = text[: text.rfind(b"\n") + 1]
        self.read += len(whole)
        return "".join(map(_told, whole.splitlines()))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        # Work that fixtures of a module began belongs to no test.
        _launches()
        outcome = yield
        found = self.findings()
        if found and outcome.excinfo is None:
            outcome.force_exception(Findings(found))
        elif found:
            item.add_report_section("call", "ptxrun", found)
        item.user_properties.append(("ptxrun_launches", _launches()))

    def pytest_runtest_logreport(self, report: Any) -> None:
        # With pytest-xdist the process that prints is not the one that ran the test.
        launches = dict(report.user_properties).get("ptxrun_launches") if report.when == "call" else None
        if launches:
            self.launches.append((report.nodeid, launches))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.launches:
            return
        terminalreporter.section("launches of ptxrun")
        many = not terminalreporter.config.option.verbose and len(self.launches) > _SHOWN
        for name, launches in self.launches[:_SHOWN] if many else self.launches:
            count, kernels = sum(launches.values()), len(launches)
            terminalreporter.write_line(f"{count:8} of {kernels} kernel{'s' if kernels != 1 else ''}  {name}")
        if many:
            terminalreporter.write_line(f"{len(self.launches) - _SHOWN} more tests launched kernels: -v shows them")


#: Tests whose launches are shown without -v.
_SHOWN = 20


class Findings(Exception):
    """A test's kernels have mistakes, which ``--ptxrun-check`` found."""


def _launches() -> dict[str, int]:
    """How often each kernel was launched in this process since this was last asked for."""
    from ._core import request

    launches: dict[str, int] = request({"do": "launches"})["launches"]
    return launches


def _told(line: bytes) -> str:
    """A line of a report as text for people; empty where it has notes alone."""
    from ._core import request

    report = json.loads(line)
    if not report["findings"]:
        return ""
    return str(request({"do": "findings", "report": report})["text"])
