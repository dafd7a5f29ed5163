/* settle.cl - many points to records in the order of keys in two steps, where sort.cl has one.
 *
 * Records that are written in no order are parts of memory's sectors, and lines of it that are fetched and written anew
 * for each of them.  Two steps write what lies together: the points of a tile go to BUCKETS of neighbouring keys, run
 * by run; then a group takes a bucket to near memory, and puts its records back in their order, in place.
 *
 * Buckets are cut by number of points: bucket b has the keys that begin in the b-th part of BUCKET records.  All of
 * them end in it but for the last one, which may reach beyond, and far beyond; its points are in order where the first
 * step puts them.  So a bucket has two CODES, 2 b, and 2 b + 1 for the key that reaches beyond, with a cursor each:
 * where the next point goes.
 */
#pragma once
#include "nufft/sort.cl"
#include "nufft/group_sums.cl"

#define EACH_OF(many, m, i) \
    UNROLL                  \
    for (u32 m = 0, i = ITEM; m < (many) / GROUP_SIZE; m++, i += GROUP_SIZE)
/* Records are copied by pieces that one instruction takes, neighbouring ones by neighbouring items: memory gets its
 * sectors whole. */
#if WORDS == 3
#define PIECES 3u
#define PIECE u64
#else
#define PIECES 1u
#define PIECE struct record
#endif
/* As gpu_nufft.c has it: records of 16 bytes with their order and two numbers of each code; or of 24 with one. */
#define ROOM (BUCKET * 20 + GPU_NUFFT_CODES * 8)

/* Counts points, as gpu_nufft_count does; their ranks are not asked for. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_count_many(struct gpu_nufft job, BUFFER(const POINT, x), BUFFER(const POINT, y), BUFFER(const POINT, z),
                          BUFFER(u32, counts), BUFFER(struct gpu_nufft_head, head))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z) OPEN(u32, counts) OPEN(struct gpu_nufft_head, head)
    for (u64 at = (u64)GROUP * GROUP_SIZE; at < job.n_points; at += (u64)GROUPS * GROUP_SIZE) {
        u64 i = at + ITEM;
        int there = i < job.n_points;
        struct point p = point_at(&job, x, y, z, there ? i : 0);
        u32 key = key_at(&job, p.place), theirs = SHUFFLE(key, 0), same = BALLOT(there && key == theirs);
        /* Dense clusters give all lanes one key; they add once, as in count_one(). */
        u32 many = POPCOUNT(same);
        if (many > 8 && ITEM % GPU_LANES == 0)
            ATOMIC_ADD32(&counts[key], many);
        if (there && !(many > 8 && (same >> ITEM % GPU_LANES & 1)))
            ATOMIC_ADD32(&counts[key], 1);
        if (there && p.bad)
            ATOMIC_MIN32(&head->first_bad, i);
    }
}

/* The same for few keys, whose counts a group has near. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_count_near(struct gpu_nufft job, BUFFER(const POINT, x), BUFFER(const POINT, y), BUFFER(const POINT, z),
                          BUFFER(u32, counts), BUFFER(struct gpu_nufft_head, head))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z) OPEN(u32, counts) OPEN(struct gpu_nufft_head, head)
    DYNAMIC_LOCAL(room, ROOM);
    NEAR u32 *near = (NEAR u32 *)room;
    for (u32 k = ITEM; k < job.n_keys; k += GROUP_SIZE)
        near[k] = 0;
    BARRIER();
    for EACH(i, job.n_points) {
        struct point p = point_at(&job, x, y, z, i);
        NEAR_ADD32(&near[key_at(&job, p.place)], 1);
        if (p.bad)
            ATOMIC_MIN32(&head->first_bad, i);
    }
    BARRIER();
    for (u32 k = ITEM; k < job.n_keys; k += GROUP_SIZE)
        if (near[k])
            ATOMIC_ADD32(&counts[k], near[k]);
}

/* Codes of keys that have points; where buckets and cursors begin, which are zeros before. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_buckets(struct gpu_nufft job, BUFFER(const u32, starts), BUFFER(u32, codes), BUFFER(u32, cursors),
                       BUFFER(struct gpu_nufft_bucket, buckets))
{
    OPEN(const u32, starts) OPEN(u32, codes) OPEN(u32, cursors) OPEN(struct gpu_nufft_bucket, buckets)
    for EACH(k, job.n_keys) {
        u32 first = starts[k], next = k + 1 < job.n_keys ? starts[k + 1] : (u32)job.n_points;
        u32 b = first / BUCKET, after = next / BUCKET;
        if (first == next)
            continue;
        /* A key that ends in another bucket's part is the one that reaches beyond. */
        int whole = (next - 1) / BUCKET == b;
        codes[k] = 2 * b + !whole;
        if (!whole)
            cursors[2 * b + 1] = first;
        /* The last key that begins in a part ends its bucket, and the key after it begins the next one. */
        if (after != b || next == job.n_points) {
            buckets[b].last = whole ? next : first;
            buckets[b].last_key = (u32)k + whole;
        }
        if (after != b && next != job.n_points) {
            cursors[2 * after] = buckets[after].first = next;
            buckets[after].first_key = (u32)k + 1;
        }
    }
}

