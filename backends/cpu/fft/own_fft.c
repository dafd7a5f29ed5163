/* own_fft.c - plans of the CPU's own Fourier transforms: the factors of a length, the tables of its passes.  Plans
 * belong to their makers and are not changed. */
#include "own_fft.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW_SLOW = 2, /* lines that are taken one by one where that is slow, */
    LONGEST_WITHOUT_ROOTS = 1 << 15, LONGEST_CONVOLVED = 1 << 19, /* and all of them from here on */
    MOST_LANES = 16,
    WIDEST = 64, /* bytes of a vector */
    LEAST_HALVED = 4,
    FEW_ROWS = 4,    /* of any length, that are: side by side they would leave most lanes without one */
    LEAST_ROW = 1280,       /* bytes of rows that are, however many there are */
    LEAST_LONGER_ROW = 2048 /* the same of real lines' halves, and where lines side by side have longer vectors */
};

static bool is_smooth(size_t n)
{
    unsigned list[HCY_FFT_MOST_PASSES];
    return n == 1 || hcy_fft_factor(list, n) > 0;
}

/* --- Tables --- */

static void put_number(const struct own_fft *f, void *table, size_t i, struct hcy_fft_number x)
{
    if (f->is_double)
        ((struct own_double *)table)[i] = (struct own_double){ x.re, x.im };
    else
        ((struct own_float *)table)[i] = (struct own_float){ (float)x.re, (float)x.im };
}

static size_t number_size(const struct own_fft *f)
{
    return f->is_double ? sizeof(struct own_double) : sizeof(struct own_float);
}

/* Numbers of all passes' tables; fills in the passes. */
static size_t lay_out_passes(struct own_fft *f, const unsigned *list)
{
    size_t numbers = 0, done = 1;
    for (unsigned i = 0; i < f->n_passes; i++) {
        struct own_fft_pass *p = &f->passes[i];
        p->radix = list[i];
        p->done = done;
        done *= list[i];
        p->left = f->n / done;
        numbers += p->left * (p->radix - 1);
    }
    return numbers;
}

static int make_passes(struct own_fft *f)
{
    unsigned list[HCY_FFT_MOST_PASSES];
    f->n_passes = hcy_fft_factor(list, f->n);
    const size_t numbers = lay_out_passes(f, list);
    if (!(f->tables = malloc((numbers ? numbers : 1) * number_size(f))))
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT of %zu points", f->n);
    size_t at = 0;
    for (unsigned i = 0; i < f->n_passes; i++) {
        struct own_fft_pass *p = &f->passes[i];
        p->twiddles = (char *)f->tables + at * number_size(f);
        for (size_t j = 0; j < p->left; j++)
            for (unsigned k = 1; k < p->radix; k++)
                put_number(f, f->tables, at++, hcy_fft_root(j * k, p->left * p->radix));
    }
    return 0;
}

/* For vectors along a line: `rows` of a table's numbers, n in each, real parts before imaginary ones; in the table a
 * row's next number is `rows` further. */
static void put_parts(const struct own_fft *f, char *parts, const char *table, size_t rows, size_t n)
{
    const size_t size = number_size(f) / 2;
    for (size_t k = 0; k < 2 * rows; k++)
        for (size_t j = 0; j < n; j++)
            memcpy(parts + (k * n + j) * size, table + (j * 2 * rows + k) * size, size);
}

/* The first passes' own tables, for vectors of neighbours. */
static int make_lead_roots(struct own_fft *f)
{
    size_t numbers = 0, at = 0;
    for (unsigned i = 0; i < f->lead_passes; i++)
        numbers += f->passes[i].left * (f->passes[i].radix - 1);
    char *roots = malloc(numbers * number_size(f));
    if (!roots)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT of %zu points", f->n);
    f->lead_roots = roots;
    for (unsigned i = 0; i < f->lead_passes; i++) {
        struct own_fft_pass *p = &f->passes[i];
        p->lead_left = p->left / f->columns;
        put_parts(f, roots + at * number_size(f), p->twiddles, p->radix - 1, p->left);
        at += p->left * (p->radix - 1);
    }
    return 0;
}

