/* mutate_h5.h - damage for HDF5 files where HDF5 believes them: addresses, lengths and counts in its own structures. */
#ifndef MUTATE_H5_H
#define MUTATE_H5_H

#include "mutate.h"

/* Where structures begin: their signatures, and messages, which have none, behind object headers. */
static inline int is_h5_structure(const uint8_t *at)
{
    static const char signatures[][5] = { "TREE", "HEAP", "SNOD", "GCOL", "OHDR", "OCHK", "FRHP", "FHDB",
                                          "BTHD", "BTLF", "BTIN", "FAHD", "FADB", "EAHD", "EAIB", "EADB" };
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
        if (!memcmp(at, signatures[i], 4))
            return 1;
    /* Version 1 of an object header: a count of messages, of references, a length, all small. */
    return at[0] == 1 && at[1] == 0 && at[3] == 0 && at[2] > 0 && at[2] < 32 && at[5] == 0 && at[6] == 0 && at[7] == 0;
}

static inline uint64_t h5_number(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, at, size);
    return value;
}

/* A number like one that stands there: another place of the file, one more, too many, none. */
static inline void damage_number(uint8_t *at, size_t size, size_t file_size)
{
    uint64_t value = h5_number(at, size);
    switch (next() % 9) {
    case 0: value = next() % file_size & ~(uint64_t)7; break;
    case 1: value++; break;
    case 2: value--; break;
    case 3: value = 0; break;
    case 4: value = UINT64_MAX; break;
    case 5: value = file_size; break;
    case 6: value <<= 1 + next() % 16; break;
    case 7: value ^= (uint64_t)1 << next() % (8 * size); break;
    default: value = next() >> next() % 64;
    }
    memcpy(at, &value, size);
}

/* One to three changes; returns the new size. */
static inline size_t mutate_h5(uint8_t *bytes, size_t size)
{
    size_t changes = 1 + next() % 3;
    /* Now and then any damage, as other formats get. */
    if (next() % 8 == 0 || size < 1024)
        return mutate(bytes, size);
    for (size_t i = 0; i < changes; i++) {
        /* The next structure from somewhere on; numbers in it stand at even places. */
        size_t at = next() % (size - 512) & ~(size_t)7, end = size - 512, width = (size_t)1 << next() % 4;
        while (at < end && !is_h5_structure(bytes + at))
            at += 8;
        if (at >= end)
            at = 0; /* the superblock */
        at += 4 + next() % (next() % 2 ? 60 : 400);
        damage_number(bytes + (at & ~(width - 1)), width, size);
    }
    return size;
}

#endif
