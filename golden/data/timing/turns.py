#!/usr/bin/env python3
"""Loops of a few instructions, timed on an NVIDIA GPU by what a turn takes.

    python3 turns.py write TURNS.ptx            writes the kernels, one entry each
    python3 turns.py record TURNS.ptx OUT.json  times them: clocks of a turn, the difference of 48 and 16 turns

A kernel takes an output, a buffer of zeros and a number of turns. Its blocks have a warp to 32 of them, on one SM.
"""
import ctypes as C
import json
import sys

HEAD = """.version 8.3
.target sm_90
.address_size 64
"""


def kernel(name, body, before="", after=""):
    """An entry around the body of a loop. %r0 is the thread, %r1 the lane, %r2 its place in shared memory (16 bytes a
    thread and 16 KB, all zero), %rd2 its place in the buffer (16 bytes a thread), %r9 and %rd9 a zero that the
    assembler does not know. What the body leaves in %s0 to %s7 and in what `after` adds to %s0 is stored."""
    return f""".visible .entry {name}(.param .u64 out, .param .u64 data, .param .u32 turns)
{{
	.reg .pred %p<8>;
	.reg .b16 %h<64>;
	.reg .b32 %r<64>, %s<64>, %a<192>, %t<64>;
	.reg .f32 %f<64>;
	.reg .f64 %d<64>;
	.reg .b64 %rd<64>, %c<4>;
	.shared .align 1024 .b8 s[32768];
	ld.param.u64 %rd0, [out];
	ld.param.u64 %rd1, [data];
	ld.param.u32 %r3, [turns];
	mov.u32 %r0, %tid.x;
	and.b32 %r1, %r0, 31;
	shl.b32 %r4, %r0, 4;
	mov.u32 %r2, s;
	add.u32 %r2, %r2, %r4;
	mov.u32 %r5, 0;
	st.shared.v4.u32 [%r2], {{%r5, %r5, %r5, %r5}};
	st.shared.v4.u32 [%r2+16384], {{%r5, %r5, %r5, %r5}};
	cvt.u64.u32 %rd3, %r4;
	add.u64 %rd2, %rd1, %rd3;
	cvt.u64.u32 %rd4, %r0;
	shl.b64 %rd4, %rd4, 2;
	add.u64 %rd4, %rd0, %rd4;
	ld.global.u32 %r9, [%rd1];
	cvt.u64.u32 %rd9, %r9;
	mov.u32 %r7, %r2;
	{zero('s', 8)}
	{before}
	bar.sync 0;
	mov.u64 %c0, %clock64;
turn:
	.pragma "nounroll";
	{body}
	add.s32 %r3, %r3, -1;
	setp.ne.s32 %p0, %r3, 0;
	@%p0 bra turn;
	bar.sync 0;
	mov.u64 %c1, %clock64;
	{after}
	add.u32 %s0, %s0, %s1;
	add.u32 %s2, %s2, %s3;
	add.u32 %s4, %s4, %s5;
	add.u32 %s6, %s6, %s7;
	add.u32 %s0, %s0, %s2;
	add.u32 %s4, %s4, %s6;
	add.u32 %s0, %s0, %s4;
	sub.u64 %c1, %c1, %c0;
	setp.eq.u32 %p0, %r0, 0;
	@%p0 st.global.u64 [%rd0+8192], %c1;
	st.global.u32 [%rd4], %s0;
	ret;
}}
"""


def zero(register, n):
    return "\n\t".join(f"mov.b32 %{register}{i}, 0;" for i in range(n))


def lines(list):
    return "\n\t".join(list)


def some(n, line):
    """A line so many times, with its number for `#`, and it times 512 for `@`."""
    return lines(line.replace("#", str(i)).replace("@", str(i * 512)) for i in range(n))


def registers(name, first, n):
    return "{" + ", ".join(f"%{name}{first + i}" for i in range(n)) + "}"


