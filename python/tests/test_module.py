"""Modules, kernels and launches."""

import array
import ctypes
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

import ptxrun

SAXPY = """
kernel void saxpy(global float *y, global const float *x, float a, uint n) {
    uint i = get_global_id(0);
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def test_a_kernel_works_on_the_arrays_where_they_are():
    module = ptxrun.Module.from_opencl(SAXPY)
    x, y = np.arange(1000, dtype=np.float32), np.full(1000, 0.5, np.float32)
    where = y.ctypes.data
    launch = module.saxpy[8, 128](y, x, 2.0, 1000)
    assert y.ctypes.data == where
    assert (y == 2 * x + 0.5).all()
    assert "interp" in launch.engine or "compiled" in launch.engine
    assert launch.seconds > 0


@pytest.mark.parametrize("backend", ["interp", "jit"])
def test_views_and_overlapping_arrays(backend):
    text = "kernel void add(global int *a, global int *b) { a[get_global_id(0)] += b[get_global_id(0)]; }"
    module = ptxrun.Module.from_opencl(text)
    data = np.arange(100, dtype=np.int32)
    module.add[1, 10](data[:10], data[90:], backend=backend)
    assert (data[:10] == np.arange(10) + np.arange(90, 100)).all()
    module.add[1, 10](data[20:40], data[30:50], backend=backend)
    assert (data[20:30] == np.arange(20, 30) + np.arange(30, 40)).all()
    module.add[1, 10](data[50:60], data[50:60], backend=backend)
    assert (data[50:60] == 2 * np.arange(50, 60)).all()
    # What is behind the array is not the kernel's, though it is ours.
    with pytest.raises(ptxrun.Fault):
        module.add[1, 11](data[60:70], data[0:10], backend=backend)


def test_memory_of_other_kinds():
    module = ptxrun.Module.from_opencl("kernel void one(global int *x) { x[get_global_id(0)] = 7; }")
    for data in (bytearray(16), array.array("i", [0] * 4), (ctypes.c_int * 4)(), memoryview(bytearray(16))):
        module.one[1, 4](data)
        assert bytes(data) == struct.pack("<4i", 7, 7, 7, 7)


def test_dlpack_without_numpy_s_interface():
    class Tensor:
        """An array of which only DLPack is known."""

        def __init__(self, data):
            self._data = data

        def __dlpack__(self, **options):
            return self._data.__dlpack__(**options)

        def __dlpack_device__(self):
            return self._data.__dlpack_device__()

    module = ptxrun.Module.from_opencl("kernel void one(global double *x) { x[get_global_id(0)] += 1; }")
    data = np.zeros((2, 3))
    module.one[1, 6](Tensor(data))
    assert (data == 1).all()
    with pytest.raises(ValueError, match="not contiguous"):
        module.one[1, 6](Tensor(data.T))


def test_what_is_no_memory_to_write_to_is_refused():
    module = ptxrun.Module.from_opencl("kernel void one(global int *x) { x[get_global_id(0)] = 7; }")
    data = np.zeros(8, np.int32)
    data.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        module.one[1, 4](data)
    with pytest.raises(ValueError, match="not contiguous"):
        module.one[1, 4](np.zeros(8, np.int32)[::2])
    with pytest.raises(ValueError, match="read-only"):
        module.one[1, 4](memoryview(b"1234"))
    with pytest.raises(TypeError, match="neither a number nor an array"):
        module.one[1, 4]("text")
    with pytest.raises(TypeError, match="Python objects"):
        module.one[1, 4](np.array([None] * 4))


def test_values_are_checked_against_the_parameter():
    text = """
    kernel void put(global double *out, char c, ushort s, int i, ulong l, float f, double d) {
        out[0] = c; out[1] = s; out[2] = i; out[3] = l; out[4] = f; out[5] = d;
    }
    """
    put = ptxrun.Module.from_opencl(text).put[1, 1]
    out = np.zeros(6)
    put(out, -1, 65535, np.int32(-5), 1 << 40, np.float32(0.5), 3)
    assert out.tolist() == [-1, 65535, -5, 1 << 40, 0.5, 3]
    for bad, error in [((0, 1 << 16, 0, 0, 0, 0), ValueError), ((0, 0, 1.5, 0, 0, 0), TypeError)]:
        with pytest.raises(error):
            put(out, *bad)
    with pytest.raises(ptxrun.LaunchError, match="takes 7 arguments, 1 given"):
        put(out)


def test_a_fault_says_where():
    module = ptxrun.Module.from_opencl(SAXPY.replace("if (i < n) ", ""), "saxpy.cl")
    x, y = np.zeros(200, np.float32), np.zeros(200, np.float32)
    with pytest.raises(ptxrun.Fault) as caught:
        module.saxpy[2, 128](y, x, 1.0, 200)
    fault = caught.value
    assert (fault.kernel, fault.kind, fault.line) == ("saxpy", "OutOfBounds", 4)
    assert (fault.block, fault.thread) == ((1, 0, 0), (72, 0, 0))
    assert fault.file.endswith("saxpy.cl")
    assert fault.address and fault.registers and fault.ptx_line and not fault.write
    assert "saxpy.cl:4:" in str(fault)
    # The arrays can be used again.
    module.saxpy[1, 128](y, x, 1.0, 200)


def test_launches_that_are_not_possible():
    module = ptxrun.Module.from_opencl(SAXPY)
    data = np.zeros(4, np.float32)
    for grid, block in [(0, 1), ((1, 2, 3, 4), 1), (1, -1)]:
        with pytest.raises(ptxrun.LaunchError):
            module.saxpy[grid, block]
    with pytest.raises(ptxrun.LaunchError):
        module.saxpy[1, 4096](data, data, 1.0, 0)
    with pytest.raises(ptxrun.LaunchError, match="grid and block"):
        module.saxpy(data, data, 1.0, 0)
    with pytest.raises(ptxrun.Error, match="auto, interp and jit"):
        module.saxpy[1, 1](data, data, 1.0, 0, backend="gpu")
    with pytest.raises(AttributeError, match="the module has saxpy"):
        module.sapxy


def test_a_launch_that_does_not_end_is_ended():
    text = "kernel void spin(global volatile int *x) { while (x[0] == 0) {} }"
    module = ptxrun.Module.from_opencl(text)
    with pytest.raises(ptxrun.Fault) as caught:
        module.spin[1, 1](np.zeros(1, np.int32), timeout=0.2)
    assert caught.value.kind == "Timeout"


@pytest.mark.parametrize("backend", ["interp", "jit"])
def test_a_launch_ends_when_the_user_interrupts_it(backend):
    text = "kernel void spin(global volatile int *x) { while (x[0] == 0) {} }"
    script = (
        "import numpy, ptxrun, signal, threading, os, time\n"
        f"module = ptxrun.Module.from_opencl({text!r})\n"
        # What a shell runs in the background ignores it, and hands that on.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "before = signal.getsignal(signal.SIGINT)\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "start = time.monotonic()\n"
        "try:\n"
        f"    module.spin[1, 1](numpy.zeros(1, numpy.int32), backend={backend!r})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', time.monotonic() - start)\n"
        "x = numpy.ones(1, numpy.int32)\n"
        f"module.spin[1, 1](x, backend={backend!r})\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    word, after = ran.stdout.split()
    assert word == "interrupted" and 0.4 < float(after) < 1.5, ran.stderr
    # Python's own handler is back.
    assert "KeyboardInterrupt" in ran.stderr


def test_variables_are_read():
    text = "kernel void spin(global volatile int *x) { while (x[0] == 0) {} }"
    script = f"import numpy, ptxrun; ptxrun.Module.from_opencl({text!r}).spin[1, 1](numpy.zeros(1, numpy.int32))"

    def run(name, value):
        line = [sys.executable, "-c", script]
        return subprocess.run(line, env={**os.environ, name: value}, capture_output=True, text=True, timeout=60)

    assert "time limit" in run("PTXRUN_TIMEOUT", "300ms").stderr
    for name in ["PTXRUN_TIMEOUT", "PTXRUN_MEMORY"]:
        assert f"{name}: `junk`" in run(name, "junk").stderr


def test_what_kernels_print(capsys):
    text = 'kernel void hello() { printf("%d\\n", (int)get_global_id(0)); }'
    launch = ptxrun.Module.from_opencl(text).hello[1, 2]()
    assert launch.stdout == "0\n1\n"
    assert capsys.readouterr().out == "0\n1\n"


def test_findings_are_data():
    assert ptxrun.check(".version 8.0\n.target sm_80\n.address_size 64\n") == []
    findings = ptxrun.check(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n  fmaa.f32;\n}\n")
    assert findings and findings[0].severity == "error" and findings[0].line == 5
    opencl = ptxrun.check("kernel void k(global int *x) { x[0] = y; }", kind="opencl", name="k.cl")
    assert opencl[0].file == "k.cl" and (opencl[0].line, opencl[0].column) == (1, 39)
    with pytest.raises(ptxrun.Invalid) as caught:
        ptxrun.Module.from_ptx("nothing")
    assert caught.value.findings and "error" in str(caught.value)
    assert ptxrun.check("kernel void k() {}", kind="opencl", options="-D N=1") == []
    with pytest.raises(ptxrun.Error):
        ptxrun.check("kernel void k() {}", kind="opencl", options="--frobnicate")


def test_ptx_of_the_samples(samples):
    text = (samples / "vecadd/vecadd.nvcc13.sm_75.ptx").read_text()
    module = ptxrun.Module.from_ptx(text)
    a, b, c = (np.random.default_rng(i).random(500, np.float32) for i in range(3))
    module.vecadd[4, 128](a, b, c, 500)
    assert (c == a + b).all()
    assert [p["declaration"] for p in module.vecadd.params] == [".u64", ".u64", ".u64", ".u32"]


def test_a_profile():
    module = ptxrun.Module.from_opencl(SAXPY)
    x, y = np.ones(4096, np.float32), np.ones(4096, np.float32)
    profile = module.saxpy[32, 128].profile(y, x, 2.0, 4096, device="RTX 4090")
    assert (y == 3).all()
    assert profile.report["device"]["name"].endswith("RTX 4090")
    assert 0.5 < profile.microseconds < 1000
    assert "saxpy" in str(profile) and profile.html.startswith("<!")
    assert profile._repr_html_().startswith("<iframe")
    old = module.saxpy[32, 128].profile(y, x, 2.0, 4096, device="GTX 280")
    assert old.microseconds != profile.microseconds
    with pytest.raises(ptxrun.Error, match="banana"):
        module.saxpy[32, 128].profile(y, x, 2.0, 4096, device="banana")


def test_a_warp_is_followed_and_its_accesses_are_shown():
    module = ptxrun.Module.from_opencl(SAXPY)
    y, x = np.ones(256, np.float32), np.ones(256, np.float32)
    launch = module.saxpy[2, 128]
    whole = launch.profile(y, x, 2.0, 256, warp=(1, 2))
    warp = whole.report["warp"]
    assert (warp["block"], warp["warp"], warp["parts"][0]["lanes"]) == (1, 2, 0xFFFFFFFF)
    assert "Warp 2 of block 1" in str(whole)
    line = whole.report["lines"][warp["accesses"][0]["line"]]["ptx_line"]
    one = launch.profile(y, x, 2.0, 256, accesses=[(line, 1)])
    assert [a["execution"] for a in one.report["warp"]["accesses"]] == [1]
    with pytest.raises(ptxrun.Error, match="1 time, not 2"):
        launch.profile(y, x, 2.0, 256, accesses=[(line, 2)])


def test_occupancy_devices_and_instructions():
    module = ptxrun.Module.from_opencl(SAXPY)
    few = module.saxpy.occupancy(64, device="GTX 280")
    assert few != module.saxpy.occupancy(256, device="GTX 280")
    assert any(d["name"] == "H200" for d in ptxrun.devices())
    assert ptxrun.device("sm_80")
    assert ptxrun.explain("fma")
    with pytest.raises(ptxrun.Error, match="did you mean"):
        ptxrun.explain("fmaa")


def test_many_modules_come_and_go():
    for n in range(50):
        module = ptxrun.Module.from_opencl(f"kernel void k(global int *x) {{ x[0] = {n}; }}")
        data = np.zeros(1, np.int32)
        module.k[1, 1](data)
        assert data[0] == n
