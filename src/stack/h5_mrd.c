/* h5_mrd.c - see h5_mrd.h.
 *
 * A file says three times how much there is: in the list's length, in each header, in the lengths of its vectors.  The
 * headers are read first; what they promise must fit the file before memory is asked for, and each vector must be as
 * long as its header says.
 */
#include "h5_mrd.h"
#include "h5_read.h"
#include "h5_virtual.h"
#include "host_array.h"
#include <halcyon/backend.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CALIBRATION = 20, REVERSED = 22 }; /* flags */
enum { BATCH = 64, HEADS = 4096, LEAST_ROW = 32 /* bytes of a list's row: two vectors' references */ };

/* What is read of ISMRMRD_AcquisitionHeader. */
struct head {
    uint64_t flags;
    uint16_t samples, channels, pre, post, axes;
};
struct record {
    struct head head;
    struct hcy__mrd_line line;
    hvl_t values;
};

/* Member by member: what lies between and behind them is not defined. */
static bool are_alike(const struct head *a, const struct head *b)
{
    return a->samples == b->samples && a->channels == b->channels && a->pre == b->pre && a->post == b->post &&
           a->axes == b->axes;
}

/* ISMRMRD's flag n is bit n - 1. */
static bool has_flag(const struct head *head, unsigned flag)
{
    return head->flags >> (flag - 1) & 1;
}

/* What is no sample of the image: noise, navigators, corrections, feedback, dummies, stabilization; and what is for
 * calibration alone, unless `takes_calibration`. */
static bool is_for_image(const struct head *head, bool takes_calibration)
{
    static const unsigned char others[] = { 19, 23, 24, 26, 27, 28, 29, 30, 31 };
    for (size_t i = 0; i < sizeof others; i++)
        if (has_flag(head, others[i]))
            return false;
    return takes_calibration || !has_flag(head, CALIBRATION);
}

/* --- Types --- */

int hcy__mrd_is_raw(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset);
    int is = type >= 0 && H5Tget_class(type) == H5T_COMPOUND && H5Tget_member_index(type, "head") >= 0 &&
             H5Tget_member_index(type, "traj") >= 0 && H5Tget_member_index(type, "data") >= 0;
    if (type >= 0)
        H5Tclose(type);
    return is;
}

hid_t hcy__mrd_open_member(enum hcy__mrd_member *member, hid_t file, const char *name)
{
    const char *slash = strrchr(name, '/');
    hid_t dataset = -1;
    if (!slash || slash == name || (strcmp(slash, "/traj") && strcmp(slash, "/data")))
        return -1;
    *member = strcmp(slash, "/traj") ? HCY__MRD_DATA : HCY__MRD_TRAJ;
    char *list = strdup(name);
    if (list) {
        list[slash - name] = 0;
        dataset = H5Dopen2(file, list, H5P_DEFAULT);
    }
    free(list);
    if (dataset < 0 || hcy__mrd_is_raw(dataset))
        return dataset;
    H5Dclose(dataset);
    return -1;
}

/* Adds what says which line a record is to the type of its header. */
static bool add_line(hid_t head)
{
    static const char *const names[] = { "kspace_encode_step_1", "kspace_encode_step_2", "slice", "contrast", "phase",
                                         "set" };
    enum { FIRST = offsetof(struct record, line.step) - offsetof(struct record, head) };
    hid_t line = H5Tcreate(H5T_COMPOUND, sizeof(struct hcy__mrd_line) - sizeof(uint16_t));
    bool good = line >= 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        good = good && H5Tinsert(line, names[i], i * sizeof(uint16_t), H5T_NATIVE_UINT16) >= 0;
    good = good && H5Tinsert(head, "center_sample", FIRST - sizeof(uint16_t), H5T_NATIVE_UINT16) >= 0 &&
           H5Tinsert(head, "idx", FIRST, line) >= 0;
    if (line >= 0)
        H5Tclose(line);
    return good;
}

