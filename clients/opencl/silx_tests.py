"""The OpenCL tests of silx and pyFAI (pip install silx[full] pyFAI pyopencl pytest):
ptxrun exec -- python clients/opencl/silx_tests.py silx pyFAI

Some of silx's tests download a picture; here it is drawn instead, so that they run without a network."""

import os
import sys
from importlib.util import find_spec

import numpy
import pytest
import scipy.datasets


def drawn():
    """A picture of 512x512 with spots of many sizes, always the same."""
    y, x = numpy.mgrid[0:512, 0:512]
    random = numpy.random.default_rng(1)
    picture = 110 + 30 * numpy.sin(x / 47.0) * numpy.cos(y / 61.0) + random.integers(0, 6, (512, 512))
    for _ in range(400):
        row, column, radius, height = *random.uniform(0, 512, 2), random.uniform(2, 22), random.uniform(-90, 90)
        picture += height * numpy.exp(-((x - column) ** 2 + (y - row) ** 2) / (2 * radius**2))
    return numpy.clip(picture, 0, 255).astype("uint8")


class Needs:
    """What the packages' own runners give to tests."""

    @pytest.fixture
    def use_large_memory(self):
        return False


scipy.datasets.ascent = drawn
os.environ["PYOPENCL_NO_CACHE"] = "1"
folders = [os.path.join(os.path.dirname(find_spec(name).origin), "opencl") for name in sys.argv[1:]]
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *folders], plugins=[Needs()]))
