/* results_h5.c - curves and images from HDF5: the file's default NXdata with its signal, [rows][radial] or
 * [rows][chi][radial], in the layout of pyFAI's HDF5Writer, or in that of NeXus' NXazint1d and NXazint2d. */
#include "curves_h5.h"
#include "h5_read.h"
#include "h5_virtual.h"
#include "isolate.h"
#include "results.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8, MOST_LINKS = 100 };

/* What the layouts call their axes. */
static const struct layout {
    const char *radial, *azimuthal;
} layouts[] = { { "radial", "chi" }, { "radial_axis", "azimuthal_axis" } };
enum { AZINT = 1 };

struct h5 {
    hid_t file, data, sigma; /* -1: none */
    double *frames;          /* [rows], NULL: the file has none */
    int rank, has_frames;    /* has_frames: its first dimension is the frames' */
};

static void close_h5_ids(struct h5 *h5)
{
    if (h5->data >= 0)
        H5Dclose(h5->data);
    if (h5->sigma >= 0)
        H5Dclose(h5->sigma);
    if (h5->file >= 0)
        H5Fclose(h5->file);
}

static void h5_results_close(void *state)
{
    struct h5 *h5 = state;
    hcy__h5_lock();
    close_h5_ids(h5);
    hcy__h5_unlock();
    free(h5->frames);
    free(h5);
}

/* The root's next NXentry from the link *at on, which it moves behind it: 1, or 0 with "" for its name.  What a link
 * leads to elsewhere is not this file's. */
static int next_entry(char *name, size_t size, hid_t root, hsize_t *at)
{
    char class[32] = "";
    H5G_info_t info = { 0 };
    H5L_info_t link;
    H5Gget_info(root, &info);
    while (*at < info.nlinks && *at < MOST_LINKS) {
        ssize_t n = H5Lget_name_by_idx(root, ".", H5_INDEX_NAME, H5_ITER_INC, (*at)++, name, size, H5P_DEFAULT);
        if (n <= 0 || (size_t)n >= size || H5Lget_info(root, name, &link, H5P_DEFAULT) < 0 ||
            link.type != H5L_TYPE_HARD)
            continue;
        hid_t group = H5Gopen2(root, name, H5P_DEFAULT);
        if (group < 0)
            continue;
        int has = hcy__h5_get_text(class, sizeof class, group, "NX_class");
        H5Gclose(group);
        if (has && !strcmp(class, "NXentry"))
            return 1;
    }
    *name = 0;
    return 0;
}

/* The group that the attributes `default` lead to, from the root on; < 0: they lead nowhere. */
static hid_t find_results(hid_t file)
{
    char name[256], class[32];
    hid_t group = H5Gopen2(file, "/", H5P_DEFAULT);
    /* The bound ends attributes that lead in a circle. */
    for (int i = 0; i < MAX_DEPTH && group >= 0; i++) {
        hcy__h5_get_text(class, sizeof class, group, "NX_class");
        if (!strcmp(class, "NXdata"))
            break;
        /* A root that names no entry has one all the same, most often. */
        if (!hcy__h5_get_text(name, sizeof name, group, "default") &&
            (i || !next_entry(name, sizeof name, group, &(hsize_t){ 0 })))
            break;
        hid_t next = H5Gopen2(group, name, H5P_DEFAULT);
        H5Gclose(group);
        group = next;
    }
    return group;
}

/* The definition of integrations that one of the file's entries follows; "" where none does. */
static void find_definition(char *definition, size_t size, hid_t file)
{
    char name[256], path[300];
    hsize_t at = 0;
    *definition = 0;
    while (strncmp(definition, "NXazint", 7) && next_entry(name, sizeof name, file, &at)) {
        snprintf(path, sizeof path, "%s/definition", name);
        hcy__h5_get_field(definition, size, file, path);
    }
    if (strncmp(definition, "NXazint", 7))
        *definition = 0;
}

/* What the axis of NXazint1d is in; a quantity of another length is not guessed at. */
static void find_azint_unit(char unit[32], hid_t axis)
{
    static const char *const known[][3] = {
        { "q", "1/angstrom", "q_A^-1" },      { "q", "1/nm", "q_nm^-1" },           { "2theta", "degrees", "2th_deg" },
        { "2theta", "degree", "2th_deg" },    { "2theta", "deg", "2th_deg" },       { "2theta", "rad", "2th_rad" },
        { "2theta", "radians", "2th_rad" },
    };
    char name[32], units[32];
    hcy__h5_get_text(name, sizeof name, axis, "long_name");
    hcy__h5_get_text(units, sizeof units, axis, "units");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(name, known[i][0]) && !strcmp(units, known[i][1]))
            snprintf(unit, 32, "%s", known[i][2]);
}

