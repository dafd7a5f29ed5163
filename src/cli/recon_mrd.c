/* recon_mrd.c - what halcyon recon takes from ISMRMRD's files beside samples and coordinates: the image's sizes, and
 * which acquisitions are of which image.
 *
 * A header has two spaces, what was encoded (often twice the image along readouts) and what is to be reconstructed,
 * each with a matrix and a field of view.  Coordinates are those of the encoded space; pixels of another size stretch
 * them. */
#include "recon.h"
#include <float.h>
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A list of acquisitions has its parts behind its name. */
char *recon_name_part(const struct recon *r, const char *part)
{
    const char *list = r->kspace + hcy_file_length(r->kspace);
    const size_t size = strlen(r->kspace) + 48;
    char *name = malloc(size);
    if (name)
        snprintf(name, size, "%.*s%s/%s", (int)(list - r->kspace), r->kspace, *list && list[1] ? list : ":/dataset/data",
                 part);
    return name;
}

bool recon_may_be_mrd(const char *path)
{
    const char *format;
    return !hcy_format_of(&format, path, HCY_WRITE_ARRAY) && (!strcmp(format, "mrd") || !strcmp(format, "h5"));
}

static int read_part(hcy_host_array *a, struct recon *r, const char *part)
{
    char *name = recon_name_part(r, part);
    const int status = name ? recon_read_array(a, r, name) : cli_error("no memory for the names of files");
    free(name);
    return status;
}

/* --- Sizes --- */

struct space {
    double matrix[3], view[3]; /* x first; 0: is not said */
};

static bool is_whole(const struct space *s)
{
    return s->matrix[0] > 0 && s->matrix[1] > 0 && s->matrix[2] > 0;
}

/* How large a pixel of the image is, of an encoded one; what differs by less is how headers round. */
static double stretch_of(const struct space *image, const struct space *encoded, int axis)
{
    enum { AS_GOOD_AS = 10000, MOST = 1000 };
    const double to = image->view[axis] / image->matrix[axis], from = encoded->view[axis] / encoded->matrix[axis];
    /* So far apart they are no sizes of one object. */
    const bool said = encoded->matrix[axis] > 0 && to > 0 && from > 0 && to < MOST * from && from < MOST * to;
    return said && fabs(to / from - 1) * AS_GOOD_AS > 1 ? to / from : 1;
}

static void note_sizes(const struct recon *r, const struct space *encoded, bool is_recon)
{
    char stretched[120] = "";
    int at = 0;
    for (int d = 0; d < r->dim; d++)
        if (r->stretch[d] != 1)
            at = snprintf(stretched, sizeof stretched, "; its pixels are %.4g", r->stretch[0]);
    for (int d = 1; at && d < r->dim; d++)
        at += snprintf(stretched + at, sizeof stretched - (size_t)at, " x %.4g", r->stretch[d]);
    cli_note("%s: the image is -n %s, the header's %s matrix (encoded: %gx%gx%g, x first)%s%s; -n says otherwise",
             r->kspace, r->size_words, is_recon ? "reconstructed" : "encoded", encoded->matrix[0], encoded->matrix[1],
             encoded->matrix[2], stretched, at ? " of the encoded ones" : "");
}

/* In a file that is none of ISMRMRD's a dataset of that name may be anything. */
static bool take_doubles(void *to, size_t n, hcy_host_array *a)
{
    size_t count;
    const bool are_these = !hcy_host_array_count(&count, a) && !a->is_complex && a->bytes == 8 && count == n;
    if (are_these)
        memcpy(to, a->data, n * sizeof(double));
    hcy_host_array_free(a);
    return are_these;
}

/* A list's part that need not be there. */
static bool find_doubles(double *to, size_t n, char *name)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    const bool is_there = name && !hcy_host_array_read(&a, name) && take_doubles(to, n, &a);
    free(name);
    return is_there;
}

