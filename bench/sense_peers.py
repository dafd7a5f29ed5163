#!/usr/bin/env python3
"""mri-nufft with cuFINUFFT where bench/sense is: milliseconds of a forward and an adjoint of a 3-D image that several
coils receive, of both, and the memory of CuPy's pool; complex64, eps 1e-4, a kooshball, maps on the GPU, the best of three.

usage: sense_peers.py [N [POINTS [COILS]]]      256 1000000 32

Needs PyPI's numpy, cupy-cuda13x (or another), cufinufft and mri-nufft.
"""
import sys
import time

import cupy
import mrinufft
import numpy

ROUNDS = 3


def milliseconds(call):
    best = numpy.inf
    for i in range(ROUNDS + 1):  # the first one compiles
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - began) if i else best
    return 1e3 * best


def main():
    n, m, coils = [int(v) for v in sys.argv[1:4]] + [256, 1000000, 32][len(sys.argv) - 1:]
    rng = numpy.random.default_rng(0)
    directions = rng.standard_normal((m, 3))
    directions /= numpy.linalg.norm(directions, axis=1)[:, None]
    points = (directions * rng.uniform(0, 0.5, (m, 1))).astype(numpy.float32)
    maps = (rng.standard_normal((coils, n, n, n), dtype=numpy.float32) / coils).astype(numpy.complex64)
    image = cupy.asarray(rng.standard_normal((n, n, n)).astype(numpy.complex64))
    operator = mrinufft.get_operator("cufinufft")(points, (n, n, n), n_coils=coils, smaps=cupy.asarray(maps),
                                                  density=False, squeeze_dims=True, eps=1e-4)
    samples = operator.op(image)
    print(f"forward {milliseconds(lambda: operator.op(image)):.1f} ms, "
          f"adjoint {milliseconds(lambda: operator.adj_op(samples)):.1f} ms, "
          f"both {milliseconds(lambda: operator.adj_op(operator.op(image))):.1f} ms; "
          f"{cupy.get_default_memory_pool().total_bytes() / 1e9:.1f} GB")


main()