/* The unit whose words stand at one of pyFAI's axes; as it was if there is none. */
static void find_words(char unit[32], hid_t axis)
{
    char space[32], symbol[32], want_space[32], want_symbol[32];
    size_t n;
    const hcy_azint_unit *units = hcy_azint_unit_list(&n);
    hcy__h5_get_text(space, sizeof space, axis, "name");
    hcy__h5_get_text(symbol, sizeof symbol, axis, "unit");
    /* Integrations along chi have a unit that is none of the radial ones: it is tried last. */
    for (size_t i = 0; i <= n; i++) {
        const char *name = i < n ? units[i].name : "chi_deg";
        hcy__curves_unit_words(want_space, want_symbol, name);
        if (!strcmp(space, want_space) && !strcmp(symbol, want_symbol)) {
            snprintf(unit, 32, "%s", name);
            return;
        }
    }
}

/* The units of the axes; "" if that of the radial one is not known. */
static void find_units(hcy__results_head *head, hid_t group, const struct layout *layout)
{
    *head->unit = 0;
    snprintf(head->azimuth_unit, sizeof head->azimuth_unit, "chi_deg");
    hid_t axis = H5Dopen2(group, layout->radial, H5P_DEFAULT);
    if (axis < 0)
        return;
    if (layout == &layouts[AZINT])
        find_azint_unit(head->unit, axis);
    else
        find_words(head->unit, axis);
    H5Dclose(axis);
    if (layout == &layouts[AZINT] || !head->n_azim || (axis = H5Dopen2(group, layout->azimuthal, H5P_DEFAULT)) < 0)
        return;
    find_words(head->azimuth_unit, axis);
    H5Dclose(axis);
}

/* The rows that data and their errors both have; UINT64_MAX: these are not of the same bins. */
static uint64_t count_rows(const hsize_t dims[3], const hsize_t error_dims[3], int rank, int has_frames)
{
    uint64_t rows = has_frames ? dims[0] : 1;
    for (int i = has_frames; i < rank; i++)
        if (dims[i] != error_dims[i])
            return UINT64_MAX;
    /* They are written row by row after the data: an interrupted run may have fewer. */
    return has_frames && error_dims[0] < rows ? error_dims[0] : rows;
}

static int open_data(struct h5 *h5, hcy__results_head *head, hid_t group, const struct layout *layout)
{
    char signal[64], errors[80];
    hsize_t dims[4] = { 0 }, error_dims[4] = { 0 };
    int error_rank;
    /* A file that names no signal is taken to have it under pyFAI's name. */
    if (!hcy__h5_get_text(signal, sizeof signal, group, "signal"))
        snprintf(signal, sizeof signal, "data");
    snprintf(errors, sizeof errors, "%s_errors", signal);
    h5->data = hcy__h5_open_numbers(group, signal, &h5->rank, dims);
    if (h5->data < 0)
        return hcy__h5_fail(HCY_EFORMAT, "%s: its results have no numbers at '%s'", head->path, signal);
    if (h5->rank < 1 || h5->rank > 3)
        return hcy_fail(HCY_EFORMAT, "%s: its results have %d dimensions; curves have 2, images 3",
                        head->path, h5->rank);
    /* A file of one curve alone, or of one image, may lack the dimension of frames. */
    int is_image = h5->rank == 3 || (h5->rank == 2 && H5Lexists(group, layout->azimuthal, H5P_DEFAULT) > 0);
    h5->has_frames = h5->rank > 1 + is_image;
    head->rows = h5->has_frames ? dims[0] : 1;
    head->n_radial = (size_t)dims[h5->rank - 1];
    head->n_azim = is_image ? (size_t)dims[h5->rank - 2] : 0;
    h5->sigma = hcy__h5_open_numbers(group, errors, &error_rank, error_dims);
    if (h5->sigma >= 0) {
        uint64_t rows = error_rank == h5->rank ? count_rows(dims, error_dims, h5->rank, h5->has_frames) : UINT64_MAX;
        if (rows == UINT64_MAX)
            return hcy_fail(HCY_EFORMAT, "%s: %s has another shape than %s", head->path, errors, signal);
        head->rows = rows;
    }
    head->has_sigma = h5->sigma >= 0;
    int st = hcy__h5_whole(h5->data);
    return st || !head->has_sigma ? st : hcy__h5_whole(h5->sigma);
}

static int open_axes(struct h5 *h5, hcy__results_head *head, hid_t group, const struct layout *layout)
{
    /* Axes say what the bins are, so a file whose axes do not fit its data is refused as a whole. */
    size_t n = 0, bytes;
    int st = hcy__h5_get_doubles(&head->radial, &n, group, layout->radial, head->path);
    if (!st && (n != head->n_radial || !n))
        st = hcy_fail(HCY_EFORMAT, "%s: %zu radii for %zu bins", head->path, n, head->n_radial);
    if (!st && head->n_azim) {
        st = hcy__h5_get_doubles(&head->azimuthal, &n, group, layout->azimuthal, head->path);
        if (!st && n != head->n_azim)
            st = hcy_fail(HCY_EFORMAT, "%s: %zu angles for %zu bins", head->path, n, head->n_azim);
        if (!st && (hcy_size_mul(&bytes, head->n_radial, head->n_azim) || hcy_size_mul(&bytes, bytes, 8)))
            st = hcy_fail(HCY_ERANGE, "%s: images of %zu x %zu bins", head->path, head->n_azim,
                          head->n_radial);
    }
    if (!st && H5Lexists(group, "frame", H5P_DEFAULT) > 0) {
        st = hcy__h5_get_doubles(&h5->frames, &n, group, "frame", head->path);
        /* Columns are written one after the other: an interrupted run may have fewer numbers than rows. */
        if (!st && n < head->rows)
            head->rows = n;
    }
    return st;
}

