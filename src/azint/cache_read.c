/* cache_read.c - a cached plan's tables, mapped or read, by several threads, and whether they hold together.
 *
 * Which files are mapped, and why not all: cache_map.h.
 *
 * With their sum the tables are what was written, unless somebody wrote a sum as well: then at least no device is given
 * runs that do not end where the next ones begin, or that name bins there are not.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise() */
#include "azint_priv.h"
#include "cache_map.h"
#include "share_loops.h"
#include "thread.h"

#include <errno.h>
#include <halcyon/backend.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEGMENTS    8192u             /* starts that are checked at once */
#define HUGE_PAGE   ((size_t)2 << 20)
#define MAX_THREADS 8u

/* --- Threads --- */

struct pieces {
    int (*work)(void *context, size_t piece); /* 0: go on */
    void *context;
    size_t n;
    atomic_size_t next;
    atomic_int failed;
};

static void *take_pieces(void *arg)
{
    struct pieces *p = arg;

    for (size_t i; !atomic_load(&p->failed) && (i = atomic_fetch_add(&p->next, 1)) < p->n;)
        if (p->work(p->context, i))
            atomic_store(&p->failed, 1);
    return NULL;
}

int hcy__azint_do_pieces(size_t n, size_t threads, int (*work)(void *context, size_t piece), void *context)
{
    struct pieces p = { .work = work, .context = context, .n = n };
    pthread_t others[MAX_THREADS];
    size_t started = 0;

    threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    /* A thread for less than two pieces costs more to start than it saves. */
    threads = threads < n / 2 ? threads : n / 2;
    while (started + 1 < threads && !hcy__thread_create(&others[started], take_pieces, &p))
        started++;
    take_pieces(&p);
    while (started)
        pthread_join(others[--started], NULL);
    return atomic_load(&p.failed);
}

/* --- Bytes --- */

struct tables {
    uint8_t *data;
    size_t size, at; /* at: in the file */
    int fd, mapped;
    uint64_t *sums;
};

static int read_tables(const struct tables *t, size_t first, size_t n)
{
    while (n) {
        ssize_t got = pread(t->fd, t->data + first, n, (off_t)(t->at + first));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        first += (size_t)got;
        n -= (size_t)got;
    }
    return 0;
}

static int do_piece(void *context, size_t piece)
{
    const struct tables *t = context;
    size_t first = piece * HCY__PIECE, n = t->size - first < HCY__PIECE ? t->size - first : HCY__PIECE;
    struct hcy__lines lines = hcy__lines_of(piece);

    if (t->mapped ? hcy__cache_fetch(t->data + first, n) : read_tables(t, first, n))
        return -1;
    /* Summed while it is still in the processor's cache. */
    hcy__lines_add(&lines, t->data + first, n);
    t->sums[piece] = hcy__lines_sum(&lines);
    return 0;
}

/* Large pages, where there are any: half the time of the reading is in making small ones. */
static uint8_t *make_memory(hcy_azint_plan *plan, size_t size)
{
    size_t room = size + HUGE_PAGE;
    uint8_t *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    plan->map = memory;
    plan->map_size = room;
    /* The kernel gives large pages only where they are aligned; `room` has one more to allow for that. */
    memory += HUGE_PAGE - 1 - ((uintptr_t)memory + HUGE_PAGE - 1) % HUGE_PAGE;
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, size, MADV_HUGEPAGE);
#endif
    return memory;
}

/* A page that is written to, as the bins' counts of an unweighted mean are, is this plan's own from then on. */
static uint8_t *map_file(hcy_azint_plan *plan, int fd, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

    if (memory == MAP_FAILED)
        return NULL;
    plan->map = memory;
    plan->map_size = size;
    return memory;
}

static int sum_tables(uint64_t *sum, struct tables *t, size_t threads)
{
    size_t n = (t->size + HCY__PIECE - 1) / HCY__PIECE;
    int bad;

    t->sums = calloc(n + 1, sizeof *t->sums);
    bad = !t->sums || hcy__azint_do_pieces(n, threads, do_piece, t);
    if (!bad)
        *sum = hcy_cache_sum(t->sums, n * sizeof *t->sums);
    free(t->sums);
    return bad;
}

uint8_t *hcy__azint_cache_tables(uint64_t *sum, hcy_azint_plan *plan, int fd, size_t at, size_t size, size_t threads)
{
    for (int mapped = hcy__cache_can_map(fd); mapped >= 0; mapped--) {
        uint8_t *memory = mapped ? map_file(plan, fd, at + size) : make_memory(plan, size);
        struct tables t = { memory + (mapped ? at : 0), size, at, fd, mapped, NULL };

        if (memory && !sum_tables(sum, &t, threads))
            return t.data;
        if (memory)
            hcy__azint_cache_free(plan);
    }
    return NULL;
}

void hcy__azint_cache_free(hcy_azint_plan *plan)
{
    munmap(plan->map, plan->map_size);
    plan->map = NULL;
}

/* --- Runs --- */

/* Do all runs of one pixel hold together?  Then *at is behind them. */
static int pixel_is_sound(const hcy_azint_plan *p, size_t *at)
{
    struct azint_run run;

    do {
        if (!azint_run_next(&run, at, p->runs, p->run_bytes, p->head.n_bins))
            return 0;
    } while (run.more);
    return 1;
}

/* Does segment i end where the next one begins, so that devices which start in the middle see the same runs? */
static int segment_is_sound(const hcy_azint_plan *p, size_t i)
{
    size_t at = p->starts[i], pixel = i * HCY_AZINT_START_EVERY, n = p->head.n_pixels - pixel;

    /* The last segment may have fewer pixels than the others. */
    n = n < HCY_AZINT_START_EVERY ? n : HCY_AZINT_START_EVERY;
    for (size_t j = 0; j < n; j++)
        if (!pixel_is_sound(p, &at))
            return 0;
    return at == p->starts[i + 1];
}

/* How many segments from i on, of `most` whole ones, are seen to be sound together; 0: none. */
static size_t sound_together(const hcy_azint_plan *p, const struct azint_loops *loops, size_t i, size_t most)
{
    const uint64_t *starts = p->starts + i;
    struct azint_segments s;

    if (most >= 8 && loops->end_of_eight && loops->end_of_eight(p->runs, p->run_bytes, starts) <= p->head.n_bins)
        return 8;
    return most >= 4 && azint_segments_at(&s, p->runs, p->run_bytes, starts) && s.last <= p->head.n_bins ? 4 : 0;
}

static int check_segments(void *context, size_t piece)
{
    const hcy_azint_plan *p = context;
    const struct azint_loops *loops = hcy__azint_loops();
    const size_t whole = p->head.n_pixels / HCY_AZINT_START_EVERY;
    size_t n = (p->head.n_pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY;
    size_t end = (piece + 1) * SEGMENTS < n ? (piece + 1) * SEGMENTS : n, i = piece * SEGMENTS;

    while (i < end) {
        size_t left = end - i, sound = sound_together(p, loops, i, end <= whole ? left : left - 1);

        for (size_t m = left < 4 ? left : 4; !sound && m--;)
            if (!segment_is_sound(p, i++))
                return -1;
        i += sound;
    }
    return 0;
}

int hcy__azint_cache_check(hcy_azint_plan *p, size_t threads)
{
    size_t n = (p->head.n_pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY;

    /* With the ends fixed and each segment ending at the next start, every byte of the runs belongs to one
     * pixel. */
    if (p->starts[0] || p->starts[n] != p->run_bytes)
        return -1;
    return hcy__azint_do_pieces((n + SEGMENTS - 1) / SEGMENTS, threads, check_segments, p);
}
