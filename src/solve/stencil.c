/* stencil.c - differences of neighbours as operators: along an axis, their sum (Laplacian), all of them (gradient).
 *
 * A matrix (differences.h) has a few first and last rows of its own, and one that all others share; so has its
 * transpose.  An operator is two jobs of the kernel `stencil`, made here once; each launch sets places in them, so that
 * any rows may be asked for.
 */
#include "differences.h"
#include "operator_priv.h"
#include "room.h"
#include "sized.h"

#include "stencil_arguments.h"

#include <stdlib.h>
#include <string.h>

struct stencil {
    hcy_differences_desc desc; /* rows are at least 0 */
    int n_axes;                /* with differences */
    int64_t row;               /* elements of a row */
    int64_t joined;            /* of a row that the job's first axis counts: 1, unless it has no differences */
    hcy_stencil_job jobs[2];   /* of all rows; the second of the adjoint */
};

/* --- Jobs --- */

static void set_inner(hcy_stencil_axis *a, bool is_single)
{
    for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
        const double c = a->rows[HCY_STENCIL_EDGE][k] * a->scale;
        const float rounded = (float)c;
        uint32_t bits;
        memcpy(&bits, &rounded, sizeof bits);
        memcpy(&a->inner[k], &c, sizeof c);
        if (is_single)
            a->inner[k] = bits;
    }
}

/* Coefficients of axis d, of which elements from `first` on count. */
static void set_rows(hcy_stencil_axis *a, const hcy_differences_desc *desc, int d, int64_t first, bool transposed)
{
    const int kind = desc->kinds[d];
    const int64_t extent = desc->space.shape[d], n = (int64_t)a->extent;
    /* Of few elements each has a row of its own. */
    const int64_t head = n < HCY_STENCIL_EDGE ? n : HCY_STENCIL_EDGE, tail = n - head < head ? n - head : head;
    a->is_term = 1;
    a->scale = desc->factors[d] / hcy__difference_divisor(kind);
    for (int64_t i = 0; i < head; i++)
        hcy__difference_row(a->rows[i], kind, first + i, extent, transposed);
    for (int64_t i = 0; i < tail; i++)
        hcy__difference_row(a->rows[HCY_STENCIL_ROWS - 1 - i], kind, first + n - 1 - i, extent, transposed);
    a->head = (uint8_t)head;
    a->tail = (uint8_t)tail;
    if (n <= head + tail)
        return;
    /* All between are alike, and so may some at the ends be. */
    hcy__difference_row(a->rows[HCY_STENCIL_EDGE], kind, first + head, extent, transposed);
    while (a->head && !memcmp(a->rows[a->head - 1], a->rows[HCY_STENCIL_EDGE], HCY_STENCIL_TAPS))
        a->head--;
    while (a->tail && !memcmp(a->rows[HCY_STENCIL_ROWS - a->tail], a->rows[HCY_STENCIL_EDGE], HCY_STENCIL_TAPS))
        a->tail--;
}

/* Of size[d] elements from first[d] on along axis d.  Axes without differences that follow one another become one:
 * lines are longer, and fewer.  The job's axis of each is told, if there is a place for it: -1 of those that are
 * none. */
static void set_job(hcy_stencil_job *job, int *axes, const hcy_differences_desc *desc, const int64_t *first,
                    const int64_t *size, bool transposed)
{
    const bool is_single = hcy__is_single(&desc->space);
    int64_t stride = hcy__space_is_complex(&desc->space) ? 2 : 1;
    uint32_t n = 0;
    memset(job, 0, sizeof *job);
    for (int d = 0; d < desc->space.rank; d++) {
        /* One element makes no axis: behind others it would leave lines of one. */
        const bool is_axis = !d || size[d] != 1 || desc->kinds[d];
        const bool joins = is_axis && n && !desc->kinds[d] && !job->axes[n - 1].is_term;
        hcy_stencil_axis *a = &job->axes[joins ? n - 1 : n];
        if (is_axis) {
            a->size = a->extent = joins ? a->size * (uint64_t)size[d] : (uint64_t)size[d];
            n += !joins;
        }
        if (is_axis && desc->kinds[d]) {
            set_rows(a, desc, d, first[d], transposed);
            set_inner(a, is_single);
        }
        if (axes)
            axes[d] = is_axis ? (int)n - 1 : -1;
    }
    for (uint32_t i = n; i-- > 0; stride *= (int64_t)job->axes[i].size)
        job->axes[i].stride = stride;
    job->rank = n;
    job->bytes = is_single ? 4 : 8;
}

