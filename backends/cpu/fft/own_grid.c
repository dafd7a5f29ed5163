/* own_grid.c - transforms of one to three axes, axis by axis: columns by the CPU's own lines, rows by these or by
 * FFTW's.  Plans are immutable.
 *
 * Threads share the lines of an axis out, or whole transforms where there are enough of them: these stay in a core's
 * own caches from axis to axis.  A line's bits depend on neither.
 */
#include "cpu_fft.h"

#include <stdlib.h>

enum {
    TOGETHER = 16,       /* lines that a thread takes at once: one or more vectors in every variant */
    MOST_WHOLE = 4 << 20 /* bytes of a transform that one thread takes alone */
};

struct own_grid {
    hcy_fft_desc desc;
    enum cpu_simd simd;
    size_t scratch; /* of one thread */
    struct own_fft *axes[3];
    size_t together; /* rows that a thread takes at once */
    void *fftw_rows; /* in place of the last of the axes */
};

static int create_rows(struct own_grid *g)
{
    const hcy_fft_desc *d = &g->desc;
    hcy_fft_desc rows = *d;
    rows.rank = 1;
    rows.n[0] = d->n[d->rank - 1];
    rows.n[1] = rows.n[2] = 1;
    for (int a = 0; a + 1 < d->rank; a++)
        rows.batch *= d->n[a];
#if HAVE_FFTW3
    return cpu_fftw_create(&g->fftw_rows, &rows);
#else
    (void)rows;
    return HCY_EUNSUPPORTED;
#endif
}

static int create_axis(struct own_grid *g, int axis)
{
    const bool is_real = g->desc.type != HCY_FFT_C2C && axis == g->desc.rank - 1;
    int status = (is_real ? own_fft_create_real : own_fft_create)(&g->axes[axis], g->desc.n[axis],
                                                                  g->desc.precision == HCY_F64);
    if (status)
        return status;
    const struct own_fft *f = g->axes[axis];
    const bool are_rows = axis == g->desc.rank - 1 && g->desc.inner == 1;
    size_t most = g->desc.batch;
    for (int a = 0; a < axis; a++)
        most *= g->desc.n[a];
    most = most < TOGETHER ? most : TOGETHER;
    /* Of rows that are taken one by one each is a thread's. */
    if (are_rows && own_fft_takes_alone(f, most))
        g->together = most = 1;
    const size_t need = are_rows ? own_fft_scratch_rows(f, most) : own_fft_scratch(f);
    g->scratch = need > g->scratch ? need : g->scratch;
    return 0;
}

int own_grid_create(struct own_grid **plan, const hcy_fft_desc *desc, enum cpu_simd simd, bool fftw_rows)
{
    struct own_grid *g = calloc(1, sizeof *g);
    int status = g ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    if (!status) {
        g->desc = *desc;
        g->simd = simd;
        g->together = TOGETHER;
    }
    for (int a = 0; a < desc->rank && !status; a++)
        status = fftw_rows && a == desc->rank - 1 ? create_rows(g) : create_axis(g, a);
    if (status) {
        own_grid_free(g);
        return status;
    }
    *plan = g;
    return 0;
}

void own_grid_free(struct own_grid *plan)
{
    for (int a = 0; plan && a < 3; a++)
        own_fft_free(plan->axes[a]);
#if HAVE_FFTW3
    if (plan && plan->fftw_rows)
        cpu_fftw_release(plan->fftw_rows);
#endif
    free(plan);
}

/* All lines of one axis: `outer` times `inner` of them, the inner ones side by side. */
struct axis_run {
    const struct own_grid *grid;
    const struct own_fft *fft;
    const char *in;
    char *out, *scratch;
    size_t outer, inner;
    size_t rows;              /* with one inner line: of the outer ones those that may be taken together */
    size_t together;          /* lines of a block */
    size_t blocks;            /* of lines side by side, or of those rows */
    size_t in_unit, out_unit; /* bytes of what is there: complex numbers or real ones */
    size_t in_n, out_n;       /* of them a line */
    bool backward;
    enum own_fft_kind kind;
};

static void run_blocks(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct axis_run *r = context;
    const bool rows = r->inner == 1;
    for (size_t i = begin; i < end; i++) {
        const size_t which = i / r->blocks, at = i % r->blocks * r->together;
        const size_t from = rows ? which * r->rows + at : which, side = rows ? 0 : at;
        const size_t left = (rows ? r->rows : r->inner) - at;
        const struct own_fft_lines lines = { .in = r->in + (from * r->in_n * r->inner + side) * r->in_unit,
                                             .out =
                                                 r->out + (from * r->out_n * r->inner + side) * r->out_unit,
                                             .lines = left < r->together ? left : r->together,
                                             .in_step = r->inner,
                                             .in_pitch = rows ? r->in_n : 1,
                                             .out_step = r->inner,
                                             .out_pitch = rows ? r->out_n : 1,
                                             .backward = r->backward,
                                             .kind = r->kind };
        own_fft_run(r->fft, r->grid->simd, &lines, r->scratch + thread * r->grid->scratch);
    }
}

/* One execution, by whom it is shared out. */
struct sharing {
    size_t threads;
    bool whole; /* transforms, not an axis' lines */
    void *scratch;
};

/* What is done one after another: an axis each, by `run` of `parts` parts, `grain` of them at a time.  Where transforms
 * are shared out whole, each has as many parts. */
