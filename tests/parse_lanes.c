/* parse_lanes - a block parsed by 32 lanes: the text of backends/gpu/parse_lanes.cl, with lanes that are threads
 * (lanes.h), makes the commands that one lane makes, and leaves to it what is damaged. */
#define GROUP_SIZE 32
#define REAL double
#define ELEM 4
#include "lanes.h"
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#include <halcyon/bslz4.h>

#include "bslz4/bslz4_format.h"

#include "gpu_format.h"
#include "tap.h"

typedef struct {
    u32 x, y;
} uint2;
typedef struct {
    u32 x, y, z, w;
} uint4;
#define ITEM_OF_ALL lanes_item
#define GROUPS 1u
#define GROUP_OF(n)
#define DEVICE_CALL static
#define ANY(x) (lanes_ballot(x) != 0)
#define FIRST_BIT(x) __builtin_ctz(x)
#define ATOMIC_ADD32(p, x) __atomic_fetch_add((p), (x), __ATOMIC_RELAXED)
#define ATOMIC_MIN32(p, x) (*(p) = *(p) < (x) ? *(p) : (x))
#define ATOMIC_MAX32(p, x) (*(p) = *(p) > (x) ? *(p) : (x))
#define READ_ONLY(p) (*(p))
#define NEAR_ADDRESS(p) ((u32)(uintptr_t)(p))

/* Local memory by its own addresses, which nothing here uses. */
static u32 near_byte(u32 at)
{
    return at;
}
static u32 near_word(u32 at)
{
    return at;
}
static uint4 near_quad(u32 at)
{
    return (uint4){ at, 0, 0, 0 };
}
static void near_put_byte(u32 at, u32 x)
{
    (void)at, (void)x;
}
static void near_put_word(u32 at, u32 x)
{
    (void)at, (void)x;
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

#include "bslz4.cl"

#include "fast.cl"

#include "parse_lanes.cl"

enum { PIXELS = 48 * 2048, BLOCKS = PIXELS * ELEM / GPU_BLOCK };

static u64 state = 1;
static u32 below(u32 n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (u32)((state >> 33) % n);
}

/* What 32 lanes and one lane make of the same coded bytes. */
static struct {
    struct command lanes[2 * COMMANDS], alone[2 * COMMANDS];
    struct block_info of_lanes, of_one;
    int done, how;
} made;
static u8 coded[LANES_CODED + 64];
static u32 n_coded, shift;
static struct lanes_room room;

static void parse(void)
{
    struct block_info info;
    int done = parse_by_lanes(&room, shift, n_coded, made.lanes, &info, ITEM);
    if (ITEM == 31) {
        made.done = done;
        made.of_lanes = info;
    }
}

/* True if both agree. */
static bool agree(void)
{
    static const u32 one[2] = { 1, 1 };
    memset(&made, 0, sizeof made);
    shift = below(16);
    memset(&room, 0xaa, sizeof room);
    memcpy((u8 *)room.coded + shift, coded, n_coded);
    if (lanes_run(parse, one))
        bail_out("no threads");
    made.how = parse_block(coded, (i32)n_coded, (i32)GPU_BLOCK, 0, made.alone, &made.of_one);
    if (made.how || !made.done)
        return made.done == (made.how == 0);
    return !memcmp(&made.of_lanes, &made.of_one, sizeof made.of_one) &&
           !memcmp(made.lanes, made.alone, sizeof made.alone);
}

/* Frames from quiet to wild, module gaps in some: short and long literals, planes that equal the one below. */
static u32 pixel(u32 temper, u32 i)
{
    if (temper % 3 == 1 && i / 300 % 5 == 4)
        return UINT32_MAX;
    if (temper % 3 == 2 && !below(100))
        return below(1u << below(30));
    return temper < 3 ? below(2) * below(3) : temper < 6 ? below(1 + i / 64 % 9) : temper < 9 ? i / 2000 % 3 : below(40);
}

static void frame(u32 temper, u32 *done, u32 *wrong, u32 *damaged)
{
    static u32 image[PIXELS];
    static hcy_bslz4_block blocks[BLOCKS];
    static u8 chunk[PIXELS * ELEM * 2];
    const hcy_bslz4_job job = { .codec = HCY_CODEC_BSLZ4, .elem_size = ELEM, .image_bytes = sizeof image };
    hcy_bslz4_frame f;
    size_t size;
    for (u32 i = 0; i < PIXELS; i++)
        image[i] = pixel(temper, i);
    if (hcy_bslz4_encode(&size, chunk, sizeof chunk, &job, image) ||
        hcy_bslz4_parse(&f, blocks, BLOCKS, NULL, &job, chunk, size))
        bail_out("no frame: %s", hcy_last_error()->text);
    for (u32 b = 0; b < f.n_blocks; b += 3) {
        n_coded = blocks[b].size;
        if (n_coded > LANES_CODED)
            continue;
        memcpy(coded, chunk + blocks[b].offset, n_coded);
        *wrong += !agree();
        *done += made.done;
        for (int i = 0; i < 2; i++) {
            memcpy(coded, chunk + blocks[b].offset, n_coded);
            n_coded = blocks[b].size - (below(4) ? 0 : below(n_coded - 1));
            for (u32 k = below(3); k < 3; k++)
                coded[below(4) ? below(n_coded) : n_coded - 1 - below(n_coded < 20 ? n_coded : 20)] ^= 1u << below(8);
            *wrong += !agree();
            *damaged += made.how == 1;
        }
    }
}

int main(void)
{
    u32 done = 0, wrong = 0, damaged = 0;
    for (u32 temper = 0; temper < 12; temper++)
        frame(temper, &done, &wrong, &damaged);
    ok(!wrong, "lanes make one lane's commands: %u blocks, %u with damage", done, damaged);
    ok(done > 100 && damaged > 100, "there were some of either");
    return done_testing();
}
