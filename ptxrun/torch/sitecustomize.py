"""Found by Python first under `ptxrun exec`: prepares PyTorch when a program imports it, and changes nothing else."""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class _Loader:
    """Loads a module as its own loader does, between a step before and a step after."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        import ptxrun_torch

        module.__spec__.loader = module.__loader__ = self.loader
        ptxrun_torch.before()
        self.loader.exec_module(module)
        ptxrun_torch.after()


class _Finder:
    """Finds `torch` alone."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None and spec.origin:
            spec.loader = _Loader(spec.loader)
        return spec


def _next():
    """Runs the module of this name that Python would have found without us."""
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _Finder)
_next()
