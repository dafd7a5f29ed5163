#!/usr/bin/env python3
"""Time pyFAI's images, azimuthal errors, sigma clipping and median on one stack, chunk to result.

usage: azint_peers.py STACK.h5 STACK.poni [FRAMES]      (numpy, h5py, bitshuffle, pyFAI; for compare.sh)

A line each: its name, milliseconds a frame (best of 3) with all threads, milliseconds of processors' time a frame.
"""
import logging
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

THREADS = len(os.sched_getaffinity(0))
os.environ["OMP_NUM_THREADS"] = "1"  # a frame a thread, as its fastest pipeline
import bitshuffle
import h5py
import numpy
import pyFAI
from pyFAI.containers import ErrorModel

logging.disable(logging.CRITICAL)
ds = h5py.File(sys.argv[1], "r")["/entry/data/data"]
n = min(int(sys.argv[3]) if len(sys.argv) > 3 else 16, len(ds))
shape, dtype = ds.shape[1:], ds.dtype
chunks = [ds.id.read_direct_chunk((i, 0, 0))[1] for i in range(n)]
top = numpy.iinfo(dtype).max
ai = pyFAI.load(sys.argv[2])


def decode(chunk):
    block = int.from_bytes(chunk[8:12], "big") // dtype.itemsize
    return bitshuffle.decompress_lz4(numpy.frombuffer(chunk, "u1")[12:], shape, dtype, block)


def engine(integrate, bins, split, impl):
    """The engine that an integrator's method makes, without its checks, and what it takes."""
    mask = (decode(chunks[0]) == top).astype("int8")
    integrate(decode(chunks[0]), *bins, unit="q_A^-1", mask=mask, error_model="poisson", polarization_factor=0.99,
              method=(split, "csr", impl))
    found = [e.engine for m, e in ai.engines.items()
             if m.dim == len(bins) and m.split_lower == split and m.impl_lower == impl]
    return found[0], dict(solidangle=ai.solidAngleArray(), polarization=ai.polarization(factor=0.99), dummy=float(top),
                          delta_dummy=0)


def report(name, work, frames):
    wall, cpu = [], []
    for _ in range(3):
        start, used = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(work, frames):
                pass
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    print("%s %.3f %.3f" % (name, 1e3 * min(wall) / len(frames), 1e3 * min(cpu) / len(frames)), flush=True)


poisson, azimuthal = ErrorModel.POISSON, ErrorModel.AZIMUTHAL
image, options = engine(ai.integrate2d_ng, (1000, 360), "bbox", "cython")
report("image", lambda c: image.integrate_ng(decode(c), error_model=poisson, **options), chunks)
cython, options = engine(ai.sigma_clip, (1000,), "no", "cython")
report("azimuthal", lambda c: cython.integrate_ng(decode(c), error_model=azimuthal, **options), chunks)
for title, model in ("clip-azimuthal", azimuthal), ("clip-poisson", poisson):
    report(title, lambda c: cython.sigma_clip(decode(c), error_model=model, cutoff=5.0, cycle=5, **options), chunks)
python, options = engine(ai.sigma_clip, (1000,), "no", "python")
report("median", lambda c: python.medfilt(decode(c), error_model=poisson, **options), chunks[:2])
