"""Modules, kernels, launches and profiles."""

from __future__ import annotations

import html as _html
import sys
import weakref
from typing import Any, Iterator, Mapping, Sequence

from . import _arrays, _core
from ._command import ask
from ._errors import Error, Fault, Finding, Invalid, LaunchError, finding

Extent = int | Sequence[int]


def _extent(what: str, given: Extent) -> list[int]:
    sizes = [given] if isinstance(given, int) else [int(n) for n in given]
    if not 1 <= len(sizes) <= 3 or any(not 0 < n < 1 << 32 for n in sizes):
        raise LaunchError(f"{what} {given!r}: give one to three numbers from 1 on")
    return sizes + [1] * (3 - len(sizes))


def _raise(reply: Mapping[str, Any]) -> None:
    """Turns a reply that says what went wrong into an exception."""
    if reply["ok"]:
        return
    error = reply["error"]
    kind, message = error["kind"], error.get("message", "")
    if kind == "invalid":
        raise Invalid(message, [finding(f) for f in reply.get("findings", ())])
    if kind == "fault":
        raise Fault(error["report"], error["fault"], reply.get("stdout", ""))
    if kind in {"entry", "unsupported", "arguments", "configuration", "memory", "module"}:
        raise LaunchError(error.get("report", message))
    raise Error(message)


class Launch:
    """What a launch left behind besides the contents of its arrays."""

    def __init__(self, reply: Mapping[str, Any]) -> None:
        #: What the kernel printed.
        self.stdout: str = reply["stdout"]
        #: What ran it, in words: the interpreter or compiled code.
        self.engine: str = reply["engine"]
        #: Wall-clock time on this machine.
        self.seconds: float = reply["seconds"]
        #: Instructions of warps, where the interpreter counted them.
        self.warp_instructions: int | None = reply["warp_instructions"]
        #: Instructions of threads, where the interpreter counted them.
        self.thread_instructions: int | None = reply["thread_instructions"]

    def __repr__(self) -> str:
        return f"<Launch on {self.engine}, {self.seconds * 1e3:.3f} ms>"


class Profile(Launch):
    """What a launch would cost on a modelled GPU. ``print`` shows it as text, Jupyter as a page with pictures."""

    def __init__(self, reply: Mapping[str, Any]) -> None:
        super().__init__(reply)
        #: The report as data: one launch of what ``ptxrun profile --json`` writes.
        self.data: dict[str, Any] = reply["profile"]["launches"][0]
        #: The report as one self-contained HTML page.
        self.html: str = reply["html"]
        self._text: str = reply["text"]

    @property
    def report(self) -> dict[str, Any]:
        """What the model found."""
        report: dict[str, Any] = self.data["report"]
        return report

    @property
    def advice(self) -> list[dict[str, Any]]:
        """What can be changed, by effect."""
        advice: list[dict[str, Any]] = self.data["advice"]
        return advice

    @property
    def microseconds(self) -> float:
        """The time on the modelled GPU."""
        return float(self.report["summary"]["microseconds"])

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        page = _html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0" title="profile"></iframe>'


