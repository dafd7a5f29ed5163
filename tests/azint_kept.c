/* azint_kept - the CPU's strips on disk: the same come back, mapped; what is damaged, another plan's, or made by
 * somebody who knows the format is not taken, and replaced. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise() of cache_map.h */
#endif
#include "azint/cpu_azint.h"
#include "cache_map.h"

#include <fcntl.h>
#include <halcyon/azint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

enum { SIDE = 600, BINS = 500 };

static char folder[] = "/tmp/halcyon-kept-XXXXXX", file[600];
static struct cpu_pool *pool;

/* What the library is told, where the system's own word is not what is wanted. */
static uint64_t memory_left;
static int on_network;
uint64_t __real_hcy_memory_left(void);
uint64_t __wrap_hcy_memory_left(void);
uint64_t __wrap_hcy_memory_left(void)
{
    return memory_left ? memory_left : __real_hcy_memory_left();
}
#ifdef __linux__
int __real_fstatfs(int fd, struct statfs *on);
int __wrap_fstatfs(int fd, struct statfs *on);
int __wrap_fstatfs(int fd, struct statfs *on)
{
    int rc = __real_fstatfs(fd, on);
    on->f_type = on_network ? 0x6969 : on->f_type; /* NFS */
    return rc;
}
#endif

/* A plan that is kept in the folder, and its tables. */
static hcy_azint_plan *make_plan(hcy_span spans[HCY_AZINT_SPANS_KEPT], double dist, size_t side)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan;
    poni.dist = dist;
    poni.poni1 = poni.poni2 = 30e-3;
    poni.rot1 = 0.05;
    poni.wavelength = 1e-10;
    poni.pixel1 = poni.pixel2 = 1e-4;
    o.npt = BINS;
    o.split = HCY_SPLIT_FULL;
    o.cache = folder;
    if (hcy_azint_plan_create(&plan, &poni, side, side, &o))
        bail_out("%s", hcy_last_error()->text);
    hcy_azint_plan_tables_kept(spans, plan);
    snprintf(file, sizeof file, "%.*s-cpu", (int)spans[HCY_AZINT_SPANS].size, (const char *)spans[HCY_AZINT_SPANS].data);
    return plan;
}

static struct azint_plan *prepare(const hcy_span *spans, size_t n, size_t *size)
{
    void *blob;
    if (azint_prepare_strips(&blob, size, pool, spans, n))
        bail_out("%s", hcy_last_error()->text);
    return blob;
}

/* Prepared, which may keep it, and dropped. */
static void drop(const hcy_span *spans, size_t n)
{
    size_t size;
    struct azint_plan *plan = prepare(spans, n, &size);
    cpu_blob_free(plan, size);
}

static int same_table(const struct azint_plan *a, uint64_t at, const struct azint_plan *b, uint64_t there, size_t n)
{
    return !memcmp(azint_at(a, at), azint_at(b, there), n);
}

/* Strips stand in any order. */
static int same(const struct azint_plan *a, const struct azint_plan *b)
{
    int equal = a->n_strips == b->n_strips && a->unit == b->unit && a->runs == b->runs && a->norms == b->norms &&
                same_table(a, a->live, b, b->live, a->n_strips * AZINT_STRIP_BYTES + AZINT_PAD);
    for (size_t s = 0; equal && s < a->n_strips; s++) {
        const struct azint_strip *x = azint_strip_at(a, s), *y = azint_strip_at(b, s);
        equal = x->n_entries == y->n_entries && x->n_segs == y->n_segs &&
                same_table(a, x->index, b, y->index, 2 * (size_t)x->n_entries + AZINT_PAD) &&
                same_table(a, x->weights, b, y->weights, 12 * (size_t)x->n_entries + AZINT_PAD) &&
                same_table(a, x->segs, b, y->segs, x->n_segs * sizeof(struct azint_seg)) &&
                same_table(a, x->blocks, b, y->blocks, azint_block_words(BINS) * sizeof(uint64_t));
    }
    return equal;
}

