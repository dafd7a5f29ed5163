/* cts_buffer.c - conformance: memory of every kind, views, imports, fills, copies, rectangles. */
#include "cts.h"

#include <stdatomic.h>

static hcy_device *dev;
static hcy_queue *queue;

/* --- Buffers --- */

static const struct {
    int mem;
    const char *name;
    bool host;
} kinds[] = { { HCY_MEM_DEVICE, "device", false },
              { HCY_MEM_PINNED, "pinned", true },
              { HCY_MEM_MAPPED, "mapped", true } };
enum { N_KINDS = 3 };

static bool lacks(int mem)
{
    return mem == HCY_MEM_MAPPED && !cts_has(dev, HCY_CAP_MAPPED);
}

static void check_kind(int mem, const char *name, bool host)
{
    static const size_t sizes[] = { 1, 63, 64, 255, 256, 257, 4096, 100003, (size_t)3 << 20 };
    size_t right = 0, n = sizeof sizes / sizeof sizes[0];
    for (size_t i = 0; i < n; i++) {
        hcy_buffer *buf = NULL;
        unsigned char *data = cts_bytes(sizes[i], i), *got = calloc(1, sizes[i] + 1);
        int status = hcy_buffer_create(&buf, dev, mem, sizes[i]);
        if (!status)
            status = hcy_buffer_write_now(buf, 0, data, sizes[i]);
        if (!status)
            status = hcy_buffer_read_now(got, buf, 0, sizes[i]);
        void *p = hcy_buffer_host(buf);
        right += !status && !memcmp(data, got, sizes[i]) && hcy_buffer_size(buf) == sizes[i] &&
                 hcy_buffer_mem(buf) == mem && hcy_buffer_device(buf) == dev && (uintptr_t)p % 64 == 0 &&
                 (host ? p && !memcmp(p, data, sizes[i]) : !p == !cts_has(dev, HCY_CAP_HOST_MEMORY));
        hcy_buffer_release(buf);
        free(data);
        free(got);
    }
    is_int((intmax_t)right, (intmax_t)n, "%s memory of %zu sizes holds what was written", name, n);
}

static void test_kinds(void)
{
    hcy_buffer *buf = NULL;
    for (size_t i = 0; i < N_KINDS; i++)
        if (lacks(kinds[i].mem))
            st_is(hcy_buffer_create(&buf, dev, kinds[i].mem, 64), HCY_EUNSUPPORTED,
                  "no %s memory, as its capabilities say", kinds[i].name);
        else
            check_kind(kinds[i].mem, kinds[i].name, kinds[i].host);
}

static void test_refused_buffers(void)
{
    hcy_buffer *buf = NULL;
    st_is(hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, 0), HCY_EINVAL, "a buffer of 0 bytes is refused");
    st_is(hcy_buffer_create(&buf, dev, 0, 64), HCY_EINVAL, "and one of no kind");
    st_is(hcy_buffer_create(&buf, dev, 99, 64), HCY_EINVAL, "and one of an unknown kind");
    st_is(hcy_buffer_create(NULL, dev, HCY_MEM_DEVICE, 64), HCY_EINVAL, "and one without a place");
    st_is(hcy_buffer_create(&buf, NULL, HCY_MEM_DEVICE, 64), HCY_EINVAL, "and one without a device");
    static const size_t absurd[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 2, (size_t)1 << 62 };
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < N_KINDS; k++) {
            int status =
                lacks(kinds[k].mem) ? HCY_ENOMEM : hcy_buffer_create(&buf, dev, kinds[k].mem, absurd[i]);
            ok(status == HCY_ENOMEM || status == HCY_ERANGE,
               "%zu bytes of %s memory are a failure, no crash (%s)", absurd[i], kinds[k].name,
               hcy_status_name(status));
        }
    ok(!buf, "no buffer comes of any of these");
    hcy_buffer_release(NULL);
    ok(!hcy_buffer_size(NULL) && !hcy_buffer_host(NULL), "no buffer has no size and no address");
}

