/* azint_lanes - the kernels from coded blocks to sums (backends/gpu/azint/sums_fast.cl, sums_one.cl), which want lanes
 * in step: their text, with lanes that are threads (lanes.h), against the oracle, bit for bit.  Pixels and weights are
 * what tests/local.mk says.
 */
#define GROUP_SIZE 256
#define REAL double
#define ELEM PIXEL_BYTES
#include "lanes.h"
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wcast-qual"
#endif

#include <halcyon/bslz4.h>

#include "azint_oracle.h"
#include "gpu.h"
#include "tap.h"

/* --- What the texts want beside lanes.h --- */

#define LOCAL_ROOM(type, name, n) static type name[n]
#define ATOMIC_MAX32(p, x) __atomic_store_n((p), (x), __ATOMIC_RELAXED) /* of what is 0 or x */
#define ATOMIC_ADD64(p, x) __atomic_fetch_add((p), (u64)(x), __ATOMIC_RELAXED)
#define MAX32(a, b) ((a) > (b) ? (a) : (b))
#define MUL_F64(a, b) ((a) * (b))
#define MUL_HI64(a, b) ((u64)((oracle_u128)(a) * (b) >> 64))
#define MUL_HI32(a, b) ((u32)((u64)(a) * (b) >> 32))
#define MUL_ADD_64(sum, a, b) ((sum) += (u64)(a) * (b))
#define MUL_ADD_SIGNED_64(sum, a, b) ((sum) += (u64)((i64)(i32)(a) * (i32)(b)))