/* Is what is kept taken, and like `want`? */
static int is_taken(const hcy_span *spans, const struct azint_plan *want)
{
    void *blob;
    size_t size;
    int taken = azint_kept(&blob, &size, pool, spans, HCY_AZINT_SPANS_KEPT);
    int equal = taken && same(want, blob);
    if (taken) {
        /* Nobody else sees what this process writes. */
        memset((uint8_t *)blob + azint_strip_at(blob, 0)->index, 0xff, 64);
        cpu_blob_free(blob, size);
    }
    return taken ? (equal ? 1 : -1) : 0;
}

static void test_again(const hcy_span *spans, const struct azint_plan *want)
{
    struct stat is;
    drop(spans, HCY_AZINT_SPANS);
    ok(access(file, F_OK), "without a name for it nothing is kept");
    drop(spans, HCY_AZINT_SPANS_KEPT);
    ok(!stat(file, &is) && (is.st_mode & 0777) == 0444, "strips are kept, and nobody may write to them");
    is_int(is_taken(spans, want), 1, "the same come back");
    is_int(is_taken(spans, want), 1, "and again, after somebody has written to their memory");
    ok(!chmod(file, 0644) && !is_taken(spans, want), "a file that may be written to is not mapped");
    (void)chmod(file, 0444);
}

/* Where it would not be taken the next time, it is not written every time. */
static void test_no_use(const hcy_span *spans, size_t size)
{
    char mib[24];
    const size_t least = 2 * (size + 65536);
    (void)unlink(file);
    on_network = 1;
    drop(spans, HCY_AZINT_SPANS_KEPT);
    on_network = 0;
    ok(access(file, F_OK), "where nobody may map it nothing is kept");
    snprintf(mib, sizeof mib, "%zu", (least - 1) >> 20);
    setenv("HALCYON_CACHE_SIZE", mib, 1);
    drop(spans, HCY_AZINT_SPANS_KEPT);
    ok(access(file, F_OK), "nor is what takes more than half of %s MiB", mib);
    snprintf(mib, sizeof mib, "%zu", (least >> 20) + 1);
    setenv("HALCYON_CACHE_SIZE", mib, 1);
    drop(spans, HCY_AZINT_SPANS_KEPT);
    ok(!access(file, F_OK), "half of %s MiB it may take", mib);
    unsetenv("HALCYON_CACHE_SIZE");
}

/* A file is taken where its plan would have been built, and what is done without strips is no failure. */
static void test_memory(const hcy_span *spans, const struct azint_plan *want, size_t size)
{
    hcy_span larger[HCY_AZINT_SPANS_KEPT];
    size_t few;
    void *blob;
    memory_left = size - 1;
    is_int(is_taken(spans, want), 0, "a file that does not fit into memory is not taken");
    memory_left = size;
    is_int(is_taken(spans, want), 1, "one that does is");
    memory_left = 0;
    hcy_azint_plan *plan = make_plan(larger, 0.1, 2 * SIDE);
    drop(larger, HCY_AZINT_SPANS_KEPT);
    memory_left = 1 << 20;
    (void)hcy_fail(HCY_EIO, "before");
    int status = azint_prepare(&blob, &few, pool, CPU_SIMD_PORTABLE, larger, HCY_AZINT_SPANS_KEPT);
    memory_left = 0;
    ok(!status && ((struct azint_plan *)blob)->direct, "without memory a plan is that for a few frames, file or not");
    ok(hcy_last_error()->status == HCY_EIO && !strcmp(hcy_last_error()->text, "before"), "which is no failure");
    if (!status)
        cpu_blob_free(blob, few);
    hcy_azint_plan_release(plan);
}

/* Whatever was done to the file, it is not taken; it is replaced, and then it is. */
static int is_replaced(const hcy_span *spans, const struct azint_plan *want)
{
    size_t size = 0;
    int taken = is_taken(spans, want);
    struct azint_plan *made = prepare(spans, HCY_AZINT_SPANS_KEPT, &size);
    int equal = same(want, made);
    cpu_blob_free(made, size);
    int then = is_taken(spans, want);
    if (taken || !equal || then != 1)
        diag("taken %d, equal %d, then %d", taken, equal, then);
    return !taken && equal && then == 1;
}

static void damage(long at, int bit)
{
    FILE *f = chmod(file, 0644) ? NULL : fopen(file, "r+b");
    int c;
    if (!f || fseek(f, at, at < 0 ? SEEK_END : SEEK_SET) || (c = fgetc(f)) < 0 || fseek(f, -1, SEEK_CUR) ||
        fputc(c ^ 1 << bit, f) < 0 || fclose(f) || chmod(file, 0444))
        bail_out("%s cannot be damaged", file);
}

