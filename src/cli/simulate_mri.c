/* simulate_mri.c - halcyon simulate --mri: samples of a phantom's exact k-space, as several coils receive them, with
 * their trajectory, the coils' maps, and the image.
 *
 * A sample is the integral of the phantom, not a sum over pixels, scaled so that it compares with the sum that `halcyon
 * nufft -t 2` makes of an image.  Threads share pixels and points; noise depends on the seed and a sample's number
 * alone.
 */
#include "simulate_mri.h"
#include "guard.h"
#include "mri_phantom.h"
#include "progress.h"
#include "simulate.h"
#include <halcyon/backend.h>
#include <halcyon/host_array.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
enum { MOST_THREADS = 1024 };

const char *const sim_mri_kinds[] = { "radial", "spiral", "stack-of-stars", "kooshball", NULL };

struct scan {
    const struct sim_mri *mri;
    const char *path;
    struct mri_scene scene;
    struct mri_trajectory trajectory;
    double complex *samples; /* [coils][points] */
    size_t n_pixels;
    double complex *maps; /* [coils][pixels] */
    double *image, *field, *times;
    bool is_bart;
    double *bart; /* its coordinates */
    struct progress progress;
    atomic_size_t done; /* pixels or points */
};

/* --- Options --- */

const char *sim_mri_given(const struct sim_mri *m)
{
    const struct {
        int given;
        const char *name;
    } options[] = { { m->size.given, "--size" },       { m->slices.given, "--slices" },
                    { m->spokes.given, "--spokes" },   { m->samples.given, "--samples" },
                    { m->coils.given, "--coils" },     { m->noise.given, "--noise" },
                    { m->field.given, "--field-map" }, { m->readout.given, "--readout" },
                    { m->golden, "--golden" },       { m->delay != NULL, "--delay" } };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

int sim_mri_check(const struct sim_mri *m, const char *path)
{
    const char *format = "";
    if (m->slices.given && m->kind != MRI_STACK)
        return cli_usage("--slices is for --mri stack-of-stars");
    if (m->golden && m->kind == MRI_KOOSHBALL)
        return cli_usage("--golden: spokes of a kooshball always are");
    if (m->readout.given && !(m->field.value > 0))
        return cli_usage("--readout is for --field-map");
    if (path[hcy_file_length(path)])
        return cli_usage("%s: name a file alone; its arrays have names of their own", path);
    int status = cli_check_format(path, HCY_WRITE_ARRAY);
    /* What is written beside the image is no image. */
    if (!status && !hcy_format_of(&format, path, HCY_WRITE_ARRAY) && (!strcmp(format, "mrd") || !strcmp(format, "nii")))
        status = cli_usage("%s: %s takes images alone; use .h5, .npy or .cfl", path, format);
    return status;
}

/* --- Files --- */

/* OUT.h5:/NAME, or OUT_NAME.npy; freed by the caller. */
static char *name_array(const char *path, const char *name)
{
    const char *format = "", *dot = strrchr(path, '.');
    size_t size = strlen(path) + strlen(name) + 3;
    char *to = malloc(size);
    if (to && !hcy_format_of(&format, path, HCY_WRITE_ARRAY) && !strcmp(format, "h5"))
        snprintf(to, size, "%s:/%s", path, name);
    else if (to)
        snprintf(to, size, "%.*s_%s%s", (int)(dot - path), path, name, dot);
    return to;
}

struct scan_array {
    const char *name;
    int is_complex;
    int rank;
    uint64_t shape[5];
    void *data;
};
enum { SCAN_ARRAYS = 6 };

/* BART's files: coordinates in 1/FOV, x first, always three; samples behind an axis of one, of coils behind all spokes;
 * maps in three dimensions. */
static void shape_for_bart(struct scan_array list[SCAN_ARRAYS], const struct scan *s)
{
    const struct mri_trajectory *t = &s->trajectory;
    const uint64_t spokes = t->slices * t->spokes, samples = t->samples, coils = s->scene.n_coils;
    list[0] = (struct scan_array){ "trajectory", 0, 3, { spokes, samples, 3 }, s->bart };
    list[1] = (struct scan_array){ "samples", 1, 4, { coils, spokes, samples, 1 }, s->samples };
    if (t->dim == 2)
        list[2] = (struct scan_array){ "maps", 1, 4, { coils, 1, t->size[0], t->size[1] }, s->maps };
}

static void fill_bart(struct scan *s)
{
    const struct mri_trajectory *t = &s->trajectory;
    for (size_t i = 0; s->bart && i < t->n; i++)
        for (int d = 0; d < 3; d++) {
            int axis = t->dim - 1 - d;
            s->bart[3 * i + (size_t)d] =
                axis < 0 ? 0 : t->points[i * (size_t)t->dim + (size_t)axis] * (double)t->size[axis] / (2 * PI);
        }
}

/* What is written: how many. */
static size_t list_arrays(struct scan_array list[SCAN_ARRAYS], const struct scan *s)
{
    const struct mri_trajectory *t = &s->trajectory;
    const uint64_t lengths[4] = { t->slices, t->spokes, t->samples, (uint64_t)t->dim };
    int first = !t->is_stack, axes = 3 - first;
    size_t n = 0;
    struct scan_array *a = &list[n++];
    *a = (struct scan_array){ "trajectory", 0, axes + 1, { 0 }, t->points };
    memcpy(a->shape, lengths + first, (size_t)(axes + 1) * sizeof *lengths);
    a = &list[n++];
    *a = (struct scan_array){ "samples", 1, axes + 1, { s->scene.n_coils }, s->samples };
    memcpy(a->shape + 1, lengths + first, (size_t)axes * sizeof *lengths);
    a = &list[n++];
    *a = (struct scan_array){ "maps", 1, t->dim + 1, { s->scene.n_coils }, s->maps };
    for (int d = 0; d < t->dim; d++)
        a->shape[d + 1] = t->size[d];
    a = &list[n++];
    *a = (struct scan_array){ "image", 0, t->dim, { t->size[0], t->size[1], t->size[2] }, s->image };
    if (s->field) {
        list[n] = *a;
        list[n].name = "field_map";
        list[n++].data = s->field;
        list[n++] = (struct scan_array){ "times", 0, 1, { t->samples }, s->times };
    }
    if (s->is_bart)
        shape_for_bart(list, s);
    return n;
}

/* In one file with this scan, an earlier one's field map would be taken for this one's. */
static int refuse_other_field(const struct scan *s)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char *name = s->field ? NULL : name_array(s->path, "field_map");
    const bool is_there = name && name[hcy_file_length(name)] && !hcy_host_array_read(&a, name);
    const int status = is_there ? cli_error("%s is there, of an earlier scan, and this one has none: name another file, "
                                            "or remove %s", name, s->path)
                                : CLI_OK;
    hcy_host_array_free(&a);
    free(name);
    return status;
}