class Configured:
    """A kernel with its grid and block: call it with the arguments."""

    def __init__(self, kernel: Kernel, grid: Extent, block: Extent) -> None:
        self._kernel = kernel
        self._grid, self._block = _extent("grid", grid), _extent("block", block)

    def __call__(
        self,
        *arguments: Any,
        shared: int = 0,
        backend: str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Launch:
        """Runs the kernel to its end. Arrays are used where they are, without copies.

        ``shared`` is dynamic shared memory in bytes; ``backend`` is ``"auto"``, ``"interp"`` or ``"jit"``; ``threads``
        counts host threads; ``timeout`` is in seconds. What the kernel prints goes to ``sys.stdout``.

        :raises LaunchError: when the launch is not possible.
        :raises Fault: when a thread goes wrong; it carries kernel, line, block, thread and address.
        """
        return self._run(
            arguments, shared=shared, backend=backend, threads=threads, timeout=timeout
        )

    def profile(
        self,
        *arguments: Any,
        device: str = "H200",
        shared: int = 0,
        registers: int | None = None,
        sample: int | None = None,
        warp: tuple[int, int] | None = None,
        accesses: Sequence[tuple[int, int]] | None = None,
    ) -> Profile:
        """Runs the kernel and says what it would cost on a GPU, such as ``"RTX 4090"`` or ``"sm_80"``.

        ``registers`` is what the assembler gave each thread, where that is known; ``sample`` is how many blocks to
        simulate, the rest is extrapolated. ``warp`` (block, warp) is a warp to follow: its divergence tree and the
        first access of each line; ``accesses`` are others of its accesses: a line of the PTX text, and which of its
        executions. The arrays hold the kernel's results afterwards.
        """
        launch = self._run(
            arguments,
            shared=shared,
            profile=device,
            registers=registers,
            sample=sample,
            warp=warp,
            accesses=accesses,
        )
        assert isinstance(launch, Profile)
        return launch

    def _run(self, arguments: Sequence[Any], **options: Any) -> Launch:
        params = self._kernel.params
        if len(arguments) != len(params):
            names = ", ".join(f"{p['name']} ({p['declaration']})" for p in params)
            raise LaunchError(
                f"{self._kernel.name} takes {len(params)} arguments, {len(arguments)} given: {names}"
            )
        given: list[dict[str, Any]] = []
        held: list[_arrays.Memory] = []
        for argument, parameter in zip(arguments, params):
            memory = _arrays.memory(argument, f"argument for `{parameter['name']}`")
            if memory is None or parameter["array"]:
                given.append({"hex": _arrays.value(argument, parameter).hex()})
            else:
                # Alive until the reply.
                held.append(memory)
                given.append(
                    {"host": memory.address, "bytes": memory.size, "name": parameter["name"]}
                )
        request: dict[str, Any] = {
            "do": "launch",
            "module": self._kernel.module._number,
            "kernel": self._kernel.name,
            "grid": self._grid,
            "block": self._block,
            "args": given,
            **{name: value for name, value in options.items() if value is not None},
        }
        reply = _core.request(request)
        del held
        if reply.get("stdout"):
            sys.stdout.write(reply["stdout"])
        _raise(reply)
        return Profile(reply) if "profile" in request else Launch(reply)


class Kernel:
    """A kernel of a module: ``kernel[grid, block](arguments…)`` runs it."""

    def __init__(self, module: Module, data: Mapping[str, Any]) -> None:
        #: The module.
        self.module = module
        #: Its name.
        self.name: str = data["name"]
        #: Parameters in order: ``name``, ``declaration``, ``bytes``.
        self.params: list[dict[str, Any]] = data["params"]
        #: Threads per block that it asks for, where it does.
        self.block: tuple[int, int, int] | None = tuple(data["block"]) if data["block"] else None
        #: Most threads per block, where it says so.
        self.max_block: tuple[int, int, int] | None = (
            tuple(data["max_block"]) if data["max_block"] else None
        )

    def __getitem__(self, configuration: tuple[Extent, Extent]) -> Configured:
        """The kernel with a grid and a block: numbers, or tuples of up to three."""
        if not isinstance(configuration, tuple) or len(configuration) != 2:
            raise LaunchError(f"write {self.name}[grid, block](…), with numbers or tuples")
        return Configured(self, *configuration)

    def __call__(self, *_: Any, **__: Any) -> Launch:
        raise LaunchError(f"say grid and block: {self.name}[grid, block](…)")

    def occupancy(
        self, block: Extent, device: str = "H200", registers: int | None = None, shared: int = 0
    ) -> dict[str, Any]:
        """How many blocks an SM holds, and what limits it: what ``ptxrun occupancy --json`` writes."""
        words = ["occupancy", "-", "--entry", self.name, "--device", device]
        words += ["--block", ",".join(map(str, _extent("block", block)))]
        if registers is not None:
            words += ["--regs", str(registers)]
        if shared:
            words += ["--shared", str(shared)]
        answer: dict[str, Any] = ask(*words, text=self.module.ptx)
        return answer

    def __repr__(self) -> str:
        params = ", ".join(f"{p['declaration']} {p['name']}" for p in self.params)
        return f"<Kernel {self.name}({params})>"


class Module:
    """A verified program. Its kernels are attributes and items: ``module.saxpy``, ``module["saxpy"]``."""

    def __init__(self, kind: str, text: str, name: str, options: str, lenient: bool) -> None:
        request = {"do": "load", "kind": kind, "text": text, "name": name, "options": options}
        reply = _core.request({**request, "lenient": lenient})
        _raise(reply)
        self._number: int = reply["module"]
        weakref.finalize(self, _core.request, {"do": "unload", "module": self._number})
        #: What the text is called in messages.
        self.name = name
        #: The PTX; of OpenCL C, what the compiler made of it.
        self.ptx: str = reply["ptx"]
        #: Warnings.
        self.findings: list[Finding] = [finding(f) for f in reply["findings"]]
        self._kernels = {data["name"]: Kernel(self, data) for data in reply["kernels"]}

    @classmethod
    def from_ptx(cls, text: str, name: str = "module.ptx", *, lenient: bool = False) -> Module:
        """Verifies PTX. ``lenient`` takes forms outside PTX that some generators write.

        :raises Invalid: with everything that is wrong with the text.
        """
        return cls("ptx", text, name, "", lenient)

    @classmethod
    def from_opencl(cls, text: str, name: str = "module.cl", *, options: str = "") -> Module:
        """Compiles OpenCL C, with options as ``clBuildProgram`` takes them: ``"-D N=16 -cl-mad-enable"``.

        :raises Invalid: with everything that is wrong with the text.
        """
        return cls("opencl", text, name, options, False)

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name, in the order of the text."""
        return dict(self._kernels)

    def __getitem__(self, name: str) -> Kernel:
        return self._kernels[name]

    def __getattr__(self, name: str) -> Kernel:
        try:
            return self.__dict__["_kernels"][name]  # type: ignore[no-any-return]
        except KeyError:
            known = ", ".join(self.__dict__.get("_kernels", {})) or "none"
            raise AttributeError(f"no kernel is named {name!r}; the module has {known}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kernels]

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._kernels.values())

    def __repr__(self) -> str:
        return f"<Module {self.name}: {', '.join(self._kernels) or 'no kernels'}>"


def check(text: str, kind: str = "ptx", name: str = "", *, options: str = "", lenient: bool = False) -> list[Finding]:
    """Everything that there is to say about PTX, or with ``kind="opencl"`` about OpenCL C. No finding with the
    severity ``"error"`` means that the text is valid.
    """
    if kind not in ("ptx", "opencl"):
        raise ValueError(f"kind {kind!r}: there are 'ptx' and 'opencl'")
    try:
        name = name or ("module.cl" if kind == "opencl" else "module.ptx")
        return Module(kind, text, name, options, lenient).findings
    except Invalid as invalid:
        return invalid.findings