/* A record in memory; `vector` NULL: of the header alone, with its line. */
static hid_t make_record_type(const char *vector)
{
    static const struct {
        const char *name;
        size_t at;
    } members[] = { { "number_of_samples", HOFFSET(struct head, samples) },
                    { "active_channels", HOFFSET(struct head, channels) },
                    { "discard_pre", HOFFSET(struct head, pre) },
                    { "discard_post", HOFFSET(struct head, post) },
                    { "trajectory_dimensions", HOFFSET(struct head, axes) } };
    hid_t head = H5Tcreate(H5T_COMPOUND, offsetof(struct record, values)),
          type = H5Tcreate(H5T_COMPOUND, sizeof(struct record));
    hid_t values = vector ? H5Tvlen_create(H5T_NATIVE_FLOAT) : -1;
    bool good = H5Tinsert(head, "flags", HOFFSET(struct head, flags), H5T_NATIVE_UINT64) >= 0;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        good = good && H5Tinsert(head, members[i].name, members[i].at, H5T_NATIVE_UINT16) >= 0;
    good = good && (vector || add_line(head)) && H5Tinsert(type, "head", HOFFSET(struct record, head), head) >= 0;
    if (vector)
        good = good && H5Tinsert(type, vector, HOFFSET(struct record, values), values) >= 0;
    if (values >= 0)
        H5Tclose(values);
    if (head >= 0)
        H5Tclose(head);
    if (good)
        return type;
    if (type >= 0)
        H5Tclose(type);
    return -1;
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
    bool takes_calibration;
    uint64_t kept;     /* acquisitions of the image */
    struct head first; /* the first of these; the others must be like it */
    struct hcy__mrd_line *lines; /* of these, where they have no trajectory; or NULL */
};

static int open_raw(struct raw *raw, hid_t dataset, const char *path)
{
    hsize_t dims[H5S_MAX_RANK], bytes = 0;
    *raw = (struct raw){ .dataset = dataset, .path = path, .plist = H5Pcreate(H5P_DATASET_XFER) };
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
    raw->takes_calibration = hcy__mrd_calibrates_image(dataset);
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
    if (raw->plist >= 0)
        H5Pclose(raw->plist);
    if (raw->space >= 0)
        H5Sclose(raw->space);
}

static int read_records(struct record *to, struct raw *raw, hid_t type, hsize_t row, hsize_t n)
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
static int take_head_of_image(struct raw *raw, const struct head *head, hsize_t row)
{
    const struct head *first = &raw->first;
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
                    "each, the first "
                    "one %u (%u + %u), %u and %u; an array needs them alike",
                    raw->path, number, head->samples, head->pre, head->post, head->channels, head->axes,
                    first->samples, first->pre, first->post, first->channels, first->axes);
}

/* Of acquisitions without a trajectory; by doubling, as only those that are there are known to fit. */
static int keep_line(struct raw *raw, const struct record *record)
{
    const uint64_t n = raw->kept - 1;
    if (has_flag(&record->head, REVERSED))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: readouts on a grid that are reversed", raw->path);
    if (!(n & (n - 1))) {
        struct hcy__mrd_line *lines = realloc(raw->lines, (size_t)(n ? 2 * n : 1) * sizeof *lines);
        if (!lines)
            return hcy_fail(HCY_ENOMEM, "%s: no memory for its headers", raw->path);
        raw->lines = lines;
    }
    raw->lines[n] = record->line;
    return 0;
}

