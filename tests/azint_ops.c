/* azint_ops - what a SIMD variant of the azint kernels brings (struct azint_ops), piece by piece, against the portable
 * one on random digits and weights.  Small, so that an emulator runs it too; so is what else differs by processor. */
#include "azint/cpu_azint.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "azint_oracle.h"
#include "tap.h"

enum {
    FRAMES = 32,
    PIXELS = 1024, /* of a row */
    ENTRIES = AZINT_CHUNK,
    BINS = 40,
    SUMS = BINS * 2 * FRAMES,
    DIGITS = 3
};

static uint64_t state = 7;

/* The same entries for all variants. */
static struct scene {
    uint8_t rows[DIGITS][FRAMES][AZINT_PITCH];
    uint16_t index[ENTRIES + 64];
    uint8_t weights[12 * (ENTRIES + 16)];
    struct azint_seg segs[ENTRIES];
    size_t n_segs, n_entries;
} scene;

/* What a variant makes of it. */
static struct side {
    const struct azint_ops *ops;
    const struct azint_tiles *tiles;
    _Alignas(64) uint8_t x[FRAMES * AZINT_STRIP], v[FRAMES * AZINT_STRIP];
    _Alignas(64) uint8_t expanded[AZINT_EXPANDED * (ENTRIES + 4)];
    int64_t sums[SUMS];
} sides[2]; /* portable, and the one at hand */

static const uint32_t corners[] = { 0, 1, 127, 128, 4095, 4096, 65535, 65536, HCY_AZINT_ONE - 1, HCY_AZINT_ONE };

static void make_scene(bool is_signed, bool unit, bool most)
{
    for (size_t i = 0; i < sizeof scene.rows; i++)
        ((uint8_t *)scene.rows)[i] =
            most ? 127 : (uint8_t)(oracle_random(&state) & (oracle_random(&state) % 3 && !is_signed ? 7 : 255));
    for (size_t i = 0; i < sizeof scene.rows && !is_signed; i++)
        ((uint8_t *)scene.rows)[i] &= 127;
    scene.n_entries = most ? ENTRIES : 1 + oracle_below(&state, ENTRIES);
    for (size_t i = 0; i < scene.n_entries; i++) {
        uint16_t group = (uint16_t)oracle_below(&state, PIXELS / 4);
        scene.index[i] = unit ? (uint16_t)(group << 4 | oracle_below(&state, 16)) : group;
        for (unsigned p = 0; p < 4; p++) {
            uint32_t c = (uint32_t)oracle_below(&state, HCY_AZINT_ONE);
            if (!oracle_below(&state, 4))
                c = corners[oracle_below(&state, sizeof corners / sizeof *corners)];
            if (most)
                c = HCY_AZINT_ONE;
            for (unsigned d = 0; d < 3; d++)
                scene.weights[12 * i + 4 * d + p] = (uint8_t)(c >> 8 * d);
        }
    }
    scene.n_segs = 0;
    for (uint32_t end = 0; end < scene.n_entries; scene.n_segs++) {
        end += most ? ENTRIES : 1 + (uint32_t)oracle_below(&state, 30);
        end = end < scene.n_entries ? end : (uint32_t)scene.n_entries;
        scene.segs[scene.n_segs] = (struct azint_seg){ (uint32_t)oracle_below(&state, BINS), end };
    }
}

static void make_tiles(const struct azint_tiles *tiles, unsigned digit, uint8_t *out)
{
    const uint8_t *rows[AZINT_MAX_PASS];
    for (unsigned f = 0; f < FRAMES; f += tiles->lanes) {
        for (unsigned l = 0; l < tiles->lanes; l++)
            rows[l] = scene.rows[digit][f + l];
        tiles->tile(rows, 0, PIXELS, out + (size_t)f * AZINT_STRIP);
    }
}

static void add(struct side *side, bool unit, enum azint_variance variance, int frame)
{
    struct azint_part part = { scene.index, unit ? NULL : side->expanded, scene.segs, scene.n_segs, 0 };
    memset(side->sums, 0, sizeof side->sums);
    side->ops->expand(scene.weights, scene.n_entries, side->expanded);
    if (frame < 0)
        side->tiles->many(&part, side->x, side->v, variance, FRAMES / side->tiles->lanes, side->sums);
    else
        side->ops->one(&part, scene.rows[0][frame], scene.rows[1][frame], variance, FRAMES, side->sums);
}

/* Sums of a frame's bins that differ; `place` is where `many` or `one` have put them. */
static size_t differ(size_t mine, size_t theirs, bool variance)
{
    size_t n = 0;
    for (size_t b = 0; b < (size_t)BINS * 2; b += variance ? 1 : 2)
        n += sides[1].sums[b * FRAMES + mine] != sides[0].sums[b * FRAMES + theirs];
    return n;
}