/* To so many bytes, if it is negative; else longer by them. */
static void cut(off_t more)
{
    struct stat is;
    if (stat(file, &is) || chmod(file, 0644) || truncate(file, more > 0 ? is.st_size + more : -more) ||
        chmod(file, 0444))
        bail_out("%s cannot be cut short", file);
}

static void test_damage(const hcy_span *spans, const struct azint_plan *want)
{
    static const long places[] = { 0,  8,  12,  16,  24,    32,    40,    56,     80,
                                   88, 96, 104, 108, 65536, 65600, 70000, 500000, -1 };
    enum { N = sizeof places / sizeof places[0] };
    int right = 0, tried = 0;
    for (size_t i = 0; i < N; i += TAP_THREAD_SANITIZER ? 6 : 1, tried++) {
        damage(places[i], (int)i % 8);
        right += is_replaced(spans, want);
    }
    is_int(right, tried, "a bit anywhere in a file: it is passed over and replaced");
    cut(-100000);
    ok(is_replaced(spans, want), "a file cut short");
    cut(-20);
    ok(is_replaced(spans, want), "in its head");
    cut(64);
    ok(is_replaced(spans, want), "one that is too long");
}

/* --- Somebody who knows the format, and sums --- */

static struct azint_strip *strip_of(struct azint_plan *p)
{
    return (struct azint_strip *)((uint8_t *)p + p->strips) + 3;
}
static struct azint_seg *seg_of(struct azint_plan *p)
{
    return (struct azint_seg *)((uint8_t *)p + strip_of(p)->segs) + 5;
}
static void bin_too_high(struct azint_plan *p) { seg_of(p)->bin = BINS; }
static void bin_not_named(struct azint_plan *p)
{
    uint64_t *blocks = (uint64_t *)((uint8_t *)p + strip_of(p)->blocks);
    *blocks &= ~((uint64_t)1 << seg_of(p)->bin / AZINT_BLOCK_BINS);
}
static void bins_too_many(struct azint_plan *p)
{
    *(uint64_t *)((uint8_t *)p + strip_of(p)->blocks) |= (uint64_t)1 << ((BINS - 1) / AZINT_BLOCK_BINS + 1);
}
static void end_too_far(struct azint_plan *p) { seg_of(p)->end = strip_of(p)->n_entries + 7; }
static void end_before(struct azint_plan *p) { seg_of(p)->end = 1; }
static void chunk_too_long(struct azint_plan *p) { seg_of(p)->end = seg_of(p)[-1].end + AZINT_CHUNK + 1; }
static void group_too_high(struct azint_plan *p)
{
    ((uint16_t *)((uint8_t *)p + strip_of(p)->index))[9] = AZINT_STRIP / 4;
}
static void entries_too_many(struct azint_plan *p) { strip_of(p)->n_entries = UINT32_MAX; }
static void segments_too_many(struct azint_plan *p) { strip_of(p)->n_segs = UINT32_MAX; }
static void place_too_far(struct azint_plan *p) { strip_of(p)->weights = UINT64_MAX - 63; }
static void place_askew(struct azint_plan *p) { strip_of(p)->index += 2; }
/* To where pixels are learnt. */
static void place_in_head(struct azint_plan *p)
{
    uint64_t at = p->learnt + azint_learnt_of(p)->rows;
    memcpy((uint8_t *)p + at, azint_at(p, strip_of(p)->segs), strip_of(p)->n_segs * sizeof(struct azint_seg));
    strip_of(p)->segs = at;
}
static void pixel_behind(struct azint_plan *p)
{
    ((uint8_t *)p + p->live)[p->n_pixels / 8] |= 0x80;
}

