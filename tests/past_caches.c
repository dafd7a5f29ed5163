/* past_caches.c - copies for devices: every byte and no other, wherever the two places begin. */
#include "tap.h"

#include <halcyon/backend.h>
#include <string.h>

enum { SIZE = 400, ROOM = SIZE + 256 };

static uint8_t from[ROOM], to[ROOM], want[ROOM];

static int is_copied(size_t dst, size_t src, size_t n)
{
    memset(to, 0xee, sizeof to);
    memset(want, 0xee, sizeof want);
    memcpy(want + dst, from + src, n);
    hcy_copy_past_caches(to + dst, from + src, n);
    return !memcmp(to, want, sizeof to);
}

int main(void)
{
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t dst = 0; dst < 64; dst++)
        for (size_t n = 0; n <= SIZE; n += n < 140 ? 1 : 13)
            wrong += !is_copied(dst, (dst * 5 + n) % 64, n);
    is_int((intmax_t)wrong, 0, "copies of 0 to %d bytes at all places of a line", SIZE);
    return done_testing();
}
