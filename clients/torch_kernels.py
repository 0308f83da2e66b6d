"""The kernels that `torch.compile` makes of the programs of `torch_programs.py`, and what these programs return, beside
a device.

    python3 clients/torch_kernels.py --write FILE                # on a device: records (PyTorch 2.11, Triton 3.6)
    ptxrun exec -- python3 clients/torch_kernels.py FILE         # each recorded kernel, bit for bit; needs no package
    ptxrun exec -- python3 clients/torch_kernels.py FILE --programs  # what the compiled programs return, too

A recording is a `.tar.xz`: `index.json`, the PTX of each kernel, and the memory that a launch was given and left.
Each kernel is recorded at its first launch. Where it adds by atomics, the order of a sum is not the device's either
(two replays on an H200 differ), and results are equal up to that order.
"""

import ctypes
import hashlib
import io
import json
import os
import re
import struct
import sys
import tarfile
import tempfile

# Layout of an argument by Triton's name of its type. A truth value is a byte.
SCALARS = {"i1": "<b", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "u8": "<B", "u16": "<H", "u32": "<I",
           "u64": "<Q", "fp32": "<f", "fp64": "<d"}
# Sums whose order is nobody's.
ATOMIC_SUM = re.compile(rb"\b(atom|red)\.[a-z0-9_.:]*\badd\b[a-z0-9_.]*\.(f|bf)[0-9]")


# --- on a device ------------------------------------------------------------------------------------------------------


class Recorder:
    """Notes the first launch of each kernel that Triton makes."""

    def __init__(self):
        self.kernels, self.seen, self.made, self.program, self.stored = [], set(), {}, None, {}

    def watch(self):
        from triton.backends.nvidia.driver import CudaLauncher
        from triton.compiler.compiler import CompiledKernel

        init, call, handles = CudaLauncher.__init__, CudaLauncher.__call__, CompiledKernel._init_handles
        recorder = self

        def made(launcher, src, metadata):
            init(launcher, src, metadata)
            launcher.types = list(src.signature.values())

        def loaded(kernel):
            handles(kernel)
            recorder.made[kernel.function] = kernel

        def launched(launcher, x, y, z, stream, function, *rest):
            run = lambda: call(launcher, x, y, z, stream, function, *rest)  # noqa: E731
            recorder.launch(launcher, (x, y, z), function, rest[4:], run)

        CudaLauncher.__init__, CudaLauncher.__call__, CompiledKernel._init_handles = made, launched, loaded

    def launch(self, launcher, grid, function, arguments, run):
        kernel = self.made[function]
        ptx = kernel.asm["ptx"]
        if self.program is None or ptx in self.seen:
            return run()
        self.seen.add(ptx)
        import torch

        torch.cuda.synchronize()
        storages, given = [], []
        for argument, kind in zip(arguments, launcher.types, strict=True):
            if kind == "constexpr":
                continue
            if not kind.startswith("*"):
                given.append([kind, argument])
                continue
            storage = argument.untyped_storage()
            known = next((i for i, s in enumerate(storages) if s.data_ptr() == storage.data_ptr()), None)
            if known is None:
                known = len(storages)
                storages.append(storage)
            given.append([kind, known, argument.data_ptr() - storage.data_ptr()])

        whole = [torch.tensor([], dtype=torch.uint8, device="cuda").set_(s) for s in storages]

        def memory():
            torch.cuda.synchronize()
            return [w.cpu().numpy().tobytes() for w in whole]

        before = memory()
        run()
        after = memory()
        metadata = kernel.metadata
        assert metadata.global_scratch_size == 0 and metadata.num_ctas == 1
        self.kernels.append({
            "name": metadata.name, "program": self.program, "ptx": self.store(ptx.encode()), "grid": grid,
            "threads": 32 * metadata.num_warps, "shared": metadata.shared, "arguments": given,
            "before": [self.store(b) for b in before], "after": [self.store(a) for a in after],
        })

    def store(self, contents):
        """The name of a member with these bytes."""
        name = hashlib.sha256(contents).hexdigest()[:16]
        self.stored[name] = contents
        return name


def write(path):
    # All that is tried while tuning is compiled, and launched by Triton.
    os.environ["TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER"] = "0"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    import torch
    import torch_programs
    import triton

    # Recurrent networks would be cuDNN's in TensorFloat-32, which is no matter of the order of sums.
    torch.backends.cudnn.allow_tf32 = False
    recorder = Recorder()
    recorder.watch()
    programs = {}
    for name in torch_programs.PROGRAMS:
        recorder.program = name
        results = torch_programs.results(name, "cuda", True)
        recorder.program = None
        programs[name] = [[list(r.shape), recorder.store(r.contiguous().numpy().tobytes())] for r in results]
        print(name, len(recorder.kernels), "kernels", flush=True)
        torch.compiler.reset()
    versions = {"torch": torch.__version__, "triton": triton.__version__, "device": torch.cuda.get_device_name()}
    index = {"versions": versions, "programs": programs, "kernels": recorder.kernels}
    with tarfile.open(path, "w:xz") as archive:
        for name, contents in [("index.json", json.dumps(index, indent=1).encode()), *recorder.stored.items()]:
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            archive.addfile(member, io.BytesIO(contents))