static void test_forged(const hcy_span *spans, const struct azint_plan *want, size_t size)
{
    static const struct {
        const char *name;
        void (*forge)(struct azint_plan *);
    } all[] = { { "a bin there is not", bin_too_high }, { "a bin that its strip does not name", bin_not_named },
                { "names of bins there are not", bins_too_many }, { "a segment beyond the entries", end_too_far },
                { "one that ends before it begins", end_before }, { "one of two chunks", chunk_too_long },
                { "a group of another strip", group_too_high }, { "more entries than there are", entries_too_many },
                { "more segments", segments_too_many }, { "a table beyond the file", place_too_far },
                { "one that is not aligned", place_askew },
                { "one in the head", place_in_head }, { "a pixel behind the last", pixel_behind } };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct azint_plan *copy = cpu_blob_alloc(size);
        memcpy(copy, want, size);
        all[i].forge(copy);
        azint_keep(pool, spans, HCY_AZINT_SPANS_KEPT, copy, size);
        ok(is_replaced(spans, want), "with a right sum: %s", all[i].name);
        cpu_blob_free(copy, size);
    }
}

/* A pixel behind the last one, of the last strip, has no norm to be read. */
static void test_behind(const hcy_span *spans, const struct azint_plan *want, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = spans[3].size, whole = (bytes + page - 1) / page * page;
    hcy_span edge[HCY_AZINT_SPANS_KEPT];
    struct azint_plan *copy = cpu_blob_alloc(size);
    uint8_t *norms = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *blob = NULL;
    if (norms == MAP_FAILED || mprotect(norms + whole, page, PROT_NONE))
        bail_out("no memory");
    memcpy(copy, want, size);
    ((uint16_t *)((uint8_t *)copy + azint_strip_at(copy, copy->n_strips - 1)->index))[0] = AZINT_STRIP / 4 - 1;
    azint_keep(pool, spans, HCY_AZINT_SPANS_KEPT, copy, size);
    cpu_blob_free(copy, size);
    memcpy(edge, spans, sizeof edge);
    edge[3].data = memcpy(norms + whole - bytes, spans[3].data, bytes);
    int status = azint_deviation_prepare(&blob, &size, pool, CPU_SIMD_PORTABLE, edge, HCY_AZINT_SPANS_KEPT);
    ok(!status, "the norms of a group behind the last pixel are not looked up");
    if (!status)
        cpu_blob_free(blob, size);
    munmap(norms, whole + page);
    (void)unlink(file);
}

/* The spans of one plan, and what was kept of another. */
static void test_other(const hcy_span *spans, const struct azint_plan *want)
{
    hcy_span others[HCY_AZINT_SPANS_KEPT];
    hcy_azint_plan *other = make_plan(others, 0.11, SIDE);
    others[HCY_AZINT_SPANS] = spans[HCY_AZINT_SPANS];
    is_int(is_taken(others, want), 0, "another plan's are not taken");
    hcy_azint_plan_release(other);
    other = make_plan(others, 0.1, 64);
    drop(others, HCY_AZINT_SPANS_KEPT);
    ok(access(file, F_OK), "those of a small plan are not kept");
    hcy_azint_plan_release(other);
    memcpy(others, spans, sizeof others);
    others[HCY_AZINT_SPANS] = (hcy_span){ "/proc/at/all", 12 };
    drop(others, HCY_AZINT_SPANS_KEPT);
    ok(1, "a folder that cannot be written is no failure");
}

/* Does what is kept in the folder stay? */
static int can_map(void)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY), stays = fd >= 0 && hcy__cache_stays(fd);
    close(fd);
    return stays;
}

int main(void)
{
    hcy_span spans[HCY_AZINT_SPANS_KEPT];
    char command[100];
    size_t size;
    if (!mkdtemp(folder) || cpu_pool_create(&pool, 2, NULL, 0))
        bail_out("no folder, or no threads");
    hcy_azint_plan *plan = make_plan(spans, 0.1, SIDE);
    struct azint_plan *want = prepare(spans, HCY_AZINT_SPANS, &size);
    if (!can_map()) {
        skip(1, "files in /tmp are not mapped: their file system, or kernel, is not one of those");
    } else {
        test_again(spans, want);
        test_damage(spans, want);
        test_forged(spans, want, size);
        test_no_use(spans, size);
        test_memory(spans, want, size);
        test_behind(spans, want, size);
        test_other(spans, want);
    }
    cpu_blob_free(want, size);
    hcy_azint_plan_release(plan);
    cpu_pool_destroy(pool);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    is_int(system(command), 0, "cleaned up");
    return done_testing();
}
