"""Arrays and expressions of libhalcyon, called by ctypes, against NumPy's.  TAP; the argument is the shared library."""
import ctypes as c
import itertools
import sys

import numpy as np

lib = c.CDLL(sys.argv[1])
TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
         "float64", "complex64", "complex128"]
ARRAY = 1
number = 0


class Operand(c.Structure):
    _fields_ = [("name", c.c_char_p), ("kind", c.c_int), ("array", c.c_void_p), ("integer", c.c_int64),
                ("real", c.c_double), ("imag", c.c_double)]


def ok(held, text):
    global number
    number += 1
    print(f"{'ok' if held else 'not ok'} {number} - {text}")


def must(status, text):
    if status:
        raise RuntimeError(f"{text}: status {status}")


dev, queue = c.c_void_p(), c.c_void_p()
must(lib.hcy_device_open(c.byref(dev), b"cpu@threads=2"), "a device")
must(lib.hcy_queue_create(c.byref(queue), dev), "a queue")
lib.hcy_array_release.argtypes = [c.c_void_p]


def to_device(x):
    x = np.ascontiguousarray(x)
    a, shape = c.c_void_p(), (c.c_int64 * 8)(*x.shape)
    must(lib.hcy_array_from_host(c.byref(a), dev, TYPES.index(x.dtype.name) + 1, x.ndim, shape,
                                 x.ctypes.data_as(c.c_void_p)), "an array")
    return a


def to_host(a, shape, dtype):
    x = np.empty(shape, dtype)
    must(lib.hcy_array_to_host(x.ctypes.data_as(c.c_void_p), queue, a), "what was made")
    return x


def evaluate(text, result, **operands):
    """result: an array of the shape and type that `y` has in the text."""
    arrays = {name: to_device(x) for name, x in operands.items()}
    arrays["y"] = to_device(result)
    list_ = (Operand * len(arrays))(*[Operand(name.encode(), ARRAY, a, 0, 0, 0) for name, a in arrays.items()])
    status = lib.hcy_eval(queue, text.encode(), list_, c.c_size_t(len(arrays)))
    made = to_host(arrays["y"], result.shape, result.dtype) if not status else None
    for a in arrays.values():
        lib.hcy_array_release(a)
    return made


def same(a, b, tolerance=0.0):
    if a is None or a.shape != b.shape:
        return False
    exact = (a == b) | ((a != a) & (b != b))
    return bool(np.all(exact) if not tolerance else np.allclose(a, b, rtol=tolerance, atol=0, equal_nan=True))


def numbers(dtype, n, seed):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind in "fc":
        x = rng.normal(size=n) * 10 + (1j * rng.normal(size=n) if kind == "c" else 0)
        return x.astype(dtype)
    return rng.integers(0, 2 if kind == "b" else 100, n).astype(dtype)


def test_promotion():
    """y has the type that NumPy makes of both: what were another would be refused, or have other numbers."""
    wrong = []
    with np.errstate(all="ignore"):
        for a, b in itertools.product(TYPES, TYPES):
            if "float16" in (a, b):
                continue
            x, z = numbers(a, 50, 1), numbers(b, 50, 2)
            for sign, function in ("+", np.add), ("*", np.multiply), ("==", np.equal):
                if "bool" == a == b and sign != "==":
                    continue
                want = function(x, z)
                # Complex products may be summed up in another order of roundings.
                near = 1e-5 if sign == "*" and want.dtype.kind == "c" else 0
                if not same(evaluate(f"y = x {sign} z", np.zeros_like(want), x=x, z=z), want, near):
                    wrong.append(f"{a} {sign} {b}")
    ok(not wrong, f"two types make NumPy's: {', '.join(wrong[:8])}")


def test_slices():
    x = numbers("float64", 7 * 8 * 9, 3).reshape(7, 8, 9)
    a, wrong = to_device(x), []
    for text in ("1:-1", "::-1", "::2, 1::3", "..., 0", "3", "-1, :, -2", ":, 7:0:-2, ::-3", "5:2", "2:100", "-100:3",
                 "1, 2, 3", "..., ::4", "0:0", "6:0:-5, ..., 8"):
        want = eval(f"x[{text}]")
        view = c.c_void_p()
        must(lib.hcy_array_slice(c.byref(view), a, b"%s", c.c_char_p(text.encode())), text)
        if not same(to_host(view, np.shape(want), "float64"), np.asarray(want)):
            wrong.append(text)
        lib.hcy_array_release(view)
    lib.hcy_array_release(a)
    ok(not wrong, f"slices are NumPy's: {'; '.join(wrong)}")