/* --- Applying --- */

static void set_args(hcy_arg *args, const struct hcy__stencil_at *at, hcy_array *y, const hcy_stencil_job *job,
                     hcy_array *x)
{
    args[at->job] = hcy_arg_struct(job, offsetof(hcy_stencil_job, axes));
    for (int i = 0; i < HCY_STENCIL_AXES / 2; i++)
        args[at->pairs[i]] = hcy_arg_struct(&job->axes[2 * i], 2 * sizeof job->axes[0]);
    args[at->from] = hcy_arg_buf(x->buffer);
    args[at->to] = hcy_arg_buf(y->buffer);
}

static int submit_job(hcy_queue *queue, hcy_array *y, const hcy_stencil_job *job, hcy_array *x)
{
    static const struct hcy__stencil_at at = HCY__STENCIL_AT(stencil);
    hcy_kernel *kernel = NULL;
    hcy_arg args[HCY_MAX_ARGS];
    int status = hcy__room_move(&kernel, y->room, HCY__MOVE_STENCIL);
    if (status)
        return status;
    set_args(args, &at, y, job, x);
    return hcy_launch(queue, kernel, 1, args, HCY_N_ARGS(stencil));
}

/* Rows [first, end) of y; row 0 of it stands at row `at` of x. */
static int launch_rows(hcy_queue *queue, hcy_array *y, const struct stencil *s, hcy_array *x, bool adjoint,
                       int64_t first, int64_t end, int64_t at)
{
    const bool transposed = adjoint != (s->desc.transposed != 0);
    const int64_t width = hcy__space_is_complex(&s->desc.space) ? 2 : 1, row = s->row * width;
    hcy_stencil_job job = s->jobs[adjoint];
    /* Operands may be empty, as no row of a part that has none is asked for. */
    if (first >= end || !s->row)
        return 0;
    job.axes[0].first = (uint64_t)(first * s->joined);
    job.axes[0].size = (uint64_t)((end - first) * s->joined);
    job.from = x->offset * width + (first + at) * row;
    job.to = y->offset * width + first * row;
    if (s->desc.apart && s->n_axes > 1)
        *(transposed ? &job.from_step : &job.to_step) =
            (uint64_t)((transposed ? x : y)->count / s->n_axes * width);
    return submit_job(queue, y, &job, x);
}

static int apply_stencil(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    const struct stencil *s = user;
    return launch_rows(queue, y, s, x, false, 0, s->desc.rows, s->desc.before);
}

static int apply_stencil_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    const struct stencil *s = user;
    return launch_rows(queue, x, s, y, true, 0, s->desc.rows, s->desc.before);
}

int hcy_operator_apply_rows(hcy_queue *queue, hcy_array *y, hcy_operator *op, hcy_array *x, int64_t first, int64_t end)
{
    if (!op || op->desc.apply != apply_stencil)
        return hcy_fail(HCY_EINVAL, "hcy_operator_apply_rows: operator %s is none of differences",
                        op ? op->desc.name : "NULL");
    const struct stencil *s = op->desc.user;
    int status = hcy__operator_check(queue, y, op, x, false);
    if (!status && (first < 0 || end < first || end > s->desc.rows))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_apply_rows: rows %lld to %lld of %lld", (long long)first,
                          (long long)end, (long long)s->desc.rows);
    return status ? status : launch_rows(queue, y, s, x, false, first, end, s->desc.before);
}

/* --- Making --- */

/* Fills in the number of rows. */
static int check_rows(hcy_differences_desc *desc)
{
    const int64_t all = desc->space.rank ? desc->space.shape[0] : 0;
    if (desc->rows < 0 && desc->first >= 0)
        desc->rows = all - desc->first;
    if (desc->first < 0 || desc->first > all || desc->rows < 0 || desc->rows > all - desc->first)
        return hcy_fail(HCY_EINVAL, "differences: %lld rows from row %lld on, of %lld", (long long)desc->rows,
                        (long long)desc->first, (long long)all);
    return 0;
}

