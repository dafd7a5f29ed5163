/* ways.c - the ways from a file to the memory that devices copy from, variant by variant: bytes a second, and what they
 * cost the processors, which parse and integrate meanwhile.
 *
 *     bench/ways FILE [PIECE [THREADS]]
 *
 * FILE is read in pieces of PIECE bytes (2360347, about an EIGER 4M's coded frame), which begin anywhere, as chunks
 * in a file do.  Each thread takes the next piece, brings it to one of its places (whole pages, huge ones where the
 * system has them) and looks at a byte of each 4096, as taking a chunk apart does; 1, 2, 4 ... of them, at
 * most THREADS (the processors).
 *
 *     pread      straight to its place
 *     passage    pread to memory that stays in the caches, and from there past them
 *     map        from a mapping of the file, past the caches
 *     populate   the same, the pages of each piece asked for at once (MAP_POPULATE), and given back
 *     direct     O_DIRECT, the whole pages around it
 *     uring      io_uring, DEPTH pieces of a thread on their way
 *     uring+direct  the same by O_DIRECT
 *     uring+fixed   ... to memory that the kernel was shown before
 *
 * First nothing of the file is in the page cache (what somebody keeps there is said; of a file that one may not write
 * the system says nothing else), then all of it.  Each line's
 * pieces must be those of pread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_DIRECT, MAP_POPULATE */
#endif
#include "bench.h"
#include <halcyon/backend.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DEPTH = 8, MOST_THREADS = 64 };
#define PAGE ((size_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)

static const char *path;
static size_t piece = 2360347, file_size, n_pieces, place_size;
static uint8_t *places, *mapping; /* DEPTH places a thread */
static int buffered, direct = -1; /* direct -1: the file system has none */
static atomic_size_t next;

struct reader {
    size_t index, in_flight;
    uint64_t sum;
    uint8_t *passage;
    /* io_uring's: its queues as the kernel and this thread see them */
    int ring, file, fixed;
    unsigned *tail, *mask, *array, *done_head, *done_tail, *done_mask;
    struct io_uring_sqe *entries;
    struct io_uring_cqe *done;
};

static void give_up(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", path, what, strerror(errno));
    exit(1);
}

static uint8_t *place_of(const struct reader *r, size_t i)
{
    return places + (r->index * DEPTH + i % DEPTH) * place_size;
}

/* The pieces do not come in order, so what is made of them must not depend on it. */
static void look_at(struct reader *r, size_t number, const uint8_t *at)
{
    uint64_t sum = number + 1;
    for (size_t i = 0; i < piece; i += 4096)
        sum = (sum ^ at[i]) * 0x9e3779b97f4a7c15u;
    r->sum += (sum ^ at[piece - 1]) * 0x9e3779b97f4a7c15u;
}

/* --- The ways of one piece --- */

static void read_whole(int fd, uint8_t *to, size_t size, size_t at)
{
    /* The last pages of a file end where it does. */
    for (size_t got = 0; got < size && at + got < file_size;) {
        ssize_t n = pread(fd, to + got, size - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            give_up("read");
        got += (size_t)n;
    }
}

static void by_pread(struct reader *r, size_t number, uint8_t *to)
{
    read_whole(buffered, to, piece, number * piece);
    look_at(r, number, to);
}

static void by_passage(struct reader *r, size_t number, uint8_t *to)
{
    read_whole(buffered, r->passage, piece, number * piece);
    hcy_copy_past_caches(to, r->passage, piece);
    look_at(r, number, r->passage);
}

static void by_map(struct reader *r, size_t number, uint8_t *to)
{
    const uint8_t *from = mapping + number * piece;
    hcy_copy_past_caches(to, from, piece);
    look_at(r, number, from);
}

/* Whole pages around a piece: where they begin, and how many bytes that is. */
static size_t around(size_t *size, size_t number)
{
    const size_t begin = number * piece / PAGE * PAGE;
    *size = (number * piece + piece - begin + PAGE - 1) / PAGE * PAGE;
    return begin;
}

static void by_populate(struct reader *r, size_t number, uint8_t *to)
{
    size_t size, begin = around(&size, number);
    uint8_t *map = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, buffered, (off_t)begin);
    if (map == MAP_FAILED)
        give_up("map");
    const uint8_t *from = map + (number * piece - begin);
    hcy_copy_past_caches(to, from, piece);
    look_at(r, number, from);
    munmap(map, size);
}

static void by_direct(struct reader *r, size_t number, uint8_t *to)
{
    size_t size, begin = around(&size, number);
    read_whole(direct, to, size, begin);
    look_at(r, number, to + (number * piece - begin));
}

/* --- io_uring, without a library --- */

