/* h5_mrd.c - see h5_mrd.h.
 *
 * A file says three times how much there is: in the list's length, in each header, in the lengths of its vectors.  The
 * headers are read first; what they promise must fit the file before memory is asked for, and each vector must be as
 * long as its header says.
 */
#include "h5_mrd_record.h"
#include "h5_read.h"
#include "h5_virtual.h"
#include "host_array.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE = 19, CALIBRATION = 20, REVERSED = 22, PHASE_CORRECTION = 24 }; /* flags */
enum { BATCH = 64, HEADS = 4096, LEAST_ROW = 32 /* bytes of a list's row: two vectors' references */ };

/* Member by member: what lies between and behind them is not defined. */
static bool are_alike(const struct hcy__mrd_head *a, const struct hcy__mrd_head *b)
{
    return a->samples == b->samples && a->channels == b->channels && a->pre == b->pre && a->post == b->post &&
           a->axes == b->axes && a->encoding == b->encoding;
}

/* ISMRMRD's flag n is bit n - 1. */
static bool has_flag(const struct hcy__mrd_head *head, unsigned flag)
{
    return head->flags >> (flag - 1) & 1;
}

/* What is no sample of the image: noise, navigators, corrections, feedback, dummies, stabilization; and what is for
 * calibration alone, unless `takes_calibration`. */
static bool is_for_image(const struct hcy__mrd_head *head, bool takes_calibration)
{
    static const unsigned char others[] = { NOISE, 23, 24, 26, 27, 28, 29, 30, 31 };
    for (size_t i = 0; i < sizeof others; i++)
        if (has_flag(head, others[i]))
            return false;
    return takes_calibration || !has_flag(head, CALIBRATION);
}

/* A line of EPI's navigators, of the same scan. */
static bool is_navigator(const struct hcy__mrd_head *head, bool takes_calibration)
{
    return has_flag(head, PHASE_CORRECTION) && !has_flag(head, NOISE) &&
           (takes_calibration || !has_flag(head, CALIBRATION));
}

/* --- Memory for vectors: HDF5 asks for what the file says, and gets no more than the file can hold --- */

struct block {
    struct block *next;
    double values[]; /* aligned for anything */
};
struct pool {
    struct block *first;
    uint64_t left;
};

static void *take_from_pool(size_t size, void *payload)
{
    struct pool *pool = payload;
    struct block *block = size <= pool->left ? malloc(sizeof *block + size) : NULL;
    if (!block)
        return NULL;
    pool->left -= size;
    block->next = pool->first;
    pool->first = block;
    return block->values;
}

static void keep_in_pool(void *memory, void *payload)
{
    (void)memory, (void)payload; /* all goes at once, also after a failure, when HDF5 forgets some */
}

static void empty_pool(struct pool *pool, uint64_t left)
{
    while (pool->first) {
        struct block *block = pool->first;
        pool->first = block->next;
        free(block);
    }
    pool->left = left;
}

/* --- Reading --- */

struct raw {
    hid_t dataset, space, plist;
    const char *path;
    struct pool pool;
    hsize_t rows, file_bytes;
    enum hcy__mrd_member member;
    unsigned encoding; /* the image's: */
    char *header;      /* what the file's header says of it, */
    bool takes_calibration;
    uint64_t kept;     /* acquisitions that are read */
    struct hcy__mrd_head first; /* the first of these; the others must be like it */
    struct hcy__mrd_line *lines, *navigators; /* of these, and of navigators, where they are wanted; or NULL */
    float (*places)[HCY__MRD_PLACE][3];                /* of these, as well; */
    uint32_t (*stamps)[HCY__MRD_STAMPS];
    uint64_t n_navigators;
    double dwell[2];   /* of the first for the image, and of the first of noise */
};

/* Noise alone, or what is of the image. */
static bool is_wanted(const struct raw *raw, const struct hcy__mrd_head *head)
{
    if (raw->member == HCY__MRD_NOISE)
        return has_flag(head, NOISE);
    return head->encoding == raw->encoding && is_for_image(head, raw->takes_calibration);
}

