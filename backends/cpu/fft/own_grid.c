/* own_grid.c - transforms of one to three axes by the CPU's own lines: axis by axis, each shared out to the threads.
 * Plans are immutable. */
#include "cpu_fft.h"

#include <stdlib.h>

enum { TOGETHER = 16 }; /* lines that a thread takes at once: one or more vectors in every variant */

struct own_grid {
    hcy_fft_desc desc;
    enum cpu_simd simd;
    size_t scratch; /* of one thread */
    struct own_fft *axes[3];
};

int own_grid_create(struct own_grid **plan, const hcy_fft_desc *desc, enum cpu_simd simd)
{
    struct own_grid *g = calloc(1, sizeof *g);
    int status = g ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    for (int a = 0; a < desc->rank && !status; a++) {
        status = own_fft_create(&g->axes[a], desc->n[a], desc->precision == HCY_F64);
        size_t need = status ? 0 : own_fft_scratch(g->axes[a]);
        g->scratch = need > g->scratch ? need : g->scratch;
    }
    if (status) {
        own_grid_free(g);
        return status;
    }
    g->desc = *desc;
    g->simd = simd;
    *plan = g;
    return 0;
}

void own_grid_free(struct own_grid *plan)
{
    for (int a = 0; plan && a < 3; a++)
        own_fft_free(plan->axes[a]);
    free(plan);
}

/* All lines of one axis: `outer` times `inner` of them, the inner ones side by side. */
struct axis_run {
    const struct own_grid *grid;
    const struct own_fft *fft;
    const char *in;
    char *out, *scratch;
    size_t outer, inner, blocks; /* of TOGETHER lines side by side; of rows, if there is one inner line */
    size_t in_unit, out_unit;    /* bytes of what is there: complex numbers or real ones */
    size_t in_n, out_n;          /* of them a line */
    bool backward;
    enum own_fft_kind kind;
};

static void run_blocks(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct axis_run *r = context;
    const bool rows = r->inner == 1;
    for (size_t i = begin; i < end; i++) {
        const size_t from = rows ? i * TOGETHER : i / r->blocks, side = rows ? 0 : i % r->blocks * TOGETHER;
        const size_t left = rows ? r->outer - from : r->inner - side;
        const struct own_fft_lines lines = { .in = r->in + (from * r->in_n * r->inner + side) * r->in_unit,
                                             .out = r->out + (from * r->out_n * r->inner + side) * r->out_unit,
                                             .lines = left < TOGETHER ? left : TOGETHER,
                                             .in_step = r->inner,
                                             .in_pitch = rows ? r->in_n : 1,
                                             .out_step = r->inner,
                                             .out_pitch = rows ? r->out_n : 1,
                                             .backward = r->backward,
                                             .kind = r->kind };
        own_fft_run(r->fft, r->grid->simd, &lines, r->scratch + thread * r->grid->scratch);
    }
}

static void run_axis(struct cpu_pool *pool, struct axis_run *r, int axis, enum own_fft_kind kind)
{
    const hcy_fft_desc *d = &r->grid->desc;
    const size_t complex_size = d->precision == HCY_F64 ? 16 : 8, n = d->n[axis];
    r->fft = r->grid->axes[axis];
    r->kind = kind;
    r->outer = d->batch;
    for (int a = 0; a < axis; a++)
        r->outer *= d->n[a];
    r->inner = d->inner;
    /* The last axis of what is half stored is shorter for all other axes. */
    for (int a = axis + 1; a < d->rank; a++)
        r->inner *= a == d->rank - 1 && d->type != HCY_FFT_C2C ? d->n[a] / 2 + 1 : d->n[a];
    r->in_unit = kind == OWN_FFT_FROM_REAL ? complex_size / 2 : complex_size;
    r->out_unit = kind == OWN_FFT_TO_REAL ? complex_size / 2 : complex_size;
    r->in_n = kind == OWN_FFT_TO_REAL ? n / 2 + 1 : n;
    r->out_n = kind == OWN_FFT_FROM_REAL ? n / 2 + 1 : n;
    const size_t side_by_side = r->inner == 1 ? r->outer : r->inner;
    r->blocks = (side_by_side + TOGETHER - 1) / TOGETHER;
    cpu_pool_for(pool, r->inner == 1 ? r->blocks : r->outer * r->blocks, 1, run_blocks, r);
}

int own_grid_run(struct cpu_pool *pool, const struct own_grid *plan, int direction, void *in, void *out)
{
    const hcy_fft_desc *d = &plan->desc;
    const int last = d->rank - 1;
    struct axis_run r = { .grid = plan, .in = in, .out = out, .backward = direction == HCY_FFT_BACKWARD };
    r.scratch = aligned_alloc(64, plan->scratch * cpu_pool_threads(pool));
    if (!r.scratch)
        return hcy_fail(HCY_ENOMEM, "%zu bytes for an FFT", plan->scratch * cpu_pool_threads(pool));
    /* To real numbers the other axes come first, in place of the input, which may be overwritten then. */
    if (d->type == HCY_FFT_C2R) {
        r.out = in;
        for (int a = 0; a < last; a++)
            run_axis(pool, &r, a, OWN_FFT_COMPLEX);
        r.out = out;
        run_axis(pool, &r, last, OWN_FFT_TO_REAL);
    } else {
        run_axis(pool, &r, last, d->type == HCY_FFT_R2C ? OWN_FFT_FROM_REAL : OWN_FFT_COMPLEX);
        /* What the first axis has put out the others work on. */
        r.in = out;
        for (int a = 0; a < last; a++)
            run_axis(pool, &r, a, OWN_FFT_COMPLEX);
    }
    free(r.scratch);
    return 0;
}
