/* arrays.c - numbers of arrays in files, in the precision that a command computes with. */
#include "arrays.h"
#include <halcyon/backend.h>
#include <stdlib.h>

double array_real(const hcy_host_array *a, size_t i)
{
    return a->bytes == 8 ? ((const double *)a->data)[i] : (double)((const float *)a->data)[i];
}

bool array_is_real(const hcy_host_array *a, size_t numbers)
{
    for (size_t i = 0; a->is_complex && i < numbers; i++)
        if (array_real(a, 2 * i + 1) != 0)
            return false;
    return true;
}

const char *array_words(char text[200], const hcy_host_array *a, int first)
{
    size_t at = (size_t)snprintf(text, 200, "%s", a->rank > first ? "" : "a number");
    for (int d = first; d < a->rank && at < 170; d++)
        at += (size_t)snprintf(text + at, 200 - at, "[%llu]", (unsigned long long)a->shape[d]);
    return text;
}

size_t array_count_vectors(bool *has_axis, const hcy_host_array *a, size_t n)
{
    size_t points = 1, vectors = 1;
    int axis = a->rank;
    /* The last axes are points as soon as they are enough; what is in front, also an axis of one, is vectors. */
    while (axis > 0 && (axis == a->rank || points != n))
        if (hcy_size_mul(&points, points, (size_t)a->shape[--axis]))
            return 0;
    if (!a->rank || points != n)
        return 0;
    *has_axis = axis > 0;
    while (axis > 0)
        if (hcy_size_mul(&vectors, vectors, (size_t)a->shape[--axis]))
            return 0;
    return vectors;
}

void *reals_room(bool is_double, size_t n)
{
    return n < SIZE_MAX / 16 ? malloc((n + 1) * (is_double ? 8 : 4)) : NULL;
}

double reals_get(bool is_double, const void *reals, size_t i)
{
    return is_double ? ((const double *)reals)[i] : (double)((const float *)reals)[i];
}

void reals_put(bool is_double, void *reals, size_t i, double value)
{
    if (is_double)
        ((double *)reals)[i] = value;
    else
        ((float *)reals)[i] = (float)value;
}

int array_take_complex(void **numbers, const hcy_host_array *a, bool is_double)
{
    size_t count;
    int status = hcy_host_array_count(&count, a);
    if (status)
        return cli_fail(status);
    *numbers = count < SIZE_MAX / 2 ? reals_room(is_double, 2 * count) : NULL;
    if (!*numbers)
        return cli_error("out of memory for %zu numbers", count);
    for (size_t i = 0; i < count; i++) {
        reals_put(is_double, *numbers, 2 * i, array_real(a, a->is_complex ? 2 * i : i));
        reals_put(is_double, *numbers, 2 * i + 1, a->is_complex ? array_real(a, 2 * i + 1) : 0);
    }
    return CLI_OK;
}

int array_take_reals(void **numbers, const hcy_host_array *a, bool is_double, size_t n, const char *path,
                     const char *what)
{
    size_t count;
    char is[200];
    int status = hcy_host_array_count(&count, a);
    if (status)
        return cli_fail(status);
    const bool is_real = array_is_real(a, count);
    if (count != n || !is_real)
        return cli_error("%s: %s must be %zu real numbers, one for each point; it is %s%s", path, what, n,
                         is_real ? "" : "complex ", array_words(is, a, 0));
    *numbers = reals_room(is_double, n);
    if (!*numbers)
        return cli_error("out of memory for %zu %s", n, what);
    for (size_t i = 0; i < n; i++)
        reals_put(is_double, *numbers, i, array_real(a, a->is_complex ? 2 * i : i));
    return CLI_OK;
}
