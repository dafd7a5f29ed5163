/* cache_read.c - a cached plan's tables into memory of the process's own, by several threads, and whether they hold
 * together.
 *
 * They are read, not mapped: a file that is cut short while it is mapped ends the process that looks at it.  With their
 * sum they are what was written, unless somebody wrote a sum as well: then at least no device is given runs that do not
 * end where the next ones begin, or that name bins there are not.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise() */
#include "cache_sum.h"
#include "thread.h"

#include <errno.h>
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
    int fd;
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
    size_t first = piece * AZINT_PIECE, n = t->size - first < AZINT_PIECE ? t->size - first : AZINT_PIECE;
    struct azint_lines lines = azint_lines_of(piece);

    if (read_tables(t, first, n))
        return -1;
    /* Summed while it is still in the processor's cache. */
    azint_lines_add(&lines, t->data + first, n);
    t->sums[piece] = azint_lines_sum(&lines);
    return 0;
}

int hcy__azint_cache_tables(uint64_t *sum, uint8_t *data, size_t size, int fd, size_t at, size_t threads)
{
    size_t n = (size + AZINT_PIECE - 1) / AZINT_PIECE;
    struct tables t = { data, size, at, fd, calloc(n + 1, sizeof(uint64_t)) };
    int bad = !t.sums || hcy__azint_do_pieces(n, threads, do_piece, &t);

    if (!bad)
        *sum = azint_pieces_sum(t.sums, n);
    free(t.sums);
    return bad ? -1 : 0;
}

/* Large pages, where there are any: half the time of the reading is in making small ones. */
uint8_t *hcy__azint_cache_memory(hcy_azint_plan *plan, size_t size)
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

static int check_segments(void *context, size_t piece)
{
    const hcy_azint_plan *p = context;
    size_t n = (p->head.n_pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY;
    size_t end = (piece + 1) * SEGMENTS < n ? (piece + 1) * SEGMENTS : n, i = piece * SEGMENTS;
    struct azint_segments s;

    while (i < end) {
        size_t m = end - i < 4 ? end - i : 4;
        int whole = m == 4 && (i + 4) * HCY_AZINT_START_EVERY <= p->head.n_pixels;

        if (whole && azint_segments_at(&s, p->runs, p->run_bytes, p->starts + i) && s.last <= p->head.n_bins) {
            i += 4;
            continue;
        }
        while (m--)
            if (!segment_is_sound(p, i++))
                return -1;
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
