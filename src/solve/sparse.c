/* sparse.c - sparse matrices as operators: products that are sums of arrays' rows, with the same bits on every device.
 *
 * Rows stand in classes of as many elements as the longest of them may have, at most a half more than a row's own, and
 * are filled up with zeros: a class is a matrix, whose products are summed along an axis.  What elements are multiplied
 * with is taken by number before, for all classes at once, and behind it the sums are taken to where their rows are.
 * The transposed matrix, which the adjoint multiplies by, is kept in the same way.
 */
#include "operator_priv.h"

#include "types.h"

#include <halcyon/eval.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 120 }; /* of 1, 2, 3, 4, 6, 8, 12 and so on elements, up to 2^60 */

/* A matrix by its rows, on the host. */
struct rows_of {
    int64_t rows, columns;
    const int64_t *starts, *numbers;
    const char *values;
};

/* Rows of `width` elements; the first element and the first row among those of all classes. */
struct row_class {
    int64_t width, rows, element, row;
};

/* What products of a matrix's rows are made of. */
struct products {
    hcy_array *numbers, *values; /* of all classes' elements: which column, and what */
    hcy_array *places;           /* where the sum of each row is, among those of all classes */
    int64_t elements, sums;
    struct row_class classes[CLASSES];
};

struct sparse {
    struct products products, adjoint;
};

static int64_t width_of(int k)
{
    if (!k)
        return 1;
    return k % 2 ? (int64_t)1 << (k + 1) / 2 : (int64_t)3 << (k / 2 - 1);
}

static int class_of(int64_t length)
{
    int k = 0;
    while (width_of(k) < length)
        k++;
    return k;
}

static void count_classes(struct products *p, const struct rows_of *m)
{
    for (int64_t i = 0; i < m->rows; i++)
        if (m->starts[i + 1] > m->starts[i])
            p->classes[class_of(m->starts[i + 1] - m->starts[i])].rows++;
    for (int k = 0; k < CLASSES; k++) {
        struct row_class *c = &p->classes[k];
        *c = (struct row_class){ width_of(k), c->rows, p->elements, p->sums };
        p->elements += c->rows * c->width;
        p->sums += c->rows;
    }
}

/* Elements that are not there are multiplied with what a number outside of all takes, 0: whatever x has, they are 0. */
static void fill_classes(int64_t *numbers, char *values, int64_t *places, const struct products *p,
                         const struct rows_of *m, size_t size)
{
    int64_t next[CLASSES] = { 0 };
    for (int64_t i = 0; i < p->elements; i++)
        numbers[i] = INT64_MAX;
    for (int64_t i = 0; i < m->rows; i++) {
        const int64_t first = m->starts[i], n = m->starts[i + 1] - first;
        const int k = class_of(n);
        const struct row_class *c = &p->classes[k];
        const int64_t at = c->element + next[k] * c->width;
        places[i] = INT64_MAX;
        if (!n)
            continue;
        places[i] = c->row + next[k]++;
        memcpy(numbers + at, m->numbers + first, (size_t)n * sizeof *numbers);
        memcpy(values + (size_t)at * size, m->values + (size_t)first * size, (size_t)n * size);
    }
}

static int make_products(struct products *p, hcy_device *dev, int dtype, const struct rows_of *m)
{
    const size_t size = hcy_dtype_size(dtype);
    count_classes(p, m);
    /* One more, as there may be none. */
    int64_t *numbers = malloc((size_t)(p->elements + 1) * sizeof *numbers),
            *places = malloc((size_t)m->rows * sizeof *places);
    char *values = calloc((size_t)p->elements + 1, size);
    int status = numbers && places && values ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a sparse matrix");
    if (!status) {
        fill_classes(numbers, values, places, p, m, size);
        status = hcy_array_from_host(&p->numbers, dev, HCY_INT64, 1, &p->elements, numbers);
    }
    if (!status)
        status = hcy_array_from_host(&p->values, dev, dtype, 1, &p->elements, values);
    if (!status)
        status = hcy_array_from_host(&p->places, dev, HCY_INT64, 1, &m->rows, places);
    free(numbers);
    free(places);
    free(values);
    return status;
}

static void end_products(struct products *p)
{
    hcy_array_release(p->numbers);
    hcy_array_release(p->values);
    hcy_array_release(p->places);
}

/* --- The transposed matrix --- */

static void conjugate(char *value, int dtype)
{
    if (dtype == HCY_COMPLEX64)
        ((float *)(void *)value)[1] *= -1;
    else if (dtype == HCY_COMPLEX128)
        ((double *)(void *)value)[1] *= -1;
}

/* Elements of a column stand in the order of the rows that they come from. */
static void transpose_into(int64_t *starts, int64_t *numbers, char *values, const struct rows_of *m, int dtype)
{
    const size_t size = hcy_dtype_size(dtype);
    for (int64_t i = 0; i < m->starts[m->rows]; i++)
        starts[m->numbers[i] + 1]++;
    for (int64_t k = 0; k < m->columns; k++)
        starts[k + 1] += starts[k];
    for (int64_t row = 0; row < m->rows; row++)
        for (int64_t i = m->starts[row]; i < m->starts[row + 1]; i++) {
            const int64_t at = starts[m->numbers[i]]++;
            numbers[at] = row;
            memcpy(values + (size_t)at * size, m->values + (size_t)i * size, size);
            conjugate(values + (size_t)at * size, dtype);
        }
    /* Each beginning has become the next one's. */
    memmove(starts + 1, starts, (size_t)m->columns * sizeof *starts);
    starts[0] = 0;
}