static int read_desc(hcy_differences_desc *desc, int *n_axes, const hcy_differences_desc *user)
{
    int status = hcy__sized_read(desc, sizeof *desc, user, "hcy_differences_desc");
    if (!status)
        status = hcy__space_check(&desc->space, "differences");
    *n_axes = 0;
    for (int d = 0; !status && d < desc->space.rank; d++) {
        if (desc->kinds[d] && !hcy__difference_is(desc->kinds[d]))
            status = hcy_fail(HCY_EINVAL, "differences: %d is no kind of difference", desc->kinds[d]);
        *n_axes += desc->kinds[d] != 0;
    }
    if (!status && !*n_axes)
        status = hcy_fail(HCY_EINVAL, "differences: along no axis; all kinds, or a Laplacian's factors, are 0");
    if (!status && desc->apart && desc->space.rank >= HCY_ARRAY_MAX_RANK)
        status = hcy_fail(HCY_EINVAL, "differences: those of %d axes apart would have one axis too many",
                          desc->space.rank);
    /* A part of a vector lacks its neighbours. */
    if (!status && desc->space.vectors)
        status = hcy_fail(HCY_EUNSUPPORTED, "differences: vectors that are distributed");
    return status ? status : check_rows(desc);
}

void hcy__stencil_reach_of(int64_t reach[2], const hcy_differences_desc *desc, int axis)
{
    const int64_t n = desc->space.shape[axis], few = 2 * HCY_STENCIL_EDGE;
    int8_t row[HCY_STENCIL_TAPS];
    reach[0] = reach[1] = 0;
    /* Rows that differ from the others are at the ends. */
    for (int64_t i = 0; desc->kinds[axis] && i < n; i = i == few && n > 2 * few ? n - few : i + 1) {
        hcy__difference_row(row, desc->kinds[axis], i, n, desc->transposed != 0);
        for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
            if (row[k] && HCY_STENCIL_REACH - k > reach[0])
                reach[0] = HCY_STENCIL_REACH - k;
            if (row[k] && k - HCY_STENCIL_REACH > reach[1])
                reach[1] = k - HCY_STENCIL_REACH;
        }
    }
}

static void find_reach(int64_t *before, int64_t *after, const hcy_differences_desc *desc)
{
    int8_t row[HCY_STENCIL_TAPS];
    *before = *after = 0;
    /* Only rows near a part's ends reach over them. */
    for (int64_t i = 0; desc->kinds[0] && i < 2 * HCY_STENCIL_REACH && i < desc->rows; i++) {
        const int64_t r = i % 2 ? desc->rows - 1 - i / 2 : i / 2;
        hcy__difference_row(row, desc->kinds[0], desc->first + r, desc->space.shape[0], desc->transposed != 0);
        for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
            const int64_t at = r + k - HCY_STENCIL_REACH;
            if (row[k] && -at > *before)
                *before = -at;
            if (row[k] && at - desc->rows + 1 > *after)
                *after = at - desc->rows + 1;
        }
    }
}

int hcy_differences_reach(int64_t *before, int64_t *after, const hcy_differences_desc *user)
{
    hcy_differences_desc desc = HCY_DIFFERENCES_DESC_INIT;
    int n_axes;
    if (!before || !after)
        return hcy_fail(HCY_EINVAL, "hcy_differences_reach: no place for the numbers of rows");
    int status = read_desc(&desc, &n_axes, user);
    if (!status)
        find_reach(before, after, &desc);
    return status;
}

/* --- Parts with ghosts --- */

/* What of an axis of n elements needs ghosts, which reach so far. */
static hcy_stencil_faces faces_of(const struct hcy__stencil_ghosts *g, const int64_t reach[2], int64_t n, int width)
{
    const int64_t front = g->before ? reach[0] : 0, back = g->after ? reach[1] : 0;
    hcy_stencil_faces f = { g->place * width, 0, (uint32_t)g->before, (uint32_t)g->after, 0, 0 };
    f.front = (uint32_t)(front < n ? front : n);
    f.back = (uint32_t)(back < n - f.front ? back : n - f.front);
    return f;
}

