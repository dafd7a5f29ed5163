/* gpu_fft.c - plans and launches of our own Fourier transforms on GPUs.
 *
 * A plan is a list of steps, each from one memory to another: passes over an axis (lines.cl), one for each factor of
 * its length up to 8, or all at once where a group has room for its lines (whole.cl), and maps (fft.cl).  An axis whose
 * length has larger prime factors is a convolution with a chirp, of a length that is a power of two (Bluestein).  Rows
 * of real numbers are complex ones of half as many numbers, or, of odd lengths, of as many.
 */
#include "fft/gpu_fft.h"

#include "fft_plan.h"
#include "gpu_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum memory { IN, OUT, FIRST, SECOND };
enum { MOST_GROUP = 256, LEAST_GROUP = 32 };

enum kind { PASS, WHOLE, MAP, SPLIT, JOIN };

struct step {
    enum kind kind;
    unsigned radix; /* of a pass */
    union {
        struct gpu_nufft_pass pass;
        struct gpu_nufft_whole whole;
        struct gpu_fft_map map;
        struct gpu_fft_real real; /* of SPLIT, JOIN */
    };
    bool turns_before, turns_behind; /* which parts are exchanged where the transform goes backward */
    size_t table;                    /* its roots, or factors: bytes */
};

/* Tables of all steps while they are made. */
struct tables {
    double *numbers;
    size_t n, room; /* complex ones */
};

struct gpu_fft {
    struct gpu_kernel *kernel;
    hcy_block block;
    size_t number, room; /* bytes of a complex number, of the largest of what steps leave */
    bool is_beside;      /* steps go to and fro between working memory and the result; else within working memory */
    struct step *steps;
    size_t n_steps;
};

int gpu_fft_check_begin(const hcy_value *out, const hcy_value *in, const hcy_value *work, int precision)
{
    const size_t number = precision == HCY_F32 ? 8 : 16;
    if (hcy__begin(out) % number == 0 && hcy__begin(in) % number == 0 && hcy__begin(work) % number == 0)
        return 0;
    return hcy_fail(HCY_EINVAL,
                    "FFT: memory begins amid a complex number, %zu bytes; copy what was imported to a buffer of the "
                    "device's", number);
}

/* --- Tables --- */

static int add_number(struct tables *t, struct hcy_fft_number x)
{
    if (t->n == t->room) {
        const size_t room = t->room ? 2 * t->room : 256;
        double *numbers = realloc(t->numbers, room * 2 * sizeof *numbers);
        if (!numbers)
            return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's tables");
        t->numbers = numbers;
        t->room = room;
    }
    t->numbers[2 * t->n] = x.re;
    t->numbers[2 * t->n++ + 1] = x.im;
    return 0;
}

/* exp(-i pi k k / n) */
static struct hcy_fft_number chirp_of(size_t k, size_t n)
{
    return hcy_fft_root((size_t)((uint64_t)k * k % (2 * (uint64_t)n)), 2 * n);
}

/* A transform of m numbers, a power of two, in double: bits of indices reversed, then butterflies. */
static void transform_on_host(double *x, size_t m)
{
    for (size_t i = 1, j = 0; i < m; i++) {
        size_t bit = m >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j |= bit;
        if (i < j)
            for (int part = 0; part < 2; part++) {
                const double keep = x[2 * i + (size_t)part];
                x[2 * i + (size_t)part] = x[2 * j + (size_t)part];
                x[2 * j + (size_t)part] = keep;
            }
    }
    for (size_t n = 2; n <= m; n *= 2)
        for (size_t k = 0; k < n / 2; k++) {
            const struct hcy_fft_number w = hcy_fft_root(k, n);
            for (size_t i = k; i < m; i += n) {
                double *a = &x[2 * i], *b = &x[2 * (i + n / 2)];
                const double re = b[0] * w.re - b[1] * w.im, im = b[0] * w.im + b[1] * w.re;
                b[0] = a[0] - re, b[1] = a[1] - im;
                a[0] += re, a[1] += im;
            }
        }
}

/* The chirp of n numbers, and behind it the spectrum of its conjugate, around a circle of m, divided by m. */
static int add_chirp(struct tables *t, size_t n, size_t m)
{
    double *filter = calloc(m, 2 * sizeof *filter);
    int status = filter ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for an FFT's tables");
    for (size_t k = 0; k < n && !status; k++) {
        const struct hcy_fft_number x = chirp_of(k, n);
        filter[2 * k] = x.re / (double)m;
        filter[2 * k + 1] = -x.im / (double)m;
        if (k)
            memcpy(&filter[2 * (m - k)], &filter[2 * k], 2 * sizeof *filter);
        status = add_number(t, x);
    }
    if (!status)
        transform_on_host(filter, m);
    for (size_t k = 0; k < m && !status; k++)
        status = add_number(t, (struct hcy_fft_number){ filter[2 * k], filter[2 * k + 1] });
    free(filter);
    return status;
}