/* Columns of a long line: some vectors side by side, none too long for a cache. */
static int make_lead(struct own_fft *f)
{
    const size_t most = f->n / MOST_LANES < OWN_FFT_LONGEST_TOGETHER ? f->n / MOST_LANES : OWN_FFT_LONGEST_TOGETHER;
    f->lead_passes = own_fft_lead(&f->lead, f->n, most);
    if (!f->lead_passes)
        return 0;
    f->columns = f->n / f->lead;
    int status = f->columns % OWN_FFT_LEAD_COLUMNS ? 0 : make_lead_roots(f);
    return status ? status : own_fft_create(&f->rest, f->columns, f->is_double);
}

/* A row (own_row.h): a first pass of 8, or two others, leave side by side what fills vectors, if as much is left. */
static int make_row(struct own_fft *f)
{
    const struct own_fft_pass *p = f->passes;
    f->lead_passes = p->radix == OWN_FFT_ROW_LANES ? 1 : 2;
    if (f->n_passes <= f->lead_passes || p->radix == 7)
        return 0;
    f->columns = p[f->lead_passes - 1].left;
    f->lead = f->n / f->columns;
    f->is_row = f->lead >= OWN_FFT_ROW_LANES && f->columns >= OWN_FFT_ROW_LANES;
    return f->is_row ? make_lead_roots(f) : 0;
}

/* --- Other lengths --- */

/* Numbers that the passes work on: of the length itself, or of the convolution in its place. */
static size_t inner_length(size_t n)
{
    if (is_smooth(n))
        return n;
    size_t length = 2 * n - 1;
    while (!is_smooth(length))
        length++;
    return length;
}

/* Bluestein: jk = (j j + k k - (k - j)^2) / 2 makes the transform a convolution with a chirp, which two transforms of a
 * smooth length do. */
static int make_chirp(struct own_fft *f)
{
    const size_t length = inner_length(f->n);
    int status = own_fft_create(&f->inner, length, f->is_double);
    if (status)
        return status;
    /* The filter is made in double and by the portable variant, so that all machines have the same. */
    struct own_fft *exact = NULL;
    status = own_fft_create(&exact, length, true);
    struct hcy_fft_number *filter = calloc(length, sizeof *filter);
    void *scratch = status ? NULL : aligned_alloc(64, own_fft_scratch(exact));
    f->tables = malloc((f->n + length) * number_size(f));
    if (!status && (!filter || !scratch || !f->tables))
        status = hcy_fail(HCY_ENOMEM, "out of memory for an FFT of %zu points", f->n);
    /* k k is taken modulo 2n: the angle of a large number would have lost its digits. */
    for (size_t k = 0, square = 0; k < f->n && !status; square = (square + 2 * k + 1) % (2 * f->n), k++) {
        const struct hcy_fft_number c = hcy_fft_root(square, 2 * f->n);
        put_number(f, f->tables, k, c);
        filter[k] = (struct hcy_fft_number){ c.re / (double)length, -c.im / (double)length };
        filter[(length - k) % length] = filter[k];
    }
    if (!status) {
        const struct own_fft_lines line = { filter, filter, 1, 1, length, 1, length, false, OWN_FFT_COMPLEX };
        own_fft_run(exact, CPU_SIMD_PORTABLE, &line, scratch);
        f->chirp = f->tables;
        f->filter = (char *)f->tables + f->n * number_size(f);
        for (size_t k = 0; k < length; k++)
            put_number(f, (char *)f->tables + f->n * number_size(f), k, filter[k]);
    }
    free(scratch);
    free(filter);
    own_fft_free(exact);
    return status;
}

static int make_half(struct own_fft *f)
{
    void *turns = malloc((f->n / 4 + 1) * number_size(f));
    if (!turns)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT of %zu points", f->n);
    for (size_t k = 0; k <= f->n / 4; k++)
        put_number(f, turns, k, hcy_fft_root(k, f->n));
    f->turns = turns;
    int status = own_fft_create(&f->half, f->n / 2, f->is_double);
    if (!status && f->half->is_row) {
        char *parts = malloc((f->n / 4 + 1) * number_size(f));
        if (!parts)
            return hcy_fail(HCY_ENOMEM, "out of memory for an FFT of %zu points", f->n);
        f->row_turns = parts;
        put_parts(f, parts, f->turns, 1, f->n / 4 + 1);
    }
    return status;
}