/* Local memory by its own addresses, which count from here. */
static u8 near_zero[16];
#define NEAR_ADDRESS(p) ((u32)((uintptr_t)(p) - (uintptr_t)near_zero))
static u8 *near_at(u32 at)
{
    return (u8 *)((uintptr_t)near_zero + (uintptr_t)(intptr_t)(i32)at);
}
static u32 near_byte(u32 at)
{
    return *near_at(at);
}
static u32 near_word(u32 at)
{
    return *(u32 *)near_at(at);
}
static uint4 near_quad(u32 at)
{
    return *(uint4 *)near_at(at);
}
static void near_put_byte(u32 at, u32 x)
{
    *near_at(at) = (u8)x;
}
static void near_put_word(u32 at, u32 x)
{
    *(u32 *)near_at(at) = x;
}
static u32 settled(u32 x)
{
    return x;
}
static u32 BYTE_PERM(u32 a, u32 b, u32 s)
{
    u64 both = (u64)b << 32 | a;
    u32 x = 0;
    for (int i = 0; i < 4; i++)
        x |= (u32)(both >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
    return x;
}
static u32 DOT_BYTES(u32 a, u32 b, u32 sum)
{
    for (int i = 0; i < 32; i += 8)
        sum += (a >> i & 255) * (b >> i & 255);
    return sum;
}
static u32 add_carry(u64 *sum, u64 x)
{
    u64 old = ATOMIC_ADD64(sum, x);
    return old + x < old;
}

#include "azint/sums_one.cl"

/* --- Frames --- */

/* Two groups of frames, the second of which is not full: in two whole blocks, one of few pixels, and raw ones. */
enum { FRAMES_ALL = FRAMES + 3, BINS = 40, PIXELS = 2 * GPU_BLOCK / ELEM + 8 * 37 + 5, BLOCKS = 3,
       IMAGE = PIXELS * ELEM, ROOM = 2 * IMAGE + 4096, GROUPS_ALL = 2,
       TYPE = ELEM == 2 ? (PIXEL_SIGNED ? HCY_PIXEL_I16 : HCY_PIXEL_U16)
                        : (PIXEL_SIGNED ? HCY_PIXEL_I32 : HCY_PIXEL_U32) };

static u64 state = 20261130;
static struct oracle_plan canonical;
static struct gpu_plan prepared;
static u8 *tables, images[FRAMES_ALL][IMAGE];
static hcy_azint_job job = { .n_pixels = PIXELS, .n_bins = BINS, .pixel_type = TYPE, .n_invalid = 2,
                             .flags = VARIANCE == 1 ? HCY_AZINT_WANT_VARIANCE
                                      : VARIANCE    ? HCY_AZINT_WANT_VARIANCE | HCY_AZINT_PART_OF_SUM
                                                    : 0 };
static _Alignas(64) u8 chunks[FRAMES_ALL * ROOM];
static hcy_bslz4_frame frames[FRAMES_ALL];
static hcy_bslz4_block blocks[FRAMES_ALL * BLOCKS];
static struct gpu_batch batch = { .chunks_size = sizeof chunks, .table_blocks = FRAMES_ALL * BLOCKS,
                                  .image_bytes = IMAGE, .slot_bytes = GPU_BLOCK, .codec = HCY_CODEC_BSLZ4,
                                  .elem_size = ELEM, .n_blocks = BLOCKS, .fast = 1,
                                  .list_room = FRAMES_ALL * BLOCKS };

/* What a launch makes. */
static struct {
    struct gpu_state head;
    struct gpu_frame_state frames[FRAMES_ALL];
    struct gpu_listed list[FRAMES_ALL * BLOCKS];
} scratch;
static struct block_info infos[FRAMES_ALL * BLOCKS];
static _Alignas(16) struct command commands[FRAMES_ALL * BLOCKS * 2 * COMMANDS];
static u64 sums[FRAMES_ALL * HCY_AZINT_SUMS * BINS], fast[GROUPS_ALL * FRAMES * FAST_ROWS * BINS],
    pairs[GROUPS_ALL * GPU_PAIR_ROWS * BINS];
static hcy_frame_report reports[FRAMES_ALL];
static u32 heavy_list[GROUPS_ALL * BLOCKS];
static u8 slots[GPU_BLOCK];

/* Of the first group nearly all fit a byte, but in one block of a frame, where many are negative, or bright; a few
 * others are, or lost.  The second has all that there is. */
static u64 value(u32 frame, u32 i)
{
    const u64 dim = oracle_below(&state, 1 + i / 64 % 4), top = UINT64_MAX >> (64 - 8 * ELEM + PIXEL_SIGNED);
    if (frame == 2 && i / (GPU_BLOCK / ELEM) == 1)
        return PIXEL_SIGNED ? dim - 2 : 200 + 100 * dim;
    if (frame == 3)
        return i < 7 ? top : dim;
    if (frame < FRAMES)
        return i != 700 + frame              ? dim
               : PIXEL_SIGNED && frame < 2 ? -1 - dim
               : frame < 5                 ? 1000 + dim
                                           : top + (frame & 1);
    return frame == FRAMES ? oracle_random(&state) >> oracle_below(&state, 64) : 7000 * dim * dim - PIXEL_SIGNED * 300;
}

static int put_tables(void *context, const struct gpu_piece *pieces, size_t n, size_t size, struct gpu_plan *made)
{
    (void)context;
    tables = aligned_alloc(256, (size + 255) / 256 * 256);
    for (size_t i = 0; tables && i < n; i++)
        if (pieces[i].size)
            memcpy(tables + pieces[i].at, pieces[i].data, pieces[i].size);
    prepared = *made;
    free(made);
    return tables ? 0 : HCY_ENOMEM;
}

static void make_frames(void)
{
    const hcy_bslz4_job coding = { .codec = HCY_CODEC_BSLZ4, .elem_size = ELEM, .image_bytes = IMAGE };
    for (u32 f = 0; f < FRAMES_ALL; f++) {
        size_t size;
        for (u32 i = 0; i < PIXELS; i++) {
            u64 v = value(f, i);
            memcpy(images[f] + ELEM * i, &v, ELEM); /* little-endian */
        }
        if (hcy_bslz4_encode(&size, chunks + f * ROOM / 64 * 64, ROOM - 128, &coding, images[f]) ||
            hcy_bslz4_parse(&frames[f], blocks + f * BLOCKS, BLOCKS, NULL, &coding, chunks + f * ROOM / 64 * 64, size))
            bail_out("no frame: %s", hcy_last_error()->text);
        frames[f].offset = f * ROOM / 64 * 64;
        frames[f].first_block = f * BLOCKS;
    }
}

/* --- Launches --- */

static void begin(void)
{
    gpu_begin(batch, frames, reports, &scratch.head);
}
static void parse(void)
{
    if (ITEM < GPU_LANES)
        gpu_parse_lanes(batch, chunks, frames, blocks, &scratch.head, infos, commands);
}
static void small(void)
{
    gpu_azint_small(batch, job, prepared.at, chunks, frames, blocks, infos, commands, tables, sums, reports, fast,
                    pairs, &scratch.head, heavy_list);
}
static void one(void)
{
    if (ITEM < GPU_ONE_BLOCKS * GPU_LANES)
        gpu_azint_one(batch, job, prepared.at, chunks, frames, blocks, infos, commands, tables, sums, reports, fast,
                      &scratch.head, heavy_list);
}
static void heavy(void)
{
    gpu_azint_heavy(batch, job, prepared.at, (batch.items + FRAMES - 1) / FRAMES, chunks, frames, blocks, infos,
                    commands, tables, sums, reports, fast, &scratch.head, heavy_list);
}
static void rest(void)
{
    gpu_azint_rest(batch, job, prepared.at, chunks, frames, blocks, tables, sums, reports, fast, &scratch.head, slots);
}
static void finish(void)
{
    gpu_azint_finish(BINS, batch.items == 1 ? FRAMES : 1, frames, blocks, reports, &scratch.head, fast, pairs, sums);
}

static void launch(void (*kernel)(void), u32 x, u32 y)
{
    const u32 groups[2] = { x, y };
    if (lanes_run(kernel, groups))
        bail_out("no threads");
}

/* Groups of blocks that are heavy by what the parser says. */
static u32 parsed_heavy(void)
{
    u32 n = 0;
    for (u32 g = 0; g < GROUPS_ALL; g++)
        for (u32 b = 0; b < BLOCKS; b++) {
            u32 any = 0;
            for (u32 f = g * FRAMES; f < FRAMES_ALL && f < (g + 1) * FRAMES; f++)
                any |= infos[f * BLOCKS + b].counts & HEAVY;
            n += any != 0;
        }
    return n;
}

/* As gpu_azint.c does: `items` frames, or the first one the way of one alone.  Groups of blocks that were heavy. */
static u32 integrate(u32 items)
{
    batch.items = items;
    memset(&scratch, 0, sizeof scratch);
    memset(sums, 0, sizeof sums);
    memset(fast, 0, sizeof fast);
    memset(pairs, 0, sizeof pairs);
    memset(infos, 0x5a, sizeof infos);
    memset(commands, 0x5a, sizeof commands);
    launch(begin, 1, 1);
    if (items > 1) {
        launch(parse, BLOCKS, items);
        launch(small, (items + FRAMES - 1) / FRAMES, BLOCKS);
    } else {
        launch(one, (BLOCKS + GPU_ONE_BLOCKS - 1) / GPU_ONE_BLOCKS, 1);
    }
    launch(heavy, 2, 1);
    launch(rest, 2, 1);
    launch(finish, 1, items);
    return scratch.head.heavy;
}

/* Of a launch's frame, which is that one of the images. */
static int right(u32 item, u32 frame)
{
    static u64 want[HCY_AZINT_SUMS * BINS];
    const u64 n_lost = oracle_sums(want, canonical.spans, &job, images[frame]);
    const size_t rows = n_lost ? HCY_AZINT_SUMS : HCY_SUM_LOST_COUNT;
    const int good = !reports[item].status && reports[item].n_lost == n_lost &&
                     !memcmp(sums + item * HCY_AZINT_SUMS * BINS, want, rows * BINS * sizeof *want);
    if (!good)
        diag("frame %u: status %d, lost %llu (want %llu)", frame, reports[item].status,
             (unsigned long long)reports[item].n_lost, (unsigned long long)n_lost);
    return good;
}

int main(void)
{
    const u64 top = UINT64_MAX >> (64 - 8 * ELEM + PIXEL_SIGNED);
    u32 wrong = 0;
    job.invalid[0] = (hcy_azint_range){ top, top };
    job.invalid[1] = PIXEL_SIGNED ? (hcy_azint_range){ ~top, ~top } : (hcy_azint_range){ 1000, 1001 };
    if (oracle_plan_make(&canonical, 3, UNIT ? ORACLE_WHOLE : ORACLE_SPLIT, 1, PIXELS, BINS, 9) ||
        gpu_tables_make(canonical.spans, HCY_AZINT_SPANS, put_tables, NULL) || prepared.unit != UNIT)
        bail_out("no plan: %s", hcy_last_error()->text);
    make_frames();
    const u32 many = integrate(FRAMES_ALL);
    for (u32 f = 0; f < FRAMES_ALL; f++)
        wrong += !right(f, f);
    ok(!wrong, "%d frames, eight a group: the oracle's sums", FRAMES_ALL);
    ok(many == parsed_heavy() + PIXEL_SIGNED && many > 2 && many < GROUPS_ALL * BLOCKS,
       "some groups of blocks were heavy: %u, by what the parser says %u", many, parsed_heavy());
    for (u32 f = 2; f < FRAMES_ALL; f += 3) {
        frames[0] = frames[f];
        const u32 alone = integrate(1);
        ok(right(0, f), "frame %u alone, of which %u blocks were heavy", f, alone);
    }
    oracle_plan_free(&canonical);
    free(tables);
    return done_testing();
}