/* --- Steps --- */

static int add_step(struct gpu_fft *f, const struct step *step, size_t numbers)
{
    struct step *steps = realloc(f->steps, (f->n_steps + 1) * sizeof *steps);
    if (!steps)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's steps");
    f->steps = steps;
    steps[f->n_steps++] = *step;
    if (numbers * f->number > f->room)
        f->room = numbers * f->number;
    return 0;
}

/* Lines of an axis, as its steps have them. */
struct lines {
    uint64_t n, inner, outer;
};

static int add_map(struct gpu_fft *f, struct gpu_fft_map map, const struct lines *l, struct step step)
{
    map.inner = l->inner;
    map.outer = l->outer;
    step.kind = MAP;
    step.map = map;
    return add_step(f, &step, map.to * map.inner * map.outer);
}

/* The passes of a length; turns: backward where the transform is; else as `backward` says. */
static int add_passes(struct gpu_fft *f, struct tables *t, const struct lines *l, bool turns, bool backward)
{
    unsigned list[HCY_FFT_MOST_PASSES];
    const unsigned passes = hcy_fft_factor(list, l->n);
    struct step step = { .turns_before = turns };
    struct gpu_nufft_pass *p = &step.pass;
    int status = 0;
    *p = (struct gpu_nufft_pass){ .n = l->n, .done = 1, .inner = l->inner, .outer = l->outer, .from_zero = UINT64_MAX,
                                  .to_zero = UINT64_MAX, .backward = backward };
    p->ends[0] = (struct gpu_nufft_ends){ l->inner, l->inner, 0 };
    p->ends[1] = (struct gpu_nufft_ends){ 1, 1, 0 };
    size_t left = l->n;
    /* The tables are the same, one behind the other. */
    struct step whole = step;
    whole.table = t->n * f->number;
    const bool is_whole = gpu_whole_lines(&whole.whole, f->kernel->ops, &step.pass, f->number);
    for (unsigned i = 0; i < passes && !status; i++) {
        step.radix = list[i];
        step.table = t->n * f->number;
        left /= list[i];
        for (size_t j = 0; j < left && !status; j++)
            for (unsigned k = 1; k < list[i] && !status; k++)
                status = add_number(t, hcy_fft_root(j * k, left * list[i]));
        if (!status && !is_whole)
            status = add_step(f, &step, l->n * l->inner * l->outer);
        p->done *= list[i];
    }
    whole.kind = WHOLE;
    return status || !is_whole ? status : add_step(f, &whole, l->n * l->inner * l->outer);
}

static int add_convolution(struct gpu_fft *f, struct tables *t, const struct lines *l)
{
    struct lines wide = *l;
    struct step step = { .table = t->n * f->number };
    wide.n = 1;
    while (wide.n < 2 * l->n - 1)
        wide.n *= 2;
    int status = add_chirp(t, l->n, wide.n);
    step.turns_before = true;
    if (!status)
        status = add_map(f, (struct gpu_fft_map){ .from = l->n, .to = wide.n, .multiplies = 1 }, l, step);
    if (!status)
        status = add_passes(f, t, &wide, false, false);
    const struct step middle = { .table = step.table + l->n * f->number };
    if (!status)
        status = add_map(f, (struct gpu_fft_map){ .from = wide.n, .to = wide.n, .multiplies = 1 }, l, middle);
    if (!status)
        status = add_passes(f, t, &wide, false, true);
    step.turns_before = false;
    step.turns_behind = true;
    if (!status)
        status = add_map(f, (struct gpu_fft_map){ .from = wide.n, .to = l->n, .multiplies = 1 }, l, step);
    return status;
}

static int add_lines(struct gpu_fft *f, struct tables *t, const struct lines *l)
{
    unsigned list[HCY_FFT_MOST_PASSES];
    if (l->n == 1)
        return 0;
    return hcy_fft_factor(list, l->n) ? add_passes(f, t, l, true, false) : add_convolution(f, t, l);
}

