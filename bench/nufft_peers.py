#!/usr/bin/env python3
"""cuFINUFFT in the cells of bench/nufft: points and strengths on the GPU, milliseconds of setting points and of a whole
transform, the best of three.  Type 1 by each of the methods named (0: the library's choice; 3, output-driven, is its
fastest for many points a cell).

usage: nufft_peers.py [WORD]      cells whose name contains WORD

Needs PyPI's numpy, cupy-cuda13x (or another) and cufinufft.
"""
import sys
import time

import cufinufft
import cupy
import numpy

CELLS = [  # dimensions, modes of an axis, points, eps, complex type
    (1, 1000000, 10000000, 1e-6, numpy.complex64),
    (2, 1000, 10000000, 1e-3, numpy.complex64),
    (2, 1000, 10000000, 1e-6, numpy.complex64),
    (2, 1000, 10000000, 1e-9, numpy.complex128),
    (3, 128, 10000000, 1e-3, numpy.complex64),
    (3, 128, 10000000, 1e-6, numpy.complex64),
    (3, 128, 10000000, 1e-12, numpy.complex128),
    (3, 256, 16777216, 1e-6, numpy.complex128),
]
METHODS = {1: (0, 3), 2: (0,)}
ROUNDS = 3


def seconds(call, *arguments):
    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    call(*arguments)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - began


def measure(kind, dim, n, m, eps, dtype, method):
    """Milliseconds of setting points and of executing."""
    real = numpy.zeros(1, dtype).real.dtype
    rng = numpy.random.default_rng(1)
    points = [cupy.asarray(rng.uniform(-numpy.pi, numpy.pi, m).astype(real)) for _ in range(dim)]
    shape = (m,) if kind == 1 else (n,) * dim
    data = cupy.asarray((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype))
    options = {"gpu_method": method} if method else {}
    best = [numpy.inf, numpy.inf]
    for _ in range(ROUNDS):
        plan = cufinufft.Plan(kind, (n,) * dim, eps=eps, dtype=dtype, isign=-1, **options)
        best[0] = min(best[0], seconds(plan.setpts, *points))
        plan.execute(data)
        best[1] = min(best[1], seconds(plan.execute, data))
    return [1e3 * t for t in best]


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{'cell':24} {'method':>6} {'points':>8} {'execute':>8}")
    for dim, n, m, eps, dtype in CELLS:
        for kind in METHODS:
            precision = "single" if dtype == numpy.complex64 else "double"
            name = f"{dim}d{kind}-{n}-{eps:.0e}-{precision}"
            for method in METHODS[kind] if word in name else ():
                print(f"{name:24} {method:6} " + " ".join(f"{t:8.3f}" for t in measure(kind, dim, n, m, eps, dtype, method)),
                      flush=True)


main()