static void *map_queue(const struct reader *r, size_t size, off_t which)
{
    void *queue = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->ring, which);
    if (queue == MAP_FAILED)
        give_up("io_uring's queue");
    return queue;
}

/* An ordinary user may lock little memory, and containers have no rings: that is said in place of a line's figures. */
static int open_ring(struct reader *r)
{
    struct io_uring_params p = { 0 };
    struct iovec memory = { place_of(r, 0), DEPTH * place_size };
    r->ring = (int)syscall(SYS_io_uring_setup, DEPTH, &p);
    if (r->ring < 0)
        return errno;
    uint8_t *sq = map_queue(r, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    uint8_t *cq = map_queue(r, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    r->entries = map_queue(r, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
    r->tail = (unsigned *)(sq + p.sq_off.tail);
    r->mask = (unsigned *)(sq + p.sq_off.ring_mask);
    r->array = (unsigned *)(sq + p.sq_off.array);
    r->done_head = (unsigned *)(cq + p.cq_off.head);
    r->done_tail = (unsigned *)(cq + p.cq_off.tail);
    r->done_mask = (unsigned *)(cq + p.cq_off.ring_mask);
    r->done = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
    return r->fixed && syscall(SYS_io_uring_register, r->ring, IORING_REGISTER_BUFFERS, &memory, 1) ? errno : 0;
}

static void ask_for(struct reader *r, size_t number, size_t place)
{
    size_t size = piece, begin = number * piece;
    if (r->file == direct)
        begin = around(&size, number);
    const unsigned tail = *r->tail, at = tail & *r->mask;
    r->entries[at] = (struct io_uring_sqe){ .opcode = r->fixed ? IORING_OP_READ_FIXED : IORING_OP_READ,
                                            .fd = r->file,
                                            .addr = (uint64_t)(uintptr_t)place_of(r, place),
                                            .len = (unsigned)size,
                                            .off = begin,
                                            .user_data = number * DEPTH + place };
    r->array[at] = at;
    __atomic_store_n(r->tail, tail + 1, __ATOMIC_RELEASE);
    r->in_flight++;
}

/* A piece that is there; one that came in part is read to its end. */
static size_t take_done(struct reader *r)
{
    const unsigned head = *r->done_head;
    const struct io_uring_cqe *c = &r->done[head & *r->done_mask];
    const size_t number = c->user_data / DEPTH, place = c->user_data % DEPTH;
    size_t size = piece, begin = number * piece, from = 0;
    if (c->res < 0) {
        errno = -c->res;
        give_up("io_uring's read");
    }
    if (r->file == direct) {
        begin = around(&size, number);
        from = number * piece - begin;
    }
    const size_t got = (size_t)c->res / PAGE * PAGE;
    if ((size_t)c->res < size && begin + (size_t)c->res < file_size)
        read_whole(r->file, place_of(r, place) + got, size - got, begin + got);
    __atomic_store_n(r->done_head, head + 1, __ATOMIC_RELEASE);
    r->in_flight--;
    look_at(r, number, place_of(r, place) + from);
    return place;
}

static atomic_int ring_refused; /* errno's number */

static void read_by_ring(struct reader *r)
{
    unsigned asked = 0;
    const int refused = open_ring(r);
    if (refused)
        atomic_store(&ring_refused, refused);
    for (size_t number; !refused && asked < DEPTH && (number = atomic_fetch_add(&next, 1)) < n_pieces; asked++)
        ask_for(r, number, asked);
    while (r->in_flight) {
        if (syscall(SYS_io_uring_enter, r->ring, asked, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
            give_up("io_uring");
        for (asked = 0; *r->done_head != __atomic_load_n(r->done_tail, __ATOMIC_ACQUIRE);) {
            const size_t place = take_done(r), number = atomic_fetch_add(&next, 1);
            if (number < n_pieces) {
                ask_for(r, number, place);
                asked++;
            }
        }
    }
    if (r->ring >= 0)
        close(r->ring); /* its queues stay mapped until the end, a few pages a line */
}

/* --- A line of figures --- */

static const struct way {
    const char *name;
    void (*bring)(struct reader *r, size_t number, uint8_t *to); /* NULL: io_uring */
    int direct, fixed;
} ways[] = {
    { "pread", by_pread, 0, 0 },       { "passage", by_passage, 0, 0 }, { "map", by_map, 0, 0 },
    { "populate", by_populate, 0, 0 }, { "direct", by_direct, 1, 0 },   { "uring", NULL, 0, 0 },
    { "uring+direct", NULL, 1, 0 },    { "uring+fixed", NULL, 1, 1 },
};

static const struct way *way;

static void *read_pieces(void *arg)
{
    struct reader *r = arg;
    if (!way->bring) {
        r->file = way->direct ? direct : buffered;
        r->fixed = way->fixed;
        read_by_ring(r);
        return NULL;
    }
    r->passage = bench_need(aligned_alloc(PAGE, place_size));
    for (size_t i = 0, number; (number = atomic_fetch_add(&next, 1)) < n_pieces; i++)
        way->bring(r, number, place_of(r, i));
    free(r->passage);
    return NULL;
}

static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void map_whole(void)
{
    mapping = mmap(NULL, file_size, PROT_READ, MAP_SHARED, buffered, 0);
    if (mapping == MAP_FAILED)
        give_up("map");
}

/* Empties the page cache, which keeps pages that are mapped; the share of the file that is still there. */
static double empty_cache(void)
{
    const size_t pages = (file_size + PAGE - 1) / PAGE;
    unsigned char *there = bench_need(malloc(pages));
    size_t n = 0;
    /* What was written a moment ago stays otherwise. */
    if (fdatasync(buffered) || posix_fadvise(buffered, 0, 0, POSIX_FADV_DONTNEED))
        give_up("page cache");
    map_whole();
    if (mincore(mapping, file_size, there))
        give_up("page cache");
    munmap(mapping, file_size);
    for (size_t i = 0; i < pages; i++)
        n += there[i] & 1;
    free(there);
    return (double)n / (double)pages;
}

static void fill_cache(void)
{
    for (size_t i = 0; i < n_pieces; i++)
        read_whole(buffered, places, piece, i * piece);
}

static void measure(size_t n, int cold)
{
    struct reader readers[MOST_THREADS] = { { 0 } };
    pthread_t threads[MOST_THREADS];
    static uint64_t expected;
    uint64_t sum = 0;
    double kept = 0;
    if (cold)
        kept = empty_cache();
    else
        fill_cache();
    atomic_store(&next, 0);
    map_whole();
    double start = timer_now(), before = processor_seconds();
    for (size_t i = 0; i < n; i++) {
        readers[i].index = i;
        bench_need(pthread_create(&threads[i], NULL, read_pieces, &readers[i]) ? NULL : threads);
    }
    for (size_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        sum += readers[i].sum;
    }
    const double seconds = timer_now() - start, used = processor_seconds() - before;
    munmap(mapping, file_size);
    const int refused = atomic_exchange(&ring_refused, 0);
    if (refused) {
        printf("%-5s %-13s %2zu threads not to be had: %s\n", cold ? "disk" : "cache", way->name, n, strerror(refused));
        return;
    }
    const double gb = 1e-9 * (double)(n_pieces * piece);
    expected = expected ? expected : sum;
    printf("%-5s %-13s %2zu threads %7.2f GB/s %8.0f pieces/s   %.3f s of processors a GB%s", cold ? "disk" : "cache",
           way->name, n, gb / seconds, (double)n_pieces / seconds, used / gb,
           sum == expected ? "" : "   WRONG");
    if (kept > 0.01)
        printf(", %.0f %% of it in the cache", 100 * kept);
    putchar('\n');
    if (sum != expected)
        exit(1);
}

int main(int argc, char **argv)
{
    double bytes = (double)piece, threads = (double)hcy_processors();
    if (argc < 2 || argc > 4 || (argc > 2 && !bench_number(&bytes, argv[2], 1)) ||
        (argc > 3 && !bench_number(&threads, argv[3], 1))) {
        fprintf(stderr, "usage: %s FILE [PIECE [THREADS]]\n", argv[0]);
        return 2;
    }
    path = argv[1];
    piece = (size_t)bytes;
    size_t most = (size_t)threads;
    most = most < MOST_THREADS ? most : MOST_THREADS;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if ((buffered = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        give_up("open");
    direct = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    file_size = (size_t)lseek(buffered, 0, SEEK_END);
    n_pieces = file_size / piece;
    struct stat kind;
    if (fstat(buffered, &kind) || S_ISDIR(kind.st_mode) || !n_pieces) {
        fprintf(stderr, "%s is a folder, or has no piece of %zu bytes\n", path, piece);
        return 2;
    }
    place_size = (piece / PAGE + 3) * PAGE;
    const size_t room = (most * DEPTH * place_size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    places = bench_need(aligned_alloc(HUGE_PAGE, room));
    madvise(places, room, MADV_HUGEPAGE);
    memset(places, 0, room);
    for (int cold = 1; cold >= 0; cold--)
        for (way = ways; way < ways + sizeof ways / sizeof ways[0]; way++)
            for (size_t n = 1; n <= most && !(way->direct && direct < 0); n *= 2)
                measure(n, cold);
    return 0;
}