static int add_axis(struct gpu_fft *f, struct tables *t, const hcy_fft_desc *d, int axis, uint64_t last)
{
    struct lines l = { d->n[axis], d->inner, d->batch };
    for (int i = 0; i < axis; i++)
        l.outer *= d->n[i];
    for (int i = axis + 1; i < d->rank; i++)
        l.inner *= i == d->rank - 1 ? last : d->n[i];
    return add_lines(f, t, &l);
}

/* Between the transforms of `half` complex numbers and the first half + 1 of rows of real ones. */
static int add_real(struct gpu_fft *f, struct tables *t, enum kind kind, uint64_t half, uint64_t rows)
{
    const struct step step = { .kind = kind, .real = { half, rows }, .table = t->n * f->number };
    int status = 0;
    for (uint64_t k = 0; 2 * k <= half && !status; k++)
        status = add_number(t, hcy_fft_root((size_t)k, (size_t)(2 * half)));
    return status ? status : add_step(f, &step, (half + (kind == SPLIT)) * rows);
}

/* Rows of real numbers, forward: the last axis. */
static int add_rows_of_reals(struct gpu_fft *f, struct tables *t, const hcy_fft_desc *d, const struct lines *rows)
{
    const uint64_t n = rows->n;
    const struct lines halves = { n / 2, 1, rows->outer };
    int status;
    if (n % 2 == 0) {
        status = add_lines(f, t, &halves);
        return status ? status : add_real(f, t, SPLIT, n / 2, rows->outer);
    }
    status = add_map(f, (struct gpu_fft_map){ .from = n, .to = n, .from_real = 1 }, rows, (struct step){ 0 });
    if (!status)
        status = add_axis(f, t, d, d->rank - 1, n);
    return status ? status : add_map(f, (struct gpu_fft_map){ .from = n, .to = n / 2 + 1 }, rows, (struct step){ 0 });
}

/* Backward. */
static int add_rows_to_reals(struct gpu_fft *f, struct tables *t, const hcy_fft_desc *d, const struct lines *rows)
{
    const uint64_t n = rows->n;
    const struct lines halves = { n / 2, 1, rows->outer };
    int status;
    if (n % 2 == 0) {
        status = add_real(f, t, JOIN, n / 2, rows->outer);
        return status ? status : add_lines(f, t, &halves);
    }
    status = add_map(f, (struct gpu_fft_map){ .from = n / 2 + 1, .to = n, .mirrored = 1 }, rows, (struct step){ 0 });
    if (!status)
        status = add_axis(f, t, d, d->rank - 1, n);
    return status ? status
                  : add_map(f, (struct gpu_fft_map){ .from = n, .to = n, .to_real = 1 }, rows, (struct step){ 0 });
}

/* From the last axis on; to real numbers, whose rows have half of theirs on the other side, up to it. */
static int list_steps(struct gpu_fft *f, struct tables *t, const hcy_fft_desc *d)
{
    const uint64_t n = d->n[d->rank - 1], half = d->type == HCY_FFT_C2C ? n : n / 2 + 1;
    struct lines rows = { n, 1, d->batch };
    int status = 0;
    for (int i = 0; i + 1 < d->rank; i++)
        rows.outer *= d->n[i];
    if (d->type == HCY_FFT_R2C)
        status = add_rows_of_reals(f, t, d, &rows);
    for (int axis = d->type == HCY_FFT_C2C ? d->rank - 1 : d->rank - 2; axis >= 0 && !status; axis--)
        status = add_axis(f, t, d, axis, half);
    if (d->type == HCY_FFT_C2R && !status)
        status = add_rows_to_reals(f, t, d, &rows);
    /* A transform of one number. */
    rows.inner = d->inner;
    return status || f->n_steps
               ? status
               : add_map(f, (struct gpu_fft_map){ .from = n, .to = n }, &rows, (struct step){ 0 });
}

/* --- Plans --- */

/* Items of a group: lines of few numbers have no use for many. */
static uint32_t group_for(const struct gpu_fft *f, uint64_t items)
{
    uint32_t group = LEAST_GROUP;
    while (group < MOST_GROUP && group < items)
        group *= 2;
    return f->kernel->ops->alone ? 1 : group;
}

static uint64_t items_of(const struct step *s)
{
    switch (s->kind) {
    case PASS: return s->pass.n / s->radix * s->pass.inner;
    case WHOLE: return gpu_whole_items(&s->whole);
    case MAP: return s->map.to * s->map.inner;
    default: return s->real.n / 2 + 1;
    }
}

