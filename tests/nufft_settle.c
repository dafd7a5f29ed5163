/* nufft_settle - sorting many points on a GPU (backends/gpu/nufft/settle.cl), where there is none: the text, with lanes
 * that are threads (lanes.h), and the sums between its kernels made here. */
#include "tap.h"

#include "lanes.h"
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#include "nufft/settle.cl"

#define TURN 6.283185307179586
/* LESS: points of a tile, which has room for TILE. */
enum { POINTS = 3001, BUCKETS = (POINTS + BUCKET - 1) / BUCKET, MOST_KEYS = 280000, TAKEN = 5, LESS = 101 };

static struct gpu_nufft job = { .n_points = POINTS, .bins = { 1, 1 } };
static struct gpu_nufft_head head;
static struct gpu_nufft_bucket buckets[BUCKETS];
static struct record records[POINTS + 1]; /* something stands behind them, as on a device */
static POINT x[3][POINTS];
static u32 counts[MOST_KEYS], codes[MOST_KEYS], cursors[2 * BUCKETS];
static hcy_nufft_report report;
static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void count(void)
{
    gpu_nufft_count_many(job, x[0], x[1], x[2], counts, &head);
}
static void count_near(void)
{
    gpu_nufft_count_near(job, x[0], x[1], x[2], counts, &head);
}
static void cut(void)
{
    gpu_nufft_buckets(job, counts, codes, cursors, buckets);
}
static void part(void)
{
    gpu_nufft_part(job, LESS, BUCKETS, x[0], x[1], x[2], codes, cursors, records);
}
static void settle(void)
{
    gpu_nufft_settle(job, counts, buckets, &head, records, &report);
}

/* The key of a point, by itself. */
static u32 key_by_hand(u32 i)
{
    u32 cell[3];
    for (int d = 0; d < 3; d++) {
        double turns = x[d][i] / TURN - job.offset[d], c = ceil((turns - floor(turns)) * job.n[d]);
        cell[d] = c < job.n[d] ? (u32)c : 0;
    }
    return ((cell[1] / YB * job.bins[0] + cell[0] / XB) * job.slabs + cell[2] / ZS) >> job.coarse;
}

/* Many points at one place, in every `clump`-th; 2^coarse slabs a key. */
static void make(u32 cells, u32 clump, u32 coarse)
{
    job.coarse = coarse;
    job.n[0] = job.n[2] = cells;
    job.n[1] = 2 * YB;
    job.bins[0] = (cells + XB - 1) / XB;
    job.bins[1] = 2;
    job.slabs = (cells + ZS - 1) / ZS;
    job.n_keys = ((job.bins[1] * job.bins[0] * job.slabs - 1) >> coarse) + 1;
    for (int d = 0; d < 3; d++) {
        for (job.bits[d] = 0; 1u << job.bits[d] < job.n[d];)
            job.bits[d]++;
        job.offset[d] = 2.5 / job.n[d];
        job.scale[d] = ldexp(1, PLACES - (int)job.bits[d]);
    }
    for (u32 i = 0; i < POINTS; i++)
        for (int d = 0; d < 3; d++)
            x[d][i] = i % clump ? TURN * uniform() : 2;
}

/* Groups of the kernels, one after another, as gpu_nufft.c launches them. */
static int sorted(void)
{
    u32 sum = 0;
    memset(counts, 0, sizeof counts);
    memset(cursors, 0, sizeof cursors);
    memset(buckets, 0, sizeof buckets);
    memset(records, 0xff, sizeof records);
    head.first_bad = 0xffffffffu;
    bool few_keys = job.n_keys * 4 <= ROOM;
    int failed = lanes_run(few_keys ? count_near : count, (const u32[2]){ TAKEN, 1 });
    for (u32 k = 0; k < job.n_keys; k++) {
        u32 n = counts[k];
        counts[k] = sum;
        sum += n;
    }
    failed = failed || lanes_run(cut, (const u32[2]){ TAKEN, 1 });
    failed = failed || lanes_run(part, (const u32[2]){ (POINTS + LESS - 1) / LESS, 1 });
    return failed || lanes_run(settle, (const u32[2]){ BUCKETS, 1 });
}

static void check(u32 cells, u32 clump, u32 coarse, const char *what)
{
    static u8 seen[POINTS];
    static u32 of_key[MOST_KEYS];
    u32 twice = 0, down = 0, elsewhere = 0, most = 0, astray = 0, before = 0;
    make(cells, clump, coarse);
    if (sorted())
        bail_out("no threads");
    memset(seen, 0, sizeof seen);
    memset(of_key, 0, sizeof of_key);
    for (u32 i = 0; i < POINTS; i++) {
        u32 n = number_of(&records[i]), key = n < POINTS ? key_by_hand(n) : 0;
        twice += n >= POINTS || seen[n]++;
        down += key < most;
        most = key > most ? key : most;
        for (int d = 0; d < 3 && n < POINTS; d++) {
            double turns = x[d][n] / TURN - job.offset[d];
            double place = (double)place_on_axis(&records[i], d) * ldexp(1, (int)job.bits[d] - 64) / job.n[d];
            elsewhere += fabs(place - (turns - floor(turns))) > 1e-12;
        }
    }
    for (u32 i = 0; i < POINTS; i++)
        of_key[key_by_hand(i)]++;
    for (u32 k = 0; k < job.n_keys; before += of_key[k++])
        astray += counts[k] != before;
    ok(!twice, "%s, %u keys: every point is there once (%u are not)", what, job.n_keys, twice);
    ok(!down, "... in the order of keys (%u are not)", down);
    ok(!elsewhere, "... where it was (%u are not)", elsewhere);
    ok(!astray, "... and where keys begin is still known (of %u it is not)", astray);
    ok(report.first_bad == UINT64_MAX, "... and all are good");
}

int main(void)
{
    check(60, POINTS + 1, 0, "points anywhere");
    check(60, 2, 0, "half of them in one place");
    check(60, 1, 0, "all of them in one place");
    check(350, 3, 0, "more keys than a group has room for");
    check(900, 2, 0, "more keys than a bucket has room for");
    check(350, POINTS + 1, 3, "eight slabs a key");
    x[2][2222] = NAN;
    x[0][3000] = INFINITY;
    ok(!sorted() && report.first_bad == 2222, "the first of two wrong points is reported");
    const u64 place[3] = { UINT64_MAX << 11, (u64)1 << 63, 0 };
    const struct record r = record_of(place, 0xfedcba98u);
    ok(number_of(&r) == 0xfedcba98u && place_on_axis(&r, 0) == place[0] && place_on_axis(&r, 1) == place[1] &&
           !place_on_axis(&r, 2),
       "places and a number of 32 bits in one record");
    return done_testing();
}
