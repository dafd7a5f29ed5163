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
/* As gpu_nufft.c has them: near memory of a group that settles, and of one that deals points to buckets. */
#define ROOM (BUCKET * 20 + GPU_NUFFT_CODES * 8)
#define ROOM_TO_DEAL (BUCKET * 21)
/* Keys of a bucket beside its records, which may begin 8 bytes late, and their order, of 2 bytes each. */
#define MOST_NEXT ((ROOM - BUCKET * (8 * WORDS + 2) - 16) / 2)

/* Numbers below 2^16 in near memory, two to a word: number i; it as it was before it is one more. */
DEVICE u32 half_of(const NEAR u32 *halves, u32 i)
{
    return halves[i / 2] >> i % 2 * 16 & 0xffff;
}
DEVICE u32 count_half(NEAR u32 *halves, u32 i)
{
    return NEAR_ADD32(&halves[i / 2], (u32)1 << i % 2 * 16) >> i % 2 * 16 & 0xffff;
}

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

/* Turns how many of a tile's points have each code to how many are before these in the tile, and takes places for them:
 * where they go, less what is before them. */
DEVICE void take_places(u32 *cursors, u32 n_buckets, NEAR u32 *room, NEAR u32 *before, NEAR u32 *to)
{
    u32 done = 0, all;
    for (u32 first = 0; first < n_buckets; first += 4 * GROUP_SIZE) {
        /* Four buckets an item, neighbours' side by side: the atomics of all are on their way at once.  In what order
         * codes are in a tile does not matter. */
        u32 many[4][2], place[4][2], sum = 0;
        EACH_OF(4 * GROUP_SIZE, k, b) {
            u32 both = first + b < n_buckets ? before[first + b] : 0;
            many[k][0] = both & 0xffff;
            many[k][1] = both >> 16;
            sum += many[k][0] + many[k][1];
        }
        EACH_OF(4 * GROUP_SIZE, k, b) {
            UNROLL
            for (u32 beyond = 0; beyond < 2; beyond++)
                place[k][beyond] =
                    many[k][beyond] ? ATOMIC_ADD32(&cursors[2 * (first + b) + beyond], many[k][beyond]) : 0;
        }
        /* Tiles take their places in any order, which moves records within a key but not between keys. */
        sum = done + sum_before(room, sum, &all);
        done += all;
        EACH_OF(4 * GROUP_SIZE, k, b) {
            if (first + b >= n_buckets)
                continue;
            u32 then = sum + many[k][0];
            before[first + b] = then << 16 | sum;
            to[2 * (first + b)] = place[k][0] - sum;
            to[2 * (first + b) + 1] = place[k][1] - then;
            sum = then + many[k][1];
        }
    }
}