static void test_sub(void)
{
    unsigned char *data = cts_bytes(1000, 7), got[1000];
    hcy_buffer *root = cts_buffer(dev, 1000), *mid = NULL, *leaf = NULL;
    st_ok(hcy_buffer_write_now(root, 0, data, 1000), "a buffer is written");
    st_ok(hcy_buffer_sub(&mid, root, 100, 800), "a view of it");
    st_ok(hcy_buffer_sub(&leaf, mid, 11, 500), "a view of the view");
    is_int((intmax_t)hcy_buffer_size(leaf), 500, "has the size asked for");
    ok(hcy_buffer_device(leaf) == dev && hcy_buffer_mem(leaf) == HCY_MEM_DEVICE,
       "its parent's device and kind");
    if (hcy_buffer_host(root))
        ok((char *)hcy_buffer_host(leaf) == (char *)hcy_buffer_host(root) + 111, "and address");
    hcy_buffer_release(root);
    hcy_buffer_release(mid);
    memset(got, 0, sizeof got);
    st_ok(hcy_buffer_read_now(got, leaf, 0, 500), "a view keeps its parents");
    ok(!memcmp(got, data + 111, 500), "and shows their bytes");
    st_ok(hcy_buffer_write_now(leaf, 490, data, 10), "it can be written up to its end");
    st_is(hcy_buffer_write_now(leaf, 491, data, 10), HCY_ERANGE, "not past it, though its parent goes on");
    st_is(hcy_buffer_sub(&mid, leaf, 0, 501), HCY_ERANGE, "no view is larger than its parent");
    st_is(hcy_buffer_sub(&mid, leaf, 500, 1), HCY_ERANGE, "nor begins at its end");
    st_is(hcy_buffer_sub(&mid, leaf, SIZE_MAX, 2), HCY_ERANGE, "nor wraps around");
    st_is(hcy_buffer_sub(&mid, leaf, 2, SIZE_MAX), HCY_ERANGE, "in its size either");
    st_is(hcy_buffer_sub(&mid, leaf, 0, 0), HCY_EINVAL, "nor is empty");
    st_is(hcy_buffer_sub(&mid, NULL, 0, 1), HCY_EINVAL, "nor of nothing");
    hcy_buffer_release(leaf);
    free(data);
}

/* --- Imports --- */

static atomic_int done_calls;
static void done(void *payload)
{
    atomic_fetch_add(&done_calls, *(int *)payload);
}

static void test_import(void)
{
    enum { SIZE = 4096 };
    unsigned char *mine = NULL, got[SIZE];
    hcy_buffer *buf = NULL, *view = NULL, *other = cts_buffer(dev, SIZE);
    int one = 1;
    if (posix_memalign((void **)&mine, SIZE, SIZE))
        bail_out("out of memory");
    if (!cts_has(dev, HCY_CAP_IMPORT_HOST)) {
        st_is(hcy_buffer_import_host(&buf, dev, mine, SIZE, done, &one), HCY_EUNSUPPORTED,
              "no import, as its capabilities say");
        goto out;
    }
    unsigned char *data = cts_bytes(SIZE, 3);
    st_ok(hcy_buffer_import_host(&buf, dev, mine, SIZE, done, &one), "memory of the caller's is imported");
    is_int((intmax_t)hcy_buffer_size(buf), SIZE, "all of it");
    st_ok(hcy_buffer_write_now(buf, 0, data, SIZE), "it can be written");
    ok(!memcmp(mine, data, SIZE), "without a copy");
    mine[5] ^= 255;
    st_ok(hcy_buffer_read_now(got, buf, 0, SIZE), "and read");
    ok(!memcmp(got, mine, SIZE), "with what the caller put there meanwhile");
    st_ok(hcy_buffer_sub(&view, buf, 10, 100), "a view of it");
    st_ok(hcy_buffer_copy(queue, other, 0, buf, 0, SIZE), "a copy from it");
    hcy_buffer_release(buf);
    st_ok(hcy_queue_finish(queue), "has run");
    is_int(atomic_load(&done_calls), 0, "it is not done with while a view is left");
    hcy_buffer_release(view);
    is_int(atomic_load(&done_calls), 1, "then it is, once");
    st_ok(hcy_buffer_read_now(got, other, 0, SIZE), "the copy is read");
    ok(!memcmp(got, mine, SIZE), "and right");
    st_ok(hcy_buffer_import_host(&buf, dev, mine, SIZE, NULL, NULL), "nobody need be told");
    hcy_buffer_release(buf);
    st_is(hcy_buffer_import_host(&buf, dev, NULL, SIZE, NULL, NULL), HCY_EINVAL, "no address is refused");
    st_is(hcy_buffer_import_host(&buf, dev, mine, 0, done, &one), HCY_EINVAL, "and 0 bytes");
    is_int(atomic_load(&done_calls), 1, "and what was refused is not said to be done with");
    free(data);
out:
    if (!cts_has(dev, HCY_CAP_IMPORT_DEVICE))
        st_is(hcy_buffer_import_device(&buf, dev, 4096, 64, NULL, NULL), HCY_EUNSUPPORTED,
              "no import of device memory either");
    hcy_buffer_release(other);
    free(mine);
}

