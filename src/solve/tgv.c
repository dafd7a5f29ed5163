/* tgv.c - total generalised variation of second order (K. Bredies, K. Kunisch, T. Pock, SIAM J. Imaging Sci. 3
 * (2010) 492): differences of an image less a field v, and the symmetrised differences of v, where the best v is
 * sought along with the image.
 *
 * Vectors are the image and v, [1 + n][image]; what they are mapped to is [n + n (n + 1) / 2][image]: n
 * differences, then n of v's own, then those of pairs of axes, times sqrt(2) as they stand twice in the
 * symmetric matrix.
 */
#include "proximal_priv.h"

#include <halcyon/eval.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_AXES = 3 };
#define HALF_ROOT 0.70710678118654752440

/* --- K --- */

struct tgv {
    int n;
    hcy_space image;
    hcy_operator *forward[MOST_AXES], *backward[MOST_AXES];
    hcy_array *aside;
    struct hcy__turn turn;
};

static void free_tgv(void *user)
{
    struct tgv *g = user;
    for (int d = 0; d < g->n; d++) {
        hcy_operator_release(g->forward[d]);
        hcy_operator_release(g->backward[d]);
    }
    hcy_array_release(g->aside);
    hcy__turn_end(&g->turn);
    free(g);
}

static int count_symmetric(int n)
{
    return n * (n + 1) / 2;
}

/* The images of a vector, one behind the other; released by release_images(). */
enum { MOST_IMAGES = MOST_AXES + MOST_AXES * (MOST_AXES + 1) / 2 };
static int take_images(hcy_array *images[MOST_IMAGES], const hcy_array *vector, const hcy_space *image, int n)
{
    int status = 0;
    for (int i = 0; !status && i < n; i++)
        status = hcy__vector_part(&images[i], vector, i * hcy__space_count(image), image);
    return status;
}
static void release_images(hcy_array *images[MOST_IMAGES])
{
    for (int i = 0; i < MOST_IMAGES; i++)
        hcy_array_release(images[i]);
}

/* Calls `with` for each pair of axes a <= b and the image that has their differences. */
static int for_pairs(hcy_queue *queue, const struct tgv *g, hcy_array **field, hcy_array **symmetric,
                     int (*with)(hcy_queue *, const struct tgv *, hcy_array **, hcy_array *, int, int))
{
    int at = g->n;
    int status = 0;
    for (int a = 0; !status && a < g->n; a++)
        status = with(queue, g, field, symmetric[a], a, a);
    for (int a = 0; a < g->n; a++)
        for (int b = a + 1; !status && b < g->n; b++)
            status = with(queue, g, field, symmetric[at++], a, b);
    return status;
}

static int differ_pair(hcy_queue *queue, const struct tgv *g, hcy_array **v, hcy_array *e, int a, int b)
{
    int status = hcy__operator_run(queue, e, g->backward[b], v[a], false);
    if (status || a == b)
        return status;
    status = hcy__operator_run(queue, g->aside, g->backward[a], v[b], false);
    return status ? status
                  : HCY_EVAL(queue, "e = f*(e + w)", hcy_op_array("e", e), hcy_op_array("w", g->aside),
                             hcy_op_real("f", HALF_ROOT));
}

/* to += factor op^H from. */
static int add_adjoint(hcy_queue *queue, const struct tgv *g, hcy_array *to, hcy_operator *op, hcy_array *from,
                       double factor)
{
    int status = hcy__operator_run(queue, g->aside, op, from, true);
    return status ? status
                  : HCY_EVAL(queue, "x += f*w", hcy_op_array("x", to), hcy_op_array("w", g->aside),
                             hcy_op_real("f", factor));
}

static int return_pair(hcy_queue *queue, const struct tgv *g, hcy_array **v, hcy_array *e, int a, int b)
{
    const double factor = a == b ? 1 : HALF_ROOT;
    int status = add_adjoint(queue, g, v[a], g->backward[b], e, factor);
    return status || a == b ? status : add_adjoint(queue, g, v[b], g->backward[a], e, factor);
}

static int differ_images(hcy_queue *queue, const struct tgv *g, hcy_array **y, hcy_array **x)
{
    int status = 0;
    for (int d = 0; !status && d < g->n; d++) {
        status = hcy__operator_run(queue, y[d], g->forward[d], x[0], false);
        if (!status)
            status = HCY_EVAL(queue, "y -= v", hcy_op_array("y", y[d]), hcy_op_array("v", x[1 + d]));
    }
    return status ? status : for_pairs(queue, g, x + 1, y + g->n, differ_pair);
}

static int return_images(hcy_queue *queue, const struct tgv *g, hcy_array **x, hcy_array **y)
{
    int status = hcy__operator_run(queue, x[0], g->forward[0], y[0], true);
    for (int d = 1; !status && d < g->n; d++)
        status = add_adjoint(queue, g, x[0], g->forward[d], y[d], 1);
    for (int d = 0; !status && d < g->n; d++)
        status = HCY_EVAL(queue, "v = -y", hcy_op_array("v", x[1 + d]), hcy_op_array("y", y[d]));
    return status ? status : for_pairs(queue, g, x + 1, y + g->n, return_pair);
}

static int run_tgv(hcy_queue *queue, struct tgv *g, hcy_array *mapped, hcy_array *vector, bool adjoint)
{
    hcy_array *y[MOST_IMAGES] = { NULL }, *x[MOST_IMAGES] = { NULL };
    int status = take_images(y, mapped, &g->image, g->n + count_symmetric(g->n));
    if (!status)
        status = take_images(x, vector, &g->image, 1 + g->n);
    if (!status) {
        status = hcy__turn_take(&g->turn, queue);
        if (!status)
            status = adjoint ? return_images(queue, g, x, y) : differ_images(queue, g, y, x);
        hcy__turn_give(&g->turn);
    }
    release_images(y);
    release_images(x);
    return status;
}

