"""Cell magics for IPython and Jupyter."""

from __future__ import annotations

import sys

from IPython.core.magic import Magics as _Magics
from IPython.core.magic import cell_magic, magics_class

from ._errors import Invalid
from ._module import Module


@magics_class
class Magics(_Magics):
    """``%%ptx [NAME]`` and ``%%opencl [NAME] [OPTIONS]``: the cell becomes a module in the variable NAME."""

    def _define(self, line: str, cell: str, kind: str) -> None:
        name, _, options = line.strip().partition(" ")
        if not name.isidentifier():
            name, options = "module", line.strip()
        try:
            if kind == "opencl":
                module = Module.from_opencl(cell, f"{name}.cl", options=options)
            else:
                module = Module.from_ptx(cell, f"{name}.ptx")
        except Invalid as invalid:
            print(invalid, file=sys.stderr)
            return
        for finding in module.findings:
            print(finding, file=sys.stderr)
        if self.shell is not None:
            self.shell.user_ns[name] = module
        print(module)

    @cell_magic
    def ptx(self, line: str, cell: str) -> None:
        """Verifies the cell as PTX."""
        self._define(line, cell, "ptx")

    @cell_magic
    def opencl(self, line: str, cell: str) -> None:
        """Compiles the cell as OpenCL C."""
        self._define(line, cell, "opencl")