/* --- Ranges --- */

/* Memory that several buffers stand on: whoever is released takes nothing from the others. */
static void test_import_twice(void)
{
    enum { PAGE = 4096, SIZE = 4 * PAGE };
    unsigned char *mine = NULL;
    const unsigned char seven = 7;
    hcy_buffer *all = NULL, *part = NULL, *beside = NULL;
    if (!cts_has(dev, HCY_CAP_IMPORT_HOST))
        return;
    if (posix_memalign((void **)&mine, PAGE, 2 * SIZE))
        bail_out("out of memory");
    memset(mine, 1, 2 * SIZE);
    st_ok(hcy_buffer_import_host(&all, dev, mine, SIZE - 100, NULL, NULL), "memory that ends within a page");
    st_ok(hcy_buffer_import_host(&part, dev, mine + PAGE, SIZE - 100 - PAGE, NULL, NULL), "a part of it");
    hcy_buffer_release(all);
    st_ok(hcy_buffer_fill(queue, part, 0, SIZE - 100 - PAGE, &seven, 1), "which is left when the first is released");
    st_ok(hcy_queue_finish(queue), "for commands, too");
    ok(mine[PAGE] == 7 && mine[SIZE - 101] == 7 && mine[PAGE - 1] == 1, "and is the caller's memory");
    st_ok(hcy_buffer_import_host(&beside, dev, mine + SIZE - 100, 200, NULL, NULL), "memory beside it, on its page");
    hcy_buffer_release(beside);
    /* What lies in part on memory that is there already: a device takes all of it, or nothing. */
    int status = hcy_buffer_import_host(&beside, dev, mine + SIZE - 200, SIZE, NULL, NULL);
    ok(!status || status == HCY_EUNSUPPORTED, "memory that begins in it is taken, or refused (%s)",
       hcy_status_name(status));
    if (!status) {
        st_ok(hcy_buffer_fill(queue, beside, 0, SIZE, &seven, 1), "what is taken");
        st_ok(hcy_queue_finish(queue), "is filled");
        ok(mine[2 * SIZE - 201] == 7 && mine[2 * SIZE - 200] == 1, "all of it");
        hcy_buffer_release(beside);
    }
    hcy_buffer_release(part);
    st_ok(hcy_buffer_import_host(&beside, dev, mine + SIZE - 200, SIZE, NULL, NULL), "alone it is taken");
    hcy_buffer_release(beside);
    free(mine);
}

/* Memory that two devices have been lent, of which the first one to have it is closed. */
static void test_import_outlives(void)
{
    enum { SIZE = 8192 };
    const unsigned char seven = 7;
    unsigned char *mine = NULL;
    hcy_buffer *first = NULL, *second = NULL;
    hcy_device *other = cts_open_spec(cts_spec2);
    if (posix_memalign((void **)&mine, 4096, SIZE))
        bail_out("out of memory");
    if (cts_has(dev, HCY_CAP_IMPORT_HOST) && cts_has(other, HCY_CAP_IMPORT_HOST)) {
        int status = hcy_buffer_import_host(&first, other, mine, SIZE, NULL, NULL);
        st_ok(cts_first(status, hcy_buffer_import_host(&second, dev, mine, SIZE, NULL, NULL)), "memory for two devices");
    }
    hcy_buffer_release(first);
    hcy_device_release(other);
    if (second) {
        st_ok(hcy_buffer_fill(queue, second, 0, SIZE, &seven, 1), "one of which is closed");
        st_ok(hcy_queue_finish(queue), "... is there for the other");
        ok(mine[0] == 7 && mine[SIZE - 1] == 7, "... which writes to it");
    }
    hcy_buffer_release(second);
    free(mine);
}

