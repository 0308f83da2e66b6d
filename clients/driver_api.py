"""The driver API through ctypes: a kernel from PTX text, memory, a launch, an error.

    ptxrun exec -- python3 driver_api.py
"""
import ctypes
import os
import struct

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 data, .param .u32 n)
{
    .reg .pred %p1; .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1; @%p1 ret;
    mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3]; shl.b32 %r2, %r2, 1; st.global.u32 [%rd3], %r2;
    ret;
}
"""
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args, want=0):
    status = getattr(cuda, name)(*args)
    assert status == want, f"{name}: {status}, not {want}"


def main():
    device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    pointer, n = ctypes.c_uint64(), 1000
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(100)
    call("cuDeviceGetName", name, 100, device)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"twice")
    call("cuModuleGetFunction", ctypes.byref(ctypes.c_void_p()), module, b"thrice", want=500)
    call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(4 * n))
    data = ctypes.create_string_buffer(struct.pack(f"{n}I", *range(n)))
    call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(4 * n))
    count = ctypes.c_uint32(n)
    params = (ctypes.c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(count))
    call("cuLaunchKernel", kernel, 4, 1, 1, 256, 1, 1, 0, None, params, None)
    call("cuCtxSynchronize")
    call("cuMemcpyDtoH_v2", data, pointer, ctypes.c_size_t(4 * n))
    assert struct.unpack(f"{n}I", data.raw[:4 * n]) == tuple(2 * i for i in range(n))
    call("cuMemFree_v2", pointer)
    call("cuModuleUnload", module)
    # A fill of memory that the host sees is over when the call returns.
    pinned = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(4 << 20), 0)
    call("cuMemsetD8_v2", pinned, ctypes.c_ubyte(7), ctypes.c_size_t(4 << 20))
    assert ctypes.string_at(pinned, 4 << 20) == b"\7" * (4 << 20)
    call("cuMemFreeHost", pinned)
    # What is exported and not implemented says so; a forked process has no device.
    call("cuMemMapArrayAsync", None, 1, None, want=801)
    child = os.fork()
    if child == 0:
        os._exit(0 if cuda.cuCtxSynchronize() == cuda.cuInit(0) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
    print(f"driver_api: ok on {name.value.decode()}")


main()
