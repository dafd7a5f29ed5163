/* sparse_file.c - sparse frames as HDF5, in the layout of pyFAI's save_sparse(), which FabIO reads (densify).
 *
 *   /entry_0000                          NXentry, which names the group in the attribute pyFAI_sparse_frames
 *   /entry_0000/sparse_frames            NXdata: frame_ptr[frames + 1], index, intensity (of frame i those from
 *                                        frame_ptr[i] to frame_ptr[i + 1] - 1), background_avg[frames][n],
 *                                        background_std[frames][n], radius[n], mask[height][width] (radii; NaN: no
 *                                        pixel), normalization[height][width], dummy, script
 *   /entry_0000/sparsify                 NXprocess: program, version, command, plan, source, source_dataset
 *   /entry_0000/sparsify/configuration   NXnote: cutoff and noise as JSON
 *
 * Unlike pyFAI's the datasets are not compressed, so that no plugin is needed.  A frame that failed has no pixels and a
 * background of NaN.  Where there is a dark current the frames are those without it: the background is, so its readers
 * would mix two kinds of counts if the pixels were not.  Pixels are floating point then, as readers make images of
 * their type, and neither fractions nor a background below 0 would be in one of whole numbers.  The file gets its name
 * when it is closed.  One thread at a time.
 */
#include "stack_priv.h"
#include "sized.h"

#ifdef HAVE_HDF5
#include "h5_file.h"
#include "h5_shard.h"
#include <azint/plain_locale.h>
#include <math.h>
#include <stdlib.h>

#define ENTRY   "/entry_0000"
#define SPARSE  ENTRY "/sparse_frames"
#define PROCESS ENTRY "/sparsify"

enum { FRAME_PTR, INDEX, INTENSITY, AVERAGE, DEVIATION, COLUMNS };

struct hcy_sparse_file {
    hcy__h5_file *file;
    hid_t columns[COLUMNS];
    size_t n_bins;
    uint64_t frames, pixels;
    uint32_t pixel_type;
    float *row; /* [n_bins] */
    hcy_azint_plan *plan;
    const float *darks; /* [n_darks], of the plan; NULL: none */
    size_t n_darks;
    double *lit; /* [n_lit]: pixels of a frame less their darks */
    uint64_t n_lit;
};

static const char script[] = "#python\n"
                             "import numpy\n"
                             "frames = []\n"
                             "masked = numpy.where(numpy.logical_not(numpy.isfinite(mask)))\n"
                             "for i, background in enumerate(background_avg):\n"
                             "    dense = numpy.interp(mask, radius, background) * normalization\n"
                             "    first, last = frame_ptr[i:i + 2]\n"
                             "    dense.ravel()[index[first:last]] = intensity[first:last]\n"
                             "    dense = dense if intensity.dtype.kind == 'f' else numpy.round(dense)\n"
                             "    dense[masked] = dummy\n"
                             "    frames.append(dense.astype(intensity.dtype))\n";

/* --- Creating --- */

