/* fft.cl - Fourier transforms of any lengths: the passes of lines.cl, and between them numbers that are copied to
 * lines of another length, multiplied by a table, or real; and real lines that are complex ones of half as many. */
#pragma once
#include "nufft/lines.cl"
#include "fft_real.h"

/* Number e of a line that has map.from numbers, of which those behind are zeros, or the first ones' conjugates. */
DEVICE C mapped_number(const REAL *numbers, const struct gpu_fft_map *map, u64 line, u64 e)
{
    const u64 last = map->mirrored && e >= map->from ? map->to - e : e;
    const u64 at = line + last * map->inner;
    if (last >= map->from)
        return line_number(0, 0);
    if (map->from_real)
        return line_number(numbers[at], 0);
    return line_number(numbers[2 * at], last == e ? numbers[2 * at + 1] : -numbers[2 * at + 1]);
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_fft_map(struct gpu_fft_map map, BUFFER(const REAL, from), BUFFER(const C, table), BUFFER(REAL, to))
{
    OPEN(const REAL, from) OPEN(const C, table) OPEN(REAL, to)
    for (u64 o = GROUP_Y; o < map.outer; o += GROUPS_Y)
        for (u64 i = ITEM_OF_ALL; i < map.to * map.inner; i += (u64)GROUPS * GROUP_SIZE) {
            const u64 e = i / map.inner, at = o * map.to * map.inner + i;
            C x = mapped_number(from, &map, o * map.from * map.inner + i % map.inner, e);
            x = exchanged(x, map.exchanged_before);
            if (map.multiplies)
                x = line_times(x, table[e]);
            x = exchanged(x, map.exchanged_behind);
            if (map.to_real) {
                to[at] = x.re;
            } else {
                to[2 * at] = x.re;
                to[2 * at + 1] = x.im;
            }
        }
}

/* Behind the transforms of n complex numbers, to the first n + 1 of 2 n real ones' (fft_real.h); an item has numbers k
 * and n - k.  roots: exp(-pi i k / n). */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_fft_split(struct gpu_fft_real real, BUFFER(const C, from), BUFFER(const C, roots), BUFFER(C, to))
{
    OPEN(const C, from) OPEN(const C, roots) OPEN(C, to)
    const u64 h = real.n;
    for (u64 o = GROUP_Y; o < real.lines; o += GROUPS_Y)
        for (u64 k = ITEM_OF_ALL; 2 * k <= h; k += (u64)GROUPS * GROUP_SIZE) {
            const u64 line = o * h, own = line + o;
            C low, high;
            line_split_pair(&low, &high, from[line + k], from[line + (k ? h - k : 0)], roots[k]);
            to[own + k] = low;
            to[own + h - k] = high;
        }
}

/* Back. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_fft_join(struct gpu_fft_real real, BUFFER(const C, from), BUFFER(const C, roots), BUFFER(C, to))
{
    OPEN(const C, from) OPEN(const C, roots) OPEN(C, to)
    const u64 h = real.n;
    for (u64 o = GROUP_Y; o < real.lines; o += GROUPS_Y)
        for (u64 k = ITEM_OF_ALL; 2 * k <= h; k += (u64)GROUPS * GROUP_SIZE) {
            const u64 line = o * h, own = line + o;
            C a = from[own + k], b = from[own + h - k], low, high;
            /* The first number and the last one are real, whatever they are. */
            if (!k)
                a.im = b.im = 0;
            line_join_pair(&low, &high, a, b, roots[k]);
            to[line + k] = low;
            if (k)
                to[line + h - k] = high;
        }
}
