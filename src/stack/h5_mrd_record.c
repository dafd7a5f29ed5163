/* h5_mrd_record.c - see h5_mrd_record.h. */
#include "h5_mrd_record.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
    static const char *const members[] = { "data",  "traj", "noise",      "counters", "space",
                                           "dwell", "axes", "navigators", "places", "stamps" };
    const char *slash = strrchr(name, '/');
    hid_t dataset = -1;
    int i = 0;
    while (slash && i < HCY__MRD_MEMBERS && strcmp(slash + 1, members[i]))
        i++;
    if (!slash || slash == name || i == HCY__MRD_MEMBERS)
        return -1;
    *member = (enum hcy__mrd_member)i;
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
    static const char *const names[HCY__MRD_COUNTERS] = { "kspace_encode_step_1", "kspace_encode_step_2", "average",
                                                          "slice", "contrast", "phase", "repetition", "set", "segment" };
    enum { FIRST = offsetof(struct hcy__mrd_record, line.counters) - offsetof(struct hcy__mrd_record, head) };
    hid_t line = H5Tcreate(H5T_COMPOUND, HCY__MRD_COUNTERS * sizeof(uint16_t));
    bool good = line >= 0;
    for (size_t i = 0; i < HCY__MRD_COUNTERS; i++)
        good = good && H5Tinsert(line, names[i], i * sizeof(uint16_t), H5T_NATIVE_UINT16) >= 0;
    good = good && H5Tinsert(head, "center_sample", FIRST - sizeof(uint16_t), H5T_NATIVE_UINT16) >= 0 &&
           H5Tinsert(head, "idx", FIRST, line) >= 0;
    if (line >= 0)
        H5Tclose(line);
    return good;
}

/* Adds where it is; what a file's headers have not stays as it is in memory. */
static bool add_place(hid_t head)
{
    static const char *const names[HCY__MRD_PLACE] = { "position", "read_dir", "phase_dir", "slice_dir",
                                                       "patient_table_position" };
    enum { FIRST = offsetof(struct hcy__mrd_record, place) - offsetof(struct hcy__mrd_record, head) };
    const hsize_t axes = 3;
    hid_t vector = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &axes);
    bool good = vector >= 0;
    for (size_t i = 0; i < HCY__MRD_PLACE; i++)
        good = good && H5Tinsert(head, names[i], FIRST + i * 3 * sizeof(float), vector) >= 0;
    if (vector >= 0)
        H5Tclose(vector);
    return good;
}

/* Adds when it was, as well. */
static bool add_stamps(hid_t head)
{
    enum { FIRST = offsetof(struct hcy__mrd_record, stamps) - offsetof(struct hcy__mrd_record, head) };
    const hsize_t three = 3;
    hid_t vector = H5Tarray_create2(H5T_NATIVE_UINT32, 1, &three);
    const bool good = vector >= 0 && H5Tinsert(head, "acquisition_time_stamp", FIRST, H5T_NATIVE_UINT32) >= 0 &&
                      H5Tinsert(head, "physiology_time_stamp", FIRST + sizeof(uint32_t), vector) >= 0;
    if (vector >= 0)
        H5Tclose(vector);
    return good;
}

hid_t hcy__mrd_make_record_type(const char *vector, enum hcy__mrd_member member)
{
    static const struct {
        const char *name;
        size_t at;
    } members[] = { { "number_of_samples", HOFFSET(struct hcy__mrd_head, samples) },
                    { "active_channels", HOFFSET(struct hcy__mrd_head, channels) },
                    { "discard_pre", HOFFSET(struct hcy__mrd_head, pre) },
                    { "discard_post", HOFFSET(struct hcy__mrd_head, post) },
                    { "trajectory_dimensions", HOFFSET(struct hcy__mrd_head, axes) },
                    { "encoding_space_ref", HOFFSET(struct hcy__mrd_head, encoding) } };
    hid_t head = H5Tcreate(H5T_COMPOUND, offsetof(struct hcy__mrd_record, values)),
          type = H5Tcreate(H5T_COMPOUND, sizeof(struct hcy__mrd_record));
    hid_t values = vector ? H5Tvlen_create(H5T_NATIVE_FLOAT) : -1;
    bool good = H5Tinsert(head, "flags", HOFFSET(struct hcy__mrd_head, flags), H5T_NATIVE_UINT64) >= 0;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        good = good && H5Tinsert(head, members[i].name, members[i].at, H5T_NATIVE_UINT16) >= 0;
    good = good && H5Tinsert(head, "sample_time_us", HOFFSET(struct hcy__mrd_head, dwell), H5T_NATIVE_FLOAT) >= 0;
    good = good && (vector || add_line(head)) && (member != HCY__MRD_PLACES || add_place(head)) &&
           (member != HCY__MRD_STAMPED || add_stamps(head)) &&
           H5Tinsert(type, "head", HOFFSET(struct hcy__mrd_record, head), head) >= 0;
    if (vector)
        good = good && H5Tinsert(type, vector, HOFFSET(struct hcy__mrd_record, values), values) >= 0;
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
