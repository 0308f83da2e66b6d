"""What can go wrong, and what the verifier has to say."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that the verifier or the OpenCL C compiler has to say about a text."""

    #: ``"error"`` or ``"warning"``.
    severity: str
    #: The rule, such as ``"unknown-opcode"``.
    code: str
    #: One sentence.
    message: str
    #: The file, where there is a place.
    file: str | None
    #: From 1.
    line: int | None
    #: From 1.
    column: int | None
    #: Where it ends, from 1.
    end_line: int | None
    #: From 1.
    end_column: int | None
    #: More about it.
    notes: tuple[str, ...] = ()
    #: What to write instead, where that is known.
    help: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.severity}: {self.message}"


def finding(data: dict[str, Any]) -> Finding:
    """A finding from the form that ``ptxrun check --json`` writes."""
    start, end = data.get("start") or {}, data.get("end") or {}
    notes = tuple(n if isinstance(n, str) else str(n.get("message", n)) for n in data.get("notes") or ())
    help_ = data.get("help")
    return Finding(
        severity=data.get("severity", "error"),
        code=str(data.get("code", "")),
        message=data.get("message", ""),
        file=data.get("file"),
        line=start.get("line"),
        column=start.get("column"),
        end_line=end.get("line"),
        end_column=end.get("column"),
        notes=notes,
        help="; ".join(help_) if isinstance(help_, list) else help_,
    )


class Error(Exception):
    """Anything that ptxrun refuses or that goes wrong in it."""


class Invalid(Error):
    """A text that does not parse or verify."""

    def __init__(self, message: str, findings: list[Finding]) -> None:
        super().__init__(message)
        #: Everything that there is to say about the text.
        self.findings = findings


class LaunchError(Error):
    """A launch that is not possible: arguments, grid or block that do not fit, an instruction that cannot run."""


class Fault(LaunchError):
    """A kernel that went wrong while it ran."""

    def __init__(self, report: str, data: dict[str, Any], stdout: str) -> None:
        super().__init__(report)
        place = data.get("place") or {}
        source, ptx = place.get("source") or {}, place.get("ptx") or {}
        access = data.get("access") or {}
        where = source or ptx
        #: What happened, such as ``"OutOfBounds"`` or ``"Misaligned"``.
        self.kind: str = data["kind"]
        #: One sentence.
        self.message: str = data["message"]
        #: The kernel.
        self.kernel: str = data["kernel"]
        #: The file: the source if the PTX names it, else the PTX.
        self.file: str | None = where.get("file")
        #: The line in that file, from 1.
        self.line: int | None = where.get("line")
        #: The column in that line, from 1.
        self.column: int | None = where.get("column")
        #: The line in the PTX, from 1.
        self.ptx_line: int | None = ptx.get("line")
        #: The instruction's text.
        self.instruction: str | None = place.get("text")
        #: Index of the block.
        self.block: tuple[int, int, int] = tuple(data["block"])
        #: Index of the thread in its block.
        self.thread: tuple[int, int, int] = tuple(data["thread"])
        #: The address that was accessed, where it was an access.
        self.address: int | None = access.get("address")
        #: Whether the access was a write.
        self.write: bool | None = access.get("write")
        #: Values of the instruction's registers.
        self.registers: dict[str, int] = {r["name"]: r["value"] for r in data.get("registers", ())}
        #: What the kernel had printed.
        self.stdout = stdout
        #: Everything that is known, as ``ptxrun --json`` writes it.
        self.data = data