static void test_ranges(void)
{
    unsigned char data[64] = { 0 };
    uint32_t zero = 0;
    hcy_buffer *a = cts_buffer(dev, 64), *b = cts_buffer(dev, 64);
    static const struct {
        size_t offset, size;
    } bad[] = { { 0, 65 },       { 64, 1 },           { 1, 64 }, { SIZE_MAX, 1 },
                { SIZE_MAX, 2 }, { 2, SIZE_MAX - 1 }, { 65, 0 } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t at = bad[i].offset, n = bad[i].size;
        st_is(hcy_buffer_write(queue, a, at, data, n), HCY_ERANGE, "no write of %zu at %zu", n, at);
        st_is(hcy_buffer_read(queue, data, a, at, n), HCY_ERANGE, "no read of %zu at %zu", n, at);
        st_is(hcy_buffer_copy(queue, a, at, b, 0, n), HCY_ERANGE, "no copy of %zu to %zu", n, at);
        st_is(hcy_buffer_copy(queue, a, 0, b, at, n), HCY_ERANGE, "no copy of %zu from %zu", n, at);
    }
    st_is(hcy_buffer_fill(queue, a, 0, 68, &zero, 4), HCY_ERANGE, "no fill past the end");
    st_is(hcy_buffer_fill(queue, a, SIZE_MAX - 3, 4, &zero, 4), HCY_ERANGE, "no fill around the end");
    st_ok(hcy_buffer_write(queue, a, 64, NULL, 0), "a write of nothing at the end is nothing");
    st_ok(hcy_buffer_read(queue, NULL, a, 64, 0), "and so is a read");
    st_ok(hcy_buffer_copy(queue, a, 64, b, 64, 0), "and a copy");
    st_ok(hcy_buffer_fill(queue, a, 64, 0, &zero, 4), "and a fill");
    st_is(hcy_buffer_write(queue, a, 0, NULL, 1), HCY_EINVAL, "a write from nowhere is refused");
    st_is(hcy_buffer_read(queue, NULL, a, 0, 1), HCY_EINVAL, "a read to nowhere too");
    st_is(hcy_buffer_write(queue, NULL, 0, data, 1), HCY_EINVAL, "no buffer");
    st_is(hcy_buffer_write(NULL, a, 0, data, 1), HCY_EINVAL, "no queue");
    st_is(hcy_buffer_copy(queue, a, 0, NULL, 0, 1), HCY_EINVAL, "no source");
    st_is(hcy_buffer_write_now(NULL, 0, data, 1), HCY_EINVAL, "no buffer, now");
    st_ok(hcy_queue_finish(queue), "none of this made the queue fail");
    hcy_buffer_release(a);
    hcy_buffer_release(b);
}

/* --- Fills and copies against memcpy --- */

static void test_fill(void)
{
    enum { SIZE = 3 * 8 * 64 };
    static const unsigned char pattern[8] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
    unsigned char before[SIZE], want[SIZE], got[SIZE];
    hcy_buffer *buf = cts_buffer(dev, SIZE);
    memset(before, 0xee, SIZE);
    for (size_t n = 1; n <= 8; n *= 2) {
        static const size_t counts[] = { 1, 2, 3, 7, 64, 130 };
        size_t right = 0;
        for (size_t c = 0; c < 6; c++) {
            size_t at = 5 * n;
            memcpy(want, before, SIZE);
            int status = hcy_buffer_write(queue, buf, 0, before, SIZE);
            for (size_t i = 0; i < counts[c] * n; i++)
                want[at + i] = pattern[i % n];
            status = cts_first(status, hcy_buffer_fill(queue, buf, at, counts[c] * n, pattern, n));
            status = cts_first(status, hcy_buffer_read(queue, got, buf, 0, SIZE));
            status = cts_first(status, hcy_queue_finish(queue));
            right += !status && !memcmp(want, got, SIZE);
        }
        is_int((intmax_t)right, 6, "fills with a pattern of %zu bytes", n);
    }
    st_is(hcy_buffer_fill(queue, buf, 0, 12, pattern, 3), HCY_EINVAL, "a pattern of 3 bytes is refused");
    st_is(hcy_buffer_fill(queue, buf, 0, 16, pattern, 16), HCY_EINVAL, "one of 16 too");
    st_is(hcy_buffer_fill(queue, buf, 0, 16, pattern, 0), HCY_EINVAL, "one of none too");
    st_is(hcy_buffer_fill(queue, buf, 0, 16, NULL, 4), HCY_EINVAL, "no pattern too");
    st_is(hcy_buffer_fill(queue, buf, 2, 16, pattern, 4), HCY_EINVAL,
          "an offset that is no multiple of the pattern too");
    st_is(hcy_buffer_fill(queue, buf, 4, 15, pattern, 4), HCY_EINVAL, "a size that is none too");
    hcy_buffer_release(buf);
}

