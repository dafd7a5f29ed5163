/* mixed.c - see mixed.h. */
#include "mixed.h"
#include "nufft_arguments.h"
#include "nufft_format.h"
#include "nufft_priv.h"

#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>

void hcy__mixed_init(struct hcy__mixed *m)
{
    hcy__turn_init(&m->turn);
}

void hcy__mixed_end(struct hcy__mixed *m)
{
    hcy__coils_end(&m->coils);
    hcy__turn_end(&m->turn);
    hcy_array *const arrays[] = { m->kernels, m->grids, m->grid, m->images, m->image };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    hcy_fft_release(m->fft);
    hcy_fft_release(m->one);
    hcy_buffer_release(m->work);
    hcy_buffer_release(m->work_of_one);
    hcy_kernel_release(m->mix);
    hcy_buffer_release(m->order);
}

/* Where the spectrum of T_lk is, of l >= k: those of two blocks are from l - k = 1 - even on, of one block from 0. */
static int64_t kernel_of(const struct hcy__mixed *m, int64_t l, int64_t k)
{
    const int64_t all = 2 * m->even - 1, row = l / m->even, column = k / m->even;
    const int64_t first = row * (row - 1) / 2 * all + row * m->even + column * all;
    return first + l % m->even - k % m->even + (column < row ? m->even - 1 : 0);
}

/* For the kernel: which spectra are whose. */
static int make_order(struct hcy__mixed *m, hcy_device *dev)
{
    const size_t n = (size_t)m->n;
    int32_t *order = malloc(n * n * sizeof *order);
    if (!order)
        return hcy_fail(HCY_ENOMEM, "out of memory for the order of %zu images", n);
    for (int64_t l = 0; l < m->n; l++)
        for (int64_t k = 0; k < m->n; k++)
            order[l * m->n + k] = (int32_t)(l < k ? ~kernel_of(m, k, l) : kernel_of(m, l, k));
    int status = hcy_buffer_create(&m->order, dev, HCY_MEM_DEVICE, n * n * sizeof *order);
    if (!status)
        status = hcy_buffer_write_now(m->order, 0, order, n * n * sizeof *order);
    free(order);
    return status;
}

static int find_mix(struct hcy__mixed *m, hcy_device *dev)
{
    if (m->n > HCY_NUFFT_MIX_MOST)
        return 0;
    const int status = hcy_kernel_get(&m->mix, dev, "nufft_mix");
    return status == HCY_EUNSUPPORTED ? 0 : status ? status : make_order(m, dev);
}

int hcy__mixed_make(struct hcy__mixed *m, hcy_device *dev)
{
    const struct hcy__spectrum *s = &m->spectrum;
    const int real = s->is_double ? HCY_FLOAT64 : HCY_FLOAT32;
    hcy_space all = hcy__spectrum_space(s, hcy__spectrum_dtype(s), m->n);
    int status = hcy__spectrum_fft(&m->fft, &m->work, dev, s, m->n);
    if (!status)
        status = hcy__spectrum_fft(&m->one, &m->work_of_one, dev, s, 1);
    if (!status)
        status = hcy__space_vector(&m->grids, dev, &all);
    if (!status)
        status = hcy__spectrum_images(&m->images, m->grids, s);
    all.shape[0] = 1;
    if (!status)
        status = hcy__space_vector(&m->grid, dev, &all);
    if (!status)
        status = hcy__spectrum_images(&m->image, m->grid, s);
    if (status)
        return status;
    status = find_mix(m, dev);
    if (status)
        return status;
    all.shape[0] = kernel_of(m, m->n - 1, m->n - m->even) + 1;
    all.dtype = m->is_real ? real : all.dtype;
    return hcy__space_vector(&m->kernels, dev, &all);
}

/* --- Spectra --- */

/* Strengths w conj(b_l) b_k, from `factors` b [n][frames][1], of strengths and weights [frames][points of one].
 * Products are of doubles, whatever is in single. */
static int multiply_factors(hcy_queue *queue, hcy_array *strengths, hcy_array *factors, int64_t l, int64_t k,
                            hcy_array *weights, bool is_real)
{
    hcy_array *a = NULL, *b = NULL;
    int status = hcy_array_slice(&a, factors, "%lld", (long long)l);
    if (!status)
        status = hcy_array_slice(&b, factors, "%lld", (long long)k);
    if (!status)
        status = weights ? HCY_EVAL(queue, is_real ? "c = float64(a)*b*w" : "c = conj(complex128(a))*b*w", hcy_op_array("c", strengths),
                                    hcy_op_array("a", a), hcy_op_array("b", b), hcy_op_array("w", weights))
                         : HCY_EVAL(queue, is_real ? "c = float64(a)*b" : "c = conj(complex128(a))*b", hcy_op_array("c", strengths),
                                    hcy_op_array("a", a), hcy_op_array("b", b));
    hcy_array_release(a);
    hcy_array_release(b);
    return status;
}

