/* cache.c - plans on disk: written when they were made, read when the same is asked for again.
 *
 * A file holds one plan, under the name of its key: the hash of everything that enters the plan and of the
 * versions of the library and of the format.  A file that is not what it should be - another key, another size,
 * a sum that differs, runs that do not hold together - is ignored, and replaced by the plan that is then made.  That
 * the cache cannot be written is no failure.
 */
#define _GNU_SOURCE /* madvise() of cache_map.h */
#include "azint_priv.h"
#include "cache_map.h"

#include <fcntl.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 5u
#define N_SECTIONS 6

struct file_head {
    char magic[8];
    uint32_t format, bytes; /* of this structure */
    uint64_t size, sum;     /* of the file; of all but this number */
    struct azint_hash key, hash;
    hcy_azint_head head;
    uint64_t n_masked, run_bytes;
    double min, max, azimuth_min, azimuth_max, least_norm;
};
static const char magic[8] = "hcyplan";

struct section {
    void **data;
    size_t size, offset;
};

/* Lists the memory that a plan's creation made, with its place in a file; returns the file's size. */
static size_t place_sections(struct section s[N_SECTIONS], hcy_azint_plan *p)
{
    size_t n = p->head.n_pixels, at = (sizeof(struct file_head) + HCY__LINE - 1) / HCY__LINE * HCY__LINE;
    /* The arrays' order is the format: whoever changes it raises FORMAT. */
    const struct section list[N_SECTIONS] = {
        { (void **)&p->radial, (p->options.npt + p->options.npt_azim) * sizeof(double), 0 },
        { (void **)&p->bin_norms, p->head.n_bins * sizeof(*p->bin_norms), 0 },
        { (void **)&p->extra, p->extra ? p->head.n_bins * sizeof(*p->extra) : 0, 0 },
        { (void **)&p->starts, ((n + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1) * sizeof(uint64_t), 0 },
        { (void **)&p->norms, n * sizeof(float), 0 },
        { (void **)&p->runs, p->run_bytes, 0 },
    };

    for (int i = 0; i < N_SECTIONS; i++) {
        s[i] = list[i];
        /* Each begins on a line of its own, so that the sums, which go by whole lines, cover it with its
         * padding. */
        s[i].offset = at;
        at += (s[i].size + HCY__LINE - 1) / HCY__LINE * HCY__LINE;
    }
    return at;
}

/* The sum of a head, with the sum of its tables in the place of its own. */
static uint64_t sum_head(const struct file_head *head, uint64_t tables)
{
    struct file_head h = *head;
    struct azint_hash hash = AZINT_HASH_INIT;

    h.sum = tables;
    hcy__azint_hash(&hash, &h, sizeof h);
    return hash.a;
}

static void path_of(char *path, size_t size, const char *folder, const struct azint_hash *key, const char *ending)
{
    snprintf(path, size, "%s/%016llx%016llx%s", folder, (unsigned long long)key->a, (unsigned long long)key->b,
             ending);
}

/* The plan is in the cache, in `bytes`: what devices make of its tables may be kept beside it, if both have room there.
 * The folder is that of now, wherever the process goes until then. */
static void keep_tables(hcy_azint_plan *plan, const char *folder, const struct azint_hash *key, uint64_t bytes)
{
    char path[4096], *whole = bytes <= hcy_cache_limit() / 2 ? realpath(folder, NULL) : NULL;
    struct stat is;

    if (!whole)
        return;
    path_of(path, sizeof path, whole, key, ".tables");
    if (strlen(path) + 1 < sizeof path && !stat(whole, &is)) {
        plan->kept_since = is.st_mtim;
        plan->kept = strdup(path);
    }
    free(whole);
}

void hcy__azint_cache_leave(hcy_azint_plan *plan)
{
    struct stat is;

    /* Whoever kept something has changed the folder, and did not look at what else is in it. */
    if (plan->kept) {
        *strrchr(plan->kept, '/') = 0;
        if (!stat(plan->kept, &is) && (is.st_mtim.tv_sec != plan->kept_since.tv_sec ||
                                       is.st_mtim.tv_nsec != plan->kept_since.tv_nsec))
            hcy__azint_cache_prune(plan->kept);
    }
    free(plan->kept);
}

static void set_head(struct file_head *h, const hcy_azint_plan *p, const struct azint_hash *key, size_t size)
{
    /* Padding is zero, for the sum covers the bytes of the structure. */
    memset(h, 0, sizeof(*h));
    memcpy(h->magic, magic, sizeof magic);
    h->format = FORMAT;
    h->bytes = sizeof(*h);
    h->size = size;
    h->key = *key;
    h->hash = p->full_hash;
    h->head = p->head;
    h->n_masked = p->n_masked;
    h->run_bytes = p->run_bytes;
    h->min = p->min;
    h->max = p->max;
    h->azimuth_min = p->azimuth_min;
    h->azimuth_max = p->azimuth_max;
    h->least_norm = p->least_norm;
}

/* --- Reading --- */

/* Is it the head of the plan that is looked for?  Then `found` is that, but for its tables. */
static int head_fits(hcy_azint_plan *found, const struct file_head *h, const struct azint_hash *key)
{
    struct section s[N_SECTIONS];
    hcy_azint_head head = h->head;

    if (memcmp(h->magic, magic, sizeof magic) || h->format != FORMAT || h->bytes != sizeof *h ||
        memcmp(&h->key, key, sizeof *key) || h->run_bytes > h->size)
        return 0;
    /* What the creation of the tables finds out is the file's to say; all else must be what the caller
     * asked for. */
    head.n_weights = found->head.n_weights;
    head.hash = found->head.hash;
    if (memcmp(&head, &found->head, sizeof head))
        return 0;
    found->head = h->head;
    found->full_hash = h->hash;
    found->run_bytes = (size_t)h->run_bytes;
    found->n_masked = (size_t)h->n_masked;
    found->min = h->min;
    found->max = h->max;
    found->azimuth_min = h->azimuth_min;
    found->azimuth_max = h->azimuth_max;
    found->least_norm = h->least_norm;
    /* The file's own numbers decide how long it must be, so no section can lie beyond its end. */
    return place_sections(s, found) == h->size;
}

/* Reads the tables behind a head that fits, and makes them the plan's. */
static int take_tables(hcy_azint_plan *p, int fd, const struct file_head *h, const struct azint_hash *key,
                       size_t threads)
{
    struct section old[N_SECTIONS], s[N_SECTIONS];
    hcy_azint_plan found = *p;
    uint64_t sum;

    if (!head_fits(&found, h, key))
        return -1;
    place_sections(s, &found);
    size_t first = s[0].offset, size = (size_t)h->size - first;
    uint8_t *data = hcy__azint_cache_tables(&sum, &found, fd, first, size, threads);
    if (!data)
        return -1;
    for (int i = 0; i < N_SECTIONS; i++)
        *s[i].data = s[i].size ? data + (s[i].offset - first) : NULL;
    found.azimuthal = found.radial + found.options.npt;
    /* The plan is not touched before everything was read and proved. */
    if (h->sum != sum_head(h, sum) || hcy__azint_cache_check(&found, threads)) {
        hcy__azint_cache_free(&found);
        return -1;
    }
    /* What the creation had allocated gives way to what was read. */
    place_sections(old, p);
    for (int i = 0; i < N_SECTIONS; i++)
        free(*old[i].data);
    *p = found;
    return 0;
}

int hcy__azint_cache_load(hcy_azint_plan *plan, const char *folder, const struct azint_hash *key, size_t threads)
{
    char path[4096];
    struct stat st;
    struct file_head h;
    int rc = -1;

    int fd;

    path_of(path, sizeof path, folder, key, ".plan");
    if (hcy_cache_open(&fd, path))
        return -1;
    if (!fstat(fd, &st) && pread(fd, &h, sizeof h, 0) == sizeof h &&
        h.size == (uint64_t)st.st_size)
        rc = take_tables(plan, fd, &h, key, threads);
    close(fd);
    if (rc)
        return rc;
    (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now: see cache_prune.c */
    keep_tables(plan, folder, key, h.size);
    return 0;
}

/* --- Writing --- */

/* A plan on its way to a file. */
struct save {
    struct section sections[N_SECTIONS];
    hcy_output *output;
    size_t first, end; /* the tables' place */
    uint64_t *sums;    /* of pieces */
};

/* What a section has between two lines of the file, with zeros up to the end of its last line. */
static int save_section(struct hcy__lines *lines, const struct save *save, const struct section *s, size_t from,
                        size_t to)
{
    uint8_t last[HCY__LINE] = { 0 };
    size_t begin = s->offset > from ? s->offset : from, end = s->offset + s->size < to ? s->offset + s->size : to;

    if (begin >= end)
        return 0;
    const uint8_t *data = (const uint8_t *)*s->data + (begin - s->offset);
    size_t whole = (end - begin) / HCY__LINE * HCY__LINE, rest = end - begin - whole;
    hcy__lines_add(lines, data, whole);
    int status = hcy_output_write(save->output, data, whole, begin);
    if (!rest)
        return status;
    memcpy(last, data + whole, rest);
    hcy__lines_add(lines, last, sizeof last);
    return status ? status : hcy_output_write(save->output, last, sizeof last, begin + whole);
}

static int save_piece(void *context, size_t piece)
{
    const struct save *save = context;
    size_t from = save->first + piece * HCY__PIECE, left = save->end - from;
    size_t to = from + (left < HCY__PIECE ? left : HCY__PIECE);
    struct hcy__lines lines = hcy__lines_of(piece);
    int status = 0;

    for (int i = 0; !status && i < N_SECTIONS; i++)
        status = save_section(&lines, save, &save->sections[i], from, to);
    save->sums[piece] = hcy__lines_sum(&lines);
    return status;
}

/* The tables from where they lie, by several threads, then the head with their sum. */
static int save_plan(struct save *save, hcy_azint_plan *plan, const struct azint_hash *key, size_t threads)
{
    struct file_head h;
    size_t n = (save->end - save->first + HCY__PIECE - 1) / HCY__PIECE;

    save->sums = calloc(n, sizeof *save->sums);
    int failed = !save->sums || hcy__azint_do_pieces(n, threads, save_piece, save);
    set_head(&h, plan, key, save->end);
    if (!failed)
        h.sum = sum_head(&h, hcy_cache_sum(save->sums, n * sizeof *save->sums));
    free(save->sums);
    return failed ? HCY_EIO : hcy_output_write(save->output, &h, sizeof h, 0);
}

void hcy__azint_cache_save(hcy_azint_plan *plan, const char *folder, const struct azint_hash *key, size_t threads)
{
    char path[4096];
    struct save save;
    hcy_error before = *hcy_last_error(); /* that a plan is not kept is nobody's failure */

    path_of(path, sizeof path, folder, key, ".plan");
    save.end = place_sections(save.sections, plan);
    save.first = save.sections[0].offset;
    /* A name that was cut off would be another file's; a plan above the limit would push out all others
     * and itself. */
    if (strlen(path) + 1 == sizeof path || save.end > hcy_cache_limit())
        return;
    /* It is written beside and renamed, so that a reader sees all of it or nothing. */
    if (!hcy_cache_begin(&save.output, path) &&
        !hcy_cache_end(save.output, save_plan(&save, plan, key, threads))) {
        hcy__azint_cache_prune(folder);
        keep_tables(plan, folder, key, save.end);
    }
    hcy_fail_again(&before);
}
