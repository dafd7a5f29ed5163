#!/usr/bin/env python3
"""polynomials.py - the polynomials of families/eval/eval_polynomials.h, which is its output.

    build-aux/polynomials.py > families/eval/eval_polynomials.h       (needs mpmath)

Each interpolates its function at Chebyshev's points, with 60 digits, which is within a factor of about two of the best
polynomial of its degree; then its coefficients are rounded to doubles, or floats.  Terms that are exact (1, x, 1/2) are
taken off before, so that the rounding of what is left is far behind the result's last place.  The error printed is that
of the whole function, relative to it, and holds for the rounded coefficients.
"""
import struct

import mpmath as mp

mp.mp.dps = 60


def chebyshev(n, low, high):
    return [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]


def to_float(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def interpolate(f, low, high, degree, narrow):
    n = degree + 1
    nodes = chebyshev(n, low, high)
    if narrow and low < 0:
        # What a float's polynomial misses is multiplied by z^3: two points beside the middle are better near the ends.
        nodes = chebyshev(n + 2, low, high)
        del nodes[n // 2 + 2], nodes[n // 2]
    matrix = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for k in range(n):
            matrix[i, k] = x ** k
    return [to_float(c) if narrow else float(c) for c in mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes]))]


def interpolate_floats(f, low, high, degree):
    """Each coefficient is rounded before those behind it are looked for, which make up for its rounding: the point next
    to 0, where they have no weight, is given up for it."""
    nodes = chebyshev(degree + 1, low, high)
    values, c = [f(x) for x in nodes], []
    while nodes:
        matrix = mp.matrix([[x ** k for k in range(len(nodes))] for x in nodes])
        c.append(to_float(mp.lu_solve(matrix, mp.matrix(values))[0]))
        left = sorted(zip(nodes, values), key=lambda p: abs(p[0]))[1:]
        nodes, values = [x for x, v in left], [(v - c[-1]) / x for x, v in left]
    return c


def series(f, terms):
    """A function of z whose terms near 0 cancel: its Taylor series there."""
    return lambda z: f(z) if abs(z) > mp.mpf(10) ** -6 else mp.fsum(c * z ** k for k, c in enumerate(terms))


ROOT = mp.sqrt
SMALL = ROOT(2) - 1            # tan(pi/8)
LOG = SMALL ** 4               # s^2 of log: s = (sqrt(2) - 1)/(sqrt(2) + 1) = tan(pi/8)^2
HALF_LN2 = mp.log(2) / 2 * (1 + mp.mpf(2) ** -20)
QUARTER = (mp.pi / 4 * (1 + mp.mpf(2) ** -20)) ** 2
FLOAT_QUARTER = (mp.pi / 4 * (1 + mp.mpf(2) ** -8)) ** 2
EXP = series(lambda r: (mp.exp(r) - 1 - r) / r ** 2, [1 / mp.factorial(k + 2) for k in range(6)])
EXP3 = series(lambda r: (mp.exp(r) - 1 - r - r * r / 2) / r ** 3, [1 / mp.factorial(k + 3) for k in range(6)])
SIN = series(lambda z: (mp.sin(ROOT(z)) - ROOT(z)) / ROOT(z) ** 3,
             [(-1) ** (k + 1) / mp.factorial(2 * k + 3) for k in range(6)])
COS = series(lambda z: (mp.cos(ROOT(z)) - 1 + z / 2) / z ** 2, [(-1) ** k / mp.factorial(2 * k + 4) for k in range(6)])
ATANH = series(lambda z: (2 * mp.atanh(ROOT(z)) / ROOT(z) - 2) / z, [mp.mpf(2) / (2 * k + 3) for k in range(8)])
ATANH7 = series(lambda z: (2 * mp.atanh(ROOT(z)) / ROOT(z) - 2 - z * 2 / 3 - z * z * 2 / 5) / z ** 3,
                [mp.mpf(2) / (2 * k + 7) for k in range(8)])
