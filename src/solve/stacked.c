/* stacked.c - samples in parallel planes of frequencies (stacks of stars, of spirals): an FFT along one axis of
 * the image, and for each plane a non-uniform FFT of the other axes.
 *
 * Coils go some at a time, as many as there are planes for in the plan's transforms; memory for their images and
 * planes is the operator's, made with it.
 */
#include "coils.h"
#include "nufft_priv.h"
#include "vectors.h"

#include <halcyon/eval.h>
#include <halcyon/fft.h>
#include <math.h>
#include <stdlib.h>

/* Planes one behind the other whose frequencies are, too: planes `first` on are those of `line` on. */
struct run {
    int64_t first, line, n;
};

struct stacked {
    hcy_nufft *plan;
    bool is_type2;
    int axis;
    int64_t slices, n_planes, points; /* points of a plane */
    struct hcy__coils coils;
    hcy_array *planes; /* [batch * n_planes][the plan's modes] */
    hcy_array *phases; /* [n_planes][1...]: where the modes are centred, and the FFT's are not */
    struct run *runs;
    size_t n_runs;
    hcy_fft *fft;
    hcy_buffer *work; /* NULL: it needs none */
    int direction;    /* of the FFT in a product with A */
    struct hcy__turn turn;
};

static void free_stacked(void *user)
{
    struct stacked *s = user;
    hcy__coils_end(&s->coils);
    hcy_array_release(s->planes);
    hcy_array_release(s->phases);
    hcy_fft_release(s->fft);
    hcy_buffer_release(s->work);
    hcy__turn_end(&s->turn);
    free(s->runs);
    free(s);
}

/* --- Planes and frequencies --- */

/* The planes of a run [batch][n][modes...], and the lines of frequencies with this axis behind the coils'. */
static int view_run(hcy_array **planes, hcy_array **lines, hcy_array **phases, const struct stacked *s,
                    const struct run *run)
{
    const int rank = s->coils.image.rank;
    int64_t shape[HCY_ARRAY_MAX_RANK] = { s->coils.batch, s->n_planes };
    int axes[HCY_ARRAY_MAX_RANK] = { 0, 1 + s->axis }, at = 2;
    hcy_array *all = NULL, *turned = NULL;
    for (int d = 0; d < rank; d++)
        if (d != s->axis) {
            shape[at] = s->coils.image.shape[d];
            axes[at++] = 1 + d;
        }
    int status = hcy_array_reshape(&all, s->planes, rank + 1, shape);
    if (!status)
        status = hcy__vector_rows(planes, all, 1, run->first, run->n);
    if (!status)
        status = hcy_array_transpose(&turned, s->coils.images, axes);
    if (!status)
        status = hcy__vector_rows(lines, turned, 1, run->line, run->n);
    if (!status)
        status = hcy__vector_rows(phases, s->phases, 0, run->first, run->n);
    hcy_array_release(all);
    hcy_array_release(turned);
    return status;
}

/* Planes from frequencies, or the adjoint, which leaves frequencies without planes at 0. */
static int move_planes(hcy_queue *queue, const struct stacked *s, bool adjoint)
{
    int status = adjoint && s->n_planes < s->slices ? hcy__vector_zero(queue, s->coils.images) : 0;
    for (size_t i = 0; !status && i < s->n_runs; i++) {
        hcy_array *planes = NULL, *lines = NULL, *phases = NULL;
        status = view_run(&planes, &lines, &phases, s, &s->runs[i]);
        if (!status)
            status = HCY_EVAL(queue, adjoint ? "y = conj(p)*x" : "y = p*x",
                              hcy_op_array("y", adjoint ? lines : planes), hcy_op_array("p", phases),
                              hcy_op_array("x", adjoint ? planes : lines));
        hcy_array_release(planes);
        hcy_array_release(lines);
        hcy_array_release(phases);
    }
    return status;
}

static int run_lines(hcy_queue *queue, const struct stacked *s, int direction)
{
    hcy_buffer *images = NULL;
    int status = hcy__vector_buffer(&images, s->coils.images);
    if (!status)
        status = hcy_fft_execute(queue, images, s->fft, direction, images, s->work);
    hcy_buffer_release(images);
    return status;
}

/* The planes of the coils from `first` on to their samples, or back, as many at once as the plan has
 * transforms. */
static int run_planes(hcy_queue *queue, const struct stacked *s, hcy_array *samples, int64_t first,
                      bool adjoint)
{
    const int64_t all = s->coils.batch * s->n_planes;
    hcy_space some = hcy__operator_image(s->plan), points = { some.dtype, 2, { 0, s->points }, NULL };
    const int64_t one = hcy__space_count(&some);
    some = (hcy_space){ some.dtype, 2, { 0, one }, NULL };
    int status = 0;
    for (int64_t at = 0; !status && at < all; at += some.shape[0]) {
        hcy_array *c = NULL, *f = NULL;
        const int64_t most = (int64_t)s->plan->n_transforms;
        points.shape[0] = some.shape[0] = all - at < most ? all - at : most;
        status = hcy__vector_part(&c, samples, (first * s->n_planes + at) * s->points, &points);
        if (!status)
            status = hcy__vector_part(&f, s->planes, at * one, &some);
        if (!status)
            status = hcy__operator_submit_nufft(queue, s->plan, c, f, (size_t)some.shape[0],
                                                adjoint == s->is_type2);
        hcy_array_release(c);
        hcy_array_release(f);
    }
    return status;
}