struct phase {
    cpu_range_fn run;
    size_t parts, grain;
    union {
        struct axis_run axis;
#if HAVE_FFTW3
        struct cpu_fftw_run rows;
#endif
    } of;
};

static void set_axis(struct phase *phase, const struct own_grid *g, int axis, enum own_fft_kind kind,
                     bool backward, void *in, void *out, const struct sharing *sharing)
{
    const hcy_fft_desc *d = &g->desc;
    const size_t complex_size = d->precision == HCY_F64 ? 16 : 8, n = d->n[axis];
    struct axis_run *r = &phase->of.axis;
    *r = (struct axis_run){ .grid = g,
                            .fft = g->axes[axis],
                            .in = in,
                            .out = out,
                            .scratch = sharing->scratch,
                            .backward = backward,
                            .kind = kind };
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
    r->rows = sharing->whole ? r->outer / d->batch : r->outer;
    r->together = axis == d->rank - 1 ? g->together : TOGETHER;
    r->blocks = ((r->inner == 1 ? r->rows : r->inner) + r->together - 1) / r->together;
    phase->run = run_blocks;
    phase->parts = (r->inner == 1 ? r->outer / r->rows : r->outer) * r->blocks;
    phase->grain = 1;
}

static int set_rows(struct phase *phase, const struct own_grid *g, enum own_fft_kind kind, int direction,
                    void *in, void *out, const struct sharing *sharing)
{
    const hcy_fft_desc *d = &g->desc;
    if (!g->fftw_rows) {
        set_axis(phase, g, d->rank - 1, kind, direction == HCY_FFT_BACKWARD, in, out, sharing);
        return 0;
    }
#if HAVE_FFTW3
    phase->run = cpu_fftw_transforms;
    phase->parts = d->batch;
    for (int a = 0; a + 1 < d->rank; a++)
        phase->parts *= d->n[a];
    phase->grain = TOGETHER; /* a row alone may take less time than taking it */
    return cpu_fftw_begin(&phase->of.rows, sharing->threads, g->fftw_rows, direction, in, out);
#else
    return HCY_EUNSUPPORTED;
#endif
}

static int set_phases(struct phase phases[3], const struct own_grid *g, int direction, void *in, void *out,
                      const struct sharing *sharing)
{
    const int last = g->desc.rank - 1;
    const bool to_real = g->desc.type == HCY_FFT_C2R, backward = direction == HCY_FFT_BACKWARD;
    /* To real numbers the other axes come first, in place of the input, which may be overwritten then; else what the
     * rows have put out the others work on. */
    void *middle = to_real ? in : out;
    for (int a = 0; a < last; a++)
        set_axis(&phases[to_real ? a : a + 1], g, a, OWN_FFT_COMPLEX, backward, middle, middle, sharing);
    return set_rows(&phases[to_real ? last : 0], g,
                    to_real                       ? OWN_FFT_TO_REAL
                    : g->desc.type == HCY_FFT_R2C ? OWN_FFT_FROM_REAL
                                                  : OWN_FFT_COMPLEX,
                    direction, in, out, sharing);
}

struct whole_run {
    struct phase *phases;
    int n;
    size_t batch;
};

static void run_whole(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct whole_run *w = context;
    for (size_t b = begin; b < end; b++)
        for (int i = 0; i < w->n; i++) {
            const size_t each = w->phases[i].parts / w->batch;
            w->phases[i].run(&w->phases[i].of, b * each, (b + 1) * each, thread);
        }
}

static bool shares_whole(const hcy_fft_desc *d, size_t threads)
{
    size_t in, out, rows = 1;
    cpu_fft_strides(&in, &out, d);
    for (int a = 0; a + 1 < d->rank; a++)
        rows *= d->n[a];
    /* Few rows fill vectors across transforms only, and few transforms left over would have most threads wait. */
    return rows >= TOGETHER && (d->batch % threads == 0 || d->batch / threads >= 4) && in <= MOST_WHOLE &&
           out <= MOST_WHOLE;
}

int own_grid_run(struct cpu_pool *pool, const struct own_grid *plan, int direction, void *in, void *out)
{
    const hcy_fft_desc *d = &plan->desc;
    struct sharing sharing = { .threads = cpu_pool_threads(pool) };
    /* What is one piece takes one thread, the first (cpu_pool_for()). */
    const bool is_one = d->rank == 1 && (d->batch == 1 || d->inner == 1) && d->batch * d->inner <= plan->together;
    const size_t room = plan->scratch * (is_one ? 1 : sharing.threads);
    struct phase phases[3];
    sharing.whole = shares_whole(d, sharing.threads);
    sharing.scratch = room ? aligned_alloc(64, room) : NULL;
    if (room && !sharing.scratch)
        return hcy_fail(HCY_ENOMEM, "%zu bytes for an FFT", room);
    int status = set_phases(phases, plan, direction, in, out, &sharing);
    if (!status && sharing.whole)
        cpu_pool_for(pool, d->batch, 1, run_whole, &(struct whole_run){ phases, d->rank, d->batch });
    else
        for (int i = 0; i < d->rank && !status; i++)
            cpu_pool_for(pool, phases[i].parts, phases[i].grain, phases[i].run, &phases[i].of);
    free(sharing.scratch);
    return status;
}