/* A spectrum, with the factors of the transforms in it, so that nothing is divided later. */
static int make_kernel(hcy_queue *queue, const struct hcy__mixed *m, hcy_nufft *plan, hcy_array *strengths, int64_t l,
                       int64_t k)
{
    hcy_array *to = NULL, *t = NULL;
    int status = hcy_array_slice(&to, m->kernels, "%lld", (long long)kernel_of(m, l, k));
    if (!status)
        status = hcy_array_slice(&t, m->grid, "0");
    if (!status)
        status = hcy__operator_submit_nufft(queue, plan, strengths, t, 1, false);
    if (!status)
        status = hcy__operator_submit_fft(queue, t, m->one, HCY_FFT_FORWARD, t, m->work_of_one);
    /* Where it is its own adjoint it is real, but for the number that nobody reads, as in toeplitz.c. */
    if (!status)
        status = HCY_EVAL(queue, l == k || m->is_real ? "s = real(t)*f" : "s = t*f", hcy_op_array("s", to),
                          hcy_op_array("t", t), hcy_op_real("f", 1.0 / (double)t->count));
    hcy_array_release(to);
    hcy_array_release(t);
    return status;
}

/* Factors, strengths and weights by frames. */
static int view_frames(hcy_array *views[3], hcy_array *factors, hcy_array *strengths, hcy_array *weights)
{
    const int64_t frames = factors->shape[1], by_frames[3] = { factors->shape[0], frames, 1 },
                  shape[2] = { frames, frames ? strengths->shape[0] / frames : 1 };
    int status = hcy_array_reshape(&views[0], factors, 3, by_frames);
    if (!status)
        status = hcy_array_reshape(&views[1], strengths, 2, shape);
    return status || !weights ? status : hcy_array_reshape(&views[2], weights, 2, shape);
}

int hcy__mixed_kernels(struct hcy__mixed *m, hcy_device *dev, hcy_array *factors, const hcy_nufft_desc *desc,
                       int64_t n_points, const void *const *points, hcy_array *weights)
{
    const bool is_real = factors->dtype == HCY_FLOAT32 || factors->dtype == HCY_FLOAT64;
    hcy_queue *queue = NULL;
    hcy_nufft *plan = NULL;
    hcy_array *strengths = NULL, *views[3] = { NULL };
    int status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy__spectrum_plan(&plan, dev, &m->spectrum, desc, n_points, points);
    if (!status)
        status = hcy_array_empty(&strengths, dev, hcy__spectrum_dtype(&m->spectrum), 1, &n_points);
    if (!status)
        status = view_frames(views, factors, strengths, weights);
    for (int64_t l = 0; l < m->n && !status; l++)
        for (int64_t k = 0; k <= l && !status; k++) {
            /* Others of the same difference have its spectrum. */
            if (l % m->even && k % m->even)
                continue;
            status = multiply_factors(queue, views[1], views[0], l, k, views[2], is_real);
            if (!status)
                status = make_kernel(queue, m, plan, strengths, l, k);
        }
    int finished = queue ? hcy_queue_finish(queue) : 0;
    for (int i = 0; i < 3; i++)
        hcy_array_release(views[i]);
    hcy_array_release(strengths);
    hcy_nufft_destroy(plan);
    hcy_queue_release(queue);
    return status ? status : finished;
}

/* --- Applying --- */

/* What goes into a statement at once. */
enum { AT_ONCE = 3 };

/* Image l of what comes out, before it is transformed back: the sum over k of T_lk's spectrum times k's. */
static int mix_spectra(hcy_queue *queue, const struct hcy__mixed *m, int64_t l)
{
    static const char *const names[2][AT_ONCE] = { { "a", "b", "c" }, { "f", "g", "h" } };
    int status = 0;
    for (int64_t first = 0; first < m->n && !status; first += AT_ONCE) {
        hcy_operand operands[1 + 2 * AT_ONCE] = { hcy_op_array("y", m->grid) };
        const int64_t now = m->n - first < AT_ONCE ? m->n - first : AT_ONCE;
        char text[80] = "";
        for (int64_t i = 0, at = 0; i < now; i++) {
            const int64_t k = first + i, kernel = l < k ? kernel_of(m, k, l) : kernel_of(m, l, k);
            hcy_array *t = NULL, *x = NULL;
            at += snprintf(text + at, sizeof text - (size_t)at, l < k && !m->is_real ? "%s conj(%s)*%s" : "%s %s*%s",
                           i ? " +" : first ? "y +=" : "y =", names[0][i], names[1][i]);
            if (!status)
                status = hcy_array_slice(&t, m->kernels, "%lld:%lld", (long long)kernel, (long long)kernel + 1);
            if (!status)
                status = hcy_array_slice(&x, m->grids, "%lld:%lld", (long long)k, (long long)k + 1);
            operands[1 + 2 * i] = hcy_op_array(names[0][i], t);
            operands[2 + 2 * i] = hcy_op_array(names[1][i], x);
        }
        if (!status)
            status = hcy_eval(queue, text, operands, (size_t)(1 + 2 * now));
        for (int64_t i = 0; i < 2 * now; i++)
            hcy_array_release(operands[1 + i].array);
    }
    return status;
}

