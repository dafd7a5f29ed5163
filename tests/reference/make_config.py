#!/usr/bin/env python3
"""Writes config_*.json, as pyFAI's Worker saves its configuration, and config_cases.h, the curves that it makes with them.

By hand: make_config.py, in this folder, with pyFAI 2026.9.  The image is that of tests/config.c.
"""
import json

import numpy
import pyFAI
from pyFAI.detectors import Detector
from pyFAI.integrator.azimuthal import AzimuthalIntegrator
from pyFAI.io.integration_config import WorkerConfig
from pyFAI.worker import Worker

HEIGHT, WIDTH = 64, 48
i = numpy.arange(HEIGHT * WIDTH, dtype=numpy.uint64)
image = (((i * 2654435761) >> 7) % 1000).astype(numpy.uint32).reshape(HEIGHT, WIDTH)

ai = AzimuthalIntegrator(dist=0.1, poni1=3.1e-3, poni2=2.3e-3, rot1=0.01, rot2=-0.02, rot3=0.03, wavelength=1e-10,
                         detector=Detector(1e-4, 1e-4, max_shape=(HEIGHT, WIDTH)))
full = ("full", "csr", "cython")
cases = {
    "plain": dict(nbpt_rad=20, nbpt_azim=1, unit="q_nm^-1", method=("bbox", "csr", "cython")),
    "ranges": dict(nbpt_rad=15, nbpt_azim=1, unit="2th_deg", method=full, radial_range=[0.2, 1.6],
                   azimuth_range=[-60, 120], polarization_description=[0.9, 0.3], error_model="poisson",
                   normalization_factor=2.5),
    "dummy": dict(nbpt_rad=12, nbpt_azim=None, unit="r_mm", method=("no", "csr", "cython"), val_dummy=500,
                  delta_dummy=40, correct_solid_angle=False, error_model="poisson"),
    "image": dict(nbpt_rad=9, nbpt_azim=7, unit="q_A^-1", method=full, integrator_method="integrate2d_ng"),
}


def numbers(name, values):
    text = ", ".join(f"{v:.9g}" for v in numpy.ravel(values))
    lines, line = [], "   "
    for word in text.split(" "):
        if len(line) + len(word) + 1 > 108:
            lines.append(line)
            line = "   "
        line += " " + word
    return f"static const double {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n"


out = f"/* config_cases.h - written by make_config.py with pyFAI {pyFAI.version}: its curves. */\n"
for name, keys in cases.items():
    config = WorkerConfig.from_dict(dict(application="worker", version=5, poni=dict(ai.get_config()), **keys))
    config.save(f"config_{name}.json")
    worker = Worker(shapeOut=(1, 1))
    worker.set_config(WorkerConfig.from_file(f"config_{name}.json"))
    worker.polarization_factor = config.polarization_description  # pyFAI 2026.9's worker leaves the angle out
    worker.output = "raw"
    result = worker.process(image)
    out += "\n" + numbers(f"config_{name}_radial", result.radial) + numbers(f"config_{name}_intensity", result.intensity)
    out += numbers(f"config_{name}_sigma", [0.0] if result.sigma is None else result.sigma)

# What older programs have saved: the same as "ranges", under the names of versions 4 and 3.
with open("config_ranges.json") as f:
    five = json.load(f)
four = {k: v for k, v in five.items() if k not in ("polarization_description", "correct_solid_angle", "extra_options",
                                                   "integrator_class", "integrator_method", "azimuth_range",
                                                   "radial_range", "chi_discontinuity_at_0", "version", "shape")}
four.update(version=4, polarization_factor=0.9, polarization_offset=0.3, do_polarization=True, do_solid_angle=True,
            azimuth_range_min=-60, azimuth_range_max=120, do_azimuthal_range=True, radial_range_min=0.2,
            radial_range_max=1.6, do_radial_range=True, do_2D=False, do_mask=False, mask_file="not_used.edf",
            do_dummy=False, val_dummy=1.0, delta_dummy=float("inf"))
three = {k: v for k, v in four.items() if k != "poni"}
three.update({k: v for k, v in five["poni"].items()}, version=3, application="pyfai-integrate")
for version, config in ((4, four), (3, three)):
    with open(f"config_version{version}.json", "w") as f:
        json.dump(config, f, indent=1)
    worker = Worker(shapeOut=(1, 1))
    worker.set_config(WorkerConfig.from_dict(dict(config)))
    worker.output = "raw"
    again = worker.process(image)
    print(version, "as version 5:", abs(again.intensity).max())
with open("config_cases.h", "w") as f:
    f.write(out)