int own_fft_create(struct own_fft **plan, size_t n, bool is_double)
{
    /* Of lengths up to this neither tables nor the scratch of all threads overflow a size. */
    if (!n || n > (size_t)1 << (sizeof(size_t) > 4 ? 40 : 16))
        return hcy_fail(HCY_ERANGE, "an FFT of %zu points", n);
    struct own_fft *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    f->n = n;
    f->is_double = is_double;
    int status = is_smooth(n) ? make_passes(f) : make_chirp(f);
    if (!status && f->n_passes && n > OWN_FFT_LONGEST_TOGETHER)
        status = make_lead(f);
    else if (!status && f->n_passes > 1)
        status = make_row(f);
    if (status) {
        own_fft_free(f);
        return status;
    }
    *plan = f;
    return 0;
}

int own_fft_create_real(struct own_fft **plan, size_t n, bool is_double)
{
    struct own_fft *f = NULL;
    int status = own_fft_create(&f, n, is_double);
    if (!status && n % 2 == 0 && n >= LEAST_HALVED)
        status = make_half(f);
    if (status)
        own_fft_free(f);
    else
        *plan = f;
    return status;
}

void own_fft_free(struct own_fft *plan)
{
    if (!plan)
        return;
    own_fft_free(plan->inner);
    own_fft_free(plan->rest);
    own_fft_free(plan->half);
    free((void *)(uintptr_t)plan->turns);
    free((void *)(uintptr_t)plan->lead_roots);
    free((void *)(uintptr_t)plan->row_turns);
    free(plan->tables);
    free(plan);
}

/* --- Running --- */

/* Passes go from one half to the other; a number is two vectors.  Lines whose first part does not fill the longest
 * vectors are never rows alone (is_row). */
static size_t scratch_for(size_t inner)
{
    enum { ROW = 2 * 2 * OWN_FFT_ROW_PART }; /* bytes of both halves for a row alone */
    const size_t room = 2 * 2 * WIDEST * inner;
    return room > ROW || inner < OWN_FFT_ROW_LANES * OWN_FFT_ROW_LANES ? room : ROW;
}

/* A line of complex numbers. */
static size_t line_room(size_t n, size_t size)
{
    return (n * size + 63) / 64 * 64;
}

size_t own_fft_scratch(const struct own_fft *plan)
{
    const size_t size = number_size(plan);
    /* Of real lines taken alone the complex ones lie before what these need, and so do those of a convolution. */
    return line_room(plan->n, size) + (plan->inner ? line_room(plan->inner->n, size) + scratch_for(plan->inner->n)
                                                   : scratch_for(plan->n));
}

size_t own_fft_scratch_of(size_t n)
{
    const size_t inner = inner_length(n), size = sizeof(struct own_double);
    return line_room(n, size) + (inner > n ? line_room(inner, size) : 0) + scratch_for(inner);
}

/* Those whose passes take a line alone. */
static const struct own_fft *passes_of(const struct own_fft *plan)
{
    return plan->inner ? plan->inner : plan;
}

/* How many lines without gaps are taken one by one: few, whose vectors would have nothing in most lanes, or all that
 * would leave a core's own caches.  Where a line alone goes number by number, or is a convolution, that is so only of
 * much longer ones: 16 lines of 6561 floats take three times as long one by one (AVX2). */
static size_t most_alone(const struct own_fft *f)
{
    const size_t longest = f->inner ? LONGEST_CONVOLVED : LONGEST_WITHOUT_ROOTS;
    if ((f->rest && f->lead_roots) || passes_of(f)->n > longest)
        return SIZE_MAX;
    return passes_of(f)->rest || f->inner ? FEW_SLOW : 1;
}

bool own_fft_takes_alone(const struct own_fft *plan, size_t lines)
{
    return lines <= most_alone(plan) && (!plan->half || lines <= most_alone(plan->half));
}

size_t own_fft_scratch_rows(const struct own_fft *plan, size_t lines)
{
    const struct own_fft *f = passes_of(plan);
    const size_t size = number_size(plan);
    /* Columns side by side, and those of one vector (run_lead()). */
    const size_t tiles = f->lead * (OWN_FFT_LEAD_COLUMNS * size + 2 * WIDEST);
    if (!f->rest || !own_fft_takes_alone(plan, lines))
        return own_fft_scratch(plan);
    return line_room(plan->n, size) + (plan->inner ? 3 : 2) * line_room(f->n, size) + tiles + own_fft_scratch(f->rest) +
           (plan->half ? own_fft_scratch_rows(plan->half, lines) : 0);
}