/* A tile's points, up to TILE, to their buckets: records first as they come, then code by code. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_part(struct gpu_nufft job, u32 tile, u32 n_buckets, BUFFER(const POINT, x), BUFFER(const POINT, y),
                    BUFFER(const POINT, z), BUFFER(const u32, codes), BUFFER(u32, cursors),
                    BUFFER(struct record, records))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z)
    OPEN(const u32, codes) OPEN(u32, cursors) OPEN(struct record, records)
    DYNAMIC_LOCAL(room, ROOM_TO_DEAL);
    LOCAL u32 sums[ROOM_TO_SUM];
    NEAR struct record *near = (NEAR struct record *)room;
    NEAR u32 *order = (NEAR u32 *)(near + TILE), *before = order + TILE, *to = before + n_buckets;
    u64 first = (u64)GROUP * tile;
    u32 n = job.n_points - first < tile ? (u32)(job.n_points - first) : tile, mine[TILE / GROUP_SIZE];
    POINT at[TILE / GROUP_SIZE][3];
    EACH_OF(TILE, m, i) {
        if (i >= n)
            continue;
        /* All coordinates are loaded before the first is used. */
        at[m][0] = x[first + i];
        at[m][1] = DIM > 1 ? y[first + i] : 0;
        at[m][2] = DIM > 2 ? z[first + i] : 0;
    }
    for (u32 b = ITEM; b < n_buckets; b += GROUP_SIZE)
        before[b] = 0;
    BARRIER();
    EACH_OF(TILE, m, i) {
        if (i >= n)
            continue;
        struct point p = point_of(&job, at[m][0], at[m][1], at[m][2]);
        mine[m] = key_at(&job, p.place);
        near[i] = record_of(p.place, (u32)(first + i));
    }
    /* All codes are asked for before the first is used, when no coordinates are kept any more. */
    EACH_OF(TILE, m, i)
        mine[m] = i < n ? codes[mine[m]] : 0;
    EACH_OF(TILE, m, i) {
        if (i < n)
            mine[m] = mine[m] << 16 | count_half(before, mine[m]);
    }
    BARRIER();
    take_places(cursors, n_buckets, sums, before, to);
    BARRIER();
    EACH_OF(TILE, m, i) {
        if (i < n)
            /* Points of a code come to stand together, so that neighbouring items write neighbouring
             * records. */
            order[half_of(before, mine[m] >> 16) + (mine[m] & 0xffff)] = (mine[m] & 0xffff0000u) | i;
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

/* Starts to copy records to near memory, from the 16 bytes on in which they begin; returns where the first one is.  The
 * last copy may take 8 bytes from behind them, where other records or counts stand. */
DEVICE NEAR struct record *bring_near(NEAR u8 *room, const struct record *records, u32 n)
{
#ifdef COPY_16
    u32 before = (u32)((u64)records & 8);
    const u8 *from = (const u8 *)records - before;
    for (u32 k = 16 * ITEM; k < before + n * (u32)sizeof *records; k += 16 * GROUP_SIZE)
        COPY_16(room + k, from + k);
    return (NEAR struct record *)(room + before);
#else
    for (u32 k = ITEM; k < PIECES * n; k += GROUP_SIZE)
        ((NEAR PIECE *)room)[k] = ((const PIECE *)records)[k];
    return (NEAR struct record *)room;
#endif
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
    NEAR u32 *next = (NEAR u32 *)(room + BUCKET * sizeof(struct record) + 16); /* where keys' next records go */
    NEAR u16 *order = (NEAR u16 *)(next + MOST_NEXT / 2);                      /* which one goes there */
    struct gpu_nufft_bucket b = buckets[GROUP];
    u32 n = b.last - b.first, n_keys = b.last_key - b.first_key, to[BUCKET / GROUP_SIZE];
    /* Of a bucket with more keys than near memory has room for, the keys' counters stay in far memory. */
    int fits = n_keys <= MOST_NEXT;
    NEAR struct record *near = bring_near(room, records + b.first, n);
    if (ITEM_OF_ALL == 0)
        report->first_bad = head->first_bad == 0xffffffffu ? 0xffffffffffffffffu : head->first_bad;
    for (u32 k = ITEM; fits && k < (n_keys + 1) / 2; k += GROUP_SIZE) {
        const u32 *start = starts + b.first_key + 2 * k;
        next[k] = (start[0] - b.first) | (2 * k + 1 < n_keys ? start[1] - b.first : 0) << 16;
    }
#ifdef COPY_16
    COPIES_OVER();
#endif
    /* All records are there before any is written, as they go back to the same place. */
    BARRIER();
    EACH_OF(BUCKET, m, i) {
        if (i >= n)
            continue;
        struct record own = near[i];
        u32 key = key_of_record(&job, &own);
        /* Starts move on as records come, where there is no room to do so near. */
        to[m] = fits ? count_half(next, key - b.first_key) : ATOMIC_ADD32(&starts[key], 1) - b.first;
    }
    EACH_OF(BUCKET, m, i) {
        if (i < n)
            order[to[m]] = (u16)i;
    }
    BARRIER();
    for (u32 k = ITEM; k < PIECES * n; k += GROUP_SIZE)
        ((PIECE *)&records[b.first])[k] = ((NEAR PIECE *)&near[order[k / PIECES]])[k % PIECES];
    /* They go back to where keys begin: tiles find their points by them (tiles.cl). */
    for (u32 i = ITEM; !fits && i < n; i += GROUP_SIZE) {
        struct record own = near[i];
        ATOMIC_ADD32(&starts[key_of_record(&job, &own)], 0xffffffffu);
    }
}