/* Names are checked before anything is computed (write 0), or the arrays written. */
static int write_arrays(const struct scan *s, int write)
{
    struct scan_array list[SCAN_ARRAYS];
    struct guard guard = { 0 };
    char *names[SCAN_ARRAYS] = { NULL };
    size_t n = list_arrays(list, s);
    int status = CLI_OK;
    for (size_t i = 0; i < n && !status; i++) {
        hcy_host_array a = HCY_HOST_ARRAY_INIT;
        names[i] = name_array(s->path, list[i].name);
        a.is_complex = list[i].is_complex;
        a.rank = list[i].rank;
        a.data = list[i].data;
        memcpy(a.shape, list[i].shape, sizeof list[i].shape);
        int st = names[i] ? 0 : hcy_fail(HCY_ENOMEM, "no memory for names of files");
        if (!st && write)
            st = hcy_host_array_write(&a, names[i]);
        status = st ? cli_fail(st) : CLI_OK;
        if (status && write && i)
            cli_note("%s is of this run up to the %s, and what follows is missing or of an earlier one: no scan", s->path,
                     list[i - 1].name);
        /* All datasets are in one file, which is looked at once. */
        if (!status && !write && (!i || !names[i][hcy_file_length(names[i])]))
            status = guard_writes(&guard, list[i].name, names[i], 0, 0);
    }
    if (!status && !write)
        status = guard_trace(&guard);
    if (!status && !write)
        status = refuse_other_field(s);
    guard_free(&guard);
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    return status;
}

/* --- Threads --- */

/* Pixels or points from `first` on. */
typedef void scan_part(struct scan *s, size_t first, size_t end);
static scan_part fill_images, receive_samples;

