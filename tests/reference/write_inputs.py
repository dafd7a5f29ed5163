#!/usr/bin/env python3
"""Images as other programs write them, of one and the same numbers: write_inputs.py FOLDER, by peers.t

Prints a line for each: the path, and a factor: the stack's sum is that often the numbers of want.npy.
"""
import os
import sys

import fabio
import h5py
import hdf5plugin
import numpy

os.chdir(sys.argv[1])
image = numpy.random.default_rng(1).poisson(5, (40, 50))
numpy.save("want.npy", image)
made = {}


def put(path, data, kind):
    kind(data=data).write(path)
    made[path] = 1


for name in ("uint8", "uint16", "uint32", "int16", "int32", "float32", "float64"):
    put(name + ".edf", image.astype(name), fabio.edfimage.EdfImage)
    if name != "float64":
        put(name + ".tif", image.astype(name), fabio.tifimage.TifImage)
put("packed.edf.gz", image.astype("uint16"), fabio.edfimage.EdfImage)
put("one.cbf", image.astype("int32"), fabio.cbfimage.CbfImage)
several = fabio.edfimage.EdfImage(data=image.astype("uint16"))
for i in range(2):
    several.append_frame(data=image.astype("uint16"))
several.write("several.edf")
made["several.edf"] = 3
for i in range(3):
    put("series_%03d.edf" % i, image.astype("int32"), fabio.edfimage.EdfImage)
    del made["series_%03d.edf" % i]
made["series_%03d.edf"] = 3
stack = numpy.stack([image] * 3).astype("uint32")
kinds = {"standard": dict(compression="gzip", shuffle=True, fletcher32=True), "plain": {},
         "bslz4": hdf5plugin.Bitshuffle(), "zstd": hdf5plugin.Bitshuffle(cname="zstd"),
         "none": hdf5plugin.Bitshuffle(cname="none"), "lz4": hdf5plugin.LZ4()}
for name, how in kinds.items():
    with h5py.File(name + ".h5", "w", libver=("v110", "v110") if name == "lz4" else None) as f:
        f.create_dataset("entry/data/data", data=stack, chunks=(1, 40, 50), **how)
    made[name + ".h5"] = 3
with h5py.File("master.h5", "w") as f:
    f["entry/data/data_000001"] = h5py.ExternalLink("bslz4.h5", "/entry/data/data")
    f["entry/data/data_000002"] = h5py.ExternalLink("bslz4.h5", "/entry/data/data")
made["master.h5"] = 6
layout = h5py.VirtualLayout(shape=stack.shape, dtype=stack.dtype)
layout[:] = h5py.VirtualSource("bslz4.h5", "entry/data/data", shape=stack.shape)
with h5py.File("virtual.h5", "w") as f:
    f.create_virtual_dataset("data", layout)
made["virtual.h5"] = 3
for path, factor in made.items():
    print(path, factor)
