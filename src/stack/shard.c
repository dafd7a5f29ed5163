/* shard.c - parts of a stack: which frames a part has, and whether parts make the whole.
 *
 * Pure functions of their arguments, for any thread; what files say of parts is h5_shard.c's. */
#include "stack_priv.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t count_units(const hcy_shard *s)
{
    uint64_t unit = s->unit ? s->unit : 1, frames = s->last - s->first;
    return frames / unit + (frames % unit != 0);
}

int hcy_shard_frames(uint64_t *first, uint64_t *last, const hcy_shard *s)
{
    if (!first || !last || !s || !s->count || s->number >= s->count || s->first > s->last)
        return hcy_fail(HCY_EINVAL, "hcy_shard_frames: there is no such part");
    uint64_t unit = s->unit ? s->unit : 1, units = count_units(s), each = units / s->count, more = units % s->count;
    /* The first parts have one unit more than the others. */
    uint64_t from = each * s->number + (s->number < more ? s->number : more);
    uint64_t to = from + each + (s->number < more);
    *first = s->first + from * unit;
    /* The last unit may be shorter than the others. */
    *last = to == units ? s->last : s->first + to * unit;
    if (from == to)
        *first = *last;
    return 0;
}

static int same_dealing(const hcy_shard *a, const hcy_shard *b)
{
    return a->count == b->count && a->first == b->first && a->last == b->last && a->unit == b->unit;
}

/* A part, and which of the files it is. */
struct owner {
    uint64_t number;
    size_t name;
};

static int by_number(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* Names the parts that nobody has; the owners are in the order of their numbers, which are all different. */
static int name_missing(const hcy_shard *dealing, const struct owner *owners, size_t n)
{
    enum { SAID = 8 };
    char list[SAID * 80] = "";
    size_t used = 0, next = 0;
    /* A part behind the last unit has no frames, so nothing that could be missing. */
    uint64_t units = count_units(dealing), parts = units < dealing->count ? units : dealing->count;
    uint64_t missing = parts, said = 0;
    for (size_t i = 0; i < n && owners[i].number < parts; i++)
        missing--;
    /* How many parts there are is the files' own word: no more of them are looked at than are named. */
    for (uint64_t i = 0; said < missing && said < SAID; i++) {
        hcy_shard part = *dealing;
        uint64_t first = 0, last = 0;
        part.number = i;
        if (next < n && owners[next].number == i) {
            next++;
            continue;
        }
        said++;
        if (!hcy_shard_frames(&first, &last, &part))
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%llu/%llu (frames %llu to %llu)",
                                     used ? ", " : "", (unsigned long long)i, (unsigned long long)part.count,
                                     (unsigned long long)first, (unsigned long long)last - 1);
    }
    return !missing ? 0
                    : hcy_fail(HCY_ENOENT, "%llu of %llu parts %s missing: %s%s; run each again with --shard I/%llu",
                               (unsigned long long)missing, (unsigned long long)dealing->count,
                               missing == 1 ? "is" : "are", list, missing > SAID ? " ..." : "",
                               (unsigned long long)dealing->count);
}

int hcy_shards_check(const hcy_shard *shards, const char *const *names, size_t n)
{
    if (!shards || !names || !n)
        return hcy_fail(HCY_EINVAL, "hcy_shards_check: there are no parts");
    /* A part that says of itself that it is one of 2^60 is a damaged file. */
    for (size_t i = 0; i < n; i++)
        if (shards[i].number >= shards[i].count || shards[i].count > UINT32_MAX || shards[i].first > shards[i].last)
            return hcy_fail(HCY_EINVAL, "%s is not a part of a stack: it was not made with --shard", names[i]);
    for (size_t i = 1; i < n; i++)
        if (!same_dealing(&shards[0], &shards[i]))
            return hcy_fail(HCY_EINVAL, "%s is one of %llu parts of frames %llu to %llu, %s one of %llu of %llu to %llu",
                            names[0], (unsigned long long)shards[0].count, (unsigned long long)shards[0].first,
                            (unsigned long long)shards[0].last - 1, names[i], (unsigned long long)shards[i].count,
                            (unsigned long long)shards[i].first, (unsigned long long)shards[i].last - 1);
    struct owner *owners = n > SIZE_MAX / sizeof *owners ? NULL : malloc(n * sizeof *owners);
    if (!owners)
        return hcy_fail(HCY_ENOMEM, "no memory for a list of %zu parts", n);
    for (size_t i = 0; i < n; i++)
        owners[i] = (struct owner){ shards[i].number, i };
    qsort(owners, n, sizeof *owners, by_number);
    int st = 0;
    for (size_t i = 1; !st && i < n; i++)
        if (owners[i - 1].number == owners[i].number)
            st = hcy_fail(HCY_EINVAL, "%s and %s are both part %llu/%llu", names[owners[i - 1].name],
                          names[owners[i].name], (unsigned long long)owners[i].number,
                          (unsigned long long)shards[0].count);
    if (!st)
        st = name_missing(&shards[0], owners, n);
    free(owners);
    return st;
}

#ifndef HAVE_HDF5
int hcy_shard_read(hcy_shard *shard, char kind[16], const char *path)
{
    if (!shard || !kind || !path)
        return hcy_fail(HCY_EINVAL, "hcy_shard_read: no argument may be NULL");
    return hcy_fail(HCY_EUNSUPPORTED, "%s: this build has no HDF5", path);
}

int hcy_curves_merge(uint64_t *rows, const char *path, const char *const *parts, size_t n, uint32_t flags)
{
    (void)rows;
    (void)flags;
    if (!path || !parts || !n)
        return hcy_fail(HCY_EINVAL, "hcy_curves_merge: a path and parts are needed");
    return hcy_fail(HCY_EUNSUPPORTED, "%s: this build has no HDF5", path);
}
#endif
