/* mutate.h - damage for tests of hostile input: bits, special bytes, runs, copies, lost bytes, cut ends. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdint.h>
#include <string.h>

static uint64_t state; /* of the generator: a seed */

static inline uint64_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = state ^ state >> 33;
    x *= 0xff51afd7ed558ccdu;
    return x ^ x >> 33;
}

/* A few changes of one kind, somewhere; returns the new size (never more than the old). */
static inline size_t mutate(uint8_t *bytes, size_t size)
{
    static const uint8_t special[] = { 0, 1, 0x0f, 0x10, 0x1f, 0x7f, 0x80, 0xf0, 0xfe, 0xff };
    size_t changes = 1 + next() % 4;
    for (size_t i = 0; i < changes; i++) {
        size_t at = next() % size;
        if (next() % 4 == 0)
            at = next() % (size < 64 ? size : 64); /* headers */
        size_t n = 1 + next() % 16;
        n = n < size - at ? n : size - at;
        switch (next() % 6) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << next() % 8);
            break;
        case 1:
            bytes[at] = special[next() % sizeof special];
            break;
        case 2:
            memset(bytes + at, (int)next(), n);
            break;
        case 3:
            memmove(bytes + at, bytes + next() % (size - n + 1), n);
            break;
        case 4:
            memmove(bytes + at, bytes + at + n, size - at - n); /* bytes lost, the rest moves up */
            break;
        default:
            if (next() % 4 == 0 && size > 16)
                size -= next() % 16 + 1;
        }
    }
    return size;
}

#endif
