"""The command ``ptxrun`` of the wheel."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from . import _core
from ._errors import Error, Invalid, finding


def main() -> None:
    """Runs the command line of this process."""
    words = sys.argv[1:]
    if words[:1] == ["sweep"]:
        from .sweep import main as sweep

        sys.exit(sweep(words[1:]))
    # The engine knows nothing of Python's handler; Ctrl-C ends the process, as it ends any command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_core.main(["ptxrun", *words]))


def line(*words: str) -> list[str]:
    """The words that run the command in a process of its own."""
    return [sys.executable, "-m", "ptxrun", *words]


def environment() -> dict[str, str]:
    """Variables with which a child finds this package as this process does."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": home if not path else os.pathsep.join([home, path])}


def ask(*words: str, text: str | None = None) -> Any:
    """What a subcommand answers under ``--json``; its errors become exceptions."""
    done = subprocess.run(
        line(*words, "--json"), input=text, capture_output=True, text=True, env=environment()
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise Error((done.stderr or done.stdout).strip() or f"exit status {done.returncode}") from None
    if done.returncode:
        if "diagnostics" in answer:
            raise Invalid(
                done.stderr.strip() or "the text is not valid", [finding(f) for f in answer["diagnostics"]]
            )
        raise Error(answer.get("error", {}).get("message") or done.stderr.strip())
    return answer