/* Copies between buffers of `there` and ours, of every two kinds, in the direction that `queue` allows. */
static void check_copies(hcy_queue *q, hcy_device *from, hcy_device *to, const char *what)
{
    enum { SIZE = 70001 };
    unsigned char *data = cts_bytes(SIZE, 11), *got = malloc(SIZE);
    size_t right = 0, tried = 0;
    for (size_t i = 0; i < N_KINDS; i++)
        for (size_t k = 0; k < N_KINDS; k++) {
            hcy_buffer *a = NULL, *b = NULL;
            int status = hcy_buffer_create(&a, from, kinds[i].mem, SIZE);
            int second = hcy_buffer_create(&b, to, kinds[k].mem, SIZE);
            if (status != HCY_EUNSUPPORTED && second != HCY_EUNSUPPORTED) {
                unsigned char zero = 0;
                tried++;
                status = cts_first(status, second);
                status = cts_first(status, hcy_buffer_write_now(a, 0, data, SIZE));
                status = cts_first(status, hcy_buffer_write_now(b, 0, memset(got, 0, SIZE), SIZE));
                status = cts_first(status, hcy_buffer_copy(q, b, 13, a, 7, SIZE - 30));
                status = cts_first(status, hcy_queue_finish(q));
                status = cts_first(status, hcy_buffer_read_now(got, b, 0, SIZE));
                right += !status && !memcmp(got + 13, data + 7, SIZE - 30) && got[12] == zero &&
                         got[SIZE - 17] == zero;
            }
            hcy_buffer_release(a);
            hcy_buffer_release(b);
        }
    ok(tried && right == tried, "%s: copies between %zu pairs of kinds (%zu right)", what, tried, right);
    free(data);
    free(got);
}

static void test_copy(void)
{
    check_copies(queue, dev, dev, "on one device");
    hcy_buffer *buf = cts_buffer(dev, 100);
    st_is(hcy_buffer_copy(queue, buf, 10, buf, 0, 11), HCY_EINVAL, "an overlapping copy is refused");
    st_is(hcy_buffer_copy(queue, buf, 0, buf, 10, 11), HCY_EINVAL, "in either direction");
    st_is(hcy_buffer_copy(queue, buf, 5, buf, 5, 1), HCY_EINVAL, "and onto itself");
    hcy_buffer *a = NULL, *b = NULL;
    st_ok(hcy_buffer_sub(&a, buf, 0, 60), "a view");
    st_ok(hcy_buffer_sub(&b, buf, 50, 50), "and another that overlaps it");
    st_is(hcy_buffer_copy(queue, b, 0, a, 45, 10), HCY_EINVAL, "an overlap is seen through views");
    st_ok(hcy_buffer_copy(queue, b, 10, a, 40, 20), "what only touches does not overlap");
    st_ok(hcy_buffer_copy(queue, buf, 50, buf, 0, 50), "nor do two halves of a buffer");
    st_ok(hcy_queue_finish(queue), "and these copies run");
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_buffer_release(buf);
}

