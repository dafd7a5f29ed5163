#!/usr/bin/env python3
"""Hand use: files written through Halcyon's HDF5 filters read through those of hdf5plugin (and bitshuffle's own
h5py module), and the other way round; their filter values are the same.

    python3 h5plugin.py DIRECTORY-OF-libh5halcyon.so        (h5py, hdf5plugin, bitshuffle from PyPI)

Each side runs in a process of its own: HDF5 keeps the first filter that it finds for a number.
"""
import os
import subprocess
import sys
import tempfile

import numpy

TYPES = ["u1", "<u2", "V3", "<u4", "<f4", "V5", "V7", "<u8", "<f8", "V11", "V12", "<c16", "V16", "V24"]
SHAPES = [(3, 7), (5, 1001), (2, 517 * 31)]
FILTERS = [(32008, ()), (32008, (0, 2)), (32008, (64, 2)), (32008, (1024, 0)), (32008, (0, 3, 5)),
           (32004, ()), (32004, (0,)), (32004, (1000,)), (32004, (8192,))]


def values(dtype, shape, seed):
    rng = numpy.random.default_rng(seed)
    size = numpy.dtype(dtype).itemsize
    raw = rng.poisson(2, (shape[0], shape[1] * size)).astype("u1")
    raw[:, ::97] = rng.integers(0, 256, raw[:, ::97].shape)
    return raw.view(dtype)


def cases():
    for t in TYPES:
        for shape in SHAPES:
            for number, options in FILTERS:
                yield "%s_%d_%d_%s" % (t.strip("<"), shape[1], number, "_".join(map(str, options))), t, shape, \
                    number, options


def write(path):
    import h5py
    with h5py.File(path, "w") as f:
        for i, (name, t, shape, number, options) in enumerate(cases()):
            f.create_dataset(name, data=values(t, shape, i), chunks=(1, shape[1]), compression=number,
                             compression_opts=options)


def read(path):
    import h5py
    with h5py.File(path) as f:
        for i, (name, t, shape, number, options) in enumerate(cases()):
            if f[name][()].tobytes() != values(t, shape, i).tobytes():
                sys.exit("%s of %s is wrong" % (name, path))
            print(name, f[name].id.get_create_plist().get_filter(0)[2])


def main(directory):
    me, out = os.path.abspath(__file__), {}
    sides = {"halcyon": dict(os.environ, HDF5_PLUGIN_PATH=directory),
             "hdf5plugin": dict(os.environ, HDF5_PLUGIN_PATH="/nowhere", H5_PEER="hdf5plugin"),
             "bitshuffle": dict(os.environ, HDF5_PLUGIN_PATH="/nowhere", H5_PEER="bitshuffle.h5 hdf5plugin")}
    with tempfile.TemporaryDirectory() as folder:
        for side, env in sides.items():
            subprocess.run([sys.executable, me, "write", folder + "/" + side], env=env, check=True)
        for reader, env in sides.items():
            for writer in sides:
                text = subprocess.run([sys.executable, me, "read", folder + "/" + writer], env=env, check=True,
                                      stdout=subprocess.PIPE, text=True).stdout
                assert out.setdefault(writer, text) == text
        for line, peer in zip(out["halcyon"].splitlines(), out["hdf5plugin"].splitlines()):
            if line != peer:
                print("values differ: %s, hdf5plugin: %s" % (line, peer))
        print("%d datasets, 3 writers, 3 readers: all equal" % len(out["halcyon"].splitlines()))


if len(sys.argv) == 3:
    for module in os.environ.get("H5_PEER", "").split():
        __import__(module)
    {"write": write, "read": read}[sys.argv[1]](sys.argv[2])
else:
    main(os.path.abspath(sys.argv[1]))
