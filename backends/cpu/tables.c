/* tables.c - tables that kernels prepare, shared by devices: the same spans are prepared once.
 *
 * Spans stay where they are as long as what was prepared from them (the families say so), so their addresses name
 * them.  Who asks while they are being prepared waits.  Devices tied to cores have tables of their own, in memory
 * near those, but for what is mapped from a file: that is where it was read first.  One list a process,
 * under a lock.
 */
#include "cpu_priv.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPANS = 8 };

struct tables {
    struct tables *next;
    cpu_prepare_fn prepare;
    enum cpu_simd simd;
    hcy_span spans[MOST_SPANS];
    size_t n, size;
    void *blob; /* NULL: being prepared */
    unsigned refs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct tables *all;

/* [lock] */
static struct tables *find_tables(const struct tables *like)
{
    struct tables *t = all;
    while (t && (t->prepare != like->prepare || t->simd != like->simd || t->n != like->n ||
                 memcmp(t->spans, like->spans, like->n * sizeof *like->spans)))
        t = t->next;
    return t;
}

/* [lock] */
static void drop_tables(struct tables *tables)
{
    struct tables **at = &all;
    while (*at != tables)
        at = &(*at)->next;
    *at = tables->next;
    free(tables);
}

/* [lock] The tables, if others have prepared them, or are about to; NULL: it is the caller's turn. */
static struct tables *join_tables(const struct tables *like)
{
    struct tables *found = find_tables(like);
    /* Another thread prepares them: waiting takes less time, and half the memory, than doing it again. */
    while (found && !found->blob) {
        pthread_cond_wait(&changed, &lock);
        found = find_tables(like); /* gone, if that failed */
    }
    if (found)
        found->refs++;
    return found;
}

int cpu_tables_prepare(void **blob, size_t *size, cpu_prepare_fn prepare, struct cpu_pool *pool,
                       enum cpu_simd simd, const hcy_span *spans, size_t n)
{
    /* No family has so many spans; such tables are just not shared. */
    if (n > MOST_SPANS)
        return prepare(blob, size, pool, simd, spans, n);
    /* The entry is made before the lock is taken, so that allocation and waiting for it do not mix. */
    struct tables *mine = calloc(1, sizeof *mine), *found;
    if (!mine)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel's tables");
    mine->prepare = prepare;
    mine->simd = simd;
    mine->n = n;
    mine->refs = 1;
    memcpy(mine->spans, spans, n * sizeof *spans);
    pthread_mutex_lock(&lock);
    if ((found = join_tables(mine))) {
        *blob = found->blob;
        *size = found->size;
    } else {
        /* An entry without a blob tells others that these tables are under way. */
        mine->next = all;
        all = mine;
    }
    pthread_mutex_unlock(&lock);
    if (found) {
        free(mine);
        return 0;
    }
    /* Preparing may take seconds and uses all threads, so it must not hold the lock. */
    int status = prepare(blob, size, pool, simd, spans, n);
    pthread_mutex_lock(&lock);
    /* After a failure those who waited find nothing, and one of them tries for itself. */
    if (status) {
        drop_tables(mine);
    } else {
        mine->blob = *blob;
        mine->size = *size;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return status;
}

bool cpu_tables_release(void *blob)
{
    pthread_mutex_lock(&lock);
    struct tables *t = all;
    while (t && t->blob != blob)
        t = t->next;
    /* Blobs that are not in the list are the caller's own to free. */
    bool found = blob && t, last = found && --t->refs == 0;
    size_t size = last ? t->size : 0;
    if (last)
        drop_tables(t);
    pthread_mutex_unlock(&lock);
    if (last)
        cpu_blob_free(blob, size);
    return found;
}
