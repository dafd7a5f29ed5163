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
from pyFAI.io.integration_config import WorkerFiberConfig
from pyFAI.io.ponifile import PoniFile
from pyFAI.method_registry import IntegrationMethod
from pyFAI.units import get_unit_fiber

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
# --- Seen from the sample ---
FIBRES = [("qip_nm^-1", "qoop_nm^-1"), ("qxgi_nm^-1", "qygi_nm^-1"), ("qzgi_nm^-1", "qtot_nm^-1"),
          ("qip_A^-1", "qoop_A^-1"), ("qxgi_A^-1", "qygi_A^-1"), ("qzgi_A^-1", "qtot_A^-1"),
          ("exit_angle_horz_deg", "exit_angle_vert_deg"), ("exit_angle_horz_rad", "exit_angle_vert_rad"),
          ("scattering_angle_horz_rad", "scattering_angle_vert_rad"), ("qtot_nm^-1", "chigi_deg"),
          ("chigi_rad", "qtot_nm^-1")]


def place(incident, tilt, orientation):
    return dict(incident_angle=numpy.radians(incident), tilt_angle=numpy.radians(tilt), sample_orientation=orientation)


def sample_options(units, incident, tilt, orientation):
    return ["-u", ",".join(units), "--incident-angle", str(incident), "--tilt-angle", str(tilt), "--sample-orientation",
            str(orientation)]


def fibre(units, npt, lie, split="no", ranges=(None, None)):
    """pyFAI's image and ours: how far apart."""
    fi = FiberIntegrator(detector=detector(), **GEOMETRY)
    want = fi.integrate2d_fiber(image, npt_ip=npt[0], unit_ip=units[0], npt_oop=npt[1], unit_oop=units[1],
                                ip_range=ranges[0], oop_range=ranges[1], method=(split, "csr", "cython"), **place(*lie))
    options = sample_options(units, *lie) + ["-n", str(npt[0]), "--npt-azim", str(npt[1]), "--split", split]
    for name, r in zip(("--radial-range", "--azimuth-range"), ranges):
        options += [name, f"{r[0]},{r[1]}"] if r else []
    keys, got = cake(*options)
    # What pyFAI's engine has below a range is in its first bins (doc/geometry.md).
    first = 0 if ranges == (None, None) else 1
    return (*off(got[first:, first:], want.intensity[first:, first:]), same_axes(keys, units, (want.inplane, want.outofplane)))


for k, units in enumerate(FIBRES):
    # The beam, and with it the values that jump, is beside the detector or on it, and so it goes through all eight ways to lie.
    apart = fibre(units, (23, 19), (0.7 * k - 2, 9 * k - 40, k % 8 + 1))
    report(f"{units[0]}, {units[1]}: orientation {k % 8 + 1}", apart[1] <= 2 and apart[2], apart)
    report("... turned otherwise", fibre(units, (23, 19), (0, 0, (k + 3) % 8 + 1))[1] <= 2)
LIE = (0.4, 1.5, 2)
for name in ("axes.edf", "axes.h5"):
    try:
        halcyon(*sample_options(("qoop_A^-1", "chigi_deg"), *LIE), "-n", "5", "--npt-azim", "4", "-o", name)
    except RuntimeError as without:
        report(f"{name} # SKIP {without}", True)
        continue
    said = subprocess.run([sys.argv[1], "info", name], capture_output=True, text=True).stdout
    report(f"{name} says both axes", "5 bins of qoop_A^-1" in said and "4 bins of chigi_deg" in said, said)
apart = fibre(FIBRES[0], (20, 15), LIE, ranges=((-12, 20), (-5, 14)))
report("ranges on both axes", apart[1] <= 2 and apart[2], apart)
apart = fibre(FIBRES[9], (20, 15), LIE, ranges=((5, 24), (-100, 80)))
report("a range of chigi", apart[1] <= 2 and apart[2], apart)
for units in (FIBRES[1], FIBRES[6]):
    apart = fibre(units, (23, 19), LIE, "bbox")
    report(f"bbox: {units[0]}, {units[1]}", apart[0] < 1e-5 and apart[2], apart)
for vertical, ours in ((True, ["--along-chi", "--radial-range", "-12,20"]), (False, ["--azimuth-range", "-5,14"])):
    # Short names; and no splitting, though it is not asked for.
    what = f"a curve {'out of' if vertical else 'in'} the plane"
    options = [*sample_options(("qip", "qoop"), *LIE), "-n", "18"]
    fi = FiberIntegrator(detector=detector(), **GEOMETRY)
    want = fi.integrate1d_fiber(image, npt_ip=18, npt_oop=18, vertical_integration=vertical, **place(*LIE))
    got = curve(*options, *ours[:1] if vertical else [])
    report(what, off(got[1], want.intensity)[1] <= 1, off(got[1], want.intensity))
    report("... its axis", abs(got[0] - want.integrated).max() < 1e-4, got[0], want.integrated)
    # With a range on the other axis by sums of pixels.
    ip, oop = (fi.center_array((HEIGHT, WIDTH), unit=get_unit_fiber(unit, **place(*LIE))) for unit in FIBRES[0])
    along, inside = (oop, (ip >= -12) & (ip <= 20)) if vertical else (ip, (oop >= -5) & (oop <= 14))
    edges = numpy.linspace(along.min(), along.max() * (1 + 2**-23), 19)
    signal, norm = (numpy.histogram(along[inside], edges, weights=w[inside])[0]
                    for w in (image.astype(float), fi.solidAngleArray((HEIGHT, WIDTH))))
    got = curve(*options, *ours)
    report("... with a range on the other axis", off(got[1], signal / numpy.maximum(norm, 1e-9))[1] == 0, got[1],
           signal / norm)