int hcy__stencil_part_set(struct hcy__stencil_part *p, const hcy_differences_desc *whole, const int64_t *first,
                          const int64_t *size, const struct hcy__stencil_ghosts *ghosts)
{
    hcy_differences_desc desc = HCY_DIFFERENCES_DESC_INIT;
    int axes[HCY_ARRAY_MAX_RANK], n_axes;
    int64_t reach[2], count = 1;
    int status = read_desc(&desc, &n_axes, whole);
    memset(p, 0, sizeof *p);
    for (int d = 0; !status && d < desc.space.rank; d++)
        count *= size[d];
    if (status || !count)
        return status;
    p->width = hcy__space_is_complex(&desc.space) ? 2 : 1;
    set_job(&p->faces, axes, &desc, first, size, desc.transposed != 0);
    if (desc.apart && n_axes > 1)
        *(desc.transposed ? &p->faces.from_step : &p->faces.to_step) = (uint64_t)(count * p->width);
    p->inner = p->faces;
    p->has_inner = true;
    for (int d = 0; d < desc.space.rank; d++) {
        if (!desc.kinds[d])
            continue;
        hcy_stencil_axis *a = &p->inner.axes[axes[d]];
        hcy__stencil_reach_of(reach, &desc, d);
        hcy_stencil_faces f = faces_of(&ghosts[d], reach, size[d], p->width);
        f.row = (uint64_t)(count / size[d] * p->width);
        a->first = f.front;
        a->size = a->extent - f.front - f.back;
        p->inner.from += f.front * a->stride;
        p->has_inner = p->has_inner && a->size;
        p->has_faces = p->has_faces || f.front || f.back;
        p->around[axes[d]] = f;
    }
    p->inner.to = p->inner.from;
    return 0;
}

int hcy__stencil_inner(hcy_queue *queue, hcy_array *y, const struct hcy__stencil_part *part, hcy_array *x)
{
    hcy_stencil_job job = part->inner;
    if (!part->has_inner)
        return 0;
    job.from += x->offset * part->width;
    job.to += y->offset * part->width;
    return submit_job(queue, y, &job, x);
}

int hcy__stencil_faces(hcy_queue *queue, hcy_array *y, const struct hcy__stencil_part *part, hcy_array *x,
                       hcy_array *ghosts)
{
    static const struct hcy__stencil_at at = HCY__STENCIL_AT(stencil_faces);
    hcy_stencil_job job = part->faces;
    hcy_kernel *kernel = NULL;
    hcy_arg args[HCY_MAX_ARGS];
    int status = part->has_faces ? hcy__room_move(&kernel, y->room, HCY__MOVE_FACES) : 0;
    if (status || !part->has_faces)
        return status;
    job.from = x->offset * part->width;
    job.to = y->offset * part->width;
    set_args(args, &at, y, &job, x);
    args[HCY_ARG_AT(stencil_faces, faces)] = hcy_arg_struct(part->around, sizeof part->around);
    args[HCY_ARG_AT(stencil_faces, ghosts)] = hcy_arg_buf(ghosts->buffer);
    return hcy_launch(queue, kernel, 1, args, HCY_N_ARGS(stencil_faces));
}

/* --- Operators --- */

static int check_ghosts(const hcy_differences_desc *desc)
{
    int64_t before, after;
    const int64_t all = desc->space.shape[0];
    find_reach(&before, &after, desc);
    if (desc->before < before || desc->after < after)
        return hcy_fail(HCY_EINVAL, "differences: %lld rows before and %lld after these are needed, not %lld and %lld",
                        (long long)before, (long long)after, (long long)desc->before, (long long)desc->after);
    if (desc->before > desc->first || desc->after > all - desc->first - desc->rows)
        return hcy_fail(HCY_EINVAL, "differences: vectors have no %lld rows before and %lld after these",
                        (long long)desc->before, (long long)desc->after);
    return 0;
}

static void add_front_axis(hcy_space *space, int64_t n)
{
    memmove(space->shape + 1, space->shape, sizeof *space->shape * (size_t)space->rank++);
    space->shape[0] = n;
}