/* A pixel's length, 0 (unknown) where it is one that files of floats cannot hold. */
static double cell_of(double view, double pixels)
{
    const double cell = view / pixels;
    return cell >= FLT_MIN && cell <= FLT_MAX / UINT16_MAX ? cell : 0;
}

void recon_find_cells(struct recon *r)
{
    double space[2][2][3] = { 0 }, (*encoded)[3] = space[0];
    if (!r->is_list || !find_doubles(space[0][0], 12, recon_name_part(r, "space")))
        return;
    for (int axis = 0; axis < 3; axis++) {
        /* In 1/FOV coordinates are of the field of view, whatever its pixels are; else of encoded pixels. */
        const bool is_view = r->unit == POINTS_FOV && axis < r->dim;
        r->cells[axis] = cell_of(encoded[1][axis], is_view ? (double)r->sizes[r->dim - 1 - axis] : encoded[0][axis]);
    }
}

int recon_find_sizes(struct recon *r)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char *name = recon_name_part(r, "space");
    const bool is_said = name && !hcy_host_array_read(&a, name);
    int at = 0;
    free(name);
    if (!is_said)
        return cli_error("--modes is missing, and no header says it: the image's sizes, as -n 128,128");
    struct space spaces[2]; /* encoded, reconstructed */
    if (!take_doubles(spaces, 12, &a))
        return cli_error("%s: its /space is none of ISMRMRD's; -n says the image's sizes, as -n 128,128", r->kspace);
    const bool is_recon = is_whole(&spaces[1]);
    const struct space *image = &spaces[is_recon];
    if (!is_whole(image))
        return cli_error("%s: its header has an image of %g x %g x %g pixels; -n says the sizes", r->kspace,
                         image->matrix[0], image->matrix[1], image->matrix[2]);
    r->dim = image->matrix[2] > 1 ? 3 : 2;
    for (int d = 0; d < r->dim; d++) {
        const int axis = r->dim - 1 - d;
        r->sizes[d] = (int64_t)image->matrix[axis];
        r->encoded[d] = spaces[0].matrix[axis] > 0 ? (int64_t)spaces[0].matrix[axis] : r->sizes[d];
        r->stretch[d] = stretch_of(image, &spaces[0], axis);
        at += snprintf(r->size_words + at, sizeof r->size_words - (size_t)at, "%s%lld", d ? "," : "",
                       (long long)r->sizes[d]);
    }
    for (int axis = 0; axis < 3; axis++) {
        const bool is_encoded = spaces[0].matrix[axis] > 0 && spaces[0].view[axis] > 0;
        const struct space *from = is_encoded ? &spaces[0] : image;
        const double stretch = is_encoded ? stretch_of(image, from, axis) : 1;
        r->cells[axis] = cell_of(stretch * from->view[axis], from->matrix[axis]);
    }
    if (!r->v->quiet)
        note_sizes(r, &spaces[0], is_recon);
    return CLI_OK;
}

int recon_stretch_points(struct recon *r)
{
    static const double edge = 3.14159265358979323846 * 1.001;
    for (int d = 0; d < r->dim; d++) {
        double most = 0;
        for (size_t i = 0; i < r->n && r->stretch[d] != 1; i++) {
            const double x = r->stretch[d] * reals_get(r->is_double, r->axes[d], i);
            reals_put(r->is_double, r->axes[d], i, x);
            most = fmax(most, fabs(x));
        }
        /* Beyond the edge a frequency would be taken for another one. */
        if (r->stretch[d] > 1 && most > edge)
            return cli_error("%s: the header's image has pixels %.4g times as large as those encoded along axis %d, too "
                             "large for its samples; -n is an image of encoded pixels", r->kspace, r->stretch[d], d);
    }
    return CLI_OK;
}

/* --- The noise's pace --- */

/* Noise of half as long samples has twice the variance.  As in Gadgetron, a receiver's share of the band that passes is
 * missing in the noise's samples alone. */
