#!/usr/bin/env python3
"""CuPy where bench/array is: GB/s of the bytes that must move, of 10^8 floats on the GPU, the best of seven, and
microseconds a call on 1000 of them.

usage: array_peers.py

Needs PyPI's cupy-cuda13x (or another).
"""
import time

import cupy

N = 100000000
CALLS = 2000


def seconds(call):
    best = float("inf")
    for i in range(8):  # the first one compiles
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - began) if i else best
    return best


def rate(what, moved, call):
    print(f"{what:42} {moved / seconds(call) / 1e9:9.1f} GB/s", flush=True)


def per_call(what, call):
    print(f"{what:42} {1e6 * seconds(lambda: [call() for _ in range(CALLS)]) / CALLS:9.2f} us a call")


def main():
    x, y, z = (cupy.random.standard_normal(N, dtype=cupy.float32) for _ in range(3))
    out = cupy.empty_like(x)
    formula = "2 * x + y * z"
    kernel = cupy.ElementwiseKernel("float32 x, float32 y, float32 z", "float32 o", "o = " + formula, "formula")

    @cupy.fuse()
    def fused(x, y, z):
        return 2 * x + y * z

    rate("z = x", 8 * N, lambda: cupy.copyto(out, x))
    rate(formula, 16 * N, lambda: 2 * x + y * z)
    rate(formula + ", an ElementwiseKernel", 16 * N, lambda: kernel(x, y, z, out))
    rate(formula + ", fused", 16 * N, lambda: fused(x, y, z))
    rate("sum(x)", 4 * N, x.sum)
    rate("dot(x, y)", 8 * N, lambda: x.dot(y))
    rate("exp(x)", 8 * N, lambda: cupy.exp(x, out=out))
    rate("x[::2] + y[::2]", 6 * N, lambda: cupy.add(x[::2], y[::2], out=out[::2]))
    numbers = (x[:N // 2] + 1j * y[:N // 2]).astype(cupy.complex64)
    rate("vdot of complex64, of itself", 4 * N, lambda: cupy.vdot(numbers, numbers))
    rate("cumsum(x)", 8 * N, lambda: cupy.cumsum(x, out=out))
    few = x[:N // 10]
    doubles = few.astype(cupy.float64)
    for what, call in (("sort of 10^7", lambda: cupy.sort(few)),
                       ("argsort of 10^7", lambda: cupy.argsort(few)),
                       ("sort of 10^4 rows of 1000", lambda: cupy.sort(few.reshape(-1, 1000), axis=1)),
                       ("sort of 10^7 doubles", lambda: cupy.sort(doubles))):
        print(f"{what:42} {1e3 * seconds(call):9.3f} ms")
    small, result = cupy.zeros(1000, cupy.float32), cupy.empty(1000, cupy.float32)
    per_call("add, of 1000", lambda: cupy.add(small, small, out=result))
    per_call(formula + ", an ElementwiseKernel, of 1000", lambda: kernel(small, small, small, result))


main()
