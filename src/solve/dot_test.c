/* dot_test.c - whether an operator's adjoint is one: <A x, y> against <x, A^H y> for random x and y. */
#include "vectors.h"

#include <halcyon/eval.h>
#include <math.h>

/* One pair's vectors, and the sums that are made of them. */
struct pair {
    hcy_operator *op;
    hcy_array *x, *y, *ax, *ay;
    hcy_array *sums[6];
};
enum { AX_Y, X_AY, AX_AX, Y_Y, X_X, AY_AY };

static int make_pair(struct pair *p)
{
    const hcy_space *domain = &p->op->desc.domain, *range = &p->op->desc.range;
    int status = hcy__space_vector(&p->x, p->op->dev, domain);
    if (!status)
        status = hcy__space_vector(&p->ay, p->op->dev, domain);
    if (!status)
        status = hcy__space_vector(&p->y, p->op->dev, range);
    if (!status)
        status = hcy__space_vector(&p->ax, p->op->dev, range);
    for (int i = 0; !status && i < 6; i++)
        status = hcy__new_number(&p->sums[i], p->op->dev,
                                 hcy__dot_type(i == X_AY || i == X_X || i == AY_AY ? domain : range));
    return status;
}

static void free_pair(struct pair *p)
{
    hcy_array_release(p->x);
    hcy_array_release(p->y);
    hcy_array_release(p->ax);
    hcy_array_release(p->ay);
    for (int i = 0; i < 6; i++)
        hcy_array_release(p->sums[i]);
}

static int submit_pair(hcy_queue *queue, struct pair *p, uint64_t seed, int64_t stream)
{
    const hcy_space *domain = &p->op->desc.domain, *range = &p->op->desc.range;
    int status = hcy__vector_random(queue, p->x, domain, seed, stream);
    if (!status)
        status = hcy__vector_random(queue, p->y, range, seed, stream + 2);
    if (!status)
        status = hcy__operator_run(queue, p->ax, p->op, p->x, false);
    if (!status)
        status = hcy__operator_run(queue, p->ay, p->op, p->y, true);
    /* What each sum is of, in the order of their names. */
    hcy_array *const of[6][2] = { { p->y, p->ax }, { p->ay, p->x }, { p->ax, p->ax },
                                  { p->y, p->y },  { p->x, p->x },  { p->ay, p->ay } };
    for (int i = 0; !status && i < 6; i++)
        status = hcy__vector_dot(queue, p->sums[i], i == X_AY || i == X_X || i == AY_AY ? domain : range,
                                 of[i][0], of[i][1]);
    return status;
}

static int read_mismatch(double *mismatch, hcy_queue *queue, const struct pair *p)
{
    double v[6][2] = { { 0 } };
    int status = 0;
    for (int i = 0; !status && i < 6; i++)
        status = hcy_array_to_host(v[i], queue, p->sums[i]);
    if (status)
        return status;
    /* Between real and complex vectors only the real parts are held against each other.  Norms are the scale, as the
     * inner product of two random vectors may be next to nothing. */
    const bool both = hcy__space_is_complex(&p->op->desc.domain) && hcy__space_is_complex(&p->op->desc.range);
    double off = hypot(v[AX_Y][0] - v[X_AY][0], both ? v[AX_Y][1] - v[X_AY][1] : 0);
    double scale = (sqrt(v[AX_AX][0]) * sqrt(v[Y_Y][0]) + sqrt(v[X_X][0]) * sqrt(v[AY_AY][0])) / 2;
    /* By an infinite norm anything would be nothing. */
    *mismatch = !isfinite(scale) ? NAN : off == 0 ? 0 : off / scale;
    return 0;
}

int hcy_operator_dot_test(double *mismatch, hcy_queue *queue, hcy_operator *op, int pairs, uint64_t seed)
{
    struct pair p = { .op = op };
    double worst = 0, one = 0;
    if (!mismatch || !queue || !op || pairs < 1)
        return hcy_fail(HCY_EINVAL, "hcy_operator_dot_test: no %s",
                        !mismatch ? "place for the result"
                        : !queue  ? "queue"
                        : op      ? "pairs of vectors"
                                  : "operator");
    int status = make_pair(&p);
    for (int i = 0; !status && i < pairs; i++) {
        status = submit_pair(queue, &p, seed, (int64_t)i * 4);
        if (!status)
            status = read_mismatch(&one, queue, &p);
        /* What is no number is no match: it stays, whatever comes after it. */
        worst = isnan(one) || one > worst ? one : worst;
        if (isnan(worst))
            break;
    }
    free_pair(&p);
    if (!status)
        *mismatch = isnan(worst) ? INFINITY : worst;
    return status;
}