/* What is done by groups in the second direction of a grid. */
static uint64_t blocks_of(const struct step *s)
{
    return s->kind == PASS ? s->pass.outer : s->kind == MAP ? s->map.outer : s->real.lines;
}

static int variant_for(struct gpu_variant **variant, const struct gpu_fft *f, uint32_t group)
{
    char options[GPU_OPTIONS_BYTES];
    const char *option = f->kernel->ops->no_contraction;
    snprintf(options, sizeof options, "-DGROUP_SIZE=%u -DREAL=%s %s", group, f->number == 16 ? "double" : "float",
             option ? option : "");
    return gpu_variant_get(variant, f->kernel, gpu_text_fft, options);
}

static int upload_tables(struct gpu_fft *f, const struct tables *t)
{
    const size_t n = t->n ? 2 * t->n : 2; /* some memory, for who takes none */
    float *floats = f->number == 8 ? calloc(n, sizeof *floats) : NULL;
    double none[2] = { 0, 0 };
    for (size_t i = 0; floats && i < 2 * t->n; i++)
        floats[i] = (float)t->numbers[i];
    const struct gpu_piece piece = { floats ? (void *)floats : t->n ? t->numbers : none, 0, n * f->number / 2 };
    int status = f->number == 8 && !floats ? hcy_fail(HCY_ENOMEM, "out of memory for an FFT's tables")
                                           : f->kernel->ops->tables(f->kernel->device, &piece, 1, piece.size, NULL,
                                                                    &f->block);
    free(floats);
    return status;
}

static size_t bytes_of_result(const struct gpu_fft *f, const hcy_fft_desc *d)
{
    const size_t row = d->n[d->rank - 1];
    size_t bytes = d->batch * d->inner * f->number;
    for (int i = 0; i + 1 < d->rank; i++)
        bytes *= d->n[i];
    return d->type == HCY_FFT_C2R ? bytes / 2 * row : bytes * (d->type == HCY_FFT_R2C ? row / 2 + 1 : row);
}

int gpu_fft_create(struct gpu_fft **out, size_t *workspace, struct gpu_kernel *kernel, const hcy_fft_desc *d)
{
    struct gpu_fft *f = calloc(1, sizeof *f);
    struct tables tables = { NULL, 0, 0 };
    struct gpu_variant *variant;
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    f->kernel = kernel;
    f->number = d->precision == HCY_F64 ? 16 : 8;
    int status = list_steps(f, &tables, d);
    f->is_beside = f->room <= bytes_of_result(f, d);
    /* What compiles does so now, and not in the first execution. */
    for (size_t i = 0; i < f->n_steps && !status; i++)
        status = variant_for(&variant, f, group_for(f, items_of(&f->steps[i])));
    if (!status)
        status = upload_tables(f, &tables);
    free(tables.numbers);
    if (status) {
        gpu_fft_free(f);
        return status;
    }
    *workspace = f->is_beside ? f->room : 2 * f->room;
    *out = f;
    return 0;
}

hcy_block *gpu_fft_tables(struct gpu_fft *f)
{
    return &f->block;
}

void gpu_fft_free(struct gpu_fft *f)
{
    free(f->steps);
    free(f);
}

/* --- Running --- */

struct run {
    struct gpu_call call;
    const struct gpu_fft *fft;
    struct gpu_arg memory[4];
    bool backward;
};

static int launch_pass(const struct run *r, const struct step *s, struct gpu_variant *variant,
                       const struct gpu_grid *grid, struct gpu_arg from, struct gpu_arg table, struct gpu_arg to)
{
    static const char *const names[] = { [2] = "gpu_nufft_pass_2", [3] = "gpu_nufft_pass_3", [4] = "gpu_nufft_pass_4",
                                         [5] = "gpu_nufft_pass_5", [7] = "gpu_nufft_pass_7", [8] = "gpu_nufft_pass_8" };
    struct gpu_nufft_pass p = s->pass;
    p.backward = s->turns_before ? r->backward : p.backward;
    return GPU_STEP(&r->call, variant, names[s->radix], grid, GPU_BYTES(p), from, table, to);
}

static int launch_map(const struct run *r, const struct step *s, struct gpu_variant *variant,
                      const struct gpu_grid *grid, struct gpu_arg from, struct gpu_arg table, struct gpu_arg to)
{
    struct gpu_fft_map m = s->map;
    m.exchanged_before = s->turns_before && r->backward;
    m.exchanged_behind = s->turns_behind && r->backward;
    return GPU_STEP(&r->call, variant, "gpu_fft_map", grid, GPU_BYTES(m), from, table, to);
}

