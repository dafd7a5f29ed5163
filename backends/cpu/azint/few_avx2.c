/* few_avx2.c - runs looked at by eight segments at once (few.c).  No state; any thread. */
#include "azint/azint_eight_avx2.h"
#include "cpu_azint.h"

bool azint_look_avx2(struct azint_segments segments[2], const uint8_t *runs, size_t size, const uint64_t *starts)
{
    uint16_t live[8];
    uint32_t first, last;
    if (!azint_eight_segments(live, &first, &last, runs, size, starts))
        return false;
    memcpy(&segments[0].live, live, sizeof segments[0].live);
    memcpy(&segments[1].live, live + 4, sizeof segments[1].live);
    /* The bins of all eight. */
    segments[0].first = segments[1].first = first;
    segments[0].last = segments[1].last = last;
    return true;
}
