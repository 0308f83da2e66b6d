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


#: A test module that launches a kernel, which forgets a barrier where it is told so.
LAUNCHES = """
import ctypes

import pytest

PTX = b'''
.version 7.0
.target sm_70
.address_size 64
.visible .entry turn(.param .u64 out, .param .u32 wait)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .shared .b32 tile[64];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.u32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    ld.param.u32 %r5, [wait];
    setp.eq.u32 %p, %r5, 0;
    @%p bra READ;
    bar.sync 0;
READ:
    xor.b32 %r6, %r2, 252;
    add.u32 %r6, %r3, %r6;
    ld.shared.u32 %r7, [%r6];
    ld.param.u64 %rd1, [out];
    cvt.u64.u32 %rd2, %r2;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r7;
    ret;
}
'''


@pytest.fixture(scope="module")
def launch():
    cuda = ctypes.CDLL("libcuda.so.1")
    ok = lambda status: status == 0 or pytest.fail(str(status))
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    out = ctypes.c_uint64()
    ok(cuda.cuInit(0))
    ok(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    ok(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    ok(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"turn"))
    ok(cuda.cuMemAlloc_v2(ctypes.byref(out), 256))

    def launch(wait):
        wait = ctypes.c_uint32(wait)
        args = (ctypes.c_void_p * 2)(ctypes.addressof(out), ctypes.addressof(wait))
        ok(cuda.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, args, None))
        ok(cuda.cuCtxSynchronize())

    launch(1)
    return launch


def test_waits(launch):
    launch(1)
    launch(1)


def test_forgets(launch):
    launch(0)


def test_nothing():
    pass
"""


def test_the_plugin_counts_launches_and_checks_kernels(pytester):
    pytester.makepyfile(LAUNCHES)
    line = [sys.executable, "-m", "pytest", "-p", "ptxrun.pytest_plugin"]
    if any(e.value == "ptxrun.pytest_plugin" for e in _entry_points()):
        line = line[:3]
    plain = pytester.run(*line, "--ptxrun")
    plain.stdout.fnmatch_lines(["*2 of 1 kernel *::test_waits", "*1 of 1 kernel *::test_forgets"])
    plain.stdout.no_fnmatch_line("*::test_nothing*")
    assert plain.ret == 0
    checked = pytester.run(*line, "--ptxrun", "--ptxrun-check=race")
    checked.stdout.fnmatch_lines(
        ["ptxrun: H200, on this machine's processor, checked for race", "*race?read-write?*", "*1 failed, 2 passed*"]
    )
    checked.stdout.fnmatch_lines(["FAILED *::test_forgets*"])
    unknown = pytester.run(*line, "--ptxrun", "--ptxrun-check=banana")
    unknown.stderr.fnmatch_lines(["*PTXRUN_CHECK*banana*"])
    assert unknown.ret == pytest.ExitCode.USAGE_ERROR
    alone = pytester.run(*line, "--ptxrun-check")
    alone.stderr.fnmatch_lines(["*give both*"])
    assert alone.ret == pytest.ExitCode.USAGE_ERROR


def _entry_points():
    from importlib.metadata import entry_points

    return entry_points(group="pytest11")
