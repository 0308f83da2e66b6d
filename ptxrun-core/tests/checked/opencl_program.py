"""An OpenCL program in Python: `opencl_program.py KERNELS.cl KERNEL OPTIONS STATUS` runs a kernel over 192 floats."""

import shlex
import sys

import numpy as np
import pyopencl as cl

path, name, options, status = sys.argv[1:5]
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
with open(path, encoding="utf-8") as file:
    program = cl.Program(context, file.read()).build(options=shlex.split(options))
data = np.arange(192, dtype=np.float32)
given = cl.Buffer(context, cl.mem_flags.READ_ONLY, data.nbytes)
cl.enqueue_copy(queue, given, data)
out = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, data.nbytes)
try:
    getattr(program, name)(queue, (192,), (64,), given, out)
    cl.enqueue_copy(queue, data, out)
    print("program:", data[0])
except cl.Error as error:
    # As careless programs do.
    print("program:", error)
sys.exit(int(status))
