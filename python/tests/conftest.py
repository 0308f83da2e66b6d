"""What the tests share."""

import pathlib

import pytest

pytest_plugins = ["pytester"]

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def samples() -> pathlib.Path:
    """The samples of the repository."""
    return ROOT / "samples"