double recon_find_pace(const struct recon *r)
{
    const char *file = r->v->noise, *part = strrchr(file, '/');
    double image[3], noise[3];
    char *name = NULL, times[100] = "";
    if (!recon_may_be_mrd(file) || !part || strcmp(part, "/noise") || !r->is_list)
        return 1;
    if ((name = strdup(file)))
        memcpy(name + (part - file) + 1, "dwell", 5);
    const bool are_images = find_doubles(image, 3, recon_name_part(r, "dwell")), is_noise = find_doubles(noise, 3, name);
    if (!are_images || !is_noise)
        return 1;
    const bool are_times = image[0] > 0 && noise[1] > 0;
    const double pace = (are_times ? image[0] / noise[1] : 1) * (noise[2] > 0 ? noise[2] : 1);
    if (are_times)
        snprintf(times, sizeof times, "samples of noise take %g us, those of the image %g us", noise[1], image[0]);
    if (pace != 1 && !r->v->quiet)
        cli_note("%s: %s%s%s: its variance is taken %.4g times", file, times, are_times && noise[2] > 0 ? ", and " : "",
                 noise[2] > 0 ? "the header has a bandwidth of noise" : "", 1 / pace);
    return pace;
}

/* --- Which acquisitions --- */

/* What they are counted by, in the order of their counters. */
static const char *const counters[] = { "step_1", "step_2", "average", "slice", "contrast", "phase", "repetition", "set",
                                        "segment" };
enum { COUNTERS = sizeof counters / sizeof counters[0], SLICE = 3, REPETITION = 6 };
/* Images are apart by these, the outermost one first; repetitions are, where frames are wanted. */
static const int apart[] = { SLICE, 4, 5, 7, REPETITION };
enum { APART = sizeof apart / sizeof apart[0] };

struct range {
    long first, last;
    bool is_named;
};