static int receive_batch(hcy_queue *queue, hcy_array *y, const struct stacked *s, hcy_array *x, int64_t first)
{
    int status = hcy__coils_multiply(queue, &s->coils, x, first, s->coils.batch);
    if (!status)
        status = run_lines(queue, s, s->direction);
    if (!status)
        status = move_planes(queue, s, false);
    return status ? status : run_planes(queue, s, y, first, false);
}

static int return_batch(hcy_queue *queue, hcy_array *x, const struct stacked *s, hcy_array *y, int64_t first)
{
    int status = run_planes(queue, s, y, first, true);
    if (!status)
        status = move_planes(queue, s, true);
    if (!status)
        status = run_lines(queue, s, -s->direction);
    return status ? status : hcy__coils_combine(queue, x, &s->coils, first, s->coils.batch);
}

static int run_stacked(hcy_queue *queue, hcy_array *to, struct stacked *s, hcy_array *from,
                       int (*batch)(hcy_queue *, hcy_array *, const struct stacked *, hcy_array *, int64_t))
{
    int status = hcy__turn_take(&s->turn, queue);
    if (!status && s->plan->n_points != (size_t)s->points)
        status = hcy_fail(HCY_EINVAL, "operator stacked nufft: its plan has %zu points now, it had %lld",
                          s->plan->n_points, (long long)s->points);
    for (int64_t first = 0; !status && first < s->coils.n; first += s->coils.batch)
        status = batch(queue, to, s, from, first);
    hcy__turn_give(&s->turn);
    return status;
}

static int apply_stacked(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_stacked(queue, y, user, x, receive_batch);
}

static int apply_stacked_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_stacked(queue, x, user, y, return_batch);
}

/* --- Making --- */

/* The line of the FFT's result that plane i is. */
static int64_t line_of(const struct stacked *s, const int64_t *planes, int64_t i)
{
    const int64_t plane = planes ? planes[i] : i - s->slices / 2;
    return (plane % s->slices + s->slices) % s->slices;
}

/* A plane that is there twice would be written twice by the adjoint. */
static int find_runs(struct stacked *s, const int64_t *planes)
{
    bool *taken = calloc((size_t)s->slices, sizeof *taken);
    int status = 0;
    s->runs = calloc((size_t)s->n_planes, sizeof *s->runs);
    if (!s->runs || !taken)
        status = hcy_fail(HCY_ENOMEM, "out of memory for %lld planes", (long long)s->n_planes);
    for (int64_t i = 0; !status && i < s->n_planes; i++) {
        const int64_t line = line_of(s, planes, i);
        struct run *last = s->n_runs ? &s->runs[s->n_runs - 1] : NULL;
        if (taken[line])
            status = hcy_fail(HCY_EINVAL, "hcy_operator_stacked_nufft: plane %lld was there before, of %lld slices",
                              (long long)i, (long long)s->slices);
        taken[line] = true;
        if (last && last->line + last->n == line)
            last->n++;
        else
            s->runs[s->n_runs++] = (struct run){ i, line, 1 };
    }
    free(taken);
    return status;
}

/* exp(-sign i 2 pi plane middle / slices), broadcast over a plane's image. */
static int make_phases(struct stacked *s, const int64_t *planes)
{
    const int64_t middle = s->plan->opts.order == HCY_NUFFT_CENTRED ? s->slices / 2 : 0;
    const bool is_single = hcy__is_single(&s->coils.image);
    int64_t shape[HCY_ARRAY_MAX_RANK] = { s->n_planes, 1, 1 };
    double *numbers = malloc((size_t)s->n_planes * 2 * sizeof *numbers);
    if (!numbers)
        return hcy_fail(HCY_ENOMEM, "out of memory for %lld planes", (long long)s->n_planes);
    for (int64_t i = 0; i < s->n_planes; i++) {
        /* Whole turns are left out before they are rounded. */
        const int64_t turn = line_of(s, planes, i) * middle % s->slices;
        const double angle = 2 * 3.14159265358979323846 * (double)turn / (double)s->slices;
        const double pair[2] = { cos(angle), -s->direction * sin(angle) };
        for (int k = 0; k < 2; k++)
            if (is_single)
                ((float *)numbers)[2 * i + k] = (float)pair[k];
            else
                numbers[2 * i + k] = pair[k];
    }
    int status = hcy_array_from_host(&s->phases, s->plan->dev, s->coils.image.dtype, s->plan->desc.dim + 1, shape,
                                     numbers);
    free(numbers);
    return status;
}