enum { PIECE = 4096 };
#define TELL_EVERY 0.2 /* seconds */

struct share {
    struct scan *scan;
    scan_part *part;
    size_t first, end, all;
    bool tells; /* how far all threads are */
    pthread_t thread;
};

static void *run_share(void *payload)
{
    struct share *share = payload;
    struct scan *s = share->scan;
    double told = progress_seconds(&s->progress);
    for (size_t at = share->first, end; at < share->end; at = end) {
        end = share->end - at > PIECE ? at + PIECE : share->end;
        share->part(s, at, end);
        const size_t done = atomic_fetch_add(&s->done, end - at) + end - at;
        const double now = progress_seconds(&s->progress);
        if (share->tells && now - told > TELL_EVERY) {
            progress_say(&s->progress, "computing %zu samples of %zu coils: %.0f %% of %s", s->trajectory.n, s->scene.n_coils,
                         100 * (double)done / (double)share->all, share->part == fill_images ? "the maps" : "them");
            told = now;
        }
    }
    return NULL;
}

static int share_out(struct scan *s, size_t n, scan_part *part)
{
    size_t threads = s->mri->threads < MOST_THREADS ? s->mri->threads : MOST_THREADS;
    threads = threads < n ? threads : n;
    struct share *shares = calloc(threads, sizeof *shares);
    size_t started = 0;
    if (!shares)
        return cli_error("no memory for %zu threads", threads);
    atomic_store(&s->done, 0);
    for (size_t i = 0; i < threads; i++)
        shares[i] = (struct share){ .scan = s,
                                    .part = part,
                                    .all = n,
                                    .tells = i + 1 == threads, /* which is this one's in any case */
                                    .first = n / threads * i,
                                    .end = i + 1 < threads ? n / threads * (i + 1) : n };
    /* A thread that cannot be had leaves its share to this one. */
    while (started + 1 < threads && !pthread_create(&shares[started].thread, NULL, run_share, &shares[started]))
        started++;
    for (size_t i = started; i < threads; i++)
        run_share(&shares[i]);
    for (size_t i = 0; i < started; i++)
        pthread_join(shares[i].thread, NULL);
    free(shares);
    return CLI_OK;
}

/* --- The image's side --- */

/* Pixel p's centre: -1 to 1. */
static void place_pixel(double r[3], const struct mri_trajectory *t, size_t p)
{
    for (int d = t->dim - 1; d >= 0; d--) {
        r[d] = 2 * ((double)(p % t->size[d]) - (double)(t->size[d] / 2)) / (double)t->size[d];
        p /= t->size[d];
    }
}

static void fill_images(struct scan *s, size_t first, size_t end)
{
    const struct mri_trajectory *t = &s->trajectory;
    double half[3], r[3];
    for (int d = 0; d < t->dim; d++)
        half[d] = 1 / (double)t->size[d];
    for (size_t p = first; p < end; p++) {
        double complex values[MRI_COILS];
        place_pixel(r, t, p);
        s->image[p] = mri_phantom_mean(t->dim, r, half);
        mri_coil_values(values, &s->scene, r);
        for (size_t c = 0; c < s->scene.n_coils; c++)
            s->maps[c * s->n_pixels + p] = values[c];
        if (s->field)
            s->field[p] = mri_field_value(&s->scene, r);
    }
}

/* --- The samples --- */

static void receive_samples(struct scan *s, size_t first, size_t end)
{
    const struct mri_trajectory *t = &s->trajectory;
    const double *points = t->sampled ? t->sampled : t->points;
    double complex signal[MRI_COILS];
    double scale = 1;
    /* An integral over -1 to 1 is a sum over N pixels times 2 / N. */
    for (int d = 0; d < t->dim; d++)
        scale *= (double)t->size[d] / 2;
    for (size_t i = first; i < end; i++) {
        double k[3];
        /* Radians a pixel to cycles a unit of length, of which a pixel has 2 / N. */
        for (int d = 0; d < t->dim; d++)
            k[d] = points[i * (size_t)t->dim + (size_t)d] * (double)t->size[d] / (4 * PI);
        mri_receive(signal, &s->scene, k, s->times ? s->times[i % t->samples] : 0);
        for (size_t c = 0; c < s->scene.n_coils; c++)
            s->samples[c * t->n + i] = scale * signal[c];
    }
}

