/* platforms.h - the cards that the virtual board can be: mkxclbin writes programs for them, the driver shows them. */
#ifndef HCY_BOARD_PLATFORMS_H
#define HCY_BOARD_PLATFORMS_H

#include <stdint.h>
#include <string.h>

struct platform {
    const char *name;  /* for --platform */
    const char *vbnv;  /* as XRT names it; the prefix says to the backend that nothing of it is hardware */
    const char *tag;   /* of its memories */
    uint8_t type;      /* XCLBIN_DDR4, XCLBIN_HBM */
    int32_t n_banks;   /* memories; without a link file unit i of a kernel is connected to memory i % n_banks alone */
    int32_t host;      /* behind them one memory of the host's, HOST[0] */
    uint64_t bank_kib; /* address space: a page becomes memory when it is used */
};

/* "hbm": one memory, as a card's HBM is when every port may reach all of it; "channels": a U55C's pseudo-channels, each
 * for itself. */
static const struct platform platforms[] = {
    { "hbm", "halcyon_virtual_hbm_1", "HBM", 6, 1, 0, (uint64_t)16 << 20 },
    { "ddr", "halcyon_virtual_ddr_1", "DDR", 1, 2, 0, (uint64_t)256 << 10 },
    { "channels", "halcyon_virtual_channels_1", "HBM", 6, 32, 1, (uint64_t)512 << 10 },
};
#define N_PLATFORMS (sizeof platforms / sizeof platforms[0])

/* NULL: there is none of that name. */
static inline const struct platform *platform_of(const char *name)
{
    for (size_t i = 0; i < N_PLATFORMS; i++)
        if (!strcmp(platforms[i].name, name))
            return &platforms[i];
    return NULL;
}

/* Memories lie apart, so that what is just outside of one is nowhere. */
#define BANK_BASE(p, i) (((p)->bank_kib * 1024 + ((uint64_t)1 << 30)) * (uint64_t)(i) + 4096)

#endif
