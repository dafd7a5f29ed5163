/* h5_mrd_record.h - ISMRMRD's acquisitions in memory, and the types that HDF5 reads them by: see h5_mrd.h. */
#ifndef HCY_STACK_H5_MRD_RECORD_H
#define HCY_STACK_H5_MRD_RECORD_H

#include "h5_mrd.h"

/* What is read of ISMRMRD_AcquisitionHeader. */
struct hcy__mrd_head {
    uint64_t flags;
    uint16_t samples, channels, pre, post, axes, encoding;
    float dwell; /* us */
};
enum { HCY__MRD_PLACE = 5 };  /* vectors that say where an acquisition is */
enum { HCY__MRD_STAMPS = 4 }; /* when it was, of the scanner's clock and three of physiology */
struct hcy__mrd_record {
    struct hcy__mrd_head head;
    struct hcy__mrd_line line;
    float place[HCY__MRD_PLACE][3];
    uint32_t stamps[HCY__MRD_STAMPS];
    hvl_t values;
};

/* A record in memory; `vector` NULL: of the header alone, with its line, and its place or its stamps where `member` is
 * made of these.  To be closed; negative: HDF5's words. */
hid_t hcy__mrd_make_record_type(const char *vector, enum hcy__mrd_member member);

#endif