/* Reads how many pixels each bin has, which pyFAI's files do not say. */
static int read_bin_pixels(hcy__results_head *head, hid_t group)
{
    hsize_t dims[4] = { 0 };
    int rank = 0;
    size_t rows = head->n_azim ? head->n_azim : head->n_radial;
    hid_t data = H5Lexists(group, "pixels", H5P_DEFAULT) > 0 ? hcy__h5_open_numbers(group, "pixels", &rank, dims) : -1;
    if (data < 0)
        return 0;
    /* A dataset of this name may be anything's in a file of others; one of another shape is passed over. */
    int st = 0, fits = rank == (head->n_azim ? 2 : 1) && dims[0] == rows && (rank == 1 || dims[1] == head->n_radial);
    size_t n = head->n_azim ? head->n_azim * head->n_radial : head->n_radial;
    if (fits && !(head->pixels = malloc(n * sizeof *head->pixels)))
        st = hcy_fail(HCY_ENOMEM, "%s: no memory for the pixels of %zu bins", head->path, n);
    else if (fits && H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, head->pixels) < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: the pixels of its bins cannot be read", head->path);
    H5Dclose(data);
    return st;
}

static int open_results(struct h5 *h5, hcy__results_head *head)
{
    int st = hcy__h5_open_file(&h5->file, head->path);
    if (st)
        return st;
    /* Its axis is what tells an integration from other plots that a file may show by default. */
    hid_t group = find_results(h5->file);
    int is_azint = group >= 0 && H5Lexists(group, layouts[AZINT].radial, H5P_DEFAULT) > 0;
    const struct layout *layout = is_azint ? &layouts[AZINT] : layouts;
    if (group < 0 || H5Lexists(group, layout->radial, H5P_DEFAULT) <= 0)
        st = hcy_fail(HCY_EFORMAT,
                      "%s: its default group has no curves of an integration (no NXdata with 'radial' or 'radial_axis')",
                      head->path);
    if (!st)
        st = open_data(h5, head, group, layout);
    if (!st)
        st = open_axes(h5, head, group, layout);
    if (!st)
        st = read_bin_pixels(head, group);
    if (!st) {
        find_units(head, group, layout);
        find_definition(head->definition, sizeof head->definition, h5->file);
        head->has_sums = H5Lexists(group, "sum_signal", H5P_DEFAULT) > 0;
        const hcy__lost_frames lost = hcy__lost_get(h5->file);
        head->failed = lost.n;
        head->first_failed = lost.first;
    }
    if (group >= 0)
        H5Gclose(group);
    return st;
}

static int h5_results_open(void **state, hcy__results_head *head)
{
    hcy_isolation limits;
    /* The reader has been asked about an isolated file, unless that does not look like HDF5. */
    if (hcy__isolates(&limits, NULL, head->path))
        return 0;
    hcy__h5_lock();
    int is = H5Fis_hdf5(head->path) > 0;
    hcy__h5_unlock();
    if (!is)
        return 0;
    struct h5 *h5 = calloc(1, sizeof *h5);
    if (!h5)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", head->path);
    /* So that closing knows what was opened. */
    h5->file = h5->data = h5->sigma = -1;
    *state = h5;
    hcy__h5_lock();
    int st = hcy__h5_judge(open_results(h5, head), head->path);
    hcy__h5_unlock();
    return st;
}

static int read_row(const struct h5 *h5, hid_t data, const hcy__results_head *head, uint64_t row,
                    double *values)
{
    /* One row as a block in memory; the file's own type is converted to double by HDF5. */
    hsize_t start[3] = { h5->has_frames ? row : 0, 0, 0 }, count[3] = { 1, 1, 1 };
    if (head->n_azim)
        count[h5->rank - 2] = head->n_azim;
    count[h5->rank - 1] = head->n_radial;
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(h5->rank, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    herr_t done = H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values);
    int st = done < 0
                 ? hcy__h5_fail(HCY_EIO, "%s: row %llu cannot be read", head->path, (unsigned long long)row)
                 : 0;
    H5Sclose(memory);
    H5Sclose(space);
    return st;
}

static int h5_results_read(void *state, const hcy__results_head *head, uint64_t row, uint64_t *frame,
                   double *intensity, double *sigma)
{
    const struct h5 *h5 = state;
    hcy__h5_lock();
    int st = read_row(h5, h5->data, head, row, intensity);
    if (!st && sigma)
        st = read_row(h5, h5->sigma, head, row, sigma);
    hcy__h5_unlock();
    /* Above 2^53 doubles are no longer whole numbers of their own. */
    if (h5->frames && h5->frames[row] >= 0 && h5->frames[row] < 0x1p53)
        *frame = (uint64_t)h5->frames[row];
    return st;
}

const hcy__results_format hcy__results_h5 = { h5_results_open, h5_results_read, h5_results_close };
