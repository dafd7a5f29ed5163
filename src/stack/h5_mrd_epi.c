/* h5_mrd_epi.c - what EPI's navigators say of its lines: see h5_mrd.h.
 *
 * Gradients that come late put forward and reversed lines beside their coordinates, to opposite sides, and eddy
 * currents give them another phase; every second line off makes a ghost.  Navigators are such lines without phase
 * encoding, a few after an excitation, so that the profiles of neighbouring ones should be the same: what differs is a
 * phase, linear along x, that all coils have.  Its slope is that of the difference's autocorrelation by one step,
 * summed over x (Ahn and Cho 1987), its constant what is left.  Pairs of which the reversed line comes first and those
 * of which it comes second count alike, because the phase of all lines goes on in time.
 */
#include "h5_mrd.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURN 6.283185307179586476925
enum { MOST_POSITIONS = 512 }; /* nor more than samples: they would say nothing new of a line */

struct hcy__mrd_echoes {
    struct hcy__mrd_grid grid;
    size_t channels, positions;
    double step;       /* from a position to the next, in pixels */
    size_t count;      /* echoes of this shot */
    bool is_reversed;  /* the one before */
    size_t pairs[2];   /* of neighbours, of which the forward or the reversed one is first, */
    double *sums[2];   /* complex [positions], over channels: reversed profiles times forward ones, conjugate */
    double *profiles[2]; /* of the last two echoes, real and imaginary parts apart: [channels][2][positions] */
    double *row;         /* [2][positions] */
};

struct hcy__mrd_echoes *hcy__mrd_begin_echoes(const struct hcy__mrd_grid *grid, unsigned channels)
{
    struct hcy__mrd_echoes *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->grid = *grid;
    e->channels = channels;
    const unsigned most = grid->samples < MOST_POSITIONS ? grid->samples : MOST_POSITIONS,
                   stride = (grid->sizes[0] + most - 1) / most;
    e->step = stride;
    e->positions = grid->sizes[0] / stride;
    bool good = (e->row = calloc(2 * e->positions, sizeof(double)));
    for (int i = 0; i < 2; i++)
        good = (e->sums[i] = calloc(2 * e->positions, sizeof(double))) &&
               (e->profiles[i] = calloc(2 * e->positions * channels, sizeof(double))) && good;
    if (good)
        return e;
    hcy__mrd_free_echoes(e);
    return NULL;
}

void hcy__mrd_free_echoes(struct hcy__mrd_echoes *e)
{
    for (int i = 0; e && i < 2; i++) {
        free(e->sums[i]);
        free(e->profiles[i]);
    }
    if (e)
        free(e->row);
    free(e);
}

/* Where positions begin, in pixels from the one that phases are counted from. */
static double first_position(const struct hcy__mrd_echoes *e)
{
    return -(double)(e->positions / 2) * e->step;
}

/* What a sample at k adds to the profile: exp(2 pi i k x) at all positions. */
static void fill_row(struct hcy__mrd_echoes *e, double k, double weight)
{
    const double first = TURN * k * first_position(e), c = cos(TURN * k * e->step), s = sin(TURN * k * e->step);
    double re = weight * cos(first), im = weight * sin(first);
    for (size_t x = 0; x < e->positions; x++) {
        const double next = re * c - im * s;
        e->row[x] = re;
        e->row[e->positions + x] = im;
        im = re * s + im * c;
        re = next;
    }
}

static void make_profile(double *profile, struct hcy__mrd_echoes *e, const struct hcy__mrd_line *line,
                         const float *samples, unsigned pre, unsigned post)
{
    const unsigned n = e->grid.samples;
    memset(profile, 0, 2 * e->positions * e->channels * sizeof *profile);
    for (unsigned s = pre; s + post < n; s++) {
        /* On ramps samples lie denser, and count for less. */
        const double behind = hcy__mrd_place_of(&e->grid, line, s + 1),
                     before = hcy__mrd_place_of(&e->grid, line, s ? s - 1 : 0);
        fill_row(e, hcy__mrd_place_of(&e->grid, line, s), fabs(behind - before));
        for (size_t c = 0; c < e->channels; c++) {
            const double re = samples[2 * (c * n + s)], im = samples[2 * (c * n + s) + 1];
            double *to = profile + 2 * c * e->positions;
            for (size_t x = 0; x < e->positions; x++) {
                to[x] += re * e->row[x] - im * e->row[e->positions + x];
                to[e->positions + x] += re * e->row[e->positions + x] + im * e->row[x];
            }
        }
    }
}

void hcy__mrd_add_echo(struct hcy__mrd_echoes *e, const struct hcy__mrd_line *line, const float *samples, unsigned pre,
                       unsigned post)
{
    double *one = e->profiles[e->count % 2], *before = e->profiles[(e->count + 1) % 2];
    const bool is_pair = e->count && e->is_reversed != line->is_reversed;
    make_profile(one, e, line, samples, pre, post);
    const double *reversed = line->is_reversed ? one : before, *forward = line->is_reversed ? before : one;
    double *sum = e->sums[e->is_reversed];
    for (size_t c = 0; is_pair && c < e->channels; c++)
        for (size_t x = 0; x < e->positions; x++) {
            const size_t re = 2 * c * e->positions + x, im = re + e->positions;
            sum[2 * x] += reversed[re] * forward[re] + reversed[im] * forward[im];
            sum[2 * x + 1] += reversed[im] * forward[re] - reversed[re] * forward[im];
        }
    e->pairs[e->is_reversed] += is_pair;
    e->is_reversed = line->is_reversed;
    e->count++;
}

