/* parse_lanes - a block parsed by 32 lanes: the text of backends/gpu/bslz4/parse_lanes.cl, with lanes that are threads
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

#define ATOMIC_MAX32(p, x) (*(p) = *(p) > (x) ? *(p) : (x))
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

#include "bslz4/parse_lanes.cl"

enum { TEMPERS = 12, PIXELS = 4 * 2048, BLOCKS = PIXELS * ELEM / GPU_BLOCK, SAMPLES = TEMPERS * BLOCKS * 3 };

static u64 state = 1;
static u32 below(u32 n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (u32)((state >> 33) % n);
}

/* Coded bytes, and what 32 lanes and one lane make of them. */
struct sample {
    u8 bytes[LANES_CODED];
    u32 n, shift;
    struct command lanes[2 * COMMANDS], alone[2 * COMMANDS];
    struct block_info of_lanes, of_one;
    int done, how;
};
static struct sample samples[SAMPLES];
static u32 n_samples;
static struct lanes_room room;

static void parse(void)
{
    for (struct sample *s = samples; s < samples + n_samples; s++) {
        struct block_info info;
        if (ITEM == 0) {
            memset(&room, 0xaa, sizeof room);
            memcpy((u8 *)room.coded + s->shift, s->bytes, s->n);
        }
        LANES_BARRIER();
        int done = parse_by_lanes(&room, s->shift, s->n, s->lanes, &info, ITEM);
        if (ITEM == 31) {
            s->done = done;
            s->of_lanes = info;
        }
        LANES_BARRIER();
    }
}

static bool agree(struct sample *s)
{
    _Alignas(16) u8 padded[LANES_CODED + 64] = { 0 };
    memcpy(padded, s->bytes, s->n);
    s->how = parse_block(padded, (i32)s->n, (i32)GPU_BLOCK, 0, s->alone, &s->of_one);
    if (s->how || !s->done)
        return s->done == (s->how == 0);
    return !memcmp(&s->of_lanes, &s->of_one, sizeof s->of_one) && !memcmp(s->lanes, s->alone, sizeof s->alone);
}

static struct sample *add(const u8 *bytes, u32 n)
{
    struct sample *s = &samples[n_samples++];
    s->n = n;
    s->shift = below(16);
    memcpy(s->bytes, bytes, n);
    return s;
}

/* A bit or more wrong, most near the end; some cut short. */
static void damage(struct sample *s)
{
    s->n -= below(4) ? 0 : below(s->n - 1);
    for (u32 k = below(3); k < 3; k++) {
        u32 at = below(s->n);
        s->bytes[below(4) ? at : s->n - 1 - at % 20 % s->n] ^= 1u << below(8);
    }
}

/* Frames from quiet to wild, module gaps in some: short and long literals, planes that equal the one below. */
static u32 pixel(u32 temper, u32 i)
{
    if (temper % 3 == 1 && i / 300 % 5 == 4)
        return UINT32_MAX;
    if (temper % 3 == 2 && !below(100))
        return below(1u << below(30));
    if (temper < 6)
        return temper < 3 ? below(2) * below(3) : below(1 + i / 64 % 9);
    return temper < 9 ? i / 2000 % 3 : below(40);
}

static void frame(u32 temper)
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
    for (u32 b = 0; b < f.n_blocks; b++) {
        if (blocks[b].size > LANES_CODED)
            continue;
        add(chunk + blocks[b].offset, blocks[b].size);
        for (u32 i = 0; i < 2; i++)
            damage(add(chunk + blocks[b].offset, blocks[b].size));
    }
}

int main(void)
{
    static const u32 one[2] = { 1, 1 };
    u32 done = 0, wrong = 0, damaged = 0;
    for (u32 temper = 0; temper < TEMPERS; temper++)
        frame(temper);
    if (lanes_run(parse, one))
        bail_out("no threads");
    for (u32 i = 0; i < n_samples; i++) {
        wrong += !agree(&samples[i]);
        done += samples[i].done != 0;
        damaged += samples[i].how == 1;
    }
    ok(!wrong, "32 lanes make one lane's commands: of %u blocks %u, %u damaged", n_samples, done, damaged);
    ok(done > n_samples / 4 && damaged > n_samples / 4, "there were some of either");
    return done_testing();
}