/* One of --only's, as slice=2 or slice=2-4, and what follows it; NULL: it is none. */
static const char *parse_range(struct range *ranges, const char *at)
{
    char *end;
    int i = 0;
    size_t n = strcspn(at, "=");
    while (i < COUNTERS && (strlen(counters[i]) != n || strncmp(counters[i], at, n)))
        i++;
    if (i == COUNTERS || ranges[i].is_named || at[n] != '=' || at[n + 1] < '0' || at[n + 1] > '9')
        return NULL;
    ranges[i].is_named = true;
    ranges[i].first = ranges[i].last = strtol(at + n + 1, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
        ranges[i].last = strtol(end + 1, &end, 10);
    if ((*end && *end != ',') || ranges[i].last < ranges[i].first)
        return NULL;
    return *end ? end + 1 : end;
}

static int parse_only(struct range *ranges, const char *text)
{
    const char *at = text;
    for (int i = 0; i < COUNTERS; i++)
        ranges[i] = (struct range){ 0, UINT16_MAX, false };
    if (!text)
        return CLI_OK;
    do
        at = parse_range(ranges, at);
    while (at && *at);
    if (at && at[-1] != ',')
        return CLI_OK;
    return cli_usage("--only takes COUNTER=N or COUNTER=N-M, with commas between, of step_1, step_2, average, slice, "
                     "contrast, phase, repetition, set and segment, each once; it is %s", text);
}

int recon_check_only(const struct recon *r)
{
    struct range ranges[COUNTERS];
    return parse_only(ranges, r->v->only);
}

/* An acquisition: its number in the file, and among those that are taken; and the image that it is of. */
struct recon_taken {
    size_t number, rank;
    float image[APART];
};

static int compare_images(const void *a, const void *b)
{
    const struct recon_taken *x = a, *y = b;
    for (int i = 0; i < APART; i++)
        if (x->image[i] != y->image[i])
            return x->image[i] < y->image[i] ? -1 : 1;
    /* Of one image they stay in their order. */
    return (x->number > y->number) - (x->number < y->number);
}

/* Those that --only leaves, an image's behind another's. */
static size_t take_acquisitions(struct recon_taken *taken, const struct recon *r, const hcy_host_array *a,
                                const struct range *ranges)
{
    const float *all = a->data;
    size_t n = 0;
    for (size_t i = 0; i < a->shape[0]; i++) {
        const float *counted = all + i * COUNTERS;
        bool is_taken = true;
        for (int k = 0; k < COUNTERS; k++)
            is_taken = is_taken && counted[k] >= (float)ranges[k].first && counted[k] <= (float)ranges[k].last;
        if (!is_taken)
            continue;
        taken[n].number = i;
        taken[n].rank = n;
        for (int k = 0; k < APART; k++)
            taken[n].image[k] = k < APART - 1 || r->v->frames.given ? counted[apart[k]] : 0;
        n++;
    }
    qsort(taken, n, sizeof *taken, compare_images);
    return n;
}

/* An array [outer][acquisitions][...] becomes that of those that are taken, in place: one of `outer` after the other,
 * as k-space of all coils is large.  is_rank: it is of these alone, in the file's order. */
static int take_rows(hcy_host_array *a, int axis, const struct recon_taken *taken, size_t n, bool is_rank)
{
    size_t row = (a->is_complex ? 2 : 1) * (size_t)a->bytes, outer = 1;
    const size_t rows = (size_t)a->shape[axis];
    for (int d = 0; d < a->rank; d++)
        if (d != axis)
            *(d < axis ? &outer : &row) *= (size_t)a->shape[d];
    char *from = malloc(rows * row), *to = a->data;
    if (!from)
        return cli_error("no memory for %zu acquisitions", rows);
    for (size_t o = 0; o < outer; o++) {
        memcpy(from, (char *)a->data + o * rows * row, rows * row);
        for (size_t i = 0; i < n; i++, to += row)
            memcpy(to, from + (is_rank ? taken[i].rank : taken[i].number) * row, row);
    }
    free(from);
    a->shape[axis] = n;
    return CLI_OK;
}

int recon_order_points(hcy_host_array *a, const struct recon *r)
{
    size_t count;
    if (!r->taken || hcy_host_array_count(&count, a))
        return CLI_OK;
    const size_t each = recon_count_points(r) / r->n_taken, rows = count / each;
    const bool is_all = rows == r->n_acquisitions;
    /* Those of one readout, or of whatever number is refused elsewhere, stay. */
    if (rows * each != count || !(is_all || rows == r->n_taken))
        return CLI_OK;
    a->rank = 2;
    a->shape[0] = rows;
    a->shape[1] = each;
    return take_rows(a, 0, r->taken, r->n_taken, !is_all);
}

int recon_unorder_points(void **ordered, const struct recon *r, const void *numbers)
{
    *ordered = NULL;
    if (!r->taken)
        return CLI_OK;
    const size_t n = recon_count_points(r), row = n / r->n_taken * (r->is_double ? sizeof(double) : sizeof(float));
    char *to = reals_room(r->is_double, n);
    if (!to)
        return cli_error("no memory for %zu numbers", n);
    for (size_t i = 0; i < r->n_taken; i++)
        memcpy(to + r->taken[i].rank * row, (const char *)numbers + i * row, row);
    *ordered = to;
    return CLI_OK;
}

/* How many images there are, whose repetitions are not apart, and slices; whether they have as many acquisitions each.
 * begins: those before each image, [n + 1], or NULL. */
static size_t count_images(bool *is_even, size_t *slices, size_t *begins, const struct recon_taken *taken, size_t n,
                           int apart_by)
{
    size_t images = 1, each = n;
    *is_even = true;
    *slices = 1;
    for (size_t i = 1; i < n; i++) {
        if (!memcmp(taken[i].image, taken[i - 1].image, (size_t)apart_by * sizeof *taken->image))
            continue;
        if (begins)
            begins[images] = i;
        each = images++ == 1 ? i : each;
        *slices += taken[i].image[0] != taken[i - 1].image[0];
        *is_even = *is_even && i == (images - 1) * each;
    }
    *is_even = *is_even && n == images * each;
    if (begins)
        begins[0] = 0, begins[images] = n;
    return images;
}

/* A frame is of one image; of several repetitions, which may be one long series, it is with a note. */
static int judge_frames(const struct recon *r, size_t images, size_t with_repetitions, size_t n)
{
    const struct recon_values *v = r->v;
    const size_t spokes = v->spokes_per_frame.given ? (size_t)v->spokes_per_frame.value : 1;
    const bool is_apart = v->frames.given && (!with_repetitions || r->wanted_frames % with_repetitions);
    if (v->frames.given && r->wanted_frames % images)
        return cli_error("--frames %zu: %s is of %zu images (slices, contrasts, phases, sets), and a frame would be of two; "
                         "--only takes some", r->wanted_frames, r->kspace, images);
    if (images > 1 && n / images % spokes)
        return cli_error("--spokes-per-frame %zu: %s is of %zu images of %zu acquisitions each (slices, contrasts, phases, "
                         "sets), and a frame would be of two; --only takes one", spokes, r->kspace, images, n / images);
    if (is_apart && !v->quiet)
        cli_note("%s: of its repetitions some are in two of %zu frames, or several in one", r->kspace, r->wanted_frames);
    return CLI_OK;
}

/* Whether each slice has as many acquisitions as the others. */
static bool slices_are_even(const struct recon *r)
{
    const size_t each = r->n_taken / r->n_slices;
    bool are_even = r->n_taken % r->n_slices == 0;
    for (size_t slice = 0; are_even && slice < r->n_slices; slice++)
        are_even = r->slices[slice * each] == slice && r->slices[(slice + 1) * each - 1] == slice;
    return are_even;
}

static int keep_slices(struct recon *r, const struct recon_taken *taken, size_t n)
{
    r->slices = calloc(n, sizeof *r->slices);
    if (!r->slices)
        return cli_error("no memory for %zu acquisitions", n);
    for (size_t i = 1; i < n; i++)
        r->slices[i] = r->slices[i - 1] + (taken[i].image[0] != taken[i - 1].image[0]);
    if (r->v->basis && !slices_are_even(r))
        return cli_error("%s: its %zu slices do not have as many acquisitions each, and --basis is of all; --only takes some, "
                         "as --only slice=0", r->kspace, r->n_slices);
    return CLI_OK;
}

size_t recon_acquisition(size_t *slice, const struct recon *r, size_t i)
{
    *slice = r->n_slices > 1 ? r->slices[i] : 0;
    return r->taken[i].number;
}

size_t recon_slice_of(const struct recon *r, size_t frame)
{
    const size_t each = r->n_slices > 1 ? recon_count_points(r) / r->n_taken : 1;
    return r->n_slices > 1 ? r->slices[recon_points_before(r, frame) / each] : 0;
}

static int judge_images(struct recon *r, const struct recon_taken *taken, size_t n)
{
    const struct recon_values *v = r->v;
    bool is_even;
    size_t slices, with_repetitions = count_images(&is_even, &slices, NULL, taken, n, APART), *begins;
    if (!n)
        return cli_error("%s: --only %s leaves no acquisition", r->kspace, v->only);
    with_repetitions = is_even ? with_repetitions : 0;
    begins = malloc((n + 1) * sizeof *begins);
    if (!begins)
        return cli_error("no memory for %zu acquisitions", n);
    const size_t images = count_images(&is_even, &slices, begins, taken, n, APART - 1);
    r->n_apart = images;
    r->n_slices = slices;
    if (is_even)
        free(begins);
    else
        r->frame_begins = begins;
    if (!is_even && (v->basis || v->frames.given || v->spokes_per_frame.given))
        return cli_error("%s is of %zu images (slices, contrasts, phases, sets) that do not have as many acquisitions each, "
                         "which %s needs; --only takes some, as --only slice=0", r->kspace, images,
                         v->basis ? "--basis" : v->frames.given ? "--frames" : "--spokes-per-frame");
    if (v->frames.given || v->spokes_per_frame.given)
        return judge_frames(r, images, with_repetitions, n);
    if (v->basis && slices > 1) {
        r->wanted_frames = slices;
        if (!v->quiet)
            cli_note("%s is of %zu slices, each of which has an image of each function", r->kspace, slices);
    }
    if (v->basis || images == 1)
        return CLI_OK;
    r->wanted_frames = images;
    if (!v->quiet)
        cli_note("%s is of %zu images (%zu slice%s; contrasts, phases and sets), which are the result's frames%s", r->kspace,
                 images, slices, slices == 1 ? "" : "s",
                 is_even ? "" : "; they do not have as many acquisitions each");
    return CLI_OK;
}

/* --- What images are counted by --- */

/* hcy_host_array.counters: the first six by their places among an acquisition's, then /stamps. */
enum { STAMPS = 4, COUNTED = 6 + STAMPS };

/* A number of a file's that nobody has looked at; 0 where it is no such one. */
static uint32_t whole_of(double number, uint32_t most)
{
    return number >= 0 && number <= most ? (uint32_t)number : 0;
}

static int keep_counted(struct recon *r, const hcy_host_array *counters)
{
    static const int members[] = { 2, SLICE, 4, 5, REPETITION, 7 };
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char *name = recon_name_part(r, "stamps");
    const bool is_there = name && !hcy_host_array_read(&a, name) && !a.is_complex && a.bytes == 8 && a.rank == 2 &&
                          a.shape[0] == r->n_acquisitions && a.shape[1] == STAMPS;
    free(name);
    uint32_t *to = r->counted = malloc(r->n_taken * COUNTED * sizeof *to);
    for (size_t i = 0; to && i < r->n_taken; i++) {
        const float *one = (const float *)counters->data + r->taken[i].number * COUNTERS;
        for (int k = 0; k < COUNTED - STAMPS; k++)
            *to++ = whole_of(one[members[k]], UINT16_MAX);
        for (int k = 0; k < STAMPS; k++)
            *to++ = is_there ? whole_of(((double *)a.data)[r->taken[i].number * STAMPS + k], UINT32_MAX) : 0;
    }
    hcy_host_array_free(&a);
    return r->counted ? CLI_OK : cli_error("no memory for %zu acquisitions", r->n_taken);
}

int recon_count_image(hcy_host_array *a, struct recon *r)
{
    const char *format;
    int status = hcy_format_of(&format, r->v->out, HCY_WRITE_ARRAY);
    if (status)
        return cli_fail(status);
    if (!r->counted || strcmp(format, "mrd"))
        return CLI_OK;
    const size_t images = r->n_frames || r->basis ? (size_t)a->shape[0] : 1, frames = r->n_frames ? r->n_frames : 1,
                 length = recon_count_points(r) / r->n_taken;
    r->image_counters = malloc(images * COUNTED * sizeof *r->image_counters);
    if (!r->image_counters)
        return cli_error("no memory for counters of %zu images", images);
    for (size_t i = 0; i < images; i++) {
        const size_t frame = i / (images / frames), first = r->n_frames ? recon_points_before(r, frame) / length : 0;
        memcpy(r->image_counters + i * COUNTED, r->counted + first * COUNTED, COUNTED * sizeof *r->counted);
    }
    a->counters = r->image_counters;
    a->n_counters = images;
    return CLI_OK;
}

/* Of a series one image may not be what is wanted. */
static void note_repetitions(const struct recon *r, const hcy_host_array *counters)
{
    const struct recon_values *v = r->v;
    float first = UINT16_MAX, last = 0;
    for (size_t i = 0; i < r->n_taken; i++) {
        const float one = ((const float *)counters->data)[r->taken[i].number * COUNTERS + REPETITION];
        first = one < first ? one : first;
        last = one > last ? one : last;
    }
    if (first < last && !v->frames.given && !v->spokes_per_frame.given && !v->basis && !v->quiet)
        cli_note("%s: repetitions %g to %g are together in one image; --frames makes images of them, --only repetition=%g takes "
                 "one", r->kspace, first, last, first);
}

static bool are_counters(const hcy_host_array *a, const hcy_host_array *samples)
{
    return a->rank == 2 && a->shape[1] == COUNTERS && !a->is_complex && a->bytes == 4 && samples->rank == 3 &&
           samples->shape[1] == a->shape[0];
}

/* Where -t names the coordinates, KSPACE need not be a list; then `a` stays empty. */
static int read_counters(hcy_host_array *a, struct recon *r, const hcy_host_array *samples)
{
    int status = CLI_OK;
    if (!r->v->trajectory) {
        status = read_part(a, r, "counters");
        if (!status && !are_counters(a, samples))
            status = cli_error("%s: its /counters are none of ISMRMRD's, or it changed while it was read", r->kspace);
    } else if (recon_may_be_mrd(r->kspace)) {
        char *name = recon_name_part(r, "counters");
        if (!name)
            return cli_error("no memory for the names of files");
        if (hcy_host_array_read(a, name) || !are_counters(a, samples))
            hcy_host_array_free(a);
        free(name);
    }
    if (!status && r->v->only && !a->data)
        return cli_usage("--only is for ISMRMRD's acquisitions, which %s has not", r->kspace);
    return status;
}

/* All of them in their order stay as they are. */
static int reorder(struct recon *r, hcy_host_array *samples, hcy_host_array *points)
{
    bool is_all = r->n_taken == r->n_acquisitions;
    char is[200];
    for (size_t i = 0; is_all && i < r->n_taken; i++)
        is_all = r->taken[i].number == i;
    if (is_all) {
        free(r->taken);
        r->taken = NULL;
        return CLI_OK;
    }
    if (points->rank != 3 || points->shape[0] != r->n_acquisitions || points->shape[1] != samples->shape[2])
        return cli_error("%s: coordinates of acquisitions of which some are taken, or others first, must be "
                         "[%zu][%llu][axes]; it is %s", r->trajectory, r->n_acquisitions,
                         (unsigned long long)samples->shape[2], array_words(is, points, 0));
    const int status = take_rows(samples, 1, r->taken, r->n_taken, false);
    return status ? status : take_rows(points, 0, r->taken, r->n_taken, false);
}

int recon_take_acquisitions(struct recon *r, hcy_host_array *samples, hcy_host_array *points)
{
    struct range ranges[COUNTERS];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    int status = parse_only(ranges, r->v->only);
    if (!status)
        status = read_counters(&a, r, samples);
    r->is_list = !status && a.data;
    if (r->is_list) {
        r->n_acquisitions = (size_t)a.shape[0];
        r->taken = malloc(r->n_acquisitions * sizeof *r->taken);
        status = r->taken ? CLI_OK : cli_error("no memory for %zu acquisitions", r->n_acquisitions);
    }
    if (r->taken) {
        r->n_taken = take_acquisitions(r->taken, r, &a, ranges);
        status = judge_images(r, r->taken, r->n_taken);
    }
    if (!status && r->n_slices > 1)
        status = keep_slices(r, r->taken, r->n_taken);
    if (!status && r->is_list)
        status = recon_find_places(r);
    if (!status && r->is_list)
        note_repetitions(r, &a);
    if (!status && r->is_list)
        status = keep_counted(r, &a);
    hcy_host_array_free(&a);
    if (!status && r->is_list)
        status = recon_correct_lines(r, samples, points);
    return status || !r->is_list ? status : reorder(r, samples, points);
}