/* A dataset that is written once, with its attributes. */
static int put_array(hcy_sparse_file *f, const char *name, int rank, const hsize_t *dims, hid_t type, hid_t memory,
                     const void *data, const hcy__h5_text *texts, size_t n_texts)
{
    hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t set = H5Dcreate2(f->file->id, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int st = set < 0 || H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0
                 ? hcy__h5_fail(HCY_EIO, "%s: %s cannot be written", f->file->path, name)
                 : hcy__h5_put_texts(set, texts, n_texts);
    if (set >= 0)
        H5Dclose(set);
    H5Sclose(space);
    return st;
}

/* What grows; width 0: one dimension. */
static int create_growing(hcy_sparse_file *f, int which, const char *name, hid_t type, hsize_t width)
{
    const hsize_t none[2] = { 0, width }, most[2] = { H5S_UNLIMITED, width };
    const hsize_t chunk[2] = { width ? 32768 / width + 1 : 16384, width };
    const int rank = width ? 2 : 1;
    hid_t space = H5Screate_simple(rank, none, most), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, rank, chunk);
    f->columns[which] = H5Dcreate2(f->file->id, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Pclose(plist);
    H5Sclose(space);
    return f->columns[which] < 0 ? hcy__h5_fail(HCY_EIO, "%s: %s cannot be created", f->file->path, name) : 0;
}

/* What a pixel's background is multiplied by to be counts: the tables' norms lack two factors, which are in curves. */
static int put_norms(hcy_sparse_file *f, const hcy_azint_plan *plan, const hcy_azint_plan_info *info)
{
    static const hcy__h5_text image[] = { { "interpretation", "image" } };
    const hsize_t dims[2] = { info->height, info->width };
    const double factor = info->norm_scale * info->options.normalization;
    const size_t n = info->height * info->width;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_plan_tables(spans, plan);
    const float *norms = spans[3].data;
    float *whole = malloc(n * sizeof *whole);
    if (!whole)
        return hcy_fail(HCY_ENOMEM, "no memory for the norms of %zu pixels", n);
    for (size_t i = 0; i < n; i++)
        whole[i] = (float)((double)norms[i] * factor);
    int st = put_array(f, SPARSE "/normalization", 2, dims, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, whole, image, 1);
    free(whole);
    return st;
}

static int put_places(hcy_sparse_file *f, const hcy_azint_plan *plan, const hcy_azint_plan_info *info,
                      const hcy_sparse_options *o)
{
    const hcy__h5_text axis[] = { { "interpretation", "spectrum" }, { "unit", info->unit->name },
                                  { "long_name", info->unit->label } };
    const hcy__h5_text mask[] = { { "interpretation", "image" }, { "unit", info->unit->name } };
    const hsize_t dims[2] = { info->height, info->width }, n = info->n_radial;
    const int64_t dummy = 0;
    int st = put_array(f, SPARSE "/radius", 1, &n, H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, info->radial, axis, 3);
    if (!st)
        st = put_array(f, SPARSE "/mask", 2, dims, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, o->radius, mask, 2);
    if (!st)
        st = put_norms(f, plan, info);
    return st ? st : put_array(f, SPARSE "/dummy", 0, NULL, H5T_STD_I64LE, H5T_NATIVE_INT64, &dummy, NULL, 0);
}

static int put_sparse_words(hcy_sparse_file *f, const hcy_azint_plan_info *info, const hcy_sparse_options *o)
{
    const hcy_stack_info *source = o->source ? hcy_stack_get_info(o->source) : NULL;
    char config[256];
    /* Numbers in JSON have a point, whatever the program's locale has. */
    const hcy__plain plain = hcy__plain_enter();
    snprintf(config, sizeof config, "{\"sparsify\": {\"cutoff_pick\": %.17g, \"noise\": %.17g, \"unit\": \"%s\"}}",
             o->cutoff, o->noise, info->unit->name);
    hcy__plain_leave(plain);
    static const char *const groups[][2] = {
        { ENTRY, "NXentry" }, { SPARSE, "NXdata" }, { PROCESS, "NXprocess" }, { PROCESS "/configuration", "NXnote" } };
    const hcy__h5_text fields[] = { { SPARSE "/script", script },
                                    { PROCESS "/program", "halcyon" },
                                    { PROCESS "/version", hcy_version() },
                                    { PROCESS "/command", o->command },
                                    { PROCESS "/plan", info->hash },
                                    { PROCESS "/source", source ? source->path : NULL },
                                    { PROCESS "/source_dataset", source ? source->dataset : NULL },
                                    { PROCESS "/configuration/type", "text/json" },
                                    { PROCESS "/configuration/data", config } };
    /* FabIO takes a file for sparse frames by the first word of its creator. */
    const char *const attributes[][3] = { { "/", "NX_class", "NXroot" },
                                          { "/", "creator", "pyFAI's sparse frames, by halcyon" },
                                          { "/", "default", "entry_0000" },
                                          { ENTRY, "default", "sparse_frames" },
                                          { ENTRY, "pyFAI_sparse_frames", SPARSE },
                                          { SPARSE, "signal", "background_avg" } };
    int st = 0;
    for (size_t i = 0; !st && i < sizeof groups / sizeof groups[0]; i++)
        st = hcy__h5_put_group(f->file->id, groups[i][0], groups[i][1]);
    for (size_t i = 0; !st && i < sizeof fields / sizeof fields[0]; i++)
        st = hcy__h5_put_field(f->file->id, fields[i].name, fields[i].text);
    for (size_t i = 0; !st && i < sizeof attributes / sizeof attributes[0]; i++)
        st = hcy__h5_put_text_at(f->file->id, attributes[i][0], attributes[i][1], attributes[i][2]);
    return st;
}

/* `n` more elements, or rows, behind `at` of what grows. */
static int put_more(hcy_sparse_file *f, int which, uint64_t at, uint64_t n, hid_t type, const void *data)
{
    const hsize_t width = which >= AVERAGE ? f->n_bins : 0, rank = width ? 2 : 1;
    const hsize_t start[2] = { at, 0 }, count[2] = { n, width }, dims[2] = { at + n, width };
    if (!n)
        return 0;
    /* A failure shows in H5Dwrite(), which is given what these made. */
    H5Dset_extent(f->columns[which], dims);
    hid_t space = H5Dget_space(f->columns[which]), memory = H5Screate_simple((int)rank, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    herr_t done = H5Dwrite(f->columns[which], type, memory, space, H5P_DEFAULT, data);
    H5Sclose(memory);
    H5Sclose(space);
    return done < 0 ? hcy__h5_fail(HCY_EIO, "%s: a frame cannot be written", f->file->path) : 0;
}

static int create_sparse(hcy_sparse_file *f, const char *path, const hcy_azint_plan *plan,
                         const hcy_azint_plan_info *info, const hcy_sparse_options *o)
{
    const hcy__pixel *pixel = hcy__pixel_of_type(o->pixel_type);
    const uint64_t zero = 0;
    if (f->darks && pixel->kind != 'f')
        pixel = hcy__pixel_find('f', pixel->size <= 2 ? sizeof(float) : sizeof(double));
    int st = hcy__h5_file_create(&f->file, path);
    if (!st)
        st = put_sparse_words(f, info, o);
    if (!st)
        st = hcy__h5_put_shard(f->file->id, o->shard, "sparse");
    if (!st)
        st = put_places(f, plan, info, o);
    if (!st)
        st = create_growing(f, FRAME_PTR, SPARSE "/frame_ptr", H5T_STD_U64LE, 0);
    if (!st)
        st = create_growing(f, INDEX, SPARSE "/index", H5T_STD_U32LE, 0);
    if (!st)
        st = create_growing(f, INTENSITY, SPARSE "/intensity", hcy__h5_pixel_type(pixel), 0);
    if (!st)
        st = create_growing(f, AVERAGE, SPARSE "/background_avg", H5T_IEEE_F32LE, f->n_bins);
    if (!st)
        st = create_growing(f, DEVIATION, SPARSE "/background_std", H5T_IEEE_F32LE, f->n_bins);
    return st ? st : put_more(f, FRAME_PTR, 0, 1, H5T_NATIVE_UINT64, &zero);
}

static int close_sparse(hcy_sparse_file *f, enum hcy__h5_end end)
{
    for (int i = 0; i < COLUMNS; i++)
        if (f->columns[i] >= 0)
            H5Dclose(f->columns[i]);
    int st = hcy__h5_file_close(f->file, end);
    hcy_azint_plan_release(f->plan);
    free(f->row);
    free(f->lit);
    free(f);
    return st;
}

/* --- The interface --- */

int hcy_sparse_create(hcy_sparse_file **file, const char *path, const hcy_azint_plan *plan,
                      const hcy_sparse_options *options)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_sparse_options o = HCY_SPARSE_OPTIONS_INIT;
    if (!file || !path || !plan || !options)
        return hcy_fail(HCY_EINVAL, "hcy_sparse_create: NULL is not valid here");
    int st = hcy__sized_read(&o, sizeof o, options, "hcy_sparse_options");
    if (!st)
        st = hcy_azint_plan_get_info(&info, plan);
    if (!st && (!o.radius || info.n_azim || !hcy__pixel_of_type(o.pixel_type)))
        st = hcy_fail(HCY_EINVAL, "%s: sparse frames have radii, a curve of one dimension and a type of pixels", path);
    if (st)
        return st;
    hcy_sparse_file *f = calloc(1, sizeof *f);
    if (!f || !(f->row = malloc(info.n_bins * sizeof *f->row))) {
        free(f);
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    }
    f->n_bins = info.n_bins;
    f->pixel_type = o.pixel_type;
    f->plan = hcy_azint_plan_retain((hcy_azint_plan *)plan);
    if (info.has_dark) {
        hcy_span spans[HCY_AZINT_SPANS];
        hcy_azint_plan_tables(spans, plan);
        f->darks = spans[4].data;
        f->n_darks = info.height * info.width;
    }
    for (int i = 0; i < COLUMNS; i++)
        f->columns[i] = -1;
    hcy__h5_lock();
    st = create_sparse(f, path, plan, &info, &o);
    if (st) {
        /* Closing may fail in turn, and the first cause is the one to be told. */
        hcy_error why = *hcy_last_error();
        (void)!close_sparse(f, HCY__H5_DISCARD);
        hcy__h5_unlock();
        return hcy_fail_again(&why);
    }
    hcy__h5_unlock();
    *file = f;
    return 0;
}

static const float *background_row(hcy_sparse_file *f, const double *values)
{
    for (size_t i = 0; i < f->n_bins; i++)
        f->row[i] = values ? (float)values[i] : NAN;
    return f->row;
}

/* The pixels of a frame less the dark current, in `lit`. */
static int make_lit(hcy_sparse_file *f, const hcy_sparse *sparse)
{
    const uint64_t n = sparse->n;
    if (n > f->n_lit) {
        double *more = realloc(f->lit, (size_t)n * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "%s: no memory for the %llu pixels of a frame", f->file->path,
                            (unsigned long long)n);
        f->lit = more;
        f->n_lit = n;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (sparse->index[i] >= f->n_darks)
            return hcy_fail(HCY_EINVAL, "%s: a frame has no pixel %lu", f->file->path,
                            (unsigned long)sparse->index[i]);
        const double counted = sparse->real                     ? sparse->real[i]
                               : f->pixel_type == HCY_PIXEL_U64 ? (double)(uint64_t)sparse->intensity[i]
                                                                : (double)sparse->intensity[i];
        f->lit[i] = counted - (double)f->darks[sparse->index[i]];
    }
    return 0;
}

static int put_intensity(hcy_sparse_file *f, const hcy_sparse *sparse)
{
    const hid_t whole = f->pixel_type == HCY_PIXEL_U64 ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    const double *real = f->darks ? f->lit : sparse->real;
    return real ? put_more(f, INTENSITY, f->pixels, sparse->n, H5T_NATIVE_DOUBLE, real)
                : put_more(f, INTENSITY, f->pixels, sparse->n, whole, sparse->intensity);
}

int hcy_sparse_append(hcy_sparse_file *f, const hcy_azint_result *result, const hcy_sparse *sparse)
{
    const uint64_t n = sparse ? sparse->n : 0;
    if (!f || (result && (result->n_bins != f->n_bins || !result->std)))
        return hcy_fail(HCY_EINVAL, "hcy_sparse_append: no file, or a result of another plan or without errors");
    const uint64_t end = f->pixels + n;
    int st = n && f->darks ? make_lit(f, sparse) : 0;
    if (st) /* nothing of the frame is in the file */
        return st;
    hcy__h5_lock();
    st = put_more(f, INDEX, f->pixels, n, H5T_NATIVE_UINT32, sparse ? sparse->index : NULL);
    if (!st && n)
        st = put_intensity(f, sparse);
    if (!st)
        st = put_more(f, AVERAGE, f->frames, 1, H5T_NATIVE_FLOAT, background_row(f, result ? result->intensity : NULL));
    if (!st)
        st = put_more(f, DEVIATION, f->frames, 1, H5T_NATIVE_FLOAT, background_row(f, result ? result->std : NULL));
    if (!st)
        st = put_more(f, FRAME_PTR, f->frames + 1, 1, H5T_NATIVE_UINT64, &end);
    if (!st) /* the driver reports failed writes as done, and notes them here */
        st = hcy__h5_file_status(f->file);
    hcy__h5_unlock();
    f->pixels = end;
    f->frames++;
    return st;
}

int hcy_sparse_close(hcy_sparse_file *f, int whole)
{
    if (!f)
        return 0;
    hcy__h5_lock();
    int st = close_sparse(f, whole ? HCY__H5_WHOLE : HCY__H5_DISCARD);
    hcy__h5_unlock();
    return st;
}
#else
int hcy_sparse_create(hcy_sparse_file **file, const char *path, const hcy_azint_plan *plan,
                      const hcy_sparse_options *options)
{
    if (!file || !path || !plan || !options)
        return hcy_fail(HCY_EINVAL, "hcy_sparse_create: NULL is not valid here");
    return hcy_fail(HCY_EUNSUPPORTED, "%s: sparse frames are HDF5, which this build has not", path);
}

int hcy_sparse_append(hcy_sparse_file *f, const hcy_azint_result *result, const hcy_sparse *sparse)
{
    (void)f;
    (void)result;
    (void)sparse;
    return hcy_fail(HCY_EINVAL, "hcy_sparse_append: no file");
}

int hcy_sparse_close(hcy_sparse_file *f, int whole)
{
    (void)f;
    (void)whole;
    return 0;
}

int hcy_sparse_merge(uint64_t *frames, uint64_t *failed, const char *path, const char *const *parts, size_t n)
{
    (void)frames;
    (void)failed;
    if (!path || !parts || !n)
        return hcy_fail(HCY_EINVAL, "hcy_sparse_merge: a path and parts are needed");
    return hcy_fail(HCY_EUNSUPPORTED, "%s: sparse frames are HDF5, which this build has not", path);
}
#endif
