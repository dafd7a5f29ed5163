/* h5_shard.h - what an HDF5 file says of the part of a stack that it is made of: attributes of its root.  The lock of
 * h5.h is held by the caller. */
#ifndef HCY_STACK_H5_SHARD_H
#define HCY_STACK_H5_SHARD_H

#include "h5.h"

/* Of the root: which part, as five numbers (hcy_shard); what the file holds. */
#define H5_SHARD_ATTRIBUTE "halcyon_shard"
#define H5_SHARD_KIND      "halcyon_kind"

/* `shard` NULL: nothing is written. */
int hcy__h5_put_shard(hid_t file, const hcy_shard *shard, const char *kind);
/* count 0 and kind "": it says nothing. */
int hcy__h5_get_shard(hcy_shard *shard, char kind[16], hid_t file, const char *path);
/* The same of a file that is not open, without a reader; it takes the lock itself. */
int hcy__h5_read_shard(hcy_shard *shard, char kind[16], const char *path);
/* Is it a part that some dealing makes?  What has none would be believed by whoever counts with it. */
int hcy__shard_is_sound(const hcy_shard *shard);

/* What a file is made of: the fields plan, source and source_dataset of the group `group`; "" where there is none. */
struct hcy__h5_origin {
    const char *path; /* the file's */
    char plan[80], source[1024], dataset[256];
};
void hcy__h5_get_origin(struct hcy__h5_origin *origin, hid_t file, const char *group, const char *path);
/* HCY_EINVAL: they are of different plans or stacks, which are named. */
int hcy__h5_check_alike(const struct hcy__h5_origin *a, const struct hcy__h5_origin *b);

#endif
