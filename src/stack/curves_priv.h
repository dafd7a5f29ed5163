/* curves_priv.h - what a format of curves is.
 *
 * A format has open, append and close; curves.c finds it by the path's suffix, checks arguments, and keeps
 * the first failure: after it nothing more is written.  `state` is the format's own.
 */
#ifndef HCY_STACK_CURVES_PRIV_H
#define HCY_STACK_CURVES_PRIV_H

#include "stack_priv.h"

enum { HCY__CONFIG_MASK, HCY__CONFIG_DARK, HCY__CONFIG_FLAT, HCY__CONFIG_MONITOR, HCY__CONFIG_FILES };

/* What a format needs to know at open; everything belongs to the caller.  The plan of curves along chi has the
 * azimuth in the radius's place, and no azimuth: n_azim is not 0 for images alone. */
typedef struct hcy__curves_head {
    const char *path;
    hcy_azint_plan_info plan;
    hcy_curves_options opts;
    int with_sigma;
    const hcy_azint_bin_norm *norms; /* [n_bins] */
    char *files[HCY__CONFIG_FILES]; /* of the configuration, from the root on: hcy__config_names() */
    const hcy_azint_plan *from;
} hcy__curves_head;

/* The file gets its name; it ends early and stays under the name it has (hcy_curves_stop); it is taken away. */
enum hcy__curves_end { HCY__WHOLE, HCY__STOPPED, HCY__DISCARDED };

typedef struct hcy__curves_format {
    const char *name;
    int (*open)(void **state, const hcy__curves_head *head);
    /* result NULL: the frame failed, `why` is then never NULL.  regions NULL: nothing is known of them. */
    int (*append)(void *state, uint64_t frame, const hcy_azint_result *result, const hcy_region_sums *regions,
                  const char *why);
    /* The name that the file has now, to which all curves were written that came; NULL: none did, or there is one a
     * frame. */
    const char *(*place)(void *state);
    /* Closes and frees.  HCY__STOPPED: it says so in itself. */
    int (*close)(void *state, enum hcy__curves_end end);
    /* hcy_curves_remark(); NULL: there is no place for one. */
    int (*remark)(void *state, const char *name, const char *text);
    int (*flush)(void *state); /* hcy_curves_flush(); NULL: each curve is in the file when append() returns */
} hcy__curves_format;

/* The members of hcy_region_sums, in their order. */
enum { HCY__REGION_VALUES = 7 };
extern const char *const hcy__region_values[HCY__REGION_VALUES];
void hcy__region_row(uint64_t row[HCY__REGION_VALUES], const hcy_region_sums *sums);

extern const hcy__curves_format hcy__curves_dat;
extern const hcy__curves_format hcy__curves_xy, hcy__curves_xye, hcy__curves_chi, hcy__curves_fxye;
extern const hcy__curves_format hcy__curves_edf;
extern const hcy__curves_format hcy__curves_h5;

/* pyFAI's words for the unit "q_A^-1" in HDF5: the space "q", the symbol "\\A^{-1}". */
void hcy__curves_unit_words(char space[32], char symbol[32], const char *unit);
/* "user provided", "from detector", "False": pyFAI's words for the mask of a plan; "the file's pixel_mask". */
const char *hcy__curves_mask_words(const hcy__curves_head *head);
/* pyFAI's names, in the order of hcy_azint_split and hcy_azint_errors; NULL ends them. */
extern const char *const hcy__config_splits[], *const hcy__config_errors[];
/* The names that a configuration has for the files of opts: whole paths, with the dataset of an HDF5 file, so that they
 * are found from anywhere.  Not with the lock of h5.h held.  HCY_ENOMEM; to be freed in any case. */
int hcy__config_names(hcy__curves_head *head);
void hcy__config_names_free(hcy__curves_head *head);
/* What pyFAI needs to make the same curves: its WorkerConfig (version 5) as JSON, freed by the caller. */
int hcy__curves_config(char **json, const hcy__curves_head *head);

#endif
