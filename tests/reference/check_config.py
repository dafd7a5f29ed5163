#!/usr/bin/env python3
"""Does pyFAI's Worker make the same curves from configurations that halcyon saved?  By peers.t, a line each:

check_config.py <CASES    CONFIG.json STACK.h5 CURVE.dat: of the first frame of STACK's /entry/data/data
"""
import sys

import h5py
import hdf5plugin  # noqa: F401 (bitshuffle)
import numpy
from pyFAI.io.integration_config import WorkerConfig
from pyFAI.worker import Worker


def check(config, stack, curve):
    worker = Worker()
    worker.set_config(WorkerConfig.from_file(config))
    worker.output = "raw"
    with h5py.File(stack) as f:
        image = f["/entry/data/data"][0]
    theirs = worker.process(image.astype(numpy.float32))
    ours = numpy.loadtxt(curve)
    same = (theirs.intensity > 0).any() and numpy.allclose(ours[:, 0], theirs.radial, rtol=1e-5, atol=1e-6)
    same = same and numpy.allclose(ours[:, 1], theirs.intensity, rtol=1e-4)
    if not same:
        print(config, "radial", ours[:, 0], theirs.radial, "intensity", ours[:, 1], theirs.intensity)
    return same


sys.exit(not all([check(*line.split()) for line in sys.stdin]))