static int make_stencil(hcy_operator **op, hcy_device *dev, const hcy_differences_desc *user, const char *name)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_differences_desc own = HCY_DIFFERENCES_DESC_INIT;
    int n_axes;
    int status = read_desc(&own, &n_axes, user);
    if (!status)
        status = check_ghosts(&own);
    if (status)
        return status;
    struct stencil *s = calloc(1, sizeof *s);
    if (!s)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    const int64_t first[HCY_ARRAY_MAX_RANK] = { own.first };
    int64_t size[HCY_ARRAY_MAX_RANK] = { own.rows };
    s->desc = own;
    s->n_axes = n_axes;
    s->row = s->joined = 1;
    for (int d = 1; d < own.space.rank; d++)
        s->row *= size[d] = own.space.shape[d];
    for (int adjoint = 0; s->row && own.rows && adjoint < 2; adjoint++) {
        set_job(&s->jobs[adjoint], NULL, &own, first, size, (own.transposed != 0) != adjoint);
        s->joined = (int64_t)s->jobs[adjoint].axes[0].size / own.rows;
    }
    desc.name = name;
    desc.domain = desc.range = own.space;
    desc.domain.shape[0] = own.before + own.rows + own.after;
    desc.range.shape[0] = own.rows;
    if (own.apart)
        add_front_axis(own.transposed ? &desc.domain : &desc.range, n_axes);
    desc.apply = apply_stencil;
    /* The adjoint of a part would give numbers to rows of others. */
    if (own.rows == own.space.shape[0])
        desc.adjoint = apply_stencil_adjoint;
    desc.destroy = free;
    desc.user = s;
    return hcy__operator_make(op, dev, &desc);
}

int hcy_operator_differences(hcy_operator **op, hcy_device *dev, const hcy_differences_desc *desc)
{
    return make_stencil(op, dev, desc, "differences");
}

/* Along those of the last axes whose factors are not 0; NULL: 1 each. */
static int make_along_last(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes, int kind,
                           const double *factors, bool apart, const char *name)
{
    hcy_differences_desc desc = HCY_DIFFERENCES_DESC_INIT;
    int status = hcy__space_check(space, name);
    if (status)
        return status;
    desc.space = *space;
    desc.apart = apart;
    for (int d = space->rank - n_axes; d < space->rank; d++) {
        desc.factors[d] = factors ? factors[d] : 1;
        desc.kinds[d] = desc.factors[d] != 0 ? kind : 0;
    }
    return make_stencil(op, dev, &desc, name);
}

int hcy_operator_difference(hcy_operator **op, hcy_device *dev, const hcy_space *space, int axis, int kind,
                            double factor)
{
    hcy_differences_desc desc = HCY_DIFFERENCES_DESC_INIT;
    int status = hcy__space_check(space, "hcy_operator_difference");
    if (status)
        return status;
    const int along = axis < 0 ? axis + space->rank : axis;
    if (along < 0 || along >= space->rank)
        return hcy_fail(HCY_EINVAL, "hcy_operator_difference: axis %d of vectors with %d", axis, space->rank);
    if (!hcy__difference_is(kind))
        return hcy_fail(HCY_EINVAL, "hcy_operator_difference: %d is no kind of difference", kind);
    desc.space = *space;
    desc.kinds[along] = kind;
    desc.factors[along] = factor;
    return make_stencil(op, dev, &desc, "difference");
}

int hcy_operator_laplacian(hcy_operator **op, hcy_device *dev, const hcy_space *space, const double *factors)
{
    int n_axes = space ? space->rank : 0;
    return make_along_last(op, dev, space, n_axes, HCY_DIFFERENCE_SECOND, factors, false, "laplacian");
}

int hcy__gradient_of(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes, int kind,
                     const char *function)
{
    if (!hcy__difference_is(kind))
        return hcy_fail(HCY_EINVAL, "%s: %d is no kind of difference", function, kind);
    if (space && (n_axes < 1 || n_axes > space->rank))
        return hcy_fail(HCY_EINVAL, "%s: along %d axes of vectors with %d", function, n_axes, space->rank);
    return make_along_last(op, dev, space, n_axes, kind, NULL, true, "gradient");
}

int hcy_operator_gradient(hcy_operator **op, hcy_device *dev, const hcy_space *space, int kind)
{
    return hcy__gradient_of(op, dev, space, space ? space->rank : 0, kind, "hcy_operator_gradient");
}
