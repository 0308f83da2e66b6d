"""Taichi on the emulated device: fields, matrices, sparse structures, derivatives, arrays of NumPy.

    ptxrun exec -- python taichi_kernels.py
"""

import numpy as np
import taichi as ti

ti.init(arch=ti.cuda, log_level=ti.WARN)

HEIGHT, TURNS = 160, 50
pixels = ti.field(ti.f32, shape=(2 * HEIGHT, HEIGHT))
numbers = ti.field(ti.f32, shape=1 << 16)
total = ti.field(ti.f32, shape=())
matrices = ti.Matrix.field(3, 3, ti.f32, shape=256)
errors = ti.field(ti.f32, shape=256)
sparse = ti.field(ti.i32)
ti.root.pointer(ti.i, 64).dense(ti.i, 16).place(sparse)
weights = ti.field(ti.f32, shape=8, needs_grad=True)
loss = ti.field(ti.f32, shape=(), needs_grad=True)


@ti.kernel
def julia(y: ti.f32):
    for i, j in pixels:
        c = ti.Vector([-0.8, y])
        z = ti.Vector([i / HEIGHT - 1, j / HEIGHT - 0.5]) * 2
        n = 0
        while z.norm() < 20 and n < TURNS:
            z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
            n += 1
        pixels[i, j] = n


def julia_of_numpy(y: float) -> np.ndarray:
    i, j = np.meshgrid(np.arange(2 * HEIGHT), np.arange(HEIGHT), indexing="ij")
    z = ((i / HEIGHT - 1) + 1j * (j / HEIGHT - 0.5)) * 2
    n = np.zeros_like(i)
    for _ in range(TURNS):
        live = np.abs(z) < 20
        z = np.where(live, z * z + complex(-0.8, y), z)
        n += live
    return n


@ti.kernel
def sevens():
    for i in numbers:
        numbers[i] = i % 7


@ti.kernel
def add_up():
    for i in numbers:
        total[None] += numbers[i]


@ti.kernel
def decompose():
    for k in matrices:
        a = ti.Matrix.zero(ti.f32, 3, 3)
        for i, j in ti.static(ti.ndrange(3, 3)):
            a[i, j] = ti.random()
        u, s, v = ti.svd(a)
        errors[k] = (u @ s @ v.transpose() - a).norm()


@ti.kernel
def activate():
    for k in range(11):
        sparse[k * 100] = k


@ti.kernel
def active() -> ti.i32:
    n = 0
    for _ in sparse:
        n += 1
    return n


@ti.kernel
def cubes():
    for i in weights:
        loss[None] += weights[i] ** 3


@ti.kernel
def double(array: ti.types.ndarray()):
    for i in array:
        array[i] = array[i] * 2


julia(0.156)
# A point where rounding decides may end a turn earlier or later.
assert (pixels.to_numpy() != julia_of_numpy(0.156)).mean() < 0.01
sevens()
add_up()
assert total[None] == sum(k % 7 for k in range(1 << 16))
decompose()
assert errors.to_numpy().max() < 1e-4
activate()
assert active() == 11 * 16
for i in range(8):
    weights[i] = i
with ti.ad.Tape(loss):
    cubes()
assert (weights.grad.to_numpy() == 3 * np.arange(8) ** 2).all()
array = np.arange(1000, dtype=np.int32)
double(array)
assert (array == 2 * np.arange(1000)).all()
print("taichi: 6 of 6")