# --- Pseudo splitting: pyFAI 2026.9's own loses and doubles counts, so its definition is summed up here, box by box ---
def boxes(npt, ranges):
    """The image of boxes that are as large as the pixels, about the mean of the corners; a curve for npt[1] 1."""
    corners = ai.corner_array((HEIGHT, WIDTH), unit="q_nm^-1", scale=False).reshape(-1, 4, 2).astype(float)
    (r0, r1), (c0, c1) = ranges
    sums = numpy.zeros((2, npt[1], npt[0]))
    for value, corner in zip(image.ravel(), corners):
        r, c = corner[:, 0], corner[:, 1]
        if numpy.ptp(c) > numpy.pi:
            c = numpy.where(c < 0, c + 2 * numpy.pi, c)
            c = c - 2 * numpy.pi * (c.mean() > numpy.pi)
        area = 0.5 * abs((r[2] - r[0]) * (c[3] - c[1]) - (c[2] - c[0]) * (r[3] - r[1]))
        scale = numpy.sqrt(area / (numpy.ptp(r) * numpy.ptp(c)))
        shares = []
        for x, low, high, n in ((r, r0, r1, npt[0]), (c, c0, c1, npt[1])):
            half = 0.5 * scale * numpy.ptp(x)
            edges = numpy.linspace(low, high, n + 1)
            edges[-1] = max(edges[-1], high if x is r else numpy.inf)  # a whole turn has no outside
            edges[0] = edges[0] if x is r else -numpy.inf
            shares.append(numpy.diff(numpy.clip((edges - (x.mean() - half)) / (2 * half), 0, 1)))
        both = numpy.outer(shares[1], shares[0])
        sums += both * numpy.array([value, 1.0])[:, None, None]
    return sums[0] / numpy.maximum(sums[1], 1e-12)


axis = numpy.array([6, 20 * (1 + 2**-23)]), numpy.array([-numpy.pi, numpy.pi])
plain = ["--no-solid-angle", "--radial-range", "6,20", "-n", "20"]
got = {split: cake(*plain, "--npt-azim", "12", "--azimuth-range=-180,180", "--split", split)[1] for split in ("pseudo", "bbox", "full")}
report("pseudo splitting, image", off(got["pseudo"], boxes((20, 12), axis))[0] < 1e-5, off(got["pseudo"], boxes((20, 12), axis)))
report("... nearer to full than bbox", abs(got["pseudo"] - got["full"]).mean() < abs(got["bbox"] - got["full"]).mean(),
       abs(got["pseudo"] - got["full"]).mean(), abs(got["bbox"] - got["full"]).mean())
got = curve(*plain, "--split", "pseudo")
report("pseudo splitting, curve", off(got[1], boxes((20, 1), axis)[0])[0] < 1e-5, off(got[1], boxes((20, 1), axis)[0]))

# --- Configurations, from one to the other and back ---
for one, vertical in ((False, True), (True, True), (True, False)):
    config = WorkerFiberConfig(poni=PoniFile(data=ai), npt_ip=14, npt_oop=12, unit_ip=get_unit_fiber("qip_nm^-1", **place(*LIE)),
                               unit_oop=get_unit_fiber("qoop_nm^-1", **place(*LIE)), ip_range=[-12, 20], oop_range=[-5, 14],
                               integration_1d=one, vertical_integration=vertical, method=("no", "csr", "cython"),
                               correct_solid_angle=True, polarization_description=[0.9, 0.3])
    config.save("fibre.json")
    given = ["-u", "qip,qoop", "--incident-angle", "0.4", "--tilt-angle", "1.5", "--sample-orientation", "2", "--radial-range",
             "-12,20", "--azimuth-range", "-5,14", "--polarization", f"0.9,{float(numpy.degrees(0.3))!r}"]
    name = "one.dat" if one else "one.edf"
    if not one:
        given += ["-n", "14", "--npt-azim", "12"]
    else:
        given += ["-n", "12", "--along-chi"] if vertical else ["-n", "14"]
    halcyon(*given, "-o", name, "--save-config", "ours.json")
    want = open(name, "rb").read()
    rows = [line for line in want.splitlines() if not line.startswith(b"#")] if one else want[-4 * 14 * 12:]
    for file in ("fibre.json", "ours.json"):
        halcyon("-j", file, "-o", name)
        again = open(name, "rb").read()
        again = [line for line in again.splitlines() if not line.startswith(b"#")] if one else again[-4 * 14 * 12:]
        report(f"{'a curve' if one else 'an image'} by {file}", again == rows)
    theirs = WorkerFiberConfig.from_file("ours.json")
    report("... which pyFAI reads", theirs.unit_ip.name == "qip_nm^-1" and theirs.unit_oop.sample_orientation == 2 and
           abs(theirs.unit_oop.incident_angle - numpy.radians(0.4)) < 1e-12 and theirs.integration_1d == one and
           theirs.npt_ip == (1 if one and vertical else 14) and list(theirs.oop_range) == [-5, 14], theirs)
print(f"1..{tests}")
