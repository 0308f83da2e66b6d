"""The notebook of the examples, executed."""

import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")


def test_the_notebook_runs_and_shows_a_profile():
    file = pathlib.Path(__file__).resolve().parents[1] / "examples/saxpy.ipynb"
    notebook = nbformat.read(file, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120).execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert "1." in outputs[2][0]["data"]["text/plain"] and "array" in outputs[2][0]["data"]["text/plain"]
    shown = outputs[3][0]["data"]
    assert shown["text/html"].startswith("<iframe srcdoc=") and "saxpy" in shown["text/plain"]
