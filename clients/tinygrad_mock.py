"""The CUDA driver functions that tinygrad calls, on host memory, with kernels run by ptx_run.

tinygrad's own mock GPU lives in its test folder, which its package on PyPI does not hold; this is what that package
imports in its place when DEV names the MOCK interface. OCELOT_PATH names libgpuocelot.so.
"""
import ctypes
import os
import sys
import time
import types

from tinygrad.runtime.autogen import cuda as real

OCELOT = ctypes.CDLL(os.environ["OCELOT_PATH"])
OCELOT.ptx_run.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)] + [ctypes.c_int] * 7
OCELOT.ptx_run.restype = None
SUCCESS, INVALID = 0, 1
CAPABILITY = 9, 0

memory, modules, events = {}, {}, {}
launches = 0


def store(reference, value):
    getattr(reference, "_obj", reference).value = value
    return SUCCESS


def cuInit(flags): return SUCCESS
def cuDeviceGetCount(count): return store(count, 1)
def cuDeviceGet(device, ordinal): return store(device, ordinal) if ordinal == 0 else INVALID
def cuCtxCreate_v2(context, flags, device): return store(context, 1)
def cuCtxSetCurrent(context): return SUCCESS
def cuCtxSynchronize(): return SUCCESS
def cuStreamWaitEvent(stream, event, flags): return SUCCESS
def cuFuncSetAttribute(function, attribute, value): return SUCCESS
def cuDeviceComputeCapability(major, minor, device): return store(major, CAPABILITY[0]) or store(minor, CAPABILITY[1])


def cuMemAlloc_v2(pointer, size):
    block = ctypes.create_string_buffer(size + 256)
    address = (ctypes.addressof(block) + 255) & ~255
    memory[address] = block
    return store(pointer, address)


def cuMemFree_v2(pointer): return SUCCESS if memory.pop(pointer.value, None) is not None else INVALID
def cuMemHostAlloc(pointer, size, flags): return cuMemAlloc_v2(pointer, size)
def cuMemFreeHost(pointer): return cuMemFree_v2(pointer)


def move(to, source, size):
    ctypes.memmove(getattr(to, "value", to), getattr(source, "value", source), size)
    return SUCCESS


def cuMemcpyHtoDAsync_v2(to, source, size, stream): return move(to, source, size)
def cuMemcpyDtoDAsync_v2(to, source, size, stream): return move(to, source, size)
def cuMemcpyDtoH_v2(to, source, size): return move(to, source, size)


def cuModuleLoadData(module, image):
    text = ctypes.create_string_buffer(bytes(image))
    modules[ctypes.addressof(text)] = text
    return store(module, ctypes.addressof(text))


def cuModuleGetFunction(function, module, name): return store(function, module.value)
def cuModuleUnload(module): return SUCCESS if modules.pop(module.value, None) is not None else INVALID


def cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, arguments):
    global launches
    launches += 1
    values = [getattr(arguments, field[0]) for field in arguments._real_fields_]
    values = [getattr(v, "value", v) or 0 for v in values]
    array = (ctypes.c_void_p * len(values))(*[v & 0xFFFFFFFFFFFFFFFF for v in values])
    OCELOT.ptx_run(modules[function.value], len(values), array, bx, by, bz, gx, gy, gz, shared)
    return SUCCESS


def cuEventCreate(event, flags):
    events[len(events) + 1] = 0.0
    return store(event, len(events))


def cuEventRecord(event, stream):
    events[event.value] = time.perf_counter()
    return SUCCESS


def cuEventSynchronize(event): return SUCCESS
def cuEventDestroy_v2(event): return SUCCESS


def cuEventElapsedTime(milliseconds, start, end):
    return store(milliseconds, 1000 * (events[end.value] - events[start.value]))


def cuGetErrorString(status, text):
    text._obj.value = ctypes.cast(ctypes.c_char_p(b"error of the mock driver"), ctypes.c_void_p).value
    return SUCCESS


def install():
    """Puts this module where tinygrad looks for its mock driver."""
    this = sys.modules[__name__]
    for name in dir(real):
        if not name.startswith("__") and not hasattr(this, name):
            setattr(this, name, getattr(real, name))
    for name in ["test", "test.mockgpu", "test.mockgpu.cuda"]:
        sys.modules[name] = types.ModuleType(name)
    sys.modules["test.mockgpu.cuda"].cuda = this
