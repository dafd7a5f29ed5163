/* mix.c - the kernel nufft_mix: sums of images times spectra, place by place.  It runs on its queue's thread and is
 * shared out to the device's pool. */
#include "cpu_nufft.h"

#define AT(name) HCY_ARG_AT(nufft_mix, name)

struct mix {
    struct nufft_mix of;
    const struct nufft_ops *ops;
};

static void mix_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct mix *m = context;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        const size_t first = i * NUFFT_MIXED, left = m->of.pitch - first;
        m->ops->mix(&m->of, first, left < NUFFT_MIXED ? left : NUFFT_MIXED);
    }
}

/* How many spectra the order names. */
static size_t count_spectra(const int32_t *order, size_t n)
{
    int32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t s = order[i] < 0 ? ~order[i] : order[i];
        most = s > most ? s : most;
    }
    return (size_t)most + 1;
}

int nufft_run_mix(const struct cpu_call *call)
{
    const hcy_nufft_job *job = call->values[AT(job)].bytes;
    const size_t n = call->items, places = (size_t)job->n_points, real = job->precision == HCY_F64 ? 8 : 4;
    const bool is_real = job->flags & HCY_NUFFT_MIX_REAL;
    size_t image, images, spectra;
    if (n > HCY_NUFFT_MIX_MOST || cpu_arg_size(call, AT(order)) < n * n * sizeof(int32_t))
        return hcy_fail(HCY_EINVAL, "nufft_mix: %zu images are too many, or their order is smaller", n);
    const int32_t *order = cpu_arg(call, AT(order));
    if (hcy_size_mul(&image, places, 2 * real) || hcy_size_mul(&images, image, n) ||
        hcy_size_mul(&spectra, is_real ? image / 2 : image, count_spectra(order, n * n)) ||
        cpu_arg_size(call, AT(images)) < images || cpu_arg_size(call, AT(spectra)) < spectra)
        return hcy_fail(HCY_EINVAL, "nufft_mix: the buffers are smaller than the job says");
    struct mix m = { { cpu_arg(call, AT(images)), cpu_arg(call, AT(spectra)), order, n, places, is_real },
                     nufft_ops(call->simd, real == 8) };
    cpu_pool_for(call->pool, (places + NUFFT_MIXED - 1) / NUFFT_MIXED, 64, mix_range, &m);
    return 0;
}
