/* vectors.c - sums over vectors, and vectors to begin with.
 *
 * A vector that is distributed is an array on each process, so that whatever goes element by element needs nothing
 * here: solvers evaluate it on the arrays.  Sums alone go beyond a process, through the space's table.
 */
#include "vectors.h"

#include <halcyon/eval.h>

int hcy__dot_type(const hcy_space *space)
{
    return hcy__space_is_complex(space) ? HCY_COMPLEX128 : HCY_FLOAT64;
}

int hcy__new_number(hcy_array **number, hcy_device *dev, int dtype)
{
    return hcy_array_empty(number, dev, dtype, 0, NULL);
}

bool hcy__adds_parts(const hcy_space *space)
{
    const hcy_vectors *v = space->vectors;
    if (!v || !v->dot)
        return true;
    const bool says = v->size >= offsetof(hcy_vectors, adds_parts) + sizeof v->adds_parts && v->adds_parts;
    return says && v->total && v->adds_parts(v->user);
}

bool hcy__evaluates_square(const hcy_space *space)
{
    const hcy_vectors *v = space->vectors;
    return v && v->size >= offsetof(hcy_vectors, eval_square) + sizeof v->eval_square && v->eval_square;
}

int hcy__vector_dot(hcy_queue *queue, hcy_array *sum, const hcy_space *space, hcy_array *x, hcy_array *y)
{
    const hcy_vectors *v = space->vectors;
    if (v && v->dot)
        return v->dot(queue, sum, v->user, x, y);
    /* Squares of floats may be beyond what a float can have. */
    const char *text = hcy__space_is_complex(space) ? "s = vdot(complex128(x), complex128(y))"
                                                    : "s = dot(float64(x), float64(y))";
    int status = HCY_EVAL(queue, text, hcy_op_array("s", sum), hcy_op_array("x", x), hcy_op_array("y", y));
    if (!status && v && v->total)
        status = v->total(queue, sum, v->user);
    return status;
}

int hcy__vector_random(hcy_queue *queue, hcy_array *x, const hcy_space *space, uint64_t seed, int64_t stream)
{
#define NUMBER "index + first + index // run * skip"
    const char *text = hcy__space_is_complex(space)
                           ? "x = complex(normal(seed, " NUMBER ", stream), normal(seed, " NUMBER ", stream + 1))"
                           : "x = normal(seed, " NUMBER ", stream)";
#undef NUMBER
    const hcy_vectors *v = space->vectors;
    int status = 0;
    if (hcy__vectors_random(&status, queue, x, v, seed, stream))
        return status;
    const int64_t first = v && v->size >= offsetof(hcy_vectors, first) + sizeof v->first ? v->first : 0;
    const bool has_runs = v && v->size >= offsetof(hcy_vectors, skip) + sizeof v->skip && v->run > 0;
    /* Integers of operands have a sign, and a seed none: its highest bit makes other streams. */
    stream += (int64_t)(seed >> 63 << 62);
    return HCY_EVAL(queue, text, hcy_op_array("x", x), hcy_op_integer("seed", (int64_t)(seed & INT64_MAX)),
                    hcy_op_integer("stream", stream), hcy_op_integer("first", first),
                    hcy_op_integer("run", has_runs ? v->run : INT64_MAX),
                    hcy_op_integer("skip", has_runs ? v->skip : 0));
}

int hcy__vector_zero(hcy_queue *queue, hcy_array *x)
{
    return HCY_EVAL(queue, "x = 0", hcy_op_array("x", x));
}
