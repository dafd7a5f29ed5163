/* curves_h5.c - curves as HDF5: one row a frame, with what made them as attributes.
 *
 *   /entry            NXentry
 *   /entry/azint      NXdata: radial[n], intensity[frames][n], sigma[frames][n], frame[frames]
 *
 * Rows are gathered to blocks of about 128 KiB, and reach the file at the latest a second after they came.
 * After a failure the datasets end with the last row known to be in the file.
 */
#include "curves_priv.h"
#include "h5_file.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK_BYTES = 128 * 1024 };
#define FLUSH_NS 1000000000ull
static const char group_path[] = "/entry/azint";

enum { FRAME, INTENSITY, SIGMA, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = { "frame", "intensity", "sigma" };

struct column {
    hid_t dataset; /* -1: there is no such column */
    hid_t type;
    size_t row;  /* elements */
    char *block; /* rows that wait; 8 bytes an element */
};

struct h5 {
    hcy__h5_file *file;
    struct column columns[N_COLUMNS];
    size_t n_bins, block_rows;
    size_t waiting;   /* rows in the blocks */
    uint64_t rows;    /* in the datasets */
    uint64_t on_disk; /* rows that a flush has taken to the file */
    uint64_t flushed_ns;
};

/* --- Creating --- */

static int put_radial(hid_t group, const hcy__curves_head *head)
{
    const hcy_azint_unit *unit = head->plan.unit;
    hsize_t n = head->plan.n_bins;
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t data = H5Dcreate2(group, "radial", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int st =
        data < 0 || H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, head->plan.radial) < 0
            ? hcy__h5_fail(HCY_EIO, "%s: the bins cannot be written", head->path)
            : 0;
    if (!st)
        st = hcy__h5_put_text(data, "units", unit->symbol);
    if (!st)
        st = hcy__h5_put_text(data, "unit", unit->name);
    if (!st)
        st = hcy__h5_put_text(data, "long_name", unit->label);
    if (data >= 0)
        H5Dclose(data);
    H5Sclose(space);
    return st;
}

/* Rows without end; what is not written reads as NaN. */
static int create_column(struct h5 *h5, hid_t group, int which, const char *path)
{
    struct column *c = &h5->columns[which];
    int rank = which == FRAME ? 1 : 2;
    double nan_value = NAN;
    c->row = which == FRAME ? 1 : h5->n_bins;
    c->type = which == FRAME ? H5T_NATIVE_UINT64 : H5T_NATIVE_DOUBLE;
    c->block = malloc(h5->block_rows * c->row * 8);
    hsize_t dims[2] = { 0, c->row }, most[2] = { H5S_UNLIMITED, c->row };
    hsize_t chunk[2] = { which == FRAME ? 1024 : h5->block_rows, c->row };
    hid_t space = H5Screate_simple(rank, dims, most), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, rank, chunk);
    if (which != FRAME)
        H5Pset_fill_value(plist, H5T_NATIVE_DOUBLE, &nan_value);
    c->dataset = H5Dcreate2(group, column_names[which], which == FRAME ? H5T_STD_U64LE : H5T_IEEE_F64LE,
                            space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Pclose(plist);
    H5Sclose(space);
    if (!c->block)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    return c->dataset < 0
               ? hcy__h5_fail(HCY_EIO, "%s: dataset %s cannot be created", path, column_names[which])
               : 0;
}

/* NXdata's axes: one name a dimension, "." where there is none. */
static int put_axes(hid_t group, const char *path)
{
    static const char axes[2][8] = { "frame", "radial" };
    hsize_t n = 2;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
    H5Tset_size(type, sizeof axes[0]);
    hid_t attribute = H5Acreate2(group, "axes", type, space, H5P_DEFAULT, H5P_DEFAULT);
    int st = attribute < 0 || H5Awrite(attribute, type, axes) < 0
                 ? hcy__h5_fail(HCY_EIO, "%s: attribute 'axes' cannot be written", path)
                 : 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return st;
}

static int put_texts(hid_t group, const hcy__curves_head *head)
{
    char version[32], date[32] = "", poni[2048] = "";
    const char *source = NULL, *dataset = NULL;
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(version, sizeof version, "%s", hcy_version());
    int st = hcy_poni_format(poni, sizeof poni, NULL, &head->plan.poni);
    if (st)
        return st;
    if (head->opts.source) {
        source = hcy_stack_get_info(head->opts.source)->path;
        dataset = hcy_stack_get_info(head->opts.source)->dataset;
    }
    const char *const texts[][2] = {
        { "signal", "intensity" },
        { "program", "halcyon" },
        { "version", version },
        { "date", date },
        { "unit", head->plan.unit->name },
        { "plan", head->plan.hash },
        { "device", head->opts.devices },
        { "geometry", poni },
        { "mask", hcy__curves_mask_words(head) },
        { "mask_file", head->opts.mask },
        { "configuration", head->opts.config },
        { "source", source },
        { "source_dataset", dataset },
    };
    for (size_t i = 0; !st && i < sizeof texts / sizeof texts[0]; i++)
        st = hcy__h5_put_text(group, texts[i][0], texts[i][1]);
    return st;
}

static int create(struct h5 *h5, const hcy__curves_head *head)
{
    int st = hcy__h5_file_create(&h5->file, head->path);
    if (!st)
        st = hcy__h5_put_group(h5->file->id, "/entry", "NXentry");
    if (!st)
        st = hcy__h5_put_group(h5->file->id, group_path, "NXdata");
    if (st)
        return st;
    st = hcy__h5_put_text(h5->file->id, "default", "entry"); /* viewers plot what these lead to */
    hid_t entry = H5Gopen2(h5->file->id, "/entry", H5P_DEFAULT);
    if (!st)
        st = hcy__h5_put_text(entry, "default", "azint");
    H5Gclose(entry);
    if (st)
        return st;
    hid_t group = H5Gopen2(h5->file->id, group_path, H5P_DEFAULT);
    st = put_axes(group, head->path);
    if (!st)
        st = put_texts(group, head);
    if (!st && head->plan.options.use_polarization)
        st = hcy__h5_put_number(group, "polarization_factor", head->plan.options.polarization);
    if (!st)
        st = hcy__h5_put_number(group, "normalization_factor", head->plan.options.normalization);
    if (!st)
        st = put_radial(group, head);
    for (int i = 0; !st && i < N_COLUMNS; i++)
        if (i != SIGMA || head->with_sigma)
            st = create_column(h5, group, i, head->path);
    H5Gclose(group);
    return st ? st : hcy__h5_file_flush(h5->file);
}

/* --- Rows --- */

static int write_column(struct h5 *h5, int which)
{
    struct column *c = &h5->columns[which];
    int rank = which == FRAME ? 1 : 2;
    hsize_t start[2] = { h5->rows, 0 }, count[2] = { h5->waiting, c->row };
    hsize_t dims[2] = { h5->rows + h5->waiting, c->row };
    H5Dset_extent(c->dataset, dims);
    hid_t space = H5Dget_space(c->dataset), memory = H5Screate_simple(rank, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    herr_t done = H5Dwrite(c->dataset, c->type, memory, space, H5P_DEFAULT, c->block);
    int st = done < 0 ? hcy__h5_fail(HCY_EIO, "%s: rows cannot be written", h5->file->path) : 0;
    H5Sclose(memory);
    H5Sclose(space);
    return st;
}

static int write_waiting(struct h5 *h5)
{
    int st = 0;
    for (int i = 0; !st && h5->waiting && i < N_COLUMNS; i++)
        if (h5->columns[i].dataset >= 0)
            st = write_column(h5, i);
    if (st)
        return st;
    h5->rows += h5->waiting;
    h5->waiting = 0;
    return hcy__h5_file_status(h5->file);
}

static int flush(struct h5 *h5)
{
    int st = write_waiting(h5);
    if (!st)
        st = hcy__h5_file_flush(h5->file);
    if (!st)
        h5->on_disk = h5->rows;
    h5->flushed_ns = hcy_now_ns();
    return st;
}

static void put_row(struct h5 *h5, int which, const double *values)
{
    const struct column *c = &h5->columns[which];
    if (c->dataset < 0)
        return;
    double *row = (double *)(void *)c->block + h5->waiting * c->row;
    for (size_t i = 0; i < c->row; i++)
        row[i] = values ? values[i] : NAN;
}

static int h5_append(void *state, uint64_t frame, const hcy_azint_result *result, const char *why)
{
    (void)why;
    struct h5 *h5 = state;
    ((uint64_t *)(void *)h5->columns[FRAME].block)[h5->waiting] = frame;
    put_row(h5, INTENSITY, result ? result->intensity : NULL);
    put_row(h5, SIGMA, result ? result->sigma : NULL);
    h5->waiting++;
    int late = hcy_now_ns() - h5->flushed_ns > FLUSH_NS;
    if (h5->waiting < h5->block_rows && !late)
        return 0;
    hcy__h5_lock();
    int st = late ? flush(h5) : write_waiting(h5);
    hcy__h5_unlock();
    return st;
}

/* --- Closing --- */

static void cut_to(struct h5 *h5, uint64_t rows)
{
    for (int i = 0; i < N_COLUMNS; i++) {
        hsize_t dims[2] = { rows, h5->columns[i].row };
        if (h5->columns[i].dataset >= 0)
            H5Dset_extent(h5->columns[i].dataset, dims);
    }
}

static int h5_close(void *state)
{
    struct h5 *h5 = state;
    hcy__h5_lock();
    int st = h5->file ? hcy__h5_file_status(h5->file) : 0;
    if (!st && h5->file)
        st = flush(h5);
    if (st)
        cut_to(h5, h5->on_disk);
    for (int i = 0; i < N_COLUMNS; i++) {
        if (h5->columns[i].dataset >= 0)
            H5Dclose(h5->columns[i].dataset);
        free(h5->columns[i].block);
    }
    int closed = hcy__h5_file_close(h5->file);
    hcy__h5_unlock();
    free(h5);
    return st ? st : closed;
}

static int h5_open(void **state, const hcy__curves_head *head)
{
    struct h5 *h5 = calloc(1, sizeof *h5);
    if (!h5)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    for (int i = 0; i < N_COLUMNS; i++)
        h5->columns[i].dataset = -1;
    h5->n_bins = head->plan.n_bins;
    h5->block_rows = BLOCK_BYTES / 8 / h5->n_bins;
    h5->block_rows = h5->block_rows < 1 ? 1 : h5->block_rows > 1024 ? 1024 : h5->block_rows;
    hcy__h5_lock();
    int st = create(h5, head);
    hcy__h5_unlock();
    h5->flushed_ns = hcy_now_ns();
    if (st) {
        hcy_error why = *hcy_last_error();
        (void)!h5_close(h5);
        return hcy_fail_again(&why);
    }
    *state = h5;
    return 0;
}

const hcy__curves_format hcy__curves_h5 = { "h5", ".h5.hdf5.nxs.", h5_open, h5_append, h5_close };
