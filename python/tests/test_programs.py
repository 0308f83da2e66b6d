"""The command, programs that find the libraries, and the plugin of pytest."""

import json
import os
import subprocess
import sys

import pytest

import ptxrun

PROGRAM = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
name = ctypes.create_string_buffer(100)
assert cuda.cuDeviceGetName(name, 100, 0) == 0
print(name.value.decode())
"""


def run(*words, **options):
    return subprocess.run([sys.executable, "-m", "ptxrun", *words], capture_output=True, text=True, **options)


def test_the_command():
    assert run("--version").stdout.startswith("ptxrun ")
    wrong = run("check", "/no/such/file.ptx")
    assert wrong.returncode == 2 and "cannot read" in wrong.stderr
    isa = json.loads(run("isa", "szext", "--json").stdout)
    assert isa


def test_a_program_finds_the_driver():
    done = run("exec", "--device", "sm_80", "--", sys.executable, "-c", PROGRAM)
    assert (done.returncode, done.stderr) == (0, "")
    assert "A100" in done.stdout or "80" in done.stdout


def test_programs_ask_nvml():
    ask = "import ctypes; n = ctypes.CDLL('libnvidia-ml.so.1'); c = ctypes.c_uint(); print(n.nvmlInit_v2(), " \
        "n.nvmlDeviceGetCount_v2(ctypes.byref(c)), c.value)"
    done = run("exec", "--", sys.executable, "-c", ask)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "0 0 1\n")


def test_programs_find_the_assembler():
    done = run("exec", "--", "sh", "-c", '"$TRITON_PTXAS_PATH" --version')
    assert (done.returncode, done.stderr) == (0, "")
    assert "assembler of ptxrun" in done.stdout


def test_programs_started_inside_find_the_driver():
    before = dict(os.environ)
    with ptxrun.exec(device="h200") as variables:
        assert "LD_LIBRARY_PATH" in variables
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert dict(os.environ) == before
    assert (done.stdout, done.stderr) == ("NVIDIA H200\n", "")
    with pytest.raises(ptxrun.Error, match="banana"):
        with ptxrun.exec(device="banana"):
            pass


def test_importing_the_package_leaves_a_real_driver_alone():
    program = """
import ctypes, ptxrun
ptxrun.check("")
try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    print("none")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "none\n" or "libcuda.so.1" in os.popen("ldconfig -p").read(), done.stderr


def test_the_plugin_runs_tests_on_the_emulator(pytester):
    pytester.makepyfile(
        """
        import ctypes

        def test_device():
            cuda = ctypes.CDLL("libcuda.so.1")
            assert cuda.cuInit(0) == 0
            name = ctypes.create_string_buffer(100)
            assert cuda.cuDeviceGetName(name, 100, 0) == 0
            assert name.value == b"NVIDIA H200"
        """
    )
    line = [sys.executable, "-m", "pytest", "-p", "ptxrun.pytest_plugin"]
    if any(e.value == "ptxrun.pytest_plugin" for e in _entry_points()):
        line = line[:3]
    done = pytester.run(*line, "--ptxrun")
    done.stdout.fnmatch_lines(["ptxrun: H200, on this machine's processor", "*1 passed*"])
    assert done.ret == 0
    unknown = pytester.run(*line, "--ptxrun=banana")
    unknown.stderr.fnmatch_lines(["*unknown device 'banana'*"])
    assert unknown.ret == pytest.ExitCode.USAGE_ERROR


def _entry_points():
    from importlib.metadata import entry_points

    return entry_points(group="pytest11")