def cases():
    """Name, body, before, after, threads."""
    # Addresses that the assembler takes for new ones keep loads in their loop.
    near, far = "add.u32 %r7, %r7, %r9;", "add.u64 %rd2, %rd2, %rd9;"
    few, all = (32, 256, 1024), (32, 64, 128, 256, 512, 1024)
    yield "nothing", "add.u32 %s0, %s0, %r9;", "", "", few
    yield "nothing_4", some(4, "xor.b32 %s#, %s#, %r9; add.u32 %s#, %s#, %r1;"), "", "", few
    begin, end = some(8, "mov.b32 %f#, %r0;"), some(8, "mov.b32 %s#, %f#;")
    yield "nothing_f32", some(8, "fma.rn.f32 %f#, %f#, %f#, %f#;"), begin, end, few
    matrix = "shl.b32 %r6, %r1, 4; mov.u32 %r7, s; add.u32 %r7, %r7, %r6;"
    for n in (1, 2, 4):
        for across in ("", ".trans"):
            load = f"ldmatrix.sync.aligned.m8n8.x{n}{across}.shared.b16"
            name = f"ldmatrix_x{n}{across.replace('.', '_')}"
            chain = f"{load} {registers('a', 0, n)}, [%r7]; add.u32 %r7, %r7, %a0;"
            yield f"{name}_chain", some(4, chain), matrix, "add.u32 %s0, %s0, %r7;", (32,)
            each = f"{load} {registers('a', 0, n)}, [%r7+@]; xor.b32 %s#, %s#, %a0;"
            yield f"{name}_8", near + some(8, each), matrix, "", all
    vectors = ((1, "b32", "%a0"), (2, "v2.b32", "{%a0, %a1}"), (4, "v4.b32", "{%a0, %a1, %a2, %a3}"))
    for n, kind, list in vectors:
        # All words are used: else the assembler loads fewer.
        chain = f"ld.shared.{kind} {list}, [%r7]; " + "".join(f"add.u32 %r7, %r7, %a{w};" for w in range(n))
        yield f"lds_{n}_chain", some(4, chain), "", "add.u32 %s0, %s0, %r7;", (32,)
        use = "".join(f"xor.b32 %s#, %s#, %a{w};" for w in range(n))
        each = some(8, f"ld.shared.{kind} {list}, [%r7+@]; {use}")
        yield f"lds_{n}_8", near + each, "", "", all
        yield f"sts_{n}_8", near + some(8, f"st.shared.{kind} [%r7+@], {list};"), zero("a", 4), "", all
        for cache in ("", ".cg"):
            load, name = f"ld.global{cache}.{kind} {list}", f"ldg{cache.replace('.', '_')}_{n}"
            sum = "".join(f"or.b32 %a0, %a0, %a{w};" for w in range(1, n))
            chain = f"{load}, [%rd2]; {sum} cvt.u64.u32 %rd5, %a0; add.u64 %rd2, %rd2, %rd5;"
            place = f"mul.wide.u32 %rd3, %r0, {4 * n}; add.u64 %rd2, %rd1, %rd3;"
            yield f"{name}_chain", some(2, chain), place, "cvt.u32.u64 %s0, %rd2;", (32,)
            for k in (1, 2, 4, 8):
                # Not a power of two apart, which would be a matter of the cache's sets.
                each = (f"{load.replace('%a', f'%a{i + 1}')}, [%rd2+{i * 16896}];" for i in range(k))
                words = [(i % 8, f"%a{i + 1}{w}") for i in range(k) for w in range(n)]
                use = lines(f"xor.b32 %s{i}, %s{i}, {word};" for i, word in words)
                yield f"{name}_{k}", far + lines(each) + "\n\t" + use, place, "", (32, 64, 128, 256, 512, 1024)
    for bytes, cache in ((4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")):
        copy = f"cp.async.{cache}.shared.global [%r7+#], [%rd2+@], {bytes};"
        place = f"mul.lo.u32 %r6, %r0, {bytes}; mov.u32 %r7, s; add.u32 %r7, %r7, %r6; "
        place += f"cvt.u64.u32 %rd3, %r6; add.u64 %rd2, %rd1, %rd3;"
        for k in (1, 4, 8):
            list = lines(copy.replace("#", str(i * 2048)).replace("@", str(i * 16896)) for i in range(k))
            wait = "\n\tcp.async.commit_group;\n\tcp.async.wait_group {};"
            yield f"copy_{cache}_{bytes}_{k}", list + wait.format(0), place, "", (32, 128, 512, 1024)
            if k == 4:
                yield f"copy_{cache}_{bytes}_{k}_ahead", list + wait.format(2), place, "", (32, 128, 512, 1024)
    yield "bar_sync", some(2, "bar.sync 0;"), "", "", all
    for what in ("popc.u32", "or.pred", "and.pred"):
        target, tail = ("%s0", "") if what[0] == "p" else ("%p2", "selp.b32 %s0, 1, 0, %p2;")
        body = f"setp.ne.u32 %p1, %s0, %r1; bar.red.{what} {target}, 0, %p1; {tail}"
        yield f"bar_red_{what[:2].strip('.')}", some(2, body), "", "", all
    yield "bar_warp_sync", some(4, "add.u32 %s0, %s0, %r1; bar.warp.sync 0xffffffff;"), "", "", few
    yield "ballot_chain", some(4, "setp.gt.u32 %p1, %s0, %r9; vote.sync.ballot.b32 %s0, %p1, 0xffffffff;"), "", "", few
    yield "any_chain", some(
        4, "setp.gt.u32 %p1, %s0, %r9; vote.sync.any.pred %p2, %p1, 0xffffffff; selp.b32 %s0, 1, 0, %p2;"
    ), "", "", few
    yield "redux_chain", some(4, "redux.sync.add.u32 %s0, %s0, 0xffffffff;"), "", "", few
    yield "shfl_chain", some(4, "shfl.sync.bfly.b32 %s0, %s0, 1, 31, 0xffffffff;"), "mov.b32 %s0, %r0;", "", few
    yield "shfl_8", some(8, "shfl.sync.bfly.b32 %s#, %s#, 1, 31, 0xffffffff;"), some(8, "add.u32 %s#, %r0, #;"), "", few
    products = [
        ("f16", "m16n8k16.row.col.f32.f16.f16.f32", "f", 4, 4, 2),
        ("f16_k8", "m16n8k8.row.col.f32.f16.f16.f32", "f", 4, 2, 1),
        ("f16_f16", "m16n8k16.row.col.f16.f16.f16.f16", "t", 2, 4, 2),
        ("bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", "f", 4, 4, 2),
        ("tf32_k8", "m16n8k8.row.col.f32.tf32.tf32.f32", "f", 4, 4, 2),
        ("tf32_k4", "m16n8k4.row.col.f32.tf32.tf32.f32", "f", 4, 2, 1),
        ("s8_k32", "m16n8k32.row.col.s32.s8.s8.s32", "t", 4, 4, 2),
        ("s8_k16", "m16n8k16.row.col.s32.s8.s8.s32", "t", 4, 2, 1),
        ("f64", "m8n8k4.row.col.f64.f64.f64.f64", "d", 2, 1, 1),
    ]
    for name, shape, kind, sums, wide, tall in products:
        files = {"f": ("a", "a", "mov.f32", "0f00000000"), "t": ("a", "a", "mov.b32", "0")}
        a, b, move, value = files.get(kind, ("d", "d", "mov.f64", "0d0000000000000000"))
        at_a, at_b = (0, 8) if kind != "d" else (40, 42)
        start = lines(f"{move} %{kind}{i}, {value};" for i in range(32))
        if kind == "d":
            start += "\n\tmov.f64 %d40, 0d0000000000000000; mov.f64 %d42, 0d0000000000000000;"
        else:
            start += "\n\t" + lines(f"mad.lo.u32 %a{i}, %r9, {i + 3}, %r0;" for i in range(16))
        end = {"f": "cvt.rzi.s32.f32 %t0, %f#; add.u32 %s0, %s0, %t0;", "t": "add.u32 %s0, %s0, %t#;"}
        end = end.get(kind, "cvt.rzi.s32.f64 %t0, %d#; add.u32 %s0, %s0, %t0;")
        for k in (1, 2, 4, 8):
            def one(i):
                d = registers(kind, i * sums, sums)
                return f"mma.sync.aligned.{shape} {d}, {registers(a, at_a, wide)}, {registers(b, at_b, tall)}, {d};"
            if k * sums > 32:
                continue
            body = lines(one(i) for _ in range(max(2, 8 // k)) for i in range(k))
            yield f"mma_{name}_{k}", body, start, some(k * sums, end), (32, 128, 256, 512, 1024)
        if kind == "f":
            d = registers(kind, 0, sums)
            move = lines(f"mov.b32 %a{i}, %f{i};" for i in range(min(wide, sums)))
            yield f"mma_{name}_to_a", some(2, f"{one(0)}\n\t{move}"), start, some(sums, end), (32,)
    both = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%r7+@]; "
    both += "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%a0, %a1, %a2, %a3}, {%a8, %a9}, "
    both += "{%f0, %f1, %f2, %f3};"
    start = matrix + lines(f"mov.f32 %f{i}, 0f00000000;" for i in range(4)) + "mov.b32 %a8, 0; mov.b32 %a9, 0;"
    end = some(4, "cvt.rzi.s32.f32 %t0, %f#; add.u32 %s0, %s0, %t0;")
    yield "ldmatrix_mma_4", near + some(4, both), start, end, (32, 128, 256, 512, 1024)
    joined = "mov.b32 %t#, {%h#, %h#}; xor.b32 %s#, %s#, %t#; mov.b32 %f#, %s#;"
    conversions = [
        ("f32_f16", "cvt.f32.f16 %f#, %h#; mov.b32 %s#, %f#; shr.u32 %s#, %s#, 16; cvt.u16.u32 %h#, %s#;"),
        ("f16_f32", f"cvt.rn.f16.f32 %h#, %f#; {joined}"),
        ("f16x2_f32", "cvt.rn.f16x2.f32 %t#, %f#, %f#; mov.b32 %f#, %t#;"),
        ("bf16x2_f32", "cvt.rn.bf16x2.f32 %t#, %f#, %f#; mov.b32 %f#, %t#;"),
        ("bf16_f32", f"cvt.rn.bf16.f32 %h#, %f#; {joined}"),
        ("f32_s32", "cvt.rn.f32.s32 %f#, %s#; mov.b32 %s#, %f#;"),
        ("f32_u16", "cvt.u16.u32 %h#, %s#; cvt.rn.f32.u16 %f#, %h#; mov.b32 %s#, %f#;"),
        ("f32_u8", "cvt.u16.u32 %h#, %s#; cvt.rn.f32.u8 %f#, %h#; mov.b32 %s#, %f#;"),
        ("s32_f32", "mov.b32 %f#, %s#; cvt.rzi.s32.f32 %s#, %f#;"),
        ("u8_f32", "mov.b32 %f#, %s#; cvt.rzi.u8.f32 %h#, %f#; cvt.u32.u16 %s#, %h#;"),
        ("rni_f32", "mov.b32 %f#, %s#; cvt.rni.f32.f32 %f#, %f#; mov.b32 %s#, %f#;"),
        ("sat_f32", "mov.b32 %f#, %s#; cvt.sat.f32.f32 %f#, %f#; mov.b32 %s#, %f#;"),
        ("f64_f32", "cvt.f64.f32 %d#, %f#; cvt.rn.f32.f64 %f#, %d#;"),
        ("f64_s32", "cvt.rn.f64.s32 %d#, %s#; cvt.rzi.s32.f64 %s#, %d#;"),
        ("s8_s32", "cvt.s32.s8 %s#, %s#; add.u32 %s#, %s#, %r1;"),
        ("sat_u8_s32", "cvt.sat.u8.s32 %s#, %s#; add.u32 %s#, %s#, %r1;"),
        ("tf32_f32", "cvt.rna.tf32.f32 %t#, %f#; mov.b32 %f#, %t#;"),
    ]
    for name, line in conversions:
        start = "add.u32 %s#, %r0, #; cvt.rn.f32.u32 %f#, %s#; mov.f32 %f2#, 0f00000000; cvt.u16.u32 %h#, %s#;"
        start = some(8, start)
        end = some(8, "mov.b32 %t#, %f2#; xor.b32 %s#, %s#, %t#; mov.b32 %t#, %f#; xor.b32 %s#, %s#, %t#;")
        for k in (1, 8):
            yield f"cvt_{name}_{k}", lines([some(k, line)] * (4 if k == 1 else 1)), start, end, (32, 512, 1024)


def write(path):
    with open(path, "w") as out:
        out.write(HEAD)
        for name, body, before, after, _ in cases():
            out.write(kernel(name, body, before, after))


def record(ptx, path):
    cuda = C.CDLL("libcuda.so.1")

    def call(name, *args):
        code = getattr(cuda, name)(*args)
        assert code == 0, (name, code)

    device, context, module = C.c_int(), C.c_void_p(), C.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", C.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", C.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", C.byref(module), open(ptx, "rb").read() + b"\0")
    buffers = []
    for bytes in (1 << 20, 1 << 22):
        at = C.c_uint64()
        call("cuMemAlloc_v2", C.byref(at), C.c_size_t(bytes))
        call("cuMemsetD8_v2", at, 0, C.c_size_t(bytes))
        buffers.append(at)

    def clocks(function, threads, turns):
        values = [*buffers, C.c_uint32(turns)]
        args = (C.c_void_p * 3)(*[C.addressof(v) for v in values])
        call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, args, None)
        call("cuCtxSynchronize")
        found = C.c_uint64()
        call("cuMemcpyDtoH_v2", C.byref(found), C.c_uint64(buffers[0].value + 8192), C.c_size_t(8))
        return found.value

    results = []
    for name, _, _, _, blocks in cases():
        function = C.c_void_p()
        call("cuModuleGetFunction", C.byref(function), module, name.encode())
        for threads in blocks:
            clocks(function, threads, 48)
            few, many = (min(clocks(function, threads, t) for _ in range(5)) for t in (16, 48))
            results.append({"entry": name, "threads": threads, "clocks": (many - few) / 32})
            print(name, threads, (many - few) / 32, flush=True)
    with open(path, "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(r) for r in results) + "\n]\n")


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    record(sys.argv[2], sys.argv[3])