/* How many points of each code there are in a tile, to what is before them in it, and to where they go less that. */
DEVICE void take_places(u32 *cursors, u32 n_codes, NEAR u32 *room, NEAR u32 *before, NEAR u32 *to)
{
    u32 done = 0, all;
    for (u32 c = 8 * ITEM; c < n_codes + 8 * ITEM; c += 8 * GROUP_SIZE) {
        /* Eight codes an item: the atomics of all are on their way at once. */
        u32 many[8], place[8], sum = 0;
        UNROLL
        for (u32 k = 0; k < 8; k++) {
            many[k] = c + k < n_codes ? before[c + k] : 0;
            sum += many[k];
        }
        UNROLL
        for (u32 k = 0; k < 8; k++)
            place[k] = many[k] ? ATOMIC_ADD32(&cursors[c + k], many[k]) : 0;
        /* Tiles take their places in any order, which moves records within a key but not between keys. */
        sum = done + sum_before(room, sum, &all);
        done += all;
        UNROLL
        for (u32 k = 0; k < 8; k++)
            if (c + k < n_codes) {
                before[c + k] = sum;
                to[c + k] = place[k] - sum;
                sum += many[k];
            }
    }
}

/* A tile's points, up to TILE, to their buckets: records first as they come, then code by code. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_part(struct gpu_nufft job, u32 tile, u32 n_codes, BUFFER(const POINT, x), BUFFER(const POINT, y),
                    BUFFER(const POINT, z), BUFFER(const u32, codes), BUFFER(u32, cursors),
                    BUFFER(struct record, records))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z)
    OPEN(const u32, codes) OPEN(u32, cursors) OPEN(struct record, records)
    DYNAMIC_LOCAL(room, ROOM);
    LOCAL u32 sums[ROOM_TO_SUM];
    NEAR struct record *near = (NEAR struct record *)room;
    NEAR u32 *order = (NEAR u32 *)(near + TILE), *before = order + TILE, *to = before + n_codes;
    u64 first = (u64)GROUP * tile;
    u32 n = job.n_points - first < tile ? (u32)(job.n_points - first) : tile, mine[TILE / GROUP_SIZE];
    POINT at[TILE / GROUP_SIZE][3];
    for (u32 c = ITEM; c < n_codes; c += GROUP_SIZE)
        before[c] = 0;
    BARRIER();
    EACH_OF(TILE, m, i) {
        if (i >= n)
            continue;
        /* All coordinates are loaded before the first is used. */
        at[m][0] = x[first + i];
        at[m][1] = DIM > 1 ? y[first + i] : 0;
        at[m][2] = DIM > 2 ? z[first + i] : 0;
    }
    EACH_OF(TILE, m, i) {
        if (i >= n)
            continue;
        struct point p = point_of(&job, at[m][0], at[m][1], at[m][2]);
        /* The code is kept for the two steps below; its record waits in near memory. */
        mine[m] = codes[key_at(&job, p.place)];
        near[i] = record_of(p.place, (u32)(first + i));
    }
    EACH_OF(TILE, m, i) {
        if (i < n)
            mine[m] = mine[m] << 16 | NEAR_ADD32(&before[mine[m]], 1);
    }
    BARRIER();
    take_places(cursors, n_codes, sums, before, to);
    BARRIER();
    EACH_OF(TILE, m, i) {
        if (i < n)
            /* Points of a code come to stand together, so that neighbouring items write neighbouring
             * records. */
            order[before[mine[m] >> 16] + (mine[m] & 0xffff)] = (mine[m] & 0xffff0000u) | i;
    }
    BARRIER();
    for (u32 k = ITEM; k < PIECES * n; k += GROUP_SIZE) {
        u32 i = k / PIECES, from = order[i];
        PIECE *there = (PIECE *)&records[to[from >> 16] + i];
        there[k % PIECES] = ((NEAR PIECE *)&near[from & 0xffff])[k % PIECES];
    }
}

