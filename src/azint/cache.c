/* cache.c - plans on disk: written when they were made, mapped when the same is asked for again.
 *
 * A file holds one plan, under the name of its key: the hash of everything that enters the plan and of the
 * versions of the library and of the format.  A file that is not what it should be - another key, another size,
 * a sum that differs - is ignored, and replaced by the plan that is then made.  That the cache cannot be written is
 * no failure.
 */
#include "azint_priv.h"

#include <fcntl.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 1u
#define ALIGN  64u
#define N_SECTIONS 6

struct file_head {
    char magic[8];
    uint32_t format, bytes; /* of this structure */
    uint64_t size, sum;     /* of the file; of all but this number */
    struct azint_hash key, hash;
    hcy_azint_head head;
    uint64_t n_masked, run_bytes;
    double min, max, azimuth_min, azimuth_max;
};
static const char magic[8] = "hcyplan";

struct section {
    void **data;
    size_t size, offset;
};

/* What a plan keeps in memory that its creation made; returns the file's size. */
static size_t lay_out(struct section s[N_SECTIONS], hcy_azint_plan *p)
{
    size_t n = p->head.n_pixels, at = (sizeof(struct file_head) + ALIGN - 1) / ALIGN * ALIGN;
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
        s[i].offset = at;
        at += (s[i].size + ALIGN - 1) / ALIGN * ALIGN;
    }
    return at;
}

/* Of whole 64-byte lines, eight words at a time; any change of one word changes it. */
static uint64_t sum_lines(const uint8_t *p, size_t size, uint64_t seed)
{
    uint64_t lane[8], w[8];

    for (unsigned k = 0; k < 8; k++)
        lane[k] = seed + k;
    for (; size >= sizeof w; p += sizeof w, size -= sizeof w) {
        memcpy(w, p, sizeof w);
        for (unsigned k = 0; k < 8; k++)
            lane[k] = (lane[k] ^ w[k]) * 0x9e3779b97f4a7c15u;
    }
    for (unsigned k = 1; k < 8; k++)
        lane[0] = (lane[0] ^ lane[k] >> 29) * 0x9e3779b97f4a7c15u + lane[k];
    return lane[0];
}

static uint64_t sum_of(const struct file_head *head, const uint8_t *sections, size_t size)
{
    struct file_head h = *head;
    struct azint_hash hash = AZINT_HASH_INIT;

    h.sum = 0;
    hcy__azint_hash(&hash, &h, sizeof h);
    return sum_lines(sections, size, hash.a);
}

static void path_of(char *path, size_t size, const char *folder, const struct azint_hash *key)
{
    snprintf(path, size, "%s/%016llx%016llx.plan", folder, (unsigned long long)key->a,
             (unsigned long long)key->b);
}

static void set_head(struct file_head *h, const hcy_azint_plan *p, const struct azint_hash *key, size_t size)
{
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
}

/* --- Reading --- */

/* The plan in a mapped file, if it is the one that is looked for. */
static int take(hcy_azint_plan *p, uint8_t *map, size_t size, const struct azint_hash *key)
{
    struct section s[N_SECTIONS];
    struct file_head h;
    hcy_azint_plan found = *p;

    if (size < sizeof h)
        return -1;
    memcpy(&h, map, sizeof h);
    found.run_bytes = (size_t)h.run_bytes;
    if (memcmp(h.magic, magic, sizeof magic) || h.format != FORMAT || h.bytes != sizeof h || h.size != size ||
        memcmp(&h.key, key, sizeof *key) || h.run_bytes > size || h.head.version != p->head.version ||
        h.head.n_bins != p->head.n_bins || h.head.n_pixels != p->head.n_pixels || lay_out(s, &found) != size)
        return -1;
    if (h.sum != sum_of(&h, map + s[0].offset, size - s[0].offset))
        return -1;
    p->run_bytes = found.run_bytes;
    p->head = h.head;
    p->full_hash = h.hash;
    p->n_masked = (size_t)h.n_masked;
    p->min = h.min;
    p->max = h.max;
    p->azimuth_min = h.azimuth_min;
    p->azimuth_max = h.azimuth_max;
    lay_out(s, p);
    for (int i = 0; i < N_SECTIONS; i++) {
        free(*s[i].data);
        *s[i].data = s[i].size ? map + s[i].offset : NULL;
    }
    p->azimuthal = p->radial + p->options.npt;
    p->map = map;
    p->map_size = size;
    return 0;
}

int hcy__azint_cache_load(hcy_azint_plan *plan, const char *folder, const struct azint_hash *key)
{
    char path[4096];
    struct stat st;
    void *map = MAP_FAILED;
    int fd, rc = -1;

    path_of(path, sizeof path, folder, key);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        rc = take(plan, map, (size_t)st.st_size, key);
    if (!rc)
        (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now: see cache_prune.c */
    else if (map != MAP_FAILED)
        munmap(map, (size_t)st.st_size);
    return rc;
}

void hcy__azint_cache_unmap(hcy_azint_plan *plan)
{
    munmap(plan->map, plan->map_size);
}

/* --- Writing --- */

/* The file as it is to be, in memory (NULL: there is none left): some tens of megabytes, once a plan. */
static uint8_t *make_image(size_t *size, hcy_azint_plan *plan, const struct azint_hash *key)
{
    struct section s[N_SECTIONS];
    struct file_head h;
    *size = lay_out(s, plan);
    uint8_t *image = calloc(1, *size);

    if (!image)
        return NULL;
    set_head(&h, plan, key, *size);
    for (int i = 0; i < N_SECTIONS; i++) {
        if (s[i].size)
            memcpy(image + s[i].offset, *s[i].data, s[i].size);
    }
    h.sum = sum_of(&h, image + s[0].offset, *size - s[0].offset);
    memcpy(image, &h, sizeof h);
    return image;
}

void hcy__azint_cache_save(hcy_azint_plan *plan, const char *folder, const struct azint_hash *key)
{
    char path[4096];
    struct section s[N_SECTIONS];
    size_t size;

    path_of(path, sizeof path, folder, key);
    if (strlen(path) + 1 == sizeof path || lay_out(s, plan) > hcy__azint_cache_limit())
        return;
    uint8_t *image = make_image(&size, plan, key);
    if (image && !hcy_cache_write(path, image, size, NULL, 0))
        hcy__azint_cache_prune(folder);
    free(image);
}
