#!/usr/bin/env python3
"""Time CG on SENSE's normal equations: halcyon recon beside BART's pics and PyNUFFT, in turn, on the same samples.

usage: recon_peers.py HALCYON [SIZE [COILS [ROUNDS]]]   (numpy; pynufft and bart where they are, each skipped without)

2-D radial, data of `halcyon simulate --mri`, all threads.  A line each: milliseconds an iteration, wall and processors'
time (medians of the rounds), and the whole command's processors' time in seconds.  An iteration is what MORE - FEW of
them take longer; PyNUFFT, a library, is timed within, after its plan, a coil a thread.  Then how far each image is from
Halcyon's of as many iterations, times the number that brings it nearest.
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

THREADS = len(os.sched_getaffinity(0))
os.environ["OMP_NUM_THREADS"] = str(THREADS)
import numpy

try:
    import pynufft
except ImportError:
    pynufft = None
FEW, MORE, FEW_OF_PYNUFFT = 5, 25, 3
halcyon = os.path.abspath(sys.argv[1])
size, coils, rounds = (list(map(int, sys.argv[2:])) + [256, 8, 3][len(sys.argv) - 2:])[:3]
os.chdir(tempfile.mkdtemp())


def run(words):
    """Seconds of a command: wall, processors'."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def recon(kind, iterations, out):
    return run([halcyon, "recon", f"p_samples.{kind}", "-t", f"p_trajectory.{kind}", "-n", f"{size},{size}", "--maps",
                f"p_maps.{kind}", "--iterations", str(iterations), "--tolerance", "0", "-d", f"cpu@threads={THREADS}",
                "-q", "-o", out])


def pics(iterations, out):
    return run(["bart", "pics", "-l2", "-r", "0", "-i", str(iterations), "-t", "p_trajectory", "p_samples", "p_maps", out])


def read_cfl(name):
    return numpy.fromfile(name + ".cfl", "c8").astype("c16")


class Transforms:
    """PyNUFFT's plan with its documented window and grid, and CG with it."""

    def __init__(self):
        points = numpy.load("p_trajectory.npy").reshape(-1, 2).astype("f8")
        self.maps = numpy.load("p_maps.npy").astype("c8").reshape(coils, size, size)
        self.samples = numpy.load("p_samples.npy").astype("c8").reshape(coils, -1)
        self.nufft = pynufft.NUFFT()
        self.nufft.plan(points, (size, size), (2 * size, 2 * size), (6, 6))
        self.threads = ThreadPoolExecutor(THREADS)

    def gram(self, image):
        return sum(self.threads.map(
            lambda m: m.conj() * self.nufft.adjoint(self.nufft.forward(m * image)), self.maps))

    def solve(self, iterations):
        """The image; seconds of the iterations alone."""
        r = sum(self.threads.map(lambda m, s: m.conj() * self.nufft.adjoint(s), self.maps, self.samples))
        x, p, square = numpy.zeros_like(r), r.copy(), numpy.vdot(r, r).real
        begun, used = time.monotonic(), time.process_time()
        for _ in range(iterations):
            z = self.gram(p)
            alpha = square / numpy.vdot(p, z).real
            x += alpha * p
            r -= alpha * z
            before, square = square, numpy.vdot(r, r).real
            p = r + square / before * p
        return x, (time.monotonic() - begun, time.process_time() - used)


def distance(image, reference):
    """Of an image from another, times the number that brings it nearest."""
    image, reference = image.ravel().astype("c16"), reference.ravel().astype("c16")
    scale = numpy.vdot(image, reference) / numpy.vdot(image, image).real
    return numpy.linalg.norm(scale * image - reference) / numpy.linalg.norm(reference)


for kind in "npy", "cfl":
    run([halcyon, "simulate", "--mri", "radial", "--size", str(size), "--coils", str(coils), "--noise", "0.01", "-q",
         f"p.{kind}"])
commands = {"halcyon": lambda n: recon("cfl", n, f"halcyon_{n}.cfl")}
if shutil.which("bart"):
    commands["bart"] = lambda n: pics(n, f"bart_{n}")
transforms = Transforms() if pynufft else None
times, whole = {}, {}
for _ in range(rounds):
    for name, command in commands.items():
        few, more = command(FEW), command(MORE)
        times.setdefault(name, []).append([(b - a) / (MORE - FEW) for a, b in zip(few, more)])
        whole.setdefault(name, []).append(more[1])
    if transforms:
        image, seconds = transforms.solve(FEW_OF_PYNUFFT)
        times.setdefault("pynufft", []).append([s / FEW_OF_PYNUFFT for s in seconds])
print(f"{size}^2, {numpy.load('p_trajectory.npy').size // 2} points, {coils} coils, {THREADS} threads")
ours = [statistics.median(t) for t in zip(*times["halcyon"])]
for name, each in times.items():
    wall, used = (statistics.median(t) for t in zip(*each))
    print(f"{name:8} {1e3 * wall:8.1f} ms {1e3 * used:8.1f} ms of processors, {wall / ours[0]:5.1f} {used / ours[1]:5.1f}x;"
          + (f" {MORE} iterations {statistics.median(whole[name]):.2f} s of processors" if name in whole else ""))
if "bart" in commands:
    print(f"bart's image after {FEW} iterations: {distance(read_cfl(f'bart_{FEW}'), read_cfl(f'halcyon_{FEW}')):.1e} away")
if transforms:
    recon("npy", FEW_OF_PYNUFFT, "halcyon.npy")
    print(f"pynufft's after {FEW_OF_PYNUFFT}: {distance(image, numpy.load('halcyon.npy')):.1e} away")
shutil.rmtree(os.getcwd())
