#!/usr/bin/env python3
"""Runs the micro-benchmarks of micro.cu on an NVIDIA GPU: python3 micro.py MICRO.ptx OUT.json"""
import ctypes as C, json, sys
cuda = C.CDLL("libcuda.so.1"); dev, ctx, mod = C.c_int(), C.c_void_p(), C.c_void_p()
cuda.cuInit(0); cuda.cuDeviceGet(C.byref(dev), 0); cuda.cuDevicePrimaryCtxRetain(C.byref(ctx), dev); cuda.cuCtxSetCurrent(ctx)
r = cuda.cuModuleLoadData(C.byref(mod), open(sys.argv[1], "rb").read() + b"\0"); print("load", r)
def alloc(n):
    p = C.c_uint64(); assert cuda.cuMemAlloc_v2(C.byref(p), C.c_size_t(n)) == 0; cuda.cuMemsetD8_v2(p, 0, C.c_size_t(n)); return p
buf, out, sink = alloc(1 << 30), alloc(1 << 20), alloc(1 << 20)
ev = [C.c_void_p(), C.c_void_p()]
for e in ev: cuda.cuEventCreate(C.byref(e), 0)
res = {}
def go(name, grid, block, p):
    f = C.c_void_p(); assert cuda.cuModuleGetFunction(C.byref(f), mod, name.encode()) == 0
    best, ms = None, None
    for _ in range(4):
        v = C.c_int(p); a = (C.c_void_p * 4)(*[C.addressof(x) for x in (buf, out, sink, v)])
        cuda.cuEventRecord(ev[0], None)
        assert cuda.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, None, a, None) == 0
        cuda.cuEventRecord(ev[1], None)
        s = cuda.cuCtxSynchronize()
        if s: print(name, p, "sync", s); sys.exit(1)
        o = C.c_uint64(); cuda.cuMemcpyDtoH_v2(C.byref(o), out, C.c_size_t(8)); t = C.c_float(); cuda.cuEventElapsedTime(C.byref(t), ev[0], ev[1])
        best = o.value if best is None else min(best, o.value); ms = t.value if ms is None else min(ms, t.value)
    res[f"{name} p{p} g{grid} b{block}"] = {"clocks": best, "ms": round(ms, 5)}
for p in (1, 2, 4, 8, 16, 32):
    for b in (32, 1024): go("l1_lines", 1, b, p); go("match_distinct", 1, b, p)
    for b in (32, 256): go("atoms_words", 1, b, p)
for n in ("i2f_thr", "u8f_thr", "f2i_thr"):
    for b in (32, 1024): go(n, 1, b, 1)
for p in (0, 1, 16, 31, 32):
    for b in (32, 1024): go("branch_short", 1, b, p); go("branch_loop", 1, b, p)
for p in (8, 32, 64, 65, 66):
    for b in (128, 256, 512): go("wgmma_n", 1, b, p)
for p in (1, 16, 256, 4096, 65536, 1 << 20): go("atom_spread", 528, 256, p)
for p in (4, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384): go("dram_stride", 4224, 256, p)
json.dump(res, open(sys.argv[2], "w"), indent=0)
for k, v in res.items(): print(k, v["clocks"], v["ms"])
