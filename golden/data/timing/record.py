#!/usr/bin/env python3
"""Records kernels on an NVIDIA GPU, for the timing model's tests.

    python3 record.py LAUNCHES.json KERNELS.ptx OUT.json

Every launch runs alone (its outputs are kept), and under Nsight Compute (`ncu --clock-control none`) five times with
cold caches, of which each counter's median is kept, and once with warm ones. Needs NumPy, libcuda.so.1 and ncu.
"""
import csv
import ctypes as C
import hashlib
import io
import json
import subprocess
import sys
import os

import numpy as np

METRICS = """gpc__cycles_elapsed.max sm__cycles_active.avg smsp__inst_executed.sum smsp__thread_inst_executed.sum
dram__bytes_read.sum dram__bytes_write.sum lts__t_sectors_srcunit_tex.sum lts__t_requests_srcunit_tex.sum
lts__t_sectors_srcunit_tex_lookup_hit.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum l1tex__data_pipe_lsu_wavefronts.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum sm__warps_active.avg.pct_of_peak_sustained_active
sm__inst_executed_pipe_alu.sum sm__inst_executed_pipe_fma.sum sm__inst_executed_pipe_fmaheavy.sum
sm__inst_executed_pipe_fp64.sum sm__inst_executed_pipe_xu.sum sm__inst_executed_pipe_lsu.sum
sm__inst_executed_pipe_tensor.sum sm__inst_executed_pipe_uniform.sum smsp__inst_executed_op_branch.sum
launch__registers_per_thread launch__shared_mem_per_block_static launch__waves_per_multiprocessor
gpu__time_duration.sum sm__cycles_elapsed.avg.per_second""".split()


def hash32(n):
    h = np.arange(n, dtype=np.uint64).astype(np.uint32) * np.uint32(2654435761)
    h ^= h >> np.uint32(15)
    h = h * np.uint32(2246822519)
    return h ^ (h >> np.uint32(13))


def buffer(kind, n):
    word, _, number = kind.partition(":")
    h = hash32(n)
    if word == "zero":
        return np.zeros(n, np.uint32)
    if word == "u32":
        return h
    if word == "mod":
        return h % np.uint32(number)
    if word == "ramp":
        return np.arange(n, dtype=np.uint32) * np.uint32(number)
    if word == "rowptr":
        rows = 4 + hash32(n) % np.uint32(24)
        return np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.uint32)
    if word == "f32_01":
        return (h >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    if word == "f32_pm1":
        return (h >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    if word == "f64_01":
        return (h >> np.uint32(8)).astype(np.float64) * 2.0**-24
    if word == "f16_pm1":
        return (((h % np.uint32(2049)).astype(np.float32) - 1024) / 1024).astype(np.float16)
    raise SystemExit(f"unknown buffer kind {kind}")


def launch(cuda, module, case):
    def call(name, *args):
        status = getattr(cuda, name)(*args)
        if status:
            raise SystemExit(f"{case['id']}: {name} returned {status}")
    function, values, outputs, owned = C.c_void_p(), [], [], []
    call("cuModuleGetFunction", C.byref(function), module, case["entry"].encode())
    for arg in case["args"]:
        if "buf" in arg:
            data = buffer(arg["buf"], arg["n"])
            at = C.c_uint64()
            call("cuMemAlloc_v2", C.byref(at), C.c_size_t(max(data.nbytes, 256)))
            call("cuMemcpyHtoD_v2", at, data.ctypes.data_as(C.c_void_p), C.c_size_t(data.nbytes))
            values.append(at)
            owned.append(at)
            if arg.get("out"):
                outputs.append((at, data.nbytes))
        elif "u32" in arg:
            values.append(C.c_uint32(arg["u32"]))
        else:
            values.append(C.c_float(arg["f32"]))
    pointers = (C.c_void_p * len(values))(*[C.addressof(v) for v in values])
    grid, block = [(list(case[k]) + [1, 1])[:3] for k in ("grid", "block")]
    call("cuCtxSynchronize")
    call("cuLaunchKernel", function, *grid, *block, case["dynamic_smem"], None, pointers, None)
    call("cuCtxSynchronize")
    found = []
    for at, size in outputs:
        data = np.zeros(size, np.uint8)
        call("cuMemcpyDtoH_v2", data.ctypes.data_as(C.c_void_p), at, C.c_size_t(size))
        words = data.view(np.uint32)
        found.append({"sha256": hashlib.sha256(data.tobytes()).hexdigest(),
                      "first8_u32": [int(w) for w in words[:8]], "last4_u32": [int(w) for w in words[-4:]]})
    for at in owned:
        call("cuMemFree_v2", at)
    return found


def run_all(launches, ptx):
    cuda = C.CDLL("libcuda.so.1")
    device, context, module = C.c_int(), C.c_void_p(), C.c_void_p()
    cuda.cuInit(0)
    cuda.cuDeviceGet(C.byref(device), 0)
    cuda.cuDevicePrimaryCtxRetain(C.byref(context), device)
    cuda.cuCtxSetCurrent(context)
    status = cuda.cuModuleLoadData(C.byref(module), open(ptx, "rb").read() + b"\0")
    if status:
        raise SystemExit(f"cuModuleLoadData returned {status}")
    return [launch(cuda, module, case) for case in launches]


def profile(script, launches, ptx, cache):
    command = ["ncu", "--clock-control", "none", "--cache-control", cache, "--csv", "--print-units", "base",
               "--metrics", ",".join(METRICS), sys.executable, script, "--only-run", launches, ptx]
    text = subprocess.run(command, capture_output=True, text=True)
    if text.returncode:
        print(text.stdout[-2000:], text.stderr[-2000:])
    lines = text.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise SystemExit("ncu printed no table")
    found = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            continue
        found.setdefault(int(row["ID"]), {})[row["Metric Name"]] = int(value) if value == int(value) else value
    return [found.get(i, {}) for i in range(max(found) + 1)]


def main():
    if sys.argv[1] == "--only-run":
        run_all(json.load(open(sys.argv[2])), sys.argv[3])
        return
    launches = json.load(open(sys.argv[1]))
    for case, outputs in zip(launches, run_all(launches, sys.argv[2])):
        case["outputs"] = outputs
    for cache, key, times in (("all", "ncu_cold", 5), ("none", "ncu_warm", 1)):
        runs = [profile(os.path.abspath(__file__), sys.argv[1], sys.argv[2], cache) for _ in range(times)]
        assert all(len(rows) == len(launches) for rows in runs), [len(rows) for rows in runs]
        for case, *rows in zip(launches, *runs):
            row = {name: sorted(r[name] for r in rows)[times // 2] for name in rows[0]}
            case.setdefault("h200", {})[key] = row
    for case in launches:
        cold = case["h200"]["ncu_cold"]
        case["h200"]["launch"] = {"registers_per_thread": cold["launch__registers_per_thread"]}
    with open(sys.argv[3], "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(case) for case in launches) + "\n]\n")


main()
