/* curves_h5.c - curves as HDF5, in the layout of pyFAI's HDF5Writer: one row a frame.
 *
 *   /entry_0000                          NXentry
 *   /entry_0000/measurement              NXdata: links to the frames, where they are HDF5
 *   /entry_0000/integrate                NXprocess: program, version, date
 *   /entry_0000/integrate/configuration  NXnote: pyFAI's WorkerConfig as JSON
 *   /entry_0000/integrate/halcyon        NXcollection: what pyFAI has no place for
 *   /entry_0000/integrate/results        NXdata: radial[n], data[frames][n], data_errors[frames][n], and
 *                                        frame[frames], masked[frames] (pixels that were invalid in this frame
 *                                        alone), pixels[n] (those of each bin) and norm[n] (what a frame that lost
 *                                        none is divided by), which pyFAI has not; of images chi[n_azim],
 *                                        data[frames][n_azim][n], data_errors[frames][n_azim][n], pixels[n_azim][n],
 *                                        norm[n_azim][n]; where sums are wanted, of each frame sum_signal,
 *                                        sum_variance, sum_normalization, sum_normalization2 and count, as data
 *   /entry_0000/integrate/regions        NXdata, where there are regions: name[regions], box[regions][4], and
 *                                        sum[frames][regions], min, max, valid, invalid, zero, above
 *   /azint                               NXentry: the same as NXazint1d or NXazint2d (curves_h5_azint.c)
 *
 * Curves and sums are float64.  Images are float32, as pyFAI's: their bins have few counts, and writing them as float64
 * was a quarter of the processors' time of a run.
 *
 * Rows are gathered to blocks of about 128 KiB.  The first row that comes a second after a flush takes all to the file,
 * or hcy_curves_flush() where none comes;
 * where none comes, they wait for the end.
 * Between two flushes nothing that is already in the file changes, so a process that is killed leaves a file
 * that ends with the last flush.  After a failure the datasets end with the last row known to be in it.
 */
#include "curves_h5.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 128 * 1024 };
#define FLUSH_NS 1000000000ull
#define ENTRY    HCY__CURVES_ENTRY
#define PROCESS  HCY__CURVES_PROCESS
#define RESULTS  HCY__CURVES_RESULTS
#define REGIONS  PROCESS "/regions"

/* Numbers of a frame, values of its bins, sums of these where they are wanted, and numbers of its regions,
 * hcy__region_values. */
enum {
    FRAME, MASKED, INTENSITY, SIGMA, SIGNAL, VARIANCE, NORM, NORM2, COUNT,
    N_RESULTS, N_COLUMNS = N_RESULTS + HCY__REGION_VALUES
};
static const struct {
    const char *name, *long_name;
} column_names[N_RESULTS] = {
    { "frame", NULL },
    { "masked", NULL },
    { "data", "intensity" }, /* these words are NXazint1d's */
    { "data_errors", "estimated intensity error" },
    { "sum_signal", "sum of the pixels" }, /* these names are those of pyFAI's results */
    { "sum_variance", "sum of their variances" },
    { "sum_normalization", "what the sum is divided by" },
    { "sum_normalization2", "sum of the squares of its parts" },
    { "count", "pixels" },
};

static int is_wanted(const hcy__curves_head *head, int which)
{
    int of_errors = which == SIGMA || which == VARIANCE;
    return (which < SIGNAL || head->opts.sums) && (!of_errors || head->with_sigma);
}

static int is_number(int which)
{
    return which <= MASKED;
}

static int is_of_regions(int which)
{
    return which >= N_RESULTS;
}

static const char *name_column(int which)
{
    return is_of_regions(which) ? hcy__region_values[which - N_RESULTS] : column_names[which].name;
}

struct column {
    hid_t dataset; /* -1: there is no such column */
    hid_t type;
    size_t row;  /* elements */
    void *block; /* rows that wait: uint64_t, double, of images float */
};

