#!/usr/bin/env python3
"""Time pylops-mpi's gradient and FFTND on CPUs: the rows of bench/dist that ../shared/peers/dist_peers.py has not.

usage: mpirun -n P bench/dist_peers.py [SIDE]   (numpy, mpi4py, pylops-mpi, mpi4py-fft; OMP_NUM_THREADS=1 for a thread a rank)

256: the side of the cube that is transformed.  Milliseconds, the best of five, each that of the slowest rank.
"""
import sys
import time

import numpy
import pylops_mpi
from mpi4py import MPI
from pylops_mpi.signalprocessing.FFTND import MPIFFTND

comm = MPI.COMM_WORLD
side = int(sys.argv[1]) if len(sys.argv) > 1 else 256


def tell(what, run):
    best = float("inf")
    for turn in range(6):
        comm.Barrier()
        begin = time.perf_counter()
        run()
        took = comm.allreduce(time.perf_counter() - begin, MPI.MAX)
        best = min(best, took) if turn else best
    if comm.rank == 0:
        print(f"{comm.size} ranks, pylops-mpi  {what:50} {1e3 * best:10.3f} ms", flush=True)


def numbers(n, dtype):
    a = pylops_mpi.DistributedArray(global_shape=n, dtype=dtype)
    a[:] = numpy.arange(a.local_shape[0]) % 1000
    return a


gradient = pylops_mpi.MPIGradient(dims=(400, 400, 400), dtype=numpy.float32)
x = numbers(400**3, numpy.float32)
tell("gradient 400^3", lambda: gradient @ x)
for name, dtype, real in (("complex", numpy.complex64, False), ("real", numpy.float32, True)):
    transform = MPIFFTND(dims=(side,) * 3, axes=(0, 1, 2), real=real, dtype=dtype)
    x = numbers(side**3, dtype)
    y = transform @ x
    tell(f"Fourier transform of {side}^3 {name} floats", lambda: transform @ x)
    tell("... adjoint", lambda: transform.H @ y)
