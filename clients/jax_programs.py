"""Programs of JAX: what XLA compiles to PTX, each compared with NumPy. `jax_programs.py [NAME...]`"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(7)


def floats(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def close(found, expected, rtol=1e-5, atol=1e-5):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=atol)


def elementwise():
    x, y = floats(1000), floats(1000)
    close(jax.jit(lambda a, b: a * b + jnp.sin(a) - jnp.exp(b))(x, y), x * y + np.sin(x) - np.exp(y))


def eager():
    x = jnp.arange(1000, dtype=jnp.float32)
    close((x + 1)[3:9] * 2, (np.arange(1000) + 1)[3:9] * 2)


def integers():
    x = RNG.integers(-1000, 1000, 777, dtype=np.int32)
    assert (np.asarray(jax.jit(lambda a: (a // 7) * 3 ^ (a % 5))(x)) == (x // 7) * 3 ^ (x % 5)).all()


def reductions():
    x = floats(300, 257)
    close(jax.jit(lambda a: a.sum(axis=1))(x), x.sum(axis=1), atol=1e-4)
    close(jax.jit(lambda a: a.max(axis=0))(x), x.max(axis=0))
    close(jax.jit(lambda a: a.mean())(x), x.mean(), atol=1e-4)


def softmax():
    x = floats(64, 500)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    close(jax.jit(lambda a: jax.nn.softmax(a, axis=1))(x), e / e.sum(axis=1, keepdims=True))


def layer_norm():
    x = floats(32, 256)
    norm = lambda a: (a - a.mean(1, keepdims=True)) * jax.lax.rsqrt(a.var(1, keepdims=True) + 1e-5)
    close(jax.jit(norm)(x), (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5), atol=1e-4)


def shapes():
    x = floats(33, 65)
    close(jax.jit(lambda a: jnp.concatenate([a.T, a.T[::-1]], axis=1))(x), np.concatenate([x.T, x.T[::-1]], axis=1))


def scan():
    x = floats(128)
    close(jax.jit(jnp.cumsum)(x), np.cumsum(x), atol=1e-4)


def loops():
    step = lambda i, v: v * 0.5 + i
    expected = np.ones(100, np.float32)
    for i in range(10):
        expected = step(i, expected)
    close(jax.jit(lambda v: jax.lax.fori_loop(0, 10, step, v))(np.ones(100, np.float32)), expected)


def sort():
    x = floats(1000)
    close(jax.jit(jnp.sort)(x), np.sort(x))


def gather():
    x, at = floats(200, 8), RNG.integers(0, 200, 50)
    close(jax.jit(lambda a, i: a[i])(x, at), x[at])


def scatter():
    at, v = RNG.integers(0, 20, 500), floats(500)
    expected = np.zeros(20, np.float32)
    np.add.at(expected, at, v)
    close(jax.jit(lambda i, a: jnp.zeros(20).at[i].add(a))(at, v), expected, atol=1e-4)


def random():
    key = jax.random.key(0)
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        expected = np.asarray(jax.random.uniform(jax.random.key(0), (1000,)))
    assert (np.asarray(jax.random.uniform(key, (1000,))) == expected).all()


def gradient():
    x = floats(100)
    close(jax.jit(jax.grad(lambda a: (jnp.tanh(a) * a).sum()))(x), np.tanh(x) + x / np.cosh(x) ** 2)


def mapped():
    x = floats(10, 30)
    close(jax.jit(jax.vmap(lambda a: a / jnp.linalg.norm(a)))(x), x / np.linalg.norm(x, axis=1, keepdims=True))


def half():
    x = floats(500)
    found = jax.jit(lambda a: (a.astype(jnp.bfloat16) * 2).astype(jnp.float32))(x)
    close(found, x * 2, rtol=1e-2)


def product():
    a, b = floats(64, 96), floats(96, 32)
    close(jax.jit(jnp.dot)(a, b), a @ b, rtol=1e-2, atol=1e-1)


def perceptron():
    x, w, v, y = floats(64, 16), floats(16, 32), floats(32, 1), floats(64, 1)
    loss = lambda w, v, x: ((jnp.tanh(x @ w) @ v - y) ** 2).mean()
    with jax.default_device(jax.devices("cpu")[0]):
        expected = jax.tree.map(np.asarray, jax.grad(loss, argnums=(0, 1))(w, v, x))
    for found, wanted in zip(jax.jit(jax.grad(loss, argnums=(0, 1)))(w, v, x), expected):
        close(found, wanted, rtol=5e-2, atol=5e-2)


PROGRAMS = [elementwise, eager, integers, reductions, softmax, layer_norm, shapes, scan, loops, sort, gather, scatter]
PROGRAMS += [random, gradient, mapped, half, product, perceptron]


def main():
    names = sys.argv[1:]
    assert jax.devices()[0].platform == "gpu", "no CUDA device"
    right = tried = 0
    for program in PROGRAMS:
        if names and program.__name__ not in names:
            continue
        tried += 1
        try:
            program()
            right += 1
            print("right", program.__name__, flush=True)
        except Exception as e:  # whatever a program meets is its line of the table
            print("WRONG", program.__name__, str(e).strip()[:600].replace("\n", " | "), flush=True)
    print(f"{right} of {tried}")
    sys.exit(right != tried)


main()
