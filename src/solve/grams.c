/* grams.c - launches of nufft_gram: its spectrum, roots of unity and working memory, how many coils go at once. */
#include "grams.h"
#include "fft_plan.h"
#include "nufft_arguments.h"
#include "nufft_format.h"

#include <halcyon/kernel.h>
#include <stdlib.h>

#define AT(name) HCY_ARG_AT(nufft_gram, name)

struct hcy__gram {
    hcy_kernel *kernel;
    const struct hcy__spectrum *spectrum;
    const struct hcy__coils *coils;
    hcy_array *halves, *roots; /* the spectrum in the kernel's order */
    hcy_buffer *scratch;
    hcy_nufft_job job;
};

void hcy__gram_free(struct hcy__gram *g)
{
    if (!g)
        return;
    hcy_kernel_release(g->kernel);
    hcy_array_release(g->halves);
    hcy_array_release(g->roots);
    hcy_buffer_release(g->scratch);
    free(g);
}

static void put_root(void *roots, size_t at, bool is_double, struct hcy_fft_number root)
{
    if (is_double) {
        ((double *)roots)[2 * at] = root.re;
        ((double *)roots)[2 * at + 1] = root.im;
    } else {
        ((float *)roots)[2 * at] = (float)root.re;
        ((float *)roots)[2 * at + 1] = (float)root.im;
    }
}

static int make_roots(struct hcy__gram *g, hcy_device *dev)
{
    const struct hcy__spectrum *s = g->spectrum;
    int64_t all = 0;
    size_t at = 0;
    for (int d = 0; d < s->dim; d++)
        all += s->sizes[d];
    void *roots = calloc((size_t)all, s->is_double ? 16 : 8);
    if (!roots)
        return hcy_fail(HCY_ENOMEM, "out of memory for the roots of a Fourier transform");
    for (int d = 0; d < s->dim; d++)
        for (size_t k = 0; k < (size_t)s->sizes[d]; k++)
            put_root(roots, at++, s->is_double, hcy_fft_root(k, (size_t)s->sizes[d]));
    int status = hcy_array_from_host(&g->roots, dev, s->is_double ? HCY_COMPLEX128 : HCY_COMPLEX64, 1, &all, roots);
    free(roots);
    return status;
}

/* The spectrum [z][y][x] by even and odd frequencies of each axis, as the kernel comes by them:
 * [x's][z's][z][y's][y][x], in 2-D [x's][y's][y][x]. */
static int make_halves(struct hcy__gram *g, hcy_device *dev)
{
    static const int orders[2][6] = { { 3, 1, 0, 2 }, { 5, 1, 0, 3, 2, 4 } };
    const struct hcy__spectrum *s = g->spectrum;
    hcy_queue *queue = NULL;
    hcy_array *split = NULL, *turned = NULL;
    int64_t shape[6];
    for (int d = 0; d < s->dim; d++) {
        shape[2 * d] = s->sizes[d] / 2;
        shape[2 * d + 1] = 2;
    }
    int status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_reshape(&split, s->numbers, 2 * s->dim, shape);
    if (!status)
        status = hcy_array_transpose(&turned, split, orders[s->dim - 2]);
    if (!status)
        status = hcy_array_empty(&g->halves, dev, turned->dtype, turned->rank, turned->shape);
    if (!status)
        status = hcy_array_copy(queue, g->halves, turned);
    int finished = queue ? hcy_queue_finish(queue) : 0;
    hcy_array_release(turned);
    hcy_array_release(split);
    hcy_queue_release(queue);
    return status ? status : finished;
}

static int scratch_size(size_t *size, const struct hcy__gram *g, int64_t coils)
{
    hcy_arg args[HCY_N_ARGS(nufft_gram)] = { [AT(job)] = hcy_arg_struct(&g->job, sizeof g->job) };
    for (size_t i = 0; i < HCY_N_ARGS(nufft_gram); i++)
        if (i != AT(job))
            args[i] = hcy_arg_buf(NULL);
    return hcy_kernel_scratch_size(size, g->kernel, (size_t)coils, args, HCY_N_ARGS(nufft_gram));
}

