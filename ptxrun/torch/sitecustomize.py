"""Found by Python first under `ptxrun exec`: prepares PyTorch, and Triton's benchmarks, when a program imports them, and
changes nothing else."""

import functools
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class _Loader:
    """Loads a module as its own loader does, between a step before and a step after."""

    def __init__(self, loader, before, after):
        self.loader, self.before, self.after = loader, before, after

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.before()
        self.loader.exec_module(module)
        self.after(module)


def _before_torch():
    import ptxrun_torch

    ptxrun_torch.before()


def _after_torch(module):
    import ptxrun_torch

    ptxrun_torch.after()


def _measure_once(module):
    """The modelled clock shows the same for every run of a kernel, and has little to show for the time that a run takes
    here: a benchmark that repeats it for 100 ms of that clock would take hours. So it runs as seldom as it can."""
    original = module.do_bench

    @functools.wraps(original)
    def do_bench(fn, warmup=0, rep=0, *args, **kwargs):
        return original(fn, 0, 0, *args, **kwargs)

    module.do_bench = do_bench


class _Finder:
    """Finds `torch`, and Triton's benchmarks where events read the modelled clock."""

    STEPS = {"torch": (_before_torch, _after_torch)}
    if os.environ.get("PTXRUN_TIMING") == "1":
        STEPS["triton.testing"] = (lambda: None, _measure_once)

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in cls.STEPS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None and spec.origin:
            spec.loader = _Loader(spec.loader, *cls.STEPS[name])
        return spec


def _next():
    """Runs the module of this name that Python would have found without us."""
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _Finder)
_next()