static int apply_tgv(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_tgv(queue, user, y, x, false);
}

static int apply_tgv_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_tgv(queue, user, y, x, true);
}

/* n images. */
static hcy_space space_of_images(const hcy_space *image, int n)
{
    hcy_space s = { image->dtype, image->rank + 1, { n }, NULL };
    for (int d = 0; d < image->rank; d++)
        s.shape[d + 1] = image->shape[d];
    return s;
}

static int make_tgv_operator(hcy_operator **op, hcy_device *dev, const hcy_space *image, int n)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct tgv *g = calloc(1, sizeof *g);
    if (!g)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&g->turn);
    g->n = n;
    g->image = *image;
    int status = hcy__space_vector(&g->aside, dev, image);
    for (int d = 0; !status && d < n; d++) {
        status = hcy_operator_difference(&g->forward[d], dev, image, d - n, HCY_DIFFERENCE_FORWARD, 1);
        if (!status)
            status = hcy_operator_difference(&g->backward[d], dev, image, d - n, HCY_DIFFERENCE_BACKWARD, 1);
    }
    if (status) {
        free_tgv(g);
        return status;
    }
    desc.name = "tgv";
    desc.domain = space_of_images(image, 1 + n);
    desc.range = space_of_images(image, n + count_symmetric(n));
    desc.apply = apply_tgv;
    desc.adjoint = apply_tgv_adjoint;
    desc.destroy = free_tgv;
    desc.user = g;
    return hcy__operator_make(op, dev, &desc);
}

/* --- g --- */

struct lengths {
    hcy_space image;
    int n;
    double first, second;
};

/* Images times what their common length leaves of 1.  Its square stands in the first result until that is written. */
static int shrink_images(hcy_queue *queue, hcy_array **y, hcy_array **x, int n, double t)
{
    double limit;
    const hcy_operand unit = hcy__proximal_unit(&limit, t, x[0]->dtype);
    int status = HCY_EVAL(queue, "y = abs2(u*x)", hcy_op_array("y", y[0]), hcy_op_array("x", x[0]), unit);
    for (int i = 1; !status && i < n; i++)
        status = HCY_EVAL(queue, "y += abs2(u*x)", hcy_op_array("y", y[0]), hcy_op_array("x", x[i]), unit);
    for (int i = n - 1; !status && i >= 0; i--)
        status = HCY_EVAL(queue, "y = x * where(sqrt(real(s)) > t, 1 - t / sqrt(real(s)), 0)",
                          hcy_op_array("y", y[i]), hcy_op_array("x", x[i]), hcy_op_array("s", y[0]),
                          hcy_op_real("t", limit));
    return status;
}

static int map_tgv(hcy_queue *queue, hcy_array *to, void *user, hcy_array *from, double t)
{
    const struct lengths *l = user;
    const int symmetric = count_symmetric(l->n);
    hcy_array *y[MOST_IMAGES] = { NULL }, *x[MOST_IMAGES] = { NULL };
    int status = take_images(y, to, &l->image, l->n + symmetric);
    if (!status)
        status = take_images(x, from, &l->image, l->n + symmetric);
    if (!status)
        status = shrink_images(queue, y, x, l->n, t * l->first);
    if (!status)
        status = shrink_images(queue, y + l->n, x + l->n, symmetric, t * l->second);
    release_images(y);
    release_images(x);
    return status;
}

/* --- Making --- */

static int check_tgv(const hcy_device *dev, const hcy_space *image, int n_axes, double first, double second)
{
    int status = dev ? hcy__space_check(image, "hcy_proximal_tgv")
                     : hcy_fail(HCY_EINVAL, "hcy_proximal_tgv: no device");
    if (status)
        return status;
    if (n_axes < 1 || n_axes > MOST_AXES || n_axes > image->rank || image->rank == HCY_ARRAY_MAX_RANK)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_tgv: along %d axes of %d; 1 to 3 are possible, with one more in front",
                        n_axes, image->rank);
    if (!(first >= 0) || isinf(first) || !(second >= 0) || isinf(second))
        return hcy_fail(HCY_EINVAL, "hcy_proximal_tgv: factors of %g and %g; finite and not below 0", first,
                        second);
    if (image->vectors)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_proximal_tgv: of vectors that are distributed");
    return 0;
}

int hcy_proximal_tgv(hcy_proximal **p, hcy_device *dev, const hcy_space *image, int n_axes, double first,
                     double second)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    int status = check_tgv(dev, image, n_axes, first, second);
    struct lengths *l = status ? NULL : malloc(sizeof *l);
    if (!l)
        return status ? status : hcy_fail(HCY_ENOMEM, "out of memory for a regulariser");
    *l = (struct lengths){ *image, n_axes, first, second };
    status = make_tgv_operator(&desc.analysis, dev, image, n_axes);
    if (!status) {
        desc.name = "tgv";
        desc.space = desc.analysis->desc.range;
        desc.map = map_tgv;
        desc.user = l;
        desc.destroy = free;
        /* With a >= |D|, the differences' norm: (a |x| + |v|)^2 + (a |v|)^2 at most. */
        const double square = 4 * n_axes;
        desc.norm = sqrt(square + (1 + sqrt(1 + 4 * square)) / 2);
        status = hcy_proximal_create(p, dev, &desc);
    }
    hcy_operator_release(desc.analysis);
    if (status)
        free(l);
    return status;
}