static void test_sums(const char *name)
{
    static const char *const kinds[] = { "none", "max", "tile" };
    for (int k = 0; k < 24; k++) {
        bool is_signed = k & 1, unit = k & 2, most = k / 4 % 2;
        enum azint_variance variance = (enum azint_variance)(k / 8);
        size_t wrong = 0, wrong_one = 0;
        make_scene(is_signed, unit, most);
        for (int s = 0; s < 2; s++) {
            make_tiles(sides[s].tiles, 0, sides[s].x);
            make_tiles(sides[s].tiles, 1, sides[s].v);
            add(&sides[s], unit, variance, -1);
        }
        for (size_t f = 0; f < FRAMES; f++)
            wrong += differ(azint_lane(f, sides[1].tiles->lanes), azint_lane(f, sides[0].tiles->lanes),
                            variance != AZINT_V_NONE);
        add(&sides[1], unit, variance, 5);
        wrong_one = differ(0, azint_lane(5, sides[0].tiles->lanes), variance != AZINT_V_NONE);
        ok(!wrong && !wrong_one, "%s: sums, variance %s, %s%s%s", name, kinds[k / 8], is_signed ? "signed" : "unsigned",
           unit ? ", weights of 1" : "", most ? ", the greatest" : "");
    }
}

static void test_variance(const char *name)
{
    static uint8_t out[2][PIXELS + 64];
    size_t wrong = 0;
    for (unsigned digits = 1; digits <= DIGITS; digits++)
        for (unsigned digit = 0; digit < digits; digit++) {
            const uint8_t *rows[DIGITS];
            make_scene(false, false, false);
            for (unsigned d = 0; d < digits; d++)
                rows[d] = scene.rows[d][0];
            for (size_t i = 0; i < PIXELS; i++) { /* negative values, and zeros */
                scene.rows[digits - 1][0][i] |= i % 3 ? 0 : 0x80;
                for (unsigned d = 0; d < digits && i % 5 == 0; d++)
                    scene.rows[d][0][i] = 0;
            }
            for (int s = 0; s < 2; s++)
                sides[s].ops->variance(rows, digits, digit, PIXELS, out[s]);
            wrong += memcmp(out[0], out[1], PIXELS) != 0;
        }
    ok(!wrong, "%s: digits of the variance", name);
}

static void test_pixels(const char *name)
{
    static uint8_t pixels[8 * PIXELS + 64], out[2][8 * PIXELS + 64], live[PIXELS / 8 + 64];
    size_t wrong = 0, wide[2] = { 0, 0 };
    for (unsigned k = 0; k < 400; k++) {
        unsigned size = 1u << k % 4, is_signed = k / 4 % 2, n = 1 + (unsigned)oracle_below(&state, PIXELS);
        int result[2];
        memset(pixels, 0, sizeof pixels);
        for (unsigned i = 0; i < n; i++) {
            uint64_t value = oracle_below(&state, 128);
            value = is_signed && oracle_below(&state, 2) ? 0 - value : value;
            if (k % 3 && !oracle_below(&state, 200))
                value = oracle_random(&state) >> oracle_below(&state, 64);
            memcpy(pixels + (size_t)i * size, &value, size);
        }
        for (size_t i = 0; i < sizeof live; i++)
            live[i] = (uint8_t)(oracle_random(&state) | (k % 5 ? 0 : 255));
        for (int s = 0; s < 2; s++) {
            memset(out[s], 0, sizeof out[s]);
            result[s] = sides[s].ops->narrow(pixels, n, size, is_signed, live, out[s]) != 0;
        }
        wide[result[0]]++;
        wrong += result[0] != result[1] || (!result[0] && memcmp(out[0], out[1], n) != 0);
        for (int s = 0; s < 2; s++)
            sides[s].ops->to_planes(pixels, PIXELS, size, out[s], PIXELS / 8);
        wrong += memcmp(out[0], out[1], (size_t)size * PIXELS) != 0;
    }
    ok(!wrong && wide[0] > 50 && wide[1] > 50, "%s: pixels to digits and to planes", name);
}

/* --- Runs looked at by eight segments --- */

enum { SEGMENTS = 8, MOST_RUNS = SEGMENTS * HCY_AZINT_START_EVERY * (4 + 3 * 127), BEHIND = 7000 };