struct h5 {
    hcy__h5_file *file;
    struct column columns[N_COLUMNS];
    size_t n_bins, block_rows;
    size_t n_azim;    /* 0: curves */
    size_t n_regions;
    size_t waiting;   /* rows in the blocks */
    uint64_t rows;    /* in the datasets */
    uint64_t on_disk; /* rows that a flush has taken to the file */
    uint64_t flushed_ns;
    int opened;
    hcy__lost_frames lost; /* of those that were appended */
};

/* --- Creating --- */

/* `rows` rows of a column, as dimensions; returns how many these are. */
static int dims_of(hsize_t dims[3], const struct h5 *h5, int which, hsize_t rows)
{
    /* Numbers of a frame have one dimension, curves two and images three. */
    dims[0] = rows;
    dims[1] = dims[2] = 1;
    if (is_number(which))
        return 1;
    dims[1] = is_of_regions(which) ? h5->n_regions : h5->n_bins;
    if (is_of_regions(which))
        return 2;
    if (!h5->n_azim)
        return 2;
    dims[1] = h5->n_azim;
    dims[2] = h5->n_bins / h5->n_azim;
    return 3;
}

/* Few numbers a row would make tiny chunks of a block's rows. */
static hsize_t chunk_rows(const struct h5 *h5, int which)
{
    if (is_of_regions(which))
        return 16384 / h5->n_regions < 1024 ? 16384 / h5->n_regions : 1024;
    return is_number(which) ? 1024 : h5->block_rows;
}