# --- here -------------------------------------------------------------------------------------------------------------


class Driver:
    """As much of the driver API as a launch needs."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self("cuCtxSetCurrent", self.context)

    def __call__(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def launch(self, ptx, name, grid, threads, shared, arguments, memory):
        """What a launch leaves in memory. Arguments are `[type, value]` or `[type, index in memory, offset]`."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx))
        self("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 << 10:
            self("cuFuncSetAttribute", function, 8, shared)
        addresses = []
        for contents in memory:
            address = ctypes.c_uint64()
            self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(len(contents), 1)))
            self("cuMemcpyHtoD_v2", address, contents, ctypes.c_size_t(len(contents)))
            addresses.append(address)
        address_of = lambda a: addresses[a[1]].value + a[2]  # noqa: E731
        values = [struct.pack("<Q", address_of(a)) if a[0][0] == "*" else struct.pack(SCALARS[a[0]], a[1])
                  for a in arguments]
        # Triton's kernels take two places for scratch memory behind their own arguments.
        buffers = [ctypes.create_string_buffer(v, max(len(v), 1)) for v in values + [bytes(8), bytes(8)]]
        pointers = (ctypes.c_void_p * len(buffers))(*[ctypes.addressof(b) for b in buffers])
        self("cuLaunchKernel", function, *grid, threads, 1, 1, shared, None, pointers, None)
        self("cuCtxSynchronize")
        left = []
        for address, contents in zip(addresses, memory):
            result = ctypes.create_string_buffer(max(len(contents), 1))
            self("cuMemcpyDtoH_v2", result, address, ctypes.c_size_t(len(contents)))
            left.append(result.raw[:len(contents)])
            self("cuMemFree_v2", address)
        self("cuModuleUnload", module)
        return left


def near(kernel, left, expected):
    """Whether memory differs in single-precision numbers alone, and by no more than another order of sums."""
    single = {a[1] for a in kernel["arguments"] if a[0] == "*fp32"}
    for place, (a, b) in enumerate(zip(left, expected)):
        if a != b and place not in single:
            return False
        if a != b:
            a, b = ([x[0] for x in struct.iter_unpack("<f", m)] for m in (a, b))
            scale = 1 + max(map(abs, b))
            if any(abs(x - y) > 2e-5 * scale for x, y in zip(a, b)):
                return False
    return True


def kernels(members, index):
    """Launches each recorded kernel; returns how many are wrong."""
    driver = Driver()
    same = sums = wrong = 0
    for kernel in index["kernels"]:
        label = f"{kernel['program']}: {kernel['name']}"
        try:
            left = driver.launch(members[kernel["ptx"]], kernel["name"], kernel["grid"], kernel["threads"],
                                 kernel["shared"], kernel["arguments"], [members[m] for m in kernel["before"]])
        except RuntimeError as error:
            wrong += 1
            print(f"FAILED {label}: {error}", flush=True)
            continue
        expected = [members[m] for m in kernel["after"]]
        if left == expected:
            same += 1
        elif ATOMIC_SUM.search(members[kernel["ptx"]]) and near(kernel, left, expected):
            sums += 1
        else:
            wrong += 1
            bytes_ = sum(a != b for x, y in zip(left, expected) for a, b in zip(x, y))
            print(f"WRONG {label}: {bytes_} bytes of {sum(map(len, expected))} differ", flush=True)
    print(f"{same} of {len(index['kernels'])} kernels bit for bit, "
          f"{sums} with sums by atomics up to their order, {wrong} wrong")
    print(f"{same + sums} of {len(index['kernels'])} right")
    return wrong


def programs(members, index):
    """Runs the programs, compiled; returns how many return something else."""
    import numpy as np
    import torch
    import torch_programs

    print(f"recorded: {index['versions']}; here: {torch.__version__}")
    wrong = 0
    for name, recorded in index["programs"].items():
        device = [torch.from_numpy(np.frombuffer(members[member], np.float32).reshape(shape).copy())
                  for shape, member in recorded]
        far = torch_programs.difference(torch_programs.results(name, "cuda", True), device)
        torch.compiler.reset()
        ok = far < torch_programs.bound(name)
        wrong += not ok
        print(f"{name:24} {'ok' if ok else 'WRONG'} {far:.1e}", flush=True)
    print(f"{len(index['programs']) - wrong} of {len(index['programs'])} programs return what the device returned")
    return wrong


def main():
    if sys.argv[1] == "--write":
        write(sys.argv[2])
        return 0
    with tarfile.open(sys.argv[1], "r:xz") as archive:
        members = {m.name: archive.extractfile(m).read() for m in archive.getmembers()}
    index = json.loads(members["index.json"])
    wrong = kernels(members, index)
    if "--programs" in sys.argv:
        wrong += programs(members, index)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
