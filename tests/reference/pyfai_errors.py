"""What pyFAI 2026.9 has wrong, as doc/geometry.md lists it: prints the list's lines, which tests/peers.t looks for there.

Turning an image over and naming the other orientation is the same measurement; so is a detector that stands on the
other side of the beam.
"""
import logging
import warnings

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

import numpy
from pyFAI.detectors import Detector, detector_factory
from pyFAI.integrator.azimuthal import AzimuthalIntegrator

RNG = numpy.random.default_rng(3)
UNITS = ("2th_deg", "d_m", "d*2_nm^-2", "log(q.nm)_None", "qx_nm^-1")


def place(orientation, name=None, poni=(0.0412, 0.0523), turn=(0, 0, 0)):
    if name:
        det = detector_factory(name, {"orientation": orientation})
    else:
        det = Detector(1e-3, 1e-3, max_shape=(100, 100), orientation=orientation)
    return AzimuthalIntegrator(0.1, *poni, *turn, detector=det, wavelength=1e-10)


def both(orientation, image, run, **where):
    """The largest difference between the image as it is and turned over, over the largest value."""
    over = {1: image[::-1, ::-1], 2: image[::-1], 4: image[:, ::-1]}[orientation]
    a = run(place(orientation, **where), image)
    b = run(place(3, **where), numpy.ascontiguousarray(over))
    return abs(a.intensity - b.intensity).max() / abs(b.intensity).max()


def method(split):
    return {"method": (split, "csr", "cython"), "correctSolidAngle": False}


def worst(image, run, **where):
    return max(both(o, image, run, **where) for o in (1, 2, 4))


jungfrau = RNG.random((512, 1024)).astype(numpy.float32) + numpy.arange(512)[:, None].astype(numpy.float32) / 100
found = ["%s %.2f" % (u, worst(jungfrau, lambda ai, x: ai.integrate1d(x, 50, unit=u, **method("full")), name="Jungfrau",
                               poni=(0.03, 0.02), turn=(0.1, -0.2, 0))) for u in UNITS]
print("1. Jungfrau, full: " + ", ".join(found))

image = RNG.random((100, 100)).astype(numpy.float32)
found = ["%s %.2f" % (u, worst(image, lambda ai, x: ai.integrate2d(x, 40, 36, unit=u, azimuth_range=(-180, 180),
                                                                  **method("bbox")), turn=(0.1, -0.1, 0.2)))
         for u in UNITS]
print("2. Detector, 2-D bbox: " + ", ".join(found))

found = []
for orientation in (1, 3):
    ai = place(orientation)
    over = image[::-1, ::-1] if orientation == 3 else image
    found.append(ai.integrate2d(over, 40, 36, unit="r_mm", azimuth_range=(-180, 180), **method("full")))
off = abs(found[0].count - found[1].count)
ai = place(1)
row = int((numpy.degrees(ai.center_array((100, 100), "chi_rad")[0, 0]) + 180) // 10)
print("3. 2-D full, orientation 1: counts are off in row %d alone, where the first pixel is" % row
      if (off[row] > 0.01).any() and (numpy.delete(off, row, axis=0) < 0.01).all() else "3. not seen")

ones = numpy.ones((100, 100), dtype=numpy.float32)
found = []
for at_pi in (True, False):
    ai = place(3, poni=(0.0512, 0.0523))
    (ai.setChiDiscAtPi if at_pi else ai.setChiDiscAtZero)()
    r = ai.integrate2d(ones, 40, 36, unit="r_mm", radial_range=(5, 45),
                       azimuth_range=(-180, 180) if at_pi else (0, 360), **method("full"))
    found.append("%.0f" % r.count[17 if at_pi else 35].sum() + " and %.0f" % r.count[18 if at_pi else 0].sum())
print("4. full, pixels from -10 to 0 and from 0 to 10 degrees: %s with the discontinuity at pi, %s at 0" % tuple(found))

halves = numpy.ones((100, 100), dtype=numpy.float32)
halves[50:] = 3
found = []
for x, around in ((-0.05, 0), (0.15, 180)):
    r = place(3, poni=(0.05, x)).integrate1d(halves, 5, unit="r_mm", radial_range=(60, 90),
                                             azimuth_range=(around - 30, around + 30), **method("full"))
    found.append("%.2f" % r.intensity[2])
print("5. A half of 1 and a half of 3: -30 to 30 degrees %s, 150 to 210 degrees %s" % tuple(found))

found = []
for turn in (numpy.pi / 4, -numpy.pi / 4):
    ai = AzimuthalIntegrator(0.1, 0.01 - 0.05 * numpy.sin(turn), 0.01 - 0.05 * numpy.cos(turn), 0, 0, turn,
                             detector=Detector(1e-3, 1e-4, max_shape=(20, 200), orientation=3), wavelength=1e-10)
    r = ai.integrate2d(numpy.ones((20, 200), dtype=numpy.float32), 20, 36, unit="r_mm", azimuth_range=(-180, 180),
                       **method("full"))
    found.append("%d" % (r.count.sum(axis=1) > 1e-3).sum())
print("6. full, pixels of 1 x 0.1 mm askew across 0: on a detector within 20 degrees of it %s and %s of 36 sectors"
      % tuple(found))