static int read_heads(struct raw *raw, enum hcy__mrd_member member)
{
    hid_t type = make_record_type(NULL);
    struct record *records = calloc(HEADS, sizeof *records);
    int st = records ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for its headers", raw->path);
    if (!st && type < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: no type for acquisitions", raw->path);
    for (hsize_t row = 0; !st && row < raw->rows; row += HEADS) {
        hsize_t n = raw->rows - row < HEADS ? raw->rows - row : HEADS;
        st = read_records(records, raw, type, row, n);
        for (hsize_t i = 0; !st && i < n; i++) {
            if (!is_for_image(&records[i].head, raw->takes_calibration))
                continue;
            st = take_head_of_image(raw, &records[i].head, row + i);
            if (!st && member == HCY__MRD_TRAJ && !records[i].head.axes)
                st = keep_line(raw, &records[i]);
        }
    }
    free(records);
    if (type >= 0)
        H5Tclose(type);
    if (!st && !raw->kept)
        st = hcy_fail(HCY_EFORMAT, "%s: none of its %llu acquisitions is of an image", raw->path,
                      (unsigned long long)raw->rows);
    return st;
}

/* Floats of one acquisition, as the file must have them. */
static size_t count_floats(const struct raw *raw, enum hcy__mrd_member member)
{
    return (size_t)raw->first.samples *
           (member == HCY__MRD_DATA ? 2u * raw->first.channels : raw->first.axes);
}

static int shape_raw(hcy_host_array *a, const struct raw *raw, enum hcy__mrd_member member, unsigned axes)
{
    const struct head *head = &raw->first;
    uint64_t samples = (uint64_t)head->samples - head->pre - head->post;
    const uint64_t data[3] = { head->channels, raw->kept, samples },
                   traj[3] = { raw->kept, samples, axes };
    size_t bytes;
    a->is_complex = member == HCY__MRD_DATA;
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
static int place_record(hcy_host_array *a, const struct raw *raw, const struct record *record, uint64_t kept,
                        enum hcy__mrd_member member)
{
    const float *from = record->values.p;
    size_t floats = count_floats(raw, member), rows = member == HCY__MRD_DATA ? raw->first.channels : 1;
    size_t sample = member == HCY__MRD_DATA ? 2 : raw->first.axes; /* floats of one */
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

static int read_vectors(hcy_host_array *a, struct raw *raw, enum hcy__mrd_member member)
{
    hid_t type = make_record_type(member == HCY__MRD_DATA ? "data" : "traj");
    struct record *records = calloc(BATCH, sizeof *records);
    uint64_t kept = 0;
    int st = records ? 0 : hcy_fail(HCY_ENOMEM, "%s: no memory for its acquisitions", raw->path);
    if (!st && type < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: no type for acquisitions", raw->path);
    for (hsize_t row = 0; !st && row < raw->rows; row += BATCH) {
        hsize_t n = raw->rows - row < BATCH ? raw->rows - row : BATCH;
        empty_pool(&raw->pool, raw->file_bytes);
        st = read_records(records, raw, type, row, n);
        for (hsize_t i = 0; !st && i < n; i++)
            if (is_for_image(&records[i].head, raw->takes_calibration))
                st = place_record(a, raw, &records[i], kept++, member);
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
    struct hcy__mrd_grid grid;
    int st = hcy__mrd_find_grid(&grid, raw->dataset, raw->path);
    /* Coordinates do not lie in the file, but the samples that they are of do. */
    if (!st && raw->kept > raw->file_bytes / ((uint64_t)8 * raw->first.samples * raw->first.channels))
        st = hcy_fail(HCY_ECORRUPT, "%s: its headers say more samples than its %llu bytes hold", raw->path,
                      (unsigned long long)raw->file_bytes);
    if (!st)
        st = shape_raw(a, raw, HCY__MRD_TRAJ, grid.sizes[2] > 1 ? 3 : 2);
    grid.samples = raw->first.samples;
    grid.pre = raw->first.pre;
    return st ? st : hcy__mrd_fill_grid(a, &grid, raw->lines, raw->path);
}

int hcy__mrd_read(hcy_host_array *a, hid_t dataset, enum hcy__mrd_member member, const char *path)
{
    struct raw raw;
    int st = open_raw(&raw, dataset, path);
    if (!st)
        st = read_heads(&raw, member);
    const bool on_grid = !st && member == HCY__MRD_TRAJ && raw.lines;
    if (on_grid)
        st = read_grid(a, &raw);
    else if (!st)
        st = shape_raw(a, &raw, member, raw.first.axes);
    if (!st && !on_grid)
        st = read_vectors(a, &raw, member);
    close_raw(&raw);
    return st;
}

/* --- Images --- */

enum { IMAGE_HEAD = 198, IMAGE_AXES = 5, TYPE_FLOAT = 5, IMAGE_MAGNITUDE = 1, IMAGE_COMPLEX = 5 };

/* ISMRMRD_ImageHeader, one member behind the other; u, i, f: whole numbers, signed ones, floats. */
static const struct {
    const char *name;
    char kind, bytes, count;
} members_of_image[] = {
    { "version", 'u', 2, 1 },
    { "data_type", 'u', 2, 1 },
    { "flags", 'u', 8, 1 },
    { "measurement_uid", 'u', 4, 1 },
    { "matrix_size", 'u', 2, 3 },
    { "field_of_view", 'f', 4, 3 },
    { "channels", 'u', 2, 1 },
    { "position", 'f', 4, 3 },
    { "read_dir", 'f', 4, 3 },
    { "phase_dir", 'f', 4, 3 },
    { "slice_dir", 'f', 4, 3 },
    { "patient_table_position", 'f', 4, 3 },
    { "average", 'u', 2, 1 },
    { "slice", 'u', 2, 1 },
    { "contrast", 'u', 2, 1 },
    { "phase", 'u', 2, 1 },
    { "repetition", 'u', 2, 1 },
    { "set", 'u', 2, 1 },
    { "acquisition_time_stamp", 'u', 4, 1 },
    { "physiology_time_stamp", 'u', 4, 3 },
    { "image_type", 'u', 2, 1 },
    { "image_index", 'u', 2, 1 },
    { "image_series_index", 'u', 2, 1 },
    { "user_int", 'i', 4, 8 },
    { "user_float", 'f', 4, 8 },
    { "attribute_string_len", 'u', 4, 1 },
};
enum { IMAGE_MEMBERS = sizeof members_of_image / sizeof members_of_image[0] };

static hid_t find_number_type(char kind, char bytes)
{
    if (kind == 'f')
        return H5T_NATIVE_FLOAT;
    if (kind == 'i')
        return H5T_NATIVE_INT32;
    if (bytes == 8)
        return H5T_NATIVE_UINT64;
    return bytes == 2 ? H5T_NATIVE_UINT16 : H5T_NATIVE_UINT32;
}

static hid_t make_image_head_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, IMAGE_HEAD);
    size_t at = 0;
    bool good = type >= 0;
    for (int i = 0; i < IMAGE_MEMBERS && good; i++) {
        char bytes = members_of_image[i].bytes;
        hsize_t count = (hsize_t)members_of_image[i].count;
        hid_t one = find_number_type(members_of_image[i].kind, bytes);
        hid_t member = count > 1 ? H5Tarray_create2(one, 1, &count) : H5Tcopy(one);
        good = member >= 0 && H5Tinsert(type, members_of_image[i].name, at, member) >= 0;
        at += (size_t)bytes * (size_t)count;
        if (member >= 0)
            H5Tclose(member);
    }
    if (good)
        return type;
    if (type >= 0)
        H5Tclose(type);
    return -1;
}

/* The bytes of a member of a header. */
static void put_image_member(unsigned char *head, const char *name, const void *value)
{
    size_t at = 0;
    for (int i = 0; i < IMAGE_MEMBERS; i++) {
        size_t n = (size_t)members_of_image[i].bytes * (size_t)members_of_image[i].count;
        if (!strcmp(members_of_image[i].name, name))
            memcpy(head + at, value, n);
        at += n;
    }
}

/* images, channels, z, y, x: axes that the array has not are 1. */
static void find_image_sizes(hsize_t sizes[IMAGE_AXES], const hcy_host_array *a)
{
    for (int i = 0; i < IMAGE_AXES; i++) {
        int axis = i + a->rank - IMAGE_AXES;
        sizes[i] = axis >= 0 ? a->shape[axis] : 1;
    }
}

int hcy__mrd_check_image(const hcy_host_array *a, const char *path)
{
    hsize_t sizes[IMAGE_AXES], bytes = hcy__host_array_element(a);
    if (a->rank > IMAGE_AXES)
        return hcy_fail(HCY_EINVAL,
                        "%s: ISMRMRD's images are [images][channels][z][y][x]; the array has %d axes", path,
                        a->rank);
    find_image_sizes(sizes, a);
    for (int i = 0; i < IMAGE_AXES; i++)
        if (!sizes[i] || sizes[i] > UINT16_MAX)
            return hcy_fail(HCY_ERANGE, "%s: an axis of %llu; ISMRMRD's images have 1 to 65535 on each", path,
                            (unsigned long long)sizes[i]);
    /* An image is a chunk of HDF5's; sizes of 16 bits cannot overflow up to here. */
    for (int i = 1; i < IMAGE_AXES && bytes <= UINT32_MAX; i++)
        bytes *= sizes[i];
    return bytes <= UINT32_MAX
               ? 0
               : hcy_fail(HCY_ERANGE, "%s: ISMRMRD's images have less than 4 GiB each; use .h5", path);
}

/* What an array does not say is 0; cells are 1 mm, and the axes those of the patient. */
static void fill_image_head(unsigned char *head, const hcy_host_array *a, const hsize_t sizes[IMAGE_AXES],
                            hsize_t image)
{
    const uint16_t version = 1, channels = (uint16_t)sizes[1], index = (uint16_t)(image + 1);
    const uint16_t data_type = (uint16_t)(TYPE_FLOAT + (a->bytes == 8) + 2 * (a->is_complex != 0));
    const uint16_t image_type = a->is_complex ? IMAGE_COMPLEX : IMAGE_MAGNITUDE;
    const uint16_t matrix[3] = { (uint16_t)sizes[4], (uint16_t)sizes[3], (uint16_t)sizes[2] };
    const float view[3] = { (float)sizes[4], (float)sizes[3], (float)sizes[2] };
    const float directions[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    memset(head, 0, IMAGE_HEAD);
    put_image_member(head, "version", &version);
    put_image_member(head, "data_type", &data_type);
    put_image_member(head, "matrix_size", matrix);
    put_image_member(head, "field_of_view", view);
    put_image_member(head, "channels", &channels);
    put_image_member(head, "read_dir", directions[0]);
    put_image_member(head, "phase_dir", directions[1]);
    put_image_member(head, "slice_dir", directions[2]);
    put_image_member(head, "image_type", &image_type);
    put_image_member(head, "image_index", &index);
}

/* A list of ISMRMRD's, to which it can add: chunks of one element. */
static bool put_list(hid_t group, const char *name, hid_t type, int rank, const hsize_t *sizes,
                     const void *values)
{
    hsize_t most[IMAGE_AXES], chunk[IMAGE_AXES];
    for (int i = 0; i < rank; i++) {
        most[i] = i ? sizes[i] : H5S_UNLIMITED;
        chunk[i] = i ? sizes[i] : 1;
    }
    hid_t space = H5Screate_simple(rank, sizes, most), plist = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    bool good = type >= 0 && space >= 0 && plist >= 0 && H5Pset_chunk(plist, rank, chunk) >= 0;
    if (good)
        dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    good = dataset >= 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (dataset >= 0 && H5Dclose(dataset) < 0)
        good = false;
    if (plist >= 0)
        H5Pclose(plist);
    if (space >= 0)
        H5Sclose(space);
    return good;
}

int hcy__mrd_put_image(const hcy_host_array *a, hid_t file, const char *name)
{
    hsize_t sizes[IMAGE_AXES];
    find_image_sizes(sizes, a);
    unsigned char *heads = malloc((size_t)sizes[0] * IMAGE_HEAD);
    const char **texts = malloc((size_t)sizes[0] * sizeof *texts);
    hid_t links = H5Pcreate(H5P_LINK_CREATE), head = make_image_head_type(), text = H5Tcopy(H5T_C_S1);
    hid_t number = hcy__h5_array_type(a, HCY__H5_COMPLEX_MRD), group = -1;
    if (heads && texts && links >= 0 && H5Tset_size(text, H5T_VARIABLE) >= 0 &&
        H5Pset_create_intermediate_group(links, 1) >= 0)
        group = H5Gcreate2(file, name, links, H5P_DEFAULT, H5P_DEFAULT);
    /* Each image has a header and a text of attributes, which is empty. */
    for (hsize_t i = 0; group >= 0 && i < sizes[0]; i++) {
        fill_image_head(heads + i * IMAGE_HEAD, a, sizes, i);
        texts[i] = "";
    }
    bool good = group >= 0 && put_list(group, "header", head, 1, sizes, heads) &&
                put_list(group, "attributes", text, 1, sizes, texts) &&
                put_list(group, "data", number, IMAGE_AXES, sizes, a->data);
    const hid_t types[] = { head, text, number };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i] >= 0)
            H5Tclose(types[i]);
    if (links >= 0)
        H5Pclose(links);
    if (group >= 0)
        H5Gclose(group);
    free(texts);
    free(heads);
    return good ? 0 : -1;
}