static int open_raw(struct raw *raw, hid_t dataset, enum hcy__mrd_member member, const char *path)
{
    hsize_t dims[H5S_MAX_RANK], bytes = 0;
    *raw = (struct raw){ .dataset = dataset, .member = member, .path = path, .plist = H5Pcreate(H5P_DATASET_XFER) };
    raw->space = H5Dget_space(dataset);
    hid_t file = H5Iget_file_id(dataset);
    bool good =
        raw->plist >= 0 && raw->space >= 0 && file >= 0 && H5Fget_filesize(file, &bytes) >= 0 &&
        H5Pset_vlen_mem_manager(raw->plist, take_from_pool, &raw->pool, keep_in_pool, &raw->pool) >= 0;
    if (file >= 0)
        H5Fclose(file);
    if (!good || H5Sget_simple_extent_ndims(raw->space) != 1 ||
        H5Sget_simple_extent_dims(raw->space, dims, NULL) < 0)
        return hcy__h5_fail(HCY_EFORMAT, "%s: its acquisitions are no list", path);
    raw->rows = dims[0];
    raw->file_bytes = bytes;
    int st = hcy__h5_whole(dataset);
    /* HDF5 would make up what was never stored, row by row. */
    if (!st && raw->rows / H5_MOST_PACKED > H5Dget_storage_size(dataset) / LEAST_ROW + 1)
        st = hcy_fail(HCY_ECORRUPT, "%s: says that it has %llu acquisitions, and stores %llu bytes", path,
                      (unsigned long long)raw->rows, (unsigned long long)H5Dget_storage_size(dataset));
    return st;
}

static void close_raw(struct raw *raw)
{
    empty_pool(&raw->pool, 0);
    free(raw->lines);
    free(raw->navigators);
    free(raw->places);
    free(raw->stamps);
    free(raw->header);
    if (raw->plist >= 0)
        H5Pclose(raw->plist);
    if (raw->space >= 0)
        H5Sclose(raw->space);
}

static int read_records(struct hcy__mrd_record *to, struct raw *raw, hid_t type, hsize_t row, hsize_t n)
{
    hid_t memory = H5Screate_simple(1, &n, NULL);
    bool good = memory >= 0 && H5Sselect_hyperslab(raw->space, H5S_SELECT_SET, &row, NULL, &n, NULL) >= 0 &&
                H5Dread(raw->dataset, type, memory, raw->space, raw->plist, to) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    return good ? 0
                : hcy__h5_fail(HCY_EIO, "%s: acquisition %llu or one of the %llu behind it cannot be read",
                               raw->path, (unsigned long long)row, (unsigned long long)n);
}

/* Takes a header of the image in; they must be alike, because an array has one length for all. */
static int take_head_of_image(struct raw *raw, const struct hcy__mrd_head *head, hsize_t row)
{
    const struct hcy__mrd_head *first = &raw->first;
    unsigned long long number = row;
    if (!head->samples || !head->channels || (unsigned)head->pre + head->post >= head->samples)
        return hcy_fail(
            HCY_EFORMAT,
            "%s: acquisition %llu has %u samples of %u channels, of which %u + %u are to be discarded",
            raw->path, number, head->samples, head->channels, head->pre, head->post);
    if (!raw->kept++) {
        raw->first = *head;
        return 0;
    }
    if (are_alike(head, first))
        return 0;
    return hcy_fail(HCY_EFORMAT,
                    "%s: acquisition %llu has %u samples (without %u + %u) of %u channels and %u coordinates "
                    "each in encoding %u, the first one %u (%u + %u), %u and %u in %u; an array needs them alike",
                    raw->path, number, head->samples, head->pre, head->post, head->channels, head->axes,
                    head->encoding, first->samples, first->pre, first->post, first->channels, first->axes,
                    first->encoding);
}

/* Room for one more behind n, by doubling, as only those that are there are known to fit. */
static int make_room(void **all, uint64_t n, size_t each, const char *path)
{
    if (n & (n - 1))
        return 0;
    void *more = realloc(*all, (size_t)(n ? 2 * n : 1) * each);
    if (!more)
        return hcy_fail(HCY_ENOMEM, "%s: no memory for its headers", path);
    *all = more;
    return 0;
}

static int keep_line(struct hcy__mrd_line **lines, uint64_t n, const struct raw *raw,
                     const struct hcy__mrd_record *record, hsize_t row)
{
    void *all = *lines;
    const int st = make_room(&all, n, sizeof **lines, raw->path);
    *lines = all;
    if (st)
        return st;
    (*lines)[n] = record->line;
    (*lines)[n].is_reversed = has_flag(&record->head, REVERSED);
    (*lines)[n].row = row;
    return 0;
}

static int keep_place(struct raw *raw, uint64_t n, const struct hcy__mrd_record *record)
{
    void *all = raw->places;
    const int st = make_room(&all, n, sizeof *raw->places, raw->path);
    raw->places = all;
    if (!st)
        memcpy(raw->places[n], record->place, sizeof *raw->places);
    return st;
}

