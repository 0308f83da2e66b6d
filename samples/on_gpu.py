#!/usr/bin/env python3
"""Runs the samples' launch files on a real NVIDIA GPU and compares with the expected results.

    python3 samples/on_gpu.py [samples/NAME ...]

Proves that the expected results are what hardware returns. Standard library only; needs libcuda.so.1 of a driver.
OpenCL C modules are compiled by ptxrun (PTXRUN names it, else it is searched on PATH) and skipped without it.
The 32-bit PTX 1.4 sample is skipped: drivers no longer take it.
"""
import ctypes as C
import glob
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
FORMAT = dict(u8="B", s8="b", b8="B", u16="H", s16="h", b16="H", u32="I", s32="i", b32="I", u64="Q", s64="q", b64="Q",
              f16="e", f32="f", f64="d")
PTXRUN = os.environ.get("PTXRUN") or shutil.which("ptxrun")
cuda = C.CDLL("libcuda.so.1")


def call(name, *args):
    status = getattr(cuda, name)(*args)
    if status:
        raise RuntimeError(f"{name} returned {status}")


def mix(seed, i):
    z = (seed * 0x9E3779B97F4A7C15 + (i + 1) * 0xD1342543DE82EF95) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def pack(kind, values):
    if kind[0] != "f":
        bits = 8 * struct.calcsize(FORMAT[kind])
        return struct.pack(f"<{len(values)}{FORMAT[kind].upper()}", *[int(v) & ((1 << bits) - 1) for v in values])
    return struct.pack(f"<{len(values)}{FORMAT[kind]}", *[float(v) for v in values])


def contents(folder, kind, count, table, key="init"):
    if "values" in table:
        return pack(kind, table["values"])
    text = table.get(key, "zero")
    if text.startswith("@"):
        data = open(os.path.join(folder, text[1:]), "rb").read()
        if text.endswith(".npy"):
            data = data[10 + struct.unpack("<H", data[8:10])[0]:]
        return data
    word, *rest = text.split(":")
    if word == "zero":
        return bytes(count * struct.calcsize(FORMAT[kind]))
    if word == "iota":
        return pack(kind, range(count))
    if word == "fill":
        return pack(kind, [rest[0]] * count)
    seed = int(rest[0])
    if len(rest) == 3:
        low, high = int(rest[1]), int(rest[2])
        return pack(kind, [low + mix(seed, i) % (high - low + 1) for i in range(count)])
    return pack(kind, [(mix(seed, i) >> 11) / (1 << 53) if kind[0] == "f" else mix(seed, i) for i in range(count)])


class ArrayDescriptor(C.Structure):
    _fields_ = [("width", C.c_size_t), ("height", C.c_size_t), ("format", C.c_int), ("channels", C.c_uint)]


class Memcpy2D(C.Structure):
    _fields_ = [field for side in ("src", "dst") for field in (
        (side + "X", C.c_size_t), (side + "Y", C.c_size_t), (side + "Type", C.c_uint), (side + "Host", C.c_void_p),
        (side + "Device", C.c_uint64), (side + "Array", C.c_void_p), (side + "Pitch", C.c_size_t),
    )] + [("width", C.c_size_t), ("height", C.c_size_t)]


def texture(folder, table):
    width, height, _ = (table["size"] + [1, 1])[:3]
    channels = table.get("channels", 1)
    kind = table["format"]
    element = channels * struct.calcsize(FORMAT[kind])
    data = contents(folder, kind, width * height * channels, table)
    code = dict(u8=1, u16=2, u32=3, s8=8, s16=9, s32=10, f16=16, f32=32)[kind]
    resource = bytearray(144)  # CUDA_RESOURCE_DESC: type, union of 128 bytes, flags
    if table.get("layout") == "linear":
        pointer = C.c_uint64()
        call("cuMemAlloc_v2", C.byref(pointer), C.c_size_t(len(data)))
        call("cuMemcpyHtoD_v2", pointer, data, C.c_size_t(len(data)))
        struct.pack_into("<i", resource, 0, 2)
        struct.pack_into("<QiIQ", resource, 8, pointer.value, code, channels, len(data))
    else:
        array = C.c_void_p()
        call("cuArrayCreate_v2", C.byref(array), C.byref(ArrayDescriptor(width, height, code, channels)))
        copy = Memcpy2D(srcType=1, srcHost=C.cast(C.c_char_p(data), C.c_void_p), srcPitch=width * element,
                        dstType=3, dstArray=array, width=width * element, height=height)
        call("cuMemcpy2D_v2", C.byref(copy))
        struct.pack_into("<i", resource, 0, 0)
        struct.pack_into("<Q", resource, 8, array.value)
    description = bytearray(104)  # CUDA_TEXTURE_DESC: address modes, filter, flags, ...
    address = dict(wrap=0, clamp=1, mirror=2, border=3)[table.get("address", "clamp")]
    flags = (0 if table.get("read") == "normalized" or kind[0] == "f" else 1) \
        | (2 if table.get("coordinates") == "normalized" else 0)
    struct.pack_into("<iiiiI", description, 0, address, address, address, int(table.get("filter") == "linear"), flags)
    handle = C.c_uint64()
    call("cuTexObjectCreate", C.byref(handle), (C.c_char * 144).from_buffer(resource),
         (C.c_char * 104).from_buffer(description), None)
    return handle.value


