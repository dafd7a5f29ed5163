/* host_array_npz.c - an array as NumPy's .npz: a zip archive of one file that is not compressed, arr_0.npy as
 * numpy.savez calls it. */
#include "host_array.h"
#include <halcyon/backend.h>
#include <string.h>

static uint32_t crc_of(uint32_t crc, const void *bytes, size_t n)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    crc = ~crc;
    for (const unsigned char *at = bytes; n--; at++)
        crc = crc >> 8 ^ table[(crc ^ *at) & 255];
    return ~crc;
}

static const char name[] = "arr_0.npy";
enum { NAME = sizeof name - 1, LOCAL = 30, CENTRAL = 46, END = 22 };

static void put_zip_number(unsigned char *to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

/* What a member's two headers have in common: from the version that is needed to the length of the name. */
static void put_member(unsigned char *to, uint32_t crc, uint32_t size)
{
    put_zip_number(to, 20, 2);
    put_zip_number(to + 8, 0x21, 2); /* the first day there is, so that the same array is the same file */
    put_zip_number(to + 10, crc, 4);
    put_zip_number(to + 14, size, 4);
    put_zip_number(to + 18, size, 4);
    put_zip_number(to + 22, NAME, 2);
}

int hcy__host_array_write_npz(hcy_output *output, const void *head, size_t head_size, const void *data, size_t size)
{
    unsigned char local[LOCAL + NAME] = "PK\3\4", end[CENTRAL + NAME + END] = "PK\1\2";
    const uint64_t all = (uint64_t)head_size + size, behind = sizeof local + all;
    /* Longer archives need ZIP64, which this does not write. */
    if (behind > UINT32_MAX - sizeof end)
        return hcy_fail(HCY_ERANGE, "%s: more than 4 GiB do not fit into .npz; use .npy or .h5", hcy_output_name(output));
    uint32_t crc = crc_of(crc_of(0, head, head_size), data, size);
    /* The member's header stands before it, once more in the directory at the end, and the end says where
     * that begins. */
    put_member(local + 4, crc, (uint32_t)all);
    memcpy(local + LOCAL, name, NAME);
    put_zip_number(end + 4, 20, 2);
    put_member(end + 6, crc, (uint32_t)all);
    memcpy(end + CENTRAL, name, NAME);
    unsigned char *last = end + CENTRAL + NAME;
    memcpy(last, "PK\5\6", 4);
    put_zip_number(last + 8, 1, 2);
    put_zip_number(last + 10, 1, 2);
    put_zip_number(last + 12, CENTRAL + NAME, 4);
    put_zip_number(last + 16, (uint32_t)behind, 4);
    int st = hcy_output_write(output, local, sizeof local, 0);
    if (!st)
        st = hcy_output_write(output, head, head_size, sizeof local);
    if (!st)
        st = hcy_output_write(output, data, size, sizeof local + head_size);
    return st ? st : hcy_output_write(output, end, sizeof end, behind);
}