/* Rows without end; what is not written reads as NaN. */
static int create_column(struct h5 *h5, hid_t group, int which, const char *path)
{
    struct column *c = &h5->columns[which];
    double nan_value = NAN;
    /* Curves and sums are kept in double, images in single precision: see the head of this file. */
    const hid_t types[] = { H5T_NATIVE_UINT64, H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT },
                stored[] = { H5T_STD_U64LE, H5T_IEEE_F64LE, H5T_IEEE_F32LE };
    static const char *const interpretation[] = { "scalar", "spectrum", "image" };
    hsize_t dims[3], most[3], chunk[3];
    const int rank = dims_of(dims, h5, which, 0), kind = rank == 3 && which >= SIGNAL ? 1 : rank - 1;
    /* Regions have whole numbers; sum, min and max may be negative. */
    c->type = is_of_regions(which) ? H5T_NATIVE_INT64 : types[kind];
    c->row = (size_t)(dims[1] * dims[2]); /* what a rank lacks is 1 */
    c->block = malloc(h5->block_rows * c->row * (kind == 2 ? sizeof(float) : 8));
    dims_of(most, h5, which, H5S_UNLIMITED);
    dims_of(chunk, h5, which, chunk_rows(h5, which));
    /* No row yet, and no limit: rows come one flush after the other. */
    hid_t space = H5Screate_simple(rank, dims, most), plist = H5Pcreate(H5P_DATASET_CREATE);
    /* A chunk is a block of rows, so that each block is written once. */
    H5Pset_chunk(plist, rank, chunk);
    if (!is_number(which) && !is_of_regions(which))
        H5Pset_fill_value(plist, H5T_NATIVE_DOUBLE, &nan_value);
    c->dataset = H5Dcreate2(group, name_column(which), is_of_regions(which) ? H5T_STD_I64LE : stored[kind], space,
                            H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Pclose(plist);
    H5Sclose(space);
    if (!c->block)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    if (c->dataset < 0)
        return hcy__h5_fail(HCY_EIO, "%s: dataset %s cannot be created", path, name_column(which));
    int st = hcy__h5_put_text(c->dataset, "interpretation", interpretation[rank - 1]);
    if (!st && which < N_RESULTS && column_names[which].long_name)
        st = hcy__h5_put_text(c->dataset, "long_name", column_names[which].long_name);
    if (!st && !is_number(which) && !is_of_regions(which))
        st = hcy__h5_put_text(c->dataset, "units", "arbitrary units");
    return st;
}

/* Names, and columns x0 to x1 - 1 and rows y0 to y1 - 1 of each. */
static int put_region_places(hid_t group, const hcy__curves_head *head)
{
    const hcy_curves_options *o = &head->opts;
    const hsize_t dims[2] = { o->n_regions, 4 };
    int64_t *boxes = malloc(o->n_regions * 4 * sizeof *boxes);
    if (!boxes)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    for (size_t i = 0; i < o->n_regions; i++) {
        const hcy_region *r = &o->regions[i];
        const int64_t box[4] = { r->x0, r->y0, r->x1, r->y1 };
        memcpy(boxes + 4 * i, box, sizeof box);
    }
    hid_t type = hcy__h5_text_type(), line = H5Screate_simple(1, dims, NULL), table = H5Screate_simple(2, dims, NULL);
    hid_t name = H5Dcreate2(group, "name", type, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t box = H5Dcreate2(group, "box", H5T_STD_I64LE, table, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int st = name < 0 || box < 0 || H5Dwrite(name, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, o->region_names) < 0 ||
                     H5Dwrite(box, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, boxes) < 0
                 ? hcy__h5_fail(HCY_EIO, "%s: the regions cannot be written", head->path)
                 : 0;
    if (name >= 0)
        H5Dclose(name);
    if (box >= 0)
        H5Dclose(box);
    H5Sclose(table);
    H5Sclose(line);
    H5Tclose(type);
    free(boxes);
    return st;
}

/* The group of the regions, and its columns. */
static int create_regions(struct h5 *h5, const hcy__curves_head *head)
{
    int st = hcy__h5_put_group(h5->file->id, REGIONS, "NXdata");
    if (st)
        return st;
    hid_t group = H5Gopen2(h5->file->id, REGIONS, H5P_DEFAULT);
    st = hcy__h5_put_text(group, "signal", hcy__region_values[0]);
    if (!st)
        st = put_region_places(group, head);
    for (int i = N_RESULTS; !st && i < N_COLUMNS; i++)
        st = create_column(h5, group, i, head->path);
    H5Gclose(group);
    return st;
}

static int create_curves(struct h5 *h5, const hcy__curves_head *head)
{
    /* First what describes the run, then what depends on the plan, at last the columns that grow. */
    int st = hcy__h5_file_create(&h5->file, head->path);
    if (!st)
        st = hcy__curves_put_head(h5->file, head);
    if (st)
        return st;
    hid_t group = H5Gopen2(h5->file->id, RESULTS, H5P_DEFAULT);
    st = hcy__curves_put_axes(group, head);
    for (int i = 0; !st && i < N_RESULTS; i++)
        if (is_wanted(head, i))
            st = create_column(h5, group, i, head->path);
    H5Gclose(group);
    if (!st && h5->n_regions)
        st = create_regions(h5, head);
    if (!st)
        st = hcy__curves_put_azint(h5->file, head);
    /* Who reads along finds a file with all its groups, if no row yet. */
    if (!st)
        st = head->opts.growing ? hcy__h5_file_show(h5->file) : hcy__h5_file_flush(h5->file);
    return st;
}

/* --- Rows --- */

static int write_column(struct h5 *h5, int which)
{
    struct column *c = &h5->columns[which];
    hsize_t start[3] = { h5->rows, 0, 0 }, count[3], dims[3];
    int rank = dims_of(count, h5, which, h5->waiting);
    dims_of(dims, h5, which, h5->rows + h5->waiting);
    /* A failure of these calls shows in H5Dwrite(), which is given what they made. */
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
    /* The driver reports failed writes as done, and notes them here. */
    return hcy__h5_file_status(h5->file);
}

static int flush_rows(struct h5 *h5)
{
    int st = write_waiting(h5);
    if (!st)
        st = hcy__h5_file_flush(h5->file);
    if (!st)
        h5->on_disk = h5->rows;
    /* Counted also after a failure, so that a full disk is not tried again with every frame. */
    h5->flushed_ns = hcy_now_ns();
    return st;
}

static int h5_curves_flush(void *state)
{
    struct h5 *h5 = state;
    if (h5->on_disk == h5->rows + h5->waiting || hcy_now_ns() - h5->flushed_ns <= FLUSH_NS)
        return 0;
    hcy__h5_lock();
    int st = flush_rows(h5);
    hcy__h5_unlock();
    return st;
}

static void put_column_row(struct h5 *h5, int which, const double *values)
{
    const struct column *c = &h5->columns[which];
    /* Without an error model there is no column of errors. */
    if (c->dataset < 0)
        return;
    if (c->type == H5T_NATIVE_FLOAT) {
        float *row = (float *)c->block + h5->waiting * c->row;
        for (size_t i = 0; i < c->row; i++)
            row[i] = values ? (float)values[i] : NAN;
        return;
    }
    double *row = (double *)c->block + h5->waiting * c->row;
    for (size_t i = 0; i < c->row; i++)
        row[i] = values ? values[i] : NAN;
}

/* A frame that failed has zeros, and with them no valid pixel. */
static void put_region_rows(struct h5 *h5, const hcy_region_sums *regions)
{
    for (size_t i = 0; i < h5->n_regions; i++) {
        uint64_t row[HCY__REGION_VALUES] = { 0 };
        if (regions)
            hcy__region_row(row, &regions[i]);
        for (size_t k = 0; k < HCY__REGION_VALUES; k++)
            ((uint64_t *)h5->columns[N_RESULTS + k].block)[h5->waiting * h5->n_regions + i] = row[k];
    }
}

static int h5_curves_append(void *state, uint64_t frame, const hcy_azint_result *result, const hcy_region_sums *regions,
                            const char *why)
{
    (void)why;
    struct h5 *h5 = state;
    ((uint64_t *)h5->columns[FRAME].block)[h5->waiting] = frame;
    ((uint64_t *)h5->columns[MASKED].block)[h5->waiting] = result ? result->n_lost : 0;
    if (!result)
        hcy__lost_add(&h5->lost, (hcy__lost_frames){ 1, frame });
    put_column_row(h5, INTENSITY, result ? result->intensity : NULL);
    put_column_row(h5, SIGMA, result ? result->sigma : NULL);
    put_column_row(h5, SIGNAL, result ? result->sum_signal : NULL);
    put_column_row(h5, VARIANCE, result ? result->sum_variance : NULL);
    put_column_row(h5, NORM, result ? result->sum_norm : NULL);
    put_column_row(h5, NORM2, result ? result->sum_norm2 : NULL);
    put_column_row(h5, COUNT, result ? result->count : NULL);
    put_region_rows(h5, regions);
    h5->waiting++;
    /* A full block only goes to HDF5's memory; once a second all goes to the file, for those who read
     * along. */
    int late = hcy_now_ns() - h5->flushed_ns > FLUSH_NS;
    if (h5->waiting < h5->block_rows && !late)
        return 0;
    hcy__h5_lock();
    int st = late ? flush_rows(h5) : write_waiting(h5);
    hcy__h5_unlock();
    return st;
}

/* --- Closing --- */

static int put_end(hid_t file, const char *status, hcy__lost_frames lost)
{
    char date[32];
    hcy__now_text(date);
    H5Adelete_by_name(file, PROCESS "/halcyon", "status", H5P_DEFAULT);
    int st = hcy__h5_put_text_at(file, PROCESS "/halcyon", "status", status);
    if (!st)
        st = hcy__lost_put(file, lost);
    if (!st)
        st = hcy__h5_put_field(file, ENTRY "/end_time", date);
    return st ? st : hcy__h5_put_text_at(file, "/", "file_update_time", date);
}

static void cut_to(struct h5 *h5, uint64_t rows)
{
    for (int i = 0; i < N_COLUMNS; i++) {
        hsize_t dims[3];
        dims_of(dims, h5, i, rows);
        if (h5->columns[i].dataset >= 0)
            H5Dset_extent(h5->columns[i].dataset, dims);
    }
}

static const char *h5_curves_place(void *state)
{
    struct h5 *h5 = state;
    hcy__h5_lock();
    if (!hcy__h5_file_status(h5->file))
        (void)!flush_rows(h5);
    hcy__h5_unlock();
    return h5->on_disk ? hcy_output_place(h5->file->output) : NULL;
}

static int h5_curves_close(void *state, enum hcy__curves_end end)
{
    static const enum hcy__h5_end ends[] = { HCY__H5_WHOLE, HCY__H5_KEEP, HCY__H5_DISCARD };
    struct h5 *h5 = state;
    hcy__h5_lock();
    int st = h5->file ? hcy__h5_file_status(h5->file) : 0;
    if (!st && h5->file)
        st = flush_rows(h5);
    if (!st && h5->file && h5->opened)
        st = put_end(h5->file->id, end == HCY__WHOLE ? "complete" : "stopped", h5->lost);
    /* Rows that HDF5 took and the disk did not would read as zeros. */
    if (st)
        cut_to(h5, h5->on_disk);
    for (int i = 0; i < N_COLUMNS; i++) {
        if (h5->columns[i].dataset >= 0)
            H5Dclose(h5->columns[i].dataset);
        free(h5->columns[i].block);
    }
    /* A file that was stopped before any row reached it says nothing. */
    int closed = hcy__h5_file_close(h5->file, end == HCY__STOPPED && !h5->on_disk ? HCY__H5_DISCARD : ends[end]);
    hcy__h5_unlock();
    free(h5);
    return st ? st : closed;
}

static int h5_curves_open(void **state, const hcy__curves_head *head)
{
    struct h5 *h5 = calloc(1, sizeof *h5);
    if (!h5)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    /* So that closing after a failure knows which columns there are. */
    for (int i = 0; i < N_COLUMNS; i++)
        h5->columns[i].dataset = -1;
    h5->n_bins = head->plan.n_bins;
    h5->n_azim = head->plan.n_azim;
    h5->n_regions = head->opts.n_regions;
    /* With few bins a block has many rows; the flush once a second bounds how long they wait. */
    h5->block_rows = BLOCK_BYTES / 8 / h5->n_bins;
    if (h5->block_rows < 1)
        h5->block_rows = 1;
    if (h5->block_rows > 1024)
        h5->block_rows = 1024;
    hcy__h5_lock();
    int st = create_curves(h5, head);
    hcy__h5_unlock();
    h5->flushed_ns = hcy_now_ns();
    if (st) {
        hcy_error why = *hcy_last_error();
        (void)!h5_curves_close(h5, HCY__DISCARDED);
        return hcy_fail_again(&why);
    }
    h5->opened = 1;
    *state = h5;
    return 0;
}

static int h5_curves_remark(void *state, const char *name, const char *text)
{
    struct h5 *h5 = state;
    hcy__h5_lock();
    /* The last word counts. */
    if (H5Aexists_by_name(h5->file->id, PROCESS "/halcyon", name, H5P_DEFAULT) > 0)
        H5Adelete_by_name(h5->file->id, PROCESS "/halcyon", name, H5P_DEFAULT);
    int st = hcy__h5_put_text_at(h5->file->id, PROCESS "/halcyon", name, text);
    hcy__h5_unlock();
    return st;
}

const hcy__curves_format hcy__curves_h5 = { "h5",            h5_curves_open,  h5_curves_append,
                                            h5_curves_place, h5_curves_close, h5_curves_remark, h5_curves_flush };
