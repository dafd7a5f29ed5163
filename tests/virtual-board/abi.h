/* abi.h - what XRT's shim says to the kernel driver "xocl": requests of ioctl(), and the packets of commands.
 *
 * Declared here as far as the board answers it, so that none of XRT's headers is needed.
 */
#ifndef HCY_BOARD_ABI_H
#define HCY_BOARD_ABI_H

#include <stddef.h>
#include <stdint.h>

/* --- Requests: their numbers, in DRM's range for drivers, and what they point at --- */

enum abi_request {
    ABI_VERSION = 0x00,
    ABI_CLOSE_BUFFER = 0x09, /* uint32_t: the handle */
    ABI_FIRST = 0x40,
    ABI_CREATE_BUFFER = ABI_FIRST,
    ABI_USER_BUFFER,
    ABI_MAP_BUFFER,
    ABI_SYNC_BUFFER,
    ABI_INFO_BUFFER,
    ABI_WRITE_BUFFER,
    ABI_READ_BUFFER,
    ABI_RESET,
    ABI_CONTEXT,
    ABI_INFO,
    ABI_READ_MEMORY,
    ABI_WRITE_MEMORY,
    ABI_USAGE,
    ABI_EXECUTE,
    ABI_INTERRUPT,
    ABI_LOAD
};

struct abi_create {
    uint64_t size;
    uint32_t handle, flags, type;
};
struct abi_user {
    uint64_t address, size;
    uint32_t handle, flags, type;
};
struct abi_map {
    uint32_t handle, pad;
    uint64_t offset;
};
struct abi_sync {
    uint32_t handle, flags;
    uint64_t size, offset;
    uint32_t from_device;
};
struct abi_info {
    uint32_t handle, flags;
    uint64_t size, address;
};
struct abi_transfer { /* of the host's side of a buffer; of device memory: offset is the address */
    uint32_t handle, pad;
    uint64_t offset, size, data;
};
struct abi_context {
    uint32_t operation; /* 0 takes, 1 gives back */
    unsigned char uuid[16];
    uint32_t unit, flags, handle;
};
struct abi_load {
    const void *xclbin;
    int kernels_size;
    char *kernels;
    uint32_t configuration[2];
    uint32_t flags;
};
struct abi_execute {
    uint32_t context, buffer, after[8];
};

/* Flags of buffers; the lower bits are the memory's number. */
#define ABI_MEMORY(flags) ((flags)&0xffffu)
#define ABI_DEVICE_ONLY   ((uint32_t)1 << 28)
#define ABI_HOST_ONLY     ((uint32_t)1 << 29)
#define ABI_COMMAND       ((uint32_t)1 << 31)

#define ABI_EXCLUSIVE 1u
#define ABI_NO_UNIT   0xffffffffu /* a context of the whole program */

/* --- Packets --- */

/* The first word: state in bits 0-3, further masks of units in 10-11, words behind it in 12-22, what to do in 23-27. */
#define ABI_STATE(word)  ((word)&15u)
#define ABI_MASKS(word)  ((word) >> 10 & 3u)
#define ABI_WORDS(word)  ((word) >> 12 & 0x7ffu)
#define ABI_OPCODE(word) ((word) >> 23 & 0x1fu)

enum abi_opcode { ABI_START = 0, ABI_CONFIGURE = 2, ABI_ABORT = 4, ABI_STATISTICS = 6, ABI_COPY = 7 };
enum abi_state { ABI_QUEUED = 2, ABI_RUNNING, ABI_COMPLETED, ABI_ERROR, ABI_ABORTED };

/* A copy's words: 4 masks, 4 reserved, then these. */
struct abi_copy {
    uint32_t head, skipped[8];
    uint32_t source_offset[2], source;
    uint32_t destination_offset[2], destination;
    uint32_t size[2];
};
struct abi_abort {
    uint64_t head; /* and padding */
    uint64_t buffer;
};

#endif