static void test_between_devices(void)
{
    static const char *const others[] = { NULL, "cpu", "null" };
    for (size_t i = 0; i < 3; i++) {
        const char *spec = others[i] ? others[i] : cts_spec2;
        char what[120];
        hcy_device *other = cts_open_spec(spec);
        hcy_queue *theirs = cts_queue(other);
        snprintf(what, sizeof what, "from %s to %s", cts_spec, spec);
        check_copies(queue, dev, other, what);
        snprintf(what, sizeof what, "from %s to %s, its queue", cts_spec, spec);
        check_copies(theirs, dev, other, what);
        snprintf(what, sizeof what, "from %s to %s", spec, cts_spec);
        check_copies(queue, other, dev, what);
        snprintf(what, sizeof what, "from %s to %s, its queue", spec, cts_spec);
        check_copies(theirs, other, dev, what);
        hcy_buffer *a = cts_buffer(dev, 64), *b = cts_buffer(other, 64);
        unsigned char data[64] = { 0 };
        st_is(hcy_buffer_write(theirs, a, 0, data, 64), HCY_EINVAL,
              "a write is for the queue's device alone");
        st_is(hcy_buffer_read(queue, data, b, 0, 64), HCY_EINVAL, "a read too");
        st_is(hcy_buffer_fill(theirs, a, 0, 64, data, 1), HCY_EINVAL, "a fill too");
        st_is(hcy_buffer_copy(theirs, a, 0, a, 32, 8), HCY_EINVAL,
              "a copy needs one end on the queue's device");
        hcy_buffer_release(a);
        hcy_buffer_release(b);
        hcy_queue_release(theirs);
        hcy_device_release(other);
    }
}

/* --- Rectangles --- */

static void reference_rect(unsigned char *dst, const hcy_rect *d, const unsigned char *src, const hcy_rect *s,
                           const size_t extent[3])
{
    for (size_t z = 0; z < extent[2]; z++)
        for (size_t y = 0; y < extent[1]; y++)
            memcpy(dst + d->offset + z * d->slice_stride + y * d->row_stride,
                   src + s->offset + z * s->slice_stride + y * s->row_stride, extent[0]);
}

static void test_rect(hcy_device *from, hcy_device *to, const char *what)
{
    enum { SIZE = 20000 };
    static const struct {
        hcy_rect d, s;
        size_t extent[3];
    } cases[] = {
        { { 3, 0, 0 }, { 9, 0, 0 }, { 1000, 1, 1 } },   { { 0, 10, 0 }, { 0, 10, 0 }, { 10, 20, 1 } },
        { { 5, 33, 0 }, { 1, 17, 0 }, { 16, 30, 1 } },  { { 5, 17, 700 }, { 1, 33, 1100 }, { 16, 30, 7 } },
        { { 0, 8, 80 }, { 0, 8, 80 }, { 8, 10, 10 } },  { { 2, 1, 64 }, { 7, 3, 99 }, { 1, 30, 20 } },
        { { 0, 0, 100 }, { 0, 0, 61 }, { 60, 1, 40 } },
    };
    unsigned char *data = cts_bytes(SIZE, 21), *want = malloc(SIZE), *got = malloc(SIZE);
    hcy_buffer *a = cts_buffer(from, SIZE), *b = cts_buffer(to, SIZE), *va = NULL, *vb = NULL;
    st_ok(hcy_buffer_write_now(a, 0, data, SIZE), "the source is written");
    st_ok(hcy_buffer_sub(&va, a, 100, SIZE - 100), "the source as a view");
    st_ok(hcy_buffer_sub(&vb, b, 200, SIZE - 200), "the destination as a view");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(want, 0xaa, SIZE);
        int status = hcy_buffer_write_now(b, 0, want, SIZE);
        reference_rect(want + 200, &cases[i].d, data + 100, &cases[i].s, cases[i].extent);
        status =
            cts_first(status, hcy_buffer_copy_rect(queue, vb, &cases[i].d, va, &cases[i].s, cases[i].extent));
        status = cts_first(status, hcy_queue_finish(queue));
        status = cts_first(status, hcy_buffer_read_now(got, b, 0, SIZE));
        st_ok(status, "%s: rectangle %zu is copied", what, i);
        ok(!memcmp(want, got, SIZE), "%s: rectangle %zu is what memcpy makes of it", what, i);
    }
    hcy_buffer_release(va);
    hcy_buffer_release(vb);
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    free(data);
    free(want);
    free(got);
}