static int keep_stamps(struct raw *raw, uint64_t n, const struct hcy__mrd_record *record)
{
    void *all = raw->stamps;
    const int st = make_room(&all, n, sizeof *raw->stamps, raw->path);
    raw->stamps = all;
    if (!st)
        memcpy(raw->stamps[n], record->stamps, sizeof *raw->stamps);
    return st;
}

/* Goes through the headers while `take` says so; a status below 0 ends it, too. */
static int visit_heads(struct raw *raw,
                       int (*take)(bool *goes_on, struct raw *, const struct hcy__mrd_record *, hsize_t row))
{
    hid_t type = hcy__mrd_make_record_type(NULL, raw->member);
    struct hcy__mrd_record *records = calloc(HEADS, sizeof *records);
    bool goes_on = true;
    int st = records ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for its headers", raw->path);
    if (!st && type < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: no type for acquisitions", raw->path);
    for (hsize_t row = 0; !st && goes_on && row < raw->rows; row += HEADS) {
        hsize_t n = raw->rows - row < HEADS ? raw->rows - row : HEADS;
        st = read_records(records, raw, type, row, n);
        for (hsize_t i = 0; !st && goes_on && i < n; i++)
            st = take(&goes_on, raw, &records[i], row + i);
    }
    free(records);
    if (type >= 0)
        H5Tclose(type);
    return st;
}

static int take_encoding(bool *goes_on, struct raw *raw, const struct hcy__mrd_record *record, hsize_t row)
{
    (void)row;
    *goes_on = !is_for_image(&record->head, false);
    raw->encoding = *goes_on ? 0 : record->head.encoding;
    return 0;
}

static int take_head(bool *goes_on, struct raw *raw, const struct hcy__mrd_record *record, hsize_t row)
{
    (void)goes_on;
    if (raw->member == HCY__MRD_NAVIGATED && record->head.encoding == raw->encoding &&
        is_navigator(&record->head, raw->takes_calibration))
        return keep_line(&raw->navigators, raw->n_navigators++, raw, record, row);
    if (!is_wanted(raw, &record->head))
        return 0;
    const int st = take_head_of_image(raw, &record->head, row);
    const bool on_grid = raw->member == HCY__MRD_TRAJ && !record->head.axes;
    if (!st && raw->member == HCY__MRD_PLACES)
        return keep_place(raw, raw->kept - 1, record);
    if (!st && raw->member == HCY__MRD_STAMPED)
        return keep_stamps(raw, raw->kept - 1, record);
    return st || !(on_grid || raw->member == HCY__MRD_COUNTED || raw->member == HCY__MRD_NAVIGATED)
               ? st
               : keep_line(&raw->lines, raw->kept - 1, raw, record, row);
}

static int take_dwell(bool *goes_on, struct raw *raw, const struct hcy__mrd_record *record, hsize_t row)
{
    const bool is_noise = has_flag(&record->head, NOISE);
    (void)row;
    if ((is_noise || is_wanted(raw, &record->head)) && !(raw->dwell[is_noise] > 0))
        raw->dwell[is_noise] = record->head.dwell;
    *goes_on = !(raw->dwell[0] > 0 && raw->dwell[1] > 0);
    return 0;
}

/* A scan may have several encodings, such as one for calibration: the image's is that of its first acquisition. */
static int read_heads(struct raw *raw)
{
    int st = visit_heads(raw, take_encoding);
    if (!st) {
        raw->header = hcy__mrd_read_header(raw->dataset, raw->encoding);
        raw->takes_calibration = hcy__mrd_calibrates_image(raw->header);
        st = visit_heads(raw, raw->member == HCY__MRD_DWELL ? take_dwell : take_head);
    }
    /* A file of noise alone has a time of it, too. */
    if (raw->member == HCY__MRD_DWELL)
        return st;
    return st || raw->kept ? st
                           : hcy_fail(HCY_EFORMAT, "%s: none of its %llu acquisitions is of %s", raw->path,
                                      (unsigned long long)raw->rows, raw->member == HCY__MRD_NOISE ? "noise" : "an image");
}

/* Floats of one acquisition, as the file must have them. */
static size_t count_floats(const struct raw *raw)
{
    return (size_t)raw->first.samples * (raw->member == HCY__MRD_TRAJ ? raw->first.axes : 2u * raw->first.channels);
}

static int shape_raw(hcy_host_array *a, const struct raw *raw, unsigned axes)
{
    const struct hcy__mrd_head *head = &raw->first;
    uint64_t samples = (uint64_t)head->samples - head->pre - head->post;
    const uint64_t data[3] = { head->channels, raw->kept, samples },
                   traj[3] = { raw->kept, samples, axes };
    size_t bytes;
    a->is_complex = raw->member != HCY__MRD_TRAJ;
    a->bytes = 4;
    a->rank = 3;
    memcpy(a->shape, a->is_complex ? data : traj, sizeof data);
    int st = hcy__host_array_bytes(&bytes, a);
    /* Vectors lie in the file as they are. */
    if (!st && bytes > raw->file_bytes && axes == head->axes)
        st = hcy_fail(HCY_ECORRUPT, "%s: its headers say %zu bytes, and it has %llu", raw->path, bytes,
                      (unsigned long long)raw->file_bytes);
    if (!st && !(a->data = malloc(bytes)))
        st = hcy_fail(HCY_ENOMEM, "%s: no memory for its acquisitions, %zu bytes", raw->path, bytes);
    return st;
}

/* Acquisition number `kept` of the image, without the samples that are to be discarded. */
static int place_record(hcy_host_array *a, const struct raw *raw, const struct hcy__mrd_record *record, uint64_t kept)
{
    const float *from = record->values.p;
    size_t floats = count_floats(raw), rows = a->is_complex ? raw->first.channels : 1;
    size_t sample = a->is_complex ? 2 : raw->first.axes; /* floats of one */
    size_t length = (size_t)(raw->first.samples - raw->first.pre - raw->first.post) * sample;
    /* The headers were looked at before, and a file may change; the vectors are looked at here. */
    if (!are_alike(&record->head, &raw->first) || record->values.len != floats || kept >= raw->kept)
        return hcy_fail(HCY_ECORRUPT,
                        "%s: acquisition %llu of the image has %zu numbers, and its header says %zu",
                        raw->path, (unsigned long long)kept, record->values.len, floats);
    for (size_t c = 0; c < rows; c++)
        memcpy((float *)a->data + (c * raw->kept + kept) * length,
               from + c * (floats / rows) + raw->first.pre * sample, length * sizeof *from);
    return 0;
}

static int read_vectors(hcy_host_array *a, struct raw *raw)
{
    hid_t type = hcy__mrd_make_record_type(raw->member == HCY__MRD_TRAJ ? "traj" : "data", raw->member);
    struct hcy__mrd_record *records = calloc(BATCH, sizeof *records);
    uint64_t kept = 0;
    int st = records ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for its acquisitions", raw->path);
    if (!st && type < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: no type for acquisitions", raw->path);
    for (hsize_t row = 0; !st && row < raw->rows; row += BATCH) {
        hsize_t n = raw->rows - row < BATCH ? raw->rows - row : BATCH;
        empty_pool(&raw->pool, raw->file_bytes);
        st = read_records(records, raw, type, row, n);
        for (hsize_t i = 0; !st && i < n; i++)
            if (is_wanted(raw, &records[i].head))
                st = place_record(a, raw, &records[i], kept++);
    }
    if (!st && kept != raw->kept)
        st = hcy_fail(HCY_ECORRUPT, "%s changed while it was read", raw->path);
    free(records);
    if (type >= 0)
        H5Tclose(type);
    return st;
}

static int read_grid(hcy_host_array *a, const struct raw *raw)
{
    struct hcy__mrd_grid grid = { .samples = raw->first.samples, .pre = raw->first.pre };
    int st = hcy__mrd_find_grid(&grid, raw->header, raw->path);
    /* Coordinates do not lie in the file, but the samples that they are of do. */
    if (!st && raw->kept > raw->file_bytes / ((uint64_t)8 * raw->first.samples * raw->first.channels))
        st = hcy_fail(HCY_ECORRUPT, "%s: its headers say more samples than its %llu bytes hold", raw->path,
                      (unsigned long long)raw->file_bytes);
    if (!st)
        st = shape_raw(a, raw, grid.sizes[2] > 1 ? 3 : 2);
    return st ? st : hcy__mrd_fill_grid(a, &grid, raw->lines, raw->path);
}

/* As many as there are headers, which were read. */
static int fill_counters(hcy_host_array *a, const struct raw *raw)
{
    float *to = malloc((size_t)raw->kept * HCY__MRD_COUNTERS * sizeof *to);
    *a = (hcy_host_array){ .size = a->size, .bytes = 4, .rank = 2, .shape = { raw->kept, HCY__MRD_COUNTERS },
                            .data = to };
    for (uint64_t i = 0; to && i < raw->kept; i++)
        for (int k = 0; k < HCY__MRD_COUNTERS; k++)
            *to++ = raw->lines[i].counters[k];
    return a->data ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for its counters", raw->path);
}

static int fill_dwell(hcy_host_array *a, const struct raw *raw)
{
    /* What is said of the receiver stands in front of all encodings. */
    char *header = hcy__mrd_read_header(raw->dataset, 0);
    double *to = malloc(3 * sizeof *to);
    *a = (hcy_host_array){ .size = a->size, .bytes = 8, .rank = 1, .shape = { 3 }, .data = to };
    for (int i = 0; to && i < 2; i++)
        to[i] = isfinite(raw->dwell[i]) && raw->dwell[i] > 0 ? raw->dwell[i] : 0;
    if (to)
        to[2] = hcy__mrd_noise_bandwidth(header);
    free(header);
    return to ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for its samples' times", raw->path);
}

static int fill_axes(hcy_host_array *a, const struct raw *raw)
{
    double *to = malloc(sizeof *to);
    *a = (hcy_host_array){ .size = a->size, .bytes = 8, .rank = 1, .shape = { 1 }, .data = to };
    if (to)
        *to = raw->first.axes;
    return to ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for a number", raw->path);
}

static int fill_places(hcy_host_array *a, struct raw *raw)
{
    *a = (hcy_host_array){ .size = a->size, .bytes = 4, .rank = 3, .shape = { raw->kept, HCY__MRD_PLACE, 3 },
                            .data = raw->places };
    raw->places = NULL;
    return 0;
}

static int fill_stamps(hcy_host_array *a, const struct raw *raw)
{
    double *to = malloc((size_t)raw->kept * HCY__MRD_STAMPS * sizeof *to);
    *a = (hcy_host_array){ .size = a->size, .bytes = 8, .rank = 2, .shape = { raw->kept, HCY__MRD_STAMPS },
                            .data = to };
    for (uint64_t i = 0; to && i < raw->kept; i++)
        for (int k = 0; k < HCY__MRD_STAMPS; k++)
            *to++ = raw->stamps[i][k];
    return a->data ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for its time stamps", raw->path);
}

/* --- EPI's navigators --- */

static int read_echo(struct hcy__mrd_echoes *echoes, struct raw *raw, hid_t type, const struct hcy__mrd_line *line)
{
    struct hcy__mrd_record record;
    const struct hcy__mrd_head *head = &record.head;
    const unsigned long long row = line->row;
    empty_pool(&raw->pool, raw->file_bytes);
    memset(&record, 0, sizeof record);
    const int st = read_records(&record, raw, type, line->row, 1);
    if (st)
        return st;
    if (head->samples != raw->first.samples || head->channels != raw->first.channels ||
        (unsigned)head->pre + head->post >= head->samples || line->centre >= head->samples)
        return hcy_fail(HCY_EFORMAT, "%s: acquisition %llu, a navigator, has %u samples (of which %u + %u are to be discarded) "
                                     "of %u channels with the centre at sample %u, and the image's %u of %u: no line of its "
                                     "EPI", raw->path, row, head->samples, head->pre, head->post, head->channels,
                        line->centre, raw->first.samples, raw->first.channels);
    if (record.values.len != (size_t)2 * head->samples * head->channels)
        return hcy_fail(HCY_ECORRUPT, "%s: acquisition %llu, a navigator, has %zu numbers, and its header says %zu", raw->path,
                        row, record.values.len, (size_t)2 * head->samples * head->channels);
    hcy__mrd_add_echo(echoes, line, record.values.p, head->pre, head->post);
    return 0;
}

static int read_shots(struct hcy__mrd_shot *shots, uint64_t *n_shots, struct raw *raw, const struct hcy__mrd_grid *grid)
{
    hid_t type = hcy__mrd_make_record_type("data", raw->member);
    struct hcy__mrd_echoes *echoes = hcy__mrd_begin_echoes(grid, raw->first.channels);
    int st = echoes ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for its navigators", raw->path);
    if (!st && type < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: no type for acquisitions", raw->path);
    *n_shots = 0;
    for (uint64_t i = 0; !st && i < raw->n_navigators; i++) {
        const struct hcy__mrd_line *one = &raw->navigators[i];
        const bool is_last = i + 1 == raw->n_navigators || !hcy__mrd_is_one_shot(one + 1, one, raw->lines, raw->kept);
        if (!i || !hcy__mrd_is_one_shot(one, one - 1, raw->lines, raw->kept))
            shots[*n_shots] = (struct hcy__mrd_shot){ .first = *one, .is_one_segment = true };
        if (one->counters[HCY__MRD_SEGMENT] != shots[*n_shots].first.counters[HCY__MRD_SEGMENT])
            shots[*n_shots].is_one_segment = false;
        st = read_echo(echoes, raw, type, one);
        if (!st && is_last)
            hcy__mrd_end_shot(&shots[(*n_shots)++], echoes);
    }
    hcy__mrd_free_echoes(echoes);
    if (type >= 0)
        H5Tclose(type);
    return st;
}

/* What those of a kin say of a line, its shift and its phase; if there are none nothing changes. */
static void fill_ghost(double to[2], const struct hcy__mrd_shot *shots, uint64_t n, enum hcy__mrd_kin kin,
                       const struct hcy__mrd_line *line)
{
    const struct hcy__mrd_shot *shot = hcy__mrd_find_shot(shots, n, kin, line);
    if (!shot)
        return;
    const struct hcy__mrd_ghost *ghost = line->is_reversed ? &shot->reversed : &shot->forward;
    to[0] = ghost->shift;
    to[1] = ghost->phase;
}

static int read_navigators(hcy_host_array *a, struct raw *raw)
{
    struct hcy__mrd_grid grid = { .samples = raw->first.samples, .pre = raw->first.pre };
    struct hcy__mrd_shot *shots = NULL;
    uint64_t n = 0;
    if (!raw->n_navigators || raw->first.axes)
        return hcy_fail(HCY_ENOENT, "%s: it has no navigators of EPI (ACQ_IS_PHASECORR_DATA), or its lines have a trajectory",
                        raw->path);
    int st = hcy__mrd_find_grid(&grid, raw->header, raw->path);
    if (!st && !grid.is_epi)
        st = hcy_fail(HCY_ENOENT, "%s: its header (xml) says no EPI, whose navigators these would be", raw->path);
    double *to = st ? NULL : malloc((size_t)raw->kept * 2 * sizeof *to);
    if (!st && (!to || !(shots = calloc((size_t)raw->n_navigators, sizeof *shots))))
        st = hcy_fail(HCY_ENOMEM, "%s: no memory for its navigators", raw->path);
    *a = (hcy_host_array){ .size = a->size, .bytes = 8, .rank = 2, .shape = { raw->kept, 2 }, .data = to };
    if (!st)
        st = read_shots(shots, &n, raw, &grid);
    for (uint64_t i = 0; !st && i < 2 * raw->kept; i++)
        to[i] = NAN;
    for (int kin = 0; !st && kin < HCY__MRD_KINS; kin++) {
        hcy__mrd_sort_shots(shots, n, kin);
        for (uint64_t i = 0; i < raw->kept; i++)
            if (!isfinite(to[2 * i]))
                fill_ghost(to + 2 * i, shots, n, kin, &raw->lines[i]);
    }
    free(shots);
    return st;
}

static int read_member(hcy_host_array *a, struct raw *raw)
{
    if (raw->member == HCY__MRD_NAVIGATED)
        return read_navigators(a, raw);
    if (raw->member == HCY__MRD_PLACES)
        return fill_places(a, raw);
    if (raw->member == HCY__MRD_STAMPED)
        return fill_stamps(a, raw);
    if (raw->member == HCY__MRD_AXES)
        return fill_axes(a, raw);
    if (raw->member == HCY__MRD_DWELL)
        return fill_dwell(a, raw);
    if (raw->member == HCY__MRD_SPACE)
        return hcy__mrd_fill_space(a, raw->header, raw->path);
    if (raw->member == HCY__MRD_COUNTED)
        return fill_counters(a, raw);
    if (raw->lines)
        return read_grid(a, raw);
    int st = shape_raw(a, raw, raw->first.axes);
    return st ? st : read_vectors(a, raw);
}

int hcy__mrd_read(hcy_host_array *a, hid_t dataset, enum hcy__mrd_member member, const char *path)
{
    struct raw raw;
    int st = open_raw(&raw, dataset, member, path);
    if (!st)
        st = read_heads(&raw);
    if (!st)
        st = read_member(a, &raw);
    close_raw(&raw);
    return st;
}