def text_of(folder, file, module):
    """The PTX of a module, compiled if it is OpenCL C."""
    path = os.path.join(folder, module)
    if not module.endswith(".cl"):
        return open(path, "rb").read()
    options = file.get("build", "").split()
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.ptx")
        done = subprocess.run([PTXRUN, "cc", path, "--target", "sm_75", "-o", out, *options], capture_output=True)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return open(out, "rb").read()


def run(folder, file, module):
    """Runs one module; returns the buffers and what was printed."""
    image = text_of(folder, file, module) + b"\0"
    handle = C.c_void_p()
    call("cuModuleLoadData", C.byref(handle), image)
    buffers, textures = {}, {}
    for name, table in file.get("buffer", {}).items():
        count = table.get("len") or len(table.get("values", []))
        data = contents(folder, table["type"], count, table)
        pointer = C.c_uint64()
        call("cuMemAlloc_v2", C.byref(pointer), C.c_size_t(len(data)))
        call("cuMemcpyHtoD_v2", pointer, data, C.c_size_t(len(data)))
        buffers[name] = (pointer, len(data))
    for name, table in file.get("texture", {}).items():
        textures[name] = texture(folder, table)
    with tempfile.TemporaryFile() as output:
        saved = os.dup(1)
        os.dup2(output.fileno(), 1)
        try:
            for launch in file["launch"]:
                function = C.c_void_p()
                call("cuModuleGetFunction", C.byref(function), handle, launch["entry"].encode())
                held = []
                for arg in launch["args"]:
                    head, rest = arg.split(":", 1)
                    if head == "buf":
                        held.append(struct.pack("<Q", buffers[rest][0].value))
                    elif head == "tex":
                        held.append(struct.pack("<Q", textures[rest]))
                    else:
                        held.append(pack(head, [float(rest) if head[0] == "f" else int(rest, 0)]))
                pointers = (C.c_void_p * len(held))(*[C.cast(C.c_char_p(h), C.c_void_p) for h in held])
                extents = []
                for key in ("grid", "block"):
                    extent = launch.get(key, 1)
                    extents += ((extent if isinstance(extent, list) else [extent]) + [1, 1])[:3]
                call("cuLaunchKernel", function, *extents, launch.get("shared", 0), None, pointers, None)
                call("cuCtxSynchronize")
                C.CDLL(None).fflush(None)
        finally:
            os.dup2(saved, 1)
        output.seek(0)
        printed = output.read()
    found = {}
    for name, (pointer, size) in buffers.items():
        data = C.create_string_buffer(size)
        call("cuMemcpyDtoH_v2", data, pointer, C.c_size_t(size))
        found[name] = data.raw
    return found, printed


def check(folder, file, found, printed):
    """The worst difference of each check, as text."""
    for item in file["check"]:
        if "stdout" in item:
            expected = item["stdout"]
            expected = open(os.path.join(folder, expected[1:]), "rb").read() if expected[0] == "@" else expected.encode()
            # Blocks print in the order in which they happen to run.
            yield sorted(printed.splitlines()) == sorted(expected.splitlines()), "stdout"
            continue
        kind = file["buffer"][item["buffer"]]["type"]
        data = found[item["buffer"]]
        count = len(data) // struct.calcsize(FORMAT[kind])
        expected = contents(folder, kind, count, item, "expect")
        if "rel" in item or "abs" in item:
            a = struct.unpack(f"<{count}{FORMAT[kind]}", data)
            b = struct.unpack(f"<{count}{FORMAT[kind]}", expected)
            worst = max(abs(x - y) / (item.get("abs", 0) + item.get("rel", 0) * abs(y)) for x, y in zip(a, b))
            same = sum(x == y for x, y in zip(a, b))
            yield worst <= 1 and not math.isnan(worst), f"{item['buffer']} ({worst:.2f} of the tolerance, {same} of {count} equal)"
        else:
            yield data == expected, f"{item['buffer']} (bits)"


def main():
    call("cuInit", 0)
    device, context = C.c_int(), C.c_void_p()
    call("cuDeviceGet", C.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", C.byref(context), device)
    call("cuCtxSetCurrent", context)
    name = C.create_string_buffer(100)
    call("cuDeviceGetName", name, 100, device)
    print(name.value.decode())
    failed, modules, kernels = 0, 0, set()
    folders = sys.argv[1:] or sorted(glob.glob(os.path.join(HERE, "*", "")))
    for path in (p for f in folders for p in glob.glob(os.path.join(f, "*.toml"))):
        folder = os.path.dirname(path)
        file = tomllib.load(open(path, "rb"))
        for module in file["modules"]:
            if re.search(rb"\.target\s+sm_1", open(os.path.join(folder, module), "rb").read()):
                continue
            if module.endswith(".cl") and not PTXRUN:
                print(f"{os.path.basename(folder)}/{module}: skipped, no ptxrun to compile it")
                continue
            try:
                results = list(check(folder, file, *run(folder, file, module)))
            except RuntimeError as error:
                results = [(False, str(error))]
            failed += not all(ok for ok, _ in results)
            modules += 1
            kernels |= {(folder, launch["entry"]) for launch in file["launch"]}
            line = ", ".join(f"{'ok' if ok else 'FAILED'} {what}" for ok, what in results)
            print(f"{os.path.basename(folder)}/{module}: {line}", flush=True)
    print(f"{len(kernels)} kernels in {modules} modules: {modules - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
