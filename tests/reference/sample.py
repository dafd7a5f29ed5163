#!/usr/bin/env python3
"""Curves and images of `halcyon integrate` beside pyFAI's, for what only the command line chooses: sample.py HALCYON

By tests/sample.t, in a folder of its own; prints TAP.  Axes that are seen from the sample (fibres, grazing incidence),
the polarization's axis, unweighted means, pseudo splitting.
"""
import logging
import subprocess
import sys
import warnings

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

import numpy
from pyFAI.containers import PolarizationDescription
from pyFAI.detectors import Detector
from pyFAI.integrator.azimuthal import AzimuthalIntegrator
from pyFAI.integrator.fiber import FiberIntegrator
from pyFAI.method_registry import IntegrationMethod

HEIGHT, WIDTH = 90, 70
PIXEL = 1e-3
GEOMETRY = dict(dist=0.1, poni1=0.031, poni2=0.0371, rot1=0.11, rot2=-0.07, rot3=0.05, wavelength=1e-10)
tests = 0


def detector():
    return Detector(PIXEL, PIXEL, max_shape=(HEIGHT, WIDTH), orientation=3)


def report(what, good, *words):
    global tests
    tests += 1
    print(f"{'ok' if good else 'not ok'} {tests} - {what}", flush=True)
    if not good:
        print("#", *words)


def halcyon(*options):
    """Rows of the output, as numbers, and the header."""
    done = subprocess.run([sys.argv[1], "integrate", "i.npy", "-p", "p.poni", "-d", "cpu@threads=1", "-q",
                           "--plan-cache", "none", "--no-sentinels", *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)


def curve(*options):
    halcyon(*options, "-o", "o.dat")
    return numpy.loadtxt("o.dat", unpack=True)


def cake(*options):
    halcyon(*options, "-o", "o.edf")
    data = open("o.edf", "rb").read()
    head, keys = data[: data.index(b"}")].decode(), {}
    for line in head.strip("{ \n").split(";"):
        key, _, value = line.partition("=")
        keys[key.strip()] = value.strip()
    shape = int(keys["Dim_2"]), int(keys["Dim_1"])
    return keys, numpy.frombuffer(data[-4 * shape[0] * shape[1]:], "<f4").reshape(shape)


def off(got, want):
    """The largest difference, over the largest value; and how many bins differ."""
    apart = abs(got - want) / abs(want).max()
    return apart.max(), int((apart > 2e-6).sum())


def ends(axis):
    return numpy.array([axis[0], axis[-1]])


def same_axes(keys, units, axes):
    got = [[float(keys[f"{unit}_{end}"]) for end in ("min", "max")] for unit in units]
    return max(abs(ends(a) - g).max() / abs(ends(a)).max() for a, g in zip(axes, got)) < 1e-6


rng = numpy.random.default_rng(7)
image = (rng.poisson(80, (HEIGHT, WIDTH)) + numpy.arange(WIDTH) * 3).astype(numpy.uint32)
numpy.save("i.npy", image)
with open("p.poni", "w") as f:
    f.write("poni_version: 2.1\nDetector: Detector\nDetector_config: "
            f'{{"pixel1": {PIXEL}, "pixel2": {PIXEL}, "max_shape": [{HEIGHT}, {WIDTH}], "orientation": 3}}\n')
    for key, name in (("dist", "Distance"), ("poni1", "Poni1"), ("poni2", "Poni2"), ("rot1", "Rot1"), ("rot2", "Rot2"),
                      ("rot3", "Rot3"), ("wavelength", "Wavelength")):
        f.write(f"{name}: {GEOMETRY[key]}\n")
flat = (0.5 + rng.random((HEIGHT, WIDTH))).astype(numpy.float32)
numpy.save("flat.npy", flat)
ai = AzimuthalIntegrator(detector=detector(), **GEOMETRY)
no, bbox = ("no", "csr", "cython"), ("bbox", "csr", "cython")

# --- The polarization's axis ---
for factor, degrees in ((0.9, 30), (-0.4, -75.5)):
    want = ai.integrate1d_ng(image, 40, unit="q_nm^-1", method=no, 
                             polarization_factor=PolarizationDescription(factor, numpy.radians(degrees)))
    got = curve("-n", "40", "--split", "no", "--polarization", f"{factor},{degrees}")
    report(f"--polarization {factor},{degrees}", off(got[1], want.intensity)[0] < 2e-6, off(got[1], want.intensity))

# --- Unweighted means ---
for split, way in (("no", no), ("bbox", bbox), ("full", ("full", "csr", "cython"))):
    method = IntegrationMethod.select_one_available(way, dim=1).unweighted
    want = ai.integrate1d_ng(image, 40, unit="q_nm^-1", method=method, flat=flat, polarization_factor=0.9,
                             error_model="poisson")
    got = curve("-n", "40", "--split", split, "--flat", "flat.npy", "--polarization", "0.9", "--unweighted",
                "--error-model", "poisson")
    other = curve("-n", "40", "--split", split, "--flat", "flat.npy", "--polarization", "0.9")
    report(f"--unweighted, {split}", off(got[1], want.intensity)[0] < 2e-6 and off(got[2], want.sigma)[0] < 2e-6,
           off(got[1], want.intensity), off(got[2], want.sigma))
    report("... is another mean", off(other[1], want.intensity)[0] > 1e-3, off(other[1], want.intensity))
print(f"1..{tests}")