LOG3 = series(lambda z: (mp.log(1 + z) - z + z * z / 2) / z ** 3, [(-1) ** k / mp.mpf(k + 3) for k in range(6)])
ATAN = series(lambda z: (mp.atan(ROOT(z)) / ROOT(z) - 1) / z,
              [(-1) ** (k + 1) * mp.mpf(1) / (2 * k + 3) for k in range(8)])
ERF = series(lambda z: mp.erf(ROOT(z)) / ROOT(z) - 1,
             [2 / ROOT(mp.pi) * (-1) ** k / (mp.factorial(k) * (2 * k + 1)) - (k == 0) for k in range(6)])
TANH = series(lambda z: (mp.tanh(ROOT(z)) / ROOT(z) - 1) / z,
              [mp.mpf(-1) / 3, mp.mpf(2) / 15, mp.mpf(-17) / 315, mp.mpf(62) / 2835, mp.mpf(-1382) / 155925])
SINH = series(lambda z: (mp.sinh(ROOT(z)) / ROOT(z) - 1) / z, [1 / mp.factorial(2 * k + 3) for k in range(6)])
ASIN = series(lambda z: (mp.asin(ROOT(z)) / ROOT(z) - 1) / z,
              [mp.mpf(1) / 6, mp.mpf(3) / 40, mp.mpf(5) / 112, mp.mpf(35) / 1152, mp.mpf(63) / 2816])
ERFC_SLOPE = series(lambda z: mp.log(mp.erfc(1 + z) / mp.erfc(1)) / z, [-2 * mp.exp(-1) / ROOT(mp.pi) / mp.erfc(1)])
ERFC_AT = lambda t: (1 + t) * 2 / (1 - t)   # x of t = (x - 2)/(x + 2)


def erfcx(t):
    x = ERFC_AT(t)
    return mp.erfc(x) * mp.exp(x * x)


