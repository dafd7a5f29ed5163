#!/usr/bin/env python3
"""Are curves and images that halcyon wrote as HDF5 read by silx and pyFAI?  read_curves.py CURVES.h5, by peers.t

With silx: what it would plot.  With pyFAI: the tree beside one of its own HDF5Writer, and the first curve again from
the configuration in the file and the frames that it links to (written without --mask).
"""
import json
import os
import sys
import tempfile

import h5py
import hdf5plugin  # noqa: F401 (bitshuffle)
import numpy
import silx.io
import silx.io.nxdata
from pyFAI.io import HDF5Writer
from pyFAI.io.integration_config import WorkerConfig
from pyFAI.io.nexus import Nexus
from pyFAI.worker import Worker


def tree(path):
    """Names and shapes of all that is in the file, with the names of its attributes."""
    with h5py.File(path) as f:
        names = {"/": sorted(f.attrs)}
        f.visititems(lambda name, o: names.update({name: sorted(o.attrs)}))
    return names


path = sys.argv[1]
with Nexus(path, "r") as nexus:
    print("pyFAI's default:", nexus.get_default_NXdata().name, "of", nexus.get_entries()[0].name)
with silx.io.open(path) as f:
    data = silx.io.nxdata.get_default(f)
    print("silx:", data.signal_name, data.signal.shape, data.interpretation, data.axes_names, "errors",
          None if data.errors is None else data.errors.shape)
    assert data.is_valid

with h5py.File(path) as f:
    process = f["entry_0000/integrate"]
    config = WorkerConfig.from_dict(json.loads(process["configuration/data"][()]))
    worker = Worker()
    worker.set_config(config)
    image = f["entry_0000/measurement/images_0001"]
    top = numpy.iinfo(image.dtype).max
    image = image[int(process["results/frame"][0])]
    ours = process["results/data"][0]
    radial = process["results/radial"][()]
    polarization = config.polarization_description
    how = dict(unit=config.unit, mask=image >= top - 1, error_model=config.error_model,
               method=(config.method.split, "csr", "cython"), correctSolidAngle=config.correct_solid_angle,
               polarization_factor=polarization and polarization.factor)
    if ours.ndim == 1:
        theirs = worker.ai.integrate1d(image.astype(float), config.nbpt_rad, **how)
    else:
        theirs = worker.ai.integrate2d(image.astype(float), config.nbpt_rad, config.nbpt_azim, **how)
    there = theirs.intensity > 0
    off = numpy.median(numpy.abs(ours[there] / theirs.intensity[there] - 1))
    print("pyFAI again: radial", numpy.abs(radial - theirs.radial).max(), "intensity", off,
          "(median of relative differences)")
    assert numpy.allclose(radial, theirs.radial) and off < 1e-6

with tempfile.TemporaryDirectory() as folder:
    other = os.path.join(folder, "pyfai.h5")
    writer = HDF5Writer(other, append_frames=True)
    writer.init(config, {"number_of_frames": 1})
    writer.write(theirs)
    writer.close()
    ours, theirs = tree(path), tree(other)
    for name in sorted(set(ours) | set(theirs)):
        if name not in ours:
            sys.exit(f"{name}: pyFAI has it, this file has not")
        if name not in theirs:
            print("not pyFAI's:", name)
        elif set(theirs[name]) - set(ours[name]):
            sys.exit(f"{name}: without {set(theirs[name]) - set(ours[name])}")
