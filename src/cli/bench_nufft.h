/* bench_nufft.h - the cells of `halcyon bench nufft` for another command.  Single-threaded. */
#ifndef CLI_BENCH_NUFFT_H
#define CLI_BENCH_NUFFT_H

#include <halcyon/nufft.h>

struct nufft_figures {
    double set, run, error; /* seconds; relative, against direct sums */
    hcy_nufft_info info;    /* ours alone */
};
/* A cell of the table: the device's figures, and FINUFFT's where it is there. */
struct nufft_row {
    const char *name;
    int dim, type, single;
    double eps;
    size_t points; /* of all vectors */
    struct nufft_figures ours, peer;
    int has_peer;
};
/* Whether there are cells with `part` in their names: CLI_OK, or CLI_USAGE with the message printed. */
int bench_nufft_check_cells(const char *part);
/* Whether, where `finufft` is not NULL, there is such a library: HCY_*, and nothing is printed. */
int bench_nufft_check_peer(const char *finufft);

typedef void bench_nufft_take(void *payload, const struct nufft_row *row);

/* The cells with `part` in their names (NULL: all) on an open device, quickly; FINUFFT with so many threads, of this
 * library or where the system has it.  CLI_*, with the message printed. */
int bench_nufft_rows(hcy_device *device, const char *part, int threads, const char *finufft, int64_t points,
                     bench_nufft_take *take, void *payload);

#endif
