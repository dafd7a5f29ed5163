/* gpu_tuning.h - what differs by device is a parameter of compilation: rows of parameters, of which one is a device's.
 *
 * By default it is the row that suits its kind.  A device string may name another ("@row=2"), and have it kept for this
 * device, driver and version of the kernels ("@keep=1"), which `halcyon bench --tune` does once it has measured them.
 * A choice is settled when its device is opened and does not change; kept ones are files, safe between processes.
 */
#ifndef HCY_GPU_TUNING_H
#define HCY_GPU_TUNING_H

#include <halcyon/backend.h>
#include <stdbool.h>

struct gpu_row {
    uint32_t decode_blocks; /* of a group that decodes to images, GPU_LANES each */
    uint32_t parse_blocks;  /* that GPU_LANES of `parse` take: more wait for one another */
    uint32_t image_group;   /* items of a group that sums images */
    uint32_t frames_alone;  /* that a processor sums together */
};

struct gpu_choice {
    int64_t row; /* none until it is settled: GPU_NO_ROW */
    bool keep;
};
#define GPU_NO_ROW (-1)
enum { GPU_ROWS = 4 };
/* What a device string says of it, for the table of a backend whose settings have a gpu_choice. */
#define GPU_ROW_OPTION(settings)  \
    { "row", HCY_OPTION_INT, offsetof(settings, choice.row), "its kernels' parameters", 0, GPU_ROWS - 1, NULL }
#define GPU_KEEP_OPTION(settings) \
    { "keep", HCY_OPTION_BOOL, offsetof(settings, choice.keep), "that row from now on", 0, 0, NULL }

/* Whose Fourier transforms: nobody's word (-1), our own (0), the library's (1); and the device's number that says
 * whether they are our own. */
#define GPU_OWN_FFT "own_fft"
#define GPU_FFT_OPTION(settings, names) \
    { "fft", HCY_OPTION_WORD, offsetof(settings, fft), "whose Fourier transforms", 0, 0, names }
/* HCY_EUNSUPPORTED: the library is asked for and not there. */
int gpu_check_fft(int fft, bool has_library, const char *name);

/* What a choice depends on. */
struct gpu_tuned {
    const char *backend;
    uint64_t key;       /* of the device and its driver */
    size_t local_bytes; /* of a group; 0: not known */
    bool alone;         /* a processor */
};

/* The row of a settled choice; the first of a choice that never was. */
const struct gpu_row *gpu_row_of(const struct gpu_choice *choice);
/* Checks a row that was named and keeps it if that is asked for; else finds what was kept, else the default. */
int gpu_choice_settle(struct gpu_choice *choice, const struct gpu_tuned *of);
/* "tuning_rows" and "tuning_row" of a device's numbers; false for any other key. */
bool gpu_choice_number(int64_t *value, const struct gpu_choice *choice, const char *key);

#endif
