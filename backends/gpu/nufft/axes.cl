/* axes.cl - between modes and the transformed grid, an axis at a time, without the zeros that are put in or what is cut
 * away: a line has numbers of modes on its one side, which are multiplied by the axis' factors, and of cells on the
 * other.  Numbers of modes stand in the modes' own order, at the line's beginning; so all axes but the first one, which
 * has the modes themselves, are transformed where they are.
 *
 * Lines are transformed in registers (registers.cl).
 */
#pragma once
#define ROOT_STEP 1
#define WIDTH axis.width
#define PAD_EVERY (R0 % 2 ? LENGTH : R0 < 8 ? 8 : R0)
#include "nufft/registers.cl"

/* Modes are at both ends of the axis: M of LENGTH numbers. */
#define BELOW (M / 2)
#define FIRST (M - BELOW)
#define LAST_END (LENGTH - BELOW)
#define HAS_MODE(e) ((e) < FIRST || (e) >= LAST_END)
/* Whether all items' numbers k of RADIX have one, or some have: constants, so that what is read is known. */
#define ALL_HAVE(k, RADIX) (PLACE((k) + 1, RADIX) <= FIRST || PLACE(k, RADIX) >= LAST_END)
#define SOME_HAVE(k, RADIX) (PLACE(k, RADIX) < FIRST || PLACE((k) + 1, RADIX) > LAST_END)
#define MODE_PLACE(e) ((e) < FIRST ? (e) + axis.low : (e) - axis.high)
#define MODE_FACTOR(e) factors[(e) < FIRST ? (e) + BELOW : (e) - LAST_END]

#define IN_ORDER(x) (axis.backward ? reg_exchanged(x) : (x))

/* Where the group's first line begins, by how far its side's numbers are apart; and from there to line l. */
#if STRIDED
#define LINE_AT(memory, apart) ((memory) + row / (uint32_t)axis.rows * (apart).item + \
                                row % (uint32_t)axis.rows * (apart).row + first)
#else
#define ROW const uint64_t first = (uint64_t)GROUP * LINES;
#define LINE_AT(memory, apart) ((memory) + first * LENGTH)
#endif
#define LINE_BEHIND(l) (STRIDED ? (l) : (l) * LENGTH)

/* One or the other: half as much to compile. */
#if TO_GRID

KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_axis_to_grid(struct gpu_nufft_axis axis, BUFFER(const C, modes), BUFFER(const REAL, factors),
                      BUFFER(const C, roots), BUFFER(C, grid))
{
    NUMBERS
    OPEN(const C, modes) OPEN(const REAL, factors) OPEN(const C, roots) OPEN(C, grid)
    ROW
    const C *from = LINE_AT(modes, axis.modes);
    C *to = LINE_AT(grid, axis.grid);
    EACH(R0)
    const C *from_l = from + LINE_BEHIND(LINE_OR_FIRST(l));
    EACH_NUMBER(R0) {
        /* Without a branch: where some have a mode, who has none reads the first one, which does not count. */
        const bool has = ALL_HAVE(k, R0) || HAS_MODE(t + PLACE(k, R0));
        const uint32_t e = has ? t + PLACE(k, R0) : 0;
        C x = reg_number(0, 0);
        if (SOME_HAVE(k, R0))
            x = reg_scaled(from_l[MODE_PLACE(e) * axis.modes.step], MODE_FACTOR(e));
        a[own][k] = has ? IN_ORDER(x) : reg_number(0, 0);
    }
    END
    FORWARD
    EACH(RL)
    C *to_t = to + LINE_BEHIND(l) + t * axis.grid.step;
    if (IS_LINE(l))
        EACH_NUMBER(RL)
            to_t[PLACE(k, RL) * axis.grid.step] = IN_ORDER(a[own][k]);
    END
}

#else

KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_axis_to_modes(struct gpu_nufft_axis axis, BUFFER(C, modes), BUFFER(const REAL, factors),
                       BUFFER(const C, roots), BUFFER(const C, grid))
{
    NUMBERS
    OPEN(C, modes) OPEN(const REAL, factors) OPEN(const C, roots) OPEN(const C, grid)
    ROW
    C *to = LINE_AT(modes, axis.modes);
    const C *from = LINE_AT(grid, axis.grid);
    EACH(R0)
    const C *from_t = from + LINE_BEHIND(LINE_OR_FIRST(l)) + t * axis.grid.step;
    EACH_NUMBER(R0)
        a[own][k] = IN_ORDER(from_t[PLACE(k, R0) * axis.grid.step]);
    END
    FORWARD
    EACH(RL)
    C *to_l = to + LINE_BEHIND(l);
    if (IS_LINE(l))
        EACH_NUMBER(RL) {
            const uint32_t e = t + PLACE(k, RL);
            if (ALL_HAVE(k, RL) || (SOME_HAVE(k, RL) && HAS_MODE(e)))
                to_l[MODE_PLACE(e) * axis.modes.step] = reg_scaled(IN_ORDER(a[own][k]), MODE_FACTOR(e));
        }
    END
}

#endif
