/* mrd_make.h - ISMRMRD files for tests, made with HDF5 alone: acquisitions as its library writes them, packed by 2. */
#ifndef MRD_MAKE_H
#define MRD_MAKE_H

#include "tap.h"
#include <hdf5.h>

#pragma pack(push, 2)
struct mrd_head { /* the first 178 bytes of the header's 340, and the rest */
    uint16_t version;
    uint64_t flags;
    uint32_t uid, counter, stamp, physiology[3];
    uint16_t samples, available, channels;
    uint64_t mask[16];
    uint16_t pre, post, centre, space, axes;
    float sample_us, position[3], directions[3][3], table[3];
    uint16_t idx[17]; /* kspace_encode_step_1, _2, average, slice, contrast, phase, repetition, set, segment, user[8] */
    unsigned char rest[64];
};
#pragma pack(pop)

struct mrd_record {
    struct mrd_head head;
    hvl_t traj, data;
};

/* Of acquisition r: coordinate d of sample s, and its sample in channel c. */
static inline float mrd_coordinate(unsigned r, unsigned s, unsigned d)
{
    return (float)(0.01 * r + 0.001 * s - 0.25 * d);
}

static inline float mrd_sample(unsigned r, unsigned c, unsigned s, unsigned part)
{
    return (float)(1000 * r + 100 * c + s) + 0.5f * (float)part;
}

static inline hid_t mrd_type(void)
{
    static const struct {
        const char *name;
        size_t at;
    } shorts[] = { { "version", offsetof(struct mrd_head, version) },
                   { "number_of_samples", offsetof(struct mrd_head, samples) },
                   { "available_channels", offsetof(struct mrd_head, available) },
                   { "active_channels", offsetof(struct mrd_head, channels) },
                   { "discard_pre", offsetof(struct mrd_head, pre) },
                   { "discard_post", offsetof(struct mrd_head, post) },
                   { "center_sample", offsetof(struct mrd_head, centre) },
                   { "encoding_space_ref", offsetof(struct mrd_head, space) },
                   { "trajectory_dimensions", offsetof(struct mrd_head, axes) } };
    hid_t head = H5Tcreate(H5T_COMPOUND, sizeof(struct mrd_head)),
          type = H5Tcreate(H5T_COMPOUND, sizeof(struct mrd_record));
    static const char *const counters[] = { "kspace_encode_step_1", "kspace_encode_step_2", "average", "slice",
                                            "contrast", "phase", "repetition", "set", "segment" };
    hid_t vector = H5Tvlen_create(H5T_NATIVE_FLOAT), idx = H5Tcreate(H5T_COMPOUND, sizeof ((struct mrd_head *)0)->idx);
    static const char *const places[] = { "position", "read_dir", "phase_dir", "slice_dir", "patient_table_position" };
    const hsize_t three = 3;
    hid_t place = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        H5Tinsert(head, places[i], offsetof(struct mrd_head, position) + i * 3 * sizeof(float), place);
    H5Tclose(place);
    hid_t stamps = H5Tarray_create2(H5T_NATIVE_UINT32, 1, &three);
    H5Tinsert(head, "acquisition_time_stamp", offsetof(struct mrd_head, stamp), H5T_NATIVE_UINT32);
    H5Tinsert(head, "physiology_time_stamp", offsetof(struct mrd_head, physiology), stamps);
    H5Tclose(stamps);
    H5Tinsert(head, "flags", offsetof(struct mrd_head, flags), H5T_NATIVE_UINT64);
    H5Tinsert(head, "sample_time_us", offsetof(struct mrd_head, sample_us), H5T_NATIVE_FLOAT);
    for (size_t i = 0; i < sizeof shorts / sizeof shorts[0]; i++)
        H5Tinsert(head, shorts[i].name, shorts[i].at, H5T_NATIVE_UINT16);
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        H5Tinsert(idx, counters[i], 2 * i, H5T_NATIVE_UINT16);
    H5Tinsert(head, "idx", offsetof(struct mrd_head, idx), idx);
    H5Tclose(idx);
    H5Tinsert(type, "head", offsetof(struct mrd_record, head), head);
    H5Tinsert(type, "traj", offsetof(struct mrd_record, traj), vector);
    H5Tinsert(type, "data", offsetof(struct mrd_record, data), vector);
    H5Tclose(vector);
    H5Tclose(head);
    return type;
}

/* Vectors for what a record's header says, filled by the formulas. */
static inline void mrd_fill(struct mrd_record *record, unsigned r)
{
    const struct mrd_head *h = &record->head;
    float *traj = malloc(sizeof(float) * h->samples * h->axes + 1),
          *data = malloc(sizeof(float) * 2 * h->samples * h->channels + 1);
    for (unsigned i = 0; i < (unsigned)h->samples * h->axes; i++)
        traj[i] = mrd_coordinate(r, i / h->axes, i % h->axes);
    for (unsigned i = 0; i < 2u * h->samples * h->channels; i++)
        data[i] = mrd_sample(r, i / 2 / h->samples, i / 2 % h->samples, i % 2);
    record->traj = (hvl_t){ (size_t)h->samples * h->axes, traj };
    record->data = (hvl_t){ (size_t)2 * h->samples * h->channels, data };
}

/* /dataset/data of n records, whose vectors are freed. */
static inline void mrd_write(const char *path, struct mrd_record *records, size_t n)
{
    hsize_t length = n, most = H5S_UNLIMITED, one = 1;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
          space = H5Screate_simple(1, &length, &most);
    hid_t group = H5Gcreate2(file, "dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), type = mrd_type();
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 1, &one);
    hid_t data = H5Dcreate2(group, "data", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, records) < 0)
        bail_out("%s cannot be written", path);
    H5Dclose(data);
    H5Pclose(plist);
    H5Tclose(type);
    H5Gclose(group);
    H5Sclose(space);
    H5Fclose(file);
    for (size_t i = 0; i < n; i++) {
        free(records[i].traj.p);
        free(records[i].data.p);
    }
}

/* The header beside them, a text of variable length. */
static inline void mrd_put_xml(const char *path, const char *text)
{
    hsize_t one = 1;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate_simple(1, &one, NULL),
          type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t xml = H5Dcreate2(file, "/dataset/xml", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(xml, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) < 0)
        bail_out("%s: no header can be written", path);
    H5Dclose(xml);
    H5Tclose(type);
    H5Sclose(space);
    H5Fclose(file);
}

/* n acquisitions of 5 samples, 2 channels and 2 coordinates, of which 1 and 1 samples are to be discarded; every fourth
 * is a noise measurement. */
enum { MRD_SAMPLES = 5, MRD_CHANNELS = 2, MRD_AXES = 2 };
static inline void mrd_plain(struct mrd_record *records, size_t n)
{
    memset(records, 0, n * sizeof *records);
    for (size_t i = 0; i < n; i++) {
        struct mrd_head *h = &records[i].head;
        h->version = 1;
        h->samples = MRD_SAMPLES;
        h->channels = h->available = MRD_CHANNELS;
        h->axes = MRD_AXES;
        h->pre = h->post = 1;
        h->flags = i % 4 == 3 ? 1u << 18 : 0;
        mrd_fill(&records[i], (unsigned)i);
    }
}

#endif