static bool takes_lines_alone(const struct own_fft *f, const struct own_fft_lines *l)
{
    return passes_of(f)->n_passes > 1 && l->in_step == 1 && l->out_step == 1 && l->lines <= most_alone(f) &&
           (l->lines == 1 || l->in_pitch > 1);
}

static const struct own_fft_ops *find_ops(enum cpu_simd simd)
{
#if HCY_CPU_X86
    if (simd >= CPU_SIMD_AVX512)
        return &own_fft_avx512;
    if (simd >= CPU_SIMD_AVX2)
        return &own_fft_avx2;
#else
    (void)simd;
#endif
    return &own_fft_portable;
}

static size_t rounded_up(size_t n, size_t lanes)
{
    return (n + lanes - 1) & ~(lanes - 1);
}

/* Rows one by one, where those side by side would leave the nearest cache, or most lanes without one (bench/fft); f: of
 * complex ones, or of real ones' halves. */
static bool takes_rows(const struct own_fft *f, const struct own_fft_lines *l, const struct own_fft_ops *ops)
{
    const size_t lanes = ops->lanes[f->is_double];
    const bool has_longer = lanes > OWN_FFT_ROW_LANES, is_long = has_longer || l->kind != OWN_FFT_COMPLEX;
    if (!f->is_row || l->in_step != 1 || l->out_step != 1)
        return false;
    if (l->lines < FEW_ROWS)
        return l->lines == 1 || (l->in_pitch > 1 && l->out_pitch > 1);
    if (l->in_pitch == 1 || l->out_pitch == 1 || f->n * number_size(f) < (is_long ? LEAST_LONGER_ROW : LEAST_ROW))
        return false;
    /* Both ways along a row's columns a quarter of the lanes may have nothing to do. */
    return f->lead_passes == 1 ||
           (!has_longer && 3 * rounded_up(f->lead, lanes) * rounded_up(f->columns, lanes) <= 4 * f->n);
}

/* Columns by vectors, and each of them as a row, whose numbers go where the others' are beside them.  Rows of a power
 * of two would come to the same places of the caches. */
static void run_columns(const struct own_fft *f, enum cpu_simd simd, bool backward, const void *from, void *to,
                        char *scratch)
{
    const size_t pitch = f->columns + OWN_FFT_LEAD_COLUMNS, room = f->lead * pitch * number_size(f);
    const struct own_fft_lines rows = { scratch, to, f->lead, 1, pitch, f->lead, 1, backward, OWN_FFT_COMPLEX };
    find_ops(simd)->run_lead[f->is_double](f, backward, from, scratch, pitch, scratch + room);
    own_fft_run(f->rest, simd, &rows, scratch + room);
}

/* The convolution with the chirp. */
static void convolve(const struct own_fft *f, enum cpu_simd simd, bool backward, const void *from, void *to, char *x)
{
    const struct own_fft *inner = f->inner;
    const size_t size = number_size(f);
    char *const rest = x + line_room(inner->n, size);
    struct own_fft_lines line = { x, x, 1, 1, inner->n, 1, inner->n, false, OWN_FFT_COMPLEX };
    own_fft_multiply(f, x, from, f->chirp, f->n, backward, false);
    memset(x + f->n * size, 0, (inner->n - f->n) * size);
    own_fft_run(inner, simd, &line, rest);
    own_fft_multiply(f, x, x, f->filter, inner->n, false, false);
    line.backward = true;
    own_fft_run(inner, simd, &line, rest);
    own_fft_multiply(f, to, x, f->chirp, f->n, false, backward);
}

/* A line's passes from `from` to `to`, by way of the scratch's halves; the last ones of a long line as columns, that
 * fill vectors. */
static void run_alone(const struct own_fft *f, enum cpu_simd simd, bool backward, const void *from, void *to,
                      char *scratch)
{
    const size_t room = line_room(f->n, number_size(f));
    const unsigned passes = f->rest ? f->lead_passes : f->n_passes;
    if (f->inner || (f->rest && f->lead_roots)) {
        (f->inner ? convolve : run_columns)(f, simd, backward, from, to, scratch);
        return;
    }
    for (unsigned i = 0; i < passes; i++) {
        void *next = i + 1 < f->n_passes ? scratch + i % 2 * room : to;
        own_fft_pass_run(f, i, backward, from, next, 0, f->n / f->passes[i].radix);
        from = next;
    }
    if (f->rest) {
        const struct own_fft_lines columns = { from, to, f->lead, f->lead, 1, f->lead, 1, backward, OWN_FFT_COMPLEX };
        own_fft_run(f->rest, simd, &columns, scratch + 2 * room);
    }
}