/* a times b's conjugate, added. */
static void add_product(double sum[2], const double *a, const double *b)
{
    sum[0] += a[0] * b[0] + a[1] * b[1];
    sum[1] += a[1] * b[0] - a[0] * b[1];
}

void hcy__mrd_end_shot(struct hcy__mrd_shot *shot, struct hcy__mrd_echoes *e)
{
    double *d = e->row, steps[2] = { 0 }, rest[2] = { 0 };
    const double pairs[2] = { e->pairs[0] ? (double)e->pairs[0] : 1, e->pairs[1] ? (double)e->pairs[1] : 1 };
    for (size_t i = 0; i < 2 * e->positions; i++)
        d[i] = e->sums[0][i] / pairs[0] + e->sums[1][i] / pairs[1];
    for (size_t x = 1; x < e->positions; x++)
        add_product(steps, d + 2 * x, d + 2 * x - 2);
    const double slope = atan2(steps[1], steps[0]) / e->step;
    for (size_t x = 0; x < e->positions; x++) {
        const double at = slope * (first_position(e) + (double)x * e->step), turn[2] = { cos(at), sin(at) };
        add_product(rest, d + 2 * x, turn);
    }
    /* A delay puts both beside their coordinates.  A phase near half a turn may come out either way, and shared by both
     * it would put shots against one another. */
    const bool is_said = hypot(steps[0], steps[1]) > 0 && isfinite(slope) && hypot(rest[0], rest[1]) > 0;
    shot->forward = is_said ? (struct hcy__mrd_ghost){ slope / TURN / 2, 0 } : (struct hcy__mrd_ghost){ NAN, NAN };
    shot->reversed = is_said ? (struct hcy__mrd_ghost){ -slope / TURN / 2, atan2(rest[1], rest[0]) } : shot->forward;
    for (int i = 0; i < 2; i++)
        memset(e->sums[i], 0, 2 * e->positions * sizeof *e->sums[i]);
    e->pairs[0] = e->pairs[1] = e->count = 0;
    e->is_reversed = false;
}

/* --- Which shot --- */

static const int counters_of[HCY__MRD_KINS][HCY__MRD_SHOT_KEYS] = {
    { HCY__MRD_SLICE, HCY__MRD_CONTRAST, HCY__MRD_SET, -1 },
    { HCY__MRD_SLICE, HCY__MRD_SET, HCY__MRD_REPETITION, HCY__MRD_SEGMENT },
    { HCY__MRD_SLICE, HCY__MRD_SET, -1, -1 },
};

static void fill_keys(unsigned keys[HCY__MRD_SHOT_KEYS], const struct hcy__mrd_line *line, enum hcy__mrd_kin kin)
{
    for (int i = 0; i < HCY__MRD_SHOT_KEYS; i++)
        keys[i] = counters_of[kin][i] >= 0 ? line->counters[counters_of[kin][i]] : 0;
}

static int compare_keys(const unsigned a[HCY__MRD_SHOT_KEYS], const unsigned b[HCY__MRD_SHOT_KEYS])
{
    for (int i = 0; i < HCY__MRD_SHOT_KEYS; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* The first line behind a row. */
static uint64_t find_line(const struct hcy__mrd_line *lines, uint64_t n, uint64_t row)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (lines[middle].row > row)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool hcy__mrd_is_one_shot(const struct hcy__mrd_line *navigator, const struct hcy__mrd_line *before,
                          const struct hcy__mrd_line *lines, uint64_t n_lines)
{
    unsigned keys[2][HCY__MRD_SHOT_KEYS];
    fill_keys(keys[0], navigator, HCY__MRD_OF_IMAGE);
    fill_keys(keys[1], before, HCY__MRD_OF_IMAGE);
    return !compare_keys(keys[0], keys[1]) &&
           find_line(lines, n_lines, before->row) == find_line(lines, n_lines, navigator->row);
}

static int compare_shots(const void *a, const void *b)
{
    const struct hcy__mrd_shot *x = a, *y = b;
    const int order = compare_keys(x->keys, y->keys);
    return order ? order : (x->first.row > y->first.row) - (x->first.row < y->first.row);
}

void hcy__mrd_sort_shots(struct hcy__mrd_shot *shots, uint64_t n, enum hcy__mrd_kin kin)
{
    for (uint64_t i = 0; i < n; i++) {
        fill_keys(shots[i].keys, &shots[i].first, kin);
        /* Some scanners' segments are readouts' directions, which say nothing of excitations: no line has this one. */
        if (kin == HCY__MRD_OF_SHOT && !shots[i].is_one_segment)
            shots[i].keys[HCY__MRD_SHOT_KEYS - 1] = UINT16_MAX + 1;
    }
    if (n)
        qsort(shots, (size_t)n, sizeof *shots, compare_shots);
}

const struct hcy__mrd_shot *hcy__mrd_find_shot(const struct hcy__mrd_shot *shots, uint64_t n, enum hcy__mrd_kin kin,
                                               const struct hcy__mrd_line *line)
{
    struct hcy__mrd_shot here = { .first = *line };
    uint64_t low = 0, high = n;
    fill_keys(here.keys, line, kin);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (compare_shots(&shots[middle], &here) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    if (low && !compare_keys(shots[low - 1].keys, here.keys))
        return &shots[low - 1];
    return low < n && !compare_keys(shots[low].keys, here.keys) ? &shots[low] : NULL;
}
