#!/usr/bin/env python3
"""Curves of `halcyon integrate --publish`: curve_reader.py ADDRESS [FRAMES]; the layout is in halcyon(1)."""
import struct
import sys

import numpy
import zmq

socket = zmq.Context().socket(zmq.SUB)
socket.setsockopt(zmq.SUBSCRIBE, b"HCYCURV1")
socket.setsockopt(zmq.RCVTIMEO, 30000)
socket.connect(sys.argv[1])
left = int(sys.argv[2]) if len(sys.argv) > 2 else -1
while left:
    message = socket.recv()
    head, flags, series, frame, n_radial, n_azim = struct.unpack_from("<IIQQII", message, 8)
    unit, azimuth_unit, *_ = message[40:head].decode().split("\0")  # a curve has no azimuth
    values = numpy.frombuffer(message, "<f8", offset=head)
    radius, azimuth, values = numpy.split(values, [n_radial, n_radial + n_azim])
    if flags & 2:
        print(series, frame, "failed")
    else:
        shape = (2 if flags & 1 else 1, n_azim, n_radial) if n_azim else (2 if flags & 1 else 1, n_radial)
        intensity, *sigma = values.reshape(shape)
        peak = f"{radius[intensity.argmax() % n_radial]:14.6e} {intensity.max():14.6e}"
        print(series, frame, peak, unit, *[azimuth_unit] * (n_azim > 0), flush=True)
    left -= 1