def test_axes():
    x, wrong = numbers("float64", 5 * 6 * 7, 4).reshape(5, 6, 7), []
    whole = numbers("int32", 5 * 6 * 7, 5).reshape(5, 6, 7)
    for axis in (0, 1, 2, -1, (0, 2), (1, 2), (0, 1, 2)):
        text = str(axis).replace(" ", "")
        for name in "sum", "prod", "min", "max", "mean", "var", "std":
            want = np.asarray(getattr(np, name)(x, axis=axis))
            if not same(evaluate(f"y = {name}(x, axis={text})", np.zeros_like(want), x=x), want, 1e-12):
                wrong.append(f"{name} {axis}")
        for name in "sum", "min", "max", "any", "all":
            want = np.asarray(getattr(np, name)(whole, axis=axis))
            if not same(evaluate(f"y = {name}(x, axis={text})", np.zeros_like(want), x=whole), want):
                wrong.append(f"integers' {name} {axis}")
    for axis in (0, 1, 2):
        for ours, theirs in ("cumsum", np.add), ("cumprod", np.multiply), ("cummin", np.minimum), ("cummax", np.maximum):
            want = theirs.accumulate(x, axis=axis)
            if not same(evaluate(f"y = {ours}(x, axis={axis})", np.zeros_like(want), x=x), want, 1e-11):
                wrong.append(f"{ours} {axis}")
        for name in "argmin", "argmax":
            want = getattr(np, name)(x, axis=axis)
            if not same(evaluate(f"y = {name}(x, axis={axis})", np.zeros_like(want), x=x), want):
                wrong.append(f"{name} {axis}")
    ok(not wrong, f"reductions and scans along axes are NumPy's: {', '.join(wrong[:8])}")


def test_integers():
    x, z, wrong = np.arange(-60, 60, dtype="int64"), np.tile(np.array([-7, -3, -1, 1, 2, 9]), 20), []
    for sign in "//", "%", "&", "|", "^", "<", ">=", "!=":
        want = eval(f"x {sign} z")
        if not same(evaluate(f"y = x {sign} z", np.zeros_like(want), x=x, z=z), want):
            wrong.append(sign)
    ok(not wrong, f"integers' operators are NumPy's: {' '.join(wrong)}")


def test_order():
    x = numbers("float32", 3 * 500, 6).reshape(3, 500)
    x[:, ::7] = np.nan
    x[:, 1::9] = x[:, :1]
    wrong = []
    for axis in (0, 1):
        a, y, places = to_device(x), to_device(x), to_device(np.zeros(x.shape, "int64"))
        must(lib.hcy_array_sort(queue, y, a, axis), "sort")
        must(lib.hcy_array_argsort(queue, places, a, axis), "argsort")
        if not same(to_host(y, x.shape, x.dtype), np.sort(x, axis=axis, kind="stable")):
            wrong.append(f"sort {axis}")
        if not same(to_host(places, x.shape, "int64"), np.argsort(x, axis=axis, kind="stable")):
            wrong.append(f"argsort {axis}")
        for one in a, y, places:
            lib.hcy_array_release(one)
    counts = to_device(np.zeros(23, "int64"))
    a = to_device(x)
    must(lib.hcy_array_histogram(queue, counts, a, c.c_double(-20), c.c_double(15)), "histogram")
    want = np.histogram(x[~np.isnan(x)].astype("float64"), bins=23, range=(-20, 15))[0]
    if not same(to_host(counts, (23,), "int64"), want):
        wrong.append("histogram")
    lib.hcy_array_release(a)
    lib.hcy_array_release(counts)
    ok(not wrong, f"sorted and counted as NumPy does: {', '.join(wrong)}")


for test in test_promotion, test_slices, test_axes, test_integers, test_order:
    test()
lib.hcy_queue_release(queue)
lib.hcy_device_release(dev)
print(f"1..{number}")