#define AT(name) HCY_ARG_AT(nufft_mix, name)

/* All at once, each in the place of its image. */
static int mix_all(hcy_queue *queue, const struct hcy__mixed *m)
{
    hcy_buffer *spectra = NULL, *images = NULL;
    hcy_nufft_job job = { .precision = m->spectrum.is_double ? HCY_F64 : HCY_F32,
                          .flags = m->is_real ? HCY_NUFFT_MIX_REAL : 0,
                          .n_points = (uint64_t)m->grid->count };
    int status = hcy__vector_buffer(&spectra, m->kernels);
    if (!status)
        status = hcy__vector_buffer(&images, m->grids);
    const hcy_arg args[HCY_N_ARGS(nufft_mix)] = { [AT(spectra)] = hcy_arg_buf(spectra),
                                                  [AT(order)] = hcy_arg_buf(m->order),
                                                  [AT(job)] = hcy_arg_struct(&job, sizeof job),
                                                  [AT(images)] = hcy_arg_buf(images) };
    if (!status)
        status = hcy_launch(queue, m->mix, (size_t)m->n, args, HCY_N_ARGS(nufft_mix));
    hcy_buffer_release(images);
    hcy_buffer_release(spectra);
    return status;
}

/* What becomes image k, to be transformed back: of all products, or made here. */
static int take_product(hcy_array **grid, hcy_array **image, hcy_queue *queue, const struct hcy__mixed *m, int64_t k)
{
    int status = m->mix ? 0 : mix_spectra(queue, m, k);
    const long long at = m->mix ? k : 0;
    if (!status)
        status = hcy_array_slice(grid, m->mix ? m->grids : m->grid, "%lld:%lld", at, at + 1);
    return status ? status : hcy_array_slice(image, m->mix ? m->images : m->image, "%lld", at);
}

/* The images as a coil of `map`, or NULL, receives them, on the grids, with zeros behind them. */
static int place_images(hcy_queue *queue, const struct hcy__mixed *m, hcy_array *map, hcy_array *x,
                        const struct hcy__mixed_ends *ends, const void *user)
{
    int status = HCY_EVAL(queue, "g = 0", hcy_op_array("g", m->grids));
    for (int64_t k = 0; k < m->n && !status; k++) {
        hcy_array *image = NULL;
        status = hcy_array_slice(&image, m->images, "%lld", (long long)k);
        if (!status)
            status = ends->place(queue, image, user, k, x);
        hcy_array_release(image);
    }
    return status || !map ? status
                          : HCY_EVAL(queue, "f *= s", hcy_op_array("f", m->images), hcy_op_array("s", map));
}

static int give_image(hcy_queue *queue, hcy_array *y, const struct hcy__mixed *m, hcy_array *map, int64_t k, bool adds,
                      const struct hcy__mixed_ends *ends, const void *user)
{
    hcy_array *grid = NULL, *image = NULL;
    int status = take_product(&grid, &image, queue, m, k);
    if (!status)
        status = hcy__operator_submit_fft(queue, grid, m->one, HCY_FFT_BACKWARD, grid, m->work_of_one);
    if (!status && map)
        status = HCY_EVAL(queue, "f *= conj(s)", hcy_op_array("f", image), hcy_op_array("s", map));
    if (!status)
        status = ends->give(queue, y, user, k, image, adds);
    hcy_array_release(image);
    hcy_array_release(grid);
    return status;
}

/* y is, or gets on top, what this coil makes of x's images. */
static int apply_coil(hcy_queue *queue, hcy_array *y, const struct hcy__mixed *m, int64_t coil, hcy_array *x,
                      const struct hcy__mixed_ends *ends, const void *user)
{
    hcy_array *map = NULL;
    int status = m->coils.maps ? hcy_array_slice(&map, m->coils.maps, "%lld", (long long)coil) : 0;
    if (!status)
        status = place_images(queue, m, map, x, ends, user);
    if (!status)
        status = hcy__operator_submit_fft(queue, m->grids, m->fft, HCY_FFT_FORWARD, m->grids, m->work);
    if (!status && m->mix)
        status = mix_all(queue, m);
    for (int64_t k = 0; k < m->n && !status; k++)
        status = give_image(queue, y, m, map, k, coil > 0, ends, user);
    hcy_array_release(map);
    return status;
}

int hcy__mixed_apply(hcy_queue *queue, hcy_array *y, struct hcy__mixed *m, hcy_array *x,
                     const struct hcy__mixed_ends *ends, const void *user)
{
    int status = hcy__turn_take(&m->turn, queue);
    for (int64_t coil = 0; coil < m->coils.n && !status; coil++)
        status = apply_coil(queue, y, m, coil, x, ends, user);
    hcy__turn_give(&m->turn);
    return status;
}
