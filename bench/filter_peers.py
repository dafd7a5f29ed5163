#!/usr/bin/env python3
"""Time pyFAI's azimuthal errors, sigma clipping and median on one stack, chunk to curve.

usage: filter_peers.py STACK.h5 STACK.poni [FRAMES]      (numpy, h5py, bitshuffle, pyFAI; for compare.sh)

A line a filter: its name, milliseconds a frame (best of 3) with all threads, milliseconds of processors' time a frame.
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


def engine(impl):
    """The integrator's engine without its checks, and what it takes."""
    mask = (decode(chunks[0]) == top).astype("int8")
    ai.sigma_clip(decode(chunks[0]), 1000, unit="q_A^-1", mask=mask, error_model="poisson", polarization_factor=0.99,
                  method=("no", "csr", impl))
    found = [e.engine for m, e in ai.engines.items() if m.split_lower == "no" and m.impl_lower == impl]
    return found[0], dict(solidangle=ai.solidAngleArray(), polarization=ai.polarization(factor=0.99), dummy=float(top),
                          delta_dummy=0)


def report(name, work, frames):
    wall, cpu = [], []
    for _ in range(3):
        start, used = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, frames))
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    print("%s %.3f %.3f" % (name, 1e3 * min(wall) / len(frames), 1e3 * min(cpu) / len(frames)), flush=True)


cython, options = engine("cython")
poisson, azimuthal = ErrorModel.POISSON, ErrorModel.AZIMUTHAL
report("azimuthal", lambda c: cython.integrate_ng(decode(c), error_model=azimuthal, **options), chunks)
for title, model in ("clip-azimuthal", azimuthal), ("clip-poisson", poisson):
    report(title, lambda c: cython.sigma_clip(decode(c), error_model=model, cutoff=5.0, cycle=5, **options), chunks)
python, options = engine("python")
report("median", lambda c: python.medfilt(decode(c), error_model=poisson, **options), chunks[:2])