DEVICE u32 key_of_record(const struct gpu_nufft *job, const struct record *r)
{
    u64 place[DIM];
    for (int d = 0; d < DIM; d++)
        place[d] = place_on_axis(r, d);
    return key_at(job, place);
}

/* A bucket's records in the order of keys. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_settle(struct gpu_nufft job, BUFFER(u32, starts), BUFFER(const struct gpu_nufft_bucket, buckets),
                      BUFFER(const struct gpu_nufft_head, head), BUFFER(struct record, records),
                      BUFFER(hcy_nufft_report, report))
{
    OPEN(u32, starts) OPEN(const struct gpu_nufft_bucket, buckets) OPEN(const struct gpu_nufft_head, head)
    OPEN(struct record, records) OPEN(hcy_nufft_report, report)
    DYNAMIC_LOCAL(room, ROOM);
    NEAR struct record *near = (NEAR struct record *)room;
    NEAR u32 *next = (NEAR u32 *)(near + BUCKET); /* where keys' next records go */
    struct gpu_nufft_bucket b = buckets[GROUP];
    u32 n = b.last - b.first, n_keys = b.last_key - b.first_key;
    /* Of a bucket with more keys than near memory has room for, the keys' counters stay in far memory. */
    int fits = n_keys <= GPU_NUFFT_CODES;
    struct record r[BUCKET / GROUP_SIZE];
    if (ITEM_OF_ALL == 0)
        report->first_bad = head->first_bad == 0xffffffffu ? 0xffffffffffffffffu : head->first_bad;
    for (u32 k = ITEM; fits && k < n_keys; k += GROUP_SIZE)
        next[k] = starts[b.first_key + k];
    if (PIECES > 1) {
        for (u32 k = ITEM; k < PIECES * n; k += GROUP_SIZE)
            ((NEAR PIECE *)near)[k] = ((const PIECE *)&records[b.first])[k];
        BARRIER();
    }
    EACH_OF(BUCKET, m, i) {
        if (i < n)
            /* All records are read before any is written, as they go back to the same place. */
            r[m] = PIECES > 1 ? near[i] : records[b.first + i];
    }
    BARRIER();
    EACH_OF(BUCKET, m, i) {
        if (i >= n)
            continue;
        u32 key = key_of_record(&job, &r[m]);
        /* Starts move on as records come, where there is no room to do so near. */
        u32 to = fits ? NEAR_ADD32(&next[key - b.first_key], 1) : ATOMIC_ADD32(&starts[key], 1);
        near[to - b.first] = r[m];
    }
    BARRIER();
    for (u32 k = ITEM; k < PIECES * n; k += GROUP_SIZE)
        ((PIECE *)&records[b.first])[k] = ((NEAR PIECE *)near)[k];
    /* They go back to where keys begin: tiles find their points by them (tiles.cl). */
    for (u32 i = ITEM; !fits && i < n; i += GROUP_SIZE) {
        struct record own = near[i];
        ATOMIC_ADD32(&starts[key_of_record(&job, &own)], 0xffffffffu);
    }
}