static void run_lines_alone(const struct own_fft *f, enum cpu_simd simd, const struct own_fft_lines *l, char *scratch)
{
    const size_t size = number_size(f);
    for (size_t line = 0; line < l->lines; line++)
        run_alone(f, simd, l->backward, (const char *)l->in + line * l->in_pitch * size,
                  (char *)l->out + line * l->out_pitch * size, scratch);
}

/* Real lines that have no halves. */
static void run_real_alone(const struct own_fft *f, enum cpu_simd simd, const struct own_fft_lines *l, char *z)
{
    const bool from_real = l->kind == OWN_FFT_FROM_REAL;
    const size_t size = number_size(f), in = from_real ? size / 2 : size, out = from_real ? size : size / 2;
    const struct own_fft_lines whole = { z, z, 1, 1, f->n, 1, f->n, l->backward, OWN_FFT_COMPLEX };
    for (size_t line = 0; line < l->lines; line++) {
        own_fft_widen(f, z, (const char *)l->in + line * l->in_pitch * in, from_real);
        own_fft_run(f, simd, &whole, z + line_room(f->n, size));
        own_fft_narrow(f, (char *)l->out + line * l->out_pitch * out, z, from_real);
    }
}

/* --- Real lines by halves --- */

/* Only where two numbers lie side by side are they one complex number. */
static bool takes_halves(const struct own_fft *f, const struct own_fft_lines *l)
{
    const bool from = l->kind == OWN_FFT_FROM_REAL;
    return f->half && l->kind != OWN_FFT_COMPLEX && l->backward != from && (from ? l->in_step : l->out_step) == 1 &&
           (l->lines == 1 || (from ? l->in_pitch : l->out_pitch) % 2 == 0);
}

static void run_halves_alone(const struct own_fft *f, enum cpu_simd simd, const struct own_fft_lines *l, char *scratch)
{
    const struct own_fft *g = f->half;
    const size_t size = number_size(f), stored = (g->n + 1) * size;
    char *const rest = scratch + line_room(g->n + 1, size);
    for (size_t line = 0; line < l->lines; line++) {
        if (l->kind == OWN_FFT_FROM_REAL) {
            run_alone(g, simd, false, (const char *)l->in + line * l->in_pitch * (size / 2), scratch, rest);
            own_fft_split_real(scratch, f);
            memcpy((char *)l->out + line * l->out_pitch * size, scratch, stored);
        } else {
            memcpy(scratch, (const char *)l->in + line * l->in_pitch * size, stored);
            own_fft_join_real(scratch, f);
            run_alone(g, simd, true, scratch, (char *)l->out + line * l->out_pitch * (size / 2), rest);
        }
    }
}

void own_fft_run(const struct own_fft *plan, enum cpu_simd simd, const struct own_fft_lines *lines, void *scratch)
{
    const struct own_fft_ops *ops = find_ops(simd);
    if (lines->kind == OWN_FFT_COMPLEX ? takes_rows(plan, lines, ops)
                                       : takes_halves(plan, lines) && takes_rows(plan->half, lines, ops))
        ops->run_rows[plan->is_double](plan, lines, scratch);
    else if (takes_halves(plan, lines) && takes_lines_alone(plan->half, lines))
        run_halves_alone(plan, simd, lines, scratch);
    else if (takes_halves(plan, lines))
        ops->run_halves[plan->is_double](plan, lines, scratch);
    else if (takes_lines_alone(plan, lines))
        (lines->kind == OWN_FFT_COMPLEX ? run_lines_alone : run_real_alone)(plan, simd, lines, scratch);
    else
        ops->run[plan->is_double](plan, lines, scratch);
}

unsigned own_fft_lead(size_t *lead, size_t n, size_t most)
{
    unsigned list[HCY_FFT_MOST_PASSES], count = hcy_fft_factor(list, n), passes = 0;
    *lead = 1;
    while (passes + 1 < count && n / *lead > most)
        *lead *= list[passes++];
    return passes;
}