static int make_adjoint(struct products *p, hcy_device *dev, int dtype, const struct rows_of *m)
{
    const size_t n = (size_t)m->starts[m->rows];
    int64_t *starts = calloc((size_t)m->columns + 1, sizeof *starts), *numbers = malloc((n + 1) * sizeof *numbers);
    char *values = malloc((n + 1) * hcy_dtype_size(dtype));
    int status = starts && numbers && values ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a sparse matrix");
    if (!status) {
        transpose_into(starts, numbers, values, m, dtype);
        status = make_products(p, dev, dtype, &(struct rows_of){ m->columns, m->rows, starts, numbers, values });
    }
    free(starts);
    free(numbers);
    free(values);
    return status;
}

/* --- Products --- */

static int sum_class(hcy_queue *queue, const struct row_class *c, hcy_array *sums, hcy_array *values, hcy_array *taken)
{
    const hcy_space rows = { sums->dtype, 1, { c->rows }, NULL }, all = { sums->dtype, 2, { c->rows, c->width }, NULL };
    hcy_array *s = NULL, *v = NULL, *t = NULL;
    int status = hcy__vector_part(&s, sums, c->row, &rows);
    if (!status)
        status = hcy__vector_part(&v, values, c->element, &all);
    if (!status)
        status = hcy__vector_part(&t, taken, c->element, &all);
    if (!status)
        status = HCY_EVAL(queue, "s = sum(v * t, axis=1)", hcy_op_array("s", s), hcy_op_array("v", v),
                          hcy_op_array("t", t));
    hcy_array_release(s);
    hcy_array_release(v);
    hcy_array_release(t);
    return status;
}

static int multiply_rows(hcy_queue *queue, hcy_array *y, const struct products *p, hcy_array *x)
{
    const int64_t n_sums = p->sums ? p->sums : 1; /* without any no place is inside */
    hcy_array *taken = NULL, *sums = NULL;
    int status = hcy_array_empty(&sums, hcy_queue_device(queue), x->dtype, 1, &n_sums);
    if (!status)
        status = hcy_array_empty(&taken, hcy_queue_device(queue), x->dtype, 1, &p->elements);
    if (!status)
        status = hcy_array_take(queue, taken, x, p->numbers, 0);
    for (int k = 0; !status && k < CLASSES; k++)
        if (p->classes[k].rows)
            status = sum_class(queue, &p->classes[k], sums, p->values, taken);
    if (!status)
        status = hcy_array_take(queue, y, sums, p->places, 0);
    hcy_array_release(taken);
    hcy_array_release(sums);
    return status;
}

static int apply_sparse(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return multiply_rows(queue, y, &((struct sparse *)user)->products, x);
}

static int apply_sparse_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return multiply_rows(queue, x, &((struct sparse *)user)->adjoint, y);
}

static void free_sparse(void *user)
{
    struct sparse *s = user;
    end_products(&s->products);
    end_products(&s->adjoint);
    free(s);
}

static int check_rows(const struct rows_of *m)
{
    if (m->starts[0])
        return hcy_fail(HCY_EINVAL, "hcy_operator_sparse: row 0 begins with element %lld", (long long)m->starts[0]);
    for (int64_t i = 0; i < m->rows; i++)
        if (m->starts[i + 1] < m->starts[i])
            return hcy_fail(HCY_EINVAL, "hcy_operator_sparse: row %lld ends before it begins", (long long)i);
    const int64_t n = m->starts[m->rows];
    if (n && (!m->numbers || !m->values))
        return hcy_fail(HCY_EINVAL, "hcy_operator_sparse: no %s", m->numbers ? "values" : "columns");
    /* As many as can be filled up and counted in bytes. */
    if (n > INT64_MAX / 64)
        return hcy_fail(HCY_ERANGE, "hcy_operator_sparse: %lld elements", (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (m->numbers[i] < 0 || m->numbers[i] >= m->columns)
            return hcy_fail(HCY_EINVAL, "hcy_operator_sparse: element %lld is in column %lld of %lld", (long long)i,
                            (long long)m->numbers[i], (long long)m->columns);
    return 0;
}

int hcy_operator_sparse(hcy_operator **op, hcy_device *dev, int dtype, const int64_t shape[2], const int64_t *starts,
                        const int64_t *columns, const void *values)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    if (!op || !dev || !shape || !starts)
        return hcy_fail(HCY_EINVAL, "hcy_operator_sparse: no %s", !op      ? "place for the operator"
                                                                  : !dev   ? "device"
                                                                  : !shape ? "shape"
                                                                           : "starts");
    desc.name = "sparse matrix";
    desc.domain = (hcy_space){ dtype, 1, { shape[1] }, NULL };
    desc.range = (hcy_space){ dtype, 1, { shape[0] }, NULL };
    desc.apply = apply_sparse;
    desc.adjoint = apply_sparse_adjoint;
    desc.destroy = free_sparse;
    int status = hcy__space_check(&desc.domain, "hcy_operator_sparse");
    if (!status)
        status = hcy__space_check(&desc.range, "hcy_operator_sparse");
    if (!status && (shape[0] < 1 || shape[1] < 1))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_sparse: %lld rows and %lld columns", (long long)shape[0],
                          (long long)shape[1]);
    const struct rows_of m = { shape[0], shape[1], starts, columns, values };
    if (!status)
        status = check_rows(&m);
    struct sparse *s = status ? NULL : calloc(1, sizeof *s);
    if (!status && !s)
        status = hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    if (!status)
        status = make_products(&s->products, dev, dtype, &m);
    if (!status)
        status = make_adjoint(&s->adjoint, dev, dtype, &m);
    if (status) {
        if (s)
            free_sparse(s);
        return status;
    }
    desc.user = s;
    return hcy__operator_make(op, dev, &desc);
}