static void test_refused_rects(void)
{
    hcy_buffer *a = cts_buffer(dev, 1000), *b = cts_buffer(dev, 1000);
    const hcy_rect good = { 0, 10, 100 };
    static const struct {
        hcy_rect rect;
        size_t extent[3];
        int status;
        const char *what;
    } bad[] = {
        { { 0, 9, 100 }, { 10, 2, 1 }, HCY_EINVAL, "rows that overlap" },
        { { 0, 10, 19 }, { 10, 2, 2 }, HCY_EINVAL, "slices that overlap" },
        { { 0, 10, 100 }, { 10, 10, 11 }, HCY_ERANGE, "a rectangle past the end" },
        { { 1, 10, 100 }, { 10, 10, 10 }, HCY_ERANGE, "a rectangle moved past the end" },
        { { SIZE_MAX, 10, 100 }, { 10, 1, 1 }, HCY_ERANGE, "an offset that wraps around" },
        { { 0, SIZE_MAX, 100 }, { 10, 3, 1 }, HCY_ERANGE, "a row stride that wraps around" },
        { { 0, 10, SIZE_MAX / 2 + 1 }, { 10, 1, 3 }, HCY_ERANGE, "a slice stride that wraps around" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        st_is(hcy_buffer_copy_rect(queue, a, &bad[i].rect, b, &good, bad[i].extent), bad[i].status, "%s, to",
              bad[i].what);
        st_is(hcy_buffer_copy_rect(queue, a, &good, b, &bad[i].rect, bad[i].extent), bad[i].status,
              "%s, from", bad[i].what);
    }
    const size_t extent[3] = { 10, 5, 1 }, nothing[3] = { 10, 0, 3 }, huge[3] = { SIZE_MAX, 1, 1 };
    const hcy_rect inside = { 25, 10, 100 }, behind = { 50, 10, 100 };
    st_is(hcy_buffer_copy_rect(queue, a, &inside, a, &good, extent), HCY_EINVAL,
          "rectangles that overlap in one buffer");
    st_ok(hcy_buffer_copy_rect(queue, a, &behind, a, &good, extent), "rectangles one behind the other");
    st_ok(hcy_buffer_copy_rect(queue, a, &good, b, &good, nothing), "a rectangle of nothing is nothing");
    st_is(hcy_buffer_copy_rect(queue, a, &good, b, &good, huge), HCY_ERANGE, "a row larger than memory");
    st_is(hcy_buffer_copy_rect(queue, a, NULL, b, &good, extent), HCY_EINVAL, "no rectangle");
    st_is(hcy_buffer_copy_rect(queue, a, &good, b, &good, NULL), HCY_EINVAL, "no extent");
    st_ok(hcy_queue_finish(queue), "none of this made the queue fail");
    hcy_buffer_release(a);
    hcy_buffer_release(b);
}

/* Two that are named alike are told apart. */
static void test_opened_twice(void)
{
    hcy_device *again = NULL;
    hcy_queue *there = NULL;
    hcy_buffer *buf = NULL;
    char byte = 0;
    int status = hcy_device_open(&again, cts_spec);
    if (!status)
        status = hcy_queue_create(&there, again);
    st_ok(hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, 64), "a buffer");
    if (status || again == dev)
        skip(1, "%s is opened once", cts_spec);
    else
        st_says(hcy_buffer_read(there, &byte, buf, 0, 1), HCY_EINVAL, "opened twice",
                "a queue of the same device, opened once more, does not reach it");
    hcy_buffer_release(buf);
    hcy_queue_release(there);
    hcy_device_release(again);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    test_kinds();
    test_refused_buffers();
    test_sub();
    test_import();
    test_import_twice();
    test_import_outlives();
    test_ranges();
    test_fill();
    test_copy();
    test_between_devices();
    test_opened_twice();
    test_rect(dev, dev, "one device");
    hcy_device *other = cts_open_spec(cts_spec2);
    test_rect(dev, other, "two devices");
    test_refused_rects();
    hcy_device_release(other);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