/* Working memory of as many coils as are worth a launch and as there is memory for: a small part of what a large device
 * has, for the image is read, and the sum is written, once a launch. */
enum { SCRATCH_BYTES = 256 << 20, SCRATCH_SHARE = 64 };

static int make_scratch(struct hcy__gram *g, hcy_device *dev, struct hcy__coils *coils)
{
    const uint64_t share = hcy_device_get_info(dev)->memory / SCRATCH_SHARE;
    const uint64_t most = share > SCRATCH_BYTES ? share : SCRATCH_BYTES;
    size_t one;
    int status = scratch_size(&one, g, 1);
    while (!status) {
        size_t size;
        status = scratch_size(&size, g, coils->batch);
        const bool is_least = status || size <= one;
        if (!status && size && (is_least || size <= most))
            status = hcy_buffer_create(&g->scratch, dev, HCY_MEM_DEVICE, size);
        if (is_least || g->scratch)
            break;
        coils->batch = (coils->batch + 1) / 2;
        if (status == HCY_ENOMEM)
            status = 0;
    }
    return status;
}

int hcy__gram_make(struct hcy__gram **out, hcy_device *dev, const struct hcy__spectrum *spectrum,
                   struct hcy__coils *coils)
{
    struct hcy__gram *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    g->spectrum = spectrum;
    g->coils = coils;
    g->job.dim = (uint32_t)spectrum->dim;
    g->job.precision = spectrum->is_double ? HCY_F64 : HCY_F32;
    for (int d = 0; d < 3; d++) {
        g->job.modes[d] = d < spectrum->dim ? (uint64_t)spectrum->modes[d] : 1;
        g->job.grid[d] = d < spectrum->dim ? (uint64_t)spectrum->sizes[d] : 1;
    }
    int status = hcy_kernel_get(&g->kernel, dev, "nufft_gram");
    if (!status)
        status = make_scratch(g, dev, coils);
    if (!status)
        status = make_roots(g, dev);
    if (!status)
        status = make_halves(g, dev);
    if (!status) {
        *out = g;
        return 0;
    }
    hcy__gram_free(g);
    coils->batch = coils->n;
    return status == HCY_EUNSUPPORTED ? 0 : status;
}

int hcy__gram_launch(hcy_queue *queue, hcy_array *y, struct hcy__gram *g, hcy_array *x, int64_t first, int64_t n)
{
    const hcy_array *arrays[] = { x, x, g->halves, g->roots, y };
    static const size_t at[] = { AT(image), AT(maps), AT(spectrum), AT(roots), AT(result) };
    enum { ARRAYS = sizeof at / sizeof at[0] };
    hcy_buffer *buffers[ARRAYS] = { NULL };
    hcy_array *maps = NULL;
    hcy_nufft_job job = g->job;
    hcy_arg args[HCY_N_ARGS(nufft_gram)] = { [AT(scratch)] = hcy_arg_buf(g->scratch),
                                             [AT(job)] = hcy_arg_struct(&job, sizeof job) };
    int status = 0;
    job.flags = (first ? HCY_NUFFT_GRAM_ADDS : 0) | (g->coils->maps ? 0 : HCY_NUFFT_GRAM_PLAIN);
    if (g->coils->maps)
        status = hcy_array_slice(&maps, g->coils->maps, "%lld:%lld", (long long)first, (long long)(first + n));
    if (maps)
        arrays[1] = maps;
    for (size_t i = 0; i < ARRAYS && !status; i++) {
        status = hcy__vector_buffer(&buffers[i], arrays[i]);
        args[at[i]] = hcy_arg_buf(buffers[i]);
    }
    if (!status)
        status = hcy_launch(queue, g->kernel, (size_t)n, args, HCY_N_ARGS(nufft_gram));
    for (size_t i = 0; i < ARRAYS; i++)
        hcy_buffer_release(buffers[i]);
    hcy_array_release(maps);
    return status;
}