/* Normal in both parts, with a deviation of `noise` times the samples' root mean square. */
static void add_scan_noise(struct scan *s)
{
    size_t n = s->trajectory.n * s->scene.n_coils;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += creal(s->samples[i]) * creal(s->samples[i]) + cimag(s->samples[i]) * cimag(s->samples[i]);
    double sigma = s->mri->noise.value * sqrt(sum / (double)n);
    for (size_t i = 0; i < n && sigma > 0; i++) {
        double normal[2];
        sim_normals(normal, (uint64_t)s->mri->seed.value, i);
        s->samples[i] += sigma * (normal[0] + I * normal[1]);
    }
}

/* --- The whole --- */

static int make_room(struct scan *s)
{
    const struct mri_trajectory *t = &s->trajectory;
    size_t bytes, map_bytes = 0, bart_bytes = 0;
    s->n_pixels = 1;
    int bad = hcy_size_mul(&bytes, t->n, s->scene.n_coils * sizeof *s->samples);
    for (int d = 0; d < t->dim; d++)
        bad = bad || hcy_size_mul(&s->n_pixels, s->n_pixels, t->size[d]);
    bad = bad || hcy_size_mul(&bart_bytes, t->n, 3 * sizeof *s->bart);
    bad = bad || hcy_size_mul(&map_bytes, s->n_pixels, s->scene.n_coils * sizeof *s->maps);
    if (bad)
        return cli_error("that is larger than can be addressed");
    s->samples = malloc(bytes);
    s->bart = s->is_bart ? malloc(bart_bytes) : NULL;
    s->maps = malloc(map_bytes);
    s->image = malloc(s->n_pixels * sizeof *s->image);
    if (s->scene.field > 0) {
        s->field = malloc(s->n_pixels * sizeof *s->field);
        s->times = malloc(t->samples * sizeof *s->times);
    }
    if (!s->samples || !s->maps || !s->image || (s->is_bart && !s->bart) ||
        (s->scene.field > 0 && (!s->field || !s->times)))
        return cli_error("no memory for %zu samples of %zu coils and %zu pixels", t->n, s->scene.n_coils,
                         s->n_pixels);
    /* Every spoke or interleaf is read in the same time, from its excitation on. */
    for (size_t i = 0; s->times && i < t->samples; i++)
        s->times[i] = 1e-3 * s->mri->readout.value * (double)i / (double)t->samples;
    return CLI_OK;
}

static int run_scan(struct scan *s)
{
    progress_begin(&s->progress, !s->mri->quiet);
    int status = mri_trajectory_make(&s->trajectory, s->mri);
    mri_scene_make(&s->scene, s->trajectory.dim, (size_t)s->mri->coils.value, s->mri->field.value);
    if (!status)
        status = make_room(s);
    if (!status)
        status = write_arrays(s, 0);
    if (status)
        return status;
    progress_say(&s->progress, "computing %zu samples of %zu coils ...", s->trajectory.n, s->scene.n_coils);
    fill_bart(s);
    status = share_out(s, s->n_pixels, fill_images);
    if (!status)
        status = share_out(s, s->trajectory.n, receive_samples);
    if (!status) {
        add_scan_noise(s);
        status = write_arrays(s, 1);
    }
    progress_clear(&s->progress);
    if (!status && !s->mri->quiet)
        fprintf(stderr, "%s: %s, %zu x %zu samples%s, %zu %s, %.1f s\n", s->path,
                sim_mri_kinds[s->mri->kind - 1], s->trajectory.spokes, s->trajectory.samples,
                s->trajectory.is_stack ? " of each slice" : "", s->scene.n_coils,
                s->scene.n_coils == 1 ? "coil" : "coils", progress_seconds(&s->progress));
    return status;
}

int sim_mri_make(const struct sim_mri *mri, const char *path)
{
    struct scan s = { .mri = mri, .path = path };
    const char *format = "";
    s.is_bart = !hcy_format_of(&format, path, HCY_WRITE_ARRAY) && !strcmp(format, "cfl");
    int status = run_scan(&s);
    free(s.trajectory.points);
    free(s.trajectory.sampled);
    free(s.samples);
    free(s.maps);
    free(s.image);
    free(s.field);
    free(s.times);
    free(s.bart);
    return status;
}