/* Lines of the stack's axis stand side by side, as many as there are elements behind it. */
static int make_lines(struct stacked *s)
{
    const hcy_space *image = &s->coils.image;
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    desc.precision = hcy__is_single(image) ? HCY_F32 : HCY_F64;
    desc.n[0] = (size_t)s->slices;
    desc.batch = (size_t)s->coils.batch;
    desc.flags = HCY_FFT_DETERMINISTIC;
    for (int d = 0; d < image->rank; d++)
        if (d != s->axis)
            *(d < s->axis ? &desc.batch : &desc.inner) *= (size_t)image->shape[d];
    int status = hcy_fft_create(&s->fft, s->plan->dev, &desc);
    const size_t work = status ? 0 : hcy_fft_workspace(s->fft);
    return work ? hcy_buffer_create(&s->work, s->plan->dev, HCY_MEM_DEVICE, work) : status;
}

/* As many coils at once as have their planes in one execution, and none left for the last time. */
static int make_memory(struct stacked *s)
{
    int64_t batch = (int64_t)s->plan->n_transforms / s->n_planes;
    batch = batch < 1 ? 1 : batch < s->coils.n ? batch : s->coils.n;
    while (s->coils.n % batch)
        batch--;
    s->coils.batch = batch;
    const hcy_space images = hcy__coils_space(&s->coils, batch), one = hcy__operator_image(s->plan);
    const hcy_space planes = { one.dtype, 2, { batch * s->n_planes, hcy__space_count(&one) }, NULL };
    int status = hcy__space_vector(&s->coils.images, s->plan->dev, &images);
    return status ? status : hcy__space_vector(&s->planes, s->plan->dev, &planes);
}

static int check_stack(const hcy_nufft *plan, int axis, int64_t slices, const int64_t *planes, int64_t n_planes)
{
    int status = hcy__operator_check_plan(plan, "hcy_operator_stacked_nufft");
    if (status)
        return status;
    if (axis < 0 || axis > plan->desc.dim || plan->desc.dim > 2)
        return hcy_fail(HCY_EINVAL, "hcy_operator_stacked_nufft: axis %d of an image of %d; it has 2 or 3", axis,
                        plan->desc.dim + 1);
    if (slices < 1 || n_planes < 1 || n_planes > slices || (!planes && n_planes != slices))
        return hcy_fail(HCY_EINVAL, "hcy_operator_stacked_nufft: %lld planes of %lld slices%s", (long long)n_planes,
                        (long long)slices, planes ? "" : ", where no planes are named");
    return 0;
}

/* The image: the plan's modes with the stack's axis among them. */
static hcy_space stack_image(const hcy_nufft *plan, int axis, int64_t slices)
{
    const hcy_space plane = hcy__operator_image(plan);
    hcy_space image = { plane.dtype, plane.rank + 1, { 0 }, NULL };
    for (int d = 0; d < image.rank; d++)
        image.shape[d] = d == axis ? slices : plane.shape[d < axis ? d : d - 1];
    return image;
}

static int make_stacked(struct stacked *s, const hcy_space *image, const int64_t *planes, hcy_array *maps)
{
    size_t samples;
    int status = hcy__space_check(image, "hcy_operator_stacked_nufft");
    if (!status)
        status = hcy__coils_init(&s->coils, s->plan->dev, maps, image, "hcy_operator_stacked_nufft");
    if (!status && (hcy_size_mul(&samples, (size_t)s->n_planes, (size_t)s->points) || samples > INT64_MAX))
        status = hcy_fail(HCY_ERANGE, "hcy_operator_stacked_nufft: more samples than can be addressed");
    if (!status)
        status = find_runs(s, planes);
    if (!status)
        status = make_memory(s);
    if (!status)
        status = make_phases(s, planes);
    return status ? status : make_lines(s);
}

int hcy_operator_stacked_nufft(hcy_operator **op, hcy_nufft *plan, int axis, int64_t slices, const int64_t *planes,
                               int64_t n_planes, hcy_array *maps)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = check_stack(plan, axis, slices, planes, n_planes);
    struct stacked *s = status ? NULL : calloc(1, sizeof *s);
    if (!s)
        return status ? status : hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&s->turn);
    s->plan = plan;
    s->is_type2 = plan->desc.type == 2;
    s->axis = axis;
    s->slices = slices;
    s->n_planes = n_planes;
    s->points = (int64_t)plan->n_points;
    s->direction = (plan->desc.sign < 0) == s->is_type2 ? HCY_FFT_FORWARD : HCY_FFT_BACKWARD;
    desc.domain = stack_image(plan, axis, slices);
    status = make_stacked(s, &desc.domain, planes, maps);
    if (status) {
        free_stacked(s);
        return status;
    }
    desc.name = "stacked nufft";
    desc.range = (hcy_space){ desc.domain.dtype, 2, { s->coils.n, n_planes * s->points }, NULL };
    desc.apply = apply_stacked;
    desc.adjoint = apply_stacked_adjoint;
    desc.destroy = free_stacked;
    desc.user = s;
    return hcy__operator_make(op, plan->dev, &desc);
}
