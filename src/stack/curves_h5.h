/* curves_h5.h - what a file of curves in HDF5 has that is written once, before its rows.  All under HDF5's lock. */
#ifndef HCY_STACK_CURVES_H5_H
#define HCY_STACK_CURVES_H5_H

#include "curves_priv.h"
#include "h5_file.h"

#define HCY__CURVES_ENTRY   "/entry_0000"
#define HCY__CURVES_PROCESS HCY__CURVES_ENTRY "/integrate"
#define HCY__CURVES_RESULTS HCY__CURVES_PROCESS "/results"

/* Frames without a curve, as a file says that has some. */
typedef struct hcy__lost_frames {
    uint64_t n, first;
} hcy__lost_frames;
/* One frame more, or those of another file. */
void hcy__lost_add(hcy__lost_frames *lost, hcy__lost_frames more);
/* What a file says of it, instead of what it has said; and is read: none where it says nothing. */
int hcy__lost_put(hid_t file, hcy__lost_frames lost);
hcy__lost_frames hcy__lost_get(hid_t file);

/* Now, as NeXus writes it. */
void hcy__now_text(char date[32]);
/* All groups but that of regions, and what describes the run (curves_h5_head.c). */
int hcy__curves_put_head(hcy__h5_file *out, const hcy__curves_head *head);
/* Axes and the bins' pixels and norms, to the group of the results. */
int hcy__curves_put_axes(hid_t group, const hcy__curves_head *head);
/* The same results as NXazint1d or NXazint2d, by links to them, where the definition has room for their unit
 * (curves_h5_azint.c). */
int hcy__curves_put_azint(hcy__h5_file *out, const hcy__curves_head *head);

#endif
