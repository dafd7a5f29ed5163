/* xclbin_format.h - the container that FPGA programs come in, as far as it is read or written here.
 *
 * An xclbin is a head, a table of sections and the sections.  Little-endian, offsets from the file's start.  Shared
 * by the backend, which checks such files, and by the virtual board, which writes and loads them.
 */
#ifndef HCY_XCLBIN_FORMAT_H
#define HCY_XCLBIN_FORMAT_H

#include <stdint.h>

#define XCLBIN_MAGIC "xclbin2" /* with its zero: 8 bytes */

enum xclbin_kind {
    XCLBIN_BITSTREAM = 0,
    XCLBIN_METADATA = 2, /* XML: kernels and their arguments */
    XCLBIN_MEMORIES = 6,
    XCLBIN_CONNECTIVITY = 7,
    XCLBIN_UNITS = 8,
    XCLBIN_USER_METADATA = 16, /* text of the builder's */
    XCLBIN_GROUPS = 26, /* memories, and behind them groups of them; in place of MEMORIES if it is there */
    XCLBIN_GROUP_CONNECTIVITY = 27
};

struct xclbin_section {
    uint32_t kind;
    char name[16];
    uint64_t offset, size;
};

struct xclbin_head {
    char magic[8];
    int32_t signature_length; /* -1: none */
    unsigned char reserved[28], key_block[256];
    uint64_t unique_id;
    uint64_t length; /* of the file */
    uint64_t time, rom_time;
    uint16_t version_patch;
    uint8_t version_major, version_minor;
    uint16_t mode, actions;
    unsigned char rom_uuid[16];
    char platform[64];
    unsigned char uuid[16];
    char debug[16];
    uint32_t n_sections;
    struct xclbin_section sections[1]; /* n_sections */
};

/* Tables begin with their number of entries. */
struct xclbin_memory {
    uint8_t type; /* XCLBIN_DDR4 ... */
    uint8_t used;
    uint8_t padding[6];
    uint64_t kib, base;
    char tag[16];
};
enum { XCLBIN_DDR4 = 1, XCLBIN_HBM = 6, XCLBIN_HOST = 10 };
struct xclbin_memories {
    int32_t n;
    struct xclbin_memory list[1];
};

struct xclbin_unit {
    uint32_t type;       /* XCLBIN_KERNEL, or something else */
    uint32_t properties; /* of a kernel: 1 interrupts | number << 1 | how it is controlled << 8 */
    uint64_t base;
    char name[64]; /* "kernel:instance" */
};
enum { XCLBIN_KERNEL = 1 };
struct xclbin_units {
    int32_t n;
    struct xclbin_unit list[1];
};

struct xclbin_connection {
    int32_t argument, unit, memory;
};
struct xclbin_connections {
    int32_t n;
    struct xclbin_connection list[1];
};

_Static_assert(sizeof(struct xclbin_section) == 40, "a section's entry has 40 bytes");
_Static_assert(sizeof(struct xclbin_head) == 496, "the head, with one section, has 496 bytes");
_Static_assert(sizeof(struct xclbin_memory) == 40 && sizeof(struct xclbin_unit) == 80, "entries of tables");

#endif
