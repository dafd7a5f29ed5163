/* h5_mrd_image.c - arrays as ISMRMRD's series of images: see h5_mrd.h. */
#include "h5_mrd.h"
#include "host_array.h"
#include <ctype.h>
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_COUNTERS = 10, SHORT_COUNTERS = 6 }; /* of hcy_host_array.counters; those in front have 16 bits */
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
    if (a->n_places > 1 && a->n_places != sizes[0])
        return hcy_fail(HCY_EINVAL, "%s: %zu places of %llu images", path, a->n_places, (unsigned long long)sizes[0]);
    if ((a->n_counters > 1 && a->n_counters != sizes[0]) || (a->n_counters && !a->counters))
        return hcy_fail(HCY_EINVAL, "%s: %zu counters of %llu images, or none of these", path, a->n_counters,
                        (unsigned long long)sizes[0]);
    for (size_t i = 0; i < a->n_counters * IMAGE_COUNTERS; i++)
        if (i % IMAGE_COUNTERS < SHORT_COUNTERS && a->counters[i] > UINT16_MAX)
            return hcy_fail(HCY_ERANGE, "%s: image %zu is counted by %lu; up to 65535 are", path, i / IMAGE_COUNTERS,
                            (unsigned long)a->counters[i]);
    /* An image is a chunk of HDF5's; sizes of 16 bits cannot overflow up to here. */
    for (int i = 1; i < IMAGE_AXES && bytes <= UINT32_MAX; i++)
        bytes *= sizes[i];
    return bytes <= UINT32_MAX
               ? 0
               : hcy_fail(HCY_ERANGE, "%s: ISMRMRD's images have less than 4 GiB each; use .h5", path);
}

static void put_image_counters(unsigned char *head, const uint32_t *counters)
{
    static const char *const names[SHORT_COUNTERS] = { "average", "slice", "contrast", "phase", "repetition", "set" };
    for (int i = 0; i < SHORT_COUNTERS; i++) {
        const uint16_t counter = (uint16_t)counters[i];
        put_image_member(head, names[i], &counter);
    }
    put_image_member(head, "acquisition_time_stamp", counters + SHORT_COUNTERS);
    put_image_member(head, "physiology_time_stamp", counters + SHORT_COUNTERS + 1);
}

/* Gadgetron's client names series by their numbers, image_N. */
static uint16_t number_of_series(const char *name)
{
    static const char prefix[] = "image_";
    const char *last = strrchr(name, '/');
    last = last ? last + 1 : name;
    if (strncmp(last, prefix, sizeof prefix - 1) || !isdigit((unsigned char)last[sizeof prefix - 1]))
        return 0;
    char *end;
    const unsigned long number = strtoul(last + sizeof prefix - 1, &end, 10);
    return !*end && number <= UINT16_MAX ? (uint16_t)number : 0;
}

/* What an array does not say is 0, but that cells are 1 mm then; and the axes those of the patient.  */
static void fill_image_head(unsigned char *head, const hcy_host_array *a, const hsize_t sizes[IMAGE_AXES],
                            hsize_t image, uint16_t series)
{
    const uint16_t version = 1, channels = (uint16_t)sizes[1], index = (uint16_t)(image + 1);
    const uint16_t data_type = (uint16_t)(TYPE_FLOAT + (a->bytes == 8) + 2 * (a->is_complex != 0));
    const uint16_t image_type = a->is_complex ? IMAGE_COMPLEX : IMAGE_MAGNITUDE;
    const uint16_t matrix[3] = { (uint16_t)sizes[4], (uint16_t)sizes[3], (uint16_t)sizes[2] };
    float view[3];
    float place[5][3] = { { 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    for (int i = 0; a->n_places && i < 15; i++)
        place[i / 3][i % 3] = (float)a->places[15 * (a->n_places > 1 ? image : 0) + (hsize_t)i];
    for (int i = 0; i < 3; i++)
        view[i] = (float)((double)matrix[i] * (a->cells[i] > 0 ? a->cells[i] : 1));
    memset(head, 0, IMAGE_HEAD);
    put_image_member(head, "version", &version);
    put_image_member(head, "data_type", &data_type);
    put_image_member(head, "matrix_size", matrix);
    put_image_member(head, "field_of_view", view);
    put_image_member(head, "channels", &channels);
    put_image_member(head, "position", place[0]);
    put_image_member(head, "read_dir", place[1]);
    put_image_member(head, "phase_dir", place[2]);
    put_image_member(head, "slice_dir", place[3]);
    put_image_member(head, "patient_table_position", place[4]);
    put_image_member(head, "image_type", &image_type);
    put_image_member(head, "image_index", &index);
    put_image_member(head, "image_series_index", &series);
    if (a->n_counters)
        put_image_counters(head, a->counters + IMAGE_COUNTERS * (a->n_counters > 1 ? image : 0));
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
        fill_image_head(heads + i * IMAGE_HEAD, a, sizes, i, number_of_series(name));
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
