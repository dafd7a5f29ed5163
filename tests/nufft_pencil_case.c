/* nufft_pencil_case.c - one case of tests/nufft_pencil.c: the kernel's text, compiled with the options that
 * tests/local.mk gives it, run by lanes that are threads, against sums as nufft_format.h describes them. */
#include "lanes.h"
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#include "nufft/pencil.cl"

#ifndef POINTS
#define POINTS 100
#endif
#if SLOPES
enum { NUMBERS_OF_A_POINT = 1 + DIM };
#else
enum { NUMBERS_OF_A_POINT = 1 };
#endif
enum { ALL = 2 * VECTORS - 1, RANGE = POINTS / 3 * 2 }; /* the last vectors are not all there */

static const u32 cells[3] = { DIM > 1 ? 26 : 140, DIM > 2 ? 19 : DIM > 1 ? 27 : 1, DIM > 2 ? 25 : 1 };
static struct gpu_nufft job;
static struct record records[POINTS];
static REAL table[HCY_NUFFT_MAX_COEFS * HCY_NUFFT_MAX_WIDTH];
static PAIR strengths[ALL * POINTS * NUMBERS_OF_A_POINT], *grids;
static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

/* Of point i: the window's first cells and t. */
static struct {
    u32 cell[3];
    double t[3];
} points[POINTS];

static u32 key_of(const struct record *r)
{
    const u32 *cell = points[number_of(r)].cell;
    return (DIM > 2 ? cell[1] / YB * job.bins[0] : 0) * job.slabs + (DIM > 1 ? cell[0] / XB * job.slabs : 0) +
           cell[DIM - 1] / ZS;
}

/* Of few points, slabs that follow one another are sorted as one. */
#ifndef COARSE
#define COARSE 0
#endif
static int by_key(const void *a, const void *b)
{
    u32 x = key_of(a) >> COARSE, y = key_of(b) >> COARSE;
    return x < y ? -1 : x > y;
}

/* Half of the points are in one place, the others anywhere, some windows across the ends. */
static void make(void)
{
    job = (struct gpu_nufft){ .n_points = POINTS, .n = { cells[0], cells[1], cells[2] }, .range = RANGE };
    job.vectors = ALL;
    job.cells = (u64)cells[0] * cells[1] * cells[2];
    job.bins[0] = DIM > 1 ? (cells[0] + XB - 1) / XB : 1;
    job.slabs = (cells[Z] + ZS - 1) / ZS;
    grids = calloc(ALL * job.cells, sizeof *grids);
    for (u32 d = 0; d < 3; d++)
        while (1u << job.bits[d] < cells[d])
            job.bits[d]++;
    for (u32 i = 0; i < POINTS; i++) {
        u64 place[3] = { 0 };
        for (u32 d = 0; d < DIM; d++) {
            u32 high = (u32)((i % 2 ? 2.3 + 0.5 * uniform() : uniform() * cells[d]) * 0x1p32 / (1u << job.bits[d]));
            double u = high * (double)(1u << job.bits[d]) / 0x1p32;
            place[d] = (u64)high << 32;
            points[i].cell[d] = (u32)ceil(u) % cells[d];
            points[i].t[d] = 2 * (ceil(u) - u) - 1;
        }
        records[i] = record_of(place, i);
    }
    qsort(records, POINTS, sizeof *records, by_key);
    for (u32 c = 0; c < COEFS; c++)
        for (u32 j = 0; j < HALF; j++) {
            int even = (COEFS - 1 - c) % 2 == 0;
            REAL k = (REAL)(2 * j + 1 == WIDTH && !even ? 0 : uniform());
            table[c * HCY_NUFFT_MAX_WIDTH + j] = k;
            table[c * HCY_NUFFT_MAX_WIDTH + WIDTH - 1 - j] = even ? k : -k;
        }
    for (u32 i = 0; i < ALL * POINTS; i++)
        strengths[i].x = (REAL)(uniform() - 0.5), strengths[i].y = (REAL)(uniform() - 0.5);
    for (u32 i = 0; i < ALL * job.cells && !SPREADS; i++)
        grids[i].x = (REAL)(uniform() - 0.5), grids[i].y = (REAL)(uniform() - 0.5);
}

