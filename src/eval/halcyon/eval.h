/* halcyon/eval.h - expressions over arrays: one fused kernel, the same bits on every device.
 *
 *     hcy_eval(queue, "y = a*x + y", operands, n)
 *
 * computes elementwise with broadcasting, as NumPy does, in the order of `queue`, without waiting.  For example:
 *
 *     static int add_half(hcy_queue *queue, hcy_array *y, hcy_array *x, hcy_array *s)
 *     {
 *         return HCY_EVAL(queue, "y = a*x + y; s = norm(y)", hcy_op_array("y", y), hcy_op_array("x", x),
 *                         hcy_op_array("s", s), hcy_op_real("a", 0.5));
 *     }
 *
 * A text is statements with ';' between, on any number of lines; behind # a line is a remark.  A statement is NAME =
 * EXPRESSION (or +=, -=, *=, /=); NAME is an array that is there, of the result's shape, or names the expression for
 * the statements behind it, as long as no array that it reads is written (memory that another array's name has written
 * is read as it is then).  f(a, b) = EXPRESSION makes a function of up to 8 arguments, which knows these, the operands,
 * and functions that stand before it.  What is compiled for a text and its operands' types is kept while an array of
 * that device lives, and on disk where a device's compiler is asked; another call costs a look-up and a launch.
 *
 *   operators   || && ! (of truth)  | ^ & ~ (of bits)  == != < <= > >=  + - * / // % **, unary + -; as in Python
 *               comparisons bind less than |.  // and % are integers' and round towards minus infinity; / of integers
 *               is of them as float64, so that 256 may divide a uint8; x ** y, or pow(x, y), of integers wraps, and a
 *               negative y makes the reciprocal towards zero
 *   numbers     1, 2.5e-3, 4j, pi; `index` is an element's number in C order, int64
 *   elementwise abs(x) abs2(x) sign(x) sqrt(x) floor(x) ceil(x) round(x) conj(x) real(x) imag(x) complex(x, y)
 *               minimum(x, y) maximum(x, y) clip(x, low, high) where(c, x, y) fma(x, y, z) isnan(x) copysign(x, y),
 *               and a type's name: float32(x) and so on
 *   functions   exp(x) exp2(x) expm1(x) log(x) log2(x) log10(x) log1p(x) sin(x) cos(x) tan(x) asin(x) acos(x) atan(x)
 *               atan2(y, x) angle(x) sinh(x) cosh(x) tanh(x) erf(x) rsqrt(x) hypot(x, y) fmod(x, y) as C has them;
 *               x is fraction(x) * 2 ** exponent(x), as frexp() has it, and ldexp(x, n) is x * 2 ** n
 *   random      random(seed, index, stream) is 64 bits (uint64) of Philox 4x32-10, a number for each three integers
 *               (the stream may be left out: 0); of the same three, uniform() is float64 from 0 to less than 1,
 *               uniform32() such a float32, normal() float64 with mean 0 and deviation 1.  y = uniform(7, index).  Of
 *               64 random bits, below(n, bits) is an integer (int64) from 0 to n - 1, poisson(mean, bits) one of
 *               Poisson's: y = poisson(x, random(7, index))
 *   reductions  of all elements, to a number that may stand anywhere in the expression: sum(x) prod(x) min(x) max(x)
 *               any(x) all(x) count(x) mean(x) var(x) std(x) dot(x, y) vdot(x, y) norm(x) norm1(x) norminf(x) argmin(x)
 *               argmax(x); or along some axes to an array, as NumPy has it: sum(x, axis=1), max(x, axis=(0, -1),
 *               keepdims=True).  argmin() and argmax() number what is reduced, in C order.  var(x) is mean(abs2(x -
 *               mean(x))), two passes; norm(x) is of integers as float64, and so are means of those of 64 bits; norm1()
 *               and norminf() of those with a sign are int64, and dot(x, y) is of products that wrap.  norm(x) is the
 *               root of the sum of squares, one pass: of numbers below 1e-162 they are 0, above 1.4e154 infinite, and
 *               norm(x / norminf(x)) * norminf(x) is for these.  min(x, y) and max(x, y) are minimum() and maximum():
 *               a second argument is no axis.  Complex numbers have neither these nor prod(); times(a, b) = a * b; p =
 *               reduce(times, x, 1) is their product
 *   scans       cumsum(x) cumprod(x) cummin(x) cummax(x): of each element what those up to it make, over all elements
 *               in C order or along axes, axis=1; in x's shape.  exclusive=True: up to the one before; the first is 0,
 *               1, or the end of the type (infinity) that changes nothing
 *   one's own   reduce(f, x, none) and scan(f, x, none) join numbers by a function of two arguments, what was before
 *               and what comes behind: one of the text's or ours, as in far(a, b) = where(abs(a) > abs(b), a, b); s =
 *               reduce(far, x, 0).  x may be any expression; axis=, keepdims= and exclusive= as above.  `none`, a
 *               number or the name of one, is what no elements make, and the first of an exclusive scan; it may be
 *               left out elsewhere.  f knows its arguments and numbers, no arrays; it joins numbers of x's type, and
 *               what it makes becomes that.  It should be associative, and need not commute: neighbours are joined by a
 *               tree (<eval_format.h>) that is the same on every device, whatever f is.  Pairs are complex numbers
 *
 * Types.  Of two arrays NumPy's: int32 + float32 is float64, uint8 + int8 is int16, and so on; but float16 is
 * for storage, what is computed of it is float32.  Numbers in the text and of hcy_op_real() and so on take the arrays'
 * type where that has their kind (0.5*x is float32 if x is).  What would lose its kind when it is assigned
 * (complex to real, real to integer) wants a type's name around it.  Integers wrap.  Real to integer rounds towards
 * zero, ends at the ends of 64 bits, makes 0 of NaN, and wraps to fewer bits.
 *
 * Bits.  Every operation is IEEE 754's, correctly rounded, and none is contracted.  Functions and ** of real numbers,
 * and abs() of complex ones, are made of such operations, the same on all devices; of floats they are made in float,
 * but exp beyond -87 and 87, sin and cos from 65536 on, tan, **, hypot and fmod in double.  They are made to be within
 * 1 unit in the last place, which was measured for floats and millions of doubles of those of one argument, and for
 * some thousand pairs of others (tests/maths), of all sizes; it is not proven.  exp, log, sqrt and ** of complex
 * numbers are made of real functions; the other functions want real numbers.  A text that begins with "fast:" takes
 * the device's own functions, with bits of their own, where it has a compiler and a kernel is generated.  A complex
 * quotient is Smith's, and a real factor or divisor is one of both parts.  Sums and products of floats are made in
 * double, by one tree for all devices and numbers of threads (<eval_format.h> says which), and become the type that
 * they are of before they are used: along an axis each has the bits that it has alone.  Scans have a rule of their own
 * there.  A NaN is stored as one and the same.
 *
 * An array that is written may be read in the same statement, and overlap what is read: the result is as if all was
 * read first.  Any thread; several threads may use one queue.
 */