TABLE = [
    # name, what, function, low, high, degree, the whole function's error of an error e at z
    ("exp", "(e^z - 1 - z)/z^2 for |z| <= ln(2)/2", EXP, -HALF_LN2, HALF_LN2, 10, lambda z, e: e * z * z / mp.exp(z)),
    ("short_exp", "the same for floats", EXP, -HALF_LN2, HALF_LN2, 5, lambda z, e: e * z * z / mp.exp(z)),
    ("float_exp", "(e^z - 1 - z - z^2/2)/z^3 for |z| <= ln(2)/2, in floats", EXP3, -HALF_LN2, HALF_LN2, 4,
     lambda z, e: e * z ** 3 / mp.exp(z)),
    ("sin", "(sin(r) - r)/r^3 of z = r^2, |r| <= pi/4", SIN, mp.mpf(0), QUARTER, 6, lambda z, e: e * z),
    ("short_sin", "the same for floats", SIN, mp.mpf(0), QUARTER, 3, lambda z, e: e * z),
    ("float_sin", "the same in floats, up to a little beyond pi/4", SIN, mp.mpf(0), FLOAT_QUARTER, 3, lambda z, e: e * z),
    ("cos", "(cos(r) - 1 + z/2)/z^2 of z = r^2, |r| <= pi/4", COS, mp.mpf(0), QUARTER, 5, lambda z, e: e * z * z),
    ("short_cos", "the same for floats", COS, mp.mpf(0), QUARTER, 3, lambda z, e: e * z * z),
    ("float_cos", "the same in floats, up to a little beyond pi/4", COS, mp.mpf(0), FLOAT_QUARTER, 2,
     lambda z, e: e * z * z),
    ("log", "(2 artanh(s)/s - 2)/z of z = s^2, s <= 3 - sqrt(8)", ATANH, mp.mpf(0), LOG, 7, lambda z, e: e * z / 2),
    ("short_log", "the same for floats", ATANH, mp.mpf(0), LOG, 4, lambda z, e: e * z / 2),
    ("long_log", "(2 artanh(s)/s - 2 - 2z/3 - 2z^2/5)/z^3 of that", ATANH7, mp.mpf(0), LOG, 8,
     lambda z, e: e * z ** 3 / 2),
    ("float_log", "(log(1 + z) - z + z^2/2)/z^3 for sqrt(1/2) <= 1 + z <= sqrt(2), in floats", LOG3, ROOT(0.5) - 1,
     SMALL, 8, lambda z, e: e * z ** 3 / mp.log(1 + z)),
    ("atan", "(atan(t)/t - 1)/z of z = t^2, t <= tan(pi/8)", ATAN, mp.mpf(0), SMALL ** 2, 11, lambda z, e: e * z),
    ("erf", "erf(x)/x - 1 of z = x^2 - 1/2, x <= 1", lambda z: ERF(z + mp.mpf(1) / 2), -mp.mpf("0.5"), mp.mpf("0.5"), 13,
     lambda z, e: e),
    ("erfc", "erfc(x) e^(x^2) of z = (x - 2)/(x + 2), 1 <= x <= 6", erfcx, mp.mpf(-1) / 3, mp.mpf(1) / 2, 16,
     lambda z, e: e * mp.exp(-ERFC_AT(z) ** 2)),
    ("float_tanh", "(tanh(r)/r - 1)/z of z = r^2, r <= 5/8, in floats", TANH, mp.mpf(0), mp.mpf(25) / 64, 5,
     lambda z, e: e * z * ROOT(z) / mp.tanh(ROOT(z)) if z else z),
    ("float_sinh", "(sinh(r)/r - 1)/z of z = r^2, r <= 1, in floats", SINH, mp.mpf(0), mp.mpf(1), 3,
     lambda z, e: e * z),
    ("float_atan", "(atan(t)/t - 1)/z of z = t^2, t <= 1/2, in floats", ATAN, mp.mpf(0), mp.mpf(1) / 4, 5,
     lambda z, e: e * z / (1 + ATAN(z) * z)),
    ("float_asin", "(asin(s)/s - 1)/z of z = s^2, s <= 1/2, in floats", ASIN, mp.mpf(0), mp.mpf(1) / 4, 5,
     lambda z, e: e * z),
    ("float_erf", "erf(x)/x - 1 of z = x^2 - 1/2, x <= 1, in floats", lambda z: ERF(z + mp.mpf(1) / 2), -mp.mpf("0.5"),
     mp.mpf("0.5"), 6, lambda z, e: e),
    ("float_erfc", "log(erfc(1 + z)/erfc(1))/z for z <= 2.2, in floats", ERFC_SLOPE, mp.mpf(0), mp.mpf("2.2"), 6,
     lambda z, e: e * z * mp.erfc(1 + z)),
]
# Made before there was interpolate_floats(): to keep their bits.
AT_ONCE = ["float_exp", "float_sin", "float_cos", "float_log"]


def main():
    print("/* eval_polynomials.h - made by build-aux/polynomials.py, which says how.  HELPER, f32, f64, FUSED_F32 and")
    print(" * FUSED_F64 are the dialect's. */")
    print("#ifndef HCY_EVAL_POLYNOMIALS_H\n#define HCY_EVAL_POLYNOMIALS_H")
    for name, what, f, low, high, degree, whole in TABLE:
        narrow = name.startswith("float_")
        kind, number = (32, "%.9gf") if narrow else (64, "%.17g")
        fine = narrow and name not in AT_ONCE
        c = interpolate_floats(f, low, high, degree) if fine else interpolate(f, low, high, degree, narrow)
        worst = 0
        for i in range(401):
            z = low + (high - low) * i / 400
            p = mp.polyval(list(reversed([mp.mpf(x) for x in c])), z)
            worst = max(worst, abs(whole(z, p - f(z))))
        print("\n/* %s: 2^%.1f. */" % (what, mp.log(worst, 2)))
        print("HELPER f%d %s_polynomial(f%d z)\n{\n    f%d y = %s;" % (kind, name, kind, kind, number % c[-1]))
        for x in reversed(c[:-1]):
            print("    y = FUSED_F%d(y, z, %s);" % (kind, number % x))
        print("    return y;\n}")
    print("\n#endif")


main()