/* Weight j of a point on an axis, or what its coordinate changes that by; an axis that is not there has one. */
static double weight(u32 i, u32 d, u32 j, int slope)
{
    double k = 0, change = 0;
    for (u32 c = 0; c < COEFS && d < DIM; c++) {
        change = change * points[i].t[d] + k;
        k = k * points[i].t[d] + (double)table[c * HCY_NUFFT_MAX_WIDTH + j];
    }
    /* t falls by 2 from a cell to the next, of which an axis has 2 pi. */
    return slope ? -change * cells[d] / 3.14159265358979323846 : d < DIM ? k : 1;
}
static u32 reached(u32 i, u32 d, u32 j)
{
    return d < DIM ? (points[i].cell[d] + j) % cells[d] : 0;
}

/* What is expected, pairs; to be freed. */
static double *expected(void)
{
    double *want = calloc(2 * ALL * (SPREADS ? job.cells : POINTS * NUMBERS_OF_A_POINT), sizeof *want);
    for (u32 i = 0; i < POINTS; i++)
        for (u32 j = 0; j < WIDTH * (DIM > 1 ? WIDTH : 1) * (DIM > 2 ? WIDTH : 1); j++) {
            u32 a = j % WIDTH, b = j / WIDTH % WIDTH, c = j / WIDTH / WIDTH;
            u64 at = ((u64)reached(i, 2, c) * cells[1] + reached(i, 1, b)) * cells[0] + reached(i, 0, a);
            for (u32 v = 0; v < ALL * NUMBERS_OF_A_POINT; v++) {
                /* With slopes a point has its numbers one behind the other, those along the slowest axis first. */
                const u32 wave = v % NUMBERS_OF_A_POINT, vector = v / NUMBERS_OF_A_POINT;
                const double k = weight(i, 0, a, wave == DIM) * weight(i, 1, b, wave && wave == DIM - 1) *
                                 weight(i, 2, c, wave && wave == DIM - 2);
                u64 grid = vector * job.cells + at, point = (vector * POINTS + i) * NUMBERS_OF_A_POINT + wave,
                    to = SPREADS ? grid : point;
                PAIR from = SPREADS ? strengths[point] : grids[grid];
                want[2 * to] += k * (double)from.x;
                want[2 * to + 1] += k * (double)from.y;
            }
        }
    return want;
}

static void kernel(void)
{
#if SPREADS
    gpu_nufft_spread(job, records, table, strengths, grids);
#elif SLOPES
    gpu_nufft_slopes(job, records, table, grids, strengths);
#else
    gpu_nufft_interp(job, records, table, grids, strengths);
#endif
}

/* The relative error, over the precision; -1: no threads. */
double CASE(void);
double CASE(void)
{
    const u32 groups[2] = { (POINTS + RANGE - 1) / RANGE, (ALL + VECTORS - 1) / VECTORS };
    double bad = 0, all = 0;
    make();
    if (lanes_run(kernel, groups))
        return -1;
    double *want = expected();
    const PAIR *got = SPREADS ? grids : strengths;
    for (u64 i = 0; i < ALL * (SPREADS ? job.cells : POINTS * NUMBERS_OF_A_POINT); i++) {
        double re = (double)got[i].x - want[2 * i], im = (double)got[i].y - want[2 * i + 1];
        bad += re * re + im * im;
        all += want[2 * i] * want[2 * i] + want[2 * i + 1] * want[2 * i + 1];
    }
    free(want);
    free(grids);
    return sqrt(bad / all) / (PRECISION == 2 ? 0x1p-53 : 0x1p-24);
}