#ifndef HALCYON_EVAL_H
#define HALCYON_EVAL_H

#include <halcyon/array.h>

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

enum hcy_operand_kind { HCY_OPERAND_ARRAY = 1, HCY_OPERAND_INTEGER, HCY_OPERAND_REAL, HCY_OPERAND_COMPLEX };

/* A name in the text, and what it stands for. */
typedef struct hcy_operand {
    const char *name;
    int kind;         /* HCY_OPERAND_* */
    hcy_array *array; /* of one element too: then the host need not know the number */
    int64_t integer;
    double real, imag;
} hcy_operand;

static inline hcy_operand hcy_op_array(const char *name, hcy_array *array)
{
    hcy_operand o = { name, HCY_OPERAND_ARRAY, array, 0, 0, 0 };
    return o;
}
static inline hcy_operand hcy_op_integer(const char *name, int64_t x)
{
    hcy_operand o = { name, HCY_OPERAND_INTEGER, NULL, x, 0, 0 };
    return o;
}
static inline hcy_operand hcy_op_real(const char *name, double x)
{
    hcy_operand o = { name, HCY_OPERAND_REAL, NULL, 0, x, 0 };
    return o;
}
static inline hcy_operand hcy_op_complex(const char *name, double real, double imag)
{
    hcy_operand o = { name, HCY_OPERAND_COMPLEX, NULL, 0, real, imag };
    return o;
}

/* Asynchronous; arrays may be released at once.  HCY_EINVAL: the text, with the column of what is wrong, and its line
 * if there are several; types or shapes that do not go together; an axis that is not there; an array of another device
 * than the queue's; min() or max() of nothing; more than 16 statements that write, 16 functions, 64 names of
 * expressions or 31 expressions within one another.  HCY_ERANGE: an operand's integer beyond its type.
 * HCY_EUNSUPPORTED: more than a statement may have (8 arrays and results of reductions, 12 numbers, 32 intermediate
 * results at a time, 96 operations of a function that joins) or a text (256 operations and names, 24 results of
 * reductions), `index` along axes that are not the last ones, or a device that has neither the kernel nor a compiler
 * for it (FPGA cards).  HCY_ENOMEM, HCY_ECOMPILE.  Names that begin with hcy_ are the library's. */
HCY_API int hcy_eval(hcy_queue *queue, const char *text, const hcy_operand *operands, size_t n) HCY_MUST_USE;

/* The same with the operands as further arguments. */
#ifdef __cplusplus
static inline int hcy_eval_list(hcy_queue *queue, const char *text,
                                std::initializer_list<hcy_operand> list) HCY_MUST_USE;
static inline int hcy_eval_list(hcy_queue *queue, const char *text, std::initializer_list<hcy_operand> list)
{
    return hcy_eval(queue, text, list.begin(), list.size());
}
#define HCY_EVAL(queue, text, ...) hcy_eval_list((queue), (text), { __VA_ARGS__ })
#else
#define HCY_EVAL(queue, text, ...)                                       \
    hcy_eval((queue), (text), (const hcy_operand[]){ __VA_ARGS__ },      \
             sizeof((const hcy_operand[]){ __VA_ARGS__ }) / sizeof(hcy_operand))
#endif

#ifdef __cplusplus
}
#endif
#endif