static int launch_real(const struct run *r, const struct step *s, struct gpu_variant *variant,
                       const struct gpu_grid *grid, struct gpu_arg from, struct gpu_arg table, struct gpu_arg to)
{
    return GPU_STEP(&r->call, variant, s->kind == SPLIT ? "gpu_fft_split" : "gpu_fft_join", grid, GPU_BYTES(s->real),
                    from, table, to);
}

static int launch_whole(const struct run *r, const struct step *s, struct gpu_arg from, struct gpu_arg table,
                        struct gpu_arg to)
{
    const uint32_t group = group_for(r->fft, items_of(s));
    struct gpu_nufft_whole w = s->whole;
    struct gpu_variant *variant;
    int status = variant_for(&variant, r->fft, group);
    w.pass.backward = s->turns_before ? r->backward : w.pass.backward;
    return status ? status : gpu_whole_launch(&r->call, variant, group, r->fft->number, &w, from, table, to);
}

static int launch_step(const struct run *r, const struct step *s, enum memory from, enum memory to)
{
    static int (*const launch[])(const struct run *, const struct step *, struct gpu_variant *, const struct gpu_grid *,
                                 struct gpu_arg, struct gpu_arg, struct gpu_arg) =
        { [PASS] = launch_pass, [MAP] = launch_map, [SPLIT] = launch_real, [JOIN] = launch_real };
    const struct gpu_ops *ops = r->call.kernel->ops;
    const uint64_t items = items_of(s), outer = blocks_of(s);
    const uint32_t group = group_for(r->fft, items);
    const struct gpu_grid grid = gpu_grid_of(ops, (items + group - 1) / group, outer, group);
    const hcy_value tables = { .block = (hcy_block *)&r->fft->block, .bytes_left = r->fft->block.size };
    struct gpu_variant *variant;
    if (s->kind == WHOLE)
        return launch_whole(r, s, r->memory[from], gpu_at(&tables, s->table), r->memory[to]);
    int status = variant_for(&variant, r->fft, group);
    if (status)
        return status;
    return launch[s->kind](r, s, variant, &grid, r->memory[from], gpu_at(&tables, s->table), r->memory[to]);
}

/* Input and output are one place or lie apart; a block may have been made twice of the same memory. */
static bool is_same_place(const hcy_value *a, const hcy_value *b)
{
    const hcy_block *x = a->block, *y = b->block;
    if (x->handle && x->handle == y->handle)
        return a->offset == b->offset;
    const uint64_t from = x->address ? x->address : (uint64_t)(uintptr_t)x->host,
                   to = y->address ? y->address : (uint64_t)(uintptr_t)y->host;
    return from && to && from + a->offset == to + b->offset;
}

/* Into the result's place no step may write what is still to be read from it, but lines as a whole where they are. */
static int keep_input(const struct run *r)
{
    const struct gpu_fft *f = r->fft;
    const uint64_t n = f->room / f->number;
    const struct step copy = { .kind = MAP, .map = { .from = n, .to = n, .inner = 1, .outer = 1 } };
    return launch_step(r, &copy, IN, FIRST);
}

int gpu_fft_run(const struct gpu_fft *f, void *queue, const hcy_value *out, int direction, const hcy_value *in,
                const hcy_value *work)
{
    const struct run r = { .call = { .kernel = f->kernel, .queue = queue, .items = 1 },
                           .fft = f,
                           .memory = { gpu_at(in, 0), gpu_at(out, 0), gpu_at(work, 0), gpu_at(work, f->room) },
                           .backward = direction == HCY_FFT_BACKWARD };
    const bool is_odd = f->n_steps % 2, in_place = is_same_place(in, out),
               is_there = in_place && f->steps[0].kind == WHOLE;
    enum memory from = IN;
    int status = 0;
    if (f->is_beside && is_odd && in_place && !is_there) {
        status = keep_input(&r);
        from = FIRST;
    }
    for (size_t i = 0; i < f->n_steps && !status; i++) {
        const bool goes_out = (f->n_steps - i) % 2;
        const enum memory to = i + 1 == f->n_steps ? OUT : goes_out ? f->is_beside ? OUT : SECOND : FIRST;
        status = launch_step(&r, &f->steps[i], from, to);
        from = to;
    }
    return status;
}

/* No launch of the HAL's: backends run plans. */
const struct gpu_kernel_kind gpu_fft_kernels[] = {
    { GPU_FFT, NULL, gpu_no_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
