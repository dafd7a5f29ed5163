/* shard.c - parts of a stack: which frames a part has, and whether parts make the whole.
 *
 * Pure functions of their arguments, for any thread; what files say of parts is h5_shard.c's. */
#include "stack_priv.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hcy_shard_frames(uint64_t *first, uint64_t *last, const hcy_shard *s)
{
    if (!first || !last || !s || !s->count || s->number >= s->count || s->first > s->last)
        return hcy_fail(HCY_EINVAL, "hcy_shard_frames: there is no such part");
    uint64_t unit = s->unit ? s->unit : 1, frames = s->last - s->first;
    uint64_t units = frames / unit + (frames % unit != 0), each = units / s->count, more = units % s->count;
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

/* Names the parts that nobody has; owner[i] is not 0 if somebody has part i. */
static int name_missing(const hcy_shard *dealing, const size_t *owner)
{
    enum { SAID = 8 };
    char list[SAID * 64] = "";
    size_t used = 0, missing = 0;
    for (uint64_t i = 0; i < dealing->count; i++) {
        hcy_shard part = *dealing;
        uint64_t first, last;
        part.number = i;
        /* A part without frames has nothing that could be missing. */
        if (owner[i] || hcy_shard_frames(&first, &last, &part) || first == last)
            continue;
        if (missing++ < SAID)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%llu/%llu (frames %llu to %llu)",
                                     used ? ", " : "", (unsigned long long)i, (unsigned long long)part.count,
                                     (unsigned long long)first, (unsigned long long)last - 1);
    }
    return !missing ? 0
                    : hcy_fail(HCY_ENOENT, "%zu of %llu parts %s missing: %s%s; run each again with --shard I/%llu",
                               missing, (unsigned long long)dealing->count, missing == 1 ? "is" : "are", list,
                               missing > SAID ? " ..." : "", (unsigned long long)dealing->count);
}

int hcy_shards_check(const hcy_shard *shards, const char *const *names, size_t n)
{
    if (!shards || !names || !n)
        return hcy_fail(HCY_EINVAL, "hcy_shards_check: there are no parts");
    /* A part that says of itself that it is one of 2^60 is a damaged file, and no array may be made for it. */
    for (size_t i = 0; i < n; i++)
        if (!shards[i].count || shards[i].number >= shards[i].count || shards[i].count > UINT32_MAX)
            return hcy_fail(HCY_EINVAL, "%s is not a part of a stack: it was not made with --shard", names[i]);
    for (size_t i = 1; i < n; i++)
        if (!same_dealing(&shards[0], &shards[i]))
            return hcy_fail(HCY_EINVAL, "%s is one of %llu parts of frames %llu to %llu, %s one of %llu of %llu to %llu",
                            names[0], (unsigned long long)shards[0].count, (unsigned long long)shards[0].first,
                            (unsigned long long)shards[0].last - 1, names[i], (unsigned long long)shards[i].count,
                            (unsigned long long)shards[i].first, (unsigned long long)shards[i].last - 1);
    size_t *owner = calloc((size_t)shards[0].count, sizeof *owner);
    int st = owner ? 0 : hcy_fail(HCY_ENOMEM, "no memory for a list of %llu parts", (unsigned long long)shards[0].count);
    for (size_t i = 0; !st && i < n; i++) {
        size_t *who = &owner[shards[i].number];
        if (*who)
            st = hcy_fail(HCY_EINVAL, "%s and %s are both part %llu/%llu", names[*who - 1], names[i],
                          (unsigned long long)shards[i].number, (unsigned long long)shards[i].count);
        *who = i + 1;
    }
    if (!st)
        st = name_missing(&shards[0], owner);
    free(owner);
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
