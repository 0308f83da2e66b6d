"""A Python program that calls the CUDA driver through ctypes: it loads PTX, launches a kernel twice, prints the result."""

import ctypes
import sys

PTX = b""".version 8.0
.target sm_80
.address_size 64
.visible .entry raise(.param .u64 data, .param .u32 by)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r3, [by];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
add:
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorName(code, ctypes.byref(text))
        print("program:", name, "gave", text.value.decode(), flush=True)
        sys.exit(3)


context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
device, address = ctypes.c_int(), ctypes.c_uint64()
data = (ctypes.c_uint32 * 4)(1, 2, 3, 4)
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
call("cuModuleLoadData", ctypes.byref(module), PTX)
call("cuModuleGetFunction", ctypes.byref(function), module, b"raise")
call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(16))
call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(16))
for by in (10, 100):
    arguments = [address, ctypes.c_uint32(by)]
    pointers = (ctypes.c_void_p * 2)(*[ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in arguments])
    call("cuLaunchKernel", function, 1, 1, 1, 4, 1, 1, 0, None, pointers, None)
    call("cuCtxSynchronize")
call("cuMemcpyDtoH_v2", data, address, ctypes.c_size_t(16))
print("program:", *data, flush=True)