/* Eight segments of one run a pixel, of which what lies behind is none; *size: of all. */
static void make_segments(uint8_t *runs, size_t *size, uint64_t starts[SEGMENTS + 1])
{
    size_t at = oracle_below(&state, 100);
    const uint32_t longest = oracle_below(&state, 8) ? 4 : 128;
    for (size_t i = 0; i <= SEGMENTS * HCY_AZINT_START_EVERY; i++) {
        uint32_t n = (uint32_t)oracle_below(&state, longest), bin = (uint32_t)oracle_below(&state, 1000);
        if (i % HCY_AZINT_START_EVERY == 0)
            starts[i / HCY_AZINT_START_EVERY] = at;
        if (i == SEGMENTS * HCY_AZINT_START_EVERY)
            break;
        for (unsigned k = 0; k < 4; k++)
            runs[at++] = (uint8_t)((n ? bin | n << 24 : HCY_AZINT_NO_RUN) >> 8 * k);
        for (unsigned k = 0; k < 3 * n; k++)
            runs[at++] = (uint8_t)oracle_random(&state);
    }
    *size = at + (oracle_below(&state, 8) ? BEHIND : oracle_below(&state, BEHIND));
}

static void damage(uint8_t *runs, size_t size, uint64_t starts[SEGMENTS + 1])
{
    static const uint64_t odd[] = { 0, 1, 3, 131072, 1u << 31, UINT64_MAX, UINT64_MAX - 4, (uint64_t)1 << 63 };
    size_t which = oracle_below(&state, SEGMENTS + 1);
    if (oracle_below(&state, 2))
        runs[oracle_below(&state, size)] ^= (uint8_t)(1u << oracle_below(&state, 8));
    else if (oracle_below(&state, 2))
        starts[which] += odd[oracle_below(&state, sizeof odd / sizeof *odd)];
    else
        starts[which] = odd[oracle_below(&state, sizeof odd / sizeof *odd)];
}

/* What is found by four, twice, and by eight. */
static void test_look(const char *name)
{
    size_t wrong = 0, found = 0, missed = 0;
    for (int c = 0; c < 4000; c++) {
        static uint8_t runs[MOST_RUNS + 100 + BEHIND];
        struct azint_segments by_eight[2], by_four[2];
        uint64_t starts[SEGMENTS + 1];
        size_t size;
        make_segments(runs, &size, starts);
        for (int k = (int)oracle_below(&state, 3); c % 2 && k >= 0; k--)
            damage(runs, size, starts);
        /* Memory that ends there, so that sanitizers see what is read behind it. */
        uint8_t *exact = malloc(size);
        memcpy(exact, runs, size);
        bool sound = azint_segments_at(&by_four[0], exact, size, starts) &&
                     azint_segments_at(&by_four[1], exact, size, starts + 4);
        if (sides[1].ops->look(by_eight, exact, size, starts)) {
            uint32_t first = by_four[0].first < by_four[1].first ? by_four[0].first : by_four[1].first;
            uint32_t last = by_four[0].last > by_four[1].last ? by_four[0].last : by_four[1].last;
            found++;
            wrong += !sound || by_eight[0].live != by_four[0].live || by_eight[1].live != by_four[1].live ||
                     by_eight[0].first != first || by_eight[0].last != last || by_eight[1].last != last;
        } else {
            missed += sound && size == starts[SEGMENTS] + BEHIND;
        }
        free(exact);
    }
    ok(!wrong && !missed, "%s: eight segments: what is found of them by four (%zu differ, %zu missed)", name, wrong,
       missed);
    ok(found > 1000, "and that they are looked at together (%zu of 4000)", found);
}

/* --- Kernels in the thread of whoever launches them --- */

static void take_subnormals_for_0(void)
{
#if defined __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined __aarch64__
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | 1 << 24));
#endif
}

static void test_caller(void)
{
    fenv_t before;
    fegetenv(&before);
    take_subnormals_for_0();
    const bool fits = cpu_caller_fits();
    fesetenv(&before);
#if defined __linux__ && (defined __SSE__ || defined __aarch64__)
    ok(!fits && cpu_caller_fits(), "a thread that takes subnormal numbers for 0 runs no kernel, one as it is does");
#else
    skip(1, "unknown how to make a thread take subnormal numbers for 0 (%d)", fits);
#endif
}

int main(void)
{
    test_caller();
    sides[0].ops = azint_ops(CPU_SIMD_PORTABLE);
    sides[0].tiles = &sides[0].ops->tiles;
    for (int simd = CPU_SIMD_PORTABLE + 1; simd <= (int)cpu_simd_best(); simd++) {
        const char *name = cpu_simd_name((enum cpu_simd)simd);
        if ((int)cpu_simd_built((enum cpu_simd)simd) != simd)
            continue;
        sides[1].ops = azint_ops((enum cpu_simd)simd);
        sides[1].tiles = &sides[1].ops->tiles;
        test_sums(name);
        if ((sides[1].tiles = sides[1].ops->few))
            test_sums("of few frames");
        test_variance(name);
        test_pixels(name);
        if (sides[1].ops->look)
            test_look(name);
    }
    if (cpu_simd_best() == CPU_SIMD_PORTABLE)
        skip(1, "the portable variant alone is built, or runs here");
    return done_testing();
}
