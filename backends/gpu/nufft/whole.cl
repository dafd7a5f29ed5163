/* whole.cl - all passes of a line in one launch, where a group's local memory has room for its numbers twice: memory
 * sees a line read and written once, whatever its passes.  The operations are those of lines.cl, in its order.
 *
 * A group has `lines` lines: neighbours of a slower axis, or, of the fastest axis, lines one behind the other.  The
 * first pass reads memory, the last one writes it; a line is read before it is written, so both may be one place. */
#pragma once
#include "gpu_format.h"

/* Where local memory is what the text says. */
#ifndef WHOLE_BYTES
#define WHOLE_BYTES 32768
#endif

/* Number e of the group's line l; every eight lie one further on: lanes eight numbers apart meet different banks. */
DEVICE u32 whole_place(const struct gpu_nufft_whole *w, u32 e, u32 l)
{
    return (e + (e >> 3)) * w->step + l * w->line;
}

/* Where in memory line number `line` of a block begins. */
DEVICE u64 whole_line(const struct gpu_nufft_pass *p, u64 o, u32 line)
{
    if (p->inner == 1)
        return line * p->n;
    const u32 near = (u32)p->ends[0].n;
    return o * p->n * p->inner + cell_with_modes(line % near, &p->ends[0]) +
           cell_with_modes(line / near, &p->ends[1]) * p->row;
}

/* A pass over lines first to first + lines - 1 of block o, of those that there are. */
#define WHOLE_PASS(RADIX)                                                                                        \
    DEVICE void whole_pass_##RADIX(const struct gpu_nufft_whole *w, u32 done, u64 o, u32 first, const C *from,   \
                                   const C *roots, NEAR const C *room, NEAR C *next, C *to)                      \
    {                                                                                                            \
        const struct gpu_nufft_pass *p = &w->pass;                                                               \
        const u32 part = (u32)p->n / RADIX;                                                                      \
        const u32 lines = w->count - first < w->lines ? (u32)w->count - first : w->lines;                        \
        for (u32 i = ITEM; i < part * lines; i += GROUP_SIZE) {                                                  \
            const u32 b = p->inner > 1 ? i / lines : i % part, l = p->inner > 1 ? i % lines : i / part;          \
            const u32 j = b / done, q = b - j * done;                                                            \
            const u64 line = done == 1 || done * RADIX == p->n ? whole_line(p, o, first + l) : 0;                \
            C a[RADIX];                                                                                          \
            UNROLL                                                                                               \
            for (int k = 0; k < RADIX; k++)                                                                      \
                a[k] = done > 1 ? room[whole_place(w, b + part * k, l)] : read_number(p, from, line, b + part * k);\
            line_short_##RADIX(a);                                                                               \
            UNROLL                                                                                               \
            for (int k = 0; k < RADIX; k++) {                                                                    \
                const u32 e = q + done * (RADIX * j + k);                                                        \
                const C x = TURNED(RADIX, a, j, k, roots);                                                       \
                if (done * RADIX < p->n)                                                                         \
                    next[whole_place(w, e, l)] = x;                                                              \
                else                                                                                             \
                    to[line + e * p->inner] = exchanged(x, p->backward);                                         \
            }                                                                                                    \
        }                                                                                                        \
    }
WHOLE_PASS(2)
WHOLE_PASS(3)
WHOLE_PASS(4)
WHOLE_PASS(5)
WHOLE_PASS(7)
WHOLE_PASS(8)

#define WHOLE_CASE(RADIX)                                                      \
    case RADIX:                                                                \
        whole_pass_##RADIX(&w, done, o, first, from, root, room, next, to);    \
        break;

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_whole(struct gpu_nufft_whole w, BUFFER(const C, from), BUFFER(const C, roots), BUFFER(C, to))
{
    OPEN(const C, from) OPEN(const C, roots) OPEN(C, to)
    DYNAMIC_LOCAL(bytes, WHOLE_BYTES);
    const u64 blocks = w.pass.inner > 1 ? w.pass.outer : 1;
    for (u64 o = GROUP_Y; o < blocks; o += GROUPS_Y)
        for (u64 first = (u64)GROUP * w.lines; first < w.count; first += (u64)GROUPS * w.lines) {
            NEAR C *room = (NEAR C *)bytes, *next = room + w.room;
            const C *root = roots;
            u32 done = 1;
            NO_UNROLL
            for (u32 i = 0; i < w.passes; i++) {
                const u32 radix = w.radices >> 4 * i & 15;
                switch (radix) {
                    WHOLE_CASE(2)
                    WHOLE_CASE(3)
                    WHOLE_CASE(4)
                    WHOLE_CASE(5)
                    WHOLE_CASE(7)
                    WHOLE_CASE(8)
                }
                BARRIER();
                done *= radix;
                root += (u32)w.pass.n / done * (radix - 1);
                NEAR C *const full = next;
                next = room;
                room = full;
            }
        }
}
